"""The figures of notebook 09: load over time, which cluster goes to which expert, what the balance loss adds up, capacity and dropped slots,
a bias for the choice."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

import numpy as np

from ffnlab.course.experiments import balance as experiment
from ffnlab.course.figures.shared import TOKENS
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

__all__ = [
    "CONFIDENCES",
    "FACTORS",
    "LOOKS",
    "STEPS",
    "TOKENS",
    "capacity",
    "clusters",
    "load",
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


def _span(values: list[float], digits: int) -> str:
    low, high = (svg.label(edge(values), digits, pad=True) for edge in (min, max))
    return low if low == high else f"{low} to {high}"


# load

_RUNS = experiment.stored()["runs"]
_NOTHING = statistics.fmean(experiment.stored()["about"]["error of an output of 0"])
_DOTS = (0.002, 0.4)  # the range of the errors on a logarithmic axis


STEPS = experiment.STEPS


class _Load(NamedTuple):
    """A stored run up to a step."""

    cure: str
    head_start: int
    step: int
    shares: list[list[float]]  # of the tokens: each expert's, in each window; the first window is the first step
    effective: float  # experts that do the work at the step
    dead: int  # experts that get no token at the step
    all_effective: list[float]  # in the end, with every seed
    all_errors: list[float]

    @property
    def is_end(self) -> bool:
        return self.step == STEPS


def _load(cure: str, head_start: int, step: int) -> _Load:
    run = _RUNS[experiment.name(cure, head_start)]
    shares = [[share / sum(row) for share in row] for row in run["load"][: 1 + step // experiment.EVERY]]
    effective, dead = run["effective"][0], run["dead"][0]
    if step < STEPS:  # what is stored of a run is its end
        effective = math.exp(-sum(p * math.log(p) for p in shares[-1] if p))
        dead = sum(not share for share in shares[-1])
    return _Load(cure, head_start, step, shares, effective, dead, run["effective"], run["error"])


def load(cure: str = "none", head_start: int = 3, step: int = STEPS) -> Picture:
    """The share of tokens of each of 8 experts over the training steps up to `step`, stacked: a stored run, and the errors of all seeds."""
    if cure not in experiment.CURES:
        raise ValueError(f"there is no cure {cure!r} here; choose {', '.join(experiment.CURES)}")
    _one_of("head start", head_start, tuple(map(float, experiment.HEAD_STARTS)))
    _one_of("step", step, tuple(map(float, range(0, STEPS + 1, experiment.EVERY))))
    numbers = _load(cure, head_start, step)
    title, words = _load_words(numbers)
    frame = plot.Frame(
        (0, STEPS), (0, 1), "training step", "share of the tokens", tuple(range(0, STEPS + 1, 60)),
        ((0, "0%"), (0.5, "50%"), (1, "100%")), left=70, right=556, top=98, bottom=334, grid="",
    )  # fmt: skip
    shapes = [
        *_bands(numbers, frame),
        frame.axes(),
        _errors(numbers.all_errors, frame.bottom + 76),
    ]
    return Picture(title, words, svg.card(frame.bottom + 122, title, words, *shapes))


def _load_words(numbers: _Load) -> tuple[str, str]:
    """Title and sentence."""
    cure = numbers.cure.replace("none", "no cure")
    short = cure.replace(" scores", "")
    opening = f"{short[0].upper()}{short[1:]}" if numbers.is_end else f"Step {numbers.step}, {short}"
    title = f"{opening}: {numbers.effective:.1f} of 8 experts do the work"
    when = "At the end" if numbers.is_end else f"At step {numbers.step}"
    dead = "no" if numbers.dead == 0 and not numbers.is_end else numbers.dead
    words = (
        f"Head start {numbers.head_start}, {cure}. "
        f"{when} expert 0 gets {100 * numbers.shares[-1][0]:.0f}% of the tokens, {dead} experts get none. "
        f"Over {len(numbers.all_errors)} seeds {_span(numbers.all_effective, 1)} experts are effective"
        f"{'' if numbers.is_end else ' in the end'}, the error is {_span(numbers.all_errors, 4)}."
    )
    return title, words


def _bands(numbers: _Load, frame: plot.Frame) -> list[str]:
    """A band for each expert, as high as its share; its number in it, and at its end its last share."""
    step, every, shares = numbers.step, experiment.EVERY, numbers.shares
    middles = [every * (n + 0.5) for n in range(len(shares) - 1)]
    times = np.array([0.0, *middles, step] if step else [0.0, every / 4])
    edges = np.cumsum(np.array([*shares, shares[-1]]).T, axis=0)  # [E, times]: the upper ones
    beside = frame.across(times[-1]) + 10
    shapes = [
        svg.text(max(beside, frame.left + 150), frame.top - 12, "expert", size=12, fill=style.MUTED),
        _head_starts(numbers.head_start),
    ]
    for expert, colour in enumerate(BANDS):
        low = edges[expert - 1] if expert else np.zeros(len(times))
        high = edges[expert]
        shapes.append(frame.area(times, low, high, colour, style.PAPER))
        last = float(high[-1] - low[-1])
        if last >= 0.045:
            down = frame.upright(float(high[-1] + low[-1]) / 2)
            share = f"{expert}: {100 * last:.0f}%"
            shapes.append(svg.text(beside, down + 4, share, size=12, bold=expert == 0))
        thickest = 1 + int(np.argmax((high - low)[1:-1])) if len(times) > 2 else 0
        if high[thickest] - low[thickest] >= 0.06 and step >= 3 * every:
            across, down = frame.at(times[thickest], float(high[thickest] + low[thickest]) / 2)
            ink = style.INK if expert % 2 else style.PAPER
            shapes.append(svg.text(across, down + 4, str(expert), size=12, bold=True, fill=ink, anchor="middle"))
    return shapes


def _head_starts(current: int) -> str:
    """All head starts in a row, to be pressed."""
    shapes = [svg.text(LEFT, 63.5, "head start", size=13)]
    for start in experiment.HEAD_STARTS:
        x, here = LEFT + 80 + 50 * start, start == current
        box = svg.rect(x, 46, 44, 26, radius=6, fill=style.INK if here else style.TINT)
        word = svg.text(x + 22, 63.5, str(start), size=13, anchor="middle", fill=style.PAPER if here else style.INK)
        shapes.append(svg.button(box, word, sets={"head_start": start}, name=f"head start {start}"))
    return "".join(shapes)


def _errors(errors: list[float], y: float) -> str:
    """One dot for each seed on a logarithmic axis; behind them, the range without a cure at head start 3."""
    ticks = tuple((tick, f"{tick:.2g}") for tick in (0.003, 0.006, 0.012, 0.025, 0.05, 0.1, _NOTHING))
    frame = plot.Frame(
        _DOTS, (-1, 1), xticks=ticks, yticks=(), xscale="log", left=70, right=556, top=y - 12, bottom=y + 12
    )
    baseline = _RUNS[experiment.name("none", 3)]["error"]
    words = f"error on new tokens, {len(errors)} seeds (grey: collapsed; {_NOTHING:.2f}: an output of 0)"
    positions = [min(max(error, _DOTS[0]), _DOTS[1]) for error in errors]
    return "".join(
        [
            svg.text(frame.left, y - 18, words, size=12, fill=style.MUTED),
            frame.area((0.96 * min(baseline), 1.04 * max(baseline)), -0.8, 0.8, style.GHOST),
            frame.axes(),
            frame.dots(positions, [0.0] * len(positions), style.INK, 5, tips=[f"error {error:g}" for error in errors]),
        ]
    )


# clusters

LOOKS = experiment.LOOKS
CURE_LABELS = {"none": "no loss", "loss, α = 0.01": "α = 0.01", "loss, α = 1": "α = 1"}
E = experiment.N_EXPERTS
_CLUSTERS_TOP = 112.0  # of the tables
_CLUSTER_TALL, _SHARE_WIDE = 23.0, 22.5


class _Cure(NamedTuple):
    """What `clusters` shows of one cure at a step."""

    name: str
    table: list[list[int]]  # the first seed's: of each cluster's tokens, the percentage at each expert
    information: list[float]  # of each seed: how much the expert tells of the cluster


def _cures(step: int, planted: bool) -> list[_Cure]:
    place = LOOKS.index(step)
    head_start = 3 if planted else 0
    runs = {name: _RUNS[experiment.name(cure, head_start)] for cure, name in CURE_LABELS.items()}
    return [_Cure(name, run["tables"][place], run["told"][place]) for name, run in runs.items()]


def clusters(step: int = 0, planted: bool = False) -> Picture:
    """Which share of each cluster's tokens the router sends to which expert: without a loss, with a good α, with one that is too large."""
    _one_of("step", step, tuple(map(float, LOOKS)))
    cures = _cures(step, planted)
    title, words = _clusters_words(cures, step, planted)
    shapes = [svg.text(LEFT, _CLUSTERS_TOP - 8, "cluster", size=12, fill=style.MUTED)]
    for c in range(E):
        y = _CLUSTERS_TOP + _CLUSTER_TALL * c
        shapes.append(svg.text(LEFT + 24, y + 16, str(c), size=12, fill=style.MUTED, anchor="end"))
    for n, cure in enumerate(cures):
        shapes += _table_of_cure(cure, LEFT + 38 + (E * _SHARE_WIDE + 13) * n)
    note = "columns: experts 0 to 7; a row sums to 100 %, less than 5 % is not written"
    bottom = _CLUSTERS_TOP + _CLUSTER_TALL * E
    shapes.append(svg.text(LEFT + 38, bottom + 20, note, size=12, fill=style.MUTED))
    return Picture(title, words, svg.card(bottom + 36, title, words, *shapes))


