"""docs/first_week.md: an instructor who types what stands there, from top to bottom, gets what it promises. Every command in it is run."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import exports
import pytest
from conftest import ROOT, needs_bubblewrap
from exports import CLASS, FFN
from nbgrader.api import Gradebook

from autograder.class_folder.folder import ClassFolder
from autograder.gradebook import gradebook
from autograder.gradebook.policy import Policy
from autograder.paths import assignments

PAGE = ROOT / "docs" / "first_week.md"
BLOCK = re.compile(r"```(sh|toml)\n(.*?)```", re.DOTALL)
SERVERS = ("autograder desk", "jupyter lab")
# Somebody has to settle something.
WITH_STATUS_2 = tuple(f"autograder {name}" for name in ("collect", "grade", "report", "give-back"))
ILL, QUESTION = "S00003", "M2"
pytestmark = [needs_bubblewrap, pytest.mark.slow]


def blocks() -> list[tuple[str, str]]:
    """The page's blocks of commands and of settings, in their order."""
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def answered(notebook: bytes) -> bytes:
    """A notebook with an answer to the question that a person reads."""
    content = json.loads(notebook)
    (cell,) = (cell for cell in content["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == QUESTION)
    cell["source"] = "It drops hidden numbers, and only while training."
    return json.dumps(content).encode()


def _hears_ctrl_c() -> None:
    """As at a terminal: what a script has started in the background is deaf to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Week:
    """An instructor's account: a home with downloads in it, a class, and what each command said."""

    home: Path
    class_folder: ClassFolder
    outputs: dict[str, str]

    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {
            "HOME": str(self.home),
            "PATH": path,
            "BROWSER": "true",
            "JUPYTER_CONFIG_DIR": str(self.home / "jupyter"),
        }
        return {**os.environ, **own, "AUTOGRADER_GRADING": str(self.class_folder.path)}

    def type(self, command: str) -> None:
        """Type a command as it stands on the page."""
        if command.startswith(SERVERS):
            self.outputs[command] = self.serve(command)
            return
        process = subprocess.run(
            ["bash", "-c", command], cwd=self.home, env=self.environment(), capture_output=True, text=True, check=False
        )
        expected = (0, 2) if command.startswith(WITH_STATUS_2) else (0,)
        assert process.returncode in expected, f"{command}\n{process.stdout[-2000:]}{process.stderr[-2000:]}"
        assert "Traceback" not in process.stderr, process.stderr
        self.outputs[command] = process.stdout

    def serve(self, command: str) -> str:
        """Type a command that serves until Ctrl-C, wait for its address, and press Ctrl-C."""
        log = self.home / "server.log"
        with log.open("w") as file:
            server = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=self.home, env=self.environment(), stdout=file, stderr=file, start_new_session=True,
                preexec_fn=_hears_ctrl_c,
            )  # fmt: skip
        end = time.monotonic() + 60
        while "http://127.0.0.1" not in log.read_text(encoding="utf-8") and time.monotonic() < end:
            assert server.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.1)
        end = time.monotonic() + 60
        while server.poll() is None and time.monotonic() < end:  # JupyterLab may ask whether one is sure
            os.killpg(server.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(2)
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            raise AssertionError(f"{command} does not end with Ctrl-C: {log.read_text(encoding='utf-8')[-2000:]}")
        return log.read_text(encoding="utf-8")

    def mark_by_hand(self) -> None:
        """What a person does in formgrader: read everybody's answer, and give points."""
        with Gradebook(self.class_folder.db_url) as nbgraders:
            for submission in nbgraders.assignment_submissions(FFN):
                grade = nbgraders.find_grade(QUESTION, FFN, FFN, submission.student.id)
                grade.manual_score, grade.needs_manual_grade = 2.0, False
            nbgraders.db.commit()


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    """The whole week, typed once."""
    home = tmp_path_factory.mktemp("home")
    downloads, jupyter = home / "Downloads", home / "jupyter"
    downloads.mkdir()
    jupyter.mkdir()
    (jupyter / "jupyter_server_config.py").write_text("c.ServerApp.allow_root = True\n", encoding="utf-8")
    class_folder = ClassFolder(home / "grading")
    class_folder.path.mkdir()
    files = {exports.moodle_name(student): answered(student.data) for student in CLASS[:4]}
    files[exports.moodle_name(CLASS[4], f"{FFN}.html")] = b"<p>no notebook"
    exports.zipped(downloads / f"FFN-{FFN}-1234.zip", files)
    sheet = exports.worksheet(downloads / f"Grades-FFN-{FFN}-1234.csv", CLASS)
    late = sheet.read_bytes().replace(b"Wednesday, 13 March 2024, 10:15 AM", b"Saturday, 21 November 2026, 9:30 PM")
    sheet.write_bytes(late)
    exports.canvas_gradebook(downloads / "Grades-FFN.csv", CLASS)
    account = Week(home, class_folder, {})
    for kind, text in blocks():
        if kind == "toml":
            path = class_folder.path / "course.toml"
            path.write_text(path.read_text(encoding="utf-8") + text if path.exists() else text, encoding="utf-8")
            continue
        for command in text.splitlines():
            if command.startswith(("make setup", "source ")):  # has been done, or this test would not run
                continue
            account.type(command)
            if command == "jupyter lab":
                account.mark_by_hand()
    yield account


def test_every_command_of_the_page_was_run(week: Week) -> None:
    commands = [line for kind, text in blocks() if kind == "sh" for line in text.splitlines()]
    assert commands[:2] == ["make setup-grading", "source .venv/bin/activate"]
    assert list(week.outputs) == commands[2:] and len(commands) > 15


def test_the_handout_holds_what_the_class_works_on(week: Week) -> None:
    names = zipfile.ZipFile(week.home / "dist" / "course.zip").namelist()
    there = {name for name in assignments() if any(f"/{name}.ipynb" in entry for entry in names)}
    assert there == {"00_start_here", "01_attention", FFN, "03_activations"}
    assert "34 points in this class" in week.outputs["autograder handout"]


def test_what_was_handed_in_is_collected_and_what_only_a_person_knows_is_listed(week: Week) -> None:
    preview, outcome = (text for command, text in week.outputs.items() if command.startswith("autograder collect"))
    assert "nothing was written" in preview and f"no notebook: {FFN}.html" in preview
    assert "4 new attempts, 4 put into submitted/" in outcome and "1 matter for you to settle" in outcome
    assert (week.class_folder.path / "collected" / "settle.csv").is_file()


def test_the_class_is_graded_read_and_reported(week: Week) -> None:
    assert "3 to read" in week.outputs["autograder grade"] and "4 graded" in week.outputs["autograder grade"]
    assert (week.class_folder.path / "report.html").stat().st_size > 10_000
    page = (week.class_folder.feedback / "S00000" / FFN / f"{FFN}.html").read_text(encoding="utf-8")
    assert "not read yet" not in page and "Late by 2 days" in page
    assert "4 pages" in week.outputs["autograder feedback"]
    assert "nobody's points would change" in week.outputs["autograder grade --dry-run"]


def test_grades_go_back_with_what_was_given_by_hand_and_what_being_late_costs(week: Week) -> None:
    (back,) = (week.home / "Downloads").glob(f"{FFN}-moodle.csv")
    rows = {row["ID number"]: row["Grade"] for row in csv.DictReader(io.StringIO(back.read_text(encoding="utf-8-sig")))}
    with gradebook.Book(week.class_folder) as book:
        grades = Policy.of(week.class_folder).grades(book, FFN)
    assert {student: text for student, text in rows.items() if text} == {
        student: f"{grade.points:.2f}" for student, grade in grades.items()
    }
    assert grades["S00000"].penalty > 0 and grades[ILL].penalty == 0, "an extension"
    assert (week.home / "Downloads" / f"{FFN}-moodle-pages.zip").is_file()
    canvas = (week.home / "Downloads" / f"{FFN}-canvas.csv").read_bytes()
    canvas_grades = {student.sis: exports.SYSTEMS[1].grades(canvas).get(student.canvas) for student in CLASS[:4]}
    assert canvas_grades == {student: text for student, text in rows.items() if text}


def test_a_dispute_is_answered_and_its_script_comes_to_the_same_verdict(week: Week) -> None:
    explanation = week.outputs[f"autograder why {ILL} ffn_forward"]
    assert "Attempt 1 of 1" in explanation
    points = re.search(r"([\d.]+) of 4 points", explanation)
    again = week.outputs[f"python ~/why_{ILL}.py"]
    assert points and points[0] in again, again


def test_the_desk_and_formgrader_open(week: Week) -> None:
    assert all("http://127.0.0.1" in week.outputs[command] for command in SERVERS)
