"""What is right, and what goes wrong, in `fewest_neurons` of notebook 03.

Many networks are right. The facts say what each computes, and with how many neurons.
"""

from __future__ import annotations

import itertools

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import activations as exercises

fewest_neurons = Key(exercises.fewest_neurons)


@fewest_neurons.truth
def every_way_to_turn_them(n, A, B):
    """Tries for every inner corner both sides on which its neuron may slope; where none of these networks is right, one neuron more brings the first slope."""
    h = (B - A) / n
    corners = [A + i * h for i in range(1, n)]
    first, at_a = A + (A + h), A * A

    def network(into, kinks, out):
        w, v = torch.tensor([into], dtype=torch.float64), torch.tensor(out, dtype=torch.float64)
        b = torch.tensor([-side * kink for side, kink in zip(into, kinks, strict=True)], dtype=torch.float64)
        c = at_a - sum(x * max(side * (A - kink), 0) for side, kink, x in zip(into, kinks, out, strict=True))
        return w, b, v[:, None], torch.tensor([c], dtype=torch.float64)

    for sides in itertools.product((1.0, -1.0), repeat=n - 1):
        if abs(sum(side * 2 * h for side in sides if side < 0) - first) < 1e-9:
            return network(list(sides), corners, [2 * h] * (n - 1))
    return network([1.0] * n, [A, *corners], [first] + [2 * h] * (n - 1))


