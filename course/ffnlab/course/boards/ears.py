"""Neurons of a real model over a reader's sentence, as boards for notebook 11: `ears.eight()` to name them, `ears.two()` to break a name.

Where the model's file is, Python reads any sentence. Elsewhere the boards have sentences whose activations are stored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ffnlab.boards import Board, Goal
from ffnlab.course import real_file
from ffnlab.course.experiments import real, real_sentences

HERE = Path(__file__).parent
MOST_TOKENS = 24  # of a sentence that is typed
LIT = 1.0  # how active a neuron is that counts as lit
LOUD, QUIET = 2.5, 1.5  # what the second board asks for: at least the one, or less than the other
NEGATIONS = "not, n't, no, never, none, nobody, nothing, nowhere, neither, nor, cannot, without"


Neuron = tuple[int, int]  # its layer, and its number there


def eight(name: str = "ears_eight") -> Board:
    """Eight neurons without names."""
    data = {
        "guise": "eight",
        "lamps": [{"name": lamp, "is": real.NAMES[lamp]} for lamp in real.LAMPS],
        "names": sorted(set(real.NAMES.values())),
        "slots": real_sentences.SLOTS,
        "stored": real.stored()["lamps"],
        "begin": " ".join(slot[0] for slot in real_sentences.SLOTS),
    }
    goals = (
        Goal("hear", "Two of the eight hear “not”. Name them both."),
        Goal("all", "Name all eight."),
    )
    title = "A sentence, and eight neurons of a real model over its words. What does each of them hear?"
    return _board(name, title, data, goals, list(real.LAMPS.values()))


def two(name: str = "ears_two") -> Board:
    """The two neurons that hear *not*, and sentences that break their names."""
    neurons = [real.WORD, real.HEARS]
    data = {
        "guise": "two",
        "lamps": [{"name": str(number), "is": "not", "where": f"layer {layer}"} for layer, number in neurons],
        "names": [],
        "slots": [],
        "stored": real.stored()["free"],
        "loud": LOUD,
        "quiet": QUIET,
        "begin": real_sentences.FREE[0],
    }
    verb = "Write" if real_file.find() else "Find"
    goals = (
        Goal("sound", f"Light 1265 to {LOUD:g} or more without any of these: {NEGATIONS}."),
        Goal("deaf", f"{verb} a sentence with “not” or “n't” in it that keeps 1265 below {QUIET:g}."),
    )
    title = "A sentence, and two neurons over its words: 829 of layer 0 and 1265 of layer 2."
    return _board(name, title, data, goals, neurons)


def _board(name: str, title: str, data: dict[str, Any], goals: tuple[Goal, ...], neurons: list[Neuron]) -> Board:
    """The board of some neurons, with what both have: how bright a lamp is, and sentences that can be typed where the file is."""
    data |= {"steps": real.STEPS, "lit": LIT, "typed": real_file.find() is not None}
    still = HERE / "stills" / f"{name}.svg"
    return Board(HERE / "ears.js", name, title, data, goals, still, answers={"read": lambda text: read(text, neurons)})


def read(text: Any, neurons: list[Neuron]) -> dict[str, Any]:
    """What some neurons do at each token of a text, in tenths, never below 0: {"tokens": [T], "acts": [T, neurons]}.

    Raises:
        ModelAbsent: the file is not here.
        ValueError: the text is empty, or too long for the board.
    """
    import torch

    from ffnlab.course import real_model

    tokens = real_model.pieces(str(text))
    if not 3 <= len(tokens) <= MOST_TOKENS:
        raise ValueError(f"That is {len(tokens) - 2} tokens. Write 1 to {MOST_TOKENS - 2}.")
    reading = real_model.run([str(text)])
    acts = torch.stack([reading.activations(layer)[0, :, number] for layer, number in neurons], 1)
    return {"tokens": tokens, "acts": (acts.clamp(min=0) * real.STEPS).round().int().tolist()}
