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
from attacks import START
from conftest import needs_bubblewrap
from test_survival import assert_graded_once, class_of, lines_of

from autograder.authoring import stock
from autograder.desk import classroom
from autograder.desk.gradebook import Book
from autograder.engine import pool
from autograder.engine.graded import Graded
from autograder.house import Class, UserError
from ffnlab import exercises
from ffnlab.verdict import not_earned

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
AS_POSTGRES = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []  # its server refuses to run as root
pytestmark = [
    needs_bubblewrap,
    pytest.mark.skipif(not PROGRAMS, reason="postgresql is not installed: its tests are skipped"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an empty database."""
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
        yield f"postgresql://grader@127.0.0.1:{port}/gradebook"
    finally:
        subprocess.run([*AS_POSTGRES, str(PROGRAMS[-1] / "pg_ctl"), "-D", str(folder / "data"), "-m", "immediate", "stop"],
                       cwd="/", check=False, capture_output=True)  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)


def test_a_class_is_graded_once_into_postgresql(server: str, team: pool.Team, tmp_path: Path) -> None:
    students = 4
    school = Class(class_of(tmp_path, students).folder, server)
    first = classroom.grade(school, START, team)
    again = classroom.grade(school, START, team)
    assert (first.graded, again.graded, again.unchanged) == (students, 0, students)
    assert not (tmp_path / "gradebook.db").exists() and lines_of(school) == students
    assert_graded_once(school, students)
    assert stock.scores(school, START)["student000"]["hello_shape"] == 2.0


def test_a_server_that_does_not_answer_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't be opened") as raised:
        Book(Class(tmp_path, "postgresql://grader@127.0.0.1:9/gradebook"))
    assert "\n" not in str(raised.value)


def test_what_no_database_can_hold_is_entered_all_the_same(server: str, tmp_path: Path) -> None:
    said = "NUL \x00, half a character \ud800, \x1b[31mred"
    verdicts = {exercise.name: not_earned(exercise, said, said) for exercise in exercises.of_notebook(START)}
    with Book(Class(tmp_path, server)) as book:
        book.know(START)
        book.enter("eve", Graded(START, verdicts, remarks=[said]), "0" * 64, None)
        (kept,) = book.latest(START, "eve")
    assert kept.points == 0.0
