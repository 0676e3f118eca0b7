"""What `python start.py --bring FOLDER` does: it puts your answers from an earlier edition's folder into this one's notebooks.

It never writes over what you have written here, and it leaves the earlier folder alone. Nothing has to be installed for it.
"""

import contextlib
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

Cell = dict[str, Any]
STUB_LINE = re.compile(  # all that a cell holds in which nothing has been answered yet
    r'def \w+\(.*\):|class \w+(\(.*\))?:|""".*"""|# YOUR CODE HERE|raise NotImplementedError|\w+ = \.\.\.( *#.*)?'
    r"|\*Write your answer here, in your own words\.\*"
)
LABEL = "*Your earlier answer, to compare with the one above. It does not run.*"


def bring(course: Path, old: Path) -> int:
    """Bring the answers, cells and progress in the folder `old` into the notebooks in `course`, and say what was brought.

    Returns the exit status: 1 where something was left out, 2 where `old` holds no notebook of the course.
    """
    found = left_out = changed = 0
    same = os.path.realpath(old) == os.path.realpath(course)
    for path in () if same else sorted(course.glob("[0-9][0-9]_*/*.ipynb")):
        if path.stem != path.parent.name:
            continue
        try:
            summary = bring_notebook(path, old / path.parent.name / path.name)
        except (FileNotFoundError, NotADirectoryError):
            continue  # not in that edition, or not handed out to you
        except (OSError, ValueError) as error:
            print(f"{path.stem}: left as it is, {explain(error)}", file=sys.stderr)
            left_out += 1
        else:
            print(f"{path.stem}: {summary or 'nothing new to bring over'}")
            changed += bool(summary)
        found += 1
    if not found:
        trouble = "is this edition's folder" if same else "has no notebooks of an earlier edition"
        zipped = "unpack it first, and " * old.is_file()
        print(f"start.py: {old} {trouble}: {zipped}name the folder that the earlier start.py is in", file=sys.stderr)
        return 2
    for name in (".progress.json", ".predictions.json", ".boards.json", "my_transformer.py", "my_transformer.pt"):
        try:
            if not (course / name).exists():
                write(course / name, (old / name).read_bytes())
        except FileNotFoundError:
            continue
        except OSError as error:
            print(f"{name}: not brought over, {explain(error)}", file=sys.stderr)
            left_out += 1
    if changed:
        print("Run the notebooks from top to bottom again, so that each check sees your answers.")
    return 1 if left_out else 0


def bring_notebook(path: Path, earlier: Path) -> str:
    """Bring what is in the notebook `earlier` into the one at `path`. Returns what was done, in words; nothing where nothing was.

    Raises:
        OSError: one of them can't be read, or the new one can't be written. ValueError: one of them is not a notebook.
    """
    _, theirs = read(earlier)
    before, notebook = read(path)
    over, below = merge(notebook["cells"], theirs["cells"])
    if not over and not below:
        return ""
    copy, number = path.with_name(f"{path.stem}.before.ipynb"), 1
    while copy.exists():
        number += 1
        copy = path.with_name(f"{path.stem}.before-{number}.ipynb")
    write(copy, before)
    try:
        write(path, as_json(notebook).encode())
    except OSError:
        copy.unlink()
        raise
    parts = [f"{over} cell{'s' * (over != 1)} brought over"] if over else []
    if below:
        parts.append(f"{below} earlier answer{'s' * (below != 1)} added below what you have written here")
    return f"{', '.join(parts)}; the earlier state is in {copy.name}"


def merge(cells: list[Cell], earlier: list[Cell]) -> tuple[int, int]:
    """Put earlier answers into the cells of the same names, and a reader's own cells behind the cell that they were behind.

    An earlier answer takes a cell's place only where the cell holds nothing, or just what was brought into it. Anywhere else it is
    added below, as text that does not run.

    Returns how many cells were brought over, and how many earlier answers were added below others.
    """
    named = {name_of(cell): cell for cell in cells if name_of(cell)}
    names = {cell.get("id"): name for name, cell in named.items()}  # by which a cell is known that has lost its name
    last = {name_of(cell): cell for cell in earlier}  # of two answers to one exercise the last counts, as in grading
    place, over, below = None, 0, 0
    for cell in earlier:
        name, source = name_of(cell) or names.get(cell.get("id"), ""), source_of(cell)
        here = named.get(name)
        if here is not None:
            place = here
            if not is_answer(here) or is_stub(source) or source == source_of(here):
                continue
            if last.get(name, cell) is cell and may_be_replaced(here):
                fill_in(here, cell)
                over += 1
            else:
                below += insert(cells, place, cell, as_text=True)
        elif not is_stub(source) if is_answer(cell) else source.strip() and not name:
            over += insert(cells, place, cell)  # an answer to an exercise that is gone, or a cell of the reader's own
    return over, below


