"""Trains the shipped model's twins: `python -m autograder.authoring.experiments.twin` writes twin.json and twin.safetensors in five minutes of one core."""

from __future__ import annotations

import json
from typing import Any

import torch
from safetensors.torch import save_file

from ffnlab.course import toy_transformer
from ffnlab.course.experiments import world
from ffnlab.course.experiments.twin import FRESH, SETTING, SHIPPED, STORED, WEIGHTS


def run(seed: int) -> tuple[toy_transformer.ToyTransformer, dict[str, Any]]:
    """One twin, and what it gets right of the held-out scenes, with its FFN and with the FFN switched off."""
    model = world.train(SETTING, seed)
    task = world.TASKS[SETTING.task]
    return model, {"on": world.judged(model, task), "off": world.judged(model, task, ffn=False)}


def main() -> None:
    torch.set_num_threads(1)
    runs = {}
    for seed in (SHIPPED, *FRESH):
        model, runs[str(seed)] = run(seed)
        print(f"seed {seed}: {runs[str(seed)]}", flush=True)
        if seed == SHIPPED:
            save_file(model.state_dict(), WEIGHTS)
            WEIGHTS.chmod(0o644)
    about = {
        "made by": "python -m autograder.authoring.experiments.twin",
        "shipped": SHIPPED,
        "fresh": FRESH,
        "torch": torch.__version__.partition("+")[0],
    }
    lines = ",\n".join(f'  "{seed}": {json.dumps(found)}' for seed, found in runs.items())
    STORED.write_text(f'{{"about": {json.dumps(about)},\n"runs": {{\n{lines}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
