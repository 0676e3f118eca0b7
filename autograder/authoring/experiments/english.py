"""Notebook 10's English: the four kinds of feed-forward part on text that they have not seen, from fifteen seeds.

`python -m autograder.authoring.experiments.english` writes ffnlab's experiments/english.json: about thirty-five minutes of one core.
"""

from __future__ import annotations

import time

import torch
from torch import nn

from autograder.authoring.experiments.capstone import EXPERTS, TOP_K, PreNormBlock
from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course.experiments.english import (
    BATCH,
    D_MODEL,
    LONGEST,
    MODELS,
    N_HEADS,
    SEEDS,
    STEPS,
    STORED,
    Writer,
    learn,
    paragraphs,
)

SHORT = 60  # the steps of a run that a test can repeat


def blocks(name: str) -> list[nn.Module]:
    """Fresh blocks of one of MODELS."""
    number, kind, width = MODELS[name]
    return [PreNormBlock(kind, width, D_MODEL, N_HEADS) for _ in range(number)]


def counts(name: str) -> dict[str, int]:
    """Parameters of the blocks, in total and active for one token."""
    number, kind, width = MODELS[name]
    total = sum(p.numel() for block in blocks(name) for p in block.parameters())
    idle = 3 * D_MODEL * width * (EXPERTS - TOP_K) * number if kind == "moe" else 0
    return {"total": total, "active": total - idle}


def run(name: str, seed: int, steps: int = STEPS) -> float:
    """The held-out loss of one model, in bits per character."""
    torch.manual_seed(seed)
    return learn(Writer(blocks(name)), steps, seed)


def main() -> None:
    torch.set_num_threads(1)
    bits, seconds = {}, {}
    for name in MODELS:
        start = time.process_time()
        bits[name] = [round(run(name, seed), 4) for seed in SEEDS]
        seconds[name] = round((time.process_time() - start) / len(SEEDS), 1)
        print(f"{name:18} {counts(name)} bits per character {bits[name]}, {seconds[name]} CPU seconds each", flush=True)
    settings = {
        "d_model": D_MODEL,
        "n_heads": N_HEADS,
        "steps": STEPS,
        "tokens a step": BATCH * LONGEST,
        "seeds": SEEDS,
    }
    about = {
        "settings": settings,
        "characters": sum(map(len, paragraphs())),
        "torch": TORCH,
        "counts": {name: counts(name) for name in MODELS},
        "CPU seconds": seconds,
        "bits per character": bits,
        f"bits after {SHORT} steps of seed 0": {name: round(run(name, 0, SHORT), 4) for name in MODELS},
    }
    write(STORED, about)


if __name__ == "__main__":
    main()
