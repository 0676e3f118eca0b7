"""Notebook 06: how many facts fit into an FFN of each width, and the weights of the stores that it looks into.

`python -m autograder.authoring.experiments.fact_stores` trains some four hundred small FFNs and writes ffnlab's experiments/fact_stores.json: ten minutes of
one CPU core.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from ffnlab.course.experiments.fact_stores import (
    ANSWERS,
    D_MODEL,
    FACTS,
    FRESH,
    LEARNING_RATE,
    LIMIT_FACTS,
    LIMIT_WIDTH,
    LONG_FACTS,
    LONG_STEPS,
    LONG_WIDTH,
    OUT,
    OVERLOAD,
    PER_NEURON,
    ROOM,
    SEEDS,
    STEPS,
    STORE_FACTS,
    STORE_WIDTH,
    STORED,
    WEIGHTS,
    WIDTHS,
    Facts,
    TrainedStore,
    facts,
)


def train_store(fact_set: Facts, width: int, seed: int, steps: int = STEPS) -> tuple[TrainedStore, float]:
    """A store of the given width, trained on all facts at once with Adam, and the share of the facts that it knows."""
    chance = torch.Generator().manual_seed(seed)

    def start(fan_in: int, *shape: int) -> torch.Tensor:
        bound = 1 / math.sqrt(fan_in)
        return ((2 * torch.rand(*shape, generator=chance) - 1) * bound).requires_grad_()

    keys, b1 = start(D_MODEL, width, D_MODEL), start(D_MODEL, width)
    values, b2 = start(width, width, D_MODEL), start(width, D_MODEL)
    first = keys.detach().clone(), b1.detach().clone()

    def logits() -> torch.Tensor:
        return (fact_set.E + torch.relu(fact_set.E @ keys.T + b1) @ values + b2) @ fact_set.U.T

    adam = torch.optim.Adam([keys, b1, values, b2], lr=LEARNING_RATE)
    for _ in range(steps):
        adam.zero_grad()
        F.cross_entropy(logits(), fact_set.y).backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        accuracy = float((logits().argmax(1) == fact_set.y).float().mean())
    return TrainedStore(keys.detach(), b1.detach(), values.detach(), b2.detach(), *first), accuracy


def with_room(count: int, width: int, sizes: tuple[int, ...], seeds: tuple[int, ...] = FRESH) -> dict[str, Any]:
    """What `ffnlab.course.experiments.fact_stores.room` gives."""
    fires: list[float] = []
    error_rates: dict[str, list[float]] = {str(m): [] for m in sizes}
    for seed in seeds:
        E, U, y = fact_set = facts(count, seed)
        store = train_store(fact_set, width, seed)[0]
        h = torch.relu(E @ store.keys.T + store.b1)  # [facts, neurons]
        scores, rank = (E + h @ store.values + store.b2) @ U.T, (h * (U[y] @ store.values.T)).argsort(descending=True)
        fires.append(round((h > 0).float().mean().item(), 4))
        for m in sizes:
            out = [scores[n] - h[n, rank[n, :m]] @ store.values[rank[n, :m]] @ U.T for n in range(count)]
            error_rates[str(m)].append(round((torch.stack(out).argmax(1) != y).float().mean().item(), 4))
    return {"fires": fires, "lost": error_rates}


def measure_knockouts() -> dict[str, Any]:
    """What `ffnlab.course.experiments.fact_stores.read_knockouts` gives, for every fourth fact."""
    results: dict[str, Any] = {what: {str(m): [] for m in OUT} for what in ("lost", "others", "most", "chance")}
    results |= {"fires": {"before": [], "after": []}, "agree": {"same": [], "others": []}}
    for seed in FRESH:
        E, U, y = fact_set = facts(STORE_FACTS, seed)
        store = train_store(fact_set, STORE_WIDTH, seed)[0]
        g = torch.Generator().manual_seed(seed)
        h = torch.relu(E @ store.keys.T + store.b1)  # [facts, neurons]
        scores, rank = (E + h @ store.values + store.b2) @ U.T, (h * (U[y] @ store.values.T)).argsort(descending=True)
        most, fires = h.argsort(descending=True), h > 0

        def wrong(
            out: torch.Tensor, scores: torch.Tensor, h: torch.Tensor, values: torch.Tensor, U: torch.Tensor
        ) -> torch.Tensor:
            """Which answers are other than right without the neurons `out`: [facts]."""
            answers: torch.Tensor = (scores - h[:, out] @ values[out] @ U.T).argmax(1)
            return answers

        for m in OUT:
            rows = []
            for n in range(0, STORE_FACTS, 4):
                active = fires[n].nonzero()[:, 0]
                neurons = active[torch.randperm(len(active), generator=g)[:m]]
                top, first, random = (
                    wrong(out, scores, h, store.values, U) != y for out in (rank[n, :m], most[n, :m], neurons)
                )
                rest = (top.sum() - top[n].int()) / (STORE_FACTS - 1)
                rows.append([top[n].item(), rest.item(), first[n].item(), random[n].item()])
            for what, column in zip(("lost", "others", "most", "chance"), zip(*rows, strict=True), strict=True):
                results[what][str(m)].append(round(float(np.mean(column)), 4))
        before = E @ store.first_keys.T + store.first_b1 > 0
        for name, state in (("before", before), ("after", fires)):
            results["fires"][name].append(round(state.double().mean().item(), 4))
        after = fires.double()
        agree = 1 - torch.cdist(after, after, p=1) / STORE_WIDTH  # the share of neurons on which two facts agree
        same, itself = y[:, None] == y, torch.eye(STORE_FACTS, dtype=torch.bool)
        for name, pairs in (("same", same & ~itself), ("others", ~same)):
            results["agree"][name].append(round(agree[pairs].mean().item(), 4))
    return results


def five_stores() -> dict[str, torch.Tensor]:
    """The weights of five stores, in half precision, whose steps are smaller than what a fact depends on."""
    weights: dict[str, torch.Tensor] = {}
    for seed in SEEDS:
        store = train_store(facts(STORE_FACTS, seed), STORE_WIDTH, seed)[0]
        parts = {
            "linear1.weight": store.keys,
            "linear1.bias": store.b1,
            "linear2.weight": store.values.T,
            "linear2.bias": store.b2,
        }
        weights |= {f"{seed}.{name}": part.half().contiguous() for name, part in parts.items()}
    return weights


def measure_accuracies(count: int, width: int, seeds: tuple[int, ...] = FRESH, steps: int = STEPS) -> list[float]:
    """The shares of `count` facts that FFNs of one width know, one for each seed."""
    shares = [round(train_store(facts(count, seed), width, seed, steps)[1], 3) for seed in seeds]
    print(count, width, steps, shares, flush=True)
    return shares


def fresh() -> dict[str, Any]:
    """What is stored of FRESH."""
    sizes = [(PER_NEURON * width, width) for width in WIDTHS[1:-1]]
    sizes += [(count, LIMIT_WIDTH) for count in LIMIT_FACTS] + [(count, LONG_WIDTH) for count in OVERLOAD]
    accuracies: dict[str, dict[str, list[float]]] = {}
    for count, width in sizes:
        accuracies.setdefault(str(count), {})[str(width)] = measure_accuracies(count, width)
    return {
        "fresh": accuracies,
        "room": {
            f"{count} facts, {width} neurons": with_room(count, width, out) for (count, width), out in ROOM.items()
        },
        "knocked": measure_knockouts(),
        "longer": measure_accuracies(LONG_FACTS, LONG_WIDTH, FRESH, LONG_STEPS),
    }


def run() -> None:
    torch.set_num_threads(1)

    table = {str(count): {str(width): measure_accuracies(count, width, SEEDS) for width in WIDTHS} for count in FACTS}
    fresh_results = fresh()
    save_file(five_stores(), WEIGHTS)
    weights, share = train_store(facts(STORE_FACTS, 0), STORE_WIDTH, 0)
    print("the store knows", share)
    settings = {
        "d_model": D_MODEL,
        "answers": ANSWERS,
        "steps": STEPS,
        "lr": LEARNING_RATE,
        "seeds": SEEDS,
        "fresh": FRESH,
    }
    store_weights = {
        name: np.round(t.double().numpy(), 3).tolist() for name, t in zip(TrainedStore._fields, weights, strict=True)
    }
    record = {"settings": settings, "accuracy": table, **fresh_results, "store": store_weights}
    STORED.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
