"""Collecting: which attempt counts, when it was handed in, and what nbgrader's exchange says of both."""

from __future__ import annotations

import csv
import io
import os
import pwd
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from collection import IDS, asked, collect, content, enter_decisions, export, inbound, without_gradebook
from exports import (
    CLASS,
    FFN,
    SYSTEMS,
    Somebody,
    at,
    blackboard_name,
    blackboard_sheet,
    canvas_gradebook,
    canvas_name,
    d2l_folder,
    d2l_grades,
    exchange_folder,
    gradescope_metadata,
    handed_in_by,
    moodle_name,
    notebook,
    sheet,
    worksheet,
)  # fmt: skip
from nbgrader.utils import parse_utc

from autograder import untrusted_files
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import Manifest
from autograder.class_folder.roster import Roster
from autograder.errors import UserError
from autograder.lms.sheets import Sheet


@pytest.fixture
def class_folder(tmp_path: Path) -> ClassFolder:
    return ClassFolder(tmp_path / "class")


@pytest.fixture(autouse=True)
def no_gradebook(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gradebook(monkeypatch)


# Attempts


def test_the_same_archive_again_changes_nothing(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS) | {canvas_name(CLASS[0], "b.html"): b"<p>"})
    collect(class_folder, archive, canvas_gradebook(tmp_path / "list.csv", CLASS))
    old = content(class_folder)
    report = collect(class_folder, archive, canvas_gradebook(tmp_path / "list.csv", CLASS))
    assert content(class_folder) == old and (report.new, report.known_count, report.placed_count) == (0, len(CLASS), 0)


def test_a_newer_export_adds_attempts_and_keeps_the_earlier_ones(class_folder: ClassFolder, tmp_path: Path) -> None:
    list_of = worksheet(tmp_path / "list.csv", CLASS)
    collect(
        class_folder,
        export(tmp_path / "a.zip", {moodle_name(student): notebook("first") for student in CLASS}),
        list_of,
    )
    files = {moodle_name(student): student.data if student.i < 2 else notebook("first") for student in CLASS}
    report = collect(class_folder, export(tmp_path / "b.zip", files))
    assert (report.new, report.known_count) == (2, 3)
    for student in CLASS[:2]:
        attempt_paths = sorted((class_folder.path / "collected" / FFN / "files" / student.sis).iterdir())
        assert [path.read_bytes() for path in attempt_paths] == [notebook("first"), student.data]
        assert (class_folder.submitted / student.sis / FFN / f"{FFN}.ipynb").read_bytes() == student.data
    report = collect(class_folder, tmp_path / "a.zip")
    assert report.new == 0 and "attempt 2 counts" in report.rows[0].what


def test_the_latest_attempt_by_its_time_counts_whatever_the_order(class_folder: ClassFolder, tmp_path: Path) -> None:
    whens = ["2026-09-12-09-00-00", "2026-09-13-10-00-00", "2026-09-11-08-00-00"]
    files = {
        blackboard_name(CLASS[0], when=when): notebook(f"the answer of number {i}") for i, when in enumerate(whens)
    }
    (late, *others) = sorted(files, key=lambda name: "09-13" not in name)
    collect(class_folder, export(tmp_path / "b.zip", {late: files[late]}), zone=ZoneInfo("UTC"))
    report = collect(
        class_folder, export(tmp_path / "a.zip", {name: files[name] for name in others}), zone=ZoneInfo("UTC")
    )
    assert handed_in_by(class_folder) == {1: CLASS[0].username}
    assert {row.what for row in report.rows} == {"new, kept; a later one counts"} or "later one counts" in report.rows[
        0
    ].what
    text = (class_folder.submitted / CLASS[0].username / FFN / "timestamp.txt").read_text(encoding="utf-8")
    assert text == "2026-09-13 10:00:00.000000 UTC" and parse_utc(text) == at("2026-09-13 10:00:00").replace(
        tzinfo=None
    )
    assert len(list((class_folder.path / "collected" / FFN / "files" / CLASS[0].username).iterdir())) == 3


