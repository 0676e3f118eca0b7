"""What is right, and what goes wrong, in `NormFFN` of notebook 02."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import feed_forward as exercises

NormFFN = Key(exercises.NormFFN)


@NormFFN.truth
class ByDefinition(nn.Module):
    """Mean and variance written as sums over the d_ff hidden numbers of one token (Ba, Kiros & Hinton 2016)."""

    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        named = {
            "relu": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
            "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
            "silu": lambda x: x / (1 + torch.exp(-x)),
        }
        self.act = activation if callable(activation) else named[activation]
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.gain, self.shift = nn.Parameter(torch.ones(d_ff)), nn.Parameter(torch.zeros(d_ff))

    def forward(self, x):
        weight, n = self.linear1.weight, len(self.gain)
        hidden = [self.act((x * weight[j]).sum(-1) + self.linear1.bias[j]) for j in range(n)]
        mean = sum(hidden) / n
        variance = sum((h - mean) ** 2 for h in hidden) / n
        output = self.linear2.bias.expand(x.shape)
        for j in range(n):
            normed = (hidden[j] - mean) / torch.sqrt(variance + 1e-5) * self.gain[j] + self.shift[j]
            output = output + normed.unsqueeze(-1) * self.linear2.weight[:, j]
        return output


@NormFFN.right("a Sequential around the named layers")
class NormSequential(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.middle_norm = nn.LayerNorm([d_ff])
        self.act = {"relu": torch.relu, "gelu": F.gelu, "silu": F.silu}.get(activation, activation)

    def forward(self, x):
        hidden = self.linear1(x)
        hidden = self.act(hidden)
        hidden = self.middle_norm(hidden)
        return self.linear2(hidden)


@NormFFN.right("the norm written out, with parameters of its own")
class NormByHand(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.g = nn.Parameter(torch.ones(d_ff))
        self.b = nn.Parameter(torch.zeros(d_ff))
        self.f = getattr(F, activation) if isinstance(activation, str) else activation

    def forward(self, x):
        h = self.f(self.linear1(x))
        h = h - h.mean(-1, keepdim=True)
        h = h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.linear2(self.g * h + self.b)


@NormFFN.right("F.layer_norm")
class NormFunctional(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.bias = nn.Parameter(torch.zeros(d_ff))
        self.weight = nn.Parameter(torch.ones(d_ff))
        if activation == "relu":
            self.activation = F.relu
        elif activation == "gelu":
            self.activation = F.gelu
        elif activation == "silu":
            self.activation = F.silu
        else:
            self.activation = activation

    def forward(self, x):
        hidden = self.activation(self.linear1(x))
        return self.linear2(F.layer_norm(hidden, hidden.shape[-1:], self.weight, self.bias))


@NormFFN.base
class PlainNormFFN(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm = nn.LayerNorm(d_ff)
        functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = activation if callable(activation) else functions[activation]

    def forward(self, x):
        return self.linear2(self.norm(self.activation(self.linear1(x))))


NO_PARAMETERS = (
    "Gain and bias are missing from `parameters()`: the norm learns nothing. `elementwise_affine=False` switches them off, F.layer_norm needs them "
    "handed in, and a plain tensor is seen by no optimiser (nn.Parameter registers it)."
)


NormFFN.slips(
    """
in nn.LayerNorm(d_ff)
norm_of_d_model_in_the_middle: nn.LayerNorm(d_model)
    The norm is as wide as the model: nn.LayerNorm(d_model) can't take the hidden layer, which has d_ff numbers per token.
norm_without_its_bias: nn.LayerNorm(d_ff, bias=False)
    The norm has no bias of its own: `bias=False` leaves only the gain. Both are asked for.
without_gain_and_bias: nn.LayerNorm(d_ff, elementwise_affine=False)
    NO_PARAMETERS
| gain_as_plain_tensors
  - self.norm = nn.LayerNorm(d_ff)
  + self.gain, self.shift = torch.ones(d_ff, dtype=torch.float64), torch.zeros(d_ff, dtype=torch.float64)
  - return self.linear2(self.norm(self.activation(self.linear1(x))))
  + h = self.activation(self.linear1(x))
  + return self.linear2(F.layer_norm(h, h.shape[-1:], self.gain, self.shift))
norm_on_the_output
  - nn.LayerNorm(d_ff)
  + nn.LayerNorm(d_model)
  - return self.linear2(self.norm(self.activation(self.linear1(x))))
  + return self.norm(self.linear2(self.activation(self.linear1(x))))
    The norm comes after linear2, on the output. Here it is inside: on the d_ff hidden numbers, between the activation and linear2.
norm_on_the_input
  - nn.LayerNorm(d_ff)
  + nn.LayerNorm(d_model)
  - return self.linear2(self.norm(self.activation(self.linear1(x))))
  + return self.linear2(self.activation(self.linear1(self.norm(x))))
    The norm comes before linear1, on x: that is a pre-norm block. Here it is inside, on the d_ff hidden numbers.
in return self.linear2(self.norm(self.activation(self.linear1(x))))
norm_before_the_activation: return self.linear2(self.activation(self.norm(self.linear1(x))))
    The norm comes before the activation. Here it comes after: what linear2 reads has mean 0 before gain and bias.
