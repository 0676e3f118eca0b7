"""Notebook 08: the numbers in its figures computed again, and what its probes draw."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
from drawings import MIXED, numbers, tips

from ffnlab import atlas
from ffnlab.exercises import experts as exercises
from ffnlab.figures import experts as figures

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
