"""The mixing desk and the votes: their mathematics in JavaScript is Python's, their levels are what the words say, and hands and keys win them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ffnlab.course import world
from ffnlab.course.boards import desk, fold

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import copy_modules, opened, reached
from conftest import needs_chromium
from lab import browser, web_pages
from playwright.sync_api import Browser, Page

Weights = np.ndarray[Any, np.dtype[Any]]


def pulled(weights: Weights, fader: int, share: float) -> Weights:
    """The weights when one is pulled: the others keep their proportion, and where they had nothing, they get equal parts."""
    rest = np.delete(weights, fader)
    rest = rest / rest.sum() if rest.sum() > 1e-9 else np.full(len(rest), 1 / len(rest))
    return np.insert((1 - share) * rest, fader, share)


def moved(points: Weights, turn: float, stretch: float) -> Weights:
    c = np.cos(np.radians(turn))
    s = np.sin(np.radians(turn))
    return np.asarray(stretch * points @ np.array([[c, s], [-s, c]]))


def level(goal: str) -> tuple[Weights, Weights]:
    """The words and the star of a level."""
    match = next(candidate for candidate in desk.LEVELS if candidate.goal == goal)
    return np.array(match.points), np.array(match.star)


PERCENT = range(101)


def test_the_first_star_takes_two_pulls_and_not_one() -> None:
    words, star = level("inside")
    start = np.full(3, 1 / 3)
    once = [pulled(start, fader, share / 100) for fader in range(3) for share in PERCENT]
    assert min(np.linalg.norm(weights @ words - star) for weights in [start, *once]) > 1.3 * desk.NEAR
    twice = min(
        np.linalg.norm(pulled(weights, fader, share / 100) @ words - star)
        for weights in once
        for fader in range(3)
        for share in range(0, 101, 2)
    )
    assert twice < desk.NEAR / 2


def test_the_second_star_is_outside_of_the_triangle() -> None:
    words, star = level("outside")
    edge = words[2] - words[1]
    normal = np.array([edge[1], -edge[0]]) / np.linalg.norm(edge)
    normal = normal * np.sign(normal @ (words[1] - words[0]))
    assert normal @ star - (words @ normal).max() > 3 * desk.NEAR, "a direction in which it is ahead of every word"
    assert (star > words.min(0)).all() and (star < words.max(0)).all(), "and yet it is in the box around the words"


def test_the_third_star_takes_two_words_and_one_pair_alone_does_it() -> None:
    words, star = level("few")
    pairs = [
        pair
        for pair in itertools.combinations(range(4), 2)
        if min(np.linalg.norm(s / 100 * words[pair[0]] + (1 - s / 100) * words[pair[1]] - star) for s in PERCENT)
        <= desk.NEAR
    ]
    assert [[desk.LEVELS[2].words[n] for n in pair] for pair in pairs] == [["cold", "jump"]]
    assert min(np.linalg.norm(words - star, axis=1)) > desk.NEAR


def test_the_fourth_star_is_reached_only_when_the_matrix_turns_and_stretches() -> None:
    words, star = level("matrix")
    even = np.full(3, 1 / 3)
    best = [(np.linalg.norm(even @ moved(words, turn, 2.0) - star), turn) for turn in range(-180, 181, 5)]
    assert min(best)[0] < 0.6, "with the weights of the start it is near"
    assert np.linalg.norm(words, axis=1).max() < np.linalg.norm(star) - desk.NEAR, (
        "without stretching no turn is enough"
    )
    solution = next(
        (turn, stretch, first, second)
        for turn in range(-180, 181, 15)
        for stretch in (1.5, 1.75, 2.0)
        for first in range(0, 101, 10)
        for second in range(0, 101 - first, 10)
        if np.linalg.norm(np.array([first, second, 100 - first - second]) / 100 @ moved(words, turn, stretch) - star)
        <= desk.NEAR
    )
    assert solution


def test_the_words_of_the_votes_are_those_of_the_little_world() -> None:
    for place, weather in itertools.product(desk.PLACES, desk.WEATHERS):
        scene = world.Scene(place, weather, "spunky", "dog")
        assert (scene.way == "over") == (desk.PLACES.index(place) == desk.WEATHERS.index(weather))


# In a browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def fader(page: Page, name: str) -> Any:
    return page.get_by_role("slider", name=name, exact=True)


@needs_chromium
def test_the_javascript_computes_what_python_computes(chromium: Browser, tmp_path: Path) -> None:
    copy_modules(tmp_path)
    rng = np.random.default_rng(0)
    cases = [
        {"weights": rng.dirichlet(np.ones(n)).tolist(), "fader": int(rng.integers(n)), "share": float(rng.random()), "points": rng.normal(size=(n, 2)).tolist(),
         "turn": float(rng.uniform(-180, 180)), "stretch": float(rng.uniform(0.5, 2))}
        for n in (2, 3, 4, 4, 3) * 40
    ]  # fmt: skip
    cases.append({**cases[1], "weights": [0.0, 1.0, 0.0], "fader": 1, "share": 0.4})  # the others had nothing
    votes = [
        dict(zip((*desk.PLACES, *desk.WEATHERS), map(int, row), strict=True)) for row in rng.integers(-10, 11, (200, 4))
    ]
    with web_pages(tmp_path) as address:
        page = chromium.new_page()
        page.goto(f"{address}/desk_model.js")
        results, rights = page.evaluate(
            """async ([cases, votes, data]) => {
              const { pulled, mix, moved, used } = await import("/desk_model.js");
              const { sentencesOf, isRight } = await import("/votes.js");
              return [cases.map(({ weights, fader, share, points, turn, stretch }) => {
                const now = pulled(weights, fader, share);
                return { now, at: mix(moved(points, turn, stretch), now), used: used(now) };
              }), votes.map((one) => sentencesOf(data).filter((sentence) => isRight(one, sentence)).length)];
            }""",
            [cases, votes, dict(desk.votes().data)],
        )
        page.close()
    for case, result in zip(cases, results, strict=True):
        weights = pulled(np.array(case["weights"]), case["fader"], case["share"])
        assert result["now"] == pytest.approx(weights.tolist()) and sum(result["now"]) == pytest.approx(1)
        assert result["at"] == pytest.approx(
            (weights @ moved(np.array(case["points"]), case["turn"], case["stretch"])).tolist()
        )
        assert result["used"] == int((weights > 1e-9).sum())
    for vote, right in zip(votes, rights, strict=True):
        mixes = {pair: vote[pair[0]] + vote[pair[1]] for pair in itertools.product(desk.PLACES, desk.WEATHERS)}
        over = {pair: desk.PLACES.index(pair[0]) == desk.WEATHERS.index(pair[1]) for pair in mixes}
        assert right == sum(mix < 0 if over[pair] else mix > 0 for pair, mix in mixes.items()) < 4


@needs_chromium
def test_the_levels_are_won_by_hand_and_by_keys_and_a_record_can_be_bettered(chromium: Browser) -> None:
    page = opened(chromium, desk.stars())
    for name, share in (("creek", "50"), ("cold", "17"), ("creek", "64")):
        fader(page, name).fill(share)
    record = page.locator(".ffp-record").inner_text()
    assert sum(reached(page)) == 1 and record == "You used 3 pulls. It can be done with 2."
    page.get_by_role("button", name="Level 1").click()
    assert "33 % creek" in page.locator(".ffp-sentence").inner_text()
    fader(page, "dog").focus()
    for _ in range(18):
        page.keyboard.press("ArrowLeft")
    fader(page, "cold").fill("14")
    assert page.locator(".ffp-record").inner_text() == "2 pulls, and that is the record."
    page.get_by_role("button", name="Level 3").click()
    fader(page, "creek").fill("0")
    fader(page, "dog").fill("0")
    fader(page, "jump").fill("55")
    assert "2 words, and that is the record." in page.inner_text("body")
    page.get_by_role("button", name="Level 4").click()
    assert not fader(page, "jump").is_visible()
    for name, value in (("turn", "-165"), ("stretch", "2"), ("creek", "18")):
        fader(page, name).fill(value)
    assert sum(reached(page)) == 3 and "their triangle" in page.locator(".ffp-after").inner_text()
    page.close()


def flag(page: Page, level: int) -> Any:
    return page.locator(".ffp-goal", has_text=f"Level {level}.").get_by_text("It can’t be done")


@needs_chromium
def test_every_level_has_a_flag_and_it_wants_a_pull_on_its_own_level(chromium: Browser) -> None:
    assert all(goal.flag and len(goal.flag.reasons) == 3 for goal in desk.GOALS)
    assert [goal.name for goal in desk.GOALS if goal.flag and goal.flag.right >= 0] == ["outside"]
    page = opened(chromium, desk.stars())
    fader(page, "creek").fill("40")
    page.get_by_role("button", name="Level 2").click()
    page.get_by_role("button", name="Level 2").click()
    for pulls in range(2):
        flag(page, 2).click()
        page.get_by_role("button", name="an average of the three points").click()
        assert sum(reached(page)) == pulls
        assert ("Try it first." in page.inner_text("body")) is (pulls == 0), "to open a level is no try"
        fader(page, "creek").fill("60")
    flag(page, 1).click()
    page.get_by_role("button", name="so no two numbers").click()
    assert "It can be done. Pull one fader" in page.inner_text("body"), "and a wrong flag is counted"
    page.close()


@needs_chromium
def test_at_the_edge_of_the_plane_no_word_is_cut(chromium: Browser) -> None:
    page = opened(chromium, desk.stars())
    page.get_by_role("button", name="Level 4").click()
    fader(page, "stretch").fill("2")
    for turn in range(-180, 181, 15):
        fader(page, "turn").fill(str(turn))
        outside = page.evaluate(
            """() => { const plane = document.querySelector(".dk-plane").getBoundingClientRect();
              return [...document.querySelectorAll(".dk-point text")].map((word) => [word.textContent, word.getBoundingClientRect()])
                .filter(([, box]) => box.left < plane.left || box.right > plane.right || box.top < plane.top || box.bottom > plane.bottom)
                .map(([word]) => word); }"""
        )
        assert outside == [], turn
    page.close()


@needs_chromium
def test_a_fader_pulled_to_its_end_and_back_loses_nothing(chromium: Browser) -> None:
    page = opened(chromium, desk.stars())
    fader(page, "creek").fill("50")
    fader(page, "cold").fill("40")
    before = page.locator(".ffp-sentence").inner_text()
    fader(page, "cold").fill("100")
    fader(page, "cold").fill("40")
    assert page.locator(".ffp-sentence").inner_text() == before and "2 pulls" in page.inner_text("body")
    page.close()


@needs_chromium
def test_votes_get_three_right_and_the_fourth_goes_by_a_flag(chromium: Browser) -> None:
    page = opened(chromium, desk.votes())
    quiet, red = (
        "getComputedStyle(document.querySelector('.vt-ends')).color",
        "getComputedStyle(document.querySelector('.vt-said')).color",
    )
    assert page.evaluate(f"{quiet} === {red}"), "what says nothing is not wrong yet"
    for name, vote in (("creek", "-3"), ("cold", "-1"), ("warm", "5"), ("lawn", "4")):
        fader(page, name).fill(vote)
    assert page.locator(".ffp-sentence").inner_text() == "3 of 4 sentences are right." and sum(reached(page)) == 1
    page.get_by_text("It can’t be done").click()
    page.get_by_role("button", name="are made of the same four words").click()
    assert sum(reached(page)) == 2 and "same total" in page.inner_text("body")
    page.close()


@needs_chromium
def test_the_readers_own_sheet_counts_numbers_that_are_not_zero_while_its_kinks_rest(chromium: Browser) -> None:
    for W1, b1, W2, count in (
        ([[1, 1], [1, 1]], [0, -1], [1, -2], "You used 7 numbers. It can be done with 6."),
        ([[1, -1], [-1, 1]], [0, 0], [1, 1], "6 numbers, and that is the record."),
    ):
        page = opened(chromium, fold.network_board(W1, b1, W2, 0))
        scrub = page.locator(".fd-scrub")
        move = "(scrub, at) => { scrub.value = at; scrub.dispatchEvent(new Event('input')); }"
        scrub.evaluate(move, 3)
        assert sum(reached(page)) == 0
        scrub.evaluate(move, 4)
        assert page.locator(".ffp-record").inner_text() == count
        page.close()
    assert fold.network_board([[1.0], [1.0]], [0.0], [1.0], 0.0).goals == ()
