"""The figures of notebook 10: a block and its four kinds, the runs at the creek with the learner's own among them, and the dashboard of experiment E8."""

from __future__ import annotations

import math
import statistics

from ffnlab.course.experiments import capstone as experiment
from ffnlab.course.experiments import creek
from ffnlab.drawing import plot, style, svg
from ffnlab.drawing.picture import Picture

__all__ = ["EQUAL", "KINDS", "MEASURES", "PAIRS", "block", "cloud", "dashboard"]

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
_COLOURS = dict(zip(KINDS, (style.MUTED, *style.SERIES[:3]), strict=True))


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
    record = experiment.stored()
    run, count = record["runs"][name][str(words)], record["counts"][name]
    if measure == "accuracy":
        return [100 * share for share in run["accuracy"]]
    if measure in ("loss", "time"):
        return list(run["loss" if measure == "loss" else "milliseconds"])
    return [count[{"total parameters": "total", "active parameters": "active", "FLOPs": "flops"}[measure]]]


def _format_number(measure: str, number: float) -> str:
    digits = {"accuracy": 1, "loss": 3, "time": 1}.get(measure, 0)
    return f"{number:,.{digits}f}"


def level(measure: str, samples: list[list[float]]) -> list[int]:
    """The best, down to the last whose gap to it is no more than two standard deviations of a difference of single runs: level, in the
    cautious reading of notebook 07."""
    means = [statistics.fmean(sample) for sample in samples]
    spreads = [statistics.stdev(sample) if len(sample) > 1 else 0.0 for sample in samples]
    best = (max if measure == "accuracy" else min)(range(len(samples)), key=lambda n: means[n])
    behind = [abs(mean - means[best]) for mean in means]
    reach = max(
        off for off, spread in zip(behind, spreads, strict=True) if off <= 2 * math.hypot(spread, spreads[best])
    )
    return [n for n, off in enumerate(behind) if off <= reach]


def dashboard(measure: str = "accuracy", equal: str = EQUAL[0], words: int = 40) -> Picture:
    """One measure of the five models: a bar for the mean, a dot for each seed, a whisker of one standard deviation."""
    if measure not in MEASURES or equal not in EQUAL or str(words) not in experiment.stored()["runs"]["none"]:
        raise ValueError(f"no such view: {measure!r} at equal {equal!r} for {words} words")
    entries = [(label, values(measure, name, words)) for label, name in rows(equal)]
    means = [statistics.fmean(sample) for _, sample in entries]
    most = max(max(sample) for _, sample in entries)
    first = level(measure, [sample for _, sample in entries])
    unit = {"accuracy": "%", "loss": " nats", "time": " ms"}.get(measure, "")
    lead = "highest" if measure == "accuracy" else "lowest"
    title = f"{measure[0].upper()}{measure[1:]}: "
    if len(first) > 1:
        title += f"{len(first)} of 5 can't be told apart at the {'top' if lead == 'highest' else 'bottom'}"
    else:
        title += f"{lead} for {entries[first[0]][0]}, {_format_number(measure, means[first[0]])}{unit}"
    summary = ", ".join(
        f"{label} {_format_number(measure, mean)}"
        + (f" ± {_format_number(measure, statistics.stdev(sample))}" if len(sample) > 1 else "")
        for (label, sample), mean in zip(entries, means, strict=True)
    )
    sentence = f"At equal {equal}, {words * words:,} pairs, {_UNITS[measure]}: {summary}."

    tall = 46.0  # of a row
    frame = plot.Frame(
        (0, 1.06 * most),
        (len(entries) - 0.5, -0.5),
        yticks=(),
        left=168,
        right=RIGHT - 108,
        top=66,
        bottom=66 + 5 * tall,
        grid="x",
    )
    shapes = [
        svg.text(LEFT, 54, f"{_UNITS[measure]}, {words * words:,} pairs, equal {equal}", size=12.5, fill=style.MUTED)
    ]
    shapes.append(frame.axes())
    for n, ((label, sample), mean) in enumerate(zip(entries, means, strict=True)):
        colour, middle = _COLOURS[KINDS[max(0, n - 1)]], frame.upright(n)
        end, words_after = mean, _format_number(measure, mean)
        shapes += [
            svg.text(frame.left - 12, middle + 5, label, anchor="end", bold=n in first),
            frame.area((0, mean), n - 0.3, n + 0.3, style.pale(colour, 0.4)),
        ]
        if len(sample) > 1:
            spread = statistics.stdev(sample)
            reach = max(mean - spread, 0), mean + spread
            heights = [n - 0.22 + 0.1 * seed % 0.31 for seed in range(len(sample))]
            tips = [_format_number(measure, one) for one in sample]
            shapes += [
                frame.curve((mean, mean), (n - 0.3, n + 0.3), plot.Look(colour, width=3)),
                frame.whiskers([reach], [n + 0.2], plot.Look(style.INK, width=2), 4),
                frame.dots(sample, heights, colour, 3, tips=tips),
            ]
            end, words_after = max(*sample, reach[1]), f"{words_after} ± {_format_number(measure, spread)}"
        across = min(frame.across(end), frame.right) + 12
        shapes.append(svg.text(across, middle + 5, words_after, size=12.5, bold=n in first, halo=True))
    legend = "bar: mean; dots: the seeds; line: ± one standard deviation; bold: best, or level"
    if len(entries[0][1]) == 1:
        legend = "counted, not measured: the same for every seed"
    shapes.append(svg.text(LEFT, frame.bottom + 42, legend, size=12, fill=style.MUTED))
    return Picture(title, sentence, svg.card(frame.bottom + 60, title, sentence, *shapes))


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
    pitch = 80.0
    for n, (other, (short, _, _)) in enumerate(_SAYS.items()):
        x, here = RIGHT - pitch * (len(_SAYS) - n), other == kind
        box = svg.rect(
            x + 4, 46, pitch - 4, 26, radius=6, fill=_COLOURS[other] if here else style.PAPER, stroke=_COLOURS[other]
        )
        ink = style.PAPER if here else _COLOURS[other]
        word = svg.text(x + 2 + pitch / 2, 63.5, short, size=12, anchor="middle", bold=here, fill=ink)
        shapes.append(svg.button(box, word, sets={"kind": other}, name=f"second sub-layer: {short}"))
    if kind == "moe":
        sentence += " The balance loss is aux_loss."
        shapes.append(svg.text(494, side + 44, "besides: aux_loss", size=12.5, anchor="middle"))
    shapes.append(svg.text(svg.WIDTH / 2, main + 62, f"{inside}", size=13, anchor="middle", fill=style.MUTED))
    return Picture(title, sentence, svg.card(320, title, sentence, *shapes))