def _clusters_words(cures: list[_Cure], step: int, planted: bool) -> tuple[str, str]:
    """Title and sentence."""
    first, second, third = (f"{cure.information[0]:.2f}" for cure in cures)
    title = f"Step {step}: the experts tell {first}, {second} and {third}"
    without, good, large = (_span(cure.information, 2) for cure in cures)
    words = (
        f"{'Head start 3' if planted else 'Nothing planted'}, step {step}, five seeds: the expert tells of its tokens' cluster "
        f"{without} without a loss, {good} with {cures[1].name}, {large} with {cures[2].name}. "
        "The tables are the first seed's, in percent."
    )
    return title, words


def _table_of_cure(cure: _Cure, left: float) -> list[str]:
    """Rows: clusters; columns: experts."""
    shapes = [
        svg.text(left, _CLUSTERS_TOP - 46, cure.name, size=14, bold=True),
        svg.text(left, _CLUSTERS_TOP - 27, f"tells {cure.information[0]:.2f}", size=12.5, fill=style.MUTED),
    ]
    for e in range(E):
        x = left + _SHARE_WIDE * e
        middle = x + _SHARE_WIDE / 2
        shapes.append(svg.text(middle, _CLUSTERS_TOP - 8, str(e), size=12, fill=style.MUTED, anchor="middle"))
        for c in range(E):
            y, share = _CLUSTERS_TOP + _CLUSTER_TALL * c, cure.table[c][e]
            shapes.append(
                svg.rect(
                    x + 0.5, y + 0.5, _SHARE_WIDE - 1, _CLUSTER_TALL - 1, radius=2, stroke=style.TINT,
                    fill=style.pale(style.CHOSEN, share / 100),
                    tip=f"{cure.name}: {share} % of cluster {c} at expert {e}",
                )
            )  # fmt: skip
            if share >= 5:
                ink = style.PAPER if share >= 60 else style.INK
                size = 11.0 if share < 100 else 10.0
                shapes.append(svg.text(middle, y + 16, str(share), size=size, fill=ink, anchor="middle"))
    return shapes


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


def _products_words(numbers: _Products) -> tuple[str, str]:
    """Title and sentence."""
    loss = numbers.loss
    side = "below 1" if loss < 0.9995 else "above 1" if loss > 1.0005 else "exactly 1"
    title = f"The balance loss is {loss:.3f}, {side}"
    words = (
        f"{numbers.undecided} of 10 tokens choose expert 0 with probability {numbers.confidence:g}, the others expert 1 with 0.51. "
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
