"""Catch them all: each box does what its mistake does, nothing can be read before it is opened, and the flags are theorems."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder import keys
from autograder.authoring import find_boxes
from autograder.errors import UserError
from ffnlab import boards
from ffnlab.course import closed_boxes
from ffnlab.course.boards import catch

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import copy_modules, opened, reached
from conftest import needs_chromium
from lab import browser, web_pages
from playwright.sync_api import Browser, Page, expect
from test_desk import AXE, violations

NAMES = ("x", "W1", "b1", "W2", "b2")
SHAPES = ((1, 1), (1, 1), (1,), (1, 1), (1,))
GRID = list(itertools.product(range(-catch.LARGEST, catch.LARGEST + 1), repeat=5))
BOXES = closed_boxes.load("ffn_forward").boxes
SILENT = 12


def answers_wrongly(answer: Any, tensors: list[torch.Tensor], right: torch.Tensor) -> bool:
    """Whether other numbers, another shape or no tensor comes back. A NumPy array with the right numbers is not wrong here."""
    try:
        output = answer(tensors[0].clone(), *tensors[1:], torch.relu)
    except Exception:
        return True
    if output is None or isinstance(output, tuple):
        return True
    output = torch.as_tensor(output).double()
    return output.shape != right.shape or not torch.allclose(output, right, rtol=1e-9, atol=1e-9)


@cache
def verdicts() -> list[list[int]]:
    """By setting of the dials, the boxes that answer wrongly: the key's own code, run by PyTorch."""
    key = keys.find("ffn_forward")
    code = {mistake.name: mistake.answer for mistake in key.mistakes}
    code[""] = key.the_truth.answer
    found = []
    with torch.no_grad():
        for setting in GRID:
            tensors = [torch.tensor(n).double().reshape(shape) for n, shape in zip(setting, SHAPES, strict=True)]
            right = key.the_truth.answer(*tensors, torch.relu)
            found.append([n for n, box in enumerate(BOXES) if answers_wrongly(code[box.name], tensors, right)])
    return found


# What the boxes are


def test_every_known_mistake_is_a_box_and_one_box_is_right() -> None:
    mistakes = [mistake.name for mistake in keys.find("ffn_forward").mistakes if not mistake.form_of]
    assert sorted(box.name for box in BOXES) == sorted([*mistakes, ""])
    assert closed_boxes.load("ffn_forward").right.line == find_boxes.RIGHT_LINES["ffn_forward"]
    assert find_boxes.TITLES.keys() <= set(mistakes), "a title of a mistake that is gone"


def test_the_boxes_are_those_of_the_key_as_it_is() -> None:
    assert find_boxes.is_current("ffn_forward"), "find them again: autograder boxes"


def test_a_mistake_that_no_line_does_is_told() -> None:
    key = keys.find("ffn_forward")
    odd = [answer for answer in key.mistakes if answer.name == "b1_missing"]
    strange = type(key)(
        key.exercise, [type(odd[0])("ffn_forward", "strange", "mistake", "…", lambda *all: all[0] / 7, "")]
    )
    right = ("@ W1",)  # few lines are near so short a one
    with pytest.raises(UserError, match="no line of stations does what strange does"):
        find_boxes.find_lines(strange, right)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened_browser:
        yield opened_browser


@needs_chromium
def test_every_verdict_of_the_board_is_the_keys(chromium: Browser, tmp_path: Path) -> None:
    """All 16,807 settings of the five dials, all boxes."""
    copy_modules(tmp_path)
    with web_pages(tmp_path) as address:
        page = chromium.new_page()
        page.goto(f"{address}/index.html")
        board_verdicts = page.evaluate(
            """async ([boxes, grid]) => {
              const { wrongOnes } = await import("/catch_model.js");
              return grid.map(([x, W1, b1, W2, b2]) => wrongOnes(boxes, { x, W1, b1, W2, b2 }));
            }""",
            [[{"name": box.name, "line": box.line} for box in BOXES], GRID],
        )
        page.close()
    assert len(GRID) == 7**5 and board_verdicts == verdicts()


def test_the_figures_that_the_board_tells_are_measured() -> None:
    ever = set(itertools.chain.from_iterable(verdicts()))
    most = max(map(len, verdicts()))
    shown, silent = catch.counts(closed_boxes.load("ffn_forward"))
    assert (len(ever), most, silent) == (shown, shown - 1, SILENT)
    assert {n for n, box in enumerate(BOXES) if box.caught_by} == set(range(len(BOXES))) - ever - {
        n for n, box in enumerate(BOXES) if not box.name
    }
    best = [setting for setting, marked in zip(GRID, verdicts(), strict=True) if len(marked) == most]
    assert len(best) == 80
    for x, W1, b1, _, _ in best:
        assert x * W1 > 0 >= x * W1 + b1, "the neuron is kept dark by its bias"


