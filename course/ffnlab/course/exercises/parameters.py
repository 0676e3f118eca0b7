"""Notebook 05, The scales: how each exercise is called, and on what inputs. No answers.

Sizes differ pairwise and a head is never as wide as d_model / n_heads says, so that a formula for one special case shows.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from ffnlab.observation.exercise import MEASURED, Draw, Exercise, NotAsAsked, describe_result, observe_call, quiz

NOTEBOOK = "05_parameters"


def _pick_entries(result: Any, *keys: str) -> dict[str, Any]:
    """The named entries of a dict that a student returned; others are not looked at."""
    if not isinstance(result, dict):
        raise NotAsAsked(f"{describe_result(result)}; a dict was expected")
    missing_keys = [key for key in keys if key not in result]
    if missing_keys:
        raise NotAsAsked(f"the key “{missing_keys[0]}” is missing from the dict")
    return {key: result[key] for key in keys}


# count_block


EXACT = 2**24  # float32 counts every whole number up to here, and beyond it only the even ones
# Numbers of query heads, each with smaller ones that divide it.
HEADS = ((6, 2), (6, 3), (8, 2), (8, 4), (9, 3), (10, 5), (12, 4), (15, 5))


def _draw_block(rng: Draw, case: int) -> dict[str, Any]:
    """Heads, and a head_dim that is neither d / n_heads nor d / n_kv; d_ff, which is narrower than d in every second case.

    `wide` goes with `plain_f` and `gated_f`: with biases, the FFN's odd counts are just above 2²⁴.
    """
    n_heads, n_kv = rng.one_of(HEADS)
    usual = rng.integer(3, 9)
    d = n_heads * usual
    head_dim = next(size for size in rng.distinct(8, 4, 24) if size not in (usual, d // n_kv, n_heads, n_kv))
    f = rng.integer(d + 1, 3 * d) if case % 2 else rng.integer(max(2, d // 3), d - 1)
    wide = 2 * rng.integer(500, 1500) + 1
    plain_f = next(f for f in range(EXACT // (2 * wide), EXACT) if f % 2 == 0 and (2 * wide + 1) * f > EXACT)
    gated_f = next(f for f in range(EXACT // (3 * wide), EXACT) if f % 2 == 0 and (3 * wide + 2) * f > EXACT)
    sizes = {"d": d, "f": f, "n_heads": n_heads, "n_kv": n_kv, "head_dim": head_dim}
    return sizes | {"wide": wide, "plain_f": plain_f, "gated_f": gated_f}


count_block = Exercise(
    "count_block",
    draw=_draw_block,
    where="the section “What hangs on the beam”.",
    understood="A block is four matrices of attention and two or three of the FFN. You count each by its shape, and “two thirds” is what one design gives.",
    hints=(
        "List the matrices with their shapes, [in, out]. How many numbers are in [a, b]? How long is the bias of a matrix that puts out b numbers?",
        "Settle the two arguments that may be None first: `if n_kv is None: n_kv = n_heads`. After that the formula needs no more cases.",
        "Queries put out n_heads · head_dim numbers, keys and values n_kv · head_dim each. What does the output matrix read, and what does it put out?",
        "A gate adds a third matrix [d, f]. A second attention is as large as the first. The share is FFN / (FFN + all attention).",
    ),
)


def _ffn_of(result: Any) -> Any:
    return _pick_entries(result, "ffn")["ffn"]


def _attention_of(result: Any) -> Any:
    return _pick_entries(result, "attention")["attention"]


def _added(with_biases: Any, without: Any) -> Any:
    """What biases add to a count, whatever else is wrong in it; a count that is no number stays as it is."""
    try:
        return with_biases - without
    except TypeError:
        return with_biases


# Each aspect asks for one thing, with all else as usual, and the last one for all of it together. So a single mistake costs its own aspect and the last.


@count_block.aspect("the FFN", points=1)
def count_block_ffn(answer: Any, d: int, f: int, n_heads: int, **_: Any) -> Any:
    return {
        "without further arguments": _ffn_of(answer(d, f, n_heads)),
        "gated=False": _ffn_of(answer(d, f, n_heads, gated=False)),
        "gated=True": _ffn_of(answer(d, f, n_heads, gated=True)),
    }


@count_block.aspect("attention", points=0.5)
def count_block_attention(answer: Any, d: int, f: int, n_heads: int, n_kv: int, **_: Any) -> Any:
    return {
        "without further arguments": _attention_of(answer(d, f, n_heads)),
        "n_kv = n_heads": _attention_of(answer(d, f, n_heads, n_kv=n_heads)),
        "attentions=2": _attention_of(answer(d, f, n_heads, attentions=2)),
    }


@count_block.aspect("n_kv and head_dim", points=1)
def count_block_heads(answer: Any, d: int, f: int, n_heads: int, n_kv: int, head_dim: int, **_: Any) -> Any:
    return {
        "n_kv < n_heads": _attention_of(answer(d, f, n_heads, n_kv=n_kv)),
        "n_kv = 1": _attention_of(answer(d, f, n_heads, n_kv=1)),
        "head_dim alone": _attention_of(answer(d, f, n_heads, head_dim=head_dim)),
        "n_kv and head_dim": _attention_of(answer(d, f, n_heads, n_kv=n_kv, head_dim=head_dim)),
    }


@count_block.aspect("biases", points=0.5)
def count_block_biases(answer: Any, d: int, f: int, n_heads: int, **_: Any) -> Any:
    observation = {}
    for part, of in (("the FFN", _ffn_of), ("attention", _attention_of)):
        without, with_biases = (of(answer(d, f, n_heads, bias=bias)) for bias in (False, True))
        observation[f"what bias=True adds to {part}"] = _added(with_biases, without)
    without, with_biases = (_ffn_of(answer(d, f, n_heads, bias=bias, gated=True)) for bias in (False, True))
    return observation | {"what it adds to the FFN with gated=True": _added(with_biases, without)}


@count_block.aspect("share", points=0.5)
def count_block_share(answer: Any, d: int, f: int, n_heads: int, **_: Any) -> Any:
    return {
        "without further arguments": _pick_entries(answer(d, f, n_heads), "share"),
        "attentions=2": _pick_entries(answer(d, f, n_heads, attentions=2), "share"),
    }


@count_block.aspect("all together", points=0.5)
def count_block_together(
    answer: Any, d: int, f: int, n_heads: int, n_kv: int, head_dim: int, wide: int, plain_f: int, gated_f: int
) -> Any:
    observation = {
        "more than 2²⁴ parameters": _pick_entries(answer(wide, plain_f, wide, bias=True), "ffn"),
        "gated, more than 2²⁴ parameters": _pick_entries(answer(wide, gated_f, wide, bias=True, gated=True), "ffn"),
    }
    for attentions, gated, bias in itertools.product((1, 2), (False, True), (False, True)):
        kwargs = {"gated": gated, "bias": bias, "attentions": attentions}
        if gated != bias:
            kwargs |= {"n_kv": n_kv, "head_dim": head_dim}
        words = ", ".join(f"{key}={value}" for key, value in kwargs.items())
        observation[words] = _pick_entries(answer(d, f, n_heads, **kwargs), "attention", "ffn", "share")
    return observation


# four_times

RATIO = 4  # d_ff / d_model of both blocks
LARGEST = 100_000  # of the numbers in an answer
DESIGN: dict[str, Any] = {
    "d_model": None,
    "n_heads": None,
    "n_kv": None,
    "head_dim": None,
    "gated": False,
    "attentions": 1,
}

four_times = Exercise(
    "four_times",
    cases=1,
    where="the section “Fifteen bars”.",
    understood="d_ff = 4·d_model says little about a block. With wide heads and two attentions the FFN has less than a third, with shared keys, narrow "
    "heads and a gate more than nine tenths.",
    hints=(
        "Write both shares in d². The FFN has 8 d² or 12 d², since d_ff is settled. So all depends on what attention has.",
        "For less than a third attention needs more than 16 d², for more than 90 % less than 1.33 d². What makes attention heavier, what makes it lighter?",
        "Sharing alone leaves 2 d² for queries and output. They are n_heads · head_dim wide, and that need not be d_model.",
    ),
)


def _read_design(design: Any) -> dict[str, Any]:
    """A block that a student describes, with its defaults.

    Raises:
        NotAsAsked: it is none.
    """
    if not isinstance(design, dict):
        raise NotAsAsked(f"{describe_result(design)}; each block is a dict")
    for key in design:
        if key not in DESIGN:
            note = "; d_ff is 4 · d_model in both" if key in ("d_ff", "f") else ""
            raise NotAsAsked(f"a block has no “{key}” here{note}")
    block = DESIGN | design
    for key in ("d_model", "n_heads"):
        if block[key] is None:
            raise NotAsAsked(f"a block needs “{key}”")
    block["n_kv"] = block["n_heads"] if block["n_kv"] is None else block["n_kv"]
    if block["head_dim"] is None:
        _check_whole("n_heads", block["n_heads"])
        if block["d_model"] % block["n_heads"]:
            raise NotAsAsked(f"{block['n_heads']} heads can't share d_model = {block['d_model']} evenly")
        block["head_dim"] = block["d_model"] // block["n_heads"]
    for key in ("d_model", "n_heads", "n_kv", "head_dim"):
        _check_whole(key, block[key])
    if block["n_heads"] % block["n_kv"]:
        raise NotAsAsked(f"{block['n_heads']} query heads can't share {block['n_kv']} heads of keys and values evenly")
    if not isinstance(block["gated"], bool) or block["attentions"] not in (1, 2):
        raise NotAsAsked("“gated” is True or False, and “attentions” 1 or 2")
    return block


def _check_whole(key: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        raise NotAsAsked(f"“{key}” is {value!r}; a whole number from 1 to {LARGEST:,} was expected")


def _weigh(block: dict[str, Any]) -> tuple[int, int]:
    """The parameters of attention and of the FFN of a block."""
    d = block["d_model"]
    columns = block["head_dim"] * (block["n_heads"] + block["n_kv"])
    matrices = 3 if block["gated"] else 2
    return block["attentions"] * 2 * columns * d, matrices * RATIO * d**2


def _is_below(block: dict[str, Any]) -> bool:
    attention, ffn = _weigh(block)
    return attention > 2 * ffn


def _is_above(block: dict[str, Any]) -> bool:
    attention, ffn = _weigh(block)
    return 9 * attention < ffn


def _describe_weights(block: dict[str, Any]) -> str:
    """Both weights of a block in multiples of d_model², and the FFN's share."""
    attention, ffn = _weigh(block)
    d2 = block["d_model"] ** 2
    share = f"{100 * ffn / (attention + ffn):.1f} %"
    if attention == 2 * ffn:
        share = "exactly a third"
    elif 9 * attention == ffn:
        share = "exactly 90 %"
    return f"FFN {ffn // d2} d², attention {attention / d2:.3g} d²: {share}"


