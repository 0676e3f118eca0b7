"""Notebook 08: the numbers in its figures computed again, and what its probes draw."""

from __future__ import annotations

import itertools
import math
import re

import pytest
import torch
from drawings import MIXED, numbers, tips

from autograder.authoring.experiments import balance, cells, slopes
from autograder.authoring.experiments import plane as making
from autograder.authoring.experiments import world_experts as making_world
from ffnlab.course import atlas
from ffnlab.course.exercises import experts as exercises
from ffnlab.course.experiments import plane, read, world_experts
from ffnlab.course.figures import experts as figures
from ffnlab.registry import active_course

# becoming


def chosen_by(router: list[list[float]], points: list[list[float]]) -> list[int]:
    weights = torch.tensor(router)
    return [int((weights[0] * x + weights[1] * y + weights[2]).argmax()) for x, y in points]


@pytest.mark.parametrize("run", figures.RUNS)
@pytest.mark.parametrize("look", range(len(figures.KEPT)))
def test_a_region_holds_the_points_that_its_expert_gets(run: int, look: int) -> None:
    record = plane.stored()["runs"][run]
    router = record["routers"][look]
    grid = [[x / 4, y / 4] for x in range(-13, 14) for y in range(-13, 14)]
    regions = [figures._region(router, e) for e in range(6)]
    for (x, y), expert in zip(grid, chosen_by(router, grid), strict=True):
        assert inside(regions[expert], x, y)
    area = sum(abs(sum(a * d - b * c for (a, b), (c, d) in itertools.pairwise([*r, r[0]]))) / 2 for r in regions if r)
    assert area == pytest.approx((2 * figures._FAR) ** 2), "the regions neither overlap nor leave a gap"


def inside(corners: list[tuple[float, float]], x: float, y: float) -> bool:
    turns = [(c - a) * (y - b) - (d - b) * (x - a) for (a, b), (c, d) in itertools.pairwise([*corners, corners[0]])]
    return all(turn >= -1e-9 for turn in turns)


def test_what_the_notebook_says_about_experts_in_a_plane() -> None:
    runs = plane.stored()["runs"]
    own = [plane.own(run["tables"][-1]) for run in runs]
    assert len(own) == 6 and own.count(6) == 3 and sorted(own)[0] == 2 and sorted(own)[2] == 4
    assert all(run["error"][0] > 0.4 and run["error"][0] < 0.6 and run["error"][-1] <= 0.03 for run in runs)
    for run in runs:
        information = [balance.information(torch.tensor(table)) for table in run["tables"]]
        assert information == pytest.approx(run["information"], abs=0.03)
        assert len(run["points"]) == 6 * plane.POINTS_PER_CLUSTER
    without = plane.stored()["about"]["without"]
    assert (min(without["the balance loss"]["used"]), max(without["the balance loss"]["used"])) == (2, 4)
    assert max(without["noise"]["own"]) == 5
    figure_run = runs[2]  # where the notebook's figure begins
    assert plane.own(figure_run["tables"][-1]) == 6 and figure_run["information"][0] < 0.6
    assert "6 of 6 clusters have an expert" in figures.becoming(1000, 2).sentence


def test_a_run_in_the_plane_comes_out_again() -> None:
    record = plane.stored()["runs"][2]
    again = making.summary(2, making.train(2))
    assert again["points"] == record["points"]
    assert again["information"][0] == pytest.approx(record["information"][0], abs=0.02)
    assert again["information"][-1] == pytest.approx(record["information"][-1], abs=0.2)
    assert again["error"][-1] < 0.05


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


@pytest.mark.parametrize("norm", figures.NORMS)
@pytest.mark.parametrize("k", range(1, 9))
def test_the_slopes_are_those_of_autograd(norm: str, k: int) -> None:
    z = torch.tensor(figures.LOGITS, dtype=torch.float64)
    expected = torch.func.jacrev(lambda z: gates(z, k, norm))(z)
    jacobian = torch.tensor(slopes.derivatives(k, norm), dtype=torch.float64)
    assert torch.allclose(jacobian, expected, atol=1e-12)
    assert slopes.run()[norm][k - 1] == read(figures.SLOPES)[norm][k - 1]
    learn = int((expected.abs() > 1e-12).any(0).sum())
    assert numbers(figures.slopes(k, norm).title) == [k, learn, 8]
    assert learn == (8 if norm == "softmax_topk" else k if k > 1 else 0)


# The price of renormalising


def test_what_is_told_of_a_renormalised_gate_holds_in_fifteen_other_runs() -> None:
    prediction = active_course().prediction("price_of_renorm")
    runs = cells.stored()["top-1"]
    ratios = [a / b for a, b in zip(runs["renormalised"]["error"], runs["as it is"]["error"], strict=True)]
    assert len(ratios) == len(cells.FRESH) == 15 and min(cells.FRESH) >= 5
    explanation = " ".join(prediction.explanation.split())
    assert f"it was {math.exp(sum(map(math.log, ratios)) / 15):.1f} times as large" in explanation
    assert prediction.is_right("about 2") and f"a factor of up to {max(ratios):.1f}, and smaller in one" in explanation
    assert sum(ratio > 1 for ratio in ratios) == 14 and sum(ratio < 1 for ratio in ratios) == 1
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


def test_an_expert_is_not_linear_so_that_weighting_its_input_shows() -> None:
    inputs = exercises.moe_reference.inputs(0, 0)
    expert = exercises._experts(inputs["experts"])[0]
    difference = (expert(0.3 * inputs["x"]) - 0.3 * expert(inputs["x"])).abs().max()
    assert float(difference) > 0.1
