"""The figures of notebook 07: a gate as two lines and their product, gates as lights, equal parameters, a contest, and a published table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

GATES: dict[str, Callable[[float], float]] = {
    "none": lambda h: h,
    "sigmoid": lambda h: 1 / (1 + math.exp(-h)),
    "ReLU": lambda h: max(h, 0.0),
    "GELU": lambda h: h * 0.5 * math.erfc(-h / math.sqrt(2)),
    "SiLU": lambda h: h / (1 + math.exp(-h)),
}
GATE, UP, PRODUCT = style.SERIES[:3]
SPAN = 3.0  # t runs from -3 to 3

RATIOS = (
    ("2", 2.0),
    ("2 1/4", 2.25),
    ("2 1/2", 2.5),
    ("8/3", 8 / 3),
    ("2 3/4", 2.75),
    ("3", 3.0),
    ("3 1/4", 3.25),
    ("3 1/2", 3.5),
    ("3 3/4", 3.75),
    ("4", 4.0),
    ("6", 6.0),
    ("8", 8.0),
)
WIDTHS = (512, 768, 4096, 5120, 6656, 8192)
MULTIPLES = (1, 64, 256, 1024)

STEPS = (65_536, 524_288)
RUNS = 4  # of each FFN, for the shorter time
READINGS = {  # by name: after how many steps, and of how many runs each number is taken to be the mean
    f"{STEPS[0]:,} steps, means of {RUNS} runs": (STEPS[0], RUNS),
    f"{STEPS[0]:,} steps, as if single runs": (STEPS[0], 1),
    f"{STEPS[1]:,} steps, one run each": (STEPS[1], 1),
}


Numbers = np.ndarray[Any, np.dtype[Any]]


class Row(NamedTuple):
    """One line of Shazeer's table 1 (arXiv 2002.05202): log-perplexity after each of STEPS; deviation of 4 runs, of the shorter ones only."""

    short: float
    deviation: float
    long: float


TABLE = {
    "ReLU": Row(1.997, 0.005, 1.677),
    "GELU": Row(1.983, 0.005, 1.679),
    "Swish": Row(1.994, 0.003, 1.683),
    "GLU": Row(1.982, 0.006, 1.663),
    "Bilinear": Row(1.960, 0.005, 1.648),
    "GEGLU": Row(1.942, 0.004, 1.633),
    "SwiGLU": Row(1.944, 0.010, 1.636),
    "ReGLU": Row(1.953, 0.003, 1.645),
}
PLAIN = ("ReLU", "GELU", "Swish")
WIDEST = max(row.deviation for row in TABLE.values())


class Contest(NamedTuple):
    """What `contest` draws: at each of `steps`, for each FFN, the share of facts known by every seed; and which FFNs have a gate."""

    steps: list[int]
    known: dict[str, list[list[float]]]
    gated: tuple[str, ...]


def _line(slope: float, height: float) -> str:
    """A straight line as people write it: 2t − 1."""
    if slope == 0:
        return svg.label(height)
    rising = {1.0: "t", -1.0: "−t"}.get(slope, f"{svg.label(slope)}t")
    if height == 0:
        return rising
    return f"{rising} {'+' if height > 0 else '−'} {svg.label(abs(height))}"


class _Unit(NamedTuple):
    """One gated unit on a straight walk: gate and up are lines in t."""

    gate_slope: float
    gate_height: float
    up_slope: float
    up_height: float
    activation: str

    def gate(self, t: float) -> float:
        """The gate before the activation."""
        return self.gate_slope * t + self.gate_height

    def values(self, t: float) -> tuple[float, float, float]:
        """The gate after the activation, up, and their product."""
        gate = GATES[self.activation](self.gate(t))
        up = self.up_slope * t + self.up_height
        return gate, up, gate * up

    @property
    def name_of_gate(self) -> str:
        return "gate" if self.activation == "none" else f"{self.activation}(gate)"


