"""Closed boxes from a key: what each known mistake does, as a line of stations that is found by trying.

A mistake is the right line with a station or two changed, mostly. So lines are tried in the order of how much they differ from it, until one does the same
as the mistake on every trial: other shapes, other activations, other dtypes, memory out of order. How the mistake is typed does not matter.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from autograder import keys, source_hash
from autograder.errors import UserError
from autograder.files import replace as replace_file
from autograder.keys.key import Answer, Key
from ffnlab.course import closed_boxes
from ffnlab.course.boards.catch import LARGEST
from ffnlab.course.closed_boxes import ACTIVATIONS, Boxes, ClosedBox

RIGHT_LINES = {"ffn_forward": ("@ W1", "+ b1", "act", "@ W2", "+ b2")}
DIGITS = 9

Line = tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """Inputs on which a mistake and a line have to do the same."""

    tensors: dict[str, torch.Tensor]
    act: str

    def observe(self, answer: Callable[..., Any]) -> tuple[Any, ...]:
        """What is seen of an answer: what comes back, x afterwards, and whether a gradient could flow. Plain data, rounded."""
        leaves = {
            name: tensor.detach().clone(memory_format=torch.preserve_format) for name, tensor in self.tensors.items()
        }
        before = leaves["x"].clone()
        for name in leaves:
            if name != "x":
                leaves[name].requires_grad_()
        try:
            output = answer(*leaves.values(), ACTIVATIONS[self.act])
        except Exception:
            output = RuntimeError()
        return (*describe(output), torch.equal(leaves["x"], before))


def describe(output: Any) -> tuple[Any, ...]:
    """An answer as plain data that can be compared: its kind, dtype, shape and numbers."""
    if isinstance(output, torch.Tensor):
        numbers = tuple(round(number, DIGITS) + 0.0 for number in output.detach().double().flatten().tolist())
        return ("tensor", str(output.dtype), tuple(output.shape), output.requires_grad, numbers)
    if hasattr(output, "dtype"):
        return ("array", *describe(torch.from_numpy(output))[1:])
    return ("error" if isinstance(output, Exception) else "pair" if isinstance(output, tuple) else "nothing",)


def trials(count: int = 400, seed: int = 2) -> list[Trial]:
    """Inputs of every kind that the board and the exercise know; whole numbers, so that no rounding depends on the order of a sum."""
    random_numbers = random.Random(seed)
    made = []
    for n in range(count):
        rank, d, d_ff = n % 3 + 1, random_numbers.choice((1, 1, 2, 3)), random_numbers.choice((1, 1, 2, 3))
        shape = [random_numbers.choice((1, 2, 2, 3)) for _ in range(rank - 1)] + [d]
        sizes = {"x": shape, "W1": [d, d_ff], "b1": [d_ff], "W2": [d_ff, d], "b2": [d]}
        dtype = torch.float32 if n % 5 == 4 else torch.float64
        tensors = {
            name: torch.tensor(
                [random_numbers.randint(-3, 3) for _ in range(torch.Size(size).numel())], dtype=dtype
            ).reshape(size)
            for name, size in sizes.items()
        }
        exact = ("relu", "abs", "square") if dtype == torch.float32 else tuple(ACTIVATIONS)
        act = random_numbers.choice(exact) if n % 2 else "relu"
        if n % 7 == 3 and dtype == torch.float64 and act in ("relu", "abs"):
            tensors["x"] = tensors["x"] * 20_000_001  # beyond what float32 counts, and exact in float64
        if n % 4 == 1 and rank == 3:
            tensors["x"] = tensors["x"].transpose(0, 1).contiguous().transpose(0, 1)
        made.append(Trial(tensors, act))
    return made


def edits(line: Line) -> Iterator[Line]:
    """All lines with one station dropped, replaced or put in, or two exchanged. What looks at x alone comes first of all."""
    for place in range(len(line)):
        yield line[:place] + line[place + 1 :]
    for station in closed_boxes.LOOK_AT_X:
        yield (station, *line)
    for station, place in itertools.product(closed_boxes.STATIONS, reversed(range(len(line) + 1))):
        yield (*line[:place], station, *line[place:])
    for station, place in itertools.product(closed_boxes.STATIONS, range(len(line))):
        yield (*line[:place], station, *line[place + 1 :])
    for i, j in itertools.combinations(range(len(line)), 2):
        changed = list(line)
        changed[i], changed[j] = changed[j], changed[i]
        yield tuple(changed)


def candidates(right: Line) -> Iterator[Line]:
    """Lines, the least changed ones first."""
    seen = {right}
    yield right
    first = [line for line in dict.fromkeys(edits(right)) if line not in seen]
    seen.update(first)
    yield from first
    for line in first:
        for twice in edits(line):
            if twice not in seen:
                seen.add(twice)
                yield twice


def as_answer(line: Line) -> Callable[..., Any]:
    """A line as a function that is called as the exercise's answer is."""

    def answer(x: Any, W1: Any, b1: Any, W2: Any, b2: Any, act: closed_boxes.Activation) -> Any:
        output = closed_boxes.run(line, {"x": x, "W1": W1, "b1": b1, "W2": W2, "b2": b2}, act)
        if isinstance(output, Exception):
            raise output
        return output

    return answer


