"""The course in real JupyterLab and Chromium: figures move under sliders, a wrong answer is named, a right one is earned, Validate works."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("playwright", reason="playwright is not installed")

from conftest import needs_chromium, often
from lab import CURRENT, IDLE, PATIENCE, RED, Lab, browser, keep_picture, server, taken_picture
from playwright.sync_api import Locator

from autograder.authoring.build import solution_answer
from autograder.paths import assignments, release
from ffnlab.registry import active_course

pytestmark = [needs_chromium, pytest.mark.slow]
ROOT = Path(__file__).resolve().parent.parent
START, FFN = "00_start_here", "02_feed_forward"
WRONG = "def ffn_forward(x, W1, b1, W2, b2, act):\n    return act((x @ W1 + b1) @ W2 + b2)"


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Lab]]:
    """Opens a notebook as a student gets it and runs it from top to bottom; each one once."""
    home = tmp_path_factory.mktemp("home")
    course = home / "course"
    leave = shutil.ignore_patterns(
        ".venv", "__pycache__", "*.egg-info", ".progress.json*", ".predictions.json*", ".ipynb_checkpoints"
    )
    shutil.copytree(ROOT / "course", course, ignore=leave)
    labs: dict[str, Lab] = {}
    with server(course, home) as address, browser() as chromium:

        def open_notebook(name: str) -> Lab:
            if name not in labs:
                for other in labs.values():
                    other.page.close()
                labs.clear()
                lab = Lab(chromium.new_page(viewport={"width": 1280, "height": 900}), course)
                lab.open(f"{name}/{name}.ipynb", address)
                lab.command("application:toggle-left-area")
                lab.errors = lab.run_all()
                labs[name] = lab
            return labs[name]

        yield open_notebook


@pytest.fixture
def lab(jupyter: Callable[[str], Lab]) -> Lab:
    """Notebook 02."""
    return jupyter(FFN)


def figures() -> list[tuple[str, str]]:
    """The cells of all notebooks that show a figure under controls: notebook and grade_id."""
    return [
        (name, cell["metadata"]["nbgrader"]["grade_id"])
        for name in assignments()
        for cell in json.loads(release(name).read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code" and "controls.show(" in "".join(cell["source"])
    ]


@pytest.mark.parametrize("name", often(assignments(), [START, FFN]))
def test_the_untouched_notebook_runs_from_top_to_bottom(jupyter: Callable[[str], Lab], name: str) -> None:
    lab = jupyter(name)
    assert lab.errors == []
    assert lab.page.evaluate(RED) == [], "red before anything is solved"
    first = next(exercise.name for exercise in active_course().exercises_of(name))
    assert "not attempted" in lab.cell(f"check-{first}").locator(".jp-Cell-outputArea").inner_text()


def solve_what_it_shows(lab: Lab, grade_id: str) -> Locator:
    """The cell of a figure; where it shows what the student's code does, that is written first, as the figure asks."""
    cell = lab.cell(grade_id)
    cell.locator(".ffn-picture figure").first.wait_for(timeout=PATIENCE)
    waiting = re.search(r"lights up when .*: solve (\w+) first", cell.locator(".ffn-picture").first.inner_text())
    if waiting:
        lab.write(waiting[1], solution_answer(waiting[1]).source)
        lab.run(waiting[1])
        lab.run(grade_id)
        cell = lab.cell(grade_id)
    cell.locator(".ffn-picture svg, .ffn-picture img").first.wait_for(timeout=PATIENCE)
    return cell


@pytest.mark.parametrize(
    ("name", "grade_id"), often(figures(), [figure for figure in figures() if figure[0] in (START, FFN)])
)
def test_each_control_changes_the_picture_and_the_sentence(
    jupyter: Callable[[str], Lab], name: str, grade_id: str
) -> None:
    lab = jupyter(name)
    cell = solve_what_it_shows(lab, grade_id)
    lab.picture(f"{name}_{grade_id}")
    count = 0
    for control in cell.locator(".ffn-controls input[type=range]").all():
        count += _moves(lab, cell, control, "slider")
    for control in cell.locator(".ffn-controls select").all():
        count += _moves(lab, cell, control, "select")
    for control in cell.locator(".ffn-controls input[type=checkbox]").all():
        count += _moves(lab, cell, control, "toggle")
    for kind in ("sets", "drags"):
        if cell.locator(f".ffn-picture [data-{kind}]").count():
            count += _moves(lab, cell, cell.locator(f".ffn-picture [data-{kind}]"), kind)
    assert count, f"{grade_id} has nothing that could be moved"
    lab.picture(f"{name}_{grade_id}_moved")


