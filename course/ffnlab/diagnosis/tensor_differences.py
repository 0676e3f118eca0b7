"""Which entries of a tensor differ, and how they are off: in words that hold of the entries alone, never with a value that was expected.

Called by `differences` when somebody will read it. `output` comes from a submission: it has the shape of what is right when it gets here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ffnlab.diagnosis.common_mistakes import MAX_ENTRIES

Tensor = torch.Tensor

RIGHT = "the right value"
MIN_ENTRIES = 5  # so many entries that agree with a rule are no accident, where as many others do not


def which(wrong: Tensor, output: Tensor, right: Tensor, inputs: Mapping[str, Any]) -> str:
    """What the differing entries (`wrong`, truth values, at least one) have in common, as a clause after "24 of 60 entries differ"; or nothing.

    inputs: the inputs, among which those of the same shape may tell.
    """
    if wrong.numel() > MAX_ENTRIES or bool(wrong.all()):
        return ""
    clause = _where(wrong, None if right.dtype is torch.bool else right.double(), inputs)
    there = output[wrong]
    return clause + _what_is_there(there, right[wrong], clause)


def _where(wrong: Tensor, right: Tensor | None, inputs: Mapping[str, Any]) -> str:
    candidates = list(reachable(inputs, wrong.shape))
    if right is not None:
        candidates.insert(0, (RIGHT, right))
    for name, value in candidates:
        for words, rule in _signs(value):
            if _exactly(wrong, rule):
                return f"; they are those where {name} is {words}"
    place = _place(wrong)
    if place:
        return place
    for name, value in candidates:
        for words, size in (("largest", value), ("smallest", -value), ("largest in size", value.abs())):
            if _sticks_out(wrong, size):
                numbers = "right values" if name == RIGHT else f"numbers in {name}"
                return f"; they are those with the {words} {numbers}"
    for name, value in candidates:
        for words, rule in _signs(value):
            if _only(wrong, rule):
                return f"; {name} is {words} in all of them"
    return ""


def _signs(value: Tensor) -> Iterator[tuple[str, Tensor]]:
    yield "negative", value < 0
    yield "positive", value > 0
    yield "0", value == 0
    yield "not 0", value != 0


def _exactly(wrong: Tensor, rule: Tensor) -> bool:
    """Whether the rule holds of the differing entries and of no others, and that can't be an accident."""
    count = int(wrong.sum())
    return min(count, wrong.numel() - count) > 2 and wrong.numel() >= 2 * MIN_ENTRIES and torch.equal(wrong, rule)


def _only(wrong: Tensor, rule: Tensor) -> bool:
    """Whether every differing entry obeys the rule, many of them, and as many others do not."""
    return int(wrong.sum()) > MIN_ENTRIES and int((~rule).sum()) > MIN_ENTRIES and not bool((wrong & ~rule).any())


def _sticks_out(wrong: Tensor, size: Tensor) -> bool:
    """Whether the differing entries are those of the greatest size."""
    count = int(wrong.sum())
    if not 2 <= count <= wrong.numel() // 2 or wrong.numel() < 2 * MIN_ENTRIES or not bool(torch.isfinite(size).all()):
        return False
    return bool(size[wrong].min() > size[~wrong].max())


def _place(wrong: Tensor) -> str:
    """In which row, column or other part of the tensor all differing entries lie, if they are several, or all that do not differ."""
    names = {1: ("entry",), 2: ("row", "column")}.get(wrong.ndim, ())
    if int(wrong.sum()) == 1:
        return ""
    for dim in range(wrong.ndim):
        length = wrong.shape[dim]
        if length < 3:
            continue
        others = [other for other in range(wrong.ndim) if other != dim]
        hit = wrong.any(others) if others else wrong
        full = wrong.all(others) if others else wrong
        for inside, rule in (("only in", hit), ("all but", ~full)):
            if int(rule.sum()) != 1 or (inside == "all but" and not torch.equal(hit, full)):
                continue
            index = int(rule.nonzero()[0, 0])
            ordinal = {0: "first", length - 1: "last"}.get(index)
            if names:
                part = f"the {ordinal} {names[dim]}" if ordinal else f"{names[dim]} {index}"
            else:
                part = f"the {ordinal} index of dimension {dim}" if ordinal else f"index {index} of dimension {dim}"
            if inside == "all but":
                return f"; only {part} is right"
            return f"; they are all in {part}"
    if wrong.ndim >= 2 and wrong.shape[-1] == wrong.shape[-2] > 2:
        below = wrong.tril(-1).any()
        above = wrong.triu(1).any()
        on = wrong.diagonal(dim1=-2, dim2=-1).any()
        if above and not below and not on:
            return "; they are all above the diagonal"
        if below and not above and not on:
            return "; they are all below the diagonal"
        if on and not above and not below:
            return "; they are all on the diagonal"
    return ""


