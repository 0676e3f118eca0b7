"""The figures: every draw function at its default, smallest and largest parameters, and the controls over them."""

from __future__ import annotations

import io
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import ipywidgets
import matplotlib
import pytest
import torch
from matplotlib.figure import Figure

from ffnlab import controls, style, svg
from ffnlab.figures import feed_forward, shared, start_here
from ffnlab.picture import Picture

SVG = "{http://www.w3.org/2000/svg}"
RATIOS = [value for _, value in feed_forward.RATIOS]


def draw(function: Callable[..., Picture], *values: Any) -> Callable[[], Picture]:
    return lambda: function(*values)


PARAMETERS: list[tuple[Callable[..., Picture], list[tuple[Any, ...]]]] = [
    (
        feed_forward.trace,
        [(), (0, 1.0, "identity"), (13, 8.0, "SiLU", True), (5, 8 / 3, "GELU"), (8, 8.0, "GELU", True)],
    ),
    (feed_forward.by_hand, [(), (-2.0, -2.0), (2.0, 2.0), (-1.5, -0.5), (0.0, 0.0)]),
    (feed_forward.expand_contract, [(), (0, False), (3, True, "GELU"), (2, True, "identity")]),
    (feed_forward.bend, [(), (0.0,), (0.05,), (0.5,)]),
    (start_here.bars, [(), (0, 0), (13, 1)]),
    (start_here.course_map, [(), (0,), (10,)]),
]
DRAWINGS = {
    f"{getattr(function, '__name__', '')}{values}": draw(function, *values)
    for function, many in PARAMETERS
    for values in many
}


@pytest.fixture(params=DRAWINGS, ids=str)
def picture(request: pytest.FixtureRequest) -> Picture:
    return DRAWINGS[str(request.param)]()


def texts(drawn: Picture) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawn.svg).iter(f"{SVG}text")]


def numbers(words: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in re.findall(r"(?<![\w.])[−]?\d+(?:\.\d+)?", words)]


def vectors(position: int, ratio: float, activation: str) -> list[torch.Tensor]:
    """pre, act and out of one token, one product at a time."""
    x = shared.embeddings(dtype=torch.float64)[position]
    w1, b1, w2, b2 = shared.weights(ratio, dtype=torch.float64)
    functions: dict[str, Callable[[float], float]] = {
        "identity": lambda z: z,
        "ReLU": lambda z: max(z, 0.0),
        "GELU": lambda z: z * 0.5 * (1 + math.erf(z / math.sqrt(2))),
        "SiLU": lambda z: z / (1 + math.exp(-z)),
    }
    function = functions[activation]
    pre = [sum(float(x[i] * w1[i, j]) for i in range(len(x))) + float(b1[j]) for j in range(len(b1))]
    act = [function(z) for z in pre]
    out = [sum(act[j] * float(w2[j, k]) for j in range(len(act))) + float(b2[k]) for k in range(len(b2))]
    return [torch.tensor(values, dtype=torch.float64) for values in (pre, act, out)]


def bars_of(drawn: Picture) -> list[dict[int, float]]:
    """The values of the bars and zero rings of `trace`, panel by panel, as their tips say them."""
    panels: list[dict[int, float]] = []
    for element in ET.fromstring(drawn.svg).iter():
        tip = element.find(f"{SVG}title")
        if element.tag in (f"{SVG}rect", f"{SVG}circle") and tip is not None and tip.text:
            place, _, value = tip.text.partition(": ")
            if place == "0":
                panels.append({})
            panels[-1][int(place)] = 0.0 if value == "exactly 0" else float(value.replace("−", "-"))
    return panels


# Every figure


def test_a_figure_is_well_formed_and_stays_inside_its_card(picture: Picture) -> None:
    root = ET.fromstring(picture.svg)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for element in root.iter():
        for name, limit in (("x", width), ("cx", width), ("x1", width), ("x2", width), ("y", height), ("cy", height)):
            if name in element.attrib:
                assert 0 <= float(element.attrib[name]) <= limit, element.attrib
        for size in ("width", "height", "r"):
            assert float(element.attrib.get(size, 0)) >= 0
        assert "id" not in element.attrib


