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
    act = GATES[activation]

    def parts(at: float) -> tuple[float, float, float]:
        pre, up = gate_slope * at + gate_height, up_slope * at + up_height
        return act(pre), up, act(pre) * up

    gate_value, up, product = parts(t)
    name = "gate" if activation == "none" else f"{activation}(gate)"
    title = f"t = {svg.label(t)}: {name} {svg.label(gate_value)} times up {svg.label(up)} is {svg.label(product)}"
    reason = "the gate is closed" if abs(gate_value) < 0.005 else "up is 0 there"
    note = reason if abs(product) < 0.005 else f"up is multiplied by {svg.label(gate_value)}"
    sentence = (
        f"Gate {_line(gate_slope, gate_height)}, {f'bent by {activation}' if activation != 'none' else 'not bent'}; "
        f"up {_line(up_slope, up_height)}. At t = {svg.label(t)} the product is {svg.label(product)}: {note}."
    )
    window = (-SPAN, SPAN), (-4.0, 8.0)
    frame = plot.Frame(*window, "t, along the walk", "", tuple(range(-3, 4)), tuple(range(-4, 9, 2)), top=86)
    places = np.linspace(-SPAN, SPAN, 241).tolist()
    curves = zip(*map(parts, places), strict=True)
    looks = {
        name: plot.Look(GATE, (7, 4), 2.2),
        "up": plot.Look(UP, (2, 4)),
        "their product": plot.Look(PRODUCT, width=3),
    }
    shapes = [frame.axes(), frame.curve((t, t), frame.y, plot.Look(style.NEUTRAL, (3, 4), 1))]
    if activation != "none":
        ends = [gate_slope * place + gate_height for place in frame.x]
        shapes.append(frame.curve(frame.x, ends, plot.Look(style.NEUTRAL, (1, 4), 1.6)))
    shapes += [frame.curve(places, values, look) for values, look in zip(curves, looks.values(), strict=True)]
    for value, colour, r in (
        (product, PRODUCT, 8.5),
        (up, UP, 6.0),
        (gate_value, GATE, 3.5),
    ):  # one is seen inside of another
        shapes.append(frame.dots([t], [value], colour, r))
    shapes.append(frame.legend(looks, "above"))
    way = svg.across((frame.left, frame.right), frame.x)
    shapes.append(svg.handle(frame.across(t), frame.bottom, drags={"t": way}, name="t", says=svg.label(t)))
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


UPS = np.array([[1, -0.5, -1, -0.5], [0.5, 1, 0.5, -1]])  # [2, 4]: a column is what a unit reads
OWN = np.array([[0.25, 0.5, -0.5, 0.25], [0.25, 0.25, 0, -0.5]])  # [2, 4]: the gates' own keys
DOWNS = np.array([[1, 0], [0, 1], [-0.5, -0.5], [0.5, -0.5]])  # [4, 2]: a row is where a unit writes
REACH = 2.0  # of each entry of x in `lights`
PLACES = tuple(quarter / 4 for quarter in range(-8, 9))
LIGHTS = ("plain ReLU", "GLU", "ReGLU")


def gates(x: Numbers, kind: str) -> Numbers:
    """The four gates of `lights` at x: of a plain ReLU FFN, where each unit's own sum is above 0; else what the gates' keys say, bent."""
    if kind == "plain ReLU":
        return np.where(x @ UPS > 0, 1.0, 0.0)
    sums: Numbers = x @ OWN
    return 1 / (1 + np.exp(-sums)) if kind == "GLU" else np.maximum(sums, 0)


