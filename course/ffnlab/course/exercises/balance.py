"""Notebook 09, Mixture of Experts II, balance and capacity: how each exercise is called, and on what inputs. No answers.

T tokens, E experts, k slots a token; idx [T, k] names the experts of each token's slots, all different within a row.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab.course.counterexample import counterexample, rows_of_numbers
from ffnlab.observation import plain_data
from ffnlab.observation.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    backpropagate,
    describe_result,
    gradients,
    observe_call,
    on_each,
    quiz,
)
from ffnlab.observation.plain_data import Failure

NOTEBOOK = "09_balance"


def _choices(rng: Draw, T: int, E: int, k: int, first: int = 0) -> torch.Tensor:
    """idx [T, k]: random experts from `first` to E - 1, different within each row; low numbers are chosen more often."""
    score = rng.normal(T, E - first) - 0.25 * torch.arange(E - first)
    return first + score.topk(k, dim=1).indices


# diagnose_load


def _draw_counts(rng: Draw, case: int) -> dict[str, Any]:
    """Counts of some experts: all busy, one of them with less than a hundredth; some without tokens; one with all of them; averages below 1."""
    E = rng.integer(5, 9)
    full = torch.tensor(rng.distinct(E, 1, 60))
    fullest, emptiest = rng.distinct(2, 0, E - 1)
    full[fullest], full[emptiest] = 150, 1
    others = [e for e in range(E) if e not in (fullest, emptiest)]
    some = full.clone()
    some[[others[i] for i in rng.distinct(2, 0, E - 3)]] = 0
    all_at_one = torch.zeros(E, dtype=torch.int64)
    all_at_one[rng.integer(0, E - 1)] = rng.integer(10, 99)
    below = 0.2 + 0.7 * rng.normal(E).sigmoid()  # averages over steps need not be whole
    below[fullest], below[emptiest] = 0.0, 1e-4
    even = torch.full((E,), rng.integer(2, 9))
    return {"full": full, "some": some, "all_at_one": all_at_one, "even": even, "below": below}


diagnose_load = Exercise(
    "diagnose_load",
    draw=_draw_counts,
    where="the section “A planted collapse”.",
    understood="Three numbers describe a load: how overfull the fullest expert is, how many get nothing, and how many seem to work.",
    hints=(
        "Make the counts floats and divide by their sum: that is the share p of each expert.",
        "The entropy is −Σ p·ln p, with the natural logarithm. e to the power of it is 1 for a single expert and E for an even load.",
        "0·ln 0 counts as 0, but a computer says NaN. Leave the zeros out, or ask `torch.special.entr`, which is −p·ln p and knows this.",
        "`dead` counts the zeros: compare, sum, and make it an int. Return a dict with the three names as keys.",
    ),
)

DIAGNOSES = ("max_over_mean", "dead", "effective")


def _diagnosis(answer: Any, counts: torch.Tensor) -> Any:
    result = answer(counts)
    if not isinstance(result, dict):
        raise NotAsAsked(f"{describe_result(result)} instead of a dict")
    missing_keys = [name for name in DIAGNOSES if name not in result]
    if missing_keys:
        raise NotAsAsked(f"the dict has no “{missing_keys[0]}”")
    return {name: result[name] for name in DIAGNOSES}


@diagnose_load.aspect("every expert has tokens", points=1, atol=1e-5, rtol=1e-5)
def diagnose_load_every_expert_has_tokens(answer: Any, full: Any, even: Any, **_: Any) -> Any:
    return {
        "an uneven load": observe_call(partial(_diagnosis, answer, full)),
        "an even load": observe_call(partial(_diagnosis, answer, even)),
    }


@diagnose_load.aspect("experts without tokens", points=1.5, atol=1e-5, rtol=1e-5)
def diagnose_load_experts_without_tokens(answer: Any, some: Any, all_at_one: Any, **_: Any) -> Any:
    return {
        "two experts without tokens": observe_call(partial(_diagnosis, answer, some)),
        "one expert with all tokens": observe_call(partial(_diagnosis, answer, all_at_one)),
    }


@diagnose_load.aspect("counts that are floats, and left as they were", points=0.5, atol=1e-5, rtol=1e-5)
def diagnose_load_counts_that_are_floats_and_left_as_they_were(
    answer: Any, full: Any, some: Any, below: Any, **_: Any
) -> Any:
    inputs = {
        "counts in float32": some.float(),
        "counts in float64": full.double(),
        "whole numbers": full,
        "fractions, all below 1": below,
        "fractions in float32": below.float(),
    }
    return on_each(partial(_diagnosis, answer), inputs)


# load_balance_loss


def _cover_experts(idx: torch.Tensor, E: int) -> torch.Tensor:
    """idx with every expert somewhere in it: row e gets expert e, where it has it not."""
    for expert in range(E):
        if expert not in idx[expert].tolist():
            idx[expert, -1] = expert
    return idx


def _draw_routing(rng: Draw, case: int) -> dict[str, Any]:
    """Logits and choices of T tokens. In `idx` every expert has tokens, in `gap` the last one has none; neither need be the top k.

    In `least` all are at the expert that they want least, so that the loss is below 1.
    """
    k, E, T = 2 + case % 2, rng.integer(5, 8), rng.integer(13, 17)
    logits = rng.normal(T, E, scale=1.5)
    return {
        "logits": logits,
        "least": logits.softmax(-1).mean(0).argmin().expand(T, 1).clone(),
        "idx": _cover_experts(_choices(rng, T, E, k), E),
        "gap": _choices(rng, T, E - 1, k),
        "single": _cover_experts(_choices(rng, T, E, 1), E),
    }


load_balance_loss = Exercise(
    "load_balance_loss",
    draw=_draw_routing,
    where="the section “A loss for balance”.",
    understood="Counting has no gradient. It comes through the probabilities: down for crowded experts, and so up for empty ones.",
    hints=(
        "Two vectors with E numbers each: f is counted from `idx`, P is an average of probabilities. Which dimension goes away in each?",
        "`torch.bincount(idx.flatten(), minlength=E)` counts. All k·T slots are counted, so that f adds up to 1.",
        "P is the mean over tokens of a softmax over experts: `dim=-1` is that of the experts.",
        "Multiply f and P entry by entry, add up, times E. For an even load that gives 1.",
    ),
)


@load_balance_loss.aspect("value", points=2, atol=1e-6, rtol=1e-6)  # counts / (k * T) is float32
def load_balance_loss_value(answer: Any, logits: Any, idx: Any, single: Any, least: Any, **_: Any) -> Any:
    return {
        "all at the least wanted expert": observe_call(lambda: answer(logits.clone(), least)),
        "k slots a token": observe_call(lambda: answer(logits.clone(), idx)),
        "k = 1": observe_call(lambda: answer(logits.clone(), single)),
    }


@load_balance_loss.aspect("gradient", points=1.5, atol=1e-6, rtol=1e-6)
def load_balance_loss_gradient(answer: Any, logits: Any, idx: Any, least: Any, **_: Any) -> Any:
    below_one = gradients(lambda logits: answer(logits, least), logits=logits.clone())
    observation: dict[str, Any] = dict(gradients(lambda logits: answer(logits, idx), logits=logits))
    return observation | {f"{name}, all at the least wanted expert": slope for name, slope in below_one.items()}


@load_balance_loss.aspect("other inputs", points=1.5, atol=1e-6, rtol=1e-6)
def load_balance_loss_other_inputs(answer: Any, logits: Any, idx: Any, gap: Any, least: Any, **_: Any) -> Any:
    E = logits.shape[1]
    everyone = torch.arange(E).expand(len(logits), E).clone()
    observation = {
        "an expert without tokens": observe_call(lambda: answer(logits.clone(), gap.clone())),
        "one token": observe_call(lambda: answer(logits[:1].clone(), idx[:1].clone())),
        "k = E": observe_call(lambda: answer(logits.clone(), everyone)),
        "float32": observe_call(lambda: answer(logits.float(), idx.clone())),
        "float32, all at the least wanted expert": observe_call(lambda: answer(logits.float(), least)),
        "large logits": observe_call(lambda: answer(1e4 * logits, idx.clone())),
    }
    logits_copy, idx_copy = logits.clone(), idx.clone()
    observe_call(lambda: answer(logits_copy, idx_copy))
    return observation | {
        "logits and idx are left as they were": torch.equal(logits_copy, logits) and torch.equal(idx_copy, idx)
    }


# own_expert_counterexample


def own_expert(table: list[list[float]]) -> bool:
    """A classmate's: whether each cluster has an expert to itself. table[c][e]: the share of the tokens of cluster c that goes to expert e."""
    favourites = {max(range(len(row)), key=lambda e: row[e]) for row in table}
    loads = [sum(column) for column in zip(*table, strict=True)]
    return len(favourites) == len(table) and all(abs(load - 1) < 1e-9 for load in loads)


