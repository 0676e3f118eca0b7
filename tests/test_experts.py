"""Notebook 08: the numbers in its figures computed again, and what its probes draw."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from drawings import MIXED, numbers, tips

from autograder.authoring.build import cells_of
from autograder.authoring.experiments import cells
from autograder.authoring.experiments import plane as making
from autograder.authoring.experiments import world_experts as making_world
from autograder.paths import source
from ffnlab.course import atlas, world
from ffnlab.course.boards import router as board
from ffnlab.course.exercises import experts as exercises
from ffnlab.course.experiments import plane, top1, world_experts
from ffnlab.course.figures import experts as figures

# the plane

CLUSTERS = np.arange(6).repeat(making.DOTS)


def error_of(name: str, goes: np.ndarray[Any, np.dtype[np.intp]]) -> float:
    return plane.error(*plane.level(name), goes)


def turned(degrees: float) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Where the dots go if each of a hand's arrows is off by so much."""
    turns = np.radians([turn + degrees for turn, _ in making.ROUND])
    return plane.assign(np.array([np.cos(turns), np.sin(turns)]), plane.level("six")[0])


def test_a_hand_has_no_error_and_borders_that_are_off_have_some() -> None:
    assert error_of("six", CLUSTERS) < 1e-5 and error_of("six", turned(0)) < 1e-5
    assert min(error_of("six", turned(15)), error_of("six", turned(-15))) > 0.08
    pairs = [error_of("six", CLUSTERS // 2), error_of("six", (CLUSTERS + 1) % 6 // 2)]
    assert all(0.3 < error < 0.5 for error in pairs)


def test_three_experts_are_enough_in_one_way_only() -> None:
    errors = []
    for cuts in itertools.combinations(range(6), 3):
        expert = np.array([sum(cluster >= cut for cut in cuts) % 3 for cluster in range(6)])
        errors.append(error_of("three", expert[CLUSTERS]))
    best, second = sorted(errors)[:2]
    assert best < 1e-5 and second > 5 * plane.GOOD


def test_no_straight_border_gives_the_outer_clusters_to_one_expert() -> None:
    dots, _ = plane.level("between")
    cluster = np.arange(3).repeat(making.DOTS)
    assert error_of("between", (cluster == 1).astype(np.intp)) < 1e-5, "two experts are enough for the tasks"
    lines = itertools.product(np.linspace(0, np.pi, 181), np.linspace(-3, 3, 61))  # with a bias, too
    sides = ((dots @ [math.cos(turn), math.sin(turn)] > far).astype(np.intp) for turn, far in lines)
    assert min(error_of("between", side) for side in sides) > 10 * plane.GOOD


def test_what_is_said_of_the_runs_that_learn() -> None:
    *_, learn = board.plane().goals
    found, held = plane.ends(), plane.ends("held")
    assert len(plane.FRESH) == 16 == len(found) == len(held) and not set(plane.FRESH) & set(plane.SEEDS)
    assert (sum(end < plane.GOOD for end in found), sum(end < plane.GOOD for end in held)) == (0, 12)
    assert "sixteen other runs, none ended below 1 %" in learn.after and "like yours, 12 did" in learn.after
    dots, targets = plane.level("six")
    ends = [
        plane.error(dots, targets, plane.assign(np.array(run[-1]), dots)) for run in plane.stored()["runs"].values()
    ]
    assert sum(end < plane.GOOD for end in ends) == 1, "one of the runs that can be played is as good as a hand"
    first = plane.assign(np.array(plane.stored()["runs"]["0"][-1]), dots)
    assert sorted(np.bincount(first, minlength=6)) == [0, 14, 14, 14, 20, 22], (
        "one expert without dots, and two with too many"
    )


def test_runs_in_the_plane_come_out_again() -> None:
    dots, targets = plane.level("six")
    assert making.Clusters("six").shown() == plane.stored()["levels"]["six"]
    *_, last = making.train(1)
    assert plane.error(dots, targets, plane.assign(last.double().numpy(), dots)) < plane.GOOD
    first = next(making.train(plane.SEEDS[0]))
    assert making.scaled(first) == plane.stored()["runs"]["0"][0]


# Pairs of experts


def two_largest(arrows: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    """How many pairs of experts are chosen by some direction of a plane, looked for at many. arrows [E, 2]."""
    turns = np.linspace(0, 2 * np.pi, 7201)
    logits = np.stack([np.cos(turns), np.sin(turns)], axis=1) @ arrows.T
    return len({tuple(sorted(row)) for row in np.argsort(logits, axis=1)[:, -2:].tolist()})


def test_in_a_plane_every_pair_of_four_can_be_chosen_and_not_every_pair_of_five() -> None:
    assert two_largest(np.array([(0.1, 0.2), (0.0, 2.0), (-1.7, -1.0), (1.8, -0.8)])) == 6
    rng = np.random.default_rng(0)
    assert max(two_largest(rng.normal(size=(5, 2))) for _ in range(300)) == 7


def test_four_numbers_a_token_are_enough_for_every_pair() -> None:
    for E in (7, 8, 16):
        router, tokens = exercises_solution()(E)
        pairs = exercises._Pairs((router, tokens), E)
        assert pairs.missing() == "" and pairs.too_many() == "" and pairs.d == 4


def exercises_solution() -> Callable[[int], tuple[torch.Tensor, torch.Tensor]]:
    namespace: dict[str, Any] = {"torch": torch}
    exec(cells_of("08_experts")["every_pair"], namespace)
    solution: Callable[[int], tuple[torch.Tensor, torch.Tensor]] = namespace["every_pair"]
    return solution


# Upcycling


def test_copies_of_an_ffn_teach_a_router_nothing_only_if_gates_add_up_to_one() -> None:
    """What is said of Sparse Upcycling: the largest slope of the task's loss by the router, at the start."""
    torch.manual_seed(0)
    x, router, target = torch.randn(64, 8), torch.randn(8, 4) / 8**0.5, torch.randn(64, 8)
    ffn = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
    for norm, is_none in (("softmax_topk", False), ("softmax_topk_renorm", True)):
        leaf = router.clone().requires_grad_()
        top = torch.softmax(x @ leaf, dim=-1).topk(2, dim=-1).values
        top = top / top.sum(-1, keepdim=True) if norm == "softmax_topk_renorm" else top
        ((top.sum(-1, keepdim=True) * ffn(x) - target) ** 2).mean().backward()
        assert leaf.grad is not None and (float(leaf.grad.abs().max()) < 1e-6) is is_none


# What real models cost


def test_the_table_of_models_is_the_atlas() -> None:
    rows = re.findall(
        r"^# \| ([\w.-]+) \| (\d+).*? \| (\d+).*? \| ([\d.]+) billion \| ([\d.]+) billion",
        source("08_experts").read_text(encoding="utf-8"),
        re.M,
    )
    assert len(rows) == 5
    for name, count, used, stored, active in rows:
        model = atlas.find(name)
        assert model.experts and (model.experts.n, model.experts.k) == (int(count), int(used))
        assert [f"{atlas.total(model) / 1e9:.1f}", f"{atlas.active(model) / 1e9:.1f}"] == [stored, active]


# sentence


def test_what_decides_an_expert_adds_up() -> None:
    choices = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 3]])
    assert making_world.decompose_entropy(choices, torch.tensor([0, 7])) == {
        "place": 1,
        "attributes": 0,
        "words": 0,
        "told": 0,
    }
    by_scene = torch.tensor([[0, 0], [1, 1]])
    assert making_world.decompose_entropy(by_scene, torch.tensor([0, 7])) == {
        "place": 0,
        "attributes": 1,
        "words": 0,
        "told": 1,
    }
    by_word = torch.tensor([[0, 0], [1, 1]])
    assert making_world.decompose_entropy(by_word, torch.tensor([3, 3]))["words"] == 1


