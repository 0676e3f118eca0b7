"""What `autograder grade` prints of a class: a table of its points, remarks and mistakes, or whose points would change. All that came from a
submission is cleaned.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder import outline
from autograder.gradebook.policy import mean_share
from autograder.gradebook.scores import Scores, Total, total
from autograder.outline import Outline
from ffnlab.checking.verdict import Outcome
from ffnlab.phrases import plural
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.gradebook.gradebook import Grading
    from autograder.gradebook.policy import Grade
    from autograder.grading.grade_class import PointsChange

CELL = {Outcome.EARNED: "✔", Outcome.NOT_EARNED: "✘", Outcome.NOT_ATTEMPTED: "○", Outcome.NOT_GRADED: "?"}
STYLE = {
    Outcome.EARNED: "green",
    Outcome.NOT_EARNED: "dark_orange",
    Outcome.NOT_ATTEMPTED: "dim",
    Outcome.NOT_GRADED: "bold red",
}


NO_GRADES: Mapping[str, Grade] = {}


def print_class(
    console: Console,
    assignment: str,
    gradings: Iterable[Grading],
    scores: Mapping[str, Scores],
    most: int = 100,
    grades: Mapping[str, Grade] = NO_GRADES,
) -> None:
    """One line a student (points per exercise, total), remarks, and the mistakes most often named. Of a large class, the first `most` lines.

    gradings: taken one at a time, so that a class of any size needs the same memory. scores: what stands in the gradebook, by student.
    grades: what it is worth by the class's rules, by student; then the total is that, with what being late costs.
    """
    exercises = [exercise for exercise in outline.of_notebook(assignment) if exercise.points]
    first_gradings: list[Grading] = []
    mistakes: Counter[tuple[str, str]] = Counter()
    causes: dict[tuple[str, str], str] = {}  # the shortest of each: one student's may be told with a second one
    count = 0
    for count, grading in enumerate(gradings, 1):
        if count <= most:
            first_gradings.append(grading)
        for name in grading.verdicts:
            if mistake := grading.mistake(name):
                which, cause = (name, mistake), grading.cause(name)
                mistakes[which] += 1
                causes[which] = min(causes.get(which, cause), cause, key=len)
    table = _points(assignment, exercises, first_gradings, scores, grades)
    if _too_wide(console, table):
        for part in _narrow(console, assignment, exercises, first_gradings, scores, grades):
            console.print(part)
        legend = "   ".join(
            f"{number}\N{NO-BREAK SPACE}{exercise.name}" for number, exercise in enumerate(exercises, 1)
        )
        console.print(Text(legend), style="dim")
    else:
        console.print(table)
    if count > most:
        console.print(f"… and {count - most:,} more; grading.log and `nbgrader export` have all of them", style="dim")
    console.print("✔ earned   ✘ not or partly earned   ○ not attempted   ? not graded: look at it\n", style="dim")
    if grades:
        grade = next(iter(grades.values()))  # the rules are the same for all
        for title, names in (("For practice, not for points", grade.not_counted), ("Extra credit", grade.on_top)):
            if names:
                console.print(Text(f"{title}: {', '.join(names)}\n"), style="dim")
    remarks = [
        (grading.student, in_a_line("; ".join(grading.remarks))) for grading in first_gradings if grading.remarks
    ]
    if remarks:
        console.print(_listing("Remarks", ("student", "remark"), remarks))
    if mistakes:
        console.print(_misunderstandings(mistakes, causes))
    unread_count = sum(score.waits for student in scores.values() for score in student.values())
    if unread_count:
        answers_wait = plural(f"{unread_count:,}", "answer waits", "answers wait")
        console.print(Text(f"{answers_wait} for a person, in formgrader.\n"), style="bold")


def print_in_a_line(
    console: Console, assignment: str, graded_count: int, scores: Mapping[str, Scores], grades: Mapping[str, Grade]
) -> None:
    """How many were graded just now, the mean of all, and how many answers wait for a person."""
    share = mean_share(grades.values())
    mean = "" if share is None else f"mean {share:4.0%} of {sum(bool(grade.max_points) for grade in grades.values()):,}"
    unread_count = sum(score.waits for student in scores.values() for score in student.values())
    line = f"{assignment:20} {graded_count:5,} graded   {mean}" + (
        f"   {unread_count:,} answers to read" if unread_count else ""
    )
    console.print(Text(line.rstrip()), soft_wrap=True)


def print_changes(
    console: Console,
    assignment: str,
    changes: Sequence[PointsChange],
    counts: Callable[[str], bool] = lambda name: True,
) -> None:
    """One line for each student whose points would change: by how much, and in which exercises; those who lose first. counts: whether an exercise does."""

    def format_points(points: float | None) -> str:
        return "–" if points is None else f"{points:g}"

    rows = []
    relevant_changes = [
        replace(change, exercises={n: e for n, e in change.exercises.items() if counts(n)}) for change in changes
    ]
    relevant_changes = [change for change in relevant_changes if change.exercises]
    for change in sorted(relevant_changes, key=lambda change: (change.points[1] - change.points[0], change.student)):
        then, now = change.points
        each = "  ".join(
            f"{name} {format_points(old)} → {format_points(new)}" for name, (old, new) in change.exercises.items()
        )
        rows.append((change.student, "new" if change.new else f"{now - then:+g}", each))
    if rows:
        console.print(_listing(f"{assignment}: what would change", ("student", "points", "exercises"), rows))
    else:
        console.print(f"{assignment}: nobody's points would change.")


def _too_wide(console: Console, table: Table) -> bool:
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum > console.width


def _narrow(
    console: Console,
    assignment: str,
    exercises: Sequence[Outline],
    gradings: Sequence[Grading],
    scores: Mapping[str, Scores],
    grades: Mapping[str, Grade],
) -> list[Table]:
    """The table of points for a narrow screen, in as many parts as it takes for nothing to be cut; the last has the totals."""
    numbers = range(1, len(exercises) + 1)
    tables: list[Table] = []
    for parts in numbers:
        size = math.ceil(len(exercises) / parts)
        tables = [
            _points(assignment, exercises, gradings, scores, grades, numbers[start : start + size])
            for start in range(0, len(exercises), size)
        ]
        if not any(_too_wide(console, table) for table in tables):
            break
    return tables


def _points(
    assignment: str,
    exercises: Sequence[Outline],
    gradings: Sequence[Grading],
    scores: Mapping[str, Scores],
    grades: Mapping[str, Grade],
    only: range | None = None,
) -> Table:
    """The table of points. A total is the gradebook's.

    only: a narrow one of these exercises, counted from 1: their numbers are their titles, there is no room to spare, and totals come with the last.
    """
    narrow = only is not None
    numbers = range(1, len(exercises) + 1) if only is None else only
    last = numbers[-1:] == range(len(exercises), len(exercises) + 1)
    table = Table(title=assignment, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.padding = (0, 0) if narrow else (0, 1)
    table.add_column("student", no_wrap=True)
    columns = [exercises[number - 1] for number in numbers]
    for number, exercise in zip(numbers, columns, strict=True):
        title = str(number) if narrow else _short(exercise.name)
        table.add_column(title, justify="right", no_wrap=True)
    if last:
        table.add_column("total", justify="right", style="bold", no_wrap=True)
    for grading in gradings:
        cells = [_cell(grading, exercise.name, "" if narrow else " ") for exercise in columns]
        totals = [Text(_total(grading, scores, grades))] if last else []
        table.add_row(Text(grading.student), *cells, *totals)
    return table


def _total(grading: Grading, scores: Mapping[str, Scores], grades: Mapping[str, Grade]) -> str:
    if grading.student in grades:
        return str(grades[grading.student])
    own_scores = scores.get(grading.student)
    return str(total(own_scores) if own_scores else Total(grading.points, grading.max_points))


def _cell(grading: Grading, exercise: str, space: str) -> Text:
    """An exercise that was added after the grading was made has not been graded."""
    outcome = grading.outcome(exercise) or Outcome.NOT_GRADED
    points = grading.verdicts.get(exercise, {}).get("points", 0.0)
    text = "" if outcome is Outcome.NOT_ATTEMPTED else f"{points:g}{space}"
    return Text(f"{text}{CELL[outcome]}", style=STYLE[outcome])


def _listing(title: str, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of plain texts, of which the last may be long."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in titles[:-1]:
        table.add_column(name, no_wrap=True)
    table.add_column(titles[-1], overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _misunderstandings(
    mistakes: Counter[tuple[str, str]], causes: Mapping[tuple[str, str], str], most: int = 10
) -> Table:
    title = "What the class misunderstood" + (f", the {most} most frequent" if len(mistakes) > most else "")
    rows = [(f"{times:8}", which[0], in_a_line(causes[which])) for which, times in mistakes.most_common(most)]
    return _listing(title, ("students", "exercise", "mistake"), rows)


def _short(name: str) -> str:
    """A column's title of at most two short lines."""
    words = re.findall(r"[A-Z]+[a-z]*|[a-z0-9]+", name)
    return "\n".join((" ".join(words[:1])[:10], " ".join(words[1:])[:14])) if len(name) > 10 else name
