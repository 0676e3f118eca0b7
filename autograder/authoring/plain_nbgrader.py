"""Plain `nbgrader autograde` on a class, as an instructor without our engine would run it: for comparing scores and speed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.gradebook import gradebook
from autograder.paths import root
from autograder.reference import draws


def autograde(class_folder: ClassFolder, assignment: str, student: str | None = None) -> str:
    """Run `nbgrader autograde` on a class and return its log. The class gets its secret for hidden draws first, as ours would make it.

    Raises:
        UserError: nbgrader is not installed.
    """
    program = Path(sys.executable).parent / "nbgrader"
    if not program.is_file():
        raise UserError("nbgrader is not installed beside this Python")
    draws.ensure_hidden_seeds(assignment, class_folder.draws)
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(assignment)
    command = [str(program), "autograde", assignment, "--force"]
    if student:
        command.append(f"--student={student}")
    environment = os.environ | {"AUTOGRADER_GRADING": str(class_folder.path.resolve()), "FFNLAB_STRICT": "0"}
    process = subprocess.run(
        command, cwd=root(), env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    return process.stdout + process.stderr


def scores(class_folder: ClassFolder, assignment: str) -> dict[str, dict[str, float]]:
    """Every student's automatic scores by exercise, as nbgrader's gradebook holds them; cells graded by hand are left out."""
    with gradebook.Book(class_folder) as book:
        gradebook_scores = book.automatic_scores(assignment)
    return {
        student: {
            name.removeprefix("check-"): score or 0.0 for name, score in grades.items() if name.startswith("check-")
        }
        for student, grades in gradebook_scores.items()
    }
