"""What grades do not hold yet is said by every command that shows them, with status 2 and a command that helps as it is typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from collection import collect, enter_decisions, export, run
from conftest import needs_bubblewrap
from exports import CLASS, FFN, SYSTEMS, grade, handed_in_by, notebook

from autograder.class_folder.folder import ClassFolder
from autograder.gradebook import gradebook
from autograder.gradebook.policy import Policy

MOODLE = next(system for system in SYSTEMS if system.name == "moodle")
RULES = f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2024-03-14\n"


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return MOODLE.roster(tmp_path / "sheet.csv", CLASS)


@pytest.fixture
def class_folder(tmp_path: Path, sheet: Path) -> ClassFolder:
    """A class that was collected from Moodle, on time, and graded."""
    folder = ClassFolder(tmp_path / "class")
    folder.path.mkdir()
    (folder.path / "course.toml").write_text(RULES, encoding="utf-8")
    collect(folder, export(tmp_path / "a.zip", MOODLE.files(CLASS)), sheet)
    grade(folder, handed_in_by(folder))
    return folder


def commands(class_folder: ClassFolder, sheet: Path, tmp_path: Path) -> dict[str, tuple[str | Path, ...]]:
    where = ("--grading", class_folder.path)
    return {
        "report": ("report", FFN, *where),
        "give-back": ("give-back", "moodle", FFN, "--sheet", sheet, "--to", tmp_path / "back.csv", *where),
        "pages": ("give-back", "moodle", FFN, "--pages", "--to", tmp_path / "pages.zip", *where),
        "why": ("why", CLASS[1].sis, "ffn_forward", *where),
    }


def place(class_folder: ClassFolder, name: str = "timestamp.txt") -> Path:
    path: Path = class_folder.submitted / CLASS[1].sis / FFN / name
    return path


def hand_in_again(class_folder: ClassFolder) -> None:
    place(class_folder, f"{FFN}.ipynb").write_bytes(notebook("the answer of number 1, and better"))


def correct_the_time(class_folder: ClassFolder) -> None:
    place(class_folder).write_text("2024-03-19 18:30:00 UTC", encoding="utf-8")


@pytest.mark.parametrize("change", [hand_in_again, correct_the_time], ids=lambda change: change.__name__)
def test_what_is_newer_than_its_grade_is_said_everywhere_and_not_given_back(
    change: object, class_folder: ClassFolder, sheet: Path, tmp_path: Path
) -> None:
    for words in commands(class_folder, sheet, tmp_path).values():
        run(*words, expect=0)
    assert callable(change)
    change(class_folder)
    for name, words in commands(class_folder, sheet, tmp_path).items():
        out, _ = run(*words, expect=2)
        assert f"grade {FFN} --grading {shlex.quote(str(class_folder.path))}`" in out.replace("\n", ""), name
        assert CLASS[1].sis in out, name
    grades = MOODLE.grades((tmp_path / "back.csv").read_bytes())
    assert [student.i for student in CLASS if not grades[student.participant]] == [1], (
        "who may have other points is left out"
    )
    assert (class_folder.path / "report.html").read_text(encoding="utf-8").count("since the grading") == (
        change is correct_the_time
    )


@pytest.mark.parametrize("text", ["16.03.2024 18:30", "none", "2024-03-16 18:30 PDT", "one\ntwo", None])
def test_a_known_time_that_gives_way_to_none_is_said(
    text: str | None, class_folder: ClassFolder, sheet: Path, tmp_path: Path
) -> None:
    if text is None:
        place(class_folder).unlink()
    else:
        place(class_folder).write_text(text, encoding="utf-8")
    for name in ("report", "give-back"):
        out, _ = run(*commands(class_folder, sheet, tmp_path)[name], expect=2)
        assert "instead of a time that is known" in out and "The known time goes on counting" in out, name


def test_what_waits_for_a_person_is_said_until_it_is_settled(
    class_folder: ClassFolder, sheet: Path, tmp_path: Path
) -> None:
    files = dict(MOODLE.files(CLASS))
    hers = next(name for name, data in files.items() if data == CLASS[2].data)
    collect(class_folder, export(tmp_path / "b.zip", files | {hers: b'{"cells": ['}), sheet)
    words = commands(class_folder, sheet, tmp_path)
    for name in ("report", "give-back"):
        out, _ = run(*words[name], expect=2)
        assert "1 matter waits in class/collected/settle.csv" in out, name
    enter_decisions(class_folder, **{CLASS[2].participant: "leave perhaps"})
    report = collect(class_folder, export(tmp_path / "b.zip", files | {hers: b'{"cells": ['}), sheet)
    assert any("the column leave takes yes or nothing, and 'perhaps' is neither" in line for line in report.doubts)
    assert report.pending_decisions, "a note in the wrong column leaves nobody's work out"
    enter_decisions(class_folder, **{CLASS[2].participant: "leave yes"})
    assert not collect(class_folder, export(tmp_path / "b.zip", files | {hers: b'{"cells": ['}), sheet).needs_somebody
    run(*words["report"], expect=0)


@needs_bubblewrap
def test_a_time_that_a_person_has_corrected_counts(class_folder: ClassFolder) -> None:
    correct_the_time(class_folder)
    where = ("--grading", class_folder.path)
    run("grade", FFN, "--student", CLASS[1].sis, "--start-anew", *where, expect=0)
    with gradebook.Book(class_folder) as book:
        grades = Policy.of(class_folder).grades(book, FFN)
    assert grades[CLASS[1].sis].days_late == 5 and grades[CLASS[0].sis].days_late == 0
    out, _ = run("why", CLASS[1].sis, "ffn_forward", *where, expect=0)
    assert re.search("handed in [^,]*19", out), out


def test_what_is_not_graded_yet_is_not_called_a_matter_to_settle(
    class_folder: ClassFolder, sheet: Path, tmp_path: Path
) -> None:
    folder = class_folder.submitted / "new" / FFN
    folder.mkdir(parents=True)
    (folder / f"{FFN}.ipynb").write_bytes(notebook("new"))
    (folder / "timestamp.txt").write_text("2024-03-13 10:00:00 UTC", encoding="utf-8")
    out, _ = run(*commands(class_folder, sheet, tmp_path)["report"], expect=2)
    assert "1 student was not graded yet (new): run `autograder grade" in out and "ettle" not in out
