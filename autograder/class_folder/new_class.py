"""A folder in which a class is graded without a clone: the notebooks, their solutions, the documentation, nbgrader's settings, and an empty class."""

from __future__ import annotations

from pathlib import Path

from autograder import project_files
from autograder.errors import UserError
from autograder.files import make_folder, replace, write_private

RULES = """# The rules of your class. docs/course.toml explains every line that can be here; without any, each notebook counts and nothing is due.
# time_zone = "Europe/Berlin"
"""
MARK = "nbgrader_config.py"  # a file by which such a folder is known


def make(target: Path, update: bool = False) -> int:
    """Make a class's folder; returns how many of the course's files were written.

    update: bring the folder of an earlier version to this one. The class itself, which is in `grading`, stays as it is.

    Raises:
        UserError: the folder holds something else, or there is none to update.
    """
    if update and not (target / MARK).is_file():
        raise UserError(f"{target} is not the folder of a class: without --update, the command makes one")
    if not update and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} is already there: name a new folder, or add --update if it is the folder of a class")
    here = project_files.folder()
    if target.resolve() == here.resolve() or here.resolve() in target.resolve().parents:
        raise UserError(f"{target} is in the project's own folder: name one elsewhere")
    written = 0
    for name, file in project_files.find(here, *project_files.CLASS_FILES).items():
        data = file.read_bytes()
        if not (target / name).is_file() or (target / name).read_bytes() != data:
            replace(target / name, data)
            written += 1
    if not written and not update:
        raise UserError("this installation lacks the course's notebooks: install the wheel of a release")
    make_folder(target / "grading" / "submitted")
    if not (target / "grading" / "course.toml").exists():
        write_private(target / "grading" / "course.toml", RULES)
    return written
