"""The board in a real browser: marks are pressed, tapped, dragged and reached with the keyboard; the last picture stays when nobody draws."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from conftest import needs_chromium
from drawings import PARAMETERS, name_of
from lab import browser
from playwright.sync_api import Browser, Locator, Page, Route, expect

from ffnlab.course.figures import anatomy, capstone, feed_forward
from ffnlab.drawing import controls, svg
from ffnlab.drawing.picture import Picture

pytestmark = needs_chromium
HERE = "http://board.test"
FAR = "a plane too far"
DRAWING = Path(__file__).resolve().parent.parent / "course" / "ffnlab" / "drawing"
# What stands in for a kernel: `answer` is Python's, and slow or dead when a test says so. The model has what anywidget hands to `render`, and no more.
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>boards</title><link rel="stylesheet" href="/figure_widget.css"><div class="board"></div><div class="board"></div>
<script type="module">
import board from "/figure_widget.js";
window.asked = []; window.slow = 0; window.dead = false; window.models = [];
for (const [index, el] of document.querySelectorAll(".board").entries()) {
  const data = structuredClone(window.data[index]), heard = {};
  const set = (name, value) => { data[name] = value; (heard["change:" + name] ?? []).forEach((tell) => tell()); };
  let busy = false, wanted = null;
  const model = { get: (name) => data[name], set, send() {}, widget_manager: { get_model: async () => { throw new Error("no such model"); } },
    on: (name, tell) => (heard[name] ??= []).push(tell), off() {},
    async save_changes() {
      wanted = data.state;
      if (busy || window.dead) return;
      busy = true;
      while (wanted) {
        const state = wanted; wanted = null; window.asked.push(state);
        await new Promise((done) => setTimeout(done, window.slow));
        if (window.dead) break;
        set("picture", { state, html: await window.answer(index, state) });
      }
      busy = false;
    } };
  window.models.push(model);
  board.render({ model, el });
}
</script></html>"""


BENDS = (400.0, 500.0, 520.0)  # where a knob on an uneven way stands for 0, 1 and 2


def plane(x: float = 0.0, y: float = 1.0, angle: float = 0.0, chosen: str = "none", uneven: float = 0.0) -> Picture:
    """A knob on a plane, one on a circle, one on an uneven way, and boxes to press."""
    if chosen == FAR:
        raise ValueError("there is no such plane")
    across = svg.across((100, 300), (-2.0, 2.0))
    upright = svg.upright((250, 50), (0.01, 100.0), log=True)
    knob = svg.handle(
        100 + (x + 2) * 50, 150, drags={"x": across, "y": upright}, name="the point", says=f"{x:g} and {y:g}"
    )
    pointer = svg.handle(
        500, 150, drags={"angle": svg.turn((450, 150))}, name="the direction", says=f"{angle:g} degrees"
    )
    last = svg.handle(
        float(np.interp(uneven, (0, 1, 2), BENDS)),
        240,
        drags={"uneven": svg.across(BENDS, (0, 1, 2))},
        name="the uneven way",
        says=f"{uneven:g}",
    )
    boxes = [
        svg.button(svg.rect(50 + 80 * n, 300, 60, 40, fill="#ccc"), sets={"chosen": word}, name=f"choose {word}")
        for n, word in enumerate(("none", "one", "two"))
    ]
    other = "none" if chosen == "two" else "two"
    boxes.append(svg.button(svg.rect(300, 300, 60, 40, fill="#ccc"), sets={"chosen": other}, name=f"turn to {other}"))
    if chosen == "one":
        boxes.insert(0, svg.button(svg.rect(400, 300, 60, 40, fill="#ccc"), sets={"x": 2.0}, name="x is 2"))
    words = f"x is {x:g}, y is {y:g}, the angle is {angle:g}, chosen is {chosen}, the way is at {uneven:g}."
    return Picture("A plane", words, svg.card(360, "A plane", words, knob, pointer, last, *boxes))


