"""The atlas: every count and share of its tables comes out of the configurations, to the last parameter or digit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch import nn

from autograder.authoring import atlas_formulas as formulas
from ffnlab.course import atlas

# name | attention per layer | FFN per layer | total | active | (active d_ff) / d_model | FFN of all, of attention + FFN, of active
DECODERS = """
BERT-base | 2,362,368 | 4,722,432 | 109,482,240 | 109,482,240 | 4.0 | 51.8% | 66.7% | 51.8%
GPT-2 small | 2,362,368 | 4,722,432 | 124,439,808 | 124,439,808 | 4.0 | 45.5% | 66.7% | 45.5%
GPT-2 medium | 4,198,400 | 8,393,728 | 354,823,168 | 354,823,168 | 4.0 | 56.8% | 66.7% | 56.8%
GPT-2 large | 6,558,720 | 13,113,600 | 774,030,080 | 774,030,080 | 4.0 | 61.0% | 66.7% | 61.0%
GPT-2 XL | 10,246,400 | 20,488,000 | 1,557,611,200 | 1,557,611,200 | 4.0 | 63.1% | 66.7% | 63.1%
GPT-3 175B | 604,028,928 | 1,208,020,992 | 174,604,259,328 | 174,604,259,328 | 4.0 | 66.4% | 66.7% | 66.4%
GPT-NeoX-20B | 151,019,520 | 302,020,608 | 20,554,567,680 | 20,554,567,680 | 4.0 | 64.7% | 66.7% | 64.7%
PaLM-540B | 462,422,016 | 4,076,863,488 | 540,356,474,880 | 540,356,474,880 | 4.0 | 89.0% | 89.8% | 89.0%
LLaMA-1/2 7B | 67,108,864 | 135,266,304 | 6,738,415,616 | 6,738,415,616 | 2.69 | 64.2% | 66.8% | 64.2%
LLaMA-1/2 13B | 104,857,600 | 212,336,640 | 13,015,864,320 | 13,015,864,320 | 2.7 | 65.3% | 66.9% | 65.3%
LLaMA-1 33B | 177,209,344 | 357,826,560 | 32,528,943,616 | 32,528,943,616 | 2.69 | 66.0% | 66.9% | 66.0%
LLaMA-1 65B | 268,435,456 | 541,065,216 | 65,285,660,672 | 65,285,660,672 | 2.69 | 66.3% | 66.8% | 66.3%
LLaMA-2 70B | 150,994,944 | 704,643,072 | 68,976,648,192 | 68,976,648,192 | 3.5 | 81.7% | 82.4% | 81.7%
LLaMA-3 8B | 41,943,040 | 176,160,768 | 8,030,261,248 | 8,030,261,248 | 3.5 | 70.2% | 80.8% | 70.2%
LLaMA-3 70B | 150,994,944 | 704,643,072 | 70,553,706,496 | 70,553,706,496 | 3.5 | 79.9% | 82.4% | 79.9%
LLaMA-3.1 405B | 570,425,344 | 2,617,245,696 | 405,853,388,800 | 405,853,388,800 | 3.25 | 81.3% | 82.1% | 81.3%
Mistral-7B | 41,943,040 | 176,160,768 | 7,241,732,096 | 7,241,732,096 | 3.5 | 77.8% | 80.8% | 77.8%
Gemma-1 2B | 9,437,184 | 100,663,296 | 2,506,172,416 | 2,506,172,416 | 8.0 | 72.3% | 91.4% | 72.3%
Gemma-1 7B | 50,331,648 | 226,492,416 | 8,537,680,896 | 8,537,680,896 | 8.0 | 74.3% | 81.8% | 74.3%
Gemma-2 2B | 14,155,776 | 63,700,992 | 2,614,341,888 | 2,614,341,888 | 4.0 | 63.4% | 81.8% | 63.4%
Gemma-2 9B | 44,040,192 | 154,140,672 | 9,241,705,984 | 9,241,705,984 | 4.0 | 70.1% | 77.8% | 70.1%
Gemma-2 27B | 56,623,104 | 509,607,936 | 27,227,128,320 | 27,227,128,320 | 8.0 | 86.1% | 90.0% | 86.1%
Qwen2.5-7B | 29,364,736 | 203,685,888 | 7,615,616,512 | 7,615,616,512 | 5.29 | 74.9% | 87.4% | 74.9%
Qwen2.5-72B | 151,005,184 | 726,663,168 | 72,706,203,648 | 72,706,203,648 | 3.61 | 80.0% | 82.8% | 80.0%
Qwen3-0.6B | 6,291,456 | 9,437,184 | 596,049,920 | 596,049,920 | 3.0 | 44.3% | 60.0% | 44.3%
Qwen3-8B | 41,943,040 | 150,994,944 | 8,190,735,360 | 8,190,735,360 | 3.0 | 66.4% | 78.3% | 66.4%
Qwen3-32B | 94,371,840 | 393,216,000 | 32,762,123,264 | 32,762,123,264 | 5.0 | 76.8% | 80.6% | 76.8%
Mixtral-8x7B | 41,943,040 | 1,409,318,912 | 46,702,792,704 | 12,879,925,248 | 7.0 | 96.6% | 97.1% | 87.5%
Mixtral-8x22B | 88,080,384 | 2,415,968,256 | 140,630,071,296 | 39,161,468,928 | 5.33 | 96.2% | 96.5% | 86.4%
Qwen3-30B-A3B | 18,874,368 | 604,241,920 | 30,532,122,624 | 3,353,032,704 | 3.0 | 95.0% | 97.0% | 54.4%
Qwen3-235B-A22B | 71,303,168 | 2,416,443,392 | 235,093,634,560 | 22,190,763,520 | 3.0 | 96.6% | 97.1% | 64.2%
OLMoE-1B-7B | 16,777,216 | 402,784,256 | 6,919,161,856 | 1,282,017,280 | 4.0 | 93.1% | 96.0% | 63.0%
DeepSeekMoE-16B | 16,777,216 | 553,086,391 | 16,375,728,128 | 2,828,650,496 | 5.5 | 94.6% | 97.1% | 68.6%
DeepSeek-V2-Lite | 13,763,072 | 552,419,935 | 15,706,484,224 | 2,661,150,208 | 5.5 | 95.0% | 97.6% | 70.3%
DeepSeek-V2 | 149,227,520 | 3,762,309,803 | 235,741,434,880 | 21,375,800,320 | 2.4 | 95.8% | 96.2% | 53.2%
DeepSeek-V3 | 187,107,328 | 10,782,928,401 | 671,026,419,200 | 37,552,297,472 | 2.57 | 98.0% | 98.3% | 64.7%
gpt-oss-20b | 26,550,080 | 796,631,072 | 20,914,757,184 | 4,187,440,704 | 4.0 | 91.4% | 96.8% | 57.1%
gpt-oss-120b | 26,550,080 | 3,186,524,288 | 116,829,156,672 | 5,711,982,912 | 4.0 | 98.2% | 99.2% | 63.0%
"""

# name | total | FFN of all | of an encoder layer | of a decoder layer
ENCODER_DECODERS = """
Transformer base | 63,045,632 | 40.0% | 66.7% | 50.0%
Transformer big | 214,171,648 | 47.0% | 66.7% | 50.0%
T5 v1.0 small | 60,506,624 | 41.6% | 66.7% | 50.0%
T5 v1.0 base | 222,903,552 | 50.8% | 66.7% | 50.0%
T5 v1.0 3B | 2,851,598,336 | 56.5% | 66.7% | 50.0%
T5 v1.0 11B | 11,307,321,344 | 57.0% | 66.7% | 50.0%
T5 v1.1 small | 76,961,152 | 32.7% | 66.7% | 50.0%
T5 v1.1 base | 247,577,856 | 45.7% | 66.7% | 50.0%
T5 v1.1 large | 783,150,080 | 53.0% | 67.3% | 50.8%
T5 v1.1 XL | 2,849,757,184 | 53.0% | 65.2% | 48.4%
T5 v1.1 XXL | 11,135,332,352 | 54.2% | 65.2% | 48.4%
"""

# Counts commonly reported for the published checkpoints, exactly.
CHECKPOINTS = {
    "BERT-base": 109_482_240,
    "GPT-2 small": 124_439_808,
    "GPT-2 medium": 354_823_168,
    "GPT-2 large": 774_030_080,
    "GPT-2 XL": 1_557_611_200,
    "LLaMA-1/2 7B": 6_738_415_616,
    "LLaMA-2 70B": 68_976_648_192,
    "LLaMA-3 8B": 8_030_261_248,
    "Mistral-7B": 7_241_732_096,
    "Mixtral-8x7B": 46_702_792_704,
    "Gemma-1 7B": 8_537_680_896,
    "T5 v1.0 base": 222_903_552,
    "T5 v1.0 11B": 11_307_321_344,
}

# Counts as papers and model cards round them, in billions: total, active, digits after the point.
ROUNDED = {
    "PaLM-540B": (540.4, 540.4, 1),
    "Mixtral-8x7B": (47, 13, 0),
    "OLMoE-1B-7B": (6.92, 1.28, 2),
    "DeepSeekMoE-16B": (16.4, 2.8, 1),
    "DeepSeek-V2": (236, 21, 0),
    "Transformer base": (0.063, 0.063, 3),
}


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def number(cell: str) -> int:
    return int(cell.replace(",", ""))


def llama_width(d_model: int, multiple_of: int = 256, mult: float = 1.0) -> int:
    """LLaMA's rule (meta-llama/llama, model.py), which is an exercise: 8/3 of d_model, times `mult`, up to a multiple."""
    return -(-int(mult * int(8 * d_model / 3)) // multiple_of) * multiple_of


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def ffn_share_of_layers(model: atlas.Model) -> float:
    """FFN / (attention + FFN) over all layers: norms and embeddings left out."""
    by_part = atlas.parts(model)
    return by_part.ffn / (by_part.ffn + by_part.attention)


def ffn_share_of_layer(model: atlas.Model, decoder: bool = False) -> float:
    """FFN / (attention + FFN) of one block; a decoder block with cross-attention has two attentions."""
    ffn = atlas.ffn_per_layer(model)
    return ffn / (ffn + atlas.attention_per_layer(model) * (2 if decoder else 1))


@pytest.mark.parametrize("row", rows(DECODERS), ids=lambda row: row[0])
def test_a_row_of_the_atlas_comes_out_of_its_configuration(row: list[str]) -> None:
    model = atlas.find(row[0])
    counts = (atlas.attention_per_layer(model), atlas.ffn_per_layer(model), atlas.total(model), atlas.active(model))
    assert counts == tuple(map(number, row[1:5]))
    experts = model.experts
    used = model.d_ff * (experts.k + experts.shared) if experts else model.d_ff
    assert f"{round(used / model.d_model, 2):g}" == f"{float(row[5]):g}"
    shares = (
        atlas.ffn_share_of_all(model),
        ffn_share_of_layers(model),
        atlas.ffn_share_of_all(model, active=True),
    )
    assert [percent(share) for share in shares] == row[6:]


@pytest.mark.parametrize("row", rows(ENCODER_DECODERS), ids=lambda row: row[0])
def test_a_row_of_the_encoder_decoders_comes_out_of_its_configuration(row: list[str]) -> None:
    model = atlas.find(row[0])
    assert atlas.total(model) == number(row[1])
    shares = (
        atlas.ffn_share_of_all(model),
        ffn_share_of_layer(model),
        ffn_share_of_layer(model, decoder=True),
    )
    assert [percent(share) for share in shares] == row[2:]


def test_the_tables_hold_every_model_of_the_atlas() -> None:
    assert [row[0] for row in rows(DECODERS)] == [model.name for model in atlas.MODELS]
    assert [row[0] for row in rows(ENCODER_DECODERS)] == [model.name for model in atlas.ENCODER_DECODERS]


@pytest.mark.parametrize(("name", "published"), CHECKPOINTS.items(), ids=str)
def test_the_count_of_a_published_checkpoint_is_met_exactly(name: str, published: int) -> None:
    assert atlas.total(atlas.find(name)) == published


@pytest.mark.parametrize(("name", "published"), ROUNDED.items(), ids=str)
def test_a_count_from_a_paper_is_met_to_its_last_digit(name: str, published: tuple[float, float, int]) -> None:
    total, active, digits = published
    model = atlas.find(name)
    assert (round(atlas.total(model) / 1e9, digits), round(atlas.active(model) / 1e9, digits)) == (total, active)


def test_some_cards_leave_the_input_embedding_out_of_what_is_active() -> None:
    """A token uses one row of it. Published: V3 671B and 37B, gpt-oss 20.91B and 3.61B, 116.83B and 5.13B."""
    for name, digits, total, active in (
        ("DeepSeek-V3", 0, 671, 37),
        ("gpt-oss-20b", 2, 20.91, 3.61),
        ("gpt-oss-120b", 2, 116.83, 5.13),
    ):
        model = atlas.find(name)
        used = atlas.active(model) - model.vocab * model.d_model
        assert (round(atlas.total(model) / 1e9, digits), round(used / 1e9, digits)) == (total, active)


def test_the_formulas_count_what_torch_counts() -> None:
    """One encoder-decoder and one gated layer, made of modules and counted parameter by parameter."""

    def held(*modules: nn.Module) -> int:
        return sum(p.numel() for module in modules for p in module.parameters())

    d, f, V = 12, 40, 77
    layers = nn.Transformer(d, 4, 2, 2, f, batch_first=True)
    layers.encoder.norm = layers.decoder.norm = None
    model = atlas.Model(
        "toy",
        d,
        f,
        2,
        4,
        V,
        gated=False,
        attention_bias="all",
        ffn_bias=True,
        norm="layer",
        norms_around=0,
        tied=True,
        n_encoder=2,
    )
    counted = formulas.counts(model)
    # Two of each kind; a decoder block has two attentions.
    blocks = 4 * counted.ffn + 6 * counted.attention + counted.norms
    assert blocks + counted.embeddings == held(layers, nn.Embedding(V, d))

    biased = atlas.Model("toy", d, f, 1, 3, V, ffn_bias=True)
    assert formulas.counts(biased).ffn == held(nn.Linear(d, f), nn.Linear(d, f), nn.Linear(f, d))

    grouped = atlas.Model("toy", d, f, 1, 6, V, n_kv=2, head_dim=5, attention_bias="qkv")
    projections = (nn.Linear(d, 30), nn.Linear(d, 10), nn.Linear(d, 10), nn.Linear(30, d, bias=False))
    assert formulas.counts(grouped).attention == held(*projections)


def test_what_the_atlas_holds_is_what_the_formulas_say() -> None:
    assert atlas.COUNTS_FILE.read_text(encoding="utf-8") == formulas.format_counts(), (
        "run: python -m autograder.authoring.atlas_formulas"
    )


def test_a_handout_counts_no_model_of_your_own() -> None:
    """Notebook 05 asks for these counts; three calls of the atlas earned 12 of its points."""
    known = atlas.find("GPT-2 small")
    for wanted in (replace(known, d_ff=40), replace(known, gated=True), replace(known, n_heads=6)):
        for count in (atlas.attention_per_layer, atlas.ffn_per_layer):
            with pytest.raises(LookupError, match="other sizes"):
                count(wanted)
        with pytest.raises(LookupError, match="other sizes"):
            atlas.flops_per_token(wanted, 1)
    assert not hasattr(atlas, "one_ffn")


def test_llamas_widths_follow_from_its_rule() -> None:
    for name, rule in (
        ("LLaMA-1/2 7B", ()),
        ("LLaMA-1/2 13B", ()),
        ("LLaMA-1 33B", ()),
        ("LLaMA-1 65B", ()),
        ("LLaMA-2 70B", (4096, 1.3)),
        ("LLaMA-3 8B", (1024, 1.3)),
        ("LLaMA-3.1 405B", (4096, 1.2)),
    ):
        model = atlas.find(name)
        assert model.d_ff == llama_width(model.d_model, *rule), name


def test_flops_per_token_are_twice_the_weights_and_the_mixing_grows_with_T() -> None:
    for name in ("GPT-3 175B", "LLaMA-3 8B", "Gemma-1 2B"):
        model = atlas.find(name)
        biases = {"GPT-3 175B": 9 * model.d_model}.get(name, 0)
        flops = atlas.flops_per_token(model, 1000)
        weights = atlas.attention_per_layer(model) + atlas.ffn_per_layer(model) - biases
        assert flops["ffn"] + flops["proj"] == 2 * weights
        assert flops["mix"] == 2 * 2 * 1000 * model.n_heads * (model.head_dim or model.d_model // model.n_heads)


def test_a_model_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(LookupError, match="no model 'GPT-5'; it has BERT-base, GPT-2 small"):
        atlas.find("GPT-5")
