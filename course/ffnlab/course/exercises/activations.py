"""Notebook 03, a game of levels: how each exercise is called, and on what inputs. No answers.

Inputs run through both tails and through |x| = 2.7, where the two forms of GELU differ most. What is likely to be overlooked is drawn
always: axes of size 1, exact zeros, kinks that are close together.
"""

from __future__ import annotations

import contextlib
from functools import partial
from itertools import pairwise
from typing import Any
from unittest import mock

import torch

from ffnlab.course.counterexample import counterexample, lists_of_numbers
from ffnlab.observation.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    describe_result,
    gradients,
    observe_call,
    quiz,
    type_with_article,
)

NOTEBOOK = "03_activations"

# steepest_counterexample


def steepest(w: list[float], b: list[float], v: list[float]) -> float:
    """A classmate's: the steepest slope, up or down, of the sum of all v·relu(w·x + b)."""
    order = sorted(range(len(w)), key=lambda k: -b[k] / w[k])
    slope = sum(w[k] * v[k] for k in order if w[k] < 0)
    largest = abs(slope)
    for k in order:
        slope += abs(w[k]) * v[k]
        largest = max(largest, abs(slope))
    return largest


def steepest_piece(w: list[float], b: list[float], v: list[float]) -> float:
    """The same, looked up in the middle of every piece."""
    kinks = sorted({-bias / into for into, bias in zip(w, b, strict=True)})
    middles = [kinks[0] - 1, *((left + right) / 2 for left, right in pairwise(kinks)), kinks[-1] + 1]
    units = list(zip(w, b, v, strict=True))
    return max(abs(sum(into * out for into, bias, out in units if into * x + bias > 0)) for x in middles)


def _units(observation: Any) -> tuple[list[float], ...]:
    w, b, v = lists_of_numbers(observation, "w", "b", "v")
    if 0 in w:
        raise NotAsAsked("a w is 0: that unit has no kink, and your classmate's code is not meant for it")
    return w, b, v


def _why_right(w: list[float], b: list[float], v: list[float]) -> str:
    kinks = {-bias / into for into, bias in zip(w, b, strict=True)}
    if len(kinks) == len(w):
        return "every unit has its kink in a place of its own"
    return "some units share a kink, and another piece is as steep as what the code adds up at that place"


steepest_counterexample = counterexample(
    "steepest_counterexample",
    code=steepest,
    right=steepest_piece,
    form=_units,
    size=lambda w, b, v: len(w),
    par=2,
    why_right=_why_right,
    where="the section “A classmate's code”.",
    understood="A slope counts only where there is a piece that has it. Between two kinks in one place there is none.",
    hints=(
        "Take two units and follow the code by hand. Draw the wire below your list of slopes.",
        "Move the second kink towards the first. What becomes of the piece between them, and what does the code still do?",
        "Let the first unit be steep. What does the second have to do, and where, so that the wire itself never is?",
    ),
)


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

    p, q, r, s, *others = inside(8)  # where kinks are

    def some() -> list[tuple[float, float, float]]:
        """None to four more units with kinks of their own, so that no two draws have the same numbers of pieces."""
        return units(others[: rng.integer(0, len(others))])

    plain = inside(rng.integer(4, 7))
    steep = [(plain[0] + CLOSE, 0.5, 8.0), (plain[1] - CLOSE, -0.5, 8.0)]
    # Two kinks in one place: they add up, or cancel. (0.5, 2) and (2, 0.5) change the slope by as much; (-1, 1) changes it by +1, not by -1.
    coincident_units = [(p, 0.5, 2.0), (p, 1.0, 4.0), (p, -2.0, 1.0), (q, 1.0, 2.0), (q, 2.0, -0.5)]
    cancelling_units = [(q, 0.5, -4.0), (q, 2.0, 1.0), (r, 1.0, 2.0), (r, -0.5, -4.0)]
    nearly_cancelling_units = [(p, 1.0, 1.0), (p, -1.0, -1.0 - CLOSE)]
    seeming_units = [(s, 1.0, 1.0), (s, -1.0, 1.0), (p, 2.0, 1.0), (q, 0.5, 2.0), (q, 1.0, -2.0)]
    close_units = [(p, 1.0, 2.0), (p + CLOSE, 1.0, -2.0), (q, 0.5, 4.0), (q - CLOSE, -0.5, -4.0)]
    silent_units = [(inside(1)[0], 0.0, 1.0), (q, into(), 0.0), (r, into(), 0.0)]
    flat = {"W1": torch.zeros(1, 2), "b1": torch.tensor([0.5, -0.25]), "W2": torch.ones(2, 1)}
    return {
        "A": A,
        "B": B,
        "plain": _network(rng, [*units(plain), *steep]),
        "one unit": _network(rng, units([A - 1 if case == 1 else p])),
        "beyond": _network(rng, [*some(), *units([p, A - 1, A - 2, B + 1])]),
        "at the ends": _network(rng, [*some(), *units([q, A, B])]),
        "near the ends": _network(rng, [*some(), *units([A - CLOSE, A + CLOSE, B - CLOSE, B + CLOSE])]),
        "none inside": _network(rng, units([A, B, B + 2])),
        "together": _network(rng, coincident_units + some()),
        "close together": _network(rng, close_units + some()),
        "cancelling": _network(rng, cancelling_units + some()),
        "nearly cancelling": _network(rng, nearly_cancelling_units + some()),
        "seeming": _network(rng, seeming_units + some()),
        "silent": _network(rng, [*units([p]), *silent_units, *some()]),
        "flat": {name: part.double() for name, part in flat.items()},
    }


