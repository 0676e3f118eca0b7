"""The figures of notebook 08: a router, the dispatch of slots to experts and back, total and active parameters, experts of words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ffnlab.course import atlas, world
from ffnlab.course.experiments import world_experts
from ffnlab.course.figures.shared import TOKENS
from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture
from ffnlab.phrases import plural

__all__ = ["FACTORS", "LAST_FRAME", "LOGITS", "MODELS", "MOODS", "NORMS", "PLACES", "PUSHED", "WEATHERS", "WORLD_RUNS",
    "dispatch", "router", "sentence", "totals"]  # fmt: skip

NORMS = ("softmax_topk", "softmax_topk_renorm", "topk_softmax", "sigmoid_norm")
LOGITS = (0.5, 2.0, -1.0, 1.5, -0.5, 0.0, 1.0, -2.0)
E = len(LOGITS)
REACH = 3.0  # the largest logit that can be pushed
PUSHED = tuple((svg.label(z / 2, 1, pad=True), z / 2) for z in range(-6, 7))  # what a hand can make of a logit
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
_LINE_TALL = 74
_UNDER_WORDS = 92.0 + _LINE_TALL * len(_LINES)
_CHANGEABLE = {1: ("place", PLACES), 3: ("weather", WEATHERS), 6: ("mood", MOODS)}  # words that can be pressed


class _Routing(NamedTuple):
    """A sentence of the little world and the experts that a stored run gives its words to."""

    run: int
    words: list[str]
    experts: list[int]
    changes: list[bool]  # of each word: whether its expert is another than in the first sentence
    decides: dict[str, float]  # by name of _PARTS, its share in the choice, in this run
    spans: dict[str, tuple[float, float]]  # the same, the least and the most of all runs


def _routing(scene: world.Scene, run: int) -> _Routing:
    runs = world_experts.stored()["runs"]
    record = runs[run]
    experts, first = record["shown"][world_experts.SCENES.index(scene)], record["shown"][0]
    return _Routing(
        run,
        words=world.wish(scene)[:-1],
        experts=experts,
        changes=[expert != before for expert, before in zip(experts, first, strict=True)],
        decides={part: record[part] for part in _PARTS},
        spans={part: (min(other[part] for other in runs), max(other[part] for other in runs)) for part in _PARTS},
    )


def sentence(place: str = PLACES[0], weather: str = WEATHERS[0], mood: str = MOODS[0], run: int = 0) -> Picture:
    """Which of four experts each word of a sentence of the little world goes to, in a model that has learned it, and what decides that."""
    attributes = (place, weather, mood)
    for name, value, options in zip(("place", "weather", "mood"), attributes, (PLACES, WEATHERS, MOODS), strict=True):
        _one_of(name, value, options)
    _one_of("run", run, WORLD_RUNS)
    routing = _routing(world.Scene(*attributes, world_experts.CREATURE), run)
    title, words = _sentence_words(routing, place, weather, mood)
    shapes = [_draw_buttons("run", WORLD_RUNS, run), *_words_and_experts(routing), *_what_decides(routing)]
    return Picture(title, words, svg.card(_UNDER_WORDS + 114, title, words, *shapes))


def _sentence_words(routing: _Routing, place: str, weather: str, mood: str) -> tuple[str, str]:
    """Title and sentence."""
    changed = f"{sum(routing.changes)} of {len(routing.words)} words"
    title = "Four experts share the words of a sentence"
    if any(routing.changes):
        title = f"{changed} have changed their expert"
    shares = {part: f"{100 * least:.0f} to {100 * most:.0f} %" for part, (least, most) in routing.spans.items()}
    words = (
        f"Run {routing.run}, the {place} is {weather} and the dog {mood}: {changed} go to another expert than at first. "
        f"Over {len(WORLD_RUNS)} runs {shares['place']} of the choice is the position in the sentence, {shares['attributes']} the scene."
    )
    return title, words


def _words_and_experts(routing: _Routing) -> list[str]:
    """The words in lines, each with its expert below it."""
    shapes = []
    for line, (start, end) in enumerate(_LINES):
        x, y = LEFT, 92.0 + _LINE_TALL * line
        for n in range(start, end):
            wide = max(46.0, 8.6 * len(routing.words[n]) + 18)
            shapes += _word_and_expert(routing, n, x, y, wide)
            x += wide + 6
    return shapes


def _word_and_expert(routing: _Routing, n: int, x: float, y: float, wide: float) -> list[str]:
    """Word n and its expert, framed where the expert has changed, and a button where the word can be changed."""
    word, e = routing.words[n], routing.experts[n]
    box = [
        svg.rect(x, y, wide, 32, radius=5, fill=style.pale(style.SERIES[e], 0.25)),
        svg.text(x + wide / 2, y + 21, word, size=14, bold=n in _CHANGEABLE, anchor="middle"),
        svg.rect(x, y + 34, wide, 19, radius=4, fill=style.SERIES[e]),
        svg.text(x + wide / 2, y + 48, str(e), size=12.5, bold=True, fill=style.PAPER, anchor="middle"),
    ]
    if routing.changes[n]:
        box.append(svg.rect(x - 2, y - 2, wide + 4, 57, radius=6, stroke=style.INK, stroke_width=2.4))
    if n not in _CHANGEABLE:
        return box
    box.append(svg.rect(x + 1.5, y + 1.5, wide - 3, 29, radius=4, stroke=style.INK, dash="3 3"))
    parameter, options = _CHANGEABLE[n]
    other = options[1 - options.index(word)]
    return [svg.button(*box, sets={parameter: other}, name=f"{word}: make it {other}")]


def _what_decides(routing: _Routing) -> list[str]:
    """A bar of what decides the expert, with its key."""
    y = _UNDER_WORDS
    note = "Dashed: press it. Framed: goes to another expert than at first. Below a word: its expert."
    head = f"What decides the expert, in run {routing.run}, over {_HELD_OUT:,} sentences"
    pieces, key = [], []
    left = key_left = LEFT
    for part, (name, fill) in _PARTS.items():
        share = routing.decides[part]
        words = f"{name}: {100 * share:.0f} %"
        wide = (RIGHT - LEFT) * share
        pieces.append(svg.rect(left, y + 50, wide, 24, fill=fill, stroke=style.MUTED, tip=words))
        key += [
            svg.rect(key_left, y + 86, 12, 12, fill=fill, stroke=style.MUTED),
            svg.text(key_left + 18, y + 97, words, size=12.5),
        ]
        left += wide
        key_left += 7.0 * len(words) + 44
    return [
        svg.text(LEFT, y + 2, note, size=12, fill=style.MUTED),
        svg.text(LEFT, y + 38, head, size=13, bold=True),
        *pieces,
        *key,
    ]


_HELD_OUT = len(world.scenes(held_out=True))
_PARTS = {
    "place": ("the position in the sentence", style.MUTED),
    "attributes": ("the scene", style.NEUTRAL),
    "words": ("the single word", style.TINT),
}


# router

_DIVIDED = ("softmax_topk_renorm", "sigmoid_norm")  # the gates are divided by their sum
_COLUMN_LEFT, _COLUMN_WIDE = LEFT + 100, 60.0  # of the first expert's column, and of each
_LOGITS_TOP, _SCORES_TOP, _GATES_TOP = 70.0, 206.0, 328.0
_ZERO_LOGIT = _LOGITS_TOP + 52
_LONGEST_LOGIT = 40  # from 0 to REACH
_BAR_TALL = 84.0  # the room of a score and of a gate
_NUMBERS = _GATES_TOP + _BAR_TALL + 20  # the base line of the experts' numbers


class _Gating(NamedTuple):
    """What a router makes of one token's logits."""

    logits: list[float]
    temperature: float
    k: int
    norm: str
    kept: list[int]  # the k experts
    scores: list[float]
    gates: list[float]
    has_tie: bool  # whether an expert that is not kept has the logit of one that is


