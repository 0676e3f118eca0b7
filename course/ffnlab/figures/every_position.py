"""The figures of notebook 04: one token changed, the Jacobian, one FFN for all positions, a block's wiring, a bottleneck."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch

from ffnlab import style, svg
from ffnlab.figures.shared import D_MODEL, TOKENS, embeddings, weights
from ffnlab.picture import Picture

__all__ = [
    "BLOCKS",
    "LAYERS",
    "LONGEST",
    "NO_BLOCK",
    "TOKENS",
    "bottleneck",
    "boxes",
    "jacobian",
    "perturb",
    "sublayers",
]

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
NEW_WORD = "cat"  # what takes a token's place in `perturb`
TINY = 1e-9  # below this a number counts as zero
TRAINED = 8  # the number of positions for which `boxes` has FFNs of their own
LONGEST = 5  # tokens in `jacobian`
NO_BLOCK = -1
BLOCKS = range(NO_BLOCK, LONGEST**2)  # what a hand can ask of `jacobian`
SHADE = 2.5  # the value with the fullest colour

Layer = Callable[[torch.Tensor], torch.Tensor]


def _matmul(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x @ weight without starting threads, which takes longer than sums as small as these."""
    return (x[..., None] * weight).sum(-2)


def _ffn(x: torch.Tensor) -> torch.Tensor:
    w1, b1, w2, b2 = weights(4, x.shape[1], torch.float64)
    return _matmul(torch.relu(_matmul(x, w1) + b1), w2) + b2


def _convolution(x: torch.Tensor) -> torch.Tensor:
    """Kernel size 3, with zeros around the sequence, then ReLU; the middle tap reads the token itself."""
    kernel = _random(3, x.shape[1], x.shape[1], number=1) * 0.5
    padded = torch.nn.functional.pad(x, (0, 0, 1, 1))
    return sum((_matmul(padded[i : i + len(x)], kernel[i]) for i in range(3)), torch.zeros_like(x))


