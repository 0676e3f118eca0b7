"""The figures of notebook 09: what the balance loss adds up, capacity and dropped slots, a bias for the choice."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ffnlab.course.figures.shared import TOKENS
from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture

__all__ = [
    "CONFIDENCES",
    "FACTORS",
    "TOKENS",
    "capacity",
    "products",
    "selection",
]

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
BANDS = style.EXPERTS
FACTORS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
CONFIDENCES = (0.34, 0.5, 0.7, 0.9)
FIRST, SECOND = style.pale(style.CHOSEN, 0.3), style.pale(style.CHOSEN, 0.1)  # slots by choice


def _one_of(name: str, value: float, options: tuple[float, ...]) -> None:
    if value not in options:
        raise ValueError(f"there is no {name} {value!r} here; choose {', '.join(f'{option:g}' for option in options)}")


# products

_TOKENS_LEFT, _TOKENS_TOP = 96.0, 84.0  # of the table of tokens
_TOKEN_TALL, _PROBABILITY_WIDE = 27.0, 46.0


class _Products(NamedTuple):
    """What goes into the balance loss of ten tokens and three experts."""

    undecided: int
    confidence: float
    tokens: list[tuple[float, float, float]]  # of each token, the probability of each expert
    chosen: list[int]  # of each token, the expert with the largest
    f: list[float]  # of each expert, the share of the tokens that choose it
    P: list[float]  # of each expert, its mean probability

    @property
    def loss(self) -> float:
        return 3 * sum(f * p for f, p in zip(self.f, self.P, strict=True))


def _products(undecided: int, confidence: float) -> _Products:
    rest = (1 - confidence) / 2
    tokens = [(confidence, rest, rest)] * undecided + [(0.0, 0.51, 0.49)] * (10 - undecided)
    chosen = [row.index(max(row)) for row in tokens]
    f = [chosen.count(e) / 10 for e in range(3)]
    P = [sum(row[e] for row in tokens) / 10 for e in range(3)]
    return _Products(undecided, confidence, tokens, chosen, f, P)


def products(undecided: int = 6, confidence: float = 0.34) -> Picture:
    """Ten tokens of two kinds and three experts: what f, P and the balance loss E·Σ f·P are. `undecided` tokens choose expert 0."""
    if not 0 <= undecided <= 10:
        raise ValueError(f"undecided must be from 0 to 10, not {undecided}")
    _one_of("confidence", confidence, CONFIDENCES)
    numbers = _products(undecided, confidence)
    title, words = _products_words(numbers)
    shapes = [*_probabilities(numbers), *_bars_of_experts(numbers), *_edge_of_undecided(undecided)]
    return Picture(title, words, svg.card(_TOKENS_TOP + _TOKEN_TALL * 10 + 34, title, words, *shapes))


def _who_chooses(numbers: _Products) -> str:
    """How many tokens choose which expert, and how surely."""
    if numbers.undecided == 0:
        return "All 10 tokens choose expert 1, with probability 0.51."
    if numbers.undecided == 10:
        return f"All 10 tokens choose expert 0, with probability {numbers.confidence:g}."
    return f"{numbers.undecided} of 10 tokens choose expert 0 with probability {numbers.confidence:g}, the others choose expert 1 with 0.51."


def _products_words(numbers: _Products) -> tuple[str, str]:
    """Title and sentence."""
    loss = numbers.loss
    side = "below 1" if loss < 0.9995 else "above 1" if loss > 1.0005 else "exactly 1"
    title = f"The balance loss is {loss:.3f}, {side}"
    words = (
        f"{_who_chooses(numbers)} "
        f"f is {', '.join(f'{share:g}' for share in numbers.f)}; P is {', '.join(f'{share:.3f}' for share in numbers.P)}; "
        f"3 times the sum of f·P is {loss:.3f}."
    )
    return title, words


def _probabilities(numbers: _Products) -> list[str]:
    """A row for each token, a column for each expert; the expert that the token chooses has a box."""
    left, top, cell = _TOKENS_LEFT, _TOKENS_TOP, _PROBABILITY_WIDE
    middle = left + 1.5 * cell
    shapes = [svg.text(middle, top - 28, "probability of expert", size=13, bold=True, anchor="middle")]
    shapes += [
        svg.text(left + cell * (e + 0.5), top - 8, str(e), size=12, fill=style.MUTED, anchor="middle") for e in range(3)
    ]
    for t, probabilities in enumerate(numbers.tokens):
        y = top + _TOKEN_TALL * t
        shapes.append(svg.text(left - 10, y + 17, f"token {t}", size=12, fill=style.MUTED, anchor="end"))
        for e, p in enumerate(probabilities):
            mine = numbers.chosen[t] == e
            number = svg.label(p, 2, pad=True)
            shapes += [
                svg.rect(
                    left + cell * e + 1,
                    y + 1,
                    cell - 2,
                    _TOKEN_TALL - 3,
                    fill=style.diverging(p, 1.6),
                    stroke=style.INK if mine else style.TINT,
                    stroke_width=2 if mine else 0.8,
                    radius=3,
                ),
                svg.text(left + cell * (e + 0.5), y + 17, number, size=11.5, bold=mine, anchor="middle"),
            ]
    y = top + _TOKEN_TALL * 10 + 18
    return [*shapes, svg.text(middle, y, "box: chosen", size=12, fill=style.MUTED, anchor="middle")]


def _bars_of_experts(numbers: _Products) -> list[str]:
    """f and P of each expert as bars, their product, and what the products sum to."""
    top, start, longest = _TOKENS_TOP, 330.0, 190.0
    shapes = []
    for e, (f, p) in enumerate(zip(numbers.f, numbers.P, strict=True)):
        y = top + 86 * e
        shapes.append(svg.text(start - 12, y + 32, f"expert {e}", size=13, bold=True, anchor="end"))
        for n, (name, value, colour) in enumerate((("f", f, style.SERIES[1]), ("P", p, style.SERIES[0]))):
            long = longest * value
            shapes += [
                svg.rect(start, y + 25 * n, long, 18, fill=colour, tip=f"{name}: {value:.3f}"),
                svg.text(start + long + 6, y + 25 * n + 14, f"{name} = {value:.3f}", size=12),
            ]
        shapes.append(svg.text(start + 6, y + 66, f"f · P = {f * p:.4f}", size=12.5, fill=style.MUTED))
    return [
        *shapes,
        svg.line(start, top - 6, start, top + 224, stroke=style.NEUTRAL),
        svg.text(start, top + 264, f"3 · sum = {numbers.loss:.3f}", size=15, bold=True),
    ]


def _edge_of_undecided(undecided: int) -> list[str]:
    """The line between the undecided tokens and the others, and its knob."""
    y = _TOKENS_TOP + _TOKEN_TALL * undecided - 0.5
    end = _TOKENS_LEFT + 3 * _PROBABILITY_WIDE + 14
    scale = svg.upright((_TOKENS_TOP, _TOKENS_TOP + _TOKEN_TALL * 10), (0, 10))
    return [
        svg.line(_TOKENS_LEFT - 70, y, end, y, stroke=style.INK, width=1.6, dash="4 3"),
        svg.handle(end, y, drags={"undecided": scale}, name="how many are undecided", says=f"{undecided} of 10"),
    ]


# capacity

N_TOKENS = len(TOKENS)
N_QUEUES = 4  # one for each expert


def choices(k: int, even: bool) -> list[list[int]]:
    """The experts of each token's slots, [14][k], of 4: by a router that likes expert 0, or one after the other in turn."""
    if even:
        return [[(N_TOKENS * s + t) % N_QUEUES for s in range(k)] for t in range(N_TOKENS)]
    scores = np.random.default_rng([9, 4]).standard_normal((N_TOKENS, N_QUEUES)) + np.array([1.1, 0.4, 0.0, -0.5])
    return [[int(expert) for expert in np.argsort(-row)[:k]] for row in scores]


