"""Measures what notebook 11 says of a real model.

`python -m autograder.authoring.experiments.real` needs the file of `ffnlab.course.real_file`, and takes about ten minutes of one CPU core, most of them for
switching off 1,536 neurons one by one; with --keep-off these are not measured again. It writes ffnlab's experiments/real.json and real.safetensors. No
part of the model's file is in them.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course import real_check, real_file
from ffnlab.course import real_model as model
from ffnlab.course.experiments import real_sentences as sentences
from ffnlab.course.experiments.real import (
    HEARS,
    LAMPS,
    LOUDER,
    LOUDNESS,
    NAMES,
    REPLACEMENTS,
    STEPS,
    STORED,
    WORD,
    stored,
)

DRAWS = 100
HOLDS = 0.9  # of the manual's pairs
COUNTS = (2, 3, 4, 6, 8, 12)  # pairs that search
SWITCHED = 20  # pairs, the manual's shortest
# Of layer 2: on the 20 pairs the two largest effects, and two of the smallest in 20 of 20.
ALSO_ON_ALL = (1265, 185, 970, 1338)
CHOSEN_BY = 6  # pairs of a subject, its first, which have chosen lamps A and H
FEW = 0.8  # of the manual's pairs
CLOSE = 4
EXAMPLE = ("The dog is not afraid of the water.", "The dog is afraid of the water.")
NEXT = 795  # of layer 2: another neuron, for comparison


def index(neuron: tuple[int, int]) -> int:
    """The number among all 9,216 of a neuron (layer, number)."""
    return neuron[0] * model.D_FF + neuron[1]


def digest(texts: list[str]) -> str:
    """Tells one version of the manual from another."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def loud(pairs: list[sentences.Pair]) -> tuple[torch.Tensor, torch.Tensor]:
    """How loud each neuron is in the first and in the second sentences, each [pairs, 9216]."""
    return model.loudest([first for first, _ in pairs]), model.loudest([second for _, second in pairs])


# What boards show


def lit(texts: list[str], neurons: list[tuple[int, int]]) -> dict[str, dict[str, Any]]:
    """By sentence, its tokens and the neurons' activations in tenths, [tokens, neurons], never below 0."""
    result = {}
    for text in texts:
        reading = model.run([text])
        acts = torch.stack([reading.activations(layer)[0, :, number] for layer, number in neurons], 1)
        result[text] = {"tokens": model.pieces(text), "acts": (acts.clamp(min=0) * STEPS).round().int().tolist()}
    return result


def slot_sentences() -> list[str]:
    """All sentences of the first board."""
    return [" ".join(parts) for parts in itertools.product(*sentences.SLOTS)]


# Finding


def sieve(ours: tuple[torch.Tensor, torch.Tensor], hits: torch.Tensor, pairs: int) -> dict[str, Any]:
    """How many neurons are left of 9,216 when each of k pairs has to be told apart: all, those that hold, and those by luck.

    Luck: in every second pair the sentences are exchanged, so that nothing is heard that they share.
    """
    difference = ours[0] - ours[1]  # [16, 9216]
    result = {}
    for count in COUNTS:
        rows: dict[str, list[int]] = {"fit": [], "hold": [], "luck": []}
        for draw in range(DRAWS):
            some = random.Random(1000 * count + draw).sample(range(len(difference)), count)
            signs = torch.tensor([(-1.0) ** n for n in range(count)])[:, None]
            fit = (difference[some] > LOUDER).all(0)
            rows["fit"].append(int(fit.sum()))
            rows["hold"].append(int((fit & (hits >= HOLDS * pairs)).sum()))
            rows["luck"].append(int((signs * difference[some] > LOUDER).all(0).sum()))
        result[str(count)] = rows
    return result


def manual_counts() -> dict[str, Any]:
    """How loud the two neurons are in the manual's sentences with and without a negation, and at which words they are loudest above 2."""
    negated = [text for text in sentences.manual() if sentences.NEGATION.search(text)]
    others = [text for text in sentences.manual() if not sentences.NEGATION.search(text)]
    loud_negated, loud_others = model.loudest(negated), model.loudest(others)
    above = {
        f"{neuron[1]}": {
            str(least): [int((loud_part[:, index(neuron)] > least).sum()) for loud_part in (loud_negated, loud_others)]
            for least in (1, 2, 3, 4)
        }
        for neuron in (HEARS, WORD)
    }
    return {
        "sentences": [len(negated), len(others)],
        "above": above,
        "words": {str(neuron[1]): loudest_words(others, neuron) for neuron in (HEARS, WORD)},
        "negations": {str(neuron[1]): loudest_words(negated, neuron) for neuron in (HEARS, WORD)},
    }


