"""Notebook 04, One network, every position: how each exercise is called, and on what inputs. No answers.

Exercises that take a module or a function get one that is built here from the drawn numbers. Sizes differ pairwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from ffnlab.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    attempt,
    blank,
    described,
    gradients,
    on_each,
    question,
    send_back,
)
from ffnlab.handed import FFN, Weights, drawn_weights, ffn_of, untouched, values_of


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """x [A, B, T, d_model] and the weights of an FFN."""
    A, B, T = rng.distinct(3, 2, 5)
    d_model, d_ff = rng.distinct(2, 6, 10)
    return {"x": rng.normal(A, B, T, d_model), "weights": drawn_weights(rng, d_model, d_ff)}


# ffn_loop

ffn_loop = Exercise(
    "ffn_loop",
    draw=_draw,
    where="the section “One network for all positions”.",
    understood="One FFN, called for one token after the other, gives what a single call gives for all of them.",
    hints=(
        "`x[b, t]` is one token, a vector of d_model numbers. `ffn` turns it into another one.",
        "Two loops, over the sentences and over their tokens, or one over the tokens of all sentences: `x[:, t]` is [B, d_model].",
        "Collect the rows in a list, and put them together with `torch.stack`. Its argument `dim` says where the new dimension stands.",
        "A list of T tensors [B, d_model], stacked with `dim=1`, is [B, T, d_model].",
    ),
)


@ffn_loop.aspect("values", points=1)
def _(answer: Any, x: Any, weights: Any) -> Any:
    return answer(x[0], ffn_of(weights))


@ffn_loop.aspect("gradients", points=0.5)
def _(answer: Any, x: Any, weights: Any) -> Any:
    def compute(x: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> Any:
        return answer(x, lambda tokens: torch.relu(tokens @ W1 + b1) @ W2 + b2)

    return gradients(compute, x=x[0], **weights)


@ffn_loop.aspect("other inputs", points=0.5)
def _(answer: Any, x: Any, weights: Any) -> Any:
    def call(given: Any) -> Any:
        return answer(given, ffn_of(weights, given.dtype))

    inputs = {
        "x with T = 1": x[0, :, :1],
        "x with B = 1": x[0, :1],
        "non-contiguous x": x[0].transpose(0, 1),
        "everything in float32": x[0].float(),
    }
    return on_each(call, inputs)


# is_position_wise

Layer = Callable[[torch.Tensor], torch.Tensor]


def _draw_layers(rng: Draw, case: int) -> dict[str, Any]:
    """The numbers from which `_layers` builds its functions."""
    T, d = rng.distinct(2, 5, 9)
    d_ff = rng.integer(10, 14)
    source, to = sorted(rng.distinct(2, 1, T - 2))
    source = 1 if source == T // 2 else source  # neither an end nor the middle: those are the tokens one tries first
    return {
        "T": T,
        "d": d,
        "seed": rng.integer(1, 1000),
        "pair": [to, source],
        "odd": rng.integer(2, T - 1),
        "weights": drawn_weights(rng, d, d_ff),
        "q": rng.normal(d, d, scale=0.4),
        "k": rng.normal(d, d, scale=0.4),
        "v": rng.normal(d, d, scale=0.6),
        "kernel": rng.normal(3, d, d, scale=0.5),
        "positions": rng.normal(T, d),
        "matrices": rng.normal(T, d, d, scale=0.6),
        "constant": rng.normal(d),
    }


class WithDropout(nn.Module):
    """An FFN with dropout on its hidden layer, in eval mode."""

    def __init__(self, ffn: FFN) -> None:
        super().__init__()
        self.ffn = ffn
        self.dropout = nn.Dropout(0.5)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ffn = self.ffn.to(x.dtype)
        hidden: torch.Tensor = ffn.linear2(self.dropout(torch.relu(ffn.linear1(x))))
        return hidden


def _layers(n: Any) -> dict[str, Layer]:
    """Functions from [..., T, d] to [..., T, d], by what they are."""

    def ffn(x: torch.Tensor) -> torch.Tensor:
        W1, b1, W2, b2 = (n["weights"][name].to(x.dtype) for name in ("W1", "b1", "W2", "b2"))
        output: torch.Tensor = torch.relu(x @ W1 + b1) @ W2 + b2
        return output

    def attention(x: torch.Tensor, mask: str = "") -> torch.Tensor:
        q, k, v = (n[name].to(x.dtype) for name in "qkv")
        scores = (x @ q) @ (x @ k).transpose(-1, -2) / n["d"] ** 0.5
        everyone = torch.ones(n["T"], n["T"], dtype=torch.bool)
        seen = {"": everyone, "causal": everyone.tril(), "later": everyone.triu()}[mask]
        mixed: torch.Tensor = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1) @ (x @ v)
        return mixed

    def convolution(x: torch.Tensor) -> torch.Tensor:
        around = F.pad(x, (0, 0, 1, 1))
        neighbours = (around[..., i : i + n["T"], :] @ n["kernel"][i].to(x.dtype) for i in range(3))
        return torch.relu(sum(neighbours, torch.zeros_like(x)))

    def leak(x: torch.Tensor) -> torch.Tensor:
        to, source = n["pair"]
        place = torch.zeros(n["T"], 1, dtype=x.dtype)
        place[to] = 0.2
        return ffn(x) + place * x[..., source : source + 1, :]

    def own_weights(x: torch.Tensor) -> torch.Tensor:
        return torch.relu((x.unsqueeze(-2) @ n["matrices"].to(x.dtype)).squeeze(-2))

    def one_differs(x: torch.Tensor) -> torch.Tensor:
        factor = torch.ones(n["T"], 1, dtype=x.dtype)
        factor[n["odd"]] = 1.3
        return factor * ffn(x)

    def pooled(x: torch.Tensor) -> torch.Tensor:
        return ffn(x.mean(-2, keepdim=True)).expand(x.shape)

    def running_sums(x: torch.Tensor) -> torch.Tensor:
        sums = F.pad(ffn(x).cumsum(-2), (0, 0, 1, 0))
        return sums[..., 1:, :] - sums[..., :-1, :]

    found: dict[str, Layer] = {
        "a plain FFN": ffn,
        "attention": attention,
        "causal attention": partial(attention, mask="causal"),
        "attention to later tokens only": partial(attention, mask="later"),
        "a convolution over three tokens": convolution,
        "an FFN in which one token leaks into one other": leak,
        "x + FFN(x)": lambda x: x + ffn(x),
        "other weights at every position": own_weights,
        "an FFN of x plus a position vector": lambda x: ffn(x + n["positions"].to(x.dtype)),
        "an FFN that treats one position differently": one_differs,
        "a layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
        "an FFN of the mean of all tokens, for every token": pooled,
        "an FFN plus a part of the mean of all tokens": lambda x: ffn(x) + 0.6 * x.mean(-2, keepdim=True),
        "an FFN by differences of running sums": running_sums,
        "the same output whatever comes in": lambda x: n["constant"].to(x.dtype).expand(x.shape).clone(),
        "a module with dropout, in eval mode": WithDropout(ffn_of(n["weights"])),
    }
    return {
        label: layer if isinstance(layer, nn.Module) else _fixed(layer, n["T"], n["d"])
        for label, layer in found.items()
    }


def _fixed(layer: Layer, T: int, d: int) -> Layer:
    """A layer that takes sequences of T tokens and no others."""

    def f(x: torch.Tensor) -> torch.Tensor:
        if x.shape[-2:] != (T, d):
            raise ValueError(f"f takes [..., T, d] = [..., {T}, {d}], not {list(x.shape)}")
        return layer(x)

    return f


is_position_wise = Exercise(
    "is_position_wise",
    draw=_draw_layers,
    where="the section “A test for ‘position-wise’”.",
    understood="Position-wise means two things at once: no token sees another, and every token meets the same map. You can test both without looking inside.",
    hints=(
        "There are two ways to fail: a token's output depends on another token, or the same vector is treated differently at another position.",
        "Choose one vector v. Put it at position 0 of a random sequence, then at position 1 of another random sequence, and "
        "so on. What must be true of the outputs at those positions?",
        "If f is position-wise, all of them are g(v). If not, changing the other tokens or the position shows.",
        "Compare with a tolerance: a difference far below a thousandth of the output is rounding. float64 leaves more room than float32.",
        "`X = torch.randn(T, d, generator=...)`, then `X[t] = v`, then keep `f(X)[t]`; stack them, and compare each with the first.",
    ),
)


def _said(answer: Any, layers: dict[str, Layer], labels: tuple[str, ...], T: int, d: int, *seed: int) -> dict[str, Any]:
    def ask(label: str) -> str:
        said = answer(layers[label], T, d, *seed)
        if isinstance(said, torch.Tensor) and said.ndim == 0 and said.dtype == torch.bool:
            said = bool(said)
        if not isinstance(said, (bool, np.bool_)):
            raise NotAsAsked(f"{described(said)} instead of True or False")
        return "position-wise" if said else "not position-wise"

    return {label: attempt(partial(ask, label)) for label in labels}


@is_position_wise.aspect("tokens that see each other", points=2)
def _(answer: Any, T: int, d: int, **numbers: Any) -> Any:
    labels = (
        "a plain FFN",
        "attention",
        "causal attention",
        "attention to later tokens only",
        "a convolution over three tokens",
        "an FFN in which one token leaks into one other",
    )
    return _said(answer, _layers({"T": T, "d": d, **numbers}), labels, T, d)


@is_position_wise.aspect("positions that are treated differently", points=1.5)
def _(answer: Any, T: int, d: int, **numbers: Any) -> Any:
    labels = (
        "x + FFN(x)",
        "other weights at every position",
        "an FFN of x plus a position vector",
        "an FFN that treats one position differently",
    )
    return _said(answer, _layers({"T": T, "d": d, **numbers}), labels, T, d)


@is_position_wise.aspect("what only looks position-wise", points=1)
def _(answer: Any, T: int, d: int, seed: int, **numbers: Any) -> Any:
    labels = (
        "a layer norm",
        "an FFN of the mean of all tokens, for every token",
        "an FFN plus a part of the mean of all tokens",
    )
    return _said(answer, _layers({"T": T, "d": d, **numbers}), labels, T, d, seed)


@is_position_wise.aspect("what does not look position-wise", points=0.5)
def _(answer: Any, T: int, d: int, **numbers: Any) -> Any:
    labels = (
        "an FFN by differences of running sums",
        "the same output whatever comes in",
        "a module with dropout, in eval mode",
    )
    return _said(answer, _layers({"T": T, "d": d, **numbers}), labels, T, d)


# ffn_as_conv1d


def _draw_conv(rng: Draw, case: int) -> dict[str, Any]:
    """As `_draw`, and a second FFN with d_ff = d_model for a sequence that is as long."""
    n = rng.integer(6, 9)
    B = rng.integer(2, 4)
    return _draw(rng, case) | {"square": {"x": rng.normal(B, n, n), "weights": drawn_weights(rng, n, n)}}


ffn_as_conv1d = Exercise(
    "ffn_as_conv1d",
    draw=_draw_conv,
    where="the section “The same as a convolution”.",
    understood="An FFN is two convolutions with kernel size 1: the same small network slides over the sequence and looks at one token at a time.",
    hints=(
        "`nn.Conv1d(channels_in, channels_out, kernel_size)` works on [B, channels, T]. What are the channels of an FFN, and what does it bend in between?",
        "`x.transpose(1, 2)` turns [B, T, d] into [B, d, T]. `reshape` would not: it keeps the numbers in their order in memory.",
        "A linear layer's weight is [out, in], that of a convolution [out, in, kernel]. `unsqueeze(-1)` adds the missing dimension.",
        "Copy under `torch.no_grad()`: `conv.weight.copy_(...)`, four times, with the biases. Everything is float32.",
        "`forward` is: transpose, first convolution, activation, second convolution, transpose.",
    ),
)


def _converted(answer: Any, weights: Weights) -> nn.Module:
    made = answer(ffn_of(weights, torch.float32))
    if not isinstance(made, nn.Module):
        raise NotAsAsked(f"{described(made)} instead of an nn.Module")
    return made.eval()


@ffn_as_conv1d.aspect("values", points=2, atol=1e-4, rtol=1e-4)
def _(answer: Any, x: Any, weights: Any, square: Any) -> Any:
    x = x[0].float()
    inputs = {"x of shape [B, T, d_model]": x, "x with T = 1": x[:, :1], "non-contiguous x": x.transpose(0, 1)}
    same = attempt(lambda: _converted(answer, square["weights"])(square["x"].float()))
    return on_each(lambda given: _converted(answer, weights)(given), inputs) | {"an FFN with d_ff = d_model = T": same}


class _Calls(TorchFunctionMode):
    """Counts calls of a convolution, whoever makes them."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.convolutions += getattr(func, "__name__", "") in ("conv1d", "conv2d", "convolution")
        return func(*args, **(kwargs or {}))