_QUEUES_LEFT, _QUEUES_TOP = 82.0, 92.0
_PLACE_WIDE, _QUEUE_TALL = 38.4, 44.0
_KEPT_TOP = _QUEUES_TOP + _QUEUE_TALL * N_QUEUES + 32  # of what is left of each token's slots


class _Queues(NamedTuple):
    """Slots that queue for experts with limited room."""

    factor: float
    k: int
    even: bool
    room: int  # of each expert
    queues: list[list[tuple[int, int]]]  # of each expert, in the order of service: token, slot within the token
    kept: list[int]  # of each token, how many of its slots

    @property
    def dropped(self) -> int:
        return sum(max(0, len(queue) - self.room) for queue in self.queues)

    @property
    def idle(self) -> int:
        """Places that nobody takes."""
        return sum(max(0, self.room - len(queue)) for queue in self.queues)


def _queues(factor: float, k: int, even: bool) -> _Queues:
    room = math.ceil(factor * k * N_TOKENS / N_QUEUES)
    expert_choices = choices(k, even)
    queues: list[list[tuple[int, int]]] = [[] for _ in range(N_QUEUES)]
    for s in range(k):
        for t in range(N_TOKENS):
            queues[expert_choices[t][s]].append((t, s))
    kept = [k] * N_TOKENS
    for queue in queues:
        for t, _ in queue[room:]:
            kept[t] -= 1
    return _Queues(factor, k, even, room, queues, kept)


