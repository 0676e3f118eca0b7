"""Commands that promise to write nothing leave every file and folder of a class as it was: names, sizes, modes and content."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from attacks import START
from conftest import ROOT, needs_bubblewrap
from test_class import graded_here, hand_in, used

from autograder import cli
from autograder.class_folder.folder import ClassFolder
from autograder.gradebook.gradebook import ATTEMPTS, Book

__all__ = ["graded_here", "used"]
Command = Callable[..., tuple[int, str]]
Listing = dict[str, tuple[int, int, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process: exit status, and all that it prints."""

    def run(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["autograder", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert isinstance(end.value.code, int)
        return end.value.code, "".join(capsys.readouterr())

    return run


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files, near the root: the path of a socket in it has to be shorter than 108 characters.

    tmp_path comes first, so that pytest makes its own folder elsewhere.
    """
    name = tempfile.mkdtemp(prefix="dry")
    # Nothing is removed: a fork server keeps its socket in the first of them until the end.
    monkeypatch.setattr(tempfile, "tempdir", name)
    return Path(name)


def listing(folder: Path) -> Listing:
    """By its path, what there is to see of each file and folder: mode, size and SHA-256."""
    entries: Listing = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.stat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        entries[str(path.relative_to(folder))] = (status.st_mode, status.st_size if digest else 0, digest)
    return entries


def left_in(scratch: Path) -> list[str]:
    """What a command has left there. The folder of multiprocessing's forkserver goes with the process, which is this one."""
    return [path.name for path in scratch.iterdir() if not path.name.startswith("pymp-")]


@needs_bubblewrap
def test_a_class_that_was_never_graded_is_as_it_was(scratch: Path, tmp_path: Path) -> None:
    """In real jails, with inputs that are drawn for this run alone. A process of its own, so that it leaves nothing to others."""
    class_folder = ClassFolder(tmp_path / "class")
    hand_in(class_folder, "ada", first=True)
    before = listing(class_folder.path)
    program = Path(sys.executable).parent / "autograder"
    words = (str(program), "grade", "--dry-run", "--workers", "1", "--grading", str(class_folder.path))
    environment = os.environ | {"TMPDIR": str(scratch)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "ada" in done.stdout, done
    assert "1 graded to see what would change; nothing was written." in done.stdout
    assert listing(class_folder.path) == before
    assert left_in(scratch) == []


# None of them needs an answer to be run: `used` grades without jails.
COMMANDS_THAT_ONLY_READ: Sequence[Sequence[str]] = (
    ("grade", "--dry-run"),
    ("grade", "--dry-run", "--student", "ada"),
    ("grade", "--dry-run", "--start-anew", "--forget-manual"),
    ("give-back", "moodle", START, "--pages", "--dry-run"),
    ("shard", "enter", "course", "--dry-run"),
    ("why", "ada", "hello_shape"),
    ("why", "ada", "hello_shape", "--script", "ELSEWHERE/why.py"),
    ("report", START, "--to", "ELSEWHERE/report.html", "--csv", "ELSEWHERE/report.csv"),
)


@pytest.mark.parametrize("words", COMMANDS_THAT_ONLY_READ, ids=" ".join)
def test_a_class_that_was_graded_is_as_it_was(
    words: Sequence[str],
    command: Command,
    used: ClassFolder,
    scratch: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AUTOGRADER_GRADING", str(used.path))
    hand_in(used, "new")
    used.path.chmod(0o755)  # as somebody may have left it
    before = listing(used.path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    status, output = command(*(word.replace("ELSEWHERE", str(elsewhere)) for word in words))
    assert status in (0, 2), output
    assert listing(used.path) == before
    assert left_in(scratch) == []


def test_what_is_broken_is_told_and_left_for_a_real_run(command: Command, used: ClassFolder, scratch: Path) -> None:
    used.draws.write_text("half a fil", encoding="utf-8")
    before = listing(used.path)
    _, output = command("grade", "--dry-run", "--grading", used.path)
    assert "can't be read; a run without --dry-run moves it aside" in output
    assert listing(used.path) == before
    used.draws.unlink()
    before = listing(used.path)
    _, output = command("grade", "--dry-run", "--grading", used.path)
    assert "a run without --dry-run restores them from the gradebook" in output
    assert listing(used.path) == before
    assert left_in(scratch) == []


def test_a_gradebook_of_an_earlier_version_is_read_in_a_copy(
    command: Command, used: ClassFolder, scratch: Path
) -> None:
    with sqlite3.connect(used.path / "gradebook.db") as database:
        database.execute(f"ALTER TABLE {ATTEMPTS.name} DROP COLUMN build")
    before = listing(used.path)
    status, output = command("grade", "--dry-run", "--grading", used.path)
    assert status == 0 and "1 graded to see" in output
    with Book(used) as book:
        (grading,) = book.history(START)
        assert grading.build == "" and len(list(scratch.iterdir())) == 1
        with pytest.raises(RuntimeError, match="open it with writing=True"):
            book.forget_manual(START)
    assert listing(used.path) == before
    assert left_in(scratch) == []


def test_reading_a_class_without_a_gradebook_makes_none(command: Command, scratch: Path, tmp_path: Path) -> None:
    class_folder = ClassFolder(tmp_path / "class")
    hand_in(class_folder, "ada")
    before = listing(class_folder.path)
    for words in (("report",), ("why", "ada", "hello_shape"), ("give-back", "moodle", START, "--pages", "--dry-run")):
        status, output = command(*words, "--grading", class_folder.path)
        assert status == 2 and "nothing has been graded" in output
    with Book(class_folder) as book:
        assert book.assignments() == []
    assert listing(class_folder.path) == before
    assert left_in(scratch) == []


def test_no_sample_class_is_made(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("course", "solutions"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    status, output = command("grade", "--dry-run")
    assert status == 2 and "a dry run makes no sample class: `autograder sample 16` makes one" in output
    assert sorted(path.name for path in tmp_path.iterdir()) == before
