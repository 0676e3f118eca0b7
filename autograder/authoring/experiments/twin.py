"""Trains the shipped model's twins, and as many models with learned attention.

`python -m autograder.authoring.experiments.twin` writes twin.json and twin.safetensors in fifteen minutes of one core.
"""

from __future__ import annotations

from typing import Any

import torch
from safetensors.torch import save_file

from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course import toy_transformer
from ffnlab.course.experiments import world
from ffnlab.course.experiments.twin import (
    ATTENTION,
    FRESH,
    SEED,
    SETTING,
    STORED,
    WEIGHTS,
    mean_activations,
    score_sentences,
)


def run(setting: world.Setting, seed: int) -> tuple[toy_transformer.ToyTransformer, dict[str, Any]]:
    """One model, and what it gets right of the held-out scenes: with its FFN, without, and with the FFN's mean at each position in its place."""
    model = world.train(setting, seed)
    task = world.TASKS[setting.task]
    alone = {"writes off": {"ffn": False}, "writes mean": {"instead": mean_activations(model)}}
    sentence_shares = {
        name: {kind: round(share, 4) for kind, share in score_sentences(model, **how).items()}  # type: ignore[arg-type]
        for name, how in alone.items()
    }
    return model, {
        "on": world.score_words(model, task),
        "off": world.score_words(model, task, ffn=False),
        **sentence_shares,
    }


def main() -> None:
    torch.set_num_threads(1)
    runs: dict[str, dict[str, Any]] = {"twins": {}, "learned attention": {}}
    for kind, setting, seeds in (("twins", SETTING, (SEED, *FRESH)), ("learned attention", ATTENTION, FRESH)):
        for seed in seeds:
            model, runs[kind][str(seed)] = run(setting, seed)
            print(f"{kind}, seed {seed}: {runs[kind][str(seed)]}", flush=True)
            if kind == "twins" and seed == SEED:
                save_file(model.state_dict(), WEIGHTS)
                WEIGHTS.chmod(0o644)
    about = {
        "made by": "python -m autograder.authoring.experiments.twin",
        "shipped": SEED,
        "fresh": FRESH,
        "torch": TORCH,
    }
    write(STORED, {"about": about}, runs)


if __name__ == "__main__":
    main()
