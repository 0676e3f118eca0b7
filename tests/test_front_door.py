"""What a student can do to collecting: folders that change under it, links, pipes, floods. Each costs that submission, and nobody else's."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import json
import logging
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from collection import asked, collect, enter_decisions, export, inbound, without_gradebook
from conftest import ROOT
from exports import (
    CLASS,
    FFN,
    SYSTEMS,
    Somebody,
    blackboard_name,
    canvas_name,
    d2l_folder,
    exchange_folder,
    handed_in_by,
    moodle_name,
    notebook,
    sheet,
    worksheet,
)
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from traitlets.config import Config

from autograder.class_folder import roster
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.roster import parse_list
from autograder.class_folder.student_lookup import StudentLookup
from autograder.engine import doctor, permissions
from autograder.errors import UserError
from autograder.jail import users
from autograder.jail.errors import JailWontStart
from autograder.lms import archive, exchange, sheets
from autograder.lms.archive import Refused
from autograder.lms.records import ExportedFile
from autograder.lms.sheets import Sheet
from autograder.nbgrader_patches.exchange import Collect
from autograder.transfer import group_files

MALLORY, HONEST = CLASS[0], CLASS[1:4]
WHEN = "2026-10-02 10:00:00.000000 UTC"
SECRET_NOTEBOOK = notebook("SOMEBODY ELSE'S")


@pytest.fixture
def class_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassFolder:
    without_gradebook(monkeypatch)
    return ClassFolder(tmp_path / "class")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder that the student can't read, and the collector can."""
    folder = tmp_path / "solutions"
    folder.mkdir()
    (folder / f"{FFN}.ipynb").write_bytes(SECRET_NOTEBOOK)
    return folder


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Path]:
    """The exchange's inbound/, in which three honest students have handed in, and mallory's folder with a notebook in a folder of its own."""
    folder = tmp_path / "inbound"
    for student in HONEST:
        inbound(folder, student, WHEN, student.data, "a" * 128)
    inbound(folder, MALLORY, WHEN, MALLORY.data, "b" * 128)
    place = mallorys(folder)
    (place / "work").mkdir()
    (place / f"{FFN}.ipynb").rename(place / "work" / f"{FFN}.ipynb")
    folder.chmod(0o3733)
    yield folder
    subprocess.run(["rm", "-rf", tmp_path], check=True)  # shutil's own can't remove folders a thousand deep


def mallorys(door: Path) -> Path:
    return door / exchange_folder(MALLORY, when=WHEN)


def assert_honest(class_folder: ClassFolder) -> None:
    there = handed_in_by(class_folder)
    assert {student.i: student.username for student in HONEST}.items() <= there.items()
    assert SECRET_NOTEBOOK not in {path.read_bytes() for path in class_folder.path.rglob("*.ipynb")}


# What changes between the look and the reading


def swap_folder(place: Path, victim: Path) -> None:
    (place / "work").rename(place / "other")
    (place / "work").symlink_to(victim)


def swap_file(place: Path, victim: Path) -> None:
    (place / "work" / f"{FFN}.ipynb").unlink()
    (place / "work" / f"{FFN}.ipynb").symlink_to(victim / f"{FFN}.ipynb")


def swap_all(place: Path, victim: Path) -> None:
    place.rename(place.with_name("away"))
    (place.parent / "link").mkdir()
    place.symlink_to(victim)


def hard_link(place: Path, victim: Path) -> None:
    (place / "work" / f"{FFN}.ipynb").unlink()
    os.link(victim / f"{FFN}.ipynb", place / "work" / f"{FFN}.ipynb")


def another_folder(place: Path, victim: Path) -> None:
    (place / "work").rename(place / "other")
    shutil.copytree(victim, place / "work")


def pipe(place: Path, victim: Path) -> None:
    (place / "work" / f"{FFN}.ipynb").unlink()
    os.mkfifo(place / "work" / f"{FFN}.ipynb")


def write_more(place: Path, victim: Path) -> None:
    with open(place / "work" / f"{FFN}.ipynb", "ab") as file:
        file.write(b" " * 10)


def remove(place: Path, victim: Path) -> None:
    shutil.rmtree(place / "work")


