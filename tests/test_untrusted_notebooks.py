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

from ffnlab import untrusted_notebooks
from ffnlab.untrusted_notebooks import leave_out_what_acts

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


CHART = {  # of Vega's, which is drawn in notebooks that are not trusted, too
    "$schema": "https://vega.github.io/schema/vega/v5.json",
    "data": [
        {"name": "secrets", "url": "hidden_draws.json", "format": {"type": "dsv", "delimiter": "|", "header": ["line"]}}
    ],
}


@needs_chromium
def test_an_opened_notebook_reads_no_file_and_writes_no_other(address: tuple[str, Path]) -> None:
    """A chart that loads what the reader may read; and a pairing, by which a save writes a notebook's code into a file of its author's choice."""
    folder = address[1]
    (folder / "hidden_draws.json").write_text("{}", encoding="utf-8")
    notebook = hostile(with_output=True)
    notebook["metadata"] |= {"jupytext": {"formats": "ipynb,keys//py:percent"}}
    notebook["cells"][0]["outputs"][0]["data"] |= {"application/vnd.vega.v5+json": CHART, "text/plain": "a chart"}
    (folder / "paired.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        lab = Lab(page, folder)
        lab.open("paired.ipynb", address[0])
        page.locator(".jp-OutputArea-output").filter(has_text="a chart").wait_for(timeout=PATIENCE)
        page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")
        page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty", timeout=PATIENCE)
        assert requests and not any("hidden_draws" in url for url in requests)
    assert sorted(path.suffix for path in folder.rglob("paired*") if "checkpoint" not in path.name) == [".ipynb"]
    assert not (folder / "keys").exists()


def manager(notary: NotebookNotary) -> Any:
    """As much of a contents manager as is looked at."""

    class Manager:
        marked: ClassVar[list[Any]] = []

        def __init__(self) -> None:
            self.notary = notary

        def mark_trusted_cells(self, nb: Any, path: str = "") -> None:
            self.marked.append(nb)

    leave_out_what_acts(Manager)
    return Manager()


@pytest.mark.parametrize("with_output", [True, False])
def test_only_a_notebook_that_was_signed_here_keeps_what_acts(with_output: bool) -> None:
    notary = NotebookNotary(store_factory=MemorySignatureStore, secret=b"ours")
    theirs, own = (nbformat.from_dict(hostile(with_output)) for _ in range(2))
    own["cells"][0]["source"] = "2"
    notary.sign(own)
    contents = manager(notary)
    for notebook in (theirs, own):
        contents.mark_trusted_cells(notebook, "x.ipynb")
    assert "widgets" not in theirs.metadata and "widgets" in own.metadata and contents.marked == [theirs, own]


def test_texts_and_pictures_stay() -> None:
    shown = {"text/plain": "x", "text/html": "<b>x</b>", "image/png": "iVBOR", "image/svg+xml": "<svg/>"}
    acting = (
        "vnd.vega.v6+json",
        "vnd.vegalite.v5+json",
        "geo+json",
        "javascript",
        "vnd.plotly.v1+json",
        "pdf",
        "vnd.made-up+json",
    )
    notebook = nbformat.from_dict(hostile(with_output=True))
    notebook.cells[0].outputs[0]["data"] = shown | {f"application/{kind}": {} for kind in acting}
    notebook.cells.append(nbformat.from_dict({"cell_type": "markdown", "id": "b", "metadata": {}, "source": "words"}))
    untrusted_notebooks.make_paper(notebook)
    assert notebook.cells[0].outputs[0]["data"] == shown


def test_start_py_and_the_hubs_page_enable_the_same_extension() -> None:
    scope: dict[str, Any] = {"__name__": "start", "__file__": str(ROOT / "course" / "start.py")}
    exec(compile((ROOT / "course" / "start.py").read_text(encoding="utf-8"), "start.py", "exec"), scope)
    (line,) = re.findall(
        r"^ *(\{.*jpserver_extensions.*\})$",
        (ROOT / "docs" / "jupyterhub.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert json.loads(line) == scope["EXTENSIONS"]
    assert list(scope["EXTENSIONS"]["ServerApp"]["jpserver_extensions"]) == [untrusted_notebooks.__name__]
