"""The predictions of the course: a question that is answered with a click before the reader sees, and what is said afterwards. One module per notebook."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from ffnlab.course.exercises import (
    NOTEBOOKS,  # by notebook, the module here: each is called as the one with its exercises
)
from ffnlab.course.predictions.prediction import Prediction

__all__ = ["NOTEBOOKS", "Prediction", "every", "find", "of_notebook", "source"]


def source(notebook: str) -> Path:
    """The file of that module."""
    return Path(__file__).with_name(f"{NOTEBOOKS[notebook]}.py")


@cache
def of_notebook(notebook: str) -> dict[str, Prediction]:
    """The predictions of one notebook, by name, in the order in which they are asked."""
    module = importlib.import_module(f"{__name__}.{NOTEBOOKS[notebook]}")
    asked: dict[str, Prediction] = module.PREDICTIONS
    return asked


def every() -> dict[str, Prediction]:
    """All predictions, by name."""
    return {name: asked for notebook in NOTEBOOKS for name, asked in of_notebook(notebook).items()}


def find(name: str) -> Prediction:
    """The prediction called `name`.

    Raises:
        LookupError: there is none.
    """
    try:
        return every()[name]
    except (KeyError, TypeError):
        raise LookupError(f"there is no prediction called {name!r}") from None
