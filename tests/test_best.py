"""Where the best attempt of a student counts, the earlier ones that were collected are graded too, and points and page say which one it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attacks import START
from exports import CLASS, moodle_name, worksheet, zipped
from prepared import give_draws
from test_class import grade, graded_here, rebuilt  # noqa: F401 - a fixture
from test_program import ANSWER, answered

from autograder.class_folder.folder import ClassFolder
from autograder.engine.graded_submission import GradedSubmission
from autograder.gradebook import gradebook
from autograder.gradebook.policy import Policy
from autograder.grading import feedback, grade_class
from autograder.reports import explain
from autograder.transfer import collect
from ffnlab.checking.verdict import not_earned
from ffnlab.registry import active_course

WHO = CLASS[1]


@pytest.fixture
def class_folder(tmp_path: Path, graded_here: dict[bytes, GradedSubmission]) -> ClassFolder:  # noqa: F811
    """Somebody has handed in a right answer, and then a wrong one."""
    folder = ClassFolder(tmp_path / "grading")
    give_draws(folder, START)
    worse = json.dumps(answered(f"{ANSWER}  # once more")).encode()
    wrong = {"hello_shape": "It is not right.", "deciding_pair": "It is not, either.", "quiz_hidden": "No."}
    verdicts = {name: not_earned(active_course().exercise(name), message) for name, message in wrong.items()}
    graded_here[worse] = rebuilt(worse, verdicts)
    sheet = worksheet(tmp_path / "sheet.csv", CLASS)
    for number, data in enumerate((json.dumps(answered()).encode(), worse)):
        export = zipped(tmp_path / f"{number}.zip", {moodle_name(WHO, f"{START}.ipynb"): data})
        collect.collect(folder, export, [sheet])
    return folder


def counts(class_folder: ClassFolder) -> Any:
    with gradebook.Book(class_folder) as book:
        return Policy.of(class_folder).read_book(book, START)[WHO.sis]


def rule(class_folder: ClassFolder, which: str) -> None:
    (class_folder.path / "course.toml").write_text(f'[assignments.{START}]\nattempts = "{which}"\n', encoding="utf-8")


def page(class_folder: ClassFolder) -> str:
    path: Path = class_folder.feedback / WHO.sis / START / f"{START}.html"
    return path.read_text(encoding="utf-8")


def test_the_latest_counts_where_nothing_is_said_and_nothing_earlier_is_graded(class_folder: ClassFolder) -> None:
    summary, _ = grade(class_folder)
    assert summary.graded_count == 1 and counts(class_folder).grade.points == 0


def test_the_best_counts_where_the_class_says_so_and_the_page_tells_it(class_folder: ClassFolder) -> None:
    rule(class_folder, "best")
    summary, _ = grade(class_folder)
    assert summary.graded_count == 2 and counts(class_folder).grade.points == 6
    assert "The best of 2 attempts counts" in page(class_folder)
    with gradebook.Book(class_folder) as book:
        (latest,) = book.latest(START, [WHO.sis])
        assert latest.points == 0, "the latest is still the latest"
    summary, _ = grade(class_folder)
    assert (summary.graded_count, summary.unchanged_count) == (0, 2), "each is graded once"


def test_a_rule_that_changes_later_grades_what_is_missing_and_can_go_back(class_folder: ClassFolder) -> None:
    grade(class_folder)
    rule(class_folder, "best")
    grade(class_folder)
    assert counts(class_folder).grade.points == 6
    with gradebook.Book(class_folder) as book:
        (latest,) = book.latest(START, [WHO.sis])
        assert latest.points == 0
    rule(class_folder, "latest")
    assert counts(class_folder).grade.points == 0


def test_page_table_and_why_are_of_the_attempt_that_counts(class_folder: ClassFolder) -> None:
    rule(class_folder, "best")
    grade(class_folder)
    assert "2 of 2" in page(class_folder) and "It is not right." not in page(class_folder)
    with gradebook.Book(class_folder) as book:
        best = Policy.of(class_folder).read_book(book, START)[WHO.sis]
        feedback.rewrite(class_folder, START, book, effective_attempts={WHO.sis: best})
        explanation = explain.find(book, Policy.of(class_folder), WHO.sis, "hello_shape")
    assert "2 of 2" in page(class_folder) and "It is not right." not in page(class_folder)
    assert explanation.score and explanation.score.score == 2
    assert [
        attempt.number for attempt in explanation.graded_attempts if attempt.grading.row_id == best.grading.row_id
    ] == [1]


def test_hand_ins_are_counted_once_in_the_order_of_handing_in(class_folder: ClassFolder) -> None:
    grade(class_folder)  # the second alone
    rule(class_folder, "best")
    grade(class_folder)  # the first, and the second again
    with gradebook.Book(class_folder) as book:
        explanation = explain.find(book, Policy.of(class_folder), WHO.sis, "hello_shape")
        assert explanation.attempt_count == 2 and len(explanation.graded_attempts) == 3
        assert [attempt.verdict.points for attempt in explanation.graded_attempts if attempt.verdict] == [2, 0, 0]
        assert counts(class_folder).grade.points == 6


def test_what_was_never_graded_is_told_before_anything_goes_back(class_folder: ClassFolder) -> None:
    grade(class_folder)
    rule(class_folder, "best")
    with gradebook.Book(class_folder) as book:
        warning = grade_class.describe_ungraded_attempts(class_folder, START, Policy.of(class_folder), book)
    assert "one earlier attempt has not been graded" in warning
    grade(class_folder)
    with gradebook.Book(class_folder) as book:
        assert grade_class.describe_ungraded_attempts(class_folder, START, Policy.of(class_folder), book) == ""
