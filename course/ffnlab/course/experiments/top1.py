"""The runs of notebook 08 with one expert for each token: what a gate that is divided by itself costs. The maker is `cells`."""

from __future__ import annotations

from pathlib import Path

from ffnlab.course.experiments import read

STORED = Path(__file__).with_name("cells.json")
KINDS = ("renormalised", "as it is")  # the gate: p / p, and p


def errors(kind: str) -> list[float]:
    """The errors of fifteen runs, seed by seed, the same seeds for both kinds."""
    stored: list[float] = read(STORED)["top-1"][kind]["error"]
    return stored
