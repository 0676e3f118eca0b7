"""Every figure of the course at its default, smallest and largest parameters, and what tests read off a picture."""

from __future__ import annotations

import ast
import importlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from ffnlab.course.figures import (
    anatomy,
    balance,
    capstone,
    experts,
    feed_forward,
    gated,
    little_world,
    machine,
    memory,
    parameters,
    real,
    start_here,
)
from ffnlab.course.parts import PARTS
from ffnlab.drawing import controls
from ffnlab.drawing.picture import Picture

GLAD = ("over", "it", "and", "was", "glad", "about", "the", "ice", ".")
SOLUTIONS = Path(__file__).resolve().parent.parent / "solutions"
SVG = "{http://www.w3.org/2000/svg}"
Draw = Callable[..., Picture]


# What some figures are handed by the notebook: the student's own functions, and runs.

Net = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def two_sums(over: float, into: float) -> Net:
    """What a student's xor_weights does: both units read a + b."""
    return (
        torch.ones(2, 2),
        torch.tensor([0.0, -1.0]),
        torch.tensor([[1.0], [-2.0]]) * (into - over),
        torch.tensor([over]),
    )


# Every figure, and the parameters at which it is looked at besides its defaults: the smallest, the largest, and some between.

LOW, HIGH, MIXED = (-3.0,) * 8, (3.0,) * 8, (3.0, -3.0, 2.5, -2.5, 0.0, -0.5, 1.5, -1.5)
VIEWS = list(product(capstone.MEASURES, capstone.EQUAL, [words for _, words in capstone.PAIRS]))

PARAMETERS: dict[Draw, Iterable[tuple[Any, ...]]] = {
    start_here.added: [(0, "this model"), (18, "its twin"), (3, "this model", False)],
    little_world.rule: [
        ("any", "any", "any", "into", 0), ("water", "warm", "timid", "about", 30, True), ("land", "cold", "spunky", "about", 14),
        ("water", "cold", "any", "into", 8),
    ],

    anatomy.block: [(part,) for part in anatomy.PARTS],
    machine.draw_block: [
        *((tuple(PARTS)[:count], 0, GLAD) for count in range(1, len(PARTS) + 1)),
        (tuple(PARTS), 1792, GLAD, 1784, ("into", *GLAD[1:-2], "flowers", ".")), ((), 1792, ("over",), 0, ("over",) * 8),
    ],
    feed_forward.trace: [(0, 1.0, "identity"), (13, 8.0, "SiLU", True), (5, 8 / 3, "GELU"), (8, 8.0, "GELU", True)],
    feed_forward.by_hand: [(-2.0, -2.0), (2.0, 2.0), (-1.5, -0.5), (0.0, 0.0), (1.0, 1.0, 0), (1.0, 0.5, 11)],
    feed_forward.folded: [(0.0, 0.0), (2.0, 2.0, 1), (0.25, 1.75), (1.75, 1.25, 1), (0.0, 2.0, 1, False), (2.0, 0.75, 0, False)],
    parameters.flops: product(parameters.DENSE, parameters.LENGTHS),
    parameters.step: product(parameters.DENSE, (parameters.LENGTHS[0], 4096, parameters.LENGTHS[-1]), (1, 64, parameters.PEOPLE[-1])),
    memory.neuron: [(64,), (memory.NEURONS - 1,)],
    memory.capacity: product((memory.FACTS[0], 256, memory.FACTS[-1]), (memory.WIDTHS[0], 16, memory.WIDTHS[-1])),
    gated.lights: [(x1, x2, kind) for kind in gated.LIGHTS for x1, x2 in product((-2.0, 0.0, 1.25, 2.0), repeat=2)],
    gated.table: product(gated.READINGS, gated.TABLE, gated.TABLE),
    experts.sentence: product(experts.PLACES, experts.WEATHERS, experts.MOODS, experts.WORLD_RUNS),
    experts.router: [
        (*z, t, k, norm) for z in (LOW, HIGH, MIXED) for t, k in ((0.25, 1), (4.0, 8)) for norm in experts.NORMS
    ],
    experts.dispatch: [
        *product(range(experts.LAST_FRAME + 1), (1, 2, 3)),
        *product((0, 7, experts.LAST_FRAME), (1, 3), experts.FOLLOWED),
    ],
    experts.totals: product(experts.MODELS, [factor for _, factor in experts.FACTORS]),
    balance.products: product((0, 6, 10), balance.CONFIDENCES),
    balance.capacity: product(balance.FACTORS, (1, 2), (False, True)),
    balance.selection: product((-0.3, 0.0, 0.05, 0.3), (False, True)),
    capstone.dashboard: VIEWS,
    capstone.block: product(capstone.KINDS),
    capstone.cloud: [(), (0.0,), (1.0, "none, 3 blocks"), (0.5, "relu, 2 blocks")],
    real.file_to_scale: [()],
    real.sieve: [()],
    real.silenced: [()],
    real.replacements: [()],
}  # fmt: skip


# The figures as the notebooks show them, with their controls.

# What a notebook has made before it shows a figure.
NOTEBOOK_VALUES: dict[str, dict[str, Any]] = {
    "01_attention": {"xor_weights": two_sums},
}


