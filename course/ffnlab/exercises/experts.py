"""Notebook 08, Mixture of Experts I: how each exercise is called, and on what inputs. No answers.

Experts are built here from the drawn numbers. They have biases, so that a weight on the way in is not a weight on the way out.
Sizes differ pairwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from ffnlab import plain
from ffnlab.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    attempt,
    described,
    question,
    send_back,
)
from ffnlab.handed import FFN, Weights, drawn_weights, ffn_of

NORMS = ("softmax_topk", "softmax_topk_renorm", "topk_softmax", "sigmoid_norm")


class Expert(FFN):
    """One expert, an FFN with ReLU, that remembers which rows it was given."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__(d_model, d_ff)
        self.seen: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(x.detach().reshape(-1, x.shape[-1]).clone())
        return super().forward(x)


def _experts(drawn: list[Weights], dtype: torch.dtype = torch.float64) -> nn.ModuleList:
    return nn.ModuleList(ffn_of(weights, dtype, Expert) for weights in drawn).eval()


def _sizes(rng: Draw) -> tuple[int, int, int, int]:
    """T, d_model, d_ff and E."""
    T = rng.integer(13, 16)
    d_model, d_ff = rng.distinct(2, 6, 11)
    return T, d_model, d_ff, rng.integer(4, 5)


def _choices(rng: Draw, T: int, E: int, k: int) -> torch.Tensor:
    """k different experts for each of T tokens, [T, k]; every expert is someone's."""
    rows: list[list[int]] = []
    for t in range(T):
        chosen = [(3 * t) % E]
        while len(chosen) < k:
            other = rng.integer(0, E - 1)
            if other not in chosen:
                chosen.append(other)
        rows.append(chosen[::-1] if rng.integer(0, 1) else chosen)
    return torch.tensor(rows)


def _positive(rng: Draw, *shape: int) -> torch.Tensor:
    """Weights from 0.2 up, none equal to another, that sum to nothing in particular."""
    return 0.2 + rng.normal(*shape).abs()


def _spread(idx: torch.Tensor, w: torch.Tensor, E: int) -> torch.Tensor:
    """Weights [T, k] of the experts idx [T, k] as gates [T, E]."""
    gates = torch.zeros(len(idx), E, dtype=w.dtype)
    for t, row in enumerate(idx.tolist()):
        for s, expert in enumerate(row):
            gates[t, expert] = w[t, s]
    return gates


def _gradients(call: Callable[..., Any], experts: nn.ModuleList, **leaves: torch.Tensor) -> dict[str, Any]:
    """Gradients of a weighted sum by each leaf, by every expert's first weight and by every expert's last bias."""
    for leaf in leaves.values():
        leaf.requires_grad_()
    send_back(call(**leaves))
    found: dict[str, Any] = {f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}
    for e, expert in enumerate(experts.children()):
        assert isinstance(expert, Expert)
        for name, parameter in (("W1", expert.linear1.weight), ("b2", expert.linear2.bias)):
            found[f"gradient of expert {e}'s {name}"] = parameter.grad
    return found


def _tokens_seen(experts: nn.ModuleList, x: torch.Tensor) -> dict[str, Any]:
    """For each expert the numbers of the rows of x [T, d_model] that it was given, in order; -1 for a row that is none of them."""
    found: dict[str, Any] = {}
    for e, expert in enumerate(experts.children()):
        assert isinstance(expert, Expert)
        rows = []
        for row in torch.cat([x[:0], *expert.seen]):
            near = (x - row).abs().amax(1)
            rows.append(int(near.argmin()) if float(near.min()) < 1e-9 else -1)
        found[f"the tokens that expert {e} was given"] = sorted(rows)
    return found


# route


def _draw_logits(rng: Draw, case: int) -> dict[str, Any]:
    """logits [T, E] and k."""
    T, E = rng.distinct(2, 7, 10)
    return {"logits": rng.normal(T, E, scale=1.5), "k": rng.integer(3, 4)}


