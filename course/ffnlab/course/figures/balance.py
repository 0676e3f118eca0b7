"""The figures of notebook 09: load over time, which cluster goes to which expert, what the balance loss adds up, capacity and dropped slots,
a bias for the choice."""

from __future__ import annotations

import math
import statistics

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


def load(cure: str = "none", head_start: int = 3, step: int = STEPS) -> Picture:
    """The share of tokens of each of 8 experts over the training steps up to `step`, stacked: a stored run, and the errors of all seeds."""
    if cure not in experiment.CURES:
        raise ValueError(f"there is no cure {cure!r} here; choose {', '.join(experiment.CURES)}")
    _one_of("head start", head_start, tuple(map(float, experiment.HEAD_STARTS)))
    every, steps = experiment.EVERY, experiment.STEPS
    _one_of("step", step, tuple(map(float, range(0, steps + 1, every))))
    run = _RUNS[experiment.name(cure, head_start)]
    n_windows = 1 + step // every  # windows, of which the first is the first step
    shares = [[share / sum(row) for share in row] for row in run["load"][:n_windows]]  # [windows, E]
    effective = run["effective"][0] if step == steps else math.exp(-sum(p * math.log(p) for p in shares[-1] if p))
    says = cure.replace("none", "no cure")
    short = says.replace(" scores", "")
    when = "" if step == steps else f"Step {step}, "
    title = f"{when}{short if when else short[0].upper() + short[1:]}: {effective:.1f} of 8 experts do the work"
    now = f"At the end expert 0 gets {100 * shares[-1][0]:.0f}% of the tokens, {run['dead'][0]} experts get none. "
    if when:
        without = sum(not share for share in shares[-1])
        now = f"At step {step} expert 0 gets {100 * shares[-1][0]:.0f}% of the tokens, {without or 'no'} experts get none. "
    sentence = (
        f"Head start {head_start}, {says}. {now}Over {len(run['error'])} seeds {_span(run['effective'], 1)} experts are effective"
        f"{' in the end' if when else ''}, the error is {_span(run['error'], 4)}."
    )

    middles = [every * (n + 0.5) for n in range(len(shares) - 1)]
    times = np.array([0.0, *middles, step] if step else [0.0, every / 4])
    heights = np.cumsum(np.array([*shares, shares[-1]]).T, axis=0)  # [E, times]: upper edges
    frame = plot.Frame(
        (0, steps), (0, 1), "training step", "share of the tokens", tuple(range(0, steps + 1, 60)),
        ((0, "0%"), (0.5, "50%"), (1, "100%")), left=70, right=556, top=98, bottom=334, grid="",
    )  # fmt: skip
    beside = frame.across(times[-1]) + 10
    shapes = [
        svg.text(max(beside, frame.left + 150), frame.top - 12, "expert", size=12, fill=style.MUTED),
        _head_starts(head_start),
    ]
    for expert, colour in enumerate(BANDS):
        low, high = heights[expert - 1] if expert else np.zeros(len(times)), heights[expert]
        shapes.append(frame.area(times, low, high, colour, style.PAPER))
        last = float(high[-1] - low[-1])
        if last >= 0.045:
            down, says = frame.upright(float(high[-1] + low[-1]) / 2), f"{expert}: {100 * last:.0f}%"
            shapes.append(svg.text(beside, down + 4, says, size=12, bold=expert == 0))
        thickest = 1 + int(np.argmax((high - low)[1:-1])) if len(times) > 2 else 0
        if high[thickest] - low[thickest] >= 0.06 and step >= 3 * every:
            across, down = frame.at(times[thickest], float(high[thickest] + low[thickest]) / 2)
            ink = style.INK if expert % 2 else style.PAPER
            shapes.append(svg.text(across, down + 4, str(expert), size=12, bold=True, fill=ink, anchor="middle"))
    shapes += [frame.axes(), _errors(run["error"], frame.bottom + 76)]
    return Picture(title, sentence, svg.card(frame.bottom + 122, title, sentence, *shapes))


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


