"""Where the best attempt of a student counts, the earlier ones that were collected are graded too, and points and page say which one it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attacks import START
from exports import CLASS, moodle_name, worksheet, zipped
from test_class import grade, graded_here, rebuilt  # noqa: F401 - a fixture
from test_rebuild import ANSWER, answered

from autograder.desk import classroom, collect, feedback, gradebook, why
from autograder.desk.policy import Policy
from autograder.engine.graded import Graded
from autograder.house import Class
from ffnlab import exercises
from ffnlab.verdict import not_earned

WHO = CLASS[1]


@pytest.fixture
def school(tmp_path: Path, graded_here: dict[bytes, Graded]) -> Class:  # noqa: F811
    """Somebody has handed in a right answer, and then a wrong one."""
    found = Class(tmp_path / "grading")
    found.folder.mkdir()
    worse = json.dumps(answered(f"{ANSWER}  # once more")).encode()
    zero = not_earned(exercises.find("hello_shape"), "It is not right.")
    graded_here[worse] = rebuilt(
        worse, {"hello_shape": zero, "quiz_hidden": not_earned(exercises.find("quiz_hidden"), "No.")}
    )
    sheet = worksheet(tmp_path / "sheet.csv", CLASS)
    for number, data in enumerate((json.dumps(answered()).encode(), worse)):
        export = zipped(tmp_path / f"{number}.zip", {moodle_name(WHO, f"{START}.ipynb"): data})
        collect.collect(found, export, [sheet])
    return found


def counts(school: Class) -> Any:
    with gradebook.Book(school) as book:
        return Policy.of(school).read_book(book, START)[WHO.sis]


def rule(school: Class, which: str) -> None:
    (school.folder / "course.toml").write_text(f'[assignments.{START}]\nattempts = "{which}"\n', encoding="utf-8")


def page(school: Class) -> str:
    path: Path = school.feedback / WHO.sis / START / f"{START}.html"
    return path.read_text(encoding="utf-8")


def test_the_latest_counts_where_nothing_is_said_and_nothing_earlier_is_graded(school: Class) -> None:
    summary, _ = grade(school)
    assert summary.graded == 1 and counts(school).grade.points == 0


def test_the_best_counts_where_the_class_says_so_and_the_page_tells_it(school: Class) -> None:
    rule(school, "best")
    summary, _ = grade(school)
    assert summary.graded == 2 and counts(school).grade.points == 2
    assert "the best counts" in page(school)
    with gradebook.Book(school) as book:
        (latest,) = book.latest(START, [WHO.sis])
        assert latest.points == 0, "the latest is still the latest"
    summary, _ = grade(school)
    assert (summary.graded, summary.unchanged) == (0, 2), "each is graded once"


def test_a_rule_that_changes_later_grades_what_is_missing_and_can_go_back(school: Class) -> None:
    grade(school)
    rule(school, "best")
    grade(school)
    assert counts(school).grade.points == 2
    with gradebook.Book(school) as book:
        (latest,) = book.latest(START, [WHO.sis])
        assert latest.points == 0
    rule(school, "latest")
    assert counts(school).grade.points == 0


def test_page_table_and_why_are_of_the_attempt_that_counts(school: Class) -> None:
    rule(school, "best")
    grade(school)
    assert "2 of 2" in page(school) and "It is not right." not in page(school)
    with gradebook.Book(school) as book:
        counted = Policy.of(school).read_book(book, START)[WHO.sis]
        feedback.write_again(school, START, book, counted={WHO.sis: counted})
        found = why.find(book, Policy.of(school), WHO.sis, "hello_shape")
    assert "2 of 2" in page(school) and "It is not right." not in page(school)
    assert found.mark and found.mark.score == 2
    assert [one.hand_in for one in found.gradings if one.attempt.number == counted.attempt.number] == [1]


def test_hand_ins_are_counted_once_in_the_order_of_handing_in(school: Class) -> None:
    grade(school)  # the second alone
    rule(school, "best")
    grade(school)  # the first, and the second again
    with gradebook.Book(school) as book:
        found = why.find(book, Policy.of(school), WHO.sis, "hello_shape")
        assert found.hand_ins == 2 and len(found.gradings) == 3
        assert [one.verdict.points for one in found.gradings if one.verdict] == [2, 0, 0]
        assert counts(school).grade.points == 2


def test_what_was_never_graded_is_told_before_anything_goes_back(school: Class) -> None:
    grade(school)
    rule(school, "best")
    with gradebook.Book(school) as book:
        said = classroom.not_yet_graded(school, START, Policy.of(school), book)
    assert "one earlier hand-in has not been graded" in said
    grade(school)
    with gradebook.Book(school) as book:
        assert classroom.not_yet_graded(school, START, Policy.of(school), book) == ""