def one_each(table: list[list[float]]) -> bool:
    """The same, looked up entry by entry: all tokens of a cluster go to one expert, and to each expert goes one cluster."""
    whole = [[abs(share - 1) < 1e-9 for share in row] for row in table]
    return all(sum(row) == 1 for row in whole) and all(sum(column) == 1 for column in zip(*whole, strict=True))


def _shares(observation: Any) -> tuple[list[list[float]]]:
    table = rows_of_numbers(observation, "cluster")
    if len(table) != len(table[0]):
        raise NotAsAsked(
            f"there are {len(table)} clusters and {len(table[0])} experts; as many experts as clusters was asked for"
        )
    if any(share < 0 for row in table for share in row) or any(abs(sum(row) - 1) > 1e-9 for row in table):
        raise NotAsAsked("every row holds the shares of one cluster: none of them is negative, and they add up to 1")
    return (table,)


def _why_even(table: list[list[float]]) -> str:
    if one_each(table):
        return "each cluster has an expert to itself, and the code says so"
    if any(abs(sum(column) - 1) >= 1e-9 for column in zip(*table, strict=True)):
        return "the load is not even, and the code notices"
    return "two clusters have the same favourite, and the code notices"


own_expert_counterexample = counterexample(
    "own_expert_counterexample",
    code=own_expert,
    right=one_each,
    form=_shares,
    size=len,
    par=2,
    why_right=_why_even,
    where="the section “A classmate's test”.",
    understood="An even load says how much each expert gets, not what. Experts can be equally busy, and each of them can have tokens of every cluster.",
    hints=(
        "Which tables does the code accept? List its two conditions, in your own words.",
        "The load of an expert is a sum down a column. Two different tables can have the same sums.",
        "Begin with a table in which each cluster has its own expert. Let two clusters exchange some of their tokens, so that no load changes.",
    ),
)


