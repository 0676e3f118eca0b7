"""Submissions: bytes nobody has checked yet become the list of cells that will run.

The notebook is rebuilt from ours: every cell of ours from our copy, only the solution cells and the student's own extra cells from the submission.
Nothing in a submission can make this raise anything but `Unreadable`.

Rules. A cell of ours is known by its grade_id or, where that was lost, by its cell id. Where several claim the same place, the last one has it and the
others count as the student's own extra cells. A solution cell that was deleted does not run: the name may be defined elsewhere. An extra cell keeps its
place behind the nearest cell of ours that stood before it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from autograder.errors import UserError
from autograder.paths import release
from ffnlab.registry import active_course
from ffnlab.untrusted_text import SIGN, in_a_line

MAX_CELLS = 2000
MAX_PICTURES = 20  # of a cell
PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]+")
LONE_SURROGATE = re.compile(
    "[\ud800-\udfff]"
)  # nothing can encode one; other odd characters are as good in a program as any


class Unreadable(Exception):
    """A submission that is not a notebook; one line says in what way."""


class Kind(Enum):
    """What a cell is for."""

    OURS = "ours"  # runs as it stands in our copy
    DISPLAY = "shown"  # markdown, or a demonstration that grading does not run
    SOLUTION = "solution"  # the student's answer to an exercise
    CHECK = "check"  # where the judge asks for the exercise
    MANUAL = "manual"  # graded by a person
    EXTRA = "extra"  # the student's own


@dataclass(frozen=True)
class Cell:
    """One cell as it will run. `name`: the exercise, or the grade_id. `untouched`: a solution cell that is still our stub."""

    kind: Kind
    name: str
    cell_type: str
    source: str
    metadata: dict[str, Any]
    id: str
    missing: bool = False
    untouched: bool = False


@dataclass(frozen=True)
class Rebuilt:
    """A submission as it will be graded, with remarks for the table."""

    cells: tuple[Cell, ...]
    remarks: tuple[str, ...]


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
    return Cell(kind, name, cell_type, "".join(cell["source"]), metadata, cell["id"])


def rebuild(assignment: str, data: bytes, most: int) -> Rebuilt:
    """The cells to run for a submission of `assignment`. `most`: bytes a notebook may have.

    Raises:
        Unreadable: it is too large, not JSON, not a notebook, or another notebook of the course.
    """
    template_cells = template(release(assignment))
    submitted_cells = parse(data, most)
    notebook = which(submitted_cells)
    if notebook not in ("", assignment):
        raise Unreadable(f"this is the notebook {notebook}, handed in as {assignment}")
    by_id = {cell.metadata["nbgrader"]["grade_id"]: cell for cell in template_cells if "nbgrader" in cell.metadata}
    by_cell_id = {cell.id: cell for cell in template_cells}
    claims: dict[str, int] = {}  # our cell's id → index of the submitted cell that has its place
    remarks: list[str] = []
    claimed_cells = [_find_original(cell, by_id, by_cell_id) for cell in submitted_cells]
    for index, original in enumerate(claimed_cells):
        if original is None:
            continue
        if original.id in claims and original.kind in (Kind.SOLUTION, Kind.MANUAL):
            remarks.append(f"{original.name} is there twice; the last one counts")
        claims[original.id] = index
    extras: dict[str, list[Cell]] = {}
    place = ""
    for index, cell in enumerate(submitted_cells):
        original = claimed_cells[index]
        if original is not None and claims[original.id] == index:
            place = original.id
        elif (
            cell["cell_type"] == "code"
            and cell["source"].strip()
            and not (original and original.kind is not Kind.SOLUTION)
        ):
            extras.setdefault(place, []).append(
                Cell(Kind.EXTRA, f"extra-{index}", "code", cell["source"], {}, f"extra-{index}")
            )
    cells = list(extras.get("", []))
    for our_cell in template_cells:
        cells.append(
            _from_submission(our_cell, submitted_cells[claims[our_cell.id]] if our_cell.id in claims else None)
        )
        cells += extras.get(our_cell.id, [])
    deleted_names = [one.name for one in cells if one.kind is Kind.SOLUTION and one.missing]
    if deleted_names:
        remarks.append(f"deleted: {', '.join(deleted_names)}")
    return Rebuilt(tuple(cells), tuple(remarks))


MIN_KNOWN_CELLS = 3  # cells of ours by which a notebook is known


@cache
def signs() -> dict[str, str]:
    """By the name or the id of a cell that is in one notebook of the course alone: which one that is."""
    assignments: dict[str, set[str]] = {}
    for assignment in active_course().notebooks:
        if release(assignment).is_file():
            for cell in template(release(assignment)):
                for sign in {cell.metadata.get("nbgrader", {}).get("grade_id"), cell.id} - {None}:
                    assignments.setdefault(sign, set()).add(assignment)
    return {sign: next(iter(names)) for sign, names in assignments.items() if len(names) == 1}


def votes(cells: Iterable[dict[str, Any]]) -> list[tuple[str, int]]:
    """How many of a submission's cells belong to which notebook of the course, the most first."""
    owners = [signs().get(cell["grade_id"]) or signs().get(cell["id"]) for cell in cells]
    return Counter(owner for owner in owners if owner).most_common()


