"""Numbers in a notebook's text that are known elsewhere: an author writes a field, and the build fills it in.

{points}     in the line below the heading of an exercise, its points, from its aspects: "5 points"; in the line of a question, those of its marker;
             in the table under the title, those of the notebook: "17 for code, 4 of them *deeper*, 3 for the quiz"
{minutes}    in that table, the minutes of the core path, as `minutes` counts them
{more}       in that table, the minutes of all else
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from autograder.authoring import minutes
from autograder.errors import UserError
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.phrases import join_words, plural

ABOUT = re.compile(
    r"^### Exercise `(?P<exercise>\w+)`|^\*question (?P<question>\w+)\b", re.M
)  # what a `{points}` below it is about
FIELD = re.compile(r"\{(?P<field>points|minutes|more)\}")
# What an author might type in the place of a field.
TYPED = re.compile(
    r"^\*(?:question [^·]+· )?\d[\d.]* points?\b.*$|^\| \*\*Points\*\* \| \d.*$|^\| \*\*Time\*\* \| \d.*$", re.M
)
COUNTS = ("no answers", "an answer", "two answers", "three answers", "four answers")  # in one's own words


class HasPoints(Protocol):
    """An exercise, as far as its points go."""

    @property
    def name(self) -> str: ...

    @property
    def points(self) -> float: ...


def fill(cells: Sequence[Any], exercises: Sequence[Any], file: str) -> None:
    """Fill in the fields in the text cells of a notebook, which have nbgrader's metadata already.

    exercises: those of the notebook. file: names the source in an error.

    Raises:
        UserError: a number is typed where a field has to be, or a field stands where it means nothing.
    """
    texts = [cell for cell in cells if cell.cell_type == "markdown"]
    points = {exercise.name: exercise.points for exercise in exercises} | _points_of_questions(cells)

    def fill_one(field: re.Match[str]) -> str:
        """The points of the exercise or question whose name stands above; any other field as it is."""
        names = [match["exercise"] or match["question"] for match in ABOUT.finditer(field.string, 0, field.start())]
        if field["field"] != "points" or not names:
            return field[0]
        if names[-1] not in points:
            raise UserError(f"{file}: {names[-1]} is none of the notebook's exercises and questions: it has no points")
        return plural(f"{points[names[-1]]:g}", "point")

    def fill_all(field: re.Match[str]) -> str:
        """What the header says of the whole notebook."""
        if field["field"] == "points":
            return describe_points(cells, exercises)
        core, more = minutes.round_minutes(minutes.estimate(cells, exercises, file))
        return str(core if field["field"] == "minutes" else more)

    for cell in texts:
        if typed := TYPED.search(cell.source):
            raise UserError(
                f"{file}: “{typed[0][:60]}” has a number that the build knows: write {{points}} in the place of points, "
                "{minutes} and {more} in the row *Time*"
            )
        cell.source = FIELD.sub(fill_one, cell.source)
    for cell in texts:
        if FIELD.search(cell.source):
            cell.source = FIELD.sub(fill_all, cell.source)


def _points_of_questions(cells: Sequence[Any]) -> dict[str, float]:
    """By name, the points of the questions that are answered in words."""
    return {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points
        for cell in cells
        if cell.cell_type == "markdown" and cell.metadata.nbgrader.solution
    }


def describe_points(cells: Sequence[Any], exercises: Sequence[Any]) -> str:
    """What a notebook's points are for: "17 for code, 4 of them *deeper*, 3 for the quiz and 3 for an answer in your own words"."""
    paths = {
        heading["exercise"]: part.path
        for part in minutes.parts(cells)
        if part.is_text and (heading := ABOUT.search(part.source)) and heading["exercise"]
    }
    code = [exercise for exercise in exercises if not is_quiz(exercise)]
    deeper = _sum(exercise for exercise in code if paths.get(exercise.name) == "deeper")
    quizzes = _sum(exercise for exercise in exercises if is_quiz(exercise))
    questions = _points_of_questions(cells)
    parts = [f"{_sum(code):g} for code" + (f", {deeper:g} of them *deeper*" if deeper else "")]
    if quizzes:
        parts.append(f"{quizzes:g} for the quiz")
    if questions:
        parts.append(f"{math.fsum(questions.values()):g} for {COUNTS[len(questions)]} in your own words")
    return join_words(parts)


def _sum(exercises: Iterable[HasPoints]) -> float:
    return math.fsum(exercise.points for exercise in exercises)