def test_what_the_notebook_says_about_experts_of_words() -> None:
    runs = world_experts.stored()["runs"]
    assert len(runs) == len(world_experts.SEEDS) >= 5
    for run in runs:
        assert run["place"] + run["attributes"] + run["words"] == pytest.approx(1, abs=0.002)
        assert len(run["shown"]) == 8 and all(len(experts) == 19 for experts in run["shown"])
        assert run["way"] == run["feeling"] == 1, "it has learned the world"
    assert (min(run["place"] for run in runs), max(run["place"] for run in runs)) == (0.723, 0.857)
    assert (min(run["told"] for run in runs), max(run["told"] for run in runs)) == (0.006, 0.041)
    fresh = world_experts.stored()["fresh"]
    assert list(map(int, fresh)) == list(world_experts.FRESH) and not set(world_experts.FRESH) & set(
        world_experts.SEEDS
    )
    assert all(run["way"] > 0.98 and run["feeling"] > 0.98 for run in fresh.values())
    percentages = [round(100 * run["told"]) for run in fresh.values()]
    assert len(percentages) == 15 and (min(percentages), max(percentages)) == (0, 6)
    warm = [figures.sentence("creek", "warm", "spunky", run).sentence for run in figures.WORLD_RUNS]
    moves = [numbers(sentence)[1] for sentence in warm]
    assert moves[0] == 5 and (min(moves), max(moves)) == (0, 8)
    first, changed = (runs[0]["shown"][n] for n in (0, 2))
    assert world_experts.SCENES[2].weather == "warm" and first[3] != changed[3], "“warm” is among them"


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
        picture = figures.router(*logits, temperature, k, norm)
        expected = gates(torch.tensor(logits, dtype=torch.float64) / temperature, k, norm)
        gate_values = [numbers(tip)[-1] for tip in tips(picture) if tip.startswith("gate")]
        assert gate_values == pytest.approx(expected.tolist(), abs=6e-5)
        assert numbers(picture.sentence)[-1] == pytest.approx(float(expected.sum()), abs=6e-3)
        assert numbers(picture.title)[-1] == numbers(picture.sentence)[-1]
        experts = [e for e in range(8) if expected[e] > 0]
        assert numbers(picture.title)[:-1] == experts


