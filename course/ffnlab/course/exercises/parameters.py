"""Notebook 05, Where the parameters live: how each exercise is called, and on what inputs. No answers.

Sizes differ pairwise and a head is never as wide as d_model / n_heads says, so that a formula for one special case shows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from ffnlab.observation.exercise import Draw, Exercise, NotAsAsked, describe_result, observe_call, quiz

NOTEBOOK = "05_parameters"


def _pick_entries(result: Any, *keys: str) -> dict[str, Any]:
    """The named entries of a dict that a student returned; others are not looked at."""
    if not isinstance(result, dict):
        raise NotAsAsked(f"{describe_result(result)}; a dict was expected")
    missing_keys = [key for key in keys if key not in result]
    if missing_keys:
        raise NotAsAsked(f"the key “{missing_keys[0]}” is missing from the dict")
    return {key: result[key] for key in keys}


# count_ffn


EXACT = 2**24  # float32 counts every whole number up to here, and beyond it only the even ones


def _draw_ffn(rng: Draw, case: int) -> dict[str, Any]:
    """Two widths; in every second case the hidden layer is the narrower one. `wide` goes with `plain_f` and `gated_f`: odd counts just above 2²⁴."""
    small, large = sorted(rng.distinct(2, 7, 60))
    wide = 2 * rng.integer(500, 1500) + 1
    plain_f = next(f for f in range(EXACT // (2 * wide), EXACT) if f % 2 == 0 and (2 * wide + 1) * f > EXACT)
    gated_f = next(f for f in range(EXACT // (3 * wide), EXACT) if f % 2 == 0 and (3 * wide + 2) * f > EXACT)
    return {
        "d": large if case % 2 else small,
        "f": small if case % 2 else large,
        "wide": wide,
        "plain_f": plain_f,
        "gated_f": gated_f,
    }


count_ffn = Exercise(
    "count_ffn",
    draw=_draw_ffn,
    where="the section “Count one block by hand”.",
    understood="An FFN is two matrices, or three when it is gated, of d·f numbers each, and one bias per number that a matrix puts out.",
    hints=(
        "List the arrays that are learned, each with its shape. How many numbers are in an array [a, b], how many in [a]?",
        "Without a gate: W1, b1, W2, b2. With a gate there are two matrices [d, f] that lead into the hidden layer, and one that leads out.",
        "A bias is as long as what its matrix puts out. Which of the three matrices of a gated FFN put out f numbers, which puts out d?",
    ),
)


@count_ffn.aspect("plain, with biases", points=1)
def count_ffn_plain_with_biases(answer: Any, d: int, f: int, wide: int, plain_f: int, **_: Any) -> Any:
    return {
        "without further arguments": answer(d, f),
        "bias=True": answer(d, f, bias=True),
        "gated=False": answer(d, f, gated=False),
        "more than 2²⁴ parameters": answer(wide, plain_f),
    }


@count_ffn.aspect("plain, without biases", points=1)
def count_ffn_plain_without_biases(answer: Any, d: int, f: int, **_: Any) -> Any:
    return {"bias=False": answer(d, f, bias=False)}


@count_ffn.aspect("gated, without biases", points=1)
def count_ffn_gated_without_biases(answer: Any, d: int, f: int, **_: Any) -> Any:
    return {"bias=False, gated=True": answer(d, f, bias=False, gated=True)}


@count_ffn.aspect("gated, with biases", points=1)
def count_ffn_gated_with_biases(answer: Any, d: int, f: int, wide: int, gated_f: int, **_: Any) -> Any:
    return {"gated=True": answer(d, f, gated=True), "more than 2²⁴ parameters": answer(wide, gated_f, gated=True)}


# audit_published

TOO_MUCH: tuple[Callable[[int, int], int], ...] = (  # what a page may have printed for an FFN with biases
    lambda d, f: 4 * d * f + f + 2 * d,
    lambda d, f: 4 * d * f + f + d,
    lambda d, f: 3 * d * f + 2 * f + d,
)
TOO_LITTLE: tuple[Callable[[int, int], int], ...] = (
    lambda d, f: 2 * d * f,
    lambda d, f: 2 * d * f + d,
    lambda d, f: 2 * d * f + f,
)


def _draw_page(rng: Draw, case: int) -> dict[str, Any]:
    """A page that printed too much, one that printed too little, and one that printed the right count."""
    d, f, other_d, other_f = rng.distinct(4, 11, 90)
    return {
        "page": [d, f, rng.one_of(TOO_MUCH)(d, f)],
        "another": [other_d, other_f, rng.one_of(TOO_LITTLE)(other_d, other_f)],
        "right": [other_d, d, 2 * other_d * d + other_d + d],
    }


audit_published = Exercise(
    "audit_published",
    draw=_draw_page,
    where="the section “Audit a published number”.",
    understood="You don't take a printed count on trust: two matrices and two biases are added in a minute, and the shares follow.",
    hints=(
        "`correct` has four summands: two matrices and two biases. What was printed does not come into it.",
        "`off_by` is one subtraction, `printed` minus what is right. It is negative where the page counted too little.",
        "Both shares have the same denominator: your correct FFN plus attention's four matrices [d, d], without biases. Let Python divide, "
        "and round nothing.",
    ),
)


def _audit_pages(answer: Any, pages: dict[str, list[int]], *keys: str) -> Any:
    return {label: _pick_entries(answer(*page), *keys) for label, page in pages.items()}


@audit_published.aspect("the right count", points=1)
def audit_published_the_right_count(answer: Any, **pages: Any) -> Any:
    return _audit_pages(answer, pages, "correct")


@audit_published.aspect("how far the page is off", points=0.5)
def audit_published_how_far_the_page_is_off(answer: Any, **pages: Any) -> Any:
    return _audit_pages(answer, pages, "off_by")


@audit_published.aspect("the right shares", points=1.5)
def audit_published_the_right_shares(answer: Any, **pages: Any) -> Any:
    return _audit_pages(answer, pages, "attention_share", "ffn_share")


# count_attention

HEADS = (
    (6, 2),
    (6, 3),
    (8, 2),
    (8, 4),
    (9, 3),
    (10, 5),
    (12, 4),
    (15, 5),
)  # query heads, and fewer heads that divide them


def _draw_attention(rng: Draw, case: int) -> dict[str, Any]:
    """Heads, and a head_dim that is neither d / n_heads nor d / n_kv."""
    n_heads, n_kv = rng.one_of(HEADS)
    usual = rng.integer(3, 9)
    d = n_heads * usual
    head_dim = next(size for size in rng.distinct(8, 4, 24) if size not in (usual, d // n_kv, n_heads, n_kv))
    return {"d": d, "n_heads": n_heads, "n_kv": n_kv, "head_dim": head_dim}


count_attention = Exercise(
    "count_attention",
    draw=_draw_attention,
    where="the section “Attention in all its forms”.",
    understood="Queries and output are as wide as all query heads together, keys and values as wide as theirs: 4·d² is only the special case.",
    hints=(
        "Four matrices: queries, keys, values, output. Write down [in, out] of each before you multiply anything.",
        "Queries put out n_heads · head_dim numbers per token, keys and values n_kv · head_dim each. What does the output matrix read, what does it put out?",
        "Settle the two arguments that may be None first: `if n_kv is None: n_kv = n_heads`. After that the formula needs no more cases.",
        "Every matrix has a bias as long as what it puts out. For the output matrix that is d, however wide the heads are.",
    ),
)


@count_attention.aspect("every query head with keys and values of its own", points=1)
def count_attention_every_query_head_with_keys_and_values_of(
    answer: Any, d: int, n_heads: int, n_kv: int, head_dim: int
) -> Any:
    return {"d and n_heads": answer(d, n_heads), "n_kv = n_heads": answer(d, n_heads, n_kv=n_heads)}


@count_attention.aspect("shared keys and values", points=1)
def count_attention_shared_keys_and_values(answer: Any, d: int, n_heads: int, n_kv: int, head_dim: int) -> Any:
    return {"n_kv < n_heads": answer(d, n_heads, n_kv=n_kv), "n_kv = 1": answer(d, n_heads, n_kv=1)}


@count_attention.aspect("heads of another width", points=1)
def count_attention_heads_of_another_width(answer: Any, d: int, n_heads: int, n_kv: int, head_dim: int) -> Any:
    return {
        "head_dim alone": answer(d, n_heads, head_dim=head_dim),
        "n_kv and head_dim": answer(d, n_heads, n_kv=n_kv, head_dim=head_dim),
    }


@count_attention.aspect("biases", points=1)
def count_attention_biases(answer: Any, d: int, n_heads: int, n_kv: int, head_dim: int) -> Any:
    return {
        "bias=True": answer(d, n_heads, bias=True),
        "bias=True, n_kv": answer(d, n_heads, n_kv=n_kv, bias=True),
        "bias=True, head_dim": answer(d, n_heads, head_dim=head_dim, bias=True),
        "bias=True, n_kv and head_dim": answer(d, n_heads, n_kv=n_kv, head_dim=head_dim, bias=True),
    }


# layer_share


OPTIONS = ("n_kv", "head_dim", "bias", "gated")


def _draw_layers(rng: Draw, case: int) -> dict[str, Any]:
    """Two blocks, one with values for all keys that a cfg may have; and one whose cfg says None and False in place of the usual."""
    a, b, c = (_draw_attention(rng, case) for _ in range(3))
    widths = rng.distinct(3, 61, 150)

    def basic(sizes: dict[str, Any], d_ff: int) -> dict[str, Any]:
        return {"d_model": sizes["d"], "d_ff": d_ff, "n_heads": sizes["n_heads"]}

    return {
        "plain": basic(a, widths[0]),
        "sizes": basic(b, widths[1]),
        "options": {"n_kv": b["n_kv"], "head_dim": b["head_dim"], "bias": True, "gated": True},
        "with_none": basic(c, widths[2]) | {"n_kv": None, "head_dim": None, "bias": False, "gated": False},
    }


layer_share = Exercise(
    "layer_share",
    draw=_draw_layers,
    where="the section “Two thirds of what?”.",
    understood="“Two thirds” is one case of a fraction. You compute it for the block at hand: one attention or two, grouped or not, gated or not.",
    hints=(
        "Two counts are needed, and you have written a function for each. What is the share of one of two numbers in their sum?",
        '`cfg.get("n_kv")` gives None where the key is missing, and `count_attention` knows what None means. '
        'For the two truth values there is `cfg.get("bias", False)`.',
        "The bias of a cfg is False unless it says otherwise, while `count_ffn` has biases by default: hand the value over.",
        "A decoder block has two attentions of the same size, itself and across, and one FFN.",
    ),
)


@layer_share.aspect("an encoder block", points=1)
def layer_share_an_encoder_block(answer: Any, plain: Any, **_: Any) -> Any:
    return {
        "block not given": answer(dict(plain)),
        "block='encoder'": answer(dict(plain), block="encoder"),
    }


@layer_share.aspect("a decoder block", points=1)
def layer_share_a_decoder_block(answer: Any, plain: Any, **_: Any) -> Any:
    return answer(dict(plain), block="decoder")


@layer_share.aspect("groups, gates and biases", points=1)
def layer_share_groups_gates_and_biases(answer: Any, plain: Any, sizes: Any, options: Any, with_none: Any) -> Any:
    observation: dict[str, Any] = {}
    is_unchanged = True
    for first, second, third in itertools.product((False, True), repeat=3):
        on = (
            first,
            second,
            third,
            first ^ second ^ third,
        )  # each option with and without each other one, in both kinds of block
        keys = [key for key, is_chosen in zip(OPTIONS, on, strict=True) if is_chosen]
        block = "decoder" if first ^ second else "encoder"
        cfg = sizes | {key: options[key] for key in keys}
        cfg_copy = dict(cfg)
        observation[f"{block}, cfg with {' and '.join(keys) or 'no more keys'}"] = observe_call(
            partial(answer, cfg_copy, block=block)
        )
        is_unchanged = is_unchanged and cfg_copy == cfg
    few, none = dict(plain), dict(with_none)
    observe_call(lambda: answer(few))  # what is missing in a cfg must not be written into it either
    observation["n_kv and head_dim None, bias and gated False"] = observe_call(lambda: answer(none))
    return observation | {"cfg is left as it was": is_unchanged and few == plain and none == with_none}


# flops_per_token


def _draw_flops(rng: Draw, case: int) -> dict[str, Any]:
    d, f, T = rng.distinct(3, 7, 90)
    return {"d": d, "f": f, "T": T}


flops_per_token = Exercise(
    "flops_per_token",
    draw=_draw_flops,
    where="the section “What it costs to run”.",
    understood="A weight costs two operations per token, once; only attention's mixing grows with the sequence.",
    hints=(
        "A vector of a numbers times a matrix [a, b]: how many products, and how many sums? Together they are about twice as many as the matrix has entries.",
        "`ffn` and `proj` are twice the number of weights that you counted before, without biases.",
        "`mix` has two parts. One token's query meets T keys of d numbers each; then T values of d numbers each are added up, each times its weight.",
    ),
)

FLOPS = ("ffn", "proj", "mix")


@flops_per_token.aspect("ffn", points=1)
def flops_per_token_ffn(answer: Any, d: int, f: int, T: int) -> Any:
    return {
        "without further arguments": _pick_entries(answer(d, f, T), *FLOPS)["ffn"],
        "gated=False": _pick_entries(answer(d, f, T, gated=False), *FLOPS)["ffn"],
    }


@flops_per_token.aspect("gated ffn", points=1)
def flops_per_token_gated_ffn(answer: Any, d: int, f: int, T: int) -> Any:
    return _pick_entries(answer(d, f, T, gated=True), *FLOPS)["ffn"]


@flops_per_token.aspect("proj", points=1)
def flops_per_token_proj(answer: Any, d: int, f: int, T: int) -> Any:
    return {f"gated={gated}": _pick_entries(answer(d, f, T, gated=gated), *FLOPS)["proj"] for gated in (False, True)}


@flops_per_token.aspect("mix", points=1)
def flops_per_token_mix(answer: Any, d: int, f: int, T: int) -> Any:
    return {
        "T": _pick_entries(answer(d, f, T, gated=False), *FLOPS)["mix"],
        "T = 1": _pick_entries(answer(d, f, 1, gated=False), *FLOPS)["mix"],
    }


# cost_of_a_step


def _draw_step(rng: Draw, case: int) -> dict[str, Any]:
    """A model, a machine, and batches on either side of the one at which reading and computing are even; n is odd and above 2²⁴."""
    size = rng.one_of((1, 2, 4))
    even = rng.uniform(60, 180)
    bandwidth = rng.uniform(0.9, 3.4) * 1e12
    return {
        "n": 2 * rng.integer(20_000_000, 900_000_000) + 1,
        "size": size,
        "flops": 2 * bandwidth * even / size,
        "bandwidth": bandwidth,
        "few": rng.integer(3, 25),
        "many": rng.integer(400, 900),
    }


cost_of_a_step = Exercise(
    "cost_of_a_step",
    draw=_draw_step,
    where="the section “What it costs to run”, where it speaks of reading.",
    understood="A weight costs two operations per token, six in training, and is read once per step: for few tokens reading decides, for many computing.",
    hints=(
        "`flops`: one multiplication and one addition for each parameter and each token. `training`: how many more on the way back?",
        "`bytes` depends on the number of parameters and on their size, and on nothing else.",
        "Operations divided by operations per second are seconds; so are bytes divided by bytes per second. Which of the two does one wait for?",
        "`even`: write both times as formulas, set them equal, and solve for batch. n drops out.",
    ),
)

STEP = ("flops", "training", "bytes", "seconds", "even")


def _add_step_aspect(key: str, points: float) -> None:
    @cost_of_a_step.aspect(key, points)
    def probe(answer: Any, n: int, size: int, flops: float, bandwidth: float, few: int, many: int) -> Any:
        batches = {"one": (1, size), "few": (few, size), "many": (many, size), "few, 4 bits each": (few, 0.5)}
        return {
            words: _pick_entries(answer(n, batch, bytes_each, flops, bandwidth), key)[key]
            for words, (batch, bytes_each) in batches.items()
        }


for _key, _points in zip(STEP, (1, 0.5, 1, 1, 0.5), strict=True):
    _add_step_aspect(_key, _points)


# Quizzes. Their texts are in the notebook.

quiz_count = quiz(
    "quiz_count",
    where="the section “Audit a published number”.",
    understood="Two matrices and a small remainder: here 1,280 = 1,024 + 256, and the remainder tells you which biases there are.",
)

quiz_decoder = quiz(
    "quiz_decoder",
    where="the section “Two thirds of what?”.",
    understood="A gated FFN at 4·d_model has 12·d², and a decoder block has two attentions of 4·d² each: 12 of 20.",
)

quiz_mixtral = quiz(
    "quiz_mixtral",
    where="the section “The atlas”.",
    understood="Only the FFN is there once for each expert. Attention, norms and embeddings are there once: 4 billion and 4 · 6 billion.",
)