@ffn_as_conv1d.aspect("two convolutions, and no more parameters", points=1)
def _(answer: Any, x: Any, weights: Any, square: Any) -> Any:
    module = _converted(answer, weights)
    with _Calls() as calls:
        module(x[0].float())
    return {
        "two convolutions are computed": calls.convolutions >= 2,
        "trainable parameters": sum(p.numel() for p in module.parameters() if p.requires_grad),
    }


@ffn_as_conv1d.aspect("gradients", points=0.5, atol=1e-4, rtol=1e-4)
def _(answer: Any, x: Any, weights: Any, square: Any) -> Any:
    module = _converted(answer, weights)
    given = x[0].float().requires_grad_()
    send_back(module(given))
    learns = [p.grad is not None and bool(p.grad.any()) for p in module.parameters()]
    return {"gradient of x": given.grad, "a gradient reaches every parameter": bool(learns) and all(learns)}


@ffn_as_conv1d.aspect("ffn stays as it was", points=0.5)
def _(answer: Any, x: Any, weights: Any, square: Any) -> Any:
    ffn = ffn_of(weights, torch.float32)
    before = values_of(ffn)
    made = answer(ffn)
    if not isinstance(made, nn.Module):
        raise NotAsAsked(f"{described(made)} instead of an nn.Module")
    made(x[0].float())
    return untouched(ffn, before) | {"they can still be trained": all(p.requires_grad for p in ffn.parameters())}


