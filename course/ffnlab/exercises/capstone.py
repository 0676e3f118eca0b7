"""Notebook 10, the capstone: how `Block` is called, and what is looked at. No answers.

A block is judged by what it does: its parts may have any name. To look inside without names, the probes turn the learned gains of
its norms (the vectors of d_model numbers that start at one) down to zero, one after the other, and see what stops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from ffnlab.exercise import Draw, Exercise, NotAsAsked, attempt, described, question, raised, send_back

KINDS = ("none", "relu", "swiglu", "moe")
WITH_FFN = KINDS[1:]
LARGE = 1000.0


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """x [B, T, d_model] with n_heads heads; no two sizes are equal, and d_model has a number that does not divide it."""
    n_heads, head_dim = rng.one_of([(3, 4), (4, 3), (3, 6), (2, 7), (7, 2)])
    d_model = n_heads * head_dim
    B, T = rng.distinct(2, 5, 6)
    return {
        "x": rng.normal(B, T, d_model, dtype=torch.float32),
        "n_heads": n_heads,
        "d_ff": rng.integer(20, 26),
        "seed": rng.integer(1, 10_000),
    }


Block = Exercise(
    "Block",
    cases=1,  # each looks at four blocks from many sides
    draw=_draw,
    where="section 1, “One block”: its two formulas, and the exercise's points.",
    understood=(
        "One block, four kinds: both sub-layers read a norm of their own, both add to a path that nothing else touches, "
        "and the mixture's second loss gets out with its gradient."
    ),
    hints=(
        "Two lines carry the block: z = x + attention(norm1(x)), and out = z + ffn(norm2(z)). For 'none', stop after the first.",
        "Heads: reshape to [B, T, n_heads, head_dim], swap the two in the middle, attend, swap back. "
        "Or let `nn.MultiheadAttention(d_model, n_heads, batch_first=True)` do it.",
        "Causal: `torch.ones(T, T, dtype=torch.bool).triu(1)` is True where a token would see a later one. T may differ from call to call, "
        "so the mask is made in `forward`. `F.scaled_dot_product_attention(q, k, v, is_causal=True)` brings it along.",
        "`MoE` returns two things. In `forward`, keep the second one as `self.aux_loss`, as it is, each time anew; only the first joins the sum.",
        'Check the arguments first: `if kind not in ("none", "relu", "swiglu", "moe"): raise ValueError(...)`, and another for '
        "`d_model % n_heads`. `nn.MultiheadAttention` by itself raises an AssertionError there.",
    ),
)


# What the probes share.


def _is_vector(parameter: torch.Tensor) -> bool:
    """Whether all numbers lie along one dimension: [d], and [1, 1, d] as well."""
    return parameter.numel() == parameter.shape[-1] if parameter.ndim else True


def _made(
    answer: Any, kind: str, x: torch.Tensor, n_heads: int, d_ff: int, seed: int, shaken: str = "all"
) -> nn.Module:
    """A student's block in eval mode, its weights moved as training would: matrices only, or vectors as well.

    Where weights start at zero, on purpose or not, nothing could be seen.
    """
    torch.manual_seed(seed)
    block = answer(kind, x.shape[-1], n_heads, d_ff)
    if not isinstance(block, nn.Module):
        raise NotAsAsked("what the class makes is not an nn.Module; its first line should name nn.Module in brackets")
    if next(block.parameters(), None) is None:
        raise NotAsAsked("the module has no parameters at all: parts in a plain list or dict are not registered")
    block.eval()
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in block.parameters():
            if not _is_vector(parameter):
                parameter.add_(0.7 * torch.randn(parameter.shape, generator=noise) / parameter.shape[-1] ** 0.5)
            elif shaken == "all":
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=noise))
    return block


def _out(block: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """The output, of the shape of x."""
    output = block(x)
    if isinstance(output, tuple):
        raise NotAsAsked("forward returns a tuple; the output alone is asked for, a tensor [B, T, d_model]")
    if not isinstance(output, torch.Tensor):
        raise NotAsAsked(f"{described(output)} instead of a tensor")
    if output.shape != x.shape:
        raise NotAsAsked(f"x of shape {list(x.shape)} came back with shape {list(output.shape)}")
    return output


def _gains(answer: Any, kind: str, *sizes: Any) -> list[str]:
    """The names of the vectors of d_model numbers that start at one: what norms multiply with."""
    x, n_heads, d_ff, _ = sizes
    fresh = answer(kind, x.shape[-1], n_heads, d_ff)
    if not isinstance(fresh, nn.Module):
        raise NotAsAsked("what the class makes is not an nn.Module; its first line should name nn.Module in brackets")
    named = fresh.named_parameters()
    return [name for name, p in named if p.shape[-1:] == x.shape[-1:] and _is_vector(p) and bool((p == 1).all())]


def _with(block: nn.Module, name: str, factor: float, call: Callable[[], Any]) -> Any:
    """What `call` returns while the parameter `name` is multiplied by `factor`."""
    parameter = dict(block.named_parameters())[name]
    kept = parameter.detach().clone()
    with torch.no_grad():
        parameter.mul_(factor)
    try:
        return call()
    finally:
        with torch.no_grad():
            parameter.copy_(kept)


def _mixing(block: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """How the last token's change, block(x) - x, answers to another first token: [B, d_model]."""
    other = x.clone()
    other[:, 0] = x[:, 0].flip(-1)
    return ((_out(block, other) - other) - (_out(block, x) - x))[:, -1]