def capacity(factor: float = 1.0, k: int = 2, even: bool = False) -> Picture:
    """14 tokens with k slots each queue for 4 experts; an expert takes ⌈factor · k · 14 / 4⌉ and drops the rest."""
    _one_of("capacity factor", factor, FACTORS)
    if k not in (1, 2):
        raise ValueError(f"k must be 1 or 2; there is no {k} here")
    numbers = _queues(factor, k, even)
    title, words = _capacity_words(numbers)
    shapes = [
        svg.text(LEFT, _QUEUES_TOP - 36, "Who queues at which expert, in the order of service", size=13, bold=True),
        *_legend(_QUEUES_TOP - 16, k),
        *(_draw_queue(numbers, e) for e in range(N_QUEUES)),
        _knob_of_capacity(numbers),
        *_kept_slots(numbers),
    ]
    return Picture(title, words, svg.card(_KEPT_TOP + 76, title, words, *shapes))


def _capacity_words(numbers: _Queues) -> tuple[str, str]:
    """Title and sentence."""
    k, factor, dropped = numbers.k, numbers.factor, numbers.dropped
    slots = k * N_TOKENS
    title = f"Capacity factor {factor:g}: {dropped} of {slots} slots dropped ({100 * dropped / slots:.0f}%)"
    words = (
        f"{'An even' if numbers.even else 'An uneven'} router, k = {k}, factor {factor:g}: each expert has room for {numbers.room} of {slots} slots. "
        f"Dropped: {dropped}; places left empty: {numbers.idle}. {numbers.kept.count(0)} of {N_TOKENS} tokens get no expert at all "
        f"and pass by the residual connection."
    )
    return title, words


def _draw_queue(numbers: _Queues, e: int) -> str:
    """An expert's queue, its empty places, and a line where its room ends."""
    y = _QUEUES_TOP + _QUEUE_TALL * e
    queue, room = numbers.queues[e], numbers.room
    shapes = [svg.text(_QUEUES_LEFT - 8, y + 20, f"expert {e}", size=12.5, anchor="end")]
    for n in range(N_TOKENS):
        x = _QUEUES_LEFT + _PLACE_WIDE * n
        if n < len(queue):
            shapes += _slot_in_queue(x, y, *queue[n], is_dropped=n >= room)
        elif n < room:
            shapes.append(svg.rect(x + 1, y, _PLACE_WIDE - 2, 31, stroke=style.RULE, radius=3))
    if room < N_TOKENS:
        wall = _QUEUES_LEFT + _PLACE_WIDE * room
        shapes.append(svg.line(wall, y - 5, wall, y + 36, stroke=style.INK, width=2.5))
    return "".join(shapes)


def _slot_in_queue(x: float, y: float, t: int, s: int, is_dropped: bool) -> list[str]:
    """Slot s of token t."""
    word = TOKENS[t]
    return [
        svg.rect(
            x + 1,
            y,
            _PLACE_WIDE - 2,
            31,
            fill=style.PAPER if is_dropped else FIRST if s == 0 else SECOND,
            stroke=style.LOST if is_dropped else style.CHOSEN,
            stroke_width=1.5,
            radius=3,
            dash="4 3" if is_dropped else "",
            tip=f"{word}, slot {s}: {'dropped' if is_dropped else 'kept'}",
        ),
        svg.text(
            x + _PLACE_WIDE / 2,
            y + 19.5,
            word,
            size=9.5 if len(word) < 6 else 8.5,
            anchor="middle",
            fill=style.MUTED if is_dropped else style.INK,
        ),
    ]


