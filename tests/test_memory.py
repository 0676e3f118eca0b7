"""Notebook 06: the numbers in its figures computed again by loops, and its stored runs."""

from __future__ import annotations

import statistics
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from drawings import LAST_FACT, numbers

from autograder.authoring.experiments import cells
from autograder.authoring.experiments import fact_stores as making
from ffnlab.course.exercises import memory as exercises
from ffnlab.course.experiments import fact_stores
from ffnlab.course.figures import memory as figures
from ffnlab.drawing import style
from ffnlab.registry import active_course

SOURCE = (Path(__file__).parent.parent / "solutions" / "06_memory.py").read_text(encoding="utf-8")


def test_every_person_has_a_name_of_their_own_and_every_answer_a_word() -> None:
    assert len({figures.name(n) for n in range(figures.N_FACTS)}) == figures.N_FACTS
    assert len(set(figures.LIKES)) == fact_stores.ANSWERS


def test_the_people_on_the_slider_are_as_mixed_as_all_facts() -> None:
    """What the notebook says of them, and of what it takes to delete their facts: about a quarter with one neuron, three quarters with two."""

    def known(fact: int, count: int) -> bool:
        return "fact is known" in figures.growing(fact, count).sentence

    def lost(fact: int, m: int, at_random: bool = False) -> bool:
        return "lost," in figures.knocked(fact, m, at_random).title

    people = [fact for _, fact in figures.PEOPLE]
    neuron_counts = [next(k for k in range(figures.NEURONS + 1) if known(fact, k)) for fact in people]
    assert (min(neuron_counts), max(neuron_counts)) == (1, 19)
    assert sum(not known(214, k) for k in range(neuron_counts[people.index(214)], figures.NEURONS)) > 0, (
        "one falls behind again"
    )
    assert [sum(lost(fact, m) for fact in people) for m in (1, 2, 3, 4)] == [2, 6, 7, 8]
    assert not any(lost(people[0], m, True) for m in range(17)), (
        "where the slider starts, random neurons delete nothing"
    )
    assert len({name[-4:] for name, _ in figures.PEOPLE}) == 8, "names that end alike are hard to tell apart"


def scores_by_loops(fact: int, gone: set[int] = frozenset()) -> list[float]:  # type: ignore[assignment]
    """The scores of all answers for one fact, neuron by neuron."""
    facts, store = fact_stores.store()
    x = facts.E[fact].double()
    out = x + store.b2.double()
    for j in range(figures.NEURONS):
        h = max(0.0, float(x @ store.keys[j].double()) + float(store.b1[j]))
        if j not in gone:
            out = out + h * store.values[j].double()
    return [float(out @ answer.double()) for answer in facts.U]


def strongest(fact: int) -> list[int]:
    facts, store = fact_stores.store()
    x, direction = facts.E[fact].double(), facts.U[facts.y[fact]].double()
    parts = []
    for j in range(figures.NEURONS):
        h = max(0.0, float(x @ store.keys[j].double()) + float(store.b1[j]))
        parts.append((h * float(store.values[j].double() @ direction), j))
    return [j for _, j in sorted(parts, reverse=True)]


def test_the_store_of_the_figures_knows_all_its_facts() -> None:
    facts, _ = fact_stores.store()
    assert bool((figures._logits().argmax(1) == facts.y).all())


@pytest.mark.parametrize(("fact", "m"), [(0, 1), (64, 4), (LAST_FACT, 8)])
def test_a_knock_out_loses_what_the_loops_lose(fact: int, m: int) -> None:
    facts, _ = fact_stores.store()
    gone = set(strongest(fact)[:m])
    all_scores = [scores_by_loops(n, gone) for n in range(figures.N_FACTS)]
    wrong = [n for n, scores in enumerate(all_scores) if scores.index(max(scores)) != int(facts.y[n])]
    picture = figures.knocked(fact, m)
    assert ("lost," in picture.title) == (fact in wrong)
    assert numbers(picture.title) == [m, len([n for n in wrong if n != fact])]


def test_one_neuron_is_spoken_of_as_one() -> None:
    assert "Without its strongest neuron the store says" in figures.knocked(0, 1).sentence
    assert "Without one neuron that fires for it, chosen at random, the" in figures.knocked(0, 1, True).sentence
    assert "Without 4 of its strongest neurons the store says" in figures.knocked(0, 4).sentence


@pytest.mark.parametrize("count", [0, 1, 4, figures.NEURONS])
def test_the_growing_sum_says_what_the_loops_say(count: int) -> None:
    scores = scores_by_loops(64, set(strongest(64)[count:]))
    picture = figures.growing(64, count)
    right = int(fact_stores.store()[0].y[64])
    assert f"“{figures.LIKES[scores.index(max(scores))]}”" in picture.title
    lead = scores[right] - max(score for answer, score in enumerate(scores) if answer != right)
    (handle,) = [
        element.attrib["aria-valuetext"]
        for element in ET.fromstring(picture.svg).iter()
        if "data-drags" in element.attrib
    ]
    assert numbers(handle) == [count, pytest.approx(lead, abs=0.006)]


