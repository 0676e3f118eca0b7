"""The figures of notebook 02: a network to do by hand and its answer as a sheet, and one token's trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F

from ffnlab.course.figures.shared import D_MODEL, RATIOS, TOKENS, Weights, embeddings, weights
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

__all__ = [
    "ACTIVATIONS",
    "D_MODEL",
    "RATIOS",
    "TOKENS",
    "Weights",
    "by_hand",
    "by_hand_weights",
    "embeddings",
    "folded",
    "trace",
    "weights",
]

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "identity": lambda z: z,
    "ReLU": torch.relu,
    "GELU": F.gelu,
    "SiLU": F.silu,
}
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
REACH = 3.0  # the value at the end of every bar axis in `trace`
SHADE = 2.5  # the value with the fullest colour in `expand_contract`

Corner = tuple[float, float]  # of the card or of a plane: x and y


class _Trace(NamedTuple):
    """One token's way through the FFN, in a sentence as it is written or shuffled."""

    position: int  # in the sentence as written
    order: list[int]  # the tokens' positions as written, in the order in which they are read
    activation: str
    pre: list[float]  # [d_ff]
    act: list[float]  # [d_ff]
    out: list[float]  # [d_model]
    change: float  # the most by which one of these numbers differs from that of the sentence as written

    @property
    def token(self) -> str:
        return TOKENS[self.position]

    @property
    def place(self) -> int:
        """Where the token is read."""
        return self.order.index(self.position)


def _trace(position: int, ratio: float, activation: str, permute: bool) -> _Trace:
    act = _find_activation(activation)
    x = embeddings(dtype=torch.float64)
    order = _permutation() if permute else list(range(len(TOKENS)))
    stages = _forward(x[order], ratio, act, order.index(position))
    change = 0.0
    if permute:
        for new, old in zip(stages, _forward(x, ratio, act, position), strict=True):
            change = max(change, *(abs(a - b) for a, b in zip(new, old, strict=True)))
    return _Trace(position, order, activation, *stages, change)


def trace(position: int = 1, ratio: float = 4.0, activation: str = "ReLU", permute: bool = False) -> Picture:
    """One token's way through the FFN: pre [d_ff], act [d_ff] and out [d_model] as bars from a common zero.

    `position` is the token's place in the sentence as written; with `permute` the sentence is shuffled and
    the token goes along. GELU is the erf form. The whole sentence is computed at once, one row is shown.
    """
    _inside("position", position, len(TOKENS))
    numbers = _trace(position, ratio, activation, permute)
    title, words = _shuffled_words(numbers) if permute else _trace_words(numbers)
    top, tall = 178.0, 288.0
    shapes = [
        _tape(numbers.order, numbers.place, position if permute else None, top=52),
        *_stages_of_trace(numbers, top, tall),
    ]
    return Picture(title, words, svg.card(top + tall + 38, title, words, *shapes))


def _shuffled_words(numbers: _Trace) -> tuple[str, str]:
    """Title and sentence for a sentence that is shuffled."""
    token, position, place, d_ff = numbers.token, numbers.position, numbers.place, len(numbers.pre)
    same = "stay the same" if numbers.change < 1e-12 else f"change by {numbers.change:.1e}"
    title = f"“{token}” moves from {position} to {place}, its vectors {same}"
    words = (
        f"The sentence is shuffled and “{token}” is now at position {place} instead of {position}; "
        f"its {d_ff} numbers before {numbers.activation}, {d_ff} after it and {D_MODEL} outputs {same}: "
        f"an FFN does not see positions."
    )
    return title, words