def _attention(x: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """One head with random weights and a plain softmax."""
    q, k, v = _random(3, x.shape[1], x.shape[1], number=2) / math.sqrt(x.shape[1])
    scores = _matmul(_matmul(x, q), _matmul(x, k).T) / math.sqrt(x.shape[1])
    if causal:
        scores = scores.masked_fill(~torch.ones(len(x), len(x), dtype=torch.bool).tril(), -torch.inf)
    return _matmul(torch.softmax(scores, -1), _matmul(x, v))


def _random(*shape: int, number: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng([4, number, *shape]).standard_normal(shape))


LAYERS: dict[str, Layer] = {
    "FFN": _ffn,
    "attention": _attention,
    "causal attention": lambda x: _attention(x, causal=True),
    "convolution, kernel 3": _convolution,
}


def _named(layer: str) -> Layer:
    if layer not in LAYERS:
        raise ValueError(f"there is no layer {layer!r} here; choose {', '.join(LAYERS)}")
    return LAYERS[layer]


def _inside(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {value}")


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def perturb(position: int = 3, layer: str = "FFN") -> Picture:
    """What changes in the output [14, 6] of a layer when the token at `position` becomes another word."""
    function = _named(layer)
    _inside("position", position, 0, len(TOKENS) - 1)
    old = list(TOKENS)
    new = [*old[:position], NEW_WORD, *old[position + 1 :]]
    before, after = (embeddings(tuple(words), dtype=torch.float64) for words in (old, new))
    change = function(after) - function(before)  # [T, d_model]
    largest = change.abs().amax(1)
    changed = [t for t in range(len(old)) if float(largest[t]) > TINY]
    elsewhere = max((float(largest[t]) for t in range(len(old)) if t != position), default=0.0)
    verb = "changes" if len(changed) == 1 else "change"
    title = f"{_capital(layer)}: {len(changed)} of {len(old)} rows {verb}"
    rows = f"row {changed[0]}" if len(changed) == 1 else f"rows {changed[0]} to {changed[-1]}"
    most = "exactly 0" if elsewhere == 0 else svg.label(elsewhere, 2)
    sentence = (
        f"Token {position}, “{old[position]}”, becomes “{NEW_WORD}”. Of the {len(old)} output rows "
        f"{len(changed)} {verb}: {rows}. The largest change outside row {position} is {most}."
    )

    row, cell, top = 22.0, 24.0, 88.0
    left_x, left_y = 120.0, 348.0
    shapes = [
        svg.text(left_x + 3 * cell, top - 26, "what changes in x", size=14, bold=True, anchor="middle"),
        svg.text(left_y + 3 * cell, top - 26, "what changes in the output", size=14, bold=True, anchor="middle"),
        svg.text(left_y + 6 * cell + 14, top - 8, "largest change", size=12, fill=style.MUTED),
        svg.text(left_x + 3 * cell, top - 8, f"[{len(old)}, {D_MODEL}]", size=12, fill=style.MUTED, anchor="middle"),
        svg.text(left_y + 3 * cell, top - 8, f"[{len(old)}, {D_MODEL}]", size=12, fill=style.MUTED, anchor="middle"),
    ]
    for t, word in enumerate(old):
        y = top + row * t
        mine = t == position
        written = f"{word} → {NEW_WORD}" if mine else word
        ink = style.INK if mine else style.MUTED
        ground = svg.rect(LEFT, y, left_x - 6 - LEFT, row - 1, fill=style.PAPER, radius=4)
        name = svg.text(left_x - 10, y + 15.5, written, size=13, anchor="end", bold=mine, fill=ink)
        cells = _cells(left_x, y, cell, row, (after - before)[t].tolist(), f"{word}: x")
        shapes.append(svg.button(ground, name, *cells, sets={"position": t}, name=f"change token {t}, {word}"))
        shapes += _cells(left_y, y, cell, row, change[t].tolist(), f"{word}: output")
        size = float(largest[t])
        says = svg.label(size, pad=True) if size > TINY else "0"
        ink = style.INK if size > TINY else style.NEUTRAL
        shapes.append(svg.text(left_y + 6 * cell + 14, y + 15.5, says, size=12.5, bold=size > TINY, fill=ink))
    y = top + row * position
    for left in (left_x, left_y):
        shapes.append(
            svg.rect(left - 1.5, y - 1.5, 6 * cell + 2, row + 2, stroke=style.INK, stroke_width=1.8, radius=2)
        )
    middle = (left_x + 6 * cell + left_y) / 2
    arrow = [(middle - 22, y + row / 2), (middle + 22, y + row / 2)]
    shapes += [
        svg.path(arrow, stroke=style.MUTED, width=2),
        svg.path(
            [(middle + 15, y + row / 2 - 6), (middle + 22, y + row / 2), (middle + 15, y + row / 2 + 6)],
            stroke=style.MUTED,
            width=2,
        ),
    ]
    return Picture(title, sentence, svg.card(top + row * len(old) + 20, title, sentence, *shapes))


def _cells(left: float, top: float, cell: float, row: float, values: list[float], tip: str) -> list[str]:
    """One row of a heat map; a value of zero is an empty cell."""
    return [
        svg.rect(
            left + cell * j,
            top,
            cell - 1,
            row - 1,
            fill=style.diverging(value, SHADE) if abs(value) > TINY else style.PAPER,
            stroke=style.TINT,
            stroke_width=0.8,
            tip=f"{tip} {j} changes by {svg.label(value, 3)}",
        )
        for j, value in enumerate(values)
    ]


def jacobian(layer: str = "FFN", length: int = 4, block: int = NO_BLOCK) -> Picture:
    """The derivative of every output number by every input number, [T·d, T·d] with d = 4, in blocks of token by token.

    `block` LONGEST · t + s, output of token t by input of token s, is framed and read; one beyond `length` is not there.
    """
    _named(layer)
    d = 4
    _inside("length", length, 2, LONGEST)
    if block not in BLOCKS:
        raise ValueError(f"block must be from 0 to {BLOCKS[-1]}, or {NO_BLOCK} for none, not {block}")
    of, by = divmod(block, LONGEST)
    framed = block != NO_BLOCK and max(of, by) < length
    words = TOKENS[:length]
    found = _derivatives(layer, length, d)
    blocks = found.abs().amax(dim=(1, 3))
    filled = int((blocks > TINY).sum())
    off = int((blocks > TINY).sum() - (blocks.diagonal() > TINY).sum())
    title = f"{_capital(layer)}: {filled} of {length**2} blocks are not zero"
    what = (
        "all of them on the diagonal: no token sees another"
        if off == 0
        else f"{off} of them beside the diagonal: there one token sees another"
    )
    if framed:
        inside = found[of, :, by].flatten()
        furthest = float(inside[int(inside.abs().argmax())])
        many = (
            f"the derivative furthest from zero is {svg.label(furthest)}"
            if abs(furthest) > TINY
            else f"all {d * d} derivatives are 0"
        )
        what = f"in the framed one, how “{words[of]}” reacts to “{words[by]}”, {many}"
    sentence = (
        f"{length} tokens with {d} numbers each give a Jacobian of {length * d} × {length * d}. "
        f"Of its {length**2} blocks {filled} are not zero{';' if framed else ','} {what}."
    )

    left, top, side = 150.0, 92.0, 330.0
    wide = side / length
    cell = wide / d
    shapes = [
        svg.text(left + side / 2, top - 32, "input: numbers of …", size=13, bold=True, anchor="middle"),
        svg.text(left - 12, top - 10, "output: of …", size=13, bold=True, anchor="end"),
    ]
    for t in range(length):
        middle = wide * (t + 0.5)
        shapes += [
            svg.text(left + middle, top - 10, words[t], size=12.5, fill=style.MUTED, anchor="middle"),
            svg.text(left - 12, top + middle + 4, words[t], size=12.5, fill=style.MUTED, anchor="end"),
        ]
        for s in range(length):
            x, y = left + wide * s, top + wide * t
            marks = [svg.rect(x, y, wide, wide, fill=style.PAPER)]
            if float(blocks[t, s]) <= TINY:
                marks.append(
                    svg.text(x + wide / 2, y + wide / 2 + 5, "0", size=14, fill=style.NEUTRAL, anchor="middle")
                )
            else:
                marks += [
                    svg.rect(
                        x + cell * j,
                        y + cell * i,
                        cell - 0.5,
                        cell - 0.5,
                        fill=style.diverging(float(found[t, i, s, j]), 1.0),
                        tip=f"{words[t]} {i} by {words[s]} {j}: {svg.label(float(found[t, i, s, j]), 3)}",
                    )
                    for i in range(d)
                    for j in range(d)
                ]
            mine = framed and (t, s) == (of, by)
            press = {"block": NO_BLOCK if mine else LONGEST * t + s}
            name = f"the output of {words[t]} by the input of {words[s]}{', framed' if mine else ''}"
            shapes.append(svg.button(*marks, sets=press, name=name))
    for n in range(length + 1):
        shapes += [
            svg.line(left + wide * n, top, left + wide * n, top + side, stroke=style.RULE),
            svg.line(left, top + wide * n, left + side, top + wide * n, stroke=style.RULE),
        ]
    if framed:
        shapes.append(
            svg.rect(left + wide * by, top + wide * of, wide, wide, stroke=style.INK, stroke_width=2.6, radius=2)
        )
    shapes.append(_scale(left + side + 26, top + 8))
    return Picture(title, sentence, svg.card(top + side + 20, title, sentence, *shapes))


@cache
def _derivatives(layer: str, length: int, d: int) -> torch.Tensor:
    """The Jacobian of a layer at the first tokens of the sentence, [T, d, T, d]; kept, since a hand that reads blocks asks for it again."""
    found: torch.Tensor = torch.func.jacrev(_named(layer))(embeddings(TOKENS[:length], d, torch.float64))
    return found


def _scale(left: float, top: float) -> str:
    """What the colours mean, from 1 at the top to -1."""
    steps = [1 - n / 5 for n in range(11)]
    boxes = [svg.rect(left, top + 14 * n, 16, 14, fill=style.diverging(value, 1.0)) for n, value in enumerate(steps)]
    words = [
        svg.text(left + 24, top + 14 * n + 11.5, svg.label(steps[n]), size=12, fill=style.MUTED) for n in (0, 5, 10)
    ]
    return "".join([*boxes, svg.rect(left, top, 16, 14 * len(steps), stroke=style.RULE), *words])


def parameters_of_one() -> int:
    """How many numbers the shared FFN of ratio 4 holds."""
    return sum(part.numel() for part in weights(4))


def boxes(length: int = 4, own: bool = False) -> Picture:
    """`length` tokens, an FFN under each: the same one, or (`own`) one for each of the first 8 positions."""
    _inside("length", length, 1, len(TOKENS))
    words, one = TOKENS[:length], parameters_of_one()
    x = embeddings(words, dtype=torch.float64)
    missing = max(0, length - TRAINED) if own else 0
    out = torch.cat([_own(x[t : t + 1], t) for t in range(min(length, TRAINED))]) if own else _ffn(x)
    every = TRAINED * one
    plural = "tokens" if length > 1 else "token"
    if not own:
        title = f"One FFN of {one} parameters serves {length} {plural}"
        sentence = (
            f"The same FFN is under {'each of the ' if length > 1 else ''}{length} {plural}; its {one} parameters are counted once, "
            f"and a longer sequence needs no more."
        )
    elif not missing:
        title = f"An FFN for each of {TRAINED} positions: {every:,} parameters"
        sentence = (
            f"Each position has weights of its own, {TRAINED} times {one} = {every:,} parameters, "
            f"for any sequence of up to {TRAINED} tokens. Here {length} of them {'is' if length == 1 else 'are'} used."
        )
    else:
        title = f"An FFN for each of {TRAINED} positions: none for {missing} of {length}"
        sentence = (
            f"{every:,} parameters, {TRAINED} times {one}, and still there are none for the {missing} "
            f"{'positions' if missing > 1 else 'position'} from {TRAINED} on: the longest sequence is fixed."
        )

    pitch, top, tall = (RIGHT - LEFT) / len(TOKENS), 66.0, 11.0
    shapes = []
    for t, word in enumerate(words):
        middle = LEFT + pitch * (t + 0.5)
        there = not own or t < TRAINED
        colour = style.CHOSEN if not own else style.SERIES[t % len(style.SERIES)] if there else style.NEUTRAL
        shapes += [
            svg.text(middle, top + 4, word, size=11.5, anchor="middle"),
            *_column(middle, top + 12, tall, x[t].tolist()),
            svg.line(middle, top + 82, middle, top + 98, stroke=style.MUTED, width=1.5),
            svg.rect(
                middle - pitch / 2 + 3,
                top + 98,
                pitch - 6,
                34,
                radius=6,
                fill=style.PAPER,
                stroke=colour,
                stroke_width=2,
                dash="" if there else "4 3",
            ),
            svg.text(
                middle,
                top + 119,
                ("FFN" if not own else f"FFN {t}") if there else "?",
                size=9.5 if own and there else 11,
                bold=True,
                fill=colour if there else style.MUTED,
                anchor="middle",
            ),
        ]
        if there:
            shapes.append(svg.line(middle, top + 132, middle, top + 148, stroke=style.MUTED, width=1.5))
            shapes += _column(middle, top + 150, tall, out[t].tolist())
    end, first = LEFT + pitch * length, LEFT + pitch
    shapes += [
        svg.line(first, top + 229, RIGHT, top + 229, stroke=style.RULE, width=3),
        svg.handle(
            end,
            top + 229,
            drags={"length": svg.across((first, RIGHT), (1, len(TOKENS)))},
            name="tokens",
            says=f"{length} {plural}",
        ),
    ]
    bars = ((f"one for all: {one}", one, False), (f"one each, for {TRAINED} positions: {every:,}", every, True))
    for n, (name, count, each) in enumerate(bars):
        y, current = top + 260 + 40 * n, each == own
        ink = style.INK if current else style.MUTED
        ground = svg.rect(LEFT - 4, y - 18, RIGHT - LEFT + 8, 33, fill=style.PAPER, radius=4)
        words_of_bar = svg.text(LEFT, y - 5, f"{name} parameters", size=12.5, bold=current, fill=ink)
        bar = svg.rect(LEFT, y, (RIGHT - LEFT) * count / every, 12, fill=style.INK if current else style.GHOST)
        shapes.append(svg.button(ground, words_of_bar, bar, sets={"own": each}, name=f"{name} parameters"))
    return Picture(title, sentence, svg.card(top + 330, title, sentence, *shapes))


def _own(x: torch.Tensor, t: int) -> torch.Tensor:
    """An FFN of position t's own, of the same size as the shared one."""
    d = x.shape[1]
    w1 = _random(d, 4 * d, number=10 + t) * 0.9 / math.sqrt(d)
    w2 = _random(4 * d, d, number=30 + t) * math.sqrt(1.6 / (4 * d))
    b1, b2 = 0.3 * _random(4 * d, number=50 + t), 0.2 * _random(d, number=70 + t)
    return _matmul(torch.relu(_matmul(x, w1) + b1), w2) + b2


def _column(middle: float, top: float, tall: float, values: list[float]) -> list[str]:
    return [
        svg.rect(
            middle - 9,
            top + tall * j,
            18,
            tall - 1,
            fill=style.diverging(value, SHADE),
            stroke=style.TINT,
            stroke_width=0.6,
            tip=f"{j}: {svg.label(value, 3)}",
        )
        for j, value in enumerate(values)
    ]


MODES = {"pre": "norm before each layer", "post": "norm after each sum"}


def sublayers(mode: str = "pre") -> Picture:
    """One Transformer block: attention and FFN, each with its residual path and its norm, before ('pre') or after the sum."""
    if mode not in MODES:
        raise ValueError(f"there is no mode {mode!r} here; choose {', '.join(MODES)}")
    pre = mode == "pre"
    on_path = 0 if pre else 2
    title = f"{'Pre' if pre else 'Post'}-norm: {on_path or 'no'} norms on the path of x"
    sentence = (
        "In each half of the block the norm is on the side path, x + layer(norm(x)): from left to right, x meets two sums and nothing else."
        if pre
        else "In each half of the block the norm is on the main path, norm(x + layer(x)): from left to right, x meets two sums and two norms."
    )

    main, side = 250.0, 138.0
    shapes = [svg.line(LEFT + 26, main, RIGHT - 34, main, stroke=style.INK, width=2.5)]
    shapes.append(svg.text(LEFT + 8, main + 5, "x", size=16, bold=True, anchor="middle"))
    shapes.append(svg.text(RIGHT - 12, main + 5, "out", size=14, bold=True, anchor="middle"))
    for n, (name, what, colour) in enumerate(
        (("attention", "tokens exchange", style.ATTENTION), ("FFN", "each token alone", style.FFN))
    ):
        start = LEFT + 48 + 272 * n
        total = start + 170
        shapes += [
            svg.path([(start, main), (start, side), (total, side), (total, main - 13)], stroke=style.MUTED, width=2),
            svg.path([(total - 5, main - 21), (total, main - 13), (total + 5, main - 21)], stroke=style.MUTED, width=2),
            svg.circle(start, main, 4, fill=style.INK),
            svg.circle(total, main, 13, fill=style.PAPER, stroke=style.INK, stroke_width=2),
            svg.text(total, main + 6, "+", size=18, bold=True, anchor="middle"),
        ]
        if pre:
            norm = _box(start + 10, side - 16, 56, 32, "norm", style.MUTED)
            shapes.append(_box(start + 76, side - 22, 84, 44, name, colour))
            formula = f"{'xz'[n]} + {name}(norm({'xz'[n]}))"
        else:
            shapes.append(_box(start + 40, side - 22, 90, 44, name, colour))
            norm = _box(total + 24, main - 16, 56, 32, "norm", style.MUTED)
            formula = f"norm({'xz'[n]} + {name}({'xz'[n]}))"
        other = "post" if pre else "pre"
        shapes += [
            svg.button(norm, sets={"mode": other}, name=f"move the norms: {MODES[other]}"),
            svg.text(start + 86, side - 44, what, size=13, fill=style.MUTED, anchor="middle"),
            svg.text(start + 92, main + 52, f"{'z' if n == 0 else 'out'} = {formula}", size=13, anchor="middle"),
        ]
    return Picture(title, sentence, svg.card(330, title, sentence, *shapes))


def _box(left: float, top: float, wide: float, tall: float, name: str, colour: str) -> str:
    return svg.rect(left, top, wide, tall, radius=7, fill=style.PAPER, stroke=colour, stroke_width=2) + svg.text(
        left + wide / 2, top + tall / 2 + 5, name, size=14, bold=True, anchor="middle", fill=colour
    )


def bottleneck(d_ff: int = 3) -> Picture:
    """The singular values of what `d_ff` neurons write for the 14 tokens, [14, 6], largest first."""
    _inside("d_ff", d_ff, 1, 12)
    x = embeddings(dtype=torch.float64)
    w1, b1, w2, _ = weights(d_ff / D_MODEL, dtype=torch.float64)
    written = _matmul(torch.relu(_matmul(x, w1) + b1), w2)  # [14, 6], the FFN without b2
    values = torch.linalg.svdvals(written).tolist()
    rank = sum(value > TINY * values[0] for value in values)
    neurons = "neuron" if d_ff == 1 else "neurons"
    title = f"{d_ff} hidden {neurons}: {rank} of {D_MODEL} directions in use"
    sentence = (
        f"What {d_ff} {neurons} {'writes' if d_ff == 1 else 'write'} for the {len(TOKENS)} tokens has {rank} singular "
        f"{'value' if rank == 1 else 'values'} above zero, the largest {svg.label(values[0], 1)}; "
        f"more than {min(d_ff, D_MODEL)} {'is' if min(d_ff, D_MODEL) == 1 else 'are'} not possible."
    )
    left, top, row = 110.0, 76.0, 36.0
    longest = RIGHT - left - 56
    most = 9.0
    shapes = [svg.text(LEFT, top - 14, "singular value", size=12, fill=style.MUTED)]
    for j, value in enumerate(values):
        y, used = top + row * j, value > TINY * values[0]
        shapes.append(
            svg.text(
                left - 12, y + 18, f"direction {j + 1}", size=13, anchor="end", fill=style.INK if used else style.MUTED
            )
        )
        if used:
            length = min(longest * value / most, longest)
            shapes.append(svg.rect(left, y, length, 26, fill=style.CHOSEN, tip=f"{j}: {svg.label(value, 3)}"))
        else:
            shapes.append(svg.circle(left, y + 13, 4, fill=style.PAPER, stroke=style.MUTED, tip=f"{j}: 0"))
        at = left + (min(longest * value / most, longest) if used else 4)
        shapes.append(
            svg.text(
                at + 8,
                y + 18,
                svg.label(value, pad=True) if used else "0",
                size=12.5,
                fill=style.INK if used else style.MUTED,
            )
        )
    shapes.append(svg.line(left, top - 6, left, top + row * D_MODEL, stroke=style.NEUTRAL))
    return Picture(title, sentence, svg.card(top + row * D_MODEL + 20, title, sentence, *shapes))
