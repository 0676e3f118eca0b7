"""The levels of notebook 03: a wire that should stay inside a ribbon, or the reason why it can't.

A hand sets the neurons in `straight`, `kinks` and `arch`. The reader's own functions play in `thousandth` and `beat`. `ever` has no end, `folds` shows a
deep network layer by layer, and in `learn` and `wake` gradient descent moves one neuron.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course.exercises.activations import WITHIN, layers_of

Build = Callable[..., Sequence[torch.Tensor]]

HERE = Path(__file__).parent


def _neurons(*neurons: tuple[float, float, int]) -> list[dict[str, float]]:
    """Neurons from their kink, their strength and the side on which they slope."""
    return [{"k": kink, "v": strength, "s": side} for kink, strength, side in neurons]


def _level(
    name: str,
    title: str,
    target: Any,
    half: float,
    neurons: list[dict[str, float]],
    *,
    c: float,
    x: tuple[float, float] = (-2.0, 2.0),
    y: tuple[float, float] = (-0.6, 2.6),
    snap: float = 0.25,
    most: float = 3.0,
    reach: float = 0.55,
    bend: bool = True,
    counts: bool = False,
) -> dict[str, Any]:
    """One level as data for wire.js.

    target: the corners of a line, or "square". half: of the ribbon's width. c: the height of the wire at the start. snap: what a hand's numbers are
    multiples of. most: the largest strength. reach: how far from its kink a neuron's knob is. counts: whether the goal says how many neurons were used.
    """
    return {
        "name": name,
        "title": title,
        "target": target,
        "half": half,
        "x": x,
        "y": y,
        "snap": snap,
        "most": most,
        "reach": reach,
        "bend": bend,
        "counts": counts,
        "start": {"c": c, "neurons": neurons},
    }


VALLEY = {"x": [-2, 0, 2], "y": [2, 0, 2]}
TENT = {"x": [-2, -1, 0, 1, 2], "y": [0, 0, 1.5, 0, 0]}
ZIGZAG = {"x": [-2, -1.2, -0.4, 0.4, 1.2, 2], "y": [0, 1.5, 0, 1.5, 0, 1.5]}

STRAIGHT = _level(
    "straight",
    "The valley",
    VALLEY,
    0.2,
    _neurons((-1, 0.5, 1), (0, -0.75, 1), (1, 0.75, 1)),
    c=0.75,
    bend=False,
)
KINKS = (
    _level("valley", "1 · The valley", VALLEY, 0.2, _neurons((-1.5, 0.5, 1), (0.75, 0.75, 1)), c=0.5),
    _level(
        "tent",
        "2 · The tent",
        TENT,
        0.15,
        _neurons((-1.5, 1, 1), (-0.5, -0.5, 1), (0.5, -0.5, 1)),
        c=0.25,
        y=(-0.6, 2.2),
        most=3.5,
        reach=0.45,
    ),
    _level(
        "zigzag",
        "3 · The zigzag",
        ZIGZAG,
        0.25,
        _neurons((-2, 1.5, 1), (-1.2, -3, 1), (-0.4, 2.5, 1)),
        c=0.0,
        y=(-0.6, 2.2),
        snap=0.1,
        most=4.0,
        reach=0.4,
    ),
)
ARCH = _level(
    "arch",
    "The bowl",
    "square",
    0.075,
    _neurons((-1, -1, 1), (-0.6, 0.5, 1), (0.2, 0.5, 1), (0.6, 0.5, 1)),
    c=1.0,
    x=(-1.0, 1.0),
    y=(-0.25, 1.25),
    snap=0.05,
    reach=0.25,
    counts=True,
)


def _board(
    kind: str, name: str, title: str, data: dict[str, Any], *goals: Goal, **answers: Callable[[Any], Any]
) -> Board:
    still = HERE / "stills" / f"{name}.svg"
    return Board(HERE / "wire.js", name, title, {"kind": kind, **data}, goals, still, answers=answers)


def straight(name: str = "wire_straight") -> Board:
    """The valley with three neurons and no activation."""
    flag = Flag(
        (
            "Three lines are too few. With more of them it could be done.",
            "However many lines you add up, the sum is a line.",
            "The knobs move in steps that are too coarse. With finer numbers it could be done.",
        ),
        right=1,
        why="A line plus a line is a line, and a line has no valley. At both ends the ribbon asks for 1.8 or more. A line that is so high at both ends is as "
        "high at x = 0, and there the ribbon ends at 0.2.",
        nudge="Imagine thirty lines instead of three. What is their sum?",
    )
    goal = Goal("straight", "Keep the wire inside the ribbon, from end to end.", flag=flag)
    title = (
        "Three straight lines are added up to a wire, which should stay inside a ribbon that has the shape of a valley."
    )
    return _board("hand", name, title, {"levels": (STRAIGHT,)}, goal)


def kinks(name: str = "wire_kinks") -> Board:
    """Valley, tent and zigzag, with two and three ReLU neurons."""
    flag = Flag(
        (
            "The zigzag rises at both of its ends, and a neuron is flat on one side.",
            "The wire has to turn back four times, and three neurons give it three kinks at most.",
            "The steepest part of the ribbon is steeper than any neuron here.",
        ),
        right=1,
        why="Inside this ribbon every wire goes up, down, up, down and up. It turns back four times, and it can turn only at a kink. "
        "Three neurons have three kinks.",
        nudge="One neuron is steep enough, and two can rise at both ends. Follow the ribbon with a finger: what does the finger do at each corner?",
    )
    goals = (
        Goal(
            "valley",
            "1 · Keep the wire in the valley.",
            after="At x = 0 the slope changes from −1 to 1, and neither of the two is 0. A single neuron is flat on one side of its kink.",
        ),
        Goal(
            "tent",
            "2 · Keep it in the tent.",
            after="From left to right the slopes are 0, 1.5, −1.5 and 0. The neurons hold the differences.",
        ),
        Goal("zigzag", "3 · Keep it in the zigzag.", flag=flag),
    )
    title = "Two or three ReLU neurons are added up to a wire, which should stay inside a ribbon: a valley, a tent, a zigzag."
    return _board("hand", name, title, {"levels": KINKS}, *goals)


def arch(name: str = "wire_arch") -> Board:
    """x² from -1 to 1, with up to four ReLU neurons."""
    goal = Goal(
        "arch",
        "Keep the wire in the bowl, with as few neurons as you can. A neuron of strength 0 is not used.",
        after="Two neurons make three straight pieces. One neuron makes two, and no two straight pieces come nearer to this bowl than 0.125.",
        record=2,
        unit="neurons",
    )
    title = "Up to four ReLU neurons are added up to a wire, which should stay inside a ribbon around x²."
    return _board("hand", name, title, {"levels": (ARCH,)}, goal)


# The reader's own functions


def network(result: Any) -> dict[str, Any]:
    """What a reader's function returned, as data for wire_model.js.

    result: W1 [1, m], b1 [m], W2 [m, 1], b2 [1].

    Raises:
        ValueError: it is something else.
    """
    try:
        parts = [torch.as_tensor(part).detach().double() for part in result]
    except Exception:
        raise ValueError("It should return four tensors.") from None
    if len(parts) != 4:
        raise ValueError(f"It should return four tensors, not {len(parts)}.")
    m = parts[1].numel()
    for name, part, shape in zip(("W1", "b1", "W2", "b2"), parts, ([1, m], [m], [m, 1], [1]), strict=True):
        if list(part.shape) != shape:
            raise ValueError(f"{name} has shape {list(part.shape)}. With {m} neurons it should be {shape}.")
        if not bool(torch.isfinite(part).all()):
            raise ValueError(f"{name} has a number that is not finite.")
    w, b, v, c = (part.flatten().tolist() for part in parts)
    neurons = [j for j in range(m) if w[j]]  # a neuron with w = 0 is a constant
    constant = c[0] + sum(v[j] * max(b[j], 0.0) for j in range(m) if not w[j])
    return {"w": [w[j] for j in neurons], "b": [b[j] for j in neurons], "v": [v[j] for j in neurons], "c": constant}


def _is_written(build: Build, *example: Any) -> bool:
    """Whether a reader's function has been written; one that raises something else has."""
    try:
        build(*example)
    except NotImplementedError:
        return False
    except Exception:
        return True
    return True


