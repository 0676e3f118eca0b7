"""The still pictures of boards: what is seen of a board where no script runs. Each is drawn by the board itself, in Chromium, and kept as SVG. And the
pictures of the README and of the site's preview, made from the same board and from a check's own panel, so that they can't show an older one.

The boards are those that the course has in its module `boards.catalogue`; a course need not have any. `stills.json`, which another course has beside its
keys, holds by picture the hash of all that it was drawn from, so that a picture older than its board is found without a browser.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import UserError
from autograder.files import replace
from ffnlab import boards
from ffnlab.boards import Board
from ffnlab.registry import DEFAULT, active_course

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTH = 720  # CSS pixels
SOURCE_HASHES = Path(__file__).with_suffix(".json")
PROMISE = "The other half of the Transformer"  # the title of the site's front page
PREVIEW_BOARD = "creek_switch"  # the board of the front page
PREVIEW_FILE = Path(__file__).parents[1] / "site" / "static" / "preview.png"
PREVIEW_SIZE = (1200, 630)  # CSS pixels: what those who show links ask for
PREVIEW = """<!doctype html><html><body style="margin: 0; padding: 32px 114px; background: #fff; font-family: system-ui, sans-serif">
<h1 style="margin: 0 0 20px; font-size: 50px; line-height: 1.1; letter-spacing: -0.015em; white-space: nowrap">
{title}</h1><div style="zoom: 1.35">{board}</div></body></html>"""
README = Path(__file__).parents[2] / "docs" / "pictures"
README_BOARD = "creek_switch"
README_WIDTH = 720  # CSS pixels, of which each has two in the picture
# A notebook, an exercise, and one of its known mistakes.
README_ANSWER = ("02_feed_forward", "ffn_forward", "activation_after_second_product")
PAGE = """<!doctype html><html><body style="margin: 0; padding: 1px; background: #fff; font-family: system-ui, sans-serif">{}</body></html>"""
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


def boards_by_name() -> Mapping[str, Callable[[], Board]]:
    """What makes each board of the course, by the board's name."""
    course = active_course()
    if not (course.folder / "boards" / "catalogue.py").is_file():
        return {}
    catalogue: Mapping[str, Callable[[], Board]] = import_module(f"{course.package}.boards.catalogue").BOARDS
    return catalogue


def _record() -> Path:
    """The file with the hashes of all that was drawn."""
    course = active_course()
    return SOURCE_HASHES if course.package == DEFAULT else course.beside_keys(SOURCE_HASHES.name)


def draw(board: Board, browser: Browser) -> str:
    """The still of a board, as SVG."""
    page = browser.new_page(viewport={"width": WIDTH + 40, "height": 900}, reduced_motion="reduce")
    page.set_content(f"<!doctype html><html><body>{boards.html(board, state=board.still_state)}</body></html>")
    page.locator("section.ffp").wait_for()
    svg: str = page.evaluate(STILL, boards.css(board.module))
    page.close()
    return svg


def draw_preview(browser: Browser) -> bytes:
    """What a message with a link to the site shows: its promise over the board of the front page, as PNG."""
    page = browser.new_page(viewport={"width": PREVIEW_SIZE[0], "height": PREVIEW_SIZE[1]}, reduced_motion="reduce")
    page.set_content(PREVIEW.format(title=PROMISE, board=boards.html(boards_by_name()[PREVIEW_BOARD]())))
    page.locator("section.ffp").wait_for()
    picture = page.screenshot()
    page.close()
    return picture


def draw_board(browser: Browser) -> bytes:
    """The README's board, with its FFN switched off by a click, as PNG."""
    page = browser.new_page(
        viewport={"width": README_WIDTH, "height": 900}, reduced_motion="reduce", device_scale_factor=2
    )
    page.set_content(PAGE.format(boards.html(boards_by_name()[README_BOARD]())))
    board = page.locator("section.ffp")
    board.wait_for()
    page.get_by_role("switch").first.click()
    page.mouse.move(0, 0)
    picture = board.screenshot()
    page.close()
    return picture


def draw_panel(browser: Browser) -> bytes:
    """What a check says of the README's mistake, as PNG."""
    page = browser.new_page(viewport={"width": README_WIDTH, "height": 600}, device_scale_factor=2)
    page.set_content(PAGE.format(panel_html()))
    picture = page.locator(".ffnlab-panel").screenshot()
    page.close()
    return picture


