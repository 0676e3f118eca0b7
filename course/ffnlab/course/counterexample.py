"""Smallest counterexample: a classmate's code is wrong for some inputs, and the answer to the exercise is one of them.

An exercise of this kind is one call of `counterexample`, in a module of `exercises`. The code is for a function that no exercise asks for, so both it and
what is right may be shown. Nothing is drawn: an input is judged by running both on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ffnlab.observation.exercise import Exercise, NotAsAsked, describe_result
from ffnlab.observation.plain_data import Failure

NEAR = 1e-6  # how far apart two numbers are, at least, that rounding does not explain


def counterexample(
    name: str,
    code: Callable[..., float],
    right: Callable[..., float],
    form: Callable[[Any], tuple[Any, ...]],
    size: Callable[..., int],
    par: int,
    why_right: Callable[..., str],
    where: str,
    understood: str,
    hints: tuple[str, ...],
) -> Exercise:
    """The exercise to find an input on which a classmate's code fails.

    code: the classmate's function, of one number. right: what it should compute. form: the arguments of both, from an answer as plain data; it raises
    NotAsAsked where the answer is no input. size: of the arguments; par is the smallest with which it can be done. why_right: in what kind of input the
    code does not fail, so that a wrong answer can be named.
    """
    exercise = Exercise(name, where=where, understood=understood, hints=hints, cases=1)

    def fails(given: tuple[Any, ...]) -> bool:
        said, true = code(*given), right(*given)
        return abs(said - true) > NEAR * max(1.0, abs(true))

    def outcome(seen: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        given = form(seen)
        return {
            "your classmate's code fails on it": fails(given),
            "where it is right": "" if fails(given) else why_right(*given),
        }

    def is_smallest(seen: Any, inputs: dict[str, Any]) -> dict[str, bool]:
        given = form(seen)
        return {"it fails on it, and there is no smaller one": fails(given) and size(*given) <= par}

    @exercise.aspect("it fails on your input", points=1.5, facts=outcome)
    def it_fails(answer: Any) -> Any:
        return answer

    @exercise.aspect("no smaller one", points=0.5, facts=is_smallest, needs="it fails on your input")
    def no_smaller_one(answer: Any) -> Any:
        return answer

    return exercise


def lists_of_numbers(seen: Any, *names: str) -> tuple[list[float], ...]:
    """An answer as lists of numbers of equal length, one for each name.

    Raises:
        NotAsAsked: it is something else.
    """
    words = ", ".join(names)
    if isinstance(seen, Failure):
        raise NotAsAsked(seen.message)
    if not isinstance(seen, (tuple, list)):
        raise NotAsAsked(f"{describe_result(seen)}; ({words}), as many lists, was expected")
    if len(seen) != len(names):
        raise NotAsAsked(f"{len(seen)} parts came back; ({words}) was expected")
    found = []
    for name, part in zip(names, seen, strict=True):
        try:
            found.append([float(number) for number in part])
        except Exception:
            raise NotAsAsked(f"{name} is no list of numbers") from None
        if not all(math.isfinite(number) for number in found[-1]):
            raise NotAsAsked(f"{name} has a number that is not finite")
    if len({len(part) for part in found}) != 1 or not found[0]:
        raise NotAsAsked(
            f"{words} need one number for each unit: they have {', '.join(str(len(part)) for part in found)}"
        )
    return tuple(found)
