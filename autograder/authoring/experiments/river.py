"""Notebook 09's river: its runs, all branches of a seed side by side.

`python -m autograder.authoring.experiments.river` writes ffnlab's experiments/river.json: about a quarter of an hour of one core.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ffnlab.course.experiments import river
from ffnlab.course.experiments.river import (
    BRANCHES,
    CURES,
    FRESH,
    HEAD_STARTS,
    N_EXPERTS,
    PLAIN,
    STEPS,
    STORED_SEED,
    TOLD,
    Branch,
)

D_FF = 8
TOKENS, LEARNING_RATE = 256, 0.02  # tokens: a step
NEW = 2000  # tokens on which a run is looked at
SIDE, APART, SPREAD = 1.9, 1.15, 0.28  # the clusters' centres lie in a square, so far from each other at least
ROUTER = 0.3  # how large the router's weights are at the start

Others = dict[str, dict[str, list[dict[str, Any]]]]  # of the fresh seeds: by head start and branch, a row for each


class Task:
    """Points around eight centres, equally frequent; in each cluster the right output is another linear map of the way from its centre, plus a
    constant."""

    def __init__(self, seed: int) -> None:
        self.rng = torch.Generator().manual_seed(seed)
        self.centres = self._centres()
        self.maps, self.constants = 0.5 * self.normal(N_EXPERTS, 2, 2), 0.7 * self.normal(N_EXPERTS, 2)

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.rng)

    def _centres(self) -> torch.Tensor:
        """Draws a point after the other, keeps those far enough from all before, and begins anew where there is no room for the last."""
        while True:
            centres: list[torch.Tensor] = []
            for _ in range(400):
                point = SIDE * (2 * torch.rand(2, generator=self.rng) - 1)
                if all((point - other).norm() > APART for other in centres):
                    centres.append(point)
                if len(centres) == N_EXPERTS:
                    return torch.stack(centres)

    def tokens(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Points [T, 2], and what should come out for them, [T, 2]."""
        cluster = torch.randint(N_EXPERTS, (count,), generator=self.rng)
        way = self.normal(count, 2)
        target = torch.einsum("td,tdo->to", way, self.maps[cluster]) + self.constants[cluster]
        return self.centres[cluster] + SPREAD * way, target


class BranchSnapshot(NamedTuple):
    """All branches of a run at some step. routers [B, 3, E]: weights of x and y, biases, with the selection bias added to these.
    experts [B, T], errors [B]: on the new tokens."""

    routers: torch.Tensor
    experts: torch.Tensor
    errors: torch.Tensor


class RiverRun(NamedTuple):
    """A seed's run with all its branches."""

    tokens: torch.Tensor  # [T, 2], the new ones
    snapshots: list[BranchSnapshot]
    nothing: float  # the mean squared error of an output of 0 on the new tokens


