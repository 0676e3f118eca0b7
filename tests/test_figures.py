"""Every figure stays inside its card, says its message in words that fit, keeps its size, refuses what it does not have; svg, style, Picture, controls."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import math
import pkgutil
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html import escape
from types import ModuleType, SimpleNamespace
from typing import Any

import drawings
import matplotlib
import numpy as np
import pytest
from drawings import FIGURES, PARAMETERS, REFUSALS, SVG, Draw, name_of, texts
from matplotlib.figure import Figure

from ffnlab.course import figures
from ffnlab.course.figures import feed_forward, memory, start_here
from ffnlab.drawing import controls, style, svg, widget_output
from ffnlab.drawing.figure_widget import FigureWidget
from ffnlab.drawing.picture import Picture
from ffnlab.prediction import prediction_widget

# Every figure


def test_every_figure_of_the_course_is_looked_at() -> None:
    names = set()
    for module in pkgutil.iter_modules(figures.__path__):
        functions = inspect.getmembers(importlib.import_module(f"{figures.__name__}.{module.name}"), inspect.isfunction)
        drawing = [f for name, f in functions if f.__annotations__.get("return") == "Picture" and name[0] != "_"]
        names |= {name_of(function) for function in drawing}
    assert names == set(map(name_of, PARAMETERS)) and len(names) == 27


@pytest.fixture(params=FIGURES, ids=name_of)
def pictures(request: pytest.FixtureRequest) -> dict[str, Picture]:
    """A figure at its default, smallest and largest parameters, by name."""
    return drawings.pictures_of(request.param)


def test_a_figure_is_well_formed_and_stays_inside_its_card(pictures: dict[str, Picture]) -> None:
    assert {name: wrong for name, picture in pictures.items() if (wrong := _misplaced(picture))} == {}


def _misplaced(picture: Picture) -> list[dict[str, str]]:
    """The attributes of the elements that are outside of the card, have a negative size, or an id: two figures in one notebook would share it."""
    root = ET.fromstring(picture.svg)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    limits = dict.fromkeys(("x", "cx", "x1", "x2"), width) | dict.fromkeys(("y", "cy", "y1", "y2"), height)

    def fits(element: ET.Element) -> bool:
        own = element.attrib
        corners = re.findall(r"(-?[\d.]+),(-?[\d.]+)", own.get("d", ""))
        right, bottom = (float(own.get(a, 0)) + float(own.get(b, 0)) for a, b in (("x", "width"), ("y", "height")))
        return (
            "id" not in own
            and all(0 <= float(own[name]) <= limit for name, limit in limits.items() if name in own)
            and all(float(own.get(size, 0)) >= 0 for size in ("width", "height", "r"))
            and all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in corners)
            and (element.tag != f"{SVG}rect" or (right <= width and bottom <= height))
        )

    return [dict(element.attrib) for element in root.iter() if not fits(element)]


def test_a_figure_says_its_message_for_every_reader(pictures: dict[str, Picture]) -> None:
    for name, picture in pictures.items():
        root = ET.fromstring(picture.svg)
        interactive_elements = [element for element in root.iter() if {"data-sets", "data-drags"} & set(element.attrib)]
        assert root.attrib["role"] == ("group" if interactive_elements else "img"), name
        assert all(element.attrib["aria-label"] for element in interactive_elements), name
        assert root.findtext(f"{SVG}title") == picture.title and picture.title in texts(picture), name
        assert root.findtext(f"{SVG}desc") == picture.sentence and picture.sentence.endswith("."), name
        assert "nan" not in picture.svg and "-0" not in picture.sentence.replace("Qwen3-0.6B", ""), name
        bundle = picture._repr_mimebundle_()
        assert bundle["image/svg+xml"] == picture.svg, name
        assert bundle["text/plain"] == f"{picture.title}. {picture.sentence}", name


def test_words_fit_their_place(pictures: dict[str, Picture]) -> None:
    assert [name for name, picture in pictures.items() if not _fits(picture)] == []


def _fits(picture: Picture) -> bool:
    """Whether the title fits its line, and the sentence the three lines that are kept free under the picture."""
    return len(picture.title) <= 57 and len(picture.sentence) <= 215


def test_words_fit_wherever_a_slider_stands() -> None:
    switches = [False, True]
    cards = [
        feed_forward.trace(t, 8, act, on) for t in range(14) for act in feed_forward.ACTIVATIONS for on in switches
    ]
    cards += [memory.neuron(j) for j in range(0, memory.NEURONS, 8)]
    cards += [memory.capacity(count, width) for count in memory.FACTS for width in memory.WIDTHS]
    assert [(picture.title, picture.sentence) for picture in cards if not _fits(picture)] == []


def test_a_figure_keeps_its_size_whatever_it_shows(pictures: dict[str, Picture]) -> None:
    assert len({picture.size for picture in pictures.values()}) == 1


@pytest.mark.parametrize(
    ("function", "values", "words"), REFUSALS, ids=lambda value: name_of(value) if callable(value) else None
)
def test_a_figure_refuses_what_it_does_not_have(function: Draw, values: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        function(*values)


# svg, style, Picture


def test_text_is_escaped() -> None:
    card = svg.card(
        50, "a < b & c", 'say "no"\x00', svg.text(0, 20, "</text><script>"), svg.rect(0, 0, 1, 1, tip="<&>")
    )
    root = ET.fromstring(card)
    assert root.findtext(f"{SVG}title") == "a < b & c"
    assert "</text><script>" in [element.text for element in root.iter(f"{SVG}text")]
    assert not list(root.iter(f"{SVG}script"))


@pytest.mark.parametrize(
    ("value", "short", "padded"),
    [(-0.001, "0", "0.00"), (-1.5, "−1.5", "−1.50"), (2, "2", "2.00"), (10, "10", "10.00")],
)
def test_a_number_is_written_as_people_write_it(value: float, short: str, padded: str) -> None:
    assert svg.label(value) == short and svg.label(value, pad=True) == padded


def test_the_colour_scale_is_centred_at_zero() -> None:
    assert style.diverging(0, 2) == style.PAPER
    assert style.diverging(2, 2) == style.diverging(9, 2) == style.POSITIVE
    assert style.diverging(-2, 2) == style.NEGATIVE
    with pytest.raises(ValueError, match="must be positive"):
        style.diverging(1, 0)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_the_paper() -> None:
    for colour in (style.INK, style.MUTED):
        for ground in (style.PAPER, style.TINT):
            assert (luminance(ground) + 0.05) / (luminance(colour) + 0.05) >= 4.5


@pytest.mark.parametrize(
    "parts", [{}, {"svg": svg.card(9, "t", "s"), "png": b"x"}, {"svg": "<svg/>"}, {"png": b"GIF89a"}], ids=str
)
def test_a_picture_holds_exactly_one_image(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Picture("title", "sentence", **parts)


def test_a_picture_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="in words"):
        Picture("title", " ", svg=svg.card(9, "t", "s"))


def plot(height: float = 1.0) -> Picture:
    with matplotlib.rc_context():
        style.use()
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([0, height])
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=100)
    return Picture("A line", f"It rises to {height}.", png=buffer.getvalue())


def test_a_plot_is_a_picture_too() -> None:
    picture = plot()
    assert picture.size == (200, 100)
    assert set(picture.bundle()) == {"image/png", "text/plain"}
    assert 'src="data:image/png;base64,' in picture.html() and 'alt="A line. It rises to 1.0."' in picture.html()


# controls


@pytest.fixture
def display_bundles(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    bundles: list[dict[str, Any]] = []
    monkeypatch.setattr(widget_output, "display", lambda bundle, raw, metadata=None: bundles.append(bundle))
    return bundles


def test_colab_is_told_how_to_load_a_figure_and_a_question_again(monkeypatch: pytest.MonkeyPatch) -> None:
    colab: Any = ModuleType("google.colab.output")
    colab.enable_custom_widget_manager = lambda: None
    colab._widgets = SimpleNamespace(_installed_url="https://colab/manager.js")
    monkeypatch.setitem(sys.modules, "google.colab.output", colab)
    metadata_list: list[dict[str, Any]] = []
    monkeypatch.setattr(widget_output, "display", lambda data, raw, metadata=None: metadata_list.append(metadata))
    controls.show(feed_forward.trace, **all_controls())
    prediction_widget.predict("gpt3_ffn_share")
    view = "application/vnd.jupyter.widget-view+json"
    assert (
        metadata_list == [None, {view: {"colab": {"custom_widget_manager": {"url": "https://colab/manager.js"}}}}] * 2
    )


def move(widget: FigureWidget, name: str, value: Any) -> str:
    """What the widget shows when a hand has moved a parameter to a value."""
    (stops,) = [control["stops"] for control in widget.controls if control["name"] == name]
    (index,) = [index for index, stop in enumerate(stops) if value in (stop["value"], stop["label"])]
    widget.state = widget.state | {name: index}
    assert widget.picture["state"] == widget.state
    return str(widget.picture["html"])


def all_controls() -> dict[str, controls.Control]:
    return {
        "position": controls.slider("position", 0, 13, 1, 1),
        "ratio": controls.steps("d_ff / d_model", feed_forward.RATIOS, 4.0),
        "activation": controls.choice("activation", feed_forward.ACTIVATIONS, "ReLU"),
        "permute": controls.toggle("permute tokens"),
    }


@pytest.mark.parametrize("draw", [feed_forward.trace, plot], ids=["drawing", "plot"])
def test_show_leaves_picture_and_sentence_for_the_saved_notebook(
    draw: Any, display_bundles: list[dict[str, Any]]
) -> None:
    controls.show(draw)
    still, live = display_bundles
    assert escape(draw().sentence) in still["text/html"] and "<svg" not in still["text/html"]
    assert still["text/plain"] == draw().words
    assert set(live) == {"application/vnd.jupyter.widget-view+json"}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("position", 7, {"position": 7}),
        ("ratio", 8.0, {"ratio": 8.0}),
        ("activation", "GELU", {"activation": "GELU"}),
        ("permute", True, {"permute": True}),
    ],
)
def test_every_control_changes_picture_and_sentence(name: str, value: Any, expected: dict[str, Any]) -> None:
    widget, picture = controls.make_widget(feed_forward.trace, **all_controls())
    assert isinstance(picture, Picture) and widget.picture["html"] == picture.html()
    assert move(widget, name, value) == feed_forward.trace(**expected).html() != picture.html()


def test_values_that_are_not_controls_are_passed_on() -> None:
    widget, _ = controls.make_widget(
        start_here.added, position=controls.play("position", 0, 18, 1, 0), model="its twin"
    )
    assert widget.picture["html"] == start_here.added(0, "its twin").html()


def test_whole_numbers_stay_whole_and_steps_do_not_gather_errors() -> None:
    whole = controls.slider("token", 0, 13, 1, 2)
    assert whole.value == 2 and {type(value) for _, value in whole.stops} == {int}
    tenths = controls.slider("share", -0.3, 0.3, 0.1, 0.1)
    assert tenths.stops == (
        ("−0.3", -0.3),
        ("−0.2", -0.2),
        ("−0.1", -0.1),
        ("0.0", 0.0),
        ("0.1", 0.1),
        ("0.2", 0.2),
        ("0.3", 0.3),
    )


def marks(picture: Picture, kind: str) -> list[dict[str, Any]]:
    """What the marks of a picture set, or drag."""
    root = ET.fromstring(picture.svg or "<svg/>")
    return [json.loads(element.attrib[kind]) for element in root.iter() if kind in element.attrib]


def values_of(figure: controls.Figure, parameter: str) -> list[Any]:
    """The stops of a parameter as the widget knows them."""
    (control,) = [control for control in figure.describe() if control["name"] == parameter]
    return [stop["value"] for stop in control["stops"]]


@pytest.mark.parametrize("name", drawings.load_notebook_figures())
def test_what_a_hand_can_ask_of_a_figure_it_can_draw(name: str) -> None:
    """Every mark names parameters that the notebook's figure has, and stops that they have; picture and sentence follow it."""
    figure = drawings.load_notebook_figures()[name]
    first = figure.picture(figure.start)
    requests = [
        figure.start | {parameter: values_of(figure, parameter).index(value) for parameter, value in mark.items()}
        for mark in marks(first, "data-sets")
    ]
    for scales in marks(first, "data-drags"):
        for parameter, scale in scales.items():
            stops, start = values_of(figure, parameter), figure.start[parameter]
            assert covers(scale, stops), parameter
            requests.append(figure.start | {parameter: start + 1 if start + 1 < len(stops) else start - 1})
    for state in requests:
        there = figure.picture(state)
        assert (there.svg == first.svg) == (there.sentence == first.sentence) == (state == figure.start), state
        for mark in marks(there, "data-sets"):  # which may be others than at the start
            assert all(value in values_of(figure, parameter) for parameter, value in mark.items()), mark
        for parameter, value in read_handles(there):  # a handle lies where a hand finds the value that it stands for
            stops = values_of(figure, parameter)
            assert min(range(len(stops)), key=lambda n: abs(stops[n] - value)) == state[parameter], parameter


