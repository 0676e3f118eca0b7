"""The figures of notebook 07: a gate as two lines and their product, five gates, equal parameters, a contest, and a published table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from ffnlab import style, svg
from ffnlab.figures.activations import LEFT, RIGHT, Frame
from ffnlab.picture import Picture

GATES: dict[str, Callable[[float], float]] = {
    "none": lambda h: h,
    "sigmoid": lambda h: 1 / (1 + math.exp(-h)),
    "ReLU": lambda h: max(h, 0.0),
    "GELU": lambda h: h * 0.5 * math.erfc(-h / math.sqrt(2)),
    "SiLU": lambda h: h / (1 + math.exp(-h)),
}
KINDS = {"glu": "sigmoid", "bilinear": "none", "reglu": "ReLU", "geglu": "GELU", "swiglu": "SiLU"}
GATE, UP, PRODUCT = style.POSITIVE, style.NEGATIVE, style.ACCENTS[2]
SPAN = 3.0  # t and x run from -3 to 3

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


def _key(left: float, base: float, entries: Sequence[tuple[str, str, str]]) -> str:
    """A legend in one row, above the plot, where no curve crosses it: (words, colour, dash)."""
    parts = []
    for words, colour, dash in entries:
        parts += [
            svg.line(left, base - 4, left + 32, base - 4, stroke=colour, width=2.4, dash=dash),
            svg.text(left + 40, base, words, size=13),
        ]
        left += 62 + 8 * len(words)
    return "".join(parts)


def _ticks(*values: float) -> list[tuple[float, str]]:
    return [(value, svg.label(value)) for value in values]


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
        read, up = gate_slope * at + gate_height, up_slope * at + up_height
        return act(read), up, act(read) * up

    bent, up, product = parts(t)
    name = "gate" if activation == "none" else f"{activation}(gate)"
    title = f"t = {svg.label(t)}: {name} {svg.label(bent)} times up {svg.label(up)} is {svg.label(product)}"
    shut = "the gate is closed" if abs(bent) < 0.005 else "up is 0 there"
    closed = shut if abs(product) < 0.005 else f"up is multiplied by {svg.label(bent)}"
    sentence = (
        f"Gate {_line(gate_slope, gate_height)}, {f'bent by {activation}' if activation != 'none' else 'not bent'}; "
        f"up {_line(up_slope, up_height)}. At t = {svg.label(t)} the product is {svg.label(product)}: {closed}."
    )
    frame = Frame(86, 336, (-SPAN, SPAN), (-4, 8))
    places = [-SPAN + 2 * SPAN * i / 240 for i in range(241)]
    walked = [(place, *parts(place)) for place in places]
    at, _ = frame.at(t, 0)
    shapes = [
        frame.axes(_ticks(*range(-3, 4)), _ticks(-4, -2, 0, 2, 4, 6, 8), "t, along the walk"),
        svg.line(at, frame.top, at, frame.bottom, stroke=style.NEUTRAL, dash="3 4"),
    ]
    if activation != "none":
        straight = [(place, gate_slope * place + gate_height) for place in places]
        shapes.append(frame.curve(straight, style.NEUTRAL, "1 4", 1.6))
    for n, (colour, dash, width) in enumerate(((GATE, "7 4", 2.2), (UP, "2 4", 2.4), (PRODUCT, "", 3.0))):
        shapes.append(frame.curve([(row[0], row[n + 1]) for row in walked], colour, dash, width))
    for value, colour in ((bent, GATE), (up, UP), (product, PRODUCT)):
        if frame.holds(t, value):
            shapes.append(svg.circle(*frame.at(t, value), 4.5, fill=colour, stroke=style.PAPER, stroke_width=1.5))
    key = [(name, GATE, "7 4"), ("up", UP, "2 4"), ("their product", PRODUCT, "")]
    shapes.append(_key(LEFT, frame.top - 20, key))
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


Variant = Callable[..., torch.Tensor]
LOOKS = dict(zip(KINDS, ("1 3", "9 3", "7 3 2 3", "4 4", ""), strict=True))


def curves(variant: Variant, gate: float, up: float, places: Sequence[float]) -> dict[str, list[float]]:
    """What `variant`, a student's glu_variant, gives for one unit at each of `places`, kind by kind.

    Raises NotImplementedError, for the figure to show, when it does not give that yet.
    """
    x = torch.tensor(places, dtype=torch.float64)[:, None]
    Wg, Wu, Wd = (torch.tensor([[number]], dtype=torch.float64) for number in (gate, up, 1.0))
    try:
        return {kind: [float(y) for y in variant(x, Wg, Wu, Wd, kind).detach().reshape(len(x))] for kind in KINDS}
    except Exception as error:
        raise NotImplementedError("solve glu_variant first") from error


def family(variant: Variant, kind: str = "swiglu", gate: float = 1.0, up: float = 1.0) -> Picture:
    """One unit of each of the five kinds, computed by a student's glu_variant, over x from -3 to 3; one stands out."""
    if kind not in KINDS:
        raise ValueError(f"kind must be {', '.join(KINDS)}, not {kind!r}")
    places = [-SPAN + SPAN * i / 60 for i in range(121)]
    drawn = curves(variant, gate, up, places)
    low, high = (svg.label(drawn[kind][places.index(end)]) for end in (-2.0, 2.0))
    title = f"{kind}: {low} at x = −2, {high} at x = 2"
    others = ", ".join(
        f"{name} {svg.label(values[places.index(-2.0)])}" for name, values in drawn.items() if name != kind
    )
    sentence = (
        f"One unit with gate weight {svg.label(gate)} and up weight {svg.label(up)}, computed by your function: {kind} gives "
        f"{low} at x = −2; the other four there: {others}."
    )
    frame = Frame(86, 336, (-SPAN, SPAN), (-5, 10))
    shapes = [frame.axes(_ticks(*range(-3, 4)), _ticks(-4, -2, 0, 2, 4, 6, 8, 10), "x", "output")]
    for name in sorted(drawn, key=lambda name: name == kind):
        chosen = name == kind
        points = list(zip(places, drawn[name], strict=True))
        shapes.append(frame.curve(points, PRODUCT if chosen else style.MUTED, LOOKS[name], 3.2 if chosen else 1.4))
    for place in (-2.0, 2.0):
        value = drawn[kind][places.index(place)]
        if frame.holds(place, value):
            shapes.append(svg.circle(*frame.at(place, value), 4.5, fill=PRODUCT, stroke=style.PAPER, stroke_width=1.5))
    key = [(name, PRODUCT if name == kind else style.MUTED, LOOKS[name]) for name in KINDS]
    shapes.append(_key(LEFT + 40, frame.top - 26, key))
    return Picture(title, sentence, svg.card(388, title, sentence, *shapes))


