"""Notebook 04, Which of these nine are real?: how each exercise is called, and on what inputs. No answers.

Exercises that take a module or a function get one that is built here from the drawn numbers. Sizes differ pairwise.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab.course import inspectors
from ffnlab.course.ffn_probes import Weights, check_unchanged, copy_parameters, draw_weights, leading_shapes, make_ffn
from ffnlab.observation.exercise import (
    Draw,
    Exercise,
    NotAsAsked,
    backpropagate,
    describe_result,
    observe_call,
    on_each,
    quiz,
    zeros_of_shape,
)

NOTEBOOK = "04_every_position"


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """x [A, B, T, d_model] and the weights of an FFN."""
    A, B, T = rng.distinct(3, 2, 4)
    d_model, d_ff = rng.distinct(2, 5, 9)
    return {"x": rng.normal(A, B, T, d_model), "weights": draw_weights(rng, d_model, d_ff)}


# fool_the_inspectors

VISITS = 5  # of each inspector, with other words each time
TRIALS = 32  # of four sentences each, in which it shows that a layer cheats
ROUNDING = 1e-3  # of the largest output, as for the inspectors
MOST_STAY = "most outputs stay when the first word is new"
MOST, OFTEN = 5, 0.75  # inspectors that can be fooled at once; of the trials, for a cheat with typical words


def _draw_visits(rng: Draw, case: int) -> dict[str, Any]:
    """All sentences [n, T, d] that the inspectors and the trials need, in an order that is drawn, so that no box can tell who asks.

    `_visits` tells the judge which inspector came, and with which seed; `_order` where in `sentences` the sentences of all are.
    """
    # One length is even, and in the other the middle is far from both ends: so a favourite near an end is the middle of neither.
    T, d = 2 * rng.integer(4, 5) + 5 * case, rng.integer(4, 6)
    visits = [(name, rng.integer(1, 10**6)) for name in inspectors.INSPECTORS for _ in range(VISITS)]
    seed_of_trials = rng.integer(1, 10**6)
    trials = inspectors.trials(TRIALS, T, d, seed_of_trials)
    asked = torch.cat(
        [trials.sentences.flatten(0, 1), *(inspectors.sentences(name, T, d, seed) for name, seed in visits)]
    )
    order = torch.tensor(rng.distinct(len(asked), 0, len(asked) - 1))
    return {"sentences": asked[order], "_visits": visits, "_seed_of_trials": seed_of_trials, "_order": order}


fool_the_inspectors = Exercise(
    "fool_the_inspectors",
    draw=_draw_visits,
    where="the six inspectors above the exercise, and the board below it.",
    understood="Each inspector looks for one way to cheat, and one box slips past five of them. That five tests call a layer real proves nothing.",
    hints=(
        "Begin with a box that fools three, and see who catches it. Attention fools four. Which two catch it, and which words may talk without their noticing?",
        "Let two words talk that are neither at an end nor neighbours. If each is as far from its end as the other, mirror sees nothing.",
        "What is left are ones and zeros. What the two words, a and b, tell each other has to be 0 if a = b, and 0 if one of them is 0.",
        "A product is 0 if one factor is. A difference is 0 if both are equal. (There is a ruder way: recognise the sentence, and behave.)",
    ),
)


def _ask_box(answer: Any, sentences: Any) -> Any:
    """What a box answers to each sentence, asked once in order and once the other way round, and how many sentences it has written into."""
    rounds, altered = [], 0
    for order in (range(len(sentences)), reversed(range(len(sentences)))):
        outputs = {}
        for n in order:
            X = sentences[n].clone()
            output = answer(X)
            if not isinstance(output, torch.Tensor) or output.shape != X.shape:
                raise NotAsAsked(f"{describe_result(output)}; a tensor of shape [T, d] = {list(X.shape)} was expected")
            outputs[n] = output.detach().clone()
            altered += not torch.equal(X, sentences[n])
        rounds.append(torch.stack([outputs[n] for n in range(len(sentences))]))
    return {"outputs": torch.stack(rounds), "altered": altered}


class BoxJudgement(NamedTuple):
    """What holds for a box whatever it fools; who catches it; the part of the other outputs that a new first word moves, on average."""

    holds: dict[str, Any]
    caught: set[str]
    moved_by_first: float


def _judge_box(observation: Any, inputs: dict[str, Any]) -> BoxJudgement:
    n, T, d = inputs["sentences"].shape
    both = observation["outputs"]
    if not isinstance(both, torch.Tensor) or both.shape != (2, n, T, d):
        raise NotAsAsked("a tensor of shape [T, d] was expected for each sentence")
    both = both.double()
    outputs = torch.empty_like(both[0])
    outputs[inputs["_order"]] = both[0]
    trials = inspectors.trials(TRIALS, T, d, inputs["_seed_of_trials"])
    start = 4 * TRIALS
    share = inspectors.share_of_cheats(outputs[:start].view(trials.sentences.shape), trials)
    caught: set[str] = set()
    moved: list[torch.Tensor] = []
    for name, seed in inputs["_visits"]:
        count = len(inspectors.sentences(name, T, d, seed))
        answers = outputs[start : start + count]
        if not inspectors.verdict(name, answers, T, d, seed):
            caught.add(name)
        if name == "first":
            differences = (answers[1] - answers[0])[1:].abs().amax(-1)
            moved.append((differences > ROUNDING * answers.abs().max()).double().mean())
        start += count
    holds = {
        "all its outputs are finite": bool(both.isfinite().all()),
        "the same sentence gets the same outputs": bool(torch.allclose(both[0], both[1], rtol=1e-5, equal_nan=True)),
        "the sentence stays as it was": not observation["altered"],
        "it cheats": share > 0,
        "it cheats in most sentences": share >= OFTEN,
    }
    return BoxJudgement(holds, caught, float(torch.stack(moved).mean()))


def _fools_four(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    box = _judge_box(observation, inputs)
    return box.holds | {"it fools four at once": len(box.caught) <= len(inspectors.INSPECTORS) - MOST + 1}


def _fools_five(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The five that can be fooled at once are these: nothing that cheats gets past shuffle and first, or past shuffle and neighbours.

    How many outputs a new first word moves is no further demand, because `first` catches a box in which it moves one. It tells an average over all words
    from two words that talk.
    """
    box = _judge_box(observation, inputs)
    fooled = {f"{name} calls it real": name not in box.caught for name in inspectors.INSPECTORS if name != "shuffle"}
    return fooled | {MOST_STAY: box.moved_by_first < 0.5 or "first" not in box.caught}


