"""From what an LMS exports to `submitted/STUDENT/ASSIGNMENT/`: who handed in what, which attempt counts, and what a person has to decide.

Everything is planned before anything is written. Then come, in this order, the files, the roster and the manifests with what is to be placed, the placing, the
gradebook, and the manifests without it: whatever breaks this off, the same command goes on from there. Called by `autograder collect`.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from autograder import lms, untrusted_files
from autograder.class_folder import manifest as manifest_file
from autograder.class_folder.decisions import FILE as DECISIONS_FILE
from autograder.class_folder.decisions import Decision, Decisions
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import NOTHING, Manifest, Record
from autograder.class_folder.roster import FILE as ROSTER
from autograder.class_folder.roster import Doubtful, Roster, Student, names_with_ids
from autograder.errors import UserError
from autograder.files import Batch, make_folder
from autograder.gradebook import not_handed_in, preflight
from autograder.gradebook.not_handed_in import Missing
from autograder.gradebook.policy import Policy
from autograder.gradebook.policy_words import describe_late_flags, name_list
from autograder.lms import archive
from autograder.lms.archive import normalize_name
from autograder.lms.base import IdScope, Lms
from autograder.lms.exchange import SECRET
from autograder.lms.records import ExportedFile, Person, fold_name, is_in_future
from autograder.lms.sheets import Sheet
from autograder.paths import assignments, describe_unknown_assignment, require_assignment, root
from autograder.startup import pause_gc
from autograder.transfer.group_files import (
    CollectedSubmission,
    NotebookFile,
    UnresolvedFile,
    choose,
    count_votes,
    group_files,
)
from autograder.transfer.match_students import StudentFinder, choose_reading
from autograder.transfer.spool import Spool
from ffnlab.phrases import plural
from ffnlab.untrusted_text import in_a_line

EMPTIED = hashlib.sha256().hexdigest()  # of a notebook that a power cut has emptied
BATCH_SIZE = 100  # files that are written at a time
MAX_ODD = 20  # lines about what nobody can be said to have handed in
MIN_SHARE = 0.9  # of an export's notebooks, so many must be of one assignment for it to be an export of that


@dataclass(frozen=True)
class CollectionRow:
    """A line of the table, about a file."""

    file: str
    student: str  # whose it is
    notebook: str
    attempt: str
    handed_in_at: str
    what: str  # what becomes of it,
    is_pending: bool = False  # and whether that is for a person to decide
    name: str = ""

    @property
    def short(self) -> str:
        """The file's own name where the rest says only whose it is."""
        return self.file.split("/")[-1] if self.student and not self.file.endswith("/") else self.file


