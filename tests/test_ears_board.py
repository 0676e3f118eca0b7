"""Eight neurons of a real model to be named, and two whose names are to be broken: played by mouse and keyboard, with and without Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ffnlab.boards import Board
from ffnlab.course import real_file
from ffnlab.course.boards import ears
from ffnlab.course.experiments import real, real_sentences

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import opened, reached, sentence
from conftest import needs_chromium
from lab import browser
from playwright.sync_api import Browser, Page, expect
from test_desk import AXE, violations


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(autouse=True)
def without_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Boards show what is stored, also where the file is."""
    monkeypatch.setenv(real_file.VARIABLE, str(tmp_path))


def name_lamp(page: Page, lamp: str, name: str) -> None:
    page.get_by_label(f"what lamp {lamp} hears").select_option(name)


def choose(page: Page, *texts: str) -> None:
    for n, text in enumerate(texts, start=1):
        page.get_by_label(f"part {n} of the sentence").select_option(label=text)


def note(page: Page) -> str:
    return page.locator(".er-note").inner_text()


@needs_chromium
def test_a_lamp_gets_its_name_once_it_was_lit(chromium: Browser) -> None:
    page = opened(chromium, ears.eight(), reduced_motion="reduce")
    name_lamp(page, "B", "not")
    assert note(page) == "Lamp B has not been lit yet. Find a sentence that lights it."
    choose(page, "The horse", "does not like the", "violin.")
    assert page.get_by_role("img", name="lamp B: lit at").count() == 1
    name_lamp(page, "B", "music")
    assert "does not hear “music”" in note(page) and "wrong names: 1" in sentence(page)
    name_lamp(page, "B", "not")
    assert reached(page) == [False, False]
    name_lamp(page, "F", "not")
    assert reached(page) == [True, False] and "2 of 8 lamps have a name" in sentence(page)
    page.close()


@needs_chromium
def test_all_eight_can_be_named_by_the_keyboard(chromium: Browser) -> None:
    page = opened(chromium, ears.eight(), reduced_motion="reduce")
    for texts in (
        ("My uncle", "does not like the", "violin."),
        ("The horse", "likes the", "elbow."),
        ("Our goat", "likes the", "truck."),
    ):
        choose(page, *texts)
    for lamp, name in real.NAMES.items():
        page.get_by_label(f"what lamp {lamp} hears").focus()
        page.keyboard.type(name)
        page.keyboard.press("Tab")
    assert reached(page) == [True, True]
    page.close()


@needs_chromium
def test_both_names_are_broken_by_stored_sentences(chromium: Browser) -> None:
    page = opened(chromium, ears.two(), reduced_motion="reduce")
    stored = page.get_by_label("a stored sentence")
    assert reached(page) == [False, False]
    stored.select_option("Nobody came to the party.")
    assert reached(page) == [False, False], "it is a negation of the list"
    stored.select_option("Milk instead of sugar, please.")
    assert reached(page) == [True, False] and "1265 reaches 3" in sentence(page)
    stored.select_option("You are kind, aren't you?")
    assert reached(page) == [True, False] and "1265 reaches 1.5" in sentence(page), "that is not below 1.5"
    stored.select_option("Whether or not it rains, we go.")
    assert reached(page) == [True, True] and "1265 reaches 0" in sentence(page)
    assert "Records: your loudest without a negation 3, your quietest “not” 0." in sentence(page)
    stored.select_option("The shop is not open today.")
    assert "your loudest without a negation 3, your quietest “not” 0." in sentence(page)
    assert not page.get_by_label("your own sentence").is_visible()
    page.close()


def with_python(chromium: Browser, board: Board, answers: dict[str, Any]) -> Page:
    """The board on a page where Python has the model, and says what it would say."""
    typed = Board(board.module, board.name, board.title, {**board.data, "typed": True}, board.goals)
    page = opened(chromium, typed, reduced_motion="reduce")
    page.expose_function(
        "python", lambda text: answers.get(text, {"error": "ValueError: That is 40 tokens. Write 1 to 22."})
    )
    page.evaluate(
        """() => document.querySelector(".ffn-play").addEventListener("ffn-ask",
          async ({ detail }) => detail.done(await window.python(detail.value)))"""
    )
    return page


@needs_chromium
def test_a_sentence_of_ones_own_is_read_by_python(chromium: Browser) -> None:
    deaf = {"tokens": ["[CLS]", "or", "not", "[SEP]"], "acts": [[0, 0], [0, 1], [41, 6], [0, 0]]}
    page = with_python(chromium, ears.two(), {"Or not <b>": {"value": deaf}})
    page.get_by_label("your own sentence").fill("Or not <b>")
    page.keyboard.press("Enter")
    expect(page.locator(".ffp-sentence")).to_contain_text("“Or not <b>”: 829 reaches 4.1, 1265 reaches 0.6.")
    assert reached(page) == [False, True]
    page.get_by_label("your own sentence").fill("far too long")
    page.get_by_role("button", name="Read it").click()
    expect(page.locator(".er-error")).to_have_text("That is 40 tokens. Write 1 to 22.")
    page.close()


@needs_chromium
def test_no_slot_shows_another_sentence_than_the_one_that_was_typed(chromium: Browser) -> None:
    typed = {"tokens": ["[CLS]", "or", "[SEP]"], "acts": [[0] * 8] * 3}
    page = with_python(chromium, ears.eight(), {"Or": {"value": typed}})
    page.get_by_label("your own sentence").fill("Or")
    page.keyboard.press("Enter")
    expect(page.locator(".er-head")).to_contain_text("or")
    first, second, third = (page.get_by_label(f"part {n} of the sentence") for n in (1, 2, 3))
    assert [slot.input_value() for slot in (first, second, third)] == ["", "", ""]
    first.select_option("0")
    expect(page.locator(".er-head")).to_contain_text("baker")
    assert [slot.input_value() for slot in (first, second, third)] == ["0", "0", "0"]
    page.close()


@needs_chromium
@pytest.mark.parametrize("make", [ears.eight, ears.two])
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_everybody_can_use_it(chromium: Browser, make: Any, width: int, dark: bool) -> None:
    page = opened(chromium, make(), width, dark, reduced_motion="reduce")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for control in page.locator(".ffp select:visible, .ffp button:visible").all():
        box = control.bounding_box()
        assert box and min(box["width"], box["height"]) >= 24
    if AXE.is_file():
        assert violations(page) == []
    page.close()


def test_its_sentences_are_all_stored() -> None:
    data = ears.eight().data
    assert data["begin"] in data["stored"] and len(data["stored"]) == 125
    assert list(ears.two().data["stored"]) == list(real_sentences.FREE)
    assert all(len(entry["acts"]) == len(entry["tokens"]) for entry in data["stored"].values())
