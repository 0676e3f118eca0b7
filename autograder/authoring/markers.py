"""What the marker line of a cell in solutions/*.py means to nbgrader: authors write a kind and a name, and the rest follows from these.

# %% [markdown] text="intro"                  what students read
# %% [markdown] question="M1" points=2        what they answer in words, and a person reads
# %% setup="imports"                          what every run needs first
# %% figure="arch"                            a figure, a board or a guess; not run when grading
# %% code="numbers"                           code that students may change; not run when grading
# %% code="numbers" output="fixed"            the same; nbval compares what it prints
# %% exercise="activation"                    what they write; its check follows by itself
# %% quiz="where_is_it"                       what they answer by a letter; its check follows by itself
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import nbformat

from autograder.errors import UserError


class CellKind(NamedTuple):
    """What nbgrader is told of a kind of cell."""

    cell_type: str
    locked: bool
    solution: bool = False
    tags: tuple[str, ...] = ()  # of the cell
    options: tuple[str, ...] = ()  # what else its marker may hold
    is_closed: bool = False  # whether a notebook opens with its source hidden


KINDS = {
    "text": CellKind("markdown", locked=True),
    "question": CellKind("markdown", locked=False, solution=True, options=("points",)),
    "setup": CellKind("code", locked=True, is_closed=True),
    "figure": CellKind("code", locked=True, tags=("demo",), is_closed=True),
    "code": CellKind("code", locked=False, tags=("demo",), options=("output",)),
    "exercise": CellKind("code", locked=False, solution=True),
    "quiz": CellKind("code", locked=False, solution=True),
}
LABELS = {  # of a cell that opens with its source hidden, by how its source begins; JupyterLab shows the first line of it
    "play(": "a board",
    "predict(": "a guess",
    "veil(": "a text that opens later",
    "controls.show(": "a figure",
    "": "shown below",
}
SETUP_LABEL = "what this notebook imports"
LABEL = re.compile(r"\A# .*\n")
CHECK_FUNCTIONS = {"exercise": "check", "quiz": "quiz"}  # by kind, the function that a student calls
CHECK = """{function}("{name}", {name})
### BEGIN HIDDEN TESTS
from autograder import recheck

recheck("{name}", {name})
### END HIDDEN TESTS"""


def with_nbgraders_metadata(cells: list[Any], points: Mapping[str, float], file: str, exercises: str) -> list[Any]:
    """The cells with nbgrader's metadata in the place of their markers, and the check behind each exercise.

    points: of the notebook's exercises, by name. file, exercises: name the source, and the file with the exercises, in an error.

    Raises:
        UserError: a marker says something that means nothing, or an exercise is not among those of the notebook.
    """
    new_cells = []
    for cell in cells:
        kind, name = _marker(cell, file)
        options = {key: value for key, value in cell.metadata.items() if key != kind}
        if kind in CHECK_FUNCTIONS and name not in points:
            raise UserError(f"{file}: {kind}={name!r} is not among the notebook's exercises in {exercises}")
        _set_metadata(cell, name, KINDS[kind], options.get("points"))
        if KINDS[kind].is_closed:
            cell.source = f"# {_label(kind, cell.source)}\n{cell.source}"
        if options.get("output") == "fixed":
            cell.metadata.tags.append("nbval-check-output")
        new_cells.append(cell)
        if kind in CHECK_FUNCTIONS:
            check = nbformat.v4.new_code_cell(CHECK.format(function=CHECK_FUNCTIONS[kind], name=name))
            _set_metadata(check, f"check-{name}", CellKind("code", locked=True), points[name])
            new_cells.append(check)
    return new_cells


def _label(kind: str, source: str) -> str:
    """What a reader sees of a cell whose source is hidden."""
    if kind == "setup":
        return SETUP_LABEL
    return next(label for start, label in LABELS.items() if source.startswith(start))


def without_label(source: str) -> str:
    """The source of a cell without the line that says what it shows."""
    return LABEL.sub("", source)


def _marker(cell: Any, file: str) -> tuple[str, str]:
    """The kind and the name that a cell's marker says."""
    cell.metadata.pop("lines_to_next_cell", None)
    first = cell.source.strip().partition("\n")[0][:60]
    kinds = [key for key in cell.metadata if key in KINDS]
    if len(kinds) != 1:
        raise UserError(
            f"{file}: the marker of the cell {first!r} names no kind, or several; the kinds are: {', '.join(KINDS)}"
        )
    (kind,) = kinds
    wrong = cell.metadata.keys() - {kind, *KINDS[kind].options}
    if wrong:
        raise UserError(
            f"{file}: the marker of the cell {first!r} has {min(wrong)!r}, which a cell of the kind {kind!r} can't have"
        )
    if cell.cell_type != KINDS[kind].cell_type:
        raise UserError(f"{file}: the cell {first!r} is of the kind {kind!r}, so it has to be {KINDS[kind].cell_type}")
    return kind, str(cell.metadata[kind])


def _set_metadata(cell: Any, name: str, kind: CellKind, points: float | None) -> None:
    nbgraders = {
        "grade": points is not None,
        "grade_id": name,
        "locked": kind.locked,
        "schema_version": 3,
        "solution": kind.solution,
        "task": False,
    }
    if points is not None:
        nbgraders["points"] = int(points) if float(points).is_integer() else points
    others: dict[str, Any] = {"tags": [*kind.tags]} if kind.tags else {}
    if kind.is_closed:
        others |= {"jupyter": {"source_hidden": True}}
    cell.metadata = nbformat.from_dict({"nbgrader": nbgraders} | others)
