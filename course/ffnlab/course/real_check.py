"""The reader's `real_half` in all six blocks of the real model: how far its vectors are from the model's own, and which mistake makes just these vectors.

A check names a mistake on a little model with drawn numbers, so that it can be graded anywhere. Here the same is done with the real numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.course import real_file, real_model
from ffnlab.course.experiments import real, real_sentences
from ffnlab.observation.exercise import describe_result

CLOSE = 1e-5  # how near vectors have to be, number by number
TEXTS = [text for pair in (*real_sentences.OURS[:4], *real_sentences.TWINS[:4]) for text in pair]

RealHalf = Callable[..., Any]  # (x [B, T, d_model], layer, W, act) -> [B, T, d_model]
Norm = Callable[[torch.Tensor], torch.Tensor]


class ModelParts(NamedTuple):
    """What a half of a block is made of; matrices [in, out]."""

    W1: torch.Tensor
    b1: torch.Tensor
    W2: torch.Tensor
    b2: torch.Tensor
    norm: Norm

    def ffn(self, x: torch.Tensor) -> torch.Tensor:
        """What the FFN writes."""
        return F.gelu(x @ self.W1 + self.b1) @ self.W2 + self.b2


def _norm(name: str, eps: float = real_model.EPS) -> Norm:
    W = real_file.numbers()
    return lambda x: F.layer_norm(x, (real_model.D_MODEL,), W[f"{name}.weight"], W[f"{name}.bias"], eps)


def parts(layer: int) -> ModelParts:
    W, prefix = real_file.numbers(), f"encoder.layer.{layer}."
    return ModelParts(
        W[f"{prefix}intermediate.dense.weight"].T,
        W[f"{prefix}intermediate.dense.bias"],
        W[f"{prefix}output.dense.weight"].T,
        W[f"{prefix}output.dense.bias"],
        _norm(f"{prefix}output.LayerNorm"),
    )


class Mistake(NamedTuple):
    """A wrong half: what it computes from x, a layer's parts and its number, and what is said of it."""

    compute: Callable[[torch.Tensor, ModelParts, int], torch.Tensor]
    message: str


def _with_ffn(
    ffn: Callable[[torch.Tensor, ModelParts], torch.Tensor],
) -> Callable[[torch.Tensor, ModelParts, int], torch.Tensor]:
    return lambda x, p, layer: p.norm(x + ffn(x, p))


def _of_layer(other: int) -> Callable[[torch.Tensor, ModelParts, int], torch.Tensor]:
    def compute(x: torch.Tensor, p: ModelParts, layer: int) -> torch.Tensor:
        same = parts(other)
        return same.norm(x + same.ffn(x))

    return compute


def _rescaled(x: torch.Tensor, p: ModelParts, gain: bool = True, bias: bool = True, by: float = 1.0) -> torch.Tensor:
    """The norm of x without its gain or its bias, or with the normed x times a factor."""
    shift = p.norm(torch.zeros_like(x))  # of zeros only the bias is left
    plain = F.layer_norm(x, x.shape[-1:], eps=real_model.EPS)
    return (by * (p.norm(x) - shift) if gain else plain) + (shift if bias else 0)


def _poured(matrix: torch.Tensor) -> torch.Tensor:
    """A matrix [in, out] as `reshape` makes it from the file's [out, in]."""
    return matrix.T.reshape(matrix.shape)


