"""What is right, and what goes wrong, in `count_attention` of notebook 05."""

from __future__ import annotations

from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import parameters as exercises

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
