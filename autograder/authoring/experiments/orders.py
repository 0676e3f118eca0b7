"""Notebook 10's grid: weights and order of the sentences, one changed at a time; and runs in which a single weight is moved by a millionth.

`python -m autograder.authoring.experiments.orders` writes ffnlab's experiments/orders.json: about seven minutes of one core.
"""

from __future__ import annotations

import torch

from autograder.authoring.experiments.creek import SHORT, blocks
from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments import creek
from ffnlab.course.experiments.orders import NAME, NUDGE, SEEDS, STORED


def run(weights: int, order: int, steps: int = creek.STEPS, nudge: float = 0.0) -> tuple[list[float], float]:
    """One block whose weights come from one seed and whose batches from another: its losses, and how often over or into is right.

    nudge: by how much one weight is moved before the first step, the first of the matrix that hands out the scores.
    """
    torch.manual_seed(weights)
    model = creek.SentenceReader(blocks(NAME))
    with torch.no_grad():
        model.scores.weight[0, 0] += nudge
    losses = creek.learn(model, steps, order)
    return losses, round(creek.judged(model)["way"], 4)


def short() -> float:
    """The loss of the last of SHORT steps, with weights of seed 0 and the order of seed 1."""
    return round(run(0, 1, SHORT)[0][-1], 4)


def main() -> None:
    torch.set_num_threads(1)
    way = [[run(weights, order)[1] for order in SEEDS] for weights in SEEDS]
    nudged = [
        [run(weights, order, nudge=NUDGE)[1] for order in (SEEDS[n], SEEDS[n - 1])] for n, weights in enumerate(SEEDS)
    ]
    about = {"model": NAME, "steps": creek.STEPS, "seeds": SEEDS, "nudge": NUDGE, "torch": TORCH}
    write(STORED, about | {"loss after the short run": short()}, {"way": way, "nudged": nudged})


if __name__ == "__main__":
    main()