def test_no_test_catches_the_two_boxes_of_the_first_flag() -> None:
    place = {box.name: n for n, box in enumerate(BOXES)}
    for (x, W1, b1, _, _), marked in zip(GRID, verdicts(), strict=True):
        assert (place["pythons_max"] in marked) == (x * W1 + b1 <= 0)
        assert place["capped_at_six"] not in marked or x * W1 + b1 > 6


def test_two_tests_are_enough_and_the_record() -> None:
    """One can't do it, by the flag. A dark neuron and one that is far on can."""
    ever = set(itertools.chain.from_iterable(verdicts()))
    best = [set(marked) for marked in verdicts() if len(marked) == len(ever) - 1]
    assert any(a | set(marked) == ever for a in best[:5] for marked in verdicts())
    assert next(goal.record for goal in catch.catch_them_all().goals if goal.name == "all") == 2


def test_what_is_in_a_box_cannot_be_read_in_the_page() -> None:
    board = catch.catch_them_all()
    page = boards.html(board)
    data = json.dumps(board.data)
    for box in BOXES:
        if box.name:
            assert box.title not in data
            assert box.message[:30] not in page and box.name not in page
    source = closed_boxes.FILE.read_text(encoding="utf-8")
    assert "W1" not in base64.b64decode(source.split('"')[-2]).decode("latin-1")
    for word in ("def ffn_forward", "x @ W1 + b1) @", "return act("):
        assert word not in page


# How it is played


def turn(page: Page, **numbers: int) -> None:
    for name, value in numbers.items():
        dial = page.get_by_role("spinbutton", name=name, exact=True)
        dial.press("Home")
        for _ in range(value + catch.LARGEST):
            dial.press("ArrowUp")


def keep(page: Page, z: int, y: int) -> None:
    answers = page.locator(".ct-answer")
    answers.nth(0).fill(str(z))
    answers.nth(1).fill(str(y))
    page.get_by_role("button", name="Keep this test").click()


def worked_out(x: int, W1: int, b1: int, W2: int, b2: int) -> tuple[int, int]:
    z = x * W1 + b1
    return z, max(z, 0) * W2 + b2


def note(page: Page) -> str:
    return page.locator(".ct-note").inner_text()


def places(page: Page, css: str) -> list[int]:
    tiles = page.locator(".ct-box").evaluate_all(
        "(tiles, css) => tiles.map((tile) => tile.classList.contains(css))", css
    )
    return [n for n, has in enumerate(tiles) if has]


FIRST = {"x": 2, "W1": 3, "b1": -1, "W2": 2, "b2": 1}


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    page = opened(chromium, catch.catch_them_all(), reduced_motion="reduce")
    yield page
    page.close()


@needs_chromium
def test_boxes_are_marked_while_a_dial_turns_and_nothing_opens(page: Page) -> None:
    assert len(places(page, "ct-wrong")) == 6, "all zeros"
    turn(page, **FIRST)
    assert places(page, "ct-wrong") == verdicts()[GRID.index(tuple(FIRST.values()))]
    assert places(page, "ct-open") == [] and "".join(page.locator(".ct-title").all_inner_texts()) == ""
    page.get_by_role("button", name="box 1, closed").click()
    assert page.locator(".ct-detail").inner_text() == "Box 1 is closed."


@needs_chromium
def test_a_kept_test_opens_its_boxes_and_tells_what_is_in_them(page: Page) -> None:
    turn(page, **FIRST)
    keep(page, *worked_out(**FIRST))
    marked = places(page, "ct-wrong")
    assert places(page, "ct-open") == places(page, "ct-caught") == marked
    place = next(n for n, box in enumerate(BOXES) if box.name == "b1_missing")
    page.locator(".ct-box").nth(place).click()
    detail = page.locator(".ct-detail").inner_text()
    assert BOXES[place].message in detail and "In test 1, it says 13, and right is 11." in detail
    assert page.locator(".ct-missing code").all_inner_texts() == ["+ b1"]
    assert page.locator(".ct-tests li").count() == 1
    keep(page, *worked_out(**FIRST))
    assert note(page) == "You have kept this test already."
    page.get_by_role("button", name="drop test 1").click()
    assert places(page, "ct-caught") == [] and places(page, "ct-open") == marked, "what was seen stays seen"


