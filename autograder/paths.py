"""Where the project's own files are: the course, its solutions and their sources."""

from __future__ import annotations

from pathlib import Path

from autograder.errors import UserError, suggest_nearest
from ffnlab.registry import active_course
from ffnlab.untrusted_text import in_a_line


def root() -> Path:
    """The project's folder: the nearest one from here upwards with solutions/ and course/, else the one this package lies in.

    Raises:
        UserError: there is none.
    """
    if place := find_root():
        return place
    raise UserError(
        "this is not the project's folder: neither it nor a folder above has solutions/ and course/. "
        "`autograder new-class FOLDER` makes one for a class, `autograder new-course NAME` one for a new course"
    )


def find_root() -> Path | None:
    """The project's folder, if there is one."""
    places = (Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parent.parent)
    return next((place for place in places if (place / "solutions").is_dir() and (place / "course").is_dir()), None)


def release(assignment: str) -> Path:
    """The student's notebook of an assignment."""
    return root() / "course" / assignment / f"{assignment}.ipynb"


def solution(assignment: str) -> Path:
    """The executed solution notebook, nbgrader's source."""
    return root() / "solutions" / assignment / f"{assignment}.ipynb"


def source(assignment: str) -> Path:
    """What an author edits."""
    return root() / "solutions" / f"{assignment}.py"


def assignments() -> list[str]:
    """The notebooks of the course that exist."""
    return [name for name in active_course().notebooks if source(name).is_file()]


def describe_unknown_assignment(text: str) -> str:
    """What is to be said of a text that names no assignment."""
    there = assignments()
    by_number = [name for name in there if name.partition("_")[0] == text]
    suggestion = f"; did you mean {by_number[0]}?" if by_number else suggest_nearest(text, there)
    return f"there is no assignment called {in_a_line(text, 60)!r}{suggestion or '; there are: ' + ', '.join(there)}"


def require_assignment(assignment: str) -> str:
    """The name of an assignment.

    Raises:
        UserError: there is no such assignment.
    """
    if assignment not in assignments():
        raise UserError(describe_unknown_assignment(assignment))
    return assignment
