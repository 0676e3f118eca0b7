"""The figures of notebook 04: one word edited, the Jacobian, one FFN for all positions, a block's wiring, a bottleneck."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import torch

from ffnlab.course import toy_transformer, world
from ffnlab.course.figures.shared import TOKENS, embeddings, weights
from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture

__all__ = [
    "AZIMUTHS",
    "BLOCKS",
    "EVERYWHERE",
    "LAYERS",
    "LONGEST",
    "NO_BLOCK",
    "PLACES",
    "TOKENS",
    "WORDS",
    "bottleneck",
    "boxes",
    "edit",
    "jacobian",
    "sublayers",
]

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
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


SAID = tuple(
    world.wish(world.Scene("creek", "cold", "spunky", "dog"))[: world.FEELING]
)  # 15 words, before `edit` changes one
WORDS = {  # by position, what `edit` can put there: the word itself, its like, and two of another kind
    1: ("creek", "river", "ditch", "hedge"),
    3: ("cold", "icy", "warm", "sunny"),
    6: ("spunky", "brave", "timid", "meek"),
    7: ("dog", "cat", "fox", "goat"),
}
EVERYWHERE = -1
PLACES = range(EVERYWHERE, len(SAID))  # which positions get what the edit changes
SHOWN = 10  # of the numbers of a vector
SHADE_IN, SHADE_OUT = 8.0, 2.4  # the longest bars of what the FFN gets and gives


class _Passed(NamedTuple):
    """What the FFN of the little world's model makes of a sentence, for each position."""

    gets: torch.Tensor  # [T, d_model]
    gives: torch.Tensor  # [T, d_model]
    fires: tuple[tuple[str, ...], ...]  # what the neurons that fire are called
    says: tuple[str, ...]  # the next word, where the model is more than half sure of it, else …


@cache
def _gathered(words: tuple[str, ...]) -> torch.Tensor:
    """What attention hands to the FFN, [T, d_model]."""
    gathered: torch.Tensor = toy_transformer.load().gather(toy_transformer.tensor([words]))[0]
    return gathered


@cache
def _names() -> dict[int, toy_transformer.Name]:
    return {name.neuron: name for name in toy_transformer.names(toy_transformer.load())}


@cache
def _passed(place: int, word: str, only: int) -> _Passed:
    """With `word` at `place`; only: the one position that gets what this changes, all others get what they got before."""
    model = toy_transformer.load()
    gets = _gathered((*SAID[:place], word, *SAID[place + 1 :]))
    if only != EVERYWHERE:
        new, gets = gets, _gathered(SAID).clone()
        gets[only] = new[only]
    hidden = model.hidden(gets[None])
    assert model.linear2 is not None
    fires = [
        tuple(dict.fromkeys(_names()[n].words for n in row.nonzero()[:, 0].tolist() if _strong(n, row)))
        for row in hidden[0]
    ]
    sure, words = model.say(gets[None], hidden)[0].softmax(-1).max(-1)
    says = (world.WORDS[n] if p > 0.5 else "…" for p, n in zip(sure.tolist(), words.tolist(), strict=True))
    return _Passed(gets, model.linear2(hidden)[0], tuple(fires), tuple(says))


def _strong(neuron: int, row: torch.Tensor) -> bool:
    return neuron in _names() and float(row[neuron]) > toy_transformer.FIRES * _names()[neuron].largest


