"""Notebook 09's toy with the cures by their formulas, which are what the notebook asks for.

`python -m autograder.authoring.experiments.balance` makes fifteen runs of every cure, with the head start and without, and fifteen longer ones of
three, and writes ffnlab's experiments/balance.json: six minutes of one core.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import torch

from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments.balance import (
    CURES,
    FRESH,
    HEAD_STARTS,
    LONG,
    LONG_CURES,
    N_EXPERTS,
    QUIZ,
    QUIZ_SEED,
    STEPS,
    STORED,
    BalanceRun,
    name,
    train,
)


def information(table: torch.Tensor) -> float:
    """How much of a token's cluster its expert tells, from 0 to 1: mutual information over the entropy of the clusters."""
    joint = table.double() / table.sum()
    entropy = torch.special.entr
    clusters, experts = entropy(joint.sum(1)).sum(), entropy(joint.sum(0)).sum()
    share: torch.Tensor = (clusters + experts - entropy(joint).sum()) / clusters
    return share.item()


def step(logits: torch.Tensor, experts: torch.Tensor, selection: torch.Tensor, u: float) -> dict[str, torch.Tensor]:
    """Loss and new selection bias by their formulas, for top-1 routing."""
    load = torch.zeros(N_EXPERTS).index_add(0, experts[:, 0], torch.ones(len(experts)))
    even = len(experts) / N_EXPERTS
    return {
        "loss": N_EXPERTS * (logits.softmax(1) @ load).sum() / len(experts) ** 2,
        "bias": selection + u * ((load < even).float() - (load > even).float()),
    }


def train_with_cure(cure: str, head_start: float, seed: int, steps: int = STEPS) -> BalanceRun:
    """One run with one of CURES."""
    return train(seed, head_start, step, CURES[cure], steps)


def longer_errors(cure: str) -> list[float]:
    """The errors of the longer runs with a cure, after the head start, by seed of FRESH."""
    return [round(train_with_cure(cure, HEAD_STARTS[0], seed, LONG).error, 4) for seed in FRESH]


def tokens_by_expert(cure: str) -> list[int]:
    """Which percentages of the tokens of cluster 0 go to each expert, without a head start."""
    first = train_with_cure(cure, 0, QUIZ_SEED).table[0]
    return [round(100 * count / int(first.sum())) for count in first.tolist()]


def numbers(runs: list[BalanceRun]) -> dict[str, Any]:
    """Of each run effective experts, dead experts, the error, what the expert tells of the cluster, and the gate."""
    shares = [run.counts / run.counts.sum() for run in runs]
    return {
        "effective": [round(torch.special.entr(share).sum().exp().item(), 2) for share in shares],
        "dead": [int((run.counts == 0).sum()) for run in runs],
        "error": [round(run.error, 4) for run in runs],
        "information": [round(information(run.table), 2) for run in runs],
        "gate": [round(run.gate, 2) for run in runs],
    }


def main() -> None:
    torch.set_num_threads(1)
    start = time.process_time()
    results, nothing = {}, []
    for cure, head_start in itertools.product(CURES, HEAD_STARTS):
        runs = [train_with_cure(cure, head_start, seed) for seed in FRESH]
        results[name(cure, head_start)] = numbers(runs)
        nothing = [round(run.nothing, 3) for run in runs]  # the same tokens in every setting
        print(name(cure, head_start), results[name(cure, head_start)]["error"], flush=True)
    longer = {cure: longer_errors(cure) for cure in LONG_CURES}
    about = {
        "fresh": FRESH,
        "steps": STEPS,
        "steps of the longer runs": LONG,
        "error of an output of 0": nothing,
        "torch": TORCH,
        "CPU seconds": round(time.process_time() - start),
    }
    write(
        STORED,
        {"about": about},
        {"fresh": results, "longer": longer, "tokens of cluster 0": {cure: tokens_by_expert(cure) for cure in QUIZ}},
    )


if __name__ == "__main__":
    main()
