"""How much is in a notebook, and the budget that a notebook of the third edition keeps."""

from __future__ import annotations

import re
from typing import NamedTuple

from autograder.authoring import build, minutes
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.registry import active_course

MARKUP = re.compile(r"```.*?```|<[^>]+>", re.S)  # blocks of code, tags
BOARD = re.compile(r"play\((?:lambda: )?(\w+)\.")
NOT_PROSE = re.compile(
    r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)\s]*\)|<[^>]+>", re.S
)  # code, formulas, addresses, tags


class NotebookSize(NamedTuple):
    """What one can count in a notebook."""

    cells: int
    words: int  # of all text, veils included
    core_words: int  # of those, on the core path
    guesses: int
    figures: int  # a board that is shown in several places counts once
    core_exercises: int
    exercises: int  # with points, without quizzes
    quizzes: int  # answered by a letter
    brackets: float  # pairs of round brackets per thousand words, outside of code and formulas


BUDGET = NotebookSize(
    cells=60,
    words=2800,
    core_words=2200,
    guesses=5,
    figures=4,
    core_exercises=5,
    exercises=7,
    quizzes=3,
    brackets=12.0,
)


def measure(assignment: str) -> NotebookSize:
    """What is in a notebook."""
    quiz_flags = {exercise.name: is_quiz(exercise) for exercise in active_course().exercises_of(assignment)}
    cells = build.notebook_of(assignment).cells
    parts = list(minutes.parts(cells))
    texts = [part for part in parts if part.is_text]
    prose = [*texts, *(part for part in parts if part.source.startswith("veil("))]
    words = sum(map(_words, prose))
    demo_sources = [part.source for part in parts if part.is_demo]
    exercise_paths = [part.path for part in texts if part.announcement and not part.announcement["question"]]
    return NotebookSize(
        cells=len(cells),
        words=words,
        core_words=sum(_words(part) for part in prose if part.path == "core"),
        guesses=sum("predict(" in source for source in demo_sources),
        figures=len({_identify_figure(source) for source in demo_sources if minutes.is_figure(source)}),
        core_exercises=exercise_paths.count("core"),
        exercises=len(exercise_paths),
        quizzes=list(quiz_flags.values()).count(True),
        brackets=sum(NOT_PROSE.sub(" ", part.source).count("(") for part in texts) / max(words, 1) * 1000,
    )


def _identify_figure(source: str) -> str:
    """The module of a board; of a figure, the whole call."""
    board = BOARD.match(source)
    return board[1] if board else source


def _words(part: minutes.Part) -> int:
    return sum(any(map(str.isalnum, word)) for word in MARKUP.sub(" ", part.source).split())


def beyond(size: NotebookSize) -> list[str]:
    """What exceeds the budget, each in a few words: "4576 words (2800)"."""
    return [
        f"{count:.0f} {field.replace('_', ' ')} ({most:.0f})"
        for field, count, most in zip(NotebookSize._fields, size, BUDGET, strict=True)
        if count > most
    ]