@pytest.mark.parametrize("j", [0, 127])
def test_the_inspector_counts_the_facts_that_a_neuron_fires_for(j: int) -> None:
    facts, store = fact_stores.store()
    sums = [float(x @ store.keys[j]) + float(store.b1[j]) for x in facts.E]
    picture = figures.neuron(j)
    assert numbers(picture.title) == [j, sum(total > 0 for total in sums), figures.N_FACTS]
    assert figures.name(sums.index(max(sums))) in picture.sentence


def test_people_on_the_left_have_answers_on_the_right_more_often_than_by_chance() -> None:
    shared = [numbers(figures.neuron(j).sentence.split("on the left,")[1])[0] for j in range(figures.NEURONS)]
    assert sum(shared) / len(shared) == pytest.approx(2.4, abs=0.05)


def test_the_table_is_complete_and_more_neurons_know_more() -> None:
    for count in figures.FACTS:
        means = [sum(fact_stores.accuracy(count, width)) / len(fact_stores.SEEDS) for width in figures.WIDTHS]
        assert all(0 <= share <= 1 for share in means)
        assert all(later >= earlier - 0.02 for earlier, later in pairwise(means))
    assert fact_stores.stored()["settings"]["seeds"] == list(fact_stores.SEEDS)


# What is said of training, from seeds on which nothing was chosen


def read_explanation(prediction: str) -> str:
    return " ".join(active_course().prediction(prediction).explanation.split())


def text() -> str:
    """What the notebook says, without its line breaks."""
    return " ".join(line.removeprefix("# ") for line in SOURCE.splitlines())


def test_nothing_was_chosen_on_the_runs_that_are_told_of() -> None:
    stored = fact_stores.stored()
    assert stored["settings"]["fresh"] == list(fact_stores.FRESH) and not set(fact_stores.FRESH) & set(
        fact_stores.SEEDS
    )
    all_shares = [shares for row in stored["fresh"].values() for shares in row.values()]
    assert {len(shares) for shares in all_shares} == {len(room["fires"]) for room in stored["room"].values()} == {15}


def test_sixteen_facts_fit_into_a_neuron_and_twenty_are_the_limit() -> None:
    """1.5 bits per weight, and 1.9 at most: what the notebook says of the fresh runs."""
    for width in (16, 32, 64, 128):
        assert min(fact_stores.fresh(16 * width, width)) == 1
    misses = [round(128 * (1 - share)) for share in fact_stores.fresh(128, 8)]
    assert sum(number > 0 for number in misses) == 6 and max(misses) == 2
    assert "With 8 neurons, six runs missed one or two facts." in text()
    assert fact_stores.bits_per_weight(512, 32, 1.0) == 1.5 and "**1.5 bits per weight** at 16 facts" in text()
    bits = {
        n: statistics.fmean(fact_stores.bits_per_weight(n, 32, share) for share in fact_stores.fresh(n, 32))
        for n in fact_stores.LIMIT_FACTS
    }
    most = max(bits, key=lambda n: bits[n])
    assert most / 32 == 20 and f"up to {bits[most]:.1f} at its limit, about 20 facts per neuron" in text()


def test_more_to_learn_means_fewer_known_and_more_steps_do_not_mend_it() -> None:
    assert min(fact_stores.fresh(256, 16)) == 1
    usual, long = ([512 * share for share in runs] for runs in (fact_stores.fresh(512, 16), fact_stores.longer()))
    assert len(long) == 15 and all(after > before for before, after in zip(usual, long, strict=True))
    assert 230 < statistics.fmean(long) < 256 and "with 512 facts, nearly up to the 256 that fit" in text()
    known = [round(1024 * share) for share in fact_stores.fresh(1024, 16)]
    assert f"a tenth of 1024: {min(known)} to {max(known)} of them" in read_explanation("overloaded")
    assert statistics.fmean(fact_stores.fresh(512, 16)) == pytest.approx(1 / 3, abs=0.03)
    table = fact_stores.accuracy(4096, 256)
    assert f"know {100 * min(table):.0f} to {100 * max(table):.0f} %" in read_explanation("overloaded")


