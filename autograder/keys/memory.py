"""The marking guide of notebook 06, What the FFN stores.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: contextlib, copy, torch, F and nn.
"""

from __future__ import annotations

import contextlib
import copy

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import memory as exercises

# decompose_output

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


# top_neurons

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


@top_neurons.mistake(
    "These are the neurons that fire most strongly. A strong neuron may write in another direction: multiply by what its value gives along `direction`."
)
def by_coefficient(ffn, x, direction, k):
    return torch.relu(ffn.linear1(x)).topk(k).indices


@top_neurons.mistake(
    "These are the largest contributions whatever their sign. One that pushes the other way is negative, so it is among the smallest."
)
def by_size(ffn, x, direction, k):
    h = torch.relu(ffn.linear1(x))
    return (h * (direction @ ffn.linear2.weight)).abs().topk(k).indices


@top_neurons.mistake(
    "These are the smallest contributions: the order is ascending. Take the other end, or `descending=True`."
)
def the_smallest(ffn, x, direction, k):
    h = torch.relu(ffn.linear1(x))
    return (h * (direction @ ffn.linear2.weight)).argsort()[:k]


@top_neurons.mistake("These are the neurons with the longest values. Long is not along: the direction was not used.")
def by_length_of_value(ffn, x, direction, k):
    return ffn.linear2.weight.norm(dim=0).topk(k).indices


@top_neurons.mistake(
    "These are the neurons that write most, h_j times the length of the value, in whatever direction. Take the part along `direction`."
)
def by_length_of_row(ffn, x, direction, k):
    return (torch.relu(ffn.linear1(x)) * ffn.linear2.weight.norm(dim=0)).topk(k).indices


@top_neurons.mistake(
    "These are the neurons whose values point along the direction, whether they fire for x or not. A silent neuron adds nothing: multiply by h_j."
)
def without_the_coefficient(ffn, x, direction, k):
    return (direction @ ffn.linear2.weight).topk(k).indices


@top_neurons.mistake(
    "The coefficients were taken before the activation: a neuron below zero is silent, and adds nothing."
)
def before_activation(ffn, x, direction, k):
    return (ffn.linear1(x) * (direction @ ffn.linear2.weight)).topk(k).indices


@top_neurons.mistake("Another activation than this FFN's was used. It is ReLU here: `ffn.activation` is the function.")
def by_another_activation(ffn, x, direction, k):
    return (F.gelu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k).indices


@top_neurons.mistake(
    "Negative contributions were set to zero before the choice. Where every neuron pushes the other way, the largest are those that push least."
)
def cut_at_zero(ffn, x, direction, k):
    return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).clamp(min=0).topk(k).indices


@top_neurons.mistake("The direction was compared with the keys. What a neuron writes is its value, in `linear2`.")
def along_the_keys(ffn, x, direction, k):
    return (torch.relu(ffn.linear1(x)) * (ffn.linear1.weight @ direction)).topk(k).indices


@top_neurons.mistake(
    "The values were scaled to length 1 (a cosine). A longer value adds more: take the plain dot product."
)
def by_cosine(ffn, x, direction, k):
    along = F.cosine_similarity(ffn.linear2.weight.T, direction[None], dim=1)
    return (torch.relu(ffn.linear1(x)) * along).topk(k).indices


@top_neurons.mistake("`b1` is missing in the coefficients: other neurons fire then.")
def without_bias(ffn, x, direction, k):
    return (torch.relu(ffn.linear1.weight @ x) * (direction @ ffn.linear2.weight)).topk(k).indices


@top_neurons.mistake(
    "These are indices into the d_model outputs, not of neurons: the sum runs over the neurons. Sum over d_model, to keep one number per neuron."
)
def wrong_axis(ffn, x, direction, k):
    rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
    return (rows * direction).sum(dim=0).topk(k).indices


@top_neurons.mistake("The contributions themselves came back. Their places are asked for: `topk(...).indices`.")
def contributions(ffn, x, direction, k):
    return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k).values


@top_neurons.mistake("`topk` returns a pair, values and indices. Only the indices are asked for.")
def both_of_topk(ffn, x, direction, k):
    return tuple((torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k))


@top_neurons.mistake("All neurons came back, in order. Only the first k are asked for.")
def all_of_them(ffn, x, direction, k):
    return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).argsort(descending=True)


@top_neurons.mistake("A mask of True and False over all neurons came back. The numbers of the k neurons are asked for.")
def a_mask(ffn, x, direction, k):
    c = torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)
    return c >= c.topk(k).values.min()


@top_neurons.mistake(
    "The slice leaves out the largest: `[-k:-1]` ends before the last entry, and `[1:k + 1]` begins after the first."
)
def off_by_one(ffn, x, direction, k):
    order = (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).argsort(descending=True)
    return order[1 : k + 1]


@top_neurons.mistake(
    "Only the neuron with the largest contribution came back (`argmax`). k of them are asked for; for k = 1 still as a tensor of one entry."
)
def argmax(ffn, x, direction, k):
    return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).argmax()


@top_neurons.mistake(
    "The neurons are right, but x, the direction or a weight was changed in place on the way (`*=`, `mul_`, `relu_` on your input). Make new tensors."
)
def in_place(ffn, x, direction, k):
    direction /= direction.norm()
    return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k).indices


@top_neurons.form(off_by_one)
def without_the_last(ffn, x, direction, k):
    return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).argsort()[-k:-1]


@top_neurons.mistake("One neuron too many came back: a slice `[:k + 1]` has k + 1 entries.")
def one_too_many(ffn, x, direction, k):
    return (torch.relu(ffn.linear1(x)) * (direction @ ffn.linear2.weight)).topk(k + 1).indices


@top_neurons.mistake(
    "The direction was not used: these are the neurons whose rows have the largest sums. Multiply by `direction` before you sum."
)
def sums_of_rows(ffn, x, direction, k):
    rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
    return rows.sum(dim=1).topk(k).indices


