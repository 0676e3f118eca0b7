"""A board in a page of its own, in a real browser: what the tests of all boards share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copy
from typing import Any

from lab import web_pages
from playwright.sync_api import Browser, Page

from ffnlab import boards
from ffnlab.boards import Board
from ffnlab.course.boards import fold


def opened(chromium: Browser, board: Board, width: int = 760, dark: bool = False, **options: Any) -> Page:
    """The board on a page that is as wide as `width` and as JupyterLab marks it, light or dark. options: of the page.

    Raises:
        AssertionError: its script ended in an error.
    """
    page = chromium.new_page(viewport={"width": width, "height": 900}, **options)
    page.set_default_timeout(10_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    theme = ' data-jp-theme-light="false" style="background: #111; color: #eee"' if dark else ""
    page.set_content(
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>board</title>'
        f"<body{theme}><main><h1>A board</h1>{boards.html(board)}</main>"
    )
    page.locator("section.ffp").wait_for()
    assert faults == []
    return page


def reached(page: Page) -> list[bool]:
    """By goal, whether it is reached, or settled by its flag."""
    return ["ffp-done" in (goal.get_attribute("class") or "") for goal in page.locator(".ffp-goal").all()]


def sentence(page: Page) -> str:
    """What the board says below its picture."""
    return page.locator(".ffp-sentence").inner_text()


def copy_modules(folder: Path) -> Path:
    """The modules of all boards beside what they import, and an empty page that can import them."""
    for file in [*boards.HERE.glob("*.js"), *fold.HERE.glob("*.js")]:
        copy(file, folder)
    (folder / "index.html").write_text("<!doctype html>", encoding="utf-8")
    return folder


@contextmanager
def page_with_modules(chromium: Browser, folder: Path, *names: str) -> Iterator[Page]:
    """A page that can call what some modules of boards export. folder: an empty one, for copies of them."""
    with web_pages(copy_modules(folder)) as address:
        page = chromium.new_page()
        page.goto(f"{address}/index.html")
        for name in names:
            page.evaluate("async (file) => { Object.assign(window, await import(file)); }", f"./{name}.js")
        yield page
        page.close()
