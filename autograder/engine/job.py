"""One submission on its way to a worker process, and what becomes of it where nobody could grade it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograder import outline
from autograder.engine.graded_submission import GradedSubmission
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Mode
from autograder.reference import draws
from ffnlab.checking.verdict import not_graded

TRIES = 3  # how often a jail, or the process that holds it, may die over one submission before a person has to look


@dataclass(frozen=True)
class Job:
    """One submission to grade, whole: a worker reads nothing else of the class."""

    assignment: str
    data: bytes
    seeds: draws.SeedsByExercise
    limits: Limits
    key: str  # the key's version: a worker that has another one refuses
    reference_file: Path  # a file of this machine; a worker elsewhere computes what is in it
    only: tuple[str, ...] = ()  # exercises; empty: all
    mode: Mode = Mode.BUBBLEWRAP


def build_ungraded(job: Job, reason: str) -> GradedSubmission:
    """Our fault: every exercise waits for a person."""
    exercises = [e for e in outline.of_notebook(job.assignment) if not job.only or e.name in job.only]
    verdicts = {e.name: not_graded(e, f"Not graded, and you are not at fault: {reason}.") for e in exercises}
    return GradedSubmission(job.assignment, verdicts, remarks=[f"NOT GRADED: {reason}"])