def _trace_words(numbers: _Trace) -> tuple[str, str]:
    """Title and sentence for the sentence as it is written."""
    token, activation, d_ff, out = numbers.token, numbers.activation, len(numbers.pre), numbers.out
    below = sum(value < 0 for value in numbers.pre)
    silent = sum(value == 0 for value in numbers.act)
    title = f"{activation} silences {silent or 'none'} of {d_ff} neurons for “{token}”"
    if activation == "identity":
        title = f"Identity: act is the same as pre for “{token}”"
        what = "without an activation they stay as they are, and act equals pre."
    elif activation == "ReLU":
        what = f"ReLU sets {silent} to exactly 0 and passes the other {d_ff - silent} unchanged."
    else:
        exact_zeros = "none is" if silent == 0 else f"{silent} are"
        lowest = svg.label(min(numbers.act))
        what = f"{activation} keeps them small and negative, down to {lowest}, and {exact_zeros} exactly 0."
    words = (
        f"For “{token}”, {below} of {d_ff} neurons have a negative sum; {what}"
        f" The outputs run from {svg.label(min(out))} to {svg.label(max(out))}."
    )
    twins = [n for n, other in enumerate(TOKENS) if other.lower() == token.lower() and n != numbers.position]
    if twins:
        words += f" Position {twins[0]} holds the same word: same vectors."
    return title, words


def _stages_of_trace(numbers: _Trace, top: float, tall: float) -> list[str]:
    """pre, act and out side by side, with arrows between them; behind act, pre in a pale colour."""
    wide, gap = 168.0, 48.0
    stages = (
        ("pre = x W1 + b1", numbers.pre, None),
        (f"act = {numbers.activation}(pre)", numbers.act, numbers.pre),
        ("out = act W2 + b2", numbers.out, None),
    )
    shapes = []
    for n, (name, values, ghost) in enumerate(stages):
        left = LEFT + n * (wide + gap)
        middle = left + wide / 2
        count = f"{len(values)} numbers, one bar each"
        shapes += [
            svg.text(middle, top - 30, name, size=14, bold=True, anchor="middle"),
            svg.text(middle, top - 13, count, size=12, fill=style.MUTED, anchor="middle"),
            _bars(left, top, wide, tall, values, ghost, has_labels=n == 2),
        ]
        if n:
            x, y = left - gap / 2, top + tall / 2
            arrow = [(x - 4, y - 7), (x + 4, y), (x - 4, y + 7)]
            shapes.append(svg.path(arrow, stroke=style.MUTED, width=2))
    return shapes


def _forward(
    x: torch.Tensor, ratio: float, act: Callable[[torch.Tensor], torch.Tensor], row: int
) -> tuple[list[float], list[float], list[float]]:
    w1, b1, w2, b2 = weights(ratio, x.shape[1], torch.float64)
    pre = _affine(x, w1, b1)  # [T, d_ff]
    hidden = act(pre)  # [T, d_ff]
    out = _affine(hidden, w2, b2)  # [T, d_model]
    return pre[row].tolist(), hidden[row].tolist(), out[row].tolist()


def _affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x @ weight + bias without a matrix multiplication: for these sizes, starting its threads takes longer than the sum."""
    return (x[..., None] * weight).sum(-2) + bias


def _permutation() -> list[int]:
    """The tokens' old positions in a new order in which no token keeps its place."""
    return [9, 6, 12, 0, 7, 3, 10, 13, 1, 5, 2, 8, 4, 11]


def _tape(order: list[int], place: int, was: int | None, top: float) -> str:
    """The sentence as numbered boxes in two rows of seven, one filled; a dashed frame where it was before."""
    pitch, wide, tall = (RIGHT - LEFT + 6) / 7, (RIGHT - LEFT + 6) / 7 - 6, 28.0
    shapes = []
    for slot, index in enumerate(order):
        x, y = LEFT + slot % 7 * pitch, top + slot // 7 * (tall + 6)
        here = slot == place
        box = svg.rect(
            x,
            y,
            wide,
            tall,
            radius=6,
            fill=style.INK if here else style.TINT,
            stroke=style.INK if slot == was else "none",
            stroke_width=1.5,
            dash="4 3" if slot == was else "",
        )
        number = svg.text(x + 6, y + 18.5, str(slot), size=11, fill=style.RULE if here else style.MUTED)
        word = svg.text(x + 23.5, y + 19, TOKENS[index], size=13.5, fill=style.PAPER if here else style.INK)
        shapes.append(svg.button(box, number, word, sets={"position": index}, name=f"token {slot}, {TOKENS[index]}"))
    return "".join(shapes)