def test_where_not_all_say_when_somebody_says_which_is_the_latest(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {
        f"{d2l_folder(CLASS[0], 'Foo 1, 2025 100 PM')}/x.ipynb": CLASS[0].data,
        f"{d2l_folder(CLASS[0])}/x.ipynb": CLASS[1].data,
    }
    archive = export(tmp_path / "a.zip", files)
    report = collect(class_folder, archive)
    assert len(report.pending_decisions) == 2 and not class_folder.submitted.exists()
    enter_decisions(class_folder, Foo=f"assignment {FFN}", May="leave x")
    assert not collect(class_folder, archive).needs_somebody and set(handed_in_by(class_folder)) == {0}


# What other languages and spreadsheet programs make of an export


@pytest.mark.parametrize("bad_id", ["1.23457E+11", "N/A", "0"])
def test_two_rows_of_a_list_are_never_one_student(bad_id: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    list_path = worksheet(tmp_path / "w.csv", CLASS)
    text = list_path.read_text(encoding="utf-8-sig")
    for student in CLASS:
        text = text.replace(f",{student.sis},", f",{bad_id},")
    list_path.write_text(text, encoding="utf-8-sig")
    report = collect(
        class_folder, export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS}), list_path
    )
    assert (
        handed_in_by(class_folder) == {student.i: student.email for student in CLASS} and not report.pending_decisions
    )
    assert len(report.doubts) == (bad_id != "N/A") and all(
        bad_id in line and "it is nobody's" in line for line in report.doubts
    )


def test_a_student_who_is_on_a_list_twice_is_one_student(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    report = collect(class_folder, archive, canvas_gradebook(tmp_path / "g.csv", [*CLASS, CLASS[0]]))
    assert handed_in_by(class_folder) == IDS and not report.needs_somebody


@pytest.mark.parametrize("when", ["18 juin 2026 1224", "marraskuuta 18, 2026 1224 PM", "Mai 18, 2026 1324 PM"])
def test_a_time_in_another_language_is_said(when: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {f"{d2l_folder(student, when)}/{FFN}.ipynb": student.data for student in CLASS}
    report = collect(class_folder, export(tmp_path / "a.zip", files))
    assert len(handed_in_by(class_folder)) == len(CLASS)
    (note,) = [note for note in report.notes if f"5 times can't be read (its time, {when}, can't be read)" in note]
    assert "set Brightspace to English and download it again" in note and not report.needs_somebody
    rules = f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2026-11-19\n"
    (class_folder.path / "course.toml").write_text(rules)
    assert note in collect(class_folder, export(tmp_path / "a.zip", files)).doubts


# When: Moodle says it on the worksheet alone


def test_a_groups_name_before_a_students_does_not_hide_the_time(class_folder: ClassFolder, tmp_path: Path) -> None:
    files = {f"Group A-{moodle_name(student)}": student.data for student in CLASS}
    report = collect(class_folder, export(tmp_path / "a.zip", files), worksheet(tmp_path / "w.csv", CLASS))
    assert handed_in_by(class_folder) == IDS and all(row.handed_in_at for row in report.rows)


def test_students_without_any_id_are_said_and_blank_rows_are_nobody(class_folder: ClassFolder, tmp_path: Path) -> None:
    list_path = worksheet(tmp_path / "w.csv", CLASS)
    rows = list(csv.reader(io.StringIO(list_path.read_text(encoding="utf-8-sig"))))
    sheet(list_path, [*([*row[:2], *row[4:]] for row in rows), [""] * 9], delimiter=";", lineterminator="\r\n")
    report = collect(
        class_folder, export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS}), list_path
    )
    assert set(handed_in_by(class_folder).values()) == {f"moodle-{student.participant}" for student in CLASS}
    assert any(note.startswith("5 students have no ID number, login or address") for note in report.notes)
    assert not report.needs_somebody and len(Roster.load(class_folder).students) == len(CLASS)


@pytest.mark.parametrize(
    ("german", "text"),
    [
        (False, "Wednesday, 13 March 2024, 10:15 PM"),
        (False, "Wednesday, 13 March 2024, 22:15"),
        (True, "Mittwoch, 13. März 2024, 22:15"),
    ],
)
def test_moodles_times_are_the_worksheets(german: bool, text: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    list_path = worksheet(tmp_path / "list.csv", CLASS, german)
    usual = "Mittwoch, 13. März 2024, 10:15" if german else "Wednesday, 13 March 2024, 10:15 AM"
    list_path.write_bytes(list_path.read_bytes().replace(usual.encode(), text.encode(), 1))
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS})
    report = collect(class_folder, archive, list_path, zone=ZoneInfo("Europe/Berlin"))
    assert {row.student: row.handed_in_at for row in report.rows} == {
        student.sis: "2024-03-13 10:15" if student.i else "2024-03-13 22:15" for student in CLASS
    }
    assert "its times come from the worksheet, read as times of Europe/Berlin" in report.notes
    timestamp = (class_folder.submitted / CLASS[0].sis / FFN / "timestamp.txt").read_text(encoding="utf-8")
    assert timestamp == "2024-03-13 21:15:00.000000 UTC"


