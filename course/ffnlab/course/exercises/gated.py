"""Notebook 07, Gated FFNs: how each exercise is called, and on what inputs. No answers.

Sizes differ pairwise, so that a transposed weight or a wrong axis can't pass by accident.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab.course import gated_curves
from ffnlab.course.counterexample import counterexample, lists_of_numbers
from ffnlab.course.ffn_probes import leading_shapes, require_module
from ffnlab.observation.exercise import (
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

NOTEBOOK = "07_gated"

SIGMAS = 7  # how far chance may lead us
KINDS = ("glu", "bilinear", "reglu", "geglu", "swiglu")


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """x [A, B, T, d_model] and the three matrices, as `x @ W` wants them. d_ff may be the smaller or the larger."""
    A, B, T = rng.distinct(3, 2, 5)
    d_model, d_ff = rng.distinct(2, 6, 10)
    return {
        "x": rng.normal(A, B, T, d_model),
        "Wg": rng.normal(d_model, d_ff, scale=0.7),
        "Wu": rng.normal(d_model, d_ff, scale=0.6),
        "Wd": rng.normal(d_ff, d_model, scale=0.6),
    }


# same_unit_counterexample


def same_unit(gate: list[float], up: list[float], other_gate: list[float], other_up: list[float]) -> bool:
    """A classmate's: whether two bilinear neurons give the same for every x, that is whether (x·gate)(x·up) = (x·other_gate)(x·other_up)."""

    def times(weights: list[float], other: list[float]) -> float:
        """The number that makes `other` of `weights`; 0 if none does."""
        factor = sum(a * b for a, b in zip(weights, other, strict=True)) / sum(a * a for a in weights)
        return factor if all(abs(b - factor * a) < 1e-9 for a, b in zip(weights, other, strict=True)) else 0.0

    return abs(times(gate, other_gate) * times(up, other_up) - 1) < 1e-9


def same_products(gate: list[float], up: list[float], other_gate: list[float], other_up: list[float]) -> bool:
    """The same, by what stands before each product x[i]·x[j], in proportion to the largest of these numbers."""

    def of_each_pair(gate: list[float], up: list[float]) -> list[float]:
        return [gate[i] * up[j] + gate[j] * up[i] for i in range(len(gate)) for j in range(i + 1)]

    first, second = of_each_pair(gate, up), of_each_pair(other_gate, other_up)
    largest = max(map(abs, first + second))
    return all(abs(a - b) < 1e-9 * largest for a, b in zip(first, second, strict=True))


def _parse_units(observation: Any) -> tuple[list[float], ...]:
    lists = lists_of_numbers(observation, "gate", "up", "other_gate", "other_up", each="number of x")
    if not all(map(any, lists)):
        raise NotAsAsked(
            "one of the four lists holds zeros alone: it reads nothing, and your classmate's code is not meant for it"
        )
    return lists


def _explain_same(gate: list[float], up: list[float], other_gate: list[float], other_up: list[float]) -> str:
    if not same_products(gate, up, other_gate, other_up):
        return "the two neurons differ, and the code says so"
    if len(gate) == 1:
        return "x is a single number, and then all four lists are multiples of each other"
    if max(_distance_from_multiples(gate, other_gate), _distance_from_multiples(up, other_up)) > 1e-12:
        return "the two neurons differ by a rounding, which is not what is asked about"
    return "one gate is a multiple of the other, and so is up: the code finds that"


def _differ_by_rounding(gate: list[float], up: list[float], other_gate: list[float], other_up: list[float]) -> str:
    """Of two that are the same, the code misses only those whose gates are no multiples of each other. Nearly multiples is a question of rounding."""
    if not same_products(gate, up, other_gate, other_up):
        return "your two neurons differ by a rounding"
    if _distance_from_multiples(gate, other_gate) < 1e-6 and _distance_from_multiples(up, other_up) < 1e-6:
        return "your two gates, and your two ups, are multiples of each other but for a rounding"
    return ""


def _distance_from_multiples(weights: list[float], other: list[float]) -> float:
    """How far two lists point in different directions: 0 where one is a multiple of the other, 1 at right angles."""
    w, o = (F.normalize(torch.tensor(numbers, dtype=torch.float64), dim=0) for numbers in (weights, other))
    return float((o - (w @ o) * w).norm())


