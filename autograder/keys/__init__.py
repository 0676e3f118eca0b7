"""The marking guide: for every exercise the truth, other right answers and the known mistakes, one module per notebook. Never given to students."""

from __future__ import annotations

from types import ModuleType

from autograder.key import Key, KeyProblem
from autograder.keys import (
    activations,
    attention,
    balance,
    capstone,
    every_position,
    experts,
    feed_forward,
    gated,
    memory,
    parameters,
    start_here,
)
from ffnlab import exercises

MODULES: dict[str, ModuleType] = {
    "00_start_here": start_here,
    "01_attention": attention,
    "02_feed_forward": feed_forward,
    "03_activations": activations,
    "04_every_position": every_position,
    "05_parameters": parameters,
    "06_memory": memory,
    "07_gated": gated,
    "08_experts": experts,
    "09_balance": balance,
    "10_capstone": capstone,
}


def of_notebook(notebook: str) -> list[Key]:
    """The keys of one notebook, in the order of its exercises.

    Raises:
        KeyProblem: an exercise has no key, or more than one.
    """
    keys = [value for value in vars(MODULES[notebook]).values() if isinstance(value, Key)]
    found = {key.exercise.name: key for key in keys}
    listed = exercises.of_notebook(notebook)
    missing = [exercise.name for exercise in listed if exercise.name not in found]
    if missing or len(keys) != len(listed):
        raise KeyProblem(f"{notebook}: every exercise needs exactly one key; missing: {', '.join(missing) or 'none'}")
    return [found[exercise.name] for exercise in listed]


def find(exercise: str) -> Key:
    """The key of the exercise called `exercise`.

    Raises:
        ffnlab.exercises.UnknownExercise: there is no such exercise.
    """
    notebook = exercises.notebook_of(exercise)
    return next(key for key in of_notebook(notebook) if key.exercise.name == exercise)
