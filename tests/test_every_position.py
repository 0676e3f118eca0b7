"""Notebook 04: the layers that its probes ask about, the stacks in which tokens become one, and what its text says of both."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder import keys
from autograder.authoring import build
from autograder.authoring.build import solution_answer
from autograder.authoring.experiments import collapse as making
from autograder.engine import grade_submission
from autograder.reference import compute, draws
from ffnlab.checking.comparison import compare, reference_outputs_of
from ffnlab.course import inspectors, toy_transformer
from ffnlab.course.exercises import every_position as exercises
from ffnlab.course.experiments import collapse
from ffnlab.course.ffn_probes import make_ffn
from ffnlab.course.figures.shared import SEED
from ffnlab.observation.exercise import Draw, probe_inputs

# The layers that `is_position_wise` is asked about


Asked = Iterator[tuple[str, bool, exercises.Layer]]


def asked_about(seed: int) -> Asked:
    """Every function of a draw: what it is, whether it is position-wise, and the function."""
    inputs = exercises.is_position_wise.inputs(seed, 0)
    for name, known in exercises.LAYER_KINDS.items():
        layers = exercises.build_layers(inputs[name], inputs["shared"])
        for label, layer in zip(inputs["_labels"][name], layers, strict=True):
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
            largest = max(float((first - second).abs().max()) for first in outputs for second in outputs) / size
            if "far less than 1/10,000" in label:
                assert 1.2e-5 < largest < 8e-5
            else:
                assert largest < rounding if position_wise else largest > 1 / 50, label


@pytest.mark.parametrize("seed", range(10))
def test_what_differs_is_above_zero_in_one_number_and_below_it_in_another(seed: int) -> None:
    """So no comparison with its signs decides by luck. Three functions move all numbers the same way, on purpose; some differ by rounding alone.

    What two tokens of a pair tell each other is a product, whose sign nobody can choose.
    """
    one_way = ("takes something off", "lowers", "raises", "two tokens talk")
    for label, position_wise, layer in asked_about(seed):
        rng = Draw(seed)
        T, d = layer.numbers["bias"].shape
        X = rng.normal(T, T, d)
        each = torch.arange(T)
        X[each, each] = rng.normal(d)
        outputs = layer(X).detach()
        differences = outputs[each, each] - outputs[0, 0]
        if position_wise:
            constant = not any(layer.has_effect[part] for part in ("gain", "norm"))
            assert constant or bool(differences.any()), f"{label}: the same to the last digit"
        elif not any(words in label for words in one_way):
            size = float(outputs.abs().max())
            assert float(differences.max()) > 0.004 * size and float(differences.min()) < -0.004 * size, label


def test_every_part_asks_about_functions_of_both_kinds_in_an_order_that_is_drawn() -> None:
    assert all({True, False} == set(known.values()) for known in exercises.LAYER_KINDS.values())
    orders = [exercises.is_position_wise.inputs(seed, 0)["_labels"] for seed in range(6)]
    for name in exercises.LAYER_KINDS:
        assert len({tuple(order[name]) for order in orders}) == 6


def test_nothing_but_its_numbers_tells_the_functions_apart() -> None:
    looks: dict[bool, set[object]] = {True: set(), False: set()}
    for _, position_wise, layer in asked_about(0):
        sizes = {name: (tuple(value.shape), value.dtype) for name, value in layer.numbers.items()}
        looks[position_wise].add((type(layer), tuple(sorted(sizes.items()))))
    assert looks[True] == looks[False]


def test_what_the_functions_are_is_not_told_to_the_process_that_runs_student_code() -> None:
    exercise = exercises.is_position_wise
    sent = grade_submission._probe_request(exercise.name, draws.hidden_seeds(exercise, b"secret"))
    assert not any(label.encode() in sent for known in exercises.LAYER_KINDS.values() for label in known)
    assert "_labels" not in probe_inputs(exercise.inputs(0, 0))


def test_a_counter_of_calls_earns_nothing() -> None:
    """It gives the answers that were right on the public draws, in their order."""
    key = keys.find("is_position_wise")
    right: list[bool] = []

    def noted(f: Any, T: int, d: int, seed: int = 0) -> bool:
        right.append(bool(key.the_truth.answer(f, T, d, seed)))
        return right[-1]

    compute.observe(key.exercise, noted, draws.public_seeds(key.exercise))
    answers = itertools.cycle(right)
    hidden = draws.hidden_seeds(key.exercise, b"secret")
    truth, counted = (compute.observe(key.exercise, answer, hidden) for answer in (noted, lambda *_: next(answers)))
    inputs = compute.inputs(key.exercise, hidden)
    verdict = compare(key.exercise, reference_outputs_of(key.exercise, truth, [], inputs), counted, inputs)
    assert verdict.points == 0


# The inspectors that can be fooled

Box = Callable[[torch.Tensor], torch.Tensor]


def fooled(box: Box, T: int, d: int, seeds: range) -> list[str]:
    """The inspectors who call a box real whenever they come."""
    return [name for name in inspectors.INSPECTORS if all(inspectors.visit(name, box, T, d, seed) for seed in seeds)]


def share(box: Box, T: int, d: int, seed: int) -> float:
    trials = inspectors.trials(40, T, d, seed)
    return inspectors.share_of_cheats(
        torch.stack([box(X) for X in trials.sentences.flatten(0, 1)]).view(trials.sentences.shape), trials
    )


def attention(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1) @ x


def untyped(tree: ast.Module) -> dict[str, str]:
    """The source of each function, by its name, without annotations."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in functions:
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
    return {node.name: ast.unparse(node) for node in functions}


