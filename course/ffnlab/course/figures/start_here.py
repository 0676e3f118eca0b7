"""The figure of notebook 00: a first slider, over a tensor [B, T, d]."""

from __future__ import annotations

import torch

from ffnlab.course.figures.shared import D_MODEL, OTHER_TOKENS, TOKENS, embeddings
from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture

__all__ = ["D_MODEL", "OTHER_TOKENS", "TOKENS", "bars", "batch"]

SENTENCES = (TOKENS, OTHER_TOKENS)
REACH = 2.5  # no number of an embedding is larger: with mean 0 and mean square 1, six numbers reach √5 at most


def batch(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The tensor that `bars` shows, [B, T, d] = [2, 14, 6]: two sentences of 14 tokens of 6 numbers."""
    return torch.stack([embeddings(tokens, dtype=dtype) for tokens in SENTENCES])


def bars(position: int = 3, sentence: int = 0) -> Picture:
    """One token of x [B, T, d] as d bars, beside the sheet of T rows and d columns it is taken from."""
    x = batch(torch.float64)
    n_sentences, n_tokens, d = x.shape
    for name, index, count in (("position", position, n_tokens), ("sentence", sentence, n_sentences)):
        if not 0 <= index < count:
            raise ValueError(f"{name} must be from 0 to {count - 1}, not {index}")
    tokens = SENTENCES[sentence]
    token, row = tokens[position], x[sentence, position].tolist()
    largest = max(range(d), key=lambda j: abs(row[j]))
    title = f"One token is one row: x[{sentence}, {position}] is “{token}”, {d} numbers"
    words = (
        f"x has shape [{n_sentences}, {n_tokens}, {d}]: {n_sentences} sentences of {n_tokens} tokens, "
        f"{d} numbers per token; in the row of “{token}” the number furthest from zero is "
        f"{svg.label(row[largest])}, "
        f"at place {largest}."
    )

    cell, tall, left, top = 26.0, 22.0, 108.0, 98.0
    wide, high = cell * d, tall * n_tokens
    shapes = [
        svg.rect(left + 10 - 4, top - 10 - 4, wide + 7, high + 7, fill=style.TINT, stroke=style.RULE, radius=4),
        svg.rect(left - 4, top - 4, wide + 7, high + 7, fill=style.PAPER, stroke=style.RULE, radius=4),
        svg.text(
            left + wide / 2 + 4,
            top - 28,
            f"x  [B, T, d] = [{n_sentences}, {n_tokens}, {d}]",
            size=14,
            bold=True,
            anchor="middle",
        ),
    ]
    for t, name in enumerate(tokens):
        y, here = top + tall * t, t == position
        fill = style.INK if here else style.MUTED
        words_of_row = [
            svg.rect(svg.MARGIN, y, left - 5 - svg.MARGIN, tall - 1, fill=style.PAPER, radius=4),
            svg.text(left - 10, y + 15.5, str(t), size=12.5, anchor="end", bold=here, fill=fill),
            svg.text(left - 32, y + 15.5, name, size=12.5, anchor="end", bold=here, fill=fill),
        ]
        cells = [
            svg.rect(
                left + cell * j,
                y,
                cell - 1,
                tall - 1,
                fill=style.diverging(value, REACH),
                tip=f"x[{sentence}, {t}, {j}] = {svg.label(value)}",
            )
            for j, value in enumerate(x[sentence, t].tolist())
        ]
        shapes.append(svg.button(*words_of_row, *cells, sets={"position": t}, name=f"token {t}, {name}"))
    y = top + tall * position
    shapes.append(svg.rect(left - 2, y - 2, wide + 3, tall + 3, stroke=style.INK, stroke_width=2, radius=3))

    start, end, base, unit = 344.0, svg.WIDTH - svg.MARGIN, top + high / 2, high / 2 / REACH
    pitch = (end - start) / d
    shapes.append(
        svg.line(left + wide + 5, y + tall / 2, start - 30, y + tall / 2, stroke=style.INK, width=1.5, dash="0.1 4")
    )
    shapes.append(
        svg.text(
            (start + end) / 2,
            top - 28,
            f"x[{sentence}, {position}]  [d] = [{d}]",
            size=14,
            bold=True,
            anchor="middle",
        )
    )
    for value in (-2, -1, 0, 1, 2):
        at = base - value * unit
        shapes += [
            svg.line(start, at, end, at, stroke=style.TINT if value else style.NEUTRAL),
            svg.text(start - 8, at + 4, svg.label(value), size=12, fill=style.MUTED, anchor="end", halo=True),
        ]
    for j, value in enumerate(row):
        middle, tip = start + pitch * (j + 0.5), base - value * unit
        thick = pitch * 0.6
        shapes += [
            svg.rect(middle - thick / 2, min(base, tip), thick, abs(value) * unit, fill=style.signed(value)),
            svg.text(
                middle,
                tip + (-7 if value >= 0 else 17),
                svg.label(value, pad=True),
                size=12.5,
                anchor="middle",
                halo=True,
            ),
            svg.text(middle, top + high + 18, str(j), size=12, fill=style.MUTED, anchor="middle"),
            svg.text(left + cell * (j + 0.5), top + high + 18, str(j), size=12, fill=style.MUTED, anchor="middle"),
        ]
    return Picture(title, words, svg.card(top + high + 34, title, words, *shapes))