def may_be_replaced(cell: Cell) -> bool:
    """Whether a cell is empty, as it was handed out, or as an earlier --bring left it."""
    source = source_of(cell)
    return is_stub(source) or bool(cell["metadata"].get("brought") == digest(source))


def fill_in(cell: Cell, earlier: Cell) -> None:
    """Put an earlier answer into a cell, with its pictures; what the cell showed belongs to another answer."""
    cell["source"] = earlier["source"]
    cell["metadata"]["brought"] = digest(source_of(earlier))
    if "attachments" in earlier:
        cell["attachments"] = earlier["attachments"]
    if "outputs" in cell:
        cell.update(outputs=[], execution_count=None)


def insert(cells: list[Cell], place: Cell | None, earlier: Cell, as_text: bool = False) -> int:
    """Add an earlier cell behind `place` and what was added there already, unless it is in the notebook. Returns how many were added.

    as_text: as Markdown, so that it defines nothing.
    """
    source, kind = source_of(earlier), earlier["cell_type"]
    new: Cell = {"cell_type": kind, "id": f"brought-{digest(source)[:12]}", "metadata": {}, "source": source}
    if any(cell.get("id") == new["id"] or source_of(cell) == source for cell in cells):
        return 0
    if as_text:
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", source)), default=0))
        shown = f"{fence}python\n{source}\n{fence}" if kind == "code" else source
        new.update(cell_type="markdown", source=f"{LABEL}\n\n{shown}")
    if new["cell_type"] == "code":
        new.update(outputs=[], execution_count=None)
    elif "attachments" in earlier:
        new["attachments"] = earlier["attachments"]
    index = next((number for number, cell in enumerate(cells, 1) if cell is place), 0)
    while index < len(cells) and cells[index].get("id", "").startswith("brought-"):
        index += 1
    cells.insert(index, new)
    return 1


# A cell.


def name_of(cell: Cell) -> str:
    """A cell's name for nbgrader; the reader's own have none."""
    return str((cell["metadata"].get("nbgrader") or {}).get("grade_id", ""))


def source_of(cell: Cell) -> str:
    return "".join(cell["source"])


def is_answer(cell: Cell) -> bool:
    """Whether a cell is there to be answered in."""
    return bool((cell["metadata"].get("nbgrader") or {}).get("solution"))


def is_stub(source: str) -> bool:
    """Whether nothing has been answered in a text: it is empty, or as it was handed out, in this edition or an earlier one."""
    return all(STUB_LINE.fullmatch(line.strip()) for line in source.splitlines() if line.strip())


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


# A file.


def read(path: Path) -> tuple[bytes, dict[str, Any]]:
    """A file's bytes, and the notebook that they are, whose cells have what is needed here.

    Raises:
        OSError: it can't be read. ValueError: it is not a notebook.
    """
    data = path.read_bytes()
    try:
        notebook: dict[str, Any] = json.loads(data)
        as_json(notebook).encode()  # not everything that JSON can say can be written down again
        if isinstance(notebook["cells"], list) and all(map(is_cell, notebook["cells"])):
            return data, notebook
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise ValueError(f"{path} is not a notebook that can be read")


def is_cell(cell: Any) -> bool:
    """Whether a value is a cell of a notebook."""
    return (
        isinstance(cell, dict)
        and cell.get("cell_type") in ("code", "markdown", "raw")
        and isinstance(cell.get("id", ""), str)
        and isinstance(cell.get("metadata"), dict)
        and isinstance(cell["metadata"].get("nbgrader") or {}, dict)
        and isinstance(cell.get("attachments", {}), dict)
        and isinstance(cell.get("source"), (str, list))
        and all(isinstance(line, str) for line in cell["source"])
    )


def as_json(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f"{path.name}.draft")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def explain(error: Exception) -> str:
    """What went wrong, and where, in one line."""
    where = f": {error.filename}" if isinstance(error, OSError) and error.filename else ""
    return f"{error.strerror}{where}" if isinstance(error, OSError) else str(error)
