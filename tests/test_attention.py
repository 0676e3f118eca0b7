"""Notebook 01: every number in its figures computed a second time."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy
import pytest
import torch
from drawings import numbers, tips

from autograder import keys
from autograder.authoring.experiments import collapse as making
from autograder.marking import draws, reference
from ffnlab.course.exercises import attention as exercises
from ffnlab.course.experiments import collapse
from ffnlab.course.figures import attention, shared


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


SEEDS = range(5)


def test_without_a_skip_tokens_become_one_and_an_ffn_hastens_it() -> None:
    for seed in SEEDS:
        alone, ffn = attention.residuals(4, seed=seed), attention.residuals(4, ffn=True, seed=seed)
        assert ffn[3] < alone[3] < 1e-5 and alone[4] < 1e-12 and ffn[4] < 1e-12
    assert 1e-9 < attention.residuals(6, dtype=torch.float32)[-1] < 1e-6


def test_the_skip_slows_the_collapse_and_does_not_stop_it() -> None:
    """What section 6 says of 12, 24, 48 and 96 layers, from five seeds."""
    between = {
        (True, False, False): [(0.07, 0.2), (1e-3, 5e-3), (3e-7, 2e-6), (1e-14, 3e-13)],
        (True, False, True): [(0.35, 0.45), (0.23, 0.32), (0.15, 0.22), (0.11, 0.16)],
        (True, True, True): [(0.44, 0.54), (0.3, 0.44), (0.23, 0.33), (0.2, 0.27)],
    }
    for (skip, ffn, norm), ranges in between.items():
        for seed in SEEDS:
            found = attention.residuals(96, skip, ffn, norm, seed)
            for layers, (low, high) in zip((12, 24, 48, 96), ranges, strict=True):
                assert low < found[layers] < high, (skip, ffn, norm, seed, layers)


def test_each_layer_of_bare_attention_cubes_the_residual() -> None:
    for seed in SEEDS:
        found = attention.cubed(6, seed)
        ratios = [later / earlier for earlier, later in pairwise(found[3:])]
        assert ratios == pytest.approx([3.2, 3.07, 3.03], rel=0.05)


def test_the_cube_law_is_that_of_attention_in_80_digits() -> None:
    mpmath = pytest.importorskip("mpmath", reason="comes with torch's own dependencies")
    rng = numpy.random.default_rng([shared.SEED, 0, 3])
    with mpmath.workdps(80):
        X = mpmath.matrix(rng.standard_normal((14, 64)).tolist())
        for expected in attention.cubed(4)[1:]:
            Wq, Wk, Wv, Wo = (mpmath.matrix((rng.standard_normal((64, 64)) / 8).tolist()) for _ in range(4))
            rng.standard_normal((2, 256, 64))
            A = ((X * Wq) * (X * Wk).T / 8).apply(mpmath.exp)
            for t in range(14):
                A[t, :] = A[t, :] / mpmath.fsum(A[t, :])
            X = A * (X * Wv) * Wo
            mean = mpmath.matrix([[mpmath.fsum(X[:, i]) / 14 for i in range(64)]] * 14)
            assert float(mpmath.log10(mpmath.norm(X - mean) / mpmath.norm(X))) == pytest.approx(expected, abs=1e-6)


def test_collapse_draws_the_residuals_it_exports() -> None:
    for setting in attention.SETTINGS:
        drawn = attention.collapse(96, *setting)
        found = [float(tip.split(": ")[1]) for tip in tips(drawn) if tip.startswith("layer")]
        right = attention.residuals(96, *setting)
        assert found == pytest.approx([right[n] for n in attention.DEPTHS], rel=0.02, abs=2e-14)


def test_collapse_says_how_far_five_seeds_are_apart() -> None:
    for depth, setting in ((3, (False, True, False)), (24, (True, False, False)), (96, (True, True, True))):
        drawn = attention.collapse(depth, *setting)
        ends = [attention.residuals(depth, *setting, seed=seed)[-1] for seed in SEEDS]
        assert numbers(drawn.title.split(": ")[1])[:2] == pytest.approx([min(ends), max(ends)], rel=0.05)
        assert "(logarithmic, 5 seeds)" in drawn.sentence


def test_what_was_stored_of_the_collapse_is_computed_again() -> None:
    for setting, stack in making.stacks(attention.SETTINGS, 12, 1, numpy.dtype("float64")).items():
        again = [float(numpy.linalg.norm(x - x.mean(axis=0)) / numpy.linalg.norm(x)) for x in stack]
        assert collapse.stored(setting)["residuals"][1][:13] == pytest.approx(again, rel=0.01, abs=1e-14)


def test_the_dots_are_as_far_apart_as_the_tokens() -> None:
    """Their mean is the middle, the root of their mean square is r(X), and they lie as the tokens do in the plane where these differ most."""
    for setting, stack in making.stacks(
        [(True, False, False), (False, False, False)], 3, 0, numpy.dtype("float64")
    ).items():
        stored = collapse.stored(setting)
        for n, x in enumerate(stack):
            dots = numpy.array(stored["dots"][collapse.DEPTHS.index(n)])
            assert dots.mean(axis=0) == pytest.approx([0, 0], abs=1e-4)
            assert math.sqrt((dots**2).sum() / len(dots)) == pytest.approx(
                stored["residuals"][0][n], rel=6e-3, abs=1e-4
            )
            if stored["residuals"][0][n] > 1e-3:  # below, four decimals are too few
                u, s, _ = numpy.linalg.svd(x - x.mean(axis=0))
                plane = u[:, :2] * s[:2]
                assert numpy.corrcoef(numpy.ravel(dots @ dots.T), numpy.ravel(plane @ plane.T))[0, 1] > 0.999


def test_a_depth_that_was_not_trained_is_refused() -> None:
    with pytest.raises(ValueError, match="must be"):
        attention.residuals(97)


def test_a_network_for_one_pair_of_heights_earns_nothing() -> None:
    key = keys.find("xor_weights")
    seeds = draws.public_seeds(key.exercise)
    right = key.the_truth.answer
    for low, high in key.exercise.inputs(seeds[0], 0)["heights"]:
        assert reference.verdict_of(key, lambda *_, low=low, high=high: right(low, high), seeds).points == 0


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_every_rounding_of_the_residual_shows(seed: int) -> None:
    for case in range(3):
        X = exercises.rank1_residual.inputs(seed, case)["X"]
        residual = float((X - X.mean(0)).norm() / X.norm())
        assert all(abs(round(residual, digits) - residual) > 3e-5 for digits in (2, 3, 4))


@pytest.mark.parametrize("seed", range(20))
def test_what_bends_has_a_bias_in_all_cases_but_one(seed: int) -> None:
    bends = [exercises.superposition_error.inputs(seed, case)["bend"] for case in range(3)]
    assert [bend in exercises.LAYERS for bend in bends] == [True, False, True] and bends[1] == exercises.SQUARE
