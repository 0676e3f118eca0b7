"""The river of experts: its stored runs, what they say in Python and in the browser, and the board under mouse, keys and fingers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import reached, sentence
from conftest import needs_chromium
from lab import browser
from playwright.sync_api import Browser, Page, expect

from autograder.authoring.experiments import river as making
from ffnlab import boards
from ffnlab.course.boards import river as board
from ffnlab.course.experiments import river

AXE = Path(sys.prefix) / "hub" / "node_modules" / "axe-core" / "axe.min.js"
LAST = len(river.STEPS) - 1


def at(step: int) -> int:
    return river.STEPS.index(step)


# the stored runs


def test_the_collapse_undoes_itself_slowly() -> None:
    """What notebook 09 says: without a cure expert 1 loses some of its tokens in 3,000 steps, in sixteen runs that nothing was chosen on."""
    plain = next(branch for branch in river.BRANCHES if branch.cure == "none")
    shares = [row["3000"]["first"] for row in river.others(plain)]
    assert len(shares) == 16 and min(shares) > 0.19 and max(shares) < 0.77


def test_the_stored_runs_are_complete_and_small() -> None:
    assert river.STORED.stat().st_size < 250_000
    assert len(json.dumps(dict(board.experts().data))) < 120_000
    assert len(river.tokens()) == making.NEW
    for head_start in river.HEAD_STARTS:
        for run in river.runs(head_start).values():
            assert run.routers.shape == (len(river.STEPS), 3, river.N_EXPERTS)
            assert np.allclose(run.loads.sum(1), 1) and (run.errors > 0).all()
            assert np.abs(run.routers).max(axis=(1, 2)) == pytest.approx(np.ones(len(river.STEPS)), abs=1e-4)
    assert river.stored()["about"]["tokens that rounding moves, at most"] <= 0.01 * making.NEW


def test_what_is_said_comes_from_seeds_that_nothing_was_chosen_on() -> None:
    assert len(set(river.FRESH)) >= 15 and not set(river.FRESH) & set(range(5)) and river.STORED_SEED in range(5)
    assert list(river.stored()["others"]) == [branch.key() for branch in river.BRANCHES]
    assert all(len(river.others(branch)) == len(river.FRESH) for branch in river.BRANCHES)


def test_a_run_can_be_repeated() -> None:
    until = 132
    run = making.train(river.STORED_SEED, river.TEXT_HEAD_START, steps=until)
    stored = river.runs(river.TEXT_HEAD_START)
    assert run.tokens.numpy() == pytest.approx(river.tokens(), abs=1e-4)
    for b, branch in enumerate(river.BRANCHES):
        for n, look in enumerate(run.snapshots):
            assert making.scale(look.routers[b]) == pytest.approx(stored[branch].routers[n][:, :-1], abs=0.01)
            assert look.errors[b].item() == pytest.approx(stored[branch].errors[n], abs=0.005)
    assert len(run.snapshots) == 1 + until // 6


def test_a_branch_is_the_run_without_a_cure_until_its_cure_begins() -> None:
    run = making.train(river.STORED_SEED, 1, steps=72)
    for b, branch in enumerate(river.BRANCHES[1:], 1):
        same = [bool((look.routers[b] == look.routers[0]).all()) for look in run.snapshots]
        assert same == [step <= branch.when for step in river.STEPS if step <= 72]


def test_what_is_said_once_a_goal_is_reached_is_counted_seed_by_seed() -> None:
    def rows(key: str, step: int) -> list[dict[str, Any]]:
        return [row[str(step)] for row in river.stored()["others"][key]]

    def less(key: str, step: int, factor: float = 1.0) -> int:
        return sum(a["error"] < factor * b["error"] for a, b in zip(rows(key, step), rows("none", step), strict=True))

    def work(key: str, step: int) -> int:
        return sum(row["smallest"] >= 0.05 for row in rows(key, step))

    even, useful, useless = (re.findall(r"\d[\d,.]*\d|\d", goal.after) for goal in board.experts().goals)
    quick, slow, never = work("strong 60", 240), work("loss 60", 240), work("none", 3000)
    assert even == [str(n) for n in (16, 60, 10, 240, quick, 0.1, slow, never, 16, "3,000")]
    gentle, half, strong = less("loss 60", 3000), less("loss 60", 3000, 0.5), less("strong 60", 3000)
    assert useful == [str(n) for n in (16, 0.1, 60, gentle, half, 10, strong)]
    assert useless == [str(n) for n in (16, 10, 60, 16 - less("strong 60", 240), 240, 16 - strong, "3,000")]


# the same in the browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def opened(chromium: Browser, width: int = 760, theme: str = "light", **options: Any) -> Page:
    page = chromium.new_page(viewport={"width": width, "height": 1100}, **options)
    whole = f'<body data-theme="{theme}" style="margin:8px"><main>{boards.html(board.experts())}</main></body>'
    page.set_content(f'<!doctype html><html lang="en"><title>river</title>{whole}</html>')
    page.locator(".rv-play").wait_for()
    return page


@pytest.fixture()
def page(chromium: Browser) -> Iterator[Page]:
    page = opened(chromium)
    yield page
    page.close()


def computing(chromium: Browser) -> Page:
    """A page with the board's functions and none of its marks."""
    page = chromium.new_page()
    page.set_content(
        f"<script type=module>{boards.script(board.HERE / 'river.js')}\nconst spec = {json.dumps(board.experts().spec())};\n"
        "window.runs = new Runs(spec.data); window.say = { expertAt, regionOf, countEffective };</script>"
    )
    page.wait_for_function("window.say")
    return page


