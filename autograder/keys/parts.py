"""The three feed-forward parts that notebook 10 hands out in its first cell, word for word.

They answer much of notebooks 02, 07, 08 and 09, so no earlier notebook holds them, nor does `ffnlab`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class FFN(nn.Sequential):
    """The FFN of notebook 02: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


class SwiGLU(nn.Module):
    """The gated FFN of notebook 07, without biases: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate, self.up = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class MoE(nn.Module):
    """The mixture of notebook 08: [..., d_model] -> the output [..., d_model] and the balance loss of this call, a 0-d tensor."""

    def __init__(self, d_model, d_ff, n_experts=4, top_k=2):
        super().__init__()
        self.scorer = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(SwiGLU(d_model, d_ff) for _ in range(n_experts))
        self.top_k = top_k

    def forward(self, x):
        tokens = x.flatten(0, -2)  # [N, d_model]
        scores = self.scorer(tokens).softmax(-1)  # [N, n_experts]
        best = scores.topk(self.top_k)
        share = best.values / best.values.sum(-1, keepdim=True)
        table = torch.zeros_like(scores).scatter(-1, best.indices, share)  # [N, n_experts], zero where not chosen
        total = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            mine = table[:, number].nonzero().squeeze(-1)  # the tokens that this expert sees
            total = total.index_add(0, mine, expert(tokens[mine]) * table[mine, number, None])
        loads = (table > 0).to(scores.dtype).mean(0) / self.top_k  # sums to 1, no gradient
        return total.view_as(x), len(self.experts) * loads @ scores.mean(0)
