"""A whole class: finds the submissions, grades them side by side, and writes gradebook, notebooks and feedback pages. Called by `autograder grade`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder import draws, feedback, log, markings, pool
from autograder.grade import Graded
from autograder.house import NAME, Class, UserError, assignments, importing, known
from ffnlab import exercises
from ffnlab.verdict import Outcome, not_earned


@dataclass(frozen=True)
class Submission:
    """One student's submission of one assignment: where it lies. `path` is None where there is no notebook."""

    student: str
    assignment: str
    folder: Path
    path: Path | None
    remark: str = ""


@dataclass
class Done:
    """What became of one submission."""

    submission: Submission
    graded: Graded | None  # None: graded before, nothing has changed


@dataclass
class Summary:
    """How many submissions were graded, how many had not changed since last time, how many a person has to look at."""

    graded: int = 0
    unchanged: int = 0
    not_graded: int = 0

    def count(self, done: Done) -> None:
        if done.graded is None:
            self.unchanged += 1
        else:
            self.graded += 1
            self.not_graded += any(v.outcome is Outcome.NOT_GRADED for v in done.graded.verdicts.values())


def find(school: Class, assignment: str, student: str | None = None) -> list[Submission]:
    """The submissions of an assignment, by student.

    Raises:
        UserError: nothing is there, or that student has not submitted.
    """
    known(assignment)
    if not school.submitted.is_dir():
        raise UserError(f"there is no folder {school.submitted}: submissions lie in submitted/STUDENT/ASSIGNMENT/")
    found = []
    for home in sorted(school.submitted.iterdir()):
        folder = home / assignment
        if not home.is_dir() or not folder.is_dir() or home.is_symlink() or folder.is_symlink():
            continue
        if not NAME.fullmatch(home.name):
            raise UserError(f"{home}: a student's folder is named with letters, digits and _ . @ + - only")
        found.append(_submission(home.name, assignment, folder))
    if student is not None:
        found = [one for one in found if one.student == student]
    if not found:
        who = f"by {student} " if student else ""
        raise UserError(f"no submission {who}of {assignment} in {school.submitted}")
    return found


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
    if expected.is_file() and not expected.is_symlink():
        return Submission(student, assignment, folder, expected)
    others = [path for path in sorted(folder.glob("*.ipynb")) if path.is_file() and not path.is_symlink()]
    if len(others) == 1:
        return Submission(student, assignment, folder, others[0], f"the notebook is called {others[0].name}")
    found = "no notebook" if not others else f"{len(others)} notebooks, none called {expected.name}"
    return Submission(student, assignment, folder, None, found)


def grade(
    school: Class,
    assignment: str,
    team: pool.Team,
    student: str | None = None,
    exercise: str | None = None,
    force: bool = False,
    tell: Callable[[Done, int], None] = lambda done, total: None,
) -> Summary:
    """Grade an assignment; `tell` is called after each submission with it and the number of all.

    team: who grades; it starts once there is something to grade. student: only this one. exercise: judge only this one again and keep
    the verdicts on the others (of a submission that has none yet, everything is graded). force: also what has not changed.

    Raises:
        UserError: nothing to grade. JailWontStart: there is no jail to be had. KeyboardInterrupt: asked to stop; all that was graded is saved.
    """
    submissions = find(school, assignment, student)
    if exercise is not None and exercise not in {found.name for found in exercises.of_notebook(assignment)}:
        raise UserError(f"{assignment} has no exercise called {exercise!r}")
    summary = Summary()
    team.start()  # becomes warm while this process draws and imports
    with contextlib.ExitStack() as stack:
        seeds = draws.hidden(assignment, school.draws)
        marked = markings.kept(school, assignment, seeds)
        with importing():
            from autograder import gradebook  # nbgrader takes seconds; the workers start meanwhile

        key, version = draws.key_version(assignment), gradebook.version(assignment)
        book = stack.enter_context(gradebook.Book(school))
        stop = stack.enter_context(_asked_to_stop())
        line = stack.enter_context(log.of(school))
        book.know(assignment)

        def finish(done: Done) -> None:
            summary.count(done)
            tell(done, len(submissions))

        def jobs() -> Iterator[tuple[_Paper, pool.Job]]:
            before = book.settled(assignment)
            for submission in submissions:
                data = _read(submission, team.limits.notebook)
                paper = _Paper(submission, gradebook.digest(data))
                unchanged = before.get(submission.student) == (paper.digest, version)
                if unchanged and not force and not exercise:
                    finish(Done(submission, None))
                elif submission.path is None:
                    save(paper, _nothing_there(submission))
                else:
                    only = (exercise,) if exercise and unchanged else ()
                    yield paper, pool.Job(assignment, data, seeds, team.limits, key, marked, only, team.mode)

        def save(paper: _Paper, graded: Graded) -> None:
            submission = paper.submission
            missing = [e.name for e in exercises.of_notebook(assignment) if e.name not in graded.verdicts]
            if missing:
                (kept,) = book.latest(assignment, submission.student)
                graded.verdicts |= {name: kept.verdict(name) for name in missing}
            if submission.remark:
                graded.remarks.insert(0, submission.remark)
            feedback.write(school, submission.student, graded)
            book.enter(submission.student, graded, paper.digest, _timestamp(submission.folder))
            line(submission.student, graded)
            finish(Done(submission, graded))

        for paper, graded in pool.graded(jobs(), team, stop):
            save(paper, graded)
        if stop.is_set():
            raise KeyboardInterrupt
    return summary


@dataclass(frozen=True)
class _Paper:
    """A submission with the hash of what was read of it."""

    submission: Submission
    digest: str


def _nothing_there(submission: Submission) -> Graded:
    reason = f"There is {submission.remark} in the submission."
    listed = exercises.of_notebook(submission.assignment)
    return Graded(submission.assignment, {e.name: not_earned(e, reason) for e in listed})


@contextlib.contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """Ctrl-C sets the event instead of breaking off whatever is being written; a second Ctrl-C breaks off."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _read(submission: Submission, most: int) -> bytes:
    """What was handed in, up to one byte more than `most`."""
    if submission.path is None:
        return b""
    try:
        with submission.path.open("rb") as file:
            return file.read(most + 1)
    except OSError:
        return b""


def _timestamp(folder: Path) -> datetime | None:
    """When nbgrader says that it was submitted, in UTC without a zone, as its gradebook wants it."""
    try:
        text = (folder / "timestamp.txt").read_text(encoding="utf-8")[:60].strip().removesuffix(" UTC")
        moment = datetime.fromisoformat(text)
    except (OSError, ValueError):
        return None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