FRENCH = {
    "Identifier": "Identifiant", "Full name": "Nom complet", "ID number": "Numéro d'identification", "Email address": "Adresse de courriel",
    "Status": "Statut", "Maximum Grade": "Note maximale", "Grade can be changed": "La note peut être modifiée", "Grade": "Note",
    "Last modified (submission)": "Dernière modification (travail remis)", "Last modified (grade)": "Dernière modification (note)",
    "Feedback comments": "Feedback par commentaires", "Wednesday, 13 March 2024, 10:15 AM": "mercredi 13 mars 2024, 10:15",
}  # fmt: skip


@pytest.mark.parametrize("as_saved", ["as Moodle wrote it", "by Excel, with ;", "by Excel, as UTF-16"])
def test_a_worksheet_in_another_language_is_known_by_its_shape_and_its_times_are_missed(
    as_saved: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    list_path = worksheet(tmp_path / "w.csv", CLASS)
    rows = list(csv.reader(io.StringIO(list_path.read_text(encoding="utf-8-sig"))))
    if as_saved != "as Moodle wrote it":
        sheet(list_path, rows, delimiter="\t" if "16" in as_saved else ";", lineterminator="\r\n")
    text = list_path.read_text(encoding="utf-8-sig")
    for english, french in FRENCH.items():
        text = text.replace(english, french)
    list_path.write_text(text, encoding="utf-16" if "16" in as_saved else "utf-8-sig", newline="")
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS})
    report = collect(class_folder, archive, list_path)
    assert handed_in_by(class_folder) == {student.i: student.email for student in CLASS} and not report.needs_somebody
    (note,) = [note for note in report.notes if "its times can't be read" in note]
    assert "set Moodle to English and download it again" in note
    (class_folder.path / "course.toml").write_text(
        f"time_zone = 'UTC'\nlate = {{ percent_a_day = 10 }}\nassignments.{FFN}.due = 2026-11-19\n"
    )
    assert note in collect(class_folder, archive, list_path).doubts


def test_a_list_that_is_not_known_says_what_to_do_and_no_shape_is_guessed(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS})
    people = [
        ["Prénom", "Nom", "Adresse de courriel"],
        *([student.first, student.last, student.email] for student in CLASS),
    ]
    groups = [
        ["Identifiant", "Nom", "x", "y", "z", "a", "b", "c", "d"],
        *([f"Groupe {student.i}", student.name, *"1234567"] for student in CLASS),
    ]
    for rows in (people, groups):
        with pytest.raises(UserError, match=r"in another language, set the LMS to English and download it again"):
            collect(class_folder, archive, sheet(tmp_path / "w.csv", rows))


@pytest.mark.parametrize(
    "text", ["-", "", "mercredi 13 mars 2024, 10:15", "Wednesday, 99 March 2024, 10:15 AM", "x, 1 Mai"]
)
def test_a_time_that_can_not_be_read_is_not_none_and_neither_is_on_time(
    text: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    list_path = worksheet(tmp_path / "list.csv", CLASS)
    list_path.write_bytes(list_path.read_bytes().replace(b"Wednesday, 13 March 2024, 10:15 AM", text.encode(), 1))
    report = collect(
        class_folder, export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS}), list_path
    )
    there_is_one = text not in ("-", "")
    assert {row.handed_in_at for row in report.rows if row.student == CLASS[0].sis} == {
        "unreadable" if there_is_one else "none"
    }
    assert not {row.student for row in report.rows if row.handed_in_at in ("none", "unreadable")} - {CLASS[0].sis}
    assert not (class_folder.submitted / CLASS[0].sis / FFN / "timestamp.txt").exists()
    assert any(f"its time, {text}, can't be read" in note for note in report.notes) == there_is_one
    record = Manifest.load(class_folder, FFN).latest(CLASS[0].sis)
    assert record and (record.handed_in_at, record.unread_time) == ("", text if there_is_one else "")


@pytest.mark.parametrize(
    "text",
    [
        "Wednesday, March 13, 2024, 10:15 AM",
        "Wednesday, March 13, 2024, 10:15 am",
        "Wednesday, 13 March 2024, 10:15\u202fAM",
        "13 March 2024, 10:15 a.m.",
        "Mittwoch, 13. März 2024, 10:15",
        "13. MÄRZ 2024 10:15",
    ],
)
def test_a_worksheet_s_times_are_read_in_either_order(text: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    list_path = worksheet(tmp_path / "list.csv", CLASS)
    list_path.write_bytes(list_path.read_bytes().replace(b"Wednesday, 13 March 2024, 10:15 AM", text.encode()))
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS})
    report = collect(class_folder, archive, list_path, zone=ZoneInfo("UTC"))
    assert {row.handed_in_at for row in report.rows} == {"2024-03-13 10:15"}
    assert not report.needs_somebody