def _bars(
    left: float,
    top: float,
    wide: float,
    tall: float,
    values: list[float],
    ghost: list[float] | None,
    has_labels: bool,
) -> str:
    """Bars right (positive) and left (negative) of a zero line; an exact zero is a ring; `ghost` is pale."""
    zero, unit = left + wide / 2, wide / 2 / REACH
    pitch = min(tall / len(values), 24.0)
    thick = pitch * 0.7
    first = top + (tall - pitch * len(values)) / 2
    ticks = [(wide / 2 + value * unit, svg.label(value)) for value in (-REACH, 0, REACH)]
    shapes = [svg.line(left + x, top, left + x, top + tall, stroke=style.TINT) for x, _ in ticks]
    for j, value in enumerate(values):
        y = first + pitch * j + (pitch - thick) / 2
        if ghost is not None:
            shapes.append(_bar(zero, y, ghost[j] * unit, thick, style.GHOST, ""))
        if value == 0:
            shapes.append(
                svg.circle(
                    zero,
                    y + thick / 2,
                    min(thick / 2, 3.5),
                    fill=style.PAPER,
                    stroke=style.MUTED,
                    tip=f"{j}: exactly 0",
                )
            )
        else:
            shapes.append(_bar(zero, y, value * unit, thick, style.signed(value), f"{j}: {svg.label(value, 3)}"))
        if has_labels:
            side = 1 if value >= 0 else -1
            shapes.append(
                svg.text(
                    zero + value * unit + side * 5,
                    y + thick / 2 + 4,
                    svg.label(value, pad=True),
                    size=12,
                    anchor="start" if side > 0 else "end",
                    halo=True,
                )
            )
    shapes.insert(3, svg.line(zero, top, zero, top + tall, stroke=style.NEUTRAL))
    return "".join(shapes) + svg.axis(left, top + tall, wide, ticks)


def _bar(zero: float, y: float, length: float, thick: float, fill: str, tip: str) -> str:
    return svg.rect(min(zero, zero + length), y, abs(length), thick, fill=fill, tip=tip)


def by_hand_weights(dtype: torch.dtype = torch.float32) -> Weights:
    """The 2 → 3 → 2 network of `by_hand`: W1 [2, 3], b1 [3], W2 [3, 2], b2 [2], all whole numbers."""
    return Weights(
        torch.tensor([[1, 1, -1], [1, -1, 1]], dtype=dtype),
        torch.tensor([-1, 0, 0], dtype=dtype),
        torch.tensor([[1, -1], [-1, 1], [-1, 1]], dtype=dtype),
        torch.tensor([1, 0], dtype=dtype),
    )


INPUTS = ("cold", "water")
NEURONS = ("cold and water", "cold, not water", "water, not cold")
OUTPUTS = ("over", "into")
UNCHANGED, WEIGHTS = -1, 12
TURNED = range(UNCHANGED, WEIGHTS)  # what a hand can ask of `by_hand`
HIGHEST = 2.0  # of either input


class _Network(NamedTuple):
    """The weights of `by_hand` as lists."""

    W1: list[list[float]]  # [2, 3]
    b1: list[float]  # [3]
    W2: list[list[float]]  # [3, 2]
    b2: list[float]  # [2]


class _Stages(NamedTuple):
    """What the network makes of an input."""

    x: list[float]
    pre: list[float]  # what the three neurons add up
    act: list[float]  # what they pass on
    out: list[float]


def _stages(x: Sequence[float], network: _Network, with_relu: bool = True) -> _Stages:
    w1, b1, w2, b2 = network
    pre = [x[0] * w1[0][j] + x[1] * w1[1][j] + b1[j] for j in range(3)]
    act = [max(0.0, value) for value in pre] if with_relu else pre
    out = [sum(act[j] * w2[j][k] for j in range(3)) + b2[k] for k in range(2)]
    return _Stages([float(value) for value in x], pre, act, out)