def lights(x1: float = 1.0, x2: float = 1.0, kind: str = "plain ReLU") -> Picture:
    """An FFN of four units over the plane: the gates at x as lights on a diagonal, the one matrix that they pick, and the arrow it makes of x."""
    if kind not in LIGHTS:
        raise ValueError(f"kind must be {', '.join(LIGHTS)}, not {kind!r}")
    if not max(abs(x1), abs(x2)) <= REACH:
        raise ValueError(f"both entries of x must be from −{REACH:g} to {REACH:g}, not {x1} and {x2}")
    x, plain = np.array([x1, x2]), kind == "plain ReLU"
    on = gates(x, kind)
    matrix = UPS @ np.diag(on) @ DOWNS  # [2, 2]
    y = x @ matrix
    before, after = (f"({svg.label(one)}, {svg.label(other)})" for one, other in (x, y))
    gate_texts = ", ".join(svg.label(g) for g in on)
    count = int((on > 0).sum())
    title = f"{f'{count} of 4 lights on' if plain else kind}: {before} becomes {after}"
    rows = "; ".join(" ".join(svg.label(entry) for entry in row) for row in matrix)
    where = "everywhere in the green cone" if plain and count else "at this x"
    sentence = f"{kind[0].upper()}{kind[1:]}: at x = {before} the gates are {gate_texts}. They pick the matrix [{rows}] {where}, and it makes {after} of x."
    frame = plot.Frame(
        (-4, 4), (-4, 4), "first entry", "second entry", (-4, -2, 0, 2, 4), (-4, -2, 0, 2, 4), left=52, right=300, top=84, bottom=332, grid="both"
    )  # fmt: skip
    keys = UPS if plain else OWN
    shapes = [frame.polygon(_cone(x), style.pale(style.CHOSEN))] if plain and x.any() else []
    shapes.append(frame.axes())
    for key in keys.T:  # where a gate is about to open, at right angles to its key
        way = 9 * np.array([-key[1], key[0]]) / np.hypot(*key)
        look = plot.Look(style.REFERENCE, (4, 4) if kind == "GLU" else (), 1.2)
        shapes.append(frame.curve([-way[0], way[0]], [-way[1], way[1]], look))
    for end, ink, name in ((y, style.CHOSEN, "y"), (x, style.INK, "x")):
        shapes.append(_arrow(frame, end, ink))
        if abs(end).max() > 0.4:
            across, down = frame.at(*(end * (1 + 0.45 / np.hypot(*end))))
            shapes.append(svg.text(across, down + 5, name, size=15, bold=True, fill=ink, anchor="middle", halo=True))
    ends = frame.across(-REACH), frame.across(REACH)
    heights = frame.upright(-REACH), frame.upright(REACH)
    shapes.append(
        svg.handle(
            *frame.at(x1, x2),
            drags={"x1": svg.across(ends, (-REACH, REACH)), "x2": svg.upright(heights, (-REACH, REACH))},
            name="x",
            says=f"{before}, which becomes {after}",
        )
    )
    left, top, wide, tall = 326.0, 104.0, 30.0, 24.0
    middle, right = left + 4 * wide + 12, left + 4 * wide + 12 + 4 * tall + 12
    for place, words in ((left, "up"), (middle, "the gates at x"), (right, "down")):
        shapes.append(svg.text(place, top - 10, words, size=12.5, fill=style.MUTED))
    shapes += [_cells(left, top, UPS, wide, tall), _cells(right, top, DOWNS, wide, tall)]
    shapes.append(svg.rect(middle, top, 4 * tall, 4 * tall, fill=style.TINT, radius=4))
    brightest = 2.0 if kind == "ReGLU" else 1.0
    for n, g in enumerate(on.tolist()):
        at = middle + tall * (n + 0.5), top + tall * (n + 0.5)
        shine = min(g / brightest, 1.0)
        fill = style.pale(style.CHOSEN, shine) if g else style.PAPER
        ink = style.PAPER if shine > 0.7 else style.INK
        shapes += [
            svg.circle(*at, 11.5, fill=fill, stroke=style.CHOSEN if g else style.RULE, stroke_width=1.4, tip=f"gate {n + 1}: {svg.label(g)}"),
            svg.text(at[0], at[1] + 3.8, svg.label(g, 2 if g < 1 else 1), size=10.5, anchor="middle", fill=ink),
        ]  # fmt: skip
    below = top + 4 * tall + 44
    shapes += [
        svg.text(left, below - 10, "their product, the matrix for this x", size=12.5, fill=style.MUTED),
        _cells(left, below, matrix, 58, 32, 14),
        svg.text(left + 132, below + 24, f"x = {before}", size=14, bold=True),
        svg.text(left + 132, below + 50, f"y = {after}", size=14, bold=True, fill=style.CHOSEN),
    ]
    lines = {
        "plain ReLU": "a line: one of the units is about to switch",
        "GLU": "dashed: one of the gates is ½ there",
        "ReGLU": "a line: one of the gates is about to open",
    }
    shapes.append(svg.text(left, below + 92, lines[kind], size=12, fill=style.MUTED))
    return Picture(title, sentence, svg.card(378, title, sentence, *shapes))


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


