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
    right: float  # the share of the points that are on the right side


@cache
def _cut(units: int, step: int) -> _Cut:
    layer = stored_polygons.layer(units, step)
    polygons = stored_polygons.cut(layer)
    middles = [_middle(corners) for corners in polygons]
    pieces: list[tuple[list[Point], float]] = []  # polygons, cut once more where the network says 0, and what it says
    xs, ys = [], []
    for corners, middle in zip(polygons, middles, strict=True):
        a, b, c = stored_polygons.affine(layer, middle)
        for piece in stored_polygons.halves(corners, a, b, c):
            x, y = _middle(piece)
            pieces.append((piece, a * x + b * y + c))
        for x, y in _crossings([(a * x + b * y + c, (x, y)) for x, y in corners]):
            xs.append(x)
            ys.append(y)
        if xs and not math.isnan(xs[-1]):
            xs.append(math.nan)
            ys.append(math.nan)
    border = WINDOW.curve(xs, ys, BORDER) if xs else ""
    right = stored_polygons.right(layer, stored_polygons.STORED_SEED)
    return _Cut(polygons, middles, _tints(pieces), border + _signs(), right)


def _crossings(corners: list[tuple[float, Point]]) -> list[Point]:
    """Where the border, on which the network says 0, crosses the edges of a polygon: of each corner, what the network says, and its place."""
    crossings = []
    for (here, (x, y)), (there, (u, v)) in pairwise([*corners, corners[0]]):
        if here * there < 0:
            share = here / (here - there)
            crossings.append((x + share * (u - x), y + share * (v - y)))
    return crossings


def _tints(pieces: list[tuple[list[Point], float]]) -> str:
    """Pieces of the window, each in the colour of what the network says in its middle. All of them lie in the window."""
    usual = sum(abs(value) for _, value in pieces) / len(pieces)
    left, low = WINDOW.at(WINDOW.x[0], WINDOW.y[0])
    right, high = WINDOW.at(WINDOW.x[1], WINDOW.y[1])
    across, up = (right - left) / (WINDOW.x[1] - WINDOW.x[0]), (high - low) / (WINDOW.y[1] - WINDOW.y[0])
    tints = []
    for corners, value in pieces:
        share = math.copysign(0.1 + 0.5 * abs(value) / (abs(value) + usual), value)
        edge = [(left + across * (x - WINDOW.x[0]), low + up * (y - WINDOW.y[0])) for x, y in corners]
        tints.append(svg.path(edge, fill=style.diverging(share, 1), closed=True))
    return "".join(tints)


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


class _Reading(NamedTuple):
    """A stored network, read at a point."""

    units: int
    step: int
    point: Point
    layer: stored_polygons.TwoInputNetwork
    cut: _Cut
    sums: list[float]  # what each unit adds up at the point
    fires: list[bool]  # of each unit, whether that is above 0
    value: float  # what the network says there
    law: str  # the affine map around it, written out

    @property
    def place(self) -> str:
        """The point in words."""
        return f"({svg.label(self.point[0])}, {svg.label(self.point[1])})"

    @property
    def firing(self) -> str:
        """How many units fire, in words."""
        return f"{sum(self.fires)} of {self.units} units fire"


def _read(units: int, step: int, x1: float, x2: float) -> _Reading:
    layer = stored_polygons.layer(units, step)
    point = torch.tensor([[x1, x2]], dtype=torch.float64)
    sums = (point @ layer.W1 + layer.b1)[0]
    a, b, c = stored_polygons.affine(layer, (x1, x2))
    law = f"{svg.label(a)}·x₁ {_format_term(b)}·x₂ {_format_term(c)}"
    fires = (sums > 0).tolist()
    return _Reading(units, step, (x1, x2), layer, _cut(units, step), sums.tolist(), fires, float(layer(point)), law)


def polygons(units: int = 8, step: int = 0, x1: float = 0.5, x2: float = 0.25) -> Picture:
    """The plane, cut by the hinges of `units` units that have learned a ring for `step` steps; read at the point (x1, x2)."""
    if units not in stored_polygons.UNITS or step not in stored_polygons.STEPS:
        choices = ", ".join(map(str, stored_polygons.UNITS)), ", ".join(map(str, stored_polygons.STEPS))
        raise ValueError(f"the units must be {choices[0]}, and the steps {choices[1]}, not {units} and {step}")
    _inside("x1", x1, SPOTS[0], SPOTS[-1])
    _inside("x2", x2, SPOTS[0], SPOTS[-1])
    reading = _read(units, step, x1, x2)
    title, words = _polygons_words(reading)
    shapes = [
        reading.cut.tints,
        WINDOW.axes(),
        *_hinges(reading),
        *_own_polygon(reading),
        reading.cut.above,
        *_panel(reading),
        *_counts(reading),
        *_key(),
        _point(reading),
    ]
    return Picture(title, words, svg.card(420, title, words, *shapes))


