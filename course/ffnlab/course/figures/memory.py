"""The figures of notebook 06: one neuron's key, coefficients and value; facts by width."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch

from ffnlab.course.experiments import fact_stores
from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
FACTS, WIDTHS = fact_stores.FACTS, fact_stores.WIDTHS
NEURONS, N_FACTS = fact_stores.STORE_WIDTH, fact_stores.STORE_FACTS
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "ri")
LIKES = (
    "figs", "plums", "pears", "dates", "limes", "kiwis", "nuts", "leeks", "rice", "oats", "rye", "corn", "peas", "beans",
    "beets", "kale", "soup", "bread", "cake", "pies", "tarts", "jam", "honey", "mint", "sage", "thyme", "tea", "milk",
    "cream", "cheese", "eggs", "tofu", "chess", "cards", "darts", "golf", "judo", "polo", "rugby", "skiing", "surfing",
    "tennis", "yoga", "jazz", "opera", "blues", "drums", "harps", "flutes", "pianos", "cats", "dogs", "hens", "owls",
    "bees", "frogs", "snow", "rain", "fog", "sun", "hills", "lakes", "caves", "boats",
)  # fmt: skip


def name(fact: int) -> str:
    """The invented person that fact number `fact` is about."""
    return "".join(SYLLABLES[fact // 8**place % 8] for place in (2, 1, 0)).capitalize()


# The people of the board, as mixed as all facts are.
PEOPLE = [(name(fact), fact) for fact in (40, 85, 98, 113, 145, 204, 214, 484)]


def _inside(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{what} must be from {low} to {high}, not {value}")


@cache
def _hidden() -> torch.Tensor:
    facts, store = fact_stores.store()
    return torch.relu(facts.E @ store.keys.T + store.b1)  # [N, f]


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
