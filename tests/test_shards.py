"""Shards: a class that is graded in parts, on machines without its gradebook, and entered where it is."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attacks import START
from conftest import ROOT, needs_bubblewrap
from test_class import Nobody, graded_here, hand_in, used
from test_program import answered

from autograder.class_folder.folder import ClassFolder
from autograder.engine.graded_submission import GradedSubmission
from autograder.errors import UserError
from autograder.gradebook.gradebook import Book
from autograder.grading import grade_class, shards
from autograder.grading.shards import Shard, ShardReader
from autograder.jail.limits import Limits

__all__ = ["graded_here", "used"]
RIGHT = "def hello_shape(x):\n    return x.shape"
ANSWERS = (RIGHT, "def hello_shape(x):\n    return 1 / 0", "hello_shape = 5\nprint('five')")


def command(*words: object, expect: int = 0) -> str:
    line = [sys.executable, "-m", "autograder", *map(str, words)]
    process = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == expect, process.stdout + process.stderr
    return process.stdout + process.stderr


def read_pages(class_folder: ClassFolder) -> dict[str, bytes]:
    """The pages and notebooks of a class."""
    places = (class_folder.feedback, class_folder.autograded)
    return {
        str(path.relative_to(class_folder.path)): path.read_bytes() for place in places for path in place.rglob("*.*")
    }


def test_every_student_is_in_one_shard() -> None:
    students = [f"student{number}" for number in range(1000)]
    counts = Counter(number for number in range(10) for student in students if Shard(number, 10).holds(student))
    assert counts.total() == 1000 and min(counts.values()) > 70 and max(counts.values()) < 130
    for text in ("10/10", "-1/3", "3", "a/b", "0/0", "1/2/3"):
        with pytest.raises(UserError, match="such as 0/10 to 9/10"):
            Shard.of(text)


@needs_bubblewrap
def test_shards_give_what_one_machine_gives_and_name_what_is_missing(tmp_path: Path) -> None:
    whole, parts = ClassFolder(tmp_path / "whole"), ClassFolder(tmp_path / "parts")
    for number in range(6):
        data = json.dumps(answered(ANSWERS[number % 3])).encode() + b" " * number
        hand_in(whole, f"student{number}", data, first=True)
    hand_in(whole, "zoe", b"not a notebook", first=True)
    shutil.copytree(whole.path, parts.path)
    command("shard", "prepare", START, "--grading", whole.path)
    for name in ("hidden_draws.json", ".markings"):
        place = parts.path / name
        copy = shutil.copytree if (whole.path / name).is_dir() else shutil.copyfile
        copy(whole.path / name, place)
    command("grade", "--grading", whole.path)
    out, there = tmp_path / "out", ["--grading", parts.path, "--to", tmp_path / "out"]
    first = command("shard", "grade", "0/2", *there)
    early = command("shard", "enter", out, "--grading", parts.path, expect=2)
    assert "no file has the results of" in early and "in shard 1/2 (" in early and "shard 0/2:" not in early
    assert not (parts.path / "report.html").exists() and (out.stat().st_mode & 0o077) == 0
    command("shard", "grade", "1/2", *there)
    again = command("shard", "grade", "0/2", *there)
    assert "0 graded" in again and f"{first.split(' graded')[0].split()[-1]} were already there" in again
    assert "unchanged since last time (--force enters them again)" in command(
        "shard", "enter", out, "--grading", parts.path
    )
    assert read_pages(parts) == read_pages(whole)
    with Book(whole) as whole_book, Book(parts) as parts_book:
        assert whole_book.automatic_scores(START) == parts_book.automatic_scores(START)
        assert [attempt.student for attempt in parts_book.history(START)] == [*(f"student{n}" for n in range(6)), "zoe"]
        assert all(attempt.host and attempt.build for attempt in parts_book.history(START) if attempt.student != "zoe")
    assert "0 graded, 7 unchanged" in command("shard", "enter", out, "--grading", parts.path)


@pytest.fixture
def files(used: ClassFolder, tmp_path: Path) -> Path:
    """A folder with what a shard has graded of a class with one submission."""
    shards.prepare(used, START)
    out = tmp_path / "out"
    assert shards.grade(used, START, Shard(0, 1), out, Nobody()).graded_count == 1
    return out


def enter(class_folder: ClassFolder, folder: Path) -> tuple[grade_class.GradingSummary, ShardReader]:
    reader = ShardReader([folder], Limits())
    return grade_class.grade(class_folder, START, reader, grade_class.GradeOptions(force=True)), reader


def change(folder: Path, **content: object) -> None:
    (path,) = folder.rglob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"version": "another"}, "was made by another version"),
        ({"seeds": "0"}, "on other hidden inputs"),
        ({"submission": "0" * 64}, "about another submission than its name says"),
        ({"format": 2}, "can't be read"),
        ({"verdicts": 5}, "can't be read"),
    ],
)
def test_what_was_not_made_for_this_class_is_refused(
    content: dict[str, object], message: str, used: ClassFolder, files: Path
) -> None:
    assert enter(used, files)[0].graded_count == 1
    change(files, **content)
    before = read_pages(used)
    with pytest.raises(UserError, match=message):
        enter(used, files)
    assert read_pages(used) == before


def forge_points(points: object) -> Callable[[list[Any]], object]:
    def forge(verdicts: list[Any]) -> object:
        verdicts[0]["aspects"][0]["points"] = points
        return verdicts

    return forge


def pay(verdict: dict[str, Any], share: float, outcome: str) -> dict[str, Any]:
    aspects = [aspect | {"points": share * aspect["max_points"]} for aspect in verdict["aspects"]]
    return verdict | {"aspects": aspects, "outcome": outcome}


FORGERIES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "points as text": ("verdicts", forge_points("2")),
    "very many points": ("verdicts", forge_points(1e6)),
    "no number": ("verdicts", forge_points(float("nan"))),
    "points below all": ("verdicts", forge_points(-math.inf)),
    "points below 0": ("verdicts", forge_points(-1)),
    "another maximum": (
        "verdicts",
        lambda verdicts: [verdicts[0] | {"aspects": [verdicts[0]["aspects"][0] | {"max_points": 9.0}]}, *verdicts[1:]],
    ),
    "a missing verdict": ("verdicts", lambda verdicts: verdicts[1:]),
    "a verdict twice": ("verdicts", lambda verdicts: [*verdicts, verdicts[0]]),
    "an unknown exercise": ("verdicts", lambda verdicts: [verdicts[0] | {"exercise": "x"}, *verdicts[1:]]),
    "an aspect of another name": (
        "verdicts",
        lambda verdicts: [verdicts[0] | {"aspects": [verdicts[0]["aspects"][0] | {"name": "x"}]}, *verdicts[1:]],
    ),
    "an unknown outcome": ("verdicts", lambda verdicts: [verdicts[0] | {"outcome": "x"}, *verdicts[1:]]),
    "an outcome for a terminal": ("verdicts", lambda verdicts: [verdicts[0] | {"cause": "\x1b[31mred"}, *verdicts[1:]]),
    "not attempted, and all points": (
        "verdicts",
        lambda verdicts: [pay(verdict, 1.0, "not attempted") for verdict in verdicts],
    ),
    "earned, and no points": ("verdicts", lambda verdicts: [pay(verdict, 0.0, "earned") for verdict in verdicts]),
    "seconds as a dict": ("seconds", lambda seconds: {}),
    "a shard for a terminal": ("shard", lambda shard: "\x1b[31m0/1"),
    "outputs as a list": ("outputs", lambda outputs: []),
    "remarks of numbers": ("remarks", lambda remarks: [1]),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_file_is_refused_in_a_line_and_enters_nothing(what: str, used: ClassFolder, files: Path) -> None:
    assert enter(used, files)[0].graded_count == 1
    name, forge = FORGERIES[what]
    (path,) = files.rglob("*.json")
    change(files, **{name: forge(json.loads(path.read_text())[name])})
    before = read_pages(used)
    with pytest.raises(UserError, match=r"can't be read \(\w+\): remove it, and grade its shard again") as refused:
        enter(used, files)
    assert str(refused.value).isprintable() and read_pages(used) == before


def test_another_submission_than_was_graded_is_named(used: ClassFolder, files: Path) -> None:
    path = used.submitted / "ada" / START / f"{START}.ipynb"
    path.write_bytes(path.read_bytes() + b"\n")
    summary, reader = enter(used, files)
    assert summary.graded_count == 0 and reader.missing == {"0/1": ["ada (graded on a different submission)"]}


def test_a_shard_draws_no_hidden_inputs_of_its_own(tmp_path: Path, graded_here: dict[bytes, GradedSubmission]) -> None:
    class_folder = ClassFolder(tmp_path)
    hand_in(class_folder, "ada", first=True)
    with pytest.raises(UserError, match="shard prepare"):
        shards.grade(class_folder, START, Shard(0, 1), tmp_path / "out", ShardReader([tmp_path], Limits()))
    assert not class_folder.draws.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("grade", "0/2"), "missing option '--to'"),
        (("grade", "2/2", "--to", "x"), "2/2 is no shard: write K/N"),
        (("grade", "0/2", "--to", "x", "--student", "ada"), "no such option: --student"),
        (("prepare", "--workers", "2"), "no such option: --workers"),
        (("enter", "nowhere"), "'nowhere' does not exist"),
        (("enter", ".", "--assignment", "99_nothing"), "no assignment called '99_nothing'"),
    ],
)
def test_what_does_not_belong_to_a_command_is_refused_in_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    hand_in(ClassFolder(tmp_path), "ada")
    said = command("shard", *words, "--grading", tmp_path, expect=2)
    assert said.count("\n") == 1 and message in said
