"""Notebook 01: what its text says of mixes, of the creek and of six numbers, and what its exercises ask, computed a second time."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from autograder import keys
from autograder.authoring.build import notebook_of, solution_answer
from autograder.reference import compute, draws
from ffnlab.course import toy_transformer, world
from ffnlab.course.exercises import attention as exercises
from ffnlab.course.experiments import twin, without_ffn
from ffnlab.course.experiments import world as experiment
from ffnlab.course.figures import shared
from ffnlab.course.predictions.attention import PREDICTIONS


def demonstration(name: str) -> str:
    """The code of a cell of the notebook."""
    cells = notebook_of("01_attention").cells
    source: str = next(cell.source for cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
    return source


def test_attention_of_scaled_vectors_is_scaled_for_three_factors_only_and_for_all_with_frozen_weights() -> None:
    """The plot of “Linear in what?”, row by row."""
    torch.manual_seed(0)
    X = shared.embeddings(dtype=torch.float64)
    Wq, Wk, Wv, Wo = [torch.randn(6, 4).double() / 2 for _ in range(3)] + [torch.randn(4, 6).double() / 2]

    def rows(Z: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return torch.stack([torch.softmax((tokens @ Wk) @ (token @ Wq) / 2, dim=0) @ (Z @ Wv) @ Wo for token in tokens])

    for eighths in range(-16, 33):
        s = eighths / 8
        free = rows(s * X, s * X) - s * rows(X, X)
        frozen = rows(s * X, X) - s * rows(X, X)
        assert frozen.norm() < 1e-9
        assert (free.norm() < 1e-9) == (s in (-1, 0, 1))


def test_without_an_ffn_the_totals_of_both_pairs_are_equal_in_every_model_that_averages() -> None:
    """Any two places and any two weathers, in the shipped model, in its twin, and in one that has learned nothing."""

    def lead(model: toy_transformer.ToyTransformer, weather: str, place: str) -> float:
        words = f"the {place} was {weather} and the spunky dog wanted to jump".split()
        scores = model(toy_transformer.tensor([words]), ffn=False)[0, -1].detach().double()
        return float(scores[world.NUMBER["over"]] - scores[world.NUMBER["into"]])

    torch.manual_seed(1)
    for model in (toy_transformer.load(), twin.load(), toy_transformer.ToyTransformer().eval()):
        for places in zip(world.WATER, world.LAND, strict=True):
            for weathers in zip(world.COLD, world.WARM, strict=True):
                cold, warm = weathers
                wet, dry = places
                over = lead(model, cold, wet) + lead(model, warm, dry)
                into = lead(model, warm, wet) + lead(model, cold, dry)
                assert over == pytest.approx(into, abs=1e-4)
    assert sum(p.numel() for name, p in twin.load().named_parameters() if "linear" not in name) == 6240


def test_into_is_the_exclusive_or_of_water_and_cold() -> None:
    for scene in world.scenes(held_out=False):
        assert (scene.way == "into") == (scene.water != scene.cold)


def test_no_votes_get_four_sentences_right_and_those_of_the_veil_get_and() -> None:
    most = 0
    for creek, lawn, cold, warm in itertools.product(range(-4, 5), repeat=4):
        mixes = [(creek + cold, True), (creek + warm, False), (lawn + cold, False), (lawn + warm, True)]
        most = max(most, sum(mix > 0 if over else mix < 0 for mix, over in mixes))
    assert most == 3
    creek, cold, rest = 2, 2, -3
    assert creek + cold > 0 and creek + rest < 0 and rest + cold < 0 and rest + rest < 0


def test_six_numbers_are_enough_and_no_two_neurons_do_it_with_a_zero_in_w1() -> None:
    corners = torch.tensor([(0, 0), (0, 1), (1, 0), (1, 1)], dtype=torch.float64)
    few = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64)
    assert (torch.relu(corners @ few).sum(1) - torch.tensor([0, 1, 1, 0])).abs().max() == 0
    numbers = [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]
    biases = torch.tensor([-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0], dtype=torch.float64)
    for w1, w2, alone in itertools.product(numbers, repeat=3):
        first = torch.relu((corners @ torch.tensor([w1, w2]).double())[:, None] + biases)  # [4, biases]
        second = torch.relu(alone * corners[:, :1] + biases)
        for v, w in itertools.product(numbers, repeat=2):
            out = v * first[:, :, None] + w * second[:, None, :]
            assert not bool((torch.minimum(out[1], out[2]) > torch.maximum(out[0], out[3])).any())


def test_one_head_computes_xor_as_the_guess_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec(demonstration("scores-multiply"), {"torch": torch})
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[1:]] == ["0.00", "1.00", "1.00", "0.00"]
    assert 1 - 1 / (1 + math.exp(-50)) < 1e-16 and math.exp(-50) == pytest.approx(2e-22, rel=0.05)


@pytest.mark.sweep
def test_training_finds_two_neurons_as_often_as_the_guess_says() -> None:
    """With other seeds than the notebook's."""
    parts = demonstration("search").split("torch.manual_seed(0)")[0]
    scope: dict[str, Any] = {"torch": torch, "F": F}
    exec(parts, scope)
    learned = scope["learned"]
    for seed in (11, 12):
        torch.manual_seed(seed)
        assert learned(1000, 1, torch.relu) == 0
        assert 0.19 < learned(1000, 2, torch.relu) < 0.26
        assert 0.6 < learned(1000, 4, torch.relu) < 0.72
        assert learned(1000, 8, torch.relu) > 0.93
        two, three = (learned(1000, H, lambda x: F.layer_norm(x, x.shape[-1:])) for H in (2, 3))
        assert two == 0 and 0.68 < three < 0.8