MISTAKES: dict[str, Mistake] = {
    "W1 and W2 exchanged": Mistake(
        _with_ffn(lambda x, p: F.gelu(x @ p.W2.T + p.b1) @ p.W1.T + p.b2),
        "W1 and W2 are exchanged. Without `.T` their shapes fit, and that is all: the file keeps [out, in].",
    ),
    "reshape in place of .T": Mistake(
        _with_ffn(lambda x, p: F.gelu(x @ _poured(p.W1) + p.b1) @ _poured(p.W2) + p.b2),
        "The matrices have the right shapes with the wrong numbers in them: `reshape` pours, `.T` transposes.",
    ),
    "SiLU": Mistake(
        _with_ffn(lambda x, p: F.silu(x @ p.W1 + p.b1) @ p.W2 + p.b2),
        "The activation is SiLU. These neurons were trained with GELU.",
    ),
    "activation twice": Mistake(
        _with_ffn(lambda x, p: F.gelu(p.ffn(x))), "A second activation is applied to what the FFN writes. Nothing follows b2."
    ),
    "no biases": Mistake(_with_ffn(lambda x, p: F.gelu(x @ p.W1) @ p.W2), "Both biases of the FFN are missing."),
    "tanh GELU": Mistake(
        _with_ffn(lambda x, p: F.gelu(x @ p.W1 + p.b1, approximate="tanh") @ p.W2 + p.b2),
        "This is the GELU with tanh, which GPT-2 uses. BERT has the one with erf.",
    ),
    "ReLU": Mistake(
        _with_ffn(lambda x, p: F.relu(x @ p.W1 + p.b1) @ p.W2 + p.b2),
        "The activation is ReLU. These neurons were trained with GELU.",
    ),
    "no activation": Mistake(
        _with_ffn(lambda x, p: (x @ p.W1 + p.b1) @ p.W2 + p.b2), "There is no activation between the two matrices."
    ),
    "activation too late": Mistake(
        _with_ffn(lambda x, p: F.gelu((x @ p.W1 + p.b1) @ p.W2 + p.b2)),
        "The activation comes too late, after W2.",
    ),
    "no b1": Mistake(_with_ffn(lambda x, p: F.gelu(x @ p.W1) @ p.W2 + p.b2), "b1, `intermediate.dense.bias`, is missing."),
    "no b2": Mistake(_with_ffn(lambda x, p: p.ffn(x) - p.b2), "b2, `output.dense.bias`, is missing."),
    "norm before the FFN": Mistake(
        lambda x, p, layer: x + p.ffn(p.norm(x)),
        "The norm comes before the FFN, as in GPT-2. BERT is post-norm. Here x grows from half to half.",
    ),
    "norm inside": Mistake(lambda x, p, layer: x + p.norm(p.ffn(x)), "You norm what the FFN writes. Norm the sum."),
    "no residual connection": Mistake(lambda x, p, layer: p.norm(p.ffn(x)), "x itself is not added: the residual connection is missing."),
    "no norm": Mistake(lambda x, p, layer: x + p.ffn(x), "The norm is missing, which comes last."),
    "the FFN alone": Mistake(lambda x, p, layer: p.ffn(x), "This is the FFN alone. Add x, and norm the sum."),
    "normed twice": Mistake(
        lambda x, p, layer: p.norm(x + p.ffn(p.norm(x))), "The FFN gets a normed x as well. There is one norm, after the sum."
    ),
    "norm without its numbers": Mistake(
        lambda x, p, layer: _rescaled(x + p.ffn(x), p, gain=False, bias=False),
        "The norm's learned gain and bias are missing, `output.LayerNorm.weight` and `.bias`.",
    ),
    "norm without gain": Mistake(
        lambda x, p, layer: _rescaled(x + p.ffn(x), p, gain=False), "The norm's learned gain is missing, `output.LayerNorm.weight`."
    ),
    "norm without bias": Mistake(
        lambda x, p, layer: _rescaled(x + p.ffn(x), p, bias=False), "The norm's learned bias is missing, `output.LayerNorm.bias`."
    ),
    "norm by n - 1": Mistake(
        lambda x, p, layer: _rescaled(x + p.ffn(x), p, by=(1 - 1 / real_model.D_MODEL) ** 0.5),
        "The norm divides by n − 1, as torch's `var` and `std` do if nothing is said. A layer norm divides by n.",
    ),
    "the other norm": Mistake(
        lambda x, p, layer: _norm(f"encoder.layer.{layer}.attention.output.LayerNorm")(x + p.ffn(x)),
        "This is the norm of the attention half. The half with the FFN has its own, `output.LayerNorm`.",
    ),
    "epsilon 1e-5": Mistake(
        lambda x, p, layer: _norm(f"encoder.layer.{layer}.output.LayerNorm", 1e-5)(x + p.ffn(x)),
        "Nearly. Your norm adds 1e-5 to the variance, and this model was trained with 1e-12.",
    ),
    **{
        f"the prefix of layer {other} everywhere": Mistake(
            _of_layer(other),
            f"All layers get the numbers of layer {other}: its prefix is copied. Put `layer` into the name.",
        )
        for other in range(real_model.LAYERS)
    },
}  # fmt: skip