def _read_pair(observation: Any) -> list[dict[str, Any]]:
    if not isinstance(observation, (list, tuple)) or len(observation) != 2:
        raise NotAsAsked("two blocks were expected: (below, above)")
    return [_read_design(design) for design in observation]


def _below_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Of a first block that is not as asked for: what it weighs, and what could still make attention the heavier part."""
    below, above = _read_pair(observation)
    if _is_below(below):
        return {MEASURED: "", "why": ""}
    if _is_below(above):
        why = "the blocks are in the other order"
    elif below["gated"]:
        why = "it has a gate"
    elif below["n_kv"] < below["n_heads"]:
        why = "its keys and values are shared"
    elif below["attentions"] == 1:
        why = "it has one attention"
    else:
        why = "its heads are not wide enough together"
    return {MEASURED: _describe_weights(below), "why": why}


def _above_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Of a second block that is not as asked for: what it weighs, and what could still make the FFN the heavier part."""
    below, above = _read_pair(observation)
    if _is_above(above):
        return {MEASURED: "", "why": ""}
    if _is_above(below):
        why = "the blocks are in the other order"
    elif not above["gated"]:
        why = "it has no gate"
    elif above["attentions"] == 2:
        why = "it has two attentions"
    elif above["n_kv"] == above["n_heads"] > 1:
        why = "its keys and values are not shared"
    elif above["n_kv"] > 1:
        why = "it has several heads of keys and values"
    else:
        why = "its queries and its output are too wide"
    return {MEASURED: _describe_weights(above), "why": why}


