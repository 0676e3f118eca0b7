"""all-MiniLM-L6-v2, a BERT of six post-norm blocks: its tokens and its arithmetic, on the numbers of `real_file`.

`run` reads sentences and keeps what its layers did. The caller can put something in the place of a part: the second half of every block (`half`), the
activations (`change`) or what the FFN writes (`replace`). Source of the model: Wang et al. 2020, *MiniLM*, arXiv 2002.10957, trained on pairs of sentences
by Reimers and others, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.course import real_file

LAYERS, D_MODEL, D_FF, HEADS, EPS = 6, 384, 1536, 12, 1e-12
LONGEST = 128  # tokens of a text that are read; the model was trained with so many, and has positions for 512
BATCH = 48
WORD = re.compile(r"[^\W_]+|[^\s]")

Change = Callable[[int, torch.Tensor], torch.Tensor]  # from the layer's number and a tensor [B, T, …] to one like it
Half = Callable[[torch.Tensor, int], torch.Tensor]  # from x [B, T, d_model] and the layer's number


# Tokens


@cache
def _vocabulary(folder: Path) -> tuple[list[str], dict[str, int]]:
    pieces = (folder / real_file.WORDS).read_text(encoding="utf-8").splitlines()
    return pieces, {piece: number for number, piece in enumerate(pieces)}


def vocabulary() -> tuple[list[str], dict[str, int]]:
    """All 30,522 pieces of words, and the number of each."""
    return _vocabulary(real_file.require())


def tokens(text: str) -> list[int]:
    """The numbers of a text's tokens, between those of [CLS] and [SEP].

    This is BERT's WordPiece in small letters and without accents: of each word the longest known piece is taken, again and again. Chinese signs, which the
    full version splits one by one, are not looked at.
    """
    known = vocabulary()[1]
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    ids: list[int] = []
    for word in WORD.findall(plain):
        ids += _split(word, known)
    return [known["[CLS]"], *ids[: LONGEST - 2], known["[SEP]"]]


def _split(word: str, known: dict[str, int]) -> list[int]:
    found: list[int] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in known:
                found.append(known[piece])
                start = end
                break
        else:
            return [known["[UNK]"]]
    return found


def pieces(text: str) -> list[str]:
    """A text's tokens as they are written, with [CLS] and [SEP]."""
    return [vocabulary()[0][number] for number in tokens(text)]


