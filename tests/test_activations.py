"""Notebook 03: what its text says, computed again; its exercises and its progress bar. Its boards are in test_wire_board.py."""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder import keys
from autograder.authoring import build
from autograder.keys.activations import deep_square as deep_key
from autograder.reference import compute, draws
from ffnlab.checking.comparison import compare
from ffnlab.course import progress_bar, toy_transformer
from ffnlab.course.boards import wire
from ffnlab.course.exercises import activations as exercises
from ffnlab.course.experiments import firing, square, world
from ffnlab.registry import active_course

SOURCE = (Path(__file__).parent.parent / "solutions" / "03_activations.py").read_text(encoding="utf-8")

# A classmate's code


def drawn_networks(count: int) -> list[tuple[list[float], ...]]:
    rng = random.Random(3)
    networks: list[tuple[list[float], ...]] = []
    for _ in range(count):
        neurons = rng.randint(1, 8)
        w, b, v = ([rng.gauss(0, 1) for _ in range(neurons)] for _ in range(3))
        networks.append((w, b, v))
    return networks


def test_the_classmates_code_is_right_on_ten_thousand_random_networks() -> None:
    for net in drawn_networks(10_000):
        assert exercises.steepest(*net) == pytest.approx(exercises.steepest_piece(*net))


def test_the_notebook_shows_the_code_that_is_judged() -> None:
    cell = SOURCE.split('# %% code="steepest"')[1].split("# %%")[0]
    copy = next(node for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef))
    original = next(
        node
        for node in ast.parse(Path(exercises.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "steepest"
    )
    assert [ast.unparse(line) for line in copy.body[1:]] == [ast.unparse(line) for line in original.body[1:]]


def test_the_steepest_piece_is_that_of_a_fine_grid() -> None:
    for w, b, v in [*drawn_networks(200), ([1.0, 1.0], [0.0, 0.0], [3.0, -2.0])]:
        far = max(abs(bias / into) for into, bias in zip(w, b, strict=True)) + 1
        kinks = torch.tensor([-bias / into for into, bias in zip(w, b, strict=True)], dtype=torch.float64)
        edges = torch.tensor([-far, *sorted(set(kinks.tolist())), far], dtype=torch.float64)
        x = edges[:, None]
        y = torch.relu(x @ torch.tensor([w], dtype=torch.float64) + torch.tensor(b, dtype=torch.float64))
        height = y @ torch.tensor(v, dtype=torch.float64)
        assert exercises.steepest_piece(w, b, v) == pytest.approx(
            float((height.diff() / edges.diff()).abs().max()), rel=1e-6
        )


def test_one_neuron_is_no_counterexample_and_a_random_network_is_none() -> None:
    key = keys.find("steepest_counterexample")
    seeds = draws.public_seeds(key.exercise)
    assert all(
        exercises.steepest([w], [b], [v]) == exercises.steepest_piece([w], [b], [v])
        for w, b, v in ((2.0, 1.0, -3.0), (-1.0, 0.5, 4.0))
    )
    for net in drawn_networks(20):
        assert compute.verdict_of(key, net, seeds).points == 0
    three = ([1, 1, 1], [0, 0, 5], [4, -4, 1])
    assert compute.verdict_of(key, three, seeds).points == 1.5


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (3, "an int came back"),
        (([1], [2]), "2 parts came back"),
        (([1, 2], [3], [4, 5]), "2, 1, 2"),
        (([math.inf], [1], [1]), "not finite"),
        (("ab", [1], [1]), "w is no list of numbers"),
        (([0, 1], [1, 1], [1, 1]), "a w is 0"),
    ],
)
def test_what_is_no_network_is_said_so(answer: Any, says: str) -> None:
    key = keys.find("steepest_counterexample")
    verdict = compute.verdict_of(key, answer, draws.public_seeds(key.exercise))
    assert verdict.points == 0 and says in verdict.symptom


# The bowl, and any curve


