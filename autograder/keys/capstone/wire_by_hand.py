"""What is right, and what goes wrong, in `wire_by_hand` of notebook 10."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import capstone as exercises

wire_by_hand = Key(exercises.wire_by_hand)


@wire_by_hand.truth
def a_neuron_for_each_kind(x, first, second, at, same, different):
    """Four neurons, one for each pair of truth values, by the normal equations."""
    N, T, d = x.shape
    weight = torch.ones(T, dtype=x.dtype)
    weight[at] = 30
    rows = (torch.cat([x, torch.ones(N, T, 1, dtype=x.dtype)], -1) * weight[:, None]).reshape(-1, d + 1)
    push = 10 * (different - same) / (different - same).square().sum()
    W1, b1, W2 = [], [], []
    for one in (True, False):
        for other in (True, False):
            wanted = torch.full((N, T), -3.0, dtype=x.dtype)
            for n in range(N):
                wanted[n, at] = int(first[n] == one) + int(second[n] == other) - 1
            found = torch.linalg.solve(rows.T @ rows + 1e-9 * torch.eye(d + 1), rows.T @ (wanted * weight).reshape(-1))
            W1.append(found[:-1])
            b1.append(found[-1])
            W2.append(-push if one == other else push)
    return torch.stack(W1, 1), torch.stack(b1), torch.stack(W2)


@wire_by_hand.right("one neuron for each way to differ, and one that is always on")
def differs_in_two_ways(x, first, second, at, same, different):
    weight = torch.ones(x.shape[1], 1, dtype=x.dtype)
    weight[at] = 30
    rows = F.pad(x, (0, 1), value=1.0) * weight
    inverse = torch.linalg.pinv(rows.flatten(0, 1))

    def reader(here):
        wanted = torch.full(x.shape[:2], -3.0, dtype=x.dtype)
        wanted[:, at] = here
        return inverse @ (wanted * weight[:, 0]).flatten()

    a, b = first.to(x.dtype), second.to(x.dtype)
    found = torch.stack([reader(a - b), reader(b - a), reader(torch.ones_like(a))], dim=1)
    up = different - same
    up = 20 * up / (up @ up)
    return found[:-1], found[-1], torch.stack([up, up, -up / 2])


@wire_by_hand.right("differences of means, with the noise divided out")
def by_means(x, first, second, at, same, different):
    v, T, d = x[:, at], x.shape[1], x.shape[2]
    effects = torch.stack([(v[truth].mean(0) - v[~truth].mean(0)) / 2 for truth in (first, second)])
    middle = sum(v[truth].mean(0) for truth in (first, ~first, second, ~second)) / 4
    sides = torch.stack([first, second], 1).to(x.dtype) * 2 - 1
    noise = v - middle - sides @ effects
    noise = noise.T @ noise / len(x)
    quiet = torch.linalg.inv(noise + 0.01 * noise.trace() / d * torch.eye(d))
    ways = x.mean(0)[torch.arange(T) != at] - middle
    asked = torch.cat([effects, ways])
    answers = torch.zeros(len(asked), 3, dtype=x.dtype)
    answers[0, 0] = answers[1, 1] = 1
    answers[2:, 2] = -1
    water, cold, here = (quiet @ asked.T @ torch.linalg.pinv(asked @ quiet @ asked.T, rtol=1e-6) @ answers).T
    W1, b1, W2 = [], [], []
    for one in (1, -1):
        for other in (1, -1):
            key = one * water + other * cold + 18 * here
            W1.append(key)
            b1.append(-1 - middle @ key)
            word = same - different if one == other else different - same
            W2.append(20 * word / word.square().sum())
    return torch.stack(W1, -1), torch.stack(b1), torch.stack(W2)


@wire_by_hand.right("two readers that are added, and a loop over the kinks")
def two_readers(x, first, second, at, same, different):
    N, d = len(x), x.shape[-1]
    W1, b1, W2 = torch.zeros(d, 3, dtype=x.dtype), torch.zeros(3, dtype=x.dtype), torch.zeros(3, d, dtype=x.dtype)
    there = x[:, at]
    elsewhere = torch.cat([x[:, :at], x[:, at + 1 :]], 1).reshape(-1, d)
    rows = torch.cat([40 * there, elsewhere])
    ones = torch.cat([torch.full((N,), 40.0, dtype=x.dtype), torch.ones(len(elsewhere), dtype=x.dtype)])
    total = torch.zeros(d + 1, dtype=x.dtype)
    for truth in (first, second):
        wanted = torch.cat([40 * truth.to(x.dtype), torch.full((len(elsewhere),), -1.5, dtype=x.dtype)])
        total += torch.linalg.lstsq(torch.cat([rows, ones[:, None]], 1), wanted[:, None]).solution.squeeze(1)
    step = 12 * (different - same) / (different - same).norm() ** 2
    for n, (kink, times) in enumerate({-1: -1, 0: 3, 1: -4}.items()):
        W1[:, n] = total[:d]
        b1[n] = total[d] - kink
        W2[n] = times * step
    return W1, b1, W2


@wire_by_hand.base
def plain_wires(x, first, second, at, same, different):
    N, T, d = x.shape
    wanted = torch.full((N, T), -3.0, dtype=x.dtype)
    wanted[:, at] = first.to(x.dtype) + second.to(x.dtype)
    weight = torch.ones(T, dtype=x.dtype)
    weight[at] = 30
    rows = torch.cat([x, torch.ones(N, T, 1, dtype=x.dtype)], dim=-1) * weight[:, None]
    found = torch.linalg.lstsq(rows.reshape(-1, d + 1), (wanted * weight).reshape(-1, 1)).solution[:, 0]
    key, offset = found[:-1], found[-1]
    push = 10 * (different - same) / (different - same).square().sum()
    W1 = torch.stack([key, key, key], dim=1)
    b1 = torch.stack([offset + 1, offset, offset - 1])
    W2 = torch.stack([-push, 3 * push, -4 * push])
    return W1, b1, W2


wire_by_hand.slips("""
acts_everywhere
  - rows = torch.cat([x, torch.ones(N, T, 1, dtype=x.dtype)], dim=-1) * weight[:, None]
  - found = torch.linalg.lstsq(rows.reshape(-1, d + 1), (wanted * weight).reshape(-1, 1)).solution[:, 0]
  + rows = torch.cat([x, torch.ones(N, T, 1, dtype=x.dtype)], dim=-1)[:, at]
  + found = torch.linalg.lstsq(rows.reshape(-1, d + 1), wanted[:, at].reshape(-1, 1)).solution[:, 0]
    At its own position the word is right, but your neurons also act at others. Ask for a number far below zero there, so that no kink is reached.
