"""What a student has earned and guessed so far: two small files beside the notebooks, never part of a submission, and the table `progress()` makes of them."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any

from IPython.display import display

from ffnlab import exercises, predictions
from ffnlab.panel import MARKS, Panel, box
from ffnlab.verdict import Outcome, Verdict

FILE = ".progress.json"
GUESSES = ".predictions.json"


def folder() -> Path | None:
    """The course's folder: the nearest one, from here upwards, that holds `00_start_here`; None outside a course."""
    here = Path.cwd()
    return next((place for place in (here, *here.parents) if (place / "00_start_here").is_dir()), None)


def keep(verdict: Verdict) -> None:
    """Keep a verdict, if this is a course's folder that can be written: that of the last check, as it would be handed in now."""
    course = folder()
    if course is None:
        return
    kept = read(course)
    now = {"outcome": verdict.outcome.value, "points": verdict.points}
    if kept.get(verdict.exercise) == now:
        return
    kept[verdict.exercise] = now
    _write(course / FILE, kept)


def read(course: Path) -> dict[str, Any]:
    """What is kept; nothing where the file is missing or broken."""
    return _read(course / FILE)


def guess(name: str) -> Any:
    """What was guessed for the prediction called `name`; None where nothing is kept."""
    course = folder()
    return _read(course / GUESSES).get(name, {}).get("guess") if course else None


def keep_guess(name: str, guessed: str | float, right: bool) -> None:
    """Keep the first guess of a prediction, if this is a course's folder that can be written."""
    course = folder()
    kept = _read(course / GUESSES) if course else {}
    if course and name not in kept:
        _write(course / GUESSES, kept | {name: {"guess": guessed, "right": right}})


def intuition(course: Path) -> tuple[int, int]:
    """How many predictions of the course were right, and how many were made."""
    known = predictions.every()
    made = [entry for name, entry in _read(course / GUESSES).items() if name in known]
    return sum(entry.get("right") is True for entry in made), len(made)


def _read(file: Path) -> dict[str, Any]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in kept.items() if isinstance(v, dict)} if isinstance(kept, dict) else {}


def _write(file: Path, kept: dict[str, Any]) -> None:
    try:
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        draft.replace(file)
    except OSError:
        return


def progress(notebook: str | None = None) -> None:
    """Show what is earned in every notebook, and what is earned, tried and open in one: the one this runs in, if no other is named.

    Raises:
        ValueError: there is no such notebook.
    """
    if notebook is not None and notebook not in exercises.NOTEBOOKS:
        raise ValueError(f"there is no notebook called {notebook!r}; there are: {', '.join(exercises.NOTEBOOKS)}")
    course = folder()
    kept = read(course) if course else {}
    opened = notebook or Path.cwd().name
    text, rows = [], []
    earned_all = points_all = 0.0
    there = [name for name in exercises.NOTEBOOKS if course is None or (course / name).is_dir()]
    for name in there:
        listed = exercises.of_notebook(name)
        earned = sum(_points(kept, e.name) for e in listed)
        points = sum(e.points for e in listed)
        earned_all, points_all = earned_all + earned, points_all + points
        text.append(f"{name:<18}{_bar(earned, points)}  {earned:g} of {points:g} points")
        rows.append(
            f'<tr style="background:transparent;color:inherit"><th colspan="3" style="text-align:left;padding:.2em 1em .1em 0">{escape(name)}</th>'
            f'<td style="text-align:right;padding:.2em 0 .1em"><code style="background:none">{_bar(earned, points)}</code>'
            f" {earned:g} of {points:g}</td></tr>"
        )
        for exercise in listed if name == opened else ():
            mark, word = MARKS[_outcome(kept, exercise.name)]
            score = f"{_points(kept, exercise.name):g} of {exercise.points:g}"
            text.append(f"  {mark} {exercise.name:<26}{word:<15}{score}")
            rows.append(
                "<tr style='background:transparent;color:inherit'>"
                f"<td>{mark}</td><td style='text-align:left;padding:0 1.5em 0 .5em'>{escape(exercise.name)}</td>"
                f"<td style='text-align:left;padding-right:1.5em'>{word}</td><td style='text-align:right'>{score}</td></tr>"
            )
    head = f"Your progress: {earned_all:g} of {points_all:g} points"
    note = (
        "Questions that you answer in your own words are read by a person and not counted here."
        if course
        else "Nothing is kept here: this notebook does not lie in the course's folder."
    )
    right, made = intuition(course) if course else (0, 0)
    if made:
        note += f" Your intuition was right in {right} of {made} prediction{'' if made == 1 else 's'}: no points, only for you."
    body = (
        f'<table style="border-collapse:collapse;font-size:13px;margin:0;color:inherit">{"".join(rows)}</table>'
        f'<div style="color:#5b6472;margin-top:.3em">{note}</div>'
    )
    outcome = Outcome.EARNED if earned_all == points_all else Outcome.NOT_ATTEMPTED
    display(Panel(box(outcome, head, body), "\n".join([head, *text, note])))


def _bar(earned: float, points: float, width: int = 12) -> str:
    full = round(width * earned / points) if points else 0
    return "█" * full + "░" * (width - full)


def _outcome(kept: dict[str, Any], name: str) -> Outcome:
    try:
        return Outcome(kept[name]["outcome"])
    except (KeyError, ValueError, TypeError):
        return Outcome.NOT_ATTEMPTED


def _points(kept: dict[str, Any], name: str) -> float:
    points = kept.get(name, {}).get("points", 0.0)
    return float(points) if isinstance(points, (int, float)) else 0.0
