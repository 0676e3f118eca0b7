"""Notebook 06: how many facts fit into an FFN of each width, and the weights of the stores that it looks into."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")
WEIGHTS = Path(__file__).with_suffix(".safetensors")
D_MODEL, ANSWERS, STEPS, LEARNING_RATE = 32, 64, 400, 0.01
FACTS, WIDTHS = (64, 128, 256, 512, 1024, 2048, 4096), (4, 8, 16, 32, 64, 128, 256)
SEEDS = (0, 1, 2, 3, 4)  # of the table and the stores that are looked into
FRESH = tuple(range(5, 20))  # those that all statements come from
PER_NEURON = 16  # facts that a neuron is good for
LIMIT_WIDTH, LIMIT_FACTS = 32, (576, 640, 704, 768, 896)  # where a width stops knowing all
ROOM = {
    (64, 512): (4, 8, 16, 32),
    (128, 256): (4, 8, 16),
}  # facts and width of stores with room to spare: how many neurons are taken out
LONG_WIDTH, LONG_FACTS, LONG_STEPS = 16, 512, 8000  # whether more steps help where there are too many facts
OVERLOAD = (LONG_FACTS, 1024)  # too many facts for LONG_WIDTH
STORE_FACTS, STORE_WIDTH = 512, 128
OUT = (1, 2, 4, 8)  # how many neurons are taken out of such a store


class Facts(NamedTuple):
    """Questions E [N, d], possible answers U [C, d], and the right answer y [N] to each question, all random."""

    E: torch.Tensor
    U: torch.Tensor
    y: torch.Tensor


class TrainedStore(NamedTuple):
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


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)


def accuracy(count: int, width: int) -> list[float]:
    """The shares of `count` facts that FFNs of one width know, one for each of SEEDS."""
    shares: list[float] = stored()["accuracy"][str(count)][str(width)]
    return shares


def fresh(count: int, width: int) -> list[float]:
    """The same, one for each of FRESH: 16 facts for each neuron; LIMIT_FACTS with LIMIT_WIDTH; OVERLOAD with LONG_WIDTH."""
    shares: list[float] = stored()["fresh"][str(count)][str(width)]
    return shares


def longer() -> list[float]:
    """The shares of LONG_FACTS facts that FFNs of width LONG_WIDTH know after LONG_STEPS, one for each of FRESH."""
    shares: list[float] = stored()["longer"]
    return shares


def bits_per_weight(count: int, width: int, share: float) -> float:
    """Bits of the facts known, log₂ of the number of answers each, for each weight of the two matrices."""
    return share * count * math.log2(ANSWERS) / (2 * D_MODEL * width)


def room(count: int, width: int) -> dict[str, Any]:
    """Of stores with room to spare, one for each of FRESH: fires, the share of the facts for which a neuron fires; lost, by number, the
    share of the facts that are lost without so many of their strongest neurons."""
    results: dict[str, Any] = stored()["room"][f"{count} facts, {width} neurons"]
    return results


def read_knockouts() -> dict[str, Any]:
    """Of stores of STORE_FACTS facts in STORE_WIDTH neurons, one for each of FRESH. By number of neurons, as shares: lost, of facts without so many of
    their strongest neurons; others, of the other facts without these; most, without the neurons that fire most; chance, without random
    ones that fire. And fires, before and after: the share of neurons that do, for a fact. agree: on how many neurons two facts with the
    same answer do, and two others."""
    results: dict[str, Any] = stored()["knocked"]
    return results


def stores() -> list[tuple[Facts, dict[str, torch.Tensor]]]:
    """The facts and weights of five stores of STORE_FACTS facts in STORE_WIDTH neurons, one for each seed, as a `state_dict` of two linear layers."""
    weights = load_file(WEIGHTS)
    return [
        (
            facts(STORE_FACTS, seed),
            {
                name.removeprefix(f"{seed}."): part.float()
                for name, part in weights.items()
                if name.startswith(f"{seed}.")
            },
        )
        for seed in SEEDS
    ]


@cache
def store() -> tuple[Facts, TrainedStore]:
    """The facts and weights that the figures look into."""
    weights = TrainedStore(*(torch.tensor(stored()["store"][name]) for name in TrainedStore._fields))
    return facts(STORE_FACTS, 0), weights
