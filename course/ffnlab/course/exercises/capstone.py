"""Notebook 10, the capstone: how the answers are called, and what is looked at. No answers.

A block is judged by what it does: its parts may have any name. To look inside without names, the probes turn the learned gains of
its norms (the vectors of d_model numbers that start at one) down to zero, one after the other, and see what stops.

What is right of a block is the same whatever is drawn, so a probe sends what the blocks made of their inputs, and in an order that is
drawn: what it means can only be told by who knows the draw.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from ffnlab.course import toy_transformer, world
from ffnlab.course.block_probes import (
    KINDS,
    both_outputs,
    each_kind,
    facts_of_each,
    is_vector,
    largest_entry,
    least_noticed,
    mixing_of,
    norm_gains,
    output_of,
    shaken_block,
    with_factors,
)
from ffnlab.course.counterexample import counterexample, rows_of_numbers
from ffnlab.course.experiments.world import TASKS
from ffnlab.observation.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    backpropagate,
    describe_result,
    expect_exception,
    observe_call,
)
from ffnlab.observation.plain_data import Failure

NOTEBOOK = "10_capstone"

T = TypeVar("T")
Arguments = tuple[str | None, int]  # kind and n_heads

LARGE = 1000.0
SCALES = (1.0, 10.0, 100.0, LARGE, 2 * LARGE)  # how many times x
RAY = [1.0 + 0.2 * n for n in range(12)]  # how many times a norm's gain


def _shuffle(rng: Draw, items: Iterable[T]) -> list[T]:
    items = list(items)
    return [items[place] for place in rng.distinct(len(items), 0, len(items) - 1)]


def _shuffle_range(rng: Draw, count: int) -> list[int]:
    """The numbers from 0 in an order that is not their own."""
    order = _shuffle(rng, range(count))
    return _shuffle_range(rng, count) if order == sorted(order) else order


def _with_entry(x: torch.Tensor, feature: int, value: float) -> torch.Tensor:
    """x with another number in one feature."""
    other = x.clone()
    other[..., feature] = value
    return other


# dare

PULLS = 20  # of each kind, at most: as many as are stored of each kind at the creek
KINDS_OF_RUNS = ("A", "B")
EQUAL_GAMES, FAR_GAMES = 1200, 600
EQUAL_SHARES = (0.2, 0.5, 0.8)  # of the runs of two equal kinds that find the rule
FAR_SHARES = (0.2, 0.8)  # of two kinds that are far apart
# Eight of a hundred and nine of ten are asked for; the rest is room for chance.
LARGEST_RISK, LEAST_SURE, FEW_PULLS = 0.088, 0.88, 30


def _runs(rng: Draw, shares: torch.Tensor) -> torch.Tensor:
    """Whether each run has found the rule, [games, 2, PULLS], where the two kinds of each game find it in these shares [games, 2] of their runs."""
    found: torch.Tensor = rng.normal(*shares.shape, PULLS) < torch.special.ndtri(shares)[..., None]
    return found


def _draw_games(rng: Draw, case: int) -> dict[str, Any]:
    """Games with two equal kinds, and games with two that are far apart. _better: whether in one of the latter "B" is the better kind."""
    equal = torch.tensor([rng.one_of(EQUAL_SHARES) for _ in range(EQUAL_GAMES)], dtype=torch.float64)
    better = rng.normal(FAR_GAMES) > 0
    far = torch.tensor(FAR_SHARES, dtype=torch.float64).expand(FAR_GAMES, 2)
    far = torch.where(better[:, None], far, far.flip(1))
    return {"equal": _runs(rng, equal[:, None].expand(-1, 2)), "far": _runs(rng, far), "_better": better}


class _Levers:
    """The function `pull` of one game, which counts how often it is called."""

    def __init__(self, runs: torch.Tensor) -> None:
        self.runs = [iter(row) for row in runs.tolist()]
        self.pulls = [0, 0]

    def __call__(self, kind: str) -> bool:
        if kind not in KINDS_OF_RUNS:
            raise ValueError(f"there is no kind {kind!r}, only 'A' and 'B'")
        place = KINDS_OF_RUNS.index(kind)
        if self.pulls[place] == PULLS:
            raise ValueError(f"kind {kind} has no more than {PULLS} runs")
        self.pulls[place] += 1
        return bool(next(self.runs[place]))


dare = Exercise(
    "dare",
    draw=_draw_games,
    cases=1,
    where="the section “Write the strategy”.",
    understood="One of two equal kinds is ahead most of the time, so a lead alone says nothing. A lead counts if equal kinds seldom have one as large, "
    "at any time at which you would have stopped.",
    hints=(
        "Pull both levers equally often and watch the lead: how many more runs of A than of B have found the rule.",
        "How large a lead do two equal kinds reach within twenty pulls of each? Let the computer toss coins: `random.random() < 0.5` is a run of "
        "a kind that finds the rule in half of its runs. Play a thousand games, and look at the largest lead of each.",
        "If eight games in a hundred or fewer reach a lead, whoever stops there is seldom fooled. Kinds that are far apart reach it long before the last pull.",
    ),
)


def _bucket(share: float, *bounds: float) -> str:
    """Which part of all games a share is, in words."""
    edges = (0.0, *bounds, 1.0)
    part = sum(share > bound for bound in bounds)
    return f"in {edges[part]:.0%} to {edges[part + 1]:.0%} of the games".replace("%", " %")


def _far_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    said, better = observation["said"], torch.where(inputs["_better"], 2, 1)
    right = (said == better).double().mean().item()
    wrong = (said == 3 - better).double().mean().item()
    return {
        "of two kinds that are far apart, it names the better one": right >= LEAST_SURE,
        "how often it names the worse one": _bucket(wrong, 0.15, 0.3, 0.7),
        "it pulls both levers": bool((observation["pulls"] > 0).all()),
    }


def _equal_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    named = (observation["said"] > 0).double().mean().item()
    waits = bool((observation["pulls"] != observation["pulls"][0]).any())
    return {
        "of two equal kinds, it seldom names one": named <= LARGEST_RISK,
        "it waits for a lead that is too small": named > LARGEST_RISK and waits,
        "how often it names one": _bucket(named, LARGEST_RISK, 0.5, 0.8),
    }


def _few_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    pulls = observation["pulls"].sum(1).double().mean().item()
    return {f"where the kinds are far apart, {FEW_PULLS} pulls are enough on average": pulls <= FEW_PULLS}


def _play(answer: Any, runs: torch.Tensor) -> dict[str, torch.Tensor]:
    """All games: what was said [games], 0 for None, 1 for A, 2 for B; and how often each lever was pulled [games, 2]."""
    said, pulls = [], []
    for game in runs:
        levers = _Levers(game)
        result = answer(levers)
        if result is not None and result not in KINDS_OF_RUNS:
            raise NotAsAsked(f"{describe_result(result)}; 'A', 'B' or None was expected")
        said.append(0 if result is None else 1 + KINDS_OF_RUNS.index(result))
        pulls.append(levers.pulls)
    return {"said": torch.tensor(said), "pulls": torch.tensor(pulls)}


@dare.aspect("kinds that are far apart", points=1, facts=_far_facts)
def dare_kinds_that_are_far_apart(answer: Any, far: torch.Tensor, **_: Any) -> Any:
    return _play(answer, far)


@dare.aspect("equal kinds", points=2, facts=_equal_facts, needs="kinds that are far apart")
def dare_equal_kinds(answer: Any, equal: torch.Tensor, **_: Any) -> Any:
    return _play(answer, equal)


@dare.aspect("few pulls", points=1, facts=_few_facts, needs="equal kinds")
def dare_few_pulls(answer: Any, far: torch.Tensor, **_: Any) -> Any:
    return _play(answer, far)


# no_difference_counterexample


def no_difference(table: list[list[float]]) -> bool:
    """A classmate's: whether it makes no difference which weights and which order one takes. table[w][o]: what a run gave, a share from 0 to 1."""
    by_weights = [sum(row) / len(row) for row in table]
    by_order = [sum(column) / len(column) for column in zip(*table, strict=True)]
    return max(by_weights) - min(by_weights) < 1e-9 and max(by_order) - min(by_order) < 1e-9