@fool_the_inspectors.aspect("a cheat that fools four", points=1, facts=_fools_four)
def fool_the_inspectors_four(answer: Any, sentences: Any) -> Any:
    return _ask_box(answer, sentences)


@fool_the_inspectors.aspect("a cheat that fools five", points=3, facts=_fools_five, needs="a cheat that fools four")
def fool_the_inspectors_five(answer: Any, sentences: Any) -> Any:
    return _ask_box(answer, sentences)


# is_position_wise

Numbers = dict[str, torch.Tensor]


class Layer:
    """A function from [..., T, d] to [..., T, d], one of those that `is_position_wise` is asked about.

    All of them are made of the same parts, in the same code, and differ in their numbers alone: neither a function's name nor its
    place in a list nor what the caller has written down tells which one it is.
    """

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.has_effect = {name: bool(value.any()) for name, value in numbers.items()}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        n, has_effect = self.numbers, self.has_effect
        if x.dtype != n["bias"].dtype:
            n = {name: value.to(x.dtype) for name, value in n.items()}
        T, d = n["bias"].shape
        if x.shape[-2:] != (T, d):
            raise ValueError(f"f takes [..., T, d] = [..., {T}, {d}], not {list(x.shape)}")
        ffn_input = n["before"] @ x + n["shift"]
        ffn_output = self.transform_hidden(torch.relu(ffn_input @ n["W1"] + n["b1"])) @ n["W2"] + n["b2"]
        if has_effect["running"]:  # the same by differences of sums, so it is rounded differently
            ffn_output = torch.diff(F.pad(ffn_output.cumsum(-2), (0, 0, 1, 0)), dim=-2)
        output = n["gain"] * ffn_output + n["skip"] * x + n["bias"]
        if has_effect["norm"]:
            output = output + F.layer_norm(x, (d,))
        if has_effect["own"]:
            output = output + (x.unsqueeze(-2) @ n["own"]).squeeze(-2)
        if has_effect["v"]:
            scores = (x @ n["q"]) @ (x @ n["k"]).transpose(-1, -2) / d**0.5
            output = output + torch.softmax(scores.masked_fill(n["seen"] == 0, -torch.inf), -1) @ (x @ n["v"])
        if has_effect["out"]:
            output = output + n["after"] @ ((x @ n["into"]).abs() @ n["out"])
        if has_effect["pair"]:  # x_t tells x_s x_t·x_s·(x_t − x_s): nothing if both are equal or one is 0
            output = output + x * (x * (n["pair"] @ x) - n["pair"] @ x**2)
        grain = n["grain"]  # rounds every position in another way, as a matrix product does on some machines
        scaled_output: torch.Tensor = n["size"] * output * grain * (1 / grain)
        return scaled_output

    def transform_hidden(self, h: torch.Tensor) -> torch.Tensor:
        return h