# drop_mask


def _draw_slots(rng: Draw, case: int) -> dict[str, Any]:
    """idx with two or three slots a token, and a capacity that some experts exceed, already in the first slot."""
    k, E, T = 2 + case % 2, rng.integer(4, 5), rng.integer(11, 14)
    idx = _choices(rng, T, E, k)
    first = torch.bincount(idx[:, 0], minlength=E)
    return {
        "idx": idx,
        "E": E,
        "capacity": max(2, int(first.max()) - 1),
        "low": 2,
        "single": _choices(rng, T, E, 1),
        "gap": _choices(rng, T, E, 2, first=1),
    }


drop_mask = Exercise(
    "drop_mask",
    draw=_draw_slots,
    where="the section “Capacity”.",
    understood="Who comes late is dropped: a token's second choice waits until all first choices are served, and late tokens lose out to early ones.",
    hints=(
        "Write it with two loops first: over the slots outside, over the tokens inside. Keep a list with the number of slots each expert has taken.",
        "A slot is kept if its expert has taken fewer than `capacity` so far. Only then the expert's number grows by one.",
        "Without loops: `idx.T.flatten()` puts the slots in the order of service. Turn them into one-hot rows [k·T, E].",
        "A running sum over these rows says how many each expert was given up to here; pick the entry of the slot's own expert.",
        "At the end, back from [k·T] to [T, k]: the order of service was slot by slot, so the reshape is to [k, T], and then transposed.",
    ),
)


@drop_mask.aspect("one slot a token", points=1)
def drop_mask_one_slot_a_token(answer: Any, single: Any, E: int, low: int, **_: Any) -> Any:
    return {f"capacity {c}": observe_call(lambda c=c: answer(single.clone(), E, c)) for c in (low, low + 1)}  # type: ignore[misc]


