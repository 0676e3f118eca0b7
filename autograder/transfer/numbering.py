"""The number of each attempt among a student's, in the manifests: what is new of an export, what is here already, and what is another's now. Called by collect.

Only the manifests in memory change here. What is to be written stands in what is returned.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC

from autograder import untrusted_files
from autograder.class_folder import manifest as manifest_file
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import Manifest, Record
from autograder.class_folder.roster import Student
from autograder.lms.archive import Archive
from autograder.lms.exchange import SECRET
from autograder.transfer.collection_report import CollectionRow, Remarks, RowMaker, format_time
from autograder.transfer.group_files import CollectedSubmission, NotebookFile
from ffnlab.untrusted_text import in_a_line


@dataclass(frozen=True)
class PendingWrite:
    """A file that is to be kept in the class's folder."""

    manifest: Manifest
    record: Record
    read: Callable[[], bytes]


@dataclass
class Numbered:
    """What numbering found. The manifests have the new records, and what is to be placed."""

    rows: list[CollectionRow] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)
    writes: list[PendingWrite] = field(default_factory=list)
    new: int = 0
    known_count: int = 0


def number_attempts(
    submissions: Sequence[CollectedSubmission],
    pending_entries: set[str],
    manifests: dict[str, Manifest],
    class_folder: ClassFolder,
    archive: Archive,
    row_maker: RowMaker,
) -> Numbered:
    """Number what is new, the earliest first. pending_entries: the files about which somebody has to decide, and of which the table has a line already."""
    numbering = _Numbering(manifests, class_folder, archive, row_maker)
    for submission in sorted(submissions, key=lambda submission: str(submission.first.handed_in_at or "")):
        for student in submission.students if submission.assignment else ():
            numbering.number(submission, student, pending_entries)
    numbering.numbered.remarks.notes += _withdraw(submissions, manifests)
    return numbering.numbered


def _withdraw(submissions: Sequence[CollectedSubmission], manifests: dict[str, Manifest]) -> list[str]:
    """Take back what was put to a student before, and is another's now: somebody has corrected a decision. Returns a line on each."""
    owners: dict[manifest_file.Key, list[str]] = {}
    for submission in submissions:
        for file in submission.notebooks:
            key = manifest_file.key_of(file.exported_file, file.digest)
            owners.setdefault(key, []).extend(student.id for student in submission.students)
    notes = []
    for manifest in manifests.values():
        for record in [record for records in manifest.records.values() for record in records if record.attempt]:
            now = owners.get(record.key)
            if now and record.student not in now:
                manifest.withdraw(record)
                notes.append(
                    f"{in_a_line(record.entry, 200)} is {', '.join(now)}'s: attempt {record.attempt} of {record.student}, "
                    f"for {manifest.assignment}, is withdrawn, with its points and its page"
                )
    return notes


