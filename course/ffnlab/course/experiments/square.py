"""Notebook 03: how near trained networks come to x².

`python -m ffnlab.course.experiments.square` trains 45 small networks and writes square.json beside this file: some seconds of one CPU core.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from ffnlab.course.experiments import read
from ffnlab.course.progress_bar import bar

STORED = Path(__file__).with_suffix(".json")
UNITS, STEPS, LEARNING_RATE = (2, 8, 32), 3000, 0.01
RECIPE_SEED, FRESH, FRESH_RUNS = (
    0,
    1,
    15,
)  # seeds: the recipe was chosen on five runs of the first, and nothing on those of the second


def train(units: int, seed: int = RECIPE_SEED, runs: int = 5, steps: int = STEPS, label: str = "") -> list[float]:
    """The largest error on [-1, 1] of `runs` networks after training with Adam on 129 points of x², side by side from random starts.

    label: of the progress bar; without it there is none.
    """
    g = torch.Generator().manual_seed(seed)
    x = torch.linspace(-1, 1, 129)[:, None]
    W1, b1 = torch.randn(runs, 1, units, generator=g), torch.randn(runs, 1, units, generator=g)
    W2 = torch.randn(runs, units, 1, generator=g) / units**0.5
    b2 = torch.zeros(runs, 1, 1)
    parameters = [part.requires_grad_() for part in (W1, b1, W2, b2)]
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE)

    def error() -> torch.Tensor:
        difference: torch.Tensor = torch.relu(x @ W1 + b1) @ W2 + b2 - x**2  # [runs, 129, 1]
        return difference

    for _ in bar(steps, label) if label else range(steps):
        optimizer.zero_grad()
        error().square().mean((1, 2)).sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    largest: list[float] = error().detach().abs().amax((1, 2)).tolist()
    return largest


def stored() -> dict[str, Any]:
    """What the last run of this module wrote: by the number of units, the largest error of each fresh run."""
    return read(STORED)


def run() -> None:
    torch.set_num_threads(1)
    errors = {str(units): [round(error, 5) for error in train(units, FRESH, FRESH_RUNS)] for units in UNITS}
    STORED.write_text(json.dumps({"steps": STEPS, "runs": errors}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