@drop_mask.aspect("several slots a token", points=2.5)
def drop_mask_several_slots_a_token(answer: Any, idx: Any, E: int, capacity: int, low: int, **_: Any) -> Any:
    several = {f"capacity {c}": observe_call(lambda c=c: answer(idx.clone(), E, c)) for c in (low, capacity)}  # type: ignore[misc]
    return several | {f"capacity {capacity + 2}": observe_call(lambda: answer(idx.clone(), E, capacity + 2))}


@drop_mask.aspect("at the edges", points=1)
def drop_mask_at_the_edges(answer: Any, idx: Any, gap: Any, E: int, low: int, **_: Any) -> Any:
    everyone = torch.arange(E).expand(5, E).clone()
    return {
        "capacity 0": observe_call(lambda: answer(idx.clone(), E, 0)),
        "room for all": observe_call(lambda: answer(idx.clone(), E, idx.numel())),
        "experts without tokens": observe_call(lambda: answer(gap.clone(), E, low)),
        "one token": observe_call(lambda: answer(idx[:1].clone(), E, 1)),
        "k = E": observe_call(lambda: answer(everyone, E, 3)),
    }


@drop_mask.aspect("idx is left as it was", points=0.5, needs="one slot a token")
def drop_mask_idx_is_left_as_it_was(answer: Any, idx: Any, E: int, low: int, **_: Any) -> Any:
    idx_copy = idx.clone()
    first = answer(idx_copy, E, low)
    if not isinstance(first, torch.Tensor):
        raise NotAsAsked(f"{describe_result(first)} instead of a tensor")
    again = answer(idx_copy, E, low)
    is_unchanged, same = torch.equal(idx_copy, idx), torch.equal(first, again)
    return {"idx is left as it was": is_unchanged, "two calls give the same": same, "dtype": str(first.dtype)}


# bias_update


def _draw_bias(rng: Draw, case: int) -> dict[str, Any]:
    """Counts whose mean is not whole (`uneven`; one of them is the mean rounded down), and whole, met by some (`exact`).

    In `thousands` they differ by one, which is lost when they are rounded to half precision. In `unused` two experts have
    no tokens, and another is above the mean of all, but below the mean of the rest.
    """
    E = rng.integer(6, 9)
    low = rng.integer(8, 20)
    uneven = torch.tensor([low, low - 5, low + 9, low + 2, *[low - 1] * (E - 4)])
    uneven[-1] += low * E + rng.integer(1, E - 1) - int(uneven.sum())
    exact = torch.tensor([low, low, low + 7, low - 3, low - 4, *[low] * (E - 5)])
    unused = torch.tensor([0, 0, 6, 9, *[rng.integer(11, 13) for _ in range(E - 4)]])
    turn = rng.distinct(E, 0, E - 1)
    return {
        "b": rng.normal(E, scale=0.3),
        "uneven": uneven[turn],
        "exact": exact[turn],
        "thousands": 32 * rng.integer(130, 250) + (torch.tensor(turn) < rng.integer(1, E - 1)).long(),
        "unused": unused[turn],
        "u": rng.uniform(0.01, 0.1),
    }


bias_update = Exercise(
    "bias_update",
    draw=_draw_bias,
    where="the section “Balance without a loss”.",
    understood="All experts move by the same small step, up or down: the load is steered, not learned, and no gradient takes part.",
    hints=(
        "Which experts should become easier to choose: those with more tokens than the mean, or with fewer?",
        "Only the sign of the difference counts, not its size. `torch.sign` is 0 at 0.",
        "`counts` may be whole numbers: make them floats before taking the mean. Half precision can't tell 4,001 tokens from 4,002.",
        "`b` may be an nn.Parameter. Work under `torch.no_grad()` or with `b.detach()`, and make a new tensor: nothing is changed in place.",
    ),
)


@bias_update.aspect("values", points=2, atol=1e-6)
def bias_update_values(answer: Any, b: Any, uneven: Any, thousands: Any, unused: Any, u: float, **_: Any) -> Any:
    return {
        "an uneven load": observe_call(lambda: answer(b.clone(), uneven.clone(), u)),
        "another u": observe_call(lambda: answer(b.clone(), uneven.clone(), 3 * u)),
        "thousands of tokens, nearly even": observe_call(lambda: answer(b.clone(), thousands.clone(), u)),
        "two experts without tokens": observe_call(lambda: answer(b.clone(), unused.clone(), u)),
    }


