"""From the gradebook and the feedback pages to what an LMS takes: its own sheet with our grades in it, or a zip of pages. Called by `autograder give-back`.

A grade is given back to whom the LMS's own ids lead, and a page by what was noted when it was collected; whatever does not fit is left out and listed.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.desk import feedback, handed_in, lms, page_secret
from autograder.desk.lms import blackboard, brightspace, canvas, exchange, gradescope, moodle
from autograder.desk.lms.sheets import GradeSheet, Row, Sheet, like, number
from autograder.desk.manifest import Manifest, Record
from autograder.desk.marks import Mark, Marks, total
from autograder.desk.roster import Doubtful, Roster, Student
from autograder.files import keep
from autograder.house import Class, UserError, importing, known
from ffnlab.cleaning import in_a_line

if TYPE_CHECKING:
    from autograder.desk.policy import Counted, Grade

Score = Callable[[str], float | None]
SHEETS = {
    moodle.NAME: "the grading worksheet",
    canvas.NAME: "the gradebook, exported as CSV",
    brightspace.NAME: "the grades, exported as CSV",
    blackboard.NAME: "the grade centre's sheet, to work offline",
}


@dataclass(frozen=True)
class Change:
    """A grade on the LMS's sheet, or a page: whose, what stood there, what will, and what there is to say. is_written: whether it is in the file."""

    student: str
    name: str
    old: str
    new: str
    note: str = ""
    is_written: bool = True


@dataclass
class GivenBack:
    """What is given back. notes: for information. doubts: what a person should look at. file: where it was written; None in a dry run."""

    title: str
    assignment: str
    changes: list[Change] = field(default_factory=list)
    unchanged: int = 0
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    file: Path | None = None

    @property
    def written(self) -> int:
        return sum(change.is_written for change in self.changes)


def give_back(
    school: Class,
    system: str,
    assignment: str,
    to: Path | None = None,
    sheet: Path | None = None,
    pages: bool = False,
    column: str = "",
    with_unread: bool = False,
    dry_run: bool = False,
    score: Score | None = None,
    counted: Mapping[str, Counted] = feedback.NOTHING_COUNTED,
) -> GivenBack:
    """Make what a system takes back for an assignment.

    to: the file, or a folder for it. sheet: what the LMS lets one download. pages: the feedback pages instead of the grades. column: that takes the grades.
    with_unread: also those of whom a person has still to read something. score: what a student gets, None for nothing; the sum of the marks if it is None.
    counted: by student, which attempt counts and what it is worth by the class's rules, for the pages to say so.

    Raises:
        UserError: there is nothing to give back, or the sheet can't be used.
    """
    known(assignment)
    if system not in lms.SYSTEMS:
        raise UserError(f"there is no system called {in_a_line(system, 60)!r}; there are: {', '.join(lms.SYSTEMS)}")
    if system in SHEETS and sheet is None and not pages:
        raise UserError(
            f"{SHEETS[system]} is needed, as {lms.SYSTEMS[system].TITLE} lets you download it: --sheet FILE"
        )
    if to is None and not dry_run and system != exchange.NAME:
        raise UserError("say where it is to be written: --to FILE or FOLDER")
    with importing():
        from autograder.desk import gradebook

    with gradebook.Book(school) as book:
        marks = book.marks(assignment)
        if not marks:
            raise UserError(f"nothing of {assignment} has been graded in {school.folder}")
        if not dry_run and (pages or system in (gradescope.NAME, exchange.NAME)):
            feedback.write_again(school, assignment, book, counted=counted)  # with what was given by hand since
    marks |= {student: dict(one.marks) for student, one in counted.items()}
    grades = {student: one.grade for student, one in counted.items()}
    by = {student: one.by for student, one in counted.items()}
    work = _Work(school, system, assignment, marks, grades, by, with_unread, score, dry_run)
    if system == exchange.NAME:
        work.prepare_release()
    elif system == gradescope.NAME:
        work.write(work.results(), to, f"{assignment}-gradescope.zip", sheet)
    elif pages:
        work.write(work.pages(sheet), to, f"{assignment}-{system}-pages.zip", sheet)
    elif sheet:
        work.write(work.grades(sheet, column), to, f"{assignment}-{system}{sheet.suffix or '.csv'}", sheet)
    return work.done


