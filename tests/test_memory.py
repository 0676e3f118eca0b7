"""Notebook 06: its figures at default, smallest and largest parameters, their numbers computed again by loops, and its stored runs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
import torch

from ffnlab.experiments import fact_stores
from ffnlab.figures import memory as figures
from ffnlab.picture import Picture

SVG = "{http://www.w3.org/2000/svg}"
LAST = figures.STORED - 1
DRAWINGS: dict[str, Callable[[], Picture]] = {
    **{f"neuron {j}": partial(figures.neuron, j) for j in (0, 64, figures.NEURONS - 1)},
    **{f"growing {n} {k}": partial(figures.growing, n, k) for n in (0, LAST) for k in (0, 1, 4, figures.NEURONS)},
    **{
        f"capacity {n} {f}": partial(figures.capacity, n, f)
        for n in (figures.FACTS[0], 256, figures.FACTS[-1])
        for f in (figures.WIDTHS[0], 16, figures.WIDTHS[-1])
    },
    **{
        f"knocked {n} {m} {chance}": partial(figures.knocked, n, m, chance)
        for n in (0, LAST)
        for m in (0, 1, 16)
        for chance in (False, True)
    },
}


@pytest.fixture(params=DRAWINGS, ids=str)
def picture(request: pytest.FixtureRequest) -> Picture:
    return DRAWINGS[str(request.param)]()


def numbers(words: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in re.findall(r"[−]?\d+(?:\.\d+)?", words)]


def test_a_figure_stays_inside_its_card_and_says_its_message(picture: Picture) -> None:
    root = ET.fromstring(picture.svg)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for element in root.iter():
        for name, limit in (("x", width), ("x1", width), ("y", height), ("y1", height)):
            assert 0 <= float(element.attrib.get(name, 0)) <= limit, element.attrib
        if element.tag == f"{SVG}rect":
            right = float(element.attrib["x"]) + float(element.attrib["width"])
            assert right <= width and float(element.attrib["width"]) >= 0
    assert root.findtext(f"{SVG}title") == picture.title and root.findtext(f"{SVG}desc") == picture.sentence
    assert len(picture.title) <= 60 and len(picture.sentence) <= 240 and picture.sentence.endswith(".")
    assert "nan" not in picture.svg


@pytest.mark.parametrize("name", ["neuron", "growing", "capacity", "knocked"])
def test_a_figure_keeps_its_size_whatever_it_shows(name: str) -> None:
    assert len({drawn().size for label, drawn in DRAWINGS.items() if label.startswith(name)}) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        partial(figures.neuron, figures.NEURONS),
        partial(figures.growing, -1, 1),
        partial(figures.growing, 0, figures.NEURONS + 1),
        partial(figures.capacity, 100, 16),
        partial(figures.knocked, 0, 17),
        partial(figures.knocked, LAST + 1, 1),
    ],
)
def test_a_figure_refuses_values_it_does_not_have(wrong: Callable[[], Picture]) -> None:
    with pytest.raises(ValueError, match=r"must be from|there are runs"):
        wrong()


def test_every_person_has_a_name_of_their_own_and_every_answer_a_word() -> None:
    assert len({figures.name(n) for n in range(figures.STORED)}) == figures.STORED
    assert len(set(figures.LIKES)) == fact_stores.ANSWERS


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


@pytest.mark.parametrize(("fact", "m"), [(0, 1), (64, 4), (LAST, 8)])
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
