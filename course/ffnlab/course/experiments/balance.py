"""Notebook 09's toy: a mixture of experts that learns eight linear maps, with a head start for expert 0 and cures against collapse.

`train` makes one run; the notebook calls it with the student's functions. The figure shows stored runs, all settings times five seeds.
What is said of training is told from fifteen others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")

N_EXPERTS = 8  # as many as clusters
D_MODEL, D_FF = 16, 32
TOKENS = 256  # a step
STEPS, EVERY = 300, 15  # the load is averaged over EVERY steps
LEARNING_RATE = 0.01
SEEDS = (0, 1, 2, 3, 4)  # of the runs that are drawn
FRESH = tuple(range(5, 20))  # those that all statements come from
NEW = 4096  # tokens on which a run is judged
LOOKS = (0, 30, 60, 120, 300)  # after so many steps the router is asked which cluster goes where

HEAD_STARTS = (0, 1, 2, 3)


class Cure(NamedTuple):
    """What is done against a collapse."""

    alpha: float = 0.0  # the weight of the balance loss
    u: float = 0.0  # the step of the selection bias
    # What experts are chosen by and weighted with: the logits' "softmax", or their "sigmoid", as the authors of the bias have it.
    scores: str = "softmax"


SOFTMAX = "bias with softmax scores, u = 0.01"
CURES = {
    "none": Cure(),
    **{f"loss, α = {alpha:g}": Cure(alpha=alpha) for alpha in (0.001, 0.01, 0.1, 1.0)},
    **{f"bias, u = {u:g}": Cure(u=u, scores="sigmoid") for u in (0.001, 0.01, 0.1)},
    "none, sigmoid scores": Cure(scores="sigmoid"),
    SOFTMAX: Cure(u=0.01),
}

TEXT_SETTINGS = (  # cure and head start of the settings that statements are about
    *(("none", head_start) for head_start in HEAD_STARTS),
    *(
        (cure, head_start)
        for cure in ("loss, α = 0.01", "loss, α = 1", "bias, u = 0.01", SOFTMAX)
        for head_start in (3, 0)
    ),
    *((cure, 3) for cure in ("loss, α = 0.001", "loss, α = 0.1", "bias, u = 0.001", "bias, u = 0.1")),
)

Balance = Callable[
    [torch.Tensor, torch.Tensor], torch.Tensor
]  # router logits [T, E], chosen experts [T, 1] -> a number
Update = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # selection bias [E], counts [E] -> new selection bias


class BalanceRun(NamedTuple):
    """Where the tokens went while a model was trained, and what it does with 4,096 new ones."""

    load: (
        torch.Tensor
    )  # [windows, E]: the share of tokens of each expert, at the first step, then averaged over every 15 steps
    counts: torch.Tensor  # [E]: how many tokens each got in the last 15 steps
    error: float  # the mean squared error on the new tokens
    nothing: float  # the error of an output of 0
    tables: (
        torch.Tensor
    )  # [looks, clusters, E]: how many new tokens of each cluster go to each expert after LOOKS steps
    gate: float  # the mean weight of the chosen expert


class BalanceTask:
    """Tokens from eight clusters, equally frequent; in each cluster the right output is another linear map of the token."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(1000 + seed)
        self.centres = 2 * self.normal(N_EXPERTS, D_MODEL) / D_MODEL**0.5
        self.maps = self.normal(N_EXPERTS, D_MODEL, D_MODEL) / D_MODEL**0.5

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator)

    def tokens(self, count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """x [count, d_model], what should come out for it, and the clusters that it comes from."""
        cluster = torch.randint(N_EXPERTS, (count,), generator=self.generator)
        x = self.centres[cluster] + 0.5 * self.normal(count, D_MODEL) / D_MODEL**0.5
        return x, torch.einsum("td,tdo->to", x, self.maps[cluster]), cluster


def train(
    seed: int,
    head_start: float = 3.0,
    balance: Balance | None = None,
    update: Update | None = None,
    scores: str = "softmax",
) -> BalanceRun:
    """One run: top-1 routing, the gate value not divided by itself, Adam.

    head_start is planted: it is added to expert 0's router logit at the start, as a bias that is then trained like all else.
    balance: an extra loss. update: called after each step with the selection bias, which takes part in the choice alone.
    scores: "softmax" or "sigmoid" of the logits; the expert with the largest score is chosen, and weighted with it.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the products are small: several threads would wait for each other
    try:
        return _train(BalanceTask(seed), head_start, balance, update, scores)
    finally:
        torch.set_num_threads(threads)


class _Mixture:
    """A router and its experts, while they are trained."""

    def __init__(self, task: BalanceTask, head_start: float, scores: str) -> None:
        self.scores = scores
        self.weights = task.normal(D_MODEL, N_EXPERTS) / D_MODEL**0.5  # of the router
        self.bias = torch.tensor([head_start] + [0.0] * (N_EXPERTS - 1))  # of the router
        self.W1 = task.normal(N_EXPERTS, D_MODEL, D_FF) / D_MODEL**0.5
        self.b1 = torch.zeros(N_EXPERTS, 1, D_FF)
        self.W2 = task.normal(N_EXPERTS, D_FF, D_MODEL) / D_FF**0.5
        self.parameters = [self.weights, self.bias, self.W1, self.b1, self.W2]
        for parameter in self.parameters:
            parameter.requires_grad_()
        self.selection = torch.zeros(N_EXPERTS)  # a bias for the choice alone

    def router(self) -> list[torch.Tensor]:
        """What decides where a token goes: weights, bias, and the bias for the choice alone."""
        return [self.weights, self.bias, self.selection]

    def route(
        self, x: torch.Tensor, router: list[torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits [T, E], the chosen expert [T, 1] and its gate [T, 1]; router: an earlier one."""
        weights, bias, selection = router or self.router()
        logits = x @ weights + bias
        score = logits.softmax(-1) if self.scores == "softmax" else logits.sigmoid()
        choice = (score + selection).argmax(-1, keepdim=True)
        return logits, choice, score.gather(1, choice)

    def output(self, x: torch.Tensor, choice: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        """What the chosen experts make of x, weighted: [T, d_model]."""
        hidden = torch.relu(x @ self.W1 + self.b1)  # [E, T, d_ff]
        gates = torch.zeros(len(gate), N_EXPERTS).scatter(1, choice, gate)
        return torch.einsum("te,etd->td", gates, hidden @ self.W2)


def _train(
    task: BalanceTask, head_start: float, balance: Balance | None, update: Update | None, scores: str
) -> BalanceRun:
    mixture = _Mixture(task, head_start, scores)
    optimiser = torch.optim.Adam(mixture.parameters, lr=LEARNING_RATE)
    loads, routers = [], []
    for step in range(STEPS):
        if step in LOOKS:
            routers.append([part.detach().clone() for part in mixture.router()])
        x, target, _ = task.tokens(TOKENS)
        logits, choice, gate = mixture.route(x)
        loss = F.mse_loss(mixture.output(x, choice, gate), target)
        if balance is not None:
            loss = loss + balance(logits, choice)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        loads.append(torch.bincount(choice.flatten(), minlength=N_EXPERTS))
        if update is not None:
            mixture.selection = update(mixture.selection, loads[-1])
    with torch.no_grad():
        x, target, cluster = task.tokens(NEW)
        _, choice, gate = mixture.route(x)
        error = F.mse_loss(mixture.output(x, choice, gate), target).item()
        goes = [mixture.route(x, earlier)[1][:, 0] for earlier in routers] + [choice[:, 0]]
        tables = torch.stack([torch.bincount(N_EXPERTS * cluster + to, minlength=N_EXPERTS**2) for to in goes])
    counts = torch.stack(loads)  # [steps, E]
    windows = counts.reshape(-1, EVERY, N_EXPERTS).sum(1)
    load = torch.cat([counts[:1] / TOKENS, windows / (TOKENS * EVERY)])
    nothing = target.square().mean().item()
    return BalanceRun(load, windows[-1], error, nothing, tables.reshape(-1, N_EXPERTS, N_EXPERTS), gate.mean().item())


def name(cure: str, head_start: float) -> str:
    """Under which name a setting is stored."""
    return f"{cure}, head start {head_start:g}"


def fresh(cure: str, head_start: float) -> dict[str, Any]:
    """Of one of TEXT_SETTINGS, by seed of FRESH: effective, dead, error, information, gate; and told, what the expert tells after LOOKS steps."""
    measures: dict[str, Any] = stored()["fresh"][name(cure, head_start)]
    return measures


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)