def train(seed: int, head_start: float, branches: Sequence[Branch] = BRANCHES, steps: int = STEPS[-1]) -> RiverRun:
    """One run: top-1 routing, the gate value not divided by itself, Adam. All branches see the same tokens and begin with the same weights.

    head_start is planted: it is added to the first expert's router logit at the start, as a bias that is then trained like all else.
    The selection bias is added to the logits, not to the scores as in `balance`, so that the borders between experts stay straight.
    """
    task = Task(seed)
    B = len(branches)
    new = Task(seed)
    new.rng.manual_seed(1000 + seed)
    x_new, new_target = new.tokens(NEW)
    bias = torch.zeros(1, N_EXPERTS)
    bias[0, 0] = head_start
    first = {
        "router": ROUTER * task.normal(2, N_EXPERTS),
        "router bias": bias,
        "W1": task.normal(N_EXPERTS, 2, D_FF) / 2**0.5,
        "b1": torch.zeros(N_EXPERTS, 1, D_FF),
        "W2": task.normal(N_EXPERTS, D_FF, 2) / D_FF**0.5,
        "b2": torch.zeros(N_EXPERTS, 1, 2),
    }
    own = {name: value.repeat(B, *[1] * value.dim()).requires_grad_() for name, value in first.items()}
    optimiser = torch.optim.Adam(own.values(), lr=LEARNING_RATE)
    selection = torch.zeros(B, 1, N_EXPERTS)

    def layer(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Outputs [B, T, 2], probabilities [B, T, E] and chosen experts [B, T]."""
        logits = x @ own["router"] + own["router bias"]
        p = logits.softmax(-1)
        experts = (logits + selection).argmax(-1)
        hidden = torch.relu(x @ own["W1"] + own["b1"])  # [B, E, T, d_ff]
        outputs = hidden @ own["W2"] + own["b2"]  # [B, E, T, 2]
        expert_outputs = outputs.gather(1, experts[:, None, :, None].expand(-1, 1, -1, 2))[:, 0]
        return p.gather(2, experts[..., None]) * expert_outputs, p, experts

    def share(experts: torch.Tensor) -> torch.Tensor:
        """The share of the tokens that each expert got: [B, E]."""
        return torch.zeros(B, N_EXPERTS).scatter_add(1, experts, torch.ones(experts.shape)) / experts.shape[1]

    snapshots = []
    for step in range(steps + 1):
        if step in STEPS:
            with torch.no_grad():
                y, _, experts = layer(x_new)
                routers = torch.cat([own["router"], own["router bias"] + selection], dim=1)
                snapshots.append(BranchSnapshot(routers.clone(), experts, (y - new_target).square().mean((1, 2))))
        on = [CURES[branch.cure] if step >= branch.when else CURES["none"] for branch in branches]
        x, target = task.tokens(TOKENS)
        y, p, experts = layer(x)
        load = share(experts)
        balance = torch.tensor([cure.alpha for cure in on]) * N_EXPERTS * (load * p.mean(1)).sum(1)
        loss = ((y - target).square().mean((1, 2)) + balance).sum()  # a sum of losses that share nothing
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        less = (load < 1 / N_EXPERTS).float() - (load > 1 / N_EXPERTS).float()
        selection = selection + torch.tensor([cure.u for cure in on])[:, None, None] * less[:, None]
    return RiverRun(x_new, snapshots, new_target.square().mean().item())


def scale(router: torch.Tensor) -> NDArray[np.float64]:
    """A router [3, E] as it is stored: [3, E − 1], the largest number 1, before it is rounded."""
    columns = router.double().numpy()
    difference: NDArray[np.float64] = columns[:, :-1] - columns[:, -1:]
    weights: NDArray[np.float64] = difference / np.abs(difference).max()
    return weights


def pack_branches(run: RiverRun) -> dict[str, str]:
    """The branches of a run as they are stored: of each, only what comes after its cure has begun."""
    places = [(b, n) for b, branch in enumerate(BRANCHES) for n in river.after(branch)]
    routers = np.stack([scale(run.snapshots[n].routers[b]) for b, n in places])
    errors = np.array([run.snapshots[n].errors[b].item() for b, n in places])
    return {
        "routers": river.pack(routers, river.ROUTER_UNIT, "<i2"),
        "errors": river.pack(errors, river.ERROR_UNIT, "<u2"),
    }


def count_moves(run: RiverRun) -> int:
    """The largest number of new tokens that go elsewhere by the rounding of what is stored, over all steps and branches."""
    points = np.rint(run.tokens.double().numpy() / river.TOKEN_UNIT) * river.TOKEN_UNIT
    most = 0
    for look in run.snapshots:
        for b in range(len(BRANCHES)):
            router = np.rint(scale(look.routers[b]) / river.ROUTER_UNIT) * river.ROUTER_UNIT
            experts = river.assign(np.pad(router, ((0, 0), (0, 1))), points)
            most = max(most, int((experts != look.experts[b].numpy()).sum()))
    return most


def summarise(run: RiverRun, branch: Branch, b: int) -> dict[str, Any]:
    """Numbers of one branch: the first stored step, after the cure has begun, at which every expert works; and after 240 and 3,000 steps how many
    experts are effective, the smallest share, the first expert's share and the error."""
    loads = [np.bincount(look.experts[b].numpy(), minlength=N_EXPERTS) / NEW for look in run.snapshots]
    working_steps = [STEPS[n] for n in river.after(branch) if loads[n].min() >= river.WORKING]
    numbers: dict[str, Any] = {"works": working_steps[0] if working_steps else None}
    for step in river.LOOKS:
        n = STEPS.index(step)
        numbers[str(step)] = {
            "effective": round(river.effective(loads[n]), 2),
            "smallest": round(float(loads[n].min()), 3),
            "first": round(float(loads[n][0]), 3),
            "error": round(run.snapshots[n].errors[b].item(), 4),
        }
    return numbers


def main() -> None:
    torch.set_num_threads(1)
    about: dict[str, Any] = {
        "made by": "python -m autograder.authoring.experiments.river",
        "shown": STORED_SEED,
        "fresh": FRESH,
        "new tokens": NEW,
        "settings": {
            "d_ff": D_FF,
            "tokens": TOKENS,
            "learning rate": LEARNING_RATE,
            "spread": SPREAD,
            "router": ROUTER,
        },
        "torch": torch.__version__.partition("+")[0],
    }
    runs = {head_start: train(STORED_SEED, head_start) for head_start in HEAD_STARTS}
    tokens = river.pack(runs[HEAD_STARTS[0]].tokens.double().numpy(), river.TOKEN_UNIT, "<i2")
    parts = {str(head_start): pack_branches(run) for head_start, run in runs.items()}
    about["tokens that rounding moves, at most"] = max(map(count_moves, runs.values()))
    others: Others = {str(head_start): {branch.key(): [] for branch in TOLD} for head_start in HEAD_STARTS}
    about["error of an output of 0"] = []
    for seed in FRESH:
        for head_start in HEAD_STARTS:
            write(about, tokens, parts, others)
            run = train(seed, head_start, TOLD)
            for b, branch in enumerate(TOLD):
                others[str(head_start)][branch.key()].append(summarise(run, branch, b))
        about["error of an output of 0"].append(round(run.nothing, 3))  # the same tokens with either head start
    write(about, tokens, parts, others)


def write(about: dict[str, Any], tokens: str, parts: dict[str, Any], others: Others) -> None:
    """Write what was found so far."""
    runs = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in parts.items())
    tables = []
    for head_start, branches in others.items():
        rows = ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(numbers, separators=(',', ':'))}" for key, numbers in branches.items()
        )
        tables.append(f'"{head_start}": {{\n{rows}}}')
    told = ",\n".join(tables)
    text = f'{{"about": {json.dumps(about)},\n"tokens": "{tokens}",\n"runs": {{\n{runs}}},\n"others": {{\n{told}}}}}\n'
    river.STORED.write_text(text, encoding="utf-8")
    done = [len(branches[PLAIN.key()]) for branches in others.values()]
    print(f"{done} of {len(FRESH)} fresh seeds, {len(text):,} bytes", flush=True)


if __name__ == "__main__":
    main()