count_pieces = Exercise(
    "count_pieces",
    draw=_draw_kinks,
    where="the section “Where a kink is”.",
    understood="m units make at most m + 1 pieces: a kink counts where it is inside, and where the slope really changes.",
    hints=(
        "Unit j has its kink where x·W1[0, j] + b1[j] is zero. Solve for x. What if W1[0, j] is 0?",
        "Start from 1 piece and count the places strictly between A and B where the slope changes. Two units with the same kink are one place.",
        "By how much does unit j change the slope, going from left to right? Try W1 = 2 and W1 = −2 with W2 = 1: the sign is the same for both.",
        "Collect for each place the sum of the changes |W1|·W2, in a dict, and count the places whose sum is not zero.",
    ),
)


def _count_aspect(aspect: str, points: float, **networks: str) -> None:
    @count_pieces.aspect(aspect, points)
    def probe(answer: Any, A: float, B: float, **inputs: Any) -> Any:
        def count(net: dict[str, torch.Tensor]) -> Any:
            return answer(net["W1"], net["b1"], net["W2"], A, B)

        return {words: count(inputs[name.replace("_", " ")]) for name, words in networks.items()}


_count_aspect("kinks in different places", 1, plain="some units", one_unit="one unit")
_count_aspect(
    "kinks outside, and at A or B",
    1,
    beyond="some kinks outside",
    at_the_ends="kinks at A and at B",
    near_the_ends="kinks just inside and just outside",
    none_inside="no kink inside",
)
_count_aspect(
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
    where="the fold “How sharp is a kink?”.",
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


def _check_shapes(result: Any) -> Net:
    W1, b1, W2, b2 = _net(result)
    m = b1.shape[-1] if b1.ndim else 0
    for name, part, shape, shape_text in (
        ("W1", W1, [1, m], "[1, m]"),
        ("b1", b1, [m], "[m]"),
        ("W2", W2, [m, 1], "[m, 1]"),
        ("b2", b2, [1], "[1]"),
    ):
        if list(part.shape) != shape:
            raise NotAsAsked(f"{name} has shape {list(part.shape)}; with m = {m} units it should be {shape_text}")
    return W1.double(), b1.double(), W2.double(), b2.double()


def _output(net: Any, n: int, low: float, high: float) -> dict[str, torch.Tensor]:
    """What a network computes at the n + 1 nodes of an interval, and between them."""
    x = torch.linspace(low, high, INSIDE * n + 1, dtype=torch.float64)
    W1, b1, W2, b2 = _check_shapes(net)
    y = (torch.relu(x[:, None] @ W1 + b1) @ W2 + b2)[:, 0]
    inner = torch.arange(INSIDE * n + 1) % INSIDE != 0
    return {"at the nodes": y[::INSIDE], "between the nodes": y[inner]}


def _outputs(observation: Any, inputs: dict[str, Any]) -> Any:
    """What each network computes on the interval that was drawn for it: the weights themselves are not unique."""
    return {_words(*inputs[name]): _output(net, *inputs[name]) for name, net in observation.items()}


def _words(n: int, low: float, high: float) -> str:
    return f"n = {n} on [{low:.2f}, {high:.2f}]"


def _interpolation_aspect(aspect: str, points: float, *names: str) -> None:
    @relu_interpolant.aspect(aspect, points, facts=_outputs, atol=1e-4, rtol=1e-4)
    def probe(answer: Any, **intervals: Any) -> Any:
        return {name: _net(answer(*intervals[name])) for name in names}


_interpolation_aspect("pieces on an interval around zero", 2, "around zero", "many")
_interpolation_aspect("intervals left or right of zero", 2, "right", "left", "from zero", "up to zero")
_interpolation_aspect("one piece", 1, "one piece")


def _form(observation: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    net = _net(observation)
    m = net[0].numel()
    shapes = [list(part.shape) for part in net]
    return {
        "W1 is [1, m], b1 [m], W2 [m, 1], b2 [1], with one m": shapes == [[1, m], [m], [m, 1], [1]],
        "all four are floating-point tensors": all(part.is_floating_point() for part in net),
    }


@relu_interpolant.aspect("four tensors", points=1, facts=_form, needs="pieces on an interval around zero")
def relu_interpolant_four_tensors(answer: Any, **intervals: Any) -> Any:
    return answer(*intervals["many"])


# fewest_units

Interval = tuple[int, float, float]
ONE_FEWER = ("a flat piece inside", "the first piece flat", "the last piece flat", "two pieces", "around zero")
NO_FEWER = (
    "a corner at zero",
    "zero off the middle of a piece",
    "right of zero",
    "left of zero",
    "from zero",
    "up to zero",
)
ONE_PIECE = ("one flat piece", "one piece that is not flat")


def _draw_wholes(rng: Draw, case: int) -> dict[str, Any]:
    """Intervals on which n − 1 units are enough, and others. All numbers are small multiples of a power of two, so nothing is rounded."""

    def from_place(n: int, place: float) -> Interval:
        """n pieces, each as long as some eighths; zero is so many of them from A."""
        length = rng.integer(2, 6) / 8
        return n, -place * length, (n - place) * length

    many = [rng.integer(4, 6) for _ in range(3)]
    few = [rng.integer(2, 5) for _ in range(5)]
    inside = [rng.integer(1, n - 2) for n in many]
    return {
        "a flat piece inside": from_place(many[0], inside[0] + 0.5),
        "the first piece flat": from_place(rng.one_of((3, 5)), 0.5),  # an odd number, and two pieces are an even one
        "the last piece flat": from_place(few[0] + 1, few[0] + 0.5),
        "two pieces": from_place(2, rng.one_of((0.5, 1.5))),
        "around zero": from_place(5, 2.5) if case == 0 else from_place(3, 1.5),
        "a corner at zero": from_place(many[1], inside[1]),
        "zero off the middle of a piece": from_place(many[2], inside[2] + rng.one_of((0.25, 0.75))),
        "right of zero": from_place(few[1], -rng.one_of((0.5, 1.5))),
        "left of zero": from_place(few[2], few[2] + rng.one_of((0.5, 1.5))),
        "from zero": from_place(few[3], 0.0),
        "up to zero": from_place(few[4], few[4]),
        "one flat piece": from_place(1, 0.5),
        "one piece that is not flat": from_place(1, rng.one_of((-1.0, 0.25, 0.75, 2.0))),
    }


fewest_units = Exercise(
    "fewest_units",
    draw=_draw_wholes,
    where="the fold “How sharp is a kink?”.",
    understood="Which way a unit slopes is free. n − 1 units are enough exactly where a piece is flat, because there all of them can be silent.",
    hints=(
        "Every corner inside needs a kink, and with n − 1 units no kink is left over. What about these units can you still choose?",
        "How steep is the wire left of all its kinks? Only the units that slope to the left count there.",
        "All corners of x² on equal pieces are equally sharp. So with n − 1 units the first slope is a whole multiple of one number. "
        "Which first slope does x² ask for?",
        "From one piece to the next the slope grows by that number. So n − 1 units are enough exactly where it is 0 on some piece. Which units are silent "
        "on that piece, and what is b2?",
    ),
)


def _with_its_units(net: Any, n: int, low: float, high: float) -> dict[str, Any]:
    """What a network computes on its interval, and how many units it has."""
    W1, b1, W2, _ = _check_shapes(net)
    idle = (W1[0] == 0) | (W2[:, 0] == 0)
    return _output(net, n, low, high) | {"units": b1.numel(), "units that do nothing": int(idle.sum())}


def _with_their_units(observation: Any, inputs: dict[str, Any]) -> Any:
    return {_words(*inputs[name]): _with_its_units(net, *inputs[name]) for name, net in observation.items()}


def _few(aspect: str, points: float, names: tuple[str, ...], needs: str = "") -> None:
    @fewest_units.aspect(aspect, points, facts=_with_their_units, atol=1e-4, rtol=1e-4, needs=needs)
    def probe(answer: Any, **intervals: Any) -> Any:
        return {name: _net(answer(*intervals[name])) for name in names}


_few("one unit fewer", 3, ONE_FEWER)
_few("no unit fewer", 2, NO_FEWER, needs="one unit fewer")
_few("one piece", 1, ONE_PIECE, needs="one unit fewer")


# curve_interpolant


def _draw_heights(rng: Draw, case: int) -> dict[str, Any]:
    def heights(n: int) -> torch.Tensor:
        return rng.normal(n + 1, scale=1.5)

    flat = rng.uniform(0.5, 1.5)
    return {
        "around zero": (heights(rng.integer(4, 6)), rng.uniform(-1.9, -1.4), rng.uniform(0.6, 1.1)),
        "right of zero": (heights(rng.integer(7, 9)), rng.uniform(0.5, 0.9), rng.uniform(2.1, 2.6)),
        "left of zero": (heights(rng.integer(3, 5)), rng.uniform(-2.9, -2.4), rng.uniform(-0.9, -0.5)),
        "two heights": (heights(1), rng.uniform(-1.9, -1.4), rng.uniform(0.6, 1.1)),
        "flat, then a step": (
            torch.tensor([flat, flat, flat, -flat, -flat], dtype=torch.float64),
            0.0,
            rng.uniform(1.2, 1.7),
        ),
    }


curve_interpolant = Exercise(
    "curve_interpolant",
    draw=_draw_heights,
    where="the section “Beat the machine”.",
    understood="The first layer says where the wire may turn. The second says how much, and it alone knows the curve.",
    hints=(
        "What in your `relu_interpolant` knows about x²? Only the heights at the nodes do.",
        "The slope of a piece is the rise from one height to the next, divided by the width of the piece.",
        "The rest is as before: the first unit brings the first slope, each further one the change, and b2 the height at A.",
    ),
)


def _curve_outputs(observation: Any, inputs: dict[str, Any]) -> Any:
    return {
        f"{name}, {len(inputs[name][0])} heights": _output(net, len(inputs[name][0]) - 1, *inputs[name][1:])
        for name, net in observation.items()
    }


def _curve(aspect: str, points: float, *names: str) -> None:
    @curve_interpolant.aspect(aspect, points, facts=_curve_outputs, atol=1e-4, rtol=1e-4)
    def probe(answer: Any, **cases: Any) -> Any:
        return {name: _net(answer(*cases[name])) for name in names}


_curve("through the heights, and straight between them", 2, "around zero", "right of zero", "left of zero")
_curve("one piece, and flat pieces", 1, "two heights", "flat, then a step")


def _form_and_heights(observation: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    return _form(observation["net"], inputs) | {Y_UNCHANGED: observation[Y_UNCHANGED]}


Y_UNCHANGED = "y is left as it was"


@curve_interpolant.aspect(
    "four tensors, y unchanged",
    points=1,
    facts=_form_and_heights,
    needs="through the heights, and straight between them",
)
def curve_interpolant_four_tensors_y_unchanged(answer: Any, **cases: Any) -> Any:
    y, *ends = cases["right of zero"]
    y_copy = y.clone()
    net = answer(y_copy, *ends)
    return {"net": net, Y_UNCHANGED: torch.equal(y_copy, y)}


# activation

NAMES = ("relu", "gelu", "gelu_tanh", "silu")


def _draw_entries(rng: Draw, case: int) -> dict[str, Any]:
    """x [A, B, T] with both signs, no zeros, and numbers from 0.4 to 12 on both sides, all sizes different; and two numbers for beta."""
    x = rng.normal(*rng.distinct(3, 3, 5), scale=2.0)
    flat = x.view(-1)
    sizes = torch.tensor([0.4, 1.2, 2.7, 5.0, 12.0], dtype=torch.float64)
    flat[:10] = torch.cat([sizes, -sizes]) + rng.uniform(-0.1, 0.1)
    x += 0.01 * torch.sign(x)
    return {"x": x, "beta": rng.uniform(1.4, 2.4), "negative": rng.uniform(-1.9, -0.6)}


activation = Exercise(
    "activation",
    draw=_draw_entries,
    where="the section “Four activations”.",
    understood="Each of them is x times a share. A product's slope has two parts: the share itself, and x times how fast the share changes.",
    hints=(
        "Begin with the values, each in one line. `torch.erf`, `torch.tanh` and `torch.sigmoid` work entry by entry; `max` and `math.erf` do not.",
        "Call the share s. The value is x·s, and both factors change with x. So the slope is s + x·(slope of s). At x = 0 it is ½ for the three smooth ones.",
        "Slope of Φ(x): the bell curve. Slope of σ(βx): β·σ·(1 − σ), with the chain rule's β. Slope of ½·(1 + tanh u): ½·(1 − tanh² u)·(slope of u).",
        "What is the slope of u = √(2/π)·(x + 0.044715·x³)? And for ReLU the slope is 1 where x > 0, and 0 where x < 0.",
    ),
)


def _pair(result: Any) -> list[Any]:
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a pair (value, slope) was expected")
    if len(result) != 2:
        raise NotAsAsked(f"a pair (value, slope) was expected, not {type_with_article(result)} of {len(result)}")
    return list(result)


BY_HAND = "autograd is switched off here: write the slope by hand"
AUTOGRAD = (
    (torch.autograd, ("grad", "backward")),
    (torch.autograd.functional, ("jacobian", "jvp", "vjp")),
    (torch.func, ("grad", "grad_and_value", "jacfwd", "jacrev", "jvp", "vjp")),
)


def _by_hand(answer: Any, *arguments: Any) -> list[Any]:
    """Value and slope from an answer; whatever asks autograd for a slope is told that it is off."""

    def refuse(*_: Any, **__: Any) -> None:
        raise NotAsAsked(BY_HAND)

    with contextlib.ExitStack() as stack:
        for module, names in AUTOGRAD:
            for name in names:
                stack.enter_context(mock.patch.object(module, name, refuse))
        return _pair(answer(*arguments))


def _part(which: int, answer: Any, name: str, x: torch.Tensor, *beta: float) -> torch.Tensor:
    """The value (0) or the slope (1), without a graph: slopes are to be written by hand."""
    with torch.inference_mode():
        part = _by_hand(answer, name, x.clone(), *beta)[which]
    if not isinstance(part, torch.Tensor):
        raise NotAsAsked(f"the {('value', 'slope')[which]} is {type_with_article(part)} instead of a tensor")
    return part


def _by_name(name: str, which: int, points: float) -> None:
    words = ("value", "slope")[which]

    @activation.aspect(f"{name}: {words}", points, atol=1e-6, rtol=1e-6)
    def probe(answer: Any, x: Any, beta: float, negative: float) -> Any:
        observation = {"without beta": _part(which, answer, name, x[0])}
        if name == "silu":
            betas = {"beta = 0": 0, "beta = 2": 2, "another beta": beta, "a negative beta": negative}
            observation |= {words: _part(which, answer, name, x[0], number) for words, number in betas.items()}
        return observation


for _name, _value, _slope in (("relu", 0.25, 0.25), ("gelu", 0.5, 0.75), ("gelu_tanh", 0.5, 0.75), ("silu", 0.5, 0.75)):
    _by_name(_name, 0, _value)
    _by_name(_name, 1, _slope)


@activation.aspect("any shape, far out, x unchanged", points=0.5, atol=1e-6, rtol=1e-6)
def activation_any_shape_far_out_x_unchanged(answer: Any, x: Any, beta: float, negative: float) -> Any:
    shapes = {
        "x of shape [T]": x[0, 0],
        "x of shape [A, B, T]": x[:2, :1, :2],
        "a single number, of shape []": x[0, 0, 0],
        "x with axes of size 1": x[:1, :, :1],
        "non-contiguous x": x[1, :2].T,
        "x in float32": x[-1, :1].float(),
        "±300 and ±10,000": torch.tensor([-1e4, -300.0, 300.0, 1e4], dtype=torch.float64),
    }
    observation: dict[str, Any] = {}
    for name in NAMES:
        for words, entries in shapes.items():
            for which in (0, 1):
                observation[f"{name}, {('value', 'slope')[which]}, {words}"] = observe_call(
                    partial(_part, which, answer, name, entries)
                )
        x_copy = x[0].clone()
        observe_call(partial(_by_hand, answer, name, x_copy))
        observation[f"{name}, x is left as it was"] = torch.equal(x_copy, x[0])
    for number in (beta, negative, 0):
        far = torch.tensor([-1e4, -300.0, 300.0, 1e4], dtype=torch.float64)
        observation[f"silu, far out, beta = {number:.2f}"] = observe_call(
            partial(_part, 0, answer, "silu", far, number)
        )
    return observation


@activation.aspect("gradients flow through the value", points=0.25, atol=1e-6, rtol=1e-6)
def activation_gradients_flow_through_the_value(answer: Any, x: Any, beta: float, negative: float) -> Any:
    far = torch.tensor([-1e4, -300.0, 300.0, 1e4], dtype=torch.float64)
    observation: dict[str, Any] = {}
    for name in NAMES:
        for words, entries in (("", x[0]), (", far out", far)):
            observation[f"{name}{words}"] = observe_call(
                partial(gradients, lambda x, name=name: _by_hand(answer, name, x)[0], x=entries.clone())
            )
    for number in (beta, negative):
        observation[f"silu, far out, beta = {number:.2f}"] = observe_call(
            partial(gradients, lambda x, number=number: _by_hand(answer, "silu", x, number)[0], x=far.clone())
        )
    return observation


# Quizzes. Their texts are in the notebook.

quiz_pieces = quiz(
    "quiz_pieces",
    where="the fold “Why a quarter?”.",
    understood="The gap of a piece depends on its length alone, not on where it is. So the longest piece decides, and equal pieces have none that is longer.",
)

quiz_proof = quiz(
    "quiz_proof",
    where="the proof below the board “Beat the machine”.",
    understood="The proof needs an interval that includes both of its ends. Without one of them a continuous curve can run away.",
)