def _each(kinds: tuple[str, ...], look: Callable[[str], Any]) -> dict[str, Any]:
    with torch.no_grad():
        return {f"'{kind}'": attempt(partial(look, kind)) for kind in kinds}


def _facts_of_each(facts: Callable[[str, Any], dict[str, Any]]) -> Callable[[Any], Any]:
    """Facts kind by kind; what raised stays an exception."""

    def of(seen: Any) -> dict[str, Any]:
        return {
            label: facts(label.strip("'"), value) if isinstance(value, dict) else value for label, value in seen.items()
        }

    return of


def _size(tensor: torch.Tensor) -> float:
    return float(tensor.abs().max())


# Which token sees which.


def _attention_facts(kind: str, seen: Any) -> dict[str, Any]:
    size = max(_size(seen["out"]), 1e-3)
    sees = seen["effect"] > 1e-5 * size  # [T, T]: row t, column s
    T = len(sees)
    earlier = torch.ones(T, T, dtype=torch.bool).tril(-1)
    found = {
        "all numbers are finite": bool(seen["out"].isfinite().all()),
        "no token sees a later one": not bool((sees & earlier.T).any()),
        "every token sees all tokens before it": bool(sees[earlier].all()),
        "no sentence sees another": float(seen["other sentences"]) <= 1e-5 * size,
    }
    if kind == "none":
        found["a token alone attends to itself"] = float(seen["alone"]) > 1e-3
        found["the order of earlier tokens does not count"] = float(seen["order"]) <= 1e-4 * size
        found["one head mixes all numbers of a token alike"] = float(seen["one head"]) < 1e-2
        found["several heads mix them differently"] = float(seen["heads"]) > 1e-2
    return found


def _spread(block: nn.Module, x: torch.Tensor) -> float:
    """How far attention's answer for a pair of tokens lies off the line between its answers for each alone: 0 for one head."""
    first, second = x[:, :1], x[:, 1:2]
    alone = [_out(block, token) - token for token in (first, second)]
    pair = torch.cat([first, second], 1)
    both = (_out(block, pair) - pair)[:, 1:]
    line, step = alone[0] - alone[1], both - alone[1]
    along = (step * line).sum(-1, keepdim=True) / (line * line).sum(-1, keepdim=True)
    return float(((step - along * line).norm(dim=-1) / line.norm(dim=-1)).amax())


