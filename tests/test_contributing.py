"""CONTRIBUTING.md: who follows its code blocks to the letter adds an exercise that builds, is graded, and passes the tests that look at it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

NOTEBOOK, NAME = "09_balance", "count_choices"
MODULE = NOTEBOOK.partition("_")[2]
MAX_FILES = 8  # that one more exercise may change: three that are written, and what the build makes of them
PARTS = (
    "autograder",
    "course",
    "solutions",
    "tests",
    "docs",
    "CONTRIBUTING.md",
    "README.md",
    "nbgrader_config.py",
    "pyproject.toml",
    "constraints.txt",
)
TABLE_ENDS = '\n""")\n'
ONE_MORE = """
of asks_the_library
every_size: math.comb(E, k) -> 2**E
    Sets of every size are counted. A token chooses exactly k experts.
"""
IN_ORDER = "def count_choices(E, k):\n    return math.perm(E, k)\n"
EVERY_SIZE = "def count_choices(E, k):\n    return 2**E\n"
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".venv", "*.egg-info", "screenshots", "attacks", ".ipynb_checkpoints")
FILES = ("test_build", "test_core_path", "test_forgery", "test_matrix", "test_key_tables", f"test_{MODULE}")


def blocks() -> list[str]:
    """The page's blocks of Python: the notebook's, the exercise's, the key's."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project."""
    folder = tmp_path / "project"
    folder.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / part, folder)
    return folder


def follow(project: Path) -> None:
    """Do what sections 1 to 3 say. The exercise is the last of its notebook, in each of the files."""
    posed, described, answered = blocks()
    add(project / "solutions" / f"{NOTEBOOK}.py", "\n" + posed)
    add(project / "course" / "ffnlab" / "course" / "exercises" / f"{MODULE}.py", "\n\n" + described)
    (project / "autograder" / "keys" / MODULE / f"{NAME}.py").write_text(answered, encoding="utf-8")


def add(file: Path, text: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


def run(project: Path, *words: str) -> str:
    """What a command says that is run in the copy, with the copy's own modules."""
    places = os.pathsep.join(map(str, (project, project / "course", project / "tests")))
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=project, env=os.environ | {"PYTHONPATH": places}, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def run_tests(project: Path, chosen: str, *files: str) -> str:
    places = [f"tests/{file}.py" for file in files]
    return run(project, "pytest", "-q", "-p", "no:cacheprovider", "--everything", "-k", chosen, *places)


def contents(project: Path) -> dict[str, bytes]:
    """By its path, what each file of the project holds that belongs into a commit."""
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".markings" not in path.parts
    }


def test_the_exercise_of_the_page_has_room_and_a_key_that_holds(project: Path) -> None:
    """All that needs no build: the budgets, the matrix and the rules of a key."""
    follow(project)
    assert "all right answers earn full marks, all mistakes are named" in run(project, "autograder", "matrix", NAME)
    chosen = f"{NOTEBOOK} and (budget or core_exercise) or core_path_is_for"
    assert "3 passed" in run_tests(project, chosen, "test_build", "test_core_path")


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_whoever_follows_the_page_ends_green(project: Path) -> None:
    before = contents(project)
    follow(project)
    built = run(project, "autograder", "build")
    assert "on each of 20 secrets" in built and "`make stability`" not in built and "beyond the budget" not in built
    assert re.findall(r"(\w+): running the solution notebook", built) == [NOTEBOOK]
    after = contents(project)
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    assert len(changed) <= MAX_FILES, changed
    notebooks = len(list((project / "solutions").glob("*.py")))
    again = run(project, "autograder", "build")
    assert again.count("nothing has changed") == notebooks, "a second build has nothing to do"
    answer = project / "mine.py"
    answer.write_text(IN_ORDER, encoding="utf-8")
    assert "in every other order" in run(project, "autograder", "answer", NAME, answer.name)
    key = project / "autograder" / "keys" / MODULE / f"{NAME}.py"
    text = key.read_text(encoding="utf-8")
    assert text.endswith(TABLE_ENDS), "the file ends in its table, which gets one more row"
    key.write_text(text.removesuffix(TABLE_ENDS) + ONE_MORE + TABLE_ENDS.lstrip(), encoding="utf-8")
    built = run(project, "autograder", "build")
    assert "on each of 20 secrets" in built and "running the solution notebook" not in built
    answer.write_text(EVERY_SIZE, encoding="utf-8")
    assert "Sets of every size" in run(project, "autograder", "answer", NAME, answer.name)
    assert "passed" in run_tests(project, f"{NOTEBOOK} or {NAME} or twenty_secrets or core or page", *FILES)