def read_handles(picture: Picture) -> list[tuple[str, float]]:
    """Each parameter that a handle drags, and its value where the handle lies, as figure_widget.js has it."""
    handle_values = []
    for element in ET.fromstring(picture.svg or "<svg/>").iter():
        scales = json.loads(element.attrib.get("data-drags", "{}"))
        for parameter, scale in scales.items():
            (knob,) = [part for part in element if part.attrib.get("class") == "ffn-knob"]
            x, y = (float(knob.attrib[name]) for name in ("cx", "cy"))
            if scale["kind"] == "turn":
                across, down = scale["centre"]
                handle_values.append((parameter, math.degrees(math.atan2(down - y, x - across)) % 360))
            else:
                values = np.log(scale["values"]) if scale["log"] else np.array(scale["values"])
                order = np.argsort(scale["places"])
                place = x if scale["kind"] == "across" else y
                value = np.interp(place, np.array(scale["places"])[order], values[order])
                handle_values.append((parameter, float(np.exp(value) if scale["log"] else value)))
    return handle_values


def covers(scale: dict[str, Any], stops: list[float]) -> bool:
    """A hand can drag a parameter to all of its stops."""
    if scale["kind"] == "turn":
        return min(stops) >= 0 and max(stops) < 360
    way = [place for _, place in sorted(zip(scale["values"], scale["places"], strict=True))]
    assert way in (sorted(way), sorted(way, reverse=True)), "one place for each value"
    return bool(min(scale["values"]) <= min(stops) and max(stops) <= max(scale["values"]))


