"""How long a notebook takes, counted from its source by one rule, so that no header promises less than its text asks for.

Text is read at 200 words a minute; what is folded, and “Going further”, is deeper. A figure takes two minutes, a guess and a cell that
only demonstrates half a minute each, a question with letters one; an exercise takes what its own line announces, its text included.
Nobody was timed: it is a rule, and the course says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from autograder.authoring import build
from autograder.errors import UserError
from ffnlab.diagnosis.recognition import is_question
from ffnlab.registry import active_course

WORDS = 200  # read in a minute
FIGURE, GUESS, DEMO, LETTERS = 2.0, 0.5, 0.5, 1.0

HEADING = re.compile(r"^(?=##+ )", re.M)
SKIPPED = re.compile(r"^\*deeper: .*\*$", re.M)
ANNOUNCED = re.compile(
    r"^\*(?P<question>question)?.* (?P<minutes>\d+) minutes?(?P<deeper> · deeper\b.*)?\*$", re.M
)  # the line below the heading of an exercise, or of a question answered in words
AFTERWARDS = "## Going further"
FOLDED = re.compile(r"<details>.*?</details>", re.S)  # read by whoever opens it
FULL_ANSWER = re.compile(r"<!-- ### BEGIN SOLUTION -->.*?<!-- ### END SOLUTION -->", re.S)  # no student has it
CODE = re.compile(r"```.*?```|<[^>]+>|[|#*_`]", re.S)  # what is looked at rather than read


class Minutes(NamedTuple):
    """A notebook's minutes: on the core path, quiz included; in what is marked as deeper; for questions answered in one's own words."""

    core: float
    deeper: float
    words: float


def announced(counted: Minutes) -> tuple[int, int]:
    """What a header says: the core path's minutes, and those of all else, each to the nearest five."""
    return _rounded(counted.core), _rounded(counted.deeper + counted.words)


def _rounded(spent: float) -> int:
    return 5 * round(spent / 5)


def estimate(assignment: str) -> Minutes:
    """What the rule counts for a notebook.

    Raises:
        UserError: an exercise announces no minutes.
    """
    asked = {exercise.name: is_question(exercise) for exercise in active_course().exercises_of(assignment)}
    spent, announcing = {"core": 0.0, "deeper": 0.0, "words": 0.0}, 0
    for part in parts(assignment):
        if announced := part.announced:
            spent["words" if announced["question"] else part.path] += float(announced["minutes"])
            announcing += not announced["question"]
        elif part.is_text:
            folded = " ".join(FOLDED.findall(part.source))
            spent["deeper"] += _reading(folded)
            spent[part.path] += _reading(FOLDED.sub(" ", part.source))
        elif asked.get(part.name):
            spent[part.path] += LETTERS
        elif part.is_demo:
            spent[part.path] += _showing(part.source)
    exercised = list(asked.values()).count(False)
    if announcing != exercised:
        raise UserError(f"solutions/{assignment}.py: {announcing} of {exercised} exercises announce their minutes")
    return Minutes(**spent)


class Part(NamedTuple):
    """A cell that is code, or what a text cell has below one heading.

    path: "core" or "deeper". name: nbgrader's, of the cell.
    """

    source: str
    path: str
    name: str
    is_text: bool
    is_demo: bool

    @property
    def announced(self) -> re.Match[str] | None:
        """The line that says how many minutes an exercise, or a question answered in words, takes."""
        return ANNOUNCED.search(self.source) if self.is_text else None


def parts(assignment: str) -> Iterator[Part]:
    """The parts of a notebook in their order."""
    section = path = "core"
    for cell in build.notebook_of(assignment).cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type != "markdown":
            yield Part(cell.source, path, name, is_text=False, is_demo="demo" in cell.metadata.get("tags", []))
            continue
        for source in HEADING.split(FULL_ANSWER.sub("", cell.source)):
            skipped = SKIPPED.search(source) is not None or source.startswith(AFTERWARDS)
            if source.startswith("## "):
                section = path = "deeper" if skipped else "core"
            elif source.startswith("### "):
                path = "deeper" if skipped else section
            part = Part(source, path, name, is_text=True, is_demo=False)
            announced = part.announced
            yield part._replace(path="deeper") if announced and announced["deeper"] else part


def _showing(source: str) -> float:
    """The minutes of a cell that shows something."""
    if source.startswith("veil("):
        return _reading(source)
    if is_figure(source):
        return FIGURE
    return GUESS if "predict(" in source else DEMO


def is_figure(source: str) -> bool:
    """Whether a cell shows a figure or a board."""
    return "controls.show(" in source or source.startswith("play(")


def _reading(text: str) -> float:
    return len(CODE.sub(" ", text).split()) / WORDS
