"""Mistakes that people make in every exercise: each turns what is right into what came back, in a way that is written here once.

Called by `differences`, which says the symptom of one value, and by `recognition`, which names the cause where it holds throughout. Nothing
here looks at a submission's data but to compare it: everything is computed from what is right, so it is as small as that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F

Tensor = torch.Tensor
# What a mistake may make of a right tensor, in float64, one candidate after the other.
Variants = Callable[[Tensor], Iterator[Tensor]]

MAX_ENTRIES = 20_000  # entries; what is larger is compared, but not explained


@dataclass(frozen=True)
class CommonMistake:
    """A mistake that is not of one exercise alone."""

    name: str
    clue: str  # the symptom, as it ends a sentence on what differs
    message: str  # the likely cause, and what to look at
    of: Variants
    least: int = 3  # how many different numbers must come back before one tensor tells
    entrywise: bool = False  # each entry is changed by itself


def each(function: Callable[[Tensor], Tensor]) -> Variants:
    """One candidate: the function of every entry."""

    def variants(right: Tensor) -> Iterator[Tensor]:
        yield function(right)

    return variants


def along(function: Callable[[Tensor, int], Tensor], least: int = 2) -> Variants:
    """A candidate for each dimension that is at least so long."""

    def variants(right: Tensor) -> Iterator[Tensor]:
        for dim in reversed(range(right.ndim)):
            if right.shape[dim] >= least:
                yield function(right, dim)

    return variants


def of_two(function: Callable[[Tensor, int, int], Tensor]) -> Variants:
    """A candidate for each pair of dimensions."""

    def variants(right: Tensor) -> Iterator[Tensor]:
        for first in range(right.ndim):
            for second in range(first + 1, right.ndim):
                if min(right.shape[first], right.shape[second]) > 1:
                    yield function(right, first, second)

    return variants


def _reshape(right: Tensor, first: int, second: int) -> Tensor:
    """What `reshape` gives where two dimensions had to change places."""
    return right.transpose(first, second).reshape(right.shape)


def _swap_after_reshape(right: Tensor, first: int, second: int) -> Tensor:
    """What `transpose` gives where `reshape` was right."""
    transposition = right.transpose(first, second)
    return right.reshape(transposition.shape).transpose(first, second)


def _drop_later(right: Tensor) -> Iterator[Tensor]:
    """Nothing of what comes later; the rest as it is, or sharing what is left."""
    if right.ndim < 2 or right.shape[-1] != right.shape[-2] or right.shape[-1] < 3:
        return
    for triangle in (right.tril(), right.triu()):
        yield triangle
        yield triangle / triangle.sum(-1, keepdim=True)


def _whole_numbers(right: Tensor) -> Iterator[Tensor]:
    yield from (torch.round(right), torch.floor(right), torch.ceil(right), torch.trunc(right))
    for digits in (1, 2, 3, 4):
        yield torch.round(right, decimals=digits)


def _on_or_off(right: Tensor) -> Iterator[Tensor]:
    yield (right != 0).double()
    yield (right > 0).double()
    yield right.sign()


def _shift(right: Tensor) -> Iterator[Tensor]:
    """One place further on or back, with what is left over at the other end or with a zero there."""
    for by, gap in ((1, 0), (-1, -1)):
        for dim in range(right.ndim):
            if right.shape[dim] > 2:
                rotation = right.roll(by, dim)
                yield rotation
                shift = rotation.clone()
                shift.select(dim, gap).zero_()
                yield shift


def _repeat_last(right: Tensor, dim: int) -> Tensor:
    """What is overwritten in every turn of a loop: only the last remains."""
    return right.narrow(dim, right.shape[dim] - 1, 1).expand(right.shape)


def _combine(right: Tensor) -> Iterator[Tensor]:
    """One dimension fewer: summed up or averaged."""
    for dim in range(right.ndim):
        if right.shape[dim] > 1:
            yield right.sum(dim)
            yield right.mean(dim)
    if right.ndim > 1:
        yield right.sum()
        yield right.mean()


def _only_one(right: Tensor) -> Iterator[Tensor]:
    """One dimension fewer: the first or the last alone."""
    for dim in range(right.ndim):
        if right.shape[dim] > 1:
            yield right.select(dim, 0)
            yield right.select(dim, -1)


def _without(first: bool) -> Variants:
    return along(lambda right, dim: right.narrow(dim, int(first), right.shape[dim] - 1))


def _shares(right: Tensor, dim: int) -> Tensor:
    return right / right.sum(dim, keepdim=True)


def _unit_length(right: Tensor, dim: int) -> Tensor:
    return right / right.square().sum(dim, keepdim=True).sqrt()


def _standardise(right: Tensor, dim: int) -> Tensor:
    off = right - right.mean(dim, keepdim=True)
    return off / (off.square().mean(dim, keepdim=True) + 1e-5).sqrt()


def _too_many(name: str, function: Callable[[Tensor], Tensor]) -> CommonMistake:
    return CommonMistake(
        f"one {name} too many",
        f"what came back is the {name} of what is right",
        f"There is one {name} too many. Your code applies it once more at the end, to what was right already. "
        "Look at your last line, and at whether a function that you call applies it, too.",
        each(function),
        entrywise=True,
    )


def _gelus(right: Tensor) -> Iterator[Tensor]:
    yield F.gelu(right)
    yield F.gelu(right, approximate="tanh")


# In the order in which they are tried: the plainer one first where two do the same.
COMMON_MISTAKES = (
    CommonMistake(
        "sign",
        "every sign is flipped",
        "Every number has the wrong sign. A minus is missing, or there is one too many, or a difference is taken the wrong way round.",
        each(torch.neg),
        least=1,
        entrywise=True,
    ),
    CommonMistake(
        "transposed",
        "the values are right, but transposed",
        "The numbers are right, but two dimensions are swapped. Write the shape at the end of each line, "
        "and find the first line whose order of dimensions is not the one that was asked for.",
        of_two(lambda right, first, second: right.transpose(first, second)),
    ),
    CommonMistake(
        "reshape for transpose",
        "the numbers are right, but in another order",
        "The numbers are right, but in the wrong places: you use `reshape` or `view` where dimensions have to be swapped. These keep the order in "
        "memory and only split it anew. `transpose` and `permute` swap dimensions.",
        of_two(_reshape),
    ),
    CommonMistake(
        "transpose for reshape",
        "the numbers are right, but in another order",
        "The numbers are right, but in the wrong places: you swap two dimensions where a `reshape` is needed. Check which of `transpose` and `reshape` "
        "each step needs, and in which order they come.",
        of_two(_swap_after_reshape),
    ),
    CommonMistake(
        "reversed",
        "the order is reversed",
        "The numbers are right, but in reverse order. Look for a `flip`, a descending sort, a loop that runs backwards, or a list filled from its front.",
        along(lambda right, dim: right.flip(dim)),
    ),
    CommonMistake(
        "shifted by one",
        "everything is shifted by one place",
        "The numbers are right, but shifted by one place. Look for an index that starts at 1, a `roll`, or a range that starts too early or too late.",
        _shift,
    ),
    CommonMistake(
        "first left out",
        "the first is missing, and the others are right",
        "The first one is missing, and all others are right. Look at where your loop or slice starts: Python counts from 0.",
        _without(first=True),
    ),
    CommonMistake(
        "last left out",
        "the last is missing, and the others are right",
        "The last one is missing, and all others are right. Look at where your loop or slice ends: `range(n)` and `[:n]` stop before n.",
        _without(first=False),
    ),
    CommonMistake(
        "only the last one",
        "all are what only the last one should be",
        "All of them are what only the last one should be. Perhaps a loop overwrites them in every turn, or several names refer to the same tensor.",
        along(_repeat_last),
    ),
    CommonMistake(
        "one of many",
        "only one of several came back",
        "Only one of several came back. Look for a `return` inside the loop, or for an index that picks one.",
        _only_one,
    ),
    CommonMistake(
        "summed up",
        "what came back is the sum or the mean of what is right",
        "You compute what was asked for, but then you sum it or average it. Look at the last `sum` or `mean` and at its `dim`.",
        _combine,
        least=1,
    ),
    CommonMistake(
        "causal mask",
        "one half of the matrix is left out",
        "Everything on one side of the diagonal is left out, as it is with a causal mask. Here every position takes part. Look for a mask, `tril` or `triu`.",
        _drop_later,
    ),
    _too_many("softmax", lambda right: right.softmax(-1)),
    CommonMistake(
        "one softmax too many",
        "what came back is the softmax of what is right",
        "There is one softmax too many. Your code applies it once more to what was right already, and not along the last dimension.",
        along(lambda right, dim: right.softmax(dim)),
    ),
    _too_many("ReLU", torch.relu),
    _too_many("sigmoid", torch.sigmoid),
    _too_many("tanh", torch.tanh),
    CommonMistake(
        "one GELU too many",
        "what came back is the GELU of what is right",
        "There is one GELU too many. Your code applies it once more at the end, to what was right already.",
        _gelus,
        entrywise=True,
    ),
    _too_many("SiLU", F.silu),
    CommonMistake(
        "log",
        "what came back is the logarithm of what is right",
        "You return the logarithm of what was asked for. Look for a `log_softmax` or a `log` at the end; `exp` undoes it.",
        each(torch.log),
        entrywise=True,
    ),
    CommonMistake(
        "exp",
        "what came back is the exponential of what is right",
        "You return e to the power of what was asked for. There is an `exp` too many, or a logarithm is missing.",
        each(torch.exp),
        entrywise=True,
    ),
    CommonMistake(
        "squared",
        "what came back is the square of what is right",
        "You return the square of what was asked for. A root is missing, or there is a square too many.",
        each(torch.square),
        least=2,
        entrywise=True,
    ),
    CommonMistake(
        "root",
        "what came back is the square root of what is right",
        "You return the square root of what was asked for. A square is missing, or there is a root too many.",
        each(torch.sqrt),
        least=2,
        entrywise=True,
    ),
    CommonMistake(
        "absolute value",
        "the sizes are right, but the signs are lost",
        "The sizes are right, but the signs are lost. Look for an `abs`, or for the root of a square.",
        each(torch.abs),
        entrywise=True,
    ),
    CommonMistake(
        "reciprocal",
        "what came back is one divided by what is right",
        "You return one divided by what was asked for. A fraction is upside down.",
        each(torch.reciprocal),
        least=2,
        entrywise=True,
    ),
    CommonMistake(
        "complement",
        "what came back is one minus what is right",
        "You return one minus what was asked for, which is the share of the others. Look at which side of the comparison or of the sum you count.",
        each(lambda right: 1 - right),
        least=2,
        entrywise=True,
    ),
    CommonMistake(
        "rounded",
        "the numbers are right, but rounded",
        "The numbers are right, but rounded or cut off. Look for a `round`, an `int`, a `//` or a whole-number dtype.",
        _whole_numbers,
        entrywise=True,
    ),
    CommonMistake(
        "on or off",
        "you return whether something is there, not how much",
        "You return ones and zeros, which say whether something is there. You were asked how much it is. Perhaps your code ends with a comparison or a "
        "sign, or divides something by itself.",
        _on_or_off,
        least=2,
        entrywise=True,
    ),
    CommonMistake(
        "normalised once more",
        "what is right is normalised once more",
        "You normalise what was right once more at the end. It is divided by its sum or its length, or brought to mean 0 and variance 1.",
        lambda right: (variant for how in (_shares, _unit_length, _standardise) for variant in along(how)(right)),
    ),
    CommonMistake(
        "running sum",
        "what came back is the running sum of what is right",
        "You return the running sum of what was asked for. Look for a `cumsum`, or for a total that is not set back to zero in the loop.",
        along(lambda right, dim: right.cumsum(dim)),
    ),
)  # fmt: skip


def find_mistakes(
    output: Tensor, right: Tensor, close: Callable[[Tensor, Tensor], bool], alone: bool = True
) -> Iterator[CommonMistake]:
    """The general mistakes that turn `right` into `output`; `close` compares a candidate with what was seen, of one shape and both in float64.

    alone: whether nothing else tells, so that a few numbers are too few.
    """
    if not _comparable(output, right):
        return
    mine, theirs = output.double(), right.double()
    least = 1 if right.is_floating_point() else 3  # small whole numbers agree by chance
    for general in COMMON_MISTAKES:
        enough = max(least, general.least) if alone else 1
        if any(
            candidate.shape == mine.shape and close(mine, candidate) and _different(candidate) >= enough
            for candidate in general.of(theirs)
        ):
            yield general


def _different(candidate: Tensor) -> int:
    return len(set(candidate.flatten().tolist()))


def _comparable(output: Tensor, right: Tensor) -> bool:
    numbers = right.is_floating_point() or (right.dtype is not torch.bool and right.numel() > 2)
    return (
        numbers
        and output.dtype is not torch.bool
        and 0 < right.numel() <= MAX_ENTRIES
        and output.numel() <= right.numel()
    )


def message_of(name: str) -> str:
    """The message of a general mistake."""
    return next(general.message for general in COMMON_MISTAKES if general.name == name)
