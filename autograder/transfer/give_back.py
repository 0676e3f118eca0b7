"""From the gradebook and the feedback pages to what an LMS takes: its own sheet with our grades in it, or a zip of pages. Called by `autograder give-back`.

A grade is given back to whom the LMS's own ids lead, and a page by what was noted when it was collected; whatever does not fit is left out and listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autograder import lms, untrusted_files
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import Manifest, Record
from autograder.class_folder.roster import Doubtful, Roster, Student
from autograder.errors import UserError
from autograder.files import write_private
from autograder.gradebook.scores import Scores, total
from autograder.grading import feedback
from autograder.lms.archive import zip_files
from autograder.lms.base import FeedbackPage, IdScope, Lms
from autograder.lms.sheets import GradeSheet, Sheet, SheetRow, like, number
from autograder.nbgrader_patches import release_secret
from autograder.paths import require_assignment
from autograder.startup import pause_gc
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:
    from autograder.gradebook.policy import EffectiveAttempt, Grade

PointsOf = Callable[[str], float | None]


@dataclass(frozen=True)
class SheetChange:
    """A grade on the LMS's sheet, or a page: whose, what stood there, what will, and what there is to say. is_written: whether it is in the file."""

    student: str
    name: str
    old: str
    new: str
    note: str = ""
    is_written: bool = True


@dataclass
class GiveBackReport:
    """What is given back. notes: for information. doubts: what a person should look at. file: where it was written; None in a dry run."""

    title: str
    assignment: str
    changes: list[SheetChange] = field(default_factory=list)
    unchanged_count: int = 0
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    file: Path | None = None

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
    score: PointsOf | None = None,
    effective_attempts: Mapping[str, EffectiveAttempt] = feedback.NO_ATTEMPTS,
) -> GiveBackReport:
    """Make what a system takes back for an assignment.

    to: the file, or a folder for it. sheet: what the LMS lets one download. pages: the feedback pages instead of the grades. column: that takes the grades.
    with_unread: also those of whom a person has still to read something. score: what a student gets, None for nothing; the sum of the marks if it is None.
    effective_attempts: by student, which attempt counts and what it is worth by the class's rules, for the pages to say so.

    Raises:
        UserError: there is nothing to give back, or the sheet can't be used.
    """
    require_assignment(assignment)
    taker = lms.find(system)
    if taker.sheet and sheet is None and not pages:
        raise UserError(f"give {taker.title}'s {taker.sheet}, with --sheet FILE")
    if to is None and not dry_run and taker.needs_file:
        raise UserError("say where to write it with --to FILE or FOLDER")
    with pause_gc():
        from autograder.gradebook import gradebook

    with gradebook.Book(class_folder) as book:
        marks = book.marks(assignment)
        if not marks:
            raise UserError(f"nothing of {assignment} has been graded in {class_folder.path}")
        if not dry_run and (pages or not taker.sheet):
            feedback.rewrite(
                class_folder, assignment, book, effective_attempts=effective_attempts
            )  # with what was given by hand since
    marks |= {student: dict(one.marks) for student, one in effective_attempts.items()}
    grades = {student: one.grade for student, one in effective_attempts.items()}
    by = {student: one.by for student, one in effective_attempts.items()}
    work = GradeExport(class_folder, taker, assignment, marks, grades, by, with_unread, score, dry_run)
    if not taker.sheet:
        work.write(taker.release(work), to, f"{assignment}-{system}.zip", sheet)
    elif pages:
        work.write(work.pages(sheet), to, f"{assignment}-{system}-pages.zip", sheet)
    elif sheet:
        work.write(work.grades(sheet, column), to, f"{assignment}-{system}{sheet.suffix or '.csv'}", sheet)
    return work.report


