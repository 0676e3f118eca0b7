"""The figures of notebook 01: a blend of three values, a head on scaled vectors, and a line among four points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from ffnlab.course.figures.shared import D_MODEL, SEED, TOKENS, embeddings
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

__all__ = [
    "TOKENS",
    "HeadWeights",
    "blend",
    "embeddings",
    "head",
    "line",
    "scaled",
    "stages",
]

Array = np.ndarray[Any, np.dtype[Any]]
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN


class HeadWeights(NamedTuple):
    """One attention head: Wq, Wk, Wv [d_model, h] and Wo [h, d_model]."""

    Wq: torch.Tensor
    Wk: torch.Tensor
    Wv: torch.Tensor
    Wo: torch.Tensor


def head(dtype: torch.dtype = torch.float32) -> HeadWeights:
    """The head of width 4 that reads the shared sentence, rounded to two decimals."""
    return HeadWeights(*(torch.from_numpy(part).to(dtype) for part in _head()))


@cache
def _head() -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng([SEED, D_MODEL, 2])
    d, h = D_MODEL, 4
    wq, wk, wv = (np.round(rng.standard_normal((d, h)) / math.sqrt(d), 2) for _ in range(3))
    return wq, wk, wv, np.round(rng.standard_normal((h, d)) / math.sqrt(h), 2)


def stages(X: torch.Tensor, A: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
    """What comes out of each step of that head on X [T, d_model]: Q, K, V [T, h], scores and A [T, T], mix [T, h], out [T, d_model].

    A given: used instead of the computed weights. No gradient.
    """
    X = X.detach()
    wq, wk, wv, wo = head(X.dtype)
    q, k, v = X @ wq, X @ wk, X @ wv
    a = _weights_for(q, k) if A is None else A.detach()
    return {"Q": q, "K": k, "V": v, "scores": q @ k.T / math.sqrt(wq.shape[1]), "A": a, "mix": a @ v, "out": a @ v @ wo}


def _weights_for(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """The weights [T, T] of torch's own attention: what it makes of values that tell the tokens apart."""
    return F.scaled_dot_product_attention(q, k, torch.eye(len(k), dtype=k.dtype))


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


# A blend

WORDS = ("cat", "sat", "down")
VALUES = ((0.5, 2.5), (3.0, 2.0), (1.5, 0.5))
BEYOND = (2.0, 3.0)  # cat + down
MOST = 6.0  # the largest score; against two of the smallest, -6, nothing is left of the other weights


