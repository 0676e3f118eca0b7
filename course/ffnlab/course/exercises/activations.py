"""Notebook 03, Bends: how each exercise is called, and on what inputs. No answers.

Inputs run through both tails and through |x| = 2.7, where the two forms of GELU differ most. What is likely to be overlooked is drawn
always: axes of size 1, exact zeros, units that fire weakly or for one row only, kinks that are close together.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from ffnlab.observation.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    attempt,
    describe_result,
    gradients,
    on_each,
    question,
    type_with_article,
)

NOTEBOOK = "03_activations"

# Functions of one number, applied to each entry.


def _draw_entries(rng: Draw, case: int) -> dict[str, Any]:
    """x [A, B, T] with both signs, no zeros, and numbers from 0.4 to 12 on both sides; all sizes differ."""
    x = rng.normal(*rng.distinct(3, 3, 5), scale=2.0)
    flat = x.view(-1)
    sizes = torch.tensor([0.4, 1.2, 2.7, 5.0, 12.0], dtype=torch.float64)
    flat[:10] = torch.cat([sizes, -sizes]) + rng.uniform(-0.1, 0.1)
    x += 0.01 * torch.sign(x)
    return {"x": x}


def _shapes(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """x [A, B, T] and parts of it, by what is special about them."""
    return {
        "x of shape [T]": x[0, 0],
        "x of shape [A, B, T]": x[:2, :2],
        "a single number, of shape []": x[0, 0, 0],
        "x with axes of size 1": x[:1, :, :1],
        "non-contiguous x": x[1].T,
        "x in float32": x[-1, :2].float(),
        "zeros": torch.zeros(2, dtype=x.dtype),
    }


def _entry_by_entry(name: str, hints: tuple[str, ...], where: str, understood: str) -> Exercise:
    """An exercise on a function of one number: values, gradient, and what shapes it takes."""
    exercise = Exercise(name, draw=_draw_entries, where=where, understood=understood, hints=hints)

    @exercise.aspect("values", points=1, atol=1e-6, rtol=1e-6)
    def values(answer: Any, x: Any) -> Any:
        return answer(x[0])

    @exercise.aspect("gradient", points=0.5, atol=1e-6, rtol=1e-6)
    def gradient(answer: Any, x: Any) -> Any:
        return gradients(lambda x: answer(x), x=x[0])  # the argument may have another name

    @exercise.aspect("any shape, x unchanged", points=0.5, atol=1e-6, rtol=1e-6)
    def any_shape_x_unchanged(answer: Any, x: Any) -> Any:
        return on_each(answer, _shapes(x))

    return exercise


relu = _entry_by_entry(
    "relu",
    where="the section “Kink by kink”.",
    understood="ReLU is the simplest bend: slope 0 on the left, slope 1 on the right, one kink at 0.",
    hints=(
        "Every entry is compared with zero on its own. Python's `max` compares its arguments as wholes.",
        "torch has several functions that compare entry by entry: `clamp`, `maximum`, `where`, `relu`.",
        "Return a new tensor. Whoever called you may still need x.",
    ),
)

gelu_exact = _entry_by_entry(
    "gelu_exact",
    where="the section “Smooth bends”.",
    understood="GELU lets x through with the probability that a standard normal number is smaller than x.",
    hints=(
        "Φ(x) is a number between 0 and 1. At x = 0 it is ½. Check that your Φ is.",
        "`torch.erf` runs from −1 to 1, so it has to be shifted and halved; and its argument is not x itself.",
        "Φ(x) = ½·(1 + erf(x/√2)). What multiplies it?",
    ),
)

gelu_tanh = _entry_by_entry(
    "gelu_tanh",
    where="the section “Smooth bends”.",
    understood="The tanh form replaces Φ(x) by ½·(1 + tanh(…)), and is never off by more than 5e-4.",
    hints=(
        "Which part of the formula takes the place of Φ(x)?",
        "Build it from the inside: first x + 0.044715·x³, then the root in front of it, then tanh, then the rest.",
        "The root is √(2/π), about 0.798: `math.sqrt(2 / math.pi)`. Everything else is ½·x·(1 + …).",
    ),
)


# bend_and_slope

bend_and_slope = Exercise(
    "bend_and_slope",
    draw=_draw_entries,
    where="the section “Smooth bends”.",
    understood="A product's slope has two parts: a share that x passes on, and how fast that share changes while x does.",
    hints=(
        "Call the tanh t. GELU is ½·x·(1 + t): a product of x and (1 + t), and both change with x. What does the rule for products say?",
        "The slope has two terms: ½·(1 + t), and ½·x times the slope of t. At x = 0 it is ½.",
        "The slope of t is that of tanh, 1 − t², times the slope of what is inside. What is the slope of x + 0.044715·x³?",
    ),
)


def _value_and_slope(answer: Any, x: torch.Tensor) -> list[torch.Tensor]:
    """What a student's function returns, without a graph: this exercise is to be done by hand."""
    with torch.inference_mode():
        result = answer(x.clone())
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a pair (value, slope) was expected")
    if len(result) != 2 or not all(isinstance(part, torch.Tensor) for part in result):
        raise NotAsAsked(
            f"a pair (value, slope) of tensors was expected, not {type_with_article(result)} of {len(result)}"
        )
    return list(result)


