"""How long a board takes from a key to the picture on the screen: `python tests/board_paint.py [BOARD ...]`. It prints; nothing here fails.

Each press of a key is timed up to the second frame after it, beside the same on a page with a slider and nothing else. Only the ratio means
something: how busy the machine is changes both.
"""

from __future__ import annotations

import statistics
import sys

from lab import browser

from ffnlab import boards
from ffnlab.course.boards.catalogue import BOARDS

PRESSES = 40
EMPTY = '<section class="ffp"><input type="range" min="0" max="100" value="20"></section>'
# The control that changes most of what is drawn: of each slider, knob and switch, one step there and one back.
MEASURE = """async (presses) => {
  const board = document.querySelector(".ffp");
  const hands = [...board.querySelectorAll('input[type="range"], [role="slider"], [role="switch"]')].filter((hand) => hand.checkVisibility());
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const press = (hand, forth) => {
    if (hand.matches('[role="switch"]')) return hand.click();
    if (hand.matches("input")) {
      hand[forth ? "stepUp" : "stepDown"]();
      return hand.dispatchEvent(new Event("input", { bubbles: true }));
    }
    hand.dispatchEvent(new KeyboardEvent("keydown", { key: forth ? "ArrowRight" : "ArrowLeft", bubbles: true }));
  };
  const times = [];
  for (let n = 0; n < presses && hands.length; n++) {
    await drawn();
    const before = performance.now();
    press(hands[(n >> 1) % hands.length], n % 2 === 0);
    const script = performance.now() - before;
    await drawn();
    times.push([performance.now() - before, script]);
  }
  return times;
}"""


def main(names: list[str]) -> None:
    pages = {"an empty page": f"<style>{boards.css()}</style>{EMPTY}"}
    pages |= {name: boards.html(BOARDS[name]()) for name in names or BOARDS}
    empty = 0.0
    with browser() as opened:
        page = opened.new_page(viewport={"width": 900, "height": 900}, reduced_motion="reduce")
        for name, html in pages.items():
            page.set_content(f"<!doctype html><body>{html}")
            page.locator("section.ffp").wait_for()
            times = page.evaluate(MEASURE, PRESSES)
            if not times:
                print(f"{name:20} nothing that a key moves at the start")
                continue
            whole = sorted(whole for whole, _ in times)
            script = statistics.median(script for _, script in times)
            empty = empty or statistics.median(whole)
            print(
                f"{name:20} median {statistics.median(whole):6.1f} ms, 95 of 100 within {whole[int(0.95 * len(whole))]:6.1f} ms, "
                f"its own script {script:5.1f} ms; {statistics.median(whole) / empty:4.1f} times {next(iter(pages))}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