def clusters(step: int = 0, planted: bool = False) -> Picture:
    """Which share of each cluster's tokens the router sends to which expert: without a loss, with a good α, with one that is too large."""
    _one_of("step", step, tuple(map(float, LOOKS)))
    at, head_start = LOOKS.index(step), 3 if planted else 0
    runs = [_RUNS[experiment.name(cure, head_start)] for cure in CURE_LABELS]
    information = [run["told"][at] for run in runs]
    title = f"Step {step}: the experts tell {', '.join(f'{one[0]:.2f}' for one in information[:2])} and {information[2][0]:.2f}"
    spans = [f"{_span(one, 2)} with {name}" for one, name in zip(information, CURE_LABELS.values(), strict=True)]
    sentence = (
        f"{'Head start 3' if planted else 'Nothing planted'}, step {step}, five seeds: the expert tells of its tokens' cluster "
        f"{spans[0].replace('with no', 'without a')}, {spans[1]}, {spans[2]}. The tables are the first seed's, in percent."
    )
    E, side, down, top = experiment.N_EXPERTS, 22.5, 23.0, 112.0
    shapes = [svg.text(LEFT, top - 8, "cluster", size=12, fill=style.MUTED)]
    for c in range(E):
        shapes.append(svg.text(LEFT + 24, top + down * c + 16, str(c), size=12, fill=style.MUTED, anchor="end"))
    for n, (run, name) in enumerate(zip(runs, CURE_LABELS.values(), strict=True)):
        left = LEFT + 38 + (E * side + 13) * n
        table = run["tables"][at]
        shapes += [
            svg.text(left, top - 46, name, size=14, bold=True),
            svg.text(left, top - 27, f"tells {information[n][0]:.2f}", size=12.5, fill=style.MUTED),
        ]
        for e in range(E):
            x = left + side * e
            shapes.append(svg.text(x + side / 2, top - 8, str(e), size=12, fill=style.MUTED, anchor="middle"))
            for c in range(E):
                y, share = top + down * c, table[c][e]
                shapes.append(
                    svg.rect(
                        x + 0.5, y + 0.5, side - 1, down - 1, radius=2, stroke=style.TINT,
                        fill=style.pale(style.CHOSEN, share / 100),
                        tip=f"{name}: {share} % of cluster {c} at expert {e}",
                    )
                )  # fmt: skip
                if share >= 5:
                    ink = style.PAPER if share >= 60 else style.INK
                    size = 11.0 if share < 100 else 10.0
                    shapes.append(svg.text(x + side / 2, y + 16, str(share), size=size, fill=ink, anchor="middle"))
    bottom = top + down * E
    shapes += [
        svg.text(
            LEFT + 38, bottom + 20, "columns: experts 0 to 7; a row sums to 100 %, less than 5 % is not written", size=12, fill=style.MUTED
        )
    ]  # fmt: skip
    return Picture(title, sentence, svg.card(bottom + 36, title, sentence, *shapes))


# products


