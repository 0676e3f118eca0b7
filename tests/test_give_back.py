"""Giving back: every grade and page lands on the student it came from, the LMS's sheet stays as it is but for the grades, and whoever is left out is listed."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from collection import enter_decisions, inbound, run
from exports import (
    CLASS,
    FFN,
    FULL,
    LISTED,
    NEXT,
    SYSTEMS,
    Somebody,
    System,
    canvas_gradebook,
    canvas_name,
    canvas_pages,
    d2l_grades,
    exchange_folder,
    grade,
    graded,
    gradescope_metadata,
    gradescope_roster,
    handed_in_by,
    moodle_name,
    moodle_pages,
    notebook,
    points,
    sheet,
    worksheet,
    zipped,
)  # fmt: skip
from fabricated import save_grading
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeFetchFeedback, ExchangeReleaseFeedback
from traitlets.config import Config

from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.policy_file import exercise_and_question_points
from autograder.errors import UserError
from autograder.files import Batch
from autograder.gradebook import gradebook, policy_words
from autograder.gradebook.policy import Policy
from autograder.grading import feedback
from autograder.transfer import collect as collecting
from autograder.transfer.give_back import GiveBackReport
from autograder.transfer.give_back import give_back as giving

MOODLE, CANVAS, BRIGHTSPACE, BLACKBOARD, *_ = SYSTEMS


@pytest.fixture
def class_folder(tmp_path: Path) -> ClassFolder:
    return ClassFolder(tmp_path / "class")


def collect_and_grade(class_folder: ClassFolder, archive: Path, *lists: Path, **how: Any) -> dict[int, str]:
    """By number, the students of a class that was collected and graded: number i has i exercises right."""
    report = collecting.collect(class_folder, archive, lists, **how)
    assert not report.needs_somebody, report
    ids = handed_in_by(class_folder)
    grade(class_folder, ids)
    return ids


FOLDERS: dict[str, Path] = {}


@pytest.fixture(scope="module", autouse=True)
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A class that has been through a system is made once; each test has a copy."""
    for system in SYSTEMS:
        FOLDERS[system.name] = tmp_path_factory.mktemp(system.name)
    yield
    FOLDERS.clear()


def of(system: System, class_folder: ClassFolder) -> Path:
    """A class that has been through a system, and the system's sheet."""
    folder, name = FOLDERS[system.name], f"sheet{'.tsv' if system is BRIGHTSPACE else '.csv'}"
    if not (folder / "class").exists():
        path = system.roster(folder / name, CLASS)
        archive = zipped(folder / "a.zip", system.files(CLASS))
        collect_and_grade(ClassFolder(folder / "class"), archive, path, match_names=system is BRIGHTSPACE)
    shutil.copytree(folder / "class", class_folder.path)
    return Path(shutil.copy(folder / name, class_folder.path.parent))


def give(class_folder: ClassFolder, system: str, to: Path | None = None, **how: Any) -> tuple[GiveBackReport, bytes]:
    done = giving(class_folder, system, FFN, to or class_folder.path.parent / "back", **how)
    return done, done.file.read_bytes() if done.file else b""


def pages_of(data: bytes, system: System) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        assert opened.testzip() is None
        return system.pages(opened)


def owner(page: str) -> int:
    (number,) = set(re.findall(r"the answer of number (\d+)", page))
    return int(number)


# Round trips


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: str(system.name))
def test_every_grade_and_page_lands_on_the_student_it_came_from(
    system: System, class_folder: ClassFolder, tmp_path: Path
) -> None:
    path = of(system, class_folder)
    before = path.read_bytes()
    done, data = give(class_folder, system.name, sheet=path, column=system.column)
    grades = system.grades(data)
    for student in CLASS:
        assert float(grades[system.key(student)]) == points(student.i), student
    assert path.read_bytes() == before and not done.doubts
    done, data = give(class_folder, system.name, tmp_path / "pages.zip", pages=True)
    pages = pages_of(data, system)
    assert {key: owner(page) for key, page in pages.items()} == {
        system.page_key(student): student.i for student in CLASS
    }
    assert not done.doubts and done.written_count == len(CLASS)