def gate(
    t: float = 1.0,
    gate_slope: float = 1.0,
    gate_height: float = 1.0,
    up_slope: float = 1.0,
    up_height: float = -1.0,
    activation: str = "none",
) -> Picture:
    """One gated unit on a straight walk through the space of tokens: gate and up are lines in t, and the unit gives act(gate) · up."""
    if activation not in GATES:
        raise ValueError(f"activation must be {', '.join(GATES)}, not {activation!r}")
    if not -SPAN <= t <= SPAN:
        raise ValueError(f"t must be from −3 to 3, not {t}")
    unit = _Unit(gate_slope, gate_height, up_slope, up_height, activation)
    title, words = _gate_words(unit, t)
    window = (-SPAN, SPAN), (-4.0, 8.0)
    frame = plot.Frame(*window, "t, along the walk", "", tuple(range(-3, 4)), tuple(range(-4, 9, 2)), top=86)
    way = svg.across((frame.left, frame.right), frame.x)
    shapes = [
        frame.axes(),
        frame.curve((t, t), frame.y, plot.Look(style.NEUTRAL, (3, 4), 1)),
        *_curves_of_unit(unit, t, frame),
        svg.handle(frame.across(t), frame.bottom, drags={"t": way}, name="t", says=svg.label(t)),
    ]
    return Picture(title, words, svg.card(388, title, words, *shapes))


def _gate_words(unit: _Unit, t: float) -> tuple[str, str]:
    """Title and sentence."""
    gate, up, product = unit.values(t)
    title = (
        f"t = {svg.label(t)}: {unit.name_of_gate} {svg.label(gate)} times up {svg.label(up)} is {svg.label(product)}"
    )
    note = f"up is multiplied by {svg.label(gate)}"
    if abs(product) < 0.005:
        note = "the gate is closed" if abs(gate) < 0.005 else "up is 0 there"
    bent = "not bent" if unit.activation == "none" else f"bent by {unit.activation}"
    words = (
        f"Gate {_line(unit.gate_slope, unit.gate_height)}, {bent}; "
        f"up {_line(unit.up_slope, unit.up_height)}. At t = {svg.label(t)} the product is {svg.label(product)}: {note}."
    )
    return title, words


def _curves_of_unit(unit: _Unit, t: float, frame: plot.Frame) -> list[str]:
    """Gate, up and product over the walk, with a dot on each at t."""
    places = np.linspace(-SPAN, SPAN, 241).tolist()
    curves = zip(*map(unit.values, places), strict=True)
    looks = {
        unit.name_of_gate: plot.Look(GATE, (7, 4), 2.2),
        "up": plot.Look(UP, (2, 4)),
        "their product": plot.Look(PRODUCT, width=3),
    }
    shapes = []
    if unit.activation != "none":  # the gate before it, as a straight line
        ends = [unit.gate(place) for place in frame.x]
        shapes.append(frame.curve(frame.x, ends, plot.Look(style.NEUTRAL, (1, 4), 1.6)))
    shapes += [frame.curve(places, values, look) for values, look in zip(curves, looks.values(), strict=True)]
    gate, up, product = unit.values(t)
    dots = ((product, PRODUCT, 8.5), (up, UP, 6.0), (gate, GATE, 3.5))  # one is seen inside of another
    shapes += [frame.dots([t], [value], colour, r) for value, colour, r in dots]
    return [*shapes, frame.legend(looks, "above")]


UPS = np.array([[1, -0.5, -1, -0.5], [0.5, 1, 0.5, -1]])  # [2, 4]: a column is what a unit reads
OWN = np.array([[0.25, 0.5, -0.5, 0.25], [0.25, 0.25, 0, -0.5]])  # [2, 4]: the gates' own keys
DOWNS = np.array([[1, 0], [0, 1], [-0.5, -0.5], [0.5, -0.5]])  # [4, 2]: a row is where a unit writes
REACH = 2.0  # of each entry of x in `lights`
PLACES = tuple(quarter / 4 for quarter in range(-8, 9))
LIGHTS = ("plain ReLU", "GLU", "ReGLU")
_MATRICES_LEFT, _MATRICES_TOP = 326.0, 104.0  # of up, beside the plane
_ENTRY_TALL = 24.0  # a row of a matrix


