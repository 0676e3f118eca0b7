"""The matrix: every kept answer of every exercise against the checks, on public and hidden draws. It tells whether the answer keys hold.

Right answers must earn full marks; each mistake must lose marks and get its own message; no two mistakes may do the same; the stub is "not attempted".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograder.keys.key import Answer, Key
from autograder.reference import compute
from ffnlab.checking.comparison import compare
from ffnlab.checking.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from autograder.reference.draws import Seeds


@dataclass(frozen=True)
class MatrixRow:
    """One kept answer on one set of draws. `problem` is empty where the verdict is what it must be."""

    answer: Answer
    draws: str
    verdict: Verdict
    problem: str


def stub(*arguments: object, **options: object) -> object:
    """What an untouched exercise does."""
    raise NotImplementedError


def stub_answer(key: Key) -> Answer:
    """The exercise as it is handed out."""
    is_value = not callable(key.the_truth.answer)
    return Answer(key.exercise.name, "stub", "stub", "", ... if is_value else stub, "")


def rows(key: Key, draws: dict[str, Seeds], solution: Answer | None = None) -> list[MatrixRow]:
    """The rows of one exercise, on each of the named sets of draws. `solution` is the solution notebook's answer."""
    extra = [solution] if solution else []
    answers = [stub_answer(key), *extra, *compute.all_answers(key)]
    return [
        MatrixRow(answer, label, verdict, problem(answer, verdict))
        for label, seeds in draws.items()
        for answer in answers
        for verdict in [compute.verdict_of(key, answer.answer, seeds)]
    ]


def problem(answer: Answer, verdict: Verdict) -> str:
    """What is wrong with the verdict on a kept answer; empty where nothing is."""
    if answer.kind == "stub":
        return "" if verdict.outcome is Outcome.NOT_ATTEMPTED else "the stub is not “not attempted”"
    if answer.kind == "right":
        return "" if verdict.outcome is Outcome.EARNED else f"a right answer loses marks: {verdict.message}"
    if verdict.outcome is Outcome.EARNED or verdict.points >= verdict.max_points > 0:
        return "the mistake earns full marks"
    if verdict.mistake != answer.mistake:
        return f"named as {verdict.mistake or 'nothing known'}"
    return ""


def verdicts(key: Key, seeds: Seeds) -> list[tuple[Answer, Verdict]]:
    """Every kept answer of one exercise with its verdict on the given draws, the untouched stub first. What each mistake was observed to do for
    the reference outputs is judged, so that each answer runs once.

    Raises:
        KeyProblem: the truth itself raises.
    """
    reference_outputs, mistakes = compute.compute_reference(key, seeds)
    compute.cache_reference(key.exercise.name, seeds, reference_outputs)
    others = [stub_answer(key), *key.rights]
    observations = [compute.observe(key.exercise, answer.answer, seeds) for answer in others]
    inputs = compute.inputs(key.exercise, seeds)
    pairs = zip([*others, *key.mistakes], [*observations, *mistakes], strict=True)
    return [
        (answer, compare(key.exercise, reference_outputs, answer_observations, inputs))
        for answer, answer_observations in pairs
    ]


def holds(key: Key, seeds: Seeds) -> bool:
    """Whether the matrix of one exercise holds on the given draws."""
    return not any(problem(answer, verdict) for answer, verdict in verdicts(key, seeds))
