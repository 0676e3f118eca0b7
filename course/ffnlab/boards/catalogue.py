"""The boards of the course, by name: what tests look at and whose still pictures are drawn."""

from __future__ import annotations

from collections.abc import Callable

from ffnlab.boards import Play, creek

PLAYS: dict[str, Callable[[], Play]] = {
    "creek_switch": creek.switch,
    "creek_twin": creek.twins,
    "creek_lamps": creek.lamps,
}
