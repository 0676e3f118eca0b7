"""The second board of notebook 10: the weights are held still while the order of the sentences changes, and the other way round."""

from __future__ import annotations

from pathlib import Path

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course.experiments import creek, orders

HERE = Path(__file__).parent
START = (1, 0)  # a row that has both outcomes, where the rule is not found


def grid(name: str = "orders") -> Board:
    """The board."""
    both = Flag(
        (
            "A drawing of the weights that finds the rule in some order is a good one, and stays ahead of a bad one in every order.",
            "The order of the sentences only decides how fast the rule is found.",
            "Two of the four runs share their weights, so they can't end in opposite ways.",
        ),
        right=-1,
        nudge="Go along one row, and note the orders in which the rule is found. Is there another row that finds it in some of the others?",
    )
    goals = (
        Goal(
            "order",
            "1 · Hold the weights still, and change the order alone until the rule is found.",
            after="The same weights and the same sentences: only their order has changed.",
        ),
        Goal(
            "weights",
            "2 · Hold that order still, and change the weights alone until the rule is lost.",
            after="The weights decide as well. So which of the two is to blame for a run that fails?",
        ),
        Goal(
            "both",
            "3 · Uncover two drawings of the weights in two orders, so that each finds the rule in one of the two, and not in the same.",
            after="For these two, neither the weights nor the order is good or bad by itself. It is an XOR, as over and into are.",
            flag=both,
        ),
    )
    title = "A square of 64 covered runs: eight drawings of the weights, each in eight orders of the sentences. One goes along a row or a column."
    data = {"way": orders.shares(), "threshold": creek.RULE_THRESHOLD, "start": START}
    seen = [START, (1, 1), (1, 3)]
    return Board(
        HERE / "orders.js", name, title, data, goals, HERE / "stills" / f"{name}.svg", {"at": (1, 3), "seen": seen}
    )


def count_nudged() -> int:
    """How many runs were made a second time, with one weight moved by a millionth."""
    return len(orders.nudged())


def count_turned() -> int:
    """How many of these found the rule where they had not before, or the other way round."""
    return sum((before >= creek.RULE_THRESHOLD) != (after >= creek.RULE_THRESHOLD) for before, after in orders.nudged())