def test_nearly_every_diagram_can_be_touched() -> None:
    interactive_names = {
        name
        for name, figure in drawings.load_notebook_figures().items()
        if "data-" in (figure.picture(figure.start).svg or "")
    }
    others = set(drawings.load_notebook_figures()) - interactive_names
    assert len(others) <= 5, sorted(others)


def test_an_error_while_sliding_is_said_in_the_figures_place(capsys: pytest.CaptureFixture[str]) -> None:
    def fragile(height: float) -> Picture:
        if height > 1:
            raise RuntimeError("the line <leaves> the page\nsecond line")
        return plot(height)

    widget, picture = controls.make_widget(fragile, height=controls.slider("height", 0.0, 2.0, 0.5, 1.0))
    assert isinstance(picture, Picture)
    html = move(widget, "height", 1.5)
    assert "could not be drawn: the line &lt;leaves&gt; the page." in html
    assert "aspect-ratio:200/100" in html, "no jump in height"
    assert "second line" not in html and capsys.readouterr() == ("", "")
    assert move(widget, "height", 0.5) == plot(0.5).html()


@pytest.mark.parametrize("state", [{"height": 99}, {"height": -9}, {"height": "low"}, {}])
def test_a_state_that_no_hand_can_reach_is_said_in_words(state: dict[str, Any]) -> None:
    widget, _ = controls.make_widget(plot, height=controls.slider("height", 0.0, 2.0, 0.5, 1.0))
    widget.state = state
    assert "could not be drawn" in widget.picture["html"]


