"""Exports and sheets of learning management systems: what is hostile or odd is refused in a line and the rest goes on; patterns are never guessed."""

from __future__ import annotations

import csv
import io
import os
import stat
import struct
import time
import zipfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from exports import (
    CLASS,
    COLUMN,
    FFN,
    FULL,
    SYSTEMS,
    blackboard_name,
    blackboard_sheet,
    canvas_gradebook,
    canvas_name,
    d2l_folder,
    d2l_grades,
    exchange_folder,
    gradescope_metadata,
    gradescope_roster,
    moodle_name,
    notebook,
    sheet,
    worksheet,
    zipped,
)  # fmt: skip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder import lms
from autograder.class_folder.roster import parse_list
from autograder.errors import UserError
from autograder.lms import archive, gradescope, moodle, sheets
from autograder.lms.archive import Archive, ArchiveEntry, Refused
from autograder.lms.records import ExportedFile, fold_name
from autograder.lms.sheets import Sheet
from autograder.times import parse_moment

# Archives


def entry_names(contents: Archive) -> list[str]:
    return [entry.name for entry in contents.entries]


def write_zip(path: Path, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in entries:
            opened.writestr(name, data)
    return path


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def compressed_entry(name: str, method: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = method
    return info


HOSTILE: dict[str, tuple[zipfile.ZipInfo | str, bytes]] = {
    "points outside the folder": ("../../etc/cron.d/x", b""),
    "absolute path": ("/etc/passwd", b""),
    "is an absolute path": ("C:/Windows/x", b""),
    "points outside": ("..\\..\\x.ipynb", b""),
}
UNREAD: dict[str, tuple[zipfile.ZipInfo | str, bytes]] = {
    "symbolic link": (link("link.ipynb"), b"/etc/passwd"),
    "can't be read here": (compressed_entry("a.ipynb", zipfile.ZIP_BZIP2), b"x" * 100),
    "too large: 65 MiB, at most 64": (compressed_entry("bomb.ipynb", zipfile.ZIP_DEFLATED), bytes(65 * 2**20)),
    "too large": (compressed_entry("large.ipynb", zipfile.ZIP_STORED), bytes(65 * 2**20)),
}


@pytest.mark.parametrize("text", ["=1", "＝1+1", "  =1", "\n=1", "＠a", "'＋1", "＋", "－2", "\tx"])
def test_a_text_that_a_spreadsheet_takes_for_a_formula_is_guarded_and_comes_back(text: str) -> None:
    assert sheets.guard(text) == f"'{text}" and sheets.unguard(f"'{text}") == text and sheets.guard("a = b") == "a = b"


@pytest.mark.parametrize("why", HOSTILE)
def test_a_hostile_entry_is_refused_in_a_line_and_the_rest_goes_on(why: str, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", ("before.ipynb", b"1"), HOSTILE[why], ("behind.ipynb", b"2"))
    with archive.open_archive(path) as contents:
        before, hostile, behind = contents.entries
        assert (before.read(), behind.read()) == (b"1", b"2")
        with pytest.raises(Refused, match=why) as refused:
            hostile.read()
        assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("why", UNREAD)
def test_what_is_not_read_is_there_all_the_same_as_somebody_has_handed_it_in(why: str, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", ("before.ipynb", b"1"), UNREAD[why], ("behind.ipynb", b"2"))
    with archive.open_archive(path) as contents:
        before, unread, behind = contents.entries
        assert (before.read(), behind.read()) == (b"1", b"2")
        with pytest.raises(Refused, match=why):
            unread.read()


def test_a_notebook_that_packs_well_is_no_bomb(tmp_path: Path) -> None:
    data = b"0.123 0.123 0.123\n" * 2_000_000
    path = write_zip(tmp_path / "a.zip", (compressed_entry("a.ipynb", zipfile.ZIP_DEFLATED), data))
    assert path.stat().st_size < len(data) / 200
    with archive.open_archive(path) as contents:
        assert contents.entries[0].read() == data


def test_a_backslash_is_between_folders_as_a_slash_is(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", ("folder\\a.ipynb", b"1"), ("b.ipynb", b"2"))
    with archive.open_archive(path) as contents:
        assert entry_names(contents) == ["folder/a.ipynb", "b.ipynb"]
    path = write_zip(tmp_path / "a.zip", ("folder\\a.ipynb", b"1"), ("c/b.ipynb", b"2"))
    with archive.open_archive(path) as contents:
        assert entry_names(contents) == ["folder/a.ipynb", "c/b.ipynb"]


def test_an_encrypted_entry_and_a_damaged_one_are_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", ("locked", b"1"), ("damaged", b"a long text, " * 9), ("good", b"3"))
    data = bytearray(path.read_bytes())
    place = data.index(b"PK\1\2")
    data[place + 8] |= 1  # of the first entry, in the table of contents
    data[data.index(b"damaged") + 12] ^= 0xFF
    path.write_bytes(data)
    with archive.open_archive(path) as contents:
        locked, damaged, good = contents.entries
        assert (locked.trouble, good.read()) == ("encrypted", b"3")
        with pytest.raises(Refused, match="broken"):
            damaged.read()


def test_of_two_entries_with_one_name_none_is_read_unless_they_are_the_same(tmp_path: Path) -> None:
    with pytest.warns(UserWarning):
        path = write_zip(tmp_path / "a.zip", ("a", b"1"), ("a", b"2"), ("b", b"3"), ("b", b"3"))
    with archive.open_archive(path) as contents:
        assert [(entry.name, "differ" in entry.trouble) for entry in contents.entries] == [("a", True), ("b", False)]


def test_what_one_student_handed_in_packed_may_not_unpack_to_more_than_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_zip(tmp_path / "a.zip", *((str(i), bytes(2**20)) for i in range(9)))
    monkeypatch.setattr(archive, "PACKED_BOUNDS", archive.Bounds(2**20, total=3 * 2**20))
    contents = archive.open_packed(ArchiveEntry("a.zip", 0, path.read_bytes))
    assert ["unpack to more than 3 MiB" in entry.trouble for entry in contents.entries] == [False] * 3 + [True] * 6
    with archive.open_archive(path) as contents:  # of a class's export, each file has a bound, and all together none
        assert not any(entry.trouble for entry in contents.entries)


def read_both_ways(folder: Path, *names: str) -> list[tuple[str, bool]]:
    """What is found of these files in a zip, and, which has to be the same, in a folder."""
    with archive.open_archive(write_zip(folder / "a.zip", *((name, b"") for name in names))) as contents:
        in_zip = sorted((entry.name, entry.is_folder) for entry in contents.entries)
    for name in names:
        (folder / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "folder" / name).touch()
    with archive.open_archive(folder / "folder") as contents:
        assert sorted((entry.name, entry.is_folder) for entry in contents.entries) == in_zip
    return in_zip


def test_what_systems_leave_behind_is_nobodys_hand_in(tmp_path: Path) -> None:
    names = ("__MACOSX/._a.ipynb", "a/.DS_Store", "a/._b.ipynb", "a/.ipynb_checkpoints/a-checkpoint.ipynb", "a/b.ipynb")
    assert read_both_ways(tmp_path, *names) == [("a/b.ipynb", False)]


def test_whoever_handed_in_nothing_else_has_handed_in_all_the_same(tmp_path: Path) -> None:
    names = ("a/.ipynb_checkpoints/x-checkpoint.ipynb", "b/.DS_Store", "c/__MACOSX/._n.ipynb", "d/n.ipynb")
    found = read_both_ways(tmp_path, *names)
    assert found == [(names[0], False), ("b", True), ("c", True), ("d/n.ipynb", False)]


def test_an_export_of_a_large_class_is_read_and_a_table_of_contents_beyond_any_is_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", *((f"{i}.ipynb", b"") for i in range(40_000)))
    start = time.monotonic()
    with archive.open_archive(path) as contents:
        assert len(contents.entries) == 40_000
    assert time.monotonic() - start < 20
    with open(path, "r+b") as file:  # a table of 2 GiB, of which the disk has none
        end = file.read().rindex(b"PK\5\6")
        record = bytearray(path.read_bytes()[end:])
        record[12:20] = struct.pack("<LL", 2**31, 0)
        file.seek(2**31)
        file.write(record)
    with pytest.raises(UserError, match="table of contents is too large"):
        archive.open_archive(path)


def test_an_end_that_holds_the_signature_of_one_hides_no_table_of_contents(tmp_path: Path) -> None:
    """zipfile reads the record at the very end; whoever looks for its signature finds the one in its counts, behind which is nothing."""
    data = write_zip(tmp_path / "a.zip", *((f"{i}.ipynb", b"") for i in range(30))).read_bytes()
    place = data.rindex(b"PK\5\6")
    end = bytearray(data[place:])
    end[8:12] = b"PK\5\6"  # how many entries there are, of which zipfile takes no notice
    entry = ArchiveEntry("a.zip", 0, lambda: data[:place] + bytes(end))
    assert len(archive.open_packed(entry).entries) == 30
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "PACKED_BOUNDS", archive.Bounds(1_000))
        with pytest.raises(Refused, match="table of contents"):
            archive.open_packed(entry)


@pytest.mark.parametrize("encoding", ["utf-8", "cp437"])
def test_a_name_without_the_flag_for_utf_8_is_read_all_the_same(encoding: str, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", ("xxxxxxxxxxxx", b"1"))
    name = "Chloé_1.ipynb".encode(encoding)[:12].ljust(12, b"x")
    path.write_bytes(path.read_bytes().replace(b"xxxxxxxxxxxx", name))
    with archive.open_archive(path) as contents:
        assert contents.entries[0].name == name.decode(encoding) and contents.entries[0].read() == b"1"


def test_a_folder_is_read_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "export" / "empty").mkdir(parents=True)
    (tmp_path / "export" / "a.ipynb").write_bytes(b"1")
    (tmp_path / "export" / "b.ipynb").symlink_to("/etc/passwd")
    (tmp_path / "export" / "c").symlink_to("/etc")
    os.mkfifo(tmp_path / "export" / "pipe")
    contents = archive.open_archive(tmp_path / "export")
    assert {(entry.name, entry.is_folder, entry.trouble) for entry in contents.entries} == {
        ("a.ipynb", False, ""), ("empty", True, ""), ("b.ipynb", False, "a symbolic link"), ("pipe", False, "not a regular file"),
        ("c", False, "a symbolic link"),
    }  # fmt: skip


ODD_SOURCES = {
    "nothing": None,
    "empty": b"",
    "text": b"not a zip",
    "half": b"PK\3\4" + bytes(99),
    "an end alone": b"PK\5\6" + bytes(18),
}


@pytest.mark.parametrize("odd", ODD_SOURCES)
def test_what_is_no_export_is_one_clear_line(odd: str, tmp_path: Path) -> None:
    path, data = tmp_path / "a.zip", ODD_SOURCES[odd]
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError) as raised, archive.open_archive(path) as contents:
        lms.read(contents)
    assert "a.zip" in str(raised.value) and "\n" not in str(raised.value)


def outcome(path: Path) -> lms.Export | None:
    """What reading it comes to: an export, all of whose files were read or refused; or a line."""
    try:
        with archive.open_archive(path) as contents:
            export = lms.read(contents)
            for exported_file in export.files:
                try:
                    exported_file.read()
                except Refused as reason:
                    assert "\n" not in str(reason)
            return export
    except UserError as error:
        assert "\n" not in str(error)
        return None


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


FUZZ = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


@FUZZ
@given(
    st.binary(max_size=2_000),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=8),
    st.integers(0, 10_000),
)
def test_any_bytes_as_a_zip_end_in_an_export_or_a_line(
    scratch: Path, data: bytes, flips: list[tuple[int, int]], cut: int
) -> None:
    (scratch / "any.zip").write_bytes(data)
    outcome(scratch / "any.zip")
    write_zip(scratch / "good.zip", *((moodle_name(student), b"{}" * student.i) for student in CLASS))
    damaged = bytearray((scratch / "good.zip").read_bytes())
    for place, value in flips:
        damaged[place % len(damaged)] = value
    (scratch / "any.zip").write_bytes(damaged[: len(damaged) - (cut % len(damaged) if cut % 5 == 0 else 0)])
    outcome(scratch / "any.zip")


PIECES = st.sampled_from(
    ["_", " - ", "/", "+", "_LATE", "submission_1",  "_12_", "_assignsubmission_file", "_assignsubmission_onlinetext", "_attempt_2022-09-12-15-45-08", "anon_",
     "1-2 - ", "May 18, 2025 1224 PM", "13 September 2025 310 PM", "2026-10-01 10:00:00 UTC", "submission_metadata.yml", ".ipynb", "é", "\u202e", "\n"]
)  # fmt: skip
NAMES = st.lists(PIECES | st.text(max_size=4), min_size=1, max_size=9).map("".join)


@FUZZ
@given(st.dictionaries(NAMES.filter(lambda name: "\0" not in name), st.binary(max_size=30), max_size=6))
def test_any_names_in_a_zip_end_in_hand_ins_and_lines_and_none_is_lost(scratch: Path, files: dict[str, bytes]) -> None:
    path = scratch / "names.zip"
    with zipfile.ZipFile(path, "w") as opened:
        for name, data in files.items():
            opened.writestr(zipfile.ZipInfo(name.encode("utf-8", "replace").decode()), data)
    export = outcome(path)
    if export:
        with archive.open_archive(path) as contents:
            listed = (
                "/" + name
                for name in (
                    *(exported_file.entry for exported_file in export.files),
                    *(entry.name for entry in export.unknown),
                )
            )
            below = tuple(listed)  # outer folders of all are left out of the names
            beside = {entry.name for entry in contents.entries if not f"/{entry.name}".endswith(below)}
        assert all(
            name.endswith((".txt", ".yml", "index.html", "timestamp.txt", "submission_secret.txt")) for name in beside
        )


# Patterns


def read_export(
    *names: str, folders: tuple[str, ...] = (), zone: Any = UTC, data: bytes = b""
) -> tuple[list[ExportedFile], list[str]]:
    entries = [ArchiveEntry(name, 1, lambda: data) for name in names]
    entries += [ArchiveEntry(name, 0, lambda: b"", is_folder=True) for name in folders]
    export = lms.read(Archive("export", entries), zone)
    return list(export.files), [entry.name for entry in export.unknown]


def utc(*when: int) -> datetime:
    return datetime(*when, tzinfo=UTC)  # type: ignore[arg-type, misc]


WHEN = utc(2025, 5, 18, 12, 24)
READ: dict[str, tuple[str, str, str, str, dict[str, Any]]] = {
    # moodle
    "Ana Ruiz_123456_assignsubmission_file/sub/hw1.ipynb": ("moodle", "123456", "Ana Ruiz", "sub/hw1.ipynb", {}),
    "Ana Ruiz_123456_assignsubmission_file_/hw1.ipynb": ("moodle", "123456", "Ana Ruiz", "hw1.ipynb", {}),
    "Ana Ruiz_123456_assignsubmission_file_hw_1.ipynb": ("moodle", "123456", "Ana Ruiz", "hw_1.ipynb", {}),
    "aruiz_Ana Ruiz_123456_assignsubmission_file_a.ipynb": ("moodle", "123456", "aruiz_Ana Ruiz", "a.ipynb", {}),
    "Ana_1_assignsubmission_onlinetext/onlinetext.html": ("moodle", "1", "Ana", "onlinetext.html", {"remark": "text typed online"}),
    "Default group_assignsubmission_file/a.ipynb": ("moodle", "group Default group", "Default group", "a.ipynb", {"people": ()}),
    "Séan O'Connor - Smith_12_assignsubmission_file/a (1).ipynb": ("moodle", "12", "Séan O'Connor - Smith", "a (1).ipynb", {}),
    # canvas
    "doejane_LATE_12345_678901_hw1-2.ipynb": ("canvas", "12345", "doejane", "hw1-2.ipynb", {"late": True, "back": {"attachment": "678901"}}),
    "doejane_12345_678901_02_feed_forward.ipynb": ("canvas", "12345", "doejane", "02_feed_forward.ipynb", {"late": False}),
    "zoë_bvan_12345_678901_hw_1_2.ipynb": ("canvas", "12345", "zoë_bvan", "hw_1_2.ipynb", {}),
    "anon_Ab1x9_678901_hw1.ipynb": ("canvas", "anon_Ab1x9", "anon_Ab1x9", "hw1.ipynb", {"back": {"attachment": "678901"}}),
    "LATE_anon_Ab1x9_678901_hw1.ipynb": ("canvas", "anon_Ab1x9", "anon_Ab1x9", "hw1.ipynb", {"late": True}),
    "doejane_12345_text.html": ("canvas", "12345", "doejane", "text.html", {"remark": "text typed online"}),
    "doejane_LATE_12345_link.html": ("canvas", "12345", "doejane", "link.html", {"late": True, "remark": "a link"}),
    # brightspace
    "152711-351765 - John Doe - May 18, 2025 1224 PM/a.ipynb": ("brightspace", "152711", "John Doe", "a.ipynb", {"handed_in_at": WHEN}),
    "1-2 - Blake Payne - Dec 5, 2024 1149 AM - Hw.zip": ("brightspace", "1", "Blake Payne", "Hw.zip", {"handed_in_at": utc(2024, 12, 5, 11, 49)}),
    "1-2 - A - B - O'Neil - 13 September 2025 310 PM/a.ipynb": ("brightspace", "1", "A - B - O'Neil", "a.ipynb", {"handed_in_at": utc(2025, 9, 13, 15, 10)}),
    "1-2 - José María - Sept 1, 2025 1 AM/x/a.ipynb": ("brightspace", "1", "José María", "x/a.ipynb", {"handed_in_at": utc(2025, 9, 1, 1)}),
    "1-2 - J - Mai 1, 2025 1205 AM/a.ipynb": ("brightspace", "1", "J", "a.ipynb", {"handed_in_at": utc(2025, 5, 1, 0, 5)}),
    "1-2 - J - Foo 1, 2025 1205 AM/a.ipynb": ("brightspace", "1", "J", "a.ipynb", {"handed_in_at": None}),
    # blackboard
    "Project 0_391108724_attempt_2022-09-12-15-45-08_hw1.ipynb": (
        "blackboard", "391108724", "391108724", "hw1.ipynb", {"handed_in_at": utc(2022, 9, 12, 15, 45, 8)}),
    "HW_1_b_ana_attempt_2022-09-12-15-45-08_x_attempt.ipynb": ("blackboard", "ana", "ana", "x_attempt.ipynb", {}),
    # nbgrader
    "ana+02_feed_forward+2026-10-01 10:00:00.123456 UTC+x_-=/a.ipynb": (
        "nbgrader", "ana", "ana", "a.ipynb", {"handed_in_at": utc(2026, 10, 1, 10, 0, 0, 123456)}),
    "ana+b+02_feed_forward+2026-10-01 10:00:00.123456 UTC/a/x.ipynb": ("nbgrader", "ana+b", "ana+b", "a/x.ipynb", {"assignment": FFN}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_name_is_read_as_its_system_wrote_it(name: str) -> None:
    system, submitter, full_name, file, more = READ[name]
    ((record,), unknown) = read_export(name)
    assert (record.system, record.submitter, record.name, record.file, record.entry) == (
        system,
        submitter,
        full_name,
        file,
        name,
    )
    assert {key: getattr(record, key) for key in more} == more and not unknown


def test_a_local_time_is_read_with_the_clocks_zone() -> None:
    names = ("1-2 - J - May 18, 2025 1224 PM/a.ipynb", "X_ana_attempt_2025-05-18-12-24-00_a.ipynb")
    for name in names:
        ((record,), _) = read_export(name, zone=ZoneInfo("Europe/Berlin"))
        assert record.handed_in_at == datetime(2025, 5, 18, 10, 24, tzinfo=UTC)


def test_a_name_that_was_packed_on_a_mac_is_the_same_name() -> None:
    ((record,), _) = read_export("Zoe\u0308_7_assignsubmission_file/a.ipynb")
    assert record.name == "Zo\u00eb"


@pytest.mark.parametrize("depth", [1, 2])
def test_outer_folders_of_unpacking_do_not_hide_an_export(depth: int) -> None:
    outer = "Lab 5 Download Dec 5, 2017 1009 PM/" * depth
    for system in SYSTEMS:
        records, unknown = read_export(*(outer + name for name in system.files(CLASS)))
        assert {record.system for record in records} == {system.name} and len(records) == len(CLASS) and not unknown


def test_what_has_another_pattern_is_reported_and_not_guessed() -> None:
    records, unknown = read_export(
        *(moodle_name(student) for student in CLASS), "notes.txt", "Bob/02_feed_forward.ipynb"
    )
    assert len(records) == len(CLASS) and unknown == ["notes.txt", "Bob/02_feed_forward.ipynb"]
    with pytest.raises(UserError, match="is not an export of Gradescope, Moodle"):
        read_export("ana/02_feed_forward.ipynb", "bob/02_feed_forward.ipynb", "readme.txt")


def test_a_students_own_name_for_a_file_does_not_make_it_another_system() -> None:
    names = [
        canvas_name(student, "x_assignsubmission_file_y.ipynb" if student.i == 1 else "a.ipynb") for student in CLASS
    ]
    records, _ = read_export(*names)
    assert [record.system for record in records] == ["canvas"] * len(CLASS)
    names = [moodle_name(student, "doe_1_2_x_attempt_2022-09-12-15-45-08_a.ipynb", folders=False) for student in CLASS]
    records, _ = read_export(*names)
    assert [record.system for record in records] == ["moodle"] * len(CLASS)


def test_an_empty_folder_is_a_hand_in_without_a_file() -> None:
    records, _ = read_export(moodle_name(CLASS[0]), folders=(moodle_name(CLASS[1], "").rstrip("/"),))
    assert [(record.submitter, record.file) for record in records] == [
        (CLASS[0].participant, f"{FFN}.ipynb"),
        (CLASS[1].participant, ""),
    ]


def test_blackboards_own_words_say_who_it_is() -> None:
    about = "Name: Ana Ruiz (ana_r)\nAssignment: Project 0\nDate Submitted: Monday\n"
    name = "Project 0_ana_r_attempt_2022-09-12-15-45-08"
    entries = [ArchiveEntry(f"{name}.txt", 1, lambda: about.encode()), ArchiveEntry(f"{name}_a.ipynb", 1, lambda: b"")]
    (record,) = lms.read(Archive("export", entries)).files
    assert (record.submitter, record.name, record.file) == ("ana_r", "Ana Ruiz", "a.ipynb")
    (record,) = lms.read(Archive("export", entries[:1])).files
    assert record.file == "", "an attempt without a file is one that was handed in"


def blackboards(
    *people: str, files: dict[str, bytes], when: str = "2026-12-24-10-00-00", text: str = "Name"
) -> lms.Export:
    """A download of Blackboard's: of each attempt a text, and what students called their files."""
    texts = {
        f"00_x_{student}_attempt_{when}.txt": f"{text}: Some Name ({student})\nComments:\nName: J (jdoe)\n".encode()
        for student in people
    }
    entries = [ArchiveEntry(name, 1, partial(bytes, data)) for name, data in (texts | files).items()]
    return lms.read(Archive("export", entries), UTC)


FORGED = (
    "x_jdoe_attempt_2027-06-01-00-00-00_00_start_here.ipynb",
    "x_mallory_attempt_2026-11-01-10-00-00_a.ipynb",
    "x_jdoe_attempt_2026-12-01-00-00-00.txt",
)


@pytest.mark.parametrize("file", FORGED)
@pytest.mark.parametrize("text", ["Name", "Nom"])
def test_a_files_name_makes_no_other_student_and_no_other_time_in_blackboard(file: str, text: str) -> None:
    entry = f"00_x_mallory_attempt_2026-12-24-10-00-00_{file}"
    about = b"Name: J (jdoe)\n"
    export = blackboards("mallory", "jdoe", files={entry: about}, text=text)
    theirs = [exported for exported in export.files if exported.file]
    assert [(exported.submitter, exported.file, exported.handed_in_at) for exported in theirs] == [
        ("mallory", file, utc(2026, 12, 24, 10))
    ]
    assert [exported.submitter for exported in export.files if not exported.file] == ["jdoe"], (
        "who handed in without a file"
    )
    alone = blackboards(files={entry: about, "00_x_jdoe_attempt_2026-12-24-10-00-00_a.ipynb": b""})
    assert [unread.name for unread in alone.unknown] == [entry] and [
        exported.submitter for exported in alone.files
    ] == ["jdoe"], "without the texts nobody can tell"


def test_blackboards_usernames_may_hold_the_sign_between() -> None:
    names = [f"HW_1_{username}_attempt_2026-12-24-10-00-00_a.ipynb" for username in ("ana", "j_doe", "mallory")]
    records, unknown = read_export(*names)
    assert [record.submitter for record in records] == ["ana", "j_doe", "mallory"] and not unknown, (
        "not doe, who is somebody else"
    )
    records, unknown = read_export(*names, "HW_2_doe_attempt_2026-12-24-10-00-00_a.ipynb")
    assert not records and len(unknown) == 4, "of two assignments at once"


def test_a_second_time_in_brightspaces_flat_names_is_a_persons_matter() -> None:
    ((record,), _) = read_export("1-2 - Mal - May 1, 2025 100 PM - May 18, 2025 1224 PM - a.ipynb")
    assert record.submitter == "1" and record.handed_in_at is None
    assert record.doubtful_time == "May 1, 2025 100 PM and May 18, 2025 1224 PM may be its time"
    ((record,), _) = read_export("1-2 - Mal - May 1, 2025 100 PM - May 18, 2025 1224 PM/a.ipynb")
    assert record.handed_in_at == WHEN and not record.doubtful_time, "a folder ends with its time"


def test_gradescopes_metadata_says_whose_a_submission_is() -> None:
    data = gradescope_metadata({"7": CLASS[:1], "8": CLASS[1:3]}).replace(b"sid: S00000", b"sid: 00123")
    entries = [ArchiveEntry("assignment_1_export/submission_metadata.yml", len(data), lambda: data)]
    entries += [ArchiveEntry(f"assignment_1_export/submission_{n}/a.ipynb", 1, lambda: b"") for n in (7, 8, 9)]
    export = lms.read(Archive("export", entries))
    alone, group = export.files
    assert (alone.submitter, alone.name, alone.file, alone.submission_id) == ("00123", CLASS[0].name, "a.ipynb", "7")
    assert alone.handed_in_at == datetime(2026, 9, 9, 23, 13, 5, 137226, tzinfo=UTC)
    assert [person.ids["sis_id"] for person in group.people] == [student.sis for student in CLASS[1:3]] and group.group
    assert [unread.name for unread in export.unknown] == ["submission_9/a.ipynb"]


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"a: [1",
        b"just text",
        b"\xff",
        b"&a [*a, *a]",
        b"submission_1: 5",
        b"!!python/object:os.system {}",
    ],
)
def test_metadata_that_can_not_be_read_is_a_line(data: bytes) -> None:
    entries = [
        ArchiveEntry(gradescope.METADATA, len(data), lambda: data),
        ArchiveEntry("submission_1/a.ipynb", 1, lambda: b""),
    ]
    try:
        assert not lms.read(Archive("export", entries)).files
    except UserError as error:
        assert gradescope.METADATA in str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-01 10:00:00.000001 UTC", datetime(2026, 10, 1, 10, 0, 0, 1, tzinfo=UTC)),
        ("2026-10-01 10:00:00.137226000 -07:00", datetime(2026, 10, 1, 17, 0, 0, 137226, tzinfo=UTC)),
        ("2026-10-01T10:00:00Z", datetime(2026, 10, 1, 10, tzinfo=UTC)),
        ("2016-01-30-15-30-10", None),
        ("1800-01-01 10:00:00 UTC", None),
        ("soon", None),
    ],
)
def test_a_time_with_its_zone_is_read_or_not_at_all(text: str, expected: datetime | None) -> None:
    assert parse_moment(text) == expected


