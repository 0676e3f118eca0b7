"""`recheck`: what the hidden tests of a notebook call when plain nbgrader grades: the same verdict on the hidden draws.

Our own engine never calls it. Here the student's code and the key share a process, which `nbgrader autograde` can't avoid.
"""

from __future__ import annotations

import os

from IPython.display import display

from autograder.redaction import quotations
from autograder.redaction.redact import redact
from autograder.reference import compute, draws, stored
from ffnlab.checking import panel
from ffnlab.checking.checks import NotEarned, Points, examine
from ffnlab.checking.verdict import Outcome
from ffnlab.registry import active_course


def recheck(name: str, answer: object) -> Points:
    """Judge `answer` on the hidden draws and show what was found. Returns the points, for nbgrader to read.

    Raises:
        NotEarned: below full marks, only where the environment says FFNLAB_STRICT=1.
    """
    exercise = active_course().exercise(name)
    stored.load_for_recheck(name)
    seeds = draws.for_recheck(name)
    verdict, _ = examine(exercise, compute.reference_outputs(name, seeds), answer, list(seeds))
    verdict = redact(quotations.strip_unquoted(verdict, ()))
    display(panel.of_verdict(verdict, exercise.understood, inputs="hidden inputs"))
    if os.environ.get("FFNLAB_STRICT") == "1" and verdict.outcome is not Outcome.EARNED:
        raise NotEarned(f"{name}: {verdict.message}")
    return Points(verdict.points)
