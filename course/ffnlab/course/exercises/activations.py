"""Notebook 03, a game of levels: how each exercise is called, and on what inputs. No answers.

Inputs run through both tails and through |x| = 2.7, where the two forms of GELU differ most. What is likely to be overlooked is drawn
always: axes of size 1, exact zeros, kinks that are close together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
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
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import with_minus

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
    neurons = list(zip(w, b, v, strict=True))
    return max(abs(sum(into * out for into, bias, out in neurons if into * x + bias > 0)) for x in middles)


def _neurons(observation: Any) -> tuple[list[float], ...]:
    w, b, v = lists_of_numbers(observation, "w", "b", "v")
    if 0 in w:
        raise NotAsAsked("a w is 0: that neuron has no kink, and your classmate's code is not meant for it")
    return w, b, v


def _why_right(w: list[float], b: list[float], v: list[float]) -> str:
    kinks = {-bias / into for into, bias in zip(w, b, strict=True)}
    if len(kinks) == len(w):
        return "every neuron has its kink in a place of its own"
    return "some neurons share a kink, and another piece is as steep as what the code adds up at that place"


steepest_counterexample = counterexample(
    "steepest_counterexample",
    code=steepest,
    right=steepest_piece,
    form=_neurons,
    size=lambda w, b, v: len(w),
    par=2,
    why_right=_why_right,
    where="the section “A classmate's code”.",
    understood="A slope counts only where there is a piece that has it. Between two kinks in one place there is none.",
    hints=(
        "Take two neurons and follow the code by hand. Draw the wire below your list of slopes.",
        "Move the second kink towards the first. What becomes of the piece between them, and what does the code still do?",
        "Let the first neuron be steep. What does the second have to do, and where, so that the wire itself never is?",
    ),
)


# count_pieces

EIGHTH = (
    0.125  # most kinks are at multiples of it, and all weights are powers of two, or nearly, so that nothing is rounded
)
CLOSE = 2.0**-16  # how close two kinks come, and how small a change of slope gets, that count as two, and as one


def _network(rng: Draw, neurons: list[tuple[float, float, float]]) -> dict[str, torch.Tensor]:
    """W1 [1, m], b1 [m], W2 [m, 1] from neurons (kink, incoming weight, outgoing weight), in random order."""
    order = rng.distinct(len(neurons), 0, len(neurons) - 1)
    kink, into, out = (torch.tensor([neurons[i][part] for i in order], dtype=torch.float64) for part in range(3))
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

    def neurons(places: list[float]) -> list[tuple[float, float, float]]:
        return [(place, into(), out()) for place in places]

    p, q, r, s, *others = inside(8)  # where kinks are

    def some() -> list[tuple[float, float, float]]:
        """None to four more neurons with kinks of their own, so that no two draws have the same numbers of pieces."""
        return neurons(others[: rng.integer(0, len(others))])

    plain = inside(rng.integer(4, 7))
    steep = [(plain[0] + CLOSE, 0.5, 8.0), (plain[1] - CLOSE, -0.5, 8.0)]
    # Two kinks in one place: they add up, or cancel. (0.5, 2) and (2, 0.5) change the slope by as much; (-1, 1) changes it by +1, not by -1.
    coincident_neurons = [(p, 0.5, 2.0), (p, 1.0, 4.0), (p, -2.0, 1.0), (q, 1.0, 2.0), (q, 2.0, -0.5)]
    cancelling_neurons = [(q, 0.5, -4.0), (q, 2.0, 1.0), (r, 1.0, 2.0), (r, -0.5, -4.0)]
    nearly_cancelling_neurons = [(p, 1.0, 1.0), (p, -1.0, -1.0 - CLOSE)]
    seeming_neurons = [(s, 1.0, 1.0), (s, -1.0, 1.0), (p, 2.0, 1.0), (q, 0.5, 2.0), (q, 1.0, -2.0)]
    close_neurons = [(p, 1.0, 2.0), (p + CLOSE, 1.0, -2.0), (q, 0.5, 4.0), (q - CLOSE, -0.5, -4.0)]
    silent_neurons = [(inside(1)[0], 0.0, 1.0), (q, into(), 0.0), (r, into(), 0.0)]
    flat = {"W1": torch.zeros(1, 2), "b1": torch.tensor([0.5, -0.25]), "W2": torch.ones(2, 1)}
    return {
        "A": A,
        "B": B,
        "plain": _network(rng, [*neurons(plain), *steep]),
        "one neuron": _network(rng, neurons([A - 1 if case == 1 else p])),
        "beyond": _network(rng, [*some(), *neurons([p, A - 1, A - 2, B + 1])]),
        "at the ends": _network(rng, [*some(), *neurons([q, A, B])]),
        "near the ends": _network(rng, [*some(), *neurons([A - CLOSE, A + CLOSE, B - CLOSE, B + CLOSE])]),
        "none inside": _network(rng, neurons([A, B, B + 2])),
        "together": _network(rng, coincident_neurons + some()),
        "close together": _network(rng, close_neurons + some()),
        "cancelling": _network(rng, cancelling_neurons + some()),
        "nearly cancelling": _network(rng, nearly_cancelling_neurons + some()),
        "seeming": _network(rng, seeming_neurons + some()),
        "silent": _network(rng, [*neurons([p]), *silent_neurons, *some()]),
        "flat": {name: part.double() for name, part in flat.items()},
    }


count_pieces = Exercise(
    "count_pieces",
    draw=_draw_kinks,
    where="the section “Where a kink is”.",
    understood="m neurons make at most m + 1 pieces: a kink counts where it is inside, and where the slope really changes.",
    hints=(
        "Neuron j has its kink where x·W1[0, j] + b1[j] is zero. Solve for x. What if W1[0, j] is 0?",
        "Start from 1 piece and count the places strictly between A and B where the slope changes. Two neurons with the same kink are one place.",
        "By how much does neuron j change the slope, going from left to right? Try W1 = 2 and W1 = −2 with W2 = 1: the sign is the same for both.",
        "Collect for each place the sum of the changes |W1|·W2, in a dict, and count the places whose sum is not zero.",
    ),
)


def _count_aspect(aspect: str, points: float, **networks: str) -> None:
    @count_pieces.aspect(aspect, points)
    def probe(answer: Any, A: float, B: float, **inputs: Any) -> Any:
        def count(net: dict[str, torch.Tensor]) -> Any:
            return answer(net["W1"], net["b1"], net["W2"], A, B)

        return {words: count(inputs[name.replace("_", " ")]) for name, words in networks.items()}


_count_aspect("kinks in different places", 1, plain="some neurons", one_neuron="one neuron")
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
    where="the example in the section “The bowl”, and work it out by hand.",
    understood="Every curve on an interval can be followed by adding up kinks: where they are is b1, how much the slope changes is W2.",
    hints=(
        "Walk from A to B and write down, on paper for n = 2, the slope of each piece. The slope between nodes s and t of x² is (t² − s²)/(t − s) = s + t.",
        "relu(x − t) is zero left of t and rises with slope 1 right of it. Adding c·relu(x − t) changes the slope by c, from t on.",
        "The first neuron has its kink at A. It supplies the whole slope of the first piece. Every further one supplies a change of slope: new minus old.",
        "At A all the neurons are zero, so b2 alone has to give the value there. W1 is all ones here, and b1 holds minus the kinks.",
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
            raise NotAsAsked(f"{name} has shape {list(part.shape)}; with m = {m} neurons it should be {shape_text}")
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
    return with_minus(f"n = {n} on [{low:.2f}, {high:.2f}]")


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


# fewest_neurons

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
ONE_PIECE = ("one flat piece", "one piece with zero off its middle", "one piece beside zero")


def _draw_wholes(rng: Draw, case: int) -> dict[str, Any]:
    """Intervals on which n − 1 neurons are enough, and others. All numbers are small multiples of a power of two, so nothing is rounded."""

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
        "one piece with zero off its middle": from_place(1, rng.one_of((0.25, 0.75))),
        "one piece beside zero": from_place(1, rng.one_of((-1.0, 2.0))),
    }


fewest_neurons = Exercise(
    "fewest_neurons",
    draw=_draw_wholes,
    where="the closed text “How sharp is a kink?”.",
    understood="Which way a neuron slopes is free. n − 1 neurons are enough exactly where a piece is flat, because there all of them can be silent.",
    hints=(
        "Every corner inside needs a kink, and with n − 1 neurons no kink is left over. What about these neurons can you still choose?",
        "How steep is the wire left of all its kinks? Only the neurons that slope to the left count there.",
        "All corners of x² on equal pieces are equally sharp. So with n − 1 neurons the first slope is a whole multiple of one number. "
        "Which first slope does x² ask for?",
        "From one piece to the next the slope grows by that number. So n − 1 neurons are enough exactly where it is 0 on some piece. Which neurons are silent "
        "on that piece, and what is b2?",
    ),
)


def _with_its_neurons(net: Any, n: int, low: float, high: float) -> dict[str, Any]:
    """What a network computes on its interval, and how many neurons it has."""
    W1, b1, W2, _ = _check_shapes(net)
    idle = (W1[0] == 0) | (W2[:, 0] == 0)
    return _output(net, n, low, high) | {"neurons": b1.numel(), "neurons that do nothing": int(idle.sum())}


def _with_their_neurons(observation: Any, inputs: dict[str, Any]) -> Any:
    return {_words(*inputs[name]): _with_its_neurons(net, *inputs[name]) for name, net in observation.items()}


def _few(aspect: str, points: float, names: tuple[str, ...], needs: str = "") -> None:
    @fewest_neurons.aspect(aspect, points, facts=_with_their_neurons, atol=1e-4, rtol=1e-4, needs=needs)
    def probe(answer: Any, **intervals: Any) -> Any:
        return {name: _net(answer(*intervals[name])) for name in names}


_few("one neuron fewer", 3, ONE_FEWER)
_few("no neuron fewer", 2, NO_FEWER, needs="one neuron fewer")
_few("one piece", 1, ONE_PIECE, needs="one neuron fewer")


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
        "The rest is as before: the first neuron brings the first slope, each further one the change, and b2 the height at A.",
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


# deep_square

Layers = list[tuple[torch.Tensor, torch.Tensor]]
WITHIN = 0.001
IN_ONE_LAYER = 22  # neurons: x² within a thousandth takes 23 straight pieces
FEW = 14
MOST_LAYERS, MOST_NEURONS, LARGEST_WEIGHT = 12, 100, 1000.0
FOLDS = 6  # how many tents behind each other a wire is compared with


def layers_of(answer: Any) -> Layers:
    """A deep network of one input and one output, from an answer as plain data: W [before, after] and b [after] of each layer, in float64.

    Raises:
        NotAsAsked: it is something else.
    """
    if isinstance(answer, Failure):
        raise NotAsAsked(answer.message)
    if not isinstance(answer, (tuple, list)):
        raise NotAsAsked(f"{describe_result(answer)}; a list of pairs (W, b) was expected")
    if len(answer) < 2:
        raise NotAsAsked("it has no hidden layer; pairs (W, b) for two layers at least were expected")
    layers: Layers = []
    before = 1
    for n, pair in enumerate(answer, 1):
        W, b = _pair_of(pair, n)
        after = b.numel() if n < len(answer) else 1
        if list(W.shape) != [before, after] or list(b.shape) != [after]:
            raise NotAsAsked(
                f"in layer {n}, W has shape {list(W.shape)} and b {list(b.shape)}; {before} {'number comes' if before == 1 else 'numbers come'} in, "
                f"so [{before}, {after}] and [{after}] were expected"
            )
        layers.append((W, b))
        before = after
    neurons = count_neurons(layers)
    if len(layers) > MOST_LAYERS or neurons > MOST_NEURONS:
        raise NotAsAsked(f"it has {len(layers)} layers and {neurons} neurons, which is more than is looked at")
    return layers


def _pair_of(pair: Any, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise NotAsAsked(f"layer {n} is no pair (W, b)")
    try:
        W, b = (torch.as_tensor(part, dtype=torch.float64).detach() for part in pair)
    except Exception:
        raise NotAsAsked(f"in layer {n}, W and b are no tables of numbers with rows of equal length") from None
    for name, part in (("W", W), ("b", b)):
        if not bool(torch.isfinite(part).all()) or bool((part.abs() > LARGEST_WEIGHT).any()):
            raise NotAsAsked(f"in layer {n}, {name} has a number that is not finite, or beyond {LARGEST_WEIGHT:,.0f}")
    return W, b


def count_neurons(layers: Layers) -> int:
    """The neurons of all hidden layers."""
    return sum(b.numel() for _, b in layers[:-1])


def run_layers(layers: Layers, x: torch.Tensor) -> torch.Tensor:
    """What the network makes of x [n]: [n]."""
    hidden = x[:, None]
    for W, b in layers[:-1]:
        hidden = torch.relu(hidden @ W + b)
    W, b = layers[-1]
    return (hidden @ W + b)[:, 0]


def tents(x: torch.Tensor, count: int) -> torch.Tensor:
    """|x| and the tents of it, each of the one before: [n, count + 1]."""
    folded = [x.abs()]
    for _ in range(count):
        folded.append(1 - (2 * folded[-1] - 1).abs())
    return torch.stack(folded, dim=1)


def _describe_miss(layers: Layers) -> str:
    """In what way a network misses what was asked for; nothing where it does not."""
    # Kinks at multiples of 1/24 and of 1/32 are among them.
    x = torch.linspace(-1, 1, 2**13 * 3 + 1, dtype=torch.float64)
    wire = run_layers(layers, x)
    gap = wire - x**2
    near = bool(gap.abs().max() <= WITHIN)
    if len(layers) == 2:
        return "one hidden layer" if near else "one hidden layer, and not within a thousandth"
    if near:
        return "" if count_neurons(layers) < IN_ONE_LAYER else "as many neurons as one layer takes, or more"
    if bool(gap[x >= 0].abs().max() <= WITHIN):
        return "right of 0 it is within a thousandth, and left of it it is not"
    if float(gap.max() - gap.min()) <= 2 * WITHIN:
        return "all of it is too high or too low by the same amount"
    return _describe_sum(x, wire)


# What is taken off |x| for each tent, by its number from 1, where that is not a quarter and again a quarter.
OTHER_WEIGHTS: dict[str, tuple[Callable[[int], float], ...]] = {
    "the tents are added": (lambda n: -(4.0**-n),),
    "the tents are halved, not quartered": (lambda n: 2.0**-n, lambda n: 2.0 ** -(n + 1)),
    "all tents count the same": (lambda n: 0.25, lambda n: 1.0),
}


def _taken_off(x: torch.Tensor, count: int, weight: Callable[[int], float]) -> torch.Tensor:
    """|x| minus weighted tents, as a network carries it: a sum that falls below 0 on the way is pressed."""
    folded = tents(x, count)
    total = folded[:, 0]
    for n in range(1, count + 1):
        total = total.relu() - weight(n) * folded[:, n]
    return total


def _describe_sum(x: torch.Tensor, wire: torch.Tensor) -> str:
    """What a wire is as a sum of |x| and its tents, if it is one.

    Raises:
        NotAsAsked: it is one, with weights that no known mistake has.
    """
    for words, weights in OTHER_WEIGHTS.items():
        for weight, count in product(weights, range(2, FOLDS + 1)):
            if torch.allclose(_taken_off(x, count, weight), wire, atol=1e-4):
                return words
    basis = torch.cat([tents(x, FOLDS), torch.ones(len(x), 1, dtype=torch.float64)], dim=1)
    found = torch.linalg.lstsq(basis, wire[:, None]).solution[:, 0]
    if float((basis @ found - wire).abs().max()) > 1e-4:
        return "it is no sum of |x| and its tents"
    used = [n for n in range(1, FOLDS + 1) if abs(found[n]) > 1e-4]
    if not used:
        return "it does not fold after |x|"
    if torch.allclose(_taken_off(x, used[-1], lambda n: 4.0**-n), wire, atol=1e-4):
        return "too few tents are taken off |x|"
    if len(used) == 1 and used[-1] > 1:
        return "of all tents only the last has arrived"
    gap = wire - x**2
    worst = int(gap.abs().argmax())
    raise NotAsAsked(
        f"its wire is a sum of |x| and of tents, but with other weights: at x = {float(x[worst]):.2f} it is {float(gap[worst].abs()):.4f} too "
        f"{'high' if gap[worst] > 0 else 'low'}"
    )


def _how_near(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    miss = _describe_miss(layers_of(observation))
    return {
        f"your network is within a thousandth with fewer than {IN_ONE_LAYER} neurons": not miss,
        "what is missing": miss,
    }


def _how_few(observation: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    """Of any network, also of one that misses x²: that one is told that this counts later, not that it has too many neurons."""
    return {f"your network has {FEW} neurons or fewer": count_neurons(layers_of(observation)) <= FEW}


deep_square = Exercise(
    "deep_square",
    where="the section “Fold it”.",
    understood="Every layer after a fold acts on both halves at once. So pieces double with each layer, and neurons only add up.",
    cases=1,
    hints=(
        "Begin with |x|: two neurons, `W = [[1., -1.]]`. From there on all numbers are between 0 and 1. How many neurons does a tent on [0, 1] take?",
        "Let u be |x|, and t the tent of u. The wire u is too high by u − u². Show that u − u² = t/4 + (t − t²)/4. What does the second part say?",
        "So x² is u − t/4 − t₂/16 − t₃/64 − …, where t₂ is the tent of t, and so on. What is left over after four tents?",
        "A later layer sees nothing but the layer before it. So one neuron of each layer carries the sum that you have so far; it is never below 0, so ReLU "
        "leaves it alone. The other two make the next tent.",
    ),
)


@deep_square.aspect("within a thousandth", points=3, facts=_how_near)
def deep_square_within_a_thousandth(answer: Any) -> Any:
    return answer


@deep_square.aspect(f"{FEW} neurons or fewer", points=1, facts=_how_few, needs="within a thousandth")
def deep_square_few_neurons(answer: Any) -> Any:
    return answer


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


# The quiz. Its text is in the notebook.

quiz_proof = quiz(
    "quiz_proof",
    where="the proof below the board “Beat the machine”.",
    understood="The proof needs an interval that includes both of its ends. Without one of them a continuous curve can run away.",
)
