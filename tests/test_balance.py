"""Notebook 09: the numbers in its figures computed again by loops; its stored runs; its draws."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest
import torch
from drawings import BALANCES, numbers, tips

from autograder.authoring.experiments import balance as making
from ffnlab.course.exercises import balance as exercises
from ffnlab.course.experiments import balance as experiment
from ffnlab.course.figures import balance as figures
from ffnlab.registry import active_course

# load


def test_load_says_what_is_stored() -> None:
    for setting in BALANCES:
        run = experiment.stored()["runs"][experiment.name(*setting)]
        figure = figures.load(*setting)
        assert numbers(figure.title)[-2:] == [round(run["effective"][0], 1), 8]
        last = 100 * run["load"][-1][0] / sum(run["load"][-1])
        assert f"expert 0 gets {last:.0f}% of the tokens, {run['dead'][0]} experts get none" in figure.sentence
        assert f"{min(run['error']):.4f}" in figure.sentence and f"{max(run['error']):.4f}" in figure.sentence


def test_load_counts_at_every_step() -> None:
    for head_start in experiment.HEAD_STARTS:
        run = experiment.stored()["runs"][experiment.name("none", head_start)]
        for index, row in enumerate(run["load"][:-1]):
            figure = figures.load("none", head_start, experiment.EVERY * index)
            effective = math.exp(-sum(x / sum(row) * math.log(x / sum(row)) for x in row if x))
            assert numbers(figure.title)[-2:] == [pytest.approx(effective, abs=0.051), 8]
            assert f"expert 0 gets {100 * row[0] / sum(row):.0f}% of the tokens" in figure.sentence


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("look", range(len(experiment.LOOKS)))
def test_the_tables_are_those_of_the_stored_runs(look: int, planted: bool) -> None:
    figure = figures.clusters(experiment.LOOKS[look], planted)
    tip_numbers = [numbers(tip) for tip in tips(figure)]
    shares = []
    for cure in figures.CURE_LABELS:
        run = experiment.stored()["runs"][experiment.name(cure, 3 if planted else 0)]
        shares += [share for row in zip(*run["tables"][look], strict=True) for share in row]
        for edge in (min(run["told"][look]), max(run["told"][look])):
            assert f"{edge:.2f}" in figure.sentence
    assert [values[-3] for values in tip_numbers] == shares
    assert len(tip_numbers) == 3 * 64


def test_the_stored_runs_are_complete_and_small() -> None:
    record = experiment.stored()
    assert list(record["runs"]) == [experiment.name(*setting) for setting in BALANCES]
    assert len(record["about"]["seeds"]) >= 5 and experiment.STORED.stat().st_size < 100_000
    for run in record["runs"].values():
        assert len(run["load"]) == 1 + experiment.STEPS // experiment.EVERY
        assert all(abs(sum(row) - 1000) <= 4 for row in run["load"])
        assert all(abs(sum(row) - 100) <= 4 for table in run["tables"] for row in table)
        assert len(run["tables"]) == len(run["told"]) == len(experiment.LOOKS)
        assert len(run["error"]) == len(run["information"]) == len(record["about"]["seeds"])
        assert run["told"][-1] == run["information"]


@pytest.mark.parametrize("cure", ["none", "loss, α = 0.01", "bias, u = 0.01"])
def test_a_stored_run_comes_out_again(cure: str) -> None:
    run = making.train_with_cure(cure, 3, 0)
    record = experiment.stored()["runs"][experiment.name(cure, 3)]
    share = (run.counts / run.counts.sum()).tolist()
    effective = math.exp(-sum(p * math.log(p) for p in share if p))
    assert effective == pytest.approx(record["effective"][0], abs=0.3)
    assert run.error == pytest.approx(record["error"][0], rel=0.3)
    assert making.information(run.tables[-1]) == pytest.approx(record["information"][0], abs=0.15)


def test_information_is_1_for_a_permutation_and_0_where_the_expert_tells_nothing() -> None:
    permutation = 64 * torch.eye(8)[torch.randperm(8, generator=torch.Generator().manual_seed(0))]
    assert making.information(permutation) == pytest.approx(1)
    assert making.information(torch.full((8, 8), 8)) == pytest.approx(0, abs=1e-9)
    pairs = torch.zeros(8, 8)
    for cluster in range(8):  # two clusters share an expert
        pairs[cluster, cluster // 2] = 64
    assert making.information(pairs) == pytest.approx(math.log(4) / math.log(8))


# What is said of training, from seeds on which nothing was chosen

SOURCE = (Path(__file__).parent.parent / "solutions" / "09_balance.py").read_text(encoding="utf-8")
MANY = len(experiment.FRESH)
GENTLE, STRONG, BIAS, SOFTMAX = "loss, α = 0.01", "loss, α = 1", "bias, u = 0.01", experiment.SOFTMAX


def fresh(what: str, cure: str, head_start: int) -> list[float]:
    values: list[float] = experiment.fresh(cure, head_start)[what]
    return values


def ranges(what: str, cure: str, head_start: int) -> tuple[float, float]:
    values = fresh(what, cure, head_start)
    return min(values), max(values)


def mean(what: str, cure: str, head_start: int) -> float:
    return statistics.fmean(fresh(what, cure, head_start))


def smaller(first: tuple[str, int], second: tuple[str, int]) -> int:
    """In how many of the runs the first setting has the smaller error."""
    return sum(a < b for a, b in zip(fresh("error", *first), fresh("error", *second), strict=True))


def explain(prediction: str) -> str:
    return " ".join(active_course().prediction(prediction).explanation.split())


def text() -> str:
    """What the notebook says, without its line breaks."""
    return " ".join(line.removeprefix("# ") for line in SOURCE.splitlines())


def test_nothing_was_chosen_on_the_runs_that_are_told_of() -> None:
    record = experiment.stored()
    assert MANY == 15 and not set(experiment.FRESH) & set(experiment.SEEDS) and len(experiment.SEEDS) <= 5
    assert record["about"]["fresh"] == list(experiment.FRESH)
    assert list(record["fresh"]) == [experiment.name(*setting) for setting in experiment.TEXT_SETTINGS]
    for run in record["fresh"].values():
        assert {len(of) for what, of in run.items() if what != "told"} == {MANY} == {len(of) for of in run["told"]}


@pytest.mark.parametrize("setting", [("none", 0), (GENTLE, 3), (BIAS, 0)])
def test_a_fresh_run_comes_out_again(setting: tuple[str, int]) -> None:
    again = making.numbers([making.train_with_cure(*setting, experiment.FRESH[0])])
    record = experiment.fresh(*setting)
    assert again["effective"][0] == pytest.approx(record["effective"][0], abs=0.3)
    assert again["error"][0] == pytest.approx(record["error"][0], rel=0.3)
    assert again["information"][0] == pytest.approx(record["information"][0], abs=0.15)


def test_what_is_said_of_the_collapse_holds_in_the_fresh_runs() -> None:
    about = experiment.stored()["about"]
    assert round(statistics.fmean(about["error of an output of 0"]), 2) == 0.27
    assert 0.2 < min(about["error of an output of 0, fresh"]) < max(about["error of an output of 0, fresh"]) < 0.4
    assert set(fresh("dead", "none", 3)) == {7} and "kept everything in fifteen other runs" in explain("head_start")
    assert sum(effective == 1 for effective in fresh("effective", "none", 2)) == 14
    assert "nearly everything in fourteen" in explain("head_start")
    assert ranges("effective", "none", 1)[0] >= 1 and 3.5 < ranges("effective", "none", 1)[1] < 4
    assert ranges("dead", "none", 0) == (1, 5) and "three to seven experts" in explain("head_start")
    assert ranges("effective", "none", 0)[0] > 2
    assert round(mean("error", "none", 3), 3) == 0.012
    assert all(round(mean("error", cure, 3), 3) in (0.005, 0.006) for cure in (GENTLE, BIAS))
    assert 2 < mean("error", "none", 3) / mean("error", GENTLE, 3) < 3  # “a factor of two or three”


def test_what_is_said_of_the_cures_holds_in_the_fresh_runs() -> None:
    for cure in (GENTLE, STRONG, BIAS, SOFTMAX):
        assert ranges("effective", cure, 3)[0] > 7 and ranges("dead", cure, 3) == (0, 0)
        assert smaller((cure, 3), ("none", 3)) == MANY
    assert smaller((GENTLE, 3), (BIAS, 3)) == 13 and "the bias at u = 0.01 in 13 of them" in text()
    assert ranges("effective", "loss, α = 0.001", 3)[1] < 2 and smaller(("loss, α = 0.001", 3), ("none", 3)) <= 2
    assert ranges("effective", "bias, u = 0.001", 3)[1] < 7.5 and smaller(("bias, u = 0.001", 3), ("none", 3)) <= 2
    assert mean("error", "bias, u = 0.1", 3) > 0.9 * mean("error", "none", 3)
    assert smaller((GENTLE, 3), (STRONG, 3)) == MANY and "in each of fifteen other runs" in explain("which_alpha")
    assert smaller((BIAS, 3), (SOFTMAX, 3)) == 14 and "as in 14 of 15 other runs" in text()
    gates = [round(mean("gate", cure, 3), 2) for cure in (SOFTMAX, BIAS)]
    assert f"{gates[0]:.2f} on average, against {gates[1]:.2f} with sigmoids" in text()


def test_what_is_said_of_an_even_load_holds_in_the_fresh_runs() -> None:
    errors = [round(mean("error", cure, 0), 4) for cure in ("none", GENTLE)]
    assert f"the mean error is {errors[0]:.4f} without a cure and {errors[1]:.4f} with α = 0.01" in text()
    assert MANY - smaller((GENTLE, 0), ("none", 0)) == 6 and "in 6 of 15 runs the cure made it larger" in text()
    ratios = [a / b for a, b in zip(fresh("error", STRONG, 0), fresh("error", "none", 0), strict=True)]
    span = f"{min(ratios):.1f} to {max(ratios):.1f} times"
    assert f"{span} the error of no loss" in explain("which_alpha") and f"{span} that without a loss" in text()
    assert f"in {MANY - smaller((STRONG, 0), ('none', 3))} of 15 other runs" in explain("perfect_and_bad")
    fewer = [a / b for a, b in zip(fresh("error", GENTLE, 0), fresh("error", STRONG, 0), strict=True)]
    assert f"with {statistics.geometric_mean(fewer):.2f} times the error" in explain("perfect_and_bad")
    for what, cure, head_start in (("error", STRONG, 0), ("error", "none", 3), ("error", "none", 0)):
        low, high = ranges(what, cure, head_start)
        assert f"{low:.4f} to {high:.4f}" in text()  # the full answer to M11
    tells = [statistics.fmean(experiment.fresh("none", 0)["told"][0])]
    tells += [mean("information", cure, 0) for cure in (GENTLE, STRONG)]
    assert f"tells {tells[0]:.2f} of the cluster on average" in text()
    assert f"that becomes {tells[1]:.2f}, and" in text() and f"it falls to {tells[2]:.2f}" in text()
    for cure in (GENTLE, STRONG):
        low, high = ranges("information", cure, 0)
        assert f"{low:.2f} to {high:.2f}" in text()
    assert f"the gates fall to {mean('gate', STRONG, 0):.2f};" in text() and ranges("gate", STRONG, 0)[1] < 0.19
    assert smaller((STRONG, 3), (STRONG, 0)) == 14 and "is smaller, in 14 of 15" in text()
    late, end = (experiment.fresh(STRONG, 3)["told"][experiment.LOOKS.index(step)] for step in (120, 300))
    assert sum(a > b for a, b in zip(late, end, strict=True)) == 13 and "So it was in 13." in text()


def test_the_tables_of_the_figure_show_what_is_said_of_them() -> None:
    runs = experiment.stored()["runs"]
    permutation = runs[experiment.name(GENTLE, 0)]["tables"][-1]
    assert all(sorted(row) == [0] * 7 + [100] for row in [*permutation, *map(list, zip(*permutation, strict=True))])
    table = runs[experiment.name(STRONG, 0)]["tables"][-1]
    for rows in (table, list(zip(*table, strict=True))):
        assert all(sum(share >= 5 for share in row) >= 2 for row in rows)
    information = runs[experiment.name(STRONG, 3)]["told"]
    assert information[-1][0] < information[experiment.LOOKS.index(120)][0]


# products


@pytest.mark.parametrize("undecided", range(11))
@pytest.mark.parametrize("confidence", figures.CONFIDENCES)
def test_the_loss_is_e_times_the_sum_of_f_and_p(undecided: int, confidence: float) -> None:
    rows = [(confidence, (1 - confidence) / 2, (1 - confidence) / 2)] * undecided
    rows += [(0.0, 0.51, 0.49)] * (10 - undecided)
    loss = 0.0
    for e in range(3):
        f = sum(max(row) == row[e] for row in rows) / 10
        loss += 3 * f * sum(row[e] for row in rows) / 10
    figure = figures.products(undecided, confidence)
    assert numbers(figure.title)[0] == pytest.approx(loss, abs=6e-4)
    assert ("below 1" in figure.title) == (loss < 0.9995)


def test_six_undecided_tokens_bring_the_loss_below_one() -> None:
    assert "0.850" in figures.products(6, 0.34).title


# capacity


@pytest.mark.parametrize("factor", figures.FACTORS)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("even", [False, True])
def test_who_comes_late_is_dropped(factor: float, k: int, even: bool) -> None:
    room = math.ceil(factor * k * 14 / 4)
    choices, loads, drops = figures.choices(k, even), [0] * 4, [0] * 14
    for s in range(k):
        for t in range(14):
            loads[choices[t][s]] += 1
            drops[t] += loads[choices[t][s]] > room
    figure = figures.capacity(factor, k, even)
    assert numbers(figure.title)[1:3] == [sum(drops), 14 * k]
    assert sum(tip.endswith("dropped") for tip in tips(figure)) == sum(drops)
    assert f"{drops.count(k)} of 14 tokens" in figure.sentence and f"room for {room} of" in figure.sentence


def test_what_the_notebook_says_about_capacity() -> None:
    assert not any(", slot 0: dropped" in tip for tip in tips(figures.capacity()))  # second choices go first
    late = [tip for tip in tips(figures.capacity(0.5, 1)) if tip.startswith(("jump", "over", "it", "."))]
    assert len(late) == 4 and all(tip.endswith("dropped") for tip in late)
    assert "0 of 28" in figures.capacity(1.0, 2, True).title


# selection


@pytest.mark.parametrize("step", range(-6, 7))
def test_the_bias_moves_the_choice_and_not_the_weights(step: int) -> None:
    bias = 0.05 * step
    sums = [s + bias * (e == figures.BIAS_EXPERT) for e, s in enumerate(figures.SCORES)]
    first, second = sorted(sorted(range(6), key=lambda e: sums[e])[-2:])
    for weighted, base in ((False, list(figures.SCORES)), (True, sums)):
        share = base[first] / (base[first] + base[second])
        assert numbers(figures.selection(bias, weighted).title) == pytest.approx(
            [first, second, share, 1 - share], abs=6e-3
        )


def test_scores_are_sigmoids_of_their_own_and_a_bias_of_a_tenth_is_enough() -> None:
    """What section 5 says: they need not sum to 1, expert 4 is third, 0.05 is too little and 0.1 brings it in."""
    assert sum(figures.SCORES) != pytest.approx(1) and all(0 < score < 1 for score in figures.SCORES)
    assert sorted(figures.SCORES)[-3] == figures.SCORES[figures.BIAS_EXPERT]
    titles = {bias: figures.selection(bias).title for bias in (0.0, 0.05, 0.1, 0.3)}
    assert titles[0.0] == titles[0.05] == "Chosen: 0 and 2, weights 0.54 and 0.46"
    assert titles[0.1] == titles[0.3] == "Chosen: 0 and 4, weights 0.62 and 0.38"


# The draws


@pytest.mark.parametrize("seed", range(30))
def test_draws_show_what_they_are_meant_to_show(seed: int) -> None:
    routing = exercises.load_balance_loss.inputs(seed, seed % 2)
    E = routing["logits"].shape[1]
    assert torch.bincount(routing["idx"].flatten(), minlength=E).min() > 0
    assert torch.bincount(routing["gap"].flatten(), minlength=E)[-1] == 0
    for idx in (routing["idx"], routing["gap"]):
        assert all(len(set(row)) == len(row) for row in idx.tolist())
    bias = exercises.bias_update.inputs(seed, 0)
    assert bias["uneven"].min() >= 0 and bias["exact"].min() >= 0
    assert int(bias["uneven"].sum()) % len(bias["b"]) and not int(bias["exact"].sum()) % len(bias["b"])
    assert (bias["uneven"] == bias["uneven"].sum() // len(bias["b"])).any()
    thousands = bias["thousands"].double()
    for precision in (torch.half, torch.bfloat16):  # what the sign of the difference to the mean needs is lost
        rounded = thousands.to(precision).double()
        assert not torch.equal(torch.sign(rounded.mean() - rounded), torch.sign(thousands.mean() - thousands))
    unused = bias["unused"].double()
    between = (unused > unused.mean()) & (unused < unused[unused > 0].mean())
    assert (unused == 0).sum() == 2 and between.any()
    f = torch.bincount(routing["least"].flatten(), minlength=E) / len(routing["least"])
    assert E * (f * routing["logits"].softmax(-1).mean(0)).sum() < 1
    counts = exercises.diagnose_load.inputs(seed, 0)
    some = counts["some"] / counts["some"].sum()
    assert (some == 0).sum() == 2 and ((some > 0) & (some < 0.01)).any()
    assert (counts["below"] == 0).sum() == 1 and (counts["below"] < 1).all()


def test_a_shared_experts_outputs_are_held_against_what_was_drawn() -> None:
    """Zeros everywhere agree with themselves, and a layer's own experts with its own output."""
    exercise = exercises.SharedExpertMoE
    inputs = exercise.inputs(0, 0)
    values, gradients = (aspect for aspect in exercise.aspects if aspect.facts)
    assert values.facts and gradients.facts
    right = exercises._Layer(inputs["sizes"], inputs["shift"], is_renormalised=False)
    cases = exercises._moe_inputs(inputs["x"], inputs["sizes"])
    outputs = {label: right(x, top_k).detach() for label, (x, top_k) in cases.items()}
    assert not any(off.any() for off in values.facts(outputs, inputs).values())
    nothing = {label: torch.zeros_like(output) for label, output in outputs.items()}
    assert all(off.abs().max() > 0.1 for off in values.facts(nothing, inputs).values())
    slopes = right.gradients(inputs["x"], inputs["sizes"][3])
    assert all(off is True or not off.any() for off in gradients.facts(slopes, inputs).values())
    twice = {name: 2 * slope for name, slope in slopes.items()}
    assert gradients.facts(twice, inputs)["gradient of the router"].abs().max() > 1e-6
