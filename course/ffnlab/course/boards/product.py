"""The board of notebook 07: two lines, gate and up, and the curve that is their product.

`straight` multiplies the lines as they are, with one neuron and then with two. `bent` sends the gate through an activation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course.boards.wire import VALLEY

HERE = Path(__file__).parent


def _neuron(gate: tuple[float, float], up: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """A neuron from the heights of its gate at x = −2 and 2, and of its up at x = −1 and 1."""
    return {"gate": gate, "up": up}


def _level(name: str, title: str, act: str, *neurons: dict[str, Any]) -> dict[str, Any]:
    """One level as data for product.js. act: none, relu, silu or sigmoid. One neuron is drawn into the large picture, two get a picture each."""
    is_valley = name in ("valley", "bent")
    tall = (-0.6, 2.8) if is_valley else (-3.6, 5.4) if len(neurons) == 1 else (-1.6, 5.4)
    return {
        "name": name,
        "title": title,
        "act": act,
        "target": VALLEY if is_valley else "square",
        "half": 0.2 if is_valley else 1,
        "ever": not is_valley,
        "y": tall,
        "start": neurons,
    }


STRAIGHT = (
    _level("ever", "1 · x² for ever", "none", _neuron((-1.0, 2.0), (1.0, -0.5))),
    _level("valley", "2 · The valley", "none", _neuron((-1.0, 1.0), (-0.5, 0.5)), _neuron((1.0, 1.0), (0.5, 0.25))),
)
BENT = (
    _level("bent", "1 · ReLU: the valley", "relu", _neuron((-1.0, 2.0), (0.5, 0.5)), _neuron((1.0, 0.0), (0.5, 1.0))),
    _level(
        "smooth", "2 · SiLU: x² for ever", "silu", _neuron((-1.0, 2.0), (-0.5, 1.0)), _neuron((2.0, 0.0), (0.5, -0.5))
    ),
    _level(
        "shut",
        "3 · sigmoid: x² for ever",
        "sigmoid",
        _neuron((-2.0, 2.0), (-1.0, 1.0)),
        _neuron((2.0, -2.0), (1.0, -1.0)),
    ),
)


def _board(name: str, title: str, levels: tuple[dict[str, Any], ...], *goals: Goal) -> Board:
    return Board(HERE / "product.js", name, title, {"levels": levels}, goals, HERE / "stills" / f"{name}.svg")


def straight(name: str = "product_straight") -> Board:
    """x² for ever with one neuron, and the valley with two; nothing is bent."""
    flag = Flag(
        (
            "Two neurons are too few. With more of them it could be done.",
            "However many products you add up, the sum is one parabola, and no parabola stays in this valley.",
            "The rings move in steps that are too coarse. With finer numbers it could be done.",
        ),
        right=1,
        why="Each product is a number times x², plus a number times x, plus a number. A sum of a thousand of them is again that. And no parabola stays in "
        "this valley: the last level of notebook 03 asked you for the proof.",
        nudge="Multiply two lines on paper. Then add the product of two others. What shape has the sum?",
    )
    goals = (
        Goal(
            "ever",
            "1 · Drag gate and up until their product stays within 1 of x², for every x there is.",
            after="One neuron, and nothing in it is bent. In notebook 03 no number of ReLU neurons could do this.",
            flag=Flag(
                (
                    "Both lines are straight, and straight lines make a straight line.",
                    "A product of two lines is zero at two places, and x² is zero at one.",
                    "However near the curve comes, it leaves the ribbon if one looks far enough.",
                ),
                right=-1,
                nudge="Where is the product zero? Drag both lines so that it is zero at one place only.",
            ),
        ),
        Goal("valley", "2 · Keep the sum of the two products in the valley, |x| ± 0.2.", flag=flag),
    )
    title = "The product of two straight lines, gate and up, is a curve that should stay inside a ribbon: around x² for ever, or in the shape of a valley."
    return _board(name, title, STRAIGHT, *goals)


def bent(name: str = "product_bent") -> Board:
    """The same with two neurons whose gates go through ReLU, SiLU or the sigmoid."""
    flag = Flag(
        (
            "A sigmoid is smooth, so the curve can't turn as sharply as x² does at 0.",
            "Two neurons are too few. With a third it could be done.",
            "Far out each gate is as good as 0 or 1. So the curve comes near a straight line there, and x² leaves every straight line.",
        ),
        right=2,
        why="A sigmoid gate lets through between nothing and all of up, and up is a straight line. Far out the gate has settled, and what is left is a sum of "
        "straight lines. So this curve ends as a ReLU network does.",
        nudge="Look as far as ±100. What is the largest number that a sigmoid can give?",
    )
    goals = (
        Goal(
            "bent",
            "1 · Both gates go through ReLU. Keep the sum in the valley.",
            after="A gate that is shut gives 0, exactly, so each side of the valley can have a neuron of its own.",
        ),
        Goal(
            "smooth",
            "2 · Both gates go through SiLU. Stay within 1 of x², for every x there is.",
            after="On the right one gate is open, on the left the other.",
            flag=Flag(
                (
                    "SiLU bends everywhere, and a sum of such curves is no parabola.",
                    "A gate that shuts on one side loses half of x².",
                    "SiLU comes near a straight line far out, and so does the sum.",
                ),
                right=-1,
                nudge="One gate is open on the right. Which gate is open just where that one is shut? And what should up do?",
            ),
        ),
        Goal("shut", "3 · Both gates go through the sigmoid. Stay within 1 of x², for every x there is.", flag=flag),
    )
    title = "Two gated neurons whose gates go through ReLU, SiLU or the sigmoid. The sum of their products should stay inside a ribbon."
    return _board(name, title, BENT, *goals)
