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

NOTEBOOK, NAME = "02_feed_forward", "count_parameters"
MAX_FILES = 8  # that one more exercise may change: three that are written, and what the build makes of them
PARTS = (
    "autograder",
    "course",
    "solutions",
    "tests",
    "CONTRIBUTING.md",
    "nbgrader_config.py",
    "pyproject.toml",
    "constraints.txt",
)
LAST_ROW = "    The biases of the output are missing: b2 has one for each of its d_model numbers.\n"
ONE_MORE = """\
b1_forgotten: d_model * d_ff + d_ff -> d_model * d_ff
    The biases of the hidden layer are missing: b1 has one for each of its d_ff numbers.
"""
WITHOUT_B1 = "def count_parameters(d_model, d_ff):\n    return 2 * d_model * d_ff + d_model\n"
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".venv", "*.egg-info", "screenshots", "attacks", ".ipynb_checkpoints")
TESTS = f"{NOTEBOOK} or {NAME} or twenty_secrets"


def blocks() -> list[str]:
    """The page's blocks of Python: the notebook's, the exercise's, the key's."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)


def follow(project: Path) -> None:
    """Do what sections 1 to 3 say."""
    posed, described, answered = blocks()
    notebook = project / "solutions" / f"{NOTEBOOK}.py"
    text = notebook.read_text(encoding="utf-8")
    before = re.search(r'^# %% \[markdown\] text="end-text"$', text, re.M)
    assert before, "exercises are in the notebook's order, and this one is added as the last"
    text = text[: before.start()] + posed + "\n" + text[before.start() :]
    notebook.write_text(text, encoding="utf-8")
    exercises = project / "course" / "ffnlab" / "course" / "exercises" / "feed_forward.py"
    exercises.write_text(exercises.read_text(encoding="utf-8") + "\n\n" + described, encoding="utf-8")
    project.joinpath("autograder", "keys", "feed_forward", f"{NAME}.py").write_text(answered, encoding="utf-8")


def contents(project: Path) -> dict[str, bytes]:
    """By its path, what each file of the project holds that belongs into a commit."""
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".markings" not in path.parts
    }


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_whoever_follows_the_page_ends_green(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, project / part, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / part, project)
    before = contents(project)
    follow(project)

    def run(*words: str) -> str:
        places = os.pathsep.join(map(str, (project, project / "course", project / "tests")))
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=project, env=os.environ | {"PYTHONPATH": places}, capture_output=True, text=True, check=False
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout

    built = run("autograder", "build")
    assert "on each of 20 secrets" in built and "`make stability`" not in built
    assert re.findall(r"(\w+): running the solution notebook", built) == [NOTEBOOK]
    after = contents(project)
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    assert len(changed) <= MAX_FILES, changed
    notebooks = len(list((project / "solutions").glob("*.py")))
    assert run("autograder", "build").count("nothing has changed") == notebooks, "a second build has nothing to do"
    assert "all right answers earn full marks, all mistakes are named" in run("autograder", "matrix", NAME)
    (project / "mine.py").write_text("def count_parameters(d_model, d_ff):\n    return 2 * d_model * d_ff\n", "utf-8")
    assert "The two biases are missing" in run("autograder", "answer", NAME, "mine.py")
    key = project / "autograder" / "keys" / "feed_forward" / f"{NAME}.py"
    key.write_text(key.read_text(encoding="utf-8").replace(LAST_ROW, LAST_ROW + ONE_MORE), encoding="utf-8")
    built = run("autograder", "build")
    assert "on each of 20 secrets" in built and "running the solution notebook" not in built
    (project / "mine.py").write_text(WITHOUT_B1, encoding="utf-8")
    assert "The biases of the hidden layer" in run("autograder", "answer", NAME, "mine.py")
    files = ("tests/test_build.py", "tests/test_matrix.py", "tests/test_feed_forward.py")
    assert "passed" in run("pytest", "-q", "-p", "no:cacheprovider", "--everything", "-k", TESTS, *files)
