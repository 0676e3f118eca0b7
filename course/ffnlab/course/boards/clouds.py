"""Fourteen tokens that become one, as a board for notebook 04: four stacks of random layers on one clock."""

from __future__ import annotations

from pathlib import Path

from ffnlab.boards import Board, Goal
from ffnlab.course.experiments import collapse

HERE = Path(__file__).parent
RUNS = ("attention", "ffn", "ffn, same length", "ffn, four times", "skip", "all")


def stacks(name: str = "clouds") -> Board:
    """The board."""
    title = "Fourteen tokens as dots go through random layers, four times on one clock, and come together."
    many = len(collapse.FRESH)
    alone, bare, long, longer_alone = (
        collapse.format_residual(collapse.typical(run, 3))
        for run in ("attention", "ffn", "ffn, four times", "no ffn, four times")
    )
    goals = (
        Goal(
            "first",
            "Leave the FFN’s output as it comes. Stop the clock where one cloud is below r = 10⁻⁶, and the three others are above.",
            after=f"As it comes, the FFN makes attention fall faster. In {many} other stacks, the typical r after three layers was {alone} with "
            f"attention alone and {bare} with the FFN. It was smaller in {collapse.lower('ffn', 'attention', 3)} of {many}.",
        ),
        Goal(
            "slower",
            "Change one thing, so that another stack is the first to fall, and by far.",
            after=f"Four times as long, the FFN’s output delays the fall: r after three layers is {long}. But leave the FFN out and only make the vectors "
            f"four times as long, and r is {longer_alone}. So it is not the FFN that delays it. Both numbers are typical of {many} other stacks.",
        ),
    )
    runs = {run: {"shown": collapse.stored(run)["shown"], "dots": collapse.stored(run)["dots"]} for run in RUNS}
    data = {"depths": collapse.DEPTHS, "runs": runs}
    still = HERE / "stills" / f"{name}.svg"
    return Board(HERE / "clouds.js", name, title, data, goals, still, {"at": collapse.DEPTHS.index(2)})