@needs_chromium
def test_keeping_costs_the_right_answer_and_a_wrong_one_is_looked_up(page: Page) -> None:
    turn(page, **FIRST)
    page.get_by_role("button", name="Keep this test").click()
    assert "needs its right answer" in note(page)
    place = next(n for n, box in enumerate(BOXES) if box.name == "b2_missing")
    keep(page, 5, 10)
    assert note(page) == f"Box {place + 1}, too, answers 10. You made its mistake, so now you know it."
    assert places(page, "ct-open") == [place] and places(page, "ct-caught") == []
    keep(page, 6, 11)
    assert ", too, reads 6." in note(page)
    keep(page, 5, 99)
    assert note(page) == "y is not 99, and no box makes that mistake either."
    assert page.locator(".ct-tests li").count() == 0 and reached(page) == [False] * 4


@needs_chromium
def test_all_goals_can_be_settled(page: Page) -> None:
    best = GRID[max(range(len(GRID)), key=lambda n: len(verdicts()[n]))]
    bright = {"x": 3, "W1": 3, "b1": 0, "W2": 2, "b2": 1}
    assert page.get_by_text("always return the right number").is_hidden()
    for setting in (dict(zip(NAMES, best, strict=True)), bright):
        turn(page, **setting)
        keep(page, *worked_out(**setting))
    assert reached(page) == [True, True, False, False]
    assert page.locator(".ffp-record").inner_text() == "2 tests, and that is the record."
    assert f"The other {SILENT} wrong boxes return the right number" in page.locator(".ffp-sentence").inner_text()
    for flag, reason in (("only while the neuron is off", 0), ("compute exactly what the right one computes", 0)):
        page.get_by_text("It can’t be done").nth(reason).click()
        page.get_by_role("button", name=flag).click()
    assert reached(page) == [True] * 4
    page.get_by_text("always return the right number").click()
    fold = page.locator(".ct-fold").inner_text()
    assert all(f"{box.title} ({n + 1})" in fold for n, box in enumerate(BOXES) if box.caught_by)
    right = next(n for n, box in enumerate(BOXES) if not box.name)
    assert places(page, "ct-right") == [right] and f"Box {right + 1} is the right one." in fold


@needs_chromium
def test_a_dial_is_pressed_drawn_and_turned(page: Page) -> None:
    dial = page.get_by_role("spinbutton", name="x", exact=True)
    box = dial.bounding_box()
    assert box
    middle = box["x"] + box["width"] / 2
    page.mouse.click(middle, box["y"] + 12)
    assert dial.get_attribute("aria-valuenow") == "1", "above its number"
    page.mouse.click(middle, box["y"] + 80)
    page.mouse.click(middle, box["y"] + 80)
    assert dial.get_attribute("aria-valuenow") == "-1"
    page.mouse.move(middle, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(middle, box["y"] + 102, steps=4)
    page.mouse.up()
    assert dial.get_attribute("aria-valuenow") == "1", "the strip follows the hand"
    dial.press("End")
    dial.press("ArrowUp")
    assert dial.get_attribute("aria-valuenow") == str(catch.LARGEST)


@needs_chromium
def test_arrow_keys_go_along_the_boxes(page: Page) -> None:
    tiles = page.locator(".ct-box")
    tiles.first.focus()
    page.keyboard.press("ArrowDown")
    expect(tiles.nth(8)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(tiles.nth(7)).to_be_focused()
    assert tiles.evaluate_all("tiles => tiles.filter((tile) => tile.tabIndex === 0).length") == 1


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (760, True), (390, False), (390, True)])
def test_everybody_can_use_it(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, catch.catch_them_all(), width, dark, reduced_motion="reduce")
    turn(page, **FIRST)
    keep(page, 5, 11)
    keep(page, 5, 11)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.locator(".ct-open .ct-title").evaluate_all(
        """titles => titles.filter((title) => title.scrollWidth > title.clientWidth + 1 || title.scrollHeight > title.clientHeight + 2)
          .map((title) => title.textContent)"""
    )
    assert cut == []
    for button in page.locator(".ffp button:visible, .ct-drum:visible").all():
        box = button.bounding_box()
        assert box and min(box["width"], box["height"]) >= 24
    if AXE.is_file():
        assert violations(page) == []
    page.close()
