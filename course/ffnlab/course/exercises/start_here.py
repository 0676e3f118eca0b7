"""Notebook 00, Start here."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence, Set
from functools import cache
from random import Random
from typing import Any

import torch

from ffnlab.observation.exercise import Draw, Exercise, NotAsAsked, observe_call, quiz, type_with_article
from ffnlab.observation.plain_data import Failure
from ffnlab.phrases import join_words, plural

NOTEBOOK = "00_start_here"


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """x [B, T, d] with three sizes that differ, and cuts of it in which one of the sizes is 1."""
    x = rng.normal(*rng.distinct(3, 2, 12))
    ones = {"x with B = 1": x[:1], "x with T = 1": x[:, :1], "x with d = 1": x[:, :, :1]}
    return {"given": {"x": x} | ones}


hello_shape = Exercise(
    "hello_shape",
    draw=_draw,
    where="the section “Be wrong on purpose”.",
    understood="You read a tensor's shape as batch, tokens, features: the convention of the whole course.",
    hints=(
        "Every tensor knows its own shape. The cell above prints three of them.",
        "A shape can be unpacked like any tuple of three: into three names, one for each size.",
    ),
)


ORDINALS = ("first", "second", "third")


def _number_by_number(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The three numbers one by one, so that a wrong one is told by its place; what is no tuple of three is told as it is."""

    no_numbers = dict.fromkeys(f"the {place} of your three numbers" for place in ORDINALS)

    def describe_numbers(result: Any) -> dict[str, Any]:
        if not isinstance(result, tuple) or len(result) != len(ORDINALS):
            return {"what comes back": result} | no_numbers
        if any(isinstance(n, torch.Tensor) for n in result):  # one of a single number is compared as that number
            return {"what comes back": "tensors in a tuple"} | no_numbers
        numbers = {f"the {place} of your three numbers": n for place, n in zip(ORDINALS, result, strict=True)}
        return {"what comes back": "three numbers in a tuple"} | numbers

    return {
        label: result if isinstance(result, Failure) else describe_numbers(result)
        for label, result in observation.items()
    }


@hello_shape.aspect("shape", points=2, facts=_number_by_number)
def _shape(answer: Any, given: Any) -> Any:
    observation = {"another x": answer(given.pop("x"))}
    return observation | {label: observe_call(lambda x=x: answer(x)) for label, x in given.items()}  # type: ignore[misc]


feeling = Exercise(
    "feeling",
    where="the board above the exercise.",
    understood="Two words decide together, and neither of them alone tells you anything: the spunky are glad where it is cold, and the timid where it is warm.",
    hints=(
        "Change one word and leave the others. Which boxes can change the feeling, and which can't?",
        "Two boxes can. Each of them has two kinds of words, so write down what the model says for all four pairs of kinds.",
        "In two of the four pairs the creature is glad. What have these two in common?",
    ),
    cases=1,
)


@feeling.aspect("all eight kinds of scenes", points=0)
def _all_kinds(answer: Any) -> Any:
    kinds = itertools.product((True, False), repeat=3)
    names = (("water", "land"), ("cold", "warm"), ("spunky", "timid"))
    observation: dict[str, Any] = {}
    for kind in kinds:
        label = ", ".join(name[not is_first] for name, is_first in zip(names, kind, strict=True))
        observation[label] = observe_call(lambda kind=kind: answer(*kind)) if observation else answer(*kind)  # type: ignore[misc]
    return observation


# deciding_pair

Scene = int  # its n properties as the bits of a number
World = tuple[int, int, str]  # the two properties that decide, the smaller first, and the feeling where they are equal
FEELINGS = {"glad": "sorry", "sorry": "glad"}  # each with the other one
SIZES = (2, 4, 8, 16, 32, 64)
MAX_QUESTIONS = 5000  # questions, more than there are worlds with 64 properties


def feeling_in(world: World, scene: Scene) -> str:
    """What the creature feels in one scene of a world."""
    first, second, equal = world
    return FEELINGS[equal] if (scene >> first ^ scene >> second) & 1 else equal


class Questions:
    """`ask(scene)` in a world of n properties, whose feeling `reply(scene)` gives. `scenes` holds the scenes so far.

    Raises NotAsAsked for what is no scene, and for more questions than `most`.
    """

    def __init__(self, n: int, reply: Callable[[Scene], str], most: int) -> None:
        self.n, self.reply, self.most = n, reply, most
        self.scenes: list[Scene] = []

    def __call__(self, scene: Sequence[Any]) -> str:
        if not hasattr(scene, "__len__"):
            raise NotAsAsked(f"`ask` takes a list of {self.n} booleans, and got {type_with_article(scene)}")
        if len(scene) != self.n:
            raise NotAsAsked(f"a scene of this world has {self.n} properties, and `ask` got one with {len(scene)}")
        if len(self.scenes) == self.most:
            raise NotAsAsked(f"more than {self.most:,} questions were asked about {self.n} properties")
        digits = bytes(map(bool, scene)).hex()[1::2]  # a 0 or a 1 for each property
        self.scenes.append(int(digits[::-1], 2))
        return self.reply(self.scenes[-1])


