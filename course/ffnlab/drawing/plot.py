"""Plots by matplotlib, for the figures in `ffnlab/course/figures/`: curves, areas and points over axes, on a card of `ffnlab.drawing.svg`.

A `Frame` is a pair of axes at a place on a card. Axes and legends are drawn once by matplotlib and kept; curves and areas are drawn
and clipped by its SVG backend each time, in less than a millisecond. All are text in the card's units and without ids, like the
shapes of `svg`: `at` says where a number lies, so that markers, words and handles can be laid over a plot.
"""

from __future__ import annotations

import io
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from matplotlib.transforms import Affine2D, Bbox, Transform

from ffnlab.drawing import style, svg

Point = tuple[float, float]
# Numbers, or numbers and what to write there; None: matplotlib's choice.
Ticks = tuple[float | tuple[float, str], ...] | None
Numbers = Sequence[float] | np.ndarray[Any, np.dtype[Any]]

LEFT, RIGHT = 62.0, svg.WIDTH - svg.MARGIN
TOP, BOTTOM = 66.0, 336.0
HEIGHT = 720.0  # of matplotlib's canvas; a card is cut from its upper part
SIZE = 12.0  # of tick labels and names of axes

_DIGITS = re.compile(r"-?\d+\.\d+")
_PAIR = re.compile(r"(-?[\d.]+) (-?[\d.]+)")
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_LOCK = threading.RLock()  # matplotlib's settings belong to the whole process


class Look(NamedTuple):
    """How a line looks, in a plot and in its legend: a colour of `style`, the lengths of its dashes and gaps, a width."""

    colour: str
    dash: tuple[float, ...] = ()
    width: float = 2.4


