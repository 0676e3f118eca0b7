"""What we hand out: the cells of an assignment's notebook, what each is for, and by which of them a notebook is known."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from autograder.errors import UserError
from autograder.paths import release
from ffnlab.registry import active_course

OWN_ID = "extra-"  # how the id of a cell of the student's own begins; its place in the file follows
MIN_KNOWN_CELLS = 3  # cells of ours by which a notebook is known


class Kind(Enum):
    """What a cell is for."""

    OURS = "ours"  # code that every notebook needs, such as its imports
    DISPLAY = "shown"  # markdown, or a demonstration
    SOLUTION = "solution"  # the student's answer to an exercise
    CHECK = "check"  # where the judge asks for the exercise
    MANUAL = "manual"  # graded by a person
    EXTRA = "extra"  # the student's own


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook that is graded. `program` says which of them run."""

    kind: Kind
    name: str  # the exercise, or the grade_id; of a cell of the student's own, its place in the file
    cell_type: str
    source: str
    metadata: dict[str, Any]
    id: str
    missing: bool = False  # it was not handed in, and ours stands in its place
    untouched: bool = False  # it is as it was handed out
    has_our_code: bool = False  # only comments and space differ from ours
    # The exercises and questions whose answer, or a part of it, a student has written here.
    answers: tuple[str, ...] = ()
    is_word: bool = False  # a student's own words are in it
    # Of a question in whose cell nothing is written, while own words are in other cells.
    has_words_elsewhere: bool = False
    is_superseded: bool = False  # it is a stub below an answer

    @property
    def is_locked(self) -> bool:
        """Whether Jupyter lets nobody change it."""
        return bool(self.metadata.get("nbgrader", {}).get("locked"))

    @property
    def is_to_read(self) -> bool:
        """Of a question: whether there is anything for a person to read."""
        return not self.untouched or self.has_words_elsewhere


@cache
def template(path: Path) -> tuple[Cell, ...]:
    """Our copy of an assignment's notebook, cell by cell.

    Raises:
        UserError: it has not been built.
    """
    if not path.is_file():
        raise UserError(f"{path.name} is missing in course/: run `make build` first")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return tuple(_our_cell(cell) for cell in notebook["cells"])


def _our_cell(cell: dict[str, Any]) -> Cell:
    metadata, cell_type = cell["metadata"], cell["cell_type"]
    nbgrader_fields = metadata.get("nbgrader", {})
    name = nbgrader_fields.get("grade_id", cell["id"])
    tags = metadata.get("tags", [])
    if nbgrader_fields.get("solution") and nbgrader_fields.get("grade"):
        kind = Kind.MANUAL
    elif nbgrader_fields.get("solution"):
        kind = Kind.SOLUTION
    elif nbgrader_fields.get("grade"):
        kind, name = Kind.CHECK, name.removeprefix("check-")
    elif cell_type != "code" or "demo" in tags:
        kind = Kind.DISPLAY
    else:
        kind = Kind.OURS
    return Cell(kind, name, cell_type, "".join(cell["source"]), metadata, cell["id"], untouched=True, has_our_code=True)


class Known(Protocol):
    """A cell of any notebook, with what it may be known by."""

    @property
    def grade_id(self) -> str: ...

    @property
    def id(self) -> str: ...

    @property
    def source(self) -> str: ...


@cache
def _owners() -> dict[str, str]:
    """By the name, the id or the text of a cell that is in one notebook of the course alone: which one that is."""
    assignments: dict[str, set[str]] = {}
    for assignment in active_course().notebooks:
        if release(assignment).is_file():
            for cell in template(release(assignment)):
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                for sign in {name, cell.id, squeeze_ours(cell.source)} - {None}:
                    assignments.setdefault(sign, set()).add(assignment)
    return {sign: next(iter(names)) for sign, names in assignments.items() if len(names) == 1}


def votes(cells: Sequence[Known]) -> list[tuple[str, int]]:
    """How many of a submission's cells belong to which notebook of the course, the most first."""
    of = _owners().get
    owners = [of(cell.grade_id) or of(cell.id) or of(squeeze(cell.source)) for cell in cells]
    return Counter(owner for owner in owners if owner).most_common()


def which(cells: Sequence[Known]) -> str:
    """The notebook that a submission's cells are of; empty where they are of none, or as much of two."""
    ranking = votes(cells)
    if not ranking or ranking[0][1] < MIN_KNOWN_CELLS or (len(ranking) > 1 and ranking[1][1] == ranking[0][1]):
        return ""
    return ranking[0][0]


def squeeze(source: str) -> str:
    """A source without what never matters for "is it still our stub": the amount of white space."""
    return re.sub(r"\s+", " ", source).strip()


@cache
def squeeze_ours(source: str) -> str:
    """As `squeeze`, for the source of a cell of ours: once for all submissions. Of what students hand in nothing is kept."""
    return squeeze(source)


def imports_of(assignment: str) -> Iterable[Cell]:
    """The cells of ours that every submission's code needs."""
    return (cell for cell in template(release(assignment)) if cell.kind is Kind.OURS)
