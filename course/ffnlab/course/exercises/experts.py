"""Notebook 08, You are the router: how each exercise is called, and on what inputs. No answers.

Experts are built here from the drawn numbers. They have biases, so that a weight on the way in is not a weight on the way out.
Sizes differ pairwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from ffnlab.course.counterexample import counterexample, numbers, rows_of_numbers
from ffnlab.course.ffn_probes import TwoLayerFFN, Weights, draw_weights, make_ffn
from ffnlab.observation import plain_data
from ffnlab.observation.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    backpropagate,
    describe_result,
    observe_call,
    quiz,
)
from ffnlab.observation.plain_data import Failure

NOTEBOOK = "08_experts"

NORMS = ("softmax_topk", "softmax_topk_renorm", "topk_softmax", "sigmoid_norm")


class Expert(TwoLayerFFN):
    """One expert, an FFN with ReLU, that remembers which rows it was given."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__(d_model, d_ff)
        self.inputs: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.inputs.append(x.detach().reshape(-1, x.shape[-1]).clone())
        return super().forward(x)


def _experts(weight_sets: list[Weights], dtype: torch.dtype = torch.float64) -> nn.ModuleList:
    return nn.ModuleList(make_ffn(weights, dtype, Expert) for weights in weight_sets).eval()


def _sizes(rng: Draw) -> tuple[int, int, int, int]:
    """T, d_model, d_ff and E."""
    T = rng.integer(9, 12)
    d_model, d_ff = rng.distinct(2, 6, 8)
    return T, d_model, d_ff, rng.integer(4, 5)


def _choices(rng: Draw, T: int, E: int, k: int) -> torch.Tensor:
    """k different experts for each of T tokens, [T, k]; every expert is someone's."""
    rows: list[list[int]] = []
    for t in range(T):
        row = [(3 * t) % E]
        while len(row) < k:
            other = rng.integer(0, E - 1)
            if other not in row:
                row.append(other)
        rows.append(row[::-1] if rng.integer(0, 1) else row)
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
    backpropagate(call(**leaves))
    gradients: dict[str, Any] = {f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}
    for e, expert in enumerate(experts.children()):
        assert isinstance(expert, Expert)
        for name, parameter in (("W1", expert.linear1.weight), ("b2", expert.linear2.bias)):
            gradients[f"gradient of expert {e}'s {name}"] = parameter.grad
    return gradients


def _list_expert_tokens(experts: nn.ModuleList, x: torch.Tensor) -> dict[str, Any]:
    """For each expert the numbers of the rows of x [T, d_model] that it was given, in order; -1 for a row that is none of them."""
    tokens: dict[str, Any] = {}
    for e, expert in enumerate(experts.children()):
        assert isinstance(expert, Expert)
        rows = []
        for row in torch.cat([x[:0], *expert.inputs]):
            near = (x - row).abs().amax(1)
            rows.append(int(near.argmin()) if float(near.min()) < 1e-9 else -1)
        tokens[f"the tokens that expert {e} was given"] = sorted(rows)
    return tokens


# every_pair

LOOKED_AT = 500  # tokens, of those that come back
FEW = 4  # numbers of a token with which it can be done, for any number of experts
AHEAD = 1e-6  # how far the second expert is before the third, as a share of the largest logit: rounding does not decide


def _draw_numbers_of_experts(rng: Draw, case: int) -> dict[str, Any]:
    """The notebook's, an odd and an even one."""
    return {"experts": [8, 7 + 2 * rng.integer(1, 2), 10 + 2 * rng.integer(0, 1)]}


every_pair = Exercise(
    "every_pair",
    draw=_draw_numbers_of_experts,
    where="the section “Two experts for a token”.",
    understood="Four numbers are enough for any number of experts: the polynomial −((t − i)(t − j))² is highest at i and at j, and it has four coefficients "
    "besides its constant.",
    hints=(
        "With arrows (t, t²) a token's curve has a single top, so its two largest logits are side by side. Let the arrows go on: (t, t², t³, …).",
        "Which polynomial is highest at t = i and at t = j, and lower at all others? Begin with one that is 0 at i and j, and below 0 elsewhere.",
        "(t − i)(t − j) is 0 at i and j, and its square is never below 0. Multiply the square out. The constant adds the same to all logits: leave it out.",
    ),
)


