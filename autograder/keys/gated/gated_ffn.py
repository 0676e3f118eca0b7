"""What is right, and what goes wrong, in `GatedFFN` of notebook 07."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import gated as exercises

GatedFFN = Key(exercises.GatedFFN)


@GatedFFN.truth
class Loops(nn.Module):
    """Neuron by neuron; dropout as a mask written out."""

    def __init__(self, d_model, d_ff, activation="silu", dropout=0.0):
        super().__init__()
        if activation not in ("silu", "gelu"):
            raise ValueError(activation)
        self.smooth, self.p = activation, dropout
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        output = torch.zeros_like(x)
        gate, up, down = self.gate_proj.weight, self.up_proj.weight, self.down_proj.weight
        for j in range(len(gate)):
            read, passed = (x * gate[j]).sum(-1), (x * up[j]).sum(-1)
            share = torch.sigmoid(read) if self.smooth == "silu" else (1 + torch.erf(read / math.sqrt(2))) / 2
            opened = read * share
            hidden = opened * passed
            if self.training and self.p > 0:
                hidden = hidden * (torch.rand_like(hidden) >= self.p) / (1 - self.p)
            output = output + hidden.unsqueeze(-1) * down[:, j]
        return output


@GatedFFN.right("modules kept in a dict, F.dropout told the mode")
class ModulesInADict(nn.Module):
    def __init__(self, d_model, d_ff, activation="silu", dropout=0.0):
        super().__init__()
        acts = {"silu": nn.SiLU(), "gelu": nn.GELU()}
        if activation not in acts:
            raise ValueError(f"activation must be one of {list(acts)}")
        self.act = acts[activation]
        self.p = dropout
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gate = self.act(self.gate_proj(x))
        up = self.up_proj(x)
        hidden = F.dropout(gate * up, self.p, training=self.training)
        return self.down_proj(hidden)


@GatedFFN.right("matrix products with the weights, in place on fresh tensors")
class ByHand(nn.Module):
    def __init__(self, d_model, d_ff, activation="silu", dropout=0.0):
        super().__init__()
        if activation == "silu":
            self.f = lambda h: h * torch.sigmoid(h)
        elif activation == "gelu":
            self.f = lambda h: 0.5 * h * (1 + torch.erf(h / 2**0.5))
        else:
            raise ValueError("activation must be 'silu' or 'gelu', got " + str(activation))
        self.gate_proj, self.up_proj = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        hidden = torch.matmul(x, self.up_proj.weight.T)
        hidden = hidden.mul(self.f(x @ self.gate_proj.weight.T))
        return self.drop(hidden) @ self.down_proj.weight.T


@GatedFFN.right("dropout on the up branch: the same mask, so the same hidden layer")
class DropoutOnUp(nn.Module):
    def __init__(self, d_model, d_ff, activation="silu", dropout=0.0):
        super().__init__()
        self.act = {"silu": F.silu, "gelu": F.gelu}.get(activation)
        if self.act is None:
            raise ValueError(activation)
        self.dropout = nn.Dropout(p=dropout)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x):
        return self.down_proj(self.act(self.gate_proj(x)) * self.dropout(self.up_proj(x)))


@GatedFFN.base
class PlainGatedFFN(nn.Module):
    def __init__(self, d_model, d_ff, activation="silu", dropout=0.0):
        super().__init__()
        functions = {"silu": F.silu, "gelu": F.gelu}
        if activation not in functions:
            raise ValueError(f"unknown activation: {activation}")
        self.activation = functions[activation]
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))


GatedFFN.slips("""
not_a_module
  - nn.Module
  + object
  - super().__init__()
  + pass
    The class does not inherit from nn.Module, so PyTorch knows nothing of its layers: `class GatedFFN(nn.Module):`.
forward_returns_nothing: return self.down_proj -> self.down_proj
    NO_RETURN
in
  - self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
  - self.up_proj = nn.Linear(d_model, d_ff, bias=False)
  - self.down_proj = nn.Linear(d_ff, d_model, bias=False)
with_biases
  + self.gate_proj = nn.Linear(d_model, d_ff)
  + self.up_proj = nn.Linear(d_model, d_ff)
  + self.down_proj = nn.Linear(d_ff, d_model)
    The layers have biases, which nn.Linear adds unless told otherwise. LLaMA's FFN has none: bias=False, three times.
