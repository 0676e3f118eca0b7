"""The boards of the course, by name: what tests look at and whose still pictures are drawn."""

from __future__ import annotations

from collections.abc import Callable

from ffnlab.boards import Board
from ffnlab.course.boards import boxes, clouds, creek, fold, river

BOARDS: dict[str, Callable[[], Board]] = {
    "boxes": boxes.line_up,
    "boxes_inspection": lambda: boxes.inspection(lambda *asked: True),
    "clouds": clouds.stacks,
    "creek_switch": creek.switch,
    "creek_twin": creek.twins,
    "creek_lamps": creek.lamps,
    "fold_xor": fold.xor,
    "river": river.experts,
}
