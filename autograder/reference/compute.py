"""From keys and seeds to reference outputs, and from what was observed to a verdict. Trusted; never in the process that runs student code."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from autograder.keys.key import Answer, Key
from autograder.keys.problem import KeyProblem
from ffnlab.checking.checks import examine
from ffnlab.checking.comparison import Inputs, Observation, ReferenceOutputs, reference_outputs_of
from ffnlab.checking.verdict import Verdict
from ffnlab.observation.containment import contain
from ffnlab.observation.exercise import Exercise
from ffnlab.observation.plain_data import Failure

if TYPE_CHECKING:
    from autograder.reference.draws import Seeds


def inputs(exercise: Exercise, seeds: Seeds) -> list[Inputs]:
    """The inputs that the seeds draw for an exercise, case by case."""
    return [exercise.inputs(seed, case) for case, seed in enumerate(seeds)]


def observe(exercise: Exercise, answer: object, seeds: Seeds) -> list[Observation]:
    """What a trusted answer does, in this process."""
    with contain():
        return [exercise.observe(answer, case_inputs) for case_inputs in inputs(exercise, seeds)]


_cache: dict[tuple[str, Seeds], ReferenceOutputs] = {}
_lock = threading.Lock()  # what an answer prints is captured for the whole process


def cache_reference(name: str, seeds: Seeds, outputs: ReferenceOutputs) -> None:
    """Take reference outputs that were computed before, by the same key."""
    _cache[name, seeds] = outputs


def is_cached(name: str, seeds: Seeds) -> bool:
    """Whether these reference outputs are at hand and need not be computed."""
    return (name, seeds) in _cache


def clear_cache() -> None:
    """Compute all reference outputs anew when it is next needed."""
    _cache.clear()


def reference_outputs(name: str, seeds: Seeds) -> ReferenceOutputs:
    """The reference outputs of the exercise `name` on the inputs drawn from `seeds`: what the truth and every known mistake do there.

    Raises:
        KeyProblem: the truth itself raises.
    """
    with _lock:
        if (name, seeds) not in _cache:
            cache_reference(name, seeds, _compute(name, seeds))
        return _cache[name, seeds]


def _compute(name: str, seeds: Seeds) -> ReferenceOutputs:
    from autograder import keys  # takes a second, and whoever has the reference outputs needs none

    return compute_reference(keys.find(name), seeds)[0]


def compute_reference(key: Key, seeds: Seeds) -> tuple[ReferenceOutputs, list[list[Observation]]]:
    """The reference outputs of a key on the inputs drawn from `seeds`, and what each of its mistakes was observed to do there.

    Raises:
        KeyProblem: the truth itself raises.
    """
    truth = observe(key.exercise, key.the_truth.answer, seeds)
    for case in truth:
        for aspect, observation in case.items():
            if isinstance(observation, Failure):
                raise KeyProblem(
                    f"the truth of {key.exercise.name} raises in “{aspect}”: {observation.type}: {observation.message}"
                )
    observations = [observe(key.exercise, mistake.answer, seeds) for mistake in key.mistakes]
    mistakes = [
        (mistake.mistake, mistake.message, cases) for mistake, cases in zip(key.mistakes, observations, strict=True)
    ]
    return reference_outputs_of(key.exercise, truth, mistakes, inputs(key.exercise, seeds)), observations


def verdict_of(key: Key, answer: object, seeds: Seeds) -> Verdict:
    """The verdict on an answer that may run in this process: one of ours."""
    return examine(key.exercise, reference_outputs(key.exercise.name, seeds), answer, list(seeds))[0]


def all_answers(key: Key) -> list[Answer]:
    """The right answers and the mistakes of a key, in that order."""
    return key.rights + key.mistakes
