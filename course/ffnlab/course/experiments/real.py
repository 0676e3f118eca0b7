"""Notebook 11: what was measured on a real model, all-MiniLM-L6-v2. The file itself is no part of the course; `real_file` fetches it.

`python -m autograder.authoring.experiments.real` measures, where the file is, and writes real.json and real.safetensors; this module reads them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file

from ffnlab.course.experiments import read

STORED = Path(__file__).with_suffix(".json")
LOUDNESS = Path(__file__).with_suffix(".safetensors")

D_FF, LAYERS = 1536, 6
STEPS = 10  # stored activations are whole tenths
LOUDER = 1.0  # a neuron tells a pair apart if it is louder by more than this

HEARS = (2, 1265)  # layer and number of the neuron that the notebook is about
WORD = (0, 829)
LAMPS = {
    "A": (0, 55),
    "B": (2, 1265),
    "C": (3, 797),
    "D": (0, 856),
    "E": (0, 113),
    "F": (0, 829),
    "G": (0, 1049),
    "H": (0, 1038),
}
"""The first board's eight neurons. 1265 and 856 were known before; 829, 113, 797 and 1049 as well, from other sentences; 55 and 1038 were the best of the
first six pairs of their subject, and the other six agree."""

NAMES = {
    "A": "an animal",
    "B": "not",
    "C": "music",
    "D": "the beginning",
    "E": "a part of the body",
    "F": "not",
    "G": "a vehicle",
    "H": "a relative",
}


class Replacement(NamedTuple):
    """What takes the FFNs' place, and how a figure calls it."""

    key: str
    name: str


REPLACEMENTS = (
    Replacement("themselves", "the FFNs themselves"),
    Replacement("zero", "zero"),
    Replacement("mean of all", "the mean of all tokens"),
    Replacement("mean by kind", "[CLS]’s mean, [SEP]’s mean, the words’ mean"),
)


def stored() -> dict[str, Any]:
    """What the last measurement wrote.

    "shapes": by tensor, its shape. "lamps": by sentence, its tokens and the eight neurons in tenths, [tokens, 8]. "free": the same of the two neurons 829
    and 1265. "sieve": by number of pairs, for each of 100 draws how many neurons tell all of them apart, how many of those 9 of 10 of the manual's, and
    how many by luck. "nearly": neurons that tell 8 of 10 of the manual's apart: layer, number, pairs. "manual": what is counted in Python's manual.
    "kinds": by neuron and kind of *not*, mean, least and most of 30 sentences. "topics": by lamp, how many of six pairs it tells apart, and of six others;
    the first six have chosen A and H. "off": by neuron of layer 2, how much nearer 20 pairs come without it, and in how many; "off word": the same of 829.
    "off all": the same on all of the manual's pairs, for four neurons. "twins off": how far being without 1265 moves twins; "twins loud": how loud it is in
    both sentences. "replaced": by what takes the FFNs' place, counts and likenesses. "mistakes": by mistake in a half of a block, what it does.
    """
    return read(STORED)


@cache
def loudness() -> dict[str, torch.Tensor]:
    """Of our sixteen pairs, how loud each of the 9,216 neurons is at most: "with" and "without" the negation, [16, 9216].

    "hits": how many pairs of Python's manual each tells apart, [9216].
    """
    return {name: tensor.float() / (1 if name == "hits" else STEPS) for name, tensor in load_whole().items()}


def load_whole() -> dict[str, torch.Tensor]:
    """The same as it is stored, in whole tenths."""
    tensors: dict[str, torch.Tensor] = load_file(LOUDNESS)
    return tensors


def place(neuron: int) -> str:
    """Where one of the 9,216 neurons is, in words."""
    layer, number = divmod(int(neuron), D_FF)
    return f"neuron {number} of layer {layer}"
