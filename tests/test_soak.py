"""A large class: graded once although its conductor is killed in the middle, with memory that does not grow. Part of `make soak`."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from attacks import START
from conftest import needs_bubblewrap
from test_survival import PROGRAM, assert_graded_once, class_of, lines_of

from autograder.engine import pool
from autograder.grading import grade_class
from autograder.jail.limits import MIB, Limits

pytestmark = [
    needs_bubblewrap,
    pytest.mark.skipif("AUTOGRADER_SOAK" not in os.environ, reason="`make soak` runs it: ten minutes"),
    pytest.mark.timeout(3600),
]
STUDENTS = 1000


def test_a_large_class_is_graded_once_and_memory_stays_flat(tmp_path: Path) -> None:
    class_folder = class_of(tmp_path, STUDENTS, pause=0.0)
    first = subprocess.Popen([*PROGRAM, "grade", "--grading", str(tmp_path)], stdout=subprocess.DEVNULL)
    while first.poll() is None and lines_of(class_folder) < STUDENTS // 5:
        time.sleep(0.1)
    first.kill()
    first.wait()
    saved = lines_of(class_folder)
    assert STUDENTS // 5 <= saved < STUDENTS
    memory_sizes: list[int] = []

    def tell(done: grade_class.SubmissionOutcome, total: int) -> None:
        if done.graded_submission:
            memory_sizes.append(psutil.Process().memory_info().rss)

    with pool.on_this_machine(2, Limits()) as team:
        summary = grade_class.grade(class_folder, START, team, tell=tell)
    assert abs(summary.unchanged_count - saved) <= 1 and summary.graded_count + summary.unchanged_count == STUDENTS
    assert memory_sizes[-1] - memory_sizes[len(memory_sizes) // 4] < 16 * MIB, [
        f"{rss // MIB} MiB" for rss in memory_sizes[:: len(memory_sizes) // 10]
    ]
    assert_graded_once(class_folder, STUDENTS)
