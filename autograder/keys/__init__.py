"""The answer keys: for every exercise the truth, other right answers and the known mistakes. Never given to students.

A folder has the keys of a notebook, and a file that of an exercise. They are those of `ffnlab.course`; another course has its own, made of the same `Key`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.keys.problem import KeyProblem
from ffnlab.registry import active_course

if TYPE_CHECKING:
    from autograder.keys.key import Key


def of_notebook(notebook: str) -> list[Key]:
    """The keys of one notebook, in the order of its exercises.

    Raises:
        KeyProblem: an exercise has no key, or more than one.
    """
    from autograder.keys.key import Key

    modules = active_course().key_modules(notebook)
    keys = [value for module in modules for value in vars(module).values() if isinstance(value, Key)]
    keys_by_name = {key.exercise.name: key for key in keys}
    exercises = active_course().exercises_of(notebook)
    missing_names = [exercise.name for exercise in exercises if exercise.name not in keys_by_name]
    if missing_names or len(keys) != len(exercises):
        raise KeyProblem(
            f"{notebook}: every exercise needs exactly one key; missing: {', '.join(missing_names) or 'none'}"
        )
    return [keys_by_name[exercise.name] for exercise in exercises]


def find(exercise: str) -> Key:
    """The key of the exercise called `exercise`.

    Raises:
        ffnlab.registry.UnknownExercise: there is no such exercise.
    """
    notebook = active_course().notebook_of(exercise)
    return next(key for key in of_notebook(notebook) if key.exercise.name == exercise)