def test_the_notebook_shows_the_inspectors_that_grade() -> None:
    cells = [cell.source for cell in build.notebook_of("04_every_position").cells]
    shown = untyped(ast.parse(next(source for source in cells if source.startswith("def same("))))
    graded = untyped(ast.parse(Path(inspectors.__file__).read_text(encoding="utf-8")))
    assert all(shown[name] == graded[name] for name in ("same", *inspectors.INSPECTORS))


def test_an_ffn_is_real_and_attention_fools_four() -> None:
    torch.manual_seed(0)
    ffn = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 6))
    for T in (6, 8, 14):
        assert fooled(lambda X: ffn(X).detach(), T, 6, range(20)) == list(inspectors.INSPECTORS)
        assert fooled(attention, T, 6, range(20)) == ["ones", "zeros", "mirror", "shuffle"]
        assert share(attention, T, 6, 0) >= exercises.OFTEN


@pytest.mark.parametrize("T", range(6, 20))
def test_the_solution_fools_five_in_sentences_of_every_length(T: int) -> None:
    answer = solution_answer("fool_the_inspectors").answer
    for d in (3, 6):
        assert fooled(answer, T, d, range(15)) == ["ones", "zeros", "first", "neighbours", "mirror"]
        assert min(share(answer, T, d, seed) for seed in range(15)) > exercises.OFTEN


HEARS_WHAT_SELDOM_CHANGES: dict[str, Box] = {
    "the largest number of each column": lambda X: X + X.max(0).values,
    "the largest word": lambda X: X + X[X.norm(dim=1).argmax()],
    "how large the largest word is": lambda X: X * X.norm(dim=1).max(),
    "the smallest word": lambda X: X + X[X.norm(dim=1).argmin()],
    "the word in the middle, by size": lambda X: X + X.median(0).values,
    "which word is the largest": lambda X: X + X.norm(dim=1).argmax(),
}


@pytest.mark.parametrize("name", HEARS_WHAT_SELDOM_CHANGES)
def test_a_cheat_counts_although_one_new_word_seldom_shows_it(name: str) -> None:
    shares = [share(HEARS_WHAT_SELDOM_CHANGES[name], T, d, seed) for T in (8, 15) for d in (4, 6) for seed in range(5)]
    assert min(shares) >= exercises.OFTEN


def test_a_layer_that_answers_each_word_alone_never_cheats() -> None:
    for box in (torch.relu, torch.exp, lambda X: X / X.norm(dim=1, keepdim=True), lambda X: X * 0 + 3):
        assert max(share(box, T, 4, seed) for T in (8, 15) for seed in range(5)) == 0


