"""Notebook 09, Mixture of Experts II, balance and capacity: how each exercise is called, and on what inputs. No answers.

T tokens, E experts, k slots a token; idx [T, k] names the experts of each token's slots, all different within a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ffnlab.course.counterexample import counterexample, rows_of_numbers
from ffnlab.observation import plain_data
from ffnlab.observation.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    describe_result,
    gradients,
    observe_call,
    quiz,
)
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import plural

NOTEBOOK = "09_balance"


def _choices(rng: Draw, T: int, E: int, k: int, first: int = 0) -> torch.Tensor:
    """idx [T, k]: random experts from `first` to E - 1, different within each row; low numbers are chosen more often."""
    score = rng.normal(T, E - first) - 0.25 * torch.arange(E - first)
    return first + score.topk(k, dim=1).indices


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
        clusters, experts = plural(len(table), "cluster"), plural(len(table[0]), "expert")
        raise NotAsAsked(f"the table has {clusters} and {experts}; as many experts as clusters were expected")
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
    where="the section “Fair is not yet useful”.",
    understood="An even load says how much each expert gets, not what. Experts can be equally busy, and each of them can have tokens of every cluster.",
    hints=(
        "Which tables does the code accept? List its two conditions, in your own words.",
        "The load of an expert is a sum down a column. Two different tables can have the same sums.",
        "Begin with a table in which each cluster has its own expert. Let two clusters exchange some of their tokens, so that no load changes.",
    ),
)


# lowest_loss


def record(E: int) -> float:
    """The smallest balance loss that is known for E experts and one slot a token; no random search found less for 3 to 10 experts."""
    busy = (E + 1) // 2
    return E / (busy * (E - busy + 1))


def _draw_experts(rng: Draw, case: int) -> dict[str, Any]:
    """Numbers of experts: the notebook's, an odd and an even one."""
    return {"experts": [8, 3 + 2 * rng.integer(1, 3), 10 + 2 * rng.integer(0, 3)]}


lowest_loss = Exercise(
    "lowest_loss",
    draw=_draw_experts,
    where="the section “How low can it go?”.",
    understood="The loss is smallest where half of the experts are idle, so its value says little about the load. But they are only a hair behind: "
    "one small step of its gradient, and they have tokens.",
    hints=(
        "A product f·P is small where much load meets little probability. Where can a token's probability go, so that it meets no load at all?",
        "To an expert that nobody chooses. A token's own expert must be ahead of it, but only just.",
        "If m experts are idle, a token can share its probability equally among its own expert and these m. What is the loss then, if the "
        "others share the tokens evenly? Try every m.",
    ),
)


class _Router:
    """Logits [T, E] of which the loss is asked, each token at its largest one, of equal ones at the first.

    Raises:
        NotAsAsked: they are something else.
    """

    def __init__(self, logits: Any, E: int) -> None:
        if isinstance(logits, Failure):
            raise NotAsAsked(logits.message)
        if not isinstance(logits, torch.Tensor) or logits.dim() != 2 or logits.shape[1] != E:
            raise NotAsAsked(f"{plain_data.describe(logits)} instead of a tensor of shape [T, {E}]")
        if not 1 <= len(logits) <= 10 * E:
            raise NotAsAsked(f"there are {len(logits)} tokens; for {E} experts, from 1 to {10 * E} were asked for")
        rows = logits.double()
        if not rows.isfinite().all():
            raise NotAsAsked("a logit is not finite")
        self.E = E
        self.chosen = (rows == rows.amax(-1, keepdim=True)).int().argmax(-1)  # [T]
        self.p = rows.softmax(-1)  # [T, E]
        self.f = torch.bincount(self.chosen, minlength=E) / len(rows)
        self.loss = float(E * (self.f * self.p.mean(0)).sum())

    def why_not_lower(self) -> str:
        """What keeps the loss above the record."""
        busy = self.f > 0
        own = self.p.gather(1, self.chosen[:, None])[:, 0]
        elsewhere = self.p[:, busy].sum(-1) - own  # at experts that other tokens choose
        n = int(busy.sum())
        if n == self.E:
            return "every expert has tokens"
        if n == 1:
            return "one expert has all tokens"
        if elsewhere.mean() > 0.02:
            return "tokens give probability to experts that others choose"
        if n * (self.E - n + 1) < round(self.E / record(self.E)):
            return "too few experts are idle" if n > self.E / 2 else "too many experts are idle"
        if (own - self.p[:, ~busy].amax(-1)).mean() > 0.02 * own.mean():
            return "tokens are surer of their own expert than they need be"
        return "the idle experts or the others are not treated alike"


