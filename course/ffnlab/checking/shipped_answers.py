"""Reading and writing the shipped answers: for the public inputs, what the right answer and each known mistake do. Made by `make build`, one file per notebook.

They let `check` name a mistake on the student's machine. They hold outputs, never code; hidden inputs decide the grade.
"""

from __future__ import annotations

from dataclasses import astuple
from functools import cache
from typing import Any, cast

from ffnlab.checking.comparison import ReferenceOutputs
from ffnlab.diagnosis.mistake import KnownMistake
from ffnlab.observation import plain_data
from ffnlab.observation.plain_data import Size
from ffnlab.registry import active_course


class NoAnswers(LookupError):
    """The shipped answers of an exercise are not installed."""


def load(name: str) -> ReferenceOutputs:
    """The public marking of the exercise `name`.

    Raises:
        NoAnswers: the file of its notebook is missing or lacks it.
    """
    markings = _file(active_course().notebook_of(name))
    if name not in markings:
        raise NoAnswers(f"the shipped answers of {name} are missing; install the course again")
    return markings[name]


def dump(markings: dict[str, ReferenceOutputs]) -> bytes:
    """The bytes of a file with these markings, by exercise."""
    content = {
        name: {
            "cases": list(marking.cases),
            "mistakes": [(mistake.name, mistake.message, list(mistake.cases)) for mistake in marking.mistakes],
            "sizes": {aspect: astuple(size) for aspect, size in marking.sizes.items()},
        }
        for name, marking in markings.items()
    }
    return plain_data.pack(content)


def read(data: bytes) -> dict[str, ReferenceOutputs]:
    """The markings in a file that `dump` made, by exercise.

    Raises:
        plain.Malformed: it is no such file.
    """
    content = cast(dict[str, Any], plain_data.unpack(data))
    return {
        name: ReferenceOutputs(
            entry["cases"],
            [KnownMistake(*mistake) for mistake in entry["mistakes"]],
            {aspect: Size(*size) for aspect, size in entry.get("sizes", {}).items()},
        )
        for name, entry in content.items()
    }


@cache
def _file(notebook: str) -> dict[str, ReferenceOutputs]:
    try:
        data = active_course().answers_file(notebook).read_bytes()
    except OSError:
        raise NoAnswers(f"the shipped answers of {notebook} are missing; install the course again") from None
    return read(data)


def forget() -> None:
    """Read the files again at the next `load`: they were made anew."""
    _file.cache_clear()
