"""A course that `autograder new-course` made: every command works in its folder without a variable, and its README.md leads to a second exercise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT
from uv import find_uv_bin

from autograder import startup
from autograder.authoring import new_course
from autograder.errors import UserError
from ffnlab import registry

NAME = "teas"
NOTEBOOK = "01_words"
HOLDS = "all right answers earn full marks, all mistakes are named"
CHECK = """
from teas import check
check("count_words", lambda text: {word: text.split().count(word) for word in text.split()})
"""


def run(*words: object, cwd: Path, path: tuple[Path, ...] = (ROOT, ROOT / "course"), status: int = 0) -> str:
    """What a program prints and says, which knows no course by a variable."""
    variables = {name: value for name, value in os.environ.items() if name != registry.VARIABLE}
    variables["PYTHONPATH"] = os.pathsep.join(map(str, path))
    process = subprocess.run(list(map(str, words)), cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    assert process.returncode == status, process.stdout + process.stderr
    return process.stdout + process.stderr


def command(*words: object, cwd: Path) -> str:
    return run(sys.executable, "-m", "autograder", *words, cwd=cwd)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new course, built."""
    home = tmp_path_factory.mktemp("new")
    assert "README.md in it" in command("new-course", NAME, cwd=home)
    assert HOLDS in command("matrix", cwd=home / NAME), "at once, before it is built"
    command("build", cwd=home / NAME)
    return home / NAME


def test_nothing_in_a_new_course_is_called_as_in_the_template(course: Path) -> None:
    for file in course.rglob("*.*"):
        if file.suffix in (".py", ".md", ".ipynb"):
            assert "word_count" not in file.read_text(encoding="utf-8"), file


def test_a_build_of_a_new_course_has_the_notebooks(course: Path) -> None:
    student = (course / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb").read_text(encoding="utf-8")
    assert "YOUR CODE HERE" in student and "counts.get(word, 0) + 1" not in student
    assert "nothing has changed" in command("build", cwd=course)


def test_stills_of_a_course_without_boards_are_none(course: Path) -> None:
    assert command("stills", cwd=course) == "nothing has changed\n"


def test_the_handout_of_a_new_course_is_complete_and_has_nothing_of_another(course: Path, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="setuptools is not installed: pip install -e '.[release]'")
    command("handout", cwd=course)
    with zipfile.ZipFile(course / "dist" / "course.zip") as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    assert not (folder / "ffnlab" / "course").exists() and not list(folder.rglob("*_keys"))
    asked = run(
        sys.executable,
        "-c",
        "import start; print(start.own_package(), start.first_notebook())",
        cwd=folder,
        path=(folder,),
    )
    assert asked.split() == [NAME, f"{NOTEBOOK}/{NOTEBOOK}.ipynb"]
    target = tmp_path / "installed"
    words = ("pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation", "--target", target, folder)
    run(find_uv_bin(), *words, "--python", sys.executable, cwd=tmp_path)
    assert "“Tea” and “tea” are counted apart" in run(
        sys.executable, "-c", CHECK, cwd=folder / NOTEBOOK, path=(target,)
    )


def test_the_site_of_a_new_course_shows_its_notebook_and_nothing_of_another(course: Path) -> None:
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install -e '.[site]'")
    command("site", "--workers", 1, cwd=course)
    site = course / "dist" / "site"
    front = (site / "index.html").read_text(encoding="utf-8")
    assert "<title>Counting words" in front and f"course/{NOTEBOOK}.html" in front
    page = (site / "course" / f"{NOTEBOOK}.html").read_text(encoding="utf-8")
    assert "YOUR CODE HERE" in page and "counts.get(word, 0) + 1" not in page
    words = re.compile("Transformer|Feed forward|feed-forward")
    assert not [path for path in site.rglob("*.html") if words.search(path.read_text(encoding="utf-8"))]
    assert not list(site.rglob("preview.png"))


def test_the_readme_of_a_new_course_leads_to_a_second_exercise(course: Path) -> None:
    """Typed as it stands there."""
    readme = (course / "README.md").read_text(encoding="utf-8")
    cells, exercise, key = re.findall(r"```python\n(.*?)```", readme, re.S)
    notebook = course / "solutions" / f"{NOTEBOOK}.py"
    before, last, after = notebook.read_text(encoding="utf-8").partition('# %% figure="progress"')
    notebook.write_text(f"{before}{cells}\n{last}{after}", encoding="utf-8")
    exercises = course / "course" / NAME / "exercises" / "words.py"
    exercises.write_text(f"{exercises.read_text(encoding='utf-8')}\n\n{exercise}", encoding="utf-8")
    (course / f"{NAME}_keys" / "words" / "longest_word.py").write_text(key, encoding="utf-8")
    assert HOLDS in command("matrix", "longest_word", cwd=course)
    assert "the same points and the same name" in command("build", cwd=course)
    student = (course / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb").read_text(encoding="utf-8")
    assert "def longest_word(text)" in student and "key=len" not in student


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Teas", "can't be the name of a package"),
        ("my-teas", "can't be the name of a package"),
        ("class", "can't be the name of a package"),
        ("../teas", "can't be the name of a package"),
        ("json", "there is a package json in this Python already"),
        ("torch", "there is a package torch in this Python already"),
        ("ffnlab", "there is a package ffnlab in this Python already"),
    ],
)
def test_a_name_that_no_course_can_have_is_refused(name: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=line):
        new_course.make(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_new_course_is_never_made_over_something(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="is already there: name another course, or another folder with --to"):
        new_course.make("milks", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_no_course_is_taken_from_a_folder_that_students_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv(registry.VARIABLE, "")  # so that it is put back as it was: entering a course sets it
    monkeypatch.setattr(sys, "path", [*sys.path])
    for folder, package in ((tmp_path / "grading" / "submitted" / "eve", ""), (tmp_path / "mine", "milks")):
        new_course.make("milks", folder)
        os.environ.pop(registry.VARIABLE, None)
        monkeypatch.chdir(folder)
        startup.enter_course()
        assert os.environ.get(registry.VARIABLE, "") == package
