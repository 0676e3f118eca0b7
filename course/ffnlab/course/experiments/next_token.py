"""A small model around blocks that are to be tried, and how it learns to say the next token: what `creek` and `english` share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab.course.progress_bar import bar
from ffnlab.course.tasks import BALANCE


class NextToken(nn.Module):
    """Embeddings of `count` tokens and `longest` places, some blocks [B, T, d_model] -> [B, T, d_model], a norm, and scores for the next token.

    spread: the standard deviation of the places' embeddings at the start, where it is not torch's own, 1.
    """

    def __init__(
        self, blocks: Iterable[nn.Module], count: int, d_model: int, longest: int, spread: float | None = None
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(count, d_model)
        self.places = nn.Embedding(longest, d_model)
        if spread is not None:
            nn.init.normal_(self.places.weight, std=spread)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(d_model)
        self.scores = nn.Linear(d_model, count, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:  # [B, T] -> [B, T, V]
        x = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        scores: torch.Tensor = self.scores(self.norm(x))
        return scores


def fit(
    model: NextToken,
    draw: Callable[[torch.Generator], torch.Tensor],
    steps: int,
    rate: float,
    seed: int = 0,
    label: str = "",
) -> list[float]:
    """Trains with Adam on a batch [B, T + 1] of each step, which `draw` takes by chance; under a progress bar if there is a label.

    A block's balance loss, its attribute aux_loss, counts with the factor 0.01. Returns the loss of each step, in nats for each token,
    and leaves the model in eval mode.
    """
    chance, losses = torch.Generator().manual_seed(seed), []
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.1)
    for _ in bar(steps, label) if label else range(steps):
        batch = draw(chance)
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        losses.append(loss.item())
        for block in model.blocks:
            aux = getattr(block, "aux_loss", None)
            loss = loss if aux is None else loss + BALANCE * aux
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    model.eval()
    return losses
