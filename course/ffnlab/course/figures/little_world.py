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
    """What the model makes of every held-out wish: the stream after attention [B, T, d], its scores [B, T, V], and the words it says [B, T]."""

    x: torch.Tensor
    scores: torch.Tensor
    words: torch.Tensor
    corners: torch.Tensor  # [B], each wish's place in CORNERS


@cache
def _wishes() -> _Wishes:
    model, scenes = toy_transformer.load(), world.scenes(held_out=True)
    x = model.gather(toy_transformer.tensor([world.wish(scene)[:-1] for scene in scenes]))
    scores = model.say(x, model.hidden(x))
    corners = torch.tensor([CORNERS.index(scene.attributes) for scene in scenes])
    return _Wishes(x, scores, scores.argmax(-1), corners)


class _Effect(NamedTuple):
    """What a neuron of each of STRENGTHS does: in how many wishes of each corner the model says the word at their way, and says another
    than before [strengths, 8]; and how many words change elsewhere [strengths]."""

    say: list[list[int]]
    changes: list[list[int]]
    elsewhere: list[int]


@cache
def _effect(conditions: toy_transformer.Rule, word: str, one_is_enough: bool) -> _Effect:
    model, wishes, at = toy_transformer.load(), _wishes(), world.WAY - 1
    neuron = toy_transformer.neuron_for_rule(model, conditions, word, 1.0, one_is_enough)
    h = torch.relu(wishes.x @ neuron.key + neuron.bias)  # [B, T]
    sentence, place = h.nonzero().T  # where it fires
    push = h[sentence, place, None] * (model.scores.weight @ neuron.value)  # [fired, V], at strength 1
    before, words = wishes.scores[sentence, place], wishes.words.clone()
    effect = _Effect([], [], [])
    for strength in STRENGTHS:
        words[sentence, place] = (before + strength * push).argmax(-1)
        is_different = words != wishes.words
        for counts, which in ((effect.say, words[:, at] == world.NUMBER[word]), (effect.changes, is_different[:, at])):
            counts.append(torch.bincount(wishes.corners[which], minlength=len(CORNERS)).tolist())
        effect.elsewhere.append(int(is_different.sum() - is_different[:, at].sum()))
    return effect


