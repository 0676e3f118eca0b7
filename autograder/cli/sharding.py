"""What `autograder grade` does with a part of a class: --prepare, --shard and --from."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.text import Text

from autograder.class_folder.folder import ClassFolder
from autograder.cli.shared import FINISHING, bar, lock_class, shorten_path, stop_after_interrupt

if TYPE_CHECKING:
    from autograder.grading.grade_class import Grader
    from autograder.grading.shards import ShardReader

MAX_NAMES = 20  # of a shard's students, in a line


def prepare(console: Console, class_folder: ClassFolder, names: Sequence[str]) -> None:
    """Draw hidden inputs, compute their reference outputs, and grade nothing."""
    from autograder.gradebook import draw_secrets
    from autograder.gradebook.gradebook import Book
    from autograder.grading import shards
    from autograder.reference import draws, stored

    with lock_class(class_folder), Book(class_folder, writing=True) as book, console.status("") as status:
        for name in names:
            status.update(f"{name}: drawing hidden inputs")
            draw_secrets.check_secret(class_folder, name)
            shards.prepare(class_folder, name)
            book.keep_secret(name, draws.entries(class_folder.draws)[name])
    console.print(
        Text(
            f"The hidden inputs of {', '.join(names)} are in {shorten_path(class_folder.draws)}, "
            f"their reference outputs in {shorten_path(class_folder.path / stored.FOLDER)}/. "
            "A machine that grades a shard needs both, and submitted/."
        ),
        soft_wrap=True,
    )


def grade_shard(
    console: Console, class_folder: ClassFolder, names: Sequence[str], text: str, to: Path, grader: Grader
) -> None:
    """Grade one shard into files. Ends with status 2 where something could not be graded."""
    from autograder.grading import shards
    from autograder.grading.grade_class import ctrl_c_sets

    shard, stop, whole = shards.Shard.of(text), threading.Event(), True
    for name in names:
        with bar(console) as progress, ctrl_c_sets(stop, lambda: console.print(FINISHING)):
            task = progress.add_task(f"{name}, shard {shard}", total=None, rate="")
            try:
                summary = shards.grade(class_folder, name, shard, to, grader, partial(_advance, progress, task), stop)
            except KeyboardInterrupt:
                progress.stop()
                stop_after_interrupt("what was graded is saved", "grades the rest")
        there = f", {summary.there} were already there" if summary.there else ""
        console.print(
            Text(f"{name}, shard {shard}: {summary.graded_count} graded{there}; files in {shorten_path(to / name)}"),
            soft_wrap=True,
        )
        for problem in summary.problems:
            console.print(Text(f"not graded, {problem}", style="bold red"), soft_wrap=True)
        whole = whole and not summary.problems
    if not whole:
        raise typer.Exit(2)


def _advance(progress: Progress, task: TaskID, total: int) -> None:
    progress.update(task, total=total, advance=1)


def say_what_is_missing(console: Console, assignment: str, reader: ShardReader) -> bool:
    """Name the submissions for which no file was there. Returns whether there are any."""
    for shard, students in sorted(reader.missing.items(), key=lambda item: int(item[0].partition("/")[0])):
        student_list = ", ".join(students[:MAX_NAMES]) + (
            f" and {len(students) - MAX_NAMES:,} more" if len(students) > MAX_NAMES else ""
        )
        line = f"{assignment}: no file has the results of {len(students):,} of shard {shard}: {student_list}"
        console.print(Text(line, style="bold red"), soft_wrap=True)
    missing = bool(reader.missing)
    reader.missing.clear()
    return missing
