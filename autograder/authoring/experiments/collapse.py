"""Notebook 04's tokens that become one: random stacks of attention, with skips, FFNs and norms around it, up to 96 layers deep.

`python -m autograder.authoring.experiments.collapse` sends the tokens of 21 seeds through all of them and writes ffnlab's
experiments/collapse.json: about a minute of one CPU core.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.authoring.experiments.write import write
from ffnlab.course.experiments.collapse import DEPTHS, DOTS_SEED, FRESH, SETTINGS, STORED, TOKENS, StackSetting
from ffnlab.course.figures.shared import SEED

WIDTH, HEADS = 64, 4
Array = np.ndarray[Any, np.dtype[Any]]


def stacks(settings: Mapping[str, StackSetting], depth: int, seed: int) -> dict[str, list[Array]]:
    """The tokens [14, 64] before and after each layer, for several settings of the same random layers."""
    rng = np.random.default_rng([SEED, seed, 3])
    x = rng.standard_normal((TOKENS, WIDTH))
    tokens = {name: [x] for name in settings}
    for _ in range(depth):
        square = [rng.standard_normal((WIDTH, WIDTH)) / math.sqrt(WIDTH) for _ in range(4)]
        into = rng.standard_normal((WIDTH, 4 * WIDTH)) / math.sqrt(WIDTH)
        back = rng.standard_normal((4 * WIDTH, WIDTH)) / math.sqrt(4 * WIDTH)
        for name, setting in settings.items():
            tokens[name].append(_layer(tokens[name][-1], setting, square, into, back))
    return tokens


def _layer(x: Array, setting: StackSetting, square: Sequence[Array], into: Array, back: Array) -> Array:
    x = setting.skip * x + _heads(_normalise(x) if setting.norm else x, *square)
    if setting.post:
        x = _normalise(x)
    if not (setting.ffn or setting.only_length or setting.straight):
        return x if setting.length is None else setting.length * x
    hidden = (_normalise(x) if setting.norm else x) @ into
    output: Array = (np.maximum(hidden, 0) if setting.relu else hidden) @ back
    if setting.only_length:
        return x * _lengths(output) / _lengths(x)
    if setting.straight:
        output = hidden @ back * _lengths(output) / _lengths(hidden @ back)
    if setting.length is not None:
        output = output * setting.length * _lengths(x) / _lengths(output)
    return _normalise(setting.skip * x + output) if setting.post else setting.skip * x + output


def _lengths(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=1, keepdims=True))


def dots(stack: Sequence[Array]) -> list[Array]:
    """The tokens as dots [14, 2] around their mean, in the plane in which they differ most, as far from it as they are in all 64 numbers: the
    root of the mean square is r(X). Each plane is turned so that the dots move as little as they can.
    """
    places: list[Array] = []
    for x in stack:
        rest = x - x.mean(axis=0)
        u, s, _ = np.linalg.svd(rest, full_matrices=False)
        flat = u[:, :2] * s[:2]
        flat = flat * residual(x) * math.sqrt(TOKENS) / (np.linalg.norm(flat) or 1)
        if places:
            left, _, right = np.linalg.svd(flat.T @ places[-1])
            flat = flat @ left @ right
        places.append(flat)
    return places


def residual(x: Array) -> float:
    """r(X), how far the tokens are from being one: from 0 to 1."""
    return float(np.linalg.norm(x - x.mean(axis=0)) / np.linalg.norm(x))


def _normalise(x: Array) -> Array:
    deviations = x - x.mean(axis=1, keepdims=True)
    return np.asarray(deviations / np.sqrt((deviations**2).mean(axis=1, keepdims=True) + 1e-5))


def _heads(x: Array, wq: Array, wk: Array, wv: Array, wo: Array) -> Array:
    h = WIDTH // HEADS
    out = np.zeros_like(x)
    for start in range(0, WIDTH, h):
        part = slice(start, start + h)
        scores = (x @ wq[:, part]) @ (x @ wk[:, part]).T / math.sqrt(h)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out += powers / powers.sum(axis=-1, keepdims=True) @ (x @ wv[:, part]) @ wo[part]
    return out


def run() -> dict[str, Any]:
    """What `stored` gives of each setting, in four digits."""
    results: dict[str, Any] = {name: {"residuals": []} for name in SETTINGS}
    for seed in (DOTS_SEED, *FRESH):
        for name, stack in stacks(SETTINGS, DEPTHS[-1], seed).items():
            stops = [float(f"{residual(stack[n]):.4g}") for n in DEPTHS]
            if seed == DOTS_SEED:
                places = dots([stack[n] for n in DEPTHS])
                coordinates = [[[round(float(value), 4) + 0.0 for value in dot] for dot in plane] for plane in places]
                results[name] |= {"shown": stops, "dots": coordinates}
            else:
                results[name]["residuals"].append(stops)
    return results


if __name__ == "__main__":
    write(STORED, run())
