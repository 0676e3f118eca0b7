"""The reader's own cheat before six inspectors, as a board for notebook 04."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course import inspectors

HERE = Path(__file__).parent
VISITS = 10  # of each inspector
LENGTHS, D_MODEL = range(7, 17), 6  # of the sentences, one for each visit
TRIALS = 20
MOST = 5  # inspectors that can be fooled at once
TYPICAL = 0.75  # of the pairs: in so many sentences of random words a cheat has to show

QUESTIONS = {
    "ones": "equal words everywhere",
    "zeros": "one word among zeros",
    "first": "a new first word",
    "neighbours": "a new word, and its two neighbours",
    "mirror": "the sentence turned round",
    "shuffle": "the words in another order",
}

GOALS = (
    Goal("three", "Fool three inspectors with a box that cheats."),
    Goal(
        "five",
        "Fool five at once.",
        flag=Flag(
            (
                "If two words talk, first and neighbours find out.",
                "A box that is honest with so many inspectors does not cheat any more.",
                "Each inspector looks for another kind of cheat, so a cheat fools one of them.",
            ),
            right=-1,
            nudge="Which two words could talk so that one of them is never first, and they are never side by side?",
        ),
    ),
    Goal(
        "six",
        "Fool all six.",
        flag=Flag(
            (
                "Ones feeds the same word everywhere, and a cheat can’t give the same output everywhere.",
                "If a word hears another one, shuffle can bring that other one to the front, where first finds it.",
                "Six inspectors feed more sentences than a single box can recognise.",
            ),
            right=1,
            why="Say that your box fools shuffle. Then it does not matter which word is where. If some word hears another one, it still hears it when that one "
            "comes first, and first notices. If no word hears another one, your box can only cheat by a favourite, and shuffle notices that.",
            nudge="Which two of the six has no cheat of yours ever fooled together?",
        ),
    ),
)


def inspect(box: Callable[..., Any], name: str = "fooling") -> Board:
    """The board. box: takes a sentence [T, d] and returns a tensor of the same shape, as `fool_the_inspectors` does."""
    box(torch.randn(LENGTHS[0], D_MODEL))  # an answer that is not written yet says so in place of the board

    def visit(request: dict[str, Any]) -> dict[str, Any]:
        inspector = str(request["inspector"])
        seed = 1000 * int(request["round"])
        try:
            return {
                "fooled": [
                    inspectors.visit(inspector, box, T, D_MODEL, seed + n) for n, T in enumerate(LENGTHS[:VISITS])
                ]
            }
        except Exception as failure:  # the reader's own function may do anything
            return {"fooled": [], "error": f"{type(failure).__name__}: {failure}"}

    def cheats(request: dict[str, Any]) -> dict[str, Any]:
        trials = inspectors.trials(TRIALS, LENGTHS[0], D_MODEL, 1000 * int(request["round"]))
        try:
            outputs = torch.stack([box(X.clone()) for X in trials.sentences.flatten(0, 1)]).detach()
        except Exception as failure:
            return {"share": 0, "error": f"{type(failure).__name__}: {failure}"}
        return {"share": inspectors.share_of_cheats(outputs.view(trials.sentences.shape), trials)}

    title = "A box before six inspectors, each of whom comes ten times. Who calls it real?"
    data = {"inspectors": QUESTIONS, "visits": VISITS, "most": MOST, "typical": TYPICAL}
    still = HERE / "stills" / f"{name}.svg"
    return Board(HERE / "fooling.js", name, title, data, GOALS, still, answers={"visit": visit, "cheats": cheats})
