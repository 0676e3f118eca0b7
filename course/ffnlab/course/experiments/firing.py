"""Notebook 03: how many neurons of the little world's model fire after training, with the penalty on activations and without.

`python -m ffnlab.course.experiments.firing` trains thirty models and writes firing.json beside this file: about ten minutes of one CPU core.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from ffnlab.course import toy_transformer, world
from ffnlab.course.experiments import read
from ffnlab.course.experiments import world as experiment

STORED = Path(__file__).with_suffix(".json")
PENALTIES = {"with": experiment.SPARSE, "without": 0.0}
FRESH = range(100, 115)  # seeds on which nothing was chosen; the recipe was chosen on `experiment.SEEDS`


def sums(model: toy_transformer.ToyTransformer) -> torch.Tensor:
    """What each neuron adds up, before ReLU, for every word of every sentence that the world wishes: [scenes · T, d_ff]."""
    assert model.linear1 is not None
    sentences = toy_transformer.tensor([world.wish(scene)[:-1] for scene in toy_transformer.ALL_SCENES])
    pre_activations: torch.Tensor = model.linear1(model.before(model.gather(sentences)))
    return pre_activations.flatten(0, 1)


def measure(model: toy_transformer.ToyTransformer) -> dict[str, float]:
    """The share of all sums that are above zero, the number of neurons for which none is, and how often the model is right."""
    fires = sums(model) > 0
    task = experiment.TASKS["two attributes"]
    shares = experiment.score_words(model, task)
    return {
        "fires": round(fires.double().mean().item(), 4),
        "dead": int((~fires).all(0).sum()),
        "right": min(shares[name] for name in task.combinations),
    }


def stored() -> dict[str, Any]:
    """What the last run of this module wrote: by penalty, one row for each of `FRESH`."""
    return read(STORED)


def run() -> None:
    torch.set_num_threads(1)
    runs: dict[str, list[dict[str, float]]] = {}
    for name, sparse in PENALTIES.items():
        for seed in FRESH:
            measures = measure(experiment.train(experiment.SETTINGS[experiment.SHIPPED_SETTING], seed, sparse))
            print(f"{name} the penalty, seed {seed}: {measures}", flush=True)
            runs.setdefault(name, []).append(measures)
    STORED.write_text(json.dumps({"seeds": list(FRESH), "runs": runs}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
