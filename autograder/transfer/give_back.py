"""From the gradebook and the feedback pages to what an LMS takes: its own sheet with our grades in it, or a zip of pages. Called by `autograder give-back`.

A grade is given back to whom the LMS's own ids lead, and a page by what was noted when it was collected; whatever does not fit is left out and listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autograder import untrusted_files
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import Manifest, Record
from autograder.class_folder.outputs import check_outputs
from autograder.class_folder.roster import Doubtful, Roster, Student
from autograder.errors import UserError
from autograder.files import write_private
from autograder.gradebook.scores import Scores, total
from autograder.grading import feedback
from autograder.lms import find as find_lms
from autograder.lms.archive import zip_files
from autograder.lms.base import FeedbackPage, IdScope, Lms
from autograder.lms.sheets import GradeSheet, Sheet, SheetRow, format_points, is_rounded, parse_number
from autograder.nbgrader_patches import release_secret
from autograder.paths import require_assignment
from autograder.startup import pause_gc
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:
    from autograder.gradebook.policy import EffectiveAttempt, Grade

PointsOf = Callable[[str], float | None]


@dataclass(frozen=True)
class SheetChange:
    """A grade on the LMS's sheet, or a page."""

    student: str
    name: str
    old: str  # what stood there
    new: str  # what will
    note: str = ""  # what there is to say
    is_written: bool = True  # whether it is in the file


@dataclass
class GiveBackReport:
    """What is given back."""

    title: str
    assignment: str
    changes: list[SheetChange] = field(default_factory=list)
    unchanged_count: int = 0
    notes: list[str] = field(default_factory=list)  # for information
    doubts: list[str] = field(default_factory=list)  # what a person should look at
    file: Path | None = None  # where it was written; None in a dry run

    @property
    def written_count(self) -> int:
        return sum(change.is_written for change in self.changes)


def give_back(
    class_folder: ClassFolder,
    system: str,
    assignment: str,
    to: Path | None = None,
    sheet: Path | None = None,
    pages: bool = False,
    column: str = "",
    with_unread: bool = False,
    dry_run: bool = False,
    points_of: PointsOf | None = None,
    effective_attempts: Mapping[str, EffectiveAttempt] = feedback.NO_ATTEMPTS,
    outdated: Collection[str] = (),
) -> GiveBackReport:
    """Make what a system takes back for an assignment.

    to: the file, or a folder for it. sheet: what the LMS lets one download. pages: the feedback pages instead of the grades. column: that takes the grades.
    with_unread: also those of whom a person has still to read something. points_of: what a student gets, None for nothing; the sum of the scores if it is None.
    effective_attempts: by student, which attempt counts and what it is worth by the class's rules, for the pages to say so.
    outdated: of whom something newer has not been graded: they are left out.

    Raises:
        UserError: there is nothing to give back, or the sheet can't be used.
    """
    require_assignment(assignment)
    lms = find_lms(system)
    if lms.sheet and sheet is None and not pages:
        raise UserError(f"give {lms.title}'s {lms.sheet}, with --sheet FILE")
    if to is None and not dry_run and lms.needs_file:
        raise UserError("say where to write it with --to FILE or FOLDER")
    to = _target(to, lms, assignment, pages, sheet)
    check_outputs({"--to": to}, class_folder, {"the sheet": sheet})
    with pause_gc():
        from autograder.gradebook import gradebook

    with gradebook.Book(class_folder) as book:
        scores = book.scores(assignment)
        if not scores:
            raise UserError(f"nothing of {assignment} has been graded in {class_folder.path}")
        if not dry_run and (pages or not lms.sheet):
            # With what was given by hand since.
            feedback.rewrite(class_folder, assignment, book, effective_attempts=effective_attempts)
    scores |= {student: dict(attempt.scores) for student, attempt in effective_attempts.items()}
    grades = {student: attempt.grade for student, attempt in effective_attempts.items()}
    submitters = {student: attempt.by for student, attempt in effective_attempts.items()}
    grade_export = GradeExport(
        class_folder, lms, assignment, scores, grades, submitters, with_unread, points_of, dry_run, outdated
    )
    if not lms.sheet:
        grade_export.write(lms.release(grade_export), to)
    elif pages:
        grade_export.write(grade_export.zip_pages(sheet), to)
    elif sheet:
        grade_export.write(grade_export.fill_sheet(sheet, column), to)
    return grade_export.report


