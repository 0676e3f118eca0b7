"""The figures of notebook 07: gates as lights, and a published table."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

GATE, UP = style.SERIES[:2]
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


UPS = np.array([[1, -0.5, -1, -0.5], [0.5, 1, 0.5, -1]])  # [2, 4]: a column is what a neuron reads
OWN = np.array([[0.25, 0.5, -0.5, 0.25], [0.25, 0.25, 0, -0.5]])  # [2, 4]: the gates' own keys
DOWNS = np.array([[1, 0], [0, 1], [-0.5, -0.5], [0.5, -0.5]])  # [4, 2]: a row is where a neuron writes
REACH = 2.0  # of each entry of x in `lights`
PLACES = tuple(quarter / 4 for quarter in range(-8, 9))
START = (1.0, 1.0)  # x, before it is dragged
LIGHTS = ("plain ReLU", "GLU", "ReGLU")
_MATRICES_LEFT, _MATRICES_TOP = 326.0, 104.0  # of up, beside the plane
_ENTRY_TALL = 24.0  # a row of a matrix


def gates(x: Numbers, kind: str) -> Numbers:
    """The four gates of `lights` at x: of a plain ReLU FFN, where each neuron's own sum is above 0; else what the gates' keys say, bent."""
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
    """An FFN of four neurons over the plane: the gates at x as lights on a diagonal, the one matrix that they pick, and the arrow it makes of x."""
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
    has_moved = numbers.x.tolist() != list(START)  # before that, a guess asks where else the matrix is picked
    where = "everywhere in the green cone" if numbers.is_plain and count and has_moved else "at this x"
    gate_texts = ", ".join(svg.label(g) for g in numbers.on)
    words = (
        f"{kind[0].upper()}{kind[1:]}: at x = {before} the gates are {gate_texts}. "
        f"They pick the matrix [{rows}] {where}, and it turns x into {after}."
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
        "plain ReLU": "each line: on it, one neuron switches",
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
        measure = (
            f"If each is the mean of {runs} runs, which the paper does not say, the standard error of their difference"
        )
    else:
        errors = "standard deviations"
        measure = "If each is a single run, the standard deviation of their difference"
    inside = "more than two of these"
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
