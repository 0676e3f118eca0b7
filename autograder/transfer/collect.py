"""From what an LMS exports to `submitted/STUDENT/ASSIGNMENT/`: who handed in what, which attempt counts, and what a person has to settle.

Everything is planned before anything is written. Then come, in this order, the files, the roster and the manifests with what is to be placed, the placing, the
gradebook, and the manifests without it: whatever breaks this off, the same command goes on from there. Called by `autograder collect`.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from autograder import lms, untrusted_files
from autograder.class_folder import manifest
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import NOTHING, Manifest, Record
from autograder.class_folder.open_questions import FILE as SETTLE
from autograder.class_folder.open_questions import OpenQuestion, SettledQuestions
from autograder.class_folder.roster import FILE as ROSTER
from autograder.class_folder.roster import Roster, Student, names_with_ids
from autograder.errors import UserError
from autograder.files import Batch, make_folder
from autograder.gradebook import missing, preflight
from autograder.gradebook.missing import Missing
from autograder.gradebook.policy import Policy, marked_late
from autograder.lms import archive
from autograder.lms.archive import Refused, normalize_name
from autograder.lms.base import IdScope
from autograder.lms.exchange import SECRET
from autograder.lms.records import HandIn, is_in_future, letters
from autograder.lms.sheets import Sheet
from autograder.paths import assignments, require_assignment, root, unknown_assignment
from autograder.startup import gc_paused
from autograder.transfer.group_files import FileGroup, NotebookFile, UnresolvedFile, choose, group_by_student, votes_of
from autograder.transfer.match_students import Finder, by_roster
from ffnlab.untrusted_text import in_a_line

EMPTIED = hashlib.sha256().hexdigest()  # of a notebook that a power cut has emptied
TOGETHER = 100  # files that are written at a time
OF_ONE = 0.9  # of an export's notebooks, so many must be of one assignment for it to be an export of that


@dataclass(frozen=True)
class CollectedRow:
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
    """What was collected, or would be. notes: for information. doubts: what a person should look at. open: what a person can settle, in the file `settle`.

    missing: by assignment, who has not handed in, where a list of the class is known.
    """

    title: str
    archive: str
    settle: Path
    rows: list[CollectedRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    open: list[OpenQuestion] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    new: int = 0
    known: int = 0
    placed: int = 0

    @property
    def needs_somebody(self) -> bool:
        return bool(self.open or self.doubts)


def collect(
    class_folder: ClassFolder,
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
    if class_folder.path.resolve() == (root() / "grading" / "sample").resolve():
        raise UserError("grading/sample is for made-up students: collect into grading/, or another --grading FOLDER")
    if assignment is not None:
        require_assignment(assignment)
    preflight.check_gradebook(class_folder)
    with archive.open_archive(source) as opened:
        export = lms.read(opened, zone)
        damages = [] if dry_run else _set_aside_empty_files(class_folder)
        plan = _Collection(class_folder, opened, export, zone)
        plan.found.doubts += damages
        plan.take_lists(rosters, zone)
        plan.read(assignment, zone)
        plan.file(match_names)
        plan.look_at_the_class(Policy.of(class_folder))
        if not dry_run:
            plan.carry_out(tell)
    return plan.found


def _set_aside_empty_files(class_folder: ClassFolder) -> list[str]:
    """Make way for what a power cut has emptied and an export can bring again: the roster, and the manifests with their files. Returns a line for each."""
    found = []
    if _is_empty(class_folder.path / ROSTER):
        (class_folder.path / ROSTER).unlink()
        found.append(f"{ROSTER} was empty, as after a power cut: give the lists of the class with --roster again")
    for name in manifest.assignments(class_folder):
        folder = class_folder.path / manifest.FOLDER / name
        if not _is_empty(folder / manifest.FILE):
            continue
        number, aside = 1, class_folder.path / "damaged"
        make_folder(aside)
        while (aside / f"{name}-{number}").exists():
            number += 1
        folder.rename(aside / f"{name}-{number}")
        found.append(
            f"the manifest of {name} was empty, as after a power cut: what had been collected is now in damaged/{name}-{number}. "
            "Collect each earlier export of it again, oldest first"
        )
    return found


class _Collection:
    """One collecting: what was found, and what is to be written."""

    def __init__(
        self, class_folder: ClassFolder, opened: archive.Archive, export: lms.Export, zone: tzinfo | None
    ) -> None:
        self.class_folder, self.opened, self.export, self.zone = class_folder, opened, export, zone
        self.roster, self.settled = Roster.load(class_folder), SettledQuestions.load(class_folder)
        self.found = Collected(export.lms.title, opened.name, class_folder.path / manifest.FOLDER / SETTLE)
        self.submissions: list[FileGroup] = []
        self.asked: set[str] = set()
        self.unread: list[str] = []  # lines about worksheets whose times can't be read
        self.label = ""  # the export's, in the file of what is to be settled
        self.manifests = {name: Manifest.load(class_folder, name) for name in manifest.assignments(class_folder)}
        self.writing: list[tuple[Manifest, Record, Callable[[], bytes]]] = []
        self.assignments = assignments()

    def take_lists(self, files: Sequence[Path], zone: tzinfo | None) -> None:
        """Take over who is who, and from the sheets of a system that exports no times when they handed in."""
        exporter, sheets = self.export.lms, []
        for file in files:
            sheet = Sheet.read(file)
            sheets.append(sheet)
            system, number, doubts = self.roster.extend(sheet)
            self.found.notes.append(f"{file.name}: {system.title}, {number} {'person' if number == 1 else 'people'}")
            self.found.doubts += doubts
            for one in lms.numbered():
                nameless = sum(student.startswith(f"{one.name}-") for student in self.roster.students)
                if nameless and one.number is IdScope.ASSIGNMENT:
                    self.found.notes.append(
                        f"{nameless:,} students have no ID number, login or address on a list: they are known by {one.title}'s number, "
                        "which changes with each assignment"
                    )
            if unread := system.unread_time(sheet):
                self.unread.append(
                    f"{file.name}: its times can't be read ({in_a_line(unread, 60)}): set {system.title} to English and download it again"
                )
        if exporter.times_on:
            hand_ins = exporter.with_times(self.export.hand_ins, sheets, zone)
            self.export = replace(self.export, hand_ins=hand_ins)
            without = {one.who for one in hand_ins if not one.at}
            if len(without) < len({one.who for one in hand_ins}):
                self.found.notes.append(f"its times come from the {exporter.times_on}, read as {_clock(zone)}")
                if without:
                    self.unread.append(
                        f"{len(without):,} students who handed in have no time on a {exporter.times_on}, so none of them counts as late"
                    )
            elif not self.unread:
                self.unread.append(
                    f"{exporter.title} exports no times: they are on the {exporter.sheet}, so give that with --roster"
                )
        self.export = replace(self.export, hand_ins=tuple(map(self._with_doubt, self.export.hand_ins)))
        self._look_at_the_export()

    def _look_at_the_export(self) -> None:
        """Note what the export does not say, or does not say in a way that can be read."""
        remarks = {
            one.attempt: one.remark for one in self.export.hand_ins if not one.at and one.remark.startswith("its time")
        }
        if remarks:
            first = in_a_line(next(iter(remarks.values())), 120)
            self.unread.append(
                f"{len(remarks):,} times can't be read ({first}), so they make nobody late: "
                f"if they are in another language, set {self.export.lms.title} to English and download it again"
            )
        exporter = self.export.lms
        if anonymous := {one.who for one in self.export.hand_ins if exporter.is_anonymous(one.who)}:
            (self.found.doubts if self.roster.is_listed else self.found.notes).append(
                f"{exporter.title} exported it anonymously: {len(anonymous):,} names begin with {exporter.anonymous}, and no gradebook has them, "
                "so no grade can be given back. Switch off anonymous grading or show the names, and download it again"
            )
        claims = {one.attempt for one in self.export.hand_ins if not one.is_owned and not one.doubt}
        if claims:
            self.found.notes.append(
                f"{len(claims):,} of its folders belong to no student's account, as in a zip or a copy, so the folders' names say who handed in, and when"
            )

    def _with_doubt(self, one: HandIn) -> HandIn:
        """A hand-in as the roster bears it out; without its time where that is still to come, with a question."""
        one = by_roster(one, self.roster)
        if not one.at or not is_in_future(one.at):
            return one
        return replace(one, at=None, doubtful_time=f"its time, {self._at(one.at)}, is in the future")

    def read(self, assignment: str | None, zone: tzinfo | None) -> None:
        """Read all that was handed in, and find out what it was handed in for."""
        self.found.doubts += [f"{name}: refused, {reason}" for name, reason in self.opened.refused]
        self.found.doubts += [f"{in_a_line(name, 200)}: not understood" for name in self.export.unknown]
        wanted = [one for one in self.export.hand_ins if not assignment or one.assignment in ("", assignment)]
        self.submissions = group_by_student(wanted, self.assignments, self.settled.files)
        expected = assignment or ""
        if not expected and not any(one.first.assignment for one in self.submissions):
            votes = votes_of(self.submissions)
            if votes and max(votes.values()) < OF_ONE * votes.total():
                held = ", ".join(f"{count:,} of {name}" for name, count in votes.most_common())
                raise UserError(f"{self.opened.name} has {held}: say with --assignment which one was exported")
            if votes:
                expected = votes.most_common(1)[0][0]
                self.found.notes.append(f"read as an export of {expected}, because of what its notebooks contain")
        self.label = f"{self.opened.name} ({expected})" if expected else self.opened.name
        if assignment and not self.submissions:
            self.found.notes.append(f"it has no submission of {assignment}")
        for submission in self.submissions:
            submission.expected = submission.first.assignment or expected
        if self.export.lms.is_local_time:
            self.found.notes.append(f"its times name no zone: read as {_clock(zone)}")

    def file(self, match_names: bool) -> None:
        """Find each submission's students and notebook, and number what is new."""
        finder = Finder(self.roster, self.settled, self.submissions, match_names)
        for submission in self.submissions:
            asked = finder.find(submission)
            self._ask(submission, asked)
            if submission.students:
                self._ask(submission, choose(submission, self._said(submission), self.assignments))
                self._ask_about_its_time(submission)
        self._ask_which_is_the_latest()
        self._look_at_answers()
        for submission in sorted(self.submissions, key=lambda one: str(one.first.at or "")):
            for student in submission.students if submission.assignment else ():
                self._number(submission, student)
        self._withdraw()

    def _withdraw(self) -> None:
        """Take back what was put to a student before, and is another's now: somebody has corrected what they had settled."""
        whose: dict[manifest.Key, list[str]] = {}
        for submission in self.submissions:
            for file in submission.notebooks:
                key = manifest.key_of(file.hand_in, file.digest)
                whose.setdefault(key, []).extend(student.id for student in submission.students)
        for kept in self.manifests.values():
            for record in [record for listed in kept.records.values() for record in listed if record.attempt]:
                now = whose.get(record.key)
                if now and record.student not in now:
                    kept.withdraw(record)
                    self.found.notes.append(
                        f"{in_a_line(record.entry, 200)} is {', '.join(now)}'s: attempt {record.attempt} of {record.student}, "
                        f"for {kept.assignment}, is withdrawn, with its points and its page"
                    )

    def _ask(self, submission: FileGroup, asked: Sequence[UnresolvedFile]) -> None:
        students = ", ".join(student.id for student in submission.students)
        for one in asked:
            hand_in, trouble = one.hand_in, one.trouble
            if self.settled.is_left(hand_in.system, hand_in.who, hand_in.entry):
                self._line(hand_in, students, "", "", f"left, as settled: {trouble}")
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
            self.found.open.append(OpenQuestion(*texts))
            self.asked.add(hand_in.entry)

    def _line(self, hand_in: HandIn, student: str, notebook: str, attempt: str, what: str, asks: bool = False) -> None:
        at = self._at(hand_in.at) if hand_in.at else ""
        known_as = self.roster.students[student].name if student in self.roster.students else ""
        name = in_a_line(known_as or hand_in.name, 80)
        self.found.rows.append(
            CollectedRow(in_a_line(hand_in.entry, 200), student, notebook, attempt, at, what, asks, name)
        )

    def _said(self, submission: FileGroup) -> dict[str, str]:
        """By its name in the archive, of which assignment somebody has said that a file is the notebook."""
        found = {}
        for file in submission.notebooks:
            hand_in = file.hand_in
            settled = self.settled.assignment(hand_in.system, hand_in.who, hand_in.entry)
            if settled and (name := _assignment(settled.assignment, self.assignments)):
                found[hand_in.entry] = name
        return found

    def _look_at_answers(self) -> None:
        """Note what stands in settle.csv and can't be used."""
        notebooks = {normalize_name(file.hand_in.entry) for one in self.submissions for file in one.notebooks}
        entries = {normalize_name(one.entry) for one in self.export.hand_ins}
        for matter in self.settled.filled:
            where = f"in {SETTLE}, line {matter.line}: "
            try:
                lms.find(matter.system)
            except UserError as reason:
                self.found.doubts.append(f"{where}{reason}")
            if matter.assignment and not _assignment(matter.assignment, self.assignments):
                self.found.doubts.append(f"{where}{unknown_assignment(matter.assignment)}")
            elif matter.assignment and normalize_name(matter.file) in entries - notebooks:
                self.found.doubts.append(f"{where}{in_a_line(matter.file, 200)} is not a notebook, so it can't count")
            elif matter.assignment and matter.archive == self.label and normalize_name(matter.file) not in notebooks:
                self.found.notes.append(f"{where}{in_a_line(matter.file, 200)} is not in this export")

    def _ask_about_its_time(self, submission: FileGroup) -> None:
        """What has a time that can't be right does not count until somebody has said that it is the notebook."""
        file = submission.chosen
        if file and file.hand_in.doubtful_time and file.hand_in.entry not in self._said(submission):
            asked = UnresolvedFile(file.hand_in, f"{file.hand_in.doubtful_time}: does it count?", submission.assignment)
            self._ask(submission, [asked])
            submission.chosen = None

    def _ask_which_is_the_latest(self) -> None:
        """Where a student has several submissions of an assignment, and not all say when, somebody says which one counts."""
        several: dict[tuple[str, str], list[tuple[FileGroup, NotebookFile]]] = {}
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
                    trouble = f"one of {len(those)} submissions, and not all have a time: which one counts?"
                    self._ask(submission, [UnresolvedFile(file.hand_in, trouble, submission.assignment)])
                    submission.chosen = None

    def look_at_the_class(self, policy: Policy) -> None:
        """Note who has not handed in, and whom the LMS calls late without saying when."""
        for name in self.assignments:
            here = [one for one in self.submissions if name in (one.assignment, one.expected)]
            if not here:
                continue
            there = missing.submitters(self.class_folder, name) | {who.id for one in here for who in one.students}
            if found := missing.find(self.roster, policy, name, there):
                self.found.missing.append(found)
            if self.unread:
                (self.found.doubts if policy.deducts(name) else self.found.notes).extend(self.unread)
                self.unread = []
            late = dict.fromkeys(who.id for one in here for who in one.students if self._is_marked_late(one, who.id))
            if late:
                said = marked_late(name, [next(names_with_ids([self.roster.students[who]])) for who in late])
                if policy.deducts(name):
                    self.found.doubts.append(f"{said} `autograder report` says what to do")
                else:
                    self.found.notes.append(said)

    def _is_marked_late(self, submission: FileGroup, student: str) -> bool:
        file = submission.chosen
        if file is None or not file.hand_in.late or file.hand_in.at:
            return False
        return untrusted_files.timestamp(self.class_folder.submitted / student / submission.assignment) is None

    # Numbering

    def _number(self, submission: FileGroup, student: Student) -> None:
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
                untouched = f"{file.assignment} as handed out, untouched" if file.is_untouched else ""
                why = f"{file.trouble or untouched}; " if file.trouble or untouched else ""
                self._line(file.hand_in, student.id, "", "", why + ("kept beside it" if is_new else "already here"))

    def _number_attempt(self, kept: Manifest, submission: FileGroup, student: Student, file: NotebookFile) -> None:
        known_ones = {record.key: record for record in kept.records.get(student.id, ()) if record.attempt}
        record = self._record(kept, submission, student, file, is_attempt=True)
        if before := known_ones.get(record.key):
            self._number_again(kept, student, file, before, record)
            return
        there = self._put_there_by_hand(kept, student, file)
        record = self._record(kept, submission, student, file, is_attempt=True)
        self._write(kept, record, file.hand_in.read)
        self.found.new += 1
        if kept.latest(student.id) == record:
            kept.placing[student.id] = record.number
            what = "new, replaces the one before" if record.attempt > 1 else "new, put into submitted/"
        else:
            what = "new, kept; a later one counts"
        called = "" if file.called == f"{kept.assignment}.ipynb" else f"called {file.called}"
        notes = [file.hand_in.remark, "late" if file.hand_in.late else "", called, there]
        if file.hand_in.claimed and file.hand_in.at:
            self.found.doubts.append(
                f"{in_a_line(file.hand_in.attempt, 200)}: written at {self._at(file.hand_in.at)}, later than its name says; the later time counts. If "
                "the whole exchange was copied, the names are right: collect a zip of it instead"
            )
        what = "; ".join(note for note in (what, *notes) if note)
        self._line(file.hand_in, student.id, kept.assignment, str(record.attempt), what)

    def _number_again(
        self, kept: Manifest, student: Student, file: NotebookFile, before: Record, record: Record
    ) -> None:
        """An attempt that is here already: its time may have come or changed since, and a power cut may have emptied its files."""
        what = "already here"
        if record.when and record.when != before.when:
            if before.when:
                what += f"; handed in at {self._at(record.when)}, not at {self._at(before.when)} as read before"
            kept.date(before, record.at)
        latest = kept.latest(student.id)
        if latest and latest.number != before.number:
            what += f"; attempt {latest.attempt} counts"
        if not kept.is_whole(self.class_folder, before):
            what += "; its file was damaged and is written again"
            self.writing.append((kept, before, file.hand_in.read))
        folder = self.class_folder.submitted / student.id / kept.assignment
        files = (f"{kept.assignment}.ipynb", untrusted_files.TIMESTAMP, SECRET)
        if latest and latest.number == before.number and any(_is_empty(folder / name) for name in files):
            kept.placing[student.id] = before.number
        self._line(file.hand_in, student.id, kept.assignment, str(before.attempt), what)
        self.found.known += 1

    def _at(self, when: datetime) -> str:
        return f"{when.astimezone(self.zone):%Y-%m-%d %H:%M}"

    def _put_there_by_hand(self, kept: Manifest, student: Student, file: NotebookFile) -> str:
        """Keep what somebody has put into submitted/ where a new attempt is to lie. Returns a note on it."""
        folder = self.class_folder.submitted / student.id / kept.assignment
        path = folder / f"{kept.assignment}.ipynb"
        others = [other.name for other in sorted(folder.glob("*.ipynb")) if other != path]
        beside = f"{in_a_line(', '.join(others), 80)} in submitted/ no longer counts" if others else ""
        if not untrusted_files.is_file(path):
            return beside
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if digest in {file.digest, *(record.sha256 for record in kept.records.get(student.id, ()))}:
            return beside
        at, number = untrusted_files.timestamp(folder), kept.next_number(student.id)
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
        self, kept: Manifest, submission: FileGroup, student: Student, file: NotebookFile, is_attempt: bool = False
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
        """Write all of it, in an order that can be broken off anywhere: what a later step refers to is on the disk before."""
        total = len(self.writing) + sum(len(kept.placing) for kept in self.manifests.values())
        with Batch(TOGETHER) as files:
            for done, (kept, record, get) in enumerate(self.writing, 1):
                files.write(kept.path(self.class_folder, record), self._bytes(record, get))
                tell(done, total)
        self.roster.save(self.class_folder)
        for kept in self.manifests.values():
            kept.save(self.class_folder)
        with Batch(TOGETHER) as files:
            for kept in self.manifests.values():
                for student, number in kept.placing.items():
                    self._place(files, kept, student, number)
                    tell(len(self.writing) + self.found.placed, total)
        self._enter()
        for kept in self.manifests.values():
            kept.placing = {}
            kept.save(self.class_folder)
        self.settled.save(self.class_folder, self.label, self.found.open)

    def _bytes(self, record: Record, get: Callable[[], bytes]) -> bytes:
        try:
            data = get()
        except Refused as reason:
            raise UserError(f"{record.entry}: {reason}") from None
        if hashlib.sha256(data).hexdigest() != record.sha256:
            raise UserError(f"{record.entry} changed while it was collected: the same command continues from here")
        return data

    def _place(self, files: Batch, kept: Manifest, student: str, number: int) -> None:
        """Put an attempt where grading finds it, with its time and its secret, unless something else has come there meanwhile."""
        folder = self.class_folder.submitted / student / kept.assignment
        path = folder / f"{kept.assignment}.ipynb"
        records = {record.number: record for record in kept.records.get(student, ())}
        record = records.get(number)
        if record is None and number != NOTHING:
            return
        if any(part.is_symlink() for part in (folder.parent, folder, path)) or (path.exists() and not path.is_file()):
            self.found.doubts.append(f"{path} is a link or not a regular file, so nothing was put there")
            return
        there = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
        if there not in {"", EMPTIED, *(one.sha256 for one in records.values())}:
            self.found.doubts.append(f"{path} was changed meanwhile, so it was left alone")
            return
        if record is None:
            for name in (path.name, untrusted_files.TIMESTAMP, SECRET):
                files.remove(folder / name)
            return
        if there != record.sha256:
            files.write(path, kept.path(self.class_folder, record).read_bytes())
        if record.when:
            files.write(folder / untrusted_files.TIMESTAMP, manifest.stamp(record.when))
        elif there != record.sha256:
            files.remove(folder / untrusted_files.TIMESTAMP)
        files.write(folder / SECRET, record.back.get("secret", ""))
        self.found.placed += 1

    def _enter(self) -> None:
        """Enter names and ids of those who have handed something in, and take out what was withdrawn."""
        ids = dict.fromkeys(student.id for one in self.submissions for student in one.students)
        withdrawn = [
            (kept.assignment, student, gone)
            for kept in self.manifests.values()
            for student in kept.placing
            if (gone := kept.withdrawn(student))
        ]
        if not ids and not withdrawn:
            return
        with gc_paused():
            from autograder.gradebook import gradebook

        with gradebook.Book(self.class_folder, writing=True) as book:
            book.upsert_students({one: _known_as(self.roster.students[one]) for one in ids})
            for assignment, student, gone in withdrawn:
                if book.withdraw(assignment, student, gone):
                    for place in (self.class_folder.feedback, self.class_folder.autograded):
                        shutil.rmtree(place / student / assignment, ignore_errors=True)


def _is_empty(path: Path) -> bool:
    return untrusted_files.is_file(path) and not path.stat().st_size


def _assignment(text: str, assignments: Sequence[str]) -> str:
    """The assignment that somebody means by its name, in whatever writing, or by its number; "" where it is none."""
    named = [name for name in assignments if letters(text) in (letters(name), name.partition("_")[0])]
    return named[0] if len(named) == 1 else ""


def _clock(zone: tzinfo | None) -> str:
    return f"times of {zone}" if zone else "times of this computer"


def _known_as(student: Student) -> dict[str, str]:
    """What nbgrader's gradebook keeps of a student besides the id."""
    cells = student.cells
    told = {name: cells.get(name, "") for name in ("first_name", "last_name", "email")}
    own = [one.name for one in lms.numbered() if one.number is not IdScope.ASSIGNMENT]
    number = next((cells[key] for key in (*own, "sis_id", "username") if cells.get(key)), "")
    return told | {"lms_user_id": number}