def products(undecided: int = 6, confidence: float = 0.34) -> Picture:
    """Ten tokens of two kinds and three experts: what f, P and the balance loss E·Σ f·P are. `undecided` tokens choose expert 0."""
    if not 0 <= undecided <= 10:
        raise ValueError(f"undecided must be from 0 to 10, not {undecided}")
    _one_of("confidence", confidence, CONFIDENCES)
    rest = (1 - confidence) / 2
    kinds = [(confidence, rest, rest)] * undecided + [(0.0, 0.51, 0.49)] * (10 - undecided)
    experts = [row.index(max(row)) for row in kinds]
    f = [experts.count(e) / 10 for e in range(3)]
    P = [sum(row[e] for row in kinds) / 10 for e in range(3)]
    loss = 3 * sum(a * b for a, b in zip(f, P, strict=True))
    side = "below 1" if loss < 0.9995 else "above 1" if loss > 1.0005 else "exactly 1"
    title = f"The balance loss is {loss:.3f}, {side}"
    sentence = (
        f"{undecided} of 10 tokens choose expert 0 with probability {confidence:g}, the others expert 1 with 0.51. "
        f"f is {', '.join(f'{share:g}' for share in f)}; P is {', '.join(f'{share:.3f}' for share in P)}; "
        f"3 times the sum of f·P is {loss:.3f}."
    )

    top, row = 84.0, 27.0
    cell, left = 46.0, 96.0
    shapes = [
        svg.text(left + 1.5 * cell, top - 28, "probability of expert", size=13, bold=True, anchor="middle"),
        *(
            svg.text(left + cell * (e + 0.5), top - 8, str(e), size=12, fill=style.MUTED, anchor="middle")
            for e in range(3)
        ),
    ]
    for t, probabilities in enumerate(kinds):
        y = top + row * t
        shapes.append(svg.text(left - 10, y + 17, f"token {t}", size=12, fill=style.MUTED, anchor="end"))
        for e, p in enumerate(probabilities):
            mine = experts[t] == e
            shapes += [
                svg.rect(
                    left + cell * e + 1,
                    y + 1,
                    cell - 2,
                    row - 3,
                    fill=style.diverging(p, 1.6),
                    stroke=style.INK if mine else style.TINT,
                    stroke_width=2 if mine else 0.8,
                    radius=3,
                ),
                svg.text(
                    left + cell * (e + 0.5), y + 17, svg.label(p, 2, pad=True), size=11.5, bold=mine, anchor="middle"
                ),
            ]
    shapes.append(
        svg.text(left + 1.5 * cell, top + row * 10 + 18, "box: chosen", size=12, fill=style.MUTED, anchor="middle")
    )
    start, longest = 330.0, 190.0
    for e in range(3):
        y = top + 86 * e
        shapes.append(svg.text(start - 12, y + 32, f"expert {e}", size=13, bold=True, anchor="end"))
        for n, (name, value, colour) in enumerate((("f", f[e], style.SERIES[1]), ("P", P[e], style.SERIES[0]))):
            shapes += [
                svg.rect(start, y + 25 * n, longest * value, 18, fill=colour, tip=f"{name}: {value:.3f}"),
                svg.text(start + longest * value + 6, y + 25 * n + 14, f"{name} = {value:.3f}", size=12),
            ]
        shapes.append(svg.text(start + 6, y + 66, f"f · P = {f[e] * P[e]:.4f}", size=12.5, fill=style.MUTED))
    shapes += [
        svg.line(start, top - 6, start, top + 224, stroke=style.NEUTRAL),
        svg.text(start, top + 264, f"3 · sum = {loss:.3f}", size=15, bold=True),
    ]
    edge, end = top + row * undecided, left + 3 * cell + 14
    shapes += [
        svg.line(left - 70, edge - 0.5, end, edge - 0.5, stroke=style.INK, width=1.6, dash="4 3"),
        svg.handle(
            end,
            edge - 0.5,
            drags={"undecided": svg.upright((top, top + row * 10), (0, 10))},
            name="how many are undecided",
            says=f"{undecided} of 10",
        ),
    ]
    return Picture(title, sentence, svg.card(top + row * 10 + 34, title, sentence, *shapes))


# capacity


def choices(k: int, even: bool) -> list[list[int]]:
    """The experts of each token's slots, [14][k], of 4: by a router that likes expert 0, or one after the other in turn."""
    if even:
        return [[(len(TOKENS) * s + t) % 4 for s in range(k)] for t in range(len(TOKENS))]
    scores = np.random.default_rng([9, 4]).standard_normal((len(TOKENS), 4)) + np.array([1.1, 0.4, 0.0, -0.5])
    return [[int(expert) for expert in np.argsort(-row)[:k]] for row in scores]


