"""What is right, and what goes wrong, in `PositionwiseFeedForward` of notebook 02."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import feed_forward as exercises

PositionwiseFeedForward = Key(exercises.PositionwiseFeedForward)


@PositionwiseFeedForward.truth
class Written(nn.Module):
    """Neuron by neuron from the weights, with dropout drawn by hand; the activations by their definitions."""

    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        named = {
            "relu": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
            "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
            "silu": lambda x: x / (1 + torch.exp(-x)),
        }
        if not callable(activation) and activation not in named:
            raise ValueError(f"unknown activation {activation!r}")
        self.act = activation if callable(activation) else named[activation]
        self.d_model, self.d_ff, self.p = d_model, d_ff, dropout
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        output = self.linear2.bias.expand(x.shape)
        for j in range(self.d_ff):
            read = (x * self.linear1.weight[j]).sum(-1) + self.linear1.bias[j]
            hidden = self.act(read)
            if self.training:
                kept = torch.rand(hidden.shape, dtype=x.dtype) >= self.p
                hidden = hidden * kept / (1 - self.p)
            output = output + hidden.unsqueeze(-1) * self.linear2.weight[:, j]
        return output

    def extra_repr(self):
        return f"{self.d_model} -> {self.d_ff}"


@PositionwiseFeedForward.right("nn.Dropout and modules for the activations")
class WithModules(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.d_model = d_model
        self.d_ff = d_ff
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(p=dropout)
        if activation == "relu":
            self.activation = nn.ReLU()
        elif activation == "gelu":
            self.activation = nn.GELU()
        elif activation == "silu":
            self.activation = nn.SiLU()
        elif callable(activation):
            self.activation = activation
        else:
            raise ValueError("unknown activation: " + str(activation))

    def forward(self, x):
        x = self.linear1(x)
        x = self.activation(x)
        x = self.dropout(x)
        return self.linear2(x)

    def extra_repr(self):
        return f"d_model={self.d_model}, d_ff={self.d_ff}"


@PositionwiseFeedForward.right("F.dropout that asks for the mode")
class WithFDropout(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        if isinstance(activation, str):
            try:
                activation = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}[activation]
            except KeyError:
                raise ValueError(f"unknown activation {activation!r}") from None
        elif not callable(activation):
            raise ValueError("activation must be a name or a callable")
        self.act, self.p = activation, dropout
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        hidden = self.act(self.linear1(x))
        hidden = F.dropout(hidden, self.p, training=self.training)
        return self.linear2(hidden)

    def extra_repr(self):
        d_ff, d_model = self.linear1.weight.shape
        return f"d_model={d_model}, d_ff={d_ff}, p={self.p}"


@PositionwiseFeedForward.right("a Sequential around the two named layers")
class WithSequential(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        named = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}

        class Apply(nn.Module):
            def __init__(self, function):
                super().__init__()
                self.function = function

            def forward(self, x):
                return self.function(x)

        if callable(activation):
            middle = Apply(activation)
        elif activation in named:
            middle = named[activation]()
        else:
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.net = nn.Sequential(self.linear1, middle, nn.Dropout(dropout), self.linear2)

    def forward(self, x):
        return self.net(x)

    def extra_repr(self):
        return f"{self.linear1.in_features}→{self.linear1.out_features}→{self.linear2.out_features}"


@PositionwiseFeedForward.right("matrix products with the layers' parameters, getattr for the activation")
class WithGetattr(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff, bias=True)
        self.linear2 = nn.Linear(d_ff, d_model, bias=True)
        self.drop = nn.Dropout(dropout)
        self.sizes = (d_model, d_ff)
        if callable(activation):
            self.f = activation
        else:
            if activation not in ("relu", "gelu", "silu"):
                raise ValueError("bad activation")
            self.f = getattr(F, activation)

    def forward(self, x):
        pre = torch.matmul(x, self.linear1.weight.transpose(0, 1)) + self.linear1.bias
        hidden = self.drop(self.f(pre))
        return torch.matmul(hidden, self.linear2.weight.transpose(0, 1)) + self.linear2.bias

    def extra_repr(self):
        return "d_model=" + str(self.sizes[0]) + ", d_ff=" + str(self.sizes[1])


@PositionwiseFeedForward.base
class PlainPositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.d_model, self.d_ff = d_model, d_ff
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        if not callable(activation) and activation not in functions:
            raise ValueError(f"unknown activation: {activation}")
        self.activation = activation if callable(activation) else functions[activation]

    def forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def extra_repr(self):
        return f"d_model={self.d_model}, d_ff={self.d_ff}"


PositionwiseFeedForward.slips("""
extra_repr_missing
  - def extra_repr(self):
  -     return f"d_model={self.d_model}, d_ff={self.d_ff}"
    `extra_repr` is missing, so printing the module shows its layers but not its two sizes. It returns a text with d_model and d_ff.
