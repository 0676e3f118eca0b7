"""E8, for notebook 10: one block with no FFN, a ReLU FFN, SwiGLU or a mixture learns random pairs by heart."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")
D_MODEL, N_HEADS, STEPS, WORDS = 16, 4, 300, (40, 24)
CHOSEN_ON, SEEDS = tuple(range(5)), tuple(range(5, 20))  # the comparison was chosen on the first; the others are stored
# What is compared: blocks, and the feed-forward part with its width. About 2,030 parameters in it where it is to be equal.
MODELS: dict[str, tuple[int, str, int]] = {
    "none": (1, "none", 0),
    "none, 3 blocks": (3, "none", 0),
    "relu": (1, "relu", 61),
    "swiglu": (1, "swiglu", 42),
    "moe, equal total": (1, "moe", 10),
    "moe, equal active": (1, "moe", 21),
}


def table() -> str:
    """What the models cost and how many of 1,600 pairs they know, as a table of Markdown."""
    lines = ["| | total | active | FLOPs | pairs known |", "|---|--:|--:|--:|--:|"]
    for name, count in stored()["counts"].items():
        shares = [100 * share for share in stored()["runs"][name][str(WORDS[0])]["accuracy"]]
        known = f"{statistics.fmean(shares):.1f} % ± {statistics.stdev(shares):.1f}"
        lines.append(f"| {name} | {count['total']:,} | {count['active']:,} | {count['flops']:,} | {known} |")
    return "\n".join(lines)


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)