def gates(x: Numbers, kind: str) -> Numbers:
    """The four gates of `lights` at x: of a plain ReLU FFN, where each unit's own sum is above 0; else what the gates' keys say, bent."""
    if kind == "plain ReLU":
        return np.where(x @ UPS > 0, 1.0, 0.0)
    sums: Numbers = x @ OWN
    return 1 / (1 + np.exp(-sums)) if kind == "GLU" else np.maximum(sums, 0)


class _Lights(NamedTuple):
    """The matrix that four gates pick at x, and what it makes of x."""

    kind: str
    x: Numbers  # [2]
    on: Numbers  # [4]: the gates
    matrix: Numbers  # [2, 2]
    y: Numbers  # [2]

    @property
    def is_plain(self) -> bool:
        return self.kind == "plain ReLU"

    @property
    def before(self) -> str:
        return _pair(self.x)

    @property
    def after(self) -> str:
        return _pair(self.y)


def _pair(point: Numbers) -> str:
    return f"({svg.label(point[0])}, {svg.label(point[1])})"


def _lights(x1: float, x2: float, kind: str) -> _Lights:
    x = np.array([x1, x2])
    on = gates(x, kind)
    matrix = UPS @ np.diag(on) @ DOWNS
    return _Lights(kind, x, on, matrix, x @ matrix)


def lights(x1: float = 1.0, x2: float = 1.0, kind: str = "plain ReLU") -> Picture:
    """An FFN of four units over the plane: the gates at x as lights on a diagonal, the one matrix that they pick, and the arrow it makes of x."""
    if kind not in LIGHTS:
        raise ValueError(f"kind must be {', '.join(LIGHTS)}, not {kind!r}")
    if not max(abs(x1), abs(x2)) <= REACH:
        raise ValueError(f"both entries of x must be from −{REACH:g} to {REACH:g}, not {x1} and {x2}")
    numbers = _lights(x1, x2, kind)
    title, words = _lights_words(numbers)
    shapes = [*_plane_of_x(numbers), *_gates_as_lights(numbers), *_matrix_and_result(numbers)]
    return Picture(title, words, svg.card(378, title, words, *shapes))


def _lights_words(numbers: _Lights) -> tuple[str, str]:
    """Title and sentence."""
    kind, before, after = numbers.kind, numbers.before, numbers.after
    count = int((numbers.on > 0).sum())
    title = f"{f'{count} of 4 lights on' if numbers.is_plain else kind}: {before} becomes {after}"
    rows = "; ".join(" ".join(svg.label(entry) for entry in row) for row in numbers.matrix)
    where = "everywhere in the green cone" if numbers.is_plain and count else "at this x"
    gate_texts = ", ".join(svg.label(g) for g in numbers.on)
    words = (
        f"{kind[0].upper()}{kind[1:]}: at x = {before} the gates are {gate_texts}. "
        f"They pick the matrix [{rows}] {where}, and it makes {after} of x."
    )
    return title, words


def _plane_of_x(numbers: _Lights) -> list[str]:
    """The plane with the lines at which gates change, and x and y as arrows."""
    frame = plot.Frame(
        (-4, 4), (-4, 4), "first entry", "second entry", (-4, -2, 0, 2, 4), (-4, -2, 0, 2, 4), left=52, right=300, top=84, bottom=332, grid="both"
    )  # fmt: skip
    shapes = []
    if numbers.is_plain and numbers.x.any():
        shapes.append(frame.polygon(_cone(numbers.x), style.pale(style.CHOSEN)))
    shapes.append(frame.axes())
    keys = UPS if numbers.is_plain else OWN
    look = plot.Look(style.REFERENCE, (4, 4) if numbers.kind == "GLU" else (), 1.2)
    for key in keys.T:  # where a gate is about to open, at right angles to its key
        way = 9 * np.array([-key[1], key[0]]) / np.hypot(*key)
        shapes.append(frame.curve([-way[0], way[0]], [-way[1], way[1]], look))
    for end, ink, name in ((numbers.y, style.CHOSEN, "y"), (numbers.x, style.INK, "x")):
        shapes.append(_arrow(frame, end, ink))
        if abs(end).max() > 0.4:
            across, down = frame.at(*(end * (1 + 0.45 / np.hypot(*end))))
            shapes.append(svg.text(across, down + 5, name, size=15, bold=True, fill=ink, anchor="middle", halo=True))
    ends = frame.across(-REACH), frame.across(REACH)
    heights = frame.upright(-REACH), frame.upright(REACH)
    return [
        *shapes,
        svg.handle(
            *frame.at(*numbers.x.tolist()),
            drags={"x1": svg.across(ends, (-REACH, REACH)), "x2": svg.upright(heights, (-REACH, REACH))},
            name="x",
            says=f"{numbers.before}, which becomes {numbers.after}",
        ),
    ]


