"""The little world, learned with four experts in place of the FFN: by what do they divide the work? Runs of five seeds to show, and of fifteen to tell of."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from ffnlab.course import world
from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")
N_EXPERTS = 4
SEEDS = (0, 1, 2, 3, 4)
FRESH = tuple(range(101, 116))  # fifteen seeds that no choice was made on
PLACES, WEATHERS, MOODS, CREATURE = ("creek", "path"), ("cold", "warm"), ("spunky", "timid"), "dog"
SCENES = [world.Scene(*scene, CREATURE) for scene in itertools.product(PLACES, WEATHERS, MOODS)]


def stored() -> dict[str, Any]:
    """What the last run wrote: {"about": …, "runs": of SEEDS, "fresh": {seed: …} of FRESH}."""
    return read(STORED)
