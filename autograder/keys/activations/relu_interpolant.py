"""What is right, and what goes wrong, in `relu_interpolant` of notebook 03."""

from __future__ import annotations

import torch
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import activations as exercises

relu_interpolant = Key(exercises.relu_interpolant)


@relu_interpolant.truth
def from_the_values(n, A, B):
    """Two neurons, relu(x) and relu(−x), make the straight line of the first piece; every inner node turns it towards the next value."""
    width = (B - A) / n
    nodes = [A + i * width for i in range(n + 1)]
    slope = (nodes[1] ** 2 - nodes[0] ** 2) / width
    into, bias, out = [1.0, -1.0], [0.0, 0.0], [slope, -slope]
    for i in range(1, n):
        following = (nodes[i + 1] ** 2 - nodes[i] ** 2) / width
        into.append(1.0)
        bias.append(-nodes[i])
        out.append(following - slope)
        slope = following
    at_zero = nodes[0] ** 2 - (nodes[1] ** 2 - nodes[0] ** 2) / width * nodes[0]
    float64 = torch.float64
    return (
        torch.tensor([into], dtype=float64),
        torch.tensor(bias, dtype=float64),
        torch.tensor(out, dtype=float64)[:, None],
        torch.tensor([at_zero], dtype=float64),
    )


@relu_interpolant.right("lists and a loop")
def by_loop(n, A, B):
    h = (B - A) / n
    biases, weights = [], []
    old = 0.0
    for i in range(n):
        t = A + i * h
        slope = ((t + h) ** 2 - t**2) / h
        biases.append(-t)
        weights.append([slope - old])
        old = slope
    return torch.ones(1, n), torch.tensor(biases), torch.tensor(weights), torch.tensor([A**2])


@relu_interpolant.right("from right to left")
def from_the_right(n, A, B):
    nodes = torch.linspace(B, A, n + 1, dtype=torch.float64)
    slopes = (nodes[1:] ** 2 - nodes[:-1] ** 2) / (nodes[:-1] - nodes[1:])
    change = torch.cat([slopes[:1], slopes[1:] - slopes[:-1]])
    return -torch.ones(1, n, dtype=torch.float64), nodes[:-1], change[:, None], nodes[:1] ** 2


@relu_interpolant.right("scaled neurons: W1 is not one")
def scaled_neurons(n, A, B):
    x = torch.linspace(A, B, n + 1)
    slope = x[:-1] + x[1:]
    W2 = torch.diff(slope, prepend=torch.zeros(1)) / 2
    W1 = torch.full((1, n), 2.0)
    return W1, -2 * x[:-1], W2.reshape(n, 1), (x[0] ** 2).reshape(1)


@relu_interpolant.right("the weights solved for, by least squares")
def solved(n, A, B):
    x = torch.linspace(A, B, n + 1, dtype=torch.float64)
    W1, b1 = torch.ones(1, n, dtype=torch.float64), -x[:-1]
    h = torch.relu(x[:, None] @ W1 + b1)
    both = torch.cat([h, torch.ones(n + 1, 1, dtype=torch.float64)], dim=1)
    solution = torch.linalg.solve(both, (x**2)[:, None])
    return W1, b1, solution[:n], solution[n]


@relu_interpolant.right("a constant neuron and parameters")
def parameters(n, A, B):
    x = torch.linspace(A, B, n + 1).double()
    slope = x[:-1] + x[1:]
    change = torch.cat([slope[:1], slope[1:] - slope[:-1], x[:1] ** 2])
    W1 = torch.cat([torch.ones(1, n), torch.zeros(1, 1)], dim=1).double()
    b1 = torch.cat([-x[:-1], torch.ones(1)])
    return nn.Parameter(W1), nn.Parameter(b1), nn.Parameter(change[:, None]), nn.Parameter(torch.zeros(1).double())