class _Pairs:
    """A router [d, E] with tokens [n, d], and which pairs the tokens choose.

    Raises:
        NotAsAsked: it is something else.
    """

    def __init__(self, answer: Any, E: int) -> None:
        if isinstance(answer, Failure):
            raise NotAsAsked(answer.message)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise NotAsAsked(f"{describe_result(answer)}; the pair (router, tokens) was expected")
        parts = dict(zip(("router", "tokens"), answer, strict=True))
        for name, part in parts.items():
            if not isinstance(part, torch.Tensor) or part.dim() != 2 or not part.double().isfinite().all():
                raise NotAsAsked(f"{name}: {plain_data.describe(part)} instead of a matrix of finite numbers")
        router, tokens = (part.double() for part in parts.values())
        self.d = len(router)
        if router.shape[1] != E:
            raise NotAsAsked(
                f"for {E} experts the router is {list(router.shape)}; [d, {E}] was expected, a column for each expert"
            )
        if tokens.shape[1] != self.d or not len(tokens):
            raise NotAsAsked(
                f"the tokens are {list(tokens.shape)}; [n, {self.d}] fits this router, a row for each token"
            )
        self.E = E
        logits = tokens @ router  # [n, E]
        top, experts = logits.topk(3, dim=-1)
        is_clear = top[:, 1] - top[:, 2] > AHEAD * logits.abs().amax(-1)
        self.is_mostly_level = int(is_clear.sum()) * 2 < len(is_clear)
        self.found = {tuple(sorted(row[:2])) for row in experts[is_clear].tolist()}
        self.last = {tuple(sorted(row)) for row in logits.topk(2, dim=-1, largest=False).indices.tolist()}
        self.count = E * (E - 1) // 2

    def missing(self) -> str:
        """What is missing; empty where every pair is chosen."""
        row = {(e, e + 1) for e in range(self.E - 1)}
        if len(self.found) == self.count:
            return ""
        if self.found == row | {(0, self.E - 1)}:
            return "only neighbours are chosen, all around"
        if self.found == row:
            return f"only neighbours in a row are chosen, with {self.d} numbers a token"
        if len(self.last) == self.count:
            return "each pair has the two smallest logits of some token"
        level = ", and most tokens have two second choices that are level" if self.is_mostly_level else ""
        return f"{len(self.found)} of {self.count} pairs are chosen{level}"

    def too_many(self) -> str:
        """How many numbers a token has, where it is more than can be done with."""
        if self.d <= FEW:
            return ""
        if self.d >= self.E:
            return "as many numbers as experts"
        return "one number less than experts" if self.d == self.E - 1 else f"{self.d} numbers"


def _all_chosen(observation: Any, inputs: dict[str, Any]) -> dict[str, str]:
    return {f"{E} experts": _Pairs(observation[str(E)], E).missing() for E in inputs["experts"]}


def _few_numbers(observation: Any, inputs: dict[str, Any]) -> dict[str, str]:
    return {f"{E} experts": _Pairs(observation[str(E)], E).too_many() for E in inputs["experts"]}


def _ask_pairs(answer: Any, experts: list[int]) -> dict[str, Any]:
    """What comes back for each number of experts, with its first tokens; lists of numbers are taken as tensors."""

    def ask(E: int) -> Any:
        parts = answer(E)
        if not isinstance(parts, (tuple, list)) or len(parts) != 2:
            return parts
        router, tokens = (torch.tensor(part, dtype=torch.float64) if isinstance(part, list) else part for part in parts)
        return router, tokens[:LOOKED_AT] if isinstance(tokens, torch.Tensor) and tokens.dim() == 2 else tokens

    return {str(E): observe_call(partial(ask, E)) for E in experts}


@every_pair.aspect("every pair is chosen", points=1.5, facts=_all_chosen, times_larger=40)
def every_pair_every_pair_is_chosen(answer: Any, experts: list[int]) -> Any:
    return _ask_pairs(answer, experts)