def blend(cat: float = 0.3, sat: float = 0.0, down: float = 0.0) -> Picture:
    """Three values in the plane, and their average with the weights softmax(cat, sat, down)."""
    scores = [float(cat), float(sat), float(down)]
    weights = _softmax(np.array(scores)).tolist()
    point = tuple(sum(w * value[axis] for w, value in zip(weights, VALUES, strict=True)) for axis in (0, 1))

    shares = ", ".join(f"{100 * w:.0f} % {word}" for w, word in zip(weights, WORDS, strict=True))
    title = f"{shares}: inside the triangle"
    written = [svg.label(score, 1) for score in scores]
    sentence = (
        f"Scores {written[0]}, {written[1]} and {written[2]} give weights of {shares}; the blend is at "
        f"({svg.label(point[0], pad=True)}, {svg.label(point[1], pad=True)}), inside the triangle of the values, "
        f"as for any scores."
    )

    frame = plot.Frame(
        (0, 4), (0, 3.5), "first number of the vector", "second number", (0, 1, 2, 3, 4), (0, 1, 2, 3),
        left=52, right=388, bottom=360, grid="both",
    )  # fmt: skip
    corners = [frame.at(*value) for value in VALUES]
    here, beyond = frame.at(*point), frame.at(*BEYOND)
    outline = plot.Look(style.MUTED, width=1.5)
    shapes = [
        frame.polygon(VALUES, style.TINT),
        frame.axes(),
        frame.curve([*(x for x, _ in VALUES), VALUES[0][0]], [*(y for _, y in VALUES), VALUES[0][1]], outline),
    ]
    for (x, y), w in zip(corners, weights, strict=True):
        shapes.append(svg.line(*here, x, y, stroke=style.CHOSEN, width=0.6 + 7 * w))
    for word, (x, y), up in zip(WORDS, corners, (-16, -16, 26), strict=True):
        alone = {other: MOST if other == word else -MOST for other in WORDS}
        shapes.append(
            svg.button(
                svg.circle(x, y, 6, fill=style.INK, tip=word),
                svg.circle(x, y, 20, fill="transparent"),
                svg.text(x, y + up, word, size=14, bold=True, anchor="middle", halo=True),
                sets=alone,
                name=f"all weight on {word}",
            )
        )
    shapes += [
        svg.circle(*beyond, 8, stroke=style.MUTED, stroke_width=1.8),
        svg.text(beyond[0] + 14, beyond[1] + 4.5, "cat + down", size=13, fill=style.MUTED, halo=True),
        svg.handle(
            *here,
            drags={word: svg.blend(corners, n) for n, word in enumerate(WORDS)},
            name="the blend",
            says=shares,
            fill=style.CHOSEN,
            r=8,
        ),
    ]
    x0, wide = 470.0, 92.0
    shapes.append(svg.text(x0 - 44, 112, "score → weight", size=14, bold=True))
    for n, (word, score, w) in enumerate(zip(WORDS, written, weights, strict=True)):
        y = 150.0 + 56 * n
        shapes += [
            svg.text(x0 - 44, y, f"{word}: {score}", size=13),
            svg.rect(x0 - 44, y + 8, wide + 44, 14, fill=style.TINT),
            svg.rect(x0 - 44, y + 8, (wide + 44) * w, 14, fill=style.CHOSEN, tip=f"{word}: {w:.4f}"),
            svg.text(RIGHT, y, f"{100 * w:.1f} %", size=13, anchor="end", bold=True),
        ]
    shapes += [
        svg.circle(x0 - 37, 320, 7, fill=style.CHOSEN),
        svg.text(x0 - 20, 324.5, "the blend", size=13),
    ]
    return Picture(title, sentence, svg.card(410, title, sentence, *shapes))


# A head on scaled vectors

LOW, HIGH = -2.0, 4.0


def _attend(s: float, frozen: bool) -> tuple[Array, Array]:
    """The head on s times the sentence: (out [T, d], A [T, T]); frozen: with the A of s = 1."""
    x = embeddings(dtype=torch.float64)
    wq, wk, wv, wo = head(torch.float64)
    seen = x if frozen else s * x
    a = _weights_for(seen @ wq, seen @ wk)
    return (a @ (s * x @ wv) @ wo).numpy(), a.numpy()


@cache
def _off(s: float, frozen: bool) -> float:
    """‖f(sX) − s·f(X)‖ in proportion to ‖s·f(X)‖; at s = 0, where both are zero, 0."""
    right = s * _attend(1.0, frozen)[0]
    return float(np.linalg.norm(_attend(s, frozen)[0] - right) / np.linalg.norm(right)) if s else 0.0


ARROWS = 62.0  # how long s·f(X) is drawn, whatever s


def scaled(s: float = 2.0, frozen: bool = False, token: int = 7) -> Picture:
    """One head on s times the shared sentence: A at 1 and at s, one token's output f(sX) beside s·f(X), and how far they are apart for
    the whole sentence, in proportion to s·f(X), for every s.
    """
    if not LOW <= s <= HIGH:
        raise ValueError(f"s must be from {LOW:g} to {HIGH:g}, not {s}")
    if not 0 <= token < len(TOKENS):
        raise ValueError(f"token must be from 0 to {len(TOKENS) - 1}, not {token}")
    s = float(s)
    off = _off(s, frozen)
    linear = off < 1e-9
    what = f"{'A frozen' if frozen else 'A free'}, s = {svg.label(s)}"
    title = f"{what}: f(sX) is s·f(X)" if linear else f"{what}: f(sX) is {100 * off:.0f} % away from s·f(X)"
    before, now = (_attend(factor, frozen) for factor in (1.0, s))
    one, there = before[0][token], now[0][token]
    unit = float(np.linalg.norm(s * one)) or 1.0
    along = float(there @ (s * one)) / unit**2
    aside = math.sqrt(max(float(there @ there) / unit**2 - along**2, 0))
    sentence = (
        f"All vectors of the sentence are multiplied by {svg.label(s)}: f(sX) is {100 * off:.0f} % away from s·f(X), and the largest "
        f"attention weight of “{TOKENS[token]}” goes from {svg.label(float(before[1][token].max()))} to {svg.label(float(now[1][token].max()))}. "
        + ("With A frozen both are equal for every s." if frozen else "Both are equal at −1, 0 and 1 only.")
    )
    shapes = [
        *_weights(before[1], token, 76, "A for X", named=True),
        *_weights(now[1], token, 242, "A for sX" if not frozen else "A, frozen", named=False),
        *_arrows(s, along, aside, token),
        *_apart(s, frozen, off),
    ]
    return Picture(title, sentence, svg.card(446, title, sentence, *shapes))


