"""Verdicts, plain data and checks: what differs is said in words, nothing a student's object claims is believed, a check never raises."""

from __future__ import annotations

import contextlib
import math
import re
import sys
import warnings
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter
from nbgrader.utils import get_partial_grade

from ffnlab import check, hint, quiz
from ffnlab.checking import panel
from ffnlab.checking.checks import NotEarned
from ffnlab.checking.comparison import compare, reference_outputs_of
from ffnlab.checking.verdict import AspectVerdict, Outcome, Verdict
from ffnlab.diagnosis.differences import difference, normalise_message
from ffnlab.observation import plain_data
from ffnlab.observation.exercise import Exercise, NotAsAsked, backpropagate, describe_result, expect_exception
from ffnlab.observation.plain_data import Failure, Malformed, Opaque
from ffnlab.untrusted_text import clean

TOLERANCE = (1e-9, 1e-9)


def differs(value: Any, right: Any) -> str:
    return difference(plain_data.of(value), plain_data.of(right), *TOLERANCE)


@pytest.mark.parametrize(
    "value", [1, 1.5, True, "a", None, (1, 2), [1, [2.0]], {"a": (1,)}, torch.eye(2), float("nan")]
)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert differs(value, value) == ""


@pytest.mark.parametrize(
    ("value", "right", "words"),
    [
        (torch.zeros(2, 3), torch.zeros(3, 2), "the shape is [2, 3] instead of [3, 2]"),
        (torch.arange(6.0).reshape(3, 2).T, torch.arange(6.0).reshape(3, 2), "transposed"),
        (torch.zeros(2), torch.zeros(2).double(), "the dtype is float32 instead of float64"),
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0]), "NaN"),
        (-torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]), "sign"),
        (torch.tensor([2.0, 4.0]), torch.tensor([1.0, 2.0]), "2 times too large"),
        (torch.tensor([2.0, 3.0]), torch.tensor([1.0, 2.0]), "the same amount"),
        (torch.tensor([1.0, 2.5]), torch.tensor([1.0, 2.0]), "1 of 2 entries differs, at [1] by +0.5"),
        (None, torch.zeros(1), "return"),
        ([1, 2], (1, 2), "instead of a tuple"),
        ((1, 2), (1, 2, 3), "2 values came back instead of 3"),
        ((1,), (1, 2, 3), "1 value came back instead of 3"),
        ([1.0], torch.zeros(1), "a list came back instead of a tensor"),
        ([1.0], "a", "a list with 1 value is not right"),
        (np.random.RandomState, torch.zeros(1), "a class came back instead of a tensor"),
        ({"gradient of x": None}, {"gradient of x": torch.ones(1)}, "no gradient reaches x"),
        (torch.tensor(math.nan), torch.tensor(1.0), "nan is not right"),
        ({"a": 1}, {"a": 1, "b": 2}, "“b” is missing"),
        ({"a": 1}, {"a": 1, "b": 2, "c": 3}, "“b” and “c” are missing"),
        ({"a": 1, "c": 2}, {"a": 1}, "“c” should not be there"),
        (3.0, 3, "the float 3 came back instead of an int; its value is right"),
        (True, 1, "instead of a number"),
        (-2.0, 2.0, "has the wrong sign"),
        (object(), 1.0, "an object of type object"),
    ],
)
def test_what_differs_is_said(value: Any, right: Any, words: str) -> None:
    assert words in differs(value, right)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3, "an int came back"),
        (torch.nn.ReLU(), "a ReLU came back"),
        (np.zeros(2), "a NumPy array came back"),
        (torch.nn.ReLU, "a class came back"),
        (None, "None came back (is a `return` missing?)"),
    ],
)
def test_what_came_back_is_named_with_its_article(value: Any, words: str) -> None:
    assert describe_result(value) == words


def test_an_output_that_is_cut_off_from_its_inputs_is_told_so() -> None:
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(NotAsAsked, match="no gradient arrives: what came back is cut off"):
        backpropagate(leaf.detach() * 2)
    backpropagate(leaf * 2)
    assert leaf.grad is not None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: int("x"), ""),
        (lambda: dict[str, int]()["x"], "making it raises: a KeyError; a ValueError was asked for"),
        (lambda: None, "making it raises: no exception; a ValueError was asked for"),
    ],
)
def test_an_exception_that_should_have_come_is_named(call: Any, words: str) -> None:
    assert differs({"making it raises": expect_exception(call)}, {"making it raises": "ValueError"}) == words


