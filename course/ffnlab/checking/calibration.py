"""The picture at the end of `progress()`: how often one was right when one was certain, fairly sure, or had just a hunch."""

from __future__ import annotations

from collections.abc import Sequence

from ffnlab.drawing import style, svg
from ffnlab.drawing.picture import Picture
from ffnlab.phrases import plural

_WHEN = ("When it was just a hunch", "When you were fairly sure", "When you were certain")
ROW, TOP, LEFT = 38.0, 66.0, 140.0  # how tall a row is, where the first begins, and where its dots begin


def picture(steps: Sequence[str], counts: Sequence[tuple[int, int]]) -> Picture:
    """A row of dots for each step of being sure, a dot for each guess: filled where it was right.

    steps: what one can say, the lowest first. counts: by step, the lowest first, how many guesses were right and how many were made.

    Raises:
        ValueError: these are not as many pairs as there are steps, there is no guess, or more are right than were made.
    """
    if len(counts) != len(steps) or not any(total for _, total in counts) or any(not 0 <= a <= b for a, b in counts):
        raise ValueError(f"{len(steps)} pairs of right guesses and all guesses are needed, not {list(counts)}")
    levels = [(when, *pair) for when, pair in zip(_WHEN, counts, strict=True) if pair[1]][::-1]
    title = "How sure you were, and how often you were right"
    sentence = " ".join(f"{when}, you were right {right} of {plural(total, 'time')}." for when, right, total in levels)
    shapes = []
    for row, (words, (right, total)) in enumerate(list(zip(steps, counts, strict=True))[::-1]):
        y = TOP + ROW * row
        step = min(22.0, (svg.WIDTH - svg.MARGIN - 90 - LEFT) / max(total, 1))
        shapes += [
            svg.text(svg.MARGIN, y + 5, words, size=14, bold=True),
            *(
                svg.circle(
                    LEFT + step * (n + 0.5), y, min(7.0, 0.42 * step), fill=style.CHOSEN if n < right else style.PAPER,
                    stroke=style.CHOSEN, stroke_width=1.6,
                )
                for n in range(total)
            ),
            svg.text(svg.WIDTH - svg.MARGIN, y + 5, f"{right} of {total}" if total else "none yet", anchor="end", fill=style.INK),
        ]  # fmt: skip
    return Picture(title, sentence, svg.card(TOP + ROW * len(steps), title, sentence, *shapes))
