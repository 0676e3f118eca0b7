"""What a student reads of a verdict on hidden inputs tells no value of theirs, and by how much an output is off to two digits only."""

from __future__ import annotations

import json
import re

import pytest
from attacks import START
from hypothesis import example, given
from hypothesis import strategies as st
from test_class import LISTED, rebuilt
from test_rebuild import ANSWER, answered

from autograder import keys
from autograder.desk import feedback
from autograder.marking import draws
from autograder.marking.judge import judge_here
from autograder.marking.withheld import rough, withheld
from ffnlab import exercises
from ffnlab.verdict import not_earned

NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)\.?\d*(?:[eE][+-]?\d+)?")  # 10,10 are two
SEVERAL = ("hello_shape", "softmax", "ffn_forward", "gelu_tanh", "silu", "collapse_linear", "swiglu")


def digits(number: str) -> int:
    """How many significant ones it has; a whole number below a thousand is a size."""
    return 0 if re.fullmatch(r"\d{1,3}", number) else len(re.sub(r"[eE].*|\D", "", number).strip("0"))


@pytest.mark.parametrize("name", [name for name in SEVERAL if name in exercises.every()])
def test_no_kept_mistake_is_told_more_than_two_digits(name: str) -> None:
    key = keys.find(name)
    for kept in key.mistakes:
        verdict = judge_here(key, kept.answer, draws.development(name))
        for aspect in withheld(verdict).aspects:
            assert all(digits(number) <= 2 for number in NUMBER.findall(aspect.seen)), aspect.seen


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("3 of 241 entries differ, the first at [0, 113], by +0.12345", "3 of 241 entries differ, the first at [0, 113], by +0.12"),
        ("everything is 1.3375 times too large", "everything is 1.3 times too large"),
        ("n = 4 on [0.13, 2.71828]: 1,234,567 is not right", "n = 4 on [0.13, 2.7]: 1,200,000 is not right"),
        ("12,345 is not right", "12,000 is not right"),
        ("by -4.71e-05", "by -4.7e-05"),
        ("Your code raised RuntimeError: mat1 and mat2 shapes cannot be multiplied (96x128 and 100x96) (line 3: x @ W1).",) * 2,
        ("Your code raised ValueError: 0x1.921fb54442d18p+1, 3ff921fb, tensor([1.2345,6.789])", "Your code raised ValueError: …+1, …, tensor([1.2, 6.8])"),
        ("dtype float32 instead of float64",) * 2,
        (" ".join("123456789" * 2), " ".join("123456789123") + " …" * 6),
    ],
)  # fmt: skip
def test_what_is_told_of_a_number(seen: str, told: str) -> None:
    assert rough(seen) == told


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["{!r}", "x={:.6f}", "{:.17e}", "[{!r},{!r}]", "a{!r}b"]),
)
@example(10.0, "[{!r},{!r}]")
@example(100.0, "[{!r},{!r}]")
def test_no_value_can_be_read_off(value: float, form: str) -> None:
    assert all(digits(number) <= 2 for number in NUMBER.findall(rough(form.format(value, value))))


def test_a_page_shows_neither_what_was_printed_nor_what_was_raised_in_full() -> None:
    said = "Your code raised ValueError: 0.123456789 (line 2: raise ValueError(x[0].item()))."

    graded = rebuilt(json.dumps(answered(ANSWER)).encode(), {e.name: not_earned(e, said) for e in LISTED})
    graded.printed = {e.name: "tensor([0.987654321])" for e in LISTED}
    page = feedback.feedback_page("eve", graded) + json.dumps(feedback.graded_notebook(graded))
    assert "0.12345" not in page and "987654" not in page and "ValueError: 0.12" in page
    assert graded.assignment == START