words_swapped: * (different - same) / -> * (same - different) /
    The two words are swapped: the model should say `same` if both hold or neither does.
in W2 = torch.stack([-push, 3 * push, -4 * push])
an_or: W2 = torch.stack([-push, 3 * push, 0 * push])
    This is an OR: if both hold, the model says `different`. One more kink, between 1 and 2, takes that back.
an_and: W2 = torch.stack([-push, 0 * push, 6 * push])
    This is an AND: the model says `different` only if both hold. It should say so if exactly one of them holds.
the_xor_of_notebook_01: W2 = torch.stack([0 * push, push, -2 * push])
    Your neurons write only where exactly one of the two holds, as the two of notebook 01 do. Where both hold or neither does, they write nothing,
    and the model still tosses its coin. There, `same` has to win.
|| the_xor_acts_everywhere
  - rows = torch.cat([x, torch.ones(N, T, 1, dtype=x.dtype)], dim=-1) * weight[:, None]
  - found = torch.linalg.lstsq(rows.reshape(-1, d + 1), (wanted * weight).reshape(-1, 1)).solution[:, 0]
  + rows = torch.cat([x, torch.ones(N, T, 1, dtype=x.dtype)], dim=-1)[:, at]
  + found = torch.linalg.lstsq(rows.reshape(-1, d + 1), wanted[:, at].reshape(-1, 1)).solution[:, 0]
nothing_at_zero: W2 = torch.stack([0 * push, push, -3 * push])
    Where neither holds, your neurons write nothing, and the model tosses its coin. A neuron that is on there can write what b2 would.
one_attribute: first.to(x.dtype) + second.to(x.dtype) -> first.to(x.dtype)
    Only the first of the two is read. Neither alone decides: add up what both say.
of differs_in_two_ways
| the_xor_of_notebook_01 | only_where_they_differ: torch.stack([up, up, -up / 2]) -> torch.stack([up, up, 0 * up])
""")
