"""Notebook 06: FFNs that store facts, how full they can be, what a fact rests on, and the weights of the stores that are looked into."""

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
FAST_RATE = 0.03  # of the recipe that divides scores by √d_model
FACTS, WIDTHS = (64, 128, 256, 512, 1024, 2048, 4096), (4, 8, 16, 32, 64, 128, 256)
SEEDS = (0, 1, 2, 3, 4)  # of the table and the stores that are looked into
FRESH = tuple(range(5, 20))  # those that all statements come from
CROWDED_FACTS, CROWDED_WIDTH = 384, 16  # what the plain recipe does not store and the scaled one does
LONG_FACTS, LONG_WIDTH, LONG_STEPS = 768, 32, 2000  # what the scaled recipe stores in a longer run
STORE_FACTS, STORE_WIDTH = 512, 128
FULL = (64, 128, 256, 512, 1024, 2048)  # facts in stores of STORE_WIDTH neurons
OUT = (1, 2, 4, 8)  # how many neurons are taken out of a store of STORE_FACTS facts
CHOICE, MOST_OUT = 10, 4  # a fact's strongest neurons, and how many of them a choice takes out at the most
WIDE_CHOICE = 24  # of the wide search: as many of a fact's strongest neurons


class Facts(NamedTuple):
    """Questions E [N, d], possible answers U [C, d], and the right answer y [N] to each question, all random."""

    E: torch.Tensor
    U: torch.Tensor
    y: torch.Tensor


class Store(NamedTuple):
    """The weights of one trained FFN: keys and values [f, d], b1 [f], b2 [d]."""

    keys: torch.Tensor
    b1: torch.Tensor
    values: torch.Tensor
    b2: torch.Tensor


def facts(count: int, seed: int) -> Facts:
    """The same facts on every machine."""
    rng = np.random.RandomState([6, count, seed])
    E, U = (torch.from_numpy(rng.standard_normal((n, D_MODEL))).float() for n in (count, ANSWERS))
    return Facts(E, U, torch.from_numpy(rng.randint(0, ANSWERS, count)).long())


def stored() -> dict[str, Any]:
    """What the last run of `autograder.authoring.experiments.fact_stores` wrote."""
    return read(STORED)


def accuracy(count: int, width: int) -> list[float]:
    """The shares of `count` facts that FFNs of one width know after STEPS of the scaled recipe, one for each of SEEDS."""
    shares: list[float] = stored()["accuracy"][str(count)][str(width)]
    return shares


def crowded(recipe: str) -> list[float]:
    """The shares of the facts that are known, one for each of FRESH.

    recipe: "plain" and "scaled" are CROWDED_FACTS in CROWDED_WIDTH neurons after STEPS, "long" is LONG_FACTS in LONG_WIDTH after LONG_STEPS.
    """
    shares: list[float] = stored()["crowded"][recipe]
    return shares


def bits_per_weight(count: int, width: int, share: float) -> float:
    """Bits of the facts known, log₂ of the number of answers each, for each weight of the two matrices."""
    return share * count * math.log2(ANSWERS) / (2 * D_MODEL * width)


def full(count: int) -> dict[str, list[float]]:
    """Of stores of `count` facts in STORE_WIDTH neurons, one number for each of FRESH.

    known: the share of the facts. lost: the share that is lost without its strongest neuron. carriers: as many equal neurons would carry a fact as
    widely, the participation ratio (Σc)² / Σc² of what the neurons that help it add to its answer's score, on average. lead: of the right answer
    over the best other one, the median.
    """
    results: dict[str, list[float]] = stored()["full"][str(count)]
    return results


def read_knockouts() -> dict[str, Any]:
    """Of stores of STORE_FACTS facts in STORE_WIDTH neurons, one number for each of FRESH, by number of neurons, as shares.

    lost: of facts without so many of their strongest neurons. others: of the other facts without these. chance: of facts without random neurons that
    fire for them.
    """
    results: dict[str, Any] = stored()["knocked"]
    return results


def read_alone() -> dict[str, list[float]]:
    """Of every eighth fact of such stores, one number for each of FRESH.

    alone, nearly: how many of the 64 can be deleted by at most MOST_OUT of their CHOICE strongest neurons so that no other fact is lost, or at most one.
    wide: how many by at most MOST_OUT of their WIDE_CHOICE strongest, and no other fact is lost. clean: for how many it is so when neurons go strongest
    first. others: how many others that takes on average.
    """
    results: dict[str, list[float]] = stored()["alone"]
    return results


def told_alone(which: str) -> str:
    """The smallest and the largest of these numbers of people, as the notebook says it."""
    numbers = read_alone()[which]
    return f"{min(numbers):.0f} to {max(numbers):.0f}"


def stores() -> list[tuple[Facts, dict[str, torch.Tensor]]]:
    """The facts and weights of five stores of STORE_FACTS facts in STORE_WIDTH neurons, one for each seed, as a `state_dict` of two linear layers."""
    return [(facts(STORE_FACTS, seed), _state(str(seed))) for seed in SEEDS]


def filled(count: int) -> tuple[Facts, Store]:
    """A store of `count` facts, one of FULL, in STORE_WIDTH neurons."""
    state = _state(f"full {count}")
    return facts(count, 0), Store(
        state["linear1.weight"], state["linear1.bias"], state["linear2.weight"].T, state["linear2.bias"]
    )


def _state(name: str) -> dict[str, torch.Tensor]:
    parts = load_file(WEIGHTS).items()
    return {key.removeprefix(f"{name}."): part.float() for key, part in parts if key.startswith(f"{name}.")}


@cache
def store() -> tuple[Facts, Store]:
    """The facts and weights that figures and boards look into."""
    weights = Store(*(torch.tensor(stored()["store"][name]) for name in Store._fields))
    return facts(STORE_FACTS, 0), weights
