"""The times that notebook 05 shows before anybody runs it.

`python -m autograder.authoring.experiments.timing` runs the notebook's code as far as its measurements, on one thread, and writes ffnlab's
course/experiments/timing.json. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from unittest import mock

import matplotlib
import torch

from autograder.authoring import build
from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments import timing

NOTEBOOKS = ("05_parameters",)
TIMES = 25  # runs of each call, of which the shortest is kept


def measure(notebook: str) -> dict[str, float]:
    """By name, the seconds of each measurement in a notebook. Figures, guesses and checks are left out of the run."""
    cells = [cell for cell in build.notebook_of(notebook).cells if cell.cell_type == "code" and not _is_shown(cell)]
    last = max(index for index, cell in enumerate(cells) if "best_seconds(" in cell.source)
    measured: dict[str, float] = {}
    best_seconds = timing.best_seconds

    def record(what: str, function: Callable[..., object], *arguments: object) -> float:
        measured[what] = best_seconds(what, function, *arguments, times=TIMES)
        return measured[what]

    namespace: dict[str, Any] = {"__name__": "notebook"}
    with mock.patch.object(timing, "best_seconds", record):
        for cell in cells[: last + 1]:
            exec(compile(cell.source, cell.metadata.nbgrader.grade_id, "exec"), namespace)
    return measured


def _is_shown(cell: Any) -> bool:
    """Whether a cell shows a figure, or checks an answer."""
    return bool(cell.metadata.nbgrader.locked) and cell.metadata.nbgrader.grade_id != "imports"


if __name__ == "__main__":
    matplotlib.use("Agg")
    torch.set_num_threads(1)
    seconds: dict[str, float] = {}
    for name in NOTEBOOKS:
        seconds |= measure(name)
    about = {"threads": 1, "cores": os.cpu_count(), "runs": TIMES, "torch": TORCH}
    write(
        timing.STORED, {"about": about}, {"seconds": {what: float(f"{value:.3g}") for what, value in seconds.items()}}
    )
