"""Which tests `make quick` runs first: those that the uncommitted change reaches, whatever kind of file it is in."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import nearest
import pytest
from conftest import ROOT

TEST_FILES = sorted((ROOT / "tests").glob("test_*.py"))


def reached(name: str) -> dict[str, int]:
    """By name, the test files that a change in this file reaches, and over how many imports."""
    distances = nearest.distances({ROOT / name}, TEST_FILES)
    return {test.stem: far for test, far in distances.items() if far < nearest.FAR}


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("autograder/keys/balance/drop_mask.py", "test_matrix"),
        ("autograder/keys/balance/drop_mask.py", "test_balance"),
        ("course/ffnlab/course/exercises/balance.py", "test_balance"),
        ("solutions/09_balance.py", "test_build"),
        ("autograder/reports/templates/report.html", "test_class_report"),
        ("course/ffnlab/course/boards/wire.js", "test_wire_board"),
        ("tests/attacks/channel.py", "test_attacks"),
        ("tests/exports.py", "test_collect"),
        ("docs/course.toml", "test_setup"),
        ("Makefile", "test_setup"),
    ],
)
def test_a_change_reaches_the_test_that_looks_at_it(changed: str, test: str) -> None:
    assert (ROOT / changed).is_file() and test in reached(changed)


def test_no_file_of_the_project_reaches_no_test() -> None:
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    kinds = {(Path(name).parent, Path(name).suffix): name for name in files}  # of each folder one file of each kind
    assert [name for name in kinds.values() if not reached(name)] == []


def test_a_change_in_any_file_of_python_reaches_the_tests_that_read_them_all() -> None:
    files = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = files.stdout.splitlines()
    for test in ("test_habits", "test_words", "test_setup", "test_new_lms", "test_palette", "test_second_course"):
        path = ROOT / "tests" / f"{test}.py"
        assert names and [name for name in names if not nearest.reaches({ROOT / name}, path)] == [], test


def test_every_test_file_that_reads_all_python_is_marked() -> None:
    """test_attacks.py reads it, too: not to judge it, but to see that an attack has not changed it."""
    reading = {test.stem for test in TEST_FILES if re.search(r"""rglob\("\*\.py"\)""", test.read_text("utf-8"))}
    marked = {test.stem for test in TEST_FILES if f"mark.{nearest.READS_SOURCES}\n" in test.read_text("utf-8")}
    assert "test_habits" in reading and reading - marked == {"test_attacks"}


def test_of_a_file_with_such_tests_only_these_are_near(request: pytest.FixtureRequest) -> None:
    item, python, sheet = request.node, {ROOT / "autograder/errors.py"}, {ROOT / "course/ffnlab/course/boards/wire.css"}
    assert nearest.nearness(item, nearest.FAR, python) == nearest.FAR
    item.add_marker(nearest.READS_SOURCES)
    assert (
        nearest.nearness(item, nearest.FAR, python) == 0 and nearest.nearness(item, nearest.FAR, sheet) == nearest.FAR
    )


def test_of_a_key_the_exercise_itself_comes_first() -> None:
    key = ROOT / "autograder/keys/balance/drop_mask.py"
    assert nearest.exercises_of({key}) == ["drop_mask"]
    assert "drop_mask" in nearest.exercises_of({ROOT / "solutions/09_balance.py"})


def test_what_is_staged_has_changed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *author, *words], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(nearest, "root", lambda: tmp_path)
    git("init")
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text("A = 1\n", encoding="utf-8")
        git("add", name)
        git("commit", "-m", name)
    assert nearest.changed_files() == {tmp_path / "second.py"}
    (tmp_path / "first.py").write_text("A = 2\n", encoding="utf-8")
    git("add", "first.py")
    (tmp_path / "new.py").write_text("A = 3\n", encoding="utf-8")
    assert nearest.changed_files() == {tmp_path / "first.py", tmp_path / "new.py"}
