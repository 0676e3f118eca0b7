"""Notebook 07: plain and gated FFNs of equally many weights learn facts by heart.

`python -m ffnlab.course.experiments.contest` writes contest.json beside this file: three minutes of one CPU core.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.course.experiments import read
from ffnlab.course.progress_bar import bar

STORED = Path(__file__).with_suffix(".json")
FACTS, D_MODEL, ANSWERS = 512, 32, 64
FRESH = 15  # stored runs of each kind; a notebook's own runs have other facts
Compute = Callable[..., torch.Tensor]  # x and the weights to a tensor like x

PLAIN: dict[str, Compute] = {"identity": lambda h: h, "ReLU": F.relu, "GELU": F.gelu, "SiLU": F.silu}
GATED: dict[str, Compute] = {
    "GLU": torch.sigmoid,
    "Bilinear": lambda h: h,
    "ReGLU": F.relu,
    "GEGLU": F.gelu,
    "SwiGLU": F.silu,
}
FEW = ("SiLU", "Bilinear", "SwiGLU")  # that take part in more than one setting


class ContestSetting(NamedTuple):
    """How a contest is held: the width of the plain FFNs, of which gated ones get two thirds; steps and learning rate of Adam; who takes part."""

    d_ff: int
    steps: int
    rate: float
    kinds: tuple[str, ...]


SETTINGS = {
    "18 and 12 neurons, 400 steps": ContestSetting(18, 400, 0.01, (*PLAIN, *GATED)),
    "15 and 10 neurons": ContestSetting(15, 400, 0.01, FEW),
    "1,200 steps": ContestSetting(18, 1200, 0.01, FEW),
    "24 and 16 neurons": ContestSetting(24, 400, 0.01, FEW),
    "learning rate 0.003": ContestSetting(18, 400, 0.003, FEW),
    "learning rate 0.03": ContestSetting(18, 400, 0.03, FEW),
}
FAIR = next(iter(SETTINGS))


def compute(kind: str) -> Compute:
    """The FFN of this kind, without biases, as a function of x and its matrices."""
    if kind in GATED:
        act = GATED[kind]
        return lambda x, Wg, Wu, Wd: (act(x @ Wg) * (x @ Wu)) @ Wd
    act = PLAIN[kind]
    return lambda x, W1, W2: act(x @ W1) @ W2


def count_weights(kind: str, d_ff: int) -> int:
    """How many weights a kind has in a contest whose plain FFNs are so wide."""
    return 3 * D_MODEL * (2 * d_ff // 3) if kind in GATED else 2 * D_MODEL * d_ff


def learn(kind: str, own: Compute | None = None, *, seed: int = 0, runs: int = 1, setting: str = FAIR) -> list[float]:
    """The share of its facts that each of `runs` FFNs knows after training, side by side from random starts.

    own: in place of `compute(kind)`, a function of x and its matrices. With one run its x is [FACTS, D_MODEL], with more they come in front.
    """
    d_ff, steps, rate, _ = SETTINGS[setting]
    ffn, many = own or compute(kind), (runs,) if runs > 1 else ()
    g = torch.Generator().manual_seed(seed)
    x, U = torch.randn(*many, FACTS, D_MODEL, generator=g), torch.randn(*many, D_MODEL, ANSWERS, generator=g)
    y = torch.randint(ANSWERS, (*many, FACTS), generator=g)
    width = 2 * d_ff // 3 if kind in GATED else d_ff
    shapes = [(D_MODEL, width)] * (2 if kind in GATED else 1) + [(width, D_MODEL)]
    weights = [(torch.randn(*many, *shape, generator=g) / shape[0] ** 0.5).requires_grad_() for shape in shapes]
    optimizer = torch.optim.Adam(weights, lr=rate)

    def scores() -> torch.Tensor:
        every: torch.Tensor = (x + ffn(x, *weights)) @ (U / D_MODEL**0.5)  # [..., FACTS, ANSWERS]
        return every

    for _ in bar(steps, kind):
        optimizer.zero_grad()
        loss = F.cross_entropy(scores().flatten(0, -2), y.flatten(), reduction="sum") / FACTS
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    known = (scores().argmax(-1) == y).double().mean(-1)
    return [float(share) for share in known.reshape(-1)]


def fresh(setting: str, kind: str) -> list[float]:
    """What FRESH stored runs know at the end, a share of the facts each."""
    shares: list[float] = read(STORED)[setting][kind]
    return shares


def run() -> None:
    torch.set_num_threads(1)
    results: dict[str, Any] = {
        setting: {
            kind: [round(share, 4) for share in learn(kind, seed=1, runs=FRESH, setting=setting)]
            for kind in entrants.kinds
        }
        for setting, entrants in SETTINGS.items()
    }
    STORED.write_text(json.dumps(results) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