@cache
def _pairs_with(n: int) -> list[int]:
    """For each property, the pairs that it belongs to, as bits in the order of `itertools.combinations(range(n), 2)`."""
    pairs = list(itertools.combinations(range(n), 2))
    return [sum(1 << place for place, pair in enumerate(pairs) if number in pair) for number in range(n)]


Kind = tuple[int, str, "int | None"]  # n, the feeling that is preferred, and the seed of the choices


class UnsettledWorld:
    """A world that has not settled what it is: with each answer it settles as little as it must. So it holds no secret that code could find in it.

    With a seed it draws each answer, in proportion to the worlds in which it would be felt: in the end, whatever was asked, any world is as likely
    as any other. Two of one seed that prefer different feelings give opposite answers throughout. Without a seed it is an opponent: it gives the answer
    that leaves more worlds possible, and the preferred one where both leave as many. Whatever is asked, the larger half of the worlds is left.
    """

    def __init__(self, n: int, preferred: str, seed: int | None) -> None:
        self.n, self.preferred = n, preferred
        self.random = None if seed is None else Random(seed)
        # By the feeling of both where it is the same: the pairs that may decide, as bits.
        self.pairs = dict.fromkeys(FEELINGS, (1 << n * (n - 1) // 2) - 1)
        self.telling: list[Scene] = []  # those whose answer was not known before

    def __call__(self, scene: Scene) -> str:
        differ = 0  # the pairs of which one property is True and the other is not: they are met once
        for number, pairs in enumerate(_pairs_with(self.n)):
            if scene >> number & 1:
                differ ^= pairs
        candidates = {
            feeling: {equal: pairs & (~differ if equal == feeling else differ) for equal, pairs in self.pairs.items()}
            for feeling in FEELINGS
        }
        counts = {feeling: sum(map(int.bit_count, parts.values())) for feeling, parts in candidates.items()}
        if all(counts.values()):
            self.telling.append(scene)
            feeling = self._choose(counts)
        else:
            feeling = max(counts, key=lambda feeling: counts[feeling])
        self.pairs = candidates[feeling]
        return feeling

    def _choose(self, counts: dict[str, int]) -> str:
        share = counts[self.preferred] / sum(counts.values())
        is_preferred = share >= 0.5 if self.random is None else self.random.random() < share
        return self.preferred if is_preferred else FEELINGS[self.preferred]

    @property
    def possible(self) -> list[World]:
        """The worlds that fit all answers."""
        pairs = enumerate(itertools.combinations(range(self.n), 2))
        return [(*pair, equal) for place, pair in pairs for equal, bits in self.pairs.items() if bits >> place & 1]


SCENE_BYTES = max(SIZES) // 8


def _packed(scenes: Sequence[Scene]) -> torch.Tensor:
    """Scenes as bytes [number of scenes, SCENE_BYTES]."""
    packed = b"".join(scene.to_bytes(SCENE_BYTES, "little") for scene in scenes)
    return torch.tensor(list(packed), dtype=torch.uint8).reshape(-1, SCENE_BYTES)


def _worlds_left(kind: Kind, packed: torch.Tensor) -> list[World]:
    """The worlds that fit what a world of this kind answers to these scenes."""
    world = UnsettledWorld(*kind)
    for row in packed.tolist():
        world(int.from_bytes(bytes(row), "little"))
    return world.possible


def _draw_worlds(rng: Draw, case: int) -> dict[str, Any]:
    """worlds: six of each size, in pairs that answer oppositely. many: for each size more of them, in which questions count, and an opponent at the end."""

    def worlds(n: int, count: int) -> list[Kind]:
        return [(n, feeling, seed) for seed in rng.distinct(count, 0, 2**31 - 1) for feeling in FEELINGS]

    return {
        "worlds": [world for n in SIZES for world in worlds(n, 3)],
        "many": [[*worlds(n, min(n, 32)), (n, rng.one_of(list(FEELINGS)), None)] for n in SIZES],
    }


deciding_pair = Exercise(
    "deciding_pair",
    draw=_draw_worlds,
    where="the section “A rule to find”.",
    understood="A question tells most if it splits the possible worlds in half. With such questions, twelve answers of one word find one world in 4,032.",
    hints=(
        "Ask first about the scene in which everything is False. What does the answer tell you, whichever two decide?",
        "Now make half of the properties True. The feeling changes only if one of the two is in that half and the other is not.",
        "Write the numbers of the properties in binary. With one question for each digit you learn in which digits the two numbers differ.",
        "Choose a digit in which they differ. Exactly one of the two has a 1 there. So among the properties with a 1 there you look for one, not for two.",
    ),
    cases=1,
)


NUMBERS = ("the first number", "the second number")
THE_FEELING = "the feeling where both are False"
SETTLED = "what the questions leave open"


def _against_settled(observation: Any, inputs: dict[str, Any]) -> dict[str, str | Failure]:
    """What is wrong with what came back, part by part, over all worlds; an empty text where nothing is.

    Each world is settled by what was asked, which is replayed: what a submission says of it is not taken on trust. So a part is told by what it is in
    that world, and not by its number.
    """
    plays = [
        (kind, (scenes, _without_tensors(result)))
        for kind, (scenes, result) in zip(inputs["worlds"], observation, strict=True)
    ]
    failures = [result for _, (_, result) in plays if isinstance(result, Failure)]
    forms = {_form(result) for _, (_, result) in plays if not isinstance(result, Failure)}
    facts: dict[str, str | Failure] = {"what comes back": failures[0] if failures else _together(forms, RIGHT_FORM)}
    results: list[tuple[World, World]] = []
    is_open = False
    for kind, (scenes, result) in plays:
        if _form(result) == RIGHT_FORM:  # what is a failure has another
            left = _worlds_left(kind, scenes)
            is_open = is_open or len(left) > 1
            if len(left) == 1:
                results.append((left[0], result))
    words = [_numbers_in_words(world, result) for world, result in results]
    for part, place in enumerate(NUMBERS):
        facts[place] = _together({pair[part] for pair in words}, "")
    facts[THE_FEELING] = _feeling_in_words(results)
    facts[SETTLED] = "other worlds fit all answers as well" if is_open else ""
    return facts


RIGHT_FORM = "a tuple of an int, an int and a str"


def _without_tensors(result: Any) -> Any:
    """A tensor of one number is as good as the number."""
    if not isinstance(result, tuple):
        return result
    return tuple(part.item() if isinstance(part, torch.Tensor) and part.ndim == 0 else part for part in result)


def _form(result: Any) -> str:
    """Its type; and those of its parts, where there are few."""
    if isinstance(result, (tuple, list)) and 0 < len(result) <= 5:
        return f"{type_with_article(result)} of {join_words([type_with_article(part) for part in result])}"
    return type_with_article(result)


def _together(descriptions: Set[str], right: str) -> str:
    """What was seen in all worlds, in one text; empty where nothing but the right one was."""
    return "" if descriptions <= {right} else " or ".join(text or "the right one" for text in sorted(descriptions))


def _numbers_in_words(world: World, result: World) -> tuple[str, str]:
    """What the two numbers are in a world; empty where they are the right ones."""
    smaller, larger, _ = world
    if result[:2] == (smaller + 1, larger + 1):
        return "one too large", "one too large"
    names = {smaller: "the smaller one", larger: "the larger one"}
    first, second = (names.get(number, "another one") for number in result[:2])
    return first.replace("the smaller one", ""), second.replace("the larger one", "")


def _feeling_in_words(results: Sequence[tuple[World, World]]) -> str:
    words = {result[2] for _, result in results}
    right = [world[2] == result[2] for world, result in results]
    if all(right):
        return ""
    if not words <= FEELINGS.keys():
        return "neither glad nor sorry"
    if len(words) == 1:
        return f"{words.pop()} in every world"
    return "the right one or the other one" if any(right) else "the other one"


@deciding_pair.aspect("the two and their rule", points=2, facts=_against_settled)
def deciding_pair_in_worlds(answer: Any, worlds: Any, many: Any) -> Any:
    """For each world: the scenes that settled it, and the answer."""

    def in_world(kind: Kind) -> Any:
        world = UnsettledWorld(*kind)
        result = observe_call(lambda: answer(Questions(world.n, world, MAX_QUESTIONS), world.n))
        return _packed(world.telling), result

    return list(map(in_world, worlds))


def _questions_counted(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Replays all questions: neither the answers to them nor their number are taken on trust. The largest worlds come first."""
    facts: dict[str, Any] = {}
    for n, kinds, plays in reversed(list(zip(SIZES, inputs["many"], observation, strict=True))):
        enough, counts, others = 2 * round(math.log2(n)), [0], [0]
        for kind, (scenes, result) in zip(kinds, plays, strict=True):
            counts.append(len(scenes))
            others.append(sum(world != result for world in _worlds_left(kind, scenes)))
        facts[f"n = {n}: the most questions, where {enough} are enough"] = max(enough, *counts)
        left_open = f"your questions leave {plural(f'{max(others):,}', 'other world')} open"
        facts[f"n = {n}: what the questions leave open"] = left_open if max(others) else ""
    return facts


@deciding_pair.aspect(
    "few questions", points=2, facts=_questions_counted, needs="the two and their rule", times_larger=12
)
def deciding_pair_with_few_questions(answer: Any, worlds: Any, many: Any) -> Any:
    """For each size and each world: all scenes that were asked about, and the answer.

    An opponent alone would not do: a way that is short against it may be long elsewhere.
    """

    def play(kind: Kind) -> tuple[torch.Tensor, Any]:
        world = UnsettledWorld(*kind)
        ask = Questions(world.n, world, most=2 * world.n + 2)
        result = answer(ask, world.n)
        return _packed(ask.scenes), result

    return [list(map(play, kinds)) for kinds in many]


quiz_hidden = quiz(
    "quiz_hidden",
    options="ABC",
    points=0,
    where="the section “House rules”.",
    understood="Hidden inputs decide the grade, so code that only fits the shown ones loses there.",
)
