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