def loudest_words(texts: list[str], neuron: tuple[int, int]) -> list[tuple[str, int]]:
    """At which tokens a neuron is loudest in the sentences that light it above 2: the 16 most frequent, with their numbers of sentences."""
    layer, number = neuron
    words: Counter[str] = Counter()
    for text in texts:
        acts = model.run([text]).activations(layer)[0, 1:-1, number]
        if acts.max() > 2:
            words[model.pieces(text)[1 + int(acts.argmax())]] += 1
    return words.most_common(16)


def kinds() -> dict[str, Any]:
    """By neuron and kind of *not*: mean, least and most of the loudest in 30 sentences."""
    result: dict[str, dict[str, list[float]]] = {str(WORD[1]): {}, str(HEARS[1]): {}}
    for kind in sentences.NOT_SENTENCES:
        rows = model.loudest(sentences.not_sentences(kind))
        for neuron in (WORD, HEARS):
            values = rows[:, index(neuron)]
            result[str(neuron[1])][kind] = [round(float(v), 2) for v in (values.mean(), values.min(), values.max())]
    return result


def topics() -> dict[str, list[int]]:
    """By lamp of a subject, how many of the subject's first six pairs it tells apart, and how many of its other six."""
    result = {}
    for lamp, name in NAMES.items():
        if name in sentences.TOPICS:
            first, second = loud(sentences.topic_pairs(name))
            apart = (first - second)[:, index(LAMPS[lamp])] > LOUDER
            result[lamp] = [int(apart[:CHOSEN_BY].sum()), int(apart[CHOSEN_BY:].sum())]
    return result


# Switching off


def switched_pairs() -> list[sentences.Pair]:
    """The manual's shortest pairs."""
    return sorted(sentences.manual_pairs(), key=lambda pair: len(pair[0]))[:SWITCHED]


@torch.no_grad()
def likeness_without(
    layer: int, neurons: list[int], pairs: list[sentences.Pair] | None = None
) -> Iterator[torch.Tensor]:
    """How alike both sentences of each pair are, [pairs]: first with all neurons, then without each of a layer's. Pairs: the switched ones."""
    pairs = pairs or switched_pairs()
    ids, mask = model.batch([text for pair in pairs for text in pair])
    x = model.embed(ids)
    for before in range(layer):
        x = model.feed_forward_half(model.attend(x, before, mask), before)
    x = model.attend(x, layer, mask)
    name = f"encoder.layer.{layer}.output"
    hidden = model.activations(x, layer)
    written = model.linear(hidden, f"{name}.dense")
    W2 = real_file.numbers()[f"{name}.dense.weight"]

    def go_on(total: torch.Tensor) -> torch.Tensor:
        y = model.norm(total, f"{name}.LayerNorm")
        for later in range(layer + 1, model.LAYERS):
            y = model.feed_forward_half(model.attend(y, later, mask), later)
        vectors = model.pool(y, mask)
        return (vectors[0::2] * vectors[1::2]).sum(1)

    yield go_on(x + written)
    for neuron in neurons:
        yield go_on(x + written - hidden[..., neuron, None] * W2[:, neuron])


def effects(layer: int, neurons: list[int]) -> list[list[float]]:
    """For each neuron that is switched off: how much nearer the pairs come on average, and how many of them come nearer."""
    runs = likeness_without(layer, neurons)
    base = next(runs)
    return [[round(float((run - base).mean()), 5), int((run > base).sum())] for run in runs]


def off_on_all() -> dict[str, dict[str, Any]]:
    """By some neuron of layer 2: how much nearer all of the manual's pairs come without it, in how many, and the mean of those that are not the shortest."""
    pairs = sorted(sentences.manual_pairs(), key=lambda pair: len(pair[0]))
    runs = likeness_without(HEARS[0], list(ALSO_ON_ALL), pairs)
    base = next(runs)
    result = {}
    for neuron, run in zip(ALSO_ON_ALL, runs, strict=True):
        nearer = run - base
        result[str(neuron)] = {
            "mean": round(float(nearer.mean()), 5),
            "nearer": int((nearer > 0).sum()),
            "longer": round(float(nearer[SWITCHED:].mean()), 5),
        }
    return result


def twins_loud() -> list[list[float]]:
    """How loud 1265 is in both sentences of each two that mean the same."""
    return [
        [round(float(part[index(HEARS)]), 1) for part in pair]
        for pair in zip(*loud(list(sentences.TWINS)), strict=True)
    ]


def nearly(hits: torch.Tensor, pairs: int) -> list[list[int]]:
    """The neurons that tell 8 of 10 of the manual's pairs apart, most first: layer, number, pairs."""
    some = [(int(hits[n]), *divmod(int(n), model.D_FF)) for n in (hits >= FEW * pairs).nonzero()]
    return [[layer, number, count] for count, layer, number in sorted(some, reverse=True)]


