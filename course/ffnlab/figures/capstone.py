"""The figures of notebook 10: a block and its four kinds, and the dashboard of the comparison, from the stored runs of experiment E8."""

from __future__ import annotations

import math
import statistics

from ffnlab import style, svg
from ffnlab.experiments import capstone as experiment
from ffnlab.picture import Picture

__all__ = ["EQUAL", "KINDS", "MEASURES", "PAIRS", "block", "dashboard"]

KINDS = ("none", "relu", "swiglu", "moe")
EQUAL = ("total parameters", "active parameters")
PAIRS = tuple((f"{words}² = {words * words:,}", words) for words in sorted(experiment.WORDS))
MEASURES = ("accuracy", "loss", "total parameters", "active parameters", "FLOPs", "time")
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
_UNITS = {
    "accuracy": "% of the pairs known",
    "loss": "nats per pair",
    "total parameters": "parameters in the blocks",
    "active parameters": "parameters that one token meets",
    "FLOPs": "FLOPs per token, forward",
    "time": "CPU milliseconds per training step",
}
_COLOURS = {"none": style.MUTED, "relu": style.ACCENTS[0], "swiglu": style.ACCENTS[1], "moe": style.ACCENTS[2]}


def rows(equal: str) -> list[tuple[str, str]]:
    """What is compared, as (words, name of the model), at equal total or equal active parameters."""
    mixture = "moe, equal total" if equal == EQUAL[0] else "moe, equal active"
    return [
        ("no FFN", "none"),
        ("no FFN, 3 blocks", "none, 3 blocks"),
        ("ReLU", "relu"),
        ("SwiGLU", "swiglu"),
        ("MoE, 4 experts", mixture),
    ]


def values(measure: str, name: str, words: int) -> list[float]:
    """One number per seed, or one alone where there is nothing random."""
    stored = experiment.stored()
    run, count = stored["runs"][name][str(words)], stored["counts"][name]
    if measure == "accuracy":
        return [100 * share for share in run["accuracy"]]
    if measure in ("loss", "time"):
        return list(run["loss" if measure == "loss" else "milliseconds"])
    return [count[{"total parameters": "total", "active parameters": "active", "FLOPs": "flops"}[measure]]]


def _written(measure: str, number: float) -> str:
    digits = {"accuracy": 1, "loss": 3, "time": 1}.get(measure, 0)
    return f"{number:,.{digits}f}"


def level(measure: str, listed: list[list[float]]) -> list[int]:
    """The best, down to the last whose gap to it is no more than two standard deviations of a difference of single runs: level, in the
    cautious reading of notebook 07."""
    means = [statistics.fmean(found) for found in listed]
    spreads = [statistics.stdev(found) if len(found) > 1 else 0.0 for found in listed]
    best = (max if measure == "accuracy" else min)(range(len(listed)), key=lambda n: means[n])
    behind = [abs(mean - means[best]) for mean in means]
    reach = max(
        off for off, spread in zip(behind, spreads, strict=True) if off <= 2 * math.hypot(spread, spreads[best])
    )
    return [n for n, off in enumerate(behind) if off <= reach]


def dashboard(measure: str = "accuracy", equal: str = EQUAL[0], words: int = 40) -> Picture:
    """One measure of the five models: a bar for the mean, a dot for each seed, a whisker of one standard deviation."""
    if measure not in MEASURES or equal not in EQUAL or str(words) not in experiment.stored()["runs"]["none"]:
        raise ValueError(f"no such view: {measure!r} at equal {equal!r} for {words} words")
    listed = [(label, values(measure, name, words)) for label, name in rows(equal)]
    means = [statistics.fmean(found) for _, found in listed]
    most = max(max(found) for _, found in listed)
    first = level(measure, [found for _, found in listed])
    unit = {"accuracy": "%", "loss": " nats", "time": " ms"}.get(measure, "")
    lead = "highest" if measure == "accuracy" else "lowest"
    title = f"{measure[0].upper()}{measure[1:]}: "
    if len(first) > 1:
        title += f"{len(first)} of 5 can't be told apart at the {'top' if lead == 'highest' else 'bottom'}"
    else:
        title += f"{lead} for {listed[first[0]][0]}, {_written(measure, means[first[0]])}{unit}"
    said = ", ".join(
        f"{label} {_written(measure, mean)}"
        + (f" ± {_written(measure, statistics.stdev(found))}" if len(found) > 1 else "")
        for (label, found), mean in zip(listed, means, strict=True)
    )
    sentence = f"At equal {equal}, {words * words:,} pairs, {_UNITS[measure]}: {said}."

    left, row, top = 168.0, 46.0, 84.0
    room = RIGHT - left - 108
    shapes = [svg.text(LEFT, top - 22, f"{_UNITS[measure]}, {words * words:,} pairs, equal {equal}", fill=style.MUTED)]
    for n, ((label, found), mean) in enumerate(zip(listed, means, strict=True)):
        y = top + row * n
        kind = KINDS[max(0, n - 1)]
        middle = y + 13
        shapes += [
            svg.text(left - 12, middle + 5, label, anchor="end", bold=n in first),
            svg.rect(
                left, y, room * mean / most, 26, fill=_COLOURS[kind], dash="", tip=f"{label}: {_written(measure, mean)}"
            ),
        ]
        words_after = _written(measure, mean)
        if len(found) > 1:
            spread = statistics.stdev(found)
            low, high = (room * min(max(mean + sign * spread, 0), 1.06 * most) / most for sign in (-1, 1))
            shapes.append(svg.line(left + low, middle, left + high, middle, stroke=style.INK, width=2))
            shapes += [
                svg.line(left + at, middle - 5, left + at, middle + 5, stroke=style.INK, width=2) for at in (low, high)
            ]
            shapes += [
                svg.circle(
                    left + room * one / most, middle, 3, fill=style.PAPER, stroke=style.INK, tip=_written(measure, one)
                )
                for one in found
            ]
            words_after += f" ± {_written(measure, spread)}"
        end = room * max(*found, mean) / most if len(found) > 1 else room * mean / most
        shapes.append(svg.text(left + end + 14, middle + 5, words_after, size=12.5, bold=n in first))
    seeds = len(experiment.stored()["settings"]["seeds"])
    legend = f"bar: mean of {seeds} seeds; dots: the seeds; line: ± one standard deviation; bold: best, or level"
    if len(listed[0][1]) == 1:
        legend = "counted, not measured: the same for every seed"
    shapes += [
        svg.line(left, top - 8, left, top + row * 5 - 10, stroke=style.NEUTRAL),
        svg.text(LEFT, top + row * 5 + 14, legend, size=12, fill=style.MUTED),
    ]
    return Picture(title, sentence, svg.card(top + row * 5 + 34, title, sentence, *shapes))


