"""An export as it came, a zip or a folder: its entries are read in memory and within bounds, and never written to disk by the names they have.

No bound is one for the whole of an export: what one student handed in keeps nobody else's from being collected.
Called by autograder.lms and by collect, for a zip that a student handed in.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import hashlib
import io
import itertools
import lzma
import os
import re
import stat
import struct
import sys
import tarfile
import unicodedata
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from autograder.errors import UserError
from ffnlab.untrusted_text import clean, in_a_line

MIB = 2**20
CHECKPOINTS = ".ipynb_checkpoints"
JUNK = {"__MACOSX", ".DS_Store", CHECKPOINTS}
# What every LMS writes; the others can't be read within bounds.
COMPRESSION_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
MAX_NAME_LENGTH = 4096  # of a path, as file systems have it
MAX_SIZE = 64 * MIB  # of a file
TOO_LARGE = f"too large: {{:,.0f}} MiB, at most {MAX_SIZE / MIB:,.0f}"
MAX_WRAPPERS = 2  # outer folders that somebody's unpacking, or D2L, put around an export
MAX_FILES = 2_000  # in a submission's folder that are looked at, with the folders in it,
MAX_DEPTH = 20  # and how deep
MORE = "(more)"  # stands for those that are not
CHANGED = "it changed while it was collected: collect again"
OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PACKED_ERRORS = (
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    struct.error,
    lzma.LZMAError,
)


@dataclass(frozen=True)
class Bounds:
    """How much of a zip is read. However well something is packed, no more than that is unpacked."""

    contents: int  # bytes of its table of contents
    entries: int = sys.maxsize
    total: int = sys.maxsize  # bytes that it unpacks to, beyond twenty times its own


EXPORT_BOUNDS = Bounds(128 * MIB)  # the table of a class of 10,001, each of whom attached fifty files
# A whole project may be in a student's zip, with a thousand files of a package; what is read of it is what may be a notebook.
PACKED_BOUNDS = Bounds(16 * MIB, 200_000, 256 * MIB)
PACKED = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".gz")
NOT_OPENED = (".rar", ".7z")  # for which Python has nothing


class Refused(Exception):
    """An entry that is not read; one line says why."""


@dataclass(frozen=True)
class ArchiveEntry:
    """A file, or an empty folder, of an export."""

    name: str  # its path in the export, "/" between folders
    size: int
    get: Callable[[], bytes] = field(repr=False, compare=False)
    is_folder: bool = False
    # Of each part of that path, as the file system has them; a zip has neither.
    owners: tuple[int, ...] = ()  # the account's number
    change_times: tuple[float, ...] = ()  # when its inode changed last, in seconds since 1970
    trouble: str = ""  # why it is not read

    def read(self) -> bytes:
        """The bytes. Raises Refused: in what way they can't be had."""
        if self.trouble:
            raise Refused(self.trouble)
        return self.get()


@dataclass
class Archive:
    """What is in an export. Each entry says itself why it is not read, if it is not."""

    name: str
    entries: list[ArchiveEntry] = field(default_factory=list)
    digest: str = ""  # SHA-256 of a zip; none of a folder
    close: Callable[[], None] = lambda: None
    is_open: bool = False  # whether it is a folder into which every account can write, as the exchange's is

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_archive(source: Path, is_submission: Callable[[str], bool] = lambda name: False) -> Archive:
    """The entries of a zip or a folder. Use as a context manager: it stays open while it is read from.

    is_submission: whether a folder of this name is somebody's submission, and not one around all of them.

    Raises:
        UserError: there is nothing, or nothing that can be read.
    """
    if source.is_dir():
        return _read_folder(source, is_submission)
    if not source.is_file():
        raise UserError(f"there is no {source}: give the zip that you downloaded from the LMS, or a folder")
    try:
        file = source.open("rb")
    except OSError as error:
        raise UserError(f"{source} can't be read: {error.strerror}") from None
    archive = Archive(source.name, close=file.close)
    try:
        _read_zip(file, EXPORT_BOUNDS, archive)
    except Refused as reason:
        file.close()
        raise UserError(f"{source} is not a zip that can be read: {reason}") from None
    file.seek(0)
    archive.digest = hashlib.file_digest(file, "sha256").hexdigest()
    return archive