def panel_html() -> str:
    """The panel of the README's mistake, as its student gets it."""
    from autograder import keys
    from ffnlab.checking import checks, panel, reference_files
    from ffnlab.observation.exercise import public_seed

    notebook, name, mistake = README_ANSWER
    key = next(key for key in keys.of_notebook(notebook) if key.exercise.name == name)
    answer = next(answer for answer in key.mistakes if answer.name == mistake)
    seeds = [public_seed(name, case) for case in range(key.exercise.cases)]
    verdict, _ = checks.examine(key.exercise, reference_files.load_public(name), answer.answer, seeds)
    return panel.of_verdict(verdict, more=checks.STUCK.format(name)).html


def hash_sources(board: Board) -> str:
    """A hash of all that the still of a board shows: its script and sheet, its data, and how it is drawn."""
    return _hash(
        boards.script(board.module), boards.css(board.module), WIDTH, STILL, board.spec(state=board.still_state)
    )


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _hash_preview_sources() -> str:
    return _hash(hash_sources(boards_by_name()[PREVIEW_BOARD]()), PREVIEW, PREVIEW_SIZE, PROMISE)


def find_outdated(files: Collection[Path] | None = None) -> list[str]:
    """The boards whose stills are not there or were drawn from something else; of those whose own script is among `files`, where some are given."""
    hashes = _read_source_hashes()
    return [
        name
        for name, board in _with_still().items()
        if (files is None or board.module.resolve() in files)
        and not (board.still and board.still.is_file() and hashes.get(name) == hash_sources(board))
    ]


@dataclass(frozen=True)
class _Picture:
    """A picture that is no board's own."""

    file: Path
    sources: str  # a hash of all that it is drawn from
    draw: Callable[[Browser], bytes]


def _pictures() -> list[_Picture]:
    if active_course().package != DEFAULT:
        return []
    board = hash_sources(boards_by_name()[README_BOARD]())
    return [
        _Picture(PREVIEW_FILE, _hash_preview_sources(), draw_preview),
        _Picture(README / "creek.png", _hash(board, PAGE, README_WIDTH), draw_board),
        _Picture(README / "named_mistake.png", _hash(panel_html(), PAGE, README_WIDTH), draw_panel),
    ]


def _outdated_pictures() -> list[_Picture]:
    hashes = _read_source_hashes()
    return [
        picture
        for picture in _pictures()
        if not picture.file.is_file() or hashes.get(picture.file.name) != picture.sources
    ]


def _with_still() -> dict[str, Board]:
    all_boards = {name: make() for name, make in boards_by_name().items()}
    return {name: board for name, board in all_boards.items() if board.still}


def _read_source_hashes() -> dict[str, str]:
    """By board, what its still was drawn from."""
    return dict(json.loads(_record().read_text(encoding="utf-8"))) if _record().is_file() else {}


def write(names: list[str]) -> list[str]:
    """Draw stills and keep them; returns the names of those that have changed. Without names, those that are outdated.

    Raises:
        UserError: there is no such board, or no Chromium.
    """
    known = boards_by_name()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(f"there is no board called {unknown[0]!r}; there are {', '.join(known) or 'none'}")
    selection = names or find_outdated()
    pictures = [] if names else _outdated_pictures()
    if not selection and not pictures:
        return []
    changes = []
    hashes = _read_source_hashes()
    stills = _with_still()
    with _browser() as browser:
        for name in selection:
            if not (board := stills.get(name)) or not (file := board.still):
                continue
            svg = draw(board, browser)
            hashes[name] = hash_sources(board)
            if not file.is_file() or file.read_text(encoding="utf-8") != svg:
                file.write_text(svg, encoding="utf-8")
                changes.append(name)
        for picture in pictures:
            replace(picture.file, picture.draw(browser))
            hashes[picture.file.name] = picture.sources
            changes.append(picture.file.name)
    drawn = (*stills, *(picture.file.name for picture in _pictures()))
    record = {name: hashes[name] for name in drawn if name in hashes}
    replace(_record(), json.dumps(record, indent=1) + "\n")
    return changes


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
