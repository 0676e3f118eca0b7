"""Notebook 01's tokens that become one: random stacks of attention, with and without skip, FFN and norm, up to 96 layers deep.

The runs of five seeds are stored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")

DEPTHS = (
    0,
    1,
    2,
    3,
    4,
    6,
    8,
    12,
    16,
    24,
    32,
    48,
    64,
    96,
)  # where the figure stops, and where the dots' places are kept
DEPTH, LENGTH = DEPTHS[-1], 14
SEEDS = range(5)
LAYERS = 6  # of the runs in float32 and of those whose logarithms are kept

Setting = tuple[bool, bool, bool]  # skip, FFN, norm
SETTINGS: list[Setting] = [
    (skip, ffn, norm) for skip in (False, True) for ffn in (False, True) for norm in (False, True)
]


def residuals(
    depth: int = DEPTH,
    skip: bool = False,
    ffn: bool = False,
    norm: bool = False,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> list[float]:
    """How far 14 random tokens of 64 numbers are from being one, before and after each of `depth` random layers.

    ‖X − mean over tokens‖ / ‖X‖, as a list of depth + 1 numbers, in four digits. A layer is attention with 4 heads and, with `ffn`, a ReLU
    network of width 256; each has a norm before it with `norm`, and its input is added with `skip`. In float32 there is attention alone,
    seed 0.

    Raises:
        ValueError: no such run is stored.
    """
    single = dtype == torch.float32
    if single and (skip or ffn or norm or seed):
        raise ValueError("in float32 only attention alone was run, with seed 0")
    most = LAYERS if single else DEPTH
    if not 0 <= depth <= most:
        raise ValueError(f"depth must be from 0 to {most}, not {depth}")
    if seed not in SEEDS:
        raise ValueError(f"seed must be from 0 to {SEEDS[-1]}, not {seed}")
    found: list[float] = read(STORED)["float32"] if single else stored((skip, ffn, norm))["residuals"][seed]
    return found[: depth + 1]


def cubed(layers: int = LAYERS, seed: int = 0) -> list[float]:
    """log₁₀ of the residuals of attention alone with one head of width 64, before and after each layer, far below what float64 can hold beside 1.

    They were computed with the rests alone, what a token has beside the mean of all, so that nothing was rounded away.

    Raises:
        ValueError: no such run is stored.
    """
    if not 0 <= layers <= LAYERS:
        raise ValueError(f"layers must be from 0 to {LAYERS}, not {layers}")
    if seed not in SEEDS:
        raise ValueError(f"seed must be from 0 to {SEEDS[-1]}, not {seed}")
    found: list[float] = read(STORED)["cubed"][seed]
    return found[: layers + 1]


def name(setting: Setting) -> str:
    return ", ".join(part for part, on in zip(("skip", "FFN", "norm"), setting, strict=True) if on) or "attention alone"


def stored(setting: Setting) -> dict[str, Any]:
    """What the last run of this module wrote of a setting: residuals [5][97], dots [14][14][2]."""
    found: dict[str, Any] = read(STORED)[name(setting)]
    return found
