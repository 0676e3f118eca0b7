"""The figures of notebook 03: the activations and their slopes, x² from kinks, who fires, and a race."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from ffnlab import plot, style, svg
from ffnlab.picture import Picture

Point = tuple[float, float]
Curve = Callable[[float], float]

NAMES = ("ReLU", "GELU", "SiLU")
LOOKS = dict(zip(NAMES, map(plot.Look, style.SERIES, ((), (7, 4), (2, 4))), strict=True))
ASIDE = plot.Look(style.NEUTRAL, (3, 4), 1)  # the upright line where a curve is read off
OUTPUT, TARGET = plot.Look(style.CHOSEN, width=2.6), plot.Look(style.REFERENCE, (7, 4), 2)
INTERVALS = (("[−1, 1]", (-1.0, 1.0)), ("[0, 2]", (0.0, 2.0)), ("[−3, 1]", (-3.0, 1.0)))
SIZES = (1, 2, 4, 8, 16, 32, 64)
STARTS = tuple(
    tuple(round(start / 20, 2) for start in range(*ends)) for ends in ((-14, -5), (-4, 5), (6, 15))
)  # where the units of `kinks` can begin, but for the first
SCALES = (1, 10, 100, 1000)
FAR = 9.0  # how far beyond its interval `square` goes


class Race(NamedTuple):
    """What `race` draws: at each of `steps`, for each activation, a loss and an accuracy for every seed."""

    steps: list[int]
    loss: dict[str, list[list[float]]]
    accuracy: dict[str, list[list[float]]]


def phi(x: float) -> float:
    """The share of standard normal numbers below x."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def sigmoid(x: float) -> float:
    """1/(1 + e^-x), without overflow on either side."""
    small = math.exp(-abs(x))
    return (1 if x >= 0 else small) / (1 + small)


