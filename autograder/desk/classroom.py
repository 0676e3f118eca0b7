"""A whole class: finds the submissions, grades them side by side, and writes gradebook, notebooks and feedback pages. Called by `autograder grade`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.desk import feedback, handed_in, ledger, log
from autograder.desk.manifest import Manifest
from autograder.desk.policy import Policy
from autograder.desk.policy_file import near
from autograder.engine import pool
from autograder.engine.graded import Graded
from autograder.house import NAME, Class, UserError, assignments, importing, known
from autograder.jail.limits import Limits
from autograder.marking import draws, markings, outline
from ffnlab.cleaning import in_a_line
from ffnlab.verdict import Outcome, Verdict, not_earned

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.desk.gradebook import Attempt, Book


@dataclass(frozen=True)
class Submission:
    """One student's submission of one assignment: where it lies. `path` is None where there is no notebook.

    earlier: not the one that stands in submitted/, but an attempt before it, handed in `at`.
    """

    student: str
    assignment: str
    folder: Path
    path: Path | None
    remark: str = ""
    earlier: bool = False
    at: datetime | None = None

    @property
    def submitted(self) -> datetime | None:
        """When it was handed in, in UTC without a zone, as nbgrader's gradebook wants it."""
        return self.at.astimezone(UTC).replace(tzinfo=None) if self.at else handed_in.timestamp(self.folder)


@dataclass(frozen=True)
class Change:
    """How a submission's points differ from those before. exercises: by name, then and now; None where it was, or is, not there. new: never graded before."""

    student: str
    exercises: dict[str, tuple[float | None, float | None]]
    new: bool

    @property
    def points(self) -> tuple[float, float]:
        """Of these exercises together, then and now."""
        then, now = ([points or 0.0 for points in side] for side in zip(*self.exercises.values(), strict=True))
        return sum(then), sum(now)


@dataclass
class Done:
    """What became of one submission. graded: None where it was graded before and nothing has changed. before: its attempt until now."""

    submission: Submission
    graded: Graded | None
    before: Attempt | None = None

    def change(self) -> Change | None:
        """How its points differ from those before, if they do."""
        if self.graded is None:
            return None
        now = {name: verdict.points for name, verdict in self.graded.verdicts.items()}
        then = {name: float(verdict["points"]) for name, verdict in self.before.verdicts.items()} if self.before else {}
        differ = {name: (then.get(name), now.get(name)) for name in {**now, **then} if then.get(name) != now.get(name)}
        return Change(self.submission.student, differ, self.before is None) if differ or not self.before else None


@dataclass
class Summary:
    """How many submissions were graded, how many had not changed since last time, how many a person has to look at."""

    graded: int = 0
    unchanged: int = 0
    not_graded: int = 0
    passed_over: tuple[str, ...] = ()  # folders in submitted/ that can be nobody's, with the reason

    def count(self, done: Done) -> None:
        if done.graded is None:
            self.unchanged += 1
        else:
            self.graded += 1
            self.not_graded += any(v.outcome is Outcome.NOT_GRADED for v in done.graded.verdicts.values())


def find(school: Class, assignment: str, student: str | None = None) -> list[Submission]:
    """The submissions of an assignment, by student; folders that can be nobody's are left out, and `passed_over` lists them.

    Raises:
        UserError: nothing is there, or that student has not submitted.
    """
    known(assignment)
    if not school.submitted.is_dir():
        raise UserError(f"there is no folder {school.submitted}: submissions lie in submitted/STUDENT/ASSIGNMENT/")
    homes = sorted(
        home for home in school.submitted.iterdir() if NAME.fullmatch(home.name) and handed_in.is_folder(home)
    )
    found = [
        _submission(home.name, assignment, home / assignment)
        for home in homes
        if student in (None, home.name) and handed_in.is_folder(home / assignment)
    ]
    if not found:
        who = f"by {student} " if student else ""
        also = "; ".join(("", *passed_over(school, assignment)))
        raise UserError(f"no submission {who}of {assignment} in {school.submitted}{also}")
    return found


