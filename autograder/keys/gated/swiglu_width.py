"""What is right, and what goes wrong, in `swiglu_width` of notebook 07."""

from __future__ import annotations

import math

import torch

from autograder.keys.key import NO_RETURN, Key
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