def is_packed(name: str) -> bool:
    """Whether a file has others in it, by its name."""
    return name.casefold().endswith(PACKED)


def open_packed(entry: ArchiveEntry) -> Archive:
    """What is in a zip, a tar or a gz that a student handed in: one level; one in it is left closed.

    Raises:
        Refused: it can't be read.
    """
    data = entry.read()
    name = entry.name.casefold()
    archive = Archive(entry.name)
    if name.endswith(".zip"):
        _read_zip(io.BytesIO(data), PACKED_BOUNDS, archive)
    elif name.endswith(".gz") and not name.endswith(".tar.gz"):
        inner = entry.name.rpartition("/")[2][: -len(".gz")]
        archive.entries.append(ArchiveEntry(inner, len(data), partial(_unzip, data)))
    else:
        _read_tar(data, archive)
    return archive


def _unzip(data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(MAX_SIZE + 1)
    except PACKED_ERRORS as error:
        raise Refused(_describe_error(error)) from None
    if len(content) > MAX_SIZE:
        raise Refused(f"it unpacks to more than {MAX_SIZE / MIB:,.0f} MiB")
    return content


def _read_tar(data: bytes, archive: Archive) -> None:
    """The files of a tar, whichever way it is compressed. It has no table of contents, so that all of it is read once, within bounds."""
    try:
        # As a whole: read as a stream, each of a hundred thousand empty files would cost a copy of all, and a name may claim to have gigabytes.
        content = _decompress(data, PACKED_BOUNDS.total)
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for number, member in enumerate(tar):
                if number == PACKED_BOUNDS.entries:
                    raise Refused(f"it has more than {PACKED_BOUNDS.entries:,} entries")
                name = member.name.removeprefix("./")
                if not member.isfile() or _is_junk(name):
                    continue
                file = tar.extractfile(member)
                kept = file.read(member.size) if file and _may_be_notebook(name) else b""
                archive.entries.append(ArchiveEntry(name, member.size, partial(bytes, kept), trouble=_check_name(name)))
    except (tarfile.TarError, *PACKED_ERRORS) as error:
        raise Refused(_describe_error(error)) from None


DECOMPRESSORS: dict[bytes, Callable[..., Any]] = {  # by what the file begins with
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}


def _decompress(data: bytes, most: int) -> bytes:
    """What was compressed, at most so many bytes; the data themselves, where they are not."""
    start = next((start for start in DECOMPRESSORS if data.startswith(start)), None)
    if start is None:
        return data
    with DECOMPRESSORS[start](io.BytesIO(data)) as file:
        content: bytes = file.read(most + 1)
    if len(content) > most:
        raise Refused(f"it has more than {most / MIB:,.0f} MiB in it")
    return content


def _may_be_notebook(name: str) -> bool:
    """Whether a file in a tar is kept in memory: by its name it may be a notebook, or have one in it."""
    return ".ipynb" in name.casefold() or name.casefold().endswith((".json", ".txt", *PACKED))


class _Measured(io.RawIOBase):
    """A zip's file, of which at first not more than `most` bytes are read at a time: zipfile reads a table of contents in one piece, wherever it finds it."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self.most = file, most
        self.size = file.seek(0, os.SEEK_END)

    def read(self, size: int = -1) -> bytes:
        rest = self.size - self._file.tell()
        if min(size if size >= 0 else rest, rest) > self.most:
            raise Refused("its table of contents is too large")
        return self._file.read(size)

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


def _read_zip(file: BinaryIO, bounds: Bounds, archive: Archive) -> None:
    try:
        measured = _Measured(file, bounds.contents)
        zip_file = zipfile.ZipFile(measured)
        measured.most = sys.maxsize  # an entry may be larger than the table
    except PACKED_ERRORS as error:
        raise Refused(_describe_error(error)) from None
    members = [(_decode_name(info).replace("\\", "/"), info) for info in zip_file.infolist()]  # PowerShell writes "\\"
    if len(members) > bounds.entries:
        raise Refused(f"it has {len(members):,} entries, and at most {bounds.entries:,} are read")
    names: dict[str, list[zipfile.ZipInfo]] = {}
    for name, info in members:
        names.setdefault(name, []).append(info)
    budget = bounds.total + 20 * measured.size
    for name, infos in names.items():
        info = infos[0]
        trouble = _check_name(name) or _check_member(info)
        if len({(other.CRC, other.file_size) for other in infos}) > 1:
            trouble = f"{len(infos)} different files have this name"
        elif not trouble and info.file_size > budget:
            trouble = f"in all, what is before it and it unpack to more than {bounds.total / MIB:,.0f} MiB"
        budget -= 0 if trouble else info.file_size
        archive.entries.append(_make_entry(name, info, zip_file, trouble))
    archive.entries = _drop_full_folders(_drop_junk(archive.entries))


def _make_entry(name: str, info: zipfile.ZipInfo, zip_file: zipfile.ZipFile, trouble: str) -> ArchiveEntry:
    def get() -> bytes:
        try:
            with zip_file.open(info) as file:
                data = file.read(info.file_size + 1)
        except PACKED_ERRORS as error:
            raise Refused(_describe_error(error)) from None
        if len(data) != info.file_size:
            raise Refused("it is cut off")
        return data

    return ArchiveEntry(name.rstrip("/"), info.file_size, get, name.endswith("/"), trouble=trouble)


def _decode_name(info: zipfile.ZipInfo) -> str:
    """An entry's name. Without the flag for UTF-8, zipfile takes it for code page 437, although most programs write UTF-8."""
    name = info.orig_filename
    if not info.flag_bits & 0x800 and not name.isascii():
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name


def _is_junk(name: str) -> bool:
    parts = name.split("/")
    return not JUNK.isdisjoint(parts) or any(part.startswith("._") for part in parts) or not name.strip("/")


def _check_name(name: str) -> str:
    """What is wrong with a name, if anything is."""
    if len(name) > MAX_NAME_LENGTH:
        return "its name is too long"
    if "\0" in name:
        return "a zero byte in its name"
    if name.startswith("/") or re.match(r"[A-Za-z]:/", name):
        return "its name is an absolute path"
    if ".." in name.split("/"):
        return "its name points outside the folder"
    return ""


def _check_member(info: zipfile.ZipInfo) -> str:
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a symbolic link"
    if info.flag_bits & 0x1:
        return "encrypted"
    if info.compress_type not in COMPRESSION_METHODS:
        return "compressed in a way that can't be read here"
    if info.file_size > MAX_SIZE:
        return TOO_LARGE.format(info.file_size / MIB)
    return ""


def _describe_error(error: Exception) -> str:
    if isinstance(error, zipfile.BadZipFile) and "not a zip" in str(error):
        return "it is not a zip, or its end is missing"
    return in_a_line(f"broken ({error or type(error).__name__})", 120)


def _drop_junk(entries: list[ArchiveEntry]) -> list[ArchiveEntry]:
    """Without what systems leave behind. A folder with nothing else was handed in all the same, and a copy of Jupyter's in it may be all that is left."""
    kept = [entry for entry in entries if not _is_junk(entry.name)]
    junk = [(entry, _above_junk(entry.name)) for entry in entries if _is_junk(entry.name)]
    wanted = {above for _, above in junk}
    full = {entry.name for entry in kept} & wanted
    full |= {
        above for entry in kept for end in _find_slashes(entry.name) if wanted and (above := entry.name[:end]) in wanted
    }
    for entry, above in junk:
        parts = entry.name.split("/")
        if not above or above in full:
            continue
        if parts[-2:-1] == [CHECKPOINTS] and not _is_junk(parts[-1]):
            kept.append(entry)
        else:
            kept.append(ArchiveEntry(above, 0, bytes, is_folder=True))
    return list({(entry.name, entry.is_folder): entry for entry in kept}.values())


def _above_junk(name: str) -> str:
    return "/".join(itertools.takewhile(lambda part: not _is_junk(part), name.split("/")))


def _drop_full_folders(entries: list[ArchiveEntry]) -> list[ArchiveEntry]:
    """Without the folders in which something lies: an empty one is a submission without a file."""
    folders = {entry.name for entry in entries if entry.is_folder}
    full = {
        name[:end] for name in (entry.name for entry in entries) for end in _find_slashes(name) if name[:end] in folders
    }
    return [entry for entry in entries if not (entry.is_folder and entry.name in full)]


def _find_slashes(name: str) -> Iterator[int]:
    """Where the folders in a name end. A name that is too long has none: each would be another long name."""
    return (place for place, letter in enumerate(name) if letter == "/") if len(name) <= MAX_NAME_LENGTH else iter(())


def _read_folder(top: Path, is_submission: Callable[[str], bool]) -> Archive:
    """What lies below a folder. Its inner folders may be students' own, who change them meanwhile, as in nbgrader's exchange."""
    try:
        descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UserError(f"{top} can't be read: {error.strerror}") from None
    archive = Archive(top.resolve().name, close=partial(os.close, descriptor))
    archive.is_open = bool(os.fstat(descriptor).st_mode & stat.S_IWOTH)
    level: tuple[_Part, ...] = ()  # the folders around all submissions
    try:
        parts = _list(descriptor, level)
        while len(level) < MAX_WRAPPERS and len(parts) == 1 and parts[0].is_folder and not is_submission(parts[0].name):
            level = (*level, parts[0])
            parts = _list(descriptor, level)
    except Refused as reason:
        os.close(descriptor)
        raise UserError(f"{top}: {reason}") from None
    for part in parts:
        archive.entries += _list_submission(descriptor, (*level, part))
    return archive


NOT_SEEN = os.stat_result((0,) * os.stat_result.n_sequence_fields)


@dataclass(frozen=True)
class _Part:
    """A folder or a file as it was found: its name in the folder that it is in, and its inode's state."""

    name: str
    state: os.stat_result
    trouble: str = ""  # why its state is not known

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.state.st_mode)

    def is_open_as(self, descriptor: int) -> bool:
        """Whether what is open there is this, unchanged: whoever writes into a file or a folder changes its inode's time, and only root can set that back."""
        state = os.fstat(descriptor)
        return all(getattr(state, name) == getattr(self.state, name) for name in ("st_dev", "st_ino", "st_ctime_ns"))


