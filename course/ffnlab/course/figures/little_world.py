"""The figures of the little world, for notebooks 00, 02 and 06: what its small Transformer says next, what its neurons fire for, and a
neuron written by hand."""

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
    "CREATURES",
    "MOOD_RULES",
    "NEW_WORDS",
    "PLACE_RULES",
    "QUESTIONS",
    "STRENGTHS",
    "WEATHERS",
    "WEATHER_RULES",
    "neurons",
    "next_word",
    "rule",
]

CREATURES = tuple(f"{mood} {creature}" for mood, creature in zip(world.MOODS, world.CREATURES, strict=True))
QUESTIONS = {"over or into?": world.WAY, "glad or sorry?": world.FEELING, "about the …?": world.SIGHT}
PLACES, WEATHERS = world.PLACES, world.WEATHERS
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
BARS = 4  # words whose probability is drawn
ANY = "any"  # in a rule: it may be either
PLACE_RULES, WEATHER_RULES, MOOD_RULES = ((*pair, ANY) for pair in world.ATTRIBUTES)
NEW_WORDS = ("into", "about")  # that a neuron written by hand makes the model say
STRENGTHS = tuple(range(0, 31, 2))
CORNERS = tuple(itertools.product((True, False), repeat=3))  # water, cold, spunky


def _scene(place: str, weather: str, creature: str) -> world.Scene:
    for name, value, known in (
        ("place", place, PLACES),
        ("weather", weather, WEATHERS),
        ("creature", creature, CREATURES),
    ):
        if value not in known:
            raise ValueError(f"there is no {name} {value!r} in this world; choose {', '.join(known)}")
    return world.Scene(place, weather, *creature.split())


def next_word(
    place: str = "creek",
    weather: str = "cold",
    creature: str = "spunky dog",
    question: str = "over or into?",
    ffn: bool = True,
) -> Picture:
    """A sentence up to one of its words, and how probable the model finds what could come next, with its FFN or with the FFN off."""
    scene = _scene(place, weather, creature)
    if question not in QUESTIONS:
        raise ValueError(f"there is no question {question!r}; choose {', '.join(QUESTIONS)}")
    words = world.wish(scene)
    said, right = words[: QUESTIONS[question]], words[QUESTIONS[question]]
    found = toy_transformer.most_probable(toy_transformer.next_words(toy_transformer.load(), said, ffn), BARS)
    (first, most), (second, next_most) = found[:2]
    switch = "on" if ffn else "off"
    if most < 0.75:
        title = f"FFN {switch}: a coin toss, “{first}” or “{second}”"
    else:
        title = f"FFN {switch}: “{first}”, {_percent(most)} sure" + ("" if first == right else ", and wrong")
    start = f"The {place} was {weather} and the {creature} wanted to {words[world.VERB]} …"
    sentence = (
        f"“{start}”; {question} With the FFN {switch} the model gives “{first}” {_percent(most)} and “{second}” "
        f"{_percent(next_most)}; in this world “{right}” is right."
    )
    shapes = [_sentence(said, right), _machine(ffn)]
    top, pitch, start_x, longest = 178.0, 32.0, 330.0, 190.0
    shapes.append(svg.text(start_x, top - 20, "the next word", size=14, bold=True))
    for n, (word, share) in enumerate(found):
        y, mine = top + pitch * n, word == right
        shapes += [
            svg.rect(start_x, y - 10, longest, 20, fill=style.TINT, radius=3),
            svg.rect(start_x, y - 10, longest * share, 20, fill=style.CHOSEN if mine else style.LOST, radius=3),
            svg.text(start_x - 10, y + 5, word, size=14, anchor="end", bold=mine),
            svg.text(start_x + longest + 8, y + 5, _percent(share) + (" ✓" if mine else ""), size=13, bold=mine),
        ]
    return Picture(title, sentence, svg.card(308, title, sentence, *shapes))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _sentence(words: list[str], right: str) -> str:
    """The words as boxes in rows, and a dashed box for the one that is asked for."""
    x, y, shapes = LEFT, 54.0, []
    for n, word in enumerate([*words, "?"]):
        shown = word.capitalize() if n == 0 else word
        wide = 8.4 * len(shown) + 14
        if x + wide > RIGHT:
            x, y = LEFT, y + 36
        asked = n == len(words)
        told = word in (*PLACES, *WEATHERS, *world.MOODS)
        shapes += [
            svg.rect(
                x,
                y,
                wide,
                29,
                radius=6,
                fill=style.PAPER if asked else style.INK if told else style.TINT,
                stroke=style.INK if asked else "none",
                stroke_width=1.5,
                dash="4 3" if asked else "",
                tip=f"right is “{right}”" if asked else "",
            ),
            svg.text(x + wide / 2, y + 19.5, shown, size=14, anchor="middle", fill=style.PAPER if told else style.INK),
        ]
        x += wide + 5
    return "".join(shapes)


