"""The marking guide of notebook 00, Start here."""

from __future__ import annotations

import torch

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import start_here as exercises

hello_shape = Key(exercises.hello_shape)


@hello_shape.truth
def counted(x):
    """Counts by walking down the nested list: no shape is asked for."""
    nested = x.tolist()
    return len(nested), len(nested[0]), len(nested[0][0])


@hello_shape.right("unpacks the shape")
def unpacked(x):
    B, T, d = x.shape
    return B, T, d


@hello_shape.right("returns torch.Size itself")
def size_itself(x):
    return x.shape


@hello_shape.right("asks for one size after the other")
def one_by_one(x):
    return x.size(0), x.size(1), x.size(-1)


@hello_shape.mistake("The last two are swapped: the order is batch, tokens, features, as in `x.shape`.")
def swapped(x):
    B, T, d = x.shape
    return B, d, T


@hello_shape.mistake(
    "Only one number comes back. `len(x)` and `x.shape[0]` are B alone; T and d are asked for as well."
)
def length_only(x):
    return len(x)


@hello_shape.mistake("Only two numbers come back. x has three sizes: B, T and d.")
def without_d(x):
    return x.shape[0], x.shape[1]


hello_shape.slip(
    "without_b", of=without_d, replace={"x.shape[0], x.shape[1]": "x.shape[1], x.shape[2]"}, form_of=without_d
)
hello_shape.slip("without_t", of=without_d, replace={"x.shape[1]": "x.shape[2]"}, form_of=without_d)
hello_shape.slip(
    "first_two_swapped",
    "The first two are swapped: the order is batch, tokens, features, as in `x.shape`.",
    of=swapped,
    replace={"return B, d, T": "return T, B, d"},
)
hello_shape.slip(
    "backwards",
    "The three sizes come backwards: the order is batch, tokens, features, as in `x.shape`.",
    of=swapped,
    replace={"return B, d, T": "return d, T, B"},
)


@hello_shape.mistake(
    "These numbers are the sizes of one particular x. Other inputs have other sizes: read them from the x that you are handed."
)
def hard_coded(x):
    return 2, 14, 6


@hello_shape.mistake("A text comes back. Three integers are asked for, so that one can calculate with them.")
def as_text(x):
    return str(tuple(x.shape))


@hello_shape.mistake("A list comes back. A tuple is asked for: `x.shape` is one already, and `tuple(...)` makes one.")
def as_list(x):
    return list(x.shape)


@hello_shape.mistake(
    "A tensor comes back. Three Python integers are asked for, in a tuple: `x.shape` has them already."
)
def as_tensor(x):
    return torch.tensor(x.shape)


@hello_shape.mistake(NO_RETURN)
def printed(x):
    print(x.shape)


@hello_shape.mistake(
    "Sizes of 1 are lost on the way: `squeeze` takes them out. One sequence is still a batch, of B = 1. Read the shape of x as it came."
)
def squeezed(x):
    return tuple(x.squeeze().shape)


@hello_shape.mistake("This is how many numbers x holds, B·T·d. Three sizes are asked for, one for each dimension.")
def number_of_entries(x):
    return x.numel()


@hello_shape.mistake("This is how many dimensions x has. Three sizes are asked for, one for each dimension.")
def number_of_dimensions(x):
    return x.ndim


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


feeling.slip(
    "reversed",
    "Glad and sorry have changed places: in all eight kinds of scenes your answer is the other one.",
    of=compares,
    replace={"==": "!="},
)
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
feeling.slip(
    "only_the_spunky",
    "Only the spunky in the cold are glad in your rule. Somebody else is glad, too: try a timid creature.",
    of=compares,
    replace={"==": "and"},
)
feeling.slip(
    "only_the_timid",
    "Only the timid in the warmth are glad in your rule. Somebody else is glad, too: try a spunky creature.",
    of=compares,
    replace={"cold == spunky": "not cold and not spunky"},
)
feeling.slip(
    "either_is_enough",
    "One of the two is enough in your rule. On the board a spunky creature can be sorry, and so can one in the cold.",
    of=compares,
    replace={"==": "or"},
)
feeling.slip(
    "true_or_false",
    'True or False comes back. The words themselves are asked for: `"glad"` or `"sorry"`.',
    of=compares,
    replace={'"glad" if cold == spunky else "sorry"': "cold == spunky"},
)


@feeling.mistake("It is the same word for every scene. Make somebody sorry on the board first, then somebody glad.")
def always_glad(water, cold, spunky):
    return "glad"


feeling.slip("always_sorry", of=always_glad, replace={'"glad"': '"sorry"'}, form_of=always_glad)


quiz_hidden = question(
    exercises.quiz_hidden,
    right="B",
    wrong={
        "A": "The inputs you see are drawn once and shipped with the course; grading draws others, so fitting the shown ones is no help.",
        "C": "Grading runs your code again: what you printed, or what a panel once said, is not looked at.",
    },
)
