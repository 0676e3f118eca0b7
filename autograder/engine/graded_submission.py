"""What grading makes of a submission, as a worker hands it to the conductor. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autograder.engine.released_notebook import Cell
from ffnlab.checking.verdict import Verdict

Outputs = list[dict[str, Any]]  # of a cell, in nbformat's form


@dataclass
class GradedSubmission:
    """A graded submission: a verdict for every exercise, and each cell's outputs as they were when it ran."""

    assignment: str
    verdicts: dict[str, Verdict]
    cells: tuple[Cell, ...] = ()
    outputs: dict[str, Outputs] = field(default_factory=dict)  # by cell id
    printed: dict[str, str] = field(default_factory=dict)  # by exercise: what its code printed when it was probed
    remarks: list[str] = field(default_factory=list)
    seconds: float = 0.0
    host: str = ""  # the machine that graded it
    build: str = ""  # by what: fingerprint.describe()
    # By exercise: after which cell, by its id; empty: at the end.
    looked_at: dict[str, str] = field(default_factory=dict)

    @property
    def points(self) -> float:
        return sum(verdict.points for verdict in self.verdicts.values())

    @property
    def max_points(self) -> float:
        return sum(verdict.max_points for verdict in self.verdicts.values())