def twins_without() -> list[float]:
    """By how much the likeness of each two sentences that mean the same changes without 1265."""
    texts = [text for pair in sentences.TWINS for text in pair]
    on = model.vectors(texts)
    off = model.vectors(texts, change=model.hold(*HEARS))
    changes = (off[0::2] * off[1::2]).sum(1) - (on[0::2] * on[1::2]).sum(1)
    return [round(float(value), CLOSE) for value in changes]


# Other things in the FFNs' place


def means() -> list[dict[str, torch.Tensor]]:
    """By layer, what the FFN writes on average in the manual's sentences: at all tokens, at words, at [CLS] and at [SEP], each [d_model]."""
    names = ("all", "words", "CLS", "SEP")
    sums = [{name: torch.zeros(model.D_MODEL, dtype=torch.float64) for name in names} for _ in range(model.LAYERS)]
    counts = dict.fromkeys(names, 0)
    texts = sentences.manual()
    for start in range(0, len(texts), 48):
        kept: list[torch.Tensor] = []

        def keep(layer: int, written: torch.Tensor, kept: list[torch.Tensor] = kept) -> torch.Tensor:
            kept.append(written)
            return written

        mask = model.run(texts[start : start + 48], replace=keep).mask
        for name, where in places(mask).items():
            counts[name] += int(where.sum())
            for total, written in zip(sums, kept, strict=True):
                total[name] += written[where].double().sum(0)
    return [{name: (total[name] / counts[name]).float() for name in names} for total in sums]


def places(mask: torch.Tensor) -> dict[str, torch.Tensor]:
    """Where the four kinds of tokens are, each [B, T]."""
    words = model.words_only(mask)
    first = torch.zeros_like(mask)
    first[:, 0] = True
    return {"all": mask, "words": words, "CLS": first, "SEP": mask & ~words & ~first}


def replaced() -> dict[str, Any]:
    """What is left of sentences' likenesses when something else is in the FFNs' place."""
    averages = means()

    def by_kind(mask: torch.Tensor, layer: int) -> torch.Tensor:
        where, average = places(mask), averages[layer]
        out = torch.zeros(*mask.shape, model.D_MODEL)
        for name in ("words", "CLS", "SEP"):
            out[where[name]] = average[name]
        return out

    ways: dict[str, Callable[[torch.Tensor, int, torch.Tensor], torch.Tensor]] = {
        "themselves": lambda mask, layer, written: written,
        "zero": lambda mask, layer, written: torch.zeros_like(written),
        "mean of all": lambda mask, layer, written: averages[layer]["all"].expand_as(written),
        "mean by kind": lambda mask, layer, written: by_kind(mask, layer),
    }
    return {key: compare_twins(ways[key]) for key, _ in REPLACEMENTS}


def compare_twins(way: Callable[[torch.Tensor, int, torch.Tensor], torch.Tensor]) -> dict[str, Any]:
    """How many twins find each other, and how alike twins and strangers are, plain and after the mean of all vectors is taken off."""
    texts = [left for left, _ in sentences.TWINS] + [right for _, right in sentences.TWINS]
    mask = model.batch(texts)[1]
    vectors = model.run(texts, replace=lambda layer, written: way(mask, layer, written)).vectors
    centred = F.normalize(vectors - vectors.mean(0), dim=-1)
    count = len(sentences.TWINS)
    strangers = ~torch.eye(count, dtype=torch.bool)
    likeness, shifted = vectors[:count] @ vectors[count:].T, centred[:count] @ centred[count:].T
    truth = torch.arange(count)
    some = random.Random(0).sample(range(count * (count - 1)), 150)
    return {
        "found": [int((likeness.argmax(axis) == truth).sum()) for axis in (1, 0)],
        "twins": [round(float(v), 3) for v in likeness.diag()],
        "strangers": [round(float(v), 3) for v in likeness[strangers][some]],
        "means": [round(float(v), 3) for v in (likeness.diag().mean(), likeness[strangers].mean())],
        "centred": [round(float(v), 3) for v in (shifted.diag().mean(), shifted[strangers].mean())],
    }


def lengths() -> dict[str, list[float]]:
    """By layer, how long what the FFN writes is at [CLS], and at a word on average, in the twins' sentences."""
    kept: list[torch.Tensor] = []

    def keep(layer: int, written: torch.Tensor) -> torch.Tensor:
        kept.append(written)
        return written

    where = places(model.run([text for pair in sentences.TWINS for text in pair], replace=keep).mask)
    return {
        name: [round(float(written[where[name]].norm(dim=-1).mean()), 1) for written in kept]
        for name in ("CLS", "words")
    }