# residual_sublayer


def _draw_block(rng: Draw, case: int) -> dict[str, Any]:
    drawn = _draw(rng, case)
    d_model = drawn["x"].shape[-1]
    drawn["x"] = 1.7 * drawn["x"] + rng.normal(d_model)
    return drawn | {"gain": 1.5 + 0.4 * rng.normal(d_model), "shift": rng.normal(d_model)}


residual_sublayer = Exercise(
    "residual_sublayer",
    draw=_draw_block,
    where="the section “Around the FFN: residual and norm”.",
    understood="Pre-norm leaves x itself untouched on its way through the block; post-norm, the form of 2017, normalises the sum.",
    hints=(
        "Both modes add what the FFN says to x. They differ in what the norm is applied to.",
        "'pre': the norm stands before the FFN, on the side path only. 'post': it stands after the addition.",
        "In both modes the x that is added is the x that came in, not its normalised form.",
    ),
)


def _norm(gain: torch.Tensor, shift: torch.Tensor, dtype: torch.dtype = torch.float64) -> nn.LayerNorm:
    norm = nn.LayerNorm(len(gain)).to(dtype)
    with torch.no_grad():
        norm.weight.copy_(gain)
        norm.bias.copy_(shift)
    return norm


def _mode(mode: str) -> None:
    @residual_sublayer.aspect(f"mode “{mode}”", points=1.5)
    def _(answer: Any, x: Any, weights: Any, gain: Any, shift: Any) -> Any:
        return answer(x[0], ffn_of(weights), _norm(gain, shift), mode)


