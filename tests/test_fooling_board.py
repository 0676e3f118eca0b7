"""The reader's box before six inspectors: five can be fooled, six can't, and a box that is real or fails says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from autograder.authoring.build import solution_answer
from ffnlab.course import inspectors
from ffnlab.course.boards import fooling

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


def attention(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1) @ x


def with_python(chromium: Browser, box: Callable[..., Any], width: int = 760, dark: bool = False) -> Page:
    """The board on a page where Python answers."""
    board = fooling.inspect(box)
    page = opened(chromium, board, width, dark, reduced_motion="reduce")
    page.expose_function("python", lambda name, value: board.answers[name](value))
    page.evaluate(
        """() => document.querySelector(".ffn-play").addEventListener("ffn-ask",
          async ({ detail }) => detail.done({ value: await window.python(detail.name, detail.value) }))"""
    )
    return page


def send(page: Page) -> None:
    page.get_by_role("button", name="Send them in").click()
    expect(page.locator(".ffp-sentence")).to_contain_text("6 of 6 inspectors have come", timeout=20_000)


def test_its_questions_are_those_of_the_inspectors() -> None:
    assert list(fooling.QUESTIONS) == list(inspectors.INSPECTORS)
    assert len(fooling.LENGTHS) == fooling.VISITS and min(fooling.LENGTHS) >= 6


@needs_chromium
def test_five_are_fooled_and_the_flag_says_why_not_six(chromium: Browser) -> None:
    page = with_python(chromium, solution_answer("fool_the_inspectors").answer)
    page.get_by_text("It can’t be done").last.click()
    page.get_by_role("button", name="If a word hears another one").click()
    expect(page.locator(".ffp-note")).to_have_text("Try it first.")
    send(page)
    assert reached(page) == [True, True, False] and "5 call your box real" in sentence(page)
    assert page.locator(".fo-hit").count() == 5 and page.locator(".fo-cheat").inner_text() == "Your box cheats."
    page.get_by_text("It can’t be done").last.click()
    page.get_by_role("button", name="If a word hears another one").click()
    assert reached(page) == [True, True, True]
    assert "no word hears another one" in page.locator(".ffp-after").last.inner_text()
    page.close()


@needs_chromium
def test_attention_fools_four(chromium: Browser) -> None:
    page = with_python(chromium, attention)
    send(page)
    assert reached(page) == [True, False, False]
    caught = page.locator(".fo-row:not(.fo-hit) b").all_inner_texts()
    assert caught == ["first", "neighbours"]
    page.close()


@needs_chromium
def test_a_real_box_fools_nobody(chromium: Browser) -> None:
    page = with_python(chromium, torch.relu)
    send(page)
    assert page.locator(".fo-hit").count() == 6 and sum(reached(page)) == 0
    assert page.locator(".fo-cheat").inner_text() == "Your box does not cheat: it is real."
    page.close()


@needs_chromium
def test_a_box_that_fails_says_what_it_raised(chromium: Browser) -> None:
    def fails_when_long(X: torch.Tensor) -> torch.Tensor:
        if len(X) > 9:
            raise KeyError("long")
        return attention(X)

    page = with_python(chromium, fails_when_long)
    page.get_by_role("button", name="Send them in").click()
    expect(page.locator(".fo-error")).to_have_text("KeyError: 'long'")
    assert sum(reached(page)) == 0
    page.close()
    with pytest.raises(NotImplementedError):
        fooling.inspect(unwritten)


def unwritten(X: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_everybody_can_use_it(chromium: Browser, width: int, dark: bool) -> None:
    page = with_python(chromium, attention, width, dark)
    page.get_by_role("button", name="Send them in").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ffp-sentence")).to_contain_text("6 of 6", timeout=20_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator(".ffp button:visible").all():
        box = button.bounding_box()
        assert box and min(box["width"], box["height"]) >= 24
    if AXE.is_file():
        assert violations(page) == []
    page.close()


@needs_chromium
def test_without_python_the_board_says_so(chromium: Browser) -> None:
    page = opened(chromium, fooling.inspect(attention), reduced_motion="reduce")
    page.get_by_role("button", name="Send them in").click()
    expect(page.locator(".ffp-note")).to_contain_text("No answer from Python", timeout=5_000)
    page.close()