def which(cells: Iterable[dict[str, Any]]) -> str:
    """The notebook that a submission's cells are of; empty where they are of none, or as much of two."""
    ranking = votes(cells)
    if not ranking or ranking[0][1] < MIN_KNOWN_CELLS or (len(ranking) > 1 and ranking[1][1] == ranking[0][1]):
        return ""
    return ranking[0][0]


def is_untouched(assignment: str, cells: Iterable[dict[str, Any]]) -> bool:
    """Whether a submission's cells hold nothing but what was handed out: no answer, and no code of the student's own."""
    template_cells = template(release(assignment))
    by_id = {cell.metadata["nbgrader"]["grade_id"]: cell for cell in template_cells if "nbgrader" in cell.metadata}
    by_cell_id = {cell.id: cell for cell in template_cells}
    for cell in cells:
        original = _find_original(cell, by_id, by_cell_id)
        if original is None and cell["cell_type"] == "code" and cell["source"].strip():
            return False
        if (
            original
            and original.kind in (Kind.SOLUTION, Kind.MANUAL)
            and squeeze(cell["source"]) != squeeze(original.source)
        ):
            return False
    return True


def _find_original(cell: dict[str, Any], by_id: dict[str, Cell], by_cell_id: dict[str, Cell]) -> Cell | None:
    return by_id.get(cell["grade_id"]) or by_cell_id.get(cell["id"])


def _from_submission(our_cell: Cell, submitted_cell: dict[str, Any] | None) -> Cell:
    if our_cell.kind not in (Kind.SOLUTION, Kind.MANUAL):
        return our_cell
    if submitted_cell is None:
        return Cell(
            our_cell.kind,
            our_cell.name,
            our_cell.cell_type,
            our_cell.source,
            our_cell.metadata,
            our_cell.id,
            missing=True,
            untouched=True,
        )
    untouched = squeeze(submitted_cell["source"]) == squeeze(our_cell.source)
    return Cell(
        our_cell.kind,
        our_cell.name,
        our_cell.cell_type,
        submitted_cell["source"],
        our_cell.metadata,
        our_cell.id,
        untouched=untouched,
    )


def squeeze(source: str) -> str:
    """A source without what never matters for "is it still our stub": the amount of white space."""
    return re.sub(r"\s+", " ", source).strip()


def parse(data: bytes, most: int) -> list[dict[str, Any]]:
    """The cells of a submitted notebook as plain dicts (cell_type, source, grade_id, id), whatever its format's minor version.

    Raises:
        Unreadable: in what way it is not a notebook.
    """
    if len(data) > most:
        raise Unreadable(f"too large: {len(data) / 2**20:.1f} MiB, at most {most / 2**20:g} MiB")
    if not data.strip():
        raise Unreadable("the file is empty")
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("not a notebook: it is not UTF-8 text") from None
    except RecursionError:
        raise Unreadable("not a notebook: nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"not a notebook: broken JSON ({in_a_line(str(error), 120)})") from None
    if not isinstance(notebook, dict):
        raise Unreadable("not a notebook: a JSON object was expected")
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):
        cells = [c for sheet in notebook["worksheets"] if isinstance(sheet, dict) for c in _list(sheet.get("cells"))]
    if not isinstance(cells, list):
        raise Unreadable("not a notebook: it has no list of cells")
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"too many cells: {len(cells):,}, at most {MAX_CELLS:,}")
    return [_cell(cell) for cell in cells if isinstance(cell, dict)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    text = LONE_SURROGATE.sub(SIGN, source) if isinstance(source, str) else ""
    if isinstance(cell.get("attachments"), dict):
        text = with_pictures(text, cell["attachments"])
    metadata = cell.get("metadata")
    nbgrader_fields = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader_fields.get("grade_id") if isinstance(nbgrader_fields, dict) else None
    return {
        "cell_type": cell.get("cell_type") if isinstance(cell.get("cell_type"), str) else "code",
        "source": text.replace("\r\n", "\n").replace("\r", "\n"),
        "grade_id": grade_id if isinstance(grade_id, str) else "",
        "id": cell.get("id") if isinstance(cell.get("id"), str) else "",
    }


def with_pictures(source: str, attachments: dict[str, Any]) -> str:
    """A Markdown source in which each `attachment:NAME` is the picture itself, as a data URI: only sources travel further."""
    for name, data in list(attachments.items())[:MAX_PICTURES]:
        for kind, content in data.items() if isinstance(data, dict) else ():
            address = f"data:{kind};base64,{content}"
            if PICTURE.fullmatch(address):
                source = source.replace(f"(attachment:{name})", f"({address})", 1)
    return source
