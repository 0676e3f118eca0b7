"""An export as it came, a zip or a folder: its entries are read in memory and within bounds, and never written to disk by the names they have.

Called by autograder.lms and by collect, for a zip that a student handed in.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from autograder import untrusted_files
from autograder.errors import UserError
from ffnlab.untrusted_text import clean, in_a_line

MIB = 2**20
JUNK = {"__MACOSX", ".DS_Store", ".ipynb_checkpoints"}
COMPRESSION_METHODS = {
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
}  # what every LMS writes; the others can't be read within bounds
MAX_NAME_LENGTH = 4096  # of a path, as file systems have it
States = tuple[tuple[int, ...], tuple[float, ...]]  # owners, and when their inodes changed
PACKED_ERRORS = (
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
    """How much is read: numbers of entries, and bytes. However well something is packed, no more than that is unpacked."""

    entries: int = 20_000
    entry: int = 64 * MIB
    total: int = 4096 * MIB  # beyond twenty times what lies on the disk
    contents: int = 16 * MIB  # the table of contents of a zip


EXPORT_BOUNDS = Bounds()
# A whole project may be in a student's zip, with a thousand files of a package; what is read of it is what may be a notebook.
PACKED_BOUNDS = Bounds(entries=200_000, total=256 * MIB)
PACKED = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".gz")
NOT_OPENED = (".rar", ".7z")  # for which Python has nothing


class Refused(Exception):
    """An entry that is not read; one line says why."""


@dataclass(frozen=True)
class ArchiveEntry:
    """A file, or an empty folder, of an export. name: its path in it, "/" between folders.

    owners, change_times: of each part of that path, as the file system has them: the account's number, and when its inode changed last, in seconds since 1970.
    A zip has neither.
    """

    name: str
    size: int
    get: Callable[[], bytes] = field(repr=False, compare=False)
    is_folder: bool = False
    owners: tuple[int, ...] = ()
    change_times: tuple[float, ...] = ()
    trouble: str = ""  # why it is not read

    def read(self) -> bytes:
        """The bytes. Raises Refused: in what way they can't be had."""
        if self.trouble:
            raise Refused(self.trouble)
        return self.get()


@dataclass
class Archive:
    """What is in an export. refusals: what has a name that no file of it can have, with the reason. Any other entry says itself why it is not read."""

    name: str
    entries: list[ArchiveEntry] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    digest: str = ""  # SHA-256 of a zip; none of a folder
    file: BinaryIO | None = None

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file:
            self.file.close()

    def refuse(self, name: str, reason: str) -> None:
        self.refusals.append((in_a_line(name, 200), reason))


def open_archive(source: Path) -> Archive:
    """The entries of a zip or a folder. Use as a context manager: a zip stays open while it is read from.

    Raises:
        UserError: there is nothing, or nothing that can be read.
    """
    if source.is_dir():
        return _read_folder(source)
    if not source.is_file():
        raise UserError(f"there is no {source}: give the zip that you downloaded from the LMS, or a folder")
    try:
        file = source.open("rb")
    except OSError as error:
        raise UserError(f"{source} can't be read: {error.strerror}") from None
    archive = Archive(source.name, file=file)
    try:
        _read_zip(file, os.path.getsize(source), EXPORT_BOUNDS, archive)
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
    data, name = entry.read(), entry.name.casefold()
    archive = Archive(entry.name)
    if name.endswith(".zip"):
        _read_zip(io.BytesIO(data), len(data), PACKED_BOUNDS, archive)
    elif name.endswith(".gz") and not name.endswith(".tar.gz"):
        inner = entry.name.rpartition("/")[2][: -len(".gz")]
        archive.entries.append(ArchiveEntry(inner, len(data), partial(_unzip, data)))
    else:
        _read_tar(data, archive)
    return archive


