"""What is right, and what goes wrong, in `count_ffn` of notebook 05."""

from __future__ import annotations

import math

import torch
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import parameters as exercises

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


@count_ffn.mistake("Without the argument, `bias` is taken as False. The default in the signature is True.")
def default_turned_round(d, f, bias=False, gated=False):
    into = 2 if gated else 1
    return (into + 1) * d * f + (into * f + d if bias else 0)


@count_ffn.mistake("Without the argument, `gated` is taken as True. The default in the signature is False.")
def gated_by_default(d, f, bias=True, gated=True):
    into = 2 if gated else 1
    return (into + 1) * d * f + (into * f + d if bias else 0)


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


count_ffn.slips("""
of truth_values_as_numbers
in
  - into = 1 + gated
  - return into * (d + bias) * f + (f + bias) * d
b1_missing
  + weights = (3 if gated else 2) * d * f
  + return weights + d if bias else weights
    b1 is missing: the hidden layer has f neurons, and each has a bias of its own.
b2_missing
  + into = 2 if gated else 1
  + return (into + 1) * d * f + (into * f if bias else 0)
    b2 is missing: the output has d numbers, and each has a bias.
weights_only: return (3 if gated else 2) * d * f
    The biases never count, whatever `bias` says. With bias=True, which is the default, every matrix has one number more for each number it puts out.
bias_argument_ignored
  + if gated:
  +     return 3 * d * f + 2 * f + d
  + return 2 * d * f + f + d
    The biases always count. With bias=False only the matrices are learned.
gate_ignored: return 2 * d * f + (f + d if bias else 0)
    `gated` changes nothing. A gated FFN has a third matrix: two lead into the hidden layer, one leads out.
matrices_counted_twice
  + into = 2 if gated else 1
  + return 2 * (into + 1) * d * f + (into * f + d if bias else 0)
    Every matrix is counted twice, 4·d·f. A published tutorial made the same slip: its FFN has two matrices, and each is counted once.
one_bias_for_gate_and_up: return (3 if gated else 2) * d * f + (f + d if bias else 0)
    A gated FFN with biases has two of length f, one for each matrix that leads into the hidden layer; only one is counted.
gated_never_has_biases
  + if gated:
  +     return 3 * d * f
  + return 2 * d * f + (f + d if bias else 0)
    A gated FFN loses its biases here. Many models have none, but this function is told by `bias` whether they exist.
gate_bias_of_length_d
  + count = 2 * d * f + (f + d if bias else 0)
  + if gated:
  +     count += d * f + (d if bias else 0)
  + return count
    In the gated FFN the lengths of the biases are mixed up: gate and up put out f numbers each, and only the last matrix puts out d.
all_biases_of_length_f
  + n = 3 if gated else 2
  + return n * d * f + (n * f if bias else 0)
    Every bias is as long as the hidden layer here. A bias is as long as what its matrix puts out, and the last matrix puts out d numbers.
all_biases_of_length_d
  + n = 3 if gated else 2
  + return n * d * f + (n * d if bias else 0)
    Every bias is d long here. A bias is as long as what its matrix puts out, and the matrices that lead into the hidden layer put out f numbers.
one_number_for_each_bias
  + n = 3 if gated else 2
  + return n * d * f + (n if bias else 0)
    A bias is counted as a single number. Each number that a matrix puts out has a bias of its own, so a bias is a vector.
gate_always_has_a_bias
  + count = 2 * d * f + (f + d if bias else 0)
  + if gated:
  +     count += d * f + f
  + return count
    The gate brings its bias along even with bias=False. Without biases a gated FFN is three matrices and nothing else.
always_gated_ffn: return 3 * d * f + (2 * f + d if bias else 0)
    The third matrix is counted although nobody asked for a gate. Only with gated=True there are two matrices that lead in.
gated_turned_round
  + into = 1 if gated else 2
  + return (into + 1) * d * f + (into * f + d if bias else 0)
    The two cases of `gated` are the wrong way round: a plain FFN has two matrices, a gated one has three.
bias_turned_round
  + into = 2 if gated else 1
  + return (into + 1) * d * f + (0 if bias else into * f + d)
    The two cases of `bias` are the wrong way round: the biases count with bias=True, and not with bias=False.
all_or_nothing
  + into = 2 if gated else 1
  + return (into + 1) * d * f + into * f + d if bias else 0
    With bias=False nothing is left, 0. Python reads `weights + biases if bias else 0` as `(weights + biases) if bias else 0`: put parentheses around
    the part that depends on `bias`.
gate_doubles_everything
  + count = 2 * d * f + (f + d if bias else 0)
  + return 2 * count if gated else count
    The gate is counted as a whole second FFN, with a way out of its own. Gate and up are multiplied with each other and share one matrix out.
width_shrunk_when_gated
  + if gated:
  +     f = int(2 * f / 3)
  +     return 3 * d * f + (2 * f + d if bias else 0)
  + return 2 * d * f + (f + d if bias else 0)
    f is shrunk to two thirds when gated. Models do choose a smaller f then, but here f is the width that the FFN really has.
way_out_missing
  + into = 2 if gated else 1
  + return into * (d * f + (f if bias else 0))
    Only the way into the hidden layer is counted. The way out is a matrix as well, with a bias of its own.
f_is_always_4d
  + f = 4 * d
  + into = 2 if gated else 1
  + return (into + 1) * d * f + (into * f + d if bias else 0)
    f is taken to be 4·d. That is a habit, not a law: f is an argument, and the atlas is full of other ratios.
float_count
  + into = 2 if gated else 1
  + return (into + 1) * d * f / 1 + (into * f + d if bias else 0)
    The number is right, but a float came back. Parameters are counted: return an int, and use // where you divide.
sum_in_float32
  + into = 2 if gated else 1
  + sizes = [d * f] * into + [f * d] + ([f] * into + [d] if bias else [])
  + return int(torch.tensor(sizes, dtype=torch.float32).sum())
    The sum went through float32, which has no odd numbers above 2²⁴, about 16.8 million: large counts come out off by one. Add up Python ints.
no_return
  + into = 2 if gated else 1
  + print((into + 1) * d * f + (into * f + d if bias else 0))
    NO_RETURN
biases_twice
  + into = 2 if gated else 1
  + return (into + 1) * d * f + 2 * (into * f + d) * bool(bias)
    Every bias is counted twice. Each matrix has one, as long as what the matrix puts out.
""")
