"""Smallest counterexample: a classmate's code is wrong for some inputs, and the answer to the exercise is one of them.

An exercise of this kind is one call of `counterexample`, in a module of `exercises`. The code is for a function that no exercise asks for, so both it and
what is right may be shown. Nothing is drawn: an input is judged by running both on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ffnlab.observation.exercise import MEASURED, Exercise, NotAsAsked, describe_result
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import plural, with_minus

NEAR = 1e-6  # how far apart two numbers are, at least, that rounding does not explain
LARGEST_NUMBER, SMALLEST_NUMBER = 1000, 0.001  # of the numbers of an answer, apart from 0 and their signs


def counterexample(
    name: str,
    code: Callable[..., Any],
    right: Callable[..., Any],
    form: Callable[[Any], tuple[Any, ...]],
    size: Callable[..., int],
    par: int,
    why_right: Callable[..., str],
    where: str,
    understood: str,
    hints: tuple[str, ...],
    by_rounding: Callable[..., str] = lambda *arguments: "",
) -> Exercise:
    """The exercise to find an input on which a classmate's code fails.

    code: the classmate's function. right: what it should compute. Both return a number, a truth value, or a list of these.
    form: the arguments of both, from an answer as plain data; it raises NotAsAsked where the answer is no input. size: of the arguments; par is the
    smallest with which it can be done. why_right: in what kind of input the code does not fail, so that a wrong answer can be named.
    by_rounding: of an input on which the two differ, why rounding alone makes them differ; empty where something else does. Both have to call numbers
    equal that are nearly so, and where they draw the line is not what is asked about.
    """
    exercise = Exercise(name, where=where, understood=understood, hints=hints, cases=1)

    def fails(arguments: tuple[Any, ...]) -> bool:
        return not agree(code(*arguments), right(*arguments))

    def outcome(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        arguments = form(observation)
        is_wrong = fails(arguments)
        if is_wrong and (reason := by_rounding(*arguments)):
            raise NotAsAsked(f"{reason}; rounding is not what is asked about")
        said = f"your classmate's code returns {_in_words(code(*arguments))}, and that is right"
        return {
            MEASURED: "" if is_wrong else said,
            "where it is right": "" if is_wrong else why_right(*arguments),
        }

    def is_smallest(observation: Any, inputs: dict[str, Any]) -> dict[str, bool]:
        """Of an input on which the code is right, of whatever size: that this counts later. So a known mistake has its name in every size."""
        arguments = form(observation)
        return {"your input is as small as it can be": size(*arguments) <= par or not fails(arguments)}

    @exercise.aspect("it fails on your input", points=1.5, facts=outcome)
    def it_fails(answer: Any) -> Any:
        return answer

    @exercise.aspect("no smaller one", points=0.5, facts=is_smallest, needs="it fails on your input")
    def no_smaller_one(answer: Any) -> Any:
        return answer

    return exercise


def agree(output: Any, true: Any) -> bool:
    """Whether two results are the same but for rounding: numbers, truth values, or lists of these."""
    if isinstance(true, list):
        return len(output) == len(true) and all(map(agree, output, true))
    return not abs(output - true) > NEAR * max(1.0, abs(true))


def _in_words(result: Any) -> str:
    """A number, a truth value, or a list of these, as a student reads it."""
    if isinstance(result, list):
        return f"[{', '.join(map(_in_words, result))}]"
    return str(result) if isinstance(result, bool) else with_minus(f"{result:.4g}")


def lists_of_numbers(answer: Any, *names: str, each: str = "neuron") -> tuple[list[float], ...]:
    """An answer as lists of numbers of equal length, one for each name. A list has one number for `each` of something.

    Raises:
        NotAsAsked: it is something else.
    """
    words = ", ".join(names)
    parts = _parts(answer, f"({words}), as many lists, was expected")
    if len(parts) != len(names):
        raise NotAsAsked(f"{len(parts)} parts came back; ({words}) was expected")
    lists = [numbers(part, name) for name, part in zip(names, parts, strict=True)]
    if len({len(part) for part in lists}) != 1 or not lists[0]:
        raise NotAsAsked(
            f"{words} need one number for each {each}: they have {', '.join(str(len(part)) for part in lists)}"
        )
    return tuple(lists)


def rows_of_numbers(answer: Any, row: str, columns: int | None = None) -> list[list[float]]:
    """An answer as rows of numbers, all of the same length: `columns`, where it is given. `row` is what one of them is called, as in "neuron".

    Raises:
        NotAsAsked: it is something else.
    """
    parts = _parts(answer, f"a list with one list of numbers for each {row} was expected")
    rows = [numbers(part, f"{row} {n}") for n, part in enumerate(parts)]
    lengths = [len(part) for part in rows]
    if not rows or 0 in lengths:
        raise NotAsAsked("it is empty")
    if columns is not None and lengths != [columns] * len(rows):
        n = next(n for n, length in enumerate(lengths) if length != columns)
        which = f"each {row}" if len(set(lengths)) == 1 else f"{row} {n}"
        raise NotAsAsked(f"{which} has {plural(lengths[n], 'number')}; {columns} were expected")
    if len(set(lengths)) != 1:
        n = next(n for n, length in enumerate(lengths) if length != lengths[0])
        raise NotAsAsked(
            f"{row} 0 has {plural(lengths[0], 'number')}, and {row} {n} has {lengths[n]}; all need the same number"
        )
    return rows


def numbers(part: Any, name: str) -> list[float]:
    """A list, tuple or tensor of one dimension as floats. `name` is what it is called where it is none.

    Raises:
        NotAsAsked: it is something else, or a number is not finite, or so large or small that rounding would decide.
    """
    try:
        floats = [float(number) for number in part]
    except Exception:
        raise NotAsAsked(f"{name} is no list of numbers") from None
    if not all(math.isfinite(number) for number in floats):
        raise NotAsAsked(f"{name} has a number that is not finite")
    if any(abs(number) > LARGEST_NUMBER or 0 < abs(number) < SMALLEST_NUMBER for number in floats):
        raise NotAsAsked(
            f"{name} has a number beyond {LARGEST_NUMBER:,}, or one below {SMALLEST_NUMBER} that is not 0; rounding is not what is asked about"
        )
    return floats


def _parts(answer: Any, expectation: str) -> list[Any]:
    """What an answer consists of; a tensor, of its rows."""
    if isinstance(answer, Failure):
        raise NotAsAsked(answer.message)
    if isinstance(answer, torch.Tensor) and answer.dim() > 1:
        return list(answer)
    if not isinstance(answer, (tuple, list)):
        raise NotAsAsked(f"{describe_result(answer)}; {expectation}")
    return list(answer)