def matched(d_model: int = 4096, ratio: float = 4.0, multiple: int = 1) -> Picture:
    """A plain FFN of width 4 · d_model as two rectangles, a gated one of another width as three, and the sum of each as a bar."""
    if d_model < 1 or multiple < 1 or not 1 <= ratio <= 8:
        raise ValueError("d_model and the multiple must be positive, and the ratio from 1 to 8")
    target = ratio * d_model + 1e-9
    f = math.ceil(int(target) / multiple) * multiple
    plain, gated = 2 * d_model * 4 * d_model, 3 * d_model * f
    share = 100 * gated / plain
    title = f"Gated, d_ff = {f:,}: {share:.1f} % of the plain FFN"
    rounding = f"a multiple of {multiple} as it is" if multiple > 1 else ""
    if f > target:
        rounding = f"rounded up to a multiple of {multiple}"
    elif target - f > 1e-6:
        rounding = "cut to a whole number"
    comparison = (
        "as good as equal"
        if abs(gated / plain - 1) < 0.002
        else f"{abs(gated - plain):,} {'more' if gated > plain else 'fewer'}"
    )
    sentence = (
        f"Plain, at 4 · {d_model:,}: two matrices, {plain:,} weights. Gated, at {f:,} = {f / d_model:.3f} · d_model{rounding and f', {rounding}'}: "
        f"three matrices, {gated:,} weights, {comparison}."
    )
    left, unit, tall, full = svg.MARGIN, 52.0, 26.0, svg.WIDTH - 2 * svg.MARGIN
    shapes: list[str] = []

    def block(top: float, words: str, names: Sequence[str], wide: int, colour: str) -> None:
        shapes.append(svg.text(left, top - 10, words, size=14, bold=True, fill=colour))
        for n, name in enumerate(names):
            y, long = top + n * (tall + 5), unit * wide / d_model
            shapes.extend(
                [
                    svg.rect(
                        left, y, long, tall, fill=colour, tip=f"{name}: {d_model:,} · {wide:,} = {d_model * wide:,}"
                    ),
                    svg.text(left + 8, y + 18, name, size=12.5, fill=style.PAPER, bold=True),
                    svg.text(left + long + 14, y + 18, f"{d_model * wide:,}", size=12.5, fill=style.MUTED),
                ]
            )

    block(78, f"plain, d_ff = {4 * d_model:,}", ("W1", "W2"), 4 * d_model, UP)
    knob = left + unit * f / d_model
    block(176, f"gated, d_ff = {f:,}{rounding and f' ({rounding})'}", ("gate", "up", "down"), f, GATE)
    shapes.append(
        svg.handle(
            min(knob, left + full),
            176 + tall + 5 + tall / 2,
            drags={"ratio": svg.across((left + unit, left + 8 * unit), (1.0, 8.0))},
            name="the gated width",
            says=f"{f:,}, {f / d_model:.3f} times d_model",
        )
    )
    top, scale = 304.0, full / (3.02 * plain)
    shapes.append(svg.text(left, top - 10, "all weights", size=14, bold=True))
    for n, (name, count, colour) in enumerate((("plain", plain, UP), ("gated", gated, GATE))):
        y = top + n * 25
        shapes += [
            svg.rect(left, y, count * scale, 20, fill=colour, tip=f"{name}: {count:,}"),
            svg.text(left + 8, y + 14.5, f"{name} {count / d_model**2:.2f} d²", size=12.5, fill=style.PAPER, bold=True),
        ]
    goal = left + plain * scale
    shapes.append(svg.line(goal, top - 6, goal, top + 51, stroke=style.INK, width=1.4, dash="3 3"))
    return Picture(title, sentence, svg.card(372, title, sentence, *shapes))


