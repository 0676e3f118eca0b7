"""The river of experts, as a board for notebook 09: a mixture learns, and a cure can be switched on in the middle of the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ffnlab.boards import Board, Goal
from ffnlab.course.experiments import river

HERE = Path(__file__).parent
GOAL_SHARE = 0.5  # less than this share of the error without a cure
EVEN = (0.1, 0.15)  # shares of the tokens between which a load counts as even
FOLD = 240  # the step from which on time runs faster
CURES = {
    "none": {"button": "none", "short": "", "long": "no cure"},
    "loss": {"button": "balance loss, α = 0.1", "short": "loss, α = 0.1", "long": "the balance loss with α = 0.1"},
    "strong": {"button": "balance loss, α = 10", "short": "loss, α = 10", "long": "the balance loss with α = 10"},
    "bias": {
        "button": "selection bias, u = 0.03",
        "short": "bias, u = 0.03",
        "long": "the selection bias with u = 0.03",
    },
}


def _ends() -> dict[str, Any]:
    """Where the other runs are at the last step, by branch: seed by seed how many experts are effective and the error, and in how many all work."""
    last = str(river.STEPS[-1])
    ends = {}
    for branch in river.BRANCHES:
        rows = [row[last] for row in river.others(branch)]
        ends[branch.key()] = {
            "effective": [row["effective"] for row in rows],
            "errors": [row["error"] for row in rows],
            "working": sum(row["smallest"] >= river.WORKING for row in rows),
        }
    return ends


def _data() -> dict[str, Any]:
    record = river.stored()
    return {
        "steps": river.STEPS,
        "fold": FOLD,
        "whens": river.WHENS,
        "branches": [{"key": branch.key(), "when": branch.when} for branch in river.BRANCHES],
        "cures": CURES,
        "start": river.TEXT_HEAD_START,
        "working": river.WORKING,
        "wanted": GOAL_SHARE,
        "even": EVEN,
        "units": {"router": river.ROUTER_UNIT, "token": river.TOKEN_UNIT, "error": river.ERROR_UNIT},
        "tokens": record["tokens"],
        "runs": record["runs"],
        "ends": _ends(),
        "fresh": len(river.FRESH),
    }


def earliest() -> int:
    """The first stored step at which all eight work, in any branch of the planted run."""
    steps: list[int] = []
    for branch, run in river.runs(river.TEXT_HEAD_START).items():
        if branch.when:
            steps += [river.STEPS[n] for n in river.after(branch) if run.loads[n].min() >= river.WORKING]
    return min(steps)


def count(branch: river.Branch, step: int, holds: Callable[[dict[str, Any], dict[str, Any]], bool]) -> int:
    """In how many of the other runs something holds at a step, of the numbers of a branch and of those without a cure."""
    pairs = zip(river.others(branch), river.others(river.BRANCHES[0]), strict=True)
    return sum(holds(row[str(step)], plain[str(step)]) for row, plain in pairs)


def _all_work(row: dict[str, Any], plain: dict[str, Any]) -> bool:
    return bool(row["smallest"] >= river.WORKING)


def _less(row: dict[str, Any], plain: dict[str, Any]) -> bool:
    return bool(row["error"] < plain["error"])


def _half(row: dict[str, Any], plain: dict[str, Any]) -> bool:
    return bool(row["error"] < GOAL_SHARE * plain["error"])


def experts(name: str = "river") -> Board:
    """The board."""
    title = (
        "Eight experts learn while one has a head start: who gets which tokens, step by step, and what a cure changes."
    )
    many, last = len(river.FRESH), river.STEPS[-1]
    gentle, strong = river.Branch("loss", 60), river.Branch("strong", 60)
    quick, slow = (count(branch, FOLD, _all_work) for branch in (strong, gentle))
    goals = (
        Goal(
            "even",
            "With a head start of 3, expert 1 begins with every token. Bring all eight to work, each with at least 5 % of the tokens.",
            after=f"A strong hand is quick. We trained {many} other runs with a cure from step 60. With α = 10 all eight had work at step {FOLD} "
            f"in {quick} of them, with α = 0.1 in {slow}. Without a cure it was {count(river.BRANCHES[0], last, _all_work)} of {many}, even at "
            f"step {last:,}.",
            record=earliest(),
            unit="steps",
        ),
        Goal(
            "useful",
            "Now make it worth while: at step 3,000 all eight work, with less than half the error that there is without a cure.",
            after=f"The gentle run that you see here is luckier than most. In {many} others, α = 0.1 from step 60 made the error "
            f"smaller in {count(gentle, last, _less)}, but less than half in only {count(gentle, last, _half)}. "
            f"With α = 10 it was smaller in {count(strong, last, _less)}.",
        ),
        Goal(
            "useless",
            "Perfectly fair and useless: every expert gets 10 to 15 %, and the error is no smaller than without a cure at that step.",
            after=f"Sending each expert as many tokens is not the same as sending it the right ones. In {many} other runs with α = 10 from step 60, "
            f"the error was no smaller than without a cure in {many - count(strong, FOLD, _less)} at step {FOLD}, "
            f"and in {many - count(strong, last, _less)} at step {last:,}.",
        ),
    )
    return Board(
        HERE / "river.js",
        name,
        title,
        _data(),
        goals,
        HERE / "stills" / f"{name}.svg",
        {"cure": "loss", "when": 120, "at": river.STEPS.index(FOLD)},
    )
