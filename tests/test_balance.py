"""Notebook 09: the numbers in its figures computed again by loops; its stored runs; what it says of them; its draws."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path

import pytest
import torch
from drawings import numbers, tips

from autograder.authoring.experiments import balance as making
from ffnlab.course.exercises import balance as exercises
from ffnlab.course.experiments import balance as experiment
from ffnlab.course.figures import balance as figures
from ffnlab.registry import active_course

# The stored runs


def test_nothing_was_chosen_on_the_runs_that_are_stored() -> None:
    record = experiment.stored()
    assert MANY == 15 and not set(experiment.FRESH) & set(experiment.SEEDS) and len(experiment.SEEDS) <= 5
    assert record["about"]["fresh"] == list(experiment.FRESH) and experiment.STORED.stat().st_size < 20_000
    settings = [experiment.name(cure, head_start) for cure in experiment.CURES for head_start in experiment.HEAD_STARTS]
    assert list(record["fresh"]) == settings
    for run in record["fresh"].values():
        assert {len(values) for values in run.values()} == {MANY}


@pytest.mark.parametrize("setting", [("none", 0), ("loss, α = 0.01", 3), ("bias, u = 0.01", 0), ("bias, u = 0.01", 3)])
def test_a_stored_run_comes_out_again(setting: tuple[str, int]) -> None:
    again = making.numbers([making.train_with_cure(*setting, experiment.FRESH[0])])
    record = experiment.fresh(*setting)
    assert again["effective"][0] == pytest.approx(record["effective"][0], abs=0.3)
    assert again["error"][0] == pytest.approx(record["error"][0], rel=0.3)
    assert again["information"][0] == pytest.approx(record["information"][0], abs=0.15)


def test_information_is_1_for_a_permutation_and_0_where_the_expert_tells_nothing() -> None:
    permutation = 64 * torch.eye(8)[torch.randperm(8, generator=torch.Generator().manual_seed(0))]
    assert making.information(permutation) == pytest.approx(1)
    assert making.information(torch.full((8, 8), 8)) == pytest.approx(0, abs=1e-9)
    pairs = torch.zeros(8, 8)
    for cluster in range(8):  # two clusters share an expert
        pairs[cluster, cluster // 2] = 64
    assert making.information(pairs) == pytest.approx(math.log(4) / math.log(8))


# What is said of training

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


def test_what_is_said_of_the_planted_collapse_holds() -> None:
    assert set(fresh("dead", "none", 3)) == {7}
    for cure in (GENTLE, "loss, α = 0.1", STRONG, BIAS, SOFTMAX):
        assert ranges("effective", cure, 3)[0] > 7 and ranges("dead", cure, 3) == (0, 0)  # “work again”
        assert smaller((cure, 3), ("none", 3)) == MANY
    assert ranges("effective", "loss, α = 0.001", 3)[1] < 2  # too weak against the head start
    assert mean("effective", "bias, u = 0.001", 3) < 6 and smaller(("bias, u = 0.001", 3), ("none", 3)) <= 2
    collapse = mean("error", "none", 3)
    assert ranges("effective", "none", 3) == (1, 1) and "the collapsed run's" in text()
    assert 0.7 < mean("error", STRONG, 3) / collapse < 0.8 and "still three quarters" in text()
    assert all(mean("error", cure, 3) < 0.5 * collapse for cure in (GENTLE, BIAS))
    assert min(fresh("effective", STRONG, 3)) > 7.98 and "makes the load perfect" in text()
    assert smaller((GENTLE, 3), (SOFTMAX, 3)) == smaller((BIAS, 3), (SOFTMAX, 3)) == 14
    assert "After a head start both beat it in fourteen" in text()
    assert smaller((GENTLE, 3), (STRONG, 3)) == MANY  # the guess


def test_the_slow_bias_needs_more_time() -> None:
    """After the head start it is worse than no cure with 300 steps, and better with 600, beside either rival."""
    slow, rivals = experiment.SLOW, ("none", experiment.SIGMOID)
    assert (set(experiment.LONG_CURES), experiment.LONG) == ({slow, *rivals}, 2 * experiment.STEPS)
    for rival in rivals:
        assert smaller((rival, 3), (slow, 3)) == 14
        assert sum(a < b for a, b in zip(experiment.longer(slow), experiment.longer(rival), strict=True)) == 13
    assert "it ends worse than no cure in fourteen runs." in text()
    assert "With 600 steps it ends better in thirteen" in text()


def test_a_longer_run_comes_out_again() -> None:
    again = making.train_with_cure(experiment.SLOW, 3, experiment.FRESH[0], experiment.LONG)
    assert again.error == pytest.approx(experiment.longer(experiment.SLOW)[0], rel=0.3)


def test_what_is_said_where_nothing_was_planted_holds() -> None:
    none, sigmoid = mean("error", "none", 0), mean("error", experiment.SIGMOID, 0)
    assert 1.9 < mean("error", STRONG, 0) / none < 2.4 and "Without a head start it doubles the error" in text()
    assert smaller((STRONG, 0), ("none", 0)) == 0  # “more harm than no cure”
    assert mean("error", BIAS, 0) < mean("error", GENTLE, 0) < none
    assert min(experiment.CURES, key=lambda cure: mean("error", cure, 0)) == SOFTMAX  # “the smallest error”
    wins = smaller((SOFTMAX, 0), (GENTLE, 0)), smaller((SOFTMAX, 0), (BIAS, 0))
    assert wins == (9, 7)  # so none of the three is reliably better
    assert "it beats α = 0.01 in nine runs of fifteen, and the bias with sigmoids in seven" in text()
    assert sigmoid < none  # so the bias with sigmoids has a rival of its own in the figure
    assert mean("error", SOFTMAX, 0) < mean("error", BIAS, 0)  # and its lead over no cure is not the sigmoids'
    assert experiment.CURES[SOFTMAX].scores == "softmax"  # and of no other bias, as is said above the figure
    assert all(cure.scores == "sigmoid" for name, cure in experiment.CURES.items() if cure.u and name != SOFTMAX)


def test_the_figure_of_cures_draws_none_before_it_is_asked_for() -> None:
    """After Run All it would answer the guess above it."""
    cell = SOURCE.split('code="cures"')[1].split("# %%")[0]
    assert "\nmine = []  # for example" in cell and 'for name in ["none", "none, sigmoid", *mine]' in cell
    assert {"none", experiment.SIGMOID} <= set(experiment.CURES) and "loss, α = 0.1" in experiment.CURES


def test_the_table_of_cures_has_their_means() -> None:
    rows = [line.strip("| ").split(" | ") for line in experiment.table().splitlines()[2:]]
    assert [row[0] for row in rows] == list(experiment.CURES)
    for cure, *cells in rows:
        means = [mean("effective", cure, 3), mean("error", cure, 3), mean("effective", cure, 0), mean("error", cure, 0)]
        means += [mean("information", cure, 0), mean("gate", cure, 0)]
        assert [float(cell) for cell in cells] == pytest.approx(means, abs=0.051)
        assert [float(cell) for cell in cells[1:5:2]] == pytest.approx(means[1:5:2], abs=0.000051)
        assert [float(cell) for cell in cells[4:]] == pytest.approx(means[4:], abs=0.0051)


def test_a_sure_and_even_router_pays_more_than_one_that_is_unsure() -> None:
    generator = torch.Generator().manual_seed(0)
    E, T = experiment.N_EXPERTS, experiment.TOKENS
    loads = torch.stack([torch.randint(E, (T,), generator=generator).bincount(minlength=E) / T for _ in range(2000)])
    assert float(E * (loads**2).sum(1).mean()) == pytest.approx(1 + (E - 1) / T, abs=0.001)
    assert f"{1 + (E - 1) / T:.3f} in the toy" in text()
    assert 5 < (E - 1) / T / mean("error", GENTLE, 0) < 6 and "0.027, is more than five times the error" in text()
    assert 0.45 < mean("gate", STRONG, 0) / mean("gate", GENTLE, 0) < 0.6 and "only half as large" in text()


def test_errors_are_about_a_fifteenth_of_the_rivers() -> None:
    from ffnlab.course.experiments import river

    for branch, cure in ((river.PLAIN, "none"), (river.Branch("loss 0.1", 60), GENTLE)):
        shown = [row["3000"]["error"] for row in river.others(3, branch)]
        assert 10 < statistics.fmean(shown) / mean("error", cure, 3) < 20
    assert "about a fifteenth" in text() and "about a fifteenth" in explain("which_alpha")


def test_the_full_answer_tells_what_is_stored() -> None:
    ratios = [a / b for a, b in zip(fresh("error", STRONG, 0), fresh("error", "none", 0), strict=True)]
    assert f"{min(ratios):.1f} to {max(ratios):.1f} times that without a loss" in text()
    for what, cure, head_start in (("error", STRONG, 0), ("error", "none", 3), ("error", "none", 0)):
        low, high = ranges(what, cure, head_start)
        assert f"{low:.4f} to {high:.4f}" in text()
    for cure in (GENTLE, STRONG):
        low, high = ranges("information", cure, 0)
        assert f"{low:.2f} to {high:.2f}" in text()


def test_the_two_logs_of_the_quiz_are_two_stored_runs() -> None:
    rows = re.findall(r"^# \| [12] \| ([\d.]+) \| (.* %) \|$", SOURCE, re.M)
    run = experiment.FRESH.index(experiment.QUIZ_SEED)
    for (experts, shares), cure in zip(rows, experiment.QUIZ, strict=True):
        assert experts == f"{fresh('effective', cure, 0)[run]:.1f}"
        assert shares == ", ".join(f"{percent} %" for percent in experiment.tokens_by_expert(cure))
    assert experiment.QUIZ == (STRONG, GENTLE)
    assert ranges("information", STRONG, 0)[1] < ranges("information", GENTLE, 0)[0]  # so the answer is no luck


def test_the_routing_in_the_quiz_comes_out_again() -> None:
    shown, again = experiment.tokens_by_expert(GENTLE), making.tokens_by_expert(GENTLE)
    assert again == pytest.approx(shown, abs=10) and abs(sum(shown) - 100) <= 4


def test_each_letter_of_the_quiz_of_the_selection_bias_is_an_answer_that_somebody_computes() -> None:
    scores, biases = (0.6, 0.3, 0.2), (0.0, 0.0, 0.2)
    sums = [score + bias for score, bias in zip(scores, biases, strict=True)]
    first, second = sorted(range(3), key=lambda e: -sums[e])[:2]
    assert (first, second) == (0, 2)
    weights = {
        "A": sums[first] / (sums[first] + sums[second]),  # the bias in the weights
        "B": scores[first] / (scores[first] + scores[second]),
        "C": scores[0] / (scores[0] + scores[1]),  # the bias forgotten
    }
    options = dict(re.findall(r"^# - \*\*([ABC])\.\*\* (0\.\d\d)$", SOURCE, re.M))
    assert options == {letter: f"{weight:.2f}" for letter, weight in weights.items()}


# lowest_loss


def test_no_random_router_has_a_smaller_loss_than_the_record() -> None:
    """For given loads the best probabilities are known: each token shares equally among its own expert and the least loaded ones."""

    def least(loads: torch.Tensor) -> float:
        E, total = len(loads), 0.0
        for e in range(E):
            others = torch.cat([loads[:e], loads[e + 1 :]]).sort().values
            shared = torch.cat([loads[e : e + 1], others]).cumsum(0) / torch.arange(1, E + 1)
            total += float(loads[e] * shared.min())
        return E * total

    generator = torch.Generator().manual_seed(0)
    for E in (3, 4, 5, 8):
        busy = (E + 1) // 2
        even = torch.zeros(E, dtype=torch.float64)
        even[:busy] = 1 / busy
        assert least(even) == pytest.approx(exercises.record(E))
        for _ in range(1500):
            loads = torch.rand(E, generator=generator, dtype=torch.float64) ** 3
            loads[torch.rand(E, generator=generator) < 0.4] = 0
            near = even + 0.1 * torch.rand(E, generator=generator, dtype=torch.float64)
            for drawn in (loads, near):
                if drawn.sum() > 0:
                    assert least(drawn / drawn.sum()) >= exercises.record(E) - 1e-9


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
    """What is said of the selection bias: they need not sum to 1, expert 4 is third, 0.05 is too little and 0.1 brings it in."""
    assert sum(figures.SCORES) != pytest.approx(1) and all(0 < score < 1 for score in figures.SCORES)
    assert sorted(figures.SCORES)[-3] == figures.SCORES[figures.BIAS_EXPERT]
    titles = {bias: figures.selection(bias).title for bias in (0.0, 0.05, 0.1, 0.3)}
    assert titles[0.0] == titles[0.05] == "Chosen: 0 and 2, weights 0.54 and 0.46"
    assert titles[0.1] == titles[0.3] == "Chosen: 0 and 4, weights 0.62 and 0.38"


# The draws


@pytest.mark.parametrize("seed", range(30))
def test_draws_show_what_they_are_meant_to_show(seed: int) -> None:
    routing = exercises.balance_step.inputs(seed, seed % 2)
    E = routing["logits"].shape[1]
    counts = torch.bincount(routing["idx"].flatten(), minlength=E)
    assert counts.min() > 0 and (counts != counts.double().mean()).any()
    assert torch.bincount(routing["gap"].flatten(), minlength=E)[-1] == 0
    for idx in (routing["idx"], routing["gap"]):
        assert all(len(set(row)) == len(row) for row in idx.tolist())
    assert sorted(torch.bincount(routing["at_mean"].flatten()).tolist()) == [4, 5, 8, 8, 8, 8, 8, 15]
    f = torch.bincount(routing["least"].flatten(), minlength=E) / len(routing["least"])
    assert E * (f * routing["logits"].softmax(-1).mean(0)).sum() < 1
    assert sorted(E % 2 for E in exercises.lowest_loss.inputs(seed, 0)["experts"]) == [0, 0, 1]