def _gates_as_lights(numbers: _Lights) -> list[str]:
    """The matrices up and down, and between them the gates on a diagonal."""
    top, wide, tall = _MATRICES_TOP, 30.0, _ENTRY_TALL
    middle = _MATRICES_LEFT + 4 * wide + 12
    right = middle + 4 * tall + 12
    shapes = [
        svg.text(left, top - 10, words, size=12.5, fill=style.MUTED)
        for left, words in ((_MATRICES_LEFT, "up"), (middle, "the gates at x"), (right, "down"))
    ]
    shapes += [
        _cells(_MATRICES_LEFT, top, UPS, wide, tall),
        _cells(right, top, DOWNS, wide, tall),
        svg.rect(middle, top, 4 * tall, 4 * tall, fill=style.TINT, radius=4),
    ]
    brightest = 2.0 if numbers.kind == "ReGLU" else 1.0
    for n, g in enumerate(numbers.on.tolist()):
        x, y = middle + tall * (n + 0.5), top + tall * (n + 0.5)
        shine = min(g / brightest, 1.0)
        fill = style.pale(style.CHOSEN, shine) if g else style.PAPER
        edge = style.CHOSEN if g else style.RULE
        ink = style.PAPER if shine > 0.7 else style.INK
        shapes += [
            svg.circle(x, y, 11.5, fill=fill, stroke=edge, stroke_width=1.4, tip=f"gate {n + 1}: {svg.label(g)}"),
            svg.text(x, y + 3.8, svg.label(g, 2 if g < 1 else 1), size=10.5, anchor="middle", fill=ink),
        ]
    return shapes


def _matrix_and_result(numbers: _Lights) -> list[str]:
    """The matrix that the gates pick, x and y, and what the lines in the plane are."""
    left, top = _MATRICES_LEFT, _MATRICES_TOP + 4 * _ENTRY_TALL + 44
    lines = {
        "plain ReLU": "a line: one of the units is about to switch",
        "GLU": "dashed: one of the gates is ½ there",
        "ReGLU": "a line: one of the gates is about to open",
    }
    return [
        svg.text(left, top - 10, "their product, the matrix for this x", size=12.5, fill=style.MUTED),
        _cells(left, top, numbers.matrix, 58, 32, 14),
        svg.text(left + 132, top + 24, f"x = {numbers.before}", size=14, bold=True),
        svg.text(left + 132, top + 50, f"y = {numbers.after}", size=14, bold=True, fill=style.CHOSEN),
        svg.text(left, top + 92, lines[numbers.kind], size=12, fill=style.MUTED),
    ]


def _cone(x: Numbers) -> list[list[float]]:
    """The corners of the piece of the plane in which the plain FFN's gates are as at x, as far as the eye reaches."""
    ways = np.concatenate([[-UPS[1], UPS[0]], [UPS[1], -UPS[0]]], axis=1)  # [2, 8]
    angles = np.sort(np.arctan2(ways[1], ways[0]))
    after = int(np.searchsorted(angles, np.arctan2(x[1], x[0]) - 1e-9))
    edges = angles[after - 1], angles[after % len(angles)]
    return [[0.0, 0.0], *([20 * math.cos(edge), 20 * math.sin(edge)] for edge in edges)]


