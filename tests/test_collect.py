"""Collecting: every submission is filed under whom its token leads to, or listed; nothing is guessed, lost, overwritten or half done."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import exports
import pytest
from collection import IDS, asked, collect, content, enter_decisions, export, run, without_gradebook
from conftest import ROOT
from exports import (
    CLASS,
    FFN,
    NEXT,
    SYSTEMS,
    Somebody,
    System,
    at,
    blackboard_name,
    canvas_gradebook,
    canvas_name,
    d2l_folder,
    d2l_grades,
    exchange_folder,
    gradescope_metadata,
    gradescope_roster,
    handed_in_by,
    moodle_name,
    notebook,
    sheet,
    worksheet,
    zipped,
)  # fmt: skip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbgrader.api import Gradebook

from autograder import untrusted_files
from autograder.class_folder import manifest
from autograder.class_folder.decisions import COLUMNS, FILE
from autograder.class_folder.folder import FOLDER_NAME, ClassFolder, class_lock
from autograder.class_folder.manifest import Manifest
from autograder.class_folder.roster import Roster, Student
from autograder.errors import UserError
from autograder.gradebook import gradebook, not_handed_in
from autograder.lms import archive as archive_of

WITH_GRADEBOOK = (
    "test_names_and_ids_are_in_nbgraders_gradebook",
    "test_a_thousand_notebooks_are_collected_in_time",
    "test_what_was_settled_wrongly_and_is_corrected_leaves_the_other_student_nothing",
)


@pytest.fixture
def class_folder(tmp_path: Path) -> ClassFolder:
    return ClassFolder(tmp_path / "class")


@pytest.fixture(autouse=True)
def no_gradebook(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.name not in WITH_GRADEBOOK:
        without_gradebook(monkeypatch)


# Whose it is


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: str(system.name))
def test_every_hand_in_is_filed_under_whom_its_token_leads_to(
    system: System, class_folder: ClassFolder, tmp_path: Path
) -> None:
    list_of = system.roster(tmp_path / "list.csv", CLASS)
    by_name = system.name == "brightspace"
    report = collect(class_folder, export(tmp_path / "a.zip", system.files(CLASS)), list_of, match_names=by_name)
    folders = {student.i: system.folder(student) for student in CLASS}
    assert handed_in_by(class_folder) == folders and not report.needs_somebody
    assert {row.student for row in report.rows} == set(folders.values())


def test_no_name_refuses_anybody_and_every_folder_is_one_that_grading_takes(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    report = collect(class_folder, export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS)))
    assert (
        handed_in_by(class_folder) == {student.i: f"canvas-{student.canvas}" for student in CLASS}
        and not report.needs_somebody
    )
    assert all(FOLDER_NAME.fullmatch(student) for student in handed_in_by(class_folder).values())
    assert "李雷" in (class_folder.path / "roster.csv").read_text(encoding="utf-8-sig")


def test_a_folder_stays_when_a_list_comes_later(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    collect(class_folder, archive)
    report = collect(class_folder, archive, canvas_gradebook(tmp_path / "list.csv", CLASS))
    assert handed_in_by(class_folder) == {
        student.i: f"canvas-{student.canvas}" for student in CLASS
    } and report.known_count == len(CLASS)
    roster = Roster.load(class_folder)
    assert roster.students["canvas-12000"].cells["sis_id"] == CLASS[0].sis
    assert roster.students["canvas-12000"].name == CLASS[0].name


def test_one_student_has_one_folder_whichever_system_it_was_handed_in_to(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    lists = [system.roster(tmp_path / f"{system.name}.csv", CLASS) for system in SYSTEMS]
    lists.append(gradescope_roster(tmp_path / "gradescope.csv", CLASS))
    for system in SYSTEMS:
        collect(class_folder, export(tmp_path / "a.zip", system.files(CLASS)), *lists, match_names=True)
    assert set(Roster.load(class_folder).students) == {*IDS.values(), "b1946ac92492"}, "and Canvas's test student"
    assert handed_in_by(class_folder) == IDS


def test_who_is_not_on_the_roster_is_listed_and_can_be_settled(class_folder: ClassFolder, tmp_path: Path) -> None:
    list_of = canvas_gradebook(tmp_path / "list.csv", CLASS[:3])
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    report = collect(class_folder, archive, list_of)
    assert set(handed_in_by(class_folder)) == {0, 1, 2}
    assert set(asked(report)) == {canvas_name(CLASS[3], late=True), canvas_name(CLASS[4])}
    assert "nobody on the roster has canvas 12003" in asked(report)[canvas_name(CLASS[3], late=True)]
    enter_decisions(class_folder, **{CLASS[3].canvas: "student uemit", CLASS[4].canvas: "leave yes"})
    (trouble,) = asked(collect(class_folder, archive)).values()
    assert trouble.startswith(f"in {FILE}, line 2: nobody on the roster is called 'uemit': give a list")
    with (class_folder.path / "roster.csv").open("a", encoding="utf-8") as file:
        file.write("uemit\n")
    report = collect(class_folder, archive)
    assert (
        handed_in_by(class_folder)[3] == "uemit" and 4 not in handed_in_by(class_folder) and not report.needs_somebody
    )
    assert Roster.load(class_folder).students["uemit"].cells["canvas"] == CLASS[3].canvas
    assert not collect(class_folder, archive).needs_somebody, "and stays settled"


TEAM = f"Team_{CLASS[0].participant}_assignsubmission_file/a.ipynb"


@pytest.mark.parametrize(
    "text",
    [
        CLASS[3].participant,
        CLASS[3].email.upper(),
        CLASS[3].name,
        f"{CLASS[3].last}, {CLASS[3].first}",
        f"{CLASS[3].name}; {CLASS[2].name}",
        f"{CLASS[3].name}, {CLASS[2].name}",
        f"{CLASS[2].sis} {CLASS[3].participant}",
    ],
)
def test_an_answer_is_understood_by_whatever_names_a_student(
    text: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", {TEAM: CLASS[3].data})
    collect(class_folder, archive, worksheet(tmp_path / "list.csv", CLASS))
    enter_decisions(class_folder, Team=f"student {text}")
    assert not collect(class_folder, archive).needs_somebody
    both = ";" in text or (text.count(",") == 1 and "last" not in text and CLASS[2].first in text) or " 12" in text
    student_ids = {CLASS[3].sis, CLASS[2].sis} if both else {CLASS[3].sis}
    assert {home.name for home in class_folder.submitted.iterdir()} == student_ids


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("student 1048211", "line 2: nobody on the roster is called '1048211'"),
        ("student S0003", "did you mean"),
        ("student S00001 nobody@x.edu", "line 2: nobody on the roster is called 'nobody@x.edu'"),
        ("assignment 02 feed foward", f"line 2: there is no assignment called '02 feed foward'; did you mean {FFN}?"),
        ("leave no", "if it is a team's, write the ids of its members"),
        ("system skype", "line 2: there is no system called 'skype'; there are: gradescope, moodle"),
    ],
)
def test_a_bad_answer_in_any_column_is_a_line(
    answer: str, message: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", {TEAM: CLASS[3].data, moodle_name(CLASS[1]): CLASS[1].data})
    collect(class_folder, archive, worksheet(tmp_path / "list.csv", CLASS))
    before = (class_folder.path / "roster.csv").read_bytes()
    enter_decisions(class_folder, Team="leave yes" if answer.startswith("system") else answer)
    if answer.startswith("system"):
        path = class_folder.path / manifest.FOLDER / FILE
        path.write_text(path.read_text(encoding="utf-8").replace(";moodle;", ";skype;"), encoding="utf-8")
    report = collect(class_folder, archive)
    assert any(message in line for line in (*report.doubts, *asked(report).values())), report
    assert report.needs_somebody and handed_in_by(class_folder) == {1: CLASS[1].sis}
    assert (class_folder.path / "roster.csv").read_bytes() == before


def test_an_assignments_name_is_understood_and_a_file_that_is_no_notebook_is_said(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    files = {moodle_name(CLASS[0], "a.rar"): b"Rar!", moodle_name(CLASS[1], "b.ipynb"): notebook(CLASS[1].answer, NEXT)}
    files |= {moodle_name(student): student.data for student in CLASS[2:]}
    archive = export(tmp_path / "a.zip", files)
    collect(class_folder, archive, worksheet(tmp_path / "list.csv", CLASS), assignment=FFN)
    enter_decisions(class_folder, **{"a.rar": "assignment 02", "b.ipynb": "assignment 03 Activations"})
    report = collect(class_folder, archive, assignment=FFN)
    assert [line for line in report.doubts if "a.rar can't count: not a notebook" in line]
    assert handed_in_by(class_folder, NEXT) == {1: CLASS[1].sis}


@pytest.mark.parametrize("answer", ["student ../x", "student zoë", "student a b/c"])
def test_an_answer_that_can_not_be_used_is_said_and_nothing_is_filed(
    answer: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", {moodle_name(CLASS[0]): CLASS[0].data})
    collect(class_folder, archive)
    enter_decisions(class_folder, **{CLASS[0].participant: answer})
    report = collect(class_folder, archive)
    assert "can't be a folder" in report.pending_decisions[0].trouble and not class_folder.submitted.exists()
    assert Roster.load(class_folder).students == {}


def test_what_was_settled_wrongly_and_is_corrected_leaves_the_other_student_nothing(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    """What two teams handed in is taken for students 0 and 1, of whom 0 has handed in herself before, and is 3's and 4's."""
    roster_path = worksheet(tmp_path / "list.csv", CLASS)
    collect(class_folder, export(tmp_path / "own.zip", {moodle_name(CLASS[0]): CLASS[0].data}), roster_path)
    teams = {f"{team}_771{i}_assignsubmission_file/a.ipynb": CLASS[i].data for i, team in ((3, "Team"), (4, "Gang"))}
    archive = export(tmp_path / "a.zip", teams)
    collect(class_folder, archive)
    enter_decisions(class_folder, Team=f"student {CLASS[0].sis}", Gang=f"student {CLASS[1].sis}")
    collect(class_folder, archive)
    assert handed_in_by(class_folder) == {3: CLASS[0].sis, 4: CLASS[1].sis}
    exports.grade(class_folder, {0: CLASS[0].sis})
    exports.grade(class_folder, {3: CLASS[0].sis, 4: CLASS[1].sis})

    enter_decisions(class_folder, Team=f"student {CLASS[3].sis}", Gang=f"student {CLASS[4].sis}")
    report = collect(class_folder, archive)
    assert handed_in_by(class_folder) == {i: CLASS[i].sis for i in (0, 3, 4)}
    assert [note for note in report.notes if f"of {CLASS[0].sis}, for {FFN}, is withdrawn" in note]
    with gradebook.Book(class_folder) as book:
        assert [attempt.points for attempt in book.history(FFN)] == [exports.points(0)], "her own, and nobody else's"
        assert set(book.automatic_scores(FFN)) == {CLASS[0].sis} and not book.latest_digests(FFN)[CLASS[0].sis][1], (
            "graded again"
        )
    assert (
        not (class_folder.feedback / CLASS[1].sis / FFN).exists()
        and (class_folder.feedback / CLASS[0].sis / FFN).exists()
    )
    assert not any("withdrawn" in note for note in collect(class_folder, archive).notes), "once"


def test_an_odd_file_name_can_be_settled_too(class_folder: ClassFolder, tmp_path: Path) -> None:
    list_of = canvas_gradebook(tmp_path / "list.csv", CLASS)
    for odd in ("=cmd()", " x\n", "'-1", 'a,"b";c\t', "\u202e"):
        archive = export(
            tmp_path / "a.zip", {canvas_name(CLASS[0], f"{odd}.html "): b"<p>", canvas_name(CLASS[1]): CLASS[1].data}
        )
        report = collect(class_folder, archive, list_of)
        assert len(report.pending_decisions) == 1 and "no notebook" in report.pending_decisions[0].trouble
        enter_decisions(class_folder, **{CLASS[0].attachment: "leave yes"})
        assert not collect(class_folder, archive).needs_somebody
        (class_folder.path / manifest.FOLDER / FILE).unlink()


def test_two_students_never_share_an_id(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]]
    rows += [["A, A", "1", "same", "a", "x"], ["B, B", "2", "same", "b", "x"], ["C, C", "3", "SAME", "c", "x"]]
    archive = export(tmp_path / "a.zip", {f"{n}{n}_{i}_{i}0_x.ipynb": notebook(n) for i, n in enumerate("abc", 1)})
    report = collect(class_folder, archive, sheet(tmp_path / "list.csv", rows))
    assert report.doubts == ["list.csv: 2 rows have the sis_id same, so it is nobody's: A A, B B"]
    assert set(Roster.load(class_folder).students) == {"a", "b", "SAME"}
    assert not asked(report) and report.placed_count == 3


def test_a_roster_that_somebody_broke_is_one_clear_line(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    class_folder.path.mkdir()
    for text, why in (
        ("student,canvas\nana,1\nAna,2\n", "line 3: there are two students"),
        ("student,canvas\nana,1\nbob,1\n", "line 3: canvas 1 is already ana's"),
        ("student\nzoë\n", "line 2: .* can't be a folder"),
        ("name\nana\n", "must begin with the column student"),
    ):
        (class_folder.path / "roster.csv").write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=why) as raised:
            collect(class_folder, archive)
        assert "\n" not in str(raised.value)


def test_what_somebody_adds_to_the_roster_stays(class_folder: ClassFolder, tmp_path: Path) -> None:
    class_folder.path.mkdir()
    (class_folder.path / "roster.csv").write_text("student,canvas,tutor\nana,12000,'=Ida\n", encoding="utf-8")
    collect(class_folder, export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS[:1])))
    roster_text = (class_folder.path / "roster.csv").read_text(encoding="utf-8-sig")
    assert handed_in_by(class_folder) == {0: "ana"} and "tutor" in roster_text and "'=Ida" in roster_text


def test_a_name_alone_decides_nothing_unless_somebody_says_so(class_folder: ClassFolder, tmp_path: Path) -> None:
    list_of = d2l_grades(tmp_path / "list.csv", CLASS)
    archive = export(tmp_path / "a.zip", SYSTEMS[2].files(CLASS))
    report = collect(class_folder, archive, list_of, dry_run=True)
    assert len(report.pending_decisions) == len(CLASS) and report.pending_decisions[0].suggestion == CLASS[0].sis
    twins = [*CLASS, CLASS[0].__class__(9, CLASS[0].first, CLASS[0].last)]
    report = collect(class_folder, archive, d2l_grades(tmp_path / "twins.csv", twins), match_names=True)
    assert set(handed_in_by(class_folder)) == {1, 2, 3, 4}, "of two with one name, neither is taken"
    name = f"{CLASS[0].first} {CLASS[0].last}"
    assert (
        f"2 on the roster have this name: write whether it is {name} (S00000) or {name} (S00009)"
        in report.pending_decisions[0].trouble
    )


@pytest.mark.parametrize("name", ["manifest.json", "Files"])
def test_no_students_name_meets_a_name_of_ours(name: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {f"{name}+{FFN}+2026-10-01 10:00:00.000000 UTC+x/{FFN}.ipynb": CLASS[0].data}
    files |= {f"{exchange_folder(CLASS[1])}/{FFN}.ipynb": CLASS[1].data}
    archive = export(tmp_path / "a.zip", files)
    report = collect(class_folder, archive)
    assert (
        handed_in_by(class_folder) == {1: "user1"}
        and "no id in it can be the name of a folder" in report.pending_decisions[0].trouble
    )
    enter_decisions(class_folder, **{name: f"student {name}"})
    assert (
        "a file or folder of the autograder has that name"
        in collect(class_folder, archive).pending_decisions[0].trouble
    )
    assert (
        Manifest.load(class_folder, FFN)
        .path(class_folder, Manifest.load(class_folder, FFN).records["user1"][0])
        .read_bytes()
        == CLASS[1].data
    )


def test_what_an_earlier_version_kept_beside_the_manifest_is_here_already(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    collect(class_folder, archive)
    folder = class_folder.path / manifest.FOLDER / FFN
    for home in list((folder / "files").iterdir()):
        home.rename(folder / home.name)
    text = (folder / manifest.FILE).read_text(encoding="utf-8")
    (folder / manifest.FILE).write_text(text.replace('"kept": "files/', '"kept": "'), encoding="utf-8")
    before = content(class_folder)
    assert collect(class_folder, archive).known_count == len(CLASS) and content(class_folder) == before


# Moodle's numbers, and groups


def test_without_its_worksheet_moodles_number_is_nobody(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[0].files(CLASS))
    report = collect(class_folder, archive)
    assert len(report.pending_decisions) == len(CLASS) and "is on no worksheet" in report.pending_decisions[0].trouble
    assert not class_folder.submitted.exists()
    collect(class_folder, archive, worksheet(tmp_path / "list.csv", CLASS, german=True))
    assert handed_in_by(class_folder) == IDS


def test_marking_blind_uses_the_numbers_alone(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {f"Participant_{student.participant}_assignsubmission_file/x.ipynb": student.data for student in CLASS}
    report = collect(class_folder, export(tmp_path / "a.zip", files), worksheet(tmp_path / "b.csv", CLASS, blind=True))
    assert (
        handed_in_by(class_folder) == {student.i: f"moodle-{student.participant}" for student in CLASS}
        and not report.needs_somebody
    )


def test_canvas_marks_blind_too(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {
        f"{'LATE_' * (student.i % 2)}anon_x{student.i}Z_{student.attachment}_a.ipynb": student.data for student in CLASS
    }
    report = collect(class_folder, export(tmp_path / "a.zip", files), canvas_gradebook(tmp_path / "b.csv", CLASS))
    assert (
        handed_in_by(class_folder) == {student.i: f"canvas-anon_x{student.i}Z" for student in CLASS}
        and not report.pending_decisions
    )
    (doubt,) = report.doubts
    assert doubt.startswith("Canvas exported it anonymously: 5 names") and "download it again" in doubt


JANE = Somebody(1, "Jane", "Doe")


@pytest.mark.parametrize("jane_has_handed_in", [True, False])
@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("sortable", ["doejane_-12001_-99_x", "doejane_-12001", "doejane_-12001_-99_x_12001_-98_"])
def test_a_students_own_name_makes_nobody_else_in_canvas(
    sortable: str, is_listed: bool, jane_has_handed_in: bool, class_folder: ClassFolder, tmp_path: Path
) -> None:
    mallory = Somebody(666, "", sortable)
    plain = re.sub(r"\W", "", re.sub(r"_(\d+)_", r"\1", sortable))
    forgery = f"{plain}_{mallory.canvas}_555_{FFN}.ipynb"
    files = {forgery: mallory.data, canvas_name(CLASS[2]): CLASS[2].data}
    files |= {canvas_name(JANE): JANE.data} if jane_has_handed_in else {}
    lists = [canvas_gradebook(tmp_path / "g.csv", [JANE, mallory, CLASS[2]])] if is_listed else []
    if is_listed:
        text = (tmp_path / "g.csv").read_text(encoding="utf-8").replace(f'"{sortable}, "', f'"{sortable}"')
        (tmp_path / "g.csv").write_text(text, encoding="utf-8")
    archive = export(tmp_path / "a.zip", files)
    report = collect(class_folder, archive, *lists)
    assert set(handed_in_by(class_folder)) == ({1, 2} if jane_has_handed_in else {2})
    assert "its name could mean " in asked(report)[forgery] and len(report.pending_decisions) == 1
    mine = "S00666" if is_listed else "canvas-12666"
    enter_decisions(class_folder, **{forgery: f"student {mine}"})
    assert not collect(class_folder, archive, *lists).needs_somebody and handed_in_by(class_folder)[666] == mine


def test_digits_in_a_files_name_ask_for_nobody_in_canvas(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {canvas_name(student, f"{10 + student.i}_{student.i + 1}_x.ipynb"): student.data for student in CLASS}
    assert not collect(class_folder, export(tmp_path / "a.zip", files)).needs_somebody
    files = {
        canvas_name(student, f"x_{CLASS[0].canvas}_678_y.ipynb"): notebook(f"new {student.answer}")
        for student in CLASS[1:]
    }
    report = collect(class_folder, export(tmp_path / "b.zip", files), canvas_gradebook(tmp_path / "g.csv", CLASS))
    assert not report.needs_somebody and report.new == 4, "by their names, which the gradebook has"


def test_a_teams_number_is_never_taken_for_a_participants(class_folder: ClassFolder, tmp_path: Path) -> None:
    name = f"Team blue_{CLASS[0].participant}_assignsubmission_file/a.ipynb"
    archive = export(tmp_path / "a.zip", {name: CLASS[4].data, moodle_name(CLASS[1]): CLASS[1].data})
    report = collect(class_folder, archive, worksheet(tmp_path / "b.csv", CLASS))
    assert handed_in_by(class_folder) == {1: CLASS[1].sis}
    assert "if it is a team's, write the ids of its members" in asked(report)[name]
    enter_decisions(class_folder, **{"Team": f"student {CLASS[2].sis}, {CLASS[3].sis}; {CLASS[2].sis}"})
    report = collect(class_folder, archive)
    students = {path.parent.parent.name for path in class_folder.submitted.glob(f"*/{FFN}/{FFN}.ipynb")}
    assert students == {CLASS[i].sis for i in (1, 2, 3)} and not report.needs_somebody
    record = Manifest.load(class_folder, FFN).latest(CLASS[2].sis)
    assert record and record.members == (CLASS[2].sis, CLASS[3].sis) and record.group == "Team blue"


def test_a_team_that_a_list_has_is_its_members(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["First name", "Last name", "ID number", "Email address", "Groups"]]
    rows += [
        [student.first, student.last, student.sis, student.email, "Team blue, All" if student.i < 2 else "All"]
        for student in CLASS
    ]
    files = {
        "Team blue_77_assignsubmission_file/a.ipynb": CLASS[0].data,
        "Default group_assignsubmission_file/a.ipynb": CLASS[1].data,
    }
    report = collect(class_folder, export(tmp_path / "a.zip", files), sheet(tmp_path / "b.csv", rows))
    assert {home.name for home in class_folder.submitted.iterdir()} == {CLASS[0].sis, CLASS[1].sis}
    assert "a team without a number" in asked(report)["Default group_assignsubmission_file/a.ipynb"]


def test_canvas_groups_name_is_seen_and_all_members_can_be_said(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", {f"group4_{CLASS[0].canvas}_1_a.ipynb": CLASS[0].data})
    report = collect(class_folder, archive, canvas_gradebook(tmp_path / "b.csv", CLASS))
    assert (
        "if that is a group, write the ids of all members" in report.pending_decisions[0].trouble
        and report.placed_count == 1
    )
    enter_decisions(class_folder, **{"group4": f"student {CLASS[0].sis}; {CLASS[1].sis}"})
    report = collect(class_folder, archive)
    assert {home.name for home in class_folder.submitted.iterdir()} == {
        CLASS[0].sis,
        CLASS[1].sis,
    } and not report.pending_decisions


def test_gradescopes_groups_are_all_their_submitters(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {"e/submission_metadata.yml": gradescope_metadata({"1": CLASS[:2], "2": CLASS[2:3]})}
    files |= {"e/submission_1/x.ipynb": CLASS[0].data, "e/submission_2/x.ipynb": CLASS[2].data}
    report = collect(class_folder, export(tmp_path / "a.zip", files), gradescope_roster(tmp_path / "b.csv", CLASS))
    assert {home.name for home in class_folder.submitted.iterdir()} == {
        student.sis for student in CLASS[:3]
    } and not report.pending_decisions
    folder = class_folder.submitted / CLASS[1].sis / FFN
    assert untrusted_files.find_timestamp(folder) == at("2026-09-09 23:13:05.137226").replace(tzinfo=None)


# Which notebook it is


def test_which_notebook_it_is_is_decided_by_what_it_holds(class_folder: ClassFolder, tmp_path: Path) -> None:
    names = ("x.ipynb", "Untitled (1).ipynb", f"{FFN}-2.ipynb", f"{NEXT}.ipynb", f"{FFN}.ipynb.json")
    files = {canvas_name(student, name): student.data for student, name in zip(CLASS, names, strict=True)}
    report = collect(class_folder, export(tmp_path / "a.zip", files))
    assert set(handed_in_by(class_folder)) == set(range(5)) and not report.needs_somebody
    assert f"called {NEXT}.ipynb" in report.rows[3].what


def test_the_next_notebook_handed_in_as_this_one_is_reported_as_that(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {canvas_name(student): student.data for student in CLASS[:3]}
    name = canvas_name(CLASS[3])
    archive = export(tmp_path / "a.zip", files | {name: notebook(CLASS[3].answer, NEXT)})
    with pytest.raises(UserError, match=f"has 3 of {FFN}, 1 of {NEXT}: say with --assignment"):
        collect(class_folder, archive)
    report = collect(class_folder, archive, assignment=FFN)
    assert (
        asked(report)[name] == f"this is {NEXT}, but it was handed in as {FFN}"
        and report.pending_decisions[0].suggestion == NEXT
    )
    assert set(handed_in_by(class_folder)) == {0, 1, 2} and not list(class_folder.submitted.glob(f"*/{NEXT}"))
    enter_decisions(class_folder, **{CLASS[3].canvas: f"assignment {NEXT}"})
    assert not collect(class_folder, archive, assignment=FFN).needs_somebody
    assert handed_in_by(class_folder, NEXT) == {3: f"canvas-{CLASS[3].canvas}"}
    record = Manifest.load(class_folder, NEXT).latest(f"canvas-{CLASS[3].canvas}")
    assert record and record.handed_in_for == FFN


BROKEN = CLASS[0].data[: len(CLASS[0].data) // 2]
WITHOUT: dict[str, tuple[dict[str, bytes], str]] = {
    "html alone": ({"a.html": b"<p>"}, f"no notebook: a.html; ask for the file {FFN}.ipynb itself"),
    "three others": (
        {"a.html": b"1", "b.pdf": b"2", "c.py": b"3"},
        "no notebook: a.html, b.pdf, c.py; ask for the file",
    ),
    "broken": ({"a.ipynb": BROKEN}, "not a notebook: broken JSON"),
    "empty file": ({"a.ipynb": b""}, "the file is empty"),
    "somebody else's course": ({"a.ipynb": b'{"cells": [{"source": "1"}]}'}, "not a notebook of this course"),
    "two that differ": ({"a.ipynb": notebook("1"), "b.ipynb": notebook("2")}, "one of 2 notebooks of"),
    "html as a notebook": ({"a.ipynb": b"<html>"}, "not a notebook but a web page"),
}


@pytest.mark.parametrize("what", WITHOUT)
def test_a_hand_in_without_the_notebook_is_a_line_and_nothing_is_guessed(
    what: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    theirs, why = WITHOUT[what]
    files = {moodle_name(student): student.data for student in CLASS[1:]} | {
        moodle_name(CLASS[0], name): data for name, data in theirs.items()
    }
    report = collect(class_folder, export(tmp_path / "a.zip", files), worksheet(tmp_path / "b.csv", CLASS))
    assert set(handed_in_by(class_folder)) == {1, 2, 3, 4}
    assert {why in trouble for trouble in asked(report).values()} == {True}
    contents = {
        path.read_bytes() for path in (class_folder.path / "collected" / FFN / "files" / CLASS[0].sis).iterdir()
    }
    assert contents == set(theirs.values()), "it is kept all the same"


def test_an_empty_folder_is_a_line(class_folder: ClassFolder, tmp_path: Path) -> None:
    folder = moodle_name(CLASS[1], "").rstrip("/")
    archive = export(tmp_path / "a.zip", {moodle_name(CLASS[0]): CLASS[0].data}, folders=[folder])
    report = collect(class_folder, archive, worksheet(tmp_path / "b.csv", CLASS))
    assert asked(report) == {folder: "nothing but an empty folder"}


def test_typed_text_is_a_line(class_folder: ClassFolder, tmp_path: Path) -> None:
    text_file = f"{CLASS[1].name}_{CLASS[1].participant}_assignsubmission_onlinetext/onlinetext.html"
    files = {moodle_name(CLASS[0]): CLASS[0].data, text_file: b"<p>my answer"}
    report = collect(class_folder, export(tmp_path / "a.zip", files), worksheet(tmp_path / "b.csv", CLASS))
    assert asked(report) == {
        text_file: f"no notebook: onlinetext.html (text typed online); ask for the file {FFN}.ipynb itself"
    }


def test_html_beside_a_notebook_is_kept_and_asks_for_nobody(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {moodle_name(CLASS[0]): CLASS[0].data, moodle_name(CLASS[0], f"{FFN}.html"): b"<p>exported"}
    report = collect(class_folder, export(tmp_path / "a.zip", files), worksheet(tmp_path / "b.csv", CLASS))
    assert not report.needs_somebody and [row.what for row in report.rows] == [
        "new, put into submitted/",
        "kept beside it",
    ]
    assert (class_folder.path / "collected" / FFN / "files" / CLASS[0].sis / "002.html").read_bytes() == b"<p>exported"


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ((f"{FFN}.ipynb", f"{FFN}_old.ipynb"), 0),
        ((f"{FFN} (1).ipynb", "mine.ipynb"), 0),
        (("mine.ipynb", f"{FFN}-2.ipynb"), 1),
        ((f"{FFN}-1.ipynb", f"{FFN}-2.ipynb"), None),
    ],
)
def test_of_two_notebooks_the_one_with_the_released_name_counts_and_the_other_is_listed(
    names: tuple[str, str], chosen: int | None, class_folder: ClassFolder, tmp_path: Path
) -> None:
    files = {moodle_name(CLASS[0], name): CLASS[i].data for i, name in enumerate(names)}
    archive = export(tmp_path / "a.zip", files)
    report = collect(class_folder, archive, worksheet(tmp_path / "b.csv", CLASS))
    assert handed_in_by(class_folder) == ({} if chosen is None else {chosen: CLASS[0].sis})
    pending_files = set(asked(report))
    assert pending_files == (
        {moodle_name(CLASS[0], n) for n in names} - {moodle_name(CLASS[0], names[chosen])}
        if chosen is not None
        else set(files)
    )
    enter_decisions(class_folder, **{names[1 - (chosen or 0)]: f"assignment {FFN}"})
    assert not collect(class_folder, archive).needs_somebody
    assert handed_in_by(class_folder) == {1 - (chosen or 0): CLASS[0].sis}, "somebody has said which"


def test_a_notebook_in_a_students_zip_is_found(class_folder: ClassFolder, tmp_path: Path) -> None:
    inner = zipped(
        tmp_path / "inner.zip", {f"hw/{FFN}.ipynb": CLASS[0].data, "__MACOSX/hw/._x.ipynb": b"", "../x.ipynb": b""}
    )
    files = {f"{d2l_folder(CLASS[0])} - Hw.zip": inner.read_bytes()}
    report = collect(class_folder, export(tmp_path / "a.zip", files))
    assert handed_in_by(class_folder) == {0: f"brightspace-{CLASS[0].d2l}"}
    ((name, trouble),) = asked(report).items()
    assert name.endswith("Hw.zip/../x.ipynb") and trouble == "refused, its name points outside the folder"


def tarred(mode: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as tar:  # type: ignore[call-overload]
        info = tarfile.TarInfo(f"./hw/{FFN}.ipynb")
        info.size = len(CLASS[0].data)
        tar.addfile(info, io.BytesIO(CLASS[0].data))
    return data.getvalue()


def in_zips(count: int, data: bytes) -> bytes:
    """A notebook in a zip in a zip …"""
    name = f"{FFN}.ipynb"
    for _ in range(count):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as opened:
            opened.writestr(name, data)
        name, data = "inner.zip", packed.getvalue()
    return data


def by_powershell() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as opened:
        opened.writestr(f"hw\\{FFN}.ipynb", CLASS[0].data)
        opened.writestr("hw\\data\\a.csv", b"1,2")
    return data.getvalue()


def a_whole_project() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as opened:
        for number in range(3_000):
            opened.writestr(f"hw/.venv/lib/python/package/module_{number}.py", b"")
        opened.writestr(f"hw/{FFN}.ipynb", CLASS[0].data)
    return data.getvalue()


SHOWN = json.loads(CLASS[0].data)
for cell in SHOWN["cells"]:
    if cell["cell_type"] == "code":
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "0.123\n" * 100_000}]
READABLE: dict[str, Callable[[], bytes]] = {
    f"{FFN}.txt": lambda: CLASS[0].data,
    f"{FFN}.ipynb.txt": lambda: CLASS[0].data,
    f"{FFN}.ipynb.json": lambda: CLASS[0].data,
    "notebook": lambda: b"\xef\xbb\xbf  " + CLASS[0].data,
    "homework.json": lambda: CLASS[0].data,
    f"{FFN}.ipynb.gz": lambda: gzip.compress(CLASS[0].data),
    "hw.tar.gz": lambda: tarred("w:gz"),
    "hw.tgz": lambda: tarred("w:gz"),
    "hw.tar": lambda: tarred("w"),
    "hw.tar.xz": lambda: tarred("w:xz"),
    "hw.zip": lambda: in_zips(2, CLASS[0].data),
    "deep.zip": lambda: in_zips(3, CLASS[0].data),
    "powershell.zip": by_powershell,
    "project.zip": a_whole_project,
    "shown.ipynb": lambda: json.dumps(SHOWN, indent=1).encode(),
}


@pytest.mark.parametrize("name", READABLE)
def test_whatever_can_be_read_as_the_notebook_counts(name: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", {moodle_name(CLASS[0], name): READABLE[name]()})
    report = collect(class_folder, archive, worksheet(tmp_path / "b.csv", CLASS))
    assert not report.needs_somebody
    assert "put into submitted/" in " ".join(row.what for row in report.rows)
    assert (class_folder.submitted / CLASS[0].sis / FFN / f"{FFN}.ipynb").is_file()


def test_a_notebook_without_a_cell_of_ours_can_be_made_to_count(class_folder: ClassFolder, tmp_path: Path) -> None:
    data = json.dumps({"cells": [{"cell_type": "code", "source": "x = 1", "metadata": {}}]}).encode()
    name = moodle_name(CLASS[0], "mine.txt")
    archive = export(tmp_path / "a.zip", {name: data, **{moodle_name(student): student.data for student in CLASS[1:]}})
    report = collect(class_folder, archive, worksheet(tmp_path / "b.csv", CLASS))
    assert asked(report) == {name: "not a notebook of this course"}
    enter_decisions(class_folder, **{"mine.txt": f"assignment {FFN}"})
    assert not collect(class_folder, archive).needs_somebody
    assert (class_folder.submitted / CLASS[0].sis / FFN / f"{FFN}.ipynb").read_bytes() == data


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.ipynb", bytes(65 * 2**20), "refused, too large: 65 MiB, at most 64"),
        ("a.zip", in_zips(5, b"{}"), "was not opened: of a submission at most 20 packed files are, 3 deep"),
        ("a.zip", b"PK\3\4 broken", "it is not a zip, or its end is missing"),
        ("a.rar", b"Rar!", "no notebook that can be opened here: a.rar"),
    ],
)
def test_whose_file_can_not_be_read_has_handed_in_all_the_same(
    name: str, data: bytes, why: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    files = {moodle_name(CLASS[0], name): data, **{moodle_name(student): student.data for student in CLASS[1:]}}
    report = collect(class_folder, export(tmp_path / "a.zip", files), worksheet(tmp_path / "b.csv", CLASS))
    assert any(why in trouble for trouble in asked(report).values())
    assert [listed.students for listed in report.missing] == [()]
    assert CLASS[0].sis in not_handed_in.submitters(class_folder, FFN)


def test_one_students_zip_is_opened_once_and_costs_a_person_one_line(
    class_folder: ClassFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = zipped(tmp_path / "inner.zip", {f"n{i}.ipynb": notebook(f"n{i}") for i in range(60)})
    files = {moodle_name(CLASS[0], "hw.zip"): inner.read_bytes(), moodle_name(CLASS[1]): CLASS[1].data}
    archive = export(tmp_path / "a.zip", files)
    list_of = worksheet(tmp_path / "b.csv", CLASS)
    entry_names: list[str] = []
    open_packed = archive_of.open_packed

    def open_entry(entry: archive_of.ArchiveEntry) -> archive_of.Archive:
        entry_names.append(entry.name)
        return open_packed(entry)

    monkeypatch.setattr(archive_of, "open_packed", open_entry)
    report = collect(class_folder, archive, list_of)
    ((file, trouble),) = asked(report).items()
    assert len(entry_names) == 1 and handed_in_by(class_folder) == {1: CLASS[1].sis}
    assert file.endswith("hw.zip/n0.ipynb") and "one of 20 notebooks" in trouble and "20 more of its files" in trouble
    rows = list(csv.reader(io.StringIO((class_folder.path / "collected" / FILE).read_text(encoding="utf-8-sig"))))
    rows[1][COLUMNS.index("file")] = file.replace("n0", "n42")
    rows[1][COLUMNS.index("assignment")] = FFN
    sheet(class_folder.path / "collected" / FILE, rows)
    collect(class_folder, archive)
    assert len(entry_names) == 2
    assert b"n42" in (class_folder.submitted / CLASS[0].sis / FFN / f"{FFN}.ipynb").read_bytes()


def test_many_notebooks_outside_of_a_zip_cost_no_more(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {moodle_name(CLASS[0], f"n{i:02}.ipynb"): notebook(f"n{i}") for i in range(40)}
    files |= {moodle_name(student): student.data for student in CLASS[1:]}
    archive = export(tmp_path / "a.zip", files)
    list_of = worksheet(tmp_path / "b.csv", CLASS)
    report = collect(class_folder, archive, list_of)
    ((file, trouble),) = asked(report).items()
    assert file.endswith("n00.ipynb") and "one of 20 notebooks" in trouble and "39 more of its files" in trouble
    enter_decisions(class_folder, n00=f"file {moodle_name(CLASS[0], 'n33.ipynb')}")
    path = class_folder.path / manifest.FOLDER / FILE
    path.write_text(path.read_text(encoding="utf-8").replace(f";{FFN};;;", f";{FFN};;{FFN};"), encoding="utf-8")
    assert collect(class_folder, archive).new == 1
    assert b"n33" in (class_folder.submitted / CLASS[0].sis / FFN / f"{FFN}.ipynb").read_bytes()


def test_names_in_a_students_zip_take_no_memory(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"a/" * 2_000 + f"{i}.ipynb": b"{}" for i in range(200)})
    tracemalloc.start()
    archive = archive_of.open_packed(archive_of.ArchiveEntry("x.zip", 0, inner.read_bytes))
    assert len(archive.entries) == 200 and tracemalloc.get_traced_memory()[1] < 30 * 2**20
    tracemalloc.stop()
    inner = zipped(tmp_path / "inner.zip", {"a/" * 30_000: b"{}"})
    archive = archive_of.open_packed(archive_of.ArchiveEntry("x.zip", 0, inner.read_bytes))
    assert [entry.trouble for entry in archive.entries] == ["its name is too long"]


def test_an_untouched_notebook_is_no_matter_for_a_person(class_folder: ClassFolder, tmp_path: Path) -> None:
    course = {f"{FFN}.ipynb": CLASS[0].data, f"{NEXT}.ipynb": notebook("", NEXT), f"old/{FFN}.ipynb": notebook()}
    inner = zipped(tmp_path / "inner.zip", course)
    files = {moodle_name(CLASS[0], "course.zip"): inner.read_bytes(), moodle_name(CLASS[1]): CLASS[1].data}
    report = collect(class_folder, export(tmp_path / "a.zip", files), worksheet(tmp_path / "b.csv", CLASS))
    assert handed_in_by(class_folder) == {0: CLASS[0].sis, 1: CLASS[1].sis} and not report.needs_somebody
    assert any(row.what.startswith(f"{NEXT} as handed out, untouched") for row in report.rows)
    inner = zipped(tmp_path / "inner.zip", course | {f"{NEXT}.ipynb": notebook("mine", NEXT)})
    files[moodle_name(CLASS[0], "course.zip")] = inner.read_bytes()
    report = collect(class_folder, export(tmp_path / "a.zip", files), assignment=FFN)
    assert list(asked(report).values()) == [f"this is {NEXT}, but it was handed in as {FFN}"]


def test_what_an_export_is_of_is_asked_where_its_notebooks_do_not_agree(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    files = {canvas_name(CLASS[0]): notebook("", FFN), canvas_name(CLASS[1]): notebook("", NEXT)}
    archive = export(tmp_path / "a.zip", files)
    with pytest.raises(UserError, match="say with --assignment which one was exported"):
        collect(class_folder, archive)
    assert asked(collect(class_folder, archive, assignment=NEXT, dry_run=True)) == {
        canvas_name(CLASS[0]): f"this is {FFN}, but it was handed in as {NEXT}"
    }


# The class's folder


def test_a_dry_run_writes_nothing_and_says_the_same(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS) | {"notes.txt": b""})
    list_of = canvas_gradebook(tmp_path / "b.csv", CLASS[:3])
    dry = collect(class_folder, archive, list_of, dry_run=True)
    assert not class_folder.path.exists()
    wet = collect(class_folder, archive, list_of)
    assert (dry.rows, dry.pending_decisions, dry.doubts, dry.new) == (
        wet.rows,
        wet.pending_decisions,
        wet.doubts,
        wet.new,
    )


def test_samples_are_never_collected_into(tmp_path: Path) -> None:
    before = sorted((ROOT / "grading").rglob("*"))
    with pytest.raises(UserError, match="made-up students"):
        collect(ClassFolder(ROOT / "grading" / "sample"), export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS)))
    assert sorted((ROOT / "grading").rglob("*")) == before


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_what_is_collected_is_for_its_owner_alone(umask: int, class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    old = os.umask(umask)
    try:
        collect(class_folder, archive)
    finally:
        os.umask(old)
    assert [path for path in class_folder.path.rglob("*") if path.stat().st_mode & 0o077] == []


class Interrupted(BaseException):
    """Power is gone, or Ctrl-C."""


def interrupt_after(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """The so-manieth file is not put in its place any more, nor is any later one."""
    real, count = Path.replace, iter(range(after))

    def fails(draft: Path, place: Path) -> Path:
        if next(count, None) is None:
            raise Interrupted
        return real(draft, place)

    monkeypatch.setattr(Path, "replace", fails)


NAMELESS = re.compile(rb'"(collected|secret)": "[^"]*"')


def stable_content(class_folder: ClassFolder) -> dict[str, bytes]:
    """All that a class holds, but secrets and when it was written."""
    return {name: NAMELESS.sub(b"", data) for name, data in content(class_folder, ("submission_secret.txt",)).items()}


@pytest.mark.parametrize("after", range(12))
def test_whatever_breaks_it_off_the_same_command_goes_on(
    after: int, class_folder: ClassFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_of = worksheet(tmp_path / "list.csv", CLASS)
    first = export(tmp_path / "a.zip", {moodle_name(student): notebook("first") for student in CLASS[:2]})
    second = export(
        tmp_path / "b.zip", {moodle_name(student): student.data for student in CLASS[:3]} | {"notes.txt": b""}
    )
    whole = ClassFolder(tmp_path / "whole")
    for folder in (class_folder, whole):
        collect(folder, first, list_of)
        (folder.submitted / CLASS[1].sis / FFN / f"{FFN}.ipynb").write_bytes(b"by hand")
    collect(whole, second)
    with monkeypatch.context() as patched:
        interrupt_after(patched, after)
        try:
            collect(class_folder, second)
        except Interrupted:
            pass
        else:
            pytest.fail("it was not broken off")
    collect(class_folder, second)
    assert stable_content(class_folder) == stable_content(whole)
    assert Manifest.load(class_folder, FFN).placing == {}


def test_names_and_ids_are_in_nbgraders_gradebook(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    for _ in range(2):
        collect(class_folder, archive, canvas_gradebook(tmp_path / "b.csv", CLASS))
    with Gradebook(class_folder.db_url) as book:
        students = {
            student.id: (student.first_name, student.last_name, student.lms_user_id) for student in book.students
        }
    assert students == {student.sis: (student.first, student.last, student.canvas) for student in CLASS}


def test_a_thousand_notebooks_are_collected_in_time(class_folder: ClassFolder, tmp_path: Path) -> None:
    blank = notebook()
    files = {f"do{i}_{20_000 + i}_{i}_{FFN}.ipynb": blank + b" " * i for i in range(1_000)}
    archive = export(tmp_path / "a.zip", files)
    start = time.process_time()
    report = collect(class_folder, archive)
    assert report.placed_count == 1_000 and time.process_time() - start < 20
    start = time.process_time()
    assert collect(class_folder, archive).known_count == 1_000 and time.process_time() - start < 20


# Whatever comes

FILES = st.sampled_from(
    [b"", b"{}", b"[]", b'{"cells": 5}', b"PK\3\4", b"\xff", BROKEN, CLASS[0].data, notebook("", NEXT)]
)
ODD_NAME = st.sampled_from(
    [FFN + ".ipynb", "a.ipynb", "b.ipynb", "a.zip", "a.html", "é (1).ipynb", "x/y.ipynb", "=1+1.ipynb", ".ipynb"]
)
MAKERS: tuple[Callable[[Any, str], str], ...] = (
    moodle_name,
    canvas_name,
    lambda student, file: f"{d2l_folder(student)}/{file}",
    lambda student, file: f"{d2l_folder(student)} - {file}",
    blackboard_name,
    lambda student, file: f"{exchange_folder(student)}/{file}",
    lambda student, file: f"submission_{student.submission}/{file}",
    lambda student, file: file,
)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(CLASS), st.sampled_from(MAKERS), ODD_NAME, FILES), max_size=5), st.booleans())
def test_whatever_is_in_an_export_it_ends_in_a_table_and_lines(
    tmp_path_factory: pytest.TempPathFactory, theirs: list[Any], with_list: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    files = {maker(student, file): data for student, maker, file, data in theirs}
    files["submission_metadata.yml"] = gradescope_metadata({student.submission: [student] for student in CLASS[:3]})
    archive = export(folder / "a.zip", files)
    class_folder = ClassFolder(folder / "class")
    lists = [worksheet(folder / "w.csv", CLASS)] if with_list else []
    try:
        for _ in range(2):
            report = collect(class_folder, archive, *lists)
            lines = [row.what for row in report.rows] + report.doubts + report.notes
            assert all("\n" not in line and line for line in lines)
        assert report.new == report.placed_count == 0
    except UserError as error:
        assert "\n" not in str(error)
        return
    file_names = {row.file for row in report.rows} | {decision.file for decision in report.pending_decisions}
    unread = len(report.doubts)
    # By name: of two alike one is there.
    owners = {maker(student, file): (student.i, maker) for student, maker, file, _ in theirs}
    assert len(file_names) + unread >= len(set(owners.values())) or not theirs


# The command


def test_the_command_shows_a_table_and_its_status_tells_whether_somebody_is_needed(tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    list_of = canvas_gradebook(tmp_path / "b.csv", CLASS[:4])
    folder = tmp_path / "class"
    folder.mkdir()
    dry = run("collect", archive, "--roster", list_of, "--grading", folder, "--dry-run", expect=2)
    assert "Canvas" in dry[0] and "would happen" in dry[0] and list(folder.iterdir()) == []
    wet = run("collect", archive, "--roster", list_of, "--grading", folder, expect=2)
    assert "4 new attempts, 4 put into submitted/" in wet[0] and "settle.csv" in wet[0]
    with class_lock(ClassFolder(folder)):
        busy = run("collect", archive, "--grading", folder, expect=2)
    assert "is in use by process" in busy[1] and busy[1].count("\n") == 1
    full = run(
        "collect", archive, "--roster", canvas_gradebook(tmp_path / "b.csv", CLASS), "--grading", folder, expect=0
    )
    assert "1 new attempt, 1 put into submitted/, 4 already here." in full[0]


@pytest.mark.parametrize(
    "words",
    [
        ("collect", "nowhere.zip"),
        ("collect", "README.md"),
        ("collect", "solutions"),
        ("collect", "README.md", "--timezone", "Mars/Olympus"),
        ("collect", "README.md", "--assignment", "11_nothing"),
        ("give-back", "moodle", "11_nothing"),
        ("give-back", "skype", FFN),
        ("give-back", "moodle", FFN, "--grading", "nowhere"),
    ],
)
def test_what_somebody_can_mend_is_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    more = () if "--grading" in words else ("--grading", str(tmp_path))
    done = run(*words, *more, expect=2)
    assert done[1].startswith("autograder: ") and done[1].count("\n") == 1, done[1]


@pytest.mark.parametrize(
    "damage",
    [
        ('"number": 1', '"number": null'),
        ('"number": 1', '"number": 1.5'),
        ('"number": 1', '"number": ' + "9" * 5_000),
        ('"attempt": 1', '"attempt": "1"'),
        ('"late": false', '"late": NaN'),
        ('"members": []', '"members": [1]'),
        ('"back": {', '"back": {"x": [], '),
        ('"placing": {}', '"placing": [[]]'),
        ('"format": 1', '"format": ' + "[" * 100_000),
        ('"file": ', '"fil": '),
    ],
    ids=lambda damage: damage[1][:20],
)
def test_a_manifest_with_a_bad_value_is_one_line(
    damage: tuple[str, str], class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    collect(class_folder, archive)
    path = class_folder.path / manifest.FOLDER / FFN / manifest.FILE
    text = path.read_text(encoding="utf-8")
    assert damage[0] in text
    path.write_text(text.replace(*damage), encoding="utf-8")
    with pytest.raises(UserError, match=r"can't be read .*: put back a copy") as raised:
        collect(class_folder, archive)
    assert "\n" not in str(raised.value)


def test_the_manifest_is_plain_json(class_folder: ClassFolder, tmp_path: Path) -> None:
    collect(class_folder, export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS)))
    data = json.loads((class_folder.path / "collected" / FFN / "manifest.json").read_text(encoding="utf-8"))
    assert data["format"] == 1 and {file["student"] for file in data["files"]} == {
        f"canvas-{student.canvas}" for student in CLASS
    }


# Who has not handed in, and who is late


def test_who_has_not_handed_in_is_the_first_line_below_the_table_as_addresses(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    people = worksheet(tmp_path / "w.csv", CLASS)
    files = {moodle_name(student): student.data for student in CLASS[:3]}
    files |= {moodle_name(CLASS[3], "notes.pdf"): b"%PDF"}  # something is there, so a person looks at it
    class_folder.path.mkdir()
    archive = export(tmp_path / "a.zip", files)
    out, _ = run("collect", archive, "--roster", people, "--grading", class_folder.path, expect=2)
    line = f"{FFN}: 4 of 5 students have handed in. Not yet: {CLASS[4].name} <{CLASS[4].email}>."
    assert line in out
    below = [text for text in out.splitlines() if text.strip()]
    assert below.index(line) < below.index(next(text for text in below if "new attempts" in text))
    (class_folder.path / "course.toml").write_text(f'[[groups]]\nstudents = ["{CLASS[2].sis}", "{CLASS[4].email}"]\n')
    assert collect(class_folder, archive, people).missing[0].students == ()


def test_before_an_assignment_is_due_nobody_is_missing_yet(class_folder: ClassFolder, tmp_path: Path) -> None:
    people = worksheet(tmp_path / "w.csv", CLASS)
    archive = export(tmp_path / "a.zip", {moodle_name(CLASS[0]): CLASS[0].data})
    class_folder.path.mkdir()
    for due, line in ((2099, "It is due on 2 Nov 2099, 23:59"), (2025, "Not yet: ")):
        text = f'time_zone = "Europe/Berlin"\n[assignments.{FFN}]\ndue = {due}-11-02\n'
        (class_folder.path / "course.toml").write_text(text, encoding="utf-8")
        (entry,) = collect(class_folder, archive, people).missing
        assert line in entry.line(20) and (CLASS[1].email in entry.line(20)) == (due == 2025), entry.line(20)


def test_a_name_with_a_comma_is_quoted_for_a_mail_program() -> None:
    student = Student("a", {"first_name": 'Ana "Nina"', "last_name": "Ruiz, Dr.", "email": "a@x.example"})
    assert not_handed_in.address(student) == "\"Ana 'Nina' Ruiz, Dr.\" <a@x.example>"
    assert (
        not_handed_in.address(Student("a", {"last_name": "Ruiz"})) == "Ruiz (a)"
        and not_handed_in.address(Student("a")) == "a"
    )


def test_whom_canvas_calls_late_is_named_and_asked_about_where_it_costs_something(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    files = {canvas_name(student, late=student.i == 1): student.data for student in CLASS}
    archive = export(tmp_path / "a.zip", files)
    gradebook = canvas_gradebook(tmp_path / "g.csv", CLASS)
    report = collect(class_folder, archive, gradebook)
    sentence = f"{FFN}: 1 student is flagged as late ({CLASS[1].name} ({CLASS[1].sis})), and the LMS exports no times"
    assert any(note.startswith(sentence) for note in report.notes) and not report.needs_somebody
    assert [(listed.expected, len(listed.students)) for listed in report.missing] == [(len(CLASS), 0)], (
        "without Canvas's test student"
    )
    rules = f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2026-11-19\n"
    (class_folder.path / "course.toml").write_text(rules)
    (doubt,) = collect(class_folder, archive, gradebook).doubts
    assert doubt.startswith(sentence)
    (class_folder.submitted / CLASS[1].sis / FFN / untrusted_files.TIMESTAMP).write_text("2026-11-21 18:30:00 UTC")
    assert collect(class_folder, archive, gradebook).doubts == []