def _turned(flipped: int) -> tuple[_Network, str]:
    """The network with the sign of one weight turned, and that in words; without words, as it is."""
    network = _Network(*(part.tolist() for part in by_hand_weights(torch.float64)))
    if flipped == UNCHANGED:
        return network, ""
    name, matrix, number = ("W1", network.W1, flipped) if flipped < 6 else ("W2", network.W2, flipped - 6)
    row, column = divmod(number, len(matrix[0]))
    matrix[row][column] *= -1
    return network, f" and the weight {name}[{row}, {column}] turned to {svg.label(matrix[row][column])}"


# Where the boxes are: of inputs, neurons and outputs
_BOX_LEFT = (LEFT, 228.0, 476.0)
_BOX_WIDE = (84.0, 144.0, 144.0)
_BOX_MIDDLE = ((146.0, 318.0), (94.0, 232.0, 370.0), (146.0, 318.0))


def by_hand(x1: float = 2.0, x2: float = 1.0, flipped: int = UNCHANGED) -> Picture:
    """A ReLU network 2 → 3 → 2 with whole weights and every product written out.

    x1 says how cold a place is, x2 how much it is water. `flipped` is the weight whose sign is turned, 0 to 5 in W1 and 6 to 11 in
    W2, row by row.
    """
    if flipped not in TURNED:
        raise ValueError(f"flipped must be a weight, 0 to {WEIGHTS - 1}, or {UNCHANGED} for none, not {flipped}")
    network, change = _turned(flipped)
    stages = _stages((x1, x2), network)
    title, words = _by_hand_words(stages, change)
    shapes = [*_weights_on_edges(network, stages, flipped), *_boxes(network, stages), *_heads_and_notes()]
    return Picture(title, words, svg.card(506, title, words, *shapes))


def _by_hand_words(stages: _Stages, change: str) -> tuple[str, str]:
    """Title and sentence; change: which weight is turned, in words."""
    silent = sum(value <= 0 for value in stages.pre)
    fires = (
        "All three neurons fire",
        "Two of three neurons fire",
        "One of three neurons fires",
        "No neuron fires",
    )[silent]
    outputs = " and ".join(f"{name} {svg.label(value)}" for name, value in zip(OUTPUTS, stages.out, strict=True))
    pre, act = (", ".join(map(svg.label, values)) for values in (stages.pre, stages.act))
    cold, water = map(svg.label, stages.x)
    words = (
        f"With cold {cold} and water {water}{change} the three neurons get {pre}; "
        f"ReLU leaves {act}; the outputs are {outputs}."
    )
    return f"{fires}: {outputs}", words


def _weights_on_edges(network: _Network, stages: _Stages, flipped: int) -> list[str]:
    """A line for each weight, and above all lines the weights, to be pressed."""
    edges, labels = [], []
    for layer, matrix, first, share in ((0, network.W1, 0, 0.68), (1, network.W2, 6, 0.34)):
        for i, row in enumerate(matrix):
            for j, weight in enumerate(row):
                start = (_BOX_LEFT[layer] + _BOX_WIDE[layer], _BOX_MIDDLE[layer][i])
                end = (_BOX_LEFT[layer + 1], _BOX_MIDDLE[layer + 1][j])
                silent = layer == 1 and stages.act[i] == 0
                edges.append(_edge(start, end, weight, silent))
                number = first + len(row) * i + j
                labels.append(_weight(start, end, share, weight, silent, number, number == flipped))
    return edges + labels


def _boxes(network: _Network, stages: _Stages) -> list[str]:
    """Inputs with their dials, neurons and outputs with their sums."""
    shapes = []
    for i, (name, value) in enumerate(zip(INPUTS, stages.x, strict=True)):
        shapes.append(_node(0, i, name, svg.label(value), "", silent=False))
        shapes.append(_dial(_BOX_LEFT[0], _BOX_MIDDLE[0][i] + 40, _BOX_WIDE[0], f"x{i + 1}", name, value))
    for j, name in enumerate(NEURONS):
        result = f"{svg.label(stages.pre[j])} → {svg.label(stages.act[j])}"
        written = _sum(_terms(stages.x, network.W1, j), network.b1[j])
        shapes.append(_node(1, j, name, result, written, silent=stages.act[j] == 0))
    for k, name in enumerate(OUTPUTS):
        written = _sum(_terms(stages.act, network.W2, k), network.b2[k])
        shapes.append(_node(2, k, name, svg.label(stages.out[k]), written, silent=False))
    return shapes