def apart(first: str, second: str, runs: int = RUNS) -> tuple[float, float]:
    """How far two rows are apart after the short runs, and one standard deviation of such a difference.

    Of two means of `runs` runs each, that is: with RUNS it is the standard error of the table's difference, with 1 the deviation of a
    difference of two single runs, twice as large.
    """
    one, other = TABLE[first], TABLE[second]
    return abs(one.short - other.short), math.sqrt((one.deviation**2 + other.deviation**2) / runs)


def table(reading: str = next(iter(READINGS)), first: str = "ReLU", second: str = "GELU") -> Picture:
    """Shazeer's table as points on a line, lower is better, two of its rows compared. `reading`: which numbers, and as what, of READINGS.

    The bars are two standard errors, or two standard deviations, each way; for the longer runs none was published.
    """
    if reading not in READINGS:
        raise ValueError(f"reading must be one of {', '.join(map(repr, READINGS))}, not {reading!r}")
    steps, runs = READINGS[reading]
    for name in (first, second):
        if name not in TABLE:
            raise ValueError(f"{name!r} is not in the table: {', '.join(TABLE)}")
    short = steps == STEPS[0]
    values = {name: row.short if short else row.long for name, row in TABLE.items()}
    distance = round(abs(values[first] - values[second]), 3)
    intro = f"At {steps:,} steps {first} has {values[first]:.3f} and {second} {values[second]:.3f}"
    if first == second:
        title = f"{first}: {values[first]:.3f} after {steps:,} steps"
        sentence = f"{intro}: this is one and the same row. Choose another one to compare it with."
    elif short:
        gap, deviation = apart(first, second, runs)
        errors = "standard errors" if runs > 1 else "standard deviations"
        of = (
            f"The standard error of a difference of two means of {runs} runs"
            if runs > 1
            else "The standard deviation of a difference of two single runs"
        )
        title = f"{first}, {second}: {distance:.3f} apart, {gap / deviation:.2f} {errors}"
        inside = (
            "less than two of these"
            if gap < 2 * deviation
            else "more than two of these, beyond what chance usually does,"
        )
        sentence = f"{intro}. {of} is {deviation:.4f}, so they are {inside} apart."
    else:
        title = f"{first}, {second}: {distance:.3f} apart, no deviation published"
        times = distance / (WIDEST * math.sqrt(2))
        sentence = f"{intro}. Each was run once. If these runs scattered like the widest short ones, the difference would be {times:.1f} standard deviations."
    low, high = (1.92, 2.02) if short else (1.62, 1.69)
    ticks = [low + 0.02 * i for i in range(6)] if short else [low + 0.01 * i for i in range(8)]
    frame = _rows(len(TABLE), (low, high), tuple((tick, f"{tick:.2f}") for tick in ticks))
    shapes = [
        svg.text(frame.left, 62, "better  ←  log-perplexity (nats)  →  worse", size=12.5, fill=style.MUTED),
        frame.axes(),
    ]
    shapes += [
        frame.curve((values[name], values[name]), frame.y, plot.Look(_colour(name), (4, 4), 1.2))
        for name in (first, second)
    ]
    for n, (name, row) in enumerate(TABLE.items()):
        colour, value = _colour(name), values[name]
        ground = svg.rect(
            svg.MARGIN, frame.upright(n) - 12, frame.left - 8 - svg.MARGIN, 24, fill=style.PAPER, radius=4
        )
        row_room = svg.rect(svg.MARGIN, frame.upright(n) - 12, frame.right - svg.MARGIN, 24, fill="transparent")
        elements = [ground, row_room, _name_of_row(frame, n, name, name in (first, second))]
        if short:
            reach = 2 * row.deviation / math.sqrt(runs)
            elements.append(frame.whiskers([(value - reach, value + reach)], [n], plot.Look(colour, width=2), 5))
        spread = f"standard deviation {row.deviation:.3f}, {RUNS} runs" if short else "one run"
        tip = f"{name}: {value:.3f}, {spread}"
        fill = colour if short else style.PAPER
        elements.append(frame.dots([value], [n], fill, 5, colour, [tip], square=name in PLAIN))
        # What is pressed is compared with the one before; `first` itself gives way to `second`.
        press = {"first": second, "second": first} if name == first else {"first": name, "second": first}
        shapes.append(svg.button(*elements, sets=press, name=f"compare {press['first']} with {press['second']}"))
    measure = "standard errors of the mean" if runs > 1 else "standard deviations"
    note = f"bars: two {measure} each way" if short else "hollow: one run, no spread published"
    words = f"squares: plain, d_ff 3072 · circles: gated, d_ff 2048 · {note}"
    shapes.append(svg.text(svg.MARGIN, frame.bottom + 40, words, size=12, fill=style.MUTED))
    return Picture(title, sentence, svg.card(frame.bottom + 56, title, sentence, *shapes))


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
    at = results.steps.index(step)
    shares = {name: rows[at] for name, rows in results.known.items()}
    plain = {name: values for name, values in shares.items() if name not in results.gated}
    worst = min(min(shares[name]) for name in results.gated)
    best = max(max(values) for values in plain.values())
    mine = shares[light]
    mean = sum(mine) / len(mine)
    title = f"Step {step}: {light} knows {100 * mean:.0f} % ({100 * min(mine):.0f} to {100 * max(mine):.0f})"
    relation = "above" if worst > best else "not above"
    sentence = (
        f"After {step} steps the worst run with a gate knows {100 * worst:.0f} % of the facts and the best one without {100 * best:.0f} %: "
        f"the gated are {relation} all the plain. {light}: mean {100 * mean:.0f} % of {len(mine)} seeds."
    )
    frame = _rows(len(shares), (0, 1), tuple((tick / 100, f"{tick} %") for tick in range(0, 101, 20)))
    shapes = [svg.text(frame.left, 62, "share of the facts known, one mark per seed", size=12.5, fill=style.MUTED)]
    here = frame.upright([*shares].index(light))
    shapes += [svg.rect(svg.MARGIN, here - 13, svg.WIDTH - 2 * svg.MARGIN, 26, fill=style.TINT, radius=4), frame.axes()]
    for n, (name, values) in enumerate(shares.items()):
        is_gated, middle = name in results.gated, sum(values) / len(values)
        tips = [f"{name}: {100 * value:.1f} %" for value in values]
        shapes += [
            _name_of_row(frame, n, name, name == light),
            frame.dots(values, [n] * len(values), "none", 4.5, GATE if is_gated else UP, tips, square=not is_gated),
            frame.curve((middle, middle), (n - 0.34, n + 0.34), plot.Look(style.INK, width=2)),
        ]
    note = "squares: plain · circles: gated · upright line: mean"
    shapes.append(svg.text(frame.left, frame.bottom + 40, note, size=12, fill=style.MUTED))
    return Picture(title, sentence, svg.card(frame.bottom + 56, title, sentence, *shapes))