def _gating(logits: list[float], temperature: float, k: int, norm: str) -> _Gating:
    z = [value / temperature for value in logits]
    kept = _select_top_k(z, k)
    others = [e for e in range(E) if e not in kept]
    if norm == "sigmoid_norm":
        powers = [1 / (1 + math.exp(-value)) for value in z]
        under = 1.0
    else:
        powers = [math.exp(value - max(z)) for value in z]
        under = sum(powers[e] for e in (kept if norm == "topk_softmax" else range(E)))
    scores = [power / under if e in kept or norm != "topk_softmax" else 0.0 for e, power in enumerate(powers)]
    if norm in _DIVIDED:
        under *= sum(scores[e] for e in kept)
    gates = [power / under if e in kept else 0.0 for e, power in enumerate(powers)]
    has_tie = any(z[e] == z[other] for e in kept for other in others)
    return _Gating(logits, temperature, k, norm, kept, scores, gates, has_tie)


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
    gating = _gating(logits, temperature, k, norm)
    title, words = _router_words(gating)
    shapes = [*_names_of_rows(gating), *(_draw_expert(gating, e) for e in range(E)), *_notes_on_gates(gating)]
    knobs = [_logit_knob(gating, e) for e in range(E)]  # above all else, for the hand
    return Picture(title, words, svg.card(_NUMBERS + 46, title, words, *shapes, *knobs))


