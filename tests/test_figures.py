"""Every figure stays inside its card, says its message in words that fit, keeps its size, refuses what it does not have; svg, style, Picture, controls."""

from __future__ import annotations

import importlib
import inspect
import io
import pkgutil
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import drawings
import ipywidgets
import matplotlib
import pytest
from drawings import DRAWINGS, PARAMETERS, REFUSED, SVG, Draw, name_of, texts
from matplotlib.figure import Figure

from ffnlab import controls, figures, style, svg
from ffnlab.figures import activations, feed_forward, memory, start_here
from ffnlab.picture import Picture


@pytest.fixture(params=DRAWINGS, ids=str)
def picture(request: pytest.FixtureRequest) -> Picture:
    return drawings.picture_of(str(request.param))


# Every figure


def test_every_figure_of_the_course_is_looked_at() -> None:
    found = set()
    for module in pkgutil.iter_modules(figures.__path__):
        functions = inspect.getmembers(importlib.import_module(f"{figures.__name__}.{module.name}"), inspect.isfunction)
        drawing = [f for name, f in functions if f.__annotations__.get("return") == "Picture" and name[0] != "_"]
        found |= {name_of(function) for function in drawing}
    assert found == set(map(name_of, PARAMETERS)) and len(found) > 30


def test_a_figure_is_well_formed_and_stays_inside_its_card(picture: Picture) -> None:
    root = ET.fromstring(picture.svg)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    limits = dict.fromkeys(("x", "cx", "x1", "x2"), width) | dict.fromkeys(("y", "cy", "y1", "y2"), height)
    for element in root.iter():
        assert "id" not in element.attrib, "two figures in one notebook would share it"
        for name, value in element.attrib.items():
            assert 0 <= float(value) <= limits[name] if name in limits else True, element.attrib
        assert all(float(element.attrib.get(size, 0)) >= 0 for size in ("width", "height", "r")), element.attrib
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", element.attrib.get("d", "")):
            assert 0 <= float(x) <= width and 0 <= float(y) <= height, element.attrib
    for rect in root.iter(f"{SVG}rect"):
        assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width, rect.attrib
        assert float(rect.attrib["y"]) + float(rect.attrib["height"]) <= height, rect.attrib


def test_a_figure_says_its_message_for_every_reader(picture: Picture) -> None:
    root = ET.fromstring(picture.svg)
    assert root.attrib["role"] == "img"
    assert root.findtext(f"{SVG}title") == picture.title and picture.title in texts(picture)
    assert root.findtext(f"{SVG}desc") == picture.sentence and picture.sentence.endswith(".")
    assert "nan" not in picture.svg and "-0" not in picture.sentence.replace("Qwen3-0.6B", "")
    bundle = picture._repr_mimebundle_()
    assert bundle["image/svg+xml"] == picture.svg
    assert bundle["text/plain"] == f"{picture.title}. {picture.sentence}"


def test_words_fit_their_place(picture: Picture) -> None:
    assert len(picture.title) <= 57, "the title's line"
    assert len(picture.sentence) <= 215, "the three lines kept free under the picture"


def test_words_fit_wherever_a_slider_stands() -> None:
    switches = [False, True]
    drawn = [
        feed_forward.trace(t, 8, act, on) for t in range(14) for act in feed_forward.ACTIVATIONS for on in switches
    ]
    drawn += [activations.bends(quarter / 4, slope) for quarter in range(-24, 13) for slope in switches]
    drawn += [activations.square(n, ends) for n in range(1, 65) for _, ends in activations.INTERVALS]
    drawn += [activations.square(n, reach=reach / 2) for n in (1, 7, 64) for reach in range(19)]
    drawn += [activations.swish(beta / 2) for beta in range(21)]
    drawn += [activations.firing(bias / 4, spread / 4) for bias in range(-12, 13) for spread in range(2, 9)]
    drawn += [memory.growing(fact, count) for _, fact in memory.PEOPLE for count in range(0, memory.NEURONS + 1, 8)]
    drawn += [memory.knocked(fact, m, on) for _, fact in memory.PEOPLE for m in (0, 1, 2, 8) for on in switches]
    for one in drawn:
        test_words_fit_their_place(one)


