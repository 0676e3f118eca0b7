"""What is right, and what goes wrong, in `two_heads` of notebook 01.

Many heads are right, so the truth is one pair of them and the facts say what all have in common.
"""

from __future__ import annotations

import math

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import attention as exercises

two_heads = Key(exercises.two_heads)


@two_heads.truth
def between_the_two_bounds(largest):
    """Each head finds two words. Where it finds one of them, softmax gives e^largest parts of 1 to one part of −v: v is between 1 and e^largest."""
    v = math.exp(min(largest, 2) / 2)
    scores = [[largest, 0.0, largest, 0.0], [0.0, largest, 0.0, largest]]
    values = [[1.0, -v, 1.0, -v], [-v, 1.0, -v, 1.0]]
    return torch.tensor(scores, dtype=torch.float64), torch.tensor(values, dtype=torch.float64)


@two_heads.base
def creek_and_cold_lawn_and_warm(largest):
    v = math.exp(largest / 2)
    scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]])
    values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
    return scores, values


@two_heads.right("heads for cold lawns and warm creeks, with values turned round, as lists")
def the_other_pairs(largest):
    low = 10 * math.exp(0.6 * min(largest, 3))
    first = [largest, 0, 0, largest], [-10, low, low, -10]
    second = [0, largest, largest, 0], [low, -10, -10, low]
    return [first[0], second[0]], [first[1], second[1]]


@two_heads.right("one head that looks, and one whose scores are equal, so that its words vote")
def one_looks_and_one_votes(largest):
    share = math.exp(largest) / (1 + math.exp(largest))
    lead = 2 * share - 1  # of a word that is found over one that is not
    scores = torch.zeros(2, 4)
    scores[0, [0, 2]] = largest
    finds = torch.tensor([1.0, -1.0, 1.0, -1.0])
    votes = torch.tensor([-1 - lead / 2, 1 - lead / 2, -1 - lead / 2, 1 - lead / 2])
    return scores, 100 * torch.stack([finds, votes])


@two_heads.right("values found by a perceptron, with scores set by hand")
def by_perceptron(largest):
    scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]], dtype=torch.float64)
    values = torch.zeros(2, 4, dtype=torch.float64)
    pairs = [((0, 2), -1), ((0, 3), 1), ((1, 2), 1), ((1, 3), -1)]
    wrong = True
    while wrong:
        wrong = False
        for words, sign in pairs:
            weights = torch.zeros(2, 4, dtype=torch.float64)
            weights[:, list(words)] = torch.softmax(scores[:, list(words)], dim=1)
            if sign * (weights * values).sum() <= 0.02:
                values += sign * weights
                wrong = True
    return scores, values


two_heads.slip(
    "the_same_values_for_all",
    "one v for every `largest`: more than 1, and less than e^0.1",
    kind="right",
    replace={"v = math.exp(largest / 2)": "v = 1.05"},
)


