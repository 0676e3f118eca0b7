"""The figure of the little world in notebook 06: a neuron that is written by hand into the FFN of its small Transformer."""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

import torch

from ffnlab.course import toy_transformer, world
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

__all__ = [
    "ANY",
    "MOOD_RULES",
    "NEW_WORDS",
    "PLACE_RULES",
    "STRENGTHS",
    "WEATHER_RULES",
    "rule",
]

LEFT = svg.MARGIN
ANY = "any"  # in a rule: it may be either
PLACE_RULES, WEATHER_RULES, MOOD_RULES = ((*pair, ANY) for pair in world.ATTRIBUTES)
NEW_WORDS = ("into", "about")  # that a neuron written by hand makes the model say
STRENGTHS = tuple(range(0, 31, 2))
CORNERS = tuple(itertools.product((True, False), repeat=3))  # water, cold, spunky


class _Wishes(NamedTuple):
    """What the model makes of every held-out wish."""

    x: torch.Tensor  # [B, T, d]: the stream after attention
    scores: torch.Tensor  # [B, T, V]
    words: torch.Tensor  # [B, T]: that it says
    corners: torch.Tensor  # [B]: each wish's place in CORNERS


@cache
def _wishes() -> _Wishes:
    model = toy_transformer.load()
    scenes = world.scenes(held_out=True)
    x = model.gather(toy_transformer.tensor([world.wish(scene)[:-1] for scene in scenes]))
    scores = model.say(x, model.hidden(x))
    corners = torch.tensor([CORNERS.index(scene.attributes) for scene in scenes])
    return _Wishes(x, scores, scores.argmax(-1), corners)


class _Effect(NamedTuple):
    """What a neuron of each of STRENGTHS does."""

    say: list[list[int]]  # [strengths, 8]: in how many wishes of each corner the model says the word at their way
    changes: list[list[int]]  # [strengths, 8]: in how many it says another word there than before
    elsewhere: list[int]  # [strengths]: how many words change at other places


@cache
def _effect(conditions: toy_transformer.Rule, word: str, one_is_enough: bool) -> _Effect:
    model = toy_transformer.load()
    wishes = _wishes()
    way = world.WAY - 1
    neuron = toy_transformer.neuron_for_rule(model, conditions, word, 1.0, one_is_enough)
    h = torch.relu(wishes.x @ neuron.key + neuron.bias)  # [B, T]
    sentence, place = h.nonzero().T  # where it fires
    push = h[sentence, place, None] * (model.scores.weight @ neuron.value)  # [fired, V], at strength 1
    before = wishes.scores[sentence, place]
    words = wishes.words.clone()
    effect = _Effect([], [], [])
    for strength in STRENGTHS:
        words[sentence, place] = (before + strength * push).argmax(-1)
        is_different = words != wishes.words
        effect.say.append(_count_by_corner(words[:, way] == world.NUMBER[word]))
        effect.changes.append(_count_by_corner(is_different[:, way]))
        effect.elsewhere.append(int(is_different.sum() - is_different[:, way].sum()))
    return effect


def _count_by_corner(which: torch.Tensor) -> list[int]:
    """How many of these wishes [B] there are of each corner."""
    counts: list[int] = torch.bincount(_wishes().corners[which], minlength=len(CORNERS)).tolist()
    return counts


def _holds(conditions: toy_transformer.Rule, corner: tuple[bool, ...]) -> bool:
    return all(value in (None, has) for value, has in zip(conditions, corner, strict=True))


class _Written(NamedTuple):
    """A neuron written by hand, and what it does to all held-out wishes."""

    conditions: toy_transformer.Rule
    one_is_enough: bool
    word: str
    strength: int
    effect: _Effect
    in_corner: list[int]  # wishes of each corner
    is_in_rule: list[bool]  # of each corner, whether the rule holds there
    n_words: int  # that the model says in all wishes

    @property
    def now(self) -> int:
        """The place of the strength in STRENGTHS."""
        return STRENGTHS.index(self.strength)

    def where_it_holds(self, counts: list[int]) -> int:
        """Of counts by corner, those where the rule holds."""
        return sum(itertools.compress(counts, self.is_in_rule))

    def where_it_does_not(self, counts: list[int]) -> int:
        return sum(counts) - self.where_it_holds(counts)


