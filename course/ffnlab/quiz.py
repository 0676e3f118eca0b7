"""`quiz`: what a student calls to check the answer to a multiple-choice question (an exercise made by `exercise.question`)."""

from __future__ import annotations

from ffnlab.check import Points, check


def quiz(name: str, answer: object) -> Points:
    """Say whether the chosen option is right and, if not, why. Returns the points, as `check` does."""
    return check(name, answer)