def _router_words(gating: _Gating) -> tuple[str, str]:
    """Title and sentence."""
    total = sum(gating.gates)
    kept = ", ".join(map(str, gating.kept))
    title = f"Experts {kept}: gates sum to {total:.2f}" if gating.k > 1 else f"Expert {kept}: gate {total:.2f}"
    words = (
        f"Logits {_join_labels(gating.logits, 1)} at temperature {gating.temperature:g}, {gating.norm}, k = {gating.k}: "
        f"gates {_join_labels(gating.gates)}; their sum is {total:.2f}."
    )
    return title, words


def _names_of_rows(gating: _Gating) -> list[str]:
    """What logits, scores and gates are, on the left, a line or two each."""
    of_scores = {
        "softmax_topk": ("softmax", "over all 8"),
        "softmax_topk_renorm": ("softmax", "over all 8"),
        "topk_softmax": ("softmax", f"over the {gating.k} kept"),
        "sigmoid_norm": ("sigmoid", "of each"),
    }
    of_gates = ("gates", "divided", "by their sum") if gating.norm in _DIVIDED else ("gates", "as they are")
    rows = ((_LOGITS_TOP, ("logits",)), (_SCORES_TOP, of_scores[gating.norm]), (_GATES_TOP, of_gates))
    return [
        svg.text(LEFT, top + 38 + 17 * n, line, size=13, bold=n == 0)
        for top, lines in rows
        for n, line in enumerate(lines)
    ]


def _inks(gating: _Gating, e: int) -> tuple[str, str]:
    """The colours of an expert's bars and of its words."""
    return (style.CHOSEN, style.INK) if e in gating.kept else (style.NEUTRAL, style.MUTED)


def _draw_expert(gating: _Gating, e: int) -> str:
    """Its logit, its score and its gate one below the other, framed if it is kept."""
    x = _COLUMN_LEFT + _COLUMN_WIDE * e
    _, ink = _inks(gating, e)
    is_kept = e in gating.kept
    number = svg.text(x + _COLUMN_WIDE / 2, _NUMBERS, str(e), size=13, anchor="middle", bold=is_kept, fill=ink)
    frame = svg.rect(
        x + 3,
        _LOGITS_TOP - 6,
        _COLUMN_WIDE - 6,
        _NUMBERS + 14 - _LOGITS_TOP,
        radius=6,
        stroke=style.CHOSEN,
        stroke_width=1.6,
    )
    shapes = [
        *_logit_bar(gating, e),
        *_bar_from_zero(gating, e, _SCORES_TOP, gating.scores[e], "score"),
        *_bar_from_zero(gating, e, _GATES_TOP, gating.gates[e], "gate"),
        number,
    ]
    return "".join([*shapes, frame] if is_kept else shapes)


