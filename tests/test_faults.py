"""Faults of the machine: files that were emptied, disks that are full or answer with an error, times that come late. None of it costs a student a point."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from attacks import START
from collection import collect, export
from conftest import ROOT
from exports import CLASS, FFN, SYSTEMS, canvas_gradebook, moodle_name, worksheet
from exports import grade as enter_grades
from fabricated import save_grading
from nbgrader import api
from test_class import content, grade, graded_here, hand_in, used

from autograder import files, untrusted_files
from autograder.class_folder import log, submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import Manifest
from autograder.engine.graded_submission import GradedSubmission
from autograder.errors import UserError
from autograder.files import Batch
from autograder.gradebook import draw_secrets, preflight
from autograder.gradebook.gradebook import Book
from autograder.gradebook.policy import Policy

__all__ = ["graded_here", "used"]


# Files that were emptied


def empty(path: Path) -> None:
    path.write_bytes(b"")


def test_a_secret_that_is_gone_or_broken_comes_back_from_the_gradebook(used: ClassFolder) -> None:
    before = used.draws.read_bytes()
    for damage in (empty, Path.unlink):
        damage(used.draws)
        summary, _ = grade(used)
        assert summary.unchanged_count == 1 and "restored from the gradebook" in summary.note
        assert json.loads(used.draws.read_bytes()) == json.loads(before)
    assert used.draws.with_name("hidden_draws.json.broken").exists()


def test_another_secret_than_the_gradebooks_is_refused(used: ClassFolder) -> None:
    draws = json.loads(used.draws.read_bytes())
    draws[START]["secret"] = "0" * 64
    used.draws.write_text(json.dumps(draws))
    with pytest.raises(UserError, match="has a different secret"):
        grade(used)
    assert grade(used, anew=True)[0].unchanged_count == 1 and draw_secrets.check_secret(used, START) == ""


def test_a_broken_secret_of_an_earlier_version_gives_way_to_a_new_one_where_one_says_so(used: ClassFolder) -> None:
    with sqlite3.connect(used.path / "gradebook.db") as database:
        database.execute("DROP TABLE autograder_secret")
    empty(used.draws)
    with pytest.raises(UserError, match="can't be read"):
        grade(used)
    assert grade(used, anew=True)[0].unchanged_count == 1
    assert json.loads(used.draws.read_bytes())[START]["secret"]


@pytest.mark.parametrize("place", ["autograded/ada/{0}/{0}.ipynb", "feedback/ada/{0}/{0}.html"])
def test_what_grading_made_is_made_again_where_it_is_empty_or_gone(place: str, used: ClassFolder) -> None:
    path = used.path / place.format(START)
    for damage in (empty, Path.unlink):
        damage(path)
        assert grade(used)[0].graded_count == 1 and path.stat().st_size
    assert grade(used)[0].unchanged_count == 1


def test_an_emptied_notebook_is_never_a_zero(used: ClassFolder) -> None:
    path, before = used.submitted / "ada" / START / f"{START}.ipynb", content(used)
    empty(path)
    summary, submissions = grade(used)
    assert summary.needs_somebody and summary.unreadable[0].startswith(f"ada: {path.name}: empty") and not submissions
    assert {name: data for name, data in content(used).items() if name != str(path)} == {
        name: data for name, data in before.items() if name != str(path)
    }


def test_what_was_collected_is_put_back_where_it_was_emptied(tmp_path: Path, graded_here: object) -> None:
    class_folder = ClassFolder(tmp_path / "class")
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    list_of = canvas_gradebook(tmp_path / "b.csv", CLASS)
    collect(class_folder, archive, list_of)
    before = content(class_folder)
    notebooks = sorted(class_folder.submitted.rglob("*.ipynb"))
    empty(notebooks[0])
    plan = submitted_files.find(class_folder, FFN)[0]
    with pytest.raises(submitted_files.Empty):
        submitted_files.read(plan, 10)
    for path in (
        *class_folder.submitted.rglob("submission_secret.txt"),
        notebooks[1],
        *class_folder.path.rglob("001.ipynb"),
    ):
        empty(path)
    again = collect(class_folder, archive)
    assert again.new == 0 and again.placed_count == len(notebooks)
    assert {path: data for path, data in content(class_folder).items() if not path.endswith(".json")} == {
        path: data for path, data in before.items() if not path.endswith(".json")
    }


def test_an_emptied_roster_and_manifest_are_made_again_by_the_same_command(tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path / "class")
    archive = export(tmp_path / "a.zip", SYSTEMS[1].files(CLASS))
    list_of = canvas_gradebook(tmp_path / "b.csv", CLASS)
    collect(class_folder, archive, list_of)
    before = len(Manifest.load(class_folder, FFN).records)
    roster = (class_folder.path / "roster.csv").read_bytes()
    empty(class_folder.path / "roster.csv")
    empty(class_folder.path / "collected" / FFN / "manifest.json")
    with pytest.raises(UserError, match="collect its exports again"):
        Manifest.load(class_folder, FFN)
    report = collect(class_folder, archive, list_of)
    assert sum("as after a power cut" in line for line in report.doubts) == 2
    assert (
        len(Manifest.load(class_folder, FFN).records) == before
        and (class_folder.path / "roster.csv").read_bytes() == roster
    )
    assert len(list((class_folder.path / "damaged" / f"{FFN}-1").glob("files/*/001.ipynb"))) == before


# Times that come late, or change

LATE = "[assignments.00_start_here]\ndue = 2026-11-09T23:59:00Z\n[late]\npercent_a_day = 10\n"


def page_of(class_folder: ClassFolder) -> str:
    return (class_folder.feedback / "ada" / START / f"{START}.html").read_text(encoding="utf-8")


def test_a_time_that_comes_after_grading_counts_at_once(used: ClassFolder) -> None:
    (used.path / "course.toml").write_text(LATE)
    stamp = used.submitted / "ada" / START / untrusted_files.TIMESTAMP
    for text, points in (("2026-11-10 10:00:00.000000 UTC", 5.4), ("2026-11-09 10:00:00.000000 UTC", 6.0)):
        stamp.write_text(text)
        summary, _ = grade(used)
        assert (summary.graded_count, summary.unchanged_count, summary.new_time_count) == (0, 1, 1)
        with Book(used) as book:
            assert Policy.of(used).grades(book, START)["ada"].points == points
            assert f"{book.submission_times(START)['ada']:%Y-%m-%d %H}" == text[:13]
        assert ("Late by 1 day" in page_of(used)) == (points < 6)
        assert (used.autograded / "ada" / START / untrusted_files.TIMESTAMP).read_text() == text
    assert grade(used)[0].new_time_count == 0


def test_a_wrong_time_zone_is_mended_by_collecting_again(tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path / "class")
    archive = export(tmp_path / "a.zip", {moodle_name(student): student.data for student in CLASS[:2]})
    list_of = worksheet(tmp_path / "list.csv", CLASS)
    collect(class_folder, archive, list_of, zone=ZoneInfo("Asia/Kolkata"))
    stamps = sorted(class_folder.submitted.rglob(untrusted_files.TIMESTAMP))
    wrong = [path.read_text() for path in stamps]
    report = collect(class_folder, archive, list_of, zone=ZoneInfo("Europe/Berlin"))
    assert report.placed_count == len(stamps) and all(
        "as read before" in row.what for row in report.rows if row.attempt
    )
    right = ClassFolder(tmp_path / "right")
    collect(right, archive, list_of, zone=ZoneInfo("Europe/Berlin"))
    assert (
        [path.read_text() for path in stamps]
        == [path.read_text() for path in sorted(right.submitted.rglob(untrusted_files.TIMESTAMP))]
        != wrong
    )


# Errors of the disk


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EMFILE, errno.EACCES])
@pytest.mark.parametrize("name", [f"{START}.ipynb", untrusted_files.TIMESTAMP])
def test_what_the_machine_can_not_read_is_not_graded_and_said(
    code: int, name: str, used: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(used, "ben")
    (used.submitted / "ada" / START / untrusted_files.TIMESTAMP).write_text("2026-11-10 10:00:00.000000 UTC")
    before, opening = page_of(used), os.open

    def broken(path: object, *how: int) -> int:
        if Path(str(path)) == used.submitted / "ada" / START / name:
            raise OSError(code, os.strerror(code), str(path))
        return opening(path, *how)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", broken)
    summary, submissions = grade(used, force=True)
    assert list(submissions) == ["ben"] and summary.needs_somebody
    assert summary.unreadable == [f"ada: {name}: {os.strerror(code)}"] and page_of(used) == before
    monkeypatch.undo()
    assert grade(used)[0].unchanged_count == 2


def test_what_a_person_read_is_still_read_after_an_attempt_that_could_not_be(used: ClassFolder) -> None:
    """An earlier version entered an attempt without cells where the disk failed."""
    with Book(used, writing=True) as book:
        (entry,) = book.history_with_cells(START, "ada")
        save_grading(
            book,
            "ada",
            GradedSubmission(START, {name: entry[0].verdict(name) for name in entry[0].verdicts}),
            "1" * 64,
            None,
        )
        assert book._answers(START, ["ada"])["ada"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can't be mounted here: that takes root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def command(*words: str | Path, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    def lower() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "autograder", *map(str, words)],
        cwd=ROOT, capture_output=True, text=True, check=False, preexec_fn=lower,
    )  # fmt: skip


def test_a_full_disk_is_one_line_and_the_same_command_goes_on(used: ClassFolder, small_disk: Path) -> None:
    class_folder, ballast = ClassFolder(small_disk / "class"), small_disk / "ballast"
    archive = export(small_disk.with_name("a.zip"), SYSTEMS[1].files(CLASS))
    shutil.copytree(used.path, class_folder.path)
    for words in (("collect", archive, "--grading", class_folder.path), ("report", "--grading", class_folder.path)):
        with open(ballast, "wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
            while True:
                file.write(bytes(4096))
        process = command(*words)
        assert process.returncode == 2 and process.stderr.count("\n") == 1, process.stderr
        assert "the disk is full; nothing is lost, and the same command continues" in process.stderr
        assert not list(class_folder.path.rglob(f"*{files.DRAFT}"))
        ballast.unlink()
        assert command(*words).returncode in (0, 2) and "full" not in command(*words).stderr


def test_a_limit_on_the_size_of_files_is_one_line(used: ClassFolder) -> None:
    folder = used.path.parent
    archive = export(folder / "a.zip", SYSTEMS[0].files(CLASS))
    list_of = worksheet(folder / "w.csv", CLASS)
    class_folder = ClassFolder(folder / "given")
    collect(class_folder, archive, list_of)
    enter_grades(class_folder, {student.i: student.sis for student in CLASS})
    list_of.write_bytes(list_of.read_bytes().replace(b",-,", b",-," + b"x" * 10_000))
    back = ("give-back", "moodle", FFN, "--sheet", list_of, "--to", folder / "back.csv", "--grading", class_folder.path)
    here = ("--grading", used.path)
    for words in (("report", *here), ("collect", archive, "--roster", list_of, *here), ("grade", *here), back):
        process = command(*words, limit=20_000)
        assert process.returncode == 2 and "ulimit -f" in process.stderr and process.stderr.count("\n") == 1, (
            process.stderr
        )


def test_a_batch_that_breaks_off_changes_nothing(tmp_path: Path) -> None:
    files.replace(tmp_path / "a", "before")
    (tmp_path / "b.draft").mkdir()
    with pytest.raises(IsADirectoryError), Batch() as batch:
        batch.write(tmp_path / "a", "after")
        batch.write(tmp_path / "b", "after")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b.draft"]
    assert (tmp_path / "a").read_text() == "before"


def test_files_are_on_the_disk_before_the_gradebook_says_so(
    tmp_path: Path, graded_here: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    class_folder = ClassFolder(tmp_path)
    events: list[str] = []
    for student in ("ada", "ben"):
        hand_in(class_folder, student)
    grade(class_folder, student="ben")

    def watch(place: object, name: str) -> None:
        real = getattr(place, name)

        def record_call(*arguments: object) -> object:
            events.append(name)
            return real(*arguments)

        monkeypatch.setattr(place, name, record_call)

    for place, name in ((files, "_sync"), (Path, "replace"), (os, "fsync")):
        watch(place, name)
    sa.event.listen(sa.Engine, "commit", lambda connection: events.append("commit"))
    grade(class_folder, student="ada")
    order = [name for name, after in zip(events, [*events[1:], ""], strict=True) if name != after]
    assert order[-5:] == ["_sync", "replace", "_sync", "commit", "fsync"], order


def test_a_line_of_the_log_that_is_missing_is_appended(used: ClassFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = used.path / "grading.log"

    class Killed(BaseException):
        """The command ends between the commit and the line."""

    def kill(*_: object) -> None:
        raise Killed

    for student in ("ben", "cem"):
        hand_in(used, student)
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(log.LogLine, "__str__", kill)
            grade(used)
        assert grade(used)[0].unchanged_count == path.read_text().count("\n")
    assert [line.split("  ")[1] for line in path.read_text().splitlines()] == ["ada", "ben", "cem"]


# A gradebook that was never finished


def test_a_gradebook_whose_making_was_broken_off_is_finished(tmp_path: Path, graded_here: object) -> None:
    names = [table.name for table in api.Base.metadata.sorted_tables]
    assert {*names, "alembic_version"} == preflight.ALL_OF_NBGRADERS
    for count in (1, 6, len(names)):
        class_folder = ClassFolder(tmp_path / str(count))
        hand_in(class_folder, "ada")
        engine = sa.create_engine(class_folder.db_url)
        api.Base.metadata.create_all(engine, tables=api.Base.metadata.sorted_tables[:count])
        engine.dispose()
        assert grade(class_folder)[0].graded_count == 1


def killed_at_the_sixth_table(folder: Path, url: str | None = None) -> int:
    """How a process ends that makes a class's gradebook, in SQLite or at a URL, and kills itself half-way."""
    script = (
        "import os, sqlalchemy as sa; from pathlib import Path; from autograder.gradebook import gradebook; "
        "from autograder.class_folder.folder import ClassFolder\n"
        "seen = []\n"
        "@sa.event.listens_for(sa.Engine, 'before_cursor_execute')\n"
        "def _(connection, cursor, statement, *_):\n"
        "    seen.append(statement)\n"
        "    if len([one for one in seen if 'CREATE TABLE' in one]) == 6: os.kill(os.getpid(), 9)\n"
        f"gradebook.Book(ClassFolder(Path({str(folder)!r}), {url!r}), writing=True)"
    )
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode


def test_making_a_gradebook_is_one_step(tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path)
    assert killed_at_the_sixth_table(tmp_path) == -9
    with sqlite3.connect(class_folder.path / "gradebook.db") as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == []
    with Book(class_folder) as book:
        assert book.assignments() == []


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    """As root, a report that went to /dev/null would otherwise take that device away from the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_private(pipe, "a report")
        assert os.read(reader, 100) == b"a report"
    finally:
        os.close(reader)
    assert pipe.is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe"]
