"""The figures of notebook 06: one neuron's key, coefficients and value; a sum that grows; facts by width; neurons knocked out."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from ffnlab.course.experiments import fact_stores
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture
from ffnlab.phrases import plural

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


_NEURON_TOP, _LINE = 92.0, 26.0  # of the key, and of the facts and answers
_KEY_LEFT, _FACTS_LEFT, _ANSWERS_LEFT = LEFT, 190.0, 430.0


class _Neuron(NamedTuple):
    """What one neuron of the store responds to and what it writes."""

    j: int
    key: list[float]
    fires: int  # for how many facts
    strongest: list[tuple[int, float]]  # the 8 facts that it responds to most, with its coefficients
    helpers: list[int]  # of each of these, the neuron that helps it most
    pushed: list[tuple[int, float]]  # the 8 answers that it pushes most, and how far
    pushers: list[int]  # of each of these, the neuron that pushes it most

    def has_match(self, fact: int) -> bool:
        """Whether the fact's answer is among the 8."""
        facts, _ = fact_stores.store()
        return int(facts.y[fact]) in [answer for answer, _ in self.pushed]


def _neuron(j: int) -> _Neuron:
    facts, store = fact_stores.store()
    hidden = _hidden()
    pushes = _pushes()
    h, push = hidden[:, j], pushes[j]
    strongest = h.argsort(descending=True)[:8].tolist()
    answers = push.argsort(descending=True)[:8].tolist()
    return _Neuron(
        j,
        key=store.keys[j].tolist(),
        fires=int((h > 0).sum()),
        strongest=[(fact, float(h[fact])) for fact in strongest],
        helpers=(hidden[strongest] * pushes[:, facts.y[strongest]].T).argmax(1).tolist(),
        pushed=[(answer, float(push[answer])) for answer in answers],
        pushers=pushes[:, answers].argmax(0).tolist(),
    )


def neuron(j: int = 0) -> Picture:
    """Neuron j of the store: its key, the facts that it responds to most, and the answers that its value pushes most."""
    _inside("the neuron", j, 0, NEURONS - 1)
    numbers = _neuron(j)
    title, words = _neuron_words(numbers)
    shapes = [*_heads_of_neuron(), *_key_as_cells(numbers.key)]
    for n in range(8):
        shapes += [_fact_of_neuron(numbers, n), _answer_of_neuron(numbers, n)]
    bottom = _NEURON_TOP + 8 * _LINE
    notes = (
        "Green and bold: the fact's answer is among those on the right.",
        "Press a fact for the neuron that helps it most, an answer for the one that pushes it most.",
    )
    shapes += [svg.text(LEFT, bottom + 18 + 17 * n, note, size=12, fill=style.MUTED) for n, note in enumerate(notes)]
    return Picture(title, words, svg.card(bottom + 51, title, words, *shapes))


def _neuron_words(numbers: _Neuron) -> tuple[str, str]:
    """Title and sentence."""
    first, answer = numbers.strongest[0][0], numbers.pushed[0][0]
    matches = sum(numbers.has_match(fact) for fact, _ in numbers.strongest)
    title = f"Neuron {numbers.j} fires for {numbers.fires} of {N_FACTS} facts"
    words = (
        f"Neuron {numbers.j} responds most strongly to {name(first)} and pushes “{LIKES[answer]}” most. Of the 8 facts on the "
        f"left, {matches} {'has' if matches == 1 else 'have'} an answer that is among the 8 on the right."
    )
    return title, words


def _heads_of_neuron() -> list[str]:
    heads = (
        (_KEY_LEFT, "key", "what it looks for"),
        (_FACTS_LEFT, "coefficient", "its 8 strongest facts"),
        (_ANSWERS_LEFT, "value", "the 8 answers it pushes most"),
    )
    shapes = []
    for x, head, what in heads:
        shapes += [svg.text(x, 62, head, size=14, bold=True), svg.text(x, 79, what, size=12, fill=style.MUTED)]
    return shapes


