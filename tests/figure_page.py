"""A web page with one figure of the site, for tests that play it in a browser."""

from __future__ import annotations

from pathlib import Path

from autograder.authoring import frames
from autograder.site import make, pages
from autograder.site.running import FigureOnPage
from ffnlab import boards
from ffnlab.drawing.controls import Figure

COURSE = Path(boards.__file__).parents[1]
SCRIPTS = (
    Path(make.__file__).parent / "static" / "site.js",
    COURSE / "drawing" / "figure_widget.js",
    COURSE / "drawing" / "stored_frames.js",
    COURSE / "prediction" / "prediction_widget.js",
)


def write(folder: Path, figure: Figure) -> FigureOnPage:
    """Write the page of a figure into a folder, as index.html, with its pictures and the scripts that it loads."""
    drawn = FigureOnPage("figure", figure.html(figure.start), frames.draw(figure))
    for script in SCRIPTS:
        (folder / script.name).write_bytes(script.read_bytes())
    (folder / "frames" / "one").mkdir(parents=True)
    (folder / "frames" / "one" / f"{drawn.name}.json.gz").write_bytes(drawn.archive)
    html = pages.figure("one", drawn).replace("../frames", "frames")
    (folder / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><body>{html}<script type="module" src="site.js"></script>',
        encoding="utf-8",
    )
    return drawn