# The price of renormalising


def test_what_is_told_of_a_renormalised_gate_holds_in_fifteen_other_runs() -> None:
    runs = cells.stored()["top-1"]
    assert len(top1.errors("renormalised")) == len(cells.FRESH) == 15 and min(cells.FRESH) >= 5
    pairs = zip(*(top1.errors(kind) for kind in top1.KINDS), strict=True)
    assert sum(renormalised > plain for renormalised, plain in pairs) == 14, "the picture shows which is worse"
    assert 0.015 < min(runs["renormalised"]["moved"]) < max(runs["renormalised"]["moved"]) < 0.055


def test_a_stored_run_with_a_single_expert_comes_out_again() -> None:
    train = cells.function("08_experts", "train_top1", ("imports", "published", "trap"))
    error, moved = train(cells.FRESH[0], False)
    record = cells.stored()["top-1"]["as it is"]
    assert error == pytest.approx(record["error"][0], rel=0.2) and moved == pytest.approx(record["moved"][0], rel=0.2)


# dispatch


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_slots_are_sorted_and_come_back(k: int) -> None:
    slots = figures.slots(k)
    assert len(slots) == 6 * k and all(len({e for u, _, e in slots if u == t}) == k for t in range(6))
    sizes = [sum(1 for *_, e in slots if e == expert) for expert in range(4)]
    assert f"{', '.join(map(str, sizes))} of them" in figures.dispatch(6, k).sentence
    assert numbers(figures.dispatch(9, k).title) == [sum(1 for size in sizes if size)]
    places = figures._places(k)
    for stage, positions in enumerate(places):
        by_place = sorted(range(len(slots)), key=[x for x, _ in positions].__getitem__)
        if stage in (2, 3, 4):
            assert [slots[n][2] for n in by_place] == sorted(e for *_, e in slots)
        elif stage in (1, 5):
            assert by_place == list(range(len(slots)))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_frame_differs_from_the_one_before(k: int) -> None:
    frames = [figures.dispatch(frame, k) for frame in range(figures.LAST_FRAME + 1)]
    for earlier, later in itertools.pairwise(frames):
        assert earlier.svg != later.svg and earlier.sentence != later.sentence


# totals


@pytest.mark.parametrize("name", figures.MODELS)
def test_totals_are_counted_part_by_part(name: str) -> None:
    model = atlas.find(name)
    moe = model.experts
    assert moe
    picture = figures.totals(name)
    expert_size = 3 * model.d_model * model.d_ff + (2 * model.d_ff + model.d_model if model.ffn_bias else 0)
    idle = (model.n_layers - moe.dense_layers) * (moe.n - moe.k) * expert_size
    total = atlas.total(model)
    billions = [float(number) for number in re.findall(r"([\d.]+) B", picture.title)]
    assert billions == pytest.approx([(total - idle) / 1e9, total / 1e9], rel=0.005)
    assert f"{100 * (total - idle) / total:.1f} %" in picture.sentence
    twice = figures.totals(name, 2.0)
    assert f"{total / 1e9:.{1 if total >= 9.95e9 else 2}f} B parameters" in twice.sentence
    assert f"{100 * (total - idle + idle * moe.k / (moe.n - moe.k)) / total:.1f} %" in twice.sentence


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_every_expert_has_tokens_where_values_are_asked(seed: int) -> None:
    inputs = exercises.moe_sorted.inputs(seed, 0)
    T, d_model = inputs["x"].shape
    sizes = [T, d_model, inputs["experts"][0]["W1"].shape[1], len(inputs["experts"])]
    assert len(set(sizes)) == 4
    E = len(inputs["experts"])
    assert set(inputs["idx"].flatten().tolist()) == set(range(E))
    assert all(len(set(row)) == 3 for row in inputs["idx"].tolist())
    assert not {0, E - 1} & set(inputs["few"].flatten().tolist())
    loop = exercises.moe_loop.inputs(seed, 0)
    assert (loop["gates"] >= 0).all() and (loop["gates"] > 0).any(0).all()


def test_one_expert_takes_eight_words_in_a_row_when_it_is_warm() -> None:
    def experts_of(weather: str) -> tuple[list[str], list[int]]:
        routing = figures._routing(world.Scene("creek", weather, "spunky", world_experts.CREATURE), 2)
        return list(routing.words), list(routing.experts)

    words, experts = experts_of("warm")
    start, end = words.index("warm"), words.index("jump")
    assert end - start == 7 and experts[start : end + 1] == [0] * 8
    assert experts_of("cold")[1].count(0) > 1
