"""The figures of notebook 03: the activations and their slopes, x² from kinks, who fires, and a race."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch

from ffnlab import style, svg
from ffnlab.picture import Picture

Point = tuple[float, float]
Curve = Callable[[float], float]

NAMES = ("ReLU", "GELU", "SiLU")
LOOKS = dict(zip(NAMES, ((style.ACCENTS[0], ""), (style.ACCENTS[1], "7 4"), (style.ACCENTS[2], "2 4")), strict=True))
INTERVALS = (("[−1, 1]", (-1.0, 1.0)), ("[0, 2]", (0.0, 2.0)), ("[−3, 1]", (-3.0, 1.0)))
SIZES = (1, 2, 4, 8, 16, 32, 64)
SCALES = (1, 10, 100, 1000)
LEFT, RIGHT = 62.0, svg.WIDTH - svg.MARGIN


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


class Frame(NamedTuple):
    """A plot's window: where it is on the card, and which numbers it shows."""

    top: float
    bottom: float
    x: Point
    y: Point
    left: float = LEFT
    right: float = RIGHT

    def at(self, x: float, y: float) -> Point:
        across = (self.right - self.left) / (self.x[1] - self.x[0])
        up = (self.bottom - self.top) / (self.y[1] - self.y[0])
        return self.left + (x - self.x[0]) * across, self.bottom - (y - self.y[0]) * up

    def holds(self, x: float, y: float) -> bool:
        return self.x[0] <= x <= self.x[1] and self.y[0] <= y <= self.y[1]

    def axes(self, xs: Sequence[tuple[float, str]], ys: Sequence[tuple[float, str]], name: str, up: str = "") -> str:
        """Grid, tick labels and the axes' names."""
        parts = []
        for value, words in ys:
            _, y = self.at(self.x[0], value)
            strong = value == 0
            parts += [
                svg.line(self.left, y, self.right, y, stroke=style.RULE if strong else style.TINT),
                svg.text(self.left - 8, y + 4, words, size=12, fill=style.MUTED, anchor="end"),
            ]
        ticks = [(self.at(value, self.y[0])[0] - self.left, words) for value, words in xs]
        parts.append(svg.axis(self.left, self.bottom, self.right - self.left, ticks, name=name))
        if up:
            parts.append(svg.text(self.left - 42, self.top - 12, up, size=12, fill=style.MUTED))
        return "".join(parts)

    def curve(self, points: Sequence[Point], colour: str, dash: str = "", width: float = 2.4) -> str:
        """Straight lines from point to point, cut off where they leave the window at its top or bottom."""
        runs: list[list[Point]] = [[]]
        for before, after in pairwise(points):
            inside = [self._cut(before, after), self._cut(after, before)]
            if inside[0] is None or inside[1] is None:
                continue
            if not runs[-1] or runs[-1][-1] != inside[0]:
                runs.append([inside[0]])
            runs[-1].append(inside[1])
        placed = ([self.at(*point) for point in run] for run in runs if len(run) > 1)
        return "".join(svg.path(run, stroke=colour, width=width, dash=dash) for run in placed)

    def _cut(self, point: Point, other: Point) -> Point | None:
        """`point`, moved towards `other` until it is inside; None where the whole step is outside."""
        (x, y), (x2, y2) = point, other
        low, high = self.y
        if (y < low and y2 < low) or (y > high and y2 > high):
            return None
        if low <= y <= high:
            return point
        edge = low if y < low else high
        return x + (x2 - x) * (edge - y) / (y2 - y), edge


def _spread(low: float, high: float, count: int = 180) -> list[float]:
    return [low + (high - low) * i / count for i in range(count + 1)]


def _key(left: float, top: float, entries: Sequence[tuple[str, str, str]]) -> str:
    """A legend: (words, colour, dash), one below the other."""
    parts = []
    for n, (words, colour, dash) in enumerate(entries):
        y = top + 20 * n
        parts += [
            svg.line(left, y - 4, left + 32, y - 4, stroke=colour, width=2.4, dash=dash),
            svg.text(left + 40, y, words, size=13, halo=True),
        ]
    return "".join(parts)


