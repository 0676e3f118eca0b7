"""Notebook 08: how the gates react to the logits, from the formulas, which are what the notebook asks for.

`python -m autograder.authoring.experiments.slopes` writes ffnlab's experiments/slopes.json.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from ffnlab.course.figures.experts import LOGITS, NORMS, SLOPES, E


def softmax(z: Sequence[float], among: Sequence[int]) -> list[float]:
    """exp(z), divided by its sum over the places `among`; zero elsewhere."""
    largest = max(z[e] for e in among)
    powers = [math.exp(z[e] - largest) if e in among else 0.0 for e in range(len(z))]
    return [power / sum(powers) for power in powers]


def derivatives(k: int, norm: str) -> list[list[float]]:
    """∂gate of e / ∂logit of j at `LOGITS`, [E, E], from the formulas, so that a zero is exactly zero."""
    z = list(LOGITS)
    top = sorted(sorted(range(E), key=lambda e: -z[e])[:k])
    if norm == "sigmoid_norm":
        s = [1 / (1 + math.exp(-v)) for v in z]
        under = sum(s[e] for e in top)

        def slope(e: int, j: int) -> float:
            return s[j] * (1 - s[j]) * ((under if e == j else 0.0) - s[e]) / under**2 if j in top else 0.0

    else:
        p = softmax(z, range(E) if norm == "softmax_topk" else top)

        def slope(e: int, j: int) -> float:
            return p[e] * ((1.0 if e == j else 0.0) - p[j])

    return [[slope(e, j) if e in top else 0.0 for j in range(E)] for e in range(E)]


def run() -> dict[str, list[list[list[float]]]]:
    """By norm, for k = 1, 2, … E, the derivatives in eight decimals."""
    return {
        norm: [[[round(value, 8) + 0.0 for value in row] for row in derivatives(k, norm)] for k in range(1, E + 1)]
        for norm in NORMS
    }


if __name__ == "__main__":
    SLOPES.write_text(json.dumps(run(), separators=(",", ":")) + "\n", encoding="utf-8")
