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
from drawings import SVG, Net, a_race, numbers, parabola, texts, tips

from autograder import keys
from autograder.marking import draws, reference
from ffnlab.checking.comparison import compare
from ffnlab.course import progress_bar, toy_transformer
from ffnlab.course.exercises import activations as exercises
from ffnlab.course.experiments import firing, polygons, world
from ffnlab.course.figures import activations as figures


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
def test_swish_is_as_far_from_relu_as_the_text_says(beta: float) -> None:
    x = torch.linspace(-30, 30, 600_001, dtype=torch.float64)
    gap = float((x * torch.sigmoid(beta * x) - x.relu()).abs().max())
    assert 0.278 / beta < gap <= 0.279 / beta


def test_the_gelus_are_as_far_apart_as_the_text_says() -> None:
    x = torch.linspace(-6, 6, 120_001, dtype=torch.float64)
    gap = (F.gelu(x) - F.gelu(x, approximate="tanh")).abs()
    assert 0.0004 < float(gap.max()) < 0.0005 and abs(float(x[gap.argmax()].abs()) - 2.7) < 0.02
    assert 0.0202 < float((F.gelu(x) - x * torch.sigmoid(1.702 * x)).abs().max()) < 0.0204


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


def largest_error(n: int, low: float, high: float) -> float:
    """How far the interpolation of x² with n pieces is from it."""
    x = torch.linspace(low, high, 64 * n + 1, dtype=torch.float64)[:, None]
    W1, b1, W2, b2 = (part.double() for part in parabola(n, low, high))
    return float(((x @ W1 + b1).relu() @ W2 + b2 - x * x).abs().max())


def turned_round(n: int, low: float, high: float) -> Net:
    """Another right answer to relu_interpolant: its units look left, and one more stands idle."""
    nodes = torch.linspace(low, high, n + 1)
    slopes = nodes[:-1] + nodes[1:]
    changes = torch.diff(slopes, append=torch.zeros(1))
    first = torch.cat([-2 * torch.ones(1, n), torch.zeros(1, 1)], dim=1)
    bias = torch.cat([2 * nodes[1:], torch.ones(1)])
    return first, bias, torch.cat([changes / 2, torch.zeros(1)])[:, None], nodes[-1:] ** 2


@pytest.mark.parametrize("build", [parabola, turned_round])
def test_any_curve_goes_through_its_points_and_is_straight_between_them(build: figures.Build) -> None:
    W1, b1, W2, b2 = (part.double() for part in build(5, -1.0, 2.0))
    nodes = torch.linspace(-1, 2, 6, dtype=torch.float64)[:, None]
    torch.testing.assert_close((nodes @ W1 + b1).relu() @ W2 + b2, nodes**2, atol=1e-5, rtol=0)  # it is right
    values = np.array([-1.5, 2.0, 2.0, -0.5, 0.0, 1.0, -2.0])
    W1, b1, W2, b2 = figures.fitted(build, values.tolist())
    x = torch.linspace(0, 6, 241, dtype=torch.float64)[:, None]
    y = ((x @ W1 + b1).relu() @ W2 + b2)[:, 0]
    assert np.allclose(y.numpy(), np.interp(x[:, 0].numpy(), range(7), values), atol=1e-6)


def test_any_curve_shows_the_weights_that_it_draws() -> None:
    values = (-1.5, 2.0, 2.0, -0.5, 0.0, 1.0, -2.0)
    drawn = figures.through(parabola, *values)
    assert numbers(drawn.sentence)[-7:] == pytest.approx([values[1] - values[0], *np.diff(np.diff(values)), values[0]])
    assert drawn.title.startswith("6 units through −1.5, 2, 2, −0.5")
    assert "none" in texts(figures.through(turned_round, *values)), "the idle unit has no kink"


@pytest.mark.parametrize("answer", [None, (1, 2), "text"])
def test_any_curve_waits_for_the_exercise(answer: Any) -> None:
    with pytest.raises(NotImplementedError, match="relu_interpolant"):
        figures.through(lambda n, low, high: answer)
    with pytest.raises(NotImplementedError, match="relu_interpolant"):  # one kink can't reach seven points
        figures.through(lambda n, low, high: parabola(1, low, high))


# Polygons


def distinct(layer: polygons.TwoInputNetwork, points: torch.Tensor) -> int:
    fires = points @ layer.W1 + layer.b1 > 0
    return len(np.unique((fires * 2 ** torch.arange(fires.shape[1])).sum(1).numpy()))