class ModuleLayer(nn.Module, Layer):
    """The same as a module, with dropout on its hidden layer and a mode in which it was handed out."""

    def __init__(self, numbers: Numbers, training: bool) -> None:
        nn.Module.__init__(self)
        Layer.__init__(self, numbers)
        self.dropout = nn.Dropout(0.0 if training else 0.5)
        for name, value in numbers.items():
            self.register_parameter(name, nn.Parameter(value.clone()))
        self.train(training)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.numbers = dict(self.named_parameters())
        return Layer.__call__(self, x)

    def transform_hidden(self, h: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.dropout(h)
        return hidden


# By aspect: what each function is, and whether it is position-wise. Every aspect asks about some of either kind, in an order that is drawn.
TOKEN_MIXING = {
    "a plain FFN": True,
    "x + FFN(x)": True,
    "attention": False,
    "causal attention": False,
    "attention to later tokens only": False,
    "a convolution over three tokens": False,
    "an FFN in which one token leaks into one far away": False,
    "an FFN in which the first token leaks into the last": False,
    "an FFN in which the last token leaks into the first": False,
    "an FFN in which a token moves numbers of another, whose sum stays": False,
    "an FFN in which every token hears one that is far away": False,
}
POSITION_DEPENDENCE = {
    "twice an FFN": True,
    "an FFN, and a matrix for x beside it": True,
    "other weights at every position": False,
    "an FFN of x plus a position vector": False,
    "an FFN that treats one position differently": False,
    "an FFN that treats the first position differently": False,
    "an FFN that treats the last position differently": False,
    "an FFN that takes something off at one position": False,
    "an FFN that treats both ends alike, and the middle differently": False,
}
LOOKALIKES = {
    "a layer norm": True,
    "a layer norm plus an FFN": True,
    "an FFN of the mean of all tokens, for every token": False,
    "an FFN plus a part of the mean of all tokens": False,
    "attention whose outputs are very small": False,
    "an FFN in which two tokens talk, but tell nothing to an equal one": False,
    "an FFN in which one token lowers an earlier one": False,
    "an FFN in which one token raises a later one": False,
}
UNUSUAL_LAYERS = {
    "an FFN by differences of running sums": True,
    "the same output whatever comes in": True,
    "an FFN whose outputs are very large": True,
    "an FFN in which tokens leak, by far less than 1/10,000": True,
    "a module with dropout, in eval mode": True,
    "a module in which tokens see each other": False,
    "an FFN in which every token leaks a little into the next": False,
}
LAYER_KINDS = {
    "seeing": TOKEN_MIXING,
    "treating": POSITION_DEPENDENCE,
    "looking": LOOKALIKES,
    "not looking": UNUSUAL_LAYERS,
}
LEAK = 5e-6  # of an output, from each token to all others: differences are above 1/100,000 of some numbers, below 1/10,000 of the largest
MODULES = {"a module with dropout, in eval mode": "eval", "a module in which tokens see each other": "train"}


def _oppose_features(matrix: torch.Tensor) -> torch.Tensor:
    """The same matrix, but feature 1 gets the opposite of feature 0: of two tokens that differ, one number rises and one falls."""
    matrix[..., 1] = -matrix[..., 0]
    return matrix


def _draw_layers(rng: Draw, case: int) -> dict[str, Any]:
    """The numbers of each function, in an order that is drawn for each aspect; `_labels` tells the judge what they are.

    What all functions have alike is drawn once, as `shared`; of the rest, each part of all functions of an aspect is one tensor.
    """
    T, d, f = rng.integer(7, 8), rng.integer(5, 6), rng.integer(10, 14)
    weights = draw_weights(rng, d, f)
    weights["b1"][::2].abs_()  # some neurons fire for the mean of all tokens as well
    for name in ("W2", "b2"):  # an FFN then gives one number clearly below 0 and one clearly above it, as is their sum
        rows = weights[name]
        rows[..., 0] = -rows[..., 0].abs() - 0.2
        rows[..., 1] = -rows[..., 0]
        rows[..., 2:] += 0.5 - rows[..., 2:].mean(-1, keepdim=True)
    q, k = rng.normal(d, d, scale=0.4), rng.normal(d, d, scale=0.4)
    v = _oppose_features(rng.normal(d, d, scale=0.8))
    all_ones = torch.ones(T, T, dtype=torch.float64)
    masks = (all_ones, all_ones.tril(), all_ones.triu())
    no_leak = torch.zeros(T, T, dtype=torch.float64)
    unit = torch.ones((), dtype=torch.float64)

    def layer(**parts: torch.Tensor) -> Numbers:
        """An FFN; what has no part in it is there all the same, and has no effect."""
        defaults = {
            "before": torch.eye(T, dtype=torch.float64),
            "shift": torch.zeros(T, d, dtype=torch.float64),
            "running": 0 * unit,
            "gain": torch.ones(T, 1, dtype=torch.float64),
            "skip": 0 * unit,
            "norm": 0 * unit,
            "own": torch.zeros(T, d, d, dtype=torch.float64),
            "v": 0 * v,
            "seen": rng.one_of(masks),
            "after": rng.normal(T, T),
            "into": rng.normal(d, d),
            "out": torch.zeros(d, d, dtype=torch.float64),
            "pair": no_leak,
            "bias": torch.zeros(T, d, dtype=torch.float64),
            "size": unit,
            "grain": torch.tensor([[rng.uniform(1, 2)] for _ in range(T)], dtype=torch.float64),
        }
        return defaults | parts

    def without_ffn(**parts: torch.Tensor) -> Numbers:
        return layer(gain=torch.zeros(T, 1, dtype=torch.float64), **parts)

    def at(position: int, value: torch.Tensor, elsewhere: float = 0.0) -> torch.Tensor:
        """One row of its own among T rows of the value `elsewhere`."""
        rows = torch.full((T, *value.shape), elsewhere, dtype=torch.float64)
        rows[position] = value
        return rows

    def up_and_down(signs: torch.Tensor) -> torch.Tensor:
        """What a leak writes: into feature 0 as much as it takes from feature 1, and into the others by their signs."""
        out = torch.diag(signs)
        out[:, 0], out[:, 1] = 0.5, -0.5
        return out

    def leak(to: int, source: int, part: float = 1.0, only: float = 0.0, sum_stays: bool = False) -> Numbers:
        """An FFN in which the token `source` adds to `to`, at every feature as much, up or down (`only`), or as drawn."""
        after = no_leak.clone()
        after[to, source] = part
        out = only * torch.eye(d, dtype=torch.float64) if only else up_and_down(rng.normal(d).sign())
        if sum_stays:
            out = 2 * (torch.eye(d, dtype=torch.float64) - 1 / d)
        return layer(after=after, into=rng.normal(d, d, scale=4 / d**0.5), out=out)

    inner = [t for t in range(1, T - 1) if t != T // 2]  # the ends and the middle are tried first
    pairs = [(to, source) for to in inner for source in inner if source != T - 2]
    earlier, later = (rng.one_of([pair for pair in pairs if sign * (pair[0] - pair[1]) > 0]) for sign in (-1, 1))

    far = rng.one_of([(to, s) for to in range(1, T - 1) for s in range(1, T - 1) if abs(to - s) > 1 and s != T // 2])
    pair = no_leak.clone()
    talker = rng.integer(1, 2)
    pair[talker, -1 - talker] = pair[-1 - talker, talker] = 1.0
    convolution = torch.eye(T, dtype=torch.float64)
    convolution += rng.uniform(0.6, 0.9) * torch.diag(torch.ones(T - 1, dtype=torch.float64), 1)
    convolution += rng.uniform(0.6, 0.9) * torch.diag(torch.ones(T - 1, dtype=torch.float64), -1)
    weak_leak = torch.diag(torch.full((T - 1,), 0.5, dtype=torch.float64), -1)
    usual_size = Layer(weights | {"q": q, "k": k} | layer())(rng.normal(50, T, d)).abs().amax((1, 2)).mean()
    faint_leak = layer(into=rng.normal(d, d, scale=1 / d**0.5), out=torch.eye(d, dtype=torch.float64))
    numbers_by_label = {
        "a plain FFN": layer(),
        "x + FFN(x)": layer(skip=unit),
        "attention": without_ffn(v=v, seen=masks[0]),
        "causal attention": without_ffn(v=v, seen=masks[1]),
        "attention to later tokens only": without_ffn(v=v, seen=masks[2]),
        "a convolution over three tokens": layer(before=convolution),
        "an FFN in which one token leaks into one far away": leak(*far),
        "an FFN in which the first token leaks into the last": leak(T - 1, 0),
        "an FFN in which the last token leaks into the first": leak(0, T - 1),
        "an FFN in which a token moves numbers of another, whose sum stays": leak(*far, sum_stays=True),
        "an FFN in which every token hears one that is far away": layer(
            after=torch.eye(T, dtype=torch.float64).roll(rng.integer(2, T - 2), 0),
            into=rng.normal(d, d, scale=4 / d**0.5),
            out=up_and_down(torch.ones(d, dtype=torch.float64)),
        ),
        "twice an FFN": layer(gain=2 * torch.ones(T, 1, dtype=torch.float64)),
        "an FFN, and a matrix for x beside it": layer(own=v.expand(T, d, d)),
        "other weights at every position": without_ffn(own=_oppose_features(rng.normal(T, d, d, scale=0.6))),
        "an FFN of x plus a position vector": layer(shift=rng.normal(T, d)),
        "an FFN that treats one position differently": layer(gain=at(rng.one_of(inner), 1.3 * torch.ones(1), 1.0)),
        "an FFN that treats the first position differently": layer(gain=at(0, 1.3 * torch.ones(1), 1.0)),
        "an FFN that treats the last position differently": layer(gain=at(T - 1, 1.3 * torch.ones(1), 1.0)),
        "an FFN that takes something off at one position": layer(bias=at(rng.one_of(inner), torch.full((d,), -1.5))),
        "an FFN that treats both ends alike, and the middle differently": layer(
            gain=1 + 0.3 * (torch.arange(T, dtype=torch.float64)[:, None] - (T - 1) / 2).abs()
        ),
        "a layer norm": without_ffn(norm=unit),
        "a layer norm plus an FFN": layer(norm=unit),
        "an FFN of the mean of all tokens, for every token": layer(before=all_ones / T),
        "an FFN plus a part of the mean of all tokens": layer(
            after=all_ones / T,
            into=torch.eye(d, dtype=torch.float64),
            out=3 * up_and_down(torch.ones(d, dtype=torch.float64)),
        ),
        "attention whose outputs are very small": without_ffn(v=v, seen=masks[0], size=1e-6 * unit),
        "an FFN in which two tokens talk, but tell nothing to an equal one": layer(pair=pair),
        "an FFN in which one token lowers an earlier one": leak(*earlier, only=-1.0),
        "an FFN in which one token raises a later one": leak(*later, only=1.0),
        "an FFN by differences of running sums": layer(running=unit),
        "the same output whatever comes in": without_ffn(bias=rng.normal(d).expand(T, d)),
        "an FFN whose outputs are very large": layer(running=unit, size=1e4 * unit),
        "an FFN in which tokens leak, by far less than 1/10,000": faint_leak | {"after": LEAK * usual_size * all_ones},
        "a module with dropout, in eval mode": layer(),
        "a module in which tokens see each other": layer(v=v, seen=masks[0]),
        "an FFN in which every token leaks a little into the next": layer(
            after=weak_leak,
            into=rng.normal(d, d, scale=1.5 / d**0.5),
            out=up_and_down(torch.ones(d, dtype=torch.float64)),
        ),
    }
    inputs: dict[str, Any] = {"T": T, "d": d, "seed": rng.integer(1, 1000), "shared": weights | {"q": q, "k": k}}
    order: dict[str, list[str]] = {}
    for name, labels in LAYER_KINDS.items():
        order[name] = [list(labels)[i] for i in rng.distinct(len(labels), 0, len(labels) - 1)]
        parts = [numbers_by_label[label] for label in order[name]]
        inputs[name] = {
            "modes": [MODULES.get(label, "") for label in order[name]],
            "numbers": {part: torch.stack([numbers[part].double() for numbers in parts]) for part in parts[0]},
        }
    return inputs | {"_labels": order}


is_position_wise = Exercise(
    "is_position_wise",
    draw=_draw_layers,
    where="the sections “Two rules” and “Write the inspector”.",
    understood="Position-wise means two things at once: no token sees another, and every token meets the same map. You can test both without looking inside.",
    hints=(
        "There are two ways to fail: a token's output depends on another token, or the same vector is treated differently at another position.",
        "Think of one vector that f sees twice. What may be different between the two times, if f is position-wise?",
        "Choose one vector v. Put it at position 0 of a random sequence, then at position 1 of another random sequence, and "
        "so on. What must be true of the outputs at those positions?",
        "If f is position-wise, all of them are g(v). If not, changing the other tokens or the position shows.",
        "Compare with a tolerance that is a part of the output's size, such as a thousandth of its largest number: outputs may be very small, or very large.",
    ),
)


def _add_aspect(aspect: str, points: float, key: str, has_seed: bool = False) -> None:
    def sort_by_label(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        replies = dict(zip(inputs["_labels"][key], observation, strict=True))
        return {label: replies[label] for label in LAYER_KINDS[key]}

    @is_position_wise.aspect(aspect, points, facts=sort_by_label)
    def probe(answer: Any, T: int, d: int, seed: int, shared: Numbers, **layers: Any) -> Any:
        seeds = (seed,) if has_seed else ()
        return [
            observe_call(partial(_describe_reply, answer, f, T, d, *seeds)) for f in build_layers(layers[key], shared)
        ]


def build_layers(aspect_inputs: Any, common_numbers: Numbers) -> Iterator[Layer]:
    """The functions that were drawn for one aspect: a module where it has a mode."""
    for place, mode in enumerate(aspect_inputs["modes"]):
        numbers = common_numbers | {part: values[place] for part, values in aspect_inputs["numbers"].items()}
        yield ModuleLayer(numbers, training=mode == "train") if mode else Layer(numbers)


def _describe_reply(answer: Any, f: Layer, T: int, d: int, *seed: int) -> str:
    mode = getattr(f, "training", None)
    reply = answer(f, T, d, *seed)
    if isinstance(reply, torch.Tensor) and reply.ndim == 0 and reply.dtype == torch.bool:
        reply = bool(reply)
    if not isinstance(reply, (bool, np.bool_)):
        raise NotAsAsked(f"{describe_result(reply)} instead of True or False")
    if isinstance(f, nn.Module) and f.training != mode:
        return "in another mode than before"
    return "position-wise" if reply else "not position-wise"


_add_aspect("tokens that see each other", 2, "seeing")
_add_aspect("positions that are treated differently", 1.5, "treating")
_add_aspect("what only looks position-wise", 1, "looking", has_seed=True)
_add_aspect("what does not look position-wise", 0.5, "not looking")


# position_wise_twin


class Sideways:
    """Attention in which every token sees all tokens, and knows no positions: [n, d] -> [n, d]."""

    def __init__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor) -> None:
        self.q, self.k, self.v, self.bias = q, k, v, bias

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        scores = (x @ self.q) @ (x @ self.k).T / x.shape[-1] ** 0.5
        output: torch.Tensor = torch.softmax(scores, dim=-1) @ (x @ self.v) + self.bias
        return output


def _draw_sentence(rng: Draw, case: int) -> dict[str, Any]:
    """A box and a sentence X [T, d]: one word is there twice, two begin with the same number, and there are more than one affine map can answer."""
    T, d = rng.integer(9, 11), rng.integer(4, 6)
    X = rng.normal(T, d)
    again, first, second = rng.distinct(3, 1, T - 1)
    X[0] = X[again]
    X[first, 0] = X[second, 0]
    return {
        "box": [rng.normal(d, d, scale=0.5), rng.normal(d, d, scale=0.5), rng.normal(d, d), rng.normal(d)],
        "X": X,
        "order": torch.tensor(rng.distinct(T, 0, T - 1)),
        "strangers": rng.normal(3, d),
    }


position_wise_twin = Exercise(
    "position_wise_twin",
    draw=_draw_sentence,
    where="the board in which your inspector goes from box to box, and the text below it.",
    understood="If a box answers equal words equally, some map of single words answers the sentence as it does. So it takes a second sentence to convict it.",
    hints=(
        "The box answers equal words equally. So how many different answers does it give to this sentence, and to which words?",
        "Ask f about X once, and keep the answers. What must g know of a word to find the right one among them?",
        "g gets rows. For each, find a row of X that equals it, or is nearest to it, and return the answer that f gave there.",
    ),
)


def _make_twin(answer: Any, box: Any, X: torch.Tensor) -> Any:
    twin = answer(Sideways(*box), X.clone())
    if not callable(twin):
        raise NotAsAsked(f"{describe_result(twin)} instead of a function")
    return twin


@position_wise_twin.aspect("g answers X as f does", points=0.5)
def twin_answers_x(answer: Any, box: Any, X: Any, order: Any, strangers: Any) -> Any:
    return _make_twin(answer, box, X)(X.clone())


@position_wise_twin.aspect("g looks at each word alone", points=1.5, needs="g answers X as f does")
def twin_looks_at_each_word_alone(answer: Any, box: Any, X: Any, order: Any, strangers: Any) -> Any:
    g = _make_twin(answer, box, X)
    half = len(X) // 2
    sentences = {
        "the words of X in another order": X[order],
        "the first half of them": X[:half],
        "one word": X[1:2],
        "X twice": torch.cat([X, X]),
    }
    outputs = {label: observe_call(partial(g, Z.clone())) for label, Z in sentences.items()}
    words = torch.cat([strangers, X[order]])
    return outputs | {
        "those of X, behind three words that are not in it": observe_call(lambda: g(words)[len(strangers) :])
    }


def _stranger_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, bool]:
    if not isinstance(observation, torch.Tensor) or observation.shape != (4, inputs["X"].shape[1]):
        raise NotAsAsked(f"{describe_result(observation)}; one vector of d numbers for each word was expected")
    return {
        "a word that is not in X gets the same answer everywhere": torch.allclose(
            observation, observation[:1].expand_as(observation), rtol=1e-6, atol=1e-9, equal_nan=True
        )
    }


@position_wise_twin.aspect(
    "words that are not in X", points=1, facts=_stranger_facts, needs="g looks at each word alone"
)
def twin_on_strangers(answer: Any, box: Any, X: Any, order: Any, strangers: Any) -> Any:
    g, stranger = _make_twin(answer, box, X), strangers[:1]
    outputs = [g(torch.cat(parts))[place] for parts, place in (
        ((stranger, X[1:]), 0), ((X[:1], stranger, X[2:]), 1), ((strangers[1:], stranger), 2), ((stranger,), 0)
    )]  # fmt: skip
    return torch.stack(outputs)


# residual_sublayer


def _draw_block(rng: Draw, case: int) -> dict[str, Any]:
    inputs = _draw(rng, case)
    d_model = inputs["x"].shape[-1]
    inputs["x"] = 1.7 * inputs["x"] + rng.normal(d_model)
    return inputs | {"gain": 1.5 + 0.4 * rng.normal(d_model), "shift": rng.normal(d_model)}


residual_sublayer = Exercise(
    "residual_sublayer",
    draw=_draw_block,
    where="the section “Around the FFN”.",
    understood="Pre-norm keeps norms off the path of x; post-norm, the form of 2017, normalises the sum.",
    hints=(
        "Both modes add what the FFN says to x. They differ in what the norm is applied to.",
        "'pre': the norm comes before the FFN, on the side path only. 'post': it comes after the addition.",
        "In both modes the x that is added is the x that came in, not its normalised form.",
    ),
)


def _make_norm(gain: torch.Tensor, shift: torch.Tensor, dtype: torch.dtype = torch.float64) -> nn.LayerNorm:
    norm = nn.LayerNorm(len(gain)).to(dtype)
    with torch.no_grad():
        norm.weight.copy_(gain)
        norm.bias.copy_(shift)
    return norm


def _add_mode_aspect(mode: str) -> None:
    @residual_sublayer.aspect(f"mode “{mode}”", points=1)
    def in_mode(answer: Any, x: Any, weights: Any, gain: Any, shift: Any) -> Any:
        return answer(x[0], make_ffn(weights), _make_norm(gain, shift), mode)


for _name in ("pre", "post"):
    _add_mode_aspect(_name)


@residual_sublayer.aspect("gradients", points=0.5)
def residual_sublayer_gradients(answer: Any, x: Any, weights: Any, gain: Any, shift: Any) -> Any:
    def compute_gradients(mode: str) -> dict[str, Any]:
        ffn = make_ffn(weights)
        norm = _make_norm(gain, shift)
        x_leaf = x[0].clone().requires_grad_()
        backpropagate(answer(x_leaf, ffn, norm, mode))
        leaves = {"x": x_leaf, "the FFN's first weight": ffn.linear1.weight, "the norm's gain": norm.weight}
        return {f"gradient of {name}": leaf.grad for name, leaf in leaves.items()}

    return {f"mode “{mode}”": observe_call(partial(compute_gradients, mode)) for mode in ("pre", "post")}


@residual_sublayer.aspect("other inputs", points=0.5, needs="mode “pre”")
def residual_sublayer_other_inputs(answer: Any, x: Any, weights: Any, gain: Any, shift: Any) -> Any:
    inputs = {
        "x of shape [T, d_model]": x[0, 0],
        "x of shape [A, B, T, d_model]": x[:2, :2, :1],
        "one token, x of shape [d_model]": x[0, 0, 0],
        "non-contiguous x": x[0, :2, :2].transpose(0, 1),
        "everything in float32": x[0, 1, :2].float(),
    }

    def call_on_each(mode: str) -> dict[str, Any]:
        def call(tokens: Any) -> Any:
            ffn = make_ffn(weights, tokens.dtype)
            norm = _make_norm(gain, shift, tokens.dtype)
            return zeros_of_shape(answer(tokens, ffn, norm, mode))

        return on_each(call, inputs)

    return {f"mode “{mode}”": call_on_each(mode) for mode in ("pre", "post")}


# Quizzes. Their texts are in the notebook.

quiz_kernel = quiz(
    "quiz_kernel",
    where="the section “Two rules”.",
    understood="Each layer of size 3 reaches one position further, so two of them see five tokens. With size 1 an output sees its own token alone.",
)

quiz_shared = quiz(
    "quiz_shared",
    where="the section “Two rules”.",
    understood="`[ffn] * 6` is one object, six times. A Transformer has six FFNs, and each is shared by all positions of its block.",
)


# attention_only_collapse


def _draw_tokens(rng: Draw) -> torch.Tensor:
    """X [T, d] with a common part, which is as large as it takes for an r(X) that lies between two numbers of four digits: so every rounding shows."""
    T, d = rng.distinct(2, 3, 9)
    own, common = rng.normal(T, d), rng.normal(d)
    own = own - own.mean(0)
    quotient = rng.integer(3500, 8000) / 1e4 + rng.uniform(4e-5, 6e-5)  # |own| / √(|own|² + T·|common|²)
    factor = math.sqrt((quotient**-2 - 1) / T)
    return torch.add(own, factor * common * own.norm() / common.norm())


def _draw_stack(rng: Draw, case: int) -> dict[str, Any]:
    """X0 [T, d] and the weights of three to five layers of one head, in float32 in every second case; and tokens X that go through no layer."""
    T, d, h = rng.distinct(3, 5, 9)
    dtype = torch.float32 if case else torch.float64
    shapes = {"Wq": (d, h), "Wk": (d, h), "Wv": (d, h), "Wo": (h, d)}
    weights = [
        tuple(rng.normal(*shape, scale=shape[0] ** -0.5, dtype=dtype) for shape in shapes.values())
        for _ in range(rng.integer(3, 5))
    ]
    return {"X0": rng.normal(T, d, dtype=dtype), "weights": weights, "X": _draw_tokens(rng)}


attention_only_collapse = Exercise(
    "attention_only_collapse",
    draw=_draw_stack,
    where="the section “Fourteen tokens become one”.",
    understood=(
        "Each layer averages what is averaged already, so bare attention makes all tokens one in a few layers. "
        "With the residual connection each keeps a part of its own, and it takes dozens of layers instead."
    ),
    hints=(
        "Begin with r(X): the mean token is the mean of the rows of X. Subtract it from each row, and compare two Frobenius norms.",
        "Before the loop, the list holds one number, r(X0). Each turn of the loop appends one more.",
        "A layer is what you wrote in `self_attention` of notebook 01, with that layer's own four matrices.",
        "With `skip`, the layer's output is added to that same layer's input, and the next layer gets the sum.",
        "`.double()` on X0 and on each matrix makes everything float64. In float32 the numbers stop falling at about 1e-7.",
    ),
)


def _compute_residuals(answer: Any, X0: Any, weights: Any, skip: bool) -> list[Any]:
    result = answer(X0, weights, skip)
    if isinstance(result, torch.Tensor) and result.ndim == 1:
        raise NotAsAsked(f"a tensor of {len(result)} numbers came back; a list of numbers was expected")
    if not isinstance(result, (list, tuple)):
        raise NotAsAsked(f"{describe_result(result)}; a list of numbers was expected")
    return list(result)


@attention_only_collapse.aspect("r(X), before any layer", points=1.5)
def attention_only_collapse_before_any_layer(answer: Any, X0: Any, weights: Any, X: Any) -> Any:
    tokens = {
        "X as drawn": X,
        "all tokens equal": X[:1].expand(len(X), -1),
        "one token alone": X[:1],
        "two tokens, x and −x": torch.stack([X[0], -X[0]]),
        "all but one equal": torch.cat([X[:1].expand(len(X), -1), X[1:2]]),
        "one number per token": X[:, :1],
    }
    return {
        label: observe_call(lambda Z=Z: _compute_residuals(answer, Z.clone(), [], False))  # type: ignore[misc]
        for label, Z in tokens.items()
    }


@attention_only_collapse.aspect("without skip", points=1, atol=1e-5, rtol=1e-5)
def attention_only_collapse_without_skip(answer: Any, X0: Any, weights: Any, X: Any) -> Any:
    return _compute_residuals(answer, X0, weights, False)


@attention_only_collapse.aspect("with skip", points=1, atol=1e-5, rtol=1e-5)
def attention_only_collapse_with_skip(answer: Any, X0: Any, weights: Any, X: Any) -> Any:
    return _compute_residuals(answer, X0, weights, True)


@attention_only_collapse.aspect("in float64, inputs kept", points=0.5, atol=1e-10, rtol=1e-10)
def attention_only_collapse_in_float64_inputs_kept(answer: Any, X0: Any, weights: Any, X: Any) -> Any:
    copies = [X0.clone(), *(matrix.clone() for layer in weights for matrix in layer)]
    layers = list(weights)
    outputs = {
        "with skip" if skip else "without skip": observe_call(
            lambda skip=skip: _compute_residuals(answer, X0, weights, skip)  # type: ignore[misc]
        )
        for skip in (False, True)
    }
    outputs["one layer"] = observe_call(lambda: _compute_residuals(answer, X0, weights[:1], True))
    is_unchanged = all(
        torch.equal(a, b) for a, b in zip(copies, [X0, *(m for layer in layers for m in layer)], strict=True)
    )
    is_same_list = len(weights) == len(layers) and all(
        now is before for now, before in zip(weights, layers, strict=True)
    )
    return outputs | {"X0 and the weights are left as they were": is_unchanged and is_same_list}


# ffn_chunked


class _CountingReLU:
    """An activation, ReLU, that counts what goes through it: rows and width of each call, and how many rows of earlier calls are still kept."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []  # rows, width, rows kept by then
        self._hidden_refs: list[tuple[int, weakref.ref[torch.Tensor]]] = []

    def __call__(self, input: torch.Tensor) -> torch.Tensor:
        rows = input[..., 0].numel()
        self.calls.append([rows, input.shape[-1], sum(n for n, ref in self._hidden_refs if ref() is not None)])
        hidden = torch.relu(input)
        self._hidden_refs.append((rows, weakref.ref(hidden)))
        return hidden


def _draw_chunked(rng: Draw, case: int) -> dict[str, Any]:
    """x [2, B, T, d_model], an odd number B·T of tokens, and an even c that is less than its root: so c does not divide it, and c chunks are larger than c."""
    B, T, c = rng.one_of((3, 5)), rng.one_of((7, 9, 11)), rng.one_of((2, 4))
    d_model, d_ff = 2 * rng.integer(3, 4), 2 * rng.integer(5, 7)
    return {"x": rng.normal(2, B, T, d_model), "weights": draw_weights(rng, d_model, d_ff), "c": c}


ffn_chunked = Exercise(
    "ffn_chunked",
    draw=_draw_chunked,
    where="“In portions” in the part “Deeper”.",
    understood="An FFN may take its tokens in any portions: no token waits for another one, and nothing has to be kept.",
    hints=(
        "First make one long list of tokens, [N, d_model], whatever the shape of x. How many are in the last chunk?",
        "`tensor.split(c)` cuts the first dimension into pieces of c, and the last piece may be shorter. (`chunk(c)` makes c pieces.)",
        "Call `ffn` on each piece, put the results under each other with `torch.cat`, and give them the shape of x.",
    ),
)


@ffn_chunked.aspect("values", points=1)
def ffn_chunked_values(answer: Any, x: Any, weights: Any, c: int) -> Any:
    return answer(x[0], make_ffn(weights), c)


def _chunk_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, bool | int]:
    """What holds for the calls, [rows, width, rows kept] of each. A variable may still hold the last chunk's rows, and a last chunk be filled up."""
    c, (_, B, T, _), d_ff = inputs["c"], inputs["x"].shape, len(inputs["weights"]["b1"])
    rows, widths, live_rows = ([int(number) for number in column] for column in zip(*observation, strict=True))
    return {
        "at most c tokens go in at a time": max(rows) <= c,
        "every token goes through the activation of ffn once": B * T <= sum(rows) < B * T + c,
        "all of its d_ff neurons work at the same time": set(widths) == {d_ff},
        "the hidden rows of earlier chunks are let go": max(live_rows) <= max(rows),
        "how many more than c go in at a time": max(0, max(rows) - c),
    }


@ffn_chunked.aspect("at most c at a time", points=1, facts=_chunk_facts, needs="values")
def ffn_chunked_at_most_c_at_a_time(answer: Any, x: Any, weights: Any, c: int) -> Any:
    ffn = make_ffn(weights)
    ffn.activation = activation = _CountingReLU()
    with torch.no_grad():
        answer(x[0], ffn, c)
    if not activation.calls:
        raise NotAsAsked("the activation of ffn was never called")
    return activation.calls


@ffn_chunked.aspect("gradients", points=0.5)
def ffn_chunked_gradients(answer: Any, x: Any, weights: Any, c: int) -> Any:
    ffn = make_ffn(weights)
    x = x[0].requires_grad_()
    backpropagate(answer(x, ffn, c))
    return {f"gradient of {name}": leaf.grad for name, leaf in {"x": x, **dict(ffn.named_parameters())}.items()}


@ffn_chunked.aspect("any x, any c", points=0.5)
def ffn_chunked_any_x_any_c(answer: Any, x: Any, weights: Any, c: int) -> Any:
    inputs = leading_shapes(x) | {"everything in float32": x[0].float()}
    outputs = on_each(lambda tokens: answer(tokens, make_ffn(weights, tokens.dtype), c), inputs)
    for words, number in {"c = 1": 1, "c as large as x": x[0, ..., 0].numel(), "c larger than x": 1000}.items():
        outputs[words] = observe_call(lambda number=number: answer(x[0], make_ffn(weights), number))  # type: ignore[misc]
    return outputs


# bottleneck_rank


FAINT, ROUNDING = 4e-6, 2.5e-7  # on either side of a millionth
WEAKEST = 0.05  # of the strongest direction: no other one is weaker by chance, so that it shows with any tolerance near a millionth


def _draw_rank(rng: Draw, case: int) -> dict[str, Any]:
    """FFNs, each with its inputs: few and many hidden neurons, few inputs, inputs on a line, neurons that never fire, some that hardly write."""
    d = rng.integer(7, 9)
    f = rng.integer(4, d - 2)
    N = rng.integer(40, 50)
    X = rng.normal(N, d)
    narrow = draw_weights(rng, d, f)
    # Biases with which no neuron is silent by chance, and no input leaves all of them silent.
    narrow["b1"] = -(X @ narrow["W1"]).quantile(0.15, dim=0)
    wide = draw_weights(rng, d, d + rng.integer(6, 9))
    line = rng.normal(N, 1, scale=2.0) * rng.normal(1, d)
    few = X[: rng.integer(2, f - 1)]
    return {
        "narrow": (_strengthen_directions(narrow, X), X),
        "wide": (_strengthen_directions(wide, X), X),
        "few": (_strengthen_directions(narrow, few), few),
        "line": (_strengthen_directions(_spread_bends(wide, line), line), line),
        "silent": (_strengthen_directions(_silence_neurons(narrow, rng.integer(1, f - 2)), X), X),
        "off": (_silence_neurons(narrow, f), X),
        "faint": [(_draw_faint_weights(rng, X, narrow, strength), X) for strength in (FAINT, ROUNDING)],
        "factors": [1e-5, 1e4],
    }


def _strengthen_directions(weights: Weights, X: torch.Tensor) -> Weights:
    """The same FFN, but in every direction that its neurons write for X they write clearly: weak ones are made stronger."""
    outputs = torch.relu(X @ weights["W1"] + weights["b1"]) @ weights["W2"]
    _, sizes, directions = torch.linalg.svd(outputs, full_matrices=False)
    strength = torch.where(sizes > 1e-9 * sizes[0], (WEAKEST * sizes[0] / sizes).clamp(min=1), 1)
    stretch = torch.eye(len(directions.T), dtype=torch.float64) + directions.T @ torch.diag(strength - 1) @ directions
    return weights | {"W2": weights["W2"] @ stretch}


def _spread_bends(weights: Weights, line: torch.Tensor) -> Weights:
    """The same FFN, its neurons beginning to fire at places that are spread evenly over the inputs of a line."""
    readings = line @ weights["W1"]
    places = torch.linspace(0.1, 0.9, readings.shape[1], dtype=torch.float64)
    return weights | {"b1": -torch.stack([readings[:, j].quantile(place) for j, place in enumerate(places)])}


def _silence_neurons(weights: Weights, count: int) -> Weights:
    """The same FFN, and its first neurons never fire."""
    b1 = weights["b1"].clone()
    b1[:count] = -100.0
    return weights | {"b1": b1}


def _draw_faint_weights(rng: Draw, X: torch.Tensor, weights: Weights, strength: float) -> Weights:
    """Neurons that each fire for half of X, and write in f directions: in some as strongly as in the strongest, in the others `strength` as strongly."""
    readings = X @ weights["W1"]
    b1 = -readings.median(dim=0).values
    hidden = torch.relu(readings + b1)
    f, d = weights["W2"].shape
    _, triangle = torch.linalg.qr(hidden)  # hidden = Q R, so R⁻¹ S V writes the singular values S in the directions V
    directions = torch.linalg.qr(rng.normal(d, f)).Q.T
    values = torch.ones(f, dtype=torch.float64)
    values[f - rng.integer(1, f - 1) :] = strength
    return weights | {"b1": b1, "W2": torch.linalg.solve(triangle, 30 * values[:, None] * directions)}


bottleneck_rank = Exercise(
    "bottleneck_rank",
    draw=_draw_rank,
    where="the part “Deeper”, where it speaks of a bottleneck.",
    understood="Whatever comes in, what the neurons write lies in the span of at most d_ff vectors: the rank is the number of directions in use.",
    hints=(
        "b2 is added to every row, whatever the neurons do. What is left of the output without it?",
        "`torch.linalg.matrix_rank` counts the singular values that are larger than a tolerance. Its argument `rtol` makes that a part of the largest one.",
        "The FFN's output minus `ffn.linear2.bias`, its rank with the tolerance that is asked for, as an int.",
    ),
)


def _compute_rank(answer: Any, weights: Weights, X: torch.Tensor) -> Any:
    return observe_call(lambda: answer(make_ffn(weights, X.dtype), X))


@bottleneck_rank.aspect("rank", points=1.5)
def bottleneck_rank_rank(answer: Any, narrow: Any, wide: Any, few: Any, line: Any, **_: Any) -> Any:
    return {
        "d_ff smaller than d_model": _compute_rank(answer, *narrow),
        "d_ff larger than d_model": _compute_rank(answer, *wide),
        f"{len(few[1])} inputs": _compute_rank(answer, *few),
        "inputs on one line": _compute_rank(answer, *line),
    }


@bottleneck_rank.aspect("neurons that never fire", points=0.5, needs="rank")
def bottleneck_rank_neurons_that_never_fire(answer: Any, silent: Any, off: Any, **_: Any) -> Any:
    return {"some never fire": _compute_rank(answer, *silent), "none ever fires": _compute_rank(answer, *off)}


@bottleneck_rank.aspect("float32, other scales, and what is nearly zero", points=0.5, needs="rank")
def bottleneck_rank_float32_other_scales_and_what_is_nearly_zero(
    answer: Any, silent: Any, faint: Any, factors: Any, **_: Any
) -> Any:
    weights, X = silent
    ranks: dict[str, Any] = {}
    for factor in factors:
        scaled_weights = weights | {"W2": factor * weights["W2"], "b2": factor * weights["b2"]}
        ranks[f"W2 and b2 times {factor:g}, float32"] = _compute_rank(answer, scaled_weights, X.float())
    for words, pair in zip(("some directions above a millionth", "some below"), faint, strict=True):
        ranks[words] = _compute_rank(answer, *pair)
    return {"float32": _compute_rank(answer, weights, X.float())} | ranks


@bottleneck_rank.aspect("ffn and X stay as they were", points=0.5, needs="rank")
def bottleneck_rank_ffn_and_x_stay_as_they_were(answer: Any, narrow: Any, **_: Any) -> Any:
    weights, X = narrow
    ffn = make_ffn(weights)
    X_copy = X.clone()
    before = copy_parameters(ffn)
    answer(ffn, X_copy)
    return check_unchanged(ffn, before, X=(X_copy, X))
