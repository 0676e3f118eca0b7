"""The figure of notebook 00: a sentence inside the little model, a tensor [T, d], and beside it what the FFN adds to each row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch

from ffnlab.course import toy_transformer, world
from ffnlab.course.experiments import twin
from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture

__all__ = ["MODELS", "added", "batch"]

SCENES = (world.Scene("creek", "cold", "spunky", "dog"), world.Scene("lawn", "warm", "shy", "cat"))
SENTENCES = tuple(tuple(world.wish(scene)[:-1]) for scene in SCENES)  # up to the word after which the full stop comes
T, D = len(SENTENCES[0]), toy_transformer.D_MODEL
MODELS: dict[str, Callable[[], toy_transformer.ToyTransformer]] = {
    "this model": toy_transformer.load,
    "its twin": twin.load,
}
REACH = 4.0  # a number that is further from zero has the darkest colour


def batch() -> torch.Tensor:
    """The rows that the FFN of the little model gets for two sentences: [B, T, d] = [2, 19, 32]."""
    return toy_transformer.load().gather(toy_transformer.tensor(SENTENCES))


class _Rows(NamedTuple):
    """One sentence in one model."""

    before: list[list[float]]  # what the FFN gets, [T, d]
    added: list[list[float]]  # what it adds to that, [T, d]
    lengths: list[float]  # of each row that is added
    lengths_before: list[float]


@cache
def _rows(model: str) -> _Rows:
    network = MODELS[model]()
    assert network.linear2 is not None
    before = network.gather(toy_transformer.tensor(SENTENCES[:1]))[0]
    to_add = network.linear2(network.hidden(before))
    return _Rows(before.tolist(), to_add.tolist(), to_add.norm(dim=-1).tolist(), before.norm(dim=-1).tolist())


def _longest() -> float:
    """The longest row that an FFN adds in any of the models, so that all bars have one scale."""
    return max(max(_rows(model).lengths) for model in MODELS)


_CELL, _LINE = 6.4, 18.0  # of a sheet: a number's width, a row's height
_TOP = 92.0
_BEFORE, _ADDED = 100.0, 322.0  # where the two sheets begin
_WIDE, _HIGH = _CELL * D, _LINE * T
_BARS, _END = 540.0, svg.WIDTH - svg.MARGIN - 36  # of the lengths; behind them is room for a number


def added(position: int = 3, model: str = "this model", is_shown: bool = True) -> Picture:
    """The rows of a sentence [T, d], what the FFN adds to each, and how long that is; one position is framed.

    is_shown: whether one sees what is added.

    Raises:
        ValueError: there is no such position or model.
    """
    if not 0 <= position < T:
        raise ValueError(f"position must be from 0 to {T - 1}, not {position}")
    if model not in MODELS:
        raise ValueError(f"model must be {' or '.join(map(repr, MODELS))}, not {model!r}")
    rows = _rows(model)
    title, words = _added_words(rows, position, model) if is_shown else _words_before(rows, position)
    lines = [_line(rows, t, is_framed=t == position, is_shown=is_shown) for t in range(T)]
    return Picture(title, words, svg.card(_TOP + _HIGH + 20, title, words, *_heads(), *lines, _frame(position)))


def _words_before(rows: _Rows, position: int) -> tuple[str, str]:
    """Title and sentence while one does not see what the FFN adds."""
    word = SENTENCES[0][position]
    title = f"At “{word}”, the FFN gets a row of length {rows.lengths_before[position]:.1f}"
    return (
        title,
        (
            f"Left, what the FFN gets: {T} rows of {D} numbers. At position {position}, “{word}”, the row has length {rows.lengths_before[position]:.1f}. "
            "What the FFN adds is not shown yet."
        ),
    )


def _added_words(rows: _Rows, position: int, model: str) -> tuple[str, str]:
    """Title and sentence."""
    word = SENTENCES[0][position]
    title = f"{model.capitalize()}, at “{word}”: the FFN adds a row of length {rows.lengths[position]:.1f}"
    words = (
        f"Left, what the FFN gets: {T} rows of {D} numbers. Right, what it adds to each. At position {position}, “{word}”, "
        f"it adds a row of length {rows.lengths[position]:.1f} to one of length {rows.lengths_before[position]:.1f}."
    )
    return title, words


def _heads() -> list[str]:
    """What each sheet holds."""
    heads = ((_BEFORE + _WIDE / 2, f"x  [T, d] = [{T}, {D}]"), (_ADDED + _WIDE / 2, f"FFN(x)  [T, d] = [{T}, {D}]"))
    return [
        *(svg.text(x, _TOP - 16, head, size=13.5, bold=True, anchor="middle") for x, head in heads),
        svg.text((_BEFORE + _WIDE + _ADDED) / 2, _TOP - 16, "+", size=17, bold=True, anchor="middle"),
        svg.text(_BARS, _TOP - 16, "its length", size=13.5, bold=True),
    ]


def _line(rows: _Rows, t: int, is_framed: bool, is_shown: bool) -> str:
    """Position t: its number and word, its two rows, and how long the second is. Pressing it frames it."""
    y = _TOP + _LINE * t
    fill = style.INK if is_framed else style.MUTED
    length = rows.lengths[t]
    bar = length / _longest() * (_END - _BARS)
    added = [
        *_cells(rows.added[t], _ADDED, y),
        svg.rect(_BARS, y + 3, bar, _LINE - 7, fill=style.FFN if length > 1 else style.NEUTRAL),
        svg.text(_BARS + bar + 5, y + 13, f"{length:.1f}", size=12, fill=fill),
    ]
    return svg.button(
        svg.rect(svg.MARGIN, y, svg.WIDTH - 2 * svg.MARGIN, _LINE - 1, fill=style.PAPER),
        svg.text(svg.MARGIN + 18, y + 13, str(t), size=12, anchor="end", bold=is_framed, fill=fill),
        svg.text(_BEFORE - 8, y + 13, SENTENCES[0][t], size=12, anchor="end", bold=is_framed, fill=fill),
        *_cells(rows.before[t], _BEFORE, y),
        *(added if is_shown else [svg.rect(_ADDED, y, _WIDE, _LINE - 1, fill=style.TINT)]),
        sets={"position": t},
        name=f"position {t}, {SENTENCES[0][t]}",
    )


def _cells(numbers: list[float], x: float, y: float) -> list[str]:
    return [
        svg.rect(x + _CELL * j, y, _CELL - 0.6, _LINE - 1, fill=style.diverging(number, REACH))
        for j, number in enumerate(numbers)
    ]


def _frame(position: int) -> str:
    """A frame around the two rows of a position."""
    y = _TOP + _LINE * position - 1.5
    return "".join(
        svg.rect(x - 2, y, _WIDE + 3.4, _LINE + 2, stroke=style.INK, stroke_width=2, radius=3)
        for x in (_BEFORE, _ADDED)
    )