def _target(to: Path | None, lms: Lms, assignment: str, pages: bool, sheet: Path | None) -> Path | None:
    """The file to write; in a folder, one that is named after what is in it."""
    if to is None or not to.is_dir():
        return to
    stem = f"{assignment}-{lms.name}"
    if not lms.sheet:
        return to / f"{stem}.zip"
    if pages or sheet is None:
        return to / f"{stem}-pages.zip"
    return to / f"{stem}{sheet.suffix or '.csv'}"


class GradeExport:
    """What one run gives back of an assignment."""

    def __init__(
        self,
        class_folder: ClassFolder,
        lms: Lms,
        assignment: str,
        scores: Mapping[str, Scores],
        grades: Mapping[str, Grade],
        submitters: Mapping[str, str],
        with_unread: bool,
        points_of: PointsOf | None,
        dry_run: bool,
        outdated: Collection[str] = (),
    ) -> None:
        self.class_folder = class_folder
        self.lms = lms
        self.assignment = assignment
        self.scores = scores
        self.dry_run = dry_run
        self.submitters = submitters  # by student, who handed in the attempt that counts: another of the group, maybe
        self.points_of = points_of or (lambda student: total(scores[student]).points)
        self.maximum_points = {
            grades[student].whole if student in grades else total(own_scores).max_points + total(own_scores).waiting
            for student, own_scores in scores.items()
        }
        self.roster = Roster.load(class_folder)
        self.manifest = Manifest.load(class_folder, assignment)
        self.report = GiveBackReport(lms.title, assignment)
        unread_points = {
            student: total(own_scores).waiting
            for student, own_scores in scores.items()
            if any(score.waits for score in own_scores.values())
        }
        self.unread_points: dict[str, float] = {} if with_unread else unread_points
        self.outdated = outdated
        self.doubtful: set[str] = set()  # who is on the sheet in a way that leaves open which row is theirs

    def find_name(self, student: str) -> str:
        return self.roster.students[student].name if student in self.roster.students else ""

    def record_omission(self, student: str, old: str, why: str) -> None:
        self.report.changes.append(SheetChange(student, self.find_name(student), old, "", why, is_written=False))

    def prepare_release(self, student: str) -> str:
        """Have nbgrader's release_feedback find what it needs beside a student's page. Returns why it can't be released, "" where it can."""
        prepare = release_secret.why_not if self.dry_run else release_secret.put_beside
        return prepare(self.class_folder, student, self.assignment)

    def record_change(self, student: str, new: str) -> None:
        self.report.changes.append(SheetChange(student, self.find_name(student), "", new))

    def is_waiting(self, student: str, old: str = "") -> bool:
        """Whether a student is left out because something has still to be graded or read; then that is noted."""
        if student in self.outdated:
            self.record_omission(student, old, "left out: something newer than what was graded is here")
        elif student in self.unread_points:
            self.record_omission(
                student, old, f"left out: {self.unread_points[student]:g} points have not been read yet"
            )
        return student in self.outdated or student in self.unread_points

    def write(self, data: bytes | None, to: Path | None) -> None:
        if self.dry_run or to is None or data is None:
            return
        if not self.report.written_count:
            self.report.notes.append("there is nothing to give back, so no file was written")
            return
        write_private(to, data)
        self.report.file = to

    # Grades

    def fill_sheet(self, path: Path, column: str) -> bytes:
        """The LMS's sheet with our grades in it."""
        grade_sheet = self.lms.grade_sheet(Sheet.read(path), column)
        rows = self._find_rows(grade_sheet)
        if self.lms.number is IdScope.ASSIGNMENT:
            self._check_numbers(
                grade_sheet.sheet, {grade_sheet.ids(row).get(self.lms.name, "") for row in rows.values()}
            )
        others = [row[grade_sheet.column] for row in grade_sheet.sheet.rows]
        maximums = {grade_sheet.maximum(row) for row in rows.values()}
        for student, row in rows.items():
            if student in self.scores and not self.is_waiting(student, row[grade_sheet.column]):
                self._write_grade(grade_sheet, row, student, others)
        self.report.doubts += [
            f"{in_a_line(self.find_name(student), 80)} ({student}) was graded here but is not on this sheet".replace(
                "() ", ""
            )
            for student in self.scores
            if student not in rows and student not in self.doubtful
        ]
        maximum_points = {round(points, 6) for points in self.maximum_points}
        worth = ", ".join(f"{points:g}" for points in sorted(maximum_points))
        for maximum in sorted(maximums):
            if parse_number(maximum) is None or parse_number(maximum) in maximum_points:
                continue
            self.report.notes.append(
                f"the sheet's maximum is {maximum}, but the notebook is worth {worth} points in this class; points are given back unscaled"
            )
        if grade_sheet.advice:
            self.report.notes.append(grade_sheet.advice)
        return grade_sheet.to_bytes()

    def _find_rows(self, grade_sheet: GradeSheet) -> dict[str, SheetRow]:
        """By student, the sheet's row."""
        rows: dict[str, SheetRow] = {}
        twice: set[str] = set()
        unknown = 0
        for row in grade_sheet.sheet.rows:
            ids = {key: text for key, text in grade_sheet.ids(row).items() if text}
            if grade_sheet.nobody(row) or not ids:
                continue
            if rounded := [text for text in ids.values() if is_rounded(text)]:
                self.report.doubts.append(
                    f"line {row.line}: the number {rounded[0]} was rounded by a spreadsheet program, so {self.lms.title} may not know it: "
                    f"download the sheet again, and don't save it in that program"
                )
            try:
                student = self.roster.find(ids)
            except Doubtful as doubt:
                self.report.doubts.append(f"line {row.line}: {doubt}; not changed")
                self.doubtful |= doubt.students
                continue
            student = student or next((Student(text) for text in ids.values() if text in self.scores), None)
            if student is None:
                unknown += 1
            elif student.id in rows or student.id in twice:
                twice.add(student.id)
                self.doubtful.add(student.id)
                rows.pop(student.id, None)
                self.report.doubts.append(f"line {row.line}: {student.id} is on the sheet twice; not changed")
            else:
                rows[student.id] = row
        if unknown and not rows:
            raise UserError(
                f"no id on {grade_sheet.sheet.name} is on the roster or the name of a student's folder: "
                f"first give this sheet to {self.class_folder.command('collect')} with --roster"
            )
        if unknown:
            stay = (
                "are not on the roster and are not changed"
                if unknown > 1
                else "is not on the roster and is not changed"
            )
            self.report.notes.append(f"{unknown} on the sheet {stay}")
        return rows

    def _write_grade(self, grade_sheet: GradeSheet, row: SheetRow, student: str, others: list[str]) -> None:
        old = row[grade_sheet.column]
        maximum = grade_sheet.maximum(row)
        points = self.points_of(student)
        if points is None:
            self.record_omission(student, old, "left out: there is no grade for this student")
            return
        new = format_points(points, maximum, others)
        if parse_number(old) is not None and parse_number(old) == parse_number(new):
            self.report.unchanged_count += 1
            return
        if grade_sheet.locked(row):
            self.record_omission(student, old, f"left out: {grade_sheet.lock}")
            return
        notes = []
        if grade_time := grade_sheet.grade_time(row):
            notes.append(f"graded there before: {in_a_line(grade_time, 60)}")
        limit = parse_number(maximum)
        if points < 0:
            notes.insert(0, "below 0")
        if limit is not None and points > limit + 1e-9:
            notes.insert(0, f"above the maximum of {maximum}: {grade_sheet.over}")
            self.report.doubts.append(
                f"{student} has {new}, above the sheet's maximum of {maximum}: {grade_sheet.over}"
            )
        grade_sheet.sheet.put(row, grade_sheet.column, new)
        self.report.changes.append(SheetChange(student, self.find_name(student), old, new, "; ".join(notes)))

    # Pages

    def zip_pages(self, sheet: Path | None) -> bytes:
        """A zip of the feedback pages, each where the system looks for its student."""
        numbers = self._read_numbers(sheet)
        pages: dict[str, bytes] = {}
        for student, record, page in self.find_pages():
            student_name = self.find_name(student)
            own_ids = self._own_ids(student)
            name, trouble = self.lms.page_name(
                FeedbackPage(student, student_name, self.assignment, record, own_ids, numbers)
            )
            if not trouble and name in pages:
                trouble = "another student's page has the same name there"
            if trouble:
                self.record_omission(student, "", f"left out: {trouble}")
                continue
            pages[name] = page.read_bytes()
            self.record_change(student, name)
        self.report.notes += self.lms.page_notes
        return zip_files(pages)

    def find_pages(self) -> Iterator[tuple[str, Record, Path]]:
        """Each student who gets a page back, the attempt that came from this system, and the page."""
        if not any(record.system == self.lms.name for records in self.manifest.records.values() for record in records):
            raise UserError(f"nothing of {self.assignment} was collected from {self.report.title}")
        for student in self.scores:
            owner = student if untrusted_files.is_file(self._page(student)) else self.submitters.get(student, student)
            record = self.manifest.latest(owner, self.lms.name)  # of a group, one has it
            page = self._page(owner)
            if record is None:
                self.record_omission(student, "", f"left out: not collected from {self.report.title}")
            elif record.handed_in_for != self.assignment:
                self.record_omission(
                    student,
                    "",
                    f"left out: handed in for {record.handed_in_for}, which takes no page of this assignment",
                )
            elif not untrusted_files.is_file(page):
                self.record_omission(student, "", "left out: there is no feedback page")
            elif not self.is_waiting(student):
                yield student, record, page

    def _page(self, student: str) -> Path:
        return self.class_folder.feedback / student / self.assignment / f"{self.assignment}.html"

    def _read_numbers(self, path: Path | None) -> dict[str, str]:
        """By student, the number in this assignment, from the sheet of a system that numbers everybody anew for each."""
        if self.lms.number is not IdScope.ASSIGNMENT or path is None:
            return {}
        sheet = Sheet.read(path)
        key = self.lms.name
        rows = [person.ids for person in self.lms.people(sheet) or () if key in person.ids]
        if not rows:
            raise UserError(
                f"{path.name} is not a {self.lms.sheet} of {self.lms.title}: its columns are {sheet.titles}"
            )
        self._check_numbers(sheet, {ids[key] for ids in rows})
        numbers_by_student = {}
        for ids in rows:
            try:
                student = self.roster.find(ids)
            except Doubtful as doubt:
                self.report.doubts.append(f"{sheet.name}: {doubt}; no page goes there")
                continue
            if student:
                numbers_by_student[student.id] = ids[key]
        return numbers_by_student

    def _check_numbers(self, sheet: Sheet, numbers: set[str]) -> None:
        """By numbers that are other ones for each assignment, another one's worksheet can be told.

        Only by those whose own number came with the submission: a team's number, and that of a submission which a person has decided, is on no worksheet.

        Raises:
            UserError: it is another one's.
        """
        records = [
            record for those in self.manifest.records.values() for record in those if record.system == self.lms.name
        ]
        own_numbers = {record.submitter for record in records if record.submitter in self._own_ids(record.student)}
        if own_numbers and own_numbers.isdisjoint(numbers):
            count = f"the {len(own_numbers)} students" if len(own_numbers) > 1 else "the student"
            raise UserError(
                f"{sheet.name} lists none of {count} who submitted {self.assignment}: is it the worksheet of another assignment?"
            )
        if records and not own_numbers:
            self.report.notes.append(
                f"Teams have no number on a worksheet, so please check yourself that {sheet.name} is the one of {self.assignment}"
            )

    def _own_ids(self, student: str) -> list[str]:
        """The numbers under which the system knows a student."""
        return self.roster.students[student].ids(self.lms.name) if student in self.roster.students else []
