"""What is right, and what goes wrong, in `GatedFFN` of notebook 07."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import gated as exercises

GatedFFN = Key(exercises.GatedFFN)


@GatedFFN.truth
class Loops(nn.Module):
    """Unit by unit; dropout as a mask written out."""

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


GatedFFN.slip(
    "with_biases",
    "The layers have biases, which nn.Linear adds unless told otherwise. LLaMA's FFN has none: bias=False, three times.",
    replace={
        "self.gate_proj = …": "self.gate_proj = nn.Linear(d_model, d_ff)",
        "self.up_proj = …": "self.up_proj = nn.Linear(d_model, d_ff)",
        ".Linear(d_ff, d_model, bias=False)": ".Linear(d_ff, d_model)",
    },
)
GatedFFN.slip(
    "down_with_a_bias",
    "down_proj still has a bias. All three layers are without: bias=False there too.",
    replace={".Linear(d_ff, d_model, bias=False)": ".Linear(d_ff, d_model)"},
)
GatedFFN.slip(
    "halved",
    "d_ff is halved, as if gate and up had to share it. Each of them puts out d_ff numbers.",
    replace={
        "self.gate_proj = …": "self.gate_proj = nn.Linear(d_model, d_ff // 2, bias=False)",
        "self.up_proj = …": "self.up_proj = nn.Linear(d_model, d_ff // 2, bias=False)",
        ".Linear(d_ff, d_model, bias=False)": ".Linear(d_ff // 2, d_model, bias=False)",
    },
)
GatedFFN.slip(
    "two_thirds",
    "d_ff is cut to two thirds. Whoever wants equal parameters hands in a smaller d_ff; the class takes the number as it is.",
    replace={
        "self.gate_proj = …": "self.gate_proj = nn.Linear(d_model, int(2 * d_ff / 3), bias=False)",
        "self.up_proj = …": "self.up_proj = nn.Linear(d_model, int(2 * d_ff / 3), bias=False)",
        ".Linear(d_ff, d_model, bias=False)": ".Linear(int(2 * d_ff / 3), d_model, bias=False)",
    },
)
GatedFFN.slip(
    "down_missing",
    "down_proj is missing: there are only two layers, and the output has d_ff numbers per token. The third leads back to d_model.",
    replace={
        "self.down_proj = …": "",
        "return …": "return self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x))",
    },
)
GatedFFN.slip(
    "names_of_the_llama_code",
    "The layers have other names, such as w1, w2 and w3 in LLaMA's own code. The exercise asks for `gate_proj`, `up_proj` and `down_proj`, so "
    "that weights can be copied in.",
    replace={
        "self.gate_proj = …": "self.w1 = nn.Linear(d_model, d_ff, bias=False)",
        "self.up_proj = …": "self.w3 = nn.Linear(d_model, d_ff, bias=False)",
        "self.down_proj = …": "self.w2 = nn.Linear(d_ff, d_model, bias=False)",
        "return …": "return self.w2(self.dropout(self.activation(self.w1(x)) * self.w3(x)))",
    },
)
GatedFFN.slip(
    "one_fused_layer",
    "Gate and up lie in one layer. That is faster, and section 6 does it; here both have to exist under names of their own.",
    replace={
        "self.gate_proj = …": "",
        "self.up_proj = …": "self.gate_up_proj = nn.Linear(d_model, 2 * d_ff, bias=False)",
        "return …": (
            "gate, up = self.gate_up_proj(x).chunk(2, dim=-1)\n"
            "return self.down_proj(self.dropout(self.activation(gate) * up))"
        ),
    },
)
GatedFFN.slip(
    "down_turned_round",
    "down_proj has its widths the wrong way round. nn.Linear takes (in, out): down leads from d_ff to d_model.",
    replace={".Linear(d_ff, d_model, bias=False)": ".Linear(d_model, d_ff, bias=False)"},
)
GatedFFN.slip(
    "all_turned_round",
    "All layers have their widths the wrong way round. nn.Linear takes (in, out): gate and up lead from d_model to d_ff, down leads back.",
    of="down_turned_round",
    replace={
        "self.gate_proj = …": "self.gate_proj = nn.Linear(d_ff, d_model, bias=False)",
        "self.up_proj = …": "self.up_proj = nn.Linear(d_ff, d_model, bias=False)",
    },
)
GatedFFN.slip(
    "gate_and_up_share",
    "Gate and up are one and the same layer under two names, so they can't learn different things. Make two.",
    replace={"self.up_proj = …": "self.up_proj = self.gate_proj"},
)
GatedFFN.slip(
    "plain_tensors",
    "The weights are plain tensors: `parameters()` is empty, so an optimiser would have nothing to train. Use nn.Linear.",
    replace={
        "self.gate_proj = …": "",
        "self.up_proj = …": "self.gate_proj, self.up_proj = torch.randn(d_model, d_ff), torch.randn(d_model, d_ff)",
        "nn.Linear(d_ff, d_model, bias=False)": "torch.randn(d_ff, d_model)",
        "return …": "return self.dropout(self.activation(x @ self.gate_proj) * (x @ self.up_proj)) @ self.down_proj",
    },
)
GatedFFN.slip(
    "no_super_init",
    "`super().__init__()` is missing. An nn.Module must be set up before layers can be assigned to it: it is the first line of `__init__`.",
    replace={"super().__init__()": "pass"},
)
GatedFFN.slip(
    "not_a_module",
    "The class does not inherit from nn.Module, so PyTorch knows nothing of its layers: `class GatedFFN(nn.Module):`.",
    replace={"nn.Module": "object", "super().__init__()": "pass"},
)
GatedFFN.slip(
    "activation_on_up",
    "The activation sits on the wrong branch: on up_proj. It belongs on gate_proj's output; up stays linear.",
    replace={".activation(self.gate_proj(x)) * self.up_proj(x)": ".gate_proj(x) * self.activation(self.up_proj(x))"},
)
GatedFFN.slip(
    "activation_on_both",
    "Both branches go through the activation. Only the gate should; the other one stays linear.",
    replace={".up_proj(x)": ".activation(self.up_proj(x))"},
)
GatedFFN.slip(
    "activation_on_the_product",
    "The activation is applied to the product of gate and up. It belongs on the gate alone, before the two are multiplied.",
    replace={".activation(self.gate_proj(x)) * self.up_proj(x)": ".activation(self.gate_proj(x) * self.up_proj(x))"},
)
GatedFFN.slip(
    "activation_forgotten",
    "The activation is never called: this is the bilinear variant. Apply it to gate_proj's output.",
    replace={".activation(self.gate_proj(x))": ".gate_proj(x)"},
)
GatedFFN.slip(
    "branches_added",
    "The branches are added. A gate multiplies: where it is 0, nothing passes.",
    replace={" * self": " + self"},
)
GatedFFN.slip(
    "up_forgotten",
    "up_proj is made, but `forward` never calls it: this is a plain FFN. Multiply its output with the activated gate.",
    replace={" * self.up_proj(x)": ""},
)
GatedFFN.slip(
    "residual_inside",
    "x is added to the output. The residual connection is the block's business, around this module.",
    replace={"return self.down_proj": "return x + self.down_proj"},
)
GatedFFN.slip("forward_returns_nothing", NO_RETURN, replace={"return self.down_proj": "self.down_proj"})
GatedFFN.slip(
    "silu_is_sigmoid",
    "'silu' uses the sigmoid alone. SiLU is x·sigmoid(x): F.silu.",
    replace={"F.silu": "torch.sigmoid"},
)
GatedFFN.slip(
    "tanh_gelu",
    "'gelu' gives the tanh approximation. Without “tanh”, the name means the exact form with erf, which F.gelu computes by default.",
    replace={"F.gelu": 'lambda h: F.gelu(h, approximate="tanh")'},
)
GatedFFN.slip(
    "activation_ignored",
    "The argument `activation` is never used: the gate is always SiLU. Choose the function from the argument.",
    replace={"functions[activation]": "F.silu"},
)
GatedFFN.slip(
    "default_gelu",
    "Without the argument the activation must be SiLU; yours is GELU. Look at the default in the signature.",
    replace={'activation="silu"': 'activation="gelu"'},
)
GatedFFN.slip(
    "unknown_becomes_gelu",
    "An unknown name passes without an error: with the typo 'sulu' a whole training run would use another function, as in a published tutorial, "
    "where it becomes GELU. Errors are raised, neither returned nor printed: raise ValueError.",
    replace={
        "if activation not in functions:\n    raise …": "",
        "functions[activation]": 'F.silu if activation == "silu" else F.gelu',
    },
)
GatedFFN.slip(
    "unknown_becomes_silu",
    replace={
        "if activation not in functions:\n    raise …": "",
        "functions[activation]": 'F.gelu if activation == "gelu" else F.silu',
    },
    form_of="unknown_becomes_gelu",
)
GatedFFN.slip(
    "any_name_of_torch",
    "Every name that torch.nn.functional knows is accepted, 'dropout' too. Only 'silu' and 'gelu' are names here; others are a ValueError.",
    replace={
        "activation not in functions": "not hasattr(F, activation)",
        "functions[activation]": "getattr(F, activation)",
    },
)
GatedFFN.slip(
    "key_error",
    "An unknown name ends in the dict's KeyError. Say it in the caller's terms: raise a ValueError that names the unknown activation.",
    replace={"if activation not in functions:\n    raise …": ""},
)
GatedFFN.slip(
    "assertion",
    "An unknown name ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.",
    replace={"if activation not in functions:\n    raise …": "assert activation in functions"},
)
GatedFFN.slip(
    "error_too_late",
    "The unknown name is noticed only when the module is called. Look it up in `__init__`, where the mistake is made.",
    of="unknown_becomes_gelu",
    replace={
        "self.activation = …": "self.name, self.functions = activation, functions",
        "return …": (
            "if self.name not in self.functions:\n"
            '    raise ValueError(f"unknown activation: {self.name}")\n'
            "return self.down_proj(self.dropout(self.functions[self.name](self.gate_proj(x)) * self.up_proj(x)))"
        ),
    },
)
GatedFFN.slip(
    "dropout_on_the_output",
    "Dropout is applied to the output, after down_proj. Here it belongs on the hidden layer: on the product of gate and up.",
    replace={"return …": "return self.dropout(self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x)))"},
)
GatedFFN.slip(
    "dropout_on_both",
    "Dropout is applied twice, on the hidden layer and on the output. Here only the hidden layer has one.",
    replace={
        "return …": "return self.dropout(self.down_proj(self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x))))"
    },
)
GatedFFN.slip(
    "dropout_on_the_input",
    "Dropout is applied to x, so whole inputs vanish for all units at once. It belongs on the hidden layer: on the product of gate and up.",
    replace={
        "return …": "x = self.dropout(x)\nreturn self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))"
    },
)
GatedFFN.slip(
    "dropout_before_the_activation",
    "Dropout comes before the activation, so the activation gets values that are scaled up already. Put it behind the product.",
    replace={
        ".dropout(self.activation(self.gate_proj(x)) * self.up_proj(x))": ".activation(self.dropout(self.gate_proj(x))) * self.up_proj(x)"
    },
)
GatedFFN.slip(
    "dropout_on_gate_and_up",
    "Gate and up are dropped separately: a hidden value survives only if both do, and what survives grows twice. Drop out their product, once.",
    replace={
        ".dropout(self.activation(self.gate_proj(x)) * self.up_proj(x))": ".dropout(self.activation(self.gate_proj(x))) * self.dropout(self.up_proj(x))"
    },
)
GatedFFN.slip(
    "dropout_never_used",
    "Dropout has no effect: two calls in training mode give the same. It is made, or its probability is taken, but `forward` never applies it.",
    of="dropout_on_the_input",
    replace={"x = self.dropout(x)": ""},
)
GatedFFN.slip(
    "dropout_always_on",
    "Dropout stays on in eval mode: `F.dropout` without `training=self.training` can't know the mode. nn.Dropout follows it by itself.",
    replace={
        "self.dropout = nn.Dropout(dropout)": "self.p = dropout",
        "self.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x))": "F.dropout(self.activation(self.gate_proj(x)) * self.up_proj(x), self.p)",
    },
)
GatedFFN.slip(
    "dropout_not_scaled",
    "The hidden values that remain are not scaled up by 1/(1 − p), so in training mode everything is smaller on average than in eval mode.",
    replace={
        "self.dropout = nn.Dropout(dropout)": "self.p = dropout",
        "return …": (
            "hidden = self.activation(self.gate_proj(x)) * self.up_proj(x)\n"
            "if self.training:\n"
            "    hidden = hidden * (torch.rand_like(hidden) >= self.p)\n"
            "return self.down_proj(hidden)"
        ),
    },
)
GatedFFN.slip(
    "dropout_of_2014",
    "The hidden values are scaled down in eval mode, as in the first paper on dropout. Today, and in nn.Dropout, those that remain are scaled up by "
    "1/(1 − p) in training mode, and eval mode changes nothing.",
    of="dropout_not_scaled",
    replace={
        "return self.down_proj(hidden)": "else:\n    hidden = hidden * (1 - self.p)\nreturn self.down_proj(hidden)"
    },
)
GatedFFN.slip(
    "dropout_keeps_p",
    "p is taken for the share that stays. It is the share that is dropped: p = 0.1 sets one hidden value in ten to zero.",
    replace={".Dropout(dropout)": ".Dropout(1 - dropout if 0 < dropout < 1 else dropout)"},
)
GatedFFN.slip(
    "default_dropout_tenth",
    "Without the argument nothing is dropped; yours drops. Look at the default of `dropout` in the signature.",
    replace={"0.0": "0.1"},
)
GatedFFN.slip(
    "dropout_probability_ignored",
    "The argument `dropout` is never handed on. nn.Dropout() without an argument drops half, and a number typed in drops that, whatever one "
    "asks for.",
    replace={".Dropout(dropout)": ".Dropout()"},
)
GatedFFN.slip(
    "batches_flattened",
    "The leading dimensions are lost: what comes back is a list of tokens. nn.Linear takes any leading dimensions as they are.",
    replace={"def forward(self, x):": "def forward(self, x):\n    x = x.reshape(-1, x.shape[-1])"},
)
GatedFFN.slip(
    "gate_without_gradient",
    "No gradient reaches gate_proj: `detach()` or `no_grad()` cuts it off, so the gate would never learn.",
    replace={
        "return …": (
            "with torch.no_grad():\n"
            "    gate = self.activation(self.gate_proj(x))\n"
            "return self.down_proj(self.dropout(gate * self.up_proj(x)))"
        )
    },
)
GatedFFN.slip(
    "gate_with_a_bias",
    "gate_proj still has a bias, which nn.Linear adds unless told otherwise. All three layers are without: bias=False.",
    replace={"self.gate_proj = …": "self.gate_proj = nn.Linear(d_model, d_ff)"},
)
GatedFFN.slip(
    "up_with_a_bias",
    "up_proj still has a bias, which nn.Linear adds unless told otherwise. All three layers are without: bias=False.",
    replace={"self.up_proj = …": "self.up_proj = nn.Linear(d_model, d_ff)"},
)
GatedFFN.slip(
    "gate_and_up_with_a_bias",
    "gate_proj and up_proj still have biases, which nn.Linear adds unless told otherwise. All three "
    "layers are without: bias=False.",
    of="with_biases",
    replace={".Linear(d_ff, d_model)": ".Linear(d_ff, d_model, bias=False)"},
)
GatedFFN.slip(
    "norm_inside",
    "There is a norm inside, with parameters of its own. It is the block's business, in front of this module.",
    replace={
        "self.dropout = nn.Dropout(dropout)": "self.norm = nn.LayerNorm(d_model)\nself.dropout = nn.Dropout(dropout)",
        "def forward(self, x):": "def forward(self, x):\n    x = self.norm(x)",
    },
)
GatedFFN.slip(
    "gate_missing",
    "gate_proj is missing: with up_proj and down_proj alone this is a plain FFN. Make a third layer, from d_model to d_ff.",
    replace={
        "self.gate_proj = …": "",
        ".activation(self.gate_proj(x)) * self.up_proj(x)": ".activation(self.up_proj(x))",
    },
)
GatedFFN.slip(
    "module_classes",
    "The activation is a class, such as nn.SiLU, where one of its objects is needed: nn.SiLU() with brackets, or the function F.silu.",
    replace={'{"silu": F.silu, "gelu": F.gelu}': '{"silu": nn.SiLU, "gelu": nn.GELU}'},
)
GatedFFN.slip(
    "a_third_name",
    "'relu' is accepted as well. The exercise knows two names, 'silu' and 'gelu'; for any other raise ValueError.",
    replace={'{"silu": F.silu, "gelu": F.gelu}': '{"silu": F.silu, "gelu": F.gelu, "relu": F.relu}'},
)
GatedFFN.slip(
    "getattr_without_asking",
    "The name is looked up in torch.nn.functional: 'sulu' ends in an AttributeError, and names such as 'dropout' pass. Only two are known: compare with them.",
    replace={"if activation not in functions:\n    raise …": "", "functions[activation]": "getattr(F, activation)"},
)
GatedFFN.slip(
    "found_nothing",
    "For an unknown name the activation is None, and calling it fails much later, far from the typo. Look for the name in `__init__`, and raise ValueError.",
    replace={"if activation not in functions:\n    raise …": "", "functions[activation]": "functions.get(activation)"},
)
GatedFFN.slip(
    "no_else",
    "For an unknown name no activation is set, and calling the module fails much later, far from the typo. Add an `else` that raises ValueError.",
    of="unknown_becomes_gelu",
    replace={"self.activation = …": ("if activation in functions:\n    self.activation = functions[activation]")},
)
GatedFFN.slip(
    "matrix_product_of_the_branches",
    "The two branches are multiplied as matrices. Each number of the gate meets one number of up: write `*`, not `@`.",
    replace={" * self": " @ self"},
)
GatedFFN.slip(
    "up_reads_the_gate",
    "up_proj gets what the gate gives, as if the layers stood in a row. Both read the same x, side by side.",
    replace={
        "return …": (
            "gate = self.activation(self.gate_proj(x))\nreturn self.down_proj(self.dropout(gate * self.up_proj(gate)))"
        )
    },
)
GatedFFN.slip(
    "three_dimensions_expected",
    "The shape of x is expected to be [B, T, d_model]. x may be one token or have more dimensions: nn.Linear takes them all.",
    replace={"def forward(self, x):": "def forward(self, x):\n    B, T, d = x.shape"},
)
