"""The shipped model's twin: the same Transformer, trained on the little world as any other would be, with nothing asked of it beside the next word.

The shipped model was also trained to speak with its FFN switched off (`experiments.world`), so what is left without the FFN can be read. Its twin was not.
Beside the twins there are as many models whose attention is learned, as in a real Transformer; in the shipped model and its twins it only averages.
`python -m autograder.authoring.experiments.twin` trains both from seeds that nothing was chosen on; this module reads what it has stored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ffnlab.course import toy_transformer, world
from ffnlab.course.experiments import read
from ffnlab.course.experiments.world import Setting

STORED = Path(__file__).with_suffix(".json")
WEIGHTS = Path(__file__).with_suffix(".safetensors")
SETTING = Setting("two attributes", learned=False, ffn=True, steps=4000)
ATTENTION = SETTING._replace(learned=True)
SEED = 0
PROMPT_LENGTH = 8  # the words up to the creature
FRESH = tuple(range(101, 117))  # sixteen seeds that no choice was made on


def load() -> toy_transformer.ToyTransformer:
    """The twin that is shipped."""
    return toy_transformer.load(WEIGHTS)


@torch.no_grad()
def mean_activations(model: toy_transformer.ToyTransformer) -> torch.Tensor:
    """The mean of the neurons' activations at each position, over the scenes that were trained on: [T, d_ff].

    In the place of the real ones they make the FFN a constant that reads no word. Replacing a part by its mean is called mean ablation.
    """
    sentences = toy_transformer.tensor([world.wish(scene) for scene in world.scenes(held_out=False)])
    return model.hidden(model.gather(sentences[:, :-1])).mean(0)


@torch.no_grad()
def right_words(
    model: toy_transformer.ToyTransformer, ffn: bool = True, instead: torch.Tensor | None = None
) -> torch.Tensor:
    """Which words are right of what a model writes by itself after the creature, always the most probable one: booleans [scenes, T].

    The scenes are the 1,792 held-out ones. ffn: False switches the FFN off. instead: activations [T, d_ff] that take the place of the neurons' own.
    """
    sentences = toy_transformer.tensor([world.wish(scene) for scene in world.scenes(held_out=True)])
    words = sentences[:, :PROMPT_LENGTH]
    while (length := words.shape[1]) < sentences.shape[1]:
        x = model.gather(words)
        hidden = model.hidden(x) if instead is None else instead[:length].expand(len(x), -1, -1)
        best = model.say(x, hidden if ffn else None)[:, -1].argmax(-1)
        words = torch.cat([words, best[:, None]], dim=1)
    return words == sentences


def score_sentences(
    model: toy_transformer.ToyTransformer, ffn: bool = True, instead: torch.Tensor | None = None
) -> dict[str, float]:
    """Shares of the scenes, of what `right_words` finds.

    "proper": in which all words are right but for those that name a way, a feeling or a sight. "right": in which all words are.
    """
    same = right_words(model, ffn, instead)
    free = [world.WAY, world.FEELING, world.SIGHT]
    places = [place for place in range(same.shape[1]) if place not in free]
    return {"proper": same[:, places].all(1).float().mean().item(), "right": same.all(1).float().mean().item()}


def stored() -> dict[str, Any]:
    """What the last run of this module wrote: {"about": …, "twins": by seed, "learned attention": by seed}. Of each model: "on", "off", as
    `world.score_words` has them; "writes off", "writes mean": as `score_sentences`, with the FFN off and with its mean at each position."""
    return read(STORED)
