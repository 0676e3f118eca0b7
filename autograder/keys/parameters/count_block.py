"""What is right, and what goes wrong, in `count_block` of notebook 05."""

from __future__ import annotations

import math
from fractions import Fraction

import torch
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import parameters as exercises

count_block = Key(exercises.count_block)


@count_block.truth
def number_by_number(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    """Walks along the numbers that each matrix puts out: each reads all that goes in, and may have a bias."""
    groups = n_heads if n_kv is None else n_kv
    width = d // n_heads if head_dim is None else head_dim
    extra = 1 if bias else 0
    attention = ffn = 0
    for _ in range(attentions):
        for heads in (n_heads, groups, groups):  # queries, keys, values
            attention += sum(d + extra for _ in range(heads * width))
        attention += sum(n_heads * width + extra for _ in range(d))
    for _ in range(2 if gated else 1):
        ffn += sum(d + extra for _ in range(f))
    ffn += sum(f + extra for _ in range(d))
    return {"attention": attention, "ffn": ffn, "share": float(Fraction(ffn, ffn + attention))}


@count_block.right("asks PyTorch")
def asks_torch(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    h = head_dim or d // n_heads
    q, kv = n_heads * h, (n_kv or n_heads) * h

    def held(*sizes):
        return sum(p.numel() for a, b in sizes for p in nn.Linear(a, b, bias=bias, device="meta").parameters())

    attention = attentions * held((d, q), (d, kv), (d, kv), (q, d))
    ffn = held(*[(d, f)] * (1 + gated), (f, d))
    return {"attention": attention, "ffn": ffn, "share": ffn / (attention + ffn)}


@count_block.right("a list of shapes, more keys, and the share by way of the other one")
def list_of_shapes(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    n_kv = n_heads if n_kv is None else n_kv
    head_dim = head_dim if head_dim is not None else int(d / n_heads)
    one_attention = [(d, n_heads * head_dim), (d, n_kv * head_dim), (d, n_kv * head_dim), (n_heads * head_dim, d)]
    one_ffn = [(d, f), (f, d)] + ([(d, f)] if gated else [])
    if bias:
        one_attention += [(columns,) for _, columns in one_attention]
        one_ffn += [(columns,) for _, columns in one_ffn]
    attention = sum(map(math.prod, one_attention)) * attentions
    ffn = sum(map(math.prod, one_ffn))
    return dict(attention=attention, ffn=ffn, total=attention + ffn, share=1 - attention / (attention + ffn))


@count_block.right("truth values used as numbers, and tensors as a result")
def truth_values_as_numbers(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    H, KV = n_heads, n_heads if n_kv is None else n_kv
    h = d // H if head_dim is None else head_dim
    attention = ((H + 2 * KV) * h * (d + bias) + d * (H * h + bias)) * attentions
    ffn = (1 + gated) * f * (d + bias) + d * (f + bias)
    both = torch.tensor([attention, ffn])
    share = both[1].double() / both.sum()
    return {"attention": both[0], "ffn": both[1], "share": share}


@count_block.base
def plain_count_block(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    n_kv = n_heads if n_kv is None else n_kv
    head_dim = d // n_heads if head_dim is None else head_dim
    queries, keys = n_heads * head_dim, n_kv * head_dim
    attention = 2 * d * queries + 2 * d * keys
    ffn = (3 if gated else 2) * d * f
    if bias:
        attention += queries + 2 * keys + d
        ffn += (2 if gated else 1) * f + d
    attention = attention * attentions
    return {"ffn": ffn, "attention": attention, "share": ffn / (ffn + attention)}


count_block.slips(
    """
in attention = 2 * d * queries + 2 * d * keys
always_four_squares: attention = 4 * d * d
    Attention is counted as 4·d² here, the special case. It holds only while n_kv = n_heads and head_dim = d / n_heads; the arguments say otherwise.
output_matrix_missing: attention = d * queries + 2 * d * keys
    The output matrix is missing. After the heads are put side by side, a fourth matrix leads back to d numbers.
query_matrix_is_square: attention = 2 * d * d + 2 * d * keys
    Queries and output are counted as d · d. Both are as wide as all query heads together, n_heads · head_dim, which need not be d.
output_matrix_is_square: attention = d * queries + 2 * d * keys + d * d
    The output matrix is counted as d · d. It reads all heads side by side, n_heads · head_dim numbers, which need not be d.
keys_without_values: attention = 2 * d * queries + d * keys
    Keys and values are counted as one matrix. They are two, of the same size.
one_of_keys_and_values_shared: attention = 3 * d * queries + d * keys
    Only one of keys and values shrinks with n_kv. Both have n_kv heads.
everything_shared: attention = 4 * d * keys
    Queries and output shrink with n_kv as well. Only keys and values are shared; every head keeps a query of its own.
output_reads_the_shared_heads: attention = d * queries + 3 * d * keys
    The output matrix is as narrow as keys and values here. It reads what the query heads found: n_heads · head_dim numbers.
one_head_only: attention = 4 * d * head_dim
    This is one head. Each matrix holds all of them: n_heads · head_dim columns for the queries.
times_n_heads: attention = n_heads * (2 * d * queries + 2 * d * keys)
    The count is multiplied by n_heads. The heads divide the matrices among them: more heads of the same total width cost nothing.
in n_kv = n_heads if n_kv is None else n_kv
shared_keys_ignored: n_kv = n_heads
    Keys and values are as wide as the queries, whatever n_kv says. With n_kv heads they put out n_kv · head_dim numbers each.
none_means_one_shared_head: n_kv = 1 if n_kv is None else n_kv
    Without n_kv, keys and values get a single head. None means the default: as many heads of keys and values as query heads.
n_kv_taken_for_groups: n_kv = n_heads if n_kv is None else n_heads // n_kv
    Keys and values get n_heads // n_kv heads. That is how many query heads share one; n_kv itself is the number of heads of keys and values.
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
counts_are_floats
  - // n_heads
  + / n_heads
  - "attention": attention
  + "attention": float(attention)
    The count of attention is right, but it is a float: `/` gives floats. Use `//` for d divided by n_heads.
| float_where_head_dim_is_missing: // n_heads -> / n_heads
in ffn = (3 if gated else 2) * d * f
gate_ignored: ffn = 2 * d * f
    `gated` changes no matrix. A gated FFN has a third one: two lead into the hidden layer, one leads out.
always_gated_ffn: ffn = 3 * d * f
    The third matrix is counted although nobody asked for a gate. Only with gated=True there are two matrices that lead in.
gated_turned_round: ffn = (2 if gated else 3) * d * f
    The two cases of `gated` are the wrong way round: a plain FFN has two matrices, a gated one has three.
matrices_counted_twice: ffn = 2 * (3 if gated else 2) * d * f
    Every matrix of the FFN is counted twice, 4·d·f without a gate. It has two matrices, and each is counted once.
gate_doubles_everything: ffn = (4 if gated else 2) * d * f
    The gate is counted as a whole second FFN, with a way out of its own. Gate and up are multiplied with each other and share one matrix out.
f_is_always_4d: ffn = (3 if gated else 2) * d * 4 * d
    d_ff is taken to be 4·d. That is a habit, not a law: f is an argument.
way_out_missing: ffn = (2 if gated else 1) * d * f
    Only the way into the hidden layer is counted. The way out is a matrix as well.
width_shrunk_when_gated: ffn = 3 * d * int(2 * f / 3) if gated else 2 * d * f
    f is shrunk to two thirds when gated. Models do choose a smaller f then, but here f is the width that the FFN really has.
in
  - attention += queries + 2 * keys + d
  - ffn += (2 if gated else 1) * f + d
no_biases_at_all: pass
    `bias` changes nothing. With bias=True every matrix has one, as long as what the matrix puts out.
biases_of_the_ffn_missing: attention += queries + 2 * keys + d
    With bias=True only attention has biases here. Those of the FFN are missing.
biases_of_attention_missing: ffn += (2 if gated else 1) * f + d
    With bias=True only the FFN has biases here. Attention has one for each of its four matrices.
in attention += queries + 2 * keys + d
one_bias_for_keys_and_values: attention += queries + keys + d
    Keys and values have one bias between them here. They are two matrices, and each has its own.
output_bias_missing: attention += queries + 2 * keys
    The bias of the output matrix is missing: d numbers. (Some models have biases for queries, keys and values only; here `bias` means all four.)
biases_of_four_squares: attention += 4 * d
    Attention's biases are counted as 4·d. Those of queries, keys and values are as long as what these matrices put out.
output_bias_as_wide_as_the_heads: attention += 2 * queries + 2 * keys
    The bias of the output matrix has d entries, one per number it puts out. n_heads · head_dim is what it reads.
biases_not_shared: attention += 3 * queries + d
    The biases of keys and values are counted as if every head had its own. They are n_kv · head_dim long.
output_bias_alone: attention += d
    Only the output matrix has a bias here. With bias=True queries, keys and values have one each as well.
in ffn += (2 if gated else 1) * f + d
one_bias_for_gate_and_up: ffn += f + d
    A gated FFN with biases has two of length f, one for each matrix that leads into the hidden layer; only one is counted.
gated_never_has_biases: ffn += 0 if gated else f + d
    A gated FFN loses its biases here. Many models have none, but this function is told by `bias` whether they exist.
b2_missing: ffn += (2 if gated else 1) * f
    The bias of the FFN's last matrix is missing: the output has d numbers, and each has a bias.
b1_missing: ffn += d
    The biases of the hidden layer are missing: it has f neurons, and each has one for every matrix that leads in.
all_biases_of_length_f: ffn += (3 if gated else 2) * f
    Every bias of the FFN is as long as the hidden layer here. A bias is as long as what its matrix puts out, and the last matrix puts out d numbers.
all_biases_of_length_d: ffn += (3 if gated else 2) * d
    Every bias of the FFN is d long here. A bias is as long as what its matrix puts out, and the matrices that lead into the hidden layer put out f numbers.
biases_of_the_ffn_swapped: ffn += (2 if gated else 1) * d + f
    In the FFN's biases d and f have changed places. A bias is as long as what its matrix puts out: d_ff on the way in, d_model on the way out.
one_number_for_each_bias: ffn += 3 if gated else 2
    A bias is counted as a single number. Each number that a matrix puts out has a bias of its own, so a bias is a vector.
in if bias:
biases_always: if True:
    The biases always count. The default is bias=False: then only the matrices are learned.
bias_turned_round: if not bias:
    The two cases of `bias` are the wrong way round: the biases count with bias=True, and not with bias=False.
in attention = attention * attentions
second_attention_ignored: pass
    `attentions` changes nothing. A block with two of them has one over its own tokens and one across to the encoder, of the same size.
ffn_grows_with_the_attentions
  + attention = attention * attentions
  + ffn = ffn * attentions
    With a second attention the FFN is counted twice as well. The block still has one.
in attention, "share": ffn / (ffn + attention)
attention_of_one_alone: attention // attentions, "share": ffn / (ffn + attention)
    `attention` asks for all attentions together. Yours is one of them, although the share counts both.
share_of_attention: attention, "share": attention / (ffn + attention)
    The share is attention's. The FFN's is asked for.
ratio_to_attention: attention, "share": ffn / attention
    `share` is the ratio of the FFN to attention. A share is a part of the whole: divide by both together.
share_in_percent: attention, "share": 100 * ffn / (ffn + attention)
    The share is a percentage. A share of the whole is a number from 0 to 1.
share_rounded: attention, "share": round(ffn / (ffn + attention), 3)
    The share is rounded. Let Python divide the two counts and hand back what comes out.
| share_rounded_to_four: attention, "share": round(ffn / (ffn + attention), 4)
| share_rounded_to_two: attention, "share": round(ffn / (ffn + attention), 2)
share_in_percent_and_rounded: attention, "share": round(100 * ffn / (ffn + attention), 1)
    The share is a percentage, and rounded. A number from 0 to 1 is asked for, as Python divides it.
share_by_whole_division: attention, "share": ffn // (ffn + attention)
    `//` throws away what comes after the point, and a share is smaller than 1. Use `/`.
block_no_return: return {"ffn" -> found = {"ffn"
    NO_RETURN
""",
    NO_RETURN=NO_RETURN,
)


@count_block.mistake("A tuple came back. A dict is asked for, with the keys `attention`, `ffn` and `share`.")
def block_as_a_tuple(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    n_kv = n_heads if n_kv is None else n_kv
    head_dim = d // n_heads if head_dim is None else head_dim
    attention = attentions * (2 * d * head_dim * (n_heads + n_kv))
    ffn = (3 if gated else 2) * d * f
    return attention, ffn, ffn / (ffn + attention)


@count_block.mistake(
    "The counts went through float32, which has no odd numbers above 2²⁴, about 16.8 million: large counts come out off by one. Add up Python ints."
)
def counts_in_float32(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    n_kv = n_heads if n_kv is None else n_kv
    head_dim = d // n_heads if head_dim is None else head_dim
    attention = attentions * ((n_heads + 2 * n_kv) * head_dim * (d + bias) + d * (n_heads * head_dim + bias))
    sizes = [d * f] * (3 if gated else 2) + ([f] * (1 + gated) + [d] if bias else [])
    ffn = int(torch.tensor(sizes, dtype=torch.float32).sum())
    return {"attention": attention, "ffn": ffn, "share": ffn / (ffn + attention)}
