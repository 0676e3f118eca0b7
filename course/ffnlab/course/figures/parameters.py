"""The figures of notebook 05: one block as areas, a model built from sliders, published models, and operations over length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ffnlab.course import atlas
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture
from ffnlab.phrases import plural

__all__ = [
    "DENSE",
    "HEADS",
    "LAYERS",
    "LENGTHS",
    "MODEL_WIDTHS",
    "RATIOS",
    "SHOWN",
    "VOCABULARIES",
    "WIDTHS",
    "areas",
    "explore",
    "flops",
    "models",
    "overtakes",
]

RATIOS = (("1", 1.0), ("2", 2.0), ("8/3", 8 / 3), ("3.5", 3.5), ("4", 4.0), ("8", 8.0))
LEAST, WIDEST = RATIOS[0][1], RATIOS[-1][1]
WIDTHS = (8, 16, 64, 512, 4096, 12288)
MODEL_WIDTHS = (128, 256, 512, 768, 1024, 2048, 4096, 8192, 12288, 16384)
HEADS = (1, 2, 4, 8, 16, 32, 64, 128)
LAYERS = (1, 2, 6, 12, 24, 32, 48, 80, 96, 126)
VOCABULARIES = tuple((f"{size:,}", size) for size in (1000, 32000, 50257, 128256, 256000))
LENGTHS = tuple(2**n for n in range(7, 21))
DENSE = ("GPT-2 small", "GPT-3 175B", "LLaMA-1/2 7B", "LLaMA-3 8B", "Gemma-1 2B", "LLaMA-3.1 405B")
SHOWN = (
    "Transformer base",
    "BERT-base",
    "GPT-2 small",
    "GPT-2 XL",
    "GPT-3 175B",
    "T5 v1.0 11B",
    "PaLM-540B",
    "LLaMA-1/2 7B",
    "LLaMA-2 70B",
    "LLaMA-3 8B",
    "Gemma-1 2B",
    "Qwen3-0.6B",
    "Mixtral-8x7B",
    "DeepSeek-V3",
    "gpt-oss-120b",
)

ATTENTION, FFN, AROUND = style.ATTENTION, style.FFN, style.AROUND
ACROSS, IDLE = style.pale(ATTENTION, 0.5), style.pale(FFN, 0.5)
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _short(count: float) -> str:
    """A large number to four digits, with its unit."""
    for unit, word in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if count >= unit:
            return f"{count / unit:.4g} {word}"
    return f"{count:,.0f}"


_SIDE = 62.0  # the length of d_model numbers
_ATTENTION_TOP = 92.0
_FFN_TOP = _ATTENTION_TOP + _SIDE + 56
_FFN_BOTTOM = _FFN_TOP + 2 * (_SIDE + 34)


class _Areas(NamedTuple):
    """The parameters of one block."""

    d_model: int
    d_ff: int

    @property
    def attention(self) -> int:
        return 4 * self.d_model * self.d_model

    @property
    def biases(self) -> int:
        return self.d_ff + self.d_model

    @property
    def ffn(self) -> int:
        return 2 * self.d_model * self.d_ff + self.biases


def areas(d_model: int = 8, ratio: float = 4.0) -> Picture:
    """One block's arrays as areas at one scale: attention's four matrices, the FFN's two, with its biases. Widths are drawn relative to d_model."""
    if d_model < 1 or ratio <= 0:
        raise ValueError(f"d_model and the ratio must be positive, not {d_model} and {ratio}")
    numbers = _Areas(d_model, round(ratio * d_model))
    title, words = _areas_words(numbers)
    note = f"Black: the biases, {numbers.biases:,} of {numbers.ffn:,}. W2 is drawn lying down. Drag the edge of W1."
    shapes = [
        *_areas_of_attention(numbers),
        svg.text(LEFT, _FFN_TOP - 18, f"FFN  {numbers.ffn:,}", size=14, bold=True, fill=FFN),
        *_area_of_layer(numbers, _FFN_TOP, "W1", (d_model, numbers.d_ff), "b1"),
        *_area_of_layer(numbers, _FFN_TOP + _SIDE + 34, "W2", (numbers.d_ff, d_model), "b2"),
        svg.handle(
            LEFT + _SIDE * numbers.d_ff / d_model,
            _FFN_TOP + _SIDE / 2,
            drags={"ratio": svg.across((LEFT + LEAST * _SIDE, LEFT + WIDEST * _SIDE), (LEAST, WIDEST))},
            name="d_ff, the width of W1",
            says=f"{numbers.d_ff:,}, {ratio:.3g} times d_model",
        ),
        svg.text(LEFT, _FFN_BOTTOM + 8, note, size=12.5, fill=style.MUTED),
    ]
    return Picture(title, words, svg.card(_FFN_BOTTOM + 26, title, words, *shapes))