@pytest.mark.parametrize("function", PARAMETERS, ids=name_of)
def test_a_figure_keeps_its_size_whatever_it_shows(function: Draw) -> None:
    sizes = {drawings.picture_of(name).size for name, (other, _) in DRAWINGS.items() if other is function}
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("function", "values", "words"), REFUSED, ids=lambda one: name_of(one) if callable(one) else None
)
def test_a_figure_refuses_what_it_does_not_have(function: Draw, values: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        function(*values)


# svg, style, Picture


def test_text_is_escaped() -> None:
    drawn = svg.card(
        50, "a < b & c", 'say "no"\x00', svg.text(0, 20, "</text><script>"), svg.rect(0, 0, 1, 1, tip="<&>")
    )
    root = ET.fromstring(drawn)
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
    drawn = plot()
    assert drawn.size == (200, 100)
    assert set(drawn.bundle()) == {"image/png", "text/plain"}
    assert 'src="data:image/png;base64,' in drawn.html() and 'alt="A line. It rises to 1.0."' in drawn.html()


# controls


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(controls, "display", lambda bundle, raw: shown.append(bundle))
    return shown


def page(box: ipywidgets.VBox) -> ipywidgets.HTML:
    return next(child for child in box.children if isinstance(child, ipywidgets.HTML))


def control(box: ipywidgets.VBox, label: str) -> ipywidgets.Widget:
    return next(child for child in box.children[0].children if child.description == label)


def all_controls() -> dict[str, controls.Control]:
    return {
        "position": controls.slider("position", 0, 13, 1, 1),
        "ratio": controls.steps("d_ff / d_model", feed_forward.RATIOS, 4.0),
        "activation": controls.choice("activation", feed_forward.ACTIVATIONS, "ReLU"),
        "permute": controls.toggle("permute tokens"),
    }


def test_show_leaves_a_picture_for_the_saved_notebook(displayed: list[dict[str, Any]]) -> None:
    controls.show(feed_forward.trace, **all_controls())
    (bundle,) = displayed
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/plain"}
    assert bundle["image/svg+xml"] == feed_forward.trace().svg
    assert bundle["text/plain"] == feed_forward.trace().words


def test_show_keeps_a_plot_too(displayed: list[dict[str, Any]]) -> None:
    controls.show(plot, height=controls.slider("height", 0.0, 2.0, 0.5, 1.0))
    assert set(displayed[0]) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}


@pytest.mark.parametrize(
    ("label", "value", "expected"),
    [
        ("position", 7, {"position": 7}),
        ("d_ff / d_model", 8.0, {"ratio": 8.0}),
        ("activation", "GELU", {"activation": "GELU"}),
        ("permute tokens", True, {"permute": True}),
    ],
)
def test_every_control_changes_picture_and_sentence(label: str, value: Any, expected: dict[str, Any]) -> None:
    box, first = controls.panel(feed_forward.trace, **all_controls())
    assert isinstance(first, Picture) and page(box).value == first.html()
    control(box, label).value = value
    assert page(box).value == feed_forward.trace(**expected).html() != first.html()


def test_values_that_are_not_controls_are_passed_on() -> None:
    box, _ = controls.panel(start_here.bars, position=controls.play("token", 0, 13, 1, 0), sentence=1)
    assert page(box).value == start_here.bars(0, 1).html()


def test_whole_numbers_stay_whole() -> None:
    box, _ = controls.panel(start_here.bars, position=controls.slider("token", 0, 13, 1, 2))
    assert type(control(box, "token").value) is int


def test_an_error_while_sliding_is_said_in_the_figures_place(capsys: pytest.CaptureFixture[str]) -> None:
    def fragile(height: float) -> Picture:
        if height > 1:
            raise RuntimeError("the line <leaves> the page\nsecond line")
        return plot(height)

    box, first = controls.panel(fragile, height=controls.slider("height", 0.0, 2.0, 0.5, 1.0))
    assert isinstance(first, Picture)
    control(box, "height").value = 1.5
    assert "could not be drawn: the line &lt;leaves&gt; the page." in page(box).value
    assert "aspect-ratio:200/100" in page(box).value, "no jump in height"
    assert "second line" not in page(box).value and capsys.readouterr() == ("", "")
    control(box, "height").value = 0.5
    assert page(box).value == plot(0.5).html()


def test_a_figure_of_code_still_to_be_written_says_so(displayed: list[dict[str, Any]]) -> None:
    def unwritten(k: int) -> Picture:
        raise NotImplementedError("solve ffn_trace first")

    controls.show(unwritten, k=controls.slider("k", 0, 3, 1, 1))
    assert "solve ffn_trace first" in displayed[0]["text/plain"]


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
        assert cycle["color"][:2] == [style.POSITIVE, style.NEGATIVE] and len(set(map(str, cycle["linestyle"]))) == 6
