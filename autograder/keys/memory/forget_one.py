"""What is right, and what goes wrong, in `forget_one` of notebook 06."""

from __future__ import annotations

import copy
from itertools import combinations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import memory as exercises

forget_one = Key(exercises.forget_one, namespace={"copy": copy, "combinations": combinations})


@forget_one.truth
def everybody_is_asked(ffn, E, U, y, n):
    """Every group of the twelve strongest, the smallest first: a copy of the FFN without it is asked all questions."""
    h = torch.relu(ffn.linear1(E[n]))
    strongest = sorted(range(len(h)), key=lambda j: -float(h[j] * (ffn.linear2.weight[:, j] @ U[y[n]])))[:12]
    for size in range(1, 5):
        for group in combinations(strongest, size):
            silenced = copy.deepcopy(ffn)
            silenced.linear2.weight.data[:, list(group)] = 0
            answers = ((E + silenced(E)) @ U.T).argmax(1)
            if [m for m in range(len(E)) if answers[m] != y[m]] == [n]:
                return list(group)
    return []


@forget_one.base
@forget_one.right("groups of the ten that add most, by subtraction")
def by_subtraction(ffn, E, U, y, n):
    with torch.no_grad():
        h = torch.relu(ffn.linear1(E))
        pushes = ffn.linear2.weight.T @ U.T
        scores = (E + ffn(E)) @ U.T
        order = (h[n] * pushes[:, y[n]]).argsort(descending=True).tolist()
        for size in (1, 2, 3, 4):
            for group in combinations(order[:10], size):
                out = list(group)
                lost = (scores - h[:, out] @ pushes[out]).argmax(1) != y
                if lost[n] and lost.sum() == 1:
                    return out
        return []


@forget_one.right("the group with the fewest others, out of all that fire enough")
@torch.no_grad()
def fewest_others(ffn, E, U, y, n):
    h = ffn.activation(ffn.linear1(E))
    W2 = ffn.linear2.weight
    added = h[n] * (U[y[n]] @ W2)
    candidates = added.topk(13).indices
    best, best_others = None, len(E)
    for size in range(4, 0, -1):
        for places in combinations(range(13), size):
            out = candidates[list(places)]
            kept = h.clone()
            kept[:, out] = 0
            wrong = ((E + kept @ W2.T + ffn.linear2.bias) @ U.T).argmax(dim=1) != y
            others = int(wrong.sum()) - int(wrong[n])
            if wrong[n] and others < best_others:
                best, best_others = out, others
    return best


@forget_one.right("drawn at random until it fits, as a tensor")
def at_random(ffn, E, U, y, n):
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        h, pushes = torch.relu(ffn.linear1(E)), ffn.linear2.weight.T @ U.T
        scores = (E + ffn(E)) @ U.T
        strongest = (h[n] * pushes[:, y[n]]).topk(10).indices
        while True:
            size = int(torch.randint(1, 5, (1,), generator=generator))
            out = strongest[torch.randperm(10, generator=generator)[:size]]
            lost = (scores - h[:, out] @ pushes[out]).argmax(1) != y
            if lost[n] and lost.sum() == 1:
                return out


@forget_one.right("a search that goes deeper, neuron by neuron")
def deeper_and_deeper(ffn, E, U, y, n):
    h, pushes = torch.relu(ffn.linear1(E)).detach(), (ffn.linear2.weight.T @ U.T).detach()
    order = (h[n] * pushes[:, y[n]]).argsort(descending=True).tolist()[:12]

    def search(scores, out, rest):
        lost = scores.argmax(1) != y
        if lost[n] and lost.sum() == 1:
            return out
        if len(out) == 4:
            return None
        for place, j in enumerate(rest):
            found = search(scores - h[:, j, None] * pushes[j], [*out, j], rest[place + 1 :])
            if found:
                return found
        return None

    return search(((E + ffn(E)) @ U.T).detach(), [], order)