def _ticks(*values: float, digits: int = 2) -> list[tuple[float, str]]:
    return [(value, svg.label(value, digits)) for value in values]


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
    heights = ((-0.15, 0.15) if zoom else (-0.2, 1.2)) if slope else ((-0.3, 0.3) if zoom else (-0.5, 3.0))
    frame = Frame(66, 336, (-6, 3), heights)
    ys = {1.2: (0, 0.5, 1), 3.0: (0, 1, 2, 3), 0.3: (-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3), 0.15: (-0.1, 0, 0.1)}
    shapes = [frame.axes(_ticks(*range(-6, 4)), _ticks(*ys[heights[1]]), "x", "slope" if slope else "act(x)")]
    at_x, _ = frame.at(x, 0)
    shapes.append(svg.line(at_x, frame.top, at_x, frame.bottom, stroke=style.NEUTRAL, dash="3 4"))
    places = _spread(-6, 3)
    for name in NAMES:
        colour, dash = LOOKS[name]
        if slope and name == "ReLU":
            for points in ([(-6.0, 0.0), (0.0, 0.0)], [(0.0, 1.0), (3.0, 1.0)]):
                shapes.append(frame.curve(points, colour, dash))
        else:
            shapes.append(frame.curve([(place, functions[name](place)) for place in places], colour, dash))
        if frame.holds(x, read[name]):
            shapes.append(svg.circle(*frame.at(x, read[name]), 4.5, fill=colour, stroke=style.PAPER, stroke_width=1.5))
    shapes.append(_key(LEFT + 14, frame.top + 16, [(name, *LOOKS[name]) for name in NAMES]))
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
    frame = Frame(66, 336, (-4, 4), (-2, 4))
    places = _spread(-4, 4, 240)
    shapes = [
        frame.axes(_ticks(*range(-4, 5)), _ticks(*range(-2, 5)), "x", "x·sigmoid(βx)"),
        frame.curve([(-4, -2), (4, 2)], style.NEUTRAL, "2 4", 2),
        frame.curve([(-4, 0), (0, 0), (4, 4)], style.NEGATIVE, "7 4", 2),
        frame.curve([(x, x * sigmoid(beta * x)) for x in places], style.ACCENTS[2]),
        _key(
            LEFT + 14,
            frame.top + 16,
            [
                (f"β = {svg.label(beta)}", style.ACCENTS[2], ""),
                ("ReLU", style.NEGATIVE, "7 4"),
                ("x/2", style.NEUTRAL, "2 4"),
            ],
        ),
    ]
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


def two_gelus(times: int = 1) -> Picture:
    """The exact GELU, its tanh form, and their difference, drawn `times` as large."""
    if times not in SCALES:
        raise ValueError(f"times must be {', '.join(map(str, SCALES))}, not {times}")
    frame = Frame(66, 336, (-5, 5), (-0.6, 1.4))
    places = _spread(-5, 5, 400)
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
        frame.axes(_ticks(*range(-5, 6)), _ticks(-0.5, 0, 0.5, 1), "x"),
        frame.curve([(x, x * phi(x)) for x in places], style.ACCENTS[1], "", 2.4),
        frame.curve([(x, by_tanh(x)) for x in places], style.ACCENTS[0], "5 5", 2),
        frame.curve([(x, times * gap) for x, gap in zip(places, gaps, strict=True)], style.ACCENTS[2], "2 4", 2.4),
        _key(
            LEFT + 14,
            frame.top + 16,
            [
                ("exact, with erf", style.ACCENTS[1], ""),
                ("tanh form", style.ACCENTS[0], "5 5"),
                (f"difference × {times}", style.ACCENTS[2], "2 4"),
            ],
        ),
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