same_unit_counterexample = counterexample(
    "same_unit_counterexample",
    code=same_unit,
    right=same_products,
    form=_parse_units,
    size=lambda gate, *_: len(gate),
    par=2,
    why_right=_explain_same,
    by_rounding=_differ_by_rounding,
    where="the section “x², exactly”.",
    understood="A product does not tell which factor is the gate. In a bilinear neuron gate and up can change places; an activation on one of them ends that.",
    hints=(
        "The code never calls two different neurons the same. So you need two neurons that are the same for every x, and it must not notice.",
        "It compares gate with gate and up with up. What does a product not care about?",
        "Two numbers for x are enough. Let the first neuron multiply two different readings, and build the second of the same two.",
    ),
)


# glu_variant

glu_variant = Exercise(
    "glu_variant",
    draw=_draw,
    where="the section “The family”.",
    understood="Five published FFNs are one formula: the gate goes through an activation, the other branch stays linear, and the two are multiplied "
    "number by number.",
    hints=(
        "Both branches read the same x. One is `x @ Wg`, the other `x @ Wu`: each has d_ff numbers per token.",
        "Only the gate goes through the activation. Then the two are multiplied, entry by entry, and Wd leads back to d_model.",
        "A dict from name to function chooses the activation: torch.sigmoid, torch.relu, F.gelu, F.silu, and for 'bilinear' a function that "
        "returns what it is given. Ask whether `kind` is in the dict before you look it up.",
    ),
)


def _add_kind_aspect(kind: str) -> None:
    @glu_variant.aspect(kind, points=0.5)
    def probe(answer: Any, x: Any, **weights: Any) -> Any:
        return answer(x[0], *weights.values(), kind)


for _name in KINDS:
    _add_kind_aspect(_name)


@glu_variant.aspect("gradients", points=1)
def glu_variant_gradients(answer: Any, x: Any, Wg: Any, Wu: Any, Wd: Any) -> Any:
    def compute(**leaves: Any) -> Any:
        return answer(*leaves.values(), "swiglu")

    return gradients(compute, x=x[0], Wg=Wg, Wu=Wu, Wd=Wd)


@glu_variant.aspect("any leading shape", points=1)
def glu_variant_any_leading_shape(answer: Any, x: Any, **weights: Any) -> Any:
    def call(tokens: Any) -> Any:
        return answer(tokens, *(w.to(tokens.dtype) for w in weights.values()), "reglu")

    return on_each(call, leading_shapes(x) | {"everything in float32": x[0].float()})


@glu_variant.aspect("unknown kind", points=0.5, needs="swiglu")
def glu_variant_unknown_kind(answer: Any, x: Any, **weights: Any) -> Any:
    return {
        f"kind='{kind}' raises": expect_exception(lambda kind=kind: answer(x[0], *weights.values(), kind))  # type: ignore[misc]
        for kind in ("sulu", "glue")
    }


# gate_or_flag

gate_or_flag = Exercise(
    "gate_or_flag",
    where="the section “A network, or a flag”.",
    understood="Where a gate shuts, a neuron is 0, so two of them can make a different parabola on each side. Each gate has one such place, and far out "
    "nothing is left but parabolas and lines.",
    hints=(
        "Write each function without abs and max, piece by piece. Which pieces are parabolas or lines, and how many corners are between them?",
        "A ReGLU neuron is 0 on one side of the place where its gate opens. So give each side of 0 a neuron of its own.",
        "tanh is never a parabola. Which activation looks like it? It has to be stretched and moved down, and up has to be a number without x.",
        "1 − x² is (1 − x)(1 + x). Let one neuron be that, wherever its gate is open. On which side does it go wrong? A second one is needed there alone.",
        "A flag: count the corners and the gates. Look far out. Look for a jump.",
    ),
    cases=1,
)


def _what_is_said(name: str) -> Callable[[Any, dict[str, Any]], str]:
    """Of one function: a flag by its letter, or how a network compares with that function."""

    def fact(observation: Any, inputs: dict[str, Any]) -> str:
        if not isinstance(observation, dict):
            raise NotAsAsked(f"{describe_result(observation)}; a dict with an answer for each function was expected")
        if name not in observation:
            raise NotAsAsked(f'the dict has nothing under "{name}"')
        said = gated_curves.read(observation[name], name)
        if isinstance(said, str):
            return f"flag {said}: {gated_curves.REASONS[said]}"
        return f"your network: {gated_curves.what_is_wrong(said, name) or 'equal at every x'}"

    return fact


