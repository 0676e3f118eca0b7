"""What is right, and what goes wrong, in `reach_star` of notebook 01.

Many weights and many directions are right, so the truth is one of them and the facts say what all have in common.
"""

from __future__ import annotations

import math

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import attention as exercises

reach_star = Key(exercises.reach_star)


@reach_star.truth
def nearest_mix_of_any_few_words(V, star):
    """The nearest mix to the star among those of each subset of words (Carathéodory: few words are enough), then the arrow from it to the star."""
    S, d = V.shape
    best, weights = math.inf, None
    for chosen in range(1, 2**S):
        few = [s for s in range(S) if chosen >> s & 1]
        if len(few) > d + 1:
            continue
        # the affine combination of these words that is nearest: the last weight is 1 minus the others
        base, ways = V[few[-1]], (V[few[:-1]] - V[few[-1]]).T
        part = (
            torch.linalg.lstsq(ways, (star - base)[:, None], driver="gelsd").solution[:, 0]
            if len(few) > 1
            else V.new_zeros(0)
        )
        mixed = torch.cat([part, 1 - part.sum().reshape(1)])
        far = (mixed @ V[few] - star).norm().item()
        if mixed.min() >= -1e-9 and far < best:
            best = far
            weights = V.new_zeros(S)
            weights[few] = mixed.clamp(min=0)
    if best < 1e-3:
        return weights / weights.sum(), None
    return None, star - weights @ V


@reach_star.base
def from_the_last_to_the_first(V, star):
    weights = torch.full((len(V),), 1 / len(V), dtype=V.dtype)
    for _ in range(300):
        arrow = star - weights @ V
        along = V @ arrow
        best = along.argmax()
        worst = along.masked_fill(weights <= 0, math.inf).argmin()
        way = V[best] - V[worst]
        if arrow.norm() < 1e-3 or arrow @ way < 1e-9:
            break
        share = torch.minimum(arrow @ way / (way @ way), weights[worst])
        weights[best] += share
        weights[worst] -= share
    arrow = star - weights @ V
    if arrow.norm() < 0.05:
        return weights, None
    return None, arrow


@reach_star.right("the scores of a softmax, moved along the gradient: words that are ahead get more")
def more_for_those_ahead(V, star):
    w = torch.full((len(V),), 1 / len(V), dtype=V.dtype)
    for _ in range(1500):
        w = w * torch.exp(0.2 * V @ (star - w @ V))
        w = w / w.sum()
    left = star - w @ V
    return (w, None) if left.norm() < 0.05 else (None, left)


@reach_star.right("gradient descent on weights that are put back to sum 1 and not below 0")
def projected_descent(V, star):
    def allowed(w):
        ordered = torch.sort(w, descending=True).values
        over = (torch.cumsum(ordered, 0) - 1) / torch.arange(1, len(w) + 1)
        k = int((ordered > over).sum())
        return torch.clamp(w - over[k - 1], min=0)

    w = torch.full((len(V),), 1 / len(V), dtype=V.dtype)
    step = 1 / (torch.linalg.matrix_norm(V, 2) ** 2 + 1e-9)
    for _ in range(500):
        w = allowed(w + step * (V @ (star - w @ V)))
    left = star - w @ V
    if left.norm() < 0.05:
        return w.tolist(), None
    return None, left.tolist()


@reach_star.right("a perceptron: it looks for a direction, and the words on which it stumbles are the weights")
def wall_by_perceptron(V, star):
    """A perceptron looks for a direction; the words on which it stumbles, counted, are the weights."""
    ways = star - V
    counts = torch.zeros(len(V), dtype=V.dtype)
    counts[0] = 1
    for _ in range(5000):
        u = counts @ ways / counts.sum()
        if u.norm() < 0.04:
            return counts / counts.sum(), None
        if (ways @ u).min() > 0:
            return None, u
        counts[(ways @ u).argmin()] += 1
    return counts / counts.sum(), None


