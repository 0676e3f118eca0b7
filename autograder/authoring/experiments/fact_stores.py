"""Notebook 06: how many facts one recipe stores, what a fact rests on in stores that are more or less full, and the weights that are looked into.

`python -m autograder.authoring.experiments.fact_stores` trains some four hundred small FFNs and writes ffnlab's experiments/fact_stores.json and
fact_stores.safetensors: ten minutes of one CPU core.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from ffnlab.course.experiments.fact_stores import (
    ANSWERS,
    CHOICE,
    CROWDED_FACTS,
    CROWDED_WIDTH,
    D_MODEL,
    FACTS,
    FAST_RATE,
    FRESH,
    FULL,
    LEARNING_RATE,
    LONG_FACTS,
    LONG_STEPS,
    LONG_WIDTH,
    MOST_OUT,
    OUT,
    SEEDS,
    STEPS,
    STORE_FACTS,
    STORE_WIDTH,
    STORED,
    WEIGHTS,
    WIDE_CHOICE,
    WIDTHS,
    Facts,
    Store,
    facts,
)


def train_store(
    fact_set: Facts, width: int, seed: int, steps: int = STEPS, scaled: bool = False, falling: bool = False
) -> tuple[Store, float]:
    """A store of the given width, trained on all facts at once with Adam, and the share of the facts that it knows.

    scaled: scores are divided by √d_model in training, and the learning rate is FAST_RATE. falling: it falls to 0 in a straight line.
    """
    chance = torch.Generator().manual_seed(seed)

    def start(fan_in: int, *shape: int) -> torch.Tensor:
        bound = 1 / math.sqrt(fan_in)
        return ((2 * torch.rand(*shape, generator=chance) - 1) * bound).requires_grad_()

    keys, b1 = start(D_MODEL, width, D_MODEL), start(D_MODEL, width)
    values, b2 = start(width, width, D_MODEL), start(width, D_MODEL)

    def logits() -> torch.Tensor:
        return (fact_set.E + torch.relu(fact_set.E @ keys.T + b1) @ values + b2) @ fact_set.U.T

    rate, factor = (FAST_RATE, D_MODEL**-0.5) if scaled else (LEARNING_RATE, 1.0)
    adam = torch.optim.Adam([keys, b1, values, b2], lr=rate)
    for step in range(steps):
        if falling:
            adam.param_groups[0]["lr"] = rate * (1 - step / steps)
        adam.zero_grad()
        F.cross_entropy(factor * logits(), fact_set.y).backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        accuracy = float((logits().argmax(1) == fact_set.y).float().mean())
    return Store(keys.detach(), b1.detach(), values.detach(), b2.detach()), accuracy


class Opened:
    """A store with what its neurons do: h [N, f], their pushes along each answer [f, C], and the scores [N, C]."""

    def __init__(self, fact_set: Facts, store: Store) -> None:
        E, U, self.y = fact_set
        self.h = torch.relu(E @ store.keys.T + store.b1)
        self.pushes = store.values @ U.T
        self.scores = (E + self.h @ store.values + store.b2) @ U.T
        # [N, f]: what each neuron adds to the score of each fact's answer.
        self.contributions = self.h * self.pushes[:, self.y].T
        self.rank = self.contributions.argsort(descending=True)

    def lost(self, out: torch.Tensor) -> torch.Tensor:
        """Which facts are not known without the neurons `out`: [N]."""
        lost: torch.Tensor = (self.scores - self.h[:, out] @ self.pushes[out]).argmax(1) != self.y
        return lost


def open_fresh(count: int, width: int) -> Iterator[tuple[int, Opened]]:
    """Stores of the plain recipe, one for each of FRESH."""
    for seed in FRESH:
        fact_set = facts(count, seed)
        yield seed, Opened(fact_set, train_store(fact_set, width, seed)[0])


def measure_full(count: int) -> dict[str, list[float]]:
    """What `ffnlab.course.experiments.fact_stores.full` gives."""
    results: dict[str, list[float]] = {"known": [], "lost": [], "carriers": [], "lead": []}
    rows = torch.arange(count)
    for _, store in open_fresh(count, STORE_WIDTH):
        first = store.rank[:, 0]
        without = store.scores - store.h[rows, first, None] * store.pushes[first]
        helps = store.contributions.clamp(min=0)
        others = store.scores.clone()
        others[rows, store.y] = -torch.inf
        lead = store.scores[rows, store.y] - others.amax(1)
        found = {
            "known": (store.scores.argmax(1) == store.y).float().mean(),
            "lost": (without.argmax(1) != store.y).float().mean(),
            "carriers": (helps.sum(1) ** 2 / (helps**2).sum(1)).mean(),
            "lead": lead.median(),
        }
        for name, value in found.items():
            results[name].append(round(value.item(), 4))
    print(count, {name: (min(values), max(values)) for name, values in results.items()}, flush=True)
    return results


def measure_knockouts() -> tuple[dict[str, Any], dict[str, list[float]]]:
    """What `read_knockouts` and `read_alone` of `ffnlab.course.experiments.fact_stores` give."""
    knocked: dict[str, Any] = {what: {str(m): [] for m in OUT} for what in ("lost", "others", "chance")}
    alone: dict[str, list[float]] = {name: [] for name in ("alone", "nearly", "clean", "others")}
    for seed, store in open_fresh(STORE_FACTS, STORE_WIDTH):
        generator = torch.Generator().manual_seed(seed)
        for m in OUT:
            rows = []
            for n in range(0, STORE_FACTS, 4):
                active = store.h[n].nonzero()[:, 0]
                chosen = active[torch.randperm(len(active), generator=generator)[:m]]
                top, random = store.lost(store.rank[n, :m]), store.lost(chosen)
                rows.append([top[n].item(), (top.sum().item() - top[n].item()) / (STORE_FACTS - 1), random[n].item()])
            for what, column in zip(("lost", "others", "chance"), zip(*rows, strict=True), strict=True):
                knocked[what][str(m)].append(round(float(np.mean(column)), 4))
        fewest, first = zip(*(_others_lost(store, n) for n in range(0, STORE_FACTS, 8)), strict=True)
        alone["alone"].append(sum(number == 0 for number in fewest))
        alone["nearly"].append(sum(number <= 1 for number in fewest))
        alone["clean"].append(sum(number == 0 for number in first))
        alone["others"].append(round(float(np.mean(first)), 2))
    print(alone, flush=True)
    return knocked, alone


def _others_lost(store: Opened, n: int) -> tuple[int, int]:
    """How many others are lost with fact n: by the best choice of at most MOST_OUT of its CHOICE strongest neurons; strongest first."""
    fewest = STORE_FACTS
    for size in range(1, MOST_OUT + 1):
        for out in combinations(store.rank[n, :CHOICE].tolist(), size):
            lost = store.lost(torch.tensor(out))
            if lost[n]:
                fewest = min(fewest, int(lost.sum()) - 1)
    for m in range(1, STORE_WIDTH + 1):
        lost = store.lost(store.rank[n, :m])
        if lost[n]:
            return fewest, int(lost.sum()) - 1
    raise AssertionError("without all neurons a fact is still known")


def measure_wide() -> list[int]:
    """Of every eighth fact of each fresh store, how many can go alone by at most MOST_OUT of their WIDE_CHOICE strongest neurons."""
    alone = []
    for seed, store in open_fresh(STORE_FACTS, STORE_WIDTH):
        alone.append(sum(goes_alone(store, n, WIDE_CHOICE) for n in range(0, STORE_FACTS, 8)))
        print(seed, alone[-1], flush=True)
    return alone


def goes_alone(store: Opened, n: int, choice: int) -> bool:
    """Whether at most MOST_OUT of the `choice` strongest neurons of fact n delete it, and no other fact.

    The facts with the thinnest leads come first, because they rule out most groups: only what is left is tried on all facts.
    """
    rivals = store.scores.clone()
    rivals[torch.arange(STORE_FACTS), store.y] = -torch.inf
    leads = store.scores[torch.arange(STORE_FACTS), store.y] - rivals.amax(1)
    others = leads.argsort()
    others = others[others != n]
    strongest = store.rank[n, :choice].tolist()
    for size in range(1, MOST_OUT + 1):
        groups = torch.tensor(list(combinations(strongest, size)))  # [G, size]
        groups = groups[_wrong(store, groups, torch.tensor([n]))[:, 0]]
        for tried in (others[:32], others[32:]):
            kept = [~_wrong(store, part, tried).any(1) for part in groups.split(128)]  # type: ignore[no-untyped-call]
            groups = groups[torch.cat(kept)] if kept else groups
        if len(groups):
            return True
    return False


def _wrong(store: Opened, groups: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Which of the facts `rows` [R] are not known without each of the groups [G, size]: [G, R]."""
    h = store.h[rows][:, groups].transpose(0, 1)  # [G, R, size]
    scores = store.scores[rows] - h @ store.pushes[groups]  # [G, R, C]
    wrong: torch.Tensor = scores.argmax(2) != store.y[rows]
    return wrong