def _below_one(observation: Any, inputs: dict[str, Any]) -> dict[str, str]:
    routers = {E: _Router(observation[str(E)], E) for E in inputs["experts"]}
    return {f"{E} experts": "below 1" if router.loss < 1 - 1e-6 else "1 or more" for E, router in routers.items()}


def _at_the_record(observation: Any, inputs: dict[str, Any]) -> dict[str, str]:
    """Of each number of experts, why its loss is above the record; empty where it is not."""
    routers = {E: _Router(observation[str(E)], E) for E in inputs["experts"]}
    return {
        f"{E} experts": "" if router.loss <= 1.02 * record(E) else router.why_not_lower()
        for E, router in routers.items()
    }


def _logits(answer: Any, experts: list[int]) -> dict[str, Any]:
    return {str(E): observe_call(lambda E=E: answer(E)) for E in experts}  # type: ignore[misc]


@lowest_loss.aspect("below 1", points=1, facts=_below_one)
def lowest_loss_below_1(answer: Any, experts: list[int]) -> Any:
    return _logits(answer, experts)


@lowest_loss.aspect("as low as the record", points=3, facts=_at_the_record, needs="below 1")
def lowest_loss_as_low_as_the_record(answer: Any, experts: list[int]) -> Any:
    return _logits(answer, experts)


# balance_step


def _cover_experts(idx: torch.Tensor, E: int) -> torch.Tensor:
    """idx with every expert somewhere in it: row e gets expert e, where it has it not."""
    for expert in range(E):
        if expert not in idx[expert].tolist():
            idx[expert, -1] = expert
    return idx


def _draw_step(rng: Draw, case: int) -> dict[str, Any]:
    """Logits and choices of T tokens, a selection bias and its step.

    In `idx` every expert has slots, in `gap` the last one has none; neither need be the top k. In `least` all tokens are at the expert that they want
    least, so that the loss is below 1. In `at_mean` some of 8 experts have the mean load exactly, in eighths, which no rounding moves.
    """
    k, E, T = 2 + case % 2, rng.integer(5, 7), rng.integer(13, 17)
    logits = rng.normal(T, E, scale=1.5)
    at_mean = torch.tensor([8, 8, 15, 5, 4, 8, 8, 8])[rng.distinct(8, 0, 7)]
    return {
        "logits": logits,
        "idx": _cover_experts(_choices(rng, T, E, k), E),
        "gap": _choices(rng, T, E - 1, k),
        "single": _cover_experts(_choices(rng, T, E, 1), E),
        "least": logits.softmax(-1).mean(0).argmin().expand(T, 1).clone(),
        "b": rng.normal(E, scale=0.3),
        "u": rng.uniform(0.01, 0.1),
        "at_mean": torch.repeat_interleave(torch.arange(8), at_mean)[:, None],
        "more_logits": rng.normal(64, 8),
        "more_b": rng.normal(8, scale=0.3),
    }


balance_step = Exercise(
    "balance_step",
    draw=_draw_step,
    where="the sections “A loss for balance” and “A bias for the choice”.",
    understood="One count of the slots serves for all: for the log, for the loss, whose gradient comes through P, and for the bias, which has none.",
    hints=(
        "`torch.bincount(idx.flatten(), minlength=E)` counts the slots of each expert. All that you return is made from these counts.",
        "`torch.special.entr(f)` is −f·ln f, and 0 at 0. Add it up, and take e to the power of the sum.",
        "P is the mean over tokens of a softmax over experts, which is `dim=-1`. Multiply f and P entry by entry, add up, times E.",
        "Which experts should become easier to choose: those with more slots than the mean, or with fewer? `torch.sign` is 0 at 0. "
        "Count with floats before you take a mean, and use `b.detach()`.",
    ),
)


def _entries(*names: str) -> Callable[..., Any]:
    """A probe of some entries of the dict that comes back; the others may still be missing."""

    def call(answer: Any, *arguments: Any) -> Any:
        result = answer(*arguments)
        if not isinstance(result, dict):
            raise NotAsAsked(f"{describe_result(result)} instead of a dict")
        missing = [name for name in names if name not in result]
        if missing:
            raise NotAsAsked(f"the dict has no “{missing[0]}”")
        return {name: _in_float64(result[name]) if name == "load" else result[name] for name in names}

    return call


def _in_float64(load: Any) -> Any:
    """A load is a count over a count, which torch makes float32 whatever the logits are."""
    return load.double() if isinstance(load, torch.Tensor) else load


_load, _loss, _bias = _entries("load", "effective"), _entries("loss"), _entries("bias")


