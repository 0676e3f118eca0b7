"""The pictures of notebook 11, drawn from stored measurements of a real model."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import median

from ffnlab.course.experiments import real
from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture
from ffnlab.palette import LIGHT

__all__ = ["file_to_scale", "replacements", "sieve", "silenced"]

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
FFN, ATTENTION, LAMP, MUTED = LIGHT["ffn"], LIGHT["attention"], LIGHT["lamp"], LIGHT["muted"]


def _scale(places: tuple[float, float], values: tuple[float, float], log: bool = False) -> Callable[[float], float]:
    """Where a value is in the card, if `values` are at `places`; with `log` by equal factors."""

    def place(value: float) -> float:
        low, high, now = (math.log10(v) if log else v for v in (*values, value))
        return places[0] + (places[1] - places[0]) * (now - low) / (high - low)

    return place


def counts() -> dict[str, int]:
    """How many numbers of the file are embeddings, attention, FFN and the rest; norms are counted with their half of a block."""
    result = {"embeddings": 0, "attention": 0, "FFN": 0, "rest": 0}
    for name, shape in real.stored()["shapes"].items():
        size = math.prod(shape)
        if name.startswith("embeddings"):
            result["embeddings"] += size
        elif ".attention." in name:
            result["attention"] += size
        elif name.startswith("encoder"):
            result["FFN"] += size
        else:
            result["rest"] += size
    return result


def file_to_scale() -> Picture:
    """The file from its first number to its last."""
    sizes = counts()
    total = sum(sizes.values())
    scale = (RIGHT - LEFT) / total
    shapes = [svg.rect(LEFT, 56, sizes["embeddings"] * scale - 1, 60, fill=LIGHT["s6"], radius=2)]
    x = LEFT + sizes["embeddings"] * scale
    for layer in range(real.LAYERS):
        for part, colour in (("attention", ATTENTION), ("FFN", FFN)):
            width = sizes[part] / real.LAYERS * scale
            shapes.append(svg.rect(x, 56, max(width - 1, 0.5), 60, fill=colour, radius=2))
            if part == "FFN":
                shapes.append(svg.text(x + width / 2, 132, f"block {layer}", size=11, fill=MUTED, anchor="middle"))
            x += width
    shapes.append(svg.rect(x, 56, max(sizes["rest"] * scale, 1), 60, fill=style.MUTED))
    words = svg.text(
        LEFT + 10, 92, f"embeddings {100 * sizes['embeddings'] / total:.1f} %", size=14, fill=style.PAPER, bold=True
    )
    keys = [
        svg.rect(LEFT, 146, 12, 12, fill=ATTENTION),
        svg.text(LEFT + 18, 157, f"attention {100 * sizes['attention'] / total:.1f} %"),
        svg.rect(LEFT + 170, 146, 12, 12, fill=FFN),
        svg.text(LEFT + 188, 157, f"FFN {100 * sizes['FFN'] / total:.1f} %"),
    ]
    title = f"{total / 1e6:.1f} million numbers, to scale"
    sentence = (
        f"Embeddings are {100 * sizes['embeddings'] / total:.1f} % of the file, the attention of six blocks {100 * sizes['attention'] / total:.1f} %, "
        f"their FFNs {100 * sizes['FFN'] / total:.1f} %."
    )
    return Picture(title, sentence, svg.card(176, title, sentence, *shapes, words, *keys))


def sieve() -> Picture:
    """How many neurons tell all of a few pairs apart, and how many of them go on to tell other pairs apart."""
    rows = real.stored()["sieve"]
    pairs = real.stored()["pairs"]
    top, bottom = 60.0, 250.0
    height = _scale((bottom, top), (0.7, 100), log=True)
    left = LEFT + 60
    step = (RIGHT - left - 40) / (len(rows) - 1)
    dice = random.Random(0)
    shapes = []
    for value, name in ((1, "1"), (10, "10"), (100, "100"), (0.7, "none")):
        y = height(value)
        shapes += [
            svg.line(left, y, RIGHT, y),
            svg.text(left - 8, y + 4, name, size=12, fill=MUTED, anchor="end"),
        ]
    for n, (count, row) in enumerate(rows.items()):
        x = left + 20 + n * step
        shapes.append(svg.text(x, bottom + 20, count, anchor="middle"))
        for kind, shift, colour in (("fit", -8, MUTED), ("hold", 12, LAMP)):
            for value in row[kind]:
                y = height(max(value, 0.7)) + dice.uniform(-1.5, 1.5)
                shapes.append(svg.circle(x + shift + dice.uniform(-5, 5), y, 1.8, fill=colour))
    keys = (("fit the pairs", MUTED), (f"of these, fit 9 of 10 of {pairs} other pairs", LAMP))
    x = LEFT + 60
    for (words, colour), width in zip(keys, (130, 0), strict=True):
        shapes += [svg.circle(x, 310, 5, fill=colour), svg.text(x + 10, 314, words)]
        x += width
    shapes.append(svg.text((left + RIGHT) / 2, bottom + 36, "pairs that search", size=12, fill=MUTED, anchor="middle"))
    fits = [f"{median(row['fit']):g} for {count}" for count, row in rows.items()]
    title = "Of all neurons that fit, two hold"
    sentence = f"Each dot is one of 100 draws. In the middle one, so many neurons fit so many pairs: {', '.join(fits)}. Two of them hold each time."
    return Picture(title, sentence, svg.card(330, title, sentence, *shapes))


def silenced() -> Picture:
    """Every neuron of layer 2 switched off, one by one: how much nearer the pairs come, and in how many."""
    off = real.stored()["off"]
    most = max(effect for effect, _ in off)
    least = min(effect for effect, _ in off)
    pairs = max(count for _, count in off)
    top, bottom = 60.0, 250.0
    across = _scale((LEFT + 60, RIGHT - 20), (least, most))
    height = _scale((bottom, top), (0, pairs))
    dice = random.Random(1)
    shapes = []
    for value in (0, pairs // 2, pairs):
        y = height(value)
        shapes += [
            svg.line(LEFT + 50, y, RIGHT - 10, y),
            svg.text(LEFT + 42, y + 4, str(value), size=12, fill=MUTED, anchor="end"),
        ]
    special = real.HEARS[1]
    opposite = min(range(len(off)), key=lambda neuron: off[neuron][0])
    for neuron, (effect, count) in enumerate(off):
        shape = svg.circle(
            across(effect),
            height(count) + dice.uniform(-3, 3),
            6 if neuron in (special, opposite) else 2,
            fill=LAMP if neuron == special else MUTED,
            tip=f"neuron {neuron}: {svg.label(effect, 4)}, {count} of {pairs}",
        )
        shapes.append(shape)
    for value in (0, 0.01, 0.02):
        shapes.append(svg.text(across(value), bottom + 22, svg.label(value), size=12, fill=MUTED, anchor="middle"))
    full = sum(count == pairs for _, count in off)
    shapes += [
        svg.text(across(most) - 12, height(pairs) + 22, str(special), size=13, anchor="end", bold=True),
        svg.text(across(least) + 12, height(off[opposite][1]) - 8, str(opposite), size=13),
        svg.text(
            (LEFT + RIGHT) / 2,
            bottom + 42,
            "how much nearer the two sentences come, on average",
            size=12,
            fill=MUTED,
            anchor="middle",
        ),
        svg.text(LEFT + 10, top - 10, f"pairs, of {pairs}", size=12, fill=MUTED),
    ]
    title = f"{full} neurons do it in {pairs} of {pairs}, and one does it far more"
    sentence = (
        f"Each dot is a neuron of layer 2 that is off. {full} of 1,536 bring all {pairs} pairs nearer. "
        f"On average {special} does so by {svg.label(off[special][0], 3)}, the next by {svg.label(sorted(effect for effect, _ in off)[-2], 3)}. "
        f"Neuron {opposite} moves {pairs - off[opposite][1]} the other way, by {svg.label(-least, 3)}."
    )
    return Picture(title, sentence, svg.card(308, title, sentence, *shapes))


def replacements() -> Picture:
    """Twins and strangers, with other things in the place of the FFNs."""
    rows = real.stored()["replaced"]
    across = _scale((LEFT + 190, RIGHT - 10), (-0.2, 1))
    dice = random.Random(2)
    shapes = []
    for n, (key, name) in enumerate(real.REPLACEMENTS):
        y = 82 + 52 * n
        words = name.split(", ")
        lines = [", ".join(words[:2]) + ",", *words[2:]] if len(words) > 2 else [name]
        shapes += [
            svg.text(LEFT, y + 4 + 15 * k - 7 * (len(lines) - 1), text, size=12.5) for k, text in enumerate(lines)
        ]
        for value in rows[key]["strangers"]:
            shapes.append(svg.circle(across(value), y + 8 + dice.uniform(-8, 8), 1.8, fill=MUTED))
        for value in rows[key]["twins"]:
            shapes.append(svg.circle(across(value), y - 12 + dice.uniform(-4, 4), 4, fill=LAMP))
        shapes.append(svg.line(LEFT, y + 24, RIGHT, y + 24))
    for value in (0, 0.25, 0.5, 0.75, 1):
        shapes.append(svg.text(across(value), 282, svg.label(value), size=12, fill=MUTED, anchor="middle"))
    shapes += [
        svg.circle(LEFT + 200, 50, 4, fill=LAMP), svg.text(LEFT + 210, 54, "say the same"),
        svg.circle(LEFT + 330, 50, 2.5, fill=MUTED), svg.text(LEFT + 340, 54, "strangers"),
        svg.text(LEFT + 400, 300, "how alike the model finds them", size=12, fill=MUTED, anchor="middle"),
    ]  # fmt: skip
    means = {key: rows[key]["means"] for key, _ in real.REPLACEMENTS}
    title = "What was put in the FFNs' place?"
    parts = [f"with {name} {svg.label(means[key][1])}" for key, name in real.REPLACEMENTS]
    sentence = f"Likeness of two sentences that have nothing to do with each other, on average: {'; '.join(parts)}."
    return Picture(title, sentence, svg.card(314, title, sentence, *shapes))