@top_neurons.mistake(
    "The result is a column [k, 1]. The product with `direction` must be a vector [d_ff]: `rows @ direction`, without a new axis."
)
def a_column(ffn, x, direction, k):
    rows = torch.relu(ffn.linear1(x))[:, None] * ffn.linear2.weight.T
    return (rows @ direction[:, None]).topk(k, dim=0).indices


@top_neurons.mistake(
    "The direction went into the FFN as if it were the token. x decides which neurons fire, the direction where their values should point."
)
def direction_as_token(ffn, x, direction, k):
    return torch.relu(ffn.linear1(direction)).topk(k).indices


# knockout

knockout = Key(exercises.knockout, given={"contextlib": contextlib, "copy": copy})


@knockout.truth
def coefficient_by_coefficient(ffn, idx):
    """A module of its own that computes every neuron in a loop and leaves out those in idx."""
    out_of_order = {int(j) for j in idx}

    class Slow(nn.Module):
        def forward(self, x):
            total = ffn.linear2.bias.detach().clone().expand(x.shape).clone()
            for j in range(len(ffn.linear1.bias)):
                if j not in out_of_order:
                    h = (x @ ffn.linear1.weight[j] + ffn.linear1.bias[j]).clamp(min=0)
                    total = total + h[..., None] * ffn.linear2.weight[:, j]
            return total

    return Slow()


@knockout.right("a context manager that puts the weights back")
def as_context_manager(ffn, idx):
    @contextlib.contextmanager
    def silenced():
        kept = ffn.linear2.weight.detach().clone()
        try:
            with torch.no_grad():
                ffn.linear2.weight[:, idx] = 0
            yield ffn
        finally:
            with torch.no_grad():
                ffn.linear2.weight.copy_(kept)

    return silenced()


