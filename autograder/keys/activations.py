"""The marking guide of notebook 03, Bends: activations and approximation.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F and nn.
"""

from __future__ import annotations

import cmath
import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import activations as exercises

CUT_OFF = (
    "The values are right, but what comes back is cut off from the graph (by `.tolist()`, `.item()`, `.detach()` or `torch.no_grad()`), so nothing could be "
    "trained through {}."
)
MODULE_FROM_X = "`nn.{0}(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.{0}()(x)`."
SQUEEZED = (
    "Axes of size 1 are gone: `squeeze` takes them away wherever it finds one. What comes back has the shape of x, so "
    "nothing has to be squeezed."
)

# relu

relu = Key(exercises.relu)


@relu.truth
def one_number_at_a_time(x):
    """Looks at each entry on its own: itself where it is above zero, else zero."""
    entries = [entry if float(entry.detach()) > 0 else entry * 0 for entry in x.reshape(-1)]
    return torch.stack(entries).reshape(x.shape)


@relu.right("clamp")
def clamped(x):
    return x.clamp(min=0)


@relu.right("torch.where")
def with_where(x):
    return torch.where(x > 0, x, 0.0)


@relu.right("times its own mask")
def times_mask(x):
    return x * (x > 0)


@relu.right("the mean of x and |x|")
def half_sum(x):
    return (x + x.abs()) / 2


@relu.right("torch.maximum with a zero tensor")
def with_maximum(x):
    return torch.maximum(x, torch.zeros_like(x))


@relu.right("torch.max of two tensors")
def with_max(x):
    return torch.max(x, torch.tensor(0.0))


@relu.right("a module")
def with_module(x):
    return nn.ReLU()(x)


@relu.right("in place, on a copy")
def masked_copy(x):
    out = x.clone()
    out[out < 0] = 0
    return out


@relu.mistake(
    "Python's `max` compares x as a whole with 0 and has to choose one of them; a tensor has no single answer to “is it larger?”. "
    "A published tutorial has the same line. torch has functions that compare entry by entry."
)
def python_max(x):
    return max(0, x)


@relu.form(python_max)
def python_max_of_zero(x):
    return max(x, torch.tensor(0.0))


@relu.form(python_max)
def python_if(x):
    if x > 0:
        return x
    return torch.zeros_like(x)


@relu.mistake(
    "x itself is changed: a trailing underscore (`relu_`, `clamp_`), `inplace=True`, or an assignment such as `x[x < 0] = 0` works in place. "
    "Make a new tensor."
)
def in_place(x):
    return x.relu_()


@relu.form(in_place)
def assigned_in_place(x):
    x[x < 0] = 0
    return x


@relu.form(in_place)
def inplace_argument(x):
    return F.relu(x, inplace=True)


@relu.mistake(
    "x itself is changed, behind autograd's back (`x.data`, or inside `no_grad`), and the gradient is 1 everywhere. Make a new tensor."
)
def in_place_through_data(x):
    x.data[x.data < 0] = 0
    return x * 1


@relu.mistake("This is leaky ReLU: it lets a small part of the negative numbers through. ReLU lets none through.")
def leaky(x):
    return torch.where(x > 0, x, 0.01 * x)


@relu.mistake(
    "The mask comes back, which says where x is positive, instead of the numbers themselves. What is x there?"
)
def mask_returned(x):
    return x > 0


@relu.form(mask_returned)
def mask_as_numbers(x):
    return torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x))


@relu.form(mask_returned)
def mask_cast(x):
    return (x > 0).to(x.dtype)


@relu.mistake("This is the absolute value: negative numbers are turned round. They should become 0.")
def absolute(x):
    return x.abs()


@relu.mistake("The wrong half is kept: negative numbers pass, positive ones become 0.")
def negative_half(x):
    return x.clamp(max=0)


@relu.mistake(
    "The sign of the negative half is turned: this is relu(−x). The positive numbers are those that should pass."
)
def of_minus_x(x):
    return torch.relu(-x)


@relu.mistake("This is twice too large: x + |x| is 2x for positive x.")
def twice(x):
    return x + x.abs()


@relu.mistake("Large numbers are capped at 6: this is ReLU6. ReLU has no upper end.")
def capped(x):
    return x.clamp(0, 6)


@relu.mistake("Large numbers are capped at 1: `clamp` was given an upper end as well. ReLU has none.")
def capped_at_one(x):
    return x.clamp(0, 1)


@relu.mistake(
    "This is softplus, log(1 + eˣ), a smooth relative of ReLU: it has no kink, and is ln 2 at x = 0 instead of 0."
)
def softplus(x):
    return F.softplus(x)


@relu.mistake(
    "One number comes back for all of x: `x.max()` and `torch.max(x)` look for the largest entry. ReLU keeps the shape of x."
)
def largest_entry(x):
    return x.max()


@relu.mistake(
    "Only the positive entries come back, in a row: `x[x > 0]` throws the others away. They should stay in their places, as zeros."
)
def positives_only(x):
    return x[x > 0]


@relu.mistake(
    "The dtype changes: x comes in as float64 and leaves as float32. What you return should have the dtype of x."
)
def float_32(x):
    return torch.relu(x.float())


@relu.mistake(CUT_OFF.format("this ReLU"))
def relu_cut_off(x):
    return torch.relu(x.detach())


@relu.mistake(NO_RETURN)
def relu_without_return(x):
    torch.relu(x)


@relu.form(python_max)
def python_max_row_by_row(x):
    return torch.tensor([max(0, row) for row in x])


@relu.mistake(
    "The second argument of `torch.max` is a dimension when it is a number: the largest entries along dimension 0 are looked for, and their places. "
    "`clamp(min=0)` compares each entry with 0."
)
def largest_along_a_dimension(x):
    return torch.max(x, 0)


@relu.form(largest_along_a_dimension)
def largest_along_a_dimension_values(x):
    return torch.max(x, 0).values


@relu.mistake(
    "`torch.maximum` compares two tensors, and 0 is a number. Hand it `torch.zeros_like(x)`, or use `clamp(min=0)`."
)
def maximum_with_a_number(x):
    return torch.maximum(x, 0)


@relu.mistake(MODULE_FROM_X.format("ReLU"))
def relu_module_from_x(x):
    return nn.ReLU(x)


@relu.mistake(
    "numpy can't follow gradients, so it refuses a tensor that needs one. (`.detach()` would silence it, and cut the gradient off.) torch compares "
    "entry by entry as well."
)
def by_numpy(x):
    import numpy as np

    return torch.as_tensor(np.maximum(x, 0))


@relu.mistake("This is ELU: for negative x it gives eˣ − 1. ReLU gives 0 there.")
def elu_for_relu(x):
    return F.elu(x)


@relu.mistake(SQUEEZED)
def relu_squeezed(x):
    return torch.relu(x).squeeze()


# gelu_exact

gelu_exact = Key(exercises.gelu_exact)


@gelu_exact.truth
def by_definition(x):
    """Hendrycks & Gimpel 2016, x·Φ(x) one entry at a time with math.erf; the derivative Φ(x) + x·φ(x) is put in by hand."""

    def entry(z):
        at = float(z.detach())
        phi = 0.5 * (1 + math.erf(at / math.sqrt(2)))
        slope = phi + at * math.exp(-at * at / 2) / math.sqrt(2 * math.pi)
        return at * phi + slope * (z - z.detach())

    return torch.stack([entry(z) for z in x.reshape(-1)]).reshape(x.shape)


@gelu_exact.right("torch's own function")
def torchs_own(x):
    return F.gelu(x)


@gelu_exact.right("a module")
def gelu_module(x):
    return nn.GELU()(x)


@gelu_exact.right("the standard normal distribution")
def from_distribution(x):
    return x * torch.distributions.Normal(0.0, 1.0).cdf(x)


@gelu_exact.right("a root taken by torch, in float32")
def root_by_torch(x):
    return 0.5 * x * (1.0 + torch.special.erf(x / torch.sqrt(torch.tensor(2.0))))


@gelu_exact.right("erfc")
def with_erfc(x):
    return x * torch.erfc(-x / 2**0.5) * 0.5


@gelu_exact.right("ndtr")
def with_ndtr(x):
    phi = torch.special.ndtr(x)
    return phi * x


@gelu_exact.mistake("The argument of erf is x: it should be x/√2. erf belongs to a bell curve with another width.")
def without_root_two(x):
    return 0.5 * x * (1 + torch.erf(x))


@gelu_exact.mistake("The argument of erf is x·√2: x is divided by √2, not multiplied.")
def times_root_two(x):
    return 0.5 * x * (1 + torch.erf(x * math.sqrt(2)))


@gelu_exact.mistake("The argument of erf is x/2: it should be x/√2. Is a `math.sqrt` missing?")
def half_the_argument(x):
    return 0.5 * x * (1 + torch.erf(x / 2))


@gelu_exact.mistake("The factor ½ is missing: 1 + erf runs from 0 to 2, and Φ from 0 to 1.")
def without_half(x):
    return x * (1 + torch.erf(x / math.sqrt(2)))


@gelu_exact.mistake("The 1 is missing in 1 + erf(…): Φ(0) should be ½, not 0.")
def without_one(x):
    return 0.5 * x * torch.erf(x / math.sqrt(2))


@gelu_exact.mistake("This is 1 − erf(…): the sign is turned, and Φ falls instead of rising.")
def falling_phi(x):
    return 0.5 * x * (1 - torch.erf(x / math.sqrt(2)))