def test_a_figure_says_its_message_for_every_reader(picture: Picture) -> None:
    root = ET.fromstring(picture.svg)
    assert root.attrib["role"] == "img"
    assert root.findtext(f"{SVG}title") == picture.title
    assert root.findtext(f"{SVG}desc") == picture.sentence
    assert picture.title in texts(picture)
    assert picture.sentence.endswith(".") and "nan" not in picture.svg and "-0" not in picture.sentence


def test_words_fit_their_place(picture: Picture) -> None:
    assert len(picture.title) <= 57, "the title's line"
    assert len(picture.sentence) <= 215, "the three lines kept free under the picture"


def test_words_fit_for_every_token_of_the_trace() -> None:
    for position in range(14):
        for activation in feed_forward.ACTIVATIONS:
            for permute in (False, True):
                test_words_fit_their_place(feed_forward.trace(position, 8, activation, permute))


@pytest.mark.parametrize("name", ["trace", "by_hand", "expand_contract", "bend", "bars", "course_map"])
def test_a_figure_keeps_its_size_whatever_it_shows(name: str) -> None:
    assert len({drawn().size for label, drawn in DRAWINGS.items() if label.startswith(name)}) == 1


def test_a_bare_picture_shows_in_a_notebook_and_in_a_terminal(picture: Picture) -> None:
    bundle = picture._repr_mimebundle_()
    assert bundle["image/svg+xml"] == picture.svg
    assert bundle["text/plain"] == f"{picture.title}. {picture.sentence}"


# The shared sentence and weights


def test_the_shared_weights_are_the_same_everywhere_and_can_be_typed_by_hand() -> None:
    narrow, wide = shared.weights(2), shared.weights(8)
    assert torch.equal(narrow.W1, wide.W1[:, : narrow.W1.shape[1]])
    assert [tuple(part.shape) for part in shared.weights(8 / 3)] == [(6, 16), (16,), (16, 6), (6,)]
    for part in (shared.embeddings(dtype=torch.float64), *shared.weights(4, dtype=torch.float64)):
        assert torch.allclose(part * 100, (part * 100).round(), atol=1e-9)


def test_the_same_word_has_the_same_embedding() -> None:
    x = shared.embeddings()
    assert torch.equal(x[0], x[5]) and not torch.equal(x[1], x[7])


def test_a_ratio_without_whole_neurons_is_refused() -> None:
    for ratio in (0.7, 0, 9, -1):
        with pytest.raises(ValueError, match="whole number of neurons"):
            shared.weights(ratio)


# trace


@pytest.mark.parametrize("activation", list(feed_forward.ACTIVATIONS))
@pytest.mark.parametrize("ratio", RATIOS)
def test_trace_draws_the_three_vectors_of_the_token(ratio: float, activation: str) -> None:
    for position in (0, 6, 13):
        expected = vectors(position, ratio, activation)
        drawn = bars_of(feed_forward.trace(position, ratio, activation))
        assert [len(panel) for panel in drawn] == [round(6 * ratio), round(6 * ratio), 6]
        for panel, values in zip(drawn, expected, strict=True):
            assert [panel[j] for j in range(len(values))] == pytest.approx(values.tolist(), abs=6e-4)


@pytest.mark.parametrize("ratio", RATIOS)
def test_trace_counts_what_relu_silences(ratio: float) -> None:
    for position, token in enumerate(feed_forward.TOKENS):
        pre, act, out = vectors(position, ratio, "ReLU")
        drawn = feed_forward.trace(position, ratio)
        silent = int((act == 0).sum())
        assert drawn.title == f"ReLU silences {silent or 'none'} of {len(pre)} neurons for “{token}”"
        expected = [int((pre < 0).sum()), len(pre), silent, 0, len(pre) - silent, round(float(out.min()), 2)]
        assert numbers(drawn.sentence)[:6] == pytest.approx(expected)
        assert sum(value == 0 for value in bars_of(drawn)[1].values()) == silent