def _moves(lab: Lab, cell: Locator, control: Locator, kind: str) -> int:
    """Moves a control, or a mark of the picture, with the keyboard."""
    before = _read_figure(cell)
    if kind in ("slider", "drags"):
        for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):  # it may stand at an end
            control.first.focus()
            lab.page.keyboard.press(key)
            if _changes(cell, before, 400):
                break
    elif kind == "sets":
        control.and_(lab.page.locator("[aria-pressed=false]")).first.focus()
        lab.page.keyboard.press("Enter")
    elif kind == "select":
        count = control.locator("option").count()
        index = control.evaluate("s => s.selectedIndex")
        control.select_option(index=(index + 1) % count)
    else:
        control.click()
    _changes(cell, before, PATIENCE // 4)
    after = _read_figure(cell)
    assert after[0] != before[0], f"the picture did not change with a {kind}"
    assert after[1] != before[1], f"the sentence did not change with a {kind}"
    return 1


def _changes(cell: Locator, before: tuple[str, str], milliseconds: int) -> bool:
    """Whether picture and sentence become others than they were `before`, in that time."""
    for _ in range(0, milliseconds, 20):
        if all(now != then for now, then in zip(_read_figure(cell), before, strict=True)):
            return True
        cell.page.wait_for_timeout(20)
    return False


def _read_figure(cell: Locator) -> tuple[str, str]:
    """A figure's picture and its sentence, as the page holds them."""
    html = cell.locator(".ffn-picture").first
    picture = html.locator("svg, img").first.evaluate("e => e.outerHTML")
    return picture, html.locator("figcaption").inner_text()


def test_a_wrong_answer_is_named_and_a_right_one_is_earned(lab: Lab) -> None:
    lab.write("ffn_forward", WRONG)
    lab.run("ffn_forward")
    output = lab.run("check-ffn_forward")
    assert "not yet" in output and "What is wrong" in output and "activation" in output.lower()
    lab.cell("check-ffn_forward")
    lab.page.wait_for_timeout(500)
    lab.picture("named_mistake")
    source = solution_answer("ffn_forward").source
    lab.write("ffn_forward", source)
    lab.run("ffn_forward")
    output = lab.run("check-ffn_forward")
    assert "earned, 4 of 4 points" in output
    lab.picture("earned")
    progress = json.loads((lab.folder / ".progress.json").read_text(encoding="utf-8"))
    assert progress["ffn_forward"] == {"outcome": "earned", "points": 4.0}


def test_a_prediction_is_clicked_and_then_explained(lab: Lab) -> None:
    cell = lab.cell("predict-nothing-in")
    guess = cell.locator(".ffnlab-guess")
    guess.wait_for(timeout=PATIENCE)
    assert "numbers of their own" not in cell.inner_text(), "the answer stood in sight before the guess"
    guess.get_by_role("button", name="fairly sure").click()
    guess.get_by_role("button", name="nothing, 0 and 0").click()
    guess.get_by_text("You said “nothing, 0 and 0”; it is").wait_for(timeout=PATIENCE)
    assert "numbers of their own" in cell.inner_text()
    assert guess.get_by_role("button").first.is_disabled()
    lab.picture("prediction_clicked")
    assert _read_guess(lab, "nothing_in") == {"guess": "nothing, 0 and 0", "right": False, "sure": 2}
    lab.run("predict-nothing-in")
    lab.cell("predict-nothing-in").get_by_text("You said “nothing, 0 and 0”; it is").wait_for(timeout=PATIENCE)


def test_a_prediction_is_made_with_the_keyboard_alone(lab: Lab) -> None:
    cell = lab.cell("predict-flat-pieces")
    guess = cell.locator(".ffnlab-guess")
    guess.wait_for(timeout=PATIENCE)
    guess.get_by_role("button").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):  # in JupyterLab these would go to other cells
        lab.page.keyboard.press(key)
    assert lab.page.evaluate("document.activeElement.textContent") == "7"
    lab.page.keyboard.press("Enter")
    guess.get_by_text("You said “7”; it is").wait_for(timeout=PATIENCE)
    assert _read_guess(lab, "flat_pieces") == {"guess": "7", "right": False}


@pytest.mark.parametrize("name", [START])
def test_a_number_is_predicted_with_a_slider_and_the_arrow_keys(jupyter: Callable[[str], Lab], name: str) -> None:
    lab = jupyter(name)
    guess = lab.cell("predict-gpt3-ffn-share").locator(".ffnlab-guess")
    guess.wait_for(timeout=PATIENCE)
    slider = guess.get_by_role("slider")
    slider.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp"):
        lab.page.keyboard.press(key)
    assert slider.input_value() == "52" and guess.locator("output").inner_text() == "52 %"
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Enter")
    guess.get_by_text("You said 52 %; it is 66 %.").wait_for(timeout=PATIENCE)
    lab.picture("prediction_slider")
    assert _read_guess(lab, "gpt3_ffn_share") == {"guess": 52, "right": False}


def _read_guess(lab: Lab, name: str) -> object:
    """What is kept of a guess, once the kernel has written it."""
    file = lab.folder / ".predictions.json"
    for _ in range(100):
        if file.is_file() and name in (guesses := json.loads(file.read_text(encoding="utf-8"))):
            return guesses[name]
        lab.page.wait_for_timeout(100)
    raise AssertionError(f"the guess of {name} was not kept")