@gelu_exact.mistake("This is Φ(x) alone: GELU multiplies it by x.")
def phi_alone(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


@gelu_exact.mistake(
    "x is multiplied by φ, the bell curve itself. Φ is the area under it, from the far left up to x: a number from 0 to 1."
)
def density_instead_of_area(x):
    return x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


@gelu_exact.mistake(
    "This is the tanh approximation. The exact form uses erf; the two differ most, by 4.7e-4, near |x| = 2.7."
)
def tanh_form(x):
    return F.gelu(x, approximate="tanh")


@gelu_exact.mistake("This is x·sigmoid(1.702·x), a coarser approximation, off by up to 0.02. The exact form uses erf.")
def exact_by_sigmoid(x):
    return x * torch.sigmoid(1.702 * x)


@gelu_exact.mistake("This is SiLU, x·sigmoid(x). GELU multiplies x by Φ(x), which rises more steeply.")
def silu_for_gelu(x):
    return F.silu(x)


@gelu_exact.mistake(
    "`math.erf` and its kin take one number, not a tensor. `torch.erf` does the same for every entry of a tensor."
)
def math_erf(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


@gelu_exact.mistake("`torch.sqrt` takes a tensor, and 2 is a Python number. `math.sqrt(2)` or `2**0.5` gives its root.")
def torch_sqrt_of_a_number(x):
    return 0.5 * x * (1 + torch.erf(x / torch.sqrt(2)))


@gelu_exact.mistake(
    "The dtype changes: x comes in as float64 and leaves as float32. What you return should have the dtype of x."
)
def exact_in_float_32(x):
    return F.gelu(x.float())


@gelu_exact.mistake(CUT_OFF.format("this GELU"))
def exact_cut_off(x):
    with torch.no_grad():
        return F.gelu(x)


@gelu_exact.mistake("x itself is changed (`*=` or a trailing underscore works in place). Make a new tensor.")
def exact_in_place(x):
    x *= 0.5 * (1 + torch.erf(x / math.sqrt(2)))
    return x


@gelu_exact.mistake(NO_RETURN)
def exact_without_return(x):
    0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


@gelu_exact.mistake("A bracket closes too early: erf(x)/√2 instead of erf(x/√2). The division belongs inside.")
def divided_outside(x):
    return 0.5 * x * (1 + torch.erf(x) / math.sqrt(2))


@gelu_exact.mistake("The bracket round 1 + erf(…) is missing: ½·x multiplies the whole sum, not the 1 alone.")
def brackets_missing(x):
    return 0.5 * x * 1 + torch.erf(x / math.sqrt(2))


@gelu_exact.mistake("x multiplies erf(…) alone: GELU(0) comes out as ½ instead of 0. It multiplies the whole Φ(x).")
def x_on_erf_only(x):
    return 0.5 * (1 + x * torch.erf(x / math.sqrt(2)))


@gelu_exact.mistake(
    "The ½ multiplies the 1 alone: ½ + erf(…) runs from −½ to 1½. It belongs in front of the whole sum."
)
def half_on_one_only(x):
    return x * (0.5 + torch.erf(x / math.sqrt(2)))


@gelu_exact.mistake(
    "The root is taken of x as well: √(x/2), which is NaN for negative x. Only the 2 is under the root."
)
def root_of_x_too(x):
    return 0.5 * x * (1 + torch.erf(torch.sqrt(x / 2)))


@gelu_exact.mistake(MODULE_FROM_X.format("GELU"))
def gelu_module_from_x(x):
    return nn.GELU(x)


@gelu_exact.form(exact_by_sigmoid)
def exact_by_sigmoid_rounded(x):
    return x * torch.sigmoid(1.7 * x)


@gelu_exact.mistake(SQUEEZED)
def exact_squeezed(x):
    return F.gelu(x).squeeze()


# gelu_tanh

gelu_tanh = Key(exercises.gelu_tanh)


@gelu_tanh.truth
def tanh_by_definition(x):
    """Hendrycks & Gimpel 2016, one entry at a time with math.tanh; the derivative is put in by hand."""
    root = math.sqrt(2 / math.pi)

    def entry(z):
        at = float(z.detach())
        t = math.tanh(root * (at + 0.044715 * at * at * at))
        slope = 0.5 * (1 + t) + 0.5 * at * (1 - t * t) * root * (1 + 3 * 0.044715 * at * at)
        return 0.5 * at * (1 + t) + slope * (z - z.detach())

    return torch.stack([entry(z) for z in x.reshape(-1)]).reshape(x.shape)


@gelu_tanh.right("torch's own function")
def torchs_own_tanh(x):
    return F.gelu(x, approximate="tanh")


@gelu_tanh.right("a module")
def tanh_module(x):
    return nn.GELU("tanh")(x)


@gelu_tanh.right("a root taken by torch, in float32")
def tanh_root_by_torch(x):
    inner = torch.sqrt(torch.tensor(2.0 / math.pi)) * (x + 0.044715 * torch.pow(x, 3))
    return 0.5 * x * (1.0 + torch.tanh(inner))


@gelu_tanh.right("the same with a sigmoid of twice the argument")
def tanh_by_sigmoid(x):
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x))


@gelu_tanh.right("the constant written out")
def constant_written_out(x):
    return x * (torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)) + 1) / 2


@gelu_tanh.mistake(
    "This is the exact GELU, x·Φ(x) with erf, which `F.gelu` computes unless told otherwise. The tanh form differs from it most, "
    "by 4.7e-4, near |x| = 2.7."
)
def exact_form(x):
    return F.gelu(x)


@gelu_tanh.mistake("The cube is a square: 0.044715·x². Try a negative x: that term should change its sign with x.")
def square_for_cube(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**2)))


@gelu_tanh.mistake("The factor ½ is missing: 1 + tanh runs from 0 to 2, and what multiplies x from 0 to 1.")
def tanh_without_half(x):
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("The root is √(2π). The formula has 2/π under the root, which gives 0.798.")
def root_of_two_pi(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 * math.pi) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("The root is √(π/2). The formula has 2/π under the root, which gives 0.798.")
def root_of_half_pi(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(math.pi / 2) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("The square root is missing: 2/π is 0.637, its root is 0.798.")
def no_root(x):
    return 0.5 * x * (1 + torch.tanh(2 / math.pi * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("Only the 2 is under the root: √2/π. The formula has √(2/π).")
def root_of_two_only(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2) / math.pi * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("The factor √(2/π) is missing inside tanh.")
def no_factor(x):
    return 0.5 * x * (1 + torch.tanh(x + 0.044715 * x**3))


@gelu_tanh.mistake("The cubic term is missing: tanh(√(2/π)·x) alone bends too slowly.")
def no_cubic_term(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x))


@gelu_tanh.mistake("The factor 0.044715 belongs to x³ alone. Here it multiplies x as well.")
def factor_on_both(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * 0.044715 * (x + x**3)))


@gelu_tanh.mistake("The cube is taken of 0.044715·x: brackets. Only x is cubed.")
def factor_cubed(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + (0.044715 * x) ** 3)))


@gelu_tanh.mistake("A bracket is missing: √(2/π) multiplies x only. It multiplies the whole sum x + 0.044715·x³.")
def root_on_x_only(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x + 0.044715 * x**3))


@gelu_tanh.mistake("The number in front of x³ is 0.44715: a zero is missing after the point.")
def typo_in_the_constant(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.44715 * x**3)))


@gelu_tanh.mistake("The 1 is missing in 1 + tanh(…), so negative x come back positive.")
def tanh_without_one(x):
    return 0.5 * x * torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


@gelu_tanh.mistake("The factor x in front is missing: this is what takes the place of Φ(x), alone.")
def tanh_without_x(x):
    return 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake(
    "This is x·sigmoid(1.702·x), a coarser approximation of GELU, off by up to 0.02. The formula asked for has tanh and a cube."
)
def tanh_by_quick_sigmoid(x):
    return x * torch.sigmoid(1.702 * x)


@gelu_tanh.mistake(
    "`math.tanh` takes one number, not a tensor. `torch.tanh` does the same for every entry of a tensor."
)
def math_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("`torch.sqrt` takes a tensor, and 2/π is a Python number. `math.sqrt(2 / math.pi)` gives its root.")
def tanh_torch_sqrt(x):
    return 0.5 * x * (1 + torch.tanh(torch.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake(
    "The dtype changes: x comes in as float64 and leaves as float32. What you return should have the dtype of x."
)
def tanh_in_float_32(x):
    return F.gelu(x.float(), approximate="tanh")


@gelu_tanh.mistake(CUT_OFF.format("this GELU"))
def tanh_cut_off(x):
    return F.gelu(x.detach(), approximate="tanh")


@gelu_tanh.mistake(NO_RETURN)
def tanh_without_return(x):
    0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("The term x is missing in the inner bracket: it is x + 0.044715·x³, not the cube alone.")
def cube_alone(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (0.044715 * x**3)))


@gelu_tanh.mistake("The inner bracket multiplies where it should add: x + 0.044715·x³.")
def inner_product(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x * 0.044715 * x**3)))


@gelu_tanh.mistake("The cubic term is subtracted. It is added: x + 0.044715·x³.")
def cube_subtracted(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x - 0.044715 * x**3)))


@gelu_tanh.mistake("This is 1 − tanh(…): the sign is turned, so negative x pass and positive ones do not.")
def one_minus_tanh(x):
    return 0.5 * x * (1 - torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("The bracket round 1 + tanh(…) is missing: ½·x multiplies the whole sum, not the 1 alone.")
def tanh_brackets_missing(x):
    return 0.5 * x * 1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


@gelu_tanh.mistake(
    "The factor √(2/π) is rounded, or π is: the check sees six digits. Let `math.sqrt(2 / math.pi)` compute it."
)
def root_rounded(x):
    return 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.044715 * x**3)))


@gelu_tanh.form(root_rounded)
def root_rounded_to_three(x):
    return 0.5 * x * (1 + torch.tanh(0.798 * (x + 0.044715 * x**3)))


@gelu_tanh.form(root_rounded)
def root_rounded_to_four(x):
    return 0.5 * x * (1 + torch.tanh(0.7979 * (x + 0.044715 * x**3)))


@gelu_tanh.form(root_rounded)
def pi_rounded(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / 3.14) * (x + 0.044715 * x**3)))


@gelu_tanh.mistake("The number in front of x³ is not quite right: it is 0.044715, with all its digits.")
def constant_not_quite(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.04715 * x**3)))


@gelu_tanh.form(constant_not_quite)
def constant_rounded(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.0447 * x**3)))


@gelu_tanh.form(constant_not_quite)
def constant_cut(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.04471 * x**3)))


@gelu_tanh.form(constant_not_quite)
def constant_with_a_zero_too_many(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.0044715 * x**3)))