def _unzip(data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(PACKED_BOUNDS.entry + 1)
    except PACKED_ERRORS as error:
        raise Refused(_describe_error(error)) from None
    if len(content) > PACKED_BOUNDS.entry:
        raise Refused(f"it unpacks to more than {PACKED_BOUNDS.entry / MIB:,.0f} MiB")
    return content


def _read_tar(data: bytes, archive: Archive) -> None:
    """The files of a tar, whichever way it is compressed. It has no table of contents, so that all of it is read once, within bounds."""
    room = PACKED_BOUNDS.total
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r|*") as tar:
            for number, member in enumerate(tar):
                room -= member.size
                if number == PACKED_BOUNDS.entries or room < 0:
                    raise Refused(f"it has more than {PACKED_BOUNDS.total / MIB:,.0f} MiB in it")
                name = member.name.removeprefix("./")
                if not member.isfile() or _is_junk(name):
                    continue
                if trouble := _check_name(name):
                    archive.refuse(name, trouble)
                    continue
                file = tar.extractfile(member)
                content = file.read(member.size) if file and _may_be_notebook(name) else b""
                archive.entries.append(ArchiveEntry(name, member.size, partial(bytes, content)))
    except (tarfile.TarError, *PACKED_ERRORS) as error:
        raise Refused(_describe_error(error)) from None


def _may_be_notebook(name: str) -> bool:
    """Whether a file in a tar is kept in memory: by its name it may be a notebook, or have one in it."""
    return ".ipynb" in name.casefold() or name.casefold().endswith((".json", ".txt", *PACKED))


def _read_zip(file: BinaryIO, size: int, bounds: Bounds, archive: Archive) -> None:
    if _measure_contents(file, size) > bounds.contents:
        raise Refused("its table of contents is too large")
    try:
        zip_file = zipfile.ZipFile(file)
    except PACKED_ERRORS as error:
        raise Refused(_describe_error(error)) from None
    members = [(_decode_name(info), info) for info in zip_file.infolist()]
    if not any("/" in name for name, _ in members):  # PowerShell writes "\\" between folders
        members = [(name.replace("\\", "/"), info) for name, info in members]
    if len(members) > bounds.entries:
        raise Refused(f"it has {len(members):,} entries, and at most {bounds.entries:,} are read")
    names: dict[str, list[zipfile.ZipInfo]] = {}
    for name, info in members:
        names.setdefault(name, []).append(info)
    budget = bounds.total + 20 * size
    for name, infos in names.items():
        if _is_junk(name):
            continue
        if trouble := _check_name(name):
            archive.refuse(name, trouble)
            continue
        info = infos[0]
        trouble = _check_member(info, bounds)
        if len({(other.CRC, other.file_size) for other in infos}) > 1:
            trouble = f"{len(infos)} different files have this name"
        elif not trouble and info.file_size > budget:
            trouble = f"in all, what is before it and it unpack to more than {bounds.total / MIB:,.0f} MiB"
        budget -= 0 if trouble else info.file_size
        archive.entries.append(_make_entry(name, info, zip_file, trouble))
    archive.entries = _drop_full_folders(archive.entries)


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


def _measure_contents(file: BinaryIO, size: int) -> int:
    """How many bytes the table of contents has, as the zip's end says; 0 where there is no end, which zipfile finds out itself."""
    file.seek(max(0, size - 65_557))
    tail = file.read()
    place = tail.rfind(b"PK\5\6")
    if place < 0 or len(tail) < place + 22:
        return 0
    (contents,) = struct.unpack_from("<L", tail, place + 12)
    locator = tail[max(0, place - 20) : place]
    if contents == 0xFFFFFFFF and locator.startswith(b"PK\6\7"):
        (offset,) = struct.unpack_from("<Q", locator, 8)
        file.seek(min(offset, size))
        record = file.read(56)
        if len(record) == 56:
            (contents,) = struct.unpack_from("<Q", record, 40)
    return int(contents)


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
    if "\\" in name:
        return "a backslash in its name"
    if name.startswith("/") or re.match(r"[A-Za-z]:/", name):
        return "its name is an absolute path"
    if ".." in name.split("/"):
        return "its name points outside the folder"
    return ""


def _check_member(info: zipfile.ZipInfo, bounds: Bounds) -> str:
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a symbolic link"
    if info.flag_bits & 0x1:
        return "encrypted"
    if info.compress_type not in COMPRESSION_METHODS:
        return "compressed in a way that can't be read here"
    if info.file_size > bounds.entry:
        return f"too large: {info.file_size / MIB:,.0f} MiB, at most {bounds.entry / MIB:,.0f}"
    return ""


def _describe_error(error: Exception) -> str:
    if isinstance(error, zipfile.BadZipFile) and "not a zip" in str(error):
        return "it is not a zip, or its end is missing"
    return in_a_line(f"broken ({error or type(error).__name__})", 120)


def _drop_full_folders(entries: list[ArchiveEntry]) -> list[ArchiveEntry]:
    """Without the folders in which something lies: an empty one is a submission without a file."""
    folders = {entry.name for entry in entries if entry.is_folder}
    full = {
        name[:end] for name in (entry.name for entry in entries) for end in _find_slashes(name) if name[:end] in folders
    }
    return [entry for entry in entries if not (entry.is_folder and entry.name in full)]


def _find_slashes(name: str) -> Iterator[int]:
    return (place for place, letter in enumerate(name) if letter == "/")


def _read_folder(top: Path) -> Archive:
    archive = Archive(top.resolve().name)
    states: dict[Path, States] = {top: ((), ())}
    for place, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not _is_junk(name))
        here = Path(place)
        for name in list(folders):
            if (here / name).is_symlink():
                archive.refuse(_relative_name(top, here / name), "a symbolic link")
                folders.remove(name)
            else:
                states[here / name] = _extend_states(states[here], (here / name).lstat())
        file_names = sorted(name for name in files if not _is_junk(name))
        if not file_names and not folders and here != top:
            archive.entries.append(ArchiveEntry(_relative_name(top, here), 0, lambda: b"", True, *states[here]))
        for name in file_names:
            _add_file(archive, top, here / name, states[here])
        if len(archive.entries) > EXPORT_BOUNDS.entries:
            raise UserError(f"{top} has more than {EXPORT_BOUNDS.entries:,} files: is it an export?")
    return archive


