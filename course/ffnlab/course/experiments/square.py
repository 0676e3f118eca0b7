"""Notebook 03: how near trained networks come to x².

`python -m ffnlab.course.experiments.square` trains 45 small networks and writes square.json beside this file: some seconds of one CPU core.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ffnlab.course.experiments import read
from ffnlab.course.progress_bar import bar

STORED = Path(__file__).with_suffix(".json")
NEURONS, STEPS, LEARNING_RATE = (2, 8, 32), 3000, 0.01
# Seeds: the recipe was chosen on five runs of the first, and nothing on those of the second.
RECIPE_SEED, FRESH, FRESH_RUNS = 0, 1, 15


class Errors(NamedTuple):
    """How far a network is from x² at the points of training. Training makes the mean square small, not the largest error."""

    largest: float
    root_mean_square: float


def points() -> torch.Tensor:
    """The points of training [129, 1]."""
    return torch.linspace(-1, 1, 129)[:, None]


def train(neurons: int, seed: int = RECIPE_SEED, runs: int = 5, steps: int = STEPS, label: str = "") -> list[Errors]:
    """The errors of `runs` networks after training with Adam on the mean square error, side by side from random starts.

    label: of the progress bar; without it there is none.
    """
    g = torch.Generator().manual_seed(seed)
    x = points()
    W1, b1 = torch.randn(runs, 1, neurons, generator=g), torch.randn(runs, 1, neurons, generator=g)
    W2 = torch.randn(runs, neurons, 1, generator=g) / neurons**0.5
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
    left = error().detach()
    largest = left.abs().amax((1, 2)).tolist()
    root_mean_squares = left.square().mean((1, 2)).sqrt().tolist()
    return list(map(Errors, largest, root_mean_squares))


def stored() -> dict[str, Any]:
    """What the last run of this module wrote: by the number of neurons, both errors of each fresh run."""
    return read(STORED)


def run() -> None:
    torch.set_num_threads(1)
    errors = {
        str(neurons): [
            {name: round(error, 5) for name, error in run._asdict().items()}
            for run in train(neurons, FRESH, FRESH_RUNS)
        ]
        for neurons in NEURONS
    }
    STORED.write_text(json.dumps({"steps": STEPS, "runs": errors}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