CELL, ROWS = 11.0, 92.0  # of the heat maps: a cell's side, and where they begin


def _weights(a: Array, token: int, left: float, name: str, named: bool) -> list[str]:
    """A [T, T] as a heat map, one row for each token; pressing a row chooses it."""
    n = len(TOKENS)
    shapes = [
        svg.text(left + n * CELL / 2, ROWS - 14, name, size=14, bold=True, anchor="middle"),
        svg.rect(left - 1, ROWS - 1, n * CELL + 1, n * CELL + 1, fill=style.TINT),
    ]
    for t, word in enumerate(TOKENS):
        y, here = ROWS + CELL * t, t == token
        cells = [
            svg.rect(
                left + CELL * j, y, CELL - 1, CELL - 1,
                fill=style.diverging(value**0.5, 1.0), tip=f"{word} → {TOKENS[j]}: {value:.2f}",
            )
            for j, value in enumerate(a[t].tolist())
        ]  # fmt: skip
        if named:
            fill = style.CHOSEN if here else style.MUTED
            cells.append(svg.rect(svg.MARGIN, y - 0.5, left - svg.MARGIN - 2, CELL, fill=style.PAPER))
            cells.append(svg.text(left - 7, y + 9, word, size=11.5, anchor="end", bold=here, fill=fill))
            shapes.append(svg.button(*cells, sets={"token": t}, name=f"token {t}, {word}"))
        else:
            shapes += cells
    shapes.append(
        svg.rect(
            left - 1.5, ROWS + CELL * token - 1.5, n * CELL + 2, CELL + 2, stroke=style.CHOSEN, stroke_width=2, radius=2
        )
    )
    return shapes


def _arrows(s: float, along: float, aside: float, token: int) -> list[str]:
    """s·f(X) along the horizontal, always equally long, and f(sX) in the plane of the two, where the angle between them is true."""
    x, y = 514.0, 174.0
    turn = (s > 0) - (s < 0)
    size = min(ARROWS, 98 / max(abs(along), 1), 70 / max(aside, 1))  # what does not fit is drawn smaller, both alike
    right, found = (x + turn * size, y), (x + turn * size * along, y - size * aside)
    shapes = [
        svg.text(x, ROWS - 14, f"f for “{TOKENS[token]}”, in units of s·f(X)", size=13, bold=True, anchor="middle"),
        svg.circle(x, y, size, stroke=style.RULE),
    ]
    if s:
        shapes += [
            svg.line(*right, *found, stroke=style.NEUTRAL, width=1.6, dash="1 4"),
            *_arrow(x, y, *right, style.REFERENCE, dash="6 4"),
            *_arrow(x, y, *found, style.CHOSEN),
        ]
    else:
        shapes.append(svg.text(x, y + 24, "both are zero", size=12, fill=style.MUTED, anchor="middle"))
    shapes.append(svg.circle(x, y, 3.5, fill=style.INK))
    for n, (ink, dash, words) in enumerate(((style.CHOSEN, "", "f(sX)"), (style.REFERENCE, "6 4", "s·f(X)"))):
        at = 432.0 + 92 * n
        shapes += [
            svg.line(at, 254, at + 26, 254, stroke=ink, width=2.6, dash=dash),
            svg.text(at + 33, 258, words, size=13, fill=ink, bold=not n),
        ]
    return shapes