def _logit_bar(gating: _Gating, e: int) -> list[str]:
    """The logit, upwards or downwards of a zero line."""
    x, wide = _COLUMN_LEFT + _COLUMN_WIDE * e, _COLUMN_WIDE
    fill, ink = _inks(gating, e)
    logit = gating.logits[e]
    length = _LONGEST_LOGIT * logit / REACH
    tip = _ZERO_LOGIT - length
    says = f"logit of expert {e}: {svg.label(logit)}"
    return [
        svg.rect(x + 8, _LOGITS_TOP, wide - 16, 104, fill=style.TINT),
        svg.rect(x + 14, min(_ZERO_LOGIT, tip), wide - 28, abs(length), fill=fill, tip=says),
        svg.line(x + 8, _ZERO_LOGIT, x + wide - 8, _ZERO_LOGIT, stroke=style.MUTED),
        svg.text(
            x + wide / 2,
            _ZERO_LOGIT + 16 if length >= 0 else _ZERO_LOGIT - 8,
            svg.label(logit, 1, pad=True),
            size=12,
            anchor="middle",
            bold=e in gating.kept,
            fill=ink,
        ),
    ]


def _bar_from_zero(gating: _Gating, e: int, top: float, value: float, name: str) -> list[str]:
    """A score or a gate, from 0 to 1."""
    x, wide = _COLUMN_LEFT + _COLUMN_WIDE * e, _COLUMN_WIDE
    fill, ink = _inks(gating, e)
    base = top + _BAR_TALL
    tall = (_BAR_TALL - 16) * value
    says = f"{name} of expert {e}: {svg.label(value, 4)}"
    return [
        svg.rect(x + 8, top, wide - 16, _BAR_TALL, fill=style.TINT),
        svg.rect(x + 14, base - tall, wide - 28, tall, fill=fill, tip=says),
        svg.line(x + 8, base, x + wide - 8, base, stroke=style.MUTED),
        svg.text(
            x + wide / 2,
            base - tall - 4,
            svg.label(value, 2, pad=True) if value else "0",
            size=12,
            anchor="middle",
            bold=e in gating.kept and name == "gate",
            fill=ink,
        ),
    ]


def _logit_knob(gating: _Gating, e: int) -> str:
    """The knob at the end of a logit's bar."""
    fill, _ = _inks(gating, e)
    logit = gating.logits[e]
    ends = (_ZERO_LOGIT + _LONGEST_LOGIT, _ZERO_LOGIT - _LONGEST_LOGIT)
    return svg.handle(
        _COLUMN_LEFT + _COLUMN_WIDE * (e + 0.5),
        _ZERO_LOGIT - _LONGEST_LOGIT * logit / REACH,
        drags={f"z{e}": svg.upright(ends, (-REACH, REACH))},
        name=f"the logit of expert {e}",
        says=svg.label(logit, 1),
        fill=fill,
    )


