"""Notebook 09's toy: a mixture of experts that learns eight linear maps, with or without a head start for expert 0, and cures against collapse.

`train` makes one run; the notebook calls it with the student's own step. Fifteen runs of every cure are stored, with the head start and without,
and all of them are drawn. Fifteen runs of twice as many steps tell whether a cure that is too slow needs no more than time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")

N_EXPERTS = 8  # as many as clusters
D_MODEL, D_FF = 16, 32
TOKENS = 256  # a step
STEPS, WINDOW = 300, 15  # a load is counted over the last WINDOW steps
LONG = 600  # steps of the longer runs
LEARNING_RATE = 0.01
SEEDS = (0, 1, 2, 3, 4)  # on which the recipe was chosen
FRESH = tuple(range(5, 20))  # of the runs that are stored
NEW = 4096  # tokens on which a run is judged

HEAD_STARTS = (3, 0)  # planted, not planted
QUIZ = ("loss, α = 1", "loss, α = 0.01")  # of CURES, whose routing a quiz shows
QUIZ_SEED = 8  # one of FRESH


class Cure(NamedTuple):
    """What is done against a collapse."""

    alpha: float = 0.0  # the weight of the balance loss
    u: float = 0.0  # the step of the selection bias
    # What experts are chosen by and weighted with: the logits' "softmax", or their "sigmoid", as the authors of the bias have it.
    scores: str = "softmax"


SOFTMAX = "bias, u = 0.01, softmax"
SIGMOID = "none, sigmoid"
SLOW = "bias, u = 0.001"
NO_CURE = Cure()
CURES = {
    "none": NO_CURE,
    **{f"loss, α = {alpha:g}": Cure(alpha=alpha) for alpha in (0.001, 0.01, 0.1, 1.0)},
    SOFTMAX: Cure(u=0.01),
    SIGMOID: Cure(scores="sigmoid"),
    **{f"bias, u = {u:g}": Cure(u=u, scores="sigmoid") for u in (0.001, 0.01, 0.1)},
}

LONG_CURES = ("none", SIGMOID, SLOW)  # of the longer runs, which begin with the head start

# Of a training step: router logits [T, E], chosen experts [T, 1], selection bias [E] and its step u -> at least "loss", a number with a gradient
# to the logits, and "bias", the new selection bias [E].
Step = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, float], Mapping[str, Any]]


class BalanceRun(NamedTuple):
    """What came of a run, on 4,096 new tokens where nothing else is said."""

    counts: torch.Tensor  # [E]: how many tokens each expert got in the last WINDOW steps
    error: float  # the mean squared error
    nothing: float  # the error of an output of 0
    table: torch.Tensor  # [clusters, E]: how many tokens of each cluster go to each expert
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
    seed: int, head_start: float = 3.0, step: Step | None = None, cure: Cure = NO_CURE, steps: int = STEPS
) -> BalanceRun:
    """One run: top-1 routing, the gate value not divided by itself, Adam.

    head_start is planted: it is added to expert 0's router logit at the start, as a bias that is then trained like all else.
    step: called in each training step; its loss counts with the weight cure.alpha, and its bias takes part in the next choice alone.
    cure.scores: "softmax" or "sigmoid" of the logits; the expert with the largest score is chosen, and weighted with it.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the products are small: several threads would wait for each other
    try:
        return _train(BalanceTask(seed), head_start, step, cure, steps)
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

    def route(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits [T, E], the chosen expert [T, 1] and its gate [T, 1]."""
        logits = x @ self.weights + self.bias
        score = logits.softmax(-1) if self.scores == "softmax" else logits.sigmoid()
        choice = (score + self.selection).argmax(-1, keepdim=True)
        return logits, choice, score.gather(1, choice)

    def output(self, x: torch.Tensor, choice: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        """What the chosen experts make of x, weighted: [T, d_model]."""
        hidden = torch.relu(x @ self.W1 + self.b1)  # [E, T, d_ff]
        gates = torch.zeros(len(gate), N_EXPERTS).scatter(1, choice, gate)
        return torch.einsum("te,etd->td", gates, hidden @ self.W2)


def _train(task: BalanceTask, head_start: float, step: Step | None, cure: Cure, steps: int) -> BalanceRun:
    mixture = _Mixture(task, head_start, cure.scores)
    optimiser = torch.optim.Adam(mixture.parameters, lr=LEARNING_RATE)
    counts = []
    for _ in range(steps):
        x, target, _ = task.tokens(TOKENS)
        logits, choice, gate = mixture.route(x)
        loss = F.mse_loss(mixture.output(x, choice, gate), target)
        if step is not None:
            found = step(logits, choice, mixture.selection, cure.u)
            loss = loss + cure.alpha * found["loss"]
            mixture.selection = found["bias"]
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        counts.append(torch.bincount(choice.flatten(), minlength=N_EXPERTS))
    with torch.no_grad():
        x, target, cluster = task.tokens(NEW)
        _, choice, gate = mixture.route(x)
        error = F.mse_loss(mixture.output(x, choice, gate), target).item()
        table = torch.bincount(N_EXPERTS * cluster + choice[:, 0], minlength=N_EXPERTS**2).reshape(-1, N_EXPERTS)
    return BalanceRun(
        torch.stack(counts[-WINDOW:]).sum(0), error, target.square().mean().item(), table, gate.mean().item()
    )


def name(cure: str, head_start: float) -> str:
    """Under which name a setting is stored."""
    return f"{cure}, head start {head_start:g}"


def fresh(cure: str, head_start: float) -> dict[str, Any]:
    """Of one of CURES, by seed of FRESH: effective, dead, error, information and gate."""
    measures: dict[str, Any] = stored()["fresh"][name(cure, head_start)]
    return measures


def longer(cure: str) -> list[float]:
    """Of one of LONG_CURES after the head start, the errors after LONG steps, by seed of FRESH."""
    errors: list[float] = stored()["longer"][cure]
    return errors


def tokens_by_expert(cure: str) -> list[int]:
    """Of one of QUIZ, without a head start: which percentages of the tokens of cluster 0 go to each expert, in a run of FRESH."""
    percent: list[int] = stored()["tokens of cluster 0"][cure]
    return percent


def table() -> str:
    """Means of every cure as a table of Markdown: effective experts and the error with the head start; the same without it.

    Without it also what the chosen expert tells of the cluster, and its weight.
    """
    planted, plain = HEAD_STARTS
    lines = [
        f"| | head start {planted}: experts | error | no head start: experts | error | no head start: tells | weight |",
        "|---|---|---|---|---|---|---|",
    ]
    for cure in CURES:
        with_start, without = (
            {what: statistics.fmean(values) for what, values in fresh(cure, head_start).items()}
            for head_start in (planted, plain)
        )
        lines.append(
            f"| {cure} | {with_start['effective']:.1f} | {with_start['error']:.4f} | {without['effective']:.1f} | {without['error']:.4f} "
            f"| {without['information']:.2f} | {without['gate']:.2f} |"
        )
    return "\n".join(lines)


def stored() -> dict[str, Any]:
    """What the last run of the maker wrote."""
    return read(STORED)
