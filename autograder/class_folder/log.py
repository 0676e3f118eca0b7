"""The log of a class, `grading.log` in its folder: one line a submission, for a person to read and for `grep`."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from autograder.class_folder.folder import ClassFolder
from autograder.engine.graded_submission import GradedSubmission
from autograder.files import append_to, errors_of
from ffnlab.checking.verdict import Outcome
from ffnlab.untrusted_text import in_a_line

FILE = "grading.log"
SPACE = "  "  # between the parts of a line


@dataclass(frozen=True)
class LogLine:
    """What a submission's line tells."""

    graded_at: str  # in ISO 8601
    student: str
    graded_submission: GradedSubmission

    def __str__(self) -> str:
        """When, who, what, points, seconds, how the exercises ended, the named mistakes, remarks; nothing of the student's unescaped."""
        graded_submission = self.graded_submission
        counts = Counter(verdict.outcome for verdict in graded_submission.verdicts.values())
        outcomes = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
        mistakes = ", ".join(
            f"{name}: {verdict.mistake}" for name, verdict in graded_submission.verdicts.items() if verdict.mistake
        )
        parts = [
            self.graded_at,
            self.student,
            graded_submission.assignment,
            f"{graded_submission.points:g}/{graded_submission.max_points:g}",
            f"{graded_submission.seconds:.2f} s",
            outcomes,
            mistakes,
            "; ".join(graded_submission.remarks),
        ]
        return SPACE.join(in_a_line(part, 1000) for part in parts if part)


@contextlib.contextmanager
def open_log(class_folder: ClassFolder) -> Iterator[Callable[[Iterable[LogLine]], None]]:
    """A function that appends lines to the class's log; they are on the disk afterwards."""
    path = class_folder.path / FILE
    with append_to(path) as file:

        def write(lines: Iterable[LogLine]) -> None:
            with errors_of(path):
                file.writelines(f"{line}\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())

        yield write


def last_entries(class_folder: ClassFolder, assignment: str) -> tuple[str, set[tuple[str, str]]]:
    """When the submission in the last line of an assignment was graded, or ""; and when whose were, of all its lines."""
    try:
        lines = (class_folder.path / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    entries = [line.split(SPACE) for line in lines]
    entries = [parts for parts in entries if parts[2:3] == [assignment]]
    last = entries[-1][0] if entries else ""
    return last, {(graded_at, student) for graded_at, student, *_ in entries}


def mentions(class_folder: ClassFolder, assignment: str) -> bool:
    """Whether a submission of an assignment was ever logged."""
    try:
        with open(class_folder.path / FILE, encoding="utf-8") as lines:
            return any(line.split(SPACE)[2:3] == [assignment] for line in lines)
    except FileNotFoundError:
        return False