def _notes_on_gates(gating: _Gating) -> list[str]:
    """Beside the title the setting, below the columns what is framed and what the gates sum to."""
    setting = f"temperature {gating.temperature:g}, k = {gating.k}"
    note = "Framed: kept. Of equal logits, the first one is kept." if gating.has_tie else "Framed: kept."
    total = f"sum of the gates: {sum(gating.gates):.2f}"
    return [
        svg.text(LEFT, _NUMBERS, "expert", size=13, fill=style.MUTED),
        svg.text(RIGHT, 32, setting, size=12.5, fill=style.MUTED, anchor="end"),
        svg.text(LEFT, _NUMBERS + 30, note, size=12.5, fill=style.MUTED),
        svg.text(RIGHT, _NUMBERS + 30, total, size=13, bold=True, anchor="end"),
    ]


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
_GAP = 14.0  # between the slots of two experts
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
    entries = slots(k)
    order = _sorted_order(k)
    rank = {n: place for place, n in enumerate(order)}
    wide = _PITCH * len(entries)
    start = (svg.WIDTH - wide) / 2
    column = (RIGHT - LEFT) / len(WORDS)
    table, flat, in_order, segments, out, back = [], [], [], [], [], []
    for n, (t, s, e) in enumerate(entries):
        table.append((_column_of(e) - _SIDE / 2, _TABLE + 26 * t))
        flat.append((start + _PITCH * n, _LIST))
        in_order.append((start + _PITCH * rank[n], _ORDER))
        shift = _GAP * (e - (N_EXPERTS - 1) / 2)
        segments.append((start + _PITCH * rank[n] + shift, _CALLS))
        out.append((start + _PITCH * rank[n] + shift, _OUT))
        middle = LEFT + column * (t + 0.5)
        back.append((middle + _PITCH * (s - (k - 1) / 2) - _SIDE / 2, _BACK))
    return [table, flat, in_order, segments, out, back]


def _column_of(expert: int) -> float:
    return 250.0 + 84 * expert


class _Journey(NamedTuple):
    """The slots in one frame of `dispatch`."""

    frame: int
    k: int
    token: int  # whose slots stand out, or ALL
    entries: list[tuple[int, int, int]]  # of each slot: token, slot within the token, expert
    places: list[list[tuple[float, float]]]  # of each slot, in each stage
    sizes: list[int]  # how many slots each expert gets
    stage: int  # that the slots come from
    coming: int  # the stage that they go to; the same while they lie still
    part: int  # of BETWEEN, how far they are


def _journey(frame: int, k: int, token: int) -> _Journey:
    entries = slots(k)
    sizes = [sum(1 for slot in entries if slot[2] == e) for e in range(N_EXPERTS)]
    stage, part = divmod(frame, BETWEEN)
    coming = stage + 1 if part else stage
    return _Journey(frame, k, token, entries, _places(k), sizes, stage, coming, part)


def dispatch(frame: int = 0, k: int = 2, token: int = ALL) -> Picture:
    """Slots on their way from the table of choices over a sorted list to the experts and back; three frames from one stage to the next.

    The slots of `token` stand out.
    """
    _inside("frame", frame, 0, LAST_FRAME)
    _inside("k", k, 1, 3)
    _one_of("token", token, FOLLOWED)
    journey = _journey(frame, k, token)
    title, words = _dispatch_words(journey)
    shapes = [
        *_table_of_choices(journey),
        *(_segments(journey) if journey.coming >= 3 else ()),
        *_captions(journey),
        *(_names_of_outputs() if journey.coming == STAGES - 1 else ()),
        *(_draw_slot(journey, number) for number in range(len(journey.entries))),
    ]
    return Picture(title, words, svg.card(_BACK + 78, title, words, *shapes))


def _dispatch_words(journey: _Journey) -> tuple[str, str]:
    """Title and sentence."""
    title, words = _stage_words(journey)[journey.coming]
    if journey.part:
        words = f"On the way, {journey.part} of {BETWEEN}: {words[0].lower()}{words[1:]}"
    if journey.token != ALL:
        experts = CHOICES[journey.token][: journey.k]
        name = "expert" if journey.k == 1 else "experts"
        words += f" Token {journey.token}, “{WORDS[journey.token]}”, goes to {name} {', '.join(map(str, experts))}."
    return title, words