def _what_is_there(mine: Tensor, right: Tensor, clause: str) -> str:
    """What came back at the entries that differ, where that is the same for all."""
    start = ", and" if clause else ";"
    where = "in all the others" if clause.endswith(" is right") else "there"
    if mine.is_floating_point() and bool(mine.isnan().all()):
        return f"{start} you give NaN {where}"
    if mine.is_floating_point() and bool(mine.isinf().all()):
        return f"{start} you give infinity {where}"
    if mine.numel() > 1 and not bool(mine.any()):
        return f"{start} you give {'False' if mine.dtype is torch.bool else '0'} {where}"
    if mine.numel() > 1 and not bool(right.any()) and mine.dtype is not torch.bool:
        return f"{start} 0 is right {where}"
    if mine.numel() > 1 and mine.dtype is torch.bool and bool(mine.all()):
        return f"{start} you give True {where}"
    if mine.numel() > 2 and mine.dtype is not torch.bool and bool((mine == mine.flatten()[0]).all()):
        return f"{start} you give the same number in all of them"
    return ""


def reachable(inputs: Mapping[str, Any], shape: torch.Size) -> Iterator[tuple[str, Tensor]]:
    """The inputs that have this shape, or of which a part has it that a probe may have handed over: by name, in float64."""
    for name, value in named_inputs(inputs):
        if not isinstance(value, torch.Tensor) or value.dtype is torch.bool:
            continue
        parts = [value]
        for _ in range(2):
            if parts and parts[0].ndim > len(shape):
                parts = [
                    part[i] for part in parts for i in sorted({0, min(1, len(part) - 1), len(part) - 1}) if len(part)
                ]
        for part in parts:
            if part.ndim == len(shape) and all(most >= size for most, size in zip(part.shape, shape, strict=True)):
                yield f"`{name}`", part[tuple(slice(size) for size in shape)].double()