def thousandth(relu_interpolant: Build, name: str = "wire_thousandth") -> Board:
    """x² within a thousandth, played by the reader's function; by the board, until that is written."""
    goal = Goal(
        "thousandth",
        "Stay within 0.001 of x², with as few pieces as you can.",
        after="With its corners on the curve it takes 32 pieces. But that wire is never too low, so a lowered one needs fewer.",
        record=23,
        unit="pieces",
    )
    title = "A network with n equal pieces follows x², and below it is how far it is off."

    def answer(question: Any) -> dict[str, Any]:
        return network(relu_interpolant(question["n"], -1.0, 1.0))

    data: dict[str, Any] = {"mode": "square", "half": 0.001, "asks": _is_written(relu_interpolant, 2, -1.0, 1.0)}
    if data["asks"]:
        try:
            data["first"] = {"net": answer({"n": 4})}
        except Exception as error:  # the reader's own function may do anything
            data["first"] = {"error": f"{type(error).__name__}: {error}"}
    return _board("follow", name, title, data, goal, network=answer)


BILL = 100  # neurons


def beat(curve_interpolant: Build, name: str = "wire_beat") -> Board:
    """A hand draws a curve, and the reader's function follows; the board does, until that is written."""
    flag = Flag(
        (
            "The function has seen the curve, so it can copy its formula.",
            "A neuron can be as strong as you like, so the wire can jump.",
            "Cut finely enough, the curve hardly changes within a piece, and so the wire can't be far from it.",
        ),
        right=2,
        why="You have lost, and your defeat is a theorem.",
        nudge="Choose a wide ribbon and look at a single piece. Where are its two ends, and what does the curve do between them?",
    )
    goals = (
        Goal(
            "bill",
            f"Draw a curve of your own that costs it {BILL} neurons or more. A ready-made one does not count.",
            after="All its pieces are equally long, so the place that is hardest to follow sets the length for all of them.",
        ),
        Goal("beat", "Draw a curve that no number of neurons can follow. Do not lift the pen.", flag=flag),
    )
    title = "A curve that a hand draws, and a ReLU network that follows it with as many pieces as it needs."
    data = {"mode": "draw", "bill": BILL, "asks": _is_written(curve_interpolant, torch.zeros(3), -1.0, 1.0)}

    def answer(question: Any) -> dict[str, Any]:
        return network(curve_interpolant(torch.tensor(question["heights"], dtype=torch.float64), -1.0, 1.0))

    return _board("follow", name, title, data, *goals, network=answer)


