"""What students do to a notebook who cheat nobody: notes, imports, copies, experiments, in whatever place; as functions that change a notebook.

Each edit draws what it needs from a source of choices, and remembers the words that it has written as a student's.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Cell = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]
_numbers = itertools.count()


@dataclass
class Edited:
    """A notebook on its way."""

    notebook: dict[str, Any]
    draw: Draw
    words: list[str] = field(default_factory=list)  # what a student wrote who means it to be read
    done: list[str] = field(default_factory=list)  # what was done, for messages

    @property
    def cells(self) -> list[Cell]:
        cells: list[Cell] = self.notebook["cells"]
        return cells

    def place(self, end: bool = False) -> int:
        """Somewhere among the cells. end: also behind the last."""
        return int(self.draw(st.integers(0, len(self.cells) - (not end))))

    def sentence(self) -> str:
        """Words that stand nowhere else."""
        word = f"student{len(self.words)}words{'abcdefghij'[len(self.words) % 10]}"
        self.words.append(word)
        return f"The reason is {word}, because of the sum of two of them."


def new(source: str, cell_type: str = "code") -> Cell:
    """A cell that somebody has added."""
    cell: Cell = {"cell_type": cell_type, "id": f"new-{next(_numbers)}", "metadata": {}, "source": source}
    return cell | ({"outputs": [], "execution_count": None} if cell_type == "code" else {})


def source_of(cell: Cell) -> str:
    return "".join(cell["source"])


def add_text(edited: Edited) -> None:
    """A note in a cell of one's own."""
    kind = edited.draw(st.sampled_from(["markdown", "raw"]))
    edited.cells.insert(edited.place(end=True), new(edited.sentence(), kind))


def add_comment_cell(edited: Edited) -> None:
    """A note as comments in a code cell of one's own."""
    edited.cells.insert(edited.place(end=True), new(f"# {edited.sentence()}"))


CODE = (
    "import numpy as np",
    "x = torch.ones(2, 3)\nx * 2",
    "def helper(x):\n    return x",
    "1 / 0",
    "W1 = b1 = W2 = b2 = None",
    "%timeit -n 1 -r 1 sum(range(3))",
    "this is not Python",
    "",
    "!true",
    "import warnings\nwarnings.warn('look out')",
)


def add_code(edited: Edited) -> None:
    """Code in a cell of one's own."""
    edited.cells.insert(edited.place(end=True), new(edited.draw(st.sampled_from(CODE))))


def write_into(edited: Edited) -> None:
    """Words or code in a cell that is there, ours or not."""
    cell = edited.cells[edited.place()]
    words = edited.sentence()
    in_code = st.sampled_from(["import math as m", "y = 3", "# note", f"# {words}"])
    text = edited.draw(in_code) if cell["cell_type"] == "code" else words
    parts = [source_of(cell), text]
    cell["source"] = "\n".join(parts if edited.draw(st.booleans()) else parts[::-1])


def copy_cell(edited: Edited) -> None:
    """A cell is copied, with its metadata; its id is a new one, as in JupyterLab, or the same, as in a file that was put together."""
    twin = copy.deepcopy(edited.cells[edited.place()])
    if edited.draw(st.booleans()):
        twin["id"] = f"copy-{next(_numbers)}"
    edited.cells.insert(edited.place(end=True), twin)


def move_cell(edited: Edited) -> None:
    """A cell is moved."""
    cell = edited.cells.pop(edited.place())
    edited.cells.insert(edited.place(end=True), cell)


def split_cell(edited: Edited) -> None:
    """A cell is cut in two, which both have its metadata."""
    place = edited.place()
    lines = source_of(edited.cells[place]).splitlines(keepends=True)
    cut = edited.draw(st.integers(0, len(lines)))
    second = copy.deepcopy(edited.cells[place]) | {"id": f"half-{next(_numbers)}", "source": "".join(lines[cut:])}
    edited.cells[place]["source"] = "".join(lines[:cut])
    edited.cells.insert(place + 1, second)


def merge_cells(edited: Edited) -> None:
    """Two cells become one, which has the metadata of the first."""
    place = edited.draw(st.integers(0, len(edited.cells) - 2))
    below = edited.cells.pop(place + 1)
    cell = edited.cells[place]
    cell["source"] = f"{source_of(cell)}\n{source_of(below)}"


def retype_cell(edited: Edited) -> None:
    """A cell's type is changed, as a slip of the finger does."""
    cell = edited.cells[edited.place()]
    cell["cell_type"] = edited.draw(st.sampled_from(["code", "markdown", "raw"]))