def _machine(ffn: bool) -> str:
    """The model as two boxes on a line: attention, and the FFN beside the line that goes on without it."""
    x, ink = 92.0, style.INK if ffn else style.NEUTRAL
    shapes = [
        svg.line(x, 288, x, 152, stroke=style.INK, width=2),
        svg.path([(x - 5, 158), (x, 149), (x + 5, 158)], stroke=style.INK, width=2),
        svg.rect(x - 52, 242, 104, 30, radius=6, fill=style.PAPER, stroke=style.INK, stroke_width=1.5),
        svg.text(x, 262, "attention", size=14, anchor="middle"),
        svg.path([(x, 224), (x + 84, 224), (x + 84, 210)], stroke=ink, width=2, dash="" if ffn else "3 5"),
        svg.path([(x + 84, 178), (x + 84, 166), (x, 166)], stroke=ink, width=2, dash="" if ffn else "3 5"),
        svg.rect(
            x + 52,
            180,
            64,
            30,
            radius=6,
            fill=style.CHOSEN if ffn else style.PAPER,
            stroke=ink,
            stroke_width=1.5,
            dash="" if ffn else "4 3",
        ),
        svg.text(x + 84, 200, "FFN", size=14, anchor="middle", bold=ffn, fill=style.PAPER if ffn else style.MUTED),
        svg.text(x + 124, 176, "on" if ffn else "off", size=13, bold=True, fill=style.INK if ffn else style.MUTED),
    ]
    return "".join(shapes)


@cache
def _named() -> tuple[list[toy_transformer.Name], torch.Tensor]:
    """The neurons with a good name, and the mean activation of each in the eight corners at its moment: [neurons, corners]."""
    model = toy_transformer.load()
    named = sorted(
        (name for name in toy_transformer.names(model) if name.good), key=lambda name: (name.moment, name.words)
    )
    means = []
    for corner in CORNERS:
        scenes = [scene for scene in toy_transformer.ALL_SCENES if scene.attributes == corner]
        hidden = model.hidden(model.gather(toy_transformer.tensor([world.wish(scene)[:-1] for scene in scenes])))
        means.append(torch.stack([hidden[:, name.moment - 1, name.neuron].mean() for name in named]))
    return named, torch.stack(means, dim=1)


