"""No output of a notebook has a scrollbar that scrolls by a pixel: measured in JupyterLab, with scrollbars that take room."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from conftest import needs_chromium, often
from lab import CURRENT, PATIENCE, Lab, browser, server
from playwright.sync_api import Browser

from autograder.paths import assignments

pytestmark = [needs_chromium, pytest.mark.slow]
ROOT = Path(__file__).resolve().parent.parent
START, FFN = "00_start_here", "02_feed_forward"
WIDTHS = (1280, 390)  # pixels: a laptop's window, a phone
# The outputs with a figure or a board, by grade_id: how high they are, and how far they scroll. JupyterLab gives each of them `overflow: auto`.
OUTPUTS = """(cell) => [...cell.querySelectorAll(".jp-OutputArea-output")]
  .map((part) => [part.clientHeight, part.scrollHeight, part.offsetWidth - part.clientWidth])"""
NAMES = f"""() => {CURRENT}.content.widgets.filter((cell) => /controls\\.show\\(|play\\(|predict\\(/.test(cell.model.sharedModel.getSource()))
  .map((cell) => cell.model.getMetadata("nbgrader").grade_id)"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Browser]]:
    """The address of JupyterLab on a copy of the course, the copy, and a browser with scrollbars."""
    home = tmp_path_factory.mktemp("home")
    leave = shutil.ignore_patterns(
        ".venv", "__pycache__", "*.egg-info", ".progress.json*", ".predictions.json*", ".boards*"
    )
    shutil.copytree(ROOT / "course", home / "course", ignore=leave)
    with server(home / "course", home) as address, browser(has_scrollbars=True) as chromium:
        yield address, home / "course", chromium


@pytest.mark.parametrize("name", often(assignments(), [START, FFN]))
def test_no_figure_board_or_guess_has_a_scrollbar_of_a_pixel(place: tuple[str, Path, Browser], name: str) -> None:
    address, course, chromium = place
    lab = Lab(chromium.new_page(viewport={"width": WIDTHS[0], "height": 900}), course)
    lab.open(f"{name}/{name}.ipynb", address)
    lab.command("application:toggle-left-area")
    assert lab.run_all() == []
    grade_ids = lab.page.evaluate(NAMES)
    assert grade_ids
    scrolling = []
    for width in WIDTHS:
        lab.page.set_viewport_size({"width": width, "height": 900})
        for grade_id in grade_ids:
            cell = lab.cell(grade_id)
            cell.locator(".jp-OutputArea-output").first.wait_for(state="attached", timeout=PATIENCE)
            lab.page.wait_for_timeout(200)  # until what is laid out by its width has been laid out
            for height, scroll, bar in cell.evaluate(OUTPUTS):
                if scroll - height > 0 or bar:
                    scrolling.append((width, grade_id, height, scroll, bar))
    lab.page.close()
    assert scrolling == []