def test_names_are_compared_without_accents_and_signs() -> None:
    assert fold_name("Séan O'Connor - Smith") == fold_name("sean oconnorsmith") and fold_name("李 雷") != fold_name(
        "李"
    )


# Sheets


@FUZZ
@given(
    st.text(alphabet=st.sampled_from(list("ab\",;\t\r\n =é'")), max_size=60), st.sampled_from([b"", b"\xef\xbb\xbf"])
)
def test_a_sheet_that_is_not_changed_comes_back_to_the_byte(text: str, bom: bytes) -> None:
    data = bom + text.encode()
    try:
        assert Sheet.of(data, "a.csv").to_bytes() == data
    except UserError as error:
        assert "is empty" in str(error)


CELLS = st.text(alphabet=st.sampled_from(list("ab\",;\t\n =é'-")), max_size=6)


@FUZZ
@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from(",;\t"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
    st.data(),
)
def test_cells_are_read_as_the_csv_module_reads_them_and_one_change_changes_one_cell(
    rows: list[list[str]], delimiter: str, quoting: Any, end: str, data: Any
) -> None:
    rows = [["x", "y", "z"], *rows]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(rows)
    table = Sheet.of(text.getvalue().encode(), "a.csv")
    assert table.delimiter == delimiter and [list(row) for row in (table.header, *table.rows)] == rows
    place = data.draw(st.integers(0, len(rows) - 2))
    column = data.draw(st.integers(0, 2))
    new = data.draw(CELLS)
    table.put(table.rows[place], column, new)
    rows[place + 1][column] = new
    written = table.to_bytes().decode()
    assert list(csv.reader(io.StringIO(written, newline=""), delimiter=delimiter)) == rows


