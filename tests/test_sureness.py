"""How sure one is of a guess: said or not, kept beside it, and drawn by `progress()` when there is enough of it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import needs_chromium
from lab import browser, taken_picture
from PIL import Image
from playwright.sync_api import Browser, Page

from ffnlab.checking import calibration, record
from ffnlab.checking.record import SURE
from ffnlab.drawing import style
from ffnlab.prediction import prediction_widget
from ffnlab.registry import active_course

NAMES = list(active_course().predictions)
OF_WORDS, OF_A_NUMBER = "flat_pieces", "rows_alike"
SCRIPT = Path(prediction_widget.__file__).with_name("prediction_widget.js").as_posix()


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course's folder, worked in from notebook 02."""
    (tmp_path / "02_feed_forward").mkdir()
    monkeypatch.chdir(tmp_path / "02_feed_forward")
    return tmp_path


def read_guesses(course: Path) -> Any:
    return json.loads((course / record.GUESSES).read_text(encoding="utf-8"))


def arrive(name: str, guess: str | float, **state: int) -> Any:
    """A guess as a browser sends it: what is said with it comes in one message."""
    widget = prediction_widget._widget()(name, active_course().prediction(name))
    widget.set_state({**state, "guess": guess})
    return widget


# The record


def test_what_is_said_with_a_guess_is_kept_beside_it_and_is_there_when_the_cell_runs_again(course: Path) -> None:
    arrive("flat_pieces", "4", sure=3)
    arrive("nothing_in", "into", sure=0)
    assert read_guesses(course) == {
        "flat_pieces": {"guess": "4", "right": True, "sure": 3},
        "nothing_in": {"guess": "into", "right": False},
    }
    again = prediction_widget._widget()("flat_pieces", active_course().prediction("flat_pieces"))
    assert (again.guess, again.sure) == ("4", 3)
    record.save_guess("flat_pieces", "7", False, 1)
    assert record.read_sure("flat_pieces") == 3, "the first guess is the one that counts"
    assert record.read_sure("nothing_in") == record.read_sure("rows_alike") == 0


@pytest.mark.parametrize("sure", [None, "certain", True, 0, 4, -1, [1], 1.5, "no entry"])
def test_records_without_it_or_with_something_else_are_read(sure: Any, course: Path) -> None:
    entry = {"guess": "4", "right": True} | ({} if sure == "no entry" else {"sure": sure})
    (course / record.GUESSES).write_text(json.dumps({"flat_pieces": entry}), encoding="utf-8")
    assert record.read_guess("flat_pieces") == "4" and record.read_sure("flat_pieces") == 0
    assert record.count_right_guesses() == (1, 1) and record.count_by_sureness() == [(0, 0)] * 3
    assert prediction_widget._widget()("flat_pieces", active_course().prediction("flat_pieces")).sure == 0


@pytest.mark.parametrize("sure", [-1, 4, 100])
def test_a_step_that_there_is_not_is_not_kept(sure: int, course: Path) -> None:
    record.save_guess("flat_pieces", "4", True, sure)
    assert read_guesses(course) == {"flat_pieces": {"guess": "4", "right": True}}


@pytest.mark.parametrize("variable", [("FFNLAB_STRICT", "1"), ("NBGRADER_EXECUTION", "autograde")], ids=lambda v: v[0])
def test_where_a_notebook_is_tested_or_graded_nothing_is_written(
    variable: tuple[str, str], course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*variable)
    arrive("flat_pieces", "4", sure=3)
    assert not (course / record.GUESSES).exists() and record.read_guess("flat_pieces") is None


# The picture


def display_progress(monkeypatch: pytest.MonkeyPatch) -> Any:
    panels: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(record, "display", panels.append)
        record.progress()
    return panels[-1]


