"""How long a figure takes from the hand to painted pixels, in real JupyterLab and Chromium: 40 changes of its first control each.

    python tests/hand_to_pixel.py 02_feed_forward 08_experts

Prints a table of medians and 95th percentiles in milliseconds. Measured, not tested: times vary from machine to machine.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

from lab import PATIENCE, Lab, browser, server
from test_browser import figures, solve_what_it_shows

ROOT = Path(__file__).resolve().parent.parent
CHANGES = 40
MEASURE = """async ([board, changes]) => {
  const picture = board.querySelector('.ffn-picture');
  const control = board.querySelector('.ffn-controls input[type=range], .ffn-controls select, .ffn-controls input[type=checkbox]');
  const painted = () => new Promise((done) => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel();
    port1.onmessage = done; port2.postMessage(0); }));
  const kind = control.type === 'range' ? 'input' : 'change';
  const last = control.tagName === 'SELECT' ? control.options.length - 1 : Number(control.max || 1);
  const times = [], gone = []; let place = control.type === 'checkbox' ? Number(control.checked) : Number(control.value), way = 1;
  for (let n = 0; n < changes; n++) {
    if (place + way > last || place + way < 0) way = -way;
    place += way;
    if (control.type === 'checkbox') control.checked = !control.checked; else control.value = place;
    const height = picture.offsetHeight;
    const changed = new Promise((done) => { const watch = new MutationObserver(() => { watch.disconnect(); done(true); });
      watch.observe(picture, { childList: true }); setTimeout(() => { watch.disconnect(); done(false); }, 5000); });
    const begun = performance.now();
    control.dispatchEvent(new Event(kind, { bubbles: true }));
    if (!(await changed)) { gone.push(n); continue; }
    await painted();
    times.push(performance.now() - begun);
    if (picture.offsetHeight !== height) gone.push('jump of ' + (picture.offsetHeight - height));
    await new Promise((done) => setTimeout(done, 30));
  }
  return [times, gone];
}"""


def main(notebooks: list[str]) -> None:
    print(f"{'figure':<42}{'median':>8}{'p95':>8}   milliseconds, {CHANGES} changes")
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        home = Path(folder)
        course = home / "course"
        shutil.copytree(
            ROOT / "course", course, ignore=shutil.ignore_patterns(".venv", "__pycache__", "*.egg-info", ".progress*")
        )
        with server(course, home) as address:
            for name in dict.fromkeys(notebook for notebook, _ in figures() if not notebooks or notebook in notebooks):
                lab = Lab(chromium.new_page(viewport={"width": 1280, "height": 900}), course)
                lab.open(f"{name}/{name}.ipynb", address)
                lab.run_all()
                for grade_id in [cell for notebook, cell in figures() if notebook == name]:
                    cell = solve_what_it_shows(lab, grade_id)
                    board = cell.locator(".ffn-board").first
                    if not board.locator(".ffn-controls input, .ffn-controls select").count():
                        print(f"{f'{name[:2]} {grade_id}':<42}{'only by its marks':>16}")
                        continue
                    board.locator("svg").first.wait_for(timeout=PATIENCE)
                    times, gone = lab.page.evaluate(MEASURE, [board.element_handle(), CHANGES])
                    remark = f"   {', '.join(map(str, gone))}" if gone else ""
                    print(
                        f"{f'{name[:2]} {grade_id}':<42}{median(times):>8.0f}{quantiles(times, n=20)[-1]:>8.0f}{remark}",
                        flush=True,
                    )
                lab.page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