def _key_as_cells(key: list[float]) -> list[str]:
    """The key's entries, four in a line."""
    return [
        svg.rect(
            _KEY_LEFT + 34 * (i % 4), _NEURON_TOP + _LINE * (i // 4), 32, _LINE - 3,
            fill=style.diverging(weight, 1.5), stroke=style.TINT, tip=f"key {i}: {svg.label(weight, 3)}",
        )
        for i, weight in enumerate(key)
    ]  # fmt: skip


def _fact_of_neuron(numbers: _Neuron, n: int) -> str:
    """The fact that the neuron responds to most after n others, and its coefficient as a bar; pressed, the neuron that helps it most."""
    facts, _ = fact_stores.store()
    fact, coefficient = numbers.strongest[n]
    x, y = _FACTS_LEFT, _NEURON_TOP + _LINE * n
    matches = numbers.has_match(fact)
    ink = style.CHOSEN if matches else style.INK
    label = f"{name(fact)}: {LIKES[int(facts.y[fact])]}"
    end = x + 126 + 66 * coefficient / numbers.strongest[0][1]
    return svg.button(
        svg.rect(x - 4, y + 1, _ANSWERS_LEFT - x - 8, _LINE - 4, fill=style.PAPER, radius=4),
        svg.text(x, y + 15, label, size=12.5, bold=matches, fill=ink),
        _bar(x + 122, y + 4, coefficient, 66 / numbers.strongest[0][1]),
        svg.text(end, y + 15, svg.label(coefficient, 1), size=11.5, fill=style.MUTED),
        sets={"j": numbers.helpers[n]},
        name=f"{name(fact)}: its strongest neuron, {numbers.helpers[n]}",
    )


def _answer_of_neuron(numbers: _Neuron, n: int) -> str:
    """The answer that the neuron pushes most after n others, and how far as a bar; pressed, the neuron that pushes it most."""
    answer, push = numbers.pushed[n]
    x, y = _ANSWERS_LEFT, _NEURON_TOP + _LINE * n
    end = x + 66 + 84 * push / numbers.pushed[0][1]
    return svg.button(
        svg.rect(x - 4, y + 1, RIGHT - x + 4, _LINE - 4, fill=style.PAPER, radius=4),
        svg.text(x, y + 15, LIKES[answer], size=12.5),
        _bar(x + 62, y + 4, push, 84 / numbers.pushed[0][1]),
        svg.text(end, y + 15, svg.label(push, 1), size=11.5, fill=style.MUTED),
        sets={"j": numbers.pushers[n]},
        name=f"{LIKES[answer]}: the neuron that pushes it most, {numbers.pushers[n]}",
    )


@cache
def _leads(fact: int) -> tuple[list[float], list[int]]:
    """With 0, 1 … all neurons written, the strongest first: how far the right answer is ahead of the best other, and the best of all."""
    facts, store = fact_stores.store()
    h = _hidden()[fact]
    right = int(facts.y[fact])
    pushes = (h[:, None] * _pushes())[_strongest(fact)]  # [f, C]
    start = (facts.E[fact] + store.b2) @ facts.U.T
    logits = start + torch.cat([torch.zeros(1, len(LIKES)), pushes.cumsum(0)])  # [f + 1, C]
    others = logits.clone()
    others[:, right] = -torch.inf
    return (logits[:, right] - others.amax(1)).tolist(), logits.argmax(1).tolist()


class _Growing(NamedTuple):
    """One fact while more and more neurons write, the strongest first."""

    fact: int
    right: int  # its answer
    n_written: int  # neurons that write
    leads: list[float]  # with 0, 1 … all of them, of the right answer over the best other one
    best: int  # the answer with `n_written` of them

    @property
    def lead(self) -> float:
        return self.leads[self.n_written]

    @property
    def is_known(self) -> bool:
        return self.best == self.right


def _growing(fact: int, count: int) -> _Growing:
    facts, _ = fact_stores.store()
    leads, answers = _leads(fact)
    return _Growing(fact, int(facts.y[fact]), count, leads, answers[count])


def growing(fact: int = 0, count: int = 4) -> Picture:
    """How far the right answer of one fact is ahead of the best other one, when only its strongest neurons write; read off at `count`."""
    _inside("the fact", fact, 0, N_FACTS - 1)
    _inside("count", count, 0, NEURONS)
    numbers = _growing(fact, count)
    title, words = _growing_words(numbers)
    frame = plot.Frame(
        (0, NEURONS), LEADS, "neurons that write, the strongest first", "lead of the right answer over the best other one",
        tuple(range(0, NEURONS + 1, 16)), (-30, -20, -10, 0, 10, 20, 30, 40),
        top=104, bottom=364,
    )  # fmt: skip
    shapes = [
        _people(fact),
        *_curve_of_leads(numbers, frame),
        *_lead_at_count(numbers, frame),
    ]
    return Picture(title, words, svg.card(416, title, words, *shapes))


def _growing_words(numbers: _Growing) -> tuple[str, str]:
    """Title and sentence."""
    lead = numbers.lead
    title = f"{plural(numbers.n_written, 'neuron')} written: the answer is “{LIKES[numbers.best]}”"
    words = (
        f"{name(numbers.fact)} likes {LIKES[numbers.right]}. With {numbers.n_written} of {NEURONS} neurons the right answer is "
        f"{svg.label(abs(lead), 1)} {'ahead of' if lead > 0 else 'behind'} the best other one, "
        f"so the fact is {'known' if numbers.is_known else 'not known'}."
    )
    return title, words


def _curve_of_leads(numbers: _Growing, frame: plot.Frame) -> list[str]:
    """The lead over the number of neurons, strong up to those that write."""
    count = numbers.n_written
    counts = range(NEURONS + 1)
    leads = np.array(numbers.leads)
    written = leads[: count + 1]
    return [
        frame.area((0, NEURONS), LEADS[0], 0, style.pale(style.LOST, 0.12)),
        frame.axes(),
        frame.area(counts[: count + 1], 0, np.maximum(written, 0), style.pale(style.CHOSEN)),
        frame.curve(counts, leads, plot.Look(style.NEUTRAL, width=1.6)),
        frame.curve(counts[: count + 1], written, plot.Look(style.CHOSEN, width=2.8)),
        frame.curve((count, count), LEADS, plot.Look(style.NEUTRAL, (3, 4), 1)),
        svg.text(frame.right - 8, frame.bottom - 8, "another answer is ahead", size=12.5, fill=style.LOST, anchor="end"),
    ]  # fmt: skip


def _lead_at_count(numbers: _Growing, frame: plot.Frame) -> list[str]:
    """The answer and its lead, and the knob."""
    count, lead = numbers.n_written, numbers.lead
    ink = style.CHOSEN if numbers.is_known else style.LOST
    inset, anchor = (12, "start") if count < NEURONS / 2 else (-12, "end")
    answer = f"“{LIKES[numbers.best]}” {svg.label(lead, 1)}"
    x = frame.across(count) + inset
    return [
        svg.text(x, frame.top + 12, answer, size=13.5, bold=True, fill=ink, anchor=anchor, halo=True),
        svg.handle(
            *frame.at(count, min(max(lead, LEADS[0]), LEADS[1])),
            drags={"count": svg.across((frame.left, frame.right), frame.x)},
            name="neurons that write",
            says=f"{count}, a lead of {svg.label(lead)}",
            fill=ink,
        ),
    ]


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
        y = head + row * n
        now = float(logits[answer])
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


_KNOWN_LEFT, _KNOWN_TOP = 96.0, 92.0  # of the table's cells
_KNOWN_WIDE, _KNOWN_TALL = 74.0, 36.0


class _Known(NamedTuple):
    """How many of a number of facts FFNs of one width know."""

    n_facts: int
    width: int
    shares: list[float]  # of the facts, with each seed

    @property
    def mean(self) -> float:
        return sum(self.shares) / len(self.shares)


def capacity(count: int = 256, width: int = 16) -> Picture:
    """The share of `count` facts that FFNs of width `width` know, in the table of all counts and widths."""
    if count not in FACTS or width not in WIDTHS:
        raise ValueError(f"there are runs for {FACTS} facts and widths {WIDTHS}, not for {count} and {width}")
    title, words = _capacity_words(_Known(count, width, fact_stores.accuracy(count, width)))
    left, top, wide, tall = _KNOWN_LEFT, _KNOWN_TOP, _KNOWN_WIDE, _KNOWN_TALL
    shapes = [
        svg.text(left + wide * len(WIDTHS) / 2, top - 32, "d_ff", size=13, bold=True, anchor="middle"),
        svg.text(left - 14, top - 12, "facts", size=13, bold=True, anchor="end"),
    ]
    for column, f in enumerate(WIDTHS):
        middle = left + wide * (column + 0.5)
        shapes.append(svg.text(middle, top - 12, str(f), size=13, anchor="middle", fill=style.MUTED))
    for row, n in enumerate(FACTS):
        shapes.append(svg.text(left - 14, top + tall * row + 23, str(n), size=13, anchor="end", fill=style.MUTED))
        shapes += [_cell_of_known(_Known(n, f, fact_stores.accuracy(n, f))) for f in WIDTHS]
    x, y = left + wide * WIDTHS.index(width), top + tall * FACTS.index(count)
    shapes.append(svg.rect(x - 1, y - 1, wide, tall, stroke=style.INK, stroke_width=2.6, radius=3))
    return Picture(title, words, svg.card(top + tall * len(FACTS) + 18, title, words, *shapes))


def _capacity_words(known: _Known) -> tuple[str, str]:
    """Title and sentence."""
    count, width, shares, mean = known.n_facts, known.width, known.shares, known.mean
    title = f"{count} facts, d_ff = {width}: {round(100 * mean)} % known"
    bits = fact_stores.bits_per_weight(count, width, mean)
    fit = max((n for n in FACTS if min(fact_stores.accuracy(n, width)) >= 0.99), default=0)
    most = f"The most that this width knows completely here is {fit}."
    if not fit:
        most = "This width knows none of these sets completely."
    words = (
        f"Of {count} facts, FFNs with {width} neurons know {round(100 * mean)} % after training ({len(shares)} seeds: "
        f"{round(100 * min(shares))} to {round(100 * max(shares))} %): {round(mean * count)} facts, {bits:.1f} bits for each weight. {most}"
    )
    return title, words


def _cell_of_known(known: _Known) -> str:
    """The mean of the seeds, to be pressed."""
    count, width, share = known.n_facts, known.width, known.mean
    x, y = _KNOWN_LEFT + _KNOWN_WIDE * WIDTHS.index(width), _KNOWN_TOP + _KNOWN_TALL * FACTS.index(count)
    ink = style.PAPER if share > 0.55 else style.INK
    fill = style.diverging(share, 1.0)
    tip = f"{count} facts, d_ff {width}: {svg.label(share, 3)}"
    percent = f"{round(100 * share)} %"
    return svg.button(
        svg.rect(x, y, _KNOWN_WIDE - 2, _KNOWN_TALL - 2, fill=fill, stroke=style.TINT, tip=tip),
        svg.text(x + _KNOWN_WIDE / 2 - 1, y + 23, percent, size=13, anchor="middle", fill=ink),
        sets={"count": count, "width": width},
        name=f"{count} facts, d_ff {width}",
    )


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


_PLACES_TOP = _BELOW + 20
_SQUARES_TOP = _PLACES_TOP + 60


class _Knocked(NamedTuple):
    """The store without some neurons of one fact."""

    fact: int
    right: int  # its answer
    m: int  # neurons that are knocked out
    at_random: bool
    before: torch.Tensor  # [C]: the fact's logits with all neurons
    after: torch.Tensor  # [C]: and without these
    is_known: list[bool]  # of each fact, without these neurons
    order: list[int]  # in which the neurons are knocked out
    seen: int  # the place in `order` of the neuron whose facts are shown, or UNSEEN
    fires: list[bool]  # of each fact, whether that neuron fires for it

    @property
    def others_lost(self) -> int:
        return sum(1 for n in range(N_FACTS) if n != self.fact and not self.is_known[n])

    @property
    def seen_neuron(self) -> int | None:
        """The neuron whose facts are shown."""
        return self.order[self.seen] if 0 <= self.seen < len(self.order) else None


def _knocked(fact: int, m: int, at_random: bool, seen: int) -> _Knocked:
    facts, _ = fact_stores.store()
    after = remove_neurons(fact, m, at_random)
    order = _order(fact, at_random)[:MAX_PLACES].tolist()
    fires = [False] * N_FACTS
    if 0 <= seen < len(order):
        fires = (_hidden()[:, order[seen]] > 0).tolist()
    return _Knocked(
        fact,
        int(facts.y[fact]),
        m,
        at_random,
        before=_logits()[fact],
        after=after[fact],
        is_known=(after.argmax(1) == facts.y).tolist(),
        order=order,
        seen=seen,
        fires=fires,
    )


def knocked(fact: int = 0, m: int = 1, at_random: bool = False, seen: int = UNSEEN) -> Picture:
    """One fact's answers with m neurons knocked out, and which of all facts are lost with them.

    `seen` is a place in the order of knocking out: the facts for which that neuron fires are green.
    """
    _inside("the fact", fact, 0, N_FACTS - 1)
    _inside("m", m, 0, MAX_PLACES)
    if seen not in PLACES:
        raise ValueError(f"seen must be a place from 0 to {MAX_PLACES - 1}, or {UNSEEN} for none, not {seen}")
    numbers = _knocked(fact, m, at_random, seen)
    title, words = _knocked_words(numbers)
    shapes = [
        _people(fact),
        _answers(numbers.after, numbers.before, numbers.right),
        *_neurons_in_order(numbers),
        *_facts_as_squares(numbers),
    ]
    return Picture(title, words, svg.card(_SQUARES_TOP + 154, title, words, *shapes))


def _knocked_words(numbers: _Knocked) -> tuple[str, str]:
    """Title and sentence."""
    fact, m, others = numbers.fact, numbers.m, numbers.others_lost
    neurons = "neuron" if m == 1 else "neurons"
    fate = "kept" if numbers.is_known[fact] else "lost"
    which = "random" if numbers.at_random else "top"
    title = f"Without {m} {which} {neurons}: {name(fact)} {fate}, {plural(others, 'other')} lost"
    if numbers.at_random:
        some = "one neuron that fires" if m == 1 else f"{m} neurons that fire"
        removal = f"{some} for it, chosen at random,"
    else:
        removal = "its strongest neuron" if m == 1 else f"{m} of its strongest neurons"
    words = (
        f"{name(fact)} likes {LIKES[numbers.right]}. Without {removal} the store says “{LIKES[int(numbers.after.argmax())]}”; "
        f"of the {N_FACTS - 1} other facts {others} {'is' if others == 1 else 'are'} lost."
    )
    if numbers.seen_neuron is not None:
        lost = sum(1 for fires, known in zip(numbers.fires, numbers.is_known, strict=True) if fires and not known)
        words += f" Neuron {numbers.seen_neuron} fires for {sum(numbers.fires)} facts, {lost} of them lost."
    return title, words


def _neurons_in_order(numbers: _Knocked) -> list[str]:
    """The neurons in the order in which they are knocked out, to be pressed."""
    y, pitch = _PLACES_TOP + 10, (RIGHT - LEFT + 4) / MAX_PLACES
    how = "in a random order" if numbers.at_random else "the strongest first"
    note = f"neurons that fire for {name(numbers.fact)}, {how}; purple: knocked out. Press one to see its facts."
    shapes = [svg.text(LEFT, _PLACES_TOP, note, size=12, fill=style.MUTED)]
    for place, j in enumerate(numbers.order):
        x, is_out, mine = LEFT + pitch * place, place < numbers.m, place == numbers.seen
        fill, ink = (style.LOST, style.PAPER) if is_out else (style.TINT, style.INK)
        edge = style.INK if mine else "none"
        shapes.append(
            svg.button(
                svg.rect(x, y, pitch - 4, 24, radius=5, fill=fill, stroke=edge, stroke_width=2.4),
                svg.text(x + (pitch - 4) / 2, y + 16.5, str(j), size=12.5, anchor="middle", bold=mine, fill=ink),
                sets={"seen": UNSEEN if mine else place},
                name=f"neuron {j}{', knocked out' if is_out else ''}{', seen' if mine else ''}",
            )
        )
    return shapes


def _facts_as_squares(numbers: _Knocked) -> list[str]:
    """All facts, 64 in a line: the lost ones, and those for which the neuron that is seen fires."""
    top, side, columns = _SQUARES_TOP, 8.4, 64
    note = f"all {N_FACTS} facts, a square each; purple and filled: lost"
    if numbers.seen_neuron is not None:
        note += f"; green: neuron {numbers.seen_neuron} fires"
    shapes = [svg.text(LEFT, top, note, size=12, fill=style.MUTED)]
    for n, (is_known, fires) in enumerate(zip(numbers.is_known, numbers.fires, strict=True)):
        x, y = LEFT + 30 + side * (n % columns), top + 14 + (side + 8) * (n // columns)
        fill = style.LOST if not is_known else style.CHOSEN if fires else style.TINT
        edge, width = style.RULE if is_known else style.LOST, 0.6
        if n == numbers.fact:
            edge, width = style.INK, 2
        shapes.append(svg.rect(x, y, side - 2, side + 4, fill=fill, stroke=edge, stroke_width=width))
    return shapes