FIGURES = [
    controls.Figure(
        plane,
        {
            "x": controls.slider("x", -2.0, 2.0, 0.5, 0.0),
            "y": controls.free("y", [0.01, 0.1, 1.0, 10.0, 100.0], 1.0),
            "angle": controls.play("angle", 0, 315, 45, 0, interval=40),
            "chosen": controls.choice("chosen", ["none", "one", "two", FAR], "none"),
            "uneven": controls.free("uneven", [0.0, 0.5, 1.0, 1.5, 2.0], 0.0),
        },
    ),
    controls.Figure(
        feed_forward.trace,
        {
            "position": controls.steps("token", [(f"{i} {word}", i) for i, word in enumerate(feed_forward.TOKENS)], 1),
            "permute": controls.toggle("permute tokens"),
        },
    ),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as instance:
        yield instance


def open_page(chromium: Browser, **options: Any) -> Page:
    page = chromium.new_page(**options)
    page.set_default_timeout(10_000)

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(f"{HERE}/")
        if name in ("figure_widget.js", "figure_widget.css"):
            route.fulfill(path=DRAWING / name)
        else:
            route.fulfill(body=PAGE, content_type="text/html")

    page.route(f"{HERE}/**", answer)
    page.expose_function("answer", lambda index, state: FIGURES[index].html(state))
    data = [
        {"controls": f.describe(), "state": f.start, "picture": {"state": f.start, "html": f.html(f.start)}}
        for f in FIGURES
    ]
    page.add_init_script(f"window.data = {json.dumps(data)}")
    page.goto(f"{HERE}/")
    page.locator(".ffn-picture svg").nth(1).wait_for()
    return page


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    page = open_page(chromium, viewport={"width": 900, "height": 1500})
    yield page
    page.close()


def board(page: Page, index: int = 0) -> Locator:
    return page.locator(".ffn-board").nth(index)


def says(page: Page, words: str, index: int = 0) -> None:
    expect(board(page, index).locator("figcaption")).to_contain_text(words)


def at(page: Page, index: int = 0) -> dict[str, int]:
    indices: dict[str, int] = page.evaluate(f"window.models[{index}].get('state')")
    return indices


def test_every_control_moves_the_picture(page: Page) -> None:
    figure = board(page)
    figure.get_by_label("x", exact=True).fill("8")
    says(page, "x is 2,")
    figure.get_by_label("chosen").select_option("two")
    says(page, "chosen is two")
    expect(figure.locator(".ffn-aloud[role=status]")).to_contain_text("chosen is two")  # for who hears the page
    board(page, 1).get_by_label("permute tokens").check()
    says(page, "The sentence is shuffled", 1)
    says(page, "x is 2,")  # two figures on a page are two


def test_a_mark_is_pressed_with_the_mouse_and_with_the_keyboard(page: Page) -> None:
    figure = board(page)
    two = figure.get_by_role("button", name="choose two")
    two.click()
    says(page, "chosen is two")
    expect(two).to_have_attribute("aria-pressed", "true")
    expect(figure.get_by_label("chosen", exact=True)).to_have_value("2")  # the control is moved along
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    says(page, "chosen is one")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    says(page, "chosen is two")
    expect(two).to_be_focused()  # though the picture was drawn anew
    board(page, 1).get_by_role("button", name="token 7, dog").click()
    says(page, "“dog”", 1)


def test_a_row_of_tokens_is_one_stop_of_the_tab_key(page: Page) -> None:
    tokens = board(page, 1).locator("[data-sets]")
    stops = "marks => marks.filter((mark) => mark.tabIndex === 0).map((mark) => mark.getAttribute('aria-label'))"
    assert tokens.evaluate_all(stops) == ["token 1, creek"]  # the one that is chosen
    tokens.nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(board(page, 1).get_by_role("button", name="token 2, was")).to_be_focused()
    assert tokens.evaluate_all(stops) == ["token 2, was"]
    page.keyboard.press("Enter")
    says(page, "“was”", 1)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.ffn-picture')") is None


def test_the_focus_stays_at_a_mark_that_does_something_else_when_it_was_pressed(page: Page) -> None:
    figure = board(page)
    figure.get_by_role("button", name="turn to two").focus()
    page.keyboard.press("Enter")
    says(page, "chosen is two")
    expect(figure.get_by_role("button", name="turn to none")).to_be_focused()
    page.keyboard.press("Enter")
    says(page, "chosen is none")
    figure.get_by_role("button", name="choose one").focus()
    page.keyboard.press("Enter")
    says(page, "chosen is one")  # with one mark more in front of the others
    expect(figure.get_by_role("button", name="choose one")).to_be_focused()


def test_a_mark_is_tapped_on_a_phone(chromium: Browser) -> None:
    page = open_page(chromium, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    board(page).get_by_role("button", name="choose one").tap()
    says(page, "chosen is one")
    knob = board(page).get_by_role("slider", name="the point")
    box = knob.bounding_box()
    assert box and box["width"] >= 24 and box["height"] >= 24, "room for a finger"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def drag(page: Page, knob: Locator, dx: float, dy: float, steps: int = 5) -> None:
    """Drag by so many of the card's own units."""
    zoom = page.evaluate("document.querySelector('.ffn-picture svg').getScreenCTM().a")
    box = knob.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx * zoom, y + dy * zoom, steps=steps)
    page.mouse.up()


def test_a_handle_follows_the_hand_in_both_directions(page: Page) -> None:
    drag(page, board(page).get_by_role("slider", name="the point"), 50, -50)
    says(page, "x is 1, y is 10,")
    drag(page, board(page).get_by_role("slider", name="the point"), -900, 900)
    says(page, "x is -2, y is 0.01,")  # no further than its ends
    drag(page, board(page).get_by_role("slider", name="the direction"), -50, -50)
    says(page, "the angle is 90")
    page.mouse.move(10, 10)
    assert at(page)["angle"] == 2, "nothing follows a hand that has let go"


def test_a_handle_goes_once_round_a_circle(page: Page) -> None:
    knob = board(page).get_by_role("slider", name="the direction")
    drag(page, knob, -20, 30)
    says(page, "the angle is 315")
    drag(page, knob, 0, 10)
    says(page, "the angle is 0")  # and not 315 again, though 349 is a number near it


def test_a_handle_stays_under_the_hand_on_an_uneven_way(page: Page) -> None:
    knob = board(page).get_by_role("slider", name="the uneven way")
    drag(page, knob, 50, 0)
    says(page, "the way is at 0.5")
    drag(page, knob, 60, 0)
    says(page, "the way is at 1.5")
    knob.focus()
    page.keyboard.press("ArrowLeft")
    says(page, "the way is at 1.")


def test_a_handle_moves_with_the_arrow_keys(page: Page) -> None:
    knob = board(page).get_by_role("slider", name="the point")
    knob.focus()
    page.keyboard.press("ArrowRight")
    says(page, "x is 0.5, y is 1,")
    page.keyboard.press("ArrowUp")
    says(page, "x is 0.5, y is 10,")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    says(page, "x is 0.5, y is 0.1,")
    expect(knob).to_have_attribute("aria-valuenow", "5")
    expect(knob).to_have_attribute("aria-valuetext", "0.5 and 0.1")


def test_no_key_or_focus_is_left_to_jupyterlab(page: Page) -> None:
    page.evaluate("window.leaked = []; document.addEventListener('keydown', (e) => window.leaked.push(e.key))")
    board(page).get_by_role("slider", name="the point").focus()
    page.keyboard.press("ArrowRight")
    board(page).get_by_role("button", name="choose one").focus()
    page.keyboard.press("Enter")
    says(page, "chosen is one")
    assert page.evaluate("window.leaked") == []
    for element in page.locator(".ffn-board").locator("input, select, button, [tabindex]").all():
        expect(element).to_have_attribute("data-lm-suppress-shortcuts", "true")


def test_pictures_between_are_left_out_when_the_hand_is_quicker(page: Page) -> None:
    page.evaluate("window.slow = 1500")
    drag(page, board(page).get_by_role("slider", name="the point"), 100, 0, steps=40)
    says(page, "x is 2,")
    count = page.evaluate("window.asked.length")
    assert 2 <= count <= 3, "the first, and the last that was wanted"


def test_play_shows_every_step_and_can_be_stopped(page: Page) -> None:
    page.evaluate("""() => { window.seen = [];
      new MutationObserver(() => window.seen.push(+document.querySelector('figcaption').textContent.match(/angle is (\\d+)/)[1]))
        .observe(document.querySelector('.ffn-picture'), { childList: true }) }""")
    board(page).get_by_role("button", name="play: angle").click()
    says(page, "the angle is 315")
    assert page.evaluate("window.seen") == [45, 90, 135, 180, 225, 270, 315]
    button = board(page).get_by_role("button", name="play: angle")
    button.click()  # begins anew
    board(page).get_by_role("button", name="pause: angle").click()
    index = at(page)["angle"]
    page.wait_for_timeout(200)
    assert at(page)["angle"] == index < 7


def test_a_kernel_that_does_not_answer_is_told_within_two_seconds_above_the_picture(page: Page) -> None:
    note, picture = board(page).locator(".ffn-note"), board(page).locator(".ffn-picture")
    place = picture.bounding_box()
    page.evaluate("window.slow = 4000")
    board(page).get_by_role("button", name="choose one").click()
    expect(note).to_contain_text("Python does not answer. If it is busy, the picture follows", timeout=2000)
    says(page, "chosen is none")
    expect(picture).to_have_css("filter", "grayscale(1) opacity(0.45)")
    note_box = note.bounding_box()
    assert place == picture.bounding_box(), "the picture moved under the hand"
    assert note_box and place and place["y"] <= note_box["y"] <= place["y"] + 10
    says(page, "chosen is one")
    expect(note).to_be_empty()
    expect(picture).to_have_css("filter", "none")
    page.evaluate("window.dead = true")
    for n in range(9):  # a hand that goes on does not put it off
        board(page).get_by_label("x", exact=True).fill(str(n % 3))
        page.wait_for_timeout(200)
    assert "If the kernel was restarted or shut down, run this cell again." in note.inner_text()
    says(page, "chosen is one")


def test_a_live_board_hides_its_still_alone(page: Page) -> None:
    page.evaluate("""() => { for (const name of ["a", "b"]) document.body.insertAdjacentHTML("afterbegin", `<p data-still="${name}">${name}</p>`);
      const model = { ...window.models[0], get: (name) => (name === "still" ? "a" : window.models[0].get(name)) };
      return import("/figure_widget.js").then((board) => board.default.render({ model, el: document.querySelector(".board") })) }""")
    expect(page.locator("[data-still=a]")).to_be_hidden()
    expect(page.locator("[data-still=b]")).to_be_visible()


def test_a_figure_that_raises_says_so_and_goes_on(page: Page) -> None:
    board(page).get_by_label("chosen", exact=True).select_option(FAR)
    expect(board(page).get_by_role("alert")).to_contain_text("This figure could not be drawn: there is no such plane")
    board(page).get_by_label("chosen", exact=True).select_option("one")
    says(page, "chosen is one")


# Texts that lie on one another, and words of a button that do not fit it, by figure. The widths of words are known to a browser alone.
OVERPRINTS = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const place = (element) => element.getBoundingClientRect();
  const wrong = [], words = [...svg.querySelectorAll("text")].filter((one) => one.textContent.trim()).map((one) => [one.textContent, place(one)]);
  words.forEach(([one, a], n) => words.slice(n + 1).forEach(([other, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 2 && down > 5) wrong.push(`${svg.parentElement.id}: ${one} on ${other}`);
  }));
  for (const button of svg.querySelectorAll("[data-sets]")) {
    const [box, word, ...more] = button.querySelectorAll("rect, text");
    if (box?.tagName === "rect" && word?.tagName === "text" && !more.length && place(word).width > place(box).width - 6)
      wrong.push(`${svg.parentElement.id}: ${word.textContent} fills its button`);
  }
  return wrong;
})"""


def test_no_words_of_a_figure_lie_on_others(chromium: Browser) -> None:
    thorough = (anatomy.block, capstone.block, feed_forward.folded)
    pictures = {
        f"{name_of(draw)}{parameters}": draw(*parameters).svg
        for draw, parameter_sets in PARAMETERS.items()
        for parameters in ((), *(parameter_sets if draw in thorough else ()))
    }
    page = chromium.new_page()
    page.set_content("".join(f'<div style="width:720px" id="{name}">{svg}</div>' for name, svg in pictures.items()))
    assert page.evaluate(OVERPRINTS) == []
    page.close()
