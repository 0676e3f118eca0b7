"""From what an LMS exports to `submitted/STUDENT/ASSIGNMENT/`: who handed in what, which attempt counts, and what a person has to settle.

Everything is planned before anything is written. Then come, in this order, the files, the roster and the manifests with what is to be placed, the placing, the
gradebook, and the manifests without it: whatever breaks this off, the same command goes on from there. Called by `autograder collect`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from autograder.desk import handed_in, ledger, lms, manifest
from autograder.desk.lms import archive, blackboard, brightspace, moodle
from autograder.desk.lms.archive import Refused
from autograder.desk.lms.exchange import SECRET
from autograder.desk.lms.handin import HandIn
from autograder.desk.lms.sheets import Sheet
from autograder.desk.manifest import Manifest, Record
from autograder.desk.roster import Roster, Student
from autograder.desk.settle import FILE as SETTLE
from autograder.desk.settle import Matter, Settled
from autograder.desk.submissions import Asked, File, Submission, choose, together, votes_of
from autograder.desk.whose import Finder
from autograder.house import Class, UserError, assignments, importing, keep, known, root
from ffnlab.cleaning import in_a_line

OF_ONE = 0.9  # of an export's notebooks, so many must be of one assignment for it to be an export of that


@dataclass(frozen=True)
class Row:
    """A line of the table: a file, whose it is, which notebook, which attempt, when, what becomes of it, and whether that is for a person to settle."""

    file: str
    student: str
    notebook: str
    attempt: str
    at: str
    what: str
    asks: bool = False
    name: str = ""

    @property
    def short(self) -> str:
        """The file's own name where the rest says only whose it is."""
        return self.file.split("/")[-1] if self.student and not self.file.endswith("/") else self.file


@dataclass
class Collected:
    """What was collected, or would be. notes: for information. doubts: what a person should look at. open: what a person can settle, in the file `settle`."""

    title: str
    archive: str
    settle: Path
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    open: list[Matter] = field(default_factory=list)
    new: int = 0
    known: int = 0
    placed: int = 0

    @property
    def needs_somebody(self) -> bool:
        return bool(self.open or self.doubts)


