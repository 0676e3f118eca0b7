"""Fourteen tokens that become one, as a board for notebook 04: four stacks of random layers on one clock."""

from __future__ import annotations

from pathlib import Path

from ffnlab.boards import Board, Goal
from ffnlab.course.experiments import collapse

HERE = Path(__file__).parent
RUNS = ("attention", "ffn", "ffn, same length", "ffn, four times", "skip", "all")


def power_of_ten(value: float) -> str:
    """A small number for people, such as 1.6·10⁻⁶."""
    digit, power = f"{value:.1e}".split("e-")
    return f"{digit}·10⁻{str(int(power)).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def stacks(name: str = "clouds") -> Board:
    """The board."""
    title = "Fourteen tokens as dots go through random layers, four times on one clock, and come together."
    many = len(collapse.FRESH)
    names = ("attention", "ffn", "only its length", "ffn, same length", "no relu, same length")
    alone, bare, short, same, straight = (power_of_ten(collapse.typical(run, 3)) for run in names)
    goals = (
        Goal(
            "one",
            "Press Play. Which cloud is the first to become a single dot?",
            after=f"Attention with an FFN is even faster than attention alone. In {many} other stacks, the typical r after three layers was {alone} with "
            f"attention alone and {bare} with the FFN. It was smaller in {collapse.lower('ffn', 'attention', 3)} of {many}.",
        ),
        Goal(
            "slower",
            "So is the FFN to blame? Change one thing, and let attention with the FFN fall far more slowly than attention alone.",
            after="Most of it was length. These FFNs return vectors that are about a quarter shorter than what they get. Leave the FFN out and only make the "
            f"vectors as short as it would, and r after three layers is {short}. An FFN whose output is as long as its input gives {same}, still a little less "
            f"than attention alone. That is its ReLU: without it, r is {straight}. Make the output four times as long as the input, and r is "
            f"{collapse.typical('ffn, four times', 3):.2f}. All numbers are typical of {many} stacks.",
        ),
    )
    runs = {run: {"shown": collapse.stored(run)["shown"], "dots": collapse.stored(run)["dots"]} for run in RUNS}
    data = {"depths": collapse.DEPTHS, "runs": runs}
    still = HERE / "stills" / f"{name}.svg"
    return Board(HERE / "clouds.js", name, title, data, goals, still, {"at": collapse.DEPTHS.index(2)})