def _ask_of_curve(name: str, needs: str = "") -> None:
    @gate_or_flag.aspect(name, points=1, facts=_what_is_said(name), needs=needs)
    def probe(answer: Any) -> Any:
        if isinstance(answer, dict) and all(part is ... for part in answer.values()):
            raise NotImplementedError
        return answer


_FIRST_CURVE, *_OTHER_CURVES = gated_curves.CURVES
_ask_of_curve(_FIRST_CURVE)
for _name in _OTHER_CURVES:  # a letter could be guessed, so it counts for those who have made a network
    _ask_of_curve(_name, needs=_FIRST_CURVE)


# Quizzes. Their texts are in the notebook.

quiz_lights = quiz(
    "quiz_lights",
    where="the section “A gate on itself”.",
    understood="One matrix serves all tokens with the same lights, and it is linear among them. A gate that is not a switch ends that.",
)

quiz_rival = quiz(
    "quiz_rival",
    where="the section “A fair width”.",
    understood="Three matrices instead of two: a gated FFN has as many weights as a plain one that is one and a half times as wide.",
)

quiz_best_pair = quiz(
    "quiz_best_pair",
    where="the section “Shazeer's table”.",
    understood="The largest lead among many pairs has to be measured against the largest lead that luck alone makes among as many.",
)


# GatedFFN

LINEARS = {
    "gate_proj": "nn.Linear(d_model, d_ff, bias=False)",
    "up_proj": "nn.Linear(d_model, d_ff, bias=False)",
    "down_proj": "nn.Linear(d_ff, d_model, bias=False)",
}


def _draw_module(rng: Draw, case: int) -> dict[str, Any]:
    """As `_draw`, with a dropout probability far from 0.1 and 0.5, and a wide hidden layer of positive numbers."""
    p = rng.uniform(0.25, 0.38)
    return _draw(rng, case) | {
        "p": p if rng.integer(0, 1) else 1 - p,
        "wide": rng.normal(80, rng.integer(44, 52)).abs() + 0.5,
    }


GatedFFN = Exercise(
    "GatedFFN",
    draw=_draw_module,
    where="the section “As LLaMA does it”.",
    understood="Your class is the FFN of LLaMA: three matrices without biases, and it is always clear which branch has the activation.",
    hints=(
        "Make three layers in `__init__`, after `super().__init__()`. Which of them lead from d_model to d_ff, and which leads back?",
        "`nn.Linear(a, b, bias=False)` has no bias. Choose the activation in `__init__`: two names are known, and every other is a ValueError.",
        "`forward`: apply the activation to gate_proj's output, multiply it with up_proj's, drop out, and send it through down_proj.",
    ),
    makes=lambda answer, Wg, **_: answer(*Wg.shape),
)


def _get_weight(module: nn.Module, name: str) -> torch.Tensor:
    """The weight of an attribute that is nn.Linear without a bias, or like it.

    Raises:
        NotAsAsked: it is missing, or is something else.
    """
    layer = getattr(module, name, None)
    if layer is None:
        empty = next(module.parameters(), None) is None
        note = "; the module has no parameters at all" if empty else ""
        raise NotAsAsked(f"expected attribute {name}: {LINEARS[name]}{note}")
    weight = getattr(layer, "weight", None)
    if not isinstance(weight, torch.Tensor):
        raise NotAsAsked(f"expected attribute {name}: {LINEARS[name]}; it is {type_with_article(layer)}")
    return weight


def _fill_module(answer: Any, weights: dict[str, torch.Tensor], **options: Any) -> nn.Module:
    """A module made by the student's class, with the given matrices, and zeros in what else it has, in eval mode."""
    Wg, Wu, Wd = weights["Wg"], weights["Wu"], weights["Wd"]
    module = require_module(answer(*Wg.shape, **options)).to(Wg.dtype)
    with torch.no_grad():
        for name, W in zip(LINEARS, (Wg, Wu, Wd), strict=True):
            weight = _get_weight(module, name)
            if weight.shape != W.T.shape:
                raise NotAsAsked(
                    f"expected attribute {name}: {LINEARS[name]}; its weight has shape {list(weight.shape)}"
                )
            weight.copy_(W.T)
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    return module.eval()