def kinks(units: int = 2) -> Picture:
    """The first `units` of the four ReLU units that interpolate x² on [-1, 1], added to the constant 1."""
    _inside("units", units, 0, 4)
    nodes, slopes = chords(4, -1, 1)
    changes = [new - old for old, new in pairwise([0.0, *slopes])]

    def net(x: float) -> float:
        return 1 + sum(changes[j] * max(x - nodes[j], 0) for j in range(units))

    if units == 0:
        title = "No unit yet: the constant b2 = 1"
        sentence = "Without units the output is b2 = 1 everywhere, which is right at x = −1 and at x = 1 only."
    else:
        change = svg.label(changes[units - 1])
        change = change if changes[units - 1] < 0 else f"+{change}"
        title = f"Unit {units} of 4 changes the slope by {change}, from {svg.label(nodes[units - 1])} on"
        right = ", ".join(svg.label(node) for node in nodes[: units + 1])
        pieces = f"the output has {units} piece{'s' if units > 1 else ''} and agrees with x² at {right}."
        sentence = f"With {units} of 4 units {pieces}"
        if units < 4:
            sentence += f" Then it goes straight on, to {svg.label(net(1))} at x = 1."
        else:
            sentence += " Between them it is up to 1/16 too high."
    frame = Frame(66, 336, (-1, 1), (-2.2, 1.2))
    places = _spread(-1, 1, 80)
    shapes = [
        frame.axes(_ticks(-1, -0.5, 0, 0.5, 1), _ticks(-2, -1, 0, 1), "x"),
        frame.curve([(x, x * x) for x in places], style.NEGATIVE, "7 4", 2),
    ]
    for j in range(units):
        own = [(x, changes[j] * max(x - nodes[j], 0)) for x in places]
        shapes.append(frame.curve(own, style.NEUTRAL, "2 4", 3 if j == units - 1 else 1.4))
    shapes.append(frame.curve([(x, net(x)) for x in places], style.POSITIVE, "", 2.6))
    for j in range(units):
        spot = frame.at(nodes[j], net(nodes[j]))
        shapes.append(svg.circle(*spot, 4, fill=style.PAPER, stroke=style.POSITIVE, stroke_width=2))
    shapes.append(
        _key(
            LEFT + 14,
            282,
            [
                ("output", style.POSITIVE, ""),
                ("x²", style.NEGATIVE, "7 4"),
                ("what each unit writes", style.NEUTRAL, "2 4"),
            ],
        )
    )
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


