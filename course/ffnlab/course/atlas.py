"""The atlas: published Transformers by their configurations, and their counts.

Used by notebooks and figures from 05 on. The counts are in atlas.json beside this file: `python -m autograder.authoring.atlas_formulas` computed them from
these configurations, and those of checkpoints come out exactly. The formulas are what notebook 05 asks for, so they are not here.

The configurations stand in the models' own repositories (openai/gpt-2, google-research/bert, EleutherAI/gpt-neox, google/gemma_pytorch,
deepseek-ai/DeepSeek-V3, openai/gpt-oss, allenai/OLMoE, T5's gin files), in Lightning-AI/litgpt and transformers, and for PaLM, GPT-3
and the Transformer of 2017 in the papers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from ffnlab.course.experiments import read

COUNTS_FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Experts:
    """A mixture of experts in place of the FFN."""

    n: int  # routed experts, each of width `Model.d_ff`
    k: int  # of them that are active for a token
    shared: int = 0  # experts of the same width that every token uses
    dense_layers: int = 0  # first layers that have an ordinary FFN instead
    dense_d_ff: int = 0  # the width of that FFN
    selection_bias: bool = False  # one number per expert that only the choice uses (DeepSeek-V3)


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention (DeepSeek-V2): keys and values pass through kv_rank numbers, queries through q_rank (0: not)."""

    q_rank: int
    kv_rank: int = 512
    nope: int = 128
    rope: int = 64
    v: int = 128


@dataclass(frozen=True)
class Model:
    """What has to be known of a Transformer to count its parameters. The defaults are LLaMA's."""

    name: str
    d_model: int
    d_ff: int  # the width of the FFN, or of one expert in a mixture
    n_layers: int  # blocks
    n_heads: int
    vocab: int
    n_kv: int | None = None  # key and value heads; None: as many as n_heads
    head_dim: int | None = None  # None: d_model / n_heads
    gated: bool = True
    activation: str = "SiLU"
    attention_bias: Literal["none", "qkv", "all"] = "none"
    ffn_bias: bool = False
    norm: Literal["rms", "layer"] = "rms"
    norms_per_layer: int = 2
    norms_around: int = 1  # outside of all blocks
    qk_norm: int = 0  # numbers in the norms of queries and keys, per layer
    tied: bool = False
    positions: int = 0  # learned vectors added to the embeddings
    n_encoder: int = 0  # encoder blocks besides; then each of the n_layers has a second attention
    experts: Experts | None = None
    latent: Latent | None = None
    extra: int = 0  # parameters of the whole model that no formula here covers
    extra_per_layer: int = 0  # the same, per layer


@dataclass(frozen=True)
class Parts:
    """A model's parameters by part. `other` is what is neither: relative positions, a pooler, sinks."""

    attention: int
    ffn: int
    norms: int
    embeddings: int
    other: int

    @property
    def total(self) -> int:
        return self.attention + self.ffn + self.norms + self.embeddings + self.other


@dataclass(frozen=True)
class Counts:
    """What was counted of one model: parameters, and forward FLOPs of one token in one layer.

    A multiply-add is two FLOPs. Models with experts or latent attention have 0 FLOPs here.
    """

    attention: int  # of one attention
    ffn: int  # of one FFN, or of one expert
    router: int  # of one mixture
    dense_ffn: int  # of a layer without experts in a model that has some
    norms: int  # of the whole model
    embeddings: int  # of the whole model
    other: int  # of the whole model
    flops_ffn: int
    flops_proj: int  # of attention's projections
    flops_mix: int  # of attention's mixing, for each position that the token looks at


@cache
def counts(model: Model) -> Counts:
    """What was counted of a model of the atlas; it may have another number of active experts than the published one.

    Raises:
        LookupError: the model is not one of the atlas's own.
    """
    entry = find(model.name)
    if model.experts and entry.experts:
        entry = replace(entry, experts=replace(entry.experts, k=model.experts.k))
    if model != entry:
        raise LookupError(
            f"the atlas counted {model.name!r} with other sizes; count your own with what you write in notebook 05"
        )
    return Counts(**read(COUNTS_FILE)[model.name])


def attention_per_layer(model: Model) -> int:
    """Parameters of one attention: queries, keys, values and output; without the norms of queries and keys.

    Latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) includes the norms of its two narrow places.
    """
    return counts(model).attention


def ffn_in_all_layers(model: Model, active: bool = False) -> int:
    """Parameters of all FFNs, routers included; with `active`, only what one token uses."""
    layers, per_layer, moe = model.n_layers + model.n_encoder, counts(model), model.experts
    if moe is None:
        return layers * per_layer.ffn
    n_experts = (moe.k if active else moe.n) + moe.shared
    sparse = n_experts * per_layer.ffn + per_layer.router
    return moe.dense_layers * per_layer.dense_ffn + (layers - moe.dense_layers) * sparse


def ffn_per_layer(model: Model, active: bool = False) -> int:
    """The same per layer; where the first layers differ, the mean of all, rounded."""
    return round(ffn_in_all_layers(model, active) / (model.n_layers + model.n_encoder))