@bend_and_slope.aspect("value", points=1, atol=1e-6, rtol=1e-6)
def bend_and_slope_value(answer: Any, x: Any) -> Any:
    return _value_and_slope(answer, x[0])[0]


@bend_and_slope.aspect("slope", points=1.5, atol=1e-6, rtol=1e-6)
def bend_and_slope_slope(answer: Any, x: Any) -> Any:
    return _value_and_slope(answer, x[0])[1]


@bend_and_slope.aspect("any shape, far out, x unchanged", points=0.5, atol=1e-6, rtol=1e-6)
def bend_and_slope_any_shape_far_out_x_unchanged(answer: Any, x: Any) -> Any:
    far = torch.tensor([-1e4, -300.0, 300.0, 1e4], dtype=torch.float64)
    found = {
        words: attempt(partial(_value_and_slope, answer, given))
        for words, given in (_shapes(x) | {"±300 and ±10,000": far}).items()
    }
    given = x[0].clone()
    answer(given)
    return found | {"x is left as it was": torch.equal(given, x[0])}


# silu


def _draw_silu(rng: Draw, case: int) -> dict[str, Any]:
    return _draw_entries(rng, case) | {"beta": rng.uniform(1.4, 2.4), "negative": rng.uniform(-1.9, -0.6)}


silu = Exercise(
    "silu",
    draw=_draw_silu,
    where="the section “Smooth bends”.",
    understood="β sets how sharp the bend is: x/2 at β = 0, SiLU at β = 1, nearly ReLU when β is large.",
    hints=(
        "Two factors: x, and a number between 0 and 1 that depends on beta·x.",
        "e^10000 is too large for a float. `torch.sigmoid` knows how to avoid it; a formula with `exp` has to avoid it by itself, also in its gradient.",
        "beta may be 0: then the sigmoid is ½ everywhere. Nothing should be divided by beta.",
    ),
)


@silu.aspect("values", points=1, atol=1e-6, rtol=1e-6)
def silu_values(answer: Any, x: Any, beta: float, negative: float) -> Any:
    given = {"beta = 0": 0, "beta = 2": 2, "another beta": beta, "a negative beta": negative}
    return {"without beta": answer(x[0])} | {words: answer(x[0], number) for words, number in given.items()}


@silu.aspect("gradient, far out as well", points=0.5, atol=1e-6, rtol=1e-6)
def silu_gradient_far_out_as_well(answer: Any, x: Any, beta: float, negative: float) -> Any:
    far = torch.tensor([-1e4, -300.0, 300.0, 1e4], dtype=torch.float64)
    found = {
        "values at ±300 and ±10,000": answer(far.clone()),
        "there": gradients(lambda x: answer(x), x=far.clone()),
        "near zero": gradients(lambda x: answer(x, beta), x=x[0]),
    }
    for words, number in {"another beta": beta, "a negative beta": negative, "beta = 0": 0}.items():
        found[f"values there, {words}"] = answer(far.clone(), number)
        found[f"there, {words}"] = gradients(partial(lambda number, x: answer(x, number), number), x=far.clone())
    return found