def square(n: int = 4, interval: Point = (-1.0, 1.0), reach: float = 0.0) -> Picture:
    """n pieces through x² on an interval, and `reach` beyond both of its ends; below, the error inside."""
    _inside("n", n, 1, 64)
    _inside("reach", reach, 0, 9)
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
    frame = Frame(66, 246, (low - reach, high + reach), (0, ceiling))
    marks = [frame.x[0], low, high, frame.x[1]] if reach else [low, (low + high) / 2, high]
    shapes = []
    if reach:
        left, right = frame.at(low, 0)[0], frame.at(high, 0)[0]
        shapes.append(svg.rect(left, frame.top, right - left, frame.bottom - frame.top, fill=style.TINT))
    ys = [(0.0, "0"), (ceiling / 2, svg.label(ceiling / 2)), (ceiling, svg.label(ceiling))]
    shapes.append(frame.axes(_ticks(*marks), ys, ""))
    places = _spread(*frame.x, 160)
    joints = sorted({*net.nodes, frame.x[0], frame.x[1]})
    shapes += [
        frame.curve([(x, x * x) for x in places], style.NEGATIVE, "7 4", 2),
        frame.curve([(x, net(x)) for x in joints], style.POSITIVE, "", 2.6),
    ]
    if n <= 16:
        for node in net.nodes[:-1]:
            spot = frame.at(node, node * node)
            shapes.append(svg.circle(*spot, 3.2, fill=style.PAPER, stroke=style.POSITIVE, stroke_width=1.8))
    middle = (frame.left + frame.right) / 2
    shapes.append(_key(middle - 40, frame.top + 14, [("net", style.POSITIVE, ""), ("x²", style.NEGATIVE, "7 4")]))
    below = Frame(304, 384, (low, high), (0, 1.15 * worst))
    steps = max(8, 160 // n) * n
    fine = sorted({*_spread(low, high, steps), *net.nodes})
    shapes += [
        svg.text(LEFT, 292, f"net − x², on {name} alone", size=12, fill=style.MUTED),
        below.axes(_ticks(low, (low + high) / 2, high), [(0.0, "0"), (worst, _scientific(worst, 4))], "x"),
        below.curve([(x, net(x) - x * x) for x in fine], style.POSITIVE, "", 1.6),
    ]
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
    frame = Frame(66, 336, (-0.3, 6.3), (-5, 0.6))
    ys = [(float(e), f"1e{e}".replace("-", "−")) for e in range(-5, 1)]
    shapes = [
        frame.axes([(math.log2(size), str(size)) for size in SIZES], ys, "pieces n", "largest error"),
        frame.curve([(0, 0), (6, -2 * math.log10(64))], style.POSITIVE, "", 1.6),
        frame.curve([(0, math.log10(0.5)), (6, math.log10(0.5 / 64**2))], style.NEUTRAL, "7 4", 1.6),
    ]
    for size, error in errors.items():
        height = math.log10(max(error, 1e-5))
        if frame.holds(math.log2(size), height):
            shapes.append(svg.circle(*frame.at(math.log2(size), height), 5, fill=style.POSITIVE))
    for size, found in (trained or {}).items():
        for error in found:
            x, y = frame.at(math.log2(size), max(math.log10(error), -5))
            for slant in (4, -4):
                shapes.append(svg.line(x - 4, y - slant, x + 4, y + slant, stroke=style.NEGATIVE, width=2))
    entries = [("1/n²", style.POSITIVE, ""), ("1/(2n²), the best any n pieces can do", style.NEUTRAL, "7 4")]
    shapes.append(_key(LEFT + 14, 286, entries))
    if trained:
        shapes.append(
            svg.text(LEFT + 54, 326, "× trained with n units, one cross for each seed", size=13, fill=style.NEGATIVE)
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
    height = 0.48 / spread
    frame = Frame(66, 306, (-6, 6), (0, height))
    places = _spread(-6, 6, 240)
    curve = [(x, bell((x - bias) / spread) / spread) for x in places]
    positive = [(x, y) for x, y in curve if x >= 0]
    outline = [frame.at(0, 0), *(frame.at(x, y) for x, y in positive), frame.at(6, 0)]
    zero, _ = frame.at(0, 0)
    shapes = [
        frame.axes(_ticks(*range(-6, 7)), [], "the sum x·w + b of one unit, before ReLU"),
        svg.path(outline, fill="#BBD7EA", closed=True),
        frame.curve(curve, style.INK, "", 2),
        svg.line(zero, frame.top - 6, zero, frame.bottom, stroke=style.MUTED, dash="3 4"),
        svg.text(RIGHT, frame.top + 14, f"fires: {written}", size=14, fill=style.POSITIVE, anchor="end", bold=True),
        svg.text(LEFT, frame.top + 14, "silent", size=14, fill=style.MUTED, bold=True),
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
    frame = Frame(66, 336, (0, results.steps[-1]), (math.log10(floor) - 0.05, math.log10(top) + 0.05))
    ys = [(math.log10(value), svg.label(value, 3)) for value in (0.01, 0.03, 0.1, 0.3, 1, 3, 10)]
    ys = [(place, words) for place, words in ys if frame.y[0] <= place <= frame.y[1]]
    last = results.steps[-1]
    shapes = [frame.axes([(last * i / 4, svg.label(last * i / 4)) for i in range(5)], ys, "steps", "loss (nats)")]
    for name in NAMES:
        rows = [[math.log10(value) for value in row] for row in results.loss[name]]
        upper = [frame.at(s, max(row)) for s, row in zip(results.steps, rows, strict=True)]
        lower = [frame.at(s, min(row)) for s, row in zip(results.steps, rows, strict=True)]
        band = svg.path([*upper, *reversed(lower)], fill=LOOKS[name][0], closed=True)
        shapes.append(svg.group(band, opacity=0.18))
        middle = [(s, math.log10(mean(row))) for s, row in zip(results.steps, results.loss[name], strict=True)]
        shapes.append(frame.curve(middle, *LOOKS[name]))
    x, _ = frame.at(step, frame.y[0])
    shapes.append(svg.line(x, frame.top, x, frame.bottom, stroke=style.NEUTRAL, dash="3 4"))
    for name in NAMES:
        spot = frame.at(step, math.log10(mean(results.loss[name][at])))
        shapes.append(svg.circle(*spot, 4.5, fill=LOOKS[name][0], stroke=style.PAPER, stroke_width=1.5))
    shapes.append(_key(RIGHT - 110, frame.top + 16, [(name, *LOOKS[name]) for name in NAMES]))
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))
