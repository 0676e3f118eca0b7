"""The figures of notebook 10: a block and its four kinds, the runs at the creek with the learner's own among them, and the dashboard of experiment E8."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

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


class _Entry(NamedTuple):
    """One of the models in the dashboard, by one measure."""

    label: str
    colour: str
    sample: list[float]  # a number for each seed, or one alone
    is_best: bool  # or level with the best

    @property
    def mean(self) -> float:
        return statistics.fmean(self.sample)

    @property
    def spread(self) -> float | None:
        """One standard deviation of the seeds; None where nothing is random."""
        return statistics.stdev(self.sample) if len(self.sample) > 1 else None

    def in_words(self, measure: str) -> str:
        """The mean with its standard deviation."""
        mean = _format_number(measure, self.mean)
        return mean if self.spread is None else f"{mean} ± {_format_number(measure, self.spread)}"


def _entries(measure: str, equal: str, words: int) -> list[_Entry]:
    samples = {label: values(measure, name, words) for label, name in rows(equal)}
    best = level(measure, list(samples.values()))
    colours = [_COLOURS[kind] for kind in ("none", *KINDS)]
    return [
        _Entry(label, colour, sample, n in best)
        for n, ((label, sample), colour) in enumerate(zip(samples.items(), colours, strict=True))
    ]


def dashboard(measure: str = "accuracy", equal: str = EQUAL[0], words: int = 40) -> Picture:
    """One measure of the five models: a bar for the mean, a dot for each seed, a whisker of one standard deviation."""
    if measure not in MEASURES or equal not in EQUAL or str(words) not in experiment.stored()["runs"]["none"]:
        raise ValueError(f"no such view: {measure!r} at equal {equal!r} for {words} words")
    entries = _entries(measure, equal, words)
    title, sentence = _dashboard_words(entries, measure, equal, words)
    frame = plot.Frame(
        (0, 1.06 * max(max(entry.sample) for entry in entries)),
        (len(entries) - 0.5, -0.5),
        yticks=(),
        left=168,
        right=RIGHT - 108,
        top=66,
        bottom=66 + 5 * 46.0,
        grid="x",
    )
    head = f"{_UNITS[measure]}, {words * words:,} pairs, equal {equal}"
    legend = "bar: mean; dots: the seeds; line: ± one standard deviation; bold: best, or level"
    if entries[0].spread is None:
        legend = "counted, not measured: the same for every seed"
    shapes = [
        svg.text(LEFT, 54, head, size=12.5, fill=style.MUTED),
        frame.axes(),
        *(_row_of_entry(entry, n, frame, measure) for n, entry in enumerate(entries)),
        svg.text(LEFT, frame.bottom + 42, legend, size=12, fill=style.MUTED),
    ]
    return Picture(title, sentence, svg.card(frame.bottom + 60, title, sentence, *shapes))


def _dashboard_words(entries: list[_Entry], measure: str, equal: str, words: int) -> tuple[str, str]:
    """Title and sentence."""
    best = [entry for entry in entries if entry.is_best]
    is_highest = measure == "accuracy"
    result = f"{len(best)} of 5 can't be told apart at the {'top' if is_highest else 'bottom'}"
    if len(best) == 1:
        unit = {"accuracy": "%", "loss": " nats", "time": " ms"}.get(measure, "")
        number = _format_number(measure, best[0].mean)
        result = f"{'highest' if is_highest else 'lowest'} for {best[0].label}, {number}{unit}"
    title = f"{measure[0].upper()}{measure[1:]}: {result}"
    summary = ", ".join(f"{entry.label} {entry.in_words(measure)}" for entry in entries)
    return title, f"At equal {equal}, {words * words:,} pairs, {_UNITS[measure]}: {summary}."


def _row_of_entry(entry: _Entry, n: int, frame: plot.Frame, measure: str) -> str:
    """A model's bar, and where there are seeds, their dots and their spread."""
    mean, spread, middle = entry.mean, entry.spread, frame.upright(n)
    end = mean
    shapes = [
        svg.text(frame.left - 12, middle + 5, entry.label, anchor="end", bold=entry.is_best),
        frame.area((0, mean), n - 0.3, n + 0.3, style.pale(entry.colour, 0.4)),
    ]
    if spread is not None:
        reach = max(mean - spread, 0), mean + spread
        heights = [n - 0.22 + 0.1 * seed % 0.31 for seed in range(len(entry.sample))]
        tips = [_format_number(measure, number) for number in entry.sample]
        shapes += [
            frame.curve((mean, mean), (n - 0.3, n + 0.3), plot.Look(entry.colour, width=3)),
            frame.whiskers([reach], [n + 0.2], plot.Look(style.INK, width=2), 4),
            frame.dots(entry.sample, heights, entry.colour, 3, tips=tips),
        ]
        end = max(*entry.sample, reach[1])
    across = min(frame.across(end), frame.right) + 12
    number = svg.text(across, middle + 5, entry.in_words(measure), size=12.5, bold=entry.is_best, halo=True)
    return "".join([*shapes, number])


