"""Notebook 00, Start here."""

from __future__ import annotations

import itertools
from typing import Any

from ffnlab.observation.exercise import Draw, Exercise, attempt, question
from ffnlab.observation.plain_data import Failure

NOTEBOOK = "00_start_here"


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """x [B, T, d] with three sizes that differ, and cuts of it in which one of the sizes is 1."""
    x = rng.normal(*rng.distinct(3, 2, 12))
    ones = {"x with B = 1": x[:1], "x with T = 1": x[:, :1], "x with d = 1": x[:, :, :1]}
    return {"given": {"x": x} | ones}


hello_shape = Exercise(
    "hello_shape",
    draw=_draw,
    where="the section “Shapes, read aloud”.",
    understood="You read a tensor's shape as batch, tokens, features: the convention of the whole course.",
    hints=(
        "Every tensor knows its own shape. The cell above “Shapes, read aloud” asks for three of them.",
        "A shape can be unpacked like any tuple of three: into three names, one for each size.",
    ),
)


ORDINALS = ("first", "second", "third")


def _number_by_number(seen: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The three numbers one by one, so that a wrong one is told by its place; what is no tuple of three is told as it is."""

    def told(result: Any) -> dict[str, Any]:
        if not isinstance(result, tuple) or len(result) != len(ORDINALS):
            return {"what comes back": result} | dict.fromkeys(
                f"the {place} of your three numbers" for place in ORDINALS
            )
        numbers = {f"the {place} of your three numbers": n for place, n in zip(ORDINALS, result, strict=True)}
        return {"what comes back": "three numbers in a tuple"} | numbers

    return {label: result if isinstance(result, Failure) else told(result) for label, result in seen.items()}


@hello_shape.aspect("shape", points=2, facts=_number_by_number)
def _shape(answer: Any, given: Any) -> Any:
    found = {"x": answer(given.pop("x"))}
    return found | {label: attempt(lambda x=x: answer(x)) for label, x in given.items()}  # type: ignore[misc]


feeling = Exercise(
    "feeling",
    where="the board above the exercise.",
    understood="You have found a rule by experiment: two words decide, and neither of them alone tells you anything.",
    hints=(
        "Change one word and leave the others. Which boxes can change the feeling, and which can't?",
        "Two boxes can. Each of them has two kinds of words, so write down what the model says for all four pairs of kinds.",
        "In two of the four pairs the creature is glad. What have these two in common?",
    ),
    cases=1,
)


@feeling.aspect("all eight kinds of scenes", points=0)
def _all_kinds(answer: Any) -> Any:
    kinds = itertools.product((True, False), repeat=3)
    names = (("water", "land"), ("cold", "warm"), ("spunky", "timid"))
    found: dict[str, Any] = {}
    for kind in kinds:
        label = ", ".join(name[not is_first] for name, is_first in zip(names, kind, strict=True))
        found[label] = attempt(lambda kind=kind: answer(*kind)) if found else answer(*kind)  # type: ignore[misc]
    return found


quiz_hidden = question(
    "quiz_hidden",
    options="ABC",
    points=0,
    where="the section “What grades you”.",
    understood="Hidden inputs decide the grade, so code that only fits the shown ones earns nothing there.",
)