def _areas_words(numbers: _Areas) -> tuple[str, str]:
    """Title and sentence."""
    d_model, d_ff, attention, ffn = numbers.d_model, numbers.d_ff, numbers.attention, numbers.ffn
    title = f"Attention {_exact(attention)}, FFN {_exact(ffn)}: {ffn / attention:.2f} times"
    words = (
        f"With d_model {d_model:,} and d_ff {d_ff:,} attention has four matrices of {d_model * d_model:,}, together {attention:,}; "
        f"the FFN has two of {d_model * d_ff:,} and {numbers.biases:,} biases, together {ffn:,}."
    )
    return title, words


def _areas_of_attention(numbers: _Areas) -> list[str]:
    """Four squares in a row."""
    d_model, top, pitch = numbers.d_model, _ATTENTION_TOP, _SIDE + 14
    middle = top + _SIDE / 2 + 4.5
    shapes = [svg.text(LEFT, top - 18, f"attention  {numbers.attention:,}", size=14, bold=True, fill=ATTENTION)]
    for n, name in enumerate(("queries", "keys", "values", "output")):
        x = LEFT + n * pitch
        shapes += [
            svg.rect(x, top, _SIDE, _SIDE, fill=ATTENTION, tip=f"{name}: {d_model:,} · {d_model:,}"),
            svg.text(x + _SIDE / 2, middle, name, size=12.5, fill=style.PAPER, anchor="middle", bold=True),
        ]
    return [*shapes, svg.text(LEFT + 4 * pitch + 6, middle, f"[{d_model:,}, {d_model:,}] each", size=12.5)]


def _area_of_layer(numbers: _Areas, y: float, name: str, size: tuple[int, int], bias: str) -> list[str]:
    """A matrix of the FFN, always d_ff wide and d_model high, with its bias, which is as long as the layer has outputs."""
    d_model, d_ff = numbers.d_model, numbers.d_ff
    inputs, outputs = size
    long, thin = _SIDE * d_ff / d_model, max(_SIDE / d_model, 0.6)
    bias_long = long if outputs == d_ff else _SIDE
    words = f"[{inputs:,}, {outputs:,}], {bias} [{outputs:,}]"
    middle = y + _SIDE / 2 + 4.5
    is_inside = LEFT + long + 14 + 150 > RIGHT
    x = LEFT + _SIDE + 20 if is_inside else LEFT + long + 14
    ink = style.PAPER if is_inside else style.INK
    return [
        svg.rect(LEFT, y, long, _SIDE, fill=FFN, tip=f"{name}: {d_model:,} · {d_ff:,}"),
        svg.text(LEFT + min(long, _SIDE) / 2, middle, name, size=12.5, fill=style.PAPER, anchor="middle", bold=True),
        svg.rect(LEFT, y + _SIDE + 4, bias_long, thin, fill=style.INK, tip=f"{bias}: {outputs:,}"),
        svg.text(x, middle, words, size=12.5, fill=ink),
    ]


def _exact(count: int) -> str:
    """All digits while they are few."""
    return f"{count:,}" if count < 10_000_000 else _short(count)


class _Explored(NamedTuple):
    """A model of one's own, in parameters. Biases and norms are left out."""

    d_ff: int
    layers: int
    decoder: bool  # with two attentions in a layer
    attention: int  # one of a layer
    ffn: int  # of a layer
    table: int  # of embeddings, which count once

    @property
    def layer(self) -> int:
        return self.attention * (2 if self.decoder else 1) + self.ffn

    @property
    def total(self) -> int:
        return self.layers * self.layer + self.table

    @property
    def parts(self) -> list[tuple[str, int, str]]:
        """Of a layer: name, count and colour."""
        across = [("across", self.attention, ACROSS)] if self.decoder else []
        return [("attention", self.attention, ATTENTION), *across, ("FFN", self.ffn, FFN)]


