"""What is right, and what goes wrong, in `real_half` of notebook 11."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import real as exercises

real_half = Key(exercises.real_half)


@real_half.truth
def token_by_token(x, layer, W, act=F.gelu):
    """One token and one neuron at a time, GELU by math.erf, the norm's formula written out."""
    prefix = f"encoder.layer.{layer}."
    up, down = W[prefix + "intermediate.dense.weight"], W[prefix + "output.dense.weight"]
    b1, b2 = W[prefix + "intermediate.dense.bias"], W[prefix + "output.dense.bias"]
    gain, bias = W[prefix + "output.LayerNorm.weight"], W[prefix + "output.LayerNorm.bias"]
    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        written = b2.clone()
        for j in range(len(b1)):
            z = torch.dot(up[j], token) + b1[j]
            active = z * 0.5 * (1 + math.erf(float(z) / math.sqrt(2))) if act is F.gelu else act(z)
            written = written + active * down[:, j]
        total = token + written
        mean = total.sum() / len(total)
        variance = ((total - mean) ** 2).sum() / len(total)
        rows.append((total - mean) / torch.sqrt(variance + 1e-12) * gain + bias)
    return torch.stack(rows).reshape(x.shape)


@real_half.right("F.linear takes the matrices as they are")
def by_linear(x, layer, W, act=F.gelu):
    name = f"encoder.layer.{layer}"
    h = act(F.linear(x, W[f"{name}.intermediate.dense.weight"], W[f"{name}.intermediate.dense.bias"]))
    y = x + F.linear(h, W[f"{name}.output.dense.weight"], W[f"{name}.output.dense.bias"])
    return F.layer_norm(
        y, y.shape[-1:], W[f"{name}.output.LayerNorm.weight"], W[f"{name}.output.LayerNorm.bias"], 1e-12
    )


@real_half.right("a module for the norm, filled with the file's numbers")
def with_module(x, layer, W, act=F.gelu):
    def get(name):
        return W["encoder.layer." + str(layer) + "." + name]

    norm = nn.LayerNorm(x.shape[-1], eps=1e-12).to(x.dtype)
    with torch.no_grad():
        norm.weight.copy_(get("output.LayerNorm.weight"))
        norm.bias.copy_(get("output.LayerNorm.bias"))
    hidden = act(x @ get("intermediate.dense.weight").T + get("intermediate.dense.bias"))
    return norm(hidden @ get("output.dense.weight").T + get("output.dense.bias") + x)


@real_half.right("with the functions of notebooks 02 and 04 inside")
def with_own_functions(x, layer, W, act=F.gelu):
    def ffn_forward(x, W1, b1, W2, b2, act):
        return act(x @ W1 + b1) @ W2 + b2

    def residual_sublayer(x, ffn, norm, mode):
        return x + ffn(norm(x)) if mode == "pre" else norm(x + ffn(x))

    p = f"encoder.layer.{layer}."
    arrays = [
        W[f"{p}{part}"]
        for part in ("intermediate.dense.weight", "intermediate.dense.bias", "output.dense.weight", "output.dense.bias")
    ]
    arrays[0], arrays[2] = arrays[0].T, arrays[2].T

    def norm(y):
        return F.layer_norm(
            y, (y.shape[-1],), W[f"{p}output.LayerNorm.weight"], W[f"{p}output.LayerNorm.bias"], eps=1e-12
        )

    return residual_sublayer(x, lambda y: ffn_forward(y, *arrays, act), norm, "post")


@real_half.right("einsum, and the norm by hand")
def by_einsum(x, layer, W, act=F.gelu):
    p = f"encoder.layer.{layer}."
    h = act(torch.einsum("...d,fd->...f", x, W[p + "intermediate.dense.weight"]) + W[p + "intermediate.dense.bias"])
    y = x + torch.einsum("...f,df->...d", h, W[p + "output.dense.weight"]) + W[p + "output.dense.bias"]
    y = y - y.mean(-1, keepdim=True)
    y = y / (y.var(-1, keepdim=True, unbiased=False) + 1e-12).sqrt()
    return y * W[p + "output.LayerNorm.weight"] + W[p + "output.LayerNorm.bias"]


