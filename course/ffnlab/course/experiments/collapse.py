"""Notebook 04's tokens that become one: random stacks of attention, with skips, FFNs and norms around it, up to 96 layers deep.

The last run of this module is stored: the dots of one stack, and how far the tokens of twenty others are apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")

DEPTHS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)  # the layers after which the tokens are measured
TOKENS = 14
DOTS_SEED = 0  # the seed of the stack whose dots are kept
LEAST = 1e-15  # in double precision, a smaller r is rounding
FRESH = range(5, 25)  # those that all statements come from; 0 to 4 were looked at before


class StackSetting(NamedTuple):
    """What a layer has beside attention."""

    skip: bool = False
    ffn: bool = False
    norm: bool = False  # before attention and before the FFN (pre-norm)
    # The FFN's output, or without an FFN the input itself, is made so many times as long as the input, token by token; None: it stays as it is.
    length: float | None = None
    relu: bool = True  # whether the FFN has its activation
    only_length: bool = False  # no FFN, but its input made as long as its output would be
    # The FFN without its activation, which is one matrix; its output is made as long as it would be with it.
    straight: bool = False
    post: bool = False  # a norm after each sum (post-norm)


SETTINGS = {
    "attention": StackSetting(),
    "ffn": StackSetting(ffn=True),
    "ffn, same length": StackSetting(ffn=True, length=1.0),
    "ffn, four times": StackSetting(ffn=True, length=4.0),
    "no relu, same length": StackSetting(ffn=True, length=1.0, relu=False),
    "only its length": StackSetting(only_length=True),
    "no ffn, four times": StackSetting(length=4.0),
    "skip": StackSetting(skip=True),
    "all": StackSetting(skip=True, ffn=True, norm=True),
    "skip, norm": StackSetting(skip=True, norm=True),
    "skip, norm, matrix": StackSetting(skip=True, norm=True, straight=True),
    "skip, post-norm": StackSetting(skip=True, post=True),
}

# What the runs are called in a table.
WITHOUT_SKIP = {
    "attention": "attention alone",
    "ffn": "with an FFN",
    "only its length": "no FFN, vectors cut to the FFN's length",
    "ffn, same length": "FFN, output as long as its input",
    "no relu, same length": "the same without its ReLU",
    "ffn, four times": "FFN, output four times as long",
    "no ffn, four times": "no FFN, vectors four times as long",
}
WITH_SKIP = {
    "skip": "attention with a residual connection",
    "skip, norm": "the same with pre-norm",
    "all": "the same with pre-norm and an FFN",
    "skip, norm, matrix": "a plain matrix for the FFN, at its length",
    "skip, post-norm": "residual connection and post-norm",
}
# What the notebook's table shows of the runs.
IN_TEXT = {
    name: (WITHOUT_SKIP | WITH_SKIP)[name]
    for name in ("attention", "ffn", "ffn, four times", "skip", "skip, norm", "all")
}


def stored(name: str) -> dict[str, Any]:
    """Of a setting: "residuals", r(X) at DEPTHS for each seed of FRESH; "shown", the same of DOTS_SEED; "dots" [14][14][2] of DOTS_SEED at DEPTHS."""
    results: dict[str, Any] = read(STORED)[name]
    return results


def residuals(name: str, depth: int) -> list[float]:
    """r(X) after `depth` layers, by seed of FRESH."""
    stop = DEPTHS.index(depth)
    return [run[stop] for run in stored(name)["residuals"]]


def typical(name: str, depth: int) -> float:
    """The geometric mean of `residuals`."""
    return float(np.exp(fmean(np.log(residuals(name, depth)))))


def lower(first: str, second: str, depth: int) -> int:
    """In how many of the stacks the tokens are nearer together with the first setting than with the second."""
    return sum(a < b for a, b in zip(residuals(first, depth), residuals(second, depth), strict=True))


def table(rows: Mapping[str, str], depths: Sequence[int]) -> str:
    """The typical r of settings after some numbers of layers, as a table in Markdown. rows: what each setting is called, by its name."""
    head = ["typical r after", *(f"{depth} layers" for depth in depths)]
    body = [[words, *(format_residual(typical(name, depth)) for depth in depths)] for name, words in rows.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body))


def format_residual(r: float) -> str:
    """r for people, in two digits, such as 0.12 or 1.6·10⁻⁶; what is rounding alone as an upper bound."""
    if r < LEAST:
        return "below 10⁻¹⁵"
    if r >= 0.01:
        return f"{r:.2g}"
    digit, power = f"{r:.1e}".split("e-")
    return f"{digit}·10⁻{str(int(power)).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
