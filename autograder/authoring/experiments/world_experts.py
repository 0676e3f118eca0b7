"""The little world, learned with four experts in place of the FFN: by what do they divide the work?

`python -m autograder.authoring.experiments.world_experts` trains the model of notebook 00 (attention that only averages) with a top-1 mixture, as
many parameters as its FFN has and a router: from five seeds that a figure shows, and from fifteen fresh ones that the text tells of. It writes
ffnlab's experiments/world_experts.json: eight minutes of one core.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from autograder.authoring.experiments.write import TORCH, write
from ffnlab.course import toy_transformer, world
from ffnlab.course.experiments.world import BATCH, DECAY, LEARNING_RATE
from ffnlab.course.experiments.world_experts import FRESH, N_EXPERTS, SCENES, SEEDS, STORED

ALPHA = 0.01  # the weight of the balance loss of notebook 09
STEPS = 4000


class ExpertTransformer(toy_transformer.ToyTransformer):
    """The speaker that averages, with a router and experts after its attention."""

    def __init__(self) -> None:
        super().__init__(ffn=False)
        d, f = toy_transformer.D_MODEL, toy_transformer.D_FF // N_EXPERTS
        self.router = nn.Linear(d, N_EXPERTS, bias=False)
        self.W1 = nn.Parameter(torch.randn(N_EXPERTS, d, f) / d**0.5)
        self.b1 = nn.Parameter(torch.zeros(N_EXPERTS, 1, f))
        self.W2 = nn.Parameter(torch.randn(N_EXPERTS, f, d) / f**0.5)

    def route(self, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """For words [B, T]: scores for the next word [B, T, V], the router's probabilities [B, T, E], chosen experts [B, T]."""
        x = self.gather(words)
        tokens = x.flatten(0, 1)
        p = self.router(tokens).softmax(-1)
        gate, experts = p.max(-1)
        outputs = torch.relu(tokens @ self.W1 + self.b1) @ self.W2  # [E, B·T, d_model]
        expert_outputs = gate[:, None] * outputs[experts, torch.arange(len(tokens))]
        return (
            self.say(x + expert_outputs.reshape(x.shape), None),
            p.reshape(*words.shape, -1),
            experts.reshape(words.shape),
        )


def train(seed: int, steps: int = STEPS) -> ExpertTransformer:
    """One model, trained on wishes as `ffnlab.course.experiments.world` does it, with a balance loss and without its extra losses."""
    torch.manual_seed(seed)
    model = ExpertTransformer()
    scenes = world.scenes(held_out=False)
    row = {scene: n for n, scene in enumerate(scenes)}
    sentences = toy_transformer.tensor([world.wish(scene) for scene in scenes])
    order = torch.tensor([row[scene] for scene in world.sample(seed, steps * BATCH)]).reshape(-1, BATCH)
    adam = torch.optim.AdamW(model.parameters(), weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, LEARNING_RATE, total_steps=steps)
    for step in range(steps):
        batch = sentences[order[step]]
        scores, p, experts = model.route(batch[:, :-1])
        load = torch.bincount(experts.flatten(), minlength=N_EXPERTS) / experts.numel()
        balance = N_EXPERTS * (load * p.mean((0, 1))).sum()
        loss = F.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten()) + ALPHA * balance
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        schedule.step()
    return model.requires_grad_(False).eval()


def decompose_entropy(experts: torch.Tensor, attributes: torch.Tensor) -> dict[str, float]:
    """What decides the expert, as shares of its entropy, for experts [S, T] in S scenes with attributes [S], 0 to 7: the place in
    the sentence; in a place, the scene's three attributes; and what is left, the single words. And told: how much of the three attributes
    one learns from the expert of a word at an unknown place, from 0 to 1."""
    places = torch.arange(experts.shape[1]).expand_as(experts)
    counts = torch.zeros(experts.shape[1], 8, N_EXPERTS, dtype=torch.float64)
    counts.index_put_(
        (places, attributes[:, None].expand_as(experts), experts), torch.tensor(1.0).double(), accumulate=True
    )
    counts = counts / counts.sum()
    entropy = torch.special.entr
    all_of_it = entropy(counts.sum((0, 1))).sum()
    in_a_place = entropy(counts.sum(1)).sum() - entropy(counts.sum((1, 2))).sum()
    in_a_scene = entropy(counts).sum() - entropy(counts.sum(2)).sum()
    scenes = counts.sum(0)  # [8, E]
    information = (entropy(scenes.sum(1)).sum() + all_of_it - entropy(scenes).sum()) / entropy(scenes.sum(1)).sum()
    parts = (all_of_it - in_a_place, in_a_place - in_a_scene, in_a_scene)
    shares = {name: part / all_of_it for name, part in zip(("place", "attributes", "words"), parts, strict=True)}
    return {name: round(share.item(), 3) for name, share in {**shares, "told": information}.items()}


def summary(model: ExpertTransformer) -> dict[str, Any]:
    """What is stored of a model: on all scenes that are held out, how often it is right about the two words that need a combination, and what
    decides the expert; and the experts of each word of the sentences about SCENES."""
    scenes = world.scenes(held_out=True)
    sentences = toy_transformer.tensor([world.wish(scene) for scene in scenes])
    scores, _, experts = model.route(sentences[:, :-1])
    right = (scores.argmax(-1) == sentences[:, 1:]).double().mean(0)
    attributes = torch.tensor(
        [4 * water + 2 * cold + spunky for water, cold, spunky in (scene.attributes for scene in scenes)]
    )
    _, _, sentence_experts = model.route(toy_transformer.tensor([world.wish(scene)[:-1] for scene in SCENES]))
    return {
        "way": round(right[world.WAY - 1].item(), 4),
        "feeling": round(right[world.FEELING - 1].item(), 4),
        "load": [
            round(share, 3)
            for share in (torch.bincount(experts.flatten(), minlength=N_EXPERTS) / experts.numel()).tolist()
        ],
        **decompose_entropy(experts, attributes),
        "shown": sentence_experts.tolist(),
    }


def main() -> None:
    torch.set_num_threads(1)
    runs, fresh = [], {}
    for seed in (*SEEDS, *FRESH):
        row = summary(train(seed))
        if seed in SEEDS:
            runs.append(row)
        else:
            fresh[str(seed)] = {name: value for name, value in row.items() if name != "shown"}
        print(f"seed {seed}: {row}", flush=True)
    write(STORED, {"about": {"seeds": SEEDS, "steps": STEPS, "torch": TORCH}}, {"runs": runs, "fresh": fresh})


if __name__ == "__main__":
    main()
