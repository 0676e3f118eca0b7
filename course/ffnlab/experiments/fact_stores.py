"""Notebook 06: how many facts fit into an FFN of each width, and the weights of one store that its figures look into.

`python -m ffnlab.experiments.fact_stores` trains 91 small FFNs and writes fact_stores.json beside this file: about 30 seconds of one CPU core.
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

from ffnlab.experiments import read

STORED = Path(__file__).with_suffix(".json")
D_MODEL, ANSWERS, STEPS, LEARNING_RATE = 32, 64, 400, 0.01
FACTS, WIDTHS, SEEDS = (64, 128, 256, 512, 1024), (4, 8, 16, 32, 64, 128), (0, 1, 2)
STORE_FACTS, STORE_WIDTH = 512, 128


class Facts(NamedTuple):
    """Questions E [N, d], possible answers U [C, d], and the right answer y [N] to each question, all random."""

    E: torch.Tensor
    U: torch.Tensor
    y: torch.Tensor


class Store(NamedTuple):
    """One trained FFN: keys and values [f, d], b1 [f], b2 [d]; and where its keys and b1 started from."""

    keys: torch.Tensor
    b1: torch.Tensor
    values: torch.Tensor
    b2: torch.Tensor
    first_keys: torch.Tensor
    first_b1: torch.Tensor


def facts(count: int, seed: int) -> Facts:
    """The same facts on every machine."""
    rng = np.random.RandomState([6, count, seed])
    E, U = (torch.from_numpy(rng.standard_normal((n, D_MODEL))).float() for n in (count, ANSWERS))
    return Facts(E, U, torch.from_numpy(rng.randint(0, ANSWERS, count)).long())


def learned(given: Facts, width: int, seed: int) -> tuple[Store, float]:
    """A store of the given width, trained on all facts at once with Adam, and the share of the facts that it knows."""
    chance = torch.Generator().manual_seed(seed)

    def start(fan_in: int, *shape: int) -> torch.Tensor:
        bound = 1 / math.sqrt(fan_in)
        return ((2 * torch.rand(*shape, generator=chance) - 1) * bound).requires_grad_()

    keys, b1 = start(D_MODEL, width, D_MODEL), start(D_MODEL, width)
    values, b2 = start(width, width, D_MODEL), start(width, D_MODEL)
    first = keys.detach().clone(), b1.detach().clone()

    def logits() -> torch.Tensor:
        return (given.E + torch.relu(given.E @ keys.T + b1) @ values + b2) @ given.U.T

    adam = torch.optim.Adam([keys, b1, values, b2], lr=LEARNING_RATE)
    for _ in range(STEPS):
        adam.zero_grad()
        F.cross_entropy(logits(), given.y).backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        known = float((logits().argmax(1) == given.y).float().mean())
    return Store(keys.detach(), b1.detach(), values.detach(), b2.detach(), *first), known


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)


def accuracy(count: int, width: int) -> list[float]:
    """The shares of `count` facts that FFNs of one width know, one for each seed."""
    shares: list[float] = stored()["accuracy"][str(count)][str(width)]
    return shares


@cache
def store() -> tuple[Facts, Store]:
    """The facts and weights that the figures look into."""
    weights = Store(*(torch.tensor(stored()["store"][name]) for name in Store._fields))
    return facts(STORE_FACTS, 0), weights


def run() -> None:
    torch.set_num_threads(1)
    table: dict[str, dict[str, list[float]]] = {}
    for count in FACTS:
        row = table[str(count)] = {}
        for width in WIDTHS:
            row[str(width)] = [round(learned(facts(count, seed), width, seed)[1], 3) for seed in SEEDS]
            print(count, width, row[str(width)], flush=True)
    weights, known = learned(facts(STORE_FACTS, 0), STORE_WIDTH, 0)
    print("the store knows", known)
    settings = {"d_model": D_MODEL, "answers": ANSWERS, "steps": STEPS, "lr": LEARNING_RATE, "seeds": SEEDS}
    rounded = {name: np.round(t.double().numpy(), 3).tolist() for name, t in zip(Store._fields, weights, strict=True)}
    text = json.dumps({"settings": settings, "accuracy": table, "store": rounded}, separators=(",", ":"))
    STORED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
