"""What was handed in for an assignment, `collected/ASSIGNMENT/` in a class's folder: every file byte for byte, and a manifest with all that the way back needs.

Called by collect, which writes it, and by give_back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.files import write_private
from autograder.lms import SYSTEMS
from autograder.lms.archive import normalize_name
from autograder.lms.records import ExportedFile
from autograder.times import parse_moment
from autograder.untrusted_files import is_file

FOLDER, FILE, FORMAT = "collected", "manifest.json", 1
BY_HAND = "submitted"  # the system of what somebody had put into submitted/ themselves
NOTHING = 0  # no record's number: what is to be placed where a student's only attempt was another's
EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}")


Key = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Record:
    """A file that a student handed in. Where a field has an alias, that is what the manifest calls it."""

    student: str
    number: int  # among the student's files, from 1, in the order of collecting
    attempt: int  # which of this student's attempts it is, from 1; 0: a file beside it
    system: str
    submitter: Annotated[str, Field(alias="who")]  # the export's own token for whoever handed it in
    name: str
    entry: str  # its name in the archive
    file: str
    sha256: str
    bytes: int
    kept: str  # where it lies, below collected/ASSIGNMENT/
    collected: str  # when it was taken, in UTC
    archive: str = ""
    archive_sha256: str = ""
    handed_in_at: Annotated[str, Field(alias="at")] = ""  # in UTC
    late: bool = False
    group: str = ""
    members: tuple[str, ...] = ()
    handed_in_for: str = ""
    token: str = ""
    # What else the way back needs: attachment, submission, folder, secret.
    back: Mapping[str, str] = field(default_factory=dict)
    withdrawn: bool = False  # it was put to this student, and a person has decided since that it is another's
    unread_time: str = ""  # what the LMS gives as the time at which it was handed in, where that can't be read
    refused: str = ""  # why it was not read, so that nothing is kept but this: somebody has handed in

    @property
    def key(self) -> Key:
        return key_of(self, self.sha256)

    @property
    def when(self) -> datetime | None:
        return parse_moment(self.handed_in_at) if self.handed_in_at else None


def key_of(file: ExportedFile | Record, sha256: str) -> Key:
    """What makes it the same file, whenever and in whichever form it is exported again."""
    return file.system, file.submitter, file.token, normalize_name(file.file), sha256


@dataclass
class Manifest:
    """The files of an assignment, by student, and what is still to be placed in submitted/ after a run that was broken off: by student, a record's number."""

    assignment: str
    records: dict[str, list[Record]] = field(default_factory=dict)
    placing: dict[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, class_folder: ClassFolder, assignment: str) -> Manifest:
        """An assignment's manifest; an empty one where nothing was collected.

        Raises:
            UserError: it can't be read.
        """
        path = _path(class_folder, assignment)
        manifest = cls(assignment)
        if not path.exists():
            return manifest
        try:
            data = _CONTENT.validate_json(path.read_bytes(), strict=True)
            for record in data.files:
                manifest.add(record)
            manifest.placing = data.placing
        except (OSError, ValueError) as error:  # pydantic's ValidationError is one
            raise UserError(
                f"{path} can't be read ({type(error).__name__}): put back a copy of it, or remove {path.parent} and collect its exports again. "
                "Without it nothing can be given back to the LMS"
            ) from None
        return manifest

    def save(self, class_folder: ClassFolder) -> None:
        """Write it whole or not at all, where it has changed."""
        path = _path(class_folder, self.assignment)
        records = [record for student in sorted(self.records) for record in self.records[student]]
        entries = _RECORDS.dump_python(records, by_alias=True)
        data = {"format": FORMAT, "assignment": self.assignment, "placing": self.placing, "files": entries}
        text = json.dumps(data, indent=1, ensure_ascii=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_private(path, text)

    def add(self, record: Record) -> None:
        self.records.setdefault(record.student, []).append(record)

    def date(self, record: Record, handed_in_at: str, unread_time: str = "") -> None:
        """Write down when an attempt was handed in, as is known now."""
        records = self.records[record.student]
        records[records.index(record)] = replace(record, handed_in_at=handed_in_at, unread_time=unread_time)
        if latest := self.latest(record.student):
            self.placing[record.student] = latest.number

    def withdraw(self, record: Record) -> None:
        """Take an attempt from a student whose it is not; an earlier one comes in its place in submitted/, or nothing does."""
        records = self.records[record.student]
        records[records.index(record)] = replace(record, attempt=0, withdrawn=True)
        latest = self.latest(record.student)
        self.placing[record.student] = latest.number if latest else NOTHING

    def find_withdrawals(self, student: str) -> set[str]:
        """The SHA-256 of what was taken from a student, and is no attempt of theirs in another way."""
        records = self.records.get(student, ())
        own = {record.sha256 for record in records if record.attempt}
        return {record.sha256 for record in records if record.withdrawn} - own

    def next_number(self, student: str) -> int:
        return 1 + max((record.number for record in self.records.get(student, ())), default=0)

    def next_attempt(self, student: str) -> int:
        return 1 + max((record.attempt for record in self.records.get(student, ())), default=0)

    def latest(self, student: str, system: str = "") -> Record | None:
        """The attempt that counts: the latest by its time, or, where one of two has none, the one that was collected later. system: among those of this one."""
        best: Record | None = None
        for record in self.records.get(student, ()):
            if not record.attempt or system not in ("", record.system):
                continue
            if best and record.when and best.when and record.when < best.when:
                continue
            best = record
        return best

    def copy(self, class_folder: ClassFolder, student: str) -> bytes | None:
        """The attempt of a student that counts, byte for byte, if it is here and whole."""
        record = self.latest(student)
        try:
            data = self.path(class_folder, record).read_bytes() if record else b""
        except OSError:
            return None
        return data if record and hashlib.sha256(data).hexdigest() == record.sha256 else None

    def is_whole(self, class_folder: ClassFolder, record: Record) -> bool:
        """Whether a file that was collected is here in its length: a power cut empties files."""
        path = self.path(class_folder, record)
        return is_file(path) and path.stat().st_size == record.bytes

    def path(self, class_folder: ClassFolder, record: Record) -> Path:
        """Where a file is kept."""
        return _path(class_folder, self.assignment).parent / record.kept


@dataclass
class _Content:
    """What the file holds."""

    format: Literal[1]
    assignment: str
    placing: dict[str, int]
    files: list[Record]


_CONTENT = TypeAdapter(_Content)
_RECORDS = TypeAdapter(list[Record])


def lateness(class_folder: ClassFolder, assignment: str) -> dict[tuple[str, str], bool]:
    """Whether the LMS flags an attempt as late, by student and SHA-256: of those that have no time, from systems that flag what is late.

    Raises:
        UserError: the manifest can't be read.
    """
    path = _path(class_folder, assignment)
    system_names = [system.name for system in SYSTEMS.values() if system.flags_lateness]
    content = path.read_bytes() if path.is_file() else b""
    if not any(f'"{name}"'.encode() in content for name in system_names):  # to parse a large manifest takes a second
        return {}
    return {
        (record.student, record.sha256): record.late
        for record in _load_records(class_folder, assignment)
        if record.attempt and record.system in system_names and not record.handed_in_at
    }


def unread_times(class_folder: ClassFolder, assignment: str) -> dict[tuple[str, str], str]:
    """What the LMS gave as the time of an attempt and can't be read, by student and SHA-256.

    Raises:
        UserError: the manifest can't be read.
    """
    path = _path(class_folder, assignment)
    if not path.is_file() or not re.search(rb'"unread_time": "[^"]', path.read_bytes()):
        return {}
    return {
        (record.student, record.sha256): record.unread_time
        for record in _load_records(class_folder, assignment)
        if record.attempt and record.unread_time and not record.handed_in_at
    }


def _load_records(class_folder: ClassFolder, assignment: str) -> list[Record]:
    manifest = Manifest.load(class_folder, assignment)
    return [record for records in manifest.records.values() for record in records]


def place(student: str, number: int, file: str) -> str:
    """Where a file of a student's is kept, below the manifest's folder: by its number, with the extension that it had."""
    extension = Path(file).suffix
    return f"files/{student}/{number:03d}{extension if EXTENSION.fullmatch(extension) else ''}"


def now() -> str:
    return stamp(datetime.now(UTC))


def stamp(time: datetime) -> str:
    """A time as nbgrader can read it back."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} UTC"


def assignments(class_folder: ClassFolder) -> list[str]:
    """The assignments of which something was collected."""
    folder = class_folder.path / FOLDER
    return sorted(path.parent.name for path in folder.glob(f"*/{FILE}") if is_file(path))


def _path(class_folder: ClassFolder, assignment: str) -> Path:
    return class_folder.path / FOLDER / assignment / FILE
