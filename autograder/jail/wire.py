"""Frames between a fork and the process outside that asks it: a length, then one plain value (`ffnlab.observation.plain_data`). Nothing is ever unpickled."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from typing import Any

# ffnlab.observation.plain_data brings torch: it is imported where messages are packed and unpacked, so that a conductor, who does neither, needs none.

ISOLATED = b"isolated"  # what a fork says first, before any frame; else a line that tells what stands in the way
REFUSED = b"refused: "  # how that line begins when no fork of this jail would do
STATUS = struct.Struct("<i")  # how a fork has ended, as waitpid(2) says it
# what a cell may show
MIME_TYPES = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/svg+xml")
MAX_DISPLAYS = 50  # things that one cell may show
POLL_SECONDS = 0.1
TRICKLE = 4096  # bytes: where no more has come and more is to come, the next look waits for PAUSE_SECONDS, or single bytes would keep a core busy
PAUSE_SECONDS = 0.001


class Closed(ConnectionError):
    """The other side is gone."""


class WireTimeout(TimeoutError):
    """The other side does not read."""


class TooLarge(ValueError):
    """A frame that is larger than it may be."""


def frame(message: dict[str, Any]) -> bytes:
    """A message as the bytes that travel."""
    from ffnlab.observation import plain_data

    data = plain_data.pack(message)
    return struct.pack(">I", len(data)) + data


def send(channel: socket.socket, message: dict[str, Any] | bytes) -> None:
    """Send one message, or a frame that was made of one before.

    Raises:
        Closed: nobody is listening any more. WireTimeout: the channel's time-out passed.
    """
    data = message if isinstance(message, bytes) else frame(message)
    try:
        channel.sendall(data)
    except TimeoutError:
        raise WireTimeout("the other side does not read") from None
    except ConnectionError:
        raise Closed("the other side is gone") from None


def receive(channel: socket.socket) -> dict[str, Any]:
    """Receive one message from somebody who is trusted.

    Raises:
        Closed: the other side is gone. TooLarge, plain_data.Malformed: the bytes are not a frame.
    """
    from ffnlab.observation import plain_data

    return read(receive_frame(channel, plain_data.MAX_BYTES))


def read(data: bytes) -> dict[str, Any]:
    """The message in a frame from somebody who is trusted. Raises plain_data.Malformed where it is none."""
    from ffnlab.observation import plain_data

    message = plain_data.unpack(data)
    if not isinstance(message, dict):
        raise plain_data.Malformed("a frame that is not a dict")
    return message


def receive_frame(channel: socket.socket, most: int, patience: Callable[[], None] | None = None) -> bytes:
    """Receive one frame and leave it unread: who made it may have made it to harm whoever reads it.

    most: bytes; of a larger frame nothing is received. patience: is called whenever POLL_SECONDS have passed; it raises when it has run out.

    Raises:
        Closed: the other side is gone. TooLarge. Whatever `patience` raises.
    """
    channel.settimeout(None if patience is None else POLL_SECONDS)
    (length,) = struct.unpack(">I", _exactly(channel, 4, patience))
    if length > most:
        raise TooLarge(f"{length:,} bytes, at most {most:,}")
    return _exactly(channel, length, patience)


def _exactly(channel: socket.socket, count: int, patience: Callable[[], None] | None) -> bytes:
    parts = bytearray()
    last_look = time.monotonic()
    while len(parts) < count:
        if patience is not None and time.monotonic() - last_look > POLL_SECONDS:  # a trickle of bytes is watched too
            patience()
            last_look = time.monotonic()
        try:
            part = channel.recv(min(count - len(parts), 1 << 20))
        except TimeoutError:
            continue
        except ConnectionError:
            raise Closed("the other side is gone") from None
        if not part:
            raise Closed("the other side is gone")
        parts += part
        if patience is not None and len(part) < TRICKLE and len(parts) < count:
            time.sleep(PAUSE_SECONDS)
    return bytes(parts)
