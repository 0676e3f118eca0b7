"""From what an answer did to the verdict on it: compared with what is right and with every known mistake.

Called by `check` (with the shipped reference outputs, on public inputs) and by the judge (with those of the answer key, on hidden inputs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from ffnlab.checking.verdict import AspectVerdict, Outcome, Verdict, aspect_verdict, not_attempted
from ffnlab.diagnosis import differences, recognition
from ffnlab.diagnosis.differences import Facts
from ffnlab.diagnosis.mistake import KnownMistake
from ffnlab.observation import hidden_parameters, plain_data
from ffnlab.observation.exercise import Aspect, Exercise, NotAsAsked, failure
from ffnlab.observation.plain_data import Failure, Plain, Size
from ffnlab.phrases import in_quotes

T = TypeVar("T")
Inputs = dict[str, Any]  # of one case, as the exercise draws them
Observation = dict[str, Plain]  # of one case: what each aspect's probe saw
FLOAT32 = "float32"  # torch's default dtype, unless somebody sets another


@dataclass(frozen=True)
class ReferenceOutputs:
    """What one exercise's answers are compared with: the facts of the right answer and of each mistake, case by case."""

    cases: Sequence[Facts]
    mistakes: Sequence[KnownMistake] = ()
    # Of each aspect that has facts, how much was seen of the right answer at most, in any case. Nothing is computed from what is many times larger.
    sizes: Mapping[str, Size] = field(default_factory=dict)


# How much an answer may show besides, however little the right one does.
ALWAYS_ALLOWED = Size(values=64, bytes=16_384, characters=2_000)


def size_limit(right: Size, times: int) -> Size:
    """How large an observation may be whose right one is that large: so many times, and a little."""
    return Size(
        times * right.values + ALWAYS_ALLOWED.values,
        times * right.bytes + ALWAYS_ALLOWED.bytes,
        times * right.characters + ALWAYS_ALLOWED.characters,
    )


def compute_facts(exercise: Exercise, observation: Observation, inputs: Inputs, sizes: Mapping[str, Size]) -> Facts:
    """The facts: what is compared of an observation on `inputs`. Facts that can't be computed from it (a wrong shape, say) are themselves a failure.

    sizes: how much is seen of the right answer. Facts may take any power of that, so what is much larger is not looked at.
    """

    def of(aspect: Aspect) -> Plain:
        value = observation.get(aspect.name, Failure("Missing", "nothing was observed"))
        if aspect.facts is None or isinstance(value, Failure):
            return value
        if aspect.name in sizes and plain_data.size_of(value).exceeds(
            size_limit(sizes[aspect.name], aspect.times_larger)
        ):
            return Failure("NotAsAsked", "what came back is many times as large as a right answer")
        try:
            return plain_data.of(aspect.facts(value, inputs))
        except NotAsAsked as error:
            return failure(error)
        except Exception as error:
            problem = failure(error)
            return Failure("Unusable", f"{problem.type}: {problem.message}")

    places = {hidden_parameters.KEY: observation[hidden_parameters.KEY]} if hidden_parameters.KEY in observation else {}
    return {aspect.name: of(aspect) for aspect in exercise.aspects} | places


def reference_outputs_of(
    exercise: Exercise,
    truth: Sequence[Observation],
    mistakes: Sequence[tuple[str, str, Sequence[Observation]]],
    inputs: Sequence[Inputs],
) -> ReferenceOutputs:
    """Reference outputs from observations of the truth and of (name, message, observations) for each mistake, all on these inputs."""
    sizes = {aspect.name: Size() for aspect in exercise.aspects if aspect.facts is not None}
    for case in truth:
        sizes = {name: size.larger(plain_data.size_of(case[name])) for name, size in sizes.items()}

    def facts_of(observations: Sequence[Observation]) -> list[Facts]:
        return [
            compute_facts(exercise, observation, case_inputs, sizes)
            for observation, case_inputs in zip(observations, inputs, strict=True)
        ]

    right_facts = facts_of(truth)

    def known_mistake(name: str, message: str, observations: Sequence[Observation]) -> KnownMistake:
        mistake_facts = facts_of(observations)
        wrong = [
            aspect.name
            for aspect in exercise.aspects
            if any(spot.wrong for spot in differences.spots(aspect, mistake_facts, right_facts))
        ]
        kept = [*wrong, hidden_parameters.KEY]  # with what it hides, if it does
        cases = [{key: case[key] for key in kept if key in case} for case in mistake_facts]
        return KnownMistake(name, message, cases)

    return ReferenceOutputs(right_facts, [known_mistake(*mistake) for mistake in mistakes], sizes)


