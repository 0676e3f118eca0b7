"""What experiments found, as files: the writer gives back what it was given, a line for each row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.experiments.write import Rows, write
from ffnlab.course import experiments

FOLDER = Path(experiments.__file__).parent


@pytest.mark.parametrize("name", sorted(file.name for file in FOLDER.glob("*.json")))
def test_a_file_comes_back_as_it_is_stored(name: str, tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    rows: dict[str, Rows] = {
        key: document[key] for key in ("runs", "fresh", "twins", "learned attention") if key in document
    }
    rest = {key: value for key, value in document.items() if key not in rows}
    write(tmp_path / name, rest, rows)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert json.loads(text) == document
    assert text.count("\n") == max(len(rest) + len(rows), 1) + sum(len(part) + 1 for part in rows.values())
