"""The figures of notebook 05: operations over length, and what has to be read for one step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ffnlab.course import atlas
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture
from ffnlab.phrases import plural

__all__ = ["DENSE", "LENGTHS", "PEOPLE", "flops", "overtakes", "step"]

LENGTHS = tuple(2**n for n in range(7, 21))
PEOPLE = (1, 2, 4, 8, 16, 32, 64, 128, 256)
DENSE = ("GPT-2 small", "GPT-3 175B", "LLaMA-1/2 7B", "LLaMA-3 8B", "Gemma-1 2B", "LLaMA-3.1 405B")
NUMBER = 2  # bytes: 16 bits

ATTENTION, FFN, AROUND = style.ATTENTION, style.FFN, style.AROUND
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN


def overtakes(model: atlas.Model) -> float:
    """The number of positions at which attention as a whole costs as much as the FFN."""
    here = atlas.flops_per_token(model, 1)
    return (here["ffn"] - here["proj"]) / here["mix"]


class _Flops(NamedTuple):
    """Forward FLOPs of one token in one layer."""

    model: atlas.Model
    T: int  # positions that the token looks at
    ffn: float
    proj: float  # of attention's matrices
    mix: float  # of its mixing, which grows with T
    crossing: float  # the T at which attention as a whole costs as much as the FFN

    @property
    def attention(self) -> float:
        return self.proj + self.mix


def _flops(name: str, T: int) -> _Flops:
    model = atlas.find(name)
    counts = atlas.flops_per_token(model, T)
    return _Flops(model, T, counts["ffn"], counts["proj"], counts["mix"], overtakes(model))


def flops(model: str = "GPT-3 175B", T: int = 2048) -> Picture:
    """Forward FLOPs of one token in one layer over the number of positions T, both scales logarithmic: the FFN against attention."""
    if model not in DENSE:
        raise ValueError(f"{model!r} is not among the dense models shown: {', '.join(DENSE)}")
    if not LENGTHS[0] <= T <= LENGTHS[-1]:
        raise ValueError(f"T must be from {LENGTHS[0]:,} to {LENGTHS[-1]:,}, not {T:,}")
    numbers = _flops(model, T)
    title, words = _flops_words(numbers)
    frame = plot.Frame(
        (LENGTHS[0], LENGTHS[-1]), (1e5, 1e11), "T, positions that a token looks at", "FLOPs",
        tuple((t, f"{t:,}") for t in LENGTHS[1::3]), tuple((10.0**n, _power(n)) for n in range(5, 12)), "log", "log",
        left=76, right=RIGHT - 16,
    )  # fmt: skip
    shapes = [frame.axes(), *_curves_of_flops(numbers, frame)]
    return Picture(title, words, svg.card(frame.bottom + 50, title, words, *shapes))


def _flops_words(numbers: _Flops) -> tuple[str, str]:
    """Title and sentence."""
    crossing = numbers.crossing
    title = f"At T = {numbers.T:,} attention costs {_times(numbers.attention / numbers.ffn)} the FFN's work"
    words = (
        f"{numbers.model.name}, one token, one layer, in millions of FLOPs: FFN {numbers.ffn / 1e6:,.1f}, "
        f"attention's matrices {numbers.proj / 1e6:,.1f} and mixing {numbers.mix / 1e6:,.1f}; "
        f"attention overtakes at T = {crossing:,.0f}, {crossing / numbers.model.d_model:.3g} · d_model."
    )
    return title, words


def _curves_of_flops(numbers: _Flops, frame: plot.Frame) -> list[str]:
    """The FFN, attention and its two parts over T; a line at T, and a ring where attention overtakes."""
    T, ffn, proj, crossing = numbers.T, numbers.ffn, numbers.proj, numbers.crossing
    looks = {
        "FFN": plot.Look(FFN, width=2.8),
        "attention as a whole": plot.Look(ATTENTION, width=2.8),
        "its matrices": plot.Look(ATTENTION, (1, 4), 1.4),
        "its mixing": plot.Look(ATTENTION, (6, 4), 1.6),
    }
    lengths = np.geomspace(LENGTHS[0], LENGTHS[-1], 53)
    mixing = lengths * numbers.mix / T
    heights = np.full(len(lengths), ffn), proj + mixing, np.full(len(lengths), proj), mixing
    curves = [frame.curve(lengths, values, look) for values, look in zip(heights, looks.values(), strict=True)]
    x, y = frame.at(crossing, ffn)
    ends = (("FFN", FFN, 8, frame.upright(ffn) - 8), ("attention", ATTENTION, 44, frame.upright(proj + mixing[-1]) + 5))
    return [
        *curves[::-1],
        frame.curve((T, T), frame.y, plot.Look(style.INK, width=1.4)),
        frame.dots([T], [ffn], FFN),
        frame.dots([T], [numbers.attention], ATTENTION),
        svg.circle(x, y, 7, stroke=style.INK, stroke_width=1.6),
        svg.text(x, y - 13, f"{crossing:,.0f}", size=12.5, bold=True, anchor="middle", halo=True),
        frame.legend(looks, "above"),
        *(
            svg.text(frame.right - inset, down, name, size=12.5, bold=True, fill=colour, anchor="end", halo=True)
            for name, colour, inset, down in ends
        ),
    ]


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times" if ratio < 10 else f"{ratio:.0f} times"


def _power(n: int) -> str:
    """10 to the n as people write it."""
    return {5: "100 k", 6: "1 M", 7: "10 M", 8: "100 M", 9: "1 G", 10: "10 G", 11: "100 G"}[n]


class _Step(NamedTuple):
    """What has to be read for one new token for everybody, in bytes."""

    model: atlas.Model
    T: int  # tokens of each text so far
    people: int
    ffn: int
    attention: int
    rest: int  # embeddings and norms
    cache: int  # keys and values of all people

    @property
    def weights(self) -> int:
        return self.ffn + self.attention + self.rest


def step(model: str = "LLaMA-1/2 7B", T: int = 128, people: int = 1) -> Picture:
    """Two bars at one scale: a model's weights by part, and the keys and values of so many people's texts; 16 bits for a number."""
    if model not in DENSE:
        raise ValueError(f"{model!r} is not among the dense models shown: {', '.join(DENSE)}")
    if T < 1 or people < 1:
        raise ValueError(f"there is at least one token and one person, not {T} and {people}")
    numbers = _step(atlas.find(model), T, people)
    title, words = _step_words(numbers)
    scale = (RIGHT - LEFT) / max(numbers.weights, numbers.cache)
    weights = [("embeddings and norms", numbers.rest, AROUND), ("attention", numbers.attention, ATTENTION), ("FFN", numbers.ffn, FFN)]  # fmt: skip
    shapes = []
    for top, name, total, pieces in (
        (92.0, "weights, read once for all", numbers.weights, weights),
        (176.0, "keys and values, read for each person", numbers.cache, [("keys and values", numbers.cache, ATTENTION)]),
    ):  # fmt: skip
        shapes.append(svg.text(LEFT, top - 12, f"{name}: {_bytes(total)}", size=14, bold=True))
        x = LEFT
        for part, count, colour in pieces:
            shapes.append(svg.rect(x, top, max(count * scale, 1), 40, fill=colour, tip=f"{part}: {_bytes(count)}"))
            if count * scale > 8 * len(part) + 12:
                middle = x + count * scale / 2
                shapes.append(svg.text(middle, top + 25, part, size=12.5, fill=style.PAPER, anchor="middle", bold=True))
            x += count * scale
    return Picture(title, words, svg.card(236, title, words, *shapes))


def _step(model: atlas.Model, T: int, people: int) -> _Step:
    parts = atlas.parts(model)
    width = (model.n_kv or model.n_heads) * (model.head_dim or model.d_model // model.n_heads)
    rest = parts.total - parts.ffn - parts.attention
    cache = NUMBER * 2 * model.n_layers * width * T * people
    return _Step(model, T, people, NUMBER * parts.ffn, NUMBER * parts.attention, NUMBER * rest, cache)


def _step_words(numbers: _Step) -> tuple[str, str]:
    """Title and sentence."""
    ratio = numbers.cache / numbers.weights
    title = f"The cache is {ratio:.2g} times the size of the weights"
    words = (
        f"{numbers.model.name}, {plural(numbers.people, 'person', 'people')}, {numbers.T:,} tokens so far, 16 bits for a number: the weights are "
        f"{_bytes(numbers.weights)}, {_bytes(numbers.ffn)} of them in FFNs, and keys and values {_bytes(numbers.cache)}."
    )
    return title, words


def _bytes(count: float) -> str:
    """Bytes to three digits, with their unit."""
    for unit, word in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:,.3g} {word}"
    return f"{count / 1e3:,.3g} kB"
