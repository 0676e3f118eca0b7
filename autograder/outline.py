"""What is known of exercises without importing them: names, points, what a page says of them. Whoever only reads verdicts needs no torch.

`make build` writes it into outline.json, in the folder of the keys, with the version of the exercises that it was read from. Where they have another
one now, they are imported after all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autograder import source_hash
from autograder.files import replace
from ffnlab.registry import CourseNotFound, active_course

FILE = "outline.json"


@dataclass(frozen=True)
class AspectOutline:
    """An aspect: what it is called, and its points."""

    name: str
    points: float


@dataclass(frozen=True)
class Outline:
    """An exercise. The fields are those of `ffnlab.observation.exercise.Exercise`."""

    name: str
    where: str
    understood: str
    cases: int
    aspects: tuple[AspectOutline, ...]

    @property
    def points(self) -> float:
        return math.fsum(part.points for part in self.aspects)


@cache
def of_notebook(notebook: str) -> Sequence[Outline]:
    """The exercises of a notebook, in its order."""
    record = _read_file().get(notebook, {})
    if record.get("version") != version(notebook):
        return tuple(map(_of, active_course().exercises_of(notebook)))
    return tuple(_from_json(entry) for entry in record["exercises"])


def understanding(notebook: str, name: str) -> str:
    """What a student who earned an exercise has understood; nothing where the notebook has it no more."""
    return next((exercise.understood for exercise in of_notebook(notebook) if exercise.name == name), "")


def notebook_of(name: str) -> str:
    """The notebook in which the exercise `name` stands.

    Raises:
        ffnlab.registry.UnknownExercise: there is none; the message suggests the nearest.
    """
    for notebook in active_course().notebooks:
        if any(exercise.name == name for exercise in of_notebook(notebook)):
            return notebook
    return active_course().notebook_of(name)


def version(notebook: str) -> str:
    """A hash of a notebook's exercises and of all that they are made of."""
    return source_hash.version(active_course().exercises_file(notebook))[:16]


def built_from(notebook: str) -> str:
    """What the last build said of the shipped reference outputs; empty where there was none."""
    return str(_read_file().get(notebook, {}).get("answers", ""))


def write(notebook: str, answers: str) -> bool:
    """Write what is known of a notebook, if that is not there already. Returns whether it was not. `answers`: what `made` shall return."""
    exercises = [asdict(_of(exercise)) for exercise in active_course().exercises_of(notebook)]
    entry = {"version": version(notebook), "answers": answers, "exercises": exercises}
    entries = _read_file()
    if json.loads(json.dumps(entry)) == entries.get(notebook):
        return False
    entries = {
        name: entry if name == notebook else entries[name]
        for name in active_course().notebooks
        if name in {notebook, *entries}
    }
    replace(file(), json.dumps(entries, indent=1, ensure_ascii=False) + "\n", mode=0o644)
    _read_file.cache_clear()
    of_notebook.cache_clear()
    return True


def _of(exercise: Any) -> Outline:
    parts = tuple(AspectOutline(aspect.name, aspect.points) for aspect in exercise.aspects)
    return Outline(exercise.name, exercise.where, exercise.understood, exercise.cases, parts)


def _from_json(entry: Mapping[str, Any]) -> Outline:
    return Outline(**{**entry, "aspects": tuple(AspectOutline(**part) for part in entry["aspects"])})


def file() -> Path:
    """Where it is written.

    Raises:
        CourseNotFound: the keys are not here.
    """
    return active_course().beside_keys(FILE)


@cache
def _read_file() -> dict[str, Any]:
    try:
        return dict(json.loads(file().read_text(encoding="utf-8")))
    except (OSError, ValueError, CourseNotFound):
        return {}
