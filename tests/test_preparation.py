"""Before a class is graded: workers find the same hidden inputs and reference outputs as one process alone, and its conductor needs no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path
from typing import Any

import pytest
from conftest import needs_bubblewrap

from autograder.engine import pool, preparation
from autograder.reference import draws, stored

START = "00_start_here"
SECRET = "5" * 64


def prepare_alone(folder: Path) -> tuple[draws.SeedsByExercise, Path]:
    """As `preparation.prepare`, by the functions that it shares out."""
    seeds = draws.ensure_hidden_seeds(START, folder / draws.FILE)
    return seeds, stored.ensure_class_file(folder, START, seeds)


def start_class(folder: Path) -> Path:
    """A class folder that has a secret and nothing else."""
    folder.mkdir()
    draws.write(folder / draws.FILE, {START: {"secret": SECRET, "attempts": {}}})
    return folder


def content(folder: Path, file: Path) -> tuple[bytes, bytes]:
    return (folder / draws.FILE).read_bytes(), file.read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    folder = start_class(tmp_path_factory.mktemp("alone") / "class")
    return content(folder, prepare_alone(folder)[1])


@needs_bubblewrap
def test_workers_prepare_what_one_process_does(
    team: pool.GradingPool, expected: tuple[bytes, bytes], tmp_path: Path
) -> None:
    folder = start_class(tmp_path / "class")
    seeds, file = preparation.prepare(START, folder / draws.FILE, folder, team.run)
    assert content(folder, file) == expected
    file.unlink()
    again = preparation.prepare(START, folder / draws.FILE, folder, team.run)
    assert again == (seeds, file) and content(folder, file) == expected, "the file alone is made again"


def test_a_worker_that_dies_costs_time_alone(expected: tuple[bytes, bytes], tmp_path: Path) -> None:
    def run(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future = Future[Any]()
        future.set_exception(BrokenExecutor("a process has ended"))
        return future

    folder = start_class(tmp_path / "class")
    _, file = preparation.prepare(START, folder / draws.FILE, folder, run)
    assert content(folder, file) == expected


@needs_bubblewrap
def test_the_conductor_of_a_first_grading_needs_no_torch(tmp_path: Path) -> None:
    script = (
        "import json, sys; from pathlib import Path; from autograder.engine import pool, preparation\n"
        "from autograder.jail.limits import Limits; folder = Path(sys.argv[1])\n"
        "with pool.on_this_machine(1, Limits()) as team:\n"
        f"    seeds, file = preparation.prepare({START!r}, folder / 'draws.json', folder, team.run)\n"
        "print(json.dumps([len(seeds), file.is_file(), 'torch' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    exercises, is_there, has_torch = json.loads(done.stdout)
    assert exercises > 3 and is_there and not has_torch
