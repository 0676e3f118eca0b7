"""Notebook 10: the numbers in its figures computed again, the parts it hands out, and the stored experiment."""

from __future__ import annotations

import inspect
import itertools
import math
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.authoring.build import cells_of, solution_answer
from autograder.authoring.experiments import capstone as making
from autograder.authoring.experiments import creek as making_creek
from autograder.authoring.experiments import orders as making_orders
from autograder.keys import parts
from ffnlab.course import world
from ffnlab.course.boards import levers
from ffnlab.course.boards import orders as square
from ffnlab.course.exercises import capstone as exercises
from ffnlab.course.experiments import capstone as experiment
from ffnlab.course.experiments import creek, english, orders
from ffnlab.course.figures import capstone as figures
from ffnlab.course.tasks import Reader, learn, pairs

SOURCE = (Path(__file__).parent.parent / "solutions" / "10_capstone.py").read_text(encoding="utf-8")
WORDS = [words for _, words in figures.PAIRS]


@pytest.mark.parametrize("words", WORDS)
def test_the_dashboards_sentence_has_the_mean_and_the_spread_of_the_stored_runs(words: int) -> None:
    stored = experiment.stored()["runs"]["relu"][str(words)]["accuracy"]
    mean = 100 * sum(stored) / len(stored)
    spread = math.sqrt(sum((100 * share - mean) ** 2 for share in stored) / (len(stored) - 1))
    assert f"ReLU {mean:.1f} ± {spread:.1f}," in figures.dashboard("accuracy", words=words).sentence


def test_a_title_names_a_winner_only_where_the_gap_is_outside_the_spread() -> None:
    assert figures.level("accuracy", [[70, 74], [90, 92], [91, 95]]) == [1, 2]
    assert figures.level("loss", [[0.70, 0.74], [0.90, 0.92]]) == [0]
    assert "SwiGLU" in figures.dashboard("accuracy", words=40).title
    assert "4 of 5" in figures.dashboard("accuracy", words=24).title


def test_what_the_notebook_says_of_the_gaps_holds_in_the_stored_runs() -> None:
    """Neighbours in the ranking at 1,600 pairs keep their order, seed by seed; the model answer of M11 has both errors right."""
    accuracies = {name: figures.values("accuracy", name, 40) for name in experiment.MODELS}
    mean = {name: sum(shares) / len(shares) for name, shares in accuracies.items()}

    def error(first: str, second: str) -> float:
        return math.hypot(*(statistics.stdev(accuracies[name]) for name in (first, second)))

    ranking = sorted(accuracies, key=lambda name: mean[name])
    assert ranking == ["none", "none, 3 blocks", "relu", "moe, equal total", "swiglu", "moe, equal active"]
    assert {len(shares) for shares in accuracies.values()} == {15}
    order_counts = [
        sum(a < b for a, b in zip(accuracies[lower], accuracies[higher], strict=True))
        for lower, higher in itertools.pairwise(ranking)
    ]
    prose = " ".join(line.removeprefix("# ") for line in SOURCE.splitlines())
    assert "with an FFN about three quarters or more" in prose and min(mean[name] for name in ("relu", "swiglu")) > 72
    assert "know twice as much as one" in prose and mean["none, 3 blocks"] / mean["none"] == pytest.approx(2, abs=0.1)
    assert f"keep their order in at least {min(order_counts)} of the fifteen runs" in prose
    level = {
        (lower, higher)
        for lower, higher in itertools.pairwise(ranking)
        if mean[higher] - mean[lower] <= 2 * error(lower, higher)
    }
    assert level == {("relu", "moe, equal total")}
    apart = (mean["moe, equal total"] - mean["relu"]) / error("relu", "moe, equal total")
    assert f"the mixture of equal total are {apart:.1f} standard deviations apart" in prose
    assert "more than six standard errors apart" in prose and 6 < apart * math.sqrt(len(accuracies["relu"])) < 7
    # A third, two thirds, three quarters.
    near = [round(mean[name] / 100, 2) for name in ("none", "none, 3 blocks", "relu")]
    assert near == pytest.approx([1 / 3, 2 / 3, 3 / 4], abs=0.03)
    gap, single = mean["swiglu"] - mean["relu"], error("relu", "swiglu")
    many = math.sqrt(len(accuracies["relu"]))
    swiglu, relu = (f"{mean[name]:.1f} ± {statistics.stdev(accuracies[name]):.1f} %" for name in ("swiglu", "relu"))
    assert f"SwiGLU knows {swiglu} of the pairs, the ReLU FFN {relu} (mean" in prose
    assert f"The gap of {gap:.1f} points is about four" in prose and round(gap / single) == 4
    assert f"a difference of single runs ({single:.1f})" in prose and f"the two means ({single / many:.1f})" in prose
    assert 16 < gap / single * many < 17 and prose.count("between 16 and 17 standard errors") == 2
    for first in ("none, 3 blocks", "relu", "swiglu", "moe, equal total", "moe, equal active"):
        assert min(figures.values("accuracy", first, 24)) >= 99
    steps = [statistics.fmean(figures.values("time", name, 40)) for name in ("none, 3 blocks", "relu", "swiglu")]
    assert steps[0] > 2 * max(steps[1:])


