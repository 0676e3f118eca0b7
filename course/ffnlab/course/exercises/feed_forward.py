"""Notebook 02, Light a lamp: how each exercise is called, and on what inputs. No answers.

Sizes differ pairwise, so that a transposed weight or a wrong axis can't pass by accident.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab.course import closed_boxes, test_suites
from ffnlab.course.counterexample import counterexample, rows_of_numbers
from ffnlab.course.ffn_probes import leading_shapes, require_module
from ffnlab.observation.exercise import (
    MEASURED,
    Draw,
    Exercise,
    NotAsAsked,
    backpropagate,
    describe_result,
    expect_exception,
    gradients,
    observe_call,
    on_each,
    quiz,
    type_with_article,
    zeros_of_shape,
)
from ffnlab.phrases import plural

NOTEBOOK = "02_feed_forward"

SIGMAS = 7  # how far chance may lead us
USUAL = 5.5  # what neurons add up for usual tokens is below that, and so below 6, where ReLU6 is cut off

# Element-wise functions that a student is handed. None of them is one that an FFN usually has, so a hard-coded one shows.
CALLABLES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "arc tangent": torch.atan,
    "sine": torch.sin,
    "softplus": F.softplus,
    "tanh": torch.tanh,
}
UNBOUNDED_CALLABLES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softplus": F.softplus,
    "square": torch.square,
}
NAMES = ("relu", "gelu", "silu")


def _sizes(rng: Draw) -> tuple[int, int, int, int, int]:
    """A, B, T, d_model, d_ff: all different; d_ff may be the smaller of the last two."""
    A, B, T = rng.distinct(3, 2, 4)
    d_model, d_ff = rng.distinct(2, 5, 8)
    return A, B, T, d_model, d_ff


def _weak(rng: Draw) -> float:
    """A number that is small, and not zero."""
    return rng.one_of((-1, 1)) * rng.uniform(2e-4, 8e-4)


def _weights(rng: Draw, d_model: int, d_ff: int) -> dict[str, Any]:
    """The four parameters, each with a small number in it; a token of zeros finds neurons just above zero, just below, and at zero."""
    parameters = {
        "W1": rng.normal(d_model, d_ff, scale=0.6),
        "b1": rng.normal(d_ff),
        "W2": rng.normal(d_ff, d_model, scale=0.6),
        "b2": rng.normal(d_model),
    }
    for parameter in parameters.values():
        parameter.view(-1)[-1] = _weak(rng)
    parameters["b1"][:3] = torch.tensor([rng.uniform(2e-4, 8e-4), -rng.uniform(2e-4, 8e-4), 0.0])
    return parameters


def _draw_weights(rng: Draw, case: int) -> dict[str, Any]:
    """x [A, B, T, d_model], its last token all zero; tokens so large that neurons of any kind are at their ends; the four parameters.

    What a neuron adds up for a token of x stays within `USUAL`: an answer that is cut off further out shows it for the large tokens alone.
    """
    A, B, T, d_model, d_ff = _sizes(rng)
    x, far = rng.normal(A, B, T, d_model), rng.normal(3, d_model, scale=20.0)
    far[:2, 0] = torch.tensor([1, -1]) * rng.uniform(60, 90)
    weights = _weights(rng, d_model, d_ff)
    x[0, -1, -1] = 0
    x[0, 0, 0, 0] = 0
    room = USUAL - float(weights["b1"].abs().max())
    x *= min(1.0, room / float((x @ weights["W1"]).abs().max()))
    x[0, 0, 0, 0] = _weak(rng)
    return {"x": x, "far": far} | weights


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """As `_draw_weights`, with the name of a callable."""
    return _draw_weights(rng, case) | {"act": rng.one_of(sorted(CALLABLES))}


def _shapes(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """x [A, B, T, d_model] and parts of it, with sizes of 1 in every leading place."""
    return leading_shapes(x) | {"x of shape [1, 1, d_model]": x[0, :1, :1]}


def _thin(
    W1: torch.Tensor, b1: torch.Tensor, W2: torch.Tensor, b2: torch.Tensor
) -> dict[str, tuple[torch.Tensor, ...]]:
    """The same FFN cut down to one number per token, and to one neuron."""
    return {"d_model = 1": (W1[:1], b1, W2[:, :1], b2[:1]), "d_ff = 1": (W1[:, :1], b1[:1], W2[:1], b2)}


# catch_mistakes

STEPS = (20, 26)  # boxes, for a point each; all of them earn one more
MOST_NAMED = 12  # closed boxes in a line of the panel
FEWEST_NUMBERS = 16  # that can catch all: a batch of 2 by 2 that is turned, with two neurons, and one token by itself

catch_mistakes = Exercise(
    "catch_mistakes",
    where="the next cell, which counts the boxes that you catch, and at the board “Catch them all”.",
    understood="A test says what it looks for by its shape, its dtype and what it looks at. Numbers alone let twelve wrong programs through.",
    hints=(
        "Begin with the two tests of the board that caught 19: one keeps the neuron off, the other drives it beyond 6.",
        "The other twelve need no more numbers, mostly. What else can a test choose? Read the list of keys again, and change one at a time.",
        "Two tests are enough. One is a single token, without a list around it. In the other, x is a batch that is turned, so it is 2 by 2 at least.",
        "For few numbers let tokens have one number each, d_model = 1. Two neurons in one of the tests tell a matrix from its transpose.",
    ),
    cases=1,
)


def _count_caught(observation: Any) -> tuple[list[test_suites.Test], set[str], int]:
    """A suite, what it catches, and how many boxes are wrong."""
    boxes = closed_boxes.load("ffn_forward")
    suite = test_suites.read_suite(observation)
    return suite, test_suites.caught(suite, boxes), len(boxes.wrong)


def _progress(observation: Any) -> str:
    """How many boxes a suite has caught, and the numbers of those that are closed, which are those of the board."""
    boxes = closed_boxes.load("ffn_forward")
    _, names, count = _count_caught(observation)
    closed = test_suites.still_closed(names, boxes)
    return f"{len(names)} of {count} are caught" + (f", not {', '.join(closed)}" if len(closed) <= MOST_NAMED else "")


def _step(count: int) -> None:
    def is_reached(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        is_enough = len(_count_caught(observation)[1]) >= count
        return {
            MEASURED: "" if is_enough else _progress(observation),
            "why": "" if is_enough else f"fewer than {count}",
        }

    @catch_mistakes.aspect(f"{count} boxes", points=1, facts=is_reached)
    def probe(answer: Any) -> Any:
        return answer


for _count in STEPS:
    _step(_count)


def _catches_all(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    suite, names, _ = _count_caught(observation)
    missed = {box.name for box in closed_boxes.load("ffn_forward").wrong} - names
    return {
        MEASURED: _progress(observation) if missed else "",
        "why one slips through": test_suites.why(suite, missed),
    }


@catch_mistakes.aspect("all boxes", points=1, facts=_catches_all)
def catch_mistakes_all(answer: Any) -> Any:
    return answer


def _catches_all_with_few(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Of a suite of all boxes. One that lets a box through is not told that it is too large: a larger one may catch it."""
    suite, names, count = _count_caught(observation)
    is_small = len(names) < count or test_suites.cost(suite) <= FEWEST_NUMBERS
    return {
        MEASURED: "" if is_small else plural(test_suites.cost(suite), "number"),
        "why": "" if is_small else "it could be smaller",
    }


