"""One student's attempts at one assignment, as a report reads them from the gradebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING

from autograder.gradebook.policy import EffectiveAttempt
from autograder.gradebook.scores import Score
from ffnlab.checking.verdict import Outcome

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.gradebook.gradebook import Grading, WrittenCell


@dataclass(frozen=True)
class ReadAttempt:
    """One attempt."""

    grading: Grading  # its last
    cells: tuple[WrittenCell, ...] | None  # none where the file could not be read; None where they were not asked for
    handed_in_at: datetime | None  # None where it is not known

    @property
    def readable(self) -> bool:
        """Whether the file could be read; of one whose cells were not asked for, it is taken to be so."""
        return self.cells is None or bool(self.cells)


@dataclass(frozen=True)
class StudentHistory:
    """All attempts, at least one, and which of them counts."""

    student: str
    attempts: Sequence[ReadAttempt]  # oldest first
    effective_attempt: EffectiveAttempt
    scores: Mapping[str, Score]  # what stands in the gradebook, which holds the latest

    @property
    def newest(self) -> ReadAttempt:
        return self.attempts[-1]

    @property
    def counting(self) -> ReadAttempt:
        """The attempt that counts. With the policy "best" a file that can't be read may follow it, and takes nothing from it."""
        same = (attempt for attempt in self.attempts if self.counts(attempt))
        return next(same, self.newest)

    def counts(self, attempt: ReadAttempt) -> bool:
        return attempt.grading is self.effective_attempt.grading

    def earned_after_mistake(self, exercise: str, attempt: ReadAttempt) -> bool:
        """Whether the exercise is earned in this attempt, and was earned first after an attempt in which a mistake of it was named."""
        if attempt.grading.outcome(exercise) is not Outcome.EARNED:
            return False
        before = takewhile(lambda earlier: earlier.grading.outcome(exercise) is not Outcome.EARNED, self.attempts)
        return any(earlier.grading.mistake(exercise) for earlier in before)