_STREAM, _BRANCH = 236.0, 130.0  # the height of the line from x to out, and of what branches off it
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
    name, inside, _ = _SAYS[kind]
    title, words = _block_words(kind)
    end = RIGHT - 30
    shapes = [
        svg.line(LEFT + 30, _STREAM, end, _STREAM, stroke=style.INK, width=2.5),
        svg.text(LEFT + 16, _STREAM + 5, "x", size=15, bold=True, anchor="middle"),
        svg.text(end + 16, _STREAM + 5, "out", size=13, bold=True, anchor="middle"),
        svg.text(324, _STREAM + 26, "z", size=15, bold=True, anchor="middle"),
        *_sub_layer(1, "attention", "global: tokens exchange", style.INK),
    ]
    if kind != "none":
        shapes += _sub_layer(2, name, "local: each token alone", _COLOURS[kind])
    shapes += [_button_of_kind(n, other, other == kind) for n, other in enumerate(_SAYS)]
    if kind == "moe":
        shapes.append(svg.text(494, _BRANCH + 44, "besides: aux_loss", size=12.5, anchor="middle"))
    shapes.append(svg.text(svg.WIDTH / 2, _STREAM + 62, inside, size=13, anchor="middle", fill=style.MUTED))
    return Picture(title, words, svg.card(320, title, words, *shapes))


def _block_words(kind: str) -> tuple[str, str]:
    """Title and sentence."""
    name, inside, count = _SAYS[kind]
    words = "Attention (global: tokens exchange) reads norm1 of x; with x added, that is z. "
    if kind == "none":
        return "No second half: out = z", f"{words}The block ends there."
    words += f"Then {inside} (local: each token alone) read norm2 of z, and z is added."
    if kind == "moe":
        words += " The balance loss is aux_loss."
    return f"Second half: {name}, {count} parameters", words


def _sub_layer(number: int, name: str, what: str, colour: str) -> list[str]:
    """A branch off the stream with its norm and its box, and the sum where it comes back."""
    start, total = 280.0 * number - 216, 280.0 * number + 14
    branch = [(start, _STREAM), (start, _BRANCH), (total, _BRANCH), (total, _STREAM - 13)]
    return [
        svg.path(branch, stroke=style.MUTED, width=2),
        svg.circle(start, _STREAM, 4, fill=style.INK),
        svg.circle(total, _STREAM, 13, fill=style.PAPER, stroke=style.INK, stroke_width=2),
        svg.text(total, _STREAM + 6, "+", size=18, bold=True, anchor="middle"),
        svg.rect(start + 14, _BRANCH - 17, 64, 34, radius=7, fill=style.PAPER, stroke=style.MUTED, stroke_width=2),
        svg.text(start + 46, _BRANCH + 5, f"norm{number}", anchor="middle", fill=style.MUTED),
        svg.rect(start + 98, _BRANCH - 24, 104, 48, radius=7, fill=style.PAPER, stroke=colour, stroke_width=2.5),
        svg.text(start + 150, _BRANCH + 5, name, size=14, bold=True, anchor="middle", fill=colour),
        svg.text(start + 128, _BRANCH - 42, what, size=12.5, anchor="middle", fill=style.MUTED),
    ]


def _button_of_kind(n: int, kind: str, here: bool) -> str:
    name, colour, pitch = _SAYS[kind][0], _COLOURS[kind], 80.0
    x = RIGHT - pitch * (len(_SAYS) - n)
    box = svg.rect(x + 4, 46, pitch - 4, 26, radius=6, fill=colour if here else style.PAPER, stroke=colour)
    ink = style.PAPER if here else colour
    word = svg.text(x + 2 + pitch / 2, 63.5, name, size=12, anchor="middle", bold=here, fill=ink)
    return svg.button(box, word, sets={"kind": kind}, name=f"second half: {name}")


_LEAST_SHARE = 38.0  # percent, where the axis of `cloud` begins


