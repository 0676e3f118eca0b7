"""The marking guide of notebook 05, Where the parameters live.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch and nn.
"""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.exercises import parameters as exercises

# count_ffn

count_ffn = Key(exercises.count_ffn)


@count_ffn.truth
def neuron_by_neuron(d, f, bias=True, gated=False):
    """Walks along the neurons: each hidden one reads d numbers (twice with a gate), each output one reads f."""
    count = 0
    for _ in range(2 if gated else 1):
        for _ in range(f):
            count += d
            if bias:
                count += 1
    for _ in range(d):
        count += f
        if bias:
            count += 1
    return count


@count_ffn.right("asks PyTorch")
def asks_torch(d, f, bias=True, gated=False):
    layers = [nn.Linear(d, f, bias=bias), nn.Linear(f, d, bias=bias)]
    if gated:
        layers.append(nn.Linear(d, f, bias=bias))
    return sum(p.numel() for p in nn.ModuleList(layers).parameters())


@count_ffn.right("a list of shapes")
def list_of_shapes(d, f, bias=True, gated=False):
    shapes = [(d, f), (f, d)]
    if bias:
        shapes += [(f,), (d,)]
    if gated:
        shapes += [(d, f)] + ([(f,)] if bias else [])
    return sum(math.prod(shape) for shape in shapes)


@count_ffn.right("truth values used as numbers")
def truth_values_as_numbers(d, f, bias=True, gated=False):
    into = 1 + gated
    return into * (d + bias) * f + (f + bias) * d


@count_ffn.right("four cases written out")
def four_cases(d, f, bias=True, gated=False):
    if gated and bias:
        return 3 * d * f + 2 * f + d
    elif gated:
        return 3 * d * f
    elif bias:
        return 2 * d * f + f + d
    return 2 * d * f


@count_ffn.right("tensors on the meta device, and a tensor as result")
def on_the_meta_device(d, f, bias=True, gated=False):
    parts = [torch.empty(d, f, device="meta") for _ in range(3 if gated else 2)]
    if bias:
        parts += [torch.empty(f, device="meta") for _ in range(len(parts) - 1)]
        parts += [torch.empty(d, device="meta")]
    return torch.tensor(sum(part.numel() for part in parts))


@count_ffn.mistake("b1 is missing: the hidden layer has f neurons, and each has a bias of its own.")
def b1_missing(d, f, bias=True, gated=False):
    weights = (3 if gated else 2) * d * f
    return weights + d if bias else weights