@dataclass(frozen=True)
class Frame:
    """Axes on a card, from `left` to `right` and from `top` to `bottom`, which show the numbers `x` and `y` (from, to).

    A scale is "linear" or "log". The name of the upright axis is written above it.
    """

    x: Point
    y: Point
    xlabel: str = ""
    ylabel: str = ""
    xticks: Ticks = None
    yticks: Ticks = None
    xscale: str = "linear"
    yscale: str = "linear"
    left: float = LEFT
    right: float = RIGHT
    top: float = TOP
    bottom: float = BOTTOM
    grid: str = "y"  # along which axis' ticks: "x", "y", "both", or "" for none

    def at(self, x: float, y: float) -> Point:
        """Where the data point (x, y) lies on the card."""
        across, up = _layout(self).transform.transform((x, y)).tolist()
        return across, HEIGHT - up

    def across(self, x: float) -> float:
        """How far from the card's left edge x lies."""
        return self.at(x, self.y[0])[0]

    def upright(self, y: float) -> float:
        """How far from the card's upper edge y lies."""
        return self.at(self.x[0], y)[1]

    def under(self, across: float, down: float) -> Point:
        """The data point that lies at a place of the card."""
        x, y = _layout(self).transform.inverted().transform((across, HEIGHT - down)).tolist()
        return x, y

    def holds(self, x: float, y: float) -> bool:
        """Whether a data point lies inside."""
        return min(self.x) <= x <= max(self.x) and min(self.y) <= y <= max(self.y)

    def axes(self) -> str:
        """Axes, ticks, grid and names: first of all shapes, for the others lie over them."""
        return _layout(self).axes

    def curve(self, xs: Numbers, ys: Numbers, look: Look) -> str:
        """Straight lines from point to point, cut off at the edges; a number that is NaN leaves a gap."""
        path = self._to_path(xs, ys)
        # Matplotlib keeps 1 more.
        edges = (self.left + 1, HEIGHT - self.bottom + 1, self.right - 1, HEIGHT - self.top - 1)
        inside = path.cleaned(clip=edges, remove_nans=True, simplify=False)
        corners, codes = np.asarray(inside.vertices), np.asarray(inside.codes)
        mask = codes != Path.STOP
        return _draw_path(Path(corners[mask], codes[mask]), look) if mask.sum() > 1 else ""

    def area(self, xs: Numbers, low: Numbers | float, high: Numbers | float, fill: str, edge: str = "none") -> str:
        """What lies between two curves over the same xs; a number instead of a curve is a straight edge."""
        xs = np.asarray(xs, dtype=float)
        below, above = (np.broadcast_to(np.asarray(ys, dtype=float), xs.shape) for ys in (low, high))
        corners = np.column_stack([np.concatenate([xs, xs[::-1]]), np.concatenate([below, above[::-1]])])
        return self.polygon(corners.tolist(), fill, edge)

    def polygon(self, corners: Sequence[Sequence[float]], fill: str, edge: str = "none") -> str:
        """A filled shape with these corners, cut off at the edges."""
        room = Bbox.from_extents(self.left, HEIGHT - self.bottom, self.right, HEIGHT - self.top)
        inside = self._to_path(*np.array([*corners, corners[0]]).T).clip_to_bbox(room)
        return _draw_path(inside, Look(edge, width=0.8), fill) if len(np.asarray(inside.vertices)) > 3 else ""

    def whiskers(self, spans: Sequence[Point], ys: Numbers, look: Look, cap: float) -> str:
        """Horizontal lines (from, to) at heights ys, with ends that are `cap` units of the card long each way."""
        up = abs(self.under(self.left, self.top + cap)[1] - self.under(self.left, self.top)[1])
        gap = float("nan")
        across = [x for low, high in spans for x in (low, low, gap, low, high, gap, high, high, gap)]
        upright = [end for y in ys for end in (y - up, y + up, gap, y, y, gap, y - up, y + up, gap)]
        return self.curve(across, upright, look)

    def dots(
        self,
        xs: Numbers,
        ys: Numbers,
        fill: str,
        r: float = 4.5,
        edge: str = style.PAPER,
        tips: Sequence[str] = (),
        square: bool = False,
    ) -> str:
        """A circle, or a square, at each point inside; `tips` are shown when the mouse rests on them."""
        shapes = []
        for x, y, tip in zip(xs, ys, [*tips] or [""] * len(xs), strict=True):
            if self.holds(x, y):
                across, down = self.at(x, y)
                if square:
                    corner = across - r, down - r
                    shapes.append(svg.rect(*corner, 2 * r, 2 * r, fill=fill, stroke=edge, stroke_width=1.6, tip=tip))
                else:
                    shapes.append(svg.circle(across, down, r, fill=fill, stroke=edge, stroke_width=1.6, tip=tip))
        return "".join(shapes)

    def legend(self, entries: Mapping[str, Look], place: str = "upper left") -> str:
        """What the lines are, at a place that matplotlib knows ("upper right", "lower left" …), or in one row "above" the plot."""
        return _legend(self, tuple(entries.items()), place)

    def _to_path(self, xs: Numbers, ys: Numbers) -> Path:
        """A path in matplotlib's units, which count from the bottom."""
        with np.errstate(all="ignore"):
            points = _layout(self).transform.transform(np.column_stack([xs, ys]).astype(float))
        return Path(points)


def _draw_path(path: Path, look: Look, fill: str = "none") -> str:
    """A path as matplotlib's SVG backend writes it; no setting of matplotlib's is asked."""
    with _renderer() as (renderer, buffer):
        context = renderer.new_gc()
        context.set_linewidth(look.width if look.colour != "none" else 0)
        context.set_foreground(look.colour if look.colour != "none" else fill)
        context.set_dashes(0, look.dash or None)
        context.set_joinstyle("round")
        path.should_simplify = False
        renderer.draw_path(context, path, Affine2D(), None if fill == "none" else to_rgb(fill))
    return _plain(buffer.getvalue())


@contextmanager
def _renderer() -> Iterator[tuple[Any, io.StringIO]]:
    buffer = io.StringIO()
    backend: Any = RendererSVG  # which has no types
    renderer = backend(svg.WIDTH, HEIGHT, buffer, image_dpi=72)
    yield renderer, buffer
    renderer.finalize()


