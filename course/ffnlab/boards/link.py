"""What connects a board in a live notebook with Python: an output without a picture."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from ffnlab import record
from ffnlab.boards import HERE, Play


class Link(anywidget.AnyWidget):
    """token: that of the board's output. kept: by goal, what was reached. asked, answered: a question of the board and Python's answer, with its number."""

    _esm = HERE / "link.js"
    token = traitlets.Unicode().tag(sync=True)
    kept = traitlets.Dict().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    answered = traitlets.Dict().tag(sync=True)

    def __init__(self, play: Play, token: str) -> None:
        super().__init__(token=token)
        self._play = play
        self.observe(lambda change: record.keep_goals(play.name, change["new"]), names="kept")
        self.observe(self._answer, names="asked")

    def _answer(self, change: dict[str, Any]) -> None:
        asked = change["new"]
        answer: dict[str, Any] = {"number": asked.get("number")}
        try:
            answer["value"] = self._play.answers[asked["name"]](asked["value"])
        except Exception as error:  # the reader's own function may do anything
            answer["error"] = f"{type(error).__name__}: {error}"
        self.answered = answer
