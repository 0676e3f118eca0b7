"""A newer edition of the course: `python start.py --bring FOLDER` loses nothing that a student wrote, in either folder."""

from __future__ import annotations

import copy
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bring
import nbformat
import pytest
from conftest import ROOT
from test_program import ANSWER, answered, blank, place, planned, running

from autograder.paths import assignments, release
from ffnlab.course import real_file

NAME, SECOND = "00_start_here", "01_attention"
WORK = "def hello_shape(x):\n    B, T, d = x.shape  # a week's work\n    return B, T, d"
Notebook = dict[str, Any]
Run = Callable[[], int]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """The folder of a new edition, as it was handed out."""
    write(tmp_path / "new", blank())
    return tmp_path / "new"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of an earlier edition, with one exercise answered."""
    write(tmp_path / "old", answered(ANSWER))
    return tmp_path / "old"


@pytest.fixture
def run(new: Path, old: Path) -> Run:
    return lambda: bring.bring(new, old)


def write(folder: Path, notebook: Notebook | str, name: str = NAME) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    content = notebook if isinstance(notebook, str) else json.dumps(notebook)
    (folder / name / f"{name}.ipynb").write_text(content, encoding="utf-8")


def read(folder: Path, file: str = f"{NAME}.ipynb") -> Notebook:
    notebook: Notebook = json.loads((folder / NAME / file).read_text(encoding="utf-8"))
    return notebook


def edit(folder: Path, source: str, name: str = "hello_shape") -> None:
    """What a student types into a cell, and saves."""
    notebook = read(folder)
    notebook["cells"][place(notebook, name)]["source"] = source
    write(folder, notebook)


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


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


# What is brought


def test_answers_and_own_cells_come_into_the_new_notebook_at_their_places(new: Path, old: Path, run: Run) -> None:
    earlier = answered(ANSWER)
    position = place(earlier, "hello_shape")
    earlier["cells"].insert(position + 1, own("print('my own trial')"))
    earlier["cells"].insert(position + 2, own("print('and another')"))
    write(old, earlier)
    records = (".progress.json", ".predictions.json", ".boards.json", "my_transformer.py", "my_transformer.pt")
    for name in records:
        (old / name).write_text("{}", encoding="utf-8")
    before = blank()
    before["cells"][0]["source"] = "# A new title"
    write(new, before)
    assert run() == 0
    notebook = read(new)
    position = place(notebook, "hello_shape")
    assert texts(notebook)[position : position + 3] == [ANSWER, "print('my own trial')", "print('and another')"]
    assert texts(notebook)[0] == "# A new title", "what is new stays new"
    assert notebook["cells"][position + 1]["outputs"] == []
    assert all((new / name).is_file() for name in records)
    assert read(old) == earlier, "the old folder is left alone"
    assert read(new, f"{NAME}.before.ipynb") == before
    nbformat.validate(notebook)
    assert running(planned(notebook)) == running(planned(earlier)), "a grader sees what the student wrote, and no more"


def test_an_answer_to_an_exercise_that_is_gone_is_added_as_a_cell(new: Path, old: Path, run: Run) -> None:
    earlier = answered(ANSWER)
    old_cell = copy.deepcopy(earlier["cells"][place(earlier, "hello_shape")])
    old_cell["metadata"]["nbgrader"]["grade_id"], old_cell["source"] = "gone", "def gone():\n    return 1"
    stub = copy.deepcopy(old_cell) | {"source": "def gone_too():\n    # YOUR CODE HERE\n    raise NotImplementedError"}
    earlier["cells"] += [old_cell, stub]
    write(old, earlier)
    run()
    (new_cell,) = [cell for cell in read(new)["cells"] if "def gone" in "".join(cell["source"])]
    assert new_cell["metadata"] == {} and new_cell["source"] == old_cell["source"]


def test_pictures_come_with_an_answer_in_words_and_lost_metadata_is_made_up_for_by_the_cell_id(tmp_path: Path) -> None:
    notebook, earlier = (json.loads(release(SECOND).read_text(encoding="utf-8")) for _ in range(2))
    for folder, content in (("new", notebook), ("old", earlier)):
        cell = content["cells"][place(content, "M1")]
        if folder == "old":
            cell |= {
                "source": "![](attachment:a.png)",
                "attachments": {"a.png": {"image/png": "iVBORw0K"}},
                "metadata": {},
            }
        write(tmp_path / folder, content, SECOND)
    assert bring.bring(tmp_path / "new", tmp_path / "old") == 0
    notebook_after = json.loads((tmp_path / "new" / SECOND / f"{SECOND}.ipynb").read_text(encoding="utf-8"))
    assert notebook_after["cells"][place(notebook_after, "M1")]["attachments"] == {"a.png": {"image/png": "iVBORw0K"}}


# What it is never put over


def test_the_same_command_keeps_what_was_written_in_between(
    new: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    edit(new, WORK)
    capsys.readouterr()
    assert run() == 0
    notebook = read(new)
    position = place(notebook, "hello_shape")
    assert texts(notebook)[position] == WORK
    assert ANSWER in texts(notebook)[position + 1] and texts(notebook)[position + 1].startswith(bring.LABEL)
    assert "1 earlier answer added below what you have written here" in capsys.readouterr().out
    assert not any(ANSWER in source for source in running(planned(notebook))), "it runs neither here nor for a grade"
    nbformat.validate(notebook)
    assert read(new, f"{NAME}.before.ipynb") == blank(), "the copy of the first time stays"
    assert texts(read(new, f"{NAME}.before-2.ipynb"))[position] == WORK


def test_what_is_there_already_is_not_brought_again_and_then_nothing_is_copied(new: Path, old: Path, run: Run) -> None:
    earlier = answered(ANSWER)
    earlier["cells"].insert(3, own("print('my own trial')"))
    write(old, earlier)
    run()
    edit(new, WORK)
    run()
    notebook = read(new)
    for cell in notebook["cells"]:
        if cell.get("id", "").startswith("brought-"):
            cell["source"] += "\nmore of the reader's own"
    write(new, notebook)
    there = files(new)
    assert run() == 0
    assert read(new) == notebook and files(new) == there


def test_an_answer_as_it_was_brought_gives_way_to_a_later_one(new: Path, old: Path, run: Run) -> None:
    run()
    edit(old, WORK)
    run()
    notebook = read(new)
    assert texts(notebook)[place(notebook, "hello_shape")] == WORK and not any(
        ANSWER in text for text in texts(notebook)
    )


@pytest.mark.parametrize(
    "nothing", ["", "def hello_shape(x, old):\n    # YOUR CODE HERE\n    raise NotImplementedError"]
)
def test_what_was_never_attempted_is_not_brought(nothing: str, new: Path, old: Path, run: Run) -> None:
    edit(old, nothing)
    edit(new, WORK)
    before = read(new)
    assert run() == 0
    assert read(new) == before and files(new) == {f"{NAME}.ipynb"}
    write(new, blank())
    run()
    assert read(new) == blank(), "a new edition keeps its own way of asking"


def test_work_around_the_marker_is_work(new: Path, run: Run) -> None:
    half = "def hello_shape(x):\n    # YOUR CODE HERE\n    B = x.shape[0]\n    raise NotImplementedError"
    edit(new, half)
    run()
    assert half in texts(read(new))


@pytest.mark.parametrize("name", assignments())
def test_every_answer_that_is_handed_out_is_known_for_a_stub(name: str) -> None:
    cells = json.loads(release(name).read_text(encoding="utf-8"))["cells"]
    answers = [bring.source_of(cell) for cell in cells if bring.is_answer(cell)]
    assert answers and [answer for answer in answers if not bring.is_stub(answer)] == []


# What can't be read or written


def with_source(source: object) -> str:
    notebook = blank()
    notebook["cells"][place(notebook, "hello_shape")]["source"] = source
    return json.dumps(notebook)


UNREADABLE = {
    "empty": "",
    "a list": "[]",
    "no cells": '{"cells": 5}',
    "a table of cells": '{"cells": {}}',
    "cells that are none": '{"cells": [{"metadata": 3}]}',
    "not text": "\x00",
    "nested too deeply": "[" * 200_000,
    "a lone surrogate": with_source("x = '\ud800'"),
    "a table for a source": with_source({"def f": 1}),
    "numbers for lines": with_source([1, 2]),
}


@pytest.mark.parametrize("which", ["old", "new"])
@pytest.mark.parametrize("why", UNREADABLE)
def test_it_goes_on_behind_a_notebook_that_can_not_be_read(
    why: str, which: str, new: Path, old: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (new, old):
        shutil.copytree(folder / NAME, folder / SECOND)
        (folder / SECOND / f"{NAME}.ipynb").rename(folder / SECOND / f"{SECOND}.ipynb")
    evil = old if which == "old" else new
    write(evil, UNREADABLE[why])
    before = (new / NAME / f"{NAME}.ipynb").read_bytes()
    assert run() == 2
    output = capsys.readouterr()
    assert (new / NAME / f"{NAME}.ipynb").read_bytes() == before
    assert output.err.splitlines() == [
        f"{NAME}: left as it is, {evil / NAME / NAME}.ipynb is not a notebook that can be read"
    ]
    assert f"{SECOND}: 1 cell brought over" in output.out
    assert files(new) == {f"{NAME}.ipynb", f"{SECOND}.ipynb", f"{SECOND}.before.ipynb"}


@pytest.mark.parametrize("nth", [1, 2, 3], ids=["the copy", "the notebook", "the progress"])
def test_a_full_disk_leaves_no_half_of_anything_and_the_same_command_goes_on(
    nth: int, new: Path, old: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (old / ".progress.json").write_text("{}", encoding="utf-8")
    calls = 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == nth:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert run() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("No space left on device")
    notebook = {f"{NAME}.ipynb"}
    assert files(new) == (notebook | {f"{NAME}.before.ipynb"} if nth == 3 else notebook | {".progress.json"})
    assert run() == 0
    assert read(new, f"{NAME}.before.ipynb") == blank()
    assert ANSWER in texts(read(new)) and (new / ".progress.json").is_file()


# Work in an unusual place


def without_metadata(notebook: Notebook) -> Notebook:
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id")
    return notebook


def test_a_notebook_without_names_and_ids_is_brought_cell_by_cell(new: Path, old: Path, run: Run) -> None:
    earlier = answered(ANSWER)
    earlier["cells"].insert(place(earlier, "hello_shape") + 1, own("print('my own trial')"))
    earlier["cells"].append(own("my_last = 1"))
    write(old, without_metadata(earlier))
    before = blank()
    before["cells"][place(before, "title")]["source"] = "# A title of a later edition, with another subtitle below it"
    write(new, before)
    assert run() == 0
    notebook = read(new)
    position = place(notebook, "hello_shape")
    assert texts(notebook)[position : position + 2] == [ANSWER, "print('my own trial')"]
    assert texts(notebook)[-1] == "my_last = 1"
    assert len(notebook["cells"]) <= len(before["cells"]) + 3, (
        "no cell of ours is brought as the reader's own, but the title"
    )


def test_where_nobody_knows_whether_a_reader_has_changed_a_cell_it_is_said(
    new: Path, old: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = answered(ANSWER)
    add_to(earlier, "imports", "\nimport numpy as np")
    add_to(earlier, "hello_shape-text", "\nMy note.")
    write(old, without_metadata(earlier))
    assert run() == 2
    assert "import numpy as np" in texts(read(new))
    assert "look whether you had added something: hello_shape-text" in capsys.readouterr().err


def add_to(notebook: Notebook, name: str, text: str) -> None:
    cell = notebook["cells"][place(notebook, name)]
    cell["source"] = "".join(cell["source"]) + text


def test_what_was_added_to_cells_of_the_course_is_brought(new: Path, old: Path, run: Run) -> None:
    earlier = answered(ANSWER)
    add_to(earlier, "imports", "\nimport numpy as np\nfrom ffnlab.old import gone")
    add_to(earlier, "check-hello_shape", "\ndef helper(x):\n    return x")
    add_to(earlier, "title", "\n\nMy own note below the title.")
    write(old, earlier)
    assert run() == 0
    notebook = read(new)
    sources = texts(notebook)
    assert sources[place(notebook, "imports") + 1] == "import numpy as np"
    assert sources[place(notebook, "check-hello_shape") + 1] == "def helper(x):\n    return x"
    assert "My own note below the title." in sources[place(notebook, "title") + 1]
    assert not any("ffnlab.old" in source for source in sources)
    assert run() == 0 and texts(read(new)) == sources, "once"


def test_what_was_added_and_does_not_run_by_itself_is_text_and_said(
    new: Path, old: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = answered(ANSWER)
    add_to(earlier, "imports", "\n    this is no Python")
    write(old, earlier)
    assert run() == 2
    assert "added to the cell imports is text now, as it does not run by itself" in capsys.readouterr().err
    assert any("this is no Python" in source for source in texts(read(new)))


def test_what_an_edition_itself_has_changed_is_not_taken_for_a_reader_s(new: Path, old: Path, run: Run) -> None:
    before = blank()
    before["cells"][place(before, "title")]["source"] = "# Another title"
    write(new, before)
    assert run() == 0
    assert texts(read(new)).count("# Another title") == 1
    assert len(read(new)["cells"]) == len(before["cells"])


@pytest.mark.parametrize("order", ["stub last", "stub behind the check", "three"])
def test_of_several_answers_the_last_before_the_check_that_is_no_stub_is_brought(
    order: str, new: Path, old: Path, run: Run
) -> None:
    earlier = answered(ANSWER)
    position = place(earlier, "hello_shape")
    stub = copy.deepcopy(blank()["cells"][position]) | {"id": "twin"}
    places = {
        "stub last": [position + 1],
        "stub behind the check": [len(earlier["cells"])],
        "three": [position, position + 2],
    }
    for number in places[order]:
        earlier["cells"].insert(number, copy.deepcopy(stub))
    write(old, earlier)
    assert run() == 0
    notebook = read(new)
    assert texts(notebook)[place(notebook, "hello_shape")] == ANSWER
    assert texts(notebook).count(ANSWER) == 1


@pytest.mark.parametrize(
    "file",
    [
        f"{NAME}/{NAME} (1).ipynb", f"{NAME}/{NAME}-Copy1.ipynb", f"{NAME} (1).ipynb", f"{NAME}.ipynb", "mine/homework.ipynb",
        f"course/{NAME}/{NAME}.ipynb",
    ],
)  # fmt: skip
def test_a_notebook_is_found_whatever_it_is_called(file: str, new: Path, tmp_path: Path) -> None:
    old = tmp_path / "elsewhere"
    path = old / file
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(answered(ANSWER)), encoding="utf-8")
    assert bring.bring(new, old) == 0
    assert ANSWER in texts(read(new))


def test_of_two_files_the_one_with_work_is_brought_and_the_other_named(
    new: Path, old: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    write(old, blank())
    (old / NAME / f"{NAME} (1).ipynb").write_text(json.dumps(answered(ANSWER)), encoding="utf-8")
    assert run() == 0 and ANSWER in texts(read(new))
    write(old, answered(WORK))
    assert run() == 2
    assert f"{NAME} (1).ipynb was left where it is, because {NAME}.ipynb was brought" in capsys.readouterr().err


def test_work_in_a_notebook_that_this_edition_does_not_have_is_named(
    new: Path, old: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = json.loads(release(SECOND).read_text(encoding="utf-8"))
    write(old, earlier, SECOND)
    assert run() == 0, "there is no work in it"
    earlier["cells"].append(own("mine = 1"))
    write(old, earlier, SECOND)
    assert run() == 2
    assert f"{SECOND}: this edition does not have it, so your work is still in" in capsys.readouterr().err


# The command


def test_start_brings_and_says_so(new: Path, old: Path, tmp_path: Path) -> None:
    for name in ("start.py", "bring.py"):
        shutil.copy(ROOT / "course" / name, new)

    def start(folder: Path) -> tuple[int, str]:
        command = [sys.executable, str(new / "start.py"), "--bring", str(folder)]
        process = subprocess.run(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return process.returncode, process.stdout

    assert start(tmp_path)[0] == 2 and "has no notebooks of an earlier edition" in start(tmp_path)[1]
    assert start(new)[0] == 2, "not into itself"
    status, output = start(old)
    assert status == 0
    assert output.splitlines()[0] == f"{NAME}: 1 cell brought over; the earlier state is in {NAME}.before.ipynb"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
@pytest.mark.parametrize("what", ["pipe", "link", "link to a folder", "pipe as progress", "link as progress"])
def test_links_and_pipes_in_the_old_folder_are_said_and_not_read(
    what: str, new: Path, old: Path, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere, answered("def hello_shape(x):\n    return 'somebody else'"))
    (elsewhere / ".progress.json").write_text("{}", encoding="utf-8")
    path = old / ".progress.json" if "progress" in what else old / NAME / f"{NAME}.ipynb"
    path.unlink(missing_ok=True)
    if "folder" in what:
        (old / NAME).rmdir()
        (old / NAME).symlink_to(elsewhere / NAME)
    elif "pipe" in what:
        os.mkfifo(path)
    else:
        path.symlink_to(elsewhere / path.relative_to(old))
    assert run() == 2
    assert "it is a link, or not a regular file" in capsys.readouterr().err
    assert not (new / ".progress.json").exists() and "somebody else" not in json.dumps(read(new))


# The file of notebook 11's model


CONTENT = {"model.safetensors": b"numbers" * 100, "vocab.txt": b"words"}


@pytest.fixture
def with_model(old: Path) -> Path:
    """The earlier folder, in which the model's file was fetched, and another fetch was broken off."""
    (old / "real_model").mkdir()
    for name, data in CONTENT.items():
        (old / "real_model" / name).write_bytes(data)
    (old / "real_model" / "model.safetensors.part").write_bytes(b"num")
    return old / "real_model"


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_real_model_is_called_what_its_loader_calls_it() -> None:
    assert bring.MODEL_FOLDER == real_file.FOLDER and set(bring.MODEL_FILES) == real_file.SUMS.keys()


