"""What a report was counted from, as files: a CSV with a line for each exercise of each attempt, a list of students, and a notebook that reads the CSV.

Called by `autograder report`. A text that a spreadsheet would take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path

import nbformat

from autograder.lms.sheets import guard
from autograder.reports.report_parts import ClassMember
from autograder.reports.report_rows import ReportRow

COLUMNS = [column.name for column in fields(ReportRow)]  # docs/grading.md says what is in them
WHOLE_NUMBERS = tuple(column.name for column in fields(ReportRow) if column.type in ("int", "bool"))
NUMBERS = tuple(column.name for column in fields(ReportRow) if column.type == "float")
STUDENT_COLUMNS = ("student", "name", "email", "not_handed_in")
GRADE_COLUMNS = ("points", "max_points", "to_read", "late")  # of each assignment


def is_data(file: Path) -> bool:
    """Whether a file is a report's CSV, of this version or an earlier one."""
    return _begins_with(file, COLUMNS[:3])


def is_student_list(file: Path) -> bool:
    """Whether a file is a report's list of students, as `for_mail` makes it."""
    return _begins_with(file, STUDENT_COLUMNS)


def _begins_with(file: Path, columns: Sequence[str]) -> bool:
    """Whether a file, and no link to one, begins with these titles of columns, as they are written here."""
    if file.is_symlink() or not file.is_file():
        return False
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
        titles = opened.readline(10_000).rstrip("\r\n").split(",")
    return titles[: len(columns)] == list(columns)


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
    titles = [f"{name} {title}" for name in assignments for title in GRADE_COLUMNS]
    writer.writerow([*STUDENT_COLUMNS, *titles])
    for person in people:
        cells: list[object] = [person.student, person.name, person.email, ", ".join(person.not_handed_in)]
        for grade in person.grades.values():
            cells += [grade.points, grade.max_points, grade.waiting, grade.late] if grade else [""] * len(GRADE_COLUMNS)
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
    "One row for each exercise of each attempt. `attempt` counts a student's attempts from 1, and `latest` is 1 for the last. `attempt_counts` "
    "is 1 for the attempt that counts, `exercise_counts` is 0 where an exercise is for practice. `waits` is 1 where a person still has to look, "
    "`earned_after_mistake` where an exercise is earned in which a mistake had been named before, "
    "`readable` is 0 where the file could not be read. `mistake` is the known mistake's name, `message` is what the student saw. "
    "Points are as earned: penalties for lateness are in the report.\n\n"
    "Which attempt counts, the latest or the best, is a rule of the class. Points, shares and outcomes below are of the attempts that count, as "
    "in the report. Only the mistakes are of each student's latest attempt, as there."
)
ABOUT_POINTS = "## Points of each student\n\nIn each notebook, only what counts and has been read."
POINTS = """points = defaultdict(float)
for row in rows:
    if row["attempt_counts"] and row["exercise_counts"] and not row["waits"]:
        points[row["assignment"], row["student"]] += row["points"]
for assignment in sorted({assignment for assignment, _ in points}):
    scores = [score for (name, _), score in points.items() if name == assignment]
    print(f"{assignment}: {len(scores)} students, median {statistics.median(scores):g}")"""
ABOUT_SHARES = (
    "## How hard each exercise was\n\nThe share of its points that the attempts which count have earned. "
    "A question is left out until all its answers have been read."
)
SHARES = """earned, possible, unread = defaultdict(float), defaultdict(float), set()
for row in counting:
    which = row["assignment"], row["exercise"]
    if not row["waits"]:
        earned[which] += row["points"]
        possible[which] += row["max_points"]
    elif not row["outcome"]:  # a question that a person reads
        unread.add(which)
shares = {name: earned[name] / most for name, most in possible.items() if most and name not in unread}
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
    counting_table = table[(table["attempt_counts"] == 1) & (table["readable"] == 1) & (table["waits"] == 0)]
    points_table = counting_table.pivot_table(index="student", columns="exercise", values="points")
    print(points_table.describe().round(2).to_string())
    print(counting_table.groupby(["exercise", "outcome"]).size().unstack(fill_value=0).to_string())"""


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
    for name in {NUMBERS}:
        row[name] = float(row[name])
    for name in {WHOLE_NUMBERS}:
        row[name] = int(row[name])
counting = [row for row in rows if row["attempt_counts"] and row["readable"]]
print(len(rows), "rows,", len({{row["student"] for row in rows}}), "students")"""