def test_the_switch_changes_the_mixture_alone() -> None:
    total, active = (
        re.findall(
            r"(\w[\w ,]*?) ([\d,]+\d)(?=[,.](?: |$))",
            figures.dashboard("total parameters", equal).sentence.split(": ")[1],
        )
        for equal in figures.EQUAL
    )
    assert total[:-1] == active[:-1] and total[-1] != active[-1]


def test_the_stored_counts_are_those_of_the_blocks() -> None:
    stored = experiment.stored()
    assert stored["counts"] == {name: making.counts(name) for name in experiment.MODELS}
    assert stored["settings"]["seeds"] == list(experiment.SEEDS) and len(experiment.SEEDS) >= 15
    assert not set(experiment.SEEDS) & set(experiment.CHOSEN_ON) and len(experiment.CHOSEN_ON) <= 5
    for sizes in stored["runs"].values():
        assert all(len(run["accuracy"]) == len(run["loss"]) == len(experiment.SEEDS) for run in sizes.values())
    few = [100 * share for share in stored["runs"]["none"]["24"]["accuracy"]]
    assert (round(statistics.fmean(few)), round(statistics.stdev(few))) == (78, 3) and len(few) == 15  # without_ffn
    equal = [stored["counts"][name]["total"] for name in ("none, 3 blocks", "relu", "swiglu", "moe, equal total")]
    assert max(equal) / min(equal) < 1.04
    active = [stored["counts"][name]["active"] for name in ("relu", "swiglu", "moe, equal active")]
    assert max(active) / min(active) < 1.04


def test_a_stored_run_comes_out_again() -> None:
    seed = experiment.SEEDS[0]
    torch.manual_seed(seed)
    model = Reader(24, experiment.D_MODEL, making.blocks("relu"))
    run = learn(model, *pairs(24, seed), steps=experiment.STEPS)
    assert run["accuracy"] == pytest.approx(experiment.stored()["runs"]["relu"]["24"]["accuracy"][0], abs=0.02)


@pytest.mark.parametrize("name", ["none", "relu"])
def test_a_short_run_at_the_creek_comes_out_again(name: str) -> None:
    assert making_creek.short(name) == pytest.approx(creek.stored()["loss after 60 steps of seed 0"][name], abs=0.05)


def test_what_is_told_of_the_creek_comes_from_seeds_on_which_nothing_was_chosen() -> None:
    stored = creek.stored()
    assert stored["settings"]["seeds"] == list(creek.SEEDS) and len(creek.SEEDS) == 20
    assert not set(creek.SEEDS) & set(creek.CHOSEN_ON) and len(creek.CHOSEN_ON) <= 5
    assert stored["settings"]["steps"] == creek.STEPS == 1500 and creek.BATCH == 32
    assert stored["parameters"] == {name: making_creek.parameters(name) for name in creek.MODELS}
    relu, rival = stored["parameters"]["relu"], stored["parameters"]["none, 3 blocks"]
    assert abs(relu - rival) / relu < 0.01, "the rival is a fair one"
    assert {len(shares) for right in stored["right"].values() for shares in right.values()} == {20}


