"""The marking guide of notebook 00, Start here."""

from __future__ import annotations

from autograder.key import Key, question
from ffnlab.exercises import start_here as exercises

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


quiz_hidden = question(
    exercises.quiz_hidden,
    right="B",
    wrong={
        "A": "The inputs you see are drawn once and shipped with the course; grading draws others, so fitting the shown ones is no help.",
        "C": "Grading runs your code again: what you printed, or what a panel once said, is not looked at.",
    },
)
