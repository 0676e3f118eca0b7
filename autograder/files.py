"""Files that a power cut must not empty: each is written whole or not at all, and is on the disk before anything refers to it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

PRIVATE = 0o600
DRAFT = (
    ".draft"  # the same name each time, so that a draft which a killed command has left is overwritten by the next one
)
# What the disk, the system or its settings refuse: not a fault of ours, and the same command goes on once it is mended.
SYSTEM_ERRORS = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EIO, errno.ENFILE, errno.ENOLCK, errno.EOPNOTSUPP,
    errno.ENOSYS, errno.ESTALE, errno.ENOMEM, errno.ELOOP, errno.ENAMETOOLONG, errno.ETIMEDOUT, errno.EAGAIN,
}  # fmt: skip
CONTINUATION = "nothing is lost, and the same command continues"
LIMIT_MESSAGES = {
    errno.ENOSPC: f"the disk is full; {CONTINUATION} once there is room",
    errno.EDQUOT: f"your quota on this disk is used up; {CONTINUATION} once there is room",
    errno.EFBIG: f"a file has reached the size limit of `ulimit -f`; {CONTINUATION} once that is higher",
    errno.EMFILE: f"the limit on open files, `ulimit -n`, is reached; {CONTINUATION} once that is higher",
}
_libc = ctypes.CDLL(None, use_errno=True)


class Batch:
    """Files that are written together. They are in their places and on the disk when the context ends; when it ends in an error, none has changed.

    A gradebook that refers to them is committed afterwards. So what it says is on the disk, whenever the power goes.
    size: of thousands of files, put so many in their places at a time.
    """

    def __init__(self, size: int | None = None) -> None:
        self._size = size
        self._drafts: dict[Path, Path] = {}  # by the place that it is for
        self._removals: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            if error is None:
                self._put_in_place()
        finally:
            for draft in self._drafts.values():
                draft.unlink(missing_ok=True)

    def write(self, path: Path, content: str | bytes, mode: int = PRIVATE) -> None:
        """Write a file; its folder is made where it is missing, for its owner alone if the file is. `mode`: as for open(2).

        A device or a pipe, such as /dev/stdout, is written into at once.

        Raises:
            OSError: with the file's name, whatever went wrong.
        """
        data = content.encode() if isinstance(content, str) else content
        if is_device(path):
            with errors_of(path), open(path, "wb") as file:
                file.write(data)
            return
        if mode == PRIVATE:
            _make_missing(path.parent)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
        if self._size and len(self._drafts) >= self._size:
            self._put_in_place()
        draft = path.with_name(path.name + DRAFT)
        with errors_of(path):
            draft.unlink(missing_ok=True)
            self._drafts[path] = draft
            with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                file.write(data)

    def remove(self, path: Path) -> None:
        """Have a file no longer there, if it is."""
        if path.exists():
            self._removals.append(path)

    def _put_in_place(self) -> None:
        folders = {path.parent for path in (*self._drafts, *self._removals)}
        _sync(folders)  # what is in the drafts, before a name points to them
        while self._removals:  # first: what is broken off from here on has still to replace a file
            self._removals.pop().unlink(missing_ok=True)
        while self._drafts:
            path, draft = next(iter(self._drafts.items()))
            with errors_of(path):
                draft.replace(path)
            del self._drafts[path]
        _sync(folders)  # the names


def replace(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Write one file whole or not at all; it is on the disk afterwards. `mode`: who may read it, as for open(2)."""
    with Batch() as batch:
        batch.write(path, content, mode)


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file of a class, for its owner alone; so are the folders that it is the first in."""
    replace(path, content, PRIVATE)


def make_folder(folder: Path) -> None:
    """Make a folder of a class, and those above it, for their owner alone."""
    if _make_missing(folder):
        _sync([folder.parent])


@contextlib.contextmanager
def append_to(path: Path) -> Iterator[TextIO]:
    """A class's file to write more into, for its owner alone."""
    with errors_of(path), open(path, "a", encoding="utf-8", opener=private_opener) as file:
        yield file


@contextlib.contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """An OSError from here names the file: write(2) and its like know none, and others name its draft."""
    try:
        yield
    except OSError as error:
        if error.errno and str(error.filename) in ("None", str(path) + DRAFT):
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


def explain(error: OSError) -> str:
    """What the disk or the system refuses, in one line with the way out; "" for what is a fault of ours."""
    where = f"{error.filename}: " if error.filename else ""
    if error.errno in LIMIT_MESSAGES:
        return where + LIMIT_MESSAGES[error.errno]
    return f"{where}{error.strerror}; {CONTINUATION} once that is fixed" if error.errno in SYSTEM_ERRORS else ""


def is_device(path: Path) -> bool:
    """Whether a path is no place for a file of its own: root's rename would take /dev/null away from the whole machine."""
    return path.absolute().parent == Path("/dev") or (path.exists() and not path.is_file() and not path.is_dir())


def is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not be there yet: over links, other folders' names, or two names of the same file."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def private_opener(path: str, flags: int) -> int:
    """An opener for `open`: what it makes is for its owner alone."""
    return os.open(path, flags, PRIVATE)


def _make_missing(folder: Path) -> bool:
    """Make what is missing of a folder and those above it; whether anything was."""
    if folder.exists():
        return False
    _make_missing(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    return True


def _sync(folders: Iterable[Path]) -> None:
    """Have all that was written to the file systems of these folders on their disks: one call for any number of files."""
    for folder in {folder.stat().st_dev: folder for folder in folders}.values():
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if _libc.syncfs(descriptor):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
        finally:
            os.close(descriptor)