def _written(attributes: tuple[str, ...], word: str, strength: int, one_is_enough: bool) -> _Written:
    conditions: toy_transformer.Rule = tuple(
        None if value == ANY else value == pair[0] for value, pair in zip(attributes, world.ATTRIBUTES, strict=True)
    )
    wishes = _wishes()
    return _Written(
        conditions,
        one_is_enough,
        word,
        strength,
        _effect(conditions, word, one_is_enough),
        in_corner=torch.bincount(wishes.corners, minlength=len(CORNERS)).tolist(),
        is_in_rule=[_holds(conditions, corner) for corner in CORNERS],
        n_words=wishes.words[:, 1:].numel(),
    )


def rule(
    place: str = ANY,
    weather: str = "cold",
    mood: str = "timid",
    word: str = "about",
    strength: int = 20,
    one_is_enough: bool = False,
) -> Picture:
    """A neuron written into the model by hand: where the rule holds, it raises the score of a word at the place of “over” or “into”.

    Shown for all held-out wishes, in the eight kinds of scene: how many say that word now. `place`, `weather` and `mood` are an
    attribute or ANY; with `one_is_enough` the neuron's threshold asks for one of them, and not for all.
    """
    attributes = (place, weather, mood)
    for attribute, pair in zip(attributes, world.ATTRIBUTES, strict=True):
        if attribute not in (*pair, ANY):
            raise ValueError(f"a rule asks for {pair[0]}, {pair[1]} or {ANY}, not for {attribute!r}")
    if word not in NEW_WORDS or strength not in STRENGTHS:
        raise ValueError(
            f"the word must be {' or '.join(NEW_WORDS)}, and the strength one of {STRENGTHS}, not {word!r}, {strength}"
        )
    written = _written(attributes, word, strength, one_is_enough)
    title, words = _rule_words(written)
    note = f"In each box: the share that says “{word}”, without the neuron → with it. Framed: the rule holds."
    shapes = [
        _draw_buttons(attributes, word),
        svg.text(LEFT, 97, note, size=12, fill=style.MUTED),
        *(_draw_corner(written, n) for n in range(len(CORNERS))),
        *_curves_over_strength(written),
    ]
    return Picture(title, words, svg.card(398, title, words, *shapes))


def _rule_words(written: _Written) -> tuple[str, str]:
    """Title and sentence."""
    effect, now, word = written.effect, written.now, written.word
    count = written.where_it_holds(written.in_corner)
    rest = written.where_it_does_not(written.in_corner)
    before = written.where_it_holds(effect.say[0])
    after = written.where_it_holds(effect.say[now])
    others = written.where_it_does_not(effect.changes[now])
    name = toy_transformer.in_words(written.conditions) or "everywhere"
    threshold = ", one is enough" if written.one_is_enough else ""
    title = f"{after} of {count} say “{word}”, {others} of {rest} others change"
    if not written.strength:
        title = f"Without the neuron {before} of {count} say “{word}”"  # what else would change is the guess above the figure
    words = (
        f"Neuron for “{name}”{threshold}, strength {written.strength}: {after} of {count} such new sentences go on "
        f"with “{word}” ({before} without it), and {others} of {rest} others change. In other places, {effect.elsewhere[now]} of "
        f"{written.n_words:,} words change."
    )
    return title, words


