"""What is right, and what goes wrong, in `silence_strongest` of notebook 06."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import memory as exercises

silence_strongest = Key(exercises.silence_strongest, namespace={"copy": copy})


@silence_strongest.truth
def neuron_by_neuron(ffn, x, direction, k):
    """Contributions in Python floats, sorted; a module that adds up the other neurons in a loop."""
    W1, b1, W2 = ffn.linear1.weight.tolist(), ffn.linear1.bias.tolist(), ffn.linear2.weight.T.tolist()
    contributions = []
    for key, bias, value in zip(W1, b1, W2, strict=True):
        h = max(0.0, bias + sum(a * b for a, b in zip(key, x.tolist(), strict=True)))
        contributions.append(h * sum(a * b for a, b in zip(value, direction.tolist(), strict=True)))
    gone = sorted(range(len(b1)), key=lambda j: -contributions[j])[:k]

    class Slow(nn.Module):
        def forward(self, x):
            total = ffn.linear2.bias.detach().clone().expand(x.shape).clone()
            for j in range(len(b1)):
                if j not in gone:
                    h = (x @ ffn.linear1.weight[j] + ffn.linear1.bias[j]).clamp(min=0)
                    total = total + h[..., None] * ffn.linear2.weight[:, j]
            return total

    return Slow()


@silence_strongest.base
@silence_strongest.right("a copy whose neurons never fire: key and b1 are zero")
def never_fires(ffn, x, direction, k):
    h = torch.relu(ffn.linear1(x))
    along = direction @ ffn.linear2.weight
    idx = (h * along).topk(k).indices
    other = copy.deepcopy(ffn)
    other.linear1.weight.data[idx] = 0
    other.linear1.bias.data[idx] = 0
    return other


@silence_strongest.right("from the rows, with a mask")
def with_a_mask(ffn, x, direction, k):
    written = ffn.activation(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
    mask = torch.ones_like(ffn.linear1.bias)
    mask[(written @ direction).argsort()[-k:]] = 0

    class MaskedNeurons(nn.Module):
        def forward(self, x):
            return ffn.linear2(mask * ffn.activation(ffn.linear1(x)))

    return MaskedNeurons()


@silence_strongest.right("a smaller FFN, from the neurons that are left")
def smaller(ffn, x, direction, k):
    pushes = F.relu(x @ ffn.linear1.weight.T + ffn.linear1.bias) * (ffn.linear2.weight.T @ direction)
    left = pushes.argsort(descending=True)[k:]
    other = copy.deepcopy(ffn)
    other.linear1.weight = nn.Parameter(ffn.linear1.weight.detach()[left])
    other.linear1.bias = nn.Parameter(ffn.linear1.bias.detach()[left])
    other.linear2.weight = nn.Parameter(ffn.linear2.weight.detach()[:, left])
    return other


@silence_strongest.right("in a loop, the largest again and again")
def again_and_again(ffn, x, direction, k):
    silent = copy.deepcopy(ffn).requires_grad_(False)
    for _ in range(k):
        pushes = torch.relu(silent.linear1(x)) * (direction @ silent.linear2.weight)
        pushes = torch.where(silent.linear2.weight.abs().sum(0) == 0, -torch.inf, pushes)
        silent.linear2.weight[:, pushes.argmax()] = 0
    return silent


silence_strongest.slips("""
# which neurons
in (h * along).topk(k).indices
smallest: (h * along).topk(k, largest=False).indices
    These are the k neurons that push most against the direction. Those with the largest contribution are asked for.
by_size_without_sign: (h * along).abs().topk(k).indices
    The sign is gone: a neuron that pushes the other way is not among the strongest, however far it pushes.
that_fire_most: h.topk(k).indices
    These neurons fire most, wherever they push. How much a neuron adds along the direction depends on its value as well.
by_values_alone: along.topk(k).indices
    These are the neurons whose values point along the direction, whether they fire for x or not. A silent neuron adds nothing: multiply by h_j.
before_activation: (ffn.linear1(x) * along).topk(k).indices
    The coefficients were taken before the activation: a neuron below zero is silent, and adds nothing.
cut_at_zero: (h * along).clamp(min=0).topk(k).indices
    Negative contributions were set to zero before the choice. Where every neuron pushes the other way, the largest are those that push least.
along_the_keys: (h * (ffn.linear1.weight @ direction)).topk(k).indices
    The direction was compared with the keys. What a neuron writes is its value, in `linear2`.
by_cosine: (h * F.cosine_similarity(ffn.linear2.weight.T, direction[None], dim=1)).topk(k).indices
    The values were scaled to length 1 (a cosine). A longer value adds more: take the plain dot product.
off_by_one: (h * along).argsort(descending=True)[1 : k + 1]
    The slice leaves out the largest: `[-k:-1]` ends before the last entry, and `[1:k + 1]` begins after the first.
| without_the_last: (h * along).argsort()[-k:-1]
one_too_many: (h * along).topk(k + 1).indices
    One neuron too many is silent: a slice `[:k + 1]` has k + 1 entries.
only_the_strongest: (h * along).topk(1).indices
    Only the strongest neuron is silent. k of them are asked for.
sums_of_rows: (h * ffn.linear2.weight.sum(0)).topk(k).indices
    The direction was not used: these are the neurons whose rows have the largest sums. Multiply by `direction` before you sum.
direction_as_token: torch.relu(ffn.linear1(direction)).topk(k).indices
    The direction went into the FFN as if it were the token. x decides which neurons fire, the direction where their values should point.