route = Exercise(
    "route",
    draw=_draw_logits,
    where="the section “The router”.",
    understood="A router is one linear map and a choice. The four normalisations differ in what the kept weights are divided by, if by anything.",
    hints=(
        "`values, idx = logits.topk(k, dim=-1)` gives, for each token, its k largest logits and whose they are: two tensors [T, k].",
        "What is a weight in each of the four? First a number for each kept expert, [T, k]; only then the step to [T, E].",
        "From [T, k] to [T, E]: start with zeros like `logits`, and write the weights into the places `idx`. `scatter` along the last dimension does that.",
        "Softmax over all E and `gather` what idx names; the same, divided by its sum over the k; softmax of the k; sigmoid of the k, divided by their sum.",
    ),
)


def _norm_aspect(norm: str) -> None:
    @route.aspect(f"norm “{norm}”", points=1)
    def _(answer: Any, logits: Any, k: int) -> Any:
        return answer(logits, k, norm)


for _name in NORMS:
    _norm_aspect(_name)


@route.aspect("gradients", points=1)
def _(answer: Any, logits: Any, k: int) -> Any:
    def of(norm: str) -> Any:
        leaf = logits.clone().requires_grad_()
        gates = answer(leaf, k, norm)
        send_back(gates)
        return leaf.grad

    return {f"gradient of the logits, {norm}": attempt(partial(of, norm)) for norm in NORMS}


@route.aspect("other inputs", points=1)
def _(answer: Any, logits: Any, k: int) -> Any:
    E = logits.shape[1]
    inputs = {
        "T = 1": (logits[:1], k),
        "k = 1": (logits, 1),
        "k = E": (logits, E),
        "non-contiguous logits": (logits.T.contiguous().T, k),
        "float32": (logits.float(), k),
        "logits that are all negative": (logits - 20, k),
    }
    found: dict[str, Any] = {}
    kept = True
    for label, (given, n) in inputs.items():
        for norm in NORMS:
            mine = given.clone()
            found[f"{label}, {norm}"] = attempt(partial(answer, mine, n, norm))
            kept = kept and torch.equal(mine, given)
    return found | {"the logits are left as they were": kept}


# moe_reference


def _draw_dense(rng: Draw, case: int) -> dict[str, Any]:
    """x [T, d_model], gates [T, E] with zeros among them, and E experts."""
    T, d_model, d_ff, E = _sizes(rng)
    idx = _choices(rng, T, E, E - 1)
    return {
        "x": rng.normal(T, d_model),
        "gates": _spread(idx, _positive(rng, T, E - 1), E),
        "experts": [drawn_weights(rng, d_model, d_ff) for _ in range(E)],
    }


moe_reference = Exercise(
    "moe_reference",
    draw=_draw_dense,
    where="the section “All experts, all tokens”.",
    understood="A mixture of experts is a weighted sum of FFNs, token by token. All that follows computes the same with less work.",
    hints=(
        "Every expert gives one output for every token: E tensors [T, d_model].",
        "The weight of expert e for each token is the column `gates[:, e]`, [T]. To multiply the rows of [T, d_model] it has to be [T, 1].",
        "Start with zeros, loop over the experts, add the column times the output. Leave nothing out where a gate is zero: it has a gradient.",
    ),
)


@moe_reference.aspect("values", points=1.5)
def _(answer: Any, x: Any, gates: Any, experts: Any) -> Any:
    return answer(x, gates, _experts(experts))


@moe_reference.aspect("gradients", points=1)
def _(answer: Any, x: Any, gates: Any, experts: Any) -> Any:
    made = _experts(experts)
    return _gradients(lambda x, gates: answer(x, gates, made), made, x=x, gates=gates)


@moe_reference.aspect("other inputs", points=0.5)
def _(answer: Any, x: Any, gates: Any, experts: Any) -> Any:
    given = (x.clone(), gates.clone())
    functions = [lambda rows, module=module: module(rows) for module in _experts(experts)]
    E = gates.shape[1]
    found = {
        "T = 1": attempt(lambda: answer(x[:1], gates[:1], _experts(experts))),
        "T = E": attempt(lambda: answer(x[:E], gates[:E], _experts(experts))),
        "one expert": attempt(lambda: answer(x, gates[:, :1], _experts(experts[:1]))),
        "a list of functions": attempt(lambda: answer(*given, functions)),
        "everything in float32": attempt(lambda: answer(x.float(), gates.float(), _experts(experts, torch.float32))),
    }
    return found | {"x and gates are left as they were": torch.equal(given[0], x) and torch.equal(given[1], gates)}


