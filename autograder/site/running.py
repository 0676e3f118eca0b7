"""A notebook run for its page, in a process of its own: with the solution's code, so that figures of the reader's own code show something.

What leaves this module are outputs, pictures and words, never code. Where the built solution notebook is up to date, its outputs are taken, and only
those cells run that show what a page makes for itself, with what they need (`needed.py`).
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import nbformat
import torch
from IPython.core.displayhook import CapturingDisplayHook
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from traitlets.config import Config

from autograder.authoring import build, frames
from autograder.errors import UserError
from autograder.paths import solution
from autograder.site.needed import find_cells_to_run, shows
from ffnlab import boards, doctor, live_boards
from ffnlab.boards import Board
from ffnlab.checking import panel, record
from ffnlab.course import machine, real_file, real_parts
from ffnlab.drawing import controls, stored_frames
from ffnlab.prediction import prediction_widget
from ffnlab.registry import active_course

FIGURE = "application/x-ffnlab-figure"  # stands in an output for the figure of that number
BOARD = "application/x-ffnlab-board"  # the HTML of a board
PREDICTION = "application/x-ffnlab-prediction"  # and this for the prediction of that name
# what a page makes for itself
PAGE_FUNCTIONS = ("controls", "doctor", "machine", "play", "predict", "progress", "veil")
ELSEWHERE = "This looks at your own machine and your own work: run the cell in JupyterLab."
Output = dict[str, Any]


@dataclass(frozen=True)
class FigureOnPage:
    """A figure for a page."""

    name: str  # that of its file
    still: str  # the HTML of its first picture
    archive: bytes  # all its pictures, as `stored_frames` has them

    @cached_property
    def pictures(self) -> dict[str, Any]:
        """All its pictures, as JSON data."""
        return stored_frames.unpack(self.archive)


@dataclass
class ExecutedNotebook:
    """What a notebook showed: by cell, its outputs; and its figures, in order."""

    outputs: dict[str, list[Output]] = field(default_factory=dict)
    figures: list[FigureOnPage] = field(default_factory=list)


def cell_name(cell: Any) -> str:
    """The name of a cell: its grade_id, else its id."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id") or cell.id)


def is_check(cell: Any) -> bool:
    """Whether a cell is one of ours that gives points."""
    nbgrader_metadata = cell.metadata.get("nbgrader", {})
    return bool(nbgrader_metadata.get("grade") and not nbgrader_metadata.get("solution"))


def run(assignment: str) -> ExecutedNotebook:
    """The outputs of all cells but checks. Changes this process for good: call it in one that does nothing else.

    Raises:
        UserError: a cell fails, or a figure can't be drawn.
    """
    torch.set_num_threads(1)
    execution = ExecutedNotebook()
    cell_now = ""
    cells = [
        (cell_name(cell), cell.source)
        for cell in build.notebook_of(assignment).cells
        if cell.cell_type == "code" and not is_check(cell)
    ]
    built_outputs = _built_outputs(assignment) if build.is_current(assignment) else {}

    def show(draw: controls.DrawFunction, /, **parameters: Any) -> None:
        before = sum(figure.name.partition(".")[0] == cell_now for figure in execution.figures)
        figure = controls.Figure(draw, parameters)
        archive = stored_frames.find(figure) if built_outputs else None
        name = f"{cell_now}.{before + 1}" if before else cell_now
        execution.figures.append(FigureOnPage(name, figure.html(figure.start), archive or frames.draw(figure)))
        display({FIGURE: len(execution.figures) - 1}, raw=True)

    def predict(name: str) -> None:
        active_course().prediction(name)  # a name that is not there ends the build with its cell
        display({PREDICTION: name}, raw=True)

    def play(board: Board | Callable[[], Board]) -> None:
        current_board = board() if callable(board) else board
        display({BOARD: boards.html(current_board)}, raw=True)

    def elsewhere(*arguments: Any, **options: Any) -> Any:
        display(panel.message("Yours", ELSEWHERE))

    controls.show, prediction_widget.predict, live_boards.play = show, predict, play
    doctor.doctor = record.progress = machine.machine = elsewhere
    _replace_in(import_module(active_course().package), predict=predict, play=play, progress=elsewhere)
    real_parts.run = lambda: None  # it stands above `progress`, and would name the folder below
    os.environ.pop(real_file.VARIABLE, None)  # a page shows the same, whether or not its author has the model
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        for other in active_course().notebooks:  # so that it looks like a course
            (Path(name) / other).mkdir()
        os.chdir(Path(name) / assignment)
        os.environ["IPYTHONDIR"] = name
        shell = _shell()
        to_run = find_cells_to_run(cells, PAGE_FUNCTIONS) if built_outputs else {name for name, _ in cells}
        for cell_now, code in cells:
            if cell_now in to_run:
                execution.outputs[cell_now] = _run_cell(shell, f"solutions/{assignment}.py, cell {cell_now}", code)
            # Also of what was run: times that it measured anew would not be those of a plot below.
            if built_outputs and not shows(code, PAGE_FUNCTIONS):
                execution.outputs[cell_now] = built_outputs[cell_now]
        os.chdir(home)
    return execution