@knockout.right("a copy whose neurons never fire: key and b1 are zero")
def never_fires(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear1.weight.data[idx] = 0
    other.linear1.bias.data[idx] = 0
    return other


@knockout.right("a context manager with a hook")
def with_a_hook(ffn, idx):
    def silence(layer, arguments, pre):
        pre = pre.clone()
        pre[..., idx] = 0
        return pre

    @contextlib.contextmanager
    def hooked():
        handle = ffn.linear1.register_forward_hook(silence)
        try:
            yield
        finally:
            handle.remove()

    return hooked()


@knockout.right("a module with a mask")
def with_a_mask(ffn, idx):
    class MaskedNeurons(nn.Module):
        def __init__(self):
            super().__init__()
            self.ffn = ffn
            self.mask = torch.ones_like(ffn.linear1.bias)
            self.mask[idx] = 0

        def forward(self, x):
            return self.ffn.linear2(self.mask * self.ffn.activation(self.ffn.linear1(x)))

    return MaskedNeurons()


@knockout.right("a smaller FFN, from the neurons that are left")
def smaller(ffn, idx):
    gone = set(int(j) for j in idx)
    left = [j for j in range(ffn.linear1.out_features) if j not in gone]
    other = copy.deepcopy(ffn)
    other.linear1.weight = nn.Parameter(ffn.linear1.weight.detach()[left])
    other.linear1.bias = nn.Parameter(ffn.linear1.bias.detach()[left])
    other.linear2.weight = nn.Parameter(ffn.linear2.weight.detach()[:, left])
    return other


@knockout.right("a context manager written as a class")
class AsClass:
    def __init__(self, ffn, idx):
        self.ffn, self.idx = ffn, idx

    def __enter__(self):
        self.activation = self.ffn.activation

        def silenced(pre):
            h = self.activation(pre).clone()
            h[..., self.idx] = 0
            return h

        self.ffn.activation = silenced
        return self.ffn

    def __exit__(self, *error):
        self.ffn.activation = self.activation


@knockout.mistake(
    "Only the key is zero. The neuron still adds up b1[j], and relu(b1[j]) leaks through: set its value, or its bias as well, to zero."
)
def keys_alone(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear1.weight.data[idx] = 0
    return other


@knockout.mistake(
    "Only b1 is zero. The neuron still responds to the token through its key: what must be zero is what it writes."
)
def b1_alone(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear1.bias.data[idx] = 0
    return other


@knockout.mistake(
    "`linear2.weight[idx]` takes rows, and a row is one of the d_model outputs. Neuron j's value is column j: `weight[:, idx]`."
)
def rows_of_linear2(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear2.weight.data[idx] = 0
    return other


@knockout.mistake(
    "These are entries of the input x, or columns of `linear1.weight`, which belong to them. Neurons are entries of the hidden layer: neuron j's key is row j."
)
def columns_of_linear1(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear1.weight.data[:, idx] = 0
    return other


@knockout.mistake(
    "The knock-out is permanent: `ffn` itself was changed, and stays so. Work on `copy.deepcopy(ffn)`; a new name, or `copy.copy`, is no copy of the weights."
)
def permanent(ffn, idx):
    with torch.no_grad():
        ffn.linear2.weight[:, idx] = 0
    return ffn


@knockout.form(permanent)
def shallow_copy(ffn, idx):
    other = copy.copy(ffn)
    with torch.no_grad():
        other.linear2.weight[:, idx] = 0
    return other


@knockout.form(permanent)
def never_put_back(ffn, idx):
    @contextlib.contextmanager
    def silenced():
        with torch.no_grad():
            ffn.linear2.weight[:, idx] = 0
        yield ffn

    return silenced()


@knockout.form(permanent)
def kept_no_copy(ffn, idx):
    @contextlib.contextmanager
    def silenced():
        kept = ffn.linear2.weight.data
        ffn.linear2.weight.data[:, idx] = 0
        yield ffn
        ffn.linear2.weight.data = kept

    return silenced()


@knockout.mistake(
    "The weights are as before, but `ffn` still computes without the neurons: a hook, or another activation, was left in place. Remove it at the end."
)
def hook_left_in_place(ffn, idx):
    def silence(layer, arguments, pre):
        pre = pre.clone()
        pre[..., idx] = 0
        return pre

    ffn.linear1.register_forward_hook(silence)
    return ffn


@knockout.mistake("`b2` went as well. It belongs to no neuron, and stays whatever is knocked out.")
def b2_too(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear2.weight.data[:, idx] = 0
    other.linear2.bias.data.zero_()
    return other


@knockout.mistake("It is the other way round: only the neurons in `idx` are left, and all others are silent.")
def all_others(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear2.weight.data.zero_()
    other.linear2.weight.data[:, idx] = ffn.linear2.weight.data[:, idx]
    return other


@knockout.mistake(
    "Nothing is knocked out: what came back computes what `ffn` does. (Is the change made to the copy that you return?)"
)
def nothing(ffn, idx):
    return copy.deepcopy(ffn)


@knockout.form(nothing)
def a_copy_of_the_column(ffn, idx):
    other = copy.deepcopy(ffn)
    column = other.linear2.weight.detach()[:, idx].clone()
    column.zero_()
    return other


@knockout.mistake("Only the first neuron of `idx` is knocked out. All of them must be silent at the same time.")
def the_first_alone(ffn, idx):
    other = copy.deepcopy(ffn)
    for j in idx:
        other.linear2.weight.data[:, j] = 0
        break
    return other


@knockout.mistake(
    "The neurons that are left were scaled up, as dropout does in training. A knock-out leaves them as they are."
)
def scaled_up(ffn, idx):
    other = copy.deepcopy(ffn)
    f = other.linear2.weight.shape[1]
    other.linear2.weight.data[:, idx] = 0
    other.linear2.weight.data *= f / max(f - len(idx), 1)
    return other


@knockout.mistake("The neurons' values changed their sign. They must write nothing, not the opposite.")
def sign_turned(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear2.weight.data[:, idx] *= -1
    return other


@knockout.form(columns_of_linear1)
def input_entries(ffn, idx):
    class SilencedInputs(nn.Module):
        def forward(self, x):
            x = x.clone()
            x[..., idx] = 0
            return ffn(x)

    return SilencedInputs()


@knockout.mistake(
    "`torch.tensor(idx)` of an empty list is a float tensor, which is no index. Use `idx` as it is, or `torch.as_tensor(idx, dtype=torch.long)`."
)
def tensor_of_a_list(ffn, idx):
    other = copy.deepcopy(ffn)
    if not isinstance(idx, torch.Tensor):
        idx = torch.tensor(idx)
    other.linear2.weight.data[:, idx] = 0
    return other


@knockout.mistake(
    "A function came back. Put the computation into the `forward` of an nn.Module, or return a changed copy of `ffn`."
)
def a_function(ffn, idx):
    def run(x):
        h = ffn.activation(ffn.linear1(x)).clone()
        h[..., idx] = 0
        return ffn.linear2(h)

    return run


@knockout.mistake("A generator came back: `@contextlib.contextmanager` is missing over the function.")
def undecorated(ffn, idx):
    kept = ffn.linear2.weight.detach().clone()
    ffn.linear2.weight.data[:, idx] = 0
    yield ffn
    ffn.linear2.weight.data.copy_(kept)


@knockout.mistake(
    "The function ends without `return`: nothing came back, and if it changed `ffn`, that is still changed."
)
def no_return(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear2.weight.data[:, idx] = 0


@knockout.mistake(
    "x was added to the output, as a residual. Only the neurons change; the rest of the FFN stays what it was."
)
def residual(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear2.weight.data[:, idx] = 0

    class WithResidual(nn.Module):
        def forward(self, x):
            return x + other(x)

    return WithResidual()


@knockout.mistake(
    "A weight that learns must not be changed in place while gradients are recorded: do it under `with torch.no_grad():`, or on `.data`."
)
def without_no_grad(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear2.weight[:, idx] = 0
    return other


@knockout.mistake(
    "It fails for a single token: `h[:, idx]` needs two dimensions. `h[..., idx]` takes any number of them."
)
def two_dimensions_only(ffn, idx):
    class SilencedColumns(nn.Module):
        def forward(self, x):
            h = ffn.activation(ffn.linear1(x)).clone()
            h[:, idx] = 0
            return ffn.linear2(h)

    return SilencedColumns()


@knockout.mistake(
    "Other neurons are silent than those in `idx`: the first ones, as many as `idx` is long. `idx` holds their numbers."
)
def the_first_ones(ffn, idx):
    other = copy.deepcopy(ffn)
    other.linear2.weight.data[:, : len(idx)] = 0
    return other


@knockout.mistake("The weights came back, as a dict. Load them into a copy of `ffn`, and return that module.")
def a_state_dict(ffn, idx):
    state = copy.deepcopy(ffn.state_dict())
    state["linear2.weight"][:, idx] = 0
    return state


@knockout.mistake(
    "A tensor comes back: an output for an x of your own. Whoever calls the function has the x, and needs a module or a context manager to put it through."
)
def output_of_an_x_of_its_own(ffn, idx):
    x = torch.randn(3, ffn.linear1.in_features, dtype=ffn.linear1.weight.dtype)
    h = ffn.activation(ffn.linear1(x))
    h[:, idx] = 0
    return ffn.linear2(h)


# spare_counterexample

spare_counterexample = Key(exercises.spare_counterexample)
spare_counterexample.value(
    "truth",
    "third_undoes_two",
    "",
    [[1.0, 0.0, 2.0], [1.0, 3.0, 0.0], [-2.0, -3.0, -2.0]],
)
spare_counterexample.value(
    "right",
    "whole_numbers",
    "whole numbers, in tuples",
    ((1, 2, 0), (3, -1, 5), (-4, -1, -5)),
)
spare_counterexample.value(
    "right",
    "decimals",
    "decimals that do not add up exactly",
    [[0.1, 1.0, 0.7], [0.2, 1.0, 0.1], [-0.3, -2.0, -0.8]],
)
spare_counterexample.value(
    "right",
    "a_tensor",
    "a tensor [3, 3]",
    torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 0.0]]),
)
spare_counterexample.value(
    "right",
    "one_number_twice",
    "two neurons write the same",
    [[-2, 4, 2], [1, -2, -1], [1, -2, -1]],
)
spare_counterexample.value(
    "mistake",
    "two_undo_each_other",
    "Two of your neurons undo each other, so both can be cut. The code finds that: it tries every two neurons. Which groups does it not try?",
    [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]],
)
spare_counterexample.value(
    "mistake",
    "writes_nothing",
    "One of your neurons writes nothing, so it can be cut. The code finds that: it tries every neuron alone.",
    [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]],
)
spare_counterexample.value(
    "mistake",
    "nothing_to_cut",
    "No group of your neurons can be cut without changing the output, and the code says so. A group can go if what it writes adds up "
    "to 0, in every number of the output.",
    [[1.0, 2.0, 0.0], [-1.0, 2.0, 1.0], [0.5, -3.0, 1.0]],
)
spare_counterexample.value(
    "mistake",
    "a_fourth_neuron",
    "Your classmate's code is wrong on it, well found. A smaller network shows it as well: three neurons are enough.",
    [[1.0, 0.0, 1.0], [1.0, 2.0, 1.0], [1.0, 0.0, 0.0], [-3.0, -2.0, -2.0]],
)
spare_counterexample.value(
    "mistake",
    "a_flat_list",
    "Your numbers are in one list. Every neuron has a list of its own, with three numbers in it.",
    [1.0, 1.0, -2.0],
)
spare_counterexample.value(
    "mistake",
    "unequal",
    "One of your neurons does not write three numbers. All of them write to the same three outputs.",
    [[1.0, 2.0, 0.0], [1.0], [-2.0]],
)


# train_fact_ffn

train_fact_ffn = Key(exercises.train_fact_ffn)


@train_fact_ffn.truth
def by_hand_written_adam(E, U, y, d_ff, steps):
    """Adam with its formulas written out for each parameter; an optimiser of torch only counts the steps."""
    module = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))
    parameters = list(module.parameters())
    first, second = [torch.zeros_like(p) for p in parameters], [torch.zeros_like(p) for p in parameters]
    counter = torch.optim.SGD(parameters, lr=0.0)
    for step in range(1, steps + 1):
        logits = (E + module(E)) @ U.T
        loss = (logits.logsumexp(1) - logits[torch.arange(len(y)), y]).mean()
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g, m, v in zip(parameters, gradients, first, second, strict=True):
                m.mul_(0.9).add_(0.1 * g)
                v.mul_(0.999).add_(0.001 * g * g)
                p -= 0.01 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
        counter.step()
    return module


@train_fact_ffn.right("a class, without the residual")
def without_residual(E, U, y, d_ff, steps):
    class Store(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.linear1 = nn.Linear(d, d_ff)
            self.linear2 = nn.Linear(d_ff, d)

        def forward(self, x):
            return self.linear2(F.relu(self.linear1(x)))

    store = Store(E.size(1))
    opt = torch.optim.Adam(store.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = F.cross_entropy(store(E) @ U.T, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return store


@train_fact_ffn.right("AdamW, the residual inside the module, fewer steps than allowed")
def residual_inside(E, U, y, d_ff, steps):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(E.shape[1], d_ff), nn.Linear(d_ff, E.shape[1])

        def forward(self, x):
            return x + self.down(torch.relu(self.up(x)))

    block = Block()
    optimiser = torch.optim.AdamW(block.parameters(), lr=0.02)
    criterion = nn.CrossEntropyLoss()
    for _ in range(min(steps, 200)):
        optimiser.zero_grad()
        criterion(block(E).matmul(U.t()), y).backward()
        optimiser.step()
    return block


@train_fact_ffn.right("SGD with momentum and a large step, GELU")
def by_momentum(E, U, y, d_ff, steps):
    ffn = nn.Sequential(nn.Linear(E.shape[-1], d_ff), nn.GELU(), nn.Linear(d_ff, E.shape[-1]))
    opt = torch.optim.SGD(ffn.parameters(), lr=0.3, momentum=0.9)
    for _ in range(steps):
        opt.zero_grad(set_to_none=True)
        F.nll_loss(F.log_softmax((E + ffn(E)) @ U.T, dim=1), y).backward()
        opt.step()
    return ffn


def _store(name: str, message: str, loop: str, layers: str = "", ending: str = "return ffn", form_of: str = "") -> None:
    """A wrong answer that differs from a right one in a few lines of its loop."""
    layers = layers or "ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))"
    lines = [*layers.split("\n"), *loop.split("\n"), *ending.split("\n")]
    source = "def train_fact_ffn(E, U, y, d_ff, steps):\n" + "".join(f"    {line}\n" for line in lines)
    train_fact_ffn.typed("mistake", name, message, source, form_of)


ADAM = "opt = torch.optim.Adam(ffn.parameters(), lr=0.01)\n"
STEP = "    loss.backward()\n    opt.step()"
LOOP = "for _ in range(steps):\n    opt.zero_grad()\n    loss = F.cross_entropy((E + ffn(E)) @ U.T, y)\n" + STEP

FFN_LAYERS = "ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))\n"

TOO_SLOW = (
    "It learns, but too slowly: after all steps most facts are still unknown. The steps are too small, or each looks at one fact only. "
    "Adam with 0.01, on all facts at once, is fast enough."
)

_store(
    "learning_rate_1",
    "The steps are far too large: the weights run away and the outputs become large. For Adam 0.01 is a good learning rate here.",
    LOOP,
    layers=FFN_LAYERS + "opt = torch.optim.Adam(ffn.parameters(), lr=1.0)",
)
_store(
    "steps_too_small",
    TOO_SLOW,
    LOOP,
    layers=FFN_LAYERS + "opt = torch.optim.SGD(ffn.parameters(), lr=0.01)",
)
_store(
    "one_fact_at_a_time",
    TOO_SLOW,
    ADAM
    + "for step in range(steps):\n    n = step % len(E)\n    opt.zero_grad()\n"
    + "    loss = F.cross_entropy((E[n : n + 1] + ffn(E[n : n + 1])) @ U.T, y[n : n + 1])\n"
    + STEP,
    form_of="steps_too_small",
)
_store(
    "adam_with_small_steps",
    TOO_SLOW,
    LOOP,
    layers=FFN_LAYERS + "opt = torch.optim.Adam(ffn.parameters(), lr=0.0005)",
    form_of="steps_too_small",
)
_store(
    "towards_the_vectors",
    "Most facts are known, but not all: this is what comes of a squared error between the outputs and the vectors `U[y]`. The right score need only be the "
    "largest, and that is what the cross-entropy of the scores asks for.",
    ADAM + LOOP.replace("F.cross_entropy((E + ffn(E)) @ U.T, y)", "F.mse_loss(ffn(E), U[y])"),
)
_store(
    "softmax_twice",
    "The scores went through a softmax before the cross-entropy, which applies one itself: the gradients nearly vanish. Hand it the scores as they are.",
    ADAM + LOOP.replace("(E + ffn(E)) @ U.T", "((E + ffn(E)) @ U.T).softmax(dim=1)"),
)
_store(
    "runs_away",
    "The outputs run away without end. That happens if the loss has no lower bound: a minus before it, or the cross-entropy of the outputs with the vectors "
    "`U[y]`, where scores and the numbers `y` belong; or if gradients are never cleared.",
    ADAM + LOOP.replace("F.cross_entropy((E + ffn(E)) @ U.T, y)", "F.cross_entropy(E + ffn(E), U[y])"),
)
_store(
    "one_step",
    "The loop ends after one step, or takes its step after the loop: look at how far `optimiser.step()` and `return` are indented.",
    ADAM + LOOP + "\n    return ffn",
)
_store(
    "another_module",
    "The module that came back is not the one that the optimiser trains: one of the two is made inside the loop, or made again at the end. "
    "Make both once, before the loop.",
    "for _ in range(steps):\n    " + FFN_LAYERS + "    opt = torch.optim.Adam(ffn.parameters(), lr=0.01)\n"
    "    F.cross_entropy((E + ffn(E)) @ U.T, y).backward()\n    opt.step()\n"
    "ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))",
)
_store(
    "one_layer_trained",
    "The optimiser has only some of the module's parameters; the others stay random. Give it `ffn.parameters()`, all of them.",
    "opt = torch.optim.Adam(ffn[2].parameters(), lr=0.01)\n" + LOOP,
)
_store(
    "relu_after_the_second",
    "There is a non-linearity after the second layer as well: no output can be negative. The FFN has one, between its layers.",
    ADAM + LOOP,
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]), nn.ReLU())",
)
_store(
    "three_layers",
    "There are more weights than two layers of width `d_ff` have: a third layer, perhaps. One hidden layer is asked for.",
    ADAM + LOOP,
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))",
)
_store(
    "trains_u",
    "U was trained along with the FFN, in place. It is the read-out that everybody shares: only `ffn.parameters()` go into the optimiser.",
    "U.requires_grad_()\nopt = torch.optim.Adam([*ffn.parameters(), U], lr=0.01)\n" + LOOP,
)
_store(
    "trains_e",
    "E was trained along with the FFN, in place. The facts belong in the FFN: only `ffn.parameters()` go into the optimiser.",
    "E.requires_grad_()\nopt = torch.optim.Adam([*ffn.parameters(), E], lr=0.01)\n" + LOOP,
)
_store(
    "steps_ignored",
    "The number of steps is fixed in the code. Take as many as `steps` says, and no more.",
    ADAM + LOOP.replace("range(steps)", "range(300)"),
)
_store(
    "twice_as_many_steps",
    "More steps than `steps` says: one too many (`range(steps + 1)`), or a second loop inside, in which each batch is a step of its own.",
    ADAM
    + "for _ in range(steps):\n    for half in (slice(None, None, 2), slice(1, None, 2)):\n        opt.zero_grad()\n"
    + "        loss = F.cross_entropy((E[half] + ffn(E[half])) @ U.T, y[half])\n        loss.backward()\n        opt.step()",
)
_store(
    "width_ignored",
    "The width of the hidden layer is fixed in the code, or 4·d_model, whatever `d_ff` says.",
    ADAM + LOOP,
    layers="d = E.shape[1]\nffn = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))",
)
_store(
    "untrained",
    "Nothing was learned: no optimiser took a step. The loop needs `optimiser.step()` after `loss.backward()`.",
    ADAM + LOOP.replace("\n    opt.step()", ""),
)
_store(
    "without_backward",
    "An optimiser takes its steps, but there are no gradients to follow: `loss.backward()` is missing, or `zero_grad()` comes between it and the step.",
    ADAM + LOOP.replace("    loss.backward()\n", ""),
)
_store(
    "mean_squared_error",
    "The loss compares numbers of answers as if they were sizes: answer 7 is not nearer to 8 than to 50. Use the cross-entropy of the logits.",
    ADAM
    + "for _ in range(steps):\n    opt.zero_grad()\n"
    + "    loss = F.mse_loss(((E + ffn(E)) @ U.T).softmax(1) @ torch.arange(len(U)).float(), y.float())\n"
    + STEP,
)
_store(
    "no_zero_grad",
    "The gradients are never cleared, so that each step follows the sum of all gradients so far. `optimiser.zero_grad()` comes first in the loop.",
    ADAM + LOOP.replace("    opt.zero_grad()\n", ""),
)
_store(
    "only_the_first_half",
    "Only a part of the facts was learned, perhaps one batch. Show the FFN all of them in every step.",
    ADAM + LOOP.replace("(E + ffn(E))", "(E[:128] + ffn(E[:128]))").replace(", y)", ", y[:128])"),
)
_store(
    "no_activation",
    "There is no activation between the two layers: together they are one matrix, however many neurons there are.",
    ADAM + LOOP,
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.Linear(d_ff, E.shape[1]))",
)
_store(
    "returns_the_loss",
    "The loss came back. The trained module is asked for.",
    ADAM + LOOP,
    ending="return loss.item()",
)
_store(
    "returns_nothing",
    NO_RETURN,
    ADAM + LOOP,
    ending="return",
)
_store(
    "returns_the_output",
    "What the module gives for E came back. The module itself is asked for.",
    ADAM + LOOP,
    ending="return ffn(E)",
)
_store(
    "logits_as_output",
    "The module returns logits, [N, C]. It maps a vector of d_model numbers to one of d_model numbers; `@ U.T` comes after it.",
    ADAM + LOOP.replace("(E + ffn(E)) @ U.T", "ffn(E)"),
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, len(U)))",
)
_store(
    "dropout_left_on",
    "Calling the module twice gives two outputs: something random, such as `F.dropout` without `self.training`, is still at work in eval mode.",
    ADAM + LOOP,
    layers="class Noisy(nn.Sequential):\n    def forward(self, x):\n        return F.dropout(super().forward(x), 0.3)\n"
    "ffn = Noisy(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))",
)