def _knob_of_capacity(numbers: _Queues) -> str:
    """A knob below the lines at which the experts' room ends."""
    full = _QUEUES_LEFT + _PLACE_WIDE * numbers.k * N_TOKENS / N_QUEUES  # where they stand at factor 1
    ends = (_QUEUES_LEFT, _QUEUES_LEFT + FACTORS[-1] * (full - _QUEUES_LEFT))
    return svg.handle(
        _QUEUES_LEFT + _PLACE_WIDE * min(numbers.room, N_TOKENS),
        _QUEUES_TOP + _QUEUE_TALL * N_QUEUES - 3,
        drags={"factor": svg.across(ends, (0.0, FACTORS[-1]))},
        name="the capacity",
        says=f"factor {numbers.factor:g}, room for {numbers.room}",
    )


def _kept_slots(numbers: _Queues) -> list[str]:
    """Each token, and how many of its slots an expert takes."""
    y = _KEPT_TOP
    shapes = [svg.text(LEFT, y, "What is left of each token's slots", size=13, bold=True)]
    for t, (word, kept) in enumerate(zip(TOKENS, numbers.kept, strict=True)):
        x = _QUEUES_LEFT + _PLACE_WIDE * t
        middle = x + _PLACE_WIDE / 2
        ink = style.INK if kept else style.LOST
        shapes += [
            svg.text(middle, y + 24, word, size=9.5, anchor="middle"),
            svg.rect(
                x + 3,
                y + 32,
                _PLACE_WIDE - 6,
                24,
                radius=3,
                fill=FIRST if kept == numbers.k else SECOND if kept else style.PAPER,
                stroke=style.CHOSEN if kept else style.LOST,
                stroke_width=1.5,
                dash="" if kept else "4 3",
            ),
            svg.text(middle, y + 49, str(kept), size=13, bold=not kept, anchor="middle", fill=ink),
        ]
    return shapes


def _legend(y: float, k: int) -> list[str]:
    kinds = [("first choice", FIRST, style.CHOSEN, ""), ("second choice", SECOND, style.CHOSEN, "")]
    kinds = [*kinds[:k], ("dropped", style.PAPER, style.LOST, "4 3")]
    shapes = []
    for n, (name, fill, edge, dash) in enumerate(kinds):
        x = LEFT + 120 * n
        shapes += [
            svg.rect(x, y - 10, 16, 12, fill=fill, stroke=edge, stroke_width=1.5, dash=dash, radius=2),
            svg.text(x + 22, y, name, size=12, fill=style.MUTED),
        ]
    return [*shapes, svg.text(LEFT + 120 * len(kinds), y, "thick line: capacity", size=12, fill=style.MUTED)]


# selection

SCORES = (0.31, 0.18, 0.26, 0.05, 0.19, 0.11)  # of one token: each expert's for itself, a sigmoid
BIAS_EXPERT = 4  # the expert whose bias the slider moves


_SCORES_LEFT, _SCORES_TOP = 118.0, 78.0
_SCORE_TALL, _SCORE_UNIT = 42.0, 560.0  # a row's height, and the length of a score of 1
_SCORES_BOTTOM = _SCORES_TOP + _SCORE_TALL * len(SCORES)


class _Selection(NamedTuple):
    """The two experts with the largest sums of score and bias, and their weights."""

    bias: float  # of BIAS_EXPERT
    weighted: bool  # whether the weights are made of the sums
    sums: list[float]
    chosen: list[int]
    weights: dict[int, float]  # by expert
    threshold: float  # between the sums of the chosen and of the others


def _selection(bias: float, weighted: bool) -> _Selection:
    sums = [score + (bias if e == BIAS_EXPERT else 0) for e, score in enumerate(SCORES)]
    chosen = sorted(sorted(range(len(SCORES)), key=lambda e: -sums[e])[:2])
    base = sums if weighted else list(SCORES)
    total = sum(base[e] for e in chosen)
    descending = sorted(sums)[::-1]
    threshold = (descending[1] + descending[2]) / 2
    return _Selection(bias, weighted, sums, chosen, {e: base[e] / total for e in chosen}, threshold)


