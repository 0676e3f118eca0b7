"""What the probes of several notebooks share: the FFN that a student's function is handed, and what is asked of a module that a student made."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ffnlab.observation.exercise import Draw, NotAsAsked

Weights = dict[str, torch.Tensor]  # W1 [d_model, d_ff], b1 [d_ff], W2 [d_ff, d_model], b2 [d_model]


class TwoLayerFFN(nn.Module):
    """The FFN that students are handed: linear1, activation, linear2."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.activation = torch.relu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.linear2(self.activation(self.linear1(x)))
        return hidden


def draw_weights(rng: Draw, d_model: int, d_ff: int) -> Weights:
    """The weights of an FFN, float64, with biases of both signs."""
    return {
        "W1": rng.normal(d_model, d_ff, scale=0.6),
        "b1": rng.normal(d_ff),
        "W2": rng.normal(d_ff, d_model, scale=0.6),
        "b2": rng.normal(d_model),
    }


def make_ffn(
    weights: Weights, dtype: torch.dtype = torch.float64, kind: type[TwoLayerFFN] = TwoLayerFFN
) -> TwoLayerFFN:
    """An FFN, or a subclass of it, with the drawn weights, in eval mode."""
    W1, b1, W2, b2 = (weights[name].to(dtype) for name in ("W1", "b1", "W2", "b2"))
    ffn = kind(*W1.shape).to(dtype)
    with torch.no_grad():
        ffn.linear1.weight.copy_(W1.T)
        ffn.linear1.bias.copy_(b1)
        ffn.linear2.weight.copy_(W2.T)
        ffn.linear2.bias.copy_(b2)
    return ffn.eval()


def copy_parameters(module: nn.Module) -> dict[str, torch.Tensor]:
    """Copies of a module's parameters, by name."""
    return {name: value.detach().clone() for name, value in module.named_parameters()}


def require_module(instance: Any) -> nn.Module:
    """What a student's class made.

    Raises:
        NotAsAsked: it is no module.
    """
    if not isinstance(instance, nn.Module):
        raise NotAsAsked("what the class makes is not an nn.Module; its first line should name nn.Module in brackets")
    return instance


def leading_shapes(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """x [A, B, T, d_model] and parts of it, by what is special about them."""
    return {
        "one token, x of shape [d_model]": x[0, 0, 0],
        "x of shape [T, d_model]": x[0, 0],
        "x with T = 1": x[0, :, :1],
        "x of shape [A, B, T, d_model]": x,
        "non-contiguous x": x[0].transpose(0, 1),
    }


def check_unchanged(
    ffn: TwoLayerFFN, before: dict[str, torch.Tensor], **tensors: tuple[torch.Tensor, torch.Tensor]
) -> dict[str, bool]:
    """Whether the parameters, and tensors given as (now, before), are what they were."""
    after = copy_parameters(ffn)
    same = set(before) == set(after) and all(torch.equal(before[name], after[name]) for name in before)
    is_equal = {name: torch.equal(now, then) for name, (now, then) in tensors.items()}
    return {"the parameters of ffn stay as they were": same} | {
        f"{name} stays as it was": so for name, so in is_equal.items()
    }
