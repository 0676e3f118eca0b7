"""What is right, and what goes wrong, in `curve_interpolant` of notebook 03."""

from __future__ import annotations

import itertools

import torch

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import activations as exercises

curve_interpolant = Key(exercises.curve_interpolant)


@curve_interpolant.truth
def from_the_heights(y, A, B):
    """Two neurons, relu(x) and relu(−x), make the straight line of the first piece; every inner node turns it towards the next height."""
    heights = y.tolist()
    n = len(heights) - 1
    width = (B - A) / n
    slope = (heights[1] - heights[0]) / width
    into, bias, out = [1.0, -1.0], [0.0, 0.0], [slope, -slope]
    for i in range(1, n):
        following = (heights[i + 1] - heights[i]) / width
        into.append(1.0)
        bias.append(-(A + i * width))
        out.append(following - slope)
        slope = following
    at_zero = heights[0] - (heights[1] - heights[0]) / width * A
    float64 = torch.float64
    return (
        torch.tensor([into], dtype=float64),
        torch.tensor(bias, dtype=float64),
        torch.tensor(out, dtype=float64)[:, None],
        torch.tensor([at_zero], dtype=float64),
    )


@curve_interpolant.right("lists and a loop, in float32")
def heights_by_loop(y, A, B):
    n = len(y) - 1
    h = (B - A) / n
    biases, weights, old = [], [], 0.0
    for i in range(n):
        slope = (y[i + 1].item() - y[i].item()) / h
        biases.append(-(A + i * h))
        weights.append([slope - old])
        old = slope
    return torch.ones(1, n), torch.tensor(biases), torch.tensor(weights), torch.tensor([y[0].item()])


@curve_interpolant.right("from right to left")
def heights_from_the_right(y, A, B):
    n = y.numel() - 1
    nodes = torch.linspace(B, A, n + 1, dtype=torch.float64)
    back = y.flip(0).double()
    slopes = torch.diff(back) / torch.diff(nodes).abs()
    change = torch.diff(slopes, prepend=torch.zeros(1, dtype=torch.float64))
    return -torch.ones(1, n, dtype=torch.float64), nodes[:-1], change[:, None], back[:1]


@curve_interpolant.right("the first layer kept, the second solved for")
def second_layer_solved(y, A, B):
    n = len(y) - 1
    x = torch.linspace(A, B, n + 1, dtype=torch.float64)
    W1, b1 = torch.ones(1, n, dtype=torch.float64), -x[:-1]
    both = torch.cat([torch.relu(x[:, None] @ W1 + b1), torch.ones(n + 1, 1, dtype=torch.float64)], dim=1)
    solution = torch.linalg.solve(both, y.double()[:, None])
    return W1, b1, solution[:n], solution[n]


@curve_interpolant.right("second differences, scaled neurons")
def second_differences(y, A, B):
    n = len(y) - 1
    h = (B - A) / n
    rise = torch.cat([y[1:2] - y[0:1], y[2:] - 2 * y[1:-1] + y[:-2]])
    places = A + h * torch.arange(n, dtype=y.dtype)
    return torch.full((1, n), 2.0, dtype=y.dtype), -2 * places, (rise / h / 2).reshape(n, 1), y[0].reshape(1)


@curve_interpolant.base
def plain_curve_interpolant(y, A, B):
    n = len(y) - 1
    nodes = torch.linspace(A, B, n + 1, dtype=y.dtype)
    slope = (y[1:] - y[:-1]) / (nodes[1:] - nodes[:-1])
    change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
    return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], change[:, None], y[:1]


