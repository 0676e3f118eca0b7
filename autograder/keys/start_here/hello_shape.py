"""What is right, and what goes wrong, in `hello_shape` of notebook 00."""

from __future__ import annotations

from autograder.keys.key import Key
from ffnlab.course.exercises import start_here as exercises

hello_shape = Key(exercises.hello_shape)


@hello_shape.truth
def counted(x):
    """Counts by walking down the nested list: no shape is asked for."""
    nested = x.tolist()
    return len(nested), len(nested[0]), len(nested[0][0])


@hello_shape.base
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


hello_shape.slips("""
in return B, T, d
swapped: return B, d, T
    The last two are swapped: the order is batch, tokens, features, as in `x.shape`.
first_two_swapped: return T, B, d
    The first two are swapped: the order is batch, tokens, features, as in `x.shape`.
backwards: return d, T, B
    The three sizes come backwards: the order is batch, tokens, features, as in `x.shape`.
of size_itself
in x.shape
length_only: len(x)
    Only one number comes back. `len(x)` and `x.shape[0]` are B alone; T and d are asked for as well.
without_d: x.shape[0], x.shape[1]
    Only two numbers come back. x has three sizes: B, T and d.
| without_b: x.shape[1], x.shape[2]
| without_t: x.shape[0], x.shape[2]
hard_coded: 2, 19, 32
    These numbers are the sizes of one particular x. Other inputs have other sizes: read them from the x that you are handed.
| of_a_long_sentence: 2, 14, 6
as_text: str(tuple(x.shape))
    A text comes back. Three integers are asked for, so that one can calculate with them.
as_list: list(x.shape)
    A list comes back. A tuple is asked for: `x.shape` is one already, and `tuple(...)` makes one.
as_tensor: torch.tensor(x.shape)
    A tensor comes back. Three Python integers are asked for, in a tuple: `x.shape` has them already.
tensors_in_a_tuple: tuple(torch.tensor(x.shape))
    The three sizes are tensors. Python integers are asked for: `x.shape` has them already.
squeezed: tuple(x.squeeze().shape)
    Sizes of 1 are lost on the way: `squeeze` takes them out. One sequence is still a batch, of B = 1. Read the shape of x as it came.
number_of_entries: x.numel()
    This is how many numbers x holds, B·T·d. Three sizes are asked for, one for each dimension.
number_of_dimensions: x.ndim
    This is how many dimensions x has. Three sizes are asked for, one for each dimension.
printed: return x.shape -> print(x.shape)
    NO_RETURN
""")
