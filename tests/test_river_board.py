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
import torch

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


LOSS, BIAS = "balance loss", "selection bias"


def at(step: int) -> int:
    return river.STEPS.index(step)


# the stored runs


def planted() -> dict[river.Branch, river.Run]:
    return river.runs(board.PLANTED)


def test_without_a_cure_no_run_brings_all_eight_to_work() -> None:
    """Why the third goal has a flag: neither in the stored run, at any step, nor in sixteen runs that nothing was chosen on, at the end."""
    for head_start in river.HEAD_STARTS:
        assert (river.runs(head_start)[river.PLAIN].loads.min(1) < river.WORKING).all()
        ends = [row["3000"]["smallest"] for row in river.others(head_start, river.PLAIN)]
        assert len(ends) == 16 and max(ends) < river.WORKING
        ends.append(river.runs(head_start)[river.PLAIN].loads[-1].min())
        assert ends == [0] * 17  # “without a cure some stay idle, in each of 34 runs”
        # With the head start one expert had all the tokens, and does not keep them: that collapse ends without a cure.
        assert min(row["3000"]["effective"] for row in river.others(head_start, river.PLAIN)) > 1.9


def test_expert_2_comes_back_and_a_cure_does_it_on_purpose() -> None:
    """What is said once the level without a cure is settled."""
    plain = river.runs(3)[river.PLAIN]
    shares = {step: plain.loads[river.STEPS.index(step)][2] for step in (0, 12, 3000)}
    assert shares == {0: 0, 12: pytest.approx(0.03, abs=0.005), 3000: pytest.approx(0.5, abs=0.02)}
    assert all(river.runs(3)[river.Branch("loss 0.1", when)].loads[-1].min() > 0 for when in river.WHENS)


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
    for head_start in river.HEAD_STARTS:
        assert list(river.stored()["others"][str(head_start)]) == [branch.key() for branch in river.TOLD]
        assert all(len(river.others(head_start, branch)) == len(river.FRESH) for branch in river.TOLD)


def test_a_run_can_be_repeated() -> None:
    until = 132
    run = making.train(river.STORED_SEED, board.PLANTED, steps=until)
    assert run.tokens.numpy() == pytest.approx(river.tokens(), abs=1e-4)
    for b, branch in enumerate(river.BRANCHES):
        for n, look in enumerate(run.snapshots):
            assert making.scale(look.routers[b]) == pytest.approx(planted()[branch].routers[n][:, :-1], abs=0.01)
            assert look.errors[b].item() == pytest.approx(planted()[branch].errors[n], abs=0.005)
    assert len(run.snapshots) == 1 + until // 6


def test_a_branch_is_the_run_without_a_cure_until_its_cure_begins() -> None:
    run = making.train(river.STORED_SEED, 0, steps=72)
    for b, branch in enumerate(river.BRANCHES[1:], 1):
        same = [bool((look.routers[b] == look.routers[0]).all()) for look in run.snapshots]
        assert same == [step <= branch.when for step in river.STEPS if step <= 72]


def test_what_is_said_once_a_goal_is_reached_holds() -> None:
    even, useful, alone, useless = board.experts().goals
    slow, quick = (planted()[river.Branch(cure, 60)] for cure in ("loss 0.03", "loss 1"))
    firsts = [next(river.STEPS[n] for n, load in enumerate(run.loads) if load.min() >= 0.05) for run in (slow, quick)]
    assert firsts == [1200, 114] and "at step 1,200, and α = 1 at step 114" in even.after
    by_alpha = [board.first_work(river.Branch(f"loss {alpha:g}", 60)) or 0 for alpha in river.ALPHAS if alpha >= 0.03]
    assert by_alpha[:-1] == sorted(by_alpha[:-1], reverse=True) and by_alpha[-1] > by_alpha[-2]  # “up to a point”
    assert "they cut through clusters" in useless.after  # the next test
    assert alone.flag and "learns nothing" in alone.flag.reasons[alone.flag.right]

    def lower(head_start: int, cure: str, factor: float = 1.0) -> int:
        pairs = zip(*(river.others(head_start, of) for of in (river.Branch(cure, 60), river.PLAIN)), strict=True)
        return sum(row["3000"]["error"] < factor * plain["3000"]["error"] for row, plain in pairs)

    assert "most runs gain by this, and few gain so much" in useful.after
    for cure in ("loss 0.1", "loss 0.3", "loss 1", "bias"):  # the settings that reach the goal
        assert lower(3, cure) >= 14 and lower(3, cure, 0.5) <= 3
    assert lower(0, "loss 10") == 1 and lower(0, "loss 0.1") == 10