for _name in ("pre", "post"):
    _mode(_name)


@residual_sublayer.aspect("gradients", points=0.5)
def _(answer: Any, x: Any, weights: Any, gain: Any, shift: Any) -> Any:
    def of(mode: str) -> dict[str, Any]:
        ffn, norm, given = ffn_of(weights), _norm(gain, shift), x[0].clone().requires_grad_()
        send_back(answer(given, ffn, norm, mode))
        leaves = {"x": given, "the FFN's first weight": ffn.linear1.weight, "the norm's gain": norm.weight}
        return {f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}

    return {f"mode “{mode}”": attempt(partial(of, mode)) for mode in ("pre", "post")}


@residual_sublayer.aspect("other inputs", points=0.5)
def _(answer: Any, x: Any, weights: Any, gain: Any, shift: Any) -> Any:
    inputs = {
        "x of shape [T, d_model]": x[0, 0],
        "x of shape [A, B, T, d_model]": x,
        "non-contiguous x": x[0].transpose(0, 1),
        "everything in float32": x[0].float(),
    }

    def of(mode: str) -> dict[str, Any]:
        def call(given: Any) -> Any:
            ffn, norm = ffn_of(weights, given.dtype), _norm(gain, shift, given.dtype)
            return blank(answer(given, ffn, norm, mode))

        return on_each(call, inputs)

    return {f"mode “{mode}”": of(mode) for mode in ("pre", "post")}