@cache
def load_notebook_figures() -> dict[str, controls.Figure]:
    """Every `controls.show(...)` of the notebooks as a figure, by notebook and line. Of a notebook only its imports and these calls are run."""
    figures = {}
    builders = SimpleNamespace(
        **(vars(controls) | {"show": lambda draw, **parameters: controls.Figure(draw, parameters)})
    )
    for source in sorted(SOLUTIONS.glob("[0-9]*.py")):
        tree = ast.parse(source.read_text(encoding="utf-8"))
        names: dict[str, Any] = {"controls": builders, **NOTEBOOK_VALUES.get(source.stem, {})}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module in (
                "ffnlab.course.figures",
                "ffnlab.course.experiments",
            ):
                for alias in node.names:
                    names[alias.asname or alias.name] = importlib.import_module(f"{node.module}.{alias.name}")
        calls = [
            node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "controls.show"
        ]
        for call in calls:
            code = compile(ast.Expression(call), str(source), "eval")
            figures[f"{source.stem}, line {call.lineno}: {ast.unparse(call.args[0])}"] = eval(code, names)
    return figures


# What a figure does not have, and the words in which it says so.

REFUSALS: list[tuple[Draw, tuple[Any, ...], str]] = [
    (start_here.added, (19,), "must be from 0 to 18"),
    (start_here.added, (0, "the twin"), "model must be"),
    (little_world.rule, ("cold",), "a rule asks for water, land or any"),
    (little_world.rule, ("any", "cold", "timid", "home"), "the word must be"),
    (little_world.rule, ("any", "cold", "timid", "into", 31), "the strength one of"),

    (anatomy.block, ("11",), "must be"),
    (machine.draw_block, (("hello_shape",),), "is not a part"),
    (feed_forward.trace, (14,), "must be"),
    (feed_forward.trace, (-1,), "must be"),
    (feed_forward.trace, (0, 3.1), "whole number"),
    (feed_forward.trace, (0, 4.0, "tanh"), "there is no"),
    (feed_forward.by_hand, (1.0, 1.0, 12), "must be"),
    (feed_forward.folded, (2.5, 1.0), "must be"),
    (feed_forward.folded, (1.0, 1.0, 2), "must be"),
    (parameters.step, ("Mixtral-8x7B",), "not among the dense models"),
    (partial(parameters.step, people=0), (), "at least one token"),
    (parameters.flops, ("Mixtral-8x7B",), "not among the dense models"),
    (partial(parameters.flops, T=1), (), "T must be from 128"),
    (memory.neuron, (memory.NEURONS,), "must be from"),
    (memory.capacity, (100, 16), "there are runs"),
    (gated.lights, (0.0, 0.0, "SwiGLU"), "kind must be"),
    (gated.lights, (2.25, 0.0), "entries of x must be"),
    (partial(gated.table, reading="means of nine"), (), "reading must be one of"),
    (partial(gated.table, first="tanh"), (), "not in the table"),
    (experts.sentence, ("sea",), "there is no place"),
    (experts.sentence, ("creek", "cold", "shy"), "there is no mood"),
    (experts.sentence, ("creek", "cold", "timid", 5), "there is no run"),
    (experts.router, (3.5,), "must be"),
    (experts.router, (*MIXED, 0.0), "must be"),
    (experts.router, (*MIXED, 1.0, 9), "must be"),
    (experts.router, (*MIXED, 1.0, 2, "argmax"), "there is no"),
    (experts.dispatch, (experts.LAST_FRAME + 1,), "must be"),
    (experts.dispatch, (0, 4), "must be"),
    (experts.dispatch, (0, 2, len(experts.WORDS)), "there is no token"),
    (experts.totals, ("GPT-2 small",), "there is no"),
    (experts.totals, ("Mixtral-8x7B", 3.0), "there is no"),
    (balance.products, (11,), "must be"),
    (balance.products, (5, 0.2), "there is no"),
    (balance.capacity, (3.0,), "there is no"),
    (balance.capacity, (1.0, 3), "must be"),
    (balance.selection, (0.5,), "must be"),
    (capstone.block, ("gelu",), "no kind"),
    (capstone.dashboard, ("speed",), "no "),
    (capstone.cloud, (1.0, "gelu"), "no run"),
    (capstone.cloud, (1.1,), "no run"),
    (partial(capstone.dashboard, words=3), (), "no "),
]  # fmt: skip


def name_of(function: Draw) -> str:
    """Notebook's module and function, as in `memory.capacity`."""
    whole: Any = function.func if isinstance(function, partial) else function
    return f"{whole.__module__.rpartition('.')[2]}.{whole.__name__}"


DRAWINGS = {
    f"{name_of(function)}{values}": (function, values)
    for function, many in PARAMETERS.items()
    for values in [(), *many]
}


FIGURES = list(PARAMETERS)


@cache
def picture_of(name: str) -> Picture:
    """One of the drawings."""
    function, values = DRAWINGS[name]
    return function(*values)


def pictures_of(function: Draw) -> dict[str, Picture]:
    """All drawings of one figure, by name."""
    return {name: picture_of(name) for name, (draw, _) in DRAWINGS.items() if draw is function}


# What a reader finds in a picture.


def texts(picture: Picture) -> list[str]:
    """What is written in it."""
    return [element.text or "" for element in ET.fromstring(picture.svg).iter(f"{SVG}text")]


def tips(picture: Picture) -> list[str]:
    """What its marks say when the mouse rests on them."""
    _, *marks = ET.fromstring(picture.svg).iter(f"{SVG}title")
    return [mark.text or "" for mark in marks]


def numbers(words: str) -> list[float]:
    """The numbers in a text as people write them, such as 1,024, −0.5 and 2e−9; not those inside a word, such as W1 or 14B."""
    matches = re.findall(r"(?<![\w.])−?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e−?\d+)?(?!\w)", words)
    return [float(number.replace(",", "").replace("−", "-")) for number in matches]