def _arrow(frame: plot.Frame, end: Numbers, ink: str) -> str:
    """An arrow from the origin to `end`."""
    tip, start = np.array(frame.at(*end)), np.array(frame.at(0, 0))
    long = float(np.hypot(*(tip - start)))
    if long < 1:
        return svg.circle(tip[0], tip[1], 3, fill=ink)
    way = (tip - start) / long
    side = 5 * np.array([-way[1], way[0]])
    back = tip - min(11.0, long) * way
    head = [tuple(corner.tolist()) for corner in (tip, back + side, back - side)]
    return svg.line(*start, *back, stroke=ink, width=2.6) + svg.path(head, fill=ink, closed=True)


def _cells(left: float, top: float, matrix: Numbers, wide: float, tall: float, size: float = 11) -> str:
    """A matrix as coloured cells with their numbers."""
    shapes = []
    for (row, column), value in np.ndenumerate(matrix):
        x, y, entry = left + wide * column, top + tall * row, float(value)
        fill = style.diverging(entry, 3.0)
        shapes += [
            svg.rect(x, y, wide - 2, tall - 2, fill=fill, stroke=style.RULE, radius=3),
            svg.text(x + wide / 2 - 1, y + tall / 2 - 1 + 0.35 * size, svg.label(entry), size=size, anchor="middle"),
        ]
    return "".join(shapes)


_UNIT = 52.0  # the length of d_model numbers
_BAR, _BARS_TOP = 26.0, (78, 176)  # a matrix's height; the top of the plain ones, and of the gated ones


class _Match(NamedTuple):
    """A plain FFN of width 4 · d_model and a gated one of width d_ff."""

    d_model: int
    d_ff: int
    rounding: str  # how d_ff has been made of the ratio, in words; empty where nothing had to be done

    @property
    def plain(self) -> int:
        """Its weights."""
        return 2 * self.d_model * 4 * self.d_model

    @property
    def gated(self) -> int:
        """Its weights."""
        return 3 * self.d_model * self.d_ff


def _match(d_model: int, ratio: float, multiple: int) -> _Match:
    target = ratio * d_model + 1e-9
    d_ff = math.ceil(int(target) / multiple) * multiple
    rounding = f"a multiple of {multiple} as it is" if multiple > 1 else ""
    if d_ff > target:
        rounding = f"rounded up to a multiple of {multiple}"
    elif target - d_ff > 1e-6:
        rounding = "cut to a whole number"
    return _Match(d_model, d_ff, rounding)


def matched(d_model: int = 4096, ratio: float = 4.0, multiple: int = 1) -> Picture:
    """A plain FFN of width 4 · d_model as two rectangles, a gated one of another width as three, and the sum of each as a bar."""
    if d_model < 1 or multiple < 1 or not 1 <= ratio <= 8:
        raise ValueError("d_model and the multiple must be positive, and the ratio from 1 to 8")
    match = _match(d_model, ratio, multiple)
    title, words = _matched_words(match)
    rounding = f" ({match.rounding})" if match.rounding else ""
    shapes = [
        *_matrices(match, _BARS_TOP[0], f"plain, d_ff = {4 * d_model:,}", ("W1", "W2"), 4 * d_model, UP),
        *_matrices(match, _BARS_TOP[1], f"gated, d_ff = {match.d_ff:,}{rounding}", ("gate", "up", "down"), match.d_ff, GATE),
        _knob_of_width(match),
        *_all_weights(match),
    ]  # fmt: skip
    return Picture(title, words, svg.card(372, title, words, *shapes))


def _matched_words(match: _Match) -> tuple[str, str]:
    """Title and sentence."""
    d_model, d_ff, plain, gated = match.d_model, match.d_ff, match.plain, match.gated
    title = f"Gated, d_ff = {d_ff:,}: {100 * gated / plain:.1f} % of the plain FFN"
    comparison = f"{abs(gated - plain):,} {'more' if gated > plain else 'fewer'}"
    if abs(gated / plain - 1) < 0.002:
        comparison = "as good as equal"
    rounding = f", {match.rounding}" if match.rounding else ""
    words = (
        f"Plain, at 4 · {d_model:,}: two matrices, {plain:,} weights. Gated, at {d_ff:,} = {d_ff / d_model:.3f} · d_model{rounding}: "
        f"three matrices, {gated:,} weights, {comparison}."
    )
    return title, words


