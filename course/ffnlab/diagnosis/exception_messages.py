"""What exceptions of torch and of Python mean, where their own words are hard to read. Called by `recognition`.

Each says what the exception says: it is true whatever led to it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExceptionMeaning:
    """One kind of exception."""

    name: str
    words: tuple[str, ...]  # any of these is in its type and message, as in "KeyError: 'n_kv'"
    message: str


# Of torch.nn, what students make objects of.
LAYERS = ("Linear", "LayerNorm", "RMSNorm", "Embedding", "Dropout", "MultiheadAttention", "Parameter", "ModuleList")

MEANINGS = (
    ExceptionMeaning(
        "no graphics card",
        (
            "not compiled with CUDA",
            "Found no NVIDIA driver",
            "No CUDA GPUs are available",
            "not linked with support for mps",
            "MPS backend",
            "Cannot access accelerator device",
            "No HIP GPUs",
        ),
        "Your code asks for a graphics card, and there is none where it runs. Leave out `.cuda()`, `.to(...)` and `device=`: the inputs are on the CPU.",
    ),
    ExceptionMeaning(
        "two devices",
        ("Expected all tensors to be on the same device", "Tensor on device"),
        "Two tensors are on different devices. The inputs are on the CPU: make new tensors with `device=x.device`, or leave `device=` out.",
    ),
    ExceptionMeaning(
        "waits for somebody",
        ("BdbQuit", "EOF when reading a line", "StdinNotImplementedError"),
        "Your code waits for somebody to type something. Is a `breakpoint()`, `set_trace()` or `input()` left in it?",
    ),
    ExceptionMeaning(
        "a package that is not installed",
        ("ModuleNotFoundError", "No module named"),
        "Your code imports a package that is not installed where it runs, or a file of your own. Grading has Python's own modules, the packages that the "
        "course installs, and your notebook. If it is a file of yours, put its code into a cell.",
    ),
    ExceptionMeaning(
        "a file that is not there",
        ("FileNotFoundError",),
        "Your code opens a file that is not there. Grading has nothing but the notebook, so an answer can't read files of its own.",
    ),
    ExceptionMeaning(
        "no network",
        ("URLError", "gaierror", "ConnectionError", "ConnectTimeout", "Network is unreachable"),
        "Your code needs the network, and there is none where it runs. An answer has to work from its arguments alone.",
    ),
    ExceptionMeaning(
        "calls itself for ever",
        ("RecursionError",),
        "A function calls itself, or two call each other, and nothing ends that. Is the case missing in which it returns without another call?",
    ),
    ExceptionMeaning(
        "set before the module is",
        ("before Module.__init__() call",),
        "A layer or a weight is assigned before `nn.Module` is set up, so it can't be registered. The first line of `__init__` is `super().__init__()`.",
    ),
    ExceptionMeaning(
        "a layer made with other arguments",
        tuple(f"{layer}.__init__() {words}" for layer in LAYERS for words in ("takes", "missing", "got")),
        "A layer of torch's is made with other arguments than it takes: the message says which. `nn.Linear` takes two widths, that of what comes in "
        "and that of what goes out. In a cell of your own, `help` shows what another one takes, as in `help(nn.LayerNorm)`.",
    ),
    ExceptionMeaning(
        "made with other arguments",
        (".__init__() takes", ".__init__() missing", ".__init__() got"),
        "An object of a class is made with other arguments than its `__init__` takes. Compare the first line of `__init__` with the exercise. "
        "If the exercise asks for a function, write `def` in place of `class`.",
    ),
    ExceptionMeaning(
        "something else than it is taken for",
        tuple(f"'{kind}' object has no attribute" for kind in ("int", "float", "bool", "str", "function")),
        "A value is not what your code takes it for: the message says what it is. Perhaps a name such as `F`, `nn` or `torch` was given another value "
        "somewhere in the notebook. Then choose another name there, restart the kernel, and run all cells.",
    ),
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
            "mixed dtype",
        ),
        "Two tensors have dtypes that do not go together. A tensor that is made without `dtype=` is float32. Use the dtype of the input, as `zeros_like` "
        "and `x.new_zeros` do, and look for a `.float()`.",
    ),
    ExceptionMeaning(
        "forward without self",
        (".forward() takes 1 positional argument but 2", ".forward() got multiple values for argument 'self'"),
        "`forward` takes too few arguments. A method gets the object itself first: `def forward(self, x)`.",
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
        "a text that is called",
        ("'str' object is not callable",),
        "A text is called as if it were a function. If it is a name such as 'relu', look up the function that it stands for first, as in a dict.",
    ),
    ExceptionMeaning(
        "a key that is no text",
        ("module name should be a string", "parameter name should be a string"),
        "`nn.ModuleDict` and `nn.ParameterDict` take texts as keys: write `str(key)`. Where the keys are 0, 1, 2 and so on, a list will do: `nn.ModuleList`.",
    ),
    ExceptionMeaning(
        "called, but no function",
        (
            "object is not callable",
            "argument must be callable",
        ),
        "Something is called that is not a function: the message says what it is. If it is your answer, hand it over without calling it: write its name alone. "
        "If it is a name of Python's, such as `list` or `sum`, the notebook has given it another value. Or a `*` is missing before a parenthesis.",
    ),
    ExceptionMeaning(
        "a name that nothing defines",
        ("NameError: name",),
        "Your code uses a name that nothing has defined where it runs. Is it misspelled? Is an import missing, or is the cell that defines it further down? "
        "“Restart the kernel and run all cells” shows the same.",
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


def find_meaning(kind: str, message: str) -> ExceptionMeaning | None:
    """What an exception of this type and with this message means, where that is known."""
    for meaning in MEANINGS:
        if any(words in f"{kind}: {message}" for words in meaning.words):
            return meaning
    return None
