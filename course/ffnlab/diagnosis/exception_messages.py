"""What exceptions of torch and of Python mean, where their own words are hard to read. Called by `recognition`.

Each says what the exception says: it is true whatever led to it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExceptionMeaning:
    """One kind of exception. words: any of these is in its type and message, as in "KeyError: 'n_kv'"."""

    name: str
    words: tuple[str, ...]
    message: str


MEANINGS = (
    ExceptionMeaning(
        "shapes that do not fit",
        (
            "shapes cannot be multiplied",
            "must match the size of tensor",
            "Expected size for first two dimensions of batch",
            "inconsistent tensor size",
            "size mismatch",
        ),
        "Two shapes do not fit. For `@`, the last dimension of the first must be as long as the second-to-last of the second. For `+` and `*`, dimensions "
        "are compared from the last one backwards, and must be equal or 1. Write the shape at the end of each line, up to the one that raises the exception.",
    ),
    ExceptionMeaning(
        "a tensor as a condition",
        ("Boolean value of Tensor with more than one value is ambiguous",),
        "A whole tensor is used where Python needs one True or False: in an `if`, with `and`, `or` or `not`, or in Python's own `max` and `min`. "
        "`torch.where`, `&`, `|`, `~` and `torch.maximum` decide entry by entry.",
    ),
    ExceptionMeaning(
        "None where a value is needed",
        (
            "'NoneType'",
            "not NoneType",
        ),
        "A value is None where your code needs something else. Perhaps a function of yours has no `return`. Or your code uses an argument that may be "
        "None before it checks for that.",
    ),
    ExceptionMeaning(
        "dtypes that do not fit",
        (
            "to have the same dtype",
            "expected scalar type",
            "expected m1 and m2",
            "can't be cast to the desired output type",
            "must have the same dtype",
        ),
        "Two tensors have dtypes that do not go together. A tensor that is made without `dtype=` is float32. Use the dtype of the input, as `zeros_like` "
        "and `x.new_zeros` do.",
    ),
    ExceptionMeaning(
        "arguments that do not fit",
        (
            "positional argument",
            "unexpected keyword argument",
        ),
        "A function is called with other arguments than its `def` takes: one is missing, or there is one too many. Compare its first line with the one "
        "in the exercise, and with the line that calls it.",
    ),
    ExceptionMeaning(
        "called, but no function",
        (
            "object is not callable",
            "argument must be callable",
        ),
        "Something is called that is not a function. If it is your answer, hand it over without calling it: write its name alone, without parentheses.",
    ),
    ExceptionMeaning(
        "a name without a value",
        ("where it is not associated with a value",),
        "A variable is used before it has a value. Perhaps no branch of an `if` that gives it one was taken. Compare the words or numbers "
        "in its conditions with those that come in.",
    ),
    ExceptionMeaning(
        "a key that is not there",
        ("KeyError",),
        "A dict is asked for a key that it does not have. Where a key may be missing, `.get(key)` gives None, and `.get(key, default)` gives the default.",
    ),
    ExceptionMeaning(
        "a dimension that is not there",
        ("Dimension out of range",),
        "Your code names a dimension that the tensor does not have. The tensor has fewer dimensions than you think, perhaps only in some cases. Count from "
        "the end, as in `dim=-1`, where leading ones may be missing.",
    ),
    ExceptionMeaning(
        "several numbers for one",
        (
            "a Tensor with",
            "only one element tensors can be converted",
            "only tensors with one element",
        ),
        "A tensor with several numbers is used where one number is needed, as by `.item()`, `float()` or `int()`. Is a sum or a mean missing, or does it "
        "have a `dim` too many?",
    ),
)


def meaning(kind: str, message: str) -> ExceptionMeaning | None:
    """What an exception of this type and with this message means, where that is known."""
    return next((one for one in MEANINGS if any(words in f"{kind}: {message}" for words in one.words)), None)