@needs_chromium
def test_javascript_and_python_agree_on_every_token_at_every_stored_state(chromium: Browser) -> None:
    page = computing(chromium)
    different = 0
    for head_start in river.HEAD_STARTS:
        for branch, run in river.runs(head_start).items():
            js_run = page.evaluate(
                "([head, key]) => { const run = runs.run(head, key);"
                " return { loads: run.loads, errors: run.errors, effective: run.loads.map(say.countEffective),"
                "  experts: run.routers.map((router) => runs.points.map(([x, y]) => say.expertAt(router, x, y)).join('')) }; }",
                [head_start, branch.key()],
            )
            assert np.allclose(js_run["errors"], run.errors)
            assert np.allclose(js_run["effective"], [river.effective(load) for load in run.loads])
            for n, router in enumerate(run.routers):
                goes = "".join(map(str, river.assign(router, river.tokens())))
                different += sum(a != b for a, b in zip(goes, js_run["experts"][n], strict=True))
                assert np.allclose(js_run["loads"][n], run.loads[n], atol=2 / making.NEW)
    assert different == 0
    page.close()


@needs_chromium
def test_the_regions_are_where_the_tokens_go(chromium: Browser) -> None:
    page = computing(chromium)
    tally = page.evaluate(
        """() => {
          const inside = (corners, [x, y]) => corners.length > 2 && corners.every(([x0, y0], n) => {
            const [x1, y1] = corners[(n + 1) % corners.length];
            return (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) >= -1e-9;
          });
          const area = (corners) => corners.reduce((sum, [x0, y0], n) => {
            const [x1, y1] = corners[(n + 1) % corners.length];
            return sum + (x0 * y1 - x1 * y0) / 2;
          }, 0);
          let wrong = 0, seen = 0, worst = 0;
          for (const key of ["none", "loss 60", "strong 120", "bias 1200"]) for (const router of runs.run(3, key).routers) {
            const regions = Array.from({ length: 8 }, (_, e) => say.regionOf(router, e));
            worst = Math.max(worst, Math.abs(regions.map(area).reduce((a, b) => a + b) - 5.6 ** 2));
            for (const point of runs.points.slice(0, 240)) {
              if (Math.max(...point.map(Math.abs)) > 2.8) continue;
              seen++;
              wrong += !inside(regions[say.expertAt(router, ...point)], point);
            }
          }
          return { wrong, seen, worst };
        }"""
    )
    assert tally["wrong"] == 0 and tally["seen"] > 50_000 and tally["worst"] < 1e-6
    page.close()