def attention_in_all_layers(model: Model) -> int:
    """Parameters of all attentions: one per block, two per decoder block of an encoder-decoder."""
    return attention_per_layer(model) * (model.n_encoder + model.n_layers * (2 if model.n_encoder else 1))


def parts(model: Model, active: bool = False) -> Parts:
    """A model's parameters by part; with `active`, only the experts that one token uses. Embeddings count as a whole."""
    numbers = counts(model)
    return Parts(
        attention=attention_in_all_layers(model),
        ffn=ffn_in_all_layers(model, active),
        norms=numbers.norms,
        embeddings=numbers.embeddings,
        other=numbers.other,
    )


def total(model: Model) -> int:
    """All parameters."""
    return parts(model).total


def active(model: Model) -> int:
    """The parameters that one token uses, embeddings counted as a whole."""
    return parts(model, active=True).total


def ffn_share_of_all(model: Model, active: bool = False) -> float:
    """The FFNs' share of all parameters, or of the active ones."""
    by_part = parts(model, active)
    return by_part.ffn / by_part.total


def flops_per_token(model: Model, T: int) -> dict[str, int]:
    """Forward FLOPs of one token in one layer, at T positions, multiply-add = 2; for dense models without latent attention.

    ffn: its matrices. proj: attention's four. mix: scores and weighted sum over T positions. Biases, softmax and activation are
    not counted.
    """
    numbers = counts(model)
    return {"ffn": numbers.flops_ffn, "proj": numbers.flops_proj, "mix": T * numbers.flops_mix}


def _gpt(name: str, d_model: int, n_layers: int, n_heads: int, positions: int, activation: str = "GELU-tanh") -> Model:
    """GPT-2's form: biases everywhere, LayerNorm, learned positions, one table of embeddings for input and output."""
    return Model(
        name,
        d_model,
        4 * d_model,
        n_layers,
        n_heads,
        50257,
        gated=False,
        activation=activation,
        attention_bias="all",
        ffn_bias=True,
        norm="layer",
        tied=True,
        positions=positions,
    )


def _gemma(
    name: str, d_model: int, d_ff: int, n_layers: int, n_heads: int, n_kv: int, head_dim: int, second: bool
) -> Model:
    """Gemma's form; the second generation has four norms in a block."""
    return Model(
        name,
        d_model,
        d_ff,
        n_layers,
        n_heads,
        256000,
        n_kv,
        head_dim,
        activation="GELU-tanh",
        tied=True,
        norms_per_layer=4 if second else 2,
    )


def _qwen3(
    name: str,
    d_model: int,
    d_ff: int,
    n_layers: int,
    n_heads: int,
    n_kv: int,
    tied: bool = False,
    experts: Experts | None = None,
) -> Model:
    """Qwen3's form: heads of 128, with one norm for all queries and one for all keys."""
    return Model(name, d_model, d_ff, n_layers, n_heads, 151936, n_kv, 128, qk_norm=256, tied=tied, experts=experts)


def _gpt_oss(name: str, n_layers: int, n_experts: int) -> Model:
    """gpt-oss: biases everywhere, one sink per head."""
    return Model(
        name,
        2880,
        2880,
        n_layers,
        64,
        201088,
        8,
        64,
        activation="SwiGLU-clamped",
        attention_bias="all",
        ffn_bias=True,
        experts=Experts(n_experts, 4),
        extra_per_layer=64,
    )


def _t5(name: str, d_model: int, d_ff: int, layers: int, n_heads: int, head_dim: int, gated: bool) -> Model:
    """T5: no biases, RMS norms, 32 relative positions per head in encoder and decoder; version 1.1 is gated and unties."""
    return Model(
        name,
        d_model,
        d_ff,
        layers,
        n_heads,
        32128,
        head_dim=head_dim,
        gated=gated,
        activation="GELU-tanh" if gated else "ReLU",
        norms_around=2,
        tied=not gated,
        n_encoder=layers,
        extra=2 * 32 * n_heads,
    )


def _transformer(name: str, d_model: int, n_heads: int) -> Model:
    """The Transformer of 2017 for English and German: V = 37,000, fixed positions, norms after each part, one table of embeddings."""
    return Model(
        name,
        d_model,
        4 * d_model,
        6,
        n_heads,
        37000,
        gated=False,
        activation="ReLU",
        ffn_bias=True,
        norm="layer",
        norms_around=0,
        tied=True,
        n_encoder=6,
    )