def _stage_words(journey: _Journey) -> list[tuple[str, str]]:
    """Of each stage, title and sentence."""
    k, n, T = journey.k, len(journey.entries), len(WORDS)
    empty = [e for e in range(N_EXPERTS) if not journey.sizes[e]]
    calls = N_EXPERTS - len(empty)
    rest = f"; expert {empty[0]} has none" if empty else ""
    sizes = ", ".join(map(str, journey.sizes))
    end = f"the {k} outputs of each token lie side by side, are weighted with the gates below, and added"
    if k == 1:
        end = "the one output of each token is weighted with the gate below it"
    return [
        (
            f"{T} tokens choose: {n} slots",
            f"Each of the {T} tokens chooses k = {k}: {n} slots. The colour is the expert, the number the token.",
        ),
        (
            f"One list of {n} slots, token after token",
            f"The {n} choices are in one list, token after token: slot number n belongs to token n // {k}.",
        ),
        (
            f"Sorted by expert: {sizes} slots",
            f"The {n} slots are sorted by expert: {sizes} of them lie side by side{rest}.",
        ),
        (
            f"Cut into segments: {calls} calls",
            f"The {n} slots are cut into segments, {calls} calls in all{rest}. Each expert reads one block of rows.",
        ),
        (
            f"{n} outputs, still sorted by expert",
            f"The experts have turned {n} rows into {n} outputs (outlined), still in the order of the experts.",
        ),
        (f"Back: {plural(k, 'weighted output')} for each of {T} tokens", f"The sorting is undone: {end}."),
    ]


def _table_of_choices(journey: _Journey) -> list[str]:
    """A row for each token, to be pressed, and a column for each expert, in which the slots lie at first."""
    shapes = [svg.text(LEFT, 70, f"idx [{len(WORDS)}, {journey.k}]", size=13, bold=True)]
    for e in range(N_EXPERTS):
        shapes.append(
            svg.text(_column_of(e), 70, f"expert {e}", size=13, bold=True, fill=EXPERT_INK[e], anchor="middle")
        )
    for t, word in enumerate(WORDS):
        y = _TABLE + 26 * t
        mine = t == journey.token
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
    return shapes


def _segments(journey: _Journey) -> list[str]:
    """A box for each expert, as wide as its slots."""
    start = (svg.WIDTH - _PITCH * len(journey.entries)) / 2
    shapes = []
    for e, size in enumerate(journey.sizes):
        before = sum(journey.sizes[:e])
        x = start + _PITCH * before + _GAP * (e - (N_EXPERTS - 1) / 2) - 2
        wide = max(_PITCH * size, 4)
        ink = EXPERT_INK[e]
        name = "" if size == 0 else str(e) if size == 1 else f"expert {e}"
        dash = "" if size else "3 3"
        shapes += [
            svg.rect(x, _CALLS + 40, wide, 46, radius=6, stroke=ink, stroke_width=2, dash=dash),
            svg.text(x + wide / 2, _CALLS + 67, name, size=11.5, bold=True, fill=ink, anchor="middle"),
        ]
    return shapes


def _captions(journey: _Journey) -> list[str]:
    """The names of the stages, to be pressed."""
    captions = (
        (LEFT, _LIST, "1 · one list, token after token"),
        (LEFT + 260, _LIST, "2 · sorted by expert"),
        (LEFT, _CALLS, "3 · cut into segments"),
        (LEFT, _OUT, "4 · computed, one call for each expert"),
        (LEFT, _BACK, "5 · back, weighted and added" if journey.k > 1 else "5 · back, and weighted"),
    )
    shapes = []
    for stage, (x, y, words) in enumerate(captions, start=1):
        now = stage == journey.coming
        shapes.append(
            svg.button(
                svg.rect(x - 4, y - 24, 7.2 * len(words) + 8, 21, radius=4, fill=style.PAPER),
                svg.text(x, y - 9, words, size=12.5, bold=now, fill=style.INK if now else style.MUTED),
                sets={"frame": BETWEEN * stage},
                name=f"step {words}",
            )
        )
    return shapes


