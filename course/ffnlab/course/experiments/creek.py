"""Near the end of notebook 10: one block, the student's own, reads the little world, and meets the cold creek that it has never seen.

The notebook trains the student's block with `learn`, asks what it has learned with `judged`, and lets it finish a sentence with `tell`.
The stored runs compare blocks with and without a feed-forward part, at equal parameters too. Their seeds are not those with which the recipe was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ffnlab.course import toy_transformer, world
from ffnlab.course.experiments import read
from ffnlab.course.experiments.next_token import NextToken, fit

STORED = Path(__file__).with_suffix(".json")
D_MODEL, N_HEADS, LONGEST, BATCH, STEPS, LEARNING_RATE = 32, 4, 20, 32, 1500, 0.01
RULE_THRESHOLD = 0.95  # of the new scenes: a run that says over or into rightly in as many has found the rule
CHOSEN_ON, SEEDS = tuple(range(5)), tuple(range(5, 25))  # the recipe was chosen on the first; the others are stored
# What is compared: blocks, and the feed-forward part with its width. Three blocks of attention have as many parameters as one with a ReLU FFN.
MODELS: dict[str, tuple[int, str, int]] = {
    "none": (1, "none", 0),
    "none, 3 blocks": (3, "none", 0),
    "relu": (1, "relu", 128),
    "relu, 2 blocks": (2, "relu", 128),
}
# The same for readers.
NAMES = {
    "none": "one block, no FFN",
    "none, 3 blocks": "three blocks, no FFN",
    "relu": "one block with FFN",
    "relu, 2 blocks": "two blocks with FFN",
}


class SentenceReader(NextToken):
    """The model that reads the little world with some blocks [B, T, d_model] -> [B, T, d_model]. Words matter more than places."""

    spec: tuple[str, int, int, int] | None = None  # what `stack` has called Block with: kind, d_model, n_heads, d_ff

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        super().__init__(blocks, len(world.WORDS), D_MODEL, LONGEST, spread=0.5)


def stack(Block: Callable[..., nn.Module], kind: str, d_ff: int, blocks: int = 1) -> SentenceReader:
    """A model that has yet to learn, with so many blocks `Block(kind, 32, 4, d_ff)`."""
    arguments = (kind, D_MODEL, N_HEADS, d_ff)
    model = SentenceReader([Block(*arguments) for _ in range(blocks)])
    model.spec = arguments
    return model


@cache
def _sentences(held_out: bool) -> torch.Tensor:
    return toy_transformer.tensor([world.wish(scene) for scene in world.scenes(held_out)])  # [scenes, T]


def learn(model: SentenceReader, steps: int = STEPS, seed: int = 0, label: str = "") -> list[float]:
    """Trains on sentences of the scenes that are not held out, in an order that `seed` draws; under a progress bar if there is a label.

    Returns the loss of each step.
    """
    source = _sentences(held_out=False)

    def draw(chance: torch.Generator) -> torch.Tensor:
        return source[torch.randint(len(source), (BATCH,), generator=chance)]

    return fit(model, draw, steps, LEARNING_RATE, seed, label)


@torch.no_grad()
def judged(model: SentenceReader) -> dict[str, float]:
    """How often it says the right word in the 1,792 scenes that are held out, where two attributes have to be combined: way, feeling; and both."""
    sentences = _sentences(held_out=True)
    right = model(sentences[:, :-1]).argmax(-1) == sentences[:, 1:]  # [scenes, T]
    way, feeling = right[:, world.WAY - 1], right[:, world.FEELING - 1]
    hits = {"way": way, "feeling": feeling, "both": way & feeling}
    return {name: is_right.double().mean().item() for name, is_right in hits.items()}


@torch.no_grad()
def tell(model: SentenceReader, words: str) -> str:
    """Words of the little world, and what the model puts behind them until the sentence ends, always the most probable word."""
    sentence = words.split()
    while sentence[-1] != "." and len(sentence) < LONGEST:
        scores = model(torch.tensor([world.numbers(sentence)]))[0, -1]
        sentence.append(world.WORDS[int(scores.argmax())])
    return " ".join(sentence).replace(" .", ".")


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)
