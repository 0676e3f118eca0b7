"""The one sentence and the one set of weights that the figures of several notebooks share.

Made from a seed, and rounded to two decimals so that numbers can be checked by hand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch

TOKENS = (
    "The",
    "creek",
    "was",
    "cold",
    "and",
    "the",
    "spunky",
    "dog",
    "wanted",
    "to",
    "jump",
    "over",
    "it",
    ".",
)
OTHER_TOKENS = (
    "The",
    "spring",
    "was",
    "warm",
    "and",
    "the",
    "lazy",
    "cat",
    "liked",
    "to",
    "sleep",
    "beside",
    "it",
    ".",
)
D_MODEL = 6
RATIOS = (("1", 1.0), ("2", 2.0), ("8/3", 8 / 3), ("4", 4.0), ("8", 8.0))
WIDEST = 8  # the widest FFN's d_ff / d_model; narrower ones are its first neurons
SEED = 367  # the sentence's vectors, at every ratio, then fit on one axis from -3 to 3


class Weights(NamedTuple):
    """One FFN act(x @ W1 + b1) @ W2 + b2: W1 [d_model, d_ff], b1 [d_ff], W2 [d_ff, d_model], b2 [d_model]."""

    W1: torch.Tensor
    b1: torch.Tensor
    W2: torch.Tensor
    b2: torch.Tensor


def embeddings(
    tokens: tuple[str, ...] = TOKENS, d_model: int = D_MODEL, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """One row per token, [T, d_model], mean 0 and mean square 1 up to rounding.

    The same word, with a capital letter or without, has the same row.
    """
    words = sorted({word.lower() for word in TOKENS + OTHER_TOKENS})
    rows = np.random.default_rng([SEED, d_model, 0]).standard_normal((len(words), d_model))
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= rows.std(axis=1, keepdims=True)
    return _tensor(rows[[words.index(word.lower()) for word in tokens]], dtype)


def weights(ratio: float = 4, d_model: int = D_MODEL, dtype: torch.dtype = torch.float32) -> Weights:
    """The shared FFN with d_ff = ratio · d_model hidden neurons.

    Another ratio takes more or fewer neurons of the same set; W2 is scaled to keep outputs equally large.
    Raises ValueError when ratio · d_model is not a whole number from 1 to 8 · d_model.
    """
    d_ff = round(ratio * d_model)
    if not (math.isclose(d_ff, ratio * d_model) and 1 <= d_ff <= WIDEST * d_model):
        raise ValueError(
            f"d_ff / d_model = {ratio:g} does not give a whole number of neurons, 1 to {WIDEST * d_model}, "
            f"for d_model = {d_model}"
        )
    rng = np.random.default_rng([SEED, d_model, 1])
    widest = WIDEST * d_model
    w1 = 0.9 * rng.standard_normal((d_model, widest)) / math.sqrt(d_model)
    b1 = 0.3 * rng.standard_normal(widest)
    w2 = rng.standard_normal((widest, d_model)) * math.sqrt(1.6 / d_ff)
    b2 = 0.2 * rng.standard_normal(d_model)
    return Weights(
        _tensor(w1[:, :d_ff], dtype), _tensor(b1[:d_ff], dtype), _tensor(w2[:d_ff], dtype), _tensor(b2, dtype)
    )


def _tensor(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], dtype: torch.dtype) -> torch.Tensor:
    return torch.from_numpy(np.round(values, 2)).to(dtype)