@bias_update.aspect("experts exactly at the mean", points=1, atol=1e-6)
def bias_update_experts_exactly_at_the_mean(answer: Any, b: Any, exact: Any, u: float, **_: Any) -> Any:
    even = torch.full_like(exact, 7)
    return {
        "some at the mean": observe_call(lambda: answer(b.clone(), exact.clone(), u)),
        "an even load": observe_call(lambda: answer(b.clone(), even, u)),
    }


@bias_update.aspect("float32, and counts that are floats", points=0.5, atol=1e-6)
def bias_update_float32_and_counts_that_are_floats(
    answer: Any, b: Any, uneven: Any, exact: Any, thousands: Any, u: float, **_: Any
) -> Any:
    return {
        "b in float32": observe_call(lambda: answer(b.float(), uneven.clone(), u)),
        "b in float32, thousands of tokens": observe_call(lambda: answer(b.float(), thousands.clone(), u)),
        "b in float32, counts in float64": observe_call(lambda: answer(b.float(), exact.double(), u)),
        "counts in float32": observe_call(lambda: answer(b.clone(), uneven.float(), u)),
    }


@bias_update.aspect("a new tensor without a graph", points=0.5, needs="values")
def bias_update_a_new_tensor_without_a_graph(answer: Any, b: Any, uneven: Any, u: float, **_: Any) -> Any:
    plain, counts = b.clone(), uneven.clone()
    parameter = nn.Parameter(b.clone())
    observe_call(lambda: answer(plain, counts, u))
    result = answer(parameter, counts, u)
    if not isinstance(result, torch.Tensor):
        raise NotAsAsked(f"{describe_result(result)} instead of a tensor")
    return {
        "b and counts are left as they were": torch.equal(plain, b)
        and torch.equal(counts, uneven)
        and torch.equal(parameter.detach(), b),
        "with b an nn.Parameter, the result needs a gradient": result.requires_grad,
    }


# SharedExpertMoE


def _draw_moe(rng: Draw, case: int) -> dict[str, Any]:
    d_model, d_ff = rng.distinct(2, 6, 11)
    return {
        "x": rng.normal(2, 3, 4, d_model),
        "sizes": [d_model, d_ff, 4 + case % 2, 2 + case % 2],
        "shift": rng.uniform(0.0, 6.0),
    }


SharedExpertMoE = Exercise(
    "SharedExpertMoE",
    draw=_draw_moe,
    where="the section “An expert for everyone”.",
    understood="The shared expert is outside the routing: every token gets it in full, and the routed ones add what is special.",
    hints=(
        "In `__init__`: the router, an `nn.ModuleList` of n_experts new FFNs, and one more FFN that is not in the list.",
        "Flatten the leading dimensions first, `x.reshape(-1, d_model)`, and restore the shape of x at the end.",
        "Route as in notebook 08: softmax over experts, the top_k largest, their values divided by their sum.",
        "Start with what the shared expert says, and add the routed experts, each with its weight. The shared one has no weight.",
        "To stay short you may call every expert on all tokens and weigh with a [T, E] matrix that is zero for those not chosen.",
    ),
)


def _make_values(shape: Any, number: int, which: int, shift: float) -> torch.Tensor:
    """Fixed numbers for parameter `which` of part `number`: the router is part 0, the shared expert 1, then the routed ones."""
    place = torch.arange(math.prod(shape), dtype=torch.float64)
    return 0.7 * torch.cos(2.3 * place + 1.7 * number + 5.1 * which + shift).reshape(shape)


def _moe(answer: Any, sizes: list[int], shift: float) -> Any:
    """A student's module in eval mode and float64, its parameters filled with fixed numbers."""
    module = answer(*sizes)
    if not isinstance(module, nn.Module):
        raise NotAsAsked(f"{describe_result(module)} instead of an nn.Module")
    layer: Any = module.double().eval()
    with torch.no_grad():
        for number, part in enumerate([layer.router, layer.shared, *layer.experts]):
            for which, parameter in enumerate(part.parameters()):
                parameter.copy_(_make_values(parameter.shape, number, which, shift))
    return layer