# the board under the hand


def scrub(page: Page, step: int) -> None:
    page.locator(".rv-scrub").evaluate(
        "(made, value) => { made.value = value; made.dispatchEvent(new Event('input')); }", at(step)
    )


def cure(page: Page, words: str) -> None:
    page.get_by_role("radio", name=words, exact=True).check(force=True)


@needs_chromium
def test_nothing_is_reached_at_the_start_nor_without_a_cure(page: Page) -> None:
    assert reached(page) == [False, False, False]
    for step in (60, 240, 3000):
        scrub(page, step)
        run = river.runs(river.TEXT_HEAD_START)[river.BRANCHES[0]]
        assert f"{run.errors[at(step)]:.3f}" in sentence(page)
    assert reached(page) == [False, False, False]


@needs_chromium
def test_the_goals_are_reached_by_what_they_ask_and_not_by_the_cure_that_is_too_strong(page: Page) -> None:
    cure(page, "balance loss, α = 10")
    scrub(page, 3000)
    assert not reached(page)[1]
    scrub(page, board.earliest())
    expect(page.locator(".ffp-record")).to_contain_text("and that is the record")
    cure(page, "balance loss, α = 0.1")
    scrub(page, 3000)
    assert reached(page)[:2] == [True, True]
    fair = [
        (branch, n)
        for branch, run in river.runs(river.TEXT_HEAD_START).items()
        for n in river.after(branch)
        if branch.cure == "strong" and run.loads[n].min() >= board.EVEN[0] and run.loads[n].max() <= board.EVEN[1]
        and run.errors[n] >= river.runs(river.TEXT_HEAD_START)[river.BRANCHES[0]].errors[n]
    ]  # fmt: skip
    assert fair, "the strong cure is fair and useless somewhere"
    branch, n = fair[0]
    cure(page, "balance loss, α = 10")
    cure(page, f"{branch.when:,}")
    scrub(page, river.STEPS[n])
    assert reached(page) == [True, True, True]


@needs_chromium
def test_it_plays_stops_and_a_cure_that_comes_in_the_middle_begins_where_it_next_can(page: Page) -> None:
    press = page.locator(".rv-play")
    press.click()
    expect(press).to_have_text("❚❚ Pause")
    page.wait_for_function(f"document.querySelector('.rv-scrub').value > {at(66)}")
    cure(page, "selection bias, u = 0.03")
    expect(page.get_by_role("radio", name="120", exact=True)).to_be_checked()
    press.click()
    expect(press).to_have_text("▶ Play")
    stopped = page.locator(".rv-scrub").input_value()
    page.wait_for_timeout(400)
    assert page.locator(".rv-scrub").input_value() == stopped
    scrub(page, 240)
    assert "has been on since step 120" in sentence(page)


@needs_chromium
def test_start_again_stops_it(page: Page) -> None:
    page.locator(".rv-play").click()
    page.wait_for_function("document.querySelector('.rv-scrub').value > 5")
    page.locator(".ffp-again").click()
    page.wait_for_timeout(400)
    assert page.locator(".rv-scrub").input_value() == "0"
    expect(page.locator(".rv-play")).to_have_text("▶ Play")


@needs_chromium
def test_keys_reach_everything(page: Page) -> None:
    slider = page.locator(".rv-scrub")
    slider.focus()
    page.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext") == "step 3000" and slider.input_value() == str(LAST)
    page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "step 2880"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("expert 1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".rv-chip[aria-pressed=true]").count() == 1
    assert page.locator(".rv-dot.rv-fades").count() > 100 and page.locator(".rv-dot.rv-e2.rv-fades").count() == 0
    page.keyboard.press("Enter")
    assert page.locator(".rv-dot.rv-fades").count() == 0
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "rv-play", "the row of experts is one stop"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".rv-started").inner_text() == "2"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="balance loss, α = 0.1", exact=True)).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="120", exact=True)).to_be_checked()
    assert page.evaluate("scrollY") == 0