def test_a_figure_of_code_still_to_be_written_says_so(display_bundles: list[dict[str, Any]]) -> None:
    def unwritten(k: int) -> Picture:
        raise NotImplementedError("solve ffn_backward first")

    controls.show(unwritten, k=controls.slider("k", 0, 3, 1, 1))
    assert "solve ffn_backward first" in display_bundles[0]["text/plain"]


def test_an_error_in_the_first_drawing_is_raised() -> None:
    with pytest.raises(ValueError, match="no activation 'tanh'"):
        controls.show(feed_forward.trace, activation="tanh", position=controls.slider("position", 0, 13, 1, 1))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: controls.show(feed_forward.trace, ratoi=4), "trace has no parameter 'ratoi'; it has position, ratio"),
        (lambda: controls.show(lambda k: plot(k)), "needs a value or a control for 'k'"),
        (lambda: controls.slider("k", 3, 3, 1, 3), "low must be below high"),
        (lambda: controls.slider("k", 0, 3, 0, 1), "step must be positive"),
        (lambda: controls.slider("k", 0, 3, 1, 4), "outside 0 to 3"),
        (lambda: controls.slider(" ", 0, 3, 1, 1), "needs a label"),
        (lambda: controls.play("k", 0.0, 1.0, 0.1, 0.0), "whole numbers only"),  # type: ignore[arg-type]
        (lambda: controls.choice("k", ["a", "b"], "c"), "'c' is not one of a, b"),
        (lambda: controls.steps("k", [], "c"), "its 0 options"),
    ],
)
def test_a_wrong_control_is_refused_at_once(wrong: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        wrong()


def test_style_use_gives_matplotlib_the_same_colours() -> None:
    with matplotlib.rc_context():
        style.use()
        cycle = matplotlib.rcParams["axes.prop_cycle"].by_key()
        assert cycle["color"] == [*style.SERIES] and len(set(map(str, cycle["linestyle"]))) == 6
