"""What is told of the mistakes that people make everywhere and that `recognition` finds by itself. Those of `common_mistakes` have their texts there."""

from __future__ import annotations

from ffnlab.diagnosis.mistake import COMMON_PREFIX, Cause

NOTHING_RETURNED = Cause(
    COMMON_PREFIX + "nothing returned",
    "Nothing comes back: your code ends without a `return`. Is it finished? A result that is only printed does not come back.",
)
IN_PLACE = Cause(
    COMMON_PREFIX + "in place",
    "What you return is right, but your code changes what it was given, and the caller may still need that. `+=`, an assignment to `x[...]`, and "
    "functions whose name ends in an underscore work in place. Make a new tensor instead.",
)
GRADIENT = Cause(
    COMMON_PREFIX + "gradient",
    "The values are right, but their gradient is not. Perhaps part of the result is cut off from the inputs, by `detach`, `.data`, `.item()`, `no_grad` "
    "or a new tensor made of numbers. Or your formula has the right values at these inputs, but another slope.",
)
DTYPE = Cause(
    COMMON_PREFIX + "dtype",
    "The values are right, but their dtype is not. A tensor that is made without `dtype=` is float32, a list of whole numbers becomes int64, and a "
    "comparison gives bool. Use the dtype of the input.",
)
FLOAT32 = Cause(
    COMMON_PREFIX + "float32",
    "Every number is right to about seven digits, so part of your code computes in float32. Look for `.float()`, and for a tensor that is made without "
    "`dtype=`.",
)
NEARLY = Cause(
    COMMON_PREFIX + "nearly right",
    "Every number is nearly right. Perhaps a constant has too few digits, or an ε is missing, too large or in another place. Or your formula is an "
    "approximation of what was asked for.",
)
UNCHANGED = Cause(
    COMMON_PREFIX + "input returned",
    "You return what you were given. Do you keep your result, and is it what you return? A method such as `x.add(1)` makes a new tensor and does not "
    "change x.",
)
NO_EFFECT = Cause(
    COMMON_PREFIX + "argument without effect",
    "For one value of an argument you give what is right for another. Perhaps the argument has no effect, because your code uses a fixed value in its "
    "place. Or its default is not the one that was asked for.",
)
FACTOR = Cause(
    COMMON_PREFIX + "a factor",
    "Every number is wrong by the same factor. Perhaps a factor is missing, or is there twice. Or your result has another unit, such as percent for a share.",
)
CONSTANT = Cause(
    COMMON_PREFIX + "a constant",
    "Every number is off by the same amount. Either a constant is missing, or one is added or subtracted that should not be. Look for a 1, and for an ε.",
)
OFF_BY_ONE = Cause(
    COMMON_PREFIX + "off by one",
    "Every number is one too many, or every number is one too few. Look at where you start to count and where you stop, and for a 1 that is added or "
    "subtracted.",
)
TERM = Cause(
    COMMON_PREFIX + "a term",
    "Your result is off by one of the inputs, or by a multiple of it. Perhaps a term of the sum is missing, or is there twice. Or it has the wrong sign.",
)
DIVIDED = Cause(
    COMMON_PREFIX + "divided by a size",
    "Every number is too small, by a factor that is one of the sizes. Perhaps you take a mean where a sum was asked for, or you divide once too often.",
)
MULTIPLIED = Cause(
    COMMON_PREFIX + "multiplied by a size",
    "Every number is too large, by a factor that is one of the sizes. Perhaps you take a sum where a mean was asked for, or a division is missing.",
)
