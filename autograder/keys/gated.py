"""The marking guide of notebook 07, Gated FFNs.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F and nn.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import gated as exercises

# same_unit_counterexample

same_unit_counterexample = Key(exercises.same_unit_counterexample)
same_unit_counterexample.value(
    "truth",
    "swapped",
    "",
    ([1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]),
)
same_unit_counterexample.value(
    "right",
    "swapped_and_stretched",
    "swapped, and one factor of 2 moved",
    ([1, 2], [3, -1], [6, -2], [0.5, 1]),
)
same_unit_counterexample.value(
    "right",
    "in_a_list",
    "a list of four tuples",
    [(1, 1), (1, -1), (1, -1), (1, 1)],
)
same_unit_counterexample.value(
    "right",
    "two_signs",
    "swapped, and both signs turned",
    ((2.0, 1.0), (0.0, 3.0), (0.0, -3.0), (-2.0, -1.0)),
)
same_unit_counterexample.value(
    "right",
    "tensors",
    "four tensors",
    (torch.tensor([1.0, 5.0]), torch.tensor([2.0, 0.0]), torch.tensor([2.0, 0.0]), torch.tensor([1.0, 5.0])),
)
same_unit_counterexample.value(
    "mistake",
    "two_different_units",
    "Your two units differ for some x, and the code says so. It never calls different units the same: look for two that are the same.",
    ([1.0, 2.0], [3.0, -1.0], [1.0, 1.0], [2.0, 0.0]),
)
same_unit_counterexample.value(
    "mistake",
    "twice_and_half",
    "Your units are the same, because what the one gate has more the other up has less. The code finds that: it multiplies the two "
    "factors. In which other way can two products be equal?",
    ([1.0, 2.0], [3.0, -1.0], [2.0, 4.0], [1.5, -0.5]),
)
same_unit_counterexample.value(
    "mistake",
    "single_numbers",
    "Your x is a single number. There any gate is a multiple of any other, so the code is right. Take more numbers.",
    ([2.0], [3.0], [3.0], [2.0]),
)
same_unit_counterexample.value(
    "mistake",
    "three_numbers",
    "Your classmate's code is wrong on it, well found. A smaller pair shows it as well: two numbers for x are enough.",
    ([1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 2.0]),
)
same_unit_counterexample.value(
    "mistake",
    "reads_nothing",
    "One of the four lists holds zeros alone. Such a unit always gives 0, and the code is not meant for it.",
    ([0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0]),
)
same_unit_counterexample.value(
    "mistake",
    "one_unit",
    "Two lists are missing. Two units have four: gate and up of the one, gate and up of the other.",
    ([1.0, 0.0], [0.0, 1.0]),
)


# glu_variant

glu_variant = Key(exercises.glu_variant)


@glu_variant.truth
def one_unit_at_a_time(x, Wg, Wu, Wd, kind):
    """No matrix product and none of torch's activations: each unit reads twice, bends one reading, multiplies, writes."""
    bends = {
        "glu": lambda h: 1 / (1 + torch.exp(-h)),
        "bilinear": lambda h: h,
        "reglu": lambda h: torch.where(h > 0, h, torch.zeros_like(h)),
        "geglu": lambda h: h * (1 + torch.erf(h / math.sqrt(2))) / 2,
        "swiglu": lambda h: h / (1 + torch.exp(-h)),
    }
    if kind not in bends:
        raise ValueError(kind)
    output = torch.zeros_like(x)
    for j in range(Wg.shape[1]):
        gate, up = torch.zeros_like(x[..., 0]), torch.zeros_like(x[..., 0])
        for i in range(Wg.shape[0]):
            gate = gate + x[..., i] * Wg[i, j]
            up = up + x[..., i] * Wu[i, j]
        output = output + (bends[kind](gate) * up).unsqueeze(-1) * Wd[j]
    return output


@glu_variant.right("if and elif, einsum, GELU and SiLU written out")
def with_if_and_elif(x, Wg, Wu, Wd, kind):
    gate = torch.einsum("...d,df->...f", x, Wg)
    up = torch.einsum("...d,df->...f", x, Wu)
    if kind == "glu":
        gate = gate.sigmoid()
    elif kind == "bilinear":
        pass
    elif kind == "reglu":
        gate = gate.clamp(min=0)
    elif kind == "geglu":
        gate = 0.5 * gate * (1 + torch.erf(gate / math.sqrt(2)))
    elif kind == "swiglu":
        gate = gate * torch.sigmoid(gate)
    else:
        raise ValueError(f"unknown kind {kind}")
    return torch.einsum("...f,fd->...d", gate * up, Wd)


@glu_variant.right("one product for both branches, and modules as activations")
def fused_and_chunked(x, Wg, Wu, Wd, kind):
    acts = dict(glu=nn.Sigmoid(), bilinear=nn.Identity(), reglu=nn.ReLU(), geglu=nn.GELU(), swiglu=nn.SiLU())
    if kind not in acts:
        raise ValueError(kind)
    gate, up = (x @ torch.cat([Wg, Wu], dim=1)).chunk(2, dim=-1)
    return (acts[kind](gate) * up) @ Wd


@glu_variant.right("F.linear with transposes, try and except")
def with_f_linear(x, Wg, Wu, Wd, kind):
    try:
        act = {"glu": torch.sigmoid, "bilinear": lambda h: h, "reglu": torch.relu, "geglu": F.gelu, "swiglu": F.silu}[
            kind
        ]
    except KeyError:
        raise ValueError("kind must be one of the five") from None
    return F.linear(act(F.linear(x, Wg.T)) * F.linear(x, Wu.T), Wd.mT)


@glu_variant.right("F.glu, with its halves the right way round, where it fits; token by token")
def token_by_token(x, Wg, Wu, Wd, kind):
    names = ("glu", "bilinear", "reglu", "geglu", "swiglu")
    if kind not in names:
        raise ValueError("unknown")
    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        g, u = Wg.T @ token, Wu.T @ token
        if kind == "glu":
            hidden = F.glu(torch.cat([u, g]), dim=0)
        elif kind == "bilinear":
            hidden = torch.mul(g, u)
        else:
            hidden = {"reglu": F.relu, "geglu": F.gelu, "swiglu": F.silu}[kind](g) * u
        rows.append(hidden @ Wd)
    return torch.stack(rows).view(*x.shape)


