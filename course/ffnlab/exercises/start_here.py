"""Notebook 00, Start here."""

from __future__ import annotations

from typing import Any

from ffnlab.exercise import Draw, Exercise, question


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    batch, tokens, width = ((2, 5, 7), (3, 4, 6), (1, 8, 5))[case % 3]
    return {"x": rng.normal(batch + rng.integer(0, 1) * 9, tokens, width)}


hello_shape = Exercise(
    "hello_shape",
    draw=_draw,
    where="the section “Shapes, read aloud”.",
    understood="You read a tensor's shape as batch, tokens, features: the convention of the whole course.",
    hints=(
        "Every tensor carries its shape in `x.shape`.",
        "A shape is a tuple already: its first entry is B, its second T, its third d.",
    ),
)


@hello_shape.aspect("shape", points=2)
def _shape(answer: Any, x: Any) -> Any:
    return answer(x)


quiz_hidden = question(
    "quiz_hidden",
    options="ABC",
    points=0,
    where="the section “What grades you”.",
    understood="Hidden inputs decide the grade, so code that only fits the shown ones earns nothing there.",
)