def batch(texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """The texts' tokens [B, T], filled up with 0, and where there is one [B, T], True or False."""
    rows = [tokens(text) for text in texts]
    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for n, row in enumerate(rows):
        ids[n, : len(row)] = torch.tensor(row)
        mask[n, : len(row)] = True
    return ids, mask


def words_only(mask: torch.Tensor) -> torch.Tensor:
    """Where there is a token that is neither [CLS] nor [SEP]: [B, T] -> [B, T]."""
    words = mask.clone()
    words[:, 0] = False
    words[torch.arange(len(mask)), mask.sum(1) - 1] = False
    return words


# Arithmetic


def linear(x: torch.Tensor, name: str) -> torch.Tensor:
    """What the file's layer of this name makes of x [..., in]: [..., out]. The file keeps matrices as [out, in]."""
    numbers = real_file.numbers()
    return F.linear(x, numbers[f"{name}.weight"], numbers[f"{name}.bias"])


def norm(x: torch.Tensor, name: str) -> torch.Tensor:
    """The layer norm of this name, [..., d_model] -> [..., d_model]."""
    numbers = real_file.numbers()
    return F.layer_norm(x, (D_MODEL,), numbers[f"{name}.weight"], numbers[f"{name}.bias"], EPS)


def embed(ids: torch.Tensor) -> torch.Tensor:
    """What the first block gets, [B, T] -> [B, T, d_model]: vectors of tokens, of positions, and one for “first text”."""
    numbers = real_file.numbers()
    x = numbers["embeddings.word_embeddings.weight"][ids]
    x = x + numbers["embeddings.position_embeddings.weight"][: ids.shape[-1]]
    return norm(x + numbers["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")


def attend(x: torch.Tensor, layer: int, mask: torch.Tensor) -> torch.Tensor:
    """The first half of a block: twelve heads that see all tokens, the residual connection, the norm. [B, T, d_model]."""
    prefix = f"encoder.layer.{layer}.attention."
    heads = (linear(x, f"{prefix}self.{name}").reshape(*x.shape[:-1], HEADS, -1) for name in ("query", "key", "value"))
    q, k, v = (head.transpose(-3, -2) for head in heads)  # each [B, heads, T, d_model / heads]
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
    written = linear(mixed.transpose(-3, -2).flatten(-2), f"{prefix}output.dense")
    return norm(x + written, f"{prefix}output.LayerNorm")


def activations(x: torch.Tensor, layer: int) -> torch.Tensor:
    """The FFN's neurons, [B, T, d_model] -> [B, T, d_ff]."""
    return F.gelu(linear(x, f"encoder.layer.{layer}.intermediate.dense"))


def feed_forward_half(
    x: torch.Tensor, layer: int, change: Change | None = None, replace: Change | None = None
) -> torch.Tensor:
    """The second half of a block: the FFN, the residual connection, the norm. [B, T, d_model].

    change: of the layer's number and its activations. replace: of the layer's number and what the FFN writes.
    """
    hidden = activations(x, layer)
    written = linear(change(layer, hidden) if change else hidden, f"encoder.layer.{layer}.output.dense")
    return norm(x + (replace(layer, written) if replace else written), f"encoder.layer.{layer}.output.LayerNorm")


def pool(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """One vector of length 1 for each text, the mean of its tokens': [B, T, d_model] -> [B, d_model]."""
    weights = mask[..., None].to(x.dtype)
    return F.normalize((x * weights).sum(-2) / weights.sum(-2), dim=-1)


class ReadTokens(NamedTuple):
    """What the model did with texts."""

    vectors: torch.Tensor  # [B, d_model], each of length 1
    before: list[torch.Tensor]  # by layer, what came into the second half of the block, [B, T, d_model]
    mask: torch.Tensor  # [B, T], where there is a token
    ids: torch.Tensor  # [B, T]

    def activations(self, layer: int) -> torch.Tensor:
        """A layer's neurons [B, T, d_ff], if nothing was put in the place of a part."""
        return activations(self.before[layer], layer)


@torch.no_grad()
def run(
    texts: Sequence[str], half: Half | None = None, change: Change | None = None, replace: Change | None = None
) -> ReadTokens:
    """Read texts in one batch. half: in the place of `feed_forward_half`; change and replace are handed to it otherwise."""
    ids, mask = batch(texts)
    x, before = embed(ids), []
    for layer in range(LAYERS):
        x = attend(x, layer, mask)
        before.append(x)
        x = half(x, layer) if half else feed_forward_half(x, layer, change, replace)
    return ReadTokens(pool(x, mask), before, mask, ids)


def _in_batches(texts: Sequence[str]) -> list[list[int]]:
    """The texts' numbers, those of like length together."""
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
    return [order[start : start + BATCH] for start in range(0, len(order), BATCH)]


def vectors(
    texts: Sequence[str], half: Half | None = None, change: Change | None = None, replace: Change | None = None
) -> torch.Tensor:
    """One vector of length 1 for each of many texts: [texts, d_model]."""
    rows = torch.empty(len(texts), D_MODEL)
    for some in _in_batches(texts):
        rows[some] = run([texts[n] for n in some], half, change, replace).vectors
    return rows


@torch.no_grad()
def loudest(texts: Sequence[str]) -> torch.Tensor:
    """How strongly each neuron fires at a text's words, at most: [texts, layers · d_ff]; neuron n of layer l is at l · d_ff + n.

    [CLS] and [SEP] are not looked at.
    """
    rows = torch.empty(len(texts), LAYERS * D_FF)
    for some in _in_batches(texts):
        reading = run([texts[n] for n in some])
        silent = ~words_only(reading.mask)[..., None]
        rows[some] = torch.cat(
            [reading.activations(layer).masked_fill(silent, -1.0).amax(1) for layer in range(LAYERS)], 1
        )
    return rows


def place(neuron: int) -> tuple[int, int]:
    """The layer and the number within it of one of the 9,216 neurons."""
    return divmod(int(neuron), D_FF)


def hold(layer: int, neuron: int, value: float = 0.0) -> Change:
    """A change that holds one neuron at a value, at every token."""

    def change(number: int, hidden: torch.Tensor) -> torch.Tensor:
        if number != layer:
            return hidden
        held = hidden.clone()
        held[..., neuron] = value
        return held

    return change