def test_a_cheat_with_a_rare_word_counts_seldom() -> None:
    def waits(X: torch.Tensor) -> torch.Tensor:
        return X + X[1] if X[1, 0] > 1.5 else X

    assert 0 < max(share(waits, T, 4, seed) for T in (8, 15) for seed in range(5)) < exercises.OFTEN


class MixedWithOthers:
    """A box in which word t hears the sizes of the words s, by part[t, s]."""

    def __init__(self, part: torch.Tensor) -> None:
        self.part = part

    def __call__(self, X: torch.Tensor) -> torch.Tensor:
        return X + self.part @ X.abs()


def test_what_shuffle_calls_real_is_caught_by_first_and_the_other_way_round() -> None:
    """The flag's reason: a box that treats all words alike passes first only if no word hears another."""
    others = 1 - torch.eye(7)
    for heard in (-0.5, 0.0, 0.1, 1.0):
        passes = fooled(MixedWithOthers(0.3 * torch.eye(7) + heard * others), 7, 4, range(5))
        assert "shuffle" in passes and ("first" in passes) == (heard == 0)
    random = torch.Generator().manual_seed(0)
    for _ in range(50):
        part = (torch.rand(7, 7, generator=random) < 0.2) * torch.randn(7, 7, generator=random)
        part[1:, 0] = 0
        passes = fooled(MixedWithOthers(part), 7, 4, range(5))
        assert "first" in passes and "shuffle" not in passes


def test_no_box_can_tell_who_asks() -> None:
    """Sentences of all inspectors and of the pairs are of one kind, and in an order that is drawn."""
    orders = set()
    for seed in range(5):
        for case in range(2):
            inputs = exercises.fool_the_inspectors.inputs(2 * seed + case, case)
            assert inputs["sentences"].dtype == torch.float32 and set(probe_inputs(inputs)) == {"sentences"}
            assert torch.equal(inputs["_order"].sort().values, torch.arange(len(inputs["sentences"])))
            orders.add(tuple(inputs["_order"][:20].tolist()))
    assert len(orders) == 10


def points_of(answer: Any, secret: bytes = b"secret") -> float:
    key = keys.find("fool_the_inspectors")
    hidden = draws.hidden_seeds(key.exercise, secret)
    inputs = compute.inputs(key.exercise, hidden)
    truth, observed = (compute.observe(key.exercise, box, hidden) for box in (key.the_truth.answer, answer))
    verdict = compare(key.exercise, reference_outputs_of(key.exercise, truth, [], inputs), observed, inputs)
    return float(verdict.points)


def test_a_box_with_a_memory_earns_nothing() -> None:
    """It counts, or it remembers each word's first answer: then it cheats, but never so that anybody could see it."""
    middle = keys.find("fool_the_inspectors").the_truth.answer
    calls = itertools.count()
    answers = dict[bytes, torch.Tensor]()

    def counts(X: torch.Tensor) -> torch.Tensor:
        return X.clone() if next(calls) % 3 else middle(X)

    def remembers(X: torch.Tensor) -> torch.Tensor:
        fresh = attention(X)
        return torch.stack([answers.setdefault(x.numpy().tobytes(), y) for x, y in zip(X, fresh, strict=True)])

    assert points_of(middle) == 4
    assert points_of(counts) == 0 and points_of(remembers) == 0


def test_a_sleeper_fools_everybody_and_earns_nothing() -> None:
    middle = keys.find("fool_the_inspectors").the_truth.answer

    def sleeper(X: torch.Tensor) -> torch.Tensor:
        return middle(X) if X[0, 0] > 3 else X.clone()

    assert len(fooled(sleeper, 8, 6, range(20))) >= 5 and points_of(sleeper) == 0


