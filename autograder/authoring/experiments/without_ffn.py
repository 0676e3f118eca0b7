"""Trains models without an FFN: `python -m autograder.authoring.experiments.without_ffn` writes without_ffn.json in ten minutes of one core.

Seeds that are stored are not trained again, so a run that was interrupted goes on where it was.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments import world
from ffnlab.course.experiments.without_ffn import FRESH, SETTING, STORED, stored


def run(seed: int) -> dict[str, Any]:
    """What one model gets right of the held-out scenes."""
    return world.score_words(world.train(SETTING, seed), world.TASKS[SETTING.task])


def main() -> None:
    torch.set_num_threads(1)
    runs = stored()["runs"] if STORED.exists() else {}
    for seed in FRESH:
        if str(seed) in runs:
            continue
        runs[str(seed)] = run(seed)
        print(f"seed {seed}: {runs[str(seed)]}", flush=True)
        about = {"made by": "python -m autograder.authoring.experiments.without_ffn", "fresh": FRESH, "torch": TORCH}
        write(STORED, {"about": about}, {"runs": runs})


if __name__ == "__main__":
    main()