@fewest_neurons.base
def from_the_flat_piece(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    h = (B - A) / n
    flat = [k for k in range(n) if nodes[k] + nodes[k + 1] == 0]
    if not flat:
        slope = nodes[:-1] + nodes[1:]
        change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
        return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2
    k = flat[0]
    side = torch.tensor([-1.0 if j < k else 1.0 for j in range(n - 1)])
    return side[None, :], -side * nodes[1:-1], torch.full((n - 1, 1), 2 * h), nodes[k : k + 1] ** 2


@fewest_neurons.right("how many slope to the left, by a formula; the height at A, minus what they bring there")
def by_a_count(n, A, B):
    h = (B - A) / n
    left = -A / h - 0.5
    if left != int(left) or not 0 <= left < n:
        return (
            torch.ones(1, n),
            torch.tensor([-A - i * h for i in range(n)]),
            torch.tensor([[2 * A + h]] + [[2 * h]] * (n - 1)),
            torch.tensor([A**2]),
        )
    signs = [-1.0 if i <= left else 1.0 for i in range(1, n)]
    biases = [-s * (A + i * h) for i, s in enumerate(signs, 1)]
    lifted = sum(2 * h * max(s * A + b, 0.0) for s, b in zip(signs, biases, strict=True))
    return torch.tensor([signs]), torch.tensor(biases), torch.full((n - 1, 1), 2 * h), torch.tensor([A**2 - lifted])


@fewest_neurons.right(
    "every number of neurons that slope to the left is tried, and the network measured; which of them do is left to chance"
)
def tried_and_measured(n, A, B):
    x = torch.linspace(A, B, n + 1, dtype=torch.float64)
    h = (B - A) / n
    for left in range(n):
        order = torch.randperm(n - 1)
        side = torch.ones(n - 1, dtype=torch.float64)
        side[order[:left]] = -1
        W1, b1, W2 = side[None], -side * x[1:n], torch.full((n - 1, 1), 2 * h, dtype=torch.float64)
        off = x**2 - (torch.relu(x[:, None] @ W1 + b1) @ W2)[:, 0]
        if off.max() - off.min() < 1e-9:
            return W1, b1, W2, off[:1]
    slopes = x[:-1] + x[1:]
    return (
        torch.ones(1, n, dtype=torch.float64),
        -x[:-1],
        torch.diff(slopes, prepend=torch.zeros(1, dtype=torch.float64))[:, None],
        x[:1] ** 2,
    )


@fewest_neurons.right("from the middle of the flat piece outwards, with weights that are not 1")
def outwards(n, A, B):
    h = (B - A) / n
    pieces = [A + (i + 0.5) * h for i in range(n)]  # their middles
    into, bias, out = [], [], []
    if 0 in pieces:
        start = h * h / 4
        for distance in range(n):
            for side in (3.0, -3.0):
                kink = (distance + 0.5) * h * (1 if side > 0 else -1)
                if A < kink < B:
                    into.append(side)
                    bias.append(-side * kink)
                    out.append(2 * h / 3)
    else:
        start = B * B  # from the right end instead
        for i in range(n):
            kink = B - i * h
            into.append(-2.0)
            bias.append(2.0 * kink)
            out.append((h - 2 * B) / 2 if i == 0 else h)
    return (
        torch.tensor(into).reshape(1, -1),
        torch.tensor(bias),
        torch.tensor(out).reshape(-1, 1),
        torch.tensor([start]),
    )


fewest_neurons.slips("""
one_neuron_for_each_piece: if not flat: -> if True:
    It has n neurons for n pieces, on every interval. On some of them n − 1 are enough: a neuron for each corner inside, some of them turned round.
in not flat:
saved_only_around_zero: not flat or A != -B:
    A neuron is saved only where 0 is in the middle of the interval. Other intervals have a flat piece, too.
saved_only_where_it_begins_flat: not flat or flat[0] > 0:
    A neuron is saved only where the first piece is flat. With some of the neurons turned round, the first piece has another slope.
only_odd_numbers: not flat or n % 2 == 0:
    A neuron is saved only for odd n. What counts is where 0 is in the interval: two pieces may do with one neuron as well.
one_piece_by_one_neuron: not flat or n == 1:
    One flat piece is made with a neuron. It needs none: b2 alone is the whole network, and W1 has the shape [1, 0].
in -1.0 if j < k else 1.0
all_to_the_right: 1.0
    All n − 1 neurons slope to the right, so the wire is flat on the first piece, on every interval. Which neurons could give that piece its slope?
turned_the_wrong_way: 1.0 if j < k else -1.0
    The neurons left of the flat piece slope to the right, and those right of it to the left, so all of them are at work on it. They should be silent
    there.
in return side[None, :], -side * nodes[1:-1], torch.full((n - 1, 1), 2 * h), nodes[k : k + 1] ** 2
turned_strengths: return side[None, :], -side * nodes[1:-1], 2 * h * side[:, None], nodes[k : k + 1] ** 2
    W2 is negative for the neurons that slope to the left. Their kinks then bend the wire down. The slope changes by |W1|·W2, and x² bends upwards
    everywhere.
bias_not_turned: return side[None, :], -nodes[1:-1], torch.full((n - 1, 1), 2 * h), nodes[k : k + 1] ** 2
    A neuron that slopes to the left has its kink in the wrong place. relu(−x + b) has it at x = b, so b1 is plus the kink there.
height_at_the_left_end: return side[None, :], -side * nodes[1:-1], torch.full((n - 1, 1), 2 * h), nodes[:1] ** 2
    b2 is A². The neurons that slope to the left are not silent at A. Where are all neurons silent, and how high is the wire there?
height_of_the_vertex: return side[None, :], -side * nodes[1:-1], torch.full((n - 1, 1), 2 * h), torch.zeros(1)
    b2 is 0, the height of x² at x = 0. The wire is above the curve there: on the flat piece it has the height of the two corners.
a_neuron_of_strength_zero
  + side, out = torch.cat([torch.ones(1), side]), torch.full((n, 1), 2 * h)
  + out[0] = 0
  + return side[None, :], -side * nodes[:-1], out, nodes[k : k + 1] ** 2
    The network has one neuron too many, one that does nothing. Each column of W1 is a neuron, whatever its strength.
in flat = [k for k in range(n) if nodes[k] + nodes[k + 1] == 0]
zero_inside_is_enough: flat = [k for k in range(n) if nodes[k] <= 0 < nodes[k + 1]]
    A neuron is saved wherever 0 is inside of the interval, and the network then misses x². That piece has to be flat, so 0 has to be in its middle.
always_one_fewer: flat = [min(range(n), key=lambda k: abs(nodes[k] + nodes[k + 1]))]
    It has n − 1 neurons on every interval. Some intervals have no flat piece, and there the first slope takes a neuron of its own.
none_where_it_takes_n
  - slope = nodes[:-1] + nodes[1:]
  - change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
  - return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2
  + return None
    None comes back where n − 1 neurons are not enough. Return the network of n neurons there.
of by_a_count
whole_but_outside: int(left) or not 0 <= left < n: -> int(left):
    The number of neurons that would slope to the left is whole here, but it is below 0, or above n − 1. So the flat piece is outside of the interval.
of base
fewest_not_returned
  - return side[None, :],
  + side[None, :],
  - return torch.ones
  + torch.ones
    NO_RETURN
""")
