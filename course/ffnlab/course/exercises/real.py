"""Notebook 11, A real one: how each exercise is called, and on what inputs. No answers.

None of them needs the model's file. `real_half` gets a little model whose tensors have the real one's names; what `find_neuron` gets is drawn as well.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ffnlab.observation.exercise import Draw, Exercise, NotAsAsked, describe_result

NOTEBOOK = "11_real"

# real_half

LAYERS = 3  # of the little model
ATTENTION = "attention.output.LayerNorm"  # the other norm of a block, which this half must not take


def _draw_model(rng: Draw, case: int) -> dict[str, Any]:
    """x [B, T, d] and the tensors of a little model, float64: as many for each layer as this half could take, under the real model's names."""
    B, T, d, d_ff = rng.distinct(4, 2, 9)
    W = {}
    for layer in range(LAYERS):
        start = f"encoder.layer.{layer}."
        W[f"{start}attention.output.dense.weight"] = rng.normal(d, d)
        W[f"{start}attention.output.dense.bias"] = rng.normal(d)
        W[f"{start}intermediate.dense.weight"] = rng.normal(d_ff, d)
        W[f"{start}intermediate.dense.bias"] = rng.normal(d_ff)
        W[f"{start}output.dense.weight"] = rng.normal(d, d_ff)
        W[f"{start}output.dense.bias"] = rng.normal(d)
        for name in (f"{start}{ATTENTION}", f"{start}output.LayerNorm"):
            W[f"{name}.weight"] = 1 + rng.normal(d, scale=0.3)
            W[f"{name}.bias"] = rng.normal(d)
    return {"x": rng.normal(B, T, d), "W": W}


real_half = Exercise(
    "real_half",
    draw=_draw_model,
    where="the list of names in “A file of numbers”.",
    understood="What a file of numbers means is in its names and in conventions: which way a matrix lies, which GELU, where the norm is.",
    hints=(
        "Three lines: fetch four arrays and a norm's two, compute what the FFN writes, add and norm.",
        "F.linear(x, weight, bias) takes a matrix as it is in the file, [out, in]. With @ you need `.T`.",
        "BERT is post-norm: norm(x + FFN(x)). The norm of this half is output.LayerNorm. F.layer_norm takes the shape (x.shape[-1],), then weight, bias, eps.",
        'The names of every layer begin with f"encoder.layer.{layer}.", with an f before the quotation mark.',
    ),
)


def _run_half(answer: Any, x: torch.Tensor, layer: int, W: dict[str, Any], *act: Any) -> torch.Tensor:
    output = answer(x, layer, W, *act)
    if not isinstance(output, torch.Tensor) or output.shape != x.shape:
        raise NotAsAsked(f"{describe_result(output)}; a tensor of shape {list(x.shape)}, like x, was expected")
    return output


@real_half.aspect("three layers", points=3, atol=1e-6, rtol=1e-6)
def real_half_layers(answer: Any, x: torch.Tensor, W: dict[str, Any]) -> Any:
    kept = x.clone()
    kept_W = {name: tensor.clone() for name, tensor in W.items()}
    outputs = {f"layer {layer}": _run_half(answer, x, layer, W).detach().clone() for layer in range(LAYERS)}
    unchanged = torch.equal(x, kept) and all(torch.equal(W[name], kept_W[name]) for name in kept_W)
    return outputs | {"x and W stay as they were": unchanged}


@real_half.aspect("the file's epsilon", points=1, atol=1e-6, rtol=1e-6)
def real_half_epsilon(answer: Any, x: torch.Tensor, W: dict[str, Any]) -> Any:
    """A stream so small that the norm's epsilon shows."""
    quiet = {name: tensor * (1e-3 if ".output.dense" in name else 1) for name, tensor in W.items()}
    return _run_half(answer, 1e-3 * x, 1, quiet).detach()


@real_half.aspect("the activation it is given", points=1, atol=1e-6, rtol=1e-6)
def real_half_act(answer: Any, x: torch.Tensor, W: dict[str, Any]) -> Any:
    return _run_half(answer, x, 2, W, torch.tanh).detach()


# find_neuron

PAIRS, NEURONS = 14, 40
LOUDER = 1.0
HALF = PAIRS // 2