@gelu_tanh.mistake("`^` is not a power in Python. The cube is `x**3`.")
def caret_for_power(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ^ 3)))


@gelu_tanh.form(caret_for_power)
def caret_for_power_in_a_bracket(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x ^ 3))))


@gelu_tanh.mistake(MODULE_FROM_X.format("GELU"))
def tanh_module_from_x(x):
    return nn.GELU(x)


@gelu_tanh.mistake(SQUEEZED)
def tanh_squeezed(x):
    return F.gelu(x, approximate="tanh").squeeze()


@gelu_tanh.mistake("The cube is taken of the whole sum. It belongs to the second x alone: x + 0.044715·x³.")
def cube_of_the_sum(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x) ** 3))


# bend_and_slope

bend_and_slope = Key(exercises.bend_and_slope)


@bend_and_slope.truth
def by_a_step_off_the_real_line(x):
    """One number at a time: f(x + ih) = f(x) + ih·f′(x), and for h = 1e-30 nothing is rounded away. No rule of differentiation is used."""
    values, slopes, step = [], [], 1e-30
    for number in x.reshape(-1).tolist():
        z = complex(number, step)
        y = z / 2 * (1 + cmath.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))
        values.append(y.real)
        slopes.append(y.imag / step)
    return torch.tensor(values, dtype=x.dtype).reshape(x.shape), torch.tensor(slopes, dtype=x.dtype).reshape(x.shape)


@bend_and_slope.right("torch's own value, and the slope by sech²")
def with_torchs_value(x):
    k = (2 / math.pi) ** 0.5
    u = k * (x + 0.044715 * x.pow(3))
    slope = 0.5 + 0.5 * u.tanh() + 0.5 * x * k * (1 + 0.134145 * x.square()) / torch.cosh(u) ** 2
    return F.gelu(x, approximate="tanh"), slope


@bend_and_slope.right("as x times a sigmoid: GELU is x·σ(2u)")
def as_a_sigmoid(x):
    u2 = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    s = torch.sigmoid(u2)
    return x * s, s + x * s * (1 - s) * 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)


@bend_and_slope.right("factor by factor, as a list")
def factor_by_factor(x):
    share = 0.5 * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    growth = 2 * share * (1 - share) * 0.7978845608028654 * (1 + 0.134145 * x**2)
    return [x * share, share + x * growth]


@bend_and_slope.right("in place, on fresh tensors")
def slope_in_place(x):
    t = x.pow(3).mul_(0.044715).add_(x).mul_(math.sqrt(2 / math.pi)).tanh_()
    value = (t + 1).mul_(x).mul_(0.5)
    slope = t.square().neg_().add_(1)
    slope *= math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2) * x
    slope += t
    slope += 1
    return value, slope.div_(2)


@bend_and_slope.base
def plain_bend_and_slope(x):
    k = math.sqrt(2 / math.pi)
    t = torch.tanh(k * (x + 0.044715 * x**3))
    value = 0.5 * x * (1 + t)
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
    return value, slope


bend_and_slope.slip(
    "first_term_only",
    "The slope has its first term only, ½·(1 + t), as if t stood still (value/x is the same). But t grows with x: the rule for products has a second term.",
    replace={" + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": ""},
)
bend_and_slope.slip(
    "second_term_only",
    "The slope has the term in which t changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is ½.",
    replace={" * (1 + t) + 0.5 * x": " * x"},
)
bend_and_slope.slip(
    "inside_forgotten",
    "The slope of what is **inside** tanh is missing: 1 − t² has to be multiplied by it (the chain rule).",
    replace={" * k * (1 + 3 * 0.044715 * x**2)": ""},
)
bend_and_slope.slip(
    "root_forgotten",
    "The root √(2/π) is missing from the slope. It is a factor inside tanh, so it comes out once, in front of the slope of x + 0.044715·x³.",
    replace={" * k * (1 + 3 * 0.044715 * x**2)": " * (1 + 3 * 0.044715 * x**2)"},
)
bend_and_slope.slip("three_forgotten", "The slope of x³ is 3·x². Here the 3 is missing.", replace={" + 3 * 0": " + 0"})
bend_and_slope.slip(
    "cube_left_out",
    "The slope of what is inside tanh is taken as if x³ were not there: it is √(2/π) near 0 only.",
    replace={" * (1 + 3 * 0.044715 * x**2)": ""},
)
bend_and_slope.slip(
    "tanh_not_squared", "The slope of tanh is 1 − t², with a square; here it is 1 − t.", replace={"t**2": "t"}
)
bend_and_slope.slip(
    "half_left_out",
    "The second term of the slope is twice as large as it should be: the ½ in front of GELU belongs to both terms.",
    replace={" + 0.5 * x": " + x"},
)
bend_and_slope.slip(
    "slope_of_the_exact_form",
    "The value is that of the tanh form, and the slope that of the exact one, Φ(x) + x·φ(x). They are close, and not the same.",
    replace={
        "slope = …": "slope = 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)"
    },
)
bend_and_slope.slip(
    "both_of_the_exact_form",
    "These are value and slope of the exact GELU, with erf, which `F.gelu` computes unless it is told otherwise. Asked for is the tanh form.",
    of="slope_of_the_exact_form",
    replace={"0.5 * x * (1 + t)": "F.gelu(x)"},
)
bend_and_slope.slip(
    "value_of_the_exact_form",
    'The value is that of the exact GELU: `F.gelu` computes it unless it is told `approximate="tanh"`. The slope is right.',
    replace={"0.5 * x * (1 + t)": "F.gelu(x)"},
)
bend_and_slope.slip(
    "slope_of_relu",
    "The slope is ReLU's, 0 or 1. GELU bends smoothly: its slope is ½ at 0, and even a little above 1 further on.",
    replace={"slope = …": "slope = (x > 0).to(x.dtype)"},
)
bend_and_slope.slip(
    "value_over_x", replace={"slope = …": "slope = torch.where(x == 0, 0.5, value / x)"}, form_of="first_term_only"
)
bend_and_slope.slip("value_over_x_bare", replace={"slope = …": "slope = value / x"}, form_of="first_term_only")
bend_and_slope.slip(
    "pair_turned_round",
    "The two have changed places: the value comes first, then the slope.",
    replace={"value, slope": "slope, value"},
)
bend_and_slope.slip(
    "value_alone",
    "One tensor comes back. Asked for is the pair (value, slope), with a comma between them; the value alone is half of the answer.",
    replace={", slope": ""},
)
bend_and_slope.slip(
    "torchs_value_alone", replace={"value, slope": 'F.gelu(x, approximate="tanh")'}, form_of="value_alone"
)
bend_and_slope.slip(
    "value_and_slope_stacked", replace={"value, slope": "torch.stack([value, slope])"}, form_of="value_alone"
)
bend_and_slope.slip("pair_squeezed", SQUEEZED, replace={"value, slope": "value.squeeze(), slope.squeeze()"})


@bend_and_slope.mistake(
    "The slope is measured with a small step. In float64 that is good to some digits; in float32 the two values are nearly the same, and their difference is "
    "rounding. The rule for products and the chain rule give it exactly."
)
def by_small_steps(x):
    def f(z):
        return F.gelu(z, approximate="tanh")

    h = 1e-5
    return f(x), (f(x + h) - f(x - h)) / (2 * h)


@bend_and_slope.form(by_small_steps)
def by_small_steps_forward(x):
    h = 1e-7
    return F.gelu(x, approximate="tanh"), (F.gelu(x + h, approximate="tanh") - F.gelu(x, approximate="tanh")) / h


@bend_and_slope.mistake(
    "This asks autograd, which is switched off here. The rule for products and the chain rule give the slope: two terms."
)
def slope_by_autograd(x):
    x = x.clone().requires_grad_()
    value = F.gelu(x, approximate="tanh")
    (slope,) = torch.autograd.grad(value.sum(), x)
    return value.detach(), slope


@bend_and_slope.form(slope_by_autograd)
def slope_by_backward(x):
    leaf = x.detach().clone().requires_grad_(True)
    value = F.gelu(leaf, approximate="tanh")
    value.sum().backward()
    return value, leaf.grad


@bend_and_slope.mistake(
    "`math.tanh` takes one number. For a tensor of many numbers use `torch.tanh`, which works entry by entry."
)
def slope_with_math(x):
    t = math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * math.sqrt(2 / math.pi) * (1 + 0.134145 * x**2)


bend_and_slope.slip(
    "x_changed_on_the_way",
    "x itself is changed (`*=`, or a method with a trailing underscore, works in place). The caller still needs it.",
    replace={"value = 0.5 * x * (1 + t)": "", "value, slope": "x.mul_(0.5 * (1 + t)), slope"},
)


# silu

silu = Key(exercises.silu)


@silu.truth
def silu_by_definition(x, beta=1.0):
    """x/(1 + e^(−βx)) one entry at a time, with the exponent that can't overflow; the derivative s + βx·s(1−s) is put in by hand."""

    def entry(z):
        at = float(z.detach())
        small = math.exp(-abs(beta * at))  # at most 1
        s = 1 / (1 + small) if beta * at >= 0 else small / (1 + small)
        slope = s + beta * at * s * (1 - s)
        return at * s + slope * (z - z.detach())

    return torch.stack([entry(z) for z in x.reshape(-1)]).reshape(x.shape)


@silu.right("torch's own SiLU, scaled, with beta = 0 apart")
def scaled(x, beta=1.0):
    if beta == 0:
        return x / 2
    return F.silu(beta * x) / beta


@silu.right("by tanh")
def silu_by_tanh(x, beta=1.0):
    return 0.5 * x * (1 + torch.tanh(0.5 * beta * x))


@silu.right("sigmoid as a method, beta as a tensor")
def beta_as_tensor(x, beta=1.0):
    beta = torch.as_tensor(beta, dtype=x.dtype)
    return x.mul(x.mul(beta).sigmoid())


@silu.right("the exponent clamped")
def exponent_clamped(x, beta=1.0):
    return x / (1 + torch.exp((-beta * x).clamp(max=80)))


@silu.right("through logsigmoid")
def through_logsigmoid(x, beta=1):
    return x * F.logsigmoid(beta * x).exp()


