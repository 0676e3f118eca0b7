"""The boards of the course, by name: what tests look at and whose still pictures are drawn."""

from __future__ import annotations

from collections.abc import Callable

from ffnlab.boards import Board
from ffnlab.course.boards import creek, desk, fold, river

BOARDS: dict[str, Callable[[], Board]] = {
    "creek_switch": creek.switch,
    "creek_twin": creek.twins,
    "creek_lamps": creek.lamps,
    "desk_stars": desk.stars,
    "desk_votes": desk.votes,
    "fold_xor": fold.xor,
    "river": river.experts,
}