@cache
def reading() -> real_model.ReadTokens:
    return real_model.run(TEXTS)


def furthest(first: list[torch.Tensor], second: list[torch.Tensor]) -> float:
    """The largest difference at a token, over all layers."""
    mask = reading().mask
    return max(float((a - b)[mask].abs().max()) for a, b in zip(first, second, strict=True))


@torch.no_grad()
def by_mistake(name: str) -> list[torch.Tensor]:
    """What a mistake makes of what comes into each layer's half."""
    compute = MISTAKES[name].compute
    return [compute(x, parts(layer), layer) for layer, x in enumerate(reading().before)]


@torch.no_grad()
def judge(real_half: RealHalf) -> str:
    """What the reader's half does to the real model, in a sentence or two.

    Raises:
        ModelAbsent: the file is not here.
        NotImplementedError: the half is not written yet.
    """
    W = real_file.numbers()
    mine = []
    for layer, x in enumerate(reading().before):
        try:
            y = real_half(x.clone(), layer, W)
        except NotImplementedError:
            raise
        except Exception as error:  # the reader's own function may do anything
            return f"In layer {layer} your function raises {type(error).__name__}: {error}.{_explain(error)}"
        if not isinstance(y, torch.Tensor) or y.shape != x.shape:
            return f"In layer {layer} your function returns no tensor like x: {describe_result(y)}."
        mine.append(y)
    truth = [real_model.feed_forward_half(x, layer) for layer, x in enumerate(reading().before)]
    if furthest(mine, truth) > CLOSE:
        return _name(mine, furthest(mine, truth))
    whole = real_model.run(TEXTS, half=lambda x, layer: real_half(x, layer, W)).vectors
    off = float((whole - reading().vectors).abs().max())
    return f"All six blocks run on your function. The vectors of {len(TEXTS)} sentences differ from the model's own by at most {short(off)}."


def _explain(error: Exception) -> str:
    """What most likely lies behind an exception."""
    if isinstance(error, KeyError) and "{" in str(error):
        return " The name has a field's letters in it, not its value: put an f in front of the string."
    if isinstance(error, KeyError):
        return " The file has no such name: the names of a layer begin with encoder.layer., its number from 0 to 5, and a dot."
    if "shapes cannot be multiplied" in str(error):
        return " The file keeps each matrix as [out, in], so `x @ W1` needs it transposed: `.T`."
    return ""


def short(value: float) -> str:
    """A size for people, with one digit that counts."""
    return f"{value:.0f}" if value >= 1 else f"{value:.1g}"


def _name(mine: list[torch.Tensor], off: float) -> str:
    """Which mistake makes just these vectors."""
    distances = {name: furthest(mine, by_mistake(name)) for name in MISTAKES}
    nearest = min(distances, key=distances.__getitem__)
    start = f"Numbers are off by up to {short(off)}. "
    if distances[nearest] < CLOSE * max(1, off):  # large numbers are rounded more coarsely
        return start + MISTAKES[nearest].message
    return start + 'No mistake that we know makes these vectors. What does check("real_half", real_half) say?'


def show(real_half: RealHalf) -> None:
    """Print what the reader's half does in the real model; where the file is not, what was stored for the right one."""
    try:
        print(judge(real_half))
    except NotImplementedError:
        print("This cell lights up when real_half is written.")
    except real_file.ModelAbsent:
        if _is_stub(real_half):
            print("This cell needs real_half, and the model, which is not on this machine.")
            return
        worst = real.stored()["agreement"]
        print(
            "The model is not on this machine, so your function has not run in it. With a right one the vectors of "
            f"{len(TEXTS)} sentences differ from the model's own by at most {short(worst)}."
        )


def _is_stub(real_half: RealHalf) -> bool:
    """Whether the function is not written yet. It is asked for a layer that no file has, so that one that is written raises something else."""
    try:
        real_half(torch.zeros(1, real_model.D_MODEL), -1, {})
    except NotImplementedError:
        return True
    except Exception:  # the reader's own function may do anything
        return False
    return False