_STYLE = {
    **style.SETTINGS,
    "axes.grid": False,
    "axes.labelcolor": style.MUTED,
    "axes.labelsize": SIZE,
    "axes.spines.left": False,
    "font.family": ["DejaVu Sans"],  # matplotlib's own: only for measuring
    "font.size": SIZE,
    "grid.color": style.TINT,
    "grid.linewidth": 1,
    "legend.fontsize": 13,
    "lines.scale_dashes": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "ffnlab",
    "svg.id": None,
    "xtick.labelcolor": style.MUTED,
    "xtick.major.pad": 4,
    "xtick.major.size": 4,
    "ytick.labelcolor": style.MUTED,
    "ytick.major.pad": 8,
    "ytick.major.size": 0,
}


@contextmanager
def _course_style() -> Iterator[None]:
    """matplotlib in the house's style, whatever the student has set; only for what is drawn by itself, and for one thread at a time."""
    with _LOCK, mpl.rc_context():
        dict.update(mpl.rcParams, _settings())  # as rc_context itself puts them back: valid already
        yield


@lru_cache(maxsize=1)
def _settings() -> mpl.RcParams:
    defaults = {
        name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith(("backend", "interactive"))
    }
    return mpl.RcParams({**defaults, **_STYLE})


class _AxesWithZero(NamedTuple):
    axes: Any
    zero: Line2D | None  # a line at the height 0


@lru_cache(maxsize=64)
def _axes_at(
    place: tuple[float, float, float, float], scales: tuple[str, str], grid: str, automatic: tuple[bool, bool]
) -> _AxesWithZero:
    """Axes at a place of the card, which many frames share one after the other: making them takes longer than drawing them."""
    figure = Figure(figsize=(svg.WIDTH / 72, HEIGHT / 72), dpi=72)
    FigureCanvasSVG(figure)
    left, top, right, bottom = place
    wide, tall = right - left, bottom - top
    axes: Any = figure.add_axes(
        (left / svg.WIDTH, 1 - bottom / HEIGHT, wide / svg.WIDTH, tall / HEIGHT), facecolor="none"
    )
    for set_scale, scale in zip((axes.set_xscale, axes.set_yscale), scales, strict=True):
        if scale != "linear":
            set_scale(scale)
    for axis, along in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        axis.set_minor_locator(NullLocator())
        axis.label.set(rotation=0, va="baseline", rotation_mode="anchor")
        if grid in (along, "both"):
            axis.grid(True)
    axes.xaxis.set_label_coords(0.5, -34 / tall)  # of ours: matplotlib would measure all ticks first
    axes.yaxis.set_label_coords(-42 / wide, 1 + 12 / tall)
    axes.yaxis.label.set_ha("left")
    zero = axes.axhline(0, color=style.RULE, linewidth=1, zorder=0.9) if scales[1] == "linear" else None
    return _AxesWithZero(axes, zero)


def _of(frame: Frame) -> _AxesWithZero:
    """The kept axes, with the frame's limits."""
    automatic = frame.xticks is None, frame.yticks is None  # by matplotlib
    template = _axes_at(
        (frame.left, frame.top, frame.right, frame.bottom), (frame.xscale, frame.yscale), frame.grid, automatic
    )
    template.axes.set(xlim=frame.x, ylim=frame.y)
    return template


class _Layout(NamedTuple):
    axes: str
    transform: Transform  # from data to matplotlib's units


@lru_cache(maxsize=512)
def _layout(frame: Frame) -> _Layout:
    with _course_style():
        axes, zero = _of(frame)
        if zero:
            zero.set_visible(frame.y[0] < 0 < frame.y[1])
        for axis, ticks, words in (
            (axes.xaxis, frame.xticks, frame.xlabel),
            (axes.yaxis, frame.yticks, frame.ylabel),
        ):
            axis.label.set_text(words)
            if ticks is not None:
                pairs = [tick if isinstance(tick, tuple) else (tick, svg.label(tick)) for tick in ticks]
                axis.set_major_locator(FixedLocator([value for value, _ in pairs]))
                axis.set_major_formatter(FixedFormatter([words for _, words in pairs]))
        return _Layout(_draw_artist(axes), axes.transData.frozen())