def edit(place: int = 1, word: int = 2, only: int = EVERYWHERE) -> Picture:
    """The little world's sentence with another word at `place`: what the FFN gets and gives at each position, before and after.

    `only` is the one position that gets what the edit changes, while all others get what they got before; EVERYWHERE: attention tells
    each position from `place` on.
    """
    if place not in WORDS:
        raise ValueError(f"place must be one of {', '.join(map(str, WORDS))}, not {place}")
    _inside("word", word, 0, len(WORDS[place]) - 1)
    _inside("only", only, EVERYWHERE, PLACES[-1])
    old, new = SAID[place], WORDS[place][word]
    before, after = _passed(place, old, EVERYWHERE), _passed(place, new, only)
    sizes = [(after.gets - before.gets).norm(dim=1).tolist(), (after.gives - before.gives).norm(dim=1).tolist()]
    ins, outs = ([t for t, size in enumerate(column) if size > 0] for column in sizes)
    title = f"{len(ins)} of {len(SAID)} inputs of the FFN change, and {len(outs)} of its outputs"
    what = f"“{old}” becomes “{new}”" if new != old else f"“{old}” stays “{old}”"
    who = "attention passes it on" if only == EVERYWHERE else f"only position {only}, “{SAID[only]}”, is told"
    noticed = "; ".join(_noticed(before, after, t) for t in outs)
    then = f"Neurons that fire {noticed}" if noticed else "What the FFN gives stays the same everywhere"
    sentence = f"{what}; {who}. {then}."

    top, row = 126.0, 20.5
    columns = ((150.0, "the FFN gets", SHADE_IN), (330.0, "the FFN gives", SHADE_OUT))
    says = 512.0
    shapes = [*_choices(place, word), _key(54.0, only)]
    shapes += [svg.text(x, top - 9, name, size=12.5, bold=True) for x, name, _ in columns]
    shapes += [svg.text(x + 118, top - 9, "change", size=11.5, fill=style.MUTED) for x, _, _ in columns]
    shapes.append(svg.text(says, top - 9, "next word", size=12.5, bold=True))
    for t, one in enumerate(SAID):
        y, mine, here = top + row * t, t == place and new != old, only in (EVERYWHERE, t)
        ink = style.INK if here else style.MUTED
        marks = [
            svg.rect(LEFT - 6, y, RIGHT - LEFT + 12, row - 1, fill=style.PAPER, radius=4),
            svg.text(LEFT + 14, y + 14.5, f"{t}", size=11, fill=style.MUTED, anchor="end"),
            svg.text(
                LEFT + 22, y + 14.5, f"{one} → {new}" if mine else one, size=12.5, bold=mine or t == only, fill=ink
            ),
        ]
        vectors = ((before.gets, after.gets), (before.gives, after.gives))
        for (x, _, limit), (was, now), size in zip(columns, vectors, (sizes[0][t], sizes[1][t]), strict=True):
            marks += _vector(x, y + row / 2, was[t].tolist(), now[t].tolist() if size else [], limit)
            says_so = svg.label(size, pad=True) if size else "="
            ink = style.INK if size else style.MUTED
            marks.append(svg.text(x + 118, y + 14.5, says_so, size=11.5, bold=size > 0, fill=ink))
        turned = before.says[t] != after.says[t]
        spoken = f"{before.says[t]} → {after.says[t]}" if turned else before.says[t]
        marks.append(svg.text(says, y + 14.5, spoken, size=12, bold=turned, fill=style.INK if turned else style.MUTED))
        sets = {"only": EVERYWHERE if only == t else t}
        name = "let attention tell every position" if only == t else f"tell position {t}, {one}, alone"
        shapes.append(svg.button(*marks, sets=sets, name=name))
    if only != EVERYWHERE:
        frame = LEFT - 5, top + row * only - 0.5, RIGHT - LEFT + 10, row
        shapes.append(svg.rect(*frame, stroke=style.INK, stroke_width=1.6, radius=4))
    return Picture(title, sentence, svg.card(top + row * len(SAID) + 14, title, sentence, *shapes))


def _noticed(before: _Passed, after: _Passed, t: int) -> str:
    """Which neurons fire at a position, before and after."""
    was, now = (" and ".join(passed.fires[t]) or "none" for passed in (before, after))
    return f"at “{SAID[t]}”: {now}, {'as before' if was == now else f'instead of {was}'}"


