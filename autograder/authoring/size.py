"""How much is in a notebook, and the budget that every notebook keeps. `autograder build` says what is beyond it, and a test is red."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from autograder.authoring import build, minutes
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.registry import active_course

MARKUP = re.compile(r"```.*?```|<[^>]+>", re.S)  # blocks of code, tags
BOARD = re.compile(r"play\((?:lambda: )?(\w+)\.")
DETAILS = re.compile(r"<details>.*?</details>", re.S)
RULE_OF_TABLE = re.compile(r"^\|(?: ?:?-+:? ?\|)+ *$", re.M)
IDEAS = "## What you can say now"  # the heading of a notebook's ideas, a table with a row for each
# Code, formulas, addresses, tags.
NOT_PROSE = re.compile(r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)\s]*\)|<[^>]+>", re.S)


class NotebookSize(NamedTuple):
    """What one can count in a notebook."""

    cells: int
    core_words: int  # of all text on the core path, veils included
    ideas: int  # rows of the table of what one can say afterwards
    guesses: int
    figures: int  # a board that is shown in several places counts once
    core_exercises: int
    exercises: int  # with points, without quizzes
    quizzes: int  # answered by a letter
    closed_words: int  # of the longest text that opens on a press
    closed_tables: int  # of such a text, the most
    brackets: float  # pairs of round brackets per thousand words, outside of code and formulas


BUDGET = NotebookSize(
    cells=60,
    core_words=2600,
    ideas=5,
    guesses=5,
    figures=5,
    core_exercises=5,
    exercises=7,
    quizzes=3,
    closed_words=150,
    closed_tables=1,
    brackets=12.0,
)
# Minutes on the core path.
MAX_CORE = 75  # of a notebook
MAX_DAY = 480  # of the whole course, which is a day's work


def measure(assignment: str) -> NotebookSize:
    """What is in a notebook."""
    quiz_flags = {exercise.name: is_quiz(exercise) for exercise in active_course().exercises_of(assignment)}
    cells = build.notebook_of(assignment).cells
    parts = list(minutes.parts(cells))
    texts = [part for part in parts if part.is_text]
    prose = [*texts, *(part for part in parts if part.source.startswith("veil("))]
    demo_sources = [part.source for part in parts if part.is_demo]
    exercise_paths = [part.path for part in texts if part.announcement and not part.announcement["question"]]
    bracket_count = sum(NOT_PROSE.sub(" ", part.source).count("(") for part in texts)
    closed = list(_closed_texts(parts))
    return NotebookSize(
        cells=len(cells),
        core_words=sum(_count_words(part.source) for part in prose if part.path == "core"),
        ideas=sum(_count_rows(part.source) for part in texts if part.source.startswith(IDEAS)),
        guesses=sum("predict(" in source for source in demo_sources),
        figures=len({_identify_figure(source) for source in demo_sources if minutes.is_figure(source)}),
        core_exercises=exercise_paths.count("core"),
        exercises=len(exercise_paths),
        quizzes=list(quiz_flags.values()).count(True),
        closed_words=max(map(_count_words, closed), default=0),
        closed_tables=max(map(_count_tables, closed), default=0),
        brackets=bracket_count / max(sum(_count_words(part.source) for part in prose), 1) * 1000,
    )


def _identify_figure(source: str) -> str:
    """The module of a board; of a figure, the whole call."""
    board = BOARD.match(source)
    return board[1] if board else source


def _closed_texts(parts: list[minutes.Part]) -> Iterator[str]:
    """The texts that open on a press, or once a goal is settled."""
    for part in parts:
        if part.is_text:
            yield from DETAILS.findall(part.source)
        elif part.source.startswith("veil("):
            yield _text_of_veil(part.source)


def _text_of_veil(source: str) -> str:
    """What veil(…, text=…) shows, without the values of an f-string."""
    statement = ast.parse(source).body[0]
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    text = next(keyword.value for keyword in statement.value.keywords if keyword.arg == "text")
    return "".join(
        node.value for node in ast.walk(text) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _count_tables(text: str) -> int:
    """Each table of Markdown has one line that rules its heading off."""
    return len(RULE_OF_TABLE.findall(text))


def _count_rows(text: str) -> int:
    """The rows of the tables in a text, without their headings."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return len(lines) - 2 * _count_tables(text)


def _count_words(text: str) -> int:
    return sum(any(map(str.isalnum, word)) for word in MARKUP.sub(" ", text).split())


def beyond(size: NotebookSize) -> list[str]:
    """What exceeds the budget, each in a few words: "4576 core words (2600)"."""
    return [
        f"{count:.0f} {field.replace('_', ' ')} ({most:.0f})"
        for field, count, most in zip(NotebookSize._fields, size, BUDGET, strict=True)
        if count > most
    ]


def estimate(assignment: str) -> minutes.Minutes:
    """The minutes that a notebook takes."""
    file = f"solutions/{assignment}.py"
    return minutes.estimate(build.notebook_of(assignment).cells, active_course().exercises_of(assignment), file)


def beyond_the_day(core_minutes: Mapping[str, int]) -> list[str]:
    """What exceeds the time for the core path, each in a few words. core_minutes: by notebook, as its header says."""
    total = sum(core_minutes.values())
    too_long = [
        f"{count} core minutes in {name} ({MAX_CORE})" for name, count in core_minutes.items() if count > MAX_CORE
    ]
    return too_long + ([f"{total} core minutes in all notebooks ({MAX_DAY})"] if total > MAX_DAY else [])
