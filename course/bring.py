"""What `python start.py --bring FOLDER` does: it puts your work from an earlier edition's folder into this one's notebooks.

That is your answers, your own cells, and what you have added to cells of the course. It never writes over what you have written here, and it leaves the
earlier folder alone. What could not be brought is named. Nothing has to be installed for it.
"""

import ast
import contextlib
import difflib
import errno
import hashlib
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Cell = dict[str, Any]
STUB_LINE = re.compile(  # all that a cell holds in which nothing has been answered yet
    r'def \w+\(.*\):|class \w+(\(.*\))?:|""".*"""|# YOUR CODE HERE|raise NotImplementedError|\w+ = \.\.\.( *#.*)?'
    r"|\*Write your answer here, in your own words\.\*"
    r'|\w+ = \{( *#.*)?|"[^"]*": \.\.\.,|\}'  # an answer with several parts
)
DEFINED = re.compile(r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
# What a browser or JupyterLab puts behind a file's name.
COPY = re.compile(r"(?:[ _-]*(?:\(\d+\)|copy ?\d*|\d+))*", re.IGNORECASE)
ALIKE = 0.8  # of two texts, as difflib has it: a cell of the course, in another edition
MODEL_FOLDER, MODEL_FILES = "real_model", ("vocab.txt", "model.safetensors")  # as ffnlab.course.real_file calls them
MIN_KNOWN_CELLS = 3  # cells of ours by which a notebook is known
LABEL = "*Your earlier answer, to compare with the one above. It does not run.*"
ADDED_LABEL = "*What you had added to the cell above in an earlier edition.*"


@dataclass
class Summary:
    """What was done with a notebook."""

    over: int = 0  # cells that were brought
    below: int = 0  # earlier answers that were added below others
    left: list[str] = field(default_factory=list)  # what was not brought, and why
    # Cells of the course that differ, and of which it is not known whether a reader or the edition has changed them.
    unclear: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = []
        if self.over:
            parts.append(f"{plural(self.over, 'cell')} brought over")
        if self.below:
            parts.append(f"{plural(self.below, 'earlier answer')} added below what you have written here")
        return ", ".join(parts)


def plural(count: int, noun: str) -> str:
    """ "1 cell", "2 cells": a function of its own, because `ffnlab` need not be installed here."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def bring(course: Path, old: Path) -> int:
    """Bring the answers, cells and progress in the folder `old` into the notebooks in `course`, and say what was brought.

    Returns the exit status: 2 where something could not be brought, or `old` holds no notebook of the course.
    """
    same = os.path.realpath(old) == os.path.realpath(course)
    if not same and not list(old.glob("[0-9][0-9]_*")) and (old / "course").is_dir():
        old = old / "course"  # the folder that was unpacked
    found, left, changed = 0, list[str](), 0
    paths = [path for path in sorted(course.glob("[0-9][0-9]_*/*.ipynb")) if path.stem == path.parent.name]
    candidates = [] if same else find_notebooks(old)
    for path in paths if not same else ():
        try:
            stems = {other.stem for other in paths if other != path}
            possible = [candidate for candidate in candidates if candidate.parent.name not in stems]
            earlier, others = choose(path, possible)
            if earlier is None:
                continue  # not in that edition, or not handed out to you
            found += 1
            summary, copy = bring_notebook(path, earlier)
        except (OSError, ValueError) as error:
            left.append(f"{path.stem}: left as it is, {explain(error)}")
            continue
        done = f"{summary}; the earlier state is in {copy}" if copy else "nothing new to bring over"
        print(f"{path.stem}: {done}")
        changed += bool(copy)
        left += [f"{path.stem}: {what}" for what in summary.left]
        left += [f"{path.stem}: {other} was left where it is, because {earlier.name} was brought" for other in others]
    if not found and not left:
        trouble = "is this edition's folder" if same else "has no notebooks of an earlier edition"
        advice = "name the folder that the earlier start.py is in"
        if old.is_file():
            advice = f"unpack it first, and {advice}"
        print(f"start.py: {old} {trouble}: {advice}", file=sys.stderr)
        return 2
    known = {path.stem for path in paths}
    for path in candidates:
        if path.stem == path.parent.name and path.stem not in known and has_work(path):
            left.append(f"{path.stem}: this edition does not have it, so your work is still in {path}")
    for name in (".progress.json", ".predictions.json", ".boards.json", "my_transformer.py", "my_transformer.pt"):
        try:
            if not (course / name).exists():
                write(course / name, read_file(old / name))
        except FileNotFoundError:
            continue
        except OSError as error:
            left.append(f"{name}: not brought over, {explain(error)}")
    left += bring_model(course, old)
    for line in left:
        print(line, file=sys.stderr)
    if changed:
        print("Run the notebooks from top to bottom again, so that each check sees your answers.")
    return 2 if left else 0


def bring_model(course: Path, old: Path) -> list[str]:
    """Bring the file of notebook 11's model along, if it was fetched. Returns what could not be brought, and why.

    Its 91 MB get a second name, where the disk can do that; elsewhere they are copied. Nobody writes into these files, so both editions can have them.
    """
    new, kept = course / MODEL_FOLDER, old / MODEL_FOLDER
    missing = [name for name in MODEL_FILES if not (new / name).exists()]
    try:
        if not missing or not all(is_own_file(kept / name) for name in MODEL_FILES):
            return []
        new.mkdir(exist_ok=True)
        for name in missing:
            link_or_copy(kept / name, new / name)
    except OSError as error:
        return [f"{MODEL_FOLDER}: not brought over, {explain(error)}; notebook 11 can fetch it again"]
    print(f"{MODEL_FOLDER}: brought along, so it need not be fetched again")
    return []


def is_own_file(path: Path) -> bool:
    """Whether there is a file that is no link. Raises OSError: a link, which may lead anywhere, or no regular file."""
    if path.is_symlink() or path.parent.is_symlink() or (path.exists() and not path.is_file()):
        raise OSError(errno.EINVAL, "it is a link, or not a regular file", str(path))
    return path.exists()


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name, or make a copy, whole or not at all."""
    draft = target.with_name(f"{target.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        try:
            os.link(source, draft)
        except OSError:  # another disk, or one that knows no second names
            shutil.copyfile(source, draft)
        draft.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


# Which file.


def find_notebooks(old: Path) -> list[Path]:
    """The notebooks in an earlier folder, whatever they are called; not what this and JupyterLab keep beside them."""
    paths = [*old.glob("*.ipynb"), *old.glob("*/*.ipynb")]
    return sorted(path for path in paths if ".before" not in path.stem and path.parent.name != ".ipynb_checkpoints")


def choose(path: Path, candidates: list[Path]) -> tuple[Path | None, list[str]]:
    """The earlier notebook for the one at `path`, and the names of others that hold work too.

    It is the one of the same name or, where that holds none, the one with the most answers.

    Raises:
        OSError: the one of the same name can't be read. ValueError: it is not a notebook.
    """
    _, new = read(path)
    works: dict[Path, float] = {}
    for candidate in candidates:
        is_exact = (candidate.parent.name, candidate.name) == (path.parent.name, path.name)
        is_copy = candidate.stem.startswith(path.stem) and COPY.fullmatch(candidate.stem[len(path.stem) :]) is not None
        try:
            _, earlier = read(candidate)
        except (OSError, ValueError):
            if is_exact:
                raise
            continue
        if is_copy or (known_cells(new, earlier) >= MIN_KNOWN_CELLS):
            works[candidate] = count_answers(earlier) + is_exact / 2
    if not works:
        return None, []
    best = max(works, key=lambda work: (works[work], work.stat().st_mtime))
    with_answers = [work for work in works if works[work] >= 1]
    exact = [work for work in with_answers if (work.parent.name, work.name) == (path.parent.name, path.name)]
    best = exact[0] if exact else best
    return best, [work.name for work in with_answers if work != best]


def known_cells(new: dict[str, Any], earlier: dict[str, Any]) -> int:
    """How many cells of an earlier notebook are known by an exercise's name or by an id in the new one."""
    signs = {cell.get("id", "") for cell in new["cells"]} | {name_of(cell) for cell in new["cells"] if is_answer(cell)}
    return sum(bool({name_of(cell), cell.get("id", "")} & (signs - {""})) for cell in earlier["cells"])


def count_answers(notebook: dict[str, Any]) -> int:
    return sum(is_answer(cell) and not is_stub(source_of(cell)) for cell in notebook["cells"])


def has_work(path: Path) -> bool:
    """Whether an earlier notebook holds an answer or a cell of the reader's own."""
    try:
        _, notebook = read(path)
    except (OSError, ValueError):
        return False
    own = any(not name_of(cell) and source_of(cell).strip() for cell in notebook["cells"])
    return own or count_answers(notebook) > 0


# A notebook.


def bring_notebook(path: Path, earlier: Path) -> tuple[Summary, str]:
    """Bring what is in the notebook `earlier` into the one at `path`. Returns what was done, and the name of a copy of the state before; "" where nothing was.

    Raises:
        OSError: one of them can't be read, or the new one can't be written. ValueError: one of them is not a notebook.
    """
    _, theirs = read(earlier)
    before, notebook = read(path)
    summary = merge(notebook["cells"], theirs["cells"])
    if not summary.over and not summary.below:
        return summary, ""
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
    return summary, copy.name


def merge(cells: list[Cell], earlier: list[Cell]) -> Summary:
    """Put earlier answers into the cells of the same names, and a reader's own cells behind the cell that they were behind.

    An earlier answer takes a cell's place only where the cell holds nothing, or just what was brought into it. Anywhere else it is
    added below, as text that does not run. What a reader had added to a cell of the course is added behind it.
    """
    summary = Summary()
    matches = match(cells, earlier)
    answers = choose_answers(earlier, matches)
    place: Cell | None = None
    for number, cell in enumerate(earlier):
        here, source = matches[number], source_of(cell)
        if here is None:
            is_ours = bool(name_of(cell)) and not is_answer(cell)  # a cell of ours that is gone
            if not is_stub(source) if is_answer(cell) else source.strip() and not is_ours:
                # An answer to an exercise that is gone, or a cell of the reader's own.
                summary.over += insert(cells, place, cell)
            elif is_ours and is_changed(cell):
                summary.left.append(f"you had changed the cell {name_of(cell)}, which this edition does not have")
            continue
        place = here
        if not is_answer(here):
            bring_additions(cells, here, cell, summary)
        elif not is_stub(source) and source != source_of(here):
            if answers[id(here)] is cell and may_be_replaced(here):
                fill_in(here, cell)
                summary.over += 1
            else:
                summary.below += insert(cells, place, cell, as_text=True)
    if summary.unclear:
        names = ", ".join(summary.unclear)
        summary.left.append(
            f"these cells of the course differ from this edition's, so look whether you had added something: {names}"
        )
    return summary


def match(cells: list[Cell], earlier: list[Cell]) -> list[Cell | None]:
    """The new cell that each earlier cell is: by its name or its id; where a file has lost both, by its text, by what it defines, or by a text like it."""
    named = {name_of(cell): cell for cell in cells if name_of(cell)}
    by_id = {cell["id"]: cell for cell in named.values() if cell.get("id")}
    by_text = {squeeze(source_of(cell)): cell for cell in named.values()}
    matches: list[Cell | None] = []
    for cell in earlier:
        here = named.get(name_of(cell))
        if not name_of(cell):
            here = by_id.get(cell.get("id", "")) or by_text.get(squeeze(source_of(cell)))
        matches.append(here)
    used = {id(here) for here in matches if here is not None}
    for number, cell in enumerate(earlier):
        if matches[number] is None and not name_of(cell):
            free = [new for new in named.values() if id(new) not in used]
            here = find_answered(cell, free) or find_alike(cell, free)
            if here is not None:
                matches[number] = here
                used.add(id(here))
    return matches


def find_answered(cell: Cell, cells: list[Cell]) -> Cell | None:
    """The exercise's cell that an earlier cell without a name answers: it defines what is called so."""
    if cell["cell_type"] != "code":
        return None
    defined = {definition or assignment for definition, assignment in DEFINED.findall(source_of(cell))}
    return next((new for new in cells if is_answer(new) and name_of(new) in defined), None)


def find_alike(cell: Cell, cells: list[Cell]) -> Cell | None:
    """The cell of the course whose text is nearly that of an earlier cell without a name."""
    source = squeeze(source_of(cell))
    if len(source) < 30:
        return None
    for new in cells:
        matcher = difflib.SequenceMatcher(None, source, squeeze(source_of(new)), autojunk=False)
        if (
            new["cell_type"] == cell["cell_type"]
            and matcher.real_quick_ratio() > ALIKE
            and matcher.quick_ratio() > ALIKE
            and matcher.ratio() > ALIKE
        ):
            return new
    return None


def choose_answers(earlier: list[Cell], matches: list[Cell | None]) -> dict[int, Cell]:
    """By the new cell of an exercise, which of several earlier answers counts: as in grading, the last before its check that holds one."""
    places = {name_of(cell): number for number, cell in enumerate(earlier) if name_of(cell)}
    answers: dict[int, Cell] = {}
    early: set[int] = set()
    for number, (cell, here) in enumerate(zip(earlier, matches, strict=True)):
        if here is None or not is_answer(here) or is_stub(source_of(cell)):
            continue
        is_early = number < places.get(f"check-{name_of(here)}", len(earlier))
        if is_early or id(here) not in early:
            answers[id(here)] = cell
        if is_early:
            early.add(id(here))
    return answers


def bring_additions(cells: list[Cell], here: Cell, earlier: Cell, summary: Summary) -> None:
    """Bring what a reader had added to a cell of the course: code as code, if it is whole, and all else as text."""
    known = {line.strip() for line in source_of(here).splitlines()}
    lines = [line for line in source_of(earlier).splitlines() if line.strip() and line.strip() not in known]
    if not lines or (here["metadata"].get("nbgrader") or {}).get("locked") is not True:
        return  # the others are there to be played with
    has_sum = bool((earlier["metadata"].get("nbgrader") or {}).get("checksum"))
    if has_sum and not is_changed(earlier):
        return  # it was so in that edition
    if earlier["cell_type"] == "code":
        lines = [line for line in lines if not re.match(r"\s*(?:from|import)\s+ffnlab", line)]
    source = "\n".join(lines)
    if not source:
        return
    if not has_sum and not all(re.match(r"(?:from|import)\s", line) for line in lines):
        summary.unclear.append(name_of(here))
        return
    new: Cell = {"cell_type": "markdown", "id": "", "metadata": {}, "source": f"{ADDED_LABEL}\n\n{source}"}
    if earlier["cell_type"] == "code":
        if compiles(source):
            new.update(cell_type="code", source=source)
        else:
            new["source"] = f"{ADDED_LABEL}\n\n{fenced(source)}"
            summary.left.append(
                f"what you had added to the cell {name_of(here)} is text now, as it does not run by itself"
            )
    summary.over += insert(cells, here, new)


def compiles(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def is_changed(cell: Cell) -> bool:
    """Whether a reader has changed a cell of the course: nbgrader has written down a sum of what was handed out."""
    fields = cell["metadata"].get("nbgrader") or {}
    if not isinstance(fields.get("checksum"), str):
        return False
    is_grade, is_solution = bool(fields.get("grade")), bool(fields.get("solution"))
    is_locked = not is_solution and (is_grade or bool(fields.get("locked")))
    points = [str(float(fields["points"]))] if is_grade and isinstance(fields.get("points"), int | float) else []
    parts = (
        source_of(cell),
        cell["cell_type"],
        str(is_grade),
        str(is_solution),
        str(is_locked),
        name_of(cell),
        *points,
    )
    sum_of = hashlib.md5("".join(parts).encode(), usedforsecurity=False)  # as nbgrader.utils.compute_checksum
    return bool(sum_of.hexdigest() != fields["checksum"])


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
        new.update(cell_type="markdown", source=f"{LABEL}\n\n{fenced(source) if kind == 'code' else source}")
    if new["cell_type"] == "code":
        new.update(outputs=[], execution_count=None)
    elif "attachments" in earlier:
        new["attachments"] = earlier["attachments"]
    index = next((number for number, cell in enumerate(cells, 1) if cell is place), 0)
    while index < len(cells) and cells[index].get("id", "").startswith("brought-"):
        index += 1
    cells.insert(index, new)
    return 1


def fenced(source: str) -> str:
    """Code, as Markdown that shows it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", source)), default=0))
    return f"{fence}python\n{source}\n{fence}"


# A cell.


def squeeze(source: str) -> str:
    return " ".join(source.split())


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


def read_file(path: Path) -> bytes:
    """A file's bytes. Raises OSError: it can't be read; a link, which may lead anywhere, or a pipe, which may never end."""
    is_own_file(path)
    return path.read_bytes()


def read(path: Path) -> tuple[bytes, dict[str, Any]]:
    """A file's bytes, and the notebook that they are, whose cells have what is needed here.

    Raises:
        OSError: it can't be read. ValueError: it is not a notebook.
    """
    data = read_file(path)
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
