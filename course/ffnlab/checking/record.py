"""What a student has earned, guessed and reached on boards: small files beside the notebooks, never part of a submission; and the table of `progress()`."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from IPython.display import display

from ffnlab.checking.panel import MUTED, SIGNS, Panel, box, message
from ffnlab.checking.verdict import Outcome, Verdict
from ffnlab.environment import is_unattended
from ffnlab.observation.exercise import Exercise
from ffnlab.palette import LIGHT
from ffnlab.phrases import plural
from ffnlab.registry import active_course

FILE = ".progress.json"
GUESSES = ".predictions.json"
GOALS = ".boards.json"

SURE = ("just a hunch", "fairly sure", "certain")  # how sure one can be of a guess; an entry counts them from 1
MIN_GUESSES = 8  # guesses that say how sure one was, before a picture is drawn of them

TRIES, PAUSE = 10, 0.05  # seconds between two tries: other kernels and virus scanners hold a file for less than that

NO_COURSE = "This is not saved, because the notebook is not in a folder with its name, such as {}: put it into one, and run its checks again."
NOT_SAVED = (
    "{}, in {}. What you have earned is kept until this kernel stops, and each check tries again to save it. "
    "Save the notebook: if that fails as well, delete files that you no longer need."
)

_pending: dict[Path, dict[str, Any]] = {}  # by file, this session's entries that are not in it yet


def folder() -> Path | None:
    """The course's folder: the nearest one, from here upwards, that holds the folder of any notebook; None outside a course."""
    here = _here()
    for place in (here, *here.parents):
        if any(os.path.isdir(place / name) for name in active_course().notebooks):
            return place
    return None


def _here() -> Path:
    """The current folder; a relative path where it has been deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def save_verdict(verdict: Verdict) -> None:
    """Keep a verdict: that of the last check, as it would be handed in now."""
    _keep(FILE, verdict.exercise, {"outcome": verdict.outcome.value, "points": verdict.points})


def read_verdicts() -> dict[str, Any]:
    """The verdicts that are kept, by exercise."""
    return _read(FILE)


def read_guess(name: str) -> Any:
    """What was guessed for the prediction called `name`; None where nothing is kept."""
    return _read(GUESSES).get(name, {}).get("guess")


def read_sure(name: str) -> int:
    """How sure one was of the guess for the prediction called `name`, from 1; 0 where it was not said."""
    return _sure(_read(GUESSES).get(name, {}))


def save_guess(name: str, guess: str | float, right: bool, sure: int = 0) -> None:
    """Keep the first guess of a prediction, and how sure one was of it, from 1; 0: it was not said. Where nobody guesses, nothing is kept."""
    if name in _read(GUESSES) or is_unattended():
        return
    sureness = {"sure": sure} if 1 <= sure <= len(SURE) else {}
    _keep(GUESSES, name, {"guess": guess, "right": right, **sureness})


def read_goals(board: str) -> dict[str, Any]:
    """What was reached on a board: by goal, {"how", …} as its script keeps it."""
    results: dict[str, Any] = _read(GOALS).get(board, {})
    return results


def save_goals(board: str, results: dict[str, Any]) -> None:
    """Keep what has been reached on a board, beside what was reached on it before."""
    _keep(GOALS, board, {**read_goals(board), **results})


def count_right_guesses() -> tuple[int, int]:
    """How many predictions of the course were right, and how many were made."""
    predictions = active_course().predictions
    entries = [entry for name, entry in _read(GUESSES).items() if name in predictions]
    return sum(entry.get("right") is True for entry in entries), len(entries)


def count_by_sureness() -> list[tuple[int, int]]:
    """For each step of being sure, the lowest first: how many predictions of the course were right, and how many were made."""
    predictions = active_course().predictions
    entries = [entry for name, entry in _read(GUESSES).items() if name in predictions]
    steps = [
        [entry.get("right") is True for entry in entries if _sure(entry) == step] for step in range(1, len(SURE) + 1)
    ]
    return [(sum(rights), len(rights)) for rights in steps]


def _sure(entry: dict[str, Any]) -> int:
    sure = entry.get("sure")
    return sure if type(sure) is int and 1 <= sure <= len(SURE) else 0


def _file(name: str) -> Path:
    return (folder() or _here()) / name


def _read(name: str) -> dict[str, Any]:
    """What a file and this session know."""
    file = _file(name)
    try:
        entries = _entries(file)
    except Exception:  # an answer can have changed what opening a file does
        entries = {}
    return entries | _pending.get(file, {})


def _entries(file: Path) -> dict[str, Any]:
    """What a file holds; nothing where it is missing or broken.

    Raises:
        OSError: it is there and can't be read.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return {k: v for k, v in data.items() if isinstance(v, dict)} if isinstance(data, dict) else {}