def bell(x: float) -> float:
    """The density of standard normal numbers at x."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def by_tanh(x: float) -> float:
    """GELU in its tanh form."""
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


VALUES: dict[str, Curve] = {
    "ReLU": lambda x: max(x, 0.0),
    "GELU": lambda x: x * phi(x),
    "SiLU": lambda x: x * sigmoid(x),
}
SLOPES: dict[str, Curve] = {
    "ReLU": lambda x: float(x > 0),
    "GELU": lambda x: phi(x) + x * bell(x),
    "SiLU": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
}


def _inside(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {svg.label(low)} to {svg.label(high)}, not {value}")


def bends(x: float = -1.0, slope: bool = False, zoom: bool = False) -> Picture:
    """ReLU, GELU (erf) and SiLU, or their slopes, from -6 to 3, read off at x; `zoom` shows what is near zero."""
    _inside("x", x, -6, 3)
    functions = SLOPES if slope else VALUES
    read = {name: functions[name](x) for name in NAMES}
    written = ", ".join(f"{name} {_scientific(value)}" for name, value in read.items())
    title = f"{'Slopes at' if slope else 'At'} x = {svg.label(x)}: {written}"
    if slope and x == 0:
        sentence = "At 0 ReLU has a kink and no slope of its own (torch takes 0); GELU and SiLU have ½ there."
    elif slope:
        where = "left" if x < 0 else "right"
        sentence = (
            f"At x = {svg.label(x)}, {where} of zero, ReLU's slope is exactly {svg.label(read['ReLU'])}; "
            f"GELU's is {_scientific(read['GELU'])} and SiLU's is {_scientific(read['SiLU'])}."
        )
    else:
        sentence = (
            f"At x = {svg.label(x)} ReLU gives {svg.label(read['ReLU'], 3)}, GELU {_scientific(read['GELU'])}, "
            f"SiLU {_scientific(read['SiLU'])}. GELU's lowest value is −0.170 (at −0.75), SiLU's −0.278 (at −1.28)."
        )
    if zoom:
        sentence = f"Near zero: {sentence[0].lower()}{sentence[1:]}"
    heights = ((-0.15, 0.15) if zoom else (-0.2, 1.2)) if slope else ((-0.3, 0.3) if zoom else (-0.5, 3.0))
    ticks = {1.2: (0, 0.5, 1), 3.0: (0, 1, 2, 3), 0.3: (-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3), 0.15: (-0.1, 0, 0.1)}
    frame = plot.Frame((-6, 3), heights, "x", "slope" if slope else "act(x)", tuple(range(-6, 4)), ticks[heights[1]])
    shapes = [frame.axes(), frame.curve((x, x), heights, ASIDE)]
    places = np.linspace(-6, 3, 181).tolist()
    for name in NAMES:
        values = [functions[name](place) for place in places]
        if slope and name == "ReLU":
            values[places.index(0)] = math.nan  # the slope jumps: no line joins its two parts
        shapes.append(frame.curve(places, values, LOOKS[name]))
    shapes += [frame.dots([x], [read[name]], LOOKS[name].colour) for name in NAMES]
    shapes += [
        frame.legend(LOOKS),
        svg.handle(
            *frame.at(x, min(max(read["GELU"], heights[0]), heights[1])),
            drags={"x": svg.across((frame.left, frame.right), frame.x)},
            name="x, on the curve of GELU",
            says=f"{svg.label(x)}, where GELU is {_scientific(read['GELU'])}",
            fill=LOOKS["GELU"].colour,
            r=5,
        ),
    ]
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


def _scientific(value: float, digits: int = 3) -> str:
    """Small numbers as people write them: −3.6e−8 where two or three decimals would be 0."""
    if value == 0 or abs(value) >= 0.001:
        return svg.label(value, digits)
    return f"{value:.1e}".replace("e-0", "e-").replace("-", "−")


def swish(beta: float = 1.0) -> Picture:
    """x·sigmoid(beta·x) between the line x/2 (beta = 0) and ReLU (beta large)."""
    _inside("beta", beta, 0, 20)
    if beta == 0:
        title = "β = 0: no bend at all, the straight line x/2"
        sentence = "With β = 0 the sigmoid is ½ everywhere, so x·sigmoid(βx) is the straight line x/2."
    else:
        gap = svg.label(0.2784645 / beta, 3)
        title = f"β = {svg.label(beta)}: nowhere more than {gap} away from ReLU"
        sentence = (
            f"x·sigmoid({svg.label(beta)}·x) has its lowest value, −{gap}, at x = −{svg.label(1.2784645 / beta, 3)}, "
            f"and is nowhere further than {gap} from ReLU; β = 0 would give x/2."
        )
    frame = plot.Frame((-4, 4), (-2, 4), "x", "x·sigmoid(βx)", tuple(range(-4, 5)), tuple(range(-2, 5)))
    places = np.linspace(-4, 4, 241).tolist()
    half = plot.Look(style.NEUTRAL, (2, 4), 2)
    shapes = [
        frame.axes(),
        frame.curve((-4, 4), (-2, 2), half),
        frame.curve((-4, 0, 4), (0, 0, 4), TARGET),
        frame.curve(places, [x * sigmoid(beta * x) for x in places], OUTPUT),
        frame.legend({"with this β": OUTPUT, "ReLU": TARGET, "x/2": half}),
    ]
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


def two_gelus(times: int = 1) -> Picture:
    """The exact GELU, its tanh form, and their difference, drawn `times` as large."""
    if times not in SCALES:
        raise ValueError(f"times must be {', '.join(map(str, SCALES))}, not {times}")
    frame = plot.Frame((-5, 5), (-0.6, 1.4), "x", "", tuple(range(-5, 6)), (-0.5, 0, 0.5, 1))
    places = np.linspace(-5, 5, 401).tolist()
    exact, form, difference = map(plot.Look, style.SERIES, ((), (5, 5), (2, 4)))
    gaps = [x * phi(x) - by_tanh(x) for x in places]
    largest = max(gaps, key=abs)
    where = abs(places[gaps.index(largest)])
    title = f"The two GELUs differ by at most {abs(largest):.6f}"
    words = "as it is" if times == 1 else f"{times} times as large"
    sentence = (
        f"The difference exact − tanh, drawn {words}, is largest in size at |x| = {where:.2f}: {abs(largest) * 1e4:.2f} "
        f"ten-thousandths. Without enlargement nobody sees it."
    )
    shapes = [
        frame.axes(),
        frame.curve(places, [x * phi(x) for x in places], exact),
        frame.curve(places, [by_tanh(x) for x in places], form),
        frame.curve(places, [times * gap for gap in gaps], difference),
        frame.legend({"exact, with erf": exact, "tanh form": form, f"difference × {times}": difference}),
    ]
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


# x² from kinks


class Chords(NamedTuple):
    """The n-piece interpolation of x² on an interval: its nodes, and the slope of each piece."""

    nodes: list[float]
    slopes: list[float]

    def __call__(self, x: float) -> float:
        """The value at any x; outside of the interval the first output is kept, or the last piece goes on."""
        piece = min(max(bisect_right(self.nodes, x) - 1, 0), len(self.slopes) - 1)
        start = self.nodes[piece]
        return start**2 + self.slopes[piece] * max(x - start, 0.0)


def chords(n: int, low: float, high: float) -> Chords:
    nodes = [low + (high - low) * i / n for i in range(n + 1)]
    return Chords(nodes, [a + b for a, b in pairwise(nodes)])


def kinks(units: int = 2, second: float = -0.5, third: float = 0.0, fourth: float = 0.5) -> Picture:
    """The first `units` of the four ReLU units that interpolate x² on [-1, 1], added to the constant 1.

    The first begins at -1, the others at `second`, `third` and `fourth`: each in its own third of STARTS.
    """
    _inside("units", units, 0, 4)
    begins = (second, third, fourth)
    for start, stops in zip(begins, STARTS, strict=True):
        _inside("the start of a unit", start, stops[0], stops[-1])
    nodes = [-1.0, *begins, 1.0]
    slopes = [a + b for a, b in pairwise(nodes)]
    worst = max(b - a for a, b in pairwise(nodes)) ** 2 / 4
    changes = [new - old for old, new in pairwise([0.0, *slopes])]

    def net(x: float) -> float:
        return 1 + sum(changes[j] * max(x - nodes[j], 0) for j in range(units))

    if units == 0:
        title = "No unit yet: the constant b2 = 1"
        sentence = "Without units the output is b2 = 1 everywhere, which is right at x = −1 and at x = 1 only."
    else:
        title = (
            f"Unit {units} of 4 changes the slope by {_plus(changes[units - 1])}, from {svg.label(nodes[units - 1])} on"
        )
        right = ", ".join(svg.label(node) for node in nodes[: units + 1])
        pieces = f"the output has {units} piece{'s' if units > 1 else ''} and agrees with x² at {right}."
        sentence = f"With {units} of 4 units {pieces}"
        if units < 4:
            sentence += f" Then it goes straight on, to {svg.label(net(1))} at x = 1."
        else:
            best = ", and no other starts do better" if worst == 1 / 16 else ""
            sentence += f" Between them it is up to {svg.label(worst, 4)} too high{best}."
    frame = plot.Frame((-1, 1), (-4, 1.4), "x", "", (-1, -0.5, 0, 0.5, 1), tuple(range(-4, 2)))
    places = np.linspace(-1, 1, 81).tolist()
    output = plot.Look(style.INK, width=2.6)
    own = [plot.Look(colour, (2, 4), 3 if j == units - 1 else 1.6) for j, colour in enumerate(style.SERIES[:units])]
    shapes = [frame.axes(), frame.curve(places, [x * x for x in places], TARGET)]
    shapes += [frame.curve((-1, nodes[j], 1), (0, 0, changes[j] * (1 - nodes[j])), look) for j, look in enumerate(own)]
    joints = [*nodes[: max(units, 1)], 1.0]
    shapes.append(frame.curve(joints, [net(x) for x in joints], output))
    shapes += [frame.dots([-1], [1], style.PAPER, 4, look.colour) for look in own[:1]]  # the others are handles
    for j in range(units):
        middle = (joints[j] + joints[j + 1]) / 2
        across, down = frame.at(middle, net(middle))
        shapes.append(svg.text(across, down - 10, f"slope {svg.label(slopes[j])}", size=12, anchor="middle", halo=True))
    named = {
        f"unit {j + 1} writes {_plus(changes[j])} · ReLU(x − {svg.label(nodes[j])})": look for j, look in enumerate(own)
    }
    named = {words.replace("− −", "+ ").replace("x − 0)", "x)"): look for words, look in named.items()}
    shapes.append(frame.legend({"output": output, "x²": TARGET} | named, "lower left"))
    for parameter, node, stops in zip(("second", "third", "fourth")[:units], begins, STARTS, strict=False):
        way = svg.across((frame.across(stops[0]), frame.across(stops[-1])), (stops[0], stops[-1]))
        name, says = f"where the {parameter} unit begins", svg.label(node)
        shapes.append(svg.handle(*frame.at(node, node * node), drags={parameter: way}, name=name, says=says, r=6))
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


def _plus(value: float) -> str:
    """A number with its sign, a plus too."""
    return svg.label(value) if value < 0 else f"+{svg.label(value)}"


def square(n: int = 4, interval: Point = (-1.0, 1.0), reach: float | None = None) -> Picture:
    """n pieces through x² on an interval, and `reach`, if given, beyond both of its ends; below, the error inside."""
    held, reach = reach is not None, reach or 0.0
    _inside("n", n, 1, 64)
    _inside("reach", reach, 0, FAR)
    low, high = interval
    if not low < high:
        raise ValueError(f"the interval must be from a lower to a higher number, not {interval}")
    net = chords(n, low, high)
    worst = (high - low) ** 2 / (4 * n * n)
    far = high + reach
    name = next((words for words, ends in INTERVALS if ends == interval), f"[{svg.label(low)}, {svg.label(high)}]")
    ratio = (high - low) ** 2 / 4
    fraction = f"{svg.label(ratio)}/{n * n} = {_scientific(worst, 4)}" if n > 1 else _scientific(worst, 4)
    pieces = f"{n} piece{'s' if n > 1 else ''}"
    if reach:
        title = f"At x = {svg.label(far)} the net says {svg.label(net(far))}, and x² is {svg.label(far * far)}"
        sentence = (
            f"On {name} the {pieces} {'are' if n > 1 else 'is'} at most {_scientific(worst, 4)} away from x². Right of the last kink, at "
            f"{svg.label(net.nodes[-2], 3)}, there is one straight line for ever: at x = {svg.label(far)} it is "
            f"{svg.label(far * far - net(far))} too low."
        )
    else:
        title = f"{pieces} on {name}: largest error {fraction}"
        sentence = (
            f"Through x² on {name}, {pieces}: at most {_scientific(worst, 4)} too high, in the middle of "
            f"{'every' if n > 1 else 'the'} piece, and exact at the {n + 1} nodes."
        )
    ceiling = max(high + reach, reach - low) ** 2
    marks = (low - reach, low, high, far) if reach else (low, (low + high) / 2, high)
    frame = plot.Frame((low - reach, far), (0, ceiling), xticks=marks, yticks=(0, ceiling / 2, ceiling), bottom=246)
    shapes = [frame.area((low, high), 0, ceiling, style.TINT)] if reach else []
    places = np.linspace(*frame.x, 161)
    joints = sorted({*net.nodes, *frame.x})
    shapes += [
        frame.axes(),
        frame.curve(places, places**2, TARGET),
        frame.curve(joints, [net(x) for x in joints], OUTPUT),
    ]
    if n <= 16:
        starts = net.nodes[:-1]
        shapes.append(frame.dots(starts, [node * node for node in starts], style.PAPER, 3.2, style.CHOSEN))
    shapes.append(frame.legend({"net": OUTPUT, "x²": TARGET}, "upper center"))
    below = plot.Frame(
        (low, high), (0, 1.15), "x", f"net − x², on {name} alone", (low, (low + high) / 2, high),
        ((0, "0"), (1, _scientific(worst, 4))), top=304, bottom=384,
    )  # fmt: skip
    fine = sorted({*np.linspace(low, high, max(8, 160 // n) * n + 1).tolist(), *net.nodes})
    shapes += [below.axes(), below.curve(fine, [(net(x) - x * x) / worst for x in fine], OUTPUT._replace(width=1.6))]

    wide = high - low
    counts = (*range(1, 17), *range(20, 65, 4))
    way = svg.across([frame.across(low + wide / count) for count in counts], counts)
    says = f"{pieces}, node at {svg.label(net.nodes[1])}"
    node = frame.at(net.nodes[1], net.nodes[1] ** 2)
    shapes.append(svg.handle(*node, drags={"n": way}, name="the first node", says=says, fill=style.CHOSEN, r=6))
    if held:
        # The further out, the more the interval shrinks in the window, from both sides towards the middle.
        reaches = [FAR * (step / 18) for step in range(19)]
        edges = [frame.left + (frame.right - frame.left) * (wide + far) / (wide + 2 * far) for far in reaches]
        shapes.append(
            svg.handle(
                *frame.at(high, ceiling / 2),  # never where the first node is
                drags={"reach": svg.across(edges, reaches)},
                name="how far beyond the interval",
                says=svg.label(reach),
            )
        )
    return Picture(title, sentence, svg.card(436, title, sentence, *shapes))


Build = Callable[[int, float, float], Sequence[torch.Tensor]]


def largest_error(build: Build, n: int, low: float = -1.0, high: float = 1.0) -> float:
    """The largest distance from x² on [low, high] of the net that `build(n, low, high)` returns.

    Raises NotImplementedError, for the figure to show, when there is no such net yet.
    """
    try:
        W1, b1, W2, b2 = (part.detach().double() for part in build(n, low, high))
        x = torch.linspace(low, high, 64 * n + 1, dtype=torch.float64)[:, None]
        error = ((x * W1).add(b1).relu() * W2.T).sum(1, keepdim=True) + b2 - x * x
        return float(error.abs().max())
    except Exception as error:
        raise NotImplementedError("solve relu_interpolant first") from error


def law(net: Build, n: int = 8, trained: dict[int, list[float]] | None = None) -> Picture:
    """The largest error of `net(n, -1, 1)` for n = 1, 2, 4 … up to n, on two logarithmic axes; crosses are trained nets."""
    if n not in SIZES:
        raise ValueError(f"n must be {', '.join(map(str, SIZES))}, not {n}")
    errors = {size: largest_error(net, size) for size in SIZES if size <= n}
    exact = all(abs(error * size * size - 1) < 0.01 for size, error in errors.items())
    what = f"{n} piece{'s' if n > 1 else ''}: largest error {_scientific(errors[n], 4)}"
    title = f"{what}, {'exactly' if exact else 'not'} {f'1/{n * n}' if n > 1 else '1'}"
    line = "lie on the straight line 1/n²" if exact else "leave the straight line 1/n²"
    upto = f"{'up to ' if n > 1 else ''}{n} piece{'s' if n > 1 else ''}"
    rule = ": twice the pieces, a quarter of the error" if exact else ""
    sentence = f"On two logarithmic axes your nets with {upto} {line}{rule}."
    powers = tuple((10.0**e, f"1e−{-e}" if e else "1") for e in range(-5, 1))
    frame = plot.Frame((0.8, 80), (1e-5, 4), "pieces n", "largest error", SIZES, powers, "log", "log")
    best = plot.Look(style.NEUTRAL, (2, 4), 1.6)
    shapes = [
        frame.axes(),
        frame.curve((1, 64), (1, 64**-2), TARGET),
        frame.curve((1, 64), (0.5, 0.5 * 64**-2), best),
        frame.dots([*errors], [max(error, 1e-5) for error in errors.values()], style.CHOSEN, 5),
    ]
    shapes.append(
        svg.handle(
            *frame.at(n, min(max(errors[n], frame.y[0]), frame.y[1])),
            drags={"n": svg.across((frame.across(SIZES[0]), frame.across(SIZES[-1])), (SIZES[0], SIZES[-1]), log=True)},
            name="pieces n",
            says=what,
            fill=style.CHOSEN,
        )
    )
    for size, found in (trained or {}).items():
        for error in found:
            x, y = frame.at(size, max(error, 1e-5))
            shapes.append(svg.text(x, y + 5, "×", size=17, anchor="middle", bold=True))
    entries = {"1/n²": TARGET, "1/(2n²), the best any n pieces can do": best}
    shapes.append(frame.legend(entries, "lower left"))
    if trained:
        shapes.append(
            svg.text(
                frame.right, frame.top + 6, "× trained with n units, one cross for each seed", size=13, anchor="end"
            )
        )
        least, most = min(min(found) for found in trained.values()), max(max(found) for found in trained.values())
        sentence = (
            f"Your nets with {upto} {line}. Trained nets, crosses, follow the trend and not the law: "
            f"their errors run from {_scientific(most)} to {_scientific(least)}."
        )
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


# Who fires


def firing(bias: float = 0.0, spread: float = 1.0) -> Picture:
    """Normal sums with mean `bias` and standard deviation `spread`: the share above zero is Φ(bias/spread)."""
    _inside("bias", bias, -4, 4)
    _inside("spread", spread, 0.25, 2)
    share = phi(bias / spread)
    written = f"{svg.label(100 * share, 1)} %"
    title = f"b/σ = {svg.label(bias / spread)}: a unit fires for {written} of the inputs"
    sentence = (
        f"With bias b = {svg.label(bias)} and spread σ = {svg.label(spread)}, a share of Φ(b/σ) = {written} of the sums is "
        f"above zero; ReLU turns the other {svg.label(100 - float(f'{100 * share:.1f}'), 1)} % into zeros."
    )
    frame = plot.Frame(
        (-6, 6), (0, 0.5), "the sum x·w + b of one unit, before ReLU", "", tuple(range(-6, 7)), (), bottom=306
    )
    places = np.linspace(-6, 6, 241)
    heights = np.array([bell((x - bias) / spread) for x in places])  # times the spread, so that one window fits all
    above = places >= 0
    zero, tall = frame.across(0), (1 - share) * (frame.bottom - frame.top - 24)
    piled = f"{svg.label(100 - float(f'{100 * share:.1f}'), 1)} %"
    shapes = [
        frame.area(places[places <= 0], 0, heights[places <= 0], style.TINT),
        frame.area(places[above], 0, heights[above], style.pale(style.CHOSEN, 0.3)),
        frame.axes(),
        frame.curve(places, heights, plot.Look(style.INK, width=2)),
        svg.rect(zero - 5, frame.bottom - tall, 10, tall, fill=style.NEUTRAL, tip=f"exactly 0 after ReLU: {piled}"),
        svg.text(frame.right, 80, f"fires: {written}", size=14, fill=style.CHOSEN, anchor="end", bold=True),
        svg.text(frame.left, 80, f"silent: {piled}", size=14, fill=style.MUTED, bold=True),
        svg.text(frame.left, 98, "grey bar: after ReLU all these are exactly 0", size=12.5, fill=style.MUTED),
        svg.handle(
            *frame.at(bias, bell(0)),
            drags={"bias": svg.across((frame.across(-3), frame.across(3)), (-3, 3))},
            name="the bias b, the mean of the sums",
            says=svg.label(bias),
        ),
        svg.handle(
            *frame.at(bias + spread, bell(1)),
            drags={"spread": svg.across((frame.across(bias + 0.5), frame.across(bias + 2)), (0.5, 2))},
            name="the spread σ of the sums",
            says=svg.label(spread),
        ),
    ]
    return Picture(title, sentence, svg.card(358, title, sentence, *shapes))


# A race


def race(results: Race, step: int | None = None) -> Picture:
    """Losses of nets that learn facts, per activation, over the steps; bands reach from the best to the worst seed."""
    step = results.steps[-1] if step is None else step
    if step not in results.steps:
        raise ValueError(
            f"step must be one of {results.steps[0]}, {results.steps[1]} … {results.steps[-1]}, not {step}"
        )
    at = results.steps.index(step)
    seeds = len(results.loss[NAMES[0]][0])

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    shares = {name: mean(results.accuracy[name][at]) for name in NAMES}
    title = f"Step {step}, facts known: " + ", ".join(
        f"{name} {round(100 * share)} %" for name, share in shares.items()
    )
    losses = ", ".join(
        f"{name} {svg.label(mean(results.loss[name][at]), 2, pad=True)} "
        f"({svg.label(min(results.loss[name][at]), 2, pad=True)} to {svg.label(max(results.loss[name][at]), 2, pad=True)})"
        for name in NAMES
    )
    sentence = f"After {step} steps the title's shares of the facts are known; the loss is {losses}, mean and range of {seeds} seeds."
    top = max(max(max(row) for row in results.loss[name]) for name in NAMES)
    floor = min(min(min(row) for row in results.loss[name]) for name in NAMES)
    last, ticks = results.steps[-1], (0.01, 0.03, 0.1, 0.3, 1, 3, 10)
    frame = plot.Frame(
        (0, last),
        (floor * 0.9, top * 1.1),
        "steps",
        "loss (nats)",
        tuple(last * i / 4 for i in range(5)),
        ticks,
        yscale="log",
    )
    shapes = [frame.axes()]
    for name in NAMES:
        rows = results.loss[name]
        band = frame.area(results.steps, [min(row) for row in rows], [max(row) for row in rows], LOOKS[name].colour)
        shapes += [svg.group(band, opacity=0.18), frame.curve(results.steps, [mean(row) for row in rows], LOOKS[name])]
    shapes.append(frame.curve((step, step), frame.y, ASIDE))
    shapes += [frame.dots([step], [mean(results.loss[name][at])], LOOKS[name].colour) for name in NAMES]
    shapes.append(frame.legend(LOOKS, "upper right"))
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))