def empty_cell(edited: Edited) -> None:
    edited.cells[edited.place()]["source"] = ""


def delete_cell(edited: Edited) -> None:
    edited.cells.pop(edited.place())


def lose_metadata(edited: Edited) -> None:
    """Another program has saved the notebook: metadata, ids or both are gone, of all cells or of some."""
    what = edited.draw(st.sampled_from(["metadata", "ids", "both"]))
    share = edited.draw(st.sampled_from([1, 2, 7]))
    for cell in edited.cells[::share]:
        if what != "ids":
            cell["metadata"] = {}
        if what != "metadata":
            cell.pop("id", None)


def rename_check(edited: Edited) -> None:
    """`check` gets another name."""
    for cell in edited.cells:
        if cell["cell_type"] == "code" and "check(" in source_of(cell) and edited.draw(st.booleans()):
            cell["source"] = f"verify = check\n{source_of(cell).replace('check(', 'verify(')}"


def check_under_another_name(edited: Edited) -> None:
    """An answer has a name of its own, and a check in a cell of the student's own is given it."""
    answers = [
        cell
        for cell in edited.cells
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution")
    ]
    if not answers:
        return
    cell = edited.draw(st.sampled_from(answers))
    name = cell["metadata"]["nbgrader"]["grade_id"]
    if f"def {name}(" in source_of(cell):
        cell["source"] = source_of(cell).replace(f"def {name}(", f"def my_{name}(")
        place = edited.cells.index(cell) + 1
        position = edited.draw(st.integers(place, len(edited.cells)))
        edited.cells.insert(position, new(f'check("{name}", my_{name})'))


def experiment(edited: Edited) -> None:
    """A wrong answer is tried, to see what the check says, on purpose or not."""
    names = [
        cell["metadata"]["nbgrader"]["grade_id"]
        for cell in edited.cells
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution")
    ]
    if names:
        purpose = edited.draw(st.sampled_from(["", ", on_purpose=True"]))
        source = f'check("{edited.draw(st.sampled_from(names))}", lambda *_: 0{purpose})'
        edited.cells.insert(edited.place(end=True), new(source))


SETTINGS = (
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_dtype(torch.bfloat16)",
    'torch.set_default_device("meta")',
    "torch.set_grad_enabled(False)",
    "torch.inference_mode().__enter__()",
    "torch.use_deterministic_algorithms(True)",
    "torch.set_num_threads(2)",
    'torch.set_float32_matmul_precision("medium")',
    "import numpy as np\nnp.seterr(all='raise')",
    "import warnings\nwarnings.simplefilter('error')",
    "import sys\nsys.setrecursionlimit(400)",
    "import locale\nlocale.setlocale(locale.LC_ALL, 'C')",
    "import builtins\nbuiltins.print = lambda *a, **k: None",
    "import random\nrandom.seed(1); torch.manual_seed(1)",
    "print = None",
    "torch.autograd.set_detect_anomaly(True)",
    'torch.autocast("cpu").__enter__()',
    "import decimal\ndecimal.getcontext().prec = 3",
)


def set_for_all(edited: Edited) -> None:
    """A setting for all code, in a cell of one's own or in our first one."""
    setting = edited.draw(st.sampled_from(SETTINGS))
    if edited.draw(st.booleans()):
        place = edited.place(end=True)
        edited.cells.insert(place, new(f"import torch\n{setting}"))
        return
    for cell in edited.cells:
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("grade_id") == "imports":
            cell["source"] = f"{source_of(cell)}\nimport torch\n{setting}"


EDITS: tuple[Callable[[Edited], None], ...] = (
    add_text,
    add_comment_cell,
    add_code,
    write_into,
    copy_cell,
    move_cell,
    split_cell,
    merge_cells,
    retype_cell,
    empty_cell,
    delete_cell,
    lose_metadata,
    rename_check,
    check_under_another_name,
    experiment,
    set_for_all,
)


def edit(notebook: dict[str, Any], draw: Draw, most: int) -> Edited:
    """A notebook after up to so many edits."""
    edited = Edited(copy.deepcopy(notebook), draw)
    for _ in range(draw(st.integers(1, most))):
        change = draw(st.sampled_from(EDITS))
        if edited.cells:
            change(edited)
            edited.done.append(change.__name__)
    return edited


def as_json(notebook: dict[str, Any]) -> bytes:
    return json.dumps(notebook).encode()
