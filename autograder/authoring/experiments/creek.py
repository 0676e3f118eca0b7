"""Notebook 10's creek: the four kinds of feed-forward part read the little world, from five seeds.

`python -m autograder.authoring.experiments.creek` writes ffnlab's experiments/creek.json: about two minutes of one core.
"""

from __future__ import annotations

import json

import torch

from autograder.authoring.experiments.capstone import Compared
from ffnlab.course.experiments.creek import (
    BATCH,
    D_MODEL,
    EVERY,
    MODELS,
    N_HEADS,
    SEEDS,
    STEPS,
    STORED,
    SentenceReader,
    judged,
    learn,
)

SHORT = 60  # the steps of a run that a test can repeat


def run(name: str, seed: int, steps: int = STEPS) -> tuple[list[float], dict[str, float]]:
    """One kind from one seed: its losses, and how often it is right."""
    torch.manual_seed(seed)
    model = SentenceReader([Compared(name, MODELS[name], D_MODEL, N_HEADS)])
    losses = learn(model, steps, seed)
    return losses, judged(model)


def short(name: str) -> float:
    """The loss of the last of SHORT steps from seed 0."""
    return round(run(name, 0, SHORT)[0][-1], 4)


def main() -> None:
    torch.set_num_threads(1)
    right: dict[str, dict[str, list[float]]] = {}
    curves: dict[str, list[list[float]]] = {}
    for name in MODELS:
        for seed in SEEDS:
            losses, found = run(name, seed)
            means = torch.tensor(losses).reshape(-1, EVERY).mean(1).tolist()
            curves.setdefault(name, []).append([round(mean, 3) for mean in means])
            for word, share in found.items():
                right.setdefault(name, {}).setdefault(word, []).append(round(share, 3))
        print(name, right[name], flush=True)
    settings = {
        "d_model": D_MODEL,
        "n_heads": N_HEADS,
        "steps": STEPS,
        "batch": BATCH,
        "seeds": SEEDS,
        "widths": MODELS,
    }
    about = {
        "settings": settings,
        "torch": torch.__version__.partition("+")[0],
        "right": right,
        "steps": [EVERY * (n + 0.5) for n in range(STEPS // EVERY)],
        "losses": curves,
        f"loss after {SHORT} steps of seed 0": {name: short(name) for name in MODELS},
    }
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in about.items())
    STORED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
