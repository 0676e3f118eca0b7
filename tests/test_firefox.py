"""A board and a figure of the site in Firefox, which is driven by WebDriver BiDi: it needs no driver beside it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import figure_page
import pytest
from lab import web_pages

from ffnlab import boards
from ffnlab.course.boards.catalogue import BOARDS
from ffnlab.drawing import controls, svg
from ffnlab.drawing.picture import Picture

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
PATIENCE = 60  # seconds until it has started, or shows something

pytestmark = pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed")


class Firefox:
    """A running Firefox with one page."""

    def __init__(self, address: str) -> None:
        import websocket

        self.socket = websocket.create_connection(f"{address}/session", suppress_origin=True, timeout=PATIENCE)
        self.sent = 0
        self.ask("session.new", capabilities={})
        self.page = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What it answers to a command.

        Raises AssertionError where that is an error.
        """
        self.sent += 1
        self.socket.send(json.dumps({"id": self.sent, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.sent:
                assert answer["type"] == "success", answer
                return dict(answer["result"])

    def goto(self, address: str) -> None:
        self.ask("browsingContext.navigate", context=self.page, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page: text, a number or a truth value."""
        answer = self.ask("script.evaluate", expression=expression, target={"context": self.page}, awaitPromise=True)
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Until an expression on the page is true.

        Raises AssertionError where it does not become so.
        """
        end = time.monotonic() + PATIENCE
        while not self.evaluate(f"!!({expression})"):
            assert time.monotonic() < end, expression
            time.sleep(0.1)


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    pytest.importorskip("websocket", reason="websocket-client is not installed")
    profile = tmp_path_factory.mktemp("firefox")
    log = profile / "said.txt"
    command = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with log.open("w") as out:
        process = subprocess.Popen([*command, "about:blank"], stdout=out, stderr=out)
    try:
        end = time.monotonic() + PATIENCE
        while not (match := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text())):
            assert time.monotonic() < end and process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield Firefox(match[1])
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_a_board_plays(firefox: Firefox, tmp_path: Path) -> None:
    html = boards.html(BOARDS["creek_switch"]())
    (tmp_path / "index.html").write_text(f'<!doctype html><meta charset="utf-8"><body>{html}', encoding="utf-8")
    with web_pages(tmp_path) as address:
        firefox.goto(f"{address}/index.html")
        firefox.wait_for("document.querySelector('section.ffp [role=switch]')")
        before = firefox.evaluate("document.querySelector('.ffp-sentence').innerText")
        assert "99.7 %" in before
        firefox.evaluate("document.querySelector('section.ffp [role=switch]').click()")
        firefox.wait_for(f"document.querySelector('.ffp-sentence').innerText !== {json.dumps(before)}")
        assert firefox.evaluate("document.querySelector('section.ffp').getBoundingClientRect().height") > 200


def test_a_figure_of_the_site_unpacks_its_pictures_and_moves(firefox: Firefox, tmp_path: Path) -> None:
    def line(x: int) -> Picture:
        sentence = f"x is {x}."
        return Picture("A line", sentence, svg.card(160, "A line", sentence, svg.text(20, 130, sentence)))

    figure_page.write(tmp_path, controls.Figure(line, {"x": controls.slider("x", 0, 9, 1, 2)}))
    with web_pages(tmp_path) as address:
        firefox.goto(f"{address}/index.html")
        firefox.wait_for("document.querySelector('.ffn-figure[data-ready]')")
        firefox.evaluate(
            "(slider => { slider.value = 7; slider.dispatchEvent(new Event('input', { bubbles: true })) })"
            "(document.querySelector('.ffn-control input'))"
        )
        firefox.wait_for("document.querySelector('figcaption').innerText === 'x is 7.'")
