"""The boards of notebook 08: JavaScript judges a router as Python does, levels can be won by mouse and keys, and what can't be done is settled by its flag."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import opened, page_with_modules, reached, sentence
from conftest import needs_chromium
from lab import browser
from playwright.sync_api import Browser, Page

from autograder.authoring.experiments import plane as making
from ffnlab.course.boards import router
from ffnlab.course.experiments import plane

LENGTH = making.LENGTH
INSET = 32  # of the plane of `pairs` within its rings, in pixels


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def computing(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with the functions of the boards."""
    with page_with_modules(chromium, tmp_path_factory.mktemp("modules"), "router_model", "router") as page:
        yield page


def turned(degrees: float, length: float = LENGTH) -> tuple[float, float]:
    return length * math.cos(math.radians(degrees)), length * math.sin(math.radians(degrees))


def drag(page: Page, expert: int, to: tuple[float, float], inset: float = 0) -> None:
    """Take an arrow by its tip and put it somewhere in the plane."""
    box = page.locator(".ar-plane").bounding_box()
    tip = page.get_by_label(f"arrow of expert {expert}").bounding_box()
    assert box and tip
    side = box["width"] - 2 * inset
    page.mouse.move(tip["x"] + tip["width"] / 2, tip["y"] + tip["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + inset + (to[0] + 3) / 6 * side, box["y"] + inset + (3 - to[1]) / 6 * side, steps=3)
    page.mouse.up()


@needs_chromium
def test_the_error_and_the_regions_are_what_python_says(computing: Page) -> None:
    rng = np.random.default_rng(0)
    for name, count in (("six", 6), ("three", 3), ("between", 2)):
        dots, targets = plane.level(name)
        level = {"dots": dots.tolist(), "targets": targets.tolist()}
        for arrows in rng.normal(size=(25, count, 2)):
            goes = plane.assign(arrows.T, dots)
            judged = computing.evaluate("([level, arrows]) => judge(level, arrows)", [level, arrows.tolist()])
            assert judged["goes"] == goes.tolist()
            assert judged["error"] == pytest.approx(plane.error(dots, targets, goes), abs=1e-6)
            area = computing.evaluate(
                """(arrows) => arrows.map((_, e) => region(arrows, e, 3)).reduce((sum, corners) => sum + corners.reduce((part, [x, y], n) => {
                  const [u, v] = corners[(n + 1) % corners.length];
                  return part + (x * v - u * y) / 2;
                }, 0), 0)""",
                arrows.tolist(),
            )
            assert area == pytest.approx(36), "the regions neither overlap nor leave a gap"


@needs_chromium
def test_the_pairs_around_are_the_two_largest_logits(computing: Page) -> None:
    rng = np.random.default_rng(1)
    ways = np.linspace(0, 2 * np.pi, 20_001)
    for arrows in (*rng.normal(size=(20, 4, 2)), *rng.normal(size=(20, 5, 2))):
        stretches = computing.evaluate("(arrows) => pairs(arrows)", arrows.tolist())
        assert math.fsum(stretch["width"] for stretch in stretches) == pytest.approx(2 * math.pi)
        logits = np.stack([np.cos(ways), np.sin(ways)], axis=1) @ arrows.T
        seen = {" ".join(map(str, sorted(row))) for row in np.argsort(logits, axis=1)[:, -2:].tolist()}
        assert seen == {stretch["pair"] for stretch in stretches if stretch["width"] > 1e-3} | (
            seen & {stretch["pair"] for stretch in stretches}
        )
        for stretch in stretches:
            two = computing.evaluate("([arrows, turn]) => firstTwo(arrows, turn)", [arrows.tolist(), stretch["middle"]])
            assert two == stretch["pair"]


def test_five_tips_always_have_a_pair_that_nobody_chooses() -> None:
    """Why the flag is right: of five points four are the corners of a convex quadrilateral, and then neither of its diagonals is chosen."""
    rng = np.random.default_rng(2)
    ways = np.linspace(0, 2 * np.pi, 3601)
    for tips in rng.normal(size=(200, 5, 2)):
        order = np.argsort(np.stack([np.cos(ways), np.sin(ways)], axis=1) @ tips.T, axis=1)[:, -2:]
        chosen = {tuple(sorted(row)) for row in order.tolist()}
        diagonals = {pair for four in itertools.combinations(range(5), 4) for pair in crossing(tips, four)}
        assert diagonals and not diagonals & chosen


def crossing(tips: np.ndarray[Any, Any], four: tuple[int, ...]) -> list[tuple[int, int]]:
    """The two diagonals of a convex quadrilateral; nothing, if the four tips make none."""

    def side(a: int, b: int, c: int) -> bool:
        (x, y), (u, v), (s, t) = tips[a], tips[b], tips[c]
        return bool((u - x) * (t - y) > (v - y) * (s - x))

    a, b, c, d = four
    for (i, j), (k, m) in (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c))):
        if side(i, j, k) != side(i, j, m) and side(k, m, i) != side(k, m, j):
            return [(i, j), (k, m)]
    return []


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_a_hand_wins_with_six_experts_and_with_three(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, router.plane(), width, dark)
    assert reached(page) == [False] * 4
    for expert, (turn, _) in enumerate(making.ROUND):
        drag(page, expert, turned(turn))
    assert reached(page) == [True, False, False, False], sentence(page)
    assert "6 of 6 experts have dots" in sentence(page)
    page.get_by_role("button", name="2 · Three").click()
    for expert, turn in enumerate((342, 99, 221)):
        drag(page, expert, turned(turn))
    assert reached(page)[:2] == [True, True], sentence(page)
    arrow = page.get_by_label("arrow of expert 2")
    before = arrow.get_attribute("aria-valuetext")
    arrow.press("ArrowRight")
    assert arrow.get_attribute("aria-valuetext") != before, "keys turn an arrow as well"
    page.close()


