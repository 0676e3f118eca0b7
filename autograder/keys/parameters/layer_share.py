"""What is right, and what goes wrong, in `layer_share` of notebook 05."""

from __future__ import annotations

from fractions import Fraction

import torch
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import parameters as exercises

layer_share = Key(exercises.layer_share)


@layer_share.truth
def with_fractions(cfg, block="encoder"):
    """Counts both parts output by output, as the truths above do, and divides whole numbers exactly."""
    d, f, heads = cfg["d_model"], cfg["d_ff"], cfg["n_heads"]
    given = {key: value for key, value in cfg.items() if value is not None}
    groups, width = given.get("n_kv", heads), given.get("head_dim", d // heads)
    one = 1 if given.get("bias", False) else 0
    ffn = attention = 0
    for _ in range(2 if given.get("gated", False) else 1):
        ffn += sum(d + one for _ in range(f))
    ffn += sum(f + one for _ in range(d))
    for _ in range({"encoder": 1, "decoder": 2}[block]):
        attention += sum(d + one for _ in range((heads + 2 * groups) * width))
        attention += sum(heads * width + one for _ in range(d))
    return float(Fraction(ffn, ffn + attention))


@layer_share.right("asks PyTorch")
def modules_counted(cfg, block="encoder"):
    d, f, H = cfg["d_model"], cfg["d_ff"], cfg["n_heads"]
    KV, h = cfg.get("n_kv") or H, cfg.get("head_dim") or d // H
    bias, gated = cfg.get("bias", False), cfg.get("gated", False)
    ffn = [nn.Linear(d, f, bias=bias) for _ in range(1 + gated)] + [nn.Linear(f, d, bias=bias)]
    attention = [nn.Linear(d, size * h, bias=bias) for size in (H, KV, KV)] + [nn.Linear(H * h, d, bias=bias)]

    def count(layers):
        return sum(p.numel() for layer in layers for p in layer.parameters())

    n_attention = count(attention) * (2 if block == "decoder" else 1)
    return count(ffn) / (count(ffn) + n_attention)


@layer_share.right("defaults laid under the cfg")
def defaults_first(cfg, block="encoder"):
    c = {"n_kv": None, "head_dim": None, "bias": False, "gated": False} | cfg
    if c["n_kv"] is None:
        c["n_kv"] = c["n_heads"]
    if c["head_dim"] is None:
        c["head_dim"] = c["d_model"] // c["n_heads"]
    d, f, q, kv = c["d_model"], c["d_ff"], c["n_heads"] * c["head_dim"], c["n_kv"] * c["head_dim"]
    attention = 2 * d * (q + kv) + (q + 2 * kv + d if c["bias"] else 0)
    ffn = (3 if c["gated"] else 2) * d * f
    if c["bias"]:
        ffn += (2 if c["gated"] else 1) * f + d
    if block == "decoder":
        attention = attention + attention
    return ffn / (ffn + attention)


ONE_ATTENTION = (
    "The decoder block comes out like an encoder block. It has two attentions of the same size, one over its own tokens and one across to "
    "the encoder, and still one FFN."
)


@layer_share.base
def plain_layer_share(cfg, block="encoder"):
    d, f, H = cfg["d_model"], cfg["d_ff"], cfg["n_heads"]
    KV, h = cfg.get("n_kv") or H, cfg.get("head_dim") or d // H
    bias, gated = cfg.get("bias", False), cfg.get("gated", False)
    ffn = (3 if gated else 2) * d * f + (((2 if gated else 1) * f + d) if bias else 0)
    attention = 2 * d * (H + KV) * h + (((H + 2 * KV) * h + d) if bias else 0)
    attention = attention * (2 if block == "decoder" else 1)
    return ffn / (ffn + attention)


layer_share.slip("one_attention_in_the_decoder", ONE_ATTENTION, replace={'2 if block == "decoder" else 1': "1"})
layer_share.slip(
    "decoder_by_default",
    "Without the argument, `block` is taken as a decoder's. The default in the signature is “encoder”.",
    replace={'"encoder"': '"decoder"', '2 if block == "decoder" else 1': '1 if block == "encoder" else 2'},
)
layer_share.slip(
    "biases_not_handed_over",
    "The cfg's `bias` is not looked at, so each function falls back on its own default: `count_ffn` has biases, `count_attention` has none. Hand "
    "`bias=cfg.get('bias', False)` to both.",
    replace={'cfg.get("bias", False)': "True", " + (((H + 2 * KV) * h + d) if bias else 0)": ""},
)
layer_share.slip(
    "only_three_keys_are_read",
    "Only d_model, d_ff and n_heads are looked at, and `count_ffn` has biases by default. The cfg may also have `n_kv`, `head_dim`, `bias` and `gated`.",
    of="biases_not_handed_over",
    replace={"KV, h = …": "KV, h = H, d // H", 'cfg.get("gated", False)': "False"},
)
layer_share.slip(
    "only_three_keys_no_biases",
    "Only d_model, d_ff and n_heads are looked at. The cfg may also have `n_kv`, `head_dim`, `bias` and `gated`.",
    replace={"KV, h = …": "KV, h = H, d // H", 'cfg.get("bias", False), cfg.get("gated", False)': "False, False"},
)


@layer_share.mistake(
    "The cfg that was handed in is changed on the way. Work on a copy, or read the values into variables of your own."
)
def cfg_changed(cfg, block="encoder"):
    cfg["n_kv"] = cfg.get("n_kv") or cfg["n_heads"]
    cfg["head_dim"] = cfg.get("head_dim") or cfg["d_model"] // cfg["n_heads"]
    bias, gated = cfg.pop("bias", False), cfg.pop("gated", False)
    d, f, H, KV, h = cfg["d_model"], cfg["d_ff"], cfg["n_heads"], cfg["n_kv"], cfg["head_dim"]
    ffn = (3 if gated else 2) * d * f + (((2 if gated else 1) * f + d) if bias else 0)
    attention = 2 * d * (H + KV) * h + (((H + 2 * KV) * h + d) if bias else 0)
    if block == "decoder":
        attention *= 2
    return ffn / (ffn + attention)


@layer_share.form(cfg_changed)
def defaults_written_into_the_cfg(cfg, block="encoder"):
    for key, usual in {"n_kv": None, "head_dim": None, "bias": False, "gated": False}.items():
        cfg.setdefault(key, usual)
    d, f, H, bias, gated = cfg["d_model"], cfg["d_ff"], cfg["n_heads"], cfg["bias"], cfg["gated"]
    KV, h = cfg["n_kv"] or H, cfg["head_dim"] or d // H
    ffn = (3 if gated else 2) * d * f + (((2 if gated else 1) * f + d) if bias else 0)
    attention = 2 * d * (H + KV) * h + (((H + 2 * KV) * h + d) if bias else 0)
    return ffn / (ffn + attention * (2 if block == "decoder" else 1))


layer_share.slips("""
in 2 if block == "decoder" else 1
always_a_decoder: 2
    Every block is counted with two attentions. An encoder block, which is what `block` says by default, has one.
blocks_turned_round: 1 if block == "decoder" else 2
    The two kinds of block are mixed up: the decoder block has two attentions, the encoder block one.
in attention = attention * (2 if block == "decoder" else 1)
three_attentions: attention = attention * (3 if block == "decoder" else 1)
    The decoder block is counted with three attentions. Its own and the one across make two.
decoder_doubles_the_ffn
  + attention = attention * (1)
  + if block == "decoder":
  +     ffn = 2 * ffn
    The decoder block is counted with two FFNs. It has a second attention; there is one FFN, after both.
| one_attention_in_the_decoder | decoder_doubles_all
  + attention = attention * (1)
  + if block == "decoder":
  +     ffn, attention = 2 * ffn, 2 * attention
options_of_the_encoder_alone
  + attention = attention * (2 if block == "decoder" else 1)
  + if block == "decoder":
  +     ffn, attention = 2 * d * f, 2 * 4 * d * d
    In a decoder block only d_model, d_ff and n_heads are looked at. All keys mean the same in both kinds of block.
norms_included
  - return ffn / (ffn + attention)
  + norms = 3 if block == "decoder" else 2
  + return ffn / (ffn + attention + norms * 2 * d)
    The norms are in the denominator. The share asked for is of FFN and attention alone.
|| rms_norms_included: (ffn + attention + norms * 2 * d) -> (ffn + attention + norms * d)
| two_norms_included: (ffn + attention) -> (ffn + attention + 2 * 2 * d)
in return ffn / (ffn + attention)
rounded: return round(ffn / (ffn + attention), 3)
    The share is rounded. Hand back what the division gives; rounding is for printing.
whole_division: return ffn // (ffn + attention)
    `//` throws away what comes after the point, and a share is smaller than 1. Use `/`.
two_thirds_by_heart: return 1 / 2 if block == "decoder" else 2 / 3
    This is the rule of thumb, whatever the cfg says. Compute it from the sizes in the cfg.
share_no_return: print(ffn / (ffn + attention))
    NO_RETURN
in return ffn /
percent: return 100 * ffn /
    This is a percentage. A share of the whole is a number from 0 to 1.
share_of_attention: return attention /
    This is attention's share. The FFN's is asked for: FFN over FFN and attention.
in (ffn + attention)
ratio: attention
    This is the ratio of FFN to attention. A share is a part of the whole: the denominator is both together.
sum_without_parentheses: ffn + attention
    Python divides before it adds: `ffn / ffn + attention` is 1 + attention. Put the sum in parentheses.
biases_by_default
  - cfg.get("bias", False)
  + True
  - (((H + 2 * KV) * h + d) if bias else 0)
  + (((H + 2 * KV) * h + d) if cfg.get('bias') else 0)
    There are biases in your count although the cfg does not ask for any. `count_ffn` has them by default: hand it `bias=cfg.get('bias', False)`.
in bias, gated = cfg.get("bias", False), cfg.get("gated", False)
biases_by_default_in_both: bias, gated = cfg.get("bias", True), cfg.get("gated", False)
    There are biases in both counts although the cfg does not ask for any: its `bias` is False where it is missing.
biases_left_out: bias, gated = False, cfg.get("gated", False)
    The cfg's `bias` is not looked at. Where it is True, both the FFN and the attention have biases.
bias_seen_with_gate_only: bias, gated = cfg.get("bias", False) and cfg.get("gated", False), cfg.get("gated", False)
    `bias` is looked at only where the FFN is gated. The two are independent of each other: any key may be there without the others.
in ffn = (3 if gated else 2) * d * f + (((2 if gated else 1) * f + d) if bias else 0)
bias_and_gated_swapped: ffn = (3 if bias else 2) * d * f + (((2 if bias else 1) * f + d) if gated else 0)
    `bias` and `gated` have changed places in the FFN. Hand them over by name: `count_ffn(d, f, bias=…, gated=…)`.
biases_of_the_ffn_swapped: ffn = (3 if gated else 2) * d * f + (((2 if gated else 1) * d + f) if bias else 0)
    In the FFN's biases d and f have changed places. A bias is as long as what its matrix puts out: d_ff on the way in, d_model on the way out. If you
    have a function for it, look at the order in which it takes the two.
in KV, h = cfg.get("n_kv") or H, cfg.get("head_dim") or d // H
n_kv_and_head_dim_swapped: KV, h = cfg.get("head_dim") or H, cfg.get("n_kv") or d // H
    `n_kv` and `head_dim` have changed places. Hand them over by name: `count_attention(d, n_heads, n_kv=…, head_dim=…)`.
groups_left_out: KV, h = H, cfg.get("head_dim") or d // H
    The cfg's `n_kv` is not looked at: keys and values are shared by several heads where it is smaller than n_heads.
head_dim_left_out: KV, h = cfg.get("n_kv") or H, d // H
    The cfg's `head_dim` is not looked at: where it is given, the heads have that width instead of d_model / n_heads.
groups_and_head_dim_left_out: KV, h = H, d // H
    Attention is counted as 4·d² here. The cfg may have `n_kv` and `head_dim`, and `count_attention` takes both.
none_taken_for_a_number: KV, h = cfg.get("n_kv", H), cfg.get("head_dim", d // H)
    A key may be there and hold None, which means the default: then `cfg.get(key, default)` gives None too. `cfg.get(key) or default` covers both.
groups_seen_with_head_dim_only: KV, h = (cfg.get("n_kv") if cfg.get("head_dim") else None) or H, cfg.get("head_dim") or d // H
    `n_kv` is looked at only where the cfg has `head_dim` too. The two are independent of each other: any key may be there without the others.
head_dim_seen_with_groups_only: KV, h = cfg.get("n_kv") or H, (cfg.get("head_dim") if cfg.get("n_kv") else None) or d // H
    `head_dim` is looked at only where the cfg has `n_kv` too. The two are independent of each other: any key may be there without the others.
biases_in_the_ffn_alone: h + (((H + 2 * KV) * h + d) if bias else 0) -> h
    Where the cfg says bias=True, attention has biases too, one for each of its four matrices.
in cfg.get("gated", False)
gate_left_out: False
    The cfg's `gated` is not looked at. A gated FFN has three matrices.
gate_seen_with_groups_only: cfg.get("gated", False) and cfg.get("n_kv") is not None
    `gated` is looked at only where the cfg has `n_kv` too. The two are independent of each other: any key may be there without the others.
keys_taken_for_granted
  - KV, h = cfg.get("n_kv") or H, cfg.get("head_dim") or d // H
  - bias, gated = cfg.get("bias", False), cfg.get("gated", False)
  + KV, h = cfg["n_kv"], cfg["head_dim"]
  + bias, gated = cfg["bias"], cfg["gated"]
    Most keys of the cfg may be missing, and `cfg[...]` raises KeyError then. `cfg.get(key)` gives None, `cfg.get(key, False)` gives False.
|| keys_taken_for_granted_or_none: cfg["n_kv"], cfg["head_dim"] -> cfg["n_kv"] or H, cfg["head_dim"] or d // H
""")


@layer_share.right("from the ratio of the two, with a tensor as result")
def from_the_ratio(cfg, block="encoder"):
    d, f, H = cfg["d_model"], cfg["d_ff"], cfg["n_heads"]
    KV = H if cfg.get("n_kv") is None else cfg["n_kv"]
    h = d // H if cfg.get("head_dim") is None else cfg["head_dim"]
    b = int(cfg.get("bias", False))
    into = 2 if cfg.get("gated") else 1
    ffn = into * f * (d + b) + d * (f + b)
    attention = (H + 2 * KV) * h * (d + b) + d * (H * h + b)
    ratio = torch.tensor({"encoder": 1, "decoder": 2}[block] * attention / ffn, dtype=torch.float64)
    return 1 / (1 + ratio)