def test_without_a_worksheet_moodles_times_are_missed_and_can_come_later(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", {moodle_name(CLASS[0]): CLASS[0].data})
    participants = sheet(
        tmp_path / "people.csv",
        [
            ["First name", "Last name", "ID number", "Email address"],
            *([w.first, w.last, w.sis, w.email] for w in CLASS),
        ],
    )
    report = collect(class_folder, archive, participants)
    assert "Moodle exports no times: they are on the grading worksheet, so give that with --roster" in report.notes
    enter_decisions(class_folder, **{CLASS[0].participant: f"student {CLASS[0].sis}"})
    collect(class_folder, archive)
    timestamp_path = class_folder.submitted / CLASS[0].sis / FFN / "timestamp.txt"
    assert not timestamp_path.exists()
    report = collect(class_folder, archive, worksheet(tmp_path / "list.csv", CLASS), zone=ZoneInfo("UTC"))
    assert (report.new, report.known_count) == (0, 1)
    assert timestamp_path.read_text(encoding="utf-8") == "2024-03-13 10:15:00.000000 UTC"


def test_a_teams_number_has_no_participants_time(class_folder: ClassFolder, tmp_path: Path) -> None:
    name = f"The team_{CLASS[0].participant}_assignsubmission_file/{FFN}.ipynb"
    report = collect(
        class_folder,
        export(tmp_path / "a.zip", {name: CLASS[0].data}),
        worksheet(tmp_path / "list.csv", CLASS),
        dry_run=True,
    )
    assert [row.handed_in_at for row in report.rows] == ["none"]


def test_what_somebody_put_into_submitted_is_kept_and_only_a_newer_attempt_takes_its_place(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    list_of = worksheet(tmp_path / "list.csv", CLASS)
    list_of.write_bytes(list_of.read_bytes().replace(b"Wednesday, 13 March 2024, 10:15 AM", b"-"))
    archive = export(tmp_path / "a.zip", {moodle_name(student): notebook("first") for student in CLASS[:2]})
    path = class_folder.submitted / CLASS[0].sis / FFN / f"{FFN}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"by hand, before anything was collected")
    (path.parent / "timestamp.txt").write_text("2026-10-01 10:00:00 UTC", encoding="utf-8")
    report = collect(class_folder, archive, list_of)
    assert "what was put there by hand is kept as attempt 1" in report.rows[0].what
    assert path.read_bytes() == notebook("first") and not (path.parent / "timestamp.txt").exists()
    path.write_bytes(b"mended by hand")
    assert collect(class_folder, archive).placed_count == 0 and path.read_bytes() == b"mended by hand"
    report = collect(class_folder, export(tmp_path / "b.zip", {moodle_name(CLASS[0]): CLASS[0].data}))
    assert path.read_bytes() == CLASS[0].data
    attempt_paths = sorted((class_folder.path / "collected" / FFN / "files" / CLASS[0].sis).iterdir())
    assert [attempt_path.read_bytes() for attempt_path in attempt_paths] == [
        b"by hand, before anything was collected",
        notebook("first"),
        b"mended by hand",
        CLASS[0].data,
    ]


def test_a_link_in_submitted_is_not_written_through(class_folder: ClassFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    class_folder.submitted.mkdir(parents=True)
    (class_folder.submitted / CLASS[0].sis).symlink_to(tmp_path / "elsewhere")
    report = collect(
        class_folder, export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS)), canvas_gradebook(tmp_path / "b.csv", CLASS)
    )
    assert (
        list((tmp_path / "elsewhere").iterdir()) == [] and "is a link" in report.doubts[0] and report.placed_count == 4
    )


def test_all_that_the_way_back_needs_is_noted(class_folder: ClassFolder, tmp_path: Path) -> None:
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    collect(class_folder, archive)
    for student in CLASS:
        record = Manifest.load(class_folder, FFN).latest(f"canvas-{student.canvas}")
        assert (
            record
            and record.entry == canvas_name(student, late=student.i % 2 == 1)
            and record.late == (student.i % 2 == 1)
        )
        assert (
            record.back["attachment"] == student.attachment
            and record.archive == "a.zip"
            and len(record.archive_sha256) == 64
        )
    path = class_folder.path / "collected" / FFN / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    with pytest.raises(UserError, match=r"manifest\.json can't be read"):
        collect(class_folder, archive)


def test_the_same_hand_in_exported_in_another_form_is_no_new_attempt(class_folder: ClassFolder, tmp_path: Path) -> None:
    collect(class_folder, export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS)))
    late = {canvas_name(student, late=True): student.data for student in CLASS}
    report = collect(class_folder, export(tmp_path / "b.zip", late))
    assert (report.new, report.known_count) == (0, len(CLASS)), "the due date was moved"
    other = ClassFolder(tmp_path / "other")
    list_of = worksheet(tmp_path / "list.csv", CLASS)
    collect(other, export(tmp_path / "c.zip", SYSTEMS[0].files(CLASS)), list_of)
    flat = {moodle_name(student, folders=False): student.data for student in CLASS}
    assert collect(other, export(tmp_path / "d.zip", flat)).new == 0
    third = ClassFolder(tmp_path / "third")
    for day in ("Dec 5, 2026 1009 PM", "Dec 6, 2026 909 AM"):
        files = {f"Lab 5 Download {day}/{name}": data for name, data in SYSTEMS[2].files(CLASS).items()}
        report = collect(third, export(tmp_path / "e.zip", files))
    assert (report.new, report.known_count) == (0, len(CLASS)), "the outer folder has the day of the download in it"