def patterns(layer: polygons.TwoInputNetwork, side: int) -> int:
    """How many patterns of firing units there are on a fine grid over the window."""
    line = torch.linspace(-polygons.WINDOW, polygons.WINDOW, side, dtype=torch.float64)
    return distinct(layer, torch.cartesian_prod(line, line))


@pytest.mark.parametrize("units", polygons.UNITS)
@pytest.mark.parametrize("step", [0, 1000])
def test_polygons_are_counted_as_patterns_are(units: int, step: int) -> None:
    layer = polygons.layer(units, step)
    cut = polygons.cut(layer)
    seen = patterns(layer, 800)
    assert seen <= len(cut) <= polygons.at_most(units) and seen >= len(cut) - 3, (
        "a sliver may lie between the grid's points"
    )
    middles = torch.tensor(np.array([np.mean(one, axis=0) for one in cut]))
    assert distinct(layer, middles) == len(cut), "one pattern for each polygon, and no other has it"
    area = sum(
        abs(sum(x * v - u * y for (x, y), (u, v) in zip(one, [*one[1:], one[0]], strict=True))) / 2 for one in cut
    )
    assert area == pytest.approx((2 * polygons.WINDOW) ** 2)


def test_the_bound_is_reached_by_lines_in_general_position() -> None:
    for units in polygons.UNITS:
        assert polygons.at_most(units) == sum(math.comb(units, i) for i in range(3))
        layer = polygons.layer(units, 0)
        far = polygons.TwoInputNetwork(layer.W1, layer.b1 / 1000, layer.W2, layer.b2)  # the whole plane, from far away
        assert len(polygons.cut(far)) == polygons.at_most(units)


def test_the_figure_tells_the_linear_map_at_its_point() -> None:
    for units, step, x1, x2 in ((4, 0, -1.0, 1.25), (8, 1000, 0.5, 0.25), (16, 100, 1.75, -0.5)):
        layer, drawn = polygons.layer(units, step), figures.polygons(units, step, x1, x2)
        at = torch.tensor([[x1, x2]], dtype=torch.float64, requires_grad=True)
        value = layer(at)[0]
        (slopes,) = torch.autograd.grad(value, at)
        fires = int((at @ layer.W1 + layer.b1 > 0).sum())
        said = numbers(drawn.sentence)
        assert said[:4] == [x1, x2, fires, units] and said[-1] == pytest.approx(value.item(), abs=0.006)
        a, b, c = polygons.linear(layer, (x1, x2))
        assert [a, b] == pytest.approx(slopes[0].tolist()) and a * x1 + b * x2 + c == pytest.approx(value.item())
        assert [a] == pytest.approx(said[4:5], abs=0.006)
        assert sum(tip.endswith("it fires") for tip in tips(drawn)) == fires


def test_what_notebook_03_says_of_polygons_holds_in_the_stored_runs() -> None:
    runs = polygons.stored()["runs"]
    before, after = ([run["polygons"][at] for run in runs["8"]] for at in (0, -1))
    assert (min(before), max(before), min(after), max(after)) == (15, 30, 16, 32)
    assert round(float(np.mean(before))) == 24 and round(float(np.mean(after))) == 22
    right = {units: [run["right"] for run in of] for units, of in runs.items()}
    assert right["8"] == right["16"] == [1.0] * 10
    assert sum(one == 1 for one in right["4"]) == 7 and all(0.8 <= one < 0.9 for one in right["4"] if one < 1)
    for units in polygons.UNITS:
        kept = runs[str(units)][polygons.SHOWN]["polygons"]
        assert kept == [len(polygons.cut(polygons.layer(units, step))) for step in polygons.STEPS]


def test_a_short_run_of_the_ring_comes_out_again() -> None:
    found = polygons.learned(8, polygons.SHOWN, steps=30)
    for step, layer in found.items():
        for now, kept in zip(layer, polygons.layer(8, step), strict=True):
            torch.testing.assert_close(now.double(), kept, atol=2e-3, rtol=0)


# The sums of the little world


def test_sums_states_the_share_above_zero() -> None:
    before, after = firing.untrained(world.stored()["about"]["shipped"]), toy_transformer.load()
    found = [firing.sums(model) for model in (before, after)]
    for neuron in (-1, 10, 5):
        chosen = [one if neuron < 0 else one[:, neuron] for one in found]
        shares = [100 * (one > 0).double().mean().item() for one in chosen]
        said = [float(share) for share in re.findall(r"([\d.]+) %", figures.sums(neuron).title)]
        assert said == pytest.approx(shares, abs=0.51) and said[1] == pytest.approx(shares[1], abs=0.051)
    assert int((found[1] <= 0).all(0).sum()) == 31  # dead, as the explanation says
    named = {name.neuron: name.words for name in toy_transformer.names(after) if name.good}
    for words, neuron in figures.NEURONS[1:3]:
        assert words == f"{neuron}, “{named[neuron]}”"
    assert bool((found[1][:, figures.NEURONS[3][1]] <= 0).all())


