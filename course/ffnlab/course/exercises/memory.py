"""Notebook 06, What the FFN stores: how each exercise is called, and on what inputs. No answers.

The FFNs that students are handed are built here from the drawn numbers. Sizes differ pairwise, except where a square FFN is the point.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ffnlab.course.counterexample import counterexample, rows_of_numbers
from ffnlab.course.ffn_probes import TwoLayerFFN, Weights, check_unchanged, copy_parameters, draw_weights, make_ffn
from ffnlab.observation.exercise import Draw, Exercise, NotAsAsked, describe_result, observe_call, quiz
from ffnlab.observation.plain_data import Failure, describe
from ffnlab.phrases import plural

NOTEBOOK = "06_memory"

MIN_KNOWN_SHARE = 0.99  # the share of the facts that a trained FFN has to know


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """X [N, d_model], and the weights of three FFNs: wide, narrow, and square."""
    d_model, narrow, N = rng.integer(5, 7), rng.integer(3, 4), rng.integer(8, 9)
    wide, square = rng.distinct(2, 10, 14)
    return {
        "X": rng.normal(N, d_model),
        "weights": draw_weights(rng, d_model, wide),
        "narrow": draw_weights(rng, d_model, narrow),
        "square": {"X": rng.normal(N, square), "weights": draw_weights(rng, square, square)},
    }


def _fix_totals(weights: Weights, x: torch.Tensor, neurons: dict[int, float]) -> Weights:
    """The same weights, but for the token x each of the given neurons adds up to the given number: a firing neuron may fire weakly."""
    new_weights = {name: value.clone() for name, value in weights.items()}
    for j, total in neurons.items():
        new_weights["b1"][j] = total - x @ weights["W1"][:, j]
    return new_weights


# decompose_output

decompose_output = Exercise(
    "decompose_output",
    draw=_draw,
    where="the section “A sum of what the neurons write”.",
    understood="The output is a sum: every neuron adds its value, times its coefficient, and b2 is added besides.",
    hints=(
        "You need two things: the d_ff coefficients of this token, and the d_ff values.",
        "The coefficient of a neuron is its number in the hidden layer, after the activation.",
        "Row j is a number times a vector. `h[:, None]` is [d_ff, 1], which multiplies the rows of a matrix [d_ff, d_model].",
        "Check it yourself: the rows must add up to `ffn(x) - ffn.linear2.bias`.",
    ),
)


@decompose_output.aspect("rows", points=2)
def decompose_output_rows(answer: Any, X: Any, weights: Any, **_: Any) -> Any:
    # for the last token two neurons fire weakly
    stores = [weights, weights, _fix_totals(weights, X[2], {0: 1e-4, 1: 0.005})]
    return {
        f"token {n}": observe_call(partial(answer, make_ffn(store), X[n].clone())) for n, store in enumerate(stores)
    }


@decompose_output.aspect("other widths, and float32", points=1)
def decompose_output_other_widths_and_float32(answer: Any, X: Any, weights: Any, narrow: Any, square: Any) -> Any:
    weak = _fix_totals(narrow, X[0], {0: 0.005})
    return {
        "d_ff smaller than d_model": observe_call(lambda: answer(make_ffn(weak), X[0].clone())),
        "d_ff = d_model": observe_call(lambda: answer(make_ffn(square["weights"]), square["X"][0].clone())),
        "everything in float32": observe_call(lambda: answer(make_ffn(weights, torch.float32), X[0].float())),
    }


@decompose_output.aspect("silent and weak neurons", points=0.5)
def decompose_output_silent_and_weak_neurons(answer: Any, X: Any, weights: Any, **_: Any) -> Any:
    silent = weights | {"b1": torch.full_like(weights["b1"], -100.0)}
    last = len(weights["b1"]) - 1
    variants = {
        "no neuron fires": silent,
        "only the last neuron fires": _fix_totals(silent, X[0], {last: 1.5}),
        "two neurons fire weakly, one gets exactly 0": _fix_totals(weights, X[0], {0: 1e-4, 1: 0.005, 2: 0.0}),
    }
    return {
        label: observe_call(partial(answer, make_ffn(variant), X[0].clone())) for label, variant in variants.items()
    }


@decompose_output.aspect("ffn and x stay as they were", points=0.5, needs="rows")
def decompose_output_ffn_and_x_stay_as_they_were(answer: Any, X: Any, weights: Any, **_: Any) -> Any:
    ffn = make_ffn(weights)
    x = X[1].clone()
    before = copy_parameters(ffn)
    answer(ffn, x)
    return check_unchanged(ffn, before, x=(x, X[1]))


# train_fact_ffn


def _draw_facts(rng: Draw, case: int) -> dict[str, Any]:
    """256 facts to be learned, a few more for a look at `steps` and `d_ff`, and inputs beside the questions, to see how the module behaves there."""

    def facts(N: int, d: int, C: int) -> dict[str, torch.Tensor]:
        return {
            "E": rng.normal(N, d, dtype=torch.float32),
            "U": rng.normal(C, d, dtype=torch.float32),
            "y": torch.tensor([rng.integer(0, C - 1) for _ in range(N)]),
        }

    return {
        "facts": facts(256, 32, 64),
        "few": facts(200, 9, 12),
        "aside": rng.normal(256, 32, scale=0.01, dtype=torch.float32),
        "others": rng.normal(80, 9, dtype=torch.float32),
        "narrow": rng.integer(4, 6),
    }


train_fact_ffn = Exercise(
    "train_fact_ffn",
    draw=_draw_facts,
    cases=1,
    seconds=60,
    where="the section “Store facts”.",
    understood="A few hundred facts fit into two small matrices, put there by nothing but gradient steps on a cross-entropy.",
    hints=(
        "The training loop has four lines: clear the gradients, compute the loss, go backwards, take a step.",
        "The logits are `(E + ffn(E)) @ U.T`, [N, C]. `F.cross_entropy` takes them as they are, and `y`, and applies the softmax itself.",
        "Only the FFN's own parameters go into the optimiser. Adam with learning rate 0.01 learns all facts in 300 steps.",
        "Make the module first: `nn.Sequential(nn.Linear(d, d_ff), nn.ReLU(), nn.Linear(d_ff, d))`, with d the length of a row of E. Return it after the loop.",
    ),
)

STEPS = 300


class _OptimiserWatch:
    """What optimisers do while an answer trains: how many steps they take, which parameters they have, whether there are gradients."""

    def __init__(self) -> None:
        self.steps, self.gradients = 0, False
        self.parameter_ids: set[int] = set()

    def __call__(self, optimiser: torch.optim.Optimizer, *_: Any) -> None:
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        self.steps += 1
        self.gradients = self.gradients or any(p.grad is not None and bool(p.grad.any()) for p in parameters)
        self.parameter_ids = {id(p) for p in parameters}

    def describe_problem(self, module: nn.Module, steps: int) -> str:
        """What was wrong with the training of `module` in `steps` steps, in words; empty if all of it was trained."""
        if self.steps == 0:
            return "no optimiser took a step"
        if not self.gradients:
            return "no step of the optimiser had a gradient to follow"
        if self.steps < steps // 2:
            return f"of {steps} steps it took {self.steps}"
        count = sum(id(p) in self.parameter_ids for p in module.parameters())
        if count == 0:
            return "the optimiser had other parameters than those of this module"
        if count < len(list(module.parameters())):
            return "the optimiser had only some of its parameters"
        return ""


@contextlib.contextmanager
def _watch_optimisers() -> Iterator[_OptimiserWatch]:
    """Watches the optimisers that work inside, whoever made them."""
    watch = _OptimiserWatch()
    hook = register_optimizer_step_pre_hook(watch)
    try:
        yield watch
    finally:
        hook.remove()


def _train_module(answer: Any, facts: dict[str, torch.Tensor], d_ff: int, steps: int) -> nn.Module:
    torch.manual_seed(steps)
    module = answer(facts["E"], facts["U"], facts["y"], d_ff, steps)
    if not isinstance(module, nn.Module):
        raise NotAsAsked(f"{describe_result(module)}; the trained module was expected")
    return module.eval()


def _score_facts(out: torch.Tensor, facts: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Which facts an output answers rightly, [N], and the scores [N, C], with or without a residual, whichever is better."""
    E, U, y = facts["E"], facts["U"], facts["y"]
    if out.shape != E.shape:
        raise NotAsAsked("module(E) should have the shape of E")
    return max(
        (((output @ U.T).argmax(1) == y, output @ U.T) for output in (out, E + out)),
        key=lambda pair: int(pair[0].sum()),
    )