@FUZZ
@given(st.binary(max_size=200))
def test_any_bytes_as_a_sheet_end_in_a_sheet_or_a_line(data: bytes) -> None:
    for bom in (b"", b"\xff\xfe", b"\xef\xbb\xbf"):
        try:
            table = Sheet.of(bom + data, "a.csv")
        except UserError as error:
            assert "\n" not in str(error)
            continue
        assert table.to_bytes() == bom + data
        try:
            parse_list(table)
        except UserError as error:
            assert "\n" not in str(error)
        for system in (*SYSTEMS,):
            try:
                lms.SYSTEMS[system.name].grade_sheet(table)
            except UserError as error:
                assert "\n" not in str(error)


@FUZZ
@given(st.text(alphabet=st.sampled_from(list("=+-@\t\r'a1")), max_size=6))
def test_no_text_of_ours_is_taken_for_a_formula_and_each_is_read_back(text: str) -> None:
    cell = sheets.guard(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) and sheets.unguard(cell) == text


@pytest.mark.parametrize(
    ("points", "maximum", "others", "expected"),
    [
        (13.5, "24,00", (), "13,50"),
        (13.5, "24.00", (), "13.50"),
        (13.5, "24", (), "13.5"),
        (13, "24", (), "13"),
        (13.125, "24.0", (), "13.13"),
        (13.5, "24", ("", "12,25"), "13,5"),
        (13.5, "", ("7", "12,25"), "13,50"),
        (7.5, "", (), "7.5"),
        (100, "100.000", (), "100.000"),
        (10, "", (), "10"),
        (-0.0, "", (), "0"),
    ],
)
def test_a_score_is_written_as_the_sheet_writes_numbers(
    points: float, maximum: str, others: tuple[str, ...], expected: str
) -> None:
    assert sheets.format_points(points, maximum, others) == expected