def _matrices(match: _Match, top: float, head: str, names: Sequence[str], width: int, colour: str) -> list[str]:
    """The matrices of one FFN, [d_model, width] or the other way round, one below the other."""
    left, count = svg.MARGIN, match.d_model * width
    shapes = [svg.text(left, top - 10, head, size=14, bold=True, fill=colour)]
    for n, name in enumerate(names):
        y, long = top + n * (_BAR + 5), _UNIT * width / match.d_model
        tip = f"{name}: {match.d_model:,} · {width:,} = {count:,}"
        shapes += [
            svg.rect(left, y, long, _BAR, fill=colour, tip=tip),
            svg.text(left + 8, y + 18, name, size=12.5, fill=style.PAPER, bold=True),
            svg.text(left + long + 14, y + 18, f"{count:,}", size=12.5, fill=style.MUTED),
        ]
    return shapes


def _knob_of_width(match: _Match) -> str:
    """A knob at the end of the gated FFN's second matrix."""
    left, right = svg.MARGIN, svg.WIDTH - svg.MARGIN
    return svg.handle(
        min(left + _UNIT * match.d_ff / match.d_model, right),
        _BARS_TOP[1] + _BAR + 5 + _BAR / 2,
        drags={"ratio": svg.across((left + _UNIT, left + 8 * _UNIT), (1.0, 8.0))},
        name="the gated width",
        says=f"{match.d_ff:,}, {match.d_ff / match.d_model:.3f} times d_model",
    )


def _all_weights(match: _Match) -> list[str]:
    """The sum of each FFN as a bar, with a line at the plain one's."""
    left, top = svg.MARGIN, 304.0
    scale = (svg.WIDTH - 2 * svg.MARGIN) / (3.02 * match.plain)
    shapes = [svg.text(left, top - 10, "all weights", size=14, bold=True)]
    for n, (name, count, colour) in enumerate((("plain", match.plain, UP), ("gated", match.gated, GATE))):
        y, share = top + n * 25, f"{name} {count / match.d_model**2:.2f} d²"
        shapes += [
            svg.rect(left, y, count * scale, 20, fill=colour, tip=f"{name}: {count:,}"),
            svg.text(left + 8, y + 14.5, share, size=12.5, fill=style.PAPER, bold=True),
        ]
    goal = left + match.plain * scale
    return [*shapes, svg.line(goal, top - 6, goal, top + 51, stroke=style.INK, width=1.4, dash="3 3")]


def apart(first: str, second: str, runs: int = RUNS) -> tuple[float, float]:
    """How far two rows are apart after the short runs, and one standard deviation of such a difference.

    Of two means of `runs` runs each, that is: with RUNS it is the standard error of the table's difference, with 1 the deviation of a
    difference of two single runs, twice as large.
    """
    rows = TABLE[first], TABLE[second]
    gap = abs(rows[0].short - rows[1].short)
    return gap, math.sqrt((rows[0].deviation ** 2 + rows[1].deviation ** 2) / runs)


class _Comparison(NamedTuple):
    """Two rows of Shazeer's table, among all of them."""

    first: str
    second: str
    steps: int
    runs: int  # of how many runs each number is taken to be the mean
    values: dict[str, float]  # of every row, the log-perplexity after so many steps

    @property
    def is_short(self) -> bool:
        """After the shorter runs, whose deviations are published."""
        return self.steps == STEPS[0]

    @property
    def distance(self) -> float:
        return round(abs(self.values[self.first] - self.values[self.second]), 3)


def _comparison(reading: str, first: str, second: str) -> _Comparison:
    steps, runs = READINGS[reading]
    values = {name: row.short if steps == STEPS[0] else row.long for name, row in TABLE.items()}
    return _Comparison(first, second, steps, runs, values)