class _FixedFFN:
    """The drawn numbers as an FFN [..., d_model] -> [..., d_model] of part `number`."""

    def __init__(self, number: int, d_model: int, d_ff: int, shift: float) -> None:
        shapes = ((d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,))
        self.parameters = [
            _make_values(shape, number, which, shift).requires_grad_() for which, shape in enumerate(shapes)
        ]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        W1, b1, W2, b2 = self.parameters
        return torch.relu(x @ W1.T + b1) @ W2.T + b2


class _Layer:
    """What is asked, from the drawn numbers alone; `is_renormalised` is one of the two weightings that are accepted."""

    def __init__(self, sizes: list[int], shift: float, is_renormalised: bool) -> None:
        d_model, d_ff, E, _ = sizes
        self.router = _make_values((E, d_model), 0, 0, shift).requires_grad_()
        self.shared, *self.experts = (_FixedFFN(number, d_model, d_ff, shift) for number in range(1, E + 2))
        self.is_renormalised = is_renormalised

    def __call__(self, x: torch.Tensor, top_k: int) -> torch.Tensor:
        weights, idx = (x @ self.router.T).softmax(-1).topk(top_k, dim=-1)
        weights = F.normalize(weights, p=1.0, dim=-1) if self.is_renormalised else weights
        outputs = torch.stack([expert(x) for expert in self.experts], dim=-2)  # [..., E, d_model]
        top_outputs = torch.take_along_dim(outputs, idx.unsqueeze(-1), dim=-2)
        return self.shared(x) + (weights.unsqueeze(-1) * top_outputs).sum(-2)

    def gradients(self, x: torch.Tensor, top_k: int) -> dict[str, torch.Tensor]:
        leaf = x.clone().requires_grad_()
        backpropagate(self(leaf, top_k))
        routed_parameters = [parameter for expert in self.experts for parameter in expert.parameters]
        return _by_part(leaf, self.router, self.shared.parameters, routed_parameters)


def _by_part(x: Any, router: Any, shared_leaves: Any, routed_leaves: Any) -> dict[str, torch.Tensor]:
    """Gradients in one row for each part; zeros where a parameter took no part."""

    def row(leaves: Any) -> torch.Tensor:
        return torch.cat([torch.zeros(0, dtype=torch.float64), *(_slope(leaf).flatten() for leaf in leaves)])

    return {
        "x": row([x]),
        "the router": row([router]),
        "the shared expert": row(shared_leaves),
        "the routed experts": row(routed_leaves),
    }