def test_a_workbook_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="save the sheet as CSV"):
        Sheet.read(zipped(tmp_path / "grades.xlsx", {"a": b""}))


# Lists of people


def test_a_list_is_recognised_by_its_header(tmp_path: Path) -> None:
    made = {
        "moodle": [worksheet(tmp_path / "1.csv", CLASS), worksheet(tmp_path / "2.csv", CLASS, german=True)],
        "canvas": [canvas_gradebook(tmp_path / "3.csv", CLASS)],
        "brightspace": [d2l_grades(tmp_path / "4.csv", CLASS)],
        "blackboard": [blackboard_sheet(tmp_path / "5.csv", CLASS)],
        "gradescope": [gradescope_roster(tmp_path / "6.csv", CLASS)],
    }
    participants = [["Vorname", "Nachname", "ID-Nummer", "E-Mail-Adresse", "Gruppen"]]
    participants += [[student.first, student.last, student.sis, student.email, "Blau, Rot"] for student in CLASS]
    made["moodle"].append(sheet(tmp_path / "7.csv", participants, delimiter=";"))
    for system, files in made.items():
        for file in files:
            source, people = parse_list(Sheet.read(file))
            assert source is lms.SYSTEMS[system]
            for student, person in zip(CLASS, people, strict=False):
                assert person.ids["sis_id"] == student.sis and fold_name(person.full_name) == fold_name(student.name)
    assert people[0].ids["email"] == CLASS[0].email
    (_, (first, *_)) = parse_list(Sheet.read(tmp_path / "7.csv"))
    assert first.groups == ("Blau", "Rot")
    _, blind = parse_list(Sheet.read(worksheet(tmp_path / "8.csv", CLASS, blind=True)))
    assert [dict(person.ids) for person in blind] == [{"moodle": student.participant} for student in CLASS]


