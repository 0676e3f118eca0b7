"""A whole class: finds the submissions, grades them side by side, and writes gradebook, notebooks and feedback pages. Called by `autograder grade`."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder import draws, feedback, gradebook
from autograder.grade import Graded, grade_submission
from autograder.house import NAME, Class, UserError, assignments
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Jail, JailBroken
from ffnlab import exercises
from ffnlab.verdict import not_earned, not_graded


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
    remark: str = ""


def find(school: Class, assignment: str, student: str | None = None) -> list[Submission]:
    """The submissions of an assignment, by student.

    Raises:
        UserError: nothing is there, or that student has not submitted.
    """
    if assignment not in assignments():
        raise UserError(f"there is no assignment called {assignment!r}; there are: {', '.join(assignments())}")
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
    limits: Limits,
    workers: int | None = None,
    student: str | None = None,
    force: bool = False,
    tell: Callable[[Done, int], None] = lambda done, total: None,
) -> list[Done]:
    """Grade an assignment; `tell` is called after each submission with it and the number of all.

    Raises:
        UserError: nothing to grade. JailBroken: the jail does not start.
    """
    submissions = find(school, assignment, student)
    seeds = draws.hidden(assignment, school.draws)
    done: list[Done] = []
    with gradebook.Book(school) as book:
        book.know(assignment)
        before, now = book.latest(assignment), gradebook.version(assignment)
        fresh: list[Submission] = []
        for submission in submissions:
            kept = before.get(submission.student)
            if kept and not force and kept.holds_for(gradebook.digest(_read(submission, limits)), now):
                done.append(Done(submission, None, "graded before, unchanged"))
                tell(done[-1], len(submissions))
            else:
                fresh.append(submission)
        for submission, graded, digest in _graded(fresh, limits, seeds, workers or os.cpu_count() or 1):
            if submission.remark:
                graded.remarks.insert(0, submission.remark)
            feedback.write(school, submission.student, graded)
            book.enter(submission.student, graded, digest, _timestamp(submission.folder))
            done.append(Done(submission, graded, "; ".join(graded.remarks)))
            tell(done[-1], len(submissions))
    return sorted(done, key=lambda one: one.submission.student)


def _graded(
    submissions: list[Submission], limits: Limits, seeds: draws.Seeds, workers: int
) -> Iterator[tuple[Submission, Graded, str]]:
    """Each submission with its grade and its digest, as they come, graded side by side.

    Ctrl-C: what is being graded is finished and still comes; then KeyboardInterrupt.
    """
    if not submissions:
        return
    count = min(workers, len(submissions))
    with _asked_to_stop() as stop, _jails(count, limits) as jails, ThreadPoolExecutor(count) as pool:
        running: dict[Future[tuple[Graded, str]], Submission] = {
            pool.submit(_grade_one, submission, jails, limits, seeds): submission for submission in submissions
        }
        while running:
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in finished:
                submission = running.pop(future)
                yield submission, *future.result()
            if stop.is_set():
                running = {future: one for future, one in running.items() if not future.cancel()}
        if stop.is_set():
            raise KeyboardInterrupt


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


def _read(submission: Submission, limits: Limits) -> bytes:
    if submission.path is None:
        return b""
    try:
        with submission.path.open("rb") as file:
            return file.read(limits.notebook + 1)
    except OSError:
        return b""


@contextlib.contextmanager
def _jails(count: int, limits: Limits) -> Iterator[queue.SimpleQueue[Jail]]:
    """A pool of warm processes, started side by side."""
    free: queue.SimpleQueue[Jail] = queue.SimpleQueue()
    started: list[Jail] = []
    try:
        with ThreadPoolExecutor(count) as starters:
            for jail in starters.map(lambda _: Jail(limits), range(count)):
                started.append(jail)
                free.put(jail)
        yield free
    finally:
        while not free.empty():
            started.append(free.get())
        for jail in started:
            jail.close()


def _grade_one(
    submission: Submission, jails: queue.SimpleQueue[Jail], limits: Limits, seeds: draws.Seeds
) -> tuple[Graded, str]:
    """The grade of one submission, and its digest; where the jail breaks, once more in a new one, then leave it to a person."""
    data = _read(submission, limits)
    digest = gradebook.digest(data)
    listed = exercises.of_notebook(submission.assignment)
    if submission.path is None:
        verdicts = {e.name: not_earned(e, f"There is {submission.remark} in the submission.") for e in listed}
        return Graded(submission.assignment, verdicts), digest
    jail = jails.get()
    try:
        for _ in range(2):
            try:
                return grade_submission(submission.assignment, data, jail, seeds), digest
            except JailBroken as error:
                reason = str(error)
                jail.close()
                jail = Jail(limits)
        verdicts = {e.name: not_graded(e, f"Not graded, by no fault of yours: {reason}.") for e in listed}
        return Graded(submission.assignment, verdicts, remarks=[f"NOT GRADED: {reason}"]), digest
    finally:
        jails.put(jail)


def _timestamp(folder: Path) -> datetime | None:
    """When nbgrader says that it was submitted, in UTC without a zone, as its gradebook wants it."""
    try:
        text = (folder / "timestamp.txt").read_text(encoding="utf-8")[:60].strip().removesuffix(" UTC")
        moment = datetime.fromisoformat(text)
    except (OSError, ValueError):
        return None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