def test_what_the_notebook_says_of_the_twenty_runs_holds_in_them() -> None:
    right = creek.stored()["right"]
    assert {name: figures.count_rule_finders(name) for name in creek.MODELS} == {
        "none": 5,
        "none, 3 blocks": 18,
        "relu": 14,
        "relu, 2 blocks": 19,
    }
    pairs_of_runs = list(zip(right["none, 3 blocks"]["way"], right["relu"]["way"], strict=True))
    assert (sum(a > b for a, b in pairs_of_runs), sum(a < b for a, b in pairs_of_runs)) == (7, 2)
    assert right["relu, 2 blocks"]["way"].count(1.0) == 16
    assert max(share for share in right["relu"]["way"] if share < creek.RULE_THRESHOLD) == 0.7176
    for name in ("none", "relu"):
        assert min(right[name]["way"]) < 0.51 and max(right[name]["way"]) == 1


def test_the_stored_square_changes_one_thing_at_a_time() -> None:
    stored = orders.stored()
    assert stored["seeds"] == list(orders.SEEDS) and not set(orders.SEEDS) & set(creek.CHOSEN_ON)
    assert [len(row) for row in orders.shares()] == [8] * 8 and stored["steps"] == creek.STEPS
    assert making_orders.short() == pytest.approx(stored["loss after the short run"], abs=0.05)
    # Weights and order are two draws: with other weights, or in another order, the losses are others.
    losses = {(weights, order): making_orders.run(weights, order, 3)[0] for weights in (0, 1) for order in (0, 1)}
    assert len({tuple(each) for each in losses.values()}) == 4


def test_what_the_notebook_says_of_the_square_holds_in_it() -> None:
    found = [[share >= creek.RULE_THRESHOLD for share in row] for row in orders.shares()]
    assert [sum(row) for row in found] == [0, 3, 6, 1, 4, 8, 1, 7]
    assert all(0 < sum(column) < 8 for column in zip(*found, strict=True)), "in every order both happens"
    assert not found[square.START[0]][square.START[1]]
    assert (square.count_nudged(), square.count_turned()) == (16, 1)
    crossed = [
        (w, v) for w, v in itertools.combinations(range(8), 2)
        if any(found[w][o] > found[v][o] for o in range(8)) and any(found[w][o] < found[v][o] for o in range(8))
    ]  # fmt: skip
    assert len(crossed) >= 5, "the third level can be won from many rows"


def _chances(pulls: int, share: float) -> list[float]:
    """Of so many pulls, the probability of each number of runs that found the rule."""
    return [math.comb(pulls, hits) * share**hits * (1 - share) ** (pulls - hits) for hits in range(pulls + 1)]


def test_what_is_said_of_a_thousand_others_is_the_exact_sum() -> None:
    """Of all ways in which a few pulls can fall, each weighed with its probability."""
    found = {
        name: sum(share >= creek.RULE_THRESHOLD for share in right["way"])
        for name, right in creek.stored()["right"].items()
    }

    def leads(first: str, second: str, pulls: tuple[int, int]) -> tuple[int, int]:
        """To how many of a thousand the first and the second are ahead."""
        ahead = [0.0, 0.0]
        rows = [_chances(n, found[name] / 20) for name, n in zip((first, second), pulls, strict=True)]
        for (hits, a), (more, b) in itertools.product(enumerate(rows[0]), enumerate(rows[1])):
            if hits * pulls[1] != more * pulls[0]:
                ahead[hits * pulls[1] < more * pulls[0]] += a * b
        return round(1000 * ahead[0]), round(1000 * ahead[1])

    assert leads("relu", "none", (1, 1))[0] == 525 and leads("none, 3 blocks", "relu", (1, 1)) == (270, 70)
    assert [leads("none, 3 blocks", "relu", (n, n)) for n in (5, 20, 25)] == [(658, 101), (925, 32), (951, 21)]
    for name, (better, worse) in {"without": ("relu", "none"), "equal": ("none, 3 blocks", "relu")}.items():
        most = levers.RECORDS[name]
        splits = [(n, m) for n, m in itertools.product(range(1, most), repeat=2) if n + m <= most]
        enough = [n + m for n, m in splits if leads(better, worse, (n, m))[0] >= levers.SURE]
        assert min(enough) == most
    assert levers.ahead(5) == sum(leads("relu", "relu", (5, 5))) and levers.ahead(20) == sum(
        leads("relu", "relu", (20, 20))
    )
    assert [level["better"] for level in levers.levels()] == [1, 1, -1]


