"""Notebook 01: every number in its figures computed a second time."""

from __future__ import annotations

import math
import re

import pytest
import torch
from drawings import numbers

from autograder import keys
from autograder.marking import draws, reference
from ffnlab.course.exercises import attention as exercises
from ffnlab.course.figures import attention


@pytest.mark.parametrize("scores", [(0.3, 0.0, 0.0), (-6.0, 6.0, 0.0), (6.0, 6.0, 6.0), (2.0, -1.0, -6.0)])
def test_the_blend_is_the_softmax_average_and_stays_in_the_triangle(scores: tuple[float, ...]) -> None:
    total = sum(map(math.exp, scores))
    weights = [math.exp(score) / total for score in scores]
    x, y = (sum(w * v[axis] for w, v in zip(weights, attention.VALUES, strict=True)) for axis in (0, 1))
    drawn = attention.blend(*scores)
    assert numbers(drawn.title) == [round(100 * w) for w in weights]
    assert numbers(drawn.sentence)[6:8] == pytest.approx([x, y], abs=0.005)
    (ax, ay), (bx, by), (cx, cy) = attention.VALUES
    sides = [
        (qx - px) * (y - py) - (qy - py) * (x - px)
        for (px, py), (qx, qy) in (((ax, ay), (bx, by)), ((bx, by), (cx, cy)), ((cx, cy), (ax, ay)))
    ]
    assert all(side <= 1e-12 for side in sides)


def off(s: float, frozen: bool) -> float:
    """‖f(sX) − s·f(X)‖ in proportion to ‖s·f(X)‖, one row at a time; 0 where both are zero."""
    X = attention.embeddings(dtype=torch.float64)
    Wq, Wk, Wv, Wo = attention.head(torch.float64)

    def f(Z: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        rows = [torch.softmax((seen @ Wk) @ (token @ Wq) / 2, dim=0) @ (Z @ Wv) @ Wo for token in seen]
        return torch.stack(rows)

    right = s * f(X, X)
    return float((f(s * X, X if frozen else s * X) - right).norm() / right.norm()) if s else 0.0


@pytest.mark.parametrize("s", [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 4.0])
def test_only_frozen_weights_make_the_head_linear(s: float) -> None:
    free, frozen = attention.scaled(s), attention.scaled(s, True)
    assert numbers(free.sentence)[1] == pytest.approx(100 * off(s, False), abs=0.5)
    assert off(s, True) < 1e-9 and frozen.title.endswith("f(sX) is s·f(X)")
    assert free.title.endswith("f(sX) is s·f(X)") == (s in (-1, 0, 1))


def test_the_stages_of_the_head_are_those_of_the_formula() -> None:
    X = attention.embeddings(dtype=torch.float64)
    Wq, Wk, Wv, Wo = attention.head(torch.float64)
    found = attention.stages(X)
    assert torch.allclose(found["A"], torch.softmax((X @ Wq) @ (X @ Wk).T / 2, dim=1))
    assert torch.allclose(found["out"], found["A"] @ (X @ Wv) @ Wo)
    assert torch.allclose(attention.stages(2 * X, A=found["A"])["out"], 2 * found["out"])
    assert attention.stages(X.float())["out"].dtype == torch.float32


def test_no_line_solves_xor_and_some_line_solves_and() -> None:
    best = {"XOR": 0, "AND": 0}
    for target in best:
        for angle in range(0, 360, 15):
            for step in range(-20, 21):
                drawn = attention.line(angle, step / 20, target)
                best[target] = max(best[target], int(re.findall(r"gets (\d) of 4", drawn.title)[0]))
    assert best == {"XOR": 3, "AND": 4}


def test_a_network_for_one_pair_of_heights_earns_nothing() -> None:
    key = keys.find("xor_weights")
    seeds = draws.public_seeds(key.exercise)
    right = key.the_truth.answer
    for low, high in key.exercise.inputs(seeds[0], 0)["heights"]:
        assert reference.verdict_of(key, lambda *_, low=low, high=high: right(low, high), seeds).points == 0


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_what_bends_has_a_bias_in_all_cases_but_one(seed: int) -> None:
    bends = [exercises.superposition_error.inputs(seed, case)["bend"] for case in range(3)]
    assert [bend in exercises.LAYERS for bend in bends] == [True, False, True] and bends[1] == exercises.SQUARE