@silu.mistake("This is the sigmoid alone: SiLU multiplies it by x.")
def sigmoid_alone(x, beta=1.0):
    return torch.sigmoid(beta * x)


@silu.mistake("beta is outside: beta·x·sigmoid(x). It belongs inside the sigmoid, beside x.")
def beta_outside(x, beta=1.0):
    return beta * x * torch.sigmoid(x)


@silu.form(beta_outside)
def beta_times_silu(x, beta=1.0):
    return beta * F.silu(x)


@silu.mistake(
    "beta is in both places: beta·x·sigmoid(beta·x), which is what F.silu(beta·x) computes. Only the sigmoid gets beta; x in front stays as it is."
)
def beta_twice(x, beta=1.0):
    return F.silu(beta * x)


@silu.mistake("beta is never looked at: the result is the same for every beta. Put it inside the sigmoid.")
def beta_ignored(x, beta=1.0):
    return x * torch.sigmoid(x)


@silu.mistake("The sigmoid of x + beta is taken. beta is a factor: beta·x.")
def beta_added(x, beta=1.0):
    return x * torch.sigmoid(x + beta)


@silu.mistake("The sigmoid of x/beta is taken. beta is a factor: beta·x; so larger beta, sharper bend.")
def beta_divides(x, beta=1.0):
    return x * torch.sigmoid(x / (beta if beta else 1e-12))


@silu.mistake(
    "There is a division by beta, and beta may be 0: 0/0 is NaN. Multiply x by the sigmoid, and nothing needs dividing."
)
def division_by_beta(x, beta=1.0):
    return F.silu(beta * x) / beta


@silu.mistake("The sign inside the sigmoid is turned: the positive side is the one that should pass.")
def sign_turned(x, beta=1.0):
    return x * torch.sigmoid(-beta * x)


@silu.mistake(
    "Far on the left there are NaN in the gradient: e^10000 is infinite, and infinity times zero is NaN. The values survive, training does not. "
    "`torch.sigmoid` computes the same without overflow."
)
def overflow_in_the_gradient(x, beta=1.0):
    return x / (1 + torch.exp(-beta * x))


@silu.form(overflow_in_the_gradient)
def overflow_in_the_gradient_times(x, beta=1.0):
    return x * (1 / (1 + torch.exp(-beta * x)))


@silu.mistake(
    "Far on the right there are NaN: e^10000 is infinite, and infinity divided by infinity is NaN. `torch.sigmoid` computes the same without overflow."
)
def overflow_in_the_values(x, beta=1.0):
    return x * torch.exp(beta * x) / (1 + torch.exp(beta * x))


@silu.mistake("beta has no default: silu(x) alone should work too, with beta = 1. Write `beta=1.0` in the first line.")
def no_default(x, beta):
    return x * torch.sigmoid(beta * x)


@silu.mistake("This is GELU, x·Φ(x). SiLU multiplies x by a sigmoid.")
def gelu_for_silu(x, beta=1.0):
    return F.gelu(beta * x) / beta if beta else x / 2


@silu.mistake("This is x·tanh(…): tanh runs from −1 to 1, the sigmoid from 0 to 1.")
def tanh_for_sigmoid(x, beta=1.0):
    return x * torch.tanh(beta * x)


@silu.mistake("`math.exp` takes one number, not a tensor. `torch.sigmoid` works on every entry of a tensor.")
def math_exp(x, beta=1.0):
    return x / (1 + math.exp(-beta * x))


@silu.mistake(
    "The dtype changes: x comes in as float64 and leaves as float32. What you return should have the dtype of x."
)
def silu_in_float_32(x, beta=1.0):
    x = x.float()
    return x * torch.sigmoid(beta * x)


@silu.mistake(CUT_OFF.format("this SiLU"))
def silu_cut_off(x, beta=1.0):
    with torch.no_grad():
        return x * torch.sigmoid(beta * x)


@silu.mistake("x itself is changed (`*=` or a trailing underscore works in place). Make a new tensor.")
def silu_in_place(x, beta=1.0):
    x *= torch.sigmoid(beta * x)
    return x


@silu.mistake(NO_RETURN)
def silu_without_return(x, beta=1.0):
    x * torch.sigmoid(beta * x)


@silu.mistake(
    "The second argument of `F.silu` is `inplace`, not beta. `F.silu` knows no beta: write the sigmoid and multiply."
)
def beta_taken_for_inplace(x, beta=1.0):
    return F.silu(x, beta)


@silu.mistake(MODULE_FROM_X.format("SiLU"))
def silu_module_from_x(x, beta=1.0):
    return nn.SiLU(x)


@silu.mistake(
    "The values are right, but far out there are NaN in the gradient: `torch.where` computes both sides for every entry, and the overflow of the "
    "side that is not taken comes back in the gradient as infinity times zero. `torch.sigmoid` needs no two sides."
)
def where_with_two_sides(x, beta=1.0):
    e = torch.exp(beta * x)
    return torch.where(beta * x > 0, x / (1 + torch.exp(-beta * x)), x * e / (1 + e))


@silu.form(where_with_two_sides)
def where_of_two_sigmoids(x, beta=1.0):
    z = beta * x
    return x * torch.where(z > 0, 1 / (1 + torch.exp(-z)), torch.exp(z) / (1 + torch.exp(z)))


@silu.mistake(
    "beta = 0 is treated apart, and wrongly: sigmoid(0) is ½, so x/2 is due. Without the special case it comes by itself."
)
def zero_beta_lets_all_pass(x, beta=1.0):
    if beta == 0:
        return x * 1
    return x * torch.sigmoid(beta * x)


@silu.form(zero_beta_lets_all_pass)
def zero_beta_lets_none_pass(x, beta=1.0):
    if beta == 0:
        return torch.zeros_like(x)
    return x * torch.sigmoid(beta * x)


@silu.mistake(
    "beta = 0 is taken for “no beta given”: 0 counts as false in Python, so `beta or 1` is 1. The default in the first line is enough."
)
def zero_beta_taken_for_none(x, beta=None):
    return x * torch.sigmoid((beta or 1.0) * x)


@silu.mistake(
    "x in front of the sigmoid is limited too, so far on the right the values stop rising. Only the exponent may be limited."
)
def x_clamped(x, beta=1.0):
    x = x.clamp(-50, 50)
    return x * torch.sigmoid(beta * x)


@silu.mistake(SQUEEZED)
def silu_squeezed(x, beta=1.0):
    return (x * torch.sigmoid(beta * x)).squeeze()


@silu.mistake(
    "beta = 1 is left to `F.silu`, and all is well there; for any other beta there is an overflow far out: e^10000 is infinite, and infinity "
    "times zero is NaN in the gradient. `torch.sigmoid` needs no special case."
)
def safe_for_one_beta_only(x, beta=1.0):
    if beta == 1:
        return F.silu(x)
    return x / (1 + torch.exp(-beta * x))


# dead_units

dead_units = Key(exercises.dead_units)


@dead_units.truth
def unit_by_unit(ffn, X):
    """Asks every unit about every row, one weighted sum at a time."""
    weight, bias = ffn.linear1.weight.tolist(), ffn.linear1.bias.tolist()
    dead = []
    for j in range(len(bias)):
        fires = False
        for row in X.tolist():
            total = bias[j]
            for i, number in enumerate(row):
                total += weight[j][i] * number
            fires = fires or total > 0
        dead.append(not fires)
    return torch.tensor(dead)


@dead_units.right("the largest value is zero")
def largest_is_zero(ffn, X):
    with torch.no_grad():
        return ffn.activation(ffn.linear1(X)).max(dim=0).values == 0


@dead_units.right("from the sums before ReLU")
def before_relu(ffn, X):
    return (ffn.linear1(X) <= 0).all(0)


@dead_units.right("not any")
def not_any(ffn, X):
    return ~torch.any(F.relu(F.linear(X, ffn.linear1.weight, ffn.linear1.bias)) > 0, dim=0)


@dead_units.right("the sum of what cannot be negative")
def sum_is_zero(ffn, X):
    h = torch.relu(X @ ffn.linear1.weight.T + ffn.linear1.bias)
    return h.sum(dim=0) == 0


@dead_units.right("by the gradient")
def by_gradient(ffn, X):
    pre = ffn.linear1(X).detach().requires_grad_()
    torch.relu(pre).sum().backward()
    return (pre.grad == 0).all(dim=0)


@dead_units.right("a loop over rows")
def row_by_row(ffn, X):
    dead = torch.ones(ffn.linear1.out_features, dtype=torch.bool)
    for x in X:
        dead &= torch.relu(ffn.linear1(x)) == 0
    return dead


@dead_units.mistake(
    "A unit is called dead as soon as it is silent for one row. Dead means silent for every row: `all`, not `any`."
)
def any_for_all(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).any(dim=0)


@dead_units.mistake("Only the first row is looked at. A unit that is silent there may fire for another row.")
def first_row_only(ffn, X):
    return torch.relu(ffn.linear1(X[0])) == 0


@dead_units.mistake(
    "Only the last row is looked at (does a loop overwrite its result?). A unit may fire for another row."
)
def last_row_only(ffn, X):
    for x in X:
        dead = torch.relu(ffn.linear1(x)) == 0
    return dead


@dead_units.mistake(
    "The mean decides: of the rows, or of the sums before ReLU. A unit may be silent for the mean row and fire for single ones."
)
def mean_row(ffn, X):
    return torch.relu(ffn.linear1(X.mean(dim=0))) == 0


@dead_units.form(mean_row)
def mean_of_sums(ffn, X):
    return ffn.linear1(X).mean(dim=0) <= 0


@dead_units.mistake(
    "The middle row decides (the median). A unit that is silent for half of the rows may fire for others."
)
def median_of_sums(ffn, X):
    return ffn.linear1(X).median(dim=0).values <= 0


@dead_units.mistake("The bias b1 is missing. A very negative bias is the usual reason why a unit is dead.")
def bias_ignored(ffn, X):
    return (torch.relu(X @ ffn.linear1.weight.T) == 0).all(dim=0)


