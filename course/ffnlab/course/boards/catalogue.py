"""The boards of the course, by name: what tests look at and whose still pictures are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ffnlab.boards import Board
from ffnlab.course.boards import boxes, clouds, creek, desk, fold, river, wire


def _raise_not_implemented(*_: Any) -> Any:
    """In place of a function that a reader is to write."""
    raise NotImplementedError


BOARDS: dict[str, Callable[[], Board]] = {
    "boxes": boxes.line_up,
    "boxes_inspection": lambda: boxes.inspection(lambda *arguments: True),
    "clouds": clouds.stacks,
    "creek_switch": creek.switch,
    "creek_rule": creek.rule,
    "creek_twin": creek.twins,
    "creek_lamps": creek.lamps,
    "desk_stars": desk.stars,
    "desk_votes": desk.votes,
    "fold_xor": fold.xor,
    "river": river.experts,
    "wire_straight": wire.straight,
    "wire_kinks": wire.kinks,
    "wire_arch": wire.arch,
    "wire_thousandth": lambda: wire.thousandth(_raise_not_implemented),
    "wire_beat": lambda: wire.beat(_raise_not_implemented),
    "wire_ever": wire.ever,
    "wire_learn": wire.learn,
    "wire_wake": wire.wake,
}
