"""Points for nothing: what a submission earns that has solved no exercise and sends back observations that it has made up or seen elsewhere.

Student code runs beside the probe, so it can return whatever it likes as an observation. It knows how exercises are called, and, from the shipped
answers or from a class of its own, what right answers were seen to do on other inputs. Here it replays these. `python tests/forgery.py [EXERCISE …]`
prints what that earns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from autograder import keys
from autograder.reference import compute, draws
from ffnlab.checking.comparison import compare, reference_outputs_of
from ffnlab.observation.exercise import Draw
from ffnlab.registry import active_course

CLASS, ELSEWHERE = b"the class that is graded", b"a class of the forger's own"


@dataclass(frozen=True)
class Forged:
    """An aspect that a replayed observation earns, and whence it was taken."""

    exercise: str
    aspect: str
    points: float
    replayed: str


def earned(name: str) -> Iterator[Forged]:
    """The aspects of the exercise `name` that replayed observations of its truth earn on a class's hidden draws. No mistake is run, so it is quick."""
    key = keys.find(name)
    exercise = key.exercise
    hidden = draws.hidden_seeds(exercise, CLASS)
    inputs = compute.inputs(exercise, hidden)
    reference_outputs = reference_outputs_of(
        exercise, compute.observe(exercise, key.the_truth.answer, hidden), [], inputs
    )
    best: dict[str, Forged] = {}
    for source, seeds in {
        "public draws": draws.public_seeds(exercise),
        "another secret": draws.hidden_seeds(exercise, ELSEWHERE),
    }.items():
        observations = compute.observe(exercise, key.the_truth.answer, seeds)
        replay = [observations[case % len(observations)] for case in range(len(hidden))]
        for aspect in compare(exercise, reference_outputs, replay, inputs).aspects:
            if aspect.points:
                best.setdefault(aspect.name, Forged(name, aspect.name, aspect.points, source))
    yield from best.values()


def quizzes() -> set[str]:
    """The quizzes: formative, and their letters can always be found by whoever looks."""
    return {name for name in active_course().exercises if name.startswith("quiz_")}


def inputs_of_ones_own() -> set[str]:
    """Exercises whose answer is itself an input, as a counterexample is: nothing is drawn, so what is right for one class is right for all."""
    return {name for name, exercise in active_course().exercises.items() if not exercise.draw(Draw(0), 0)} - quizzes()


def table(names: list[str]) -> list[Forged]:
    return [forged for name in names for forged in earned(name)]


if __name__ == "__main__":
    forgeries = table(
        sys.argv[1:] or sorted(active_course().exercises.keys() - quizzes(), key=list(active_course().exercises).index)
    )
    for forged in forgeries:
        print(f"{forged.points:5g}  {forged.exercise}: {forged.aspect} ({forged.replayed})")
    print(f"{sum(forged.points for forged in forgeries):5g}  in all")
