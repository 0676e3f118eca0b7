"""The marking guide of notebook 00, Start here."""

from __future__ import annotations

import itertools

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


deciding_pair = Key(exercises.deciding_pair)


@deciding_pair.truth
def by_elimination(ask, n):
    """Lists all worlds and strikes out those that another answer would fit. After the digits the pairs that are left have no number in common."""
    other = {"glad": "sorry", "sorry": "glad"}
    worlds = [(i, j, equal) for i, j in itertools.combinations(range(n), 2) for equal in other]

    def left(scene):
        answer = ask(scene)
        return [(i, j, equal) for i, j, equal in worlds if (equal if scene[i] == scene[j] else other[equal]) == answer]

    worlds = left([False] * n)
    for digit in range(n.bit_length() - 1):
        worlds = left([k >> digit & 1 for k in range(n)])
    while len(worlds) > 1:
        half = [i for i, _, _ in worlds[: len(worlds) // 2]]
        worlds = left([k in half for k in range(n)])
    return worlds[0]


@deciding_pair.base
def by_digits(ask, n):
    digits = range(n.bit_length() - 1)
    equal = ask([False] * n)
    differ = [ask([k >> b & 1 for k in range(n)]) != equal for b in digits]
    top = differ.index(True)
    one = 1 << top
    for b in digits:
        if b != top and ask([k >> top & 1 and k >> b & 1 for k in range(n)]) != equal:
            one += 1 << b
    other = one ^ sum(1 << b for b in digits if differ[b])
    return min(one, other), max(one, other), equal


@deciding_pair.right("blocks of half the size each time, then a search among the upper ones")
def halves_of_halves(ask, n):
    equal = ask([False] * n)
    sizes = [n >> step for step in range(1, n.bit_length())]
    apart = {size: ask([k // size % 2 == 1 for k in range(n)]) != equal for size in sizes}
    first = max(size for size in sizes if apart[size])
    upper = {k for k in range(n) if k // first % 2}
    for size in sizes:
        if size != first:
            chosen = {k for k in upper if k // size % 2}
            upper = chosen if ask([k in chosen for k in range(n)]) != equal else upper - chosen
    larger = upper.pop()
    smaller = larger - sum(size if larger // size % 2 else -size for size in sizes if apart[size])
    return smaller, larger, equal


@deciding_pair.right("scenes are tensors")
def scenes_are_tensors(ask, n):
    k = torch.arange(n)
    equal = ask(torch.zeros(n, dtype=torch.bool))
    bits = 2 ** torch.arange(n.bit_length() - 1)
    difference = sum(int(b) for b in bits if ask((k & b) > 0) != equal)
    top = difference & -difference
    one = top
    for b in bits.tolist():
        if b != top and ask(((k & b) > 0) & ((k & top) > 0)) != equal:
            one += b
    return min(one, one ^ difference), max(one, one ^ difference), equal


@deciding_pair.right("a search among those with a 1 at the digit")
def searches_a_list(ask, n):
    def changes(chosen):
        return ask([k in chosen for k in range(n)]) != equal

    equal = ask([False] * n)
    difference = 0
    for b in range(n.bit_length() - 1):
        if changes([k for k in range(n) if k >> b & 1]):
            difference |= 1 << b
    highest = difference.bit_length() - 1
    possible = [k for k in range(n) if k >> highest & 1]
    while len(possible) > 1:
        half = possible[: len(possible) // 2]
        possible = half if changes(half) else possible[len(half) :]
    return possible[0] ^ difference, possible[0], equal


@deciding_pair.mistake(
    "You change one property at a time. Then most answers tell you what you expected, and so they tell you little. Make half of the properties True at once."
)
def one_at_a_time(ask, n):
    equal = ask([False] * n)
    i, j = [k for k in range(n) if ask([m == k for m in range(n)]) != equal]
    return i, j, equal


@deciding_pair.form(one_at_a_time)
def until_both_are_found(ask, n):
    equal = ask([False] * n)
    found = []
    for k in range(n):
        scene = [False] * n
        scene[k] = True
        if ask(scene) != equal:
            found.append(k)
        if len(found) == 2:
            return found[0], found[1], equal


@deciding_pair.form(one_at_a_time)
def all_but_the_last(ask, n):
    equal = ask([False] * n)
    found = [k for k in range(n - 1) if ask([m == k for m in range(n)]) != equal]
    i, j = (*found, n - 1)[:2]
    return i, j, equal


@deciding_pair.form(one_at_a_time)
def first_then_second(ask, n):
    equal = ask([False] * n)
    growing = [False] * n
    found = []
    before = equal
    for k in range(n):
        growing[k] = True
        now = ask(growing)
        if now != before:
            found.append(k)
        before = now
    return found[0], found[1], equal


@deciding_pair.mistake(
    "Your search is one for a single property. Where both are in the same half, the feeling does not change, and you look in the wrong half."
)
def search_for_one(ask, n):
    equal = ask([False] * n)
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if ask([low <= k < middle for k in range(n)]) != equal:
            high = middle
        else:
            low = middle
    i = low
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if ask([middle <= k < high for k in range(n)]) != equal:
            low = middle
        else:
            high = middle
    return min(i, low), max(i, low), equal


@deciding_pair.mistake(
    "Your questions tell in which digits the two numbers differ, and no more. Many pairs differ in the same ones. Choose one of the digits, "
    "and make only properties True that have a 1 there: one of the two is among them, and the other is not."
)
def difference_alone(ask, n):
    equal = ask([False] * n)
    difference = 0
    for b in range(n.bit_length() - 1):
        if ask([k >> b & 1 for k in range(n)]) != equal:
            difference += 1 << b
    return 0, difference, equal


deciding_pair.slip(
    "larger_first",
    "The two numbers come in the other order: the smaller one is first.",
    replace={"min(one, other), max(one, other)": "max(one, other), min(one, other)"},
)
deciding_pair.slip(
    "in_any_order",
    "The two numbers come in the wrong order where the first one that you find is the larger: the smaller one is first.",
    replace={"min(one, other), max(one, other)": "one, other"},
)
deciding_pair.slip(
    "other_in_any_order", replace={"min(one, other), max(one, other)": "other, one"}, form_of="in_any_order"
)
deciding_pair.slip(
    "without_the_feeling",
    "Two numbers come back. The third thing is missing: what the creature feels where the two properties are equal.",
    replace={"max(one, other), equal": "max(one, other)"},
)
deciding_pair.slip(
    "always_glad",
    "You return glad for every world. In half of them the creature is sorry where the two are equal.",
    replace={"max(one, other), equal": 'max(one, other), "glad"'},
)
deciding_pair.slip(
    "feeling_where_they_differ",
    "You return the feeling of scenes in which the two differ. What counts is the feeling where they are equal, as in the scene with nothing but False.",
    replace={"max(one, other), equal": 'max(one, other), "sorry" if equal == "glad" else "glad"'},
)
deciding_pair.slip(
    "true_or_false",
    'True or False comes back for the feeling. The word itself is asked for: `"glad"` or `"sorry"`.',
    replace={"max(one, other), equal": 'max(one, other), equal == "glad"'},
)
deciding_pair.slip(
    "counted_from_one",
    "Your numbers are one too large: the first property has the number 0.",
    replace={"min(one, other), max(one, other)": "min(one, other) + 1, max(one, other) + 1"},
)
deciding_pair.slip(
    "as_list",
    "A list comes back. A tuple is asked for: two numbers and a word, with commas between them.",
    replace={"return min(one, other), max(one, other), equal": "return [min(one, other), max(one, other), equal]"},
)
deciding_pair.slip(
    "pair_in_a_pair",
    "The two numbers are in a tuple of their own. The three things are asked for side by side.",
    replace={"min(one, other), max(one, other)": "(min(one, other), max(one, other))"},
)
deciding_pair.slip(
    "asks_again",
    "You ask about the scene without any True more than once. Its answer does not change: keep the first.",
    replace={"ask([k >> b & 1 for k in range(n)]) != equal": "ask([k >> b & 1 for k in range(n)]) != ask([False] * n)"},
)
deciding_pair.slip(
    "all_digits_again",
    "In the second half you ask about all digits. You know already that one of the two has a 1 at the digit that you chose.",
    replace={"b != top and ask": "ask", "!= equal:\n": "!= equal and b != top:\n"},
)
deciding_pair.slip(
    "second_half_of_all", replace={"k >> top & 1 and k >> b & 1": "k >> b & 1"}, form_of=difference_alone
)
deciding_pair.slip(
    "base_is_not_asked",
    "You take it that the creature is glad where the two are equal. In half of the worlds it is sorry, so ask.",
    replace={"equal = ask([False] * n)": 'equal = "glad"'},
)
deciding_pair.slip(
    "printed", NO_RETURN, replace={"return min(one, other), max(one, other), equal": "print(one, other)"}
)


quiz_hidden = question(
    exercises.quiz_hidden,
    right="B",
    wrong={
        "A": "The inputs you see are drawn once and shipped with the course; grading draws others, so fitting the shown ones is no help.",
        "C": "Grading runs your code again: what you printed, or what a panel once said, is not looked at.",
    },
)
