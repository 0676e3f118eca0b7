"""Nine closed boxes that read one sentence, as boards for notebook 04. The ninth is the creek model of notebook 00, up to what its FFN writes.

`boxes.line_up()` has them to be questioned by hand. `boxes.inspection(f)` sends the reader's own function into them, and into others that nobody has seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.boards import Board, Flag, Goal
from ffnlab.course import toy_transformer, world
from ffnlab.course.exercises import every_position as exercises
from ffnlab.course.figures.shared import TOKENS

HERE = Path(__file__).parent

SENTENCE = tuple(word.lower() for word in TOKENS)
HAND = ("ditch", "warm", "cat", "the", "it")  # words that a reader can write
D_MODEL = 6
LAST = len(SENTENCE) - 1
FAVOURITE, PEEKS_AT = SENTENCE.index("to"), SENTENCE.index("spunky")
FIRST_SEED = 4000  # of the boxes that nobody has seen; the check and the grading draw from others
RECORD = 2  # sentences that suffice for every box

BOTH = ("sideways", "favourite")

Layer = dict[str, Any]
Inspector = Callable[..., Any]


class Box(NamedTuple):
    """A box: what it is, the rules that it breaks ("sideways", "favourite", both or none), and the layer as data for boxes_model.js."""

    what: str
    breaks: tuple[str, ...]
    layer: Layer
    vectors: dict[str, list[float]]  # of each word, as long as the box takes them

    @property
    def is_real(self) -> bool:
        """Whether it keeps both rules."""
        return not self.breaks

    @property
    def d(self) -> int:
        """How many numbers it takes for a word."""
        return len(self.layer["W1"])

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The layer in torch, in the dtype of x. x, output: [..., T, d]."""
        return run(self.layer, x)


def _random(seed: int, *shape: int, scale: float = 1.0) -> Any:
    """Numbers that are the same in JavaScript: three decimals."""
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale
    return values.mul(1000).round().div(1000).tolist()


def _layer(seed: int, width: int, activation: str = "relu", **parts: Any) -> Layer:
    d = D_MODEL
    plain = {
        "W1": _random(seed, d, width, scale=d**-0.5),
        "b1": _random(seed + 1, width, scale=0.3),
        "W2": _random(seed + 2, width, d, scale=width**-0.5),
        "b2": _random(seed + 3, d, scale=0.3),
        "activation": activation,
        "skip": False,
        "norm": "none",
        "positions": [],
        "mix": "none",
        "q": [],
        "k": [],
        "v": [],
        "window": [],
        "average": [],
        "peek": None,
        "own": None,
    }
    return plain | parts


def _rounded(values: torch.Tensor) -> Any:
    """Trained numbers that are the same in JavaScript: four decimals."""
    return values.double().mul(10_000).round().div(10_000).tolist()


def _creek() -> Box:
    """The creek model: positions are added to the words, attention adds its average, and the box returns what the FFN writes."""
    model = toy_transformer.load()
    assert isinstance(model.attention, toy_transformer.Average) and model.linear1 and model.linear2
    average = 4 * (model.attention.output.weight @ model.attention.value.weight).T
    layer = _layer(0, 1) | {
        "W1": _rounded(model.linear1.weight.T),
        "b1": _rounded(model.linear1.bias),
        "W2": _rounded(model.linear2.weight.T),
        "b2": _rounded(model.linear2.bias),
        "positions": _rounded(model.places.weight[: len(SENTENCE)]),
        "mix": "average",
        "average": _rounded(average),
    }
    words = _words()
    rows = _rounded(model.words.weight[torch.tensor(world.numbers(words))])
    return Box("the creek model, up to what its FFN writes", BOTH, layer, dict(zip(words, rows, strict=True)))


@lru_cache(maxsize=1)
def boxes() -> tuple[Box, ...]:
    """The nine, in the order of the board."""
    return (*(Box(what, breaks, layer, vectors()) for what, breaks, layer in _made_up()), _creek())


