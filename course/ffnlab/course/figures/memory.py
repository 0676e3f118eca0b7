"""The figures of notebook 06: one neuron's key, coefficients and value; a sum that grows; facts by width; neurons knocked out."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from ffnlab.course.experiments import fact_stores
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
FACTS, WIDTHS = fact_stores.FACTS, fact_stores.WIDTHS
NEURONS, N_FACTS = fact_stores.STORE_WIDTH, fact_stores.STORE_FACTS
MAX_PLACES = 16  # neurons that `knocked` can knock out
UNSEEN = -1
PLACES = range(UNSEEN, MAX_PLACES)  # what a hand can ask of `knocked`
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "ri")
LIKES = (
    "figs", "plums", "pears", "dates", "limes", "kiwis", "nuts", "leeks", "rice", "oats", "rye", "corn", "peas", "beans",
    "beets", "kale", "soup", "bread", "cake", "pies", "tarts", "jam", "honey", "mint", "sage", "thyme", "tea", "milk",
    "cream", "cheese", "eggs", "tofu", "chess", "cards", "darts", "golf", "judo", "polo", "rugby", "skiing", "surfing",
    "tennis", "yoga", "jazz", "opera", "blues", "drums", "harps", "flutes", "pianos", "cats", "dogs", "hens", "owls",
    "bees", "frogs", "snow", "rain", "fog", "sun", "hills", "lakes", "caves", "boats",
)  # fmt: skip


LEADS = (-32.0, 40.0)  # the window of `growing`


def name(fact: int) -> str:
    """The invented person that fact number `fact` is about."""
    return "".join(SYLLABLES[fact // 8**place % 8] for place in (2, 1, 0)).capitalize()


PEOPLE = [
    (name(fact), fact) for fact in (40, 85, 98, 113, 145, 204, 214, 484)
]  # for a slider; as mixed as all facts are


def _inside(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{what} must be from {low} to {high}, not {value}")


@cache
def _hidden() -> torch.Tensor:
    facts, store = fact_stores.store()
    return torch.relu(facts.E @ store.keys.T + store.b1)  # [N, f]


@cache
def _logits() -> torch.Tensor:
    facts, store = fact_stores.store()
    logits: torch.Tensor = (facts.E + _hidden() @ store.values + store.b2) @ facts.U.T  # [N, C]
    return logits


@cache
def _pushes() -> torch.Tensor:
    """How far each neuron's value points along each answer, [f, C]."""
    facts, store = fact_stores.store()
    pushes: torch.Tensor = store.values @ facts.U.T
    return pushes


def _bar(x: float, y: float, value: float, scale: float, tall: float = 14) -> str:
    """A bar from x to the right, or to the left for a negative value."""
    length = abs(value) * scale
    return svg.rect(x if value >= 0 else x - length, y, length, tall, fill=style.signed(value), tip=svg.label(value, 2))


