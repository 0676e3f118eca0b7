"""What a student reads of a verdict on hidden inputs tells no value of theirs, and by how much an output is off to two digits only."""

from __future__ import annotations

import json
import re

import pytest
from attacks import START
from conftest import needs_bubblewrap, often
from hypothesis import example, given
from hypothesis import strategies as st
from test_attacks import SEEDS
from test_class import LISTED, rebuilt
from test_program import ANSWER, answered

from autograder import keys
from autograder.engine.grade_submission import grade_submission
from autograder.gradebook import nbgrader_tables
from autograder.grading import feedback
from autograder.jail.sandbox import Jail
from autograder.redaction import panels, quotations
from autograder.redaction.redact import redact, round_numbers
from autograder.reference import draws
from autograder.reference.compute import verdict_of
from ffnlab.checking.verdict import not_earned
from ffnlab.phrases import quote
from ffnlab.registry import active_course

NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)\.?\d*(?:[eE][+-]?\d+)?")  # 10,10 are two
SEVERAL = ("hello_shape", "ffn_forward", "activation", "collapse_linear")


def digits(number: str) -> int:
    """How many significant ones it has; a whole number below a thousand is a size."""
    return 0 if re.fullmatch(r"\d{1,3}", number) else len(re.sub(r"[eE].*|\D", "", number).strip("0"))


@pytest.mark.parametrize("name", often(SEVERAL, [name for name in SEVERAL if name != "activation"]))
def test_no_kept_mistake_is_told_more_than_two_digits(name: str) -> None:
    key = keys.find(name)
    for mistake in key.mistakes:
        verdict = verdict_of(key, mistake.answer, draws.development(name))
        for aspect in redact(verdict).aspects:
            assert all(digits(number) <= 2 for number in NUMBER.findall(aspect.symptom)), aspect.symptom


@pytest.mark.parametrize(
    ("text", "rounded_text"),
    [
        ("3 of 241 entries differ, the first at [0, 113] by +0.12345", "3 of 241 entries differ, the first at [0, 113] by +0.12"),
        ("everything is 1.3375 times too large", "everything is 1.3 times too large"),
        ("n = 4 on [0.13, 2.71828]: 1,234,567 is not right", "n = 4 on [0.13, 2.7]: 1,200,000 is not right"),
        ("12,345 is not right", "12,000 is not right"),
        ("by -4.71e-05", "by -4.7e-05"),
        ("Your code raised RuntimeError: mat1 and mat2 shapes cannot be multiplied (96x128 and 100x96) (line 3: x @ W1).",) * 2,
        ("Your code raised ValueError: 0x1.921fb54442d18p+1, 3ff921fb, tensor([1.2345,6.789])", "Your code raised ValueError: …+1, …, tensor([1.2, 6.8])"),
        ("the dtype is float32 instead of float64",) * 2,
        (" ".join("123456789" * 2), " ".join("123456789123") + " …" * 6),
    ],
)  # fmt: skip
def test_what_is_told_of_a_number(text: str, rounded_text: str) -> None:
    assert round_numbers(text) == rounded_text


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["{!r}", "x={:.6f}", "{:.17e}", "[{!r},{!r}]", "a{!r}b"]),
)
@example(10.0, "[{!r},{!r}]")
@example(100.0, "[{!r},{!r}]")
def test_no_value_can_be_read_off(value: float, form: str) -> None:
    assert all(digits(number) <= 2 for number in NUMBER.findall(round_numbers(form.format(value, value))))


def test_a_page_shows_neither_what_was_printed_nor_what_was_raised_in_full() -> None:
    message = "Your code raised ValueError: 0.123456789 (line 2: raise ValueError(x[0].item()))."

    submission = rebuilt(json.dumps(answered(ANSWER)).encode(), {e.name: not_earned(e, message) for e in LISTED})
    submission.printed = {e.name: "tensor([0.987654321])" for e in LISTED}
    page = feedback.feedback_page("eve", submission) + json.dumps(feedback.build_graded_notebook(submission))
    assert "0.12345" not in page and "987654" not in page and "ValueError: 0.12" in page
    assert submission.assignment == START