def interpolate(n: int, low: float, high: float) -> list[torch.Tensor]:
    answer: Callable[..., Any] = build.solution_answer("relu_interpolant").answer
    return [part.double() for part in answer(n, low, high)]


def largest_error(n: int, low: float, high: float) -> float:
    """How far the interpolation of x² with n pieces is from it."""
    x = torch.linspace(low, high, 64 * n + 1, dtype=torch.float64)[:, None]
    W1, b1, W2, b2 = interpolate(n, low, high)
    return float(((x @ W1 + b1).relu() @ W2 + b2 - x * x).abs().max())


def test_eight_pieces_on_an_interval_twice_as_wide_leave_four_times_the_error() -> None:
    assert largest_error(8, 0, 4) == pytest.approx(1 / 16, rel=1e-3)
    assert largest_error(8, -1, 1) == pytest.approx(1 / 64, rel=1e-3)


def test_no_eight_pieces_are_better_than_equal_ones() -> None:
    """The gap of a piece that meets x² at both ends depends on its length alone, so the longest decides."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        ends = np.array([-1, *sorted(rng.uniform(-1, 1, 7)), 1])
        gaps = [
            (np.interp(x, (s, t), (s * s, t * t)) - x * x).max()
            for s, t in pairwise(ends)
            for x in [np.linspace(s, t, 401)]
        ]
        assert gaps == pytest.approx((np.diff(ends) / 2) ** 2, abs=1e-4) and max(gaps) > 1 / 64


def test_what_the_network_of_eight_pieces_says_outside() -> None:
    W1, b1, W2, b2 = interpolate(8, -1, 1)
    x = torch.tensor([[3.0], [10.0]], dtype=torch.float64)
    assert ((x @ W1 + b1).relu() @ W2 + b2).flatten().tolist() == pytest.approx([4.5, 16.75])  # at_three


def test_half_the_error_is_the_best_that_n_pieces_can_do() -> None:
    """What the fold “Why just this factor?” says: the best line on one piece of x² is off by (t − s)²/8."""
    for s, t in ((-1.0, -0.5), (0.25, 1.0)):
        x = np.linspace(s, t, 4001)
        errors = [
            np.abs(a * x + c - x * x).max()
            for a in np.linspace(s + t - 0.3, s + t + 0.3, 61)
            for c in np.linspace(-s * t - 0.2, -s * t + 0.2, 401)
        ]
        assert min(errors) == pytest.approx((t - s) ** 2 / 8, abs=1e-3) and min(errors) >= (t - s) ** 2 / 8 - 1e-6


def built_rms(n: int) -> float:
    """The root mean square error of the interpolation of x² with n pieces, at the points of training."""
    x = square.points().double()
    W1, b1, W2, b2 = interpolate(n, -1, 1)
    return float(((x @ W1 + b1).relu() @ W2 + b2 - x * x).square().mean().sqrt())


def test_what_is_said_of_trained_networks_holds_in_fifteen_fresh_runs() -> None:
    runs = square.stored()["runs"]
    assert (
        all(len(runs[str(neurons)]) == square.FRESH_RUNS == 15 for neurons in square.NEURONS)
        and square.stored()["steps"] == 3000
    )
    times = [run["largest"] * 32**2 for run in runs["32"]]
    assert (round(min(times)), round(max(times))) == (6, 21)
    fair = {
        neurons: [run["root_mean_square"] / built_rms(neurons) for run in runs[str(neurons)]] for neurons in (2, 8, 32)
    }
    assert (round(min(fair[32])), round(max(fair[32]))) == (3, 10) and min(fair[32]) > 2
    assert sum(ratio < 1 for ratio in fair[8]) == 1
    assert sum(ratio < 1 for ratio in fair[2]) == 6
    best = sorted(fair[2])[:4]
    assert [round(1 / ratio, 1) for ratio in best[:3]] == pytest.approx([5.4] * 3, abs=0.1)
    # Two straight pieces come no nearer than 1/(6√5), even with a jump between them; at the points of training, 5 % nearer at most.
    nearest_of_two = 1 / (1.05 * 6 * 5**0.5)
    assert best[2] * built_rms(2) < nearest_of_two < best[3] * built_rms(2)
    assert "six do. The best three are five times as near" in " ".join(
        active_course().prediction("trained_square").explanation.split()
    )
    prediction = active_course().prediction("trained_square")
    assert round(built_rms(32), 4) == 0.0007 and "0.0007" in prediction.question
    explanation = " ".join(prediction.explanation.split())
    assert "3 to 10 times" in explanation and "6 to 21 times" in explanation and "one of the fifteen" in explanation


def test_a_short_run_of_x_squared_comes_out_again() -> None:
    assert square.train(8, steps=50) == square.train(8, steps=50)
    assert square.train(8, steps=50) != square.train(8, square.FRESH, steps=50)


@pytest.mark.slow
def test_the_stored_runs_of_x_squared_come_out_again() -> None:
    errors = square.train(2, square.FRESH, square.FRESH_RUNS)
    for name in square.Errors._fields:
        stored_errors = [run[name] for run in square.stored()["runs"]["2"]]
        assert [getattr(run, name) for run in errors] == pytest.approx(stored_errors, abs=0.02)


# Activations


def test_one_slope_jumps_and_two_values_fall_where_the_text_says() -> None:
    x = torch.linspace(-8, 8, 160_001, dtype=torch.float64, requires_grad=True)
    acts: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {"ReLU": F.relu, "GELU": F.gelu, "SiLU": F.silu}
    slopes = {name: torch.autograd.grad(act(x).sum(), x)[0] for name, act in acts.items()}
    assert {name for name, slope in slopes.items() if slope.diff().abs().max() > 0.01} == {"ReLU"}
    lowest = {name: round(x[slopes[name] < 0].max().item(), 2) for name in ("GELU", "SiLU")}
    assert lowest == {"GELU": -0.75, "SiLU": -1.28} and not bool((slopes["ReLU"] < 0).any())


def test_the_gelus_are_as_far_apart_as_the_text_says() -> None:
    x = torch.linspace(-6, 6, 120_001, dtype=torch.float64)
    gap = (F.gelu(x) - F.gelu(x, approximate="tanh")).abs()
    assert 0.0004 < float(gap.max()) < 0.0005


def test_far_out_gelu_is_zero_in_float32() -> None:
    """Its gradient is another matter: which kernel runs decides whether it is 0 or about 10⁻¹⁵."""
    assert not bool(F.gelu(torch.linspace(-9.6, -8.4, 17)).any())


def test_draws_reach_both_tails_and_the_place_where_the_gelus_differ() -> None:
    for seed in range(30):
        inputs = exercises.activation.inputs(seed, 0)
        x = inputs["x"]
        assert float(x.max()) > 6 and float(x.min()) < -6 and bool((x != 0).all())
        assert float((x[0].abs() - 2.7).abs().min()) < 0.2
        assert inputs["beta"] > 1 and inputs["negative"] < 0


def test_no_slope_is_earned_that_is_not_written() -> None:
    """None in place of a slope earns that slope's points for no name."""
    key = keys.find("activation")
    seeds = draws.public_seeds(key.exercise)
    answer: Callable[..., Any] = build.solution_answer("activation").answer
    for left in exercises.NAMES:

        def without(name: str, x: torch.Tensor, *beta: float, left: str = left) -> Any:
            value, slope = answer(name, x, *beta)
            return value, None if name == left else slope

        verdict = compute.verdict_of(key, without, seeds)
        failures = {aspect.name for aspect in verdict.aspects if aspect.points < aspect.max_points}
        assert f"{left}: slope" in failures and f"{left}: value" not in failures


