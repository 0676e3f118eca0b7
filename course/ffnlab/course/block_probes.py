"""What the probes of `Block` share: a student's block made and shaken, what comes out of it, and what becomes of that when its norms are turned down."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import torch
from torch import nn

from ffnlab.observation.exercise import FactsFunction, NotAsAsked, describe_result, observe_call
from ffnlab.observation.plain_data import Failure

T = TypeVar("T")
KINDS = ("none", "relu", "swiglu", "moe")


def is_vector(parameter: torch.Tensor) -> bool:
    """Whether all numbers lie along one dimension: [d], and [1, 1, d] as well."""
    return parameter.numel() == parameter.shape[-1] if parameter.ndim else True


def shaken_block(
    answer: Any, kind: str, x: torch.Tensor, n_heads: int, d_ff: int, seed: int, scope: str = "all"
) -> nn.Module:
    """A student's block in eval mode, its weights moved as training would: matrices only, or vectors as well.

    Where weights start at zero, on purpose or not, nothing could be seen.
    """
    torch.default_generator.manual_seed(seed)  # the CPU's alone: torch.manual_seed looks for other devices
    block = answer(kind, x.shape[-1], n_heads, d_ff)
    if not isinstance(block, nn.Module):
        raise NotAsAsked("what the class makes is not an nn.Module; its first line should name nn.Module in brackets")
    if next(block.parameters(), None) is None:
        raise NotAsAsked("the module has no parameters at all: parts in a plain list or dict are not registered")
    block.eval()
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in block.parameters():
            if not is_vector(parameter):
                parameter.add_(0.7 * torch.randn(parameter.shape, generator=noise) / parameter.shape[-1] ** 0.5)
            elif scope == "all":
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=noise))
    return block


def output_of(block: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """The output, of the shape of x."""
    output = block(x)
    if isinstance(output, tuple):
        raise NotAsAsked("forward returns a tuple; the output alone is asked for, a tensor [B, T, d_model]")
    if not isinstance(output, torch.Tensor):
        raise NotAsAsked(f"{describe_result(output)} instead of a tensor")
    if output.shape != x.shape:
        raise NotAsAsked(f"x of shape {list(x.shape)} came back with shape {list(output.shape)}")
    return output


def norm_gains(answer: Any, kind: str, x: torch.Tensor, n_heads: int, d_ff: int) -> list[str]:
    """The names of the vectors of d_model numbers that start at one: what norms multiply with."""
    fresh = answer(kind, x.shape[-1], n_heads, d_ff)
    if not isinstance(fresh, nn.Module):
        raise NotAsAsked("what the class makes is not an nn.Module; its first line should name nn.Module in brackets")
    parameters = fresh.named_parameters()
    return [name for name, p in parameters if p.shape[-1:] == x.shape[-1:] and is_vector(p) and bool((p == 1).all())]


def with_factors(block: nn.Module, factors: dict[str, Any], call: Callable[[], T]) -> T:
    """What `call` returns while parameters, by name, are multiplied by factors."""
    parameters = {name: block.get_parameter(name) for name in factors}
    originals = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.mul_(factors[name])
    try:
        return call()
    finally:
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(originals[name])


def others_alike(x: torch.Tensor) -> torch.Tensor:
    """x with one and the same token in place of all but the last of each sentence: a mixture sends them all to the same experts."""
    other = x[:1, :1].flip(-1).repeat(x.shape[0], x.shape[1], 1)
    other[:, -1] = x[:, -1]
    return other


def both_outputs(block: nn.Module, x: torch.Tensor, out: torch.Tensor | None = None) -> list[torch.Tensor]:
    """What comes out for x, which may be known, and for x with other tokens before the last."""
    return [output_of(block, x).clone() if out is None else out, output_of(block, others_alike(x)).clone()]


def mixing_of(outputs: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """How the last token's change, block(x) - x, answers to other tokens before it: [B, d_model]."""
    return ((outputs[1] - others_alike(x)) - (outputs[0] - x))[:, -1]


def least_noticed(outputs: list[torch.Tensor], x: torch.Tensor) -> float:
    """How large a change of the last token counts as an answer to other tokens: not what is small beside the usual one, nor rounding."""
    return 1e-4 * max(largest_entry(mixing_of(outputs, x)), 0.1 * largest_entry(outputs[0]))


def each_kind(kinds: list[str], look: Callable[[str], Any]) -> list[Any]:
    """What is seen of each kind, in the order in which they are asked for."""
    with torch.no_grad():
        return [observe_call(partial(look, kind)) for kind in kinds]


def facts_of_each(facts: Callable[[str, Any, dict[str, Any]], dict[str, Any]]) -> FactsFunction:
    """Facts kind by kind; what raised stays an exception."""

    def of(observations: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        by_kind = dict(zip(inputs["kinds"], observations, strict=True))
        return {
            f"'{kind}'": by_kind[kind] if isinstance(by_kind[kind], Failure) else facts(kind, by_kind[kind], inputs)
            for kind in KINDS
        }

    return of


def largest_entry(tensor: torch.Tensor) -> float:
    return float(tensor.abs().max())