def _heads_and_notes() -> list[str]:
    heads = ("x", "h = ReLU(x W1 + b1)", "out = h W2 + b2")
    notes = (
        "Below a box: weight × value for each arrow that enters it, and last the bias.",
        "Drag a knob to change an input. Press a weight to turn its sign.",
    )
    return [
        *(
            svg.text(left + wide / 2, 446, head, size=14, bold=True, anchor="middle")
            for left, wide, head in zip(_BOX_LEFT, _BOX_WIDE, heads, strict=True)
        ),
        *(
            svg.text(svg.WIDTH / 2, 472 + 18 * n, note, size=12.5, fill=style.MUTED, anchor="middle")
            for n, note in enumerate(notes)
        ),
    ]


def _terms(values: list[float], matrix: list[list[float]], to: int) -> list[float]:
    """The products that neuron `to` of the next layer adds up."""
    return [value * row[to] for value, row in zip(values, matrix, strict=True)]


def _sum(terms: list[float], bias: float) -> str:
    """The products and the bias as one written sum; the bias stands last."""
    text = svg.label(terms[0])
    for term in [*terms[1:], bias]:
        text += f" {'−' if term < 0 else '+'} {svg.label(abs(term))}"
    return text


def _edge(start: Corner, end: Corner, weight: float, silent: bool) -> str:
    colour = style.RULE if silent else style.signed(weight)
    return svg.line(*start, *end, stroke=colour, width=1.4 * abs(weight), dash="3 5" if silent else "")


def _weight(start: Corner, end: Corner, share: float, weight: float, silent: bool, number: int, is_turned: bool) -> str:
    """A weight on its edge, at this share of the way, with room for a finger; framed where its sign was turned."""
    (x1, y1), (x2, y2) = start, end
    x, y = x1 + (x2 - x1) * share, y1 + (y2 - y1) * share
    signed = ("+" if weight > 0 else "") + svg.label(weight)
    fill = style.NEUTRAL if silent else style.signed(weight)
    ground = style.PAPER if is_turned else "transparent"
    frame = style.INK if is_turned else "none"
    label = svg.label(weight)
    return svg.button(
        svg.rect(x - 16, y - 12, 32, 24, radius=6, fill=ground, stroke=frame),
        svg.text(x, y + 4.5, signed, size=13, fill=fill, anchor="middle", bold=True, halo=True),
        sets={"flipped": UNCHANGED if is_turned else number},
        name=f"weight {label}, turned" if is_turned else f"turn the sign of weight {label}",
    )


def _dial(left: float, y: float, wide: float, parameter: str, name: str, value: float) -> str:
    """A track from 0 to 2 with a knob on it, for a hand."""
    knob = left + wide * min(max(value, 0.0), HIGHEST) / HIGHEST
    scale = svg.across((left, left + wide), (0.0, HIGHEST))
    track = svg.line(left, y, left + wide, y, stroke=style.RULE, width=4)
    return track + svg.handle(knob, y, drags={parameter: scale}, name=name, says=svg.label(value))


def _node(layer: int, n: int, name: str, result: str, terms: str, silent: bool) -> str:
    """A box with a value, its name above it and the sum that gives it below."""
    left, wide, middle, tall = _BOX_LEFT[layer], _BOX_WIDE[layer], _BOX_MIDDLE[layer][n], 40.0
    ink = style.MUTED if silent else style.INK
    x = left + wide / 2
    return "".join(
        (
            svg.rect(
                left,
                middle - tall / 2,
                wide,
                tall,
                radius=8,
                fill=style.TINT if silent else style.PAPER,
                stroke=style.NEUTRAL if silent else style.INK,
                stroke_width=1.5,
                dash="4 3" if silent else "",
            ),
            svg.text(x, middle + 6, result, size=17, bold=True, anchor="middle", fill=ink),
            svg.text(x, middle - tall / 2 - 8, name, size=13, anchor="middle", fill=ink, halo=True),
            svg.text(x, middle + tall / 2 + 17, terms, size=12.5, anchor="middle", fill=style.MUTED, halo=True),
        )
    )


