"""Closed boxes: wrong programs as lines of stations. The board “Catch them all” and the exercise `catch_mistakes` of notebook 02 ask them.

What each known mistake does is written as a line: x goes in at the left, each station makes something of what it gets, and what leaves the last one is
the answer. `autograder boxes` finds the lines by what the mistakes do and writes them into `closed_boxes.json`. Tests hold every line to its mistake.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

FILE = Path(__file__).with_suffix(".json")
NEAR = 1e-9  # a difference that rounding explains, in float64, as in `check`
NEAR_FLOAT32 = 1e-5

Tensors = Mapping[str, torch.Tensor]
Activation = Callable[[torch.Tensor], torch.Tensor]

# What a test can hand over as act, by its name.
ACTIVATIONS: dict[str, Activation] = {
    "relu": torch.relu,
    "abs": torch.abs,
    "square": torch.square,
    "tanh": torch.tanh,
}


@dataclass(frozen=True)
class ClosedBox:
    """One box. `name`: of the known mistake, empty for the right one. `line`: its stations. `title` and `message`: what an open box says.

    `caught_by`: what kind of test catches it where no number of the board does.
    """

    name: str
    line: tuple[str, ...]
    title: str = ""
    message: str = ""
    caught_by: str = ""


@dataclass(frozen=True)
class Boxes:
    """All boxes of an exercise, in the order of the board, and the hash of the key that they were found from."""

    source: str
    boxes: tuple[ClosedBox, ...] = field(default_factory=tuple)

    @property
    def right(self) -> ClosedBox:
        return next(box for box in self.boxes if not box.name)

    @property
    def wrong(self) -> tuple[ClosedBox, ...]:
        return tuple(box for box in self.boxes if box.name)


def pack(boxes: Boxes) -> str:
    """As text that says nothing to who looks at the file in passing: a name in it would spoil the hunt."""
    data = json.dumps([asdict(box) for box in boxes.boxes], ensure_ascii=False).encode()
    return base64.b64encode(zlib.compress(data, 9)).decode()


@cache
def load(exercise: str) -> Boxes:
    """The boxes of an exercise."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))[exercise]
    rows = json.loads(zlib.decompress(base64.b64decode(kept["boxes"])))
    return Boxes(kept["source"], tuple(ClosedBox(**row | {"line": tuple(row["line"])}) for row in rows))


# What stations do

Station = Callable[[Any, Tensors, Activation], Any]


class Stopped(Exception):
    """A station can't work with what it gets, as the code of the mistake can't."""


def _of_rank(allowed: Callable[[int], bool]) -> Station:
    def look(value: Any, tensors: Tensors, act: Activation) -> Any:
        if not allowed(tensors["x"].dim()):
            raise Stopped
        return value

    return look


def _in_order(value: Any, tensors: Tensors, act: Activation) -> Any:
    tensors["x"].view(-1, tensors["x"].shape[-1])
    return value


def _write_into_x(value: Any, tensors: Tensors, act: Activation) -> Any:
    tensors["x"].data.copy_(value)
    return value


def _pythons_max(value: Any, tensors: Tensors, act: Activation) -> Any:
    larger = max(0, value)
    if not isinstance(larger, torch.Tensor):
        raise Stopped
    return larger


STATIONS: dict[str, Station] = {
    **{f"@ {name}": lambda value, tensors, act, name=name: value @ tensors[name] for name in ("W1", "W2")},  # type: ignore[misc]
    **{f"+ {name}": lambda value, tensors, act, name=name: value + tensors[name] for name in ("b1", "b2", "x")},  # type: ignore[misc]
    "act": lambda value, tensors, act: act(value),
    "relu": lambda value, tensors, act: torch.relu(value),
    "gelu": lambda value, tensors, act: F.gelu(value),
    "max(0, …)": _pythons_max,
    "clamp(max=6)": lambda value, tensors, act: value.clamp(max=6),
    "mean(-2)": lambda value, tensors, act: value.mean(dim=-2),
    "squeeze()": lambda value, tensors, act: value.squeeze(),
    "reshape(-1, d)": lambda value, tensors, act: value.reshape(-1, value.shape[-1]),
    "float()": lambda value, tensors, act: value.float(),
    "no_grad()": lambda value, tensors, act: value.detach(),
    "numpy()": lambda value, tensors, act: value.detach().numpy(),
    "no return": lambda value, tensors, act: None,
    "return h, y": lambda value, tensors, act: (value, value),
    "x is overwritten": _write_into_x,
    "x.view": _in_order,
    "torch.mm": _of_rank(lambda rank: rank == 2),
    "B, T, d = x.shape": _of_rank(lambda rank: rank == 3),
    "for token in x": _of_rank(lambda rank: rank >= 2),
    **{f"@ {name}.T": lambda value, tensors, act, name=name: value @ tensors[name].T for name in ("W1", "W2")},  # type: ignore[misc]
    **{f"{name} @": lambda value, tensors, act, name=name: tensors[name] @ value for name in ("W1", "W2")},  # type: ignore[misc]
    **{f"* {name}": lambda value, tensors, act, name=name: value * tensors[name] for name in ("W1", "W2")},  # type: ignore[misc]
}

# These stop for some x, and else hand on what they get.
LOOK_AT_X = (
    "torch.mm",
    "B, T, d = x.shape",
    "for token in x",
    "x.view",
)


def run(line: tuple[str, ...], tensors: Tensors, act: Activation) -> Any:
    """What a box returns, or its exception. It may write into x."""
    value: Any = tensors["x"]
    try:
        for station in line:
            value = STATIONS[station](value, tensors, act)
    except Exception as error:  # a line stops where the code of its mistake does
        return error
    return value