reach_star.slips("""
pair_the_wrong_way_round
  - return weights, None
  + return None, weights
  - return None, arrow
  + return arrow, None
    The pair is the wrong way round: first the weights, then the direction.
only_one_comes_back
  - return weights, None
  + return weights
  - return None, arrow
  + return arrow
    Only one of the two came back. Return a pair: `(weights, None)` for a star that can be reached, `(None, direction)` for another.
always_both
  - return weights, None
  + return weights, arrow
  - return None, arrow
  + return weights, arrow
    Weights and a direction came back together. For each star one of them is true: return `None` for the other.
""")


@reach_star.mistake(
    "You solve for any numbers that sum to 1, also negative ones. A weight below 0 pushes the dot away from its word, and out of the hull. Nothing in "
    "attention can subtract a word."
)
def negative_weights_allowed(V, star):
    table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
    weights = torch.linalg.lstsq(table, goal[:, None], driver="gelsd").solution[:, 0]
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - weights @ V


@reach_star.mistake(
    "The weights are solved for once, and what is below 0 is cut off. That moves the mix, so it is not the nearest one any more: other weights, none of "
    "them below 0, may reach the star. And the arrow from the mean of the words to the star proves nothing."
)
def cut_off_and_stretched(V, star):
    table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
    weights = torch.linalg.lstsq(table, goal[:, None], driver="gelsd").solution[:, 0].clamp(min=0)
    weights = weights / weights.sum()
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - V.mean(dim=0)


@reach_star.mistake(
    "The weights are solved for once, and what is below 0 is cut off. That moves the mix, so it is not the nearest one any more. "
    "Another mix may be on the star, and the arrow from this one proves nothing."
)
def cut_off_and_normalised(V, star):
    table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
    weights = (torch.linalg.pinv(table) @ goal).clamp(min=0)
    weights = weights / weights.sum()
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - weights @ V


@reach_star.mistake(
    "Three words in general position are taken for granted. `torch.linalg.solve` needs exactly three words of two numbers each that do not lie on one line; "
    "there may be one word or six, and two may be at the same place."
)
def exactly_three_words(V, star):
    table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    weights = torch.linalg.solve(table, torch.cat([star, torch.ones(1, dtype=V.dtype)]))
    if weights.min() >= -1e-9:
        return weights.clamp(min=0), None
    clipped = weights.clamp(min=0) / weights.clamp(min=0).sum()
    return None, star - clipped @ V


_EVEN = "weights = torch.full((len(V),), 1 / len(V), dtype=V.dtype)"
_REACHED = "if arrow.norm() < 0.05:"


@reach_star.mistake(
    "Words that are near the star get more weight. That is a mix, but nothing makes it land on the star: the weights have to be solved for, or learned."
)
def softmax_of_nearness(V, star):
    weights = torch.softmax(-(V - star).norm(dim=1), dim=0)
    left = star - weights @ V
    return (weights, None) if left.norm() < 0.05 else (None, left)


@reach_star.mistake(
    "This is least squares, which only brings the mix near the star. Weights in attention have two rules more: none is below 0, and they sum to 1."
)
def plain_least_squares(V, star):
    weights = torch.linalg.lstsq(V.T, star[:, None], driver="gelsd").solution[:, 0]
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - weights @ V


