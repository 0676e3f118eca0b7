"""Plots by matplotlib: plain shapes without ids, the same for the same numbers whatever a student has set, numbers at their places;
and colours that mean one thing."""

from __future__ import annotations

import ast
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import drawings
import matplotlib
import numpy as np
import pytest
from drawings import FIGURES, SVG

from ffnlab.course import figures
from ffnlab.course.figures import (
    capstone,
    gated,
    parameters,
)
from ffnlab.drawing import plot, style, svg

LINEAR = plot.Frame((-2, 4), (-1, 3), "x", "f(x)", (-2, 0, 2, 4), ((0, "none"), (3, "three")))
LOG = plot.Frame((1, 1024), (1e-6, 1), xticks=(1, 32, 1024), yticks=(), xscale="log", yscale="log")
ROWS = plot.Frame((0, 1), (4.5, -0.5), xticks=(0, 0.5, 1), yticks=())  # the first row on top
FRAMES = {"linear": LINEAR, "log": LOG, "rows": ROWS}

PLOTS: list[Callable[..., object]] = [
    capstone.dashboard, gated.lights, gated.table, parameters.flops,
]  # fmt: skip


def shapes(markup: str, tag: str) -> list[ET.Element]:
    return list(ET.fromstring(f'<svg xmlns="{SVG[1:-1]}">{markup}</svg>').iter(f"{SVG}{tag}"))


def points(markup: str) -> list[tuple[float, float]]:
    """The corners of all paths."""
    pairs = (re.findall(r"(-?[\d.]+),(-?[\d.]+)", path.attrib["d"]) for path in shapes(markup, "path"))
    return [(float(x), float(y)) for corners in pairs for x, y in corners]


@pytest.fixture
def fresh_caches() -> Iterator[None]:
    """Nothing that was drawn before is kept."""
    forget()
    yield
    forget()


def forget() -> None:
    for cache in (plot._axes_at, plot._layout, plot._legend):
        cache.cache_clear()


# Same numbers, same text


@pytest.mark.parametrize("draw", PLOTS, ids=drawings.name_of)
def test_a_plot_is_the_same_whatever_a_student_has_set(draw: drawings.Draw, fresh_caches: None) -> None:
    before = draw()
    forget()
    with matplotlib.rc_context(
        {"path.sketch": (1, 100, 2), "lines.linewidth": 9, "xtick.direction": "in", "font.size": 20}
    ):
        style.use()
        theirs = dict(matplotlib.rcParams)
        assert draw() == before
        assert dict(matplotlib.rcParams) == theirs, "a figure leaves matplotlib as it was"


def test_axes_that_were_used_before_draw_as_new_ones(fresh_caches: None) -> None:
    frames = [plot.Frame((-n, n), (-n, 2), f"x {n}", "y", tuple(range(-n, n + 1)), (0, 1)) for n in (7, 1, 3)]
    frames += [plot.Frame((0, 5), (0, 1)), plot.Frame((0, 70), (0, 1)), plot.Frame((0, 5), (0, 1))]
    legend = {"one": plot.Look(style.INK)}
    after_others = [(frame.axes(), frame.legend(legend)) for frame in frames]
    for frame, drawing in zip(frames, after_others, strict=True):
        forget()
        assert (frame.axes(), frame.legend(legend)) == drawing


def test_threads_draw_what_one_alone_draws(fresh_caches: None) -> None:
    frames = [plot.Frame((0, n), (0, 1), "x", "y") for n in range(1, 9)]
    settings = dict(matplotlib.rcParams)
    with ThreadPoolExecutor(8) as pool:
        together = list(
            pool.map(lambda frame: frame.axes() + frame.curve((0, 1), (0, 1), plot.Look(style.INK)), frames)
        )
    forget()
    assert together == [frame.axes() + frame.curve((0, 1), (0, 1), plot.Look(style.INK)) for frame in frames]
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("figure", FIGURES, ids=drawings.name_of)
def test_figures_can_share_a_page(figure: drawings.Draw) -> None:
    for name, picture in drawings.pictures_of(figure).items():
        for shared in (" id=", "url(", "href", "<style", "font-family='"):
            assert shared not in picture.svg, (name, shared)
        assert picture.svg.count("font-family") == 1, f"{name}: one type for a card"


# Words and numbers at their places