def test_what_is_said_of_knock_outs_holds_in_fifteen_other_stores() -> None:
    knockouts = fact_stores.read_knockouts()
    explanation = read_explanation("strongest_out")
    losses = {m: knockouts["lost"][m] for m in ("1", "4")}
    assert {len(shares) for what in ("lost", "others", "most", "chance") for shares in knockouts[what].values()} == {15}
    assert f"{100 * min(losses['1']):.0f} to {100 * max(losses['1']):.0f} % were lost" in explanation
    assert statistics.fmean(losses["1"]) == pytest.approx(0.2, abs=0.03)  # about a fifth
    assert f"gone: {100 * min(losses['4']):.0f} % or more" in explanation
    assert statistics.fmean(knockouts["chance"]["8"]) == pytest.approx(0.2, abs=0.03)
    assert statistics.fmean(knockouts["others"]["8"]) == pytest.approx(0.1, abs=0.01)
    room = fact_stores.room(64, 512)
    assert set(room["lost"]["4"]) == {0.0} and 0.4 < min(room["fires"]) < max(room["fires"]) < 0.5  # room_to_spare
    assert all(0.48 < share < 0.52 for state in knockouts["fires"].values() for share in state)
    same, others = (statistics.fmean(knockouts["agree"][name]) for name in ("same", "others"))
    assert others < same < others + 0.005


def test_a_fresh_store_comes_out_again() -> None:
    seed = fact_stores.FRESH[0]
    again = making.train_store(fact_stores.facts(640, seed), 32, seed)[1]
    assert again == pytest.approx(fact_stores.fresh(640, 32)[0], abs=0.02)


def test_only_knocked_out_answers_have_grey_bars_behind_them() -> None:
    assert style.GHOST in figures.knocked(0, 4).svg and style.GHOST not in figures.growing(0, 4).svg


def test_one_entry_of_the_table_comes_out_again() -> None:
    shares = [making.train_store(fact_stores.facts(64, seed), 8, seed)[1] for seed in fact_stores.SEEDS]
    assert shares == pytest.approx(fact_stores.accuracy(64, 8), abs=0.05)
    assert torch.equal(fact_stores.facts(64, 0).E, fact_stores.facts(64, 0).E)


def test_what_is_told_of_attention_alone_holds_in_fifteen_other_runs() -> None:
    runs = cells.stored()["attention only"]
    explanation = active_course().prediction("attention_stores").explanation
    assert len(runs["attention"]) == len(runs["average"]) == len(cells.FRESH) == 15 and min(cells.FRESH) >= 5
    assert set(runs["attention"]) == {1.0} and "all of them in fifteen other runs" in explanation
    assert f"knew {100 * min(runs['average']):.0f} to {100 * max(runs['average']):.0f} %" in explanation


def test_a_stored_run_without_attention_comes_out_again() -> None:
    train = cells.function("06_memory", "attention_only", ("imports", "attention-only"))
    assert train(cells.FRESH[0], False) == pytest.approx(cells.stored()["attention only"]["average"][0], abs=0.03)


# What the probes draw


@pytest.mark.parametrize("seed", range(10))
def test_a_neuron_is_brought_to_the_cut_from_either_side(seed: int) -> None:
    inputs = exercises.top_neurons.inputs(seed, 0)
    for n, store, chosen in ((4, inputs["close"][0], True), (5, inputs["close"][1], False)):
        h = torch.relu(inputs["X"][n] @ store["W1"] + store["b1"])
        order = (h * (store["W2"] @ inputs["directions"][n])).argsort(descending=True).tolist()
        weak = int((h - 0.2).abs().argmin())
        k = inputs["k"][n]
        assert order.index(weak) == (k - 1 if chosen else k)
    against = inputs["against"]
    h = inputs["X"][0] @ against["W1"] + against["b1"]
    assert bool((h > 0).all()) and bool((against["W2"] @ inputs["directions"][0] < 0).all())


@pytest.mark.parametrize("seed", range(10))
def test_some_neurons_fire_weakly_for_the_last_token_alone(seed: int) -> None:
    inputs = exercises.activation_patterns.inputs(seed, 0)
    sums = inputs["X"] @ inputs["weak"]["W1"] + inputs["weak"]["b1"]
    near = sums.abs() < 0.0041
    assert int((sums[-1][near[-1]] > 0).sum()) == 2 and int((sums[-1][near[-1]] < 0).sum()) >= 2


def test_the_stored_weights_are_those_of_a_training_run() -> None:
    facts, weights = fact_stores.stores()[1]
    trained = making.train_store(facts, fact_stores.STORE_WIDTH, 1)[0]
    assert torch.allclose(weights["linear1.weight"], trained.keys, atol=0.02)
    assert torch.allclose(weights["linear2.weight"], trained.values.T, atol=0.02)


def test_what_is_stored_of_stores_with_room_comes_out_again() -> None:
    again = making.with_room(128, 256, fact_stores.ROOM[128, 256], fact_stores.FRESH[:3])
    record = fact_stores.room(128, 256)
    assert again["fires"] == pytest.approx(record["fires"][:3], abs=0.02)
    for m, shares in record["lost"].items():
        assert again["lost"][m] == pytest.approx(shares[:3], abs=0.08)
