"""What was handed to the desk in a form: kept in the class's folder until it has been used, for a day at most, under names of ours."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.files import make_folder
from ffnlab.untrusted_text import in_a_line

MAX_BYTES = 2 * 2**30  # bytes of an upload
DAY = 24 * 3600.0
KEY = re.compile(r"[0-9a-f]{16}/(?!\.)[A-Za-z0-9_.()-]{1,100}")


@dataclass
class Uploads:
    """The uploads of a class, and what is made for downloading, each until it is a day old.

    The age of what an earlier desk left is known by the computer's clock. From then on it is measured by one that nobody sets, so that a clock that jumps
    takes nothing away that is needed.
    """

    class_folder: ClassFolder
    _ends: dict[Path, float] = field(default_factory=dict)  # by time.monotonic()

    def __post_init__(self) -> None:
        paths = self._folder.iterdir() if self._folder.is_dir() else ()
        self._ends = {path: time.monotonic() + DAY - max(0.0, time.time() - path.lstat().st_mtime) for path in paths}
        self._remove_old()

    @property
    def _folder(self) -> Path:
        return self.class_folder.path / "uploads"

    def _remove_old(self) -> None:
        for path, end in list(self._ends.items()):
            if end < time.monotonic():
                self._ends.pop(path, None)
                with contextlib.suppress(OSError):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _new(self, name: str) -> Path:
        make_folder(self._folder)
        self._remove_old()
        path = self._folder / name
        self._ends[path] = time.monotonic() + DAY
        return path

    def folder(self) -> Path:
        """A new folder for what is made for downloading."""
        path = self._new(secrets.token_hex(8))
        path.mkdir(mode=0o700)
        return path

    def save(self, name: str, content: BinaryIO) -> Path:
        """Keep an upload, in a folder of its own. `name`: what its sender calls it, of which the end is kept.

        Raises:
            UserError: it is empty, or too large. OSError: it can't be written.
        """
        path = self.folder() / (re.sub(r"[^A-Za-z0-9_.()-]+", "_", name)[-100:].lstrip(".") or "upload")
        path.touch(mode=0o600)
        try:
            size = 0
            with path.open("wb") as file:
                while size <= MAX_BYTES and (part := content.read(1 << 20)):
                    size += file.write(part)
            if not 0 < size <= MAX_BYTES:
                reason = "empty" if not size else f"larger than {MAX_BYTES // 2**30} GiB"
                raise UserError(f"{in_a_line(name, 80)} is {reason}")
        except BaseException:
            shutil.rmtree(path.parent)
            raise
        return path

    def key(self, path: Path) -> str:
        """By what a form names an upload."""
        return f"{path.parent.name}/{path.name}"

    def find(self, key: str) -> Path:
        """An upload that was kept.

        Raises:
            UserError: it is not there (any more).
        """
        path = self._folder / key
        if not KEY.fullmatch(key) or not path.is_file():
            raise UserError("the file that you chose is gone: choose it again")
        return path