@real_half.base
def plain_real_half(x, layer, W, act=F.gelu):
    prefix = f"encoder.layer.{layer}."
    W1, b1 = W[prefix + "intermediate.dense.weight"].T, W[prefix + "intermediate.dense.bias"]
    W2, b2 = W[prefix + "output.dense.weight"].T, W[prefix + "output.dense.bias"]
    gain, bias = W[prefix + "output.LayerNorm.weight"], W[prefix + "output.LayerNorm.bias"]

    def norm(y):
        return F.layer_norm(y, (y.shape[-1],), gain, bias, 1e-12)

    def ffn(y):
        return act(y @ W1 + b1) @ W2 + b2

    return norm(x + ffn(x))


real_half.slips("""
in prefix = f"encoder.layer.{layer}."
prefix_copied: prefix = "encoder.layer.2."
    Every layer gets the numbers of one and the same layer, because the prefix is copied from a list of names. Your FFN may well be right: put `layer` into
    the prefix.
| prefix_copied_from_the_list: prefix = "encoder.layer.0."
| prefix_of_layer_one: prefix = "encoder.layer.1."
without_the_f: prefix = "encoder.layer.{layer}."
    KeyError: the name has the letters {layer} in it, not the number. A string with a field in it needs an f in front: f"…{layer}.".
layer_after: prefix = f"encoder.layer.{layer + 1}."
    The layer's number is off: the file counts its layers from 0, and so does `layer`.
| layer_before: prefix = f"encoder.layer.{layer - 1}."
in
  - W1, b1 = W[prefix + "intermediate.dense.weight"].T, W[prefix + "intermediate.dense.bias"]
  - W2, b2 = W[prefix + "output.dense.weight"].T, W[prefix + "output.dense.bias"]
matrices_exchanged
  + W1, b1 = W[prefix + "output.dense.weight"], W[prefix + "intermediate.dense.bias"]
  + W2, b2 = W[prefix + "intermediate.dense.weight"], W[prefix + "output.dense.bias"]
    W1 and W2 are exchanged: without `.T` their shapes fit, and that is all. W1 is `intermediate.dense.weight`, transposed, because the file keeps [out, in].
poured_into_shape
  + W1, b1 = W[prefix + "intermediate.dense.weight"].reshape(x.shape[-1], -1), W[prefix + "intermediate.dense.bias"]
  + W2, b2 = W[prefix + "output.dense.weight"].reshape(-1, x.shape[-1]), W[prefix + "output.dense.bias"]
    The matrices have the right shapes with the wrong numbers in them. `reshape` and `view` pour the numbers into new rows. You want rows and columns
    exchanged, as `.T` does.
| poured_by_view
  + W1, b1 = W[prefix + "intermediate.dense.weight"].view(x.shape[-1], -1), W[prefix + "intermediate.dense.bias"]
  + W2, b2 = W[prefix + "output.dense.weight"].view(-1, x.shape[-1]), W[prefix + "output.dense.bias"]
not_transposed
  + W1, b1 = W[prefix + "intermediate.dense.weight"], W[prefix + "intermediate.dense.bias"]
  + W2, b2 = W[prefix + "output.dense.weight"], W[prefix + "output.dense.bias"]
    The file keeps each matrix as [out, in], as `nn.Linear` does. For `x @ W1` it has to be transposed: `.T`.
| first_not_transposed
  + W1, b1 = W[prefix + "intermediate.dense.weight"], W[prefix + "intermediate.dense.bias"]
  + W2, b2 = W[prefix + "output.dense.weight"].T, W[prefix + "output.dense.bias"]
second_not_transposed
  + W1, b1 = W[prefix + "intermediate.dense.weight"].T, W[prefix + "intermediate.dense.bias"]
  + W2, b2 = W[prefix + "output.dense.weight"], W[prefix + "output.dense.bias"]
    The first product is right, but W2 is as the file has it, [out, in]. It has to be transposed as well.
in gain, bias = W[prefix + "output.LayerNorm.weight"], W[prefix + "output.LayerNorm.bias"]
norm_of_attention: gain, bias = W[prefix + "attention.output.LayerNorm.weight"], W[prefix + "attention.output.LayerNorm.bias"]
    This is the norm of the attention half, `attention.output.LayerNorm`. The half with the FFN has its own, `output.LayerNorm`.
in return F.layer_norm(y, (y.shape[-1],), gain, bias, 1e-12)
usual_epsilon: return F.layer_norm(y, (y.shape[-1],), gain, bias)
    The norm's epsilon is torch's usual 1e-5. This model was trained with 1e-12. In the real model it shifts vectors by 0.00006; in a quiet stream by much
    more.
| usual_epsilon_said: return F.layer_norm(y, (y.shape[-1],), gain, bias, 1e-5)
sample_spread: return (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True) + 1e-12).sqrt() * gain + bias
    The norm divides by n − 1, as torch's `var` and `std` do if nothing is said. A layer norm takes the mean of the squares, so divide by n: `unbiased=False`.
| sample_spread_by_std: return (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True) + 1e-12) * gain + bias
width_typed: return F.layer_norm(y, (384,), gain, bias, 1e-12)
    384 is the real model's width. The check's little model has another one, so take it from x: `x.shape[-1]`.
norm_without_its_numbers: return F.layer_norm(y, (y.shape[-1],), eps=1e-12)
    The norm's learned gain and bias are missing, `output.LayerNorm.weight` and `.bias`.
norm_without_gain: return F.layer_norm(y, (y.shape[-1],), None, bias, 1e-12)
    The norm's learned gain, `output.LayerNorm.weight`, is missing.
norm_without_bias: return F.layer_norm(y, (y.shape[-1],), gain, None, 1e-12)
    The norm's learned bias, `output.LayerNorm.bias`, is missing.
in return act(y @ W1 + b1) @ W2 + b2
tanh_gelu: return F.gelu(y @ W1 + b1, approximate="tanh") @ W2 + b2
    Off by about a thousandth: this is the GELU with tanh, which GPT-2 uses. BERT has the one with erf, `F.gelu(z)`. Call the `act` that you are given.
own_gelu: return F.gelu(y @ W1 + b1) @ W2 + b2
    With GELU all is right, but the activation that is handed in as `act` is ignored.
relu: return F.relu(y @ W1 + b1) @ W2 + b2
    The activation is ReLU. This model's neurons were trained with GELU; call the `act` you are given.
silu: return F.silu(y @ W1 + b1) @ W2 + b2
    The activation is SiLU. This model's neurons were trained with GELU; call the `act` you are given.
no_activation: return (y @ W1 + b1) @ W2 + b2
    There is no activation between the two matrices.
activation_too_late: return act((y @ W1 + b1) @ W2 + b2)
    The activation comes too late, after W2. It belongs between the two products, on the d_ff neurons.
activation_twice: return act(act(y @ W1 + b1) @ W2 + b2)
    A second activation is applied to the output, so what the FFN writes is hardly ever negative. Nothing follows b2.
no_b1: return act(y @ W1) @ W2 + b2
    b1, `intermediate.dense.bias`, is missing.
no_b2: return act(y @ W1 + b1) @ W2
    b2, `output.dense.bias`, is missing.
no_biases: return act(y @ W1) @ W2
    Both biases of the FFN are missing: `intermediate.dense.bias` and `output.dense.bias`.
in return norm(x + ffn(x))
norm_before: return x + ffn(norm(x))
    The norm comes before the FFN, as in GPT-2. BERT is post-norm: add first, then norm the sum. Nothing norms the stream now, so it grows from block to block.
norm_inside: return x + norm(ffn(x))
    You norm what the FFN writes and add it afterwards. Add first, then norm the sum.
no_residual: return norm(ffn(x))
    The residual connection is missing: x itself has to be added before the norm.
no_norm: return x + ffn(x)
    The norm is missing: it comes last, after the sum.
bare_ffn: return ffn(x)
    This is the FFN alone. The half of a block adds x, and norms the sum.
normed_twice: return norm(x + ffn(norm(x)))
    The FFN gets a normed x as well. In a post-norm block it reads x as it is, and there is one norm, after the sum.
x_changed
  + x += ffn(x)
  + return norm(x)
    x itself is changed: `x += …` writes into the caller's tensor. `x = x + …` makes a new one.
nothing: norm(x + ffn(x))
    NO_RETURN
""")
