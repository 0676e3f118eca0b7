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


activation.slips("""
# relu
in = x.clamp(min=0)
python_max: = max(0, x)
    `relu`: Python's `max` compares x as a whole with 0 and has to choose one of them; a tensor has no single answer to “is it larger?”. torch has
    functions that compare entry by entry.
|| python_max_of_zero: 0, x -> x, torch.tensor(0.0)
|| python_if: = max(0, x) -> = x if x > 0 else torch.zeros_like(x)
|| python_max_row_by_row: = max(0, x) -> = torch.tensor([max(0, row) for row in x])
in_place: = x.relu_()
    `relu`: x itself is changed: a trailing underscore (`relu_`, `clamp_`), `inplace=True`, or an assignment such as `x[x < 0] = 0` works in place.
    Make a new tensor.
|| inplace_argument: = x.relu_() -> = F.relu(x, inplace=True)
leaky: = torch.where(x > 0, x, 0.01 * x)
    `relu`: This is leaky ReLU: it lets a small part of the negative numbers through. ReLU lets none through.
absolute: = x.abs()
    `relu`: This is the absolute value: negative numbers lose their sign. They should become 0.
of_minus_x: = torch.relu(-x)
    `relu`: The sign of the negative half is turned: this is relu(−x). The positive numbers are those that should pass.
twice: = x + x.abs()
    `relu`: This is twice too large: x + |x| is 2x for positive x.
softplus: = F.softplus(x)
    `relu`: This is softplus, log(1 + eˣ), a smooth relative of ReLU: it has no kink, and is ln 2 at x = 0 instead of 0.
largest_entry: = x.max()
    `relu`: One number comes back for all of x: `x.max()` and `torch.max(x)` look for the largest entry. ReLU keeps the shape of x.
largest_along_a_dimension: = torch.max(x, 0)
    `relu`: The second argument of `torch.max` is a dimension when it is a number: the largest entries along dimension 0 are looked for, and their
    places. `clamp(min=0)` compares each entry with 0.
| largest_along_a_dimension_values: x.clamp(min=0) -> torch.max(x, 0).values
maximum_with_a_number: = torch.maximum(x, 0)
    `relu`: `torch.maximum` compares two tensors, and 0 is a number. Hand it `torch.zeros_like(x)`, or use `clamp(min=0)`.
relu_module_from_x: = nn.ReLU(x)
    `relu`: `nn.ReLU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.ReLU()(x)`.
elu_for_relu: = F.elu(x)
    `relu`: This is ELU: for negative x it gives eˣ − 1. ReLU gives 0 there.
in x.clamp(min=0)
mask_returned: x > 0
    `relu`: The mask comes back, which says where x is positive, instead of the numbers themselves. What is x there?
|| mask_as_numbers: = x > 0 -> = torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x))
|| mask_cast: = x > 0 -> = (x > 0).to(x.dtype)
positives_only: x[x > 0]
    `relu`: Only the positive entries come back, in a row: `x[x > 0]` throws the others away. They should stay in their places, as zeros.
negative_half: value = x.clamp(min=0) -> value = x.clamp(max=0)
    `relu`: The wrong half is kept: negative numbers pass, positive ones become 0.
in min=0
capped: 0, 6
    `relu`: Large numbers are capped at 6: this is ReLU6. ReLU has no upper end.
capped_at_one: 0, 1
    `relu`: Large numbers are capped at 1: `clamp` was given an upper end as well. ReLU has none.
in (x > 0).to(x.dtype)
slope_is_a_mask: x > 0
    `relu`: The slope is a tensor of truth values. It should be numbers, 0 and 1, with the dtype of x.
value_for_slope: value
    `relu`: The slope is the value once more. Right of 0 ReLU rises with slope 1, however large x is.
in = (x > 0).to(x.dtype)
slope_of_one: = torch.ones_like(x)
    `relu`: The slope is 1 everywhere. Left of 0 ReLU is flat.
sign_for_slope: = torch.sign(x)
    `relu`: The slope is the sign of x, which is −1 on the left. There ReLU is flat, and its slope is 0.
# gelu
in phi = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
without_root_two: phi = 0.5 * (1 + torch.erf(x))
    `gelu`: The argument of erf is x: it should be x/√2. erf belongs to a bell curve with another width.
times_root_two: phi = 0.5 * (1 + torch.erf(x * math.sqrt(2)))
    `gelu`: The argument of erf is x·√2: x is divided by √2, not multiplied.
half_the_argument: phi = 0.5 * (1 + torch.erf(x / 2))
    `gelu`: The argument of erf is x/2: it should be x/√2. Is a `math.sqrt` missing?
without_one: phi = 0.5 * torch.erf(x / math.sqrt(2))
    `gelu`: The 1 is missing in 1 + erf(…): Φ(0) should be ½, not 0.
falling_phi: phi = 0.5 * (1 - torch.erf(x / math.sqrt(2)))
    `gelu`: This is 1 − erf(…): the sign is turned, and Φ falls instead of rising.
math_erf: phi = 0.5 * (1 + math.erf(x / math.sqrt(2)))
    `gelu`: `math.erf` takes one number, not a tensor. `torch.erf` does the same for every entry of a tensor.
torch_sqrt_of_a_number: phi = 0.5 * (1 + torch.erf(x / torch.sqrt(2)))
    `gelu`: `torch.sqrt` takes a tensor, and 2 is a Python number. `math.sqrt(2)` or `2**0.5` gives its root.
divided_outside: phi = 0.5 * (1 + torch.erf(x) / math.sqrt(2))
    `gelu`: A bracket closes too early: erf(x)/√2 instead of erf(x/√2). The division belongs inside.
root_of_x_too: phi = 0.5 * (1 + torch.erf(torch.sqrt(x / 2)))
    `gelu`: The root is taken of x as well: √(x/2), which is NaN for negative x. Only the 2 is under the root.
in = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
without_half: = 1 + torch.erf(x / math.sqrt(2))
    `gelu`: The factor ½ is missing: 1 + erf runs from 0 to 2, and Φ from 0 to 1.
half_on_one_only: = 0.5 + torch.erf(x / math.sqrt(2))
    `gelu`: The ½ multiplies the 1 alone: ½ + erf(…) runs from −½ to 1½. It belongs in front of the whole sum.
in x * phi
phi_alone: phi
    `gelu`: This is Φ(x) alone: GELU multiplies it by x.
tanh_form: F.gelu(x, approximate="tanh")
    `gelu`: This is the tanh approximation. The exact form uses erf; the two differ most, by 4.7e-4, near |x| = 2.7.
silu_for_gelu: F.silu(x)
    `gelu`: This is SiLU, x·sigmoid(x). GELU multiplies x by Φ(x), which rises more steeply.
brackets_missing: 0.5 * x * 1 + torch.erf(x / math.sqrt(2))
    `gelu`: The bracket round 1 + erf(…) is missing: ½·x multiplies the whole sum, not the 1 alone.
x_on_erf_only: 0.5 * (1 + x * torch.erf(x / 2**0.5))
    `gelu`: x multiplies erf(…) alone: GELU(0) comes out as ½ instead of 0. It multiplies the whole Φ(x).
gelu_module_from_x: nn.GELU(x)
    `gelu`: `nn.GELU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.GELU()(x)`.
in * phi
density_instead_of_area: * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    `gelu`: x is multiplied by φ, the bell curve itself. Φ is the area under it, from the far left up to x: a number from 0 to 1.
exact_by_sigmoid: * torch.sigmoid(1.702 * x)
    `gelu`: This is x·sigmoid(1.702·x), a coarser approximation, off by up to 0.02. The exact form uses erf.
|| exact_by_sigmoid_rounded: 1.702 -> 1.7
in slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
share_for_slope: slope = phi
    `gelu`: The slope is Φ(x) alone, as if the share stood still. It grows with x: the rule for products has a second term, x times the bell curve.
|| share_for_slope_as_a_quotient: = phi -> = torch.where(x == 0, 0.5, value / x)
bell_term_only: slope = x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    `gelu`: The slope has the term in which the share changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is
    ½.
bell_without_its_root: slope = phi + x * torch.exp(-0.5 * x**2)
    `gelu`: The bell curve is not divided by √(2π), so its area is not 1.
bell_without_half: slope = phi + x * torch.exp(-(x**2)) / math.sqrt(2 * math.pi)
    `gelu`: The exponent of the bell curve is −x². It is −x²/2.
bell_without_x: slope = phi + torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    `gelu`: The bell curve is added without its factor x. The second term is x times the slope of Φ.
bell_with_a_plus: slope = phi + x * torch.exp(0.5 * x**2) / math.sqrt(2 * math.pi)
    `gelu`: The exponent of the bell curve has a plus, so it grows without end. It is −x²/2.
shares_for_slopes
  - phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
  + phi
  - (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
  + (1 + t)
  - s + beta * x * s * (1 - s)
  + s
    The slope of all three smooth functions is the share alone here, as if the share stood still. It grows with x: the rule for products has a second
    term, x times the slope of the share.
# gelu_tanh: its value
in = 0.5 * x * (1 + t)
exact_form: = F.gelu(x)
    `gelu_tanh`: This is the exact GELU, x·Φ(x) with erf, which `F.gelu` computes unless told otherwise. The tanh form differs from it most, by
    4.7e-4, near |x| = 2.7.
tanh_without_x: = 0.5 * (1 + t)
    `gelu_tanh`: The factor x in front is missing: this is only the stand-in for Φ(x).
tanh_by_quick_sigmoid: = x * torch.sigmoid(1.702 * x)
    `gelu_tanh`: This is x·sigmoid(1.702·x), a coarser approximation of GELU, off by up to 0.02. The formula asked for has tanh and a cube.
tanh_module_from_x: = nn.GELU(x)
    `gelu_tanh`: `nn.GELU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x:
    `nn.GELU(approximate="tanh")(x)`.
in torch.tanh(k * (x + 0.044715 * x**3))
square_for_cube: torch.tanh(k * (x + 0.044715 * x**2))
    `gelu_tanh`: The cube is a square: 0.044715·x². Try a negative x: that term should change its sign with x.
cube_of_the_sum: torch.tanh(k * (x + 0.044715 * x) ** 3)
    `gelu_tanh`: The cube is taken of the whole sum. It belongs to the second x alone: x + 0.044715·x³.
tanh_without_half: value = 0.5 * x * (1 + t) -> value = x * (1 + t)
    `gelu_tanh`: The factor ½ is missing: 1 + tanh runs from 0 to 2, and what multiplies x from 0 to 1.
in 2 / math.pi
root_of_two_pi: 2 * math.pi
    `gelu_tanh`: The root is √(2π). The formula has 2/π under the root, which gives 0.798.
root_of_half_pi: math.pi / 2
    `gelu_tanh`: The root is √(π/2). The formula has 2/π under the root, which gives 0.798.
in math.sqrt(2 / math.pi)
no_root: 2 / math.pi
    `gelu_tanh`: The square root is missing: 2/π is 0.637, its root is 0.798.
root_of_two_only: math.sqrt(2) / math.pi
    `gelu_tanh`: Only the 2 is under the root: √2/π. The formula has √(2/π).
root_rounded: 0.8
    `gelu_tanh`: The factor √(2/π) is rounded, or π is: the check sees six digits. Let `math.sqrt(2 / math.pi)` compute it.
|| root_rounded_to_three: 0.8 -> 0.798
|| root_rounded_to_four: 0.8 -> 0.7979
|| pi_rounded: 0.8 -> math.sqrt(2 / 3.14)
in t = torch.tanh(k * (x + 0.044715 * x**3))
no_factor: t = torch.tanh(x + 0.044715 * x**3)
    `gelu_tanh`: The factor √(2/π) is missing inside tanh.
factor_on_both: t = torch.tanh(k * 0.044715 * (x + x**3))
    `gelu_tanh`: The factor 0.044715 belongs to x³ alone. Here it multiplies x as well.
factor_cubed: t = torch.tanh(k * (x + (0.044715 * x) ** 3))
    `gelu_tanh`: This is the cube of 0.044715·x. Only x is cubed, so check the brackets.
math_tanh: t = math.tanh(k * (x + 0.044715 * x**3))
    `gelu_tanh`: `math.tanh` takes one number, not a tensor. `torch.tanh` does the same for every entry of a tensor.
caret_for_power: t = torch.tanh(k * (x + 0.044715 * x ^ 3))
    `gelu_tanh`: `^` is not a power in Python. The cube is `x**3`.
| caret_for_power_in_a_bracket: x**3 -> (x ^ 3)
in (x + 0.044715 * x**3)
no_cubic_term: x
    `gelu_tanh`: The cubic term is missing: tanh(√(2/π)·x) alone bends too slowly.
root_on_x_only: x + 0.044715 * x**3
    `gelu_tanh`: A bracket is missing: √(2/π) multiplies x only. It multiplies the whole sum x + 0.044715·x³.
in + 0.044715 *
typo_in_the_constant: + 0.44715 *
    `gelu_tanh`: The number in front of x³ is 0.44715: a zero is missing after the point.
constant_not_quite: + 0.04715 *
    `gelu_tanh`: The number in front of x³ is not quite right: it is 0.044715, with all its digits.
|| constant_rounded: 0.04715 -> 0.0447
|| constant_cut: 0.04715 -> 0.04471
|| constant_with_a_zero_too_many: 0.04715 -> 0.0044715
in x * (1 + t)
tanh_without_one: x * t
    `gelu_tanh`: The 1 is missing in 1 + tanh(…), so negative x come back positive.
one_minus_tanh: x * (1 - t)
    `gelu_tanh`: This is 1 − tanh(…): the sign is turned, so negative x pass and positive ones do not.
tanh_brackets_missing: x * 1 + t
    `gelu_tanh`: The bracket round 1 + tanh(…) is missing: ½·x multiplies the whole sum, not the 1 alone.
tanh_torch_sqrt: k = math.sqrt(2 / math.pi) -> k = torch.sqrt(2 / math.pi)
    `gelu_tanh`: `torch.sqrt` takes a tensor, and 2/π is a Python number. `math.sqrt(2 / math.pi)` gives its root.
in x + 0.044715
cube_alone: 0.044715
    `gelu_tanh`: The term x is missing in the inner bracket: it is x + 0.044715·x³, not the cube alone.
inner_product: x * 0.044715
    `gelu_tanh`: The inner bracket multiplies where it should add: x + 0.044715·x³.
cube_subtracted: x - 0.044715
    `gelu_tanh`: The cubic term is subtracted. It is added: x + 0.044715·x³.
# gelu_tanh: its slope
in (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
first_term_only: (1 + t)
    `gelu_tanh`: The slope has its first term only, ½·(1 + t), as if t stood still (value/x is the same). But t grows with x: the rule for products
    has a second term.
|| value_over_x: = 0.5 * (1 + t) -> = torch.where(x == 0, 0.5, value / x)
slope_of_the_exact_form: torch.erfc(-x / 2**0.5) + x * torch.exp(-(x**2) / 2) / (2 * math.pi) ** 0.5
    `gelu_tanh`: The value is that of the tanh form, and the slope that of the exact one, Φ(x) + x·φ(x). They are close, and not the same.
in slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
second_term_only: slope = 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
    `gelu_tanh`: The slope has the term in which t changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is ½.
inside_forgotten: slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2)
    `gelu_tanh`: The slope of what is **inside** tanh is missing: 1 − t² has to be multiplied by it (the chain rule).
root_forgotten: slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * (1 + 3 * 0.044715 * x**2)
    `gelu_tanh`: The root √(2/π) is missing from the slope. It is a factor inside tanh, so it comes out once, in front of the slope of x +
    0.044715·x³.
three_forgotten: slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 0.044715 * x**2)
    `gelu_tanh`: The slope of x³ is 3·x². Here the 3 is missing.
cube_left_out: slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k
    `gelu_tanh`: The slope of what is inside tanh is taken as if x³ were not there: it is √(2/π) near 0 only.
tanh_not_squared: slope = 0.5 * (1 + t) + 0.5 * x * (1 - t) * k * (1 + 3 * 0.044715 * x**2)
    `gelu_tanh`: The slope of tanh is 1 − t², with a square; here it is 1 − t.
half_left_out: slope = 0.5 * (1 + t) + x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
    `gelu_tanh`: The second term of the slope is twice as large as it should be: the ½ in front of GELU belongs to both terms.
slope_of_relu: slope = (x > 0).to(x.dtype) * 1
    `gelu_tanh`: The slope is ReLU's, 0 or 1. GELU bends smoothly: its slope is ½ at 0, and even a little above 1 further on.
both_of_the_exact_form
  - value = 0.5 * x * (1 + t)
  - slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
  + value = F.gelu(x)
  + slope = 0.5 * torch.erfc(-x / 2**0.5) + x * torch.exp(-(x**2) / 2) / (2 * math.pi) ** 0.5
    `gelu_tanh`: These are value and slope of the exact GELU, with erf, which `F.gelu` computes by default. The exercise asks for the tanh form.
# silu
in = x * s
sigmoid_alone: = s
    `silu`: This is the sigmoid alone: SiLU multiplies it by x.
beta_outside: = beta * x * torch.sigmoid(x)
    `silu`: beta is outside: beta·x·sigmoid(x). It belongs inside the sigmoid, beside x.
|| beta_times_silu: x * torch.sigmoid -> F.silu
beta_twice: = F.silu(beta * x)
    `silu`: beta is in both places: beta·x·sigmoid(beta·x), which is what F.silu(beta·x) computes. Only the sigmoid gets beta; x in front stays as it
    is.
division_by_beta: = F.silu(beta * x) / beta
    `silu`: There is a division by beta, and beta may be 0: 0/0 is NaN. Multiply x by the sigmoid, and nothing needs dividing.
overflow_in_the_gradient: = x / (1 + torch.exp(-beta * x))
    `silu`: Far on the left there are NaN in the gradient: e^10000 is infinite, and infinity times zero is NaN. The values survive, training does not.
    `torch.sigmoid` computes the same without overflow.
| overflow_in_the_gradient_times: = x * (1 / (1 + torch.exp(-beta * x)))
gelu_for_silu: = F.gelu(beta * x) / beta if beta else x / 2
    `silu`: This is GELU, x·Φ(x). SiLU multiplies x by a sigmoid.
beta_taken_for_inplace: = F.silu(x, beta)
    `silu`: The second argument of `F.silu` is `inplace`, not beta. `F.silu` knows no beta: write the sigmoid and multiply.
silu_module_from_x: = nn.SiLU(x)
    `silu`: `nn.SiLU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.SiLU()(x)`.
zero_beta_lets_all_pass: = x * s if beta else x * 1
    `silu`: beta = 0 is a special case here, and a wrong one: sigmoid(0) is ½, so the result is x/2. You don't need the special case.
|| zero_beta_lets_none_pass: x * 1 -> torch.zeros_like(x)
safe_for_one_beta_only: = F.silu(x) if beta == 1 else x / (1 + torch.exp(-beta * x))
    `silu`: beta = 1 is left to `F.silu`, which is fine. Any other beta overflows far out: e^10000 is infinite, and infinity times zero is NaN in the
    gradient. `torch.sigmoid` needs no special case.
beta_ignored
  - torch.sigmoid(beta * x)
  + torch.sigmoid(x)
  - + beta * x *
  + + x *
    `silu`: beta is never looked at: the result is the same for every beta. Put it inside the sigmoid.
in torch.sigmoid(beta * x)
beta_added: torch.sigmoid(x + beta)
    `silu`: The sigmoid of x + beta is taken. beta is a factor: beta·x.
beta_divides: torch.sigmoid(x / (beta if beta else 1e-12))
    `silu`: The sigmoid of x/beta is taken. beta is a factor, beta·x, so a larger beta makes a sharper curve.
in s = torch.sigmoid(beta * x)
sign_turned: s = torch.sigmoid(-beta * x)
    `silu`: The sign inside the sigmoid is turned: the positive side is the one that should pass.
tanh_for_sigmoid: s = torch.tanh(beta * x)
    `silu`: This is x·tanh(…): tanh runs from −1 to 1, the sigmoid from 0 to 1.
zero_beta_taken_for_none: s = torch.sigmoid((beta or 1.0) * x)
    `silu`: beta = 0 is taken for “no beta given”: 0 counts as false in Python, so `beta or 1` is 1. The default in the first line is enough.
in = torch.sigmoid(beta * x)
overflow_in_the_values: = torch.exp(beta * x) / (1 + torch.exp(beta * x))
    `silu`: Far on the right there are NaN: e^10000 is infinite, and infinity divided by infinity is NaN. `torch.sigmoid` computes the same without
    overflow.
math_exp: = 1 / (1 + math.exp(-beta * x))
    `silu`: `math.exp` takes one number, not a tensor. `torch.sigmoid` works on every entry of a tensor.
no_default: beta=1.0 -> beta
    `silu`: beta has no default: activation("silu", x) alone should work too, with beta = 1. Write `beta=1.0` in the first line.
where_with_two_sides
  - value = x * s
  + e = torch.exp(beta * x)
  + value = torch.where(beta * x > 0, x / (1 + torch.exp(-beta * x)), x * e / (1 + e))
    `silu`: The values are right, but far out there are NaN in the gradient: `torch.where` computes both sides for every entry, and the overflow of
    the side that is not taken comes back in the gradient as infinity times zero. `torch.sigmoid` needs no two sides.
in = x * s
| where_of_two_sigmoids: = x * torch.where(beta * x > 0, 1 / (1 + torch.exp(-beta * x)), torch.exp(beta * x) / (1 + torch.exp(beta * x)))
x_clamped: value = x * s -> value = x.clamp(-50, 50) * s
    `silu`: x in front of the sigmoid is limited too, so far on the right the values stop rising. Only the exponent may be limited.
in slope = s + beta * x * s * (1 - s)
sigmoid_for_slope: slope = s
    `silu`: The slope is σ(βx) alone, as if the share stood still. It grows with x: the rule for products has a second term.
silu_second_term_only: slope = beta * x * s * (1 - s)
    `silu`: The slope has the term in which the share changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is
    ½.
beta_missing_in_the_slope: slope = s + x * s * (1 - s)
    `silu`: beta is missing from the slope. The share is σ(βx), and the chain rule brings its β out, in front of σ·(1 − σ).
slope_of_the_share_alone: slope = s + s * (1 - s) * beta
    `silu`: The second term of the slope is the slope of the share, without its factor x.
rest_for_product: slope = s + beta * x * (1 - s)
    `silu`: The slope of σ is σ·(1 − σ). Here it is 1 − σ.
# all of them
in value, slope
pair_turned_round: slope, value
    The two have changed places: the value comes first, then the slope.
value_alone: value
    One tensor comes back. Return the pair (value, slope), with a comma between them.
| value_and_slope_stacked: torch.stack([value, slope])
pair_squeezed: value.squeeze(), slope.squeeze()
    Axes of size 1 are gone: `squeeze` takes them away wherever it finds one. What comes back has the shape of x, so nothing has to be squeezed.
float_32: value.float(), slope.float()
    The dtype changes: x comes in as float64 and leaves as float32. What you return should have the dtype of x.
no_slope: value, None
    The slope is None. Write it for each of the four, with the rule for products.
in return value,
cut_off: return value.detach(),
    The values are right, but they are cut off from the graph (by `.tolist()`, `.item()`, `.detach()` or `torch.no_grad()`), so nothing could be
    trained through them.
x_changed_on_the_way: return x.copy_(value),
    x itself is changed (`*=`, or a method with a trailing underscore, works in place). The caller still needs it.
|| slope_by_autograd | slope_by_backward
  - z = x.clone().requires_grad_()
  - (slope,) = torch.autograd.grad(act(z).sum(), z)
  - return act(x), slope
  + leaf = x.detach().clone().requires_grad_(True)
  + act(leaf).sum().backward()
  + return act(x), leaf.grad
|| slope_by_a_transform
  - z = x.clone().requires_grad_()
  - (slope,) = torch.autograd.grad(act(z).sum(), z)
  - return act(x), slope
  + return torch.func.jvp(act, (x,), (torch.ones_like(x),))
|| by_small_steps | by_small_steps_forward
  - h = 1e-5
  - return act(x), (act(x + h) - act(x - h)) / (2 * h)
  + h = 1e-7
  + return act(x), (act(x + h) - act(x)) / h
| in_place | assigned_in_place
  - value = x.clamp(min=0)
  + x[x < 0] = 0
  + value = x
""")
