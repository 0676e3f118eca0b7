"""`make bench`: one class, one machine, one run: plain nbgrader against our engine with one worker and with as many as there are cores."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from autograder import classroom, sample, stock
from autograder.house import Class
from autograder.jail.limits import Limits


def run(console: Console, assignment: str, students: int, plain: int) -> None:
    """Grade a fresh sample class in each way; print submissions per minute and the ratio.

    students: how many our engine grades. plain: how many of them plain nbgrader grades, since it takes seconds for each.
    """
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        ours = [(f"autograder grade, {count} worker{'s' if count > 1 else ''}", count) for count in sorted({1, cores})]
        rates = {"nbgrader autograde": _rate(Path(folder), assignment, plain, _plain)}
        for name, count in ours:
            rates[name] = _rate(Path(folder), assignment, students, _engine(count))
    table = Table(box=box.SIMPLE_HEAD, title=f"{assignment}, honest and odd submissions mixed", title_justify="left")
    for title in ("how", "submissions", "seconds", "a minute", "ratio"):
        table.add_column(title, justify="left" if title == "how" else "right")
    base = rates["nbgrader autograde"]
    for name, (count, seconds) in rates.items():
        ratio = (count / seconds) / (base[0] / base[1])
        table.add_row(name, str(count), f"{seconds:.1f}", f"{60 * count / seconds:.0f}", f"{ratio:.1f} ×")
    console.print(table)
    console.print(
        f"{platform.machine()}, {cores} cores, Python {platform.python_version()}; start of the jail included."
    )


def _rate(folder: Path, assignment: str, students: int, grade: Callable[[Class, str], None]) -> tuple[int, float]:
    school = Class(folder / "class")
    shutil.rmtree(school.folder, ignore_errors=True)
    sample.make(school, students)
    start = time.perf_counter()
    grade(school, assignment)
    return students, time.perf_counter() - start


def _plain(school: Class, assignment: str) -> None:
    stock.autograde(school, assignment)


def _engine(workers: int) -> Callable[[Class, str], None]:
    def grade(school: Class, assignment: str) -> None:
        classroom.grade(school, assignment, Limits(), classroom.Where(workers))

    return grade
