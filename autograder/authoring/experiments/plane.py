"""Notebook 08's plane: its tokens, and the routers that learn there.

`python -m autograder.authoring.experiments.plane` trains 37 runs, two seconds each, and writes ffnlab's experiments/plane.json.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F

from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments import plane
from ffnlab.course.experiments.plane import FRESH, LEVELS, LOOKS, N_EXPERTS, SEEDS, STORED

SPREAD = 0.3  # of a cluster
SLOPE = 1.5  # of the tasks' maps
DOTS = 14  # of each cluster that a board shows
TOKENS, LEARNING_RATE = 512, 0.02  # tokens: a step
ALPHA = (
    0.3  # the weight of the balance loss of notebook 09: of seven weights the one with the smallest error over SEEDS
)
NOISE = 1.0  # on the logits in training, so that a token sometimes tries another expert, as Shazeer et al. 2017 do
LENGTH = 1.9  # of a hand's arrows
WORLD = 5  # the seed of places and tasks

# Where the clusters are, in degrees and as distances from the middle; and the task of each, by number.
ROUND = ((12, 2.2), (68, 2.0), (131, 2.3), (195, 2.1), (247, 2.2), (312, 2.0))
LAYOUTS = {
    "six": (ROUND, (0, 1, 2, 3, 4, 5)),
    "three": (ROUND, (0, 1, 1, 2, 2, 0)),
    "between": (((48, 2.3), (0, 2.3 * math.cos(math.radians(48))), (-48, 2.3)), (0, 1, 0)),
}


class Clusters:
    """The clusters of a level. Each has a task, an affine map of the plane; clusters with the same task share it."""

    def __init__(self, level: str) -> None:
        places, tasks = LAYOUTS[level]
        self.rng = torch.Generator().manual_seed(WORLD + LEVELS.index(level))
        self.centres = torch.tensor(
            [[far * math.cos(math.radians(turn)), far * math.sin(math.radians(turn))] for turn, far in places]
        )
        count = max(tasks) + 1
        self.tasks = torch.tensor(tasks)
        self.maps = SLOPE * torch.randn(count, 2, 2, generator=self.rng)
        self.constants = torch.randn(count, 2, generator=self.rng)
        self.middles = torch.stack([self.centres[self.tasks == task].mean(0) for task in range(count)])

    def tokens(self, cluster: torch.Tensor, rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """A point of each of these clusters, [T, 2], and what should come out for it, [T, 2]."""
        way = torch.randn(len(cluster), 2, generator=rng).clamp(-2, 2)
        x = self.centres[cluster] + SPREAD * way
        return x, self.wanted(x, cluster)

    def wanted(self, x: torch.Tensor, cluster: torch.Tensor) -> torch.Tensor:
        """What should come out for points x [T, 2] of these clusters."""
        task = self.tasks[cluster]
        return torch.einsum("td,tdo->to", x - self.middles[task], self.maps[task]) + self.constants[task]

    def shown(self) -> dict[str, list[list[float]]]:
        """The dots of a board, cluster after cluster."""
        cluster = torch.arange(len(self.centres)).repeat_interleave(DOTS)
        x = (100 * self.tokens(cluster, self.rng)[0]).round() / 100
        targets = self.wanted(x, cluster)
        return {
            "dots": [[round(value, 2) for value in dot] for dot in x.tolist()],
            "targets": [[round(value, 4) for value in target] for target in targets.tolist()],
        }


def by_hand() -> torch.Tensor:
    """A router [2, E] as a hand turns it: arrows of one length, each at a cluster of its own."""
    centres = Clusters("six").centres
    router: torch.Tensor = (LENGTH * centres / centres.norm(dim=1, keepdim=True)).T
    return router


def train(seed: int, start: torch.Tensor | None = None, alpha: float = ALPHA) -> Iterator[torch.Tensor]:
    """The router [2, E] of one run at each of LOOKS. The chosen expert's output is weighted with its probability, as in the Switch Transformer.

    start: the router that it begins with, if not a small random one.
    """
    clusters = Clusters("six")
    rng = torch.Generator().manual_seed(seed)
    router = 0.05 * torch.randn(2, N_EXPERTS, generator=rng)
    router = router if start is None else start.clone()
    maps = 0.3 * torch.randn(N_EXPERTS, 2, 2, generator=rng)
    constants = torch.zeros(N_EXPERTS, 1, 2)
    parameters = [part.requires_grad_() for part in (router, maps, constants)]
    optimiser = torch.optim.Adam(parameters, lr=LEARNING_RATE)
    for step in range(LOOKS[-1] + 1):
        if step in LOOKS:
            yield router.detach().clone()
        x, target = clusters.tokens(torch.randint(N_EXPERTS, (TOKENS,), generator=rng), rng)
        p = (x @ router + NOISE * torch.randn(TOKENS, N_EXPERTS, generator=rng)).softmax(1)
        weight, goes = p.max(1)
        y = weight[:, None] * (x @ maps + constants)[goes, torch.arange(TOKENS)]
        load = torch.bincount(goes, minlength=N_EXPERTS) / TOKENS
        loss = F.mse_loss(y, target) + alpha * N_EXPERTS * (load * p.mean(0)).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def scaled(router: torch.Tensor) -> list[list[float]]:
    """A router whose longest column is 1: that does not change who is chosen."""
    return [[round(value, 4) for value in row] for row in (router / router.norm(dim=0).max()).tolist()]


def main() -> None:
    torch.set_num_threads(1)
    levels = {name: Clusters(name).shown() for name in LEVELS}
    dots, targets = (np.array(levels["six"][part]) for part in ("dots", "targets"))

    def error(router: list[list[float]]) -> float:
        return round(plane.error(dots, targets, plane.assign(np.array(router), dots)), 4)

    runs = {str(seed): [scaled(router) for router in train(seed)] for seed in SEEDS}
    print("watched:", [error(run[-1]) for run in runs.values()])
    ends = {str(seed): error(scaled(list(train(seed))[-1])) for seed in FRESH}
    print("fresh:", sorted(ends.values()))
    held = {str(seed): error(scaled(list(train(seed, by_hand()))[-1])) for seed in FRESH}
    print("from a hand's arrows:", sorted(held.values()))
    write(STORED, {"about": {"torch": TORCH}, "ends": ends, "held": held, "levels": levels, "runs": runs})


if __name__ == "__main__":
    main()
