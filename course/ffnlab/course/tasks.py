"""What notebook 10 trains on: the pairs to be learned, a small model around one or more blocks, its training."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab.course.progress_bar import bar

BALANCE = 0.01  # the coefficient of the balance loss


def pairs(words: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """All words² pairs [words², 2] and, for each, the word that follows: drawn at random, so that nothing but memory helps."""
    chance = torch.Generator().manual_seed(seed)
    inputs = torch.cartesian_prod(torch.arange(words), torch.arange(words))
    return inputs, torch.randint(words, (words**2,), generator=chance)


class Reader(nn.Module):
    """Embeddings of words and of the two places, some blocks, a norm, and scores for the word that follows the pair."""

    def __init__(self, words: int, d_model: int, blocks: Iterable[nn.Module]) -> None:
        super().__init__()
        self.words = nn.Embedding(words, d_model)
        self.places = nn.Parameter(torch.randn(2, d_model))
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(d_model)
        self.scores = nn.Linear(d_model, words, bias=False)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        x = self.words(inputs) + self.places  # [N, 2, d_model]
        for block in self.blocks:
            x = block(x)
        scores: torch.Tensor = self.scores(self.norm(x[:, -1]))  # [N, words]
        return scores


def learn(
    model: Reader, inputs: torch.Tensor, targets: torch.Tensor, steps: int = 300, label: str = "", lr: float = 0.01
) -> dict[str, Any]:
    """Trains on all pairs at once, with Adam and a learning rate that falls to zero; with a label, under a progress bar.

    A block's balance loss, its attribute aux_loss, counts with the factor 0.01.
    Returns the accuracy (0 to 1) and the loss (nats) on the pairs, the CPU milliseconds of a step (the median), and the losses of all
    steps, without the balance loss.
    """
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 1.0 / steps, total_iters=steps)
    times, losses = [], []
    for _ in bar(steps, label) if label else range(steps):
        start = time.process_time()
        optimiser.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        losses.append(loss.item())
        for block in model.blocks:
            aux = getattr(block, "aux_loss", None)
            loss = loss if aux is None else loss + BALANCE * aux
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        times.append(1000 * (time.process_time() - start))
    with torch.no_grad():
        scores = model.eval()(inputs)
    return {
        "accuracy": (scores.argmax(-1) == targets).double().mean().item(),
        "loss": F.cross_entropy(scores, targets).item(),
        "milliseconds": sorted(times)[len(times) // 2],
        "losses": losses,
    }