@Block.aspect("causal attention", points=1.25, facts=_facts_of_each(_attention_facts))
def _(answer: Any, x: Any, n_heads: int, d_ff: int, seed: int) -> Any:
    sizes = (x, n_heads, d_ff, seed)

    def look(kind: str) -> Any:
        block = _made(answer, kind, *sizes)
        out = _out(block, x).clone()
        effects = []
        for s in range(x.shape[1]):
            other = x.clone()
            other[0, s] = -x[0, s].flip(-1)
            effects.append((_out(block, other) - out).abs())
        effect = torch.stack(effects)  # [s, B, t, d]
        found = {"out": out, "effect": effect[:, 0].amax(-1).T, "other sentences": _size(effect[:, 1:])}
        if kind == "none":
            found["one head"] = _spread(_made(answer, kind, x, 1, d_ff, seed), x)
            found["heads"] = _spread(block, x)
            found["alone"] = _size((_out(block, x[:, :1]) - x[:, :1]) - (_out(block, x[:, 1:2]) - x[:, 1:2]))
            order = [*reversed(range(x.shape[1] - 1)), x.shape[1] - 1]
            found["order"] = _size(_out(block, x[:, order])[:, -1] - out[:, -1])
        return found

    return _each(KINDS, look)


# Residuals and norms.


def _path_facts(kind: str, seen: Any) -> dict[str, Any]:
    x, out = seen["x"], {float(scale): value for scale, value in seen["out"].items()}
    far, farther = out[LARGE] - LARGE * x, out[2 * LARGE] - 2 * LARGE * x
    slope = float(((out[2 * LARGE] - out[LARGE]) * x).sum() / (LARGE * x * x).sum())
    alike = torch.cosine_similarity(out[LARGE].flatten(), x.flatten(), 0)
    room = 0.1 * (1 + _size(far))
    found = {
        "x itself can be seen in the output": float(alike) > 0.3,
        "x itself arrives once": abs(slope - 1) < 0.02,
        "a larger x gives another output": _size(out[100.0] - out[1.0]) > 1e-2 * _size(out[1.0]),
        "what is added to a large x is not large": _size(farther - far) < room,
        "attention is added to x beside the FFN": seen["far mixing"] > 0.02,
    }
    mixing, gains = seen["mixing"], seen["gains"]
    size = max(_size(mixing), 1e-6)
    stops = [_size(gain["mixing"]) < 1e-3 * size for gain in gains]
    rest = [gain for gain, stop in zip(gains, stops, strict=True) if not stop and gain["matters"] > 1e-3]
    found["a norm of its own, with a gain, stands before attention"] = any(stops)
    if kind == "none":
        found["attention reads the direction of x only"] = _size(out[100.0] - 100 * x - far) < room
        return found
    found["another norm, with a gain of its own, belongs to the FFN"] = bool(rest)
    found["the FFN reads what attention has written"] = any(_size(g["mixing"] - mixing) > 1e-3 * size for g in rest)
    found["its norm stands before the FFN"] = any(gain["bend"] > 1e-3 for gain in rest)
    return found


@Block.aspect("residual paths and norms", points=1.5, facts=_facts_of_each(_path_facts))
def _(answer: Any, x: Any, n_heads: int, d_ff: int, seed: int) -> Any:
    sizes = (x, n_heads, d_ff, seed)

    def look(kind: str) -> Any:
        names = _gains(answer, kind, *sizes)
        block = _made(answer, kind, *sizes)
        mixing = _mixing(block, x)
        gains = []
        for name in names:
            by_factor = [_with(block, name, factor, lambda: _out(block, x).clone()) for factor in (0.0, 1.0, 2.0)]
            gains.append(
                {
                    "mixing": _with(block, name, 0.0, lambda: _mixing(block, x)),
                    "matters": _size(by_factor[1] - by_factor[0]),
                    "bend": _size(by_factor[2] - 2 * by_factor[1] + by_factor[0]),
                }
            )
        return {
            "x": x,
            "out": {str(scale): _out(block, scale * x).clone() for scale in (1.0, 100.0, LARGE, 2 * LARGE)},
            "mixing": mixing,
            "far mixing": _size(_mixing(block, LARGE * x)),
            "gains": gains,
        }

    return _each(KINDS, look)


# The four kinds, told apart by what the FFN makes of a vector s·n, for a fixed n and growing s.


