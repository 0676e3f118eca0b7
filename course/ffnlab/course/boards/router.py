"""The boards of notebook 08: arrows, one for each expert, are the columns of a router, and a hand turns them.

`plane` sends the dots of a plane to experts that are fitted at once, and shows stored runs that learned to. `pairs` gives each token two experts.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course.experiments import plane as experiment

HERE = Path(__file__).parent
LENGTH = 2.6  # of the longest arrow of a run
Arrows = tuple[tuple[float, float], ...]


def _fan(count: int, first: float, step: float, far: float = 1.5) -> Arrows:
    """Arrows side by side: `first` and `step` in degrees."""
    turns = [math.radians(first + step * n) for n in range(count)]
    return tuple((round(far * math.cos(turn), 2), round(far * math.sin(turn), 2)) for turn in turns)


STARTS = {"six": _fan(6, 40, 14), "three": _fan(3, 70, 20), "between": _fan(2, 100, 160)}
TITLES = {
    "six": "1 · Six experts",
    "three": "2 · Three experts",
    "between": "3 · Two experts",
    "learn": "4 · Let it learn",
}
PAIRS = {
    "four": ("1 · Four experts", ((1.8, 1.2), (-1.6, 1.4), (-1.5, -1.5), (1.6, -1.3))),
    "five": ("2 · Five experts", _fan(5, 90, 72, 2.0)),
}


def _level(name: str) -> dict[str, Any]:
    """One level as data for router.js. The last one shows the dots of the first."""
    layout = "six" if name == "learn" else name
    dots, targets = experiment.level(layout)
    return {
        "name": name,
        "title": TITLES[name],
        "dots": dots.tolist(),
        "targets": targets.tolist(),
        "start": STARTS[layout],
        "learns": name == "learn",
    }


SIX = Goal(
    "six",
    "1 · Turn the arrows until the error is below 1 %.",
    after="Each border is between two clusters now, so each expert has a single task.",
    flag=Flag(
        (
            "An arrow moves two borders at once, so they can't all be right.",
            "Borders are straight, and straight borders can't go round a cluster.",
            "Six experts of one linear map each are too simple for this.",
        ),
        right=-1,
        nudge="Make all arrows equally long, and point each at a cluster of its own.",
    ),
)
THREE = Goal(
    "three",
    "2 · Get below 1 % with three experts.",
    after="In this level three pairs of neighbours ask for the same linear map, so one expert serves two clusters and misses nothing.",
    flag=Flag(
        (
            "Three linear experts can't learn six tasks.",
            "An expert with two clusters has to compromise, so each of them is missed a little.",
            "Three borders are too few to keep six clusters apart.",
        ),
        right=-1,
        nudge="Give two neighbours to one expert, and look at their discs. Then try two others.",
    ),
)
BETWEEN = Goal(
    "between",
    "3 · The outer clusters have the same task, the one between them another. Get below 1 % with two experts.",
    flag=Flag(
        (
            "Two experts are too few for three clusters.",
            "If two dots go to one expert, every dot on the straight line between them goes there, too.",
            "All borders go through the middle. With a bias in the router it could be done.",
        ),
        right=1,
        why="Walk along a straight line. Each logit changes evenly, so the lead of one expert over the other does, too. If it is above 0 at both ends, "
        "it is above 0 all the way. A bias moves the border, but it does not bend it.",
        nudge="Give one expert a dot of each outer cluster. Which dots are on the line between these two?",
    ),
)


def _learn() -> Goal:
    """The level of the stored runs, with what became of the others."""
    found, held = (sum(end < experiment.GOOD for end in experiment.ends(begun)) for begun in ("ends", "held"))
    return Goal(
        "learn",
        "4 · Find a run that does as well as you did by hand: below 1 %.",
        after=f"Now look at the small dots. Of sixteen other runs, {found or 'none'} ended below 1 %. Of sixteen that began with arrows like yours, "
        f"{held} did. So training mostly keeps a good division, and it seldom finds one.",
        flag=Flag(
            (
                "A choice has no gradient, so training can't turn an arrow.",
                "An expert that has taken two clusters never gives one away.",
                "Training makes the task's error small, and nothing in it asks for one cluster each.",
            ),
            right=-1,
            nudge="Have you seen all five to their end?",
        ),
    )


def plane(name: str = "router_plane") -> Board:
    """Six clusters and six experts; fewer experts; what no router can do; and what training finds."""
    runs = experiment.stored()["runs"]
    data = {
        "levels": [_level(level) for level in TITLES],
        "looks": experiment.LOOKS,
        "runs": list(runs.values()),
        "ends": {"begun at random": experiment.ends(), "begun with a hand's arrows": experiment.ends("held")},
        "good": experiment.GOOD,
        "length": LENGTH,
    }
    title = "Dots in a plane go to the expert whose arrow reaches furthest in their direction, and each expert is fitted to its dots at once."
    return Board(
        HERE / "router.js", name, title, data, (SIX, THREE, BETWEEN, _learn()), HERE / "stills" / f"{name}.svg"
    )


def pairs(name: str = "router_pairs") -> Board:
    """Two experts for each token: every pair of four experts can be chosen in a plane, not every pair of five."""
    goals = (
        Goal(
            "four",
            "1 · Turn the arrows until each of the six pairs is chosen by some direction.",
            after="The arrow inside the triangle of the others is nobody's first choice. As a second choice it goes with each of them.",
            flag=Flag(
                (
                    "Two arrows that point away from each other can't both be among the first two.",
                    "Of four arrows around the middle only neighbours can make a pair.",
                    "A direction has one turn to make, and there is no room for six pairs in it.",
                ),
                right=-1,
                nudge="Must all four be somebody's first choice?",
            ),
        ),
        Goal(
            "five",
            "2 · The same with five experts and ten pairs.",
            flag=Flag(
                (
                    "An arrow inside the others goes with each of them, but there is room for one such arrow only.",
                    "Four of the five tips are always the corners of a quadrilateral without a dent, and its diagonals cross.",
                    "The tips move in steps that are too coarse. With finer steps it could be done.",
                ),
                right=1,
                why="Where the diagonals cross is a mix of two tips, and just as well a mix of the two others. A token that chooses both ends of one diagonal "
                "has them ahead of both ends of the other. Then this point would be ahead of itself. So no token chooses a diagonal.",
                nudge="Look for four tips that make a quadrilateral without a dent. Which two pairs are its diagonals, and is each of them found?",
            ),
        ),
    )
    data = {"levels": [{"name": level, "title": title, "start": start} for level, (title, start) in PAIRS.items()]}
    title = "Arrows of four or five experts, and around them the two experts that a token of each direction chooses."
    return Board(HERE / "pairs.js", name, title, data, goals, HERE / "stills" / f"{name}.svg")
