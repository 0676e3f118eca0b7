"""What is right, and what goes wrong, in `feeling` of notebook 00."""

from __future__ import annotations

import itertools

from autograder.keys.key import Key
from ffnlab.course.exercises import start_here as exercises

feeling = Key(exercises.feeling)
EITHER = "Neither word decides alone: two of the four pairs are glad, and the other two are sorry."


@feeling.truth
def alike(water, cold, spunky):
    return ("glad", "sorry")[cold ^ spunky]


@feeling.right("compares the two")
def compares(water, cold, spunky):
    return "glad" if cold == spunky else "sorry"


@feeling.right("asks for one after the other")
def one_after_the_other(water, cold, spunky):
    if cold:
        return "glad" if spunky else "sorry"
    return "sorry" if spunky else "glad"


@feeling.right("has a table")
def table(water, cold, spunky):
    return {(True, True): "glad", (True, False): "sorry", (False, True): "sorry", (False, False): "glad"}[cold, spunky]


# Conditions in place of the right one, with what is told; the other way round each is the same mistake.
OTHER_RULES = {
    "rule_of_the_way": (
        "cold == water",
        "cold != water",
        "You compare the place with the weather. That pair decides between over and into. For the feeling, keep the weather "
        "and change the other words one by one.",
    ),
    "place_and_mood": (
        "water == spunky",
        "water != spunky",
        "You compare the place with the mood. Change the place alone on the board, and look at the feeling: does it change?",
    ),
    "weather_alone": ("cold", "not cold", f"You look at the weather alone. {EITHER}"),
    "mood_alone": ("spunky", "not spunky", f"You look at the mood alone. {EITHER}"),
    "place_alone": (
        "water",
        "not water",
        "You look at the place alone. Change it on the board, and leave the other words: the feeling stays.",
    ),
    "all_three": (
        "cold ^ spunky ^ water",
        "not cold ^ spunky ^ water",
        "Your rule asks for all three. Change the place alone on the board: does the feeling change?",
    ),
}
for _name, (_rule, _other_way_round, _message) in OTHER_RULES.items():
    feeling.slip(_name, _message, of=compares, replace={"cold == spunky": _rule})
    feeling.slip(f"{_name}_reversed", of=compares, replace={"cold == spunky": _other_way_round}, form_of=_name)

# One of the two that decide is joined to the place; and the two themselves, with something that is true of one pair in four, or of three.
ASKS_FOR_THE_PLACE = (
    "Your rule asks for the place. Change the place alone on the board, and leave the other words: the feeling stays."
)
ONE_OF_FOUR = "In your rule one pair of weather and mood differs from the other three. On the board two pairs are glad and two are sorry: try all four."
WORDS = (("water", "not water"), ("cold", "not cold"), ("spunky", "not spunky"))
WITH_THE_PLACE = [
    f"{place} {joined} {other}"
    for place, joined, other in itertools.product(WORDS[0], ("and", "or"), (*WORDS[1], *WORDS[2]))
]
TOLD_BY_WHAT_THEY_MISS = {"cold and spunky", "not cold and not spunky", "cold or spunky"}  # below
OF_ONE_PAIR = [
    rule
    for cold, joined, spunky in itertools.product(WORDS[1], ("and", "or"), WORDS[2])
    if (rule := f"{cold} {joined} {spunky}") not in TOLD_BY_WHAT_THEY_MISS
]
for _rules, _message in ((WITH_THE_PLACE, ASKS_FOR_THE_PLACE), (OF_ONE_PAIR, ONE_OF_FOUR)):
    _first, *_others = [(rule.replace(" ", "_"), {"cold == spunky": rule}) for rule in _rules]
    feeling.slip(_first[0], _message, of=compares, replace=_first[1])
    for _name, _replace in _others:
        feeling.slip(_name, of=compares, replace=_replace, form_of=_first[0])


feeling.slips("""
of compares
in cold ==
reversed: cold !=
    Glad and sorry have changed places: in all eight kinds of scenes your answer is the other one.
only_the_timid: not cold and not
    Only the timid in the warmth are glad in your rule. Somebody else is glad, too: try a spunky creature.
in ==
only_the_spunky: and
    Only the spunky in the cold are glad in your rule. Somebody else is glad, too: try a timid creature.
either_is_enough: or
    One of the two is enough in your rule. On the board a spunky creature can be sorry, and so can one in the cold.
in "glad" if cold == spunky else "sorry"
true_or_false: cold == spunky
    True or False comes back. The words themselves are asked for: `"glad"` or `"sorry"`.
always_glad: "glad"
    It is the same word for every scene. Make somebody sorry on the board first, then somebody glad.
|| always_sorry: glad -> sorry
""")