def test_an_unknown_header_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a\.csv is not a list .* its columns are name, age"):
        parse_list(Sheet.read(sheet(tmp_path / "a.csv", [["name", "age"], ["Ana", "20"]])))


@pytest.mark.parametrize(
    ("cell", "number"),
    [("Participant 123456", "123456"), ("Teilnehmer/in1234567", "1234567"), ("123", "123"), ("Ana", ""), ("A 1 b", "")],
)
def test_moodles_identifier_ends_with_the_number(cell: str, number: str) -> None:
    assert moodle.parse_participant(cell) == number


def test_no_column_is_chosen_where_several_could_be_meant(tmp_path: Path) -> None:
    gradebook = Sheet.read(canvas_gradebook(tmp_path / "a.csv", CLASS))
    with pytest.raises(UserError, match=rf"2 columns for grades.*Warm-up \(101\); {FFN} \(202\)"):
        lms.SYSTEMS["canvas"].grade_sheet(gradebook)
    for asked in (FFN, f"{FFN} (202)", "202", "(202)"):
        assert lms.SYSTEMS["canvas"].grade_sheet(gradebook, asked).column == 6
    blackboards = Sheet.read(blackboard_sheet(tmp_path / "b.csv", CLASS))
    for asked in (COLUMN, "Project 0", "664617"):
        assert lms.SYSTEMS["blackboard"].grade_sheet(blackboards, asked).column == 6


