"""E8, for notebook 10: the blocks that are compared, and their runs.

`python -m autograder.authoring.experiments.capstone` writes ffnlab's experiments/capstone.json: about twelve CPU minutes on one thread.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from autograder.authoring.experiments.write import write
from autograder.keys.parts import FFN, MoE, SwiGLU
from ffnlab.course.experiments.capstone import CHOSEN_ON, D_MODEL, MODELS, N_HEADS, SEEDS, STEPS, STORED, WORDS
from ffnlab.course.tasks import Reader, learn, pairs

EXPERTS, TOP_K = 4, 2
PARTS: dict[str, type[nn.Module]] = {"relu": FFN, "swiglu": SwiGLU, "moe": MoE}


class PreNormBlock(nn.Module):
    """A pre-norm block with the feed-forward part of PARTS that `kind` names, of the given width, or with none."""

    def __init__(self, kind: str, width: int, d_model: int = D_MODEL, n_heads: int = N_HEADS) -> None:
        super().__init__()
        self.before = nn.LayerNorm(d_model)
        self.attend = nn.MultiheadAttention(d_model, n_heads, batch_first=True, bias=False)
        self.between = nn.LayerNorm(d_model) if kind in PARTS else None
        self.part = PARTS[kind](d_model, width) if kind in PARTS else None
        self.aux_loss: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x_norm = self.before(x)
        mask = ~torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        attention, _ = self.attend(x_norm, x_norm, x_norm, need_weights=False, attn_mask=mask)
        x = x + attention
        if self.part is None or self.between is None:
            return x
        y = self.part(self.between(x))
        if isinstance(self.part, MoE):
            y, self.aux_loss = y
        out: torch.Tensor = x + y
        return out


def blocks(name: str) -> list[nn.Module]:
    """Fresh blocks of one of MODELS."""
    number, kind, width = MODELS[name]
    return [PreNormBlock(kind, width) for _ in range(number)]


def counts(name: str) -> dict[str, int]:
    """Parameters of the blocks, in total and active for one token, and forward FLOPs for a token at the second of two places."""
    number, kind, width = MODELS[name]
    total = sum(p.numel() for block in blocks(name) for p in block.parameters())
    idle = 3 * D_MODEL * width * (EXPERTS - TOP_K) if kind == "moe" else 0
    matrices = {"none": 0, "relu": 2 * width, "swiglu": 3 * width, "moe": 3 * width * TOP_K + EXPERTS}[kind]
    flops = number * (2 * D_MODEL * (4 * D_MODEL + matrices) + 4 * 2 * D_MODEL)
    return {"total": total, "active": total - idle, "flops": flops}


def train(name: str, words: int, seed: int) -> dict[str, Any]:
    """One model that has learned its pairs: what `learn` returns."""
    torch.manual_seed(seed)
    return learn(Reader(words, D_MODEL, blocks(name)), *pairs(words, seed), steps=STEPS)


def run() -> dict[str, Any]:
    """All models on all sizes: accuracy and loss from each of SEEDS; CPU milliseconds of a training step, which need a machine that does nothing
    else, from each of CHOSEN_ON."""
    torch.set_num_threads(1)
    runs: dict[str, Any] = {}
    for words in WORDS:
        for name in MODELS:
            outcomes, timings = ([train(name, words, seed) for seed in which] for which in (SEEDS, CHOSEN_ON))
            runs.setdefault(name, {})[str(words)] = {
                "accuracy": [round(outcome["accuracy"], 3) for outcome in outcomes],
                "loss": [round(outcome["loss"], 3) for outcome in outcomes],
                "milliseconds": [round(timing["milliseconds"], 1) for timing in timings],
            }
            print(words, name, runs[name][str(words)], flush=True)
    settings = {
        "d_model": D_MODEL,
        "n_heads": N_HEADS,
        "steps": STEPS,
        "lr": 0.01,
        "seeds": SEEDS,
        "chosen on": CHOSEN_ON,
        "balance": 0.01,
    }
    return {"settings": settings, "counts": {name: counts(name) for name in MODELS}, "runs": runs}


if __name__ == "__main__":
    results = run()
    write(STORED, {"settings": results.pop("settings")}, results)
