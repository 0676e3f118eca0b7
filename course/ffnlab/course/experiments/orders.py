"""Notebook 10: one block with a ReLU FFN reads the little world from eight drawings of its weights, each in eight orders of the sentences.

What `creek` stores varies both at once. Here one of the two is held still while the other changes. Sixteen of the runs were made a second time with one weight
moved by a millionth: in each row that of the diagonal, and its left neighbour.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ffnlab.course.experiments import creek, read

STORED = Path(__file__).with_suffix(".json")
SEEDS = creek.SEEDS[:8]  # of the weights, and again of the order; no recipe was chosen on them
NAME = "relu"  # of creek.MODELS
NUDGE = 1e-6  # by which one weight is moved in the runs that are made a second time


def stored() -> dict[str, Any]:
    """What the last run of `autograder.authoring.experiments.orders` wrote."""
    return read(STORED)


def shares() -> list[list[float]]:
    """In which share of the new scenes over or into is right: a row for each drawing of the weights, a column for each order."""
    way: list[list[float]] = stored()["way"]
    return way


def nudged() -> list[tuple[float, float]]:
    """The shares of the runs that were made a second time: as in the square, and with one weight moved."""
    way = shares()
    again = stored()["nudged"]
    return [(way[n][(n - step) % len(way)], row[step]) for n, row in enumerate(again) for step in (0, 1)]