@every_pair.aspect(
    "with four numbers a token", points=2.5, facts=_few_numbers, needs="every pair is chosen", times_larger=40
)
def every_pair_with_four_numbers_a_token(answer: Any, experts: list[int]) -> Any:
    return _ask_pairs(answer, experts)


# router_learns_counterexample


def router_learns(logits: list[float], outputs: list[list[float]], target: list[float]) -> bool:
    """A classmate's: whether the loss, the squared distance from y to target, sends any gradient to the logits of the two experts of a token."""
    gate = 1 / (1 + math.exp(logits[1] - logits[0]))
    y = [gate * first + (1 - gate) * second for first, second in zip(*outputs, strict=True)]
    return math.dist(y, target) > 1e-6 and math.dist(*outputs) > 1e-6


def router_slope(logits: list[float], outputs: list[list[float]], target: list[float]) -> float:
    """The slope of the loss by the first logit; that by the second is its opposite. Softmax has the slope gate·(1 − gate)."""
    gate = 1 / (1 + math.exp(logits[1] - logits[0]))
    pairs = list(zip(*outputs, target, strict=True))
    along: float = sum((first - second) * (gate * first + (1 - gate) * second - goal) for first, second, goal in pairs)
    return 2 * along * gate * (1 - gate)


def _one_token(observation: Any) -> tuple[list[float], list[list[float]], list[float]]:
    if isinstance(observation, Failure):
        raise NotAsAsked(observation.message)
    if not isinstance(observation, (tuple, list)) or len(observation) != 3:
        raise NotAsAsked("(logits, outputs, target) was expected: two logits, two lists of numbers, and one such list")
    logits, target = numbers(observation[0], "logits"), numbers(observation[2], "target")
    outputs = rows_of_numbers(observation[1], "expert", columns=len(target))
    if (len(logits), len(outputs)) != (2, 2):
        raise NotAsAsked(f"there are {len(logits)} logits and {len(outputs)} outputs; a token has two experts here")
    if max(map(abs, logits)) > 10:
        raise NotAsAsked("a logit is beyond 10; a softmax that rounds a gate to 0 is not what is asked about")
    return logits, outputs, target


def _why_right(logits: list[float], outputs: list[list[float]], target: list[float]) -> str:
    if outputs[0] == outputs[1]:
        return "both experts say the same, and the code sees that"
    if not router_learns(logits, outputs, target):
        return "there is no error, and the code sees that"
    if len(target) == 1:
        return "each expert says a single number: then more of the one brings y nearer to the target, or farther away"
    return "more of one expert brings y nearer to the target"


def _learns_little(logits: list[float], outputs: list[list[float]], target: list[float]) -> str:
    """A gradient that is nothing but small: the error is not at right angles to the line from one output to the other."""
    gate = 1 / (1 + math.exp(logits[1] - logits[0]))
    line = [first - second for first, second in zip(*outputs, strict=True)]
    y = [second + gate * step for second, step in zip(outputs[1], line, strict=True)]
    cosine = router_slope(logits, outputs, target) / (2 * gate * (1 - gate) * math.hypot(*line) * math.dist(y, target))
    if abs(cosine) < 1e-6:
        return ""
    return "the gradient is small, because the numbers are or a gate is nearly shut, but it is not 0"


router_learns_counterexample = counterexample(
    "router_learns_counterexample",
    code=router_learns,
    right=lambda *token: abs(router_slope(*token)) > 1e-6,
    form=_one_token,
    size=lambda logits, outputs, target: len(target),
    par=2,
    why_right=_why_right,
    by_rounding=_learns_little,
    where="the section “Who gets a gradient?”.",
    understood="The gates move y along one line, from what one expert says to what the other says. An error at right angles to it teaches the router nothing.",
    hints=(
        "Raise the first logit a little: one gate grows, and the other shrinks by as much. Where can y go, if you do that again and again?",
        "y lies on the line between what the two experts say. Draw it in a plane, and a target beside it. From where on the line is it no use to move?",
        "Equal logits put y in the middle of the two outputs. Put the target beside the middle, at right angles to the line.",
    ),
)


# Quizzes. Their texts are in the notebook.

quiz_middle = quiz(
    "quiz_middle",
    where="the section “A router is one matrix”.",
    understood="The tokens of one pair are a region without dents. Those that have an expert among their two are several such regions together, with dents.",
)

