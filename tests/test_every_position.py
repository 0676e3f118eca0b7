"""Notebook 04: the numbers in its figures computed again by loops, and its probes' layers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from drawings import LAST_TOKEN, numbers, texts, tips

from autograder import keys
from autograder.engine import grade_submission
from autograder.marking import draws, reference
from ffnlab.checking.comparison import compare, reference_outputs_of
from ffnlab.course import toy_transformer, world
from ffnlab.course.exercises import every_position as exercises
from ffnlab.course.ffn_probes import make_ffn
from ffnlab.course.figures import every_position as figures
from ffnlab.course.figures import shared
from ffnlab.observation.exercise import Draw, probe_inputs

# edit


def loudest(place: int, new: str) -> tuple[list[float], list[float]]:
    """How far what the FFN gets and gives moves at each position of the little world's sentence, computed from the model's matrices one position at a time."""
    model = toy_transformer.load()
    assert model.linear1 and model.linear2 and isinstance(model.attention, toy_transformer.Average)
    gets, gives = [], []
    for words in (figures.SAID, [*figures.SAID[:place], new, *figures.SAID[place + 1 :]]):
        own = [model.words.weight[world.NUMBER[word]] + model.places.weight[t] for t, word in enumerate(words)]
        sent = [4 * model.attention.output(model.attention.value(x)) for x in own]
        gets.append([x + sum(sent[: t + 1]) / (t + 1) for t, x in enumerate(own)])
        gives.append([model.linear2(torch.relu(model.linear1(x))) for x in gets[-1]])
    return tuple([float((a - b).norm()) for a, b in zip(*both, strict=True)] for both in (gets, gives))  # type: ignore[return-value]


@pytest.mark.parametrize("place", figures.WORDS)
def test_an_edited_word_is_heard_from_its_position_on_and_answered_at_two(place: int) -> None:
    assert figures.edit(place, 0).title == "0 of 15 inputs of the FFN change, and 0 of its outputs"
    for n, word in enumerate(figures.WORDS[place][1:], 1):
        drawn = figures.edit(place, n)
        gets, gives = loudest(place, word)
        assert [t for t, size in enumerate(gets) if size > 1e-4] == list(range(place, 15))
        assert [figures.SAID[t] for t, size in enumerate(gives) if size > 1e-4] == ["jump", "was"]
        assert drawn.title == f"{15 - place} of 15 inputs of the FFN change, and 2 of its outputs"
        shown = [text for text in texts(drawn) if re.fullmatch(r"\d+\.\d\d", text)]
        expected = [size for pair in zip(gets, gives, strict=True) for size in pair if size > 1e-4]
        assert [float(text) for text in shown] == pytest.approx(expected, abs=6e-3)


@pytest.mark.parametrize("only", figures.PLACES[1:])
def test_a_position_that_is_told_alone_changes_its_own_output_at_most(only: int) -> None:
    for place, words in figures.WORDS.items():
        for n in range(1, len(words)):
            into, out = int(only >= place), int(only >= place and only in (10, 14))
            assert (
                figures.edit(place, n, only).title == f"{into} of 15 inputs of the FFN change, and {out} of its outputs"
            )


def test_each_edit_has_its_own_reason() -> None:
    ditch, warm = figures.edit(1, 2), figures.edit(3, 2)
    assert "at “jump”: cold land, instead of cold water; at “was”: spunky in the cold, as before" in ditch.sentence
    assert "over → into" in texts(ditch) and "glad → sorry" not in texts(ditch)
    assert "over → into" in texts(warm) and "glad → sorry" in texts(warm)


# jacobian


def ffn_by_loops(x: list[float], d_model: int = 6) -> list[float]:
    w1, b1, w2, b2 = (part.tolist() for part in shared.weights(4, d_model, torch.float64))
    hidden = [max(0.0, sum(x[i] * w1[i][j] for i in range(d_model)) + b1[j]) for j in range(4 * d_model)]
    return [sum(hidden[j] * w2[j][k] for j in range(4 * d_model)) + b2[k] for k in range(d_model)]


@pytest.mark.parametrize("length", range(2, figures.LONGEST + 1))
def test_the_jacobian_has_the_blocks_that_the_layer_lets_see(length: int) -> None:
    expected = {
        "FFN": length,
        "attention": length**2,
        "causal attention": length * (length + 1) // 2,
        "convolution, kernel 3": 3 * length - 2,
    }
    for layer, blocks in expected.items():
        drawn = figures.jacobian(layer, length)
        assert numbers(drawn.title)[-2:] == [blocks, length**2]
        assert len(tips(drawn)) == 16 * blocks
        assert numbers(drawn.sentence)[:6] == [length, 4, 4 * length, 4 * length, length**2, blocks]
        if blocks > length:
            assert numbers(drawn.sentence)[6] == blocks - length


def test_a_block_of_the_ffn_holds_its_derivatives() -> None:
    x = shared.embeddings(figures.TOKENS[:2], 4, torch.float64)[1].tolist()
    step = 1e-6
    for i in range(4):
        for j in range(4):
            up, down = ([*x[:j], x[j] + sign * step, *x[j + 1 :]] for sign in (1, -1))
            slope = (ffn_by_loops(up, 4)[i] - ffn_by_loops(down, 4)[i]) / (2 * step)
            (tip,) = [tip for tip in tips(figures.jacobian("FFN", 2)) if tip.startswith(f"creek {i} by creek {j}:")]
            assert numbers(tip)[-1] == pytest.approx(slope, abs=6e-4)


# boxes


def test_one_ffn_serves_any_length_and_own_ones_end_at_the_eighth_token() -> None:
    one = 6 * 24 + 24 + 24 * 6 + 6
    for length in range(1, LAST_TOKEN + 2):
        shared_one, own = figures.boxes(length), figures.boxes(length, own=True)
        assert numbers(shared_one.title) == [one, length]
        missing = max(0, length - figures.TRAINED)
        assert numbers(own.title) == ([8, missing, length] if missing else [8, 8 * one])
        assert own.svg.count(">?<") == missing and own.svg.count(">FFN ") == 8, (
            "a box for each position, and then a cliff"
        )
        assert shared_one.svg.count(">FFN<") == 1, "one box, whatever the length"


# sublayers


def test_the_norms_stand_beside_the_path_or_on_it() -> None:
    pre, post = figures.sublayers("pre"), figures.sublayers("post")
    assert "no norms on the path" in pre.title and "2 norms on the path" in post.title
    assert "out = z + FFN(norm(z))" in pre.svg and "out = norm(z + FFN(z))" in post.svg


# bottleneck


def points_of(d_ff: int, plus_x: bool) -> torch.Tensor:
    """The points of a picture as their tips say them, [14, 3], in the order of the sentence."""
    said = sorted(tips(figures.bottleneck(d_ff, plus_x)), key=lambda tip: int(tip.split()[0]))
    return torch.tensor([numbers(tip)[-3:] for tip in said], dtype=torch.float64)


@pytest.mark.parametrize("d_ff", [1, 2, 3])
def test_a_bottleneck_leaves_a_line_a_plane_or_the_room_and_x_fills_it_again(d_ff: int) -> None:
    narrow, wide = points_of(d_ff, False), points_of(d_ff, True)
    assert narrow.shape == wide.shape == (14, 3)
    assert torch.linalg.matrix_rank(narrow, atol=0.2) == d_ff and torch.linalg.matrix_rank(wide, atol=0.5) == 3
    weights = torch.tensor(figures.WRITES[:d_ff])
    used = torch.linalg.lstsq(weights.T, narrow.T).solution
    assert (used > -0.15).all(), "a neuron writes its arrow, or nothing, never the opposite"
    for points, plus_x in ((narrow, False), (wide, True)):
        drawn = figures.bottleneck(d_ff, plus_x)
        expected = torch.linalg.svdvals(points).tolist()
        *values, rank, _ = numbers(drawn.sentence)[2:]
        assert rank == (3 if plus_x else d_ff) and values == pytest.approx(expected, abs=0.2)
        assert values.count(0) == 3 - rank


def test_the_plane_is_seen_from_its_edge_at_120_degrees_and_points_stay_in_the_cube() -> None:
    edge_on = [azimuth for azimuth in figures.AZIMUTHS if "edge" in figures.bottleneck(2, False, azimuth).sentence]
    assert edge_on == [120]
    assert all(
        float(points_of(d_ff, plus_x).abs().max()) < figures.ROOM for d_ff in (1, 2, 3) for plus_x in (False, True)
    )


# The layers that `is_position_wise` is asked about


Asked = Iterator[tuple[str, bool, exercises.Layer]]


def asked_about(seed: int) -> Asked:
    """Every function of a draw: what it is, whether it is position-wise, and the function."""
    drawn = exercises.is_position_wise.inputs(seed, 0)
    for name, known in exercises.ASKED.items():
        layers = exercises.layers_of(drawn[name], drawn["shared"])
        for label, layer in zip(drawn["_labels"][name], layers, strict=True):
            yield label, known[label], layer


@pytest.mark.parametrize("seed", range(10))
def test_mixing_is_large_and_rounding_is_small_in_every_layer_asked_about(seed: int) -> None:
    for dtype, rounding in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        for label, position_wise, layer in asked_about(seed):
            rng = Draw(seed)
            T, d = layer.numbers["bias"].shape
            vector, outputs, size = rng.normal(d, dtype=dtype), [], 0.0
            for t in range(T):
                X = rng.normal(T, d, dtype=dtype)
                X[t] = vector
                outputs.append(layer(X)[t].detach())
                size = max(size, float(layer(X).detach().abs().max()))
            largest = max(float((one - other).abs().max()) for one in outputs for other in outputs) / size
            if "far less than 1/10,000" in label:
                assert 1.2e-5 < largest < 8e-5
            else:
                assert largest < rounding if position_wise else largest > 1 / 50, label


@pytest.mark.parametrize("seed", range(10))
def test_what_differs_is_above_zero_in_one_number_and_below_it_in_another(seed: int) -> None:
    """So no comparison with its signs decides by luck. Three functions move all numbers the same way, on purpose; some differ by rounding alone."""
    one_way = ("takes something off", "lowers", "raises")
    for label, position_wise, layer in asked_about(seed):
        rng = Draw(seed)
        T, d = layer.numbers["bias"].shape
        X, each = rng.normal(T, T, d), torch.arange(T)
        X[each, each] = rng.normal(d)
        outputs = layer(X).detach()
        differences = outputs[each, each] - outputs[0, 0]
        if position_wise:
            constant = not any(layer.used[part] for part in ("gain", "norm"))
            assert constant or bool(differences.any()), f"{label}: the same to the last digit"
        elif not any(words in label for words in one_way):
            size = float(outputs.abs().max())
            assert float(differences.max()) > 0.004 * size and float(differences.min()) < -0.004 * size, label


def test_every_part_asks_about_functions_of_both_kinds_in_an_order_that_is_drawn() -> None:
    assert all({True, False} == set(known.values()) for known in exercises.ASKED.values())
    orders = [exercises.is_position_wise.inputs(seed, 0)["_labels"] for seed in range(6)]
    for name in exercises.ASKED:
        assert len({tuple(order[name]) for order in orders}) == 6


def test_nothing_but_its_numbers_tells_the_functions_apart() -> None:
    looks: dict[bool, set[object]] = {True: set(), False: set()}
    for _, position_wise, layer in asked_about(0):
        sizes = {name: (tuple(value.shape), value.dtype) for name, value in layer.numbers.items()}
        looks[position_wise].add((type(layer), tuple(sorted(sizes.items()))))
    assert looks[True] == looks[False]


def test_what_the_functions_are_is_not_told_to_the_process_that_runs_student_code() -> None:
    exercise = exercises.is_position_wise
    sent = grade_submission._question(exercise.name, draws.hidden_seeds(exercise, b"secret"))
    assert not any(label.encode() in sent for known in exercises.ASKED.values() for label in known)
    assert "_labels" not in probe_inputs(exercise.inputs(0, 0))


def test_a_counter_of_calls_earns_nothing() -> None:
    """It gives the answers that were right on the public draws, in their order."""
    key = keys.find("is_position_wise")
    right: list[bool] = []

    def noted(f: Any, T: int, d: int, seed: int = 0) -> bool:
        right.append(bool(key.the_truth.answer(f, T, d, seed)))
        return right[-1]

    reference.observe(key.exercise, noted, draws.public_seeds(key.exercise))
    told, hidden = itertools.cycle(right), draws.hidden_seeds(key.exercise, b"secret")
    truth, counted = (reference.observe(key.exercise, answer, hidden) for answer in (noted, lambda *_: next(told)))
    inputs = reference.inputs(key.exercise, hidden)
    verdict = compare(key.exercise, reference_outputs_of(key.exercise, truth, [], inputs), counted, inputs)
    assert verdict.points == 0


# The FFNs that `bottleneck_rank` is handed


@pytest.mark.parametrize("seed", range(5))
def test_directions_lie_clearly_on_either_side_of_a_millionth(seed: int) -> None:
    drawn = exercises.bottleneck_rank.inputs(seed, 0)
    for (weights, X), strength in zip(drawn["faint"], (exercises.FAINT, exercises.ROUNDING), strict=True):
        values = torch.linalg.svdvals(make_ffn(weights)(X).detach() - weights["b2"])
        ratios = values[: weights["W2"].shape[0]] / values[0]
        assert bool(((ratios - 1).abs().lt(0.01) | (ratios - strength).abs().lt(0.01 * strength)).all())
    silent, X = drawn["silent"]
    for factor in (1.0, *drawn["factors"]):  # rounding in float32 stays far below a millionth of the largest
        scaled = silent | {name: factor * silent[name] for name in ("W2", "b2")}
        out = make_ffn(scaled, torch.float32)(X.float()).detach() - scaled["b2"].float()
        values = torch.linalg.svdvals(out)
        rank = int((values > 1e-6 * values[0]).sum())
        assert float(values[rank] / values[0]) < 4e-7 and float(values[rank - 1] / values[0]) > 0.04


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("given", ["narrow", "wide", "few", "line", "silent"])
def test_no_direction_is_weak_by_chance(given: str, seed: int) -> None:
    weights, X = exercises.bottleneck_rank.inputs(seed, 0)[given]
    hidden = torch.relu(X @ weights["W1"] + weights["b1"])
    rank = min(*X.shape, int((hidden > 0).any(0).sum()))
    values = torch.linalg.svdvals(hidden @ weights["W2"])
    ratios = values / values[0]
    assert bool((ratios[:rank] > 0.99 * exercises.WEAKEST).all()) and bool((ratios[rank:] < 1e-12).all())
