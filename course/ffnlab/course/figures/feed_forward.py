"""The figures of notebook 02: a network to do by hand and the sheet that it folds, one token's trace, the widening, and what is bent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

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
    "bend",
    "by_hand",
    "by_hand_weights",
    "embeddings",
    "expand_contract",
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


def trace(position: int = 1, ratio: float = 4.0, activation: str = "ReLU", permute: bool = False) -> Picture:
    """One token's way through the FFN: pre [d_ff], act [d_ff] and out [d_model] as bars from a common zero.

    `position` is the token's place in the sentence as written; with `permute` the sentence is shuffled and
    the token goes along. GELU is the erf form. The whole sentence is computed at once, one row is shown.
    """
    act = _find_activation(activation)
    _inside("position", position, len(TOKENS))
    order = _permutation() if permute else list(range(len(TOKENS)))
    place = order.index(position)
    pre, hidden, out = _forward(embeddings(dtype=torch.float64)[order], ratio, act, place)
    token, d_ff = TOKENS[position], len(pre)
    below = sum(value < 0 for value in pre)
    silent = sum(value == 0 for value in hidden)

    if permute:
        before = _forward(embeddings(dtype=torch.float64), ratio, act, position)
        gap = max(
            abs(a - b)
            for new, old in zip((pre, hidden, out), before, strict=True)
            for a, b in zip(new, old, strict=True)
        )
        same = "stay the same" if gap < 1e-12 else f"change by {gap:.1e}"
        title = f"“{token}” moves from {position} to {place}, its vectors {same}"
        sentence = (
            f"The sentence is shuffled and “{token}” is now at position {place} instead of {position}; "
            f"its {d_ff} numbers before {activation}, {d_ff} after it and {D_MODEL} outputs {same}: "
            f"an FFN does not see positions."
        )
    else:
        negative = f"For “{token}”, {below} of {d_ff} hidden numbers are negative;"
        if activation == "identity":
            title = f"Identity: act is the same as pre for “{token}”"
            sentence = f"{negative} without an activation they stay as they are, and act equals pre."
        else:
            title = f"{activation} silences {silent or 'none'} of {d_ff} neurons for “{token}”"
            lowest = svg.label(min(hidden))
            exact_zeros = "none is" if silent == 0 else f"{silent} are"
            sentence = f"{negative} {activation} " + (
                f"sets {silent} to exactly 0 and passes the other {d_ff - silent} unchanged."
                if activation == "ReLU"
                else f"keeps them small and negative, down to {lowest}, and {exact_zeros} exactly 0."
            )
        sentence += f" The outputs run from {svg.label(min(out))} to {svg.label(max(out))}."
        twins = [n for n, other in enumerate(TOKENS) if other.lower() == token.lower() and n != position]
        if twins:
            sentence += f" Position {twins[0]} holds the same word: same vectors."

    top, tall, wide, gap_x = 178.0, 288.0, 168.0, 48.0
    panels = (
        ("pre = x W1 + b1", pre, None),
        (f"act = {activation}(pre)", hidden, pre),
        ("out = act W2 + b2", out, None),
    )
    shapes = [_tape(order, place, position if permute else None, top=52)]
    for index, (name, values, ghost) in enumerate(panels):
        left = LEFT + index * (wide + gap_x)
        shapes += [
            svg.text(left + wide / 2, top - 30, name, size=14, bold=True, anchor="middle"),
            svg.text(
                left + wide / 2,
                top - 13,
                f"{len(values)} numbers, one bar each",
                size=12,
                fill=style.MUTED,
                anchor="middle",
            ),
            _bars(left, top, wide, tall, values, ghost, has_labels=index == 2),
        ]
        if index:
            x, y = left - gap_x / 2, top + tall / 2
            arrow = [(x - 4, y - 7), (x + 4, y), (x - 4, y + 7)]
            shapes.append(svg.path(arrow, stroke=style.MUTED, width=2))
    return Picture(title, sentence, svg.card(top + tall + 38, title, sentence, *shapes))


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
    ticks = [(wide / 2 + at * unit, svg.label(at)) for at in (-REACH, 0, REACH)]
    shapes = [svg.line(left + at, top, left + at, top + tall, stroke=style.TINT) for at, _ in ticks]
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
        torch.tensor([[2, -1], [-1, -1], [-1, 2]], dtype=dtype),
        torch.tensor([-1, 1], dtype=dtype),
    )


INPUTS = ("cold", "water")
NEURONS = ("cold and water", "cold, not water", "water, not cold")
OUTPUTS = ("unpleasant", "inviting")
UNCHANGED, WEIGHTS = -1, 12
TURNED = range(UNCHANGED, WEIGHTS)  # what a hand can ask of `by_hand`
HIGHEST = 2.0  # of either input


def by_hand(x1: float = 2.0, x2: float = 1.0, flipped: int = UNCHANGED) -> Picture:
    """A ReLU network 2 → 3 → 2 with whole weights and every product written out.

    x1 says how cold a thing is, x2 how much it is water. `flipped` is the weight whose sign is turned, 0 to 5 in W1 and 6 to 11 in
    W2, row by row.
    """
    if flipped not in TURNED:
        raise ValueError(f"flipped must be a weight, 0 to {WEIGHTS - 1}, or {UNCHANGED} for none, not {flipped}")
    w1, b1, w2, b2 = (part.tolist() for part in by_hand_weights(torch.float64))
    change = ""
    if flipped != UNCHANGED:
        matrix, place = (w1, flipped) if flipped < 6 else (w2, flipped - 6)
        row, column = divmod(place, len(matrix[0]))
        matrix[row][column] *= -1
        change = f" and the weight {'W1' if flipped < 6 else 'W2'}[{row}, {column}] turned to {svg.label(matrix[row][column])}"
    x = [float(x1), float(x2)]
    pre, act, out = _stages(x, w1, b1, w2, b2)

    dead = sum(value <= 0 for value in pre)
    fires = {
        0: "All three neurons fire",
        1: "Two of three neurons fire",
        2: "One of three neurons fires",
        3: "No neuron fires",
    }
    outputs = " and ".join(f"{name} {svg.label(value)}" for name, value in zip(OUTPUTS, out, strict=True))
    title = f"{fires[dead]}: {outputs}"
    layers = [", ".join(map(svg.label, values)) for values in (pre, act)]
    sentence = (
        f"With cold {svg.label(x[0])} and water {svg.label(x[1])}{change} the three neurons get {layers[0]}; "
        f"ReLU leaves {layers[1]}; the outputs are {outputs}."
    )

    x_left, x_mid, x_right = LEFT, 228.0, 476.0
    wide = (84.0, 144.0, 144.0)
    ins, mids = (146.0, 318.0), (94.0, 232.0, 370.0)
    shapes = []
    edges, labels = [], []

    def join(ends: tuple[float, float, float, float], weight: float, number: int, at: float, silent: bool) -> None:
        edges.append(_edge(*ends, weight, silent))
        is_turned = number == flipped
        press = {"flipped": UNCHANGED if is_turned else number}
        name = f"weight {svg.label(weight)}, turned" if is_turned else f"turn the sign of weight {svg.label(weight)}"
        labels.append(svg.button(_weight(*ends, weight, at, silent, is_turned), sets=press, name=name))

    for i in range(2):
        for j in range(3):
            join((x_left + wide[0], ins[i], x_mid, mids[j]), w1[i][j], 3 * i + j, 0.68, silent=False)
    for j in range(3):
        for k in range(2):
            join((x_mid + wide[1], mids[j], x_right, ins[k]), w2[j][k], 6 + 2 * j + k, 0.34, silent=act[j] == 0)
    shapes += edges + labels
    for i in range(2):
        shapes.append(_node(x_left, ins[i], wide[0], INPUTS[i], svg.label(x[i]), "", silent=False))
        shapes.append(_dial(x_left, ins[i] + 40, wide[0], f"x{i + 1}", INPUTS[i], x[i]))
    for j in range(3):
        terms = [x[0] * w1[0][j], x[1] * w1[1][j]]
        result = f"{svg.label(pre[j])} → {svg.label(act[j])}"
        shapes.append(_node(x_mid, mids[j], wide[1], NEURONS[j], result, _sum(terms, b1[j]), silent=act[j] == 0))
    for k in range(2):
        terms = [act[j] * w2[j][k] for j in range(3)]
        shapes.append(_node(x_right, ins[k], wide[2], OUTPUTS[k], svg.label(out[k]), _sum(terms, b2[k]), silent=False))
    heads = (
        ("x", x_left, wide[0]),
        ("h = ReLU(x W1 + b1)", x_mid, wide[1]),
        ("out = h W2 + b2", x_right, wide[2]),
    )
    shapes += [
        svg.text(left + width / 2, 446, name, size=14, bold=True, anchor="middle") for name, left, width in heads
    ]
    notes = (
        "Below a box: weight × value for each arrow that enters it, and last the bias.",
        "Drag a knob to change an input. Press a weight to turn its sign.",
    )
    shapes += [
        svg.text(svg.WIDTH / 2, 472 + 18 * n, note, size=12.5, fill=style.MUTED, anchor="middle")
        for n, note in enumerate(notes)
    ]
    return Picture(title, sentence, svg.card(506, title, sentence, *shapes))


def _stages(
    x: Sequence[float],
    w1: list[list[float]],
    b1: list[float],
    w2: list[list[float]],
    b2: list[float],
    with_relu: bool = True,
) -> tuple[list[float], list[float], list[float]]:
    """What the three neurons of `by_hand` add up, what they pass on, and the two outputs."""
    pre = [x[0] * w1[0][j] + x[1] * w1[1][j] + b1[j] for j in range(3)]
    act = [max(0.0, value) for value in pre] if with_relu else pre
    return pre, act, [sum(act[j] * w2[j][k] for j in range(3)) + b2[k] for k in range(2)]


def _sum(terms: list[float], bias: float) -> str:
    """The products and the bias as one written sum; the bias stands last."""
    text = svg.label(terms[0])
    for term in [*terms[1:], bias]:
        text += f" {'−' if term < 0 else '+'} {svg.label(abs(term))}"
    return text


def _edge(x1: float, y1: float, x2: float, y2: float, weight: float, silent: bool) -> str:
    colour = style.RULE if silent else style.signed(weight)
    return svg.line(x1, y1, x2, y2, stroke=colour, width=1.4 * abs(weight), dash="3 5" if silent else "")


def _weight(x1: float, y1: float, x2: float, y2: float, weight: float, at: float, silent: bool, is_turned: bool) -> str:
    """A weight on its edge, with room for a finger; framed where its sign was turned."""
    x, y = x1 + (x2 - x1) * at, y1 + (y2 - y1) * at
    text = ("+" if weight > 0 else "") + svg.label(weight)
    fill = style.NEUTRAL if silent else style.signed(weight)
    frame = style.INK if is_turned else "none"
    return svg.rect(
        x - 16, y - 12, 32, 24, radius=6, fill=style.PAPER if is_turned else "transparent", stroke=frame
    ) + svg.text(x, y + 4.5, text, size=13, fill=fill, anchor="middle", bold=True, halo=True)


def _dial(left: float, y: float, wide: float, parameter: str, name: str, value: float) -> str:
    """A track from 0 to 2 with a knob on it, for a hand."""
    knob = left + wide * min(max(value, 0.0), HIGHEST) / HIGHEST
    scale = svg.across((left, left + wide), (0.0, HIGHEST))
    track = svg.line(left, y, left + wide, y, stroke=style.RULE, width=4)
    return track + svg.handle(knob, y, drags={parameter: scale}, name=name, says=svg.label(value))


def _node(left: float, middle: float, wide: float, name: str, result: str, terms: str, silent: bool) -> str:
    """A box with a value, its name above it and the sum that gives it below."""
    tall = 40.0
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

Corner = tuple[float, float]
QUARTERS = tuple(n / 4 for n in range(9))  # where a hand can put the point, 0 to HIGHEST
HINGES: tuple[tuple[Corner, Corner], ...] = (((0, 1), (1, 0)), ((0, 0), (2, 2)), ((0, 0), (2, 2)))  # of each neuron
PIECES: tuple[
    tuple[tuple[Corner, ...], tuple[int, ...]], ...
] = (  # between the hinges, and which neurons fire there; far ones first
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


def folded(x1: float = 1.0, x2: float = 1.0, output: int = 0, bent: bool = True) -> Picture:
    """One output of the network of `by_hand` over the plane of its inputs: from above, with the neurons' hinges, and as a sheet in space.

    output: 0 for unpleasant, 1 for inviting. Not bent: without ReLU, so that no neuron has a hinge.
    """
    for name, value in zip(INPUTS, (x1, x2), strict=True):
        if not 0 <= value <= HIGHEST:
            raise ValueError(f"{name} must be from 0 to {HIGHEST:g}, not {value}")
    _inside("output", output, len(OUTPUTS))
    w1, b1, w2, b2 = _by_hand()
    x = [float(x1), float(x2)]
    pre, act, out = _stages(x, w1, b1, w2, b2, bent)
    height, name = out[output], OUTPUTS[output]
    place = f"cold {svg.label(x[0])} and water {svg.label(x[1])}"
    if bent:
        firing = [f"“{NEURONS[j]}”" for j in range(3) if pre[j] > 0]
        fires = f"{' and '.join(firing) or 'no neuron'} fire{'s' if len(firing) < 2 else ''}"
        title = f"{name.capitalize()}: 4 flat pieces, {svg.label(height)} high at the point"
        sentence = (
            f"At {place}, {fires}, and the sheet of “{name}” is {svg.label(height)} high. "
            f"Its 4 flat pieces meet at the hinges, the lines on which a neuron begins to fire."
        )
    else:
        title = f"{name.capitalize()} without ReLU: 1 flat piece, {svg.label(height)} high"
        sentence = (
            f"Without ReLU each neuron passes on all that it adds up, so none has a hinge and the sheet of “{name}” is "
            f"one flat piece. At {place} it is {svg.label(height)} high."
        )

    across, down = PLANE.at(*x)
    on_sheet, on_floor = (_in_space(x[0], x[1], at, output, bent) for at in (height, None))
    shapes = [
        _draw_sheet(output, bent),
        svg.line(*on_floor, *on_sheet, stroke=style.INK, width=1.5, dash="3 4"),
        svg.circle(*on_sheet, 6, fill=style.INK, stroke=style.PAPER, stroke_width=2),
        svg.text(on_sheet[0], on_sheet[1] - 12, svg.label(height), size=14, bold=True, anchor="middle", halo=True),
        svg.handle(
            across,
            down,
            drags={
                "x1": svg.across((PLANE.left, PLANE.right), (0.0, HIGHEST)),
                "x2": svg.upright((PLANE.bottom, PLANE.top), (0.0, HIGHEST)),
            },
            name="the point: cold and water",
            says=place,
        ),
    ]
    top = 404.0
    for j in range(3):
        y, silent = top + 24 * j, bent and act[j] == 0
        ink = style.MUTED if silent else style.INK
        sums = f"{_sum([x[0] * w1[0][j], x[1] * w1[1][j]], b1[j])} = {svg.label(pre[j])}"
        sums += f" → {svg.label(act[j])}" if bent else ""
        shapes += [
            svg.circle(LEFT + 8, y - 4.5, 6, fill=style.PAPER if silent else _HUES[j], stroke=_HUES[j], stroke_width=2),
            svg.text(LEFT + 22, y, NEURONS[j], size=13, fill=ink),
            svg.text(LEFT + 126, y, sums, size=12.5, fill=ink),
        ]
    for k in range(2):
        y, here = top - 18 + 36 * k, k == output
        terms = _sum([act[j] * w2[j][k] for j in range(3)], b2[k])
        frame = svg.rect(
            326, y, RIGHT - 326, 30, radius=7, fill=style.PAPER, stroke=style.INK if here else style.RULE,
            stroke_width=2 if here else 1,
        )  # fmt: skip
        words = [
            svg.text(334, y + 20, OUTPUTS[k], size=12.5, bold=True, fill=style.INK if here else style.MUTED),
            svg.text(416, y + 20, f"{terms} =", size=11.5, fill=style.MUTED),
            svg.text(RIGHT - 10, y + 20, svg.label(out[k]), size=14, bold=True, anchor="end"),
        ]
        shapes.append(svg.button(frame, *words, sets={"output": k}, name=f"the sheet of {OUTPUTS[k]}"))
    return Picture(title, sentence, svg.card(502, title, sentence, *shapes))


_HUES = (style.SERIES[4], style.SERIES[1], style.SERIES[2])  # of the three neurons


@cache
def _by_hand() -> tuple[list[list[float]], list[float], list[list[float]], list[float]]:
    w1, b1, w2, b2 = (part.tolist() for part in by_hand_weights(torch.float64))
    return w1, b1, w2, b2


@cache
def _height(cold: float, water: float, output: int, with_relu: bool) -> float:
    return _stages((cold, water), *_by_hand(), with_relu)[2][output]


def _in_space(cold: float, water: float, height: float | None, output: int, with_relu: bool) -> Corner:
    """Where a point of the sheet, or without a height of the floor below it, is drawn: cold goes to the right, water to the back."""
    lowest = min(_height(*corner, output, with_relu) for corners, _ in PIECES for corner in corners)
    up = 0.0 if height is None else RISES[output] * (height - lowest + 0.6)
    return 364 + 84 * cold + 40 * water, 330 + 9 * cold - 33 * water - up


@cache
def _draw_sheet(output: int, with_relu: bool) -> str:
    """All that does not move with the point: the plane with its hinges and lines of equal height, and the sheet in space."""
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
        for j, (at, anchor) in enumerate((((0.06, 1.07), "start"), ((1.96, 0.07), "end"), ((0.06, 1.87), "start"))):
            shapes.append(
                svg.text(*PLANE.at(*at), NEURONS[j], size=12.5, fill=_HUES[j], anchor=anchor, bold=True, halo=True)
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


def expand_contract(token: int = 1, activated: bool = True, activation: str = "ReLU") -> Picture:
    """Four tokens as heat maps: x [4, 8], hidden layer [4, 32] before or after the activation, out [4, 8].

    The row of one token is framed.
    """
    act = _find_activation(activation)
    four, d_model = TOKENS[:4], 8
    _inside("token", token, len(four))
    x = embeddings(four, d_model, torch.float64)
    w1, b1, w2, b2 = weights(4, d_model, torch.float64)
    pre = _affine(x, w1, b1)  # [4, 32]
    hidden = act(pre)  # [4, 32]
    out = _affine(hidden, w2, b2)  # [4, 8]

    zeros = int((hidden == 0).sum())
    if not activated:
        title = "W1 widens each token from 8 numbers to 32"
        below, mine = int((pre < 0).sum()), int((pre[token] < 0).sum())
        sentence = (
            f"Four tokens of 8 numbers become four of 32, {below} of the 128 below zero, {mine} of them in the row of "
            f"“{four[token]}”, before {activation} and W2 bring back 4 × 8."
        )
    elif zeros:
        title = f"{activation} turns {zeros} of the 128 hidden numbers into zeros"
        mine = int((hidden[token] == 0).sum())
        sentence = (
            f"4 × 8 becomes 4 × 32 and again 4 × 8; {activation} sets {zeros} of the 128 hidden numbers to "
            f"zero, {mine} of the 32 in the row of “{four[token]}”."
        )
    else:
        title = f"{activation} turns none of the 128 hidden numbers into zero"
        low, own = (svg.label(float(part.min())) for part in (hidden, hidden[token]))
        sentence = (
            f"4 × 8 becomes 4 × 32 and again 4 × 8; after {activation} no hidden number is zero, the lowest is {low}, "
            f"and {own} in the row of “{four[token]}”."
        )

    cell, row = 16.0, 20.0
    hidden_name = f"{activation}(x W1 + b1)" if activated else "x W1 + b1"
    maps = (("x", x), (hidden_name, hidden if activated else pre), ("out", out))
    names = 58.0
    centre = LEFT + names + 16 * cell
    tops = (76.0, 204.0, 332.0)
    shapes = []
    for above, below_, (upper, lower) in ((0, 1, (8, 32)), (1, 2, (32, 8))):
        y1, y2 = tops[above] + 4 * row + 4, tops[below_] - 4
        corners = [(-upper, y1), (upper, y1), (lower, y2), (-lower, y2)]
        shapes.append(
            svg.path([(centre + n * cell / 2, y) for n, y in corners], fill=style.pale(style.TINT, 0.5), closed=True)
        )
    for top, (name, values) in zip(tops, maps, strict=True):
        columns = values.shape[1]
        left = centre - columns * cell / 2
        head = f"{name}  [4, {columns}]"
        shapes.append(svg.text(centre, top - 10, head, size=13, bold=True, anchor="middle", halo=True))
        for t in range(4):
            word = svg.text(
                left - 8,
                top + row * t + 14.5,
                four[t],
                size=12.5,
                anchor="end",
                bold=t == token,
                fill=style.INK if t == token else style.MUTED,
            )
            cells = [
                svg.rect(
                    left + cell * j,
                    top + row * t,
                    cell - 1,
                    row - 1,
                    fill=style.diverging(value, SHADE),
                    stroke=style.TINT,
                    stroke_width=0.6,
                    tip=f"{four[t]}, {j}: {svg.label(value, 3)}",
                )
                for j, value in enumerate(values[t].tolist())
            ]
            cells += [
                svg.circle(left + cell * (j + 0.5) - 0.5, top + row * (t + 0.5) - 0.5, 1.7, fill=style.NEUTRAL)
                for j, value in enumerate(values[t].tolist())
                if value == 0 and values is hidden
            ]
            ground = svg.rect(left - 54, top + row * t, 52, row - 1, fill=style.PAPER, radius=4)
            shapes.append(svg.button(ground, word, *cells, sets={"token": t}, name=f"the row of {four[t]} in {name}"))
        shapes.append(
            svg.rect(
                left - 1.5,
                top + row * token - 1.5,
                columns * cell + 2,
                row + 2,
                stroke=style.INK,
                stroke_width=1.8,
                radius=2,
            )
        )
    shapes.append(_legend(LEFT + names, tops[0] + 6))
    return Picture(title, sentence, svg.card(436, title, sentence, *shapes))


def _legend(left: float, top: float) -> str:
    """What the colours mean: -SHADE to SHADE in eleven steps, and the dot of an exact zero."""
    shades = [SHADE * n / 5 for n in range(-5, 6)]
    boxes = [svg.rect(left + 11 * n, top, 11, 12, fill=style.diverging(value, SHADE)) for n, value in enumerate(shades)]
    wide = 11.0 * len(shades)
    frame = svg.rect(left, top, wide, 12, stroke=style.RULE)
    words = [
        svg.text(left + at, top + 27, svg.label(value), size=12, fill=style.MUTED, anchor="middle")
        for at, value in ((5.5, -SHADE), (wide / 2, 0), (wide - 5.5, SHADE))
    ]
    dot = svg.circle(left + 5.5, top + 45, 1.7, fill=style.NEUTRAL)
    return "".join([*boxes, frame, *words, dot, svg.text(left + 17, top + 49, "exactly 0", size=12, fill=style.MUTED)])


def bend(alpha: float = 1.0) -> Picture:
    """One output number of the shared FFN (ratio 4) on a straight walk in input space, "creek" to "cold".

    The activation is (1 - alpha)·z + alpha·ReLU(z): identity at 0, ReLU at 1. Every neuron whose
    pre-activation changes sign on the way makes a kink; at alpha = 0 there is none and the line is straight.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be from 0 (identity) to 1 (ReLU), not {alpha}")
    start, end, output, low, high = "creek", "cold", 4, -2, 3
    x = embeddings((start, end), dtype=torch.float64)
    w1, b1, w2, b2 = weights(4, dtype=torch.float64)
    first, step = _affine(x[0], w1, b1), _affine(x[1] - x[0], w1, 0 * b1)  # [d_ff]: pre at "creek", change to "cold"
    kinks = sorted(s for s in (-first / step).tolist() if low < s < high)
    walk = torch.tensor([low, *kinks, high], dtype=torch.float64)
    pre = first + walk[:, None] * step  # [points, d_ff]
    straight = _affine(pre, w2, b2)[:, output]
    curve = _affine((1 - alpha) * pre + alpha * torch.relu(pre), w2, b2)[:, output]
    far = float((curve - straight).abs().max())

    name = "identity" if alpha == 0 else "ReLU" if alpha == 1 else f"{round(100 * alpha)} % ReLU"
    if alpha == 0:
        title = "Without an activation the FFN is exactly a straight line"
        sentence = (
            f"With the identity in the middle, output {output} runs straight from “{start}” to “{end}” and "
            f"beyond: not one of the {len(first)} neurons makes a kink."
        )
    else:
        title = f"{name} bends the line at {len(kinks)} points"
        sentence = (
            f"With {name} in the middle, {len(kinks)} of {len(first)} neurons change sign on the way, "
            f"and each makes a kink; output {output} goes up to {svg.label(far)} away from the straight line."
        )

    places = tuple((s, {0: f"“{start}”", 1: f"“{end}”"}.get(s, svg.label(s))) for s in range(low, high + 1))
    heights = tuple((value / 2, svg.label(value / 2, 1, pad=True)) for value in range(5))
    frame = plot.Frame(
        (low, high),
        (0, 2),
        f"steps from “{start}” to “{end}”",
        f"number {output} of the {D_MODEL} outputs",
        places,
        heights,
        top=76,
    )
    solid, line = plot.Look(style.CHOSEN, width=2.6), plot.Look(style.REFERENCE, (6, 5), 2)
    values = curve.tolist()
    shapes = [
        frame.axes(),
        frame.curve(walk.tolist(), values, solid),
        frame.curve((low, high), (float(straight[0]), float(straight[-1])), line),
        frame.dots(kinks, values[1:-1], style.PAPER, 3.4, style.CHOSEN) if alpha > 0 else "",
        frame.legend({name: solid, "straight line": line}, "upper right"),
    ]
    return Picture(title, sentence, svg.card(frame.bottom + 50, title, sentence, *shapes))


def _find_activation(activation: str) -> Callable[[torch.Tensor], torch.Tensor]:
    if activation not in ACTIVATIONS:
        raise ValueError(f"there is no activation {activation!r} here; choose {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[activation]


def _inside(name: str, index: int, count: int) -> None:
    if not 0 <= index < count:
        raise ValueError(f"{name} must be from 0 to {count - 1}, not {index}")
