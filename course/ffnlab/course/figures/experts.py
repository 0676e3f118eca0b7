"""The figures of notebook 08: experts becoming experts, a router, the dispatch of slots to experts and back, who gets a gradient, total
and active parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ffnlab.course import atlas, experiments, world
from ffnlab.course.experiments import plane, read, world_experts
from ffnlab.course.figures.shared import TOKENS
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

__all__ = ["FACTORS", "KEPT", "LAST_FRAME", "LOGITS", "MODELS", "MOODS", "NORMS", "PLACES", "PUSHED", "RUNS", "WEATHERS", "WORLD_RUNS",
    "becoming", "dispatch", "router", "sentence", "slopes", "totals"]  # fmt: skip

NORMS = ("softmax_topk", "softmax_topk_renorm", "topk_softmax", "sigmoid_norm")
LOGITS = (0.5, 2.0, -1.0, 1.5, -0.5, 0.0, 1.0, -2.0)
E = len(LOGITS)
SLOPES = Path(experiments.__file__).with_name("slopes.json")
REACH = 3.0  # the largest logit that can be pushed
PUSHED = tuple((svg.label(z / 2, 1, pad=True), z / 2) for z in range(-6, 7))  # what a hand can make of a logit
NO_CELL = -1
CELLS = range(NO_CELL, E * E)  # what a hand can ask of `slopes`
MODELS = tuple(model.name for model in atlas.MODELS if model.experts)
FACTORS = (("half", 0.5), ("published", 1.0), ("twice", 2.0), ("four times", 4.0))

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN


def _inside(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low:g} to {high:g}, not {value:g}")


def _one_of(name: str, value: object, options: Sequence[object]) -> None:
    if value not in options:
        raise ValueError(f"there is no {name} {value!r} here; choose {', '.join(map(str, options))}")


def _join_labels(numbers: Sequence[float], digits: int = 2) -> str:
    return ", ".join(svg.label(number, digits) for number in numbers)


def _select_top_k(z: Sequence[float], k: int) -> list[int]:
    """The places of the k largest, of equal ones the first."""
    return sorted(sorted(range(len(z)), key=lambda e: -z[e])[:k])


# becoming

KEPT = tuple(plane.stored()["about"]["steps"])
RUNS = range(len(plane.stored()["runs"]))
CLUSTERS = "abcdef"
_SIDE_OF_PLANE, _PLANE_TOP = 296.0, 88.0
_FAR = 3.4  # from the plane's middle to its edges

Corner = tuple[float, float]


def _region(router: Sequence[Sequence[float]], expert: int) -> list[Corner]:
    """The corners of the part of the plane where this expert's logit is the largest; none where it never is."""
    corners: list[Corner] = [(-_FAR, -_FAR), (_FAR, -_FAR), (_FAR, _FAR), (-_FAR, _FAR)]
    for other in range(plane.N_EXPERTS):
        a, b, c = (weights[expert] - weights[other] for weights in router)
        inside: list[Corner] = []
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
            here, there = a * x0 + b * y0 + c, a * x1 + b * y1 + c
            if here >= 0:
                inside.append((x0, y0))
            if (here >= 0) != (there >= 0):
                way = here / (here - there)
                inside.append((x0 + way * (x1 - x0), y0 + way * (y1 - y0)))
        corners = inside if other != expert else corners
    return corners