def _choices(place: int, word: int) -> list[str]:
    """The words that can be edited, to be pressed, and what can be put in the place of one."""
    shapes = [svg.text(LEFT, 84, "edit", size=12, fill=style.MUTED)]
    x = LEFT + 34
    for at in WORDS:
        wide = 7.6 * len(SAID[at]) + 16
        mine = at == place
        box = svg.rect(x, 68, wide, 24, radius=6, fill=style.INK if mine else style.TINT)
        name = svg.text(x + wide / 2, 84.5, SAID[at], size=13, anchor="middle", fill=style.PAPER if mine else style.INK)
        shapes.append(svg.button(box, name, sets={"place": at}, name=f"edit “{SAID[at]}”"))
        x += wide + 5
    shapes.append(svg.text(x + 14, 84, "becomes", size=12, fill=style.MUTED))
    x += 76
    for n, other in enumerate(WORDS[place]):
        wide = 7.6 * len(other) + 16
        mine = n == word
        box = svg.rect(x, 68, wide, 24, radius=6, fill=style.CHOSEN if mine else style.PAPER, stroke=style.CHOSEN)
        name = svg.text(x + wide / 2, 84.5, other, size=13, anchor="middle", fill=style.PAPER if mine else style.INK)
        shapes.append(svg.button(box, name, sets={"word": n}, name=f"“{SAID[place]}” becomes “{other}”"))
        x += wide + 5
    return shapes


def _vector(left: float, middle: float, was: list[float], now: list[float], limit: float) -> list[str]:
    """The first numbers of a vector as bars up and down, before in grey, and after as a green line where anything changed."""
    shapes = [_bars(left, middle, was, limit, fill=style.NEUTRAL)]
    return [*shapes, _bars(left, middle, now, limit, stroke=style.CHOSEN)] if now else shapes


def _bars(
    left: float, middle: float, values: list[float], limit: float, fill: str = "none", stroke: str = "none"
) -> str:
    heights = [9 * max(-1.0, min(1.0, value / limit)) for value in values[:SHOWN]]
    corners = [(left + 11 * (n + side), middle - height) for n, height in enumerate(heights) for side in (0, 1)]
    ends = [(left, middle), *corners, (left + 11 * len(heights), middle)]
    return svg.path(ends, fill=fill, stroke=stroke, width=1.6, closed=fill != "none")


