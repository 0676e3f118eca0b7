"""`machine`: the little Transformer of notebook 00 runs on the answers that a learner has earned, and beside it the learner's own trained block."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.display import display

from ffnlab.checking import kept_code
from ffnlab.environment import is_unattended
from ffnlab.phrases import sentence

if TYPE_CHECKING:
    from ffnlab.course.experiments.creek import SentenceReader

CONTINUATION_LENGTH = 9  # words after the prompt, as far as the end of the sentence


class MachineRun(NamedTuple):
    """What the model did on a learner's parts."""

    parts: tuple[str, ...]  # the exercises whose answers ran
    right: int  # held-out scenes that it read rightly
    continuation: tuple[str, ...]  # its next words
    replacements: tuple[str, ...]  # of each answer in whose place torch's own part ran: what was wrong, in a sentence


def machine(reader: SentenceReader | None = None) -> None:
    """Show which parts of the block are yours, and run the creek model on them. Where a notebook is tested or graded, this does nothing.

    reader: a model with blocks of yours that has learned to read. What it has learned is kept, and runs from now on.
    """
    if is_unattended():
        return
    from ffnlab.course import own_block
    from ffnlab.course.figures import machine as figure
    from ffnlab.course.parts import BLOCK, KEPT, PARTS
    from ffnlab.drawing import style

    answers, failures = kept_code.load()
    ran = run({name: answer for name, answer in answers.items() if name in PARTS and name in figure.in_course()})
    keep_problem = own_block.keep(reader, answers.get(BLOCK)) if reader is not None else ""
    own = own_block.read(answers.get(BLOCK))
    reads, unread = ((), own) if isinstance(own, str) else (own, "")
    picture = figure.draw_block(ran.parts, ran.right, ran.continuation, *reads)
    places = {name: f"the section of {name}" if name else "what is before the first section" for name in failures}
    load_problems = [f"In {KEPT.file}, {places[name]} ends in {sentence(why)}" for name, why in failures.items()]
    lines = [*load_problems, *ran.replacements, *filter(None, [keep_problem, unread])]
    html = "".join(f"<p>{escape(line)}</p>" for line in lines)
    bundle = {
        "text/html": f'{style.dark_sheet()}<div class="ffnlab-panel">{picture.still()}{html}</div>',
        "text/plain": "\n".join([picture.words, *lines]),
    }
    display(bundle, raw=True)


def run(answers: Mapping[str, Any]) -> MachineRun:
    """Run the model on answers, by exercise. One that raises or gives what has a wrong shape is left out, and the model runs again."""
    import torch

    from ffnlab.course import toy_transformer, world
    from ffnlab.course.figures.machine import PROMPT
    from ffnlab.course.parts import Assembly, PartFailed
    from ffnlab.observation.containment import MAX_CHARACTERS, contain

    parts = dict(answers)
    replacements: list[str] = []
    words = toy_transformer.tensor([world.wish(scene) for scene in world.scenes(held_out=True)])  # [scenes, T]
    moments = [world.WAY, world.FEELING]
    while True:
        try:
            with contain(MAX_CHARACTERS), torch.no_grad():
                torch.set_default_dtype(torch.float32)  # the weights'; afterwards it is what it was
                model = Assembly(copy.deepcopy(toy_transformer.load()), parts)  # a copy: an answer can change weights
                stream = model.gather(words[:, : world.FEELING])[:, [moment - 1 for moment in moments]]
                predictions = model.scores(stream).argmax(-1)  # [scenes, 2]
                continuation = model.write(PROMPT, CONTINUATION_LENGTH)
            if model.failures:
                raise model.failures[0]
        except PartFailed as failure:
            del parts[failure.exercise]
            replacements.append(f"{failure.exercise} {failure.what}, so torch's own part runs in its place.")
        else:
            right = int((predictions == words[:, moments]).all(-1).sum())
            return MachineRun(tuple(parts), right, tuple(continuation), tuple(replacements))