def test_gelu_shrinks_and_leaves_no_exact_zero() -> None:
    for position in range(len(feed_forward.TOKENS)):
        _, act, _ = vectors(position, 8, "GELU")
        drawn = feed_forward.trace(position, 8, "GELU")
        assert "silences none of 48" in drawn.title and "none is exactly 0" in drawn.sentence
        lowest = round(float(act.min()), 2)
        assert numbers(drawn.sentence)[2] == lowest and -0.17 <= lowest < 0


def test_identity_leaves_everything() -> None:
    pre, act, _ = bars_of(feed_forward.trace(activation="identity"))
    assert pre == act


@pytest.mark.parametrize("activation", list(feed_forward.ACTIVATIONS))
def test_permuting_the_tokens_moves_the_token_and_keeps_its_vectors(activation: str) -> None:
    for position, token in enumerate(feed_forward.TOKENS):
        for ratio in RATIOS:
            plain = feed_forward.trace(position, ratio, activation)
            moved = feed_forward.trace(position, ratio, activation, permute=True)
            assert bars_of(moved) == bars_of(plain)
            old, new = numbers(moved.title)
            assert old == position != new and f"“{token}”" in moved.title and "stay the same" in moved.title
    places = [numbers(feed_forward.trace(position, permute=True).title)[1] for position in range(14)]
    assert sorted(places) == list(range(14))


def test_pre_and_act_share_one_axis_range_and_no_bar_leaves_it() -> None:
    for position in range(14):
        for ratio in RATIOS:
            for activation in feed_forward.ACTIVATIONS:
                drawn = bars_of(feed_forward.trace(position, ratio, activation))
                assert max(abs(value) for panel in drawn for value in panel.values()) <= feed_forward.REACH
    ticks = [word for word in texts(feed_forward.trace()) if word in ("−3", "0", "3")]
    assert ticks[-9:] == ["−3", "0", "3"] * 3


def test_about_half_of_the_hidden_numbers_are_negative() -> None:
    share = [float((vectors(t, ratio, "ReLU")[1] == 0).double().mean()) for t in range(14) for ratio in RATIOS]
    assert 0.4 < sum(share) / len(share) < 0.6


# by_hand


@pytest.mark.parametrize("x1", [-2.0, -0.5, 0.0, 1.0, 2.0])
@pytest.mark.parametrize("x2", [-2.0, 0.5, 1.0, 2.0])
def test_by_hand_agrees_with_the_weights_it_exports(x1: float, x2: float) -> None:
    w1, b1, w2, b2 = feed_forward.by_hand_weights(torch.float64)
    pre = torch.tensor([x1, x2], dtype=torch.float64) @ w1 + b1
    out = torch.relu(pre) @ w2 + b2
    drawn = feed_forward.by_hand(x1, x2)
    assert numbers(drawn.title) == out.tolist()
    assert numbers(drawn.sentence) == [x1, x2, *pre.tolist(), *torch.relu(pre).tolist(), *out.tolist()]
    fires = ["No neuron fires", "One of three neurons fires", "Two of three neurons fire", "All three neurons fire"]
    assert drawn.title.startswith(fires[int((pre > 0).sum())])


def test_by_hand_writes_sums_that_add_up() -> None:
    for x1, x2 in ((2.0, 1.0), (-1.5, -0.5), (0.0, 2.0)):
        w1, b1, w2, b2 = feed_forward.by_hand_weights(torch.float64)
        pre = torch.tensor([x1, x2], dtype=torch.float64) @ w1 + b1
        expected = [*pre.tolist(), *(torch.relu(pre) @ w2 + b2).tolist()]
        sums = [
            words for words in texts(feed_forward.by_hand(x1, x2)) if re.fullmatch(r"[−\d.]+( [+−] [\d.]+)+", words)
        ]
        added = [sum(map(float, re.findall(r"-?[\d.]+", words.replace("− ", "-").replace("−", "-")))) for words in sums]
        assert added == expected


# expand_contract


