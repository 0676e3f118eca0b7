"""The figures of notebook 05: one block as areas, a model built from sliders, published models, and operations over length."""

from __future__ import annotations

import numpy as np

from ffnlab.course import atlas
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

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


def areas(d_model: int = 8, ratio: float = 4.0) -> Picture:
    """One block's arrays as areas at one scale: attention's four matrices, the FFN's two, with its biases. Widths are drawn relative to d_model."""
    if d_model < 1 or ratio <= 0:
        raise ValueError(f"d_model and the ratio must be positive, not {d_model} and {ratio}")
    d_ff = round(ratio * d_model)
    attention = 4 * d_model * d_model
    ffn = 2 * d_model * d_ff + d_ff + d_model
    title = f"Attention {_exact(attention)}, FFN {_exact(ffn)}: {ffn / attention:.2f} times"
    sentence = (
        f"With d_model {d_model:,} and d_ff {d_ff:,} attention has four matrices of {d_model * d_model:,}, together {attention:,}; "
        f"the FFN has two of {d_model * d_ff:,} and {d_ff + d_model:,} biases, together {ffn:,}."
    )
    unit = 62.0  # of d_model numbers
    side, long, thin = unit, unit * d_ff / d_model, max(unit / d_model, 0.6)
    left, top = LEFT, 92.0
    shapes = [svg.text(left, top - 18, f"attention  {attention:,}", size=14, bold=True, fill=ATTENTION)]
    for n, name in enumerate(("queries", "keys", "values", "output")):
        x = left + n * (side + 14)
        shapes += [
            svg.rect(x, top, side, side, fill=ATTENTION, tip=f"{name}: {d_model:,} · {d_model:,}"),
            svg.text(x + side / 2, top + side / 2 + 4.5, name, size=12.5, fill=style.PAPER, anchor="middle", bold=True),
        ]
    shapes.append(
        svg.text(left + 4 * (side + 14) + 6, top + side / 2 + 4.5, f"[{d_model:,}, {d_model:,}] each", size=12.5)
    )
    top += side + 56
    shapes.append(svg.text(left, top - 18, f"FFN  {ffn:,}", size=14, bold=True, fill=FFN))
    for n, (name, bias) in enumerate((("W1", "b1"), ("W2", "b2"))):
        y = top + n * (side + 34)
        size = f"[{d_model:,}, {d_ff:,}]" if n == 0 else f"[{d_ff:,}, {d_model:,}]"
        shapes += [
            svg.rect(left, y, long, side, fill=FFN, tip=f"{name}: {d_model:,} · {d_ff:,}"),
            svg.text(
                left + min(long, side) / 2,
                y + side / 2 + 4.5,
                name,
                size=12.5,
                fill=style.PAPER,
                anchor="middle",
                bold=True,
            ),
        ]
        across = long if n == 0 else side  # b1 is d_ff long, b2 is d_model long
        shapes.append(
            svg.rect(left, y + side + 4, across, thin, fill=style.INK, tip=f"{bias}: {d_ff if n == 0 else d_model:,}")
        )
        words = f"{size}, {bias} [{d_ff if n == 0 else d_model:,}]"
        room = left + long + 14
        inside = room + 150 > RIGHT
        x = left + side + 20 if inside else room
        shapes.append(svg.text(x, y + side / 2 + 4.5, words, size=12.5, fill=style.PAPER if inside else style.INK))
    note = f"Black: the biases, {d_ff + d_model:,} of {ffn:,}. W2 is drawn lying down. Drag the edge of W1."
    shapes.append(
        svg.handle(
            left + long,
            top + side / 2,
            drags={"ratio": svg.across((left + LEAST * side, left + WIDEST * side), (LEAST, WIDEST))},
            name="d_ff, the width of W1",
            says=f"{d_ff:,}, {ratio:.3g} times d_model",
        )
    )
    shapes.append(svg.text(left, top + 2 * (side + 34) + 8, note, size=12.5, fill=style.MUTED))
    return Picture(title, sentence, svg.card(top + 2 * (side + 34) + 26, title, sentence, *shapes))


