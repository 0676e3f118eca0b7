"""A second course, of one notebook about counting words, is built, checked, graded and given back by the same commands; the engine names neither course."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from ffnlab import registry
from ffnlab.registry import Course, CourseNotFound, active_course

NOTEBOOK = "01_words"
RIGHT = {
    "count_words": "def count_words(text):\n    words = text.lower().split()\n    return {w: words.count(w) for w in words}",
}
CASE_MATTERS = "def count_words(text):\n    words = text.split()\n    return {w: words.count(w) for w in words}"
HANDED_IN = {"ada": RIGHT, "ben": RIGHT | {"count_words": CASE_MATTERS}, "cleo": {}}
CHECKS = f"""
from word_counts import check
{RIGHT["count_words"]}
check("count_words", count_words)
{CASE_MATTERS}
check("count_words", count_words)
check("count_words", lambda text: 3)
check("relu", len)
"""


class SecondCourse:
    """The tiny course in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "tests" / "tiny_course", folder, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "nbgrader_config.py", folder)
        self.environment = {name: value for name, value in os.environ.items() if name != registry.VARIABLE}
        self.environment["PYTHONPATH"] = os.pathsep.join(map(str, (folder / "course", folder, ROOT, ROOT / "course")))

    def run(self, *words: object, place: str = ".", course: str = "word_counts") -> subprocess.CompletedProcess[str]:
        """How a program ended that was started in a folder of the course."""
        environment = self.environment | ({registry.VARIABLE: course} if course else {})
        return subprocess.run(
            list(map(str, words)), cwd=self.folder / place, env=environment, capture_output=True, text=True, check=False
        )

    def autograder(self, *words: object) -> str:
        """What a command of the autograder prints."""
        process = self.run(sys.executable, "-m", "autograder", *words)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    def hand_in(self, student: str, answers: Mapping[str, str]) -> None:
        """Put a student's notebook with these answers where `grade` looks for it."""
        notebook: dict[str, Any] = json.loads((self.folder / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb").read_text())
        for cell in notebook["cells"]:
            cell["source"] = answers.get(cell["metadata"]["nbgrader"]["grade_id"], cell["source"])
        place = self.folder / "grading" / "submitted" / student / NOTEBOOK
        place.mkdir(parents=True)
        (place / f"{NOTEBOOK}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecondCourse]:
    course = SecondCourse(tmp_path_factory.mktemp("second") / "course_of_words")
    output = course.autograder("build")
    assert f"{NOTEBOOK}: making the student's notebook" in output
    yield course


def test_a_second_course_is_built(built: SecondCourse) -> None:
    student = (built.folder / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb").read_text(encoding="utf-8")
    assert "YOUR CODE HERE" in student and "counts.get" not in student
    assert (built.folder / "course" / "word_counts" / "answers" / f"{NOTEBOOK}.safetensors").is_file()
    keys = built.folder / "word_count_keys"
    assert set(json.loads((keys / "twenty_secrets.json").read_text())) == set(RIGHT)
    assert set(json.loads((keys / "outline.json").read_text())) == {NOTEBOOK}


def test_a_student_of_a_second_course_checks_an_answer_and_need_not_say_which_course_it_is(built: SecondCourse) -> None:
    process = built.run(sys.executable, "-c", CHECKS, place=f"course/{NOTEBOOK}", course="")
    assert process.returncode == 0, process.stderr
    right, named, wrong, other = re.split(r"\n(?=[✘?])", process.stdout)
    assert "earned, 3 of 3 points" in right
    assert "“Tea” and “tea” are counted apart" in named
    assert "not yet" in wrong and not any(title in wrong for title in ("Likely cause", "What is wrong"))
    assert "there is no exercise called 'relu'" in other
    progress = json.loads((built.folder / "course" / ".progress.json").read_text(encoding="utf-8"))
    assert list(progress) == ["count_words"], "the folder of the notebook is known as one of the course's"


@pytest.mark.skipif(
    shutil.which("bwrap") is None or sys.platform != "linux", reason="grading needs Linux and bubblewrap"
)
def test_a_second_course_is_graded_in_the_jail_and_given_back(built: SecondCourse) -> None:
    for student, answers in HANDED_IN.items():
        built.hand_in(student, answers)
    output = built.autograder("grade")
    assert "3 graded" in output and "are counted apart" in output, output
    titles = ["Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum Grade"]
    titles += ["Grade can be changed", "Last modified (submission)", "Last modified (grade)", "Feedback comments"]
    sheet = built.folder / "sheet.csv"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        rows = [
            [f"Participant {n}", s, s, f"{s}@x.org", "Submitted", "", "3.00", "Yes", "-", "-", ""]
            for n, s in enumerate(HANDED_IN)
        ]
        csv.writer(file).writerows([titles, *rows])
    built.autograder("give-back", "moodle", NOTEBOOK, "--sheet", sheet, "--to", built.folder / "grades.csv")
    with (built.folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        grades = {row["ID number"]: float(row["Grade"]) for row in csv.DictReader(file)}
    assert grades == {"ada": 3.0, "ben": 0.0, "cleo": 0.0}


def test_a_course_that_is_not_there_is_one_line(built: SecondCourse) -> None:
    process = built.run(sys.executable, "-m", "autograder", "grade", course="no_such_course")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.strip().splitlines() == [
        "autograder: FFNLAB_COURSE names 'no_such_course', which can't be imported: No module named 'no_such_course'"
    ]


def test_what_is_no_course_is_said_and_a_second_one_beside_the_first_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(registry.VARIABLE, "json")
    with pytest.raises(CourseNotFound, match="names 'json', which is no course"):
        active_course()
    with pytest.raises(CourseNotFound, match="names 'json', and 'words' is another course"):
        registry.activate(Course("words", keys="word_keys"))
    with pytest.raises(CourseNotFound, match="the package words can't be found"):
        _ = Course("words", keys="word_keys").notebooks


def test_without_a_word_the_course_is_this_one_and_its_notebooks_are_those_that_are_there() -> None:
    course = active_course()
    assert (course.package, course.keys) == ("ffnlab.course", "autograder.keys")
    assert list(course.notebooks) == sorted(path.stem for path in (ROOT / "solutions").glob("*.py"))
    for notebook in course.notebooks:
        assert notebook == course.exercises_module(notebook).NOTEBOOK
        assert course.key_files(notebook) and course.predictions_file(notebook).is_file()


ENGINE = (
    "autograder/authoring/build.py", "autograder/class_folder", "autograder/cli", "autograder/engine", "autograder/gradebook", "autograder/grading",
    "autograder/gradescope", "autograder/jail", "autograder/lms", "autograder/nbgrader_patches", "autograder/outline.py", "autograder/rechecking.py",
    "autograder/redaction", "autograder/reference", "autograder/reports", "autograder/source_hash.py", "autograder/transfer", "autograder/web",
    "course/ffnlab/checking", "course/ffnlab/diagnosis", "course/ffnlab/observation", "course/ffnlab/prediction",
)  # fmt: skip


@pytest.mark.reads_sources
def test_what_runs_a_course_names_no_notebook_and_no_exercise() -> None:
    """A name of one word, such as relu, is looked for as a text of its own, as it may be a function of torch."""
    names = {*active_course().notebooks, *active_course().exercises}
    words = {name for name in names if name.islower() and name.isalpha()}
    pattern = "|".join(
        [
            rf"\b(?:{'|'.join(names - words)})\b",
            rf"[\"'`](?:{'|'.join(words)})[\"'`]",
            r"\bffn_",
            r"feed_forward",
            r"\bFFN\b",
        ]
    )
    files = [file for place in ENGINE for file in [ROOT / place, *(ROOT / place).rglob("*")] if file.is_file()]
    matches = [
        f"{file.relative_to(ROOT)}:{number}: {match[0]}"
        for file in files
        if "__pycache__" not in file.parts
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for match in re.finditer(pattern, line)
    ]
    assert len(files) > 100 and matches == []
