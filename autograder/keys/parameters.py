"""The marking guide of notebook 05, Where the parameters live.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch and nn.
"""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import parameters as exercises

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


count_ffn.slip(
    "gate_always_has_a_bias",
    "The gate brings its bias along even with bias=False. Without biases a gated FFN is three matrices and nothing else.",
    of=gate_bias_of_length_d,
    replace={"(d if bias else 0)": "f"},
)


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


count_ffn.slip(
    "width_shrunk_when_gated",
    "f is shrunk to two thirds when gated. Models do choose a smaller f then, but here f is the width that the FFN really has.",
    of=gated_never_has_biases,
    replace={"return 3 * d * f": ("f = int(2 * f / 3)\nreturn 3 * d * f + (2 * f + d if bias else 0)")},
)


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


@audit_published.base
def plain_audit_published(d, f, printed):
    correct = 2 * d * f + f + d
    off_by = printed - correct
    attention, ffn = 4 * d * d, correct
    attention_share = attention / (attention + ffn)
    ffn_share = ffn / (attention + ffn)
    return {
        "correct": correct,
        "off_by": off_by,
        "attention_share": attention_share,
        "ffn_share": ffn_share,
    }


audit_published.slip(
    "audit_without_biases",
    "The biases are missing from `correct`, and so from what follows: 2·d·f is the two matrices alone. The FFN has b1 and b2.",
    replace={" + f + d": ""},
)
audit_published.slip(
    "half_of_what_was_published",
    "`correct` is half of what the page printed. On one page twice is nearly what went wrong, but not quite, and another page has another slip: count the "
    "two matrices and the two biases yourself.",
    replace={"2 * d * f + f + d": "printed // 2"},
)
audit_published.slip(
    "printed_is_believed",
    "`correct` is what the page printed. It is what should be checked: count the two matrices and the two biases yourself.",
    replace={"2 * d * f + f + d": "printed"},
)
audit_published.slip(
    "sizes_of_the_table",
    "The numbers are those of the table above, whatever d, f and `printed` are. Compute with the arguments.",
    replace={"2 * d * f + f + d": "2_099_712", "printed - correct": "4_197_376 - correct", "4 * d * d": "1_048_576"},
)
audit_published.slip(
    "b1_missing_in_the_audit",
    "`correct` has one bias where the FFN has two: b1, one number for each hidden neuron, and b2, one for each number that comes out.",
    replace={" + f + d": " + d"},
)
audit_published.slip("b2_missing_in_the_audit", replace={" + d": ""}, form_of="b1_missing_in_the_audit")
audit_published.slip(
    "correct_count_of_the_block",
    "`correct` asks for the FFN alone. Yours is FFN and attention together, which is the denominator of the shares.",
    replace={" + d": " + d + 4 * d * d", " * d, correct": " * d, 2 * d * f + f + d"},
)
audit_published.slip(
    "off_by_turned_round",
    "`off_by` has the wrong sign: it is what was printed minus what is right, so a page that counted too much is off by a positive number.",
    replace={"printed - correct": "correct - printed"},
)
audit_published.slip(
    "off_by_without_its_sign",
    "`off_by` has lost its sign. A page that counted too little is off by a negative number.",
    replace={"printed - correct": "abs(printed - correct)"},
)
audit_published.slip(
    "off_by_as_a_factor",
    "`off_by` is a ratio. A difference was asked for: what was printed minus what is right.",
    replace={" - correct": " / correct"},
)
audit_published.slip(
    "off_by_against_the_block",
    "`off_by` compares the printed count of the FFN with FFN and attention together. Compare like with like.",
    replace={" - correct": " - (correct + 4 * d * d)"},
)
audit_published.slip(
    "shares_from_the_published_count",
    "The shares are computed with the page's count of the FFN. Put the correct one into the fraction.",
    replace={" * d, correct": " * d, printed"},
)
audit_published.slip(
    "shares_of_the_published_total",
    "The shares are divided by the page's total, which has its wrong count in it, and so they don't add up to 1. Divide by attention and your correct FFN "
    "together.",
    replace={
        "attention / (attention + ffn)": "attention / (attention + printed)",
        "ffn / (attention + ffn)": "ffn / (attention + printed)",
    },
)
audit_published.slip(
    "shares_in_float32",
    "The shares have seven digits, not nine: torch computes in float32 unless told otherwise. Divide with Python's own numbers, or use dtype=torch.float64.",
    replace={
        "attention / (attention + ffn)": "torch.tensor(float(attention)) / torch.tensor(float(attention + ffn))",
        "ffn / (attention + ffn)": "torch.tensor(float(ffn)) / torch.tensor(float(attention + ffn))",
    },
)
audit_published.slip(
    "shares_by_whole_division",
    "`//` throws away what comes after the point, and a share is smaller than 1. Use `/`.",
    replace={
        "attention / (attention + ffn)": "attention // (attention + ffn)",
        "ffn / (attention + ffn)": "ffn // (attention + ffn)",
    },
)
audit_published.slip(
    "exact_thirds",
    "The shares are one third and two thirds, whatever d and f are. They follow from the two counts: divide.",
    replace={"attention / (attention + ffn)": "1 / 3", "ffn / (attention + ffn)": "2 / 3"},
)
audit_published.slip(
    "shares_of_matrices_alone",
    "The shares leave the FFN's biases out. With them the FFN has a little more.",
    replace={" * d, correct": " * d, 2 * d * f"},
)
audit_published.slip(
    "rounded_shares",
    "The shares are rounded. Let Python divide the two counts and hand back what comes out.",
    replace={
        "attention / (attention + ffn)": "round(attention / (attention + ffn), 3)",
        "ffn / (attention + ffn)": "round(ffn / (attention + ffn), 3)",
    },
)
audit_published.slip(
    "four_digits",
    replace={
        "attention / (attention + ffn)": "round(attention / (attention + ffn), 4)",
        "ffn / (attention + ffn)": "round(ffn / (attention + ffn), 4)",
    },
    form_of="rounded_shares",
)
audit_published.slip(
    "shares_in_percent",
    "The shares are percentages. A share of the whole is a number from 0 to 1.",
    replace={
        "attention / (attention + ffn)": "100 * attention / (attention + ffn)",
        "ffn / (attention + ffn)": "100 * ffn / (attention + ffn)",
    },
)
audit_published.slip(
    "shares_swapped",
    "The two shares are swapped: `ffn_share` is the FFN's part of the whole.",
    of="shares_in_percent",
    replace={"100 * attention": "ffn", "100 * ffn": "attention"},
)
audit_published.slip(
    "attention_with_biases",
    "Attention is counted with biases. The page's attention has none: four matrices [d, d].",
    replace={" * d,": " * d + 4 * d,"},
)
audit_published.slip(
    "three_matrices_of_attention",
    "Attention has four matrices, not three: the output matrix belongs to queries, keys and values.",
    replace={"4 * d": "3 * d"},
)
audit_published.slip(
    "ratio_to_attention",
    "These are ratios of one part to the other. A share is a part of the whole: divide by attention and FFN together.",
    replace={"attention / (attention + ffn)": "attention / ffn", "ffn / (attention + ffn)": "ffn / attention"},
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


FOUR_SQUARES = "This is 4·d², the special case. It holds only while n_kv = n_heads and head_dim = d / n_heads; the arguments say otherwise."


@count_attention.base
def plain_count_attention(d, n_heads, n_kv=None, head_dim=None, bias=False):
    n_kv = n_heads if n_kv is None else n_kv
    head_dim = d // n_heads if head_dim is None else head_dim
    weights = 2 * d * n_heads * head_dim + 2 * d * n_kv * head_dim
    biases = n_heads * head_dim + 2 * n_kv * head_dim + d
    return weights + biases if bias else weights


count_attention.slip(
    "always_four_squares", FOUR_SQUARES, replace={"weights = …": "weights = 4 * d * d", "biases = …": "biases = 4 * d"}
)
count_attention.slip(
    "shared_keys_ignored",
    "Keys and values are as wide as the queries, whatever n_kv says. With n_kv heads they put out n_kv · head_dim numbers each.",
    replace={" if n_kv is None else n_kv": ""},
)
count_attention.slip(
    "head_dim_ignored",
    "head_dim is always d // n_heads. When it is handed in, the heads have that width: in many models n_heads · head_dim is not d.",
    replace={" if head_dim is None else head_dim": ""},
)
count_attention.slip(
    "head_dim_from_the_shared_heads",
    "Without head_dim, a head's width is taken from n_kv. It is d // n_heads: sharing keys and values does not widen them.",
    replace={"d // n_heads": "d // n_kv"},
)
count_attention.slip(
    "output_matrix_missing",
    "The output matrix is missing. After the heads are put side by side, a fourth matrix leads back to d numbers.",
    replace={"2 * d * n_heads": "d * n_heads", " + d": ""},
)
count_attention.slip(
    "output_matrix_is_square",
    "The output matrix is counted as d · d. It reads all heads side by side, n_heads · head_dim numbers, which need not be d.",
    replace={"weights = …": "weights = d * n_heads * head_dim + 2 * d * n_kv * head_dim + d * d"},
)
count_attention.slip(
    "query_matrix_is_square",
    "Queries and output are counted as d · d. Both are as wide as all query heads together, n_heads · head_dim, which need not be d.",
    replace={" * n_heads * head_dim": " * d", "biases = …": "biases = 2 * d + 2 * n_kv * head_dim"},
)
count_attention.slip(
    "keys_without_values",
    "Keys and values are counted as one matrix. They are two, of the same size.",
    replace={" + 2 * d": " + d", "2 * n_kv": "n_kv"},
)
count_attention.slip(
    "everything_shared",
    "Queries and output shrink with n_kv as well. Only keys and values are shared; every head keeps a query of its own.",
    replace={
        "weights = …": "weights = 4 * d * n_kv * head_dim",
        "n_heads * head_dim + 2 * n_kv * head_dim": "3 * n_kv * head_dim",
    },
)
count_attention.slip(
    "one_head_only",
    "This is one head. Each matrix holds all of them: n_heads · head_dim columns for the queries.",
    replace={"weights = …": "weights = 4 * d * head_dim", "n_heads * head_dim + 2 * n_kv * head_dim": "3 * head_dim"},
)
count_attention.slip(
    "times_n_heads",
    "The count is multiplied by n_heads. The heads divide the matrices among them: more heads of the same total width cost nothing.",
    replace={
        "weights = …": "weights = n_heads * (2 * d * n_heads * head_dim + 2 * d * n_kv * head_dim)",
        " * head_dim + 2 * n_kv * head_dim + d": " * (n_heads * head_dim + 2 * n_kv * head_dim + d)",
    },
)
count_attention.slip(
    "none_means_one_shared_head",
    "Without n_kv, keys and values get a single head. None means the default: as many heads of keys and values as query heads.",
    replace={"n_heads if n_kv is None else n_kv": "1 if n_kv is None else n_kv"},
)
count_attention.slip(
    "none_means_heads_as_wide_as_the_model",
    "Without head_dim, each head is as wide as the whole model. The heads divide the d numbers among them: the usual width is d // n_heads.",
    replace={"head_dim = …": "head_dim = d if head_dim is None else head_dim"},
)
count_attention.slip(
    "n_kv_taken_for_groups",
    "Keys and values get n_heads // n_kv heads. That is how many query heads share one; n_kv itself is the number of heads of keys and values.",
    replace={"2 * d * n_kv": "2 * d * (n_heads // n_kv)", "2 * n_kv": "2 * (n_heads // n_kv)"},
)
count_attention.slip(
    "one_of_keys_and_values_shared",
    "Only one of keys and values shrinks with n_kv. Both have n_kv heads.",
    of="everything_shared",
    replace={"4 * d": "3 * d * n_heads * head_dim + d", "3 * n_kv": "2 * n_heads * head_dim + n_kv"},
)
count_attention.slip(
    "output_reads_the_shared_heads",
    "The output matrix is as narrow as keys and values here. It reads what the query heads found: n_heads · head_dim numbers.",
    replace={"weights = …": "weights = d * n_heads * head_dim + 3 * d * n_kv * head_dim"},
)
count_attention.slip(
    "output_reads_one_head",
    "The output matrix reads a single head here. All heads are put side by side first, n_heads · head_dim numbers.",
    of="output_matrix_is_square",
    replace={"d * d": "d * head_dim"},
)
count_attention.slip(
    "sharing_forgotten_with_head_dim",
    "Where head_dim is given, n_kv is not looked at any more. The two are independent of each other.",
    replace={
        "n_kv = n_heads if n_kv is None else n_kv": "if head_dim is not None or n_kv is None:\n    n_kv = n_heads"
    },
)
count_attention.slip(
    "one_bias_for_keys_and_values",
    "Keys and values have one bias between them here. They are two matrices, and each has its own.",
    replace={"2 * n_kv": "n_kv"},
)
count_attention.slip(
    "output_bias_alone",
    "Only the output matrix has a bias here. With bias=True queries, keys and values have one each as well.",
    replace={"biases = …": "biases = d"},
)
count_attention.slip(
    "biases_of_one_head",
    "The biases of queries, keys and values are as long as one head. They are as long as what the matrix puts out: all of its heads.",
    replace={"n_heads * head_dim + 2 * n_kv * head_dim": "3 * head_dim"},
)
count_attention.slip(
    "attention_all_or_nothing",
    "Without biases nothing is left, 0. Python reads `weights + biases if bias else 0` as `(weights + biases) if bias else 0`: put parentheses around "
    "the part that depends on `bias`.",
    replace={" if bias else weights": " if bias else 0"},
)
count_attention.slip(
    "output_bias_missing",
    "The bias of the output matrix is missing: d numbers. (Some models have biases for queries, keys and values only; here `bias` means all four.)",
    replace={" + d": ""},
)
count_attention.slip(
    "output_bias_as_wide_as_the_heads",
    "The bias of the output matrix has d entries, one per number it puts out. n_heads · head_dim is what it reads.",
    replace={"biases = …": "biases = 2 * n_heads * head_dim + 2 * n_kv * head_dim"},
)
count_attention.slip(
    "biases_of_four_squares",
    "The biases are counted as 4·d. Those of queries, keys and values are as long as what these matrices put out.",
    replace={"biases = …": "biases = 4 * d"},
)
count_attention.slip(
    "biases_not_shared",
    "The biases of keys and values are counted as if every head had its own. They are n_kv · head_dim long.",
    replace={"n_heads * head_dim + 2 * n_kv * head_dim": "3 * n_heads * head_dim"},
)
count_attention.slip(
    "attention_bias_ignored",
    "`bias` changes nothing. With bias=True each of the four matrices has one.",
    replace={"biases = …": "biases = 0"},
)
count_attention.slip(
    "attention_bias_always",
    "The biases always count. The default is bias=False: then only the four matrices are learned.",
    replace={" if bias else weights": ""},
)
count_attention.slip(
    "attention_float",
    "The number is right, but a float came back: `/` gives floats. Use `//` for d divided by n_heads.",
    replace={
        "d // n_heads": "d / n_heads",
        "weights + biases if bias else weights": "float(weights + biases) if bias else float(weights)",
    },
)
count_attention.slip(
    "float_where_head_dim_is_missing", replace={"d // n_heads": "d / n_heads"}, form_of="attention_float"
)
count_attention.slip(
    "none_not_settled",
    "n_kv or head_dim is None when it is not given, and one can't calculate with None. Replace both by their usual values first.",
    replace={"n_kv = n_heads if n_kv is None else n_kv\nhead_dim = …": "pass"},
)
count_attention.slip("only_n_kv_settled", replace={"head_dim = …": ""}, form_of="none_not_settled")
count_attention.slip(
    "settled_only_where_both_are_none",
    of="none_not_settled",
    replace={"pass": ("if n_kv is None and head_dim is None:\n    n_kv, head_dim = n_heads, d // n_heads")},
    form_of="none_not_settled",
)
count_attention.slip(
    "attention_no_return",
    NO_RETURN,
    replace={"return weights + biases if bias else weights": "print(weights + biases)"},
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
    "always_a_decoder",
    "Every block is counted with two attentions. An encoder block, which is what `block` says by default, has one.",
    replace={'2 if block == "decoder" else 1': "2"},
)
layer_share.slip(
    "blocks_turned_round",
    "The two kinds of block are mixed up: the decoder block has two attentions, the encoder block one.",
    replace={'2 if block == "decoder" else 1': '1 if block == "decoder" else 2'},
)
layer_share.slip(
    "three_attentions",
    "The decoder block is counted with three attentions. Its own and the one across make two.",
    replace={'2 if block == "decoder" else 1': '3 if block == "decoder" else 1'},
)
layer_share.slip(
    "decoder_by_default",
    "Without the argument, `block` is taken as a decoder's. The default in the signature is “encoder”.",
    replace={'"encoder"': '"decoder"', '2 if block == "decoder" else 1': '1 if block == "encoder" else 2'},
)
layer_share.slip(
    "decoder_doubles_the_ffn",
    "The decoder block is counted with two FFNs. It has a second attention; there is one FFN, after both.",
    replace={
        'attention = attention * (2 if block == "decoder" else 1)': (
            'attention = attention * (1)\nif block == "decoder":\n    ffn = 2 * ffn'
        )
    },
)
layer_share.slip(
    "decoder_doubles_all",
    of="decoder_doubles_the_ffn",
    replace={"ffn = 2 * ffn": "ffn, attention = 2 * ffn, 2 * attention"},
    form_of="one_attention_in_the_decoder",
)
layer_share.slip(
    "norms_included",
    "The norms are in the denominator. The share asked for is of FFN and attention alone.",
    replace={
        "return ffn / (ffn + attention)": (
            'norms = 3 if block == "decoder" else 2\nreturn ffn / (ffn + attention + norms * 2 * d)'
        )
    },
)
layer_share.slip("rms_norms_included", of="norms_included", replace={" * 2 * d": " * d"}, form_of="norms_included")
layer_share.slip("two_norms_included", replace={" + attention": " + attention + 2 * 2 * d"}, form_of="norms_included")
layer_share.slip(
    "percent",
    "This is a percentage. A share of the whole is a number from 0 to 1.",
    replace={"ffn / (ffn + attention)": "100 * ffn / (ffn + attention)"},
)
layer_share.slip(
    "rounded",
    "The share is rounded. Hand back what the division gives; rounding is for printing.",
    replace={"ffn / (ffn + attention)": "round(ffn / (ffn + attention), 3)"},
)
layer_share.slip(
    "share_of_attention",
    "This is attention's share. The FFN's is asked for: FFN over FFN and attention.",
    replace={"ffn / (ffn + attention)": "attention / (ffn + attention)"},
)
layer_share.slip(
    "ratio",
    "This is the ratio of FFN to attention. A share is a part of the whole: the denominator is both together.",
    replace={"(ffn + attention)": "attention"},
)
layer_share.slip(
    "sum_without_parentheses",
    "Python divides before it adds: `ffn / ffn + attention` is 1 + attention. Put the sum in parentheses.",
    replace={"(ffn + attention)": "ffn + attention"},
)
layer_share.slip(
    "whole_division",
    "`//` throws away what comes after the point, and a share is smaller than 1. Use `/`.",
    replace={" / (ffn + attention)": " // (ffn + attention)"},
)
layer_share.slip(
    "two_thirds_by_heart",
    "This is the rule of thumb, whatever the cfg says. Compute it from the sizes in the cfg.",
    replace={"ffn / (ffn + attention)": '1 / 2 if block == "decoder" else 2 / 3'},
)
layer_share.slip(
    "biases_by_default",
    "There are biases in your count although the cfg does not ask for any. `count_ffn` has them by default: hand it `bias=cfg.get('bias', False)`.",
    replace={
        'cfg.get("bias", False)': "True",
        "((H + 2 * KV) * h + d) if bias else 0": "((H + 2 * KV) * h + d) if cfg.get('bias') else 0",
    },
)
layer_share.slip(
    "biases_by_default_in_both",
    "There are biases in both counts although the cfg does not ask for any: its `bias` is False where it is missing.",
    replace={'.get("bias", False)': '.get("bias", True)'},
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
layer_share.slip(
    "bias_and_gated_swapped",
    "`bias` and `gated` have changed places in the FFN. Hand them over by name: `count_ffn(d, f, bias=…, gated=…)`.",
    replace={"ffn = …": "ffn = (3 if bias else 2) * d * f + (((2 if bias else 1) * f + d) if gated else 0)"},
)
layer_share.slip(
    "n_kv_and_head_dim_swapped",
    "`n_kv` and `head_dim` have changed places. Hand them over by name: `count_attention(d, n_heads, n_kv=…, head_dim=…)`.",
    replace={'.get("n_kv") or H, cfg.get("head_dim")': '.get("head_dim") or H, cfg.get("n_kv")'},
)
layer_share.slip(
    "biases_left_out",
    "The cfg's `bias` is not looked at. Where it is True, both the FFN and the attention have biases.",
    replace={'cfg.get("bias", False)': "False"},
)
layer_share.slip(
    "biases_in_the_ffn_alone",
    "Where the cfg says bias=True, attention has biases too, one for each of its four matrices.",
    replace={" + (((H + 2 * KV) * h + d) if bias else 0)": ""},
)
layer_share.slip(
    "gate_left_out",
    "The cfg's `gated` is not looked at. A gated FFN has three matrices.",
    replace={'cfg.get("gated", False)': "False"},
)
layer_share.slip(
    "groups_left_out",
    "The cfg's `n_kv` is not looked at: keys and values are shared by several heads where it is smaller than n_heads.",
    replace={'cfg.get("n_kv") or H': "H"},
)
layer_share.slip(
    "head_dim_left_out",
    "The cfg's `head_dim` is not looked at: where it is given, the heads have that width instead of d_model / n_heads.",
    replace={'cfg.get("head_dim") or d // H': "d // H"},
)
layer_share.slip(
    "groups_and_head_dim_left_out",
    "Attention is counted as 4·d² here. The cfg may have `n_kv` and `head_dim`, and `count_attention` takes both.",
    replace={"KV, h = …": "KV, h = H, d // H"},
)
layer_share.slip(
    "keys_taken_for_granted",
    "Most keys of the cfg may be missing, and `cfg[...]` raises KeyError then. `cfg.get(key)` gives None, `cfg.get(key, False)` gives False.",
    replace={
        "KV, h = …": 'KV, h = cfg["n_kv"], cfg["head_dim"]',
        'cfg.get("bias", False), cfg.get("gated", False)': 'cfg["bias"], cfg["gated"]',
    },
)
layer_share.slip(
    "none_taken_for_a_number",
    "A key may be there and hold None, which means the default: then `cfg.get(key, default)` gives None too. `cfg.get(key) or default` covers both.",
    replace={"KV, h = …": 'KV, h = cfg.get("n_kv", H), cfg.get("head_dim", d // H)'},
)
layer_share.slip(
    "gate_seen_with_groups_only",
    "`gated` is looked at only where the cfg has `n_kv` too. The two are independent of each other: any key may be there without the others.",
    replace={'.get("gated", False)': '.get("gated", False) and cfg.get("n_kv") is not None'},
)
layer_share.slip(
    "bias_seen_with_gate_only",
    "`bias` is looked at only where the FFN is gated. The two are independent of each other: any key may be there without the others.",
    replace={'.get("bias", False)': '.get("bias", False) and cfg.get("gated", False)'},
)
layer_share.slip(
    "groups_seen_with_head_dim_only",
    "`n_kv` is looked at only where the cfg has `head_dim` too. The two are independent of each other: any key may be there without the others.",
    replace={'cfg.get("n_kv")': '(cfg.get("n_kv") if cfg.get("head_dim") else None)'},
)
layer_share.slip(
    "head_dim_seen_with_groups_only",
    "`head_dim` is looked at only where the cfg has `n_kv` too. The two are independent of each other: any key may be there without the others.",
    replace={'cfg.get("head_dim")': '(cfg.get("head_dim") if cfg.get("n_kv") else None)'},
)
layer_share.slip(
    "options_of_the_encoder_alone",
    "In a decoder block only d_model, d_ff and n_heads are looked at. All keys mean the same in both kinds of block.",
    replace={
        "return ffn / (ffn + attention)": (
            'if block == "decoder":\n    ffn, attention = 2 * d * f, 2 * 4 * d * d\nreturn ffn / (ffn + attention)'
        )
    },
)
layer_share.slip(
    "share_no_return", NO_RETURN, replace={"return ffn / (ffn + attention)": "print(ffn / (ffn + attention))"}
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


layer_share.slip(
    "keys_taken_for_granted_or_none",
    of="keys_taken_for_granted",
    replace={'cfg["n_kv"], cfg["head_dim"]': 'cfg["n_kv"] or H, cfg["head_dim"] or d // H'},
    form_of="keys_taken_for_granted",
)
layer_share.slip(
    "biases_of_the_ffn_swapped",
    "In the FFN's biases d and f have changed places. A bias is as long as what its matrix puts out: d_ff on the way in, d_model on the way out. If you "
    "have a function for it, look at the order in which it takes the two.",
    replace={" * f + d": " * d + f"},
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


@flops_per_token.base
def plain_flops_per_token(d, f, T, gated=False):
    ffn = (6 if gated else 4) * d * f
    proj = 8 * d * d
    mix = 4 * T * d
    return {"ffn": ffn, "proj": proj, "mix": mix}


flops_per_token.slip(
    "one_per_multiply_add",
    "A multiplication and the addition that follows are counted as one, which gives half of what is asked for. Here they are two operations.",
    replace={"6 if gated else 4": "3 if gated else 2", "8 * d": "4 * d", "4 * T": "2 * T"},
)
flops_per_token.slip(
    "mix_without_T",
    "`mix` does not depend on T. A token looks at T positions, and each costs its share.",
    replace={"4 * T * d": "4 * d"},
)
flops_per_token.slip(
    "mix_of_the_whole_sequence",
    "`mix` grows with T squared: that is the whole sequence. One of its T tokens is asked for.",
    replace={"4 * T * d": "4 * T * T * d"},
)
flops_per_token.slip(
    "all_of_the_whole_sequence",
    "This is the cost of the whole sequence, T times too much. One of its T tokens is asked for.",
    replace={"(6 if gated else 4)": "T * (6 if gated else 4)", "8 * d": "T * 8 * d", "4 * T * d": "4 * T * T * d"},
)
flops_per_token.slip(
    "scores_alone",
    "`mix` is half of what it should be. Both parts count, the scores and the weighted sum of the values, and all T positions do: none is left out for a "
    "causal mask.",
    replace={"4 * T": "2 * T"},
)
flops_per_token.slip(
    "causal_average",
    "`mix` is the average over a causal text, in which a token looks at half of the positions. Here T is the number of positions that it does look at.",
    replace={"4 * T": "2 * (T + 1)"},
)
flops_per_token.slip(
    "itself_left_out",
    "`mix` is counted for T − 1 positions. T has the token itself in it: its query meets its own key, too.",
    replace={"4 * T": "4 * (T - 1)"},
)
flops_per_token.slip(
    "mix_with_matrices",
    "`mix` has d squared in it. There are no matrices [d, d] in mixing: a score is one query times one key, d products.",
    replace={"4 * T * d": "4 * T * d * d"},
)
flops_per_token.slip(
    "mix_with_f",
    "`mix` has the FFN's width in it. Scores and weighted sum work on vectors of d numbers.",
    replace={"4 * T * d": "4 * T * f"},
)
flops_per_token.slip(
    "gate_costs_nothing",
    "The gated FFN costs as much as the plain one here. Its third matrix has to be multiplied as well.",
    replace={"(6 if gated else 4)": "4"},
)
flops_per_token.slip(
    "always_gated",
    "The plain FFN is counted with three matrices. Only a gated one has a third.",
    replace={"(6 if gated else 4)": "6"},
)
flops_per_token.slip(
    "gate_doubles_the_ffn",
    "The gated FFN is counted with four matrices. Gate and up lead in, and one matrix leads out: three.",
    replace={"6 if gated else 4": "8 if gated else 4"},
)
flops_per_token.slip(
    "ffn_counted_twice",
    "`ffn` is twice as large as it should be. Two matrices of d·f weights, two operations for each weight.",
    replace={"6 if gated else 4": "12 if gated else 8"},
)
flops_per_token.slip(
    "ffn_halved",
    "`ffn` is half of what it should be: this is the number of its weights. Each costs a multiplication and an addition.",
    replace={"6 if gated else 4": "3 if gated else 2"},
)
flops_per_token.slip(
    "proj_halved",
    "`proj` is half of what it should be. There are four matrices of d·d weights, and each weight costs a multiplication and an addition.",
    replace={"8 * d": "4 * d"},
)
flops_per_token.slip(
    "one_projection",
    "`proj` is one matrix. Queries, keys, values and output have one each.",
    replace={"8 * d": "2 * d"},
)
flops_per_token.slip(
    "ffn_with_T",
    "`ffn` grows with T. The FFN sees one token at a time, so one token costs the same in any text.",
    replace={"(6 if gated else 4)": "T * (6 if gated else 4)"},
)
flops_per_token.slip(
    "keys_of_all_tokens",
    "Keys and values of all T tokens are counted in `proj`. Each token makes one key and one value, its own; the others' are counted with the others.",
    replace={"8 * d": "4 * d * d + T * 4 * d"},
)
flops_per_token.slip(
    "flops_gated_by_default",
    "Without the argument, `gated` is taken as True. The default in the signature is False.",
    replace={"False": "True"},
)
flops_per_token.slip(
    "one_ffn_matrix",
    "`ffn` has one matrix too few: the way into the hidden layer and the way out both cost.",
    replace={"6 if gated else 4": "4 if gated else 2"},
)
flops_per_token.slip(
    "f_taken_as_4d",
    "`ffn` is computed as if f were 4·d, which gives 16·d². f is an argument.",
    replace={"(6 if gated else 4) * d * f": "(24 if gated else 16) * d * d"},
)
flops_per_token.slip(
    "three_projections",
    "`proj` has three matrices: the output matrix is a projection too, the fourth.",
    replace={"8 * d": "6 * d"},
)
flops_per_token.slip(
    "proj_with_T",
    "`proj` grows with T. One token goes through the four matrices once, however long the sequence is.",
    replace={"8 * d": "8 * T * d"},
)
flops_per_token.slip(
    "training_instead_of_forward",
    "This is about what training costs, forward and backward, three times too much. The forward pass alone is asked for.",
    replace={"(6 if gated else 4)": "3 * (6 if gated else 4)", "8 * d": "24 * d", "4 * T": "12 * T"},
)
flops_per_token.slip(
    "biases_and_activation_counted",
    "`ffn` has a little too much in it: biases, the activation and the product with the gate are not counted here, only the matrices.",
    replace={" * f": " * f + f + d"},
)
flops_per_token.slip(
    "activation_counted",
    replace={"(6 if gated else 4) * d * f": "(6 * d * f + 2 * f) if gated else (4 * d * f + f)"},
    form_of="biases_and_activation_counted",
)
flops_per_token.slip(
    "gating_product_counted",
    replace={"(6 if gated else 4)": "6 * d * f + f if gated else 4"},
    form_of="biases_and_activation_counted",
)
flops_per_token.slip(
    "biases_counted_everywhere",
    replace={
        "(6 if gated else 4) * d * f": "6 * d * f + 2 * f + d if gated else 4 * d * f + f + d",
        "8 * d * d": "8 * d * d + 4 * d",
    },
    form_of="biases_and_activation_counted",
)
flops_per_token.slip(
    "softmax_counted",
    "`mix` has a little too much in it: the softmax over T scores is not counted here, only the two products.",
    replace={"4 * T * d": "4 * T * d + 3 * T"},
)
flops_per_token.slip(
    "last_addition_dropped",
    "A sum of n products is counted with n − 1 additions. That is exact, and not the convention: here every multiplication brings one addition.",
    replace={
        "(6 if gated else 4) * d * f": "2 * (2 * d - 1) * f + (2 * f - 1) * d if gated else (2 * d - 1) * f + (2 * f - 1) * d",
        "8 * d": "4 * (2 * d - 1)",
        "4 * T": "T * (2 * d - 1) + (2 * T - 1)",
    },
)
flops_per_token.slip(
    "flops_float",
    "The numbers are right, but they are floats. These operations are counted: return ints.",
    replace={"6 if gated else 4": "6.0 if gated else 4.0", "8 * d": "8.0 * d", "4 * T": "4.0 * T"},
)
flops_per_token.slip(
    "flops_as_tuple",
    "Three numbers come back without their names. Return a dict with the keys ffn, proj and mix.",
    replace={'return {"ffn": ffn, "proj": proj, "mix": mix}': "return ffn, proj, mix"},
)
flops_per_token.slip(
    "sum_alone",
    "One number comes back. The three parts were asked for, in a dict with the keys ffn, proj and mix.",
    replace={'{"ffn": ffn, "proj": proj, "mix": mix}': "ffn + proj + mix"},
)
flops_per_token.slip(
    "attention_in_one_entry",
    "Attention is one entry here. Its two parts were asked for apart, as `proj` and `mix`: only one of them grows with T.",
    replace={'{"ffn": ffn, "proj": proj, "mix": mix}': '{"ffn": ffn, "attention": proj + mix}'},
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


@cost_of_a_step.base
def plain_cost_of_a_step(n, batch, size, flops, bandwidth):
    work = 2 * n * batch
    load = n * size
    return {
        "flops": work,
        "training": 3 * work,
        "bytes": load,
        "seconds": max(work / flops, load / bandwidth),
        "even": size * flops / bandwidth / 2,
    }


cost_of_a_step.slip(
    "one_operation_per_weight",
    "A weight is counted with one operation per token. It is multiplied, and the product is added: two.",
    replace={"2 * n": "n", " / 2": ""},
)
cost_of_a_step.slip("one_operation_the_rest_right", replace={"2 * n": "n"}, form_of="one_operation_per_weight")
cost_of_a_step.slip(
    "operations_of_one_token",
    "The operations do not depend on the batch. Every person's token meets every weight: two people, twice the work.",
    replace={" * batch": ""},
)
cost_of_a_step.slip(
    "read_anew_for_everybody",
    "The weights are read anew for everybody. They are read once per step, and then serve all tokens of the batch: that is what a batch is good for.",
    replace={"n * size": "n * size * batch"},
)
cost_of_a_step.slip(
    "parameters_for_bytes",
    "The number of parameters is taken for the number of bytes. Each has `size` bytes.",
    replace={"n * size": "n"},
)
cost_of_a_step.slip(
    "bits_for_bytes",
    "These are bits. `size` is given in bytes, and bytes are asked for.",
    replace={"n * size": "8 * n * size"},
)
cost_of_a_step.slip(
    "divided_by_size",
    "The number of parameters is divided by their size. The larger each is, the more bytes they are.",
    replace={"n * size": "n / size"},
)
cost_of_a_step.slip(
    "training_four",
    "Training is counted with 4 operations per parameter and token. Perhaps you count the way back alone, or the way back like the way there. The "
    "way back has two products for each one there: one for the gradient of the weight, and one for the gradient of the input. Training goes both "
    "ways.",
    replace={"3 * work": "2 * work"},
)
cost_of_a_step.slip(
    "training_as_the_way_there",
    "Training is counted like running. The way back comes on top of it.",
    replace={"3 * work": "work"},
)
cost_of_a_step.slip(
    "training_of_one_token",
    "Training does not depend on the batch here. Each token costs as much again.",
    replace={"3 * work": "6 * n"},
)
cost_of_a_step.slip(
    "seconds_added_up",
    "The two times are added. Reading and computing go on at the same time, so one waits for the slower of the two only.",
    replace={"max(work / flops, load / bandwidth)": "work / flops + load / bandwidth"},
)
cost_of_a_step.slip(
    "the_faster_one", "The faster of the two decides here. One waits for the slower one.", replace={"max": "min"}
)
cost_of_a_step.slip(
    "computing_alone",
    "Only computing takes time here. With few tokens the arithmetic is done long before all weights have been read.",
    replace={"max(work / flops, load / bandwidth)": "work / flops"},
)
cost_of_a_step.slip(
    "reading_alone",
    "Only reading takes time here. With many tokens the arithmetic takes longer than reading the weights once.",
    replace={"max(work / flops, load / bandwidth)": "load / bandwidth"},
)
cost_of_a_step.slip(
    "seconds_per_token",
    "These are seconds per token: the time of the step is divided by the batch. The exercise asks for the whole step, in which everybody gets one token.",
    replace={"max(work / flops, load / bandwidth)": "max(work / flops, load / bandwidth) / batch"},
)
cost_of_a_step.slip(
    "rate_over_work",
    "Operations per second are divided by operations: that is steps per second. Seconds are the other way round.",
    replace={"max(work / flops, load / bandwidth)": "max(flops / work, bandwidth / load)"},
)
cost_of_a_step.slip("steps_per_second", of="rate_over_work", replace={"max": "min"}, form_of="rate_over_work")
cost_of_a_step.slip(
    "even_twice_too_large",
    "`even` is twice too large: each weight needs two operations per token.",
    replace={" / 2": ""},
)
cost_of_a_step.slip(
    "even_without_size",
    "`even` does not know how large a parameter is. The more bytes each has, the longer reading takes, and the more tokens are needed.",
    replace={"size * flops": "flops"},
)
cost_of_a_step.slip(
    "even_upside_down",
    "`even` is upside down. The faster a machine computes, the **more** tokens it takes until computing is what one waits for.",
    replace={"size * flops / bandwidth / 2": "2 * bandwidth / (size * flops)"},
)
cost_of_a_step.slip(
    "even_rounded",
    "`even` is rounded to a whole number. It is where two lines meet, and need not be whole.",
    replace={"size * flops / bandwidth / 2": "round(size * flops / bandwidth / 2)"},
)
cost_of_a_step.slip("even_rounded_down", replace={" / bandwidth / 2": " // (2 * bandwidth)"}, form_of="even_rounded")
cost_of_a_step.slip("even_rounded_up", of="even_rounded", replace={"round": "math.ceil"}, form_of="even_rounded")


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