@count_ffn.mistake("b2 is missing: the output has d numbers, and each has a bias.")
def b2_missing(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    return (into + 1) * d * f + (into * f if bias else 0)


@count_ffn.mistake(
    "The biases never count, whatever `bias` says. With bias=True, which is the default, every matrix has one number more for each number it puts out."
)
def weights_only(d, f, bias=True, gated=False):
    return (3 if gated else 2) * d * f


@count_ffn.mistake("The biases always count. With bias=False only the matrices are learned.")
def bias_argument_ignored(d, f, bias=True, gated=False):
    if gated:
        return 3 * d * f + 2 * f + d
    return 2 * d * f + f + d


@count_ffn.mistake("Without the argument, `bias` is taken as False. The default in the signature is True.")
def default_turned_round(d, f, bias=False, gated=False):
    into = 2 if gated else 1
    return (into + 1) * d * f + (into * f + d if bias else 0)


@count_ffn.mistake(
    "`gated` changes nothing. A gated FFN has a third matrix: two lead into the hidden layer, one leads out."
)
def gate_ignored(d, f, bias=True, gated=False):
    return 2 * d * f + (f + d if bias else 0)


@count_ffn.mistake(
    "Every matrix is counted twice, 4·d·f. A published tutorial made the same slip: its FFN has two matrices, and each is counted once."
)
def matrices_counted_twice(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    return 2 * (into + 1) * d * f + (into * f + d if bias else 0)


@count_ffn.mistake(
    "A gated FFN with biases has two of length f, one for each matrix that leads into the hidden layer; only one is counted."
)
def one_bias_for_gate_and_up(d, f, bias=True, gated=False):
    return (3 if gated else 2) * d * f + (f + d if bias else 0)


@count_ffn.mistake(
    "A gated FFN loses its biases here. Many models have none, but this function is told by `bias` whether they exist."
)
def gated_never_has_biases(d, f, bias=True, gated=False):
    if gated:
        return 3 * d * f
    return 2 * d * f + (f + d if bias else 0)


@count_ffn.mistake(
    "In the gated FFN the lengths of the biases are mixed up: gate and up put out f numbers each, and only the last matrix puts out d."
)
def gate_bias_of_length_d(d, f, bias=True, gated=False):
    count = 2 * d * f + (f + d if bias else 0)
    if gated:
        count += d * f + (d if bias else 0)
    return count


@count_ffn.mistake(
    "Every bias is as long as the hidden layer here. A bias is as long as what its matrix puts out, and the last matrix puts out d numbers."
)
def all_biases_of_length_f(d, f, bias=True, gated=False):
    n = 3 if gated else 2
    return n * d * f + (n * f if bias else 0)


@count_ffn.mistake(
    "Every bias is d long here. A bias is as long as what its matrix puts out, and the matrices that lead into the hidden layer put out f numbers."
)
def all_biases_of_length_d(d, f, bias=True, gated=False):
    n = 3 if gated else 2
    return n * d * f + (n * d if bias else 0)


@count_ffn.mistake(
    "A bias is counted as a single number. Each number that a matrix puts out has a bias of its own, so a bias is a vector."
)
def one_number_for_each_bias(d, f, bias=True, gated=False):
    n = 3 if gated else 2
    return n * d * f + (n if bias else 0)


@count_ffn.mistake(
    "The gate brings its bias along even with bias=False. Without biases a gated FFN is three matrices and nothing else."
)
def gate_always_has_a_bias(d, f, bias=True, gated=False):
    count = 2 * d * f + (f + d if bias else 0)
    if gated:
        count += d * f + f
    return count


@count_ffn.mistake(
    "The third matrix is counted although nobody asked for a gate. Only with gated=True there are two matrices that lead in."
)
def always_gated_ffn(d, f, bias=True, gated=False):
    return 3 * d * f + (2 * f + d if bias else 0)


@count_ffn.mistake("Without the argument, `gated` is taken as True. The default in the signature is False.")
def gated_by_default(d, f, bias=True, gated=True):
    into = 2 if gated else 1
    return (into + 1) * d * f + (into * f + d if bias else 0)


@count_ffn.mistake(
    "The two cases of `gated` are the wrong way round: a plain FFN has two matrices, a gated one has three."
)
def gated_turned_round(d, f, bias=True, gated=False):
    into = 1 if gated else 2
    return (into + 1) * d * f + (into * f + d if bias else 0)


@count_ffn.mistake(
    "The two cases of `bias` are the wrong way round: the biases count with bias=True, and not with bias=False."
)
def bias_turned_round(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    return (into + 1) * d * f + (0 if bias else into * f + d)


@count_ffn.mistake(
    "With bias=False nothing is left, 0. Python reads `weights + biases if bias else 0` as `(weights + biases) if bias else 0`: put parentheses "
    "around the part that depends on `bias`."
)
def all_or_nothing(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    return (into + 1) * d * f + into * f + d if bias else 0


@count_ffn.mistake(
    "`gated` is looked at only where `bias` is False. The two are independent: use two separate `if`, not `if` and `elif`."
)
def gate_in_an_elif(d, f, bias=True, gated=False):
    count = 2 * d * f
    if bias:
        count += f + d
    elif gated:
        count += d * f
    return count


@count_ffn.mistake(
    "The gate is counted as a whole second FFN, with a way out of its own. Gate and up are multiplied with each other and share one matrix out."
)
def gate_doubles_everything(d, f, bias=True, gated=False):
    count = 2 * d * f + (f + d if bias else 0)
    return 2 * count if gated else count


@count_ffn.mistake(
    "f is shrunk to two thirds when gated. Models do choose a smaller f then, but here f is the width that the FFN really has."
)
def width_shrunk_when_gated(d, f, bias=True, gated=False):
    if gated:
        f = int(2 * f / 3)
        return 3 * d * f + (2 * f + d if bias else 0)
    return 2 * d * f + (f + d if bias else 0)


@count_ffn.mistake(
    "Only the way into the hidden layer is counted. The way out is a matrix as well, with a bias of its own."
)
def way_out_missing(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    return into * (d * f + (f if bias else 0))


@count_ffn.mistake(
    "f is taken to be 4·d. That is a habit, not a law: f is an argument, and the atlas is full of other ratios."
)
def f_is_always_4d(d, f, bias=True, gated=False):
    f = 4 * d
    into = 2 if gated else 1
    return (into + 1) * d * f + (into * f + d if bias else 0)


@count_ffn.mistake(
    "The number is right, but a float came back. Parameters are counted: return an int, and use // where you divide."
)
def float_count(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    return (into + 1) * d * f / 1 + (into * f + d if bias else 0)


@count_ffn.mistake(
    "The sum went through float32, which has no odd numbers above 2²⁴, about 16.8 million: large counts come out off by one. Add up Python ints."
)
def sum_in_float32(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    sizes = [d * f] * into + [f * d] + ([f] * into + [d] if bias else [])
    return int(torch.tensor(sizes, dtype=torch.float32).sum())


@count_ffn.mistake(NO_RETURN)
def no_return(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    print((into + 1) * d * f + (into * f + d if bias else 0))


@count_ffn.mistake("Every bias is counted twice. Each matrix has one, as long as what the matrix puts out.")
def biases_twice(d, f, bias=True, gated=False):
    into = 2 if gated else 1
    return (into + 1) * d * f + 2 * (into * f + d) * bool(bias)


# audit_published

audit_published = Key(exercises.audit_published)


@audit_published.truth
def entry_by_entry(d, f, printed):
    """Counts row by row, and divides whole numbers."""
    correct = 0
    for _ in range(f):
        correct += d + 1  # a hidden neuron: its column of W1 and its entry of b1
    for _ in range(d):
        correct += f + 1
    attention = sum(d for _ in range(4) for _ in range(d))
    block = attention + correct
    return {
        "correct": correct,
        "off_by": printed - correct,
        "attention_share": float(Fraction(attention, block)),
        "ffn_share": float(Fraction(correct, block)),
    }


@audit_published.right("dict(...), by way of the other count")
def by_way_of_the_block(d, f, printed):
    ffn = f * (2 * d + 1) + d
    both = ffn + 4 * d**2
    return dict(correct=ffn, off_by=-(ffn - printed), ffn_share=ffn / both, attention_share=(both - ffn) / both)


@audit_published.right("asks PyTorch, and keeps more than was asked for")
def torch_counts(d, f, printed):
    ffn = nn.Sequential(nn.Linear(d, f), nn.GELU(), nn.Linear(f, d))
    attention = nn.ModuleList([nn.Linear(d, d, bias=False) for _ in range(4)])
    n_ffn = sum(p.numel() for p in ffn.parameters())
    n_attention = sum(p.numel() for p in attention.parameters())
    total = n_ffn + n_attention
    found = {"printed": printed, "correct": n_ffn, "total": total, "off_by": printed - n_ffn}
    found["ffn_share"] = n_ffn / total
    found["attention_share"] = 1 - n_ffn / total
    return found


@audit_published.right("tensors as numbers")
def as_tensors(d, f, printed):
    counts = torch.tensor([4 * d**2, 2 * d * f + f + d])
    shares = counts.double() / counts.sum()
    return {
        "correct": counts[1],
        "off_by": printed - counts[1],
        "attention_share": shares[0],
        "ffn_share": shares[1],
    }


AUDIT = {
    "correct": "2 * d * f + f + d",
    "off_by": "printed - correct",
    "attention": "4 * d * d",
    "attention_share": "attention / (attention + ffn)",
    "ffn": "correct",
    "ffn_share": "ffn / (attention + ffn)",
}
AUDIT_SOURCE = """def audit_published(d, f, printed):
    correct = {correct}
    off_by = {off_by}
    attention, ffn = {attention}, {ffn}
    attention_share = {attention_share}
    ffn_share = {ffn_share}
    return {{
        "correct": correct,
        "off_by": off_by,
        "attention_share": attention_share,
        "ffn_share": ffn_share,
    }}
"""


def _audit(name, message, form_of="", **changes):
    audit_published.typed("mistake", name, message, AUDIT_SOURCE.format(**(AUDIT | changes)), form_of)


_audit(
    "audit_without_biases",
    "The biases are missing from `correct`, and so from what follows: 2·d·f is the two matrices alone. The FFN has b1 and b2.",
    correct="2 * d * f",
)
_audit(
    "half_of_what_was_published",
    "`correct` is half of what the page printed. On one page twice is nearly what went wrong, but not quite, and another page has another slip: count the "
    "two matrices and the two biases yourself.",
    correct="printed // 2",
)
_audit(
    "printed_is_believed",
    "`correct` is what the page printed. It is what should be checked: count the two matrices and the two biases yourself.",
    correct="printed",
)
_audit(
    "sizes_of_the_table",
    "The numbers are those of the table above, whatever d, f and `printed` are. Compute with the arguments.",
    correct="2_099_712",
    attention="1_048_576",
    off_by="4_197_376 - correct",
)
_audit(
    "b1_missing_in_the_audit",
    "`correct` has one bias where the FFN has two: b1, one number for each hidden neuron, and b2, one for each number that comes out.",
    correct="2 * d * f + d",
)
_audit(
    "b2_missing_in_the_audit",
    "`correct` has one bias where the FFN has two: b1, one number for each hidden neuron, and b2, one for each number that comes out.",
    form_of="b1_missing_in_the_audit",
    correct="2 * d * f + f",
)
_audit(
    "correct_count_of_the_block",
    "`correct` asks for the FFN alone. Yours is FFN and attention together, which is the denominator of the shares.",
    correct="2 * d * f + f + d + 4 * d * d",
    ffn="2 * d * f + f + d",
)
_audit(
    "off_by_turned_round",
    "`off_by` has the wrong sign: it is what was printed minus what is right, so a page that counted too much is off by a positive number.",
    off_by="correct - printed",
)
_audit(
    "off_by_without_its_sign",
    "`off_by` has lost its sign. A page that counted too little is off by a negative number.",
    off_by="abs(printed - correct)",
)
_audit(
    "off_by_as_a_factor",
    "`off_by` is a ratio. A difference was asked for: what was printed minus what is right.",
    off_by="printed / correct",
)
_audit(
    "off_by_against_the_block",
    "`off_by` compares the printed count of the FFN with FFN and attention together. Compare like with like.",
    off_by="printed - (correct + 4 * d * d)",
)
_audit(
    "shares_from_the_published_count",
    "The shares are computed with the page's count of the FFN. Put the correct one into the fraction.",
    ffn="printed",
)
_audit(
    "shares_of_the_published_total",
    "The shares are divided by the page's total, which has its wrong count in it, and so they don't add up to 1. Divide by attention and your correct FFN "
    "together.",
    attention_share="attention / (attention + printed)",
    ffn_share="ffn / (attention + printed)",
)
_audit(
    "shares_in_float32",
    "The shares have seven digits, not nine: torch computes in float32 unless told otherwise. Divide with Python's own numbers, or use dtype=torch.float64.",
    attention_share="torch.tensor(float(attention)) / torch.tensor(float(attention + ffn))",
    ffn_share="torch.tensor(float(ffn)) / torch.tensor(float(attention + ffn))",
)
_audit(
    "shares_by_whole_division",
    "`//` throws away what comes after the point, and a share is smaller than 1. Use `/`.",
    attention_share="attention // (attention + ffn)",
    ffn_share="ffn // (attention + ffn)",
)
_audit(
    "exact_thirds",
    "The shares are one third and two thirds, whatever d and f are. They follow from the two counts: divide.",
    attention_share="1 / 3",
    ffn_share="2 / 3",
)
_audit(
    "shares_of_matrices_alone",
    "The shares leave the FFN's biases out. With them the FFN has a little more.",
    ffn="2 * d * f",
)
_audit(
    "rounded_shares",
    "The shares are rounded. Let Python divide the two counts and hand back what comes out.",
    attention_share="round(attention / (attention + ffn), 3)",
    ffn_share="round(ffn / (attention + ffn), 3)",
)
_audit(
    "four_digits",
    "The shares are rounded. Let Python divide the two counts and hand back what comes out.",
    form_of="rounded_shares",
    attention_share="round(attention / (attention + ffn), 4)",
    ffn_share="round(ffn / (attention + ffn), 4)",
)
_audit(
    "shares_in_percent",
    "The shares are percentages. A share of the whole is a number from 0 to 1.",
    attention_share="100 * attention / (attention + ffn)",
    ffn_share="100 * ffn / (attention + ffn)",
)
_audit(
    "shares_swapped",
    "The two shares are swapped: `ffn_share` is the FFN's part of the whole.",
    attention_share="ffn / (attention + ffn)",
    ffn_share="attention / (attention + ffn)",
)
_audit(
    "attention_with_biases",
    "Attention is counted with biases. The page's attention has none: four matrices [d, d].",
    attention="4 * d * d + 4 * d",
)
_audit(
    "three_matrices_of_attention",
    "Attention has four matrices, not three: the output matrix belongs to queries, keys and values.",
    attention="3 * d * d",
)
_audit(
    "ratio_to_attention",
    "These are ratios of one part to the other. A share is a part of the whole: divide by attention and FFN together.",
    attention_share="attention / ffn",
    ffn_share="ffn / attention",
)


@audit_published.mistake("The numbers come back as a tuple. A dict was asked for, with the four names as keys.")
def audit_as_tuple(d, f, printed):
    correct, attention = 2 * d * f + f + d, 4 * d * d
    return correct, printed - correct, attention / (attention + correct), correct / (attention + correct)


@audit_published.mistake("The counts are texts. Return numbers; how they are printed is another matter.")
def counts_as_text(d, f, printed):
    correct, attention = 2 * d * f + f + d, 4 * d * d
    return {
        "correct": f"{correct:,}",
        "off_by": f"{printed - correct:,}",
        "attention_share": attention / (attention + correct),
        "ffn_share": correct / (attention + correct),
    }


@audit_published.mistake("Only the counts are there. Two more keys were asked for: `attention_share` and `ffn_share`.")
def shares_missing(d, f, printed):
    correct = 2 * d * f + f + d
    return {"correct": correct, "off_by": printed - correct}


@audit_published.mistake(
    "The function takes no arguments. It is asked about other pages too: it takes d, f and printed."
)
def takes_nothing():
    return {"correct": 2099712, "off_by": 2097664, "attention_share": 1048576 / 3148288, "ffn_share": 2099712 / 3148288}


# count_attention

count_attention = Key(exercises.count_attention)


@count_attention.truth
def head_by_head(d, n_heads, n_kv=None, head_dim=None, bias=False):
    """Walks through the numbers that each matrix puts out, one at a time."""
    groups = n_heads if n_kv is None else n_kv
    width = d // n_heads if head_dim is None else head_dim
    one = 1 if bias else 0
    count = 0
    for heads in (n_heads, groups, groups):  # queries, keys, values
        for _ in range(heads):
            for _ in range(width):
                count += d + one
    for _ in range(d):
        for _ in range(n_heads):
            count += width
        count += one
    return count


@count_attention.right("asks PyTorch")
def four_linears(d, n_heads, n_kv=None, head_dim=None, bias=False):
    n_kv = n_kv or n_heads
    h = head_dim or d // n_heads
    q = nn.Linear(d, n_heads * h, bias=bias)
    k, v = nn.Linear(d, n_kv * h, bias=bias), nn.Linear(d, n_kv * h, bias=bias)
    o = nn.Linear(n_heads * h, d, bias=bias)
    return sum(p.numel() for layer in (q, k, v, o) for p in layer.parameters())


@count_attention.right("the formula of the field")
def the_formula(d, n_heads, n_kv=None, head_dim=None, bias=False):
    if n_kv is None:
        n_kv = n_heads
    if head_dim is None:
        head_dim = d // n_heads
    weights = 2 * d * n_heads * head_dim + 2 * d * n_kv * head_dim
    biases = n_heads * head_dim + 2 * n_kv * head_dim + d
    return weights + biases * bias


@count_attention.right("queries, keys and values in one matrix")
def fused(d, n_heads, n_kv=None, head_dim=None, bias=False):
    H, KV = n_heads, n_heads if n_kv is None else n_kv
    hd = d // H if head_dim is None else head_dim
    qkv = (H + KV + KV) * hd
    return (d + int(bias)) * qkv + (H * hd + int(bias)) * d


@count_attention.right("a loop over shapes")
def loop_over_shapes(d, n_heads, n_kv=None, head_dim=None, bias=False):
    head_dim = d // n_heads if head_dim is None else head_dim
    inner = n_heads * head_dim
    outer = inner if n_kv is None else n_kv * head_dim
    total = 0
    for rows, columns in [(d, inner), (d, outer), (d, outer), (inner, d)]:
        total += rows * columns
        if bias:
            total += columns
    return total


SETTLE = """n_kv = n_heads if n_kv is None else n_kv
    head_dim = d // n_heads if head_dim is None else head_dim"""
ATTENTION = {
    "settle": SETTLE,
    "weights": "2 * d * n_heads * head_dim + 2 * d * n_kv * head_dim",
    "biases": "n_heads * head_dim + 2 * n_kv * head_dim + d",
    "result": "return weights + biases if bias else weights",
}
ATTENTION_SOURCE = """def count_attention(d, n_heads, n_kv=None, head_dim=None, bias=False):
    {settle}
    weights = {weights}
    biases = {biases}
    {result}
"""


def _attention(name, message, form_of="", **changes):
    count_attention.typed("mistake", name, message, ATTENTION_SOURCE.format(**(ATTENTION | changes)), form_of)


FOUR_SQUARES = "This is 4·d², the special case. It holds only while n_kv = n_heads and head_dim = d / n_heads; the arguments say otherwise."
_attention("always_four_squares", FOUR_SQUARES, weights="4 * d * d", biases="4 * d")
_attention(
    "shared_keys_ignored",
    "Keys and values are as wide as the queries, whatever n_kv says. With n_kv heads they put out n_kv · head_dim numbers each.",
    settle=SETTLE.replace("n_kv = n_heads if n_kv is None else n_kv", "n_kv = n_heads"),
)
_attention(
    "head_dim_ignored",
    "head_dim is always d // n_heads. When it is handed in, the heads have that width: in many models n_heads · head_dim is not d.",
    settle=SETTLE.replace("d // n_heads if head_dim is None else head_dim", "d // n_heads"),
)
_attention(
    "head_dim_from_the_shared_heads",
    "Without head_dim, a head's width is taken from n_kv. It is d // n_heads: sharing keys and values does not widen them.",
    settle=SETTLE.replace("d // n_heads if", "d // n_kv if"),
)
_attention(
    "output_matrix_missing",
    "The output matrix is missing. After the heads are put side by side, a fourth matrix leads back to d numbers.",
    weights="d * n_heads * head_dim + 2 * d * n_kv * head_dim",
    biases="n_heads * head_dim + 2 * n_kv * head_dim",
)
_attention(
    "output_matrix_is_square",
    "The output matrix is counted as d · d. It reads all heads side by side, n_heads · head_dim numbers, which need not be d.",
    weights="d * n_heads * head_dim + 2 * d * n_kv * head_dim + d * d",
)
_attention(
    "query_matrix_is_square",
    "Queries and output are counted as d · d. Both are as wide as all query heads together, n_heads · head_dim, which need not be d.",
    weights="2 * d * d + 2 * d * n_kv * head_dim",
    biases="2 * d + 2 * n_kv * head_dim",
)
_attention(
    "keys_without_values",
    "Keys and values are counted as one matrix. They are two, of the same size.",
    weights="2 * d * n_heads * head_dim + d * n_kv * head_dim",
    biases="n_heads * head_dim + n_kv * head_dim + d",
)
_attention(
    "everything_shared",
    "Queries and output shrink with n_kv as well. Only keys and values are shared; every head keeps a query of its own.",
    weights="4 * d * n_kv * head_dim",
    biases="3 * n_kv * head_dim + d",
)
_attention(
    "one_head_only",
    "This is one head. Each matrix holds all of them: n_heads · head_dim columns for the queries.",
    weights="4 * d * head_dim",
    biases="3 * head_dim + d",
)
_attention(
    "times_n_heads",
    "The count is multiplied by n_heads. The heads divide the matrices among them: more heads of the same total width cost nothing.",
    weights="n_heads * (2 * d * n_heads * head_dim + 2 * d * n_kv * head_dim)",
    biases="n_heads * (n_heads * head_dim + 2 * n_kv * head_dim + d)",
)
_attention(
    "none_means_one_shared_head",
    "Without n_kv, keys and values get a single head. None means the default: as many heads of keys and values as query heads.",
    settle=SETTLE.replace("n_kv = n_heads if", "n_kv = 1 if"),
)
_attention(
    "none_means_heads_as_wide_as_the_model",
    "Without head_dim, each head is as wide as the whole model. The heads divide the d numbers among them: the usual width is d // n_heads.",
    settle=SETTLE.replace("d // n_heads if", "d if"),
)
_attention(
    "n_kv_taken_for_groups",
    "Keys and values get n_heads // n_kv heads. That is how many query heads share one; n_kv itself is the number of heads of keys and values.",
    weights="2 * d * n_heads * head_dim + 2 * d * (n_heads // n_kv) * head_dim",
    biases="n_heads * head_dim + 2 * (n_heads // n_kv) * head_dim + d",
)
_attention(
    "one_of_keys_and_values_shared",
    "Only one of keys and values shrinks with n_kv. Both have n_kv heads.",
    weights="3 * d * n_heads * head_dim + d * n_kv * head_dim",
    biases="2 * n_heads * head_dim + n_kv * head_dim + d",
)
_attention(
    "output_reads_the_shared_heads",
    "The output matrix is as narrow as keys and values here. It reads what the query heads found: n_heads · head_dim numbers.",
    weights="d * n_heads * head_dim + 3 * d * n_kv * head_dim",
)
_attention(
    "output_reads_one_head",
    "The output matrix reads a single head here. All heads are put side by side first, n_heads · head_dim numbers.",
    weights="d * n_heads * head_dim + 2 * d * n_kv * head_dim + d * head_dim",
)
_attention(
    "sharing_forgotten_with_head_dim",
    "Where head_dim is given, n_kv is not looked at any more. The two are independent of each other.",
    settle="if head_dim is not None or n_kv is None:\n        n_kv = n_heads\n    "
    "head_dim = d // n_heads if head_dim is None else head_dim",
)
_attention(
    "one_bias_for_keys_and_values",
    "Keys and values have one bias between them here. They are two matrices, and each has its own.",
    biases="n_heads * head_dim + n_kv * head_dim + d",
)
_attention(
    "output_bias_alone",
    "Only the output matrix has a bias here. With bias=True queries, keys and values have one each as well.",
    biases="d",
)
_attention(
    "biases_of_one_head",
    "The biases of queries, keys and values are as long as one head. They are as long as what the matrix puts out: all of its heads.",
    biases="3 * head_dim + d",
)
_attention(
    "attention_all_or_nothing",
    "Without biases nothing is left, 0. Python reads `weights + biases if bias else 0` as `(weights + biases) if bias else 0`: put parentheses around "
    "the part that depends on `bias`.",
    result="return weights + biases if bias else 0",
)
_attention(
    "output_bias_missing",
    "The bias of the output matrix is missing: d numbers. (Some models have biases for queries, keys and values only; here `bias` means all four.)",
    biases="n_heads * head_dim + 2 * n_kv * head_dim",
)
_attention(
    "output_bias_as_wide_as_the_heads",
    "The bias of the output matrix has d entries, one per number it puts out. n_heads · head_dim is what it reads.",
    biases="2 * n_heads * head_dim + 2 * n_kv * head_dim",
)
_attention(
    "biases_of_four_squares",
    "The biases are counted as 4·d. Those of queries, keys and values are as long as what these matrices put out.",
    biases="4 * d",
)
_attention(
    "biases_not_shared",
    "The biases of keys and values are counted as if every head had its own. They are n_kv · head_dim long.",
    biases="3 * n_heads * head_dim + d",
)
_attention(
    "attention_bias_ignored", "`bias` changes nothing. With bias=True each of the four matrices has one.", biases="0"
)
_attention(
    "attention_bias_always",
    "The biases always count. The default is bias=False: then only the four matrices are learned.",
    result="return weights + biases",
)
_attention(
    "attention_float",
    "The number is right, but a float came back: `/` gives floats. Use `//` for d divided by n_heads.",
    settle=SETTLE.replace("//", "/"),
    result="return float(weights + biases) if bias else float(weights)",
)
_attention(
    "float_where_head_dim_is_missing",
    "The number is right, but a float came back: `/` gives floats. Use `//` for d divided by n_heads.",
    form_of="attention_float",
    settle=SETTLE.replace("//", "/"),
)
_attention(
    "none_not_settled",
    "n_kv or head_dim is None when it is not given, and one can't calculate with None. Replace both by their usual values first.",
    settle="pass",
)
_attention(
    "only_n_kv_settled",
    "n_kv or head_dim is None when it is not given, and one can't calculate with None. Replace both by their usual values first.",
    form_of="none_not_settled",
    settle="n_kv = n_heads if n_kv is None else n_kv",
)
_attention(
    "settled_only_where_both_are_none",
    "n_kv or head_dim is None when it is not given, and one can't calculate with None. Replace both by their usual values first.",
    form_of="none_not_settled",
    settle="if n_kv is None and head_dim is None:\n        n_kv, head_dim = n_heads, d // n_heads",
)
_attention(
    "attention_no_return",
    NO_RETURN,
    result="print(weights + biases)",
)

# layer_share

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


SHARE = {
    "bias": 'cfg.get("bias", False)',
    "gated": 'cfg.get("gated", False)',
    "n_kv": 'cfg.get("n_kv") or H',
    "head_dim": 'cfg.get("head_dim") or d // H',
    "ffn": "(3 if gated else 2) * d * f + (((2 if gated else 1) * f + d) if bias else 0)",
    "attention": "2 * d * (H + KV) * h + (((H + 2 * KV) * h + d) if bias else 0)",
    "attentions": '2 if block == "decoder" else 1',
    "signature": 'block="encoder"',
    "result": "return ffn / (ffn + attention)",
}
SHARE_SOURCE = """def layer_share(cfg, {signature}):
    d, f, H = cfg["d_model"], cfg["d_ff"], cfg["n_heads"]
    KV, h = {n_kv}, {head_dim}
    bias, gated = {bias}, {gated}
    ffn = {ffn}
    attention = {attention}
    attention = attention * ({attentions})
    {result}
"""


def _share(name, message="", form_of="", **changes):
    layer_share.typed("mistake", name, message, SHARE_SOURCE.format(**(SHARE | changes)), form_of)


ONE_ATTENTION = (
    "The decoder block comes out like an encoder block. It has two attentions of the same size, one over its own tokens and one across to "
    "the encoder, and still one FFN."
)
_share(
    "one_attention_in_the_decoder",
    ONE_ATTENTION,
    attentions="1",
)
_share(
    "always_a_decoder",
    "Every block is counted with two attentions. An encoder block, which is what `block` says by default, has one.",
    attentions="2",
)
_share(
    "blocks_turned_round",
    "The two kinds of block are mixed up: the decoder block has two attentions, the encoder block one.",
    attentions='1 if block == "decoder" else 2',
)
_share(
    "three_attentions",
    "The decoder block is counted with three attentions. Its own and the one across make two.",
    attentions='3 if block == "decoder" else 1',
)
_share(
    "decoder_by_default",
    "Without the argument, `block` is taken as a decoder's. The default in the signature is “encoder”.",
    attentions='1 if block == "encoder" else 2',
    signature='block="decoder"',
)
_share(
    "decoder_doubles_the_ffn",
    "The decoder block is counted with two FFNs. It has a second attention; there is one FFN, after both.",
    attentions="1",
    result='if block == "decoder":\n        ffn = 2 * ffn\n    return ffn / (ffn + attention)',
)
_share(
    "decoder_doubles_all",
    ONE_ATTENTION,
    attentions="1",
    result='if block == "decoder":\n        ffn, attention = 2 * ffn, 2 * attention\n    return ffn / (ffn + attention)',
    form_of="one_attention_in_the_decoder",
)
_share(
    "norms_included",
    "The norms are in the denominator. The share asked for is of FFN and attention alone.",
    result='norms = 3 if block == "decoder" else 2\n    return ffn / (ffn + attention + norms * 2 * d)',
)
_share(
    "rms_norms_included",
    "The norms are in the denominator. The share asked for is of FFN and attention alone.",
    form_of="norms_included",
    result='norms = 3 if block == "decoder" else 2\n    return ffn / (ffn + attention + norms * d)',
)
_share(
    "two_norms_included",
    "The norms are in the denominator. The share asked for is of FFN and attention alone.",
    form_of="norms_included",
    result="return ffn / (ffn + attention + 2 * 2 * d)",
)
_share(
    "percent",
    "This is a percentage. A share of the whole is a number from 0 to 1.",
    result="return 100 * ffn / (ffn + attention)",
)
_share(
    "rounded",
    "The share is rounded. Hand back what the division gives; rounding is for printing.",
    result="return round(ffn / (ffn + attention), 3)",
)
_share(
    "share_of_attention",
    "This is attention's share. The FFN's is asked for: FFN over FFN and attention.",
    result="return attention / (ffn + attention)",
)
_share(
    "ratio",
    "This is the ratio of FFN to attention. A share is a part of the whole: the denominator is both together.",
    result="return ffn / attention",
)
_share(
    "sum_without_parentheses",
    "Python divides before it adds: `ffn / ffn + attention` is 1 + attention. Put the sum in parentheses.",
    result="return ffn / ffn + attention",
)
_share(
    "whole_division",
    "`//` throws away what comes after the point, and a share is smaller than 1. Use `/`.",
    result="return ffn // (ffn + attention)",
)
_share(
    "two_thirds_by_heart",
    "This is the rule of thumb, whatever the cfg says. Compute it from the sizes in the cfg.",
    result='return 1 / 2 if block == "decoder" else 2 / 3',
)
_share(
    "biases_by_default",
    "There are biases in your count although the cfg does not ask for any. `count_ffn` has them by default: hand it `bias=cfg.get('bias', False)`.",
    bias="True",
    attention="2 * d * (H + KV) * h + (((H + 2 * KV) * h + d) if cfg.get('bias') else 0)",
)
_share(
    "biases_by_default_in_both",
    "There are biases in both counts although the cfg does not ask for any: its `bias` is False where it is missing.",
    bias='cfg.get("bias", True)',
)
_share(
    "biases_not_handed_over",
    "The cfg's `bias` is not looked at, so each function falls back on its own default: `count_ffn` has biases, `count_attention` has none. Hand "
    "`bias=cfg.get('bias', False)` to both.",
    bias="True",
    attention="2 * d * (H + KV) * h",
)
_share(
    "only_three_keys_are_read",
    "Only d_model, d_ff and n_heads are looked at, and `count_ffn` has biases by default. The cfg may also have `n_kv`, `head_dim`, `bias` and `gated`.",
    n_kv="H",
    head_dim="d // H",
    bias="True",
    gated="False",
    attention="2 * d * (H + KV) * h",
)
_share(
    "only_three_keys_no_biases",
    "Only d_model, d_ff and n_heads are looked at. The cfg may also have `n_kv`, `head_dim`, `bias` and `gated`.",
    n_kv="H",
    head_dim="d // H",
    bias="False",
    gated="False",
)
_share(
    "bias_and_gated_swapped",
    "`bias` and `gated` have changed places in the FFN. Hand them over by name: `count_ffn(d, f, bias=…, gated=…)`.",
    ffn="(3 if bias else 2) * d * f + (((2 if bias else 1) * f + d) if gated else 0)",
)
_share(
    "n_kv_and_head_dim_swapped",
    "`n_kv` and `head_dim` have changed places. Hand them over by name: `count_attention(d, n_heads, n_kv=…, head_dim=…)`.",
    n_kv='cfg.get("head_dim") or H',
    head_dim='cfg.get("n_kv") or d // H',
)
_share(
    "biases_left_out",
    "The cfg's `bias` is not looked at. Where it is True, both the FFN and the attention have biases.",
    bias="False",
)
_share(
    "biases_in_the_ffn_alone",
    "Where the cfg says bias=True, attention has biases too, one for each of its four matrices.",
    attention="2 * d * (H + KV) * h",
)
_share(
    "gate_left_out",
    "The cfg's `gated` is not looked at. A gated FFN has three matrices.",
    gated="False",
)
_share(
    "groups_left_out",
    "The cfg's `n_kv` is not looked at: keys and values are shared by several heads where it is smaller than n_heads.",
    n_kv="H",
)
_share(
    "head_dim_left_out",
    "The cfg's `head_dim` is not looked at: where it is given, the heads have that width instead of d_model / n_heads.",
    head_dim="d // H",
)
_share(
    "groups_and_head_dim_left_out",
    "Attention is counted as 4·d² here. The cfg may have `n_kv` and `head_dim`, and `count_attention` takes both.",
    n_kv="H",
    head_dim="d // H",
)
_share(
    "keys_taken_for_granted",
    "Most keys of the cfg may be missing, and `cfg[...]` raises KeyError then. `cfg.get(key)` gives None, `cfg.get(key, False)` gives False.",
    bias='cfg["bias"]',
    gated='cfg["gated"]',
    n_kv='cfg["n_kv"]',
    head_dim='cfg["head_dim"]',
)
_share(
    "none_taken_for_a_number",
    "A key may be there and hold None, which means the default: then `cfg.get(key, default)` gives None too. `cfg.get(key) or default` covers both.",
    n_kv='cfg.get("n_kv", H)',
    head_dim='cfg.get("head_dim", d // H)',
)
_share(
    "gate_seen_with_groups_only",
    "`gated` is looked at only where the cfg has `n_kv` too. The two are independent of each other: any key may be there without the others.",
    gated='cfg.get("gated", False) and cfg.get("n_kv") is not None',
)
_share(
    "bias_seen_with_gate_only",
    "`bias` is looked at only where the FFN is gated. The two are independent of each other: any key may be there without the others.",
    bias='cfg.get("bias", False) and cfg.get("gated", False)',
)
_share(
    "groups_seen_with_head_dim_only",
    "`n_kv` is looked at only where the cfg has `head_dim` too. The two are independent of each other: any key may be there without the others.",
    n_kv='(cfg.get("n_kv") if cfg.get("head_dim") else None) or H',
)
_share(
    "head_dim_seen_with_groups_only",
    "`head_dim` is looked at only where the cfg has `n_kv` too. The two are independent of each other: any key may be there without the others.",
    head_dim='(cfg.get("head_dim") if cfg.get("n_kv") else None) or d // H',
)
_share(
    "options_of_the_encoder_alone",
    "In a decoder block only d_model, d_ff and n_heads are looked at. All keys mean the same in both kinds of block.",
    result="""if block == "decoder":
        ffn, attention = 2 * d * f, 2 * 4 * d * d
    return ffn / (ffn + attention)""",
)
_share(
    "share_no_return",
    NO_RETURN,
    result="print(ffn / (ffn + attention))",
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


_share(
    "keys_taken_for_granted_or_none",
    form_of="keys_taken_for_granted",
    bias='cfg["bias"]',
    gated='cfg["gated"]',
    n_kv='cfg["n_kv"] or H',
    head_dim='cfg["head_dim"] or d // H',
)
_share(
    "biases_of_the_ffn_swapped",
    "In the FFN's biases d and f have changed places. A bias is as long as what its matrix puts out: d_ff on the way in, d_model on the way out. If you "
    "have a function for it, look at the order in which it takes the two.",
    ffn="(3 if gated else 2) * d * f + (((2 if gated else 1) * d + f) if bias else 0)",
)


# flops_per_token

flops_per_token = Key(exercises.flops_per_token)


@flops_per_token.truth
def operation_by_operation(d, f, T, gated=False):
    """Counts a product and a sum for every weight that a token meets, then for every position it looks at."""

    def matrix(rows, columns):
        return sum(1 + 1 for _ in range(rows) for _ in range(columns))

    ffn = matrix(d, f) + matrix(f, d)
    if gated:
        ffn += matrix(d, f)
    proj = sum(matrix(d, d) for _ in ("queries", "keys", "values", "output"))
    mix = 0
    for _ in range(T):
        mix += sum(1 + 1 for _ in range(d))  # the query meets a key
        mix += sum(1 + 1 for _ in range(d))  # a value is added, times its weight
    return {"ffn": ffn, "proj": proj, "mix": mix}


@flops_per_token.right("twice the weights")
def twice_the_weights(d, f, T, gated=False):
    MULTIPLY_ADD = 2
    weights = 3 * d * f if gated else 2 * d * f
    return dict(ffn=MULTIPLY_ADD * weights, proj=MULTIPLY_ADD * 4 * d**2, mix=MULTIPLY_ADD * 2 * T * d)


@flops_per_token.right("counts the parameters of modules")
def from_modules(d, f, T, gated=False):
    ffn = nn.ModuleList([nn.Linear(d, f, bias=False), nn.Linear(f, d, bias=False)])
    if gated:
        ffn.append(nn.Linear(d, f, bias=False))
    proj = nn.ModuleList([nn.Linear(d, d, bias=False) for _ in range(4)])
    result = {"mix": 0}
    for _ in range(T):
        result["mix"] += 2 * d + 2 * d
    for name, part in [("ffn", ffn), ("proj", proj)]:
        result[name] = 2 * sum(p.numel() for p in part.parameters())
    return result


@flops_per_token.right("the whole sequence, divided by T")
def per_sequence_divided(d, f, T, gated=False):
    n = 6 if gated else 4
    sequence = {"ffn": n * T * d * f, "proj": 8 * T * d * d, "mix": 4 * T * T * d}
    return {name: flops // T for name, flops in sequence.items()}


@flops_per_token.right("a sum over matrices, with numpy's or torch's whole numbers")
def sum_over_matrices(d, f, T, gated=False):
    shapes = [(d, f)] * (1 + int(gated)) + [(f, d)]
    ffn = sum(2 * torch.tensor(shape).prod() for shape in shapes)
    proj = torch.tensor([2 * d * d] * 4).sum()
    scores, weighted_sum = 2 * d * T, 2 * T * d
    return {"ffn": ffn, "proj": proj, "mix": scores + weighted_sum}


RUN = {"ffn": "(6 if gated else 4) * d * f", "proj": "8 * d * d", "mix": "4 * T * d", "signature": "gated=False"}
RUN_SOURCE = """def flops_per_token(d, f, T, {signature}):
    ffn = {ffn}
    proj = {proj}
    mix = {mix}
    {result}
"""
DICT = 'return {"ffn": ffn, "proj": proj, "mix": mix}'


def _flops(name, message, form_of="", **changes):
    source = RUN_SOURCE.format(**({**RUN, "result": DICT} | changes))
    flops_per_token.typed("mistake", name, message, source, form_of)


_flops(
    "one_per_multiply_add",
    "A multiplication and the addition that follows are counted as one, which gives half of what is asked for. Here they are two operations.",
    ffn="(3 if gated else 2) * d * f",
    proj="4 * d * d",
    mix="2 * T * d",
)
_flops(
    "mix_without_T",
    "`mix` does not depend on T. A token looks at T positions, and each costs its share.",
    mix="4 * d",
)
_flops(
    "mix_of_the_whole_sequence",
    "`mix` grows with T squared: that is the whole sequence. One of its T tokens is asked for.",
    mix="4 * T * T * d",
)
_flops(
    "all_of_the_whole_sequence",
    "This is the cost of the whole sequence, T times too much. One of its T tokens is asked for.",
    ffn="T * (6 if gated else 4) * d * f",
    proj="T * 8 * d * d",
    mix="4 * T * T * d",
)
_flops(
    "scores_alone",
    "`mix` is half of what it should be. Both parts count, the scores and the weighted sum of the values, and all T positions do: none is left out for a "
    "causal mask.",
    mix="2 * T * d",
)
_flops(
    "causal_average",
    "`mix` is the average over a causal text, in which a token looks at half of the positions. Here T is the number of positions that it does look at.",
    mix="2 * (T + 1) * d",
)
_flops(
    "itself_left_out",
    "`mix` is counted for T − 1 positions. T has the token itself in it: its query meets its own key, too.",
    mix="4 * (T - 1) * d",
)
_flops(
    "mix_with_matrices",
    "`mix` has d squared in it. There are no matrices [d, d] in mixing: a score is one query times one key, d products.",
    mix="4 * T * d * d",
)
_flops(
    "mix_with_f",
    "`mix` has the FFN's width in it. Scores and weighted sum work on vectors of d numbers.",
    mix="4 * T * f",
)
_flops(
    "gate_costs_nothing",
    "The gated FFN costs as much as the plain one here. Its third matrix has to be multiplied as well.",
    ffn="4 * d * f",
)
_flops(
    "always_gated",
    "The plain FFN is counted with three matrices. Only a gated one has a third.",
    ffn="6 * d * f",
)
_flops(
    "gate_doubles_the_ffn",
    "The gated FFN is counted with four matrices. Gate and up lead in, and one matrix leads out: three.",
    ffn="(8 if gated else 4) * d * f",
)
_flops(
    "ffn_counted_twice",
    "`ffn` is twice as large as it should be. Two matrices of d·f weights, two operations for each weight.",
    ffn="(12 if gated else 8) * d * f",
)
_flops(
    "ffn_halved",
    "`ffn` is half of what it should be: this is the number of its weights. Each costs a multiplication and an addition.",
    ffn="(3 if gated else 2) * d * f",
)
_flops(
    "proj_halved",
    "`proj` is half of what it should be. There are four matrices of d·d weights, and each weight costs a multiplication and an addition.",
    proj="4 * d * d",
)
_flops(
    "one_projection",
    "`proj` is one matrix. Queries, keys, values and output have one each.",
    proj="2 * d * d",
)
_flops(
    "ffn_with_T",
    "`ffn` grows with T. The FFN sees one token at a time, so one token costs the same in any text.",
    ffn="T * (6 if gated else 4) * d * f",
)
_flops(
    "keys_of_all_tokens",
    "Keys and values of all T tokens are counted in `proj`. Each token makes one key and one value, its own; the others' are counted with the others.",
    proj="4 * d * d + T * 4 * d * d",
)
_flops(
    "flops_gated_by_default",
    "Without the argument, `gated` is taken as True. The default in the signature is False.",
    signature="gated=True",
)
_flops(
    "one_ffn_matrix",
    "`ffn` has one matrix too few: the way into the hidden layer and the way out both cost.",
    ffn="(4 if gated else 2) * d * f",
)
_flops(
    "f_taken_as_4d",
    "`ffn` is computed as if f were 4·d, which gives 16·d². f is an argument.",
    ffn="(24 if gated else 16) * d * d",
)
_flops(
    "three_projections",
    "`proj` has three matrices: the output matrix is a projection too, the fourth.",
    proj="6 * d * d",
)
_flops(
    "proj_with_T",
    "`proj` grows with T. One token goes through the four matrices once, however long the sequence is.",
    proj="8 * T * d * d",
)
_flops(
    "training_instead_of_forward",
    "This is about what training costs, forward and backward, three times too much. The forward pass alone is asked for.",
    ffn="3 * (6 if gated else 4) * d * f",
    proj="24 * d * d",
    mix="12 * T * d",
)
_flops(
    "biases_and_activation_counted",
    "`ffn` has a little too much in it: biases, the activation and the product with the gate are not counted here, only the matrices.",
    ffn="(6 if gated else 4) * d * f + f + d",
)
_flops(
    "activation_counted",
    "`ffn` has a little too much in it: biases, the activation and the product with the gate are not counted here, only the matrices.",
    form_of="biases_and_activation_counted",
    ffn="(6 * d * f + 2 * f) if gated else (4 * d * f + f)",
)
_flops(
    "gating_product_counted",
    "`ffn` has a little too much in it: biases, the activation and the product with the gate are not counted here, only the matrices.",
    form_of="biases_and_activation_counted",
    ffn="6 * d * f + f if gated else 4 * d * f",
)
_flops(
    "biases_counted_everywhere",
    "`ffn` has a little too much in it: biases, the activation and the product with the gate are not counted here, only the matrices.",
    form_of="biases_and_activation_counted",
    ffn="6 * d * f + 2 * f + d if gated else 4 * d * f + f + d",
    proj="8 * d * d + 4 * d",
)
_flops(
    "softmax_counted",
    "`mix` has a little too much in it: the softmax over T scores is not counted here, only the two products.",
    mix="4 * T * d + 3 * T",
)
_flops(
    "last_addition_dropped",
    "A sum of n products is counted with n − 1 additions. That is exact, and not the convention: here every multiplication brings one addition.",
    ffn="2 * (2 * d - 1) * f + (2 * f - 1) * d if gated else (2 * d - 1) * f + (2 * f - 1) * d",
    proj="4 * (2 * d - 1) * d",
    mix="T * (2 * d - 1) + (2 * T - 1) * d",
)
_flops(
    "flops_float",
    "The numbers are right, but they are floats. These operations are counted: return ints.",
    ffn="(6.0 if gated else 4.0) * d * f",
    proj="8.0 * d * d",
    mix="4.0 * T * d",
)
_flops(
    "flops_as_tuple",
    "Three numbers come back without their names. Return a dict with the keys ffn, proj and mix.",
    result="return ffn, proj, mix",
)
_flops(
    "sum_alone",
    "One number comes back. The three parts were asked for, in a dict with the keys ffn, proj and mix.",
    result="return ffn + proj + mix",
)
_flops(
    "attention_in_one_entry",
    "Attention is one entry here. Its two parts were asked for apart, as `proj` and `mix`: only one of them grows with T.",
    result='return {"ffn": ffn, "attention": proj + mix}',
)

# cost_of_a_step

cost_of_a_step = Key(exercises.cost_of_a_step)


@cost_of_a_step.truth
def weight_by_weight(n, batch, size, flops, bandwidth):
    """What one weight does and what one weight weighs, in exact fractions, then n times that; `even` is found by halving an interval."""
    there = ["multiply", "add"]
    back = ["multiply", "add", "multiply", "add"]  # for the weight's own gradient, and for that of what came in
    rate, width, each = Fraction(flops), Fraction(bandwidth), Fraction(size)

    def computing(tokens):
        return n * tokens * len(there) / rate

    reading = n * each / width
    low, high = Fraction(0), Fraction(10**9)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if computing(middle) < reading else (low, middle)
    return {
        "flops": float(n * batch * len(there)),
        "training": float(n * batch * (len(there) + len(back))),
        "bytes": float(n * each),
        "seconds": float(computing(batch) if computing(batch) > reading else reading),
        "even": float(low),
    }


@cost_of_a_step.right("times first, then a comparison; `even` from the machine and the size alone")
def times_first(n, batch, size, flops, bandwidth):
    forward = n * batch * 2
    backward = 2 * forward
    load = size * n
    t_compute = forward / flops
    t_memory = load / bandwidth
    seconds = t_compute
    if t_memory > t_compute:
        seconds = t_memory
    return dict(
        flops=forward, training=forward + backward, bytes=load, seconds=seconds, even=size * flops / (2 * bandwidth)
    )


@cost_of_a_step.right("by arithmetic intensity, as in a roofline")
def by_intensity(n, batch, size, flops, bandwidth):
    cost = {"flops": 2.0 * n * batch, "bytes": float(n * size)}
    intensity = cost["flops"] / cost["bytes"]  # FLOPs per byte
    cost["seconds"] = cost["flops"] / min(flops, intensity * bandwidth)
    cost["training"] = 3 * cost["flops"]
    cost["even"] = (flops / bandwidth) / (2 / size)
    return cost


@cost_of_a_step.right("torch's numbers, in float64")
def in_tensors(n, batch, size, flops, bandwidth):
    work = torch.tensor([2, 6], dtype=torch.float64) * n * batch
    both = torch.stack([work[0] / flops, torch.tensor(n * size / bandwidth, dtype=torch.float64)])
    return {
        "flops": work[0],
        "training": work[1],
        "bytes": torch.tensor(n * size, dtype=torch.float64),
        "seconds": both.max(),
        "even": both[1] / both[0] * batch,
        "bound": "memory" if both.argmax() else "compute",
    }


STEP_SOURCE = """def cost_of_a_step(n, batch, size, flops, bandwidth):
    work = {flops}
    load = {bytes}
    return {{
        "flops": work,
        "training": {training},
        "bytes": load,
        "seconds": {seconds},
        "even": {even},
    }}
"""
STEP = {
    "flops": "2 * n * batch",
    "bytes": "n * size",
    "training": "3 * work",
    "seconds": "max(work / flops, load / bandwidth)",
    "even": "size * flops / bandwidth / 2",
}


def _step(name, message="", form_of="", **wrong):
    """A mistake in one of the numbers, and in what is made of it."""
    cost_of_a_step.typed("mistake", name, message, STEP_SOURCE.format(**STEP | wrong), form_of)


_step(
    "one_operation_per_weight",
    "A weight is counted with one operation per token. It is multiplied, and the product is added: two.",
    flops="n * batch",
    even="size * flops / bandwidth",
)
_step("one_operation_the_rest_right", form_of="one_operation_per_weight", flops="n * batch")
_step(
    "operations_of_one_token",
    "The operations do not depend on the batch. Every person's token meets every weight: two people, twice the work.",
    flops="2 * n",
)
_step(
    "read_anew_for_everybody",
    "The weights are read anew for everybody. They are read once per step, and then serve all tokens of the batch: that is what a batch is good for.",
    bytes="n * size * batch",
)
_step(
    "parameters_for_bytes",
    "The number of parameters is taken for the number of bytes. Each has `size` bytes.",
    bytes="n",
)
_step("bits_for_bytes", "These are bits. `size` is given in bytes, and bytes are asked for.", bytes="8 * n * size")
_step(
    "divided_by_size",
    "The number of parameters is divided by their size. The larger each is, the more bytes they are.",
    bytes="n / size",
)
_step(
    "training_four",
    "Training is counted with 4 operations per parameter and token. That is the way back alone; or it is there and back, the way back counted like "
    "the way there. "
    "The way back has two products for each one there: one for the gradient of the weight, one for that of what came in. And training goes both ways.",
    training="2 * work",
)
_step(
    "training_as_the_way_there",
    "Training is counted like running. The way back comes on top of it.",
    training="work",
)
_step(
    "training_of_one_token",
    "Training does not depend on the batch here. Each token costs as much again.",
    training="6 * n",
)
_step(
    "seconds_added_up",
    "The two times are added. Reading and computing go on at the same time, so one waits for the slower of the two only.",
    seconds="work / flops + load / bandwidth",
)
_step(
    "the_faster_one",
    "The faster of the two decides here. One waits for the slower one.",
    seconds="min(work / flops, load / bandwidth)",
)
_step(
    "computing_alone",
    "Only computing takes time here. With few tokens the arithmetic is done long before all weights have been read.",
    seconds="work / flops",
)
_step(
    "reading_alone",
    "Only reading takes time here. With many tokens the arithmetic takes longer than reading the weights once.",
    seconds="load / bandwidth",
)
_step(
    "seconds_per_token",
    "These are seconds per token: the time of the step is divided by the batch. Asked for is the step, in which everybody gets one token.",
    seconds="max(work / flops, load / bandwidth) / batch",
)
_step(
    "rate_over_work",
    "Operations per second are divided by operations: that is steps per second. Seconds are the other way round.",
    seconds="max(flops / work, bandwidth / load)",
)
_step("steps_per_second", form_of="rate_over_work", seconds="min(flops / work, bandwidth / load)")
_step(
    "even_twice_too_large",
    "`even` is twice too large: each weight needs two operations per token.",
    even="size * flops / bandwidth",
)
_step(
    "even_without_size",
    "`even` does not know how large a parameter is. The more bytes each has, the longer reading takes, and the more tokens are needed.",
    even="flops / bandwidth / 2",
)
_step(
    "even_upside_down",
    "`even` is upside down. The faster a machine computes, the **more** tokens it takes until computing is what one waits for.",
    even="2 * bandwidth / (size * flops)",
)
_step(
    "even_rounded",
    "`even` is rounded to a whole number. It is where two lines meet, and need not be whole.",
    even="round(size * flops / bandwidth / 2)",
)
_step("even_rounded_down", form_of="even_rounded", even="size * flops // (2 * bandwidth)")
_step("even_rounded_up", form_of="even_rounded", even="math.ceil(size * flops / bandwidth / 2)")


@cost_of_a_step.mistake(
    "The numbers come back as a tuple. A dict is asked for, so that each has its name: flops, training, bytes, seconds, even."
)
def step_as_a_tuple(n, batch, size, flops, bandwidth):
    work, load = 2 * n * batch, n * size
    return work, 3 * work, load, max(work / flops, load / bandwidth), size * flops / bandwidth / 2


# Questions

quiz_count = question(
    exercises.quiz_count,
    right="B",
    wrong={
        "A": "Two matrices of 256 · 1024 are 524,288. The log says 1,280 more; which arrays have so many numbers?",
        "C": "With b1 alone it would be 524,288 + 1,024 = 525,312. The log says 256 more.",
    },
)

quiz_decoder = question(
    exercises.quiz_decoder,
    right="A",
    wrong={
        "B": "That is an encoder block: 12·d² of 16·d². A decoder block of an encoder-decoder has a second attention, across to the encoder.",
        "C": "That is so for a plain FFN, 8·d² of 16·d². The gate brings a third matrix: count the FFN again.",
    },
)

quiz_mixtral = question(
    exercises.quiz_mixtral,
    right="C",
    wrong={
        "A": "That is 4 · 10. But only the FFN is there four times: the experts share attention, norms and embeddings.",
        "B": "That is what one token uses: two of the four experts, and all the rest. The question is how many there are.",
    },
)
