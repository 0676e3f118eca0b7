"""What connects a board in a live notebook with Python: an output without a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ffnlab.boards import Board
from ffnlab.checking import record


class Link(anywidget.AnyWidget):
    """token: that of the board's output. results: by goal, what was reached. asked, answered: a question of the board and Python's answer, with its number."""

    _esm = Path(__file__).with_name("link.js")
    token = traitlets.Unicode().tag(sync=True)
    results = traitlets.Dict().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    answered = traitlets.Dict().tag(sync=True)

    def __init__(self, board: Board, token: str) -> None:
        super().__init__(token=token)
        self._board = board
        self.observe(lambda change: record.save_goals(board.name, change["new"]), names="results")
        self.observe(self._answer, names="asked")

    def _answer(self, change: dict[str, Any]) -> None:
        question = change["new"]
        answer: dict[str, Any] = {"number": question.get("number")}
        try:
            answer["value"] = self._board.answers[question["name"]](question["value"])
        except Exception as error:  # the reader's own function may do anything
            answer["error"] = f"{type(error).__name__}: {error}"
        self.answered = answer
