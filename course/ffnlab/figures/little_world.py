"""The figures of the little world, for notebooks 00 and 02: what its small Transformer says next, and what its neurons fire for."""

from __future__ import annotations

import itertools
from functools import cache

import torch

from ffnlab import reading, style, svg, world
from ffnlab.picture import Picture

__all__ = ["CREATURES", "QUESTIONS", "WEATHERS", "neurons", "next_word"]

CREATURES = tuple(f"{mood} {creature}" for mood, creature in zip(world.MOODS, world.CREATURES, strict=True))
QUESTIONS = {"over or into?": world.WAY, "glad or sorry?": world.FEELING, "about the …?": world.SIGHT}
PLACES, WEATHERS = world.PLACES, world.WEATHERS
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
BARS = 4  # words whose probability is drawn
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
    found = reading.likely(reading.next_words(reading.load(), said, ffn), BARS)
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
def _named() -> tuple[list[reading.Name], torch.Tensor]:
    """The neurons with a good name, and the mean activation of each in the eight corners at its moment: [neurons, corners]."""
    model = reading.load()
    named = sorted((name for name in reading.names(model) if name.good), key=lambda name: (name.moment, name.words))
    means = []
    for corner in CORNERS:
        scenes = [scene for scene in reading.ALL_SCENES if scene.attributes == corner]
        hidden = model.hidden(model.gather(reading.tensor([world.wish(scene)[:-1] for scene in scenes])))
        means.append(torch.stack([hidden[:, name.moment - 1, name.neuron].mean() for name in named]))
    return named, torch.stack(means, dim=1)


def neurons(place: str = "creek", weather: str = "cold", creature: str = "spunky dog") -> Picture:
    """The neurons that have a name: how strongly each fires in the eight kinds of scene, and which word it pushes.

    The scene that is chosen has a frame, and the neurons that fire for it are printed bold.
    """
    scene = _scene(place, weather, creature)
    model, (named, means) = reading.load(), _named()
    acts = reading.activations(model, world.wish(scene)[:-1])
    firing = [acts[name.moment - 1, name.neuron].item() > reading.FIRES * name.largest for name in named]
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
                shapes.append(svg.text(middle, 62 + 17 * line, pair[not value], size=11, anchor="middle"))
        if n == CORNERS.index(scene.attributes):
            frame = svg.rect(x - 1, top - 5, cell - 1, row * len(named) + 8, stroke=style.INK, stroke_width=2, radius=3)
    for n, (name, on) in enumerate(zip(named, firing, strict=True)):
        y = top + row * n
        candidates = world.WAYS if name.moment == world.WAY else world.FEELINGS
        pushes = reading.written(model, name.neuron)
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