class _Numbering:
    """Numbers submission after submission."""

    def __init__(
        self, manifests: dict[str, Manifest], class_folder: ClassFolder, archive: Archive, row_maker: RowMaker
    ) -> None:
        self.manifests = manifests
        self.class_folder = class_folder
        self.archive = archive
        self.row_maker = row_maker
        self.numbered = Numbered()

    def number(self, submission: CollectedSubmission, student: Student, pending_entries: set[str]) -> None:
        """Number what is new of a submission, and write the table's lines."""
        manifest = self.manifests.setdefault(submission.assignment, Manifest(submission.assignment))
        if submission.choice:
            self._number_choice(manifest, submission, student, submission.choice)
        for file in (*submission.notebooks, *submission.others):
            if file is not submission.choice:
                what = self._keep_beside(manifest, submission, student, file)
                if file.exported_file.entry not in pending_entries:
                    self.numbered.rows.append(self.row_maker.make(file.exported_file, student.id, what))
        if submission.refusals and not manifest.records.get(student.id):
            self._note_refusal(manifest, submission, student)

    def _keep_beside(
        self, manifest: Manifest, submission: CollectedSubmission, student: Student, file: NotebookFile
    ) -> str:
        """Keep a file that is not the one that counts. Returns what becomes of it."""
        record = self._make_record(manifest, submission, student, file)
        is_new = record.key not in {known.key for known in manifest.records.get(student.id, ())}
        if is_new:
            self._add(manifest, record, file.exported_file.read)
        untouched_note = f"{file.assignment} as handed out, untouched" if file.is_untouched else ""
        what = "kept beside it" if is_new else "already here"
        note = file.trouble or untouched_note
        return f"{note}; {what}" if note else what

    def _note_refusal(self, manifest: Manifest, submission: CollectedSubmission, student: Student) -> None:
        """Somebody of whose files none could be read has handed in all the same."""
        exported_file, reason = submission.refusals[0]
        empty = NotebookFile(exported_file, "", 0)
        record = self._make_record(manifest, submission, student, empty)
        manifest.add(replace(record, kept="", refused=in_a_line(reason, 200)))

    def _number_choice(
        self, manifest: Manifest, submission: CollectedSubmission, student: Student, file: NotebookFile
    ) -> None:
        """Number the file that counts."""
        record = self._make_record(manifest, submission, student, file, is_attempt=True)
        known = {known.key: known for known in manifest.records.get(student.id, ()) if known.attempt}
        if before := known.get(record.key):
            what = self._number_again(manifest, student, file, before, record)
            self.numbered.known_count += 1
            attempt = before.attempt
        else:
            what, attempt = self._number_new(manifest, submission, student, file)
            self.numbered.new += 1
        row = self.row_maker.make(file.exported_file, student.id, what, manifest.assignment, str(attempt))
        self.numbered.rows.append(row)

    def _number_new(
        self, manifest: Manifest, submission: CollectedSubmission, student: Student, file: NotebookFile
    ) -> tuple[str, int]:
        """Returns what becomes of it, and the number of the attempt."""
        there = self._keep_manual_file(manifest, student, file)  # which may take the number before this one
        record = self._make_record(manifest, submission, student, file, is_attempt=True)
        exported_file = file.exported_file
        self._add(manifest, record, exported_file.read)
        if manifest.latest(student.id) == record:
            manifest.placing[student.id] = record.number
            what = "new, replaces the one before" if record.attempt > 1 else "new, put into submitted/"
        else:
            what = "new, kept; a later one counts"
        if exported_file.name_time and exported_file.handed_in_at:
            self.numbered.remarks.doubts.append(
                f"{in_a_line(exported_file.submission_id, 200)}: written at {format_time(exported_file.handed_in_at, self.row_maker.zone)}, "
                "later than its name says; "
                "the later time counts. If the whole exchange was copied, the names are right: collect a zip of it instead"
            )
        notes = (
            what,
            exported_file.remark,
            exported_file.time_note,
            file.newer_python,
            "late" if exported_file.late else "",
            "" if file.base_name == f"{manifest.assignment}.ipynb" else f"called {file.base_name}",
            there,
        )
        return "; ".join(note for note in notes if note), record.attempt

    def _number_again(
        self, manifest: Manifest, student: Student, file: NotebookFile, before: Record, record: Record
    ) -> str:
        """An attempt that is here already: its time may have come or changed since, and a power cut may have emptied its files. Returns what becomes of it."""
        what = "already here"
        if record.when and record.when != before.when:
            if before.when:
                zone = self.row_maker.zone
                what += f"; handed in at {format_time(record.when, zone)}, not at {format_time(before.when, zone)} as read before"
            manifest.date(before, record.handed_in_at)
        elif not record.when and not before.when and record.unread_time != before.unread_time:
            manifest.date(before, "", record.unread_time)
        latest = manifest.latest(student.id)
        if latest and latest.number != before.number:
            what += f"; attempt {latest.attempt} counts"
        if not manifest.is_whole(self.class_folder, before):
            what += "; its file was damaged and is written again"
            self.numbered.writes.append(PendingWrite(manifest, before, file.exported_file.read))
        folder = self.class_folder.submitted / student.id / manifest.assignment
        files = (f"{manifest.assignment}.ipynb", untrusted_files.TIMESTAMP, SECRET)
        has_empty = any(untrusted_files.is_empty(folder / name) for name in files)
        if latest and latest.number == before.number and has_empty:
            manifest.placing[student.id] = before.number
        return what

    def _keep_manual_file(self, manifest: Manifest, student: Student, file: NotebookFile) -> str:
        """Keep what somebody has put into submitted/ where a new attempt is to lie. Returns a note on it."""
        folder = self.class_folder.submitted / student.id / manifest.assignment
        path = folder / f"{manifest.assignment}.ipynb"
        others = [other.name for other in sorted(folder.glob("*.ipynb")) if other != path]
        beside = f"{in_a_line(', '.join(others), 80)} in submitted/ no longer counts" if others else ""
        if not untrusted_files.is_file(path):
            return beside
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if digest in {file.digest, *(record.sha256 for record in manifest.records.get(student.id, ()))}:
            return beside
        handed_in_at = untrusted_files.find_timestamp(folder, self.row_maker.zone)
        number = manifest.next_number(student.id)
        record = Record(
            student=student.id,
            number=number,
            attempt=manifest.next_attempt(student.id),
            system=manifest_file.BY_HAND,
            submitter=student.id,
            name="",
            entry=f"submitted/{student.id}/{manifest.assignment}/{path.name}",
            file=path.name,
            sha256=digest,
            bytes=len(data),
            kept=manifest_file.place(student.id, number, path.name),
            collected=manifest_file.now(),
            handed_in_at=manifest_file.stamp(handed_in_at.replace(tzinfo=UTC)) if handed_in_at else "",
        )
        self._add(manifest, record, path.read_bytes)
        kept = f"what was put there by hand is kept as attempt {record.attempt}"
        return f"{kept}; {beside}" if beside else kept

    def _make_record(
        self,
        manifest: Manifest,
        submission: CollectedSubmission,
        student: Student,
        file: NotebookFile,
        is_attempt: bool = False,
    ) -> Record:
        exported_file = file.exported_file
        number = manifest.next_number(student.id)
        back = {name: text for name, text in exported_file.back.items() if text}
        if is_attempt:
            back.setdefault("secret", secrets.token_hex(64))
        members = tuple(member.id for member in submission.students)
        return Record(
            student=student.id,
            number=number,
            attempt=manifest.next_attempt(student.id) if is_attempt else 0,
            system=exported_file.system,
            submitter=exported_file.submitter,
            name=exported_file.name,
            entry=exported_file.entry,
            file=exported_file.file,
            sha256=file.digest,
            bytes=file.size,
            kept=manifest_file.place(student.id, number, exported_file.file),
            collected=manifest_file.now(),
            archive=self.archive.name,
            archive_sha256=self.archive.digest,
            handed_in_at=manifest_file.stamp(exported_file.handed_in_at) if exported_file.handed_in_at else "",
            late=exported_file.late,
            group=exported_file.group or (exported_file.name if len(members) > 1 else ""),
            members=members if len(members) > 1 else (),
            handed_in_for=submission.target,
            token=exported_file.token,
            back=back,
            unread_time="" if exported_file.handed_in_at else in_a_line(exported_file.unreadable_time, 80),
        )

    def _add(self, manifest: Manifest, record: Record, read: Callable[[], bytes]) -> None:
        manifest.add(record)
        self.numbered.writes.append(PendingWrite(manifest, record, read))