class _Calls(TorchFunctionMode):
    """The names of the functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(getattr(func, "__name__", "").strip("_"))
        return func(*args, **(kwargs or {}))


def _share_of_straight(values: torch.Tensor) -> float:
    """In how many places three neighbours [n, ..., d] lie on a line."""
    second = values[2:] - 2 * values[1:-1] + values[:-2]
    straight = second.abs().amax(-1) < 2e-5 * (1 + values.abs().amax())
    return float(straight.double().mean())


BEHIND = "an FFN stands behind a norm of its own"
FOUND = "an optimiser finds its weights"
NO_MORE = "it holds no weights that it does not use"
WHAT_IT_IS = {
    "none": ("no FFN", "attention uses all its square matrices", FOUND, NO_MORE),
    "relu": (
        BEHIND,
        FOUND,
        "the FFN bends",
        "it grows like its input",
        "attention does not read what it has written",
        "it is made of straight pieces",
        "it can write numbers below zero",
        NO_MORE,
    ),
    "swiglu": (
        BEHIND,
        FOUND,
        "the FFN bends",
        "it grows like the square of its input",
        "the gate bends",
        "the gate is smooth",
        "it is not made of straight pieces",
        "the gate is a SiLU",
        NO_MORE,
    ),
    "moe": (BEHIND, FOUND, "the FFN bends", "a token leaves experts out"),
}


def _kind_facts(kind: str, seen: Any) -> dict[str, Any]:
    d_model = int(seen["d_model"])
    unused = int(seen["unused numbers"]) <= 2 * d_model
    if kind == "none":
        registered = int(seen["numbers"]) > d_model * d_model  # more than what joins the heads
        none = (int(seen["norms"]) == 0, int(seen["unused squares"]) == 0, registered, unused)
        return dict(zip(WHAT_IT_IS[kind], none, strict=True))
    if "ray" not in seen:
        return {name: unused if name == NO_MORE else False for name in WHAT_IT_IS[kind]}
    registered = int(seen["numbers"]) > int(seen["numbers without FFN"])
    negative, positive = seen["negative"], seen["positive"]
    growth = float((seen["farther"].norm() / seen["far"].norm().clamp(min=1e-9)).log2())
    bends = _size(negative + positive) > 1e-3 * _size(positive)
    found: tuple[bool, ...]
    if kind == "relu":
        straight, alone = (_share_of_straight(seen[ray]) > 0.15 for ray in ("ray", "ray without attention"))
        below = float(seen["far"].min()) < -0.01 * _size(seen["far"])
        last = straight or not alone  # a norm behind the FFN, before attention, would bend the pieces
        found = (True, registered, bends, abs(growth - 1) < 0.1, last, straight, below, unused)
    elif kind == "swiglu":
        gate = _size(negative - positive) > 1e-3 * _size(positive)
        pieces = _share_of_straight(seen["ray"]) > 0.15
        silu = not {"gelu", "erf"} & set(seen["calls"])
        curved = float(seen["cubic"]) > 1e-3
        found = (True, registered, bends, abs(growth - 2) < 0.1, gate, curved, not pieces, silu, unused)
    else:
        found = (True, registered, bends, int(seen["left out"]) > 0 or bool(seen["jumps"]))
    return dict(zip(WHAT_IT_IS[kind], found, strict=True))


def _pieces(block: nn.Module) -> list[torch.Tensor | None]:
    """Gradients of matrices; of stacked ones, one by one."""
    found: list[torch.Tensor | None] = []
    for parameter in block.parameters():
        if _is_vector(parameter):
            continue
        if parameter.ndim == 3:
            found += [None] * len(parameter) if parameter.grad is None else list(parameter.grad)
        elif parameter.ndim == 2:
            found.append(parameter.grad)
    return found


def _reached(block: nn.Module, x: torch.Tensor) -> list[bool]:
    block.zero_grad(set_to_none=True)
    with torch.enable_grad():
        send_back(_out(block, x))
    return [piece is not None and bool(piece.any()) for piece in _pieces(block)]


def _jumps(block: nn.Module, tokens: torch.Tensor) -> bool:
    """Whether the output jumps somewhere on the straight ways from token to token [N, 1, d_model], as where another expert is chosen.

    On each way the largest of 100 steps is made again in 100 steps: what is continuous then moves by little at a time.
    """
    start, end, sizes = tokens[:-1], tokens[1:], []
    parts = torch.linspace(0, 1, 101)[:, None, None, None]
    each = torch.arange(len(start))
    for _ in range(2):
        way = torch.lerp(start, end, parts)  # [101, N - 1, 1, d_model]
        out = _out(block, way.flatten(0, 1)).reshape(way.shape)
        steps = (out[1:] - out[:-1]).norm(dim=-1)[..., 0]  # [100, N - 1]
        largest = steps.argmax(0)
        sizes.append(steps[largest, each])
        start, end = way[largest, each], way[largest + 1, each]
    return bool((sizes[1] > 0.5 * sizes[0]).any())


@Block.aspect("the four kinds", points=1, facts=_facts_of_each(_kind_facts))
def _(answer: Any, x: Any, n_heads: int, d_ff: int, seed: int) -> Any:
    sizes = (x, n_heads, d_ff, seed)

    def look(kind: str) -> Any:
        names = _gains(answer, kind, *sizes)
        block = _made(answer, kind, *sizes, shaken="matrices")
        size = _size(_mixing(block, x))
        second = [name for name in names if _size(_with(block, name, 0.0, lambda: _mixing(block, x))) > 1e-3 * size]
        second = [
            name for name in second if _size(_with(block, name, 0.0, lambda: _out(block, x)) - _out(block, x)) > 1e-4
        ]
        matrices = [p for p in block.parameters() if not _is_vector(p)]
        found: dict[str, Any] = {"norms": len(second), "d_model": x.shape[-1]}
        found["numbers"] = sum(p.numel() for p in matrices)
        _reached(block, x)
        found["unused numbers"] = sum(p.numel() for p in block.parameters() if p.grad is None)
        square = (x.shape[-1], x.shape[-1])
        found["unused squares"] = sum(p.grad is None and p.shape == square for p in matrices)
        if kind == "none" or not second:
            return found
        without = answer("none", x.shape[-1], n_heads, d_ff)
        found["numbers without FFN"] = sum(p.numel() for p in without.parameters() if not _is_vector(p))
        name = second[-1]
        first = [name for name in names if name not in second]
        still = _with(block, name, 0.0, lambda: _out(block, x).clone())

        def ray(s: float) -> torch.Tensor:
            return torch.as_tensor(_with(block, name, s, lambda: _out(block, x).clone()) - still)

        cubic = torch.stack([ray(0.2 * n) for n in range(1, 9)])
        third = cubic[3:] - 3 * cubic[2:-1] + 3 * cubic[1:-2] - cubic[:-3]
        with _Calls() as calls:
            _out(block, x)
        many = torch.cat([x.flatten(0, 1), x.flatten(0, 1).flip(-1)])[:, None]  # [N, 1, d_model]
        one, all_of = _reached(block, many[:1]), _reached(block, many)

        def rays() -> torch.Tensor:
            return torch.stack([ray(1.0 + 0.2 * n) for n in range(12)])

        return found | {
            "ray": rays(),
            "ray without attention": _with(block, first[0], 0.0, rays) if first else rays(),
            "jumps": kind == "moe" and _jumps(block, many),
            "cubic": _size(third) / max(_size(cubic), 1e-9),
            "far": ray(1000.0),
            "farther": ray(2000.0),
            "positive": ray(1.5),
            "negative": ray(-1.5),
            "calls": sorted(calls.names & {"gelu", "erf", "silu", "sigmoid", "relu", "tanh"}),
            "left out": sum(later and not now for now, later in zip(one, all_of, strict=True)),
        }

    return _each(KINDS, look)


# The mixture's second loss.


def _balance_facts(seen: Any) -> dict[str, Any]:
    losses = seen["losses"]
    numbers = [float(loss) if isinstance(loss, torch.Tensor) and loss.numel() == 1 else float("nan") for loss in losses]
    return {
        "aux_loss is a tensor with a single number": all(
            isinstance(n, torch.Tensor) and n.numel() == 1 for n in losses
        ),
        "aux_loss is finite": all(abs(n) < 1e6 for n in numbers),
        "another x gives another aux_loss": abs(numbers[0] - numbers[1]) > 1e-6,
        "it belongs to the last call alone": abs(numbers[0] - numbers[2]) < 1e-4,
        "a gradient of aux_loss reaches the weights": seen["reached"] > 0,
        "a gradient of aux_loss reaches x": bool(seen["x reached"]),
        "no coefficient is in it: for a single token it is 1 or more": numbers[3] > 1 - 1e-4,
        "the output is that of a single mixture": bool(seen["output repeats"]),
    }


@Block.aspect("the balance loss", points=0.75, facts=_balance_facts)
def _(answer: Any, x: Any, n_heads: int, d_ff: int, seed: int) -> Any:
    block = _made(answer, "moe", x, n_heads, d_ff, seed)
    given = x.clone().requires_grad_()
    losses, outputs = [], []
    for tokens in (given, 2 * x.flip(-1), given, x[:1, :1]):
        outputs.append(_out(block, tokens))
        if not hasattr(block, "aux_loss"):
            raise NotAsAsked("after a call, the block of kind 'moe' has no attribute aux_loss")
        losses.append(block.aux_loss)
    reached, x_reached = 0, False
    if isinstance(losses[2], torch.Tensor) and losses[2].numel() == 1 and losses[2].requires_grad:
        (losses[2].sum() + 0 * outputs[2].sum()).backward()  # type: ignore[no-untyped-call]
        reached = sum(p.grad is not None and bool(p.grad.abs().max() > 1e-9) for p in block.parameters())
        x_reached = given.grad is not None and bool(given.grad.any())
    return {
        "losses": losses,
        "reached": reached,
        "x reached": x_reached,
        "output repeats": torch.allclose(outputs[0], outputs[2], atol=1e-5),
    }


# Other inputs, and arguments that are refused.


@Block.aspect("any number of tokens", points=0.25)
def _(answer: Any, x: Any, n_heads: int, d_ff: int, seed: int) -> Any:
    sizes = (x, n_heads, d_ff, seed)
    inputs = {
        "a single token": x[:1, :1],
        "70 tokens": torch.cos(torch.arange(70 * x.shape[-1]).float()).reshape(1, 70, -1),
        "non-contiguous x": x.transpose(0, 1).contiguous().transpose(0, 1),
    }

    def finite(block: nn.Module, given: torch.Tensor) -> bool:
        return bool(_out(block, given).isfinite().all())

    def look(kind: str) -> Any:
        block = _made(answer, kind, *sizes)
        found: dict[str, Any] = {}
        for label, given in inputs.items():
            found[f"{label}: finite, of the same shape"] = attempt(partial(finite, block, given))
        given = x.clone()
        evaluated = _out(block, given).clone()
        found["x is left as it was"] = torch.equal(given, x)
        found["training mode gives the same output"] = torch.allclose(
            _out(block.train(), x.clone()), evaluated, atol=1e-4
        )
        with torch.enable_grad():
            leaf = (10 * LARGE * x).requires_grad_()
            send_back(_out(block, leaf))
        straight = torch.cos(torch.arange(x.numel(), dtype=x.dtype)).reshape(x.shape)  # the weights of the sum
        found["the gradient of x passes beside the sub-layers"] = (
            leaf.grad is not None and _size(leaf.grad - straight) < 0.3
        )
        return found

    return _each(KINDS, look)


@Block.aspect("wrong arguments", points=0.25)
def _(answer: Any, x: Any, n_heads: int, d_ff: int, seed: int) -> Any:
    d_model = x.shape[-1]
    odd = next(n for n in (5, 4) if d_model % n)
    return {
        "making kind 'gelu' raises": raised(lambda: answer("gelu", d_model, n_heads, d_ff)),
        "making kind 'ReLU' raises": raised(lambda: answer("ReLU", d_model, n_heads, d_ff)),
        "making kind None raises": raised(lambda: answer(None, d_model, n_heads, d_ff)),
        f"making d_model = {d_model} with n_heads = {odd} raises": raised(lambda: answer("none", d_model, odd, d_ff)),
    }


# Questions. Their texts stand in the notebook.

quiz_removed = question(
    "quiz_removed",
    where="the section “What if we removed the FFN?”.",
    understood="Attention and the residual path are still there; what is lost is cheap room for what each token looks up.",
)

quiz_equal = question(
    "quiz_equal",
    where="the section “Equal what?”.",
    understood="Total parameters fill the memory, active ones do the work: a mixture is the only kind in which the two differ.",
)

quiz_seeds = question(
    "quiz_seeds",
    where="the section “What the experiment can't show”.",
    understood="A difference counts when it is large beside the spread over seeds, and it counts for what was measured, nothing else.",
)