forward_returns_nothing: return self.linear2 -> self.linear2
    NO_RETURN
in self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
linear2_copied_from_linear1: self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_model, d_ff)
    linear2 has the widths of linear1: copied, and not turned round. The second layer contracts: from d_ff back to d_model.
in nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
widths_swapped: nn.Linear(d_ff, d_model), nn.Linear(d_model, d_ff)
    Both layers are the wrong way round. nn.Linear takes (in, out): the first goes from d_model to d_ff, the second back.
layers_without_bias: nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_ff, d_model, bias=False)
    The layers have no biases: `bias=False` belongs to other models. The FFN of the 2017 paper has b1 and b2.
other_names
  - self.linear1, self.linear2
  + self.w_1, self.w_2
  - return self.linear2(self.dropout(self.activation(self.linear1(x))))
  + return self.w_2(self.dropout(self.activation(self.w_1(x))))
    The layers have other names than the exercise asks. It needs `linear1` and `linear2`, so that weights can be copied in from elsewhere.
weights_as_plain_tensors
  - self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
  + self.W1, self.b1 = torch.randn(d_model, d_ff), torch.zeros(d_ff)
  + self.W2, self.b2 = torch.randn(d_ff, d_model), torch.zeros(d_model)
  - self.linear2(self.dropout(self.activation(self.linear1(x))))
  + self.dropout(self.activation(x @ self.W1 + self.b1)) @ self.W2 + self.b2
    `parameters()` is empty, so an optimiser would have nothing to train. A module knows the layers that are stored in it, `self.linear1 =
    nn.Linear(…)`; plain tensors it does not know, and without `self.` a layer is gone when `__init__` ends.
no_super_init: super().__init__() -> pass
    `super().__init__()` is missing. An nn.Module must be set up before layers can be assigned to it: it is the first line of `__init__`.
not_a_module: nn.Module -> object
    The class does not inherit from nn.Module, so PyTorch knows nothing of its layers: `class PositionwiseFeedForward(nn.Module):`.
in return self.linear2(self.dropout(self.activation(self.linear1(x))))
activation_missing: return self.linear2(self.dropout(self.linear1(x)))
    The activation is never called in `forward`: without it the two layers collapse into one linear map.
activation_on_the_output: return self.activation(self.linear2(self.dropout(self.linear1(x))))
    The activation is applied to the output, after linear2. It belongs between the two layers.
activation_twice: return self.activation(self.linear2(self.dropout(self.activation(self.linear1(x)))))
    The activation is applied twice: on the hidden layer, where it belongs, and on the output as well. The last layer is linear.
dropout_on_the_output: return self.dropout(self.linear2(self.activation(self.linear1(x))))
    Dropout is applied to the output, where it also drops b2. Here it belongs on the hidden layer: after the activation, before linear2.
dropout_before_the_activation: return self.linear2(self.activation(self.dropout(self.linear1(x))))
    Dropout comes before the activation, so the activation gets values that are scaled up already. Put it behind the activation.
dropout_on_the_input: return self.linear2(self.activation(self.linear1(self.dropout(x))))
    Dropout is applied to x. Here it belongs on the hidden layer: after the activation, before linear2.
dropout_twice: return self.dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))
    There are two dropouts, on the hidden layer and on the output. Here only the hidden layer has one.
dropout_never_used: return self.linear2(self.activation(self.linear1(x)))
    Dropout has no effect: two calls in training mode give the same. It is made, or its probability is taken, but `forward` never applies it.