TABLE = "class Table(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.up, self.down = nn.Linear(E.shape[1], 1), nn.Linear(1, 1)\n"
_store(
    "a_table",
    "The module looks its answer up: it returns the answer of the nearest question, and nothing between the questions. Facts belong in the weights of two "
    "layers, put there by gradient steps.",
    "opt = torch.optim.Adam(ffn.parameters(), lr=0.01)\nfor _ in range(steps):\n    opt.zero_grad()\n"
    "    ffn.up(E).sum().backward()\n    opt.step()",
    layers=TABLE + "    def forward(self, x):\n        return 100 * U[y[torch.cdist(x, E).argmin(1)]]\nffn = Table()",
)
_store(
    "weights_computed",
    "The facts are known after a single step already, so no gradient steps put them there: weights were computed, or there are more steps than `steps` says.",
    "h = torch.relu(ffn[0](E))\nwith torch.no_grad():\n    ffn[2].weight.copy_(torch.linalg.lstsq(h, 100 * U[y]).solution.T)\n"
    + ADAM,
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], 40 * d_ff), nn.ReLU(), nn.Linear(40 * d_ff, E.shape[1]))",
)


_store(
    "adam_with_its_own_rate",
    "It learns, but not far enough in these steps. Adam's own learning rate is 0.001; with 0.01 it knows all facts.",
    LOOP,
    layers=FFN_LAYERS + "opt = torch.optim.Adam(ffn.parameters())",
)