def find_lines(key: Key, right: Line) -> dict[str, Line]:
    """By name, the line of each known mistake.

    Raises:
        UserError: no line does what a mistake does. Then the mistake needs a station of its own.
    """
    all_trials = trials()
    first_trials = all_trials[:6]
    waiting: dict[tuple[Any, ...], list[Answer]] = {}
    for mistake in key.mistakes:
        if not mistake.form_of:
            waiting.setdefault(tuple(trial.observe(mistake.answer) for trial in first_trials), []).append(mistake)
    found: dict[str, Line] = {}
    for line in candidates(right):
        answer = as_answer(line)
        alike = waiting.get(tuple(trial.observe(answer) for trial in first_trials), [])
        for mistake in list(alike):
            if all(trial.observe(answer) == trial.observe(mistake.answer) for trial in all_trials):
                found[mistake.name] = line
                alike.remove(mistake)
        if not any(waiting.values()):
            return found
    lost = ", ".join(mistake.name for group in waiting.values() for mistake in group)
    raise UserError(f"no line of stations does what {lost} does: it needs a station in ffnlab/course/closed_boxes.py")


# How boxes are called where the name of the mistake is too long or too technical for a lid
TITLES = {
    "activation_after_second_product": "activation too late",
    "activation_on_the_input": "activation too early",
    "b1_after_the_activation": "b1 too late",
    "b2_inside_the_activation": "activation twice",
    "biases_swapped": "biases swapped",
    "capped_at_six": "cut off at 6",
    "column_vectors": "W @ x",
    "cut_off_from_the_graph": "cuts the gradient",
    "flattened": "one long list",
    "gelu_hard_coded": "GELU built in",
    "hidden_layer_and_output": "returns two",
    "hidden_layer_returned": "stops halfway",
    "matrices_only": "torch.mm",
    "numpy_array": "NumPy array",
    "pythons_max": "Python’s max",
    "relu_hard_coded": "ReLU built in",
    "residual_added": "adds x",
    "star_instead_of_at": "* for @",
    "three_dimensions_taken_for_granted": "wants a batch",
    "turned_into_float32": "float32",
    "two_dimensions_asked": "wants a list",
    "view_instead_of_reshape": ".view",
    "weights_transposed": "W.T",
    "x_overwritten": "writes into x",
}


def title(name: str) -> str:
    """What is written on the lid of an open box."""
    return TITLES.get(name, name.replace("_", " "))


# What catches a box that always returns the right number


@dataclass(frozen=True)
class KindOfTest:
    """A kind of test that the dials are not: the smallest inputs with it, and what it looks at besides the answer."""

    trial: Trial
    look: Callable[[tuple[Any, ...]], Any] = lambda seen: answer_of(seen)


