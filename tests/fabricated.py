"""A class that was graded, made up without a jail: who handed in what, when, and what was found, so that a report's numbers can be computed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder import outline
from autograder.class_folder.folder import ClassFolder
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.released_notebook import Kind, template
from autograder.gradebook import gradebook
from autograder.gradebook.nbgrader_tables import GradingEntry
from autograder.paths import release
from ffnlab.checking.verdict import AspectVerdict, Outcome, Verdict, not_attempted, not_earned, not_graded

FFN = "02_feed_forward"
DUE = datetime(2026, 11, 2, 22, 59, 59, tzinfo=UTC)


@dataclass(frozen=True)
class FakeAttempt:
    """One attempt."""

    earned: Sequence[str] = ()  # exercises that are right
    mistakes: Mapping[str, str] = field(default_factory=dict)  # by exercise, the known mistake
    half: Sequence[str] = ()  # exercises with half of their points and no known mistake
    broken: Sequence[str] = ()  # exercises that we could not grade
    code: Mapping[str, str] = field(default_factory=dict)  # by cell, what was typed
    days: float = 0.0  # after DUE, less an hour
    remarks: Sequence[str] = ()
    unread: str = ""  # why the file could not be read
    timed: bool = True


def graded(attempt: FakeAttempt, assignment: str = FFN) -> GradedSubmission:
    """What grading would have made of it."""
    listed = outline.of_notebook(assignment)
    if attempt.unread:
        return GradedSubmission(
            assignment, {e.name: not_earned(e, attempt.unread) for e in listed}, remarks=[attempt.unread]
        )
    verdicts = {}
    for e in listed:
        if e.name in attempt.earned:
            verdict = Verdict(e.name, Outcome.EARNED, (AspectVerdict("all", e.points, e.points),))
        elif e.name in attempt.half:
            verdict = Verdict(
                e.name, Outcome.NOT_EARNED, (AspectVerdict("all", e.points / 2, e.points, "Half is wrong."),)
            )
        elif e.name in attempt.mistakes:
            name = attempt.mistakes[e.name]
            verdict = replace(not_earned(e, "It differs.", f"The mistake is {name}."), mistake=name)
        elif e.name in attempt.broken:
            verdict = not_graded(e, "By no fault of yours.")
        else:
            verdict = not_attempted(e)
        verdicts[e.name] = verdict
    cells = tuple(
        replace(cell, source=attempt.code[cell.name], untouched=False, has_our_code=False, answers=(cell.name,))
        if cell.name in attempt.code and cell.kind in (Kind.SOLUTION, Kind.MANUAL)
        else cell
        for cell in template(release(assignment))
    )
    return GradedSubmission(assignment, verdicts, cells, remarks=list(attempt.remarks), seconds=1.0)


def save_grading(
    book: gradebook.Book,
    student: str,
    graded_submission: GradedSubmission,
    digest: str,
    timestamp: datetime | None,
    is_earlier_attempt: bool = False,
) -> None:
    """Enter one graded submission."""
    book.save_gradings([GradingEntry(student, graded_submission, digest, timestamp, is_earlier_attempt)])


def fabricate(
    folder: Path, attempts_by_student: Mapping[str, Sequence[FakeAttempt]], assignment: str = FFN
) -> ClassFolder:
    """A class whose gradebook holds these attempts, oldest first, by student."""
    class_folder = ClassFolder(folder)
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(assignment)
        for student, attempts in attempts_by_student.items():
            for number, attempt in enumerate(attempts):
                handed_in_at = (
                    (DUE + timedelta(days=attempt.days, hours=-1)).replace(tzinfo=None) if attempt.timed else None
                )
                save_grading(book, student, graded(attempt, assignment), f"{number:064d}", handed_in_at)
    return class_folder