RULE_THRESHOLD = 0.95  # of the new scenes: a run that says over or into rightly in as many has found the rule
_READERS = {
    "none": "attention, 1 block",
    "none, 3 blocks": "attention, 3 blocks",
    "relu": "ReLU FFN, 1 block",
    "relu, 2 blocks": "ReLU FFN, 2 blocks",
}


def count_rule_finders(name: str) -> int:
    """In how many of the stored runs at the creek one of its models has found the rule of over and into."""
    return sum(share >= RULE_THRESHOLD for share in creek.stored()["right"][name]["way"])


def cloud(yours: float | None = None, name: str = "relu") -> Picture:
    """How often over or into is right in new scenes: a dot for each stored run, and the learner's own.

    yours: the share, from 0 to 1, of the learner's run. name: of which model of the creek it is a run.

    Raises:
        ValueError: there is no such model, or no such share.
    """
    if name not in _READERS or not (yours is None or 0 <= yours <= 1):
        raise ValueError(f"there is no run of {name!r} with a share of {yours}; the models are {', '.join(_READERS)}")
    record = creek.stored()
    count = len(record["settings"]["seeds"])
    summary = "; ".join(f"{words}: {count_rule_finders(model)}" for model, words in _READERS.items())
    title = "Twenty runs of one kind end in many places"
    sentence = f"Over or into is right in at least 95 % of the new scenes in so many of {count} runs. {summary}."
    if yours is not None:
        title = f"Yours is right in {100 * yours:.0f} % of the new scenes"
        sentence += f" Yours, {_READERS[name]}: {100 * yours:.1f} %."

    tall, top = 58.0, 78.0  # of a row, and where the first begins
    frame = plot.Frame(
        (38, 102),
        (len(_READERS) - 0.5, -0.5),
        yticks=(),
        left=176,
        right=RIGHT - 92,
        top=top,
        bottom=top + 4 * tall,
        grid="x",
    )
    shapes = [
        svg.text(
            LEFT,
            56,
            "new scenes in which over or into is right, in %; a coin toss is right in 50",
            size=12.5,
            fill=style.MUTED,
        ),
        frame.axes(),
    ]
    for n, (model, words) in enumerate(_READERS.items()):
        colour, middle = style.MUTED if model.startswith("none") else style.SERIES[0], frame.upright(n)
        shares = [100 * share for share in record["right"][model]["way"]]
        heights = [
            n - 0.32 + 0.64 * (seed * 0.618 % 1) for seed in range(count)
        ]  # so that equal ones don't hide each other
        tips = [f"seed {seed}: {share:.1f} %" for seed, share in zip(record["settings"]["seeds"], shares, strict=True)]
        shapes += [
            svg.text(frame.left - 12, middle - 1, words, anchor="end"),
            svg.text(
                frame.left - 12,
                middle + 14,
                f"{record['parameters'][model]:,} parameters",
                size=11,
                anchor="end",
                fill=style.MUTED,
            ),
            frame.dots(shares, heights, style.pale(colour, 0.7), 4, tips=tips),
            svg.text(frame.right + 14, middle + 5, f"{count_rule_finders(model)} of {count}", size=12.5),
        ]
        if yours is not None and model == name:
            share = max(100 * yours, 38.0)
            shapes += [
                svg.circle(frame.across(share), middle, 8, fill=style.CHOSEN, stroke=style.PAPER, stroke_width=2),
                svg.text(
                    frame.across(share),
                    middle - 13,
                    "yours",
                    size=12.5,
                    anchor="middle",
                    bold=True,
                    fill=style.CHOSEN,
                    halo=True,
                ),
            ]
    shapes.append(svg.text(frame.right + 14, top - 8, "95 % or more", size=11, fill=style.MUTED))
    return Picture(title, sentence, svg.card(frame.bottom + 44, title, sentence, *shapes))