@silu.aspect("any shape, x unchanged", points=0.5, atol=1e-6, rtol=1e-6)
def silu_any_shape_x_unchanged(answer: Any, x: Any, beta: float, negative: float) -> Any:
    return on_each(lambda given: answer(given, beta), _shapes(x))


# dead_units


class ReluFFN(nn.Module):
    """The FFN that `dead_units` is handed: linear2(relu(linear1(x)))."""

    def __init__(self, W1: torch.Tensor, b1: torch.Tensor, W2: torch.Tensor, b2: torch.Tensor) -> None:
        super().__init__()
        d_model, d_ff = W1.shape
        self.linear1 = nn.Linear(d_model, d_ff, dtype=W1.dtype)
        self.linear2 = nn.Linear(d_ff, d_model, dtype=W1.dtype)
        self.activation = torch.relu
        with torch.no_grad():
            self.linear1.weight.copy_(W1.T)
            self.linear1.bias.copy_(b1)
            self.linear2.weight.copy_(W2.T)
            self.linear2.bias.copy_(b2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.linear2(self.activation(self.linear1(x)))
        return output


WEAK = 2.0**-30  # how much a unit gets that barely fires: nothing is rounded on the way to it, in float32 either
KINDS = ("silent", "silent", "middle", "first", "last", "at zero", "weak", "brink", "all", "unread")


def _draw_dead(rng: Draw, case: int) -> dict[str, Any]:
    """X [N, d], and units of every kind, twice, in random order.

    They are silent for all rows; fire for one row only, in the middle, the first or the last; get exactly zero from every row; fire
    by `WEAK`, or reach exactly zero, for the row that suits them best; fire for all rows; fire, and are not read by the output.
    """
    n_rows, d_model, d_ff = rng.integer(9, 13), rng.integer(3, 5), 2 * len(KINDS)
    X, middle = rng.normal(n_rows, d_model), rng.integer(1, n_rows - 2)
    for row in (0, middle, n_rows - 1):
        X[row] *= 4 / X[row].norm()  # far out, so that there are units which fire for this row alone
    X = torch.round(1024 * X) / 1024
    W1 = rng.normal(d_model, d_ff)
    b1, W2 = torch.zeros(d_ff, dtype=torch.float64), rng.normal(d_ff, d_model)
    for j in range(d_ff):
        kind = KINDS[j % len(KINDS)]
        only = {"first": 0, "last": n_rows - 1, "middle": middle}.get(kind)
        read = X @ W1[:, j]
        while only is not None and (int(read.argmax()) != only or float(torch.diff(read.sort().values)[-1]) < 0.1):
            W1[:, j] = rng.normal(d_model)
            read = X @ W1[:, j]
        in_order = read.sort(descending=True).values
        gap = 0.1 + 0.2 * abs(float(in_order[0]))
        if kind == "silent":
            b1[j] = -in_order[0] - gap
        elif only is not None:
            b1[j] = -(in_order[0] + in_order[1]) / 2
        elif kind == "at zero":
            W1[:, j] = 0
        elif kind in ("weak", "brink"):  # reads one number of each row, times a power of two
            feature = rng.integer(0, d_model - 1)
            W1[:, j] = 0
            W1[feature, j] = 2.0**-10
            b1[j] = -X[:, feature].max() * 2.0**-10 + (WEAK if kind == "weak" else 0.0)
        elif kind == "all":
            b1[j] = gap - in_order[-1]
        else:
            W2[j] = 0
    order = torch.tensor(rng.distinct(d_ff, 0, d_ff - 1))
    weights = {"W1": W1[:, order], "b1": b1[order], "W2": W2[order], "b2": rng.normal(d_model)}
    return {"X": X} | weights


dead_units = Exercise(
    "dead_units",
    draw=_draw_dead,
    where="the section “Silent, and dead”.",
    understood="A unit is dead on a data set when no row of it makes the unit fire: then it passes no gradient either.",
    hints=(
        "Compute the hidden layer for all rows at once: which shape does it have, and which of its two dimensions counts units?",
        "One row that makes a unit fire is enough to call it alive. So look for units that are zero in every row.",
        "relu(z) is zero for z < 0 and for z = 0, and for no other z: no threshold is needed.",
        "`torch.all` takes `dim=`: the dimension that disappears. One truth value per unit, shape [d_ff], should remain.",
    ),
)


@dead_units.aspect("which units are dead", points=2)
def dead_units_which_units_are_dead(answer: Any, X: Any, **weights: Any) -> Any:
    return answer(ReluFFN(**weights), X)


@dead_units.aspect("other data, ffn and X unchanged", points=1)
def dead_units_other_data_ffn_and_x_unchanged(answer: Any, X: Any, **weights: Any) -> Any:
    ffn, given = ReluFFN(**weights), X.clone()
    found = {
        "one row": answer(ffn, given[-1:]),
        "every second row": answer(ffn, given[1::2]),
        "in float32": answer(ReluFFN(**{name: w.float() for name, w in weights.items()}), given.float()),
    }
    kept = ReluFFN(**weights).state_dict()
    same = all(torch.equal(kept[name], now) for name, now in ffn.state_dict().items()) and torch.equal(given, X)
    return found | {"the ffn and X are left as they were": same}


# activation_sparsity


NEARLY = 2.0**-16  # how near to tol, and to zero, entries come that do not count


def _draw_hidden(rng: Draw, case: int) -> dict[str, Any]:
    """h [A, B, T] with exact zeros, and entries exactly at plus and minus tol, and close to zero and to tol on either side."""
    h = rng.normal(*rng.distinct(3, 3, 6))
    flat = h.view(-1)
    tol = rng.one_of((0.125, 0.25, 0.375))
    zeros, edge = rng.integer(8, 12), rng.integer(4, 6)
    flat[:zeros] = 0
    flat[zeros : zeros + edge] = tol
    flat[zeros + edge : zeros + 2 * edge + 1] = -tol
    close = [2.0**-30, -(2.0**-30), NEARLY, -NEARLY, tol + NEARLY, tol + NEARLY, -tol - NEARLY, tol - NEARLY]
    flat[-len(close) :] = torch.tensor(close, dtype=torch.float64)
    order = torch.tensor(rng.distinct(h.numel(), 0, h.numel() - 1))
    return {"h": flat[order].view(h.shape), "tol": tol}


activation_sparsity = Exercise(
    "activation_sparsity",
    draw=_draw_hidden,
    where="the section “How many fire?”.",
    understood=(
        "Sparsity is a share of entries, between 0 and 1. With tol = 0 it counts exact zeros: ReLU makes them everywhere below 0, "
        "GELU only far on the left, by rounding."
    ),
    hints=(
        "First a tensor of truth values: which entries are within tol of zero, on either side?",
        "A share is how many hold, divided by how many there are: `numel`, or the mean of zeros and ones.",
        "An entry at exactly tol counts. With tol = 0 that is what makes zeros count at all.",
    ),
)


@activation_sparsity.aspect("exact zeros", points=1, atol=1e-6, rtol=1e-6)
def activation_sparsity_exact_zeros(answer: Any, h: Any, tol: float) -> Any:
    return {
        "h [T]": answer(h[0, 0]),
        "h [B, T]": answer(h[0]),
        "h [A, B, T]": answer(h),
        "h [T, B], a transposed one": answer(h[0].T),
        "a single number, h []": answer(h[0, 0, 0]),
        "after ReLU": answer(h.relu()),
        "nothing but zeros": answer(torch.zeros_like(h[0])),
    }


@activation_sparsity.aspect("with a tolerance", points=1, atol=1e-6, rtol=1e-6)
def activation_sparsity_with_a_tolerance(answer: Any, h: Any, tol: float) -> Any:
    given = h.clone()
    found = {"tol": answer(given, tol), "tol by name": answer(given, tol=tol), "tol = 1": answer(given, 1.0)}
    return found | {"h in float32": answer(h.float(), tol), "h is left as it was": torch.equal(given, h)}


# relu_interpolant

Net = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
INSIDE = 3  # how many points of each piece are looked at, its left end included


def _draw_intervals(rng: Draw, case: int) -> dict[str, Any]:
    return {
        "around zero": (rng.integer(3, 5), rng.uniform(-1.9, -1.4), rng.uniform(0.6, 1.1)),
        "many": (rng.integer(7, 9), rng.uniform(-1.4, -1.1), rng.uniform(2.0, 2.4)),
        "right": (rng.integer(3, 6), rng.uniform(0.5, 0.9), rng.uniform(2.1, 2.6)),
        "left": (rng.integer(3, 6), rng.uniform(-2.9, -2.4), rng.uniform(-0.9, -0.5)),
        "from zero": (rng.integer(2, 3), 0.0, rng.uniform(1.2, 1.7)),
        "up to zero": (rng.integer(2, 3), rng.uniform(-1.7, -1.2), 0.0),
        "one piece": (1, rng.uniform(-1.9, -1.4), rng.uniform(0.6, 1.1)),
    }


relu_interpolant = Exercise(
    "relu_interpolant",
    draw=_draw_intervals,
    where="the section “x² from kinks”.",
    understood="Every curve on an interval can be followed by adding up kinks: where they are is b1, how much the slope changes is W2.",
    hints=(
        "Walk from A to B and write down, on paper for n = 2, the slope of each piece. The slope between nodes s and t of x² is (t² − s²)/(t − s) = s + t.",
        "relu(x − t) is zero left of t and rises with slope 1 right of it. Adding c·relu(x − t) changes the slope by c, from t on.",
        "The first unit has its kink at A. It supplies the whole slope of the first piece. Every further one supplies a change of slope: new minus old.",
        "At A all the units are zero, so b2 alone has to give the value there. W1 is all ones here, and b1 holds minus the kinks.",
    ),
)


def _net(result: Any) -> Net:
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; four tensors W1, b1, W2, b2 were expected")
    if len(result) != 4:
        raise NotAsAsked(f"{len(result)} values came back; four tensors W1, b1, W2, b2 were expected")
    for name, part in zip(("W1", "b1", "W2", "b2"), result, strict=True):
        if not isinstance(part, torch.Tensor):
            raise NotAsAsked(f"{name} is {type_with_article(part)} instead of a tensor")
    return result[0], result[1], result[2], result[3]


def _fitting(result: Any) -> Net:
    W1, b1, W2, b2 = _net(result)
    m = b1.shape[-1] if b1.ndim else 0
    for name, part, shape, written in (
        ("W1", W1, [1, m], "[1, m]"),
        ("b1", b1, [m], "[m]"),
        ("W2", W2, [m, 1], "[m, 1]"),
        ("b2", b2, [1], "[1]"),
    ):
        if list(part.shape) != shape:
            raise NotAsAsked(f"{name} has shape {list(part.shape)}; with m = {m} units it should be {written}")
    return W1.double(), b1.double(), W2.double(), b2.double()


def _outputs(seen: Any, inputs: dict[str, Any]) -> Any:
    """What each network computes on the interval that was drawn for it: the weights themselves are not unique."""

    def output(interval: tuple[int, float, float], net: Any) -> dict[str, torch.Tensor]:
        n, low, high = interval
        x = torch.linspace(low, high, INSIDE * n + 1, dtype=torch.float64)
        W1, b1, W2, b2 = _fitting(net)
        y = (torch.relu(x[:, None] @ W1 + b1) @ W2 + b2)[:, 0]
        inner = torch.arange(INSIDE * n + 1) % INSIDE != 0
        return {"at the nodes": y[::INSIDE], "between the nodes": y[inner]}

    return {_words(*inputs[name]): output(inputs[name], net) for name, net in seen.items()}


def _words(n: int, low: float, high: float) -> str:
    return f"n = {n} on [{low:.2f}, {high:.2f}]"


def _interpolated(aspect: str, points: float, *names: str) -> None:
    @relu_interpolant.aspect(aspect, points, facts=_outputs, atol=1e-4, rtol=1e-4)
    def probe(answer: Any, **intervals: Any) -> Any:
        return {name: _net(answer(*intervals[name])) for name in names}


_interpolated("pieces on an interval around zero", 2, "around zero", "many")
_interpolated("intervals left or right of zero", 2, "right", "left", "from zero", "up to zero")
_interpolated("one piece", 1, "one piece")


def _form(seen: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    net = _net(seen)
    m = net[0].numel()
    shapes = [list(part.shape) for part in net]
    return {
        "W1 is [1, m], b1 [m], W2 [m, 1], b2 [1], with one m": shapes == [[1, m], [m], [m, 1], [1]],
        "all four are floating-point tensors": all(part.is_floating_point() for part in net),
    }


@relu_interpolant.aspect("four tensors", points=1, facts=_form, needs="pieces on an interval around zero")
def relu_interpolant_four_tensors(answer: Any, **intervals: Any) -> Any:
    return answer(*intervals["many"])


# count_pieces

EIGHTH = (
    0.125  # most kinks are at multiples of it, and all weights are powers of two, or nearly, so that nothing is rounded
)
CLOSE = 2.0**-16  # how close two kinks come, and how small a change of slope gets, that count as two, and as one


def _network(rng: Draw, units: list[tuple[float, float, float]]) -> dict[str, torch.Tensor]:
    """W1 [1, m], b1 [m], W2 [m, 1] from units (kink, incoming weight, outgoing weight), in random order."""
    order = rng.distinct(len(units), 0, len(units) - 1)
    kink, into, out = (torch.tensor([units[i][part] for i in order], dtype=torch.float64) for part in range(3))
    return {"W1": into[None, :], "b1": -into * kink, "W2": out[:, None]}


def _draw_kinks(rng: Draw, case: int) -> dict[str, Any]:
    left = rng.integer(2, 5) if case == 0 else rng.integer(-20, -14)  # of zero on one side only, and around it
    low, high = left, left + rng.integer(30, 36)  # in eighths
    A, B = low * EIGHTH, high * EIGHTH

    def into() -> float:
        return rng.one_of((-2.0, -1.0, -0.5, 0.5, 1.0, 2.0))

    def out() -> float:
        return rng.one_of((-4.0, -2.0, -1.0, 1.0, 2.0, 4.0))

    def inside(count: int) -> list[float]:
        return [place * EIGHTH for place in rng.distinct(count, low + 1, high - 1)]

    def units(places: list[float]) -> list[tuple[float, float, float]]:
        return [(place, into(), out()) for place in places]

    one, two, three, four, *others = inside(8)

    def some() -> list[tuple[float, float, float]]:
        """None to four more units with kinks of their own, so that no two draws have the same numbers of pieces."""
        return units(others[: rng.integer(0, len(others))])

    plain = inside(rng.integer(4, 7))
    steep = [(plain[0] + CLOSE, 0.5, 8.0), (plain[1] - CLOSE, -0.5, 8.0)]
    # Two kinks in one place: they add up, or cancel. (0.5, 2) and (2, 0.5) change the slope by as much; (-1, 1) changes it by +1, not by -1.
    together = [(one, 0.5, 2.0), (one, 1.0, 4.0), (one, -2.0, 1.0), (two, 1.0, 2.0), (two, 2.0, -0.5)]
    cancelling = [(two, 0.5, -4.0), (two, 2.0, 1.0), (three, 1.0, 2.0), (three, -0.5, -4.0)]
    nearly = [(one, 1.0, 1.0), (one, -1.0, -1.0 - CLOSE)]
    seeming = [(four, 1.0, 1.0), (four, -1.0, 1.0), (one, 2.0, 1.0), (two, 0.5, 2.0), (two, 1.0, -2.0)]
    apart = [(one, 1.0, 2.0), (one + CLOSE, 1.0, -2.0), (two, 0.5, 4.0), (two - CLOSE, -0.5, -4.0)]
    silent = [(inside(1)[0], 0.0, 1.0), (two, into(), 0.0), (three, into(), 0.0)]
    flat = {"W1": torch.zeros(1, 2), "b1": torch.tensor([0.5, -0.25]), "W2": torch.ones(2, 1)}
    return {
        "A": A,
        "B": B,
        "plain": _network(rng, [*units(plain), *steep]),
        "one unit": _network(rng, units([A - 1 if case == 1 else one])),
        "beyond": _network(rng, [*some(), *units([one, A - 1, A - 2, B + 1])]),
        "at the ends": _network(rng, [*some(), *units([two, A, B])]),
        "near the ends": _network(rng, [*some(), *units([A - CLOSE, A + CLOSE, B - CLOSE, B + CLOSE])]),
        "none inside": _network(rng, units([A, B, B + 2])),
        "together": _network(rng, together + some()),
        "close together": _network(rng, apart + some()),
        "cancelling": _network(rng, cancelling + some()),
        "nearly cancelling": _network(rng, nearly + some()),
        "seeming": _network(rng, seeming + some()),
        "silent": _network(rng, [*units([one]), *silent, *some()]),
        "flat": {name: part.double() for name, part in flat.items()},
    }


count_pieces = Exercise(
    "count_pieces",
    draw=_draw_kinks,
    where="the sections “Kink by kink” and “Pieces and polygons”.",
    understood="m units make at most m + 1 pieces: a kink counts where it lies inside, and where the slope really changes.",
    hints=(
        "Unit j has its kink where x·W1[0, j] + b1[j] is zero. Solve for x. What if W1[0, j] is 0?",
        "Start from 1 piece and count the places strictly between A and B where the slope changes. Two units with the same kink are one place.",
        "By how much does unit j change the slope, going from left to right? Try W1 = 2 and W1 = −2 with W2 = 1: the sign is the same for both.",
        "Collect for each place the sum of the changes |W1|·W2, in a dict, and count the places whose sum is not zero.",
    ),
)


def _counted(aspect: str, points: float, **networks: str) -> None:
    @count_pieces.aspect(aspect, points)
    def probe(answer: Any, A: float, B: float, **drawn: Any) -> Any:
        def count(net: dict[str, torch.Tensor]) -> Any:
            return answer(net["W1"], net["b1"], net["W2"], A, B)

        return {words: count(drawn[name.replace("_", " ")]) for name, words in networks.items()}


_counted("kinks in different places", 1, plain="some units", one_unit="one unit")
_counted(
    "kinks outside, and at A or B",
    1,
    beyond="some kinks outside",
    at_the_ends="kinks at A and at B",
    near_the_ends="kinks just inside and just outside",
    none_inside="no kink inside",
)
_counted(
    "shared, cancelling and missing kinks",
    1,
    together="kinks in the same place",
    close_together="kinks close together",
    cancelling="kinks that cancel",
    nearly_cancelling="kinks that nearly cancel",
    seeming="kinks in the same place, from left and right",
    silent="weights of zero",
    flat="W1 all zero",
)


# Questions. Their texts are in the notebook.

quiz_leshno = question(
    "quiz_leshno",
    where="the section “What the theorems say”.",
    understood="What keeps a network with one hidden layer from following every curve is an activation that is a polynomial; none in use is.",
)

quiz_pieces = question(
    "quiz_pieces",
    where="the section “x² from kinks”.",
    understood="Between nodes at distance h the error is h²/4: twice the pieces, a quarter; twice the interval, four times.",
)

quiz_extrapolation = question(
    "quiz_extrapolation",
    where="the section “Leave the interval”.",
    understood="No kink, no turn: beyond its rightmost kink a ReLU network is one straight line for ever.",
)

quiz_dead = question(
    "quiz_dead",
    where="the section “Silent, and dead”.",
    understood="Where ReLU is flat, it passes no gradient: nothing tells the unit's own weights to move.",
)