# The exchange


def test_the_exchange_keeps_time_and_secret_of_the_latest(class_folder: ClassFolder, tmp_path: Path) -> None:
    inbound(tmp_path / "inbound", CLASS[0], "2026-10-02 10:00:00.000000 UTC", CLASS[0].data, "a" * 128)
    inbound(tmp_path / "inbound", CLASS[0], "2026-10-01 10:00:00.000000 UTC", notebook("first"), "b" * 128)
    report = collect(class_folder, tmp_path / "inbound")
    folder = class_folder.submitted / CLASS[0].username / FFN
    assert handed_in_by(class_folder) == {0: CLASS[0].username} and report.new == 2
    assert (folder / "submission_secret.txt").read_text(encoding="utf-8") == "a" * 128
    assert parse_utc((folder / "timestamp.txt").read_text(encoding="utf-8")) == at("2026-10-02 10:00:00").replace(
        tzinfo=None
    )


def test_the_exchange_names_the_assignment_by_a_token(class_folder: ClassFolder, tmp_path: Path) -> None:
    inbound(tmp_path / "inbound", CLASS[0], "2026-10-02 10:00:00.000000 UTC", CLASS[0].data, "a")
    place = tmp_path / "inbound" / exchange_folder(CLASS[1], assignment="ps1")
    place.mkdir()
    (place / "ps1.ipynb").write_bytes(CLASS[1].data)
    report = collect(class_folder, tmp_path / "inbound")
    assert "handed in as ps1, but there is no such assignment" in report.pending_decisions[0].trouble
    assert handed_in_by(class_folder) == {0: CLASS[0].username}


def test_a_folder_of_the_exchange_without_a_notebook_is_named(class_folder: ClassFolder, tmp_path: Path) -> None:
    inbound(tmp_path / "inbound", CLASS[0], "2026-10-02 10:00:00.000000 UTC", CLASS[0].data, "a")
    inbound(tmp_path / "inbound", CLASS[1], "2026-10-02 10:00:00.000000 UTC", CLASS[1].data, "b")
    (notebook_path,) = (tmp_path / "inbound").glob(f"{CLASS[1].username}*/{FFN}.ipynb")
    notebook_path.unlink()
    (notebook_path.parent / "timestamp.txt").unlink()
    report = collect(class_folder, tmp_path / "inbound")
    assert handed_in_by(class_folder) == {0: CLASS[0].username}
    (decision,) = report.pending_decisions
    assert decision.submitter == CLASS[1].username and "empty folder" in decision.trouble


ROOT_ALONE = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another account")
NOBODY = pwd.getpwnam("nobody")


def make_inbound_folder(folder: Path, name: str, by: int, files: dict[str, bytes]) -> None:
    """A folder in inbound/ as an account has made it."""
    place = folder / name
    place.mkdir(parents=True)
    for file, data in files.items():
        (place / file).write_bytes(data)
    for path in (*place.iterdir(), place):
        os.chown(path, by, by)


