"""What is said of a wrong answer: which entries differ, where it is right nevertheless, what its numbers have to do with the inputs, and the name
of the mistake, which is worth having only where it is true."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import needs_bubblewrap
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import source_hash
from autograder.engine.grade_submission import grade_answer
from autograder.jail.sandbox import Jail
from autograder.redaction.redact import redact
from ffnlab.checking import comparison, panel
from ffnlab.checking.comparison import compare, reference_outputs_of
from ffnlab.checking.verdict import Outcome, Verdict, from_dict
from ffnlab.diagnosis import (
    causes,
    common_mistakes,
    differences,
    exception_messages,
    input_relations,
    recognition,
    tensor_differences,
)
from ffnlab.diagnosis.mistake import KnownMistake
from ffnlab.observation import plain_data
from ffnlab.observation.exercise import Draw, Exercise, gradients, has_unfinished_line, observe_call, on_each
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import in_sentences
from ffnlab.registry import active_course

Mistakes = dict[str, Callable[..., Any]]


def judge(exercise: Exercise, right: Any, answer: Any, mistakes: Mistakes | None = None, cases: int = 2) -> Verdict:
    """The verdict on `answer`, where `right` is right and `mistakes` are known, each by the message that is its name."""
    inputs = [exercise.inputs(seed, seed) for seed in range(cases)]

    def observe(function: Any) -> list[dict[str, Any]]:
        return [exercise.observe(function, case_inputs) for case_inputs in inputs]

    known = [(name, f"This is {name}.", observe(mistake)) for name, mistake in (mistakes or {}).items()]
    return compare(exercise, reference_outputs_of(exercise, observe(right), known, inputs), observe(answer), inputs)


def of_a_matrix() -> Exercise:
    """f(x), x [T, d]: the values, the gradient, and other shapes."""

    def draw(rng: Draw, case: int) -> dict[str, Any]:
        T, d = rng.distinct(2, 4, 9)
        return {"x": rng.normal(T, d), "b": rng.normal(d)}

    exercise = Exercise("f", draw=draw)

    @exercise.aspect("values", points=2)
    def _(answer: Any, x: Any, b: Any) -> Any:
        return answer(x, b)

    @exercise.aspect("gradient", points=1)
    def _(answer: Any, x: Any, b: Any) -> Any:
        return gradients(lambda x: answer(x, b), x=x)

    @exercise.aspect("any shape, x unchanged", points=1)
    def _(answer: Any, x: Any, b: Any) -> Any:
        shapes = {"x [d]": x[0], "x [1, d]": x[:1], "x [A, T, d]": torch.stack([x, -x])}
        return on_each(lambda tensor: answer(tensor, b), shapes)

    return exercise


def bent(x: Any, b: Any) -> Any:
    return torch.tanh(x) + b


def of_values(right: Any, answer: Any, **inputs: Any) -> Verdict:
    """A verdict on a value by itself, with these inputs."""
    exercise = Exercise("value", draw=lambda rng, case: inputs)
    exercise.aspect("value", points=1)(lambda answer, **_: answer)
    return judge(exercise, right, answer)


torch.manual_seed(0)
WIDE = torch.randn(6, 5, dtype=torch.float64)
SQUARE = torch.randn(4, 4, dtype=torch.float64)
SCORES = torch.randn(5, 4, dtype=torch.float64)
SHARES = SCORES.softmax(-1)


# 1. Which entries differ.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, x: torch.where(x < 0, y + 1, y), "those where `x` is negative"),
        (lambda y, x: torch.where(y < 0, 0.0, y), "ReLU"),
        (lambda y, x: torch.where(y > 0, 0.0, y), "those where the right value is positive, and you give 0 there"),
        (lambda y, x: torch.where(x < -0.9, y + 1, y), "those with the smallest numbers in `x`"),
        (lambda y, x: y.clamp(max=1.0), "those with the largest right values"),
        (lambda y, x: torch.cat([y[:1] + 1 + torch.rand(1, 5), y[1:]]), "they are all in the first row"),
        (lambda y, x: torch.cat([y[:-1], y[-1:] * torch.rand(1, 5)]), "they are all in the last row"),
        (lambda y, x: torch.cat([y[:, :2], y[:, 2:3] * torch.rand(6, 1), y[:, 3:]], 1), "they are all in column 2"),
        (lambda y, x: torch.cat([y[:1], y[1:] * torch.rand(5, 5)]), "only the first row is right"),
        (lambda y, x: torch.cat([y[:1], math.nan * y[1:]]), "; only the first row is right, and you give NaN in all the others"),
        (lambda y, x: y[torch.tensor([1, 0, 3, 2, 5, 4])], "the rows are right, but in another order"),
        (lambda y, x: y + torch.tensor([1.0, 2, 3, 4, 5]), "every row is off by the same vector"),
        (lambda y, x: y + torch.arange(6.0)[:, None], "each row is off by a number of its own"),
        (lambda y, x: y * (2 + torch.arange(6.0))[:, None], "each row is multiplied by a number of its own"),
        (lambda y, x: y * (2 + torch.arange(5.0)), "each column is multiplied by a number of its own"),
        (lambda y, x: y * torch.where(torch.rand_like(y) < 0.5, -1.0, 1.0), "only signs are wrong"),
        (lambda y, x: torch.where(x < 0, torch.nan, y), "those where `x` is negative, and you give NaN there"),
        (lambda y, x: torch.zeros_like(y), "all values are zero"),
        (lambda y, x: y + 3, "every entry is off by the same amount"),
        (lambda y, x: x.clone(), "what came back is `x`, unchanged"),
        (lambda y, x: y + x, "`x` is added once too often"),
        (lambda y, x: y - x, "`x` is missing once"),
        (lambda y, x: y + 0.5 * x, "everything is off by 0.5 times `x`"),
        (lambda y, x: y * (1 + 1e-4 * torch.rand(6, 5)), "right to 3 digits"),
    ],
)  # fmt: skip
def test_what_the_wrong_entries_have_in_common_is_said(change: Any, words: str) -> None:
    right = WIDE.roll(1, 0) * 1.3 - 0.2 * WIDE
    symptom = of_values(right, change(right, WIDE), x=WIDE).symptom
    assert words in symptom, symptom


@pytest.mark.parametrize(
    ("answer", "right", "words"),
    [
        (SCORES.softmax(0), SHARES, "each column adds up to 1, but each row should"),
        (SHARES / 2 + 0.01 * torch.rand(5, 4), SHARES, "the rows do not add up to 1"),
        ((SHARES.log() * 3).softmax(-1), SHARES, "as if the scores before the softmax were 3 times too large"),
        (SQUARE + torch.rand(4, 4).triu(1), SQUARE, "they are all above the diagonal"),
        (torch.tensor([True] * 8 + [False]), torch.tensor([False] * 8 + [True]), "True and False have changed places"),
        (torch.tensor([True] * 9), torch.tensor([True] * 6 + [False] * 3), "you give True there"),
        (WIDE.unsqueeze(0), WIDE, "the values are right, an axis of size 1 is one too many"),
        (WIDE.flatten(), WIDE, "the values are right"),
        (WIDE.float(), WIDE, "the dtype is float32 instead of float64; the values are right"),
    ],
)
def test_what_rows_shapes_and_truth_values_have_in_common_is_said(answer: Any, right: Any, words: str) -> None:
    symptom = of_values(right, answer).symptom
    assert words in symptom, symptom


def test_a_single_wrong_entry_is_told_by_its_place_alone() -> None:
    for right in (WIDE[0], WIDE, SQUARE):
        answer = right.clone()
        answer.view(-1)[2] = math.nan
        place = "[2]" if right.ndim == 1 else "[0, 2]"
        assert (
            of_values(right, answer).symptom == f"1 of {right.numel()} entries differs, at {place}; you give NaN there"
        )


def test_a_few_entries_that_agree_with_a_rule_by_chance_are_no_rule() -> None:
    right = torch.tensor([1.0, -2.0, 3.0])
    assert "negative" not in of_values(right, torch.tensor([1.0, -5.0, 3.0]), x=right).symptom


def test_no_word_shows_a_right_value() -> None:
    secret = 7.12345678
    for right in (secret, torch.tensor([1.0, secret, 3.0], dtype=torch.float64)):
        for wrong in (0.0, torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64), torch.tensor([1.0, 0.0, 3.0])):
            assert "7.12" not in of_values(right, wrong).message


# 2. Mistakes that people make everywhere.


def transposed_by_reshape(y: Any) -> Any:
    return y.T.reshape(y.shape)


EVERYWHERE: Mistakes = {
    "sign": lambda y: -y,
    "transposed": lambda y: y.mT,
    "reshape for transpose": lambda y: y.mT.reshape(y.shape),
    "transpose for reshape": lambda y: y.reshape(y.mT.shape).mT,
    "reversed": lambda y: y.flip(-2),
    "shifted by one": lambda y: y.roll(1, -2),
    "first left out": lambda y: y[..., 1:, :],
    "last left out": lambda y: y[..., :-1],
    "one of many": lambda y: y[..., 0],
    "only the last one": lambda y: y[..., -1:, :].expand(y.shape),
    "summed up": lambda y: y.mean(-1),
    "one softmax too many": lambda y: y.softmax(-1),
    "one ReLU too many": lambda y: y.relu(),
    "one GELU too many": lambda y: torch.nn.functional.gelu(y),
    "exp": lambda y: y.exp(),
    "squared": lambda y: y**2,
    "absolute value": lambda y: y.abs(),
    "reciprocal": lambda y: 1 / y,
    "complement": lambda y: 1 - y,
    "rounded": lambda y: y.round(decimals=1),
    "on or off": lambda y: (y > 0).double(),
    "normalised once more": lambda y: y / y.norm(dim=-1, keepdim=True),
    "running sum": lambda y: y.cumsum(-2),
    "float32": lambda y: y.float().double(),
    "dtype": lambda y: y.float(),
    "nearly right": lambda y: y * 1.001,
    "a factor": lambda y: 100 * y,
    "a constant": lambda y: y + 0.01,
}  # fmt: skip


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_general_mistake_is_named_in_an_exercise_that_does_not_know_it(name: str) -> None:
    change = EVERYWHERE[name]
    exercise = Exercise("f", draw=lambda rng, case: {"x": rng.normal(4 + case, 7)})
    exercise.aspect("values", points=1)(lambda answer, x: answer(x))
    exercise.aspect("a batch", points=1)(
        lambda answer, x: {"x [2, T, d]": observe_call(lambda: answer(torch.stack([x, -2 * x])))}
    )

    def right(x: Any) -> Any:
        return torch.sinh(x) + 0.3

    verdict = judge(exercise, right, lambda x: change(right(x)))
    assert verdict.mistake == f"general: {name}", (verdict.mistake, verdict.symptom)


def test_a_causal_mask_is_named_with_and_without_new_shares() -> None:
    exercise = Exercise("A", draw=lambda rng, case: {"scores": rng.normal(5, 5)})
    exercise.aspect("A", points=1)(lambda answer, scores: answer(scores))

    def mask_scores(scores: Any) -> Any:
        return scores.masked_fill(torch.ones(5, 5).triu(1) > 0, -math.inf).softmax(-1)

    for answer in (mask_scores, lambda scores: scores.softmax(-1).tril()):
        verdict = judge(exercise, lambda scores: scores.softmax(-1), answer)
        assert verdict.mistake == "general: causal mask"


def test_several_numbers_tell_what_one_does_not() -> None:
    exercise = Exercise("norm", draw=lambda rng, case: {"x": rng.normal(5), "y": rng.normal(7)})
    exercise.aspect("norms", points=1)(lambda answer, x, y: {"x": answer(x).item(), "y": answer(y).item()})
    verdict = judge(exercise, lambda x: x.norm(), lambda x: (x**2).sum())
    assert verdict.mistake == "general: squared" and "the square of what is right" in verdict.symptom


def test_a_mean_where_a_sum_was_asked_for_is_related_to_the_size() -> None:
    exercise = Exercise("total", draw=lambda rng, case: {"x": rng.normal(4 + 3 * case, 3)})
    exercise.aspect("total", points=1)(lambda answer, x: answer(x))
    verdict = judge(exercise, lambda x: x.sum(0), lambda x: x.mean(0))
    assert verdict.mistake == "general: divided by a size"
    assert "everything is 4 times too small, and dimension 0 of `x` is 4" in verdict.symptom
    assert judge(exercise, lambda x: x.mean(0), lambda x: x.sum(0)).mistake == "general: multiplied by a size"


def test_a_kept_mistake_wins_over_a_general_one() -> None:
    exercise = of_a_matrix()
    wrong = {"the minus": lambda x, b: -bent(x, b)}
    assert judge(exercise, bent, wrong["the minus"], wrong).mistake == "the minus"
    assert judge(exercise, bent, wrong["the minus"]).mistake == "general: sign"


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (torch.tensor([True, False, True] * 3), torch.tensor([False, True, False] * 3)),
        (2, 3),
        (0.0, 1.0),
        (WIDE + torch.rand(6, 5, dtype=torch.float64), WIDE),
        (torch.tensor([1, 0]), torch.tensor([0, 1])),
        ("A", "B"),
    ],
)
def test_truth_values_small_numbers_and_noise_get_no_general_name(answer: Any, right: Any) -> None:
    assert of_values(right, answer).mistake is None


def test_a_general_name_must_hold_in_every_aspect() -> None:
    def half(x: Any, b: Any) -> Any:
        return -bent(x, b) if x.ndim == 2 else 1 + 2 * bent(x, b)

    assert judge(of_a_matrix(), bent, half).mistake is None


# 3. The aspect and where to look belong to the message.


def test_the_message_says_in_which_aspect_and_where_to_look() -> None:
    exercise = of_a_matrix()
    exercise.where = "the section “Bends”."
    verdict = judge(exercise, bent, lambda x, b: bent(x, b).detach() + 0 * x)
    assert verdict.message.startswith(verdict.cause) and " In “gradient”: gradient of x: " in verdict.message
    assert verdict.message.endswith(" Look at the section “Bends”.")
    assert verdict.as_dict()["message"] == verdict.message


# 4. Contrast.


def test_what_is_right_stands_beside_what_is_wrong() -> None:
    def of_matrices(x: Any, b: Any) -> Any:
        return bent(x, b) if x.ndim < 3 else bent(x, b).transpose(0, 1)

    symptom = judge(of_a_matrix(), bent, of_matrices).symptom
    assert symptom.startswith("x [A, T, d] (right: “x [d]” and “x [1, d]”): the shape is ")


def test_a_gradient_that_does_not_arrive_is_told_after_its_label() -> None:
    slope = torch.arange(9.0)
    right = {"pre": slope, "out": slope, "mode “post”": slope}
    symptom = of_values(
        {label: {"gradient of b": value} for label, value in right.items()},
        {label: {"gradient of b": None if label == "out" else value} for label, value in right.items()},
    ).symptom
    assert symptom == "out (right: “pre” and “mode ‘post’”): no gradient reaches b"
    assert in_sentences(symptom) == "out: no gradient reaches b. “pre” and “mode ‘post’” are right."


@pytest.mark.parametrize("kind", ["NaN", "infinite"])
def test_that_nothing_is_finite_is_said(kind: str) -> None:
    value = math.nan if kind == "NaN" else math.inf
    assert of_values(WIDE, torch.full_like(WIDE, value)).symptom == f"all 30 entries differ; they are all {kind}"


def test_a_reason_that_the_check_gives_is_certain() -> None:
    def reason(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"it fails": observation > 0, "where it is right": "" if observation > 0 else "it is negative"}

    exercise = Exercise("sign", cases=1)
    exercise.aspect("it fails on it", points=1, facts=reason)(lambda answer: answer())
    verdict = judge(exercise, lambda: 2.0, lambda: -3.0, {"a negative": lambda: -1.0})
    assert (verdict.mistake, verdict.likely) == ("a negative", False)


def test_a_label_is_no_cause_where_all_are_wrong() -> None:
    verdict = judge(of_a_matrix(), bent, lambda x, b: bent(x, b) ** 3)
    assert verdict.aspects[2].symptom.startswith("x [d], and in both other cases: ")


def test_what_the_wrong_labels_have_in_common_is_said() -> None:
    exercise = Exercise("top", draw=lambda rng, case: {"x": rng.normal(6)})

    @exercise.aspect("values", points=1)
    def _(answer: Any, x: Any) -> Any:
        return {
            f"{name}, k = {k}": answer(x * scale, k) for name, scale in (("up", 1), ("down", -1)) for k in (1, 2, 3)
        }

    verdict = judge(exercise, lambda x, k: x.topk(k).values, lambda x, k: x.topk(k).values + (k == 2))
    assert verdict.symptom.startswith("up, k = 2, and in every case with “k = 2”: ")


def test_draws_in_which_it_is_right_are_told_by_what_they_have_in_common() -> None:
    def draw(rng: Draw, case: int) -> dict[str, Any]:
        return {"x": rng.normal(4, 6 if case else 4), "kind": "plain" if case == 0 else "other"}

    exercise = Exercise("kinds", draw=draw)
    exercise.aspect("values", points=1)(lambda answer, x, kind: answer(x, kind))
    verdict = judge(exercise, lambda x, kind: 2 * x, lambda x, kind: 2 * x + (kind == "other") * x**3)
    assert "right where `kind` is plain" in verdict.symptom
    exercise = Exercise("sizes", draw=lambda rng, case: {"x": draw(rng, case)["x"]})
    exercise.aspect("values", points=1)(lambda answer, x: answer(x))
    verdict = judge(exercise, lambda x: x / x.shape[0] ** 0.5, lambda x: x / x.shape[1] ** 0.5)
    assert "right where dimension 0 of `x` is as large as dimension 1 of `x`" in verdict.symptom


# 5. A number beside the inputs.


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda d, f: d * f + f, "is too small by `d`"),
        (lambda d, f: d * f + f + 2 * d, "is too large by `d`"),
        (lambda d, f: 2 * (d * f + f + d), "is twice what is right"),
        (lambda d, f: d * f + f + d + 1, "is one too many"),
        (lambda d, f: f, " is `f`"),
        (lambda d, f: d * (d * f + f + d), "is `d` times too large"),
        (lambda d, f: d * f + f + d + 13, "is not right"),
    ],
)
def test_a_count_is_related_to_what_was_asked(answer: Any, words: str) -> None:
    exercise = Exercise("count", draw=lambda rng, case: dict(zip("df", rng.distinct(2, 10, 60), strict=True)))
    exercise.aspect("count", points=1)(lambda answer, d, f: answer(d, f))
    symptom = judge(exercise, lambda d, f: d * f + f + d, answer).symptom
    assert symptom.endswith(words), symptom


def test_one_draw_alone_relates_a_number_to_nothing_that_is_drawn() -> None:
    sample = input_relations.Sample(12, 7, {"d": 5})
    assert input_relations.of_numbers([sample]) == ""
    assert input_relations.of_numbers([sample, input_relations.Sample(9, 7, {"d": 5})]) == ""
    assert input_relations.of_numbers([sample, input_relations.Sample(11, 8, {"d": 3})]) == "is too large by `d`"


# 6. The right answers of other arguments.


def of_a_name() -> Exercise:
    exercise = Exercise("act", draw=lambda rng, case: {"x": rng.normal(9)})

    @exercise.aspect("by name", points=1)
    def _(answer: Any, x: Any) -> Any:
        return {name: observe_call(lambda name=name: answer(x, name)) for name in ACTS}  # type: ignore[misc]

    return exercise


ACTS = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "silu": torch.nn.functional.silu}


def test_what_would_be_right_for_another_argument_is_told() -> None:
    names = {"relu": "relu", "gelu": "silu", "silu": "gelu"}
    verdict = judge(of_a_name(), lambda x, name: ACTS[name](x), lambda x, name: ACTS[names[name]](x))
    assert "that would be right for “silu”" in verdict.symptom
    verdict_on_relu = judge(of_a_name(), lambda x, name: ACTS[name](x), lambda x, name: torch.relu(x))
    assert verdict_on_relu.mistake == "general: argument without effect"


# 8. Two mistakes at once.


def several() -> tuple[Exercise, Any, Mistakes]:
    """Values, gradient and shapes of `bent`, and two mistakes that show in different aspects."""

    def no_bias(x: Any, b: Any) -> Any:
        return torch.tanh(x)

    def one_row(x: Any, b: Any) -> Any:
        return bent(x, b) if x.ndim < 3 else bent(x, b)[:1]

    return of_a_matrix(), bent, {"no bias": no_bias, "one row": one_row}


def test_two_mistakes_in_different_places_are_both_named() -> None:
    exercise = Exercise("two", draw=lambda rng, case: {"x": rng.normal(5)})
    exercise.aspect("double", points=2)(lambda answer, x: answer(x)[0])
    exercise.aspect("square", points=1)(lambda answer, x: answer(x)[1])
    mistakes: Mistakes = {"a third": lambda x: (3 * x, x * x), "a cube": lambda x: (2 * x, x**3)}
    verdict = judge(exercise, lambda x: (2 * x, x * x), lambda x: (3 * x, x**3), mistakes)
    assert verdict.mistake == "a third"
    assert verdict.cause == "There are two mistakes. (1) This is a third. (2) This is a cube."


def test_a_case_that_a_second_mistake_breaks_does_not_hide_the_first() -> None:
    exercise, right, mistakes = several()

    def both(x: Any, b: Any) -> Any:
        if x.shape[0] == 1:
            raise ValueError("a second mistake")
        return torch.tanh(x)

    assert judge(exercise, right, both, mistakes).mistake == "no bias"


def test_an_answer_that_is_right_where_a_mistake_is_wrong_has_not_made_it() -> None:
    exercise, right, mistakes = several()

    def only_matrices(x: Any, b: Any) -> Any:
        return torch.tanh(x) if x.ndim == 2 else bent(x, b)

    assert judge(exercise, right, only_matrices, mistakes).mistake != "no bias"


def test_right_values_with_a_wrong_gradient_have_a_cause_of_their_own() -> None:
    verdict = judge(of_a_matrix(), bent, lambda x, b: bent(x, b) + x.detach() - x)
    assert verdict.mistake == "general: gradient" and verdict.points == 3


def test_writing_into_what_was_handed_over_has_a_cause_of_its_own() -> None:
    def in_place(x: Any, b: Any) -> Any:
        y = bent(x, b)
        x.detach().zero_()
        return y

    verdict = judge(of_a_matrix(), bent, in_place)
    assert verdict.mistake == "general: in place" and verdict.aspects[2].symptom == "x was changed"


def test_a_gradient_that_can_not_be_had_after_writing_in_place_does_not_hide_the_cause() -> None:
    def in_place(x: Any, b: Any) -> Any:
        y = bent(x, b)
        x += 1
        return y

    assert judge(of_a_matrix(), bent, in_place).mistake == "general: in place"


def test_a_general_name_beside_a_second_mistake_says_that_it_is_a_part() -> None:
    def raising(x: Any, b: Any) -> Any:
        if x.shape[0] == 1:
            raise ValueError("a second mistake")
        return -bent(x, b)

    verdict = judge(of_a_matrix(), bent, raising)
    assert verdict.mistake == "general: sign" and verdict.cause.endswith(recognition.PART)


# 9. Careful words, and names by exception.


def test_what_agrees_in_words_alone_is_a_likely_cause() -> None:
    def raising(x: Any, b: Any) -> Any:
        return x @ b.new_zeros(x.shape[-1] + 1, 2)

    mistakes: Mistakes = {"a wrong matrix": raising}
    verdict = judge(of_a_matrix(), bent, raising, mistakes)
    assert verdict.mistake == "a wrong matrix" and verdict.cause == "This is a wrong matrix." and verdict.likely
    assert verdict.message.startswith("This is a wrong matrix. This is the likely cause. ")
    assert "Likely cause. This is a wrong matrix." in panel.of_verdict(verdict).text
    assert from_dict(verdict.as_dict()) == verdict


def test_what_is_nearly_right_is_called_so_and_not_a_cause() -> None:
    verdict = judge(of_a_matrix(), bent, lambda x, b: torch.tanh(x), {"no bias": lambda x, b: torch.tanh(x)})
    for likely in (False, True):
        nearly = replace(verdict, cause="Nearly. A smaller one will do.", likely=likely)
        text = panel.of_verdict(nearly).text
        assert "Nearly. A smaller one will do." in text and "cause" not in text and "What is wrong" not in text
        assert nearly.message.startswith("Nearly. A smaller one will do. In “")


def test_what_agrees_in_numbers_is_told_without_a_hedge() -> None:
    wrong: Mistakes = {"no bias": lambda x, b: torch.tanh(x)}
    verdict = judge(of_a_matrix(), bent, wrong["no bias"], wrong)
    assert verdict.cause == "This is no bias." and not verdict.likely
    assert verdict.message.startswith("This is no bias. In “")
    assert "What is wrong. This is no bias." in panel.of_verdict(verdict).text


def test_an_exception_with_other_sizes_or_another_type_is_another_mistake() -> None:
    exercise = of_a_matrix()
    mistakes: Mistakes = {"a wrong matrix": lambda x, b: x @ b.new_zeros(x.shape[-1] + 1, 2)}
    other = judge(exercise, bent, lambda x, b: x @ b.new_zeros(x.shape[-1] + 3, 2), mistakes)
    assert other.mistake == "general: shapes that do not fit"
    mistakes = {"a list": lambda x, b: [x].shape}  # type: ignore[attr-defined]
    assert judge(exercise, bent, lambda x, b: (x,).shape, mistakes).mistake is None  # type: ignore[attr-defined]
    assert judge(exercise, bent, lambda x, b: [b].shape, mistakes).mistake == "a list"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (lambda x, b: x @ x.new_zeros(x.shape[-1] + 1, 2), "shapes that do not fit"),
        (lambda x, b: torch.cat([x, x], -1) + b, "shapes that do not fit"),
        (lambda x, b: max(x, 0), "a tensor as a condition"),
        (lambda x, b: x.tanh() + None, "None where a value is needed"),
        (lambda x, b: x @ torch.zeros(x.shape[-1], 2), "dtypes that do not fit"),
        (lambda x, b: x.sum(4), "a dimension that is not there"),
        (lambda x, b: b.item() + x, "several numbers for one"),
    ],
)
def test_an_exception_is_explained_where_its_words_are_hard(answer: Any, name: str) -> None:
    verdict = judge(of_a_matrix(), bent, answer)
    assert verdict.mistake == f"general: {name}", verdict.symptom


def test_exceptions_of_two_kinds_and_those_of_the_students_own_have_no_name() -> None:
    def two(x: Any, b: Any) -> Any:
        return x.sum(4) if x.ndim < 3 else max(x, 0)

    def own(x: Any, b: Any) -> Any:
        raise ValueError("no")

    for answer in (two, own):
        assert judge(of_a_matrix(), bent, answer).mistake is None


def test_words_alone_name_nothing_while_something_else_breaks() -> None:
    exercise = Exercise("flags", draw=lambda rng, case: {"x": rng.normal(4)})
    exercise.aspect("it holds", points=2)(lambda answer, x: answer(x)[0])
    exercise.aspect("values", points=1)(lambda answer, x: answer(x)[1])
    mistakes: Mistakes = {"the flag": lambda x: (False, 2 * x)}
    right: Any = lambda x: (True, 2 * x)  # noqa: E731
    assert judge(exercise, right, lambda x: (False, 2 * x), mistakes).mistake == "the flag"
    assert judge(exercise, right, lambda x: (False, None), mistakes).mistake is None


def test_equal_numbers_with_two_causes_are_told_both() -> None:
    """Where two mistakes do the same and a second mistake hides what tells them apart."""

    def also(x: Any, b: Any) -> Any:
        return torch.tanh(x) if x.ndim < 3 else 2 * torch.tanh(x)

    def other(x: Any, b: Any) -> Any:
        if x.ndim == 3:
            raise ValueError("a second mistake")
        return torch.tanh(x)

    exercise, right, mistakes = several()
    verdict = judge(exercise, right, other, {"no bias": mistakes["no bias"], "twice for three": also})
    assert verdict.cause == (
        "Two mistakes give this result. (1) This is no bias. (2) This is twice for three." + recognition.PART
    )


def test_a_name_that_leaves_an_exception_unexplained_says_that_it_is_a_part() -> None:
    exercise, right, mistakes = several()

    def other(x: Any, b: Any) -> Any:
        if x.ndim == 3:
            raise ValueError("a second mistake")
        return torch.tanh(x)

    assert judge(exercise, right, other, mistakes).cause == "This is no bias." + recognition.PART


def test_a_cause_of_a_part_does_not_say_that_the_rest_is_right() -> None:
    exercise = Exercise("two", draw=lambda rng, case: {"x": rng.normal(4)})
    exercise.aspect("values", points=1)(lambda answer, x: answer(x)[0])
    exercise.aspect("sizes", points=2)(lambda answer, x: answer(x)[1])
    inputs = [exercise.inputs(seed, seed) for seed in range(2)]

    def observe(answer: Any) -> list[dict[str, Any]]:
        return [exercise.observe(answer, case_inputs) for case_inputs in inputs]

    message = "The sizes have signs. The values are right, but `abs` is missing. Half is well."
    known = [("signs", message, observe(lambda x: (2 * x, x)))]
    reference_outputs = reference_outputs_of(exercise, observe(lambda x: (2 * x, x.abs())), known, inputs)
    assert compare(exercise, reference_outputs, observe(lambda x: (2 * x, x)), inputs).cause == message
    partly = compare(exercise, reference_outputs, observe(lambda x: (2 * x + x.flip(0).exp(), x)), inputs)
    assert partly.mistake == "signs"
    assert partly.cause == "The sizes have signs. `abs` is missing. Half is well." + recognition.PART


@pytest.mark.parametrize(
    ("message", "remainder"),
    [
        ("The number is right, but a float came back: `//` gives ints.", "A float came back: `//` gives ints."),
        ("The values are right, but x is detached.", "x is detached."),
        ("The value is that of `F.gelu(x)`. The slope is right.", "The value is that of `F.gelu(x)`."),
        ("It is what was printed minus what is right.", "It is what was printed minus what is right."),
    ],
)
def test_what_a_message_says_is_right_can_be_left_out(message: str, remainder: str) -> None:
    assert recognition.without_claims(message) == remainder


def define(code: str) -> Any:
    """The `f` of a cell with this code."""
    linecache.cache["<cell: f>"] = (len(code), None, code.splitlines(keepends=True), "<cell: f>")
    namespace: dict[str, Any] = {"torch": torch}
    exec(compile(code, "<cell: f>", "exec"), namespace)
    return namespace["f"]


@pytest.mark.parametrize(
    ("code", "is_unfinished"),
    [
        ("def f(x, b):\n    y = torch.tanh(x)\n    ...\n", True),
        ("def f(x, b):\n    for row in x:\n        ...\n    return x\n", True),
        ("class f:\n    def __init__(self, x):\n        self.x = x\n\n    def forward(self):\n        ...\n", True),
        ("def f(x, b):\n    return x\n    ...\n", False),
        ("def f(x, b):\n    return x[..., None]\n\n\ndef g():\n    ...\n", False),
    ],
)
def test_code_with_an_ellipsis_for_a_line_is_unfinished(code: str, is_unfinished: bool) -> None:
    assert has_unfinished_line(define(code)) is is_unfinished


def test_unfinished_code_is_called_so_unless_it_computes_what_a_known_mistake_does() -> None:
    exercise, right, mistakes = several()
    inputs = [exercise.inputs(seed, seed) for seed in range(2)]

    def cause_of(answer: Any, ellipsis: bool = False) -> Verdict:
        observations = [
            [exercise.observe(function, case_inputs) for case_inputs in inputs]
            for function in (right, mistakes["no bias"], answer)
        ]
        reference_outputs = reference_outputs_of(
            exercise, observations[0], [("no bias", "This is no bias.", observations[1])], inputs
        )
        return compare(exercise, reference_outputs, observations[2], inputs, ellipsis)

    def stub_for_one(x: Any, b: Any) -> Any:
        if x.ndim == 1:
            raise NotImplementedError
        return right(x, b)

    assert cause_of(mistakes["no bias"], ellipsis=True).mistake == "no bias"
    assert cause_of(lambda x, b: x, ellipsis=True).cause == "Your code is not finished: it still has the line `...`."
    assert cause_of(lambda x, b: x).mistake == "general: input returned"
    assert "it still has the line `raise NotImplementedError`" in cause_of(stub_for_one).cause
    assert cause_of(lambda x, b: None).cause == causes.NOTHING_RETURNED.message
    assert cause_of(right, ellipsis=True).outcome is Outcome.EARNED


def test_a_weight_that_comes_back_is_named_and_is_no_unchanged_input() -> None:
    exercise = Exercise("f", draw=lambda rng, case: {"weights": {"W1": rng.normal(5, 3), "b1": rng.normal(5)}})
    exercise.aspect("values", points=1)(lambda answer, weights: answer(**weights))
    verdict = judge(exercise, lambda W1, b1: 2 * W1, lambda W1, b1: b1)
    assert verdict.cause == "You return `b1` as it was handed in. Is that what was asked for?"


def test_an_exception_for_all_other_numbers_of_dimensions_is_told_as_that() -> None:
    exercise = Exercise("f", draw=lambda rng, case: {"x": rng.normal(2, 3, 4)})

    @exercise.aspect("any shape", points=1)
    def _(answer: Any, x: Any) -> Any:
        shapes = {"x of shape [d]": x[0, 0], "x of shape [T, d]": x[0], "x of shape [B, T, d]": x}
        return on_each(answer, shapes)

    verdict = judge(exercise, torch.tanh, lambda x: torch.tanh(x) + 0 * torch.einsum("td->t", x)[:, None])
    assert verdict.mistake == "general: number of dimensions"
    assert verdict.cause.startswith("Your code works with 2 dimensions, and raises an exception with 1 or 3.")


def test_many_small_counts_tell_what_one_does_not() -> None:
    def counts(most: int) -> Exercise:
        exercise = Exercise("count", draw=lambda rng, case: {"n": 2 + 3 * case})
        exercise.aspect("counts", points=1)(lambda answer, n: {f"n = {n + m}": answer(n + m) for m in range(most)})
        return exercise

    mistakes: Mistakes = {"one more": lambda n: n + 1}
    several = judge(counts(4), lambda n: n, lambda n: n + 1, mistakes)
    single = judge(counts(1), lambda n: n, lambda n: n + 1, mistakes)
    assert several.cause == single.cause == "This is one more." and (several.likely, single.likely) == (False, True)


def test_dust_and_constants_tell_nothing() -> None:
    for value in (1.0, torch.ones(3), torch.zeros(3), torch.full((4,), 1e-17), torch.tensor([1e-17, -2e-18]), 3, True):
        assert not differences.tells(plain_data.of(value)), value
    for value in (0.37, torch.tensor([0.1, 0.2]), torch.arange(9), torch.arange(9) > 4, 1_234):
        assert differences.tells(plain_data.of(value)), value


def test_operands_of_other_types_are_another_mistake() -> None:
    """The names of types in an exception tell what was multiplied with what."""
    exercise = of_a_matrix()
    mistakes: Mistakes = {"a list": lambda x, b: [1] * x.tolist()}
    assert judge(exercise, bent, lambda x, b: x.tolist() - [1], {"a list": lambda x, b: "" - [1]}).mistake is None  # type: ignore[operator]
    assert judge(exercise, bent, lambda x, b: [2] * [1], mistakes).mistake == "a list"  # type: ignore[operator]


def test_two_causes_that_agree_alike_in_words_are_both_told() -> None:
    exercise = Exercise("flag", draw=lambda rng, case: {"x": rng.normal(4)})
    exercise.aspect("it holds", points=1)(lambda answer, x: answer(x))
    mistakes: Mistakes = {"one": lambda x: False, "two": lambda x: False}
    verdict = judge(exercise, lambda x: True, lambda x: False, mistakes)
    assert verdict.cause == "Two mistakes give this result. (1) This is one. (2) This is two."


# 10. Wording.


def test_a_single_number_is_not_off_by_a_factor_of_nothing() -> None:
    symptom = of_values(torch.tensor(0.37, dtype=torch.float64), torch.tensor(0.912, dtype=torch.float64)).symptom
    assert symptom == "the value is off by +0.542"


def test_a_factor_is_told_only_where_it_fits_as_nearly_as_asked() -> None:
    bent_a_little = 2 * WIDE
    bent_a_little[0, 0] += 1e-7
    assert "times too large" in of_values(WIDE, 2 * WIDE).symptom
    assert "times too large" not in of_values(WIDE, bent_a_little).symptom


def test_a_long_text_is_cut_with_a_sign() -> None:
    assert of_values("B", "x" * 100).symptom == f"“{'x' * 39}…” is not right"


def test_a_promise_that_is_broken_is_told_plainly() -> None:
    right: dict[str, Any] = {"A and V are left as they were": True, "two calls give the same": True}
    assert of_values(right, right | {"A and V are left as they were": False}).symptom == "A and V were changed"
    assert (
        of_values(right, right | {"two calls give the same": False}).symptom == "“two calls give the same” is not true"
    )


def test_a_clause_about_the_answer_is_denied_in_its_own_words() -> None:
    facts: dict[str, Any] = {"your network is within a thousandth": True, "what is missing": ""}
    missed = facts | {"your network is within a thousandth": False, "what is missing": "one hidden layer"}
    assert of_values(facts, missed).symptom == "your network is not within a thousandth"


# What a submission sends is hostile.

NUMBERS = st.floats(width=32) | st.integers(-(2**60), 2**60) | st.booleans() | st.none() | st.text(max_size=4)
SHAPES = st.lists(st.integers(0, 3), max_size=3)
DTYPES = st.sampled_from(sorted(plain_data.DTYPES, key=str))
SPECIAL = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e300, math.nan, math.inf, -math.inf])


@st.composite
def tensors(draw: Any) -> torch.Tensor:
    shape = draw(SHAPES)
    count = math.prod(shape)
    values = draw(st.lists(SPECIAL | st.floats(-5, 5), min_size=count, max_size=count))
    tensor = torch.tensor(values, dtype=torch.float64).reshape(shape)
    return tensor.nan_to_num(0, 1, -1).clamp(-100, 100).to(draw(DTYPES)) if draw(st.booleans()) else tensor


ANYTHING = st.recursive(
    NUMBERS | tensors() | st.builds(Failure, st.text(max_size=3), st.text(max_size=9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, max_examples=150)
@given(ANYTHING, ANYTHING, ANYTHING)
def test_nothing_that_is_sent_breaks_an_explanation(output: Any, right: Any, other: Any) -> None:
    """The guard around explanations is left out: nothing in them raises."""
    exercise = Exercise("any", draw=lambda rng, case: {"x": rng.normal(3, 2), "n": 4})
    exercise.aspect("one", points=1)(lambda answer: answer)
    exercise.aspect("two", points=1)(lambda answer: answer)
    aspects = exercise.aspects
    inputs = [exercise.inputs(case, case) for case in range(2)]
    answer_facts, right_facts = ([{"one": value, "two": right} for _ in inputs] for value in (output, right))
    spots_by_aspect = {aspect.name: differences.spots(aspect, answer_facts, right_facts) for aspect in aspects}
    known = KnownMistake("k", "m", [{"one": other}, {"one": other}])
    for aspect in aspects:
        assert bool(differences.describe_differences(aspect, spots_by_aspect[aspect.name], inputs)) == any(
            s.wrong for s in spots_by_aspect[aspect.name]
        )
    if any(spot.wrong for spots in spots_by_aspect.values() for spot in spots):
        recognition.find_cause(exercise, [known], spots_by_aspect, answer_facts, inputs)


def test_an_explanation_that_fails_costs_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(recognition, "find_cause", broken)
    monkeypatch.setattr(differences, "describe_differences", broken)
    verdict = of_values(1.0, 2.0)
    assert (verdict.points, verdict.symptom, verdict.mistake) == (0, "This is not right", None)


def test_what_is_large_is_compared_but_not_explained() -> None:
    large = torch.arange(common_mistakes.MAX_ENTRIES + 1.0)
    assert next(common_mistakes.find_mistakes(-large, large, torch.allclose), None) is None
    assert "differ" in of_values(large, -large).symptom


def test_what_a_page_says_of_hidden_inputs_has_no_value_to_read_off() -> None:
    verdict = of_values(WIDE, torch.where(WIDE < 0, WIDE + 0.123456, WIDE), x=WIDE)
    assert "0.123" not in redact(verdict).message and "negative" in redact(verdict).message


def test_a_change_of_how_mistakes_are_named_is_a_change_of_every_key() -> None:
    version = source_hash.files(*active_course().key_files("07_gated"), Path(comparison.__file__))
    rooms = {
        Path(str(room.__file__)).resolve()
        for room in (
            comparison,
            differences,
            tensor_differences,
            causes,
            common_mistakes,
            recognition,
            exception_messages,
            input_relations,
        )
    }
    assert rooms <= version


EXCEPTIONS = {
    "list = [1, 2]\ndef hello_shape(x):\n    return tuple(list(x.shape))": "has given it another value",
    "F = 3\ndef hello_shape(x):\n    return F.relu(x).shape": "A value is not what your code takes it for",
    "def hello_shape(x):\n    return tuple(x.cuda().shape)": "a graphics card",
    "def hello_shape(x):\n    return tuple(x.to('mps').shape)": "a graphics card",
    "def hello_shape(x):\n    breakpoint()\n    return tuple(x.shape)": "waits for somebody to type",
    "def hello_shape(x):\n    input()\n    return tuple(x.shape)": "waits for somebody to type",
    "import einops\ndef hello_shape(x):\n    return tuple(x.shape)": "a package that is not installed",
    "def hello_shape(x):\n    return tuple(x.shape), open('mine.txt').read()": "a file that is not there",
    "def hello_shape(x):\n    import urllib.request\n    urllib.request.urlopen('http://192.0.2.1')": "needs the network",
    "def hello_shape(x):\n    return hello_shape(x)": "nothing ends that",
    "class hello_shape:\n    def __init__(self):\n        pass": "write `def` in place of `class`",
    "def hello_shape(x):\n    return tuple(helper(x))": "a name that nothing has defined",
}


@needs_bubblewrap
@pytest.mark.parametrize("source", EXCEPTIONS)
def test_what_an_exception_means_is_said_where_a_list_can_know_it(source: str, jail: Jail) -> None:
    assert EXCEPTIONS[source] in grade_answer("hello_shape", source, jail)["cause"]