@glu_variant.base
def plain_glu_variant(x, Wg, Wu, Wd, kind):
    acts = {"glu": torch.sigmoid, "bilinear": lambda h: h, "reglu": torch.relu, "geglu": F.gelu, "swiglu": F.silu}
    if kind not in acts:
        raise ValueError(kind)
    act = acts[kind]
    gate, up = x @ Wg, x @ Wu
    return (act(gate) * up) @ Wd


glu_variant.slip(
    "activation_on_up",
    "The activation sits on the wrong branch: on `x @ Wu`. It belongs on the gate, `x @ Wg`. Only for 'bilinear' are both the same.",
    replace={"act(gate) * up": "gate * act(up)"},
)
glu_variant.slip("weights_swapped", replace={"x @ Wg, x @ Wu": "x @ Wu, x @ Wg"}, form_of="activation_on_up")
glu_variant.slip(
    "activation_on_the_product",
    "The activation is applied to the product of the two branches. It belongs on the gate alone, before the two are multiplied.",
    replace={"(act(gate) * up)": "act(gate * up)"},
)
glu_variant.slip(
    "both_branches_bent",
    "Both branches go through the activation. Only the gate should; the other one stays linear.",
    replace={" * up": " * act(up)"},
)
glu_variant.slip(
    "added", "The branches are added. A gate multiplies: where it is 0, nothing passes.", replace={" * up": " + up"}
)
glu_variant.slip(
    "gate_alone",
    "The up branch is missing: this is a plain FFN of Wg and Wd. Multiply the activated gate with `x @ Wu`, entry by entry.",
    replace={"(act(gate) * up)": "act(gate)"},
)
glu_variant.slip(
    "gate_on_itself",
    "The gate is multiplied with itself: `x @ Wg` is in both branches. The second one reads x with Wu.",
    replace={"x @ Wu": "x @ Wg"},
)
glu_variant.slip(
    "up_in_both",
    "`x @ Wu` is in both branches, and Wg is never used. The gate reads x with Wg.",
    replace={"x @ Wg": "x @ Wu"},
)
glu_variant.slip(
    "sigmoid_everywhere",
    "The gate is always a sigmoid, whatever `kind` says. That is 'glu' alone: 'bilinear' has no activation, and each of the others has its own.",
    replace={"acts[kind]": "torch.sigmoid"},
)
glu_variant.slip(
    "silu_everywhere",
    "The gate is always SiLU, whatever `kind` says. That is 'swiglu'; each of the others has an activation of its own.",
    replace={"acts[kind]": "F.silu"},
)
glu_variant.slip(
    "no_activation",
    "No kind has an activation: all five are bilinear. Choose the function from `kind` and apply it to the gate.",
    replace={"acts[kind]": "lambda h: h"},
)
glu_variant.slip(
    "tanh_gelu",
    "'geglu' uses the tanh approximation of GELU. Here it is the exact form with erf, which F.gelu computes by default.",
    replace={"F.gelu": 'lambda h: F.gelu(h, approximate="tanh")'},
)
glu_variant.slip(
    "sigmoid_gelu",
    "'geglu' uses x·sigmoid(1.702·x), a rough stand-in for GELU. Here it is the exact form with erf, which F.gelu computes by default.",
    replace={"F.gelu": "lambda h: h * torch.sigmoid(1.702 * h)"},
)
glu_variant.slip(
    "erf_without_the_root",
    "In your GELU the √2 is missing: it is ½·x·(1 + erf(x/√2)). F.gelu computes it.",
    replace={"F.gelu": "lambda h: 0.5 * h * (1 + torch.erf(h))"},
)
glu_variant.slip(
    "swiglu_with_a_sigmoid",
    "'swiglu' uses the sigmoid alone, as 'glu' does. Swish, which is SiLU, is x·sigmoid(x).",
    replace={"F.silu": "torch.sigmoid"},
)
glu_variant.slip(
    "glu_with_silu",
    "'glu' uses SiLU for its gate. The original gated linear unit has the sigmoid alone: a number from 0 to 1, as a valve.",
    replace={"torch.sigmoid": "F.silu"},
)
glu_variant.slip(
    "glu_with_tanh",
    "'glu' uses tanh. Its gate is a sigmoid: a number from 0 to 1, as a valve.",
    replace={"torch.sigmoid": "torch.tanh"},
)
glu_variant.slip(
    "softmax_gate",
    "'glu' uses a softmax over the hidden units. Its gate is a sigmoid: every unit has a valve of its own, and they do not compete.",
    replace={"torch.sigmoid": "lambda h: torch.softmax(h, dim=-1)"},
)
glu_variant.slip(
    "bilinear_with_relu",
    "'bilinear' uses ReLU. Bilinear means no activation at all: two linear branches, multiplied.",
    replace={"lambda h: h": "torch.relu"},
)
glu_variant.slip(
    "bilinear_squared",
    "'bilinear' squares the gate. No activation means that the gate stays as it is, and is then multiplied with up, once.",
    replace={"lambda h: h": "lambda h: h * h"},
)
glu_variant.slip(
    "reglu_with_leaky_relu",
    "'reglu' uses a leaky ReLU. ReLU is exactly 0 for negative numbers: the gate closes.",
    replace={"torch.relu": "F.leaky_relu"},
)
glu_variant.slip(
    "geglu_and_swiglu_swapped",
    "'geglu' and 'swiglu' are swapped. GEGLU has GELU in its gate, SwiGLU has Swish, which is SiLU.",
    replace={
        "acts = …": (
            'acts = {"glu": torch.sigmoid, "bilinear": lambda h: h, "reglu": torch.relu, "geglu": F.silu, '
            '"swiglu": F.gelu}'
        )
    },
)
glu_variant.slip(
    "pytorchs_f_glu",
    "F.glu puts the sigmoid on the second half of what it is given, here on up, and knows no other activation. Write the two branches out.",
    replace={
        "gate, up = x @ Wg, x @ Wu": "both = torch.cat([x @ Wg, x @ Wu], dim=-1)",
        "(act(gate) * up)": "F.glu(both, dim=-1)",
    },
)
glu_variant.slip(
    "down_missing",
    "The last product is missing: what comes back has d_ff numbers per token. Wd leads back to d_model.",
    replace={"(act(gate) * up) @ Wd": "act(gate) * up"},
)
glu_variant.slip(
    "matrix_product_of_the_branches",
    "The two branches are multiplied as matrices. Each number of the gate meets one number of up: write `*`, not `@`.",
    replace={"(act(gate) * up)": "act(gate) @ up.mT @ gate"},
)
glu_variant.slip(
    "weights_transposed",
    "A weight is transposed. Here all are used as `x @ W`: Wg and Wu are [d_model, d_ff], Wd is [d_ff, d_model]. nn.Linear stores the transposes.",
    replace={"x @ Wg, x @ Wu": "x @ Wg.T, x @ Wu.T"},
)
glu_variant.slip(
    "residual_added",
    "x is added to the output. The residual connection is the block's business, around the FFN.",
    replace={"(act(gate) * up)": "x + (act(gate) * up)"},
)
glu_variant.slip(
    "activation_on_the_input",
    "The activation is applied to x, before Wg. The activation comes after the gate has read x.",
    replace={"x @ Wg": "act(x) @ Wg", "act(gate)": "gate"},
)
glu_variant.slip(
    "activation_on_the_output",
    "The output goes through the activation as well. It acts once, on the gate; the last step is linear.",
    replace={"(act(gate) * up) @ Wd": "act((act(gate) * up) @ Wd)"},
)
glu_variant.slip(
    "gate_without_gradient",
    "No gradient reaches the gate: `detach()` or `no_grad()` cuts it off, so Wg would never learn.",
    replace={"act(gate)": "act(gate).detach()"},
)
glu_variant.slip(
    "batches_flattened",
    "The leading dimensions are lost: what comes back is a list of tokens. `x @ W` takes any leading dimensions as they are.",
    replace={"gate, up = x @ Wg, x @ Wu": "x = x.reshape(-1, x.shape[-1]); gate, up = x @ Wg, x @ Wu"},
)
glu_variant.slip(
    "first_row_of_the_batch",
    "The shape of x is expected to be [B, T, d_model]. x may be one token or have more dimensions: `x @ W` takes them all.",
    replace={"gate, up = x @ Wg, x @ Wu": "B, T, d = x.shape; gate, up = x @ Wg, x @ Wu"},
)
glu_variant.slip(
    "key_error",
    "An unknown kind ends in the dict's KeyError. Say it in the caller's terms: raise a ValueError that names the unknown kind.",
    replace={"if kind not in acts:\n    raise ValueError(kind)": ""},
)
glu_variant.slip(
    "unknown_kind_becomes_swiglu",
    "An unknown kind passes without an error, so nobody would notice a typo. Errors are raised, neither returned nor printed: raise ValueError.",
    replace={"if kind not in acts:\n    raise ValueError(kind)\nact = …": "act = acts.get(kind, F.silu)"},
)
glu_variant.slip(
    "assertion",
    "An unknown kind ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.",
    replace={"if kind not in acts:\n    raise ValueError(kind)": "assert kind in acts"},
)
glu_variant.slip(
    "error_returned", replace={"raise ValueError(kind)": "return None"}, form_of="unknown_kind_becomes_swiglu"
)
glu_variant.slip("nothing_returned", NO_RETURN, replace={"(act(gate) * up) @ Wd": "None"})
glu_variant.slip(
    "geglu_with_silu",
    "'geglu' uses SiLU. Its G is for GELU; SiLU belongs to 'swiglu'.",
    replace={"F.gelu": "F.silu"},
)
glu_variant.slip(
    "geglu_with_relu",
    "'geglu' uses ReLU. Its G is for GELU; ReLU belongs to 'reglu'.",
    replace={"F.gelu": "torch.relu"},
)
glu_variant.slip(
    "swiglu_with_gelu",
    "'swiglu' uses GELU. Its Sw is for Swish, which is SiLU; GELU belongs to 'geglu'.",
    replace={"F.silu": "F.gelu"},
)
glu_variant.slip(
    "swiglu_with_1_702",
    "'swiglu' has a factor of 1.702 in its sigmoid. That is gpt-oss's own; SiLU is x·sigmoid(x), without a factor.",
    replace={"F.silu": "lambda h: h * torch.sigmoid(1.702 * h)"},
)
glu_variant.slip(
    "reglu_with_a_sigmoid",
    "'reglu' uses the sigmoid. Its Re is for ReLU; the sigmoid belongs to 'glu'.",
    replace={"torch.relu": "torch.sigmoid"},
)
glu_variant.slip(
    "bilinear_with_a_sigmoid",
    "'bilinear' uses the sigmoid. Bilinear means no activation at all: the gate stays as it is.",
    replace={"lambda h: h": "torch.sigmoid"},
)
glu_variant.slip(
    "bilinear_without_the_gate",
    "'bilinear' leaves the gate out: the output is up alone, through Wd. No activation means that the gate stays as it is; it is still multiplied.",
    replace={"lambda h: h": "torch.ones_like"},
)
glu_variant.slip(
    "f_glu_as_an_activation",
    "F.glu is no activation: it cuts what it gets in half and multiplies the halves. For 'glu' the gate goes through the sigmoid, and nothing else.",
    replace={"torch.sigmoid": "F.glu"},
)
glu_variant.slip(
    "up_plus_one",
    "1 is added to up. gpt-oss does that; the formula here multiplies the gate with up as it is.",
    replace={" * up": " * (up + 1)"},
)
glu_variant.slip(
    "gate_plus_one",
    "1 is added to the activated gate, so that up passes even where the gate is closed. Multiply with the gate as it is.",
    replace={"act(gate)": "(1 + act(gate))"},
)
glu_variant.slip(
    "down_before_the_product",
    "Wd is applied to up alone, and the gate multiplied with the result. First the product of the two branches, in brackets, then Wd.",
    replace={"(act(gate) * up) @ Wd": "act(gate) * (up @ Wd)"},
)
glu_variant.slip(
    "down_transposed",
    "Wd is transposed. It is [d_ff, d_model] already, as `hidden @ Wd` wants it; nn.Linear would store the transpose.",
    replace={" @ Wd": " @ Wd.T"},
)
glu_variant.slip(
    "output_without_gradient",
    "No gradient reaches anything: the output is cut off. `no_grad()`, `detach()`, `.numpy()` and a new `torch.tensor(...)` all do this.",
    replace={"(act(gate) * up) @ Wd": "((act(gate) * up) @ Wd).detach()"},
)
glu_variant.slip(
    "all_in_no_grad",
    replace={
        "gate, up = x @ Wg, x @ Wu\nreturn …": (
            "with torch.no_grad(): output = (act(x @ Wg) * (x @ Wu)) @ Wd\nreturn output"
        )
    },
    form_of="output_without_gradient",
)
glu_variant.slip(
    "weights_copied_into_layers",
    "x gets a gradient, the matrices get none: they were copied, with `.data`, `detach()` or into a new layer. Use Wg, Wu and Wd themselves.",
    replace={"gate, up = x @ Wg, x @ Wu": "gate, up, Wd = x @ Wg.data, x @ Wu.data, Wd.data"},
)
glu_variant.slip(
    "gate_weight_copied",
    "No gradient reaches Wg: it was copied, with `.data`, `detach()` or into a new layer. Use Wg itself.",
    replace={"x @ Wg": "x @ Wg.detach()"},
)
glu_variant.slip(
    "up_weight_copied",
    "No gradient reaches Wu: it was copied, with `.data`, `detach()` or into a new layer. Use Wu itself.",
    replace={"x @ Wu": "x @ Wu.detach()"},
)
glu_variant.slip(
    "always_float32",
    "The output is always float32. It should have the dtype of x: leave out `.float()`.",
    replace={"gate, up = x @ Wg, x @ Wu": "gate, up, Wd = x.float() @ Wg.float(), x.float() @ Wu.float(), Wd.float()"},
)
glu_variant.slip(
    "squeezed",
    "Dimensions of size 1 disappear: `squeeze()` removes all of them, also a sequence of one token. Leave the shape as it is.",
    replace={"(act(gate) * up) @ Wd": "((act(gate) * up) @ Wd).squeeze()"},
)
glu_variant.slip(
    "viewed",
    "`.view` can't flatten an x whose numbers do not lie in order. `.reshape` can, and `x @ W` needs neither.",
    replace={
        "gate, up = x @ Wg, x @ Wu\nreturn …": (
            "shape = x.shape; x = x.view(-1, x.shape[-1]); gate, up = x @ Wg, x @ Wu\n"
            "return ((act(gate) * up) @ Wd).view(shape)"
        )
    },
)
glu_variant.slip(
    "no_else",
    "For an unknown kind no branch fits, so a variable is used that was never set: Python's UnboundLocalError. Add an `else` that raises ValueError.",
    replace={
        (
            'acts = {"glu": torch.sigmoid, "bilinear": lambda h: h, "reglu": torch.relu, "geglu": F.gelu, '
            '"swiglu": F.silu}\n'
            "if kind not in acts:\n"
            "    raise ValueError(kind)\n"
            "act = …"
        ): (
            'acts = list({"glu": torch.sigmoid, "bilinear": lambda h: h, "reglu": torch.relu, "geglu": F.gelu, '
            '"swiglu": F.silu}.items())\n'
            "for name, function in acts:\n"
            "    if kind == name:\n"
            "        chosen = function\n"
            "act = chosen"
        )
    },
)
glu_variant.slip(
    "a_bare_exception",
    "An unknown kind raises Exception, which says nothing about what is wrong. For an argument with a wrong value Python has ValueError.",
    replace={"ValueError(kind)": 'Exception(f"unknown kind {kind}")'},
)
glu_variant.slip(
    "a_type_error",
    "An unknown kind raises TypeError. That is for a wrong type; a text that is none of the five is a wrong value: ValueError.",
    replace={"ValueError(kind)": 'TypeError(f"unknown kind {kind}")'},
)