def matched(d_model: int = 4096, ratio: float = 4.0, multiple: int = 1) -> Picture:
    """A plain FFN of width 4 · d_model as two rectangles, a gated one of another width as three, and the sum of each as a bar."""
    if d_model < 1 or multiple < 1 or not 1 <= ratio <= 8:
        raise ValueError("d_model and the multiple must be positive, and the ratio from 1 to 8")
    asked = ratio * d_model + 1e-9
    f = math.ceil(int(asked) / multiple) * multiple
    plain, gated = 2 * d_model * 4 * d_model, 3 * d_model * f
    share = 100 * gated / plain
    title = f"Gated, d_ff = {f:,}: {share:.1f} % of the plain FFN"
    rounded = f"a multiple of {multiple} as it is" if multiple > 1 else ""
    if f > asked:
        rounded = f"rounded up to a multiple of {multiple}"
    elif asked - f > 1e-6:
        rounded = "cut to a whole number"
    verdict = (
        "as good as equal"
        if abs(gated / plain - 1) < 0.002
        else f"{abs(gated - plain):,} {'more' if gated > plain else 'fewer'}"
    )
    sentence = (
        f"Plain, at 4 · {d_model:,}: two matrices, {plain:,} weights. Gated, at {f:,} = {f / d_model:.3f} · d_model{rounded and f', {rounded}'}: "
        f"three matrices, {gated:,} weights, {verdict}."
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
                    svg.text(left + long + 8, y + 18, f"{d_model * wide:,}", size=12.5, fill=style.MUTED),
                ]
            )

    block(78, f"plain, d_ff = {4 * d_model:,}", ("W1", "W2"), 4 * d_model, UP)
    block(176, f"gated, d_ff = {f:,}{rounded and f' ({rounded})'}", ("gate", "up", "down"), f, GATE)
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
    said = f"At {steps:,} steps {first} has {values[first]:.3f} and {second} {values[second]:.3f}"
    if first == second:
        title = f"{first}: {values[first]:.3f} after {steps:,} steps"
        sentence = f"{said}: this is one and the same row. Choose another one to compare it with."
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
        sentence = f"{said}. {of} is {deviation:.4f}, so they are {inside} apart."
    else:
        title = f"{first}, {second}: {distance:.3f} apart, no deviation published"
        times = distance / (WIDEST * math.sqrt(2))
        sentence = f"{said}. Each was run once. If these runs scattered like the widest short ones, the difference would be {times:.1f} standard deviations."
    low, high = (1.92, 2.02) if short else (1.62, 1.69)
    left, right, top, pitch = 112.0, svg.WIDTH - 40.0, 92.0, 29.0

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    base = top + pitch * len(TABLE)
    shapes = [svg.text(left, 62, "better  ←  log-perplexity (nats)  →  worse", size=12.5, fill=style.MUTED)]
    ticks = [low + 0.02 * i for i in range(6)] if short else [low + 0.01 * i for i in range(8)]
    for tick in ticks:
        shapes.append(svg.line(x(tick), top - 12, x(tick), base - 6, stroke=style.TINT))
    for name in (first, second):
        colour = UP if name in PLAIN else GATE
        shapes.append(
            svg.line(x(values[name]), top - 12, x(values[name]), base - 6, stroke=colour, width=1.2, dash="4 4")
        )
    for n, (name, row) in enumerate(TABLE.items()):
        y, colour, chosen = top + pitch * n, UP if name in PLAIN else GATE, name in (first, second)
        value = values[name]
        shapes.append(
            svg.text(
                left - 14, y + 4.5, name, size=13, anchor="end", bold=chosen, fill=style.INK if chosen else style.MUTED
            )
        )
        if short:
            reach = 2 * row.deviation / math.sqrt(runs)
            ends = x(value - reach), x(value + reach)
            shapes.append(svg.line(ends[0], y, ends[1], y, stroke=colour, width=2))
            shapes += [svg.line(end, y - 5, end, y + 5, stroke=colour, width=2) for end in ends]
        spread = f"standard deviation {row.deviation:.3f}, {RUNS} runs" if short else "one run"
        tip = f"{name}: {value:.3f}, {spread}"
        if name in PLAIN:
            shapes.append(
                svg.rect(
                    x(value) - 5,
                    y - 5,
                    10,
                    10,
                    fill=colour if short else style.PAPER,
                    stroke=colour,
                    stroke_width=2,
                    tip=tip,
                )
            )
        else:
            shapes.append(
                svg.circle(
                    x(value), y, 5.5, fill=colour if short else style.PAPER, stroke=colour, stroke_width=2, tip=tip
                )
            )
    shapes.append(svg.axis(left, base, right - left, [(x(tick) - left, f"{tick:.2f}") for tick in ticks]))
    measure = "standard errors of the mean" if runs > 1 else "standard deviations"
    note = f"bars: two {measure} each way" if short else "hollow: one run, no spread published"
    words = f"squares: plain, d_ff 3072 · circles: gated, d_ff 2048 · {note}"
    shapes.append(svg.text(svg.MARGIN, base + 40, words, size=12, fill=style.MUTED))
    return Picture(title, sentence, svg.card(base + 56, title, sentence, *shapes))


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
    known = {name: rows[at] for name, rows in results.known.items()}
    plain = {name: values for name, values in known.items() if name not in results.gated}
    worst = min(min(known[name]) for name in results.gated)
    best = max(max(values) for values in plain.values())
    mine = known[light]
    mean = sum(mine) / len(mine)
    title = f"Step {step}: {light} knows {100 * mean:.0f} % ({100 * min(mine):.0f} to {100 * max(mine):.0f})"
    relation = "above" if worst > best else "not above"
    sentence = (
        f"After {step} steps the worst run with a gate knows {100 * worst:.0f} % of the facts and the best one without {100 * best:.0f} %: "
        f"the gated are {relation} all the plain. {light}: mean {100 * mean:.0f} % of {len(mine)} seeds."
    )
    left, right, top, pitch = 112.0, RIGHT - 20, 92.0, 29.0
    base = top + pitch * len(known)
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    shapes = [svg.text(left, 62, "share of the facts known, one mark per seed", size=12.5, fill=style.MUTED)]
    shapes += [
        svg.line(left + tick * (right - left), top - 12, left + tick * (right - left), base - 6, stroke=style.TINT)
        for tick in ticks
    ]
    for n, (name, values) in enumerate(known.items()):
        y, gated, chosen = top + pitch * n, name in results.gated, name == light
        colour = GATE if gated else UP
        middle = left + sum(values) / len(values) * (right - left)
        if chosen:
            shapes.append(svg.rect(svg.MARGIN, y - 13, svg.WIDTH - 2 * svg.MARGIN, 26, fill=style.TINT, radius=4))
        shapes.append(
            svg.text(
                left - 14, y + 4.5, name, size=13, anchor="end", bold=chosen, fill=style.INK if chosen else style.MUTED
            )
        )
        for value in values:
            spot, tip = left + value * (right - left), f"{name}: {100 * value:.1f} %"
            if gated:
                shapes.append(svg.circle(spot, y, 4.5, stroke=colour, stroke_width=1.8, tip=tip))
            else:
                shapes.append(svg.rect(spot - 4, y - 4, 8, 8, stroke=colour, stroke_width=1.8, tip=tip))
        shapes.append(svg.line(middle, y - 10, middle, y + 10, stroke=style.INK, width=2))
    shapes.append(
        svg.axis(left, base, right - left, [(tick * (right - left), f"{100 * tick:.0f} %") for tick in ticks])
    )
    note = "squares: plain · circles: gated · upright line: mean"
    shapes.append(svg.text(left, base + 40, note, size=12, fill=style.MUTED))
    return Picture(title, sentence, svg.card(base + 56, title, sentence, *shapes))
