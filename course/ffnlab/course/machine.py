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

WRITTEN = 9  # words after the prompt, as far as the end of the sentence


class MachineRun(NamedTuple):
    """What the model did on a learner's parts.

    parts: the exercises whose answers ran. right: how many held-out scenes it read rightly. written: its next words. replaced: what was wrong with the
    answers in whose place torch's own part ran, a sentence each.
    """

    parts: tuple[str, ...]
    right: int
    written: tuple[str, ...]
    replaced: tuple[str, ...]


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

    found, failed = kept_code.load()
    ran = run({name: answer for name, answer in found.items() if name in PARTS and name in figure.in_course()})
    lost = own_block.keep(reader, found.get(BLOCK)) if reader is not None else ""
    own = own_block.read(found.get(BLOCK))
    reads, unread = ((), own) if isinstance(own, str) else (own, "")
    picture = figure.lit(ran.parts, ran.right, ran.written, *reads)
    places = {name: f"the section of {name}" if name else "what is before the first section" for name in failed}
    broken = [f"In {KEPT.file}, {places[name]} ends in {sentence(why)}" for name, why in failed.items()]
    lines = [*broken, *ran.replaced, *filter(None, [lost, unread])]
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
    from ffnlab.observation.containment import CHARACTERS, contained

    parts, replaced = dict(answers), list[str]()
    words = toy_transformer.tensor([world.wish(scene) for scene in world.scenes(held_out=True)])  # [scenes, T]
    moments = [world.WAY, world.FEELING]
    while True:
        try:
            with contained(CHARACTERS), torch.no_grad():
                torch.set_default_dtype(torch.float32)  # the weights'; afterwards it is what it was
                model = Assembly(copy.deepcopy(toy_transformer.load()), parts)  # a copy: an answer can change weights
                stream = model.gather(words[:, : world.FEELING])[:, [moment - 1 for moment in moments]]
                said = model.scores(stream).argmax(-1)  # [scenes, 2]
                written = model.write(PROMPT, WRITTEN)
            if model.failed:
                raise model.failed[0]
        except PartFailed as failed:
            del parts[failed.exercise]
            replaced.append(f"{failed.exercise} {failed.what}, so torch's own part runs in its place.")
        else:
            right = int((said == words[:, moments]).all(-1).sum())
            return MachineRun(tuple(parts), right, tuple(written), tuple(replaced))