def _extend_states(above: States, state: os.stat_result) -> States:
    return (*above[0], state.st_uid), (*above[1], state.st_ctime)


def _add_file(archive: Archive, top: Path, path: Path, above: States) -> None:
    name = _relative_name(top, path)
    most = EXPORT_BOUNDS.entry
    state = path.lstat()
    if trouble := _check_name(name):
        archive.refuse(name, trouble)
        return
    if not stat.S_ISREG(state.st_mode):
        trouble = "a symbolic link" if stat.S_ISLNK(state.st_mode) else "not a regular file"
    elif state.st_size > most:
        trouble = f"too large: {state.st_size / MIB:,.0f} MiB, at most {most / MIB:,.0f}"
    states = _extend_states(above, state)
    archive.entries.append(ArchiveEntry(name, state.st_size, partial(_read_bytes, path, most), False, *states, trouble))


def _read_bytes(path: Path, most: int) -> bytes:
    try:
        data = untrusted_files.read(path, most)
    except OSError as error:
        raise Refused(f"it can't be read ({error.strerror})") from None
    if len(data) > most:
        raise Refused("it has grown too large")
    return data


def _relative_name(top: Path, path: Path) -> str:
    """The name of a file below a folder. Where a zip of PowerShell's was unpacked elsewhere, folders are in the file's own name."""
    parts = path.relative_to(top).parts
    return clean("/".join(parts) if len(parts) > 1 else parts[0].replace("\\", "/"), 4096)


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
