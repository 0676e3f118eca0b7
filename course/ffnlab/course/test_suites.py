"""A suite of tests against closed boxes: what a test is, what it costs, and which boxes it catches. `catch_mistakes` of notebook 02 asks for one.

A test is a dict. `x`, `W1`, `b1`, `W2` and `b2` are its numbers, in lists. `act` and `dtype` are names, "relu" and "float32" where they are left out.
`turned=True` stores x with its first two dimensions exchanged. `look` names what is looked at besides the answer: "gradient", "x".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from ffnlab.course import closed_boxes
from ffnlab.course.closed_boxes import ACTIVATIONS, NEAR, NEAR_FLOAT32, Boxes
from ffnlab.observation.exercise import NotAsAsked, describe_result
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import in_quotes, plural

ARRAYS = ("x", "W1", "b1", "W2", "b2")
DTYPES = {"float32": torch.float32, "float64": torch.float64}
LOOKS = ("gradient", "x")
KEYS = (*ARRAYS, "act", "dtype", "turned", "look")
MOST_NUMBERS = 40  # of a suite
LARGEST_NUMBER = 1000
MOST_DIMENSIONS = 4  # of x


@dataclass(frozen=True)
class Test:
    """One test: the tensors, and how they are used."""

    __test__ = False  # what pytest looks for is something else

    # x [..., d_model], W1 [d_model, d_ff], b1 [d_ff], W2 [d_ff, d_model], b2 [d_model].
    tensors: dict[str, torch.Tensor]
    act: str
    dtype: torch.dtype
    turned: bool
    look: frozenset[str]

    @property
    def cost(self) -> int:
        """How many numbers it has."""
        return sum(tensor.numel() for tensor in self.tensors.values())

    @cached_property
    def read(self) -> torch.Tensor:
        """What the right neurons read: [..., d_ff]."""
        x, W1, b1, *_ = self.tensors.values()
        return x @ W1 + b1

    def ask(self, line: tuple[str, ...]) -> tuple[Any, bool]:
        """What a box returns, and whether x is afterwards what it was."""
        tensors = {name: tensor.clone() for name, tensor in self.tensors.items()}
        if self.turned:
            tensors["x"] = tensors["x"].transpose(0, 1).contiguous().transpose(0, 1)
        for name in ARRAYS[1:]:
            tensors[name].requires_grad_()
        output = closed_boxes.run(line, tensors, ACTIVATIONS[self.act])
        return output, torch.equal(tensors["x"], self.tensors["x"])

    def catches(self, line: tuple[str, ...], right: torch.Tensor) -> bool:
        """Whether it tells a box from the right one, which returns `right`."""
        output, is_kept = self.ask(line)
        if "x" in self.look and not is_kept:
            return True
        if "gradient" in self.look and not getattr(output, "requires_grad", False):
            return True
        if output is None or isinstance(output, (Exception, tuple)):
            return True
        tensor = torch.as_tensor(output)
        near = NEAR if self.dtype == torch.float64 else NEAR_FLOAT32
        return (
            tensor.shape != right.shape
            or tensor.dtype != right.dtype
            or not torch.allclose(tensor, right, rtol=near, atol=near)
        )


def caught(suite: Sequence[Test], boxes: Boxes) -> set[str]:
    """The names of the mistakes that some test catches."""
    names = set()
    for test in suite:
        right, _ = test.ask(boxes.right.line)
        names |= {box.name for box in boxes.wrong if test.catches(box.line, right.detach())}
    return names


def still_closed(names: Collection[str], boxes: Boxes) -> list[str]:
    """The numbers on the board of the boxes that are not among the caught."""
    return [str(n) for n, box in enumerate(boxes.boxes, 1) if box.name and box.name not in names]


def cost(suite: Sequence[Test]) -> int:
    """How many numbers a suite has."""
    return sum(test.cost for test in suite)


# From plain data


def read_suite(answer: Any) -> list[Test]:
    """A suite from plain data.

    Raises:
        NotAsAsked: it is none, a test is not one, or it has too many numbers.
    """
    if isinstance(answer, Failure):
        raise NotAsAsked(answer.message)
    if not isinstance(answer, (list, tuple)):
        raise NotAsAsked(f"{describe_result(answer)}; a list of tests was expected, each a dict")
    if not answer:
        raise NotAsAsked("the list has no test")
    suite = [_read_test(test, f"test {n}") for n, test in enumerate(answer, 1)]
    if cost(suite) > MOST_NUMBERS:
        raise NotAsAsked(f"your tests have {cost(suite)} numbers, and {MOST_NUMBERS} are allowed")
    return suite


def _read_test(test: Any, which: str) -> Test:
    if not isinstance(test, dict):
        raise NotAsAsked(f"{which} is no dict")
    unknown = [str(key) for key in test if key not in KEYS]
    if unknown:
        raise NotAsAsked(f"{which} has {in_quotes(unknown[0])}; what a test can have is {', '.join(KEYS)}")
    missing = [name for name in ARRAYS if name not in test]
    if missing:
        raise NotAsAsked(f"{which} has no {missing[0]}")
    dtype = DTYPES[_choice(test.get("dtype", "float32"), DTYPES, f"the dtype of {which}")]
    look = test.get("look", ())
    looks = (look,) if isinstance(look, str) else look
    if not isinstance(looks, (list, tuple)):
        raise NotAsAsked(f"what {which} looks at is one of {', '.join(LOOKS)}, or a list of both")
    tensors = {name: _numbers(test[name], f"{name} of {which}").to(dtype) for name in ARRAYS}
    _require_shapes(tensors, which)
    turned = test.get("turned", False)
    if turned is not False and turned is not True:
        raise NotAsAsked(f"`turned` of {which} is True or False")
    if turned and tensors["x"].dim() < 2:
        raise NotAsAsked(f"x of {which} has one dimension, and `turned` exchanges two")
    return Test(
        tensors,
        _choice(test.get("act", "relu"), ACTIVATIONS, f"act of {which}"),
        dtype,
        turned,
        frozenset(_choice(name, LOOKS, f"what {which} looks at") for name in looks),
    )


def _choice(value: Any, options: Collection[str], what: str) -> str:
    if not isinstance(value, str) or value not in options:
        raise NotAsAsked(f"{what} is one of {', '.join(map(in_quotes, options))}")
    return value


def _numbers(value: Any, what: str) -> torch.Tensor:
    try:
        tensor = torch.as_tensor(value, dtype=torch.float64).detach()
    except Exception:
        raise NotAsAsked(f"{what} is no array: lists of numbers, all of one length, were expected") from None
    if not tensor.numel():
        raise NotAsAsked(f"{what} is empty")
    if not all(math.isfinite(number) and abs(number) <= LARGEST_NUMBER for number in tensor.flatten().tolist()):
        raise NotAsAsked(f"{what} has a number beyond {LARGEST_NUMBER:,}; smaller ones do it")
    return tensor


def _require_shapes(tensors: dict[str, torch.Tensor], which: str) -> None:
    x, W1, *_ = tensors.values()
    if not 1 <= x.dim() <= MOST_DIMENSIONS or W1.dim() != 2:
        raise NotAsAsked(f"x of {which} is a list, at most {MOST_DIMENSIONS} deep, and W1 a list of lists")
    d_model, d_ff = x.shape[-1], W1.shape[-1]
    shapes = {"W1": (d_model, d_ff), "b1": (d_ff,), "W2": (d_ff, d_model), "b2": (d_model,)}
    for name, shape in shapes.items():
        if tuple(tensors[name].shape) != shape:
            found = list(tensors[name].shape)
            reason = f"d_model is {d_model}, as long as a token of x, and d_ff is {d_ff}, as long as a row of W1"
            raise NotAsAsked(f"{name} of {which} has the shape {found}, and {list(shape)} fits: {reason}")


# Why a box slips through

Suite = Sequence[Test]


def _every(holds: Callable[[Test], bool]) -> Callable[[Suite], bool]:
    return lambda suite: all(map(holds, suite))


def _all_equal(test: Test) -> bool:
    return len({number for tensor in test.tensors.values() for number in tensor.flatten().tolist()}) == 1


# What all tests of a suite have in common, and the boxes that slip through for it. The first that fits is told.
REASONS: tuple[tuple[str, Callable[[Suite], bool], frozenset[str]], ...] = (
    ("each test has one number, again and again", _every(_all_equal), frozenset()),
    (
        "a bias is zero in every test",
        lambda suite: any(all(not test.tensors[name].any() for test in suite) for name in ("b1", "b2")),
        frozenset({"b1_missing", "b2_missing", "no_biases", "biases_swapped", "b1_after_the_activation"}),
    ),
    (
        "every neuron is on in every test",
        _every(lambda test: bool((test.read > 0).all())),
        frozenset({"no_activation", "b1_after_the_activation", "relu_hard_coded", "activation_on_the_input"}),
    ),
    ("act is ReLU in every test", _every(lambda test: test.act == "relu"), frozenset({"relu_hard_coded"})),
    (
        "no neuron goes beyond 6",
        _every(lambda test: bool((ACTIVATIONS[test.act](test.read) <= 6).all())),
        frozenset({"capped_at_six"}),
    ),
    (
        "d_model and d_ff are 1 in every test",
        _every(lambda test: test.tensors["W1"].numel() == 1),
        frozenset({"weights_transposed", "column_vectors", "star_instead_of_at"}),
    ),
    (
        "x is a list of tokens, or a batch, in every test",
        _every(lambda test: test.tensors["x"].dim() > 1),
        frozenset({"two_dimensions_asked", "flattened", "matrices_only"}),
    ),
    (
        "the dtype is float32 in every test",
        _every(lambda test: test.dtype == torch.float32),
        frozenset({"turned_into_float32"}),
    ),
    (
        "no test looks at the gradient",
        _every(lambda test: "gradient" not in test.look),
        frozenset({"cut_off_from_the_graph", "numpy_array"}),
    ),
    ("no test looks at x afterwards", _every(lambda test: "x" not in test.look), frozenset({"x_overwritten"})),
    (
        "x is in order in every test",
        _every(lambda test: not test.turned),
        frozenset({"view_instead_of_reshape"}),
    ),
    (
        "no batch that is turned is 2 by 2 or larger",
        lambda suite: True,
        frozenset({"view_instead_of_reshape"}),
    ),
)


def why(suite: Suite, missed: Collection[str]) -> str:
    """Why one of the boxes slips through; empty where none does."""
    for text, holds, boxes in REASONS:
        if (missed if not boxes else boxes & set(missed)) and holds(suite):
            return text
    return "their numbers happen to give the right answer" if missed else ""


def report(answer: Any, exercise: str = "ffn_forward") -> str:
    """What a suite catches, in words, with the numbers of the boxes on the board."""
    boxes = closed_boxes.load(exercise)
    if answer is ...:
        return "There is no suite yet."
    try:
        suite = read_suite(answer)
    except NotAsAsked as error:
        return f"This is no suite yet: {error}."
    by_test = [caught([test], boxes) for test in suite]
    names = set().union(*by_test)
    lines = [
        f"{plural(len(suite), 'test')} with {plural(cost(suite), 'number')}: {len(names)} of {len(boxes.wrong)} boxes are caught."
    ]
    if len(suite) > 1:
        lines += [_row(n, test, mine, by_test) for n, (test, mine) in enumerate(zip(suite, by_test, strict=True), 1)]
    left = still_closed(names, boxes)
    return "\n".join([*lines, f"Still closed: {', '.join(left)}."] if left else lines)


def _row(n: int, test: Test, mine: set[str], by_test: Sequence[set[str]]) -> str:
    """What one test is worth: what it costs, what it catches, and what nothing else catches."""
    alone = sum(sum(name in names for names in by_test) == 1 for name in mine)
    return f"  test {n}: {plural(test.cost, 'number')}, {plural(len(mine), 'box', 'boxes')}, {alone or 'none'} of them caught by no other test"