@dead_units.mistake(
    "The wrong dimension has gone: one truth value per row came back. One per unit is asked for, so the rows should disappear: dim 0."
)
def over_the_units(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).all(dim=1)


@dead_units.mistake(
    "One truth value came back for the whole layer. `all` needs to be told which dimension to look along."
)
def no_dimension(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).all()


@dead_units.mistake("A unit that gets exactly 0 is called alive. relu(0) is 0 as well: ask for ≤ 0, not < 0.")
def strictly_negative(ffn, X):
    return (ffn.linear1(X) < 0).all(dim=0)


@dead_units.mistake(
    "linear2 decides here. Whether anybody reads a unit is another question: dead is about what the unit itself computes."
)
def looks_at_the_way_out(ffn, X):
    return (ffn.linear2.weight == 0).all(dim=0)


@dead_units.mistake(
    "linear2 plays a role (through its weights, or through a gradient that passes it): a unit that fires but is not read is called dead. "
    "Only linear1 and ReLU count."
)
def contribution_is_zero(ffn, X):
    h = torch.relu(ffn.linear1(X))
    return ((h == 0).all(dim=0)) | (ffn.linear2.weight == 0).all(dim=0)


@dead_units.mistake(
    "The output of the FFN is looked at: it has d_model numbers per row. The units are in the hidden layer, before linear2."
)
def output_looked_at(ffn, X):
    return (ffn(X) == 0).all(dim=0)


@dead_units.mistake(
    "No unit is ever called dead. Does a loop over the rows begin with False and go on with `&`? It has to begin with True."
)
def never_dead(ffn, X):
    h = torch.relu(ffn.linear1(X))
    dead = torch.zeros(h.shape[1], dtype=torch.bool)
    for row in h:
        dead = dead & (row == 0)
    return dead


@dead_units.mistake("This is turned round: True marks the units that are alive. True should mean dead.")
def alive(ffn, X):
    return (torch.relu(ffn.linear1(X)) > 0).any(dim=0)


@dead_units.mistake(
    "ReLU is missing, so negative sums are not zero: compare with 0 after ReLU, or ask for ≤ 0 before it."
)
def without_relu(ffn, X):
    return (ffn.linear1(X) == 0).all(dim=0)


@dead_units.mistake("The numbers of the dead units came back. A truth value for every unit is asked for, shape [d_ff].")
def indices(ffn, X):
    return torch.nonzero((torch.relu(ffn.linear1(X)) == 0).all(dim=0)).flatten()


@dead_units.mistake("It is counted how many units are dead. Which ones is the question: a truth value for every unit.")
def how_many(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).all(dim=0).sum()


@dead_units.mistake("Zeros and ones came back as numbers. Truth values are asked for, a tensor of dtype bool.")
def numbers_for_truth(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).all(dim=0).long()


@dead_units.form(numbers_for_truth)
def numbers_for_truth_as_floats(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).all(dim=0).to(X.dtype)


@dead_units.form(numbers_for_truth)
def numbers_for_truth_in_float_32(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).all(dim=0).float()


@dead_units.mistake("A list or a numpy array came back. A tensor is asked for, of dtype bool and shape [d_ff].")
def list_for_tensor(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).all(dim=0).tolist()


@dead_units.form(list_for_tensor)
def array_for_tensor(ffn, X):
    return (torch.relu(ffn.linear1(X)).detach().numpy() == 0).all(axis=0)


@dead_units.mistake(
    "One truth value per row and unit came back, shape [N, d_ff]: that is “silent here”. Dead means silent for every row."
)
def silent_not_dead(ffn, X):
    return torch.relu(ffn.linear1(X)) == 0


@dead_units.mistake(
    "A unit that fires only rarely is called dead. One row that makes it fire is enough to call it alive."
)
def rarely_is_dead(ffn, X):
    return (torch.relu(ffn.linear1(X)) > 0).double().mean(dim=0) < 0.15


@dead_units.mistake(
    "The shapes do not fit. nn.Linear keeps its weight as [d_ff, d_model], so `X @ linear1.weight` needs the transpose; and linear2 reads the hidden "
    "layer, not X. Calling `ffn.linear1(X)` avoids both."
)
def weight_not_transposed(ffn, X):
    return (torch.relu(X @ ffn.linear1.weight + ffn.linear1.bias) == 0).all(dim=0)


@dead_units.form(weight_not_transposed)
def the_other_layer(ffn, X):
    return (torch.relu(ffn.linear2(X)) == 0).all(dim=0)


@dead_units.mistake(
    "`max(dim=0)` gives two things, the values and their places. Compare its `.values` with 0, or use `amax`."
)
def max_gives_two(ffn, X):
    return torch.relu(ffn.linear1(X)).max(dim=0) == 0


@dead_units.mistake(NO_RETURN)
def dead_without_return(ffn, X):
    (torch.relu(ffn.linear1(X)) == 0).all(dim=0)


@dead_units.form(contribution_is_zero)
def gradient_through_the_output(ffn, X):
    ffn(X).sum().backward()
    return (ffn.linear1.weight.grad == 0).all(dim=1)


@dead_units.mistake(
    "Only the bias is looked at. A unit with a negative bias fires where x·W1 is larger: the data decide."
)
def sign_of_b1(ffn, X):
    return ffn.linear1.bias < 0


@dead_units.mistake("True marks the units that fire for every row. Dead is the opposite: it fires for none.")
def fires_always(ffn, X):
    return (torch.relu(ffn.linear1(X)) > 0).all(dim=0)


@dead_units.mistake("One dimension too many is left, [1, d_ff]: `keepdim=True` keeps it. Shape [d_ff] is asked for.")
def dimension_kept(ffn, X):
    return (torch.relu(ffn.linear1(X)) == 0).all(dim=0, keepdim=True)


@dead_units.mistake("Python's `not` asks the whole tensor for one answer. `~` turns every truth value round.")
def python_not(ffn, X):
    return not (ffn.linear1(X) > 0).any(dim=0)


@dead_units.mistake(
    "A unit that fires weakly is called dead: its value is compared with a threshold, such as 1e-3, or by `isclose`. "
    "ReLU makes exact zeros; whatever is larger has fired, however little."
)
def weak_is_dead(ffn, X):
    return (torch.relu(ffn.linear1(X)) < 1e-3).all(dim=0)


@dead_units.form(weak_is_dead)
def weak_is_dead_by_isclose(ffn, X):
    h = torch.relu(ffn.linear1(X))
    return torch.isclose(h, torch.zeros_like(h)).all(dim=0)


@dead_units.mistake("The first row, or the last, is never looked at. A unit may fire for that row alone.")
def last_row_left_out(ffn, X):
    rows = X[:-1] if len(X) > 1 else X
    return (torch.relu(ffn.linear1(rows)) == 0).all(dim=0)


@dead_units.form(last_row_left_out)
def first_row_left_out(ffn, X):
    rows = X[1:] if len(X) > 1 else X
    return (torch.relu(ffn.linear1(rows)) == 0).all(dim=0)


# activation_sparsity

activation_sparsity = Key(exercises.activation_sparsity)


@activation_sparsity.truth
def counted_one_by_one(h, tol=0.0):
    """Counts, one entry at a time."""
    inside = 0
    for entry in h.reshape(-1).tolist():
        if -tol <= entry <= tol:
            inside += 1
    return inside / h.numel()


@activation_sparsity.right("the sum divided by numel")
def sum_by_numel(h, tol=0.0):
    return float((h.abs() <= tol).sum() / h.numel())


@activation_sparsity.right("a 0-d tensor")
def tensor_of_no_dimension(h, tol=0.0):
    return (h.abs() <= tol).double().mean()


@activation_sparsity.right("what is left of one")
def one_minus_the_rest(h, tol=0.0):
    return 1 - (h.abs() > tol).float().mean().item()


@activation_sparsity.right("numpy")
def with_numpy(h, tol=0.0):
    return (abs(h.numpy()) <= tol).mean()


@activation_sparsity.right("count_nonzero")
def with_count_nonzero(h, tol=0):
    return torch.count_nonzero(torch.abs(h) <= tol).item() / h.numel()


@activation_sparsity.mistake(
    "The active share came back: sparsity is the share of entries at zero, or within tol of it."
)
def active_share(h, tol=0.0):
    return (h.abs() > tol).double().mean().item()


@activation_sparsity.mistake(
    "An entry at exactly tol is not counted: ≤, not <. With tol = 0, `<` counts nothing at all."
)
def strictly_below(h, tol=0.0):
    return (h.abs() < tol).double().mean().item()


@activation_sparsity.mistake(
    "The sign is not taken off: h ≤ tol counts all negative entries too. Which function gives the size without the sign?"
)
def without_absolute(h, tol=0.0):
    return (h <= tol).double().mean().item()


@activation_sparsity.mistake("Only entries from 0 to tol are counted: the small negative ones are near zero as well.")
def positive_side_only(h, tol=0.0):
    return ((h >= 0) & (h <= tol)).double().mean().item()


@activation_sparsity.mistake("tol is never looked at: only exact zeros are counted.")
def tol_ignored(h, tol=0.0):
    return (h == 0).double().mean().item()


@activation_sparsity.mistake(
    "One share per row, or per column, came back. One number is asked for, over all entries of h."
)
def share_per_row(h, tol=0.0):
    return (h.abs() <= tol).double().mean(dim=-1)


@activation_sparsity.form(share_per_row)
def list_of_shares(h, tol=0.0):
    return (h.abs() <= tol).double().mean(dim=-1).tolist()


@activation_sparsity.mistake("This is a number of entries. A share is asked for: divide by how many entries there are.")
def count_for_share(h, tol=0.0):
    return (h.abs() <= tol).sum().item()


@activation_sparsity.mistake(
    "The count is divided by `len(h)`, the size of the first dimension. All entries are `h.numel()`."
)
def divided_by_len(h, tol=0.0):
    return (h.abs() <= tol).sum().item() / len(h)


@activation_sparsity.mistake("The count is divided by the size of the last dimension. All entries are `h.numel()`.")
def divided_by_last(h, tol=0.0):
    return (h.abs() <= tol).sum().item() / h.shape[-1]


