"""The gradebook in PostgreSQL instead of SQLite: a real server, started for these tests and ended after them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from attacks import START
from conftest import needs_bubblewrap
from fabricated import save_grading
from nbgrader import api
from test_faults import killed_at_the_sixth_table
from test_survival import assert_graded_once, class_of, lines_of

from autograder.authoring import plain_nbgrader
from autograder.class_folder.folder import ClassFolder
from autograder.engine import pool
from autograder.engine.graded_submission import GradedSubmission
from autograder.errors import UserError
from autograder.gradebook.gradebook import Book
from autograder.grading import grade_class
from ffnlab.checking.verdict import not_earned
from ffnlab.registry import active_course

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
AS_POSTGRES = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []  # its server refuses to run as root
pytestmark = [
    needs_bubblewrap,
    pytest.mark.skipif(not PROGRAMS, reason="postgresql is not installed: its tests are skipped"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an empty database, in the form that most hosts print."""
    folder = Path(tempfile.mkdtemp(prefix="gradebook-"))
    with socket.socket() as channel:
        channel.bind(("127.0.0.1", 0))
        port = channel.getsockname()[1]
    if AS_POSTGRES:
        shutil.chown(folder, "postgres")

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [*AS_POSTGRES, str(PROGRAMS[-1] / program), *arguments], cwd=folder, check=True, capture_output=True
        )

    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
    try:
        run("initdb", "-D", str(folder / "data"), "-U", "grader", "-A", "trust")
        run("pg_ctl", "-D", str(folder / "data"), "-o", options, "-l", str(folder / "log"), "-w", "start")
        run("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "grader", "gradebook")
        yield f"postgres://grader@127.0.0.1:{port}/gradebook"
    finally:
        subprocess.run([*AS_POSTGRES, str(PROGRAMS[-1] / "pg_ctl"), "-D", str(folder / "data"), "-m", "immediate", "stop"],
                       cwd="/", check=False, capture_output=True)  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)


def test_a_class_is_graded_once_into_postgresql(server: str, team: pool.GradingPool, tmp_path: Path) -> None:
    students = 4
    class_folder = ClassFolder(class_of(tmp_path, students).path, server)
    first = grade_class.grade(class_folder, START, team)
    again = grade_class.grade(class_folder, START, team)
    assert (first.graded_count, again.graded_count, again.unchanged_count) == (students, 0, students)
    assert not (tmp_path / "gradebook.db").exists() and lines_of(class_folder) == students
    assert_graded_once(class_folder, students)
    assert plain_nbgrader.scores(class_folder, START)["student000"]["hello_shape"] == 2.0


def test_a_server_that_does_not_answer_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't be opened") as error:
        Book(ClassFolder(tmp_path, "postgresql://grader@127.0.0.1:9/gradebook"))
    assert "\n" not in str(error.value)


def test_what_no_database_can_hold_is_entered_all_the_same(server: str, tmp_path: Path) -> None:
    text = "NUL \x00, half a character \ud800, \x1b[31mred"
    verdicts = {exercise.name: not_earned(exercise, text, text) for exercise in active_course().exercises_of(START)}
    with Book(ClassFolder(tmp_path, server), writing=True) as book:
        book.sync_assignment(START)
        save_grading(book, "eve", GradedSubmission(START, verdicts, remarks=[text]), "0" * 64, None)
        (attempt,) = book.latest(START, ["eve"])
    assert attempt.points == 0.0


def test_a_gradebook_has_one_writer_whichever_folders_there_are(server: str, tmp_path: Path) -> None:
    first, second = (ClassFolder(tmp_path / name, server) for name in ("one", "other"))
    with Book(first, writing=True):
        with pytest.raises(UserError, match=f"by autograder, process {os.getpid()} on {socket.gethostname()[:20]}"):
            Book(second, writing=True)
        with Book(second):  # a report reads meanwhile
            pass
    with Book(second, writing=True):
        pass


def test_a_gradebook_that_can_only_be_read_is_one_line_before_any_work(
    server: str, team: pool.GradingPool, tmp_path: Path
) -> None:
    class_folder = class_of(tmp_path, 2)
    grade_class.grade(ClassFolder(class_folder.path, server), START, team)
    engine = sa.create_engine(ClassFolder(tmp_path, server).db_url)
    with engine.begin() as connection:
        for words in ("CREATE ROLE reader LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"):
            connection.execute(sa.text(words))
    engine.dispose()
    pages = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.html")}
    for address, why in (
        (server.replace("grader@", "reader@"), "may not write into its table"),
        (f"{server}?options=-c%20default_transaction_read_only%3Don", "read-only, as a standby is"),
    ):
        with pytest.raises(UserError, match=why):
            grade_class.grade(
                ClassFolder(class_folder.path, address), START, team, grade_class.GradeOptions(force=True)
            )
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.html")} == pages


def test_making_a_gradebook_is_one_step_and_one_that_was_broken_off_is_finished(server: str, tmp_path: Path) -> None:
    url = sa.make_url(ClassFolder(tmp_path, server).db_url)
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE half"))
    admin.dispose()
    half = url.set(database="half")
    address = half.render_as_string(hide_password=False)
    assert killed_at_the_sixth_table(tmp_path, address) == -9
    engine = sa.create_engine(half)
    assert sa.inspect(engine).get_table_names() == []
    api.Base.metadata.create_all(engine)  # as a kill left it: all tables, and no version
    engine.dispose()
    with Book(ClassFolder(tmp_path, address), writing=True) as book:
        assert book.assignments() == []


def test_reading_an_empty_database_makes_no_table(server: str, tmp_path: Path) -> None:
    url = sa.make_url(ClassFolder(tmp_path, server).db_url)
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE empty"))
    admin.dispose()
    empty = url.set(database="empty")
    with Book(ClassFolder(tmp_path, empty.render_as_string(hide_password=False))) as book:
        assert book.assignments() == []
    engine = sa.create_engine(empty)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()
    assert list(tmp_path.iterdir()) == []


def test_a_connection_that_the_server_has_ended_is_opened_again(server: str, tmp_path: Path) -> None:
    with Book(ClassFolder(tmp_path, server), writing=True) as writer:
        writer.sync_assignment(START)
    with Book(ClassFolder(tmp_path, server)) as book:
        book.assignments()
        other = sa.create_engine(ClassFolder(tmp_path, server).db_url)
        with other.begin() as connection:
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'gradebook'"
            assert connection.execute(sa.text(end)).rowcount >= 1
        other.dispose()
        assert "ada" not in book.latest_digests(START)
