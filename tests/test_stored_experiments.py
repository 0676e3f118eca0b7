"""What experiments found, as files: the writer gives back what it was given, a line for each row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.experiments import timing as measuring
from autograder.authoring.experiments.write import Rows, write
from ffnlab.course import experiments
from ffnlab.course.experiments import timing

FOLDER = Path(experiments.__file__).parent


@pytest.mark.parametrize("name", sorted(file.name for file in FOLDER.glob("*.json")))
def test_a_file_comes_back_as_it_is_stored(name: str, tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    rows: dict[str, Rows] = {
        key: document[key] for key in ("runs", "fresh", "twins", "learned attention", "seconds") if key in document
    }
    rest = {key: value for key, value in document.items() if key not in rows}
    write(tmp_path / name, rest, rows)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert json.loads(text) == document
    assert text.count("\n") == max(len(rest) + len(rows), 1) + sum(len(part) + 1 for part in rows.values())


@pytest.mark.parametrize("name", measuring.NOTEBOOKS)
def test_every_time_that_a_notebook_shows_before_anybody_runs_it_is_stored(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = experiments.read(timing.STORED)["seconds"]
    monkeypatch.setattr(timing, "best_seconds", lambda what, function, *arguments, times=5: 1.0)
    assert measuring.measure(name).keys() <= stored.keys()


def test_a_reader_measures_and_a_build_shows_what_was_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.delenv("FFNLAB_STRICT", raising=False)
    assert timing.best_seconds("1 tokens times W", calls.append, "called", times=3) < 1
    assert len(calls) == 3
    monkeypatch.setenv("FFNLAB_STRICT", "1")
    stored = experiments.read(timing.STORED)["seconds"]["1 tokens times W"]
    assert timing.best_seconds("1 tokens times W", calls.append, "called") == stored
    timing.best_seconds("1 tokens times W, changed by a reader", calls.append, "called", times=2)
    assert len(calls) == 5