def test_facts_that_cannot_be_computed_say_why() -> None:
    def a_number(observation: Any, inputs: dict[str, Any]) -> float:
        if isinstance(observation, str):
            raise NotAsAsked("a text came back instead of a number")
        return float(observation)

    exercise = Exercise("an_exercise", cases=1)
    exercise.aspect("value", points=1, facts=a_number)(lambda answer: answer)
    reference_outputs = reference_outputs_of(exercise, [{"value": 2.0}], [], [{}])
    assert (
        compare(exercise, reference_outputs, [{"value": "2"}], [{}]).symptom == "a text came back instead of a number"
    )
    assert compare(exercise, reference_outputs, [{"value": None}], [{}]).symptom.startswith(
        "What came back can't be used (TypeError: float()"
    )


def test_facts_take_what_was_asked_from_the_inputs() -> None:
    """A submission may say anything of what it was asked: only what was drawn counts."""
    exercise = Exercise("an_exercise", draw=lambda rng, case: {"p": 0.25}, cases=1)
    exercise.aspect("share", points=1, facts=lambda observation, inputs: observation["share"] == inputs["p"])(
        lambda answer, p: answer
    )
    inputs = [exercise.inputs(0, 0)]
    reference_outputs = reference_outputs_of(exercise, [{"share": {"share": 0.25, "p": 0.25}}], [], inputs)
    assert compare(exercise, reference_outputs, [{"share": {"share": 0.25, "p": 0.25}}], inputs).points == 1
    assert compare(exercise, reference_outputs, [{"share": {"share": 0.5, "p": 0.5}}], inputs).points == 0


def test_an_input_with_an_underscore_is_for_facts_alone() -> None:
    exercise = Exercise("doubled", draw=lambda rng, case: {"n": 3, "_label": "three"}, cases=1)
    exercise.aspect(
        "value",
        points=1,
        facts=lambda observation, inputs: {inputs["_label"]: observation["twice"], "given": observation["given"]},
    )(lambda answer, **inputs: {"twice": answer(inputs["n"]), "given": ", ".join(inputs)})
    inputs = exercise.inputs(0, 0)
    observations = exercise.observe(lambda n: 2 * n, inputs)
    reference_outputs = reference_outputs_of(exercise, [observations], [], [inputs])
    assert reference_outputs.cases[0]["value"] == {"three": 6, "given": "n"}


def test_an_aspect_that_needs_another_counts_only_with_it() -> None:
    exercise = Exercise("an_exercise", cases=1)
    exercise.aspect("value", points=1)(lambda answer: answer)
    exercise.aspect("left alone", points=1, needs="value")(lambda answer: True)
    reference_outputs = reference_outputs_of(exercise, [{"value": 2.0, "left alone": True}], [], [{}])
    assert compare(exercise, reference_outputs, [{"value": 2.0, "left alone": True}], [{}]).points == 2
    verdict = compare(exercise, reference_outputs, [{"value": 3.0, "left alone": True}], [{}])
    assert [(aspect.points, aspect.symptom) for aspect in verdict.aspects][1] == (
        0,
        "This counts once “value” is right.",
    )
    with pytest.raises(ValueError, match="no aspect above it"):
        exercise.aspect("early", points=1, needs="late")(lambda answer: True)


def test_shapes_alone_are_not_called_right_values() -> None:
    assert differs(torch.zeros(2, 3), torch.zeros(3, 2)) == "the shape is [2, 3] instead of [3, 2]"


def test_a_zero_dimensional_tensor_counts_as_a_number() -> None:
    assert differs(torch.tensor(3), 3) == "" and differs(torch.tensor(2.5), 2.5) == ""


def test_no_message_shows_the_expected_tensor() -> None:
    right = torch.tensor([0.123456, 0.654321])
    message = differs(torch.tensor([1.0, 2.0]), right)
    assert "0.123" not in message and "0.654" not in message


