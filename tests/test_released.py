"""nbgrader's exchange on the instructor's side: who can fetch a page gets it, nobody is in the way of the others, and an open exchange is refused."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.utils import notebook_hash
from traitlets.config import Config

from autograder.class_folder.folder import ClassFolder
from autograder.files import write_private
from autograder.nbgrader_patches.exchange import Collect, ReleaseAssignment, ReleaseFeedback
from autograder.paths import release

NOTEBOOK = "00_start_here"
OLD, NEW = "2026-10-01 10:00:00.000000 UTC", "2026-10-02 10:00:00.000000 UTC"


def nbgrader(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of nbgrader's in a project, with the exchange in it."""
    options = ("--course", "ffn", f"--Exchange.root={folder / 'exchange'}")
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *command, *options], cwd=folder, capture_output=True, text=True, check=False
    )


def page_of(student: str, data: bytes) -> str:
    return f'<meta name="submission" content="{hashlib.sha256(data).hexdigest()}"><p>for {student}</p>'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("class"))


def make_project(folder: Path) -> Path:
    for name in ("course", "solutions"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    return folder


@pytest.fixture(scope="module")
def released(project: Path) -> tuple[Path, str]:
    """The exchange's pages, and what the command said. ada came through the exchange, ben did not, cleo has submitted again since she was graded."""
    folder, exchange = project, project / "exchange"
    exchange.mkdir()
    exchange.chmod(0o1777)
    class_folder = ClassFolder(folder / "grading")
    for student, secret, submitted in (("ada", "a" * 128, OLD), ("ben", "", OLD), ("cleo", "c" * 128, NEW)):
        data = f"the notebook of {student}".encode()
        write_private(class_folder.feedback / student / NOTEBOOK / f"{NOTEBOOK}.html", page_of(student, data))
        write_private(class_folder.autograded / student / NOTEBOOK / "timestamp.txt", OLD)
        write_private(class_folder.submitted / student / NOTEBOOK / "timestamp.txt", submitted)
        write_private(class_folder.submitted / student / NOTEBOOK / f"{NOTEBOOK}.ipynb", data)
        if secret:
            write_private(class_folder.submitted / student / NOTEBOOK / "submission_secret.txt", secret)
    # What lies in submitted/ is not what dora's page is of.
    shutil.copytree(class_folder.submitted / "ada", class_folder.submitted / "dora")
    shutil.copytree(class_folder.autograded / "ada", class_folder.autograded / "dora")
    write_private(class_folder.feedback / "dora" / NOTEBOOK / f"{NOTEBOOK}.html", page_of("dora", b"another"))
    # An earlier release has left the secret of another submission beside the page.
    write_private(class_folder.feedback / "ada" / NOTEBOOK / "submission_secret.txt", "b" * 128)
    done = nbgrader(folder, "release_feedback", NOTEBOOK)
    assert done.returncode == 0, done.stderr
    return exchange / "ffn" / "feedback", done.stderr


def test_a_page_lies_where_its_students_nbgrader_looks_for_it(released: tuple[Path, str]) -> None:
    page = released[0] / f"{notebook_hash(secret='a' * 128, notebook_id=NOTEBOOK)}.html"
    assert page.read_text(encoding="utf-8").endswith("<p>for ada</p>")


def test_other_accounts_can_read_it_there(released: tuple[Path, str]) -> None:
    assert [page.stat().st_mode & 0o777 for page in released[0].iterdir()] == [0o644]


@pytest.mark.parametrize(
    ("student", "why"),
    [
        ("ben", "not collected from the exchange"),
        ("cleo", "newer submission"),
        ("dora", "earlier submission, whose secret"),
    ],
)
def test_who_is_left_out_is_named_with_the_reason(student: str, why: str, released: tuple[Path, str]) -> None:
    (line,) = [line for line in released[1].splitlines() if f"{student} is left out" in line]
    assert why in line


@pytest.mark.parametrize("operation", [ReleaseAssignment, Collect, ReleaseFeedback])
def test_nothing_is_done_in_an_exchange_that_others_can_take_over(operation: Any, tmp_path: Path) -> None:
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    config = Config(CourseDirectory={"root": str(tmp_path), "course_id": "ffn"}, Exchange={"root": str(exchange)})
    with pytest.raises(ExchangeError, match=f"chmod 1777 {exchange}"):
        operation(coursedir=CourseDirectory(config=config), config=config).start()
    assert list(exchange.iterdir()) == []


def test_collecting_says_what_ours_says_and_goes_on_past_a_submission_without_a_notebook(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (tmp_path / "exchange").mkdir(mode=0o1777)
    for student, files in {"ada": (f"{NOTEBOOK}.ipynb", "timestamp.txt"), "dora": ("timestamp.txt",)}.items():
        folder = tmp_path / "exchange" / "ffn" / "inbound" / f"{student}+{NOTEBOOK}+{NEW}+x"
        folder.mkdir(parents=True)
        for name in files:
            (folder / name).write_bytes(release(NOTEBOOK).read_bytes() if name.endswith(".ipynb") else NEW.encode())
    (tmp_path / "exchange").chmod(0o1777)
    (tmp_path / "grading").mkdir()
    done = nbgrader(project, "collect", NOTEBOOK)
    assert "dora" in done.stderr and "nothing but an empty folder" in done.stderr, done.stderr
    assert "1 matter for you to settle" in done.stderr and done.returncode == 1
    assert (tmp_path / "grading" / "submitted" / "ada" / NOTEBOOK / f"{NOTEBOOK}.ipynb").is_file()


def test_the_class_is_closed_to_others_when_nbgrader_has_run(project: Path, released: tuple[Path, str]) -> None:
    assert (project / "grading").stat().st_mode & 0o777 == 0o700
