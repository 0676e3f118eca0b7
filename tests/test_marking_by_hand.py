"""Marking by hand in the real formgrader, in Chromium: the rubric is in view, what is typed is on the student's page, and the buttons are ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from conftest import needs_bubblewrap, needs_chromium
from lab import PATIENCE, keep_picture
from playwright.sync_api import Page
from test_formgrader import NOTEBOOK, formgrader, project

from autograder.class_folder.folder import ClassFolder
from autograder.gradebook import gradebook
from autograder.grading import feedback

pytestmark = [needs_chromium, pytest.mark.slow]
QUESTION, START = "M11", "00_start_here"


def page_of(folder: Path) -> str:
    return (folder / "grading" / "feedback" / "eve" / NOTEBOOK / f"{NOTEBOOK}.html").read_text(encoding="utf-8")


def type_into(page: Page, field: str, text: str) -> None:
    """Type into a field of formgrader's, and leave it: that saves."""
    with page.expect_response(lambda r: r.request.method == "PUT" and "/formgrader/api/" in r.url, timeout=PATIENCE):
        page.locator(f"#{field}").fill(text)
        page.locator(f"#{field}").press("Tab")


def test_the_rubric_is_in_view_and_what_is_typed_is_on_the_students_page(tmp_path: Path) -> None:
    with project(tmp_path / "p", True, False) as folder:
        with formgrader(folder, tmp_path) as (page, address):
            page.goto(address, wait_until="load", timeout=PATIENCE)
            panel = page.locator(".nbgrader_cell", has=page.locator(f"#{QUESTION}"))
            assert "Rubric" in panel.locator("details").inner_text()
            assert page.locator("details", has_text="the rubric").count() == 2, "one for each question a person reads"
            panel.scroll_into_view_if_needed()
            keep_picture(page, "formgrader_rubric")
            page.wait_for_load_state("networkidle", timeout=PATIENCE)  # formgrader has fetched what stands there
            type_into(page, QUESTION, "1.5")
            type_into(page, f"{QUESTION}_extra_credit", "0.5")
            type_into(page, f"{QUESTION}-comment", "Which spread do you mean?")
        class_folder = ClassFolder(folder / "grading")
        with gradebook.Book(class_folder) as book:
            score = book.scores(NOTEBOOK, ["eve"])["eve"][QUESTION]
            assert (score.score, score.extra, score.by_hand) == (2.0, 0.5, True)
            feedback.rewrite(class_folder, NOTEBOOK, book)
        assert "Which spread do you mean?" in page_of(folder) and "+0.5 extra credit" in page_of(folder)
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", "generate_feedback", NOTEBOOK, "--force"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Which spread do you mean?" in page_of(folder) and "Rubric" not in page_of(folder), (
            "students see no rubric"
        )


POST = """(path) => fetch(path, {method: 'POST', headers: {'X-XSRFToken': document.cookie.match(/_xsrf=([^;]*)/)[1]}})
  .then(answer => answer.text())"""


@needs_bubblewrap
def test_the_button_that_grades_and_the_one_that_makes_feedback_are_ours(tmp_path: Path) -> None:
    with project(tmp_path / "p", True, False) as folder:
        submitted = folder / "grading" / "submitted" / "zoe" / START / f"{START}.ipynb"
        submitted.parent.mkdir(parents=True)
        submitted.write_bytes((folder / "course" / START / submitted.name).read_bytes())
        with formgrader(folder, tmp_path) as (page, address):
            page.goto(address, wait_until="load", timeout=PATIENCE)
            api = f"/formgrader/api/submission/{START}/zoe"
            reply = page.evaluate(POST, f"{api}/autograde")
            assert '"success": true' in reply and "1 graded" in reply, reply
            reply = page.evaluate(POST, f"/formgrader/api/assignment/{START}/zoe/generate_feedback")
            assert '"success": true' in reply and "1 page" in reply, reply
        made = folder / "grading" / "feedback" / "zoe" / START / f"{START}.html"
        assert "not attempted" in made.read_text(encoding="utf-8")