wrong_axis: (h[:, None] * ffn.linear2.weight.T * direction).sum(dim=0).topk(k).indices
    These are indices into the d_model outputs, not of neurons: the sum runs over the neurons. Sum over d_model, to keep one number per neuron.
in
  - other.linear1.weight.data[idx] = 0
  - other.linear1.bias.data[idx] = 0
# how they are silenced
keys_alone: other.linear1.weight.data[idx] = 0
    Only the key is zero. The neuron still adds up b1[j], and relu(b1[j]) leaks through: set its value, or its bias as well, to zero.
rows_silenced: other.linear2.weight.data[idx] = 0
    You set rows of `linear2.weight` to zero. Row i collects what all neurons write to output i. What neuron j writes is column j: `linear2.weight[:, j]`.
b1_alone: other.linear1.bias.data[idx] = 0
    Only b1 is zero. The neuron still responds to the token through its key: what must be zero is what it writes.
b2_too
  + other.linear2.weight.data[:, idx] = 0
  + other.linear2.bias.data.zero_()
    `b2` went as well. It belongs to no neuron, and stays whatever is silenced.
all_others
  + other.linear2.weight.data.zero_()
  + other.linear2.weight.data[:, idx] = ffn.linear2.weight.data[:, idx]
    It is the other way round: only the strongest neurons are left, and all others are silent.
sign_turned: other.linear2.weight.data[:, idx] *= -1
    The neurons' values changed their sign. They must write nothing, not the opposite.
without_no_grad: other.linear2.weight[:, idx] = 0
    A weight that learns must not be changed in place while gradients are recorded: do it under `with torch.no_grad():`, or on `.data`.
the_first_ones: other.linear2.weight.data[:, :k] = 0
    Other neurons are silent than the strongest: the first k. The numbers of the strongest are the indices that `topk` returns.
scaled_up
  + f = other.linear2.weight.shape[1]
  + other.linear2.weight.data[:, idx] = 0
  + other.linear2.weight.data *= f / (f - k)
    The neurons that are left were scaled up, as dropout does in training. Leave them as they are.
in
  - other = copy.deepcopy(ffn)
  - other.linear1.weight.data[idx] = 0
  - other.linear1.bias.data[idx] = 0
  - return other
# what comes back
permanent
  + with torch.no_grad():
  +     ffn.linear2.weight[:, idx] = 0
  + return ffn
    The neurons are silent for good: `ffn` itself was changed. Work on `copy.deepcopy(ffn)`; a new name, or `copy.copy`, is no copy of the weights.
| shallow_copy
  + other = copy.copy(ffn)
  + other.linear2.weight.data[:, idx] = 0
  + return other
nothing: return copy.deepcopy(ffn)
    Nothing is silent: what came back computes what `ffn` does. (Is the change made to the copy that you return?)
| a_copy_of_the_column
  + other = copy.deepcopy(ffn)
  + column = other.linear2.weight.detach()[:, idx].clone()
  + column.zero_()
  + return other
the_numbers: return idx
    A tensor came back: the numbers of the neurons, or an output. A module in which the neurons are silent is asked for, so that any token can be put
    through it.
| the_output
  + other = copy.deepcopy(ffn)
  + other.linear2.weight.data[:, idx] = 0
  + return other(x)
no_return
  + other = copy.deepcopy(ffn)
  + other.linear2.weight.data[:, idx] = 0
    The function ends without `return`: nothing came back.
a_state_dict
  + state = copy.deepcopy(ffn.state_dict())
  + state["linear2.weight"][:, idx] = 0
  + return state
    The weights came back, as a dict. Load them into a copy of `ffn`, and return that module.
a_function
  + other = copy.deepcopy(ffn)
  + other.linear2.weight.data[:, idx] = 0
  + return lambda tokens: other(tokens)
    A function came back. Return the module itself: a changed copy of `ffn`.
residual
  + other = copy.deepcopy(ffn)
  + other.linear2.weight.data[:, idx] = 0
  + class WithResidual(nn.Module):
  +     def forward(self, tokens):
  +         return tokens + other(tokens)
  + return WithResidual()
    x was added to the output, as a residual. Only the neurons change; the rest of the FFN stays what it was.
in direction @ ffn.linear2.weight
rows_of_linear2: ffn.linear2.weight.reshape(-1, len(x)) @ direction
    The numbers of `linear2.weight` are in the wrong places: neuron j's value is column j, `weight[:, j]`.
in torch.relu(ffn.linear1(x))
without_bias: torch.relu(ffn.linear1.weight @ x)
    `b1` is missing in the coefficients: other neurons fire then.
""")


@silence_strongest.mistake(
    "The neurons are right, but x or the direction was changed in place on the way (`*=`, `/=`, `mul_` on your input). Make new tensors."
)
def in_place(ffn, x, direction, k):
    direction /= direction.norm()
    idx = (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k).indices
    other = copy.deepcopy(ffn)
    other.linear2.weight.data[:, idx] = 0
    return other


@silence_strongest.mistake(
    "The strongest neurons are looked for again in every call. They are those of x, so find them once, and silence the same ones for every token."
)
def anew_for_each_token(ffn, x, direction, k):
    class Anew(nn.Module):
        def forward(self, tokens):
            h = ffn.activation(ffn.linear1(tokens)).clone()
            strongest = (h * (direction @ ffn.linear2.weight)).topk(k, dim=-1).indices
            return ffn.linear2(h.scatter(-1, strongest, 0.0))

    return Anew()