def _holds(conditions: toy_transformer.Rule, corner: tuple[bool, ...]) -> bool:
    return all(value in (None, has) for value, has in zip(conditions, corner, strict=True))


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
    conditions: toy_transformer.Rule = tuple(
        None if value == ANY else value == pair[0] for value, pair in zip(attributes, world.ATTRIBUTES, strict=True)
    )
    wishes, effect, now = _wishes(), _effect(conditions, word, one_is_enough), STRENGTHS.index(strength)
    each = torch.bincount(wishes.corners, minlength=len(CORNERS)).tolist()
    is_in_rule = [_holds(conditions, corner) for corner in CORNERS]

    def where_it_holds(counts: list[int]) -> int:
        return sum(itertools.compress(counts, is_in_rule))

    def elsewhere(counts: list[int]) -> int:
        return sum(counts) - where_it_holds(counts)

    count, rest = where_it_holds(each), elsewhere(each)
    before, after, others = (
        where_it_holds(effect.say[0]),
        where_it_holds(effect.say[now]),
        elsewhere(effect.changes[now]),
    )
    title = f"{after} of {count} say “{word}”, {others} of {rest} others change"
    name = toy_transformer.in_words(conditions) or "everywhere"
    sentence = (
        f"Neuron for “{name}”{', one is enough' if one_is_enough else ''}, strength {strength}: {after} of {count} such new sentences go on "
        f"with “{word}” ({before} without it), and {others} of {rest} others change. In other places, {effect.elsewhere[now]} of "
        f"{wishes.words[:, 1:].numel():,} words change."
    )
    note = f"of each kind, the share that says “{word}”: without the neuron → with it; framed: where the rule holds"
    shapes = [_draw_buttons(attributes, word), svg.text(LEFT, 97, note, size=12, fill=style.MUTED)]
    left, top, wide, tall = 84.0, 132.0, 134.0, 46.0
    for n, corner in enumerate(CORNERS):
        column, row = n // 2, n % 2
        x, y = left + wide * column, top + tall * row
        if row == 0:
            kind = toy_transformer.in_words((*corner[:2], None))
            shapes.append(svg.text(x + wide / 2 - 3, top - 8, kind, size=12.5, anchor="middle"))
        if column == 0:
            shapes.append(svg.text(left - 10, y + 25, world.ATTRIBUTES[2][row], size=12.5, anchor="end"))
        share, old = effect.say[now][n] / each[n], effect.say[0][n] / each[n]
        long = wide - 26
        shapes += [
            svg.rect(
                x, y, wide - 6, tall - 6, radius=5, fill=style.PAPER, stroke=style.INK if is_in_rule[n] else style.RULE,
                stroke_width=2.2 if is_in_rule[n] else 1, tip=f"{effect.say[now][n]} of {each[n]} say “{word}”, {effect.say[0][n]} without it",
            ),
            svg.text(x + 10, y + 17, f"{100 * old:.0f} %  →", size=12.5, fill=style.MUTED),
            svg.text(x + wide - 16, y + 17, f"{100 * share:.0f} %", size=13, bold=is_in_rule[n], anchor="end"),
            svg.rect(x + 10, y + 25, long, 8, fill=style.TINT),
            svg.rect(x + 10, y + 25, long * share, 8, fill=style.CHOSEN if is_in_rule[n] else style.GHOST if share == old else style.LOST),
            svg.rect(x + 10, y + 25, long * old, 8, stroke=style.MUTED, dash="3 2") if old else "",
        ]  # fmt: skip
    frame = plot.Frame(
        (0, STRENGTHS[-1]), (-0.04, 1.08), "strength: by how much the neuron raises the word's score", "", (0, 5, 10, 15, 20, 25, 30),
        ((0, "0 %"), (0.5, "50 %"), (1, "100 %")), top=262, bottom=346,
    )  # fmt: skip
    rising = [where_it_holds(say) / count for say in effect.say]
    looks = {
        f"say “{word}” where the rule holds": plot.Look(style.CHOSEN, width=2.8),
        "change where it doesn't": plot.Look(style.LOST, (5, 3), 2),
    }
    side_effects = [elsewhere(counts) / max(rest, 1) for counts in effect.changes]
    curves = [frame.curve(STRENGTHS, ys, look) for ys, look in zip((rising, side_effects), looks.values(), strict=True)]
    knob = svg.handle(
        *frame.at(strength, rising[now]),
        drags={"strength": svg.across((frame.left, frame.right), frame.x)},
        name="strength of the neuron",
        says=f"{strength}, {after} of {count}",
        fill=style.CHOSEN,
    )
    shapes += [frame.legend(looks, "above"), frame.axes(), *curves, knob]
    return Picture(title, sentence, svg.card(398, title, sentence, *shapes))


def _draw_buttons(attributes: tuple[str, ...], word: str) -> str:
    """The rule as words to be pressed: pressed again, an attribute may be either."""
    x, wide, shapes = LEFT, 60.0, []
    groups = (*zip(("place", "weather", "mood"), world.ATTRIBUTES, attributes, strict=True), ("word", NEW_WORDS, word))
    for parameter, pair, now in groups:
        if parameter == "word":
            shapes.append(svg.text(x - 2, 67, "→ say", size=13, fill=style.MUTED))
            x += 46
        for one in pair:
            here = one == now
            after = one if not here or parameter == "word" else ANY
            box = svg.rect(x, 48, wide, 28, radius=6, fill=style.INK if here else style.TINT)
            ink = style.PAPER if here else style.INK
            label = svg.text(x + wide / 2, 66.5, one, size=13, anchor="middle", fill=ink)
            says = f"the neuron says “{one}”" if parameter == "word" else f"{parameter}: {after}"
            shapes.append(svg.button(box, label, sets={parameter: after}, name=says))
            x += wide + 4
        x += 12
    return "".join(shapes)