@ROOT_ALONE
@pytest.mark.parametrize("forgery", ["folder", "file", "unknown account"])
def test_nobody_hands_in_as_somebody_else_in_the_exchange(
    forgery: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    honest_name = f"nobody+{FFN}+2026-10-01 10:00:00.000000 UTC+x"
    make_inbound_folder(tmp_path / "inbound", honest_name, NOBODY.pw_uid, {f"{FFN}.ipynb": CLASS[0].data})
    forged_name = f"nobody+{FFN}+2026-10-02 10:00:00.000000 UTC+y"
    make_inbound_folder(
        tmp_path / "inbound", forged_name, 61002 if forgery == "unknown account" else 1, {f"{FFN}.ipynb": CLASS[1].data, "submission_secret.txt": b"m" * 128}
    )  # fmt: skip
    if forgery == "file":
        os.chown(tmp_path / "inbound" / forged_name, NOBODY.pw_uid, NOBODY.pw_uid)
    report = collect(class_folder, tmp_path / "inbound")
    assert handed_in_by(class_folder) == {0: "nobody"} and len(report.pending_decisions) == 1
    owner = "the account number 61002" if forgery == "unknown account" else pwd.getpwuid(1).pw_name
    assert f"belongs to {owner}, and not to nobody: write whose it is" in report.pending_decisions[0].trouble
    enter_decisions(class_folder, **{forged_name: "student mallory"})
    assert not collect(class_folder, tmp_path / "inbound").pending_decisions
    assert handed_in_by(class_folder) == {0: "nobody", 1: "mallory"}, "and what is nobody's own stays so"


@ROOT_ALONE
def test_a_time_in_the_exchange_can_not_be_set_back_nor_made_up(class_folder: ClassFolder, tmp_path: Path) -> None:
    times = {
        "early": "2026-10-01 10:00:00.000000 UTC",
        "odd": "2026-99-01 10:00:00 UTC",
        "ahead": "2089-01-01 10:00:00 UTC",
    }
    accounts = dict(zip(times, ("nobody", "daemon", "bin"), strict=True))
    for student, (what, when) in zip(CLASS, times.items(), strict=False):
        uid = pwd.getpwnam(accounts[what]).pw_uid
        make_inbound_folder(
            tmp_path / "inbound", f"{accounts[what]}+{FFN}+{when}+x", uid, {f"{FFN}.ipynb": student.data}
        )
    report = collect(class_folder, tmp_path / "inbound")
    now = datetime.now(UTC).replace(tzinfo=None)
    assert handed_in_by(class_folder) == {0: "nobody"}
    handed_in_at = untrusted_files.find_timestamp(class_folder.submitted / "nobody" / FFN)
    assert handed_in_at and abs(now - handed_in_at) < timedelta(minutes=2)
    assert [line for line in report.doubts if "later than its name says; the later time counts" in line]
    asks = [decision.trouble.partition(" UTC, ")[2] for decision in report.pending_decisions]
    assert sorted(asks) == ["can't be read: does it count?", "is in the future: does it count?"]
    enter_decisions(class_folder, **{"2026-99": f"assignment {FFN}", "2089": f"assignment {FFN}"})
    report = collect(class_folder, tmp_path / "inbound")
    assert set(handed_in_by(class_folder)) == {0, 1, 2} and not report.needs_somebody
    handed_in_at = untrusted_files.find_timestamp(class_folder.submitted / "bin" / FFN)
    assert handed_in_at and abs(now - handed_in_at) < timedelta(minutes=2)


def test_an_exchange_that_lost_its_owners_says_so(class_folder: ClassFolder, tmp_path: Path) -> None:
    report = collect(
        class_folder,
        export(
            tmp_path / "inbound.zip", {f"{exchange_folder(student)}/{FFN}.ipynb": student.data for student in CLASS}
        ),
    )
    assert set(handed_in_by(class_folder)) == set(range(5)) and not report.needs_somebody
    assert f"{len(CLASS)} of its folders belong to no student's account, as in a zip or a copy" in report.notes[-1]


@pytest.mark.parametrize("system", ["moodle", "brightspace", "blackboard", "gradescope"])
def test_a_time_that_is_still_to_come_is_asked_about(system: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    student = CLASS[0]
    people = worksheet(tmp_path / "w.csv", CLASS)
    files = {
        "moodle": {moodle_name(student): student.data},
        "brightspace": {f"{d2l_folder(student, 'May 18, 2089 1224 PM')}/x.ipynb": student.data},
        "blackboard": {blackboard_name(student, when="2089-09-12-15-45-08"): student.data},
        "gradescope": {
            "e/submission_metadata.yml": gradescope_metadata({"1": [student]}, "2089-09-09 23:13:05.137226000 Z"), "e/submission_1/x.ipynb": student.data,
        },
    }[system]  # fmt: skip
    people.write_text(people.read_text(encoding="utf-8").replace("2024, 10:15", "2089, 10:15"), encoding="utf-8")
    people = blackboard_sheet(tmp_path / "w.csv", CLASS) if system == "blackboard" else people
    archive = export(tmp_path / "a.zip", files)
    report = collect(class_folder, archive, people, match_names=True)
    ((_, trouble),) = asked(report).items()
    assert "2089" in trouble and "is in the future: does it count?" in trouble and not handed_in_by(class_folder)
    enter_decisions(class_folder, **{".ipynb": f"assignment {FFN}"})
    assert not collect(class_folder, archive, people, match_names=True).needs_somebody
    assert (
        handed_in_by(class_folder) == {0: student.sis}
        and untrusted_files.find_timestamp(class_folder.submitted / student.sis / FFN) is None
    )


# What a spreadsheet program makes of a sheet.

NAMES = [("Zoë", "Müller"), ("Jürgen", "Groß"), ("Renée Marie", "Dupré"), ("Ana", "Ruiz"), ("Åsa", "Øster")]
SPEAKERS = [replace(student, first=first, last=last) for student, (first, last) in zip(CLASS, NAMES, strict=True)]


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "utf-16", "utf-8-sig", "utf-8"])
@pytest.mark.parametrize("between", [",", ";", "sep=;"])
def test_a_worksheet_that_a_spreadsheet_program_has_saved_is_read(
    encoding: str, between: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    path = worksheet(tmp_path / "w.csv", SPEAKERS)
    text = path.read_bytes().decode("utf-8-sig")
    if between != ",":
        rows = list(csv.reader(io.StringIO(text)))
        text = "".join(";".join(f'"{cell}"' for cell in row) + "\r\n" for row in rows)
        if between == "sep=;":
            text = "sep=;\r\n" + text
    path.write_bytes(text.encode(encoding))
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in SPEAKERS})
    report = collect(class_folder, archive, path)
    assert not report.needs_somebody and not any("was read as" in note for note in report.notes)
    assert handed_in_by(class_folder) == {student.i: student.sis for student in SPEAKERS}
    names = {student.name for student in Roster.load(class_folder).students.values()}
    assert names == {student.name for student in SPEAKERS}
    assert Sheet.read(path).to_bytes() == path.read_bytes(), "every byte comes back"