def test_the_notebooks_rule_says_of_our_own_runs_what_the_text_says() -> None:
    rule: Any = solution_answer("dare").answer
    found = {
        name: [share >= creek.RULE_THRESHOLD for share in right["way"]]
        for name, right in creek.stored()["right"].items()
    }

    def verdict(a: str, b: str) -> str | None:
        rest = {"A": iter(found[a]), "B": iter(found[b])}
        said: str | None = rule(lambda kind: next(rest[kind]))
        return said

    assert verdict("none", "relu") == "B" and verdict("none, 3 blocks", "relu") is None
    assert sum(found["none"]) == 5 and "found the rule, five of the single blocks among them" in SOURCE


def test_tables_below_a_guess_open_with_it_and_have_the_stored_means() -> None:
    """A cell that prints them would answer the guess after Run All."""
    for of, table, runs in (
        ("best_at_1600", experiment.table(), {name: run["40"]["accuracy"] for name, run in experiment.stored()["runs"].items()}),
        ("gaps_on_text", english.table(), english.stored()["bits per character"]),
    ):  # fmt: skip
        module = "experiment" if of == "best_at_1600" else "english"
        shown = [cell for cell in SOURCE.split("# %%") if f"{{{module}.table()}}" in cell]
        assert len(shown) == 1 and "veil(" in shown[0] and f'of="{of}"' in shown[0]
        rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
        assert [row[0] for row in rows] == list(runs)
        for name, *_, last in rows:
            mean, spread = (float(part.strip(" %")) for part in last.split("±"))
            scale = 100 if of == "best_at_1600" else 1
            values = [scale * value for value in runs[name]]
            assert (mean, spread) == pytest.approx((statistics.fmean(values), statistics.stdev(values)), abs=0.06)
    assert 'of="fifteen_seconds", text="\\n\\n".join(written)' in SOURCE


def test_equal_kinds_reach_the_rules_lead_in_about_three_of_a_hundred_games() -> None:
    drawn = exercises.dare.inputs(0, 0)
    said = exercises._play(solution_answer("dare").answer, drawn["equal"])["said"]
    assert (said > 0).double().mean().item() == pytest.approx(0.03, abs=0.015)


def test_a_lever_gives_no_more_runs_than_there_are() -> None:
    levers_of_a_game = exercises._Levers(torch.zeros(2, exercises.PULLS, dtype=torch.bool))
    assert [levers_of_a_game("A") for _ in range(exercises.PULLS)] == [False] * exercises.PULLS
    with pytest.raises(ValueError, match="no more than 20"):
        levers_of_a_game("A")
    with pytest.raises(ValueError, match="no kind 'C'"):
        levers_of_a_game("C")
    assert levers_of_a_game.pulls == [20, 0]


def test_the_english_is_read_nearly_nine_times() -> None:
    tokens = len(english.text().train)
    assert 8 < english.STEPS * english.BATCH * english.LONGEST / tokens < 9.5, "the notebook prints both numbers"


def test_the_learners_block_is_one_more_dot_wherever_it_falls() -> None:
    alone = figures.cloud()
    assert "yours" not in alone.svg and "Yours" not in alone.sentence
    for share in (0.0, 0.5, 0.96, 1.0):
        picture = figures.cloud(share)
        assert picture.svg.count(">yours<") == 1 and picture.svg.count("<circle") == alone.svg.count("<circle") + 1
        assert picture.title.startswith(f"Yours is right in {100 * share:.0f} %")
        assert (
            picture.sentence.startswith(alone.sentence)
            and f"one block with FFN: {100 * share:.1f} %" in picture.sentence
        )
    assert alone.svg.count("<circle") == 20 * len(creek.MODELS)