def test_a_column_may_be_called_by_how_it_alone_begins(tmp_path: Path) -> None:
    title = "02 Feed forward Points Grade <Numeric MaxPoints:32 Weight:10 Category:Labs>"
    titles = ["OrgDefinedId", title, "02 Feed back Points Grade <Numeric MaxPoints:3>", "End-of-Line Indicator"]
    table = Sheet.read(sheet(tmp_path / "d.csv", [titles, ["#1", "", "", "#"]]))
    for asked in ("02 Feed forward Points Grade", "02 feed f", title):
        assert lms.SYSTEMS["brightspace"].grade_sheet(table, asked).column == 1
    with pytest.raises(
        UserError, match=r"has 2 columns for grades that begin with '02 Feed': say which one with --column"
    ):
        lms.SYSTEMS["brightspace"].grade_sheet(table, "02 Feed")


def test_a_scale_takes_no_points(tmp_path: Path) -> None:
    rows = [["Identifier", "Grade", "Scale", "Last modified (grade)"], ["Participant 1", "", "bad\ngood", "-"]]
    with pytest.raises(UserError, match="on a scale"):
        lms.SYSTEMS["moodle"].grade_sheet(Sheet.read(sheet(tmp_path / "a.csv", rows)))


def test_helpers_make_what_the_systems_make() -> None:
    student = CLASS[2]
    assert moodle_name(student) == f"Zoë B van der Berg_{student.participant}_assignsubmission_file/{FFN}.ipynb"
    assert canvas_name(student) == f"vanderbergzoë_b_{student.canvas}_{student.attachment}_{FFN}.ipynb"
    assert d2l_folder(CLASS[1]).endswith("Séan O'Connor - Smith - May 18, 2025 1224 PM")
    assert (
        blackboard_name(student).startswith("Project_0 b_user2_attempt_") and exchange_folder(student).count("+") == 3
    )
    assert FULL > 0 and notebook("x") != notebook("y")


