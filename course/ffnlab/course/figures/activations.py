"""The figures of notebook 03: x² from kinks, any curve, polygons, the activations and their slopes, who fires, and a race."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from ffnlab.course import toy_transformer
from ffnlab.course.experiments import firing as stored_firing
from ffnlab.course.experiments import polygons as stored_polygons
from ffnlab.course.experiments import world as stored_world
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

Point = tuple[float, float]
Curve = Callable[[float], float]

NAMES = ("ReLU", "GELU", "SiLU")
LOOKS = dict(zip(NAMES, map(plot.Look, style.SERIES, ((), (7, 4), (2, 4))), strict=True))
ASIDE = plot.Look(style.NEUTRAL, (3, 4), 1)  # the upright line where a curve is read off
OUTPUT, TARGET = plot.Look(style.CHOSEN, width=2.6), plot.Look(style.REFERENCE, (7, 4), 2)
INTERVALS = (("[−1, 1]", (-1.0, 1.0)), ("[0, 2]", (0.0, 2.0)), ("[−3, 1]", (-3.0, 1.0)))
STARTS = tuple(
    tuple(round(start / 20, 2) for start in range(*ends)) for ends in ((-14, -5), (-4, 5), (6, 15))
)  # where the units of `kinks` can begin, but for the first
FAR = 9.0  # how far beyond its interval `square` goes
LEVELS = tuple(n / 2 for n in range(-4, 5))  # where the points of `through` can be
WAVE = (-1.0, 1.0, 1.5, 0.5, -1.5, -0.5, 1.0)
SPOTS = tuple(n / 4 for n in range(-7, 8))  # where the point of `polygons` can be
PANEL, RIGHT_EDGE = 384.0, svg.WIDTH - svg.MARGIN
WINDOW = plot.Frame(
    (-stored_polygons.WINDOW, stored_polygons.WINDOW), (-stored_polygons.WINDOW, stored_polygons.WINDOW), "x₁", "x₂",
    (-2, -1, 0, 1, 2), (-2, -1, 0, 1, 2), left=50, right=350, top=78, bottom=378, grid="",
)  # fmt: skip
HINGE, SILENT_HINGE = plot.Look(style.INK, width=1.4), plot.Look(style.MUTED, (3, 4), 1.2)
BINS = np.linspace(-12, 4, 65)  # of the sums in `sums`
TICKS = tuple((x, f"{svg.label(x)} and less" if x == -12 else svg.label(x)) for x in range(-12, 5, 2))
NEURONS = (("all 64", -1), ("10, “cold water”", 10), ("33, “spunky in the cold”", 33), ("5, which dies", 5))
BORDER = plot.Look(style.INK, width=3.2)


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


# Any curve


Build = Callable[[int, float, float], Sequence[torch.Tensor]]
Net = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def fitted(build: Build, values: Sequence[float]) -> Net:
    """The network that `build(n, 0, n)` made for x², with a second layer of its own: at 0, 1 … n it says `values`.

    Raises NotImplementedError, for the figure to show, when there is no such network yet.
    """
    n = len(values) - 1
    try:
        W1, b1, _, _ = (part.detach().double() for part in build(n, 0.0, float(n)))
        nodes = torch.arange(n + 1, dtype=torch.float64)[:, None]
        hidden = torch.cat([torch.relu(nodes @ W1 + b1), torch.ones_like(nodes)], dim=1)  # the ones are for b2
        wanted = torch.tensor(values, dtype=torch.float64)[:, None]
        second = torch.linalg.lstsq(hidden, wanted, driver="gelsd").solution  # [m + 1, 1]
        if float((hidden @ second - wanted).abs().max()) > 1e-6:
            raise ValueError("its units do not reach all points")
        return W1, b1, second[:-1], second[-1]
    except Exception as error:
        raise NotImplementedError("solve relu_interpolant first") from error


def through(
    net: Build,
    y0: float = WAVE[0],
    y1: float = WAVE[1],
    y2: float = WAVE[2],
    y3: float = WAVE[3],
    y4: float = WAVE[4],
    y5: float = WAVE[5],
    y6: float = WAVE[6],
) -> Picture:
    """The network with the first layer of `net(6, 0, 6)` that goes through seven points above 0, 1 … 6, and its weights in a table."""
    values = (y0, y1, y2, y3, y4, y5, y6)
    for value in values:
        _inside("the height of a point", value, LEVELS[0], LEVELS[-1])
    last = len(values) - 1
    W1, b1, W2, b2 = fitted(net, values)
    units = len(b1)
    x = torch.linspace(0, last, 16 * last + 1, dtype=torch.float64)[:, None]
    y = (torch.relu(x @ W1 + b1) @ W2 + b2)[:, 0]
    heights = ", ".join(svg.label(value) for value in values)
    title = f"{units} units through {heights}"
    turns = ", ".join(svg.label(value) for value in W2[:, 0].tolist()[:last])
    sentence = (
        f"The units' kinks are where they were for x². Only what they write is new: v = {turns}"
        f"{' …' if units > last else ''}, and b2 = {svg.label(b2.item())}."
    )
    frame = plot.Frame((0, last), (-2.5, 2.5), "x", "output", tuple(range(last + 1)), (-2, -1, 0, 1, 2), right=372)
    shapes = [frame.axes(), frame.curve(x[:, 0].numpy(), y.numpy(), OUTPUT)]
    for place, value in enumerate(values):
        way = svg.upright((frame.upright(LEVELS[0]), frame.upright(LEVELS[-1])), (LEVELS[0], LEVELS[-1]))
        says, name = svg.label(value), f"the point above {place}"
        shapes.append(
            svg.handle(*frame.at(place, value), drags={f"y{place}": way}, name=name, says=says, fill=style.CHOSEN, r=6)
        )
    columns = (424, 470, 516, 562, RIGHT_EDGE)  # where they end
    shapes += [
        svg.text(columns[2], 84, "reads: as for x²", size=12.5, fill=style.MUTED, anchor="end"),
        svg.text(columns[4], 84, "writes: new", size=12.5, fill=style.MUTED, anchor="end"),
    ]
    rows = [("unit", "w", "b", "kink", "v")]
    for unit, (w, b, v) in enumerate(zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True), 1):
        rows.append((str(unit), svg.label(w), svg.label(b), svg.label(-b / w) if w else "none", svg.label(v)))
    if len(rows) > last + 2:
        rows = [*rows[: last + 1], (f"… {units - last} more", "", "", "", "")]
    rows.append(("", "", "", "b2", svg.label(b2.item())))
    for row, words in enumerate(rows):
        for column, (edge, word) in enumerate(zip(columns, words, strict=True)):
            head = row == 0
            fill = style.MUTED if head or column < 4 else style.INK
            down = 110 + 26 * row + 4 * (row > 0)
            shapes.append(svg.text(edge, down, word, size=13.5, fill=fill, anchor="end", bold=column == 4 and not head))
    shapes.append(svg.line(columns[0] - 34, 119, RIGHT_EDGE, 119))
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


# Polygons


def _middle(corners: Sequence[Point]) -> Point:
    return sum(x for x, _ in corners) / len(corners), sum(y for _, y in corners) / len(corners)


class _Cut(NamedTuple):
    """A stored network in the window: its polygons, their middles, and all that does not depend on the point, drawn."""

    corners: list[list[Point]]
    middles: list[Point]
    tinted: str
    above: str  # where it says 0, and the data
    right: float


@cache
def _cut(units: int, step: int) -> _Cut:
    layer = stored_polygons.layer(units, step)
    corners = stored_polygons.cut(layer)
    middles = [_middle(one) for one in corners]
    parts: list[
        tuple[list[Point], float]
    ] = []  # polygons, cut once more where the network says 0; and what it says in their middle
    xs, ys = [], []
    for one, middle in zip(corners, middles, strict=True):
        a, b, c = stored_polygons.linear(layer, middle)
        for part in stored_polygons.halves(one, a, b, c):
            x, y = _middle(part)
            parts.append((part, a * x + b * y + c))
        values = [(a * x + b * y + c, (x, y)) for x, y in one]
        for (here, (x, y)), (there, (u, v)) in pairwise([*values, values[0]]):
            if here * there < 0:  # the border enters or leaves
                share = here / (here - there)
                xs.append(x + share * (u - x))
                ys.append(y + share * (v - y))
        if xs and not math.isnan(xs[-1]):
            xs.append(math.nan)
            ys.append(math.nan)
    usual = sum(abs(value) for _, value in parts) / len(parts)
    (left, low), (right_edge, high) = WINDOW.at(WINDOW.x[0], WINDOW.y[0]), WINDOW.at(WINDOW.x[1], WINDOW.y[1])
    across, up = (right_edge - left) / (WINDOW.x[1] - WINDOW.x[0]), (high - low) / (WINDOW.y[1] - WINDOW.y[0])
    tinted = []
    for part, value in parts:  # all of them lie in the window
        share = math.copysign(0.1 + 0.5 * abs(value) / (abs(value) + usual), value)
        placed = [(left + across * (x - WINDOW.x[0]), low + up * (y - WINDOW.y[0])) for x, y in part]
        tinted.append(svg.path(placed, fill=style.diverging(share, 1), closed=True))
    border = WINDOW.curve(xs, ys, BORDER) if xs else ""
    right = stored_polygons.right(layer, stored_polygons.SHOWN)
    return _Cut(corners, middles, "".join(tinted), border + _signs(), right)


@cache
def _signs() -> str:
    """The points of the ring as minus signs, and those of the disc as plus signs."""
    x, y = stored_polygons.ring(stored_polygons.SHOWN)
    drawn = []
    for sign in (1, -1):
        xs, ys = [], []
        for across, upright in x[y == sign].tolist():
            xs += [across - 0.045, across + 0.045, math.nan]
            ys += [upright, upright, math.nan]
            if sign > 0:
                xs += [across, across, math.nan]
                ys += [upright - 0.045, upright + 0.045, math.nan]
        drawn.append(WINDOW.curve(xs, ys, plot.Look(style.signed(sign), width=1.6)))
    return "".join(drawn)


def polygons(units: int = 8, step: int = 0, x1: float = 0.5, x2: float = 0.25) -> Picture:
    """The plane, cut by the hinges of `units` units that have learned a ring for `step` steps; read at the point (x1, x2)."""
    if units not in stored_polygons.UNITS or step not in stored_polygons.STEPS:
        known = ", ".join(map(str, stored_polygons.UNITS)), ", ".join(map(str, stored_polygons.STEPS))
        raise ValueError(f"the units must be {known[0]}, and the steps {known[1]}, not {units} and {step}")
    _inside("x1", x1, SPOTS[0], SPOTS[-1])
    _inside("x2", x2, SPOTS[0], SPOTS[-1])
    layer = stored_polygons.layer(units, step)
    corners, middles, tinted, above, right = _cut(units, step)
    point = torch.tensor([[x1, x2]], dtype=torch.float64)
    sums = (point @ layer.W1 + layer.b1)[0]
    fires = sums > 0
    (said,), count, most = layer(point).tolist(), int(fires.sum()), stored_polygons.at_most(units)
    a, b, c = stored_polygons.linear(layer, (x1, x2))
    law = f"{svg.label(a)}·x₁ {_signed(b)}·x₂ {_signed(c)}"
    title = f"{f'Step {step}' if step else 'Random'}: {units} units, {len(corners)} of at most {most} polygons in sight"
    sentence = (
        f"At ({svg.label(x1)}, {svg.label(x2)}) {count} of {units} units fire. In the whole polygon around it the network is one linear "
        f"map, {law}; at the point it says {svg.label(said)}."
    )
    shapes = [tinted, WINDOW.axes()]
    for wanted, look in ((True, HINGE), (False, SILENT_HINGE)):
        xs, ys = [], []
        for (w1, w2), bias, on in zip(layer.W1.T.tolist(), layer.b1.tolist(), fires.tolist(), strict=True):
            if on == wanted:
                across, upright = _across_window(w1, w2, bias)
                xs += [*across, math.nan]
                ys += [*upright, math.nan]
        shapes.append(WINDOW.curve(xs, ys, look) if xs else "")
    patterns = torch.tensor(middles, dtype=torch.float64) @ layer.W1 + layer.b1 > 0
    for own in (patterns == fires).all(1).nonzero()[:1, 0].tolist():
        around = np.array([*corners[own], corners[own][0]])
        shapes.append(WINDOW.curve(around[:, 0], around[:, 1], plot.Look(style.CHOSEN, width=3.2)))
    shapes += [above, *_panel(units, fires.tolist(), sums.tolist(), law, said, (x1, x2))]
    rows = (
        ("polygons in sight", str(len(corners))),
        (f"most that {units} lines can make", str(most)),
        ("points on the right side", f"{round(100 * right)} %"),
    )
    for row, (words, number) in enumerate(rows):
        shapes.append(svg.text(PANEL, 298 + 22 * row, words, size=13, fill=style.MUTED))
        shapes.append(svg.text(RIGHT_EDGE, 298 + 22 * row, number, size=14, anchor="end", bold=True))
    key = {"hinge of a unit that fires": HINGE, "hinge of a silent unit": SILENT_HINGE, "the network says 0": BORDER}
    for row, (words, look) in enumerate(key.items()):
        y = 368 + 18 * row
        dash = " ".join(map(str, look.dash))
        shapes.append(svg.line(PANEL, y - 4, PANEL + 30, y - 4, stroke=look.colour, width=look.width, dash=dash))
        shapes.append(svg.text(PANEL + 40, y, words, size=12.5, fill=style.MUTED))
    way = svg.across([WINDOW.across(SPOTS[0]), WINDOW.across(SPOTS[-1])], (SPOTS[0], SPOTS[-1]))
    up = svg.upright([WINDOW.upright(SPOTS[0]), WINDOW.upright(SPOTS[-1])], (SPOTS[0], SPOTS[-1]))
    says = f"({svg.label(x1)}, {svg.label(x2)}), where {count} of {units} units fire"
    shapes.append(
        svg.handle(*WINDOW.at(x1, x2), drags={"x1": way, "x2": up}, name="the point", says=says, fill=style.CHOSEN)
    )
    return Picture(title, sentence, svg.card(420, title, sentence, *shapes))


def _signed(value: float) -> str:
    """A number as a term of a sum, with its sign set apart."""
    short = svg.label(abs(value))
    return f"{'−' if value < 0 and short != '0' else '+'} {short}"


def _across_window(w1: float, w2: float, b: float) -> tuple[list[float], list[float]]:
    """Two points, far out on both sides, of the line x₁·w1 + x₂·w2 + b = 0."""
    length = w1 * w1 + w2 * w2
    foot, along = (-b * w1 / length, -b * w2 / length), (-w2 / length**0.5, w1 / length**0.5)
    far = 3 * stored_polygons.WINDOW
    return [foot[0] - far * along[0], foot[0] + far * along[0]], [foot[1] - far * along[1], foot[1] + far * along[1]]


def _panel(units: int, fires: list[bool], sums: list[float], law: str, said: float, point: Point) -> list[str]:
    """Which units fire at the point, and the linear map there."""
    shapes = [
        svg.text(PANEL, 84, f"At ({svg.label(point[0])}, {svg.label(point[1])})", size=14, bold=True),
        svg.text(PANEL, 104, "green: units that fire", size=12.5, fill=style.MUTED),
    ]
    for n, (on, total) in enumerate(zip(fires, sums, strict=True)):
        x, y = PANEL + 30 * (n % 8), 114 + 28 * (n // 8)
        tip = f"unit {n + 1} adds up {svg.label(total)}: {'it fires' if on else 'it is silent'}"
        shapes.append(svg.rect(x, y, 25, 23, radius=4, fill=style.CHOSEN if on else style.TINT, tip=tip))
        fill = style.PAPER if on else style.MUTED
        shapes.append(svg.text(x + 12.5, y + 16, str(n + 1), size=12, fill=fill, anchor="middle", bold=on))
    return [
        *shapes,
        svg.text(PANEL, 196, "so in this polygon the network is", size=12.5, fill=style.MUTED),
        svg.text(PANEL, 218, law, size=14.5, bold=True),
        svg.text(PANEL, 240, f"at the point: {svg.label(said)}", size=13),
        svg.line(PANEL, 268, RIGHT_EDGE, 268),
    ]


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


class Histogram(NamedTuple):
    """The sums of one neuron: the share of them in each of the bins, and above zero."""

    shares: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    fires: float


@cache
def _histograms(trained: bool) -> list[Histogram]:
    """Of each neuron of the little world's model, and at the end of all of them together; what is below the bins is in the first."""
    model = toy_transformer.load() if trained else stored_firing.untrained(stored_world.stored()["about"]["shipped"])
    found = stored_firing.sums(model)
    bins = len(BINS) - 1
    place = ((found - BINS[0]) / (BINS[1] - BINS[0])).floor().clamp(0, bins - 1).long()
    counts = torch.bincount((place + bins * torch.arange(found.shape[1])).flatten(), minlength=bins * found.shape[1])
    each = counts.reshape(-1, bins).double().numpy() / len(found)
    above = (found > 0).double().mean(0).tolist()
    one_by_one = [Histogram(shares, fires) for shares, fires in zip(each, above, strict=True)]
    return [*one_by_one, Histogram(each.mean(0), sum(above) / len(above))]


