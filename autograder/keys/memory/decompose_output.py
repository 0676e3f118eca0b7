"""What is right, and what goes wrong, in `decompose_output` of notebook 06."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import memory as exercises

decompose_output = Key(exercises.decompose_output)


@decompose_output.truth
def number_by_number_decomposed(ffn, x):
    """What neuron j adds to output i, with Python floats."""
    d_ff, d_model = len(ffn.linear1.bias), len(x)
    rows = torch.zeros(d_ff, d_model, dtype=x.dtype)
    for j in range(d_ff):
        total = ffn.linear1.bias[j].item()
        for i in range(d_model):
            total += x[i].item() * ffn.linear1.weight[j, i].item()
        for i in range(d_model):
            rows[j, i] = max(total, 0.0) * ffn.linear2.weight[i, j].item()
    return rows


@decompose_output.right("a diagonal matrix")
def by_a_diagonal(ffn, x):
    h = F.relu(ffn.linear1(x))
    return torch.diag(h) @ ffn.linear2.weight.T


@decompose_output.right("einsum, without gradients")
def by_einsum(ffn, x):
    with torch.no_grad():
        h = torch.relu(ffn.linear1.weight @ x + ffn.linear1.bias)
        return torch.einsum("j,ij->ji", h, ffn.linear2.weight)


@decompose_output.right("one neuron after the other")
def neuron_after_neuron(ffn, x):
    h = ffn.activation(ffn.linear1(x))
    rows = []
    for j in range(h.shape[0]):
        rows.append(h[j] * ffn.linear2.weight[:, j])
    return torch.stack(rows)


@decompose_output.right("the second layer on one coefficient at a time")
def one_coefficient_at_a_time(ffn, x):
    h = ffn.activation(ffn.linear1(x))
    return ffn.linear2(torch.diag(h)) - ffn.linear2.bias


@decompose_output.right("scaled columns, turned over")
def turned_over(ffn, x):
    return (ffn.linear2.weight * ffn.linear1(x).clamp(min=0)).t()


decompose_output.slips("""
of turned_over
in (ffn.linear2.weight * ffn.linear1(x).clamp(min=0)).t()
before_the_activation: ffn.linear1(x)[:, None] * ffn.linear2.weight.T
    The coefficients were taken before the activation. A neuron below zero is silent: it writes nothing.
bias_in_every_row: torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T + ffn.linear2.bias
    `b2` was added to every row. It is added once, after all neurons have written, and is no part of a row.
a_column_for_each: torch.relu(ffn.linear1(x)) * ffn.linear2.weight
    The result is [d_model, d_ff]: a column for each neuron. A row is asked for, so that `result[j]` is what neuron j writes.
rows_for_values: torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight
    A value is a column of `linear2.weight`, and you took rows: its shape is [d_model, d_ff]. Transpose it, so that row j is the value of neuron j.
| rows_by_einsum: torch.einsum("j,jd->jd", torch.relu(ffn.linear1(x)), ffn.linear2.weight)
summed_up: torch.relu(ffn.linear1(x)) @ ffn.linear2.weight.T
    The rows are added up already: [d_model] came back. The parts are asked for, before the sum.
keys_written: torch.relu(ffn.linear1(x))[:, None] * ffn.linear1.weight
    The coefficients multiply the keys. A neuron reads with its key and writes its value.
values_alone: ffn.linear2.weight.T
    These are the values alone. How strongly neuron j writes its value depends on the token: multiply by h_j.
without_b1: torch.relu(ffn.linear1.weight @ x)[:, None] * ffn.linear2.weight.T
    `b1` is missing in the coefficients. It decides which neurons fire.
through_a_softmax: torch.softmax(ffn.linear1(x), dim=-1)[:, None] * ffn.linear2.weight.T
    The coefficients went through a softmax, as in attention. Here they are what ReLU leaves, and they need not add up to 1.
by_gelu: F.gelu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
    Another activation than this FFN's was used. It is ReLU here: `ffn.activation` is the function.
without_a_new_axis: torch.relu(ffn.linear1(x)) * ffn.linear2.weight.T
    `h[:, None]` is missing: `h * values` matches h with the last dimension of the values, which is d_model.