def all_the_same(table: list[list[float]]) -> bool:
    """The same, by comparing every run with the first."""
    return all(abs(share - table[0][0]) < 1e-9 for row in table for share in row)


def _table_of_runs(observation: Any) -> tuple[list[list[float]]]:
    table = rows_of_numbers(observation, "drawing of the weights")
    if any(not 0 <= share <= 1 for row in table for share in row):
        raise NotAsAsked("every entry is the share of scenes in which a run is right, a number from 0 to 1")
    return (table,)


def _why_noticed(table: list[list[float]]) -> str:
    if all_the_same(table):
        return "all runs are the same, and the code says so"
    means = [sum(row) / len(row) for row in table]
    if max(means) - min(means) >= 1e-9:
        return "the rows have different means, and the code notices"
    return "the columns have different means, and the code notices"


no_difference_counterexample = counterexample(
    "no_difference_counterexample",
    code=no_difference,
    right=all_the_same,
    form=_table_of_runs,
    size=lambda table: len(table) * len(table[0]),
    par=4,
    why_right=_why_noticed,
    where="the section “A classmate averages”.",
    understood="This is XOR: neither the weights nor the order decides, only the two together. Whoever averages over one of them can't see it. "
    "Change one thing and hold the other still.",
    hints=(
        "The code says yes if all rows have the same mean and all columns have the same mean. Which tables have that?",
        "A mean of 0.5 can be two runs of 0.5, or one of 0 and one of 1.",
        "You know four outputs of which no row and no column tells anything: from notebook 01.",
    ),
)


# Block


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """x [B, T, d_model] with n_heads heads; no two sizes are equal, and d_model has a number that does not divide it.

    The number of heads is odd: nn.MultiheadAttention computes an even one in another way in eval mode, and of the two ways one gives
    NaN, the other 0, for a token that a wrong mask lets see nobody.
    """
    n_heads, head_dim = rng.one_of([(3, 4), (3, 6), (7, 2), (9, 2)])
    d_model = n_heads * head_dim
    B, T = rng.distinct(2, 5, 6)
    feature = rng.integer(0, d_model - 1)
    return {
        "x": rng.normal(B, T, d_model, dtype=torch.float32),
        "n_heads": n_heads,
        "d_ff": rng.integer(20, 26),
        "seed": rng.integer(1, 10_000),
        "kinds": _shuffle(rng, KINDS),
        "tokens": _shuffle(rng, range(T)),
        "earlier": _shuffle_range(rng, T - 1),
        "steps": _shuffle(rng, range(len(RAY))),
        "calls": _shuffle(rng, ("x", "x", "x", "another x", "another x", "a single token")),
        "made": _shuffle(rng, _arguments(rng, d_model, n_heads)),
        "many": rng.normal(1, rng.integer(66, 80), d_model, dtype=torch.float32),
        "weights": rng.normal(B, T, d_model, dtype=torch.float32),
        "step": rng.normal(B, T, d_model, dtype=torch.float32),
        "feature": feature,
        "token": _with_entry(rng.normal(1, 1, d_model, dtype=torch.float32), feature, 1.5),
    }


def _arguments(rng: Draw, d_model: int, n_heads: int) -> list[Arguments]:
    """(kind, n_heads) of five blocks that can't be, and of four that can."""
    does_not_divide = [n for n in range(2, d_model) if d_model % n]
    wrong = [(kind, n_heads) for kind in ("gelu", "ReLU", None)]
    wrong += [(rng.one_of(KINDS), n) for n in _shuffle(rng, does_not_divide)[:2]]
    return wrong + [(kind, rng.one_of([1, n_heads, d_model])) for kind in KINDS]


def _make_each_kind(answer: Any, x: Any, n_heads: int, d_ff: int, **_: Any) -> nn.ModuleList:
    """Those of the four blocks that a student's class can make."""
    blocks = nn.ModuleList()
    for kind in KINDS:
        with contextlib.suppress(Exception):
            blocks.append(answer(kind, x.shape[-1], n_heads, d_ff))
    return blocks