def test_a_favourite_near_an_end_is_the_middle_of_no_sentence() -> None:
    """Where it is the middle, mirror misses it, and the panel would name another cause in one case than in the other."""
    for seed in range(20):
        lengths = [
            exercises.fool_the_inspectors.inputs(2 * seed + case, case)["sentences"].shape[1] for case in range(2)
        ]
        assert lengths[0] % 2 == 0 and lengths[1] % 2 == 1 and lengths[1] // 2 > 5


def test_an_average_over_all_words_is_told_from_words_that_hear_few() -> None:
    def who_hears(box: Box) -> set[bool]:
        outputs = [
            (inputs, exercises._ask_box(box, inputs["sentences"]))
            for inputs in (
                exercises.fool_the_inspectors.inputs(2 * seed + case, case) for seed in range(3) for case in range(2)
            )
        ]
        return {exercises._fools_five(output, inputs)[exercises.MOST_STAY] for inputs, output in outputs}

    def largest_hears_second(X: torch.Tensor) -> torch.Tensor:
        Y = X.clone()
        a, b = X.norm(dim=1).topk(2).indices
        Y[a] += X[a] * X[b] * (X[a] - X[b])
        return Y

    assert who_hears(attention) == who_hears(lambda X: X + X.mean(0)) == {False}
    assert who_hears(largest_hears_second) == who_hears(lambda X: X + X.roll(1, 0) + X.roll(-1, 0)) == {True}


@pytest.mark.parametrize(
    ("first", "second", "seen"), [(3, 3, [2, 3, 4, 5, 6]), (1, 3, [3, 4, 5]), (3, 1, [3, 4, 5]), (1, 1, [4])]
)
def test_two_convolutions_of_size_three_see_five_tokens(first: int, second: int, seen: list[int]) -> None:
    """As `quiz_kernel` and its feedback say: sizes 3 and 3 alone reach two positions away."""
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv1d(3, 8, first, padding=first // 2), nn.GELU(), nn.Conv1d(8, 3, second, padding=second // 2)
    )
    x = torch.randn(3, 9, requires_grad=True)
    layers(x)[:, 4].sum().backward()
    assert x.grad is not None and x.grad.abs().sum(0).nonzero().flatten().tolist() == seen


@pytest.mark.parametrize("secret", [b"one", b"two", b"three", b"four", b"five"])
def test_points_for_four_and_five_do_not_hang_on_the_draw(secret: bytes) -> None:
    assert points_of(solution_answer("fool_the_inspectors").answer, secret) == 4
    assert points_of(attention, secret) == 1


# The FFNs that `bottleneck_rank` is handed


@pytest.mark.parametrize("seed", range(5))
def test_directions_lie_clearly_on_either_side_of_a_millionth(seed: int) -> None:
    inputs = exercises.bottleneck_rank.inputs(seed, 0)
    for (weights, X), strength in zip(inputs["faint"], (exercises.FAINT, exercises.ROUNDING), strict=True):
        values = torch.linalg.svdvals(make_ffn(weights)(X).detach() - weights["b2"])
        ratios = values[: weights["W2"].shape[0]] / values[0]
        assert bool(((ratios - 1).abs().lt(0.01) | (ratios - strength).abs().lt(0.01 * strength)).all())
    silent, X = inputs["silent"]
    for factor in (1.0, *inputs["factors"]):  # rounding in float32 stays far below a millionth of the largest
        scaled = silent | {name: factor * silent[name] for name in ("W2", "b2")}
        out = make_ffn(scaled, torch.float32)(X.float()).detach() - scaled["b2"].float()
        values = torch.linalg.svdvals(out)
        rank = int((values > 1e-6 * values[0]).sum())
        assert float(values[rank] / values[0]) < 4e-7 and float(values[rank - 1] / values[0]) > 0.04


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["narrow", "wide", "few", "line", "silent"])
def test_no_direction_is_weak_by_chance(name: str, seed: int) -> None:
    weights, X = exercises.bottleneck_rank.inputs(seed, 0)[name]
    hidden = torch.relu(X @ weights["W1"] + weights["b1"])
    rank = min(*X.shape, int((hidden > 0).any(0).sum()))
    values = torch.linalg.svdvals(hidden @ weights["W2"])
    ratios = values / values[0]
    assert bool((ratios[:rank] > 0.99 * exercises.WEAKEST).all()) and bool((ratios[rank:] < 1e-12).all())


