"""The boards of notebook 10: a thousand others are counted exactly, levels are won by pulling, by keys and by the mouse, and flags have their reasons."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from pathlib import Path
from typing import Any

import pytest

from ffnlab.course.boards import levers, orders
from ffnlab.course.experiments import creek
from ffnlab.course.experiments import orders as stored_orders

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import opened, page_with_modules, reached, sentence
from conftest import needs_chromium
from lab import browser
from playwright.sync_api import Browser, Locator, Page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def kind(page: Page, side: int) -> Locator:
    return page.locator(".lv-kind").nth(side)


def pull(page: Page, side: int, fives: int = 0, singles: int = 0) -> None:
    for label, times in (("Pull 5", fives), ("Pull", singles)):
        for _ in range(times):
            kind(page, side).get_by_role("button", name=label, exact=True).click()


def dare(page: Page, side: int) -> None:
    kind(page, side).get_by_role("button", name="This one is better").click()


@needs_chromium
def test_a_thousand_others_are_counted_exactly(chromium: Browser, tmp_path: Path) -> None:
    with page_with_modules(chromium, tmp_path, "levers") as page:
        for pulls, shares in (
            ((1, 1), (0.9, 0.7)),
            ((18, 17), (0.9, 0.7)),
            ((6, 7), (0.25, 0.7)),
            ((60, 60), (0.7, 0.7)),
        ):
            rows = [[comb(n, hits) * p**hits * (1 - p) ** (n - hits) for hits in range(n + 1)] for n, p in zip(pulls, shares, strict=True)]  # fmt: skip
            expected = {"first": 0.0, "neither": 0.0, "second": 0.0}
            for hits, a in enumerate(rows[0]):
                for more, b in enumerate(rows[1]):
                    lead = hits * pulls[1] - more * pulls[0]
                    expected["first" if lead > 0 else "second" if lead < 0 else "neither"] += a * b
            assert page.evaluate("([pulls, shares]) => others(pulls, shares)", [pulls, shares]) == pytest.approx(
                expected
            )
        counted = page.evaluate("() => people(others([5, 5], [0.9, 0.7]))")
        assert counted == {"first": 658, "neither": 241, "second": 101}


@needs_chromium
def test_the_first_level_is_won_with_the_fewest_pulls_and_not_by_an_early_dare(chromium: Browser) -> None:
    page = opened(chromium, levers.kinds())
    pull(page, 0, singles=1)
    assert kind(page, 0).get_by_role("button", name="This one is better").is_disabled(), "both are pulled first"
    pull(page, 1, singles=1)
    dare(page, 1)
    assert "525 have the better one ahead" in sentence(page) and reached(page) == [False] * 3
    pull(page, 0, fives=1)
    pull(page, 1, fives=1, singles=1)
    assert not page.locator(".lv-crowd path").count() or page.locator(".lv-crowd").is_hidden()
    dare(page, 0)
    assert "You chose the worse kind." in sentence(page) and reached(page) == [False] * 3
    dare(page, 1)
    assert reached(page) == [True, False, False]
    assert "13 pulls, and that is the record" in page.locator(".ffp-record").inner_text()
    page.close()


@needs_chromium
def test_the_second_level_can_be_done_whatever_its_flag_says(chromium: Browser) -> None:
    page = opened(chromium, levers.kinds())
    page.get_by_role("button", name="2 · equal parameters").click()
    flag = page.locator(".ffp-goal").nth(1)
    flag.get_by_text("It can’t be done").click()
    page.get_by_role("button", name="There are twenty runs").click()
    assert "Try it first." in page.locator(".ffp-note").inner_text()
    pull(page, 0, fives=3, singles=1)
    pull(page, 1, fives=3, singles=2)
    dare(page, 1)
    assert (
        reached(page) == [False, True, False]
        and "33 pulls, and that is the record" in page.locator(".ffp-record").inner_text()
    )
    page.close()


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_the_covered_names_want_their_flag(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, levers.kinds(), width, dark)
    page.get_by_role("button", name="3 · covered names").click()
    for side in (0, 1):
        pull(page, side, fives=13)
    for side in (0, 1):
        assert f"of {levers.MOST} found the rule" in kind(page, side).inner_text(), "no more fit into the picture"
        dare(page, side)
        assert reached(page) == [False] * 3
    assert "have one of the two ahead, and" in sentence(page)
    assert page.locator(".lv-person").count() == 2, "two groups of the same size would give the flag away"
    key = page.locator(".lv-key").inner_text()
    assert "one of the two is ahead: " in key and "first" not in key + sentence(page)
    page.get_by_text("It can’t be done").nth(1).click()
    page.get_by_role("button", name="Both levers draw").click()
    assert reached(page) == [False, False, True]
    page.close()


@needs_chromium
def test_a_rook_wins_all_levels_of_the_square_and_goes_nowhere_else(chromium: Browser) -> None:
    found = [[share >= creek.RULE_THRESHOLD for share in row] for row in stored_orders.shares()]
    (w, o), board = orders.START, orders.grid()
    good = next(p for p in range(8) if found[w][p])
    bad = next(v for v in range(8) if not found[v][good] and any(found[v][p] and not found[w][p] for p in range(8)))
    other = next(p for p in range(8) if found[bad][p] and not found[w][p])
    page = opened(chromium, board)

    def press(weights: int, order: int) -> None:
        page.locator(".or-cell").nth(8 * weights + order).click(force=True)  # those that are out of reach, too

    press(w + 1, o + 1)
    assert "1 run," in sentence(page), "only along the row and the column"
    press(w, good)
    assert reached(page) == [True, False, False]
    press(bad, good)
    assert reached(page) == [True, True, False]
    press(bad, other)
    press(w, other)
    assert reached(page) == [True, True, True] and "It is an XOR" in page.locator(".ffp-after").inner_text()
    page.close()


@needs_chromium
def test_arrow_keys_walk_the_square(chromium: Browser) -> None:
    page: Any = opened(chromium, orders.grid(), 390, True)
    page.locator(".or-here").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.locator(".or-here").get_attribute("aria-label").startswith("weights 2, order H")
    assert "5 runs" in sentence(page)
    assert page.evaluate("() => document.activeElement.classList.contains('or-here')")
    box = page.locator(".or-cell").first.bounding_box()
    assert box and box["width"] >= 24 and box["height"] >= 24
    page.close()
