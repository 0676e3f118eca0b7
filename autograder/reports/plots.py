"""The charts of a report: matplotlib's SVG, to stand in a page, each with a sentence that says the same. Called by report_page. Text stays text."""

from __future__ import annotations

import io
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from typing import Any

from ffnlab.drawing import style

WIDTH = 7.6  # inches
BAR_HEIGHT = 0.33  # inches, of a bar that lies
MAX_BINS = 20
_one_at_a_time = threading.Lock()  # matplotlib's settings are the same for all threads


@dataclass(frozen=True)
class Plot:
    """A chart: what stands in a page, and the sentence that says the same."""

    svg: str
    words: str


def histogram(name: str, values: Sequence[float], most: float, unit: str, words: str) -> Plot:
    """How often which number occurs, from 0 to `most`. name: for the names inside the SVG, another for each chart of a page."""
    width = _bin_width(most)
    count = max(1, math.ceil(max([most, *values]) / width + 1e-9))
    bins = [0] * count
    for value in values:
        bins[min(count - 1, max(0, int(value / width + 1e-9)))] += 1

    def draw(axes: Any) -> None:
        places = [(index + 0.5) * width for index in range(count)]
        axes.bar(places, bins, width=0.9 * width, color=style.POSITIVE)
        for place, number in zip(places, bins, strict=True):
            if number:
                axes.text(place, number, f" {number:,} ", ha="center", va="bottom", fontsize=9, color=style.MUTED)
        axes.set_xlim(0, count * width)
        axes.set_ylim(0, 1.15 * max([1, *bins]))
        axes.set_xlabel(unit)
        axes.set_ylabel("students")
        axes.yaxis.get_major_locator().set_params(integer=True, nbins=4)
        axes.grid(visible=False, axis="x")

    return Plot(_svg(name, 2.6, draw, words), words)


def shares(name: str, rows: Sequence[tuple[str, float | None]], words: str) -> Plot:
    """Bars from 0 to 100 %, one below the other; None where there is no number."""

    def draw(axes: Any) -> None:
        for place, (_, share) in enumerate(rows):
            if share is not None:
                axes.barh(place, 100 * share, height=0.62, color=style.POSITIVE)
            label = "–" if share is None else f"{100 * share:.0f}\N{NO-BREAK SPACE}%"
            axes.text(100 * (share or 0) + 1, place, label, va="center", fontsize=9, color=style.MUTED)
        axes.set_xlim(0, 108)
        axes.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
        _list_titles(axes, [title for title, _ in rows])

    return Plot(_svg(name, 0.6 + BAR_HEIGHT * len(rows), draw, words), words)


def stacks(name: str, rows: Sequence[tuple[str, int, int]], legend: tuple[str, str], words: str) -> Plot:
    """Bars of two parts, one below the other, each under its title: (title, how many, how many more)."""
    whole = max([1, *(first + second for _, first, second in rows)])

    def draw(axes: Any) -> None:
        for place, (title, first, second) in enumerate(rows):
            axes.text(0, place - 0.2, shorten(title, 105), va="bottom", fontsize=9.5, color=style.INK)
            axes.barh(place, first, height=0.34, color=style.NEGATIVE, label=legend[0] if not place else "")
            axes.barh(
                place, second, height=0.34, left=first, color=style.PAPER, edgecolor=style.NEGATIVE, hatch="////",
                linewidth=0.8, label=legend[1] if not place else "",
            )  # fmt: skip
            label = f"{first:,}" + (f" + {second:,}" if second else "")
            axes.text(first + second + 0.01 * whole, place, label, va="center", fontsize=9.5, color=style.INK)
        axes.set_xlim(0, 1.12 * whole)
        axes.set_ylim(len(rows) - 0.65, -0.7)
        axes.set_yticks([])
        axes.set_xlabel("students")
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
        axes.grid(visible=False)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=2, fontsize=9.5, borderaxespad=0.2)

    return Plot(_svg(name, 0.85 + 0.44 * len(rows), draw, words), words)