@four_times.aspect("less than a third", points=1, facts=_below_facts)
def four_times_below(answer: Any) -> Any:
    return answer


@four_times.aspect("more than 90 %", points=1, facts=_above_facts)
def four_times_above(answer: Any) -> Any:
    return answer


# audit_file

Shape = tuple[int, ...]


def _draw_file(
    rng: Draw,
    gated: bool = False,
    biases: bool = False,
    shared: bool = False,
    attentions: int = 1,
    encoder: bool = False,
    tables: int = 1,
    positions: bool = False,
    types: bool = False,
    small_vocabulary: bool = False,
    pooler: bool = False,
    head_norms: bool = False,
) -> list[Shape]:
    """The shapes of a file, in no order.

    encoder: half of the blocks have one attention less. types: a table of two rows. pooler: one more square at the end.
    """
    n_blocks = rng.integer(3, 6)
    head = rng.integer(4, 8)
    groups = rng.one_of((2, 3, 4))
    d = head * groups * 4
    kv = head * groups if shared else d
    d_ff = d + rng.integer(9, 90)
    vocabulary = head * groups // 2 + 1 if small_vocabulary else 4 * d_ff + rng.integer(1, 99)
    blocks = [attentions] * n_blocks + ([attentions - 1] * n_blocks if encoder else [])
    shapes: list[Shape] = [(vocabulary, d)] * tables + ([(3 * d_ff + 1, d)] if positions else []) + [(d,)]
    shapes += [(2, d)] if types else []
    for n_attentions in blocks:
        for rows, columns in [(d, d), (kv, d), (kv, d), (d, d)] * n_attentions:
            shapes += [(rows, columns)] + ([(rows,)] if biases else [])
        for rows, columns in [(d_ff, d)] * (2 if gated else 1) + [(d, d_ff)]:
            shapes += [(rows, columns)] + ([(rows,)] if biases else [])
        shapes += [(d,)] * (n_attentions + 1) + ([(head,)] * 2 if head_norms else [])
    if pooler:
        shapes += [(d, d), (d,)]
    order = rng.distinct(len(shapes), 0, len(shapes) - 1)
    return [shapes[place] for place in order]


