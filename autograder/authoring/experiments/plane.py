"""Notebook 08's picture of experts becoming experts: its runs.

`python -m autograder.authoring.experiments.plane` trains six, each in a few seconds, and writes ffnlab's experiments/plane.json.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from autograder.authoring.experiments.balance import information
from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments.plane import LOOKS, N_EXPERTS, POINTS_PER_CLUSTER, SEEDS, STORED, count_experts, own

D_FF = 4
RADIUS, SPREAD = 2.2, 0.35  # the clusters' centres lie on a circle
TOKENS, STEPS, LEARNING_RATE = 512, 1000, 0.02  # tokens: a step
ALPHA = 0.1  # the weight of the balance loss of notebook 09, without which some experts stay idle
NOISE = 1.0  # on the logits in training, so that a token sometimes tries another expert, as Shazeer et al. 2017 do
NEW = 200  # tokens of each cluster on which a run is judged


class ClusterTask:
    """Points around six centres; in each cluster the right output is another linear map of the way from its centre, plus a constant."""

    def __init__(self, seed: int) -> None:
        self.rng = torch.Generator().manual_seed(seed)
        turn = 2 * math.pi * torch.rand(1, generator=self.rng)
        angle = turn + 2 * math.pi * torch.arange(N_EXPERTS) / N_EXPERTS
        self.centres = RADIUS * torch.stack([angle.cos(), angle.sin()], dim=1)
        self.maps, self.constants = 0.4 * self.normal(N_EXPERTS, 2, 2), 0.4 * self.normal(N_EXPERTS, 2)

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.rng)

    def tokens(self, cluster: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A point of each of these clusters, [T, 2], and what should come out for it, [T, 2]."""
        way = self.normal(len(cluster), 2)
        x = self.centres[cluster] + SPREAD * way
        return x, torch.einsum("td,tdo->to", way, self.maps[cluster]) + self.constants[cluster]


class Snapshot(NamedTuple):
    """A run at some step. router [3, E]: the weights of x and y, and the biases. table [c, e]: how many of cluster c's new tokens went to
    expert e."""

    router: torch.Tensor
    table: torch.Tensor
    error: float


def train(seed: int, alpha: float = ALPHA, noise: float = NOISE) -> list[Snapshot]:
    """One run: the gate value not divided by itself, Adam, a balance loss of weight alpha, noise on the logits."""
    task, fresh = ClusterTask(seed), ClusterTask(seed)
    fresh.rng.manual_seed(1000 + seed)
    parameters = {
        "router": 0.05 * task.normal(3, N_EXPERTS) * torch.tensor([[1.0], [1.0], [3.0]]),
        "W1": task.normal(N_EXPERTS, 2, D_FF) / 2**0.5,
        "b1": torch.zeros(N_EXPERTS, 1, D_FF),
        "W2": task.normal(N_EXPERTS, D_FF, 2) / D_FF**0.5,
        "b2": torch.zeros(N_EXPERTS, 1, 2),
    }
    for parameter in parameters.values():
        parameter.requires_grad_()
    optimiser = torch.optim.Adam(parameters.values(), lr=LEARNING_RATE)

    def layer(
        x: torch.Tensor, disturbance: torch.Tensor | float = 0.0
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Outputs [T, 2], probabilities [T, E] and chosen experts [T]."""
        p = (logits(parameters["router"], x) + disturbance).softmax(1)
        gate, experts = p.max(1)
        hidden = torch.relu(x @ parameters["W1"] + parameters["b1"])  # [E, T, d_ff]
        outputs = hidden @ parameters["W2"] + parameters["b2"]  # [E, T, 2]
        return gate[:, None] * outputs[experts, torch.arange(len(x))], p, experts

    snapshots = []
    for step in range(STEPS + 1):
        if step in LOOKS:
            with torch.no_grad():
                cluster = torch.arange(N_EXPERTS).repeat_interleave(NEW)
                x, target = fresh.tokens(cluster)
                y, _, experts = layer(x)
                table = torch.bincount(N_EXPERTS * cluster + experts, minlength=N_EXPERTS**2).reshape(N_EXPERTS, -1)
                snapshots.append(Snapshot(parameters["router"].clone(), table, F.mse_loss(y, target).item()))
        x, target = task.tokens(torch.randint(N_EXPERTS, (TOKENS,), generator=task.rng))
        y, p, experts = layer(x, noise * task.normal(TOKENS, N_EXPERTS))
        load = torch.bincount(experts, minlength=N_EXPERTS) / TOKENS
        loss = F.mse_loss(y, target) + alpha * N_EXPERTS * (load * p.mean(0)).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return snapshots


def logits(router: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The router's logits [T, E] for points x [T, 2]."""
    return x @ router[:2] + router[2]


def summary(seed: int, snapshots: list[Snapshot]) -> dict[str, Any]:
    """What is stored of a run: some points, cluster after cluster, and what was kept, tables in percent of a cluster."""
    task = ClusterTask(seed)
    task.rng.manual_seed(2000 + seed)
    points, _ = task.tokens(torch.arange(N_EXPERTS).repeat_interleave(POINTS_PER_CLUSTER))
    return {
        "points": [[round(value, 2) for value in point] for point in points.tolist()],
        "routers": [[[round(value, 3) for value in row] for row in snapshot.router.tolist()] for snapshot in snapshots],
        "tables": [
            [[round(100 * share / NEW) for share in row] for row in snapshot.table.tolist()] for snapshot in snapshots
        ],
        "information": [round(information(snapshot.table), 2) for snapshot in snapshots],
        "error": [round(snapshot.error, 3) for snapshot in snapshots],
    }


def main() -> None:
    torch.set_num_threads(1)
    runs = [summary(seed, train(seed)) for seed in SEEDS]
    for seed, run in zip(SEEDS, runs, strict=True):
        print(f"seed {seed}: information {run['information']}, error {run['error'][0]} to {run['error'][-1]}")
    without = {}
    for name, alpha, noise in (("noise", ALPHA, 0.0), ("the balance loss", 0.0, NOISE), ("both", 0.0, 0.0)):
        tables = [summary(seed, train(seed, alpha, noise))["tables"][-1] for seed in SEEDS]
        without[name] = {"own": list(map(own, tables)), "used": list(map(count_experts, tables))}
        print(f"without {name}: {without[name]}")
    write(STORED, {"about": {"seeds": SEEDS, "steps": LOOKS, "without": without, "torch": TORCH}}, {"runs": runs})


if __name__ == "__main__":
    main()
