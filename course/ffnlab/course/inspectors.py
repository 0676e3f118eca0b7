"""Six inspectors of layers, each of which can be fooled. Notebook 04 shows them, and `fool_the_inspectors` asks for a layer that fools five at once.

An inspector takes f, a function that maps a sentence [T, d] to outputs [T, d], and the numbers T and d. It returns whether it calls f real, that is
position-wise. What it feeds does not depend on what comes back, as long as it finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

Layer = Callable[[torch.Tensor], torch.Tensor]
Inspector = Callable[[Layer, int, int], bool]


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors are equal but for rounding."""
    return bool((a - b).abs().max() <= 1e-3 * torch.maximum(a.abs().max(), b.abs().max()))


def ones(f: Layer, T: int, d: int) -> bool:
    """Equal words everywhere: are all outputs equal?"""
    Y = f(torch.ones(T, d))
    return same(Y, Y[:1].expand(T, d))


def zeros(f: Layer, T: int, d: int) -> bool:
    """One word among zeros, at every position in turn: is its output always the same?"""
    word = torch.randn(d)
    outputs = []
    for t in range(T):
        X = torch.zeros(T, d)
        X[t] = word
        outputs.append(f(X)[t])
    return same(torch.stack(outputs), outputs[0].expand(T, d))


def first(f: Layer, T: int, d: int) -> bool:
    """A new first word: do all the other outputs stay the same?"""
    X = torch.randn(T, d)
    Z = X.clone()
    Z[0] = torch.randn(d)
    return same(f(X)[1:], f(Z)[1:])


def neighbours(f: Layer, T: int, d: int) -> bool:
    """A new word at every inner position in turn: do the outputs of its two neighbours stay the same?"""
    X = torch.randn(T, d)
    Y = f(X)
    for t in range(1, T - 1):
        Z = X.clone()
        Z[t] = torch.randn(d)
        if not same(f(Z)[[t - 1, t + 1]], Y[[t - 1, t + 1]]):
            return False
    return True


def mirror(f: Layer, T: int, d: int) -> bool:
    """The sentence turned round: do the outputs turn round with it?"""
    X = torch.randn(T, d)
    return same(f(X.flip(0)), f(X).flip(0))


def shuffle(f: Layer, T: int, d: int) -> bool:
    """The words in another order: do the outputs move along with them?"""
    X = torch.randn(T, d)
    order = torch.randperm(T)
    return same(f(X[order]), f(X)[order])


INSPECTORS: dict[str, Inspector] = {
    inspector.__name__: inspector for inspector in (ones, zeros, first, neighbours, mirror, shuffle)
}


def visit(name: str, f: Layer, T: int, d: int, seed: int) -> bool:
    """Whether an inspector calls f real, with random words that the seed draws. f gets a copy of each sentence."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return INSPECTORS[name](lambda X: f(X.clone()), T, d)


def sentences(name: str, T: int, d: int, seed: int) -> torch.Tensor:
    """What an inspector feeds a layer in which it finds nothing: [n, T, d]."""
    fed: list[torch.Tensor] = []

    def keep(X: torch.Tensor) -> torch.Tensor:
        fed.append(X)
        return X

    visit(name, keep, T, d, seed)
    return torch.stack(fed)


def verdict(name: str, outputs: torch.Tensor, T: int, d: int, seed: int) -> bool:
    """What an inspector says of a layer that gives these outputs [n, T, d] to its `sentences`."""
    rows = iter(outputs)
    return visit(name, lambda X: next(rows), T, d, seed)


# Whether a layer cheats at all

CHEATS = 1 / 50  # of the largest output: two outputs that should be equal and differ by more are no rounding


class Trials(NamedTuple):
    """Sentences [count, 4, T, d] in which a layer that cheats shows it: a sentence, and three others that share words with it.

    In the second sentence each word has moved on by one position, the last to the front, and the word at `new` is new. That shows a layer in which few words
    hear others, or in which positions matter. In the last two, only the word at `kept` is still there. That shows a layer in which each word hears something
    that one new word seldom changes, such as the largest word. `new` and `kept`: [count].
    """

    sentences: torch.Tensor
    new: torch.Tensor
    kept: torch.Tensor


def trials(count: int, T: int, d: int, seed: int) -> Trials:
    random = torch.Generator().manual_seed(seed)
    sentences = torch.randn(count, 4, T, d, generator=random)
    new, kept = torch.randint(T, (2, count), generator=random)
    for (first, moved, *others), here, there in zip(sentences, new.tolist(), kept.tolist(), strict=True):
        word = moved[here].clone()
        moved[:] = first.roll(1, 0)
        moved[here] = word
        for other in others:
            other[there] = first[there]
    return Trials(sentences, new, kept)


def share_of_cheats(outputs: torch.Tensor, asked: Trials) -> float:
    """In what part of the trials some word has another output in another sentence. outputs: [count, 4, T, d], of `asked.sentences`."""
    first, moved, *others = outputs.unbind(1)
    rows = torch.arange(len(outputs))
    by_moving = (moved - first.roll(1, 1)).abs().amax(-1)  # [count, T]
    by_moving[rows, asked.new] = 0
    by_company = torch.stack([(other - first).abs().amax(-1)[rows, asked.kept] for other in others]).amax(0)
    largest = outputs.abs().amax((1, 2, 3))
    return float((torch.maximum(by_moving.amax(1), by_company) > CHEATS * largest).float().mean())