def _made_up() -> tuple[tuple[str, tuple[str, ...], Layer], ...]:
    """Eight of them, with random weights: what each is, the rules that it breaks, the layer."""
    d, square = D_MODEL, D_MODEL**-0.5
    attention = {name: _random(30 + n, d, d, scale=square) for n, name in enumerate("qk")}
    window = [_random(60 + n, d, d, scale=square * (1 if n == 1 else 0.6)) for n in range(3)]
    return (
        ("an FFN with ReLU and 24 neurons", (), _layer(100, 24)),
        ("an FFN behind a norm over the sequence", ("sideways",), _layer(200, 24, norm="sequence")),
        (
            "attention that looks back, and an FFN",
            ("sideways",),
            _layer(300, 24, mix="attention", v=_random(32, d, d, scale=1.5 * square), **attention),
        ),
        (
            "an FFN that looks at “spunky”, at the full stop only",
            BOTH,
            _layer(400, 24, peek={"to": LAST, "from": PEEKS_AT, "matrix": _random(40, d, d, scale=0.5)}),
        ),
        ("an FFN with GELU and 10 neurons", (), _layer(500, 10, "gelu")),
        (
            "an FFN with another W2 at the word “to”",
            ("favourite",),
            _layer(600, 24, own={"place": FAVOURITE, "W2": _random(50, 24, d, scale=24**-0.5)}),
        ),
        ("a convolution over three words", BOTH, _layer(700, 24, mix="window", window=window)),
        (
            "x + FFN(norm(x)), with the norm of each word alone",
            (),
            _layer(800, 24, "gelu", norm="token", skip=True),
        ),
    )


@lru_cache(maxsize=1)
def vectors() -> dict[str, list[float]]:
    """The vector [6] of each word, for the boxes with random weights."""
    return {word: _random(1000 + n, D_MODEL) for n, word in enumerate(_words())}


def _words() -> list[str]:
    return list(dict.fromkeys([*SENTENCE, *HAND]))


def run(layer: Layer, x: torch.Tensor) -> torch.Tensor:
    """What boxes_model.js computes, in torch. x, output: [..., T, d]."""

    def part(value: Any) -> torch.Tensor:
        return torch.tensor(value, dtype=x.dtype)

    ffn_input = x
    if layer["norm"] == "token":
        ffn_input = F.layer_norm(x, x.shape[-1:])
    if layer["norm"] == "sequence":
        ffn_input = F.layer_norm(x.mT, x.shape[-2:-1]).mT
    if layer["positions"]:
        ffn_input = ffn_input + part(layer["positions"])
    if layer["mix"] == "average":
        count = torch.arange(1, x.shape[-2] + 1, dtype=x.dtype)[:, None]
        ffn_input = ffn_input + (ffn_input.cumsum(-2) / count) @ part(layer["average"])
    if layer["mix"] == "attention":
        q, k, v = (ffn_input @ part(layer[name]) for name in "qkv")
        ffn_input = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    if layer["mix"] == "window":
        x_pad = F.pad(ffn_input, (0, 0, 1, 1))
        T = x.shape[-2]
        ffn_input = sum(
            (x_pad[..., n : n + T, :] @ part(matrix) for n, matrix in enumerate(layer["window"])), torch.zeros_like(x)
        )
    z = ffn_input @ part(layer["W1"]) + part(layer["b1"])
    hidden = F.relu(z) if layer["activation"] == "relu" else F.gelu(z, approximate="tanh")
    output = hidden @ part(layer["W2"]) + part(layer["b2"])
    rows = torch.arange(x.shape[-2])[:, None]
    if own := layer["own"]:
        output = torch.where(rows == own["place"], hidden @ part(own["W2"]) + part(layer["b2"]), output)
    if layer["skip"]:
        output = output + x
    if peek := layer["peek"]:
        peek_values = (x[..., peek["from"], :] @ part(peek["matrix"])).abs().unsqueeze(-2)
        output = torch.where(rows == peek["to"], output + peek_values, output)
    return output


LINE_UP_GOALS = (
    Goal(
        "charge",
        "Catch a box that breaks a rule, and say which. A charge without evidence is refused.",
        after="A lamp under a word that you have left alone is evidence: that output moved and its own word did not, so its box has looked at another word.",
    ),
    Goal(
        "all",
        "Settle all nine. A box can break both rules, and then either charge is right. To clear a box that breaks one costs 5 edits, and no box is cleared "
        f"before all {len(SENTENCE)} words have been changed.",
        after="Two of them hid well. Box 4 cheats at the full stop only: there it looks at “spunky”. Box 6 keeps other weights for the tenth word, "
        "and for no other. Box 9 is the creek model: whatever you write over an earlier word, its output at “jump” moves.",
        record=len(SENTENCE),
        unit="edits",
    ),
)


