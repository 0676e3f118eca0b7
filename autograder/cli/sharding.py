"""Commands that grade a class in parts: `shard prepare`, `shard grade` and `shard enter`. docs/clusters.md shows them."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.text import Text

from autograder.class_folder.folder import ClassFolder
from autograder.cli.class_grading import (
    AssignmentsArgument,
    ClassGrading,
    JailOption,
    LimitOption,
    StartAnewOption,
    WorkersOption,
    parse_limits,
    parse_mode,
    pool_here,
    select_assignments,
)
from autograder.cli.shared import (
    FINISHING,
    ClassFolderOption,
    GradebookUrl,
    app,
    bar,
    class_of,
    console_of,
    lock_class,
    shorten_path,
    stop_after_interrupt,
)
from autograder.startup import pause_gc
from ffnlab.phrases import join_words, plural

if TYPE_CHECKING:
    from autograder.grading.grade_class import Grader
    from autograder.grading.shards import Shard, ShardReader, ShardSummary

MAX_NAMES = 20  # of a shard's students, in a line

shard_app = typer.Typer(
    help="Grade a class in parts, on several machines. Each part is a shard of the students.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(shard_app, name="shard")


@shard_app.command()
def prepare(
    assignment: AssignmentsArgument = None,
    grading: ClassFolderOption = None,
    start_anew: Annotated[
        bool, typer.Option("--start-anew", help="Draw new hidden inputs if the class's are gone.")
    ] = False,
    db_url: GradebookUrl = None,
) -> None:
    """Draw the hidden inputs, before any shard is graded.

    Do this once, where the class is. It also computes their reference outputs.
    """
    with pause_gc():
        from autograder.gradebook import draw_secrets
        from autograder.gradebook.gradebook import Book
        from autograder.grading import shards
        from autograder.reference import draws, stored

    console = console_of()
    class_folder = class_of(grading, db_url)
    names = select_assignments(class_folder, assignment)
    with (
        lock_class(class_folder),
        Book(class_folder, start_anew, writing=True) as book,
        console.status("") as status,
    ):
        for name in names:
            status.update(f"{name}: drawing hidden inputs")
            note = draw_secrets.check_secret(class_folder, name, start_anew)
            if note:
                console.print(Text(note, style="bold"), soft_wrap=True)
            shards.prepare(class_folder, name)
            book.keep_secret(name, draws.entries(class_folder.draws)[name])
    console.print(
        Text(
            f"The hidden inputs of {join_words(names)} are in {shorten_path(class_folder.draws)}, "
            f"their reference outputs in {shorten_path(class_folder.path / stored.FOLDER)}/. "
            "A machine that grades a shard needs both, and submitted/."
        ),
        soft_wrap=True,
    )
    words = shlex.join(["shard", "grade", "K/N", *(assignment or ()), "--to", "FOLDER"])
    console.print(Text(f"Next, on each machine: {class_folder.command(words)}"), style="dim", soft_wrap=True)


@shard_app.command("grade")
def grade_shard(
    shard: Annotated[
        str, typer.Argument(metavar="K/N", help="Part K of N. The first of three parts is 0/3, the last 2/3.")
    ],
    to: Annotated[Path, typer.Option(help="The folder for the files with the grades.")],
    assignment: AssignmentsArgument = None,
    grading: ClassFolderOption = None,
    workers: WorkersOption = None,
    jail: JailOption = "bubblewrap",
    limit: LimitOption = None,
) -> None:
    """Grade one shard into files, on any machine.

    It needs no gradebook. What is already in the files is not graded again.
    """
    from autograder.engine import forkserver

    forkserver.start()
    with pause_gc():
        from autograder.grading.shards import Shard

    which = Shard.of(shard)
    limits = parse_limits(limit or [])
    console = console_of()
    mode = parse_mode(console, jail)
    class_folder = class_of(grading, None)
    names = select_assignments(class_folder, assignment)
    problems: list[str] = []
    with pool_here(console, class_folder, names, workers, limits, mode) as grader:
        for name in names:
            summary = _grade_with_bar(console, class_folder, name, which, to, grader)
            there = f", {summary.there} were already there" if summary.there else ""
            line = f"{name}, shard {which}: {summary.graded_count} graded{there}; files in {shorten_path(to / name)}"
            console.print(Text(line), soft_wrap=True)
            for problem in summary.problems:
                console.print(Text(f"not graded, {problem}", style="bold red"), soft_wrap=True)
            problems += summary.problems
    hint = f"When all shards are graded, where the class is: {class_folder.command(enter_words([to], assignment))}"
    console.print(Text(hint), style="dim", soft_wrap=True)
    if problems:
        raise typer.Exit(2)


def _grade_with_bar(
    console: Console, class_folder: ClassFolder, assignment: str, shard: Shard, to: Path, grader: Grader
) -> ShardSummary:
    """Grade one shard of an assignment under a progress bar. Ctrl-C ends the command."""
    from autograder.grading import shards
    from autograder.grading.grade_class import ctrl_c_sets

    stop = threading.Event()
    with bar(console) as progress, ctrl_c_sets(stop, lambda: console.print(FINISHING)):
        task = progress.add_task(f"{assignment}, shard {shard}", total=None, rate="")
        try:
            return shards.grade(class_folder, assignment, shard, to, grader, partial(_advance, progress, task), stop)
        except KeyboardInterrupt:
            progress.stop()
            stop_after_interrupt("what was graded is saved", "grades the rest")


def _advance(progress: Progress, task: TaskID, total: int) -> None:
    progress.update(task, total=total, advance=1)


@shard_app.command()
def enter(
    folder: Annotated[
        list[Path],
        typer.Argument(exists=True, file_okay=False, help="The folders that `autograder shard grade` wrote into."),
    ],
    assignment: Annotated[
        list[str] | None, typer.Option(help="Only this assignment. May be repeated. [default: all that were submitted]")
    ] = None,
    grading: ClassFolderOption = None,
    force: Annotated[bool, typer.Option("--force", help="Enter again what has not changed.")] = False,
    limit: LimitOption = None,
    start_anew: StartAnewOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show whose points would change, and write nothing.")
    ] = False,
    db_url: GradebookUrl = None,
) -> None:
    """Enter the shards' grades into the gradebook.

    Do this where the class is. It makes the feedback pages, and lists what is still missing.
    """
    with pause_gc():
        from autograder.grading.grade_class import GradeOptions
        from autograder.grading.shards import ShardReader

    console = console_of()
    class_folder = class_of(grading, db_url)
    names = select_assignments(class_folder, assignment)
    options = GradeOptions(force=force or dry_run, anew=start_anew, dry=dry_run)
    class_grading = ClassGrading(console, class_folder, names, options, hint="--force enters them again")
    whole = True
    with lock_class(class_folder, dry_run):
        reader = ShardReader(folder, parse_limits(limit or []))
        for name in names:
            is_graded = class_grading.grade(name, reader)
            is_missing = _say_what_is_missing(console, name, reader)
            whole = whole and is_graded and not is_missing
    class_grading.conclude(whole, grading)


def enter_words(folders: Sequence[Path], assignment: Sequence[str] | None) -> str:
    """The words of the command that enters these folders' files."""
    words = ["shard", "enter", *map(str, folders)]
    for name in assignment or ():
        words += ["--assignment", name]
    return shlex.join(words)


def _say_what_is_missing(console: Console, assignment: str, reader: ShardReader) -> bool:
    """Name the submissions for which no file was there. Returns whether there are any."""
    for shard, students in sorted(reader.missing.items(), key=lambda item: int(item[0].partition("/")[0])):
        names = ", ".join(students[:MAX_NAMES])
        if len(students) > MAX_NAMES:
            names += f" and {len(students) - MAX_NAMES:,} more"
        count = plural(f"{len(students):,}", "student")
        line = (
            f"{assignment}: no file has the results of {count} in shard {shard} ({names}): "
            "grade this shard, then enter the files again"
        )
        console.print(Text(line, style="bold red"), soft_wrap=True)
    missing = bool(reader.missing)
    reader.missing.clear()
    return missing
