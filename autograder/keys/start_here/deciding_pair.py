"""What is right, and what goes wrong, in `deciding_pair` of notebook 00."""

from __future__ import annotations

import itertools

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import start_here as exercises

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


deciding_pair.slips("""
|| one_at_a_time | all_but_the_last
  - i, j = [k for k in range(n) if ask([m == k for m in range(n)]) != equal]
  + found = [k for k in range(n - 1) if ask([m == k for m in range(n)]) != equal]
  + i, j = (*found, n - 1)[:2]
of one_at_a_time
in return i, j, equal
larger_first_one_at_a_time: return j, i, equal
    The two numbers come in the other order: the smaller one is first. You also ask about one property at a time.
of base
in return min(one, other), max(one, other), equal
larger_first: return max(one, other), min(one, other), equal
    The two numbers come in the other order: the smaller one is first.
in_any_order: return one, other, equal
    The two numbers come in the wrong order where the first one that you find is the larger: the smaller one is first.
|| other_in_any_order: one, other -> other, one
pair_in_a_pair: return (min(one, other), max(one, other)), equal
    The two numbers are in a tuple of their own. The three things are asked for side by side.
printed: print(one, other)
    NO_RETURN
in , equal
without_the_feeling:
    Two numbers come back. The third thing is missing: what the creature feels where both of them are False.
always_glad: , "glad"
    You return glad for every world. In half of them the creature is sorry where both are False.
feeling_where_they_differ: , "sorry" if equal == "glad" else "glad"
    You return the feeling of scenes in which the two differ. What counts is the feeling where they are equal, as in the scene with nothing but False.
true_or_false: , equal == "glad"
    True or False comes back for the feeling. The word itself is asked for: `"glad"` or `"sorry"`.
in min(one, other), max(one, other), equal
counted_from_one: min(one, other) + 1, max(one, other) + 1, equal
    Your numbers are one too large: the first property has the number 0.
as_list: [min(one, other), max(one, other), equal]
    A list comes back. A tuple is asked for: two numbers and a word, with commas between them.
asks_again: = equal for b -> = ask([False] * n) for b
    You ask about the scene without any True more than once. Its answer does not change: keep the first.
in if b != top and ask([k >> top & 1 and k >> b & 1 for k in range(n)]) != equal:
all_digits_again: if ask([k >> top & 1 and k >> b & 1 for k in range(n)]) != equal and b != top:
    In the second half you ask about all digits. You know already that one of the two has a 1 at the digit that you chose.
| difference_alone | second_half_of_all: if b != top and ask([k >> b & 1 for k in range(n)]) != equal:
base_is_not_asked: ask([False] * n) -> "glad"
    You take it that the creature is glad where both are False. In half of the worlds it is sorry, so ask.
""")