# bottleneck_rank


def _draw_rank(rng: Draw, case: int) -> dict[str, Any]:
    """FFNs with few and with many hidden neurons, few inputs, inputs on a line, and neurons that never fire."""
    d = rng.integer(7, 9)
    f = rng.integer(4, d - 2)
    N = rng.integer(40, 50)
    narrow = drawn_weights(rng, d, f)
    wide = drawn_weights(rng, d, d + rng.integer(6, 9))
    silent = drawn_weights(rng, d, f)
    silent["b1"] = silent["b1"].clone()
    silent["b1"][: rng.integer(1, f - 2)] = -100.0
    return {
        "X": rng.normal(N, d),
        "line": rng.normal(N, 1, scale=2.0) * rng.normal(1, d),
        "few": rng.integer(2, f - 1),
        "narrow": narrow,
        "wide": wide,
        "silent": silent,
        "factors": [1e-5, 1e4],
    }


bottleneck_rank = Exercise(
    "bottleneck_rank",
    draw=_draw_rank,
    where="the section “A bottleneck”.",
    understood="Whatever comes in, what the neurons write lies in the span of at most d_ff vectors: the rank is the number of directions in use.",
    hints=(
        "b2 is added to every row, whatever the neurons do. What is left of the output without it?",
        "`torch.linalg.matrix_rank` counts the singular values that are larger than a tolerance; its default "
        "tolerance fits the dtype and the size of the numbers.",
        "The FFN's output minus `ffn.linear2.bias`, its rank, as an int.",
    ),
)


def _rank(answer: Any, weights: Weights, X: torch.Tensor) -> Any:
    return attempt(lambda: answer(ffn_of(weights, X.dtype), X))


@bottleneck_rank.aspect("rank", points=1.5)
def _(answer: Any, X: Any, narrow: Any, wide: Any, few: int, line: Any, **_: Any) -> Any:
    return {
        "d_ff smaller than d_model": _rank(answer, narrow, X),
        "d_ff larger than d_model": _rank(answer, wide, X),
        f"{few} inputs": _rank(answer, narrow, X[:few]),
        "inputs on one line": _rank(answer, wide, line),
    }


@bottleneck_rank.aspect("neurons that never fire", points=0.5)
def _(answer: Any, X: Any, narrow: Any, silent: Any, **_: Any) -> Any:
    off = narrow | {"b1": torch.full_like(narrow["b1"], -100.0)}
    return {"some never fire": _rank(answer, silent, X), "none ever fires": _rank(answer, off, X)}


@bottleneck_rank.aspect("float32 and other scales", points=0.5)
def _(answer: Any, X: Any, narrow: Any, factors: Any, **_: Any) -> Any:
    found: dict[str, Any] = {}
    for factor in factors:
        scaled = narrow | {"W2": factor * narrow["W2"], "b2": factor * narrow["b2"]}
        found[f"W2 and b2 times {factor:g}, float32"] = _rank(answer, scaled, X.float())
    return {"float32": _rank(answer, narrow, X.float())} | found


@bottleneck_rank.aspect("ffn and X stay as they were", points=0.5)
def _(answer: Any, X: Any, narrow: Any, **_: Any) -> Any:
    ffn, given = ffn_of(narrow), X.clone()
    before = values_of(ffn)
    answer(ffn, given)
    return untouched(ffn, before, X=(given, X))


# Questions. Their texts stand in the notebook.

quiz_equivariant = question(
    "quiz_equivariant",
    where="the section “A test for ‘position-wise’”.",
    understood="Equivariant: permute the tokens that go in, and the outputs are permuted in the same way.",
)

quiz_kernel = question(
    "quiz_kernel",
    where="the section “The same as a convolution”.",
    understood="Kernel size 1: each output token is computed from exactly one input token.",
)

quiz_shared = question(
    "quiz_shared",
    where="the section “One network for all positions”.",
    understood="An FFN's weights are shared by all positions of one layer. Each layer has an FFN of its own.",
)
