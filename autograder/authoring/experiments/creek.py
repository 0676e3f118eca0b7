"""Notebook 10's creek: blocks with and without a feed-forward part read the little world, from twenty seeds.

`python -m autograder.authoring.experiments.creek` writes ffnlab's experiments/creek.json: about twenty minutes of one core.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from autograder.authoring.experiments.capstone import PreNormBlock
from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments.creek import (
    BATCH,
    CHOSEN_ON,
    D_MODEL,
    MODELS,
    N_HEADS,
    SEEDS,
    STEPS,
    STORED,
    SentenceReader,
    judged,
    learn,
)

SHORT = 60  # the steps of a run that a test can repeat


def blocks(name: str) -> list[nn.Module]:
    """Fresh blocks of one of MODELS."""
    number, kind, width = MODELS[name]
    return [PreNormBlock(kind, width, D_MODEL, N_HEADS) for _ in range(number)]


def parameters(name: str) -> int:
    """How many parameters the blocks of one of MODELS have."""
    return sum(p.numel() for block in blocks(name) for p in block.parameters())


def run(name: str, seed: int, steps: int = STEPS) -> tuple[list[float], dict[str, float]]:
    """One model from one seed: its losses, and how often it is right."""
    torch.manual_seed(seed)
    model = SentenceReader(blocks(name))
    losses = learn(model, steps, seed)
    return losses, {word: round(share, 4) for word, share in judged(model).items()}


def short(name: str) -> float:
    """The loss of the last of SHORT steps from seed 0."""
    return round(run(name, 0, SHORT)[0][-1], 4)


def save(accuracies: Mapping[str, Mapping[int, Mapping[str, float]]]) -> None:
    """Write the file from how often each model was right, by seed."""
    settings = {
        "d_model": D_MODEL,
        "n_heads": N_HEADS,
        "steps": STEPS,
        "batch": BATCH,
        "chosen on": CHOSEN_ON,
        "seeds": SEEDS,
    }
    about = {
        "settings": settings,
        "torch": TORCH,
        "parameters": {name: parameters(name) for name in MODELS},
        "right": {
            name: {word: [accuracies[name][seed][word] for seed in SEEDS] for word in ("way", "feeling")}
            for name in MODELS
        },
        f"loss after {SHORT} steps of seed 0": {name: short(name) for name in MODELS},
    }
    write(STORED, about)


if __name__ == "__main__":
    torch.set_num_threads(1)
    save({name: {seed: run(name, seed)[1] for seed in SEEDS} for name in MODELS})
