"""The marking guide: for every exercise the truth, other right answers and the known mistakes, one module per notebook. Never given to students."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from autograder.keys.problem import KeyProblem
from ffnlab.course import exercises

if TYPE_CHECKING:
    from autograder.keys.key import Key


def module(notebook: str) -> ModuleType:
    """The module with the keys of a notebook, called as the one with its exercises; imported when it is first asked for."""
    return importlib.import_module(f"{__name__}.{exercises.NOTEBOOKS[notebook]}")


def of_notebook(notebook: str) -> list[Key]:
    """The keys of one notebook, in the order of its exercises.

    Raises:
        KeyProblem: an exercise has no key, or more than one.
    """
    from autograder.keys.key import Key

    keys = [value for value in vars(module(notebook)).values() if isinstance(value, Key)]
    found = {key.exercise.name: key for key in keys}
    listed = exercises.of_notebook(notebook)
    missing = [exercise.name for exercise in listed if exercise.name not in found]
    if missing or len(keys) != len(listed):
        raise KeyProblem(f"{notebook}: every exercise needs exactly one key; missing: {', '.join(missing) or 'none'}")
    return [found[exercise.name] for exercise in listed]


def find(exercise: str) -> Key:
    """The key of the exercise called `exercise`.

    Raises:
        ffnlab.course.exercises.UnknownExercise: there is no such exercise.
    """
    notebook = exercises.notebook_of(exercise)
    return next(key for key in of_notebook(notebook) if key.exercise.name == exercise)
