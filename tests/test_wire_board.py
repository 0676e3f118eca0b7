"""The levels of notebook 03: their mathematics in JavaScript is torch's, flags have a proof, and hands, keys and the reader's own functions move them."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder.authoring import build
from autograder.keys.activations.deep_square import in_thirds
from ffnlab.boards import Board
from ffnlab.course.boards import wire
from ffnlab.course.boards.catalogue import BOARDS
from ffnlab.course.exercises import activations as exercises

pytest.importorskip("playwright", reason="playwright is not installed")

from board_page import opened, page_with_modules, reached, sentence
from conftest import needs_chromium
from lab import browser
from playwright.sync_api import Browser, Locator, Page, expect

LEVELS = {level["name"]: level for level in (wire.STRAIGHT, *wire.KINKS, wire.ARCH)}
DOTS = torch.linspace(-2, 2, 17, dtype=torch.float64)
ACTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "ReLU": torch.relu,
    "GELU": lambda z: z * torch.erfc(-z / 2**0.5) / 2,  # F.gelu loses digits far out
    "SiLU": F.silu,
}
PAUSE = 330  # milliseconds, after which a move is another one


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def computing(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page that imports the boards' modules."""
    with page_with_modules(
        chromium, tmp_path_factory.mktemp("modules"), "wire_model", "ribbon", "follow", "layers", "descent"
    ) as page:
        yield page


def press(knob: Locator, key: str, times: int) -> None:
    knob.focus()
    for _ in range(times):
        knob.press(key)


def drawn(seed: int) -> dict[str, Any]:
    """A random network as JSON data."""
    rng = random.Random(seed)
    neurons = rng.randint(1, 9)
    return {**{name: [rng.gauss(0, 1) for _ in range(neurons)] for name in "wbv"}, "c": rng.gauss(0, 1)}


def output(net: dict[str, Any], x: torch.Tensor, bend: bool = True) -> torch.Tensor:
    w, b, v = (torch.tensor(net[name], dtype=torch.float64) for name in "wbv")
    z = x[:, None] * w + b
    return (z.relu() if bend else z) @ v + float(net["c"])


def as_network(hand: dict[str, Any]) -> dict[str, Any]:
    neurons = hand["neurons"]
    return {
        "w": [u["s"] for u in neurons],
        "b": [-u["s"] * u["k"] for u in neurons],
        "v": [u["v"] for u in neurons],
        "c": hand["c"],
    }


