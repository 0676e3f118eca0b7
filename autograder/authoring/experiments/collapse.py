"""Notebook 01's tokens that become one: random stacks of attention, with and without skip, FFN and norm, up to 96 layers deep.

`python -m autograder.authoring.experiments.collapse` sends the tokens of five seeds through all of them and writes ffnlab's
experiments/collapse.json: some seconds of one CPU core.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ffnlab.course.experiments.collapse import DEPTH, DEPTHS, LAYERS, LENGTH, SEEDS, SETTINGS, STORED, Setting, name
from ffnlab.course.figures.shared import SEED

WIDTH, HEADS = 64, 4
Array = np.ndarray[Any, np.dtype[Any]]


def stacks(settings: list[Setting], depth: int, seed: int, precision: np.dtype[Any]) -> dict[Setting, list[Array]]:
    """The tokens [14, 64] before and after each layer, for several settings of the same random layers."""
    rng = np.random.default_rng([SEED, seed, 3])
    x = rng.standard_normal((LENGTH, WIDTH)).astype(precision)
    found = {setting: [x] for setting in settings}
    for _ in range(depth):
        square = [(rng.standard_normal((WIDTH, WIDTH)) / math.sqrt(WIDTH)).astype(precision) for _ in range(4)]
        into = (rng.standard_normal((WIDTH, 4 * WIDTH)) / math.sqrt(WIDTH)).astype(precision)
        back = (rng.standard_normal((4 * WIDTH, WIDTH)) / math.sqrt(4 * WIDTH)).astype(precision)
        for (skip, ffn, norm), stack in found.items():
            x = stack[-1]
            x = skip * x + _heads(_normed(x) if norm else x, *square)
            if ffn:
                x = skip * x + np.maximum((_normed(x) if norm else x) @ into, 0) @ back
            stack.append(x)
    return found


def seen(stack: list[Array]) -> list[Array]:
    """The tokens of each layer as dots [14, 2] around their mean, in the plane in which they differ most, as far from it as they are in all
    64 numbers: the root of the mean square is r(X). Each layer's plane is turned so that the dots move as little as they can.
    """
    found: list[Array] = []
    for x in stack:
        rest = x - x.mean(axis=0)
        u, s, _ = np.linalg.svd(rest, full_matrices=False)
        dots = u[:, :2] * s[:2]
        dots = dots * _residual(x) * math.sqrt(LENGTH) / (np.linalg.norm(dots) or 1)
        if found:
            left, _, right = np.linalg.svd(dots.T @ found[-1])
            dots = dots @ left @ right
        found.append(dots)
    return found


def cubed(layers: int = LAYERS, seed: int = 0) -> list[float]:
    """log₁₀ of the residuals of attention alone with one head of width 64, before and after each layer, far below what float64 can hold beside 1.

    Each token is written as what all share, m, plus a small rest e. What all queries have in common makes the weights a; what a
    token's own rest adds to its scores is a product of two rests, and it moves the weights by that little. They then weigh a third
    rest: the next rest is about the cube of this one. Computed with the rests alone, so that nothing is rounded away.
    """
    rng = np.random.default_rng([SEED, seed, 3])
    x = rng.standard_normal((LENGTH, WIDTH))
    shared, rest = x.mean(axis=0), x - x.mean(axis=0)
    found = [_logarithm(shared, rest)]
    for _ in range(layers):
        Wq, Wk, Wv, Wo = (rng.standard_normal((WIDTH, WIDTH)) / math.sqrt(WIDTH) for _ in range(4))
        rng.standard_normal((2, 4 * WIDTH, WIDTH))  # an FFN's, as in `residuals`
        keys = rest @ Wk / math.sqrt(WIDTH)
        weights = _softmax((keys @ (shared @ Wq))[None])[0]
        moved = np.expm1((rest @ Wq) @ keys.T)
        mean = moved @ weights
        change = weights * (moved - mean[:, None]) / (1 + mean[:, None])  # A minus `weights`, in every row
        shared, rest = (shared + weights @ rest) @ Wv @ Wo, change @ rest @ Wv @ Wo
        found.append(_logarithm(shared, rest))
    return found


def _logarithm(shared: Array, rest: Array) -> float:
    apart = rest - rest.mean(axis=0)
    size = float(np.abs(apart).max())
    return float(math.log10(size) + np.log10(np.linalg.norm(apart / size)) - np.log10(np.linalg.norm(shared + rest)))


def _residual(x: Array) -> float:
    return float(np.linalg.norm(x - x.mean(axis=0)) / np.linalg.norm(x))


def _normed(x: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5), dtype=x.dtype)


def _heads(x: Array, wq: Array, wk: Array, wv: Array, wo: Array) -> Array:
    h = WIDTH // HEADS
    out = np.zeros_like(x)
    for start in range(0, WIDTH, h):
        part = slice(start, start + h)
        scores = (x @ wq[:, part]) @ (x @ wk[:, part]).T / np.asarray(math.sqrt(h), dtype=x.dtype)
        out += _softmax(scores) @ (x @ wv[:, part]) @ wo[part]
    return out


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def run() -> dict[str, Any]:
    """By setting: of every seed, r(X) before and after each layer, in three digits; of the first, the dots at DEPTHS."""
    found: dict[str, Any] = {}
    for seed in SEEDS:
        for setting, stack in stacks(SETTINGS, DEPTH, seed, np.dtype("float64")).items():
            entry = found.setdefault(name(setting), {"residuals": []})
            entry["residuals"].append([float(f"{_residual(x):.4g}") for x in stack])
            if seed == SEEDS[0]:
                places = seen(stack)
                entry["dots"] = [[[round(float(value), 4) + 0.0 for value in dot] for dot in places[n]] for n in DEPTHS]
    single = stacks([(False, False, False)], LAYERS, 0, np.dtype("float32"))[False, False, False]
    found["float32"] = [float(f"{_residual(x):.4g}") for x in single]
    found["cubed"] = [[round(value, 8) for value in cubed(seed=seed)] for seed in SEEDS]
    return found


if __name__ == "__main__":
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}" for name, entry in run().items()
    )
    STORED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
