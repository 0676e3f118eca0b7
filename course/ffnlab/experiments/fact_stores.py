"""Notebook 06: how many facts fit into an FFN of each width, and the weights of one store that its figures look into.

`python -m ffnlab.experiments.fact_stores` trains 281 small FFNs and writes fact_stores.json beside this file: some minutes of one CPU core.
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
FACTS, WIDTHS, SEEDS = (64, 128, 256, 512, 1024, 2048, 4096), (4, 8, 16, 32, 64, 128, 256), (0, 1, 2, 3, 4)
LIMIT_WIDTH, LIMIT_FACTS = 32, (576, 640, 704, 768, 896)  # where a width stops knowing all
LONG_WIDTH, LONG_FACTS, LONG_STEPS = 16, (512, 1024), 8000  # whether more steps help where there are too many facts
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


def learned(given: Facts, width: int, seed: int, steps: int = STEPS) -> tuple[Store, float]:
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
    for _ in range(steps):
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


def limit(count: int) -> list[float]:
    """The shares of `count` facts, one of LIMIT_FACTS, that FFNs of width LIMIT_WIDTH know."""
    shares: list[float] = stored()["limit"][str(count)]
    return shares


def longer(count: int) -> list[float]:
    """The shares of `count` facts, one of LONG_FACTS, that FFNs of width LONG_WIDTH know after LONG_STEPS."""
    shares: list[float] = stored()["longer"][str(count)]
    return shares


def bits_per_weight(count: int, width: int, share: float) -> float:
    """Bits of the facts known, log₂ of the number of answers each, for each weight of the two matrices."""
    return share * count * math.log2(ANSWERS) / (2 * D_MODEL * width)


@cache
def store() -> tuple[Facts, Store]:
    """The facts and weights that the figures look into."""
    weights = Store(*(torch.tensor(stored()["store"][name]) for name in Store._fields))
    return facts(STORE_FACTS, 0), weights


def run() -> None:
    torch.set_num_threads(1)

    def known(count: int, width: int, steps: int = STEPS) -> list[float]:
        shares = [round(learned(facts(count, seed), width, seed, steps)[1], 3) for seed in SEEDS]
        print(count, width, steps, shares, flush=True)
        return shares

    table = {str(count): {str(width): known(count, width) for width in WIDTHS} for count in FACTS}
    edge = {str(count): known(count, LIMIT_WIDTH) for count in LIMIT_FACTS}
    long = {str(count): known(count, LONG_WIDTH, LONG_STEPS) for count in LONG_FACTS}
    weights, share = learned(facts(STORE_FACTS, 0), STORE_WIDTH, 0)
    print("the store knows", share)
    settings = {"d_model": D_MODEL, "answers": ANSWERS, "steps": STEPS, "lr": LEARNING_RATE, "seeds": SEEDS}
    rounded = {name: np.round(t.double().numpy(), 3).tolist() for name, t in zip(Store._fields, weights, strict=True)}
    found = {"settings": settings, "accuracy": table, "limit": edge, "longer": long, "store": rounded}
    STORED.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
