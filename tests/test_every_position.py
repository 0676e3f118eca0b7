"""Notebook 04: the numbers in its figures computed again by loops, and its probes' layers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from drawings import LAST_TOKEN, numbers, tips

from autograder import keys
from autograder.engine import grade
from autograder.marking import draws, judge
from ffnlab.comparing import judge as verdict_on
from ffnlab.comparing import marking_of
from ffnlab.exercise import Draw, asked
from ffnlab.exercises import every_position as exercises
from ffnlab.figures import every_position as figures
from ffnlab.figures import shared
from ffnlab.handed import ffn_of

# perturb


def ffn_by_loops(x: list[float], d_model: int = 6) -> list[float]:
    w1, b1, w2, b2 = (part.tolist() for part in shared.weights(4, d_model, torch.float64))
    hidden = [max(0.0, sum(x[i] * w1[i][j] for i in range(d_model)) + b1[j]) for j in range(4 * d_model)]
    return [sum(hidden[j] * w2[j][k] for j in range(4 * d_model)) + b2[k] for k in range(d_model)]


ROWS: dict[str, Callable[[int], set[int]]] = {
    "FFN": lambda t: {t},
    "attention": lambda t: set(range(LAST_TOKEN + 1)),
    "causal attention": lambda t: set(range(t, LAST_TOKEN + 1)),
    "convolution, kernel 3": lambda t: {t - 1, t, t + 1} & set(range(LAST_TOKEN + 1)),
}


@pytest.mark.parametrize("layer", figures.LAYERS)
def test_perturb_changes_the_rows_that_the_layer_lets_see(layer: str) -> None:
    for position in range(LAST_TOKEN + 1):
        drawn = figures.perturb(position, layer)
        rows = ROWS[layer](position)
        assert (
            drawn.title
            == f"{layer[0].upper() + layer[1:]}: {len(rows)} of 14 row{'s change' if len(rows) > 1 else 's changes'}"
        )
        assert f"Token {position}, “{figures.TOKENS[position]}”" in drawn.sentence
        span = f"row {min(rows)}." if len(rows) == 1 else f"rows {min(rows)} to {max(rows)}."
        assert span in drawn.sentence
        assert ("exactly 0" in drawn.sentence) == (rows == {position})


def test_perturb_draws_how_much_the_ffns_row_changes() -> None:
    old, new = (shared.embeddings((word,), dtype=torch.float64)[0].tolist() for word in ("cold", "cat"))
    expected = [b - a for a, b in zip(ffn_by_loops(old), ffn_by_loops(new), strict=True)]
    said = [tip for tip in tips(figures.perturb(3)) if tip.startswith("cold: output")]
    assert [numbers(tip)[-1] for tip in said] == pytest.approx(expected, abs=6e-4)


# jacobian


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
        assert own.svg.count(">?<") == missing and shared_one.svg.count(">FFN<") == length


# sublayers


def test_the_norms_stand_beside_the_path_or_on_it() -> None:
    pre, post = figures.sublayers("pre"), figures.sublayers("post")
    assert "no norms on the path" in pre.title and "2 norms on the path" in post.title
    assert "out = z + FFN(norm(z))" in pre.svg and "out = norm(z + FFN(z))" in post.svg


# bottleneck


@pytest.mark.parametrize("d_ff", range(1, 13))
def test_a_bottleneck_has_no_more_directions_than_neurons(d_ff: int) -> None:
    w1, b1, w2, _ = (part.tolist() for part in shared.weights(d_ff / 6, dtype=torch.float64))
    rows = []
    for x in shared.embeddings(dtype=torch.float64).tolist():
        hidden = [max(0.0, sum(x[i] * w1[i][j] for i in range(6)) + b1[j]) for j in range(d_ff)]
        rows.append([sum(hidden[j] * w2[j][k] for j in range(d_ff)) for k in range(6)])
    squares = sum(number**2 for row in rows for number in row)
    drawn = figures.bottleneck(d_ff)
    rank = int(numbers(drawn.title)[1])
    assert rank == int(torch.linalg.matrix_rank(torch.tensor(rows, dtype=torch.float64))) <= min(d_ff, 6)
    values = [numbers(tip)[-1] for tip in tips(drawn)]
    assert len(values) == 6 and values[rank:] == [0] * (6 - rank)
    assert math.fsum(value**2 for value in values) == pytest.approx(squares, rel=1e-3)


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
    sent = grade._question(exercise.name, draws.hidden_seeds(exercise, b"secret"))
    assert not any(label.encode() in sent for known in exercises.ASKED.values() for label in known)
    assert "_labels" not in asked(exercise.inputs(0, 0))


def test_a_counter_of_calls_earns_nothing() -> None:
    """It gives the answers that were right on the public draws, in their order."""
    key = keys.find("is_position_wise")
    right: list[bool] = []

    def noted(f: Any, T: int, d: int, seed: int = 0) -> bool:
        right.append(bool(key.the_truth.answer(f, T, d, seed)))
        return right[-1]

    judge.observe(key.exercise, noted, draws.public_seeds(key.exercise))
    told, hidden = itertools.cycle(right), draws.hidden_seeds(key.exercise, b"secret")
    truth, counted = (judge.observe(key.exercise, answer, hidden) for answer in (noted, lambda *_: next(told)))
    inputs = judge.inputs(key.exercise, hidden)
    verdict = verdict_on(key.exercise, marking_of(key.exercise, truth, [], inputs), counted, inputs)
    assert verdict.points == 0


# The FFNs that `bottleneck_rank` is handed


@pytest.mark.parametrize("seed", range(5))
def test_directions_lie_clearly_on_either_side_of_a_millionth(seed: int) -> None:
    drawn = exercises.bottleneck_rank.inputs(seed, 0)
    for (weights, X), strength in zip(drawn["faint"], (exercises.FAINT, exercises.ROUNDING), strict=True):
        values = torch.linalg.svdvals(ffn_of(weights)(X).detach() - weights["b2"])
        ratios = values[: weights["W2"].shape[0]] / values[0]
        assert bool(((ratios - 1).abs().lt(0.01) | (ratios - strength).abs().lt(0.01 * strength)).all())
    silent, X = drawn["silent"]
    for factor in (1.0, *drawn["factors"]):  # rounding in float32 stays far below a millionth of the largest
        scaled = silent | {name: factor * silent[name] for name in ("W2", "b2")}
        out = ffn_of(scaled, torch.float32)(X.float()).detach() - scaled["b2"].float()
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