def _arrow(x0: float, y0: float, x1: float, y1: float, ink: str, dash: str = "") -> list[str]:
    far = math.dist((x0, y0), (x1, y1))
    if far < 1:
        return []
    ux, uy = (x1 - x0) / far, (y1 - y0) / far
    head = min(9.0, far)
    back, wide = (x1 - head * ux, y1 - head * uy), 0.45 * head
    tip = [(x1, y1), (back[0] - wide * uy, back[1] + wide * ux), (back[0] + wide * uy, back[1] - wide * ux)]
    return [svg.line(x0, y0, *back, stroke=ink, width=2.6, dash=dash), svg.path(tip, fill=ink, closed=True)]


def _apart(s: float, frozen: bool, off: float) -> list[str]:
    """The relative distance for every s, with a gap at 0, where there is nothing to be in proportion to."""
    near = 1e-3
    grid = [LOW + 0.125 * k for k in range(int((HIGH - LOW) / 0.125) + 1)]
    grid = sorted({*(value for value in grid if value), -near, near})
    percent = {kind: [100 * _off(value, kind) for value in grid] for kind in (False, True)}
    gap = grid.index(near)
    frame = plot.Frame(
        (LOW, HIGH), (-8, 120), "s, the factor on all vectors", "‖f(sX) − s·f(X)‖ in % of ‖s·f(X)‖",
        tuple(range(int(LOW), int(HIGH) + 1)), (0, 25, 50, 75, 100), left=76, right=RIGHT - 8, top=298, bottom=402,
    )  # fmt: skip
    pale, chosen = plot.Look(style.NEUTRAL, (6, 5), 2), plot.Look(style.CHOSEN, width=2.8)
    shapes = [frame.axes()]
    for kind, look in ((not frozen, pale), (frozen, chosen)):
        xs, ys = [*grid[:gap], math.nan, *grid[gap:]], [*percent[kind][:gap], math.nan, *percent[kind][gap:]]
        shapes.append(frame.curve(xs, ys, look))
        if not kind:
            shapes.append(frame.dots([0], [percent[kind][gap]], style.PAPER, 3.5, look.colour))
            shapes.append(frame.dots([0], [0], look.colour, 3.5))
    for words, mine, height in (
        ("A free", not frozen, frame.upright(percent[False][grid.index(3.5)]) - 9),
        ("A frozen", frozen, frame.upright(0) - 7),
    ):
        ink = style.CHOSEN if mine else style.MUTED
        shapes.append(
            svg.text(frame.across(3.5), height, words, size=13, halo=True, fill=ink, bold=mine, anchor="middle")
        )
    way = svg.across((frame.left, frame.right), (LOW, HIGH))
    said = f"s = {svg.label(s)}, {100 * off:.0f} % away"
    shapes.append(
        svg.handle(*frame.at(s, 100 * off), drags={"s": way}, name="the factor", says=said, fill=style.CHOSEN)
    )
    return shapes


# A line among four points

POINTS = ((0, 0), (0, 1), (1, 0), (1, 1))
TARGETS = {"XOR": (0, 1, 1, 0), "AND": (0, 0, 0, 1)}
RAY, ASIDE = 0.25, 0.35  # how far from the middle the direction is held, and beside its ray the line


