"""The pressed plane: its mathematics in JavaScript is torch's, its goals are what the proofs say, and hands and keys move it in a real browser."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ffnlab.course.boards import fold
from ffnlab.phrases import plural

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import copy_modules, opened, reached, sentence
from conftest import needs_chromium
from lab import browser, looks_different, taken_picture, web_pages
from playwright.sync_api import Browser, Page, expect
from test_desk import AXE, violations

POINTS = torch.tensor([(0, 0), (0, 1), (1, 0), (1, 1)], dtype=torch.float64)
XOR = torch.tensor([0, 1, 1, 0])
SOLUTION = ([[1.0, 1.0], [1.0, 1.0]], [0.0, -1.0], [[1.0], [-2.0]], [0.0])
START = fold.xor().data["net"]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board's modules beside what they import."""
    return copy_modules(tmp_path_factory.mktemp("modules"))


def hidden(net: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    W1, b1 = (torch.tensor(net[name], dtype=torch.float64) for name in ("W1", "b1"))
    activations: torch.Tensor = torch.relu(x @ W1 + b1)
    return activations


def output(net: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    W2 = torch.tensor(net["W2"], dtype=torch.float64)
    return torch.mv(hidden(net, x), W2) + float(net["b2"])


def right(net: dict[str, Any]) -> int:
    """How many points are on their side, and further from ½ than 0.02: nearer to the knife they are on neither."""
    return int(((output(net, POINTS) - 0.5) * (2.0 * XOR - 1) > 0.02).sum())


def of_four(count: int) -> str:
    """How a board says how many are right."""
    return plural(count, "of 4 is right", "of 4 are right")


def draw_net(seed: int, units: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    parts = [torch.randn(*shape, generator=generator) for shape in ((2, units), (units,), (units, 1), (1,))]
    return fold.network(*parts)


# Shapes


def test_the_readers_numbers_may_be_tensors_or_lists() -> None:
    lists = fold.network_board(*SOLUTION).data
    W1, b1, W2, b2 = (torch.tensor(part, requires_grad=True) for part in SOLUTION)
    tensors = fold.network_board(W1, b1, W2, b2).data
    halves = fold.network_board(W1.half(), b1.half(), W2.half(), b2.half()).data
    assert lists == tensors == halves == fold.network_board(SOLUTION[0], SOLUTION[1], [1, -2], 0).data
    assert json.loads(json.dumps(fold.network_board(*SOLUTION).spec()))["data"] == lists


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (0, [[1.0, 1.0]], "W1 has shape [1, 2]; [2, H] with H from 1 to 64 was expected"),
        (0, [1.0, 1.0], "W1 has shape [2]; [2, H]"),
        (0, [[1.0], [1.0, 2.0]], "W1 is not an array of numbers; [2, H] was expected"),
        (0, "abc", "W1 is not an array of numbers"),
        (1, [0.0], "b1 has shape [1]; [2] was expected, as W1 has 2 columns"),
        (2, [[1.0, -2.0]], "W2 has shape [1, 2]; [2, 1] was expected"),
        (3, [0.0, 1.0], "b2 has shape [2]; [1] was expected"),
        (3, math.nan, "b2 has a number that is not finite"),
    ],
)
def test_wrong_shapes_are_said_in_one_line(place: int, value: Any, says: str) -> None:
    parts: list[Any] = list(SOLUTION)
    parts[place] = value
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        fold.network_board(*parts)
    assert "\n" not in str(error.value)


# What stands behind the goals


def separable(points: torch.Tensor) -> bool:
    """Whether a straight line parts the points with XOR = 1 from the others, by trying many directions."""
    turns = torch.linspace(0, 2 * math.pi, 2881, dtype=torch.float64)
    along = points @ torch.stack([turns.cos(), turns.sin()])
    return bool((along[XOR == 1].amin(0) - along[XOR == 0].amax(0)).max() > 1e-6)


def test_no_kinks_that_are_upright_or_level_can_do_it() -> None:
    # The output is u(a) + v(b) + c: the sums over the two classes are the same, so not both sides can be right.
    places = torch.linspace(-0.5, 1.5, 21, dtype=torch.float64)
    sides = [(sign, place) for sign in (1.0, -1.0) for place in places.tolist()]
    for (first, s), (second, t) in itertools.product(sides, sides):
        level = {"W1": [[first, 0.0], [0.0, second]], "b1": [-first * s, -second * t]}
        points = hidden(level, POINTS)
        assert torch.allclose(points[0] + points[3], points[1] + points[2])
        upright = {"W1": [[first, second], [0.0, 0.0]], "b1": [-first * s, -second * t]}
        assert not separable(points) and not separable(hidden(upright, POINTS))


def test_one_kink_between_the_balls_is_enough_when_the_other_unit_fires_at_all_of_them() -> None:
    slope = {"W1": [[1.0, 1.0], [1.0, 1.0]], "b1": [0.3, -1.0], "W2": [1.0, -2.0], "b2": -0.3}
    assert right(slope) == 4 and bool((hidden(slope, POINTS)[:, 0] > 0).all())
    silent = {"W1": [[-1.0, 1.0], [-1.0, 1.0]], "b1": [-0.3, -1.0]}
    assert not separable(hidden(silent, POINTS))


# In a browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as instance:
        yield instance


def go(page: Page, position: float) -> None:
    page.locator(".fd-scrub").evaluate(
        "(scrub, at) => { scrub.value = at; scrub.dispatchEvent(new Event('input')); }", position
    )


def hand(page: Page, name: str) -> Any:
    return page.get_by_role("slider", name=name, exact=True)


def middle(page: Page, name: str) -> tuple[float, float]:
    box = hand(page, name).locator(".fd-hit").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def pull(page: Page, name: str, dx: float, dy: float) -> None:
    x, y = middle(page, name)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2, steps=4)
    page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()