FILES: dict[str, dict[str, Any]] = {
    "a plain FFN with biases, learned positions, one square too many": {"biases": True, "positions": True, "types": True, "pooler": True},
    "a gate, shared keys, two tables": {"gated": True, "shared": True, "tables": 2},
    "a gate, nothing shared, norms inside the heads": {"gated": True, "head_norms": True},
    "shared keys and biases, one square too many": {"shared": True, "biases": True, "pooler": True},
    "two attentions in each block": {"attentions": 2, "biases": True, "gated": True},
    "blocks with one attention and blocks with two": {"attentions": 2, "encoder": True, "shared": True},
    "fewer words than keys, and two tables of them": {"small_vocabulary": True, "tables": 2},
}  # fmt: skip


def _draw_files(rng: Draw, case: int) -> dict[str, Any]:
    return {"files": {label: _draw_file(rng, **kind) for label, kind in FILES.items()}}


audit_file = Exercise(
    "audit_file",
    draw=_draw_files,
    where="the section “A file without labels”.",
    understood="A file's shapes give it away: what every matrix shares is d_model, what leads out and back is an FFN or an output, and the numbers of copies "
    "tell how many there are.",
    hints=(
        "Count how often each shape is there: `Counter(shapes)`. Print it for the real file, and explain every line before you write code.",
        "Which number is a side of every matrix? And which shapes [d_model, …] are there, the ones that lead back to the stream?",
        "A table of tokens or positions is never turned round: [V, d_model] is there and [d_model, V] is not. So d_ff is the widest that leads back.",
        "With a gate two matrices lead in for one that leads out. Then count attentions: which of its matrices are squares, "
        "if nothing is shared? And if keys are?",
        "Shared keys and values are narrower than d_model, and each attention has two such matrices. So there are more of them than of any table.",
    ),
)


def _audit_files(answer: Any, files: dict[str, list[Shape]], *keys: str) -> dict[str, Any]:
    return {
        label: observe_call(lambda: _pick_entries(answer([tuple(shape) for shape in shapes]), *keys))  # noqa: B023
        for label, shapes in files.items()
    }


@audit_file.aspect("d_model and d_ff", points=1)
def audit_file_widths(answer: Any, files: Any) -> Any:
    return _audit_files(answer, files, "d_model", "d_ff")


@audit_file.aspect("FFNs and gates", points=1, needs="d_model and d_ff")
def audit_file_ffns(answer: Any, files: Any) -> Any:
    return _audit_files(answer, files, "ffns", "gated")