@GatedFFN.aspect("three linears without biases", points=1)
def gated_ffn_three_linears_without_biases(answer: Any, x: Any, p: Any, wide: Any, **weights: Any) -> Any:
    """What each layer makes of x: of its own weights, that is, which are copied in, and of a bias if it has one."""
    module = require_module(answer(*weights["Wg"].shape)).to(x.dtype)
    observation: dict[str, Any] = {}
    for name, W in zip(LINEARS, weights.values(), strict=True):
        layer_input = torch.full(W.shape[:1], 1.0, dtype=W.dtype) if name == "down_proj" else x[0, 0]

        def output(name: str = name, W: torch.Tensor = W, layer_input: torch.Tensor = layer_input) -> Any:
            weight = _get_weight(module, name)
            if weight.shape != W.T.shape:
                return zeros_of_shape(weight)
            with torch.no_grad():
                weight.copy_(W.T)
            return getattr(module, name)(layer_input)

        observation[f"{name}(x)"] = observe_call(output)
        bias = getattr(getattr(module, name, None), "bias", None)
        observation[f"{name} has a bias"] = isinstance(bias, torch.Tensor)
    return observation | {"how many numbers parameters() holds": sum(p.numel() for p in module.parameters())}


@GatedFFN.aspect("activation on the gate", points=1)
def gated_ffn_activation_on_the_gate(answer: Any, x: Any, p: Any, wide: Any, **weights: Any) -> Any:
    def output(**options: Any) -> Any:
        return observe_call(lambda: _fill_module(answer, weights, **options)(x[0]))

    by_name = {f"activation='{name}'": output(activation=name) for name in ("silu", "gelu")}
    return {"without the argument": output()} | by_name


COPIES = 8  # of each hidden value in the sums, so that no sum loses all of them by chance, even where each vanishes twice as easily
OPEN = 100.0  # times numbers above 0.5: so far on the open side SiLU and GELU change nothing


def _dropout_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    """What holds for dropout on the hidden layer, whatever numbers chance picks. The down matrix copies or adds up neurons.

    `open`: with gates so large that no activation shows, the hidden layer is known from what was drawn.
    """
    p, hidden, evals, trains = inputs["p"], (OPEN * inputs["wide"]).square(), observation["eval"], observation["train"]
    if any(output.shape != hidden.shape for output in (*evals, *trains, *observation["open"])):
        raise NotAsAsked("in training mode and in eval mode the output should have the shape of x")

    def zero_share(output: torch.Tensor) -> float:
        return float((output.abs() < 1e-9).double().mean())

    def is_near(share: float, expected_share: float, count: int) -> bool:
        return abs(share - expected_share) <= SIGMAS * math.sqrt(expected_share * (1 - expected_share) / count)

    is_nonzero = trains[0].abs() >= 1e-9
    factors = (trains[0] / evals[0])[is_nonzero]
    same = factors.numel() > 0 and bool(factors.max() - factors.min() < 1e-6)
    survivors = observation["open"][1]
    is_zero_or_scaled = torch.isclose(survivors, hidden / (1 - p), rtol=1e-6) | (survivors.abs() < 1e-9)
    return {
        "in eval mode two calls give the same": torch.allclose(evals[0], evals[1]),
        "in training mode two calls differ": not torch.allclose(trains[0], trains[1]),
        "without the argument training mode gives what eval mode gives": torch.allclose(*observation["default"]),
        "the share of hidden values that training sets to zero is p": is_near(
            zero_share(trains[0]), p, trains[0].numel()
        ),
        "no output is dropped, only hidden values are": zero_share(observation["sums"]) < 1e-3,
        "all hidden values that remain grow by the same factor": same,
        "that factor is 1/(1 − p)": same and abs(float(factors.mean()) - 1 / (1 - p)) < 1e-6,
        "nothing is dropped twice": not (same and abs(float(factors.mean()) - 1 / (1 - p) ** 2) < 1e-6),
        "nothing that remains grows by more than 1/(1 − p)²": not bool((factors > (1 + 1e-6) / (1 - p) ** 2).any()),
        "in eval mode hidden values are what they are without dropout": torch.allclose(
            observation["open"][0], hidden, rtol=1e-6
        ),
        "in training mode those that remain are that, times 1/(1 − p)": bool(is_zero_or_scaled.all()),
    }


