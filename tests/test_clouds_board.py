"""The four clouds: what is drawn is what was stored, the clock plays, and goals are reached by what they ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ffnlab.course.boards import clouds
from ffnlab.course.experiments import collapse

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import opened, reached
from conftest import needs_chromium
from lab import browser
from playwright.sync_api import Browser, expect
from test_desk import AXE, violations

pytestmark = needs_chromium
CLOUDS = ("attention", "ffn", "skip", "all")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def test_dots_and_values_are_those_that_were_stored(chromium: Browser) -> None:
    page = opened(chromium, clouds.stacks(), reduced_motion="reduce")
    for stop, depth in enumerate(collapse.DEPTHS):
        page.get_by_role("slider", name="layers").fill(str(stop))
        for label, length in (
            ("as it comes", "ffn"),
            ("as long as its input", "ffn, same length"),
            ("four times as long", "ffn, four times"),
        ):
            page.get_by_label(label).check()
            for n, cloud in enumerate(CLOUDS):
                stored = collapse.stored(length if cloud == "ffn" else cloud)
                panel = page.locator(".cl-panel").nth(n)
                places = panel.locator(".cl-dot").evaluate_all(
                    "dots => dots.map((dot) => { const at = new DOMMatrix(getComputedStyle(dot).transform); return [at.e, -at.f]; })"
                )
                assert places == [pytest.approx(dot, abs=1e-3) for dot in stored["dots"][stop]], (depth, cloud)
                r, value = stored["shown"][stop], panel.locator(".cl-value").inner_text()
                expected = f"r = {r:.2f}".rstrip("0") if r >= 0.01 else "below 10⁻¹⁵" if r < 1e-15 else "·10⁻"
                assert expected in value, (depth, cloud, value, r)
    page.close()


def test_goals_are_reached_by_what_they_ask_for(chromium: Browser) -> None:
    page = opened(chromium, clouds.stacks(), reduced_motion="reduce")
    slider = page.get_by_role("slider", name="layers")
    after = page.locator(".ffp-after")
    assert page.locator(".cl-ghost").count() == 0, "what is to come is not drawn before it is guessed"
    for stop in ("2", "4", "13"):
        slider.fill(stop)
        assert reached(page) == [False, False], "none is below a millionth, or more than one"
    assert page.locator(".cl-ghost").count() == 4
    slider.fill("3")
    assert reached(page) == [True, False]
    first = after.inner_text()
    page.get_by_label("as long as its input").check()
    assert reached(page) == [True, False], "as long as its input it falls no more slowly than attention alone"
    page.get_by_label("four times as long").check()
    assert reached(page) == [True, True]
    assert "It was smaller in 20 of 20." in first and first.startswith("As it comes")
    assert "1.6·10⁻⁶" in first and "0.087" in after.inner_text() and "0.2." in after.inner_text()
    page.close()


def test_the_other_order_ticks_nothing_that_the_picture_does_not_show(chromium: Browser) -> None:
    page = opened(chromium, clouds.stacks(), reduced_motion="reduce")
    page.get_by_label("four times as long").check()
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".cl-layers")).to_have_text("96 layers", timeout=20_000)
    assert reached(page) == [False, True] and "delays the fall" in page.locator(".ffp-after").inner_text()
    assert "with the FFN’s output made four times as long" in page.locator(".ffp-sentence").inner_text()
    page.get_by_role("slider", name="layers").fill("3")
    assert reached(page) == [False, True]
    page.get_by_label("as it comes").check()
    assert reached(page) == [True, True]
    page.close()


def test_the_clock_plays_to_the_end_and_stops(chromium: Browser) -> None:
    page = opened(chromium, clouds.stacks(), reduced_motion="reduce")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator(".cl-layers")).to_have_text("96 layers", timeout=20_000)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert reached(page) == [False, False], "pressing Play answers nothing"
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".cl-layers")).to_have_text("3 layers", timeout=20_000)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator(".cl-layers")).to_have_text("3 layers")
    assert reached(page) == [True, False]
    page.close()


@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_everybody_can_use_it(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, clouds.stacks(), width, dark, reduced_motion="reduce")
    for stop in ("0", "3", "13"):
        page.get_by_role("slider", name="layers").fill(stop)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if AXE.is_file():
            assert violations(page) == []
    for n in range(4):
        cloud = page.locator(".cl-cloud").nth(n).bounding_box()
        assert cloud
        page.get_by_role("slider", name="layers").fill("0")
        for dot in page.locator(".cl-cloud").nth(n).locator(".cl-dot").all():
            dot_box = dot.bounding_box()
            assert (
                dot_box
                and dot_box["x"] >= cloud["x"] - 1
                and dot_box["x"] + dot_box["width"] <= cloud["x"] + cloud["width"] + 1
            )
    for control in page.locator(".ffp button:visible, .ffp label:visible").all():
        box = control.bounding_box()
        assert box and min(box["width"], box["height"]) >= 24
    page.get_by_role("slider", name="layers").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("slider", name="layers")).to_have_attribute("aria-valuetext", "0 layers")
    page.close()