def capacity(factor: float = 1.0, k: int = 2, even: bool = False) -> Picture:
    """14 tokens with k slots each queue for 4 experts; an expert takes ⌈factor · k · 14 / 4⌉ and drops the rest."""
    _one_of("capacity factor", factor, FACTORS)
    if k not in (1, 2):
        raise ValueError(f"k must be 1 or 2; there is no {k} here")
    T, E = len(TOKENS), 4
    room = math.ceil(factor * k * T / E)
    expert_choices = choices(k, even)
    queues: list[list[tuple[int, int]]] = [[] for _ in range(E)]
    for s in range(k):
        for t in range(T):
            queues[expert_choices[t][s]].append((t, s))
    left_of = [k] * T
    for queue in queues:
        for t, _ in queue[room:]:
            left_of[t] -= 1
    slots, n_dropped = k * T, sum(max(0, len(queue) - room) for queue in queues)
    idle = sum(max(0, room - len(queue)) for queue in queues)
    nothing = left_of.count(0)
    title = f"Capacity factor {factor:g}: {n_dropped} of {slots} slots dropped ({100 * n_dropped / slots:.0f}%)"
    sentence = (
        f"{'An even' if even else 'An uneven'} router, k = {k}, factor {factor:g}: each expert has room for {room} of {slots} slots. "
        f"Dropped: {n_dropped}; places left empty: {idle}. {nothing} of {T} tokens get no expert at all "
        f"and pass by the residual connection."
    )

    left, top, pitch, row = 82.0, 92.0, 38.4, 44.0
    shapes = [
        svg.text(LEFT, top - 36, "Who queues at which expert, in the order of service", size=13, bold=True),
        *_legend(top - 16, k),
    ]
    for e, queue in enumerate(queues):
        y = top + row * e
        shapes.append(svg.text(left - 8, y + 20, f"expert {e}", size=12.5, anchor="end"))
        for n in range(T):
            x = left + pitch * n
            has_token = n < len(queue)
            if n < room and n < T and not has_token:
                shapes.append(svg.rect(x + 1, y, pitch - 2, 31, stroke=style.RULE, radius=3))
            if has_token:
                t, s = queue[n]
                fill = style.PAPER if n >= room else (FIRST if s == 0 else SECOND)
                edge = style.LOST if n >= room else style.CHOSEN
                shapes += [
                    svg.rect(
                        x + 1,
                        y,
                        pitch - 2,
                        31,
                        fill=fill,
                        stroke=edge,
                        stroke_width=1.5,
                        radius=3,
                        dash="4 3" if n >= room else "",
                        tip=f"{TOKENS[t]}, slot {s}: {'dropped' if n >= room else 'kept'}",
                    ),
                    svg.text(
                        x + pitch / 2,
                        y + 19.5,
                        TOKENS[t],
                        size=9.5 if len(TOKENS[t]) < 6 else 8.5,
                        anchor="middle",
                        fill=style.MUTED if n >= room else style.INK,
                    ),
                ]
        if room < T:
            wall = left + pitch * room
            shapes.append(svg.line(wall, y - 5, wall, y + 36, stroke=style.INK, width=2.5))
    full = left + pitch * k * T / E  # where the wall stands at factor 1
    shapes.append(
        svg.handle(
            left + pitch * min(room, T),
            top + row * E - 3,
            drags={"factor": svg.across((left, left + FACTORS[-1] * (full - left)), (0.0, FACTORS[-1]))},
            name="the capacity",
            says=f"factor {factor:g}, room for {room}",
        )
    )
    y = top + row * E + 32
    shapes.append(svg.text(LEFT, y, "What is left of each token's slots", size=13, bold=True))
    for t, word in enumerate(TOKENS):
        x, some = left + pitch * t, left_of[t] > 0
        shapes += [
            svg.text(x + pitch / 2, y + 24, word, size=9.5, anchor="middle"),
            svg.rect(
                x + 3,
                y + 32,
                pitch - 6,
                24,
                radius=3,
                fill=FIRST if left_of[t] == k else SECOND if some else style.PAPER,
                stroke=style.CHOSEN if some else style.LOST,
                stroke_width=1.5,
                dash="" if some else "4 3",
            ),
            svg.text(
                x + pitch / 2,
                y + 49,
                str(left_of[t]),
                size=13,
                bold=not some,
                anchor="middle",
                fill=style.INK if some else style.LOST,
            ),
        ]
    return Picture(title, sentence, svg.card(y + 76, title, sentence, *shapes))


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


