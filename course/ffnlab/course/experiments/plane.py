"""Notebook 08's picture of experts becoming experts: tokens that are points of a plane, six clusters, six experts, top-1 routing.

Six runs are stored: the router at some steps, so that a figure can draw who gets which part of the plane, and which expert each cluster's
tokens go to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")

N_EXPERTS = 6  # as many as clusters
SEEDS = (0, 1, 2, 3, 4, 5)
LOOKS = (0, 10, 25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 650, 800, 1000)  # steps at which a run is looked at
POINTS_PER_CLUSTER = 16  # tokens of each cluster that are drawn


def own(table: Sequence[Sequence[int]]) -> int:
    """How many clusters have an expert of their own, for a table in percent of a cluster: it gets nine tenths of their tokens, and less
    than a tenth of any other's."""
    best = [row.index(max(row)) for row in table]
    return sum(
        row[e] >= 90 and all(other[e] < 10 for other in table if other is not row)
        for row, e in zip(table, best, strict=True)
    )


def count_experts(table: Sequence[Sequence[int]]) -> int:
    """How many experts get a tenth of a cluster's tokens, or more."""
    return sum(max(column) >= 10 for column in zip(*table, strict=True))


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)