# GatedFFN

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

# swiglu_width

swiglu_width = Key(exercises.swiglu_width)


@swiglu_width.truth
def box_by_box(d, multiple_of=256, mult=1.0):
    """Whole numbers, but for mult: thirds first, then every box that is begun counts."""
    width = 8 * d // 3
    stretched = math.floor(mult * width)
    boxes_begun = len(range(0, stretched, multiple_of))
    return boxes_begun * multiple_of


@swiglu_width.right("math.ceil")
def with_ceil(d, multiple_of=256, mult=1.0):
    hidden = int(mult * int(8 * d / 3))
    return math.ceil(hidden / multiple_of) * multiple_of


@swiglu_width.right("as in LLaMA's own code, step by step")
def as_in_llama(d, multiple_of=256, mult=1.0):
    hidden_dim = 4 * d
    hidden_dim = int(2 * hidden_dim / 3)
    if mult is not None:
        hidden_dim = int(mult * hidden_dim)
    return multiple_of * ((hidden_dim + multiple_of - 1) // multiple_of)


@swiglu_width.right("divmod, and floor instead of int")
def with_divmod(d, multiple_of=256, mult=1.0):
    hidden = math.floor(math.floor(d * 8 / 3) * mult)
    boxes, rest = divmod(hidden, multiple_of)
    if rest > 0:
        boxes += 1
    return boxes * multiple_of


@swiglu_width.right("what is missing to the next multiple is added")
def what_is_missing(d, multiple_of=256, mult=1.0):
    hidden = int(mult * (8 * d // 3))
    return hidden + -hidden % multiple_of


@swiglu_width.right("tensors, and a 0-d tensor back")
def as_tensor(d, multiple_of=256, mult=1.0):
    hidden = torch.tensor(int(int(d * 8 / 3) * mult))
    return torch.ceil(hidden.double() / multiple_of).long() * multiple_of


@swiglu_width.base
def plain_swiglu_width(d, multiple_of=256, mult=1.0):
    hidden = int(8 * d / 3)
    hidden = int(mult * hidden)
    return math.ceil(hidden / multiple_of) * multiple_of


swiglu_width.slip(
    "rounded_down",
    "The width is rounded down to a multiple. LLaMA rounds up, so that the FFN is never smaller than the plain one it replaces.",
    replace={"math.ceil(hidden / multiple_of)": "hidden // multiple_of"},
)
swiglu_width.slip(
    "rounded_to_the_nearest",
    "The width goes to the nearest multiple. LLaMA always rounds up.",
    replace={"math.ceil": "round"},
)
swiglu_width.slip(
    "always_one_more",
    "A width that is a multiple already is raised to the next one. Try d = 1536: 8/3 of it is 4096, which stays.",
    replace={"math.ceil(hidden / multiple_of)": "(hidden // multiple_of + 1)"},
)
swiglu_width.slip(
    "not_rounded",
    "The width is not rounded to a multiple: `multiple_of` is never used.",
    replace={"return …": "return hidden"},
)
swiglu_width.slip(
    "multiple_ignored",
    "The multiple is always 256. It is an argument: LLaMA-3 8B uses 1024, and LLaMA-2 70B 4096.",
    replace={"return …": "return math.ceil(hidden / 256) * 256"},
)
swiglu_width.slip(
    "mult_ignored",
    "`mult` changes nothing. It stretches the width before the rounding: LLaMA-3 8B uses 1.3.",
    replace={"hidden = int(mult * hidden)": ""},
)
swiglu_width.slip(
    "mult_after_the_rounding",
    "`mult` is applied after the rounding, so the result need not be a multiple any more. Stretch first, round last.",
    replace={
        "hidden = int(mult * hidden)\nreturn …": "return int(mult * math.ceil(hidden / multiple_of) * multiple_of)"
    },
)
swiglu_width.slip(
    "first_cut_forgotten",
    "8/3 of d is not cut to a whole number before `mult` comes. LLaMA cuts twice; with multiple_of=1 one sees the difference.",
    replace={"int(8 * d / 3)": "8 * d / 3"},
)
swiglu_width.slip(
    "one_formula_cut_once",
    replace={"int(8 * d / 3)": "4 * d", " * hidden": " * hidden * 2 / 3"},
    form_of="first_cut_forgotten",
)
swiglu_width.slip(
    "second_cut_forgotten",
    "After `mult` the width is not cut to a whole number, so it is rounded up a little too often. With multiple_of=1 one sees it.",
    replace={"int(mult * hidden)": "mult * hidden"},
)
swiglu_width.slip(
    "never_cut",
    "The width is never cut to a whole number, neither after 8/3 nor after `mult`, so it is rounded up too often. With multiple_of=1 one sees it.",
    replace={"int(8 * d / 3)": "8 * d / 3", "int(mult * hidden)": "mult * hidden"},
)
swiglu_width.slip(
    "rounded_instead_of_cut",
    "8/3 of d is rounded to the nearest whole number. LLaMA cuts it off, as `int` does; with multiple_of=1 one sees the difference.",
    replace={"int(8 * d / 3)": "round(8 * d / 3)", "int(mult * hidden)": "round(mult * hidden)"},
)
swiglu_width.slip(
    "ceil_instead_of_cut",
    "8/3 of d is rounded up at once, before the multiple. LLaMA cuts it off there, as `int` does, and rounds up only at the end.",
    replace={"int(8 * d / 3)": "math.ceil(8 * d / 3)", "int(mult * hidden)": "math.ceil(mult * hidden)"},
)
swiglu_width.slip(
    "four_d",
    "The width is 4·d, that of a plain FFN. With three matrices the same parameters buy two thirds of it.",
    replace={"int(8 * d / 3)": "4 * d"},
)
swiglu_width.slip(
    "three_halves",
    "4·d is multiplied by 3/2. Three matrices instead of two: each must be smaller, by 2/3.",
    replace={"8 * d / 3": "4 * d * 3 / 2"},
)
swiglu_width.slip(
    "two_thirds_of_d",
    "The width is two thirds of d. It is two thirds of 4·d, the plain FFN's width.",
    replace={"8 * d": "2 * d"},
)
swiglu_width.slip(
    "three_eighths",
    "The fraction is upside down: 3/8 of d. The hidden layer is wider than d, by 8/3.",
    replace={"8 * d / 3": "3 * d / 8"},
)
swiglu_width.slip(
    "about_2_7",
    "The width is 2.7·d, which is LLaMA's after rounding. The rule is 8/3, then the multiple.",
    replace={"8 * d / 3": "2.7 * d"},
)
swiglu_width.slip(
    "rest_of_one_lost",
    "A width that is 1 above a multiple is rounded down. To round up with whole numbers add `multiple_of - 1` before you divide.",
    replace={
        "return …": "return (hidden + multiple_of - 2) // multiple_of * multiple_of if multiple_of > 1 else hidden"
    },
)
swiglu_width.slip(
    "power_of_two",
    "The width goes up to a power of two. It goes up to a multiple of `multiple_of`.",
    replace={"return …": "return 2 ** math.ceil(math.log2(hidden))"},
)
swiglu_width.slip(
    "floats",
    "The number is right, but a float came back. Widths are counted: return an int.",
    replace={" * multiple_of": " * float(multiple_of)"},
)
swiglu_width.slip(
    "default_mult_1_3",
    "Without the argument `mult` is not 1. Look at the default in the signature.",
    replace={"1.0": "1.3"},
)
swiglu_width.slip(
    "default_multiple_1024",
    "Without the argument `multiple_of` is not 256. Look at the default in the signature.",
    replace={"256": "1024"},
)
swiglu_width.slip(
    "arguments_swapped",
    "The arguments come in another order: d, then multiple_of, then mult.",
    replace={"multiple_of=256, mult=1.0": "mult=1.0, multiple_of=256"},
)
swiglu_width.slip("no_return", NO_RETURN, replace={"return …": "print(math.ceil(hidden / multiple_of) * multiple_of)"})
swiglu_width.slip(
    "thirds_cut_first",
    "d is divided by 3 and cut before it is multiplied. First 8·d, then the third, then the cut.",
    replace={"int(8 * d / 3)": "d // 3 * 8"},
)
swiglu_width.slip(
    "third_of_four_d_cut_first",
    "4·d is divided by 3 and cut before it is doubled. First 8·d, then the third, then the cut.",
    replace={"int(8 * d / 3)": "4 * d // 3 * 2"},
)
swiglu_width.slip(
    "fraction_cut",
    "8/3 itself is cut to a whole number, 2. Cut the product with d, not the fraction.",
    replace={"int(8 * d / 3)": "8 // 3 * d"},
)
swiglu_width.slip(
    "two_thirds_cut_to_zero",
    "2/3 itself is cut to a whole number, 0. Cut the product with 4·d, not the fraction.",
    replace={"int(8 * d / 3)": "int(2 / 3) * 4 * d"},
)
swiglu_width.slip(
    "mult_first",
    "d is multiplied with `mult` before 8/3 is taken. LLaMA takes 8/3 of d and cuts, then multiplies and cuts again; with multiple_of=1 one sees it.",
    replace={"hidden = int(mult * hidden)": "", "8 * d": "8 * int(mult * d)"},
)
swiglu_width.slip(
    "second_cut_rounds",
    "After `mult` the width is rounded to the nearest whole number. LLaMA cuts it off, as `int` does; with multiple_of=1 one sees the difference.",
    replace={"int(mult * hidden)": "round(mult * hidden)"},
)
swiglu_width.slip(
    "rounded_up_twice",
    "The width goes up to a multiple before `mult` and again after it. Stretch first; round once, at the end.",
    replace={" * hidden": " * math.ceil(hidden / multiple_of) * multiple_of"},
)
swiglu_width.slip(
    "boxes_counted",
    "That is how many multiples fit, not the width. Multiply their number with `multiple_of`.",
    replace={" * multiple_of": ""},
)
swiglu_width.slip(
    "multiple_added",
    "`multiple_of` is added to the width. Only what is missing to the next multiple may be added.",
    replace={"return …": "return hidden + multiple_of"},
)
swiglu_width.slip(
    "rest_added",
    "`hidden % multiple_of` is what the width has over the multiple below. Missing to the one above is the other part: `multiple_of` minus that.",
    replace={"return …": "return hidden + hidden % multiple_of"},
)
swiglu_width.slip(
    "three_d",
    "The width starts from 3·d. Three matrices together match two of width 4·d when each is 8/3·d wide.",
    replace={"int(8 * d / 3)": "3 * d"},
)

# fuse_gate_up

fuse_gate_up = Key(exercises.fuse_gate_up)


@fuse_gate_up.truth
def row_by_row(gate_weight, up_weight):
    rows = [gate_weight[j] for j in range(gate_weight.shape[0])]
    rows += [up_weight[j] for j in range(up_weight.shape[0])]
    return torch.stack(rows)


@fuse_gate_up.right("torch.vstack")
def with_vstack(gate_weight, up_weight):
    return torch.vstack((gate_weight, up_weight))


@fuse_gate_up.right("a stack, flattened")
def stack_and_flatten(gate_weight, up_weight):
    return torch.stack([gate_weight, up_weight]).flatten(0, 1)


@fuse_gate_up.right("written into a fresh tensor")
def into_a_fresh_tensor(gate_weight, up_weight):
    f, d = gate_weight.shape
    fused = torch.zeros(2 * f, d, dtype=gate_weight.dtype)
    fused[:f] = gate_weight
    fused[f:] = up_weight
    return fused


@fuse_gate_up.right("by way of the transposes, non-contiguous")
def by_the_transposes(gate_weight, up_weight):
    return torch.cat([gate_weight.T, up_weight.T], dim=1).T


@fuse_gate_up.right("padding and addition")
def padded(gate_weight, up_weight):
    f = len(gate_weight)
    return F.pad(gate_weight, (0, 0, 0, f)) + F.pad(up_weight, (0, 0, f, 0))


def _fuse(name, message, source, form_of=""):
    fuse_gate_up.typed("mistake", name, message, f"def fuse_gate_up(gate_weight, up_weight):\n    {source}\n", form_of)


_fuse(
    "side_by_side",
    "The weights lie side by side, [d_ff, 2·d_model]: that layer would read two copies of x. The outputs are the rows, so the rows double.",
    "return torch.cat([gate_weight, up_weight], dim=1)",
)
_fuse(
    "last_dimension",
    "The weights lie side by side, [d_ff, 2·d_model]: that layer would read two copies of x. The outputs are the rows, so the rows double.",
    "return torch.hstack([gate_weight, up_weight])",
    form_of="side_by_side",
)
_fuse(
    "up_first",
    "Up comes first and gate second, so `chunk` hands them over the wrong way round, and the activation would bend the wrong half.",
    "return torch.cat([up_weight, gate_weight], dim=0)",
)
_fuse(
    "interleaved",
    "The rows alternate: gate, up, gate, up. Some models store them so and take every second number; `chunk(2)` cuts in the middle.",
    "return torch.stack([gate_weight, up_weight], dim=1).reshape(-1, gate_weight.shape[1])",
)
_fuse(
    "input_split",
    "This block matrix reads the first half of its input for the gate and the second for up: the input is split. Both branches read all of x; "
    "it is the output that is split.",
    "return torch.block_diag(gate_weight, up_weight)",
)
_fuse(
    "stacked",
    "The weights are stacked along a new dimension, [2, d_ff, d_model]. The weight of one layer has two dimensions: lay them one below the other.",
    "return torch.stack([gate_weight, up_weight])",
)
_fuse(
    "transposed",
    "The result is transposed, [d_model, 2·d_ff]. That fits `x @ W`; F.linear and nn.Linear want a row for each output.",
    "return torch.cat([gate_weight.T, up_weight.T], dim=1)",
)
_fuse(
    "transposes_stacked",
    "The transposes lie one below the other, [2·d_model, d_ff]. Both weights are [d_ff, d_model] already: leave them as they are.",
    "return torch.cat([gate_weight.T, up_weight.T], dim=0)",
)
_fuse(
    "added",
    "The weights are added. One sum can't be taken apart again: lay the rows one below the other.",
    "return gate_weight + up_weight",
)
_fuse(
    "multiplied",
    "The weights are multiplied with each other. It is the branches' outputs that are multiplied, later; the weights stay side by side in one layer.",
    "return gate_weight * up_weight",
)
_fuse(
    "matrix_product",
    "The weights are multiplied as matrices. Both branches read the same x; neither reads the other's output.",
    "return gate_weight @ up_weight.T",
)
_fuse(
    "gate_twice",
    "The gate's rows are there twice, and up is missing.",
    "return torch.cat([gate_weight, gate_weight], dim=0)",
)
_fuse(
    "detached",
    "The fused weight is cut off from the two it was made of: no gradient reaches them. `detach()`, `.data` and a new tensor or Parameter all do this.",
    "return torch.cat([gate_weight.detach(), up_weight.detach()], dim=0)",
)
_fuse(
    "new_parameter",
    "The fused weight is cut off from the two it was made of: no gradient reaches them. `detach()`, `.data` and a new tensor or Parameter all do this.",
    "return nn.Parameter(torch.cat([gate_weight, up_weight], dim=0))",
    form_of="detached",
)
_fuse(
    "without_gradient",
    "The fused weight is cut off from the two it was made of: no gradient reaches them. `detach()`, `.data` and a new tensor or Parameter all do this.",
    "with torch.no_grad():\n        return torch.cat([gate_weight, up_weight], dim=0)",
    form_of="detached",
)
_fuse(
    "always_float32",
    "The dtype is always float32. The fused weight has the dtype of the two it is made of.",
    "return torch.cat([gate_weight, up_weight], dim=0).float()",
)
_fuse(
    "fresh_float32",
    "The dtype is always float32. The fused weight has the dtype of the two it is made of.",
    "fused = torch.zeros(2 * len(gate_weight), gate_weight.shape[1])\n    fused[: len(gate_weight)] = gate_weight\n"
    "    fused[len(gate_weight) :] = up_weight\n    return fused",
    form_of="always_float32",
)
_fuse(
    "always_float64",
    "The dtype is always float64. The fused weight has the dtype of the two it is made of.",
    "return torch.cat([gate_weight, up_weight], dim=0).double()",
)
_fuse(
    "a_pair",
    "The two weights come back as a pair. One matrix was asked for, with the rows of both.",
    "return gate_weight, up_weight",
)
_fuse(
    "a_layer",
    "A whole nn.Linear came back. The weight alone was asked for, a tensor [2·d_ff, d_model].",
    "layer = nn.Linear(gate_weight.shape[1], 2 * len(gate_weight), bias=False)\n"
    "    layer.weight.data = torch.cat([gate_weight, up_weight])\n    return layer",
)
_fuse(
    "changed_in_place",
    "One of the two weights is changed in place: its layer would compute something else from now on. Build the result from fresh tensors.",
    "fused = torch.cat([gate_weight, up_weight], dim=0)\n    with torch.no_grad():\n        up_weight.zero_()\n    return fused",
)
_fuse(
    "nothing_returned",
    NO_RETURN,
    "fused = torch.cat([gate_weight, up_weight], dim=0)",
)

_fuse(
    "up_twice",
    "Up's rows are there twice, and the gate is missing.",
    "return torch.cat([up_weight, up_weight], dim=0)",
)
_fuse(
    "without_brackets",
    "torch.cat wants its tensors in one list or tuple: `torch.cat([first, second], dim=...)`.",
    "return torch.cat(gate_weight, up_weight)",
)
_fuse(
    "averaged",
    "The weights are averaged. A mean can't be taken apart again: lay the rows one below the other.",
    "return (gate_weight + up_weight) / 2",
)
_fuse(
    "stacked_at_the_end",
    "The weights are stacked along a new last dimension, [d_ff, d_model, 2]. The weight of one layer has two dimensions: lay them one below the other.",
    "return torch.stack([gate_weight, up_weight], dim=-1)",
)
_fuse(
    "a_list_of_rows",
    "The rows come back in a Python list. One tensor was asked for; torch.stack makes one of them.",
    "return [*gate_weight, *up_weight]",
)
_fuse(
    "activated",
    "The activation is applied to the gate's weight. It bends what the gate gives for an x, later; the weights stay as they are.",
    "return torch.cat([F.silu(gate_weight), up_weight], dim=0)",
)
_fuse(
    "half_of_each",
    "Half of each weight's rows is missing: together they should have 2·d_ff rows. It is the result that is cut in two, not the weights.",
    "half = len(gate_weight) // 2\n    return torch.cat([gate_weight[:half], up_weight[:half]], dim=0)",
)
_fuse(
    "by_way_of_numpy",
    "`.numpy()` leaves PyTorch: a weight that is learned refuses it, and no gradient would come back. torch.cat does the same with tensors.",
    "rows = [*gate_weight.numpy(), *up_weight.numpy()]\n    return torch.stack([torch.from_numpy(row) for row in rows])",
)

# find_the_gate

find_the_gate = Key(exercises.find_the_gate)


@find_the_gate.truth
def unit_by_unit(fused, down, x, y):
    """Each layout as a list of row numbers; each output as a sum over units, one number at a time; the one with the least error wins."""
    rows, d_ff = fused.tolist(), down.shape[1]

    def output(token, gates, ups):
        total = [0.0] * len(token)
        for unit, (g, u) in enumerate(zip(gates, ups, strict=True)):
            read = sum(a * b for a, b in zip(rows[g], token, strict=True))
            passed = read / (1 + math.exp(-read)) * sum(a * b for a, b in zip(rows[u], token, strict=True))
            total = [t + passed * float(w) for t, w in zip(total, down[:, unit], strict=True)]
        return total

    first, second = list(range(d_ff)), list(range(d_ff, 2 * d_ff))
    even, odd = list(range(0, 2 * d_ff, 2)), list(range(1, 2 * d_ff, 2))
    errors = []
    for gates, ups in ((first, second), (second, first), (even, odd), (odd, even)):
        wrong = 0.0
        for token, expected in zip(x.tolist(), y.tolist(), strict=True):
            wrong += sum((a - b) ** 2 for a, b in zip(output(token, gates, ups), expected, strict=True))
        errors.append((wrong, gates, ups))
    _, gates, ups = min(errors)
    return fused[gates], fused[ups]


@find_the_gate.right("a loop that remembers the best")
def remembers_the_best(fused, down, x, y):
    d_ff = fused.shape[0] // 2
    best = None
    for a, b in ((fused[:d_ff], fused[d_ff:]), (fused[::2], fused[1::2])):
        for gate, up in ((a, b), (b, a)):
            z = x @ gate.T
            out = (z * torch.sigmoid(z) * (x @ up.T)) @ down.T
            wrong = (out - y).abs().sum()
            if best is None or wrong < best[0]:
                best = (wrong, gate, up)
    return best[1], best[2]


@find_the_gate.right("all four at once, as one tensor")
def all_four_at_once(fused, down, x, y):
    a, b = (
        torch.stack([fused.view(2, -1, fused.shape[1])[0], fused[0::2]]),
        torch.stack([fused.chunk(2)[1], fused[1::2]]),
    )
    gates, ups = torch.cat([a, b]), torch.cat([b, a])  # [4, d_ff, d_model]
    hidden = F.silu(torch.einsum("nd,lfd->lnf", x, gates)) * torch.einsum("nd,lfd->lnf", x, ups)
    errors = (hidden @ down.T - y).square().mean(dim=(1, 2))
    best = errors.argmin()
    return gates[best], ups[best]


@find_the_gate.right("modules with copied weights, the largest deviation, clones")
def with_modules(fused, down, x, y):
    def layer(gate, up):
        with torch.no_grad():
            return F.linear(nn.SiLU()(F.linear(x, gate)).mul(F.linear(x, up)), down)

    top, bottom = fused.split(len(fused) // 2)
    even, odd = fused.reshape(len(fused) // 2, 2, -1).unbind(1)
    wrong = {}
    for pair in ((top, bottom), (bottom, top), (even, odd), (odd, even)):
        wrong[(layer(*pair) - y).abs().max().item()] = pair
    gate, up = wrong[min(wrong)]
    return [gate.clone(), up.clone()]


@find_the_gate.base
def plain_find_the_gate(fused, down, x, y):
    top, bottom = fused.chunk(2)
    even, odd = fused[0::2], fused[1::2]
    layouts = [(top, bottom), (bottom, top), (even, odd), (odd, even)]

    def error(layout):
        gate, up = layout
        out = (F.silu(x @ gate.T) * (x @ up.T)) @ down.T
        return float((out - y).norm())

    return min(layouts, key=error)


find_the_gate.slip(
    "always_the_first_half",
    "The first half is taken for the gate, whatever y says: nothing else was tried, or every candidate looked equally good and the first one won. "
    "(For the first input, all zeros, every layout gives 0; and an error of 0/0 is NaN, and nothing compares as smaller.)",
    replace={"return min(layouts, key=error)": "return (top, bottom)"},
)
find_the_gate.slip(
    "nan_in_the_error", replace={"(out - y).norm": "((out - y) / y).abs().mean"}, form_of="always_the_first_half"
)
find_the_gate.slip(
    "always_the_second_half",
    "The second half is taken for the gate, whatever y says. Let y decide.",
    replace={"return min(layouts, key=error)": "return (bottom, top)"},
)
find_the_gate.slip(
    "halves_alone",
    "Only the two halves are tried, and where the rows lie in turn neither fits. Add the two candidates made of every second row.",
    replace={", (even, odd), (odd, even)": ""},
)
find_the_gate.slip(
    "rows_in_turn_alone",
    "Only rows in turn are tried. Add the two candidates made of an upper and a lower half.",
    replace={"(top, bottom), (bottom, top), (even, odd)": "(even, odd)"},
)
find_the_gate.slip(
    "up_and_gate",
    "The two have changed places: the gate is the one that goes through SiLU, and it comes back first.",
    replace={"F.silu(x @ gate.T) * (x @ up.T)": "F.silu(x @ up.T) * (x @ gate.T)"},
)
find_the_gate.slip(
    "returned_the_other_way_round",
    replace={"min(layouts, key=error)": "min(layouts, key=error)[::-1]"},
    form_of="up_and_gate",
)
find_the_gate.slip(
    "without_silu",
    "The activation is missing when the candidates are tried. Without SiLU the two factors can change places and the product stays: so whichever order "
    "comes first wins.",
    replace={"F.silu(x @ gate.T)": "(x @ gate.T)"},
)
find_the_gate.slip("only_the_first_input", replace={"out - y": "out[0] - y[0]"}, form_of="always_the_first_half")
find_the_gate.slip(
    "the_worst_fit",
    "The candidate with the **largest** error is taken. The nearest one has the smallest.",
    replace={"min": "max"},
)
find_the_gate.slip(
    "number_of_the_layout",
    "The number, or the name, of the layout comes back. Return the two weights themselves, as the pair (gate, up).",
    replace={"min(layouts, key=error)": "min(range(4), key=lambda i: error(layouts[i]))"},
)
find_the_gate.slip(
    "name_of_the_half",
    replace={"min(layouts, key=error)": '"first" if error(layouts[0]) < error(layouts[1]) else "second"'},
    form_of="number_of_the_layout",
)
find_the_gate.slip(
    "sizes_do_not_fit",
    "The sizes in a product do not fit. Gate and up have **rows** of their own in `fused`, d_model long, and `down` is [d_model, d_ff], all as "
    "`nn.Linear` stores them: "
    "use `F.linear`, or `@` with a transpose.",
    replace={"down.T": "down"},
)


@find_the_gate.mistake(
    "The candidates are asked to fit exactly, and none does: y has about three digits. Take the one with the smallest error."
)
def exact_fit(fused, down, x, y):
    top, bottom = fused.chunk(2)
    for gate, up in ((top, bottom), (bottom, top), (fused[0::2], fused[1::2]), (fused[1::2], fused[0::2])):
        if torch.allclose((F.silu(x @ gate.T) * (x @ up.T)) @ down.T, y):
            return gate, up


@find_the_gate.form("sizes_do_not_fit")
def columns_cut(fused, down, x, y):
    left, right = fused.chunk(2, dim=1)

    def error(pair):
        return float(((F.silu(x @ pair[0].T) * (x @ pair[1].T)) @ down.T - y).norm())

    return min([(left, right), (right, left)], key=error)


@find_the_gate.mistake(
    "The **columns** are cut in half, not the rows. `nn.Linear` stores one row for each number that it puts out, so gate and up have rows of their "
    "own, d_model long."
)
def columns_returned(fused, down, x, y):
    return fused.chunk(2, dim=-1)


# Questions

quiz_branch = question(
    exercises.quiz_branch,
    "B",
    {
        "A": "Up stays straight: a bend there too would make it another function. SwiGLU is silu(gate) · up.",
        "C": "The product is not bent any more. The bend comes before it, on one of the two factors.",
    },
)

quiz_matched = question(
    exercises.quiz_matched,
    "A",
    {
        "B": "At 4·d_model three matrices hold 12·d² weights, half as many again as the plain FFN's 8·d².",
        "C": "6·d_model is three halves of 4·d_model. A third matrix asks for narrower ones, not wider.",
    },
)

quiz_f_glu = question(
    exercises.quiz_f_glu,
    "C",
    {
        "A": "The first half passes as it is. F.glu(input) is first half · sigmoid(second half); section 6 shows it.",
        "B": "Then there would be two valves and nothing that flows. One half stays as it is.",
    },
)

quiz_table = question(
    exercises.quiz_table,
    "B",
    {
        "A": "They are 0.002 apart, less than half a standard error of their difference: repeated runs of SwiGLU alone scatter by 0.010.",
        "C": "They are 0.003 apart, about one standard error of their difference: √((0.005² + 0.003²) / 4) = 0.0029. Chance does that easily.",
    },
)
