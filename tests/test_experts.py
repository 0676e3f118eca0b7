"""Notebook 08: its figures at default, smallest and largest parameters, with their numbers computed again, and what its probes draw."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ffnlab import atlas
from ffnlab.exercises import experts as exercises
from ffnlab.figures import experts as figures
from ffnlab.picture import Picture

SVG = "{http://www.w3.org/2000/svg}"
LOW, HIGH = (-3.0,) * 8, (3.0,) * 8
MIXED = (3.0, -3.0, 2.5, -2.5, 0.0, -0.5, 1.5, -1.5)


def draw(function: Callable[..., Picture], *values: Any) -> Callable[[], Picture]:
    return lambda: function(*values)


PARAMETERS: list[tuple[Callable[..., Picture], list[tuple[Any, ...]]]] = [
    (
        figures.router,
        [
            (),
            *((*z, t, k, norm) for z in (LOW, HIGH, MIXED) for t, k in ((0.25, 1), (4.0, 8)) for norm in figures.NORMS),
        ],
    ),
    (figures.dispatch, [(), *((frame, k) for frame in range(figures.LAST_FRAME + 1) for k in (1, 2, 3))]),
    (figures.slopes, [(), *((k, norm) for k in (1, 2, 8) for norm in figures.NORMS)]),
    (figures.totals, [(), *((name, factor) for name in figures.MODELS for _, factor in figures.FACTORS)]),
]
DRAWINGS = {
    f"{getattr(function, '__name__', '')}{values}": draw(function, *values)
    for function, many in PARAMETERS
    for values in many
}


@pytest.fixture(params=DRAWINGS, ids=str)
def picture(request: pytest.FixtureRequest) -> Picture:
    return DRAWINGS[str(request.param)]()


def numbers(words: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in re.findall(r"(?<![\w.])[−]?\d+(?:\.\d+)?", words)]


def tips(drawn: Picture) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawn.svg).iter(f"{SVG}title")][1:]


def test_a_figure_stays_inside_its_card_and_says_its_message(picture: Picture) -> None:
    root = ET.fromstring(picture.svg)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for element in root.iter():
        for name, limit in (("x", width), ("x1", width), ("x2", width), ("y", height), ("y1", height), ("y2", height)):
            assert 0 <= float(element.attrib.get(name, 0)) <= limit, element.attrib
        if element.tag == f"{SVG}rect":
            assert float(element.attrib["x"]) + float(element.attrib["width"]) <= width
    assert root.findtext(f"{SVG}title") == picture.title and root.findtext(f"{SVG}desc") == picture.sentence
    assert len(picture.title) <= 57 and len(picture.sentence) <= 215 and picture.sentence.endswith(".")
    assert "nan" not in picture.svg and "-0" not in picture.sentence


@pytest.mark.parametrize("name", ["router", "dispatch", "slopes", "totals"])
def test_a_figure_keeps_its_size_whatever_it_shows(name: str) -> None:
    assert len({drawn().size for label, drawn in DRAWINGS.items() if label.startswith(name)}) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        draw(figures.router, 3.5),
        draw(figures.router, *MIXED, 0.0),
        draw(figures.router, *MIXED, 1.0, 9),
        draw(figures.router, *MIXED, 1.0, 2, "argmax"),
        draw(figures.dispatch, figures.LAST_FRAME + 1),
        draw(figures.dispatch, 0, 4),
        draw(figures.slopes, 0),
        draw(figures.slopes, 2, "argmax"),
        draw(figures.totals, "GPT-2 small"),
        draw(figures.totals, "Mixtral-8x7B", 3.0),
    ],
)
def test_a_figure_refuses_values_it_does_not_have(wrong: Callable[[], Picture]) -> None:
    with pytest.raises(ValueError, match=r"must be|there is no"):
        wrong()


# router and slopes


def gates(z: torch.Tensor, k: int, norm: str) -> torch.Tensor:
    """The gates by masks, [E]; logits differ."""
    keep = z >= z.topk(k).values[-1]
    if norm == "topk_softmax":
        return torch.softmax(z.masked_fill(~keep, -torch.inf), 0)
    scores = torch.sigmoid(z) if norm == "sigmoid_norm" else torch.softmax(z, 0)
    scores = scores * keep
    return scores if norm == "softmax_topk" else scores / scores.sum()


@pytest.mark.parametrize("norm", figures.NORMS)
@pytest.mark.parametrize(("temperature", "k"), [(1.0, 2), (0.25, 1), (4.0, 8), (2.0, 5)])
def test_the_router_draws_the_gates(norm: str, temperature: float, k: int) -> None:
    for logits in (figures.LOGITS, MIXED):
        drawn = figures.router(*logits, temperature, k, norm)
        expected = gates(torch.tensor(logits, dtype=torch.float64) / temperature, k, norm)
        said = [numbers(tip)[-1] for tip in tips(drawn) if tip.startswith("gate")]
        assert said == pytest.approx(expected.tolist(), abs=6e-5)
        assert numbers(drawn.sentence)[-1] == pytest.approx(float(expected.sum()), abs=6e-3)
        assert numbers(drawn.title)[-1] == numbers(drawn.sentence)[-1]
        kept = [e for e in range(8) if expected[e] > 0]
        assert numbers(drawn.title)[:-1] == kept


@pytest.mark.parametrize("norm", figures.NORMS)
@pytest.mark.parametrize("k", range(1, 9))
def test_the_slopes_are_those_of_autograd(norm: str, k: int) -> None:
    z = torch.tensor(figures.LOGITS, dtype=torch.float64)
    expected = torch.func.jacrev(lambda z: gates(z, k, norm))(z)
    found = torch.tensor(figures.derivatives(k, norm), dtype=torch.float64)
    assert torch.allclose(found, expected, atol=1e-12)
    learn = int((expected.abs() > 1e-12).any(0).sum())
    assert numbers(figures.slopes(k, norm).title) == [k, learn, 8]
    assert learn == (8 if norm == "softmax_topk" else k if k > 1 else 0)


# dispatch


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_slots_are_sorted_and_come_back(k: int) -> None:
    listed = figures.slots(k)
    assert len(listed) == 6 * k and all(len({e for u, _, e in listed if u == t}) == k for t in range(6))
    sizes = [sum(1 for *_, e in listed if e == expert) for expert in range(4)]
    assert f"{', '.join(map(str, sizes))} of them" in figures.dispatch(6, k).sentence
    assert numbers(figures.dispatch(9, k).title) == [sum(1 for size in sizes if size)]
    places = figures._places(k)
    for stage, at in enumerate(places):
        by_place = sorted(range(len(listed)), key=[x for x, _ in at].__getitem__)
        if stage in (2, 3, 4):
            assert [listed[n][2] for n in by_place] == sorted(e for *_, e in listed)
        elif stage in (1, 5):
            assert by_place == list(range(len(listed)))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_frame_differs_from_the_one_before(k: int) -> None:
    frames = [figures.dispatch(frame, k) for frame in range(figures.LAST_FRAME + 1)]
    for one, other in itertools.pairwise(frames):
        assert one.svg != other.svg and one.sentence != other.sentence


# totals


@pytest.mark.parametrize("name", figures.MODELS)
def test_totals_are_counted_part_by_part(name: str) -> None:
    model = atlas.find(name)
    moe = model.experts
    assert moe
    drawn = figures.totals(name)
    one = 3 * model.d_model * model.d_ff + (2 * model.d_ff + model.d_model if model.ffn_bias else 0)
    idle = (model.n_layers - moe.dense_layers) * (moe.n - moe.k) * one
    total = atlas.total(model)
    said = [float(number) for number in re.findall(r"([\d.]+) B", drawn.title)]
    assert said == pytest.approx([(total - idle) / 1e9, total / 1e9], rel=0.005)
    assert f"{100 * (total - idle) / total:.1f} %" in drawn.sentence
    twice = figures.totals(name, 2.0)
    assert f"{total / 1e9:.{1 if total >= 9.95e9 else 2}f} B parameters" in twice.sentence
    assert f"{100 * (total - idle + idle * moe.k / (moe.n - moe.k)) / total:.1f} %" in twice.sentence


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_every_expert_has_tokens_where_values_are_asked(seed: int) -> None:
    drawn = exercises.moe_sorted.inputs(seed, 0)
    T, d_model = drawn["x"].shape
    sizes = [T, d_model, drawn["experts"][0]["W1"].shape[1], len(drawn["experts"])]
    assert len(set(sizes)) == 4
    E = len(drawn["experts"])
    assert set(drawn["idx"].flatten().tolist()) == set(range(E))
    assert all(len(set(row)) == 3 for row in drawn["idx"].tolist())
    assert not {0, E - 1} & set(drawn["few"].flatten().tolist())
    loop = exercises.moe_loop.inputs(seed, 0)
    assert (loop["gates"] >= 0).all() and (loop["gates"] > 0).any(0).all()


def test_an_expert_is_not_linear_so_that_weighting_its_input_shows() -> None:
    drawn = exercises.moe_reference.inputs(0, 0)
    expert = exercises._experts(drawn["experts"])[0]
    difference = (expert(0.3 * drawn["x"]) - 0.3 * expert(drawn["x"])).abs().max()
    assert float(difference) > 0.1
