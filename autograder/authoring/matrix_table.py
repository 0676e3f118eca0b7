"""What `autograder matrix` prints: every kept answer with its points and its message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # it brings torch
    from autograder.reference.matrix import MatrixRow


def print_matrix(console: Console, rows: Sequence[MatrixRow]) -> None:
    """Exercise × kept answer → points and message, on each set of draws."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("exercise", "answer", "kind", "draws", "points", "verdict"):
        table.add_column(title, overflow="fold", justify="right" if title == "points" else "left")
    last = ""
    for row in rows:
        name = row.answer.exercise
        verdict = Text("PROBLEM: " + row.problem, style="bold red") if row.problem else Text(_name_and_message(row))
        points = f"{row.verdict.points:g}/{row.verdict.max_points:g}"
        label = name if name != last else ""
        table.add_row(label, row.answer.name, row.answer.kind, row.draws, points, verdict)
        last = name
    console.print(table)


def _name_and_message(row: MatrixRow) -> str:
    if row.answer.kind == "right":
        return f"earned ({row.answer.message})" if row.answer.message else "earned"
    return row.verdict.cause or row.verdict.outcome.value
