"""What a report was counted from, for whoever wants to go on: a CSV with a line for each exercise of each attempt, and a notebook that reads it.

Called by `autograder report`. A text that a spreadsheet would take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields

import nbformat

from autograder.lms.sheets import guard
from autograder.reports.class_report import ClassMember, ReportRow

COLUMNS = [column.name for column in fields(ReportRow)]


def as_csv(rows: Iterable[ReportRow]) -> str:
    """The rows as CSV, the first line with the columns' names. A yes or no is 1 or 0; a moment is in ISO 8601.

    It begins with a byte order mark, without which some spreadsheets take UTF-8 for something else.
    """
    text = io.StringIO("\ufeff")
    text.seek(1)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in astuple(row)] for row in rows)
    return text.getvalue()


def for_mail(people: Sequence[ClassMember]) -> str:
    """A line a student, as a mail merge reads it: who it is, the address, what was not handed in, and each assignment's points that count."""
    assignments = list(people[0].grades) if people else []
    text = io.StringIO("\ufeff")
    text.seek(1)
    writer = csv.writer(text, lineterminator="\n")
    titles = [f"{name} {title}" for name in assignments for title in ("points", "max_points", "to_read", "late")]
    writer.writerow(["student", "name", "email", "not_handed_in", *titles])
    for person in people:
        cells: list[object] = [person.student, person.name, person.email, ", ".join(person.not_handed_in)]
        for grade in person.grades.values():
            cells += [grade.points, grade.max_points, grade.waiting, grade.late] if grade else [""] * 4
        writer.writerow([_cell(cell) for cell in cells])
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return guard(value)
    return f"{value:g}" if isinstance(value, float) else value


def as_notebook(file: str) -> str:
    """A notebook that reads the CSV called `file`, which lies beside it or where that path says."""
    cells = [
        nbformat.v4.new_markdown_cell(source) if text else nbformat.v4.new_code_cell(source)
        for text, source in _cells(file)
    ]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return str(nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=metadata))) + "\n"


# The cells of the notebook, each text before its code.
ABOUT = (
    "# Beyond the report\n\n"
    "One row for each exercise of each attempt. `attempt` counts a student's attempts from 1, `latest` is 1 for the last, `counts` is 1 where the "
    "points count. `waits` is 1 where a person still has to look, `readable` is 0 where the file could not be read. `mistake` is the "
    "known mistake's name, `message` is what the student saw. Points are as earned: penalties for lateness are in the report."
)
ABOUT_POINTS = "## Points of each student\n\nIn each notebook, only what counts and has been read."
POINTS = """points = defaultdict(float)
for row in rows:
    if row["counts"] and not row["waits"]:
        points[row["assignment"], row["student"]] += row["points"]
for assignment in sorted({assignment for assignment, _ in points}):
    scores = [score for (name, _), score in points.items() if name == assignment]
    print(f"{assignment}: {len(scores)} students, median {statistics.median(scores):g}")"""
ABOUT_SHARES = "## How hard each exercise was\n\nThe share of its points that the latest attempts earned."
SHARES = """earned, possible = defaultdict(float), defaultdict(float)
for row in rows:
    if row["latest"] and row["readable"] and not row["waits"]:
        earned[row["assignment"], row["exercise"]] += row["points"]
        possible[row["assignment"], row["exercise"]] += row["max_points"]
shares = {name: earned[name] / most for name, most in possible.items() if most}
for (assignment, exercise), share in sorted(shares.items(), key=lambda pair: pair[1]):
    print(f"{share:6.0%}  {assignment}  {exercise}")"""
ABOUT_MISTAKES = "## The mistakes\n\nHow many students make each in their latest attempt."
MISTAKES = """told = {}
for row in rows:
    if row["latest"] and row["mistake"]:
        told.setdefault((row["exercise"], row["mistake"]), []).append(row["message"])
for (exercise, mistake), messages in sorted(told.items(), key=lambda pair: -len(pair[1]))[:20]:
    print(f"{len(messages):4}  {exercise}: {min(messages, key=len)}")"""
ABOUT_IN_PANDAS = (
    "## In pandas\n\nThe same table in pandas. If pandas is missing: `pip install pandas`, then run the cell again."
)
IN_PANDAS = """import importlib.util

if importlib.util.find_spec("pandas") is None:
    print("pandas is not installed here: pip install pandas")
else:
    import pandas as pd

    table = pd.DataFrame(rows)
    latest = table[(table["latest"] == 1) & (table["readable"] == 1) & (table["waits"] == 0)]
    print(latest.pivot_table(index="student", columns="exercise", values="points").describe().round(2).to_string())
    print(latest.groupby(["exercise", "outcome"]).size().unstack(fill_value=0).to_string())"""


def _cells(file: str) -> list[tuple[bool, str]]:
    """(whether it is text, the source) of each cell."""
    return [
        (True, ABOUT),
        (False, _reading(file)),
        (True, ABOUT_POINTS),
        (False, POINTS),
        (True, ABOUT_SHARES),
        (False, SHARES),
        (True, ABOUT_MISTAKES),
        (False, MISTAKES),
        (True, ABOUT_IN_PANDAS),
        (False, IN_PANDAS),
    ]


def _reading(file: str) -> str:
    """The code that reads the CSV."""
    name = json.dumps(file, ensure_ascii=False)
    return f"""import csv
import statistics
from collections import Counter, defaultdict
from pathlib import Path

FILE = Path({name})
with FILE.open(encoding="utf-8-sig", newline="") as opened:
    rows = list(csv.DictReader(opened))
for row in rows:
    for name in ("points", "max_points"):
        row[name] = float(row[name])
    for name in ("attempt", "latest", "counts", "by_hand", "waits", "readable"):
        row[name] = int(row[name])
print(len(rows), "rows,", len({{row["student"] for row in rows}}), "students")"""
