"""The small Transformer that has learned the little world (`ffnlab.course.world`), and how to read it: word by word, neuron by neuron.

Notebooks 00, 02 and 06 call it. Everything here is a pure function of a model and a sentence; `ffnlab.course.experiments.world` trains the model.
A sentence is a list of T words, such as "the creek was cold".split(). V is the number of words, `len(world.WORDS)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file
from torch import nn

from ffnlab.course import world

WEIGHTS = Path(__file__).parent / "experiments" / "world.safetensors"
D_MODEL, D_FF, N_HEADS, LONGEST = 32, 64, 4, 19
FIRES = 0.2  # a neuron fires where it reaches this share of its largest activation
SILENT = 0.05  # a neuron whose largest activation is smaller takes no part
GOOD = 0.9  # the precision and the recall that a name has to reach
ALL_SCENES = world.scenes(held_out=False) + world.scenes(held_out=True)


class Average(nn.Module):
    """Attention with its pattern frozen: each token gets the mean over itself and what came before, through two matrices."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.value, self.output = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [B, T, d_model] -> [B, T, d_model]
        pattern = torch.ones(x.shape[1], x.shape[1]).tril()
        pattern = pattern / pattern.sum(-1, keepdim=True)  # [T, T], the same for every sentence
        out: torch.Tensor = 4 * self.output(pattern @ self.value(x))  # 4: a mean of many vectors is short
        return out


class Attention(nn.Module):
    """A norm, then causal attention with patterns that are learned."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.heads = nn.MultiheadAttention(d_model, N_HEADS, bias=False, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [B, T, d_model] -> [B, T, d_model]
        x_norm = self.norm(x)
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        out: torch.Tensor = 4 * self.heads(x_norm, x_norm, x_norm, attn_mask=later, need_weights=False)[0]  # as above
        return out


class ToyTransformer(nn.Module):
    """Embeddings, one block, and scores for the next word.

    With `learned` it is a pre-norm Transformer block as in notebook 10. Without, attention only averages and there is no norm: then all
    that happens before the FFN is linear. With `ffn=False` it is made without an FFN.
    """

    def __init__(self, learned: bool = False, ffn: bool = True) -> None:
        super().__init__()
        self.words = nn.Embedding(len(world.WORDS), D_MODEL)
        self.places = nn.Embedding(LONGEST, D_MODEL)
        self.attention = Attention(D_MODEL) if learned else Average(D_MODEL)
        self.before = nn.LayerNorm(D_MODEL) if learned and ffn else nn.Identity()
        self.linear1 = nn.Linear(D_MODEL, D_FF) if ffn else None
        self.linear2 = nn.Linear(D_FF, D_MODEL) if ffn else None
        self.after = nn.LayerNorm(D_MODEL) if learned else nn.Identity()
        self.scores = nn.Linear(D_MODEL, len(world.WORDS), bias=False)

    def gather(self, words: torch.Tensor) -> torch.Tensor:
        """The stream after attention: numbers of words [B, T] -> [B, T, d_model]."""
        x = self.words(words) + self.places.weight[: words.shape[1]]
        stream: torch.Tensor = x + self.attention(x)
        return stream

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        """The FFN's activations for the stream after attention: [B, T, d_model] -> [B, T, d_ff]; d_ff is 0 where there is no FFN."""
        return x[..., :0] if self.linear1 is None else torch.relu(self.linear1(self.before(x)))

    def say(self, x: torch.Tensor, hidden: torch.Tensor | None) -> torch.Tensor:
        """Scores for the next word, from the stream and from what the neurons write; None: the FFN is switched off. [B, T, V]."""
        if hidden is not None and self.linear2 is not None:
            x = x + self.linear2(hidden)
        scores: torch.Tensor = self.scores(self.after(x))
        return scores

    def forward(self, words: torch.Tensor, ffn: bool = True) -> torch.Tensor:  # [B, T] -> [B, T, V]
        x = self.gather(words)
        return self.say(x, self.hidden(x) if ffn else None)


