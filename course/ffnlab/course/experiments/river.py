"""Notebook 09's river: a mixture of eight experts learns, with or without a head start for one, and a cure can begin in the middle of the run.

Tokens are points of a plane, so the router's regions are drawn as they are. One run is stored with all its branches, step by step: the router and
the error. Which expert gets a token, and the load, follow from the router. For sixteen other seeds numbers are stored, which is what texts speak of
and what the board's small strokes show.

Precision: a router is stored as its difference from the last expert's column, and scaled so that its largest number is 1, as neither changes which
expert is the first; in 1/32,000. Tokens are stored in 1/8,000, the error in 1/10,000. `about` says how many tokens the rounding sends elsewhere.
"""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ffnlab.course.experiments import read
from ffnlab.course.experiments.balance import Cure

STORED = Path(__file__).with_suffix(".json")

N_EXPERTS = 8  # as many as clusters
HEAD_STARTS = (0, 3)  # nothing planted; planted, so that expert 0 has every token before training
ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # weights of the balance loss
CURES = {"none": Cure(), **{f"loss {alpha:g}": Cure(alpha=alpha) for alpha in ALPHAS}, "bias": Cure(u=0.03)}
WHENS = (60, 1200)  # steps at which a cure can begin
STEPS = (*range(0, 240, 6), *range(240, 3001, 120))  # at which a run is looked at
STORED_SEED = 0  # the seed of the run that is stored step by step; the recipe was chosen on seeds 0 to 4
FRESH = tuple(range(101, 117))  # seeds that no choice was made on
WORKING = 0.05  # the share of the tokens from which on an expert counts as working
LOOKS = (240, 3000)  # steps of which the numbers of FRESH are stored
ROUTER_UNIT, TOKEN_UNIT, ERROR_UNIT = 1 / 32_000, 1 / 8000, 1 / 10_000


class Branch(NamedTuple):
    """A course of training: a cure, and the step at which it begins."""

    cure: str = "none"
    when: int = 0

    def key(self) -> str:
        return f"{self.cure} {self.when}" if self.when else self.cure


PLAIN = Branch()
BRANCHES = (PLAIN, *(Branch(cure, when) for cure in CURES if cure != "none" for when in WHENS))
TOLD = (PLAIN, *(branch for branch in BRANCHES if branch.when == WHENS[0]))  # those that the other seeds are run with


def pack(values: NDArray[np.float64], unit: float, kind: str) -> str:
    """Numbers as multiples of a unit: little-endian integers of 16 bits in base64. kind: "<i2" or "<u2"."""
    whole = np.rint(values / unit)
    limits = np.iinfo(np.dtype(kind))
    if whole.min() < limits.min or whole.max() > limits.max:
        raise ValueError(f"{values.min():g} to {values.max():g} does not fit {kind} at {unit:g}")
    return base64.b64encode(whole.astype(kind).tobytes()).decode()


def unpack(text: str, unit: float, kind: str) -> NDArray[np.float64]:
    """The numbers of `pack`."""
    return np.frombuffer(base64.b64decode(text), dtype=kind) * unit


def after(branch: Branch) -> list[int]:
    """The places in STEPS that are stored for a branch: those after its cure has begun. Before that it is the run without a cure."""
    return [n for n, step in enumerate(STEPS) if step > branch.when or not branch.when]


class Run(NamedTuple):
    """One branch of the shown run at all STEPS. routers [steps, 3, E]: the weights of x and y, and the biases, up to a
    factor; the last expert's are 0.
    loads [steps, E]: the share of the tokens that each expert gets. errors [steps]: mean squared errors on the same tokens."""

    routers: NDArray[np.float64]
    loads: NDArray[np.float64]
    errors: NDArray[np.float64]


def stored() -> dict[str, Any]:
    """What the last run of the maker wrote: {"about": …, "tokens": …, "runs": {head start: {"routers": …, "errors": …}}, "others": {head start: {branch:
    a row for each of FRESH}}}."""
    return read(STORED)


@cache
def tokens() -> NDArray[np.float64]:
    """New tokens [T, 2], on which all is measured; training has not seen them."""
    return unpack(stored()["tokens"], TOKEN_UNIT, "<i2").reshape(-1, 2)


def assign(router: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.intp]:
    """The expert that a router sends each point to."""
    goes: NDArray[np.intp] = (points @ router[:2] + router[2]).argmax(-1)
    return goes


@cache
def runs(head_start: int) -> dict[Branch, Run]:
    """The branches of the shown run with a head start."""
    part = stored()["runs"][str(head_start)]
    columns = unpack(part["routers"], ROUTER_UNIT, "<i2").reshape(-1, 3, N_EXPERTS - 1)
    routers = np.concatenate([columns, np.zeros((len(columns), 3, 1))], axis=2)
    errors = unpack(part["errors"], ERROR_UNIT, "<u2")
    branches: dict[Branch, Run] = {}
    begin = 0
    for branch in BRANCHES:
        length = len(after(branch))
        own = slice(begin, begin + length)
        begin += length
        whole = [routers[own], errors[own]]
        if branch.when:
            before = len(STEPS) - length
            plain = branches[PLAIN]
            whole = [
                np.concatenate([plain.routers[:before], whole[0]]),
                np.concatenate([plain.errors[:before], whole[1]]),
            ]
        loads = [np.bincount(assign(router, tokens()), minlength=N_EXPERTS) / len(tokens()) for router in whole[0]]
        branches[branch] = Run(whole[0], np.stack(loads), whole[1])
    return branches


def effective(load: NDArray[np.float64]) -> float:
    """How many experts an uneven load amounts to: the exponential of its entropy, 8 where all get the same, 1 where one gets all."""
    some = load[load > 0]
    return float(np.exp(-(some * np.log(some)).sum()))


def others(head_start: int, branch: Branch) -> list[dict[str, Any]]:
    """What came of one of TOLD in the runs of FRESH, seed by seed."""
    rows: list[dict[str, Any]] = stored()["others"][str(head_start)][branch.key()]
    return rows
