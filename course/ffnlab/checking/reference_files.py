"""Files of reference outputs. Those on the public inputs are shipped with the course, in one file per notebook that `make build` makes.

They let `check` name a mistake on the student's machine. They hold outputs, never code; hidden inputs decide the grade. Graders write files of their
own, on hidden inputs, in the same form.
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


class NoReferenceOutputs(LookupError):
    """The shipped reference outputs of an exercise are not installed."""


def load_public(name: str) -> ReferenceOutputs:
    """The reference outputs of the exercise `name` on its public inputs.

    Raises:
        NoReferenceOutputs: the file of its notebook is missing or lacks it.
    """
    reference_outputs = _read_public(active_course().notebook_of(name))
    if name not in reference_outputs:
        raise NoReferenceOutputs(f"the shipped reference outputs of {name} are missing; install the course again")
    return reference_outputs[name]


def dump(reference_outputs: dict[str, ReferenceOutputs]) -> bytes:
    """The bytes of a file with these reference outputs, by exercise."""
    content = {
        name: {
            "cases": list(outputs.cases),
            "mistakes": [(mistake.name, mistake.message, list(mistake.cases)) for mistake in outputs.mistakes],
            "sizes": {aspect: astuple(size) for aspect, size in outputs.sizes.items()},
        }
        for name, outputs in reference_outputs.items()
    }
    return plain_data.pack(content)


def read(data: bytes) -> dict[str, ReferenceOutputs]:
    """The reference outputs in a file that `dump` made, by exercise.

    Raises:
        plain_data.Malformed: it is no such file.
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
def _read_public(notebook: str) -> dict[str, ReferenceOutputs]:
    try:
        data = active_course().reference_file(notebook).read_bytes()
    except OSError:
        raise NoReferenceOutputs(
            f"the shipped reference outputs of {notebook} are missing; install the course again"
        ) from None
    return read(data)


def clear_cache() -> None:
    """Read the files again at the next `load_public`: they were made anew."""
    _read_public.cache_clear()
