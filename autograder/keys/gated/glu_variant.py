"""What is right, and what goes wrong, in `glu_variant` of notebook 07."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import gated as exercises

glu_variant = Key(exercises.glu_variant)


@glu_variant.truth
def one_unit_at_a_time(x, Wg, Wu, Wd, kind):
    """No matrix product and none of torch's activations: each neuron reads twice, bends one reading, multiplies, writes."""
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


glu_variant.slips("""
unknown_kind_becomes_swiglu
  - if kind not in acts:
  -     raise ValueError(kind)
  - act = acts[kind]
  + act = acts.get(kind, F.silu)
    An unknown kind passes without an error, so nobody would notice a typo. Errors are raised, neither returned nor printed: raise ValueError.
nothing_returned: (act(gate) * up) @ Wd -> None
    NO_RETURN
activation_on_up: return (act(gate) * up) @ Wd -> return (gate * act(up)) @ Wd
    The activation sits on the wrong branch: on `x @ Wu`. It belongs on the gate, `x @ Wg`. Only for 'bilinear' are both the same.
| weights_swapped: Wg, x @ Wu -> Wu, x @ Wg
in return (act(gate) * up) @ Wd
added: return (act(gate) + up) @ Wd
    The branches are added. A gate multiplies: where it is 0, nothing passes.
matrix_product_of_the_branches: return act(gate) @ up.mT @ gate @ Wd
    The two branches are multiplied as matrices. Each number of the gate meets one number of up: write `*`, not `@`.
gate_without_gradient: return (act(gate).detach() * up) @ Wd
    No gradient reaches the gate: `detach()` or `no_grad()` cuts it off, so Wg would never learn.
down_transposed: return (act(gate) * up) @ Wd.T
    Wd is transposed. It is [d_ff, d_model] already, as `hidden @ Wd` wants it; nn.Linear would store the transpose.
in return (act(gate) * up)
activation_on_the_product: return act(gate * up)
    The activation is applied to the product of the two branches. It belongs on the gate alone, before the two are multiplied.
gate_alone: return act(gate)
    The up branch is missing: this is a plain FFN of Wg and Wd. Multiply the activated gate with `x @ Wu`, entry by entry.
residual_added: return x + (act(gate) * up)
    x is added to the output. The residual connection is the block's business, around the FFN.
gate_plus_one: return ((1 + act(gate)) * up)
    1 is added to the activated gate, so that up passes even where the gate is closed. Multiply with the gate as it is.
in (act(gate) * up) @ Wd
both_branches_bent: (act(gate) * act(up)) @ Wd
    Both branches go through the activation. Only the gate should; the other one stays linear.
down_missing: act(gate) * up
    The last product is missing: what comes back has d_ff numbers per token. Wd leads back to d_model.
activation_on_the_output: act((act(gate) * up) @ Wd)
    The output goes through the activation as well. It acts once, on the gate; the last step is linear.
up_plus_one: (act(gate) * (up + 1)) @ Wd
    1 is added to up. gpt-oss does that; the formula here multiplies the gate with up as it is.
down_before_the_product: act(gate) * (up @ Wd)
    Wd is applied to up alone, and the gate multiplied with the result. First the product of the two branches, in brackets, then Wd.
output_without_gradient: ((act(gate) * up) @ Wd).detach()
    No gradient reaches anything: the output is cut off. `no_grad()`, `detach()`, `.numpy()` and a new `torch.tensor(...)` all do this.
| all_in_no_grad
  - gate, up = x @ Wg, x @ Wu
  - return (act(gate) * up) @ Wd
  + with torch.no_grad(): output = (act(x @ Wg) * (x @ Wu)) @ Wd
  + return output
squeezed: ((act(gate) * up) @ Wd).squeeze()
    Dimensions of size 1 disappear: `squeeze()` removes all of them, also a sequence of one token. Leave the shape as it is.
in @ Wu
gate_on_itself: @ Wg
    The gate is multiplied with itself: `x @ Wg` is in both branches. The second one reads x with Wu.
up_weight_copied: @ Wu.detach()
    No gradient reaches Wu: it was copied, with `.data`, `detach()` or into a new layer. Use Wu itself.
in @ Wg, x
up_in_both: @ Wu, x
    `x @ Wu` is in both branches, and Wg is never used. The gate reads x with Wg.
gate_weight_copied: @ Wg.detach(), x
    No gradient reaches Wg: it was copied, with `.data`, `detach()` or into a new layer. Use Wg itself.
in acts[kind]
sigmoid_everywhere: torch.sigmoid
    The gate is always a sigmoid, whatever `kind` says. That is 'glu' alone: 'bilinear' has no activation, and each of the others has its own.
silu_everywhere: F.silu
    The gate is always SiLU, whatever `kind` says. That is 'swiglu'; each of the others has an activation of its own.
no_activation: lambda h: h
    No kind has an activation: all five are bilinear. Choose the function from `kind` and apply it to the gate.
in F.gelu
tanh_gelu: lambda h: F.gelu(h, approximate="tanh")
    'geglu' uses the tanh approximation of GELU. Here it is the exact form with erf, which F.gelu computes by default.
sigmoid_gelu: lambda h: h * torch.sigmoid(1.702 * h)
    'geglu' uses x·sigmoid(1.702·x), a rough stand-in for GELU. Here it is the exact form with erf, which F.gelu computes by default.
erf_without_the_root: lambda h: 0.5 * h * (1 + torch.erf(h))
    In your GELU the √2 is missing: it is ½·x·(1 + erf(x/√2)). F.gelu computes it.
geglu_with_silu: F.silu
    'geglu' uses SiLU. Its G is for GELU; SiLU belongs to 'swiglu'.
geglu_with_relu: torch.relu
    'geglu' uses ReLU. Its G is for GELU; ReLU belongs to 'reglu'.
in F.silu
swiglu_with_a_sigmoid: torch.sigmoid
    'swiglu' uses the sigmoid alone, as 'glu' does. Swish, which is SiLU, is x·sigmoid(x).
swiglu_with_gelu: F.gelu
    'swiglu' uses GELU. Its Sw is for Swish, which is SiLU; GELU belongs to 'geglu'.
swiglu_with_1_702: lambda h: h * torch.sigmoid(1.702 * h)
    'swiglu' has a factor of 1.702 in its sigmoid. That is gpt-oss's own; SiLU is x·sigmoid(x), without a factor.
in torch.sigmoid
glu_with_silu: F.silu
    'glu' uses SiLU for its gate. The original gated linear unit has the sigmoid alone: a number from 0 to 1, as a valve.
glu_with_tanh: torch.tanh
    'glu' uses tanh. Its gate is a sigmoid: a number from 0 to 1, as a valve.
softmax_gate: lambda h: torch.softmax(h, dim=-1)
    'glu' uses a softmax over the neurons. Its gate is a sigmoid: every neuron has a valve of its own, and they do not compete.
f_glu_as_an_activation: F.glu
    F.glu is no activation: it cuts what it gets in half and multiplies the halves. For 'glu' the gate goes through the sigmoid, and nothing else.
in lambda h: h
bilinear_with_relu: torch.relu
    'bilinear' uses ReLU. Bilinear means no activation at all: two linear branches, multiplied.
bilinear_with_a_sigmoid: torch.sigmoid
    'bilinear' uses the sigmoid. Bilinear means no activation at all: the gate stays as it is.
bilinear_without_the_gate: torch.ones_like
    'bilinear' leaves the gate out: the output is up alone, through Wd. No activation means that the gate stays as it is; it is still multiplied.
bilinear_squared: : lambda h: h, "reglu": -> : lambda h: h * h, "reglu":
    'bilinear' squares the gate. No activation means that the gate stays as it is, and is then multiplied with up, once.
in torch.relu
reglu_with_leaky_relu: F.leaky_relu
    'reglu' uses a leaky ReLU. ReLU is exactly 0 for negative numbers: the gate closes.
reglu_with_a_sigmoid: torch.sigmoid
    'reglu' uses the sigmoid. Its Re is for ReLU; the sigmoid belongs to 'glu'.
geglu_and_swiglu_swapped: F.gelu, "swiglu": F.silu -> F.silu, "swiglu": F.gelu
    'geglu' and 'swiglu' are swapped. GEGLU has GELU in its gate, SwiGLU has Swish, which is SiLU.
in
  - gate, up = x @ Wg, x @ Wu
  - return (act(gate) * up) @ Wd
pytorchs_f_glu
  + both = torch.cat([x @ Wg, x @ Wu], dim=-1)
  + return F.glu(both, dim=-1) @ Wd
    F.glu puts the sigmoid on the second half of what it is given, here on up, and knows no other activation. Write the two branches out.
activation_on_the_input
  + gate, up = act(x) @ Wg, x @ Wu
  + return (gate * up) @ Wd
    The activation is applied to x, before Wg. The activation comes after the gate has read x.
viewed
  + shape = x.shape; x = x.view(-1, x.shape[-1]); gate, up = x @ Wg, x @ Wu
  + return ((act(gate) * up) @ Wd).view(shape)
    `.view` can't flatten an x whose numbers do not lie in order. `.reshape` can, and `x @ W` needs neither.
weights_transposed: gate, up = x @ Wg, x @ Wu -> gate, up = x @ Wg.T, x @ Wu.T
    A weight is transposed. Here all are used as `x @ W`: Wg and Wu are [d_model, d_ff], Wd is [d_ff, d_model]. nn.Linear stores the transposes.
in gate,
batches_flattened: x = x.reshape(-1, x.shape[-1]); gate,
    The leading dimensions are lost: what comes back is a list of tokens. `x @ W` takes any leading dimensions as they are.
first_row_of_the_batch: B, T, d = x.shape; gate,
    The shape of x is expected to be [B, T, d_model]. x may be one token or have more dimensions: `x @ W` takes them all.
in
  - if kind not in acts:
  -     raise ValueError(kind)
key_error:
    An unknown kind ends in the dict's KeyError. Say it in the caller's terms: raise a ValueError that names the unknown kind.
assertion: assert kind in acts
    An unknown kind ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.
in raise ValueError(kind)
| unknown_kind_becomes_swiglu | error_returned: return None
a_bare_exception: raise Exception(f"unknown kind {kind}")
    An unknown kind raises Exception, which says nothing about what is wrong. For an argument with a wrong value Python has ValueError.
a_type_error: raise TypeError(f"unknown kind {kind}")
    An unknown kind raises TypeError. That is for a wrong type; a text that is none of the five is a wrong value: ValueError.
in up = x @ Wg, x @ Wu
weights_copied_into_layers: up, Wd = x @ Wg.data, x @ Wu.data, Wd.data
    x gets a gradient, the matrices get none: they were copied, with `.data`, `detach()` or into a new layer. Use Wg, Wu and Wd themselves.
always_float32: up, Wd = x.float() @ Wg.float(), x.float() @ Wu.float(), Wd.float()
    The output is always float32. It should have the dtype of x: leave out `.float()`.
no_else
  - acts = {"glu": torch.sigmoid, "bilinear": lambda h: h, "reglu": torch.relu, "geglu": F.gelu, "swiglu": F.silu}
  - if kind not in acts:
  -     raise ValueError(kind)
  - act = acts[kind]
  + acts = list({"glu": torch.sigmoid, "bilinear": lambda h: h, "reglu": torch.relu, "geglu": F.gelu, "swiglu": F.silu}.items())
  + for name, function in acts:
  +     if kind == name:
  +         chosen = function
  + act = chosen
    For an unknown kind no branch fits, so a variable is used that was never set: Python's UnboundLocalError. Add an `else` that raises ValueError.
""")