def test_the_real_model_comes_along_and_takes_no_room(
    new: Path, with_model: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content_of(with_model)
    assert run() == 0
    assert "real_model: brought along" in capsys.readouterr().out
    assert content_of(new / "real_model") == CONTENT and content_of(with_model) == before
    assert all((new / "real_model" / name).samefile(with_model / name) for name in CONTENT)
    shutil.rmtree(with_model)
    assert content_of(new / "real_model") == CONTENT, "the earlier folder may be deleted"
    assert run() == 0 and "real_model" not in capsys.readouterr().out


def test_the_real_model_is_copied_where_a_file_can_have_one_name_only(
    new: Path, with_model: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    assert run() == 0
    assert content_of(new / "real_model") == CONTENT
    assert not (new / "real_model" / "vocab.txt").samefile(with_model / "vocab.txt")


def test_a_real_model_that_is_there_is_kept(new: Path, with_model: Path, run: Run) -> None:
    (new / "real_model").mkdir()
    (new / "real_model" / "vocab.txt").write_bytes(b"mine")
    assert run() == 0
    assert content_of(new / "real_model") == CONTENT | {"vocab.txt": b"mine"}


@pytest.mark.parametrize("what", ["full disk", "link to a file", "link to a folder", "half"])
def test_a_real_model_that_can_not_be_brought_leaves_nothing(
    what: str, new: Path, with_model: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def fail(source: Path, target: Path) -> None:
        Path(target).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    if what == "full disk":
        monkeypatch.setattr(os, "link", fail)
        monkeypatch.setattr(shutil, "copyfile", fail)
    elif what == "half":
        (with_model / "model.safetensors").unlink()
    else:
        elsewhere = with_model.rename(tmp_path / "elsewhere")
        if what == "link to a folder":
            with_model.symlink_to(elsewhere)
        else:
            with_model.mkdir()
            for name in CONTENT:
                (with_model / name).symlink_to(elsewhere / name)
    assert run() == (0 if what == "half" else 2)
    folder = new / "real_model"
    assert not folder.exists() or not content_of(folder)
    said = capsys.readouterr().err
    assert ("real_model: not brought over" in said) == (what != "half")
    assert ANSWER in texts(read(new)), "the answers have come all the same"
