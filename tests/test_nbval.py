"""nbval over the solutions, with which `make test` ends, can turn red: by a planted wrong solution, and by a marked output that no longer comes out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.paths import solution

NAME = "00_start_here"


def nbval(notebook: nbformat.NotebookNode, folder: Path) -> tuple[int, str]:
    """Exit status and output of `pytest --nbval-lax` on one notebook, with FFNLAB_STRICT=1."""
    path = folder / f"{NAME}.ipynb"
    nbformat.write(notebook, path)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval-lax",
        str(path),
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:timeout",
    ]
    environment = os.environ | {"FFNLAB_STRICT": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def cell(notebook: nbformat.NotebookNode, grade_id: str) -> nbformat.NotebookNode:
    match: nbformat.NotebookNode = next(
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )
    return match


@pytest.fixture
def notebook() -> nbformat.NotebookNode:
    solution_notebook: nbformat.NotebookNode = nbformat.read(solution(NAME), as_version=4)
    return solution_notebook


def test_a_planted_wrong_solution_is_red(notebook: nbformat.NotebookNode, tmp_path: Path) -> None:
    cell(notebook, "hello_shape").source = "def hello_shape(x):\n    B, T, d = x.shape\n    return B, d, T"
    status, output = nbval(notebook, tmp_path)
    check = [code_cell for code_cell in notebook.cells if code_cell.cell_type == "code"].index(
        cell(notebook, "check-hello_shape")
    )
    assert status == 1 and f"Cell {check}" in output and "1 failed" in output


def test_a_planted_wrong_output_is_red(notebook: nbformat.NotebookNode, tmp_path: Path) -> None:
    shapes_cell = cell(notebook, "shapes")
    assert "nbval-check-output" in shapes_cell.metadata.tags
    shapes_cell.outputs[0].text = shapes_cell.outputs[0].text.replace("19", "15")
    status, output = nbval(notebook, tmp_path)
    assert status == 1 and "mismatch" in output.lower()
