"""`nbgrader release_feedback` with the pages of our engine: who can fetch a page gets it, and nobody is in the way of the others."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from nbgrader.utils import notebook_hash

from autograder.house import Class, keep

NOTEBOOK = "00_start_here"
OLD, NEW = "2026-10-01 10:00:00.000000 UTC", "2026-10-02 10:00:00.000000 UTC"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The exchange's pages, and what the command said. ada came through the exchange, ben did not, cleo has submitted again since she was graded."""
    folder = tmp_path_factory.mktemp("class")
    for name in ("course", "solutions"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    exchange = folder / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    school = Class(folder / "grading")
    for student, secret, submitted in (("ada", "a" * 128, OLD), ("ben", "", OLD), ("cleo", "c" * 128, NEW)):
        keep(school.feedback / student / NOTEBOOK / f"{NOTEBOOK}.html", f"<p>for {student}</p>")
        keep(school.autograded / student / NOTEBOOK / "timestamp.txt", OLD)
        keep(school.submitted / student / NOTEBOOK / "timestamp.txt", submitted)
        if secret:
            keep(school.submitted / student / NOTEBOOK / "submission_secret.txt", secret)
    # An earlier release has left the secret of another submission beside the page.
    keep(school.feedback / "ada" / NOTEBOOK / "submission_secret.txt", "b" * 128)
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "release_feedback", NOTEBOOK, "--course", "ffn", f"--Exchange.root={exchange}"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return exchange / "ffn" / "feedback", done.stderr


def test_a_page_lies_where_its_students_nbgrader_looks_for_it(released: tuple[Path, str]) -> None:
    page = released[0] / f"{notebook_hash(secret='a' * 128, notebook_id=NOTEBOOK)}.html"
    assert page.read_text(encoding="utf-8") == "<p>for ada</p>"


def test_other_accounts_can_read_it_there(released: tuple[Path, str]) -> None:
    assert [page.stat().st_mode & 0o777 for page in released[0].iterdir()] == [0o644]


@pytest.mark.parametrize(("student", "why"), [("ben", "not collected from the exchange"), ("cleo", "newer submission")])
def test_who_is_left_out_is_named_with_the_reason(student: str, why: str, released: tuple[Path, str]) -> None:
    (line,) = [line for line in released[1].splitlines() if f"{student} is left out" in line]
    assert why in line
