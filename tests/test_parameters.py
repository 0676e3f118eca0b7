"""Notebook 05: the numbers in its figures counted a second time."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from typing import Any

import drawings
import pytest
import torch
from drawings import SVG, numbers
from torch import nn

from ffnlab.course import atlas
from ffnlab.course.exercises import parameters as exercises
from ffnlab.course.figures import parameters
from ffnlab.drawing.picture import Picture


def tips(picture: Picture) -> dict[str, str]:
    """What the bars and areas of a figure say when the mouse rests on them, by their names."""
    return {name: words for name, _, words in (tip.partition(": ") for tip in drawings.tips(picture))}


def lengths(picture: Picture, top: float) -> list[float]:
    """The widths of the pieces of the bar whose top is at this height."""
    rects = ET.fromstring(picture.svg).iter(f"{SVG}rect")
    return [float(rect.attrib["width"]) for rect in rects if float(rect.attrib["y"]) == top and len(rect)]


def count_parameters(*modules: nn.Module) -> int:
    return sum(p.numel() for module in modules for p in module.parameters())


# areas


@pytest.mark.parametrize("d", [8, 16, 64, 512])
@pytest.mark.parametrize("ratio", [ratio for _, ratio in parameters.RATIOS])
def test_areas_counts_what_torch_counts(d: int, ratio: float) -> None:
    f = round(ratio * d)
    ffn = count_parameters(nn.Linear(d, f), nn.Linear(f, d))
    attention = count_parameters(*(nn.Linear(d, d, bias=False) for _ in range(4)))
    picture = parameters.areas(d, ratio)
    assert numbers(picture.title) == [attention, ffn, round(ffn / attention, 2)]
    assert numbers(picture.sentence) == [d, f, d * d, attention, d * f, f + d, ffn]


def test_areas_opens_with_256_against_552_and_falls_to_two() -> None:
    assert parameters.areas().title == "Attention 256, FFN 552: 2.16 times"
    assert parameters.areas(12288).title.endswith("2.00 times")


def test_an_area_is_in_proportion_to_its_parameters() -> None:
    for d, ratio in ((8, 4.0), (16, 8.0), (8, 1.0)):
        areas = {}
        for rect in ET.fromstring(parameters.areas(d, ratio).svg).iter(f"{SVG}rect"):
            if tip := rect.findtext(f"{SVG}title"):
                areas[tip.split(":")[0]] = float(rect.attrib["width"]) * float(rect.attrib["height"])
        unit = areas["queries"] / d**2
        for name, count in (("W1", ratio * d * d), ("W2", ratio * d * d), ("b1", ratio * d), ("b2", d)):
            assert areas[name] / unit == pytest.approx(count, rel=0.01), name


# explore


@pytest.mark.parametrize(
    "values",
    [
        (768, 4.0, 8, 8, 12, 50257, False, False),
        (512, 4.0, 8, 8, 6, 32000, False, True),
        (128, 1.0, 8, 2, 2, 1000, True, False),
        (256, 8 / 3, 16, 128, 1, 1000, True, True),
    ],
)
def test_explore_counts_what_torch_counts(values: tuple[Any, ...]) -> None:
    d, ratio, heads, kv, layers, vocab, gated, decoder = values
    f = round(ratio * d)
    keys = d // heads * min(kv, heads)
    matrices = [nn.Linear(d, f, bias=False) for _ in range(3 if gated else 2)]
    one_attention = count_parameters(
        *(nn.Linear(d, size, bias=False) for size in (d, keys, keys)), nn.Linear(d, d, bias=False)
    )
    ffn, attention = count_parameters(*matrices), one_attention * (2 if decoder else 1)
    total = layers * (ffn + attention) + count_parameters(nn.Embedding(vocab, d))
    picture = parameters.explore(*values)
    shares = [100 * ffn / (ffn + attention), 100 * layers * ffn / total]
    assert numbers(picture.title) == pytest.approx(shares, abs=0.05)
    tip_texts = tips(picture)
    assert numbers(tip_texts["embeddings"])[0] == vocab * d
    assert f"The model: {total:,}" in picture.svg and f"One layer: {ffn + attention:,}" in picture.svg
    assert lengths(picture, 96)[-1] / sum(lengths(picture, 96)) == pytest.approx(shares[0] / 100, abs=1e-3)
    assert lengths(picture, 236)[-1] / sum(lengths(picture, 236)) == pytest.approx(shares[1] / 100, abs=1e-3)


def test_heads_change_nothing_until_keys_are_shared() -> None:
    assert len({parameters.explore(heads=heads, kv=128).title for heads in parameters.HEADS}) == 1
    assert parameters.explore(heads=8, kv=2).title != parameters.explore(heads=8, kv=8).title


def test_every_choice_of_widths_and_heads_can_be_drawn() -> None:
    for d in parameters.MODEL_WIDTHS:
        for heads in parameters.HEADS:
            assert parameters.explore(d_model=d, heads=heads, kv=128).title.startswith("FFN: 66.7 % of a layer")


def test_more_key_heads_than_query_heads_are_not_passed_over_in_silence() -> None:
    assert (
        "Of the 8 heads for keys and values 4 count: there are no more query heads."
        in parameters.explore(heads=4, kv=8).sentence
    )
    assert "no more query heads" not in parameters.explore(heads=8, kv=8).sentence


def test_a_small_vocabulary_raises_the_share_of_the_whole_most() -> None:
    """What the notebook says of its question 3, at the ends of three sliders."""

    def share(**options: Any) -> float:
        return numbers(parameters.explore(**options).title)[1]

    shares = [share(), share(vocab=1000), share(d_model=16384), share(layers=126)]
    assert shares == [45.8, 66.1, 65.3, 63.9]


# models


@pytest.mark.parametrize("name", parameters.SHOWN)
def test_models_shows_the_exact_counts_of_the_atlas(name: str) -> None:
    model = atlas.find(name)
    picture = parameters.models(name)
    for count in (
        atlas.total(model),
        atlas.active(model),
        atlas.attention_per_layer(model),
        atlas.ffn_per_layer(model),
    ):
        assert f">{count:,}<" in picture.svg
    assert f"{atlas.total(model):,}" in picture.sentence
    assert f"{100 * atlas.ffn_share_of_all(model):.1f} %" in picture.title


def test_the_models_of_the_story_are_shown_at_their_published_counts() -> None:
    counts = {
        "GPT-2 small": "124,439,808",
        "LLaMA-1/2 7B": "6,738,415,616",
        "Mixtral-8x7B": "46,702,792,704",
        "DeepSeek-V3": "671,026,419,200",
    }
    for name, count in counts.items():
        assert f"has {count} parameters" in parameters.models(name).sentence


def test_every_bar_of_models_is_as_long_as_the_others_and_split_by_shares() -> None:
    rects = [rect for rect in ET.fromstring(parameters.models().svg).iter(f"{SVG}rect") if len(rect)]
    for n, name in enumerate(parameters.SHOWN):
        row = rects[4 * n : 4 * n + 4]
        assert all((rect.findtext(f"{SVG}title") or "").startswith(f"{name}, ") for rect in row)
        widths = [float(rect.attrib["width"]) for rect in row]
        share = (widths[2] + widths[3]) / sum(widths)
        assert share == pytest.approx(atlas.ffn_share_of_all(atlas.find(name)), abs=1e-3)


# flops


@pytest.mark.parametrize("name", parameters.DENSE)
def test_attention_overtakes_where_the_figure_says(name: str) -> None:
    model = atlas.find(name)
    T = round(parameters.overtakes(model))

    def ratio(T: int) -> float:
        flops = atlas.flops_per_token(model, T)
        return (flops["proj"] + flops["mix"]) / flops["ffn"]

    assert ratio(T - 1) < 1 < ratio(T + 1) and ratio(T) == pytest.approx(1, abs=1e-3)
    assert f"overtakes at T = {T:,}," in parameters.flops(name).sentence


def test_with_four_times_the_width_attention_overtakes_at_twice_the_width() -> None:
    for name in ("GPT-2 small", "GPT-3 175B"):
        model = atlas.find(name)
        d = model.d_model
        assert parameters.overtakes(model) == 2 * d
        flops = atlas.flops_per_token(model, 2 * d)
        assert flops["mix"] == flops["proj"] == 8 * d * d
        assert atlas.flops_per_token(model, 4 * d)["mix"] == flops["ffn"] == 16 * d * d


@pytest.mark.parametrize("T", parameters.LENGTHS)
def test_flops_writes_the_ratio_of_the_two_curves(T: int) -> None:
    d = 12288
    values = numbers(parameters.flops("GPT-3 175B", T).title)
    assert values == pytest.approx([T, (8 * d * d + 4 * T * d) / (16 * d * d)], rel=0.02, abs=0.005)


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_some_counts_are_beyond_what_float32_counts(seed: int) -> None:
    for case in range(3):
        inputs = exercises.count_ffn.inputs(seed, case)
        d, plain_f, gated_f = inputs["wide"], inputs["plain_f"], inputs["gated_f"]
        for count in (2 * d * plain_f + plain_f + d, 3 * d * gated_f + 2 * gated_f + d):
            assert 2**24 < count < 1.001 * 2**24 and int(torch.tensor(float(count), dtype=torch.float32)) != count


def test_a_block_is_asked_for_with_every_pair_of_options() -> None:
    option_sets: list[set[str]] = []

    def answer(cfg: dict[str, Any], block: str = "encoder") -> float:
        option_sets.append(
            {key for key in exercises.OPTIONS if cfg.get(key)} | ({"decoder"} if block == "decoder" else set())
        )
        return 0.0

    exercises.layer_share.observe(answer, exercises.layer_share.inputs(0, 0))
    for first, second in itertools.combinations((*exercises.OPTIONS, "decoder"), 2):
        pairs = {(first in options, second in options) for options in option_sets}
        assert len(pairs) == 4, f"{first} and {second}: {pairs}"


def test_a_page_that_is_right_and_pages_that_are_not_are_audited() -> None:
    for seed in range(20):
        inputs = exercises.audit_published.inputs(seed, 0)
        off = [printed - (2 * d * f + f + d) for d, f, printed in inputs.values()]
        assert off[2] == 0 and off[0] and off[1]
