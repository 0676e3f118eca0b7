"""Near the end of notebook 10: one block, the student's own, reads the little world, and meets the cold creek that it has never seen.

The notebook trains the student's block with `learn`, asks what it has learned with `judged`, and lets it finish a sentence with `tell`.
The stored runs are of the four kinds of feed-forward part, from five seeds. The recipe was chosen for the ReLU block.
"""

from __future__ import annotations

from collections.abc import Iterable
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
SEEDS = (0, 1, 2, 3, 4)
MODELS = {
    "none": 0,
    "relu": 128,
    "swiglu": 85,
    "moe": 21,
}  # the width of the feed-forward part, of each expert with "moe"
EVERY = 30  # steps, over which a stored loss is averaged


class SentenceReader(NextToken):
    """The model that reads the little world with some blocks [B, T, d_model] -> [B, T, d_model]. Words matter more than places."""

    def __init__(self, blocks: Iterable[nn.Module]) -> None:
        super().__init__(blocks, len(world.WORDS), D_MODEL, LONGEST, spread=0.5)


@cache
def _sentences(held_out: bool) -> torch.Tensor:
    return toy_transformer.tensor([world.wish(scene) for scene in world.scenes(held_out)])  # [scenes, T]


def learn(model: SentenceReader, steps: int = STEPS, seed: int = 0, label: str = "") -> list[float]:
    """Trains on sentences of the scenes that are not held out; under a progress bar if there is a label. Returns the loss of each step."""
    source = _sentences(held_out=False)

    def draw(chance: torch.Generator) -> torch.Tensor:
        return source[torch.randint(len(source), (BATCH,), generator=chance)]

    return fit(model, draw, steps, LEARNING_RATE, seed, label)


@torch.no_grad()
def judged(model: SentenceReader) -> dict[str, float]:
    """How often it says the right word in the 1,792 scenes that are held out, where two attributes have to be combined: way, feeling."""
    sentences = _sentences(held_out=True)
    right = model(sentences[:, :-1]).argmax(-1) == sentences[:, 1:]
    return {
        name: right[:, place - 1].float().mean().item()
        for name, place in (("way", world.WAY), ("feeling", world.FEELING))
    }


@torch.no_grad()
def tell(model: SentenceReader, words: str) -> str:
    """Words of the little world, and what the model puts behind them until the sentence ends, always the most probable word."""
    said = words.split()
    while said[-1] != "." and len(said) < LONGEST:
        scores = model(torch.tensor([world.numbers(said)]))[0, -1]
        said.append(world.WORDS[int(scores.argmax())])
    return " ".join(said).replace(" .", ".")


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)