halved
  + self.gate_proj = nn.Linear(d_model, d_ff // 2, bias=False)
  + self.up_proj = nn.Linear(d_model, d_ff // 2, bias=False)
  + self.down_proj = nn.Linear(d_ff // 2, d_model, bias=False)
    d_ff is halved, as if gate and up had to share it. Each of them puts out d_ff numbers.
two_thirds
  + self.gate_proj = nn.Linear(d_model, int(2 * d_ff / 3), bias=False)
  + self.up_proj = nn.Linear(d_model, int(2 * d_ff / 3), bias=False)
  + self.down_proj = nn.Linear(int(2 * d_ff / 3), d_model, bias=False)
    d_ff is cut to two thirds. Whoever wants equal parameters hands in a smaller d_ff; the class takes the number as it is.
all_turned_round
  + self.gate_proj = nn.Linear(d_ff, d_model, bias=False)
  + self.up_proj = nn.Linear(d_ff, d_model, bias=False)
  + self.down_proj = nn.Linear(d_model, d_ff, bias=False)
    All layers have their widths the wrong way round. nn.Linear takes (in, out): gate and up lead from d_model to d_ff, down leads back.
in self.down_proj = nn.Linear(d_ff, d_model, bias=False)
down_with_a_bias: self.down_proj = nn.Linear(d_ff, d_model)
    down_proj still has a bias. All three layers are without: bias=False there too.
down_turned_round: self.down_proj = nn.Linear(d_model, d_ff, bias=False)
    down_proj has its widths the wrong way round. nn.Linear takes (in, out): down leads from d_ff to d_model.
down_missing
  - self.down_proj = nn.Linear(d_ff, d_model, bias=False)
  +
  - return self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
  + return self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x))
    down_proj is missing: there are only two layers, and the output has d_ff numbers per token. The third leads back to d_model.
names_of_the_llama_code
  - self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
  - self.up_proj = nn.Linear(d_model, d_ff, bias=False)
  - self.down_proj = nn.Linear(d_ff, d_model, bias=False)
  + self.w1 = nn.Linear(d_model, d_ff, bias=False)
  + self.w3 = nn.Linear(d_model, d_ff, bias=False)
  + self.w2 = nn.Linear(d_ff, d_model, bias=False)
  - return self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
  + return self.w2(self.dropout(self.activation(self.w1(x)) * self.w3(x)))
    The layers have other names, such as w1, w2 and w3 in LLaMA's own code. The exercise asks for `gate_proj`, `up_proj` and `down_proj`, so that
    weights can be copied in.
one_fused_layer
  - self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
  - self.up_proj = nn.Linear(d_model, d_ff, bias=False)
  + self.gate_up_proj = nn.Linear(d_model, 2 * d_ff, bias=False)
  - return self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
  + gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
  + return self.down_proj(self.dropout(self.activation(gate) * up))
    Gate and up lie in one layer. That is faster, and section 6 does it; here both have to exist under names of their own.
in self.up_proj = nn.Linear(d_model, d_ff, bias=False)
gate_and_up_share: self.up_proj = self.gate_proj
    Gate and up are one and the same layer under two names, so they can't learn different things. Make two.
up_with_a_bias: self.up_proj = nn.Linear(d_model, d_ff)
    up_proj still has a bias, which nn.Linear adds unless told otherwise. All three layers are without: bias=False.
plain_tensors
  - self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
  - self.up_proj = nn.Linear(d_model, d_ff, bias=False)
  - self.down_proj = nn.Linear(d_ff, d_model, bias=False)
  + self.gate_proj, self.up_proj = torch.randn(d_model, d_ff), torch.randn(d_model, d_ff)
  + self.down_proj = torch.randn(d_ff, d_model)
  - self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
  + self.dropout(self.activation(x @ self.gate_proj) * (x @ self.up_proj)) @ self.down_proj
    The weights are plain tensors: `parameters()` is empty, so an optimiser would have nothing to train. Use nn.Linear.
no_super_init: super().__init__() -> pass
    `super().__init__()` is missing. An nn.Module must be set up before layers can be assigned to it: it is the first line of `__init__`.
in return self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
activation_on_up: return self.down_proj(self.dropout(self.gate_proj(x) * self.activation(self.up_proj(x))))
    The activation sits on the wrong branch: on up_proj. It belongs on gate_proj's output; up stays linear.
activation_forgotten: return self.down_proj(self.dropout(self.gate_proj(x) * self.up_proj(x)))
    The activation is never called: this is the bilinear variant. Apply it to gate_proj's output.
residual_inside: return x + self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
    x is added to the output. The residual connection is the block's business, around this module.
dropout_on_the_output: return self.dropout(self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x)))
    Dropout is applied to the output, after down_proj. Here it belongs on the hidden layer: on the product of gate and up.
