"""A sample class, made from the answer keys: right answers, named mistakes, untouched stubs, mixtures, and submissions that are broken in usual ways."""

from __future__ import annotations

import copy
import json
import random
import re
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import nbformat

from autograder import keys
from autograder.class_folder import log
from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.keys.key import Key
from autograder.nbgrader_patches import formgrader
from autograder.paths import assignments, release

FIRST = [
    "Ada",
    "Ben",
    "Chloé",
    "Deniz",
    "Emeka",
    "Fatima",
    "Goran",
    "Hana",
    "Ivo",
    "Jun",
    "Kaja",
    "Luis",
    "Mina",
    "Noor",
    "Olek",
    "Priya",
    "Quinn",
    "Rosa",
    "Sami",
    "Tomo",
    "Uma",
    "Vera",
    "Wei",
    "Yara",
    "Zoë",
]

Notebook = dict[str, Any]
Answers = dict[str, str]


def make(
    class_folder: ClassFolder, students: int = 16, seed: int = 1, only: Sequence[str] = (), odd: bool = True
) -> list[str]:
    """Write a class of `students` submissions of every assignment (or of `only` these) below `class_folder`; returns their names.

    odd: whether some of them are broken in usual ways.

    The same seed gives the same class.
    """
    assignment_names = only or assignments()
    for assignment in assignment_names:
        if not release(assignment).is_file():
            raise UserError(f"course/{assignment} has not been built: run `make build` first")
    if class_folder.submitted.exists():
        shutil.rmtree(class_folder.submitted)
    names = [
        f"{FIRST[i % len(FIRST)].lower()}{i // len(FIRST) or ''}".translate(str.maketrans("éë", "ee"))
        for i in range(students)
    ]
    for assignment in assignment_names:
        blank = json.loads(release(assignment).read_text(encoding="utf-8"))
        guide = keys.of_notebook(assignment)
        for index, name in enumerate(names):
            rng = random.Random(f"{seed}/{assignment}/{index}")
            folder = class_folder.submitted / name / assignment
            folder.mkdir(parents=True)
            text = submission(_with_words(blank, assignment, index, seed), guide, index, rng, odd)
            (folder / f"{assignment}.ipynb").write_text(text, encoding="utf-8")
            (folder / "timestamp.txt").write_text(
                f"2026-10-{1 + index % 28:02d} 10:{index % 60:02d}:00.000000 UTC", encoding="utf-8"
            )
    return names


def forget(class_folder: ClassFolder) -> None:
    """Remove what grading made of a sample class: gradebook, graded notebooks, feedback pages and log. The hidden draws stay."""
    for folder in (class_folder.autograded, class_folder.feedback):
        shutil.rmtree(folder, ignore_errors=True)
    for file in (*class_folder.path.glob("gradebook.db*"), *class_folder.path.glob(log.FILE)):
        file.unlink()


def submission(blank: Notebook, guide: list[Key], index: int, rng: random.Random, odd: bool = True) -> str:
    """One student's notebook as text. The first few show one thing each; then come mixtures."""
    if index == 0:
        return _text(fill(blank, {key.exercise.name: rng.choice(key.rights).source for key in guide}))
    if index == 1:
        return _text(blank)
    if index == 2:
        return _text(fill(blank, {key.exercise.name: rng.choice(key.mistakes).source for key in guide}))
    notebook = fill(blank, _mixture(guide, rng))
    if not odd:
        return _text(notebook)
    if index - 3 < len(ODD):
        notebook = ODD[index - 3](notebook)
    if index == 3 + len(ODD):
        return _text(notebook)[: len(_text(notebook)) // 2]
    return _text(notebook)


def _mixture(guide: list[Key], rng: random.Random) -> Answers:
    answers = {}
    for key in guide:
        kind = rng.choices(("right", "mistake", "untouched"), weights=(6, 3, 1))[0]
        if kind == "right":
            answers[key.exercise.name] = rng.choice(key.rights).source
        elif kind == "mistake" and key.mistakes:
            answers[key.exercise.name] = rng.choice(key.mistakes).source
    return answers


def _with_words(blank: Notebook, assignment: str, index: int, seed: int) -> Notebook:
    """The notebook with an answer to each question that a person reads: the full one, part of it, or none, so that there is something to read."""
    notebook = copy.deepcopy(blank)
    rng = random.Random(f"words/{seed}/{assignment}/{index}")
    for cell in notebook["cells"]:
        full = formgrader.rubrics(assignment).get(cell["metadata"].get("nbgrader", {}).get("grade_id", ""), "")
        sentences = re.split(r"(?<=[.:]) ", full.partition("**Rubric.**")[0].replace("**A full answer.**", "").strip())
        if full and index != 1 and (index == 0 or rng.random() < 0.8):
            share = len(sentences) if index == 0 else rng.randint(1, len(sentences))
            cell["source"] = " ".join(sentences[:share])
    return notebook


def fill(blank: Notebook, answers: Answers) -> Notebook:
    """A notebook with these answers typed into the cells of their exercises."""
    notebook = copy.deepcopy(blank)
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in answers and cell["cell_type"] == "code":
            cell["source"] = answers[name]
    return notebook


def _delete_last_cell(notebook: Notebook) -> Notebook:
    """The last exercise's cell was deleted."""
    place = max(i for i, cell in enumerate(notebook["cells"]) if _is_solution(cell))
    del notebook["cells"][place]
    return notebook


def _duplicate_cell(notebook: Notebook) -> Notebook:
    """An exercise's cell was copied, with its metadata."""
    place = next(i for i, cell in enumerate(notebook["cells"]) if _is_solution(cell))
    twin = copy.deepcopy(notebook["cells"][place]) | {"id": "a-copy"}
    notebook["cells"].insert(place + 1, twin)
    return notebook


def _reorder_cells(notebook: Notebook) -> Notebook:
    """Two exercises' cells have changed places."""
    places = [i for i, cell in enumerate(notebook["cells"]) if _is_solution(cell)][:2]
    if len(places) == 2:
        first, second = places
        cells = notebook["cells"]
        cells[first], cells[second] = cells[second], cells[first]
    return notebook


def _switch_off_grade(notebook: Notebook) -> Notebook:
    """The `grade` flag of a check was switched off."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade") and not _is_solution(cell):
            cell["metadata"]["nbgrader"]["grade"] = False
            break
    return notebook


def _warns(notebook: Notebook) -> Notebook:
    """An extra cell warns, and one draws a progress bar on stderr."""
    source = "import sys, warnings\nwarnings.warn('look out')\nprint('50%', file=sys.stderr)"
    extra = nbformat.v4.new_code_cell(source)
    notebook["cells"].insert(4, {**extra})
    return notebook


ODD: list[Callable[[Notebook], Notebook]] = [
    _delete_last_cell,
    _duplicate_cell,
    _reorder_cells,
    _switch_off_grade,
    _warns,
]


def _is_solution(cell: dict[str, Any]) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get("solution")) and cell["cell_type"] == "code"


def _text(notebook: Notebook) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False)