# The tokens that become one


def test_what_was_stored_of_the_stacks_is_computed_again() -> None:
    seed = collapse.FRESH[3]
    stops = [n for n in collapse.DEPTHS if n <= 12]
    for name, stack in making.stacks(collapse.SETTINGS, 12, seed).items():
        again = [making.residual(stack[n]) for n in stops]
        assert collapse.stored(name)["residuals"][3][: len(stops)] == pytest.approx(again, rel=0.01, abs=1e-14), name


def test_the_layers_of_the_stacks_are_torchs_attention_and_ffn() -> None:
    """One layer of each kind, from the same random numbers, with torch's own functions."""
    seed = collapse.DOTS_SEED
    rng = numpy.random.default_rng([SEED, seed, 3])
    x = torch.from_numpy(rng.standard_normal((14, 64)))
    q, k, v, o = (torch.from_numpy(rng.standard_normal((64, 64)) / 8) for _ in range(4))
    into, back = (
        torch.from_numpy(rng.standard_normal((64, 256)) / 8),
        torch.from_numpy(rng.standard_normal((256, 64)) / 16),
    )

    def attention(x: torch.Tensor) -> torch.Tensor:
        queries, keys, values = ((x @ w).view(14, 4, 16).transpose(0, 1) for w in (q, k, v))
        return F.scaled_dot_product_attention(queries, keys, values).transpose(0, 1).reshape(14, 64) @ o

    def ffn(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ into) @ back

    def norm(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (64,))

    z = x + attention(norm(x))
    mixed = attention(x)
    skipped = x + attention(x)
    sized = F.normalize(ffn(mixed), dim=1) * mixed.norm(dim=1, keepdim=True)
    outputs = {
        "attention": mixed, "ffn": ffn(mixed), "skip": skipped, "all": z + ffn(norm(z)), "skip, norm": z,
        "ffn, same length": sized, "ffn, four times": 4 * sized,
        "no relu, same length": F.normalize(mixed @ into @ back, dim=1) * mixed.norm(dim=1, keepdim=True),
        "only its length": F.normalize(mixed, dim=1) * ffn(mixed).norm(dim=1, keepdim=True),
        "no ffn, four times": 4 * mixed,
        "skip, norm, matrix": z + F.normalize(norm(z) @ into @ back, dim=1) * ffn(norm(z)).norm(dim=1, keepdim=True),
        "skip, post-norm": norm(skipped),
    }  # fmt: skip
    stacks = making.stacks(collapse.SETTINGS, 1, seed)
    assert set(stacks) == set(outputs)
    for name, output in outputs.items():
        assert numpy.abs(stacks[name][1] - output.numpy()).max() < 1e-10, name


def test_the_dots_are_as_far_apart_as_the_tokens() -> None:
    """Their mean is the middle, the root of their mean square is r(X), and they lie as the tokens do in the plane where these differ most."""
    for name, stack in making.stacks(
        {name: collapse.SETTINGS[name] for name in ("skip", "ffn")}, 3, collapse.DOTS_SEED
    ).items():
        stored = collapse.stored(name)
        for n, x in enumerate(stack):
            dots = numpy.array(stored["dots"][collapse.DEPTHS.index(n)])
            assert dots.mean(axis=0) == pytest.approx([0, 0], abs=1e-4)
            assert (dots**2).sum() / len(dots) == pytest.approx(stored["shown"][n] ** 2, rel=0.02, abs=1e-4)
            if stored["shown"][n] > 1e-2:  # below, four decimals are too few
                u, s, _ = numpy.linalg.svd(x - x.mean(axis=0))
                plane = u[:, :2] * s[:2]
                assert numpy.corrcoef(numpy.ravel(dots @ dots.T), numpy.ravel(plane @ plane.T))[0, 1] > 0.999