def _list(top: int, parts: tuple[_Part, ...], most: int | None = None, only: str = "") -> list[_Part]:
    """What is in a folder, at most so many, by their names; only: what has this name. Raises Refused: it can't be read."""
    found = []
    with _opened(top, parts) as descriptor, os.scandir(descriptor) as names:
        wanted = (entry for entry in names if (entry.name == only if only else not _is_junk(entry.name)))
        for entry in itertools.islice(wanted, most):
            try:
                found.append(_Part(entry.name, entry.stat(follow_symlinks=False)))
            except FileNotFoundError:  # removed since
                continue
            except OSError as error:  # its owner may have mounted something there, into which even root may not look
                found.append(_Part(entry.name, NOT_SEEN, f"it can't be looked at: {error.strerror}"))
    return sorted(found, key=lambda part: part.name)


def _list_submission(top: int, submission: tuple[_Part, ...]) -> Iterator[ArchiveEntry]:
    """The files in what lies beside other submissions, those on top first; within bounds, beyond which an entry says so."""
    waiting = deque([submission])
    count = 0
    while waiting:
        parts = waiting.popleft()
        if not parts[-1].is_folder:
            yield _make_file_entry(top, parts)
            continue
        trouble = ""
        inside = []
        try:
            if len(parts) - len(submission) < MAX_DEPTH:
                most = MAX_FILES - count + 1
                inside = _list(top, parts, most) or _list(top, parts, most, only=CHECKPOINTS)
            else:
                trouble = f"folders in folders, more than {MAX_DEPTH} deep: what is in them was not looked at"
        except Refused as reason:
            trouble = str(reason)
        if len(inside) > MAX_FILES - count:
            inside, trouble = (
                inside[: MAX_FILES - count],
                f"more than {MAX_FILES:,} files: the others were not looked at",
            )
        count += len(inside)
        waiting.extend((*parts, part) for part in inside)
        if trouble:
            yield _make_entry_of(parts, f"/{MORE}", 0, bytes, trouble=trouble)
        elif not inside:
            yield _make_entry_of(parts, "", 0, bytes, is_folder=True)


