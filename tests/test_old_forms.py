"""Options of `grade` that have become commands: they still work, say in one line which command to use, and refuse what does not go with them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attacks import START
from conftest import ROOT
from test_class import graded_here, hand_in, used

from autograder import cli
from autograder.class_folder.folder import ClassFolder
from autograder.gradebook.gradebook import Book

__all__ = ["graded_here", "used"]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process: exit status, output, errors."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["autograder", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert isinstance(end.value.code, int)
        return end.value.code, *capsys.readouterr()

    return run


def new_form(errors: str, old: str) -> list[str]:
    """The words of the command that the hint names."""
    match = re.fullmatch(rf"autograder: instead of `autograder grade {old}`, use `autograder (.*)`\n", errors)
    assert match, errors
    return shlex.split(match[1])


def test_preparing_grading_and_entering_shards_still_work_and_name_commands_that_do_the_same(
    used: ClassFolder, tmp_path: Path, command: Command
) -> None:
    where = ("--grading", used.path)
    used.draws.unlink()
    status, output, errors = command("grade", START, "--prepare", *where)
    assert status == 0 and used.draws.is_file() and "restored from the gradebook" in output
    assert new_form(errors, "--prepare") == ["shard", "prepare", START, "--grading", str(used.path)]
    status, output, again = command(*new_form(errors, "--prepare"))
    assert status == 0 and output.startswith("The hidden inputs of 00_start_here are in") and not again

    out = tmp_path / "a folder"
    status, output, errors = command("grade", START, "--shard", "0/1", "--to", out, *where)
    assert status == 0 and "shard 0/1: 1 graded" in output and len(list(out.rglob("*.json"))) == 1
    status, output, again = command(*new_form(errors, "--shard"))
    assert status == 0 and "0 graded, 1 were already there" in output and not again

    status, output, errors = command("grade", START, "--from", out, *where, "--force")
    assert status == 0 and "1 graded." in output
    status, output, again = command(*new_form(errors, "--from"))
    assert status == 0 and "1 unchanged since last time (--force enters them again)" in output and not again
    with Book(used) as book:
        assert len(list(book.history(START))) == 2


def test_a_sample_class_is_still_made_on_the_way_and_its_command_is_named(
    tmp_path: Path, command: Command, graded_here: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("course", "solutions"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    hint = "autograder: instead of `autograder grade --students`, use `autograder sample 3`, then `autograder grade`\n"
    status, output, errors = command("grade", START, "--students", 3)
    assert status == 0 and errors == hint and "3 graded" in output
    assert len(list((tmp_path / "grading" / "sample" / "submitted").iterdir())) == 3
    _, output, errors = command("grade", START)
    assert errors == "" and "this grades the sample class in grading/sample/, 3 students" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shard", "0/2"), "--shard needs --to FOLDER"),
        (("--shard", "0/2", "--to", "x", "--from", "docs"), "--from does not go with --shard"),
        (("--shard", "0/2", "--to", "x", "--dry-run"), "--dry-run does not go with --shard"),
        (("--prepare", "--student", "ada", "--force"), "--student and --force do not go with --prepare"),
        (("--prepare", "--scheduler", "tcp://127.0.0.1:1"), "--scheduler does not go with --prepare"),
        (("--from", "docs", "--exercise", "hello_shape"), "--exercise does not go with --from"),
        (("--from", "docs", "--forget-manual"), "--forget-manual does not go with --from"),
        (("--from", "nowhere"), "'nowhere' does not exist"),
        (("--to", "x"), "only with `autograder shard grade`"),
        (("--workers", "2", "--scheduler", "tcp://127.0.0.1:1"), "--workers does not go with --scheduler"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path, command: Command
) -> None:
    hand_in(ClassFolder(tmp_path), "ada")
    before = sorted(tmp_path.rglob("*"))
    status, output, errors = command("grade", "--grading", tmp_path, *words)
    assert (status, output, errors.count("\n")) == (2, "", 1) and message in errors
    assert sorted(tmp_path.rglob("*")) == before, "nothing was written"