def count_rule_finders(name: str) -> int:
    """In how many of the stored runs at the creek one of its models has found the rule of over and into."""
    return sum(share >= creek.RULE_THRESHOLD for share in creek.stored()["right"][name]["way"])


class _Runs(NamedTuple):
    """The stored runs of one model of the creek."""

    name: str
    parameters: int
    seeds: list[int]
    shares: list[float]  # of each run: in how many percent of the new scenes over or into is right

    @property
    def found(self) -> str:
        """How many of the runs have found the rule."""
        return f"{count_rule_finders(self.name)} of {len(self.seeds)}"


def _runs() -> list[_Runs]:
    record = creek.stored()
    seeds = record["settings"]["seeds"]
    return [
        _Runs(name, record["parameters"][name], seeds, [100 * share for share in record["right"][name]["way"]])
        for name in creek.NAMES
    ]


def cloud(yours: float | None = None, name: str = "relu") -> Picture:
    """How often over or into is right in new scenes: a dot for each stored run, and the learner's own.

    yours: the share, from 0 to 1, of the learner's run. name: of which model of the creek it is a run.

    Raises:
        ValueError: there is no such model, or no such share.
    """
    if name not in creek.NAMES or not (yours is None or 0 <= yours <= 1):
        raise ValueError(
            f"there is no run of {name!r} with a share of {yours}; the models are {', '.join(creek.NAMES)}"
        )
    title, words = _cloud_words(yours, name)
    top, tall = 78.0, 58.0  # where the first row begins, and of a row
    frame = plot.Frame(
        (_LEAST_SHARE, 102),
        (len(creek.NAMES) - 0.5, -0.5),
        yticks=(),
        left=176,
        right=RIGHT - 92,
        top=top,
        bottom=top + 4 * tall,
        grid="x",
    )
    head = "new scenes in which over or into is right, in %; a coin toss is right in 50"
    shapes = [svg.text(LEFT, 56, head, size=12.5, fill=style.MUTED), frame.axes()]
    for n, runs in enumerate(_runs()):
        shapes += _cloud_of_runs(runs, n, frame)
        if yours is not None and runs.name == name:
            shapes += _own_run(yours, n, frame)
    shapes.append(svg.text(frame.right + 14, top - 8, "95 % or more", size=11, fill=style.MUTED))
    return Picture(title, words, svg.card(frame.bottom + 44, title, words, *shapes))


def _cloud_words(yours: float | None, name: str) -> tuple[str, str]:
    """Title and sentence."""
    count = len(creek.stored()["settings"]["seeds"])
    summary = "; ".join(f"{reader}: {count_rule_finders(model)}" for model, reader in creek.NAMES.items())
    words = f"Over or into is right in at least 95 % of the new scenes in so many of {count} runs. {summary}."
    if yours is None:
        return "Twenty runs of one kind end in many places", words
    title = f"Yours is right in {100 * yours:.0f} % of the new scenes"
    return title, f"{words} Yours, {creek.NAMES[name]}: {100 * yours:.1f} %."


def _cloud_of_runs(runs: _Runs, n: int, frame: plot.Frame) -> list[str]:
    """A dot for each run of a model, and how many have found the rule."""
    colour = style.MUTED if runs.name.startswith("none") else style.SERIES[0]
    middle = frame.upright(n)
    # A little apart, so that equal ones don't hide each other.
    heights = [n - 0.32 + 0.64 * (run * 0.618 % 1) for run in range(len(runs.seeds))]
    tips = [f"seed {seed}: {share:.1f} %" for seed, share in zip(runs.seeds, runs.shares, strict=True)]
    size = f"{runs.parameters:,} parameters"
    return [
        svg.text(frame.left - 12, middle - 1, creek.NAMES[runs.name], anchor="end"),
        svg.text(frame.left - 12, middle + 14, size, size=11, anchor="end", fill=style.MUTED),
        frame.dots(runs.shares, heights, style.pale(colour, 0.7), 4, tips=tips),
        svg.text(frame.right + 14, middle + 5, runs.found, size=12.5),
    ]  # fmt: skip


def _own_run(yours: float, n: int, frame: plot.Frame) -> list[str]:
    """The learner's run, larger than the others."""
    x, y = frame.at(max(100 * yours, _LEAST_SHARE), n)
    ink = style.CHOSEN
    return [
        svg.circle(x, y, 8, fill=ink, stroke=style.PAPER, stroke_width=2),
        svg.text(x, y - 13, "yours", size=12.5, anchor="middle", bold=True, fill=ink, halo=True),
    ]