def test_what_the_text_says_of_twenty_stacks_holds() -> None:
    assert len(collapse.FRESH) == 20 and not set(collapse.FRESH) & {0, 1, 2, 3, 4}
    assert {*collapse.WITHOUT_SKIP, *collapse.WITH_SKIP} == set(collapse.SETTINGS)
    r = {name: collapse.typical(name, 3) for name in collapse.SETTINGS}
    assert r["attention"] / r["only its length"] > 4 * (r["attention"] / r["ffn, same length"]) > 12, "length does most"
    assert r["attention"] / r["ffn, same length"] == pytest.approx(4, rel=0.05), "a factor of four is left"
    assert 0.8 < r["no relu, same length"] / r["attention"] < 1
    lower = {name: collapse.lower(name, "attention", 3) for name in collapse.WITHOUT_SKIP}
    assert lower == {
        "attention": 0, "ffn": 20, "only its length": 20, "ffn, same length": 17, "no relu, same length": 12,
        "ffn, four times": 0, "no ffn, four times": 0,
    }  # fmt: skip
    assert r["no ffn, four times"] > 2 * r["ffn, four times"], "it is the length that delays, with or without an FFN"
    assert collapse.lower("ffn, four times", "no ffn, four times", 3) == 16
    assert all(collapse.typical(name, 12) < collapse.LEAST for name in collapse.WITHOUT_SKIP), (
        "it is no more than a delay"
    )


def test_what_the_text_says_of_skips_norms_and_what_stands_beside_them_holds() -> None:
    later = [depth for depth in collapse.DEPTHS if depth >= 24]
    for name in collapse.WITH_SKIP:
        fall = [collapse.typical(name, n) for n in collapse.DEPTHS if n >= 2]
        assert fall == sorted(fall, reverse=True), "nothing stops it"
    assert collapse.typical("skip", 96) < 1e-12 < 0.1 < collapse.typical("skip, norm", 96)
    assert [collapse.lower("all", "skip, norm", depth) for depth in (1, 2, 3)] == [20, 20, 20], "it hurts at first"
    assert [collapse.lower("all", "skip, norm", depth) for depth in later] == [0] * len(later)
    for depth in collapse.DEPTHS[1:]:
        assert collapse.lower("all", "skip, norm, matrix", depth) >= 18, "the ReLU is no help at any depth"
    assert all(collapse.lower("skip, post-norm", "skip", depth) >= 15 for depth in later), "post-norm doesn't help"


def test_a_table_holds_what_is_typical() -> None:
    lines = collapse.table({"attention": "alone", "skip": "skip"}, (3, 6)).split("\n")
    assert lines == [
        "| typical r after | 3 layers | 6 layers |", "| --- | --- | --- |", "| alone | 1.6·10⁻⁶ | below 10⁻¹⁵ |", "| skip | 0.82 | 0.5 |"
    ]  # fmt: skip


def length_ratio(into: Any, back: Any) -> float:
    """How long the output of a random FFN is, as a part of its input's length, for a typical token."""
    x = numpy.random.default_rng(1).standard_normal((500, len(into)))
    output = numpy.maximum(x @ into, 0) @ back
    return float(numpy.median(numpy.linalg.norm(output, axis=1) / numpy.linalg.norm(x, axis=1)))


def test_an_ffn_with_the_weights_of_the_stacks_keeps_the_root_of_a_half_of_the_length() -> None:
    rng = numpy.random.default_rng(0)
    ratio = length_ratio(rng.standard_normal((64, 256)) / 8, rng.standard_normal((256, 64)) / 16)
    assert ratio == pytest.approx(0.5**0.5, abs=0.02)
    torch.manual_seed(0)
    up, down = nn.Linear(64, 256), nn.Linear(256, 64)
    assert length_ratio(up.weight.detach().numpy().T, down.weight.detach().numpy().T) < ratio / 2, (
        "nn.Linear's are smaller"
    )