def test_a_block_is_asked_only_about_scenes_that_it_has_not_seen() -> None:
    assert "the creek was cold" not in " ".join(" ".join(world.wish(scene)) for scene in world.scenes(held_out=False))
    assert len(world.scenes(held_out=True)) == 1792 and len(world.scenes(held_out=False)) == 2304

    class Knows(torch.nn.Module):
        """Says what the little world would say, whatever it reads."""

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            scores = torch.zeros(*words.shape, len(world.WORDS))
            for row, sentence in zip(scores, words.tolist(), strict=True):
                tokens = [world.WORDS[n] for n in sentence]
                scene = world.Scene(tokens[1], tokens[3], tokens[6], tokens[7])
                row[torch.arange(len(tokens)), world.numbers(world.wish(scene))[1 : len(tokens) + 1]] = 1.0
            return scores

    known: Any = Knows()
    assert creek.judged(known) == {"way": 1.0, "feeling": 1.0, "both": 1.0}
    begun = "the creek was cold and the spunky dog wanted to jump"
    assert creek.tell(known, begun) == begun + " over it and was glad about the ice."


def test_the_losses_of_all_steps_come_back() -> None:
    torch.manual_seed(0)
    run = learn(Reader(5, 16, [making.PreNormBlock("moe", 4)]), *pairs(5, 0), steps=20)
    assert len(run["losses"]) == 20 and run["losses"][0] > run["losses"][-1] > 0


def test_the_mixture_equals_a_loop_over_tokens() -> None:
    torch.manual_seed(0)
    mixture: Any = parts.MoE
    moe = mixture(6, 10, n_experts=4, top_k=2)
    x = torch.randn(2, 5, 6)
    y, balance = moe(x)
    visits, likely = [0.0] * 4, torch.zeros(4)
    for b, t in itertools.product(range(2), range(5)):
        p = torch.softmax(moe.scorer(x[b, t]), -1)
        likely = likely + p / 10
        best = p.argsort(descending=True)[:2].tolist()
        expected = sum(p[e] / p[best].sum() * moe.experts[e](x[b, t]) for e in best)
        assert torch.allclose(y[b, t], expected, atol=1e-6)
        for e in best:
            visits[e] += 1 / 20
    assert balance.item() == pytest.approx(
        4 * sum(v * p for v, p in zip(visits, likely.tolist(), strict=True)), abs=1e-6
    )
    assert balance.requires_grad


def test_the_guides_parts_are_those_of_the_notebook() -> None:
    for part in (parts.FFN, parts.SwiGLU, parts.MoE):
        assert inspect.getsource(part) in cells_of("10_capstone")["imports"] + "\n"


def test_the_parts_keep_the_shape() -> None:
    x = torch.randn(3, 2, 6)
    ffn, swiglu, moe = (part(6, 10) for part in (parts.FFN, parts.SwiGLU, parts.MoE))
    assert ffn(x).shape == swiglu(x).shape == moe(x)[0].shape == x.shape


def test_pairs_are_all_pairs_with_random_answers() -> None:
    inputs, targets = pairs(5, 0)
    assert len({tuple(pair) for pair in inputs.tolist()}) == 25 and 0 <= int(targets.min()) <= int(targets.max()) < 5
    assert not torch.equal(targets, pairs(5, 1)[1])


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_a_block_has_an_odd_number_of_heads_and_no_two_sizes_are_equal(seed: int) -> None:
    drawn = exercises.Block.inputs(seed, 0)
    B, T, d_model = drawn["x"].shape
    assert drawn["n_heads"] % 2 == 1 and d_model % drawn["n_heads"] == 0
    assert len({B, T, d_model, drawn["n_heads"], drawn["d_ff"]}) == 5
