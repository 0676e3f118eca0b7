"""What is right, and what goes wrong, in `knockout` of notebook 06."""

from __future__ import annotations

import contextlib
import copy

import torch
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import memory as exercises

knockout = Key(exercises.knockout, namespace={"contextlib": contextlib, "copy": copy})


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


@knockout.base
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
    "The weights are as before, but `ffn` still computes without the neurons: a hook, or another activation, was left in place. Remove it at the end."
)
def hook_left_in_place(ffn, idx):
    def silence(layer, arguments, pre):
        pre = pre.clone()
        pre[..., idx] = 0
        return pre

    ffn.linear1.register_forward_hook(silence)
    return ffn


@knockout.mistake(
    "A function came back. Put the computation into the `forward` of an nn.Module, or return a changed copy of `ffn`."
)
def a_function(ffn, idx):
    def run(x):
        h = ffn.activation(ffn.linear1(x)).clone()
        h[..., idx] = 0
        return ffn.linear2(h)

    return run


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
    "It fails for a single token: `h[:, idx]` needs two dimensions. `h[..., idx]` takes any number of them."
)
def two_dimensions_only(ffn, idx):
    class SilencedColumns(nn.Module):
        def forward(self, x):
            h = ffn.activation(ffn.linear1(x)).clone()
            h[:, idx] = 0
            return ffn.linear2(h)

    return SilencedColumns()


knockout.slips("""
keys_alone: other.linear1.bias.data[idx] = 0 ->
    Only the key is zero. The neuron still adds up b1[j], and relu(b1[j]) leaks through: set its value, or its bias as well, to zero.
b1_alone: other.linear1.weight.data[idx] = 0 ->
    Only b1 is zero. The neuron still responds to the token through its key: what must be zero is what it writes.
in
  - other.linear1.weight.data[idx] = 0
  - other.linear1.bias.data[idx] = 0
rows_of_linear2: other.linear2.weight.data[idx] = 0
    `linear2.weight[idx]` takes rows, and a row is one of the d_model outputs. Neuron j's value is column j: `weight[:, idx]`.
columns_of_linear1: other.linear1.weight.data[:, idx] = 0
    These are entries of the input x, or columns of `linear1.weight`, which belong to them. Neurons are entries of the hidden layer: neuron j's key is
    row j.
b2_too
  + other.linear2.weight.data[:, idx] = 0
  + other.linear2.bias.data.zero_()
    `b2` went as well. It belongs to no neuron, and stays whatever is knocked out.
all_others
  + other.linear2.weight.data.zero_()
  + other.linear2.weight.data[:, idx] = ffn.linear2.weight.data[:, idx]
    It is the other way round: only the neurons in `idx` are left, and all others are silent.
the_first_alone
  + for j in idx:
  +     other.linear2.weight.data[:, j] = 0
  +     break
    Only the first neuron of `idx` is knocked out. All of them must be silent at the same time.
scaled_up
  + f = other.linear2.weight.shape[1]
  + other.linear2.weight.data[:, idx] = 0
  + other.linear2.weight.data *= f / max(f - len(idx), 1)
    The neurons that are left were scaled up, as dropout does in training. A knock-out leaves them as they are.
sign_turned: other.linear2.weight.data[:, idx] *= -1
    The neurons' values changed their sign. They must write nothing, not the opposite.
tensor_of_a_list
  + if not isinstance(idx, torch.Tensor):
  +     idx = torch.tensor(idx)
  + other.linear2.weight.data[:, idx] = 0
    `torch.tensor(idx)` of an empty list is a float tensor, which is no index. Use `idx` as it is, or `torch.as_tensor(idx, dtype=torch.long)`.
without_no_grad: other.linear2.weight[:, idx] = 0
    A weight that learns must not be changed in place while gradients are recorded: do it under `with torch.no_grad():`, or on `.data`.
the_first_ones: other.linear2.weight.data[:, : len(idx)] = 0
    Other neurons are silent than those in `idx`: the first ones, as many as `idx` is long. `idx` holds their numbers.
of smaller
in
  - gone = set(int(j) for j in idx)
  - left = [j for j in range(ffn.linear1.out_features) if j not in gone]
  - other = copy.deepcopy(ffn)
  - other.linear1.weight = nn.Parameter(ffn.linear1.weight.detach()[left])
  - other.linear1.bias = nn.Parameter(ffn.linear1.bias.detach()[left])
  - other.linear2.weight = nn.Parameter(ffn.linear2.weight.detach()[:, left])
  - return other
permanent
  + with torch.no_grad():
  +     ffn.linear2.weight[:, idx] = 0
  + return ffn
    The knock-out is permanent: `ffn` itself was changed, and stays so. Work on `copy.deepcopy(ffn)`; a new name, or `copy.copy`, is no copy of the
    weights.
nothing: return copy.deepcopy(ffn)
    Nothing is knocked out: what came back computes what `ffn` does. (Is the change made to the copy that you return?)
of base
| a_copy_of_the_column
  - other.linear1.weight.data[idx] = 0
  - other.linear1.bias.data[idx] = 0
  + column = other.linear2.weight.detach()[:, idx].clone()
  + column.zero_()
of smaller
in
  - gone = set(int(j) for j in idx)
  - left = [j for j in range(ffn.linear1.out_features) if j not in gone]
  - other = copy.deepcopy(ffn)
  - other.linear1.weight = nn.Parameter(ffn.linear1.weight.detach()[left])
  - other.linear1.bias = nn.Parameter(ffn.linear1.bias.detach()[left])
  - other.linear2.weight = nn.Parameter(ffn.linear2.weight.detach()[:, left])
  - return other
undecorated
  + kept = ffn.linear2.weight.detach().clone()
  + ffn.linear2.weight.data[:, idx] = 0
  + yield ffn
  + ffn.linear2.weight.data.copy_(kept)
    A generator came back: `@contextlib.contextmanager` is missing over the function.
a_state_dict
  + state = copy.deepcopy(ffn.state_dict())
  + state["linear2.weight"][:, idx] = 0
  + return state
    The weights came back, as a dict. Load them into a copy of `ffn`, and return that module.
output_of_an_x_of_its_own
  + x = torch.randn(3, ffn.linear1.in_features, dtype=ffn.linear1.weight.dtype)
  + h = ffn.activation(ffn.linear1(x))
  + h[:, idx] = 0
  + return ffn.linear2(h)
    A tensor comes back: an output for an x of your own. Whoever calls the function has the x, and needs a module or a context manager to put it
    through.
""")


@knockout.form("permanent")
def shallow_copy(ffn, idx):
    other = copy.copy(ffn)
    with torch.no_grad():
        other.linear2.weight[:, idx] = 0
    return other


@knockout.form("permanent")
def never_put_back(ffn, idx):
    @contextlib.contextmanager
    def silenced():
        with torch.no_grad():
            ffn.linear2.weight[:, idx] = 0
        yield ffn

    return silenced()


@knockout.form("permanent")
def kept_no_copy(ffn, idx):
    @contextlib.contextmanager
    def silenced():
        kept = ffn.linear2.weight.data
        ffn.linear2.weight.data[:, idx] = 0
        yield ffn
        ffn.linear2.weight.data = kept

    return silenced()


@knockout.form("columns_of_linear1")
def input_entries(ffn, idx):
    class SilencedInputs(nn.Module):
        def forward(self, x):
            x = x.clone()
            x[..., idx] = 0
            return ffn(x)

    return SilencedInputs()