@lru_cache(maxsize=512)
def _legend(frame: Frame, entries: tuple[tuple[str, Look], ...], place: str) -> str:
    with _course_style():
        lines = [
            Line2D([], [], color=look.colour, linewidth=look.width, linestyle=(0, look.dash) if look.dash else "-")
            for _, look in entries
        ]
        above = place == "above"
        legend: Any = Legend  # knows fewer words for a place than it takes
        return _draw_artist(
            legend(
                _of(frame).axes,
                lines,
                [words for words, _ in entries],
                loc="lower left" if above else place,
                bbox_to_anchor=(0, 1) if above else None,
                ncols=len(entries) if above else 1,
                borderaxespad=0.3,
                borderpad=0.35,
                columnspacing=1.2,
                facecolor=style.PAPER,
                framealpha=0.85,
                edgecolor="none",
                fancybox=False,
                frameon=True,
                handlelength=2.4,
                handletextpad=0.6,
                labelspacing=0.35,
            )
        )


def _draw_artist(artist: Artist) -> str:
    with _renderer() as (renderer, buffer):
        artist.draw(renderer)
    return _plain(buffer.getvalue())


# matplotlib's SVG as a sum of plain shapes


def _plain(document: str) -> str:
    """The shapes of matplotlib's SVG, without groups, ids, links, clipping and fonts, which a card says once."""
    root = ET.fromstring(document)
    paths = {element.attrib["id"]: element for element in root.iter(f"{_SVG}path") if "id" in element.attrib}
    return "".join(_shapes(root, paths))


def _shapes(parent: ET.Element, paths: dict[str, ET.Element]) -> Iterator[str]:
    for element in parent:
        name = element.tag.removeprefix(_SVG)
        if name == "g":
            yield from _shapes(element, paths)
        elif name == "path":
            yield _tag("path", _look(element) | {"d": _short(element.attrib["d"])})
        elif name == "use":
            marker = paths[element.attrib[_LINK].removeprefix("#")]
            move = f"translate({_round(element.attrib['x'])} {_round(element.attrib['y'])})"
            yield _tag("path", _look(marker) | _look(element) | {"d": _short(marker.attrib["d"]), "transform": move})
        elif name == "text":
            rotation = element.attrib.get("transform", "rotate(-0 ")
            place = {key: _round(element.attrib[key]) for key in ("x", "y")}
            yield _tag(
                "text",
                _look(element) | place | ({} if rotation.startswith("rotate(-0 ") else {"transform": rotation}),
                element.text or "",
            )


def _look(element: ET.Element) -> dict[str, str]:
    """What matplotlib writes as a style, as attributes; its own font is left out."""
    pairs = (part.split(":", 1) for part in element.attrib.get("style", "").split(";") if part.strip())
    attributes = {key.strip(): value.strip().removesuffix("px") for key, value in pairs}
    attributes = {key: value.upper() if value.startswith("#") else value for key, value in attributes.items()}
    if "stroke" in attributes:
        attributes.setdefault("stroke-linejoin", "round")
    omissions = {"font-family", "stroke-dashoffset"} | ({"stroke-width"} if "stroke" not in attributes else set())
    return {key: value for key, value in attributes.items() if key not in omissions}


def _short(path: str) -> str:
    """A path's data with two decimals, a comma between the two numbers of a point; lines need no letter of their own."""
    numbers = _DIGITS.sub(lambda match: _round(match[0]), " ".join(path.replace("L", "").split()))
    return _PAIR.sub(r"\1,\2", numbers)


def _round(number: str) -> str:
    short = f"{float(number):.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _tag(name: str, attributes: Mapping[str, str], content: str = "") -> str:
    attribute_text = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{attribute_text}>{escape(content)}</{name}>" if content else f"<{name}{attribute_text}/>"