@needs_chromium
def test_a_winnable_goal_keeps_its_flag_and_the_other_is_settled_by_it(chromium: Browser) -> None:
    page = opened(chromium, router.plane())
    flags = page.locator(".ffp-flag")
    assert flags.count() == 4
    drag(page, 0, turned(200))
    flags.nth(0).locator("summary").click()
    page.get_by_role("button", name="Borders are straight").click()
    assert "It can be done." in page.locator(".ffp-note").inner_text() and reached(page) == [False] * 4
    page.get_by_role("button", name="3 · Two").click()
    for turn in (10, 170, 190, 20):
        drag(page, 0, turned(turn))
        page.wait_for_timeout(350)  # moves of their own
    assert not reached(page)[2]
    flags.nth(2).locator("summary").click()
    page.get_by_role("button", name="If two dots go to one expert").click()
    assert reached(page) == [False, False, True, False]
    page.close()


@needs_chromium
def test_the_runs_play_and_the_one_that_is_as_good_as_a_hand_wins(chromium: Browser) -> None:
    page = opened(chromium, router.plane())
    page.get_by_role("button", name="4 · Let it learn").click()
    assert page.locator(".ro-end").count() == 32, "sixteen runs begun at random, and sixteen begun with a hand's arrows"
    page.get_by_role("button", name="Let it learn", exact=True).click()
    page.wait_for_timeout(1200)
    page.get_by_role("button", name="Stop").click()
    assert "Run 1, step" in sentence(page) and "step 1000" not in sentence(page)
    step = page.get_by_label("step")
    step.focus()
    step.press("End")
    assert "Run 1, step 1000" in sentence(page) and not reached(page)[3]
    page.get_by_role("button", name="run 2").click()
    step.focus()
    step.press("End")
    assert reached(page)[3] and "none ended below 1 %" in page.locator(".ffp-after").inner_text()
    page.close()


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, True), (390, False)])
def test_every_pair_of_four_is_won_by_an_arrow_inside(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, router.pairs(), width, dark)
    assert "No direction chooses 0 and 2, 1 and 3." in sentence(page)
    for expert, to in ((0, (0.1, 0.2)), (3, (1.8, -0.8)), (1, (0.0, 2.0)), (2, (-1.7, -1.0))):
        drag(page, expert, to, INSET)
    assert reached(page) == [True, False], sentence(page)
    page.get_by_role("button", name="2 · Five").click()
    drag(page, 0, (0.1, 0.1), INSET)
    assert "No direction chooses" in sentence(page)
    page.get_by_text("It can’t be done").click()
    page.get_by_role("button", name="Four of the five tips").click()
    assert reached(page) == [True, True]
    page.close()