def _exact(count: int) -> str:
    """All digits while they are few."""
    return f"{count:,}" if count < 10_000_000 else _short(count)


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
    kv_setting, kv = kv, min(kv, heads)
    d_ff = round(ratio * d_model)
    one, ffn = 2 * d_model * (d_model + kv * (d_model // heads)), (3 if gated else 2) * d_model * d_ff
    attention = one * (2 if decoder else 1)
    layer, table = attention + ffn, vocab * d_model
    total = layers * layer + table
    title = f"FFN: {_percent(ffn / layer)} of a layer, {_percent(layers * ffn / total)} of the model"
    heads_text = (
        f"{heads} query heads and {kv} for keys and values" if kv < heads else f"{heads} head{'s' if heads > 1 else ''}"
    )
    sentence = (
        f"With d_ff {d_ff:,}{' gated' if gated else ''} and {heads_text} a layer has {_short(attention)} in "
        f"{'two attentions' if decoder else 'attention'}, {_short(ffn)} in the FFN; "
        f"{layers} layer{'s' if layers > 1 else ''} and embeddings make {_short(total)}."
        f"{f' Of the {kv_setting} heads for keys and values {kv} count: there are no more query heads.' if kv_setting > kv else ''}"
    )
    bar, tall = RIGHT - LEFT, 54.0
    in_layer = [("attention", one, ATTENTION), ("FFN", ffn, FFN)]
    if decoder:
        in_layer.insert(1, ("across", one, ACROSS))
    whole = [("embeddings", table, AROUND)]
    whole += [(name, layers * count, colour) for name, count, colour in in_layer]
    shapes = []
    for y, name, pieces in ((96.0, f"One layer: {layer:,}", in_layer), (236.0, f"The model: {total:,}", whole)):
        shapes.append(svg.text(LEFT, y - 14, name, size=14, bold=True))
        shapes.append(_draw_bar(LEFT, y, bar, tall, pieces))
    formula = f"attention {one / d_model**2:.2f} d²{' twice' if decoder else ''}, FFN {ffn / d_model**2:.2f} d²"
    shapes.append(svg.text(RIGHT, 82, formula, size=12.5, fill=style.MUTED, anchor="end"))
    note = f"{layers} × {_short(layer)} + {vocab:,} × {d_model:,}"
    shapes.append(svg.text(RIGHT, 222, note, size=12.5, fill=style.MUTED, anchor="end"))
    return Picture(title, sentence, svg.card(350, title, sentence, *shapes))


def _draw_bar(left: float, top: float, wide: float, tall: float, pieces: list[tuple[str, int, str]]) -> str:
    """Pieces of one bar, as wide as their shares; names and counts stand below."""
    total = sum(count for _, count, _ in pieces)
    shapes, x, at = [], left, left
    for n, (name, count, colour) in enumerate(pieces):
        length = wide * count / total
        shapes.append(svg.rect(x, top, length, tall, fill=colour, tip=f"{name}: {count:,}, {_percent(count / total)}"))
        if n:
            shapes.append(svg.line(x, top, x, top + tall, stroke=style.PAPER, width=1.5))
        if length > 52:
            ink = style.INK if colour in (ACROSS, IDLE, AROUND) else style.PAPER
            shapes.append(
                svg.text(
                    x + length / 2,
                    top + tall / 2 + 5,
                    _percent(count / total),
                    size=14,
                    bold=True,
                    fill=ink,
                    anchor="middle",
                )
            )
        words = f"{name} {_short(count)}"
        shapes += [
            svg.rect(at, top + tall + 12, 11, 11, fill=colour),
            svg.text(at + 17, top + tall + 22, words, size=12.5),
        ]
        at += 17 + 7.1 * len(words) + 22
        x += length
    return "".join(shapes)


def models(model: str = "GPT-2 small") -> Picture:
    """Published models as bars of 100 %: embeddings and the rest, attention, FFN at work, experts idle. One stands out with its exact counts."""
    if model not in SHOWN:
        raise ValueError(f"{model!r} is not among the models shown: {', '.join(SHOWN)}")
    entry = atlas.find(model)
    total, active = atlas.total(entry), atlas.active(entry)
    share = atlas.ffn_share_of_all(entry)
    title = f"{model}: {_percent(share)} of {_short(total)} are FFN"
    sentence = f"{model} has {total:,} parameters, {_percent(share)} of them in FFNs"
    if active < total:
        sentence += (
            f"; one token uses {active:,}, {_percent(atlas.ffn_share_of_all(entry, active=True))} of these in FFNs."
        )
    else:
        sentence += f", {_percent(atlas.parts(entry).attention / total)} in attention, the rest in embeddings, norms and the like."
    left, pitch, tall, top = 146.0, 23.0, 16.0, 84.0
    wide = RIGHT - 56 - left
    kinds = (
        ("embeddings and the rest", AROUND),
        ("attention", ATTENTION),
        ("FFN", FFN),
        ("experts that wait", IDLE),
    )
    shapes, x = [], LEFT
    for name, colour in kinds:
        shapes += [svg.rect(x, 52, 11, 11, fill=colour), svg.text(x + 17, 62, name, size=12.5)]
        x += 17 + 7.2 * len(name) + 22
    for n, name in enumerate(SHOWN):
        y, here = top + pitch * n, name == model
        row = [svg.rect(LEFT - 4, y - 2, left - LEFT, tall + 4, fill=style.PAPER, radius=4)]
        m = atlas.find(name)
        totals, at_work = atlas.parts(m), atlas.parts(m, active=True)
        rest = totals.total - totals.attention - totals.ffn
        pieces = (rest, totals.attention, at_work.ffn, totals.ffn - at_work.ffn)
        x = left
        for count, (kind, colour) in zip(pieces, kinds, strict=True):
            length = wide * count / totals.total
            tip = f"{name}, {kind}: {count:,}, {_percent(count / totals.total)}"
            row.append(svg.rect(x, y, length, tall, fill=colour, tip=tip))
            x += length
        fill = style.INK if here else style.MUTED
        row += [
            svg.text(left - 8, y + 12.5, name, size=12.5, anchor="end", bold=here, fill=fill),
            svg.text(
                RIGHT, y + 12.5, _percent(totals.ffn / totals.total), size=12.5, anchor="end", bold=here, fill=fill
            ),
        ]
        shapes.append(svg.button(*row, sets={"model": name}, name=name))
        if here:
            shapes.append(svg.rect(LEFT - 8, y - 3.5, RIGHT - LEFT + 16, tall + 7, stroke=style.INK, radius=4))
    base = top + pitch * len(SHOWN) + 12
    shapes.append(svg.line(LEFT, base, RIGHT, base))
    for n, (name, value) in enumerate(_counts(entry, total, active)):
        x, y = (LEFT, 320.0)[n % 2], base + 24 + n // 2 * 21
        shapes += [
            svg.text(x, y, name, size=12.5, fill=style.MUTED),
            svg.text(x + 132, y, value, size=12.5, bold=n < 4),
        ]
    return Picture(title, sentence, svg.card(base + 24 + 4 * 21, title, sentence, *shapes))


def _counts(m: atlas.Model, total: int, active: int) -> list[tuple[str, str]]:
    """What stands under the bars: exact counts first, then the sizes they come from."""
    dim = m.head_dim or m.d_model // m.n_heads
    keys = f", k and v from {m.latent.kv_rank}" if m.latent else f" of {dim}, {m.n_kv or m.n_heads} for k, v"
    width = f"{m.d_ff:,}{' gated' if m.gated else ''}"
    if m.experts:
        suffix = f" + {m.experts.shared}" if m.experts.shared else ""
        width += f", {m.experts.k} of {m.experts.n}{suffix}"
    layers = f"{m.n_encoder} + {m.n_layers}" if m.n_encoder else f"{m.n_layers}"
    return [
        ("all parameters", f"{total:,}"),
        ("one token uses", f"{active:,}"),
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


def flops(model: str = "GPT-3 175B", T: int = 2048) -> Picture:
    """Forward FLOPs of one token in one layer over the number of positions T, both scales logarithmic: the FFN against attention."""
    if model not in DENSE:
        raise ValueError(f"{model!r} is not among the dense models shown: {', '.join(DENSE)}")
    if not LENGTHS[0] <= T <= LENGTHS[-1]:
        raise ValueError(f"T must be from {LENGTHS[0]:,} to {LENGTHS[-1]:,}, not {T:,}")
    m = atlas.find(model)
    here = atlas.flops_per_token(m, T)
    ffn, proj, mix = here["ffn"], here["proj"], here["mix"]
    crossing = overtakes(m)
    ratio = (proj + mix) / ffn
    title = f"At T = {T:,} attention costs {_times(ratio)} the FFN's work"
    sentence = (
        f"{model}, one token, one layer, in millions of FLOPs: FFN {ffn / 1e6:,.1f}, attention's projections {proj / 1e6:,.1f} and "
        f"mixing {mix / 1e6:,.1f}; attention overtakes at T = {crossing:,.0f}, {crossing / m.d_model:.3g} · d_model."
    )
    frame = plot.Frame(
        (LENGTHS[0], LENGTHS[-1]), (1e5, 1e11), "T, positions that a token looks at", "FLOPs",
        tuple((t, f"{t:,}") for t in LENGTHS[1::3]), tuple((10.0**n, _power(n)) for n in range(5, 12)), "log", "log",
        left=76, right=RIGHT - 16,
    )  # fmt: skip
    looks = {
        "FFN": plot.Look(FFN, width=2.8),
        "attention as a whole": plot.Look(ATTENTION, width=2.8),
        "its projections": plot.Look(ATTENTION, (1, 4), 1.4),
        "its mixing": plot.Look(ATTENTION, (6, 4), 1.6),
    }
    fine = np.geomspace(LENGTHS[0], LENGTHS[-1], 53)
    mixing = fine * mix / T
    heights = np.full(len(fine), ffn), proj + mixing, np.full(len(fine), proj), mixing
    shapes = [frame.axes()]
    shapes += [frame.curve(fine, values, look) for values, look in zip(heights, looks.values(), strict=True)][::-1]
    x, y = frame.at(crossing, ffn)
    shapes += [
        frame.curve((T, T), frame.y, plot.Look(style.INK, width=1.4)),
        frame.dots([T], [ffn], FFN),
        frame.dots([T], [proj + mix], ATTENTION),
        svg.circle(x, y, 7, stroke=style.INK, stroke_width=1.6),
        svg.text(x, y - 13, f"{crossing:,.0f}", size=12.5, bold=True, anchor="middle", halo=True),
        frame.legend(looks, "above"),
    ]
    ends = (("FFN", FFN, 8, frame.upright(ffn) - 8), ("attention", ATTENTION, 44, frame.upright(proj + mixing[-1]) + 5))
    shapes += [
        svg.text(frame.right - inset, down, name, size=12.5, bold=True, fill=colour, anchor="end", halo=True)
        for name, colour, inset, down in ends
    ]
    return Picture(title, sentence, svg.card(frame.bottom + 50, title, sentence, *shapes))


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times" if ratio < 10 else f"{ratio:.0f} times"


def _power(n: int) -> str:
    """10 to the n as people write it."""
    return {5: "100 k", 6: "1 M", 7: "10 M", 8: "100 M", 9: "1 G", 10: "10 G", 11: "100 G"}[n]
