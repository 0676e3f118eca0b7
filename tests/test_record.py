"""What a student has earned and guessed is saved beside the notebooks, and stays true where it can't be."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from ffnlab import check, progress
from ffnlab.checking import record

FILE, DRAFT = record.FILE, f"{record.FILE}.draft"
EARNED = {"outcome": "earned", "points": 2.0}


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course's folder into which notebook 02 alone was fetched, worked in from there."""
    (tmp_path / "02_feed_forward").mkdir()
    monkeypatch.chdir(tmp_path / "02_feed_forward")
    return tmp_path


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow here, as where the quota is used up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def right(x: Any) -> Any:
    return x.shape


def wrong(x: Any) -> int:
    return 3


def load_entries(course: Path) -> Any:
    return json.loads((course / FILE).read_text(encoding="utf-8"))


def test_the_last_verdict_is_saved_whichever_notebook_was_fetched(course: Path) -> None:
    for answer in (wrong, right, wrong):
        check("hello_shape", answer)
    assert load_entries(course) == {"hello_shape": {"outcome": "not earned", "points": 0.0}}


def test_a_broken_file_is_as_good_as_none(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course / FILE).write_text("{broken", encoding="utf-8")
    progress()
    assert "0 of" in capsys.readouterr().out
    check("hello_shape", right)
    assert load_entries(course) == {"hello_shape": EARNED}


def test_a_full_disk_is_said_once_and_the_session_knows_its_verdicts_until_there_is_room(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with full_disk():
        check("hello_shape", right)
        assert "could not be saved\n  File too large" in capsys.readouterr().out
        check("quiz_hidden", "A")
        assert "could not be saved" not in capsys.readouterr().out
        assert record.read_verdicts()["hello_shape"] == EARNED
        progress("00_start_here")
        assert "File too large" in capsys.readouterr().out
        assert [path.name for path in course.iterdir() if path.is_file()] == []
    check("quiz_hidden", "A")
    assert load_entries(course)["hello_shape"] == EARNED and set(load_entries(course)) == {"hello_shape", "quiz_hidden"}
    progress()
    assert "File too large" not in capsys.readouterr().out


def test_a_notebook_that_has_grown_too_large_to_be_handed_in_is_named(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course)
    path = course / "00_start_here.ipynb"
    path.touch()
    progress()
    assert "MiB large" not in capsys.readouterr().out
    os.truncate(path, 31 * 2**20)
    progress()
    output = " ".join(capsys.readouterr().out.split())
    assert "00_start_here.ipynb is 31 MiB large, because of what its cells show" in output
    assert "Clear Outputs of All Cells" in output


@pytest.mark.parametrize("operation", ["replace", "read_text"])
def test_a_file_that_another_program_holds_on_windows_is_tried_again(
    operation: str, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (course / FILE).write_text(json.dumps({"ffn_forward": EARNED}), encoding="utf-8")
    monkeypatch.setattr(record, "PAUSE", 0.0)
    refusals, real = [3], getattr(Path, operation)

    def replace_or_read(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name.startswith(FILE) and refusals[0]:
            refusals[0] -= 1
            raise PermissionError(13, "The process cannot access the file because it is being used by another process")
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, operation, replace_or_read)
    check("hello_shape", right)
    assert refusals == [0]
    assert load_entries(course) == {"ffn_forward": EARNED, "hello_shape": EARNED}
    assert not (course / DRAFT).exists()


def test_a_file_that_stays_held_is_left_alone(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def replace(path: Path, target: Path) -> Path:
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(record, "PAUSE", 0.0)
    monkeypatch.setattr(Path, "replace", replace)
    check("hello_shape", right)
    assert "Access is denied" in capsys.readouterr().out
    assert [path.name for path in course.iterdir() if path.is_file()] == []
    assert record.read_verdicts()["hello_shape"] == EARNED


def test_the_draft_of_a_kernel_that_was_killed_is_in_nobodys_way(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (course / DRAFT).write_text('{"hello_', encoding="utf-8")
    monkeypatch.setattr(record, "PAUSE", 0.0)
    check("hello_shape", right)
    assert load_entries(course) == {"hello_shape": EARNED} and not (course / DRAFT).exists()


def test_kernels_that_write_at_the_same_time_lose_no_entry(tmp_path: Path) -> None:
    place = tmp_path / "02_feed_forward"
    place.mkdir()
    code = f"""if True:
        import sys
        sys.path.insert(0, {str(ROOT / "course")!r})
        from ffnlab.checking import record
        from ffnlab.checking.verdict import Outcome, Verdict
        print("ready", flush=True)
        for line in sys.stdin:
            record.save_verdict(Verdict(line.strip(), Outcome.EARNED, ()))
    """
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    kernels: dict[str, Any] = {
        name: subprocess.Popen([sys.executable, "-c", code], cwd=place, **pipes) for name in "abc"
    }
    for kernel in kernels.values():
        assert kernel.stdout.readline() == "ready\n"
    for name, kernel in kernels.items():
        kernel.stdin.write("".join(f"{name}{i}\n" for i in range(40)))
        kernel.stdin.flush()
    assert [kernel.communicate() for kernel in kernels.values()] == [("", None)] * 3
    assert len(load_entries(tmp_path)) == 120
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [FILE]


def test_outside_a_course_nothing_is_written_and_progress_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    check("hello_shape", right)
    assert "could not be saved" not in capsys.readouterr().out
    progress("00_start_here")
    output = capsys.readouterr().out
    assert "2 of" in output and "put it into one" in output
    assert list(tmp_path.iterdir()) == []
