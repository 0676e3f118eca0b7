"""The map of the course: one Transformer block, with a number at each part that says which notebook opens it. Every notebook shows it, its own part lit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture

__all__ = ["PARTS", "block", "shapes"]


@dataclass(frozen=True)
class DiagramPart:
    """What a notebook opens: how a title calls it, and what a sentence says it does."""

    name: str
    does: str


# The parts, by the number of the notebook.
PARTS = {
    "01": DiagramPart("attention", "lets the tokens look at each other"),
    "02": DiagramPart("the feed-forward network", "works on each token alone, through two matrices and an activation"),
    "03": DiagramPart("the activation", "makes the feed-forward network more than one matrix"),
    "04": DiagramPart("the feed-forward network", "is the same at every position, and sees one token at a time"),
    "05": DiagramPart("the matrices", "hold nearly all of a block's parameters"),
    "06": DiagramPart("the hidden neurons", "look for something, and write something when they find it"),
    "07": DiagramPart("the gate", "is a third matrix, whose output multiplies the neurons"),
    "08": DiagramPart("the experts", "are many feed-forward networks, of which a token uses a few"),
    "09": DiagramPart("the router's balance", "decides whether all experts get work"),
    "10": DiagramPart("the whole block", "is attention and one of four kinds of feed-forward network"),
}
# What the list calls the notebooks 00, 01, … 11 opens no part of the block: it is about a model that has six of them.
# How long each takes is said in its own header: a picture that all notebooks show would make all of them
# out of date with one.
TITLES = (
    "Over or into?",
    "Can a mix of words say over or into?",
    "Light a lamp",
    "A wire and a ribbon",
    "Which of these nine are real?",
    "The scales",
    "Make it forget one thing",
    "Two wires, one product",
    "You are the router",
    "The river",
    "Draw until you dare",
    "A real one",
)
HUE, GLOW = style.CHOSEN, style.pale(style.CHOSEN)
HEIGHT = 412.0


def block(lit: str = "") -> Picture:
    """One Transformer block, from the tokens below to the tokens above; the part that the notebook `lit`, "01" to "10", opens is lit.

    Raises:
        ValueError: there is no such notebook.
    """
    if lit and lit not in PARTS:
        raise ValueError(f"lit must be one of {', '.join(PARTS)}, or empty, not {lit!r}")
    halves = "A block has two halves, attention and the feed-forward network, each added to what it was given"
    if lit:
        title = f"You are here: {PARTS[lit].name}"
        words = f"{halves}. Notebook {lit} opens {PARTS[lit].name}, which {PARTS[lit].does}."
    else:
        title = "One Transformer block, opened part by part"
        words = f"{halves}; each notebook opens one part."
    return Picture(title, words, svg.card(HEIGHT, title, words, *shapes((lit,)), *_list(lit)))


def shapes(lit: Collection[str]) -> list[str]:
    """The block alone, in the left half of a card, with what the notebooks `lit` open lit."""
    return [*_tokens(lit), *_attention(lit), *_ffn(lit)]


def _ink(part: str, lit: Collection[str]) -> tuple[str, str, float]:
    """The fill, the edge and its width for what belongs to a notebook."""
    return (GLOW, HUE, 2.4) if part in lit else (style.PAPER, style.MUTED, 1.2)


def _box(
    part: str, lit: Collection[str], x: float, y: float, width: float, height: float, words: str = "", radius: float = 5
) -> str:
    fill, edge, line = _ink(part, lit)
    shape = svg.rect(x, y, width, height, fill=fill, stroke=edge, stroke_width=line, radius=radius)
    return shape + (
        svg.text(x + width / 2, y + height / 2 + 4.5, words, size=13, anchor="middle", bold=part in lit)
        if words
        else ""
    )


def _number(part: str, lit: Collection[str], x: float, y: float) -> str:
    now = part in lit
    return svg.circle(x, y, 10, fill=HUE if now else style.TINT, stroke=HUE if now else style.RULE) + svg.text(
        x, y + 4, part, size=11, anchor="middle", bold=True, fill=style.PAPER if now else style.MUTED
    )


def _plus(x: float, y: float) -> str:
    return (
        svg.circle(x, y, 8, fill=style.PAPER, stroke=style.INK, stroke_width=1.2)
        + svg.line(x - 4, y, x + 4, y, stroke=style.INK)
        + svg.line(x, y - 4, x, y + 4, stroke=style.INK)
    )


def _path(*points: tuple[float, float], lit: bool = False) -> str:
    return svg.path(points, stroke=HUE if lit else style.MUTED, width=2.2 if lit else 1.3)


STREAM, LEFT, MIDDLE = 46.0, 92.0, 186.0  # where the stream runs, where the frames begin, and their middle


def _tokens(lit: Collection[str]) -> list[str]:
    """The tokens below and above, the stream that carries them past both halves, and the frame of the whole block."""
    whole = "10" in lit
    parts = [
        svg.rect(
            26, 70, 292, 302, fill=GLOW if whole else "none", stroke=HUE if whole else style.RULE,
            stroke_width=2.4 if whole else 1, radius=10, dash="" if whole else "4 4",
        ),
        _number("10", lit, 318, 70),
        _path((STREAM, 384), (STREAM, 56), lit="04" in lit),
        svg.text(LEFT + 4, 60, "to the next block", size=12, fill=style.MUTED),
        svg.text(LEFT + 4, 396, "one vector for each token", size=12, fill=style.MUTED),
    ]  # fmt: skip
    for y in (46.0, 384.0):
        fill, edge, line = _ink("04", lit)
        parts += [svg.rect(x, y, 11, 17, fill=fill, stroke=edge, stroke_width=line, radius=2) for x in (26, 40.5, 55)]
    return [*parts, _number("04", lit, 80, 392.5)]


def _attention(lit: Collection[str]) -> list[str]:
    return [
        _path((STREAM, 360), (MIDDLE, 360), (MIDDLE, 346)),
        _box("01", lit, LEFT, 312, 188, 34, "attention"),
        _path((MIDDLE, 312), (MIDDLE, 298), (STREAM, 298)),
        _plus(STREAM, 298),
        _number("01", lit, 280, 312),
    ]


def _ffn(lit: Collection[str]) -> list[str]:
    """The FFN as a frame with its two matrices, the neurons and the activation; the gate beside them, the experts behind."""
    top, bottom = 98.0, 262.0
    several, fill, edge = "08" in lit or "09" in lit, *_ink("02", lit)[:2]
    behind = [
        svg.rect(
            LEFT + step, top - step, 188, bottom - top, fill=GLOW if "08" in lit else style.PAPER,
            stroke=HUE if "08" in lit else style.RULE, stroke_width=1.6 if several else 1, radius=6, dash="" if several else "3 3",
        )
        for step in (14.0, 7.0)
    ]  # fmt: skip
    matrices = "05" if "05" in lit else "-"
    low, high, wide = bottom - 36, top + 12, 112.0
    hidden = (low + high + 24) / 2
    neurons = [
        svg.circle(
            LEFT + 20 + 12.8 * n, hidden + 17, 4.2, fill=HUE if "06" in lit else style.PAPER,
            stroke=HUE if "06" in lit else style.MUTED, stroke_width=1.2,
        )
        for n in range(9)
    ]  # fmt: skip
    gate = "07" in lit
    return [
        *behind,
        _path((STREAM, 280), (MIDDLE, 280), (MIDDLE, bottom)),
        svg.rect(LEFT, top, 188, bottom - top, fill=fill, stroke=edge, stroke_width=2.4 if "02" in lit else 1.2, radius=6),
        _path((MIDDLE, top), (MIDDLE, 82), (STREAM, 82)),
        _plus(STREAM, 82),
        _box(matrices, lit, LEFT + 32, low, wide - 24, 24, "W₁"),
        _box(matrices, lit, LEFT + 32, high, wide - 24, 24, "W₂"),
        *neurons,
        _box("03", lit, LEFT + 14, hidden - 25, wide + 12, 26, "activation"),
        _path((LEFT + 76, low), (LEFT + 76, hidden + 25)),
        _path((LEFT + 76, hidden - 25), (LEFT + 76, high + 24)),
        svg.rect(
            LEFT + 146, low, 34, 24, fill=GLOW if gate else style.PAPER, stroke=HUE if gate else style.MUTED,
            stroke_width=2.4 if gate else 1, radius=5, dash="" if gate else "3 3",
        ),
        svg.text(LEFT + 163, low + 16.5, "gate", size=11, anchor="middle", bold=gate, fill=style.INK if gate else style.MUTED),
        _path((LEFT + 163, low), (LEFT + 163, hidden - 12), (LEFT + 140, hidden - 12), lit=gate),
        svg.circle(MIDDLE, 280, 6, fill=HUE if "09" in lit else style.PAPER, stroke=HUE if "09" in lit else style.MUTED, stroke_width=1.4),
        _number("02", lit, LEFT, top),
        _number("05", lit, LEFT + 32, low + 12),
        _number("03", lit, LEFT + 14, hidden - 12),
        _number("06", lit, LEFT + 4, hidden + 17),
        _number("07", lit, LEFT + 163, low + 24 + 8),
        _number("08", lit, LEFT + 202, top - 14),
        _number("09", lit, MIDDLE + 20, 280),
    ]  # fmt: skip


def _list(lit: str) -> list[str]:
    """The notebooks by name."""
    parts = []
    for n, name in enumerate(TITLES):
        y, part = 86 + 27 * n, f"{n:02d}"
        now = part == lit
        parts += [
            _number(part, (lit,), 346, y - 4.5),
            svg.text(364, y, name.partition(":")[0], size=13, fill=HUE if now else style.INK),
        ]
    return parts