@GatedFFN.aspect("dropout on the hidden layer", points=0.75, facts=_dropout_facts)
def gated_ffn_dropout_on_the_hidden_layer(answer: Any, p: float, wide: Any, **_: Any) -> Any:
    n = wide.shape[1]
    identity = torch.eye(n, dtype=torch.float64)

    def make(Win: torch.Tensor = identity, Wd: torch.Tensor = identity, **options: Any) -> nn.Module:
        return _fill_module(answer, {"Wg": Win, "Wu": Win, "Wd": Wd}, **options)

    def call_twice(module: nn.Module) -> list[torch.Tensor]:
        outputs = [module(wide) for _ in range(2)]
        for output in outputs:
            if not isinstance(output, torch.Tensor):
                raise NotAsAsked(f"{describe_result(output)} instead of a tensor")
            if output.shape != wide.shape:
                raise NotAsAsked(f"x of shape {list(wide.shape)} came back with shape {list(output.shape)}")
        return outputs

    default = make()
    sums = make(identity.repeat(1, COPIES), torch.ones(COPIES * n, n, dtype=torch.float64), dropout=p)
    return {
        "eval": call_twice(make(dropout=p)),
        "train": call_twice(make(dropout=p).train()),
        "default": [call_twice(default)[0], call_twice(default.train())[0]],
        "sums": call_twice(sums.train())[0],
        "open": [
            call_twice(make(OPEN * identity, dropout=p))[0],
            call_twice(make(OPEN * identity, dropout=p).train())[0],
        ],
    }


@GatedFFN.aspect("any leading shape, and gradients", points=0.75)
def gated_ffn_any_leading_shape_and_gradients(answer: Any, x: Any, p: Any, wide: Any, **weights: Any) -> Any:
    def call(tokens: Any) -> Any:
        return _fill_module(answer, {name: W.to(tokens.dtype) for name, W in weights.items()})(tokens)

    module = _fill_module(answer, weights)
    leaf = x[0].clone().requires_grad_()
    backpropagate(module(leaf))
    leaves = {"x": leaf} | {f"{name}.weight": _get_weight(module, name) for name in LINEARS}
    leaf_gradients = {f"gradient of {name}": tensor.grad for name, tensor in leaves.items()}
    return on_each(call, leading_shapes(x) | {"everything in float32": x[0].float()}) | leaf_gradients


@GatedFFN.aspect("unknown activation", points=0.5, needs="activation on the gate")
def gated_ffn_unknown_activation(answer: Any, Wg: Any, **_: Any) -> Any:
    modules: list[Any] = []
    observation = {
        f"making it with activation='{name}' raises": expect_exception(
            lambda name=name: modules.append(answer(*Wg.shape, activation=name))  # type: ignore[misc]
        )
        for name in ("sulu", "dropout", "relu")
    }
    x = torch.ones(2, Wg.shape[0])
    later = expect_exception(lambda: require_module(modules[0])(x)) if modules else "it is never called"
    return observation | {"calling it afterwards raises": later}


# swiglu_width