def shorten(text: str, most: int) -> str:
    """The text without backticks, cut behind a word."""
    text = " ".join(text.replace("`", "").split())
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0].rstrip(",;:–") + " …"


def over_time(name: str, days: Mapping[date, tuple[int, int]], due: date | None, words: str) -> Plot:
    """How many attempts there were on each day: (first attempts, later ones)."""
    first = min(days)
    last = max(days)
    if due:
        first = min(first, due)
        last = max(last, due)
    whole = max(sum(both) for both in days.values())

    def draw(axes: Any) -> None:
        places = {day: (day - first).days for day in days}
        axes.bar(
            places.values(), [new for new, _ in days.values()], width=0.8, color=style.POSITIVE, label="first attempt"
        )
        axes.bar(
            places.values(), [more for _, more in days.values()], width=0.8, bottom=[new for new, _ in days.values()],
            color=style.PAPER, edgecolor=style.POSITIVE, hatch="////", linewidth=0.8, label="handed in again",
        )  # fmt: skip
        if due:
            place = (due - first).days + 0.5
            axes.axvline(place, color=style.INK, linewidth=1, linestyle="--")
            is_left = place > 0.6 * ((last - first).days + 1)
            axes.annotate(
                "due", (place, 1.17 * whole), (-4 if is_left else 4, 0), textcoords="offset points",
                ha="right" if is_left else "left", va="top", fontsize=9,
            )  # fmt: skip
        length = (last - first).days
        ticks = sorted({round(length * part / 6) for part in range(7)})
        axes.set_xticks(ticks, [_day(date.fromordinal(first.toordinal() + tick)) for tick in ticks])
        axes.set_xlim(-0.7, length + 0.7)
        axes.set_ylim(0, 1.2 * whole)
        axes.set_ylabel("attempts")
        axes.yaxis.get_major_locator().set_params(integer=True, nbins=4)
        axes.grid(visible=False, axis="x")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=2, fontsize=9, borderaxespad=0.2)

    return Plot(_svg(name, 2.6, draw, words), words)


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"


def _bin_width(most: float) -> float:
    """The width of a bin that a reader can count with: 0.5, 1, 2, 5, 10 points, or ten percent."""
    return next(width for width in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, most) if most <= width * MAX_BINS)


def _list_titles(axes: Any, titles: Sequence[str]) -> None:
    axes.set_yticks(range(len(titles)), titles)
    axes.set_ylim(len(titles) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def _svg(name: str, height: float, draw: Callable[[Any], None], words: str) -> str:
    """What `draw` draws, as an element of a page: without a header, with names of its own, in the page's type, and with the sentence as its description."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    text = io.StringIO()
    with _one_at_a_time, mpl.rc_context():
        style.use()
        mpl.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": name,
                "text.parse_math": False,
                "hatch.linewidth": 0.6,
                "hatch.color": style.MUTED,
            }
        )
        mpl.rcParams.update({"font.size": 10, "axes.labelsize": 9.5, "xtick.labelsize": 9, "ytick.labelsize": 9.5})
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.spines[["left"]].set_visible(False)
        draw(axes)
        figure.savefig(text, format="svg", transparent=True)
    return _embed(text.getvalue(), name, words)


def _embed(svg: str, name: str, words: str) -> str:
    body = svg[svg.index("<svg") :]
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\s*<style type="text/css">.*?</style>', "", body, flags=re.DOTALL)  # it would be the whole page's
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"\n\s*", "\n", body)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}-", body)
    body = re.sub(r"(font(?:-family)?: )[^;\"]*'[^;\"]*", r"\1inherit", body)
    box = re.search(r'viewBox="[^"]*"', body)
    assert box
    head = f'<svg role="img" aria-label="{escape(words.replace("`", ""))}" {box[0]} xmlns:xlink="http://www.w3.org/1999/xlink">'
    return head + body[body.index(">") + 1 :].strip()