def shares() -> dict[str, Any]:
    """By layer, how many of the activations are above zero, in the twins' sentences, and the strongest of all."""
    reading = model.run([text for pair in sentences.TWINS for text in pair])
    positive = [round(float((reading.activations(n)[reading.mask] > 0).float().mean()), 3) for n in range(model.LAYERS)]
    giant = reading.activations(LAMPS["D"][0])[:, :, LAMPS["D"][1]]
    return {"positive": positive, "giant": [round(float(giant[:, 0].min()), 1), round(float(giant[:, 0].max()), 1)]}


def mistakes() -> dict[str, list[float]]:
    """By mistake in a half: the largest error of a number after one half; and of the sentence vectors, when all six have it, the mean cosine."""
    truth = [model.feed_forward_half(x, layer) for layer, x in enumerate(real_check.reading().before)]
    own = model.vectors(real_check.TEXTS)
    result = {}
    for name, mistake in real_check.MISTAKES.items():
        wrong = model.vectors(real_check.TEXTS, half=partial(_wrong_half, mistake))
        error = real_check.furthest(real_check.by_mistake(name), truth)
        result[name] = [float(f"{error:.2g}"), round(float((own * wrong).sum(-1).mean()), 4)]
    return result


def _wrong_half(mistake: real_check.Mistake, x: torch.Tensor, layer: int) -> torch.Tensor:
    return mistake.compute(x, real_check.parts(layer), layer)


def agreement() -> float:
    """How far the vectors are from the model's own, number by number, where FFNs are written as in notebook 02."""

    def half(x: torch.Tensor, layer: int) -> torch.Tensor:
        parts = real_check.parts(layer)
        return parts.norm(x + parts.ffn(x))

    off = model.vectors(real_check.TEXTS, half=half) - model.vectors(real_check.TEXTS)
    return float(f"{float(off.abs().max()):.1g}")


def example() -> dict[str, float]:
    """How alike the two sentences of the notebook's cell are: as they are, and without a neuron of layer 2."""

    def likeness(change: model.Change | None = None) -> float:
        first, second = model.vectors(EXAMPLE, change=change)
        return round(float(first @ second), 3)

    off = {f"without {neuron}": likeness(model.hold(2, neuron)) for neuron in (HEARS[1], NEXT)}
    return {"as it is": likeness(), **off}


def measure() -> dict[str, Any]:
    """Everything but the loudness of single pairs and the switch, by key of real.json."""
    ours = loud(list(sentences.OURS))
    pairs = sentences.manual_pairs()
    manual = loud(pairs)
    hits = (manual[0] - manual[1] > LOUDER).sum(0)
    return {
        "pairs": len(pairs),
        "sieve": sieve(ours, hits, len(pairs)),
        "manual": manual_counts(),
        "kinds": kinds(),
        "topics": topics(),
        "nearly": nearly(hits, len(pairs)),
        "off all": off_on_all(),
        "off word": effects(WORD[0], [WORD[1]])[0],
        "twins off": twins_without(),
        "twins loud": twins_loud(),
        "replaced": replaced(),
        "lengths": lengths(),
        "shares": shares(),
        "mistakes": mistakes(),
        "agreement": agreement(),
        "example": example(),
    }


def tensors_of_ours() -> dict[str, torch.Tensor]:
    """Tenths of our pairs' loudness, [16, 9216] each."""
    with_, without = ((part.clamp(0, 25.5) * STEPS).round().to(torch.uint8) for part in loud(list(sentences.OURS)))
    return {"with": with_, "without": without}


def tensors() -> dict[str, torch.Tensor]:
    """What real.safetensors holds: besides that of ours, how many of the manual's pairs each neuron tells apart."""
    first, second = loud(sentences.manual_pairs())
    return tensors_of_ours() | {"hits": (first - second > LOUDER).sum(0).to(torch.uint8)}


def main() -> None:
    """Measure and store."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    shapes = {name: list(tensor.shape) for name, tensor in real_file.numbers().items()}
    save_file(tensors(), LOUDNESS)
    keeps = "--keep-off" in sys.argv
    off = stored()["off"] if keeps else effects(HEARS[0], list(range(model.D_FF)))
    about = {"torch": TORCH, "manual": digest(sentences.manual()), "likeness": likeness_with_all()}
    free = lit(list(sentences.FREE), [WORD, HEARS])
    lamps = lit(slot_sentences(), list(LAMPS.values()))
    write(
        STORED,
        {"about": about, "off": off, **measure()},
        {"shapes": shapes, "free": free, "lamps": lamps},
    )


def likeness_with_all() -> float:
    """How alike the two sentences of a switched pair are on average, with all neurons."""
    return round(float(next(likeness_without(HEARS[0], [])).mean()), CLOSE)


if __name__ == "__main__":
    main()
