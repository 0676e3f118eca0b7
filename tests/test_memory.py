"""Notebook 06: the numbers in its figures computed again by loops, and its stored runs."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from drawings import LAST_FACT, numbers

from ffnlab.experiments import fact_stores
from ffnlab.figures import memory as figures


def test_every_person_has_a_name_of_their_own_and_every_answer_a_word() -> None:
    assert len({figures.name(n) for n in range(figures.STORED)}) == figures.STORED
    assert len(set(figures.LIKES)) == fact_stores.ANSWERS


def test_two_to_thirteen_neurons_put_the_answers_of_the_people_on_the_slider_ahead() -> None:
    def needed(fact: int) -> int:
        return next(k for k in range(figures.NEURONS + 1) if "fact is known" in figures.growing(fact, k).sentence)

    found = [needed(fact) for _, fact in figures.PEOPLE]
    assert (min(found), max(found)) == (2, 13)
    assert len({name[-4:] for name, _ in figures.PEOPLE}) == 8, "names that end alike are hard to tell apart"


def scores_by_loops(fact: int, gone: set[int] = frozenset()) -> list[float]:  # type: ignore[assignment]
    """The scores of all answers for one fact, neuron by neuron."""
    given, store = fact_stores.store()
    x = given.E[fact].double()
    out = x + store.b2.double()
    for j in range(figures.NEURONS):
        h = max(0.0, float(x @ store.keys[j].double()) + float(store.b1[j]))
        if j not in gone:
            out = out + h * store.values[j].double()
    return [float(out @ answer.double()) for answer in given.U]


def strongest(fact: int) -> list[int]:
    given, store = fact_stores.store()
    x, direction = given.E[fact].double(), given.U[given.y[fact]].double()
    parts = []
    for j in range(figures.NEURONS):
        h = max(0.0, float(x @ store.keys[j].double()) + float(store.b1[j]))
        parts.append((h * float(store.values[j].double() @ direction), j))
    return [j for _, j in sorted(parts, reverse=True)]


def test_the_store_of_the_figures_knows_all_its_facts() -> None:
    given, _ = fact_stores.store()
    assert bool((figures._logits().argmax(1) == given.y).all())


@pytest.mark.parametrize(("fact", "m"), [(0, 1), (64, 4), (LAST_FACT, 8)])
def test_a_knock_out_loses_what_the_loops_lose(fact: int, m: int) -> None:
    given, _ = fact_stores.store()
    gone = set(strongest(fact)[:m])
    found = [scores_by_loops(n, gone) for n in range(figures.STORED)]
    wrong = [n for n, scores in enumerate(found) if scores.index(max(scores)) != int(given.y[n])]
    drawn = figures.knocked(fact, m)
    assert ("lost," in drawn.title) == (fact in wrong)
    assert numbers(drawn.title) == [m, len([n for n in wrong if n != fact])]


@pytest.mark.parametrize("count", [0, 1, 4, figures.NEURONS])
def test_the_growing_sum_says_what_the_loops_say(count: int) -> None:
    scores = scores_by_loops(64, set(strongest(64)[count:]))
    assert f"“{figures.LIKES[scores.index(max(scores))]}”" in figures.growing(64, count).title


@pytest.mark.parametrize("j", [0, 127])
def test_the_inspector_counts_the_facts_that_a_neuron_fires_for(j: int) -> None:
    given, store = fact_stores.store()
    sums = [float(x @ store.keys[j]) + float(store.b1[j]) for x in given.E]
    drawn = figures.neuron(j)
    assert numbers(drawn.title) == [j, sum(total > 0 for total in sums), figures.STORED]
    assert figures.name(sums.index(max(sums))) in drawn.sentence


def test_people_on_the_left_have_answers_on_the_right_more_often_than_by_chance() -> None:
    shared = [numbers(figures.neuron(j).sentence.split("on the left,")[1])[0] for j in range(figures.NEURONS)]
    assert sum(shared) / len(shared) == pytest.approx(2.4, abs=0.05)


def test_the_table_is_complete_and_more_neurons_know_more() -> None:
    for count in figures.FACTS:
        means = [sum(fact_stores.accuracy(count, width)) / 3 for width in figures.WIDTHS]
        assert all(0 <= share <= 1 for share in means)
        assert all(later >= earlier - 0.02 for earlier, later in pairwise(means))
    assert fact_stores.stored()["settings"]["seeds"] == list(fact_stores.SEEDS)


def test_one_entry_of_the_table_comes_out_again() -> None:
    shares = [fact_stores.learned(fact_stores.facts(64, seed), 8, seed)[1] for seed in fact_stores.SEEDS]
    assert shares == pytest.approx(fact_stores.accuracy(64, 8), abs=0.05)
    assert torch.equal(fact_stores.facts(64, 0).E, fact_stores.facts(64, 0).E)