def neurons(place: str = "creek", weather: str = "cold", creature: str = "spunky dog") -> Picture:
    """The neurons that have a name: how strongly each fires in the eight kinds of scene, and which word it pushes.

    The scene that is chosen has a frame, and the neurons that fire for it are printed bold.
    """
    scene = _scene(place, weather, creature)
    model, (named, means) = toy_transformer.load(), _named()
    acts = toy_transformer.activations(model, world.wish(scene)[:-1])
    firing = [acts[name.moment - 1, name.neuron].item() > toy_transformer.FIRES * name.largest for name in named]
    count = sum(firing)
    title = f"{count} of {len(named)} named neurons {'fires' if count == 1 else 'fire'} for the {creature}"
    listed = ", ".join(dict.fromkeys(f"“{name.words}”" for name, on in zip(named, firing, strict=True) if on))
    sentence = f"When the {place} is {weather}, the {creature} makes these neurons fire: {listed or 'none'}."
    top, row, left, cell = 106.0, 24.0, 222.0, 37.0
    shapes = []
    for n, corner in enumerate(CORNERS):
        x = left + cell * n
        for line, (value, pair) in enumerate(zip(corner, world.ATTRIBUTES, strict=True)):
            group = 2 ** (2 - line)  # one word over as many columns as share it
            if n % group == 0:
                middle = x + cell * group / 2
                ink = style.INK if value else style.MUTED  # else neighbours read as one word
                shapes.append(svg.text(middle, 62 + 17 * line, pair[not value], size=11, anchor="middle", fill=ink))
        if n == CORNERS.index(scene.attributes):
            frame = svg.rect(x - 1, top - 5, cell - 1, row * len(named) + 8, stroke=style.INK, stroke_width=2, radius=3)
    for n, (name, on) in enumerate(zip(named, firing, strict=True)):
        y = top + row * n
        candidates = world.WAYS if name.moment == world.WAY else world.FEELINGS
        pushes = toy_transformer.value_scores(model, name.neuron)
        word = max(candidates, key=lambda one: pushes[world.NUMBER[one]].item())
        shapes.append(svg.text(LEFT, y + 15, f"{name.neuron}", size=12, fill=style.MUTED))
        shapes.append(svg.text(LEFT + 26, y + 15, name.words, size=12.5, bold=on))
        for column, mean in enumerate(means[n].tolist()):
            fill = style.diverging(min(mean, name.largest), name.largest)
            tip = f"neuron {name.neuron}: {svg.label(mean)} on average"
            shapes.append(svg.rect(left + cell * column, y, cell - 3, row - 3, fill=fill, stroke=style.RULE, tip=tip))
        shapes.append(svg.text(left + cell * len(CORNERS) + 10, y + 15, f"→ {word}", size=13, bold=on))
    shapes += [
        frame,
        svg.text(LEFT, 62, "neuron", size=12, fill=style.MUTED),
        svg.text(LEFT + 26, 79, "its name", size=12, fill=style.MUTED),
        svg.text(left + cell * len(CORNERS) + 10, 79, "pushes", size=12, fill=style.MUTED),
    ]
    return Picture(title, sentence, svg.card(top + row * len(named) + 18, title, sentence, *shapes))


class _Wishes(NamedTuple):
    """What the model makes of every held-out wish: the stream after attention [B, T, d], its scores [B, T, V], and the words it says [B, T]."""

    x: torch.Tensor
    scores: torch.Tensor
    said: torch.Tensor
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
    changed: list[list[int]]
    elsewhere: list[int]


@cache
def _effect(asked: toy_transformer.Rule, word: str, one_is_enough: bool) -> _Effect:
    model, wishes, at = toy_transformer.load(), _wishes(), world.WAY - 1
    neuron = toy_transformer.neuron_for_rule(model, asked, word, 1.0, one_is_enough)
    h = torch.relu(wishes.x @ neuron.key + neuron.bias)  # [B, T]
    sentence, place = h.nonzero().T  # where it fires
    raised = h[sentence, place, None] * (model.scores.weight @ neuron.value)  # [fired, V], at strength 1
    before, said = wishes.scores[sentence, place], wishes.said.clone()
    effect = _Effect([], [], [])
    for strength in STRENGTHS:
        said[sentence, place] = (before + strength * raised).argmax(-1)
        changed = said != wishes.said
        for counts, which in ((effect.say, said[:, at] == world.NUMBER[word]), (effect.changed, changed[:, at])):
            counts.append(torch.bincount(wishes.corners[which], minlength=len(CORNERS)).tolist())
        effect.elsewhere.append(int(changed.sum() - changed[:, at].sum()))
    return effect