curve_interpolant.slips("""
still_x_squared
  - (y[1:] - y[:-1]) / (nodes[1:] - nodes[:-1])
  + nodes[:-1] + nodes[1:]
  - y[:1]
  + nodes[:1] ** 2
    This is still the network for x²: the heights in y are never looked at.
in (y[1:] - y[:-1]) / (nodes[1:] - nodes[:-1])
slopes_of_x_squared: nodes[:-1] + nodes[1:]
    The slopes are still those of x², s + t. Here a slope is the rise from one height of y to the next, divided by the width of the piece.
curve_rise_without_run: (y[1:] - y[:-1])
    The rise of each piece is not divided by its width: slopes are rise over run, and the pieces are (B − A)/n wide.
in y[:1]
constant_of_x_squared: nodes[:1] ** 2
    b2 is still A². At A all neurons are zero, so b2 alone gives the height there: the first of y.
curve_constant_missing: torch.zeros(1, dtype=y.dtype)
    The constant is missing: b2 is 0. At A all neurons are zero, and the output should be the first height.
constant_of_the_last_height: y[-1:]
    b2 is the last height. All the neurons are zero at A, the left end: there b2 alone has to give the height.
curve_b2_without_dimension: y[0]
    b2 has no dimension: shape []. It is a bias for one output: shape [1].
curve_slopes_for_changes
  - change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
  - return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], change[:, None], y[:1]
  + return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], slope[:, None], y[:1]
    W2 holds the slopes themselves. Each neuron goes on rising behind its piece, so the next one has to supply only the change: new slope minus old.
in change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
curve_first_slope_zero: change = torch.cat([torch.zeros(1, dtype=y.dtype), slope[1:] - slope[:-1]])
    The first piece is flat: only the inner nodes change the slope. A neuron with its kink at A has to supply the whole slope of the first piece.
curve_old_minus_new: change = torch.cat([slope[:1], slope[:-1] - slope[1:]])
    The changes of slope have the wrong sign: new slope minus old.
in return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], change[:, None], y[:1]
heights_for_changes: return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], y[:-1, None], y[:1]
    W2 holds the heights. It has to hold changes of slope.
curve_sign_of_the_bias: return torch.ones(1, n, dtype=y.dtype), nodes[:-1], change[:, None], y[:1]
    The kinks are mirrored: relu(x + t) bends at −t. For a kink at t, b1 is −t.
curve_kinks_at_the_right_ends: return torch.ones(1, n, dtype=y.dtype), -nodes[1:], change[:, None], y[:1]
    The kinks are one node too far to the right. A neuron changes the line right of its kink, so each piece needs its kink at its left end.
curve_laid_out_as_linear: return torch.ones(n, 1, dtype=y.dtype), -nodes[:-1], change[None, :], y[:1]
    The weights are laid out as nn.Linear keeps them, [out, in]. The course writes x @ W1: W1 is [1, m] and W2 is [m, 1].
curve_flat_weights: return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], change, y[:1]
    W2 has one dimension. It is a matrix with one column: shape [m, 1].
heights_changed
  + first = y[:1].clone()
  + y -= first
  + return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], change[:, None], first
    The network is right, but y itself is changed: `-=`, an assignment to `y[…]`, or a method with a trailing underscore works in place. The caller
    may still need the heights.
curve_three_tensors: return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], change[:, None]
    b2 is missing: three tensors came back, four are asked for, W1, b1, W2, b2 in this order.
in nodes = torch.linspace(A, B, n + 1, dtype=y.dtype)
curve_interval_fixed: nodes = torch.linspace(-1, 1, n + 1, dtype=y.dtype)
    The interval is [−1, 1] whatever is asked for. A and B are arguments.
curve_neuron_steps: nodes = torch.arange(n + 1, dtype=y.dtype)
    The nodes are 0, 1, 2, … whatever A and B are. They are equally spaced from A to B.
kinks_from_zero: -nodes[:-1] -> A - nodes[:-1]
    The kinks begin at 0. They should begin at A.
width_by_the_heights: (nodes[1:] - nodes[:-1]) -> ((B - A) / len(y))
    A piece is (B − A)/n wide, and n is one less than the number of heights. You divide by the number of heights.
| every_width_by_the_heights
  - (nodes[1:] - nodes[:-1])
  + ((B - A) / len(y))
  - torch.linspace(A, B, n + 1, dtype=y.dtype)
  + A + (B - A) / len(y) * torch.arange(n + 1, dtype=y.dtype)
as_many_pieces_as_heights: len(y) - 1 -> len(y)
    As many pieces as heights are counted here. n + 1 heights make n pieces.
| W1_as_wide_as_the_heights
  - torch.ones(1, n, dtype=y.dtype), -nodes[:-1]
  + torch.ones(1, n + 1, dtype=y.dtype), -nodes[:-1]
| a_neuron_for_each_height
  - torch.ones(1, n, dtype=y.dtype), -nodes[:-1]
  + torch.ones(1, n + 1, dtype=y.dtype), -nodes
""")


@curve_interpolant.mistake(NO_RETURN)
def curve_without_return(y, A, B):
    torch.diff(y)


@curve_interpolant.mistake("Lists came back. Four tensors are asked for: `torch.tensor(…)` makes them from lists.")
def curve_as_lists(y, A, B):
    h = (B - A) / (len(y) - 1)
    slopes = [0.0, *((b - a) / h for a, b in itertools.pairwise(y.tolist()))]
    changes = [[new - old] for old, new in itertools.pairwise(slopes)]
    return [[1.0] * (len(y) - 1)], [-(A + i * h) for i in range(len(y) - 1)], changes, [y[0].item()]


@curve_interpolant.form("as_many_pieces_as_heights")
def loop_over_the_heights(y, A, B):
    n = len(y)
    h = (B - A) / n
    biases, weights, old = [], [], 0.0
    for i in range(n):
        slope = (y[i + 1] - y[i]) / h
        biases.append(-(A + i * h))
        weights.append([slope - old])
        old = slope
    return torch.ones(1, n), torch.tensor(biases), torch.tensor(weights), y[:1]
