"""The figure of notebook 00: a first slider, over a tensor [B, T, d]."""

from __future__ import annotations

from typing import NamedTuple

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


class _Token(NamedTuple):
    """The token that `bars` shows."""

    sentence: int
    position: int
    words: tuple[str, ...]  # of its sentence
    rows: list[list[float]]  # of its sentence, [T, d]

    @property
    def word(self) -> str:
        return self.words[self.position]

    @property
    def row(self) -> list[float]:
        return self.rows[self.position]


_SHAPE = (len(SENTENCES), len(TOKENS), D_MODEL)  # [B, T, d]
_CELL, _LINE = 26.0, 22.0  # of the sheet: a number's width, a token's height
_LEFT, _TOP = 108.0, 98.0  # where the sheet begins
_WIDE, _HIGH = _CELL * D_MODEL, _LINE * len(TOKENS)
_FOOT = _TOP + _HIGH + 18  # the base line of the columns' numbers
_START, _END = 344.0, svg.WIDTH - svg.MARGIN  # of the bars
_ZERO, _UNIT = _TOP + _HIGH / 2, _HIGH / 2 / REACH  # of the bars: the height of 0, and the length of 1


def bars(position: int = 3, sentence: int = 0) -> Picture:
    """One token of x [B, T, d] as d bars, beside the sheet of T rows and d columns it is taken from."""
    n_sentences, n_tokens, _ = _SHAPE
    for name, index, count in (("position", position, n_tokens), ("sentence", sentence, n_sentences)):
        if not 0 <= index < count:
            raise ValueError(f"{name} must be from 0 to {count - 1}, not {index}")
    token = _Token(sentence, position, SENTENCES[sentence], batch(torch.float64)[sentence].tolist())
    title, words = _bars_words(token)
    shapes = [*_sheet(token), *_frame_of_row(token), *_bar_axis(), *_bars_of_row(token)]
    return Picture(title, words, svg.card(_TOP + _HIGH + 34, title, words, *shapes))


def _bars_words(token: _Token) -> tuple[str, str]:
    """Title and sentence."""
    n_sentences, n_tokens, d = _SHAPE
    largest = max(range(d), key=lambda j: abs(token.row[j]))
    title = f"One token is one row: x[{token.sentence}, {token.position}] is “{token.word}”, {d} numbers"
    words = (
        f"x has shape [{n_sentences}, {n_tokens}, {d}]: {n_sentences} sentences of {n_tokens} tokens, "
        f"{d} numbers per token; in the row of “{token.word}” the number furthest from zero is "
        f"{svg.label(token.row[largest])}, "
        f"at place {largest}."
    )
    return title, words


def _sheet(token: _Token) -> list[str]:
    """The sentence's rows as cells, each with its word, to be pressed; behind it, the sheet of the other sentence."""
    n_sentences, n_tokens, d = _SHAPE
    head = f"x  [B, T, d] = [{n_sentences}, {n_tokens}, {d}]"
    return [
        svg.rect(_LEFT + 10 - 4, _TOP - 10 - 4, _WIDE + 7, _HIGH + 7, fill=style.TINT, stroke=style.RULE, radius=4),
        svg.rect(_LEFT - 4, _TOP - 4, _WIDE + 7, _HIGH + 7, fill=style.PAPER, stroke=style.RULE, radius=4),
        svg.text(_LEFT + _WIDE / 2 + 4, _TOP - 28, head, size=14, bold=True, anchor="middle"),
        *(_line_of_sheet(token, t) for t in range(n_tokens)),
    ]


def _line_of_sheet(token: _Token, t: int) -> str:
    """Token t: its number, its word and its cells."""
    y = _TOP + _LINE * t
    word = token.words[t]
    here = t == token.position
    fill = style.INK if here else style.MUTED
    words = [
        svg.rect(svg.MARGIN, y, _LEFT - 5 - svg.MARGIN, _LINE - 1, fill=style.PAPER, radius=4),
        svg.text(_LEFT - 10, y + 15.5, str(t), size=12.5, anchor="end", bold=here, fill=fill),
        svg.text(_LEFT - 32, y + 15.5, word, size=12.5, anchor="end", bold=here, fill=fill),
    ]
    cells = [
        svg.rect(
            _LEFT + _CELL * j,
            y,
            _CELL - 1,
            _LINE - 1,
            fill=style.diverging(value, REACH),
            tip=f"x[{token.sentence}, {t}, {j}] = {svg.label(value)}",
        )
        for j, value in enumerate(token.rows[t])
    ]
    return svg.button(*words, *cells, sets={"position": t}, name=f"token {t}, {word}")


def _frame_of_row(token: _Token) -> list[str]:
    """A frame around the token's row, and dots from it to the bars."""
    y = _TOP + _LINE * token.position
    middle = y + _LINE / 2
    return [
        svg.rect(_LEFT - 2, y - 2, _WIDE + 3, _LINE + 3, stroke=style.INK, stroke_width=2, radius=3),
        svg.line(_LEFT + _WIDE + 5, middle, _START - 30, middle, stroke=style.INK, width=1.5, dash="0.1 4"),
        svg.text(
            (_START + _END) / 2,
            _TOP - 28,
            f"x[{token.sentence}, {token.position}]  [d] = [{D_MODEL}]",
            size=14,
            bold=True,
            anchor="middle",
        ),
    ]


def _bar_axis() -> list[str]:
    """The lines behind the bars, and their numbers."""
    shapes = []
    for value in (-2, -1, 0, 1, 2):
        y = _ZERO - value * _UNIT
        shapes += [
            svg.line(_START, y, _END, y, stroke=style.TINT if value else style.NEUTRAL),
            svg.text(_START - 8, y + 4, svg.label(value), size=12, fill=style.MUTED, anchor="end", halo=True),
        ]
    return shapes


def _bars_of_row(token: _Token) -> list[str]:
    """The token's numbers as bars; below each, and below its column of the sheet, its place."""
    pitch = (_END - _START) / D_MODEL
    thick = pitch * 0.6
    shapes = []
    for j, value in enumerate(token.row):
        middle = _START + pitch * (j + 0.5)
        tip = _ZERO - value * _UNIT
        number = svg.label(value, pad=True)
        shapes += [
            svg.rect(middle - thick / 2, min(_ZERO, tip), thick, abs(value) * _UNIT, fill=style.signed(value)),
            svg.text(middle, tip + (-7 if value >= 0 else 17), number, size=12.5, anchor="middle", halo=True),
            svg.text(middle, _FOOT, str(j), size=12, fill=style.MUTED, anchor="middle"),
            svg.text(_LEFT + _CELL * (j + 0.5), _FOOT, str(j), size=12, fill=style.MUTED, anchor="middle"),
        ]
    return shapes