def test_exceptions_of_one_kind_are_the_same_whatever_the_shapes_and_addresses() -> None:
    assert normalise_message("mat1 (3x4) at 0x7f01") == normalise_message("mat1 (5x6) at 0xaa")
    assert differs(Failure("ValueError", "shapes 3x4"), Failure("ValueError", "shapes 5x4")) == ""
    assert differs(Failure("ValueError", "at dimension 0"), Failure("ValueError", "at dimension 1")) != ""
    assert differs(Failure("TypeError", "size 3"), Failure("ValueError", "size 3")) != ""


class Yes(tuple):  # type: ignore[type-arg]
    """Claims to equal everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = tuple.__hash__

    def __iter__(self) -> Any:
        return iter((2, 3, 4))


class Liar(torch.Tensor):
    """Answers every torch function with yes."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return True

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return torch.Size([99])


def test_objects_are_what_they_store_not_what_they_claim() -> None:
    assert plain_data.of(Yes((0, 0, 0))) == (0, 0, 0)
    tensor = plain_data.of(torch.zeros(2, 2).as_subclass(Liar))
    assert type(tensor) is torch.Tensor and tensor.shape == (2, 2)
    assert differs(torch.zeros(2, 2).as_subclass(Liar), torch.ones(2, 2)) != ""


def test_what_is_not_plain_is_named_by_its_type() -> None:
    assert plain_data.of(object()) == Opaque("object")
    assert isinstance(plain_data.of(torch.eye(2).to_sparse()), Opaque)
    loop: list[Any] = []
    loop.append(loop)
    assert "Opaque" in repr(plain_data.of(loop))


TEXTS = st.text(max_size=20).map(clean)  # what is plain data already
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_packing_and_unpacking_gives_the_same(value: Any) -> None:
    assert plain_data.unpack(plain_data.pack(plain_data.of(value))) == value


def test_a_tensor_cut_out_of_a_larger_one_is_packed() -> None:
    whole = torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4)
    for cut in (whole[:, :, :1], whole[:, 1:2], whole.mT, whole[..., 0]):
        back = plain_data.unpack(plain_data.pack({"cut": cut}))
        assert isinstance(back, dict) and torch.equal(back["cut"], cut)


@pytest.mark.parametrize("dtype", sorted(plain_data.DTYPES, key=str))
def test_tensors_travel_with_their_dtype_and_shape(dtype: torch.dtype) -> None:
    for tensor in (torch.zeros((), dtype=dtype), torch.ones(2, 0, 3, dtype=dtype), torch.ones(2, 3).to(dtype).T):
        back = plain_data.unpack(plain_data.pack(tensor))
        assert isinstance(back, torch.Tensor) and back.dtype == dtype and torch.equal(back, tensor)


def test_views_of_one_tensor_travel() -> None:
    whole = torch.arange(6.0).reshape(2, 3)
    back = plain_data.unpack(plain_data.pack([whole, whole[0], whole.T]))
    assert isinstance(back, list)
    assert all(
        torch.equal(unpacked, original) for unpacked, original in zip(back, (whole, whole[0], whole.T), strict=True)
    )


def test_nan_and_infinities_travel() -> None:
    back = plain_data.unpack(plain_data.pack([float("nan"), math.inf, -math.inf]))
    assert isinstance(back, list) and math.isnan(back[0]) and back[1:] == [math.inf, -math.inf]


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_garbage_is_malformed_and_nothing_else(data: bytes) -> None:
    with pytest.raises(Malformed):
        plain_data.unpack(data)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_packet_is_read_or_malformed(place: int, byte: int) -> None:
    data = bytearray(plain_data.pack({"a": torch.ones(3), "b": [1, "x"]}))
    data[place % len(data)] = byte
    with contextlib.suppress(Malformed):
        plain_data.unpack(bytes(data))


RAISED = "Your code raised IndexError: index {} is out of range."