def test_a_fair_and_useless_router_cuts_through_clusters() -> None:
    """What is said of its borders: of at least three clusters no expert gets nine tenths."""
    task = making.Task(river.STORED_SEED)
    generator = torch.Generator().manual_seed(1000 + river.STORED_SEED)
    clusters = torch.randint(river.N_EXPERTS, (making.NEW,), generator=generator).numpy()
    near = np.linalg.norm(river.tokens() - task.centres.numpy()[clusters], axis=1)
    assert np.median(near) < 2 * making.SPREAD  # these are the tokens' clusters
    plain = river.runs(0)[river.PLAIN]
    for branch, run in river.runs(0).items():
        if branch.when and run.loads[-1].min() >= river.WORKING and run.errors[-1] > plain.errors[-1]:
            goes = river.assign(run.routers[-1], river.tokens())
            largest = [np.bincount(goes[clusters == c]).max() / (clusters == c).sum() for c in range(river.N_EXPERTS)]
            assert sum(share < 0.9 for share in largest) >= 3 and float(branch.cure.split()[1]) >= 3


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
          for (const key of ["none", "loss 0.1 60", "loss 10 60", "bias 1200"]) for (const router of runs.run(3, key).routers) {
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


GENTLE_ALPHA = 0.1  # with it the goal of half the error is reached


def scrub(page: Page, step: int) -> None:
    page.locator(".rv-scrub").evaluate(
        "(made, value) => { made.value = value; made.dispatchEvent(new Event('input')); }", at(step)
    )


def cure(page: Page, words: str, alpha: float = GENTLE_ALPHA) -> None:
    page.get_by_role("radiogroup", name="Cure").get_by_role("radio", name=words, exact=True).check(force=True)
    if words == LOSS:
        page.locator(".rv-slide").evaluate(
            "(made, value) => { made.value = value; made.dispatchEvent(new Event('input')); }",
            river.ALPHAS.index(alpha),
        )


def head_start(page: Page, start: int) -> None:
    page.get_by_role("radiogroup", name="Head start").get_by_role("radio", name=str(start), exact=True).check(
        force=True
    )


@needs_chromium
def test_nothing_is_reached_at_the_start_nor_without_a_cure(page: Page) -> None:
    assert reached(page) == [False, False, False, False]
    for step in (60, 240, 3000):
        scrub(page, step)
        assert f"{planted()[river.PLAIN].errors[at(step)]:.3f}" in sentence(page)
    assert reached(page) == [False, False, False, False]


@needs_chromium
def test_the_goals_are_reached_by_what_they_ask_and_not_by_the_cure_that_is_too_strong(page: Page) -> None:
    page.get_by_role("radiogroup", name="Cure").get_by_role("radio", name=LOSS, exact=True).check(force=True)
    scrub(page, 3000)
    assert reached(page) == [True, False, False, False], (
        "the weight that the board begins with helps all and not the error"
    )
    first = next(branch for branch in river.BRANCHES if branch.when and board.first_work(branch) == board.earliest())
    cure(page, LOSS, float(first.cure.split()[1]))
    scrub(page, board.earliest())
    expect(page.locator(".ffp-record")).to_contain_text("and that is the record")
    cure(page, LOSS)
    scrub(page, 3000)
    assert reached(page) == [True, True, False, False]
    assert "and half of it" in page.locator(".rv-board, body").first.inner_text()
    head_start(page, 0)
    assert reached(page) == [True, True, False, False], "the gentle cure is useful"
    cure(page, LOSS, 10)
    assert reached(page) == [True, True, False, True]


@needs_chromium
def test_the_level_without_a_cure_is_settled_by_its_flag_alone(page: Page) -> None:
    flag = page.locator(".ffp-flag").last
    head_start(page, 0)
    for step in river.STEPS:
        scrub(page, step)
    assert not reached(page)[2]
    flag.locator("summary").click()
    flag.get_by_role("button", name=re.compile("learns nothing")).click()
    assert reached(page)[2]
    assert "Only a chosen expert learns" in page.locator(".ffp").inner_text()


@needs_chromium
def test_alpha_is_dragged_and_the_river_follows(page: Page) -> None:
    cure(page, LOSS)
    scrub(page, 3000)
    slider = page.locator(".rv-slide")
    box = slider.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 3 + 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    assert page.locator(".rv-weighed").inner_text() == "10"
    error = planted()[river.Branch("loss 10", 60)].errors[-1]
    assert f"{error:.3f}" in sentence(page) and page.locator(".rv-scrub").input_value() == str(LAST)
    cure(page, "selection bias")
    expect(slider).to_be_disabled()


@needs_chromium
def test_it_plays_stops_and_a_cure_that_comes_in_the_middle_begins_where_it_next_can(page: Page) -> None:
    press = page.locator(".rv-play")
    press.click()
    expect(press).to_have_text("❚❚ Pause")
    page.wait_for_function(f"document.querySelector('.rv-scrub').value > {at(66)}")
    cure(page, BIAS)
    expect(page.get_by_role("radio", name="1,200", exact=True)).to_be_checked()
    press.click()
    expect(press).to_have_text("▶ Play")
    stopped = page.locator(".rv-scrub").input_value()
    page.wait_for_timeout(400)
    assert page.locator(".rv-scrub").input_value() == stopped
    scrub(page, 1320)
    assert "has been on since step 1,200" in sentence(page)


@needs_chromium
def test_a_cure_that_is_chosen_at_the_end_is_played_and_not_won_at_once(page: Page) -> None:
    scrub(page, 3000)
    page.get_by_role("radiogroup", name="Cure").get_by_role("radio", name=LOSS, exact=True).check(force=True)
    assert page.locator(".rv-scrub").input_value() == str(at(60)) and not any(reached(page))
    page.locator(".rv-play").click()
    page.wait_for_function("document.querySelector('.ffp-done')")
    assert reached(page) == [True, False, False, False]


@needs_chromium
def test_what_was_said_of_a_goal_goes_with_its_settings(page: Page) -> None:
    after = page.locator(".ffp-after")
    cure(page, LOSS)
    scrub(page, 3000)
    expect(after).to_contain_text("most runs gain by this")
    cure(page, LOSS, 10)
    expect(after).to_contain_text("A larger α is quicker")
    page.get_by_role("radiogroup", name="Cure").get_by_role("radio", name="none", exact=True).check(force=True)
    expect(after).to_have_count(0)
    head_start(page, 0)
    expect(after).to_have_count(0)
    cure(page, LOSS, 10)
    scrub(page, 3000)
    expect(after).to_contain_text("it is the wrong work")
    cure(page, LOSS)
    expect(after).to_have_count(0)


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
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("expert 0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".rv-chip[aria-pressed=true]").count() == 1
    assert page.locator(".rv-dot.rv-fades").count() > 100 and page.locator(".rv-dot.rv-e1.rv-fades").count() == 0
    page.keyboard.press("Enter")
    assert page.locator(".rv-dot.rv-fades").count() == 0
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('.rv-legend')"), "the row of experts is one stop"
    page.locator(".rv-play").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("radiogroup", name="Head start").get_by_role("radio", name="0", exact=True)).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name=LOSS, exact=True)).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".rv-weighed").inner_text() == "3"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="1,200", exact=True)).to_be_checked()
    assert page.evaluate("scrollY") == 0


