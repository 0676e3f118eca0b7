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

from autograder.cli.shared import alone, bar, shown
from autograder.house import Class

if TYPE_CHECKING:
    from autograder.desk.classroom import Grader
    from autograder.desk.shards import Reader

MOST = 20  # students of a shard that are named


def prepare(console: Console, school: Class, names: Sequence[str]) -> None:
    """Draw hidden inputs, compute their reference outputs, and grade nothing."""
    from autograder.desk import secrets, shards
    from autograder.desk.gradebook import Book
    from autograder.marking import draws, markings

    with alone(school), Book(school, writing=True) as book, console.status("") as status:
        for name in names:
            status.update(f"{name}: drawing hidden inputs")
            secrets.look(school, name)
            shards.prepare(school, name)
            book.keep_secret(name, draws.entries(school.draws)[name])
    console.print(
        Text(
            f"The hidden inputs of {', '.join(names)} are in {shown(school.draws)}, their reference outputs in {shown(school.folder / markings.FOLDER)}/. "
            "A machine that grades a shard needs both, and submitted/."
        ),
        soft_wrap=True,
    )


def grade_shard(console: Console, school: Class, names: Sequence[str], text: str, to: Path, team: Grader) -> None:
    """Grade one shard into files. Ends with status 2 where something could not be graded."""
    from autograder.cli.grading import FINISHING, interrupted
    from autograder.desk import shards
    from autograder.desk.classroom import ctrl_c_sets

    shard, stop, whole = shards.Shard.of(text), threading.Event(), True
    for name in names:
        with bar(console) as progress, ctrl_c_sets(stop, lambda: console.print(FINISHING)):
            task = progress.add_task(f"{name}, shard {shard}", total=None, rate="")
            try:
                summary = shards.grade(school, name, shard, to, team, partial(_advance, progress, task), stop)
            except KeyboardInterrupt:
                progress.stop()
                interrupted("what was graded is saved", "grades the rest")
        there = f", {summary.there} were there already" if summary.there else ""
        console.print(
            Text(f"{name}, shard {shard}: {summary.graded} graded{there}; files in {shown(to / name)}"), soft_wrap=True
        )
        for problem in summary.problems:
            console.print(Text(f"not graded, {problem}", style="bold red"), soft_wrap=True)
        whole = whole and not summary.problems
    if not whole:
        raise typer.Exit(2)


def _advance(progress: Progress, task: TaskID, total: int) -> None:
    progress.update(task, total=total, advance=1)


def say_what_is_missing(console: Console, assignment: str, reader: Reader) -> bool:
    """Name the submissions for which no file was there. Returns whether there are any."""
    for shard, students in sorted(reader.missing.items(), key=lambda item: int(item[0].partition("/")[0])):
        listed = ", ".join(students[:MOST]) + (f" and {len(students) - MOST:,} more" if len(students) > MOST else "")
        line = f"{assignment}: not graded in any file, {len(students):,} of shard {shard}: {listed}"
        console.print(Text(line, style="bold red"), soft_wrap=True)
    missing = bool(reader.missing)
    reader.missing.clear()
    return missing