def _key(y: float, only: int) -> str:
    press = "a row: this position alone is told." if only == EVERYWHERE else "the row again: attention tells all."
    words = f"bars: {SHOWN} of the {toy_transformer.D_MODEL} numbers, before"
    return (
        svg.rect(LEFT, y - 8, 12, 8, fill=style.NEUTRAL)
        + svg.text(LEFT + 18, y, words, size=12, fill=style.MUTED)
        + svg.line(LEFT + 236, y - 4, LEFT + 254, y - 4, stroke=style.CHOSEN, width=2)
        + svg.text(LEFT + 260, y, f"after. Press {press}", size=12, fill=style.MUTED)
    )


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
    """Token number `length` of the sentence on its way through the one shared FFN, or (`own`) so many tokens on 8 FFNs, one for each position."""
    _inside("length", length, 1, len(TOKENS))
    one, missing = parameters_of_one(), max(0, length - TRAINED) if own else 0
    every = TRAINED * one
    plural = "tokens" if length > 1 else "token"
    if not own:
        title = f"One FFN of {one} parameters serves {length} {plural}"
        sentence = (
            f"“{TOKENS[length - 1]}”, token {length}, is in the FFN, the same for all; its {one} parameters are counted once, "
            f"and a longer sentence needs no more."
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

    top = 66.0
    shapes = _own_boxes(length, top) if own else _shared_box(length, top)
    pitch = (RIGHT - LEFT) / len(TOKENS)
    end, first = LEFT + pitch * length, LEFT + pitch
    shapes += [
        svg.line(first, top + 233, RIGHT, top + 233, stroke=style.RULE, width=3),
        svg.handle(
            end,
            top + 233,
            drags={"length": svg.across((first, RIGHT), (1, len(TOKENS)))},
            name="tokens",
            says=f"{length} {plural}",
        ),
    ]
    bars = ((f"one for all: {one}", one, False), (f"one each, for {TRAINED} positions: {every:,}", every, True))
    for n, (name, count, each) in enumerate(bars):
        y, current = top + 264 + 40 * n, each == own
        ink = style.INK if current else style.MUTED
        ground = svg.rect(LEFT - 4, y - 18, RIGHT - LEFT + 8, 33, fill=style.PAPER, radius=4)
        words_of_bar = svg.text(LEFT, y - 5, f"{name} parameters", size=12.5, bold=current, fill=ink)
        bar = svg.rect(LEFT, y, (RIGHT - LEFT) * count / every, 12, fill=style.INK if current else style.GHOST)
        shapes.append(svg.button(ground, words_of_bar, bar, sets={"own": each}, name=f"{name} parameters"))
    return Picture(title, sentence, svg.card(top + 334, title, sentence, *shapes))


def _shared_box(length: int, top: float) -> list[str]:
    """One box in the middle; the sentence slides through it to the left, inputs on its right, outputs on its left."""
    x = embeddings(TOKENS, dtype=torch.float64)
    out, middle, half, pitch = _ffn(x), svg.WIDTH / 2, 62.0, 44.0
    shapes = [
        svg.text(middle - half - 16, top, "what came out", size=12, fill=style.MUTED, anchor="end"),
        svg.text(middle + half + 16, top, "what is still to go in", size=12, fill=style.MUTED),
        svg.rect(middle - half, top + 14, 2 * half, 138, radius=10, fill=style.pale(style.CHOSEN), stroke=style.CHOSEN, stroke_width=2.5),
        svg.text(middle, top + 36, "FFN", size=17, bold=True, anchor="middle", fill=style.CHOSEN),
        *_arrow(middle + 14, middle - 14, top + 92),
    ]  # fmt: skip
    now = length - 1
    shapes += _column(middle + 34, top + 58, 11.0, x[now].tolist()) + _column(
        middle - 34, top + 58, 11.0, out[now].tolist()
    )
    shapes.append(svg.text(middle, top + 144, TOKENS[now], size=13, bold=True, anchor="middle"))
    for t, word in enumerate(TOKENS):
        at = middle + (t - now) * pitch + math.copysign(half - 20, t - now)
        if t != now and LEFT + 16 <= at <= RIGHT - 16:
            shapes += _column(at, top + 58, 11.0, (out if t < now else x)[t].tolist())
            shapes.append(svg.text(at, top + 144, word, size=11.5, anchor="middle"))
    shapes += [*_arrow(RIGHT - 10, middle + half + 30, top + 180), *_arrow(middle - half - 30, LEFT + 10, top + 180)]
    shapes.append(svg.text(middle, top + 184, "the sentence slides", size=12, fill=style.MUTED, anchor="middle"))
    return shapes


def _arrow(start: float, end: float, y: float) -> list[str]:
    """A level arrow."""
    back = math.copysign(7, start - end)
    head = [(end + back, y - 5), (end, y), (end + back, y + 5)]
    return [svg.line(start, y, end, y, stroke=style.MUTED, width=2), svg.path(head, stroke=style.MUTED, width=2)]


def _own_boxes(length: int, top: float) -> list[str]:
    """A road of 8 different boxes, and then a cliff: a token beyond them falls."""
    x, pitch = embeddings(TOKENS, dtype=torch.float64), (RIGHT - LEFT) / len(TOKENS)
    road, shapes = top + 98, []
    for t in range(TRAINED):
        left, colour = LEFT + pitch * t, style.SERIES[t % len(style.SERIES)]
        box = left + 1, road, pitch - 2, 34
        shapes.append(svg.rect(*box, radius=4, fill=style.pale(colour), stroke=colour, stroke_width=2))
        shapes.append(
            svg.text(left + pitch / 2, road + 21, f"FFN {t}", size=10, bold=True, anchor="middle", fill=colour)
        )
    edge = LEFT + pitch * TRAINED + 3
    shapes += [
        svg.path([(edge, road), (edge + 5, road + 30), (edge - 2, road + 62), (edge + 4, road + 104)], stroke=style.INK, width=2.5),
        svg.text(RIGHT, top + 26, "no weights from here on", size=12, fill=style.MUTED, anchor="end"),
    ]  # fmt: skip
    for t, word in enumerate(TOKENS[:length]):
        middle = LEFT + pitch * (t + 0.5) + (6 if t >= TRAINED else 0)
        if t < TRAINED:
            shapes += [
                *_column(middle, road - 68, 11.0, x[t].tolist()),
                svg.text(middle, road - 74, word, size=11.5, anchor="middle"),
                svg.line(middle, road + 34, middle, road + 42, stroke=style.MUTED, width=1.5),
                *_column(middle, road + 44, 9.5, _own(x[t : t + 1], t)[0].tolist()),
            ]
        else:
            shapes += [
                *_column(middle, road + 24, 11.0, x[t].tolist()),
                svg.line(middle - 5, road - 14, middle - 5, road + 4, stroke=style.INK, width=1.5),
                svg.line(middle + 5, road - 10, middle + 5, road + 4, stroke=style.INK, width=1.5),
                svg.text(middle, road + 18, word, size=11.5, anchor="middle"),
                svg.text(middle, road + 104, "?", size=13, bold=True, anchor="middle", fill=style.INK),
            ]
    return shapes


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


# What each of three neurons writes, three numbers each. From azimuth 120 the plane of the first two is seen from its edge.
WRITES = np.array([(0.9, 0.5, 0.45), (-0.67, 0.85, 0.37), (-0.7, -0.6, 0.5)])
AZIMUTHS = range(0, 360, 15)  # degrees
TILT = math.radians(22)  # how far the eye is above the floor
ROOM = 2.2  # half the length of the cube's edge
EYE = 11.0  # how far the eye is from its middle
NARROW = 17237  # the seed of the tokens and the keys: all points lie in the cube
MOST = 6.0  # the longest bar of a singular value
LIE = {1: "lie on a line", 2: "lie on a plane", 3: "fill the room"}
CORNERS = tuple(np.array(corner) * ROOM for corner in product((-1.0, 1.0), repeat=3))
EDGES = tuple(
    pair for pair in combinations(range(8), 2) if (pair[0] ^ pair[1]).bit_count() == 1
)  # of corners that differ in one number
FLOOR = (0, 2, 6, 4)  # the corners below

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@cache
def _narrow(d_ff: int) -> tuple[Array, Array]:
    """The sentence's tokens, and what d_ff neurons write for them without b2: two times [14, 3]."""
    rng = np.random.default_rng(NARROW)
    words = sorted({word.lower() for word in TOKENS})
    vectors, w1 = rng.standard_normal((len(words), 3)), rng.standard_normal((3, 3))
    x = 0.8 * vectors[[words.index(word.lower()) for word in TOKENS]]
    return x, np.maximum(x @ w1[:, :d_ff] + 0.4, 0) @ WRITES[:d_ff]


class _View:
    """The cube seen from an azimuth: where its points lie on the card, and how near they are."""

    def __init__(self, azimuth: int) -> None:
        around = math.radians(azimuth)
        cos, sin, low, high = math.cos(around), math.sin(around), math.cos(TILT), math.sin(TILT)
        self.to_the_eye = np.array((cos * low, sin * low, high))
        self.axes = np.array(((-sin, cos, 0.0), (-cos * high, -sin * high, low)))  # to the right, and up

    def near(self, point: Array) -> float:
        """From -1, the far corner, to 1, the near one."""
        return float(point @ self.to_the_eye) / (ROOM * math.sqrt(3))

    def at(self, point: Array) -> tuple[float, float]:
        across, up = (self.axes @ point) * EYE / (EYE - float(point @ self.to_the_eye)) * 53
        return 205 + across, 200 - up


def bottleneck(d_ff: int = 2, plus_x: bool = False, azimuth: int = 300) -> Picture:
    """What 1, 2 or 3 neurons write for 14 tokens where d_model is 3: points on a line, on a plane, or all over; with `plus_x` they leave it."""
    _inside("d_ff", d_ff, 1, 3)
    if azimuth not in AZIMUTHS:
        raise ValueError(f"azimuth must be one of {AZIMUTHS[0]}, {AZIMUTHS[1]} … {AZIMUTHS[-1]}, not {azimuth}")
    x, written = _narrow(d_ff)
    points, view = x + written if plus_x else written, _View(azimuth)
    values = np.linalg.svd(points, compute_uv=False).tolist()
    rank = sum(value > TINY * values[0] for value in values)
    neurons = f"{d_ff} neuron{'s' * (d_ff > 1)}"
    title = (
        f"x + {neurons}: the {len(TOKENS)} points fill the room"
        if plus_x
        else f"{neurons}: the {len(TOKENS)} points {LIE[d_ff]}"
    )
    numbers = ", ".join(svg.label(value, 1, pad=True) if value > TINY * values[0] else "0" for value in values)
    what = f"x plus what {neurons} " if plus_x else f"What {neurons} "
    edge_on = d_ff == 2 and abs(_upright() @ view.to_the_eye) < 0.02
    sentence = (
        f"{what}{'write' if d_ff > 1 else 'writes'} for {len(TOKENS)} tokens has the singular values {numbers}, so its rank is {rank}. "
        f"Seen from {azimuth}°{', where the plane shows its edge' if edge_on else ''}."
    )
    order = sorted(range(len(points)), key=lambda t: view.near(points[t]))
    behind = [t for t in order if (points[t] @ _upright()) * (view.to_the_eye @ _upright()) < 0] if d_ff == 2 else []
    shapes = [*_room(view, points), *(_dot(view, t, written[t], points[t]) for t in behind)]
    shapes += [_span(view, d_ff), *(_dot(view, t, written[t], points[t]) for t in order if t not in behind)]
    shapes += [_writer(view, n) for n in range(d_ff)]
    nearest = max(range(8), key=lambda n: view.near(CORNERS[n]))
    shapes += [_edge(view, pair) for pair in EDGES if nearest in pair]
    return Picture(title, sentence, svg.card(420, title, sentence, *shapes, *_plan(azimuth, points), *_values(values)))


def _upright() -> Array:
    """A direction that neither of the first two neurons writes in."""
    found = np.cross(WRITES[0], WRITES[1])
    return np.asarray(found / np.linalg.norm(found))


def _edge(view: _View, pair: tuple[int, int], dash: str = "") -> str:
    start, end = (view.at(CORNERS[n]) for n in pair)
    return svg.line(*start, *end, stroke=style.RULE, width=1 if dash else 1.4, dash=dash)


def _room(view: _View, points: Array) -> list[str]:
    """The cube but for its nearest edges, and on its floor the shadow of each point."""
    far, near = (choose(range(8), key=lambda n: view.near(CORNERS[n])) for choose in (min, max))
    shapes = [svg.path([view.at(CORNERS[n]) for n in FLOOR], fill=style.TINT, closed=True)]
    shapes += [_edge(view, pair, dash="3 4" if far in pair else "") for pair in EDGES if near not in pair]
    for point in points:
        shadow = view.at(np.array((point[0], point[1], -ROOM)))
        shapes += [svg.line(*view.at(point), *shadow, stroke=style.GHOST), svg.circle(*shadow, 2, fill=style.NEUTRAL)]
    return shapes


def _dot(view: _View, t: int, foot: Array, point: Array) -> str:
    """A token's point, larger and darker the nearer it is; where x was added, with the way from what the neurons write."""
    near = (view.near(point) + 1) / 2  # from 0 to 1
    colour = style.pale(style.CHOSEN, 0.35 + 0.65 * near)
    way = svg.line(*view.at(foot), *view.at(point), stroke=style.NEUTRAL, dash="2 3") if (foot != point).any() else ""
    tip = f"{t} {TOKENS[t]}: {', '.join(svg.label(float(value), 1) for value in point)}"
    return way + svg.circle(*view.at(point), 3 + 4.5 * near, fill=colour, stroke=style.PAPER, tip=tip)


def _span(view: _View, d_ff: int) -> str:
    """All that so many neurons could write, with any weights: a line or a plane, cut off by the cube; nothing where that is the room."""
    if d_ff == 1:
        end = WRITES[0] * ROOM / np.abs(WRITES[0]).max()
        return svg.line(*view.at(-end), *view.at(end), stroke=style.pale(style.CHOSEN, 0.35), width=4)
    if d_ff == 3:
        return ""
    normal, cuts = _upright(), []
    for a, b in EDGES:
        above, below = CORNERS[a] @ normal, CORNERS[b] @ normal
        if above * below < 0:
            cuts.append(CORNERS[a] + (CORNERS[b] - CORNERS[a]) * above / (above - below))
    along = WRITES[0] / np.linalg.norm(WRITES[0])
    cuts.sort(key=lambda cut: math.atan2(cut @ np.cross(normal, along), cut @ along))
    corners = [view.at(cut) for cut in cuts]
    return svg.group(
        svg.path(corners, fill=style.pale(style.CHOSEN, 0.3), stroke=style.CHOSEN, closed=True), opacity=0.6
    )


def _writer(view: _View, neuron: int) -> str:
    """An arrow: what a neuron writes when it fires with strength 1."""
    (x0, y0), (x1, y1) = view.at(np.zeros(3)), view.at(WRITES[neuron])
    long = math.hypot(x1 - x0, y1 - y0) or 1.0
    across, down = (x1 - x0) / long, (y1 - y0) / long
    sides = [(x1 - 8 * across + side * 4 * down, y1 - 8 * down - side * 4 * across) for side in (1, -1)]
    head = svg.path([sides[0], (x1, y1), sides[1]], stroke=style.INK, width=2)
    name = svg.text(
        x1 + 10 * across, y1 + 10 * down + 4, f"{neuron + 1}", size=12, bold=True, anchor="middle", halo=True
    )
    return svg.line(x0, y0, x1, y1, stroke=style.INK, width=2) + head + name


def _plan(azimuth: int, points: Array) -> list[str]:
    """The room from above, and around it the eye, which a hand can lead."""
    x, y, r, scale = 530.0, 138.0, 62.0, 14.0
    around = math.radians(azimuth)
    eye = x + r * math.cos(around), y - r * math.sin(around)
    return [
        svg.text(x, y - r - 14, "from above: drag the eye", size=12, fill=style.MUTED, anchor="middle"),
        svg.circle(x, y, r, stroke=style.RULE, stroke_width=1.5),
        svg.rect(x - ROOM * scale, y - ROOM * scale, 2 * ROOM * scale, 2 * ROOM * scale, fill=style.TINT),
        *(
            svg.circle(x + scale * float(point[0]), y - scale * float(point[1]), 2, fill=style.CHOSEN)
            for point in points
        ),
        svg.line(x, y, *eye, stroke=style.MUTED, dash="2 3"),
        svg.handle(*eye, drags={"azimuth": svg.turn((x, y))}, name="the eye", says=f"{azimuth}°"),
    ]


def _values(values: list[float]) -> list[str]:
    """Singular values as bars."""
    left, top = 462.0, 268.0
    shapes = [svg.text(left - 20, top - 12, "singular values", size=12.5, bold=True)]
    for n, value in enumerate(values):
        y, used = top + 30 * n, value > TINY * values[0]
        long = 104 * value / MOST if used else 0
        shapes += [
            svg.text(left - 8, y + 15, f"{n + 1}", size=12, fill=style.MUTED, anchor="end"),
            svg.rect(left, y, long, 20, fill=style.CHOSEN),
            svg.text(left + long + 6, y + 15, svg.label(value, 1, pad=True) if used else "0", size=12.5),
        ]
    return [*shapes, svg.line(left, top - 4, left, top + 84, stroke=style.NEUTRAL)]