def _slope(leaf: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def _off(value: Any, right_values: list[torch.Tensor]) -> torch.Tensor:
    """By how much a tensor is off the nearest of those that are accepted; what is right leaves 0, not 1e-17."""
    if not isinstance(value, torch.Tensor) or value.shape != right_values[0].shape:
        raise NotAsAsked(f"{plain_data.describe(value)} instead of a tensor of shape {list(right_values[0].shape)}")
    rests = [value.double() - right.detach() for right in right_values]
    return min(rests, key=lambda rest: float(rest.abs().sum())).round(decimals=9)


@SharedExpertMoE.aspect("parts", points=0.5)
def shared_expert_mo_e_parts(answer: Any, sizes: list[int], **_: Any) -> Any:
    result = answer(*sizes)
    if not isinstance(result, nn.Module):
        raise NotAsAsked(f"{describe_result(result)} instead of an nn.Module")
    module: Any = result
    experts = list(module.experts)
    inside = {id(p) for p in module.parameters()}
    part_ids = [{id(p) for p in part.parameters()} for part in [module.shared, *experts]]
    return {
        "shape of router.weight": list(module.router.weight.shape),
        "router has a bias": getattr(module.router, "bias", None) is not None,
        "number of experts": len(experts),
        "no weights are used by two experts": len(set().union(*part_ids)) == sum(map(len, part_ids)),
        "parameters() lists those of the experts": all(ids <= inside for ids in part_ids),
        "parameters in all": sum(p.numel() for p in module.parameters()),
    }


def _moe_inputs(x: torch.Tensor, sizes: list[int]) -> dict[str, tuple[torch.Tensor, int]]:
    """x [A, B, T, d_model] and parts of it, each with a top_k."""
    E, k = sizes[2:]
    return {
        "x of shape [B, T, d_model]": (x[0].clone(), k),
        "x of shape [T, d_model]": (x[0, 0].clone(), k),
        "x of shape [A, B, T, d_model]": (x.clone(), k),
        "non-contiguous x": (x[0].clone().transpose(0, 1), k),
        "one token": (x[0, :1, :1].clone(), k),
        "top_k = 1": (x[0].clone(), 1),
        "top_k = n_experts": (x[0].clone(), E),
    }


def _moe_facts(observation: Any, inputs: dict[str, Any]) -> Any:
    """By how much each output is off, computed from what was drawn, for the nearer of the two weightings that are accepted."""
    layers = [_Layer(inputs["sizes"], inputs["shift"], is_renormalised) for is_renormalised in (True, False)]

    def off(label: str, x: torch.Tensor, top_k: int) -> Any:
        return _off(observation[label], [layer(x, top_k) for layer in layers])

    return {
        label: observation[label] if isinstance(observation[label], Failure) else off(label, *case)
        for label, case in _moe_inputs(inputs["x"], inputs["sizes"]).items()
    }


@SharedExpertMoE.aspect("values", points=1.5, facts=_moe_facts)
def shared_expert_mo_e_values(answer: Any, x: Any, sizes: list[int], shift: float) -> Any:
    modules: dict[int, Any] = {}  # one module for each top_k: making them is what takes the time

    def case(tokens: torch.Tensor, top_k: int) -> Any:
        if top_k not in modules:
            modules[top_k] = _moe(answer, [*sizes[:3], top_k], shift)
        module, tokens_copy = modules[top_k], tokens.clone()
        with torch.no_grad():
            y = module(tokens)
        if not isinstance(y, torch.Tensor):
            raise NotAsAsked(f"{describe_result(y)} instead of a tensor")
        if y.shape != tokens.shape:
            raise NotAsAsked(f"the output has shape {list(y.shape)} for x of shape {list(tokens.shape)}")
        if not torch.equal(tokens, tokens_copy):
            raise NotAsAsked("x itself was changed: make a new tensor")
        n_scores, n_experts = len(module.router.weight), len(module.experts)
        if n_scores != n_experts:
            raise NotAsAsked(f"the router scores {n_scores} experts, and there are {n_experts}")
        return y

    return {label: observe_call(partial(case, *arguments)) for label, arguments in _moe_inputs(x, sizes).items()}


def _gradient_facts(observation: Any, inputs: dict[str, Any]) -> Any:
    """Which parts a gradient reaches, and by how much it is off, for the nearer of the two weightings."""
    layers = [_Layer(inputs["sizes"], inputs["shift"], is_renormalised) for is_renormalised in (True, False)]
    right = [layer.gradients(inputs["x"], inputs["sizes"][3]) for layer in layers]
    reach = {f"a gradient reaches {name}": bool(observation[name].abs().max() > 1e-6) for name in right[0]}
    return reach | {f"gradient of {name}": _off(observation[name], [each[name] for each in right]) for name in right[0]}


@SharedExpertMoE.aspect("gradients", points=1, facts=_gradient_facts)
def shared_expert_mo_e_gradients(answer: Any, x: Any, sizes: list[int], shift: float) -> Any:
    module = _moe(answer, sizes, shift)
    leaf = x.clone().requires_grad_()
    backpropagate(module(leaf))
    routed_parameters = [parameter for expert in module.experts for parameter in expert.parameters()]
    return _by_part(leaf, module.router.weight, module.shared.parameters(), routed_parameters)


# Quizzes. Their texts are in the notebook.

quiz_below_one = quiz(
    "quiz_below_one",
    where="the section “A loss for balance”.",
    understood="At balance the loss is 1, but 1 is no lower bound: chosen experts may be those with the smaller probabilities.",
)

quiz_dropped = quiz(
    "quiz_dropped",
    where="the section “Capacity”.",
    understood="A dropped token's feed-forward output is 0; it leaves the block by the residual connection as it came.",
)

quiz_selection = quiz(
    "quiz_selection",
    where="the section “Balance without a loss”.",
    understood="The selection bias moves the choice alone. The weights of the chosen experts are the router's own.",
)
