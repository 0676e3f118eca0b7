"""What a learner's own `Block` has learned in notebook 10: kept beside the learner's code, so that both together read without the course.

The file holds tensors, numbers and words, and is read by `torch.load`:

    words: the 56 words, in the order of their numbers. made: what `Block` was called with. blocks: the state of each block, one after the other.
    tokens [V, d_model] and places [20, d_model]: added up, they are what the first block reads. norm: gain and shift [d_model] of the norm behind the
    last block. scores [V, d_model]: the rows whose products with the normed vector are the scores of the words.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from ffnlab.checking import record
from ffnlab.course import world
from ffnlab.course.experiments import creek
from ffnlab.course.figures.machine import PROMPT, SCENES
from ffnlab.course.parts import BLOCK, KEPT
from ffnlab.observation.containment import MAX_CHARACTERS, Stop, contain
from ffnlab.observation.exercise import type_with_article

FILE = Path(KEPT.file).with_suffix(".pt").name
NO_BLOCK = f"What your blocks have learned is not kept: there is no {BLOCK} in {KEPT.file} yet. Earn it, and run this cell again."
NO_FOLDER = "What your blocks have learned is not kept: this notebook is not in a folder of the course."
NOT_STACKED = "What these blocks have learned is not kept: `creek.stack` has not made them."
NOT_THE_SAME = f"What your blocks have learned is not kept: the {BLOCK} in {KEPT.file} gives other scores with it."
NOT_WRITTEN = "What your blocks have learned could not be kept: {}."
NO_LONGER = f"{FILE} does not fit the {BLOCK} in {KEPT.file}, which {{}}. Train your blocks anew in notebook 10."


class Reading(NamedTuple):
    """What the learner's blocks did: how many held-out scenes they read rightly, and the words behind the prompt."""

    right: int
    continuation: tuple[str, ...]


def keep(model: creek.SentenceReader, Block: Callable[..., Any] | None) -> str:
    """Keep what a model has learned, if the learner's kept `Block` does the same with it. Returns why it is not kept, in a sentence, or ""."""
    folder = record.folder()
    if model.spec is None:
        return NOT_STACKED
    if folder is None:
        return NO_FOLDER
    if Block is None:
        return NO_BLOCK
    try:
        data = _pack(model)
        with contain(MAX_CHARACTERS), torch.no_grad():
            torch.set_default_dtype(torch.float32)
            again = _unpack(data, Block)
            ids = torch.tensor([world.numbers(PROMPT)])
            same = torch.allclose(model(ids), again(ids), atol=1e-4)
    except (Exception, Stop):  # a state can be anything
        same = False
    if not same:
        return NOT_THE_SAME
    try:
        record.rewrite(folder / FILE, lambda: data)
    except OSError as error:
        return NOT_WRITTEN.format(error.strerror or type(error).__name__)
    return ""


def read(Block: Callable[..., Any] | None) -> Reading | str:
    """Let what is kept read the held-out scenes with a learner's `Block`. Returns why it can't, in a sentence; "" where nothing is kept."""
    folder = record.folder()
    try:
        data = (folder / FILE).read_bytes() if folder else b""
    except OSError:
        data = b""
    if not data:
        return ""
    if Block is None:
        return NO_LONGER.format("is missing")
    try:
        with contain(MAX_CHARACTERS):
            torch.set_default_dtype(torch.float32)  # the weights'; afterwards it is what it was
            model = _unpack(data, Block)
            right = round(creek.judged(model)["both"] * SCENES)
            continuation = creek.tell(model, " ".join(PROMPT)).replace(".", " .").split()[len(PROMPT) :]
    except (Exception, Stop) as error:
        return NO_LONGER.format(f"ends in {type_with_article(error)}")
    return Reading(right, tuple(continuation))


def _pack(model: creek.SentenceReader) -> bytes:
    content = {
        "words": list(world.WORDS),
        "made": list(model.spec or ()),
        "blocks": [dict(block.state_dict()) for block in model.blocks],
        "tokens": model.tokens.weight.detach(),
        "places": model.places.weight.detach(),
        "norm": [model.norm.weight.detach(), model.norm.bias.detach()],
        "scores": model.scores.weight.detach(),
    }
    data = io.BytesIO()
    torch.save(content, data)
    return data.getvalue()


def _unpack(data: bytes, Block: Callable[..., Any]) -> creek.SentenceReader:
    """The model that a file holds. Raises whatever a file that is not like that, or a `Block`, raises."""
    content = torch.load(io.BytesIO(data), weights_only=True)
    blocks: list[nn.Module] = []
    for state in content["blocks"]:
        block = Block(*content["made"])
        block.load_state_dict(state)
        blocks.append(block)
    model = creek.SentenceReader(blocks)
    own = {
        "tokens.weight": content["tokens"],
        "places.weight": content["places"],
        "norm.weight": content["norm"][0],
        "norm.bias": content["norm"][1],
        "scores.weight": content["scores"],
    }
    rest = {name: value for name, value in model.state_dict().items() if name not in own}
    model.load_state_dict(rest | own)
    return model.eval()
