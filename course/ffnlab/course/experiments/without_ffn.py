"""Sixteen models that learn where to look and have norms, but have no FFN at all: which of them learn a rule of two attributes?

`python -m autograder.authoring.experiments.without_ffn` trains them from seeds that nothing was chosen on; this module reads what it has stored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ffnlab.course.experiments import read
from ffnlab.course.experiments.world import SETTINGS

STORED = Path(__file__).with_suffix(".json")
SETTING = SETTINGS["attention, no FFN"]
FRESH = tuple(range(101, 117))  # sixteen seeds that no choice was made on
RULE_THRESHOLD = 0.99  # the share of held-out scenes from which on a rule has been learned; a coin gets 0.5


def stored() -> dict[str, Any]:
    """What the last run of this module wrote: {"about": …, "runs": {seed: what is right of the held-out scenes}}."""
    return read(STORED)


def has_learned(rule: str) -> list[bool]:
    """For each fresh seed, whether its model has learned the rule: "way" is over or into, "feeling" is glad or sorry."""
    return [run[rule] >= RULE_THRESHOLD for run in stored()["runs"].values()]