class GradeExport:
    """One giving back."""

    def __init__(
        self,
        class_folder: ClassFolder,
        taker: Lms,
        assignment: str,
        marks: Mapping[str, Scores],
        grades: Mapping[str, Grade],
        by: Mapping[str, str],
        with_unread: bool,
        score: PointsOf | None,
        dry_run: bool,
    ) -> None:
        self.class_folder, self.taker, self.assignment, self.marks, self.dry_run = (
            class_folder,
            taker,
            assignment,
            marks,
            dry_run,
        )
        self.by = by  # whose hand-in counts for a student, of a group
        self.score = score or (lambda student: total(marks[student]).points)
        self.worth = {
            grades[student].whole if student in grades else total(scores).max_points + total(scores).waiting
            for student, scores in marks.items()
        }
        self.roster, self.manifest = Roster.load(class_folder), Manifest.load(class_folder, assignment)
        self.report = GiveBackReport(taker.title, assignment)
        unread_points = {
            student: total(scores).waiting for student, scores in marks.items() if any(m.waits for m in scores.values())
        }
        self.unread_points: dict[str, float] = {} if with_unread else unread_points

    def name(self, student: str) -> str:
        return self.roster.students[student].name if student in self.roster.students else ""

    def leave(self, student: str, old: str, why: str) -> None:
        self.report.changes.append(SheetChange(student, self.name(student), old, "", why, is_written=False))

    def prepare_release(self, student: str) -> str:
        """Have nbgrader's release_feedback find what it needs beside a student's page. Returns why it can't be released, "" where it can."""
        prepare = release_secret.why_not if self.dry_run else release_secret.put_beside
        return prepare(self.class_folder, student, self.assignment)

    def add(self, student: str, new: str) -> None:
        self.report.changes.append(SheetChange(student, self.name(student), "", new))

    def is_unread(self, student: str, old: str = "") -> bool:
        """Whether a student is left out because something is still to be read; then that is noted."""
        if student in self.unread_points:
            self.leave(student, old, f"left out: {self.unread_points[student]:g} points have not been read yet")
        return student in self.unread_points

    def write(self, data: bytes | None, to: Path | None, name: str, sheet: Path | None) -> None:
        if self.dry_run or to is None or data is None:
            return
        if not self.report.written_count:
            self.report.notes.append("there is nothing to give back, so no file was written")
            return
        path = to / name if to.is_dir() else to
        if sheet is not None and path.resolve() == sheet.resolve():
            raise UserError(f"{path} is the sheet itself, which is not changed: write to another file")
        write_private(path, data)
        self.report.file = path

    # Grades

    def grades(self, path: Path, column: str) -> bytes:
        """The LMS's sheet with our grades in it."""
        grades = self.taker.grade_sheet(Sheet.read(path), column)
        rows = self._rows(grades)
        if self.taker.number is IdScope.ASSIGNMENT:
            self._look_at_numbers(grades.sheet, {grades.ids(row).get(self.taker.name, "") for row in rows.values()})
        others = [row[grades.column] for row in grades.sheet.rows]
        tops = {grades.maximum(row) for row in rows.values()}
        for student, row in rows.items():
            if student in self.marks and not self.is_unread(student, row[grades.column]):
                self._put(grades, row, student, others)
        self.report.doubts += [
            f"{in_a_line(self.name(student), 80)} ({student}) was graded here but is not on this sheet".replace(
                "() ", ""
            )
            for student in self.marks
            if student not in rows
        ]
        most = {round(one, 6) for one in self.worth}
        worth = ", ".join(f"{one:g}" for one in sorted(most))
        for top in sorted(top for top in tops if number(top) is not None and number(top) not in most):
            self.report.notes.append(
                f"the sheet's maximum is {top}, but the notebook is worth {worth} points in this class; points are given back unscaled"
            )
        if grades.advice:
            self.report.notes.append(grades.advice)
        return grades.to_bytes()

    def _rows(self, grades: GradeSheet) -> dict[str, SheetRow]:
        """By student, the sheet's row."""
        rows: dict[str, SheetRow] = {}
        twice: set[str] = set()
        unknown = 0
        for row in grades.sheet.rows:
            ids = {key: text for key, text in grades.ids(row).items() if text}
            if grades.nobody(row) or not ids:
                continue
            try:
                student = self.roster.find(ids)
            except Doubtful as doubt:
                self.report.doubts.append(f"line {row.line}: {doubt}; not changed")
                continue
            student = student or next((Student(text) for text in ids.values() if text in self.marks), None)
            if student is None:
                unknown += 1
            elif student.id in rows or student.id in twice:
                twice.add(student.id)
                rows.pop(student.id, None)
                self.report.doubts.append(f"line {row.line}: {student.id} is on the sheet twice; not changed")
            else:
                rows[student.id] = row
        if unknown and not rows:
            raise UserError(
                f"no id on {grades.sheet.name} is on the roster or the name of a student's folder: "
                "first give this sheet to `autograder collect` with --roster"
            )
        if unknown:
            stay = (
                "are not on the roster and are not changed"
                if unknown > 1
                else "is not on the roster and is not changed"
            )
            self.report.notes.append(f"{unknown} on the sheet {stay}")
        return rows

    def _put(self, grades: GradeSheet, row: SheetRow, student: str, others: list[str]) -> None:
        old, most, points = row[grades.column], grades.maximum(row), self.score(student)
        if points is None:
            self.leave(student, old, "left out: there is no score for this student")
            return
        new = like(points, most, others)
        if number(old) is not None and number(old) == number(new):
            self.report.unchanged_count += 1
            return
        if grades.locked(row):
            self.leave(student, old, f"left out: {grades.lock}")
            return
        notes = [f"graded there before: {in_a_line(grades.grade_time(row), 60)}"] if grades.grade_time(row) else []
        limit = number(most)
        if points < 0:
            notes.insert(0, "below 0")
        if limit is not None and points > limit + 1e-9:
            notes.insert(0, f"above the maximum of {most}: {grades.over}")
            self.report.doubts.append(f"{student} has {new}, above the sheet's maximum of {most}: {grades.over}")
        grades.sheet.put(row, grades.column, new)
        self.report.changes.append(SheetChange(student, self.name(student), old, new, "; ".join(notes)))

    # Pages

    def pages(self, sheet: Path | None) -> bytes:
        """A zip of the feedback pages, each where the system looks for its student."""
        numbers = self._numbers(sheet)
        pages: dict[str, bytes] = {}
        for student, record, page in self.to_send():
            student_name, own = self.name(student), self._own_ids(student)
            name, trouble = self.taker.page_name(
                FeedbackPage(student, student_name, self.assignment, record, own, numbers)
            )
            if not trouble and name in pages:
                trouble = "another student's page has the same name there"
            if trouble:
                self.leave(student, "", f"left out: {trouble}")
                continue
            pages[name] = page.read_bytes()
            self.add(student, name)
        self.report.notes += self.taker.page_notes
        return zip_files(pages)

    def to_send(self) -> Iterator[tuple[str, Record, Path]]:
        """Each student who gets a page back, the attempt that came from this system, and the page."""
        if not any(
            record.system == self.taker.name for records in self.manifest.records.values() for record in records
        ):
            raise UserError(f"nothing of {self.assignment} was collected from {self.report.title}")
        for student in self.marks:
            owner = student if untrusted_files.is_file(self._page(student)) else self.by.get(student, student)
            record, page = self.manifest.latest(owner, self.taker.name), self._page(owner)  # of a group, one has it
            if record is None:
                self.leave(student, "", f"left out: not collected from {self.report.title}")
            elif record.handed_in_for != self.assignment:
                self.leave(
                    student,
                    "",
                    f"left out: handed in for {record.handed_in_for}, which takes no page of this assignment",
                )
            elif not untrusted_files.is_file(page):
                self.leave(student, "", "left out: there is no feedback page")
            elif not self.is_unread(student):
                yield student, record, page

    def _page(self, student: str) -> Path:
        return self.class_folder.feedback / student / self.assignment / f"{self.assignment}.html"

    def _numbers(self, path: Path | None) -> dict[str, str]:
        """By student, the number in this assignment, from the sheet of a system that numbers everybody anew for each."""
        if self.taker.number is not IdScope.ASSIGNMENT or path is None:
            return {}
        sheet, key = Sheet.read(path), self.taker.name
        rows = [person.ids for person in self.taker.people(sheet) or () if key in person.ids]
        if not rows:
            raise UserError(
                f"{path.name} is not a {self.taker.sheet} of {self.taker.title}: its columns are {sheet.titles}"
            )
        self._look_at_numbers(sheet, {ids[key] for ids in rows})
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

    def _look_at_numbers(self, sheet: Sheet, numbers: set[str]) -> None:
        """By numbers that are other ones for each assignment, another one's worksheet can be told.

        Only by those whose own number came with the submission: a team's number, and that of a submission which a person has settled, is on no worksheet.

        Raises:
            UserError: it is another one's.
        """
        records = [
            record for those in self.manifest.records.values() for record in those if record.system == self.taker.name
        ]
        own_numbers = {record.who for record in records if record.who in self._own_ids(record.student)}
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
        return self.roster.students[student].ids(self.taker.name) if student in self.roster.students else []
