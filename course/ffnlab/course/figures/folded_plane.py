"""The plane of two features, folded by the student's own ReLU network for XOR, then cut once, straight, and unfolded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch

from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

__all__ = ["MOVES", "STAGES", "fold"]

Array = np.ndarray[Any, np.dtype[Any]]
Net = Callable[[float, float], Sequence[torch.Tensor]]  # the student's xor_weights

POINTS = np.array([(0, 0), (0, 1), (1, 0), (1, 1)], dtype=float)
XOR = (0, 1, 1, 0)
LOW, HIGH = -0.4, 1.4  # the sheet, in both directions
STEP = 0.2  # of the grid drawn on it
CORNERS = np.array([(LOW, LOW), (HIGH, LOW), (HIGH, HIGH), (LOW, HIGH)])
SMALL = 1e-9

PARTS = ("⅓", "⅔", "done")
LAID, BENT, FOLDED, SIDEWAYS, CUT = (
    3,
    6,
    9,
    11,
    12,
)  # the stages at which the matrix, unit 1, unit 2 and the turn are done, and the last one
STAGES = (
    ("the plane", 0),
    *((f"W₁ and b₁, {part}", n + 1) for n, part in enumerate(PARTS)),
    *((f"unit 1, {part}", n + LAID + 1) for n, part in enumerate(PARTS)),
    *((f"unit 2, {part}", n + BENT + 1) for n, part in enumerate(PARTS)),
    ("from the side, ½", FOLDED + 1),
    ("from the side", SIDEWAYS),
    ("one cut", CUT),
)
FLATTER = (1.0, 0.55, 0.15, 0.15)  # how much of the depth is seen from stage FOLDED on
MOVES = (-0.4, -0.2, 0.0, 0.2, 0.4)  # how far a hinge is moved by hand, across itself

SIDE, TOP = 262.0, 104.0
LEFT, RIGHT = 46.0, 352.0  # where the two planes begin
GRID = plot.Look(style.NEUTRAL, width=0.8)
CUTTING = plot.Look(style.INK, width=3.4)
UNITS = tuple(style.SERIES[n] for n in (0, 3, 2, 1, 5, 4))


@dataclass(frozen=True)
class PaperSheet:
    """A network relu(x @ W1 + b1) @ W2 + b2, W1 [2, H], b1 [H], W2 [H], and how what it makes of a point is drawn in a plane.

    Two hidden numbers are drawn as they are. Of one, the other axis is empty; of more, the plane shows the way along which the output grows,
    and the way along which the four points differ most besides.
    """

    W1: Array
    b1: Array
    W2: Array
    b2: float

    @property
    def units(self) -> int:
        return len(self.b1)

    def pre(self, x: Array) -> Array:
        """The sums before the bend, [..., H]."""
        return np.asarray(x @ self.W1 + self.b1, dtype=float)

    def out(self, x: Array) -> Array:
        return np.asarray(np.maximum(self.pre(x), 0) @ self.W2 + self.b2)

    def moved(self, first: float, second: float) -> PaperSheet:
        """With the hinges of units 1 and 2 moved, each across itself, by so much of the plane of features."""
        steps = np.zeros(self.units)
        steps[:2] = (first, second)[: self.units]
        return PaperSheet(self.W1, self.b1 - steps * np.linalg.norm(self.W1, axis=0), self.W2, self.b2)

    @cached_property
    def axes(self) -> Array:
        """The plane that is drawn, [H, 2]."""
        if self.units <= 2:
            return np.eye(2)[: self.units]
        along = self.W2 / (np.linalg.norm(self.W2) or 1)
        hidden = np.maximum(self.pre(POINTS), 0)
        rest = hidden - hidden.mean(axis=0)
        rest = rest - np.outer(rest @ along, along)
        other = np.linalg.svd(rest)[2][0]
        return np.column_stack([along, other * (1 if (hidden @ other).sum() >= 0 else -1)])

    @cached_property
    def _ways(self) -> tuple[Array, Array, Array]:
        u, s, vh = np.linalg.svd(self.W1)
        return u, np.array([*s, 0.0])[:2], vh

    @cached_property
    def unseen(self) -> Array:
        """The direction of the plane that moves the units least; how far along it a point lies is drawn as depth, where they do not see it at all."""
        u, (most, least), _ = self._ways
        way = u[:, 1] * max(1 - 4 * least / (most or 1), 0)
        turned = np.linalg.det(self.W1 @ self.axes + np.outer(way, self.depth))
        return np.asarray(way * (1 if turned >= 0 else -1))  # so that the sheet is not turned over on its way

    @cached_property
    def depth(self) -> Array:
        """Where depth goes in the plane that is drawn, for each unit of `unseen`."""
        _, (most, _), vh = self._ways
        along = (vh[0][: self.units] @ self.axes) if most else np.array([1.0, 0.0])
        angle = math.atan2(along[1], along[0])
        tilt = max((angle + turn for turn in (1.2, -1.2, 1.2 + math.pi, math.pi - 1.2)), key=math.sin)
        far = 0.45 * min(max(float(most), 0.4), 40.0)
        return np.array([far * math.cos(tilt), far * math.sin(tilt)])

    def place(self, x: Array, stage: int) -> Array:
        """Where points x [..., 2] of the sheet lie at a stage, [..., 2]."""
        spread, *bends = (min(max((stage - begun) / 3, 0), 1) for begun in (0, LAID, BENT))
        seen = FLATTER[max(stage - FOLDED, 0)]
        z = self.pre(x)
        for unit in range(self.units):
            z[..., unit] = np.where(z[..., unit] > 0, 1, 1 - bends[min(unit, 1)]) * z[..., unit]
        there = z @ self.axes + ((x - 0.5) @ self.unseen)[..., None] * seen * self.depth
        return np.asarray((1 - spread) * x + spread * there)

    @cached_property
    def seams(self) -> list[int]:
        """The units that have a hinge in the sheet."""
        ends = self.pre(CORNERS)
        return [k for k in range(self.units) if ends[:, k].min() < -SMALL and ends[:, k].max() > SMALL]

    @cached_property
    def faces(self) -> list[tuple[Array, Array]]:
        """The pieces between the hinges: corners [n, 2], and which units fire there [H]."""
        pieces = [CORNERS]
        for unit in self.seams:
            sides = [_half(piece, sign * self.pre(piece)[:, unit]) for piece in pieces for sign in (1, -1)]
            pieces = [piece for piece in sides if len(piece) > 2]
        return [(piece, self.pre(piece.mean(axis=0)) > 0) for piece in pieces]

    def hinge(self, unit: int) -> Array:
        """The two ends of a hinge, [2, 2]."""
        return _crossing(CORNERS, self.pre(CORNERS)[:, unit])

    @cached_property
    def cuts(self) -> list[Array]:
        """Where the output is one half: a piece [2, 2] for each face that it crosses."""
        found = [_crossing(piece, self.out(piece) - 0.5) for piece, _ in self.faces]
        return [ends for ends in found if len(ends) == 2]


def _crossing(corners: Array, heights: Array) -> Array:
    """Where the edge of a convex piece crosses height 0."""
    found = []
    for a, b, high, low in zip(corners, np.roll(corners, -1, axis=0), heights, np.roll(heights, -1), strict=True):
        if (high > 0) != (low > 0):
            found.append(a + (b - a) * high / (high - low))
    return np.array(found)


def _half(corners: Array, heights: Array) -> Array:
    """The part of a convex piece whose height is above 0."""
    kept = []
    for a, b, high, low in zip(corners, np.roll(corners, -1, axis=0), heights, np.roll(heights, -1), strict=True):
        if high > 0:
            kept.append(a)
        if (high > 0) != (low > 0):
            kept.append(a + (b - a) * high / (high - low))
    return np.array(kept)


def _sheet(net: Net) -> PaperSheet:
    """The student's network for 0 and 1.

    Raises NotImplementedError, for the figure to show, when there is no such network yet.
    """
    try:
        W1, b1, W2, b2 = (part.detach().double().numpy() for part in net(0.0, 1.0))
        if W1.shape != (2, len(b1)) or W2.shape != (len(b1), 1) or b2.shape != (1,) or b1.ndim != 1 or not len(b1):
            raise ValueError("shapes do not fit")
        if not all(np.isfinite(part).all() for part in (W1, b1, W2, b2)):
            raise ValueError("not a number")
    except Exception as error:
        raise NotImplementedError("solve xor_weights first") from error
    return _known(W1.tobytes(), b1.tobytes(), W2.tobytes(), float(b2[0]))


@lru_cache(maxsize=16)
def _known(W1: bytes, b1: bytes, W2: bytes, b2: float) -> PaperSheet:
    bias = np.frombuffer(b1)
    return PaperSheet(np.frombuffer(W1).reshape(2, len(bias)), bias, np.frombuffer(W2), b2)


def fold(net: Net, stage: int = CUT, first: float = 0.0, second: float = 0.0) -> Picture:
    """The sheet of features, and what the hidden layer of `net(0, 1)` makes of it: moved, folded by unit after unit, and cut.

    `first` and `second` move the hinges of units 1 and 2.
    """
    if not 0 <= stage <= CUT:
        raise ValueError(f"stage must be from 0 to {CUT}, not {stage}")
    for name, value in (("first", first), ("second", second)):
        if value not in MOVES:
            raise ValueError(f"{name} must be one of {', '.join(map(str, MOVES))}, not {value}")
    still = _sheet(net)
    sheet = still.moved(first, second)
    said = [int(value > 0.5) for value in sheet.out(POINTS)]
    right = sum(a == b for a, b in zip(said, XOR, strict=True))
    title, sentence = _words(sheet, stage, right, (first, second))
    shapes = [*_flat(still, sheet, stage, (first, second)), *_folded(still, sheet, stage)]
    y = TOP + SIDE + 50
    for x, fill, what in ((LEFT + 10, style.INK, "XOR is 1"), (LEFT + 92, style.PAPER, "XOR is 0")):
        shapes += [
            svg.circle(x - 9, y - 4, 5, fill=fill, stroke=style.INK, stroke_width=1.6),
            svg.text(x, y, what, size=12),
        ]
    return Picture(title, sentence, svg.card(TOP + SIDE + 66, title, sentence, *shapes))


def _words(sheet: PaperSheet, stage: int, right: int, moves: tuple[float, float]) -> tuple[str, str]:
    """The title, and the sentence."""
    outputs = ", ".join(svg.label(value) if abs(value) < 1000 else f"{value:.0e}" for value in sheet.out(POINTS))
    gives = f"For (0, 0), (0, 1), (1, 0), (1, 1) your network gives {outputs}"
    if any(moves):
        gives += f" (hinges moved by {' and '.join(svg.label(move, 1) for move in moves)})"
    gives += "."
    if stage == CUT:
        title = (
            "Fold, cut once, unfold: 4 of 4 right"
            if right == 4
            else f"Folded like this, the cut gets {right} of 4 right"
        )
        return (
            title,
            f"{gives} The cut, where it gives ½, is one straight line when folded; unfolded it is {_pieces(sheet)}.",
        )
    if stage == 0:
        return (
            "A sheet of paper with four points, still flat",
            f"{gives} Nothing has happened yet: both sheets are the same.",
        )
    if stage <= LAID:
        title = "W₁ and b₁ lay the sheet into the room of the neurons"
        return title, f"{gives} A matrix and a bias turn, stretch and shift the sheet; it stays flat{_part(stage)}."
    if stage > FOLDED:
        part = " (half of the way)" if stage < SIDEWAYS else ""
        return (
            "The folded sheet, looked at from the side",
            f"{gives} Turned until only what the neurons see is seen{part}.",
        )
    unit = 1 if stage <= BENT else 2
    who = "units 2 and up" if unit == 2 and sheet.units > 2 else f"unit {unit}"
    if unit > sheet.units:
        return "There is no unit 2", f"{gives} There is no second unit to fold the sheet."
    title = f"{who.capitalize()} fold{'s' * (who[-1] != 'p')} the sheet: below zero becomes zero"
    return (
        title,
        f"{gives} The part that {who} {'do' if who[-1] == 'p' else 'does'} not fire for is pressed onto zero{_part(stage)}.",
    )


def _part(stage: int) -> str:
    return ("", " (a third of the way)", " (two thirds of the way)")[stage % 3]


def _pieces(sheet: PaperSheet) -> str:
    """Into how many lines the cut falls when the sheet is unfolded; pieces that meet are one line."""
    lines: list[list[Array]] = []
    for ends in sheet.cuts:
        touching = [line for line in lines if any(np.abs(a - b).max() < 1e-6 for a in ends for b in line)]
        lines = [line for line in lines if not any(line is one for one in touching)]
        lines.append([*ends, *(point for line in touching for point in line)])
    return {0: "not on the sheet", 1: "one line, bent", 2: "two lines"}.get(len(lines), f"{len(lines)} lines")


def _curve(frame: plot.Frame, points: Array, look: plot.Look) -> str:
    return frame.curve(points[:, 0], points[:, 1], look)


def _hinge(unit: int) -> plot.Look:
    return plot.Look(UNITS[unit % 6], (7, 4) if unit % 2 else (), 2.6)


def _lines() -> Iterator[tuple[Array, Array]]:
    for n in range(round((HIGH - LOW) / STEP) + 1):
        at = LOW + STEP * n
        yield np.array([at, LOW]), np.array([at, HIGH])
        yield np.array([LOW, at]), np.array([HIGH, at])


def _grid(frame: plot.Frame, sheet: PaperSheet | None, stage: int) -> str:
    """The grid on the sheet, with corners where a hinge crosses it; no sheet: as it is when flat."""
    gap = np.full((1, 2), np.nan)
    parts = []
    for a, b in _lines():
        shares = {0.0, 1.0}
        if sheet:
            low, high = sheet.pre(a), sheet.pre(b)
            shares |= {float(low[k] / (low[k] - high[k])) for k in sheet.seams if (low[k] > 0) != (high[k] > 0)}
        corners = a + np.array(sorted(shares))[:, None] * (b - a)
        parts += [sheet.place(corners, stage) if sheet else corners, gap]
    xs, ys = np.concatenate(parts[:-1]).T
    return frame.curve(xs, ys, GRID)


def _paper(frame: plot.Frame, sheet: PaperSheet, stage: int | None, cut: bool) -> list[str]:
    """The pieces of the sheet, tinted by the units that fire there; no stage: flat. After the cut, what it takes off is paler."""
    shapes = []
    for corners, fires in sheet.faces:
        placed = corners if stage is None else sheet.place(corners, stage)
        shapes.append(svg.group(frame.polygon(placed.tolist(), style.GHOST), opacity=0.55))
        for unit in np.flatnonzero(fires):
            shapes.append(svg.group(frame.polygon(placed.tolist(), UNITS[unit % 6]), opacity=0.22))
        off = _half(corners, 0.5 - sheet.out(corners)) if cut else np.empty((0, 2))
        if len(off) > 2:
            placed = off if stage is None else sheet.place(off, stage)
            shapes.append(svg.group(frame.polygon(placed.tolist(), style.PAPER), opacity=0.7))
    return shapes


def _spots(frame: plot.Frame, places: Array) -> list[str]:
    """The four points, those with XOR = 1 filled; points that lie on each other have one label."""
    shapes, names = [], ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
    shown: list[tuple[float, float, list[str]]] = []
    spots: list[tuple[float, float]] = []
    for place, name, one in zip(places, names, XOR, strict=True):
        if not frame.holds(*place):
            continue
        x, y = frame.at(*place)
        shapes.append(
            svg.circle(x, y, 7.5, fill=style.INK if one else style.PAPER, stroke=style.INK, stroke_width=2, tip=name)
        )
        spots.append((x, y))
        near = next((spot for spot in shown if math.dist(spot[:2], (x, y)) < 28), None)
        near[2].append(name) if near else shown.append((x, y, [name]))
    written: list[tuple[float, float, float]] = []  # middle, base line, half the width
    for x, y, here in shown:
        half = 3.8 * len(", ".join(here))
        middle = min(max(x, frame.left + half - 8), frame.right - half + 8)
        lines = (y - 13, y + 22, y - 27, y + 36) if len(here) == 1 else (y + 22, y + 36, y - 13)  # the cut is above
        line = next(
            (
                at
                for at in lines
                if not any(abs(middle - m) < half + w and abs(at - b) < 13 for m, b, w in written)
                and not any(abs(middle - x) < half + 8 and abs(at - 4 - y) < 13 for x, y in spots)
            ),
            lines[0],
        )
        written.append((middle, line, half))
        shapes.append(svg.text(middle, line, ", ".join(here), size=12, anchor="middle", halo=True))
    return shapes


def _flat(still: PaperSheet, sheet: PaperSheet, stage: int, moves: tuple[float, float]) -> list[str]:
    """The input plane with its hinges; after the cut, with the cut unfolded."""
    frame = plot.Frame(
        (LOW, HIGH), (LOW, HIGH), "a", "b", (0, 1), (0, 1), left=LEFT, right=LEFT + SIDE, top=TOP, bottom=TOP + SIDE, grid=""
    )  # fmt: skip
    shapes = [
        svg.text(LEFT, TOP - 38, "unfolded: the two features", size=14, bold=True),
        *_paper(frame, sheet, None, stage == CUT),
    ]
    shapes += [frame.axes(), _grid(frame, None, 0)]
    for unit in sheet.seams:
        ends = sheet.hinge(unit)
        shapes.append(_curve(frame, ends, _hinge(unit)))
    if stage == CUT:
        shapes += [_curve(frame, ends, CUTTING) for ends in sheet.cuts]
    entries = {f"hinge {unit + 1}": _hinge(unit) for unit in range(min(sheet.units, 2))}
    shapes += [frame.legend(entries, "above"), *_spots(frame, POINTS)]
    for unit, (name, move) in enumerate(zip(("first", "second"), moves, strict=True)):
        if unit in still.seams:
            shapes.append(_knob(frame, still, unit, name, move))
    return shapes


def _knob(frame: plot.Frame, still: PaperSheet, unit: int, name: str, move: float) -> str:
    """A handle on a hinge, at a place that stays on the sheet, and away from the points, wherever the hand takes it."""
    a, b = still.hinge(unit)
    across = still.W1[:, unit] / np.linalg.norm(still.W1[:, unit])

    def room(share: float) -> float:
        way = a + share * (b - a) + np.array(MOVES)[:, None] * across
        inside = min(float((way - LOW).min()), float((HIGH - way).min()))
        return min(inside + 0.15, min(math.dist(spot, point) for spot in way for point in POINTS) - 0.05, 0.2)

    share = max(
        (0.2, 0.8, 0.3, 0.7, 0.1, 0.9, 0.4, 0.6) if unit == 0 else (0.8, 0.2, 0.7, 0.3, 0.9, 0.1, 0.6, 0.4), key=room
    )
    base = a + share * (b - a)
    ends = [frame.at(*(base + far * across)) for far in (MOVES[0], MOVES[-1])]
    sideways = abs(across[0]) >= abs(across[1])
    scale = (svg.across if sideways else svg.upright)(
        [end[0 if sideways else 1] for end in ends], (MOVES[0], MOVES[-1])
    )
    says = f"moved by {svg.label(move, 1)}"
    return svg.handle(
        *frame.at(*(base + move * across)),
        drags={name: scale},
        name=f"the hinge of unit {unit + 1}",
        says=says,
        fill=UNITS[unit],
    )


def _view(still: PaperSheet, stage: int) -> tuple[plot.Point, plot.Point]:
    """What the right plane shows, as wide as high: all that the sheet meets on its way, before a hand moves a hinge; from the side, nearer."""
    seen = np.concatenate(
        [still.place(CORNERS, 0), *(still.place(face, n) for face, _ in still.faces for n in (LAID, FOLDED))]
    )
    near = np.concatenate([still.place(face, CUT) for face, _ in still.faces] + [np.zeros((1, 2))])
    share = min(max((stage - FOLDED) / 2, 0), 1)
    wide, narrow = (
        ((all.min(axis=0) + all.max(axis=0)) / 2, 0.55 * float(np.ptp(all, axis=0).max())) for all in (seen, near)
    )
    middle, reach = wide[0] + share * (narrow[0] - wide[0]), wide[1] + share * (narrow[1] - wide[1])
    (x0, y0), (x1, y1) = (middle - reach).tolist(), (middle + reach).tolist()
    return (x0, x1), (y0, y1)


def _ticks(low: float, high: float) -> plot.Ticks:
    """Whole numbers where there are a few of them, else what matplotlib chooses."""
    whole = tuple(range(math.ceil(low), math.floor(high) + 1))
    return whole if 2 <= len(whole) <= 7 else None


def _folded(still: PaperSheet, sheet: PaperSheet, stage: int) -> list[str]:
    """The sheet on its way through the hidden layer, with its creases, and the cut at the end."""
    xs, ys = _view(still, stage)
    named = ("h₁", "h₂") if still.units <= 2 else ("along W₂", "across")
    frame = plot.Frame(
        xs, ys, named[0], named[1], _ticks(*xs), _ticks(*ys), left=RIGHT, right=RIGHT + SIDE, top=TOP, bottom=TOP + SIDE, grid="both"
    )  # fmt: skip
    folded = (
        "folded: after the hidden layer" if stage >= FOLDED else "in the hidden layer" if stage else "the same sheet"
    )
    shapes = [
        svg.text(RIGHT, TOP - 38, folded, size=14, bold=True),
        frame.axes(),
        *_paper(frame, sheet, stage, stage == CUT),
    ]
    shapes.append(_grid(frame, sheet, stage))
    for unit in sheet.seams:
        ends = sheet.hinge(unit)
        bent = [end for other in sheet.seams for end in _between(ends, sheet.pre(ends)[:, other])]
        corners = np.array(sorted([*ends, *bent], key=lambda end: math.dist(end, ends[0])))
        shapes.append(_curve(frame, sheet.place(corners, stage), _hinge(unit)))
    shapes.append(frame.legend({"the cut": CUTTING} if stage == CUT else {}, "above"))
    if stage == CUT:
        shapes += _cut(frame, sheet, xs, ys)
    return [*shapes, *_spots(frame, sheet.place(POINTS, stage))]


def _between(ends: Array, heights: Array) -> list[Array]:
    high, low = heights
    return (
        [ends[0] + (ends[1] - ends[0]) * high / (high - low)]
        if (high > SMALL) != (low > SMALL) and abs(high - low) > SMALL
        else []
    )


def _cut(frame: plot.Frame, sheet: PaperSheet, xs: plot.Point, ys: plot.Point) -> list[str]:
    """The straight line on which the output is one half."""
    slope = sheet.W2 @ sheet.axes  # out = slope · (place in the plane) + b2, for what lies in the plane
    size = float(np.linalg.norm(slope))
    if size < SMALL:
        return []
    foot = slope / size * (0.5 - sheet.b2) / size
    along = np.array([-slope[1], slope[0]]) / size
    far = 4 * max(xs[1] - xs[0], ys[1] - ys[0])
    middle = np.array([foot - far * along, foot + far * along])
    return [_curve(frame, middle, CUTTING)]