@pytest.mark.parametrize(
    ("listed", "exported"),
    [
        ("Groß", "Gross"),
        ("Müller", "M\N{REPLACEMENT CHARACTER}ller"),
        ("Иванов", "Ivanov"),
        ("Maria Lopez Garcia", "Garcia"),
        ("Smith-Jones", "Smith Jones"),
    ],
)
def test_a_name_that_is_written_in_another_way_decides_nothing(
    listed: str, exported: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    """The number is the one of this assignment's sheet, as those of the others show."""
    people = [replace(CLASS[0], last=listed), *CLASS[1:]]
    files = {moodle_name(student): student.data for student in (replace(CLASS[0], last=exported), *CLASS[1:])}
    report = collect(class_folder, export(tmp_path / "a.zip", files), worksheet(tmp_path / "w.csv", people))
    assert not report.needs_somebody
    assert handed_in_by(class_folder) == {student.i: student.sis for student in CLASS}
    assert "none" not in {row.handed_in_at for row in report.rows}


@pytest.mark.parametrize("text", ["-", "N/A", "#N/A", "TBD", "none", "2.0231E+11", "1,23E+08"])
def test_what_is_no_id_makes_nobody_vanish(text: str, class_folder: ClassFolder, tmp_path: Path) -> None:
    list_path = worksheet(tmp_path / "w.csv", CLASS)
    cells = list_path.read_text(encoding="utf-8-sig")
    for student in CLASS[:2]:
        cells = cells.replace(f",{student.sis},", f',"{text}",')
    list_path.write_text(cells, encoding="utf-8-sig")
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS[2:]})
    report = collect(class_folder, archive, list_path)
    roster = Roster.load(class_folder)
    assert {student.name for student in roster.students.values()} == {student.name for student in CLASS}
    assert not any(text in (student.id, student.cells.get("sis_id")) for student in roster.students.values())
    assert {student.name for student in report.missing[0].students} == {CLASS[0].name, CLASS[1].name}
    rounded = "a spreadsheet program has rounded"
    assert any(rounded in doubt for doubt in report.doubts) == ("E+" in text)


