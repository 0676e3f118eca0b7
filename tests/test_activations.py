"""Notebook 03: the numbers in its figures computed again, its key's nets, and its progress bar."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from drawings import SVG, Net, a_race, numbers, parabola

from autograder import keys
from autograder.marking import draws, judge
from ffnlab import train
from ffnlab.comparing import judge as verdict_on
from ffnlab.exercises import activations as exercises
from ffnlab.figures import activations as figures


def read_off(words: str, name: str) -> float:
    found = re.search(rf"{name} (−?\d[\d.]*(?:e−\d+)?)", words)
    assert found, words
    return float(found[1].rstrip(".").replace("−", "-"))


# Their numbers, computed again


@pytest.mark.parametrize("x", [-6.0, -2.75, -1.0, 0.25, 3.0])
def test_bends_reads_values_and_slopes_as_torch_computes_them(x: float) -> None:
    for name, act in (("ReLU", torch.relu), ("GELU", F.gelu), ("SiLU", F.silu)):
        at = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        value = act(at)
        (slope,) = torch.autograd.grad(value, at)
        assert read_off(figures.bends(x).title, name) == pytest.approx(value.item(), abs=6e-4)
        assert read_off(figures.bends(x, True).title, name) == pytest.approx(slope.item(), abs=6e-4)


def test_the_lowest_values_are_where_the_sentence_says() -> None:
    for act, low, where in ((F.gelu, -0.170, -0.75), (F.silu, -0.278, -1.28)):
        x = torch.linspace(-3, 0, 30_001, dtype=torch.float64)
        y = act(x)
        assert float(y.min()) == pytest.approx(low, abs=6e-4) and float(x[y.argmin()]) == pytest.approx(where, abs=6e-3)


@pytest.mark.parametrize("beta", [0.5, 1.0, 4.0, 10.0])
def test_swish_states_its_distance_from_relu(beta: float) -> None:
    x = torch.linspace(-30, 30, 600_001, dtype=torch.float64)
    gap = (x * torch.sigmoid(beta * x) - x.relu()).abs().max()
    assert numbers(figures.swish(beta).title)[-1] == pytest.approx(float(gap), abs=6e-4)


def test_two_gelus_states_the_largest_difference() -> None:
    x = torch.linspace(-6, 6, 100_001, dtype=torch.float64)
    gap = (F.gelu(x) - F.gelu(x, approximate="tanh")).abs()
    assert numbers(figures.two_gelus(100).title)[-1] == pytest.approx(float(gap.max()), abs=1e-6)
    assert f"|x| = {float(x[gap.argmax()].abs()):.2f}" in figures.two_gelus().sentence


def test_kinks_ends_as_the_interpolation() -> None:
    x = torch.linspace(-1, 1, 801, dtype=torch.float64)
    W1, b1, W2, b2 = (part.double() for part in parabola(4, -1, 1))
    for units in range(5):
        net = ((x[:, None] * W1 + b1).relu() * W2.T)[:, :units].sum(1) + b2
        drawn = figures.kinks(units)
        if 0 < units < 4:
            assert f"to {numbers(drawn.sentence)[-2]:g} at".replace("-", "−") in drawn.sentence
            assert numbers(drawn.sentence)[-2] == pytest.approx(float(net[-1]))
        if units == 4:
            assert float((net - x * x).max()) == pytest.approx(1 / 16)
        circles = [one for one in ET.fromstring(drawn.svg).iter(f"{SVG}circle") if one.attrib["fill"] != "transparent"]
        assert len(circles) == (min(units + 1, 4) if units else 0), (
            "where the pieces begin, and where the last one ends"
        )


def test_kinks_elsewhere_are_worse_by_what_is_said() -> None:
    x = np.linspace(-1, 1, 2001)
    for starts in ((-0.5, 0.0, 0.5), (-0.7, 0.1, 0.5), (-0.3, -0.2, 0.7)):
        nodes = np.array([-1, *starts, 1])
        worst = float((np.interp(x, nodes, nodes**2) - x * x).max())
        drawn = figures.kinks(4, *starts)
        assert f"up to {round(worst, 4):g} too high" in drawn.sentence
        assert ("no other starts do better" in drawn.sentence) == (starts == (-0.5, 0.0, 0.5))


@pytest.mark.parametrize("ends", [ends for _, ends in figures.INTERVALS])
@pytest.mark.parametrize("n", [1, 3, 8])
def test_square_states_the_largest_error(n: int, ends: tuple[float, float]) -> None:
    x = torch.linspace(*ends, 960 * n + 1, dtype=torch.float64)
    W1, b1, W2, b2 = (part.double() for part in parabola(n, *ends))
    error = (x[:, None] * W1 + b1).relu() @ W2 + b2 - x[:, None] ** 2
    assert numbers(figures.square(n, ends).title)[-1] == pytest.approx(float(error.max()), abs=6e-4)


def test_square_states_what_the_net_says_outside() -> None:
    W1, b1, W2, b2 = (part.double() for part in parabola(8, -1, 1))
    for x in (1.5, 3.0, 10.0):
        far = (torch.tensor([[x]], dtype=torch.float64) * W1 + b1).relu() @ W2 + b2
        said = re.fullmatch(
            r"At x = ([\d.]+) the net says ([\d.]+), and x² is ([\d.]+)", figures.square(8, reach=x - 1).title
        )
        assert said and [float(number) for number in said.groups()] == pytest.approx([x, float(far), x * x], abs=0.0051)


def test_law_measures_the_net_that_it_is_given() -> None:
    for n in figures.SIZES:
        assert figures.largest_error(parabola, n) == pytest.approx(1 / n**2, rel=1e-3)
    assert "exactly 1/64" in figures.law(parabola).title

    def wrong(n: int, low: float, high: float) -> Net:
        W1, b1, W2, b2 = parabola(n, low, high)
        return W1, b1, W2, b2 + 1

    assert "not 1/64" in figures.law(wrong).title and "leave the straight line" in figures.law(wrong).sentence


@pytest.mark.parametrize("answer", [None, (1, 2), "text"])
def test_law_waits_for_the_exercise(answer: Any) -> None:
    with pytest.raises(NotImplementedError, match="relu_interpolant"):
        figures.law(lambda n, low, high: answer)


@pytest.mark.parametrize(("bias", "spread"), [(0.0, 1.0), (-2.0, 1.0), (-1.0, 0.5), (3.0, 2.0)])
def test_firing_states_the_share_above_zero(bias: float, spread: float) -> None:
    share = 100 * float(torch.special.ndtr(torch.tensor(bias / spread, dtype=torch.float64)))
    assert numbers(figures.firing(bias, spread).title)[-1] == pytest.approx(share, abs=0.051)


def test_race_states_means_and_ranges() -> None:
    drawn = figures.race(a_race(), 20)
    assert drawn.title == "Step 20, facts known: ReLU 55 %, GELU 55 %, SiLU 55 %"
    assert "ReLU 2.12 (2.00 to 2.25)" in drawn.sentence or "ReLU 2.13 (2.00 to 2.25)" in drawn.sentence


# The exercises


def test_the_truth_of_relu_interpolant_is_the_interpolation() -> None:
    build = keys.find("relu_interpolant").the_truth.answer
    for n, low, high in ((1, -1.5, 0.5), (4, 0.25, 2.0), (7, -3.0, -1.0)):
        W1, b1, W2, b2 = build(n, low, high)
        for i in range(n):
            left, right = (low + (high - low) * (i + j) / n for j in (0, 1))
            for part in (0.0, 0.3, 1.0):
                x = torch.tensor([[left + part * (right - left)]], dtype=torch.float64)
                expected = (1 - part) * left**2 + part * right**2
                assert float(torch.relu(x @ W1 + b1) @ W2 + b2) == pytest.approx(expected, abs=1e-9)


def test_draws_reach_both_tails_and_the_place_where_the_gelus_differ() -> None:
    for seed in range(30):
        x = exercises.gelu_tanh.inputs(seed, 0)["x"]
        assert float(x.max()) > 6 and float(x.min()) < -6 and bool((x != 0).all())
        assert float((x[0].abs() - 2.7).abs().min()) < 0.2


def test_dead_units_draws_have_units_of_every_kind() -> None:
    for seed in range(30):
        drawn = exercises.dead_units.inputs(seed, 0)
        pre = drawn["X"] @ drawn["W1"] + drawn["b1"]
        fires = (pre > 0).sum(0)
        assert bool((pre == 0).all(0).any()) and bool((fires == 1).any()) and bool((fires == len(pre)).any())
        dead = int((fires == 0).sum())
        assert 0 < dead < len(fires) and len({*drawn["X"].shape, *drawn["W1"].shape}) == 3


def test_dead_units_draws_have_units_that_barely_fire_and_units_that_one_row_wakes() -> None:
    for seed in range(30):
        drawn = exercises.dead_units.inputs(seed, 0)
        for dtype in (torch.float64, torch.float32):
            pre = drawn["X"].to(dtype) @ drawn["W1"].to(dtype) + drawn["b1"].to(dtype)
            assert int((pre.amax(0) == exercises.WEAK).sum()) == 2
            alone = (pre > 0).sum(0) == 1
            assert {0, len(pre) - 1} < set((pre[:, alone] > 0).nonzero()[:, 0].tolist())


def test_kinks_of_count_pieces_are_exact() -> None:
    for seed in range(30):
        drawn = exercises.count_pieces.inputs(seed, 0)
        for net in (value for value in drawn.values() if isinstance(value, dict)):
            for w, b in zip(net["W1"][0].tolist(), net["b1"].tolist(), strict=True):
                assert w == 0 or math.remainder(-b / w, exercises.CLOSE) == 0
    assert exercises.CLOSE > 1e-5  # what the notebook promises of kinks that differ


def test_a_net_is_judged_on_the_interval_that_was_drawn_and_not_on_one_that_comes_with_it() -> None:
    key = keys.find("relu_interpolant")
    build = key.the_truth.answer
    seeds = draws.public_seeds(key.exercise)
    net = tuple(build(4, -1.0, 1.0))
    brought = {"interval": (4, -1.0, 1.0), "net": net}  # as an observation was before: right for what it says of itself
    for one in (net, brought):
        made_up: list[dict[str, Any]] = [
            {aspect.name: dict.fromkeys(drawn, one) for aspect in key.exercise.aspects}
            for drawn in judge.inputs(key.exercise, seeds)
        ]
        marking = judge.marking(key.exercise.name, seeds)
        assert verdict_on(key.exercise, marking, made_up, judge.inputs(key.exercise, seeds)).points == 0


# The progress bar


def test_the_bar_counts_every_step_and_ends_full(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bundle: dict[str, str], raw: bool) -> None:
            shown.append(bundle["text/plain"])

    monkeypatch.setattr(train, "display", lambda *_, **__: Handle())
    assert list(train.bar(7, "a run")) == list(range(7))
    assert shown[-1].endswith("7 of 7 steps") and "░" not in shown[-1]
    with pytest.raises(ValueError, match="at least one step"):
        list(train.bar(0, "none"))


# What the text and the quiz say of the theorems, and of the interpolation


def test_two_relus_make_a_sigmoidal_unit_and_no_width_helps_a_polynomial() -> None:
    """`quiz_leshno`: |x| on [-1, 1], first layer random, second the best there is."""
    x = torch.linspace(-1, 1, 401, dtype=torch.float64)[:, None]

    def left(act: Callable[[torch.Tensor], torch.Tensor], units: int) -> float:
        rng = torch.Generator().manual_seed(0)
        w, b = 12 * torch.randn(2, units, generator=rng, dtype=torch.float64)
        h = torch.cat([act(x * w + b), torch.ones_like(x)], dim=1)
        best = torch.linalg.lstsq(h, x.abs(), driver="gelsd").solution
        return float((h @ best - x.abs()).abs().max())

    def step(z: torch.Tensor) -> torch.Tensor:
        return torch.relu(z) - torch.relu(z - 1)

    assert step(torch.tensor([-1e3, 0.0, 1.0, 1e3])).tolist() == [0, 0, 1, 1]
    assert left(step, 500) < 0.02 and left(torch.sin, 500) < 0.02
    assert left(lambda z: z**3 - z, 4) > 0.05 and left(lambda z: z**3 - z, 500) > 0.05


def test_eight_pieces_on_an_interval_twice_as_wide_leave_four_times_the_error() -> None:
    assert figures.largest_error(parabola, 8, 0, 4) == pytest.approx(1 / 16, rel=1e-3)  # quiz_pieces
    assert figures.largest_error(parabola, 8, -1, 1) == pytest.approx(1 / 64, rel=1e-3)


def test_the_mean_of_a_units_sum_is_its_bias_where_the_inputs_have_mean_0() -> None:
    x = torch.randn(20_000, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    w, b = torch.ones(16, dtype=torch.float64) / 4, -2.0
    assert float((x @ w + b).mean()) == pytest.approx(b, abs=7 / 20_000**0.5)
    assert float(((x + 1) @ w + b).mean()) == pytest.approx(b + 4, abs=7 / 20_000**0.5)