def test_ids_that_a_spreadsheet_program_has_changed_are_refused_with_the_line(tmp_path: Path) -> None:
    path = canvas_gradebook(tmp_path / "g.csv", CLASS)
    path.write_text(path.read_text(encoding="utf-8").replace(",12001,", ",1.20E+04,"), encoding="utf-8")
    for read in (parse_list, lambda sheet: lms.SYSTEMS["canvas"].grade_sheet(sheet, FFN)):
        with pytest.raises(
            UserError, match=r"line 5: the ID '1.20E\+04' is not one of Canvas's.*download the gradebook again"
        ):
            read(Sheet.read(path))


def test_a_worksheet_that_was_saved_by_another_program_says_what_to_choose_in_moodle(tmp_path: Path) -> None:
    text = worksheet(tmp_path / "w.csv", CLASS[:1]).read_text(encoding="utf-8-sig")
    for delimiter, encoding, instruction in (
        (",", "utf-8", ""),
        (";", "utf-8", "choose the separator “;” when"),
        ("\t", "utf-16", "choose the separator “Tab” and the encoding UTF-16LE when"),
        (";", "cp1252", "choose the separator “;” and the encoding WINDOWS-1252 when"),
    ):
        data = "\n".join(delimiter.join(row).replace(", ", " ") for row in csv.reader(text.splitlines())).encode(
            encoding
        )
        advice = lms.SYSTEMS["moodle"].grade_sheet(Sheet.of(data, "w.csv")).advice
        assert instruction in advice and ("This sheet was saved" in advice) == bool(instruction)
