"""The store of facts: it computes what PyTorch does, what its goals claim was tried on every group of neurons, and everybody can play it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
import torch

from ffnlab import boards
from ffnlab.course.boards import forget
from ffnlab.course.experiments import fact_stores
from ffnlab.course.figures.memory import LIKES, PEOPLE

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import opened, reached, sentence
from conftest import needs_chromium
from lab import browser, web_pages
from playwright.sync_api import Browser, Page, expect
from test_desk import AXE, violations

FACT = dict(PEOPLE)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


class Shipped:
    """The shipped store, in torch."""

    def __init__(self) -> None:
        (E, U, self.y), store = fact_stores.store()
        self.h = torch.relu(E @ store.keys.T + store.b1)
        self.pushes = store.values @ U.T
        self.scores = (E + self.h @ store.values + store.b2) @ U.T

    def forgotten(self, out: list[int]) -> list[int]:
        """Who gives another answer than the right one without these neurons."""
        answers = (self.scores - self.h[:, out] @ self.pushes[out]).argmax(1)
        return [int(n) for n in (answers != self.y).nonzero()[:, 0]]

    def strongest(self, fact: int) -> list[int]:
        return [int(j) for j in (self.h[fact] * self.pushes[:, self.y[fact]]).argsort(descending=True)]

    def strongest_first(self, fact: int) -> list[int]:
        """Who has forgotten when the fact goes, strongest neurons first; and how many neurons that takes, in front."""
        order = self.strongest(fact)
        m = next(m for m in range(1, len(order)) if fact in self.forgotten(order[:m]))
        return [m, *self.forgotten(order[:m])]


@pytest.fixture(scope="module")
def shipped() -> Shipped:
    return Shipped()


# What the goals claim


def test_the_store_knows_all_its_facts_and_bamaba_likes_oats(shipped: Shipped) -> None:
    assert shipped.forgotten([]) == []
    assert LIKES[int(shipped.y[FACT["Bamaba"]])] == "oats" and FACT["Bamaba"] == forget.BAMABA
    assert LIKES[int(shipped.y[FACT["Gofine"]])] == "jam"


def test_a_neuron_counts_by_what_it_does_to_the_lead(shipped: Shipped) -> None:
    bamaba = FACT["Bamaba"]
    right = int(shipped.y[bamaba])
    leads = []
    for j in range(fact_stores.STORE_WIDTH):
        row = shipped.scores[bamaba] - shipped.h[bamaba, j] * shipped.pushes[j]
        best = row.topk(2)
        assert int(best.indices[0]) == right
        leads.append(float(best.values[0] - best.values[1]))
    assert min(leads) == leads[80] == pytest.approx(0.4, abs=0.05)
    out, flutes = [41, 74], LIKES.index("flutes")
    assert set(out) <= set(shipped.strongest(bamaba)[: forget.LAMPS]) and bamaba in shipped.forgotten(out)
    taken = shipped.h[bamaba, out] @ shipped.pushes[out]
    assert float(taken[right]) == pytest.approx(4.9, abs=0.05), "less than the lead"
    assert int((shipped.scores[bamaba] - taken).argmax()) == flutes and float(taken[flutes]) < -5, "they held it down"


def test_in_the_fullest_store_a_neuron_that_adds_nothing_deletes_bamabas_fact() -> None:
    facts, store = fact_stores.filled(2048)
    added = forget.contributions(facts, store, forget.BAMABA)
    x, j, right = facts.E[forget.BAMABA], 77, int(facts.y[forget.BAMABA])
    h = torch.relu(x @ store.keys.T + store.b1)
    assert float(added[j]) < 0
    h[j] = 0
    assert int(((x + h @ store.values + store.b2) @ facts.U.T).argmax()) != right


def test_bamaba_takes_two_neurons_and_no_single_one_of_all_will_do(shipped: Shipped) -> None:
    bamaba = FACT["Bamaba"]
    assert not any(bamaba in shipped.forgotten([j]) for j in range(fact_stores.STORE_WIDTH))
    order = shipped.strongest(bamaba)[: forget.LAMPS]
    assert sum(bamaba in shipped.forgotten(list(pair)) for pair in combinations(order, 2)) == 19
    scores = shipped.scores[bamaba].sort(descending=True).values
    assert float(scores[0] - scores[1]) == pytest.approx(8.1, abs=0.05), "as the reason says"
    assert order[0] == 80 and float(shipped.h[bamaba, 80] * shipped.pushes[80, shipped.y[bamaba]]) == pytest.approx(
        7.0, abs=0.05
    )


@pytest.mark.parametrize(
    ("name", "first", "others", "size", "groups"),
    [("Gofine", 2, 2, 2, [{94, 81}]), ("Godelu", 4, 17, 3, [{75, 123, 4}, {72, 123, 4}])],
)
def test_a_fact_can_go_alone_but_not_strongest_first(
    shipped: Shipped, name: str, first: int, others: int, size: int, groups: list[set[int]]
) -> None:
    """All groups of up to four of the sixteen neurons on the board were tried."""
    fact = FACT[name]
    m, *lost = shipped.strongest_first(fact)
    assert (m, len(lost) - 1) == (first, others)
    top = shipped.strongest(fact)[: forget.LAMPS]
    clean = [set(out) for k in range(1, 5) for out in combinations(top, k) if shipped.forgotten(list(out)) == [fact]]
    assert sorted(map(sorted, clean)) == sorted(map(sorted, groups)) and {len(group) for group in groups} == {size}
    assert next(goal.record for goal in forget.ONE_GOALS if goal.name == name.lower()) == size


def test_eighteen_of_sixty_four_can_go_alone_and_six_strongest_first(shipped: Shipped) -> None:
    alone = nearly = first = 0
    for fact in range(0, 512, 8):
        top = shipped.strongest(fact)[: fact_stores.CHOICE]
        groups = [list(out) for k in range(1, fact_stores.MOST_OUT + 1) for out in combinations(top, k)]
        lost = [gone for out in groups if fact in (gone := shipped.forgotten(out))]
        fewest = min(len(gone) - 1 for gone in lost)
        alone += fewest == 0
        nearly += fewest <= 1
        first += shipped.strongest_first(fact)[1:] == [fact]
    assert (alone, nearly, first) == (18, 41, 6)


def test_one_press_is_enough_from_the_fifth_filling_on() -> None:
    enough = []
    for count in fact_stores.FULL:
        filled = forget._filled(count)
        scores = torch.tensor(filled["scores"])
        assert int(scores.argmax()) == filled["right"], "every store knows it"
        singles = [int((scores - torch.tensor(lamp["pushes"])).argmax()) != filled["right"] for lamp in filled["lamps"]]
        enough.append(any(singles))
    assert enough == [False, False, False, False, True, True]


# The board


@needs_chromium
def test_the_board_computes_what_pytorch_computes(chromium: Browser, shipped: Shipped, tmp_path: Path) -> None:
    out = [80, 41, 3, 127]
    script = boards.script(forget.HERE / "forget_model.js") + "\nexport { Store };\n"
    (tmp_path / "forget.js").write_text(script, encoding="utf-8")
    (tmp_path / "data.json").write_text(json.dumps(forget.one().data["store"]))
    (tmp_path / "index.html").write_text("<!doctype html>")
    page = chromium.new_page()
    with web_pages(tmp_path) as address:
        page.goto(f"{address}/index.html")
        whole, without, matches = page.evaluate(
            """async (out) => {
              const { Store } = await import("./forget.js");
              const store = new Store(await (await fetch("data.json")).json());
              return [[...store.scores], [...store.without(out)], [...store.matches(40)]];
            }""",
            out,
        )
    page.close()
    assert torch.allclose(torch.tensor(whole).view_as(shipped.scores), shipped.scores, atol=1e-4)
    expected = shipped.scores - shipped.h[:, out] @ shipped.pushes[out]
    assert torch.allclose(torch.tensor(without).view_as(expected), expected, atol=1e-4)
    E = fact_stores.store()[0].E
    assert torch.allclose(torch.tensor(matches), E @ E[40] / E[40].norm(), atol=1e-4)


def press(page: Page, *neurons: int) -> None:
    for j in neurons:
        page.get_by_role("button", name=f"neuron {j},").click()


@needs_chromium
def test_goals_are_reached_by_what_they_ask_for(chromium: Browser) -> None:
    page = opened(chromium, forget.one(), reduced_motion="reduce")
    press(page, 80)
    assert reached(page) == [False] * 4 and "oats" in sentence(page)
    page.get_by_text("It can’t be done").first.click()
    page.get_by_role("button", name="No one neuron gives oats").click()
    assert reached(page) == [False, True, False, False]
    press(page, 41)
    assert reached(page) == [True, True, False, False] and "13 others have forgotten" in sentence(page)
    press(page, 41, 80)
    assert "has forgotten" not in sentence(page), "what is pressed again is back"
    page.get_by_text("Gofine", exact=True).click()
    press(page, 109, 94)
    assert reached(page)[2] is False, "strongest first two others go as well"
    press(page, 109, 81)
    assert reached(page) == [True, True, True, False] and "Nobody else" in sentence(page)
    page.get_by_text("Godelu", exact=True).click()
    press(page, 96, 75, 72, 35)
    assert "17 others have forgotten" in sentence(page) and reached(page)[3] is False
    press(page, 96, 72, 35, 123, 4)
    assert reached(page) == [True] * 4
    assert page.get_by_text("3 neurons, and that is the record.").count() == 1
    page.close()


@needs_chromium
def test_a_flag_is_tried_by_pressing_one_neuron_of_bamabas(chromium: Browser) -> None:
    page = opened(chromium, forget.one(), reduced_motion="reduce")
    page.get_by_text("Gofine", exact=True).click()
    press(page, 109)
    page.get_by_text("It can’t be done").first.click()
    page.get_by_role("button", name="No one neuron gives oats").click()
    assert page.get_by_text("Try it first.").count() == 1 and reached(page) == [False] * 4
    page.get_by_text("It can’t be done").last.click()
    page.get_by_role("button", name="Her strongest neuron serves others").click()
    assert page.get_by_text("Try it first.").count() == 1, "Gofine’s neurons are no try of Godelu’s goal"
    page.get_by_text("Godelu", exact=True).click()
    press(page, 96)
    page.get_by_text("It can’t be done").last.click()
    page.get_by_role("button", name="Her strongest neuron serves others").click()
    assert page.get_by_text("Leave her strongest in.").count() == 1 and reached(page) == [False] * 4
    page.close()


@needs_chromium
def test_curves_of_other_stores_are_seen_once_one_press_was_enough(chromium: Browser) -> None:
    page = opened(chromium, forget.fill(), reduced_motion="reduce")
    curves = page.locator(".fg-curves")
    slider = page.get_by_role("slider", name="facts in the store")
    slider.fill("3")
    press(page, 80)
    expect(curves).to_be_hidden()
    slider.fill("4")
    assert page.locator(".fg-out").count() == 0, "another store begins with all its neurons"
    press(page, 12)
    assert reached(page) == [False]
    press(page, 12, 5)
    assert reached(page) == [True]
    expect(curves).to_be_visible()
    assert curves.locator(".fg-run").count() == 30
    assert "in fifteen stores" in (curves.locator("svg").first.get_attribute("aria-label") or "")
    slider.fill("0")
    expect(curves).to_be_visible()
    page.close()


@needs_chromium
def test_a_neuron_that_listens_to_one_question_changes_one_answer(chromium: Browser) -> None:
    page = opened(chromium, forget.write(), reduced_motion="reduce")
    threshold, strength = (page.get_by_role("slider", name=name) for name in ("threshold", "strength"))
    strength.fill("0.8")
    assert "No other answer has changed." in sentence(page) and "likes tea" in sentence(page)
    assert reached(page) == [False], "it fires for half of the people, too weakly to matter"
    strength.fill("10")
    assert reached(page) == [False] and "other answers have changed" in sentence(page)
    threshold.fill("4.5")
    assert "fires for 1 of 512" in sentence(page)
    strength.fill("15")
    assert reached(page) == [True] and "Bamaba likes tea" in sentence(page)
    page.close()


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_everybody_can_use_it(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, forget.one(), width, dark, reduced_motion="reduce", has_touch=True)
    page.get_by_role("button", name="neuron 80,").tap()
    page.get_by_role("button", name="neuron 80,").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".fg-out").count() == 2
    expect(page.locator(".fg-lamp:focus")).to_have_attribute("aria-pressed", "true")
    assert page.locator(".fg-lamp[tabindex='0']").count() == 1, "a row of lamps is one stop of the Tab key"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".fg-square").count() == 512
    if AXE.is_file():
        assert violations(page) == []
    page.close()