def turn(page: Page, name: str, degrees: float) -> None:
    """Pull a knob's arrow into a direction."""
    (x, y), tip = middle(page, name), middle(page, f"direction of {name}")
    angle = math.radians(degrees)
    pull(page, f"direction of {name}", x + 60 * math.cos(angle) - tip[0], y - 60 * math.sin(angle) - tip[1])


def carry(page: Page, name: str, to: tuple[float, float]) -> None:
    x, y = middle(page, name)
    pull(page, name, to[0] - x, to[1] - y)


def plane(page: Page, a: float, b: float) -> tuple[float, float]:
    """Where a point of the plane is on the page."""
    box = page.locator(".fd-panel svg").nth(0).bounding_box()
    assert box
    scale = box["width"] / 2.18
    return box["x"] + (a + 0.59) * scale, box["y"] + box["height"] - (b + 0.59) * scale


def fold_place(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a point of the folded plane is on the page; the weight vectors of the start are about 1 long."""
    box = page.locator(".fd-panel svg").nth(1).bounding_box()
    assert box
    scale = (box["width"] - 8) / (1.16 * 1.85)
    low = 0.16 * 1.85
    return box["x"] + (x + low) * scale, box["y"] + box["height"] - (y + low) * scale


@needs_chromium
def test_the_javascript_computes_what_torch_computes(chromium: Browser, modules: Path) -> None:
    nets = [draw_net(seed, units) for seed in range(40) for units in (1, 2, 3, 16)] + [START, fold.network(*SOLUTION)]
    points = torch.rand(50, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 3 - 1
    with web_pages(modules) as address:
        page = chromium.new_page()
        page.goto(f"{address}/fold_model.js")
        results = page.evaluate(
            """async ([nets, points]) => {
              const model = await import("/fold_model.js");
              return nets.map((net) => ({
                hidden: points.map((point) => model.hidden(net, point)), output: points.map((point) => model.output(net, point)),
                right: model.right(net), parted: net.b1.length === 2 && model.parted(net),
                boundary: model.boundary(net).flat(), pieces: model.pieces(net).length,
                area: model.pieces(net).reduce((sum, { corners }) => sum + Math.abs(corners.reduce((all, [x, y], n) => {
                  const [x1, y1] = corners[(n + 1) % corners.length]; return all + x * y1 - y * x1; }, 0)) / 2, 0),
                middles: model.pieces(net).map(({ corners, fires }) =>
                  [[0, 1].map((k) => corners.reduce((sum, one) => sum + one[k], 0) / corners.length), fires]),
              }));
            }""",
            [nets, points.tolist()],
        )
        page.close()
    far = 0.0
    for net, result in zip(nets, results, strict=True):
        units = len(net["b1"])
        far = max(far, float((torch.tensor(result["hidden"], dtype=torch.float64) - hidden(net, points)).abs().max()))
        far = max(far, float((torch.tensor(result["output"], dtype=torch.float64) - output(net, points)).abs().max()))
        assert result["right"] == right(net)
        if units == 2:
            assert result["parted"] == separable(hidden(net, POINTS)), net
        if result["boundary"]:
            ends = torch.tensor(result["boundary"], dtype=torch.float64)
            assert torch.allclose(output(net, ends), torch.full((len(ends),), 0.5, dtype=torch.float64), atol=1e-5)
        assert result["pieces"] <= 1 + units + math.comb(units, 2)
        assert result["area"] == pytest.approx(4.0, abs=1e-6)  # the whole sheet, and nothing twice
        for place, fires in result["middles"]:
            assert (hidden(net, torch.tensor([place], dtype=torch.float64))[0] > 0).tolist() == fires
    print(f"the largest difference from torch is {far:.1e}")
    assert far < 1e-5


@needs_chromium
def test_the_boards_goals_hold_what_their_words_say(chromium: Browser, modules: Path) -> None:
    """In JavaScript: none at the start, none before the cut, and the impossible one never, with 60,000 networks drawn at random."""
    slope = {"W1": [[1.0, 1.0], [1.0, 1.0]], "b1": [0.3, -1.0], "W2": [1.0, -2.0], "b2": -0.7}
    with web_pages(modules) as address:
        page = chromium.new_page()
        page.goto(f"{address}/fold_model.js")
        goals = page.evaluate(
            """async ([data, solved, slope]) => {
              const { board } = await import("/fold.js");
              const reached = (state) => Object.keys(board.goals).filter((name) => board.goals[name](state, data));
              const start = board.start(data);
              let seed = 1;
              const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
              const one = () => 4 * random() - 2;
              let most = 0;
              for (let n = 0; n < 60000; n++) {
                const way = [[random() < 0.5 ? one() : 0, 0], [0, random() < 0.5 ? one() : 0]];
                const W1 = n % 2 ? [[one(), 0], [0, one()]] : [[0, one()], [one(), 0]];
                most = Math.max(most, reached({ ...start, at: 4, W1: n % 5 ? W1 : way, b1: [one(), one()], W2: [one(), one()], b2: one() }).length);
              }
              return { start: [0, 1, 2, 3, 4, 5].flatMap((at) => reached({ ...start, at })), early: reached({ ...start, ...solved, at: 2 }),
                solved: reached({ ...start, ...solved, at: 4 }), slope: reached({ ...start, ...slope, at: 5 }), most };
            }""",
            [{"net": START}, fold.network(*SOLUTION), slope],
        )
        page.close()
    assert goals == {"start": [], "early": [], "solved": ["four"], "slope": ["four", "away"], "most": 0}


@needs_chromium
def test_folded_balls_lie_where_the_hidden_layer_puts_them(chromium: Browser) -> None:
    for seed in range(12):
        net = draw_net(seed, 2)
        page = opened(chromium, fold.network_board(net["W1"], net["b1"], net["W2"], net["b2"]))
        go(page, 3)
        layout = page.evaluate(
            """() => {
              const sheet = document.querySelectorAll(".fd-panel svg")[1];
              const of = (mark, name) => Number(mark.getAttribute(name));
              const drawn = [...sheet.querySelectorAll(".fd-ball")].map((mark) => [of(mark, "cx"), of(mark, "cy")]);
              const words = [...sheet.querySelectorAll(".fd-axes")][1].querySelectorAll(".fd-word");
              return { drawn, names: [...words].map((word) => word.textContent), side: of(sheet, "width") };
            }"""
        )
        assert layout["names"][-2:] == ["h₁", "h₂"]
        # In the order that they are drawn in: the two with XOR = 0, then the others. Pixels are a linear function of h, unit by unit.
        activations = hidden(net, POINTS)[[0, 3, 1, 2]]
        places = torch.tensor(layout["drawn"], dtype=torch.float64) * torch.tensor([1, -1]) + torch.tensor(
            [0, layout["side"]]
        )
        for unit in (0, 1):
            table = torch.stack([activations[:, unit], torch.ones(4, dtype=torch.float64)], dim=1)
            fit = torch.linalg.lstsq(table, places[:, unit : unit + 1], driver="gelsd").solution
            assert (table @ fit - places[:, unit : unit + 1]).abs().max() < 0.15, (seed, unit)
        expected = right(net)
        go(page, 5)
        assert of_four(expected) in sentence(page)
        page.close()


@needs_chromium
def test_at_the_start_nothing_is_solved_and_goals_are_reached_by_hand(chromium: Browser) -> None:
    page = opened(chromium, fold.xor())
    assert right(START) < 4 and not separable(hidden(START, POINTS))
    go(page, 4)
    go(page, 5)
    assert sum(reached(page)) == 0 and "one bent line" in sentence(page) and "2 of 4" in sentence(page)
    go(page, 4)
    # Both arrows along a + b, one kink at (0, 0) and one in the middle: relu(s) − 2·relu(s − 1).
    turn(page, "kink 1", 45)
    carry(page, "kink 1", plane(page, 0.1, -0.1))
    turn(page, "kink 2", 45)
    carry(page, "kink 2", plane(page, 0.7, 0.3))
    assert sum(reached(page)) == 0 and "The sheet is pressed well" in sentence(page)
    turn(page, "the knife", -63.4)
    carry(page, "the knife", fold_place(page, 0.7, 0.175))
    assert sum(reached(page)) == 1 and "4 of 4 are right. Now rewind." in sentence(page)
    # The first kink leaves the balls, all of which keep its unit firing.
    carry(page, "kink 1", plane(page, -0.25, -0.25))
    carry(page, "the knife", fold_place(page, 1.1, 0.2))
    assert sum(reached(page)) == 2
    go(page, 5)
    assert "You cut once. On the sheet as it had been, the cut is two lines, and 4 of 4 are right." in sentence(page)
    page.close()


@needs_chromium
def test_a_flag_is_right_where_a_theorem_is_and_wrong_where_none_is(chromium: Browser) -> None:
    page = opened(chromium, fold.xor())
    go(page, 1)
    away, single = page.locator(".ffp-flag").all()
    away.locator("summary").click()
    away.get_by_role("button").nth(1).click()
    expect(page.locator(".ffp-note")).to_contain_text("It can be done.")
    assert sum(reached(page)) == 0
    for stop in (2, 3, 4):
        page.wait_for_timeout(350)  # what follows at once is the same move
        go(page, stop)
    single.locator("summary").click()
    single.get_by_role("button").nth(1).click()
    assert sum(reached(page)) == 1
    expect(page.locator(".ffp-after")).to_contain_text("a neuron has to mix the inputs")
    page.close()


@needs_chromium
def test_knobs_are_dragged_and_the_pixels_follow(chromium: Browser) -> None:
    page = opened(chromium, fold.xor())
    go(page, 4)
    sheet = page.locator(".fd-panel svg").nth(1)
    before = taken_picture(sheet)
    place = hand(page, "kink 1").get_attribute("transform")
    x = middle(page, "kink 1")
    pull(page, "kink 1", 40, 24)
    after = middle(page, "kink 1")
    assert after == pytest.approx((x[0] + 40, x[1] + 24), abs=1)
    assert hand(page, "kink 1").get_attribute("transform") != place
    assert looks_different(sheet, before), "the pressed sheet follows the kink"
    plane = page.locator(".fd-panel svg").nth(0)
    before = taken_picture(plane)
    pull(page, "the knife", -30, 10)
    assert looks_different(plane, before), "the plane shows the knife's bent line"
    # An arrow that is turned nearly upright is upright.
    x0, y0 = middle(page, "kink 1")
    tip = middle(page, "direction of kink 1")
    pull(page, "direction of kink 1", x0 + 2 - tip[0], y0 - 60 - tip[1])
    expect(hand(page, "direction of kink 1")).to_have_attribute("aria-valuenow", "90")
    page.close()


@needs_chromium
def test_keys_move_every_knob_and_nothing_scrolls(chromium: Browser) -> None:
    page = opened(chromium, fold.xor())
    page.evaluate("document.body.style.paddingBottom = '2000px'")
    go(page, 4)
    scroll = page.evaluate("scrollY")
    for name in ("kink 1", "kink 2", "direction of kink 2", "the knife", "direction of the knife"):
        knob = hand(page, name)
        knob.evaluate("mark => mark.focus({ preventScroll: true })")
        scroll = page.evaluate("scrollY")
        was = int(knob.get_attribute("aria-valuenow") or "")
        told = knob.get_attribute("aria-valuetext")
        page.keyboard.press("ArrowUp")
        assert knob.get_attribute("aria-valuetext") != told, f"{name}: a move is told"
        more = int(knob.get_attribute("aria-valuenow") or "")
        assert more in (was + 5, was + 4, was + 6), name
        page.keyboard.press("ArrowDown")
        assert abs(int(knob.get_attribute("aria-valuenow") or "") - was) <= 1, name
        page.keyboard.press("PageDown")
        page.keyboard.press("PageUp")
        assert page.evaluate("scrollY") == scroll, name
        assert re.search("[a-z]", knob.get_attribute("aria-valuetext") or "")
    scrub = page.locator(".fd-scrub")
    scrub.focus()
    page.keyboard.press("ArrowLeft")
    expect(scrub).to_have_attribute("aria-valuetext", "One straight cut: drag the knife")
    assert float(scrub.input_value()) == 3.75
    page.keyboard.press("Home")
    assert sentence(page).startswith("Four balls lie on a sheet")
    page.close()


@needs_chromium
def test_a_network_that_is_wrong_looks_wrong(chromium: Browser) -> None:
    for parts, count in (
        (SOLUTION, 4),
        (([[1, 1], [1, 1]], [0, -1], [1, -1], 0), 3),
        (([[0, 0], [0, 0]], [0, 0], [0, 0], 0), 2),
    ):
        page = opened(chromium, fold.network_board(*parts))
        go(page, 5)
        assert of_four(count) in sentence(page)
        assert page.locator(".fd-panel").nth(1).locator(".fd-wrong").count() == 4 - count
        drawing = page.locator(".fd-panels").inner_html()
        assert "NaN" not in drawing and "Infinity" not in drawing
        if count == 4:
            assert (
                sentence(page)
                == "You cut once. On the sheet as it had been, the cut is two lines, and 4 of 4 are right."
            )
        page.close()


@needs_chromium
@pytest.mark.parametrize("units", [1, 3, 16])
def test_another_number_of_units_shows_the_plane_alone(chromium: Browser, units: int) -> None:
    net = draw_net(3, units)
    page = opened(chromium, fold.network_board(net["W1"], net["b1"], net["W2"], net["b2"]))
    assert page.locator(".fd-panel").count() == 1 and page.locator(".fd-scrub").count() == 0
    assert page.locator(".fd-hinge").count() == units
    assert page.get_by_role("slider").count() == (2 * units if units <= 3 else 0)
    assert of_four(right(net)) in sentence(page)
    if AXE.is_file():
        assert violations(page) == []
    page.close()


@needs_chromium
@pytest.mark.parametrize(("width", "dark"), [(760, False), (390, True)])
def test_everybody_can_use_it(chromium: Browser, width: int, dark: bool) -> None:
    page = opened(chromium, fold.xor(), width, dark)
    for position in (0, 1.5, 4, 5):
        go(page, position)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate(
            """() => [...document.querySelectorAll(".ffp *")].filter((one) => one.children.length === 0 && one.textContent.trim()
              && one.getClientRects().length && parseFloat(getComputedStyle(one).fontSize) < 11).map((one) => one.textContent)"""
        )
        assert small == []
        if AXE.is_file():
            assert violations(page) == []
    go(page, 4)
    marks = page.locator(".fd-hit")
    assert all(min(box["width"], box["height"]) >= 24 for box in (mark.bounding_box() for mark in marks.all()) if box)
    assert page.locator(".fd-knob, .fd-tip").evaluate_all(
        "marks => marks.every((mark) => getComputedStyle(mark).touchAction === 'none')"
    )
    for button in page.locator(".ffp button").all():
        box = button.bounding_box()
        assert box is None or min(box["width"], box["height"]) >= 24
    page.close()


@needs_chromium
def test_with_reduced_motion_it_jumps(chromium: Browser) -> None:
    page = opened(chromium, fold.xor(), reduced_motion="reduce")
    button = page.locator(".fd-play")
    for stop in range(1, 6):
        expect(button).to_have_text("Next step")
        button.click()
        assert float(page.locator(".fd-scrub").input_value()) == stop
    go(page, 2.4)
    assert float(page.locator(".fd-scrub").input_value()) == 2
    page.close()


@needs_chromium
def test_it_plays_from_the_plane_to_the_rewound_sheet(chromium: Browser) -> None:
    page = opened(chromium, fold.xor())
    page.evaluate(
        """() => { window.frames_ = []; const scrub = document.querySelector(".fd-scrub");
          const look = (now) => { window.frames_.push([now, Number(scrub.value)]); if (Number(scrub.value) < 5) requestAnimationFrame(look); };
          document.querySelector(".fd-play").click(); requestAnimationFrame(look); }"""
    )
    page.wait_for_function("window.frames_.at(-1)[1] === 5", timeout=60_000)
    frames = page.evaluate("window.frames_")
    places = [place for _, place in frames]
    assert places == sorted(places), "it never goes back"
    assert len({math.floor(place) for place in places}) == 6
    times = sorted(b - a for (a, _), (b, _) in itertools.pairwise(frames))
    soon = 100 * sum(duration <= 33.4 for duration in times) / len(times)
    print(f"{len(times)} frames: {soon:.1f} % within 33 ms, 95 of 100 within {times[int(0.95 * len(times))]:.1f} ms")
    assert sentence(page).startswith("You cut once. On the sheet as it had been, the cut is")
    page.close()
