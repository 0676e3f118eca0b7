"""Frames between the conductor and a worker: a length, then one plain value (`ffnlab.plain`). Nothing is ever unpickled."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

from ffnlab import plain

MAX_FRAME = plain.MAX_BYTES


class Closed(ConnectionError):
    """The other side is gone."""


class Late(TimeoutError):
    """No whole frame arrived in time."""


def send(channel: socket.socket, message: dict[str, Any]) -> None:
    """Send one frame.

    Raises:
        Closed: nobody is listening any more.
    """
    data = plain.pack(message)
    try:
        channel.sendall(struct.pack(">I", len(data)) + data)
    except TimeoutError:
        raise Late("the other side does not read") from None
    except OSError:
        raise Closed("the other side is gone") from None


def receive(channel: socket.socket, seconds: float | None = None) -> dict[str, Any]:
    """Receive one frame, waiting at most `seconds` for all of it.

    Raises:
        Closed: the other side is gone. Late: the time is over. plain.Malformed: the bytes are not a frame.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    (length,) = struct.unpack(">I", _exactly(channel, 4, deadline))
    if length > MAX_FRAME:
        raise plain.Malformed(f"a frame of {length:,} bytes")
    message = plain.unpack(_exactly(channel, length, deadline))
    if not isinstance(message, dict):
        raise plain.Malformed("a frame that is not a dict")
    return message


def _exactly(channel: socket.socket, count: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise Late("no answer in time")
        channel.settimeout(left)
        try:
            part = channel.recv(min(count - len(parts), 1 << 20))
        except TimeoutError:
            raise Late("no answer in time") from None
        except OSError:
            raise Closed("the other side is gone") from None
        if not part:
            raise Closed("the other side is gone")
        parts += part
    return bytes(parts)