def passed_over(school: Class, assignment: str) -> tuple[str, ...]:
    """What lies in submitted/ and can be nobody's submission of an assignment, all of it, each with the reason."""
    named: list[str] = []
    linked: list[str] = []
    for home in sorted(school.submitted.iterdir()):
        if home.is_symlink() or (handed_in.is_folder(home) and (home / assignment).is_symlink()):
            linked.append(home.name)
        elif not NAME.fullmatch(home.name) and handed_in.is_folder(home / assignment):
            named.append(home.name)
    why = (("a name with other than the letters a to z, digits and _ . @ + -", named), ("a link", linked))
    return tuple(f"{reason}: {', '.join(in_a_line(name, 60) for name in names)}" for reason, names in why if names)


def strays(school: Class) -> tuple[str, ...]:
    """What lies in submitted/ and belongs to no assignment at all, so that no command would ever speak of it: one line each."""
    known_ones, found = assignments(), []
    for home in sorted(school.submitted.iterdir()) if school.submitted.is_dir() else ():
        if not handed_in.is_folder(home):
            found.append(f"{in_a_line(home.name, 80)}: not a student's folder")
            continue
        try:
            inside = sorted(path for path in home.iterdir() if not path.name.startswith("."))
        except OSError as error:
            found.append(f"{in_a_line(home.name, 80)}: can't be read ({error.strerror})")
            continue
        if not inside:
            found.append(f"{in_a_line(home.name, 80)}: empty")
        for path in inside:
            if path.name not in known_ones:
                found.append(
                    f"{in_a_line(home.name, 80)}/{in_a_line(path.name, 80)}: no notebook of the course is called so"
                    + near(path.name, known_ones, str)
                )
    return tuple(found)


def students(school: Class) -> int:
    """How many have a folder in submitted/."""
    return sum(1 for _ in school.submitted.iterdir()) if school.submitted.is_dir() else 0


def submitted_assignments(school: Class) -> list[str]:
    """The assignments that somebody has submitted."""
    if not school.submitted.is_dir():
        return []
    return [name for name in assignments() if any(school.submitted.glob(f"*/{name}"))]


def _submission(student: str, assignment: str, folder: Path) -> Submission:
    expected = folder / f"{assignment}.ipynb"
    try:
        notebooks = sorted(folder.glob("*.ipynb"))
    except OSError as error:
        return Submission(student, assignment, folder, None, f"a folder that can't be read ({error.strerror})")
    others = [path for path in notebooks if path != expected and handed_in.is_file(path)]
    if handed_in.is_file(expected):
        beside = in_a_line(", ".join(path.name for path in others), 200)
        return Submission(
            student, assignment, folder, expected, f"not looked at: {beside}, beside it" if beside else ""
        )
    if len(others) == 1:
        return Submission(
            student, assignment, folder, others[0], f"the notebook is called {in_a_line(others[0].name, 100)}"
        )
    if expected in notebooks:
        found = f"a {expected.name} that is not a regular file"
    else:
        found = "no notebook" if not others else f"{len(others)} notebooks, none called {expected.name}"
    return Submission(student, assignment, folder, None, found)


@dataclass(frozen=True)
class Asked:
    """What is to be graded. The default: what is new or has changed.

    student: only this one. exercise: judge only this one again and keep the verdicts on the others (of a submission that has none yet,
    everything is graded). force: also what has not changed. anew: a gradebook, or a secret of the hidden draws, that is gone beside
    results may be made again. dry: nothing is written; what would change is only told.
    """

    student: str | None = None
    exercise: str | None = None
    force: bool = False
    anew: bool = False
    dry: bool = False


EVERYTHING = Asked()


