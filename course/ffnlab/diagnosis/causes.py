"""What is told of the mistakes that people make everywhere and that `recognition` finds by itself. Those of `common_mistakes` have their texts there."""

from __future__ import annotations

from collections.abc import Set

from ffnlab.diagnosis.mistake import COMMON_PREFIX, Cause

NOTHING_RETURNED = Cause(
    COMMON_PREFIX + "nothing returned",
    "Nothing comes back: your code ends without a `return`. Is it finished? A result that is only printed does not come back.",
)
OTHER_EXCEPTION = Cause(
    COMMON_PREFIX + "another exception",
    "An argument that can't be used ends in another exception than the one that was asked for, or in none. Check the argument before you use it, and "
    "`raise` the exception that was asked for yourself. A dict's KeyError or an `assert` is not it.",
)
IN_PLACE = Cause(
    COMMON_PREFIX + "in place",
    "What you return is right, but your code changes what it was given, and the caller may still need that. `+=`, an assignment to `x[...]`, and "
    "functions whose name ends in an underscore work in place. Make a new tensor instead.",
)
GRADIENT = Cause(
    COMMON_PREFIX + "gradient",
    "The values are right, but their gradient is not. Perhaps part of the result is cut off from the inputs, by `detach`, `.data`, `.item()`, `no_grad`, "
    "`requires_grad_(False)` or a new tensor made of numbers. Or your formula has the right values at these inputs, but another slope.",
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

# Where a module keeps what `parameters()` does not list, by a place of `ffnlab.observation.hidden_parameters`.
UNSEEN = "which hides them from `parameters()`: they are never trained, moved, converted or saved."
HIDDEN = {
    "in a list": f"Layers or weights are in a plain Python list, {UNSEEN} Use `nn.ModuleList`, or `nn.ParameterList` for weights.",
    "in a tuple": f"Layers or weights are in a tuple, {UNSEEN} Use `nn.ModuleList`, or give each a name of its own, as in `self.first = ...`.",
    "in a dict": f"Layers or weights are in a plain dict, {UNSEEN} Use `nn.ModuleDict`, or `nn.ParameterDict` for weights.",
    "in a set": f"Layers or weights are in a set, {UNSEEN} A set has no order either. Use `nn.ModuleList`.",
    "in an object": f"Layers or weights are in an object that is no `nn.Module`, {UNSEEN} Make its class an `nn.Module`, "
    "and assign it in `__init__`, after `super().__init__()`.",
    "in a function": f"A function that the module keeps has layers or weights of its own, {UNSEEN} "
    "Assign each to `self`, and let the function use it from there.",
    "of the class": f"Layers or weights belong to the class and not to the object, {UNSEEN} All objects would share them, too. "
    "Make them in `__init__`, as in `self.first = ...`.",
    "of the notebook": f"The module uses layers or weights of the notebook that are not its own, {UNSEEN} "
    "Make them in `__init__`, as in `self.first = ...`.",
    "made in forward": "`forward` makes a layer, or a parameter, anew in each call: it has random numbers each time, and is never trained. "
    "Make it in `__init__`, and use it in `forward`.",
    "in a generator": "The module keeps a generator, which can be gone through once and hides its layers from `parameters()`. "
    "Make a list of it, in `nn.ModuleList([...])`.",
    "a plain tensor": "A weight is a plain tensor. `requires_grad` alone does not make it a parameter, so `parameters()` does not list it: "
    "it is never trained, moved, converted or saved. Use `nn.Parameter(...)`.",
    "computed from a parameter": "A weight is computed from a parameter, as in `nn.Parameter(...) * 0.1` or `nn.Parameter(...).to(...)`. The result is a "
    "plain tensor, which `parameters()` does not list. Compute first, and write `nn.Parameter(...)` around all of it.",
}


def of_hidden_parameters(places: Set[str]) -> Cause | None:
    """That a module hides parameters in these places, the most telling one first; None where it hides none."""
    message = next((text for place, text in HIDDEN.items() if place in places), "")
    return Cause(COMMON_PREFIX + "hidden parameters", message) if message else None


COPIED_TENSOR = Cause(
    COMMON_PREFIX + "a tensor that stays behind",
    "`__init__` computes a tensor from a parameter, as in `self.linear.weight.T`, and keeps it. It stays what it was then when the module is converted or "
    "trained. Compute it in `forward`, each time anew.",
)
CONSTANT_TENSOR = Cause(
    COMMON_PREFIX + "a tensor that stays behind",
    "The module keeps a plain tensor. `.to(...)` and `.double()` move and convert parameters and buffers alone, so this one stays what it was. If it is "
    "to be trained, make it an `nn.Parameter`. If not, use `self.register_buffer(...)`, or a Python number.",
)
LEFT_BEHIND = {"computed from what is registered": COPIED_TENSOR, "a constant": CONSTANT_TENSOR}  # by place
# What is told elsewhere of dtypes, devices and gradients, and is no more than a symptom of that.
OF_LEFT_BEHIND = {
    GRADIENT.name,
    DTYPE.name,
    FLOAT32.name,
    COMMON_PREFIX + "two devices",
    COMMON_PREFIX + "dtypes that do not fit",
}
