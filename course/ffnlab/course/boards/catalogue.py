"""The boards of the course, by name: what tests look at and whose still pictures are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ffnlab.boards import Board
from ffnlab.course.boards import (
    boxes,
    catch,
    clouds,
    creek,
    desk,
    ears,
    fold,
    fooling,
    forget,
    levers,
    orders,
    product,
    river,
    router,
    scales,
    wire,
)


def _raise_not_implemented(*_: Any) -> Any:
    """In place of a function that a reader is to write."""
    raise NotImplementedError


BOARDS: dict[str, Callable[[], Board]] = {
    "boxes": boxes.line_up,
    "boxes_inspection": lambda: boxes.inspection(lambda *arguments: True),
    "catch_ffn_forward": catch.catch_them_all,
    "clouds": clouds.stacks,
    "creek_switch": creek.switch,
    "creek_rule": creek.rule,
    "creek_twin": creek.twins,
    "creek_lamps": creek.lamps,
    "desk_stars": desk.stars,
    "desk_votes": desk.votes,
    "ears_eight": ears.eight,
    "ears_two": ears.two,
    "fold_xor": fold.xor,
    "fooling": lambda: fooling.inspect(lambda X: X),
    "forget_one": forget.one,
    "forget_fill": forget.fill,
    "forget_write": forget.write,
    "levers": levers.kinds,
    "orders": orders.grid,
    "product_straight": product.straight,
    "product_bent": product.bent,
    "river": river.experts,
    "router_plane": router.plane,
    "router_pairs": router.pairs,
    "scales": scales.balance,
    "scales_bars": scales.bars,
    "wire_straight": wire.straight,
    "wire_kinks": wire.kinks,
    "wire_arch": wire.arch,
    "wire_thousandth": lambda: wire.thousandth(_raise_not_implemented),
    "wire_beat": lambda: wire.beat(_raise_not_implemented),
    "wire_ever": wire.ever,
    "wire_folds": lambda: wire.folds(_raise_not_implemented),
    "wire_learn": wire.learn,
    "wire_wake": wire.wake,
}
