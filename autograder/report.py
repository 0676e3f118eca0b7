"""Tables for the terminal: a class, what it misunderstood, and the matrix. Everything from a submission is stripped of control characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.gradebook import Attempt
from autograder.matrix import Row
from ffnlab import exercises

CELL = {"earned": "✔", "not earned": "✘", "not attempted": "○", "not graded": "?"}
STYLE = {"earned": "green", "not earned": "dark_orange", "not attempted": "dim", "not graded": "bold red"}


def clean(text: str, most: int = 300) -> str:
    """Text from a submission, without escape sequences and control characters."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "�", text)[:most]


def class_table(console: Console, assignment: str, attempts: Sequence[Attempt]) -> None:
    """One line a student: points per exercise, total, remarks."""
    listed = [exercise for exercise in exercises.of_notebook(assignment) if exercise.points]
    table = Table(title=assignment, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("student", no_wrap=True)
    for exercise in listed:
        table.add_column(_short(exercise.name), justify="right")
    table.add_column("total", justify="right", style="bold")
    table.add_column("remarks", overflow="fold")
    for attempt in attempts:
        cells = []
        for exercise in listed:
            verdict = attempt.verdicts.get(exercise.name, {})
            outcome = str(verdict.get("outcome", "not graded"))
            mark = CELL.get(outcome, "?")
            points = "" if outcome == "not attempted" else f"{verdict.get('points', 0.0):g} "
            cells.append(Text(f"{points}{mark}", style=STYLE.get(outcome, "")))
        total = f"{attempt.points:g}/{attempt.max_points:g}"
        table.add_row(Text(attempt.student), *cells, total, Text(clean("; ".join(attempt.remarks))))
    console.print(table)
    console.print("✔ earned   ✘ not earned, or in part   ○ not attempted   ? not graded: look at it", style="dim")


def misunderstandings(console: Console, attempts: Sequence[Attempt], most: int = 10) -> None:
    """The named mistakes of a class, the most frequent first."""
    counted: Counter[tuple[str, str]] = Counter()
    for attempt in attempts:
        for name, verdict in attempt.verdicts.items():
            if verdict.get("mistake"):
                counted[name, str(verdict["cause"])] += 1
    if not counted:
        return
    table = Table(title="What the class misunderstood", box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("students", justify="right")
    table.add_column("exercise", no_wrap=True)
    table.add_column("mistake", overflow="fold")
    for (name, cause), count in counted.most_common(most):
        table.add_row(str(count), name, Text(clean(cause)))
    console.print(table)


def matrix_table(console: Console, rows: Sequence[Row]) -> None:
    """Exercise × kept answer → points and message, on each set of draws."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("exercise", "answer", "kind", "draws", "points", "verdict"):
        table.add_column(title, overflow="fold", justify="right" if title == "points" else "left")
    last = ""
    for row in rows:
        name = row.answer.exercise
        verdict = Text("PROBLEM: " + row.problem, style="bold red") if row.problem else Text(_said(row))
        points = f"{row.verdict.points:g}/{row.verdict.max_points:g}"
        shown = name if name != last else ""
        table.add_row(shown, row.answer.name, row.answer.kind, row.draws, points, verdict)
        last = name
    console.print(table)


def _said(row: Row) -> str:
    if row.answer.kind == "right":
        return f"earned ({row.answer.message})" if row.answer.message else "earned"
    return row.verdict.cause or row.verdict.outcome.value


def _short(name: str) -> str:
    """A column's title of at most two short lines."""
    words = re.findall(r"[A-Z]+[a-z]*|[a-z0-9]+", name)
    return "\n".join((" ".join(words[:1])[:10], " ".join(words[1:])[:12])) if len(name) > 10 else name
