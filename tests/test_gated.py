"""Notebook 07: the numbers in its figures computed a second time."""

from __future__ import annotations

import math
import re
import statistics
from typing import Any

import numpy as np
import pytest
import torch
from conftest import needs_bubblewrap
from drawings import numbers, tips

from autograder import keys
from autograder.engine.grade_submission import grade_answer
from autograder.jail.sandbox import Jail
from autograder.reference import compute, draws
from ffnlab.course import gated_curves
from ffnlab.course.exercises import gated as exercises
from ffnlab.course.experiments import contest as experiment
from ffnlab.course.figures import gated
from ffnlab.observation.exercise import Draw, NotAsAsked, probe_inputs
from ffnlab.registry import active_course

# lights


@pytest.mark.parametrize("kind", gated.LIGHTS)
@pytest.mark.parametrize(("x1", "x2"), [(1.0, 1.0), (-1.75, 0.5), (0.25, -2.0), (0.0, 0.0)])
def test_the_matrix_that_the_gates_pick_does_what_the_ffn_does(kind: str, x1: float, x2: float) -> None:
    x = torch.tensor([x1, x2], dtype=torch.float64)
    ups, own, downs = (torch.from_numpy(matrix) for matrix in (gated.UPS, gated.OWN, gated.DOWNS))
    h = x @ ups
    hidden = {"plain ReLU": h.relu(), "GLU": torch.sigmoid(x @ own) * h, "ReGLU": (x @ own).relu() * h}[kind]
    figure = gated.lights(x1, x2, kind)
    assert numbers(figure.title)[-2:] == pytest.approx((hidden @ downs).tolist(), abs=0.006)
    rows = re.search(r"matrix \[(.+)\]", figure.sentence)
    assert rows
    matrix = torch.tensor([numbers(row) for row in rows[1].split(";")], dtype=torch.float64)
    assert (x @ matrix).tolist() == pytest.approx((hidden @ downs).tolist(), abs=0.025)


def test_what_the_prediction_says_of_2x() -> None:
    """The plain FFN's matrix stays, ReGLU's is doubled, GLU's is another one; and there are eight cones."""
    for x in (np.array([x1, x2]) for x1 in gated.PLACES for x2 in gated.PLACES if x1 or x2):
        once, twice = ({kind: gated.gates(way, kind) for kind in gated.LIGHTS} for way in (x, 2 * x))
        assert (once["plain ReLU"] == twice["plain ReLU"]).all() and np.allclose(2 * once["ReGLU"], twice["ReGLU"])
        assert not np.allclose(once["GLU"], twice["GLU"])
    inside = {  # beside the lines, where a sum is 0
        tuple(gated.gates(way, "plain ReLU"))
        for angle in range(360)
        for way in [np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])]
    }
    assert len(inside) == 8


def test_the_green_cone_holds_x_and_all_with_the_same_lights() -> None:
    for angle in range(0, 360, 7):
        x = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
        (_, first, second) = (np.array(corner) / 20 for corner in gated._cone(x))
        for share in (0.01, 0.5, 0.99):
            assert (
                gated.gates(share * first + (1 - share) * second, "plain ReLU") == gated.gates(x, "plain ReLU")
            ).all()


# table


def test_the_table_is_shazeers() -> None:
    table = gated.TABLE
    assert min(table, key=lambda name: table[name].short) == "GEGLU"
    assert min(table, key=lambda name: table[name].long) == "GEGLU"
    assert min(gated.PLAIN, key=lambda name: table[name].long) == "ReLU"


MEANS, SINGLE, LONG = gated.READINGS


@pytest.mark.parametrize(("reading", "runs"), [(MEANS, gated.RUNS), (SINGLE, 1)])
@pytest.mark.parametrize(("first", "second"), [("GELU", "ReLU"), ("GEGLU", "SwiGLU"), ("Bilinear", "GELU")])
def test_the_table_says_how_many_errors_two_rows_are_apart(first: str, second: str, reading: str, runs: int) -> None:
    first_row, second_row = gated.TABLE[first], gated.TABLE[second]
    of_means = math.sqrt(first_row.deviation**2 / runs + second_row.deviation**2 / runs)
    errors = abs(first_row.short - second_row.short) / of_means
    figure = gated.table(reading, first, second)
    assert numbers(figure.title)[-1] == pytest.approx(errors, abs=0.0051)
    assert ("more than two" in figure.sentence) == (errors > 2)
    assert figure.title.endswith("standard errors" if runs > 1 else "standard deviations")


