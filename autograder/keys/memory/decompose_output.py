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


@decompose_output.mistake(
    "The coefficients were taken before the activation. A neuron below zero is silent: it writes nothing."
)
def before_the_activation(ffn, x):
    return ffn.linear1(x)[:, None] * ffn.linear2.weight.T


@decompose_output.mistake(
    "`b2` was shared out among the neurons. It belongs to none of them; the rows add up to the output without it."
)
def bias_shared_out(ffn, x):
    rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
    return rows + ffn.linear2.bias / len(rows)


@decompose_output.mistake(
    "`b2` was added to every row. It is added once, after all neurons have written, and is no part of a row."
)
def bias_in_every_row(ffn, x):
    return torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T + ffn.linear2.bias


@decompose_output.mistake(
    "The result is [d_model, d_ff]: a column for each neuron. A row is asked for, so that `result[j]` is what neuron j writes."
)
def a_column_for_each(ffn, x):
    return torch.relu(ffn.linear1(x)) * ffn.linear2.weight


@decompose_output.mistake(
    "The rows are added up already: [d_model] came back. The parts are asked for, before the sum."
)
def summed_up(ffn, x):
    return torch.relu(ffn.linear1(x)) @ ffn.linear2.weight.T


@decompose_output.mistake("This is the whole output of the FFN, with b2. What each neuron adds to it is asked for.")
def whole_output(ffn, x):
    return ffn(x)


@decompose_output.mistake("The coefficients multiply the keys. A neuron reads with its key and writes its value.")
def keys_written(ffn, x):
    return torch.relu(ffn.linear1(x))[:, None] * ffn.linear1.weight


@decompose_output.mistake(
    "These are the values alone. How strongly neuron j writes its value depends on the token: multiply by h_j."
)
def values_alone(ffn, x):
    return ffn.linear2.weight.T


@decompose_output.mistake("These are the coefficients alone, [d_ff]. Each multiplies a value of d_model numbers.")
def coefficients_alone(ffn, x):
    return torch.relu(ffn.linear1(x))


@decompose_output.mistake("`b1` is missing in the coefficients. It decides which neurons fire.")
def without_b1(ffn, x):
    return torch.relu(ffn.linear1.weight @ x)[:, None] * ffn.linear2.weight.T


@decompose_output.mistake(
    "The numbers of `linear2.weight` are in the wrong places: `reshape` reads row after row. To turn [d_model, d_ff] over, transpose it."
)
def reshaped_values(ffn, x):
    return torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.reshape(ffn.linear1.weight.shape)


@decompose_output.mistake(
    "The coefficients went through a softmax, as in attention. Here they are what ReLU leaves, and they need not add up to 1."
)
def through_a_softmax(ffn, x):
    return torch.softmax(ffn.linear1(x), dim=-1)[:, None] * ffn.linear2.weight.T


@decompose_output.mistake("The activation was applied to the values, not to what the neurons add up.")
def activation_on_values(ffn, x):
    return ffn.linear1(x)[:, None] * torch.relu(ffn.linear2.weight.T)


@decompose_output.mistake(
    "The activation was applied to the products. It belongs to the coefficients; what a neuron writes may be negative."
)
def activation_on_products(ffn, x):
    return torch.relu(ffn.linear1(x)[:, None] * ffn.linear2.weight.T)


@decompose_output.mistake(
    "Another activation than this FFN's was used. It is ReLU here: `ffn.activation` is the function."
)
def by_gelu(ffn, x):
    return F.gelu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T


@decompose_output.mistake(
    "Only the neurons that fire have a row. A silent neuron has a row of zeros, so that row j is neuron j's."
)
def only_those_that_fire(ffn, x):
    h = torch.relu(ffn.linear1(x))
    return h[h > 0][:, None] * ffn.linear2.weight.T[h > 0]


@decompose_output.mistake("A list of rows came back. `torch.stack` makes a tensor [d_ff, d_model] of it.")
def a_list_of_rows(ffn, x):
    h = torch.relu(ffn.linear1(x))
    return [h[j] * ffn.linear2.weight[:, j] for j in range(len(h))]


@decompose_output.mistake(
    "`h[:, None]` is missing: `h * values` matches h with the last dimension of the values, which is d_model."
)
def without_a_new_axis(ffn, x):
    return torch.relu(ffn.linear1(x)) * ffn.linear2.weight.T


@decompose_output.mistake(
    "x was added: that is the residual connection. Only what the neurons of the FFN write is asked for."
)
def residual_added(ffn, x):
    return torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T + x


@decompose_output.mistake(
    "The rows are right, but the weight of `ffn` was multiplied in place (`*=`, `mul_`): the FFN is another one now. Make a new tensor."
)
def multiplied_in_place(ffn, x):
    with torch.no_grad():
        h = torch.relu(ffn.linear1(x))
        return ffn.linear2.weight.mul_(h).T


@decompose_output.mistake(
    "Every neuron that fires writes its whole value here. The coefficient is not 1 or 0: it is how strongly the neuron fires."
)
def fires_or_not(ffn, x):
    return (ffn.linear1(x) > 0).to(x.dtype)[:, None] * ffn.linear2.weight.T


@decompose_output.mistake(
    "Neurons that fire weakly have a row of zeros. However small its coefficient is, a neuron that fires writes."
)
def weak_ones_left_out(ffn, x):
    h = torch.relu(ffn.linear1(x))
    return torch.where(h > 0.01, h, torch.zeros_like(h))[:, None] * ffn.linear2.weight.T


@decompose_output.mistake(
    "The coefficients were divided by their sum. They need not add up to 1: take what ReLU leaves."
)
def divided_by_the_sum(ffn, x):
    h = torch.relu(ffn.linear1(x))
    return (h / h.sum())[:, None] * ffn.linear2.weight.T


@decompose_output.mistake("The bias b1 was added after the activation. It belongs inside: act(x · key_j + b1_j).")
def b1_after_the_activation(ffn, x):
    return (torch.relu(ffn.linear1.weight @ x) + ffn.linear1.bias)[:, None] * ffn.linear2.weight.T


@decompose_output.mistake(
    "The rows were filled into a float32 tensor: `torch.zeros` needs `dtype=x.dtype`, or it rounds float64 numbers."
)
def rounded_to_float32(ffn, x):
    rows = torch.zeros(len(ffn.linear1.bias), len(x))
    h = torch.relu(ffn.linear1(x))
    for j in range(len(h)):
        rows[j] = h[j] * ffn.linear2.weight[:, j]
    return rows


@decompose_output.mistake("There is one row too many: b2 is below the neurons. The rows are the neurons' only.")
def b2_as_a_row(ffn, x):
    rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
    return torch.cat([rows, ffn.linear2.bias[None]])


@decompose_output.mistake(
    "Each coefficient multiplies the token itself. A neuron writes its own value, column j of `linear2.weight`."
)
def coefficients_times_the_token(ffn, x):
    return torch.outer(ffn.activation(ffn.linear1(x)), x)


@decompose_output.mistake(
    "b1 and the activation are both missing: a coefficient is what the neuron gives out, act(x · key_j + b1_j)."
)
def products_with_the_keys_alone(ffn, x):
    return (ffn.linear1.weight @ x)[:, None] * ffn.linear2.weight.T