# The sheet over the plane of `by_hand`'s inputs

QUARTERS = tuple(n / 4 for n in range(9))  # where a hand can put the point, 0 to HIGHEST
HINGES: tuple[tuple[Corner, Corner], ...] = (((0, 1), (1, 0)), ((0, 0), (2, 2)), ((0, 0), (2, 2)))  # of each neuron
# The pieces between the kinks, and which neurons fire there; far ones first.
PIECES: tuple[tuple[tuple[Corner, ...], tuple[int, ...]], ...] = (
    (((0, 1), (0.5, 0.5), (2, 2), (0, 2)), (0, 2)),
    (((1, 0), (2, 0), (2, 2), (0.5, 0.5)), (0, 1)),
    (((0, 0), (0.5, 0.5), (0, 1)), (2,)),
    (((0, 0), (1, 0), (0.5, 0.5)), (1,)),
)
WHOLE: tuple[tuple[tuple[Corner, ...], tuple[int, ...]], ...] = ((((0, 0), (2, 0), (2, 2), (0, 2)), ()),)
PLANE = plot.Frame(
    (0, HIGHEST), (0, HIGHEST), "cold", "water", (0, 0.5, 1, 1.5, 2), (0, 0.5, 1, 1.5, 2),
    left=52, right=308, top=74, bottom=330, grid="",
)  # fmt: skip
RISES = (22.0, 14.5)  # units of the card for a height of 1, of each output


_SUMS_TOP = 404.0


def folded(x1: float = 1.0, x2: float = 1.0, output: int = 0, bent: bool = True) -> Picture:
    """One output of the network of `by_hand` over the plane of its inputs: from above, with the neurons' kinks, and as a sheet in space.

    output: 0 for over, 1 for into. Not bent: without ReLU, so that no neuron has a kink.
    """
    for name, value in zip(INPUTS, (x1, x2), strict=True):
        if not 0 <= value <= HIGHEST:
            raise ValueError(f"{name} must be from 0 to {HIGHEST:g}, not {value}")
    _inside("output", output, len(OUTPUTS))
    stages = _stages((x1, x2), _network(), bent)
    title, words = _folded_words(stages, output, bent)
    shapes = [
        _draw_sheet(output, bent),
        *_point_and_sheet(stages, output, bent),
        *_sums_of_neurons(stages, bent),
        *(_button_of_output(stages, k, k == output) for k in range(2)),
    ]
    return Picture(title, words, svg.card(502, title, words, *shapes))


def _place(stages: _Stages) -> str:
    cold, water = map(svg.label, stages.x)
    return f"cold {cold} and water {water}"


def _folded_words(stages: _Stages, output: int, bent: bool) -> tuple[str, str]:
    """Title and sentence."""
    name = OUTPUTS[output]
    height = svg.label(stages.out[output])
    if not bent:
        title = f"{name.capitalize()} without ReLU: 1 flat piece, {height} high"
        words = (
            f"Without ReLU each neuron passes on all that it adds up, so none has a kink and the sheet of “{name}” is "
            f"one flat piece. At {_place(stages)} it is {height} high."
        )
        return title, words
    firing = [f"“{neuron}”" for neuron, value in zip(NEURONS, stages.pre, strict=True) if value > 0]
    fires = f"{' and '.join(firing) or 'no neuron'} {'fires' if len(firing) < 2 else 'fire'}"
    title = f"{name.capitalize()}: {height} high at the point"  # the guess beside it asks how many pieces there are
    words = (
        f"At {_place(stages)}, {fires}, and the sheet of “{name}” is {height} high. "
        f"Its flat pieces meet at the kinks, the lines on which a neuron begins to fire."
    )
    return title, words


