"""Shapes as SVG text, for the diagrams in `ffnlab/course/figures/`. Units are the view box's; y grows downwards.

Every shape is a string, so a figure is a sum of strings. There are no ids: figures can share a page.

An element that is touched sets parameters of its figure: `button` sets them, `handle` drags them along a `Scale`. What a hand does with
them is in figure_widget.js; in a saved picture they are drawn like everything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ffnlab.drawing import style

ZOOM = 1.125  # screen pixels per unit when there is room
WIDTH = 640.0  # all figures are equally wide, so that their type is equally large
MARGIN = 20.0

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN = re.compile(r"[\w #.,+:;()%-]*")


def _clean(content: str) -> str:
    if _PLAIN.fullmatch(content):
        return content
    return escape(_NOT_XML.sub("\ufffd", content))


def _number(value: float) -> str:
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _tag(name: str, content: str = "", /, **attributes: float | str | None) -> str:
    attribute_text = "".join(
        f' {key.lstrip("_").replace("_", "-")}="{_clean(value) if isinstance(value, str) else _number(value)}"'
        for key, value in attributes.items()
        if value not in (None, "")
    )
    return f"<{name}{attribute_text}>{content}</{name}>" if content else f"<{name}{attribute_text}/>"


def _tip(words: str) -> str:
    return f"<title>{_clean(words)}</title>" if words else ""


def label(value: float, digits: int = 2, pad: bool = False) -> str:
    """A number as people write it: a true minus sign, never "-0", and trailing zeros only with `pad`."""
    short = f"{round(value, digits) + 0.0:.{digits}f}"
    if not pad and "." in short:
        short = short.rstrip("0").rstrip(".")
    return short.replace("-", "\u2212")


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str = "none",
    stroke: str = "none",
    stroke_width: float = 1,
    radius: float = 0,
    dash: str = "",
    tip: str = "",
) -> str:
    """A rectangle; `tip` is shown when the mouse rests on it."""
    line = None if stroke == "none" else stroke
    return _tag(
        "rect",
        _tip(tip),
        x=x,
        y=y,
        width=max(width, 0),
        height=max(height, 0),
        rx=radius or None,
        fill=fill,
        stroke=line,
        stroke_width=stroke_width if line else None,
        stroke_dasharray=dash,
    )


def circle(
    x: float,
    y: float,
    r: float,
    *,
    fill: str = "none",
    stroke: str = "none",
    stroke_width: float = 1,
    tip: str = "",
) -> str:
    line = None if stroke == "none" else stroke
    width = stroke_width if line else None
    return _tag("circle", _tip(tip), cx=x, cy=y, r=r, fill=fill, stroke=line, stroke_width=width)


def line(
    x1: float, y1: float, x2: float, y2: float, *, stroke: str = style.RULE, width: float = 1, dash: str = ""
) -> str:
    return _tag(
        "line",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        stroke=stroke,
        stroke_width=width,
        stroke_dasharray=dash,
        stroke_linecap="round",
    )


def path(
    points: Iterable[tuple[float, float]],
    *,
    stroke: str = "none",
    width: float = 1,
    fill: str = "none",
    dash: str = "",
    closed: bool = False,
) -> str:
    """Straight lines from point to point."""
    steps = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
    line = None if stroke == "none" else stroke
    return _tag(
        "path",
        d=f"M{steps}{'Z' if closed else ''}",
        fill=fill,
        stroke=line,
        stroke_width=width if line else None,
        stroke_dasharray=dash,
        stroke_linejoin="round",
    )


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = 13,
    fill: str = style.INK,
    anchor: str = "start",
    bold: bool = False,
    halo: bool = False,
) -> str:
    """One line of text on base line y; anchor: start, middle or end. A halo keeps it readable over lines."""
    return _tag(
        "text",
        _clean(content) or "\u200b",
        x=x,
        y=y,
        font_size=size,
        fill=fill,
        text_anchor=None if anchor == "start" else anchor,
        font_weight="600" if bold else None,
        stroke=style.PAPER if halo else None,
        stroke_width=5 if halo else None,
        stroke_linejoin="round" if halo else None,
        paint_order="stroke" if halo else None,
    )


def group(*shapes: str, shift: tuple[float, float] = (0, 0), opacity: float = 1) -> str:
    """Shapes moved, or made fainter, together."""
    move = f"translate({_number(shift[0])} {_number(shift[1])})" if shift != (0, 0) else None
    return _tag("g", "".join(shapes) or "<g/>", transform=move, opacity=opacity if opacity < 1 else None)


@dataclass(frozen=True)
class Scale:
    """How a place in the card becomes the value of a parameter while a handle is dragged. Made by the functions below.

    kind "across" and "upright": at `places[n]` along x or y the value is `values[n]`, and from one to the next it runs by equal
    steps or, with `log`, by equal factors; two are enough unless the element's way is uneven. Places rise or fall, and so do values.
    "turn": the angle around `centre`, in degrees, against the clock from the right.
    """

    kind: str
    places: tuple[float, ...] = (0.0, 1.0)
    values: tuple[float, ...] = (0.0, 1.0)
    log: bool = False
    centre: tuple[float, float] = (0.0, 0.0)

    def describe(self) -> dict[str, Any]:
        """The scale as JSON data, for figure_widget.js."""
        if self.kind == "turn":
            return {"kind": self.kind, "centre": self.centre}
        return {"kind": self.kind, "places": self.places, "values": self.values, "log": self.log}


def across(places: Sequence[float], values: Sequence[float], log: bool = False) -> Scale:
    """A value along x."""
    return Scale("across", tuple(places), tuple(values), log)


def upright(places: Sequence[float], values: Sequence[float], log: bool = False) -> Scale:
    """A value along y, which grows downwards."""
    return Scale("upright", tuple(places), tuple(values), log)


def turn(centre: tuple[float, float]) -> Scale:
    """An angle in degrees, 0 to 360."""
    return Scale("turn", centre=centre)


def button(*shapes: str, sets: Mapping[str, Any], name: str) -> str:
    """Shapes that set parameters when they are pressed; `name` says what that does ("show neuron 3")."""
    return _tag("g", "".join(shapes), data_sets=json.dumps(dict(sets)), aria_label=name)


def handle(
    x: float, y: float, *, drags: Mapping[str, Scale], name: str, says: str, fill: str = style.INK, r: float = 7
) -> str:
    """A knob that is dragged, or moved with the arrow keys: `name` says what it moves, `says` where it is now.

    Around the knob is room for a finger.
    """
    scales = {parameter: scale.describe() for parameter, scale in drags.items()}
    knob = _tag("circle", _class="ffn-knob", cx=x, cy=y, r=r, fill=fill, stroke=style.PAPER, stroke_width=2.5)
    room = _tag("circle", cx=x, cy=y, r=22, fill="transparent")
    return _tag("g", room + knob, data_drags=json.dumps(scales), aria_label=name, aria_valuetext=says)


def axis(
    x: float, y: float, length: float, ticks: Sequence[tuple[float, str]], *, name: str = "", size: float = 12
) -> str:
    """A horizontal axis at height y; ticks are (distance from x, words)."""
    parts = [line(x, y, x + length, y, stroke=style.MUTED)]
    for distance, words in ticks:
        parts += [
            line(x + distance, y, x + distance, y + 4, stroke=style.MUTED),
            text(x + distance, y + 17, words, size=size, fill=style.MUTED, anchor="middle"),
        ]
    if name:
        parts.append(text(x + length / 2, y + 34, name, size=size, fill=style.MUTED, anchor="middle"))
    return "".join(parts)


def card(height: float, title: str, sentence: str, *shapes: str) -> str:
    """A whole figure: a light card in any theme, its title, and for screen readers title and sentence.

    It takes at most the room there is and keeps its proportions.
    """
    width = WIDTH
    content = "".join(shapes)
    is_interactive = "data-sets=" in content or "data-drags=" in content  # then it is no mere image
    head = text(MARGIN, 32, title, size=17, bold=True)
    return _tag(
        "svg",
        f"<title>{_clean(title)}</title><desc>{_clean(sentence)}</desc>"
        + rect(0.5, 0.5, width - 1, height - 1, fill=style.PAPER, stroke=style.RULE, radius=10)
        + head
        + content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=width * ZOOM,
        height=height * ZOOM,
        role="group" if is_interactive else "img",
        aria_label=title if is_interactive else None,
        font_family=style.FONT,
        style="max-width:100%;height:auto;display:block",
    )