def _names_of_outputs() -> list[str]:
    """Below the weighted outputs, whose they are."""
    column = (RIGHT - LEFT) / len(WORDS)
    return [
        svg.text(LEFT + column * (t + 0.5), _BACK + 62, f"y of {word}", size=12.5, anchor="middle", bold=True)
        for t, word in enumerate(WORDS)
    ]


def _draw_slot(journey: _Journey, number: int) -> str:
    """A slot where it is now, and pale where it has been."""
    t, s, e = journey.entries[number]
    ink = EXPERT_INK[e]
    shapes = []
    for past in range(journey.coming):
        if past != 1 or journey.coming < 2:  # the list itself is sorted in place
            x, y = journey.places[past][number]
            shapes += [
                svg.rect(x, y, _SIDE, 25, radius=4, fill=style.pale(ink, 0.15), stroke=style.RULE),
                svg.text(x + _SIDE / 2, y + 17.5, str(t), size=12, fill=style.MUTED, anchor="middle"),
            ]
    (x0, y0), (x1, y1) = journey.places[journey.stage][number], journey.places[journey.coming][number]
    share = journey.part / BETWEEN
    x, y = x0 + (x1 - x0) * share, y0 + (y1 - y0) * share
    middle = x + _SIDE / 2
    has_output = journey.stage >= 4 or (journey.coming == 4 and journey.part > 1)
    fill, word_ink = (style.PAPER, ink) if has_output else (ink, style.PAPER)
    tip = f"slot {number}: token {t}, expert {e}, weight {WEIGHTS[t][s]:g}"
    shapes += [
        svg.rect(x, y, _SIDE, 25, radius=4, fill=fill, stroke=ink, stroke_width=2.4, tip=tip),
        svg.text(middle, y + 17.5, str(t), size=13, bold=True, fill=word_ink, anchor="middle"),
    ]
    if journey.frame == LAST_FRAME:
        gate = svg.label(WEIGHTS[t][s] / sum(WEIGHTS[t][: journey.k]))
        shapes.append(svg.text(middle, y + 41, gate, size=11.5, fill=style.MUTED, anchor="middle"))
    return svg.group(*shapes, opacity=1 if journey.token in (ALL, t) else 0.25)


# totals


def _billions(count: float) -> str:
    digits = 1 if count >= 9.95e9 else 2
    return f"{count / 1e9:.{digits}f} B"


_MODELS_TOP, _MODEL_TALL = 244.0, 22.0  # of the table of models, and a row of it


class _Totals(NamedTuple):
    """A model with `factor` times its experts per token, in parameters."""

    name: str
    factor: float
    experts: atlas.Experts
    total: int
    active: int
    ffn: int  # in experts and routers, all of them
    active_ffn: int  # the same, of one token

    @property
    def rest(self) -> int:
        """Attention, embeddings and norms, which every token uses."""
        return self.total - self.ffn


def _totals(name: str, factor: float) -> _Totals:
    model = _with_factor(name, factor)
    assert model.experts
    ffn = atlas.parts(model).ffn
    active_ffn = atlas.parts(model, active=True).ffn
    return _Totals(name, factor, model.experts, atlas.total(model), atlas.active(model), ffn, active_ffn)


def totals(model: str = "Mixtral-8x7B", factor: float = 1.0) -> Picture:
    """A model's total and active parameters by part, with `factor` times its experts per token, above all models of the atlas with experts."""
    _one_of("model", model, MODELS)
    _one_of("factor", factor, [value for _, value in FACTORS])
    numbers = _totals(model, factor)
    title, words = _totals_words(numbers)
    shapes = [*_total_and_active(numbers), *_shares_of_models(numbers)]
    return Picture(title, words, svg.card(_MODELS_TOP + _MODEL_TALL * len(MODELS) + 16, title, words, *shapes))