# write_fact

write_fact = Key(exercises.write_fact)


@write_fact.truth
def twice_as_strong_until_it_leads(ffn, E, U, n, c):
    """The threshold half way between two sorted matches; the push along U[c] doubled until the answer, asked again, is the new one by far."""
    matches = sorted(float(sum(a * b for a, b in zip(row.tolist(), E[n].tolist(), strict=True))) for row in E)
    bias = -(matches[-1] + matches[-2]) / 2
    h, strength = matches[-1] + bias, 1.0
    while True:
        out = E[n] + ffn(E[n]).detach() + h * strength * U[c]
        scores = [float(out @ answer) for answer in U]
        if all(scores[c] - score >= 2 for k, score in enumerate(scores) if k != c):
            return E[n].clone(), bias, strength * U[c]
        strength *= 2


@write_fact.right("a key of length 1, and a push that is large enough for anything")
def unit_key_and_a_great_push(ffn, E, U, n, c):
    key = F.normalize(E[n], dim=0)
    best, second = torch.topk(E @ key, 2).values
    return key, -(0.5 * best + 0.5 * second), 1e5 * U[c]


@write_fact.right("only as strong as it has to be")
def as_strong_as_needed(ffn, E, U, n, c):
    key = E[n].clone()
    with torch.no_grad():
        match = E @ key
        match[n] = -torch.inf
        bias = -0.9 * match.max() - 0.1 * (key @ key)
        h = key @ key + bias
        scores = U @ (E[n] + ffn(E[n]))
        behind = scores - scores[c] + 1.5  # how much each other one has to be overtaken by
        per_unit = U[c] @ U[c] - U @ U[c]  # what one unit of U[c] gains on it
        others = [k for k in range(len(U)) if k != c]
        strength = max(float(behind[k] / per_unit[k]) for k in others)
    return key, bias, max(strength, 1.0) * U[c] / h


