"""Notebook 03: into how many polygons the hinges of a ReLU layer cut the plane, before and after it has learned a ring.

`python -m ffnlab.course.experiments.polygons` trains three small networks and writes polygons.json beside this file: some seconds of one CPU core.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")
WINDOW = 2.0  # what is looked at: both inputs from -2 to 2
UNITS, STEPS, STORED_SEED = (4, 8, 16), (0, 10, 30, 100, 1000), 2
COUNT, LEARNING_RATE = 128, 0.02

Point = tuple[float, float]


class TwoInputNetwork(NamedTuple):
    """A network of two inputs and one output: W1 [2, n], b1 [n], W2 [n], b2. Its unit j bends where x·W1[:, j] + b1[j] = 0."""

    W1: torch.Tensor
    b1: torch.Tensor
    W2: torch.Tensor
    b2: torch.Tensor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:  # [N, 2] -> [N]
        return torch.relu(x @ self.W1 + self.b1) @ self.W2 + self.b2


def ring(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points x [COUNT, 2], half of them in a disc, half in a ring around it, and y [COUNT]: 1 in the disc, -1 in the ring."""
    rng = np.random.RandomState([3, 0, seed])
    inside = np.arange(COUNT) % 2 == 0
    share, angle = rng.uniform(size=COUNT), 2 * math.pi * rng.uniform(size=COUNT)
    radius = np.where(inside, 0.7 * np.sqrt(share), np.sqrt(1.1**2 + (1.6**2 - 1.1**2) * share))
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return torch.from_numpy(x).float(), torch.from_numpy(np.where(inside, 1.0, -1.0)).float()


def train(units: int, seed: int, steps: int = STEPS[-1]) -> dict[int, TwoInputNetwork]:
    """A network at each of STEPS up to `steps`: random at first, then trained with Adam on all points of a ring."""
    rng = np.random.RandomState([3, units, seed])
    start = rng.standard_normal((2, units)), rng.standard_normal(units), rng.standard_normal(units) / math.sqrt(units)
    layer = TwoInputNetwork(*(torch.from_numpy(part).float().requires_grad_() for part in (*start, np.zeros(()))))
    x, y = ring(seed)
    adam = torch.optim.Adam([*layer], lr=LEARNING_RATE)
    networks = {}
    for step in range(steps + 1):
        if step in STEPS:
            networks[step] = TwoInputNetwork(*(part.detach().clone() for part in layer))
        adam.zero_grad()
        F.softplus(-y * layer(x)).mean().backward()  # type: ignore[no-untyped-call]
        adam.step()
    return networks


def right(layer: TwoInputNetwork, seed: int) -> float:
    """The share of a ring's points on whose side of 0 the network is."""
    x, y = ring(seed)
    return float((layer(x.to(layer.W1.dtype)) * y > 0).float().mean())


def at_most(lines: int) -> int:
    """Into how many polygons so many lines can cut the plane."""
    return 1 + lines + lines * (lines - 1) // 2


def affine(layer: TwoInputNetwork, point: Point) -> tuple[float, float, float]:
    """The weights of x₁ and x₂, and the constant, of the affine map that the network is around a point."""
    fires = torch.tensor([point], dtype=layer.W1.dtype) @ layer.W1 + layer.b1 > 0
    output_weights = layer.W2 * fires[0]
    across, upright = (layer.W1 @ output_weights).tolist()
    return across, upright, float(layer.b1 @ output_weights + layer.b2)


def cut(layer: TwoInputNetwork) -> list[list[Point]]:
    """The polygons of the window, each by its corners: one line after the other cuts those that it meets in two."""
    polygons: list[list[Point]] = [[(-WINDOW, -WINDOW), (WINDOW, -WINDOW), (WINDOW, WINDOW), (-WINDOW, WINDOW)]]
    for (across, upright), b in zip(layer.W1.T.tolist(), layer.b1.tolist(), strict=True):
        polygons = [half for corners in polygons for half in halves(corners, across, upright, b)]
    return polygons


def halves(corners: list[Point], across: float, upright: float, b: float) -> list[list[Point]]:
    """What the line x₁·across + x₂·upright + b = 0 leaves of a convex polygon on its two sides: one part, or two."""
    sides = [across * x + upright * y + b for x, y in corners]
    if min(sides) >= 0 or max(sides) <= 0:
        return [corners]
    above: list[Point] = []
    below: list[Point] = []
    for n, (corner, side) in enumerate(zip(corners, sides, strict=True)):
        before, earlier = corners[n - 1], sides[n - 1]
        if side * earlier < 0:
            share = side / (side - earlier)
            crossing = corner[0] + share * (before[0] - corner[0]), corner[1] + share * (before[1] - corner[1])
            above.append(crossing)
            below.append(crossing)
        if side >= 0:
            above.append(corner)
        if side <= 0:
            below.append(corner)
    return [above, below]


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)


@cache
def layer(units: int, step: int) -> TwoInputNetwork:
    """One of the stored networks, those of seed STORED_SEED."""
    record = stored()["layers"][str(units)][str(step)]
    return TwoInputNetwork(*(torch.tensor(record[name], dtype=torch.float64) for name in TwoInputNetwork._fields))


def run() -> None:
    torch.set_num_threads(1)
    layers = {
        str(units): {
            str(step): {name: np.round(part.double().numpy(), 4).tolist() for name, part in network._asdict().items()}
            for step, network in train(units, STORED_SEED).items()
        }
        for units in UNITS
    }  # fmt: skip
    settings = {"points": COUNT, "steps": STEPS, "lr": LEARNING_RATE, "seed": STORED_SEED, "window": WINDOW}
    STORED.write_text(
        json.dumps({"settings": settings, "layers": layers}, separators=(",", ":")) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    run()
