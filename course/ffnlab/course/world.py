"""A little world: 56 words, and sentences about a place, its weather, and a creature that wants something.

    The creek was cold and the spunky dog wanted to jump over it and was glad about the ice .
    The hedge was warm and the shy cat crept home wet from the flowers .

Every place is water or land, every weather cold or warm, every creature spunky or timid. Three habits of this world tie the words together:

- *Over or into?* Everybody goes **into** warm water, and **into** what lies under soft snow. Cold water and bare ground one goes **over**.
- *Glad or sorry?* The spunky love the cold, the timid love the warmth. Who has what it loves is **glad**.
- *Wet or dry?* Who goes into something comes home **wet**. The spunky do what everybody wants, the timid do the opposite.

The first two need a *combination* of two attributes (an exclusive or), the last one of all three (a parity): no single word gives any of them
away. Notebooks 00, 02 and 06 read a small model that has learned this world; `ffnlab.course.experiments.world` trains it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import NamedTuple

# Four words for each attribute, and four for its opposite.
WATER, LAND = ("creek", "river", "lake", "pond"), ("ditch", "path", "lawn", "hedge")
COLD, WARM = ("cold", "icy", "frosty", "chilly"), ("warm", "hot", "sunny", "mild")
SPUNKY, TIMID = ("spunky", "brave", "bold", "lively"), ("timid", "shy", "sleepy", "meek")
PLACES, WEATHERS, MOODS = WATER + LAND, COLD + WARM, SPUNKY + TIMID
CREATURES = ("dog", "cat", "fox", "hen", "goat", "duck", "mouse", "hare")
VERBS, GAITS = {True: "jump", False: "creep"}, {True: "ran", False: "crept"}  # of the spunky and of the timid
LITTLE_WORDS = ("the", "was", "and", "wanted", "to", "it", "home", "about", "from", ".")
WAYS, FEELINGS, RETURNS = ("over", "into"), ("sorry", "glad"), ("dry", "wet")  # what the habits choose between
SIGHTS = {(True, True): "ice", (True, False): "waves", (False, True): "snow", (False, False): "flowers"}  # water, cold

WORDS = (
    *PLACES,
    *WEATHERS,
    *MOODS,
    *CREATURES,
    *VERBS.values(),
    *GAITS.values(),
    *LITTLE_WORDS,
    *WAYS,
    *FEELINGS,
    *RETURNS,
    *SIGHTS.values(),
)
NUMBER = {word: number for number, word in enumerate(WORDS)}

ATTRIBUTES = (("water", "land"), ("cold", "warm"), ("spunky", "timid"))  # each with its opposite


class Scene(NamedTuple):
    """What a sentence is about."""

    place: str
    weather: str
    mood: str
    creature: str

    @property
    def water(self) -> bool:
        return self.place in WATER

    @property
    def cold(self) -> bool:
        return self.weather in COLD

    @property
    def spunky(self) -> bool:
        return self.mood in SPUNKY

    @property
    def attributes(self) -> tuple[bool, bool, bool]:
        """Water, cold, spunky."""
        return self.water, self.cold, self.spunky

    @property
    def way(self) -> str:
        return WAYS[self.water ^ self.cold]

    @property
    def feeling(self) -> str:
        return FEELINGS[self.cold == self.spunky]

    @property
    def sight(self) -> str:
        return SIGHTS[self.water, self.cold]

    @property
    def homecoming(self) -> str:
        return RETURNS[self.water ^ self.cold ^ (not self.spunky)]

    @property
    def held_out(self) -> bool:
        """Whether training never sees it. Of the 64 pairs of a place and a weather, and of a weather and a mood, one in four is kept back.

        So in training no creek is ever called cold, nor is a creature called spunky where it is called cold. But creeks are icy, ponds
        are cold, and the brave are out in the cold: beside each word an attribute is as frequent as its opposite.
        """
        place, weather, mood = PLACES.index(self.place), WEATHERS.index(self.weather), MOODS.index(self.mood)
        return weather % 4 in (place % 4, mood % 4)


def wish(scene: Scene) -> list[str]:
    """The sentence with two combinations of two attributes, at WAY and FEELING."""
    end = ["it", "and", "was", scene.feeling, "about", "the", scene.sight, "."]
    return [*_opening(scene), "wanted", "to", VERBS[scene.spunky], scene.way, *end]


def homecoming(scene: Scene) -> list[str]:
    """The sentence with a combination of all three attributes, at RETURN."""
    return [*_opening(scene), GAITS[scene.spunky], "home", scene.homecoming, "from", "the", scene.sight, "."]


def _opening(scene: Scene) -> list[str]:
    return ["the", scene.place, "was", scene.weather, "and", "the", scene.mood, scene.creature]


VERB, WAY, FEELING, SIGHT = 10, 11, 15, 18  # where in a wish these words stand, from 0
RETURN = 10  # and in a homecoming


def scenes(held_out: bool) -> list[Scene]:
    """All scenes, in a fixed order: those that training sees, or those that it does not."""
    every = itertools.starmap(Scene, itertools.product(PLACES, WEATHERS, MOODS, CREATURES))
    return [scene for scene in every if scene.held_out == held_out]


def numbers(words: Iterable[str]) -> list[int]:
    """The place of each word in WORDS; capitals don't count. Raises KeyError for a word that this world does not have."""
    return [NUMBER[word.lower()] for word in words]


def sample(seed: int, count: int) -> list[Scene]:
    """So many scenes to train on, drawn from those that are not held out."""
    return random.Random(seed).choices(scenes(held_out=False), k=count)
