"""Notebook 09's toy: a mixture of experts that learns eight linear maps, with a head start for expert 0 and cures against collapse.

`train` makes one run; the notebook calls it with the student's functions. `python -m ffnlab.experiments.balance` makes the runs of
the figure, all settings times three seeds, and writes balance.json beside this file.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.experiments import read

STORED = Path(__file__).with_suffix(".json")

N_EXPERTS = 8  # as many as clusters
D_MODEL, D_FF = 16, 32
TOKENS = 256  # a step
STEPS, EVERY = 300, 15  # the load is averaged over EVERY steps
LEARNING_RATE = 0.01
SEEDS = (0, 1, 2)

ALPHAS = (0.0, 0.001, 0.01, 0.1, 1.0)
HEAD_STARTS = (0, 1, 2, 3)
US = (0.0, 0.001, 0.01, 0.1)

Balance = Callable[
    [torch.Tensor, torch.Tensor], torch.Tensor
]  # router logits [T, E], chosen experts [T, 1] -> a number
Update = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # selection bias [E], counts [E] -> new selection bias


class Run(NamedTuple):
    """load[n, e]: the share of tokens that expert e got, at the first step, then averaged over every 15 steps.
    counts[e]: how many tokens it got in the last 15 steps. error: mean squared error on new tokens."""

    load: torch.Tensor
    counts: torch.Tensor
    error: float


class Task:
    """Tokens from eight clusters, equally frequent; in each cluster the right output is another linear map of the token."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(1000 + seed)
        self.centres = 2 * self.normal(N_EXPERTS, D_MODEL) / D_MODEL**0.5
        self.maps = self.normal(N_EXPERTS, D_MODEL, D_MODEL) / D_MODEL**0.5

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator)

    def tokens(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """x [count, d_model] and what should come out for it."""
        cluster = torch.randint(N_EXPERTS, (count,), generator=self.generator)
        x = self.centres[cluster] + 0.5 * self.normal(count, D_MODEL) / D_MODEL**0.5
        return x, torch.einsum("td,tdo->to", x, self.maps[cluster])


def train(seed: int, head_start: float = 3.0, balance: Balance | None = None, update: Update | None = None) -> Run:
    """One run: top-1 routing, the gate value not divided by itself, Adam.

    head_start is planted: it is added to expert 0's router logit at the start, as a bias that is then trained like all else.
    balance: an extra loss. update: called after each step with the selection bias, which takes part in the choice alone.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the products are small: several threads would wait for each other
    try:
        return _train(Task(seed), head_start, balance, update)
    finally:
        torch.set_num_threads(threads)


def _train(task: Task, head_start: float, balance: Balance | None, update: Update | None) -> Run:
    parameters = {
        "router": task.normal(D_MODEL, N_EXPERTS) / D_MODEL**0.5,
        "router bias": torch.tensor([head_start] + [0.0] * (N_EXPERTS - 1)),
        "W1": task.normal(N_EXPERTS, D_MODEL, D_FF) / D_MODEL**0.5,
        "b1": torch.zeros(N_EXPERTS, 1, D_FF),
        "W2": task.normal(N_EXPERTS, D_FF, D_MODEL) / D_FF**0.5,
    }
    for parameter in parameters.values():
        parameter.requires_grad_()
    optimiser = torch.optim.Adam(parameters.values(), lr=LEARNING_RATE)
    selection = torch.zeros(N_EXPERTS)

    def forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        logits = x @ parameters["router"] + parameters["router bias"]
        probability = logits.softmax(-1)
        chosen = (probability + selection).argmax(-1, keepdim=True)  # [T, 1]
        gates = torch.zeros_like(probability).scatter(1, chosen, probability.gather(1, chosen))
        hidden = torch.relu(x @ parameters["W1"] + parameters["b1"])  # [E, T, d_ff]
        return torch.einsum("te,etd->td", gates, hidden @ parameters["W2"]), logits, chosen

    loads = []
    for _ in range(STEPS):
        x, target = task.tokens(TOKENS)
        output, logits, chosen = forward(x)
        loss = F.mse_loss(output, target)
        if balance is not None:
            loss = loss + balance(logits, chosen)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        loads.append(torch.bincount(chosen.flatten(), minlength=N_EXPERTS))
        if update is not None:
            selection = update(selection, loads[-1])
    with torch.no_grad():
        x, target = task.tokens(4096)
        error = F.mse_loss(forward(x)[0], target).item()
    counts = torch.stack(loads)  # [steps, E]
    windows = counts.reshape(-1, EVERY, N_EXPERTS).sum(1)
    load = torch.cat([counts[:1] / TOKENS, windows / (TOKENS * EVERY)])
    return Run(load, windows[-1], error)


def cures(alpha: float, u: float) -> tuple[Balance | None, Update | None]:
    """Both cures by their formulas, for top-1 routing; None where they are off."""

    def balance(logits: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        load = torch.zeros(N_EXPERTS).index_add(0, chosen[:, 0], torch.ones(len(chosen)))
        return alpha * N_EXPERTS * (logits.softmax(1) @ load).sum() / len(chosen) ** 2

    def update(selection: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        even = counts.sum() / N_EXPERTS
        return selection + u * ((counts < even).float() - (counts > even).float())

    return balance if alpha else None, update if u else None


def summary(alpha: float, head_start: float, u: float) -> dict[str, Any]:
    """All seeds of one setting: the first seed's load in permille, and for each seed effective experts, dead experts, the fullest
    expert's load over the mean, and the error."""
    runs = [train(seed, head_start, *cures(alpha, u)) for seed in SEEDS]
    shares = [run.counts / run.counts.sum() for run in runs]
    return {
        "load": [[round(1000 * share) for share in row] for row in runs[0].load.tolist()],
        "effective": [round(torch.special.entr(share).sum().exp().item(), 2) for share in shares],
        "dead": [int((run.counts == 0).sum()) for run in runs],
        "fullest": [round(N_EXPERTS * share.max().item(), 2) for share in shares],
        "error": [round(run.error, 4) for run in runs],
    }


def name(alpha: float, head_start: float, u: float) -> str:
    """Under which name a setting is stored."""
    return f"alpha {alpha:g}, head start {head_start:g}, u {u:g}"


def stored() -> dict[str, Any]:
    """What the last run of this module wrote."""
    return read(STORED)


def main() -> None:
    torch.set_num_threads(1)
    begun = time.process_time()
    settings = list(itertools.product(ALPHAS, HEAD_STARTS, US))
    runs = {}
    for number, setting in enumerate(settings, 1):
        runs[name(*setting)] = summary(*setting)
        print(f"\r{number} of {len(settings)} settings", end="", flush=True)
    about = {
        "made by": "python -m ffnlab.experiments.balance",
        "seeds": SEEDS,
        "steps": STEPS,
        "every": EVERY,
        "torch": torch.__version__.partition("+")[0],
        "CPU seconds": round(time.process_time() - begun),
    }
    lines = ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in runs.items()
    )
    STORED.write_text(f'{{"about": {json.dumps(about)},\n"runs": {{\n{lines}\n}}}}\n', encoding="utf-8")
    print(f"\n{STORED.name}: {STORED.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