MODELS: tuple[Model, ...] = (
    Model(
        "BERT-base",
        768,
        3072,
        12,
        12,
        30522,
        gated=False,
        activation="GELU",
        attention_bias="all",
        ffn_bias=True,
        norm="layer",
        tied=True,
        positions=512 + 2,  # and two kinds of segment
        extra=768 * 768 + 768,  # the pooler
    ),
    _gpt("GPT-2 small", 768, 12, 12, 1024),
    _gpt("GPT-2 medium", 1024, 24, 16, 1024),
    _gpt("GPT-2 large", 1280, 36, 20, 1024),
    _gpt("GPT-2 XL", 1600, 48, 25, 1024),
    _gpt("GPT-3 175B", 12288, 96, 96, 2048, "GELU"),
    Model(
        "GPT-NeoX-20B",
        6144,
        24576,
        44,
        64,
        50432,
        gated=False,
        activation="GELU",
        attention_bias="all",
        ffn_bias=True,
        norm="layer",
    ),
    Model("PaLM-540B", 18432, 73728, 118, 48, 256000, 1, 256, norms_per_layer=1, tied=True),
    Model("LLaMA-1/2 7B", 4096, 11008, 32, 32, 32000),
    Model("LLaMA-1/2 13B", 5120, 13824, 40, 40, 32000),
    Model("LLaMA-1 33B", 6656, 17920, 60, 52, 32000),
    Model("LLaMA-1 65B", 8192, 22016, 80, 64, 32000),
    Model("LLaMA-2 70B", 8192, 28672, 80, 64, 32000, 8),
    Model("LLaMA-3 8B", 4096, 14336, 32, 32, 128256, 8),
    Model("LLaMA-3 70B", 8192, 28672, 80, 64, 128256, 8),
    Model("LLaMA-3.1 405B", 16384, 53248, 126, 128, 128256, 8),
    Model("Mistral-7B", 4096, 14336, 32, 32, 32000, 8),
    _gemma("Gemma-1 2B", 2048, 16384, 18, 8, 1, 256, second=False),
    _gemma("Gemma-1 7B", 3072, 24576, 28, 16, 16, 256, second=False),
    _gemma("Gemma-2 2B", 2304, 9216, 26, 8, 4, 256, second=True),
    _gemma("Gemma-2 9B", 3584, 14336, 42, 16, 8, 256, second=True),
    _gemma("Gemma-2 27B", 4608, 36864, 46, 32, 16, 128, second=True),
    Model("Qwen2.5-7B", 3584, 18944, 28, 28, 152064, 4, attention_bias="qkv"),
    Model("Qwen2.5-72B", 8192, 29568, 80, 64, 152064, 8, attention_bias="qkv"),
    _qwen3("Qwen3-0.6B", 1024, 3072, 28, 16, 8, tied=True),
    _qwen3("Qwen3-8B", 4096, 12288, 36, 32, 8),
    _qwen3("Qwen3-32B", 5120, 25600, 64, 64, 8),
    Model("Mixtral-8x7B", 4096, 14336, 32, 32, 32000, 8, experts=Experts(8, 2)),
    Model("Mixtral-8x22B", 6144, 16384, 56, 48, 32768, 8, experts=Experts(8, 2)),
    _qwen3("Qwen3-30B-A3B", 2048, 768, 48, 32, 4, experts=Experts(128, 8)),
    _qwen3("Qwen3-235B-A22B", 4096, 1536, 94, 64, 4, experts=Experts(128, 8)),
    Model("OLMoE-1B-7B", 2048, 1024, 16, 16, 50304, qk_norm=2 * 2048, experts=Experts(64, 8)),
    Model("DeepSeekMoE-16B", 2048, 1408, 28, 16, 102400, experts=Experts(64, 6, 2, 1, 10944)),
    Model("DeepSeek-V2-Lite", 2048, 1408, 27, 16, 102400, experts=Experts(64, 6, 2, 1, 10944), latent=Latent(0)),
    Model("DeepSeek-V2", 5120, 1536, 60, 128, 102400, experts=Experts(160, 6, 2, 1, 12288), latent=Latent(1536)),
    Model(
        "DeepSeek-V3",
        7168,
        2048,
        61,
        128,
        129280,
        experts=Experts(256, 8, 1, 3, 18432, selection_bias=True),
        latent=Latent(1536),
    ),
    _gpt_oss("gpt-oss-20b", 24, 32),
    _gpt_oss("gpt-oss-120b", 36, 128),
)

ENCODER_DECODERS: tuple[Model, ...] = (
    _transformer("Transformer base", 512, 8),
    _transformer("Transformer big", 1024, 16),
    _t5("T5 v1.0 small", 512, 2048, 6, 8, 64, gated=False),
    _t5("T5 v1.0 base", 768, 3072, 12, 12, 64, gated=False),
    _t5("T5 v1.0 3B", 1024, 16384, 24, 32, 128, gated=False),
    _t5("T5 v1.0 11B", 1024, 65536, 24, 128, 128, gated=False),
    _t5("T5 v1.1 small", 512, 1024, 8, 6, 64, gated=True),
    _t5("T5 v1.1 base", 768, 2048, 12, 12, 64, gated=True),
    _t5("T5 v1.1 large", 1024, 2816, 24, 16, 64, gated=True),
    _t5("T5 v1.1 XL", 2048, 5120, 24, 32, 64, gated=True),
    _t5("T5 v1.1 XXL", 4096, 10240, 24, 64, 64, gated=True),
)


def find(name: str) -> Model:
    """The model of the given name.

    Raises:
        LookupError: the atlas has no such model; the message lists those it has.
    """
    for model in MODELS + ENCODER_DECODERS:
        if model.name == name:
            return model
    raise LookupError(f"the atlas has no model {name!r}; it has {', '.join(m.name for m in MODELS + ENCODER_DECODERS)}")
