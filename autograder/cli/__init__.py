"""The command line, `autograder`: one module a group of commands.

Other rooms return what there is to say. What prints all the same gets the command's console: `reports/class_table.py`, `authoring/matrix_table.py` and
`authoring/bench.py`. Programs of their own, `gradescope/in_container.py` and `authoring/experiments/`, print by themselves.
"""

from __future__ import annotations

import gc
import sys
import traceback
from pathlib import Path
from typing import Any

import typer

# isort: off
# Each adds its commands.
from autograder.cli import grading, sharding, transfer, exporting, reading, serving, authors, making

# isort: on
from autograder import files
from autograder.cli.shared import app, shorten_path
from autograder.errors import UserError
from autograder.keys.problem import KeyProblem
from ffnlab.phrases import sentence
from ffnlab.registry import CourseNotFound, active_course

__all__ = ["app", "authors", "exporting", "grading", "main", "making", "reading", "serving", "sharding", "transfer"]

USAGE_ERROR: Any = typer.BadParameter.__bases__[0]  # of click, of which newer versions of Typer have their own copy


def main() -> None:
    """Run the command line: what a user can mend is one line on stderr and exit status 2."""
    try:
        status = app(prog_name="autograder", standalone_mode=False)
    except typer.Abort:
        sys.exit(1)
    except USAGE_ERROR as error:
        sys.stderr.write(f"{_usage_line(error)}\n")
        sys.exit(2)
    except Exception as error:
        line = _mendable(error)
        if not line:
            raise
        sys.stderr.write(f"autograder: {line}\n")
        sys.exit(2)
    finally:
        gc.freeze()  # a million objects are left, and nobody needs their memory back: the interpreter ends sooner
    sys.exit(status or 0)


def _usage_line(error: Any) -> str:
    """What is wrong with the words of a command, in one line. Without any words, the command's help."""
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(message)
    command = error.ctx.command_path if error.ctx else "autograder"
    return f"autograder: {message[0].lower()}{sentence(message[1:])} See `{command} --help`"


def _mendable(error: Exception) -> str:
    """One line for an error that its reader can mend; empty where it is a fault of ours, whose traceback should be seen."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, SyntaxError) and _is_authors(error.filename or ""):
        return f"{shorten_path(Path(str(error.filename)))}, line {error.lineno}: {error.msg}"
    if isinstance(error, KeyProblem) and error.file:  # it names a row, which a traceback can't
        return f"{shorten_path(Path(error.file))}, line {error.line}: {error.problem}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_authors(frame.filename):
            problem = str(error) if isinstance(error, KeyProblem) else f"{type(error).__name__}: {error}"
            return f"{shorten_path(Path(frame.filename))}, line {frame.lineno}: {problem}"
    if isinstance(error, OSError) and (line := files.explain(error)):
        return line
    if "sqlalchemy" in sys.modules:  # not every command imports it
        from sqlalchemy.exc import DBAPIError

        if isinstance(error, DBAPIError):
            from autograder.gradebook import database

            return database.explain(error)
    from autograder.jail.sandbox import JailBroken

    return str(error) if isinstance(error, (JailBroken, KeyProblem, CourseNotFound)) else ""


def _is_authors(filename: str) -> bool:
    """Whether a file is one that authors write: a notebook's exercises, or the key of one of them."""
    try:
        exercises, keys = active_course().folder / "exercises", active_course().keys_folder
    except CourseNotFound:
        return False
    file = Path(filename).resolve()
    return file.name != "__init__.py" and (file.parent == exercises or file.parents[1] == keys)