def sums(neuron: int = -1) -> Picture:
    """What a neuron of the little world's model adds up over all its sentences, before training and after; -1: all neurons."""
    histograms = (
        [_histograms(trained)[neuron] for trained in (False, True)] if -1 <= neuron < toy_transformer.D_FF else []
    )
    if not histograms:
        raise ValueError(
            f"the neuron must be from 0 to {toy_transformer.D_FF - 1}, or -1 for all of them, not {neuron}"
        )
    said = [_share(one.fires) for one in histograms]
    name = "All neurons" if neuron < 0 else f"Neuron {neuron}"
    title = f"{name}: {said[0]} of sums above 0 before, {said[1]} after"
    whose = "the sums of all 64 neurons" if neuron < 0 else f"the sums of neuron {neuron}"
    sentence = f"Over all words of the world's 4,096 wishes, {said[0]} of {whose} are above zero before training, and {said[1]} after it."
    tall = 1.08 * max(float(one.shares[1:].max()) for one in histograms)
    shapes = []
    for top, words, one, share in zip((84, 254), ("before training", "after training"), histograms, said, strict=True):
        xlabel = "the sum x·w + b, before ReLU" if top > 200 else ""
        frame = plot.Frame((BINS[0], BINS[-1]), (0, tall), xlabel, "", TICKS, (), top=top, bottom=top + 122)
        edges, heights = np.repeat(BINS, 2)[1:-1], np.repeat(one.shares, 2)
        silent, fires = edges <= 0, edges >= 0
        fires[: np.flatnonzero(fires)[0] + 1] = (
            False  # the edge at 0 is there twice: it ends one bin and begins the next
        )
        silent[np.flatnonzero(silent)[-1]] = False
        fires[np.flatnonzero(edges == 0)[-1]] = True
        shapes += [
            frame.area(edges[silent], 0, heights[silent], style.GHOST),
            frame.area(edges[fires], 0, heights[fires], style.CHOSEN),
            frame.axes(),
            frame.curve((0, 0), (0, tall), ASIDE),
            svg.text(frame.left, top - 8, words, size=14, bold=True),
            svg.text(frame.left + 134, top - 8, "how many of the sums are where", size=12.5, fill=style.MUTED),
            svg.text(frame.right, top - 8, f"fires: {share}", size=14, fill=style.CHOSEN, anchor="end", bold=True),
        ]
    return Picture(title, sentence, svg.card(420, title, sentence, *shapes))


def _share(share: float) -> str:
    """A share in per cent, with one digit more where it is small; none is “0 %”."""
    return f"{svg.label(100 * share, 1 if share < 0.1 else 0)} %"


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
