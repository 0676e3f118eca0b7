"""What is right, and what goes wrong, in `dare` of notebook 10."""

from __future__ import annotations

import math

from autograder.keys.key import Key
from ffnlab.course.exercises import capstone as exercises

dare = Key(exercises.dare)


@dare.truth
def by_counting_equal_kinds(pull):
    """After each pair of pulls: how rarely would equal kinds, which find the rule as often as both together, be so far apart? By the exact sum."""
    found = [0, 0]
    for n in range(1, 21):
        for kind, name in enumerate("AB"):
            found[kind] += int(pull(name))
        total, more = sum(found), max(found)
        ways = sum(math.comb(n, hits) * math.comb(n, total - hits) for hits in range(more, min(n, total) + 1))
        if found[0] != found[1] and 2 * ways / math.comb(2 * n, total) < 0.03:
            return "A" if found[0] > found[1] else "B"
    return None


@dare.base
@dare.right("it stops at a lead of seven")
def lead_of_seven(pull):
    lead = 0
    for _ in range(20):
        lead += pull("A") - pull("B")
        if abs(lead) >= 7:
            return "A" if lead > 0 else "B"
    return None


@dare.right("it looks after ten pulls of each, and again at the end")
def two_looks(pull):
    a = [pull("A") for _ in range(10)]
    b = [pull("B") for _ in range(10)]
    lead = sum(a) - sum(b)
    if abs(lead) < 6:
        for _ in range(10):
            lead += int(pull("A"))
            lead -= int(pull("B"))
        if abs(lead) < 8:
            return None
    if lead > 0:
        return "A"
    return "B"


@dare.right("the difference in units of its standard error")
def in_standard_errors(pull):
    a, b = [], []
    while len(a) < 20:
        a.append(int(pull("A")))
        b.append(int(pull("B")))
        n = len(a)
        share = (sum(a) + sum(b) + 1) / (2 * n + 2)
        error = math.sqrt(2 * share * (1 - share) / n)
        if n >= 5 and abs(sum(a) - sum(b)) / n > 2.5 * error:
            return "A" if sum(a) > sum(b) else "B"
    return None


@dare.mistake(
    "Your strategy looks only when all pulls are made. It is right, but kinds that are far apart can be told sooner: look at the lead after each "
    "pair of pulls, and stop where it is large enough."
)
def looks_at_the_end(pull):
    lead = sum(pull("A") for _ in range(20)) - sum(pull("B") for _ in range(20))
    if abs(lead) < 7:
        return None
    return "A" if lead > 0 else "B"


@dare.mistake(
    "Your strategy looks when all pulls are made, and its bound is too low: equal kinds are so far apart in more than 8 of 100 games. Ask for a larger lead."
)
def low_bound_at_the_end(pull):
    a, b = 0, 0
    for _ in range(20):
        a += pull("A")
        b += pull("B")
    if abs(a - b) <= 3:
        return None
    return "AB"[a < b]


@dare.mistake(
    "Only one lever is pulled, so nothing is compared. A kind that finds the rule in half of its runs may be the better one, or the worse."
)
def one_lever(pull):
    found = sum(pull("A") for _ in range(20))
    if found > 13:
        return "A"
    if found < 7:
        return "B"
    return None


@dare.mistake(
    "One pull of each is too few. Kinds that are far apart are often level then, and equal kinds often are not."
)
def one_pull_each(pull):
    a, b = pull("A"), pull("B")
    return None if a == b else "A" if a else "B"


@dare.mistake(
    "The kind that is ahead is named, however small its lead. Of two equal kinds one is ahead most of the time, also after ten or twenty pulls. "
    "How large a lead do equal kinds seldom reach?"
)
def whoever_is_ahead(pull):
    a = sum(pull("A") for _ in range(20))
    b = sum(pull("B") for _ in range(20))
    return "A" if a > b else "B"


@dare.form(whoever_is_ahead)
def ahead_after_ten(pull):
    a = [pull("A") for _ in range(10)]
    b = [pull("B") for _ in range(10)]
    if sum(a) > sum(b):
        return "A"
    if sum(b) > sum(a):
        return "B"
    return None


@dare.mistake("No lever is pulled, so nothing is known of either kind. Half of such answers are right, by luck.")
def no_pull(pull):
    return "A"


@dare.mistake("You pull a lever more than 20 times. There are no more than 20 runs of each kind.")
def thirty_pulls(pull):
    lead = sum(pull("A") - pull("B") for _ in range(30))
    if abs(lead) < 9:
        return None
    return "A" if lead > 0 else "B"


@dare.mistake(
    "It names the better of two kinds that are far apart in fewer than nine of ten games. A strategy that always says None is never wrong, and never finds "
    "anything out. Ask for a smaller lead, or use more of the twenty pulls."
)
def never(pull):
    for _ in range(20):
        pull("A"), pull("B")
    return None


@dare.form(never)
def too_careful(pull):
    lead = sum(pull("A") for _ in range(20)) - sum(pull("B") for _ in range(20))
    if abs(lead) < 14:
        return None
    return "A" if lead > 0 else "B"


dare.slips("""
in if abs(lead) >= 7:
stops_at_four: if abs(lead) >= 4:
    Your strategy stops as soon as the lead is large, and for equal kinds the bound is too low: the lead wanders, and you look twenty times. Which lead do equal
    kinds seldom reach at any of these looks?
| stops_at_five: if abs(lead) >= 5:
stops_at_two: if abs(lead) >= 2:
    Your strategy stops at the first small lead. Of two equal kinds, one gets so far ahead sooner or later, so you name one of them nearly every time.
| stops_at_one: if abs(lead) >= 1:
| stops_at_a_difference: if lead != 0:
stops_at_three: if abs(lead) >= 3:
    Your strategy stops at a lead of about three. Equal kinds reach that in every second game, because the lead wanders and you wait for it.
signs_swapped: "A" if lead > 0 else "B" -> "B" if lead > 0 else "A"
    The two kinds are swapped: you name the worse one. The better kind is the one that finds the rule more often.
""")