quiz_same = quiz(
    "quiz_same",
    where="the section “From logits to gates”.",
    understood="Dividing by the sum over the kept cancels what the others had contributed: it is the softmax of the kept logits.",
)

quiz_active = quiz(
    "quiz_active",
    where="the section “Total and active”.",
    understood="The active parameters decide how much is computed for a token, the total how much has to be stored.",
)


# route


def _draw_logits(rng: Draw, case: int) -> dict[str, Any]:
    """logits [T, E] and k."""
    T, E = rng.distinct(2, 7, 10)
    return {"logits": rng.normal(T, E, scale=1.5), "k": rng.integer(3, 4)}


route = Exercise(
    "route",
    draw=_draw_logits,
    where="the section “From logits to gates”.",
    understood="A router is one linear map and a choice. The four normalisations differ in what a kept logit is turned into, and in what that is divided by.",
    hints=(
        "`values, idx = logits.topk(k, dim=-1)` gives, for each token, its k largest logits and whose they are: two tensors [T, k].",
        "What is a weight in each of the four? First a number for each kept expert, [T, k]; only then the step to [T, E].",
        "From [T, k] to [T, E]: start with zeros like `logits`, and write the weights into the places `idx`. `scatter` along the last dimension does that.",
        "Softmax over all E and `gather` what idx names; the same, divided by its sum over the k; softmax of the k; sigmoid of the k, divided by their sum.",
    ),
)


def _norm_aspect(norm: str) -> None:
    @route.aspect(f"norm “{norm}”", points=1)
    def of_kind(answer: Any, logits: Any, k: int) -> Any:
        return answer(logits, k, norm)


for _name in NORMS:
    _norm_aspect(_name)


@route.aspect("gradients", points=1)
def route_gradients(answer: Any, logits: Any, k: int) -> Any:
    def of(norm: str) -> Any:
        leaf = logits.clone().requires_grad_()
        gates = answer(leaf, k, norm)
        backpropagate(gates)
        return leaf.grad

    return {f"gradient of the logits, {norm}": observe_call(partial(of, norm)) for norm in NORMS}


@route.aspect("other inputs", points=1)
def route_other_inputs(answer: Any, logits: Any, k: int) -> Any:
    E = logits.shape[1]
    inputs = {
        "T = 1": (logits[:1], k),
        "k = 1": (logits, 1),
        "k = E": (logits, E),
        "non-contiguous logits": (logits.T.contiguous().T, k),
        "float32": (logits.float(), k),
        "logits that are all negative": (logits - 20, k),
    }
    observation: dict[str, Any] = {}
    is_unchanged = True
    for label, (original, n) in inputs.items():
        for norm in NORMS:
            logits_copy = original.clone()
            observation[f"{label}, {norm}"] = observe_call(partial(answer, logits_copy, n, norm))
            is_unchanged = is_unchanged and torch.equal(logits_copy, original)
    return observation | {"the logits are left as they were": is_unchanged}


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
        "experts": [draw_weights(rng, d_model, d_ff) for _ in range(E)],
    }


moe_loop = Exercise(
    "moe_loop",
    draw=_draw_gates,
    where="the section “Each expert sees its own tokens”.",
    understood="Each expert is called with its own tokens, and with no others: that is where a mixture of experts saves its work.",
    hints=(
        "Flatten first: `x.reshape(-1, d_model)` and the gates in the same way. The shape comes back at the end, with another `reshape`.",
        "For expert e, `gates[:, e] != 0` says whose it is; `torch.where` of it gives the row numbers. Take those rows of x, and call the expert once.",
        "Its outputs are [n, d_model], its weights `gates[rows, e]`, [n]. One of the two needs another dimension.",
        "Add to the rows of a result that starts as zeros, in the dtype of x: a token has more than one expert. `index_add` or `y[rows] += …`.",
    ),
)


@moe_loop.aspect("values", points=1.5)
def moe_loop_values(answer: Any, x: Any, gates: Any, experts: Any, **_: Any) -> Any:
    return answer(x, gates, _experts(experts))