def test_expand_contract_counts_the_zeros() -> None:
    x = shared.embeddings(feed_forward.TOKENS[:4], 8, torch.float64)
    w1, b1, _, _ = shared.weights(4, 8, torch.float64)
    hidden = torch.relu(x @ w1 + b1)
    for token in range(4):
        drawn = feed_forward.expand_contract(token)
        counts = [int((hidden == 0).sum()), int((hidden[token] == 0).sum())]
        assert numbers(drawn.title) == [counts[0], 128]
        assert numbers(drawn.sentence)[-4:] == [counts[0], 128, counts[1], 32]


def test_expand_contract_shows_every_number_once() -> None:
    for activated in (False, True):
        drawn = feed_forward.expand_contract(activated=activated)
        tips = [tip.text for tip in ET.fromstring(drawn.svg).iter(f"{SVG}title")]
        assert len(tips) - 1 == 4 * 8 + 4 * 32 + 4 * 8


# bend


def test_without_an_activation_the_line_is_straight_and_says_so() -> None:
    drawn = feed_forward.bend(0)
    curve = next(e for e in ET.fromstring(drawn.svg).iter(f"{SVG}path") if e.attrib["stroke"] == style.POSITIVE)
    points = [tuple(map(float, pair.split(","))) for pair in curve.attrib["d"][1:].split()]
    (x0, y0), (x1, y1) = points[0], points[-1]
    assert all(abs(y - (y0 + (y1 - y0) * (x - x0) / (x1 - x0))) < 0.02 for x, y in points)
    assert "exactly a straight line" in drawn.title


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_every_neuron_that_changes_sign_makes_a_kink(alpha: float) -> None:
    creek, cold = shared.embeddings(("creek", "cold"), dtype=torch.float64)
    w1, b1, w2, _ = shared.weights(4, dtype=torch.float64)
    walk = torch.linspace(-2, 3, 20_001, dtype=torch.float64)[:, None]
    pre = (creek + walk * (cold - creek)) @ w1 + b1
    kinks = int(((pre[0] > 0) != (pre[-1] > 0)).sum())
    gap = ((alpha * torch.relu(pre) + (1 - alpha) * pre - pre) @ w2)[:, 4].abs().max()
    drawn = feed_forward.bend(alpha)
    assert numbers(drawn.title)[-1] == kinks == len(list(ET.fromstring(drawn.svg).iter(f"{SVG}circle")))
    assert numbers(drawn.sentence)[-1] == pytest.approx(float(gap), abs=0.006)


# start_here


def test_bars_shows_the_row_of_the_token() -> None:
    x = start_here.batch(torch.float64)
    assert tuple(x.shape) == (2, 14, 6)
    for sentence, position in ((0, 0), (0, 3), (1, 13)):
        drawn = start_here.bars(position, sentence)
        shown = [word for word in texts(drawn) if re.fullmatch(r"−?\d\.\d\d", word)]
        assert [float(word.replace("−", "-")) for word in shown] == x[sentence, position].tolist()
        assert numbers(drawn.sentence)[:3] == [2, 14, 6]
        largest = int(x[sentence, position].abs().argmax())
        assert numbers(drawn.sentence)[-2:] == [float(x[sentence, position, largest]), largest]


def test_no_bar_of_an_embedding_leaves_the_axis() -> None:
    assert float(start_here.batch().abs().max()) <= start_here.REACH


def test_the_map_names_eleven_notebooks_and_their_minutes() -> None:
    words = texts(start_here.course_map(2))
    assert all(title in words and f"{number:02d}" in words for number, (title, _) in enumerate(start_here.STEPS))
    assert numbers(start_here.course_map(2).sentence)[2:] == [sum(m for _, m in start_here.STEPS), 2, 75]


@pytest.mark.parametrize(
    "wrong",
    [
        draw(feed_forward.trace, 14),
        draw(feed_forward.trace, -1),
        draw(feed_forward.trace, 0, 3.1),
        draw(feed_forward.trace, 0, 4.0, "tanh"),
        draw(feed_forward.expand_contract, 4),
        draw(feed_forward.bend, 1.1),
        draw(start_here.bars, 0, 2),
        draw(start_here.course_map, 11),
    ],
)
def test_a_figure_refuses_values_it_does_not_have(wrong: Callable[[], Picture]) -> None:
    with pytest.raises(ValueError, match=r"must be|there is no|whole number"):
        wrong()


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