# A student's own words. `code` spells digits of a hidden input in letters and words, with "zq" between, which stands nowhere in the submission.
CODE = """
import linecache
from ffnlab.observation.exercise import NotAsAsked

def code(x):
    words = "nought one two three four five six seven eight nine".split()
    return ("z" + "q").join(words[int(digit)] for digit in str(x.flatten()[0].item()) if digit.isdigit())

def hello_shape(x):
    """
SPELLING = {
    "a message": "raise ValueError(code(x))",
    "a probe's message": "raise NotAsAsked(code(x))",
    "a hole in a probe's message": 'raise NotAsAsked(f"a {code(x)} came back instead of a tensor")',
    "a type": 'raise type(code(x), (Exception,), {})("no")',
    "a type like a probe's": 'raise type("NotAnOption", (Exception,), {})(code(x))',
    "a file's line": """source = code(x) + "()"
    linecache.cache["<ipython-input-1-a>"] = 1, None, [source], ""
    exec(compile(source, "<ipython-input-1-a>", "exec"))""",
    "a function": "return getattr(x, code(x))()",
}


def answers(source: str, jail: Jail) -> tuple[str, str]:
    """Of a graded answer, what its instructor reads and what the student does."""
    submission = grade_submission(START, json.dumps(answered(source)).encode(), jail, SEEDS)
    page = re.sub("<pre.*?</pre>", "", feedback.feedback_page("eve", submission), flags=re.DOTALL)  # but for the answer
    remarks = str(nbgrader_tables.remarks_of(submission))
    verdict = submission.verdicts["hello_shape"]
    return verdict.message, page + remarks + panels.panel_for(START, verdict).text


@needs_bubblewrap
@pytest.mark.parametrize("way", SPELLING)
def test_no_hidden_input_is_spelled_on_a_page(way: str, jail: Jail) -> None:
    instructor, student = answers(CODE + SPELLING[way], jail)
    assert "zq" in instructor and "zq" not in student and "hello_shape" in student


@pytest.mark.parametrize("value", ["zqone", type("zqone", (), {})(), {"zqone": 1}, ["zqone"]])
def test_no_returned_text_or_type_is_on_a_page(value: object) -> None:
    for name in ("activation", "break_head", "ffn_backward", "count_block"):
        verdict = verdict_of(keys.find(name), lambda *_, **__: value, draws.development(name))
        verdict = quotations.strip_unquoted(verdict, ["zqtwo"])
        assert (
            verdict.symptom
            and "zq" not in panels.panel_for(active_course().notebook_of(name), verdict).text + redact(verdict).message
        )


@needs_bubblewrap
def test_words_that_were_handed_in_and_those_of_our_probes_are_shown(jail: Jail) -> None:
    begin = "\n\nclass Odd(Exception):\n    pass\n\ndef hello_shape(x):\n    "
    for code, words in {
        'raise Odd("too few tokens")': "Your code raised Odd: too few tokens (line 5: raise Odd(&quot;too few tokens&quot;)).",
        'raise Odd(f"{len(x)} tokens")': "Your code raised Odd: … (line 5: raise Odd(f&quot;{len(x)} tokens&quot;)).",
        "return x @ x[0, :1, :1, :1]": "(line 5: return x @ x[0, :1, :1, :1])",
    }.items():
        assert words in answers(begin + code, jail)[1], code
    for message in (
        "None came back (is a `return` missing?) instead of a tensor",
        "a list came back; a pair (out, A) was expected",
        "expected attribute linear1: nn.Linear(d_model, d_ff); its weight has shape [8, 7]",
        "in the pair (out, A), A is a NoneType; a tensor was expected",
    ):
        verdict = not_earned(LISTED[0], quote(message))
        assert redact(quotations.strip_unquoted(verdict, [])).symptom == message and redact(verdict).symptom == "…"
