"""A learning management system that the autograder has never heard of: registered, and with nothing else changed, it is collected and given back."""

from __future__ import annotations

import csv
import inspect
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from exports import CLASS, FFN, Somebody, grade, handed_in_by, points, sheet, zipped
from sakai import Sakai

from autograder import lms
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.roster import Roster
from autograder.errors import UserError
from autograder.lms.base import Lms
from autograder.lms.sheets import Sheet
from autograder.transfer.collect import collect
from autograder.transfer.give_back import give_back

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "lms.md").read_text(encoding="utf-8")


def folder(student: Somebody) -> str:
    return f"{student.last}, {student.first}({student.username})"


def export(path: Path, when: str = "20261001100000") -> Path:
    files = {f"{FFN}/{folder(student)}/{when}/{FFN}.ipynb": student.data for student in CLASS}
    return zipped(path, files | {f"{FFN}/grades.csv": b"ID,Display ID\n"})


def grades(path: Path) -> Path:
    rows = [["Display ID", "ID", "Last Name", "First Name", "Grade", "Section"]]
    return sheet(
        path, rows + [[student.username, f"id-{student.i}", student.last, student.first, "", "A"] for student in CLASS]
    )


@pytest.fixture
def class_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassFolder:
    """A class that has been collected from it, with its list, and graded."""
    monkeypatch.setitem(lms.SYSTEMS, "sakai", Sakai())
    sakai_class = ClassFolder(tmp_path / "class")
    report = collect(sakai_class, export(tmp_path / "a.zip"), [grades(tmp_path / "grades.csv")])
    assert report.title == "Sakai" and report.new == len(CLASS) and not report.needs_somebody, report
    assert "its times name no zone: read as times of this computer" in report.notes
    grade(sakai_class, handed_in_by(sakai_class))
    return sakai_class


def test_an_invented_system_is_collected_with_its_own_column_on_the_roster(class_folder: ClassFolder) -> None:
    assert handed_in_by(class_folder) == {student.i: student.username for student in CLASS}
    roster = Roster.load(class_folder)
    assert roster.titles.count("sakai") == 1 and roster.titles[-2:] == ["groups", "listed"]
    for student in CLASS:
        listed = roster.students[student.username]
        assert (listed.cells["sakai"], listed.name) == (f"id-{student.i}", student.name)


def test_a_time_that_is_none_is_told_and_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lms.SYSTEMS, "sakai", Sakai())
    archive = export(tmp_path / "a.zip", when="20261399000000")
    report = collect(ClassFolder(tmp_path / "class"), archive, [grades(tmp_path / "grades.csv")])
    assert report.new == len(CLASS)
    assert any("its time, 20261399000000, can't be read" in note for note in report.notes), report.notes


def test_grades_go_back_into_its_sheet_and_nothing_else_in_it_changes(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    path = tmp_path / "grades.csv"
    done = give_back(class_folder, "sakai", FFN, tmp_path / "back.csv", path)
    assert done.file and not done.doubts
    before, after = (list(csv.reader(io.StringIO(file.read_text("utf-8")))) for file in (path, done.file))
    for student, old, new in zip(CLASS, before[1:], after[1:], strict=True):
        assert float(new[4]) == points(student.i) and (new[:4], new[5:]) == (old[:4], old[5:])


def test_pages_go_where_it_looks_for_them(class_folder: ClassFolder, tmp_path: Path) -> None:
    done = give_back(class_folder, "sakai", FFN, tmp_path / "pages.zip", pages=True)
    assert done.file and not done.doubts
    with zipfile.ZipFile(done.file) as archive:
        for student in CLASS:
            assert student.answer in archive.read(f"{folder(student)}/{FFN}.html").decode()


def test_its_name_is_in_the_help_and_in_the_desk_once_it_is_registered() -> None:
    program = (
        "import sys; from autograder import lms; from sakai import Sakai\n"
        "lms.SYSTEMS['sakai'] = Sakai(); from autograder.cli import main\n"
        "assert 'sakai' in [one.name for one in lms.by_rank()]; sys.argv = ['autograder', sys.argv[1], '--help']; main()"
    )
    for command, name in (("collect", "Sakai"), ("give-back", "sakai")):
        run = [sys.executable, "-c", program, command]
        process = subprocess.run(run, cwd=ROOT / "tests", capture_output=True, text=True, check=True)
        output = " ".join(re.sub(r"[│╭╮╰╯─]", " ", process.stdout).split())
        assert re.search(rf"(or|,) {name}\b", output)


class Bare(Sakai):
    """It takes grades, and whoever wrote it forgot how."""

    grade_sheet, page_name = Lms.grade_sheet, Lms.page_name


class Taker(Sakai):
    """It has no sheet, and no other way back."""

    sheet = ""


def test_what_a_system_lacks_is_a_sentence_about_it(
    class_folder: ClassFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(lms.SYSTEMS, "sakai", Bare())
    with pytest.raises(UserError, match="Sakai: no grades can be written into a sheet of it"):
        give_back(class_folder, "sakai", FFN, tmp_path / "back.csv", tmp_path / "grades.csv")
    done = give_back(class_folder, "sakai", FFN, tmp_path / "pages.zip", pages=True)
    assert {change.note for change in done.changes} == {"left out: Sakai takes no pages"} and not done.written_count
    monkeypatch.setitem(lms.SYSTEMS, "sakai", Taker())
    with pytest.raises(UserError, match="Sakai takes nothing back"):
        give_back(class_folder, "sakai", FFN, tmp_path / "back.zip")
    assert Lms.people(Sakai(), Sheet.of(b"ID,Display ID\n1,a\n", "a.csv")) is None


def test_a_system_that_can_not_be_read_can_not_be_made() -> None:
    class Unread(Lms):
        name, title = "unread", "Unread"

    with pytest.raises(TypeError, match=r"exported_files.*fits"):
        Unread()  # type: ignore[abstract]


# The page


def test_the_page_shows_the_system_that_is_tested_here() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert code == (ROOT / "tests" / "sakai.py").read_text(encoding="utf-8").partition("\n\n")[2]


def test_the_page_lists_each_member_once() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)", row)]
    members = {name for name in {*inspect.get_annotations(Lms), *vars(Lms)} if not name.startswith("_")}
    assert sorted(names) == sorted(members)


@pytest.mark.reads_sources
def test_no_system_is_named_outside_of_its_module() -> None:
    """Where the autograder decides, it reads the registry: no name of a system is a string of its own there, and no system's NAME is asked for."""
    names = "|".join({*lms.SYSTEMS} - {"nbgrader"})  # nbgrader has its name in notebooks' metadata too
    wrong = re.compile(rf"[\"'](?:{names})[\"']|\b(?:{names}|exchange)\.NAME\b|\bmatch (?:\w+\.)*system\b")
    own = {ROOT / "autograder" / "lms" / f"{name}.py" for name in names.split("|")}
    own.add(ROOT / "autograder" / "site" / "documents.py")  # a page of docs/ has the name of one
    own.add(ROOT / "autograder" / "cli" / "shared.py")  # a command has
    mentions = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "autograder").rglob("*.py"))
        if path not in own
        for line in path.read_text(encoding="utf-8").splitlines()
        if wrong.search(line)
    ]
    assert not mentions