@audit_file.aspect("attentions", points=1, needs="d_model and d_ff")
def audit_file_attentions(answer: Any, files: Any) -> Any:
    return _audit_files(answer, files, "attentions")


@audit_file.aspect("shared keys", points=1, needs="attentions")
def audit_file_shared(answer: Any, files: Any) -> Any:
    return _audit_files(answer, files, "shared")


@audit_file.aspect("the FFN's share of the file", points=1)
def audit_file_share(answer: Any, files: Any) -> Any:
    return _audit_files(answer, files, "ffn_share")


# Quizzes. Their texts are in the notebook.

quiz_count = quiz(
    "quiz_count",
    where="the section “What hangs on the beam”.",
    understood="Two matrices and a small remainder: here 1,280 = 1,024 + 256, and the remainder tells you which biases there are.",
)

quiz_printed = quiz(
    "quiz_printed",
    where="the section “What hangs on the beam”.",
    understood="4 · 512 · 2048 numbers are in more than one design. What is left over, the biases, tells which: 3,072 = 2,048 + 1,024.",
)

quiz_decoder = quiz(
    "quiz_decoder",
    where="the section “What hangs on the beam”.",
    understood="A gated FFN at 4·d_model has 12·d², and a decoder block has two attentions of 4·d² each: 12 of 20.",
)


# cost_of_a_step


def _draw_step(rng: Draw, case: int) -> dict[str, Any]:
    """A model, a machine, and batches on either side of the one at which reading and computing are even; n is odd and above 2²⁴.

    long: a cache so large that reading it takes longer than computing, for any batch. short: one with which the two can be even.
    """
    # With one byte a number, whoever multiplies a cache in bytes by `size` is right. So the first case has more.
    size = rng.one_of((2, 4) if case == 0 else (1, 2, 4))
    even = rng.uniform(60, 180)
    bandwidth = rng.uniform(0.9, 3.4) * 1e12
    n = 2 * rng.integer(20_000_000, 900_000_000) + 1
    flops = 2 * bandwidth * even / size
    limit = 2 * n * bandwidth / flops  # bytes of a cache that are read while one token is computed
    return {
        "n": n,
        "size": size,
        "flops": flops,
        "bandwidth": bandwidth,
        "few": rng.integer(3, 25),
        "many": rng.integer(900, 1500),
        "short": math.floor(rng.uniform(0.2, 0.6) * limit),
        "long": math.ceil(rng.uniform(1.5, 4) * limit),
    }


cost_of_a_step = Exercise(
    "cost_of_a_step",
    draw=_draw_step,
    where="the section “In seconds”.",
    understood="A weight costs two operations per token and is read once per step, for everybody. A cache is read for each person anew. If it takes longer "
    "to read than a token takes to compute, a step waits for reading, however many people share it.",
    hints=(
        "`flops`: one multiplication and one addition for each parameter and each token.",
        "`bytes`: the weights are read once per step, the cache once for each person.",
        "Operations divided by operations per second are seconds; so are bytes divided by bytes per second. Which of the two does one wait for?",
        "`even`: write both times as formulas of batch, set them equal, and solve for batch. When is there no solution above 0?",
    ),
)

STEP = ("flops", "bytes", "seconds", "even")


def _add_step_aspect(key: str, points: float) -> None:
    @cost_of_a_step.aspect(key, points)
    def probe(answer: Any, n: int, size: int, flops: float, bandwidth: float, few: int, many: int, short: int, long: int) -> Any:  # fmt: skip
        calls = {
            "one": (1, size, 0), "few": (few, size, 0), "many": (many, size, 0), "few, 4 bits each": (few, 0.5, 0),
            "few, a cache": (few, size, short), "many, a cache": (many, size, short), "many, a large cache": (many, size, long),
        }  # fmt: skip
        observed = {
            words: _pick_entries(answer(n, batch, bytes_each, flops, bandwidth, cache), key)[key]
            for words, (batch, bytes_each, cache) in calls.items()
        }
        return observed | {"cache not given": _pick_entries(answer(n, few, size, flops, bandwidth), key)[key]}


for _key, _points in zip(STEP, (0.5, 1, 1, 1.5), strict=True):
    _add_step_aspect(_key, _points)