def _make_file_entry(top: int, parts: tuple[_Part, ...]) -> ArchiveEntry:
    state, trouble = parts[-1].state, parts[-1].trouble
    if trouble:
        pass
    elif not stat.S_ISREG(state.st_mode):
        trouble = "a symbolic link" if stat.S_ISLNK(state.st_mode) else "not a regular file"
    elif state.st_size > MAX_SIZE:
        trouble = TOO_LARGE.format(state.st_size / MIB)
    return _make_entry_of(parts, "", state.st_size, partial(_read_file, top, parts), trouble=trouble)


def _make_entry_of(
    parts: tuple[_Part, ...],
    ending: str,
    size: int,
    get: Callable[[], bytes],
    is_folder: bool = False,
    trouble: str = "",
) -> ArchiveEntry:
    """An entry for what lies at the end of a path. Where a zip of PowerShell's was unpacked elsewhere, folders are in the file's own name."""
    name = "/".join(part.name for part in parts) if len(parts) > 1 else parts[0].name.replace("\\", "/")
    name = clean(name + ending, sys.maxsize)
    trouble = trouble or _check_name(name)
    if len(name) > MAX_NAME_LENGTH:
        name = f"{name[:200]}…"
    owners = tuple(part.state.st_uid for part in parts)
    change_times = tuple(part.state.st_ctime for part in parts)
    return ArchiveEntry(name, size, get, is_folder, owners, change_times, trouble)