@cache
def load(weights: Path = WEIGHTS) -> ToyTransformer:
    """The shipped model, or one with other weights: attention that averages, an FFN of 64 neurons, no norm."""
    model = ToyTransformer()
    model.load_state_dict(load_file(weights))
    return model.requires_grad_(False).eval()


def tensor(sentences: Sequence[Sequence[str]]) -> torch.Tensor:
    """The numbers of the words of equally long sentences: [B, T]."""
    return torch.tensor([world.numbers(words) for words in sentences])


def activations(model: ToyTransformer, words: Sequence[str]) -> torch.Tensor:
    """What each neuron makes of each word of a sentence: [T, d_ff]."""
    hidden: torch.Tensor = model.hidden(model.gather(tensor([words])))[0]
    return hidden


def brightness(model: ToyTransformer) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each neuron its largest activation over all sentences, and its usual one, the mean where it fires: [d_ff] each.

    A neuron that stays silent has no usual activation; it counts as 1.
    """
    hidden = model.hidden(model.gather(tensor([world.wish(scene)[:-1] for scene in ALL_SCENES])))  # [B, T, d_ff]
    largest = hidden.amax((0, 1))
    fires = hidden > FIRES * largest
    usual = (hidden * fires).sum((0, 1)) / fires.sum((0, 1)).clamp(min=1)
    return largest, torch.where(largest > SILENT, usual, torch.ones_like(usual))


def value_scores(model: ToyTransformer, neuron: int) -> torch.Tensor:
    """What one neuron's value does to the score of each word when it fires with strength 1: [V]. For a model without norms."""
    assert model.linear2 is not None
    scores: torch.Tensor = model.scores(model.linear2.weight[:, neuron])
    return scores


def key_scores(model: ToyTransformer, neuron: int) -> torch.Tensor:
    """How much each word, anywhere before, speaks to one neuron's key: [V], to be divided by the number of words so far.

    For a model whose attention averages: what a word sends is then the same in every sentence.
    """
    assert model.linear1 is not None and isinstance(model.attention, Average)
    outputs = 4 * model.attention.output(model.attention.value(model.words.weight))  # [V, d_model]
    scores: torch.Tensor = outputs @ model.linear1.weight[neuron]
    return scores


# Names

Rule = tuple[bool | None, ...]  # water, cold, spunky; None: either


def in_words(rule: Rule) -> str:
    """As in "cold water", "timid in the warm", "land"."""
    words = {place: world.ATTRIBUTES[place][not value] for place, value in enumerate(rule) if value is not None}
    water, cold, spunky = (words.get(place) for place in range(3))
    where = " ".join(filter(None, (cold, water)))
    return " in ".join(filter(None, (spunky, f"the {where}" if spunky and where else where)))


RULES: tuple[Rule, ...] = tuple(
    sorted(
        (rule for rule in itertools.product((True, False, None), repeat=3) if any(v is not None for v in rule)),
        key=lambda rule: -rule.count(None),  # the simplest first
    )
)


class Name(NamedTuple):
    """What a neuron fires for, when the model is about to say a certain word of a wish."""

    neuron: int
    moment: int  # the place of that word, world.WAY or world.FEELING
    rule: Rule
    precision: float  # of the scenes for which it fires then, the share that the rule covers
    recall: float  # of the scenes that the rule covers, the share for which it fires
    largest: float  # its largest activation anywhere

    @property
    def words(self) -> str:
        return in_words(self.rule)

    @property
    def good(self) -> bool:
        return min(self.precision, self.recall) >= GOOD

    @property
    def combination(self) -> bool:
        return sum(value is not None for value in self.rule) > 1