def named_inputs(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The inputs by name, and what lies in dicts among them; not those that are the judge's alone."""
    for name, value in inputs.items():
        if name.startswith("_"):
            continue
        if isinstance(value, dict):
            yield from named_inputs({str(key): inner for key, inner in value.items()})
        else:
            yield name, value


# How whole tensors are off.


def how(output: Tensor, right: Tensor, close: Any, of_values: bool = True) -> Iterator[str]:
    """How `output` follows from `right` (of one shape, both floating point, with finite values), in words; the plainest first.

    of_values: whether what rows and columns add up to means something, as it does not for gradients.
    """
    mine, theirs = output.double(), right.double()
    if mine.numel() > MAX_ENTRIES or mine.numel() < 2:
        return
    if not bool(mine.any()):
        yield "all values are zero"
        return
    if mine.ndim >= 1 and mine.numel() > 2 and bool((mine == mine.flatten()[0]).all()):
        yield "all values are the same"
        return
    off = mine - theirs
    first = float(off.flatten()[0])
    if close(mine - first, theirs) and abs(first) > 0:
        yield f"every entry is off by the same amount, {first:+.3g}"
        return
    yield from _by_rows(mine, theirs, off, close)
    if of_values and mine.ndim > 1 and min(mine.shape[-2:]) > 1:
        yield from _totals(mine, theirs)
    if close(mine.abs(), theirs.abs()):
        yield "only signs are wrong"
        return
    if mine.ndim >= 2 and _same_rows(mine, theirs, close):
        yield "the rows are right, but in another order"
        return
    if mine.numel() > 3 and close(mine.flatten().sort().values, theirs.flatten().sort().values):
        yield "the numbers are right, but in another order"
        return
    digits = right_digits(mine, theirs)
    beside = error_beside_the_usual(mine, theirs)
    if digits:
        yield f"they are {digits}"
    elif 0 < beside <= SMALL_ERROR:
        yield f"no error is larger than {math.ceil(1e4 * beside) / 100:.2g} % of a typical value"


def _by_rows(mine: Tensor, theirs: Tensor, off: Tensor, close: Any) -> Iterator[str]:
    if mine.ndim < 2:
        return
    rows, columns = mine.numel() // max(1, mine.shape[-1]), mine.shape[-1]
    if rows > 2 and columns > 1:
        vector = off.reshape(rows, columns)[0].expand(mine.shape)
        if close(mine - vector, theirs):
            yield "every row is off by the same vector"
            return
    if columns > 2:
        own = off[..., :1].expand(mine.shape)
        if close(mine - own, theirs):
            yield "each row is off by a number of its own"
            return
        factor = (mine * theirs).sum(-1, keepdim=True) / (theirs * theirs).sum(-1, keepdim=True)
        if bool(torch.isfinite(factor).all()) and close(mine, factor * theirs):
            yield "each row is multiplied by a number of its own"
            return
    if rows > 2:
        flat, target = mine.reshape(rows, columns), theirs.reshape(rows, columns)
        factor = (flat * target).sum(0, keepdim=True) / (target * target).sum(0, keepdim=True)
        if bool(torch.isfinite(factor).all()) and close(flat, factor * target):
            yield "each column is multiplied by a number of its own"
            return


def _totals(mine: Tensor, theirs: Tensor) -> Iterator[str]:
    """Rows that should have a sum or a mean in common, where the columns have it instead."""
    for words, value, of in (("adds up to 1", 1.0, torch.sum), ("has mean 0", 0.0, torch.mean)):

        def holds(tensor: Tensor, dim: int, of: Any = of, value: float = value) -> bool:
            return bool((of(tensor, dim) - value).abs().max() < 1e-4)

        if holds(theirs, -1) and not holds(mine, -1) and not holds(theirs, -2):
            if holds(mine, -2):
                yield f"each column {words}, but each row should"
            elif value:
                yield f"the rows do not {words.replace('adds', 'add')}"
            return


def off_by(mine: Tensor, theirs: Tensor, inputs: Mapping[str, Any], close: Any) -> tuple[str, float] | None:
    """The input by which `mine` is off throughout, or by a multiple of it, with that multiple; every row by it, where it is a vector."""
    off = mine - theirs
    shapes = [off.shape]
    if off.ndim > 1:
        shapes.append(off.shape[-1:])
    for shape in shapes:
        for name, value in reachable(inputs, shape):
            square = float(value.square().sum())
            if value.numel() < 3 or not square or not math.isfinite(square):
                continue
            times = float((off * value).sum() / (square * off.numel() / value.numel()))
            if abs(times) > 1e-3 and close(mine - times * value, theirs):
                return name, times
    return None


def sharpness(mine: Tensor, theirs: Tensor, close: Any) -> float | None:
    """How many times too large the scores are of which `mine` is a softmax, where that is all that is wrong; None elsewhere."""
    if mine.ndim < 1 or mine.shape[-1] < 3 or mine.numel() > MAX_ENTRIES:
        return None
    for tensor in (mine, theirs):
        if not bool((tensor > 0).all()) or float((tensor.sum(-1) - 1).abs().max()) > 1e-4:
            return None
    scores, target_scores = (tensor.log() - tensor.log().mean(-1, keepdim=True) for tensor in (mine, theirs))
    if not bool(target_scores.any()):
        return None
    factor = float((scores * target_scores).sum() / target_scores.square().sum())
    return factor if close((factor * target_scores).softmax(-1), mine) and factor > 1e-3 else None


def _same_rows(mine: Tensor, theirs: Tensor, close: Any) -> bool:
    """Whether the rows are the same, in whatever order: sorted by their numbers, rounded so that dust does not count."""
    flat, target = (t.reshape(-1, t.shape[-1]) for t in (mine, theirs))
    if len(flat) < 3 or flat.shape[1] < 1:
        return False
    return bool(close(*(t[_in_order(t)] for t in (flat, target))))


def _in_order(rows: Tensor) -> Tensor:
    return (rows @ torch.cos(torch.arange(rows.shape[1], dtype=rows.dtype))).argsort()


SMALL_ERROR = 2e-3  # error beside the usual numbers below which what differs is nearly right
NEARLY_RIGHT_ERROR = 5e-3  # relative error below which something is called right to two digits


FLOAT32_ERROR = 1e-6  # error beside the largest number below which it is that of float32, with a little adding up


def error_beside_the_largest(mine: Tensor, theirs: Tensor) -> float:
    """The largest error beside the largest number; infinite where one is NaN."""
    error = float((mine - theirs).abs().max() / theirs.abs().max().clamp(min=1e-300))
    return error if error == error else math.inf


def relative_error(mine: Tensor, theirs: Tensor) -> float:
    """The largest error of an entry beside its size, or beside a thousandth of the largest where it is smaller; infinite where one is NaN."""
    size = theirs.abs()
    error = float(((mine - theirs).abs() / size.clamp(min=max(1e-3 * float(size.max()), 1e-300))).max())
    return error if error == error else math.inf


def error_beside_the_usual(mine: Tensor, theirs: Tensor) -> float:
    """The largest error beside the middle one of the sizes that are not zero; infinite where one is NaN."""
    sizes = theirs[theirs != 0].abs()
    if not sizes.numel():
        return math.inf
    error = float((mine - theirs).abs().max() / sizes.median())
    return error if error == error else math.inf


def is_nearly_right(mine: Tensor, theirs: Tensor) -> bool:
    """Whether two digits are right of every number, or what is wrong is small beside the usual ones."""
    return relative_error(mine, theirs) <= NEARLY_RIGHT_ERROR or error_beside_the_usual(mine, theirs) <= SMALL_ERROR


def right_digits(mine: Tensor, theirs: Tensor) -> str:
    """To how many digits everything is right, where that is at least two."""
    error = relative_error(mine, theirs)
    return f"right to {min(15, math.floor(-math.log10(2 * error)))} digits" if 0 < error <= NEARLY_RIGHT_ERROR else ""
