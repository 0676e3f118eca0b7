"""The river of experts, as a board for notebook 09: a mixture learns, and a cure can be switched on in the middle of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course.experiments import river

HERE = Path(__file__).parent
PLANTED = 3  # the head start that the board begins with
FIRST_ALPHA = 10.0  # the weight that the balance loss begins with: all work, and it does not help
GOAL_SHARE = 0.5  # less than this share of the error without a cure
FOLD = 240  # the step from which on time runs faster
CURES = {
    "none": {"button": "none", "short": "", "long": "no cure"},
    "loss": {"button": "balance loss", "short": "loss", "long": "the balance loss"},
    "bias": {"button": "selection bias", "short": "bias", "long": "the selection bias with u = 0.03"},
}


def _ends(head_start: int) -> dict[str, Any]:
    """Where the other runs are at the last step, by branch: seed by seed how many experts are effective, and the error."""
    last = str(river.STEPS[-1])
    ends = {}
    for branch in river.TOLD:
        rows = [row[last] for row in river.others(head_start, branch)]
        ends[branch.key()] = {
            "effective": [row["effective"] for row in rows],
            "errors": [row["error"] for row in rows],
        }
    return ends


def _data() -> dict[str, Any]:
    record = river.stored()
    return {
        "steps": river.STEPS,
        "fold": FOLD,
        "whens": river.WHENS,
        "alphas": river.ALPHAS,
        "firstAlpha": river.ALPHAS.index(FIRST_ALPHA),
        "branches": [{"key": branch.key(), "when": branch.when} for branch in river.BRANCHES],
        "cures": CURES,
        "start": PLANTED,
        "working": river.WORKING,
        "wanted": GOAL_SHARE,
        "units": {"router": river.ROUTER_UNIT, "token": river.TOKEN_UNIT, "error": river.ERROR_UNIT},
        "tokens": record["tokens"],
        "runs": record["runs"],
        "ends": {str(head_start): _ends(head_start) for head_start in river.HEAD_STARTS},
        "fresh": len(river.FRESH),
    }


def first_work(branch: river.Branch) -> int | None:
    """The first stored step at which all eight work, in a branch of the planted run, after its cure has begun."""
    run = river.runs(PLANTED)[branch]
    steps = [river.STEPS[n] for n in river.after(branch) if run.loads[n].min() >= river.WORKING]
    return min(steps, default=None)


def earliest() -> int:
    """The same, in any branch with a cure."""
    firsts = [first_work(branch) for branch in river.BRANCHES if branch.when]
    return min(step for step in firsts if step is not None)


def _goals() -> tuple[Goal, ...]:
    slow, quick = (first_work(river.Branch(cure, river.WHENS[0])) for cure in ("loss 0.03", "loss 1"))
    return (
        Goal(
            "even",
            "Get all eight experts working, each with at least 5 % of the tokens.",
            after=f"A larger α is quicker, up to a point. Switched on at step {river.WHENS[0]}, α = 0.03 has got all eight working at step {slow:,}, and "
            f"α = 1 at step {quick:,}.",
            record=earliest(),
            unit="steps",
        ),
        Goal(
            "useful",
            "With the head start, at step 3,000: all eight at work, and less than half the error without a cure.",
            after="The small strokes are other runs. Compare them with the strokes without a cure: most runs gain by this, and few gain so much.",
            flag=Flag(
                reasons=(
                    "What makes the load even takes the tokens away from the experts that are good at them.",
                    "After a head start the other seven have lost too much time.",
                    "Eight experts are more than this task can use.",
                ),
                right=-1,
                nudge="Drag α from end to end. Is the error smallest at one of the ends?",
            ),
        ),
        Goal(
            "alone",
            "Set the head start to 0, and switch the cure off. Get all eight working.",
            flag=Flag(
                reasons=(
                    "Eight experts are more than this task can use.",
                    "An expert that gets no token learns nothing, and the task's loss asks nobody to send it one.",
                    "The task prefers some experts, even without a head start.",
                ),
                right=1,
                why="Only a chosen expert learns. The router may bring an idle one a few tokens by accident, and then it learns and keeps them. "
                "But nothing asks for it. All eight never work in this run, and no small stroke ends with eight at work.",
                nudge="Play this run once more, and press the number of an idle expert.",
            ),
        ),
        Goal(
            "useless",
            "Still from 0, be fair and useless: at step 3,000 all eight work, and the error is larger than without a cure.",
            after="Every expert has work, but it is the wrong work. Look at the borders: they cut through clusters.",
        ),
    )


def experts(name: str = "river") -> Board:
    """The board."""
    return Board(
        HERE / "river.js",
        name,
        "Eight experts learn, and one may have a head start: who gets which tokens, step by step, and what a cure changes.",
        _data(),
        _goals(),
        HERE / "stills" / f"{name}.svg",
        {"cure": "loss", "when": river.WHENS[0], "at": river.STEPS.index(FOLD)},
    )