def _read_file(top: int, parts: tuple[_Part, ...]) -> bytes:
    with _opened(top, parts) as descriptor:
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_SIZE + 1)
        if not parts[-1].is_open_as(descriptor):
            raise Refused(CHANGED)
    return data


@contextlib.contextmanager
def _opened(top: int, parts: tuple[_Part, ...]) -> Iterator[int]:
    """What lies at the end of a path, open: each part is opened from the folder that it is in, no link is followed, and it has to be what was found.

    Raises:
        Refused: in what way it can't be read.
    """
    with contextlib.ExitStack() as opened:
        try:
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=top)
            opened.callback(os.close, descriptor)
            for part in parts:
                descriptor = os.open(part.name, OPEN_FLAGS | part.is_folder * os.O_DIRECTORY, dir_fd=descriptor)
                opened.callback(os.close, descriptor)
                if not part.is_open_as(descriptor):
                    raise Refused(CHANGED)
            yield descriptor
        except OSError as error:
            has_gone = error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO)
            raise Refused(CHANGED if has_gone else f"it can't be read ({error.strerror})") from None


def zip_files(files: Mapping[str, bytes], programs: tuple[str, ...] = ()) -> bytes:
    """A zip that is the same for the same files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o755 if name in programs else 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            zip_file.writestr(info, content)
    return data.getvalue()


def normalize_name(name: str) -> str:
    """A name as it is compared: accents are one letter, whichever system packed it."""
    return unicodedata.normalize("NFC", name)