def _point_and_sheet(stages: _Stages, output: int, bent: bool) -> list[str]:
    """The point on the sheet, above its place on the floor, and its knob in the plane."""
    cold, water = stages.x
    height = stages.out[output]
    on_sheet, on_floor = (_in_space(cold, water, up, output, bent) for up in (height, None))
    scales = {
        "x1": svg.across((PLANE.left, PLANE.right), (0.0, HIGHEST)),
        "x2": svg.upright((PLANE.bottom, PLANE.top), (0.0, HIGHEST)),
    }
    return [
        svg.line(*on_floor, *on_sheet, stroke=style.INK, width=1.5, dash="3 4"),
        svg.circle(*on_sheet, 6, fill=style.INK, stroke=style.PAPER, stroke_width=2),
        svg.text(on_sheet[0], on_sheet[1] - 12, svg.label(height), size=14, bold=True, anchor="middle", halo=True),
        svg.handle(*PLANE.at(cold, water), drags=scales, name="the point: cold and water", says=_place(stages)),
    ]


def _sums_of_neurons(stages: _Stages, bent: bool) -> list[str]:
    """Each neuron with its colour, what it adds up, and what it passes on."""
    network = _network()
    shapes = []
    for j, (name, hue) in enumerate(zip(NEURONS, _HUES, strict=True)):
        y = _SUMS_TOP + 24 * j
        silent = bent and stages.act[j] == 0
        ink = style.MUTED if silent else style.INK
        sums = f"{_sum(_terms(stages.x, network.W1, j), network.b1[j])} = {svg.label(stages.pre[j])}"
        if bent:
            sums += f" → {svg.label(stages.act[j])}"
        shapes += [
            svg.circle(LEFT + 8, y - 4.5, 6, fill=style.PAPER if silent else hue, stroke=hue, stroke_width=2),
            svg.text(LEFT + 22, y, name, size=13, fill=ink),
            svg.text(LEFT + 126, y, sums, size=12.5, fill=ink),
        ]
    return shapes


def _button_of_output(stages: _Stages, k: int, here: bool) -> str:
    """Output k and its sum; pressed, its sheet is shown."""
    y = _SUMS_TOP - 18 + 36 * k
    network = _network()
    written = _sum(_terms(stages.act, network.W2, k), network.b2[k])
    frame = svg.rect(
        326, y, RIGHT - 326, 30, radius=7, fill=style.PAPER, stroke=style.INK if here else style.RULE,
        stroke_width=2 if here else 1,
    )  # fmt: skip
    words = [
        svg.text(334, y + 20, OUTPUTS[k], size=12.5, bold=True, fill=style.INK if here else style.MUTED),
        svg.text(374, y + 20, f"{written} =", size=11.5, fill=style.MUTED),
        svg.text(RIGHT - 10, y + 20, svg.label(stages.out[k]), size=14, bold=True, anchor="end"),
    ]
    return svg.button(frame, *words, sets={"output": k}, name=f"the sheet of {OUTPUTS[k]}")


_HUES = (style.SERIES[4], style.SERIES[1], style.SERIES[2])  # of the three neurons


@cache
def _network() -> _Network:
    return _turned(UNCHANGED)[0]


@cache
def _height(cold: float, water: float, output: int, with_relu: bool) -> float:
    return _stages((cold, water), _network(), with_relu).out[output]


def _in_space(cold: float, water: float, height: float | None, output: int, with_relu: bool) -> Corner:
    """Where a point of the sheet, or without a height of the floor below it, is drawn: cold goes to the right, water to the back."""
    lowest = min(_height(*corner, output, with_relu) for corners, _ in PIECES for corner in corners)
    up = 0.0 if height is None else RISES[output] * (height - lowest + 0.6)
    return 364 + 84 * cold + 40 * water, 330 + 9 * cold - 33 * water - up