def _keep(name: str, key: str, entry: dict[str, Any]) -> None:
    """Keep an entry in this session and in the file. When that can't be written, it is said once."""
    file = _file(name)
    is_first = file not in _pending
    _pending.setdefault(file, {})[key] = entry
    trouble = _save(file)
    if trouble and folder() is not None and is_first:
        display(message("Your progress could not be saved", trouble))


def _save(file: Path) -> str:
    """Write what is not in the file yet; returns why that can't be done, or ""."""
    if folder() is None:
        return NO_COURSE.format(list(active_course().notebooks)[-1])
    try:
        _write(file, _pending.get(file, {}))
    except Exception as error:  # likewise
        reason = error.strerror if isinstance(error, OSError) else None
        return NOT_SAVED.format(reason or type(error).__name__, file.parent)
    _pending.pop(file, None)
    return ""


def _write(file: Path, entries: dict[str, Any]) -> None:
    """Add entries to a file. The entries of other kernels stay.

    Raises:
        OSError: the file can't be written.
    """

    def merge() -> str | None:
        file_entries = _entries(file)
        return None if file_entries | entries == file_entries else json.dumps(file_entries | entries, indent=1)

    rewrite(file, merge)


def rewrite(file: Path, make_content: Callable[[], str | bytes | None]) -> None:
    """Write what `make_content` makes of what a file holds, whole or not at all; None: it stays as it is. Only one kernel at a time can make the draft.

    Raises:
        OSError: the file can't be written.
    """
    for _ in range(TRIES):
        with contextlib.suppress(FileExistsError, PermissionError):  # on Windows, another program has the file open
            _rewrite_alone(file, make_content)
            return
        time.sleep(PAUSE)
    _draft(file).unlink(missing_ok=True)  # of a kernel that was killed: writing takes milliseconds
    _rewrite_alone(file, make_content)


def _rewrite_alone(file: Path, make_content: Callable[[], str | bytes | None]) -> None:
    if make_content() is None:
        return
    draft = _draft(file)
    draft.touch(exist_ok=False)
    try:
        content = make_content()  # once more, now that no other kernel writes
        if content is None:
            draft.unlink()
            return
        if isinstance(content, str):
            draft.write_text(content, encoding="utf-8")
        else:
            draft.write_bytes(content)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _draft(file: Path) -> Path:
    return file.with_name(f"{file.name}.draft")


MAX_HANDED_IN = 20 * 2**20  # bytes: more, some learning management systems do not take
SMALLER = (
    "Before you hand it in, clear what you don't need: Edit, Clear Outputs of All Cells, then save. Your answers stay."
)


def _large_notebooks() -> list[tuple[str, int]]:
    """The notebooks beside the one that runs which are too large to be handed in everywhere, with their sizes."""
    try:
        sizes = [(path.name, path.stat().st_size) for path in sorted(_here().glob("*.ipynb"))]
    except Exception:  # an answer can have changed what looking at a file does
        return []
    return [(name, size) for name, size in sizes if size > MAX_HANDED_IN]


