"""Notebook 08's plane: tokens that are points, clusters with a task each, and a linear router that a hand or a training run turns.

Everything is a plane's: a router has one column of two numbers for each expert, and no bias. Experts are affine maps. They are fitted to the tokens that
a router sends them by least squares, so the error that is left belongs to the router alone. Errors are shares of the error of a single expert.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")

N_EXPERTS = 6  # as many as clusters
LEVELS = ("six", "three", "between")  # layouts of clusters and tasks
SEEDS = (0, 1, 2, 3, 4)  # runs that can be watched; the recipe was chosen on them
FRESH = tuple(range(101, 117))  # seeds that no choice was made on
LOOKS = (0, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1000)  # steps at which a run is looked at
GOOD = 0.01  # an error from which on a router is as good as the best hand

Floats = NDArray[np.float64]


def stored() -> dict[str, Any]:
    """What the maker wrote: {"about": …, "levels": {level: {"dots": [T, 2], "targets": [T, 2]}}, "runs": {seed: [looks, 2, E]},
    "ends": {seed of FRESH: error}, "held": the same, begun with a hand's arrows}."""
    return read(STORED)


def ends(begun: str = "ends") -> list[float]:
    """The errors at the end of the runs of FRESH, the smallest first. begun: "ends" at random, "held" with a hand's arrows."""
    return sorted(stored()[begun].values())


@cache
def level(name: str) -> tuple[Floats, Floats]:
    """Tokens [T, 2] of a level, cluster after cluster, and what should come out for each, [T, 2]."""
    part = stored()["levels"][name]
    return np.array(part["dots"]), np.array(part["targets"])


def assign(router: Floats, dots: Floats) -> NDArray[np.intp]:
    """The expert that a router [2, E] sends each token to: [T]."""
    goes: NDArray[np.intp] = (dots @ router).argmax(-1)
    return goes


def error(dots: Floats, targets: Floats, goes: NDArray[np.intp]) -> float:
    """What is left when each expert is fitted to its tokens, as a share of what a single expert leaves."""
    return _left(dots, targets, goes) / _left(dots, targets, np.zeros_like(goes))


def _left(dots: Floats, targets: Floats, goes: NDArray[np.intp]) -> float:
    total = 0.0
    for expert in np.unique(goes):
        mine = goes == expert
        with_one = np.column_stack([dots[mine], np.ones(mine.sum())])
        solution = np.linalg.lstsq(with_one, targets[mine], rcond=None)[0]
        total += float(((with_one @ solution - targets[mine]) ** 2).sum())
    return total