def table(reading: str = next(iter(READINGS)), first: str = "ReLU", second: str = "GELU") -> Picture:
    """Shazeer's table as points on a line, lower is better, two of its rows compared. `reading`: which numbers, and as what, of READINGS.

    The bars are two standard errors, or two standard deviations, each way; for the longer runs none was published.
    """
    if reading not in READINGS:
        raise ValueError(f"reading must be one of {', '.join(map(repr, READINGS))}, not {reading!r}")
    for name in (first, second):
        if name not in TABLE:
            raise ValueError(f"{name!r} is not in the table: {', '.join(TABLE)}")
    comparison = _comparison(reading, first, second)
    title, words = _table_words(comparison)
    if comparison.is_short:
        span, ticks = (1.92, 2.02), [1.92 + 0.02 * i for i in range(6)]
    else:
        span, ticks = (1.62, 1.69), [1.62 + 0.01 * i for i in range(8)]
    frame = _rows(len(TABLE), span, tuple((tick, f"{tick:.2f}") for tick in ticks))
    shapes = [
        svg.text(frame.left, 62, "better  ←  log-perplexity (nats)  →  worse", size=12.5, fill=style.MUTED),
        frame.axes(),
    ]
    for name in (first, second):
        value = comparison.values[name]
        shapes.append(frame.curve((value, value), frame.y, plot.Look(_colour(name), (4, 4), 1.2)))
    shapes += [_row_of_table(comparison, frame, n, name) for n, name in enumerate(TABLE)]
    shapes.append(svg.text(svg.MARGIN, frame.bottom + 40, _key_to_table(comparison), size=12, fill=style.MUTED))
    return Picture(title, words, svg.card(frame.bottom + 56, title, words, *shapes))


def _table_words(comparison: _Comparison) -> tuple[str, str]:
    """Title and sentence."""
    first, second, steps, runs, values = comparison
    intro = f"At {steps:,} steps {first} has {values[first]:.3f} and {second} {values[second]:.3f}"
    if first == second:
        title = f"{first}: {values[first]:.3f} after {steps:,} steps"
        return title, f"{intro}: this is one and the same row. Choose another one to compare it with."
    title = f"{first}, {second}: {comparison.distance:.3f} apart"
    if not comparison.is_short:
        times = comparison.distance / (WIDEST * math.sqrt(2))
        words = (
            f"{intro}. Each was run once. If these runs scattered like the widest short ones, "
            f"the difference would be {times:.1f} standard deviations."
        )
        return f"{title}, no deviation published", words
    gap, deviation = apart(first, second, runs)
    if runs > 1:
        errors = "standard errors"
        measure = f"The standard error of a difference of two means of {runs} runs"
    else:
        errors = "standard deviations"
        measure = "The standard deviation of a difference of two single runs"
    inside = "more than two of these, beyond what chance usually does,"
    if gap < 2 * deviation:
        inside = "less than two of these"
    words = f"{intro}. {measure} is {deviation:.4f}, so they are {inside} apart."
    return f"{title}, {gap / deviation:.2f} {errors}", words


def _row_of_table(comparison: _Comparison, frame: plot.Frame, n: int, name: str) -> str:
    """An FFN's number with its spread; pressed, it is compared with what was pressed before, and `first` gives way to `second`."""
    first, second, _, runs, values = comparison
    row, value, colour = TABLE[name], values[name], _colour(name)
    left, y = svg.MARGIN, frame.upright(n) - 12
    shapes = [
        svg.rect(left, y, frame.left - 8 - left, 24, fill=style.PAPER, radius=4),
        svg.rect(left, y, frame.right - left, 24, fill="transparent"),  # all of the row is pressed
        _name_of_row(frame, n, name, name in (first, second)),
    ]
    spread, fill = "one run", style.PAPER
    if comparison.is_short:
        spread, fill = f"standard deviation {row.deviation:.3f}, {RUNS} runs", colour
        reach = 2 * row.deviation / math.sqrt(runs)
        shapes.append(frame.whiskers([(value - reach, value + reach)], [n], plot.Look(colour, width=2), 5))
    tip = f"{name}: {value:.3f}, {spread}"
    shapes.append(frame.dots([value], [n], fill, 5, colour, [tip], square=name in PLAIN))
    press = {"first": second, "second": first} if name == first else {"first": name, "second": first}
    return svg.button(*shapes, sets=press, name=f"compare {press['first']} with {press['second']}")


