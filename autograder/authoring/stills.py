"""The still pictures of boards: what is seen of a board where no script runs. Each is drawn by the board itself, in Chromium, and kept as SVG."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autograder.errors import UserError
from ffnlab import boards
from ffnlab.boards import Board
from ffnlab.course.boards.catalogue import BOARDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTH = 720  # CSS pixels
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
# The board as it is, for an image: what a control shows as text or attributes, no goals, and nothing that only a script needs.
STILL = """(css) => {
  const board = document.querySelector(".ffp");
  const { width, height } = board.getBoundingClientRect();
  const copy = board.cloneNode(true);
  const selects = board.querySelectorAll("select");
  copy.querySelectorAll("select").forEach((select, n) => {
    const shown = document.createElement("span");
    shown.className = select.className;
    shown.textContent = selects[n].value;
    select.replaceWith(shown);
  });
  const inputs = board.querySelectorAll("input");
  copy.querySelectorAll("input").forEach((input, n) => {
    input.setAttribute("value", inputs[n].value);
    input.toggleAttribute("checked", inputs[n].checked);
  });
  copy.querySelectorAll(".ffp-aloud, .ffp-note, .ffp-foot, .ffp-flag").forEach((part) => part.remove());
  copy.classList.add("ffp-still");
  copy.style.margin = "0";
  const text = new XMLSerializer().serializeToString(copy);
  const size = `width="${Math.ceil(width)}" height="${Math.ceil(height)}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}">` +
    `<foreignObject width="100%" height="100%"><style xmlns="http://www.w3.org/1999/xhtml"><![CDATA[${css}]]></style>${text}</foreignObject></svg>\\n`;
}"""


def draw(board: Board, browser: Browser) -> str:
    """The still of a board, as SVG."""
    page = browser.new_page(viewport={"width": WIDTH + 40, "height": 900}, reduced_motion="reduce")
    page.set_content(f"<!doctype html><html><body>{boards.html(board, state=board.still_state)}</body></html>")
    page.locator("section.ffp").wait_for()
    svg: str = page.evaluate(STILL, boards.css(board.module))
    page.close()
    return svg


def write(names: list[str]) -> list[str]:
    """Draw stills and keep them; returns the names of those that have changed. Without names, all.

    Raises:
        UserError: there is no such board, or no Chromium.
    """
    unknown = [name for name in names if name not in BOARDS]
    if unknown:
        raise UserError(f"there is no board called {unknown[0]!r}; there are {', '.join(BOARDS)}")
    changed = []
    with _browser() as browser:
        for name in names or BOARDS:
            board = BOARDS[name]()
            if not (file := board.still):
                continue
            svg = draw(board, browser)
            if not file.is_file() or file.read_text(encoding="utf-8") != svg:
                file.write_text(svg, encoding="utf-8")
                changed.append(name)
    return changed


@contextmanager
def _browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise UserError("stills are drawn with Playwright, which is not installed: `make setup`") from None
    chromium = shutil.which("chromium")
    if not chromium:
        raise UserError("stills are drawn with Chromium, and the command `chromium` is not here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()