residual_inside: return x + self.linear2(self.dropout(self.activation(self.linear1(x))))
    x is added to the output. The residual connection is the block's business, around this module.
batches_flattened: return self.linear2(self.dropout(self.activation(self.linear1(x.reshape(-1, self.d_model)))))
    `.view(-1, d_model)` in `forward` loses the shape, or refuses an x whose memory is not in order. nn.Linear takes any leading dimensions as they
    are.
in
  - if not callable(activation) and activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
  - self.activation = activation if callable(activation) else functions[activation]
activation_name_ignored: self.activation = F.relu
    The argument `activation` is never looked at: it is ReLU whatever one asks for. Choose the function in `__init__`, from the argument.
names_not_accepted: self.activation = activation
    Names are not looked up: the text itself is called like a function. 'relu', 'gelu' and 'silu' stand for F.relu, F.gelu and F.silu.
unknown_name_becomes_gelu: self.activation = activation if callable(activation) else functions.get(activation, F.gelu)
    An unknown name is silently taken for some default: with a typo such as 'sulu' a whole training run would use the wrong function. Raise
    ValueError.
whatever_else_becomes_relu: self.activation = functions.get(activation, F.relu)
    Whatever is no known name silently becomes ReLU: a function such as torch.tanh, and a typo such as 'sulu'. Keep what is `callable(…)` as it is, and
    raise ValueError for what is neither that nor a known name.
anything_taken_as_it_is
  + if activation in functions:
  +     self.activation = functions[activation]
  + else:
  +     self.activation = activation
    Whatever is not a known name is taken as it is, a typo such as 'sulu' included: it only fails when it is called. Ask `callable(activation)` in
    `__init__`, and raise ValueError otherwise.
callable_not_accepted
  - not callable(activation) and activation
  + activation
  - activation if callable(activation) else functions
  + functions
    A callable is refused: only names are looked up. A function such as torch.tanh is a legal `activation` too; `callable(activation)` tells.
in functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
tanh_gelu
  + functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
  + functions["gelu"] = lambda h: F.gelu(h, approximate="tanh")
    'gelu' here gives the tanh approximation. Without “tanh”, the name means the exact form with erf, which is what `F.gelu` computes by default.
silu_without_the_factor
  + functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
  + functions["silu"] = torch.sigmoid
    'silu' here gives sigmoid(x). SiLU is x·sigmoid(x): a gate that lets x itself through.
relu6
  + functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
  + functions["relu"] = F.relu6
    'relu' here gives ReLU6, which is flat from 6 on. ReLU lets every positive number through as it is.
in def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
default_activation_gelu: def __init__(self, d_model, d_ff, dropout=0.1, activation="gelu"):
    Without the argument the activation must be ReLU; yours is GELU. Look at the default in the signature.
default_dropout_half: def __init__(self, d_model, d_ff, dropout=0.5, activation="relu"):
    Without the argument p must be 0.1. Look at the default in the signature: nn.Dropout's own is 0.5.
in
  - if not callable(activation) and activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
key_error:
    An unknown name ends in the dict's KeyError. Say it in the caller's terms: raise a ValueError that names the unknown activation.
| key_error_of_texts
  - if not callable(activation) and activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
  - self.activation = activation if callable(activation) else functions[activation]
  + self.activation = functions[activation] if isinstance(activation, str) else activation
only_names_and_key_error
  - if not callable(activation) and activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
  - self.activation = activation if callable(activation) else functions[activation]
  + self.activation = functions[activation]
    Only names are looked up, so that a callable such as torch.tanh ends in the dict's KeyError, as an unknown name does. Keep what is `callable(…)`
    as it is, and raise a ValueError for what is neither that nor a known name.
attribute_error
  - if not callable(activation) and activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
  - self.activation = activation if callable(activation) else functions[activation]
  + self.activation = activation if callable(activation) else getattr(F, activation)
    `getattr(F, …)` takes any name that torch.nn.functional has, such as 'dropout', and ends in an AttributeError elsewhere. Look the name up in a dict of
    three, and raise a ValueError for every other.
assertion_for_a_bad_name: assert callable(activation) or activation in functions
    A bad activation ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.
