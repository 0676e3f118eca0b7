"""What is right, and what goes wrong, in `DeepFFN` of notebook 02."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import feed_forward as exercises

DeepFFN = Key(exercises.DeepFFN)


@DeepFFN.truth
class Listed(nn.Module):
    """Every weight on its own, every product written as a sum over what a neuron reads."""

    def __init__(self, d_model, d_ff, n_hidden, activation, norm=False):
        super().__init__()
        if n_hidden < 1:
            raise ValueError("n_hidden must be at least 1")
        named = {
            "relu": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
            "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
            "silu": lambda x: x / (1 + torch.exp(-x)),
        }
        self.act = activation if callable(activation) else named[activation]
        widths = [d_model] + [d_ff] * n_hidden + [d_model]
        pairs = [(widths[i], widths[i + 1]) for i in range(n_hidden + 1)]
        self.weights = nn.ParameterList([torch.zeros(out, into) for into, out in pairs])
        self.biases = nn.ParameterList([torch.full((out,), 0.5) for _, out in pairs])
        self.gains = nn.ParameterList([torch.ones(d_ff) for _ in range(n_hidden * norm)])
        self.shifts = nn.ParameterList([torch.zeros(d_ff) for _ in range(n_hidden * norm)])

    def forward(self, x):
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.stack([(x * weight[j]).sum(-1) + bias[j] for j in range(len(bias))], dim=-1)
            if place < len(self.weights) - 1:
                x = self.act(x)
                if len(self.gains):
                    mean = sum(x[..., j] for j in range(x.shape[-1])) / x.shape[-1]
                    centred = [x[..., j] - mean for j in range(x.shape[-1])]
                    deviation = torch.sqrt(sum(c * c for c in centred) / x.shape[-1] + 1e-5)
                    x = torch.stack([c / deviation for c in centred], -1) * self.gains[place] + self.shifts[place]
        return x


@DeepFFN.right("one ModuleList of all layers")
class OneList(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation, norm=False):
        super().__init__()
        if n_hidden < 1:
            raise ValueError("at least one hidden layer")
        names = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = activation if callable(activation) else names[activation]
        sizes = [d_model] + n_hidden * [d_ff] + [d_model]
        self.layers = nn.ModuleList(nn.Linear(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1))
        self.norms = nn.ModuleList(nn.LayerNorm(d_ff) for _ in range(n_hidden)) if norm else None

    def forward(self, x):
        for i, layer in enumerate(self.layers[:-1]):
            x = self.activation(layer(x))
            if self.norms is not None:
                x = self.norms[i](x)
        return self.layers[-1](x)


@DeepFFN.right("an nn.Sequential with activation modules")
class AsSequential(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation, norm=False):
        super().__init__()
        if n_hidden <= 0:
            raise ValueError(n_hidden)

        class Act(nn.Module):
            def forward(self, x):
                return activation(x)

        made = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}.get(activation, Act)
        steps = []
        for depth in range(n_hidden):
            steps += [nn.Linear(d_ff if depth else d_model, d_ff), made()]
            if norm:
                steps.append(nn.LayerNorm(d_ff))
        steps.append(nn.Linear(d_ff, d_model))
        self.steps = nn.Sequential(*steps)

    def forward(self, x):
        return self.steps(x)


@DeepFFN.right("layers as attributes made with setattr")
class WithSetattr(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation, norm=False):
        super().__init__()
        assert_ok = isinstance(n_hidden, int) and n_hidden >= 1
        if not assert_ok:
            raise ValueError("n_hidden")
        self.n = n_hidden
        self.act = getattr(F, activation) if isinstance(activation, str) else activation
        self.last = nn.Linear(d_ff, d_model)
        self.first = nn.Linear(d_model, d_ff)
        for i in range(1, n_hidden):
            setattr(self, f"middle{i}", nn.Linear(d_ff, d_ff))
        self.normed = norm
        for i in range(n_hidden if norm else 0):
            setattr(self, f"gain{i}", nn.Parameter(torch.ones(d_ff)))
            setattr(self, f"shift{i}", nn.Parameter(torch.zeros(d_ff)))

    def norm(self, i, hidden):
        if not self.normed:
            return hidden
        hidden = hidden - hidden.mean(-1, keepdim=True)
        hidden = hidden / torch.sqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-5)
        return getattr(self, f"gain{i}") * hidden + getattr(self, f"shift{i}")

    def forward(self, x):
        hidden = self.norm(0, self.act(self.first(x)))
        for i in range(1, self.n):
            hidden = self.norm(i, self.act(getattr(self, f"middle{i}")(hidden)))
        return self.last(hidden)


@DeepFFN.base
class PlainDeepFFN(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation, norm=False):
        super().__init__()
        if n_hidden < 1:
            raise ValueError("n_hidden must be at least 1")
        functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = activation if callable(activation) else functions[activation]
        widths = [d_model] + [d_ff] * (n_hidden - 1)
        self.hidden = nn.ModuleList([nn.Linear(width, d_ff) for width in widths])
        self.norms = nn.ModuleList([nn.LayerNorm(d_ff) if norm else nn.Identity() for _ in self.hidden])
        self.last = nn.Linear(d_ff, d_model)

    def forward(self, x):
        for layer, norm in zip(self.hidden, self.norms, strict=True):
            x = norm(self.activation(layer(x)))
        return self.last(x)


DeepFFN.slips("""
activation_only_once
  - self.activation(layer(x))
  + layer(x)
  - .last(x)
  + .last(self.activation(x))
    Only one of the hidden layers is followed by the activation. Without an activation between them, neighbouring layers collapse into one.