def test_an_id_of_two_rows_is_nobody_s_and_both_are_counted(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["First name", "Last name", "ID number", "Email address"]]
    rows += [
        [student.first, student.last, "S1" if student.i < 2 else student.sis, "" if student.i < 2 else student.email]
        for student in CLASS
    ]
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS[2:]})
    report = collect(class_folder, archive, sheet(tmp_path / "people.csv", rows))
    assert any("2 rows have the sis_id S1, so it is nobody's" in doubt for doubt in report.doubts)
    (missing,) = report.missing
    assert missing.expected == 5 and {CLASS[0].name, CLASS[1].name} <= {student.name for student in missing.students}


def test_a_decision_that_a_spreadsheet_program_has_saved_still_decides(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS})
    collect(class_folder, archive)
    path = class_folder.path / "collected" / "settle.csv"
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
    column = rows[0].index("who")
    for row, student in zip(rows[1:], CLASS, strict=True):
        row[column], row[rows[0].index("student")] = "1.2345E+05", student.sis
    text = "".join(";".join(f'"{cell}"' for cell in row) + "\r\n" for row in rows)
    path.write_bytes(text.encode("cp1252", errors="replace"))
    report = collect(class_folder, archive)
    assert {student.sis for student in CLASS[:2]} <= set(handed_in_by(class_folder).values())
    assert len(report.pending_decisions) <= 3, "those whose names that encoding does not have"


# Whoever handed in is never called “not handed in”


def test_who_handed_in_by_the_worksheet_and_is_in_no_export_is_no_absentee(
    class_folder: ClassFolder, tmp_path: Path
) -> None:
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS[:3]})
    report = collect(class_folder, archive, worksheet(tmp_path / "w.csv", CLASS, handed_in=(0, 1, 2, 3)))
    (missing,) = report.missing
    assert [student.id for student in missing.students] == [CLASS[4].sis]
    (line,) = [line for line in report.doubts if "as the grading worksheet says" in line]
    assert "1 student handed in" in line and CLASS[3].sis in line and report.needs_somebody


def test_a_worksheet_that_was_given_is_not_asked_for(class_folder: ClassFolder, tmp_path: Path) -> None:
    other = [Somebody(student.i + 500, student.first, student.last) for student in CLASS]
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS})
    report = collect(class_folder, archive, worksheet(tmp_path / "w.csv", other))
    lines = [line for line in (*report.notes, *report.doubts) if "time" in line]
    assert any("nobody who handed in has a time on w.csv: is that this assignment's" in line for line in lines)
    assert not any("exports no times" in line for line in lines)


@pytest.mark.parametrize(
    "name",
    [
        "152718-351765 - Bob Lee - 2024-03-13 1015/02_feed_forward.ipynb",
        "Bob Lee/02_feed_forward.ipynb",
        "02_feed_forward (7).ipynb",
        "152718-351765 - Bob Lee - May 18, 2025 1224 PM/../../02_feed_forward.ipynb",
        "152718-351765 - Bob Lee - May 18, 2025 1224 PM/hw\\02_feed_forward.ipynb",
        "152718-351765 - Bob Lee - May 18, 2025 1224 PM/.ipynb_checkpoints/02_feed_forward-checkpoint.ipynb",
        "152718-351765 - Bob Lee - May 18, 2025 1224 PM/.DS_Store",
    ],
)
def test_what_somebody_handed_in_under_an_odd_name_is_collected_or_asked_about(
    name: str, class_folder: ClassFolder, tmp_path: Path
) -> None:
    files = {f"{d2l_folder(student)}/{FFN}.ipynb": student.data for student in CLASS[:4]} | {name: CLASS[4].data}
    archive = export(tmp_path / "a.zip", files)
    lists = d2l_grades(tmp_path / "g.csv", CLASS)
    report = collect(class_folder, archive, lists, match_names=True)
    (missing,) = report.missing
    assert report.pending_decisions and missing.undecided
    assert "to say whose" in missing.line(5)
    (decision,) = [
        decision for decision in report.pending_decisions if decision.file.split("/")[0] == name.split("/")[0]
    ]
    if not name.endswith(".DS_Store"):
        enter_decisions(class_folder, **{decision.file: f"student {CLASS[4].sis}"})
        report = collect(class_folder, archive, lists, match_names=True)
    if ".." in name:
        assert "points outside the folder" in next(iter(asked(report).values()))
    elif not name.endswith(".DS_Store"):
        assert handed_in_by(class_folder)[4] == CLASS[4].sis and not report.pending_decisions