def neuron(j: int = 0) -> Picture:
    """Neuron j of the store: its key, the facts that it responds to most, and the answers that its value pushes most."""
    _inside("the neuron", j, 0, NEURONS - 1)
    facts, store = fact_stores.store()
    hidden = _hidden()
    h = hidden[:, j]
    pushes = _pushes()
    push = pushes[j]
    fires = int((h > 0).sum())
    top = h.argsort(descending=True)[:8].tolist()
    answers = push.argsort(descending=True)[:8].tolist()
    n_matches = sum(int(facts.y[fact]) in answers for fact in top)
    title = f"Neuron {j} fires for {fires} of {N_FACTS} facts"
    sentence = (
        f"Neuron {j} responds most strongly to {name(top[0])} and pushes “{LIKES[answers[0]]}” most. Of the 8 facts on the "
        f"left, {n_matches} {'has' if n_matches == 1 else 'have'} an answer that is among the 8 on the right."
    )
    head, row = 92.0, 26.0
    key_x, fact_x, value_x = LEFT, 190.0, 430.0
    shapes = [
        svg.text(key_x, 62, "key", size=14, bold=True),
        svg.text(key_x, 79, "what it looks for", size=12, fill=style.MUTED),
        svg.text(fact_x, 62, "coefficient", size=14, bold=True),
        svg.text(fact_x, 79, "its 8 strongest facts", size=12, fill=style.MUTED),
        svg.text(value_x, 62, "value", size=14, bold=True),
        svg.text(value_x, 79, "the 8 answers it pushes most", size=12, fill=style.MUTED),
    ]
    for i, weight in enumerate(store.keys[j].tolist()):
        x, y = key_x + 34 * (i % 4), head + row * (i // 4)
        shapes.append(
            svg.rect(
                x, y, 32, row - 3, fill=style.diverging(weight, 1.5), stroke=style.TINT,
                tip=f"key {i}: {svg.label(weight, 3)}",
            )
        )  # fmt: skip
    most, strongest = float(push.max()), float(h.max())
    pushers = pushes.argmax(0).tolist()  # of each answer, the neuron that pushes it most
    helpers = (hidden[top] * pushes[:, facts.y[top]].T).argmax(1).tolist()  # of each of the 8 facts
    for n, (fact, answer) in enumerate(zip(top, answers, strict=True)):
        y = head + row * n
        right = int(facts.y[fact]) in answers
        ink = style.CHOSEN if right else style.INK
        about_fact = [
            svg.rect(fact_x - 4, y + 1, value_x - fact_x - 8, row - 4, fill=style.PAPER, radius=4),
            svg.text(fact_x, y + 15, f"{name(fact)}: {LIKES[int(facts.y[fact])]}", size=12.5, bold=right, fill=ink),
            _bar(fact_x + 122, y + 4, float(h[fact]), 66 / strongest),
            svg.text(
                fact_x + 126 + 66 * float(h[fact]) / strongest,
                y + 15,
                svg.label(float(h[fact]), 1),
                size=11.5,
                fill=style.MUTED,
            ),
        ]
        about_answer = [
            svg.rect(value_x - 4, y + 1, svg.WIDTH - svg.MARGIN - value_x + 4, row - 4, fill=style.PAPER, radius=4),
            svg.text(value_x, y + 15, LIKES[answer], size=12.5),
            _bar(value_x + 62, y + 4, float(push[answer]), 84 / most),
            svg.text(
                value_x + 66 + 84 * float(push[answer]) / most,
                y + 15,
                svg.label(float(push[answer]), 1),
                size=11.5,
                fill=style.MUTED,
            ),
        ]
        helper, pusher = helpers[n], pushers[answer]
        shapes += [
            svg.button(*about_fact, sets={"j": helper}, name=f"{name(fact)}: its strongest neuron, {helper}"),
            svg.button(
                *about_answer, sets={"j": pusher}, name=f"{LIKES[answer]}: the neuron that pushes it most, {pusher}"
            ),
        ]
    notes = (
        "Green and bold: the fact's answer is among those on the right.",
        "Press a fact for the neuron that helps it most, an answer for the one that pushes it most.",
    )
    shapes += [
        svg.text(LEFT, head + 8 * row + 18 + 17 * n, note, size=12, fill=style.MUTED) for n, note in enumerate(notes)
    ]
    return Picture(title, sentence, svg.card(head + 8 * row + 51, title, sentence, *shapes))


@cache
def _leads(fact: int) -> tuple[list[float], list[int]]:
    """With 0, 1 … all neurons written, the strongest first: how far the right answer is ahead of the best other, and the best of all."""
    facts, store = fact_stores.store()
    h, right = _hidden()[fact], int(facts.y[fact])
    pushes = (h[:, None] * _pushes())[_strongest(fact)]  # [f, C]
    start = (facts.E[fact] + store.b2) @ facts.U.T
    logits = start + torch.cat([torch.zeros(1, len(LIKES)), pushes.cumsum(0)])  # [f + 1, C]
    others = logits.clone()
    others[:, right] = -torch.inf
    return (logits[:, right] - others.amax(1)).tolist(), logits.argmax(1).tolist()


def growing(fact: int = 0, count: int = 4) -> Picture:
    """How far the right answer of one fact is ahead of the best other one, when only its strongest neurons write; read off at `count`."""
    _inside("the fact", fact, 0, N_FACTS - 1)
    _inside("count", count, 0, NEURONS)
    facts, _ = fact_stores.store()
    right = int(facts.y[fact])
    leads, answers = _leads(fact)
    lead, best = leads[count], answers[count]
    neurons = "neuron" if count == 1 else "neurons"
    title = f"{count} {neurons} written: the answer is “{LIKES[best]}”"
    sentence = (
        f"{name(fact)} likes {LIKES[right]}. With {count} of {NEURONS} neurons the right answer is {svg.label(abs(lead), 1)} "
        f"{'ahead of' if lead > 0 else 'behind'} the best other one, so the fact is {'known' if best == right else 'not known'}."
    )
    frame = plot.Frame(
        (0, NEURONS), LEADS, "neurons that write, the strongest first", "lead of the right answer over the best other one",
        tuple(range(0, NEURONS + 1, 16)), (-30, -20, -10, 0, 10, 20, 30, 40),
        top=104, bottom=364,
    )  # fmt: skip
    places, heights = range(NEURONS + 1), np.array(leads)
    ink = style.CHOSEN if best == right else style.LOST
    x = frame.across(count)
    near = count < NEURONS / 2
    shapes = [
        _people(fact),
        frame.area((0, NEURONS), LEADS[0], 0, style.pale(style.LOST, 0.12)),
        frame.axes(),
        frame.area(places[: count + 1], 0, np.maximum(heights[: count + 1], 0), style.pale(style.CHOSEN)),
        frame.curve(places, heights, plot.Look(style.NEUTRAL, width=1.6)),
        frame.curve(places[: count + 1], heights[: count + 1], plot.Look(style.CHOSEN, width=2.8)),
        frame.curve((count, count), LEADS, plot.Look(style.NEUTRAL, (3, 4), 1)),
        svg.text(frame.right - 8, frame.bottom - 8, "another answer is ahead", size=12.5, fill=style.LOST, anchor="end"),
        svg.text(
            x + (12 if near else -12), frame.top + 12, f"“{LIKES[best]}” {svg.label(lead, 1)}", size=13.5, bold=True, fill=ink,
            anchor="start" if near else "end", halo=True,
        ),
        svg.handle(
            *frame.at(count, min(max(lead, LEADS[0]), LEADS[1])),
            drags={"count": svg.across((frame.left, frame.right), frame.x)},
            name="neurons that write",
            says=f"{count}, a lead of {svg.label(lead)}",
            fill=ink,
        ),
    ]  # fmt: skip
    return Picture(title, sentence, svg.card(416, title, sentence, *shapes))


def _people(current: int) -> str:
    """The people of the slider in a row, to be pressed."""
    pitch = (RIGHT - LEFT + 6) / len(PEOPLE)
    shapes = []
    for n, (person, fact) in enumerate(PEOPLE):
        x, here = LEFT + pitch * n, fact == current
        box = svg.rect(x, 48, pitch - 6, 26, radius=6, fill=style.INK if here else style.TINT)
        ink = style.PAPER if here else style.INK
        word = svg.text(x + (pitch - 6) / 2, 65.5, person, size=13, anchor="middle", fill=ink)
        shapes.append(svg.button(box, word, sets={"fact": fact}, name=f"the fact about {person}"))
    return "".join(shapes)


_HEAD, _ROW = 108.0, 28.0
_BELOW = _HEAD + 6 * _ROW  # where `_answers` ends


def _answers(logits: torch.Tensor, before: torch.Tensor | None, right: int) -> str:
    """Bars of the right answer and the five best others, in front of those of `before`, if given."""
    others = [c for c in logits.argsort(descending=True).tolist() if c != right][:5]
    zero, scale, head, row = 250.0, 4.0, _HEAD, _ROW
    shapes = [
        svg.text(LEFT, head - 12, "right answer, then the five best others", size=12, fill=style.MUTED),
        svg.line(zero, head - 4, zero, head + 6 * row, stroke=style.NEUTRAL),
    ]
    for n, answer in enumerate([right, *others]):
        y, now = head + row * n, float(logits[answer])
        shapes.append(svg.text(LEFT + 84, y + 16, LIKES[answer], size=13, anchor="end", bold=n == 0))
        bars = [(now, style.CHOSEN if n == 0 else style.REFERENCE, 12.0)]
        if before is not None:
            bars.insert(0, (float(before[answer]), style.GHOST, 22.0))
        for value, fill, tall in bars:
            length = min(abs(value) * scale, 330 if value > 0 else 140)
            x = zero if value >= 0 else zero - length
            shapes.append(
                svg.rect(x, y + 11 - tall / 2, length, tall, fill=fill, tip=f"{LIKES[answer]}: {svg.label(value, 1)}")
            )
        shapes.append(svg.text(RIGHT, y + 16, svg.label(now, 1, pad=True), size=12, anchor="end", fill=style.MUTED))
    return "".join(shapes)


def capacity(count: int = 256, width: int = 16) -> Picture:
    """The share of `count` facts that FFNs of width `width` know, in the table of all counts and widths."""
    if count not in FACTS or width not in WIDTHS:
        raise ValueError(f"there are runs for {FACTS} facts and widths {WIDTHS}, not for {count} and {width}")
    accuracies = fact_stores.accuracy(count, width)
    mean = sum(accuracies) / len(accuracies)
    title = f"{count} facts, d_ff = {width}: {round(100 * mean)} % known"
    fit = max((n for n in FACTS if min(fact_stores.accuracy(n, width)) >= 0.99), default=0)
    bits = fact_stores.bits_per_weight(count, width, mean)
    sentence = (
        f"Of {count} facts, FFNs with {width} neurons know {round(100 * mean)} % after training ({len(accuracies)} seeds: "
        f"{round(100 * min(accuracies))} to {round(100 * max(accuracies))} %): {round(mean * count)} facts, {bits:.1f} bits for each weight. "
        + (
            f"The most that this width knows completely here is {fit}."
            if fit
            else "This width knows none of these sets completely."
        )
    )
    left, top, wide, tall = 96.0, 92.0, 74.0, 36.0
    shapes = [
        svg.text(left + wide * len(WIDTHS) / 2, top - 32, "d_ff", size=13, bold=True, anchor="middle"),
        svg.text(left - 14, top - 12, "facts", size=13, bold=True, anchor="end"),
    ]
    for c, f in enumerate(WIDTHS):
        shapes.append(svg.text(left + wide * (c + 0.5), top - 12, str(f), size=13, anchor="middle", fill=style.MUTED))
    for r, n in enumerate(FACTS):
        y = top + tall * r
        shapes.append(svg.text(left - 14, y + 23, str(n), size=13, anchor="end", fill=style.MUTED))
        for c, f in enumerate(WIDTHS):
            shares = fact_stores.accuracy(n, f)
            share = sum(shares) / len(shares)
            ink = style.PAPER if share > 0.55 else style.INK
            cell = [
                svg.rect(
                    left + wide * c,
                    y,
                    wide - 2,
                    tall - 2,
                    fill=style.diverging(share, 1.0),
                    stroke=style.TINT,
                    tip=f"{n} facts, d_ff {f}: {svg.label(share, 3)}",
                ),
                svg.text(
                    left + wide * (c + 0.5) - 1, y + 23, f"{round(100 * share)} %", size=13, anchor="middle", fill=ink
                ),
            ]
            shapes.append(svg.button(*cell, sets={"count": n, "width": f}, name=f"{n} facts, d_ff {f}"))
    x, y = left + wide * WIDTHS.index(width), top + tall * FACTS.index(count)
    shapes.append(svg.rect(x - 1, y - 1, wide, tall, stroke=style.INK, stroke_width=2.6, radius=3))
    return Picture(title, sentence, svg.card(top + tall * len(FACTS) + 18, title, sentence, *shapes))


def remove_neurons(fact: int, m: int, at_random: bool = False) -> torch.Tensor:
    """The logits [N, C] of all facts without m neurons: the strongest of `fact`, or m of those that fire for it, at random."""
    facts, store = fact_stores.store()
    h = _hidden()
    neurons = _order(fact, at_random)[:m]
    without: torch.Tensor = _logits() - h[:, neurons] @ store.values[neurons] @ facts.U.T
    return without


def _strongest(fact: int) -> torch.Tensor:
    """All neurons [f], the one that adds most to the logit of the fact's answer first."""
    facts, store = fact_stores.store()
    return (_hidden()[fact] * (store.values @ facts.U[facts.y[fact]])).argsort(descending=True)


def _order(fact: int, at_random: bool) -> torch.Tensor:
    """In which order neurons are knocked out: the strongest first, or those that fire for the fact, shuffled."""
    if not at_random:
        return _strongest(fact)
    firing = _hidden()[fact].nonzero()[:, 0]
    return firing[torch.randperm(len(firing), generator=torch.Generator().manual_seed(fact))]


def knocked(fact: int = 0, m: int = 1, at_random: bool = False, seen: int = UNSEEN) -> Picture:
    """One fact's answers with m neurons knocked out, and which of all facts are lost with them.

    `seen` is a place in the order of knocking out: the facts for which that neuron fires are green.
    """
    _inside("the fact", fact, 0, N_FACTS - 1)
    _inside("m", m, 0, MAX_PLACES)
    if seen not in PLACES:
        raise ValueError(f"seen must be a place from 0 to {MAX_PLACES - 1}, or {UNSEEN} for none, not {seen}")
    facts, _ = fact_stores.store()
    before, after = _logits(), remove_neurons(fact, m, at_random)
    right = int(facts.y[fact])
    is_known = after.argmax(1) == facts.y
    others = int((~is_known).sum()) - int(not is_known[fact])
    fate = "kept" if is_known[fact] else "lost"
    which = "random" if at_random else "top"
    neurons = "neuron" if m == 1 else "neurons"
    title = f"Without {m} {which} {neurons}: {name(fact)} {fate}, {others} {'other' if others == 1 else 'others'} lost"
    best = LIKES[int(after[fact].argmax())]
    some = "one" if m == 1 else str(m)
    if at_random:
        removal = f"{some} {neurons} that {'fires' if m == 1 else 'fire'} for it, chosen at random,"
    else:
        removal = "its strongest neuron" if m == 1 else f"{m} of its strongest neurons"
    sentence = (
        f"{name(fact)} likes {LIKES[right]}. Without {removal} "
        f"the store says “{best}”; of the {N_FACTS - 1} other facts {others} {'is' if others == 1 else 'are'} lost."
    )
    order, h = _order(fact, at_random)[:MAX_PLACES].tolist(), _hidden()
    fires = [False] * N_FACTS
    note = f"all {N_FACTS} facts, a square each; purple and filled: lost"
    if 0 <= seen < len(order):
        fires = (h[:, order[seen]] > 0).tolist()
        gone_too = sum(1 for n in range(N_FACTS) if fires[n] and not is_known[n])
        note += f"; green: neuron {order[seen]} fires"
        sentence += f" Neuron {order[seen]} fires for {sum(fires)} facts, {gone_too} of them lost."

    top, pitch = _BELOW + 20, (RIGHT - LEFT + 4) / MAX_PLACES
    how = "in a random order" if at_random else "the strongest first"
    words = f"neurons that fire for {name(fact)}, {how}; purple: knocked out. Press one to see its facts."
    parts = [svg.text(LEFT, top, words, size=12, fill=style.MUTED)]
    for place, j in enumerate(order):
        x, out, mine = LEFT + pitch * place, place < m, place == seen
        parts.append(
            svg.button(
                svg.rect(
                    x, top + 10, pitch - 4, 24, radius=5, fill=style.LOST if out else style.TINT,
                    stroke=style.INK if mine else "none", stroke_width=2.4,
                ),
                svg.text(x + (pitch - 4) / 2, top + 26.5, str(j), size=12.5, anchor="middle", bold=mine, fill=style.PAPER if out else style.INK),
                sets={"seen": UNSEEN if mine else place},
                name=f"neuron {j}{', knocked out' if out else ''}{', seen' if mine else ''}",
            )
        )  # fmt: skip
    top, side, columns = top + 60, 8.4, 64
    parts.append(svg.text(LEFT, top, note, size=12, fill=style.MUTED))
    for n in range(N_FACTS):
        x, y = LEFT + 30 + side * (n % columns), top + 14 + (side + 8) * (n // columns)
        size = side - 2
        fill = style.LOST if not is_known[n] else style.CHOSEN if fires[n] else style.TINT
        edge = style.INK if n == fact else style.RULE if is_known[n] else style.LOST
        parts.append(svg.rect(x, y, size, size + 6, fill=fill, stroke=edge, stroke_width=2 if n == fact else 0.6))
    bars = _answers(after[fact], before[fact], right)
    return Picture(title, sentence, svg.card(top + 154, title, sentence, _people(fact), bars, *parts))
