"""Notebook 05, Where the parameters live: how each exercise is called, and on what inputs. No answers.

Sizes differ pairwise and a head is never as wide as d_model / n_heads says, so that a formula for one special case shows.
"""

from __future__ import annotations

from typing import Any

from ffnlab.exercise import Draw, Exercise, NotAsAsked, attempt, described, question


def _entry(found: Any, *keys: str) -> dict[str, Any]:
    """The named entries of a dict that a student returned; others are not looked at."""
    if not isinstance(found, dict):
        raise NotAsAsked(f"{described(found)}; a dict was expected")
    missing = [key for key in keys if key not in found]
    if missing:
        raise NotAsAsked(f"the key “{missing[0]}” is missing from the dict")
    return {key: found[key] for key in keys}


# count_ffn


def _draw_ffn(rng: Draw, case: int) -> dict[str, Any]:
    """Two widths; in every second case the hidden layer is the narrower one."""
    small, large = sorted(rng.distinct(2, 7, 60))
    return {"d": large, "f": small} if case % 2 else {"d": small, "f": large}


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
def _(answer: Any, d: int, f: int) -> Any:
    return {
        "without further arguments": answer(d, f),
        "bias=True": answer(d, f, bias=True),
        "gated=False": answer(d, f, gated=False),
    }


@count_ffn.aspect("plain, without biases", points=1)
def _(answer: Any, d: int, f: int) -> Any:
    return {"bias=False": answer(d, f, bias=False)}


@count_ffn.aspect("gated, without biases", points=1)
def _(answer: Any, d: int, f: int) -> Any:
    return {"bias=False, gated=True": answer(d, f, bias=False, gated=True)}


@count_ffn.aspect("gated, with biases", points=1)
def _(answer: Any, d: int, f: int) -> Any:
    return {"gated=True": answer(d, f, gated=True)}


# audit_published

audit_published = Exercise(
    "audit_published",
    where="the section “Audit a published number”.",
    understood="You don't take a printed count on trust: two matrices and two biases are added in a minute, and the shares follow.",
    hints=(
        "The key `published` asks what the page printed for the FFN, right or wrong. The key `correct` asks what it should have printed.",
        "`correct` has four summands: two matrices and two biases.",
        "Both shares have the same denominator: your corrected FFN plus attention's four matrices of 512 · 512, without biases. Let Python divide, "
        "and round nothing.",
    ),
    cases=1,
)


@audit_published.aspect("the right count", points=1)
def _(answer: Any) -> Any:
    return _entry(answer(), "correct")


@audit_published.aspect("the published count", points=0.5)
def _(answer: Any) -> Any:
    return _entry(answer(), "published")


@audit_published.aspect("the right shares", points=1.5)
def _(answer: Any) -> Any:
    return _entry(answer(), "attention_share", "ffn_share")


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
def _(answer: Any, d: int, n_heads: int, n_kv: int, head_dim: int) -> Any:
    return {"d and n_heads": answer(d, n_heads), "n_kv = n_heads": answer(d, n_heads, n_kv=n_heads)}


@count_attention.aspect("shared keys and values", points=1)
def _(answer: Any, d: int, n_heads: int, n_kv: int, head_dim: int) -> Any:
    return {"n_kv < n_heads": answer(d, n_heads, n_kv=n_kv), "n_kv = 1": answer(d, n_heads, n_kv=1)}


@count_attention.aspect("heads of another width", points=1)
def _(answer: Any, d: int, n_heads: int, n_kv: int, head_dim: int) -> Any:
    return {
        "head_dim alone": answer(d, n_heads, head_dim=head_dim),
        "n_kv and head_dim": answer(d, n_heads, n_kv=n_kv, head_dim=head_dim),
    }


@count_attention.aspect("biases", points=1)
def _(answer: Any, d: int, n_heads: int, n_kv: int, head_dim: int) -> Any:
    return {
        "bias=True": answer(d, n_heads, bias=True),
        "bias=True, n_kv and head_dim": answer(d, n_heads, n_kv=n_kv, head_dim=head_dim, bias=True),
    }


# layer_share


def _draw_layers(rng: Draw, case: int) -> dict[str, Any]:
    """Three configurations: with what every one has, with all keys, and with None in place of the usual."""
    a, b, c = (_draw_attention(rng, case) for _ in range(3))
    widths = rng.distinct(3, 61, 150)

    def basic(sizes: dict[str, Any], d_ff: int) -> dict[str, Any]:
        return {"d_model": sizes["d"], "d_ff": d_ff, "n_heads": sizes["n_heads"]}

    grouped = basic(b, widths[1]) | {"n_kv": b["n_kv"], "head_dim": b["head_dim"], "bias": True, "gated": True}
    return {
        "plain": basic(a, widths[0]),
        "grouped": grouped,
        "with_none": basic(c, widths[2]) | {"n_kv": c["n_kv"], "head_dim": None, "bias": False, "gated": True},
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
def _(answer: Any, plain: Any, grouped: Any, with_none: Any) -> Any:
    return {
        "block not given": answer(dict(plain)),
        "block='encoder'": answer(dict(plain), block="encoder"),
    }


@layer_share.aspect("a decoder block", points=1)
def _(answer: Any, plain: Any, grouped: Any, with_none: Any) -> Any:
    return answer(dict(plain), block="decoder")


@layer_share.aspect("groups, gates and biases", points=1)
def _(answer: Any, plain: Any, grouped: Any, with_none: Any) -> Any:
    given, few = dict(grouped), dict(plain)
    attempt(lambda: answer(few))  # what is missing in a cfg must not be written into it either
    return {
        "cfg with all keys": attempt(lambda: answer(given)),
        "cfg with head_dim None": attempt(lambda: answer(dict(with_none))),
        "cfg is left as it was": given == grouped and few == plain,
    }


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
def _(answer: Any, d: int, f: int, T: int) -> Any:
    return {
        "without further arguments": _entry(answer(d, f, T), *FLOPS)["ffn"],
        "gated=False": _entry(answer(d, f, T, gated=False), *FLOPS)["ffn"],
    }


@flops_per_token.aspect("gated ffn", points=1)
def _(answer: Any, d: int, f: int, T: int) -> Any:
    return _entry(answer(d, f, T, gated=True), *FLOPS)["ffn"]


@flops_per_token.aspect("proj", points=1)
def _(answer: Any, d: int, f: int, T: int) -> Any:
    return {f"gated={gated}": _entry(answer(d, f, T, gated=gated), *FLOPS)["proj"] for gated in (False, True)}


@flops_per_token.aspect("mix", points=1)
def _(answer: Any, d: int, f: int, T: int) -> Any:
    return {
        "T": _entry(answer(d, f, T, gated=False), *FLOPS)["mix"],
        "T = 1": _entry(answer(d, f, 1, gated=False), *FLOPS)["mix"],
    }


# Questions. Their texts stand in the notebook.

quiz_count = question(
    "quiz_count",
    where="the section “Audit a published number”.",
    understood="Two matrices of 512 · 2048 and two biases: the small remainder, 2,560, tells you whether somebody forgot the biases.",
)

quiz_decoder = question(
    "quiz_decoder",
    where="the section “Two thirds of what?”.",
    understood="A decoder block has two attentions of 4·d² each; the FFN's 8·d² is then half of the block.",
)

quiz_mixtral = question(
    "quiz_mixtral",
    where="the section “The atlas”.",
    understood="Only the FFN exists eight times. Attention, norms and embeddings are there once: 46.7 billion, not 56.",
)
