"""What is right, and what goes wrong, in `flops_per_token` of notebook 05."""

from __future__ import annotations

import torch
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import parameters as exercises

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


flops_per_token.slips("""
in
  - ffn = (6 if gated else 4) * d * f
  - proj = 8 * d * d
  - mix = 4 * T * d
one_per_multiply_add
  + ffn = (3 if gated else 2) * d * f
  + proj = 4 * d * d
  + mix = 2 * T * d
    A multiplication and the addition that follows are counted as one, which gives half of what is asked for. Here they are two operations.
all_of_the_whole_sequence
  + ffn = T * (6 if gated else 4) * d * f
  + proj = T * 8 * d * d
  + mix = 4 * T * T * d
    This is the cost of the whole sequence, T times too much. One of its T tokens is asked for.
training_instead_of_forward
  + ffn = 3 * (6 if gated else 4) * d * f
  + proj = 24 * d * d
  + mix = 12 * T * d
    This is about what training costs, forward and backward, three times too much. The forward pass alone is asked for.
last_addition_dropped
  + ffn = 2 * (2 * d - 1) * f + (2 * f - 1) * d if gated else (2 * d - 1) * f + (2 * f - 1) * d
  + proj = 4 * (2 * d - 1) * d
  + mix = T * (2 * d - 1) + (2 * T - 1) * d
    A sum of n products is counted with n − 1 additions. That is exact, and not the convention: here every multiplication brings one addition.
flops_float
  + ffn = (6.0 if gated else 4.0) * d * f
  + proj = 8.0 * d * d
  + mix = 4.0 * T * d
    The numbers are right, but they are floats. These operations are counted: return ints.
in T * d
mix_without_T: d
    `mix` does not depend on T. A token looks at T positions, and each costs its share.
mix_of_the_whole_sequence: T * T * d
    `mix` grows with T squared: that is the whole sequence. One of its T tokens is asked for.
mix_with_matrices: T * d * d
    `mix` has d squared in it. There are no matrices [d, d] in mixing: a score is one query times one key, d products.
mix_with_f: T * f
    `mix` has the FFN's width in it. Scores and weighted sum work on vectors of d numbers.
softmax_counted: T * d + 3 * T
    `mix` has a little too much in it: the softmax over T scores is not counted here, only the two products.
in mix = 4 * T * d
scores_alone: mix = 2 * T * d
    `mix` is half of what it should be. Both parts count, the scores and the weighted sum of the values, and all T positions do: none is left out for
    a causal mask.
causal_average: mix = 2 * (T + 1) * d
    `mix` is the average over a causal text, in which a token looks at half of the positions. Here T is the number of positions that it does look at.
itself_left_out: mix = 4 * (T - 1) * d
    `mix` is counted for T − 1 positions. T has the token itself in it: its query meets its own key, too.
in (6 if gated else 4)
gate_costs_nothing: 4
    The gated FFN costs as much as the plain one here. Its third matrix has to be multiplied as well.
always_gated: 6
    The plain FFN is counted with three matrices. Only a gated one has a third.
in ffn = (6 if gated else 4) * d * f
gate_doubles_the_ffn: ffn = (8 if gated else 4) * d * f
    The gated FFN is counted with four matrices. Gate and up lead in, and one matrix leads out: three.
ffn_with_T: ffn = T * (6 if gated else 4) * d * f
    `ffn` grows with T. The FFN sees one token at a time, so one token costs the same in any text.
f_taken_as_4d: ffn = (24 if gated else 16) * d * d
    `ffn` is computed as if f were 4·d, which gives 16·d². f is an argument.
biases_and_activation_counted: ffn = (6 if gated else 4) * d * f + f + d
    `ffn` has a little too much in it: biases, the activation and the product with the gate are not counted here, only the matrices.
| activation_counted: (6 if gated else 4) * d * f -> (6 * d * f + 2 * f) if gated else (4 * d * f + f)
| gating_product_counted: (6 if gated else 4) -> 6 * d * f + f if gated else 4
| biases_counted_everywhere
  - ffn = (6 if gated else 4) * d * f
  - proj = 8 * d * d
  + ffn = 6 * d * f + 2 * f + d if gated else 4 * d * f + f + d
  + proj = 8 * d * d + 4 * d
in 6 if gated else 4
ffn_counted_twice: 12 if gated else 8
    `ffn` is twice as large as it should be. Two matrices of d·f weights, two operations for each weight.
ffn_halved: 3 if gated else 2
    `ffn` is half of what it should be: this is the number of its weights. Each costs a multiplication and an addition.
one_ffn_matrix: 4 if gated else 2
    `ffn` has one matrix too few: the way into the hidden layer and the way out both cost.
in 8
proj_halved: 4
    `proj` is half of what it should be. There are four matrices of d·d weights, and each weight costs a multiplication and an addition.
one_projection: 2
    `proj` is one matrix. Queries, keys, values and output have one each.
keys_of_all_tokens: 4 * d * d + T * 4
    Keys and values of all T tokens are counted in `proj`. Each token makes one key and one value, its own; the others' are counted with the others.
three_projections: 6
    `proj` has three matrices: the output matrix is a projection too, the fourth.
flops_gated_by_default: False -> True
    Without the argument, `gated` is taken as True. The default in the signature is False.
proj_with_T: proj = 8 * d * d -> proj = 8 * T * d * d
    `proj` grows with T. One token goes through the four matrices once, however long the sequence is.
in {"ffn": ffn, "proj": proj, "mix": mix}
flops_as_tuple: ffn, proj, mix
    Three numbers come back without their names. Return a dict with the keys ffn, proj and mix.
sum_alone: ffn + proj + mix
    One number comes back. The three parts were asked for, in a dict with the keys ffn, proj and mix.
attention_in_one_entry: return {"ffn": ffn, "proj": proj, "mix": mix} -> return {"ffn": ffn, "attention": proj + mix}
    Attention is one entry here. Its two parts were asked for apart, as `proj` and `mix`: only one of them grows with T.
""")