dropout_on_both: return self.dropout(self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x))))
    Dropout is applied twice, on the hidden layer and on the output. Here only the hidden layer has one.
dropout_on_the_input
  + x = self.dropout(x)
  + return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))
    Dropout is applied to x, so whole inputs vanish for all neurons at once. It belongs on the hidden layer: on the product of gate and up.
dropout_before_the_activation: return self.down_proj(self.activation(self.dropout(self.gate_proj(x))) * self.up_proj(x))
    Dropout comes before the activation, so the activation gets values that are scaled up already. Put it behind the product.
dropout_never_used: return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))
    Dropout has no effect: two calls in training mode give the same. It is made, or its probability is taken, but `forward` never applies it.
gate_without_gradient
  + with torch.no_grad():
  +     gate = self.activation(self.gate_proj(x))
  + return self.down_proj(self.dropout(gate * self.up_proj(x)))
    No gradient reaches gate_proj: `detach()` or `no_grad()` cuts it off, so the gate would never learn.
up_reads_the_gate
  + gate = self.activation(self.gate_proj(x))
  + return self.down_proj(self.dropout(gate * self.up_proj(gate)))
    up_proj gets what the gate gives, as if the layers stood in a row. Both read the same x, side by side.
in self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
activation_on_both: self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.activation(self.up_proj(x))))
    Both branches go through the activation. Only the gate should; the other one stays linear.
activation_on_the_product: self.down_proj(self.dropout(self.activation(self.gate_proj(x) * self.up_proj(x))))
    The activation is applied to the product of gate and up. It belongs on the gate alone, before the two are multiplied.
up_forgotten: self.down_proj(self.dropout(self.activation(self.gate_proj(x))))
    up_proj is made, but `forward` never calls it: this is a plain FFN. Multiply its output with the activated gate.
dropout_on_gate_and_up: self.down_proj(self.dropout(self.activation(self.gate_proj(x))) * self.dropout(self.up_proj(x)))
    Gate and up are dropped separately: a hidden value survives only if both do, and what survives grows twice. Drop out their product, once.
in *
branches_added: +
    The branches are added. A gate multiplies: where it is 0, nothing passes.
matrix_product_of_the_branches: @
    The two branches are multiplied as matrices. Each number of the gate meets one number of up: write `*`, not `@`.
in functions = {"silu": F.silu, "gelu": F.gelu}
silu_is_sigmoid: functions = {"silu": torch.sigmoid, "gelu": F.gelu}
    'silu' uses the sigmoid alone. SiLU is x·sigmoid(x): F.silu.
module_classes: functions = {"silu": nn.SiLU, "gelu": nn.GELU}
    The activation is a class, such as nn.SiLU, where one of its objects is needed: nn.SiLU() with brackets, or the function F.silu.
in F.gelu
tanh_gelu: lambda h: F.gelu(h, approximate="tanh")
    'gelu' gives the tanh approximation. Without “tanh”, the name means the exact form with erf, which F.gelu computes by default.
a_third_name: F.gelu, "relu": F.relu
    'relu' is accepted as well. The exercise knows two names, 'silu' and 'gelu'; for any other raise ValueError.
activation_ignored: functions[activation] -> F.silu
    The argument `activation` is never used: the gate is always SiLU. Choose the function from the argument.
in def __init__(self, d_model, d_ff, activation="silu", dropout=0.0):
default_gelu: def __init__(self, d_model, d_ff, activation="gelu", dropout=0.0):
    Without the argument the activation must be SiLU; yours is GELU. Look at the default in the signature.
default_dropout_tenth: def __init__(self, d_model, d_ff, activation="silu", dropout=0.1):
    Without the argument nothing is dropped; yours drops. Look at the default of `dropout` in the signature.
in
  - if activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
  - self.activation = functions[activation]
unknown_becomes_gelu: self.activation = F.silu if activation == "silu" else F.gelu
    An unknown name passes without an error: with the typo 'sulu' a whole training run would use another function, as in a published tutorial, where
    it becomes GELU. Errors are raised, neither returned nor printed: raise ValueError.
| unknown_becomes_silu: self.activation = F.gelu if activation == "gelu" else F.silu
getattr_without_asking: self.activation = getattr(F, activation)
    The name is looked up in torch.nn.functional: 'sulu' ends in an AttributeError, and names such as 'dropout' pass. Only two are known: compare with
    them.
found_nothing: self.activation = functions.get(activation)
    For an unknown name the activation is None, and calling it fails much later, far from the typo. Look for the name in `__init__`, and raise
    ValueError.
