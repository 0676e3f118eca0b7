"""What is right, and what goes wrong, in `glu_variant` of notebook 07."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import gated as exercises

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