# moe_loop


def _draw_gates(rng: Draw, case: int) -> dict[str, Any]:
    """x [T, d_model], gates [T, E] with two or three experts a token and one gate near zero, E experts, and more tokens in a batch."""
    T, d_model, d_ff, E = _sizes(rng)
    k = rng.integer(2, 3)
    A, B, S = 2, 3, 5
    gates = _spread(_choices(rng, T, E, 3), _positive(rng, T, 3), E)
    for row in gates[:3]:  # these tokens have two experts, the others three
        row[row.argmax()] = 0
    gates[4, gates[4].argmax()] = 0.001
    return {
        "x": rng.normal(T, d_model),
        "gates": gates,
        "batch": rng.normal(A, B, S, d_model),
        "batch_gates": _spread(_choices(rng, A * B * S, E, k), _positive(rng, A * B * S, k), E).reshape(A, B, S, E),
        "experts": [drawn_weights(rng, d_model, d_ff) for _ in range(E)],
    }


moe_loop = Exercise(
    "moe_loop",
    draw=_draw_gates,
    where="the section “One loop over the experts”.",
    understood="Each expert is called with its own tokens, and with no others: that is where a mixture of experts saves its work.",
    hints=(
        "Flatten first: `x.reshape(-1, d_model)` and the gates in the same way. The shape comes back at the end, with another `reshape`.",
        "For expert e, `gates[:, e] != 0` says whose it is; `torch.where` of it gives the row numbers. Take those rows of x, and call the expert once.",
        "Its outputs are [n, d_model], its weights `gates[rows, e]`, [n]. One of the two needs another dimension.",
        "Add to the rows of a result that starts as zeros, in the dtype of x: a token has more than one expert. `index_add` or `y[rows] += …`.",
    ),
)


@moe_loop.aspect("values", points=1.5)
def _(answer: Any, x: Any, gates: Any, experts: Any, **_: Any) -> Any:
    return answer(x, gates, _experts(experts))


@moe_loop.aspect("each expert sees its tokens only", points=1.5)
def _(answer: Any, x: Any, gates: Any, experts: Any, **_: Any) -> Any:
    made = _experts(experts)
    given = x.clone()
    answer(given, gates, made)
    return _tokens_seen(made, x)


@moe_loop.aspect("gradients", points=1)
def _(answer: Any, x: Any, gates: Any, experts: Any, **_: Any) -> Any:
    made = _experts(experts)
    found = _gradients(lambda x, gates: answer(x, gates, made), made, x=x, gates=gates)
    slope = found["gradient of gates"]
    if slope is not None:  # at a gate of zero nothing is asked
        found["gradient of gates"] = torch.where(gates != 0, slope, torch.zeros_like(slope))
    return found


@moe_loop.aspect("other inputs", points=1)
def _(answer: Any, x: Any, gates: Any, batch: Any, batch_gates: Any, experts: Any) -> Any:
    unused, single, nobody = gates.clone(), torch.zeros_like(gates), gates.clone()
    unused[:, 1] = 0
    unused[:, -1] = 0
    single[:, 2] = gates.sum(1)
    nobody[3] = 0
    inputs = {
        "x of shape [B, T, d_model]": (batch[0], batch_gates[0]),
        "x of shape [A, B, T, d_model]": (batch, batch_gates),
        "non-contiguous x": (batch[0].transpose(0, 1), batch_gates[0].transpose(0, 1)),
        "two experts without tokens": (x, unused),
        "all tokens at one expert": (x, single),
        "a token without an expert": (x, nobody),
        "T = 1": (x[:1], gates[:1]),
    }
    found: dict[str, Any] = {}
    kept = True
    for label, pair in inputs.items():
        mine = [part.clone() for part in pair]
        found[label] = attempt(partial(answer, *mine, _experts(experts)))
        kept = kept and all(torch.equal(one, other) for one, other in zip(mine, pair, strict=True))
    found["everything in float32"] = attempt(lambda: answer(x.float(), gates.float(), _experts(experts, torch.float32)))
    return found | {"x and gates are left as they were": kept}