_SAYS = {
    "none": ("nothing", "the block ends after attention", "0"),
    "relu": ("ReLU FFN", "linear1, ReLU, linear2", "2·d·f + f + d"),
    "swiglu": ("SwiGLU", "silu(gate) · up, then down", "3·d·f"),
    "moe": ("MoE", "a router, then 2 of 4 SwiGLU experts", "4·3·d·f + 4·d"),
}


def block(kind: str = "relu") -> Picture:
    """A pre-norm block [T, d_model] -> [T, d_model] with its two residual paths; the second box is the given kind."""
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind!r}; choose {', '.join(KINDS)}")
    name, inside, count = _SAYS[kind]
    title = f"Second sub-layer: {name}, {count} parameters" if kind != "none" else "No second sub-layer: out = z"
    sentence = "Attention (global: tokens exchange) reads norm1 of x; with x added, that is z. " + (
        "The block ends there."
        if kind == "none"
        else f"Then {inside} (local: each token alone) read norm2 of z, and z is added."
    )
    main, side = 236.0, 130.0
    out = RIGHT - 30
    shapes = [
        svg.line(LEFT + 30, main, out, main, stroke=style.INK, width=2.5),
        svg.text(LEFT + 16, main + 5, "x", size=15, bold=True, anchor="middle"),
        svg.text(out + 16, main + 5, "out", size=13, bold=True, anchor="middle"),
        svg.text(324, main + 26, "z", size=15, bold=True, anchor="middle"),
    ]
    parts = [("attention", "global: tokens exchange", style.INK)]
    if kind != "none":
        parts.append((name, "local: each token alone", _COLOURS[kind]))
    for n, (label, what, colour) in enumerate(parts):
        start, total = 64.0 + 280 * n, 294.0 + 280 * n
        shapes += [
            svg.path([(start, main), (start, side), (total, side), (total, main - 13)], stroke=style.MUTED, width=2),
            svg.circle(start, main, 4, fill=style.INK),
            svg.circle(total, main, 13, fill=style.PAPER, stroke=style.INK, stroke_width=2),
            svg.text(total, main + 6, "+", size=18, bold=True, anchor="middle"),
            svg.rect(start + 14, side - 17, 64, 34, radius=7, fill=style.PAPER, stroke=style.MUTED, stroke_width=2),
            svg.text(start + 46, side + 5, f"norm{n + 1}", anchor="middle", fill=style.MUTED),
            svg.rect(start + 98, side - 24, 104, 48, radius=7, fill=style.PAPER, stroke=colour, stroke_width=2.5),
            svg.text(start + 150, side + 5, label, size=14, bold=True, anchor="middle", fill=colour),
            svg.text(start + 128, side - 42, what, size=12.5, anchor="middle", fill=style.MUTED),
        ]
    if kind == "moe":
        sentence += " The balance loss is aux_loss."
        shapes.append(svg.text(494, side + 44, "besides: aux_loss", size=12.5, anchor="middle"))
    shapes.append(svg.text(svg.WIDTH / 2, main + 62, f"{inside}", size=13, anchor="middle", fill=style.MUTED))
    return Picture(title, sentence, svg.card(320, title, sentence, *shapes))