return_inside_the_loop
  - strict=True):
  -     x = norm(self.activation(layer(x)))
  - return self.last(x)
  + strict=True):
  +     x = norm(self.activation(layer(x)))
  +     return self.last(x)
    The `return` is inside the loop, so only the first hidden layer is ever used. Move it out by one level.
x_not_passed_on
  - x = norm(self.activation(layer(x)))
  + hidden = norm(self.activation(layer(x)))
  - .last(x)
  + .last(hidden)
    Every turn of the loop starts from x again: what the layer before computed is thrown away. Hand it on: `x = ...`.
residual_around_it
  - def forward(self, x):
  + def forward(self, x):
  +     hidden = x
  - x = norm(self.activation(layer(x)))
  + hidden = norm(self.activation(layer(hidden)))
  - self.last(x)
  + x + self.last(hidden)
    x is added to the output. The residual connection is the block's business, around this module.
plain_list: nn.ModuleList([nn.Linear(width, d_ff) for width in widths]) -> [nn.Linear(width, d_ff) for width in widths]
    Layers are in a plain Python list, which hides them from `parameters()`: they would never be trained, moved or saved. Use nn.ModuleList.
| all_layers_in_a_plain_list
  - self.hidden = nn.ModuleList([nn.Linear(width, d_ff) for width in widths])
  - self.norms
  + self.hidden = [nn.Linear(width, d_ff) for width in widths]
  + self.norms
  - self.last = nn.Linear(d_ff, d_model)
  + self.tail = [nn.Linear(d_ff, d_model)]
  - return self.last(x)
  + return self.tail[0](x)
in (n_hidden - 1)
one_layer_too_many: n_hidden
    There is one hidden layer too many. n_hidden counts all layers of width d_ff: the first comes from d_model, and n_hidden − 1 more follow.
one_layer_too_few: (n_hidden - 2)
    There is one hidden layer too few. For n_hidden = 2 there are two layers of width d_ff: one from d_model, one from d_ff.
in return self.last(x)
activation_after_the_last_layer: return self.activation(self.last(x))
    The last layer is followed by an activation. The output of an FFN is linear in its last hidden layer, so it needs no activation at the end.
no_output_layer: return x
    The last layer is missing: what comes back is the hidden layer, d_ff wide. One more Linear leads back to d_model.
in
  - widths = [d_model] + [d_ff] * (n_hidden - 1)
  - self.hidden = nn.ModuleList([nn.Linear(width, d_ff) for width in widths])
one_shared_layer
  + middle = nn.Linear(d_ff, d_ff)
  + self.hidden = nn.ModuleList([nn.Linear(d_model, d_ff)] + [middle] * (n_hidden - 1))
    All middle layers are one and the same: `[layer] * k`, or one layer called in a loop, shares its weights. Make a new nn.Linear for each.
middle_layers_of_d_model
  + self.hidden = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(n_hidden - 1)])
  + self.hidden.append(nn.Linear(d_model, d_ff))
    The hidden layers have the wrong width: between the first and the last layer everything is d_ff wide.
in
  - if n_hidden < 1:
  -     raise ValueError("n_hidden must be at least 1")
zero_hidden_layers_accepted: pass
    n_hidden = 0 is accepted without a word. Fewer than one hidden layer is no FFN: raise ValueError when the object is made.
guard_only_for_zero
  + if n_hidden == 0:
  +     raise ValueError("n_hidden must not be 0")
    Zero is refused but a negative n_hidden is not. Ask whether it is below 1.
