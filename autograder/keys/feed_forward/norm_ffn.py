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


NormFFN.slip(
    "norm_of_d_model_in_the_middle",
    "The norm is as wide as the model: nn.LayerNorm(d_model) can't take the hidden layer, which has d_ff numbers per token.",
    replace={".LayerNorm(d_ff)": ".LayerNorm(d_model)"},
)
NormFFN.slip(
    "norm_on_the_output",
    "The norm comes after linear2, on the output. Here it is inside: on the d_ff hidden numbers, between the activation and linear2.",
    replace={
        ".LayerNorm(d_ff)": ".LayerNorm(d_model)",
        "return …": "return self.norm(self.linear2(self.activation(self.linear1(x))))",
    },
)
NormFFN.slip(
    "norm_on_the_input",
    "The norm comes before linear1, on x: that is a pre-norm block. Here it is inside, on the d_ff hidden numbers.",
    replace={
        ".LayerNorm(d_ff)": ".LayerNorm(d_model)",
        ".norm(self.activation(self.linear1(x)))": ".activation(self.linear1(self.norm(x)))",
    },
)
NormFFN.slip(
    "norm_before_the_activation",
    "The norm comes before the activation. Here it comes after: what linear2 reads has mean 0 before gain and bias.",
    replace={".norm(self.activation(self.linear1(x)))": ".activation(self.norm(self.linear1(x)))"},
)
NormFFN.slip(
    "over_the_tokens",
    "The mean and the variance are taken over the tokens (dim −2). Then tokens influence each other; LayerNorm works on each token's own d_ff numbers.",
    replace={
        "self.norm = nn.LayerNorm(d_ff)": (
            "self.gain = nn.Parameter(torch.ones(d_ff))\nself.shift = nn.Parameter(torch.zeros(d_ff))"
        ),
        "return …": (
            "h = self.activation(self.linear1(x))\n"
            "h = (h - h.mean(-2, keepdim=True)) / torch.sqrt(h.var(-2, unbiased=False, keepdim=True) + 1e-5)\n"
            "return self.linear2(self.gain * h + self.shift)"
        ),
    },
)
NormFFN.slip(
    "unbiased_variance",
    "The variance is divided by d_ff − 1: `.var()` and `.std()` do so unless told otherwise. LayerNorm divides by d_ff.",
    of="over_the_tokens",
    replace={
        "(h - h.mean(-2, keepdim=True)) / torch.sqrt(h.var(-2, unbiased=False, keepdim=True) + 1e-5)": (
            "(h - h.mean(-1, keepdim=True)) / torch.sqrt(h.var(-1, keepdim=True) + 1e-5)"
        ),
    },
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
    "rms_norm",
    "This is RMSNorm: it neither subtracts the mean nor has a bias. LayerNorm does both.",
    replace={".LayerNorm(d_ff)": ".RMSNorm(d_ff, eps=1e-5)"},
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
    "norm_without_its_bias",
    "The norm has no bias of its own: `bias=False` leaves only the gain. Both are asked for.",
    replace={".LayerNorm(d_ff)": ".LayerNorm(d_ff, bias=False)"},
)
NormFFN.slip(
    "norm_and_residual",
    "x is added to the output. The residual connection is the block's business, around this module.",
    replace={"return self.linear2": "return x + self.linear2"},
)
NormFFN.slip(
    "norm_and_dropout",
    "There is dropout in it: in training mode the output is random. None is asked for here.",
    replace={
        "self.norm = nn.LayerNorm(d_ff)": "self.norm, self.dropout = nn.LayerNorm(d_ff), nn.Dropout(0.1)",
        ".norm(self.activation(self.linear1(x)))": ".dropout(self.norm(self.activation(self.linear1(x))))",
    },
)
NormFFN.slip(
    "default_gelu",
    "Without the argument the activation must be ReLU; yours is GELU. Look at the default in the signature.",
    replace={'activation="relu"': 'activation="gelu"'},
)
NormFFN.slip(
    "mean_not_subtracted",
    "The mean is not subtracted: this is RMSNorm. LayerNorm centres the hidden numbers before it scales them.",
    of="mean_over_everything",
    replace={
        "(h - h.mean()) / torch.sqrt(h.var(unbiased=False) + 1e-5)": "h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)"
    },
)
NormFFN.slip(
    "batch_norm",
    "This is BatchNorm1d: it normalises each neuron over the batch, so tokens depend on each other, and it takes dimension 1 for the features.",
    replace={"nn.LayerNorm": "nn.BatchNorm1d"},
)
NO_PARAMETERS = (
    "Gain and bias are missing from `parameters()`: the norm learns nothing. `elementwise_affine=False` switches them off, F.layer_norm needs them "
    "handed in, and a plain tensor is seen by no optimiser (nn.Parameter registers it)."
)
NormFFN.slip(
    "without_gain_and_bias", NO_PARAMETERS, replace={".LayerNorm(d_ff)": ".LayerNorm(d_ff, elementwise_affine=False)"}
)
NormFFN.slip(
    "gain_as_plain_tensors",
    replace={
        "self.norm = nn.LayerNorm(d_ff)": "self.gain, self.shift = torch.ones(d_ff, dtype=torch.float64), torch.zeros(d_ff, dtype=torch.float64)",
        "return …": (
            "h = self.activation(self.linear1(x))\n"
            "return self.linear2(F.layer_norm(h, h.shape[-1:], self.gain, self.shift))"
        ),
    },
    form_of="without_gain_and_bias",
)
NormFFN.slip(
    "no_norm",
    "There is no norm in `forward`: it is made, but never called.",
    replace={".norm(self.activation(self.linear1(x)))": ".activation(self.linear1(x))"},
)
NormFFN.slip(
    "norm_without_activation",
    "The activation is missing. A norm is not linear either, but it does not replace the activation: first act, then normalise.",
    replace={".activation(self.linear1(x))": ".linear1(x)"},
)
NormFFN.slip(
    "norm_ffn_without_silu",
    "'silu' is not known. Three names are asked for: 'relu', 'gelu' and 'silu'.",
    replace={'{"relu": F.relu, "gelu": F.gelu, "silu": F.silu}': '{"relu": F.relu, "gelu": F.gelu}'},
)
NormFFN.slip(
    "norm_ffn_relu_only",
    "The argument `activation` is never looked at: it is ReLU whatever one asks for.",
    replace={"self.activation = …": "", "functions = …": "self.activation = F.relu"},
)
NormFFN.slip("norm_ffn_returns_nothing", NO_RETURN, replace={"return self.linear2": "self.linear2"})
