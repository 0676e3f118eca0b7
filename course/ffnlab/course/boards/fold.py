"""The plane of two features, pressed by a ReLU layer of two neurons and cut once, as a board. It is called fold for short.

`fold.xor()` has a network that does not solve XOR yet, and goals; `fold.play(W1, b1, W2, b2)` shows the reader's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ffnlab.boards import Board, Flag, Goal
from ffnlab.phrases import plural

HERE = Path(__file__).parent

MAX_NEURONS = 64  # neurons that can be drawn
Numbers = torch.Tensor | Sequence[Any]

GOALS = (
    Goal(
        "four",
        "Press the sheet and cut it. Then move the kinks and the knife until 4 of 4 are right.",
        after="No straight cut of the plane does this. One straight cut of the pressed plane does.",
    ),
    Goal(
        "away",
        "Now move one kink away: all four balls on the same side of it, with some room between. Get 4 of 4 again.",
        after="That neuron fires at all four balls, so it presses none of them. It still adds a slope, and then one kink is enough.",
        flag=Flag(
            (
                "A neuron whose kink passes between no balls does nothing.",
                "One neuron has one kink, and XOR needs two.",
                "A cut that turns at one kink only is straight between the balls.",
            ),
            right=-1,
            nudge="Turn the arrow of that kink round, and look at the pressed sheet again.",
        ),
    ),
    Goal(
        "single",
        "Now turn one kink upright and the other level. Get 4 of 4 again.",
        flag=Flag(
            (
                "Kinks at a right angle cut the sheet into four pieces, and two neurons can make only three.",
                "Each neuron then sees only one input, so the outputs at the two teal balls and at the two orange ones have the same sum.",
                "The knife is straight, and no straight line parts these balls, however the sheet is pressed.",
            ),
            right=1,
            why="The output is then u(a) + v(b). At the teal balls it adds up to u(0) + u(1) + v(0) + v(1), and at the orange ones to the same. "
            "So it can't be above ½ at both teal ones and not at the orange ones. On the pressed sheet the balls are still the corners of a rectangle. "
            "To solve XOR, a neuron has to mix the inputs.",
            nudge="Turn them so, and look where the four balls are when the sheet is pressed.",
        ),
    ),
)

OWN_GOALS = (
    Goal(
        "few",
        "Cut your own sheet, with the kinks where you wrote them. How few numbers that are not 0 does it take?",
        record=6,
        unit="numbers",
    ),
)

# A network that gets XOR wrong: no straight cut helps before a kink is moved.
START = ([[0.87, 0.17], [0.5, -0.98]], [-0.26, 0.65], [0.8, 0.5], [-0.13])


def _array(name: str, value: Numbers, shape: str) -> torch.Tensor:
    try:
        tensor = torch.as_tensor(value).detach().cpu().double()
    except Exception:
        raise ValueError(f"{name} is not an array of numbers; {shape} was expected") from None
    if not bool(torch.isfinite(tensor).all()):
        raise ValueError(f"{name} has a number that is not finite")
    return tensor


def network(W1: Numbers, b1: Numbers, W2: Numbers, b2: Numbers | float) -> dict[str, Any]:
    """The network relu(x @ W1 + b1) @ W2 + b2 as data for fold_model.js.

    W1: [2, H]. b1: [H]. W2: [H, 1] or [H]. b2: [1], or a number.

    Raises:
        ValueError: a shape is another, or a number is not finite.
    """
    first = _array("W1", W1, "[2, H]")
    if first.ndim != 2 or len(first) != 2 or not 1 <= first.shape[1] <= MAX_NEURONS:
        raise ValueError(f"W1 has shape {list(first.shape)}; [2, H] with H from 1 to {MAX_NEURONS} was expected")
    units = first.shape[1]
    bias = _array("b1", b1, f"[{units}]")
    if bias.shape != (units,):
        raise ValueError(f"b1 has shape {list(bias.shape)}; [{units}] was expected, as W1 has {units} columns")
    second = _array("W2", W2, f"[{units}, 1]")
    if second.shape not in ((units, 1), (units,)):
        raise ValueError(f"W2 has shape {list(second.shape)}; [{units}, 1] was expected, as W1 has {units} columns")
    last = _array("b2", [b2] if isinstance(b2, (int, float)) else b2, "[1]")
    if last.numel() != 1:
        raise ValueError(f"b2 has shape {list(last.shape)}; [1] was expected")
    return {"W1": first.tolist(), "b1": bias.tolist(), "W2": second.flatten().tolist(), "b2": last.item()}


def xor(name: str = "fold_xor") -> Board:
    """A network that does not solve XOR yet, with goals."""
    title = "A sheet with the four inputs of XOR, which two ReLU neurons press. One straight cut goes through the pressed sheet."
    return Board(HERE / "fold.js", name, title, {"net": network(*START)}, GOALS, HERE / "stills" / f"{name}.svg")


def network_board(W1: Numbers, b1: Numbers, W2: Numbers, b2: Numbers | float, name: str = "fold_own") -> Board:
    """What a network with two inputs makes of the plane; its output says 1 where it is above ½.

    With two neurons the sheet can be pressed. With another number the plane is shown with its kinks, and its points have the colour of the output.
    W1: [2, H]. b1: [H]. W2: [H, 1] or [H]. b2: [1], or a number.

    Raises:
        ValueError: a shape is another, or a number is not finite.
    """
    net = network(W1, b1, W2, b2)
    units = len(net["b1"])
    title = f"The plane of two inputs, and what a network with {plural(units, 'ReLU neuron')} makes of it."
    return Board(HERE / "fold.js", name, title, {"net": net}, OWN_GOALS if units == 2 else ())