@needs_chromium
def test_the_head_start_is_taken_away_and_a_region_is_pressed(page: Page) -> None:
    head_start(page, 0)
    scrub(page, 3000)
    largest = int(river.runs(0)[river.PLAIN].loads[LAST].argmax())
    page.locator(f".rv-region.rv-e{largest}").click()
    expect(page.locator(f".rv-chip.rv-e{largest}")).to_have_attribute("aria-pressed", "true")
    page.locator(f".rv-chip.rv-e{largest}").click()
    expect(page.locator(f".rv-chip.rv-e{largest}")).to_have_attribute("aria-pressed", "false")


@needs_chromium
def test_marks_stay_when_the_state_changes(page: Page) -> None:
    page.evaluate("window.marks = [...document.querySelectorAll('.rv-dot, .rv-band, .rv-region')]")
    scrub(page, 240)
    cure(page, LOSS, 10)
    assert page.evaluate("marks.every((mark) => mark.isConnected)")
    assert page.evaluate("document.querySelectorAll('.rv-dot, .rv-band, .rv-region').length === marks.length")


@needs_chromium
@pytest.mark.parametrize("width", [390, 760])
def test_words_are_large_enough_and_nothing_scrolls_sideways(chromium: Browser, width: int) -> None:
    page = opened(chromium, width)
    cure(page, LOSS, 10)
    scrub(page, 3000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('.ffp *')]
          .filter((one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim()) && !one.closest('.ffp-aloud'))
          .map((one) => parseFloat(getComputedStyle(one).fontSize))"""
    )
    assert min(sizes) >= 11
    for mark in page.locator(".ffp button:visible, .rv-option, .rv-scrub, .rv-slide").all():
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
    cure(page, LOSS, 10)
    assert page.locator(".rv-band").first.evaluate("(made) => getComputedStyle(made).transitionDuration") == "0s"
    x = page.locator(".rv-head").get_attribute("x1")
    page.wait_for_timeout(200)
    assert page.locator(".rv-head").get_attribute("x1") == x
    page.close()


@needs_chromium
def test_the_numbers_in_the_sentence_are_those_of_the_run(page: Page) -> None:
    for start in river.HEAD_STARTS:
        head_start(page, start)
        for branch in river.TOLD:
            kind, _, alpha = branch.cure.partition(" ")
            cure(page, board.CURES[kind]["button"], float(alpha or GENTLE_ALPHA))
            for step in (6, 240, 3000):
                scrub(page, step)
                run = river.runs(start)[branch]
                text = sentence(page)
                load = run.loads[at(step)]
                assert f"expert {load.argmax()} gets" in text and f"{run.errors[at(step)]:.3f}" in text
                shares = [float(share) for share in re.findall(r"([\d.]+)\s%", text)]
                assert min(abs(share - 100 * load.max()) for share in shares) <= 0.51
            errors = [row["3000"]["error"] for row in river.others(start, branch)]
            assert f"are from {min(errors):.3f} to {max(errors):.3f}" in text


@needs_chromium
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: `make hub`, with npm")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_use_it(chromium: Browser, theme: str) -> None:
    page = opened(chromium, theme=theme)
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for words in ("none", LOSS):
        cure(page, words, 10)
        scrub(page, 240)
        report = page.evaluate("() => axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
        assert [f"{violation['id']}: {violation['nodes'][0]['html'][:120]}" for violation in report["violations"]] == []
    page.close()