def ever(name: str = "wire_ever") -> Board:
    """x² within 1, from end to end of the whole line."""
    flag = Flag(
        (
            "It would take weights that are larger than a computer can hold.",
            "ReLU is flat on one side, so the wire has to be flat on one side, too.",
            "After its last kink the wire is straight, and x² leaves every straight line.",
        ),
        right=2,
        why="However many neurons there are, one kink is the last. Right of it the wire is one straight line, and x² bends away from it.",
        nudge="Widen the view. Then move the kinks outwards, and look at the same place again.",
    )
    goal = Goal(
        "ever",
        "Stay within 1 of x², for every x there is. The sliders end somewhere; imagine that they do not.",
        flag=flag,
    )
    title = "A network follows x² between its first and its last kink. The view can be widened."
    return _board("follow", name, title, {"mode": "ever"}, goal)


# Deep networks

TENTS = 3
DEEP_RECORD = 9  # neurons: |x|, then three pieces, then four, and the wire is lowered by half of its gap


def tents(count: int) -> list[dict[str, Any]]:
    """The layers of |x| and `count` tents behind it, each of the one before."""
    layers: list[dict[str, Any]] = [{"W": [[1.0, -1.0]], "b": [0.0, 0.0]}]
    tent = [1.0, 1.0]  # how the tent so far is read off two neurons
    for _ in range(count):
        layers.append({"W": [[weight, weight] for weight in tent], "b": [0.0, -0.5]})
        tent = [2.0, -4.0]
    return [*layers, {"W": [[weight] for weight in tent], "b": [0.0]}]