def test_progress_draws_it_when_there_are_enough_guesses(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES[: record.MIN_GUESSES - 1]:
        record.save_guess(name, "a guess", True, 3)
    for name in NAMES[20:30]:
        record.save_guess(name, "a guess", False)  # says nothing of it
    record.save_guess("of_an_earlier_edition", "a guess", True, 3)
    assert "How sure you were" not in display_progress(monkeypatch).text
    record.save_guess(NAMES[record.MIN_GUESSES], "a guess", False, 1)
    panel = display_progress(monkeypatch)
    sentence = (
        "How sure you were, and how often you were right. When you were certain, you were right 7 of 7 times. "
        "When it was just a hunch, you were right 0 of 1 time."
    )
    assert (
        panel.text.endswith(f"\n{sentence}")
        and f'alt="{calibration.picture(SURE, [(0, 1), (0, 0), (7, 7)]).title}' in panel.html
    )


def test_the_picture_has_a_dot_for_each_guess_filled_where_it_was_right() -> None:
    picture = calibration.picture(SURE, [(1, 4), (30, 60), (7, 9)])
    assert picture.svg.count("<circle") == 4 + 60 + 9
    assert picture.svg.count(f'fill="{style.CHOSEN}"') == 1 + 30 + 7
    assert picture.sentence == (
        "When you were certain, you were right 7 of 9 times. When you were fairly sure, you were right 30 of 60 times. "
        "When it was just a hunch, you were right 1 of 4 times."
    )
    assert "none yet" in calibration.picture(SURE, [(0, 0), (1, 1), (0, 2)]).svg


@pytest.mark.parametrize("counts", [[], [(0, 0)] * 3, [(2, 1), (0, 0), (0, 0)], [(1, 1)] * 4])
def test_what_cannot_be_drawn_is_refused(counts: Any) -> None:
    with pytest.raises(ValueError, match="pairs of right guesses"):
        calibration.picture(SURE, counts)


# In a browser

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>guess</title>
<style>SHEET</style><body data-jp-theme-light="LIGHT" style="margin:8px"><div id="here"></div><script type="module">
import guess from "/prediction_widget.js";
window.sent = [];
const data = DATA;
const model = { get: (name) => data[name], set: (name, value) => (data[name] = value), on() {}, off() {},
  save_changes() { window.sent.push({ guess: data.guess, sure: data.sure }); } };
guess.render({ model, el: document.getElementById("here") });
</script></body></html>"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as instance:
        yield instance


def open_page(chromium: Browser, name: str = OF_WORDS, light: bool = True, width: int = 760, **data: Any) -> Page:
    """A page with one question, and nothing that keeps a guess but a list."""
    question = (
        prediction_widget.as_json(active_course().prediction(name)) | {"name": name, "guess": None, "sure": 0} | data
    )
    sheet = style.dark_sheet().replace("<style>", "").replace("</style>", "")
    html = PAGE.replace("SHEET", sheet).replace("LIGHT", str(light).lower()).replace("DATA", json.dumps(question))
    page = chromium.new_page(viewport={"width": width, "height": 700})
    page.set_default_timeout(10_000)
    page.route("http://guess.test/**", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.route("http://guess.test/prediction_widget.js", lambda route: route.fulfill(path=SCRIPT))
    page.goto("http://guess.test/")
    page.get_by_role("group", name="Your prediction").wait_for()
    return page


def read_messages(page: Page) -> Any:
    return page.evaluate("window.sent")


@needs_chromium
def test_without_it_a_guess_is_one_click_and_one_key_as_before(chromium: Browser) -> None:
    page = open_page(chromium)
    page.get_by_role("button", name="4").click()
    assert read_messages(page) == [{"guess": "4", "sure": 0}]
    assert "How sure" not in page.inner_text("body")
    page.close()
    page = open_page(chromium)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert len(read_messages(page)) == 1, "the first stop of the keyboard is the first option"
    page.close()


@needs_chromium
@pytest.mark.parametrize("number", range(3), ids=SURE)
def test_with_it_a_guess_is_one_click_more(number: int, chromium: Browser) -> None:
    page = open_page(chromium)
    step = page.get_by_role("button", name=SURE[number])
    step.click()
    assert read_messages(page) == [] and step.get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="4").click()
    assert read_messages(page) == [{"guess": "4", "sure": number + 1}]
    assert f"How sure you were: {SURE[number]}." in page.inner_text(".said")
    assert not step.is_visible(), "afterwards nobody is asked how sure they were"
    page.close()


@needs_chromium
def test_what_was_said_can_be_changed_and_taken_back_before_the_guess(chromium: Browser) -> None:
    page = open_page(chromium)
    for words in ("certain", "just a hunch", "just a hunch"):
        page.get_by_role("button", name=words).click()
    assert page.locator('[aria-pressed="true"]').count() == 0
    page.get_by_role("button", name="4").click()
    assert read_messages(page) == [{"guess": "4", "sure": 0}]
    page.close()


@needs_chromium
def test_it_is_said_with_the_keyboard_alone_and_of_a_number_too(chromium: Browser) -> None:
    page = open_page(chromium, OF_A_NUMBER)
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="just a hunch").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "Space"):
        page.keyboard.press(key)
    assert page.locator('[aria-pressed="true"]').inner_text() == "fairly sure"
    page.get_by_role("button", name="This is my guess").focus()
    page.keyboard.press("Enter")
    assert [message["sure"] for message in read_messages(page)] == [2]
    page.close()


@needs_chromium
def test_a_kept_guess_says_how_sure_one_was(chromium: Browser) -> None:
    page = open_page(chromium, guess="4", sure=3)
    assert page.inner_text(".said").endswith("How sure you were: certain.")
    page.close()


def _brightness(colour: Any) -> float:
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return float(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])


@needs_chromium
@pytest.mark.parametrize("light", [True, False], ids=["light", "dark"])
@pytest.mark.parametrize("width", [760, 390])
def test_it_is_readable_in_the_dark_and_on_a_phone(width: int, light: bool, chromium: Browser) -> None:
    page = open_page(chromium, light=light, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="certain").click()
    for words in SURE:
        button = page.get_by_role("button", name=words)
        box = button.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] >= 20
        picture = Image.open(io.BytesIO(taken_picture(button))).convert("RGB")
        levels = sorted(_brightness(colour) for _, colour in picture.getcolors(2**20) or [])
        assert (levels[-1] + 0.05) / (levels[0] + 0.05) > 4.5, "words against their ground"
    page.close()
