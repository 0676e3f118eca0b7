"""The log of a class, `grading.log` in its folder: one line a submission, for a person to read and for `grep`."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from autograder.engine.graded import Graded
from autograder.house import Class, appending
from ffnlab.cleaning import in_a_line
from ffnlab.verdict import Outcome

FILE = "grading.log"


@contextlib.contextmanager
def of(school: Class) -> Iterator[Callable[[str, Graded], None]]:
    """A function that appends a submission's line to the class's log."""
    with appending(school.folder / FILE) as file:

        def write(student: str, graded: Graded) -> None:
            file.write(line(student, graded) + "\n")
            file.flush()

        yield write


def mentions(school: Class, assignment: str) -> bool:
    """Whether a submission of an assignment was ever logged."""
    try:
        with open(school.folder / FILE, encoding="utf-8") as lines:
            return any(line.split("  ")[2:3] == [assignment] for line in lines)
    except FileNotFoundError:
        return False


def line(student: str, graded: Graded) -> str:
    """When, who, what, points, seconds, how the exercises ended, the named mistakes, remarks; nothing of the student's unescaped."""
    counts = Counter(verdict.outcome for verdict in graded.verdicts.values())
    ended = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    named = ", ".join(f"{name}: {verdict.mistake}" for name, verdict in graded.verdicts.items() if verdict.mistake)
    parts = [
        datetime.now(UTC).isoformat(timespec="seconds"), student, graded.assignment,
        f"{graded.points:g}/{graded.max_points:g}", f"{graded.seconds:.2f} s", ended, named, "; ".join(graded.remarks),
    ]  # fmt: skip
    return "  ".join(in_a_line(part, 1000) for part in parts if part)