# moe_sorted


def _draw_slots(rng: Draw, case: int) -> dict[str, Any]:
    """x [T, d_model], idx [T, k], w [T, k] and E experts."""
    T, d_model, d_ff, E = _sizes(rng)
    k = 3
    return {
        "x": rng.normal(T, d_model),
        "idx": _choices(rng, T, E, k),
        "w": _positive(rng, T, k),
        "few": _choices(rng, T, E - 2, 2) + torch.tensor([[1]]),  # neither expert 0 nor the last one
        "each": _choices(rng, T, E, E),
        "each_w": _positive(rng, T, E),
        "experts": [drawn_weights(rng, d_model, d_ff) for _ in range(E)],
    }


moe_sorted = Exercise(
    "moe_sorted",
    draw=_draw_slots,
    where="the section “Sort and split”.",
    understood="Sorted by expert, the slots of one expert lie side by side: one call for each, without asking every expert for a mask.",
    hints=(
        "`idx.reshape(-1)` is a list of T·k slots, token after token. Slot number n belongs to token n // k.",
        "`order = flat.argsort(stable=True)` lists the slots expert by expert. Which rows of x do they need, in this order?",
        "`torch.bincount` counts each expert's slots, if told how many experts there are. `rows.split([…])` cuts a tensor into parts of given lengths.",
        "The outputs, put together with `torch.cat`, are still in sorted order. A tensor `back` with `back[order] = 0, 1, 2, …` undoes it.",
        "Undone, they are [T·k, d_model]: view them as [T, k, d_model], weight them with w, sum over k.",
    ),
)


@moe_sorted.aspect("values", points=2)
def _(answer: Any, x: Any, idx: Any, w: Any, experts: Any, **_: Any) -> Any:
    return answer(x, idx, w, _experts(experts))


@moe_sorted.aspect("one call for each expert, with its tokens", points=1.5)
def _(answer: Any, x: Any, idx: Any, w: Any, experts: Any, **_: Any) -> Any:
    made = _experts(experts)
    answer(x.clone(), idx, w, made)
    calls = {
        f"calls of expert {e}": sum(1 for rows in expert.seen if len(rows))
        for e, expert in enumerate(made)
        if isinstance(expert, Expert)
    }
    return calls | _tokens_seen(made, x)


@moe_sorted.aspect("gradients", points=1)
def _(answer: Any, x: Any, idx: Any, w: Any, experts: Any, **_: Any) -> Any:
    made = _experts(experts)
    return _gradients(lambda x, w: answer(x, idx, w, made), made, x=x, w=w)


@moe_sorted.aspect("other inputs", points=1.5)
def _(answer: Any, x: Any, idx: Any, w: Any, few: Any, each: Any, each_w: Any, experts: Any) -> Any:
    inputs = {
        "T = 1": (x[:1], idx[:1], w[:1]),
        "k = 1": (x, idx[:, :1], w[:, :1]),
        "k = E": (x, each, each_w),
        "all tokens at one expert": (x, torch.full_like(idx[:, :1], 2), w[:, :1]),
        "experts without tokens": (x, few, w[:, :2]),
        "only expert 0 is used": (x[:2], torch.zeros_like(idx[:2, :1]), w[:2, :1]),
        "non-contiguous inputs": tuple(part.T.contiguous().T for part in (x, idx, w)),
    }
    found: dict[str, Any] = {}
    kept = True
    for label, given in inputs.items():
        mine = [part.clone() for part in given]
        found[label] = attempt(partial(answer, *mine, _experts(experts)))
        kept = kept and all_equal(mine, given)
    found["everything in float32"] = attempt(
        lambda: answer(x.float(), idx, w.float(), _experts(experts, torch.float32))
    )
    return found | {"x, idx and w are left as they were": kept}


def all_equal(some: Any, others: Any) -> bool:
    """Whether two sequences hold equal tensors."""
    return all(torch.equal(one, other) for one, other in zip(some, others, strict=True))


# moe_counts