def test_a_restarted_kernel_is_told_within_two_seconds(lab: Lab) -> None:
    cell = lab.cell("by-hand")
    lab.page.evaluate(f"() => {CURRENT}.sessionContext.session.kernel.restart().then(() => null)")
    lab.page.wait_for_function(IDLE, timeout=PATIENCE)
    slider = cell.get_by_role("slider", name="cold").first
    before = slider.input_value()
    picture = cell.locator(".ffn-picture svg").inner_html()
    for key in ("ArrowRight", "ArrowLeft"):  # it may stand at an end
        slider.press(key)
        if slider.input_value() != before:
            break
    assert slider.input_value() != before, "the slider does not move"
    cell.get_by_text("If the kernel was restarted or shut down, run this cell again.").wait_for()
    patience = re.search(
        r"PATIENCE = (\d+)", (ROOT / "course" / "ffnlab" / "drawing" / "figure_widget.js").read_text(encoding="utf-8")
    )
    assert patience and int(patience[1]) <= 2000, "milliseconds, by the page's own clock"
    cell.get_by_text("so this is a stored picture").wait_for()
    assert cell.locator(".ffn-picture svg").inner_html() != picture, "the picture follows the slider without Python"
    assert cell.locator(".ffn-missed").count() == 0
    lab.picture("kernel_restarted")


def test_nbgraders_validate_button_answers(lab: Lab) -> None:
    lab.command("docmanager:save")
    button = lab.page.get_by_role("button", name="Validate")
    button.wait_for(timeout=PATIENCE)
    lab.page.wait_for_timeout(1000)
    button.click()
    dialog = lab.page.locator(".jp-Dialog")
    dialog.wait_for(timeout=2 * PATIENCE)
    text = dialog.inner_text()
    lab.picture("validate")
    assert "failed" in text.lower() or "passed" in text.lower() or "success" in text.lower(), text
    assert "error" not in text.lower().split("\n")[0], text
    lab.page.keyboard.press("Escape")
    lab.page.locator(".jp-Dialog").wait_for(state="detached", timeout=PATIENCE)


@pytest.mark.sweep
def test_a_saved_notebook_shows_its_pictures_when_it_is_opened_again(lab: Lab) -> None:
    lab.command("notebook:clear-all-cell-outputs")
    lab.page.wait_for_function("() => !document.querySelector('.ffn-live')", timeout=PATIENCE)
    assert lab.run_all() == []
    assert not lab.page.locator(".ffn-still").filter(visible=True).count()
    live = [pixels(picture) for picture in lab.page.locator(".ffn-picture figure > *:first-child").all()]
    guess_count = lab.page.locator(".ffnlab-guess").count()
    lab.page.evaluate(
        f"() => {CURRENT}.context.save().then(() => {CURRENT}.sessionContext.shutdown()).then(() => null)"
    )
    chromium, cookies = lab.page.context.browser, lab.page.context.storage_state()
    assert chromium
    page = chromium.new_page(viewport={"width": 1280, "height": 900}, storage_state=cookies)
    page.goto(f"{lab.page.url.partition('/lab')[0]}/lab/tree/{FFN}/{FFN}.ipynb")
    page.locator(".ffn-still").last.wait_for(state="attached", timeout=PATIENCE)
    page.wait_for_function(IDLE, timeout=PATIENCE)
    page.wait_for_timeout(2000)  # until the widgets' manager has found that it has none of them
    assert "Error displaying widget" not in page.locator("body").inner_text()
    for figure in page.locator(".ffn-still:has(figure)").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".ffn-board").wait_for(timeout=10_000)
    stills = [pixels(picture) for picture in page.locator(".ffn-still figure > *:first-child").all()]
    assert len(stills) == len(live)
    for number, (still, before) in enumerate(zip(stills, live, strict=True)):
        assert abs(still.mean() - before.mean()) < 2 and still.std() > 20, number
    assert page.get_by_text("Open this when you have made your guess").filter(visible=True).count() == guess_count
    sliders = page.locator(".ffn-still .ffn-control input[type=range]").all()
    assert len(sliders) >= 2
    for slider in sliders:  # without Python: no cell has been run
        picture = slider.locator("xpath=ancestor::*[contains(@class, 'ffn-board')]").locator(".ffn-picture svg").first
        before = pixels(picture)
        slider.press("End" if slider.evaluate("slider => slider.value !== slider.max") else "Home")
        page.wait_for_timeout(300)
        assert np.abs(pixels(picture) - before).max() > 50
    keep_picture(page, "opened_again")
    page.close()


def pixels(picture: Locator) -> np.ndarray:
    """A picture in grey, as it is on the screen."""
    picture.scroll_into_view_if_needed()
    return np.asarray(Image.open(io.BytesIO(taken_picture(picture))).convert("L"), dtype=float)