def test_a_mean_of_four_runs_is_twice_as_sure_as_a_run() -> None:
    """Drawn at random: the standard deviation of a difference of runs, and of a difference of means of four."""
    noise = torch.randn(2, 4, 100_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 0.005
    of_runs, of_means = ((first - second).std() for first, second in ((noise[0, 0], noise[1, 0]), noise.mean(1)))
    assert float(of_runs) == pytest.approx(gated.apart("GELU", "ReLU", 1)[1], rel=0.02)
    assert float(of_means) == pytest.approx(gated.apart("GELU", "ReLU")[1], rel=0.02)


def test_just_under_two_deviations_is_not_written_as_two() -> None:
    figure = gated.table(SINGLE, "GELU", "ReLU")
    assert figure.title.endswith("1.98 standard deviations") and "less than two" in figure.sentence


def test_every_gated_row_is_outside_the_noise_of_every_plain_one_but_glu_against_gelu() -> None:
    for plain in gated.PLAIN:
        for name in set(gated.TABLE) - set(gated.PLAIN):
            gap, error = gated.apart(plain, name)
            if name != "GLU":
                assert gap / error > 6.5
            else:
                assert (gap / error > 3.5) == (plain != "GELU")


def test_gelu_leads_relu_after_the_short_runs_beyond_chance() -> None:
    for other in ("ReLU", "Swish"):
        gap, error = gated.apart("GELU", other)
        assert 3.7 < gap / error < 4


def test_the_long_runs_have_no_error_bars() -> None:
    figure = gated.table(LONG)
    assert "standard deviation" not in " ".join(tips(figure))
    assert "no deviation published" in figure.title


# contest


def test_the_stored_contest_is_fair_and_says_what_the_guesses_say() -> None:
    for setting, entrants in experiment.SETTINGS.items():
        assert len({experiment.count_weights(kind, entrants.d_ff) for kind in entrants.kinds}) == 1
        assert all(len(experiment.fresh(setting, kind)) == experiment.FRESH >= 15 for kind in entrants.kinds)
    fair = {kind: experiment.fresh(experiment.FAIR, kind) for kind in experiment.SETTINGS[experiment.FAIR].kinds}
    worst = min(min(fair[kind]) for kind in experiment.GATED)
    assert worst > max(max(fair[kind]) for kind in experiment.PLAIN)
    for setting in ("15 and 10 neurons", "1,200 steps", "learning rate 0.003", "learning rate 0.03"):
        silu, *gated_kinds = (statistics.fmean(experiment.fresh(setting, kind)) for kind in experiment.FEW)
        assert min(gated_kinds) > silu
    for setting, ahead in (("15 and 10 neurons", "SwiGLU"), ("1,200 steps", "Bilinear")):
        assert max(experiment.FEW, key=lambda kind: statistics.fmean(experiment.fresh(setting, kind))) == ahead
    assert min(min(experiment.fresh("24 and 16 neurons", kind)) for kind in experiment.FEW) > 0.98


def test_how_often_equal_kinds_look_different() -> None:
    """What the notebook says of two equal kinds, and of a table of eight, with four runs each."""
    runs = torch.randn(100_000, 8, 4, generator=torch.Generator().manual_seed(0))
    means = runs.mean(-1)
    variances = runs.var(-1)
    errors = torch.stack(
        [
            (means[:, i] - means[:, j]).abs() / ((variances[:, i] + variances[:, j]) / 4).sqrt()
            for i in range(8)
            for j in range(i)
        ],
        1,
    )
    alone = [(errors[:, 0] > bound).double().mean().item() for bound in (2, 4, 6.5)]
    table = [(errors.amax(1) > bound).double().mean().item() for bound in (2, 4, 6.5)]
    assert alone[0] == pytest.approx(0.09, abs=0.005) and alone[2] < alone[1] < 0.01
    assert table == pytest.approx([0.71, 0.13, 0.015], abs=0.005)


def test_what_the_quizzes_say_is_so() -> None:
    """One matrix serves a, b and a + b where a and b have the same lights; of eight equal kinds the largest lead is rarely small."""
    points = [np.array([x1, x2]) for x1 in gated.PLACES for x2 in gated.PLACES]
    lights = [tuple(gated.gates(point, "plain ReLU")) for point in points]
    for a, on in zip(points, lights, strict=True):
        for b, other in zip(points, lights, strict=True):
            assert on != other or tuple(gated.gates(a + b, "plain ReLU")) == on
    runs = torch.randn(50_000, 8, 4, generator=torch.Generator().manual_seed(1))
    means = runs.mean(-1)
    variances = runs.var(-1)
    pairs = torch.combinations(torch.arange(8)).T
    leads = (means[:, pairs[0]] - means[:, pairs[1]]).abs() / ((variances[:, pairs].sum(1)) / 4).sqrt()
    assert (leads.amax(1) > 3.5).double().mean() > 0.12
    assert (leads[:, 0] > 3.5).double().mean() < 0.05


# gate_or_flag


@pytest.fixture(scope="module")
def found() -> set[str]:
    """The functions that are found among all networks of two neurons with small numbers, by any of the five kinds."""
    grid = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)] * 5)
    steep = grid * torch.tensor([2.0, 1.0, 1.0, 1.0, 1.0])  # tanh is a sigmoid that is twice as steep
    names = set()
    for kind in gated_curves.ACTIVATIONS:
        for neurons in (grid, steep):
            terms = gated_curves.Network(kind, neurons).terms(gated_curves.PLACES)
            for name, function in gated_curves.CURVES.items():
                rest = function(gated_curves.PLACES) - terms
                slack = 1e-9 * function(gated_curves.PLACES).abs().clamp(min=1) + 1e-14 * terms.abs().amax(0)
                if any(bool(((other - rest).abs() <= slack).all(1).any()) for other in terms):
                    names.add(name)
    return names


