"""How a class did in each exercise: the share of points earned, discrimination, and outcomes. It is counted over the attempts that count."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from autograder.gradebook.policy import Policy
from autograder.gradebook.scores import Score
from autograder.reports.report_parts import ExerciseReport
from autograder.reports.student_history import StudentHistory
from ffnlab.checking.verdict import Outcome

MIN_STUDENTS = 5  # students: fewer say nothing about an exercise


class ExerciseStatistics:
    """Of one assignment. max_points: by exercise; what the gradebook has besides are questions."""

    def __init__(self, assignment: str, max_points: Mapping[str, float], policy: Policy) -> None:
        self._assignment = assignment
        self._max_points = max_points
        self._policy = policy
        # Of each student what counts, and how each exercise of it ended: outcome and known mistake. Not the whole history, which may be large.
        self._scores: list[Mapping[str, Score]] = []
        self._readable: list[tuple[Mapping[str, Score], Mapping[str, tuple[Outcome | None, str]]]] = []
        self._earned_after_mistake: Counter[str] = Counter()  # students, by exercise

    def note(self, history: StudentHistory) -> None:
        """Count a student."""
        scores = history.effective_attempt.scores
        self._scores.append(scores)
        if history.counting.readable:
            grading = history.effective_attempt.grading
            outcomes = {name: (grading.outcome(name), grading.mistake(name)) for name in grading.verdicts}
            self._readable.append((scores, outcomes))
            self._earned_after_mistake.update(
                name for name in outcomes if history.earned_after_mistake(name, history.counting)
            )

    def reports(self) -> list[ExerciseReport]:
        """The exercises, and the questions that the gradebook has besides."""
        questions = {
            score.name: score.max_score
            for scores in self._scores
            for score in scores.values()
            if score.max_score and score.name not in self._max_points
        }
        return [self._report(name, points) for name, points in {**self._max_points, **questions}.items()]

    def _report(self, name: str, max_points: float) -> ExerciseReport:
        readable = [(scores, outcomes) for scores, outcomes in self._readable if name in scores]
        final = [scores for scores, _ in readable if not scores[name].waits]
        outcomes = [outcomes.get(name, (None, "")) for _, outcomes in readable]
        by_hand = name not in self._max_points
        points = [scores[name].score for scores in final]
        rest = [_sum_rest(scores, name, self._max_points) for scores in final]
        # Of a question that is still being read, those who wrote nothing are settled first: they would stand for all.
        is_telling = bool(points) and not (by_hand and len(final) < len(readable))
        return ExerciseReport(
            name,
            max_points,
            self._policy.counts(self._assignment, name),
            by_hand,
            answers=len(final),
            share=math.fsum(points) / (max_points * len(points)) if is_telling else None,
            discrimination=correlation(points, rest) if is_telling else None,
            outcomes=Counter(outcome for outcome, _ in outcomes),
            earned_after_mistake=self._earned_after_mistake[name],
            unknown_mistakes=outcomes.count((Outcome.NOT_EARNED, "")),
            waiting=len(readable) - len(final),
        )


def _sum_rest(scores: Mapping[str, Score], name: str, exercises: Iterable[str]) -> float:
    """The points of all exercises but one."""
    return math.fsum(scores[exercise].score for exercise in exercises if exercise != name and exercise in scores)


def correlation(ones: Sequence[float], others: Sequence[float]) -> float | None:
    """Pearson's correlation; for points that are all or nothing it is the point-biserial one. None for fewer students, or where one side never changes."""
    if len(ones) < MIN_STUDENTS or len(set(ones)) < 2 or len(set(others)) < 2:
        return None
    try:
        return statistics.correlation(ones, others)
    except statistics.StatisticsError:
        return None
