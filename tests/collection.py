"""What the tests of collecting share: an export, the command, and what a person does with the pending decisions."""

from __future__ import annotations

import csv
import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from exports import CLASS, FFN, exchange_folder, sheet, zipped

from autograder.class_folder import manifest
from autograder.class_folder.decisions import COLUMNS, FILE
from autograder.class_folder.folder import ClassFolder
from autograder.cli import main
from autograder.transfer import carry_out
from autograder.transfer import collect as collecting
from autograder.transfer.collection_report import CollectionReport

IDS = {student.i: student.sis for student in CLASS}


def without_gradebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect without the gradebook, which takes half a second to make."""
    monkeypatch.setattr(carry_out, "enter_students", lambda plan: None)


def collect(class_folder: ClassFolder, source: Path, *rosters: Path, **how: Any) -> CollectionReport:
    return collecting.collect(class_folder, source, rosters, **how)


def export(path: Path, files: dict[str, bytes], **more: Any) -> Path:
    return zipped(path, files, **more)


def content(class_folder: ClassFolder, but: tuple[str, ...] = ()) -> dict[str, bytes]:
    files = [path for path in sorted(class_folder.path.rglob("*")) if path.is_file() and path.name not in but]
    return {str(path.relative_to(class_folder.path)): path.read_bytes() for path in files}


def asked(report: CollectionReport) -> dict[str, str]:
    """What a person has to decide, by file."""
    return {decision.file: decision.trouble for decision in report.pending_decisions}


def enter_decisions(class_folder: ClassFolder, **answers: str) -> None:
    """Fill in the file, as a person does: of each line whose file holds a word, a column."""
    path = class_folder.path / manifest.FOLDER / FILE
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
    for word, answer in answers.items():
        column, _, text = answer.partition(" ")
        (row,) = [row for row in rows if word in row[COLUMNS.index("file")]]
        row[COLUMNS.index(column)] = text
    sheet(path, rows, delimiter=";")


def run(*words: str | Path, expect: int) -> tuple[str, str]:
    """Run the command line. Returns what it prints, and what it says on stderr."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.setattr(sys, "argv", ["autograder", *map(str, words)])
        with pytest.raises(SystemExit) as exit_info:
            main()
    assert exit_info.value.code == expect, out.getvalue() + err.getvalue()
    return out.getvalue(), err.getvalue()


def inbound(folder: Path, student: Any, when: str, data: bytes, secret: str) -> None:
    place = folder / exchange_folder(student, when=when)
    place.mkdir(parents=True)
    (place / f"{FFN}.ipynb").write_bytes(data)
    (place / "timestamp.txt").write_text(when, encoding="utf-8")
    (place / "submission_secret.txt").write_text(secret, encoding="utf-8")