def collect(
    school: Class,
    source: Path,
    rosters: Sequence[Path] = (),
    assignment: str | None = None,
    dry_run: bool = False,
    zone: tzinfo | None = None,
    match_names: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Collected:
    """Collect what an LMS exported, a zip or a folder, into a class.

    rosters: lists of participants, worksheets or gradebooks that the LMS exported. assignment: what it is an export of; else what nine in ten of its notebooks
    are. dry_run: write nothing. zone: of the clock behind times that name none; this computer's where it is None. match_names: where an export has no id that a
    list has too, take a name that just one student has for that student. tell: is called with the number of files written, and of all.

    Raises:
        UserError: it is no export that is known here, a list can't be used, or the class can't be collected into.
    """
    if school.folder.resolve() == (root() / "grading" / "sample").resolve():
        raise UserError("grading/sample is for made-up students: collect into grading/, or another --grading FOLDER")
    if assignment is not None:
        known(assignment)
    ledger.look(school)
    with archive.opened(source) as opened:
        export = lms.read(opened, zone)
        plan = _Plan(school, opened, export, zone)
        plan.take_lists(rosters, zone)
        plan.read(assignment, zone)
        plan.file(match_names)
        if not dry_run:
            plan.carry_out(tell)
    return plan.found


class _Plan:
    """One collecting: what was found, and what is to be written."""

    def __init__(self, school: Class, opened: archive.Archive, export: lms.Export, zone: tzinfo | None) -> None:
        self.school, self.opened, self.export, self.zone = school, opened, export, zone
        self.roster, self.settled = Roster.load(school), Settled.load(school)
        self.found = Collected(export.title, opened.name, school.folder / manifest.FOLDER / SETTLE)
        self.submissions: list[Submission] = []
        self.asked: set[str] = set()
        self.label = ""  # the export's, in the file of what is to be settled
        self.manifests = {name: Manifest.load(school, name) for name in manifest.assignments(school)}
        self.writing: list[tuple[Manifest, Record, Callable[[], bytes]]] = []
        self.assignments = assignments()

    def take_lists(self, files: Sequence[Path], zone: tzinfo | None) -> None:
        """Take over who is who, and from Moodle's worksheet when they handed in."""
        times: dict[tuple[str, str], datetime] = {}
        for file in files:
            sheet = Sheet.read(file)
            title, number, doubts = self.roster.extend(sheet)
            self.found.notes.append(f"{file.name}: {title}, {number} {'person' if number == 1 else 'people'}")
            self.found.doubts += doubts
            times |= moodle.times(sheet, zone)
        if self.export.system == moodle.NAME:
            hand_ins = moodle.with_times(self.export.hand_ins, times)
            self.export = replace(self.export, hand_ins=hand_ins)
            if any(one.at for one in hand_ins):
                self.found.notes.append(f"its times are the worksheet's, read as {_clock(zone)}")
            else:
                self.found.notes.append("Moodle exports no times: they stand on the grading worksheet, for --roster")

    def read(self, assignment: str | None, zone: tzinfo | None) -> None:
        """Read all that was handed in, and find out what it was handed in for."""
        self.found.doubts += [f"{name}: refused, {reason}" for name, reason in self.opened.refused]
        self.found.doubts += [f"{in_a_line(name, 200)}: not understood" for name in self.export.unknown]
        wanted = [one for one in self.export.hand_ins if not assignment or one.assignment in ("", assignment)]
        self.submissions = together(wanted, self.assignments)
        expected = assignment or ""
        if not expected and not any(one.first.assignment for one in self.submissions):
            votes = votes_of(self.submissions)
            if votes and max(votes.values()) < OF_ONE * votes.total():
                held = ", ".join(f"{count:,} of {name}" for name, count in votes.most_common())
                raise UserError(f"{self.opened.name} holds {held}: say which it is an export of, with --assignment")
            if votes:
                expected = votes.most_common(1)[0][0]
                self.found.notes.append(f"read as an export of {expected}, by what its notebooks hold")
        self.label = f"{self.opened.name} ({expected})" if expected else self.opened.name
        if assignment and not self.submissions:
            self.found.notes.append(f"nothing in it was handed in for {assignment}")
        for submission in self.submissions:
            submission.expected = submission.first.assignment or expected
        if self.export.system in (blackboard.NAME, brightspace.NAME):
            self.found.notes.append(f"its times name no zone: read as {_clock(zone)}")

    def file(self, match_names: bool) -> None:
        """Find each submission's students and notebook, and number what is new."""
        finder = Finder(self.roster, self.settled, self.submissions, match_names)
        for submission in self.submissions:
            asked = finder.find(submission)
            self._ask(submission, asked)
            if submission.students:
                self._ask(submission, choose(submission, self._said(submission), self.assignments))
        self._ask_which_is_the_latest()
        for submission in sorted(self.submissions, key=lambda one: str(one.first.at or "")):
            for student in submission.students if submission.assignment else ():
                self._number(submission, student)

    def _ask(self, submission: Submission, asked: Sequence[Asked]) -> None:
        students = ", ".join(student.id for student in submission.students)
        for one in asked:
            hand_in, trouble = one.hand_in, one.trouble
            if self.settled.is_left(hand_in.system, hand_in.who, hand_in.entry):
                self._line(hand_in, students, "", "", f"left, as somebody settled: {trouble}")
                continue
            self._line(hand_in, students, "", "", trouble, asks=True)
            texts = (
                self.label,
                hand_in.system,
                hand_in.who,
                hand_in.name,
                hand_in.entry,
                trouble,
                one.suggestion,
            )
            self.found.open.append(Matter(*texts))
            self.asked.add(hand_in.entry)

    def _line(self, hand_in: HandIn, student: str, notebook: str, attempt: str, what: str, asks: bool = False) -> None:
        at = f"{hand_in.at.astimezone(self.zone):%Y-%m-%d %H:%M}" if hand_in.at else ""
        known_as = self.roster.students[student].name if student in self.roster.students else ""
        name = in_a_line(known_as or hand_in.name, 80)
        self.found.rows.append(Row(in_a_line(hand_in.entry, 200), student, notebook, attempt, at, what, asks, name))

    def _said(self, submission: Submission) -> dict[str, str]:
        """By its name in the archive, of which assignment somebody has said that a file is the notebook."""
        found = {}
        for file in submission.notebooks:
            hand_in = file.hand_in
            name = self.settled.assignment(hand_in.system, hand_in.who, hand_in.entry)
            if name in self.assignments:
                found[hand_in.entry] = name
            elif name:
                trouble = f"in {SETTLE}: there is no assignment called {in_a_line(name, 80)}"
                self._ask(submission, [Asked(hand_in, trouble)])
        return found

    def _ask_which_is_the_latest(self) -> None:
        """Where a student has several submissions of an assignment, and not all say when, somebody says which one counts."""
        several: dict[tuple[str, str], list[tuple[Submission, File]]] = {}
        for submission in self.submissions:
            for student in submission.students:
                if submission.chosen:
                    place = student.id, submission.assignment
                    several.setdefault(place, []).append((submission, submission.chosen))
        for those in several.values():
            if len(those) == 1 or all(one.first.at for one, _ in those):
                continue
            for submission, file in those:
                if file.hand_in.entry not in self._said(submission):
                    trouble = f"one of {len(those)} hand-ins, and not all of them say when: which one counts?"
                    self._ask(submission, [Asked(file.hand_in, trouble, submission.assignment)])
                    submission.chosen = None

    # Numbering

    def _number(self, submission: Submission, student: Student) -> None:
        """Number what is new of a submission, and write the table's lines."""
        kept = self.manifests.setdefault(submission.assignment, Manifest(submission.assignment))
        if submission.chosen:
            self._number_attempt(kept, submission, student, submission.chosen)
        for file in (*submission.notebooks, *submission.others):
            if file is submission.chosen:
                continue
            record = self._record(kept, submission, student, file)
            is_new = record.key not in {one.key for one in kept.records.get(student.id, ())}
            if is_new:
                self._write(kept, record, file.hand_in.read)
            if file.hand_in.entry not in self.asked:
                why = f"{file.trouble}; " if file.trouble else ""
                self._line(file.hand_in, student.id, "", "", why + ("kept beside it" if is_new else "here already"))

    def _number_attempt(self, kept: Manifest, submission: Submission, student: Student, file: File) -> None:
        known_ones = {record.key: record for record in kept.records.get(student.id, ()) if record.attempt}
        record = self._record(kept, submission, student, file, is_attempt=True)
        if before := known_ones.get(record.key):
            if record.when and not before.when:  # its worksheet came later than its zip
                kept.date(before, record.at)
            latest = kept.latest(student.id)
            what = "here already" + (f"; attempt {latest.attempt} counts" if latest and latest != before else "")
            self._line(file.hand_in, student.id, kept.assignment, str(before.attempt), what)
            self.found.known += 1
            return
        there = self._put_there_by_hand(kept, student, file)
        record = self._record(kept, submission, student, file, is_attempt=True)
        self._write(kept, record, file.hand_in.read)
        self.found.new += 1
        if kept.latest(student.id) == record:
            kept.placing[student.id] = record.number
            what = "new, in the place of the one before" if record.attempt > 1 else "new, to submitted/"
        else:
            what = "new, kept: a later one counts"
        called = "" if file.called == f"{kept.assignment}.ipynb" else f"called {file.called}"
        notes = [file.hand_in.remark, "late" if file.hand_in.late else "", called, there]
        what = "; ".join(note for note in (what, *notes) if note)
        self._line(file.hand_in, student.id, kept.assignment, str(record.attempt), what)

    def _put_there_by_hand(self, kept: Manifest, student: Student, file: File) -> str:
        """Keep what somebody has put into submitted/ where a new attempt is to lie. Returns a note on it."""
        folder = self.school.submitted / student.id / kept.assignment
        path = folder / f"{kept.assignment}.ipynb"
        others = [other.name for other in sorted(folder.glob("*.ipynb")) if other != path]
        beside = f"{in_a_line(', '.join(others), 80)} in submitted/ does not count any more" if others else ""
        if not handed_in.is_file(path):
            return beside
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if digest in {file.digest, *(record.sha256 for record in kept.records.get(student.id, ()))}:
            return beside
        at, number = handed_in.timestamp(folder), kept.next_number(student.id)
        record = Record(
            student=student.id,
            number=number,
            attempt=kept.next_attempt(student.id),
            system=manifest.BY_HAND,
            who=student.id,
            name="",
            entry=f"submitted/{student.id}/{kept.assignment}/{path.name}",
            file=path.name,
            sha256=digest,
            bytes=len(data),
            kept=manifest.place(student.id, number, path.name),
            collected=manifest.now(),
            at=manifest.stamp(at.replace(tzinfo=UTC)) if at else "",
        )
        self._write(kept, record, path.read_bytes)
        return "; ".join(
            note for note in (f"what was put there by hand is kept as attempt {record.attempt}", beside) if note
        )

    def _record(
        self, kept: Manifest, submission: Submission, student: Student, file: File, is_attempt: bool = False
    ) -> Record:
        hand_in, number = file.hand_in, kept.next_number(student.id)
        back = {name: text for name, text in hand_in.back.items() if text}
        if is_attempt:
            back.setdefault("secret", secrets.token_hex(64))
        members = tuple(one.id for one in submission.students)
        return Record(
            student=student.id,
            number=number,
            attempt=kept.next_attempt(student.id) if is_attempt else 0,
            system=hand_in.system,
            who=hand_in.who,
            name=hand_in.name,
            entry=hand_in.entry,
            file=hand_in.file,
            sha256=file.digest,
            bytes=file.size,
            kept=manifest.place(student.id, number, hand_in.file),
            collected=manifest.now(),
            archive=self.opened.name,
            archive_sha256=self.opened.digest,
            at=manifest.stamp(hand_in.at) if hand_in.at else "",
            late=hand_in.late,
            group=hand_in.group or (hand_in.name if len(members) > 1 else ""),
            members=members if len(members) > 1 else (),
            handed_in_for=submission.expected,
            token=hand_in.token,
            back=back,
        )

    def _write(self, kept: Manifest, record: Record, get: Callable[[], bytes]) -> None:
        kept.add(record)
        self.writing.append((kept, record, get))

    # Writing

    def carry_out(self, tell: Callable[[int, int], None]) -> None:
        """Write all of it, in an order that can be broken off anywhere."""
        total = len(self.writing) + sum(len(kept.placing) for kept in self.manifests.values())
        for done, (kept, record, get) in enumerate(self.writing, 1):
            keep(kept.path(self.school, record), self._bytes(record, get))
            tell(done, total)
        self.roster.save(self.school)
        for kept in self.manifests.values():
            kept.save(self.school)
        for kept in self.manifests.values():
            for student, number in kept.placing.items():
                self._place(kept, student, number)
                tell(len(self.writing) + self.found.placed, total)
        self._introduce()
        for kept in self.manifests.values():
            kept.placing = {}
            kept.save(self.school)
        self.settled.save(self.school, self.label, self.found.open)

    def _bytes(self, record: Record, get: Callable[[], bytes]) -> bytes:
        try:
            data = get()
        except Refused as reason:
            raise UserError(f"{record.entry}: {reason}") from None
        if hashlib.sha256(data).hexdigest() != record.sha256:
            raise UserError(f"{record.entry} has changed while it was collected: the same command goes on from here")
        return data

    def _place(self, kept: Manifest, student: str, number: int) -> None:
        """Put an attempt where grading finds it, with its time and its secret, unless something else has come there meanwhile."""
        folder = self.school.submitted / student / kept.assignment
        path = folder / f"{kept.assignment}.ipynb"
        records = {record.number: record for record in kept.records.get(student, ())}
        record = records.get(number)
        if record is None:
            return
        if any(part.is_symlink() for part in (folder.parent, folder, path)) or (path.exists() and not path.is_file()):
            self.found.doubts.append(f"{path} is a link, or not a regular file: nothing was put there")
            return
        there = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
        if there not in {"", *(one.sha256 for one in records.values())}:
            self.found.doubts.append(f"{path} was changed meanwhile: it is left as it is")
            return
        if there != record.sha256:
            keep(path, kept.path(self.school, record).read_bytes())
        if record.when:
            keep(folder / handed_in.TIMESTAMP, manifest.stamp(record.when))
        elif there != record.sha256:
            (folder / handed_in.TIMESTAMP).unlink(missing_ok=True)
        keep(folder / SECRET, record.back.get("secret", ""))
        self.found.placed += 1

    def _introduce(self) -> None:
        """Enter names and ids of those who have handed something in."""
        ids = dict.fromkeys(student.id for one in self.submissions for student in one.students)
        if not ids:
            return
        with importing():
            from autograder.desk import gradebook

        with gradebook.Book(self.school) as book:
            book.introduce({one: _known_as(self.roster.students[one]) for one in ids})


def _clock(zone: tzinfo | None) -> str:
    return f"times of {zone}" if zone else "times of this computer"


def _known_as(student: Student) -> dict[str, str]:
    """What nbgrader's gradebook keeps of a student besides the id."""
    cells = student.cells
    told = {name: cells.get(name, "") for name in ("first_name", "last_name", "email")}
    number = next((cells[key] for key in ("canvas", "brightspace", "sis_id", "username") if cells.get(key)), "")
    return told | {"lms_user_id": number}