CHANGES = [swap_folder, swap_file, swap_all, hard_link, another_folder, pipe, write_more, remove]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_was_exchanged_after_it_was_found_is_not_read(
    change: Callable[[Path, Path], None],
    door: Path,
    victim: Path,
    class_folder: ClassFolder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = archive.open_archive

    def find_and_change(*arguments: Any) -> archive.Archive:
        found = find(*arguments)
        change(mallorys(door), victim)
        return found

    monkeypatch.setattr(archive, "open_archive", find_and_change)
    report = collect(class_folder, door)
    assert_honest(class_folder)
    (trouble,) = asked(report).values()
    assert trouble == "refused, it changed while it was collected: collect again"


def test_a_folder_that_is_exchanged_all_the_time_never_brings_what_a_link_leads_to(
    door: Path, victim: Path, class_folder: ClassFolder
) -> None:
    place = mallorys(door)
    stop = threading.Event()
    (place / "link").symlink_to(victim)

    def race() -> None:
        while not stop.is_set():
            (place / "work").rename(place / "kept")
            (place / "link").rename(place / "work")
            (place / "work").rename(place / "link")
            (place / "kept").rename(place / "work")

    thread = threading.Thread(target=race)
    thread.start()
    try:
        for _ in range(10):
            collect(class_folder, door, dry_run=True)
        collect(class_folder, door)
    finally:
        stop.set()
        thread.join()
    assert_honest(class_folder)


def test_a_notebook_that_is_written_while_it_is_read_is_not_taken_in_half(
    door: Path, class_folder: ClassFolder
) -> None:
    with archive.open_archive(door) as found:
        (entry,) = [entry for entry in found.entries if "/work/" in entry.name]
        path = mallorys(door) / "work" / f"{FFN}.ipynb"
        assert entry.read() == MALLORY.data
        path.write_bytes(b"{}")
        with pytest.raises(Refused, match="changed"):
            entry.read()


# What one student's folder does to the others


def flood(place: Path) -> None:
    for number in range(archive.MAX_FILES + 1):
        (place / f"{number}.txt").touch()


def deep(place: Path) -> None:
    descriptors = [os.open(place, os.O_RDONLY)]
    for _ in range(1_500):
        os.mkdir("d", dir_fd=descriptors[-1])
        descriptors.append(os.open("d", os.O_RDONLY, dir_fd=descriptors[-1]))
        if len(descriptors) > 2:
            os.close(descriptors.pop(0))
    for descriptor in descriptors:
        os.close(descriptor)


def long_path(place: Path) -> None:
    here = os.open(place, os.O_RDONLY)
    for _ in range(19):
        os.mkdir("x" * 250, dir_fd=here)
        there = os.open("x" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(os.open("notebook.ipynb", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def links(place: Path) -> None:
    (place / "a.ipynb").symlink_to("/etc/passwd")
    (place / "b").symlink_to("/")
    (place / "c.ipynb").symlink_to("/dev/zero")
    (place / "._d.ipynb").symlink_to(ROOT / "solutions" / FFN / f"{FFN}.ipynb")
    (place / "e.ipynb").symlink_to("nowhere")


def odd_files(place: Path) -> None:
    os.mkfifo(place / "a.ipynb")
    os.mkfifo(place / "timestamp.txt.ipynb")
    (place / "b.ipynb").mkdir()


def odd_names(place: Path) -> None:
    for name in (b"\xff\xfe.ipynb", b"a\nb.ipynb", "\N{RIGHT-TO-LEFT OVERRIDE}.ipynb".encode(), b"\\..\\x.ipynb"):
        (place / os.fsdecode(name)).write_bytes(b"{}")


def large(place: Path) -> None:
    with open(place / "large.ipynb", "wb") as file:
        file.truncate(2**40)


@pytest.mark.parametrize(
    "what", [flood, deep, long_path, links, odd_files, odd_names, large], ids=lambda what: what.__name__
)
def test_a_students_folder_costs_nobody_elses_submission(
    what: Callable[[Path], None], door: Path, class_folder: ClassFolder
) -> None:
    what(mallorys(door))
    start = time.monotonic()
    report = collect(class_folder, door)
    assert time.monotonic() - start < 60
    assert_honest(class_folder)
    assert report.needs_somebody or what is odd_names
    assert all(MALLORY.username in line for line in (*asked(report), *report.doubts)), "and only hers is named"


def test_a_flood_beside_the_submissions_hides_none(door: Path, class_folder: ClassFolder) -> None:
    for number in range(300):
        (door / f"Mallory_{number}_assignsubmission_file_{FFN}.ipynb").write_bytes(MALLORY.data)
    report = collect(class_folder, door)
    assert_honest(class_folder)
    assert "not understood" in report.doubts[0] and len(report.doubts) < 30
    assert any("280 more are refused or not understood" in line for line in report.doubts)


def test_a_student_who_attaches_thousands_of_files_keeps_nobody_from_being_collected(
    tmp_path: Path, class_folder: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_files, "MAX_FILES", 50)
    (system,) = [system for system in SYSTEMS if system.name == "canvas"]
    files = dict(system.files(CLASS))
    (hers,) = [name for name in files if MALLORY.data == files[name]]
    files = {hers.replace(FFN, f"a{number}").replace(".ipynb", ".txt"): b"x" for number in range(500)} | files
    report = collect(class_folder, export(tmp_path / "e.zip", files))
    assert len(handed_in_by(class_folder)) == len(CLASS), "of many files, those called notebooks are read first"
    assert any("451 of its 501 files were not read" in trouble for trouble in asked(report).values())


# The hub's own button


@pytest.fixture
def hub(
    door: Path,
    class_folder: ClassFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> Callable[[], list[str]]:
    """Runs nbgrader's collecting, as formgrader does; returns what it logs."""
    course = tmp_path / "exchange" / "C"
    course.mkdir(parents=True)
    door.rename(course / "inbound")
    monkeypatch.setattr(permissions, "find_takeovers", lambda *arguments: [])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    class_folder.path.mkdir()
    config = Config()
    config.CourseDirectory.root, config.CourseDirectory.course_id = str(class_folder.path), "C"
    config.CourseDirectory.assignment_id = FFN
    config.Exchange.root = str(tmp_path / "exchange")

    def run() -> list[str]:
        app = Collect(coursedir=CourseDirectory(config=config), config=config)
        app.log = logging.getLogger("hub")
        with caplog.at_level(logging.INFO, "hub"), contextlib.suppress(ExchangeError):
            app.start()
        return [line for record in caplog.records for line in record.getMessage().splitlines()]

    return run


@pytest.mark.usefixtures("victim")
def test_the_hubs_collect_follows_no_link_and_goes_on(hub: Any, class_folder: ClassFolder, tmp_path: Path) -> None:
    place = mallorys(tmp_path / "exchange" / "C" / "inbound")
    shutil.rmtree(place / "work")
    (place / f"{FFN}.ipynb").symlink_to(tmp_path / "solutions" / f"{FFN}.ipynb")
    (place / "zero.ipynb").symlink_to("/dev/zero")
    deep(place)
    (place / "ipykernel_launcher.py").write_text("print('mine')")
    lines = hub()
    assert_honest(class_folder)
    assert any("a symbolic link" in line for line in lines) and "for you to settle" in lines[-1]
    assert not list(class_folder.submitted.rglob("ipykernel_launcher.py")), "a kernel would run it"


# A large class, in each system's form


@cache
def two_cells() -> str:
    cells = [cell for cell in json.loads(notebook())["cells"] if cell["metadata"].get("nbgrader", {}).get("solution")]
    return json.dumps({"cells": [cell | {"source": "answer = NUMBER"} for cell in cells[:2]]})


def small_notebook(i: int) -> bytes:
    """One with two cells of ours, and an answer of its own."""
    return two_cells().replace("NUMBER", str(i)).encode()


FORMS: dict[str, Callable[[Somebody], dict[str, bytes]]] = {
    "moodle": lambda student: {moodle_name(student): small_notebook(student.i)},
    "canvas": lambda student: {canvas_name(student): small_notebook(student.i)},
    "brightspace": lambda student: {f"{d2l_folder(student)}/{FFN}.ipynb": small_notebook(student.i)},
    "blackboard": lambda student: {
        blackboard_name(student): small_notebook(student.i),
        blackboard_name(student).partition(f"_{FFN}.ipynb")[0] + ".txt": b"Name: somebody",
    },
    "nbgrader": lambda student: {f"{exchange_folder(student)}/{FFN}.ipynb": small_notebook(student.i)},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_class_of_ten_thousand_and_one_is_collected(form: str, tmp_path: Path, class_folder: ClassFolder) -> None:
    people = [Somebody(i, f"First{i}", f"Last{i}") for i in range(10_001)]
    files = {name: data for student in people for name, data in FORMS[form](student).items()}
    lists = [worksheet(tmp_path / "w.csv", people)] if form == "moodle" else []  # without one, its numbers are nobody's
    report = collect(class_folder, export(tmp_path / "e.zip", files), *lists, dry_run=True)
    assert (report.new, [decision.trouble for decision in report.pending_decisions][:1]) == (10_001, [])


# Names, which everybody chooses for themselves

LOOK_ALIKES = ["Ann Àble", "Able Ann", "\uff21nn Able", "Ann-Able", "ANN ABLE", "Ann  Able", "Ann Able"]


def d2l(number: int, name: str, answer: str, when: str = "May 18, 2025 1224 PM") -> dict[str, bytes]:
    return {f"{number}-351765 - {name} - {when}/{FFN}.ipynb": notebook(answer)}


def able_list(path: Path, *names: tuple[str, str]) -> Path:
    rows = [["OrgDefinedId", "Username", "Last Name", "First Name", "Email", "End-of-Line Indicator"]]
    rows += [
        [f"#{first.lower()}{n}", f"#{first.lower()}", last, first, f"{first}@x.example", "#"]
        for n, (first, last) in enumerate(names)
    ]
    return sheet(path, rows)


@pytest.mark.parametrize("name", LOOK_ALIKES)
@pytest.mark.parametrize("first", [True, False])
def test_a_look_alikes_work_never_counts_as_the_victims(
    name: str, first: bool, class_folder: ClassFolder, tmp_path: Path
) -> None:
    """Whether the look-alike comes in the same export as the victim, or in one of their own later."""
    listed = able_list(tmp_path / "g.csv", ("Ann", "Able"), ("Bob", "Lee"))
    anns, others = d2l(101, "Ann Able", "1"), d2l(102, "Bob Lee", "2")
    mallorys = d2l(103, name, "3", "May 19, 2025 1224 PM")
    exports = [anns | others | mallorys] if first else [anns | others, mallorys]
    for number, files in enumerate(exports):
        report = collect(class_folder, export(tmp_path / f"{number}.zip", files), listed, match_names=True)
    assert report.needs_somebody
    roster = (class_folder.path / "roster.csv").read_text(encoding="utf-8")
    assert "101 103" not in roster and "103 101" not in roster
    notebooks = [path.read_text(encoding="utf-8") for path in class_folder.submitted.rglob(f"{FFN}.ipynb")]
    assert not any("answer = '3'" in text for text in notebooks)


def test_a_part_of_a_groups_name_makes_nobody_a_member(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["First name", "Last name", "ID number", "Email address", "Groups"]]
    groups = {0: "Mallory, Team 1", 1: "Team 1", 2: "Team 1", 3: "Team 2"}
    rows += [[student.first, student.last, student.sis, student.email, groups[student.i]] for student in CLASS[:4]]
    files = {
        f"{team}_assignsubmission_file/{FFN}.ipynb": notebook(f"the answer of number {n}")
        for n, team in enumerate(("Team 1", "Team 2"))
    }
    archive = export(tmp_path / "a.zip", files)
    listed = sheet(tmp_path / "p.csv", rows)
    report = collect(class_folder, archive, listed)
    assert handed_in_by(class_folder) == {1: CLASS[3].sis}
    assert "by a part of “Mallory; Team 1” only: write the ids of its members" in next(iter(asked(report).values()))
    enter_decisions(class_folder, **{"Team 1": f"student {CLASS[1].sis} {CLASS[2].sis}"})
    assert not collect(class_folder, archive, listed).needs_somebody


def test_who_is_in_two_groups_that_are_others_too_is_in_both(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["First name", "Last name", "ID number", "Email address", "Groups"]]
    groups = {0: "Team 1, Lab A", 1: "Lab A", 2: "Team 1"}
    rows += [[student.first, student.last, student.sis, student.email, groups[student.i]] for student in CLASS[:3]]
    archive = export(tmp_path / "a.zip", {f"Team 1_assignsubmission_file/{FFN}.ipynb": notebook("x")})
    assert not collect(class_folder, archive, sheet(tmp_path / "p.csv", rows)).pending_decisions
    assert {path.name for path in class_folder.submitted.iterdir()} == {CLASS[0].sis, CLASS[2].sis}


def test_a_layer_that_cannot_be_looked_at_is_said_and_the_others_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk() -> doctor.Finding:
        raise OSError(errno.ENOSPC, "No space left on device", "/run/autograder")

    monkeypatch.setattr(doctor, "_user_ids", full_disk)
    monkeypatch.setattr(doctor, "_jail", lambda: iter(()))
    found = list(doctor.findings())
    (broken,) = [finding for finding in found if "No space left" in finding.detail]
    assert not broken.ok and broken.layer == "user ids"
    assert found.index(broken) < len(found) - 2


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_no_file_in_place_of_a_lock_on_user_ids_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(users, "_lock_folder", lambda: tmp_path)
    count = len(users.ranges("uid")) // users.COUNT
    for block in range(count):
        path = tmp_path / f"user-ids-{users.ranges('uid').start + block * users.COUNT}.lock"
        if kind == "link":
            path.symlink_to("elsewhere")
        elif kind == "folder":
            path.mkdir()
        else:
            os.mkfifo(path)
    with pytest.raises(JailWontStart, match=r"user-ids-\d+\.lock can't be opened .*: remove it"):
        users._reserve(count, users.ranges("uid").start)


def test_two_groups_that_read_alike_are_a_persons_decision(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["First name", "Last name", "ID number", "Email address", "Groups"]]
    groups = {0: "TEAM_1", 1: "Team 1", 2: "Team 1"}
    rows += [[student.first, student.last, student.sis, student.email, groups[student.i]] for student in CLASS[:3]]
    archive = export(tmp_path / "a.zip", {f"Team 1_assignsubmission_file/{FFN}.ipynb": notebook("x")})
    report = collect(class_folder, archive, sheet(tmp_path / "p.csv", rows))
    assert not handed_in_by(class_folder)
    assert "teams that read alike, “TEAM_1” and “Team 1”" in next(iter(asked(report).values()))


def packed(name: str, data: bytes) -> archive.ArchiveEntry:
    return archive.ArchiveEntry(name, len(data), lambda: data)


def tar_of(count: int) -> bytes:
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for number in range(count):
                tar.addfile(tarfile.TarInfo(str(number)))
        return file.getvalue()


def test_a_tar_of_many_empty_files_costs_no_copy_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a stream, tarfile copies all that it has unpacked for every member: with 40,000, which are 500 bytes of bz2, that took 17 seconds."""
    read: list[str] = []
    monkeypatch.setattr("tarfile._Stream.read", lambda self, size=None: read.append("as a stream"))
    found = archive.open_packed(packed("a.tar.bz2", bz2.compress(tar_of(2_000))))
    assert len(found.entries) == 2_000 and not read


@pytest.mark.parametrize(
    "compress", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=lambda way: way.__module__
)
def test_a_tar_is_read_whichever_way_it_is_compressed(compress: Callable[[bytes], bytes]) -> None:
    assert [entry.name for entry in archive.open_packed(packed("a.tar.gz.tar", compress(tar_of(3)))).entries] == list(
        "012"
    )


def test_a_tar_whose_name_claims_to_have_gigabytes_is_refused_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "PACKED_BOUNDS", archive.Bounds(16 * 2**20, 1_000, 2**20))
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 4 * 2**30
    start = header.tobuf(tarfile.GNU_FORMAT)
    for more in (b"", b"a" * 2**21):  # cut off, or with more than is read
        with pytest.raises(Refused):
            archive.open_packed(packed("a.tar.bz2", bz2.compress(start + more)))


def test_a_long_name_of_many_folders_is_not_kept_folder_by_folder(tmp_path: Path) -> None:
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as packed_file:
            packed_file.writestr("a/" * 20_000 + "x", b"")
            packed_file.writestr("__MACOSX/a/x", b"")
        data = file.getvalue()
    tracemalloc.start()
    (entry,) = archive.open_packed(packed("a.zip", data)).entries
    assert entry.trouble == "its name is too long"
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20, "each folder of the name as a name of its own is 400 MB"
    tracemalloc.stop()


def test_a_folder_that_cannot_be_looked_at_is_its_owners_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where its owner has mounted a file system of their own over it, into which not even root may look."""
    for name in ("ada", "mallory"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.ipynb").write_bytes(b"{}")
    scandir = os.scandir

    class Unseen:
        name = "mallory"

        def stat(self, follow_symlinks: bool) -> os.stat_result:
            raise PermissionError(errno.EACCES, "Permission denied")

    @contextlib.contextmanager
    def listed(place: Any) -> Iterator[Iterator[Any]]:
        with scandir(place) as entries:
            yield iter([Unseen() if entry.name == "mallory" else entry for entry in entries])

    monkeypatch.setattr(os, "scandir", listed)
    with archive.open_archive(tmp_path) as found:
        troubles = {entry.name: entry.trouble for entry in found.entries}
    assert troubles == {"ada/x.ipynb": "", "mallory": "it can't be looked at: Permission denied"}


def test_a_login_or_a_number_on_the_roll_may_look_like_no_id(class_folder: ClassFolder, tmp_path: Path) -> None:
    rows = [["First name", "Last name", "Username", "ID number", "Email address"]]
    for student, login, number in zip(CLASS, ("null", "nan", "cleo"), ("19E0042", "2.0231E+11", "-"), strict=False):
        rows.append([student.first, student.last, login, number, student.email])
    people = parse_list(Sheet.read(sheet(tmp_path / "p.csv", rows)))[1]
    kept, doubts = roster._with_true_ids(people)
    assert [person.ids.get("username") for person in kept] == ["null", "nan", "cleo"]
    assert [person.ids.get("sis_id") for person in kept] == ["19E0042", None, None]
    assert len(doubts) == 1 and "2.0231E+11" in doubts[0]


def test_a_folder_that_another_account_laid_has_the_time_at_which_it_was_laid() -> None:
    """A name with a capital letter, or a friend's account, made a person decide whose it is, and the time was the one in the name."""
    top = "Ada+02_feed_forward+2026-01-02 10:00:00 UTC"
    laid = datetime(2026, 11, 2, tzinfo=UTC)
    for owner, handed_in_at in ((65_534, laid), (os.geteuid(), datetime(2026, 1, 2, 10, tzinfo=UTC))):
        entry = archive.ArchiveEntry(
            f"{top}/{FFN}.ipynb", 2, lambda: b"{}", owners=(owner,), change_times=(laid.timestamp(),)
        )
        (file,) = exchange._read_folder(top, [entry], [UTC])
        assert file.handed_in_at == handed_in_at


def test_a_carriage_return_in_a_cell_does_not_split_a_row(tmp_path: Path) -> None:
    path = tmp_path / "settle.csv"
    path.write_bytes(sheets.make_table(["whose", "what"], [["a\rb", "c"], ["d", "e"]]))
    assert [list(row) for row in Sheet.read(path).rows] == [["a\rb", "c"], ["d", "e"]]


def test_a_login_that_is_another_students_name_takes_nothing_from_them(tmp_path: Path) -> None:
    rows = [["First name", "Last name", "Username", "ID number", "Email address"]]
    rows += [
        ["Ann", "Able", "ann", "1", "a@x.edu"],
        ["Mal", "Lory", "Ann Able", "2", "m@x.edu"],
        ["Bob", "", "bob", "3", "b@x.edu"],
    ]
    whole = roster.Roster()
    for person in parse_list(Sheet.read(sheet(tmp_path / "p.csv", rows)))[1]:
        whole.take(person, is_from_list=True)
    lookup = StudentLookup(whole)
    with pytest.raises(UserError, match="2 students are called 'Ann Able'"):
        lookup.find("Ann Able")
    assert [lookup.find(text) for text in ("ann", "2", "Bob")] == ["1", "2", "3"]


def test_only_plain_letters_of_a_login_have_two_cases() -> None:
    fold = partial(roster._plain, "username")
    assert fold(" KIM ") == fold("kim")
    assert len({*map(fold, ("kim", "\u212aim", "\ufb01m", "fim"))}) == 4


def test_what_one_account_lays_in_any_number_of_folders_has_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of holes takes no room in the exchange, and its whole size here: many folders of them filled the class's disk."""
    monkeypatch.setattr(group_files, "MAX_BYTES_OF_ONE", 5_000)

    def handed_in(student: str, laid_by: str, number: int) -> ExportedFile:
        return ExportedFile(
            "nbgrader", student, (), student, f"{student}{number}/data.csv", "data.csv", lambda: bytes(2_000),
            submission_id=f"{student}{number}", laid_by=laid_by,
        )  # fmt: skip

    files = [handed_in(f"{n} (of mallory)", "mallory", n) for n in range(9)] + [handed_in("ada", "ada", 1)]
    found = group_files.group_files(files, [FFN], lambda data: lambda: data)
    assert [submission.file_count for submission in found] == [1, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    assert "MiB of all that one person hands in" in found[4].refusals[0][1] and not found[9].refusals