def test_words_of_a_plot_are_text_in_the_type_of_the_card() -> None:
    texts = {element.text: element.attrib for element in shapes(LINEAR.axes(), "text")}
    assert {"−2", "0", "2", "4", "none", "three", "x", "f(x)"} == set(texts)
    assert {attributes["font-size"] for attributes in texts.values()} == {"12"}
    legend = shapes(LINEAR.legend({"a < b": plot.Look(style.INK)}), "text")
    assert [element.text for element in legend] == ["a < b"]


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_number_lies_where_its_tick_is(frame: plot.Frame) -> None:
    places = {element.text: float(element.attrib["x"]) for element in shapes(frame.axes(), "text")}
    assert frame.xticks
    for tick in frame.xticks:
        assert isinstance(tick, (int, float))
        assert frame.across(tick) == pytest.approx(places[svg.label(tick)], abs=0.01)
    assert frame.at(frame.x[0], frame.y[0]) == pytest.approx((frame.left, frame.bottom))
    assert frame.at(frame.x[1], frame.y[1]) == pytest.approx((frame.right, frame.top))


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_under_a_place_of_the_card_is_the_number_that_lies_there(frame: plot.Frame) -> None:
    for across in np.linspace(frame.left, frame.right, 7):
        for down in np.linspace(frame.top, frame.bottom, 7):
            x, y = frame.under(across, down)
            assert frame.at(x, y) == pytest.approx((across, down), abs=1e-6)
            assert (frame.across(x), frame.upright(y)) == pytest.approx((across, down), abs=1e-6)


def test_a_handle_lies_on_the_curve_it_moves() -> None:
    xs = np.linspace(-2, 4, 13)
    corners = points(LINEAR.curve(xs, np.sin(xs), plot.Look(style.INK)))
    assert np.allclose(corners, [LINEAR.at(x, y) for x, y in zip(xs, np.sin(xs), strict=True)], atol=0.006)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_nothing_is_drawn_outside_of_the_window(frame: plot.Frame) -> None:
    xs = np.linspace(frame.x[0], 2 * frame.x[1], 50)
    lowest = min(frame.y) / 1000 if frame.yscale == "log" else min(frame.y) - 10
    wild = np.where(np.arange(50) % 2 == 0, 40 * max(frame.y), lowest)
    markup = frame.curve(xs, wild, plot.Look(style.INK)) + frame.area(xs, lowest, 5 * max(frame.y), style.TINT)
    markup += frame.dots([*xs], [*wild], style.INK)
    assert points(markup) and not shapes(markup, "circle")
    for x, y in points(markup):
        assert frame.left - 0.01 <= x <= frame.right + 0.01 and frame.top - 0.01 <= y <= frame.bottom + 0.01


def test_a_curve_that_is_nowhere_inside_draws_nothing() -> None:
    assert LINEAR.curve((0, 1), (9, 9), plot.Look(style.INK)) == LINEAR.area((5, 6), 0, 1, style.TINT) == ""
    assert LOG.curve((1, 2), (0, -1), plot.Look(style.INK)) == ""


def test_a_gap_parts_a_curve_and_a_look_is_its_line() -> None:
    nothing = float("nan")
    (path,) = shapes(LINEAR.curve((-1, 0, 1, 2, 3), (0, 0, nothing, 1, 1), plot.Look(style.CHOSEN, (7, 4), 3)), "path")
    assert path.attrib["d"].count("M") == 2 and path.attrib["fill"] == "none"
    assert (path.attrib["stroke"], path.attrib["stroke-width"], path.attrib["stroke-dasharray"]) == (
        style.CHOSEN,
        "3",
        "7,4",
    )


def test_a_whisker_has_its_ends_where_they_are_said() -> None:
    corners = points(ROWS.whiskers([(0.2, 0.6)], [1], plot.Look(style.INK), 5))
    left = ROWS.across(0.2)
    right = ROWS.across(0.6)
    middle = ROWS.upright(1)
    caps = [(x, middle + up) for x in (left, right) for up in (-5, 5)]
    assert np.allclose(sorted(corners), sorted([*caps, (left, middle), (right, middle)]), atol=0.01)


# Colours mean one thing


def test_figures_name_roles_and_no_colours() -> None:
    for path in Path(figures.__path__[0]).glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not [words for words in texts if re.search(r"#[0-9A-Fa-f]{3,8}\b", words)], path.name
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not attributes & {"POSITIVE", "NEGATIVE"}, f"{path.name}: a sign's colour comes from signed or diverging"


@pytest.mark.parametrize("figure", FIGURES, ids=drawings.name_of)
def test_a_figure_that_tells_things_apart_by_name_has_no_colour_of_choice_or_loss(figure: drawings.Draw) -> None:
    for name, picture in drawings.pictures_of(figure).items():
        text = picture.svg.upper()
        series = [colour for colour in style.SERIES if colour in text]
        assert not series or not [colour for colour in (style.CHOSEN, style.LOST) if colour in text], name


def test_every_role_has_a_colour_of_its_own_that_is_seen_on_paper() -> None:
    roles = (style.POSITIVE, style.NEGATIVE, style.CHOSEN, style.LOST, style.REFERENCE, *style.SERIES)
    assert len(set(roles)) == len(roles)
    for colour in roles:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        assert 1.05 / (sum(np.multiply(linear, (0.2126, 0.7152, 0.0722))) + 0.05) >= 3, colour


def test_pale_is_between_the_colour_and_paper() -> None:
    assert style.pale(style.CHOSEN, 0) == style.PAPER and style.pale(style.CHOSEN, 1) == style.CHOSEN