def test_untrained_is_where_training_starts_and_leaves_chance_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    model = firing.untrained(3)
    assert torch.equal(torch.rand(1), expected)
    torch.manual_seed(3)
    assert torch.equal(toy_transformer.ToyTransformer().words.weight, model.words.weight)


def test_what_notebook_03_says_of_the_penalty_holds_in_the_stored_runs() -> None:
    runs = firing.stored()["runs"]
    fires = {name: [run["fires"] for run in of] for name, of in runs.items()}
    dead = {name: [run["dead"] for run in of] for name, of in runs.items()}
    assert all(len(of) == 5 for of in runs.values())
    assert (min(fires["with"]), max(fires["with"])) == (0.0021, 0.0037) and (min(dead["with"]), max(dead["with"])) == (
        22,
        46,
    )
    assert (min(fires["without"]), max(fires["without"])) == (0.2574, 0.5594) and set(dead["without"]) == {0}
    assert {run["right"] for name in ("with", "without") for run in runs[name]} == {1.0}
    shipped = world.stored()["about"]["shipped"]
    assert firing.measured(toy_transformer.load()) == runs["with"][shipped]
    assert firing.measured(firing.untrained(shipped)) == runs["untrained"][shipped]


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
            for drawn in reference.inputs(key.exercise, seeds)
        ]
        marking = reference.reference_outputs(key.exercise.name, seeds)
        assert compare(key.exercise, marking, made_up, reference.inputs(key.exercise, seeds)).points == 0


# The progress bar


def test_the_bar_counts_every_step_and_ends_full(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bundle: dict[str, str], raw: bool) -> None:
            shown.append(bundle["text/plain"])

    monkeypatch.setattr(progress_bar, "display", lambda *_, **__: Handle())
    assert list(progress_bar.bar(7, "a run")) == list(range(7))
    assert shown[-1].endswith("7 of 7 steps") and "░" not in shown[-1]
    with pytest.raises(ValueError, match="at least one step"):
        list(progress_bar.bar(0, "none"))


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
    assert largest_error(8, 0, 4) == pytest.approx(1 / 16, rel=1e-3)  # quiz_pieces
    assert largest_error(8, -1, 1) == pytest.approx(1 / 64, rel=1e-3)


def test_the_mean_of_a_units_sum_is_its_bias_where_the_inputs_have_mean_0() -> None:
    x = torch.randn(20_000, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    w, b = torch.ones(16, dtype=torch.float64) / 4, -2.0
    assert float((x @ w + b).mean()) == pytest.approx(b, abs=7 / 20_000**0.5)
    assert float(((x + 1) @ w + b).mean()) == pytest.approx(b + 4, abs=7 / 20_000**0.5)


@pytest.mark.parametrize("units", [1, 2, 8, 64])
def test_on_twice_the_interval_the_error_is_four_times_as_large(units: int) -> None:
    x = torch.linspace(-1, 1, 2049, dtype=torch.float64)[:, None]
    missed = []
    build: Callable[..., list[torch.Tensor]] = keys.find("relu_interpolant").the_truth.answer
    for end in (1.0, 2.0):
        W1, b1, W2, b2 = (part.double() for part in build(units, -end, end))
        missed.append((torch.relu(end * x @ W1 + b1) @ W2 + b2 - (end * x) ** 2).abs().max().item())
    assert missed[1] / missed[0] == pytest.approx(4, rel=1e-3)


def test_only_one_slope_jumps_and_only_one_grows_without_end() -> None:
    """What notebook 03 says of the slopes of five activations."""
    x = torch.linspace(-8, 8, 160_001, dtype=torch.float64, requires_grad=True)
    acts: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "ReLU": F.relu,
        "ReLU²": lambda z: F.relu(z) ** 2,
        "GELU": F.gelu,
        "SiLU": F.silu,
    }
    slopes = {name: torch.autograd.grad(act(x).sum(), x)[0] for name, act in acts.items()}
    assert {name for name, slope in slopes.items() if slope.diff().abs().max() > 0.01} == {"ReLU"}
    assert torch.allclose(slopes["ReLU²"][x > 0], 2 * x[x > 0])
    assert [round(slopes[name].max().item(), 2) for name in ("GELU", "SiLU")] == [1.13, 1.1]