@balance_step.aspect("load and effective experts", points=1.5, atol=1e-5, rtol=1e-5)
def balance_step_load_and_effective_experts(
    answer: Any, logits: Any, idx: Any, single: Any, gap: Any, least: Any, b: Any, u: float, **_: Any
) -> Any:
    cases = {
        "k slots a token": idx,
        "k = 1": single,
        "an expert without slots": gap,
        "one expert with all slots": least,
    }
    return {
        label: observe_call(lambda chosen=chosen: _load(answer, logits.clone(), chosen.clone(), b.clone(), u))  # type: ignore[misc]
        for label, chosen in cases.items()
    }


@balance_step.aspect("loss", points=2, atol=1e-6, rtol=1e-6)  # counts / (k * T) is float32
def balance_step_loss(
    answer: Any, logits: Any, idx: Any, single: Any, gap: Any, least: Any, b: Any, u: float, **_: Any
) -> Any:
    cases = {
        "k slots a token": (logits, idx),
        "k = 1": (logits, single),
        "all at the least wanted expert": (logits, least),
        "an expert without slots": (logits, gap),
        "large logits": (1e4 * logits, idx),
    }
    return {
        label: observe_call(lambda z=z, chosen=chosen: _loss(answer, z.clone(), chosen.clone(), b.clone(), u))  # type: ignore[misc]
        for label, (z, chosen) in cases.items()
    }


@balance_step.aspect("gradient of the loss", points=1, atol=1e-6, rtol=1e-6)
def balance_step_gradient_of_the_loss(
    answer: Any, logits: Any, idx: Any, least: Any, b: Any, u: float, **_: Any
) -> Any:
    def loss(logits: torch.Tensor, chosen: torch.Tensor) -> Any:
        return _loss(answer, logits, chosen, b.clone(), u)["loss"]

    below_one = gradients(lambda logits: loss(logits, least.clone()), logits=logits.clone())
    observation: dict[str, Any] = dict(gradients(lambda logits: loss(logits, idx.clone()), logits=logits.clone()))
    return observation | {f"{name}, all at the least wanted expert": slope for name, slope in below_one.items()}


@balance_step.aspect("bias", points=2, atol=1e-6)
def balance_step_bias(
    answer: Any,
    logits: Any,
    idx: Any,
    gap: Any,
    at_mean: Any,
    more_logits: Any,
    b: Any,
    more_b: Any,
    u: float,
    **_: Any,
) -> Any:
    return {
        "an uneven load": observe_call(lambda: _bias(answer, logits.clone(), idx.clone(), b.clone(), u)),
        "another u": observe_call(lambda: _bias(answer, logits.clone(), idx.clone(), b.clone(), 3 * u)),
        "an expert without slots": observe_call(lambda: _bias(answer, logits.clone(), gap.clone(), b.clone(), u)),
        "some experts at the mean": observe_call(lambda: _bias(answer, more_logits, at_mean, more_b.clone(), u)),
    }


@balance_step.aspect("float32, and what is given stays", points=0.5, atol=1e-6, rtol=1e-6, needs="bias")
def balance_step_float32_and_what_is_given_stays(
    answer: Any, logits: Any, idx: Any, least: Any, b: Any, u: float, **_: Any
) -> Any:
    whole = _entries("loss", "bias")
    given = (logits.clone(), idx.clone(), nn.Parameter(b.clone()))
    result = whole(answer, *given, u)
    if not isinstance(result["bias"], torch.Tensor):
        raise NotAsAsked(f"the bias is {describe_result(result['bias'])} instead of a tensor")
    return {
        "in float32": observe_call(lambda: whole(answer, logits.float(), least.clone(), b.float(), u)),
        "b in float32, logits in float64": observe_call(
            lambda: _bias(answer, logits.clone(), idx.clone(), b.float(), u)
        ),
        "what is given stays as it was": all(map(torch.equal, given, (logits, idx, b))),
        "with b an nn.Parameter, the new bias needs a gradient": result["bias"].requires_grad,
    }


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
    where="the section “A full expert”.",
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


# Quizzes. Their texts are in the notebook.

quiz_dropped = quiz(
    "quiz_dropped",
    where="the section “A full expert”.",
    understood="A full expert adds nothing for a token that comes late. Its other experts add what they would have added, with the same weights; "
    "if all are full, it leaves the block by the residual connection as it came.",
)

quiz_selection = quiz(
    "quiz_selection",
    where="the section “A bias for the choice”.",
    understood="The selection bias moves the choice alone. The weights of the chosen experts are the router's own.",
)

quiz_two_logs = quiz(
    "quiz_two_logs",
    where="the section “Cures side by side”.",
    understood="An even load is the least that a cure does. Whether it has cost the routing anything is seen in the error, and in where the tokens of a "
    "cluster go.",
)