@catch_mistakes.aspect("no fewer numbers", points=1, facts=_catches_all_with_few, needs="all boxes")
def catch_mistakes_no_fewer_numbers(answer: Any) -> Any:
    return answer


# ffn_forward

ffn_forward = Exercise(
    "ffn_forward",
    draw=_draw,
    where="the section “One token by hand”.",
    understood="Every token goes through the same two products with one activation between them, whatever shape the tokens come in.",
    hints=(
        "Read the formula from the inside outwards. There are three steps: into the hidden layer, the activation, and back out.",
        "`x @ W1` turns the last dimension, d_model, into d_ff and leaves all the others alone. What is added before `act` sees it?",
        "`act` is a function that you are handed: call it, exactly once, on the hidden layer. What it returns still has d_ff numbers per token.",
        "Name the hidden layer: `hidden = act(... + b1)`. The output is one more product, with W2, and one more bias.",
    ),
)


@ffn_forward.aspect("values", points=2)
def ffn_forward_values(answer: Any, x: Any, act: str, far: Any, **weights: Any) -> Any:
    observation = {"x of shape [B, T, d_model]": answer(x[0], *weights.values(), CALLABLES[act])}
    large = {
        f"large numbers, act = {name}": partial(answer, far, *weights.values(), a)
        for name, a in UNBOUNDED_CALLABLES.items()
    }
    thin = {
        label: partial(answer, x[0, ..., : len(parameters[0])], *parameters, CALLABLES[act])
        for label, parameters in _thin(**weights).items()
    }
    return observation | {label: observe_call(call) for label, call in (large | thin).items()}


@ffn_forward.aspect("gradients", points=1)
def ffn_forward_gradients(answer: Any, x: Any, act: str, far: Any, **weights: Any) -> Any:
    return gradients(lambda **leaves: answer(*leaves.values(), CALLABLES[act]), x=x[0], **weights)


@ffn_forward.aspect("any leading shape", points=1)
def ffn_forward_any_leading_shape(answer: Any, x: Any, act: str, far: Any, **weights: Any) -> Any:
    def call(tokens: Any) -> Any:
        return answer(tokens, *(w.to(tokens.dtype) for w in weights.values()), CALLABLES[act])

    return on_each(call, _shapes(x) | {"everything in float32": x[0].float()})


# merged_counterexample