def grade(
    school: Class,
    assignment: str,
    team: pool.Team,
    asked: Asked = EVERYTHING,
    tell: Callable[[Done, int], None] = lambda done, total: None,
    stop: threading.Event | None = None,
    stopping: Callable[[], None] = lambda: None,
) -> Summary:
    """Grade an assignment; `tell` is called after each submission with it and the number of all.

    team: who grades; it starts once there is something to grade. stop: once set, by Ctrl-C or somebody else, nothing new is begun. stopping: called at
    Ctrl-C, as what is under way may take a while.

    Raises:
        UserError: nothing to grade. JailWontStart: there is no jail to be had. KeyboardInterrupt: asked to stop; all that was graded is saved.
    """
    policy = Policy.of(school)
    submissions = find(school, assignment, asked.student)
    if asked.exercise is not None and asked.exercise not in {e.name for e in outline.of_notebook(assignment)}:
        raise UserError(f"{assignment} has no exercise called {asked.exercise!r}")
    summary = Summary(passed_over=() if asked.student else passed_over(school, assignment))
    ledger.look(school, asked.anew)
    ledger.look_for_secret(school, assignment, draws.has_secret(assignment, school.draws), asked.anew)
    team.start()  # becomes warm while this process draws and imports
    seeds = draws.hidden(assignment, school.draws)
    marked = markings.kept(school, assignment, seeds)
    with importing():
        from autograder.desk import gradebook  # nbgrader takes seconds; the workers start meanwhile

    def finish(done: Done) -> None:
        summary.count(done)
        tell(done, len(submissions) + len(earlier))

    earlier: list[Submission] = []
    stop = stop or threading.Event()
    with gradebook.Book(school, asked.anew) as book, _ctrl_c_sets(stop, stopping), log.of(school) as line:
        if not asked.dry:
            book.know(assignment)
        version, key = gradebook.version(assignment), draws.key_version(assignment)
        settled = book.settled(assignment)
        desk = _Desk(school, assignment, book, line, policy, asked.dry)
        if policy.attempts(assignment) == "best":
            earlier += _earlier(school, assignment, asked.student)
        seen = book.digests(assignment, version)
        behind = {
            one.student
            for one in earlier
            if (one.student, gradebook.digest(_read(one, team.limits.notebook)[0])) not in seen
        }

        def jobs(submissions: Sequence[Submission]) -> Iterator[tuple[_Paper, pool.Job]]:
            for submission in submissions:
                data, trouble = _read(submission, team.limits.notebook)
                paper = _Paper(submission, gradebook.digest(data))
                unchanged = settled.get(submission.student) == (paper.digest, version)
                if submission.earlier:
                    unchanged = (submission.student, paper.digest) in seen
                elif submission.student in behind:  # the one that stands there is graded after those before it
                    unchanged = False
                if unchanged and not asked.force and not asked.exercise:
                    finish(Done(submission, None))
                elif trouble:
                    finish(desk.save(paper, _nothing_there(submission, trouble)))
                else:
                    only = (asked.exercise,) if asked.exercise and unchanged else ()
                    yield paper, pool.Job(assignment, data, seeds, team.limits, key, marked, only, team.mode)

        for some in (earlier, submissions):
            for paper, graded in pool.graded(jobs(some), team, stop):
                finish(desk.save(paper, graded))
        if stop.is_set():
            raise KeyboardInterrupt
        if earlier and not asked.dry:  # which attempt counts is known now
            counted = policy.read_book(book, assignment, asked.student)
            feedback.write_again(school, assignment, book, asked.student, counted=counted)
    return summary


def not_yet_graded(school: Class, assignment: str, policy: Policy, book: Book) -> str:
    """What there is to say where the best attempt counts, and some that were collected have never been graded; else nothing."""
    if policy.attempts(assignment) != "best":
        return ""
    graded = book.digests(assignment)
    most = Limits().notebook  # of what is larger, the hash of its beginning is kept
    records = (one for those in Manifest.load(school, assignment).records.values() for one in those if one.attempt)
    missing = sum((one.student, one.sha256) not in graded for one in records if one.bytes <= most)
    if not missing:
        return ""
    said = f"{missing} earlier hand-ins have" if missing > 1 else "one earlier hand-in has"
    return (
        f"{assignment}: the best attempt counts, and {said} not been graded: run `autograder grade {assignment}` first"
    )