def line(angle: float = 0, offset: float = 0.0, target: str = "XOR") -> Picture:
    """The plane of two features, cut by a line: what is on its far side in direction `angle` (degrees) is called 1.

    `offset`, from -1 to 1, is the line's distance from the middle of the four points.
    """
    if not -1 <= offset <= 1:
        raise ValueError(f"the distance must be from −1 to 1, not {offset}")
    if target not in TARGETS:
        raise ValueError(f"there is no target {target!r} here; choose {' or '.join(TARGETS)}")
    wanted = TARGETS[target]
    nx, ny = math.cos(math.radians(angle)), math.sin(math.radians(angle))

    def height(x: float, y: float) -> float:
        return nx * (x - 0.5) + ny * (y - 0.5) - offset

    said = [int(height(*point) > 1e-9) for point in POINTS]
    right = sum(a == b for a, b in zip(said, wanted, strict=True))
    best = {"XOR": 3, "AND": 4}[target]
    limit = "more is not possible" if right == best == 3 else "solved" if right == 4 else f"{best} are possible"
    title = f"{target}: this line gets {right} of 4 right, {limit}"
    limits = f"no line gets more than {best}" if best < 4 else "a line can get all four"
    place = f"Looking at {angle:g}°, {offset:.2f} from the middle, the line".replace("-", "−")
    sentence = f"{place} says 1 for {_listed(said)}; {target} is 1 for {_listed(wanted)}: {right} of 4 are right, and {limits}."

    top, side = 66.0, 272.0
    frame = plot.Frame(
        (-0.5, 1.5),
        (-0.5, 1.5),
        "a",
        "b",
        (0, 1),
        (0, 1),
        left=60,
        right=60 + side,
        top=top,
        bottom=top + side,
        grid="both",
    )
    far = 4.0  # a strip so long and wide that the window cuts it on all sides
    ends = [(0.5 + nx * offset - ny * run, 0.5 + ny * offset + nx * run) for run in (-far, far)]
    strip = [*ends, *((x + far * nx, y + far * ny) for x, y in reversed(ends))]
    shapes = [
        frame.polygon(strip, style.pale(style.CHOSEN)),
        frame.axes(),
        svg.rect(60, top, side, side, stroke=style.RULE),
        frame.curve([x for x, _ in ends], [y for _, y in ends], plot.Look(style.CHOSEN, width=2.6)),
    ]
    for (a, b), is_one, says in zip(POINTS, wanted, said, strict=True):
        x, y = frame.at(a, b)
        good = is_one == says
        shapes += [
            svg.circle(
                x, y, 11, fill=style.INK if is_one else style.PAPER, stroke=style.INK, stroke_width=2, tip=f"({a}, {b})"
            ),
            svg.text(x, y - 18, f"({a}, {b})", size=13, anchor="middle", halo=True),
            svg.text(
                x,
                y + 31,
                "right" if good else "wrong",
                size=13,
                anchor="middle",
                bold=not good,
                fill=style.MUTED if good else style.LOST,
                halo=True,
            ),
        ]
    middle, knob = frame.at(0.5, 0.5), frame.at(0.5 + RAY * nx, 0.5 + RAY * ny)
    held = frame.at(0.5 + nx * offset + ASIDE * ny, 0.5 + ny * offset - ASIDE * nx)
    least, most = (frame.at(0.5 + nx * end + ASIDE * ny, 0.5 + ny * end - ASIDE * nx) for end in (-1, 1))
    sideways = abs(nx) >= abs(ny)
    scale = svg.across((least[0], most[0]), (-1, 1)) if sideways else svg.upright((least[1], most[1]), (-1, 1))
    shapes += [
        svg.line(*middle, *knob, stroke=style.INK, width=1.6),
        svg.handle(*knob, drags={"angle": svg.turn(middle)}, name="the direction", says=f"{angle:g}°", r=6),
        svg.handle(
            *held, drags={"offset": scale}, name="the distance", says=svg.label(offset, 2, pad=True), fill=style.CHOSEN
        ),
    ]
    x0 = frame.right + 30
    for n, (fill, words) in enumerate(((style.INK, f"{target} is 1"), (style.PAPER, f"{target} is 0"))):
        shapes += [
            svg.circle(x0 + 9, top + 22 + 34 * n, 9, fill=fill, stroke=style.INK, stroke_width=2),
            svg.text(x0 + 28, top + 27 + 34 * n, words, size=14),
        ]
    shapes += [
        svg.rect(x0, top + 81, 18, 18, fill=style.pale(style.CHOSEN), stroke=style.CHOSEN),
        svg.text(x0 + 28, top + 95, "the line says 1", size=14),
        svg.text(x0, top + 152, f"{right} of 4 right", size=22, bold=True),
    ]
    return Picture(title, sentence, svg.card(top + side + 50, title, sentence, *shapes))


def _listed(ones: Sequence[int]) -> str:
    """The points with a 1, as words."""
    *most, last = [f"({a}, {b})" for (a, b), one in zip(POINTS, ones, strict=True) if one] or ["no point"]
    return f"{', '.join(most)} and {last}" if most else last
