"""Notebooks 00 and 02: the shared sentence and weights, and the numbers in their figures computed again, one product at a time."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest
import torch
from drawings import SVG, numbers, texts
from torch import nn

from autograder import keys
from autograder.reference import compute, draws
from ffnlab.checking import reference_files
from ffnlab.checking.checks import examine
from ffnlab.checking.verdict import Verdict
from ffnlab.course import toy_transformer, world
from ffnlab.course.figures import anatomy, feed_forward, shared, start_here
from ffnlab.drawing.picture import Picture
from ffnlab.observation.exercise import public_seed
from ffnlab.registry import active_course

RATIOS = [value for _, value in feed_forward.RATIOS]


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


# folded


@pytest.mark.parametrize("output", [0, 1])
@pytest.mark.parametrize("bent", [True, False])
def test_the_sheet_is_as_high_as_the_network_says(output: int, bent: bool) -> None:
    w1, b1, w2, b2 = feed_forward.by_hand_weights(torch.float64)
    for x1, x2 in ((0.0, 0.0), (1.0, 1.0), (1.75, 0.5), (0.25, 1.5), (0.25, 0.5)):
        pre = torch.tensor([x1, x2], dtype=torch.float64) @ w1 + b1
        act = torch.relu(pre) if bent else pre
        out = (act @ w2 + b2).tolist()
        drawn = feed_forward.folded(x1, x2, output, bent)
        assert numbers(drawn.title) == ([] if bent else [1.0]) + [out[output]]
        assert {x1, x2, out[output]} <= set(numbers(drawn.sentence))
        written = texts(drawn)
        for j, name in enumerate(feed_forward.NEURONS):
            assert (f"“{name}”" in drawn.sentence) == (bent and bool(pre[j] > 0))
            row = written[len(written) - written[::-1].index(name)]  # behind the last place where it is named
            assert numbers(row)[3:] == ([float(pre[j]), float(act[j])] if bent else [float(pre[j])])
        for k, name in enumerate(feed_forward.OUTPUTS):
            assert numbers(written[written.index(name) + 2]) == [out[k]]


def test_each_piece_is_flat_and_has_the_neurons_that_fire_there() -> None:
    """The pieces cover the square once; on each the output is one affine function, and no two of them are the same."""
    w1, b1, w2, b2 = feed_forward.by_hand_weights(torch.float64)
    covered, slopes = 0.0, []
    for corners, firing in feed_forward.PIECES:
        ends = torch.tensor(corners, dtype=torch.float64)
        after = ends.roll(-1, 0)
        covered += float((ends[:, 0] * after[:, 1] - ends[:, 1] * after[:, 0]).sum().abs()) / 2
        weights = torch.rand(50, len(corners), dtype=torch.float64) + 0.01
        inside = weights / weights.sum(1, keepdim=True) @ ends
        pre = inside @ w1 + b1
        assert ((pre > 0) == torch.tensor([j in firing for j in range(3)])).all()
        with_one = torch.cat([inside, torch.ones(50, 1)], 1)
        out = torch.relu(pre) @ w2 + b2
        plane = torch.linalg.lstsq(with_one, out).solution  # [3, 2]
        assert torch.allclose(with_one @ plane, out, atol=1e-9)
        slopes.append([tuple(row) for row in plane[:2].T.round(decimals=6).tolist()])
    assert covered == 4.0
    assert all(len({piece[k] for piece in slopes}) == 4 for k in range(2))
    for (start, end), weight, bias in zip(feed_forward.HINGES, w1.T, b1, strict=True):
        assert all(float(weight @ torch.tensor(point, dtype=torch.float64) + bias) == 0 for point in (start, end))


# What the checks say and see


def verdict_on(exercise: str, answer: object) -> Verdict:
    key = keys.find(exercise)
    return compute.verdict_of(key, answer, draws.public_seeds(key.exercise))


def test_a_wrong_number_of_a_shape_is_told_by_its_place() -> None:
    symptom = verdict_on("hello_shape", lambda x: (x.shape[0], 99, x.shape[2])).symptom
    assert symptom.startswith("another x, the second of your three numbers, and in all 3 other cases: 99 is not right")


def test_a_text_with_every_number_is_no_extra_repr() -> None:
    source = next(right.source for right in keys.find("PositionwiseFeedForward").rights if right.name == "WithModules")
    own = 'return f"d_model={self.d_model}, d_ff={self.d_ff}"'
    assert own in source
    namespace = {"nn": nn}
    exec(source.replace(own, 'return " ".join(map(str, range(100)))'), namespace)
    lost = [
        aspect.name
        for aspect in verdict_on("PositionwiseFeedForward", namespace["PositionwiseFeedForward"]).aspects
        if aspect.symptom
    ]
    assert lost == ["extra_repr"]


# start_here


def test_the_picture_shows_what_the_ffn_adds_to_each_row() -> None:
    x = start_here.batch()
    assert tuple(x.shape) == (2, 19, 32)
    for name, load in start_here.MODELS.items():
        model = load()
        rows = model.gather(toy_transformer.tensor(start_here.SENTENCES))
        drawn = start_here.added(1, name)
        assert model.linear2 is not None
        row = model.linear2(model.hidden(rows))[0, 1]
        assert numbers(drawn.sentence)[-2:] == pytest.approx([float(row.norm()), float(rows[0, 1].norm())], abs=0.05)


def test_what_notebook_00_says_of_the_positions_at_which_the_ffn_speaks() -> None:
    speaks, faint = [], []
    for scene in toy_transformer.ALL_SCENES:
        hidden = toy_transformer.activations(toy_transformer.load(), world.wish(scene)[:-1])
        strongest = hidden.amax(dim=1)
        speaks.append(strongest[[world.VERB, world.FEELING - 1]].min().item())
        faint.append(strongest[world.SIGHT - 1].item() > toy_transformer.SILENT)
    assert min(speaks) > 0.7
    assert sum(faint) / len(faint) == pytest.approx(0.6, abs=0.05)
    model = toy_transformer.load()
    hidden = toy_transformer.activations(model, start_here.SENTENCES[0])
    assert (hidden.amax(dim=1) > toy_transformer.SILENT).nonzero().flatten().tolist() == [world.VERB, world.FEELING - 1]
    assert model.linear2 is not None
    added = model.linear2(hidden)
    others = [t for t in range(start_here.T) if t not in (world.VERB, world.FEELING - 1)]
    assert torch.allclose(added[others], added[others[:1]].expand(len(others), -1), atol=0.01)
    assert 2.5 < start_here._rows("its twin").lengths[12] / start_here._rows("its twin").lengths_before[12] < 3
    assert min(start_here._rows("its twin").lengths[1:]) > 5


def test_the_map_names_every_notebook_and_lights_one() -> None:
    words = texts(anatomy.block("02"))
    assert all(title.partition(":")[0] in words for title in anatomy.TITLES)
    assert len(anatomy.TITLES) == len(active_course().notebooks) == 12
    assert len({anatomy.block(part).svg for part in ("", *anatomy.PARTS)}) == 11


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_only_large_tokens_reach_the_place_where_relu6_is_cut_off(seed: int) -> None:
    drawn = active_course().exercise("ffn_forward").inputs(seed, 0)
    usual, far = (drawn[name] @ drawn["W1"] + drawn["b1"] for name in ("x", "far"))
    assert float(usual.abs().max()) < 5.6 and float(far.max()) > 20
    assert 0 < float(drawn["x"][0, 0, 0, 0].abs()) < 1e-3 and not drawn["x"][0, -1, -1].any()


# ffn_backward


@pytest.mark.parametrize("case", range(4))
def test_the_way_back_is_what_autograd_finds_and_what_small_steps_measure(case: int) -> None:
    """The truth walks every path; here it meets two who know nothing of paths. Small steps are kept away from the kinks."""
    names = ("x", "W1", "b1", "W2", "b2")
    key = keys.find("ffn_backward")
    drawn = key.exercise.inputs(1000 + case, case)
    gradients = key.the_truth.answer(*(drawn[name] for name in (*names, "dy")))

    def loss(**inputs: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(inputs["x"] @ inputs["W1"] + inputs["b1"])
        total: torch.Tensor = ((hidden @ inputs["W2"] + inputs["b2"]) * drawn["dy"]).sum()
        return total

    leaves = {name: drawn[name].clone().requires_grad_() for name in names}
    slopes = torch.autograd.grad(loss(**leaves), list(leaves.values()))
    for name, slope in zip(names, slopes, strict=True):
        assert torch.allclose(gradients[f"d{name}"], slope, atol=1e-12), name

    drawn["x"][drawn["x"] == 0] = 0.01  # the token at a kink moves off it
    gradients = key.the_truth.answer(*(drawn[name] for name in (*names, "dy")))
    for name in names:
        for place in ((0,) * drawn[name].ndim, (-1,) * drawn[name].ndim):
            ends = []
            for step in (1e-7, -1e-7):
                moved = drawn[name].clone()
                moved[place] += step
                ends.append(float(loss(**{each: drawn[each] for each in names} | {name: moved})))
            assert (ends[0] - ends[1]) / 2e-7 == pytest.approx(float(gradients[f"d{name}"][place]), abs=1e-5), name


def test_a_gradient_that_arrives_is_not_said_to_be_missing() -> None:
    def ffn_forward(x: Any, W1: Any, b1: Any, W2: Any, b2: Any, act: Any = torch.relu) -> Any:
        return act(x @ W1 + b1).detach() @ W2 + b2

    exercise = active_course().exercise("ffn_forward")
    seeds = [public_seed(exercise.name, case) for case in range(exercise.cases)]
    verdict, _ = examine(exercise, reference_files.load_public(exercise.name), ffn_forward, seeds)
    (symptom,) = (aspect.symptom for aspect in verdict.aspects if aspect.name == "gradients")
    assert symptom.startswith("no gradient reaches x") and "(right: “gradient of" in symptom
