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
    """Controls over a picture. A hand that is quicker than the drawing skips the pictures between."""

    _esm = HERE / "figure_widget.js"
    _css = stored_frames.sheet()
    # As `controls.describe` tells them.
    controls: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    # {parameter: index of its stop}, moved by a hand.
    state: traitlets.Dict[str, int] = traitlets.Dict().tag(sync=True)
    # {"state", "html"}, the last picture and what it was drawn for.
    picture: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        controls: Sequence[dict[str, Any]],
        state: dict[str, int],
        html: str,
        draw: Callable[[dict[str, int]], str],
    ) -> None:
        """html: the HTML at the start. draw: the HTML for any state; it must not raise."""
        super().__init__(controls=list(controls), state=state, picture={"state": state, "html": html})
        self._draw = draw
        self.observe(self._redraw, names="state")

    def _redraw(self, change: dict[str, Any]) -> None:
        self.picture = {"state": change["new"], "html": self._draw(change["new"])}