# The numbers cold and water of a cold creek, a warm creek, a cold lawn and a warm lawn.
THINGS = ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0))


def merged(neurons: list[list[float]]) -> list[list[float]]:
    """A classmate's: as few neurons (cold, water, bias, writes) as say the same, since those with one kink become one."""
    groups: list[list[float]] = []
    for cold, water, bias, writes in neurons:
        for group in groups:
            times = (cold * group[0] + water * group[1] + bias * group[2]) / (
                group[0] ** 2 + group[1] ** 2 + group[2] ** 2
            )
            if max(abs(cold - times * group[0]), abs(water - times * group[1]), abs(bias - times * group[2])) < 1e-9:
                group[3] += times * writes
                break
        else:
            groups.append([cold, water, bias, writes])
    return groups


def evaluate_on_things(neurons: list[list[float]]) -> list[float]:
    """What neurons (cold, water, bias, writes) say of the four things: the sum of all writes·relu(…)."""
    return [sum(v * max(0.0, w * cold + u * water + b) for w, u, b, v in neurons) for cold, water in THINGS]


def _lamps(observation: Any) -> tuple[list[list[float]]]:
    neurons = rows_of_numbers(observation, "neuron", columns=4)
    if any(not any(neuron[:3]) for neuron in neurons):
        raise NotAsAsked(
            "a neuron has the weights 0 and 0 and the bias 0: it never fires, and your classmate's code is not meant for it"
        )
    return (neurons,)


def _why_merged(neurons: list[list[float]]) -> str:
    sides = {side for number, (*key, _) in enumerate(neurons) for side in _sides_of_one_hinge(key, neurons[:number])}
    if not sides:
        return "every neuron has a kink of its own, so that none is merged"
    if sides == {"the same side"}:
        return "the neurons that share a kink fire on the same side of it"
    return "two neurons fire on different sides of one kink, but one of them writes 0, or others make up for it"


def _sides_of_one_hinge(key: list[float], others: list[list[float]]) -> Iterator[str]:
    for *other, _ in others:
        times = sum(a * b for a, b in zip(key, other, strict=True)) / sum(b * b for b in other)
        if all(abs(a - times * b) < 1e-9 for a, b in zip(key, other, strict=True)):
            yield "the same side" if times > 0 else "different sides"


def _merged_by_rounding(neurons: list[list[float]]) -> str:
    """With a positive factor between their keys, merged neurons say the same, unless their keys are only nearly alike."""
    sides = {side for number, (*key, _) in enumerate(neurons) for side in _sides_of_one_hinge(key, neurons[:number])}
    return "" if "different sides" in sides else "two of your neurons have nearly the same kink"


merged_counterexample = counterexample(
    "merged_counterexample",
    code=lambda neurons: evaluate_on_things(merged(neurons)),
    right=evaluate_on_things,
    form=_lamps,
    size=len,
    par=2,
    why_right=_why_merged,
    by_rounding=_merged_by_rounding,
    where="the section “A classmate's code”.",
    understood="relu(2h) is 2·relu(h), and relu(−h) is not −relu(h). ReLU lets a positive factor through, and no minus sign.",
    hints=(
        "For every network without ReLU the code would be right. Which of its lines uses a rule that ReLU breaks?",
        "`times` says how many times the one key the other is. The code takes relu(times·h) for times·relu(h). For which numbers is that wrong?",
        "Take two neurons with one kink that fire on different sides of it, and let both of them write something.",
    ),
)


# collapse_linear

collapse_linear = Exercise(
    "collapse_linear",
    draw=_draw_weights,
    where="the section “Take the activation away”.",
    understood="Without the activation, two layers say no more than one: however wide the hidden layer, one matrix and one bias do it all.",
    hints=(
        "Write (x @ W1 + b1) @ W2 + b2 without brackets. Which terms contain x, and which do not?",
        "What multiplies x is W; everything that remains when x is zero is b.",
        "b1 is inside the brackets, so it goes through W2 as well. Check the shapes: W [d_model, d_model], b [d_model].",
    ),
)