error_too_late
  - if not callable(activation) and activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
  - self.activation = activation if callable(activation) else functions[activation]
  + self.name, self.functions = activation, functions
  - return self.linear2(self.dropout(self.activation(self.linear1(x))))
  + if not callable(self.name) and self.name not in self.functions:
  +     raise ValueError(f"unknown activation: {self.name}")
  + activation = self.name if callable(self.name) else self.functions[self.name]
  + return self.linear2(self.dropout(activation(self.linear1(x))))
    The unknown name is noticed only when the module is called. Look it up in `__init__`, where the mistake is made.
only_texts_are_refused
  - if not callable(activation)
  + if isinstance(activation, str)
  - activation if callable(activation) else functions[activation]
  + functions[activation] if isinstance(activation, str) else activation
    A bad name is refused, but something that is neither text nor function, such as 3, gets through. Anything that can't be called is a ValueError.
any_name_of_torch
  - activation not in functions
  + not hasattr(F, str(activation))
  - functions[activation]
  + getattr(F, activation)
    Every name that torch.nn.functional knows is accepted, 'dropout' too. Only 'relu', 'gelu' and 'silu' are names here; others are a ValueError.
in nn.Dropout(dropout)
probability_called: dropout
    self.dropout holds the number p, and `forward` calls it like a function. Make a layer of it: nn.Dropout(dropout).
dropout_fixed_at_a_tenth: nn.Dropout(0.1)
    The argument `dropout` is not looked at: p is 0.1 whatever one asks for. Hand the argument on to nn.Dropout.
dropout_keeps_p: nn.Dropout(1 - dropout if 0 < dropout < 1 else dropout)
    p is taken for the share that stays. It is the share that is dropped: p = 0.1 sets one hidden value in ten to zero.
dropout_probability_ignored: nn.Dropout()
    Another share is dropped than `dropout` says. Is the argument handed on (nn.Dropout() alone drops half), and as the probability to drop, not to
    keep?
dropout_always_on
  - self.dropout = nn.Dropout(dropout)
  + self.p = dropout
  - return self.linear2(self.dropout(self.activation(self.linear1(x))))
  + return self.linear2(F.dropout(self.activation(self.linear1(x)), self.p))
    Dropout stays on in eval mode: `F.dropout` without `training=self.training` can't know the mode. nn.Dropout follows it by itself.
dropout_not_scaled
  - self.dropout = nn.Dropout(dropout)
  + self.p = dropout
  - return self.linear2(self.dropout(self.activation(self.linear1(x))))
  + hidden = self.activation(self.linear1(x))
  + if self.training:
  +     hidden = hidden * (torch.rand_like(hidden) >= self.p)
  + return self.linear2(hidden)
    The hidden values that remain are not scaled up by 1/(1 − p), so in training mode everything is smaller on average than in eval mode.
in return f"d_model={self.d_model}, d_ff={self.d_ff}"
extra_repr_without_values: return "d_model, d_ff"
    `extra_repr` returns the words d_model and d_ff but not their values. An f-string puts values into a text: f"d_model={...}".
extra_repr_swapped: return f"d_model={self.d_ff}, d_ff={self.d_model}"
    The text of `extra_repr` has the two sizes the wrong way round: d_model is what goes in and comes out, d_ff the width of the hidden layer.
extra_repr_prints: print(f"d_model={self.d_model}, d_ff={self.d_ff}")
    `extra_repr` prints instead of returning: PyTorch wants the text handed back.
of dropout_not_scaled
dropout_of_2014
  - return self.linear2(hidden)
  + else:
  +     hidden = hidden * (1 - self.p)
  + return self.linear2(hidden)
    Eval mode multiplies the hidden values by 1 − p, and training leaves the survivors as they are: dropout as it was first published in 2014. Here it
    is the other way round: survivors grow while training, and eval mode changes nothing.
dropout_mask_shared: (torch.rand_like(hidden) >= self.p) -> (torch.rand(hidden.shape[-1:]) >= self.p) / (1 - self.p)
    All tokens lose the same neurons: one mask is drawn for all of them. Each hidden value is dropped by a chance of its own; `nn.Dropout` draws a
    mask of the hidden layer's whole shape.
""")
