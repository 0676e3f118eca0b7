"""A notebook that is only opened runs nothing of its author's: in a real JupyterLab, as start.py sets it up, and in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import nbformat
import pytest
from ipywidgets import Widget

pytest.importorskip("playwright", reason="playwright is not installed")

from conftest import ROOT, needs_chromium
from lab import PATIENCE, Lab, browser, server
from nbformat.sign import MemorySignatureStore, NotebookNotary

from ffnlab import untrusted_widgets
from ffnlab.untrusted_widgets import leave_out_widgets

# What an author writes: JavaScript that says that it ran. It could as well start a kernel, with the reader's token.
PROGRAM = "document.title = 'RAN'; window.itRan = true; export default { render({ el }) { el.textContent = 'RAN' } }"


@cache
def state() -> dict[str, Any]:
    """The state of widgets as JupyterLab saves it: of one that brings the program."""
    widget = anywidget.AnyWidget(_esm=PROGRAM)
    text = json.dumps(Widget.get_manager_state()).replace(widget.model_id, "m")
    return {"application/vnd.jupyter.widget-state+json": json.loads(text)}


def hostile(with_output: bool) -> dict[str, Any]:
    shown = {"application/vnd.jupyter.widget-view+json": {"version_major": 2, "version_minor": 0, "model_id": "m"}}
    output = {"output_type": "display_data", "metadata": {}, "data": shown}
    cell = {
        "cell_type": "code",
        "id": "a",
        "source": "1",
        "metadata": {},
        "execution_count": 1,
        "outputs": [output] if with_output else [],
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "widgets": state()},
        "cells": [cell],
    }


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("opened")
    with server(folder, tmp_path_factory.mktemp("home")) as address:
        yield address, folder


@needs_chromium
@pytest.mark.parametrize("with_output", [True, False])
def test_an_opened_notebook_runs_nothing_of_its_authors(address: tuple[str, Path], with_output: bool) -> None:
    name = f"hostile{with_output}.ipynb"
    (address[1] / name).write_text(json.dumps(hostile(with_output)), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page()
        lab = Lab(page, address[1])
        lab.open(name, address[0])
        page.wait_for_timeout(3_000)  # JupyterLab restores widgets when the kernel is there
        assert not page.evaluate("() => window.itRan === true") and page.title() != "RAN"
        assert page.locator(".jp-Notebook .jp-Cell").first.is_visible(timeout=PATIENCE)


def manager(notary: NotebookNotary) -> Any:
    """As much of a contents manager as is looked at."""

    class Manager:
        marked: ClassVar[list[Any]] = []

        def __init__(self) -> None:
            self.notary = notary

        def mark_trusted_cells(self, nb: Any, path: str = "") -> None:
            self.marked.append(nb)

    leave_out_widgets(Manager)
    return Manager()


@pytest.mark.parametrize("with_output", [True, False])
def test_only_a_notebook_that_was_signed_here_keeps_its_widgets(with_output: bool) -> None:
    notary = NotebookNotary(store_factory=MemorySignatureStore, secret=b"ours")
    theirs, own = (nbformat.from_dict(hostile(with_output)) for _ in range(2))
    own["cells"][0]["source"] = "2"
    notary.sign(own)
    one = manager(notary)
    for notebook in (theirs, own):
        one.mark_trusted_cells(notebook, "x.ipynb")
    assert "widgets" not in theirs.metadata and "widgets" in own.metadata and one.marked == [theirs, own]


def test_start_py_and_the_hubs_page_enable_the_same_extension() -> None:
    scope: dict[str, Any] = {"__name__": "start", "__file__": str(ROOT / "course" / "start.py")}
    exec(compile((ROOT / "course" / "start.py").read_text(encoding="utf-8"), "start.py", "exec"), scope)
    (line,) = re.findall(
        r"^ *(\{.*jpserver_extensions.*\})$",
        (ROOT / "docs" / "jupyterhub.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert json.loads(line) == scope["EXTENSIONS"]
    assert list(scope["EXTENSIONS"]["ServerApp"]["jpserver_extensions"]) == [untrusted_widgets.__name__]
