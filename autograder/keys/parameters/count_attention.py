"""What is right, and what goes wrong, in `count_attention` of notebook 05."""

from __future__ import annotations

from torch import nn

from autograder.keys.key import Key
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


count_attention.slips("""
in n_kv = n_heads if n_kv is None else n_kv
shared_keys_ignored: n_kv = n_heads
    Keys and values are as wide as the queries, whatever n_kv says. With n_kv heads they put out n_kv · head_dim numbers each.
none_means_one_shared_head: n_kv = 1 if n_kv is None else n_kv
    Without n_kv, keys and values get a single head. None means the default: as many heads of keys and values as query heads.
sharing_forgotten_with_head_dim
  + if head_dim is not None or n_kv is None:
  +     n_kv = n_heads
    Where head_dim is given, n_kv is not looked at any more. The two are independent of each other.
in head_dim = d // n_heads if head_dim is None else head_dim
head_dim_ignored: head_dim = d // n_heads
    head_dim is always d // n_heads. When it is handed in, the heads have that width: in many models n_heads · head_dim is not d.
head_dim_from_the_shared_heads: head_dim = d // n_kv if head_dim is None else head_dim
    Without head_dim, a head's width is taken from n_kv. It is d // n_heads: sharing keys and values does not widen them.
none_means_heads_as_wide_as_the_model: head_dim = d if head_dim is None else head_dim
    Without head_dim, each head is as wide as the whole model. The heads divide the d numbers among them: the usual width is d // n_heads.
in
  - weights = 2 * d * n_heads * head_dim + 2 * d * n_kv * head_dim
  - biases = n_heads * head_dim + 2 * n_kv * head_dim + d
output_matrix_missing
  + weights = d * n_heads * head_dim + 2 * d * n_kv * head_dim
  + biases = n_heads * head_dim + 2 * n_kv * head_dim
    The output matrix is missing. After the heads are put side by side, a fourth matrix leads back to d numbers.
query_matrix_is_square
  + weights = 2 * d * d + 2 * d * n_kv * head_dim
  + biases = 2 * d + 2 * n_kv * head_dim
    Queries and output are counted as d · d. Both are as wide as all query heads together, n_heads · head_dim, which need not be d.
keys_without_values
  + weights = 2 * d * n_heads * head_dim + d * n_kv * head_dim
  + biases = n_heads * head_dim + n_kv * head_dim + d
    Keys and values are counted as one matrix. They are two, of the same size.
everything_shared
  + weights = 4 * d * n_kv * head_dim
  + biases = 3 * n_kv * head_dim + d
    Queries and output shrink with n_kv as well. Only keys and values are shared; every head keeps a query of its own.
one_head_only
  + weights = 4 * d * head_dim
  + biases = 3 * head_dim + d
    This is one head. Each matrix holds all of them: n_heads · head_dim columns for the queries.
times_n_heads
  + weights = n_heads * (2 * d * n_heads * head_dim + 2 * d * n_kv * head_dim)
  + biases = n_heads * (n_heads * head_dim + 2 * n_kv * head_dim + d)
    The count is multiplied by n_heads. The heads divide the matrices among them: more heads of the same total width cost nothing.
n_kv_taken_for_groups
  + weights = 2 * d * n_heads * head_dim + 2 * d * (n_heads // n_kv) * head_dim
  + biases = n_heads * head_dim + 2 * (n_heads // n_kv) * head_dim + d
    Keys and values get n_heads // n_kv heads. That is how many query heads share one; n_kv itself is the number of heads of keys and values.
one_of_keys_and_values_shared
  + weights = 3 * d * n_heads * head_dim + d * n_kv * head_dim
  + biases = 2 * n_heads * head_dim + n_kv * head_dim + d
    Only one of keys and values shrinks with n_kv. Both have n_kv heads.
in weights = 2 * d * n_heads * head_dim + 2 * d * n_kv * head_dim
output_matrix_is_square: weights = d * n_heads * head_dim + 2 * d * n_kv * head_dim + d * d
    The output matrix is counted as d · d. It reads all heads side by side, n_heads · head_dim numbers, which need not be d.
output_reads_the_shared_heads: weights = d * n_heads * head_dim + 3 * d * n_kv * head_dim
    The output matrix is as narrow as keys and values here. It reads what the query heads found: n_heads · head_dim numbers.
output_reads_one_head: weights = d * n_heads * head_dim + 2 * d * n_kv * head_dim + d * head_dim
    The output matrix reads a single head here. All heads are put side by side first, n_heads · head_dim numbers.
in biases = n_heads * head_dim + 2 * n_kv * head_dim + d
one_bias_for_keys_and_values: biases = n_heads * head_dim + n_kv * head_dim + d
    Keys and values have one bias between them here. They are two matrices, and each has its own.
output_bias_missing: biases = n_heads * head_dim + 2 * n_kv * head_dim
    The bias of the output matrix is missing: d numbers. (Some models have biases for queries, keys and values only; here `bias` means all four.)
biases_of_four_squares: biases = 4 * d
    The biases are counted as 4·d. Those of queries, keys and values are as long as what these matrices put out.
in n_heads * head_dim + 2 * n_kv * head_dim + d
output_bias_alone: d
    Only the output matrix has a bias here. With bias=True queries, keys and values have one each as well.
output_bias_as_wide_as_the_heads: 2 * n_heads * head_dim + 2 * n_kv * head_dim
    The bias of the output matrix has d entries, one per number it puts out. n_heads · head_dim is what it reads.
attention_bias_ignored: 0
    `bias` changes nothing. With bias=True each of the four matrices has one.
in n_heads * head_dim + 2 * n_kv
biases_of_one_head: 3
    The biases of queries, keys and values are as long as one head. They are as long as what the matrix puts out: all of its heads.
biases_not_shared: 3 * n_heads
    The biases of keys and values are counted as if every head had its own. They are n_kv · head_dim long.
in return weights + biases if bias else weights
attention_all_or_nothing: return weights + biases if bias else 0
    Without biases nothing is left, 0. Python reads `weights + biases if bias else 0` as `(weights + biases) if bias else 0`: put parentheses around
    the part that depends on `bias`.
attention_bias_always: return weights + biases
    The biases always count. The default is bias=False: then only the four matrices are learned.
attention_no_return: print(weights + biases)
    NO_RETURN
attention_float
  - // n_heads
  + / n_heads
  - weights + biases if bias else weights
  + float(weights + biases) if bias else float(weights)
    The number is right, but a float came back: `/` gives floats. Use `//` for d divided by n_heads.
| float_where_head_dim_is_missing: // n_heads -> / n_heads
none_not_settled
  - n_kv = n_heads if n_kv is None else n_kv
  - head_dim = d // n_heads if head_dim is None else head_dim
  + pass
    n_kv or head_dim is None when it is not given, and one can't calculate with None. Replace both by their usual values first.
|| only_n_kv_settled: pass -> n_kv = n_heads if n_kv is None else n_kv
|| settled_only_where_both_are_none
  - pass
  + if n_kv is None and head_dim is None:
  +     n_kv, head_dim = n_heads, d // n_heads
""")