def _draw_counts(rng: Draw, case: int) -> dict[str, Any]:
    d, f = rng.distinct(2, 20, 60)
    E = rng.integer(8, 16)
    k = rng.integer(2, 4)
    return {"d": d, "f": f, "E": E, "k": k, "L": rng.integer(5, 7), "shared": rng.integer(2, 3)}


moe_counts = Exercise(
    "moe_counts",
    draw=_draw_counts,
    where="the section “Total and active”.",
    understood="All experts have to be stored, k of them compute: the total decides how much memory, the active parameters how much work.",
    hints=(
        "A gated expert without biases has three matrices of d · f numbers.",
        "The router is one matrix, d · E. Every token runs through the whole of it.",
        "A shared expert is as large as the others. Every token uses it, so it counts in both numbers.",
        "All of it is there L times.",
    ),
)


def _pair(found: Any) -> tuple[Any, Any]:
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise NotAsAsked(f"{described(found)} instead of a pair (total, active)")
    return found[0], found[1]


@moe_counts.aspect("total", points=1.5)
def _(answer: Any, d: int, f: int, E: int, k: int, **_: Any) -> Any:
    return {
        "one layer": _pair(answer(d, f, E, k))[0],
        "experts of a Mixtral layer": _pair(answer(4096, 14336, 8, 2))[0],
    }


@moe_counts.aspect("active", points=1.5)
def _(answer: Any, d: int, f: int, E: int, k: int, **_: Any) -> Any:
    return {
        "one layer": _pair(answer(d, f, E, k))[1],
        "k = E": _pair(answer(d, f, E, E))[1],
        "experts of a Mixtral layer": _pair(answer(4096, 14336, 8, 2))[1],
    }


@moe_counts.aspect("layers and shared experts", points=1)
def _(answer: Any, d: int, f: int, E: int, k: int, L: int, shared: int) -> Any:
    return {
        "L layers": list(_pair(answer(d, f, E, k, L))),
        "shared experts": list(_pair(answer(d, f, E, k, shared=shared))),
        "both": list(_pair(answer(d, f, E, k, L, shared))),
    }


# router_gradient

router_gradient = Exercise(
    "router_gradient",
    cases=1,
    where="the section “Who gets a gradient?”.",
    understood="The choice itself has no gradient. The router learns through the weight of what it chose; with k = 1, renormalised, that weight is always 1.",
    hints=(
        "Seed first. Then make x, a router (a linear map to at least four experts), the experts, and a target for the loss.",
        "The weights: softmax over all experts, the k largest; for 'renorm' divided by their sum over the k.",
        "The output is the weighted sum of the chosen experts' outputs. Any loss that depends on it will do.",
        "After `loss.backward()`, look at the gradient of the router's weight: its largest absolute entry, as a float.",
    ),
)

ASKED = tuple((norm, k) for norm in ("renorm", "none") for k in (1, 2, 3))


class _Backward(TorchFunctionMode):
    """Notices whether a gradient is computed, whoever asks for it, and measures each gradient that is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.computed = False
        self.read: list[dict[str, Any]] = []
        self._biases: list[Any] = []
        self._scores: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        self.computed = self.computed or name in ("backward", "grad")
        result = func(*args, **kwargs)
        if name == "linear":
            self._biases += [*args[2:3], *([kwargs["bias"]] if "bias" in kwargs else [])]
        elif name in ("softmax", "topk"):
            self._scores += args[:1]
        elif func == torch.Tensor.grad.__get__:  # type: ignore[union-attr]
            self._measure(args[0], result)
        elif func is torch.autograd.grad:
            inputs = kwargs.get("inputs", args[1] if len(args) > 1 else ())
            for leaf, slope in zip([inputs] if isinstance(inputs, torch.Tensor) else inputs, result, strict=False):
                self._measure(leaf, slope)
        return result

    def _measure(self, leaf: Any, slope: Any) -> None:
        """The gradient's largest entry, and what may be taken for it."""
        if not isinstance(slope, torch.Tensor) or not slope.numel() or len(self.read) == 100:
            return
        slope = slope.detach().double()
        size = slope.abs()
        between = not leaf.is_leaf or any(leaf is scores for scores in self._scores)
        self.read.append(
            {
                "of": "a bias" if any(leaf is bias for bias in self._biases) else "logits" if between else "a weight",
                "largest": size.max().item(),
                "norm": slope.norm().item(),
                "sum or mean": [part.item() for part in (size.sum(), size.mean(), slope.sum(), slope.mean())],
                "signed": slope.max().item(),
            }
        )