def _polygons_words(reading: _Reading) -> tuple[str, str]:
    """Title and sentence."""
    in_sight = f"{len(reading.cut.corners)} of at most {stored_polygons.at_most(reading.units)} polygons in sight"
    title = f"{f'Step {reading.step}' if reading.step else 'Random'}: {reading.units} units, {in_sight}"
    words = (
        f"At {reading.place} {reading.firing}. In the whole polygon around it the network is one affine "
        f"map, {reading.law}; at the point it says {svg.label(reading.value)}."
    )
    return title, words


def _hinges(reading: _Reading) -> list[str]:
    """The hinges of the units that fire, and of the silent ones."""
    shapes = []
    for state, look in ((True, HINGE), (False, SILENT_HINGE)):
        xs, ys = [], []
        keys = zip(reading.layer.W1.T.tolist(), reading.layer.b1.tolist(), reading.fires, strict=True)
        for (w1, w2), bias, fires in keys:
            if fires == state:
                across, upright = _across_window(w1, w2, bias)
                xs += [*across, math.nan]
                ys += [*upright, math.nan]
        shapes.append(WINDOW.curve(xs, ys, look) if xs else "")
    return shapes


def _own_polygon(reading: _Reading) -> list[str]:
    """The edge of the polygon in which the same units fire as at the point."""
    layer, cut = reading.layer, reading.cut
    patterns = torch.tensor(cut.middles, dtype=torch.float64) @ layer.W1 + layer.b1 > 0
    is_own = (patterns == torch.tensor(reading.fires)).all(1)
    shapes = []
    for own in is_own.nonzero()[:1, 0].tolist():
        around = np.array([*cut.corners[own], cut.corners[own][0]])
        shapes.append(WINDOW.curve(around[:, 0], around[:, 1], plot.Look(style.CHOSEN, width=3.2)))
    return shapes


def _counts(reading: _Reading) -> list[str]:
    """How many polygons there are, how many there could be, and what the network has learned."""
    rows = (
        ("polygons in sight", str(len(reading.cut.corners))),
        (f"most that {reading.units} lines can make", str(stored_polygons.at_most(reading.units))),
        ("points on the right side", f"{round(100 * reading.cut.right)} %"),
    )
    shapes = []
    for row, (words, number) in enumerate(rows):
        shapes.append(svg.text(PANEL, 298 + 22 * row, words, size=13, fill=style.MUTED))
        shapes.append(svg.text(RIGHT_EDGE, 298 + 22 * row, number, size=14, anchor="end", bold=True))
    return shapes


def _key() -> list[str]:
    """What the lines in the window are."""
    looks = {"hinge of a unit that fires": HINGE, "hinge of a silent unit": SILENT_HINGE, "the network says 0": BORDER}
    shapes = []
    for row, (words, look) in enumerate(looks.items()):
        y = 368 + 18 * row
        dash = " ".join(map(str, look.dash))
        shapes.append(svg.line(PANEL, y - 4, PANEL + 30, y - 4, stroke=look.colour, width=look.width, dash=dash))
        shapes.append(svg.text(PANEL + 40, y, words, size=12.5, fill=style.MUTED))
    return shapes


def _point(reading: _Reading) -> str:
    """The point, which a hand drags."""
    ends = (SPOTS[0], SPOTS[-1])
    across = svg.across([WINDOW.across(end) for end in ends], ends)
    upright = svg.upright([WINDOW.upright(end) for end in ends], ends)
    return svg.handle(
        *WINDOW.at(*reading.point),
        drags={"x1": across, "x2": upright},
        name="the point",
        says=f"{reading.place}, where {reading.firing}",
        fill=style.CHOSEN,
    )


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


def _panel(reading: _Reading) -> list[str]:
    """Which units fire at the point, and the affine map there."""
    shapes = [
        svg.text(PANEL, 84, f"At {reading.place}", size=14, bold=True),
        svg.text(PANEL, 104, "green: units that fire", size=12.5, fill=style.MUTED),
    ]
    for n, (fires, total) in enumerate(zip(reading.fires, reading.sums, strict=True)):
        x, y = PANEL + 30 * (n % 8), 114 + 28 * (n // 8)
        tip = f"unit {n + 1} adds up {svg.label(total)}: {'it fires' if fires else 'it is silent'}"
        shapes.append(svg.rect(x, y, 25, 23, radius=4, fill=style.CHOSEN if fires else style.TINT, tip=tip))
        fill = style.PAPER if fires else style.MUTED
        shapes.append(svg.text(x + 12.5, y + 16, str(n + 1), size=12, fill=fill, anchor="middle", bold=fires))
    return [
        *shapes,
        svg.text(PANEL, 196, "so in this polygon the network is", size=12.5, fill=style.MUTED),
        svg.text(PANEL, 218, reading.law, size=14.5, bold=True),
        svg.text(PANEL, 240, f"at the point: {svg.label(reading.value)}", size=13),
        svg.line(PANEL, 268, RIGHT_EDGE, 268),
    ]