def explore(
    d_model: int = 768,
    ratio: float = 4.0,
    heads: int = 8,
    kv: int = 8,
    layers: int = 12,
    vocab: int = 50257,
    gated: bool = False,
    decoder: bool = False,
) -> Picture:
    """A model of your own as stacked bars: one layer, and the whole with its embeddings. Biases and norms are left out.

    Embeddings count once. There can't be more heads for keys and values than query heads: kv is cut down to `heads`.
    """
    if d_model % heads:
        raise ValueError(f"{heads} heads can't share d_model = {d_model} evenly")
    d_ff = round(ratio * d_model)
    attention = 2 * d_model * (d_model + min(kv, heads) * (d_model // heads))
    ffn = (3 if gated else 2) * d_model * d_ff
    model = _Explored(d_ff, layers, decoder, attention, ffn, vocab * d_model)
    title, words = _explore_words(model, heads, kv, gated)
    whole = [("embeddings", model.table, AROUND), *((name, layers * count, hue) for name, count, hue in model.parts)]
    formula = f"attention {attention / d_model**2:.2f} d²{' twice' if decoder else ''}, FFN {ffn / d_model**2:.2f} d²"
    sum_of_all = f"{layers} × {_short(model.layer)} + {vocab:,} × {d_model:,}"
    shapes = []
    for y, name, pieces in (
        (96.0, f"One layer: {model.layer:,}", model.parts),
        (236.0, f"The model: {model.total:,}", whole),
    ):
        shapes.append(svg.text(LEFT, y - 14, name, size=14, bold=True))
        shapes.append(_draw_bar(LEFT, y, RIGHT - LEFT, 54.0, pieces))
    for y, note in ((82, formula), (222, sum_of_all)):
        shapes.append(svg.text(RIGHT, y, note, size=12.5, fill=style.MUTED, anchor="end"))
    return Picture(title, words, svg.card(350, title, words, *shapes))


def _explore_words(model: _Explored, heads: int, kv: int, gated: bool) -> tuple[str, str]:
    """Title and sentence."""
    ffn, layers, total = model.ffn, model.layers, model.total
    title = f"FFN: {_percent(ffn / model.layer)} of a layer, {_percent(layers * ffn / total)} of the model"
    heads_text = f"{heads} query heads and {kv} for keys and values" if kv < heads else plural(heads, "head")
    words = (
        f"With d_ff {model.d_ff:,}{' gated' if gated else ''} and {heads_text} a layer has {_short(model.layer - ffn)} in "
        f"{'two attentions' if model.decoder else 'attention'}, {_short(ffn)} in the FFN; "
        f"{plural(layers, 'layer')} and embeddings make {_short(total)}."
    )
    if kv > heads:
        words += f" Of the {kv} heads for keys and values {heads} count: there are no more query heads."
    return title, words


def _draw_bar(left: float, top: float, wide: float, tall: float, pieces: list[tuple[str, int, str]]) -> str:
    """Pieces of one bar, as wide as their shares; names and counts stand below."""
    total = sum(count for _, count, _ in pieces)
    shapes, x, key = [], left, left
    for n, (name, count, colour) in enumerate(pieces):
        length = wide * count / total
        share = _percent(count / total)
        shapes.append(svg.rect(x, top, length, tall, fill=colour, tip=f"{name}: {count:,}, {share}"))
        if n:
            shapes.append(svg.line(x, top, x, top + tall, stroke=style.PAPER, width=1.5))
        if length > 52:
            ink = style.INK if colour in (ACROSS, IDLE, AROUND) else style.PAPER
            middle = x + length / 2
            shapes.append(svg.text(middle, top + tall / 2 + 5, share, size=14, bold=True, fill=ink, anchor="middle"))
        words = f"{name} {_short(count)}"
        shapes += [
            svg.rect(key, top + tall + 12, 11, 11, fill=colour),
            svg.text(key + 17, top + tall + 22, words, size=12.5),
        ]
        key += 17 + 7.1 * len(words) + 22
        x += length
    return "".join(shapes)


_KINDS = (
    ("embeddings and the rest", AROUND),
    ("attention", ATTENTION),
    ("FFN", FFN),
    ("experts that wait", IDLE),
)
_MODELS_LEFT, _MODELS_TOP = 146.0, 84.0  # of the bars
_MODEL_PITCH, _MODEL_TALL = 23.0, 16.0


def models(model: str = "GPT-2 small") -> Picture:
    """Published models as bars of 100 %: embeddings and the rest, attention, FFN at work, experts idle. One stands out with its exact counts."""
    if model not in SHOWN:
        raise ValueError(f"{model!r} is not among the models shown: {', '.join(SHOWN)}")
    entry = atlas.find(model)
    title, words = _models_words(entry)
    shapes, x = [], LEFT
    for name, colour in _KINDS:
        shapes += [svg.rect(x, 52, 11, 11, fill=colour), svg.text(x + 17, 62, name, size=12.5)]
        x += 17 + 7.2 * len(name) + 22
    for n, name in enumerate(SHOWN):
        y, here = _MODELS_TOP + _MODEL_PITCH * n, name == model
        shapes.append(_bar_of_model(name, y, here))
        if here:
            wide = RIGHT - LEFT + 16
            shapes.append(svg.rect(LEFT - 8, y - 3.5, wide, _MODEL_TALL + 7, stroke=style.INK, radius=4))
    base = _MODELS_TOP + _MODEL_PITCH * len(SHOWN) + 12
    shapes.append(svg.line(LEFT, base, RIGHT, base))
    for n, (name, count) in enumerate(_counts(entry)):
        x, y = (LEFT, 320.0)[n % 2], base + 24 + n // 2 * 21
        shapes += [
            svg.text(x, y, name, size=12.5, fill=style.MUTED),
            svg.text(x + 132, y, count, size=12.5, bold=n < 4),
        ]
    return Picture(title, words, svg.card(base + 24 + 4 * 21, title, words, *shapes))


def _models_words(entry: atlas.Model) -> tuple[str, str]:
    """Title and sentence."""
    total = atlas.total(entry)
    active = atlas.active(entry)
    share = _percent(atlas.ffn_share_of_all(entry))
    words = f"{entry.name} has {total:,} parameters, {share} of them in FFNs"
    if active < total:
        active_share = _percent(atlas.ffn_share_of_all(entry, active=True))
        words += f"; one token uses {active:,}, {active_share} of these in FFNs."
    else:
        attention = _percent(atlas.parts(entry).attention / total)
        words += f", {attention} in attention, the rest in embeddings, norms and the like."
    return f"{entry.name}: {share} of {_short(total)} are FFN", words


def _bar_of_model(name: str, y: float, here: bool) -> str:
    """A model's parameters by kind, as shares of all, to be pressed."""
    model = atlas.find(name)
    parts = atlas.parts(model)
    at_work = atlas.parts(model, active=True).ffn
    counts = (parts.total - parts.attention - parts.ffn, parts.attention, at_work, parts.ffn - at_work)
    shapes = [svg.rect(LEFT - 4, y - 2, _MODELS_LEFT - LEFT, _MODEL_TALL + 4, fill=style.PAPER, radius=4)]
    x, wide = _MODELS_LEFT, RIGHT - 56 - _MODELS_LEFT
    for count, (kind, colour) in zip(counts, _KINDS, strict=True):
        length = wide * count / parts.total
        tip = f"{name}, {kind}: {count:,}, {_percent(count / parts.total)}"
        shapes.append(svg.rect(x, y, length, _MODEL_TALL, fill=colour, tip=tip))
        x += length
    ink = style.INK if here else style.MUTED
    share = _percent(parts.ffn / parts.total)
    shapes += [
        svg.text(_MODELS_LEFT - 8, y + 12.5, name, size=12.5, anchor="end", bold=here, fill=ink),
        svg.text(RIGHT, y + 12.5, share, size=12.5, anchor="end", bold=here, fill=ink),
    ]
    return svg.button(*shapes, sets={"model": name}, name=name)


def _counts(m: atlas.Model) -> list[tuple[str, str]]:
    """What stands under the bars: exact counts first, then the sizes they come from."""
    dim = m.head_dim or m.d_model // m.n_heads
    keys = f", k and v from {m.latent.kv_rank}" if m.latent else f" of {dim}, {m.n_kv or m.n_heads} for k, v"
    width = f"{m.d_ff:,}{' gated' if m.gated else ''}"
    if m.experts:
        suffix = f" + {m.experts.shared}" if m.experts.shared else ""
        width += f", {m.experts.k} of {m.experts.n}{suffix}"
    layers = f"{m.n_encoder} + {m.n_layers}" if m.n_encoder else f"{m.n_layers}"
    return [
        ("all parameters", f"{atlas.total(m):,}"),
        ("one token uses", f"{atlas.active(m):,}"),
        ("attention per layer", f"{atlas.attention_per_layer(m):,}"),
        ("FFN per layer", f"{atlas.ffn_per_layer(m):,}"),
        ("d_model, layers", f"{m.d_model:,}, {layers}"),
        ("d_ff", width),
        ("vocabulary", f"{m.vocab:,}"),
        ("heads", f"{m.n_heads}{keys}"),
    ]


def overtakes(model: atlas.Model) -> float:
    """The number of positions at which attention as a whole costs as much as the FFN."""
    here = atlas.flops_per_token(model, 1)
    return (here["ffn"] - here["proj"]) / here["mix"]


class _Flops(NamedTuple):
    """Forward FLOPs of one token in one layer."""

    model: atlas.Model
    T: int  # positions that the token looks at
    ffn: float
    proj: float  # of attention's projections
    mix: float  # of its mixing, which grows with T
    crossing: float  # the T at which attention as a whole costs as much as the FFN

    @property
    def attention(self) -> float:
        return self.proj + self.mix


def _flops(name: str, T: int) -> _Flops:
    model = atlas.find(name)
    counts = atlas.flops_per_token(model, T)
    return _Flops(model, T, counts["ffn"], counts["proj"], counts["mix"], overtakes(model))


def flops(model: str = "GPT-3 175B", T: int = 2048) -> Picture:
    """Forward FLOPs of one token in one layer over the number of positions T, both scales logarithmic: the FFN against attention."""
    if model not in DENSE:
        raise ValueError(f"{model!r} is not among the dense models shown: {', '.join(DENSE)}")
    if not LENGTHS[0] <= T <= LENGTHS[-1]:
        raise ValueError(f"T must be from {LENGTHS[0]:,} to {LENGTHS[-1]:,}, not {T:,}")
    numbers = _flops(model, T)
    title, words = _flops_words(numbers)
    frame = plot.Frame(
        (LENGTHS[0], LENGTHS[-1]), (1e5, 1e11), "T, positions that a token looks at", "FLOPs",
        tuple((t, f"{t:,}") for t in LENGTHS[1::3]), tuple((10.0**n, _power(n)) for n in range(5, 12)), "log", "log",
        left=76, right=RIGHT - 16,
    )  # fmt: skip
    shapes = [frame.axes(), *_curves_of_flops(numbers, frame)]
    return Picture(title, words, svg.card(frame.bottom + 50, title, words, *shapes))


def _flops_words(numbers: _Flops) -> tuple[str, str]:
    """Title and sentence."""
    crossing = numbers.crossing
    title = f"At T = {numbers.T:,} attention costs {_times(numbers.attention / numbers.ffn)} the FFN's work"
    words = (
        f"{numbers.model.name}, one token, one layer, in millions of FLOPs: FFN {numbers.ffn / 1e6:,.1f}, "
        f"attention's projections {numbers.proj / 1e6:,.1f} and mixing {numbers.mix / 1e6:,.1f}; "
        f"attention overtakes at T = {crossing:,.0f}, {crossing / numbers.model.d_model:.3g} · d_model."
    )
    return title, words


def _curves_of_flops(numbers: _Flops, frame: plot.Frame) -> list[str]:
    """The FFN, attention and its two parts over T; a line at T, and a ring where attention overtakes."""
    T, ffn, proj, crossing = numbers.T, numbers.ffn, numbers.proj, numbers.crossing
    looks = {
        "FFN": plot.Look(FFN, width=2.8),
        "attention as a whole": plot.Look(ATTENTION, width=2.8),
        "its projections": plot.Look(ATTENTION, (1, 4), 1.4),
        "its mixing": plot.Look(ATTENTION, (6, 4), 1.6),
    }
    lengths = np.geomspace(LENGTHS[0], LENGTHS[-1], 53)
    mixing = lengths * numbers.mix / T
    heights = np.full(len(lengths), ffn), proj + mixing, np.full(len(lengths), proj), mixing
    curves = [frame.curve(lengths, values, look) for values, look in zip(heights, looks.values(), strict=True)]
    x, y = frame.at(crossing, ffn)
    ends = (("FFN", FFN, 8, frame.upright(ffn) - 8), ("attention", ATTENTION, 44, frame.upright(proj + mixing[-1]) + 5))
    return [
        *curves[::-1],
        frame.curve((T, T), frame.y, plot.Look(style.INK, width=1.4)),
        frame.dots([T], [ffn], FFN),
        frame.dots([T], [numbers.attention], ATTENTION),
        svg.circle(x, y, 7, stroke=style.INK, stroke_width=1.6),
        svg.text(x, y - 13, f"{crossing:,.0f}", size=12.5, bold=True, anchor="middle", halo=True),
        frame.legend(looks, "above"),
        *(
            svg.text(frame.right - inset, down, name, size=12.5, bold=True, fill=colour, anchor="end", halo=True)
            for name, colour, inset, down in ends
        ),
    ]


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times" if ratio < 10 else f"{ratio:.0f} times"


def _power(n: int) -> str:
    """10 to the n as people write it."""
    return {5: "100 k", 6: "1 M", 7: "10 M", 8: "100 M", 9: "1 G", 10: "10 G", 11: "100 G"}[n]
