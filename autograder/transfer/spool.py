"""What was handed in, read once: in a file without a name on the class's own disk, of which nothing is left, whatever ends the command. Called by collect."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self


class Spool:
    """Bytes to be written to a class's folder later. Use as a context manager."""

    def __init__(self, folder: Path) -> None:
        """folder: the class's; where it is not there yet, and so nothing will be written to it, the system's for temporary files is used."""
        where = folder if folder.is_dir() else None
        self._file = tempfile.TemporaryFile(dir=where, buffering=0)  # noqa: SIM115 - __exit__ closes it
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()

    def keep(self, data: bytes) -> Callable[[], bytes]:
        """Keep a file's bytes; what is returned reads them again. Raises OSError: the disk has no room."""
        place = self._end
        written = 0
        while written < len(data):
            written += os.pwrite(self._file.fileno(), data[written:], place + written)
        self._end += len(data)
        return partial(os.pread, self._file.fileno(), len(data), place)