Block = Exercise(
    "Block",
    cases=1,  # each looks at four blocks from many sides
    draw=_draw,
    where="the section “One block”: its two formulas, and the exercise's points.",
    understood=(
        "One block, four kinds: both halves read a norm of their own, both add to a path that nothing else touches, "
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
    makes=_make_each_kind,
)


# Which token sees which.


def _attention_facts(kind: str, observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x, out = inputs["x"], observation["out"]
    size = max(largest_entry(out), 1e-3)
    T = x.shape[1]
    effects = {s: (other - out).abs() for s, other in zip(inputs["tokens"], observation["changed"], strict=True)}
    sees = torch.stack([effects[s][0].amax(-1) for s in range(T)], -1) > 1e-5 * size  # [T, T]: row t, column s
    earlier = torch.ones(T, T, dtype=torch.bool).tril(-1)
    facts = {
        "all numbers are finite": bool(out.isfinite().all()),
        "no token sees a later one": not bool((sees & earlier.T).any()),
        "every token sees all tokens before it": bool(sees[earlier].all()),
        "no sentence sees another": max(largest_entry(effect[1:]) for effect in effects.values()) <= 1e-5 * size,
        "every token's own output changes with it": bool(sees.diagonal().all()),
    }
    if kind == "none":
        first, second = (observation["heads"][n] - x[:, n : n + 1] for n in (0, 1))
        facts["a token alone attends to itself"] = largest_entry(first - second) > 1e-3
        difference = observation["moved"][:, -1] - out[:, -1]
        facts["the order of earlier tokens does not count"] = largest_entry(difference) <= 1e-4 * size
        facts["with one head, all numbers of a token get the same weights"] = _spread(observation["one head"], x) < 1e-2
        facts["with several heads, the weights of each head are its own"] = _spread(observation["heads"], x) > 1e-2
    return facts


def _pair(block: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """What comes out for the first token of each sentence alone, for the second one alone, and for both."""
    return [output_of(block, tokens).clone() for tokens in (x[:, :1], x[:, 1:2], x[:, :2])]


def _spread(outputs: list[torch.Tensor], x: torch.Tensor) -> float:
    """How far attention's answer for a pair of tokens lies off the line between its answers for each alone: 0 for one head."""
    first, second = outputs[0] - x[:, :1], outputs[1] - x[:, 1:2]
    both = (outputs[2] - x[:, :2])[:, 1:]
    line, step = first - second, both - second
    along = (step * line).sum(-1, keepdim=True) / (line * line).sum(-1, keepdim=True)
    return float(((step - along * line).norm(dim=-1) / line.norm(dim=-1)).amax())


@Block.aspect("causal attention", points=1.25, facts=facts_of_each(_attention_facts))
def block_causal_attention(
    answer: Any, x: Any, n_heads: int, d_ff: int, seed: int, kinds: Any, tokens: list[int], earlier: list[int], **_: Any
) -> Any:
    sizes = (x, n_heads, d_ff, seed)

    def look(kind: str) -> Any:
        block = shaken_block(answer, kind, *sizes)
        outputs = []
        for s in tokens:
            other = x.clone()
            other[0, s] = -x[0, s].flip(-1)
            outputs.append(output_of(block, other).clone())
        observation: dict[str, Any] = {"out": output_of(block, x).clone(), "changed": torch.stack(outputs)}
        if kind == "none":
            observation["one head"] = _pair(shaken_block(answer, kind, x, 1, d_ff, seed), x)
            observation["heads"] = _pair(block, x)
            observation["moved"] = output_of(block, x[:, [*earlier, x.shape[1] - 1]]).clone()
        return observation

    return each_kind(kinds, look)


# Residuals and norms.


SMOOTH = ("none", "swiglu")
H = 0.01  # half the distance of two inputs from which a slope is estimated


def _path_facts(kind: str, observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x = inputs["x"]
    out = dict(zip(SCALES, observation["out"], strict=True))
    far, farther = out[LARGE] - LARGE * x, out[2 * LARGE] - 2 * LARGE * x
    slope = float(((out[2 * LARGE] - out[LARGE]) * x).sum() / (LARGE * x * x).sum())
    cosine = torch.cosine_similarity(out[LARGE].flatten(), x.flatten(), 0)
    near = (farther - far).abs().amax(-1) < 0.1 * (1 + largest_entry(far))  # [B, T]
    still = float(near.double().mean())  # a right mixture may choose another expert for some token
    mixing = mixing_of(observation["both"], x)
    threshold = least_noticed(observation["both"], x)
    facts = {
        "x itself can be seen in the output": float(cosine) > 0.3,
        "x itself arrives once": abs(slope - 1) < 0.02,
        "a larger x gives another output": largest_entry(out[100.0] - out[1.0]) > 1e-2 * largest_entry(out[1.0]),
        "what is added to a large x is not large": still > 0.9 if kind == "moe" else still == 1,
        "attention is added to x beside the FFN": largest_entry(mixing_of(observation["far both"], LARGE * x)) > 0.02,
    }
    gains = observation["gains"]
    mixings = [mixing_of(gain["0 both"], x) for gain in gains]
    stops = [largest_entry(remainder) < threshold for remainder in mixings]
    matters = [largest_entry(gain["0 both"][0] - observation["both"][0]) > 1e-3 for gain in gains]
    rest = [number for number in range(len(gains)) if matters[number] and not stops[number]]
    facts["a norm of its own, with a gain, comes before attention"] = any(stops)
    if kind != "none":
        facts["another norm, with a gain of its own, belongs to the FFN"] = bool(rest)
        facts["the FFN reads what attention has written"] = any(
            largest_entry(mixings[n] - mixing) > threshold for n in rest
        )
        bends = [largest_entry(gains[n]["2"] - 2 * observation["both"][0] + gains[n]["0 both"][0]) for n in rest]
        facts["its norm comes before the FFN"] = any(bend > 1e-3 for bend in bends)
    additions = [by_scale - scale * x for scale, by_scale in zip(SCALES, observation["attention alone"], strict=True)]
    largest = max(map(largest_entry, additions))
    facts["attention reads the direction of x only, not its size"] = all(
        largest_entry(addition - additions[-2]) < 0.02 * (0.1 + largest) for addition in additions[:-1]
    )
    active_gains = [number for number in range(len(gains)) if matters[number]]
    moves = [largest_entry(after - before - _step(inputs)) for before, after in observation["one feature"]]
    facts["what is read is normed once"] = all(moves[number] > 1e-3 for number in active_gains)
    facts["every norm's gain gets a gradient"] = all(
        largest_entry(gains[number]["gradient"]) > 1e-6 for number in active_gains
    )
    facts["gradients are those of the output"] = _slopes_agree(observation, inputs)
    return facts


def _step(inputs: dict[str, Any]) -> torch.Tensor:
    """By how much the one feature of the one token is changed."""
    token: torch.Tensor = inputs["token"]
    return _other_token(token, inputs["feature"]) - token


def _other_token(token: torch.Tensor, feature: int) -> torch.Tensor:
    return _with_entry(token, feature, 4.0)


def _slopes_agree(observation: Any, inputs: dict[str, Any]) -> bool:
    """Whether the gradient of a weighted sum is the slope of that sum, along a drawn direction: in sentences, and in tokens alone.

    The straight path's part, which is as large as the rest, is left out. Most have to agree, not all: between the two inputs a ReLU may
    have its kink, or another expert be chosen. A sentence has too many of these places, so it is asked of the smooth kinds alone.
    """
    weights, step = inputs["weights"], inputs["step"]
    shares = []
    for name, each in (("sentences", slice(None)), ("tokens", None)):
        if name not in observation:
            continue
        w, v = (part if each is not None else part.flatten(0, 1)[:, None] for part in (weights, step))
        plus, minus, gradient = observation[name]
        estimates = (w * ((plus - minus) / (2 * H) - v)).flatten(1).sum(1)
        slopes = ((gradient - w) * v).flatten(1).sum(1)
        tolerance = 0.1 * estimates.abs() + 0.2 * estimates.abs().median()
        shares.append(float(((slopes - estimates).abs() < tolerance).double().mean()))
    return all(share > 0.7 for share in shares)


def _slope(block: nn.Module, x: torch.Tensor, weights: torch.Tensor, step: torch.Tensor) -> list[torch.Tensor]:
    """What comes out a little further along a step, and a little behind; and the gradient of the weighted sum."""
    with torch.enable_grad():
        leaf = x.clone().requires_grad_()
        block.zero_grad(set_to_none=True)
        (output_of(block, leaf) * weights).sum().backward()  # type: ignore[no-untyped-call]
    gradient = torch.zeros_like(x) if leaf.grad is None else leaf.grad
    return [output_of(block, x + H * step).clone(), output_of(block, x - H * step).clone(), gradient]


@Block.aspect("residual paths and norms", points=1.5, facts=facts_of_each(_path_facts))
def block_residual_paths_and_norms(
    answer: Any,
    x: Any,
    n_heads: int,
    d_ff: int,
    seed: int,
    kinds: Any,
    weights: Any,
    step: Any,
    token: Any,
    feature: int,
    **_: Any,
) -> Any:
    def look(kind: str) -> Any:
        names = norm_gains(answer, kind, x, n_heads, d_ff)
        block = shaken_block(answer, kind, x, n_heads, d_ff, seed)
        parameters = dict(block.named_parameters())
        out = {scale: output_of(block, scale * x).clone() for scale in SCALES}
        observation: dict[str, Any] = {
            "out": list(out.values()),
            "both": both_outputs(block, x, out[1.0]),
            "far both": both_outputs(block, LARGE * x, out[LARGE]),
        }
        if kind in SMOOTH:
            observation["sentences"] = _slope(block, x, weights, step)
        alone = (part.flatten(0, 1)[:, None] for part in (x, weights, step))  # every token a sentence
        observation["tokens"] = _slope(block, *alone)
        slopes = {name: parameters[name].grad for name in names}
        observation["gains"] = [
            {
                "0 both": with_factors(block, {name: 0.0}, lambda: both_outputs(block, x)),
                "2": with_factors(block, {name: 2.0}, lambda: output_of(block, x).clone()),
                "gradient": torch.zeros(x.shape[-1]) if (slope := slopes[name]) is None else slope.clone(),
            }
            for name in names
        ]
        threshold = least_noticed(observation["both"], x)
        before = [largest_entry(mixing_of(gain["0 both"], x)) < threshold for gain in observation["gains"]]
        second = {name: 0.0 for name, first in zip(names, before, strict=True) if not first}
        observation["attention alone"] = with_factors(
            block, second, lambda: [output_of(block, scale * x).clone() for scale in SCALES]
        )
        observation["one feature"] = _one_feature(
            shaken_block(answer, kind, x, n_heads, d_ff, seed, scope="matrices"), names, before, token, feature
        )
        return observation

    return each_kind(kinds, look)


def _one_feature(
    block: nn.Module, names: list[str], before: list[bool], token: torch.Tensor, feature: int
) -> list[list[torch.Tensor]]:
    """For each norm what comes out for a token alone, and for another in one feature, while this norm lets that feature through
    alone, and the norms of the other sub-layer nothing. Normed a second time, only its sign would be left of it.
    """
    pairs = []
    only = _with_entry(torch.zeros(token.shape[-1]), feature, 1.0)
    for name, first in zip(names, before, strict=True):
        others = {other: 0.0 for other, theirs in zip(names, before, strict=True) if theirs != first}
        pairs.append(
            with_factors(
                block,
                others | {name: only},
                lambda: [output_of(block, token).clone(), output_of(block, _other_token(token, feature)).clone()],
            )
        )
    return pairs


# The four kinds, told apart by what the FFN makes of a vector s·n, for a fixed n and growing s.


class _CalledNames(TorchFunctionMode):
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


FFN_NORM = "an FFN reads a norm of its own"
REGISTERED_WEIGHTS = "an optimiser finds its weights"
NO_UNUSED_WEIGHTS = "it holds no weights that it does not use"
WHAT_IT_IS = {
    "none": ("no FFN", "attention uses all its square matrices", REGISTERED_WEIGHTS, NO_UNUSED_WEIGHTS),
    "relu": (
        FFN_NORM,
        REGISTERED_WEIGHTS,
        "the FFN is not linear",
        "it grows like its input",
        "attention does not read what it has written",
        "it is made of straight pieces",
        "it can write numbers below zero",
        NO_UNUSED_WEIGHTS,
    ),
    "swiglu": (
        FFN_NORM,
        REGISTERED_WEIGHTS,
        "the FFN is not linear",
        "it grows like the square of its input",
        "the gate is not linear",
        "the gate is smooth",
        "it is not made of straight pieces",
        "the gate is a SiLU",
        NO_UNUSED_WEIGHTS,
    ),
    "moe": (FFN_NORM, REGISTERED_WEIGHTS, "the FFN is not linear", "a token leaves experts out"),
}


def _kind_facts(kind: str, observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    d_model = inputs["x"].shape[-1]
    has_no_unused_weights = int(observation["unused numbers"]) <= 2 * d_model
    if kind == "none":
        has_registered_weights = int(observation["numbers"]) > d_model * d_model  # more than what joins the heads
        none = (
            int(observation["norms"]) == 0,
            int(observation["unused squares"]) == 0,
            has_registered_weights,
            has_no_unused_weights,
        )
        return dict(zip(WHAT_IT_IS[kind], none, strict=True))
    if "positive" not in observation:
        return {name: has_no_unused_weights if name == NO_UNUSED_WEIGHTS else False for name in WHAT_IT_IS[kind]}
    has_registered_weights = int(observation["numbers"]) > int(observation["numbers without FFN"])
    negative, positive = observation["negative"], observation["positive"]
    bends = largest_entry(negative + positive) > 1e-3 * largest_entry(positive)
    if kind == "moe":
        mixture = (True, has_registered_weights, bends, int(observation["left out"]) > 0 or bool(observation["jumps"]))
        return dict(zip(WHAT_IT_IS[kind], mixture, strict=True))
    growth = float((observation["farther"].norm() / observation["far"].norm().clamp(min=1e-9)).log2())
    facts: tuple[bool, ...]
    if kind == "relu":
        straight, alone = (
            _share_of_straight(_in_order(observation[ray], inputs)) > 0.15 for ray in ("ray", "ray without attention")
        )
        below = float(observation["far"].min()) < -0.01 * largest_entry(observation["far"])
        last = straight or not alone  # a norm behind the FFN, before attention, would bend the pieces
        facts = (
            True,
            has_registered_weights,
            bends,
            abs(growth - 1) < 0.1,
            last,
            straight,
            below,
            has_no_unused_weights,
        )
    else:
        gate = largest_entry(negative - positive) > 1e-3 * largest_entry(positive)
        pieces = _share_of_straight(_in_order(observation["ray"], inputs)) > 0.15
        silu = not {"gelu", "erf"} & set(observation["calls"])
        cubic = observation["cubic"]
        third = cubic[3:] - 3 * cubic[2:-1] + 3 * cubic[1:-2] - cubic[:-3]
        is_smooth = largest_entry(third) > 1e-3 * max(largest_entry(cubic), 1e-9)
        facts = (
            True,
            has_registered_weights,
            bends,
            abs(growth - 2) < 0.1,
            gate,
            is_smooth,
            not pieces,
            silu,
            has_no_unused_weights,
        )
    return dict(zip(WHAT_IT_IS[kind], facts, strict=True))


def _in_order(ray: torch.Tensor, inputs: dict[str, Any]) -> torch.Tensor:
    """What was seen along the ray, from the smallest factor to the largest."""
    return ray[torch.tensor(inputs["steps"]).argsort()]


def _pieces(block: nn.Module) -> list[torch.Tensor | None]:
    """Gradients of matrices; of stacked ones, one by one."""
    gradients: list[torch.Tensor | None] = []
    for parameter in block.parameters():
        if is_vector(parameter):
            continue
        if parameter.ndim == 3:
            gradients += [None] * len(parameter) if parameter.grad is None else list(parameter.grad)
        elif parameter.ndim == 2:
            gradients.append(parameter.grad)
    return gradients


def _check_gradients(block: nn.Module, x: torch.Tensor) -> list[bool]:
    block.zero_grad(set_to_none=True)
    with torch.enable_grad():
        backpropagate(output_of(block, x))
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
        out = output_of(block, way.flatten(0, 1)).reshape(way.shape)
        steps = (out[1:] - out[:-1]).norm(dim=-1)[..., 0]  # [100, N - 1]
        largest = steps.argmax(0)
        sizes.append(steps[largest, each])
        start, end = way[largest, each], way[largest + 1, each]
    return bool((sizes[1] > 0.5 * sizes[0]).any())


@Block.aspect("the four kinds", points=1, facts=facts_of_each(_kind_facts))
def block_the_four_kinds(
    answer: Any, x: Any, n_heads: int, d_ff: int, seed: int, kinds: Any, steps: list[int], **_: Any
) -> Any:
    sizes = (x, n_heads, d_ff)

    def look(kind: str) -> Any:
        names = norm_gains(answer, kind, *sizes)
        block = shaken_block(answer, kind, *sizes, seed, scope="matrices")
        outputs = both_outputs(block, x)
        threshold = least_noticed(outputs, x)
        outputs_without = {name: with_factors(block, {name: 0.0}, lambda: both_outputs(block, x)) for name in names}
        second = [name for name in names if largest_entry(mixing_of(outputs_without[name], x)) > threshold]
        second = [name for name in second if largest_entry(outputs_without[name][0] - outputs[0]) > 1e-4]
        matrices = [p for p in block.parameters() if not is_vector(p)]
        observation: dict[str, Any] = {"norms": len(second)}
        observation["numbers"] = sum(p.numel() for p in matrices)
        _check_gradients(block, x)
        observation["unused numbers"] = sum(p.numel() for p in block.parameters() if p.grad is None)
        square = (x.shape[-1], x.shape[-1])
        observation["unused squares"] = sum(p.grad is None and p.shape == square for p in matrices)
        if kind == "none" or not second:
            return observation
        without = answer("none", x.shape[-1], n_heads, d_ff)
        observation["numbers without FFN"] = sum(p.numel() for p in without.parameters() if not is_vector(p))
        name = second[-1]
        first = [name for name in names if name not in second]
        still = outputs_without[name][0]

        def ray(s: float) -> torch.Tensor:
            return with_factors(block, {name: s}, lambda: output_of(block, x).clone()) - still

        def rays() -> torch.Tensor:
            return torch.stack([ray(RAY[step]) for step in steps])

        observation |= {"positive": ray(1.5), "negative": ray(-1.5)}
        if kind == "moe":
            many = torch.cat([x.flatten(0, 1), x.flatten(0, 1).flip(-1)])[:, None]  # [N, 1, d_model]
            by_one_token, by_all = _check_gradients(block, many[:1]), _check_gradients(block, many)
            n_left_out = sum(later and not now for now, later in zip(by_one_token, by_all, strict=True))
            return observation | {"jumps": _jumps(block, many), "left out": n_left_out}
        observation |= {"ray": rays(), "far": ray(1000.0), "farther": ray(2000.0)}
        if kind == "relu":
            alone = with_factors(block, {first[0]: 0.0}, rays) if first else observation["ray"]
            return observation | {"ray without attention": alone}
        with _CalledNames() as calls:
            output_of(block, x)
        return observation | {
            "cubic": torch.stack([ray(0.2 * n) for n in range(1, 9)]),
            "calls": sorted(calls.names & {"gelu", "erf", "silu", "sigmoid", "relu", "tanh"}),
        }

    return each_kind(kinds, look)


# The mixture's second loss.


def _balance_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    calls, losses = inputs["calls"], observation["losses"]
    single = [isinstance(loss, torch.Tensor) and loss.numel() == 1 for loss in losses]
    numbers = [float(loss) if is_one else float("nan") for loss, is_one in zip(losses, single, strict=True)]
    pairs = [(i, j) for i in range(len(calls)) for j in range(i)]
    same = [(i, j) for i, j in pairs if calls[i] == calls[j]]
    others = [(i, j) for i, j in pairs if calls[i] != calls[j] and "a single token" not in (calls[i], calls[j])]
    outputs = observation["outputs"]
    return {
        "aux_loss is a tensor with a single number": all(single),
        "aux_loss is finite": all(abs(number) < 1e6 for number in numbers),
        "another x gives another aux_loss": all(abs(numbers[i] - numbers[j]) > 1e-6 for i, j in others),
        "it belongs to the last call alone": all(abs(numbers[i] - numbers[j]) < 1e-4 for i, j in same),
        "a gradient of aux_loss reaches the weights": observation["reached"] > 0,
        "a gradient of aux_loss reaches x": bool(observation["gradient of x"].any()),
        "no coefficient is in it: for a single token it is 1 or more": numbers[calls.index("a single token")]
        > 1 - 1e-4,
        "the output is that of a single mixture": all(
            torch.allclose(outputs[i], outputs[j], atol=1e-5) for i, j in same
        ),
    }


@Block.aspect("the balance loss", points=0.75, facts=_balance_facts)
def block_the_balance_loss(answer: Any, x: Any, n_heads: int, d_ff: int, seed: int, calls: list[str], **_: Any) -> Any:
    block = shaken_block(answer, "moe", x, n_heads, d_ff, seed)
    leaf = x.clone().requires_grad_()
    inputs = {"x": leaf, "another x": 2 * x.flip(-1), "a single token": x[:1, :1]}
    losses, outputs = [], []
    n_reached = 0
    for call in calls:
        output = output_of(block, inputs[call])
        if not hasattr(block, "aux_loss"):
            raise NotAsAsked("after a call, the block of kind 'moe' has no attribute aux_loss")
        loss: Any = block.aux_loss
        losses.append(loss)
        outputs.append(output)
        last = call == "x" and len(losses) > 1  # a loss of earlier calls is found by then
        if last and not n_reached and isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.requires_grad:
            (loss.sum() + 0 * output.sum()).backward(retain_graph=True)  # type: ignore[no-untyped-call]
            n_reached = sum(p.grad is not None and bool(p.grad.abs().max() > 1e-9) for p in block.parameters())
    return {
        "losses": losses,
        "outputs": outputs,
        "reached": n_reached,
        "gradient of x": torch.zeros_like(x) if leaf.grad is None else leaf.grad,
    }


# Other inputs, and arguments that are refused.


def _shapes_facts(kind: str, observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x = inputs["x"]
    cases = {"a single token": x[:1, :1], "many tokens": inputs["many"], "non-contiguous x": x}

    def usual(output: Any, like: torch.Tensor) -> Any:
        return output if isinstance(output, Failure) else output.shape == like.shape and bool(output.isfinite().all())

    out = observation["x"]
    non_contiguous_output = observation["non-contiguous x"]
    return {f"{label}: finite, of the same shape": usual(observation[label], like) for label, like in cases.items()} | {
        "non-contiguous x gives the same output": isinstance(non_contiguous_output, torch.Tensor)
        and torch.allclose(non_contiguous_output, out, atol=1e-4),
        "x is left as it was": torch.equal(observation["x afterwards"], x),
        "training mode gives the same output": torch.allclose(observation["in training mode"], out, atol=1e-4),
        "the gradient of x passes beside both halves": largest_entry(observation["gradient of x"] - inputs["weights"])
        < 0.3,
    }


@Block.aspect("any number of tokens", points=0.25, facts=facts_of_each(_shapes_facts))
def block_any_number_of_tokens(
    answer: Any, x: Any, n_heads: int, d_ff: int, seed: int, kinds: Any, many: Any, weights: Any, **_: Any
) -> Any:
    def look(kind: str) -> Any:
        block = shaken_block(answer, kind, x, n_heads, d_ff, seed)

        def out(tokens: torch.Tensor) -> torch.Tensor:
            return output_of(block, tokens).clone()

        non_contiguous_x = x.transpose(0, 1).contiguous().transpose(0, 1)
        observation: dict[str, Any] = {
            "a single token": observe_call(partial(out, x[:1, :1].clone())),
            "many tokens": observe_call(partial(out, many)),
            "non-contiguous x": observe_call(partial(out, non_contiguous_x)),
        }
        x_copy = x.clone()
        observation["x"], observation["x afterwards"] = out(x_copy), x_copy
        block.train()
        observation["in training mode"] = out(x.clone())
        with torch.enable_grad():
            leaf = (10 * LARGE * x).requires_grad_()
            backpropagate(output_of(block, leaf) * weights)
        observation["gradient of x"] = torch.zeros_like(x) if leaf.grad is None else leaf.grad
        return observation

    return each_kind(kinds, look)


def _argument_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    d_model = inputs["x"].shape[-1]
    arguments = inputs["made"]
    results = dict(zip(arguments, observation, strict=True))
    return {
        f"making kind {kind!r} with d_model = {d_model} and n_heads = {n_heads}": results[kind, n_heads]
        for kind, n_heads in sorted(arguments, key=lambda pair: (str(pair[0]), pair[1]))
    }


BLOCK_LABEL = "a block"


@Block.aspect("wrong arguments", points=0.25, facts=_argument_facts)
def block_wrong_arguments(answer: Any, x: Any, n_heads: int, d_ff: int, made: list[Arguments], **_: Any) -> Any:
    d_model = x.shape[-1]

    def make(kind: str | None, heads: int) -> Any:
        if kind in KINDS and d_model % heads == 0:
            return observe_call(lambda: BLOCK_LABEL if answer(kind, d_model, heads, d_ff) is not None else None)
        return expect_exception(lambda: answer(kind, d_model, heads, d_ff))

    return [make(*arguments) for arguments in made]


# generate


class _Scores:
    """A causal model of nothing: the scores for what comes after a token depend on it, on those before it, and on where it is in the window."""

    def __init__(self, token_scores: torch.Tensor, places: torch.Tensor) -> None:
        self.token_scores, self.places = token_scores, places  # [V, V], [window, V]

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        if ids.ndim != 2 or len(ids) != 1:
            raise ValueError(f"the model takes ids of shape [1, t], not {list(ids.shape)}")
        if ids.shape[1] > len(self.places):
            raise ValueError(f"{ids.shape[1]} tokens are more than the window of {len(self.places)}")
        rows, state = [], torch.zeros_like(self.token_scores[0])
        for place, token in enumerate(ids[0].tolist()):
            state = 0.6 * state + self.token_scores[token]
            rows.append(state + self.places[place])
        return torch.stack(rows)[None]


def _draw_generate(rng: Draw, case: int) -> dict[str, Any]:
    """Scores for a small vocabulary, prompts of several lengths, temperatures on both sides of 1, and numbers to choose by."""
    V, window = rng.integer(11, 13), rng.integer(4, 6)
    return {
        "told": rng.normal(V, V, scale=1.6),
        "places": rng.normal(window, V),
        "prompt": [rng.integer(0, V - 1) for _ in range(2)],
        "long": [rng.integer(0, V - 1) for _ in range(window + rng.integer(3, 6))],
        "numbers": [rng.uniform(0.02, 0.98) for _ in range(24)],
        "warm": rng.uniform(1.6, 2.2),
        "cool": rng.uniform(0.5, 0.7),
    }


generate = Exercise(
    "generate",
    draw=_draw_generate,
    where="the section “Let it write”.",
    understood="A model gives scores; a loop, a window and a temperature make a writer of it.",
    hints=(
        "A loop over `numbers`: cut the last `window` ids, ask the model, look at the last row of its scores, choose, append.",
        "At temperature 0 there is nothing to divide by: take the `argmax`, before any softmax.",
        "`torch.softmax(scores / temperature, dim=-1).cumsum(-1)` is how much probability lies at each id or before. How many of these are not larger than u?",
    ),
)


def _new_ids(answer: Any, token_scores: Any, places: Any, prompt: Any, numbers: Any, temperature: float) -> Any:
    """The ids that a student's function writes, as a list of ints; a tensor of ids will do."""
    ids = answer(_Scores(token_scores, places), list(prompt), list(numbers), len(places), temperature)
    if not isinstance(ids, (list, tuple, torch.Tensor)):
        raise NotAsAsked(f"{describe_result(ids)}; a list of ids was expected")
    if any(isinstance(each, (list, tuple)) or (torch.is_tensor(each) and each.numel() != 1) for each in ids):
        raise NotAsAsked("a flat list of ids was expected, one number each")
    return [int(each) for each in ids]


@generate.aspect("greedy", points=1)
def generate_greedy(answer: Any, prompt: Any, numbers: Any, told: Any, places: Any, **_: Any) -> Any:
    few = numbers[: len(places) - len(prompt)]  # all of it fits into the window
    return {
        "two tokens in the prompt": observe_call(partial(_new_ids, answer, told, places, prompt, few, 0)),
        "one token in the prompt": observe_call(partial(_new_ids, answer, told, places, prompt[:1], few, 0)),
    }


@generate.aspect("sampling", points=1.5)
def generate_sampling(
    answer: Any, prompt: Any, numbers: Any, told: Any, places: Any, warm: float, cool: float, **_: Any
) -> Any:
    step = len(places) - len(prompt)
    return {
        f"temperature {words}, {part}": observe_call(
            partial(_new_ids, answer, told, places, prompt, numbers[step * part : step * (part + 1)], heat)
        )
        for words, heat in {"1": 1.0, "below 1": cool, "above 1": warm}.items()
        for part in range(4)
    }


@generate.aspect("beyond the window", points=1)
def generate_beyond_the_window(
    answer: Any, prompt: Any, long: Any, numbers: Any, told: Any, places: Any, warm: float, **_: Any
) -> Any:
    return {
        words: observe_call(partial(_new_ids, answer, told, places, ids, numbers, heat))
        for words, ids, heat in (
            ("a short prompt, greedy", prompt, 0),
            ("a short prompt", prompt, warm),
            ("a long prompt", long, warm),
        )
    }


@generate.aspect("small temperatures, u = 0, nothing changed", points=0.5)
def generate_small_temperatures_u_0_nothing_changed(
    answer: Any, prompt: Any, numbers: Any, told: Any, places: Any, **_: Any
) -> Any:
    prompt_copy = list(prompt)
    chance = numbers[: len(places) - len(prompt)]
    numbers_copy = list(chance)
    # So far apart that all but one probability are exactly 0, whatever is done with a temperature of 0.01.
    apart = 1e10 * told
    cold = {
        f"temperature 0.01, after token {token}": observe_call(
            partial(_new_ids, answer, apart, places, [token], numbers[:3], 0.01)
        )
        for token in range(len(told))
    }
    zero = observe_call(partial(_new_ids, answer, apart, places, prompt, [0.0], 0.01))
    none = observe_call(partial(_new_ids, answer, told, places, prompt, [], 1.0))
    answer(_Scores(told, places), prompt_copy, numbers_copy, len(places), 1.0)
    return cold | {
        "u = 0": zero,
        "no numbers": none,
        "prompt is left as it was": prompt_copy == prompt,
        "numbers are left as they were": numbers_copy == chance,
    }


# wire_by_hand

N_TRAINING_SENTENCES = 384  # sentences of training that the answer sees; it is judged on all that are held out
MAX_NEURONS = 16
MIN_SHARE = 0.95  # of the new sentences of a kind, how many have to be said rightly
SILENT = 0.99  # of all other words in them, how many have to stay right


class Habit(NamedTuple):
    """A word of a wish that hangs on two attributes: where it stands, and what it is where they are equal and where they differ."""

    first: str
    second: str
    place: int
    same: str
    different: str


HABITS = (Habit("water", "cold", world.WAY, *world.WAYS), Habit("cold", "spunky", world.FEELING, "glad", "sorry"))


@cache
def _wishes(held_out: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The creek model's stream after attention [scenes, T, d_model], float64, and the next words [scenes, T]."""
    sentences = toy_transformer.tensor([world.wish(scene) for scene in world.scenes(held_out)])
    with torch.inference_mode(False), torch.no_grad():
        return toy_transformer.load().gather(sentences[:, :-1]).double(), sentences[:, 1:]


def _draw_wires(rng: Draw, case: int) -> dict[str, Any]:
    """The stream on some sentences of training, for one habit, its d_model axes in an order and with signs that are drawn."""
    habit = HABITS[case % len(HABITS)]
    scenes = world.scenes(held_out=False)
    order = torch.tensor(rng.distinct(toy_transformer.D_MODEL, 0, toy_transformer.D_MODEL - 1))
    signs = torch.tensor([float(rng.one_of((-1, 1))) for _ in order], dtype=torch.float64)
    scene_numbers = rng.distinct(N_TRAINING_SENTENCES, 0, len(scenes) - 1)
    outputs = toy_transformer.load().scores.weight.detach().double()[:, order] * signs  # [V, d_model]
    return {
        "x": _wishes(held_out=False)[0][scene_numbers][..., order] * signs,
        "first": torch.tensor([getattr(scenes[n], habit.first) for n in scene_numbers]),
        "second": torch.tensor([getattr(scenes[n], habit.second) for n in scene_numbers]),
        "at": habit.place - 1,
        "same": outputs[world.NUMBER[habit.same]],
        "different": outputs[world.NUMBER[habit.different]],
        "_order": order,
        "_signs": signs,
        "_habit": case % len(HABITS),
    }


wire_by_hand = Exercise(
    "wire_by_hand",
    draw=_draw_wires,
    where="the section “Wire it by hand”.",
    understood="Attention brings two things to one place, and a few neurons put them together. You know how, because you have built them.",
    hints=(
        "Look for a direction along which x[:, at] is 0, 1 or 2: how many of the two hold. `torch.linalg.lstsq` finds it, with a column of ones beside x "
        "for the offset.",
        "0, 1, 2 should become same, different, same. In `xor_weights` two kinks did that and b2 said what comes out at 0. There is no b2 here: "
        "a neuron that is on for all of 0, 1 and 2 can write it.",
        "To be silent at the other positions, ask there for a number far below zero while you look for the direction. Position `at` is one of many, so "
        "give its rows more weight.",
    ),
)


def _wires(answer: Any, x: torch.Tensor, **inputs: Any) -> dict[str, torch.Tensor]:
    """The three arrays that a student's function returns, float64."""
    result = answer(x, *inputs.values())
    if not isinstance(result, (tuple, list)) or len(result) != 3:
        raise NotAsAsked(f"three tensors (W1, b1, W2) were expected, and {describe_result(result)}")
    if not all(isinstance(part, torch.Tensor) and part.is_floating_point() for part in result):
        raise NotAsAsked("W1, b1 and W2 should be tensors of floats")
    W1, b1, W2 = (part.detach().double() for part in result)
    d, n = x.shape[-1], b1.numel()
    if (W1.shape, b1.shape, W2.shape) != ((d, n), (n,), (n, d)):
        shapes = ", ".join(str(list(part.shape)) for part in (W1, b1, W2))
        raise NotAsAsked(f"the shapes [d_model, n], [n] and [n, d_model] were expected, not {shapes}; d_model is {d}")
    if not 1 <= n <= MAX_NEURONS:
        raise NotAsAsked(f"from 1 to {MAX_NEURONS} neurons were asked for, not {n}")
    return {"W1": W1, "b1": b1, "W2": W2}


def _right(observation: Any, inputs: dict[str, Any]) -> torch.Tensor:
    """Which words are said rightly in the held-out sentences with these neurons: [scenes, T]."""
    x, words = _wishes(held_out=True)
    W1, b1, W2 = (observation[name] for name in ("W1", "b1", "W2"))
    if not all(bool(part.isfinite().all()) for part in (W1, b1, W2)):
        raise NotAsAsked("W1, b1 and W2 should be finite numbers")
    permuted_x = x[..., inputs["_order"]] * inputs["_signs"]
    ffn_output = torch.empty_like(x)
    ffn_output[..., inputs["_order"]] = (permuted_x @ W1 + b1).relu() @ W2 * inputs["_signs"]
    predictions = ((x + ffn_output) @ toy_transformer.load().scores.weight.detach().double().T).argmax(-1)
    return predictions == words


def _kinds_of_sentences(observation: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    habit, scenes = HABITS[inputs["_habit"]], world.scenes(held_out=True)
    right = _right(observation, inputs)[:, habit.place - 1]
    first, second = (torch.tensor([getattr(scene, name) for scene in scenes]) for name in (habit.first, habit.second))
    kinds = {
        f"{habit.first} and {habit.second}": first & second,
        f"{habit.first} alone": first & ~second,
        f"{habit.second} alone": ~first & second,
        f"neither {habit.first} nor {habit.second}": ~first & ~second,
    }
    return {
        f"right in new sentences with {kind}": right[which].double().mean().item() >= MIN_SHARE
        for kind, which in kinds.items()
    }


def _other_words(observation: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    share = (
        _right(observation, inputs)[:, [place - 1 for place in TASKS["two attributes"].plain]].double().mean().item()
    )
    return {"the other words stay right": share >= SILENT}


@wire_by_hand.aspect("the word that matters", points=3, facts=_kinds_of_sentences)
def wire_by_hand_the_word_that_matters(answer: Any, **inputs: Any) -> Any:
    return _wires(answer, **inputs)


@wire_by_hand.aspect("the other words", points=2, facts=_other_words, needs="the word that matters")
def wire_by_hand_the_other_words(answer: Any, **inputs: Any) -> Any:
    return _wires(answer, **inputs)