no_else
  + if activation in functions:
  +     self.activation = functions[activation]
    For an unknown name no activation is set, and calling the module fails much later, far from the typo. Add an `else` that raises ValueError.
any_name_of_torch
  - activation not in functions
  + not hasattr(F, activation)
  - functions[activation]
  + getattr(F, activation)
    Every name that torch.nn.functional knows is accepted, 'dropout' too. Only 'silu' and 'gelu' are names here; others are a ValueError.
in
  - if activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
key_error:
    An unknown name ends in the dict's KeyError. Say it in the caller's terms: raise a ValueError that names the unknown activation.
assertion: assert activation in functions
    An unknown name ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.
error_too_late
  - if activation not in functions:
  -     raise ValueError(f"unknown activation: {activation}")
  - self.activation = functions[activation]
  + self.name, self.functions = activation, functions
  - return self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
  + if self.name not in self.functions:
  +     raise ValueError(f"unknown activation: {self.name}")
  + return self.down_proj(self.dropout(self.functions[self.name](self.gate_proj(x)) * self.up_proj(x)))
    The unknown name is noticed only when the module is called. Look it up in `__init__`, where the mistake is made.
dropout_always_on
  - self.dropout = nn.Dropout(dropout)
  + self.p = dropout
  - return self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
  + return self.down_proj(F.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x), self.p))
    Dropout stays on in eval mode: `F.dropout` without `training=self.training` can't know the mode. nn.Dropout follows it by itself.
dropout_not_scaled
  - self.dropout = nn.Dropout(dropout)
  + self.p = dropout
  - return self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x)))
  + hidden = self.activation(self.gate_proj(x)) * self.up_proj(x)
  + if self.training:
  +     hidden = hidden * (torch.rand_like(hidden) >= self.p)
  + return self.down_proj(hidden)
    The hidden values that remain are not scaled up by 1/(1 − p), so in training mode everything is smaller on average than in eval mode.
in nn.Dropout(dropout)
dropout_keeps_p: nn.Dropout(1 - dropout if 0 < dropout < 1 else dropout)
    p is taken for the share that stays. It is the share that is dropped: p = 0.1 sets one hidden value in ten to zero.
dropout_probability_ignored: nn.Dropout()
    The argument `dropout` is never handed on. nn.Dropout() without an argument drops half, and a number typed in drops that, whatever one asks for.
in def forward(self, x):
batches_flattened
  + def forward(self, x):
  +     x = x.reshape(-1, x.shape[-1])
    The leading dimensions are lost: what comes back is a list of tokens. nn.Linear takes any leading dimensions as they are.
three_dimensions_expected
  + def forward(self, x):
  +     B, T, d = x.shape
    The shape of x is expected to be [B, T, d_model]. x may be one token or have more dimensions: nn.Linear takes them all.
gate_with_a_bias: self.gate_proj = nn.Linear(d_model, d_ff, bias=False) -> self.gate_proj = nn.Linear(d_model, d_ff)
    gate_proj still has a bias, which nn.Linear adds unless told otherwise. All three layers are without: bias=False.
gate_and_up_with_a_bias
  - self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
  - self.up_proj = nn.Linear(d_model, d_ff, bias=False)
  + self.gate_proj = nn.Linear(d_model, d_ff)
  + self.up_proj = nn.Linear(d_model, d_ff)
    gate_proj and up_proj still have biases, which nn.Linear adds unless told otherwise. All three layers are without: bias=False.
norm_inside
  - self.down_proj = nn.Linear(d_ff, d_model, bias=False)
  + self.down_proj = nn.Linear(d_ff, d_model, bias=False)
  + self.norm = nn.LayerNorm(d_model)
  - def forward(self, x):
  + def forward(self, x):
  +     x = self.norm(x)
    There is a norm inside, with parameters of its own. It is the block's business, in front of this module.
gate_missing
  - self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
  +
  - self.activation(self.gate_proj(x)) * self.up_proj(x)
  + self.activation(self.up_proj(x))
    gate_proj is missing: with up_proj and down_proj alone this is a plain FFN. Make a third layer, from d_model to d_ff.
of dropout_not_scaled
dropout_of_2014
  - return self.down_proj(hidden)
  + else:
  +     hidden = hidden * (1 - self.p)
  + return self.down_proj(hidden)
    The hidden values are scaled down in eval mode, as in the first paper on dropout. Today, and in nn.Dropout, those that remain are scaled up by
    1/(1 − p) in training mode, and eval mode changes nothing.
""")