assert_instead_of_value_error: assert n_hidden >= 1
    A bad n_hidden ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.
no_activation_at_all: self.activation(layer(x)) -> layer(x)
    The activation is never called, so the whole stack is one linear map however deep it is.
in
  - functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
  - self.activation = activation if callable(activation) else functions[activation]
relu_whatever_is_asked: self.activation = F.relu
    The argument `activation` is never looked at: it is ReLU whatever one asks for.
only_callables: self.activation = activation
    Names are not looked up: the text itself is called like a function. 'relu', 'gelu' and 'silu' stand for F.relu, F.gelu and F.silu.
only_names: activation if callable(activation) else functions -> functions
    A callable is refused: only names are looked up. A function such as torch.tanh is a legal `activation` too.
skip_connections
  - for layer, norm in zip(self.hidden, self.norms, strict=True):
  -     x = norm(self.activation(layer(x)))
  + for n, (layer, norm) in enumerate(zip(self.hidden, self.norms, strict=True)):
  +     x = norm(self.activation(layer(x))) + (x if n else 0)
    The hidden layers are bridged by residual connections. None is asked for here: every layer's output replaces its input.
dropout_added
  - self.hidden = nn.ModuleList([nn.Linear(width, d_ff) for width in widths])
  + self.hidden = nn.ModuleList([nn.Linear(width, d_ff) for width in widths])
  + self.dropout = nn.Dropout(0.1)
  - self.activation(layer(x))
  + self.dropout(self.activation(layer(x)))
    There is dropout in it: in training mode the output is random. None is asked for here.
one_refused_too: < 1 -> <= 1
    n_hidden = 1 is refused, but one hidden layer is the ordinary FFN. Only fewer than one is a ValueError.
in norm(self.activation(layer(x)))
norm_before_the_activation: self.activation(norm(layer(x)))
    The norm comes before the activation. Here it comes after: what the next layer reads has mean 0 before gain and bias.
norm_on_the_input: self.activation(layer(norm(x)))
    The norm comes before the linear layer, on what it reads. Here it is on the d_ff neurons, after the activation.
norm_ignored: self.activation(layer(x))
    `norm=True` changes nothing: the norms are made, but `forward` never calls them.
norm_instead_of_activation: (norm if isinstance(norm, nn.LayerNorm) else self.activation)(layer(x))
    With `norm=True` the activation is missing. A norm is not linear either, but it does not replace the activation: first act, then normalise.
in nn.LayerNorm(d_ff) if norm else nn.Identity()
always_normed: nn.LayerNorm(d_ff)
    Without `norm=True` there is a norm as well. Its default is False, and then there is none.
norm_without_gain_and_bias: nn.LayerNorm(d_ff, elementwise_affine=False) if norm else nn.Identity()
    The norms have no gain and no bias: `elementwise_affine=False` switches them off. nn.LayerNorm(d_ff) has both.
norm_without_its_bias: nn.LayerNorm(d_ff, bias=False) if norm else nn.Identity()
    The norms have no bias of their own: `bias=False` leaves only the gain. Both are asked for.
rms_norm: nn.RMSNorm(d_ff, eps=1e-5) if norm else nn.Identity()
    This is RMSNorm: it neither subtracts the mean nor has a bias. LayerNorm does both.
batch_norm: nn.BatchNorm1d(d_ff) if norm else nn.Identity()
    This is BatchNorm1d: it normalises each neuron over the batch, so tokens depend on each other, and it takes dimension 1 for the features.
norm_of_d_model: nn.LayerNorm(d_model) if norm else nn.Identity()
    The norm is as wide as the model: nn.LayerNorm(d_model) can't take the hidden layer, which has d_ff numbers per token.
in self.norms = nn.ModuleList([nn.LayerNorm(d_ff) if norm else nn.Identity() for _ in self.hidden])
one_norm_for_all: self.norms = nn.ModuleList([nn.LayerNorm(d_ff) if norm else nn.Identity()] * len(self.hidden))
    All hidden layers share one norm: `[norm] * k` is one norm, k times. Each has a gain and a bias of its own, so make a new nn.LayerNorm for each.
of skip_connections
activation_after_the_first_only: norm(self.activation(layer(x))) + (x if n else 0) -> norm(layer(x) if n else self.activation(layer(x)))
    Only the first hidden layer is followed by the activation. Without an activation between them, neighbouring layers collapse into one.
of base
deep_forward_returns_nothing: return self.last -> self.last
    NO_RETURN
""")
