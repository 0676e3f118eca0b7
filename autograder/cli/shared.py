"""What several groups of commands share: the application, the console, and how a class is named."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text
from typer.core import TyperGroup

from autograder import __version__
from autograder.class_folder.folder import ClassFolder, class_lock
from autograder.errors import UserError
from autograder.paths import root

if TYPE_CHECKING:
    from autograder.gradebook.gradebook import Book
    from autograder.gradebook.policy import Policy

FINISHING = "finishing what is running; Ctrl-C again stops at once"
# By who uses them, and within that in the order in which they come in a term.
USERS = {
    "For instructors": (
        "new-class", "handout", "collect", "grade", "shard", "feedback", "report", "why", "give-back", "desk", "gradescope", "sample", "doctor",
    ),
    "For authors": ("new-course", "build", "matrix", "answer", "answers", "minutes", "stills", "boxes", "site"),
    "For maintainers": ("stability", "mutants", "bench", "release"),
}  # fmt: skip


class ByUser(TyperGroup):
    """Lists the commands in `--help` by who uses them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for title, names in USERS.items():
            commands = {name: self.get_command(ctx, name) for name in names}
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(width), _first_sentence(command.help))
                        for name, command in commands.items()
                        if command
                    ]
                )


def _first_sentence(text: str | None) -> str:
    return re.split(r"(?<=[.:])\s", (text or "").strip(), maxsplit=1)[0].rstrip(".:")


app = typer.Typer(
    cls=ByUser,
    help="Grade the course's notebooks and name the mistakes in them. Plain nbgrader works on the same folders.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"autograder {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """What comes before a command."""


ClassFolderOption = Annotated[
    Path | None, typer.Option(help="The class folder, which contains submitted/. [default: grading/]")
]


GradebookUrl = Annotated[
    str | None,
    typer.Option(envvar="AUTOGRADER_DB_URL", help="The gradebook. [default: gradebook.db in the class folder]"),
]


def bar(console: Console) -> Progress:
    """A progress bar that goes when the work is done; a task has a field `rate`."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True,
    )  # fmt: skip


def console_of() -> Console:
    """A console as wide as the terminal; wide, where the output goes to a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else 160)


@contextlib.contextmanager
def lock_class(class_folder: ClassFolder, dry_run: bool = False) -> Iterator[None]:
    """Lock a class folder, as `class_lock` does; whoever started the command is told what there is to tell.

    A dry run takes no lock, as it only reads, and a lock is a file in the folder.
    """
    if dry_run:
        yield
        return
    with class_lock(class_folder, _tell_once):
        yield


@cache
def _tell_once(text: str) -> None:
    console_of().print(Text(text, style="dim"), soft_wrap=True)


def class_of(folder: Path | None, db_url: str | None) -> ClassFolder:
    if folder is not None and not folder.exists():
        raise UserError(
            f"there is no folder {folder}: for a new class, make it with `mkdir {shlex.quote(str(folder))}` first"
        )
    if folder is not None and not folder.is_dir():
        raise UserError(f"{folder} is not a folder")
    return ClassFolder(folder or Path(os.environ.get("AUTOGRADER_GRADING") or root() / "grading"), db_url)


def class_or_sample(folder: Path | None, db_url: str | None) -> ClassFolder:
    """The class of that folder; without one the usual class, or the sample class while nobody has submitted anything."""
    class_folder = class_of(folder, db_url)
    sample = ClassFolder(root() / "grading" / "sample", db_url)
    return sample if folder is None and class_folder.is_empty() and not sample.is_empty() else class_folder


def book_of(class_folder: ClassFolder) -> Book:
    """The gradebook of a class that was graded; one that is not there is not made.

    Raises:
        UserError: there is none.
    """
    from autograder.gradebook import preflight

    preflight.check_gradebook(class_folder)
    path = class_folder.db_url.removeprefix("sqlite:///")
    if path != class_folder.db_url and not Path(path).exists():
        raise no_grades_error(class_folder)
    from autograder.gradebook import gradebook

    return gradebook.Book(class_folder)


def say_doubts(console: Console, policy: Policy, book: Book) -> bool:
    """Say which names in course.toml are nobody's, and whether there are any: then the command ends with status 2."""
    doubts = policy.doubts(book.students())
    for line in doubts:
        console.print(Text(line), style="bold red", soft_wrap=True)
    return bool(doubts)


def no_grades_error(class_folder: ClassFolder) -> UserError:
    sample = root() / "grading" / "sample"
    or_else = ", or add `--grading grading/sample`" if sample.is_dir() and class_folder.is_empty() else " first"
    return UserError(f"nothing has been graded in {class_folder.path}: run {class_folder.command('grade')}{or_else}")


def stop_after_interrupt(outcome: str, again: str) -> NoReturn:
    """End after Ctrl-C. outcome: what became of the work; again: what the same command does next."""
    sys.stderr.write(f"autograder: interrupted; {outcome}. The same command {again}.\n")
    raise typer.Exit(130) from None


def student_of(class_folder: ClassFolder, text: str, names: Mapping[str, str] | None = None) -> str:
    """The folder of a student whom a person called by it, by an id, a login, an e-mail address or a name.

    names: of those who may be meant beside the roster's and those in submitted/, by folder. Raises UserError: it is not clear who that is.
    """
    from autograder.class_folder.student_lookup import StudentLookup

    return StudentLookup.of(class_folder, names).find(text)


def source_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} can't be read: {error}") from None


def shorten_path(path: Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def notebook_of(exercise: str) -> str:
    from autograder import outline

    try:
        return outline.notebook_of(exercise)
    except LookupError as error:
        raise UserError(str(error.args[0])) from None