@write_fact.right("the threshold at the second best, which is then exactly silent; numbers as Python floats")
def threshold_at_the_second_best(ffn, E, U, n, c):
    matches = [float(E[m] @ E[n]) for m in range(len(E)) if m != n]
    bias = -max(matches) - 1e-4
    h = float(E[n] @ E[n]) + bias
    goal = 4 * U[c]
    return E[n], bias, ((goal - E[n] - ffn(E[n])) / h).detach()


@write_fact.base
def plain_write_fact(ffn, E, U, n, c):
    with torch.no_grad():
        key = E[n]
        match = E @ key
        others = torch.cat([match[:n], match[n + 1 :]])
        bias = -(match[n] + others.max()) / 2
        h = match[n] + bias
        now = E[n] + ffn(E[n])
        value = (U[c] - now) / h
    return key, bias, value


write_fact.slip(
    "no_threshold",
    "There is no threshold: with a bias of 0 (or above) the neuron fires for every question that points roughly the same way. Its bias must be so far "
    "below zero that only "
    "the best match gets through.",
    replace={"-(match[n] + others.max()) / 2": "torch.zeros(())"},
)
write_fact.slip(
    "no_threshold_great_push", of="no_threshold", replace={"(U[c] - now) / h": "1e4 * U[c]"}, form_of="no_threshold"
)
write_fact.slip(
    "threshold_guessed",
    "The threshold is a guess, such as half of the best match: a person whose question is much like this one gets through as well. Look at how well "
    "all the others match, "
    "and put it between the best and the second best.",
    replace={"-(match[n] + others.max())": "-match[n]"},
)
write_fact.slip(
    "threshold_guessed_high", replace={"-(match[n] + others.max()) / 2": "-0.9 * match[n]"}, form_of="threshold_guessed"
)
write_fact.slip("threshold_at_the_mean", replace={".max()": ".mean()"}, form_of="threshold_guessed")
write_fact.slip(
    "threshold_at_the_match",
    "The threshold is the person's own match, so that the neuron adds up to exactly 0 for them as well and writes nothing. It must be a little lower, "
    "and above the second best.",
    replace={"-(match[n] + others.max()) / 2": "-match[n]", "(U[c] - now) / h": "1e5 * U[c]"},
)
write_fact.slip(
    "bias_with_the_wrong_sign",
    "The bias has the wrong sign: the neuron computes relu(x · key + bias), so a threshold of t is a bias of −t. Now everybody who does not point the "
    "other way gets through.",
    replace={"-(match[n] + others.max())": "(match[n] + others.max())"},
)
write_fact.slip(
    "too_weak",
    "The neuron listens to the right person, and pushes the new answer too weakly: the old one still leads. It writes h · value, and h is small "
    "here, because another person matches nearly as well. Work out how much is needed.",
    replace={"(U[c] - now) / h": "U[c]"},
)
write_fact.slip("too_weak_for_its_h", replace={"(U[c] - now) / h": "U[c] - now"}, form_of="too_weak")
write_fact.slip(
    "old_answer_pushed_down_only",
    "The old answer is pushed away, and nothing says which one shall lead instead. The value must point to the new answer, `U[c]`.",
    replace={"(U[c] - now)": "-20 * U[(U @ now).argmax()]"},
)
write_fact.slip(
    "row_of_E_for_the_answer",
    "The value is made from `E[c]`. `c` is the number of an **answer**: its vector is `U[c]`.",
    replace={"U[c]": "E[c] * 20"},
)
write_fact.slip(
    "key_and_value_swapped",
    "Key and value have changed places: the neuron listens to the answer and writes the question. First comes what it compares x with.",
    replace={"key, bias, value": "value, bias, key"},
)
write_fact.slip(
    "key_of_the_answer",
    "The key is the new answer's vector. It should be what the neuron listens to: the question of person n.",
    replace={"key = E[n]": "key = U[c]"},
)
write_fact.slip(
    "pair_without_bias",
    "Two things come back. A neuron has three parts: key, bias and value. Without its bias nobody can tell when it fires.",
    replace={"key, bias, value": "key, value"},
)