@pytest.mark.parametrize(
    ("symptoms", "texts"),
    [
        (["", "5 is not right", "5 is not right"], ["", "5 is not right.", "the same as above."]),
        (["5 is not right", "", "5 is not right"], ["5 is not right.", "", "5 is not right."]),  # “above” is the line above
        (["5 is not right", "", *["5 is not right"] * 2], ["5 is not right.", "", "5 is not right.", "the same as above."]),
        (["None came back", "in float32: None came back", ""], ["None came back.", "in float32: the same as above.", ""]),
        (["2 is not right", "3 is not right", "2 is not right"], ["2 is not right.", "3 is not right.", "2 is not right."]),
        (["", RAISED.format(3), f"T = 1: {RAISED.format(7)}"], ["", RAISED.format(3), "T = 1: the same error."]),
        ([RAISED.format(3), "Your code raised KeyError: 'a'."], [RAISED.format(3), "Your code raised KeyError: 'a'."]),
        ([f"T = 5: {RAISED.format(3)}", f"T = 1: {RAISED.format(7)}"], [RAISED.format(3)]),
        ([f"T = 5: {RAISED.format(3)}"] * 2, [f"T = 5: {RAISED.format(3)}"]),
        (["None came back", "in float32: None came back"], ["None came back."]),
    ],
)  # fmt: skip
def test_a_panel_tells_the_same_thing_once(symptoms: list[str], texts: list[str]) -> None:
    aspects = tuple(AspectVerdict(f"aspect {n}", 0.0 if what else 1.0, 1.0, what) for n, what in enumerate(symptoms))
    _, *lines = panel.of_verdict(Verdict("an_exercise", Outcome.NOT_EARNED, aspects)).text.splitlines()
    assert [re.sub(r"^  [✘✔] (aspect \d \([01] of 1 point\)(: )?)?", "", line) for line in lines] == texts


@pytest.mark.parametrize(
    ("symptom", "text"),
    [
        ("gradient of x, and in 3 other cases (right: “gradient of b2”): all 64 entries differ by -0.0221",
         "gradient of x: all 64 entries differ by −0.0221. 3 other cases fail, too. “gradient of b2” is right."),
        ("f(x) = x @ W + b, also “f is a layer” and “f is a square” (right: “f(x) = x @ W”): 0.157 is not right",
         "f(x) = x @ W + b: 0.157 is not right. “f is a layer” and “f is a square” fail, too. “f(x) = x @ W” is right."),
        ("(right where `bend` is a square): 0.5 is not right", "0.5 is not right. It is right where `bend` is a square."),
        ("no gradient reaches b2 (right: “pre” and “act”)", "no gradient reaches b2. “pre” and “act” are right."),
        ("up, k = 2, and in every case with “k = 2”: 1 is not right", "up, k = 2: 1 is not right. Every case with “k = 2” fails, too."),
        ("x [d], and in the other case: a number instead of a tensor", "x [d]: a number instead of a tensor. The other case fails, too."),
        ("one token, also “h = 1” and “T = 1”: -3 is not right", "one token: −3 is not right. “h = 1” and “T = 1” fail, too."),
        ("x (right: “a”, “b” and 3 more; right for 2 of 4 sets of inputs): 3 is not right",
         "x: 3 is not right. “a”, “b” and 3 more are right. It is right for 2 of 4 sets of inputs."),
        ("x, and in all 4 other cases: Your code raised IndexError: -1 (line 3: x[-1])",
         "x: Your code raised IndexError: -1 (line 3: x[-1]). All 4 other cases fail, too."),
        ("the text 'x -1' instead of `-1`, by -1", "the text 'x -1' instead of `-1`, by −1."),
        ("x[3 -1]: 2-3, 1e-05 and shape [2, 3]", "x[3 −1]: 2-3, 1e-05 and shape [2, 3]."),
    ],
)  # fmt: skip
def test_a_panel_speaks_in_sentences_with_a_minus_sign_outside_of_code(symptom: str, text: str) -> None:
    verdict = Verdict(
        "an_exercise", Outcome.NOT_EARNED, (AspectVerdict("values", 0.0, 1.0, symptom), AspectVerdict("more", 1.0, 1.0))
    )
    assert f"✘ values (0 of 1 point): {text}" in panel.of_verdict(verdict).text


@pytest.mark.parametrize(
    ("symptom", "text"),
    [("a list came back", "A list came back."), ("x was changed", "x was changed."), ("out: no", "out: no.")],
)
def test_a_line_of_its_own_begins_with_a_capital_unless_with_a_name_of_code(symptom: str, text: str) -> None:
    aspects = tuple(AspectVerdict(name, 0.0, 1.0, symptom) for name in ("values", "more"))
    verdict = Verdict("an_exercise", Outcome.NOT_EARNED, aspects, cause="It is a list.", where="the figure")
    assert f"✘ {text}" in panel.of_verdict(verdict).text
    assert verdict.message == f"It is a list. {text} Look at the figure."