@dataclass
class CollectionReport:
    """What was collected, or would be."""

    title: str
    archive: str
    decisions_file: Path
    rows: list[CollectionRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # for information
    doubts: list[str] = field(default_factory=list)  # what a person should look at
    pending_decisions: list[Decision] = field(default_factory=list)  # what a person can decide, in that file
    # By assignment, who has not handed in, where a list of the class is known.
    missing: list[Missing] = field(default_factory=list)
    new: int = 0
    known_count: int = 0
    placed_count: int = 0

    @property
    def needs_somebody(self) -> bool:
        return bool(self.pending_decisions or self.doubts)


def collect(
    class_folder: ClassFolder,
    source: Path,
    rosters: Sequence[Path] = (),
    assignment: str | None = None,
    dry_run: bool = False,
    zone: tzinfo | None = None,
    match_names: bool = False,
    tell: Callable[[int, int], None] = lambda count, total: None,
) -> CollectionReport:
    """Collect what an LMS exported, a zip or a folder, into a class.

    rosters: lists of participants, worksheets or gradebooks that the LMS exported. assignment: what it is an export of; else what nine in ten of its notebooks
    are. dry_run: write nothing. zone: of the clock behind times that name none; this computer's where it is None. match_names: where an export has no id that a
    list has too, take a name that just one student has for that student. tell: is called with the number of files written, and of all.

    Raises:
        UserError: it is no export that is known here, a list can't be used, or the class can't be collected into.
    """
    if class_folder.path.resolve() == (root() / "grading" / "sample").resolve():
        raise UserError("grading/sample is for made-up students: collect into grading/, or another --grading FOLDER")
    if assignment is not None:
        require_assignment(assignment)
    preflight.check_gradebook(class_folder)
    with archive.open_archive(source, lms.is_submission) as export_archive, Spool(class_folder.path) as spool:
        export = lms.read(export_archive, zone)
        if not export_archive.is_open:  # there, anybody could give the instructor questions without end
            export = lms.attribute_to_nobody(export)
        damages = [] if dry_run else _set_aside_empty_files(class_folder)
        plan = _Collection(class_folder, export_archive, export, spool, zone)
        plan.report.doubts += damages
        plan.take_lists(rosters, zone)
        plan.read(assignment, zone)
        plan.match_submissions(match_names)
        plan.check_class(Policy.of(class_folder))
        if not dry_run:
            plan.carry_out(tell)
    return plan.report


def _set_aside_empty_files(class_folder: ClassFolder) -> list[str]:
    """Make way for what a power cut has emptied and an export can bring again: the roster, and the manifests with their files. Returns a line for each."""
    lines = []
    if _is_empty(class_folder.path / ROSTER):
        (class_folder.path / ROSTER).unlink()
        lines.append(f"{ROSTER} was empty, as after a power cut: give the lists of the class with --roster again")
    for name in manifest_file.assignments(class_folder):
        folder = class_folder.path / manifest_file.FOLDER / name
        if not _is_empty(folder / manifest_file.FILE):
            continue
        aside = class_folder.path / "damaged"
        make_folder(aside)
        number = 1
        while (aside / f"{name}-{number}").exists():
            number += 1
        folder.rename(aside / f"{name}-{number}")
        lines.append(
            f"the manifest of {name} was empty, as after a power cut: what had been collected is now in damaged/{name}-{number}. "
            "Collect each earlier export of it again, oldest first"
        )
    return lines


class _Collection:
    """One collecting: what was found, and what is to be written."""

    def __init__(
        self,
        class_folder: ClassFolder,
        export_archive: archive.Archive,
        export: lms.Export,
        spool: Spool,
        zone: tzinfo | None,
    ) -> None:
        self.class_folder = class_folder
        self.archive = export_archive
        self.export = export
        self.zone = zone
        self.spool = spool
        self.roster = Roster.load(class_folder)
        self.decisions = Decisions.load(class_folder)
        self.report = CollectionReport(
            export.lms.title, export_archive.name, class_folder.path / manifest_file.FOLDER / DECISIONS_FILE
        )
        self.submissions: list[CollectedSubmission] = []
        self.open_entries: set[str] = set()
        self.time_warnings: list[str] = []  # lines about worksheets whose times can't be read
        self.claims: list[Person] = []  # who has handed in, as a list says
        self.label = ""  # the export's, in the file of decisions
        self.manifests = {name: Manifest.load(class_folder, name) for name in manifest_file.assignments(class_folder)}
        self.pending_writes: list[tuple[Manifest, Record, Callable[[], bytes]]] = []
        self.assignments = assignments()

    def take_lists(self, files: Sequence[Path], zone: tzinfo | None) -> None:
        """Take over who is who, and from the sheets of a system that exports no times when they handed in."""
        exporter = self.export.lms
        sheets = []
        unread_sheets = []
        words = {word for file in self.export.files for word in re.split(r"[\W_]+", file.name)}
        names = {word for word in words if not word.isascii()}
        for path in files:
            sheet = Sheet.read(path, names)
            sheets.append(sheet)
            if sheet.doubtful_text:
                self.report.notes.append(
                    f"{path.name} is not UTF-8, and was read as {sheet.encoding}: is “{in_a_line(sheet.doubtful_text, 60)}” right? "
                    "If it is not, save the sheet as CSV (UTF-8) and collect again"
                )
            system, number, doubts = self.roster.extend(sheet)
            if system is exporter:
                self.claims += system.submitters(sheet)
            self.report.notes.append(f"{path.name}: {system.title}, {plural(number, 'person', 'people')}")
            self.report.doubts += doubts
            self._note_numbered_students()
            if time_text := system.unread_time(sheet):
                unread_sheets.append(
                    f"{path.name}: its times can't be read ({in_a_line(time_text, 60)}): set {system.title} to English and download it again"
                )
        if exporter.times_on:
            self._take_times(sheets, unread_sheets, zone)
        else:
            self.time_warnings += unread_sheets
        self.export = replace(self.export, files=tuple(map(self._with_doubt, self.export.files)))
        self._check_export()

    def _note_numbered_students(self) -> None:
        """Note how many are known by nothing but a number that another assignment does not have."""
        for system in lms.systems_with_numbers():
            if system.number is not IdScope.ASSIGNMENT:
                continue
            nameless = sum(student.startswith(f"{system.name}-") for student in self.roster.students)
            if nameless:
                self.report.notes.append(
                    f"{nameless:,} students have no ID number, login or address on a list: they are known by {system.title}'s number, "
                    "which changes with each assignment"
                )

    def _take_times(self, sheets: Sequence[Sheet], unread_sheets: Sequence[str], zone: tzinfo | None) -> None:
        """Take over from sheets when each file was handed in, and note who has no time there. unread_sheets: a line on each whose times can't be read."""
        exporter = self.export.lms
        files = exporter.with_times(self.export.files, sheets, zone)
        self.export = replace(self.export, files=files)
        if any(file.handed_in_at for file in files):
            self.report.notes.append(f"its times come from the {exporter.times_on}, read as {_describe_clock(zone)}")
        if not any(file.time_note for file in files):  # else each of them is told
            self.time_warnings += unread_sheets
        submitters = {file.submitter for file in files}
        without = {file.submitter for file in files if not file.handed_in_at and not file.time_note}
        if not without:
            return
        if len(without) < len(submitters):
            count_text = plural(f"{len(without):,}", "student who handed in has", "students who handed in have")
            self.time_warnings.append(f"{count_text} no time on a {exporter.times_on}, and that does not count as late")
        elif not self.time_warnings:
            worksheets = " or ".join(sheet.name for sheet in sheets if _is_own(sheet, exporter))
            if worksheets:
                warning = (
                    f"nobody who handed in has a time on {worksheets}: is that this assignment's {exporter.sheet}?"
                )
            else:
                warning = (
                    f"{exporter.title} exports no times: they are on the {exporter.sheet}, so give that with --roster"
                )
            self.time_warnings.append(warning)

    def _check_export(self) -> None:
        """Note what the export does not say, or does not say in a way that can be read."""
        notes = {(file.submitter, file.submission_id): file.time_note for file in self.export.files if file.time_note}
        if notes:
            first = in_a_line(next(iter(notes.values())), 120)
            times = plural(f"{len(notes):,}", "time")
            they_make = "it makes" if len(notes) == 1 else "they make"
            self.time_warnings.append(
                f"{times} can't be read ({first}), so {they_make} nobody late: "
                f"if they are in another language, set {self.export.lms.title} to English and download it again; else write the time into "
                "submitted/STUDENT/ASSIGNMENT/timestamp.txt, such as 2026-11-21 18:30:00 UTC, before you grade"
            )
        exporter = self.export.lms
        if anonymous := {file.submitter for file in self.export.files if exporter.is_anonymous(file.submitter)}:
            remark = (
                f"{exporter.title} exported it anonymously: {len(anonymous):,} names begin with {exporter.anonymous}, and no gradebook has them, "
                "so no grade can be given back. Switch off anonymous grading or show the names, and download it again"
            )
            if self.roster.is_listed:
                self.report.doubts.append(remark)
            else:
                self.report.notes.append(remark)
        claims = {file.submission_id for file in self.export.files if not file.is_owned and not file.doubt}
        if claims:
            self.report.notes.append(
                f"{len(claims):,} of its folders belong to no student's account, as in a zip or a copy, so the folders' names say who handed in, and when"
            )

    def _with_doubt(self, file: ExportedFile) -> ExportedFile:
        """A file as the roster bears it out; without its time where that is still to come, with a doubt."""
        file = choose_reading(file, self.roster)
        if not file.handed_in_at or not is_in_future(file.handed_in_at):
            return file
        return replace(
            file, handed_in_at=None, doubtful_time=f"its time, {self._format_time(file.handed_in_at)}, is in the future"
        )

    def read(self, assignment: str | None, zone: tzinfo | None) -> None:
        """Read all that was handed in, and find out what it was handed in for."""
        odd = [
            f"{in_a_line(entry.name, 200)}: {f'refused, {entry.trouble}' if entry.trouble else 'not understood'}"
            for entry in self.export.unknown
        ]
        self.report.doubts += odd[:MAX_ODD]
        if len(odd) > MAX_ODD:
            self.report.doubts.append(f"{len(odd) - MAX_ODD:,} more are refused or not understood")
        exported_files = [file for file in self.export.files if not assignment or file.assignment in ("", assignment)]
        self.submissions = group_files(exported_files, self.assignments, self.spool.keep, self.decisions.notebook_files)
        target = assignment or ""
        if not target and not any(submission.first.assignment for submission in self.submissions):
            votes = count_votes(self.submissions)
            if votes and max(votes.values()) < MIN_SHARE * votes.total():
                contents = ", ".join(f"{count:,} of {name}" for name, count in votes.most_common())
                raise UserError(f"{self.archive.name} has {contents}: say with --assignment which one was exported")
            if votes:
                target = votes.most_common(1)[0][0]
                self.report.notes.append(f"read as an export of {target}, because of what its notebooks contain")
        self.label = f"{self.archive.name} ({target})" if target else self.archive.name
        if assignment and not self.submissions:
            self.report.notes.append(f"it has no submission of {assignment}")
        for submission in self.submissions:
            submission.target = submission.first.assignment or target
        if self.export.lms.is_local_time:
            self.report.notes.append(f"its times name no zone: read as {_describe_clock(zone)}")

    def match_submissions(self, match_names: bool) -> None:
        """Find each submission's students and notebook, and number what is new."""
        finder = StudentFinder(self.roster, self.decisions, self.submissions, match_names)
        for submission in self.submissions:
            unresolved_files = finder.find(submission)
            self._add_decisions(submission, unresolved_files)
            if submission.students:
                self._add_decisions(
                    submission, choose(submission, self._look_up_assignments(submission), self.assignments)
                )
                self._check_time(submission)
        self._check_latest()
        self._check_decisions()
        for submission in sorted(self.submissions, key=lambda submission: str(submission.first.handed_in_at or "")):
            for student in submission.students if submission.assignment else ():
                self._number(submission, student)
        self._withdraw()

    def _withdraw(self) -> None:
        """Take back what was put to a student before, and is another's now: somebody has corrected a decision."""
        owners: dict[manifest_file.Key, list[str]] = {}
        for submission in self.submissions:
            for file in submission.notebooks:
                key = manifest_file.key_of(file.exported_file, file.digest)
                owners.setdefault(key, []).extend(student.id for student in submission.students)
        for manifest in self.manifests.values():
            for record in [record for records in manifest.records.values() for record in records if record.attempt]:
                now = owners.get(record.key)
                if now and record.student not in now:
                    manifest.withdraw(record)
                    self.report.notes.append(
                        f"{in_a_line(record.entry, 200)} is {', '.join(now)}'s: attempt {record.attempt} of {record.student}, "
                        f"for {manifest.assignment}, is withdrawn, with its points and its page"
                    )

    def _add_decisions(self, submission: CollectedSubmission, unresolved_files: Sequence[UnresolvedFile]) -> None:
        students = ", ".join(student.id for student in submission.students)
        for unresolved in unresolved_files:
            exported_file = unresolved.exported_file
            trouble = unresolved.trouble
            if self.decisions.is_left(exported_file.system, exported_file.submitter, exported_file.entry):
                self._add_row(exported_file, students, "", "", f"left, as settled: {trouble}")
                continue
            self._add_row(exported_file, students, "", "", trouble, is_pending=True)
            decision = Decision(
                archive=self.label,
                system=exported_file.system,
                submitter=exported_file.submitter,
                name=exported_file.name,
                file=exported_file.entry,
                trouble=trouble,
                suggestion=unresolved.suggestion,
            )
            self.report.pending_decisions.append(decision)
            self.open_entries.add(exported_file.entry)

    def _add_row(
        self,
        exported_file: ExportedFile,
        student: str,
        notebook: str,
        attempt: str,
        what: str,
        is_pending: bool = False,
    ) -> None:
        if exported_file.handed_in_at:
            handed_in_at = self._format_time(exported_file.handed_in_at)
        elif exported_file.time_note:
            handed_in_at = "unreadable"
        else:
            handed_in_at = "none"
        file = in_a_line(exported_file.entry, 200)
        roster_name = self.roster.students[student].name if student in self.roster.students else ""
        name = in_a_line(roster_name or exported_file.name, 80)
        self.report.rows.append(CollectionRow(file, student, notebook, attempt, handed_in_at, what, is_pending, name))

    def _look_up_assignments(self, submission: CollectedSubmission) -> dict[str, str]:
        """By its name in the archive, of which assignment somebody has said that a file is the notebook."""
        by_entry = {}
        for file in submission.notebooks:
            exported_file = file.exported_file
            decision = self.decisions.find_assignment(
                exported_file.system, exported_file.submitter, exported_file.entry
            )
            if decision and (name := _find_assignment(decision.assignment, self.assignments)):
                by_entry[exported_file.entry] = name
        return by_entry

    def _check_decisions(self) -> None:
        """Note what stands in settle.csv and can't be used."""
        self.report.doubts += [f"in {DECISIONS_FILE}, {trouble}" for trouble in self.decisions.troubles]
        files = [file for submission in self.submissions for file in submission.notebooks]
        notebooks = {normalize_name(file.exported_file.entry) for file in files if file.can_count}
        troubles = {normalize_name(file.exported_file.entry): file.trouble for file in files}
        entries = {normalize_name(file.entry) for file in self.export.files}
        for decision in self.decisions.final:
            where = f"in {DECISIONS_FILE}, line {decision.line}: "
            try:
                lms.find(decision.system)
            except UserError as reason:
                self.report.doubts.append(f"{where}{reason}")
            if decision.assignment and not _find_assignment(decision.assignment, self.assignments):
                self.report.doubts.append(f"{where}{describe_unknown_assignment(decision.assignment)}")
            elif decision.assignment and normalize_name(decision.file) in entries - notebooks:
                why = troubles.get(normalize_name(decision.file)) or "it can't be read as a notebook"
                self.report.doubts.append(f"{where}{in_a_line(decision.file, 200)} can't count: {why}")
            elif (
                decision.assignment
                and decision.archive == self.label
                and normalize_name(decision.file) not in notebooks
            ):
                self.report.notes.append(f"{where}{in_a_line(decision.file, 200)} is not in this export")

    def _check_time(self, submission: CollectedSubmission) -> None:
        """What has a time that can't be right does not count until somebody has said that it is the notebook."""
        file = submission.choice
        if (
            file
            and file.exported_file.doubtful_time
            and file.exported_file.entry not in self._look_up_assignments(submission)
        ):
            unresolved_file = UnresolvedFile(
                file.exported_file, f"{file.exported_file.doubtful_time}: does it count?", submission.assignment
            )
            self._add_decisions(submission, [unresolved_file])
            submission.choice = None

    def _check_latest(self) -> None:
        """Where a student has several submissions of an assignment, and not all say when, somebody says which one counts."""
        several: dict[tuple[str, str], list[tuple[CollectedSubmission, NotebookFile]]] = {}
        for submission in self.submissions:
            for student in submission.students:
                if submission.choice:
                    place = student.id, submission.assignment
                    several.setdefault(place, []).append((submission, submission.choice))
        for those in several.values():
            if len(those) == 1 or all(submission.first.handed_in_at for submission, _ in those):
                continue
            for submission, file in those:
                if file.exported_file.entry not in self._look_up_assignments(submission):
                    trouble = f"one of {len(those)} submissions, and not all have a time: which one counts?"
                    self._add_decisions(
                        submission, [UnresolvedFile(file.exported_file, trouble, submission.assignment)]
                    )
                    submission.choice = None

    def check_class(self, policy: Policy) -> None:
        """Note who has not handed in, and whom the LMS flags as late without saying when."""
        for name in self.assignments:
            here = [submission for submission in self.submissions if name in (submission.assignment, submission.target)]
            if here:
                self._check_assignment(name, here, policy)

    def _check_assignment(self, name: str, here: Sequence[CollectedSubmission], policy: Policy) -> None:
        """As `check_class`, for one assignment. here: its submissions in this export."""
        there = not_handed_in.submitters(self.class_folder, name)
        there |= {student.id for submission in here for student in submission.students}
        undecided = sum(not submission.students and not self._is_left(submission) for submission in here)
        if not undecided:
            covered = {member for student in there for member in policy.group(name, student)}
            there |= self._note_lost(covered)
        if absentees := not_handed_in.find(self.roster, policy, name, there, undecided):
            self.report.missing.append(absentees)
        remarks = self.report.doubts if policy.deducts(name) else self.report.notes
        remarks += self.time_warnings
        self.time_warnings = []
        late: dict[str, None] = {}  # in their order
        for submission in here:
            for student in submission.students:
                if self._has_late_flag(submission, student.id):
                    late[student.id] = None
        if late:
            sentence = describe_late_flags(
                name, list(names_with_ids(self.roster.students[student] for student in late))
            )
            if policy.deducts(name):
                sentence += f" When it is graded, {self.class_folder.command('report')} says what to do"
            remarks.append(sentence)

    def _note_lost(self, covered: Collection[str]) -> set[str]:
        """Note the students who have handed in, as a list says, and of whom nothing is there; returns them."""
        lost = self._find_lost(covered)
        if lost:
            self.report.doubts.append(
                f"{plural(f'{len(lost):,}', 'student')} handed in, as the {self.export.lms.sheet} says, and nothing of theirs is in this export "
                f"({name_list(lost)}): download it again, with everybody's submissions"
            )
        return set(lost)

    def _is_left(self, submission: CollectedSubmission) -> bool:
        """Whether somebody has said that it may stay as it is."""
        first = submission.first
        return self.decisions.is_left(first.system, first.submitter, first.entry)

    def _find_lost(self, there: Collection[str]) -> list[str]:
        """The students who have handed in, as a list says, and of whom nothing is there."""
        lost = []
        for person in self.claims:
            with contextlib.suppress(Doubtful):  # that is told already
                student = self.roster.find(person.ids)
                if student and student.id not in there:
                    lost.append(student.id)
        return list(dict.fromkeys(lost))

    def _has_late_flag(self, submission: CollectedSubmission, student: str) -> bool:
        file = submission.choice
        if file is None or not file.exported_file.late or file.exported_file.handed_in_at:
            return False
        return (
            untrusted_files.find_timestamp(self.class_folder.submitted / student / submission.assignment, self.zone)
            is None
        )

    # Numbering

    def _number(self, submission: CollectedSubmission, student: Student) -> None:
        """Number what is new of a submission, and write the table's lines."""
        manifest = self.manifests.setdefault(submission.assignment, Manifest(submission.assignment))
        if submission.choice:
            self._number_attempt(manifest, submission, student, submission.choice)
        for file in (*submission.notebooks, *submission.others):
            if file is submission.choice:
                continue
            record = self._make_record(manifest, submission, student, file)
            is_new = record.key not in {known.key for known in manifest.records.get(student.id, ())}
            if is_new:
                self._write(manifest, record, file.exported_file.read)
            if file.exported_file.entry not in self.open_entries:
                untouched_note = f"{file.assignment} as handed out, untouched" if file.is_untouched else ""
                what = "kept beside it" if is_new else "already here"
                if note := file.trouble or untouched_note:
                    what = f"{note}; {what}"
                self._add_row(file.exported_file, student.id, "", "", what)
        if submission.refusals and not manifest.records.get(student.id):
            self._note_refusal(manifest, submission, student)

    def _note_refusal(self, manifest: Manifest, submission: CollectedSubmission, student: Student) -> None:
        """Somebody of whose files none could be read has handed in all the same."""
        exported_file, reason = submission.refusals[0]
        empty = NotebookFile(exported_file, "", 0)
        record = replace(
            self._make_record(manifest, submission, student, empty), kept="", refused=in_a_line(reason, 200)
        )
        manifest.add(record)

    def _number_attempt(
        self, manifest: Manifest, submission: CollectedSubmission, student: Student, file: NotebookFile
    ) -> None:
        records_by_key = {record.key: record for record in manifest.records.get(student.id, ()) if record.attempt}
        record = self._make_record(manifest, submission, student, file, is_attempt=True)
        if before := records_by_key.get(record.key):
            self._number_again(manifest, student, file, before, record)
            return
        there = self._keep_manual_file(manifest, student, file)
        record = self._make_record(manifest, submission, student, file, is_attempt=True)
        self._write(manifest, record, file.exported_file.read)
        self.report.new += 1
        if manifest.latest(student.id) == record:
            manifest.placing[student.id] = record.number
            what = "new, replaces the one before" if record.attempt > 1 else "new, put into submitted/"
        else:
            what = "new, kept; a later one counts"
        name_note = "" if file.base_name == f"{manifest.assignment}.ipynb" else f"called {file.base_name}"
        notes = [
            file.exported_file.remark,
            file.exported_file.time_note,
            file.newer_python,
            "late" if file.exported_file.late else "",
            name_note,
            there,
        ]
        if file.exported_file.name_time and file.exported_file.handed_in_at:
            time_text = self._format_time(file.exported_file.handed_in_at)
            self.report.doubts.append(
                f"{in_a_line(file.exported_file.submission_id, 200)}: written at {time_text}, later than its name says; "
                "the later time counts. If the whole exchange was copied, the names are right: collect a zip of it instead"
            )
        what = "; ".join(note for note in (what, *notes) if note)
        self._add_row(file.exported_file, student.id, manifest.assignment, str(record.attempt), what)

    def _number_again(
        self, manifest: Manifest, student: Student, file: NotebookFile, before: Record, record: Record
    ) -> None:
        """An attempt that is here already: its time may have come or changed since, and a power cut may have emptied its files."""
        what = "already here"
        if record.when and record.when != before.when:
            if before.when:
                what += f"; handed in at {self._format_time(record.when)}, not at {self._format_time(before.when)} as read before"
            manifest.date(before, record.handed_in_at)
        elif not record.when and not before.when and record.unread_time != before.unread_time:
            manifest.date(before, "", record.unread_time)
        latest = manifest.latest(student.id)
        if latest and latest.number != before.number:
            what += f"; attempt {latest.attempt} counts"
        if not manifest.is_whole(self.class_folder, before):
            what += "; its file was damaged and is written again"
            self.pending_writes.append((manifest, before, file.exported_file.read))
        folder = self.class_folder.submitted / student.id / manifest.assignment
        files = (f"{manifest.assignment}.ipynb", untrusted_files.TIMESTAMP, SECRET)
        if latest and latest.number == before.number and any(_is_empty(folder / name) for name in files):
            manifest.placing[student.id] = before.number
        self._add_row(file.exported_file, student.id, manifest.assignment, str(before.attempt), what)
        self.report.known_count += 1

    def _format_time(self, when: datetime) -> str:
        return f"{when.astimezone(self.zone):%Y-%m-%d %H:%M}"

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
        handed_in_at = untrusted_files.find_timestamp(folder, self.zone)
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
        self._write(manifest, record, path.read_bytes)
        return "; ".join(
            note for note in (f"what was put there by hand is kept as attempt {record.attempt}", beside) if note
        )

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

    def _write(self, manifest: Manifest, record: Record, get: Callable[[], bytes]) -> None:
        manifest.add(record)
        self.pending_writes.append((manifest, record, get))

    # Writing

    def carry_out(self, tell: Callable[[int, int], None]) -> None:
        """Write all of it, in an order that can be broken off anywhere: what a later step refers to is on the disk before."""
        total = len(self.pending_writes) + sum(len(manifest.placing) for manifest in self.manifests.values())
        with Batch(BATCH_SIZE) as files:
            for count, (manifest, record, get) in enumerate(self.pending_writes, 1):
                files.write(manifest.path(self.class_folder, record), get())
                tell(count, total)
        self.roster.save(self.class_folder)
        for manifest in self.manifests.values():
            manifest.save(self.class_folder)
        with Batch(BATCH_SIZE) as files:
            for manifest in self.manifests.values():
                for student, number in manifest.placing.items():
                    self._place_attempt(files, manifest, student, number)
                    tell(len(self.pending_writes) + self.report.placed_count, total)
        self._enter_students()
        for manifest in self.manifests.values():
            manifest.placing = {}
            manifest.save(self.class_folder)
        self.decisions.save(self.class_folder, self.label, self.report.pending_decisions)

    def _place_attempt(self, files: Batch, manifest: Manifest, student: str, number: int) -> None:
        """Put an attempt where grading finds it, with its time and its secret, unless something else has come there meanwhile."""
        folder = self.class_folder.submitted / student / manifest.assignment
        path = folder / f"{manifest.assignment}.ipynb"
        records = {record.number: record for record in manifest.records.get(student, ())}
        record = records.get(number)
        if record is None and number != NOTHING:
            return
        if any(part.is_symlink() for part in (folder.parent, folder, path)) or (path.exists() and not path.is_file()):
            self.report.doubts.append(f"{path} is a link or not a regular file, so nothing was put there")
            return
        there = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
        if there not in {"", EMPTIED, *(record.sha256 for record in records.values())}:
            self.report.doubts.append(f"{path} was changed meanwhile, so it was left alone")
            return
        if record is None:
            for name in (path.name, untrusted_files.TIMESTAMP, SECRET):
                files.remove(folder / name)
            return
        if there != record.sha256:
            files.write(path, manifest.path(self.class_folder, record).read_bytes())
        if record.when:
            files.write(folder / untrusted_files.TIMESTAMP, manifest_file.stamp(record.when))
        elif there != record.sha256:
            files.remove(folder / untrusted_files.TIMESTAMP)
        files.write(folder / SECRET, record.back.get("secret", ""))
        self.report.placed_count += 1

    def _enter_students(self) -> None:
        """Enter names and ids of those who have handed something in, and take out what was withdrawn."""
        ids = dict.fromkeys(student.id for submission in self.submissions for student in submission.students)
        withdrawals = []
        for manifest in self.manifests.values():
            for student in manifest.placing:
                if digests := manifest.find_withdrawals(student):
                    withdrawals.append((manifest.assignment, student, digests))
        if not ids and not withdrawals:
            return
        with pause_gc():
            from autograder.gradebook import gradebook

        with gradebook.Book(self.class_folder, writing=True) as book:
            book.upsert_students(
                {student_id: _describe_student(self.roster.students[student_id]) for student_id in ids}
            )
            for assignment, student, digests in withdrawals:
                if book.withdraw(assignment, student, digests):
                    for place in (self.class_folder.feedback, self.class_folder.autograded):
                        shutil.rmtree(place / student / assignment, ignore_errors=True)


def _is_empty(path: Path) -> bool:
    return untrusted_files.is_file(path) and not path.stat().st_size


def _find_assignment(text: str, assignments: Sequence[str]) -> str:
    """The assignment that somebody means by its name, in whatever writing, or by its number; "" where it is none."""
    matches = [name for name in assignments if fold_name(text) in (fold_name(name), name.partition("_")[0])]
    return matches[0] if len(matches) == 1 else ""


def _is_own(sheet: Sheet, system: Lms) -> bool:
    """Whether it is the sheet that takes a system's grades."""
    try:
        return bool(system.grade_sheet(sheet))
    except UserError:
        return False


def _describe_clock(zone: tzinfo | None) -> str:
    return f"times of {zone}" if zone else "times of this computer"


def _describe_student(student: Student) -> dict[str, str]:
    """What nbgrader's gradebook keeps of a student besides the id."""
    cells = student.cells
    fields = {name: cells.get(name, "") for name in ("first_name", "last_name", "email")}
    own = [system.name for system in lms.systems_with_numbers() if system.number is not IdScope.ASSIGNMENT]
    number = next((cells[key] for key in (*own, "sis_id", "username") if cells.get(key)), "")
    return fields | {"lms_user_id": number}