def _holds(asked: toy_transformer.Rule, corner: tuple[bool, ...]) -> bool:
    return all(value in (None, has) for value, has in zip(asked, corner, strict=True))


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
    chosen = (place, weather, mood)
    for asked, pair in zip(chosen, world.ATTRIBUTES, strict=True):
        if asked not in (*pair, ANY):
            raise ValueError(f"a rule asks for {pair[0]}, {pair[1]} or {ANY}, not for {asked!r}")
    if word not in NEW_WORDS or strength not in STRENGTHS:
        raise ValueError(
            f"the word must be {' or '.join(NEW_WORDS)}, and the strength one of {STRENGTHS}, not {word!r}, {strength}"
        )
    wanted: toy_transformer.Rule = tuple(
        None if asked == ANY else asked == pair[0] for asked, pair in zip(chosen, world.ATTRIBUTES, strict=True)
    )
    wishes, effect, now = _wishes(), _effect(wanted, word, one_is_enough), STRENGTHS.index(strength)
    each = torch.bincount(wishes.corners, minlength=len(CORNERS)).tolist()
    meant = [_holds(wanted, corner) for corner in CORNERS]

    def where_it_holds(counts: list[int]) -> int:
        return sum(itertools.compress(counts, meant))

    def elsewhere(counts: list[int]) -> int:
        return sum(counts) - where_it_holds(counts)

    count, rest = where_it_holds(each), elsewhere(each)
    before, after, others = (
        where_it_holds(effect.say[0]),
        where_it_holds(effect.say[now]),
        elsewhere(effect.changed[now]),
    )
    title = f"{after} of {count} say “{word}”, {others} of {rest} others change"
    name = toy_transformer.in_words(wanted) or "everywhere"
    sentence = (
        f"Neuron for “{name}”{', one is enough' if one_is_enough else ''}, strength {strength}: {after} of {count} such new sentences go on "
        f"with “{word}” ({before} without it), and {others} of {rest} others change. In other places, {effect.elsewhere[now]} of "
        f"{wishes.said[:, 1:].numel():,} words change."
    )
    note = f"of each kind, the share that says “{word}”: without the neuron → with it; framed: where the rule holds"
    shapes = [_pressed(chosen, word), svg.text(LEFT, 97, note, size=12, fill=style.MUTED)]
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
                x, y, wide - 6, tall - 6, radius=5, fill=style.PAPER, stroke=style.INK if meant[n] else style.RULE,
                stroke_width=2.2 if meant[n] else 1, tip=f"{effect.say[now][n]} of {each[n]} say “{word}”, {effect.say[0][n]} without it",
            ),
            svg.text(x + 10, y + 17, f"{100 * old:.0f} %  →", size=12.5, fill=style.MUTED),
            svg.text(x + wide - 16, y + 17, f"{100 * share:.0f} %", size=13, bold=meant[n], anchor="end"),
            svg.rect(x + 10, y + 25, long, 8, fill=style.TINT),
            svg.rect(x + 10, y + 25, long * share, 8, fill=style.CHOSEN if meant[n] else style.GHOST if share == old else style.LOST),
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
    spoilt = [elsewhere(changed) / max(rest, 1) for changed in effect.changed]
    curves = [frame.curve(STRENGTHS, ys, look) for ys, look in zip((rising, spoilt), looks.values(), strict=True)]
    knob = svg.handle(
        *frame.at(strength, rising[now]),
        drags={"strength": svg.across((frame.left, frame.right), frame.x)},
        name="strength of the neuron",
        says=f"{strength}, {after} of {count}",
        fill=style.CHOSEN,
    )
    shapes += [frame.legend(looks, "above"), frame.axes(), *curves, knob]
    return Picture(title, sentence, svg.card(398, title, sentence, *shapes))


def _pressed(chosen: tuple[str, ...], word: str) -> str:
    """The rule as words to be pressed: pressed again, an attribute may be either."""
    x, wide, shapes = LEFT, 60.0, []
    groups = (*zip(("place", "weather", "mood"), world.ATTRIBUTES, chosen, strict=True), ("word", NEW_WORDS, word))
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
