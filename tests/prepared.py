"""A class whose hidden draws were found before: the secret and the reference outputs, as its first grading leaves them in its folder."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path

from autograder.class_folder.folder import ClassFolder
from autograder.engine import preparation
from autograder.files import make_folder, write_private
from autograder.reference import draws, stored


def give_draws(class_folder: ClassFolder, assignment: str) -> None:
    """Put an assignment's secret and reference outputs into a class's folder, where they are not there yet.

    To find them every kept answer runs, which takes seconds. Tests that look at something else share those found once in this process.
    """
    entries = draws.entries(class_folder.draws)
    if assignment in entries:
        return
    found, reference = _prepare(assignment)
    make_folder(class_folder.path)
    draws.write(class_folder.draws, entries | draws.entries(found))
    target = class_folder.path / stored.FOLDER / reference.name
    make_folder(target.parent)
    write_private(target, reference.read_bytes())


@cache
def _prepare(assignment: str) -> tuple[Path, Path]:
    """The file with a fresh secret, and the file with the reference outputs: made as for a class, in a folder that goes with this process."""
    folder = tempfile.TemporaryDirectory(prefix="prepared-")
    atexit.register(folder.cleanup)
    hidden_draws = Path(folder.name) / draws.FILE
    _, reference = preparation.prepare(assignment, hidden_draws, Path(folder.name))
    return hidden_draws, reference
