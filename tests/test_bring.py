"""A newer edition of the course: `python start.py --bring FOLDER` loses nothing that a student wrote, in either folder."""

from __future__ import annotations

import copy
import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT
from test_rebuild import ANSWER, answered, blank, place

NAME = "00_start_here"
Notebook = dict[str, Any]


@pytest.fixture
def start(tmp_path: Path) -> ModuleType:
    """start.py of a new edition in its own folder, with the notebook of an old one beside it."""
    new = tmp_path / "course-new"
    (new / NAME).mkdir(parents=True)
    shutil.copyfile(ROOT / "course" / "start.py", new / "start.py")
    write(new, blank())
    spec = importlib.util.spec_from_file_location("start_of_a_new_edition", new / "start.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, notebook: Notebook) -> None:
    (folder / NAME).mkdir(parents=True, exist_ok=True)
    (folder / NAME / f"{NAME}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def read(folder: Path) -> Notebook:
    found: Notebook = json.loads((folder / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    return found


def own(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": f"own-{len(source)}",
        "metadata": {},
        "source": source,
        "outputs": [{"x": 1}],
        "execution_count": 3,
    }


def texts(notebook: Notebook) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def test_answers_and_own_cells_come_into_the_new_notebook_at_their_places(start: ModuleType, tmp_path: Path) -> None:
    old = answered(ANSWER)
    at = place(old, "hello_shape")
    old["cells"].insert(at + 1, own("print('my own trial')"))
    old["cells"].insert(at + 2, own("print('and another')"))
    write(tmp_path / "old", old)
    for kept in (".progress.json", ".predictions.json"):
        (tmp_path / "old" / kept).write_text("{}", encoding="utf-8")
    new = blank()
    new["cells"][0]["source"] = "# A new title"
    write(start.COURSE, new)
    assert start.bring(tmp_path / "old") == 0
    found = read(start.COURSE)
    at = place(found, "hello_shape")
    assert texts(found)[at : at + 3] == [ANSWER, "print('my own trial')", "print('and another')"]
    assert texts(found)[0] == "# A new title", "what is new stays new"
    assert found["cells"][at + 1]["outputs"] == []
    assert (start.COURSE / ".progress.json").is_file() and (start.COURSE / ".predictions.json").is_file()
    assert read(tmp_path / "old") == old, "the old folder is left alone"
    assert json.loads((start.COURSE / NAME / f"{NAME}.before.ipynb").read_text(encoding="utf-8")) == new


def test_bringing_twice_changes_nothing_more(start: ModuleType, tmp_path: Path) -> None:
    old = answered(ANSWER)
    old["cells"].insert(3, own("print('my own trial')"))
    write(tmp_path / "old", old)
    start.bring(tmp_path / "old")
    once = read(start.COURSE)
    start.bring(tmp_path / "old")
    assert read(start.COURSE) == once


def test_an_answer_to_an_exercise_that_is_gone_is_kept_as_a_cell(start: ModuleType, tmp_path: Path) -> None:
    old = answered(ANSWER)
    gone = copy.deepcopy(old["cells"][place(old, "hello_shape")])
    gone["metadata"]["nbgrader"]["grade_id"], gone["source"] = "gone", "def gone():\n    return 1"
    old["cells"].append(gone)
    write(tmp_path / "old", old)
    start.bring(tmp_path / "old")
    (kept,) = [cell for cell in read(start.COURSE)["cells"] if "def gone" in "".join(cell["source"])]
    assert kept["metadata"] == {}


@pytest.mark.parametrize("content", ["", "[]", '{"cells": 5}', '{"cells": [{"metadata": 3}]}', "\x00"])
def test_a_notebook_that_can_not_be_read_is_left_and_said(
    content: str, start: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old" / NAME).mkdir(parents=True)
    (tmp_path / "old" / NAME / f"{NAME}.ipynb").write_text(content, encoding="utf-8")
    assert start.bring(tmp_path / "old") == 0
    assert read(start.COURSE) == blank() and "left as it is" in capsys.readouterr().err


def test_a_folder_that_is_no_earlier_edition_is_one_clear_line(
    start: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["start.py", "--bring", str(tmp_path)])
    assert start.main() == 2
    assert "holds no notebooks of an earlier edition" in capsys.readouterr().err