def test_in_nearly_half_of_the_networks_a_neuron_is_silent_from_the_start() -> None:
    generator = torch.Generator().manual_seed(5)
    W1, b1 = ((2 * torch.rand(20_000, rows, 2, generator=generator) - 1) / 2**0.5 for rows in (2, 1))
    corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    silent = (corners @ W1 + b1 <= 0).all(1)  # [count, 2]
    assert 0.45 < silent.any(1).double().mean() < 0.49


def test_two_heads_without_a_norm_say_over_or_into_and_one_can_not() -> None:
    """Each head looks for two of the four words, at a constant word where neither is there, and reports whether it found one."""

    def report(wanted: tuple[str, str], words: tuple[str, str]) -> float:
        scores = torch.tensor([0.0, *(50.0 * (word in wanted) for word in words)])
        values = torch.tensor([0.0, *(float(word in wanted) for word in words)])
        return float(torch.softmax(scores, 0) @ values)

    for place, weather in itertools.product(("creek", "lawn"), ("cold", "warm")):
        total = report(("creek", "cold"), (place, weather)) + report(("lawn", "warm"), (place, weather))
        assert total == pytest.approx(2 if (place == "creek") != (weather == "cold") else 1)
    generator = torch.Generator().manual_seed(0)
    part = torch.randn(10_000, 4, generator=generator)  # of creek, lawn, cold and warm, before the division
    over = torch.stack([part[:, 0] + part[:, 2], part[:, 1] + part[:, 3]])
    into = torch.stack([part[:, 0] + part[:, 3], part[:, 1] + part[:, 2]])
    assert not ((over > 0).all(0) & (into < 0).all(0)).any()


def test_one_head_with_a_norm_after_it_can_say_over_or_into() -> None:
    """Even weights put u = a + b − 1 and −u beside two constants; the norm divides by their spread, and its bias is the threshold."""
    for a, b in itertools.product((0.0, 1.0), repeat=2):
        u = a + b - 1
        normed = F.layer_norm(torch.tensor([u, -u, 0.5, -0.5]), (4,), bias=torch.full((4,), -1.0))
        assert (normed[2] > 0) == (a != b)


@pytest.mark.parametrize("seed", range(20))
def test_layernorm_of_two_numbers_draws_a_single_line(seed: int) -> None:
    """After it every output of a linear layer rises or falls with p − q alone, so no threshold gives XOR."""
    generator = torch.Generator().manual_seed(seed)
    pairs = 3 * torch.randn(200, 2, dtype=torch.float64, generator=generator)
    normed = F.layer_norm(pairs, (2,))
    assert (normed.sum(1)).abs().max() < 1e-9
    order = (pairs[:, 0] - pairs[:, 1]).argsort()
    assert (normed[order, 0].diff() > -1e-12).all()
    apart = (pairs[:, 0] - pairs[:, 1]).abs() > 0.1
    assert (normed[apart].abs() - 1).abs().max() < 0.01