def test_halved_weights_do_what_the_text_says() -> None:
    answer = solution_answer("attention_only_collapse").answer
    for seed in range(3):
        residuals = {}
        for divisor in (8, 16):
            generator = torch.Generator().manual_seed(seed)
            X0 = torch.randn(14, 64, generator=generator)
            layers = [tuple(torch.randn(64, 64, generator=generator) / divisor for _ in range(4)) for _ in range(96)]
            residuals[divisor] = [answer(X0, layers, skip) for skip in (False, True)]
        first = {divisor: next(n for n, r in enumerate(alone) if r < 1e-6) for divisor, (alone, _) in residuals.items()}
        assert first[16] == first[8] - 1
        assert residuals[8][1][-1] < 1e-9 and residuals[16][1][-1] == pytest.approx(0.2, abs=0.06)


@pytest.mark.parametrize("seed", range(20))
def test_every_rounding_of_r_shows(seed: int) -> None:
    for case in range(3):
        X = exercises.attention_only_collapse.inputs(seed, case)["X"]
        residual = float((X - X.mean(0)).norm() / X.norm())
        assert all(abs(round(residual, digits) - residual) > 3e-5 for digits in (2, 3, 4))


# The stream of 24 blocks


def root_mean_squares(
    mode: str,
    depth: int,
    shrink: float = 1.0,
    additions: list[list[float]] | None = None,
    before: Callable[[int, torch.Tensor], torch.Tensor] = lambda block, x: x,
) -> list[float]:
    """That of all numbers after `depth` random blocks, as the notebook stacks them, for twenty seeds that it does not show.

    additions: gets those of what each layer adds, layer by layer, for each seed. before: what is done to x before a block, counted from 0.
    """
    sublayer, sizes, d = solution_answer("residual_sublayer").answer, [], 32
    for seed in range(5, 25):
        torch.manual_seed(seed)
        x = torch.randn(14, d)
        added = list[float]()
        for block in range(depth):
            x = before(block, x)
            q, k, v, o = torch.randn(4, d, d) / d**0.5
            up, down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

            def attention(h: torch.Tensor, q: Any = q, k: Any = k, v: Any = v, o: Any = o) -> Any:
                return shrink * torch.softmax((h @ q) @ (h @ k).T / d**0.5, -1) @ (h @ v) @ o

            def ffn(h: torch.Tensor, up: Any = up, down: Any = down) -> Any:
                return shrink * down(torch.relu(up(h)))

            for layer in (attention, ffn):
                was = x
                x = sublayer(x, layer, nn.LayerNorm(d), mode)
                added.append((x - was).square().mean().sqrt().item())
        if additions is not None:
            additions.append(added)
        sizes.append(x.square().mean().sqrt().item())
    return sizes


@torch.no_grad()
def test_the_stream_grows_in_pre_norm_alone_and_as_the_text_says() -> None:
    pre = root_mean_squares("pre", 24)
    assert sum(3 <= size <= 5 for size in pre) >= 16 and sorted(pre)[10] == pytest.approx(4.2, abs=0.2)
    assert root_mean_squares("post", 24) == pytest.approx([1.0] * 20, abs=1e-3)
    for depth in (24, 96):
        assert root_mean_squares("pre", depth, (2 * depth) ** -0.5) == pytest.approx([1.0] * 20, abs=0.15)
    additions = list[list[float]]()
    root_mean_squares("pre", 24, additions=additions)
    mean = torch.tensor(additions).mean(0)  # attention and FFN take turns
    assert mean[0] == pytest.approx(0.4, abs=0.05) and 0.9 < mean[46] < 1
    assert mean.max() < 1.05, "about 1 at most"
    assert 4 < sum(pre) / len(pre) < 4.5
    assert mean[1::2] == pytest.approx([0.25] * 24, abs=0.04)
    assert math.sqrt(1 + 24 * (0.25**2 + 0.4**2)) == pytest.approx(2.5, abs=0.03), "if attention went on as it begins"


