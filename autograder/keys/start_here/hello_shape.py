"""What is right, and what goes wrong, in `hello_shape` of notebook 00."""

from __future__ import annotations

import torch

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import start_here as exercises

hello_shape = Key(exercises.hello_shape)


@hello_shape.truth
def counted(x):
    """Counts by walking down the nested list: no shape is asked for."""
    nested = x.tolist()
    return len(nested), len(nested[0]), len(nested[0][0])


@hello_shape.right("unpacks the shape")
def unpacked(x):
    B, T, d = x.shape
    return B, T, d


@hello_shape.right("returns torch.Size itself")
def size_itself(x):
    return x.shape


@hello_shape.right("asks for one size after the other")
def one_by_one(x):
    return x.size(0), x.size(1), x.size(-1)


@hello_shape.mistake("The last two are swapped: the order is batch, tokens, features, as in `x.shape`.")
def swapped(x):
    B, T, d = x.shape
    return B, d, T


@hello_shape.mistake(
    "Only one number comes back. `len(x)` and `x.shape[0]` are B alone; T and d are asked for as well."
)
def length_only(x):
    return len(x)


@hello_shape.mistake("Only two numbers come back. x has three sizes: B, T and d.")
def without_d(x):
    return x.shape[0], x.shape[1]


hello_shape.slip(
    "without_b", of=without_d, replace={"x.shape[0], x.shape[1]": "x.shape[1], x.shape[2]"}, form_of=without_d
)
hello_shape.slip("without_t", of=without_d, replace={"x.shape[1]": "x.shape[2]"}, form_of=without_d)
hello_shape.slip(
    "first_two_swapped",
    "The first two are swapped: the order is batch, tokens, features, as in `x.shape`.",
    of=swapped,
    replace={"return B, d, T": "return T, B, d"},
)
hello_shape.slip(
    "backwards",
    "The three sizes come backwards: the order is batch, tokens, features, as in `x.shape`.",
    of=swapped,
    replace={"return B, d, T": "return d, T, B"},
)


@hello_shape.mistake(
    "These numbers are the sizes of one particular x. Other inputs have other sizes: read them from the x that you are handed."
)
def hard_coded(x):
    return 2, 14, 6


@hello_shape.mistake("A text comes back. Three integers are asked for, so that one can calculate with them.")
def as_text(x):
    return str(tuple(x.shape))


@hello_shape.mistake("A list comes back. A tuple is asked for: `x.shape` is one already, and `tuple(...)` makes one.")
def as_list(x):
    return list(x.shape)


@hello_shape.mistake(
    "A tensor comes back. Three Python integers are asked for, in a tuple: `x.shape` has them already."
)
def as_tensor(x):
    return torch.tensor(x.shape)


@hello_shape.mistake(NO_RETURN)
def printed(x):
    print(x.shape)


@hello_shape.mistake(
    "Sizes of 1 are lost on the way: `squeeze` takes them out. One sequence is still a batch, of B = 1. Read the shape of x as it came."
)
def squeezed(x):
    return tuple(x.squeeze().shape)


@hello_shape.mistake("This is how many numbers x holds, B·T·d. Three sizes are asked for, one for each dimension.")
def number_of_entries(x):
    return x.numel()


@hello_shape.mistake("This is how many dimensions x has. Three sizes are asked for, one for each dimension.")
def number_of_dimensions(x):
    return x.ndim