def _totals_words(numbers: _Totals) -> tuple[str, str]:
    """Title and sentence."""
    experts, total, active = numbers.experts, numbers.total, numbers.active
    title = f"{numbers.name}: {_billions(active)} of {_billions(total)} are active"
    words = (
        f"With {experts.k} of {experts.n} experts a token"
        f"{f' and {experts.shared} shared' if experts.shared else ''}, {numbers.name} stores {_billions(total)} parameters, "
        f"{2 * total / 1e9:.0f} GB in 16 bits; a token computes with {_billions(active)}, {100 * active / total:.1f} %."
    )
    return title, words


def _total_and_active(numbers: _Totals) -> list[str]:
    """Two bars at one scale, and the key to them."""
    wide, rest, experts = RIGHT - LEFT, numbers.rest, numbers.experts
    unit = wide / numbers.total
    bars = (
        ("total: what has to be stored", numbers.ffn),
        ("active: what a token computes with", numbers.active_ffn),
    )
    shapes = []
    for n, (name, ffn) in enumerate(bars):
        y = 78.0 + 62 * n
        rest_tip = f"attention, embeddings, norms: {_billions(rest)}"
        ffn_tip = f"experts and routers: {_billions(ffn)}"
        shapes += [
            svg.text(LEFT, y - 8, f"{name}, {_billions(rest + ffn)}", size=13.5, bold=True),
            svg.rect(LEFT, y, rest * unit, 26, fill=style.AROUND, tip=rest_tip),
            svg.rect(LEFT + rest * unit, y, ffn * unit, 26, fill=style.FFN, tip=ffn_tip),
            svg.rect(LEFT, y, wide, 26, stroke=style.RULE),
        ]
    key = 184.0
    return [
        *shapes,
        svg.rect(LEFT, key, 12, 12, fill=style.AROUND),
        svg.text(LEFT + 18, key + 11, f"attention, embeddings, norms {_billions(rest)}", size=12.5),
        svg.rect(LEFT + 290, key, 12, 12, fill=style.FFN),
        svg.text(LEFT + 308, key + 11, f"FFNs: {experts.k} of {experts.n} experts, routers", size=12.5),
    ]


def _shares_of_models(numbers: _Totals) -> list[str]:
    """Of each model with experts, the share of its parameters that is active, to be pressed."""
    factor = next(words for words, value in FACTORS if value == numbers.factor)
    head = f"Share of all parameters that is active (experts per token: {factor})"
    shapes = [svg.text(LEFT, _MODELS_TOP - 14, head, size=13, bold=True)]
    left, bar = LEFT + 150, 250.0
    for n, name in enumerate(MODELS):
        other = _totals(name, numbers.factor)
        share = f"{_billions(other.active)} of {_billions(other.total)}"
        y, mine = _MODELS_TOP + _MODEL_TALL * n, name == numbers.name
        ink = style.INK if mine else style.MUTED
        fill = style.INK if mine else style.NEUTRAL
        long = bar * other.active / other.total
        percent = f"{100 * other.active / other.total:.1f} %"
        row = [
            svg.rect(LEFT - 4, y - 3, RIGHT - LEFT + 8, _MODEL_TALL, fill=style.PAPER, radius=4),
            svg.text(left - 10, y + 13, name, size=12.5, bold=mine, fill=ink, anchor="end"),
            svg.rect(left, y, bar, 16, fill=style.TINT),
            svg.rect(left, y, long, 16, fill=fill, tip=f"{name}: {share}"),
            svg.text(left + bar + 8, y + 13, percent, size=12.5, bold=mine, fill=ink),
            svg.text(RIGHT, y + 13, share, size=12.5, fill=ink, anchor="end"),
        ]
        shapes.append(svg.button(*row, sets={"model": name}, name=name))
    return shapes


def _with_factor(name: str, factor: float) -> atlas.Model:
    """The model with `factor` times as many experts for a token."""
    model = atlas.find(name)
    assert model.experts
    return replace(model, experts=replace(model.experts, k=round(factor * model.experts.k)))
