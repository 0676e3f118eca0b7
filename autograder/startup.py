"""What stands at the start of a command: which course it works on, and what makes it shorter."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from autograder.paths import find_root
from ffnlab import registry

ACTIVATION = "COURSE = activate(Course("  # what a course's package says, at the beginning of a line
# Folders with what students sent: nothing there is ever imported.
FROM_OTHERS = {"submitted", "autograded", "collected", "downloaded"}


@contextlib.contextmanager
def pause_gc() -> Iterator[None]:
    """Around large imports, which make a million objects: looking for garbage among them would take a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def enter_course() -> None:
    """Take the course of the project's folder, if it has one of its own, for this process and those that it starts. FFNLAB_COURSE goes first."""
    place = find_root()
    if os.environ.get(registry.VARIABLE) or place is None or FROM_OTHERS.intersection(place.parts):
        return
    package = find_package(place)
    if not package:
        return
    folders = [str(place / "course"), str(place)]
    sys.path[:0] = folders
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ[registry.VARIABLE] = package


def find_package(place: Path) -> str:
    """The package of the course in a project's folder; empty where its students get that of the installed course."""
    for init in sorted((place / "course").glob("*/__init__.py")):
        if any(line.startswith(ACTIVATION) for line in init.read_text(encoding="utf-8").splitlines()):
            return init.parent.name
    return ""
