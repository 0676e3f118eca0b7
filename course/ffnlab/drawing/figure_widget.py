"""One widget that shows a picture under its controls, and lets its elements be pressed and dragged. Made by `controls.show` alone.

The hand is in figure_widget.js, which also plays stored pictures without Python. A notebook that only grades never pays for this import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ffnlab.drawing import stored_frames

HERE = Path(__file__).parent


class FigureWidget(anywidget.AnyWidget):
    """Controls over a picture.

    controls: as `controls.describe` tells them. at: {parameter: index of its stop}, moved by a hand. picture: {"at", "html"}, the last
    picture and what it was drawn for; a hand that is quicker than the drawing skips the pictures between.
    """

    _esm = HERE / "figure_widget.js"
    _css = stored_frames.sheet()
    controls: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    at: traitlets.Dict[str, int] = traitlets.Dict().tag(sync=True)
    picture: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(
        self, controls: Sequence[dict[str, Any]], at: dict[str, int], html: str, draw: Callable[[dict[str, int]], str]
    ) -> None:
        """html: the HTML at the start. draw: the HTML for any `at`; it must not raise."""
        super().__init__(controls=list(controls), at=at, picture={"at": at, "html": html})
        self._draw = draw
        self.observe(self._redraw, names="at")

    def _redraw(self, change: dict[str, Any]) -> None:
        self.picture = {"at": change["new"], "html": self._draw(change["new"])}
