"""Numbers in a notebook's text that are known elsewhere: an author writes a field, and the build fills it in.

{points}     in the line below the heading of an exercise, its points, from its aspects: "5 points"; in the line of a question, those of its marker;
             in the row Points of the table under the title, those of the notebook: "17 for code, 4 of them *deeper*, and 3 for the quiz"
{minutes}    in the row Time of that table, the minutes of the core path, as `minutes` counts them
{more}       in that row, the minutes of all else

Anywhere else a field is an error, and so is a number in the place of one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from autograder.authoring import minutes
from autograder.errors import UserError
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.observation.exercise import Exercise
from ffnlab.phrases import join_words, plural

QUESTION = re.compile(r"^\*question (?P<name>\w+)\b.*\*$")  # the line of a question that is answered in words
ROW = re.compile(r"^\| \*\*(?P<row>Points|Time)\*\* \|")  # of the table under the title
FIELDS_OF_ROW = {"Points": ["points"], "Time": ["minutes", "more"]}
ANY_FIELD = re.compile(r"\{(\w+)\}")
FIELD = re.compile(r"\{(points|minutes|more)\}")
FORMULA = re.compile(r"\$[^$]*\$|`[^`]*`")  # braces in formulas and in code are their own
COUNTS = ("", "an answer", "two answers", "three answers", "four answers", "five answers")  # to questions, by number


def fill(cells: Sequence[Any], exercises: Sequence[Exercise], file: str) -> None:
    """Fill in the fields in the text cells of a notebook, which have nbgrader's metadata already.

    exercises: those of the notebook. file: names the source in an error.

    Raises:
        UserError: a number is typed where a field has to be, a field is misspelt, or it stands where it means nothing.
    """
    texts = [cell for cell in cells if cell.cell_type == "markdown"]
    points = {exercise.name: exercise.points for exercise in exercises} | _points_of_questions(cells)
    for cell in texts:
        cell.source = "\n".join(_fill_announcements(cell.source.split("\n"), points, file))
    # The header says what the exercises' lines add up to, so it comes after them.
    values = {"points": describe_points(cells, exercises)}
    if any(ROW.match(line) for cell in texts for line in cell.source.split("\n")):
        core, more = minutes.round_minutes(minutes.estimate(cells, exercises, file))
        values |= {"minutes": str(core), "more": str(more)}
    for cell in texts:
        lines = cell.source.split("\n")
        cell.source = "\n".join(
            _fill_row(line, row["row"], values, file) if (row := ROW.match(line)) else line for line in lines
        )


def _fill_announcements(lines: Sequence[str], points: Mapping[str, float], file: str) -> Iterator[str]:
    """The lines of a text cell, with the points of exercises and questions filled in. The rows of the header stay as they are."""
    exercise = ""  # whose line comes next
    for line in lines:
        if heading := minutes.EXERCISE.match(line):
            exercise = heading["name"]
            yield line
        elif question := QUESTION.match(line):
            yield _fill_announcement(line, question["name"], points, file)
        elif exercise and line.strip():
            yield _fill_announcement(line, exercise, points, file)
            exercise = ""
        else:
            if not ROW.match(line) and (field := FIELD.search(FORMULA.sub("", line))):
                raise UserError(
                    f"{file}: {field[0]} means nothing in “{line[:60]}”: it stands below the heading of an exercise, "
                    "in the line of a question, or in the rows Points and Time of the table under the title"
                )
            yield line


def _fill_announcement(line: str, name: str, points: Mapping[str, float], file: str) -> str:
    """The line that says what an exercise or a question is worth: once, by the field, unless it has no points."""
    if name not in points:
        raise UserError(f"{file}: {name} is none of the notebook's exercises and questions, so it has no points")
    wanted = [] if line.startswith("*no points") else ["points"]
    if ANY_FIELD.findall(line) != wanted or re.search(r"\d points?\b", line):
        raise UserError(
            f"{file}: the line of {name} has to say {{points}} once, which the build fills in, or to begin with "
            f"“no points”: “{line[:60]}”"
        )
    return line.replace("{points}", plural(f"{points[name]:g}", "point"))


def _fill_row(line: str, row: str, values: Mapping[str, str], file: str) -> str:
    """A row of the table under the title."""
    wanted = FIELDS_OF_ROW[row]
    if ANY_FIELD.findall(line) != wanted:
        names = join_words([f"{{{name}}}" for name in wanted])
        raise UserError(f"{file}: the row has to say {names}, which the build fills in: “{line[:60]}”")
    return ANY_FIELD.sub(lambda field: values[field[1]], line)


def _points_of_questions(cells: Sequence[Any]) -> dict[str, float]:
    """By name, the points of the questions that are answered in words."""
    return {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points
        for cell in cells
        if cell.cell_type == "markdown" and cell.metadata.nbgrader.solution
    }


def describe_points(cells: Sequence[Any], exercises: Sequence[Exercise]) -> str:
    """What a notebook's points are for: "17 for code, 4 of them *deeper*, 3 for the quiz and 3 for an answer in your own words"."""
    parts = list(minutes.parts(cells))
    paths = {part.name: part.path for part in parts if not part.is_text}  # of a quiz, where its cell is
    for part in parts:
        if part.is_text and (heading := minutes.EXERCISE.search(part.source)):
            paths[heading["name"]] = part.path
    code = [exercise for exercise in exercises if not is_quiz(exercise)]
    deeper = _sum(exercise for exercise in code if paths.get(exercise.name) == "deeper")
    quizzes = [exercise for exercise in exercises if is_quiz(exercise)]
    deeper_quizzes = _sum(quiz for quiz in quizzes if paths.get(quiz.name) == "deeper")
    questions = _points_of_questions(cells)
    some_deeper = f", {deeper:g} of them *deeper*" if 0 < deeper < _sum(code) else ""
    kinds = [f"{_sum(code):g} for code" + some_deeper]
    if _sum(quizzes):
        some_deeper = f" ({deeper_quizzes:g} *deeper*)" if 0 < deeper_quizzes < _sum(quizzes) else ""
        kinds.append(f"{_sum(quizzes):g} for the quiz" + some_deeper)
    if questions:
        kinds.append(f"{math.fsum(questions.values()):g} for {COUNTS[len(questions)]} in your own words")
    return join_words(kinds)


def _sum(exercises: Iterable[Exercise]) -> float:
    return math.fsum(exercise.points for exercise in exercises)