two_heads.slips("""
in v = math.exp(largest / 2)
only_for_hard_looks: v = 1.5
    Your heads are right while a score may be far above another, so that a head sees one word alone. With small scores it only leans towards its
    words. Work out the mix for a small
    `largest`: how much may a word that it does not look for take away?
|| two_for_hard_looks: 1.5 -> 2
|| three_for_hard_looks: 1.5 -> 3
|| ten_for_hard_looks: 1.5 -> 10
no_more_than_one: v = 1
    For a cold creek and a warm lawn the two heads cancel, and their sum is 0. What a head hands over where it finds no word of its own has to weigh
    more than what it hands over
    where it finds two.
the_upper_bound: v = math.exp(largest)
    Where each head finds one word, its sum is 0. You have found the largest v with which that is not over. Choose a smaller one.
nothing_where_nothing_is_found: v = 0
    No sum is below 0, so your heads never say over. Something has to count against into: what could a head hand over where it finds none of its words?
| counted_and_none_taken_away: v = -0.5
| one_word_each
  - scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]])
  + scores = torch.tensor([[largest, 0, 0, 0], [0, 0, largest, 0]])
  - values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
  + values = torch.tensor([[1.0, 0, 0, 0], [0, 0, 1, 0]])
far_too_much_taken_away: v = math.exp(3 * largest) + 10
    No sum is above 0, so your heads never say into. Compare what two heads bring that find one word each with what they bring where one of them finds both.
| only_below_zero: values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]]) -> values = torch.tensor([[-1.0, 0, -1, 0], [0, -1, 0, -1]])
| swapped_and_no_more_than_one
  - v = math.exp(largest / 2)
  + v = 1
  - values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
  + values = torch.tensor([[-1.0, v, -1, v], [v, -1, v, -1]])
in scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]])
scores_of_any_size: scores = torch.tensor([[50.0, 0, 50, 0], [0, 50, 0, 50]])
    Your scores are above `largest`, which may be small. Let the scores go from 0 to `largest`.
scores_below_zero: scores = torch.tensor([[largest, -largest, largest, -largest], [-largest, largest, -largest, largest]])
    Some scores are below 0. Softmax sees only differences of scores, so you can add the same number to all of them.
equal_scores: scores = torch.tensor([[largest, largest, largest, largest], [largest, largest, largest, largest]])
    Each of your heads has the same weights in all four sentences, so it is a sum of votes. Two sums of votes are one sum of votes. The columns are creek,
    lawn, cold, warm: two places, then two weathers. Let a place and a weather have the larger scores of a head, and not both places.
| all_scores_zero: scores = torch.zeros(2, 4)
| places_and_weathers
  - scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]])
  - values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
  + scores = torch.tensor([[largest, largest, 0, 0], [0, 0, largest, largest]])
  + values = torch.tensor([[1, -1, 0, 0], [0, 0, 1, -1.5]])
the_same_head_twice
  - scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]])
  - values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
  + scores = torch.tensor([[largest, 0, largest, 0], [largest, 0, largest, 0]])
  + values = torch.tensor([[1, -v, 1, -v], [1, -v, 1, -v]])
    Both heads have the same weights in every sentence, so together they are one head, and your `break_head` breaks any single head. Let the second look for
    other words.
the_second_head_idle
  - scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]])
  - values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
  + scores = torch.tensor([[largest, 0, largest, 0], [0, 0, 0, 0]])
  + values = torch.tensor([[1, -v, 1, -v], [0, 0, 0, 0]])
    One of your heads brings 0 in every sentence, so the other is alone, and your `break_head` breaks any single head.
a_place_and_a_weather
  - scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]])
  - values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
  + scores = torch.tensor([[largest, 0, 0, 0], [0, 0, largest, 0]])
  + values = torch.tensor([[1.0, -1, 0, 0], [0, 0, 1, -1]])
    Three sentences are right and one is wrong, which a single head can do as well. Two words that one head finds together have to count for less than one
    word that each of the heads finds. So what should a head do that finds none?
in values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
into_and_over_swapped: values = torch.tensor([[-1, v, -1, v], [v, -1, v, -1]])
    No sentence is right. Above 0 is into, and into is right where exactly one of two things holds, water or cold. Have your signs changed places?
| swapped_for_hard_looks
  - v = math.exp(largest / 2)
  + v = 2
  - values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])
  + values = torch.tensor([[-1, v, -1, v], [v, -1, v, -1]])
in return scores, values
laid_out_the_other_way: return scores.T, values.T
    The tensors are laid out with a row for each word. A row for each head is asked for: [2, 4].
values_first: return values, scores
    The values come first in your pair. Return `(scores, values)`.
one_head_alone: return scores[0], values[0]
    One head came back. Two are asked for, one in each row.
the_scores_alone: return scores
    Only the scores came back. Return a pair: `(scores, values)`.
a_head_in_each_part: return torch.stack([scores[0], values[0]]), torch.stack([scores[1], values[1]])
    Your pair holds a head in each part. Return the scores of both heads first, then the values of both.
the_weights: return torch.softmax(scores, dim=1), values
    Softmax has been applied to all four words already. Return the scores: the check takes the softmax over the two words of each sentence.
nothing_returned: scores, values
    NO_RETURN
""")