def _draw_corner(written: _Written, n: int) -> str:
    """One of the eight kinds of scene: the share of its wishes that say the word, without the neuron and with it."""
    left, top, wide, tall = 84.0, 132.0, 134.0, 46.0
    column, row = divmod(n, 2)
    x, y = left + wide * column, top + tall * row
    count, say, say_before = written.in_corner[n], written.effect.say[written.now][n], written.effect.say[0][n]
    share, old, long = say / count, say_before / count, wide - 26
    shapes = []
    if row == 0:
        kind = toy_transformer.in_words((*CORNERS[n][:2], None))
        shapes.append(svg.text(x + wide / 2 - 3, top - 8, kind, size=12.5, anchor="middle"))
    if column == 0:
        shapes.append(svg.text(left - 10, y + 25, world.ATTRIBUTES[2][row], size=12.5, anchor="end"))
    is_in_rule = written.is_in_rule[n]
    edge, width = (style.INK, 2.2) if is_in_rule else (style.RULE, 1)
    fill = style.CHOSEN if is_in_rule else style.GHOST if share == old else style.LOST
    tip = f"{say} of {count} say “{written.word}”, {say_before} without it"
    shapes += [
        svg.rect(x, y, wide - 6, tall - 6, radius=5, fill=style.PAPER, stroke=edge, stroke_width=width, tip=tip),
        svg.text(x + 10, y + 17, f"{100 * old:.0f} %  →", size=12.5, fill=style.MUTED),
        svg.text(x + wide - 16, y + 17, f"{100 * share:.0f} %", size=13, bold=is_in_rule, anchor="end"),
        svg.rect(x + 10, y + 25, long, 8, fill=style.TINT),
        svg.rect(x + 10, y + 25, long * share, 8, fill=fill),
        svg.rect(x + 10, y + 25, long * old, 8, stroke=style.MUTED, dash="3 2") if old else "",
    ]
    return "".join(shapes)


def _curves_over_strength(written: _Written) -> list[str]:
    """What the neuron does where the rule holds and where it doesn't, over its strength, with a knob."""
    frame = plot.Frame(
        (0, STRENGTHS[-1]), (-0.04, 1.08), "strength: by how much the neuron raises the word's score", "", (0, 5, 10, 15, 20, 25, 30),
        ((0, "0 %"), (0.5, "50 %"), (1, "100 %")), top=262, bottom=346,
    )  # fmt: skip
    effect, strength, now = written.effect, written.strength, written.now
    count = written.where_it_holds(written.in_corner)
    rest = max(written.where_it_does_not(written.in_corner), 1)
    rising = [written.where_it_holds(say) / count for say in effect.say]
    side_effects = [written.where_it_does_not(changes) / rest for changes in effect.changes]
    looks = {
        f"say “{written.word}” where the rule holds": plot.Look(style.CHOSEN, width=2.8),
        "change where it doesn't": plot.Look(style.LOST, (5, 3), 2),
    }
    # As far as the strength has been raised: what comes after that is for the hand to find out.
    curves = [
        frame.curve(STRENGTHS[: now + 1], ys[: now + 1], look)
        for ys, look in zip((rising, side_effects), looks.values(), strict=True)
        if now
    ]
    knob = svg.handle(
        *frame.at(strength, rising[now]),
        drags={"strength": svg.across((frame.left, frame.right), frame.x)},
        name="strength of the neuron",
        says=f"{strength}, {written.where_it_holds(effect.say[now])} of {count}",
        fill=style.CHOSEN,
    )
    return [frame.legend(looks, "above"), frame.axes(), *curves, knob]


def _draw_buttons(attributes: tuple[str, ...], word: str) -> str:
    """The rule as words to be pressed: pressed again, an attribute may be either."""
    x, wide, shapes = LEFT, 60.0, []
    groups = (*zip(("place", "weather", "mood"), world.ATTRIBUTES, attributes, strict=True), ("word", NEW_WORDS, word))
    for parameter, options, now in groups:
        if parameter == "word":
            shapes.append(svg.text(x - 2, 67, "→ say", size=13, fill=style.MUTED))
            x += 46
        for option in options:
            here = option == now
            after = option if not here or parameter == "word" else ANY
            box = svg.rect(x, 48, wide, 28, radius=6, fill=style.INK if here else style.TINT)
            ink = style.PAPER if here else style.INK
            label = svg.text(x + wide / 2, 66.5, option, size=13, anchor="middle", fill=ink)
            says = f"the neuron says “{option}”" if parameter == "word" else f"{parameter}: {after}"
            shapes.append(svg.button(box, label, sets={parameter: after}, name=says))
            x += wide + 4
        x += 12
    return "".join(shapes)
