"""Notebook 07: the numbers in its figures computed a second time."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import needs_bubblewrap
from drawings import GATES, contest, numbers, tips
from torch import nn

from autograder.authoring.experiments import cells
from autograder.engine.grade_submission import grade_answer
from autograder.jail.sandbox import Jail
from ffnlab.course import atlas
from ffnlab.course.exercises import gated as exercises
from ffnlab.course.figures import gated
from ffnlab.observation.exercise import Draw, probe_inputs
from ffnlab.registry import active_course

# gate


@pytest.mark.parametrize("name", gated.GATES)
@pytest.mark.parametrize("t", [-3.0, -1.5, 0.0, 2.0])
def test_gate_writes_the_product_that_torch_computes(name: str, t: float) -> None:
    gate = GATES[name](torch.tensor(1.5 * t - 0.5, dtype=torch.float64)).item()
    up = -0.5 * t + 2
    figure = gated.gate(t, 1.5, -0.5, -0.5, 2.0, name)
    assert numbers(figure.title) == pytest.approx([t, gate, up, gate * up], abs=0.006)


def test_two_equal_lines_make_a_square() -> None:
    for t in (-2.0, -0.5, 1.0, 2.5):
        assert numbers(gated.gate(t, 1.0, 0.0, 1.0, 0.0).title)[-1] == pytest.approx(t * t, abs=0.006)


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


# matched


@pytest.mark.parametrize("d", gated.WIDTHS[:2])
@pytest.mark.parametrize("ratio", [ratio for _, ratio in gated.RATIOS])
def test_matched_counts_what_torch_counts(d: int, ratio: float) -> None:
    f = 64 * math.ceil(math.floor(ratio * d + 1e-9) / 64)
    three = (nn.Linear(d, f, bias=False), nn.Linear(d, f, bias=False), nn.Linear(f, d, bias=False))
    count = sum(layer.weight.numel() for layer in three)
    figure = gated.matched(d, ratio, 64)
    assert f"three matrices, {count:,} weights" in figure.sentence
    assert numbers(figure.title) == [f, pytest.approx(100 * count / (8 * d * d), abs=0.051)]


def test_matched_finds_the_widths_of_published_models() -> None:
    for name in ("LLaMA-1/2 7B", "LLaMA-1/2 13B", "LLaMA-1 33B", "LLaMA-1 65B"):
        model = atlas.find(name)
        assert numbers(gated.matched(model.d_model, 8 / 3, 256).title)[0] == model.d_ff
    assert "as good as equal" in gated.matched(4096, 8 / 3, 1).sentence


def test_matched_says_what_happened_to_the_width() -> None:
    assert "cut to a whole number" in gated.matched(4096, 8 / 3, 1).sentence
    assert "rounded up to a multiple of 256" in gated.matched(4096, 8 / 3, 256).sentence
    for multiple in (1, 256):
        untouched = gated.matched(4096, 4.0, multiple).sentence
        assert "cut" not in untouched and "rounded" not in untouched
    assert "150.0 %" in gated.matched().title


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


def test_no_gate_is_said_to_let_up_pass_a_negative_number_of_times() -> None:
    assert "up is multiplied by −1" in gated.gate(-2.0, 1.0, 1.0, 1.0, -1.0).sentence


# contest


def test_contest_shows_every_seed_and_says_whether_the_gated_are_ahead() -> None:
    figure = contest(80, "SwiGLU")
    assert len(tips(figure)) == 6
    assert figure.title == "Step 80: SwiGLU knows 90 % (80 to 100)"
    assert "worst run with a gate knows 70 %" in figure.sentence and "without 60 %" in figure.sentence
    assert "are above" in figure.sentence and "are not above" in contest(40, "GLU").sentence


def shares(network: str, name: str, steps: int) -> list[float]:
    values: list[float] = cells.stored()["contest"][network][name][str(steps)]
    assert len(values) == len(cells.FRESH) >= 15 and min(cells.FRESH) >= 5
    return values


def ahead(network: str, first: str, second: str, steps: int) -> int:
    """In how many of the other sets of facts the first knows more."""
    return sum(a > b for a, b in zip(shares(network, first, steps), shares(network, second, steps), strict=True))


def test_what_is_told_of_the_contest_holds_in_fifteen_other_sets_of_facts() -> None:
    explanation = active_course().prediction("gated_or_plain").explanation
    plain = [name for name in cells.PLAIN if name != "identity"]
    means = {name: f"{100 * statistics.fmean(shares('18 wide', name, 400)):.0f} %" for name in (*plain, *cells.GATED)}
    assert f"ReLU, GELU and SiLU knew {means['ReLU']}, {means['GELU']} and {means['SiLU']} on average" in explanation
    assert f"from {means['GLU']} (GLU) to {means['Bilinear']} (Bilinear)" in explanation
    assert min(means[name] for name in cells.GATED) == means["GLU"] > max(means[name] for name in plain)
    assert max(means[name] for name in cells.GATED) == means["Bilinear"]
    assert all(ahead("18 wide", gate, name, 400) == 15 for gate in cells.GATED for name in plain)
    source = (Path(__file__).parent.parent / "solutions" / "07_gated.py").read_text(encoding="utf-8")
    early, late = (ahead("18 wide", "SiLU", "GELU", steps) for steps in (120, 400))
    assert f"SiLU was ahead of GELU in {early} after 120 steps, and in {late} after 400" in source


def test_what_is_told_of_other_networks_holds_in_fifteen_other_sets_of_facts() -> None:
    explanation = active_course().prediction("order_again").explanation
    for network, steps in (("15 wide", 400), ("18 wide, longer", 1200)):
        assert all(ahead(network, gate, "SiLU", steps) == 15 for gate in ("Bilinear", "SwiGLU"))
    assert f"Bilinear was ahead of SwiGLU in {ahead('18 wide', 'Bilinear', 'SwiGLU', 400)} at first" in explanation
    assert ahead("15 wide", "SwiGLU", "Bilinear", 400) == ahead("18 wide, longer", "Bilinear", "SwiGLU", 1200) == 15
    assert min(share for name in cells.ENTRANTS for share in shares("24 wide", name, 400)) >= 0.99


def test_a_stored_contest_comes_out_again() -> None:
    learn = cells.function("07_gated", "learn", ("imports", "train-contest"))
    again = learn("ReLU", 18, seeds=cells.FRESH[-1] + 1, steps=40)[0][-1][cells.FRESH[0] :]
    assert again == pytest.approx(shares("18 wide", "ReLU", 40), abs=0.02)


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


@pytest.mark.parametrize("kind", GATES)
def test_a_turned_gate_turns_the_curve_and_two_turned_ones_mirror_it(kind: str) -> None:
    """What notebook 07 says of its plot of one gated unit."""
    x = torch.linspace(-3, 3, 301, dtype=torch.float64)
    unit = GATES[kind](x) * x
    assert torch.allclose(GATES[kind](-x) * x, -unit.flip(0))
    assert torch.allclose(GATES[kind](-x) * -x, unit.flip(0))
    assert torch.allclose(unit.flip(0), unit) is (kind == "none")  # bilinear


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