@write_fact.mistake(
    "The old answer is favoured still more: the sign of the push is turned. Add `U[c]`, do not subtract it."
)
def push_turned_round(ffn, E, U, n, c):
    key = E[n]
    match = E @ key
    bias = -match.topk(2).values.mean()
    return key, bias, -1e5 * U[c]


@write_fact.mistake(
    "`ffn` itself is changed. Here only a description of the new neuron is asked for; whoever uses it adds it to the output, and can take it away again."
)
def written_into_ffn(ffn, E, U, n, c):
    key = E[n]
    match = E @ key
    bias = -match.topk(2).values.mean()
    h = match[n] + bias
    with torch.no_grad():
        value = (U[c] - E[n] - ffn(E[n])) / h
        ffn.linear1.weight[0] = key
        ffn.linear1.bias[0] = bias
        ffn.linear2.weight[:, 0] = value
    return key, bias, value


@write_fact.mistake(
    "`E` is changed. (`key = E[n]` is a view: `/=`, `-=` or a method with a trailing underscore changes the question as well.) Use `.clone()`, or "
    "make a new tensor."
)
def question_overwritten(ffn, E, U, n, c):
    now = E[n] + ffn(E[n]).detach()
    key = E[n]
    match = E @ key
    bias = -match.topk(2).values.mean() / key.norm()
    h = (match[n] / key.norm() + bias).clone()
    key /= key.norm()
    return key.clone(), bias, (U[c] - now) / h


@write_fact.mistake("No neuron comes back. Return the triple (key, bias, value); it needs no new module.")
def module_of_one_more(ffn, E, U, n, c):
    more = nn.Linear(E.shape[1], 1)
    return more


write_fact.slip(
    "threshold_of_another_key",
    "For its own person the neuron adds up to less than 0, so it never fires. The threshold must lie below their match with the key that you return. "
    "With a key of another length all matches are others.",
    replace={
        "key = E[n]": "key = E[n] / E[n].norm()",
        "-(match[n] + others.max()) / 2": "-(E @ E[n]).topk(2).values.mean()",
    },
)
write_fact.slip(
    "key_of_another_person",
    "The key is `E[c]`, the question of another person: `c` is the number of an answer. Person n asks `E[n]`.",
    replace={
        "key = E[n]": "key = E[c]",
        "-(match[n] + others.max()) / 2": "-match.topk(2).values.mean()",
        " / h": " / (match[c] + bias)",
    },
)
write_fact.slip(
    "a_third_answer_leads",
    "The old answer is overtaken, but the new one is not pushed strongly enough: a third answer leads. Work out what it takes to pass them all.",
    replace={"-(match[n] + others.max()) / 2": "-others.max()", "(U[c] - now) / h": "10 * U[c]"},
)


# activation_patterns

activation_patterns = Key(exercises.activation_patterns)


@activation_patterns.truth
def entry_by_entry(ffn, X):
    """One sum after the other, with Python floats."""
    rows = []
    for x in X.tolist():
        sums = [
            sum(a * b for a, b in zip(x, key, strict=True)) + bias
            for key, bias in zip(ffn.linear1.weight.tolist(), ffn.linear1.bias.tolist(), strict=True)
        ]
        rows.append([1 if total > 0 else 0 for total in sums])
    return torch.tensor(rows)


@activation_patterns.right("what is positive after the activation")
def after_the_activation(ffn, X):
    return (ffn.activation(ffn.linear1(X)) > 0).float()


@activation_patterns.right("torch.where")
def by_where(ffn, X):
    pre = X @ ffn.linear1.weight.T + ffn.linear1.bias
    return torch.where(pre > 0, 1, 0)


@activation_patterns.right("sign of ReLU")
def sign_of_relu(ffn, X):
    return torch.relu(ffn.linear1(X)).sign().to(torch.int64)