def names(model: ToyTransformer) -> list[Name]:
    """The best name of each neuron that takes part in a wish, judged on all 4,096 scenes; the best names first."""
    hidden = model.hidden(model.gather(tensor([world.wish(scene)[:-1] for scene in ALL_SCENES])))  # [scenes, T, d_ff]
    largest = hidden.amax((0, 1))  # [d_ff]
    fires = hidden > FIRES * largest
    truths = torch.tensor([scene.attributes for scene in ALL_SCENES])  # [scenes, 3]
    # A truth value for each rule and scene, [rules, scenes].
    covers = torch.stack(
        [
            torch.stack([truths[:, n] == value for n, value in enumerate(rule) if value is not None]).all(0)
            for rule in RULES
        ]
    )
    best_names = []
    for neuron in (largest > SILENT).nonzero()[:, 0].tolist():
        best: Name | None = None
        for moment in (world.WAY, world.FEELING):
            on = fires[:, moment - 1, neuron]
            both = (covers & on).sum(1)
            precision = (both / on.sum().clamp(min=1)).tolist()
            recall = (both / covers.sum(1)).tolist()
            for rule, p, r in zip(RULES, precision, recall, strict=True):
                if best is None or min(p, r) > min(best.precision, best.recall):
                    best = Name(neuron, moment, rule, p, r, largest[neuron].item())
        assert best is not None
        best_names.append(best)
    return sorted(best_names, key=lambda name: -min(name.precision, name.recall))


# Writing a rule by hand


class Neuron(NamedTuple):
    """One more neuron for an FFN, which adds relu(x · key + bias) · value to the stream: key and value [d_model], bias a number."""

    key: torch.Tensor
    bias: float
    value: torch.Tensor


WHERE = 18.0  # how much a hand-made key asks for the place in the sentence, against 1 for each attribute


def neuron_for_rule(
    model: ToyTransformer, rule: Rule, word: str, strength: float, one_is_enough: bool = False
) -> Neuron:
    """A neuron that fires where a wish comes to its way and the rule holds, and then raises the score of `word` by about `strength`.

    Its key adds up one question for each attribute in the rule, each answered by 1 or −1, and one for the place, 0 there and far below
    elsewhere; its bias asks that no answer is a no, or that not all are. For a model without norms, in which all before the FFN is linear.
    """
    attributes, place, middle = _questions(model)
    signs = torch.tensor([0.0 if value is None else 1.0 if value else -1.0 for value in rule])
    key = signs @ attributes + WHERE * place
    others = signs.abs().sum() - 1  # attributes besides one
    bias = (others.abs() if one_is_enough else -others) - middle @ key
    outputs = model.scores.weight - model.scores.weight.mean(0)  # [V, d_model]
    value = outputs[world.NUMBER[word]]
    return Neuron(key, bias.item(), strength * value / (outputs[world.NUMBER[word]] @ value))


@cache
def _questions(model: ToyTransformer) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Directions that ask for each attribute [3, d_model] and for the place before the way [d_model], and the mean stream at that place.

    Read from the scenes of training. What water does to the stream is the mean with it less the mean without. Of all directions that answer
    1 to it, and 0 to the other attributes, the one that hears least of everything else is taken; so it is for the place.
    """
    scenes = world.scenes(held_out=False)
    way = world.WAY - 1
    x = model.gather(tensor([world.wish(scene)[:-1] for scene in scenes]))  # [scenes, T, d_model]
    truths = torch.tensor([scene.attributes for scene in scenes]) * 2.0 - 1  # [scenes, 3]
    middle = x[:, way].mean(0)
    effects = torch.stack([x[truths[:, n] > 0, way].mean(0) - x[truths[:, n] < 0, way].mean(0) for n in range(3)]) / 2
    rest = x[:, way] - middle - truths @ effects
    noise = rest.T @ rest / len(scenes)
    quiet = torch.linalg.inv(noise + 0.01 * noise.trace() / D_MODEL * torch.eye(D_MODEL))

    def asking(directions: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        queries: torch.Tensor = (
            quiet @ directions.T @ torch.linalg.pinv(directions @ quiet @ directions.T, rtol=1e-6) @ answers
        )
        return queries

    attributes = asking(effects, torch.eye(3)).T
    ways = x.mean(0)[torch.arange(x.shape[1]) != way] - middle  # from here to each other place
    place = asking(torch.cat([effects, ways]), torch.cat([torch.zeros(3), -torch.ones(len(ways))]))
    return attributes, place, middle
