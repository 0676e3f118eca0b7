"""The first board of notebook 10: two kinds with a lever each. Each pull draws one of twenty stored runs at the creek."""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Any

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course.experiments import creek

HERE = Path(__file__).parent
SURE = 950  # of a thousand who stop after as many pulls, how many have to see the better kind ahead
MOST = 60  # pulls of a kind, as many as fit into the picture
RECORDS = {"without": 13, "equal": 33}  # the fewest pulls, of both kinds together, with which that is so


def _kind(model: str, label: str = "") -> dict[str, Any]:
    """A kind with its stored runs: in which share of the new scenes each says over or into rightly. label: in place of its name."""
    return {"label": label or creek.NAMES[model], "runs": creek.stored()["right"][model]["way"]}


def _level(name: str, title: str, first: dict[str, Any], second: dict[str, Any], better: int) -> dict[str, Any]:
    """One level as data for levers.js. better: 0 or 1, the kind that finds the rule in more of its stored runs; -1 where there is none."""
    return {"name": name, "title": title, "kinds": [first, second], "better": better}


def levels() -> list[dict[str, Any]]:
    """The three levels: with and without an FFN, at equal parameters, and twice the same runs."""
    return [
        _level("without", "1 · with or without", _kind("none"), _kind("relu"), 1),
        _level("equal", "2 · equal parameters", _kind("relu"), _kind("none, 3 blocks"), 1),
        _level("same", "3 · covered names", _kind("relu", "kind A"), _kind("relu", "kind B"), -1),
    ]


def kinds(name: str = "levers") -> Board:
    """The board."""
    can_be_done = Flag(
        (
            "Some runs of both kinds reach 100 %, so no number of pulls can tell them apart.",
            "The runs of one kind scatter more than the two kinds differ, so chance always decides.",
            "There are twenty runs of each kind, so after twenty pulls nothing new can come.",
        ),
        right=-1,
        nudge="The scatter of one run stays. What becomes of the scatter of a share that is counted in more and more runs?",
    )
    same = Flag(
        (
            "The two kinds differ too little for so few pulls. With a thousand pulls one would know.",
            "Both levers draw from the same runs.",
            "Each kind is better in some scenes, so it depends on what one asks.",
        ),
        right=1,
        why="Both draw from the same twenty runs, those of the block with an FFN. Still one of them is ahead most of the time. "
        "For some people it is A, for others B, and all of them find a better kind where there is none.",
        nudge="Do not only count. Look at where the dots of A and those of B fall, when each has been pulled thirty times.",
    )
    goals = (
        Goal(
            "without",
            "1 · Pull, and dare to say which kind is better. Wait long enough: of a thousand others with as many pulls, 950 are to see it ahead.",
            after="One pull of each shows the better one ahead to 525 of a thousand.",
            record=RECORDS["without"],
            unit="pulls",
        ),
        Goal(
            "equal",
            "2 · The same for two kinds with equally many parameters.",
            after="Here one pull of each shows the better one ahead to 270 of a thousand, and the worse one to 70.",
            record=RECORDS["equal"],
            unit="pulls",
            flag=can_be_done,
        ),
        Goal("same", "3 · The same for kind A and kind B, whose names are covered.", flag=same),
    )
    title = "Two kinds of model with a lever each. A pull draws one of twenty stored runs and drops a dot. Whoever dares to choose sees a thousand others."
    data = {"levels": levels(), "threshold": creek.RULE_THRESHOLD, "sure": SURE, "most": MOST}
    pulls = [[[0, 1, 5], [0, 1, 2]], [[], []], [[], []]]
    return Board(HERE / "levers.js", name, title, data, goals, HERE / "stills" / f"{name}.svg", {"pulls": pulls})


def ahead(pulls: int) -> int:
    """Of a thousand people who pull both levers of the third level so often, how many see one of them ahead."""
    runs = levels()[2]["kinds"][0]["runs"]
    share = sum(run >= creek.RULE_THRESHOLD for run in runs) / len(runs)
    level: float = sum(
        (comb(pulls, hits) * share**hits * (1 - share) ** (pulls - hits)) ** 2 for hits in range(pulls + 1)
    )
    return 2 * round(1000 * (1 - level) / 2)  # as the board counts: as many see the one ahead as the other