@activation_sparsity.mistake("`//` rounds down to a whole number. A share needs `/`.")
def whole_division(h, tol=0.0):
    return float((h.abs() <= tol).sum().item() // h.numel())


@activation_sparsity.mistake("This is in per cent. A share from 0 to 1 is asked for.")
def per_cent(h, tol=0.0):
    return 100 * (h.abs() <= tol).double().mean().item()


@activation_sparsity.mistake(
    "The mean of all sizes is compared with tol. Each entry is compared on its own; the mean comes last."
)
def mean_first(h, tol=0.0):
    return float(h.abs().mean() <= tol)


@activation_sparsity.mistake("The truth values came back. Their share is asked for: how many are True, divided by all.")
def truth_values(h, tol=0.0):
    return h.abs() <= tol


@activation_sparsity.mistake(
    "`mean` does not work on truth values: torch asks for numbers. Make them zeros and ones first, with `.float()`."
)
def mean_of_truth(h, tol=0.0):
    return (h.abs() <= tol).mean().item()


@activation_sparsity.mistake(
    "tol has no default: activation_sparsity(h) alone should work too, with tol = 0. Write `tol=0.0` in the first line."
)
def tol_without_default(h, tol):
    return (h.abs() <= tol).double().mean().item()


@activation_sparsity.mistake(
    "h itself is changed (`abs_` or an assignment works in place). The share is right, but whoever called you has lost h."
)
def sparsity_in_place(h, tol=0.0):
    return (h.abs_() <= tol).double().mean().item()


@activation_sparsity.mistake(NO_RETURN)
def sparsity_without_return(h, tol=0.0):
    (h.abs() <= tol).double().mean().item()


@activation_sparsity.form(share_per_row)
def share_per_column(h, tol=0.0):
    return (h.abs() <= tol).double().mean(dim=0)


@activation_sparsity.form(active_share)
def active_share_without_tol(h, tol=0.0):
    return torch.count_nonzero(h).item() / h.numel()


@activation_sparsity.mistake(
    "The loops fit one shape only. h may have any number of dimensions: work on all entries at once, or on `h.flatten()`."
)
def two_loops(h, tol=0.0):
    inside = 0
    for row in h:
        for entry in row:
            if abs(entry) <= tol:
                inside += 1
    return inside / h.numel()


@activation_sparsity.mistake(
    "The count is divided by something that is no number: `numel` without brackets is the method itself, and `h.shape` lists the sizes. "
    "How many entries there are is `h.numel()`."
)
def numel_not_called(h, tol=0.0):
    return (h.abs() <= tol).sum().item() / h.numel


@activation_sparsity.form(numel_not_called)
def divided_by_shape(h, tol=0.0):
    return (h.abs() <= tol).sum().item() / h.shape


@activation_sparsity.mistake(
    "The zeros are divided by the entries that are not zero. A share is a part of all entries."
)
def ratio_for_share(h, tol=0.0):
    zeros = (h.abs() <= tol).sum().item()
    return zeros / max(h.numel() - zeros, 1)


@activation_sparsity.mistake("The share is rounded. Leave its digits as they are; printing can round.")
def rounded_share(h, tol=0.0):
    return round((h.abs() <= tol).double().mean().item(), 2)


@activation_sparsity.mistake("Squares are compared with tol: h² ≤ tol is |h| ≤ √tol. Compare |h| itself.")
def squares_compared(h, tol=0.0):
    return (h**2 <= tol).double().mean().item()


@activation_sparsity.mistake(
    "Only entries that equal tol exactly are counted: with tol > 0 all between −tol and tol count as well."
)
def equal_to_tol(h, tol=0.0):
    return (h == tol).double().mean().item()


@activation_sparsity.mistake(
    "Small entries are taken for zeros where tol = 0 (by a default above 0, or by `isclose`, which has a tolerance of its own). "
    "With tol = 0 exact zeros count, and nothing else."
)
def small_is_zero(h, tol=0.0):
    return (h.abs() <= max(tol, 1e-6)).double().mean().item()


@activation_sparsity.form(small_is_zero)
def close_is_zero(h, tol=0.0):
    return torch.isclose(h, torch.zeros_like(h), rtol=0, atol=max(tol, 1e-8)).double().mean().item()


@activation_sparsity.mistake(
    "Entries a little beyond tol are counted as well: something is added to tol. |h| ≤ tol, as it is, counts an entry at exactly tol."
)
def tol_and_a_little(h, tol=0.0):
    limit = tol + 1e-4 if tol else 0.0
    return (h.abs() <= limit).double().mean().item()


@activation_sparsity.mistake(
    "`view` wants entries that lie in memory in their order; those of a transposed tensor do not. `flatten` and `reshape` work on any."
)
def viewed(h, tol=0.0):
    return (h.view(-1).abs() <= tol).double().mean().item()


# relu_interpolant

relu_interpolant = Key(exercises.relu_interpolant)


@relu_interpolant.truth
def from_the_values(n, A, B):
    """Two units, relu(x) and relu(−x), make the straight line of the first piece; every inner node turns it towards the next value."""
    width = (B - A) / n
    nodes = [A + i * width for i in range(n + 1)]
    slope = (nodes[1] ** 2 - nodes[0] ** 2) / width
    into, bias, out = [1.0, -1.0], [0.0, 0.0], [slope, -slope]
    for i in range(1, n):
        following = (nodes[i + 1] ** 2 - nodes[i] ** 2) / width
        into.append(1.0)
        bias.append(-nodes[i])
        out.append(following - slope)
        slope = following
    at_zero = nodes[0] ** 2 - (nodes[1] ** 2 - nodes[0] ** 2) / width * nodes[0]
    float64 = torch.float64
    return (
        torch.tensor([into], dtype=float64),
        torch.tensor(bias, dtype=float64),
        torch.tensor(out, dtype=float64)[:, None],
        torch.tensor([at_zero], dtype=float64),
    )


@relu_interpolant.right("lists and a loop")
def by_loop(n, A, B):
    h = (B - A) / n
    biases, weights = [], []
    old = 0.0
    for i in range(n):
        t = A + i * h
        slope = ((t + h) ** 2 - t**2) / h
        biases.append(-t)
        weights.append([slope - old])
        old = slope
    return torch.ones(1, n), torch.tensor(biases), torch.tensor(weights), torch.tensor([A**2])


@relu_interpolant.right("from right to left")
def from_the_right(n, A, B):
    nodes = torch.linspace(B, A, n + 1, dtype=torch.float64)
    slopes = (nodes[1:] ** 2 - nodes[:-1] ** 2) / (nodes[:-1] - nodes[1:])
    change = torch.cat([slopes[:1], slopes[1:] - slopes[:-1]])
    return -torch.ones(1, n, dtype=torch.float64), nodes[:-1], change[:, None], nodes[:1] ** 2


@relu_interpolant.right("scaled units: W1 is not one")
def scaled_units(n, A, B):
    x = torch.linspace(A, B, n + 1)
    slope = x[:-1] + x[1:]
    W2 = torch.diff(slope, prepend=torch.zeros(1)) / 2
    W1 = torch.full((1, n), 2.0)
    return W1, -2 * x[:-1], W2.reshape(n, 1), (x[0] ** 2).reshape(1)


@relu_interpolant.right("the weights solved for, by least squares")
def solved(n, A, B):
    x = torch.linspace(A, B, n + 1, dtype=torch.float64)
    W1, b1 = torch.ones(1, n, dtype=torch.float64), -x[:-1]
    h = torch.relu(x[:, None] @ W1 + b1)
    both = torch.cat([h, torch.ones(n + 1, 1, dtype=torch.float64)], dim=1)
    solution = torch.linalg.solve(both, (x**2)[:, None])
    return W1, b1, solution[:n], solution[n]


@relu_interpolant.right("a constant unit and parameters")
def parameters(n, A, B):
    x = torch.linspace(A, B, n + 1).double()
    slope = x[:-1] + x[1:]
    change = torch.cat([slope[:1], slope[1:] - slope[:-1], x[:1] ** 2])
    W1 = torch.cat([torch.ones(1, n), torch.zeros(1, 1)], dim=1).double()
    b1 = torch.cat([-x[:-1], torch.ones(1)])
    return nn.Parameter(W1), nn.Parameter(b1), nn.Parameter(change[:, None]), nn.Parameter(torch.zeros(1).double())


@relu_interpolant.base
def plain_relu_interpolant(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    slope = nodes[:-1] + nodes[1:]
    change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
    return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2


relu_interpolant.slip(
    "slopes_for_changes",
    "W2 holds the slopes themselves. Each unit goes on rising behind its piece, so the next one has to supply only the change: new slope minus old.",
    replace={"change = …": "", "change[:, None]": "slope[:, None]"},
)
relu_interpolant.slip(
    "no_unit_at_the_left_end",
    "The first piece is flat: only the inner nodes change the slope. A unit with its kink at A has to supply the whole slope of the first piece.",
    replace={
        "change = …": "",
        ".ones(1, n), -nodes[:-1], change": ".ones(1, n - 1), -nodes[1:-1], (slope[1:] - slope[:-1])",
    },
)
relu_interpolant.slip(
    "interval_fixed",
    "The interval is [−1, 1] whatever is asked for. A and B are arguments.",
    replace={".linspace(A, B, n + 1)": ".linspace(-1, 1, n + 1)"},
)
relu_interpolant.slip(
    "left_end_fixed",
    "The left end is −1 whatever A is. Nodes start at A, and so does the first kink.",
    replace={".linspace(A, B, n + 1)": ".linspace(-1, B, n + 1)"},
)
relu_interpolant.slip(
    "unit_interval",
    "The interval is [0, 1] whatever is asked for. A and B are arguments.",
    replace={".linspace(A, B, n + 1)": ".linspace(0, 1, n + 1)"},
)
relu_interpolant.slip(
    "constant_missing",
    "The constant is missing: b2 is 0. At A all units are zero, and the output should be A².",
    replace={"nodes[:1] ** 2": "torch.zeros(1)"},
)
relu_interpolant.slip(
    "constant_not_squared", "b2 is A. At A all units are zero, and the output should be A².", replace={" ** 2": ""}
)
relu_interpolant.slip(
    "one_piece_more",
    "There is one piece too many: n pieces have n + 1 nodes, both ends included. `linspace` counts nodes.",
    replace={"n + 1": "n + 2", ".ones(1, n)": ".ones(1, n + 1)"},
)
relu_interpolant.slip(
    "one_piece_less",
    "There is one piece too few: n pieces have n + 1 nodes, both ends included. `linspace` counts nodes.",
    replace={"n + 1": "n", ".ones(1, n)": ".ones(1, n - 1)"},
)
relu_interpolant.slip(
    "sign_of_the_bias",
    "The kinks are mirrored: relu(x + t) bends at −t. For a kink at t, b1 is −t.",
    replace={"-nodes[:-1]": "nodes[:-1]"},
)
relu_interpolant.slip(
    "tangents",
    "The slopes are those of the tangents, 2x at the nodes. A piece joins two points of the curve: its slope is rise over run between them.",
    replace={"nodes[:-1] + nodes[1:]": "2 * nodes[:-1]"},
)


@relu_interpolant.mistake("W2 holds the values x² at the nodes. It has to hold changes of slope.")
def values_for_changes(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    return torch.ones(1, n), -nodes[:-1], (nodes[:-1] ** 2)[:, None], nodes[:1] ** 2


relu_interpolant.slip(
    "rise_without_run",
    "The rise of each piece is not divided by its width: slopes are rise over run, and the pieces are (B − A)/n wide.",
    replace={
        "slope = nodes[:-1] + nodes[1:]\nchange = …": (
            "rise = nodes[1:] ** 2 - nodes[:-1] ** 2\nchange = torch.cat([rise[:1], rise[1:] - rise[:-1]])"
        )
    },
)
relu_interpolant.slip("first_slope_zero", replace={"slope[:1]": "torch.zeros(1)"}, form_of="no_unit_at_the_left_end")
relu_interpolant.slip(
    "old_minus_new",
    "The changes of slope have the wrong sign: new slope minus old.",
    replace={"slope[1:] - slope[:-1]": "slope[:-1] - slope[1:]"},
)
relu_interpolant.slip(
    "kinks_in_the_middle",
    "The kinks are in the middle of the pieces. They belong where two pieces meet: at the nodes.",
    replace={"-nodes[:-1]": "-slope / 2"},
)
relu_interpolant.slip(
    "laid_out_as_linear",
    "The weights are laid out as nn.Linear keeps them, [out, in]. The course writes x @ W1: W1 is [1, m] and W2 is [m, 1].",
    replace={".ones(1, n), -nodes[:-1], change[:, None]": ".ones(n, 1), -nodes[:-1], change[None, :]"},
)
relu_interpolant.slip(
    "flat_weights",
    "W1 and W2 have one dimension each. They are matrices: W1 is [1, m], W2 is [m, 1].",
    replace={".ones(1, n), -nodes[:-1], change[:, None]": ".ones(n), -nodes[:-1], change"},
)
relu_interpolant.slip(
    "b2_without_dimension",
    "b2 has no dimension, or two: shape [] or [1, 1]. It is a bias for one output: shape [1].",
    replace={"nodes[:1]": "nodes[0]"},
)
relu_interpolant.slip(
    "b2_a_number",
    "b2 is a Python number. It is a bias for one output: a tensor of shape [1].",
    replace={"nodes[:1] ** 2": "A**2"},
)
relu_interpolant.slip(
    "three_tensors",
    "b2 is missing: three tensors came back, four are asked for, W1, b1, W2, b2 in this order.",
    replace={", nodes[:1] ** 2": ""},
)
relu_interpolant.slip(
    "whole_numbers",
    "W1 and W2 hold whole numbers (an integer dtype), which cuts off what comes after the point. Make them floating-point.",
    replace={
        ".ones(1, n), -nodes[:-1], change[:, None]": ".ones(1, n, dtype=torch.long), -nodes[:-1], change[:, None].long()"
    },
)


@relu_interpolant.mistake(NO_RETURN)
def net_without_return(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    nodes[:-1] + nodes[1:]


@relu_interpolant.mistake(
    "Every unit changes the slope by the same amount, the first one too. It finds slope 0 and has to supply the whole slope of the first piece."
)
def first_like_the_others(n, A, B):
    h = (B - A) / n
    nodes = torch.linspace(A, B, n + 1)
    return torch.ones(1, n), -nodes[:-1], torch.full((n, 1), 2 * h), nodes[:1] ** 2


relu_interpolant.slip(
    "kinks_at_the_right_ends",
    "The kinks are one node too far to the right. A unit changes the line right of its kink, so each piece needs its kink at its left end.",
    replace={"-nodes[:-1]": "-nodes[1:]"},
)
relu_interpolant.slip(
    "constant_of_the_right_end",
    "b2 is B². All the units are zero at A, the left end: there b2 alone has to give the value.",
    replace={"nodes[:1]": "nodes[-1:]"},
)
relu_interpolant.slip(
    "mean_of_the_ends",
    "The slopes are half of what they should be: (t² − s²)/(t − s) is s + t, not their mean.",
    replace={"nodes[:-1] + nodes[1:]": "(nodes[:-1] + nodes[1:]) / 2"},
)
relu_interpolant.slip(
    "widths_for_slopes",
    "The widths of the pieces are where their slopes should be. A slope is rise over run: the difference of the values x², by the width.",
    replace={
        "slope = nodes[:-1] + nodes[1:]\nchange = …": (
            "width = nodes[1:] - nodes[:-1]\nchange = torch.cat([width[:1], width[1:] - width[:-1]])"
        )
    },
)


@relu_interpolant.mistake(
    "From each slope the weight before is subtracted. The old slope is what all units so far add up to, not the last weight alone."
)
def minus_the_last_weight(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    slope = nodes[:-1] + nodes[1:]
    W2 = slope.clone()
    for i in range(1, n):
        W2[i] = slope[i] - W2[i - 1]
    return torch.ones(1, n), -nodes[:-1], W2[:, None], nodes[:1] ** 2


@relu_interpolant.form("one_piece_less")
def one_node_less(n, A, B):
    nodes = torch.linspace(A, B, n)
    slope = 2 * nodes + (B - A) / n
    change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
    return torch.ones(1, n), -nodes, change[:, None], nodes[:1] ** 2


relu_interpolant.slip(
    "changes_in_W1",
    "The changes of slope are in W1, inside ReLU. There a negative number makes a unit look to the left; they belong in W2.",
    replace={"return …": "return change[None, :], -nodes[:-1] * change, torch.ones(n, 1), nodes[:1] ** 2"},
)
relu_interpolant.slip(
    "changes_in_W1_kinks_not_scaled", of="changes_in_W1", replace={" * change": ""}, form_of="changes_in_W1"
)
relu_interpolant.slip(
    "moved_down",
    "This is the net moved down by half of its error. It is nearer to x², but it does not meet it at the nodes, and that is asked for.",
    replace={" ** 2": " ** 2 - ((B - A) / n) ** 2 / 8"},
)
relu_interpolant.slip(
    "flat_way_out",
    "W2 has one dimension. It is a matrix with one column: shape [m, 1].",
    replace={"change[:, None]": "change"},
)
relu_interpolant.slip(
    "row_for_b1", "b1 is a matrix with one row. It is a bias: shape [m].", replace={"-nodes[:-1]": "-nodes[None, :-1]"}
)
relu_interpolant.slip("matrix_for_b2", replace={"nodes[:1]": "nodes[None, :1]"}, form_of="b2_without_dimension")
relu_interpolant.slip(
    "weights_before_biases",
    "The order is another: W1, b1, W2, b2 are asked for, the way the numbers go.",
    replace={".ones(1, n), -nodes[:-1], change[:, None]": ".ones(1, n), change[:, None], -nodes[:-1]"},
)


@relu_interpolant.mistake("Lists came back. Four tensors are asked for: `torch.tensor(…)` makes them from lists.")
def lists_for_tensors(n, A, B):
    h = (B - A) / n
    biases = [-(A + i * h) for i in range(n)]
    weights = [[2 * A + h]] + [[2 * h]] * (n - 1)
    return [[1.0] * n], biases, weights, [A**2]


# count_pieces

count_pieces = Key(exercises.count_pieces)


@count_pieces.truth
def slope_by_slope(W1, b1, W2, A, B):
    """Cuts [A, B] at every possible kink and computes the slope of each part from the units that are on in its middle."""
    into, bias, out = W1[0].tolist(), b1.tolist(), W2[:, 0].tolist()
    cuts = {A, B}
    for w, b in zip(into, bias, strict=True):
        if w != 0 and A < -b / w < B:
            cuts.add(-b / w)
    cuts = sorted(cuts)
    pieces, last = 0, None
    for left, right in itertools.pairwise(cuts):
        middle = (left + right) / 2
        slope = sum(w * v for w, b, v in zip(into, bias, out, strict=True) if w * middle + b > 0)
        if slope != last:
            pieces += 1
        last = slope
    return pieces


@count_pieces.right("a dict of changes")
def dict_of_changes(W1, b1, W2, A, B):
    change = {}
    for j in range(b1.numel()):
        w, b, v = W1[0, j].item(), b1[j].item(), W2[j, 0].item()
        if w == 0:
            continue
        kink = -b / w
        if A < kink < B:
            change[kink] = change.get(kink, 0.0) + abs(w) * v
    return 1 + sum(1 for c in change.values() if abs(c) > 1e-12)


@count_pieces.right("tensors: unique and index_add")
def with_unique(W1, b1, W2, A, B):
    w, v = W1[0], W2[:, 0]
    w, b, v = w[w != 0], b1[w != 0], v[w != 0]
    places, which = torch.unique(-b / w, return_inverse=True)
    change = torch.zeros_like(places).index_add(0, which, w.abs() * v)
    return (((places > A) & (places < B) & (change != 0)).sum() + 1).item()


@count_pieces.right("slopes measured with the network itself; a 0-d tensor")
def measured(W1, b1, W2, A, B):
    kinks = [float(-b / w) for w, b in zip(W1[0], b1, strict=True) if w != 0]
    points = torch.tensor(sorted({float(A), float(B), *[t for t in kinks if A < t < B]}), dtype=W1.dtype)
    y = (torch.relu(points[:, None] @ W1 + b1) @ W2)[:, 0]
    slopes = torch.diff(y) / torch.diff(points)
    return 1 + (torch.diff(slopes).abs() > 1e-9).sum()


@count_pieces.right("kinks rounded, with a tolerance")
def rounded(W1, b1, W2, A, B):
    changes = []
    for w, b, v in zip(W1.flatten().tolist(), b1.tolist(), W2.flatten().tolist(), strict=True):
        if w != 0.0:
            changes.append((round(-b / w, 9), abs(w) * v))
    places = sorted(set(place for place, _ in changes))
    count = 1
    for place in places:
        total = sum(c for other, c in changes if other == place)
        if A < place < B and abs(total) > 1e-9:
            count += 1
    return count


@count_pieces.mistake(
    "The answer is always m + 1. That is the most there can be: kinks may lie outside, share a place, or not bend at all."
)
def always_m_plus_one(W1, b1, W2, A, B):
    return b1.numel() + 1


@count_pieces.mistake("Kinks outside of [A, B] are counted. Only those strictly between A and B cut the interval.")
def outside_counted(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


count_pieces.slip(
    "ends_counted",
    "Kinks at A or at B are counted. They cut nothing off: strictly between the two.",
    of=outside_counted,
    replace={"w != 0": "w != 0 and A <= -b / w <= B"},
)


@count_pieces.mistake(
    "Two kinks in the same place are counted twice. They are one place where the slope changes. (Equal tensors are two different keys of a dict, and "
    "two members of a set: put in numbers, with `.item()`.)"
)
def coincident_twice(W1, b1, W2, A, B):
    count = 1
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and v != 0 and A < -b / w < B:
            count += 1
    return count


@count_pieces.mistake(
    "Units that write nothing are counted, those with W2 = 0 among them: W2 is never looked at. The slope changes by |W1|·W2."
)
def way_out_ignored(W1, b1, W2, A, B):
    kinks = set()
    for w, b in zip(W1[0].tolist(), b1.tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            kinks.add(-b / w)
    return len(kinks) + 1


@count_pieces.mistake(
    "Kinks in the same place that cancel are counted. Add up the changes of slope at each place, and count those that are not zero."
)
def cancelling_counted(W1, b1, W2, A, B):
    kinks = set()
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and v != 0 and A < -b / w < B:
            kinks.add(-b / w)
    return len(kinks) + 1


@count_pieces.mistake(
    "The change of slope has the wrong sign for units that look to the left, those with W1 < 0: going right they switch off, so the change is |W1|·W2."
)
def signed_change(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + w * v
    return 1 + sum(c != 0 for c in change.values())


count_pieces.slip(
    "way_in_ignored",
    "The change of slope at a kink is |W1|·W2; here W1 is left out, so changes cancel that should not, or the other way round.",
    of=signed_change,
    replace={"w * v": "v"},
)


@count_pieces.mistake("These are the kinks. One kink makes two pieces: there is one piece more than kinks.")
def kinks_for_pieces(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return sum(c != 0 for c in change.values())


@count_pieces.mistake("The kinks are mirrored: x·W1 + b1 is zero at x = −b1/W1, with the minus sign.")
def kinks_mirrored(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < b / w < B:
            change[b / w] = change.get(b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


@count_pieces.mistake("The kinks are taken to be at −b1. W1 is not always 1: x·W1 + b1 is zero at x = −b1/W1.")
def kinks_at_the_bias(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b < B:
            change[-b] = change.get(-b, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


count_pieces.slip(
    "division_by_zero",
    "A unit with W1 = 0 has no kink, and dividing by it fails. Leave such units out first.",
    of=outside_counted,
    replace={"w != 0": "A < -b / w < B"},
)
count_pieces.slip(
    "right_lookers_only",
    "Only units with W1 > 0 are counted. One with W1 < 0 looks to the left, and has its kink all the same.",
    of=outside_counted,
    replace={"w != 0": "w > 0 and A < -b / w < B"},
)
count_pieces.slip(
    "float_for_int",
    "The number of pieces came back as a float. It is a whole number: `int`.",
    of=kinks_for_pieces,
    replace={"sum": "1.0 + sum"},
)
count_pieces.slip(
    "list_of_kinks",
    "The kinks themselves came back. How many pieces they make is the question: one number.",
    of="float_for_int",
    replace={"return …": "return [place for place, c in change.items() if c != 0]"},
)


@count_pieces.mistake(NO_RETURN)
def pieces_without_return(W1, b1, W2, A, B):
    1 + len({float(-b / w) for w, b in zip(W1[0], b1, strict=True) if w != 0 and A < -b / w < B})


@count_pieces.mistake(
    "This counts the kinks inside, as the cell for random weights does. There no two share a place, and every unit is read: here kinks may share a "
    "place, cancel, or belong to a unit with W2 = 0."
)
def kinks_inside_counted(W1, b1, W2, A, B):
    kinks = -b1 / W1[0]
    return len(kinks[(kinks > A) & (kinks < B)]) + 1


count_pieces.slip("left_end_counted", of="ends_counted", replace={" <= B": " < B"}, form_of="ends_counted")
count_pieces.slip("right_end_counted", of="ends_counted", replace={" <= -b": " < -b"}, form_of="ends_counted")


@count_pieces.mistake("The answer is always m, the number of units. How many pieces they make depends on their kinks.")
def always_m(W1, b1, W2, A, B):
    return b1.numel()


@count_pieces.mistake("Only the first unit is looked at: W1 is [1, m], so `len(W1)` is 1. `b1` has length m.")
def first_unit_only(W1, b1, W2, A, B):
    change = {}
    for j in range(len(W1)):
        w, b, v = W1[0, j].item(), b1[j].item(), W2[j, 0].item()
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


@count_pieces.mistake("Rows and columns are mixed up: unit j has W1[0, j] on its way in, and W2[j, 0] on its way out.")
def indices_swapped(W1, b1, W2, A, B):
    change = {}
    for j in range(len(b1)):
        w, b, v = W1[j].item(), b1[j].item(), W2[0, j].item()
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


@count_pieces.mistake(
    "Only kinks upwards are counted, those with a positive change of slope. A kink downwards cuts as well."
)
def upwards_only(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c > 0 for c in change.values())


@count_pieces.mistake(
    "The slope is measured between points of a grid. A kink between two points shows up twice, in both differences beside it. Where the kinks are "
    "can be computed: no grid is needed."
)
def on_a_grid(W1, b1, W2, A, B):
    x = torch.linspace(A, B, 1001, dtype=W1.dtype)[:, None]
    slope = torch.diff((torch.relu(x @ W1 + b1) @ W2)[:, 0])
    return 1 + int((torch.diff(slope).abs() > 1e-9).sum())


@count_pieces.form(on_a_grid)
def on_a_grid_of_1000(W1, b1, W2, A, B):
    x = torch.linspace(A, B, 1000, dtype=W1.dtype)[:, None]
    slope = torch.diff((torch.relu(x @ W1 + b1) @ W2)[:, 0])
    return 1 + int((torch.diff(slope).abs() > 1e-9).sum())


@count_pieces.form(on_a_grid)
def on_a_grid_of_10000(W1, b1, W2, A, B):
    x = torch.linspace(A, B, 10_000, dtype=W1.dtype)[:, None]
    slope = torch.diff((torch.relu(x @ W1 + b1) @ W2)[:, 0])
    return 1 + int((torch.diff(slope).abs() > 1e-9).sum())


count_pieces.slip(
    "close_is_same",
    "Kinks that are close together are taken for one (by `round`, by `isclose`, by a tolerance). Nothing gets rounded here: "
    "only kinks that are exactly equal share a place.",
    of="way_in_ignored",
    replace={
        "change[-b / w] = change.get(-b / w, 0) + v": (
            "place = round(-b / w, 3)\nchange[place] = change.get(place, 0) + abs(w) * v"
        )
    },
)
count_pieces.slip(
    "small_change_is_none",
    "A small change of slope is taken for none: the sum at a place is compared with a threshold. What cancels here is exactly 0, and whatever is "
    "left otherwise bends the line.",
    of=upwards_only,
    replace={"c > 0": "abs(c) > 1e-3"},
)
count_pieces.slip(
    "margin_at_the_ends",
    "Kinks close to A and B are left out: there is a margin at the ends. Strictly between the two counts, however close.",
    of="left_end_counted",
    replace={"A <= -b / w < B": "A + 1e-3 < -b / w < B - 1e-3"},
)


# Questions

quiz_leshno = question(
    exercises.quiz_leshno,
    right="B",
    wrong={
        "A": "It is 0 on the left, 1 on the right and continuous: a sigmoidal activation, so Cybenko's theorem covers it. "
        "(It is made of two ReLUs, so wide ReLU networks can come near any curve as well.)",
        "C": "The sine is continuous, bounded and not constant: Hornik's theorem covers it. That it goes up and down does no harm.",
    },
)

quiz_pieces = question(
    exercises.quiz_pieces,
    right="C",
    wrong={
        "A": "1/64 is right on [−1, 1]. This interval is twice as wide, so the nodes are twice as far apart, and the error is h²/4 with h their distance.",
        "B": "The nodes are twice as far apart as on [−1, 1], where the error is 1/64. The error grows with the square of that distance.",
    },
)

quiz_extrapolation = question(
    exercises.quiz_extrapolation,
    right="B",
    wrong={
        "A": "To swing, the line has to turn, and it turns at kinks only. Right of 1.9 there is none, however many units have theirs left of it.",
        "C": "Level would be slope 0. The slope is what all the units that are on add up to, and where the training data end nothing takes it away.",
    },
)

quiz_dead = question(
    exercises.quiz_dead,
    right="A",
    wrong={
        "B": "For a step to happen there has to be a gradient. The unit is on ReLU's flat side for every row, so its gradient is zero for every row.",
        "C": "The loss may well be large, but what reaches W1 and b1 is multiplied by ReLU's slope, and that is zero here for every row.",
    },
)
