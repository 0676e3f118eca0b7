"""A web page with one figure of the site, for tests that play it in a browser."""

from __future__ import annotations

from pathlib import Path

from autograder.site import frames, make, pages
from ffnlab import boards

COURSE = Path(boards.__file__).parents[1]
SCRIPTS = (
    Path(make.__file__).parent / "static" / "site.js",
    COURSE / "drawing" / "figure_widget.js",
    COURSE / "prediction" / "prediction_widget.js",
)


def write(folder: Path, drawn: frames.DrawnFigure) -> None:
    """Write the page of a figure into a folder, as index.html, with its frames and the scripts that it loads."""
    for script in SCRIPTS:
        (folder / script.name).write_bytes(script.read_bytes())
    (folder / "frames" / "one").mkdir(parents=True)
    (folder / "frames" / "one" / f"{drawn.name}.json.gz").write_bytes(drawn.packed)
    html = pages.figure("one", drawn).replace("../frames", "frames")
    (folder / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><body>{html}<script type="module" src="site.js"></script>',
        encoding="utf-8",
    )
