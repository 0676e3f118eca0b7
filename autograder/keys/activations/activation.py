"""What is right, and what goes wrong, in `activation` of notebook 03."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import activations as exercises

activation = Key(exercises.activation)


@activation.truth
def entry_by_entry(name, x, beta=1.0):
    """One entry at a time, from the definitions (Hendrycks and Gimpel 2016). The slope is measured by five points: no rule of differentiation is used."""

    def act(at):
        if name == "relu":
            return at if at > 0 else 0.0
        if name == "gelu":
            return at * 0.5 * math.erfc(-at / math.sqrt(2))
        if name == "gelu_tanh":
            return 0.5 * at * (1 + math.tanh(math.sqrt(2 / math.pi) * (at + 0.044715 * at * at * at)))
        small = math.exp(-abs(beta * at))  # at most 1
        return at * (1 if beta * at >= 0 else small) / (1 + small)

    def measured(at):
        h = 1e-3
        return (act(at - 2 * h) - 8 * act(at - h) + 8 * act(at + h) - act(at + 2 * h)) / (12 * h)

    values, slopes = [], []
    for z in x.reshape(-1):
        at = float(z.detach())
        slope = measured(at)
        values.append(act(at) + slope * (z - z.detach()))
        slopes.append(torch.tensor(slope, dtype=x.dtype))
    return torch.stack(values).reshape(x.shape), torch.stack(slopes).reshape(x.shape)


@activation.right("torch's own values, and each slope by its share")
def with_torchs_values(name, x, beta=1.0):
    if name == "relu":
        return F.relu(x), torch.heaviside(x, torch.zeros_like(x))
    if name == "gelu":
        bell = torch.exp(-x * x / 2) / (2 * math.pi) ** 0.5
        return F.gelu(x), torch.special.ndtr(x) + x * bell
    if name == "gelu_tanh":
        u2 = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        s = torch.sigmoid(u2)
        return F.gelu(x, approximate="tanh"), s + x * s * (1 - s) * 2 * math.sqrt(2 / math.pi) * (
            1 + 3 * 0.044715 * x * x
        )
    s = torch.sigmoid(beta * x)
    return x * s, s * (1 + beta * x * (1 - s))


@activation.right("a table of shares and of their slopes, as a list")
def table_of_shares(name, x, beta=1.0):
    k = (2 / math.pi) ** 0.5
    t = torch.tanh(k * (x + 0.044715 * x.pow(3)))
    s = torch.sigmoid(beta * x)
    share, growth = {
        "relu": ((x > 0) * torch.ones_like(x), torch.zeros_like(x)),
        "gelu": (
            torch.distributions.Normal(0.0, 1.0).cdf(x),
            torch.exp(torch.distributions.Normal(0.0, 1.0).log_prob(x)),
        ),
        "gelu_tanh": ((1 + t) / 2, (1 - t.square()) / 2 * k * (1 + 0.134145 * x.square())),
        "silu": (s, beta * s * (1 - s)),
    }[name]
    return [x * share, share + x * growth]


@activation.right("modules, erfc, sech² and tanh")
def with_modules(name, x, beta=1.0):
    if name == "relu":
        value = nn.ReLU()(x)
        return value, torch.sign(value)
    if name == "gelu":
        return nn.GELU()(x), 0.5 * torch.erfc(-x / 2**0.5) + 0.3989422804014327 * x * torch.exp(-0.5 * x.square())
    if name == "gelu_tanh":
        u = 0.7978845608028654 * (x + 0.044715 * x**3)
        slope = 0.5 + 0.5 * u.tanh() + 0.5 * x * 0.7978845608028654 * (1 + 0.134145 * x**2) / torch.cosh(u) ** 2
        return nn.GELU("tanh")(x), slope
    half = torch.tanh(0.5 * beta * x)
    return 0.5 * x * (1 + half), 0.5 * (1 + half) + 0.25 * beta * x * (1 - half**2)


@activation.right("the values by other ways, in place on fresh tensors")
def by_other_ways(name, x, beta=1.0):
    if name == "relu":
        out = x.clone()
        out[out < 0] = 0
        return out, (x >= 0) * torch.ones_like(x)
    if name == "silu":
        beta = torch.as_tensor(beta, dtype=x.dtype)
        s = x.mul(beta).sigmoid()
        slope = (1 - s).mul_(beta).mul_(x).add_(1).mul_(s)
        return x.mul(s), slope
    if name == "gelu":
        root = torch.sqrt(torch.tensor(2.0, dtype=x.dtype))
        phi = 0.5 * (1.0 + torch.special.erf(x / root))
        return phi * x, phi + x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3))
    t = torch.tanh(inner)
    return 0.5 * x * (1.0 + t), 0.5 * (
        1 + t + x * (1 - t) * (1 + t) * math.sqrt(2.0 / math.pi) * (1 + 3 * 0.044715 * x * x)
    )


@activation.base
def plain_activation(name, x, beta=1.0):
    if name == "relu":
        value = x.clamp(min=0)
        slope = (x > 0).to(x.dtype)
    if name == "gelu":
        phi = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        value = x * phi
        slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    if name == "gelu_tanh":
        k = math.sqrt(2 / math.pi)
        t = torch.tanh(k * (x + 0.044715 * x**3))
        value = 0.5 * x * (1 + t)
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
    if name == "silu":
        s = torch.sigmoid(beta * x)
        value = x * s
        slope = s + beta * x * s * (1 - s)
    return value, slope


# relu

activation.slip(
    "python_max",
    "`relu`: Python's `max` compares x as a whole with 0 and has to choose one of them; a tensor has no single answer to “is "
    "it larger?”. torch has functions that compare entry by entry.",
    replace={"x.clamp(min=0)": "max(0, x)"},
)
activation.slip("python_max_of_zero", replace={"x.clamp(min=0)": "max(x, torch.tensor(0.0))"}, form_of="python_max")
activation.slip("python_if", replace={"x.clamp(min=0)": "x if x > 0 else torch.zeros_like(x)"}, form_of="python_max")
activation.slip(
    "in_place",
    "`relu`: x itself is changed: a trailing underscore (`relu_`, `clamp_`), `inplace=True`, or an assignment such as `x[x < "
    "0] = 0` works in place. Make a new tensor.",
    replace={"x.clamp(min=0)": "x.relu_()"},
)
activation.slip("inplace_argument", replace={"x.clamp(min=0)": "F.relu(x, inplace=True)"}, form_of="in_place")
activation.slip("assigned_in_place", replace={"value = x.clamp(min=0)": "x[x < 0] = 0\nvalue = x"}, form_of="in_place")
activation.slip(
    "leaky",
    "`relu`: This is leaky ReLU: it lets a small part of the negative numbers through. ReLU lets none through.",
    replace={"x.clamp(min=0)": "torch.where(x > 0, x, 0.01 * x)"},
)
activation.slip(
    "mask_returned",
    "`relu`: The mask comes back, which says where x is positive, instead of the numbers themselves. What is x there?",
    replace={"x.clamp(min=0)": "x > 0"},
)
activation.slip(
    "mask_as_numbers",
    replace={"x.clamp(min=0)": "torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x))"},
    form_of="mask_returned",
)
activation.slip("mask_cast", replace={"x.clamp(min=0)": "(x > 0).to(x.dtype)"}, form_of="mask_returned")
activation.slip(
    "absolute",
    "`relu`: This is the absolute value: negative numbers lose their sign. They should become 0.",
    replace={"x.clamp(min=0)": "x.abs()"},
)
activation.slip(
    "negative_half",
    "`relu`: The wrong half is kept: negative numbers pass, positive ones become 0.",
    replace={"x.clamp(min=0)": "x.clamp(max=0)"},
)
activation.slip(
    "of_minus_x",
    "`relu`: The sign of the negative half is turned: this is relu(−x). The positive numbers are those that should pass.",
    replace={"x.clamp(min=0)": "torch.relu(-x)"},
)
activation.slip(
    "twice", "`relu`: This is twice too large: x + |x| is 2x for positive x.", replace={"x.clamp(min=0)": "x + x.abs()"}
)
activation.slip(
    "capped",
    "`relu`: Large numbers are capped at 6: this is ReLU6. ReLU has no upper end.",
    replace={"x.clamp(min=0)": "x.clamp(0, 6)"},
)
activation.slip(
    "capped_at_one",
    "`relu`: Large numbers are capped at 1: `clamp` was given an upper end as well. ReLU has none.",
    replace={"x.clamp(min=0)": "x.clamp(0, 1)"},
)
activation.slip(
    "softplus",
    "`relu`: This is softplus, log(1 + eˣ), a smooth relative of ReLU: it has no kink, and is ln 2 at x = 0 instead of 0.",
    replace={"x.clamp(min=0)": "F.softplus(x)"},
)
activation.slip(
    "largest_entry",
    "`relu`: One number comes back for all of x: `x.max()` and `torch.max(x)` look for the largest entry. ReLU keeps the shape of x.",
    replace={"x.clamp(min=0)": "x.max()"},
)
activation.slip(
    "positives_only",
    "`relu`: Only the positive entries come back, in a row: `x[x > 0]` throws the others away. They should stay in their places, as zeros.",
    replace={"x.clamp(min=0)": "x[x > 0]"},
)
activation.slip(
    "python_max_row_by_row",
    replace={"x.clamp(min=0)": "torch.tensor([max(0, row) for row in x])"},
    form_of="python_max",
)
activation.slip(
    "largest_along_a_dimension",
    "`relu`: The second argument of `torch.max` is a dimension when it is a number: the largest entries along dimension 0 "
    "are looked for, and their places. `clamp(min=0)` compares each entry with 0.",
    replace={"x.clamp(min=0)": "torch.max(x, 0)"},
)
activation.slip(
    "largest_along_a_dimension_values",
    replace={"x.clamp(min=0)": "torch.max(x, 0).values"},
    form_of="largest_along_a_dimension",
)
activation.slip(
    "maximum_with_a_number",
    "`relu`: `torch.maximum` compares two tensors, and 0 is a number. Hand it `torch.zeros_like(x)`, or use `clamp(min=0)`.",
    replace={"x.clamp(min=0)": "torch.maximum(x, 0)"},
)
activation.slip(
    "relu_module_from_x",
    "`relu`: `nn.ReLU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.ReLU()(x)`.",
    replace={"x.clamp(min=0)": "nn.ReLU(x)"},
)
activation.slip(
    "elu_for_relu",
    "`relu`: This is ELU: for negative x it gives eˣ − 1. ReLU gives 0 there.",
    replace={"x.clamp(min=0)": "F.elu(x)"},
)
activation.slip(
    "slope_is_a_mask",
    "`relu`: The slope is a tensor of truth values. It should be numbers, 0 and 1, with the dtype of x.",
    replace={"(x > 0).to(x.dtype)": "x > 0"},
)
activation.slip(
    "slope_of_one",
    "`relu`: The slope is 1 everywhere. Left of 0 ReLU is flat.",
    replace={"(x > 0).to(x.dtype)": "torch.ones_like(x)"},
)
activation.slip(
    "sign_for_slope",
    "`relu`: The slope is the sign of x, which is −1 on the left. There ReLU is flat, and its slope is 0.",
    replace={"(x > 0).to(x.dtype)": "torch.sign(x)"},
)
activation.slip(
    "value_for_slope",
    "`relu`: The slope is the value once more. Right of 0 ReLU rises with slope 1, however large x is.",
    replace={"(x > 0).to(x.dtype)": "value"},
)

# gelu

activation.slip(
    "without_root_two",
    "`gelu`: The argument of erf is x: it should be x/√2. erf belongs to a bell curve with another width.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x))"},
)
activation.slip(
    "times_root_two",
    "`gelu`: The argument of erf is x·√2: x is divided by √2, not multiplied.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x * math.sqrt(2)))"},
)
activation.slip(
    "half_the_argument",
    "`gelu`: The argument of erf is x/2: it should be x/√2. Is a `math.sqrt` missing?",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x / 2))"},
)
activation.slip(
    "without_half",
    "`gelu`: The factor ½ is missing: 1 + erf runs from 0 to 2, and Φ from 0 to 1.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "1 + torch.erf(x / math.sqrt(2))"},
)
activation.slip(
    "without_one",
    "`gelu`: The 1 is missing in 1 + erf(…): Φ(0) should be ½, not 0.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * torch.erf(x / math.sqrt(2))"},
)
activation.slip(
    "falling_phi",
    "`gelu`: This is 1 − erf(…): the sign is turned, and Φ falls instead of rising.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 - torch.erf(x / math.sqrt(2)))"},
)
activation.slip(
    "phi_alone", "`gelu`: This is Φ(x) alone: GELU multiplies it by x.", replace={"value = x * phi": "value = phi"}
)
activation.slip(
    "density_instead_of_area",
    "`gelu`: x is multiplied by φ, the bell curve itself. Φ is the area under it, from the far left up to x: a number from 0 to 1.",
    replace={"value = x * phi": "value = x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)"},
)
activation.slip(
    "tanh_form",
    "`gelu`: This is the tanh approximation. The exact form uses erf; the two differ most, by 4.7e-4, near |x| = 2.7.",
    replace={"value = x * phi": 'value = F.gelu(x, approximate="tanh")'},
)
activation.slip(
    "exact_by_sigmoid",
    "`gelu`: This is x·sigmoid(1.702·x), a coarser approximation, off by up to 0.02. The exact form uses erf.",
    replace={"value = x * phi": "value = x * torch.sigmoid(1.702 * x)"},
)
activation.slip(
    "exact_by_sigmoid_rounded",
    replace={"value = x * phi": "value = x * torch.sigmoid(1.7 * x)"},
    form_of="exact_by_sigmoid",
)
activation.slip(
    "silu_for_gelu",
    "`gelu`: This is SiLU, x·sigmoid(x). GELU multiplies x by Φ(x), which rises more steeply.",
    replace={"value = x * phi": "value = F.silu(x)"},
)
activation.slip(
    "math_erf",
    "`gelu`: `math.erf` takes one number, not a tensor. `torch.erf` does the same for every entry of a tensor.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + math.erf(x / math.sqrt(2)))"},
)
activation.slip(
    "torch_sqrt_of_a_number",
    "`gelu`: `torch.sqrt` takes a tensor, and 2 is a Python number. `math.sqrt(2)` or `2**0.5` gives its root.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x / torch.sqrt(2)))"},
)
activation.slip(
    "divided_outside",
    "`gelu`: A bracket closes too early: erf(x)/√2 instead of erf(x/√2). The division belongs inside.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x) / math.sqrt(2))"},
)
activation.slip(
    "brackets_missing",
    "`gelu`: The bracket round 1 + erf(…) is missing: ½·x multiplies the whole sum, not the 1 alone.",
    replace={"value = x * phi": "value = 0.5 * x * 1 + torch.erf(x / math.sqrt(2))"},
)
activation.slip(
    "x_on_erf_only",
    "`gelu`: x multiplies erf(…) alone: GELU(0) comes out as ½ instead of 0. It multiplies the whole Φ(x).",
    replace={"value = x * phi": "value = 0.5 * (1 + x * torch.erf(x / 2**0.5))"},
)
activation.slip(
    "half_on_one_only",
    "`gelu`: The ½ multiplies the 1 alone: ½ + erf(…) runs from −½ to 1½. It belongs in front of the whole sum.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 + torch.erf(x / math.sqrt(2))"},
)
activation.slip(
    "root_of_x_too",
    "`gelu`: The root is taken of x as well: √(x/2), which is NaN for negative x. Only the 2 is under the root.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(torch.sqrt(x / 2)))"},
)
activation.slip(
    "gelu_module_from_x",
    "`gelu`: `nn.GELU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.GELU()(x)`.",
    replace={"value = x * phi": "value = nn.GELU(x)"},
)
activation.slip(
    "share_for_slope",
    "`gelu`: The slope is Φ(x) alone, as if the share stood still. It grows with x: the rule for products has a second term, x times the bell curve.",
    replace={"slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi"},
)
activation.slip(
    "share_for_slope_as_a_quotient",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = torch.where(x == 0, 0.5, value / x)"
    },
    form_of="share_for_slope",
)
activation.slip(
    "shares_for_slopes",
    "The slope of all three smooth functions is the share alone here, as if the share stood still. It grows with x: the rule for products has a second term, "
    "x times the slope of the share.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi",
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = 0.5 * (1 + t)",
        "slope = s + beta * x * s * (1 - s)": "slope = s",
    },
)
activation.slip(
    "bell_term_only",
    "`gelu`: The slope has the term in which the share changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is ½.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)"
    },
)
activation.slip(
    "bell_without_its_root",
    "`gelu`: The bell curve is not divided by √(2π), so its area is not 1.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi + x * torch.exp(-0.5 * x**2)"
    },
)
activation.slip(
    "bell_without_half",
    "`gelu`: The exponent of the bell curve is −x². It is −x²/2.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi + x * torch.exp(-(x**2)) / math.sqrt(2 * math.pi)"
    },
)
activation.slip(
    "bell_without_x",
    "`gelu`: The bell curve is added without its factor x. The second term is x times the slope of Φ.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi + torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)"
    },
)
activation.slip(
    "bell_with_a_plus",
    "`gelu`: The exponent of the bell curve has a plus, so it grows without end. It is −x²/2.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi + x * torch.exp(0.5 * x**2) / math.sqrt(2 * math.pi)"
    },
)

# gelu_tanh: its value

activation.slip(
    "exact_form",
    "`gelu_tanh`: This is the exact GELU, x·Φ(x) with erf, which `F.gelu` computes unless told otherwise. The tanh form "
    "differs from it most, by 4.7e-4, near |x| = 2.7.",
    replace={"value = 0.5 * x * (1 + t)": "value = F.gelu(x)"},
)
activation.slip(
    "square_for_cube",
    "`gelu_tanh`: The cube is a square: 0.044715·x². Try a negative x: that term should change its sign with x.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.044715 * x**2))"},
)
activation.slip(
    "tanh_without_half",
    "`gelu_tanh`: The factor ½ is missing: 1 + tanh runs from 0 to 2, and what multiplies x from 0 to 1.",
    replace={"value = 0.5 * x * (1 + t)": "value = x * (1 + t)"},
)
activation.slip(
    "root_of_two_pi",
    "`gelu_tanh`: The root is √(2π). The formula has 2/π under the root, which gives 0.798.",
    replace={"k = math.sqrt(2 / math.pi)": "k = math.sqrt(2 * math.pi)"},
)
activation.slip(
    "root_of_half_pi",
    "`gelu_tanh`: The root is √(π/2). The formula has 2/π under the root, which gives 0.798.",
    replace={"k = math.sqrt(2 / math.pi)": "k = math.sqrt(math.pi / 2)"},
)
activation.slip(
    "no_root",
    "`gelu_tanh`: The square root is missing: 2/π is 0.637, its root is 0.798.",
    replace={"k = math.sqrt(2 / math.pi)": "k = 2 / math.pi"},
)
activation.slip(
    "root_of_two_only",
    "`gelu_tanh`: Only the 2 is under the root: √2/π. The formula has √(2/π).",
    replace={"k = math.sqrt(2 / math.pi)": "k = math.sqrt(2) / math.pi"},
)
activation.slip(
    "no_factor",
    "`gelu_tanh`: The factor √(2/π) is missing inside tanh.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(x + 0.044715 * x**3)"},
)
activation.slip(
    "no_cubic_term",
    "`gelu_tanh`: The cubic term is missing: tanh(√(2/π)·x) alone bends too slowly.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * x)"},
)
activation.slip(
    "factor_on_both",
    "`gelu_tanh`: The factor 0.044715 belongs to x³ alone. Here it multiplies x as well.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * 0.044715 * (x + x**3))"},
)
activation.slip(
    "factor_cubed",
    "`gelu_tanh`: This is the cube of 0.044715·x. Only x is cubed, so check the brackets.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + (0.044715 * x) ** 3))"},
)
activation.slip(
    "root_on_x_only",
    "`gelu_tanh`: A bracket is missing: √(2/π) multiplies x only. It multiplies the whole sum x + 0.044715·x³.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * x + 0.044715 * x**3)"},
)
activation.slip(
    "typo_in_the_constant",
    "`gelu_tanh`: The number in front of x³ is 0.44715: a zero is missing after the point.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.44715 * x**3))"},
)
activation.slip(
    "tanh_without_one",
    "`gelu_tanh`: The 1 is missing in 1 + tanh(…), so negative x come back positive.",
    replace={"value = 0.5 * x * (1 + t)": "value = 0.5 * x * t"},
)
activation.slip(
    "tanh_without_x",
    "`gelu_tanh`: The factor x in front is missing: this is only the stand-in for Φ(x).",
    replace={"value = 0.5 * x * (1 + t)": "value = 0.5 * (1 + t)"},
)
activation.slip(
    "tanh_by_quick_sigmoid",
    "`gelu_tanh`: This is x·sigmoid(1.702·x), a coarser approximation of GELU, off by up to 0.02. The formula asked for has tanh and a cube.",
    replace={"value = 0.5 * x * (1 + t)": "value = x * torch.sigmoid(1.702 * x)"},
)
activation.slip(
    "math_tanh",
    "`gelu_tanh`: `math.tanh` takes one number, not a tensor. `torch.tanh` does the same for every entry of a tensor.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "math.tanh(k * (x + 0.044715 * x**3))"},
)
activation.slip(
    "tanh_torch_sqrt",
    "`gelu_tanh`: `torch.sqrt` takes a tensor, and 2/π is a Python number. `math.sqrt(2 / math.pi)` gives its root.",
    replace={"k = math.sqrt(2 / math.pi)": "k = torch.sqrt(2 / math.pi)"},
)
activation.slip(
    "cube_alone",
    "`gelu_tanh`: The term x is missing in the inner bracket: it is x + 0.044715·x³, not the cube alone.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (0.044715 * x**3))"},
)
activation.slip(
    "inner_product",
    "`gelu_tanh`: The inner bracket multiplies where it should add: x + 0.044715·x³.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x * 0.044715 * x**3))"},
)
activation.slip(
    "cube_subtracted",
    "`gelu_tanh`: The cubic term is subtracted. It is added: x + 0.044715·x³.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x - 0.044715 * x**3))"},
)
activation.slip(
    "one_minus_tanh",
    "`gelu_tanh`: This is 1 − tanh(…): the sign is turned, so negative x pass and positive ones do not.",
    replace={"value = 0.5 * x * (1 + t)": "value = 0.5 * x * (1 - t)"},
)
activation.slip(
    "tanh_brackets_missing",
    "`gelu_tanh`: The bracket round 1 + tanh(…) is missing: ½·x multiplies the whole sum, not the 1 alone.",
    replace={"value = 0.5 * x * (1 + t)": "value = 0.5 * x * 1 + t"},
)
activation.slip(
    "root_rounded",
    "`gelu_tanh`: The factor √(2/π) is rounded, or π is: the check sees six digits. Let `math.sqrt(2 / math.pi)` compute it.",
    replace={"k = math.sqrt(2 / math.pi)": "k = 0.8"},
)
activation.slip("root_rounded_to_three", replace={"k = math.sqrt(2 / math.pi)": "k = 0.798"}, form_of="root_rounded")
activation.slip("root_rounded_to_four", replace={"k = math.sqrt(2 / math.pi)": "k = 0.7979"}, form_of="root_rounded")
activation.slip("pi_rounded", replace={"k = math.sqrt(2 / math.pi)": "k = math.sqrt(2 / 3.14)"}, form_of="root_rounded")
activation.slip(
    "constant_not_quite",
    "`gelu_tanh`: The number in front of x³ is not quite right: it is 0.044715, with all its digits.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.04715 * x**3))"},
)
activation.slip(
    "constant_rounded",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.0447 * x**3))"},
    form_of="constant_not_quite",
)
activation.slip(
    "constant_cut",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.04471 * x**3))"},
    form_of="constant_not_quite",
)
activation.slip(
    "constant_with_a_zero_too_many",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.0044715 * x**3))"},
    form_of="constant_not_quite",
)
activation.slip(
    "caret_for_power",
    "`gelu_tanh`: `^` is not a power in Python. The cube is `x**3`.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.044715 * x ^ 3))"},
)
activation.slip(
    "caret_for_power_in_a_bracket",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.044715 * (x ^ 3)))"},
    form_of="caret_for_power",
)
activation.slip(
    "tanh_module_from_x",
    "`gelu_tanh`: `nn.GELU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then "
    'call it with x: `nn.GELU(approximate="tanh")(x)`.',
    replace={"value = 0.5 * x * (1 + t)": "value = nn.GELU(x)"},
)
activation.slip(
    "cube_of_the_sum",
    "`gelu_tanh`: The cube is taken of the whole sum. It belongs to the second x alone: x + 0.044715·x³.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.044715 * x) ** 3)"},
)

# gelu_tanh: its slope

activation.slip(
    "first_term_only",
    "`gelu_tanh`: The slope has its first term only, ½·(1 + t), as if t stood still (value/x is the same). But t grows with "
    "x: the rule for products has a second term.",
    replace={"slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = 0.5 * (1 + t)"},
)
activation.slip(
    "value_over_x",
    replace={
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = torch.where(x == 0, 0.5, value / x)"
    },
    form_of="first_term_only",
)
activation.slip(
    "second_term_only",
    "`gelu_tanh`: The slope has the term in which t changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is ½.",
    replace={
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)"
    },
)
activation.slip(
    "inside_forgotten",
    "`gelu_tanh`: The slope of what is **inside** tanh is missing: 1 − t² has to be multiplied by it (the chain rule).",
    replace={" * k * (1 + 3 * 0.044715 * x**2)": ""},
)
activation.slip(
    "root_forgotten",
    "`gelu_tanh`: The root √(2/π) is missing from the slope. It is a factor inside tanh, so it comes out once, in front of the slope of x + 0.044715·x³.",
    replace={" * k * (1 + 3 * 0.044715 * x**2)": " * (1 + 3 * 0.044715 * x**2)"},
)
activation.slip(
    "three_forgotten", "`gelu_tanh`: The slope of x³ is 3·x². Here the 3 is missing.", replace={" + 3 * 0": " + 0"}
)
activation.slip(
    "cube_left_out",
    "`gelu_tanh`: The slope of what is inside tanh is taken as if x³ were not there: it is √(2/π) near 0 only.",
    replace={" * (1 + 3 * 0.044715 * x**2)": ""},
)
activation.slip(
    "tanh_not_squared",
    "`gelu_tanh`: The slope of tanh is 1 − t², with a square; here it is 1 − t.",
    replace={"t**2": "t"},
)
activation.slip(
    "half_left_out",
    "`gelu_tanh`: The second term of the slope is twice as large as it should be: the ½ in front of GELU belongs to both terms.",
    replace={" + 0.5 * x *": " + x *"},
)
activation.slip(
    "slope_of_the_exact_form",
    "`gelu_tanh`: The value is that of the tanh form, and the slope that of the exact one, Φ(x) + x·φ(x). They are close, and not the same.",
    replace={
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = 0.5 * torch.erfc(-x / 2**0.5) + "
        "x * torch.exp(-(x**2) / 2) / (2 * math.pi) ** 0.5"
    },
)
activation.slip(
    "both_of_the_exact_form",
    "`gelu_tanh`: These are value and slope of the exact GELU, with erf, which `F.gelu` computes by default. The exercise asks for the tanh form.",
    of="slope_of_the_exact_form",
    replace={"value = 0.5 * x * (1 + t)": "value = F.gelu(x)"},
)
activation.slip(
    "slope_of_relu",
    "`gelu_tanh`: The slope is ReLU's, 0 or 1. GELU bends smoothly: its slope is ½ at 0, and even a little above 1 further on.",
    replace={
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = (x > 0).to(x.dtype) * 1"
    },
)

# silu

activation.slip(
    "sigmoid_alone",
    "`silu`: This is the sigmoid alone: SiLU multiplies it by x.",
    replace={"value = x * s": "value = s"},
)
activation.slip(
    "beta_outside",
    "`silu`: beta is outside: beta·x·sigmoid(x). It belongs inside the sigmoid, beside x.",
    replace={"value = x * s": "value = beta * x * torch.sigmoid(x)"},
)
activation.slip("beta_times_silu", replace={"value = x * s": "value = beta * F.silu(x)"}, form_of="beta_outside")
activation.slip(
    "beta_twice",
    "`silu`: beta is in both places: beta·x·sigmoid(beta·x), which is what F.silu(beta·x) computes. Only the sigmoid gets beta; x in front stays as it is.",
    replace={"value = x * s": "value = F.silu(beta * x)"},
)
activation.slip(
    "beta_ignored",
    "`silu`: beta is never looked at: the result is the same for every beta. Put it inside the sigmoid.",
    replace={
        "s = torch.sigmoid(beta * x)": "s = torch.sigmoid(x)",
        "slope = s + beta * x * s * (1 - s)": "slope = s + x * s * (1 - s)",
    },
)
activation.slip(
    "beta_added",
    "`silu`: The sigmoid of x + beta is taken. beta is a factor: beta·x.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.sigmoid(x + beta)"},
)
activation.slip(
    "beta_divides",
    "`silu`: The sigmoid of x/beta is taken. beta is a factor, beta·x, so a larger beta makes a sharper curve.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.sigmoid(x / (beta if beta else 1e-12))"},
)
activation.slip(
    "division_by_beta",
    "`silu`: There is a division by beta, and beta may be 0: 0/0 is NaN. Multiply x by the sigmoid, and nothing needs dividing.",
    replace={"value = x * s": "value = F.silu(beta * x) / beta"},
)
activation.slip(
    "sign_turned",
    "`silu`: The sign inside the sigmoid is turned: the positive side is the one that should pass.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.sigmoid(-beta * x)"},
)
activation.slip(
    "overflow_in_the_gradient",
    "`silu`: Far on the left there are NaN in the gradient: e^10000 is infinite, and infinity times zero is NaN. The values "
    "survive, training does not. `torch.sigmoid` computes the same without overflow.",
    replace={"value = x * s": "value = x / (1 + torch.exp(-beta * x))"},
)
activation.slip(
    "overflow_in_the_gradient_times",
    replace={"value = x * s": "value = x * (1 / (1 + torch.exp(-beta * x)))"},
    form_of="overflow_in_the_gradient",
)
activation.slip(
    "overflow_in_the_values",
    "`silu`: Far on the right there are NaN: e^10000 is infinite, and infinity divided by infinity is NaN. `torch.sigmoid` "
    "computes the same without overflow.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.exp(beta * x) / (1 + torch.exp(beta * x))"},
)
activation.slip(
    "no_default",
    '`silu`: beta has no default: activation("silu", x) alone should work too, with beta = 1. Write `beta=1.0` in the first line.',
    replace={"beta=1.0": "beta"},
)
activation.slip(
    "gelu_for_silu",
    "`silu`: This is GELU, x·Φ(x). SiLU multiplies x by a sigmoid.",
    replace={"value = x * s": "value = F.gelu(beta * x) / beta if beta else x / 2"},
)
activation.slip(
    "tanh_for_sigmoid",
    "`silu`: This is x·tanh(…): tanh runs from −1 to 1, the sigmoid from 0 to 1.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.tanh(beta * x)"},
)
activation.slip(
    "math_exp",
    "`silu`: `math.exp` takes one number, not a tensor. `torch.sigmoid` works on every entry of a tensor.",
    replace={"s = torch.sigmoid(beta * x)": "s = 1 / (1 + math.exp(-beta * x))"},
)
activation.slip(
    "beta_taken_for_inplace",
    "`silu`: The second argument of `F.silu` is `inplace`, not beta. `F.silu` knows no beta: write the sigmoid and multiply.",
    replace={"value = x * s": "value = F.silu(x, beta)"},
)
activation.slip(
    "silu_module_from_x",
    "`silu`: `nn.SiLU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.SiLU()(x)`.",
    replace={"value = x * s": "value = nn.SiLU(x)"},
)
activation.slip(
    "where_with_two_sides",
    "`silu`: The values are right, but far out there are NaN in the gradient: `torch.where` computes both sides for every "
    "entry, and the overflow of the side that is not taken comes back in the gradient as infinity times zero. `torch.sigmoid` needs no two sides.",
    replace={
        "value = x * s": "e = torch.exp(beta * x)\nvalue = torch.where(beta * x > 0, x / (1 + torch.exp(-beta * x)), x * e / (1 + e))"
    },
)
activation.slip(
    "where_of_two_sigmoids",
    replace={
        "value = x * s": "value = x * torch.where(beta * x > 0, 1 / (1 + torch.exp(-beta * x)), torch.exp(beta * x) / (1 + torch.exp(beta * x)))"
    },
    form_of="where_with_two_sides",
)
activation.slip(
    "zero_beta_lets_all_pass",
    "`silu`: beta = 0 is a special case here, and a wrong one: sigmoid(0) is ½, so the result is x/2. You don't need the special case.",
    replace={"value = x * s": "value = x * s if beta else x * 1"},
)
activation.slip(
    "zero_beta_lets_none_pass",
    replace={"value = x * s": "value = x * s if beta else torch.zeros_like(x)"},
    form_of="zero_beta_lets_all_pass",
)
activation.slip(
    "zero_beta_taken_for_none",
    "`silu`: beta = 0 is taken for “no beta given”: 0 counts as false in Python, so `beta or 1` is 1. The default in the first line is enough.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.sigmoid((beta or 1.0) * x)"},
)
activation.slip(
    "x_clamped",
    "`silu`: x in front of the sigmoid is limited too, so far on the right the values stop rising. Only the exponent may be limited.",
    replace={"value = x * s": "value = x.clamp(-50, 50) * s"},
)
activation.slip(
    "safe_for_one_beta_only",
    "`silu`: beta = 1 is left to `F.silu`, which is fine. Any other beta overflows far out: e^10000 "
    "is infinite, and infinity times zero is NaN in the gradient. `torch.sigmoid` needs no special case.",
    replace={"value = x * s": "value = F.silu(x) if beta == 1 else x / (1 + torch.exp(-beta * x))"},
)
activation.slip(
    "sigmoid_for_slope",
    "`silu`: The slope is σ(βx) alone, as if the share stood still. It grows with x: the rule for products has a second term.",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = s"},
)
activation.slip(
    "silu_second_term_only",
    "`silu`: The slope has the term in which the share changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is ½.",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = beta * x * s * (1 - s)"},
)
activation.slip(
    "beta_missing_in_the_slope",
    "`silu`: beta is missing from the slope. The share is σ(βx), and the chain rule brings its β out, in front of σ·(1 − σ).",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = s + x * s * (1 - s)"},
)
activation.slip(
    "slope_of_the_share_alone",
    "`silu`: The second term of the slope is the slope of the share, without its factor x.",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = s + s * (1 - s) * beta"},
)
activation.slip(
    "rest_for_product",
    "`silu`: The slope of σ is σ·(1 − σ). Here it is 1 − σ.",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = s + beta * x * (1 - s)"},
)

# all of them

activation.slip(
    "pair_turned_round",
    "The two have changed places: the value comes first, then the slope.",
    replace={"return value, slope": "return slope, value"},
)
activation.slip(
    "value_alone",
    "One tensor comes back. Return the pair (value, slope), with a comma between them.",
    replace={"return value, slope": "return value"},
)
activation.slip(
    "value_and_slope_stacked",
    replace={"return value, slope": "return torch.stack([value, slope])"},
    form_of="value_alone",
)
activation.slip(
    "pair_squeezed",
    "Axes of size 1 are gone: `squeeze` takes them away wherever it finds one. What comes back has the shape of x, so nothing has to be squeezed.",
    replace={"return value, slope": "return value.squeeze(), slope.squeeze()"},
)
activation.slip(
    "cut_off",
    "The values are right, but they are cut off from the graph (by `.tolist()`, `.item()`, `.detach()` or "
    "`torch.no_grad()`), so nothing could be trained through them.",
    replace={"return value, slope": "return value.detach(), slope"},
)
activation.slip(
    "float_32",
    "The dtype changes: x comes in as float64 and leaves as float32. What you return should have the dtype of x.",
    replace={"return value, slope": "return value.float(), slope.float()"},
)
activation.slip(
    "no_slope",
    "The slope is None. Write it for each of the four, with the rule for products.",
    replace={"return value, slope": "return value, None"},
)
activation.slip(
    "x_changed_on_the_way",
    "x itself is changed (`*=`, or a method with a trailing underscore, works in place). The caller still needs it.",
    replace={"return value, slope": "return x.copy_(value), slope"},
)


@activation.mistake(NO_RETURN)
def activation_without_return(name, x, beta=1.0):
    if name == "relu":
        x.clamp(min=0), (x > 0).to(x.dtype)


@activation.mistake(
    "`relu`: numpy can't follow gradients, so it refuses a tensor that needs one. (`.detach()` would silence it, and cut the "
    "gradient off.) torch compares entry by entry as well."
)
def by_numpy(name, x, beta=1.0):
    import numpy as np

    if name == "relu":
        return torch.as_tensor(np.maximum(x, 0)), (x > 0).to(x.dtype)
    act = {
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    k, s = math.sqrt(2 / math.pi), torch.sigmoid(beta * x)
    t = torch.tanh(k * (x + 0.044715 * x**3))
    slope = {
        "gelu": torch.special.ndtr(x) + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi),
        "gelu_tanh": 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2),
        "silu": s + beta * x * s * (1 - s),
    }[name]
    return act(x), slope


@activation.mistake(
    'The name is never looked at: every name gives ReLU. Begin with `if name == "relu":`, and give each of the four a branch of its own.'
)
def name_ignored(name, x, beta=1.0):
    return x.clamp(min=0), (x > 0).to(x.dtype)


@activation.mistake(
    "This asks autograd for the slopes, which is switched off here: write each slope by hand. The rule for products and the chain rule give it two terms."
)
def slope_by_autograd(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    z = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(act(z).sum(), z)
    return act(x), slope


@activation.form(slope_by_autograd)
def slope_by_backward(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    leaf = x.detach().clone().requires_grad_(True)
    act(leaf).sum().backward()
    return act(x), leaf.grad


@activation.form(slope_by_autograd)
def slope_by_a_transform(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    return torch.func.jvp(act, (x,), (torch.ones_like(x),))


_BY_AUTOGRAD = {
    "gelu": {
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": (
            "z = x.detach().requires_grad_()\nslope = torch.autograd.grad(F.gelu(z).sum(), z)[0]"
        )
    },
    "gelu_tanh": {
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": (
            'z = x.detach().requires_grad_()\nslope = torch.autograd.grad(F.gelu(z, approximate="tanh").sum(), z)[0]'
        )
    },
    "silu": {
        "slope = s + beta * x * s * (1 - s)": (
            "z = x.detach().requires_grad_()\n(z * torch.sigmoid(beta * z)).sum().backward()\nslope = z.grad"
        )
    },
}
for _names in ("gelu",), ("gelu_tanh",), ("silu",), ("gelu", "gelu_tanh"), ("gelu", "gelu_tanh", "silu"):
    activation.slip(
        f"{'_and_'.join(_names)}_by_autograd",
        replace={old: new for _name in _names for old, new in _BY_AUTOGRAD[_name].items()},
        form_of=slope_by_autograd,
    )


@activation.mistake(
    "The slopes are measured with a small step. In float64 that is good to some digits; in float32 the two values are nearly "
    "the same, and their difference is rounding. The rule for products and the chain rule give them exactly."
)
def by_small_steps(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    h = 1e-5
    return act(x), (act(x + h) - act(x - h)) / (2 * h)


@activation.form(by_small_steps)
def by_small_steps_forward(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    h = 1e-7
    return act(x), (act(x + h) - act(x)) / h