@needs_chromium
def test_the_head_start_is_dragged_and_a_band_is_pressed(page: Page) -> None:
    slider = page.locator(".rv-start")
    box = slider.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 12, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    assert page.locator(".rv-started").inner_text() == "0"
    scrub(page, 3000)
    largest = int(river.runs(0)[river.BRANCHES[0]].loads[LAST].argmax()) + 1
    page.locator(f".rv-region.rv-e{largest}").click()
    expect(page.locator(f".rv-chip.rv-e{largest}")).to_have_attribute("aria-pressed", "true")
    page.locator(f".rv-chip.rv-e{largest}").click()
    expect(page.locator(f".rv-chip.rv-e{largest}")).to_have_attribute("aria-pressed", "false")


@needs_chromium
def test_marks_stay_when_the_state_changes(page: Page) -> None:
    page.evaluate("window.marks = [...document.querySelectorAll('.rv-dot, .rv-band, .rv-region')]")
    scrub(page, 240)
    cure(page, "balance loss, α = 10")
    assert page.evaluate("marks.every((mark) => mark.isConnected)")
    assert page.evaluate("document.querySelectorAll('.rv-dot, .rv-band, .rv-region').length === marks.length")


@needs_chromium
@pytest.mark.parametrize("width", [390, 760])
def test_words_are_large_enough_and_nothing_scrolls_sideways(chromium: Browser, width: int) -> None:
    page = opened(chromium, width)
    cure(page, "balance loss, α = 10")
    scrub(page, 3000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('.ffp *')]
          .filter((one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim()) && !one.closest('.ffp-aloud'))
          .map((one) => parseFloat(getComputedStyle(one).fontSize))"""
    )
    assert min(sizes) >= 11
    for mark in page.locator(".ffp button:visible, .rv-option, .rv-scrub, .rv-start").all():
        box = mark.bounding_box()
        assert box and min(box["width"], box["height"]) >= 24
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.rv-river text')].filter((one) => {
          const [text, river] = [one, one.closest('svg')].map((made) => made.getBoundingClientRect());
          return text.width && (text.left < river.left - 1 || text.right > river.right + 1);
        }).map((one) => one.textContent)"""
    )
    assert outside == []
    page.close()


@needs_chromium
def test_with_reduced_motion_nothing_slides(chromium: Browser) -> None:
    page = opened(chromium, reduced_motion="reduce")
    scrub(page, 240)
    cure(page, "balance loss, α = 10")
    assert page.locator(".rv-band").first.evaluate("(made) => getComputedStyle(made).transitionDuration") == "0s"
    x = page.locator(".rv-head").get_attribute("x1")
    page.wait_for_timeout(200)
    assert page.locator(".rv-head").get_attribute("x1") == x
    page.close()


@needs_chromium
def test_the_numbers_in_the_sentence_are_those_of_the_run(page: Page) -> None:
    for name, words in board.CURES.items():
        cure(page, words["button"])
        for step in (6, 240, 3000):
            scrub(page, step)
            branch = river.Branch(name, 60) if name != "none" else river.BRANCHES[0]
            run = river.runs(river.TEXT_HEAD_START)[branch]
            text = sentence(page)
            load = run.loads[at(step)]
            assert f"expert {load.argmax() + 1} gets" in text and f"{run.errors[at(step)]:.3f}" in text
            shares = [float(share) for share in re.findall(r"([\d.]+)\s%", text)]
            assert min(abs(share - 100 * load.max()) for share in shares) <= 0.51


@needs_chromium
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: `make hub`, with npm")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_use_it(chromium: Browser, theme: str) -> None:
    page = opened(chromium, theme=theme)
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for words in ("none", "balance loss, α = 10"):
        cure(page, words)
        scrub(page, 240)
        report = page.evaluate("() => axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
        assert [f"{violation['id']}: {violation['nodes'][0]['html'][:120]}" for violation in report["violations"]] == []
    page.close()