def packed(name: str, store: Store) -> dict[str, torch.Tensor]:
    """A store's weights as those of two linear layers, in half precision, whose steps are smaller than what a fact depends on."""
    parts = {
        "linear1.weight": store.keys,
        "linear1.bias": store.b1,
        "linear2.weight": store.values.T,
        "linear2.bias": store.b2,
    }
    return {f"{name}.{part}": tensor.half().contiguous() for part, tensor in parts.items()}


def shipped_weights() -> dict[str, torch.Tensor]:
    """Those of five stores of STORE_FACTS facts, and of one for each number of facts in FULL."""
    weights: dict[str, torch.Tensor] = {}
    for seed in SEEDS:
        weights |= packed(str(seed), train_store(facts(STORE_FACTS, seed), STORE_WIDTH, seed)[0])
    for count in FULL:
        weights |= packed(f"full {count}", train_store(facts(count, 0), STORE_WIDTH, 0)[0])
    return weights


def measure_accuracies(
    count: int, width: int, seeds: tuple[int, ...] = FRESH, steps: int = STEPS, **recipe: bool
) -> list[float]:
    """The shares of `count` facts that FFNs of one width know, one for each seed."""
    shares = [round(train_store(facts(count, seed), width, seed, steps, **recipe)[1], 4) for seed in seeds]
    print(count, width, steps, recipe, shares, flush=True)
    return shares


