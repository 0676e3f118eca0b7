"""What stands in a gradebook for one cell, and what of it a person gave. Apart from gradebook.py, which brings nbgrader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """The score of one cell."""

    name: str
    score: float  # the one that counts, with `extra` in it
    max_score: float
    extra: float = 0.0  # extra credit
    comment: str = ""  # a person's
    # A person's score counts, for an answer that only a person reads or in place of the automatic one.
    by_hand: bool = False
    waits: bool = False  # a person has to look


Scores = Mapping[str, Score]  # of one submission, by the exercise's name or the cell's


@dataclass(frozen=True)
class Total:
    """Of a submission: what it has, of what has been looked at, and how many points wait for a person."""

    points: float
    max_points: float
    waiting: float = 0.0

    def __str__(self) -> str:
        return f"{self.points:g}/{self.max_points:g}" + (f" + {self.waiting:g} to read" if self.waiting else "")


def total(scores: Scores) -> Total:
    """The sum of a submission's scores."""
    final_scores = [score for score in scores.values() if not score.waits]
    return Total(
        round(sum(score.score for score in final_scores), 6),
        round(sum(score.max_score for score in final_scores), 6),
        round(sum(score.max_score for score in scores.values() if score.waits), 6),
    )