def _describe_training(observation: Any, inputs: dict[str, Any]) -> Any:
    """Whether the facts are known; where they are not, how the training went and what the outputs look like."""
    facts, out, neighbour_output = inputs["facts"], observation["at E"], observation["beside E"]
    y, U = facts["y"], facts["U"]
    right, scores = _score_facts(out, facts)
    midpoint_output = observation["halfway"]  # of a straight map: half of one and half of the other
    if torch.allclose(midpoint_output, (out[::2] + out[1::2]) / 2, rtol=1e-3, atol=1e-3):
        return {"the trained module": "it has no non-linearity: a straight line in, a straight line out"}
    if any(bool((output >= 0).all()) for output in (out, out - facts["E"])):  # a residual inside may have been added
        return {"the trained module": "no output is below zero"}
    known_share = float(right.float().mean())
    if known_share >= MIN_KNOWN_SHARE:
        moving_share = ((neighbour_output - out).abs().amax(1) > 0).float().mean()
        if moving_share < MOVES:
            return {
                "the trained module": "a small step away from a question the output is the very same, as in a table"
            }
        early = float(_score_facts(observation["after one step"], facts)[0].float().mean())
        if early > EARLY:
            return {"the trained module": "the facts are known after a single step: no gradient step put them there"}
        return {"the trained module": "it knows 99 % of the facts or more"}
    if observation["training"]:
        return {"the trained module": f"too few facts are known: {observation['training']}"}
    if observation["largest weight"] > RUNAWAY:
        return {"the trained module": "too few facts are known: its weights have run away"}
    share = next(words for limit, words in SHARES if known_share < limit)
    if float(right[: len(y) // 2].float().mean()) >= MIN_KNOWN_SHARE:
        share = "the first half"
    others = scores.masked_fill(F.one_hot(y, len(U)).bool(), -torch.inf).amax(1)
    gap = float((scores[torch.arange(len(y)), y] - others).abs().median())  # of the right answer and the best other one
    apart = next(words for limit, words in GAPS if not gap >= limit)
    size = next(words for limit, words in SIZES if not float(out.square().mean().sqrt()) >= limit)
    return {"the trained module": f"it knows {share} of the facts; its outputs are {size}, the best scores lie {apart}"}


MOVES = 0.9  # the share of the questions beside which the output must be another one
EARLY = 0.5  # more of the facts than this can't be known after one step
RUNAWAY = (
    10.0  # of one weight: four times what a training needs that knows the facts, and what steps of size 1 soon exceed
)
SHARES = ((0.1, "less than 10 %"), (0.4, "10 to 40 %"), (0.75, "40 to 75 %"), (1.0, "75 to 99 %"))
SIZES = ((10.0, "of usual size"), (1000.0, "large"), (float("inf"), "huge"))
GAPS = (
    (0.3, "less than 0.3 apart"),
    (2.4, "1 or 2 apart"),
    (5.6, "2 to 6 apart"),
    (12.0, "6 to 12 apart"),
    (28.0, "12 to 28 apart"),
    (1000.0, "28 to 1000 apart"),
    (float("inf"), "more than 1000 apart"),
)


@train_fact_ffn.aspect("knows the facts", points=2, facts=_describe_training)
def train_fact_ffn_knows_the_facts(answer: Any, facts: Any, aside: Any, **_: Any) -> Any:
    early = _train_module(answer, _copy(facts), 40, 1)  # whether a module comes back, cheaply
    with _watch_optimisers() as watch:
        module = _train_module(answer, _copy(facts), 40, STEPS)
    E = facts["E"]
    with torch.no_grad():
        return {
            "at E": module(E),
            "beside E": module(E + aside),
            "halfway": module((E[::2] + E[1::2]) / 2),
            "after one step": early(E),
            "training": watch.describe_problem(module, STEPS),
            "largest weight": max((float(p.abs().max()) for p in module.parameters() if p.numel()), default=0.0),
        }


def _copy(facts: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in facts.items()}


def _width_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """What the outputs on inputs of all kinds say of the layers: with fewer neurons than d_model they lie on a plane of that many dimensions."""
    x, width, d = inputs["others"], inputs["narrow"], inputs["others"].shape[1]
    out = observation["outputs"]
    if out.shape != x.shape:
        return {"module(E) has the shape of E": False}
    ranks = []
    for output in (out, out - x):  # a residual inside is added to what the neurons write
        sizes = torch.linalg.svdvals((output - output.mean(0)).double())
        ranks.append(int((sizes > 1e-5 * sizes[0]).sum()))
    fits = observation["parameters"] <= 2 * d * width + width + d
    return {
        "module(E) has the shape of E": True,
        "no more parameters than two layers of width d_ff have": fits,
        "a hidden layer of width d_ff": width in ranks
        if fits
        else min(ranks) <= width,  # more layers may lose dimensions
        "the outputs have both signs": bool((out < 0).any()) and bool((out > 0).any()),
        "the same input gives the same output": torch.equal(out, observation["again"]),
    }


@train_fact_ffn.aspect("two layers of width d_ff", points=0.5, facts=_width_facts, needs="knows the facts")
def train_fact_ffn_two_layers_of_width_d_ff(answer: Any, few: Any, others: Any, narrow: int, **_: Any) -> Any:
    module = _train_module(answer, few, narrow, 3)
    count = sum(p.numel() for p in module.parameters())
    with torch.no_grad():
        return {"outputs": module(others), "again": module(others), "parameters": count}


@train_fact_ffn.aspect("at most `steps` steps", points=0.5, needs="knows the facts")
def train_fact_ffn_at_most_steps_steps(answer: Any, few: Any, narrow: int, **_: Any) -> Any:
    with _watch_optimisers() as seven:
        _train_module(answer, few, narrow, 7)
    with _watch_optimisers() as three:
        _train_module(answer, few, narrow, 3)
    return {
        "an optimiser takes at least one step": seven.steps > 0,
        "it takes at most `steps` steps": seven.steps <= 7 and three.steps <= 3,
        "how many it takes depends on `steps`": seven.steps <= 7 or seven.steps != three.steps,
    }


@train_fact_ffn.aspect("E, U and y stay as they were", points=1, needs="knows the facts")
def train_fact_ffn_e_u_and_y_stay_as_they_were(answer: Any, few: Any, narrow: int, **_: Any) -> Any:
    copies = _copy(few)
    _train_module(answer, copies, narrow, 7)
    return {f"{name} stays as it was": torch.equal(copies[name], few[name]) for name in few}


# top_neurons


def _draw_directions(rng: Draw, case: int) -> dict[str, Any]:
    """Six tokens, a direction for each, and how many neurons are asked for.

    Of the fifth and sixth token one neuron is brought to the cut, one just above it and one just below. It fires weakly and has a long
    value, so that whatever counts firing or length otherwise takes another one. `against`: weights with which all neurons fire, and
    all push the other way along the first direction.
    """
    d_model, d_ff = rng.integer(5, 8), rng.integer(36, 44)
    weights = draw_weights(rng, d_model, d_ff)
    weights["b1"] = weights["b1"] + 0.5
    X, directions = rng.normal(6, d_model), rng.normal(6, d_model, scale=1.5)
    k = [rng.integer(2, 4) for _ in range(6)]
    close = [_move_to_cut(weights, X[n], directions[n], k[n], factor) for n, factor in ((4, 1.003), (5, 0.997))]
    push = weights["W2"] @ directions[0]
    against = weights | {"b1": weights["b1"] + 20, "W2": weights["W2"] * -push.sign()[:, None]}
    return {"weights": weights, "X": X, "directions": directions, "k": k, "close": close, "against": against}


def _move_to_cut(weights: Weights, x: torch.Tensor, direction: torch.Tensor, k: int, factor: float) -> Weights:
    """The same weights, but a neuron that fires weakly contributes `factor` times what the k-th largest does."""
    contributions = torch.relu(x @ weights["W1"] + weights["b1"]) * (weights["W2"] @ direction)
    order = contributions.argsort(descending=True)
    weak = int(order[k])  # the first that is left out
    new_weights = _fix_totals(weights, x, {weak: 0.2})
    along = new_weights["W2"][weak] @ direction
    new_weights["W2"][weak] *= factor * contributions[order[k - 1]] / (0.2 * along)
    return new_weights


top_neurons = Exercise(
    "top_neurons",
    draw=_draw_directions,
    where="the section “Which neurons know it?”.",
    understood="A neuron matters for an answer if it fires and its value points that way. Firing alone is a fair guide; the product decides.",
    hints=(
        "Each neuron adds h_j · value_j to the output. How much of that goes along `direction`? One number for each neuron.",
        "The part of a vector along a direction is their dot product. With `decompose_output` it is one matrix product.",
        "Keep the sign: a neuron that pushes the other way is not among the largest.",
        "`torch.topk(contributions, k)` returns values and indices. Here the indices are asked for.",
    ),
)


def _sort_indices(observation: Any, inputs: dict[str, Any]) -> Any:
    """Indices in rising order, whatever order and kind of whole numbers they came in; of anything else, what it is."""

    def sort_one(value: Any) -> Any:
        if isinstance(value, Failure):
            return value
        if isinstance(value, torch.Tensor) and value.ndim == 1 and value.dtype != torch.bool:
            value = value.tolist()
        if isinstance(value, (list, tuple)) and all(type(index) is int for index in value):
            return {"what came back": "whole numbers", "in rising order": sorted(value)}
        return {"what came back": _describe_non_indices(value), "in rising order": value}

    return {label: sort_one(value) for label, value in observation.items()}


def _describe_non_indices(value: Any) -> str:
    if isinstance(value, list) and any(type(number) is float for number in value):
        return "numbers with decimals"
    if isinstance(value, torch.Tensor) and value.dtype == torch.bool:
        return "True and False"
    return describe(value)


@top_neurons.aspect("which neurons", points=2, facts=_sort_indices)
def top_neurons_which_neurons(answer: Any, weights: Any, X: Any, directions: Any, k: Any, close: Any, **_: Any) -> Any:
    stores = [weights] * (len(X) - len(close)) + close
    return {
        f"token {n}, k = {k[n]}": observe_call(
            partial(answer, make_ffn(store), X[n].clone(), directions[n].clone(), k[n])
        )
        for n, store in enumerate(stores)
    }


@top_neurons.aspect("k = 1, float32, the opposite direction", points=0.5, facts=_sort_indices)
def top_neurons_k_1_float32_the_opposite_direction(
    answer: Any, weights: Any, X: Any, directions: Any, k: Any, close: Any, against: Any
) -> Any:
    single = make_ffn(weights, torch.float32)
    return {
        "a close call": observe_call(lambda: answer(make_ffn(close[0]), X[4].clone(), directions[4].clone(), k[4])),
        "all neurons push the other way": observe_call(
            lambda: answer(make_ffn(against), X[0].clone(), directions[0].clone(), k[0])
        ),
        "k = 1": observe_call(lambda: answer(make_ffn(weights), X[0].clone(), directions[0].clone(), 1)),
        "everything in float32": observe_call(lambda: answer(single, X[1].float(), directions[1].float(), k[1])),
        "the opposite direction": observe_call(lambda: answer(make_ffn(weights), X[2].clone(), -directions[2], k[2])),
    }


@top_neurons.aspect("ffn, x and direction stay as they were", points=0.5, needs="which neurons")
def top_neurons_ffn_x_and_direction_stay_as_they_were(
    answer: Any, weights: Any, X: Any, directions: Any, k: Any, **_: Any
) -> Any:
    ffn = make_ffn(weights)
    x, direction = X[0].clone(), directions[0].clone()
    before = copy_parameters(ffn)
    answer(ffn, x, direction, k[0])
    return check_unchanged(ffn, before, x=(x, X[0]), direction=(direction, directions[0]))


# knockout


def _draw_knockout(rng: Draw, case: int) -> dict[str, Any]:
    """As `_draw`, with larger b1, so that most neurons fire, and neurons to be silenced."""
    inputs = _draw(rng, case)
    for weights in (inputs["weights"], inputs["square"]["weights"]):
        weights["b1"] = weights["b1"].abs() + 0.5
    d_model, d_ff = inputs["weights"]["W1"].shape
    idx = sorted(rng.distinct(3, 1, d_model - 1))
    return inputs | {"idx": [*idx, d_ff - 1], "other": rng.integer(d_model, d_ff - 2)}


knockout = Exercise(
    "knockout",
    draw=_draw_knockout,
    where="the section “Knock them out”.",
    understood="A knock-out sets the coefficient of a neuron to zero, and nothing else, and puts everything back afterwards.",
    hints=(
        "What must be zero is h_j, after the activation. Zero weights in the first layer leave relu(b1[j]) behind.",
        "Whether a neuron's coefficient is zero or its value is zero, the output is the same: it writes h_j · value_j.",
        "Neuron j's value is column j of `linear2.weight`: `weight[:, idx]`.",
        "`copy.deepcopy(ffn)` is a module of its own: what you change there leaves the original alone. Change weights under `torch.no_grad()`.",
        "Copy the module, set the columns `idx` of the copy's `linear2.weight` to zero, return the copy.",
    ),
)


@contextlib.contextmanager
def _knock_out(answer: Any, ffn: TwoLayerFFN, idx: Any) -> Iterator[nn.Module]:
    """What computes while the neurons are silent: the module that came back, or `ffn` inside the context."""
    result = answer(ffn, idx)
    if isinstance(result, nn.Module):
        yield result
    elif (
        hasattr(type(result), "__enter__")
        and hasattr(type(result), "__exit__")
        and not isinstance(result, torch.Tensor)
    ):
        with result as context_value:
            yield context_value if isinstance(context_value, nn.Module) else ffn
    elif isinstance(result, types.GeneratorType):
        raise NotAsAsked(
            "a generator came back; with @contextlib.contextmanager over the function it is a context manager"
        )
    else:
        raise NotAsAsked(f"{describe_result(result)}; a module or a context manager was expected")


def _compute_without(answer: Any, ffn: TwoLayerFFN, idx: Any, X: torch.Tensor) -> Any:
    with _knock_out(answer, ffn, idx) as module:
        return module(X)


@knockout.aspect("the output without them", points=2)
def knockout_the_output_without_them(answer: Any, X: Any, weights: Any, idx: Any, **_: Any) -> Any:
    return _compute_without(answer, make_ffn(weights), torch.tensor(idx), X)


@knockout.aspect("other inputs", points=1)
def knockout_other_inputs(answer: Any, X: Any, weights: Any, square: Any, idx: Any, other: int, **_: Any) -> Any:
    all_neurons = torch.arange(len(weights["b1"]))
    return {
        "idx is a list": observe_call(lambda: _compute_without(answer, make_ffn(weights), idx, X)),
        "idx has one neuron": observe_call(
            lambda: _compute_without(answer, make_ffn(weights), torch.tensor([other]), X)
        ),
        "idx is an empty list": observe_call(lambda: _compute_without(answer, make_ffn(weights), [], X)),
        "idx is not in order": observe_call(lambda: _compute_without(answer, make_ffn(weights), idx[::-1], X)),
        "idx has all neurons": observe_call(lambda: _compute_without(answer, make_ffn(weights), all_neurons, X)),
        "x is one token": observe_call(lambda: _compute_without(answer, make_ffn(weights), torch.tensor(idx), X[0])),
        "d_ff = d_model": observe_call(
            lambda: _compute_without(answer, make_ffn(square["weights"]), torch.tensor(idx[:3]), square["X"])
        ),
        "everything in float32": observe_call(
            lambda: _compute_without(answer, make_ffn(weights, torch.float32), torch.tensor(idx), X.float())
        ),
    }


@knockout.aspect("afterwards", points=2, needs="the output without them")
def knockout_afterwards(answer: Any, X: Any, weights: Any, idx: Any, other: int, **_: Any) -> Any:
    ffn = make_ffn(weights)
    X_copy = X.clone()
    before = copy_parameters(ffn)
    output = ffn(X).detach()
    first = _compute_without(answer, ffn, torch.tensor(idx), X_copy)
    state_facts = check_unchanged(ffn, before, X=(X_copy, X))
    output_facts = {"ffn computes what it did": torch.allclose(ffn(X), output)}
    second = _compute_without(answer, ffn, torch.tensor([other]), X_copy)
    alone = _compute_without(answer, make_ffn(weights), torch.tensor([other]), X)
    shape_facts = {"the knock-out computes a tensor like x": getattr(first, "shape", None) == X.shape}
    repeat_facts = {"a second knock-out knows nothing of the first": torch.allclose(second, alone)}
    return state_facts | output_facts | shape_facts | repeat_facts


# spare_counterexample

MAX_NEURONS = 12  # of a counterexample: all groups of them are tried


def spare(writes: list[list[float]]) -> int:
    """A classmate's: how many neurons can be cut at once so that the output stays the same. writes: what each neuron writes."""
    cut: set[int] = set()
    for size in (1, 2):
        for group in combinations(range(len(writes)), size):
            together = [sum(numbers) for numbers in zip(*(writes[j] for j in group), strict=True)]
            if all(abs(number) < 1e-9 for number in together) and not cut & set(group):
                cut |= set(group)
    return len(cut)


def largest_spare_group(writes: list[list[float]]) -> int:
    """The same, by trying every group."""
    return max(size for size in range(len(writes) + 1) if any(_groups_that_write_nothing(writes, size)))


def _groups_that_write_nothing(writes: list[list[float]], size: int) -> Iterator[bool]:
    for group in combinations(writes, size):
        yield all(abs(sum(numbers)) < 1e-9 for numbers in zip(*group, strict=True))


def _parse_writes(observation: Any) -> tuple[list[list[float]]]:
    writes = rows_of_numbers(observation, "neuron", columns=3)
    if len(writes) > MAX_NEURONS:
        raise NotAsAsked(f"there are {len(writes)} neurons; {MAX_NEURONS} are the most")
    return (writes,)


def _explain_spare(writes: list[list[float]]) -> str:
    if any(_groups_that_write_nothing(writes, 2)):
        return "two of the neurons undo each other, and the code tries every two"
    if any(_groups_that_write_nothing(writes, 1)):
        return "a neuron that writes nothing can be cut alone, and the code tries every neuron"
    return "no group of its neurons writes nothing"


spare_counterexample = counterexample(
    "spare_counterexample",
    code=spare,
    right=largest_spare_group,
    form=_parse_writes,
    size=len,
    par=3,
    why_right=_explain_spare,
    where="the section “A classmate's code”.",
    understood="The output is a sum. What can be cut shows in what a whole group writes, not in cutting one neuron, or two, at a time.",
    hints=(
        "When can a group of neurons be cut without a trace? Say it with the sum of what they write.",
        "The code finds neurons that write nothing, and any two that undo each other. Which groups does it never try?",
        "Let the third neuron undo what the first two write together, so that no two of them do.",
    ),
)


# write_fact

LEAD = 1.0  # by which the new answer's score must be ahead
LENGTH = 3.0  # the length of every question and of every answer
MAX_COSINE = 0.8  # the cosine of two answers, at most


def _set_length(vectors: torch.Tensor) -> torch.Tensor:
    scaled_vectors: torch.Tensor = LENGTH * vectors / vectors.norm(dim=-1, keepdim=True)
    return scaled_vectors


def _draw_person(rng: Draw, N: int, d: int, C: int, d_ff: int, n: int) -> dict[str, Any]:
    """An FFN, questions and answers; question n has a near twin (cosine 0.98) and an opposite. The new answer is the one that now comes last."""
    E, U = _set_length(rng.normal(N, d)), _set_length(rng.normal(C, d))
    weights = draw_weights(rng, d, d_ff)
    while float((U @ U.T / LENGTH**2).fill_diagonal_(-1).max()) > MAX_COSINE:
        U = _set_length(rng.normal(C, d))
    aside = rng.normal(d)
    aside = _set_length(aside - (aside @ E[n]) * E[n] / LENGTH**2)
    twin, opposite = (n + 1) % N, (n + 2) % N
    E[twin], E[opposite] = 0.98 * E[n] + (1 - 0.98**2) ** 0.5 * aside, -E[n]
    output = torch.relu(E[n] @ weights["W1"] + weights["b1"]) @ weights["W2"] + weights["b2"]
    return {"E": E, "U": U, "weights": weights, "n": n, "c": int(((E[n] + output) @ U.T).argmin())}


def _draw_people(rng: Draw, case: int) -> dict[str, Any]:
    """A person in the middle; the first and the last one; more answers than d_model, and few."""
    N, d, C, d_ff = rng.integer(17, 20), rng.integer(7, 8), rng.integer(9, 10), rng.integer(11, 14)
    return {
        "middle": _draw_person(rng, N, d, C, d_ff, rng.integer(3, N - 4)),
        "others": {
            "the first person": _draw_person(rng, N, d, C, d_ff, 0),
            "the last person": _draw_person(rng, N, d, C, d_ff, N - 1),
            "two answers": _draw_person(rng, 5, d + 1, 2, d_ff, 1),
        },
    }


write_fact = Exercise(
    "write_fact",
    draw=_draw_people,
    where="the section “Knock them out”, where it says “Write one by hand”; and “Key, coefficient, value”.",
    understood="A key that listens to one question, a threshold just below its match, a value that outweighs the old answer: that is a fact in one neuron.",
    hints=(
        "Whom should the neuron listen to? Among vectors of equal length, the one that matches `key` best is the one that points the same way.",
        "`E @ key` says how well each question matches. The bias must let the best one through and stop the second best: which numbers lie between the two?",
        "The neuron writes h · value, and h is small when the second best is close. How large must value be, so that the new answer leads in spite of "
        "a small h?",
        "One way: choose what E[n] + ffn(E[n]) + h · value shall be, such as `U[c]` itself, and solve for value.",
    ),
)


def _ask_for_neuron(answer: Any, person: dict[str, Any], dtype: torch.dtype = torch.float64) -> dict[str, Any]:
    """Key, bias and value that a student's function returns for one person."""
    E, U = person["E"].to(dtype), person["U"].to(dtype)
    result = answer(make_ffn(person["weights"], dtype), E, U, person["n"], person["c"])
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a triple (key, bias, value) was expected")
    if len(result) != 3:
        raise NotAsAsked(f"a triple (key, bias, value) was expected, not {plural(len(result), 'value')}")
    key, bias, value = (part if isinstance(part, torch.Tensor) else torch.tensor(part, dtype=dtype) for part in result)
    return {"key": key, "bias": bias, "value": value}


def _effect_facts(observation: Any, person: dict[str, Any]) -> dict[str, Any]:
    """What one more neuron does to everybody's answers: whom it reaches, and what person n is told now."""
    E, U, n, c = person["E"], person["U"], person["n"], person["c"]
    key, bias, value = (observation[name].double() for name in ("key", "bias", "value"))
    if key.shape != E[0].shape or value.shape != E[0].shape or bias.numel() != 1:
        raise NotAsAsked("key and value should have the shape [d_model], and bias should be one number")
    if not all(bool(part.isfinite().all()) for part in (key, bias, value)):
        raise NotAsAsked("there are NaN or infinite numbers in the neuron")
    weights, readings = person["weights"], E @ key + bias.reshape(())
    fires = torch.relu(readings)
    at_n = "more than 0" if fires[n] > 0 else "exactly 0" if abs(readings[n]) < 1e-9 else "less than 0"
    before = (E + torch.relu(E @ weights["W1"] + weights["b1"]) @ weights["W2"] + weights["b2"])[n] @ U.T  # [C]
    after = before + fires[n] * value @ U.T
    others = torch.arange(len(U)) != c
    top_answer = int(after.argmax())
    reach = (fires > 1e-5 * fires[n].clamp(min=1e-9)) & (torch.arange(len(E)) != n)
    return {
        "what the neuron adds up to for person n": at_n,
        "what person n is told": "the new answer"
        if top_answer == c
        else "the old one"
        if top_answer == int(before.argmax())
        else "another one",
        "the new answer leads by 1 or more": bool(after[c] - after[others].max() >= LEAD - 1e-6),
        "its value favours the new answer over the old one": bool(value @ (U[c] - U[before.argmax()]) > 0),
        "heard": int(reach.sum()),
    }


def _answer_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in _effect_facts(observation, inputs["middle"]).items() if name != "heard"}


def _reach_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    others = _effect_facts(observation, inputs["middle"])["heard"]
    return {"the neuron is silent for everybody else": others == 0, "for how many others it fires": others}


@write_fact.aspect("the new answer", points=1.5, facts=_answer_facts)
def write_fact_the_new_answer(answer: Any, middle: Any, **_: Any) -> Any:
    return _ask_for_neuron(answer, middle)


@write_fact.aspect("nobody else hears it", points=1.5, facts=_reach_facts, needs="the new answer")
def write_fact_nobody_else_hears_it(answer: Any, middle: Any, **_: Any) -> Any:
    return _ask_for_neuron(answer, middle)


def _person_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    def holds(neuron: Any, person: dict[str, Any]) -> Any:
        if isinstance(neuron, Failure):
            return neuron
        facts = _effect_facts(neuron, person)
        return facts["the new answer leads by 1 or more"] and facts["heard"] == 0

    people = {**inputs["others"], "everything in float32": inputs["middle"]}
    return {f"it holds for {words}": holds(observation[words], person) for words, person in people.items()}


@write_fact.aspect("anybody, and float32", points=0.5, facts=_person_facts, needs="nobody else hears it")
def write_fact_anybody_and_float32(answer: Any, middle: Any, others: Any) -> Any:
    neurons = {words: observe_call(partial(_ask_for_neuron, answer, person)) for words, person in others.items()}
    return neurons | {"everything in float32": observe_call(partial(_ask_for_neuron, answer, middle, torch.float32))}


@write_fact.aspect("ffn, E and U stay as they were", points=0.5, needs="the new answer")
def write_fact_ffn_e_and_u_stay_as_they_were(answer: Any, middle: Any, **_: Any) -> Any:
    ffn = make_ffn(middle["weights"])
    E, U = middle["E"].clone(), middle["U"].clone()
    before = copy_parameters(ffn)
    answer(ffn, E, U, middle["n"], middle["c"])
    return check_unchanged(ffn, before, E=(E, middle["E"]), U=(U, middle["U"]))


# activation_patterns


def _draw_patterns(rng: Draw, case: int) -> dict[str, Any]:
    """As `_draw`, and weights with two neurons that get exactly 0 from every token, and others that are nearly at 0 for the last one."""
    inputs = _draw(rng, case)
    weights = inputs["weights"]
    silent = rng.distinct(2, 0, len(weights["b1"]) - 1)
    at_zero = {name: value.clone() for name, value in weights.items()}
    at_zero["W1"][:, silent] = 0
    at_zero["b1"][silent] = 0
    few = rng.distinct(4, 0, len(weights["b1"]) - 1)
    last = len(inputs["X"]) - 1
    weak = _fix_totals(weights, inputs["X"][last], dict(zip(few, (1e-4, 0.004, -1e-4, -0.004), strict=True)))
    firing_neuron = next(j for j in range(len(weights["b1"])) if j not in silent)
    return inputs | {"at_zero": _fix_totals(at_zero, inputs["X"][last], {firing_neuron: 1e-4}), "weak": weak}


activation_patterns = Exercise(
    "activation_patterns",
    draw=_draw_patterns,
    where="the section “Patterns”.",
    understood="Which neurons fire is a row of zeros and ones for every token; a number that is exactly zero has not fired.",
    hints=(
        "A neuron fires if what it adds up, bias included, is larger than zero.",
        "A comparison of tensors gives True and False; `.int()` or `.float()` turns them into 1 and 0.",
    ),
)


def _convert_patterns(observation: Any, inputs: dict[str, Any]) -> Any:
    """The patterns in float64, whatever dtype they came in."""
    return {label: v.double() if isinstance(v, torch.Tensor) else v for label, v in observation.items()}


@activation_patterns.aspect("patterns", points=1, facts=_convert_patterns)
def activation_patterns_patterns(answer: Any, X: Any, weights: Any, narrow: Any, weak: Any, **_: Any) -> Any:
    return {
        "the tokens X": answer(make_ffn(weights), X.clone()),
        "two neurons that fire weakly, two that nearly do": observe_call(lambda: answer(make_ffn(weak), X.clone())),
        "one token, N = 1": observe_call(lambda: answer(make_ffn(weights), X[:1].clone())),
        "d_ff smaller than d_model": observe_call(lambda: answer(make_ffn(narrow), X.clone())),
        "everything in float32": observe_call(lambda: answer(make_ffn(weights, torch.float32), X.float())),
    }


@activation_patterns.aspect("neurons at zero, and near it", points=0.5, facts=_convert_patterns)
def activation_patterns_neurons_at_zero_and_near_it(answer: Any, X: Any, at_zero: Any, **_: Any) -> Any:
    return {"two neurons that get exactly 0, and one that fires weakly": answer(make_ffn(at_zero), X.clone())}


@activation_patterns.aspect("ffn and X stay as they were", points=0.5, needs="patterns")
def activation_patterns_ffn_and_x_stay_as_they_were(answer: Any, X: Any, weights: Any, **_: Any) -> Any:
    ffn = make_ffn(weights)
    X_copy = X.clone()
    before = copy_parameters(ffn)
    answer(ffn, X_copy)
    return check_unchanged(ffn, before, X=(X_copy, X))


# Quizzes. Their texts are in the notebook.

quiz_value = quiz(
    "quiz_value",
    where="the section “Key, coefficient, value”.",
    understood="`linear2.weight` is [d_model, d_ff]: column j is what neuron j writes, row j what output j collects.",
)

quiz_coefficient = quiz(
    "quiz_coefficient",
    where="the section “Key, coefficient, value”.",
    understood="The hidden activation h_j says how strongly the memory j responds to this token. It is one number; the value is a vector.",
)

quiz_knockout = quiz(
    "quiz_knockout",
    where="the section “Knock them out”.",
    understood="A fact is spread over several neurons, and a neuron works for many facts: one neuron is not one fact, a few neurons nearly are.",
)

quiz_width = quiz(
    "quiz_width",
    where="the section “More neurons, more facts”.",
    understood="At this size the number of facts that fit grows in proportion to d_ff, and so to the number of weights.",
)