def _draw_loudness(rng: Draw, case: int) -> dict[str, Any]:
    """Two tensors [pairs, neurons]: how loud each neuron is in each pair's two sentences. One neuron hears what is looked for, and others only seem to.

    The good one misses a pair of the first half and three of the second. The others each win by another bad rule. Their numbers are no pair's.
    """
    columns = rng.distinct(12, PAIRS, NEURONS - 1)
    good, steady, single, both, dark, swing, late, later, lucky, narrow, silent, almost = columns
    without = rng.normal(PAIRS, NEURONS, scale=0.3).abs()
    extra = rng.normal(PAIRS, NEURONS, scale=0.3)
    noise = rng.normal(PAIRS, NEURONS, scale=0.05)
    ups = torch.tensor([-1.0, 1.0] * HALF, dtype=torch.float64)

    extra[:, good] = 2.6 + noise[:, good]
    extra[rng.integer(0, HALF - 1), good] = -0.1
    deaf, *mute = rng.distinct(3, HALF, PAIRS - 1)
    without[deaf, good], extra[deaf, good] = 1.5, 0.2  # loud in both sentences
    without[mute, good], extra[mute, good] = 0.3, 0.2  # in neither
    extra[:, HALF] = 0.05 + 0.1 * noise[:, HALF].abs()  # always louder, by a whisper
    extra[:, steady] = 0.3  # always by the same little
    extra[:, single], extra[rng.one_of((1, 5)), single] = 0.0, 20.0  # so loud that it wins a mean
    without[:, both], extra[:, both] = 7 + noise[:, both], 0.1 + noise[:, both]
    without[rng.integer(0, HALF - 1), both] = 30.0  # in one sentence the loudest of all as well
    without[:, dark], extra[:, dark] = 6.0, -5 + noise[:, dark]
    without[:, swing], extra[:, swing] = 8.5, 7 * ups
    extra[HALF - 1, swing] = 0.0  # as often up as down in the first half
    extra[:HALF, late], extra[HALF:, late] = 0.3 + 2 * noise[:HALF, late], 6.0
    extra[:2, late] = 6.0  # in nine of all pairs, and only in two of those that may choose
    without[:HALF, later], extra[:HALF, later], extra[HALF:, later] = 5.0, -4.0, 9.0
    without[:, lucky], extra[:HALF, lucky], extra[HALF:, lucky] = 1 + ups, 0.8 + noise[:HALF, lucky], 0.0
    without[:, almost], extra[:HALF, almost], extra[HALF:, almost] = 1 + ups, 0.97 + 0.2 * noise[:HALF, almost], 0.0
    extra[rng.integer(0, HALF - 1), almost] = 0.4  # below lucky, above the good one where differences are cut at 1
    without[:, narrow], extra[:HALF, narrow], extra[HALF:, narrow] = 0.05, 0.6 + noise[:HALF, narrow], 0.0
    without[:, silent], extra[:, silent] = 0.0, 0.25 + noise[:, silent]
    return {"loud_with": (without + extra).clamp(min=0), "loud_without": without}


find_neuron = Exercise(
    "find_neuron",
    draw=_draw_loudness,
    where="the section “Which neuron hears it?”, and what luck does there.",
    understood="A neuron is found with some sentences and proved with others; a proof on the sentences that found it proves nothing.",
    hints=(
        "Cut both tensors in two first, and let the search see the first halves only.",
        "For each neuron, by how much is it louder in the first sentences? One pair may be odd, so let all pairs of the half have a say.",
        "(loud_with - loud_without)[:half] is [half, neurons]. `median(0).values` leaves one number for each neuron, which one odd pair can't move. "
        "`argmax()` is the place of the largest.",
    ),
)


@find_neuron.aspect("the neuron", points=2)
def find_neuron_neuron(answer: Any, loud_with: torch.Tensor, loud_without: torch.Tensor) -> Any:
    return _pair(answer(loud_with, loud_without))[0]


@find_neuron.aspect("the proof", points=2, needs="the neuron")
def find_neuron_proof(answer: Any, loud_with: torch.Tensor, loud_without: torch.Tensor) -> Any:
    return _pair(answer(loud_with, loud_without))[1]


def _pair(result: Any) -> list[int]:
    """Two whole numbers, which may be tensors of one entry."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise NotAsAsked(f"{describe_result(result)}; a pair (neuron, hits) was expected")
    numbers = []
    for value, name in zip(result, ("neuron", "hits"), strict=True):
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
            raise NotAsAsked(f"{name}: {describe_result(value)}; a whole number was expected")
        numbers.append(int(value))
    return numbers


# held


def _draw_held(rng: Draw, case: int) -> dict[str, Any]:
    B, T = rng.distinct(2, 2, 4)
    d_ff = rng.integer(7, 9)
    z = rng.normal(B, T, d_ff)
    # The number is no position and no sentence's number, so that `h[neuron]` and `h[:, neuron]` do not fit. It has neighbours on both sides.
    return {"z": z, "neuron": rng.integer(4, d_ff - 2), "value": round(rng.uniform(2, 4), 2), "token": rng.normal(d_ff)}


held = Exercise(
    "held",
    draw=_draw_held,
    where="“Does it do anything?”, the sentence before the exercise.",
    understood="A neuron can be silenced without touching the FFN, because the FFN takes any activation.",
    hints=(
        "Return a function. Define it inside, with `def change(z): …`, or return a lambda.",
        "Inside it: compute act(z), write the value into one neuron of it, return it. Neurons are the last dimension: [..., neuron].",
        "If act returns its input itself, writing into the result writes into the input. Take a `.clone()`.",
    ),
)


def _identity(z: torch.Tensor) -> torch.Tensor:
    return z


def _call_held(change: Any, z: torch.Tensor) -> torch.Tensor:
    if not callable(change):
        raise NotAsAsked(f"{describe_result(change)}; a function of z was expected")
    output = change(z)
    if not isinstance(output, torch.Tensor) or output.shape != z.shape:
        raise NotAsAsked(
            f"the function: {describe_result(output)}; a tensor of shape {list(z.shape)}, like z, was expected"
        )
    return output


@held.aspect("one neuron", points=2)
def held_one_neuron(answer: Any, z: torch.Tensor, neuron: int, value: float, token: torch.Tensor) -> Any:
    change = answer(F.gelu, neuron, value)
    return {"a batch": _call_held(change, z).detach().clone(), "one token": _call_held(change, token).detach().clone()}


@held.aspect("another act, and z unchanged", points=1, needs="one neuron")
def held_unchanged(answer: Any, z: torch.Tensor, neuron: int, value: float, token: torch.Tensor) -> Any:
    kept = z.clone()
    output = _call_held(answer(_identity, neuron, value), z).detach().clone()
    return {"output": output, "z": bool(torch.equal(z, kept))}