@moe_loop.aspect("each expert sees its tokens only", points=1.5)
def moe_loop_each_expert_sees_its_tokens_only(answer: Any, x: Any, gates: Any, experts: Any, **_: Any) -> Any:
    modules = _experts(experts)
    x_copy = x.clone()
    answer(x_copy, gates, modules)
    return _list_expert_tokens(modules, x)


@moe_loop.aspect("gradients", points=1)
def moe_loop_gradients(answer: Any, x: Any, gates: Any, experts: Any, **_: Any) -> Any:
    modules = _experts(experts)
    observation = _gradients(lambda x, gates: answer(x, gates, modules), modules, x=x, gates=gates)
    slope = observation["gradient of gates"]
    if slope is not None:  # at a gate of zero nothing is asked
        observation["gradient of gates"] = torch.where(gates != 0, slope, torch.zeros_like(slope))
    return observation


@moe_loop.aspect("other inputs", points=1)
def moe_loop_other_inputs(answer: Any, x: Any, gates: Any, batch: Any, batch_gates: Any, experts: Any) -> Any:
    unused_gates, zero_row_gates = gates.clone(), gates.clone()
    single_gates = torch.zeros_like(gates)
    unused_gates[:, 1] = 0
    unused_gates[:, -1] = 0
    single_gates[:, 2] = gates.sum(1)
    zero_row_gates[3] = 0
    inputs = {
        "x of shape [B, T, d_model]": (batch[0], batch_gates[0]),
        "x of shape [A, B, T, d_model]": (batch, batch_gates),
        "non-contiguous x": (batch[0].transpose(0, 1), batch_gates[0].transpose(0, 1)),
        "two experts without tokens": (x, unused_gates),
        "all tokens at one expert": (x, single_gates),
        "a token without an expert": (x, zero_row_gates),
        "T = 1": (x[:1], gates[:1]),
    }
    observation: dict[str, Any] = {}
    is_unchanged = True
    for label, pair in inputs.items():
        copies = [part.clone() for part in pair]
        observation[label] = observe_call(partial(answer, *copies, _experts(experts)))
        is_unchanged = is_unchanged and all_equal(copies, pair)
    observation["everything in float32"] = observe_call(
        lambda: answer(x.float(), gates.float(), _experts(experts, torch.float32))
    )
    return observation | {"x and gates are left as they were": is_unchanged}


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
        "experts": [draw_weights(rng, d_model, d_ff) for _ in range(E)],
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
def moe_sorted_values(answer: Any, x: Any, idx: Any, w: Any, experts: Any, **_: Any) -> Any:
    return answer(x, idx, w, _experts(experts))


@moe_sorted.aspect("one call for each expert, with its tokens", points=1.5)
def moe_sorted_one_call_for_each_expert_with_its_tokens(
    answer: Any, x: Any, idx: Any, w: Any, experts: Any, **_: Any
) -> Any:
    modules = _experts(experts)
    answer(x.clone(), idx, w, modules)
    calls = {
        f"calls of expert {e}": sum(1 for rows in expert.inputs if len(rows))
        for e, expert in enumerate(modules)
        if isinstance(expert, Expert)
    }
    return calls | _list_expert_tokens(modules, x)


@moe_sorted.aspect("gradients", points=1)
def moe_sorted_gradients(answer: Any, x: Any, idx: Any, w: Any, experts: Any, **_: Any) -> Any:
    modules = _experts(experts)
    return _gradients(lambda x, w: answer(x, idx, w, modules), modules, x=x, w=w)


@moe_sorted.aspect("other inputs", points=1.5)
def moe_sorted_other_inputs(
    answer: Any, x: Any, idx: Any, w: Any, few: Any, each: Any, each_w: Any, experts: Any
) -> Any:
    inputs = {
        "T = 1": (x[:1], idx[:1], w[:1]),
        "k = 1": (x, idx[:, :1], w[:, :1]),
        "k = E": (x, each, each_w),
        "all tokens at one expert": (x, torch.full_like(idx[:, :1], 2), w[:, :1]),
        "experts without tokens": (x, few, w[:, :2]),
        "only expert 0 is used": (x[:2], torch.zeros_like(idx[:2, :1]), w[:2, :1]),
        "non-contiguous inputs": tuple(part.T.contiguous().T for part in (x, idx, w)),
    }
    observation: dict[str, Any] = {}
    is_unchanged = True
    for label, arguments in inputs.items():
        copies = [part.clone() for part in arguments]
        observation[label] = observe_call(partial(answer, *copies, _experts(experts)))
        is_unchanged = is_unchanged and all_equal(copies, arguments)
    observation["everything in float32"] = observe_call(
        lambda: answer(x.float(), idx, w.float(), _experts(experts, torch.float32))
    )
    return observation | {"x, idx and w are left as they were": is_unchanged}


