"""Catch them all: an exercise's known mistakes as closed boxes, as a board. A reader looks for numbers on which they answer wrongly."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from pathlib import Path

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course import closed_boxes

HERE = Path(__file__).parent
LARGEST = 3  # number of a dial


def catch_them_all(exercise: str = "ffn_forward") -> Board:
    """The known mistakes of an exercise and the right box, with one number in each array."""
    name = f"catch_{exercise}"
    boxes = closed_boxes.load(exercise)
    data = {
        "name": name,
        "exercise": exercise,
        "largest": LARGEST,
        # What is in a box is not to be read before it is opened, so not in the page's source either.
        "boxes": [base64.b64encode(json.dumps(asdict(box)).encode()).decode() for box in boxes.boxes],
    }
    title = (
        f"{len(boxes.boxes)} closed boxes that claim to be {exercise}. Five dials set the numbers, and the boxes "
        "that answer wrongly are marked."
    )
    return Board(HERE / "catch.js", name, title, data, _goals(boxes), HERE / "stills" / f"{name}.svg")


def counts(boxes: closed_boxes.Boxes) -> tuple[int, int]:
    """How many wrong boxes some number shows, and how many none does."""
    silent = sum(bool(box.caught_by) for box in boxes.wrong)
    return len(boxes.wrong) - silent, silent


def _goals(boxes: closed_boxes.Boxes) -> tuple[Goal, ...]:
    shown, silent = counts(boxes)
    return (
        Goal(
            "all",
            f"Catch {shown} boxes. With how few tests?",
            after=f"One test has the neuron off, and another drives it far on. Together they catch {shown}.",
            record=2,
            unit="tests",
        ),
        Goal(
            "best",
            f"Catch {shown - 1} with one test.",
            after="Every test that does it keeps the neuron dark: x·W1 is above zero, and b1 pulls the sum below it. So the right box says b2 and "
            "nothing else. Without b1, or with b1 too late, the neuron is on. Without the activation, a negative number gets through. Either way "
            "the box says something else than b2.",
            flag=Flag(
                (
                    "Some boxes show only while the neuron is on, and others only while it is off.",
                    "Numbers from −3 to 3 are too small to tell so many programs apart.",
                    "A test that catches so many would have to be without a zero, and then two of its numbers are equal.",
                ),
                right=-1,
                nudge="Compare a test in which the neuron is on with one in which it is off. Which of the two marks more boxes?",
            ),
        ),
        Goal(
            "at_once",
            f"Catch {shown} with one test.",
            flag=Flag(
                (
                    "The dials end at 3, and this takes a larger number.",
                    "One box is wrong only while the neuron is off, and another only while it is far on.",
                    "The two biases can’t both differ from zero and from each other.",
                ),
                right=1,
                why="Python’s max stops with an error where the neuron reads zero or less. The cut at 6 shows only where it reads more than 6. "
                "No number is both, so no single test catches these two.",
                nudge="Which boxes does your best test miss? Find out when they are marked.",
            ),
        ),
        Goal(
            "one_more",
            f"Catch {shown + 1} boxes.",
            flag=Flag(
                (
                    "The boxes that are left are all right.",
                    "There are 16,807 settings, too many for a hand, and one of them would do it.",
                    "With single numbers, the other boxes compute exactly what the right one computes.",
                ),
                right=2,
                why=f"{silent} wrong boxes are left, and they are silent at every setting. A matrix with one entry is its own transpose. With ReLU as the "
                "activation, a box that has ReLU built in does the right thing. To catch them, a test needs more than numbers: open the list above.",
                nudge="Think of a box that uses W1.T in place of W1. What does it compute here?",
            ),
        ),
    )