def progress(notebook: str | None = None) -> None:
    """Show what is earned in every notebook, and what is earned, tried and open in one: the one this runs in, if no other is named.

    Raises:
        ValueError: there is no such notebook.
    """
    if notebook is not None and notebook not in active_course().notebooks:
        raise ValueError(f"there is no notebook called {notebook!r}; there are: {', '.join(active_course().notebooks)}")
    course = folder()
    trouble = _save(_file(FILE))
    verdicts = read_verdicts()
    current = notebook or _here().name
    text, rows = [], []
    earned_total = points_all = 0.0
    there = [name for name in active_course().notebooks if course is None or (course / name).is_dir()]
    for name in there:
        exercises = active_course().exercises_of(name)
        earned_points = sum(_points(verdicts, e) for e in exercises)
        points = sum(e.points for e in exercises)
        earned_total, points_all = earned_total + earned_points, points_all + points
        text.append(f"{name:<18}{_bar(earned_points, points)}  {earned_points:g} of {points:g} points")
        rows.append(
            f'<tr style="background:transparent;color:inherit"><th colspan="3" style="text-align:left;padding:.2em 1em .1em 0">{escape(name)}</th>'
            f'<td style="text-align:left;padding:.2em 0 .1em;white-space:nowrap">{_stripe(earned_points, points)} {earned_points:g} of {points:g}</td></tr>'
        )
        for exercise in exercises if name == current else ():
            sign, word = SIGNS[_outcome(verdicts, exercise.name)]
            points_text = f"{_points(verdicts, exercise):g} of {exercise.points:g}"
            text.append(f"  {sign} {exercise.name:<26}{word:<15}{points_text}")
            rows.append(
                "<tr style='background:transparent;color:inherit'>"
                f"<td>{sign}</td><td style='text-align:left;padding:0 1.5em 0 .5em'>{escape(exercise.name)}</td>"
                f"<td style='text-align:left;padding-right:1.5em'>{word}</td><td style='text-align:right'>{points_text}</td></tr>"
            )
    head = f"Your progress: {earned_total:g} of {points_all:g} points"
    note = "Questions that you answer in your own words are read by a person and not counted here."
    if trouble:
        note += f" {trouble}"
    for name, size in _large_notebooks():
        note += f" {name} is {size / 2**20:.0f} MiB large, because of what its cells show. {SMALLER}"
    right, guesses = count_right_guesses()
    if guesses:
        note += f" Your intuition was right in {right} of {plural(guesses, 'prediction')}: no points, only for you."
    body = (
        f'<table style="border-collapse:collapse;font-size:13px;margin:0;color:inherit">{"".join(rows)}</table>'
        f'<div style="color:{MUTED};margin-top:.3em">{escape(note)}</div>'
    )
    notes, counts = [note], count_by_sureness()
    if sum(step for _, step in counts) >= MIN_GUESSES:
        from ffnlab.checking import calibration

        picture = calibration.picture(SURE, counts)
        body += f'<div style="margin-top:.7em">{picture.still()}</div>'
        notes.append(picture.words)
    outcome = Outcome.EARNED if earned_total == points_all else Outcome.NOT_ATTEMPTED
    display(Panel(box(outcome, head, body), "\n".join([head, *text, *notes])))


def _bar(earned_points: float, points: float, width: int = 12) -> str:
    full = round(width * earned_points / points) if points else 0
    return "█" * full + "░" * (width - full)


def _stripe(earned_points: float, points: float) -> str:
    share = 100 * earned_points / points if points else 0
    return (
        f'<span style="display:inline-block;width:8em;height:.6em;margin-right:.5em;background:{LIGHT["rule"]};border-radius:.3em;overflow:hidden">'
        f'<span style="display:block;width:{share:.0f}%;height:100%;background:{LIGHT["press"]}"></span></span>'
    )


def _outcome(verdicts: dict[str, Any], name: str) -> Outcome:
    try:
        return Outcome(verdicts[name]["outcome"])
    except (KeyError, ValueError, TypeError):
        return Outcome.NOT_ATTEMPTED


def _points(verdicts: dict[str, Any], exercise: Exercise) -> float:
    points = verdicts.get(exercise.name, {}).get("points", 0.0)
    fits = isinstance(points, (int, float)) and 0 <= points <= exercise.points
    return float(points) if fits else 0.0
