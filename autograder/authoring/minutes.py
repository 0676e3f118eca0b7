"""How long a notebook takes, counted from its source by one rule, so that no header promises less than its text asks for.

Text is read at 200 words a minute; what is folded, and “Going further”, is deeper. A figure takes two minutes, a guess and a cell that
only demonstrates half a minute each, a quiz one; an exercise takes what its own line announces, its text included.
Nobody was timed: it is a rule, and the course says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from autograder.authoring import markers
from autograder.errors import UserError
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.observation.exercise import Exercise
from ffnlab.phrases import join_words

WORDS_PER_MINUTE = 200  # that are read
FIGURE, GUESS, DEMO, QUIZ = 2.0, 0.5, 0.5, 1.0  # minutes

EXERCISE = re.compile(r"^### Exercise `(?P<name>\w+)`", re.M)  # its heading
HEADING = re.compile(r"^(?=##+ )", re.M)
DEEPER_LINE = re.compile(r"^\*deeper: .*\*$", re.M)
# The line below the heading of an exercise, or of a question answered in words.
MINUTES_LINE = re.compile(r"^\*(?P<question>question)?.* (?P<minutes>\d+) minutes?(?P<deeper> · deeper\b.*)?\*$", re.M)
AFTERWARDS = "## Going further"
DETAILS = re.compile(r"<details>.*?</details>", re.S)  # read by whoever opens it
FULL_ANSWER = re.compile(r"<!-- ### BEGIN SOLUTION -->.*?<!-- ### END SOLUTION -->", re.S)  # no student has it
CODE = re.compile(r"```.*?```|<[^>]+>|[|#*_`]", re.S)  # what is looked at rather than read


class Minutes(NamedTuple):
    """A notebook's minutes: on the core path, quizzes included; in what is marked as deeper; for questions answered in one's own words."""

    core: float
    deeper: float
    words: float


def round_minutes(minutes: Minutes) -> tuple[int, int]:
    """What a header says: the core path's minutes, and those of all else, each to the nearest five."""
    return _round_to_five(minutes.core), _round_to_five(minutes.deeper + minutes.words)


def _round_to_five(minutes: float) -> int:
    return 5 * round(minutes / 5)


def estimate(cells: Sequence[Any], exercises: Sequence[Exercise], file: str) -> Minutes:
    """What the rule counts for the cells of a notebook, which have nbgrader's metadata.

    exercises: those of the notebook. file: names the source in an error.

    Raises:
        UserError: an exercise announces no minutes.
    """
    quiz_flags = {exercise.name: is_quiz(exercise) for exercise in exercises}
    totals = {"core": 0.0, "deeper": 0.0, "words": 0.0}
    unannounced = [exercise.name for exercise in exercises if not is_quiz(exercise)]
    for part in parts(cells):
        if announcement := part.announcement:
            totals["words" if announcement["question"] else part.path] += float(announcement["minutes"])
            heading = EXERCISE.search(part.source)
            if heading and heading["name"] in unannounced:
                unannounced.remove(heading["name"])
        elif part.is_text:
            details = " ".join(DETAILS.findall(part.source))
            totals["deeper"] += _count_reading_minutes(details)
            totals[part.path] += _count_reading_minutes(DETAILS.sub(" ", part.source))
        elif quiz_flags.get(part.name):
            totals[part.path] += QUIZ
        elif part.is_demo:
            totals[part.path] += _count_demo_minutes(part.source)
    if unannounced:
        raise UserError(f"{file}: the line of {join_words(unannounced)} has to end in “· N minutes*”")
    return Minutes(**totals)


class Part(NamedTuple):
    """A cell that is code, or what a text cell has below one heading."""

    source: str
    path: str  # "core" or "deeper"
    name: str  # nbgrader's, of the cell
    is_text: bool
    is_demo: bool

    @property
    def announcement(self) -> re.Match[str] | None:
        """The line that says how many minutes an exercise, or a question answered in words, takes."""
        return MINUTES_LINE.search(self.source) if self.is_text else None


def parts(cells: Sequence[Any]) -> Iterator[Part]:
    """The parts of a notebook in their order, from its cells."""
    notebook = section = path = "core"
    for cell in cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type != "markdown":
            source = markers.without_label(cell.source)
            yield Part(source, path, name, is_text=False, is_demo="demo" in cell.metadata.get("tags", []))
            continue
        for source in HEADING.split(FULL_ANSWER.sub("", cell.source)):
            is_deeper = DEEPER_LINE.search(source) is not None or source.startswith(AFTERWARDS)
            if source.startswith("# ") and is_deeper:  # the line below its title makes a whole notebook deeper
                notebook = section = path = "deeper"
            elif source.startswith("## "):
                section = path = "deeper" if is_deeper else notebook
            elif source.startswith("### "):
                path = "deeper" if is_deeper else section
            part = Part(source, path, name, is_text=True, is_demo=False)
            announcement = part.announcement
            yield part._replace(path="deeper") if announcement and announcement["deeper"] else part


def _count_demo_minutes(source: str) -> float:
    """The minutes of a cell that shows something."""
    if source.startswith("veil("):
        return _count_reading_minutes(source)
    if is_figure(source):
        return FIGURE
    return GUESS if "predict(" in source else DEMO


def is_figure(source: str) -> bool:
    """Whether a cell shows a figure or a board."""
    return "controls.show(" in source or source.startswith("play(")


def _count_reading_minutes(text: str) -> float:
    return len(CODE.sub(" ", text).split()) / WORDS_PER_MINUTE