def test_no_star_of_the_walls_is_in_the_gap_and_all_are_in_the_picture() -> None:
    scope: dict[str, Any] = {"torch": torch, "math": math}
    source = demonstration("walls")
    exec(source.split("try:")[0], scope)
    V, stars = scope["V"], scope["stars"]
    far = [nearest(V, star)[1].norm() for star in stars]
    assert len(stars) == 40 and all(distance < exercises.AT or distance > exercises.APART for distance in far)
    assert sum(distance > exercises.APART for distance in far) >= 12
    assert "plt.xlim(-3, 3)" in source and stars.abs().max() < 3 and V.abs().max() < 3


def test_models_without_an_ffn_learn_a_rule_less_often_than_those_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Sixteen models from seeds that nothing was chosen on, beside as many with the same attention and an FFN."""
    runs = without_ffn.stored()["runs"]
    assert list(map(int, runs)) == list(without_ffn.FRESH) and len(runs) == 16
    assert not set(without_ffn.FRESH) & set(experiment.SEEDS)
    for rule in ("way", "feeling"):
        assert all(run[rule] == 1 or abs(run[rule] - 0.5) < 0.06 for run in runs.values()), "learned, or a coin"
    assert all(run["the rest"] == 1 for run in runs.values())
    way, feeling = (sum(without_ffn.has_learned(rule)) for rule in ("way", "feeling"))
    assert way == PREDICTIONS["learned_attention"].right
    assert 0 < way < 16 and 0 < feeling < 16, "attention can learn it, and does not always"
    beside = [run["on"] for run in twin.stored()["learned attention"].values()]
    assert without_ffn.SETTING._replace(ffn=True) == twin.ATTENTION and len(beside) == 16
    counts = [way, sum(run["way"] == 1 for run in beside), feeling, sum(run["feeling"] == 1 for run in beside)]
    assert counts[0] < counts[1] < 16 and counts[2] < counts[3] < 16, "less often, and neither always"
    exec(demonstration("learned-attention"), {"without_ffn": without_ffn, "twin": twin})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split().count("100%") for line in lines] == counts


def test_one_of_these_models_can_be_trained_again() -> None:
    """A short run of the same setting; the stored ones take minutes."""
    assert experiment.SETTINGS["attention, no FFN"] == without_ffn.SETTING
    assert not without_ffn.SETTING.ffn and without_ffn.SETTING.learned
    model = experiment.train(without_ffn.SETTING._replace(steps=3), 101)
    assert model.linear1 is None and "way" in experiment.score_words(model, experiment.TASKS[without_ffn.SETTING.task])


def test_a_network_for_one_pair_of_heights_earns_nothing() -> None:
    key = keys.find("xor_weights")
    seeds = draws.public_seeds(key.exercise)
    right = key.the_truth.answer
    for low, high in key.exercise.inputs(seeds[0], 0)["heights"]:
        assert compute.verdict_of(key, lambda *_, low=low, high=high: right(low, high), seeds).points == 0


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_what_bends_has_a_bias_in_all_cases_but_one(seed: int) -> None:
    bends = [exercises.superposition_error.inputs(seed, case)["bend"] for case in range(3)]
    assert [bend in exercises.LAYERS for bend in bends] == [True, False, True] and bends[1] == exercises.SQUARE


def nearest(V: torch.Tensor, star: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A mix of words that no pull of weight brings nearer to the star, and the arrow from it to the star."""
    weights, arrow = solution_answer("reach_star").answer(V, star)
    if arrow is None:
        arrow = star - weights @ V
    return star - arrow, arrow


@pytest.mark.parametrize("seed", range(20))
def test_a_star_is_on_a_mix_or_well_away_from_all(seed: int) -> None:
    for case in range(3):
        case_inputs = exercises.reach_star.inputs(seed, case)
        for inputs in case_inputs["within"].values():
            assert nearest(**inputs)[1].norm() < exercises.AT
        for label, inputs in case_inputs["without"].items():
            arrow = nearest(**inputs)[1]
            ahead = ((inputs["star"] - inputs["V"]) @ arrow / arrow.norm()).min()  # no mix is nearer than this
            assert ahead > exercises.APART - 1e-3, label


def test_no_reason_no_points_and_a_guessed_direction_is_seldom_one() -> None:
    """None, the same direction for all, or weights that reach nothing."""
    key = keys.find("reach_star")
    seeds = draws.public_seeds(key.exercise)

    def always(which: str) -> Any:
        def answer(V: torch.Tensor, star: torch.Tensor) -> Any:
            return (None, torch.ones_like(star)) if which == "a direction" else (torch.ones(len(V)) / len(V), None)

        return answer

    for which in ("a direction", "weights"):
        assert compute.verdict_of(key, always(which), seeds).points == 0
