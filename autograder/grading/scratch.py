"""What a dry run makes: hidden inputs and reference outputs, in a folder that is removed with it. Called by grade_class."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autograder.gradebook.draw_secrets import ClassSecrets
from autograder.reference import draws, stored


@contextlib.contextmanager
def folder_with(secrets: ClassSecrets, assignment: str) -> Iterator[Path]:
    """A folder with the secrets of a class and what is kept for an assignment, so that only what is missing is computed.

    Only its owner can enter it, and no jail mounts it: bubblewrap's has a /tmp of its own.
    """
    with tempfile.TemporaryDirectory(prefix="dry-run-") as name:
        folder = Path(name)
        draws.write(folder / draws.FILE, secrets.entries)
        kept = folder / stored.FOLDER
        kept.mkdir()
        for file in (secrets.class_folder.path / stored.FOLDER).glob(f"{assignment}.*"):
            shutil.copy(file, kept)
        yield folder