def line_up(name: str = "boxes") -> Board:
    """The nine boxes, to be questioned by hand."""
    title = (
        "Nine closed boxes read a sentence of fourteen words. Words can be changed, and lamps show which outputs move."
    )
    data = {
        "guise": "line-up",
        "sentence": SENTENCE,
        "hand": HAND,
        "boxes": [{"breaks": box.breaks, "layer": box.layer, "vectors": box.vectors} for box in boxes()],
    }
    return Board(HERE / "boxes.js", name, title, data, LINE_UP_GOALS, HERE / "stills" / f"{name}.svg")


LABELS = [label for labels in exercises.LAYER_KINDS.values() for label in labels]

INSPECTION_GOALS = (
    Goal("right", "Be right about every box.", record=RECORD, unit="sentences for a box"),
    Goal(
        "one",
        "Be right about every box, feed each a single sentence, and take no derivatives.",
        flag=Flag(
            (
                "Random vectors are never equal, so in one sentence there is nothing to compare.",
                "Whatever the sentence, there is an FFN that answers it exactly as attention does.",
                "One sentence gives 14 outputs, and there are 14 · 13 ways to look at another word.",
            ),
            right=1,
            why="Attention without positions gives equal words of a sentence equal outputs. So for any one sentence, its answers are those of some map of "
            "single words, and such a map is innocent. Only a second sentence can show that the same word is answered differently in other company.",
            nudge="Think of attention, and of what it answers to a sentence in which some words are equal.",
        ),
    ),
)


def inspection(inspector: Inspector, name: str = "boxes_inspection") -> Board:
    """The reader's function on the nine boxes and on others that are drawn anew each time.

    inspector: takes f, T, d and returns True or False, as `is_position_wise` does.
    """
    public_boxes = boxes()
    T = len(SENTENCE)
    inspector(public_boxes[0], T, D_MODEL)  # an answer that is not written yet says so in place of the board

    @lru_cache(maxsize=1)
    def draw_round(round: int) -> tuple[dict[str, Any], dict[str, exercises.Layer], dict[str, bool], list[str]]:
        inputs = exercises.is_position_wise.inputs(FIRST_SEED + round, 0)
        layers: dict[str, exercises.Layer] = {}
        truths: dict[str, bool] = {}
        for aspect, labels in exercises.LAYER_KINDS.items():
            aspect_layers = exercises.build_layers(inputs[aspect], inputs["shared"])
            layers |= dict(zip(inputs["_labels"][aspect], aspect_layers, strict=True))
            truths |= labels
        return inputs, layers, truths, random.Random(round).sample(LABELS, len(LABELS))

    def inspect(request: dict[str, Any]) -> dict[str, Any]:
        n = int(request["box"])
        if n < len(public_boxes):
            box = public_boxes[n]
            return _report(inspector, box.what, box.is_real, partial(run, box.layer), T, box.d)
        inputs, layers, truths, order = draw_round(int(request["round"]))
        what = order[n - len(public_boxes)]
        return _report(inspector, what, truths[what], layers[what], inputs["T"], inputs["d"])

    title = "Nine boxes, and others that nobody has seen. An inspector is sent into each."
    data = {"guise": "inspector", "known": len(public_boxes), "count": len(public_boxes) + len(LABELS)}
    return Board(
        HERE / "boxes.js",
        name,
        title,
        data,
        INSPECTION_GOALS,
        HERE / "stills" / f"{name}.svg",
        answers={"inspect": inspect},
    )


def _report(
    inspector: Inspector, what: str, truth: bool, layer: Callable[[torch.Tensor], torch.Tensor], T: int, d: int
) -> dict[str, Any]:
    """What an inspector says of a box, and how many sentences it fed it."""
    sentences = 0

    def feed(x: torch.Tensor) -> torch.Tensor:
        nonlocal sentences
        if x.shape[-2:] != (T, d):
            raise ValueError(f"f takes [..., T, d] = [..., {T}, {d}], not {list(x.shape)}")
        output = layer(x)
        sentences += x.numel() // (T * d)
        return output

    try:
        says, error = bool(inspector(feed, T, d)), ""
    except Exception as failure:  # the reader's own function may do anything
        says, error = None, f"{type(failure).__name__}: {failure}"
    return {"what": what, "truth": truth, "says": says, "sentences": sentences, "error": error}
