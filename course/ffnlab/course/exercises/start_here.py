"""Notebook 00, Start here."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from ffnlab.observation.exercise import Draw, Exercise, NotAsAsked, observe_call, quiz, type_with_article
from ffnlab.observation.plain_data import Failure

NOTEBOOK = "00_start_here"


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """x [B, T, d] with three sizes that differ, and cuts of it in which one of the sizes is 1."""
    x = rng.normal(*rng.distinct(3, 2, 12))
    ones = {"x with B = 1": x[:1], "x with T = 1": x[:, :1], "x with d = 1": x[:, :, :1]}
    return {"given": {"x": x} | ones}


hello_shape = Exercise(
    "hello_shape",
    draw=_draw,
    where="the section “Shapes, read aloud”.",
    understood="You read a tensor's shape as batch, tokens, features: the convention of the whole course.",
    hints=(
        "Every tensor knows its own shape. The cell under “Shapes, read aloud” prints three of them.",
        "A shape can be unpacked like any tuple of three: into three names, one for each size.",
    ),
)


ORDINALS = ("first", "second", "third")


def _number_by_number(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The three numbers one by one, so that a wrong one is told by its place; what is no tuple of three is told as it is."""

    def describe_numbers(result: Any) -> dict[str, Any]:
        if not isinstance(result, tuple) or len(result) != len(ORDINALS):
            return {"what comes back": result} | dict.fromkeys(
                f"the {place} of your three numbers" for place in ORDINALS
            )
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
    understood="Two words decide, and neither of them alone tells you anything. Three scenes are enough to see it: a first one, and two with one word changed.",
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
    return [sum(1 << place for place, pair in enumerate(pairs) if one in pair) for one in range(n)]


class Opponent:
    """A world that has not settled what it is. It answers so that as many worlds as can be remain possible.

    It holds no secret that code could find in it. Whatever is asked, the larger half of the worlds is left.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.pairs = dict.fromkeys(
            FEELINGS, (1 << n * (n - 1) // 2) - 1
        )  # by the feeling where they are equal: those that may decide, as bits

    def __call__(self, scene: Scene) -> str:
        differ = 0  # the pairs of which one property is True and the other is not: they are met once
        for one, pairs in enumerate(_pairs_with(self.n)):
            if scene >> one & 1:
                differ ^= pairs
        candidates = {
            feeling: {equal: pairs & (~differ if equal == feeling else differ) for equal, pairs in self.pairs.items()}
            for feeling in FEELINGS
        }
        feeling = max(FEELINGS, key=lambda feeling: sum(pairs.bit_count() for pairs in candidates[feeling].values()))
        self.pairs = candidates[feeling]
        return feeling

    @property
    def possible(self) -> list[World]:
        """The worlds that fit all answers."""
        pairs = enumerate(itertools.combinations(range(self.n), 2))
        return [(*pair, equal) for place, pair in pairs for equal, bits in self.pairs.items() if bits >> place & 1]


def _draw_worlds(rng: Draw, case: int) -> dict[str, Any]:
    """worlds: two of each size, glad where the two are equal, and sorry. many: for each size more of them, in which only questions are counted."""

    def worlds(n: int, count: int) -> list[Any]:
        return [(n, *sorted(rng.distinct(2, 0, n - 1)), equal) for _ in range(count) for equal in FEELINGS]

    return {
        "worlds": [world for n in SIZES for world in worlds(n, 1)],
        "many": [worlds(n, min(n, 32)) for n in SIZES],
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


def _label(n: int, first: int, second: int, equal: str) -> str:
    return f"n = {n}, where {first} and {second} decide, {equal} if they are equal"


@deciding_pair.aspect(
    "the two and their rule",
    points=2,
    facts=lambda observation, inputs: {
        _label(*world): result for world, result in zip(inputs["worlds"], observation, strict=True)
    },
)
def deciding_pair_in_worlds(answer: Any, worlds: Any, many: Any) -> Any:
    def in_world(n: int, *world: Any) -> Any:
        return answer(Questions(n, partial(feeling_in, world), MAX_QUESTIONS), n)

    return [observe_call(partial(in_world, *world)) for world in worlds]


def _against_opponent(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Replays the questions against an opponent of its own: neither its answers nor their number are taken on trust. The largest world comes first."""
    facts: dict[str, Any] = {}
    for n, (scenes, result, most) in reversed(list(zip(SIZES, observation, strict=True))):
        opponent, enough = Opponent(n), 2 * round(math.log2(n))
        for scene in scenes:
            opponent(scene)
        facts[f"n = {n}: the most questions, where {enough} are enough"] = max(enough, len(scenes), most)
        facts[f"n = {n}: other worlds that fit all answers"] = sum(world != result for world in opponent.possible)
    return facts


@deciding_pair.aspect("few questions", points=2, facts=_against_opponent, needs="the two and their rule")
def deciding_pair_with_few_questions(answer: Any, worlds: Any, many: Any) -> Any:
    """For each size: what an opponent was asked, the answer, and the most questions in the drawn worlds.

    The opponent alone would not do: a way that is short against it may be long elsewhere.
    """

    def play(n: int, reply: Callable[[Scene], str]) -> tuple[list[Scene], Any]:
        ask = Questions(n, reply, most=2 * n + 2)
        result = answer(ask, n)
        return ask.scenes, result

    observation = []
    for n, worlds_of_size in zip(SIZES, many, strict=True):
        most = max(len(play(n, partial(feeling_in, world))[0]) for _, *world in worlds_of_size)
        observation.append((*play(n, Opponent(n)), most))
    return observation


quiz_hidden = quiz(
    "quiz_hidden",
    options="ABC",
    points=0,
    where="the section “What grades you”.",
    understood="Hidden inputs decide the grade, so code that only fits the shown ones loses there.",
)