def targets(level: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    if level["target"] == "square":
        return x * x
    return torch.from_numpy(np.interp(x.numpy(), level["target"]["x"], level["target"]["y"]))


def off(level: dict[str, Any], hand: dict[str, Any]) -> float:
    x = torch.linspace(level["x"][0], level["x"][1], 4001, dtype=torch.float64)
    return float((output(as_network(hand), x, level["bend"]) - targets(level, x)).abs().max())


# What JavaScript computes


@needs_chromium
def test_a_network_is_the_same_line_in_javascript_and_in_torch(computing: Page) -> None:
    nets = [drawn(seed) for seed in range(60)]
    heights = computing.evaluate(
        """(nets) => nets.map((net) => {
          const wire = wireOf(net, -3, 3);
          return [-3, -1.7, 0, 0.4, 2.9].map((x) => [output(net, x), heightAt(wire, x), output(net, x, false)]);
        })""",
        nets,
    )
    x = torch.tensor([-3, -1.7, 0, 0.4, 2.9], dtype=torch.float64)
    for net, rows in zip(nets, heights, strict=True):
        right = output(net, x)
        assert np.allclose(rows, torch.stack([right, right, output(net, x, False)], 1).numpy())


@needs_chromium
def test_where_a_wire_is_furthest_out_is_found_exactly(computing: Page) -> None:
    nets = [drawn(seed) for seed in range(40)]
    zigzag = LEVELS["zigzag"]["target"]
    gap_pairs = computing.evaluate(
        "([nets, zigzag]) => nets.map((net) => [furthest(wireOf(net, -1, 1), 'square', -1, 1).gap, furthest(wireOf(net, -2, 2), zigzag, -2, 2).gap])",
        [nets, zigzag],
    )
    for net, gaps in zip(nets, gap_pairs, strict=True):
        for gap, name, ends in zip(gaps, ("arch", "zigzag"), ((-1, 1), (-2, 2)), strict=True):
            x = torch.linspace(*ends, 40_001, dtype=torch.float64)
            missed = output(net, x) - targets(LEVELS[name], x)
            assert abs(gap) == pytest.approx(float(missed.abs().max()), abs=1e-3)
            assert abs(gap) >= float(missed.abs().max()) - 1e-9


@needs_chromium
def test_chords_are_the_readers_network_and_their_gap_is_one_over_n_squared(computing: Page) -> None:
    gaps = computing.evaluate(
        "() => Array.from({ length: 40 }, (_, n) => furthest(chords('square', n + 1, -1, 1), 'square', -1, 1).gap)"
    )
    assert gaps == pytest.approx([1 / n**2 for n in range(1, 41)])
    assert computing.evaluate("() => fewest('square', 0.001, -1, 1, 64)") == 32
    answer: Callable[..., Any] = build.solution_answer("curve_interpolant").answer
    y = torch.randn(8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    net = wire.network(answer(y, -1.0, 1.0))
    heights = computing.evaluate("(net) => [-1, -0.3, 0.21, 1].map((x) => output(net, x))", net)
    assert heights == pytest.approx(np.interp([-1, -0.3, 0.21, 1], np.linspace(-1, 1, 8), y.numpy()).tolist())


@needs_chromium
def test_where_the_wire_leaves_for_good(computing: Page) -> None:
    for n, reach in ((4, 1.0), (20, 5.0), (64, 20.0)):
        x = computing.evaluate("([n, reach]) => leaves(n, reach)", [n, reach])
        last = reach - 2 * reach / n
        wire_there = last**2 + (reach + last) * (x - last)
        assert x > reach and x * x - wire_there == pytest.approx(1)


@needs_chromium
@pytest.mark.parametrize("name", ACTS)
def test_gradient_descent_is_torchs(computing: Page, name: str) -> None:
    rng = random.Random(1)
    for w, b in [(rng.gauss(0, 1), rng.gauss(0, 2)) for _ in range(40)] + [(0.3, -1.2), (0.3, -9.0), (0.6, 1.2)]:
        leaves = [torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in (w, b)]
        loss = (ACTS[name](leaves[0] * DOTS + leaves[1]) - (DOTS - 0.5).relu()).square().mean()
        right = [part.item() for part in torch.autograd.grad(loss, leaves)]
        gradient = computing.evaluate("([name, w, b]) => gradient(name, { w, b })", [name, w, b])
        assert [gradient["w"], gradient["b"], gradient["loss"]] == pytest.approx(
            [*right, loss.item()], rel=1e-5, abs=1e-18
        )
        stepped = computing.evaluate("([name, w, b]) => descend(name, { w, b }, 0.4, 1)", [name, w, b])
        assert [stepped["w"], stepped["b"]] == pytest.approx([w - 0.4 * right[0], b - 0.4 * right[1]], rel=1e-6)


# What can't be done, and why


def test_a_line_leaves_the_valley() -> None:
    """At −2 and at 2 the ribbon is above 1.8; a line at 0 is the mean of its values there, and the ribbon ends at 0.2."""
    level = wire.STRAIGHT
    assert (
        not level["bend"] and min(level["target"]["y"][::2]) - level["half"] > level["target"]["y"][1] + level["half"]
    )
    assert level["target"]["x"] == [-2, 0, 2]


def test_the_zigzag_turns_back_more_often_than_its_neurons_have_kinks() -> None:
    """Whatever the wire is, inside the ribbon it goes up, down, up, down, up: the ribbon's ends at the corners do not overlap."""
    level = LEVELS["zigzag"]
    heights = level["target"]["y"]
    ways = [
        1
        if after - level["half"] > before + level["half"]
        else -1
        if after + level["half"] < before - level["half"]
        else 0
        for before, after in itertools.pairwise(heights)
    ]
    assert ways == [1, -1, 1, -1, 1]
    assert sum(way != next_way for way, next_way in itertools.pairwise(ways)) > len(level["start"]["neurons"])


def test_the_record_on_the_arch_is_the_smallest_there_is() -> None:
    two = {"c": 0.05, "neurons": [{"k": -0.35, "v": 1.35, "s": -1}, {"k": 0.35, "v": 1.35, "s": 1}]}
    assert off(wire.ARCH, two) <= wire.ARCH["half"] and wire.arch().goals[0].record == 2
    assert wire.ARCH["half"] < 1 / (2 * 2**2), "no line of two pieces comes nearer than 1/(2n²)"


def test_the_levels_that_can_be_won_can_be_won_with_what_a_hand_can_set() -> None:
    wins = {
        "valley": {"c": 0.0, "neurons": [{"k": 0.0, "v": 1.0, "s": -1}, {"k": 0.0, "v": 1.0, "s": 1}]},
        "tent": {
            "c": 0.0,
            "neurons": [{"k": -1.0, "v": 1.5, "s": 1}, {"k": 0.0, "v": -3.0, "s": 1}, {"k": 1.0, "v": 1.5, "s": 1}],
        },
    }
    for name, hand in wins.items():
        level = LEVELS[name]
        assert off(level, hand) <= level["half"] and len(hand["neurons"]) == len(level["start"]["neurons"])  # type: ignore[arg-type]
        assert all(abs(neuron["v"]) <= level["most"] and neuron["k"] % level["snap"] == 0 for neuron in hand["neurons"])  # type: ignore[attr-defined]
    assert all(off(level, level["start"]) > level["half"] for level in LEVELS.values()), "nothing is won at the start"


def test_every_win_of_the_valley_is_as_its_text_says() -> None:
    """All hands with two neurons are tried: three win, in two of them both neurons slope the same way, and on no side of 0 is the slope 0."""
    level = LEVELS["valley"]
    grid = np.arange(-2, 2.01, level["snap"])
    strengths = [v for v in np.arange(-level["most"], level["most"] + 0.01, level["snap"]) if v]
    neurons = list(itertools.product(grid, strengths, (1, -1)))
    # The wire turns at places of the grid, so these are enough.
    target = np.interp(grid, level["target"]["x"], level["target"]["y"])
    heights = np.array([v * np.maximum(s * (grid - k), 0) for k, v, s in neurons])
    lifts = {*np.arange(-0.5, 2.51, level["snap"]).tolist(), *level["y"]}
    wins = []
    for index, neuron in enumerate(neurons):
        both = heights[index] + heights[index:]
        low = (target - level["half"] - both).max(1)
        high = (target + level["half"] - both).min(1)
        wins += [
            (neuron, neurons[index + n])
            for n in np.nonzero(low <= high)[0]
            for lift in lifts
            if low[n] <= lift <= high[n]
        ]
    assert len(wins) == 3 and sorted({neuron[2] for neuron in win} == {1, -1} for win in wins) == [False, False, True]
    for win in wins:
        left, right = (sum(s * v for k, v, s in win if s * (x - k) > 0) for x in (-0.1, 0.1))
        assert (left, right) == (-1, 1)


@needs_chromium
def test_the_record_within_a_thousandth_is_the_smallest_there_is(computing: Page) -> None:
    """Lowered by half of its gap, a wire with n pieces is off by 1/(2n²); no wire with n pieces is nearer."""
    goal = wire.thousandth(right("relu_interpolant")).goals[0]
    assert goal.record is not None and 1 / (2 * goal.record**2) <= 0.001 < 1 / (2 * (goal.record - 1) ** 2)
    net = wire.network(right("relu_interpolant")(23, -1.0, 1.0))
    lowered = {**net, "c": net["c"] - 1 / (2 * 23**2)}
    gap_and_pieces = computing.evaluate(
        "(net) => [Math.abs(furthest(wireOf(net, -1, 1), 'square', -1, 1).gap), pieces(wireOf(net, -1, 1))]", lowered
    )
    assert gap_and_pieces == pytest.approx([1 / (2 * 23**2), 23])


@needs_chromium
def test_pieces_are_those_of_the_wire(computing: Page) -> None:
    """They are counted as `count_pieces` counts them: kinks may share a place, cancel, or be outside."""
    nets = [drawn(seed) for seed in range(30)]
    nets += [
        {"w": [1, 1, 1, -1], "b": [0, 0, -0.5, 5], "v": [2, -2, 1, 1], "c": 0},
        {"w": [1, -1, 2], "b": [0, 0, 0], "v": [1, 1, 1], "c": 1},
    ]
    count_pieces = right("count_pieces")
    for net, count in zip(
        nets, computing.evaluate("(nets) => nets.map((net) => pieces(wireOf(net, -1, 1)))", nets), strict=True
    ):
        w, b, v = (torch.tensor(net[name], dtype=torch.float64) for name in "wbv")
        assert count == count_pieces(w[None], b, v[:, None], -1.0, 1.0)


@needs_chromium
def test_a_drawn_curve_is_always_followed(computing: Page) -> None:
    """Its corners are at 241 places, so 240 pieces follow even a curve that jumps up and down at each of them."""
    rng = random.Random(2)
    heights = [rng.uniform(-1, 1) for _ in range(241)]
    assert computing.evaluate("(heights) => needed(heights, 0.01)", heights) == 240
    assert computing.evaluate("(heights) => needed(heights, 2)", heights) == 1


# Under the hand


@needs_chromium
def test_the_valley_is_won_with_keys(chromium: Browser) -> None:
    page = opened(chromium, wire.kinks())
    page.get_by_role("button", name="neuron 1").click()  # turned round
    press(page.get_by_label("kink of neuron 1"), "ArrowRight", 6)
    press(page.get_by_label("kink of neuron 2"), "ArrowLeft", 3)
    press(page.get_by_label("strength of neuron 1"), "ArrowUp", 2)
    press(page.get_by_label("strength of neuron 2"), "ArrowUp", 1)
    assert reached(page) == [False, False, False]
    press(page.get_by_label("height of the whole wire"), "ArrowDown", 2)
    assert sentence(page) == "The wire is inside the ribbon all the way." and reached(page) == [True, False, False]
    page.get_by_role("button", name="2 · The tent").click()
    assert "furthest out" in sentence(page) and page.locator(".wr-kink").count() == 3
    knob = page.get_by_label("kink of neuron 1")
    assert knob.get_attribute("aria-valuenow") == "-1.5" and knob.get_attribute("aria-valuetext") == "x = minus 1.5"
    page.close()


@needs_chromium
def test_the_tent_is_won_with_the_mouse(chromium: Browser) -> None:
    page = opened(chromium, wire.kinks())
    page.get_by_role("button", name="2 · The tent").click()

    def drag(label: str, x: float, y: float) -> None:
        box = page.get_by_label(label).bounding_box()
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 + y, steps=4)
        page.mouse.up()

    def value(label: str) -> float:
        return float(page.get_by_label(label).get_attribute("aria-valuenow") or "nan")

    for neuron, (kink, strength) in enumerate(((-1, 1.5), (0, -3), (1, 1.5)), 1):
        for label, wanted, across in (
            (f"kink of neuron {neuron}", kink, True),
            (f"strength of neuron {neuron}", strength, False),
        ):
            for _ in range(12):
                before = value(label)
                if before == wanted:
                    break
                sign = 1 if wanted > before else -1
                drag(label, 30 * sign if across else 0, 0 if across else -8 * sign)
                for _ in range(40):
                    if (value(label) - wanted) * sign <= 0:
                        break
                    drag(label, 8 * sign if across else 0, 0 if across else -3 * sign)
                while (value(label) - wanted) * sign > 0:  # a little too far: back with a key
                    press(page.get_by_label(label), "ArrowLeft" if sign > 0 else "ArrowRight", 1)
            assert value(label) == wanted
    press(page.get_by_label("height of the whole wire"), "ArrowDown", 1)
    assert reached(page) == [False, True, False]
    page.close()


@needs_chromium
def test_a_flag_wants_its_reason(chromium: Browser) -> None:
    page = opened(chromium, wire.straight())
    press(page.get_by_label("slope of line 1"), "ArrowUp", 1)
    page.get_by_text("It can’t be done").click()
    page.get_by_role("button", name="Three lines are too few").click()
    assert "That is not why." in page.inner_text("body") and reached(page) == [False]
    for _ in range(3):
        page.wait_for_timeout(PAUSE)
        press(page.get_by_label("slope of line 2"), "ArrowUp", 1)
    page.get_by_text("It can’t be done").click()
    page.get_by_role("button", name="However many lines you add up").click()
    assert reached(page) == [True]
    page.close()


@needs_chromium
def test_what_was_said_of_a_level_goes_with_it(chromium: Browser) -> None:
    won = {"c": 0.0, "neurons": [{"k": 0.0, "v": 1.0, "s": -1}, {"k": 0.0, "v": 1.0, "s": 1}]}
    levels = [{**level, "start": {**won, "c": 0.25}} if level["name"] == "valley" else level for level in wire.KINKS]
    page = opened(chromium, replace(wire.kinks(), data={"kind": "hand", "levels": levels}))
    after = page.locator(".ffp-after")
    press(page.get_by_label("height of the whole wire"), "ArrowDown", 1)
    expect(after).to_contain_text("from −1 to 1")
    page.get_by_role("button", name="2 · The tent").click()
    expect(after).to_have_count(0)
    page.get_by_role("button", name="1 · The valley").click()
    expect(after).to_contain_text("from −1 to 1")
    page.close()

    page = opened(chromium, wire.learn())
    for _ in range(4):
        page.get_by_role("button", name="10 steps").click()
    expect(page.locator(".ffp-after")).to_contain_text("Small steps")
    page.get_by_role("button", name="New neuron").click()
    expect(page.locator(".ffp-after")).to_have_count(0)
    page.close()


@needs_chromium
def test_the_zigzag_is_not_given_up_untried(chromium: Browser) -> None:
    page = opened(chromium, wire.kinks())

    def raised() -> bool:
        flag = page.locator(".ffp-flag summary")
        if not page.get_by_role("button", name="The wire has to turn back").is_visible():
            flag.click()
        page.get_by_role("button", name="The wire has to turn back").click()
        return reached(page)[2]

    press(page.get_by_label("kink of neuron 1"), "ArrowRight", 1)
    assert not raised() and "Try it first." in page.inner_text("body"), "another level was tried"
    page.get_by_role("button", name="3 · The zigzag").click()
    assert not raised() and "Try it first." in page.inner_text("body"), "it was only looked at"
    press(page.get_by_label("kink of neuron 1"), "ArrowRight", 1)
    assert raised()
    page.close()


@needs_chromium
def test_the_arch_keeps_the_smallest_number_of_neurons(chromium: Browser) -> None:
    page = opened(chromium, wire.arch())
    press(page.get_by_label("strength of neuron 3"), "ArrowDown", 10)  # 0.5 to 0
    press(page.get_by_label("strength of neuron 2"), "ArrowDown", 10)
    page.get_by_role("button", name="neuron 1").click()
    press(page.get_by_label("kink of neuron 1"), "ArrowRight", 13)  # −1 to −0.35
    press(page.get_by_label("strength of neuron 1"), "ArrowUp", 47)  # −1 to 1.35
    press(page.get_by_label("kink of neuron 4"), "ArrowLeft", 5)
    press(page.get_by_label("strength of neuron 4"), "ArrowUp", 17)
    press(page.get_by_label("height of the whole wire"), "ArrowDown", 19)
    assert reached(page) == [True], sentence(page)
    assert page.locator(".ffp-record").inner_text() == "2 neurons, and that is the record."
    page.close()


# The reader's own functions


def answered(page: Page, board: Board) -> None:
    """Python answers, as it does in a notebook."""

    def answer(name: str, value: Any) -> dict[str, Any]:
        try:
            return {"value": board.answers[name](value)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    page.expose_function("python", answer)
    page.evaluate(
        """() => document.querySelector('.ffn-play').addEventListener('ffn-ask', (event) => {
          const { name, value, done } = event.detail;
          window.python(name, value).then(done);
        })"""
    )


def right(name: str) -> Callable[..., Any]:
    answer: Callable[..., Any] = build.solution_answer(name).answer
    return answer


def slider(page: Page, name: str, value: int) -> None:
    page.get_by_role("slider", name=name).evaluate(
        "(made, value) => { made.value = value; made.dispatchEvent(new Event('input')); }", value
    )


@needs_chromium
def test_the_readers_network_plays_the_arch_and_a_wrong_one_does_not_look_right(chromium: Browser) -> None:
    board = wire.thousandth(right("relu_interpolant"))
    page = opened(chromium, board)
    answered(page, board)
    slider(page, "pieces", 32)
    expect(page.locator(".ffp-sentence")).to_contain_text(
        "Your function uses 32 neurons for 32 pieces. The wire stays inside."
    )
    assert (
        reached(page) == [True]
        and page.locator(".ffp-record").inner_text() == "You used 32 pieces. It can be done with 23."
    )
    slider(page, "pieces", 23)
    expect(page.locator(".ffp-sentence")).to_contain_text("The wire is out")
    slider(page, "lower the wire by", 19)
    expect(page.locator(".ffp-sentence")).to_have_text(
        "Your function uses 23 neurons for 23 pieces. You have lowered the wire by 0.00095. The wire stays inside. "
        "It is off by 0.00095 at most, and the ribbon allows 0.001."
    )
    expect(page.locator(".ffp-record")).to_have_text("23 pieces, and that is the record.")
    page.close()

    def slopes_for_changes(n: int, A: float, B: float) -> Any:
        W1, b1, W2, b2 = right("relu_interpolant")(n, A, B)
        return W1, b1, W2.cumsum(0), b2

    board = wire.thousandth(slopes_for_changes)
    page = opened(chromium, board)
    answered(page, board)
    slider(page, "pieces", 32)
    expect(page.locator(".ffp-sentence")).to_contain_text(
        "Your function uses 32 neurons for 32 pieces. The wire is out"
    )
    assert reached(page) == [False]
    page.close()


@needs_chromium
def test_an_unwritten_function_leaves_the_game_to_the_board_and_a_failing_one_says_so(chromium: Browser) -> None:
    def unwritten(*_: Any) -> Any:
        raise NotImplementedError

    page = opened(chromium, wire.beat(unwritten))
    assert sentence(page).startswith("The board uses 3 neurons.")
    page.close()

    def failing(y: torch.Tensor, A: float, B: float) -> Any:
        return y.nonsense  # type: ignore[attr-defined]

    board = wire.beat(failing)
    page = opened(chromium, board)
    answered(page, board)
    slider(page, "pieces", 5)
    expect(page.locator(".ffp-sentence")).to_contain_text("Your function ended with an error. AttributeError")
    page.close()


@needs_chromium
def test_whatever_is_drawn_the_readers_function_follows(chromium: Browser) -> None:
    board = wire.beat(right("curve_interpolant"))
    page = opened(chromium, board)
    answered(page, board)
    box = page.locator(".wr-paper").bounding_box()
    assert box
    page.mouse.move(box["x"] + 30, box["y"] + 200)
    page.mouse.down()
    for x, y in ((120, 40), (125, 220), (300, 60), (305, 200), (600, 120)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    page.mouse.up()
    expect(page.locator(".ffp-sentence")).to_contain_text("The wire stays inside.")
    assert int(page.get_by_role("slider", name="pieces").input_value()) > 3
    page.get_by_role("button", name="± 0.01").click()
    expect(page.locator(".ffp-sentence")).to_contain_text("The wire stays inside.")
    page.get_by_role("button", name="cliff").click()
    expect(page.locator(".ffp-sentence")).to_contain_text("The wire stays inside.")
    pen = page.locator(".wr-pen")
    before = pen.get_attribute("aria-valuenow")
    press(pen, "ArrowDown", 2)
    assert pen.get_attribute("aria-valuenow") != before
    expect(page.locator(".ffp-sentence")).to_contain_text("The wire stays inside.")
    page.close()


@needs_chromium
def test_a_curve_of_the_boards_own_settles_nothing(chromium: Browser) -> None:
    page = opened(chromium, BOARDS["wire_beat"]())
    page.get_by_role("button", name="cliff").click()
    expect(page.locator(".ffp-sentence")).to_contain_text("The wire stays inside.")
    assert int(page.get_by_role("slider", name="pieces").input_value()) >= wire.BILL and not reached(page)[0]
    press(page.locator(".wr-pen"), "ArrowDown", 1)
    expect(page.locator(".ffp-sentence")).to_contain_text("The wire stays inside.")
    assert reached(page)[0], "with a stroke of one's own it counts"
    page.close()


@needs_chromium
def test_nothing_is_given_up_with_a_function_that_fails_or_a_curve_of_the_board(chromium: Browser) -> None:
    def failing(y: torch.Tensor, A: float, B: float) -> Any:
        return y.nonsense  # type: ignore[attr-defined]

    for answer, stroke in ((failing, True), (right("curve_interpolant"), False)):
        board = wire.beat(answer)
        page = opened(chromium, board)
        answered(page, board)
        page.get_by_role("button", name="saw").click()
        if stroke:
            press(page.locator(".wr-pen"), "ArrowDown", 1)
        expect(page.locator(".ffp-sentence")).to_contain_text(
            "ended with an error" if stroke else "The wire stays inside."
        )
        page.locator(".ffp-flag summary").click()
        page.get_by_role("button", name="Cut finely enough").click()
        assert not reached(page)[1] and "Try it first." in page.inner_text("body")
        if not stroke:
            press(page.locator(".wr-pen"), "ArrowDown", 1)
            expect(page.locator(".ffp-sentence")).to_contain_text("The wire stays inside.")
            if not page.get_by_role("button", name="Cut finely enough").is_visible():
                page.locator(".ffp-flag summary").click()
            page.get_by_role("button", name="Cut finely enough").click()
            assert reached(page)[1]
        page.close()


@needs_chromium
def test_the_board_counts_pieces_and_not_its_slider(chromium: Browser) -> None:
    def always_64(n: int, A: float, B: float) -> Any:
        return right("relu_interpolant")(64, A, B)

    board = wire.thousandth(always_64)
    page = opened(chromium, board)
    answered(page, board)
    slider(page, "pieces", 2)
    expect(page.locator(".ffp-record")).to_have_text("You used 64 pieces. It can be done with 23.")
    page.close()


@needs_chromium
def test_one_kink_is_not_spoken_of_as_two(chromium: Browser) -> None:
    page = opened(chromium, wire.ever())
    slider(page, "neurons", 1)
    assert sentence(page) == "The only kink is at x = −1. On the right the wire leaves the ribbon at x = 1.41."
    slider(page, "kinks as far out", 5)
    assert sentence(page).startswith("The only kink is at x = −5. Right of it the wire is up to 25 too high")
    slider(page, "neurons", 2)
    assert sentence(page).startswith("The last kink is at x = 0. Between two kinks the wire is up to 6.25 too high")
    page.close()


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (None, "four tensors"),
        ((1, 2), "four tensors, not 2"),
        (
            (torch.ones(2, 1), torch.ones(2), torch.ones(2, 1), torch.ones(1)),
            "W1 has shape [2, 1]. With 2 neurons it should be [1, 2].",
        ),
        (
            (torch.ones(1, 2), torch.ones(2), torch.ones(2, 1), torch.tensor([float("nan")])),
            "b2 has a number that is not finite",
        ),
    ],
)
def test_what_is_no_network_is_said_so(result: Any, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        wire.network(result)


def test_a_neuron_that_does_not_read_is_a_constant() -> None:
    net = wire.network(
        (
            torch.tensor([[0.0, 0.0, 2.0]]),
            torch.tensor([3.0, -1.0, 1.0]),
            torch.tensor([[2.0], [5.0], [1.0]]),
            torch.tensor([1.0]),
        )
    )
    assert net == {"w": [2.0], "b": [1.0], "v": [1.0], "c": 7.0}


# Deep networks


@needs_chromium
def test_a_deep_network_is_the_same_in_javascript_and_in_torch(computing: Page) -> None:
    rng = random.Random(4)
    x = torch.linspace(-1, 1, 2001, dtype=torch.float64)
    for _ in range(20):
        widths = [1, *(rng.randint(1, 5) for _ in range(rng.randint(1, 4))), 1]
        layers = [
            {
                "W": [[rng.gauss(0, 1) for _ in range(after)] for _ in range(before)],
                "b": [rng.gauss(0, 0.5) for _ in range(after)],
            }
            for before, after in itertools.pairwise(widths)
        ]
        heights = computing.evaluate(
            """([layers, places]) => {
              const { x, ys } = passThrough(layers, -1, 1).at(-1);
              return places.map((place) => heightAt({ x, y: ys[0] }, place));
            }""",
            [layers, x.tolist()],
        )
        found = exercises.run_layers(exercises.layers_of([(layer["W"], layer["b"]) for layer in layers]), x)
        assert np.allclose(heights, found.numpy(), atol=1e-6)


@needs_chromium
def test_each_tent_doubles_the_pieces(chromium: Browser) -> None:
    page = opened(chromium, BOARDS["wire_folds"]())
    for layer, kinks in ((1, "1 kink."), (2, "3 kinks."), (3, "7 kinks."), (4, "15 kinks.")):
        assert not reached(page)[0]
        slider(page, "layer", layer)
        assert sentence(page).endswith(kinks) and page.locator(".wr-neuron").count() == 2
    assert reached(page) == [True, False]
    slider(page, "layer", 5)
    assert sentence(page).startswith("The wire has 16 pieces, from 8 neurons in 4 hidden layers.")
    page.close()


@needs_chromium
def test_the_gap_of_the_first_fold_is_drawn_and_settles_nothing(chromium: Browser) -> None:
    page = opened(chromium, BOARDS["wire_folds"]())
    page.get_by_role("button", name="|x|, and its gap").click()
    assert sentence(page) == (
        "|x| is too high by |x| − x², which is drawn below: 0 at −1, 0 and 1, and up to 0.25 between them."
    )
    assert page.locator(".wr-thin").count() == 2 and reached(page) == [False, False]
    page.get_by_role("button", name="|x| and three tents").click()
    assert page.locator(".wr-thin").count() == 0
    page.close()


@needs_chromium
def test_the_readers_deep_network_is_shown_and_its_neurons_are_counted(chromium: Browser) -> None:
    answers: list[Any] = [
        ...,
        [([[1.0, -1.0]], [0.0, 0.0]), ([[1.0], [1.0]], [0.0])],
        right("deep_square"),
        in_thirds(),
    ]
    board = wire.folds(lambda: answers[0])
    page = opened(chromium, board)
    answered(page, board)
    said = page.locator(".ffp-sentence")
    for says, record in (
        ("Your cell still says", ""),
        ("It is out: at x = −0.5 it is 0.25 too high", ""),
        ("from 14 neurons in 5 hidden layers. It stays inside", "You used 14 neurons. It can be done with 9."),
        ("from 9 neurons in 3 hidden layers. It stays inside", "9 neurons, and that is the record."),
    ):
        page.get_by_role("button", name="your network").click()
        expect(said).to_contain_text(says)
        assert reached(page)[1] == bool(record)
        if record:
            expect(page.locator(".ffp-record")).to_have_text(record)
        answers.pop(0)
    page.close()


def test_what_is_no_deep_network_is_said_so() -> None:
    def unknown() -> Any:
        raise NameError

    for own, says in (
        (unknown, "does not know"),
        (lambda: 3, "an int came back"),
        (lambda: [([[1.0]], [0.0])], "no hidden layer"),
    ):
        with pytest.raises(ValueError, match=says):
            wire.folds(own).answers["network"](None)


# One neuron that learns


@needs_chromium
def test_a_neuron_learns_dies_of_one_step_and_is_not_woken(chromium: Browser) -> None:
    page = opened(chromium, wire.learn())
    for _ in range(4):
        page.get_by_role("button", name="10 steps").click()
    assert reached(page) == [True, False, False], sentence(page)
    page.get_by_role("button", name="New neuron").click()
    slider(page, "learning rate", 6)  # 1
    page.wait_for_timeout(PAUSE)
    page.get_by_role("button", name="1 step", exact=True).click()
    assert reached(page)[1] and "Both gradients are exactly 0." in sentence(page)
    slider(page, "learning rate", 9)
    after = page.locator(".wr-gauge").first.inner_text()
    page.get_by_role("button", name="100 steps").click()
    assert page.locator(".wr-gauge").first.inner_text() == after and not reached(page)[2]
    page.get_by_text("It can’t be done").click()
    page.get_by_role("button", name="Its sum is below zero at every dot").click()
    assert reached(page) == [True, True, True]
    page.close()


@needs_chromium
@pytest.mark.parametrize("name", ["ReLU", "GELU", "SiLU"])
def test_a_slope_on_the_left_wakes_it_and_buried_deep_nothing_does(chromium: Browser, name: str) -> None:
    page = opened(chromium, wire.wake())
    page.get_by_role("button", name=name).click()
    page.get_by_role("button", name="10 steps").click()
    assert reached(page) == [name != "ReLU", False, False]
    page.get_by_role("button", name="start at b = −9").click()
    for pressed in range(10):
        assert not reached(page)[2], f"after {100 * pressed} steps"
        page.get_by_role("button", name="100 steps").click()
    assert reached(page)[2] == (name != "ReLU") and "at no dot" in sentence(page)
    gauge = page.locator(".wr-gauge").nth(1).inner_text()
    says = {"ReLU": "gradient exactly 0", "GELU": "10⁻¹⁶", "SiLU": "b = −9."}[name]
    assert says in gauge
    page.close()


@needs_chromium
def test_a_large_step_loses_gelu_and_a_small_one_does_not(chromium: Browser) -> None:
    page = opened(chromium, wire.wake())
    page.get_by_role("button", name="GELU").click()
    page.get_by_role("button", name="100 steps").click()
    assert reached(page) == [True, False, False]
    page.get_by_role("button", name="New neuron").click()
    slider(page, "learning rate", 7)  # 1.5
    page.wait_for_timeout(PAUSE)
    page.get_by_role("button", name="100 steps").click()
    assert reached(page) == [True, True, False] and "at no dot" in sentence(page)
    page.close()


@needs_chromium
def test_silu_lost_is_not_gelu_lost(chromium: Browser) -> None:
    page = opened(chromium, wire.wake())
    page.get_by_role("button", name="SiLU").click()
    slider(page, "learning rate", 9)  # 3
    page.wait_for_timeout(PAUSE)
    page.get_by_role("button", name="100 steps").click()
    assert "at no dot" in sentence(page) and not reached(page)[1], "the goal asks for GELU"
    page.close()


@needs_chromium
def test_what_is_counted_is_the_wire_and_not_the_dots(chromium: Browser) -> None:
    page = opened(chromium, wire.learn())
    inside = page.locator(".wr-hits").count()
    assert 0 < inside < 17 and sentence(page).endswith(f"the wire is inside the ribbon at {inside} of the 17 dots.")
    page.close()


def test_what_is_said_of_the_buried_neuron() -> None:
    """SiLU's gradient at b = −9 is 0.0015, and its steps push b down; GELU's is about 10⁻¹⁵."""
    for name, size in (("GELU", 8.87e-16), ("SiLU", 0.0015)):
        w, b = (torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in (0.3, -9.0))
        loss = (ACTS[name](w * DOTS + b) - (DOTS - 0.5).relu()).square().mean()
        of_w, of_b = torch.autograd.grad(loss, (w, b))
        assert float(of_w) == pytest.approx(size, rel=0.01) and float(of_b) > 0


def after_a_thousand_steps(name: str, b: float, dots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """w and b [rates] of a neuron that learned some of the dots, at each learning rate of the board."""
    source = (wire.HERE / "descent.js").read_text(encoding="utf-8")
    match = re.search(r"const RATES = \[(.*)\];", source)
    assert match
    rates = torch.tensor([float(rate) for rate in match[1].split(",")], dtype=torch.float64)
    neuron = torch.full_like(rates, 0.3), torch.full_like(rates, b)
    for _ in range(1000):
        w, b_ = (part.clone().requires_grad_() for part in neuron)
        errors = ACTS[name](w[:, None] * dots + b_[:, None]) - (dots - 0.5).relu()
        of_w, of_b = torch.autograd.grad(errors.square().sum() / len(DOTS), (w, b_))
        neuron = neuron[0] - rates * of_w, neuron[1] - rates * of_b
    return neuron


def test_what_is_said_of_small_and_large_steps_from_minus_1_2() -> None:
    """Up to 0.8 GELU comes back into the ribbon; at 1 it swings and is never in it; from 1.5 on it wakes within three steps and is lost.

    It is lost for good after five steps, and with a rate of 2 after 365.
    """
    for rate in (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0):
        w, b = torch.tensor(0.3, dtype=torch.float64), torch.tensor(-1.2, dtype=torch.float64)
        above, inside = [], []
        for _ in range(1000):
            w.requires_grad_()
            b.requires_grad_()
            loss = (ACTS["GELU"](w * DOTS + b) - (DOTS - 0.5).relu()).square().mean()
            of_w, of_b = torch.autograd.grad(loss, (w, b))
            w, b = (w - rate * of_w).detach(), (b - rate * of_b).detach()
            sums = w * DOTS + b
            above.append(int((sums > 0).sum()))
            inside.append(int(((ACTS["GELU"](sums) - (DOTS - 0.5).relu()).abs() <= 0.35).sum()))
        if rate <= 0.8:
            assert inside[-1] == 17
        elif rate == 1:
            assert max(inside) < 17 and set(above[-100:]) == {4, 7}
        else:
            lost = 365 if rate == 2 else 5
            assert max(above[:3]) > 0 and max(inside) < 17
            assert above[lost - 2] > 0 and set(above[lost - 1 :]) == {0}


def highest_sum(w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The highest w·x + b at any of the dots [rates]."""
    sums: torch.Tensor = (w[:, None] * DOTS + b[:, None]).max(1).values
    return sums


@pytest.mark.parametrize("name", ["GELU", "SiLU"])
def test_the_buried_neuron_does_not_come_back(name: str) -> None:
    assert bool((0.3 * DOTS - 9 < -8).all())
    w, b = after_a_thousand_steps(name, -9.0, DOTS)
    assert bool((highest_sum(w, b) < 0).all()) and bool((b <= -9).all())


def test_two_dots_wake_the_neuron_and_without_them_it_is_not_woken() -> None:
    """Those at which its sum is right of GELU's lowest place, −0.75. At x = 1.5 it is there, and hardly pulls."""
    places = torch.linspace(-2, 0, 20_001, dtype=torch.float64)
    lowest = places[ACTS["GELU"](places).argmin()]
    pulls = lowest + 0.05 < 0.3 * DOTS - 1.2
    assert lowest == pytest.approx(-0.75, abs=0.005) and pulls.tolist() == [False] * 15 + [True] * 2
    assert bool((highest_sum(*after_a_thousand_steps("GELU", -1.2, DOTS))[:4] > 0).all()), "up to the rate that is set"
    assert bool((highest_sum(*after_a_thousand_steps("GELU", -1.2, DOTS[~pulls])) < 0).all())


def test_momentum_wakes_a_dead_neuron_and_plain_gradient_descent_does_not() -> None:
    """What the fold “What is a dead neuron?” says: after two large steps the neuron is dead, and its earlier gradients still move it."""
    w, b = (torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in (2.0, -1.0))

    def steps(optimizer: torch.optim.Optimizer, count: int) -> list[int]:
        """At how many dots it fires after each step."""
        fires = []
        for _ in range(count):
            optimizer.zero_grad()
            (torch.relu(w * DOTS + b) - (DOTS - 0.5).relu()).square().mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            fires.append(int((w * DOTS + b > 0).sum()))
        return fires

    with_momentum = torch.optim.SGD([w, b], lr=1.0, momentum=0.9)
    assert steps(with_momentum, 2) == [2, 0]
    assert steps(torch.optim.SGD([w, b], lr=1.0), 100) == [0] * 100
    later = steps(with_momentum, 18)
    assert max(later) > 0 and later[-1] == 0, "it fires for a while, and dies again"


@pytest.mark.parametrize("of_b", [0.0, 0.1])
def test_decay_wakes_no_neuron_whose_b_is_below_zero(of_b: float) -> None:
    """With decay of w alone the sums move towards b; with decay of both they shrink, and keep their sign."""
    for b0, woken in ((-1.2, False), (0.3, True)):  # the second is dead on the dots from 0.75 on, with w < 0
        dots = DOTS if b0 < 0 else DOTS[DOTS >= 0.75]
        w, b = torch.tensor(0.3 if b0 < 0 else -0.5, dtype=torch.float64), torch.tensor(b0, dtype=torch.float64)
        for _ in range(100):
            assert woken or bool((w * dots + b <= 0).all())
            w, b = w * 0.9, b * (1 - of_b)
        assert bool((w * dots + b > 0).any()) == (woken and not of_b)


# For everybody


@needs_chromium
def test_with_reduced_motion_nothing_slides(chromium: Browser) -> None:
    page = opened(chromium, wire.learn(), reduced_motion="reduce")
    assert page.locator(".wr-moves").evaluate("(made) => getComputedStyle(made).transitionDuration") == "0s"
    page.close()


@needs_chromium
def test_marks_stay_when_the_state_changes(chromium: Browser) -> None:
    page = opened(chromium, wire.kinks())
    page.evaluate("window.marks = [...document.querySelectorAll('.wr-picture *')]")
    press(page.get_by_label("kink of neuron 1"), "ArrowRight", 3)
    page.get_by_role("button", name="neuron 2").click()
    assert page.evaluate("marks.every((mark) => mark.isConnected)")
    page.close()


@needs_chromium
def test_every_knob_can_be_told_apart_wherever_it_is(chromium: Browser) -> None:
    """All kinks in one place and all strengths equal: no two knobs hide each other."""
    page = opened(chromium, wire.kinks())
    page.get_by_role("button", name="2 · The tent").click()
    for neuron, (kink, strength) in enumerate(((6, 2), (2, 8), (2, 8)), 1):
        press(page.get_by_label(f"kink of neuron {neuron}"), "ArrowRight" if neuron < 3 else "ArrowLeft", kink)
        press(page.get_by_label(f"strength of neuron {neuron}"), "ArrowUp", strength)
    centres = page.evaluate(
        """() => [...document.querySelectorAll('.wr-knob .wr-dot')].map((dot) => {
          const { x, y, width, height } = dot.getBoundingClientRect();
          return [x + width / 2, y + height / 2];
        })"""
    )
    apart = [np.hypot(a[0] - b[0], a[1] - b[1]) for a, b in itertools.combinations(centres, 2)]
    assert min(apart) >= 14
    page.close()


def test_the_exercise_and_the_board_mean_the_same_kinks() -> None:
    """The tent of the board is the network whose steepest slope the notebook prints."""
    tent = as_network(
        {"c": 0, "neurons": [{"k": -1, "v": 1.5, "s": 1}, {"k": 0, "v": -3, "s": 1}, {"k": 1, "v": 1.5, "s": 1}]}
    )
    assert exercises.steepest(tent["w"], tent["b"], tent["v"]) == 1.5
