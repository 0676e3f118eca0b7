"""Frames between the conductor and a worker: a length, then one plain value (`ffnlab.plain`). Nothing is ever unpickled."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from ffnlab import plain

ISOLATED = b"isolated"  # what a fork says first, before any frame; else a line that tells what stands in the way
MAX_FRAME = plain.MAX_BYTES
POLL_SECONDS = 0.1


class Closed(ConnectionError):
    """The other side is gone."""


class Late(TimeoutError):
    """The other side does not read."""


def frame(message: dict[str, Any]) -> bytes:
    """A message as the bytes that travel."""
    data = plain.pack(message)
    return struct.pack(">I", len(data)) + data


def send(channel: socket.socket, message: dict[str, Any] | bytes) -> None:
    """Send one message, or a frame that was made of one before.

    Raises:
        Closed: nobody is listening any more. Late: the channel's time-out passed.
    """
    data = message if isinstance(message, bytes) else frame(message)
    try:
        channel.sendall(data)
    except TimeoutError:
        raise Late("the other side does not read") from None
    except OSError:
        raise Closed("the other side is gone") from None


def receive(channel: socket.socket, patience: Callable[[], None] | None = None) -> dict[str, Any]:
    """Receive one frame. `patience` is called whenever POLL_SECONDS have passed without a byte; it raises when it has run out.

    Raises:
        Closed: the other side is gone. plain.Malformed: the bytes are not a frame. Whatever `patience` raises.
    """
    channel.settimeout(None if patience is None else POLL_SECONDS)
    (length,) = struct.unpack(">I", _exactly(channel, 4, patience))
    if length > MAX_FRAME:
        raise plain.Malformed(f"a frame of {length:,} bytes")
    message = plain.unpack(_exactly(channel, length, patience))
    if not isinstance(message, dict):
        raise plain.Malformed("a frame that is not a dict")
    return message


def _exactly(channel: socket.socket, count: int, patience: Callable[[], None] | None) -> bytes:
    parts = bytearray()
    looked = time.monotonic()
    while len(parts) < count:
        if patience is not None and time.monotonic() - looked > POLL_SECONDS:  # a trickle of bytes is watched too
            patience()
            looked = time.monotonic()
        try:
            part = channel.recv(min(count - len(parts), 1 << 20))
        except TimeoutError:
            continue
        except OSError:
            raise Closed("the other side is gone") from None
        if not part:
            raise Closed("the other side is gone")
        parts += part
    return bytes(parts)