norm_and_residual: return x + self.linear2(self.norm(self.activation(self.linear1(x))))
    x is added to the output. The residual connection is the block's business, around this module.
no_norm: return self.linear2(self.activation(self.linear1(x)))
    There is no norm in `forward`: it is made, but never called.
norm_without_activation: return self.linear2(self.norm(self.linear1(x)))
    The activation is missing. A norm is not linear either, but it does not replace the activation: first act, then normalise.
over_the_tokens
  - self.norm = nn.LayerNorm(d_ff)
  + self.gain = nn.Parameter(torch.ones(d_ff))
  + self.shift = nn.Parameter(torch.zeros(d_ff))
  - return self.linear2(self.norm(self.activation(self.linear1(x))))
  + h = self.activation(self.linear1(x))
  + h = (h - h.mean(-2, keepdim=True)) / torch.sqrt(h.var(-2, unbiased=False, keepdim=True) + 1e-5)
  + return self.linear2(self.gain * h + self.shift)
    The mean and the variance are taken over the tokens (dim −2). Then tokens influence each other; LayerNorm works on each token's own d_ff numbers.
unbiased_variance
  - self.norm = nn.LayerNorm(d_ff)
  + self.gain = nn.Parameter(torch.ones(d_ff))
  + self.shift = nn.Parameter(torch.zeros(d_ff))
  - return self.linear2(self.norm(self.activation(self.linear1(x))))
  + h = self.activation(self.linear1(x))
  + h = (h - h.mean(-1, keepdim=True)) / torch.sqrt(h.var(-1, keepdim=True) + 1e-5)
  + return self.linear2(self.gain * h + self.shift)
    The variance is divided by d_ff − 1: `.var()` and `.std()` do so unless told otherwise. LayerNorm divides by d_ff.
in self.norm = nn.LayerNorm(d_ff)
rms_norm: self.norm = nn.RMSNorm(d_ff, eps=1e-5)
    This is RMSNorm: it neither subtracts the mean nor has a bias. LayerNorm does both.
batch_norm: self.norm = nn.BatchNorm1d(d_ff)
    This is BatchNorm1d: it normalises each neuron over the batch, so tokens depend on each other, and it takes dimension 1 for the features.
norm_and_dropout
  - self.norm = nn.LayerNorm(d_ff)
  + self.norm, self.dropout = nn.LayerNorm(d_ff), nn.Dropout(0.1)
  - return self.linear2(self.norm(self.activation(self.linear1(x))))
  + return self.linear2(self.dropout(self.norm(self.activation(self.linear1(x)))))
    There is dropout in it: in training mode the output is random. None is asked for here.
default_gelu: __init__(self, d_model, d_ff, activation="relu"): -> __init__(self, d_model, d_ff, activation="gelu"):
    Without the argument the activation must be ReLU; yours is GELU. Look at the default in the signature.
norm_ffn_without_silu: F.gelu, "silu": F.silu -> F.gelu
    'silu' is not known. Three names are asked for: 'relu', 'gelu' and 'silu'.
norm_ffn_relu_only
  - functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
  - self.activation = activation if callable(activation) else functions[activation]
  + self.activation = F.relu
    The argument `activation` is never looked at: it is ReLU whatever one asks for.
""",
    NO_PARAMETERS=NO_PARAMETERS,
)


NormFFN.slip(
    "eps_outside_the_root",
    "eps is added to the standard deviation instead of the variance: it belongs under the root. The difference is small, and it shows.",
    of="unbiased_variance",
    replace={"torch.sqrt(h.var(-1, keepdim=True) + 1e-5)": "(h.std(-1, unbiased=False, keepdim=True) + 1e-5)"},
)


NormFFN.slip(
    "std_as_in_a_tutorial",
    "`.std()` divides by d_ff − 1, and eps is added to it outside of the root, as in a well-known tutorial. LayerNorm: √(variance + eps), variance over d_ff.",
    of="eps_outside_the_root",
    replace={"unbiased=False, keepdim=True": "keepdim=True"},
)


NormFFN.slip(
    "divided_by_the_variance",
    "It is divided by the variance instead of its square root, the standard deviation.",
    of="eps_outside_the_root",
    replace={"h.std": "h.var"},
)


NormFFN.slip(
    "mean_over_everything",
    "Mean and variance are taken over all tokens and neurons at once. LayerNorm takes each token's own d_ff numbers: dim=-1, keepdim=True.",
    of="std_as_in_a_tutorial",
    replace={
        "(h - h.mean(-1, keepdim=True)) / (h.std(-1, keepdim=True) + 1e-5)": "(h - h.mean()) / torch.sqrt(h.var(unbiased=False) + 1e-5)"
    },
)


NormFFN.slip(
    "mean_not_subtracted",
    "The mean is not subtracted: this is RMSNorm. LayerNorm centres the hidden numbers before it scales them.",
    of="mean_over_everything",
    replace={
        "(h - h.mean()) / torch.sqrt(h.var(unbiased=False) + 1e-5)": "h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)"
    },
)
NormFFN.slip("norm_ffn_returns_nothing", NO_RETURN, replace={"return self.linear2": "self.linear2"})
