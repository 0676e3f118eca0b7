"""How a wrong number, or the factor by which a tensor is wrong, has to do with the inputs: "is too large by `d`", "6 times too small, and `E` is 6".

Called by `differences`. A relation counts only where it holds in all draws in which the answer is wrong, and two that differ must bear it out
(a plain factor of two, or one too many, speaks for itself): one number alone agrees with something by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ffnlab.diagnosis.tensor_differences import named_inputs

Number = int | float
MAX_NAMES = 12
MAX_NAMES_FOR_SUMS = 5  # so few that a sum of two does not agree with something by chance
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Sample:
    """One draw: what came back, what is right, and the inputs."""

    output: Number
    right: Number
    inputs: Mapping[str, Any]


def of_numbers(samples: Sequence[Sample]) -> str:
    """How the seen numbers have to do with the right ones and the inputs, in words that a verb begins; or nothing."""
    samples = [sample for sample in samples if _usable(sample.output) and _usable(sample.right)]
    if not samples:
        return ""
    return _plain(samples) or next(_with_inputs(samples), "")


def of_factors(samples: Sequence[Sample], roots: bool = True) -> str:
    """What the factor `output / right` (with 1 as `right`) has to do with a size among the inputs, or the root of one, in words; or nothing."""

    def holds(values: Sequence[Number], is_inverse: bool) -> bool:
        return all(
            math.isclose(1 / sample.output if is_inverse else sample.output, value, rel_tol=1e-6)
            for sample, value in zip(samples, values, strict=True)
        )

    if not samples or not all(_usable(sample.output) and sample.output for sample in samples):
        return ""
    return next((words for words, values in _sizes(samples, roots) if holds(values, False) or holds(values, True)), "")


def _usable(number: Any) -> bool:
    return type(number) in (int, float) and abs(number) < 1e100  # NaN and infinity are not below


def _equal(first: Number, second: Number) -> bool:
    if type(first) is int and type(second) is int:
        return first == second
    return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=1e-300)


def _float(right: Number) -> float:
    """A number that is no int: to others what follows does not happen."""
    return right if isinstance(right, float) else math.nan


PLAIN: tuple[tuple[str, Callable[[Number], Number]], ...] = (
    ("has the wrong sign", lambda right: -right),
    ("is one too many", lambda right: right + 1 if isinstance(right, int) else math.nan),
    ("is one too few", lambda right: right - 1 if isinstance(right, int) else math.nan),
    ("is twice what is right", lambda right: 2 * right),
    ("is half of what is right", lambda right: right / 2),
    ("is three times what is right", lambda right: 3 * right),
    ("is a third of what is right", lambda right: right / 3),
    ("is four times what is right", lambda right: 4 * right),
    ("is a quarter of what is right", lambda right: right / 4),
    ("is a hundred times what is right, like a percentage", lambda right: 100 * right),
    ("is a thousand times too large", lambda right: 1000 * right),
    ("is a thousand times too small", lambda right: right / 1000),
    ("is one minus what is right", lambda right: 1 - _float(right)),
    ("is one divided by what is right", lambda right: 1 / _float(right)),
    ("is the square of what is right", lambda right: _float(right)**2),
    ("is the square root of what is right", lambda right: math.sqrt(_float(right))),
    ("is the logarithm of what is right", lambda right: math.log(_float(right))),
    ("is a logarithm to the base 2 in place of the natural one", lambda right: _float(right) / math.log(2)),
    ("is a logarithm to the base 10 in place of the natural one", lambda right: _float(right) / math.log(10)),
    ("is a power of 2 in place of e", lambda right: math.pow(_float(right), math.log(2))),
    ("is what is right, but without its sign", lambda right: abs(right) if right < 0 else math.nan),
)  # fmt: skip


def _plain(samples: Sequence[Sample]) -> str:
    for words, function in PLAIN:
        if all(_agrees(sample, function) for sample in samples):
            small = all(type(sample.right) is int and abs(sample.right) <= 2 for sample in samples)
            if small and not words.startswith("is one too"):
                continue  # 0 is anything times 0, and 2 is both twice 1 and 1 more
            return words
    return ""


def _agrees(sample: Sample, function: Callable[[Number], Number]) -> bool:
    try:
        return sample.right != 0 and _equal(sample.output, function(sample.right))
    except (ValueError, ZeroDivisionError, OverflowError):
        return False


def _with_inputs(samples: Sequence[Sample]) -> Iterator[str]:
    """Relations to what an input says, or to a product of two."""
    if len({sample.right for sample in samples}) < 2:
        return
    terms = [(words, values) for words, values in _terms(samples) if len(set(values)) > 1]
    for words, values in terms:
        if all(_equal(sample.output, value) for sample, value in zip(samples, values, strict=True)):
            yield f"is {words}"
    for words, values in terms:
        pairs = list(zip(samples, values, strict=True))
        if all(_equal(sample.output - sample.right, value) for sample, value in pairs):
            yield f"is too large by {words}"
        if all(_equal(sample.right - sample.output, value) for sample, value in pairs):
            yield f"is too small by {words}"
    for words, values in terms:
        pairs = list(zip(samples, values, strict=True))
        if any(value in (0, 1) for value in values):
            continue
        if all(sample.right and _equal(sample.output, sample.right * value) for sample, value in pairs):
            yield f"is {words} times too large"
        if all(sample.output and _equal(sample.right, sample.output * value) for sample, value in pairs):
            yield f"is {words} times too small"


def _terms(samples: Sequence[Sample]) -> Iterator[tuple[str, list[Number]]]:
    singles = _numbers(samples)
    yield from singles
    for words, values in singles:
        yield f"2·{words}", [2 * value for value in values]
    for index, (words, values) in enumerate(singles):
        for other, factors in singles[index:]:
            product = [value * factor for value, factor in zip(values, factors, strict=True)]
            yield (f"{words}²" if words == other else f"{words}·{other}"), product
            if words != other and len(singles) <= MAX_NAMES_FOR_SUMS:
                yield f"{words} + {other}", [value + factor for value, factor in zip(values, factors, strict=True)]


def _numbers(samples: Sequence[Sample]) -> list[tuple[str, list[Number]]]:
    """The numbers among the inputs, by name, with their value in each draw."""
    every = [{name: value for name, value in named_inputs(sample.inputs) if _usable(value)} for sample in samples]
    names = [name for name in every[0] if all(name in values for values in every)][:MAX_NAMES]
    return [(f"`{name}`", [values[name] for values in every]) for name in names]


def _sizes(samples: Sequence[Sample], roots: bool) -> Iterator[tuple[str, list[Number]]]:
    """Whole numbers from 3 on among the inputs, and the sizes of tensors, as clauses: they differ between draws, or there is one draw only."""
    whole = [(words, values) for words, values in _numbers(samples) if all(type(v) is int and v > 2 for v in values)]
    for words, values in whole:
        yield f"{words} is {values[0]}", values
    every = [dict(_shapes(sample.inputs)) for sample in samples]
    for name, shape in every[0].items():
        if all(len(shapes.get(name, ())) == len(shape) for shapes in every):
            for dim in range(len(shape)):
                values = [shapes[name][dim] for shapes in every]
                if min(values) > 2 and (len(set(values)) > 1 or len(samples) == 1):
                    yield f"dimension {dim} of `{name}` is {values[0]}", values
                    if roots:
                        yield (
                            f"that is the square root of dimension {dim} of `{name}`, which is {values[0]}",
                            [math.sqrt(v) for v in values],
                        )


def _shapes(inputs: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, value in list(named_inputs(inputs))[:MAX_NAMES]:
        if isinstance(value, torch.Tensor):
            yield name, tuple(value.shape)