def _draw_llamas(rng: Draw, case: int) -> dict[str, Any]:
    """Widths of models. `exact`: 8/3 of it is a multiple of 256; `fine`: multiples so small that every rounding shows."""
    odd = [n for n in range(130, 2600) if (8 * n // 3) % 256 not in (0, 255) and n % 3]
    up = [n for n in odd if (8 * n // 3) % 256 > 140]  # the nearest multiple is above
    down = [n for n in odd if (8 * n // 3) % 256 < 115]  # the nearest multiple is below
    fractional = [n for n in range(1001, 3000) if n % 3]  # 8/3 of it is not a whole number
    # cutting twice is not cutting once
    double_cuts = [n for n in fractional if int(1.3 * (8 * n // 3)) != int(1.3 * 8 * n / 3)]
    same = [n for n in fractional if n not in double_cuts]
    low = [n for n in double_cuts if round(1.3 * (8 * n // 3)) == int(1.3 * (8 * n // 3))]  # but rounding is cutting
    multiple, mult = rng.one_of((1024, 4096)), rng.one_of((1.2, 1.3, 1.4))

    def coarse(n: int) -> bool:
        """Whether rounding up before `mult` shows, with and without a second time, and rounding to the nearest multiple at the end."""
        if not 0 < int(mult * (8 * n // 3)) % multiple < multiple / 2:
            return False
        early = int(mult * (math.ceil(8 * n // 3 / multiple) * multiple))
        return math.ceil(early / multiple) > math.ceil(int(mult * (8 * n // 3)) / multiple) and early % multiple > 0

    small = rng.one_of((3, 5, 7))  # odd, so that 8/3 of a width may leave every rest
    rests = [rng.one_of([n for n in fractional if 8 * n // 3 % small == rest]) for rest in (0, 1, small - 1)]
    edges = [rng.one_of([n for n in range(130, 2600) if 8 * n // 3 % 256 == rest]) for rest in (2, 253)]
    thirds = [rng.one_of([n for n in fractional if n % 3 == rest]) for rest in (1, 2)] + [3 * rng.integer(50, 900)]
    return {
        "up": rng.one_of(up),
        "down": rng.one_of(down),
        "exact": 96 * rng.integer(3, 60),
        "edges": edges,
        "thirds": thirds,
        "small": small,
        "rests": rests,
        "fine": [rng.one_of(numbers) for numbers in (double_cuts, low, same) for _ in range(4)],
        "coarse": rng.one_of([4 * n for n in down if coarse(4 * n)]),
        "multiple": multiple,
        "mult": mult,
    }


swiglu_width = Exercise(
    "swiglu_width",
    draw=_draw_llamas,
    where="the section “A fair width”.",
    understood="A gated FFN of width 8/3·d_model is as large as a plain one of width 4·d_model; the rest of the rule makes the number convenient.",
    hints=(
        "Three steps, in this order: 8/3 of d cut to a whole number, times mult and cut again, then up to a multiple.",
        "`int(...)` cuts off what comes after the point; for the last step think of how many boxes of size `multiple_of` hold so many things.",
        "The number of boxes is `math.ceil(width / multiple_of)`, or with whole numbers `(width + multiple_of - 1) // multiple_of`. "
        "Then multiply it by the size of a box.",
    ),
)


@swiglu_width.aspect("8/3, rounded up", points=1.5)
def swiglu_width_8_3_rounded_up(answer: Any, up: int, down: int, exact: int, edges: list[int], **_: Any) -> Any:
    widths = {
        "a width between two multiples of 256": up,
        "another one": down,
        "a width whose 8/3 is a multiple": exact,
        "a width just above a multiple": edges[0],
        "a width just below a multiple": edges[1],
    }
    return {f"{words}, d = {d:,}": observe_call(lambda d=d: answer(d)) for words, d in widths.items()}  # type: ignore[misc]


@swiglu_width.aspect("multiple_of", points=1)
def swiglu_width_multiple_of(
    answer: Any, up: int, multiple: int, thirds: list[int], small: int, rests: list[int], **_: Any
) -> Any:
    arguments = [(up, multiple), *((d, 1) for d in thirds), *((d, small) for d in rests)]
    return {
        f"d = {d:,}, multiple_of = {boxes}": observe_call(partial(answer, d, multiple_of=boxes))
        for d, boxes in arguments
    } | {f"d = {up:,}, {multiple} as the second argument": observe_call(partial(answer, up, multiple))}


@swiglu_width.aspect("mult", points=1.5)
def swiglu_width_mult(answer: Any, coarse: int, fine: list[int], multiple: int, mult: float, **_: Any) -> Any:
    return {
        f"d = {coarse:,}, multiple_of = {multiple}, mult = {mult}": observe_call(
            lambda: answer(coarse, multiple, mult)
        ),
    } | {
        f"d = {d:,}, multiple_of = 1, mult = 1.3": observe_call(lambda d=d: answer(d, multiple_of=1, mult=1.3))  # type: ignore[misc]
        for d in fine
    }


# fuse_gate_up


def _draw_pair(rng: Draw, case: int) -> dict[str, Any]:
    """Two weights as nn.Linear stores them, [d_ff, d_model], and x [B, T, d_model]."""
    B, T = rng.distinct(2, 2, 4)
    d_model, d_ff = rng.distinct(2, 5, 9)
    return {
        "x": rng.normal(B, T, d_model),
        "gate_weight": rng.normal(d_ff, d_model, scale=0.7),
        "up_weight": rng.normal(d_ff, d_model, scale=0.7),
    }


fuse_gate_up = Exercise(
    "fuse_gate_up",
    draw=_draw_pair,
    where="the section “One product instead of two”.",
    understood="Both branches read the same x, so their matrices can lie in one: one product, and the result is cut in half.",
    hints=(
        "nn.Linear stores one row per number that it puts out. Two layers with d_ff outputs each: how many rows has the layer that does both?",
        "The rows of the gate come first, those of up below them. Which dimension grows, and which stays d_model?",
        "`torch.cat([...], dim=...)` lays tensors behind one another along one dimension and lets gradients through.",
    ),
)


@fuse_gate_up.aspect("the fused weight", points=1)
def fuse_gate_up_the_fused_weight(answer: Any, gate_weight: Any, up_weight: Any, **_: Any) -> Any:
    copies = [gate_weight.clone(), up_weight.clone()]
    fused_weight = observe_call(lambda: answer(gate_weight, up_weight))
    same = torch.equal(copies[0], gate_weight) and torch.equal(copies[1], up_weight)
    return {"fused": fused_weight, "both weights are left as they were": same}


@fuse_gate_up.aspect("gate and up by chunk", points=1)
def fuse_gate_up_gate_and_up_by_chunk(answer: Any, x: Any, gate_weight: Any, up_weight: Any) -> Any:
    fused_weight = answer(gate_weight, up_weight)
    if not isinstance(fused_weight, torch.Tensor):
        raise NotAsAsked(f"{describe_result(fused_weight)} instead of a tensor")
    if fused_weight.ndim != 2 or fused_weight.shape[1] != x.shape[-1]:
        raise NotAsAsked(
            f"a weight of shape {list(fused_weight.shape)} can't be used on x with d_model = {x.shape[-1]}: it needs d_model columns"
        )
    parts = F.linear(x, fused_weight.to(x.dtype)).chunk(2, dim=-1)
    return {"the first half": parts[0], "the second half": parts[-1]}


@fuse_gate_up.aspect("gradients and dtype", points=1)
def fuse_gate_up_gradients_and_dtype(answer: Any, x: Any, gate_weight: Any, up_weight: Any) -> Any:
    single = observe_call(lambda: zeros_of_shape(answer(gate_weight.float(), up_weight.float())))

    def compute(**leaves: Any) -> Any:
        fused_weight = answer(*leaves.values())
        fits = (
            isinstance(fused_weight, torch.Tensor) and fused_weight.ndim == 2 and fused_weight.shape[1] == x.shape[-1]
        )
        return F.linear(x, fused_weight) if fits else fused_weight

    def compute_gradients() -> Any:
        return gradients(compute, gate_weight=gate_weight, up_weight=up_weight)

    return {"in float32": single, "gradients": observe_call(compute_gradients)}


# find_the_gate

LAYOUTS = ("gate above up", "up above gate", "in turn, gate first", "in turn, up first")


def _draw_checkpoint(rng: Draw, layout: str, d_model: int, d_ff: int) -> dict[str, torch.Tensor]:
    """A fused SwiGLU layer and what it gives for three inputs: zero, one that tells, and one so small that the digits of y tell nothing."""
    gate, up, down = (rng.normal(*shape) for shape in ((d_ff, d_model), (d_ff, d_model), (d_model, d_ff)))
    x = rng.normal(3, d_model)
    x[0], x[2] = 0, x[2] * 1e-4
    y = F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)
    pair = [up, gate] if layout in ("up above gate", "in turn, up first") else [gate, up]
    fused_weight = torch.stack(pair, 1).reshape(2 * d_ff, d_model) if "turn" in layout else torch.cat(pair)
    return {"fused": fused_weight, "down": down, "x": x, "y": y * (1 + 1e-3 * torch.sign(rng.normal(3, d_model)))}


def _draw_checkpoints(rng: Draw, case: int) -> dict[str, Any]:
    """A checkpoint in each layout; some with d_model = 2·d_ff, where rows and columns can be mixed up, and one with a single neuron. They come in an order
    that is drawn, without their names: where the gate is, nothing but the numbers tells.
    """
    d_model, d_ff = rng.distinct(2, 5, 9)
    found = {layout: _draw_checkpoint(rng, layout, d_model, d_ff) for layout in LAYOUTS}
    others = {f"{layout}, d_model = 2·d_ff": _draw_checkpoint(rng, layout, 8, 4) for layout in LAYOUTS[1:3]}
    others["d_ff = 1, up first"] = _draw_checkpoint(rng, LAYOUTS[1], d_model, 1)
    layouts = [list(found)[place] for place in rng.distinct(len(found), 0, len(found) - 1)]
    names = [list(others)[place] for place in rng.distinct(len(others), 0, len(others) - 1)]
    return {
        "found": [found[name] for name in layouts],
        "others": [others[name] for name in names],
        "_layouts": layouts,
        "_others": names,
    }


find_the_gate = Exercise(
    "find_the_gate",
    draw=_draw_checkpoints,
    where="the section “One product instead of two”.",
    understood="Which half is the gate is not written in the numbers: only what the layer computes can tell, and only where the activation shows.",
    hints=(
        "Write down the four candidates first, each as a pair (gate, up). `chunk(2)` gives the halves; `fused[0::2]` gives every second row.",
        "For each candidate, compute the layer's output for all three inputs: silu of the gate's part, times up's part, through `down`.",
        "y is rounded, so none fits exactly. Take the candidate with the smallest error over all three inputs together.",
    ),
)


def _find_gate_and_up(
    answer: Any, checkpoint: dict[str, torch.Tensor], dtype: torch.dtype = torch.float64
) -> dict[str, Any]:
    result = answer(*(checkpoint[name].to(dtype) for name in ("fused", "down", "x", "y")))
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a pair (gate, up) was expected")
    if len(result) != 2 or not all(isinstance(part, torch.Tensor) for part in result):
        raise NotAsAsked(f"a pair (gate, up) of tensors was expected, not {type_with_article(result)} of {len(result)}")
    return dict(zip(("gate", "up"), result, strict=True))


def _find_in_all(
    answer: Any, checkpoints: list[dict[str, torch.Tensor]], dtype: torch.dtype = torch.float64
) -> list[Any]:
    return [observe_call(partial(_find_gate_and_up, answer, checkpoint, dtype)) for checkpoint in checkpoints]


def _in_layouts(layouts: tuple[str, ...]) -> Callable[[Any, dict[str, Any]], Any]:
    """What was found in the checkpoints of these layouts."""

    def facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        found = dict(zip(inputs["_layouts"], observation, strict=True))
        return {layout: found[layout] for layout in layouts}

    return facts


@find_the_gate.aspect("halves", points=1.5, facts=_in_layouts(LAYOUTS[:2]))
def find_the_gate_halves(answer: Any, found: Any, others: Any) -> Any:
    return _find_in_all(answer, found)


@find_the_gate.aspect("rows in turn", points=1, facts=_in_layouts(LAYOUTS[2:]))
def find_the_gate_rows_in_turn(answer: Any, found: Any, others: Any) -> Any:
    return _find_in_all(answer, found)


def _other_sizes(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    sizes, in_float32, is_left = observation
    named = dict(zip(inputs["_others"], sizes, strict=True))
    facts = {name: named[name] for name in sorted(named)}
    facts["everything in float32"] = dict(zip(inputs["_layouts"], in_float32, strict=True))[LAYOUTS[1]]
    return facts | {f"{name} is left as it was": is_left[name] for name in ("fused", "down", "x", "y")}


@find_the_gate.aspect("other sizes, float32, nothing changed", points=0.5, facts=_other_sizes)
def find_the_gate_other_sizes_float32_nothing_changed(answer: Any, found: Any, others: Any) -> Any:
    is_left = dict.fromkeys(found[0], True)
    for checkpoint in found:
        copies = {name: value.clone() for name, value in checkpoint.items()}
        answer(*copies.values())
        for name, value in checkpoint.items():
            is_left[name] &= torch.equal(copies[name], value)
    return [_find_in_all(answer, others), _find_in_all(answer, found, torch.float32), is_left]