def _size(said: Any) -> str:
    """A gradient's size in a word."""
    size = _number(said)
    if size != size:
        return "not a number"
    if size < 0:
        return "negative"
    return "zero" if size < 1e-5 else "not zero" if size > 1e-4 else "neither zero nor clearly above it"


def _number(said: Any) -> float:
    """The number that an answer gave, as a float or as a tensor with nothing else in it."""
    if isinstance(said, torch.Tensor) and said.ndim == 0:
        said = said.item()
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        raise NotAsAsked(f"{described(None) if said is None else plain.describe(said)} instead of a float")
    return float(said)


def _sizes_of(seen: Any) -> dict[str, str]:
    return {name: _size(value) for name, value in seen.items()}


@router_gradient.aspect("k = 1", points=1, facts=_sizes_of)
def _(answer: Any) -> Any:
    return {f"{norm}, k = {k}": answer(norm, k) for norm, k in ASKED if k == 1}


@router_gradient.aspect("k = 2 and k = 3", points=0.5, facts=_sizes_of)
def _(answer: Any) -> Any:
    return {f"{norm}, k = {k}": answer(norm, k) for norm, k in ASKED if k > 1}


LARGEST = "the largest absolute entry"


def _taken(value: float, read: list[dict[str, Any]]) -> str:
    """Which number of the gradients that were looked at came back. What is none of those that are often mistaken for it is taken as asked."""

    def close(other: float) -> bool:
        return abs(value - other) <= 1e-5 * abs(other)

    weights = [slope for slope in read if slope["of"] == "a weight"]
    if abs(value) < 1e-5 or any(close(slope["largest"]) for slope in weights):
        return LARGEST
    for slope in read:
        if slope not in weights and close(slope["largest"]):
            return f"the gradient of {slope['of']}"
    for slope in weights:
        if close(slope["norm"]):
            return "the norm"
        if any(map(close, slope["sum or mean"])):
            return "a sum or mean"
        if close(slope["signed"]):
            return "the largest entry with its sign"
    return LARGEST


def _steady(seen: Any) -> dict[str, Any]:
    pairs = [(_number(one), _number(other)) for one, other in seen["twice"].values()]
    taken = {_taken(_number(value), read) for value, read in seen["looked at"].values()}
    return {
        "it is computed with a backward pass": seen["computed"],
        "the same comes out when it is called again": all(
            abs(one - other) <= 1e-6 * max(1.0, abs(one)) for one, other in pairs
        ),
        "other cases have gradients of other sizes": len({round(one, 9) for one, _ in pairs}) == len(pairs),
        "what came back": min(taken - {LARGEST}, default=LARGEST),
    }


@router_gradient.aspect("largest entry, computed, the same each time", points=0.5, facts=_steady)
def _(answer: Any) -> Any:
    twice: dict[str, Any] = {}
    with _Backward() as mode:
        for norm, k in (("renorm", 2), ("none", 1)):
            torch.manual_seed(1)
            first = answer(norm, k)
            torch.manual_seed(2)
            twice[f"{norm}, k = {k}"] = (first, answer(norm, k))
    looked_at: dict[str, Any] = {}
    for norm, k in ASKED:
        with _Backward() as single:
            value = answer(norm, k)
        looked_at[f"{norm}, k = {k}"] = (value, single.read)
    return {"computed": mode.computed, "twice": twice, "looked at": looked_at}


# Questions. Their texts stand in the notebook.

quiz_same = question(
    "quiz_same",
    where="the section “The router”.",
    understood="Dividing by the sum over the kept cancels what the others had contributed: it is the softmax of the kept logits.",
)

quiz_zeros = question(
    "quiz_zeros",
    where="the section “The router”.",
    understood="exp(0) is 1, not 0. What shall get no weight needs the logit −∞.",
)

quiz_active = question(
    "quiz_active",
    where="the section “Total and active”.",
    understood="The active parameters decide how much is computed for a token, the total how much has to be stored.",
)
