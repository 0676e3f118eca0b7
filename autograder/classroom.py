"""A whole class: finds the submissions, grades them side by side, and writes gradebook, notebooks and feedback pages. Called by `autograder grade`."""

from __future__ import annotations

import contextlib
import os
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
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
        fresh: list[tuple[Submission, bytes]] = []
        for submission in submissions:
            data = _read(submission, limits)
            kept = before.get(submission.student)
            if kept and not force and (kept.submission, kept.version) == (gradebook.digest(data), now):
                done.append(Done(submission, None, "graded before, unchanged"))
                tell(done[-1], len(submissions))
            else:
                fresh.append((submission, data))
        if not fresh:
            return done
        count = max(1, min(workers or os.cpu_count() or 1, len(fresh)))
        with _jails(count, limits) as jails, ThreadPoolExecutor(count) as pool:
            running: dict[Future[Graded], tuple[Submission, bytes]] = {
                pool.submit(_grade_one, submission, data, jails, limits, seeds): (submission, data)
                for submission, data in fresh
            }
            for future in as_completed(running):
                submission, data = running[future]
                graded = future.result()
                if submission.remark:
                    graded.remarks.insert(0, submission.remark)
                book.enter(submission.student, graded, gradebook.digest(data), _timestamp(submission.folder))
                feedback.write(school, submission.student, graded)
                done.append(Done(submission, graded, "; ".join(graded.remarks)))
                tell(done[-1], len(submissions))
    return sorted(done, key=lambda one: one.submission.student)


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
    submission: Submission, data: bytes, jails: queue.SimpleQueue[Jail], limits: Limits, seeds: draws.Seeds
) -> Graded:
    """Grade one submission; where the jail breaks, once more in a new one, then leave it to a person."""
    listed = exercises.of_notebook(submission.assignment)
    if submission.path is None:
        verdicts = {e.name: not_earned(e, f"There is {submission.remark} in the submission.") for e in listed}
        return Graded(submission.assignment, verdicts)
    jail = jails.get()
    try:
        for _ in range(2):
            try:
                return grade_submission(submission.assignment, data, jail, seeds)
            except JailBroken as error:
                reason = str(error)
                jail.close()
                jail = Jail(limits)
        verdicts = {e.name: not_graded(e, f"Not graded, by no fault of yours: {reason}.") for e in listed}
        return Graded(submission.assignment, verdicts, remarks=[f"NOT GRADED: {reason}"])
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