@torch.no_grad()
def test_the_curve_bends_less_than_a_root_and_squares_add_up() -> None:
    sizes_by_depth: dict[int, list[float]] = {}
    additions = list[list[float]]()

    def sized(block: int, x: torch.Tensor) -> torch.Tensor:
        sizes_by_depth.setdefault(block, []).append(x.square().mean().sqrt().item())
        return x

    sizes_by_depth[24] = root_mean_squares("pre", 24, additions=additions, before=sized)
    sizes = {depth: sum(sizes_by_depth[depth]) / len(sizes_by_depth[depth]) for depth in range(0, 25, 4)}
    for depth, size in sizes.items():
        squares = [
            math.sqrt(start**2 + sum(a**2 for a in added[: 2 * depth]))
            for start, added in zip(sizes_by_depth[0], additions, strict=True)
        ]
        assert size == pytest.approx(sum(squares) / len(squares), rel=0.05)
    for depth, size in sizes.items():
        line = sizes[0] + (sizes[24] - sizes[0]) * depth / 24
        root = math.sqrt(sizes[0] ** 2 + (sizes[24] ** 2 - sizes[0] ** 2) * depth / 24)
        assert depth in (0, 24) or line < size < root


@torch.no_grad()
def test_attention_adds_more_where_tokens_are_alike() -> None:
    """The cause that the text gives, tried from both sides: tokens made unlike before the last block, and alike before the first."""

    def rescale(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        return x * like.square().mean().sqrt() / x.square().mean().sqrt()

    def subtract_mean(block: int, x: torch.Tensor) -> torch.Tensor:
        return rescale(x - x.mean(0), x) if block == 23 else x

    def add_common_vector(block: int, x: torch.Tensor) -> torch.Tensor:
        return rescale(x / 3 + torch.randn(x.shape[1]), x) if block == 0 else x

    plain, cut, joined = list[list[float]](), list[list[float]](), list[list[float]]()
    root_mean_squares("pre", 24, additions=plain)
    root_mean_squares("pre", 24, additions=cut, before=subtract_mean)
    root_mean_squares("pre", 1, additions=joined, before=add_common_vector)
    assert all(now[46] < 0.7 * was[46] for now, was in zip(cut, plain, strict=True)), "in each of the twenty stacks"
    assert torch.tensor(cut).mean(0)[46] == pytest.approx(0.33, abs=0.02)
    assert torch.tensor(joined).mean(0)[0] > 0.85 > 2 * torch.tensor(plain).mean(0)[0]


# The parts of the creek model


@torch.no_grad()
def test_the_creek_models_ffn_is_real_and_what_is_before_it_is_not() -> None:
    creek = toy_transformer.load()
    answer = solution_answer("is_position_wise").answer

    def ffn(x: torch.Tensor) -> torch.Tensor:
        assert creek.linear1 is not None and creek.linear2 is not None
        outputs: torch.Tensor = creek.linear2(torch.relu(creek.linear1(x.float())))
        return outputs

    parts: dict[str, Box] = {
        "FFN": ffn,
        "positions": lambda x: ffn(x + creek.places.weight[:14]),
        "attention": lambda x: ffn(x.float() + creek.attention(x.float()[None])[0]),
    }
    for seed in range(15):
        assert [name for name, part in parts.items() if answer(part, 14, 32, seed)] == ["FFN"]


# The quizzes


def test_one_ffn_in_six_places_has_one_gradient_the_sum_of_six() -> None:
    torch.manual_seed(0)
    ffn = nn.Linear(3, 3)
    x = torch.randn(5, 3)
    apart = [nn.Linear(3, 3) for _ in range(6)]
    for layer in apart:
        layer.load_state_dict(ffn.state_dict())
    assert len(list(nn.ModuleList([ffn] * 6).parameters())) == 2

    def slopes(layers: list[nn.Linear]) -> torch.Tensor:
        """Of the sum of all outputs by each W1: [layers, 3, 3], one that is there twice counted once."""
        y = x
        for layer in layers:
            y = torch.tanh(layer(y))
        return torch.stack(
            torch.autograd.grad(y.sum(), list({id(layer.weight): layer.weight for layer in layers}.values()))
        )

    six = slopes(apart)
    assert torch.allclose(slopes([ffn] * 6)[0], six.sum(0), atol=1e-5) and bool((six[0] - six[5]).abs().max() > 1e-3)
    assert keys.find("quiz_shared").the_truth.answer == "B"
