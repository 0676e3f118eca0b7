"""Notebook 10's last step: two blocks learn English from the prose that every CPython carries, `pydoc_data.topics`, and write some.

The notebook trains the student's own blocks with `learn` and lets them `write`. The stored runs compare the four kinds of feed-forward part on
text that they have not seen, at equal total and at equal active parameters, from fifteen fresh seeds.
"""

from __future__ import annotations

import math
import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab.course.experiments import read
from ffnlab.course.experiments.next_token import NextToken, fit

STORED = Path(__file__).with_suffix(".json")
D_MODEL, N_HEADS, LONGEST, BATCH, STEPS, LEARNING_RATE = 64, 4, 64, 16, 400, 0.01
WORDS = 2000  # words with a number of their own; others are spelt
SEEDS = tuple(range(5, 20))  # 0 to 4 chose the recipe
# What is compared: blocks, and the feed-forward part with its width. About 33,000 parameters in it where it is to be equal.
MODELS: dict[str, tuple[int, str, int]] = {
    "none": (2, "none", 0),
    "none, 6 blocks": (6, "none", 0),
    "relu": (2, "relu", 256),
    "swiglu": (2, "swiglu", 171),
    "moe, equal total": (2, "moe", 42),
    "moe, equal active": (2, "moe", 85),
}
_PLAIN = str.maketrans({"’": "'", "‘": "'", "“": None, "”": None, '"': None, "*": None, "—": "-", "–": "-", "…": "..."})  # fmt: skip
_PIECE = re.compile(r" ?[A-Za-z]+| ?[^A-Za-z]")


@cache
def paragraphs() -> list[str]:
    """The prose among Python's help topics, each paragraph once: no grammar, no code, no tables."""
    from pydoc_data.topics import topics

    prose: dict[str, None] = {}
    for name in sorted(topics):
        for block in topics[name].translate(_PLAIN).split("\n\n"):
            line = " ".join(block.split())
            code = re.search(r"[={}<>|]|[^\x20-\x7e]", line)
            if len(line) >= 60 and line[0].isupper() and line[-1] in ".:" and not code:
                prose[line] = None
    return list(prose)


class Text(NamedTuple):
    """The prose as numbers of tokens: one long text to train on and one that is held out, with a line break behind each paragraph."""

    pieces: tuple[str, ...]  # what one token can be: words with the space before them, and single characters
    number: dict[str, int]  # of each piece
    train: torch.Tensor
    held_out: torch.Tensor
    characters: int  # of the held-out text


@cache
def text() -> Text:
    """The prose as tokens; every tenth paragraph is held out."""
    every = [paragraph + "\n" for paragraph in paragraphs()]
    train_text, test_text = ("".join(p for n, p in enumerate(every) if (n % 10 == 9) == out) for out in (False, True))
    count = Counter(_PIECE.findall(train_text))
    candidates = sorted(count, key=lambda piece: (-count[piece] * (len(piece) - 1), piece))[:WORDS]
    pieces = (
        *sorted({character for paragraph in every for character in paragraph}),
        *sorted(p for p in candidates if len(p) > 1),
    )
    number = {piece: n for n, piece in enumerate(pieces)}
    train, held_out = (torch.tensor(_numbers(words, number)) for words in (train_text, test_text))
    return Text(pieces, number, train, held_out, len(test_text))


def _numbers(words: str, number: dict[str, int]) -> list[int]:
    return [n for piece in _PIECE.findall(words) for n in _spelt(piece, number)]


def _spelt(piece: str, number: dict[str, int]) -> list[int]:
    return [number[piece]] if piece in number else [number[letter] for letter in piece if letter in number]


class Writer(NextToken):
    """The model that reads and writes the text with some blocks [B, T, d_model] -> [B, T, d_model]."""

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        super().__init__(blocks, len(text().pieces), D_MODEL, LONGEST)


def learn(model: Writer, steps: int = STEPS, seed: int = 0, label: str = "") -> float:
    """Trains on pieces of the text that begin anywhere; under a progress bar if there is a label. Returns the loss on the held-out text, `bits(model)`."""
    source = text().train
    window = torch.arange(LONGEST + 1)

    def draw(chance: torch.Generator) -> torch.Tensor:
        return source[torch.randint(len(source) - LONGEST, (BATCH, 1), generator=chance) + window]  # [B, T + 1]

    fit(model, draw, steps, LEARNING_RATE, seed, label)
    return bits(model)


@torch.no_grad()
def bits(model: Writer) -> float:
    """How many bits a character of the held-out text costs: what a perfect compressor would need that asks this model."""
    source, losses = text().held_out, 0.0
    rows = (len(source) - 1) // LONGEST
    inputs, targets = (source[shift : shift + rows * LONGEST].reshape(rows, LONGEST) for shift in (0, 1))
    for start in range(0, rows, BATCH):
        part = slice(start, start + BATCH)
        losses += F.cross_entropy(model(inputs[part]).flatten(0, 1), targets[part].flatten(), reduction="sum").item()
    characters = text().characters * rows * LONGEST / len(source)  # the last, shorter piece is left out
    return losses / math.log(2) / characters


@torch.no_grad()
def write(
    model: Writer,
    prompt: str,
    generate: Callable[..., list[int]],
    temperature: float = 0.8,
    seed: int = 0,
    tokens: int = 80,
) -> str:
    """The prompt and what the model writes after it, one token at a time.

    generate: the function of the notebook's exercise; while it raises NotImplementedError, nothing is written but that.
    temperature: scores are divided by it before the softmax; 0 takes the most probable token. Characters that the text does not have
    are left out of the prompt. Raises ValueError for a negative temperature, or a prompt without anything to go on from.
    """
    if temperature < 0:
        raise ValueError(f"the temperature must be 0 or more, not {temperature}")
    ids = _numbers(prompt, text().number)
    if not ids:
        raise ValueError("the prompt needs at least one letter")
    numbers = random.Random(seed)
    try:
        ids += generate(model, list(ids), [numbers.random() for _ in range(tokens)], LONGEST, temperature)
    except NotImplementedError:
        return f"{prompt} … (it goes on once `generate` is written)"
    return "".join(text().pieces[n] for n in ids)


def table() -> str:
    """What the models cost and what they pay for a character of held-out text, as a table of Markdown."""
    lines = ["| | total | active | bits |", "|---|--:|--:|--:|"]
    for name, bits in stored()["bits per character"].items():
        count = stored()["counts"][name]
        spread = f"{statistics.fmean(bits):.3f} ± {statistics.stdev(bits):.3f}"
        lines.append(f"| {name} | {count['total']:,} | {count['active']:,} | {spread} |")
    return "\n".join(lines)


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)