def _replace_in(package: ModuleType, **functions: Callable[..., Any]) -> None:
    """Replace what a course's package has imported for its notebooks under the names of these functions."""
    for name in functions.keys() & vars(package).keys():
        setattr(package, name, functions[name])


def _built_outputs(assignment: str) -> dict[str, list[Output]]:
    """By cell, the outputs in the built solution notebook, in the form of those of a run here."""
    outputs_by_cell: dict[str, list[Output]] = {}
    for cell in nbformat.read(solution(assignment), as_version=4).cells:
        outputs = outputs_by_cell.setdefault(cell_name(cell), [])
        for output in cell.get("outputs", []):
            if any(output.get("data", {}).values()):  # a bar that is full leaves an empty one
                outputs.append({"data": dict(output.data)})
            elif output.get("name") == "stdout" and outputs and "text" in outputs[-1]:
                outputs[-1]["text"] += output.text
            elif output.get("name") == "stdout":
                outputs.append({"text": output.text})
    return outputs_by_cell


class _NotebookShell(InteractiveShell):
    """A notebook's shell without a window of its own."""

    def enable_gui(self, gui: str | None = None) -> None:
        pass


def _shell() -> InteractiveShell:
    settings = Config()
    settings.HistoryManager.enabled = False
    shell = _NotebookShell.instance(config=settings)
    shell.run_line_magic("matplotlib", "inline")
    return shell


def _run_cell(shell: InteractiveShell, place: str, source: str) -> list[Output]:
    publisher = CapturingDisplayPublisher()
    shell.display_pub = publisher
    shell.display_trap.hook = CapturingDisplayHook(shell=shell, outputs=publisher.outputs)
    old = sys.stdout, sys.stderr
    sys.stdout = cast(Any, _PrintCapture(publisher.outputs))
    sys.stderr = io.StringIO()
    try:
        result = shell.run_cell(source, store_history=False)
    finally:
        sys.stdout, sys.stderr = old
    error = result.error_before_exec or result.error_in_exec
    if isinstance(error, UserError):
        raise error
    if error is not None:
        raise UserError(f"{place} fails: {type(error).__name__}: {error}")
    if source.rstrip().endswith(";") and result.result is not None:
        del publisher.outputs[-1]
    return [output for output in publisher.outputs if output.get("text") or output.get("data")]


class _PrintCapture(io.TextIOBase):
    """What a cell prints, among what it displays, in order."""

    def __init__(self, outputs: list[Output]) -> None:
        self.outputs = outputs

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not self.outputs or "text" not in self.outputs[-1]:
            self.outputs.append({"text": ""})
        self.outputs[-1]["text"] += text
        return len(text)
