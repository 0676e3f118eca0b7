"""What is right, and what goes wrong, in `swiglu_width` of notebook 07."""

from __future__ import annotations

import math

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import gated as exercises

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


swiglu_width.slips("""
no_return: return math.ceil(hidden / multiple_of) * multiple_of -> print(math.ceil(hidden / multiple_of) * multiple_of)
    NO_RETURN
in return math.ceil(hidden / multiple_of) * multiple_of
rounded_down: return hidden // multiple_of * multiple_of
    The width is rounded down to a multiple. LLaMA rounds up, so that the FFN is never smaller than the plain one it replaces.
rounded_to_the_nearest: return round(hidden / multiple_of) * multiple_of
    The width goes to the nearest multiple. LLaMA always rounds up.
always_one_more: return (hidden // multiple_of + 1) * multiple_of
    A width that is a multiple already is raised to the next one. Try d = 1536: 8/3 of it is 4096, which stays.
floats: return math.ceil(hidden / multiple_of) * float(multiple_of)
    The number is right, but a float came back. Widths are counted: return an int.
in math.ceil(hidden / multiple_of) * multiple_of
not_rounded: hidden
    The width is not rounded to a multiple: `multiple_of` is never used.
multiple_ignored: math.ceil(hidden / 256) * 256
    The multiple is always 256. It is an argument: LLaMA-3 8B uses 1024, and LLaMA-2 70B 4096.
rest_of_one_lost: (hidden + multiple_of - 2) // multiple_of * multiple_of if multiple_of > 1 else hidden
    A width that is 1 above a multiple is rounded down. To round up with whole numbers add `multiple_of - 1` before you divide.
power_of_two: 2 ** math.ceil(math.log2(hidden))
    The width goes up to a power of two. It goes up to a multiple of `multiple_of`.
boxes_counted: math.ceil(hidden / multiple_of)
    That is how many multiples fit, not the width. Multiply their number with `multiple_of`.
in hidden = int(mult * hidden)
mult_ignored:
    `mult` changes nothing. It stretches the width before the rounding: LLaMA-3 8B uses 1.3.
second_cut_rounds: hidden = round(mult * hidden)
    After `mult` the width is rounded to the nearest whole number. LLaMA cuts it off, as `int` does; with multiple_of=1 one sees the difference.
mult_after_the_rounding
  - hidden = int(mult * hidden)
  - return math.ceil(hidden / multiple_of) * multiple_of
  + return int(mult * math.ceil(hidden / multiple_of) * multiple_of)
    `mult` is applied after the rounding, so the result need not be a multiple any more. Stretch first, round last.
first_cut_forgotten: int(8 * d / 3) -> 8 * d / 3
    8/3 of d is not cut to a whole number before `mult` comes. LLaMA cuts twice; with multiple_of=1 one sees the difference.
of with_ceil
| one_formula_cut_once
  - hidden = int(mult * int(8 * d / 3))
  + hidden = 4 * d
  + hidden = int(mult * hidden * 2 / 3)
of base
in int(8 * d / 3)
four_d: 4 * d
    The width is 4·d, that of a plain FFN. With three matrices the same parameters buy two thirds of it.
thirds_cut_first: d // 3 * 8
    d is divided by 3 and cut before it is multiplied. First 8·d, then the third, then the cut.
third_of_four_d_cut_first: 4 * d // 3 * 2
    4·d is divided by 3 and cut before it is doubled. First 8·d, then the third, then the cut.
fraction_cut: 8 // 3 * d
    8/3 itself is cut to a whole number, 2. Cut the product with d, not the fraction.
two_thirds_cut_to_zero: int(2 / 3) * 4 * d
    2/3 itself is cut to a whole number, 0. Cut the product with 4·d, not the fraction.
three_d: 3 * d
    The width starts from 3·d. Three matrices together match two of width 4·d when each is 8/3·d wide.
in int(mult * hidden)
second_cut_forgotten: mult * hidden
    After `mult` the width is not cut to a whole number, so it is rounded up a little too often. With multiple_of=1 one sees it.
rounded_up_twice: int(mult * math.ceil(hidden / multiple_of) * multiple_of)
    The width goes up to a multiple before `mult` and again after it. Stretch first; round once, at the end.
in 8 * d / 3
three_halves: 4 * d * 3 / 2
    4·d is multiplied by 3/2. Three matrices instead of two: each must be smaller, by 2/3.
three_eighths: 3 * d / 8
    The fraction is upside down: 3/8 of d. The hidden layer is wider than d, by 8/3.
about_2_7: 2.7 * d
    The width is 2.7·d, which is LLaMA's after rounding. The rule is 8/3, then the multiple.
two_thirds_of_d: hidden = int(8 * d / 3) -> hidden = int(2 * d / 3)
    The width is two thirds of d. It is two thirds of 4·d, the plain FFN's width.
in def swiglu_width(d, multiple_of=256, mult=1.0):
default_mult_1_3: def swiglu_width(d, multiple_of=256, mult=1.3):
    Without the argument `mult` is not 1. Look at the default in the signature.
default_multiple_1024: def swiglu_width(d, multiple_of=1024, mult=1.0):
    Without the argument `multiple_of` is not 256. Look at the default in the signature.
arguments_swapped: def swiglu_width(d, mult=1.0, multiple_of=256):
    The arguments come in another order: d, then multiple_of, then mult.
in math.ceil(hidden / multiple_of) *
multiple_added: hidden +
    `multiple_of` is added to the width. Only what is missing to the next multiple may be added.
rest_added: hidden + hidden %
    `hidden % multiple_of` is what the width has over the multiple below. Missing to the one above is the other part: `multiple_of` minus that.
of with_ceil
in hidden = int(mult * int(8 * d / 3))
never_cut
  + hidden = 8 * d / 3
  + hidden = mult * hidden
    The width is never cut to a whole number, neither after 8/3 nor after `mult`, so it is rounded up too often. With multiple_of=1 one sees it.
rounded_instead_of_cut
  + hidden = round(8 * d / 3)
  + hidden = round(mult * hidden)
    8/3 of d is rounded to the nearest whole number. LLaMA cuts it off, as `int` does; with multiple_of=1 one sees the difference.
ceil_instead_of_cut
  + hidden = math.ceil(8 * d / 3)
  + hidden = math.ceil(mult * hidden)
    8/3 of d is rounded up at once, before the multiple. LLaMA cuts it off there, as `int` does, and rounds up only at the end.
mult_first: mult * int(8 * d / 3) -> 8 * int(mult * d) / 3
    d is multiplied with `mult` before 8/3 is taken. LLaMA takes 8/3 of d and cuts, then multiplies and cuts again; with multiple_of=1 one sees it.
""")