def run() -> None:
    torch.set_num_threads(1)
    save_file(shipped_weights(), WEIGHTS)
    weights, share = train_store(facts(STORE_FACTS, 0), STORE_WIDTH, 0)
    print("the store knows", share)
    knocked, alone = measure_knockouts()
    record = {
        "settings": {
            "d_model": D_MODEL,
            "answers": ANSWERS,
            "steps": STEPS,
            "lr": [LEARNING_RATE, FAST_RATE],
            "seeds": SEEDS,
            "fresh": FRESH,
        },
        "full": {str(count): measure_full(count) for count in FULL},
        "knocked": knocked,
        "alone": alone | {"wide": measure_wide()},
        "crowded": {
            "plain": measure_accuracies(CROWDED_FACTS, CROWDED_WIDTH),
            "scaled": measure_accuracies(CROWDED_FACTS, CROWDED_WIDTH, scaled=True),
            "long": measure_accuracies(LONG_FACTS, LONG_WIDTH, FRESH, LONG_STEPS, scaled=True, falling=True),
        },
        "accuracy": {
            str(count): {str(width): measure_accuracies(count, width, SEEDS, scaled=True) for width in WIDTHS}
            for count in FACTS
        },
        "store": {
            name: np.round(t.double().numpy(), 3).tolist() for name, t in zip(Store._fields, weights, strict=True)
        },
    }
    STORED.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