def _pair(result: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a pair (W, b) was expected")
    if len(result) != 2 or not all(isinstance(part, torch.Tensor) for part in result):
        raise NotAsAsked(f"a pair (W, b) of tensors was expected, not {type_with_article(result)} of {len(result)}")
    return result[0], result[1]


@collapse_linear.aspect("W", points=1)
def collapse_linear_w(answer: Any, W1: Any, b1: Any, W2: Any, b2: Any, **_: Any) -> Any:
    return _pair(answer(W1, b1, W2, b2))[0]


@collapse_linear.aspect("b", points=1)
def collapse_linear_b(answer: Any, W1: Any, b1: Any, W2: Any, b2: Any, **_: Any) -> Any:
    return _pair(answer(W1, b1, W2, b2))[1]


@collapse_linear.aspect("float32 and gradients", points=1)
def collapse_linear_float32_and_gradients(answer: Any, x: Any, far: Any, **weights: Any) -> Any:
    def both(**weights: Any) -> torch.Tensor:
        return torch.cat([part.flatten() for part in _pair(answer(*weights.values()))])

    single = _pair(answer(*(w.float() for w in weights.values())))
    return {"W in float32": single[0], "b in float32": single[1]} | gradients(both, **weights)


# Quizzes. Their texts are in the notebook.

quiz_rank = quiz(
    "quiz_rank",
    where="the section “Take the activation away”.",
    understood="A product W1 @ W2 has no more rank than its thinnest part, d_ff here; ranks of a sum at most add up.",
)

quiz_bias = quiz(
    "quiz_bias",
    where="the section “One token by hand”.",
    understood="Each neuron writes its own vector into the output; b2 is there before any of them has written.",
)


# ffn_backward

STAGES_THERE_AND_BACK = {
    "pre, act, out": ("pre", "act", "out"),
    "dW2, db2": ("dW2", "db2"),
    "dpre": ("dpre",),
    "dW1, db1": ("dW1", "db1"),
    "dx": ("dx",),
}


def _draw_backward(rng: Draw, case: int) -> dict[str, Any]:
    """As `_draw_weights`, with dy [A, B, T, d_model]: all zero for one token, at which no loss looks."""
    inputs = _draw_weights(rng, case)
    del inputs["far"]
    dy = rng.normal(*inputs["x"].shape)
    dy[0, -1, 0] = 0
    return inputs | {"dy": dy}


ffn_backward = Exercise(
    "ffn_backward",
    draw=_draw_backward,
    where="the section “There and back again”.",
    understood="A gradient walks back through the same three stages: the same two matrices, transposed, and the activation, which lets through only "
    "what fired.",
    hints=(
        "There, each stage is one line and a new tensor. Back, begin at the output, with one token. "
        "W2[j, k] carries what neuron j says to output k: which two numbers make its gradient? "
        "Write them as a matrix [d_ff, d_model].",
        "Many tokens: lay them under each other, `t.reshape(-1, t.shape[-1])`. With `hidden` [N, d_ff] and `dy` [N, d_model], one product of a transpose "
        "sums over N. What does a bias sum over?",
        "`dy @ W2.T` is what comes back to the hidden layer. A neuron that was silent passes none of it on: multiply by 1 where pre > 0, by 0 elsewhere.",
        "With `dpre` in hand, W1 and b1 are to x and dpre what W2 and b2 were to the hidden layer and dy. And x hears back as that did, through W1.",
    ),
)


def _entry(result: Any, key: str) -> Any:
    if not isinstance(result, dict):
        raise NotAsAsked(f"{describe_result(result)}; a dict was expected")
    if key not in result:
        raise NotAsAsked(f"the key “{key}” is missing from the dict")
    return result[key]


def _backward(answer: Any, keys: Iterable[str], *arguments: torch.Tensor) -> dict[str, Any]:
    """Some of the stages and gradients that a student's function returns. Nothing records a graph meanwhile: this exercise is to be done by hand."""
    with torch.inference_mode():
        result = answer(*(each.clone() for each in arguments))
    if not isinstance(result, dict):
        raise NotAsAsked(
            f"{describe_result(result)}; a dict with the keys pre, act, out, dW2, db2, dpre, dW1, db1 and dx was expected"
        )
    return {key: _entry(result, key) for key in keys}


def _back(name: str, keys: tuple[str, ...], points: float) -> None:
    @ffn_backward.aspect(name, points)
    def probe(answer: Any, x: Any, dy: Any, **weights: Any) -> Any:
        x, dy = x[0, -1], dy[0, -1]  # [T, d_model]; the last token is all zero, so there a neuron adds up to exactly 0
        observation = _backward(answer, keys, x, *weights.values(), dy)
        for label, parameters in _thin(**weights).items():
            width = len(parameters[0])
            observation[label] = observe_call(
                partial(_backward, answer, keys, x[:, :width], *parameters, dy[:, :width])
            )
        return observation


for _name, _keys in STAGES_THERE_AND_BACK.items():
    _back(_name, _keys, points=1)


@ffn_backward.aspect("any leading shape", points=1)
def ffn_backward_any_leading_shape(answer: Any, x: Any, dy: Any, **weights: Any) -> Any:
    keys = [key for pair in STAGES_THERE_AND_BACK.values() for key in pair]
    back = _shapes(dy)
    observation: dict[str, Any] = {}
    for label, tokens in _shapes(x).items():
        observation[label] = observe_call(partial(_backward, answer, keys, tokens, *weights.values(), back[label]))
    single = (each.float() for each in (x[0], *weights.values(), dy[0]))
    observation["everything in float32"] = observe_call(lambda: _backward(answer, keys, *single))
    arguments = {"x": x[0, -1], **weights, "dy": dy[0, -1]}
    copies = {name: each.clone() for name, each in arguments.items()}
    answer(*copies.values())
    return observation | {
        f"{name} is left as it was": torch.equal(copies[name], each) for name, each in arguments.items()
    }


# What the exercises on modules share.

LINEARS = {"linear1": "nn.Linear(d_model, d_ff)", "linear2": "nn.Linear(d_ff, d_model)"}


def _linear(module: nn.Module, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias of an attribute that is nn.Linear, or like it.

    Raises:
        NotAsAsked: it is missing, or is something else.
    """
    layer = getattr(module, name, None)
    if layer is None:
        empty = next(module.parameters(), None) is None
        note = "; the module has no parameters at all" if empty else ""
        raise NotAsAsked(f"expected attribute {name}: {LINEARS[name]}{note}")
    weight, bias = getattr(layer, "weight", None), getattr(layer, "bias", None)
    if not isinstance(weight, torch.Tensor):
        raise NotAsAsked(f"expected attribute {name}: {LINEARS[name]}; it is {type_with_article(layer)}")
    if not isinstance(bias, torch.Tensor):
        raise NotAsAsked(f"expected attribute {name}: {LINEARS[name]}; it has no bias")
    return weight, bias


def _fill(module: nn.Module, name: str, W: torch.Tensor, b: torch.Tensor) -> None:
    """Copy W [in, out] and b [out] into a linear layer, whose weight is [out, in]."""
    weight, bias = _linear(module, name)
    if weight.shape != W.T.shape or bias.shape != b.shape:
        raise NotAsAsked(f"expected attribute {name}: {LINEARS[name]}; its weight has shape {list(weight.shape)}")
    with torch.no_grad():
        weight.copy_(W.T)
        bias.copy_(b)


def _build_module(answer: Any, weights: tuple[Any, ...], *arguments: Any, **options: Any) -> nn.Module:
    """A module made by the student's class, with the given W1, b1, W2, b2, in eval mode."""
    W1, b1, W2, b2 = weights
    module = require_module(answer(*W1.shape, *arguments, **options)).to(W1.dtype)
    _fill(module, "linear1", W1, b1)
    _fill(module, "linear2", W2, b2)
    return module.eval()


def _same_shape(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    output = module(x)
    if not isinstance(output, torch.Tensor):
        raise NotAsAsked(f"{describe_result(output)} instead of a tensor")
    if output.shape != x.shape:
        raise NotAsAsked(f"x of shape {list(x.shape)} came back with shape {list(output.shape)}")
    return output


def _collect_parameters(module: nn.Module) -> dict[str, torch.Tensor]:
    """The four parameters of a module with linear1 and linear2."""
    return {
        f"{name}.{part}": tensor
        for name in LINEARS
        for part, tensor in zip(("weight", "bias"), _linear(module, name), strict=True)
    }


def _gradients(module: nn.Module, x: torch.Tensor, leaves: dict[str, torch.Tensor]) -> dict[str, torch.Tensor | None]:
    """The gradient of a weighted sum of the module's output, with respect to x and to each leaf."""
    x = x.clone().requires_grad_()
    backpropagate(module(x))
    return {f"gradient of {name}": leaf.grad for name, leaf in ({"x": x} | leaves).items()}


# PositionwiseFeedForward


def _draw_module(rng: Draw, case: int) -> dict[str, Any]:
    """As `_draw`, with a dropout probability far from 0.1 and 0.5, a wide hidden layer of positive numbers, and widths of two digits."""
    p = rng.uniform(0.25, 0.38)
    d_ff, spare = rng.integer(44, 52), 5
    wide = {
        "x": rng.normal(80, d_ff + spare).abs() + 0.5,
        "b1": rng.normal(d_ff).abs() + 0.5,
        "b2": rng.normal(d_ff + spare).abs() + 1,
    }
    return _draw(rng, case) | {
        "p": p if rng.integer(0, 1) else 1 - p,
        "wide": wide,
        "widths": rng.distinct(2, 20, 90),
    }


PositionwiseFeedForward = Exercise(
    "PositionwiseFeedForward",
    draw=_draw_module,
    where="the section “A module that others can use”.",
    understood="Your class is an FFN that can be trained, copied, saved, and put into a Transformer.",
    hints=(
        "Make the layers in `__init__`, after `super().__init__()`; use them in `forward`. "
        "`print(PositionwiseFeedForward(6, 10))` shows what PyTorch has registered.",
        "Settle the activation once, when the object is made: a callable is kept as it is, a name is looked up, and anything else raises "
        "ValueError. A dict from name to function does the looking up.",
        "Dropout acts on the hidden layer: after the activation, before `linear2`. "
        "`nn.Dropout(dropout)` made in `__init__` follows `train()` and `eval()` by itself.",
        "`forward` is one line with four calls inside each other; the innermost is `self.linear1(x)`. "
        "`extra_repr` returns a text: an f-string with both widths.",
    ),
    makes=lambda answer, W1, **_: answer(*W1.shape),
)


@PositionwiseFeedForward.aspect("values, any leading shape", points=1)
def positionwise_feed_forward_values_any_leading_shape(
    answer: Any, x: Any, W1: Any, b1: Any, W2: Any, b2: Any, **_: Any
) -> Any:
    weights = (W1, b1, W2, b2)
    double, single = (
        _build_module(answer, tuple(w.to(dtype) for w in weights), dropout=0.0, activation="relu")
        for dtype in (W1.dtype, torch.float32)
    )

    def call(tokens: Any) -> Any:
        return (double if tokens.dtype == W1.dtype else single)(tokens)

    return on_each(call, _shapes(x) | {"everything in float32": x[1].float()})


@PositionwiseFeedForward.aspect("two linears with the right widths", points=1, needs="values, any leading shape")
def positionwise_feed_forward_two_linears_with_the_right_widths(answer: Any, W1: Any, **_: Any) -> Any:
    module = require_module(answer(*W1.shape))
    observation = {name: zeros_of_shape(tensor) for name, tensor in _collect_parameters(module).items()}
    return observation | {"how many numbers parameters() holds": sum(p.numel() for p in module.parameters())}


@PositionwiseFeedForward.aspect("activation between", points=1)
def positionwise_feed_forward_activation_between(
    answer: Any, x: Any, W1: Any, b1: Any, W2: Any, b2: Any, act: str, far: Any, **_: Any
) -> Any:
    tokens = torch.cat([x[0, -1], far])

    def output(**options: Any) -> Any:
        return observe_call(lambda: _build_module(answer, (W1, b1, W2, b2), dropout=0.0, **options)(tokens))

    by_name = {f"activation='{name}'": output(activation=name) for name in NAMES}
    return {"without the argument": output()} | by_name | {f"a callable ({act})": output(activation=CALLABLES[act])}


def _dropout_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, bool | None]:
    """What holds for dropout on the hidden layer, whatever numbers chance picks.

    Hidden neuron j is output j, and what it is without dropout is computed here; the last outputs are b2 alone. None: it can't be
    told, because something above it does not hold.
    """
    p, b1, b2 = inputs["p"], inputs["wide"]["b1"], inputs["wide"]["b2"]
    evals, trains, without = observation["eval"], observation["train"], observation["p = 0"]
    units = len(b1)
    whole = F.silu(inputs["wide"]["x"][:, :units] + b1)
    right = torch.cat([whole, torch.zeros(len(whole), len(b2) - units, dtype=whole.dtype)], dim=1) + b2

    def hidden_values(output: torch.Tensor, bias: torch.Tensor = b2) -> torch.Tensor:
        return (output - bias)[:, :units]

    def zero_mask(values: torch.Tensor) -> torch.Tensor:
        return values.abs() < 1e-9

    def share(values: torch.Tensor, probability: float) -> bool | None:
        mask = zero_mask(values)
        if not _one_by_one(mask):
            return None
        return abs(float(mask.double().mean()) - probability) <= SIGMAS * math.sqrt(
            probability * (1 - probability) / mask.numel()
        )

    mask = zero_mask(hidden_values(trains[0]))
    factors = (hidden_values(trains[0]) / whole)[~mask]
    same = factors.numel() > 0 and bool(factors.max() - factors.min() < 1e-6)
    zero_bias = torch.zeros_like(b2)
    return {
        "in eval mode two calls give the same": torch.allclose(evals[0], evals[1]),
        "in training mode two calls differ": not torch.allclose(trains[0], trains[1]),
        "with dropout=0 training mode gives what eval mode gives": torch.allclose(*without),
        "eval mode gives the same for every p": all(torch.allclose(output, right) for output in (*evals, without[0])),
        "b2 is never dropped": all(torch.allclose(t[:, units:], b2[units:].expand(len(t), -1)) for t in trains),
        "every hidden value is dropped by a chance of its own": _one_by_one(mask),
        "the share of hidden values that training sets to zero is p": share(hidden_values(trains[0]), p),
        "with b2 = 0 the share of outputs at zero is p": share(hidden_values(observation["b2 = 0"], zero_bias), p),
        "all hidden values that remain grow by the same factor": same,
        "hidden values that remain are multiplied by 1/(1 − p)": same
        and abs(float(factors.mean()) - 1 / (1 - p)) < 1e-6,
        "without the argument, p is 0.1": share(hidden_values(observation["default"], zero_bias), 0.1),
    }


def _one_by_one(mask: torch.Tensor) -> bool:
    """Whether neither all rows nor all columns were dropped alike."""
    return bool((mask != mask[:1]).any()) and bool((mask != mask[:, :1]).any())


@PositionwiseFeedForward.aspect("dropout on the hidden layer", points=1, facts=_dropout_facts)
def positionwise_feed_forward_dropout_on_the_hidden_layer(answer: Any, p: float, wide: Any, **_: Any) -> Any:
    x, b1, b2 = wide["x"], wide["b1"], wide["b2"]
    W1, W2 = torch.eye(len(b2), len(b1)).double(), torch.eye(len(b1), len(b2)).double()

    def make(bias: torch.Tensor = b2, **options: Any) -> nn.Module:
        return _build_module(answer, (W1, b1, W2, bias), activation="silu", **options)

    def twice(module: nn.Module) -> list[torch.Tensor]:
        return [_same_shape(module, x) for _ in range(2)]

    module, without = make(dropout=p), make(dropout=0.0)
    observation = {
        "eval": twice(module),
        "train": twice(module.train()),
        "p = 0": [_same_shape(without.eval(), x), _same_shape(without.train(), x)],
        "default": _same_shape(make(torch.zeros_like(b2)).train(), x),
    }
    _fill(module, "linear2", W2, torch.zeros_like(b2))
    return observation | {"b2 = 0": _same_shape(module, x)}


@PositionwiseFeedForward.aspect("gradients", points=1)
def positionwise_feed_forward_gradients(answer: Any, x: Any, W1: Any, b1: Any, W2: Any, b2: Any, **_: Any) -> Any:
    module = _build_module(answer, (W1, b1, W2, b2), dropout=0.0, activation="relu")
    return _gradients(module, x[1], _collect_parameters(module))


@PositionwiseFeedForward.aspect("unknown activation", points=0.5, needs="values, any leading shape")
def positionwise_feed_forward_unknown_activation(answer: Any, x: Any, W1: Any, **_: Any) -> Any:
    modules: list[Any] = []
    observation = {
        "making it with activation='sulu' raises": expect_exception(
            lambda: modules.append(answer(*W1.shape, activation="sulu"))
        )
    }
    later = expect_exception(lambda: require_module(modules[0])(x[0].float())) if modules else "it is never called"
    return observation | {
        "calling it afterwards raises": later,
        "making it with activation=3 raises": expect_exception(lambda: answer(*W1.shape, activation=3)),
        "making it with activation='dropout' raises": expect_exception(lambda: answer(*W1.shape, activation="dropout")),
        "making it with activation=None raises": expect_exception(lambda: answer(*W1.shape, activation=None)),
    }


def _repr_facts(text: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    if not isinstance(text, str):
        raise NotAsAsked("extra_repr() should return a text")
    return (
        {"extra_repr() is not empty": bool(text.strip()), "extra_repr() is short": len(text) <= 120}
        | {
            f"extra_repr() contains the number {name}": re.search(rf"(?<![\d.]){number}(?![\d.]*\d)", text) is not None
            for name, number in zip(("d_model", "d_ff"), inputs["widths"], strict=True)
        }
        | {
            f"extra_repr() gives {name} its own number": all(
                int(digits) == number for digits in re.findall(rf"{name}\W{{1,4}}(\d+)", text)
            )
            for name, number in zip(("d_model", "d_ff"), inputs["widths"], strict=True)
        }
    )


@PositionwiseFeedForward.aspect("extra_repr", points=0.5, facts=_repr_facts)
def positionwise_feed_forward_extra_repr(answer: Any, widths: list[int], **_: Any) -> Any:
    return require_module(answer(*widths)).extra_repr()


# DeepFFN


def _draw_deep(rng: Draw, case: int) -> dict[str, Any]:
    """Weights for any depth: every layer from d_ff to d_ff gets the same, so that their order does not matter."""
    inputs = _draw(rng, case)
    d_ff = len(inputs["b1"])
    norm = {"gain": rng.normal(d_ff, scale=0.5) + 1.5, "shift": rng.normal(d_ff)}
    return inputs | {"W_mid": rng.normal(d_ff, d_ff, scale=0.5), "n_hidden": rng.integer(3, 5)} | norm


DeepFFN = Exercise(
    "DeepFFN",
    draw=_draw_deep,
    where="the section “As deep as you like”.",
    understood="Depth is a list of layers that PyTorch knows about, with an activation after each hidden layer and none at the end.",
    hints=(
        "Count on paper for n_hidden = 1, 2 and 3: how many layers go from d_model to d_ff, from d_ff to d_ff, from d_ff to d_model?",
        "A Python list hides its layers from `parameters()`. Which container does not?",
        "Each hidden layer needs a Linear of its own: make it anew in every turn of the loop. A product such as `[layer] * 3` holds one layer three times.",
        "In `forward`, loop over the hidden layers: `x` becomes the activation of the layer's output. After the loop the last layer is called, alone.",
        "`nn.LayerNorm(d_ff)` brings gain, bias and eps along. Each hidden layer has one of its own, made in `__init__`, and it comes after the activation.",
    ),
    makes=lambda answer, W1, n_hidden, **_: answer(*W1.shape, n_hidden, torch.tanh),
)


def _shape(tensor: torch.Tensor) -> str:
    return f"parameters of shape {list(tensor.shape)}"


def _deep(answer: Any, inputs: dict[str, Any], n_hidden: int, activation: Any, **options: Any) -> nn.Module:
    """A student's DeepFFN in eval mode, its parameters filled by their shapes; gains and shifts of norms start at 1 and 0."""
    W1, W2 = inputs["W1"], inputs["W2"]
    by_shape = {_shape(t): t for t in (W1.T, inputs["W_mid"].T, W2.T, inputs["b1"], inputs["b2"])}
    module = require_module(answer(*W1.shape, n_hidden, activation, **options)).double()
    for parameter in module.parameters():
        if _shape(parameter) not in by_shape:
            raise NotAsAsked(f"{_shape(parameter)} were not expected for d_model = {len(W1)}, d_ff = {len(W2)}")
        filling = by_shape[_shape(parameter)]
        if parameter.shape == inputs["gain"].shape and bool((parameter == 1).all()):
            filling = inputs["gain"]
        elif parameter.shape == inputs["shift"].shape and not bool(parameter.any()):
            filling = inputs["shift"]
        with torch.no_grad():
            parameter.copy_(filling)
    return module.eval()


@DeepFFN.aspect("values", points=1)
def deep_ffn_values(answer: Any, **inputs: Any) -> Any:
    act, deep = CALLABLES[inputs["act"]], inputs["n_hidden"]
    deepest = _deep(answer, inputs, deep, act)

    def output(n: int) -> Any:
        return observe_call(lambda: _deep(answer, inputs, n, act)(inputs["x"][0]))

    by_depth = {f"n_hidden = {n}": output(n) for n in (1, 2)}
    by_shape = {
        f"n_hidden = {deep}, {label}": observe_call(lambda x=x: deepest(x))  # type: ignore[misc]
        for label, x in _shapes(inputs["x"]).items()
    }
    return by_depth | by_shape | {"in training mode": observe_call(lambda: deepest.train()(inputs["x"][0]))}


@DeepFFN.aspect("layers and their widths", points=0.5, needs="values")
def deep_ffn_layers_and_their_widths(answer: Any, W1: Any, n_hidden: int, **_: Any) -> Any:
    def layers(n: int) -> Any:
        counts: dict[str, int] = {}
        for parameter in require_module(answer(*W1.shape, n, torch.tanh)).parameters():
            counts[_shape(parameter)] = counts.get(_shape(parameter), 0) + 1
        return counts

    return {f"n_hidden = {n}": observe_call(lambda n=n: layers(n)) for n in (1, 2, n_hidden)}  # type: ignore[misc]


@DeepFFN.aspect("activation by name", points=0.5)
def deep_ffn_activation_by_name(answer: Any, **inputs: Any) -> Any:
    tokens = torch.cat([inputs["x"][0, -1], inputs["far"]])
    return {
        f"activation='{name}'": observe_call(lambda name=name: _deep(answer, inputs, 2, name)(tokens))  # type: ignore[misc]
        for name in NAMES
    }


@DeepFFN.aspect("gradients", points=0.5)
def deep_ffn_gradients(answer: Any, **inputs: Any) -> Any:
    module = _deep(answer, inputs, inputs["n_hidden"], torch.tanh)
    x = inputs["x"][1].clone().requires_grad_()
    backpropagate(module(x))
    sums: dict[str, Any] = {}
    for parameter in module.parameters():  # all of one shape together: nobody knows their order
        if parameter.grad is None:
            raise NotAsAsked(f"no gradient reaches some of the {_shape(parameter)}")
        sums[_shape(parameter)] = sums.get(_shape(parameter), 0) + parameter.grad
    return {"gradient of x": x.grad} | {f"gradient of the {shape}": total for shape, total in sums.items()}


@DeepFFN.aspect("n_hidden below 1", points=0.5, needs="values")
def deep_ffn_n_hidden_below_1(answer: Any, W1: Any, **_: Any) -> Any:
    return {
        f"making it with n_hidden={n} raises": expect_exception(lambda n=n: answer(*W1.shape, n, torch.tanh))  # type: ignore[misc]
        for n in (0, -2)
    }


@DeepFFN.aspect("layer norm", points=1, needs="values")
def deep_ffn_layer_norm(answer: Any, **inputs: Any) -> Any:
    act, depths = CALLABLES[inputs["act"]], (1, inputs["n_hidden"])
    tokens = torch.cat([inputs["x"][0, -1], inputs["far"]])

    def output(n: int) -> Any:
        return observe_call(lambda: _deep(answer, inputs, n, act, norm=True)(tokens))

    def count_parameters(n: int) -> int:
        module = require_module(answer(*inputs["W1"].shape, n, act, norm=True))
        return sum(parameter.numel() for parameter in module.parameters())

    return {f"norm=True, n_hidden = {n}": output(n) for n in depths} | {
        f"how many numbers parameters() holds, n_hidden = {n}": observe_call(lambda n=n: count_parameters(n))  # type: ignore[misc]
        for n in depths
    }