def test_a_message_that_ends_with_a_full_stop_gets_no_second_one() -> None:
    assert differs(Failure("ValueError", "No."), 1.0) == "Your code raised ValueError: No."
    assert differs(Failure("ValueError", "No"), 1.0) == "Your code raised ValueError: No."
    assert (
        differs(Failure("ValueError", "No.", "line 2: f()"), 1.0) == "Your code raised ValueError: No. (line 2: f())."
    )


# check, as a notebook calls it.


def wrong(x: Any) -> Any:
    return x.shape[0], x.shape[2], x.shape[1]


def test_a_check_returns_points_and_shows_a_panel(capsys: pytest.CaptureFixture[str]) -> None:
    points = check("hello_shape", lambda x: x.shape)
    output = capsys.readouterr()
    assert isinstance(points, float) and points == 2.0
    assert output.err == "" and "earned, 2 of 2 points" in output.out


def test_what_a_check_returns_is_read_by_nbgrader_and_shows_nothing_to_a_reader() -> None:
    data, _ = DisplayFormatter().format(check("hello_shape", lambda x: x.shape))
    assert data["text/plain"] == "2.0" and re.fullmatch(r"<style\b[^<]*</style>", data["text/html"])
    assert get_partial_grade(nbformat.v4.new_output("execute_result", data), 2.0) == 2.0


@pytest.mark.parametrize(
    "answer", [None, 3, ..., "x", wrong, lambda: 0, lambda x: 1 / 0, lambda x: sys.exit(), object()]
)
def test_a_check_never_raises_and_never_writes_to_stderr(answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("hello_shape", answer) == 0.0
    assert capsys.readouterr().err == ""


def test_what_the_answer_prints_and_warns_is_kept_off_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    def noisy(x: Any) -> Any:
        print("hello")
        print("50%", file=sys.stderr)
        warnings.warn("look out", stacklevel=1)
        return x.shape

    assert check("hello_shape", noisy) == 2.0
    assert capsys.readouterr().err == ""


def test_what_an_answer_prints_is_cut_with_a_sign(capsys: pytest.CaptureFixture[str]) -> None:
    def noisy(x: Any) -> Any:
        print("x" * 10_000)
        return x.shape

    check("hello_shape", noisy)
    output = capsys.readouterr().out
    assert "x… (cut)" in output and len(output) < 5000


def test_a_warning_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    def warning(x: Any) -> Any:
        for _ in range(3):
            warnings.warn("look out", stacklevel=1)
        return x.shape

    check("hello_shape", warning)
    check("hello_shape", warning)
    assert capsys.readouterr().out.count("UserWarning: look out") == 2  # once in each check


def test_a_question_that_waits_for_its_letter_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    quiz("quiz_rank", ...)
    output = capsys.readouterr().out
    assert "the letter of your answer" in output and "NotImplementedError" not in output


def test_an_unknown_exercise_is_a_panel_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("hello_shap", wrong) == 0.0
    assert "did you mean 'hello_shape'?\n" in capsys.readouterr().out


def test_strict_mode_raises_below_full_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FFNLAB_STRICT", "1")
    with pytest.raises(NotEarned, match="hello_shape"):
        check("hello_shape", wrong)
    assert check("hello_shape", lambda x: x.shape) == 2.0
    assert check("hello_shape", wrong, on_purpose=True) == 0.0


def test_an_operation_that_torch_does_not_implement_is_not_an_untouched_stub(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def unlucky(x: Any) -> Any:
        raise NotImplementedError("'tanh' is not implemented for 'Long'")

    check("hello_shape", unlucky)
    assert "not yet" in capsys.readouterr().out


def test_a_check_leaves_the_notebooks_random_numbers_and_threads_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    check("ffn_forward", lambda *arguments: torch.rand(3))
    assert torch.equal(torch.rand(3), expected) and torch.get_num_threads() == threads


def test_hints_come_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        hint("ffn_forward")
    hint("no_such_exercise")
    output = capsys.readouterr().out
    assert "Hint 1 of" in output and "Hint 2 of" in output and "no exercise called" in output
