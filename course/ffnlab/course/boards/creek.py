"""One sentence through the little Transformer, as a board: `creek.switch()` for notebook 00 and the front page, `creek.lamps()` for its neurons."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from typing import Any

from ffnlab.boards import Board, Goal
from ffnlab.course import toy_transformer, world
from ffnlab.course.experiments import twin

HERE = Path(__file__).parent
NAMES = {  # of the board's module, by those of PyTorch's
    "words": "words.weight",
    "places": "places.weight",
    "value": "attention.value.weight",
    "output": "attention.output.weight",
    "up": "linear1.weight",
    "up_bias": "linear1.bias",
    "down": "linear2.weight",
    "down_bias": "linear2.bias",
    "scores": "scores.weight",
}


def pack_weights(model: toy_transformer.ToyTransformer, with_mean: bool = False) -> dict[str, str]:
    """A model's weights for creek_model.js: little-endian float32 in base64, by name, each in rows.

    with_mean: with the mean of what its FFN adds at each position, [T, d_model].
    """
    state = model.state_dict()
    tensors = {name: state[key] for name, key in NAMES.items()}
    if with_mean:
        assert model.linear2 is not None
        tensors["mean"] = model.linear2(twin.mean_activations(model)).detach()
    return {
        name: base64.b64encode(tensor.contiguous().numpy().astype("<f4").tobytes()).decode()
        for name, tensor in tensors.items()
    }


LAMP_NAMES = ("cold", "warm", "water", "land", "cold water", "warm water", "cold land", "warm land")


@cache
def _brightness() -> dict[str, list[float]]:
    """Of each neuron its largest activation over all sentences, and its usual one."""
    largest, usual = toy_transformer.brightness(toy_transformer.load())
    return {
        "largest": [round(value, 3) for value in largest.tolist()],
        "usual": [round(value, 2) for value in usual.tolist()],
    }


def _data(guise: str, twin_too: bool, question: str = "way", table: bool = False, **start: Any) -> dict[str, Any]:
    models = {"shipped": pack_weights(toy_transformer.load(), twin_too)}
    if twin_too:
        models["twin"] = pack_weights(twin.load(), twin_too)
    kinds = {"place": world.PLACES, "weather": world.WEATHERS, "mood": world.MOODS, "creature": world.CREATURES}
    return {
        "guise": guise,
        "question": question,
        "table": table,  # of the four kinds of scene, which the model's words fill
        "vocabulary": world.WORDS,
        "kinds": kinds,
        "models": models,
        "start": start,
        **({"names": LAMP_NAMES, **_brightness()} if guise == "lamps" else {}),
    }


def _board(name: str, title: str, data: dict[str, Any], goals: tuple[Goal, ...]) -> Board:
    return Board(HERE / "creek.js", name, title, data, goals, HERE / "stills" / f"{name}.svg")


SWITCH_GOALS = (
    Goal("off", "Switch the FFN off, and read to the end."),
    Goal("table", "Switch it on, and fill the table with other words. When does one go over, and when into?"),
)
RULE_GOALS = (Goal("sorry", "Make the creature sorry by changing one word only."),)


def switch(name: str = "creek_switch") -> Board:
    """The sentence with the switch of the FFN."""
    title = "A small Transformer goes on with a sentence about a creek and a dog. Its feed-forward network can be switched off."
    return _board(name, title, _data("switch", twin_too=False, table=True), SWITCH_GOALS)


def rule(name: str = "creek_rule") -> Board:
    """The sentence once more, for finding out what decides between glad and sorry."""
    title = "A small Transformer goes on with a sentence about a creek and a dog."
    return _board(name, title, _data("switch", twin_too=False, question="feeling"), RULE_GOALS)


def twins(name: str = "creek_twin") -> Board:
    """The same with the plainly trained twin beside the shipped model, and the FFN off at the start."""
    title = "Two small Transformers go on with a sentence about a creek and a dog, without their feed-forward networks."
    goals = (
        Goal("twin_off", "Which of the two still speaks with zeros? Ask the twin."),
        Goal("twin_mean", "Let the twin's FFN add its mean, and ask again."),
    )
    return _board(name, title, _data("switch", twin_too=True, ffn=False), goals)


LAMP_GOALS = (
    Goal(
        "hesitate",
        "Make the dog hesitate at the cold creek: put out as few lamps as you can, until neither “over” nor “into” has 75 %.",
        record=2,
        unit="lamps",
    ),
    Goal(
        "steer",
        "Make it jump into the cold creek: light one dark lamp, and no other, as bright as you need, until “into” has 75 %.",
    ),
    Goal("names", "What do four of the lamps look for? Change the words, and give each lamp its name."),
)


def lamps(name: str = "creek_lamps") -> Board:
    """The sentence with the 64 neurons at “jump”, each of which can be put out, lit and named."""
    title = "The 64 neurons of a small Transformer's feed-forward network as lamps. Each can be put out, lit and named."
    return _board(name, title, _data("lamps", twin_too=False), LAMP_GOALS)