def _inputs(shape: tuple[int, ...], d_ff: int = 1, dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    d = shape[-1]
    sizes = {"x": shape, "W1": (d, d_ff), "b1": (d_ff,), "W2": (d_ff, d), "b2": (d,)}
    numbers = itertools.cycle((2.0, 3.0, -1.0, 1.0, -2.0))
    return {
        name: torch.tensor([next(numbers) for _ in range(torch.Size(size).numel())], dtype=dtype).reshape(size)
        for name, size in sizes.items()
    }


def _turned() -> dict[str, torch.Tensor]:
    tensors = _inputs((2, 2, 1))
    return tensors | {"x": tensors["x"].transpose(0, 1)}


def _dark() -> dict[str, torch.Tensor]:
    tensors = _inputs((1, 1))
    return tensors | {"b1": -7 * torch.ones(1, dtype=torch.float64)}


def kinds() -> dict[str, KindOfTest]:
    """By what the board calls it, the first that fits is named."""
    return {
        "Another activation": KindOfTest(Trial(_dark(), "abs")),
        "One token, without a list around it": KindOfTest(Trial(_inputs((1,)), "relu")),
        "Two neurons": KindOfTest(Trial(_inputs((1, 1), 2), "relu")),
        "float64, and a look at the dtype": KindOfTest(Trial(_inputs((1, 1)), "relu"), lambda seen: seen[1:2]),
        "A look at x afterwards": KindOfTest(Trial(_inputs((1, 1)), "relu"), lambda seen: seen[-1]),
        "A look at the gradient": KindOfTest(
            Trial(_inputs((1, 1)), "relu"), lambda seen: seen[0] == "tensor" and seen[3]
        ),
        "A batch whose memory is out of order": KindOfTest(Trial(_turned(), "relu")),
    }


def what_catches(mistake: Answer, truth: Answer) -> str:
    """The first kind of test that catches a mistake that no number catches.

    Raises:
        UserError: there is none.
    """
    for name, kind in kinds().items():
        if kind.look(kind.trial.observe(mistake.answer)) != kind.look(kind.trial.observe(truth.answer)):
            return name
    raise UserError(f"nothing that the board knows catches {mistake.name}: describe one more kind of test")


# The file


def dial_settings() -> list[Trial]:
    """Every setting of the board's dials: one token, one neuron, one number in each array."""
    numbers = range(-LARGEST, LARGEST + 1)
    return [
        Trial(
            {
                name: torch.full((1,) if name.startswith("b") else (1, 1), number, dtype=torch.float64)
                for name, number in zip(("x", "W1", "b1", "W2", "b2"), setting, strict=True)
            },
            "relu",
        )
        for setting in itertools.product(numbers, repeat=5)
    ]


def answer_of(seen: tuple[Any, ...]) -> Any:
    """Of what was seen, what came back: its shape and numbers, whatever holds them, or that there are none."""
    if seen[0] in ("tensor", "array"):
        return seen[2], seen[4]
    return seen[0]


def source_of(exercise: str) -> str:
    """A hash of the mistakes and of how lines are found."""
    key = keys.find(exercise)
    parts = [[answer.name, answer.message, answer.source, answer.form_of] for answer in key.mistakes]
    made_by = source_hash.combine(source_hash.hash_file(Path(file)) for file in (__file__, closed_boxes.__file__))
    return hashlib.sha256(json.dumps([parts, made_by]).encode()).hexdigest()[:16]


def make(exercise: str) -> Boxes:
    """The boxes of an exercise: its known mistakes and the right one, in an order that says nothing."""
    key, right = keys.find(exercise), RIGHT_LINES[exercise]
    boxes = [ClosedBox("", right, "the right one")]
    lines = find_lines(key, right)
    settings = dial_settings()
    right_answers = [answer_of(setting.observe(as_answer(right))) for setting in settings]

    def differs_at_the_dials(line: Line) -> bool:
        answers = (answer_of(setting.observe(as_answer(line))) for setting in settings)
        return any(answer != wanted for answer, wanted in zip(answers, right_answers, strict=True))

    for mistake in key.mistakes:
        if mistake.name in lines:
            line = lines[mistake.name]
            caught_by = "" if differs_at_the_dials(line) else what_catches(mistake, key.the_truth)
            boxes.append(ClosedBox(mistake.name, line, title(mistake.name), mistake.message, caught_by))
    return Boxes(source_of(exercise), tuple(sorted(boxes, key=_shuffled)))


def _shuffled(box: ClosedBox) -> str:
    return hashlib.sha256(f"box {box.name}".encode()).hexdigest()


def is_current(exercise: str) -> bool:
    """Whether the boxes were found from the key as it is."""
    try:
        return closed_boxes.load(exercise).source == source_of(exercise)
    except (OSError, KeyError, ValueError, TypeError):
        return False


def write(tell: Callable[[str], None] = lambda text: None) -> bool:
    """Find the boxes again whose key has changed. Returns whether there were any."""
    if all(is_current(exercise) for exercise in RIGHT_LINES):
        return False
    rows = {}
    for exercise in RIGHT_LINES:
        tell(f"{exercise}: looking for what its known mistakes do")
        boxes = make(exercise)
        rows[exercise] = {"source": boxes.source, "boxes": closed_boxes.pack(boxes)}
    replace_file(closed_boxes.FILE, json.dumps(rows, indent=1) + "\n")
    closed_boxes.load.cache_clear()
    return True