residual_added: torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T + x
    x was added: that is the residual connection. Only what the neurons of the FFN write is asked for.
fires_or_not: (ffn.linear1(x) > 0).to(x.dtype)[:, None] * ffn.linear2.weight.T
    Every neuron that fires writes its whole value here. The coefficient is not 1 or 0: it is how strongly the neuron fires.
b1_after_the_activation: (torch.relu(ffn.linear1.weight @ x) + ffn.linear1.bias)[:, None] * ffn.linear2.weight.T
    The bias b1 was added after the activation. It belongs inside: act(x · key_j + b1_j).
products_with_the_keys_alone: (ffn.linear1.weight @ x)[:, None] * ffn.linear2.weight.T
    b1 and the activation are both missing: a coefficient is what the neuron gives out, act(x · key_j + b1_j).
in return (ffn.linear2.weight * ffn.linear1(x).clamp(min=0)).t()
bias_shared_out
  + rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
  + return rows + ffn.linear2.bias / len(rows)
    `b2` was shared out among the neurons. It belongs to none of them; the rows add up to the output without it.
whole_output: return ffn(x)
    This is the whole output of the FFN, with b2. What each neuron adds to it is asked for.
coefficients_alone: return torch.relu(ffn.linear1(x))
    These are the coefficients alone, [d_ff]. Each multiplies a value of d_model numbers.
reshaped_values: return torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.reshape(ffn.linear1.weight.shape)
    The numbers of `linear2.weight` are in the wrong places: `reshape` reads row after row. To turn [d_model, d_ff] over, transpose it.
| rows_for_values | row_after_row
  + h = torch.relu(ffn.linear1(x))
  + return torch.stack([h[j] * ffn.linear2.weight[j] for j in range(len(h))])
activation_on_values: return ffn.linear1(x)[:, None] * torch.relu(ffn.linear2.weight.T)
    The activation was applied to the values, not to what the neurons add up.
activation_on_products: return torch.relu(ffn.linear1(x)[:, None] * ffn.linear2.weight.T)
    The activation was applied to the products. It belongs to the coefficients; what a neuron writes may be negative.
only_those_that_fire
  + h = torch.relu(ffn.linear1(x))
  + return h[h > 0][:, None] * ffn.linear2.weight.T[h > 0]
    Only the neurons that fire have a row. A silent neuron has a row of zeros, so that row j is neuron j's.
a_list_of_rows
  + h = torch.relu(ffn.linear1(x))
  + return [h[j] * ffn.linear2.weight[:, j] for j in range(len(h))]
    A list of rows came back. `torch.stack` makes a tensor [d_ff, d_model] of it.
multiplied_in_place
  + with torch.no_grad():
  +     h = torch.relu(ffn.linear1(x))
  +     return ffn.linear2.weight.mul_(h).T
    The rows are right, but the weight of `ffn` was multiplied in place (`*=`, `mul_`): the FFN is another one now. Make a new tensor.
weak_ones_left_out
  + h = torch.relu(ffn.linear1(x))
  + return torch.where(h > 0.01, h, torch.zeros_like(h))[:, None] * ffn.linear2.weight.T
    Neurons that fire weakly have a row of zeros. However small its coefficient is, a neuron that fires writes.
divided_by_the_sum
  + h = torch.relu(ffn.linear1(x))
  + return (h / h.sum())[:, None] * ffn.linear2.weight.T
    The coefficients were divided by their sum. They need not add up to 1: take what ReLU leaves.
rounded_to_float32
  + rows = torch.zeros(len(ffn.linear1.bias), len(x))
  + h = torch.relu(ffn.linear1(x))
  + for j in range(len(h)):
  +     rows[j] = h[j] * ffn.linear2.weight[:, j]
  + return rows
    The rows were filled into a float32 tensor: `torch.zeros` needs `dtype=x.dtype`, or it rounds float64 numbers.
b2_as_a_row
  + rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
  + return torch.cat([rows, ffn.linear2.bias[None]])
    There is one row too many: b2 is below the neurons. The rows are the neurons' only.
coefficients_times_the_token: return torch.outer(ffn.activation(ffn.linear1(x)), x)
    Each coefficient multiplies the token itself. A neuron writes its own value, column j of `linear2.weight`.
""")