def folds(own: Callable[[], Any], name: str = "wire_folds") -> Board:
    """|x| and tents, layer by layer, and the reader's own deep network.

    own: what the reader's name stands for when it is asked for.
    """
    goals = (
        Goal(
            "folds",
            "Walk through the tents to the fourth layer. How do its kinks grow?",
            after="1, 3, 7 and 15 kinks make 2, 4, 8 and 16 pieces. Each layer doubles the pieces, with two neurons.",
        ),
        Goal(
            "deep",
            "Show your own network: within 0.001 of x², with as few neurons as you can.",
            after="Every layer after a fold acts on both halves at once. So pieces double from layer to layer, while neurons only add up. One neuron of a "
            "layer carries the sum on. In a Transformer the residual connection does that, and needs no neuron.",
            record=DEEP_RECORD,
            unit="neurons",
        ),
    )
    title = "A deep ReLU network, layer by layer: what each of its neurons makes of the numbers from −1 to 1."

    def answer(_: Any) -> list[dict[str, Any]]:
        try:
            found = own()
        except NameError:
            raise ValueError("Python does not know `deep_square` yet. Run its cell, then press again.") from None
        if found is ...:
            raise ValueError("Your cell still says `deep_square = ...`.")
        return [{"W": W.tolist(), "b": b.tolist()} for W, b in layers_of(found)]

    return _board(
        "layers", name, title, {"tents": tents(TENTS), "fold": tents(0), "half": WITHIN}, *goals, network=answer
    )


# Gradient descent

FIRST, SILENT_NEURONS = {"w": 0.6, "b": 1.2}, ({"w": 0.3, "b": -1.2}, {"w": 0.3, "b": -9.0})


def learn(name: str = "wire_learn") -> Board:
    """One ReLU neuron that learns, dies and is not woken."""
    flag = Flag(
        (
            "Even the largest learning rate here is too small to bring it back.",
            "Its sum is below zero at every dot. There ReLU has slope 0, so the gradient is 0, and any rate times 0 is 0.",
            "Its weight w has become 0, so it no longer reads x.",
        ),
        right=1,
        why="A step that is too large kills it, and ReLU's slope of 0 keeps it dead.",
        nudge="Look at both gradients while you press.",
    )
    goals = (
        Goal(
            "fit",
            "Bring the wire into the ribbon at all 17 dots.",
            after="Small steps have brought the wire into the ribbon.",
        ),
        Goal(
            "kill",
            "Take a new neuron. Kill it with a single step: its sum is not above zero at any dot.",
            after="One large step has thrown its kink beyond the dots.",
        ),
        Goal("wake", "Wake the dead neuron. Use any learning rate, and as many steps as you like.", flag=flag),
    )
    title = "One ReLU neuron learns seventeen dots by gradient descent, with a learning rate that can be chosen."
    return _board("descent", name, title, {"acts": ["ReLU"], "rate": 0.4, "starts": [FIRST]}, *goals)


def wake(name: str = "wire_wake") -> Board:
    """A neuron whose sum is below zero at every dot, with three activations."""
    goals = (
        Goal(
            "soft",
            "This neuron's sum is below zero at every dot. Bring the wire into the ribbon at all 17 dots.",
            after="From b = −1.2 a slope that is not 0 was enough.",
        ),
        Goal(
            "lost",
            "Take GELU from b = −1.2 again, and lose it: choose a learning rate with which its sum is below zero at every dot after 100 steps or more.",
            after="It woke, was thrown over by its own step, and fell silent for good.",
        ),
        Goal(
            "buried",
            "Take GELU or SiLU, start at b = −9, and take a thousand steps.",
            after="A thousand steps have not brought it back.",
        ),
    )
    title = "A neuron whose sum is below zero at every dot learns by gradient descent, with ReLU, GELU or SiLU."
    data = {"acts": ["ReLU", "GELU", "SiLU"], "rate": 0.4, "starts": list(SILENT_NEURONS)}
    return _board("descent", name, title, data, *goals)