def test_small_numbers_make_three_of_the_six_functions_and_no_others(found: set[str]) -> None:
    assert found == {"x * abs(x)", "tanh(x)", "max(1 - x**2, 0)"}


def test_functions_are_looked_at_far_out_and_near_their_corners() -> None:
    places = gated_curves.PLACES
    assert places.min() == -1e6 and places.max() == 1e6 and 0 in places
    for corner in (-1.0, 0.0, 1.0):
        for side in (-1, 1):
            assert ((places - corner) * side - 1e-4).abs().min() < 1e-9


def test_two_giants_that_cancel_are_not_taken_for_rounding() -> None:
    giants = [[0, 1000, 0, 1000, 1000], [0, 1000, 0, 1000, -1000]]
    for name in gated_curves.CURVES:
        said = gated_curves.read(["bilinear", *giants], name)
        assert isinstance(said, gated_curves.Network) and gated_curves.what_is_wrong(said, name)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("D", "none of the reasons"),
        (("relu", [1, 0, 1, 0, 1]), "begins with its kind"),
        (("reglu",), "0 neurons"),
        (("reglu", [1, 0, 1, 0]), "has 4 numbers"),
        (("reglu", *[[1, 0, 1, 0, 1]] * 3), "3 neurons"),
        (("reglu", [1, 0, 1, 0, 2000]), "beyond 1,000"),
        (5, "an int came back"),
    ],
)
def test_what_is_neither_a_network_nor_a_flag_is_told(answer: Any, words: str) -> None:
    with pytest.raises(NotAsAsked, match=words):
        gated_curves.read(answer, "tanh(x)")


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("sign(x)", ("glu", [1000, 0, 0, 1000, 0.002], [0, 0, 0, 1, -2]), gated_curves.NEAR_BUT_AT_ZERO),
        ("max(1 - x**2, 0)", ("reglu", [1, 1, -1, 1, 1], [-1, 1, 1, 1, 1]), gated_curves.DOUBLE_IN_THE_MIDDLE),
        ("x**3", ("bilinear", [1, 0, 1, 0, 1]), "at x = 0.5 it gives 0.25, not 0.125"),
    ],
)
def test_a_network_is_told_where_it_goes_wrong_and_nothing_denies_it(name: str, answer: Any, words: str) -> None:
    key = keys.find("gate_or_flag")
    answers = {curve: "A" for curve in gated_curves.CURVES} | {name: answer}
    verdict = compute.verdict_of(key, answers, draws.public_seeds(key.exercise))
    symptoms = {aspect.name: aspect.symptom for aspect in verdict.aspects}
    assert symptoms[name] == f"your network: {words}"
    assert symptoms["tanh(x)"] == "“flag A: more neurons could do it” is not right"


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_widths_on_each_side_of_a_multiple_and_every_third_are_drawn(seed: int) -> None:
    inputs = exercises.swiglu_width.inputs(seed, 0)
    assert [8 * d // 3 % 256 for d in inputs["edges"]] == [2, 253]
    assert [8 * d // 3 % inputs["small"] for d in inputs["rests"]] == [0, 1, inputs["small"] - 1]
    assert sorted(d % 3 for d in inputs["thirds"]) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_no_sum_loses_all_hidden_values_even_if_each_is_dropped_by_two_chances(seed: int) -> None:
    inputs = exercises.GatedFFN.inputs(seed, 0)
    tokens, width = inputs["wide"].shape
    assert tokens * (1 - (1 - inputs["p"]) ** 2) ** (exercises.COPIES * width) < 1e-7


BY_ORDER = """
calls = 0
def find_the_gate(fused, down, x, y):
    global calls
    half = len(fused) // 2
    order = [(fused[:half], fused[half:]), (fused[half:], fused[:half]), (fused[::2], fused[1::2]), (fused[1::2], fused[::2])]
    calls += 1
    return order[(calls - 1) % 4]
"""


@needs_bubblewrap
@pytest.mark.parametrize("secret", ["one class", "another class", "a third"])
def test_no_order_of_calls_tells_where_the_gate_is(secret: str, jail: Jail) -> None:
    assert grade_answer("find_the_gate", BY_ORDER, jail, secret)["points"] < 3


def test_no_checkpoint_comes_with_its_layouts_name() -> None:
    exercise = active_course().exercise("find_the_gate")
    text = repr([probe_inputs(exercise.draw(Draw(seed), 0)) for seed in range(3)])
    assert not any(word in text for word in ("above", "turn", "first", "d_ff"))
