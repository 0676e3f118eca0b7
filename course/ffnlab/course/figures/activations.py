"""The figure of notebook 03: the polygons into which the hinges of a ReLU layer cut the plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from ffnlab.course.experiments import polygons as stored_polygons
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

Point = tuple[float, float]

SPOTS = tuple(n / 4 for n in range(-7, 8))  # where the point of `polygons` can be
PANEL, RIGHT_EDGE = 384.0, svg.WIDTH - svg.MARGIN
WINDOW = plot.Frame(
    (-stored_polygons.WINDOW, stored_polygons.WINDOW), (-stored_polygons.WINDOW, stored_polygons.WINDOW), "x₁", "x₂",
    (-2, -1, 0, 1, 2), (-2, -1, 0, 1, 2), left=50, right=350, top=78, bottom=378, grid="",
)  # fmt: skip
HINGE, SILENT_HINGE = plot.Look(style.INK, width=1.4), plot.Look(style.MUTED, (3, 4), 1.2)
BORDER = plot.Look(style.INK, width=3.2)


def _inside(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {svg.label(low)} to {svg.label(high)}, not {value}")


def _middle(corners: Sequence[Point]) -> Point:
    return sum(x for x, _ in corners) / len(corners), sum(y for _, y in corners) / len(corners)


class _Cut(NamedTuple):
    """A stored network in the window: its polygons, their middles, and all that does not depend on the point, drawn."""

    corners: list[list[Point]]
    middles: list[Point]
    tints: str
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
        a, b, c = stored_polygons.affine(layer, middle)
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
    tints = []
    for part, value in parts:  # all of them lie in the window
        share = math.copysign(0.1 + 0.5 * abs(value) / (abs(value) + usual), value)
        points = [(left + across * (x - WINDOW.x[0]), low + up * (y - WINDOW.y[0])) for x, y in part]
        tints.append(svg.path(points, fill=style.diverging(share, 1), closed=True))
    border = WINDOW.curve(xs, ys, BORDER) if xs else ""
    right = stored_polygons.right(layer, stored_polygons.STORED_SEED)
    return _Cut(corners, middles, "".join(tints), border + _signs(), right)


@cache
def _signs() -> str:
    """The points of the ring as minus signs, and those of the disc as plus signs."""
    x, y = stored_polygons.ring(stored_polygons.STORED_SEED)
    curves = []
    for sign in (1, -1):
        xs, ys = [], []
        for across, upright in x[y == sign].tolist():
            xs += [across - 0.045, across + 0.045, math.nan]
            ys += [upright, upright, math.nan]
            if sign > 0:
                xs += [across, across, math.nan]
                ys += [upright - 0.045, upright + 0.045, math.nan]
        curves.append(WINDOW.curve(xs, ys, plot.Look(style.signed(sign), width=1.6)))
    return "".join(curves)


def polygons(units: int = 8, step: int = 0, x1: float = 0.5, x2: float = 0.25) -> Picture:
    """The plane, cut by the hinges of `units` units that have learned a ring for `step` steps; read at the point (x1, x2)."""
    if units not in stored_polygons.UNITS or step not in stored_polygons.STEPS:
        choices = ", ".join(map(str, stored_polygons.UNITS)), ", ".join(map(str, stored_polygons.STEPS))
        raise ValueError(f"the units must be {choices[0]}, and the steps {choices[1]}, not {units} and {step}")
    _inside("x1", x1, SPOTS[0], SPOTS[-1])
    _inside("x2", x2, SPOTS[0], SPOTS[-1])
    layer = stored_polygons.layer(units, step)
    corners, middles, tints, above, right = _cut(units, step)
    point = torch.tensor([[x1, x2]], dtype=torch.float64)
    sums = (point @ layer.W1 + layer.b1)[0]
    fires = sums > 0
    (value,), count, most = layer(point).tolist(), int(fires.sum()), stored_polygons.at_most(units)
    a, b, c = stored_polygons.affine(layer, (x1, x2))
    law = f"{svg.label(a)}·x₁ {_format_term(b)}·x₂ {_format_term(c)}"
    title = f"{f'Step {step}' if step else 'Random'}: {units} units, {len(corners)} of at most {most} polygons in sight"
    sentence = (
        f"At ({svg.label(x1)}, {svg.label(x2)}) {count} of {units} units fire. In the whole polygon around it the network is one affine "
        f"map, {law}; at the point it says {svg.label(value)}."
    )
    shapes = [tints, WINDOW.axes()]
    for state, look in ((True, HINGE), (False, SILENT_HINGE)):
        xs, ys = [], []
        for (w1, w2), bias, on in zip(layer.W1.T.tolist(), layer.b1.tolist(), fires.tolist(), strict=True):
            if on == state:
                across, upright = _across_window(w1, w2, bias)
                xs += [*across, math.nan]
                ys += [*upright, math.nan]
        shapes.append(WINDOW.curve(xs, ys, look) if xs else "")
    patterns = torch.tensor(middles, dtype=torch.float64) @ layer.W1 + layer.b1 > 0
    for own in (patterns == fires).all(1).nonzero()[:1, 0].tolist():
        around = np.array([*corners[own], corners[own][0]])
        shapes.append(WINDOW.curve(around[:, 0], around[:, 1], plot.Look(style.CHOSEN, width=3.2)))
    shapes += [above, *_panel(units, fires.tolist(), sums.tolist(), law, value, (x1, x2))]
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


def _format_term(value: float) -> str:
    """A number as a term of a sum, with its sign set apart."""
    short = svg.label(abs(value))
    return f"{'−' if value < 0 and short != '0' else '+'} {short}"


def _across_window(w1: float, w2: float, b: float) -> tuple[list[float], list[float]]:
    """Two points, far out on both sides, of the line x₁·w1 + x₂·w2 + b = 0."""
    length = w1 * w1 + w2 * w2
    foot, along = (-b * w1 / length, -b * w2 / length), (-w2 / length**0.5, w1 / length**0.5)
    far = 3 * stored_polygons.WINDOW
    return [foot[0] - far * along[0], foot[0] + far * along[0]], [foot[1] - far * along[1], foot[1] + far * along[1]]


def _panel(units: int, fires: list[bool], sums: list[float], law: str, value: float, point: Point) -> list[str]:
    """Which units fire at the point, and the affine map there."""
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
        svg.text(PANEL, 240, f"at the point: {svg.label(value)}", size=13),
        svg.line(PANEL, 268, RIGHT_EDGE, 268),
    ]