def _free_place(corners: list[Corner], points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Corner:
    """A place in a region for its number: far from its edges and from what is drawn there."""
    ends = np.array(corners)
    share = (np.arange(9) + 0.5) / 9
    low, high = ends.min(0), ends.max(0)
    grid = np.stack(np.meshgrid(*(low + share[:, None] * (high - low)).T), axis=-1).reshape(-1, 2)
    along = np.roll(ends, -1, axis=0) - ends
    length = np.maximum(np.hypot(*along.T), 1e-9)
    to = grid[:, None] - ends
    edges = ((along[:, 0] * to[..., 1] - along[:, 1] * to[..., 0]) / length).min(1)  # negative outside
    distances = np.hypot(*(grid[:, None] - points).transpose(2, 0, 1)).min(1)
    x, y = grid[int(np.argmax(np.minimum(2 * edges, distances)))]
    return float(x), float(y)


def becoming(step: int = 0, run: int = 0) -> Picture:
    """Tokens in a plane, the parts of it that a top-1 router gives to each of six experts, and the table of clusters and experts: a stored run."""
    _one_of("step", step, KEPT)
    _one_of("run", run, RUNS)
    at, runs = KEPT.index(step), plane.stored()["runs"]
    here = runs[run]
    table, information = here["tables"][at], [one["information"][at] for one in runs]
    own = plane.own(table)
    title = f"Step {step}: the expert tells {here['information'][at]:.2f} of the cluster"
    sentence = (
        f"Run {run}, step {step}: {own or 'none'} of {len(CLUSTERS)} clusters {'has' if own == 1 else 'have'} an expert of "
        f"{'its' if own == 1 else 'their'} own; the error is {here['error'][at]:.3f}, and was {here['error'][0]:.2f} at first. "
        f"Over {len(runs)} runs the expert tells {min(information):.2f} to {max(information):.2f} of the cluster."
    )
    unit = _SIDE_OF_PLANE / (2 * _FAR)

    def place(x: float, y: float) -> Corner:
        return LEFT + (x + _FAR) * unit, _PLANE_TOP + (_FAR - y) * unit

    points = np.array(here["points"])
    regions, numbers = [], []
    for e in range(plane.N_EXPERTS):
        corners = _region(here["routers"][at], e)
        if len(corners) > 2:
            regions.append(
                svg.path(
                    [place(x, y) for x, y in corners], fill=style.pale(style.SERIES[e], 0.3), stroke=style.PAPER, width=2, closed=True
                )
            )  # fmt: skip
            across, down = place(*_free_place(corners, points))
            numbers.append(
                svg.text(across, down + 7, str(e), size=20, bold=True, fill=style.SERIES[e], anchor="middle", halo=True)
            )
    letters = []
    for n, (x, y) in enumerate(here["points"]):
        across, down = place(x, y)
        letters.append(svg.text(across, down + 4, CLUSTERS[n // plane.POINTS_PER_CLUSTER], size=12, anchor="middle"))
    shapes = [
        _draw_buttons("run", RUNS, run),
        *regions,
        svg.rect(LEFT, _PLANE_TOP, _SIDE_OF_PLANE, _SIDE_OF_PLANE, stroke=style.RULE),
        *letters,
        *numbers,
        svg.text(LEFT, _PLANE_TOP + _SIDE_OF_PLANE + 20, "letters: tokens, by cluster; colours: an expert each", size=12, fill=style.MUTED),
    ]  # fmt: skip
    left, top, wide, tall = 382.0, _PLANE_TOP + 26, 39.0, 29.0
    shapes.append(svg.text(left - 30, top - 30, "% of each cluster's tokens, by expert", size=12.5, bold=True))
    for e in range(plane.N_EXPERTS):
        x = left + wide * e
        shapes += [
            svg.rect(x + 1, top - 22, wide - 2, 19, radius=4, fill=style.SERIES[e]),
            svg.text(x + wide / 2, top - 8, str(e), size=12.5, bold=True, fill=style.PAPER, anchor="middle"),
        ]
        for c, letter in enumerate(CLUSTERS):
            y, share = top + tall * c, table[c][e]
            if not e:
                shapes.append(svg.text(left - 12, y + 19, letter, size=13.5, bold=True, anchor="middle"))
            shapes.append(
                svg.rect(x + 1, y + 1, wide - 2, tall - 2, radius=3, fill=style.pale(style.SERIES[e], share / 100), stroke=style.TINT)
            )  # fmt: skip
            if share:
                ink = style.PAPER if share >= 75 else style.INK
                shapes.append(svg.text(x + wide / 2, y + 19, str(share), size=12, fill=ink, anchor="middle"))
    frame = plot.Frame(
        (0, 1), (-1, 1), xticks=(0, 0.25, 0.5, 0.75, (1, "1: all")), yticks=(), left=left, right=left + wide * 6 - 8,
        top=top + tall * 6 + 50, bottom=top + tall * 6 + 76,
    )  # fmt: skip
    others = [one for n, one in enumerate(information) if n != run]
    shapes += [
        svg.text(left - 30, frame.top - 12, "information about the cluster, six runs", size=12.5, bold=True),
        frame.axes(),
        frame.dots(others, [0.0] * len(others), style.PAPER, 5, edge=style.MUTED),
        frame.dots([information[run]], [0.0], style.INK, 6.5, tips=[f"run {run}: {information[run]}"]),
    ]
    return Picture(title, sentence, svg.card(_PLANE_TOP + _SIDE_OF_PLANE + 38, title, sentence, *shapes))


def _draw_buttons(parameter: str, numbers: Sequence[int], current: int) -> str:
    """Numbers in a row, to be pressed."""
    shapes = [svg.text(LEFT, 64, parameter, size=13)]
    for n, number in enumerate(numbers):
        x, here = LEFT + 36 + 42 * n, number == current
        box = svg.rect(x, 47, 36, 25, radius=6, fill=style.INK if here else style.TINT)
        word = svg.text(x + 18, 64, str(number), size=13, anchor="middle", fill=style.PAPER if here else style.INK)
        shapes.append(svg.button(box, word, sets={parameter: number}, name=f"{parameter} {number}"))
    return "".join(shapes)


# sentence

PLACES, WEATHERS, MOODS = world_experts.PLACES, world_experts.WEATHERS, world_experts.MOODS
WORLD_RUNS = range(len(world_experts.stored()["runs"]))
_LINES = ((0, 8), (8, 14), (14, 19))  # the words of each line


def sentence(place: str = PLACES[0], weather: str = WEATHERS[0], mood: str = MOODS[0], run: int = 0) -> Picture:
    """Which of four experts each word of a sentence of the little world goes to, in a model that has learned it, and what decides that."""
    attributes = (place, weather, mood)
    for name, value, options in zip(("place", "weather", "mood"), attributes, (PLACES, WEATHERS, MOODS), strict=True):
        _one_of(name, value, options)
    _one_of("run", run, WORLD_RUNS)
    runs = world_experts.stored()["runs"]
    here = runs[run]
    scene = world.Scene(*attributes, world_experts.CREATURE)
    words, experts, first = world.wish(scene)[:-1], here["shown"][world_experts.SCENES.index(scene)], here["shown"][0]
    changes = [one != other for one, other in zip(experts, first, strict=True)]
    title = (
        f"{sum(changes)} of {len(words)} words have changed their expert"
        if any(changes)
        else "Four experts share the words of a sentence"
    )
    shares = [
        (f"{100 * min(one[part] for one in runs):.0f} to {100 * max(one[part] for one in runs):.0f} %")
        for part in _PARTS
    ]
    sentence = (
        f"Run {run}, the {place} is {weather} and the dog {mood}: {sum(changes)} of {len(words)} words go to another expert than at first. "
        f"Over {len(runs)} runs {shares[0]} of the choice is the place in the sentence, {shares[1]} the scene."
    )
    buttons = {1: ("place", PLACES), 3: ("weather", WEATHERS), 6: ("mood", MOODS)}
    shapes = [_draw_buttons("run", WORLD_RUNS, run)]
    for row, (start, end) in enumerate(_LINES):
        widths = [max(46.0, 8.6 * len(word) + 18) for word in words[start:end]]
        y = 92.0 + 74 * row
        x = LEFT
        for n, wide in zip(range(start, end), widths, strict=True):
            e = experts[n]
            box = [
                svg.rect(x, y, wide, 32, radius=5, fill=style.pale(style.SERIES[e], 0.25)),
                svg.text(x + wide / 2, y + 21, words[n], size=14, bold=n in buttons, anchor="middle"),
                svg.rect(x, y + 34, wide, 19, radius=4, fill=style.SERIES[e]),
                svg.text(x + wide / 2, y + 48, str(e), size=12.5, bold=True, fill=style.PAPER, anchor="middle"),
            ]
            if changes[n]:
                box.append(svg.rect(x - 2, y - 2, wide + 4, 57, radius=6, stroke=style.INK, stroke_width=2.4))
            if n in buttons:
                parameter, two = buttons[n]
                other = two[1 - two.index(words[n])]
                box.append(svg.rect(x + 1.5, y + 1.5, wide - 3, 29, radius=4, stroke=style.INK, dash="3 3"))
                shapes.append(svg.button(*box, sets={parameter: other}, name=f"{words[n]}: make it {other}"))
            else:
                shapes += box
            x += wide + 6
    y = 92.0 + 74 * len(_LINES)
    shapes += [
        svg.text(LEFT, y + 2, "Dashed: press it. Framed: goes to another expert than at first. Below a word: its expert.", size=12, fill=style.MUTED),
        svg.text(LEFT, y + 38, f"What decides the expert, in run {run}, over {_HELD_OUT:,} sentences", size=13, bold=True),
    ]  # fmt: skip
    x, long = LEFT, RIGHT - LEFT
    for part, (name, fill) in _PARTS.items():
        wide = long * here[part]
        shapes += [
            svg.rect(x, y + 50, wide, 24, fill=fill, stroke=style.MUTED, tip=f"{name}: {100 * here[part]:.0f} %"),
        ]
        x += wide
    key = LEFT
    for part, (name, fill) in _PARTS.items():
        words_of = f"{name}: {100 * here[part]:.0f} %"
        shapes += [
            svg.rect(key, y + 86, 12, 12, fill=fill, stroke=style.MUTED),
            svg.text(key + 18, y + 97, words_of, size=12.5),
        ]
        key += 7.0 * len(words_of) + 44
    return Picture(title, sentence, svg.card(y + 114, title, sentence, *shapes))


_HELD_OUT = len(world.scenes(held_out=True))
_PARTS = {
    "place": ("the place in the sentence", style.MUTED),
    "attributes": ("the scene", style.NEUTRAL),
    "words": ("the single word", style.TINT),
}


# router


def router(
    z0: float = LOGITS[0],
    z1: float = LOGITS[1],
    z2: float = LOGITS[2],
    z3: float = LOGITS[3],
    z4: float = LOGITS[4],
    z5: float = LOGITS[5],
    z6: float = LOGITS[6],
    z7: float = LOGITS[7],
    temperature: float = 1.0,
    k: int = 2,
    norm: str = NORMS[0],
) -> Picture:
    """One token's logits for 8 experts, the scores made of them at a temperature, and the gates of the k largest."""
    logits = [z0, z1, z2, z3, z4, z5, z6, z7]
    for e, value in enumerate(logits):
        _inside(f"the logit of expert {e}", value, -REACH, REACH)
    _inside("k", k, 1, E)
    _one_of("normalisation", norm, NORMS)
    if not temperature > 0:
        raise ValueError(f"the temperature must be positive, not {temperature}")
    z = [value / temperature for value in logits]
    top_experts = _select_top_k(z, k)
    if norm == "sigmoid_norm":
        powers = [1 / (1 + math.exp(-value)) for value in z]
        under = 1.0
    else:
        powers = [math.exp(value - max(z)) for value in z]
        under = sum(powers[e] for e in (top_experts if norm == "topk_softmax" else range(E)))
    scores = [power / under if e in top_experts or norm != "topk_softmax" else 0.0 for e, power in enumerate(powers)]
    if norm in ("softmax_topk_renorm", "sigmoid_norm"):
        under *= sum(scores[e] for e in top_experts)
    gates = [power / under if e in top_experts else 0.0 for e, power in enumerate(powers)]
    total = sum(gates)
    who = f"Expert{'s' if k > 1 else ''} {', '.join(map(str, top_experts))}"
    title = f"{who}: gate{'s' if k > 1 else ''} sum to {total:.2f}" if k > 1 else f"{who}: gate {total:.2f}"
    sentence = (
        f"Logits {_join_labels(logits, 1)} at temperature {temperature:g}, {norm}, k = {k}: "
        f"gates {_join_labels(gates)}; their sum is {total:.2f}."
    )

    names = {
        "softmax_topk": "softmax over all 8",
        "softmax_topk_renorm": "softmax over all 8",
        "topk_softmax": f"softmax over the {k} kept",
        "sigmoid_norm": "sigmoid of each",
    }
    last = "gates: divided: by their sum" if norm in ("softmax_topk_renorm", "sigmoid_norm") else "gates: as they are"
    pitch, left, tall = 60.0, LEFT + 100, 84.0
    has_tie = k < E and any(z[e] == z[other] for e in top_experts for other in range(E) if other not in top_experts)
    shapes, knobs = [], []
    tops = (70.0, 206.0, 328.0)
    for name, top in zip(("logits", names[norm], last), tops, strict=True):
        words = name.split(": ") if ": " in name else _two_lines(name)
        for n, line in enumerate(words):
            shapes.append(svg.text(LEFT, top + 38 + 17 * n, line, size=13, bold=n == 0))
    for e in range(E):
        x = left + pitch * e
        mine = e in top_experts
        fill = style.CHOSEN if mine else style.NEUTRAL
        ink = style.INK if mine else style.MUTED
        zero = tops[0] + 52
        reach = 40 * logits[e] / REACH
        shapes += [
            svg.rect(x + 8, tops[0], pitch - 16, 104, fill=style.TINT),
            svg.rect(
                x + 14,
                min(zero, zero - reach),
                pitch - 28,
                abs(reach),
                fill=fill,
                tip=f"logit of expert {e}: {svg.label(logits[e])}",
            ),
            svg.line(x + 8, zero, x + pitch - 8, zero, stroke=style.MUTED),
            svg.text(
                x + pitch / 2,
                zero + 16 if reach >= 0 else zero - 8,
                svg.label(logits[e], 1, pad=True),
                size=12,
                anchor="middle",
                bold=mine,
                fill=ink,
            ),
        ]
        knobs.append(
            svg.handle(
                x + pitch / 2,
                zero - reach,
                drags={f"z{e}": svg.upright((zero + 40, zero - 40), (-REACH, REACH))},
                name=f"the logit of expert {e}",
                says=svg.label(logits[e], 1),
                fill=fill,
            )
        )
        for top, value, what in ((tops[1], scores[e], "score"), (tops[2], gates[e], "gate")):
            base = top + tall
            high = (tall - 16) * value
            shapes += [
                svg.rect(x + 8, top, pitch - 16, tall, fill=style.TINT),
                svg.rect(
                    x + 14, base - high, pitch - 28, high, fill=fill, tip=f"{what} of expert {e}: {svg.label(value, 4)}"
                ),
                svg.line(x + 8, base, x + pitch - 8, base, stroke=style.MUTED),
                svg.text(
                    x + pitch / 2,
                    base - high - 4,
                    svg.label(value, 2, pad=True) if value else "0",
                    size=12,
                    anchor="middle",
                    bold=mine and what == "gate",
                    fill=ink,
                ),
            ]
        shapes.append(
            svg.text(x + pitch / 2, tops[2] + tall + 20, str(e), size=13, anchor="middle", bold=mine, fill=ink)
        )
        if mine:
            shapes.append(
                svg.rect(
                    x + 3,
                    tops[0] - 6,
                    pitch - 6,
                    tops[2] + tall + 34 - tops[0],
                    radius=6,
                    stroke=style.CHOSEN,
                    stroke_width=1.6,
                )
            )
    note = "Framed: kept. Of equal logits, the first one is kept." if has_tie else "Framed: kept."
    shapes += [
        svg.text(LEFT, tops[2] + tall + 20, "expert", size=13, fill=style.MUTED),
        svg.text(RIGHT, 32, f"temperature {temperature:g}, k = {k}", size=12.5, fill=style.MUTED, anchor="end"),
        svg.text(LEFT, tops[2] + tall + 50, note, size=12.5, fill=style.MUTED),
        svg.text(RIGHT, tops[2] + tall + 50, f"sum of the gates: {total:.2f}", size=13, bold=True, anchor="end"),
    ]
    return Picture(title, sentence, svg.card(tops[2] + tall + 66, title, sentence, *shapes, *knobs))


def _two_lines(words: str) -> list[str]:
    first, _, rest = words.partition(" ")
    return [first, rest] if rest else [first]


# dispatch

WORDS = TOKENS[:6]
N_EXPERTS = 4
CHOICES = ((1, 0, 3), (3, 1, 0), (1, 3, 0), (0, 3, 1), (3, 1, 2), (1, 2, 3))  # of each token, best first
WEIGHTS = ((0.6, 0.3, 0.1), (0.5, 0.3, 0.2), (0.7, 0.2, 0.1), (0.4, 0.35, 0.25), (0.55, 0.35, 0.1), (0.65, 0.25, 0.1))
STAGES = 6
BETWEEN = 3  # frames from one stage to the next
LAST_FRAME = (STAGES - 1) * BETWEEN
ALL = -1
FOLLOWED = range(ALL, len(WORDS))  # what a hand can ask of `dispatch`
EXPERT_INK = style.SERIES[:4]

_SIDE = 27.0  # of a slot
_PITCH = 31.0
_TABLE, _LIST, _ORDER, _CALLS, _OUT, _BACK = 84.0, 276.0, 276.0, 346.0, 462.0, 540.0


def slots(k: int) -> list[tuple[int, int, int]]:
    """(token, slot within the token, expert) in the order of the list."""
    return [(t, s, CHOICES[t][s]) for t in range(len(WORDS)) for s in range(k)]


def _sorted_order(k: int) -> list[int]:
    """The numbers of the slots, expert by expert."""
    entries = slots(k)
    return sorted(range(len(entries)), key=lambda n: entries[n][2])


def _places(k: int) -> list[list[tuple[float, float]]]:
    """Where each slot lies in each stage."""
    entries, order = slots(k), _sorted_order(k)
    rank = {n: place for place, n in enumerate(order)}
    wide = _PITCH * len(entries)
    start = (svg.WIDTH - wide) / 2
    gap = 14.0
    column = (RIGHT - LEFT) / len(WORDS)
    table, flat, in_order, segments, out, back = [], [], [], [], [], []
    for n, (t, s, e) in enumerate(entries):
        table.append((_column_of(e) - _SIDE / 2, _TABLE + 26 * t))
        flat.append((start + _PITCH * n, _LIST))
        in_order.append((start + _PITCH * rank[n], _ORDER))
        shift = gap * (e - (N_EXPERTS - 1) / 2)
        segments.append((start + _PITCH * rank[n] + shift, _CALLS))
        out.append((start + _PITCH * rank[n] + shift, _OUT))
        middle = LEFT + column * (t + 0.5)
        back.append((middle + _PITCH * (s - (k - 1) / 2) - _SIDE / 2, _BACK))
    return [table, flat, in_order, segments, out, back]


def _column_of(expert: int) -> float:
    return 250.0 + 84 * expert


def dispatch(frame: int = 0, k: int = 2, token: int = ALL) -> Picture:
    """Slots on their way from the table of choices over a sorted list to the experts and back; three frames from one stage to the next.

    The slots of `token` stand out.
    """
    _inside("frame", frame, 0, LAST_FRAME)
    _inside("k", k, 1, 3)
    _one_of("token", token, FOLLOWED)
    entries, places = slots(k), _places(k)
    n, T = len(entries), len(WORDS)
    sizes = [sum(1 for slot in entries if slot[2] == e) for e in range(N_EXPERTS)]
    stage, part = divmod(frame, BETWEEN)
    coming = stage + 1 if part else stage
    empty = [e for e in range(N_EXPERTS) if not sizes[e]]
    calls = N_EXPERTS - len(empty)
    rest = f"; expert {empty[0]} has none" if empty else ""
    lie = ", ".join(map(str, sizes))
    many = k > 1
    end = (
        f"the {k} outputs of each token lie side by side, are weighted with the gates below, and added"
        if many
        else "the one output of each token is weighted with the gate below it"
    )
    texts = [
        (
            f"{T} tokens choose: {n} slots",
            f"Each of the {T} tokens chooses k = {k}: {n} slots. The colour is the expert, the number the token.",
        ),
        (
            f"One list of {n} slots, token after token",
            f"The {n} choices are in one list, token after token: slot number n belongs to token n // {k}.",
        ),
        (
            f"Sorted by expert: {lie} slots",
            f"The {n} slots are sorted by expert: {lie} of them lie side by side{rest}.",
        ),
        (
            f"Cut into segments: {calls} calls",
            f"The {n} slots are cut into segments, {calls} calls in all{rest}. Each expert reads one block of rows.",
        ),
        (
            f"{n} outputs, still sorted by expert",
            f"The experts have turned {n} rows into {n} outputs (outlined), still in the order of the experts.",
        ),
        (f"Back: {k} weighted output{'s' * many} for each of {T} tokens", f"The sorting is undone: {end}."),
    ]
    title, sentence = texts[coming]
    if part:
        sentence = f"On the way, {part} of {BETWEEN}: {sentence[0].lower()}{sentence[1:]}"
    if token != ALL:
        experts = ", ".join(str(e) for e in CHOICES[token][:k])
        sentence += f" Token {token}, “{WORDS[token]}”, goes to expert{'s' * many} {experts}."

    shapes = [svg.text(LEFT, 70, f"idx [{T}, {k}]", size=13, bold=True)]
    for e in range(N_EXPERTS):
        shapes.append(
            svg.text(_column_of(e), 70, f"expert {e}", size=13, bold=True, fill=EXPERT_INK[e], anchor="middle")
        )
    for t, word in enumerate(WORDS):
        y = _TABLE + 26 * t
        mine = t == token
        shapes += [
            svg.button(
                svg.rect(LEFT, y, 180, 25, radius=5, fill=style.INK if mine else style.PAPER),
                svg.text(LEFT + 24, y + 18, str(t), size=12.5, fill=style.RULE if mine else style.MUTED, anchor="end"),
                svg.text(LEFT + 36, y + 18, word, size=13.5, fill=style.PAPER if mine else style.INK),
                sets={"token": ALL if mine else t},
                name=f"{'leave' if mine else 'follow'} token {t}, {word}",
            ),
            *(svg.rect(_column_of(e) - 40, y, 80, 25, fill=style.TINT) for e in range(N_EXPERTS)),
        ]
    start = (svg.WIDTH - _PITCH * n) / 2
    for e in range(N_EXPERTS):
        before = sum(sizes[:e])
        width = _PITCH * sizes[e]
        x = start + _PITCH * before + 14.0 * (e - (N_EXPERTS - 1) / 2) - 2
        if coming >= 3:
            shapes += [
                svg.rect(
                    x,
                    _CALLS + 40,
                    max(width, 4),
                    46,
                    radius=6,
                    stroke=EXPERT_INK[e],
                    stroke_width=2,
                    dash="" if sizes[e] else "3 3",
                ),
                svg.text(
                    x + max(width, 4) / 2,
                    _CALLS + 67,
                    f"expert {e}" if sizes[e] > 1 else str(e) if sizes[e] else "",
                    size=11.5,
                    bold=True,
                    fill=EXPERT_INK[e],
                    anchor="middle",
                ),
            ]
    captions = (
        (LEFT, _LIST, "1 · one list, token after token"),
        (LEFT + 260, _LIST, "2 · sorted by expert"),
        (LEFT, _CALLS, "3 · cut into segments"),
        (LEFT, _OUT, "4 · computed, one call for each expert"),
        (LEFT, _BACK, "5 · back, weighted and added" if k > 1 else "5 · back, and weighted"),
    )
    for number, (x, y, words) in enumerate(captions, start=1):
        now = number == coming
        shapes.append(
            svg.button(
                svg.rect(x - 4, y - 24, 7.2 * len(words) + 8, 21, radius=4, fill=style.PAPER),
                svg.text(x, y - 9, words, size=12.5, bold=now, fill=style.INK if now else style.MUTED),
                sets={"frame": BETWEEN * number},
                name=f"step {words}",
            )
        )
    column = (RIGHT - LEFT) / T
    if coming == STAGES - 1:
        for t, word in enumerate(WORDS):
            shapes.append(
                svg.text(LEFT + column * (t + 0.5), _BACK + 62, f"y of {word}", size=12.5, anchor="middle", bold=True)
            )
    for number, (t, s, e) in enumerate(entries):
        slot = []
        for past in range(coming):
            if past != 1 or coming < 2:  # the list itself is sorted in place
                x, y = places[past][number]
                slot += [
                    svg.rect(x, y, _SIDE, 25, radius=4, fill=style.pale(EXPERT_INK[e], 0.15), stroke=style.RULE),
                    svg.text(x + _SIDE / 2, y + 17.5, str(t), size=12, fill=style.MUTED, anchor="middle"),
                ]
        (x0, y0), (x1, y1) = places[stage][number], places[coming][number]
        share = part / BETWEEN
        x, y = x0 + (x1 - x0) * share, y0 + (y1 - y0) * share
        has_output = stage >= 4 or (coming == 4 and part > 1)
        slot += [
            svg.rect(
                x,
                y,
                _SIDE,
                25,
                radius=4,
                fill=style.PAPER if has_output else EXPERT_INK[e],
                stroke=EXPERT_INK[e],
                stroke_width=2.4,
                tip=f"slot {number}: token {t}, expert {e}, weight {WEIGHTS[t][s]:g}",
            ),
            svg.text(
                x + _SIDE / 2,
                y + 17.5,
                str(t),
                size=13,
                bold=True,
                fill=EXPERT_INK[e] if has_output else style.PAPER,
                anchor="middle",
            ),
        ]
        if frame == LAST_FRAME:
            slot.append(
                svg.text(
                    x + _SIDE / 2,
                    y + 41,
                    svg.label(WEIGHTS[t][s] / sum(WEIGHTS[t][:k])),
                    size=11.5,
                    fill=style.MUTED,
                    anchor="middle",
                )
            )
        shapes.append(svg.group(*slot, opacity=1 if token in (ALL, t) else 0.25))
    return Picture(title, sentence, svg.card(_BACK + 78, title, sentence, *shapes))


# slopes


def slopes(k: int = 2, norm: str = NORMS[0], cell: int = NO_CELL) -> Picture:
    """How the gate of each of 8 experts reacts to each logit: the derivatives as an 8 × 8 table, at fixed logits.

    `cell` 8 · e + j, the gate of expert e by logit j, is framed and read.
    """
    _inside("k", k, 1, E)
    _one_of("normalisation", norm, NORMS)
    _inside("cell", cell, NO_CELL, CELLS[-1])
    derivatives = read(SLOPES)[norm][k - 1]
    learn = sum(1 for j in range(E) if any(derivatives[e][j] for e in range(E)))
    largest = max(abs(value) for row in derivatives for value in row)
    title = f"{norm}, k = {k}: {learn} of {E} logits get a gradient"
    sentence = (
        f"With {norm} and k = {k}, experts {_join_labels(_select_top_k(LOGITS, k))} are kept; {learn} of the {E} logits change a gate. "
        f"The largest derivative is {svg.label(largest, 3)}."
    )
    if k == 1:
        sentence = sentence.replace("experts", "expert").replace("are kept", "is kept")
    if cell != NO_CELL:
        e, j = divmod(cell, E)
        reacts = f"by {svg.label(derivatives[e][j], 4)} per unit" if derivatives[e][j] else "not at all"
        sentence += f" Framed: gate {e} follows logit {j} {reacts}."
    left, top, wide, tall = 150.0, 112.0, 54.0, 31.0
    shapes = [
        svg.text(left + wide * E / 2, 72, "logit of expert …", size=13.5, bold=True, anchor="middle"),
        svg.text(left - 14, 98, "gate of expert …", size=13.5, bold=True, anchor="end"),
    ]
    top_experts = _select_top_k(LOGITS, k)
    for e in range(E):
        mine = e in top_experts
        ink = style.INK if mine else style.MUTED
        shapes += [
            svg.text(left + wide * (e + 0.5), 92, str(e), size=13, bold=mine, fill=ink, anchor="middle"),
            svg.text(
                left + wide * (e + 0.5),
                107,
                svg.label(LOGITS[e], 1, pad=True),
                size=11.5,
                fill=style.MUTED,
                anchor="middle",
            ),
            svg.text(
                left - 14,
                top + tall * e + 20,
                f"{e}, kept" if mine else f"{e}",
                size=13,
                bold=mine,
                fill=ink,
                anchor="end",
            ),
        ]
        for j in range(E):
            value = derivatives[e][j]
            x, y = left + wide * j, top + tall * e
            is_cell = cell == E * e + j
            elements = [
                svg.rect(
                    x,
                    y,
                    wide - 2,
                    tall - 2,
                    fill=style.diverging(value, 0.5) if value else style.PAPER,
                    stroke=style.INK if is_cell else style.TINT,
                    stroke_width=2.6 if is_cell else 1,
                    tip=f"gate {e} by logit {j}: {svg.label(value, 4) if value else '0'}",
                )
            ]
            if value:
                light = abs(value) > 0.28
                words = svg.label(value, 2, pad=True) if abs(value) >= 0.005 else "≈ 0"
                elements.append(
                    svg.text(
                        x + wide / 2 - 1,
                        y + 19,
                        words,
                        size=12,
                        anchor="middle",
                        fill=style.PAPER if light else style.INK,
                    )
                )
            press = {"cell": NO_CELL if is_cell else E * e + j}
            shapes.append(
                svg.button(*elements, sets=press, name=f"gate {e} by logit {j}{', framed' if is_cell else ''}")
            )
    base = top + tall * E
    shapes.append(svg.text(left - 14, base + 24, "gets a gradient", size=13, fill=style.MUTED, anchor="end"))
    for j in range(E):
        yes = any(derivatives[e][j] for e in range(E))
        shapes.append(
            svg.text(
                left + wide * (j + 0.5),
                base + 24,
                "yes" if yes else "no",
                size=13,
                bold=yes,
                fill=style.CHOSEN if yes else style.MUTED,
                anchor="middle",
            )
        )
    return Picture(title, sentence, svg.card(base + 44, title, sentence, *shapes))


# totals


def _billions(count: float) -> str:
    digits = 1 if count >= 9.95e9 else 2
    return f"{count / 1e9:.{digits}f} B"


def totals(model: str = "Mixtral-8x7B", factor: float = 1.0) -> Picture:
    """A model's total and active parameters by part, with `factor` times its experts per token, above all models of the atlas with experts."""
    _one_of("model", model, MODELS)
    _one_of("factor", factor, [value for _, value in FACTORS])
    variant = _with_factor(model, factor)
    assert variant.experts
    total, active = atlas.total(variant), atlas.active(variant)
    parts, active_parts = atlas.parts(variant), atlas.parts(variant, active=True)
    rest = total - parts.ffn
    title = f"{model}: {_billions(active)} of {_billions(total)} are active"
    sentence = (
        f"With {variant.experts.k} of {variant.experts.n} experts a token"
        f"{f' and {variant.experts.shared} shared' if variant.experts.shared else ''}, {model} stores {_billions(total)} parameters, "
        f"{2 * total / 1e9:.0f} GB in 16 bits; a token computes with {_billions(active)}, {100 * active / total:.1f} %."
    )
    wide = RIGHT - LEFT
    unit = wide / total
    shapes = []
    for n, (name, ffn) in enumerate(
        (("total: what has to be stored", parts.ffn), ("active: what a token computes with", active_parts.ffn))
    ):
        y = 78.0 + 62 * n
        shapes += [
            svg.text(LEFT, y - 8, f"{name}, {_billions(rest + ffn)}", size=13.5, bold=True),
            svg.rect(
                LEFT, y, rest * unit, 26, fill=style.AROUND, tip=f"attention, embeddings, norms: {_billions(rest)}"
            ),
            svg.rect(
                LEFT + rest * unit, y, ffn * unit, 26, fill=style.FFN, tip=f"experts and routers: {_billions(ffn)}"
            ),
            svg.rect(LEFT, y, wide, 26, stroke=style.RULE),
        ]
    key = 184.0
    shapes += [
        svg.rect(LEFT, key, 12, 12, fill=style.AROUND),
        svg.text(LEFT + 18, key + 11, f"attention, embeddings, norms {_billions(rest)}", size=12.5),
        svg.rect(LEFT + 290, key, 12, 12, fill=style.FFN),
        svg.text(LEFT + 308, key + 11, f"FFNs: {variant.experts.k} of {variant.experts.n} experts, routers", size=12.5),
    ]
    top, row, bar = 244.0, 22.0, 250.0
    left = LEFT + 150
    name = next(words for words, value in FACTORS if value == factor)
    shapes.append(
        svg.text(
            LEFT, top - 14, f"Share of all parameters that is active (experts per token: {name})", size=13, bold=True
        )
    )
    for n, other in enumerate(MODELS):
        each = _with_factor(other, factor)
        assert each.experts
        all_of, part = atlas.total(each), atlas.active(each)
        y, mine = top + row * n, other == model
        ink = style.INK if mine else style.MUTED
        row_of = [
            svg.rect(LEFT - 4, y - 3, RIGHT - LEFT + 8, row, fill=style.PAPER, radius=4),
            svg.text(left - 10, y + 13, other, size=12.5, bold=mine, fill=ink, anchor="end"),
            svg.rect(left, y, bar, 16, fill=style.TINT),
            svg.rect(
                left,
                y,
                bar * part / all_of,
                16,
                fill=style.INK if mine else style.NEUTRAL,
                tip=f"{other}: {_billions(part)} of {_billions(all_of)}",
            ),
            svg.text(left + bar + 8, y + 13, f"{100 * part / all_of:.1f} %", size=12.5, bold=mine, fill=ink),
            svg.text(RIGHT, y + 13, f"{_billions(part)} of {_billions(all_of)}", size=12.5, fill=ink, anchor="end"),
        ]
        shapes.append(svg.button(*row_of, sets={"model": other}, name=other))
    return Picture(title, sentence, svg.card(top + row * len(MODELS) + 16, title, sentence, *shapes))


def _with_factor(name: str, factor: float) -> atlas.Model:
    """The model with `factor` times as many experts for a token."""
    model = atlas.find(name)
    assert model.experts
    return replace(model, experts=replace(model.experts, k=round(factor * model.experts.k)))