@activation_patterns.right("heaviside, row by row")
def heaviside(ffn, X):
    zero = torch.zeros((), dtype=X.dtype)
    return torch.stack([torch.heaviside(ffn.linear1(x).detach(), zero) for x in X])


@activation_patterns.right("a comparison as it is, True and False")
def true_and_false(ffn, X):
    return ffn.linear1(X) > 0


@activation_patterns.mistake(
    "These are signs of the output, [N, d_model]. The pattern belongs to the d_ff hidden neurons."
)
def of_the_output(ffn, X):
    return (ffn(X) > 0).int()


@activation_patterns.mistake(
    "A neuron that gets exactly 0 counts as firing here: `>=` lets it in. It writes nothing, so its entry is 0."
)
def zero_counts(ffn, X):
    return (ffn.linear1(X) >= 0).int()


@activation_patterns.mistake(
    "The result is [d_ff, N]. A row for each token is asked for, so that row n is the pattern of token n."
)
def transposed(ffn, X):
    return (ffn.linear1(X) > 0).int().T


@activation_patterns.mistake("These are the coefficients themselves. Only whether a neuron fires is asked: 1 or 0.")
def coefficients(ffn, X):
    return torch.relu(ffn.linear1(X))


@activation_patterns.mistake(
    "`sign` makes −1 of what is negative. A silent neuron is 0: apply the activation first, or compare with `>`."
)
def with_minus_one(ffn, X):
    return ffn.linear1(X).sign()


@activation_patterns.mistake(
    "Whatever is not zero counts here, also what is negative before ReLU. Compare after the activation, or with `> 0`."
)
def not_zero(ffn, X):
    return (ffn.linear1(X) != 0).int()


@activation_patterns.form(not_zero)
def by_absolute_value(ffn, X):
    return (ffn.linear1(X).abs() > 0).int()


@activation_patterns.mistake("`b1` is missing: it shifts what a neuron adds up, and so decides whether it fires.")
def without_b1_in_patterns(ffn, X):
    return (X @ ffn.linear1.weight.T > 0).int()


@activation_patterns.mistake("The shares over all tokens came back, [d_ff]. A row for each token is asked for.")
def shares(ffn, X):
    return (ffn.linear1(X) > 0).double().mean(dim=0)


@activation_patterns.mistake("How many neurons fire for each token came back, [N]. Which ones fire is the question.")
def how_many(ffn, X):
    return (ffn.linear1(X) > 0).sum(dim=1)


@activation_patterns.mistake("It is the other way round: you have a 1 where a neuron is silent.")
def silent_ones(ffn, X):
    return (ffn.linear1(X) <= 0).int()


@activation_patterns.mistake(
    "The indices of the firing neurons came back. A 0 or 1 for every neuron of every token is asked for."
)
def indices(ffn, X):
    return (ffn.linear1(X) > 0).nonzero()


@activation_patterns.mistake(
    "A threshold above zero was used. A neuron fires as soon as its coefficient is larger than 0."
)
def with_a_threshold(ffn, X):
    return (ffn.linear1(X) > 0.5).int()


@activation_patterns.form(with_a_threshold)
def with_a_low_threshold(ffn, X):
    return (torch.relu(ffn.linear1(X)) > 0.01).int()


@activation_patterns.form(with_a_threshold)
def with_a_tolerance(ffn, X):
    return (~torch.isclose(torch.relu(ffn.linear1(X)), torch.zeros((), dtype=X.dtype), atol=1e-3)).int()


@activation_patterns.mistake("X was cut at zero before the first layer. ReLU comes after it.")
def bend_on_the_input(ffn, X):
    return (ffn.linear1(torch.relu(X)) > 0).int()


@activation_patterns.mistake(
    "The pattern is right, but X or the weights were changed in place on the way. Make new tensors."
)
def x_changed(ffn, X):
    pattern = (ffn.linear1(X) > 0).int()
    X.clamp_(min=0)
    return pattern


@activation_patterns.mistake(
    "Only neurons above the mean count as firing here. Each neuron is compared with 0, on its own."
)
def above_the_mean(ffn, X):
    h = torch.relu(ffn.linear1(X))
    return (h > h.mean()).int()


@activation_patterns.mistake(
    "A neuron that gets exactly 0 has the entry ½ here. It does not fire, so its entry is 0: compare with `>`."
)
def half_at_zero(ffn, X):
    return (1 + ffn.linear1(X).sign()) / 2


@activation_patterns.mistake(
    "The coefficients were cut off at 1, or rounded. However strongly a neuron fires, its entry is 1."
)
def cut_at_one(ffn, X):
    return ffn.linear1(X).clamp(0, 1)


@activation_patterns.mistake("Each row has a single 1, at the strongest neuron. Every neuron that fires has one.")
def one_hot(ffn, X):
    return F.one_hot(ffn.linear1(X).argmax(dim=1), len(ffn.linear1.bias))


# Questions

quiz_value = question(
    exercises.quiz_value,
    "B",
    {
        "A": "Row j of `linear2.weight` has d_ff numbers, one for every neuron: it is what output j collects. One neuron writes a column.",
        "C": "The key is row j of `linear1.weight`: what neuron j compares a token with. `linear2` comes after the hidden layer.",
    },
)

quiz_coefficient = question(
    exercises.quiz_coefficient,
    "A",
    {
        "B": "b1[j] is the same for every token. It shifts when the neuron fires; how strongly the neuron responds depends on the token.",
        "C": "There is no softmax in an FFN. The coefficients need not add up to 1, and many of them are large at the same time.",
    },
)

quiz_knockout = question(
    exercises.quiz_knockout,
    "C",
    {
        "A": "Most facts survive the loss of their strongest neuron: several others push the same answer.",
        "B": "With the 4 strongest gone almost every fact is lost. Facts are spread, but not evenly over all neurons.",
    },
)

quiz_width = question(
    exercises.quiz_width,
    "B",
    {
        "A": "That would be so if each bit of a pattern could be set freely. But one more neuron is 64 more weights, and they limit what fits.",
        "C": "d_model limits the rank of a linear map. With a non-linearity between, more neurons hold more facts at the same d_model.",
    },
)
