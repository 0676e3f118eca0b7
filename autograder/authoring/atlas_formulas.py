"""The formulas behind the atlas: from a configuration to counts. They are what notebook 05 asks for, so no handout holds them.

`python -m autograder.authoring.atlas_formulas` computes every model of `ffnlab.course.atlas` and writes
course/ffnlab/course/atlas.json; a test compares the two.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from ffnlab.course import atlas
from ffnlab.course.atlas import Counts, Model


def attention(model: Model) -> int:
    """Parameters of one attention: queries, keys, values and output; without the norms of queries and keys.

    Latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) includes the norms of its two narrow places.
    """
    d = model.d_model
    if model.latent:
        m, H = model.latent, model.n_heads
        into = m.q_rank or d  # what the queries are made from
        down = d * m.q_rank + m.q_rank if m.q_rank else 0
        queries = down + into * H * (m.nope + m.rope)
        keys_values = d * (m.kv_rank + m.rope) + m.kv_rank + m.kv_rank * H * (m.nope + m.v)
        return queries + keys_values + H * m.v * d
    head_dim = model.head_dim or d // model.n_heads
    queries, keys = model.n_heads * head_dim, (model.n_kv or model.n_heads) * head_dim
    weights = 2 * d * queries + 2 * d * keys
    in_biases = queries + 2 * keys if model.attention_bias != "none" else 0
    return weights + in_biases + (d if model.attention_bias == "all" else 0)


def one_ffn(model: Model, width: int) -> int:
    """Parameters of one FFN, or one expert, of the given width."""
    d = model.d_model
    matrices = 3 if model.gated else 2
    return matrices * d * width + ((matrices - 1) * width + d if model.ffn_bias else 0)


def router(model: Model) -> int:
    """Parameters of one mixture's router."""
    moe = model.experts
    if moe is None:
        return 0
    return model.d_model * moe.n + (moe.n if model.ffn_bias else 0) + (moe.n if moe.selection_bias else 0)


def norms(model: Model) -> int:
    """Parameters of all norms, those of queries and keys included; cross-attention has a norm of its own."""
    layers = model.n_layers + model.n_encoder
    in_blocks = model.norms_per_layer * layers + (model.n_layers if model.n_encoder else 0)
    return (in_blocks + model.norms_around) * model.d_model * (
        2 if model.norm == "layer" else 1
    ) + layers * model.qk_norm


def counts(model: Model) -> Counts:
    """All that the atlas holds of one model."""
    d, layers, moe = model.d_model, model.n_layers + model.n_encoder, model.experts
    head_dim = model.head_dim or d // model.n_heads
    inner, keys = model.n_heads * head_dim, (model.n_kv or model.n_heads) * head_dim
    simple = moe is None and model.latent is None
    return Counts(
        attention=attention(model),
        ffn=one_ffn(model, model.d_ff),
        router=router(model),
        dense_ffn=one_ffn(model, moe.dense_d_ff) if moe and moe.dense_layers else 0,
        norms=norms(model),
        embeddings=model.vocab * d * (1 if model.tied else 2) + model.positions * d,
        other=model.extra + layers * model.extra_per_layer,
        flops_ffn=(6 if model.gated else 4) * d * model.d_ff if simple else 0,
        flops_proj=4 * d * (inner + keys) if simple else 0,
        flops_mix=4 * inner if simple else 0,
    )


def format_counts() -> str:
    """The text of atlas.json: a line for each model."""
    rows = [f"{json.dumps(m.name)}: {json.dumps(asdict(counts(m)))}" for m in atlas.MODELS + atlas.ENCODER_DECODERS]
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    atlas.COUNTS_FILE.write_text(format_counts(), encoding="utf-8")