def _earlier(school: Class, assignment: str, student: str | None) -> Iterator[Submission]:
    """The attempts that were collected before those in submitted/, oldest first."""
    collected = Manifest.load(school, assignment)
    for who, records in sorted(collected.records.items()):
        latest = collected.latest(who)
        for record in records:
            if record.attempt and record is not latest and student in (None, who):
                path = collected.path(school, record)
                yield Submission(who, assignment, path.parent, path, earlier=True, at=record.when)


@dataclass(frozen=True)
class _Desk:
    """Where graded papers of an assignment are put: the gradebook, the pages, the log. dry: nothing is written anywhere."""

    school: Class
    assignment: str
    book: Book
    line: Callable[[str, Graded], None]
    policy: Policy
    dry: bool

    def save(self, paper: _Paper, graded: Graded) -> Done:
        """Save a graded paper; what can't be saved of its texts is left out of it."""
        submission = paper.submission
        before = next(iter(self.book.latest(self.assignment, submission.student)), None)
        missing = [e.name for e in outline.of_notebook(self.assignment) if e.name not in graded.verdicts]
        if missing and before:
            graded.verdicts |= {name: before.verdict(name) for name in missing}
        if submission.path is not None and submission.remark:
            graded.remarks.insert(0, submission.remark)
        if not self.dry:
            try:
                self._keep(paper, graded)
            except Exception as error:
                from autograder.desk import gradebook

                if not gradebook.is_of_one_paper(error):
                    raise
                graded = _without_words(graded, error)
                self._keep(paper, graded)
        return Done(submission, graded, before)

    def _keep(self, paper: _Paper, graded: Graded) -> None:
        student, submitted = paper.submission.student, paper.submission.submitted
        if not paper.submission.earlier:
            given = self.book.marks(self.assignment, student).get(student, {})
            at = submitted.replace(tzinfo=UTC) if submitted else None
            grade = self.policy.grade(self.assignment, feedback.marks_of(graded, given), at, student)
            feedback.write(self.school, student, graded, submitted, given, grade)
        self.book.enter(student, graded, paper.digest, submitted, history_only=paper.submission.earlier)
        self.line(student, graded)


@dataclass(frozen=True)
class _Paper:
    """A submission with the hash of what was read of it."""

    submission: Submission
    digest: str


def _nothing_there(submission: Submission, trouble: str) -> Graded:
    listed = outline.of_notebook(submission.assignment)
    verdicts = {e.name: not_earned(e, f"There is {trouble} in the submission.") for e in listed}
    return Graded(submission.assignment, verdicts, remarks=[trouble])


def _without_words(graded: Graded, error: Exception) -> Graded:
    """The points of a paper of which something can't be saved, without anything that came from it: it costs nobody else anything, and itself no point."""
    said = f"What was seen can't be shown: it could not be saved ({type(error).__name__})."

    def wordless(verdict: Verdict) -> Verdict:
        aspects = tuple(replace(aspect, seen=said if aspect.seen else "") for aspect in verdict.aspects)
        return replace(verdict, aspects=aspects)

    verdicts = {name: wordless(verdict) for name, verdict in graded.verdicts.items()}
    remark = f"its texts could not be saved ({type(error).__name__}): look at the file"
    return Graded(graded.assignment, verdicts, remarks=[remark], seconds=graded.seconds)


@contextlib.contextmanager
def _ctrl_c_sets(stop: threading.Event, tell: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C sets the event instead of breaking off whatever is being written; a second Ctrl-C breaks off."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)
        tell()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read(submission: Submission, most: int) -> tuple[bytes, str]:
    """What was handed in, up to one byte more than `most`; or what there is instead."""
    if submission.path is None:
        return b"", submission.remark
    try:
        return handed_in.read(submission.path, most), ""
    except OSError as error:
        return b"", f"a file that can't be read ({error.strerror})"
