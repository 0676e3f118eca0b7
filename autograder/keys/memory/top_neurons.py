"""What is right, and what goes wrong, in `top_neurons` of notebook 06."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import memory as exercises

top_neurons = Key(exercises.top_neurons)


@top_neurons.truth
def one_after_the_other(ffn, x, direction, k):
    """Every neuron's contribution with Python floats; then a sort."""
    found = []
    for j in range(len(ffn.linear1.bias)):
        total = ffn.linear1.bias[j].item()
        along = 0.0
        for i in range(len(x)):
            total += x[i].item() * ffn.linear1.weight[j, i].item()
            along += ffn.linear2.weight[i, j].item() * direction[i].item()
        found.append((max(total, 0.0) * along, j))
    return torch.tensor([j for _, j in sorted(found, reverse=True)[:k]])


@top_neurons.right("two products, and sort")
def by_sort(ffn, x, direction, k):
    h = torch.relu(ffn.linear1(x))
    along = direction @ ffn.linear2.weight  # [d_ff]
    return (h * along).sort(descending=True).indices[:k]


@top_neurons.right("argsort from below, the last k")
def the_last_k(ffn, x, direction, k):
    rows = ffn.activation(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
    return torch.argsort((rows * direction).sum(dim=1))[-k:]


@top_neurons.right("einsum and negated argsort")
def negated(ffn, x, direction, k):
    h = F.relu(F.linear(x, ffn.linear1.weight, ffn.linear1.bias))
    return (-torch.einsum("j,ij,i->j", h, ffn.linear2.weight, direction)).argsort()[:k]


@top_neurons.right("a Python list, sorted by contribution")
def a_python_list(ffn, x, direction, k):
    h = torch.relu(ffn.linear1(x))
    parts = [(h[j] * (ffn.linear2.weight[:, j] @ direction)).item() for j in range(len(h))]
    return torch.tensor(sorted(range(len(parts)), key=lambda j: -parts[j])[:k])


top_neurons.slips("""
of the_last_k
in
  - rows = ffn.activation(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
  - return torch.argsort((rows * direction).sum(dim=1))[-k:]
by_coefficient: return torch.relu(ffn.linear1(x)).topk(k).indices
    These are the neurons that fire most strongly. A strong neuron may write in another direction: multiply by what its value gives along `direction`.
by_size
  + h = torch.relu(ffn.linear1(x))
  + return (h * (direction @ ffn.linear2.weight)).abs().topk(k).indices
    These are the largest contributions whatever their sign. One that pushes the other way is negative, so it is among the smallest.
the_smallest
  + h = torch.relu(ffn.linear1(x))
  + return (h * (direction @ ffn.linear2.weight)).argsort()[:k]
    These are the smallest contributions: the order is ascending. Take the other end, or `descending=True`.
by_length_of_value: return ffn.linear2.weight.norm(dim=0).topk(k).indices
    These are the neurons with the longest values. Long is not along: the direction was not used.
by_length_of_row: return (torch.relu(ffn.linear1(x)) * ffn.linear2.weight.norm(dim=0)).topk(k).indices
    These are the neurons that write most, h_j times the length of the value, in whatever direction. Take the part along `direction`.
without_the_coefficient: return (direction @ ffn.linear2.weight).topk(k).indices
    These are the neurons whose values point along the direction, whether they fire for x or not. A silent neuron adds nothing: multiply by h_j.
before_activation: return (ffn.linear1(x) * (direction @ ffn.linear2.weight)).topk(k).indices
    The coefficients were taken before the activation: a neuron below zero is silent, and adds nothing.
by_another_activation: return (F.gelu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k).indices
    Another activation than this FFN's was used. It is ReLU here: `ffn.activation` is the function.
cut_at_zero: return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).clamp(min=0).topk(k).indices
    Negative contributions were set to zero before the choice. Where every neuron pushes the other way, the largest are those that push least.
along_the_keys: return (torch.relu(ffn.linear1(x)) * (ffn.linear1.weight @ direction)).topk(k).indices
    The direction was compared with the keys. What a neuron writes is its value, in `linear2`.
by_cosine
  + along = F.cosine_similarity(ffn.linear2.weight.T, direction[None], dim=1)
  + return (torch.relu(ffn.linear1(x)) * along).topk(k).indices
    The values were scaled to length 1 (a cosine). A longer value adds more: take the plain dot product.
without_bias: return (torch.relu(ffn.linear1.weight @ x) * (direction @ ffn.linear2.weight)).topk(k).indices
    `b1` is missing in the coefficients: other neurons fire then.
wrong_axis
  + rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
  + return (rows * direction).sum(dim=0).topk(k).indices
    These are indices into the d_model outputs, not of neurons: the sum runs over the neurons. Sum over d_model, to keep one number per neuron.
contributions: return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k).values
    The contributions themselves came back. Their places are asked for: `topk(...).indices`.
both_of_topk: return tuple((torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k))
    `topk` returns a pair, values and indices. Only the indices are asked for.
all_of_them: return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).argsort(descending=True)
    All neurons came back, in order. Only the first k are asked for.
a_mask
  + c = torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)
  + return c >= c.topk(k).values.min()
    A mask of True and False over all neurons came back. The numbers of the k neurons are asked for.
off_by_one
  + order = (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).argsort(descending=True)
  + return order[1 : k + 1]
    The slice leaves out the largest: `[-k:-1]` ends before the last entry, and `[1:k + 1]` begins after the first.
| without_the_last: return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).argsort()[-k:-1]
argmax: return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).argmax()
    Only the neuron with the largest contribution came back (`argmax`). k of them are asked for; for k = 1 still as a tensor of one entry.
in_place
  + direction /= direction.norm()
  + return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k).indices
    The neurons are right, but x, the direction or a weight was changed in place on the way (`*=`, `mul_`, `relu_` on your input). Make new tensors.
one_too_many: return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k + 1).indices
    One neuron too many came back: a slice `[:k + 1]` has k + 1 entries.
sums_of_rows
  + rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
  + return rows.sum(dim=1).topk(k).indices
    The direction was not used: these are the neurons whose rows have the largest sums. Multiply by `direction` before you sum.
a_column
  + rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
  + return (rows @ direction[:, None]).topk(k, dim=0).indices
    The result is a column [k, 1]. The product with `direction` must be a vector [d_ff]: `rows @ direction`, without a new axis.
direction_as_token: return torch.relu(ffn.linear1(direction)).topk(k).indices
    The direction went into the FFN as if it were the token. x decides which neurons fire, the direction where their values should point.
""")
