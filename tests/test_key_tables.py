"""Slips as rows of a table: the notation of autograder/keys/table.py, and what is said of a row that can't be read or made."""

from __future__ import annotations

import re
from typing import Any

import pytest

from autograder import keys
from autograder.keys import table
from autograder.keys.key import NO_RETURN, Key
from autograder.keys.problem import KeyProblem
from autograder.keys.table import TableProblem
from ffnlab.observation.exercise import Exercise
from ffnlab.registry import active_course

ROWS = """
# Sizes.
in x * 2
tripled: x * 3
    It is tripled,
    not doubled.
| three_times: x + x + x
nothing_left:
    Nothing is left.
| tripled | by_adding
  + y = x + x
  + return y + x
of halved
quartered: / 2 -> / 4
    It is halved twice.
|| eighth: / 4 -> / 8
erased: / 2 ->
    It is not halved.
of base
in
  - y = x
  - return y
twice
  + return x
    NO_RETURN
several
  - y = x
  + z = x
  - return y
  + return z
    Two places.
"""


def rows(text: str) -> list[tuple[Any, ...]]:
    return [
        (row.name, row.of, row.form_of, row.replace, row.message) for row in table.read(text, {"NO_RETURN": NO_RETURN})
    ]


def test_every_form_of_a_row_is_read() -> None:
    assert rows(ROWS) == [
        ("tripled", "", "", {"x * 2": "x * 3"}, "It is tripled, not doubled."),
        ("three_times", "", "tripled", {"x * 2": "x + x + x"}, ""),
        ("nothing_left", "", "", {"x * 2": ""}, "Nothing is left."),
        ("by_adding", "", "tripled", {"x * 2": "y = x + x\nreturn y + x"}, ""),
        ("quartered", "halved", "", {"/ 2": "/ 4"}, "It is halved twice."),
        ("eighth", "quartered", "quartered", {"/ 4": "/ 8"}, ""),
        ("erased", "halved", "", {"/ 2": ""}, "It is not halved."),
        ("twice", "", "", {"y = x\nreturn y": "return x"}, NO_RETURN),
        ("several", "", "", {"y = x": "z = x", "return y": "return z"}, "Two places."),
    ]
    assert [row.line for row in table.read(ROWS, {"NO_RETURN": NO_RETURN})][:3] == [3, 6, 7]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("tripled: x * 3\n    A message.", 0, 8, "no `in` above it says what is replaced"),
        ("in x\nof halved\ntripled: x * 3", 2, 8, "no `in` above it"),
        ("in x\ntripled:x * 3", 1, 9, "no row begins like this: 'x * 3'"),
        ("in x\n| again: x", 1, 1, "no mistake stands above it"),
        ("    A message.", 0, 5, "a message, and no row above it"),
        ("tripled\n    A message.", 0, 8, "tripled changes nothing"),
        ("in x\ntripled\n  * y", 2, 3, "a line of a diff"),
        ("tripled\n  + y", 2, 3, "no `in` above it"),
        ("in x\ntripled: y\n    UNKNOWN", 2, 5, "no message is called UNKNOWN"),
        ("in x\nDouble words: y", 1, 7, "no row begins like this: ' words: y'"),
        ("of a b", 0, 3, "no row begins like this: ' a b'"),
    ],
)
def test_what_is_no_row_is_told_by_its_line_and_column(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(TableProblem, match=re.escape(words)) as problem:
        list(table.read(text, {}))
    assert (problem.value.line, problem.value.column) == (line, column)


def small_key() -> Key:
    key = Key(Exercise("double"))

    @key.base
    def double(x: Any) -> Any:
        return x * 2

    @key.right("by adding")
    def added(x: Any) -> Any:
        return x + x

    return key


def test_rows_are_kept_as_slips_are() -> None:
    key = small_key()
    key.slips("""
in x * 2
tripled: x * 3
    It is tripled.
| three_times: x + x + x
of added
zero: + -> -
    It is zero.
|| zero_again: x - x -> 0 * x
""")
    kept = [(answer.name, answer.form_of, answer.message, answer.source) for answer in key.mistakes]
    head = "def double(x: Any) -> Any:\n    return "
    assert kept == [
        ("tripled", "", "It is tripled.", f"{head}x * 3\n"),
        ("three_times", "tripled", "It is tripled.", f"{head}x + x + x\n"),
        ("zero", "", "It is zero.", f"{head}x - x\n"),
        ("zero_again", "zero", "It is zero.", f"{head}0 * x\n"),
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("tripled: absent -> z", "tripled can't be made of double: 'absent' occurs in it 0 times"),
        ("tripled: x * 2 -> x * 3", "has no message that names the mistake tripled"),
        ("tripled:y", "column 9: no row begins like this"),
        ("| added | tripled: x * 2 -> 2", "has no mistake added"),
    ],
)
def test_a_row_that_cannot_be_made_is_told_by_its_line_in_the_file(row: str, words: str) -> None:
    key = small_key()
    with pytest.raises(KeyProblem, match=re.escape(words)) as problem:
        key.slips(f"""
of base
{row}
""")
    with open(__file__, encoding="utf-8") as file:
        (line,) = [number for number, text in enumerate(file, 1) if text.strip() == "{row}"]
    assert f"test_key_tables.py, line {line}" in str(problem.value)


def test_the_base_may_be_a_right_answer_by_its_name() -> None:
    key = small_key()
    key.base("added")
    key.slips("""
zero: x + x -> 0 * x
    It is zero.
""")
    assert key.mistakes[0].source.endswith("return 0 * x\n")
    with pytest.raises(KeyProblem, match="no right answer halved to be the base"):
        key.base("halved")


def test_no_kept_answer_holds_a_remark_for_a_linter() -> None:
    answers = [answer for name in active_course().exercises for answer in keys.find(name).answers]
    assert len(answers) > 2000
    assert not [answer.name for answer in answers if "noqa" in answer.source or "type: ignore" in answer.source]


def test_no_kept_source_has_the_exercises_name_where_another_was_meant() -> None:
    """A function is kept under the exercise's name: one that is called like something it uses would have that renamed, too."""
    named = {
        f"{name}: {answer.name}"
        for name in active_course().exercises
        for answer in keys.find(name).answers
        if re.search(rf"\.{name}\b", answer.source)
    }
    assert named == set()


def test_a_function_that_is_called_like_a_method_keeps_the_method() -> None:
    key = small_key()

    @key.mistake("It is the place of the largest.")
    def argmax(x: Any) -> Any:
        return argmax if x is None else x.argmax()

    assert key.mistakes[0].source.endswith("return double if x is None else x.argmax()\n")
