"""The picture of `machine()`: the block with the parts that are the learner's lit, and what the little Transformer says with them."""

from __future__ import annotations

from collections.abc import Sequence

from ffnlab.course import toy_transformer
from ffnlab.course.figures import anatomy
from ffnlab.course.parts import BLOCK, PARTS
from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture
from ffnlab.registry import active_course

__all__ = ["PROMPT", "draw_block", "in_course"]

PROMPT = ["the", "creek", "was", "cold", "and", "the", "spunky", "dog", "wanted", "to", "jump"]
SCENES = sum(scene.held_out for scene in toy_transformer.ALL_SCENES)
ALL_PARTS = PARTS | {BLOCK: "the whole block, trained by you"}
HEIGHT = 532.0
NOT_YET = "Your own Block has not learned to read yet. It does in notebook 10."


def in_course() -> dict[str, str]:
    """The parts that are exercises of this course, the whole block among them, in its order; by exercise, its notebook."""
    exercises = active_course().exercises
    notebooks = {exercise: active_course().notebook_of(exercise) for exercise in ALL_PARTS if exercise in exercises}
    return dict(sorted(notebooks.items(), key=lambda part: part[1]))


def draw_block(
    yours: Sequence[str] = (),
    right: int = SCENES,
    continuation: Sequence[str] = ("over",),
    own_right: int | None = None,
    own_continuation: Sequence[str] = (),
) -> Picture:
    """The block and the list of its parts.

    yours: exercises whose answers run on the weights of the creek model. right: held-out scenes that they read rightly. continuation: what follows PROMPT.
    own_right, own_continuation: the same of the learner's own block, on what it has learned itself; None: it has not learned yet.

    Raises:
        ValueError: something in `yours` is not a part.
    """
    parts = in_course()
    unknown = [name for name in yours if name not in parts or name == BLOCK]
    if unknown:
        raise ValueError(f"{unknown[0]} is not a part; the parts are {', '.join(parts)}")
    has_learned = own_right is not None
    mine = [name for name in parts if name in yours or (has_learned and name == BLOCK)]
    missing = [name for name in parts if name not in mine]
    title = _title(len(mine), len(parts))
    reads = f"the creek model reads {right:,} of {SCENES:,} new scenes."
    runs = ("With it" if len(mine) == 1 else "With them") if yours else "On torch's own parts"
    words = f"Yours: {_names(mine, missing)}. {runs} {reads}" if mine else f"{runs} {reads}"
    own = f"Your own Block, on what it has learned itself, reads {own_right:,} of {SCENES:,}." if has_learned else ""
    words += f" {own}" if own else ""
    if missing:
        words += f" Next: {missing[0]}, in notebook {parts[missing[0]][:2]}."
    frames = {parts[name][:2] for name in mine if parts[name] != parts.get(BLOCK) or name == BLOCK}
    shapes = [
        *anatomy.shapes(frames),
        *_list(parts, mine),
        *_sentence(continuation),
        *_own(own or NOT_YET, own_continuation),
    ]
    return Picture(title, words, svg.card(HEIGHT, title, words, *shapes))


def _title(mine: int, count: int) -> str:
    if mine == count:
        return "Every part is yours"
    return f"{mine} of {count} parts {'is' if mine == 1 else 'are'} yours" if mine else "No part is yours yet"


def _names(mine: Sequence[str], missing: Sequence[str]) -> str:
    """The learner's parts, or where these are the fewer, the others."""
    if len(mine) <= len(missing):
        return ", ".join(mine)
    return f"all but {', '.join(missing)}" if missing else "all"


def _list(parts: dict[str, str], mine: Sequence[str]) -> list[str]:
    """The parts by name, what each of them is, and whose."""
    shapes = []
    step = min(32.0, 320 / len(parts))
    for n, (name, notebook) in enumerate(parts.items()):
        y, is_mine = 78 + step * n, name in mine
        ink = style.CHOSEN if is_mine else style.MUTED
        shapes += [
            svg.circle(346, y - 4.5, 10, fill=ink if is_mine else style.TINT, stroke=ink if is_mine else style.RULE),
            svg.text(
                346, y - 0.5, notebook[:2], size=11, anchor="middle", bold=True, fill=style.PAPER if is_mine else ink
            ),
            svg.text(364, y - 3, name, size=13, bold=is_mine, fill=ink if is_mine else style.INK),
            svg.text(364, y + 9, ALL_PARTS[name], size=10.5, fill=style.MUTED),
            svg.text(620, y, "yours" if is_mine else "not yet", size=12, anchor="end", bold=is_mine, fill=ink),
        ]
    return shapes


def _sentence(continuation: Sequence[str]) -> list[str]:
    """The sentence below the block, and what the model goes on with."""
    prompt = " ".join(PROMPT)
    return [
        svg.line(svg.MARGIN, 412, svg.WIDTH - svg.MARGIN, 412),
        svg.text(svg.MARGIN, 434, f"{prompt[:1].upper()}{prompt[1:]} …", size=13),
        svg.text(svg.MARGIN, 456, f"… {' '.join(continuation)}", size=15, bold=True),
    ]


def _own(says: str, continuation: Sequence[str]) -> list[str]:
    """Below that, what the learner's own block reads, and what it goes on with."""
    shapes = [svg.line(svg.MARGIN, 474, svg.WIDTH - svg.MARGIN, 474)]
    if not continuation:
        return [*shapes, svg.text(svg.MARGIN, 496, says, size=13, fill=style.MUTED)]
    words = svg.text(svg.MARGIN, 518, f"… {' '.join(continuation)}", size=15, bold=True, fill=style.CHOSEN)
    return [*shapes, svg.text(svg.MARGIN, 496, says, size=13), words]