reach_star.slips("""
in None, arrow
arrow_from_the_mean: None, star - V.mean(dim=0)
    The direction is the arrow from the mean of the words to the star. Where the words lie in a long row, a word can be as far along that arrow as the
    star. From which mix must the arrow start, so that no word is ahead?
arrow_from_the_nearest_word: None, star - V[(V - star).norm(dim=1).argmin()]
    The direction is the arrow from the nearest word to the star. A mix of several words can be nearer than any of them: the arrow has to start there.
arrow_turned_round: None, -arrow
    The direction points from the star to the words, so the star is behind all of them. Turn it round.
None_without_a_reason: None, None
    A star that can't be reached asks for its reason: a direction in which it is ahead of every word. `None` alone proves nothing.
the_nearest_weights_for_every_star: arrow.norm() < 0.05 -> True
    Weights come back for every star, the nearest there are. Where they miss the star, say so: `None` in their place, and a direction.
triples_in_general_position
  - def reach_star(V, star):
  + def reach_star(V, star):
  +     for i in range(len(V)):
  +         for j in range(i):
  +             for k in range(j):
  +                 three = [i, j, k]
  +                 table = torch.cat([V[three].T, torch.ones(1, 3, dtype=V.dtype)])
  +                 if len(table) == 3 and torch.linalg.det(table).abs() > 1e-9:
  +                     part = torch.linalg.solve(table, torch.cat([star, torch.ones(1, dtype=V.dtype)]))
  +                     if part.min() > -1e-9:
  +                         weights = torch.zeros(len(V), dtype=V.dtype)
  +                         weights[three] = part.clamp(min=0)
  +                         return weights, None
  - arrow.norm() < 0.05
  + False
    All triples of words are tried, and triples on one line are skipped. Words that all lie on one line, or fewer than three of them, have mixes as
    well.
inside_the_box
  - def reach_star(V, star):
  + def reach_star(V, star):
  +     low, high = V.min(dim=0).values, V.max(dim=0).values
  +     if (star < low - 1e-9).any() or (star > high + 1e-9).any():
  +         return None, (star > high).to(V.dtype) - (star < low).to(V.dtype)
  - arrow.norm() < 0.05
  + True
    This tests the coordinate axes, one after the other, and so the box around the words. A star can be in that box and still outside of the words: then
    no axis shows it, but a slanted direction does.
| axes_then_least_squares
  - def reach_star(V, star):
  + def reach_star(V, star):
  +     for i in range(len(star)):
  +         for sign in (1.0, -1.0):
  +             axis = torch.zeros_like(star)
  +             axis[i] = sign
  +             if (star @ axis > V @ axis).all():
  +                 return None, axis
  +     table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
  +     goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
  +     return torch.linalg.pinv(table) @ goal, None
| axes_then_cut_off
  - def reach_star(V, star):
  + def reach_star(V, star):
  +     low, high = V.min(dim=0).values, V.max(dim=0).values
  +     if (star < low - 1e-9).any() or (star > high + 1e-9).any():
  +         return None, (star > high).to(V.dtype) - (star < low).to(V.dtype)
  +     table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
  +     goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
  +     cut_off = (torch.linalg.pinv(table) @ goal).clamp(min=0)
  +     return cut_off / cut_off.sum(), None
|| cut_off_and_normalised | cut_off_without_the_sum
  - table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
  - goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
  - weights = (torch.linalg.pinv(table) @ goal).clamp(min=0)
  + weights = (torch.linalg.pinv(V.T) @ star).clamp(min=0)
|| cut_off_and_normalised | cut_off_and_left_so: weights = weights / weights.sum() ->
below_zero_means_out_of_reach
  - def reach_star(V, star):
  + def reach_star(V, star):
  +     table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
  +     goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
  +     weights = torch.linalg.pinv(table) @ goal
  +     arrow = star - weights @ V
  +     return (weights.clamp(min=0), None) if arrow.norm() < 0.05 and weights.min() > -1e-9 else (None, arrow)
    You solve once, and call a star out of reach if a weight comes out below 0. Other weights, none of them below 0, may reach it all the same. And if
    they don't, the arrow from your mix
    proves nothing: your mix is on the star.
|| softmax_of_nearness | softmax_of_nearness_for_every_star
  - (weights, None) if left.norm() < 0.05 else (None, left)
  + weights, None
|| plain_least_squares | plain_least_squares_for_every_star: (weights @ V - star).norm() < 0.05 -> True
star_not_returned
  - return weights, None
  + weights, None
  - return None, arrow
  + None, arrow
    NO_RETURN
""")