@relu_interpolant.base
def plain_relu_interpolant(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    slope = nodes[:-1] + nodes[1:]
    change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
    return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2


relu_interpolant.slips("""
in
  - change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
  - return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2
slopes_for_changes: return torch.ones(1, n), -nodes[:-1], slope[:, None], nodes[:1] ** 2
    W2 holds the slopes themselves. Each neuron goes on rising behind its piece, so the next one has to supply only the change: new slope minus old.
no_neuron_at_the_left_end: return torch.ones(1, n - 1), -nodes[1:-1], (slope[1:] - slope[:-1])[:, None], nodes[:1] ** 2
    The first piece is flat: only the inner nodes change the slope. A neuron with its kink at A has to supply the whole slope of the first piece.
| first_slope_zero: slope[:1] -> torch.zeros(1)
minus_the_last_weight
  + W2 = slope.clone()
  + for i in range(1, n):
  +     W2[i] = slope[i] - W2[i - 1]
  + return torch.ones(1, n), -nodes[:-1], W2[:, None], nodes[:1] ** 2
    From each slope the weight before is subtracted. The old slope is what all neurons so far add up to, not the last weight alone.
in nodes = torch.linspace(A, B, n + 1)
interval_fixed: nodes = torch.linspace(-1, 1, n + 1)
    The interval is [−1, 1] whatever is asked for. A and B are arguments.
left_end_fixed: nodes = torch.linspace(-1, B, n + 1)
    The left end is −1 whatever A is. Nodes start at A, and so does the first kink.
unit_interval: nodes = torch.linspace(0, 1, n + 1)
    The interval is [0, 1] whatever is asked for. A and B are arguments.
linspace_of_n_nodes: nodes = torch.linspace(A, B, n)
    The interval is cut into n − 1 pieces. n pieces have n + 1 ends, and `linspace` counts the ends.
linspace_of_too_many: nodes = torch.linspace(A, B, n + 2)
    The interval is cut into n + 1 pieces. n pieces have n + 1 ends, and `linspace` counts the ends.
in nodes[:1] ** 2
constant_missing: torch.zeros(1)
    The constant is missing: b2 is 0. At A all neurons are zero, and the output should be A².
constant_not_squared: nodes[:1]
    b2 is A. At A all neurons are zero, and the output should be A².
b2_a_number: A**2
    b2 is a Python number. It is a bias for one output: a tensor of shape [1].
in return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2
sign_of_the_bias: return torch.ones(1, n), nodes[:-1], change[:, None], nodes[:1] ** 2
    The kinks are mirrored: relu(x + t) bends at −t. For a kink at t, b1 is −t.
flat_weights: return torch.ones(n), -nodes[:-1], change, nodes[:1] ** 2
    W1 and W2 have one dimension each. They are matrices: W1 is [1, m], W2 is [m, 1].
three_tensors: return torch.ones(1, n), -nodes[:-1], change[:, None]
    b2 is missing: three tensors came back, four are asked for, W1, b1, W2, b2 in this order.
whole_numbers: return torch.ones(1, n, dtype=torch.long), -nodes[:-1], change[:, None].long(), nodes[:1] ** 2
    W1 and W2 hold whole numbers (an integer dtype), which cuts off what comes after the point. Make them floating-point.
moved_down: return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2 - ((B - A) / n) ** 2 / 8
    This is the net moved down by half of its error. It is nearer to x², but it does not meet it at the nodes, and that is asked for.
flat_way_out: return torch.ones(1, n), -nodes[:-1], change, nodes[:1] ** 2
    W2 has one dimension. It is a matrix with one column: shape [m, 1].
row_for_b1: return torch.ones(1, n), -nodes[None, :-1], change[:, None], nodes[:1] ** 2
    b1 is a matrix with one row. It is a bias: shape [m].
weights_before_biases: return torch.ones(1, n), change[:, None], -nodes[:-1], nodes[:1] ** 2
    The order is wrong. Return W1, b1, W2, b2, in the order in which x meets them.
in slope = nodes[:-1] + nodes[1:]
tangents: slope = 2 * nodes[:-1]
    The slopes are those of the tangents, 2x at the nodes. A piece joins two points of the curve: its slope is rise over run between them.
mean_of_the_ends: slope = (nodes[:-1] + nodes[1:]) / 2
    The slopes are half of what they should be: (t² − s²)/(t − s) is s + t, not their mean.
old_minus_new: slope[1:] - slope[:-1] -> slope[:-1] - slope[1:]
    The changes of slope have the wrong sign: new slope minus old.
in -nodes[:-1],
kinks_in_the_middle: -slope / 2,
    The kinks are in the middle of the pieces. They belong where two pieces meet: at the nodes.
kinks_at_the_right_ends: -nodes[1:],
    The kinks are one node too far to the right. A neuron changes the line right of its kink, so each piece needs its kink at its left end.
in torch.ones(1, n), -nodes[:-1], change[:, None]
laid_out_as_linear: torch.ones(n, 1), -nodes[:-1], change[None, :]
    The weights are laid out as nn.Linear keeps them, [out, in]. The course writes x @ W1: W1 is [1, m] and W2 is [m, 1].
changes_in_W1: change[None, :], -nodes[:-1] * change, torch.ones(n, 1)
    The changes of slope are in W1, inside ReLU. There a negative number makes a neuron look to the left; they belong in W2.
|| changes_in_W1_kinks_not_scaled: , -nodes[:-1] * change, torch.ones(n, 1), -> , -nodes[:-1], torch.ones(n, 1),
in nodes[:1]
b2_without_dimension: nodes[0]
    b2 has no dimension, or two: shape [] or [1, 1]. It is a bias for one output: shape [1].
|| matrix_for_b2: 0 -> None, :1
constant_of_the_right_end: nodes[-1:]
    b2 is B². All the neurons are zero at A, the left end: there b2 alone has to give the value.
of scaled_neurons
in
  - x = torch.linspace(A, B, n + 1)
  - slope = x[:-1] + x[1:]
  - W2 = torch.diff(slope, prepend=torch.zeros(1)) / 2
  - W1 = torch.full((1, n), 2.0)
  - return W1, -2 * x[:-1], W2.reshape(n, 1), (x[0] ** 2).reshape(1)
one_piece_more
  + nodes = torch.linspace(A, B, n + 2)
  + slope = nodes[:-1] + nodes[1:]
  + change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
  + return torch.ones(1, n + 1), -nodes[:-1], change[:, None], nodes[:1] ** 2
    There is one piece too many: n pieces have n + 1 nodes, both ends included. `linspace` counts nodes.
one_piece_less
  + nodes = torch.linspace(A, B, n)
  + slope = nodes[:-1] + nodes[1:]
  + change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
  + return torch.ones(1, n - 1), -nodes[:-1], change[:, None], nodes[:1] ** 2
    There is one piece too few: n pieces have n + 1 nodes, both ends included. `linspace` counts nodes.
| one_node_less
  + nodes = torch.linspace(A, B, n)
  + slope = 2 * nodes + (B - A) / n
  + change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
  + return torch.ones(1, n), -nodes, change[:, None], nodes[:1] ** 2
values_for_changes
  + nodes = torch.linspace(A, B, n + 1)
  + return torch.ones(1, n), -nodes[:-1], (nodes[:-1] ** 2)[:, None], nodes[:1] ** 2
    W2 holds the values x² at the nodes. It has to hold changes of slope.
rise_without_run
  + nodes = torch.linspace(A, B, n + 1)
  + rise = nodes[1:] ** 2 - nodes[:-1] ** 2
  + change = torch.cat([rise[:1], rise[1:] - rise[:-1]])
  + return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2
    The rise of each piece is not divided by its width: slopes are rise over run, and the pieces are (B − A)/n wide.
net_without_return
  + nodes = torch.linspace(A, B, n + 1)
  + nodes[:-1] + nodes[1:]
    NO_RETURN
first_like_the_others
  + h = (B - A) / n
  + nodes = torch.linspace(A, B, n + 1)
  + return torch.ones(1, n), -nodes[:-1], torch.full((n, 1), 2 * h), nodes[:1] ** 2
    Every neuron changes the slope by the same amount, the first one too. It finds slope 0 and has to supply the whole slope of the first piece.
widths_for_slopes
  + nodes = torch.linspace(A, B, n + 1)
  + width = nodes[1:] - nodes[:-1]
  + change = torch.cat([width[:1], width[1:] - width[:-1]])
  + return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2
    The widths of the pieces are where their slopes should be. A slope is rise over run: the difference of the values x², by the width.
lists_for_tensors
  + h = (B - A) / n
  + biases = [-(A + i * h) for i in range(n)]
  + weights = [[2 * A + h]] + [[2 * h]] * (n - 1)
  + return [[1.0] * n], biases, weights, [A**2]
    Lists came back. Four tensors are asked for: `torch.tensor(…)` makes them from lists.
""")
