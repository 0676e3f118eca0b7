"""Notebook 09: the numbers in its figures computed again by loops; its stored runs; its draws."""

from __future__ import annotations

import math

import pytest
import torch
from drawings import BALANCES, numbers, tips

from ffnlab.exercises import balance as exercises
from ffnlab.experiments import balance as experiment
from ffnlab.figures import balance as figures

# load


def test_load_says_what_is_stored() -> None:
    for setting in BALANCES:
        run = experiment.stored()["runs"][experiment.name(*setting)]
        drawn = figures.load(*setting)
        assert numbers(drawn.title)[-2:] == [round(run["effective"][0], 1), 8]
        last = 100 * run["load"][-1][0] / sum(run["load"][-1])
        assert f"expert 0 gets {last:.0f}% of the tokens, {run['dead'][0]} experts get none" in drawn.sentence
        assert f"{min(run['error']):.4f}" in drawn.sentence and f"{max(run['error']):.4f}" in drawn.sentence


def test_the_stored_runs_are_complete_and_small() -> None:
    found = experiment.stored()
    assert list(found["runs"]) == [experiment.name(*setting) for setting in BALANCES]
    assert len(found["about"]["seeds"]) >= 3 and experiment.STORED.stat().st_size < 100_000
    for run in found["runs"].values():
        assert len(run["load"]) == 1 + experiment.STEPS // experiment.EVERY
        assert all(abs(sum(row) - 1000) <= 4 for row in run["load"])


@pytest.mark.parametrize(("alpha", "u"), [(0.0, 0.0), (0.01, 0.0), (0.0, 0.01)])
def test_a_stored_run_comes_out_again(alpha: float, u: float) -> None:
    run = experiment.train(0, 3, *experiment.cures(alpha, u))
    kept = experiment.stored()["runs"][experiment.name(alpha, 3, u)]
    share = (run.counts / run.counts.sum()).tolist()
    effective = math.exp(-sum(p * math.log(p) for p in share if p))
    assert effective == pytest.approx(kept["effective"][0], abs=0.3)
    assert run.error == pytest.approx(kept["error"][0], rel=0.3)


def ranges(what: str, *setting: float) -> tuple[float, float]:
    found = experiment.stored()["runs"][experiment.name(*setting)][what]
    return min(found), max(found)


def test_what_the_notebook_says_about_the_runs_holds_in_every_seed() -> None:
    for head_start in (2, 3):  # the planted collapse
        assert ranges("effective", 0, head_start, 0)[1] < 1.1
    assert ranges("effective", 0, 1, 0)[0] > 1.4 and ranges("effective", 0, 1, 0)[1] < 2.5
    assert ranges("effective", 0, 0, 0)[0] > 2.9 and ranges("effective", 0, 0, 0)[1] < 4.7
    assert ranges("dead", 0, 0, 0) == (3, 5)
    assert ranges("effective", 0.001, 3, 0)[1] < 2 and ranges("effective", 0, 3, 0.001)[1] < 5.1
    for cured in ((0.01, 3, 0), (0.1, 3, 0), (1, 3, 0), (0, 3, 0.01)):
        assert ranges("effective", *cured)[0] > 7.7
        assert ranges("error", *cured)[1] < ranges("error", 0, 3, 0)[0]
    assert ranges("effective", 0, 3, 0.1)[1] < ranges("effective", 0, 3, 0.01)[0]
    assert ranges("error", 0, 3, 0.1)[0] > ranges("error", 0, 3, 0.01)[1]
    assert ranges("error", 1, 3, 0)[0] > ranges("error", 0.01, 3, 0)[1]
    runs = experiment.stored()["runs"]
    strong, none = (runs[experiment.name(alpha, 0, 0)]["error"] for alpha in (1, 0))
    assert all(2 < a / b < 3 for a, b in zip(strong, none, strict=True))


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
    drawn = figures.products(undecided, confidence)
    assert numbers(drawn.title)[0] == pytest.approx(loss, abs=6e-4)
    assert ("below 1" in drawn.title) == (loss < 0.9995)


def test_six_undecided_tokens_bring_the_loss_below_one() -> None:
    assert "0.850" in figures.products(6, 0.34).title


# capacity


@pytest.mark.parametrize("factor", figures.FACTORS)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("even", [False, True])
def test_who_comes_late_is_dropped(factor: float, k: int, even: bool) -> None:
    room = math.ceil(factor * k * 14 / 4)
    chosen, taken, lost = figures.choices(k, even), [0] * 4, [0] * 14
    for s in range(k):
        for t in range(14):
            taken[chosen[t][s]] += 1
            lost[t] += taken[chosen[t][s]] > room
    drawn = figures.capacity(factor, k, even)
    assert numbers(drawn.title)[1:3] == [sum(lost), 14 * k]
    assert sum(tip.endswith("dropped") for tip in tips(drawn)) == sum(lost)
    assert f"{lost.count(k)} of 14 tokens" in drawn.sentence and f"room for {room} of" in drawn.sentence


def test_what_the_notebook_says_about_capacity() -> None:
    assert not any(", slot 0: dropped" in tip for tip in tips(figures.capacity()))  # second choices go first
    late = [tip for tip in tips(figures.capacity(0.5, 1)) if tip.startswith(("jump", "over", "it", "."))]
    assert len(late) == 4 and all(tip.endswith("dropped") for tip in late)
    assert "0 of 28" in figures.capacity(1.0, 2, True).title


# selection


@pytest.mark.parametrize("step", range(-6, 7))
def test_the_bias_moves_the_choice_and_not_the_weights(step: int) -> None:
    bias = 0.05 * step
    sums = [s + bias * (e == figures.BIASED) for e, s in enumerate(figures.SCORES)]
    one, other = sorted(sorted(range(6), key=lambda e: sums[e])[-2:])
    for weighted, base in ((False, list(figures.SCORES)), (True, sums)):
        share = base[one] / (base[one] + base[other])
        assert numbers(figures.selection(bias, weighted).title) == pytest.approx(
            [one, other, share, 1 - share], abs=6e-3
        )


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
