"""The rows of a report's CSV: one for each exercise or question in each attempt of a student. docs/grading.md says what is in the columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autograder.gradebook.policy import Policy
from autograder.gradebook.scores import Score
from autograder.reports.student_history import ReadAttempt, StudentHistory
from ffnlab.checking.verdict import Outcome
from ffnlab.untrusted_text import in_a_line


@dataclass(frozen=True)
class ReportRow:
    """A line of the CSV: one exercise or question in one attempt of a student."""

    assignment: str
    student: str
    attempt: int
    latest: bool
    attempt_counts: bool  # among the student's own; in a group another member's may count
    exercise_counts: bool  # not for practice alone
    submitted_at: str
    graded_at: str
    exercise: str
    outcome: str
    points: float
    max_points: float
    mistake: str
    message: str
    earned_after_mistake: bool
    by_hand: bool
    waits: bool
    readable: bool


def rows_of(history: StudentHistory, assignment: str, label: str, policy: Policy) -> Iterator[ReportRow]:
    """A student's rows, oldest attempt first. label: how the student is called in the report."""
    for number, attempt in enumerate(history.attempts, 1):
        scores = _scores_of(history, attempt)
        questions = [name for name in scores if name not in attempt.grading.verdicts]
        for name in (*attempt.grading.verdicts, *questions):
            verdict = attempt.grading.verdicts.get(name, {})
            score = scores.get(name)
            yield ReportRow(
                assignment,
                label,
                number,
                latest=attempt is history.newest,
                attempt_counts=history.counts(attempt),
                exercise_counts=policy.counts(assignment, name),
                submitted_at=attempt.handed_in_at.isoformat(timespec="seconds") if attempt.handed_in_at else "",
                graded_at=attempt.grading.graded_at,
                exercise=name,
                outcome=attempt.grading.outcome(name) or "",
                points=score.score if score else float(verdict["points"]),
                max_points=score.max_score if score else float(verdict["max_points"]),
                mistake=attempt.grading.mistake(name),
                message=in_a_line(attempt.grading.cause(name), 600),
                earned_after_mistake=history.earned_after_mistake(name, attempt),
                by_hand=score.by_hand if score else False,
                waits=score.waits if score else attempt.grading.outcome(name) is Outcome.NOT_GRADED,
                readable=attempt.readable,
            )


def _scores_of(history: StudentHistory, attempt: ReadAttempt) -> Mapping[str, Score]:
    """What stands in the gradebook for an attempt; nothing for one that is neither the latest nor counts."""
    if history.counts(attempt):
        return history.effective_attempt.scores
    return history.scores if attempt is history.newest else {}