def all_equal(some: Any, others: Any) -> bool:
    """Whether two sequences hold equal tensors."""
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


# router_gradient


def _draw_small_layer(rng: Draw, case: int) -> dict[str, Any]:
    """x and target [T, d_model], a router [d_model, E], and E experts."""
    T, d_model, d_ff, E = _sizes(rng)
    return {
        "x": rng.normal(T, d_model),
        "router": rng.normal(d_model, E, scale=0.5),
        "target": rng.normal(T, d_model),
        "experts": [draw_weights(rng, d_model, d_ff) for _ in range(E)],
    }


router_gradient = Exercise(
    "router_gradient",
    draw=_draw_small_layer,
    where="the section “Who gets a gradient?”.",
    understood="The choice itself has no gradient. The router learns through the weight of what it chose; with k = 1, renormalised, that weight is always 1.",
    hints=(
        "Make a copy of the router that wants a gradient: `router.clone().requires_grad_()`. The logits are x times this copy.",
        "The weights: softmax over all experts, the k largest; for 'softmax_topk_renorm' divided by their sum over the k. Your `route` does both.",
        "The output is the sum of the chosen experts' outputs, each times its gate. The loss is `F.mse_loss(output, target)`.",
        "After `loss.backward()` the copy has its gradient in `.grad`, [d_model, E]. Return all of it.",
    ),
)

MEASURED_NORMS = ("softmax_topk", "softmax_topk_renorm")


def _slopes(answer: Any, x: Any, router: Any, target: Any, experts: Any, *ks: int) -> dict[str, Any]:
    return {
        f"{norm}, k = {k}": observe_call(partial(answer, x.clone(), router.clone(), _experts(experts), target, k, norm))
        for norm in MEASURED_NORMS
        for k in ks
    }


@router_gradient.aspect("k = 1", points=1)
def router_gradient_k_1(answer: Any, x: Any, router: Any, target: Any, experts: Any) -> Any:
    return _slopes(answer, x, router, target, experts, 1)


@router_gradient.aspect("k = 2 and k = 3", points=0.5)
def router_gradient_k_2_and_k_3(answer: Any, x: Any, router: Any, target: Any, experts: Any) -> Any:
    return _slopes(answer, x, router, target, experts, 2, 3)


@router_gradient.aspect("other inputs", points=0.5)
def router_gradient_other_inputs(answer: Any, x: Any, router: Any, target: Any, experts: Any) -> Any:
    copies = [x.clone(), router.clone(), target.clone()]
    modules = _experts(experts)
    functions = [lambda rows, module=module: module(rows) for module in _experts(experts)]

    def again(norm: str) -> Any:
        return answer(copies[0], copies[1], modules, copies[2], 2, norm)

    observation: dict[str, Any] = {}
    for norm in MEASURED_NORMS:
        observation |= {
            f"T = 1, {norm}": observe_call(lambda: answer(x[:1], router, _experts(experts), target[:1], 2, norm)),  # noqa: B023
            f"k = E, {norm}": observe_call(lambda: answer(x, router, _experts(experts), target, router.shape[1], norm)),  # noqa: B023
            f"a list of functions, {norm}": observe_call(lambda: answer(x, router, functions, target, 2, norm)),  # noqa: B023
            f"everything in float32, {norm}": observe_call(
                lambda: answer(x.float(), router.float(), _experts(experts, torch.float32), target.float(), 2, norm)  # noqa: B023
            ),
            f"the first call with a router, {norm}": observe_call(partial(again, norm)),
            f"another call with the same router, {norm}": observe_call(partial(again, norm)),
        }
    return observation | {"x, router and target are left as they were": all_equal(copies, (x, router, target))}
