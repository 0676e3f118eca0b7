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

    with_mean: with the mean of what its FFN adds at each place, [T, d_model].
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


@cache
def _groups() -> tuple[list[dict[str, Any]], dict[str, str]]:
    names = {name.neuron: name for name in toy_transformer.names(toy_transformer.load()) if name.good}
    first = [n for n, name in names.items() if name.moment == world.WAY]
    second = [n for n, name in names.items() if name.moment == world.FEELING]
    rest = [n for n in range(toy_transformer.D_FF) if n not in names]
    groups = [
        {"title": "over or into", "neurons": sorted(first)},
        {"title": "glad or sorry", "neurons": sorted(second)},
        {"title": "all the others", "neurons": rest},
    ]
    return groups, {str(n): name.words for n, name in names.items()}


def _data(guise: str, twin_too: bool, question: str = "way", **start: Any) -> dict[str, Any]:
    models = {"shipped": pack_weights(toy_transformer.load(), twin_too)}
    if twin_too:
        models["twin"] = pack_weights(twin.load(), twin_too)
    groups, names = _groups() if guise == "lamps" else ([], {})
    kinds = {"place": world.PLACES, "weather": world.WEATHERS, "mood": world.MOODS, "creature": world.CREATURES}
    return {
        "guise": guise,
        "question": question,
        "vocabulary": world.WORDS,
        "kinds": kinds,
        "models": models,
        "groups": groups,
        "names": names,
        "start": start,
    }


def _board(name: str, title: str, data: dict[str, Any], goals: tuple[Goal, ...]) -> Board:
    return Board(HERE / "creek.js", name, title, data, goals, HERE / "stills" / f"{name}.svg")


SWITCH_GOALS = (
    Goal("off", "Switch the FFN off, and read to the end."),
    Goal("into", "Switch it on, and choose other words until somebody goes into it."),
)
RULE_GOALS = (Goal("sorry", "Make the creature sorry by changing one word only."),)


def switch(name: str = "creek_switch") -> Board:
    """The sentence with the switch of the FFN."""
    title = "A small Transformer goes on with a sentence about a creek and a dog. Its feed-forward network can be switched off."
    return _board(name, title, _data("switch", twin_too=False), SWITCH_GOALS)


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
        "unsure",
        "Silence as few neurons as you can, until the model gives neither “over” nor “into” as much as 75 %.",
        record=2,
        unit="neurons",
    ),
)


def lamps(name: str = "creek_lamps") -> Board:
    """The sentence with the 64 neurons at “jump”, each of which can be silenced or made stronger."""
    title = (
        "The 64 neurons of a small Transformer's feed-forward network as lamps. Each can be silenced or made stronger."
    )
    return _board(name, title, _data("lamps", twin_too=False), LAMP_GOALS)