@cache
def _draw_sheet(output: int, with_relu: bool) -> str:
    """All that does not move with the point: the plane with its kinks and lines of equal height, and the sheet in space."""
    shapes = [svg.path([_in_space(*c, None, output, with_relu) for c in WHOLE[0][0]], fill=style.TINT, closed=True)]
    levels: dict[int, list[tuple[Corner, Corner]]] = {}
    for corners, firing in PIECES if with_relu else WHOLE:
        heights = [_height(*corner, output, with_relu) for corner in corners]
        flat = [PLANE.at(*corner) for corner in corners]
        sheet = [_in_space(*c, height, output, with_relu) for c, height in zip(corners, heights, strict=True)]
        shapes += [_piece(flat, firing), _piece(sheet, firing), svg.path(sheet, stroke=style.MUTED, closed=True)]
        for level in range(math.floor(min(heights)) + 1, math.ceil(max(heights))):
            ends = _crossing(corners, heights, level)
            if ends:
                levels.setdefault(level, []).append(ends)
                space = [_in_space(*end, level, output, with_relu) for end in ends]
                shapes.append(svg.path(space, stroke=style.MUTED, width=1.6 if level == 0 else 0.8, dash=_dash(level)))
    shapes.append(PLANE.axes())
    for level, segments in levels.items():
        for start, end in segments:
            shapes.append(
                svg.line(
                    *PLANE.at(*start),
                    *PLANE.at(*end),
                    stroke=style.MUTED,
                    width=2 if level == 0 else 1,
                    dash=_dash(level),
                )
            )
    if with_relu:
        for j, (hinge, aside) in enumerate(zip(HINGES, (0.0, 1.6, -1.6), strict=True)):
            (x0, y0), (x1, y1) = (PLANE.at(*end) for end in hinge)
            shapes.append(svg.line(x0 + aside, y0 + aside, x1 + aside, y1 + aside, stroke=_HUES[j], width=3))
    for level, segments in levels.items():
        start, end = max(segments, key=lambda ends: math.dist(*ends))
        x, y = PLANE.at((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        shapes.append(svg.text(x, y + 4, svg.label(level), size=12, anchor="middle", fill=style.MUTED, halo=True))
    if with_relu:
        places = (((0.06, 1.07), "start"), ((1.96, 0.07), "end"), ((0.06, 1.87), "start"))
        for j, (place, anchor) in enumerate(places):
            shapes.append(
                svg.text(*PLANE.at(*place), NEURONS[j], size=12.5, fill=_HUES[j], anchor=anchor, bold=True, halo=True)
            )
    shapes += [
        svg.text(PLANE.left, 54, "from above, with lines of equal height", size=12.5, fill=style.MUTED),
        svg.text(352, 54, f"as a sheet: how high “{OUTPUTS[output]}” is", size=12.5, fill=style.MUTED),
        svg.text(440, 358, "cold →", size=12, anchor="middle", fill=style.MUTED),
        svg.text(570, 336, "water ↗", size=12, fill=style.MUTED),
        svg.text(
            svg.WIDTH / 2,
            488,
            "Drag the point. From line to line the height changes by 1: thick is 0, dashed is below.",
            size=12.5,
            fill=style.MUTED,
            anchor="middle",
        ),
    ]
    return "".join(shapes)


def _piece(corners: list[Corner], firing: tuple[int, ...]) -> str:
    """A piece in the pale colours of the neurons that fire on it, one over the other."""
    tints = [svg.group(svg.path(corners, fill=_HUES[j], closed=True), opacity=0.2) for j in firing]
    return svg.path(corners, fill=style.PAPER, closed=True) + "".join(tints)


def _dash(level: int) -> str:
    return "5 4" if level < 0 else ""


def _crossing(corners: Sequence[Corner], heights: list[float], level: float) -> tuple[Corner, Corner] | None:
    """The ends of the line on a flat piece where its height is `level`."""
    points: list[Corner] = [c for c, height in zip(corners, heights, strict=True) if height == level]
    for n, (a, b) in enumerate(zip(corners, [*corners[1:], corners[0]], strict=True)):
        low, high = heights[n], heights[(n + 1) % len(corners)]
        if (low - level) * (high - level) < 0:
            share = (level - low) / (high - low)
            points.append((a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])))
    return (points[0], points[1]) if len(points) == 2 else None


def _find_activation(activation: str) -> Callable[[torch.Tensor], torch.Tensor]:
    if activation not in ACTIVATIONS:
        raise ValueError(f"there is no activation {activation!r} here; choose {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[activation]


def _inside(name: str, index: int, count: int) -> None:
    if not 0 <= index < count:
        raise ValueError(f"{name} must be from 0 to {count - 1}, not {index}")