class _Work:
    """One giving back."""

    def __init__(
        self,
        school: Class,
        system: str,
        assignment: str,
        marks: Mapping[str, Marks],
        grades: Mapping[str, Grade],
        by: Mapping[str, str],
        with_unread: bool,
        score: Score | None,
        dry_run: bool,
    ) -> None:
        self.school, self.system, self.assignment, self.marks, self.dry_run = school, system, assignment, marks, dry_run
        self.by = by  # whose hand-in counts for a student, of a group
        self.score = score or (lambda student: total(marks[student]).points)
        self.worth = {
            grades[student].whole if student in grades else total(given).max_points + total(given).waiting
            for student, given in marks.items()
        }
        self.roster, self.manifest = Roster.load(school), Manifest.load(school, assignment)
        self.done = GivenBack(str(lms.SYSTEMS[system].TITLE), assignment)
        unread = {
            student: total(given).waiting for student, given in marks.items() if any(m.waits for m in given.values())
        }
        self.unread: dict[str, float] = {} if with_unread else unread

    def name(self, student: str) -> str:
        return self.roster.students[student].name if student in self.roster.students else ""

    def leave(self, student: str, old: str, why: str) -> None:
        self.done.changes.append(Change(student, self.name(student), old, "", why, is_written=False))

    def is_unread(self, student: str, old: str = "") -> bool:
        """Whether a student is left out because something is still to be read; then that is noted."""
        if student in self.unread:
            self.leave(student, old, f"left out: {self.unread[student]:g} points are still to be read by a person")
        return student in self.unread

    def write(self, data: bytes, to: Path | None, name: str, sheet: Path | None) -> None:
        if self.dry_run or to is None:
            return
        if not self.done.written:
            self.done.notes.append("there is nothing to give back: no file was written")
            return
        path = to / name if to.is_dir() else to
        if sheet is not None and path.resolve() == sheet.resolve():
            raise UserError(f"{path} is the sheet itself, which stays as it is: write to another file")
        keep(path, data)
        self.done.file = path

    # Grades

    def grades(self, path: Path, column: str) -> bytes:
        """The LMS's sheet with our grades in it."""
        grades: GradeSheet = lms.SYSTEMS[self.system].grade_sheet(Sheet.read(path), column)
        rows = self._rows(grades)
        if self.system == moodle.NAME:
            self._look_at_numbers(grades.sheet, {grades.ids(row)[moodle.NAME] for row in rows.values()})
        others = [row[grades.column] for row in grades.sheet.rows]
        tops = {grades.maximum(row) for row in rows.values()}
        for student, row in rows.items():
            if student in self.marks and not self.is_unread(student, row[grades.column]):
                self._put(grades, row, student, others)
        self.done.doubts += [
            f"{in_a_line(self.name(student), 80)} ({student}) was graded here, and is not on this sheet".replace(
                "() ", ""
            )
            for student in self.marks
            if student not in rows
        ]
        most = {round(one, 6) for one in self.worth}
        worth = ", ".join(f"{one:g}" for one in sorted(most))
        for top in sorted(top for top in tops if number(top) is not None and number(top) not in most):
            self.done.notes.append(
                f"the sheet's maximum is {top}, the notebook is worth {worth} points in this class: they are given back as they are"
            )
        if grades.advice:
            self.done.notes.append(grades.advice)
        return grades.written()

    def _rows(self, grades: GradeSheet) -> dict[str, Row]:
        """By student, the sheet's row."""
        found: dict[str, Row] = {}
        twice: set[str] = set()
        unknown = 0
        for row in grades.sheet.rows:
            ids = {key: text for key, text in grades.ids(row).items() if text}
            if grades.nobody(row) or not ids:
                continue
            try:
                student = self.roster.find(ids)
            except Doubtful as doubt:
                self.done.doubts.append(f"line {row.line}: {doubt}; left as it is")
                continue
            student = student or next((Student(text) for text in ids.values() if text in self.marks), None)
            if student is None:
                unknown += 1
            elif student.id in found or student.id in twice:
                twice.add(student.id)
                found.pop(student.id, None)
                self.done.doubts.append(f"line {row.line}: {student.id} stands there twice; left as it is")
            else:
                found[student.id] = row
        if unknown and not found:
            raise UserError(
                f"nobody on {grades.sheet.name} is on the roster by an id, or has a folder that is one: "
                "give it to `autograder collect` with --roster first"
            )
        if unknown:
            stay = (
                "are not on the roster, and stay as they are"
                if unknown > 1
                else "is not on the roster, and stays as it is"
            )
            self.done.notes.append(f"{unknown} on the sheet {stay}")
        return found

    def _put(self, grades: GradeSheet, row: Row, student: str, others: list[str]) -> None:
        old, most, points = row[grades.column], grades.maximum(row), self.score(student)
        if points is None:
            self.leave(student, old, "no score is to be given")
            return
        new = like(points, most, others)
        if number(old) is not None and number(old) == number(new):
            self.done.unchanged += 1
            return
        if grades.locked(row):
            self.leave(student, old, f"left out: {grades.lock}")
            return
        notes = [f"graded there before: {in_a_line(grades.graded(row), 60)}"] if grades.graded(row) else []
        limit = number(most)
        if points < 0:
            notes.insert(0, "below 0")
        if limit is not None and points > limit + 1e-9:
            notes.insert(0, f"above the maximum of {most}: {grades.over}")
            self.done.doubts.append(f"{student} has {new}, above the sheet's maximum of {most}: {grades.over}")
        grades.sheet.put(row, grades.column, new)
        self.done.changes.append(Change(student, self.name(student), old, new, "; ".join(notes)))

    # Pages

    def pages(self, sheet: Path | None) -> bytes:
        """A zip of the feedback pages, each where the system looks for its student."""
        numbers = self._numbers(sheet)
        found: dict[str, bytes] = {}
        for student, record, page in self._to_send():
            name, trouble = self._page_name(student, record, numbers)
            if not trouble and name in found:
                trouble = "another one's page goes to the same place"
            if trouble:
                self.leave(student, "", f"left out: {trouble}")
                continue
            found[name] = page.read_bytes()
            self.done.changes.append(Change(student, self.name(student), "", name))
        if self.system == canvas.NAME:
            self.done.notes.append(
                "Canvas gives each page the name of the notebook that was submitted, .ipynb and all, but it is a web page. "
                "Tell your students to open it in a browser and not in Jupyter"
            )
            self.done.notes.append("each upload adds its comments again: upload this once")
        if self.system == blackboard.NAME:
            self.done.notes.append("Blackboard has no upload for pages: these are to be sent, or attached, one by one")
        return _zipped(found)

    def _to_send(self) -> Iterator[tuple[str, Record, Path]]:
        """Each student who gets a page back, the attempt that came from this system, and the page."""
        if not any(record.system == self.system for records in self.manifest.records.values() for record in records):
            raise UserError(f"nothing of {self.assignment} was collected from {self.done.title}")
        for student in self.marks:
            record, page = self.manifest.latest(student, self.system), self._page(student)
            if not handed_in.is_file(page):  # of a group, whoever handed in has it
                record, page = (
                    self.manifest.latest(self.by.get(student, student), self.system),
                    self._page(self.by.get(student, student)),
                )
            if record is None:
                self.leave(student, "", f"left out: not collected from {self.done.title}")
            elif record.handed_in_for != self.assignment:
                self.leave(student, "", f"left out: handed in for {record.handed_in_for}, where no page of this can go")
            elif not handed_in.is_file(page):
                self.leave(student, "", "left out: there is no feedback page")
            elif not self.is_unread(student):
                yield student, record, page

    def _page(self, student: str) -> Path:
        return self.school.feedback / student / self.assignment / f"{self.assignment}.html"

    def _numbers(self, path: Path | None) -> dict[str, str]:
        """By student, the number of Moodle's participant in this assignment, from its worksheet."""
        if self.system != moodle.NAME or path is None:
            return {}
        sheet = Sheet.read(path)
        rows = [person.ids for person in moodle.people(sheet) or () if moodle.NAME in person.ids]
        if not any(ids[moodle.NAME] for ids in rows):
            raise UserError(f"{path.name} is not a grading worksheet of Moodle: its columns are {sheet.titles}")
        self._look_at_numbers(sheet, {ids[moodle.NAME] for ids in rows})
        found = {}
        for ids in rows:
            try:
                student = self.roster.find(ids)
            except Doubtful as doubt:
                self.done.doubts.append(f"{sheet.name}: {doubt}; no page goes there")
                continue
            if student and ids[moodle.NAME]:
                found[student.id] = ids[moodle.NAME]
        return found

    def _look_at_numbers(self, sheet: Sheet, numbers: set[str]) -> None:
        """Moodle numbers everybody anew for each assignment, so that another one's worksheet can be told.

        Only by those whose own number came with the submission: a team's number, and that of a submission which a person has settled, is on no worksheet.

        Raises:
            UserError: it is another one's.
        """
        records = [
            record for those in self.manifest.records.values() for record in those if record.system == moodle.NAME
        ]
        known_here = {record.who for record in records if record.who in self._own_ids(record.student)}
        if known_here and known_here.isdisjoint(numbers):
            count = f"the {len(known_here)} students" if len(known_here) > 1 else "the student"
            raise UserError(
                f"{sheet.name} lists none of {count} who submitted {self.assignment}: is it the worksheet of another assignment?"
            )
        if records and not known_here:
            self.done.notes.append(
                f"Teams have no number on a worksheet, so nothing shows whether {sheet.name} is the one of {self.assignment}: please look"
            )

    def _own_ids(self, student: str) -> list[str]:
        """The numbers under which the system knows a student."""
        return self.roster.students[student].ids(self.system) if student in self.roster.students else []

    def _page_name(self, student: str, record: Record, numbers: Mapping[str, str]) -> tuple[str, str]:
        """Where a page goes, and why it can't go there if it can't."""
        match self.system:
            case moodle.NAME:
                is_own = record.who in self._own_ids(student) and record.student == student
                participant = numbers.get(student) or (record.who if not numbers and is_own else "")
                trouble = "" if participant else "not on the worksheet, by number or by id"
                if not participant and not numbers:
                    trouble = "the number on this assignment's worksheet is needed: give it with --sheet"
                called = record.name if is_own and not record.members else self.name(student)
                return moodle.page_name(participant, called or student, self.assignment), trouble
            case canvas.NAME:
                is_shared = record.student != student or (record.members and record.who not in self._own_ids(student))
                trouble = "Canvas shows the group the page of whose number it is" if is_shared else ""
                return canvas.page_name(record.entry), trouble
            case brightspace.NAME:
                trouble = f"in a group with {record.student}, who gets the page" if record.student != student else ""
                return brightspace.page_name(record.back["folder"], self.assignment), trouble
            case _:
                is_own = record.student == student and not record.members
                return blackboard.page_name(record.who if is_own else student, self.assignment), ""

    # Gradescope

    def results(self) -> bytes:
        """An autograder's zip that gives each submission its results."""
        found: dict[str, tuple[str, str]] = {}
        for student, record, page in self._to_send():
            points, place = self.score(student), f"results/{record.back['submission']}.json"
            if points is None:
                self.leave(student, "", "no score is to be given")
                continue
            shown = page.read_text(encoding="utf-8")
            text = gradescope.results(points, map(_test, self.marks[student].values()), shown)
            before, whose = found.get(place, (text, student))
            if _scores(before) != _scores(text):
                self.leave(student, "", f"left out: handed in together with {whose}, who has other points")
                continue
            found.setdefault(place, (text, student))
            self.done.changes.append(Change(student, self.name(student), "", f"{points:g}"))
        self.done.notes.append("upload it as this assignment's autograder, then “Regrade All Submissions”")
        files = {place: text.encode() for place, (text, _) in found.items()}
        programs = {"setup.sh": gradescope.SETUP.encode(), "run_autograder": gradescope.RUN.encode()}
        return _zipped(programs | files, programs=tuple(programs))

    # nbgrader

    def prepare_release(self) -> None:
        """Put beside each feedback page what nbgrader's release_feedback reads: when it was handed in, and the secret by which its student finds it."""
        excluded = []
        for page in sorted(self.school.feedback.glob(f"*/{self.assignment}/{self.assignment}.html")):
            student = page.parent.parent.name
            if self.is_unread(student):
                excluded.append(student)
                continue
            trouble = (page_secret.why_not if self.dry_run else page_secret.put_beside)(
                self.school, student, self.assignment
            )
            if trouble:
                excluded.append(student)
                self.leave(student, "", f"left out: {trouble}")
            else:
                self.done.changes.append(Change(student, self.name(student), "", "ready"))
                page.chmod(0o644)  # nbgrader copies the mode too; the folder keeps others out
        but = f" --CourseDirectory.student_id_exclude={','.join(excluded)}" if excluded else ""
        self.done.notes.append(f"now: nbgrader release_feedback {self.assignment} --course NAME{but}")


def _test(mark: Mark) -> dict[str, object]:
    shown = {"name": mark.name, "score": round(mark.score, 6), "max_score": mark.max_score}
    said = mark.comment or ("still to be read by a person" if mark.waits else "")
    return shown | {"output": said, "output_format": "text", "visibility": "after_published"}


def _scores(results: str) -> object:
    """Of a submission's results, what members of a group must have in common."""
    found = json.loads(results)
    return found["score"], [(test["name"], test["score"], test["output"]) for test in found["tests"]]


def _zipped(files: Mapping[str, bytes], programs: tuple[str, ...] = ()) -> bytes:
    """A zip that is the same for the same files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o755 if name in programs else 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            opened.writestr(info, content)
    return data.getvalue()