forget_one.slips("""
in
  - for size in (1, 2, 3, 4):
  -     for group in combinations(order[:10], size):
  -         out = list(group)
  -         lost = (scores - h[:, out] @ pushes[out]).argmax(1) != y
  -         if lost[n] and lost.sum() == 1:
  -             return out
strongest_first
  + for m in range(1, len(order)):
  +     out = order[:m]
  +     if (scores - h[:, out] @ pushes[out])[n].argmax() != y[n]:
  +         return out
    Person n has forgotten, but others have too. The first group that makes n forget was taken, such as the strongest neurons one after the other. Ask
    everybody after each choice, and go on to the next group if n is not the only one.
|| others_not_counted
  - for m in range(1, len(order)):
  -     out = order[:m]
  -     if (scores - h[:, out] @ pushes[out])[n].argmax() != y[n]:
  -         return out
  + for size in (1, 2, 3, 4):
  +     for group in combinations(order[:10], size):
  +         out = list(group)
  +         if (scores - h[:, out] @ pushes[out])[n].argmax() != y[n]:
  +             return out
the_four_strongest: return order[:4]
    These are the four strongest neurons. They make n forget, and others as well. Choose among the strongest, and ask everybody after each choice.
the_strongest: return order[:1]
    Without this neuron alone person n still knows the answer. Try groups of up to four, and ask both of each group: has n forgotten, and nobody else?
|| n_is_forgotten_about
  - return order[:1]
  + for j in order[:10]:
  +     if ((scores - h[:, [j]] @ pushes[[j]]).argmax(1) != y).sum() <= 1:
  +         return [j]
that_fire_most: return h[n].topk(4).indices.tolist()
    These are the neurons that fire most for n. Look for those that add most to the score of n's answer: h_j times how far the value points there.
values_that_point_there: return pushes[:, y[n]].topk(4).indices.tolist()
    These are the neurons whose values point most towards n's answer, whether they fire for n or not. Multiply by h_j, and choose among the strongest.
all_that_fire: return (h[n] > 0).nonzero()[:, 0].tolist()
    These are all neurons that fire for n, more than four. Most of them serve others, too.
the_eight_strongest: return order[:8]
    More than four neurons are out. With so many gone others forget as well; four or fewer will do.
nothing_out: return []
    The list is empty: with all neurons in, nobody forgets. If your search found no group, try more neurons than the few strongest, and groups of up to four.
no_return: return None
    Nothing came back. Either `return` is missing, or no group passed your test. In the test, n belongs to those who have forgotten, and may not be
    counted among the others.
a_mask
  + mask = torch.zeros(len(pushes), dtype=torch.bool)
  + mask[order[:3]] = True
  + return mask
    A mask of True and False came back. The numbers of the neurons are asked for.
contributions: return (h[n] * pushes[:, y[n]]).topk(3).values
    Contributions came back, numbers with decimals. The numbers of the neurons are asked for: the indices.
a_module
  + other = copy.deepcopy(ffn)
  + other.linear2.weight.data[:, order[:3]] = 0
  + return other
    A module came back. The numbers of the neurons are asked for, as a list.
""")


@forget_one.mistake(
    "The neurons are right, but `ffn` has lost weights on the way. Try each group on `copy.deepcopy(ffn)`, or put the column back after each try."
)
def in_place(ffn, E, U, y, n):
    h = torch.relu(ffn.linear1(E[n]))
    order = (h * (U[y[n]] @ ffn.linear2.weight)).argsort(descending=True).tolist()
    weight = ffn.linear2.weight.data.clone()
    for size in (1, 2, 3, 4):
        for group in combinations(order[:10], size):
            ffn.linear2.weight.data.copy_(weight)
            ffn.linear2.weight.data[:, list(group)] = 0
            lost = ((E + ffn(E)) @ U.T).argmax(1) != y
            if lost[n] and lost.sum() == 1:
                return list(group)
    return []