def test_gradescope_gives_each_submission_the_results_that_were_found_for_it(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    files = {"e/submission_metadata.yml": gradescope_metadata({student.submission: [student] for student in CLASS})}
    files |= {f"e/submission_{student.submission}/x.ipynb": student.data for student in CLASS}
    collect_and_grade(class_folder, zipped(tmp_path / "a.zip", files), gradescope_roster(tmp_path / "r.csv", CLASS))
    done, data = give(class_folder, "gradescope", tmp_path / "autograder.zip")
    assert done.written_count == len(CLASS) and not done.doubts
    home = tmp_path / "autograder"
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        assert {"setup.sh", "run_autograder"} <= set(opened.namelist())
        assert all(opened.getinfo(name).external_attr >> 16 & stat.S_IXUSR for name in ("setup.sh", "run_autograder"))
        opened.extractall(home / "source")
    program = [sys.executable, str(home / "source" / "run_autograder")]
    for student in CLASS:
        (home / "submission_metadata.json").write_text(json.dumps({"id": int(student.submission)}), encoding="utf-8")
        subprocess.run(program, env=os.environ | {"AUTOGRADER_HOME": str(home)}, check=True)
        results = json.loads((home / "results" / "results.json").read_text(encoding="utf-8"))
        assert results["score"] == points(student.i) and owner(results["output"]) == student.i
        assert sum(test["score"] for test in results["tests"]) == points(student.i)
        (home / "results" / "results.json").unlink()
    (home / "submission_metadata.json").write_text('{"id": 77}', encoding="utf-8")
    late = subprocess.run(
        program, env=os.environ | {"AUTOGRADER_HOME": str(home)}, capture_output=True, text=True, check=False
    )
    assert late.returncode == 1 and "has not been graded yet" in late.stderr
    assert list((home / "results").iterdir()) == []


def test_nbgrader_releases_and_fetches_the_pages_of_what_was_collected(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    exchange, when = tmp_path / "exchange", "2026-10-02 10:00:00.000000 UTC"
    (exchange / "C" / "feedback").mkdir(parents=True)
    exchange.chmod(0o777)
    for student in CLASS[:3]:
        inbound(exchange / "C" / "inbound", student, when, student.data, f"secret{student.i}" * 10)
        inbound(tmp_path / f"cache{student.i}" / "C", student, when, student.data, f"secret{student.i}" * 10)
        place = tmp_path / f"cache{student.i}" / "C" / exchange_folder(student, when=when)
        place.rename(place.with_name(place.name.rpartition("+")[0]))
    ids = collect_and_grade(class_folder, exchange / "C" / "inbound")
    assert ids == {student.i: student.username for student in CLASS[:3]}
    done, _ = give(class_folder, "nbgrader")
    assert done.written_count == 3 and f"nbgrader release_feedback {FFN}" in done.notes[-1]

    config = Config()
    config.CourseDirectory.root, config.CourseDirectory.course_id = str(class_folder.path), "C"
    config.CourseDirectory.assignment_id = FFN
    config.Exchange.root = str(exchange)
    ExchangeReleaseFeedback(coursedir=CourseDirectory(config=config), config=config).start()
    for student in CLASS[:3]:
        config.CourseDirectory.student_id = student.username
        config.Exchange.cache, config.Exchange.assignment_dir = (
            str(tmp_path / f"cache{student.i}"),
            str(tmp_path / f"home{student.i}"),
        )
        ExchangeFetchFeedback(coursedir=CourseDirectory(config=config), config=config).start()
        (page,) = (tmp_path / f"home{student.i}").rglob("*.html")
        assert owner(page.read_text(encoding="utf-8")) == student.i and page.name == f"{FFN}.html"


def test_what_came_from_an_lms_is_left_out_of_a_release(class_folder: ClassFolder, tmp_path: Path) -> None:
    of(CANVAS, class_folder)
    done, _ = give(class_folder, "nbgrader")
    assert done.written_count == 0 and len(done.changes) == len(CLASS)
    assert all(
        "not collected from the exchange, so the student could not fetch it there" in change.note
        for change in done.changes
    )
    excluded = done.notes[-1].rpartition("student_id_exclude=")[2].split(",")
    assert sorted(excluded) == sorted(handed_in_by(class_folder).values())
    assert not list(class_folder.feedback.rglob("submission_secret.txt"))


def test_a_page_is_released_under_the_secret_of_the_submission_that_it_is_of(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    student, folder = CLASS[0], tmp_path / "inbound"
    class_folder.path.mkdir()
    (class_folder.path / "course.toml").write_text('attempts = "best"\n', encoding="utf-8")
    inbound(folder, student, "2026-10-01 10:00:00.000000 UTC", student.data, "a" * 128)
    inbound(folder, student, "2026-10-02 10:00:00.000000 UTC", notebook("later"), "b" * 128)
    collecting.collect(class_folder, folder)
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(FFN)
        for data, score, day in ((student.data, 3, 1), (notebook("later"), 1, 2)):
            digest = hashlib.sha256(data).hexdigest()
            handed_in_at = datetime(2026, 10, day, 10)
            save_grading(book, student.username, graded(student, score), digest, handed_in_at)
        with Batch() as files:
            feedback.write(files, class_folder, student.username, graded(student, 1), handed_in_at, digest=digest)
        effective_attempts = Policy.of(class_folder).read_book(book, FFN)
    assert effective_attempts[student.username].grading.digest == hashlib.sha256(student.data).hexdigest(), (
        "the first one is the best"
    )
    give(class_folder, "nbgrader", effective_attempts=effective_attempts)
    place = class_folder.feedback / student.username / FFN
    assert owner((place / f"{FFN}.html").read_text(encoding="utf-8")) == student.i
    assert (place / "submission_secret.txt").read_text(encoding="utf-8") == "a" * 128, "and not the latest's"
    assert (place / "timestamp.txt").read_text(encoding="utf-8").startswith("2026-10-01 10:00")
    (class_folder.path / "collected" / FFN / "manifest.json").unlink()
    (place / "submission_secret.txt").unlink()
    done, _ = give(class_folder, "nbgrader", effective_attempts=effective_attempts)
    (left,) = done.changes
    assert "earlier submission, whose secret was not kept" in left.note
    assert not (place / "submission_secret.txt").exists()


# The sheet


def test_a_german_worksheet_keeps_every_other_byte_and_its_decimals(class_folder: ClassFolder, tmp_path: Path) -> None:
    of(MOODLE, class_folder)
    dates = {1: "Mittwoch, 13. März 2024, 19:59"}
    german = worksheet(
        tmp_path / "german.csv", CLASS, german=True, handed_in=range(5), grade={1: "13,50"}, graded=dates
    )
    done, data = give(class_folder, "moodle", sheet=german)
    grades = re.compile(rb'(?<="Zur Bewertung abgegeben",)("\d+,\d\d")?(?=,)')
    assert data != german.read_bytes() and data.startswith(b"\xef\xbb\xbf")
    assert grades.sub(b"", data) == grades.sub(b"", german.read_bytes())
    assert grades.findall(data) == [f'"{points(student.i):.2f}"'.replace(".", ",").encode() for student in CLASS]
    changes = {change.student: change for change in done.changes}
    assert changes[CLASS[1].sis].old == "13,50" and changes[CLASS[1].sis].new == f"{points(1):.2f}".replace(".", ",")
    assert "graded there before: Mittwoch, 13. März 2024" in changes[CLASS[1].sis].note
    assert any("tick" in note for note in done.notes)


def test_another_assignments_worksheet_is_refused(class_folder: ClassFolder, tmp_path: Path) -> None:
    of(MOODLE, class_folder)
    other = [Somebody(student.i + 500, student.first, student.last) for student in CLASS]
    path = worksheet(tmp_path / "w.csv", other)
    text = path.read_text(encoding="utf-8")
    for student, namesake in zip(CLASS, other, strict=True):
        text = text.replace(namesake.sis, student.sis).replace(namesake.email, student.email)
    path.write_text(text, encoding="utf-8")
    files = {
        moodle_name(namesake, "03.ipynb"): notebook(student.answer, NEXT)
        for student, namesake in zip(CLASS, other, strict=True)
    }
    collecting.collect(class_folder, zipped(tmp_path / "b.zip", files), [path])
    for pages in (False, True):
        with pytest.raises(
            UserError,
            match=r"lists none of the 5 students who submitted 02_feed_forward: is it the worksheet of another",
        ):
            give(class_folder, "moodle", sheet=path, pages=pages)


def test_what_moodle_would_pass_over_is_told(class_folder: ClassFolder, tmp_path: Path) -> None:
    of(MOODLE, class_folder)
    path = worksheet(tmp_path / "w.csv", CLASS, grade={3: f"{points(3):.2f}"}, changeable={2: "No"})
    done, data = give(
        class_folder,
        "moodle",
        sheet=path,
        points_of=lambda student: FULL + 1 if student == CLASS[4].sis else points(int(student[1:])),
    )
    grades = MOODLE.grades(data)
    assert grades[CLASS[2].participant] == "" and done.unchanged_count == 1
    left = [change for change in done.changes if not change.is_written]
    assert [(change.student, change.note) for change in left] == [(CLASS[2].sis, "left out: is locked")]
    assert "above the sheet's maximum" in done.doubts[0] and "Moodle ignores it" in done.doubts[0]


def test_a_dry_run_says_whose_grade_changes_from_what_to_what_and_writes_nothing(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    of(CANVAS, class_folder)
    path = canvas_gradebook(tmp_path / "g.csv", CLASS, grade={1: "1.00", 2: f"{points(2):.2f}"})
    done, _ = give(class_folder, "canvas", tmp_path / "nowhere" / "x.csv", sheet=path, column=FFN, dry_run=True)
    assert (
        {(change.student, change.old, change.new) for change in done.changes}
        == {
            (student.sis, "1.00" if student.i == 1 else "", f"{points(student.i):.2f}")
            for student in CLASS
            if student.i != 2
        }
        and done.unchanged_count == 1
        and done.file is None
        and not (tmp_path / "nowhere").exists()
    )


def test_what_somebody_has_still_to_read_is_left_out_unless_it_is_said(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    path = of(CANVAS, class_folder)
    with Gradebook(class_folder.db_url) as book:
        book.find_grade("M2", FFN, FFN, CLASS[3].sis).needs_manual_grade = True
        book.db.commit()
    for more in ({"sheet": path, "column": FFN}, {"pages": True}):
        done, _ = give(class_folder, "canvas", **more)
        (left,) = [change for change in done.changes if not change.is_written]
        assert left.student == CLASS[3].sis and "3 points have not been read yet" in left.note
        done, _ = give(class_folder, "canvas", with_unread=True, **more)
        assert all(change.is_written for change in done.changes) and done.written_count == len(CLASS)
    done, _ = give(class_folder, "nbgrader")
    notes = {change.student: change.note for change in done.changes}
    assert "not been read yet" in notes[CLASS[3].sis] and CLASS[3].sis in done.notes[-1].rpartition("=")[2].split(",")


def test_what_a_person_gave_is_in_the_grade_and_on_the_page(class_folder: ClassFolder, tmp_path: Path) -> None:
    path = of(CANVAS, class_folder)
    with Gradebook(class_folder.db_url) as book:
        record = book.find_grade("M2", FFN, FFN, CLASS[1].sis)
        record.manual_score, record.extra_credit = 2.0, 0.5
        book.find_comment("M2", FFN, FFN, CLASS[1].sis).manual_comment = "Nicely said."
        book.db.commit()
    _, data = give(class_folder, "canvas", sheet=path, column=FFN)
    assert float(CANVAS.grades(data)[CLASS[1].canvas]) == points(1) + 2.5
    _, data = give(class_folder, "canvas", pages=True)
    pages = pages_of(data, CANVAS)
    assert "Nicely said." in pages[CANVAS.page_key(CLASS[1])]
    assert sum("Nicely said." in page for page in pages.values()) == 1


def test_whoever_is_not_on_the_sheet_or_not_on_the_roster_is_told(class_folder: ClassFolder, tmp_path: Path) -> None:
    of(CANVAS, class_folder)
    path = canvas_gradebook(tmp_path / "g.csv", [*CLASS[1:], Somebody(7, "New", "Comer")])
    done, data = give(class_folder, "canvas", sheet=path, column=FFN)
    assert done.doubts == [f"{CLASS[0].name} ({CLASS[0].sis}) was graded here but is not on this sheet"]
    assert "1 on the sheet is not on the roster and is not changed" in done.notes
    assert CANVAS.grades(data)[Somebody(7, "", "").canvas] == ""


def test_a_sheet_of_strangers_is_one_clear_line(class_folder: ClassFolder, tmp_path: Path) -> None:
    grade(class_folder, {0: "somebody"})
    with pytest.raises(UserError, match=r"no id on .* is on the roster .* --roster"):
        give(class_folder, "canvas", sheet=canvas_gradebook(tmp_path / "g.csv", CLASS), column=FFN)


def test_a_folder_that_is_an_id_of_the_sheet_needs_no_roster(class_folder: ClassFolder, tmp_path: Path) -> None:
    grade(class_folder, {0: CLASS[0].sis, 1: CLASS[1].canvas})
    _, data = give(class_folder, "canvas", sheet=canvas_gradebook(tmp_path / "g.csv", CLASS), column=FFN)
    grades = CANVAS.grades(data)
    assert [bool(grades[student.canvas]) for student in CLASS] == [True, True, False, False, False]


def test_a_row_that_stands_there_twice_is_left_as_it_is(class_folder: ClassFolder, tmp_path: Path) -> None:
    of(CANVAS, class_folder)
    done, data = give(
        class_folder, "canvas", sheet=canvas_gradebook(tmp_path / "g.csv", [*CLASS, CLASS[1]]), column=FFN
    )
    assert "is on the sheet twice" in done.doubts[0] and CANVAS.grades(data)[CLASS[1].canvas] == ""


def test_another_maximum_is_told(class_folder: ClassFolder, tmp_path: Path) -> None:
    of(CANVAS, class_folder)
    done, _ = give(
        class_folder,
        "canvas",
        sheet=canvas_gradebook(tmp_path / "g.csv", CLASS, points="100.00"),
        column=FFN,
        dry_run=True,
    )
    assert any("the sheet's maximum is 100.00, but the notebook is worth" in note for note in done.notes)


def test_the_maximum_is_the_one_by_the_classs_rules(class_folder: ClassFolder, tmp_path: Path) -> None:
    of(CANVAS, class_folder)
    with gradebook.Book(class_folder) as book:
        effective_attempts = Policy.of(class_folder).read_book(book, FFN)
    (top,) = {attempt.grade.whole for attempt in effective_attempts.values()}
    every = sum(exercise_and_question_points(FFN).values())
    assert top < every, "quizzes do not count"
    for most, is_noted in ((f"{top:.2f}", False), (f"{every:.2f}", True)):
        listed = canvas_gradebook(tmp_path / "g.csv", CLASS, points=most)
        done, _ = give(
            class_folder, "canvas", sheet=listed, column=FFN, dry_run=True, effective_attempts=effective_attempts
        )
        assert any("is worth" in note for note in done.notes) == is_noted


def test_a_policy_may_say_what_a_student_gets(class_folder: ClassFolder) -> None:
    path = of(CANVAS, class_folder)
    done, data = give(
        class_folder,
        "canvas",
        sheet=path,
        column=FFN,
        points_of=lambda student: None if student == CLASS[0].sis else 0.125,
    )
    assert {CANVAS.grades(data)[student.canvas] for student in CLASS[1:]} == {"0.13"} and CANVAS.grades(data)[
        CLASS[0].canvas
    ] == ""
    assert [change.note for change in done.changes if not change.is_written] == [
        "left out: there is no grade for this student"
    ]


@pytest.mark.parametrize(
    ("system", "rows", "why"),
    [
        ("moodle", [["a", "b"], ["1", "2"]], "is not a grading worksheet in English or German: its columns are a, b"),
        ("moodle", [["Identifier", "Grade"], ["Participant 1", ""]], "has no column 'Last modified .grade.'"),
        ("canvas", [["a", "b"], ["1", "2"]], "is not a gradebook of Canvas"),
        ("brightspace", [["a", "b"], ["1", "2"]], "no grades of Brightspace"),
        ("brightspace", [["OrgDefinedId", "End-of-Line Indicator"], ["#1", "#"]], "0 columns for grades"),
        ("blackboard", [["a", "b"], ["1", "2"]], "is not a sheet of Blackboard's"),
    ],
)
def test_a_sheet_that_is_none_is_one_clear_line(
    system: str, rows: list[list[str]], why: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    of(CANVAS, class_folder)
    with pytest.raises(UserError, match=why) as raised:
        give(class_folder, system, sheet=sheet(tmp_path / "x.csv", rows))
    assert "\n" not in str(raised.value)


def test_without_a_sheet_or_a_grade_there_is_one_clear_line(class_folder: ClassFolder, tmp_path: Path) -> None:
    path = canvas_gradebook(tmp_path / "g.csv", CLASS)
    with pytest.raises(UserError, match=f"nothing of {FFN} has been graded"):
        give(class_folder, "canvas", sheet=path)
    with pytest.raises(UserError, match="say where to write it with --to"):
        giving(class_folder, "canvas", FFN, sheet=path)
    grade(class_folder, {0: CLASS[0].sis})
    with pytest.raises(UserError, match=r"give Canvas's gradebook, exported as CSV, with --sheet FILE"):
        give(class_folder, "canvas")
    with pytest.raises(UserError, match=r"nothing of .* was collected from Moodle"):
        give(class_folder, "moodle", pages=True)
    (class_folder.path / "roster.csv").write_text(
        f"student,canvas\n{CLASS[0].sis},{CLASS[0].canvas}\n", encoding="utf-8"
    )
    with pytest.raises(UserError, match="is the sheet itself"):
        give(class_folder, "canvas", path, sheet=path, column=FFN)


def test_the_file_is_for_its_owner_alone(class_folder: ClassFolder, tmp_path: Path) -> None:
    path = of(CANVAS, class_folder)
    (tmp_path / "there").mkdir()
    done, _ = give(class_folder, "canvas", tmp_path / "there", sheet=path, column=FFN)
    assert done.file == tmp_path / "there" / f"{FFN}-canvas.csv" and done.file.stat().st_mode & 0o077 == 0


# Pages


def test_a_teams_page_goes_to_each_member_by_their_own_number(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["First name", "Last name", "ID number", "Email address", "Groups"]]
    rows += [[student.first, student.last, student.sis, student.email, "Team blue"] for student in CLASS[:2]]
    list_of = worksheet(tmp_path / "w.csv", CLASS)
    files = {f"Team blue_{77}_assignsubmission_file/a.ipynb": CLASS[0].data, moodle_name(CLASS[2]): CLASS[2].data}
    collecting.collect(class_folder, zipped(tmp_path / "a.zip", files), [list_of, sheet(tmp_path / "g.csv", rows)])
    grade(class_folder, {0: CLASS[0].sis, 1: CLASS[1].sis, 2: CLASS[2].sis})
    done, data = give(class_folder, "moodle", pages=True, sheet=list_of)
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        pages = moodle_pages(opened)
    assert {number: owner(page) for number, page in pages.items()} == {
        student.participant: student.i for student in CLASS[:3]
    }
    assert "77" not in pages and done.written_count == 3


def test_without_the_worksheet_no_teams_page_goes_anywhere(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["First name", "Last name", "ID number", "Email address", "Groups"]]
    rows += [[student.first, student.last, student.sis, student.email, "Team blue"] for student in CLASS[:2]]
    files = {"Team blue_77_assignsubmission_file/a.ipynb": CLASS[0].data}
    collecting.collect(class_folder, zipped(tmp_path / "a.zip", files), [sheet(tmp_path / "g.csv", rows)])
    grade(class_folder, {0: CLASS[0].sis, 1: CLASS[1].sis})
    done, data = give(class_folder, "moodle", pages=True)
    assert data == b"" and all("give it with --sheet" in change.note for change in done.changes)


def test_pages_of_anonymous_hand_ins_find_their_way_back(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {
        f"{'LATE_' * (student.i % 2)}anon_x{student.i}Z_{student.attachment}_a.ipynb": student.data for student in CLASS
    }
    collect_and_grade(class_folder, zipped(tmp_path / "a.zip", files))
    _, data = give(class_folder, "canvas", pages=True)
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        pages = canvas_pages(opened)
    assert {key: owner(page) for key, page in pages.items()} == {
        f"x{student.i}Z/{student.attachment}": student.i for student in CLASS
    }
    files = {f"Participant_{student.participant}_assignsubmission_file/x.ipynb": student.data for student in CLASS}
    other = ClassFolder(tmp_path / "moodle")
    path = worksheet(tmp_path / "w.csv", CLASS, blind=True)
    collect_and_grade(other, zipped(tmp_path / "b.zip", files), path)
    _, data = give(other, "moodle", sheet=path)
    assert {number: float(text) for number, text in MOODLE.grades(data).items()} == {
        student.participant: points(student.i) for student in CLASS
    }
    _, data = give(other, "moodle", pages=True)
    assert {key: owner(page) for key, page in pages_of(data, MOODLE).items()} == {
        student.participant: student.i for student in CLASS
    }


def test_the_page_follows_the_latest_hand_in(class_folder: ClassFolder, tmp_path: Path) -> None:
    path = canvas_gradebook(tmp_path / "g.csv", CLASS)
    collecting.collect(class_folder, zipped(tmp_path / "a.zip", CANVAS.files(CLASS)), [path])
    newer = f"x_{CLASS[0].canvas}_999999_{FFN}-1.ipynb".replace("x_", canvas_name(CLASS[0]).split("_")[0] + "_")
    collect_and_grade(class_folder, zipped(tmp_path / "b.zip", {newer: CLASS[0].data}), path)
    _, data = give(class_folder, "canvas", pages=True)
    assert f"{CLASS[0].canvas}/999999" in pages_of(data, CANVAS)


def test_what_was_handed_in_with_another_export_gets_no_page_there(class_folder: ClassFolder, tmp_path: Path) -> None:
    collecting.collect(class_folder, zipped(tmp_path / "a.zip", CANVAS.files(CLASS[:1])), assignment=FFN)
    manifest_file = class_folder.path / "collected" / FFN / "manifest.json"
    manifest_file.write_text(
        manifest_file.read_text(encoding="utf-8").replace(
            f'"handed_in_for": "{FFN}"', '"handed_in_for": "03_activations"'
        ),
        encoding="utf-8",
    )
    grade(class_folder, handed_in_by(class_folder))
    done, data = give(class_folder, "canvas", pages=True)
    assert data == b"" and "handed in for 03_activations" in done.changes[0].note


# The command


def test_the_command_shows_what_changes_and_its_status_tells_whether_somebody_was_left_out(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    path = of(CANVAS, class_folder)
    words = ("give-back", "canvas", FFN, "--grading", class_folder.path, "--sheet", path, "--column", FFN)
    dry = run(*words, "--dry-run", expect=0)
    assert "5 would be given back" in dry[0] and "O'Connor" in dry[0]
    done = run(*words, "--to", tmp_path / "back.csv", expect=0)
    assert "5 given back" in done[0] and float(
        CANVAS.grades((tmp_path / "back.csv").read_bytes())[CLASS[4].canvas]
    ) == points(4)
    again = run(
        *words[:-4], "--sheet", canvas_gradebook(tmp_path / "o.csv", CLASS[1:]), "--column", FFN, "--dry-run", expect=2
    )
    assert "is not on this sheet" in again[0]
    assert run(*words[:-2], "--dry-run", expect=2)[1].startswith("autograder: sheet.csv has 2 columns for grades")


def test_a_class_that_is_made_up_has_what_a_real_one_has() -> None:
    assert len({points(student.i) for student in CLASS}) == len(CLASS) and points(len(LISTED)) == FULL
    text = d2l_grades.__doc__ or ""
    assert "tabs" in text and csv.list_dialects()


# Late without a time


def test_whom_canvas_calls_late_is_said_wherever_the_grade_is(class_folder: ClassFolder, tmp_path: Path) -> None:
    path = canvas_gradebook(tmp_path / "g.csv", [*CLASS, Somebody(5, "Nora", "Nothing")])
    class_folder.path.mkdir()
    rules = f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2026-11-19\n"
    (class_folder.path / "course.toml").write_text(rules, encoding="utf-8")
    collecting.collect(class_folder, zipped(tmp_path / "a.zip", CANVAS.files(CLASS)), [path])
    with gradebook.Book(class_folder, writing=True) as book:
        book.sync_assignment(FFN)
        for student in CLASS:
            save_grading(book, student.sis, graded(student, student.i), hashlib.sha256(student.data).hexdigest(), None)
    warning = f"{FFN}: 2 students are flagged as late"
    words = ("--grading", class_folder.path)
    out, _ = run("give-back", "canvas", FFN, "--sheet", path, "--column", FFN, "--dry-run", *words, expect=2)
    assert warning in out and f"submitted/STUDENT/{FFN}/timestamp.txt" in out and "5 would be given back" in out
    out, _ = run("report", FFN, "--csv", tmp_path / "class.csv", *words, expect=2)
    assert warning in out and f"{FFN}: 5 of 6 students have handed in. Not yet: Nora Nothing (S00005)." in out
    page = (class_folder.path / "report.html").read_text(encoding="utf-8")
    assert "<dt>late</dt><dd>not known</dd>" in page and "2 students handed in late" in page
    assert page.index("Nora Nothing") < page.index("What the class misunderstands")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "class-students.csv").read_text(encoding="utf-8-sig"))))
    assert [row["student"] for row in rows] == [student.sis for student in CLASS] + ["S00005"]
    assert rows[5]["not_handed_in"] == FFN and rows[5]["name"] == "Nora Nothing" and rows[5][f"{FFN} points"] == ""
    assert float(rows[4][f"{FFN} points"]) == points(4) and "flagged as late" in rows[1][f"{FFN} late"]
    out, _ = run("why", CLASS[1].username, "ffn_forward", *words, expect=0)
    assert "The whole submission is flagged as late by the LMS" in out
    out, _ = run("report", FFN, "--hide-names", *words, expect=2)
    assert "5 of 6 students have handed in" in out and "Nora" not in out
    assert "Nora" not in (class_folder.path / "report.html").read_text(encoding="utf-8")


def test_whom_canvas_does_not_call_late_was_on_time_whoevers_time_is_written_by_hand(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    path = canvas_gradebook(tmp_path / "g.csv", CLASS)
    class_folder.path.mkdir()
    rules = f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2026-11-19\n"
    (class_folder.path / "course.toml").write_text(rules, encoding="utf-8")
    collecting.collect(class_folder, zipped(tmp_path / "a.zip", CANVAS.files(CLASS)), [path])
    by_hand = class_folder.submitted / CLASS[1].sis / FFN / "timestamp.txt"
    by_hand.write_text("2026-11-20 18:30:00 UTC", encoding="utf-8")
    grade(class_folder, {student.i: student.sis for student in CLASS})
    with gradebook.Book(class_folder) as book:
        policy = Policy.of(class_folder)
        grades = policy.grades(book, FFN)
        warning = policy_words.describe_lateness_not_counted(policy, FFN, grades)
    assert grades[CLASS[1].sis].days_late == 1
    assert f"1 student is flagged as late ({CLASS[3].sis})" in warning and "no time of submission" not in warning

    unmarked = class_folder.path / "collected" / FFN / "manifest.json"
    stored = unmarked.read_text(encoding="utf-8").replace('"system": "canvas"', '"system": "moodle"', 1)
    unmarked.write_text(stored, encoding="utf-8")
    with gradebook.Book(class_folder) as book:
        warning = policy_words.describe_lateness_not_counted(policy, FFN, policy.grades(book, FFN))
    assert "1 student is flagged as late" in warning and "1 student has no time of submission" in warning, (
        "both kinds are named"
    )


def test_who_handed_in_and_has_no_grade_or_no_time_is_said_wherever_grades_are(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    path = MOODLE.roster(tmp_path / "sheet.csv", CLASS)
    files = {name: b"{" if CLASS[1].data == data else data for name, data in MOODLE.files(CLASS).items()}
    class_folder.path.mkdir()
    rules = f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2026-11-19\n"
    (class_folder.path / "course.toml").write_text(rules, encoding="utf-8")
    collecting.collect(class_folder, zipped(tmp_path / "a.zip", files), [path])
    ids = handed_in_by(class_folder)
    (class_folder.submitted / ids[2] / FFN / "timestamp.txt").unlink()
    grade(class_folder, ids)
    unusable = f"{FFN}: 1 student handed in something and has no grade (S00001)"
    untimed = f"{FFN}: 1 student has no time of submission ("
    words = ("--grading", class_folder.path)
    for command in (
        ("give-back", "moodle", FFN, "--sheet", path, "--dry-run"),
        ("report", FFN, "--csv", tmp_path / "class.csv"),
    ):
        out, _ = run(*command, *words, expect=2)
        assert unusable in out and "collected/settle.csv" in out, command
        assert untimed in out and f"{ids[2]})" in out.partition(untimed)[2], command
    assert unusable in (class_folder.path / "report.html").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "class-students.csv").read_text(encoding="utf-8-sig"))))
    assert {row["student"] for row in rows} == {*ids.values(), "S00001"}


def test_a_name_in_the_rules_that_nobody_has_is_said_by_every_command_that_uses_them(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    path = of(CANVAS, class_folder)
    student = CLASS[0]
    rules = f"time_zone = 'UTC'\nassignments.{FFN}.due = 2026-11-19\n"
    tables = "".join(
        f'[extensions."{name}"]\n{FFN} = "3 days"\n' for name in (student.username, CLASS[1].name, "Umit Agaoglou")
    )
    (class_folder.path / "course.toml").write_text(rules + tables, encoding="utf-8")
    policy = Policy.of(class_folder)
    ends = [policy.due(FFN, student.sis) for student in CLASS[:3]]
    assert [end and end.day for end in ends] == [22, 22, 19], "by a login and by a name"
    back = ("give-back", "canvas", FFN, "--sheet", path, "--column", FFN, "--dry-run")
    for command in (("feedback",), ("report",), ("why", student.name, "ffn_forward"), back):
        out, _ = run(*command, "--grading", class_folder.path, expect=2)
        assert 'names "Umit Agaoglou", but no student of the class has this name' in out, command
        assert out.count(" names ") == 1 and f"did you mean {CLASS[3].name}" in out, out
    (class_folder.path / "course.toml").write_text(rules, encoding="utf-8")
    run("why", student.username.upper(), "ffn_forward", "--grading", class_folder.path, expect=0)
    _, err = run("why", "Seán OConnor Smit", "ffn_forward", "--grading", class_folder.path, expect=2)
    assert f"there is no student called 'Seán OConnor Smit'; did you mean {CLASS[1].name} (S00001)?" in err


# Teams on Moodle


@pytest.mark.parametrize(
    "how", ["settled with all members", "settled with one, and a group in course.toml", "no worksheet at collect"]
)
def test_a_moodle_team_that_a_person_has_settled_is_given_back_to_every_member(
    how: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    in_toml = "course.toml" in how
    list_of = worksheet(tmp_path / "w.csv", CLASS)
    teams = {"Team Größe_88001": CLASS[:2], "Team b_88002": CLASS[2:4]}
    files = {f"{name}_assignsubmission_file/a.ipynb": members[0].data for name, members in teams.items()}
    lists = [list_of]
    if how.startswith("no"):
        rows = [["First name", "Last name", "ID number", "Email address"]]
        lists = [
            sheet(
                tmp_path / "p.csv",
                rows + [[student.first, student.last, student.sis, student.email] for student in CLASS],
            )
        ]
    archive = zipped(tmp_path / "a.zip", files)
    assert len(collecting.collect(class_folder, archive, lists).pending_decisions) == 2
    written = 1 if in_toml else 2  # members, in settle.csv
    answers = {
        name.split("_")[0]: " ".join(student.sis for student in members[:written]) for name, members in teams.items()
    }
    enter_decisions(class_folder, **{name: f"student {ids}" for name, ids in answers.items()})
    if in_toml:
        groups = "".join(
            f"[[groups]]\nstudents = {[student.sis for student in members]}\n" for members in teams.values()
        )
        (class_folder.path / "course.toml").write_text(groups, encoding="utf-8")
    assert not collecting.collect(class_folder, archive, lists).needs_somebody
    graded_ids = {student.i: student.sis for members in teams.values() for student in members[:written]}
    first = {student.i: members[0].i for members in teams.values() for student in members}
    grade(class_folder, graded_ids, {i: first[i] + 1 for i in graded_ids}, theirs=False)
    words = ("give-back", "moodle", FFN, "--sheet", list_of, "--grading", class_folder.path)
    out, _ = run(*words, "--to", tmp_path / "back.csv", expect=0)
    grades = MOODLE.grades((tmp_path / "back.csv").read_bytes())
    expected = {student.participant: points(first[student.i] + 1) for student in CLASS[:4]}
    assert {number: float(text) for number, text in grades.items() if text} == expected, out
    assert "check yourself that w.csv is the one of" in out
    out, _ = run(*words, "--pages", "--to", tmp_path / "pages.zip", expect=0)
    with zipfile.ZipFile(tmp_path / "pages.zip") as opened:
        assert set(moodle_pages(opened)) == expected.keys(), out


def test_a_class_without_any_time_is_not_on_time_where_lateness_costs_something(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    """Nothing is said where no rule depends on it; else every command says it and ends with 2, also where all times are unknown."""
    path = MOODLE.roster(tmp_path / "sheet.csv", CLASS)
    unread = path.read_bytes().replace(b"Wednesday, 13 March 2024, 10:15 AM", b"mercredi 13 mars 2024, 10:15")
    path.write_bytes(unread)
    collecting.collect(class_folder, zipped(tmp_path / "a.zip", MOODLE.files(CLASS)), [path])
    ids = handed_in_by(class_folder)
    grade(class_folder, ids)
    words = ("--grading", class_folder.path)
    out, _ = run("report", FFN, *words, expect=0)
    assert "read" not in out and "late" not in out
    rules = f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2026-11-19\n"
    (class_folder.path / "course.toml").write_text(rules, encoding="utf-8")
    line = f"{FFN}: The times of 5 students can't be read"
    for command in (("report", FFN), ("give-back", "moodle", FFN, "--sheet", path, "--to", tmp_path / "back")):
        out, _ = run(*command, *words, expect=2)
        assert line in out and "“mercredi 13 mars 2024, 10:15”" in out
    out, _ = run("why", ids[0], "ffn_forward", *words, expect=0)
    assert "its time can't be read (“mercredi 13 mars 2024, 10:15”)" in out
