"""Two boards without an FFN: `stars()`, where weights of words are pulled until their mix is on a star, and `votes()`, where words vote for over or into."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ffnlab.boards import Board, Flag, Goal

HERE = Path(__file__).parent
NEAR = 0.09  # a mix that is no further away is on the star

Point = tuple[float, float]


class Level(NamedTuple):
    """Words as points of the plane, and the star that their mix should reach."""

    goal: str
    words: tuple[str, ...]
    points: tuple[Point, ...]  # of each word
    star: Point
    matrix: bool = False  # whether a matrix may move the words


THREE = ("creek", "cold", "dog")
TRIANGLE = ((-1.6, 1.3), (1.7, 0.9), (-0.2, -1.6))
LEVELS = (
    Level("inside", THREE, TRIANGLE, (-0.83, 0.59)),
    Level("outside", THREE, TRIANGLE, (1.35, -0.75)),
    Level("few", (*THREE, "jump"), ((-1.7, 0.5), (-0.2, 1.7), (1.8, 0.2), (0.5, -1.6)), (0.19, -0.12)),
    Level("matrix", THREE, ((0.35, 0.3), (1.05, 0.25), (0.6, 0.9)), (-1.2, -1.35), matrix=True),
)

GOALS = (
    Goal(
        "inside",
        "Level 1. Pull the faders until the dot is on the star.",
        record=2,
        unit="pulls",
        flag=Flag(
            (
                "Each fader also moves the other two, so no two numbers can be right together.",
                "The star is on no line between two words, and a mix of three is always near the middle.",
                "The weights sum to 1, so the dot is always as far from the middle as at the start.",
            ),
            right=-1,
            nudge="Pull one fader from end to end. On what line does the dot move?",
        ),
    ),
    Goal(
        "outside",
        "Level 2. Reach this star as well.",
        flag=Flag(
            (
                "The faders go in steps of one percent, and this star needs a finer step.",
                "No weight is below 0 and they sum to 1, so the mix is an average of the three points.",
                "Two numbers have to be right, and three faders that depend on each other have only one.",
            ),
            right=1,
            why="An average of three points never leaves their triangle. With more words the triangle becomes their convex hull, the smallest "
            "shape without dents that has all of them in it. That is a theorem, for vectors of any length.",
            nudge="Pull one fader from end to end. On what line does the dot move, and where does that line end?",
        ),
    ),
    Goal(
        "few",
        "Level 3. Four words. Reach the star with as few of them as you can.",
        record=2,
        unit="words",
        after="The star of level 3 is on the straight line from cold to jump, so two words are enough. In the plane no star that can be reached needs more "
        "than three.",
        flag=Flag(
            (
                "A mix of four words has a part of each, however small.",
                "The star is inside the four words, and only points on their edge can be reached.",
                "Three weights are free and a point of the plane has two numbers, so the weights have to miss it.",
            ),
            right=-1,
            nudge="Pull the fader of one word down to 0 %. In what shape are the mixes of the other three?",
        ),
    ),
    Goal(
        "matrix",
        "Level 4. A star far out, and a matrix that moves all words at once.",
        after="The matrix turns and stretches all words, and their triangle goes along. The dot is still inside it. In attention this matrix "
        "is called W_V, and every word goes through the same one.",
        flag=Flag(
            (
                "This star is further from the middle than any word.",
                "No weight is below 0 and they sum to 1, so the dot stays in the triangle.",
                "A matrix can turn the words, but it can't bring them nearer to a star.",
            ),
            right=-1,
            nudge="The dot stays in the triangle. Does the triangle stay where it is?",
        ),
    ),
)


def stars(name: str = "desk_stars") -> Board:
    """Four levels of the mixing desk."""
    title = "A mixing desk: a fader for the weight of each word moves the mix of the words, a dot in the plane, towards a star."
    data = {"near": NEAR, "levels": [level._asdict() for level in LEVELS]}
    return Board(HERE / "desk.js", name, title, data, GOALS, HERE / "stills" / f"{name}.svg")


PLACES, WEATHERS = ("creek", "lawn"), ("cold", "warm")
MAX_VOTE = 10  # the largest vote
VOTE_GOALS = (
    Goal("three", "Give each of the four words a vote. Get three sentences right."),
    Goal(
        "four",
        "Now get all four right.",
        flag=Flag(
            (
                "Four sentences need four votes of their own, and each word has to share its vote with the others.",
                "A mix of two votes is never larger than the larger of them.",
                "The two sentences that go over and the two that go into are made of the same four words.",
            ),
            right=2,
            why="A warm creek and a cold lawn use each of the four words once. So do a cold creek and a warm lawn. Whatever the votes are, both pairs "
            "have the same total. One total can't be above 0 for the first pair and below 0 for the second.",
            nudge="Get three right, and then read aloud which words the wrong sentence shares with the others.",
        ),
    ),
)


def votes(name: str = "desk_votes") -> Board:
    """Four words vote, each with one number, and each of four sentences says what the mix of its two words says."""
    title = "Four words with a vote each, and four sentences of two words. The mix of two votes says over or into."
    data: dict[str, Any] = {"places": PLACES, "weathers": WEATHERS, "most": MAX_VOTE}
    return Board(HERE / "votes.js", name, title, data, VOTE_GOALS, HERE / "stills" / f"{name}.svg")