# How many fire


def test_what_the_text_says_of_the_penalty_holds_in_fifteen_fresh_runs_of_each() -> None:
    runs = firing.stored()["runs"]
    assert all(len(of) == len(firing.FRESH) == 15 for of in runs.values()) and not set(firing.FRESH) & set(world.SEEDS)
    fires = {name: [100 * run["fires"] for run in of] for name, of in runs.items()}
    dead = {name: [run["dead"] for run in of] for name, of in runs.items()}
    assert (min(fires["with"]), max(fires["with"])) == pytest.approx((0.08, 0.3)) and (
        min(dead["with"]),
        max(dead["with"]),
    ) == (18, 49)
    assert (round(min(fires["without"])), round(max(fires["without"]))) == (28, 52) and set(dead["without"]) == {0}
    assert sum(run["right"] == 1 for run in runs["with"]) == 14 and all(run["right"] == 1 for run in runs["without"])
    plain, penalty = (
        " ".join(active_course().prediction(name).explanation.split())
        for name in ("world_fires", "world_fires_penalty")
    )
    assert "28 to 52 %" in plain and "0.08 to 0.3 %, with 18 to 49 dead neurons" in penalty


def make_start_model(seed: int) -> toy_transformer.ToyTransformer:
    """The model that `train` of the experiment on the little world starts from."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return toy_transformer.ToyTransformer().requires_grad_(False).eval()


def test_how_many_fire_before_training_and_after() -> None:
    before = firing.measure(make_start_model(0))
    after = firing.measure(toy_transformer.load())
    assert 0.4 < before["fires"] < 0.6 and after == {"fires": 0.0031, "dead": 31, "right": 1.0}  # world_fires


def test_untrained_is_where_training_starts_and_leaves_chance_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    model = make_start_model(3)
    assert torch.equal(torch.rand(1), expected)
    torch.manual_seed(3)
    assert torch.equal(toy_transformer.ToyTransformer().words.weight, model.words.weight)


def test_the_shares_that_a_formula_gives() -> None:
    phi = torch.special.ndtr(torch.tensor([0.0, -2.0], dtype=torch.float64))
    assert float(phi[0]) == 0.5 and round(100 * float(phi[1])) == 2
    assert sum(math.comb(32, k) for k in range(9)) == 15_033_173 and sum(math.comb(32, k) for k in range(2)) == 33


# Paper


def test_no_parabola_stays_in_the_valley() -> None:
    """What the full answer to M3 says: at 0 and at 2 the ribbon bounds a·x² + c so that at 1 it is below the ribbon."""
    highest = max((2.2 + 3 * c) / 4 for c in (-0.2, 0.2))
    assert highest == pytest.approx(0.7) and highest < 1 - 0.2
    assert [math.comb(4, k) * (-1) ** k for k in range(5)] == [1, -4, 6, -4, 1]
    assert pytest.approx(-0.8) == 2 * 2.2 - 8 * 0.8 + 6 * 0.2


def test_degree_four_wins_the_valley_and_not_the_zigzag() -> None:
    x = torch.linspace(-2, 2, 4001, dtype=torch.float64)
    assert float((0.14 + 0.94 * x**2 - 0.125 * x**4 - x.abs()).abs().max()) < wire.STRAIGHT["half"]
    heights = next(level for level in wire.KINKS if level["name"] == "zigzag")["target"]["y"]
    turns = np.count_nonzero(np.diff(np.sign(np.diff(heights))))
    assert turns == 4 > 4 - 1, "the derivative of degree 3 is zero at three places at most"


def test_two_relus_make_a_sigmoidal_neuron_and_no_width_helps_a_polynomial() -> None:
    """What *Deeper* says of the theorems: |x| on [-1, 1], first layer random, second the best there is."""
    x = torch.linspace(-1, 1, 401, dtype=torch.float64)[:, None]

    def left(act: Callable[[torch.Tensor], torch.Tensor], neurons: int) -> float:
        rng = torch.Generator().manual_seed(0)
        w, b = 12 * torch.randn(2, neurons, generator=rng, dtype=torch.float64)
        h = torch.cat([act(x * w + b), torch.ones_like(x)], dim=1)
        best = torch.linalg.lstsq(h, x.abs(), driver="gelsd").solution
        return float((h @ best - x.abs()).abs().max())

    def step(z: torch.Tensor) -> torch.Tensor:
        return torch.relu(z) - torch.relu(z - 1)

    assert step(torch.tensor([-1e3, 0.0, 1.0, 1e3])).tolist() == [0, 0, 1, 1]
    assert left(step, 500) < 0.02 and left(torch.sin, 500) < 0.02
    assert left(lambda z: z**3 - z, 4) > 0.05 and left(lambda z: z**3 - z, 500) > 0.05


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


def test_kinks_of_count_pieces_are_exact() -> None:
    for seed in range(30):
        inputs = exercises.count_pieces.inputs(seed, 0)
        for net in (value for value in inputs.values() if isinstance(value, dict)):
            for w, b in zip(net["W1"][0].tolist(), net["b1"].tolist(), strict=True):
                assert w == 0 or math.remainder(-b / w, exercises.CLOSE) == 0
    assert exercises.CLOSE > 1e-5  # what the notebook promises of kinks that differ


def test_a_net_is_judged_on_the_interval_that_was_drawn_and_not_on_one_that_comes_with_it() -> None:
    key = keys.find("relu_interpolant")
    build = key.the_truth.answer
    seeds = draws.public_seeds(key.exercise)
    net = tuple(build(4, -1.0, 1.0))
    brought = {"interval": (4, -1.0, 1.0), "net": net}  # as an observation was before: right for what it says of itself
    for observation in (net, brought):
        made_up: list[dict[str, Any]] = [
            {aspect.name: dict.fromkeys(inputs, observation) for aspect in key.exercise.aspects}
            for inputs in compute.inputs(key.exercise, seeds)
        ]
        reference_outputs = compute.reference_outputs(key.exercise.name, seeds)
        assert compare(key.exercise, reference_outputs, made_up, compute.inputs(key.exercise, seeds)).points == 0


# The fewest neurons


def neurons_of(n: int, low: float, high: float) -> int:
    answer: Callable[..., Any] = build.solution_answer("fewest_neurons").answer
    return int(answer(n, low, high)[1].numel())


def test_the_examples_of_fewest_neurons() -> None:
    assert (neurons_of(2, -0.5, 1.5), neurons_of(2, 0, 2), neurons_of(33, -1, 1), neurons_of(32, -1, 1)) == (
        1,
        2,
        32,
        32,
    )


def test_no_network_of_fewer_neurons_meets_the_heights() -> None:
    """Whatever the strengths, sides and kinks: all of them are solved for. With n − 1 neurons every kink has to be at a corner, so only the sides are free."""
    for seed in range(6):
        for n, low, high in exercises.fewest_neurons.inputs(seed, 0).values():
            nodes = torch.linspace(low, high, n + 1, dtype=torch.float64)
            off = []
            for sides in product((1.0, -1.0), repeat=n - 1):
                side = torch.tensor(sides, dtype=torch.float64)
                hidden = torch.relu(nodes[:, None] * side - side * nodes[1:-1])
                both = torch.cat([hidden, torch.ones(n + 1, 1, dtype=torch.float64)], dim=1)
                best = torch.linalg.lstsq(both, (nodes**2)[:, None], driver="gelsd").solution
                off.append(float((both @ best - nodes[:, None] ** 2).abs().max()))
            assert neurons_of(n, low, high) == (n - 1 if min(off) < 1e-9 else n) and not 1e-9 < min(off) < 1e-3


def test_what_interpolates_with_n_neurons_earns_nothing_in_fewest_neurons() -> None:
    key = keys.find("fewest_neurons")
    seeds = draws.public_seeds(key.exercise)
    for name in ("relu_interpolant", "fewest_neurons"):
        verdict = compute.verdict_of(key, build.solution_answer(name).answer, seeds)
        assert verdict.points == (0 if name == "relu_interpolant" else 6)


@pytest.mark.parametrize("method", ["grad", "backward", "jvp", "vjp"])
def test_autograd_is_named_where_slopes_are_to_be_written(method: str) -> None:
    """Also where only one of the four asks for it."""

    def slope(act: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor | None:
        z = x.detach().requires_grad_()
        if method == "grad":
            return torch.autograd.grad(act(z).sum(), z)[0]
        if method == "backward":
            act(z).sum().backward()  # type: ignore[no-untyped-call]
            return z.grad
        ones = torch.ones_like(x)
        return torch.func.jvp(act, (x,), (ones,))[1] if method == "jvp" else torch.func.vjp(act, x)[1](ones)[0]  # type: ignore[no-any-return]

    key = keys.find("activation")
    by_hand: Callable[..., Any] = build.solution_answer("activation").answer

    def answer(name: str, x: torch.Tensor, *beta: float) -> Any:
        return (F.gelu(x), slope(F.gelu, x)) if name == "gelu" else by_hand(name, x, *beta)

    verdict = compute.verdict_of(key, answer, draws.public_seeds(key.exercise))
    assert verdict.mistake == "slope_by_autograd" and exercises.BY_HAND in verdict.message


# A deep network


def off_by(layers: exercises.Layers) -> float:
    x = torch.linspace(-1, 1, 3 * 2**14 + 1, dtype=torch.float64)
    return float((exercises.run_layers(layers, x) - x * x).abs().max())


def test_each_tent_leaves_a_quarter_of_the_gap_and_four_tents_take_14_neurons() -> None:
    for count, gap in ((1, 0.0625), (2, 0.015625), (3, 0.00390625), (4, 0.0009765625)):
        layers = exercises.layers_of(deep_key.folded(count))
        assert off_by(layers) == pytest.approx(gap, abs=1e-9) and exercises.count_neurons(layers) == 2 + 3 * count
    solution = exercises.layers_of(build.solution_answer("deep_square").answer)
    assert (
        off_by(solution) == pytest.approx(0.00098, abs=1e-5)
        and exercises.count_neurons(solution) == exercises.FEW == 14
    )


def test_one_layer_takes_22_neurons_for_a_thousandth() -> None:
    """23 pieces are needed, 22 kinks; an odd number of pieces has a flat one in the middle, so 22 neurons do it."""
    assert 1 / (2 * 22**2) > exercises.WITHIN > 1 / (2 * 23**2) and wire.thousandth(interpolate).goals[0].record == 23
    answer: Callable[..., Any] = build.solution_answer("fewest_neurons").answer
    W1, b1, W2, b2 = (part.double() for part in answer(23, -1.0, 1.0))
    layers = [(W1, b1), (W2, b2 - 1 / (2 * 23**2))]
    assert off_by(layers) <= exercises.WITHIN and exercises.count_neurons(layers) == exercises.IN_ONE_LAYER


def test_nine_neurons_in_three_layers_are_enough() -> None:
    layers = exercises.layers_of(deep_key.in_thirds())
    assert off_by(layers) == pytest.approx(1 / (2 * 24**2)) and exercises.count_neurons(layers) == wire.DEEP_RECORD == 9
    assert len(layers) == 4


def test_a_network_that_is_a_sum_of_tents_with_odd_weights_is_told_how_far_it_is_off() -> None:
    key = keys.find("deep_square")
    verdict = compute.verdict_of(key, deep_key.folded(4, weight=-0.125), draws.public_seeds(key.exercise))
    assert verdict.points == 0 and "0.1252 too high" in verdict.symptom


# The progress bar


def test_the_bar_counts_every_step_and_ends_full(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    class Handle:
        def update(self, bundle: dict[str, str], raw: bool) -> None:
            texts.append(bundle["text/plain"])

    monkeypatch.setattr(progress_bar, "display", lambda *_, **__: Handle())
    assert list(progress_bar.bar(7, "a run")) == list(range(7))
    assert texts[-1].endswith("7 of 7 steps") and "░" not in texts[-1]
    with pytest.raises(ValueError, match="at least one step"):
        list(progress_bar.bar(0, "none"))