def selection(bias: float = 0.1, weighted: bool = False) -> Picture:
    """One token, six experts, two chosen by score + bias. Their weights come from the scores alone, or (`weighted`) from the sums."""
    if not -0.31 <= bias <= 0.31:
        raise ValueError(f"bias must be from -0.3 to 0.3, not {bias}")
    sums = [score + (bias if e == BIAS_EXPERT else 0) for e, score in enumerate(SCORES)]
    best = sorted(sorted(range(len(SCORES)), key=lambda e: -sums[e])[:2])
    base = sums if weighted else list(SCORES)
    total = sum(base[e] for e in best)
    gates = {e: base[e] / total for e in best}
    title = f"Chosen: {best[0]} and {best[1]}, weights {gates[best[0]]:.2f} and {gates[best[1]]:.2f}"
    sentence = (
        f"Expert {BIAS_EXPERT} has a bias of {svg.label(bias, 2, pad=True)}. The two largest sums of score and bias belong to experts "
        f"{best[0]} and {best[1]}. Their weights, from {'the sums' if weighted else 'the scores alone'}, are "
        f"{gates[best[0]]:.2f} and {gates[best[1]]:.2f}."
    )
    left, top, row, scale = 118.0, 78.0, 42.0, 560.0
    shapes = [
        svg.text(left, top - 14, "score, and score + bias", size=12, fill=style.MUTED),
        svg.text(RIGHT, top - 14, "weight", size=12, fill=style.MUTED, anchor="end"),
    ]
    limit = (sorted(sums)[-2] + sorted(sums)[-3]) / 2
    bottom = top + row * len(SCORES)
    shapes += [
        svg.line(left, top - 4, left, bottom - 6, stroke=style.NEUTRAL),
        svg.line(left + scale * limit, top - 4, left + scale * limit, bottom - 6, stroke=style.INK, dash="3 4"),
        svg.text(
            left + scale * limit, bottom + 10, "right of this line: chosen", size=12, fill=style.MUTED, anchor="middle"
        ),
    ]
    for e, score in enumerate(SCORES):
        y, mine = top + row * e, e in best
        shapes += [
            svg.text(left - 12, y + 19, f"expert {e}", size=13, bold=mine, anchor="end"),
            svg.rect(left, y + 2, scale * score, 26, fill=style.CHOSEN if mine else style.GHOST, tip=f"score {score}"),
        ]
        if e == BIAS_EXPERT and abs(bias) > 0.001:
            start, end = sorted((left + scale * score, left + scale * max(score + bias, 0)))
            shapes.append(
                svg.rect(
                    start,
                    y + 2,
                    end - start,
                    26,
                    stroke=style.signed(bias),
                    stroke_width=2,
                    dash="4 3",
                    fill=style.PAPER if bias > 0 else "none",
                )
            )
        at = left + scale * max(score, sums[e]) + (14 if e == BIAS_EXPERT else 8)
        says = f"{score:.2f}" if e != BIAS_EXPERT else f"{score:.2f} {'+' if bias >= 0 else '−'} {abs(bias):.2f}"
        shapes.append(svg.text(at, y + 19, says, size=12.5, halo=True))
        if mine:
            shapes.append(svg.text(RIGHT, y + 20, f"{gates[e]:.2f}", size=15, bold=True, anchor="end"))
    own, far = SCORES[BIAS_EXPERT], 0.3
    shapes.append(
        svg.handle(
            left + scale * max(own + bias, 0),
            top + row * BIAS_EXPERT + 15,
            drags={"bias": svg.across((left + scale * (own - far), left + scale * (own + far)), (-far, far))},
            name=f"the bias of expert {BIAS_EXPERT}",
            says=svg.label(bias, 2, pad=True),
        )
    )
    return Picture(title, sentence, svg.card(bottom + 26, title, sentence, *shapes))