def compare(
    exercise: Exercise,
    reference_outputs: ReferenceOutputs,
    observations: Sequence[Observation],
    inputs: Sequence[Inputs],
    unfinished: bool = False,
    default_dtype: str = FLOAT32,
) -> Verdict:
    """The verdict on what an answer was observed to do, case by case, on `inputs`, those of the reference outputs.

    unfinished: whether a line of its code is still `...`. default_dtype: torch's, where the answer ran.
    """
    answer_facts = [
        compute_facts(exercise, observation, case_inputs, reference_outputs.sizes)
        for observation, case_inputs in zip(observations, inputs, strict=True)
    ]
    if _is_untouched(answer_facts):
        return not_attempted(exercise)
    spots = {
        aspect.name: differences.spots(aspect, answer_facts, reference_outputs.cases) for aspect in exercise.aspects
    }
    aspects: list[AspectVerdict] = []
    wrong_aspects: set[str] = set()
    for aspect in exercise.aspects:
        symptom = ""
        if any(spot.wrong for spot in spots[aspect.name]):
            symptom = (
                _worth_a_try(partial(differences.describe_differences, aspect, spots[aspect.name], inputs))
                or "This is not right"
            )
        elif aspect.needs in wrong_aspects:
            symptom = f"This counts once {in_quotes(aspect.needs)} is right."
        if symptom:
            wrong_aspects.add(aspect.name)
        aspects.append(aspect_verdict(aspect.name, 0.0 if symptom else aspect.points, aspect.points, symptom))
    if not wrong_aspects:
        return Verdict(exercise.name, Outcome.EARNED, tuple(aspects))
    cause = _worth_a_try(
        partial(recognition.find_cause, exercise, reference_outputs.mistakes, spots, answer_facts, inputs, unfinished)
    )
    message = cause.message if cause else ""
    if default_dtype != FLOAT32:
        message = _with_default_dtype(message, default_dtype, [aspect.symptom for aspect in aspects])
    return Verdict(
        exercise.name,
        Outcome.NOT_EARNED,
        tuple(aspects),
        mistake=cause.name if cause else None,
        cause=message,
        where=exercise.where,
        likely=cause.likely if cause else False,
    )


def _with_default_dtype(message: str, dtype: str, symptoms: Sequence[str]) -> str:
    """The cause, as it is where the student's code has set torch's default dtype: what is usual elsewhere is not true there."""
    is_set = (
        f"Your code has set torch's default dtype, so a tensor or a layer that is made without `dtype=` is {dtype}."
    )
    if not message:
        return is_set if any("dtype" in symptom for symptom in symptoms) else ""
    kept = message.replace(" A tensor that is made without `dtype=` is float32.", "")
    kept = kept.replace(" A tensor that is made without `dtype=` is float32, a list", " A list")
    kept = kept.replace(", and for a tensor that is made without `dtype=`", "")
    return f"{kept} {is_set}" if kept != message else message


def _worth_a_try(explanation: Callable[[], T]) -> T | None:
    """An explanation, or none where that fails: it is made of what a submission sent, and the points, which are settled, must not hang on it."""
    try:
        return explanation()
    except Exception:
        return None


def _is_untouched(answer_facts: Sequence[Facts]) -> bool:
    return all(
        differences.is_stub(value)
        for case in answer_facts
        for aspect, value in case.items()
        if aspect != hidden_parameters.KEY
    )
