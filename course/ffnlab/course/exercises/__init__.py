"""The exercises of the course, one module per notebook: how each is called, on what inputs, for how many points. No answers."""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffnlab.observation.exercise import Exercise

NOTEBOOKS = {  # in the course's order: by notebook, the module of its exercises
    "00_start_here": "start_here",
    "01_attention": "attention",
    "02_feed_forward": "feed_forward",
    "03_activations": "activations",
    "04_every_position": "every_position",
    "05_parameters": "parameters",
    "06_memory": "memory",
    "07_gated": "gated",
    "08_experts": "experts",
    "09_balance": "balance",
    "10_capstone": "capstone",
}

# What torch imports in a second where it is first needed, by the notebook whose exercises need it: whoever grades many imports it once.
LATE = {"06_memory": ("torch._dynamo",)}  # an optimizer's first step


class UnknownExercise(LookupError):
    """No exercise has this name; the message suggests the nearest."""


def module(notebook: str) -> ModuleType:
    """The module with a notebook's exercises, imported when it is first asked for: it brings torch."""
    return importlib.import_module(f"{__name__}.{NOTEBOOKS[notebook]}")


def source(notebook: str) -> Path:
    """The file of that module."""
    return Path(__file__).with_name(f"{NOTEBOOKS[notebook]}.py")


def of_notebook(notebook: str) -> list[Exercise]:
    """The exercises of one notebook, in its order."""
    from ffnlab.observation.exercise import Exercise

    return [value for value in vars(module(notebook)).values() if isinstance(value, Exercise)]


@cache
def every() -> dict[str, Exercise]:
    """All exercises by name; look, don't touch."""
    return {exercise.name: exercise for notebook in NOTEBOOKS for exercise in of_notebook(notebook)}


def find(name: str) -> Exercise:
    """The exercise called `name`.

    Raises:
        UnknownExercise: there is none.
    """
    exercises = every()
    if not isinstance(name, str) or name not in exercises:
        near = difflib.get_close_matches(str(name), exercises, n=1)
        raise UnknownExercise(
            f"there is no exercise called {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
        )
    return exercises[name]


def notebook_of(name: str) -> str:
    """The notebook that the exercise `name` belongs to."""
    find(name)
    return next(notebook for notebook in NOTEBOOKS if any(e.name == name for e in of_notebook(notebook)))