def _key_to_table(comparison: _Comparison) -> str:
    measure = "standard errors of the mean" if comparison.runs > 1 else "standard deviations"
    note = f"bars: two {measure} each way" if comparison.is_short else "hollow: one run, no spread published"
    return f"squares: plain, d_ff 3072 · circles: gated, d_ff 2048 · {note}"


def _rows(count: int, x: plot.Point, ticks: plot.Ticks) -> plot.Frame:
    """A window with one row for each FFN, the first on top."""
    return plot.Frame(
        x,
        (count - 0.5, -0.5),
        xticks=ticks,
        yticks=(),
        left=112,
        right=600,
        top=77.5,
        bottom=77.5 + 29 * count,
        grid="x",
    )


def _name_of_row(frame: plot.Frame, n: int, name: str, is_chosen: bool) -> str:
    ink = style.INK if is_chosen else style.MUTED
    return svg.text(frame.left - 14, frame.upright(n) + 4.5, name, size=13, anchor="end", bold=is_chosen, fill=ink)


def _colour(name: str) -> str:
    return UP if name in PLAIN else GATE


def contest(results: Contest, step: int | None = None, light: str = "SwiGLU") -> Picture:
    """Shares of facts known, one mark per seed and FFN, after `step` steps; one FFN stands out."""
    step = results.steps[-1] if step is None else step
    if step not in results.steps:
        raise ValueError(
            f"step must be one of {results.steps[0]}, {results.steps[1]} … {results.steps[-1]}, not {step}"
        )
    if light not in results.known:
        raise ValueError(f"{light!r} did not take part: {', '.join(results.known)}")
    place = results.steps.index(step)
    shares = {name: rows[place] for name, rows in results.known.items()}
    title, words = _contest_words(shares, results.gated, step, light)
    frame = _rows(len(shares), (0, 1), tuple((tick / 100, f"{tick} %") for tick in range(0, 101, 20)))
    here = frame.upright([*shares].index(light))
    note = "squares: plain · circles: gated · upright line: mean"
    shapes = [
        svg.text(frame.left, 62, "share of the facts known, one mark per seed", size=12.5, fill=style.MUTED),
        svg.rect(svg.MARGIN, here - 13, svg.WIDTH - 2 * svg.MARGIN, 26, fill=style.TINT, radius=4),
        frame.axes(),
    ]
    for n, (name, values) in enumerate(shares.items()):
        is_gated, mean = name in results.gated, sum(values) / len(values)
        tips = [f"{name}: {100 * value:.1f} %" for value in values]
        shapes += [
            _name_of_row(frame, n, name, name == light),
            frame.dots(values, [n] * len(values), "none", 4.5, GATE if is_gated else UP, tips, square=not is_gated),
            frame.curve((mean, mean), (n - 0.34, n + 0.34), plot.Look(style.INK, width=2)),
        ]
    shapes.append(svg.text(frame.left, frame.bottom + 40, note, size=12, fill=style.MUTED))
    return Picture(title, words, svg.card(frame.bottom + 56, title, words, *shapes))


def _contest_words(shares: dict[str, list[float]], gated: Sequence[str], step: int, light: str) -> tuple[str, str]:
    """Title and sentence."""
    worst = min(min(shares[name]) for name in gated)
    best = max(max(values) for name, values in shares.items() if name not in gated)
    mine = shares[light]
    mean = sum(mine) / len(mine)
    title = f"Step {step}: {light} knows {100 * mean:.0f} % ({100 * min(mine):.0f} to {100 * max(mine):.0f})"
    relation = "above" if worst > best else "not above"
    words = (
        f"After {step} steps the worst run with a gate knows {100 * worst:.0f} % of the facts and the best one without {100 * best:.0f} %: "
        f"the gated are {relation} all the plain. {light}: mean {100 * mean:.0f} % of {len(mine)} seeds."
    )
    return title, words