def selection(bias: float = 0.1, weighted: bool = False) -> Picture:
    """One token, six experts, two chosen by score + bias. Their weights come from the scores alone, or (`weighted`) from the sums."""
    if not -0.31 <= bias <= 0.31:
        raise ValueError(f"bias must be from -0.3 to 0.3, not {bias}")
    numbers = _selection(bias, weighted)
    title, words = _selection_words(numbers)
    left, top, bottom = _SCORES_LEFT, _SCORES_TOP, _SCORES_BOTTOM
    limit = left + _SCORE_UNIT * numbers.threshold
    shapes = [
        svg.text(left, top - 14, "score, and score + bias", size=12, fill=style.MUTED),
        svg.text(RIGHT, top - 14, "weight", size=12, fill=style.MUTED, anchor="end"),
        svg.line(left, top - 4, left, bottom - 6, stroke=style.NEUTRAL),
        svg.line(limit, top - 4, limit, bottom - 6, stroke=style.INK, dash="3 4"),
        svg.text(limit, bottom + 10, "right of this line: chosen", size=12, fill=style.MUTED, anchor="middle"),
        *(_score_of_expert(numbers, e) for e in range(len(SCORES))),
        _bias_knob(bias),
    ]
    return Picture(title, words, svg.card(bottom + 26, title, words, *shapes))


def _selection_words(numbers: _Selection) -> tuple[str, str]:
    """Title and sentence."""
    first, second = numbers.chosen
    weights = f"{numbers.weights[first]:.2f} and {numbers.weights[second]:.2f}"
    title = f"Chosen: {first} and {second}, weights {weights}"
    words = (
        f"Expert {BIAS_EXPERT} has a bias of {svg.label(numbers.bias, 2, pad=True)}. The two largest sums of score and bias belong to experts "
        f"{first} and {second}. Their weights, from {'the sums' if numbers.weighted else 'the scores alone'}, are {weights}."
    )
    return title, words


def _score_of_expert(numbers: _Selection, e: int) -> str:
    """A score as a bar, what the bias makes of it, and the weight of an expert that is chosen."""
    left, bias, score = _SCORES_LEFT, numbers.bias, SCORES[e]
    y, mine = _SCORES_TOP + _SCORE_TALL * e, e in numbers.chosen
    fill = style.CHOSEN if mine else style.GHOST
    shapes = [
        svg.text(left - 12, y + 19, f"expert {e}", size=13, bold=mine, anchor="end"),
        svg.rect(left, y + 2, _SCORE_UNIT * score, 26, fill=fill, tip=f"score {score}"),
    ]
    says, room = f"{score:.2f}", 8
    if e == BIAS_EXPERT:
        says, room = f"{score:.2f} {'+' if bias >= 0 else '−'} {abs(bias):.2f}", 14
        if abs(bias) > 0.001:
            shapes.append(_bias_bar(bias, y + 2))
    end = left + _SCORE_UNIT * max(score, numbers.sums[e])
    shapes.append(svg.text(end + room, y + 19, says, size=12.5, halo=True))
    if mine:
        shapes.append(svg.text(RIGHT, y + 20, f"{numbers.weights[e]:.2f}", size=15, bold=True, anchor="end"))
    return "".join(shapes)


def _bias_bar(bias: float, y: float) -> str:
    """What the bias adds to a score, or takes from it."""
    score = SCORES[BIAS_EXPERT]
    start, end = sorted((_SCORES_LEFT + _SCORE_UNIT * score, _SCORES_LEFT + _SCORE_UNIT * max(score + bias, 0)))
    fill = style.PAPER if bias > 0 else "none"
    return svg.rect(start, y, end - start, 26, stroke=style.signed(bias), stroke_width=2, dash="4 3", fill=fill)


def _bias_knob(bias: float) -> str:
    score, far = SCORES[BIAS_EXPERT], 0.3
    ends = (_SCORES_LEFT + _SCORE_UNIT * (score - far), _SCORES_LEFT + _SCORE_UNIT * (score + far))
    return svg.handle(
        _SCORES_LEFT + _SCORE_UNIT * max(score + bias, 0),
        _SCORES_TOP + _SCORE_TALL * BIAS_EXPERT + 15,
        drags={"bias": svg.across(ends, (-far, far))},
        name=f"the bias of expert {BIAS_EXPERT}",
        says=svg.label(bias, 2, pad=True),
    )
