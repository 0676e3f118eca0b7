"""Notebook 09's toy with the cures by their formulas, which are what the notebook asks for.

`python -m autograder.authoring.experiments.balance` makes all settings times five seeds, those that are told of
times fifteen more, and writes ffnlab's experiments/balance.json: five minutes of one core.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import torch

from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments.balance import (
    CURES,
    EVERY,
    FRESH,
    HEAD_STARTS,
    LOOKS,
    N_EXPERTS,
    SEEDS,
    STEPS,
    STORED,
    TEXT_SETTINGS,
    Balance,
    BalanceRun,
    Cure,
    Update,
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


def functions(cure: Cure) -> tuple[Balance | None, Update | None]:
    """Loss and bias of a cure by their formulas, for top-1 routing; None where they are off."""

    def balance(logits: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
        load = torch.zeros(N_EXPERTS).index_add(0, experts[:, 0], torch.ones(len(experts)))
        return cure.alpha * N_EXPERTS * (logits.softmax(1) @ load).sum() / len(experts) ** 2

    def update(selection: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        even = counts.sum() / N_EXPERTS
        return selection + cure.u * ((counts < even).float() - (counts > even).float())

    return balance if cure.alpha else None, update if cure.u else None


def train_with_cure(cure: str, head_start: float, seed: int) -> BalanceRun:
    """One run with one of CURES."""
    balance, update = functions(CURES[cure])
    return train(seed, head_start, balance, update, CURES[cure].scores)


def numbers(runs: list[BalanceRun]) -> dict[str, Any]:
    """Of each run effective experts, dead experts, the error and the gate; and what the expert tells of the cluster after LOOKS steps, run by
    run, of which "information" is the last."""
    shares = [run.counts / run.counts.sum() for run in runs]
    information_rows = [[round(information(table), 2) for table in run.tables] for run in runs]
    return {
        "effective": [round(torch.special.entr(share).sum().exp().item(), 2) for share in shares],
        "dead": [int((run.counts == 0).sum()) for run in runs],
        "error": [round(run.error, 4) for run in runs],
        "told": [list(seeds) for seeds in zip(*information_rows, strict=True)],
        "information": [seed[-1] for seed in information_rows],
        "gate": [round(run.gate, 2) for run in runs],
    }


def summary(runs: list[BalanceRun]) -> dict[str, Any]:
    """What is drawn of one setting: the first run's load in permille and its tables of clusters and experts in percent of a cluster, and `numbers`."""
    first = runs[0].tables / runs[0].tables.sum(2, keepdim=True)
    return {
        "load": [[round(1000 * share) for share in row] for row in runs[0].load.tolist()],
        "tables": [[[round(100 * share) for share in row] for row in table] for table in first.tolist()],
        **numbers(runs),
    }


def fresh() -> tuple[list[float], dict[str, dict[str, Any]]]:
    """Of FRESH: the error of an output of 0, and the `numbers` of TEXT_SETTINGS."""
    results, nothing = {}, []
    for setting in TEXT_SETTINGS:
        runs = [train_with_cure(*setting, seed) for seed in FRESH]
        results[name(*setting)] = numbers(runs)
        nothing = [round(run.nothing, 3) for run in runs]  # the same tokens in every setting
        print(setting, results[name(*setting)]["error"], flush=True)
    return nothing, results


def main() -> None:
    torch.set_num_threads(1)
    start = time.process_time()
    summaries = {}
    nothing: list[float] = []
    settings = list(itertools.product(CURES, HEAD_STARTS))
    for number, (cure, head_start) in enumerate(settings, 1):
        runs = [train_with_cure(cure, head_start, seed) for seed in SEEDS]
        summaries[name(cure, head_start)] = summary(runs)
        nothing = nothing or [round(run.nothing, 3) for run in runs]  # the same tokens in every setting
        print(f"{number} of {len(settings)} settings, {time.process_time() - start:.0f} CPU seconds", flush=True)
    of_fresh, fresh_results = fresh()
    about = {
        "seeds": SEEDS,
        "fresh": FRESH,
        "steps": STEPS,
        "every": EVERY,
        "looks": LOOKS,
        "error of an output of 0": nothing,
        "error of an output of 0, fresh": of_fresh,
        "torch": TORCH,
        "CPU seconds": round(time.process_time() - start),
    }
    write(STORED, {"about": about}, {"runs": summaries, "fresh": fresh_results})


if __name__ == "__main__":
    main()
