"""The marking guide of notebook 03, a game of levels.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F and nn.
"""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import activations as exercises

# count_pieces

count_pieces = Key(exercises.count_pieces)


@count_pieces.truth
def slope_by_slope(W1, b1, W2, A, B):
    """Cuts [A, B] at every possible kink and computes the slope of each part from the units that are on in its middle."""
    into, bias, out = W1[0].tolist(), b1.tolist(), W2[:, 0].tolist()
    cuts = {A, B}
    for w, b in zip(into, bias, strict=True):
        if w != 0 and A < -b / w < B:
            cuts.add(-b / w)
    cuts = sorted(cuts)
    pieces, last = 0, None
    for left, right in itertools.pairwise(cuts):
        middle = (left + right) / 2
        slope = sum(w * v for w, b, v in zip(into, bias, out, strict=True) if w * middle + b > 0)
        if slope != last:
            pieces += 1
        last = slope
    return pieces


@count_pieces.right("a dict of changes")
def dict_of_changes(W1, b1, W2, A, B):
    change = {}
    for j in range(b1.numel()):
        w, b, v = W1[0, j].item(), b1[j].item(), W2[j, 0].item()
        if w == 0:
            continue
        kink = -b / w
        if A < kink < B:
            change[kink] = change.get(kink, 0.0) + abs(w) * v
    return 1 + sum(1 for c in change.values() if abs(c) > 1e-12)


@count_pieces.right("tensors: unique and index_add")
def with_unique(W1, b1, W2, A, B):
    w, v = W1[0], W2[:, 0]
    w, b, v = w[w != 0], b1[w != 0], v[w != 0]
    places, which = torch.unique(-b / w, return_inverse=True)
    change = torch.zeros_like(places).index_add(0, which, w.abs() * v)
    return (((places > A) & (places < B) & (change != 0)).sum() + 1).item()


@count_pieces.right("slopes measured with the network itself; a 0-d tensor")
def measured(W1, b1, W2, A, B):
    kinks = [float(-b / w) for w, b in zip(W1[0], b1, strict=True) if w != 0]
    points = torch.tensor(sorted({float(A), float(B), *[t for t in kinks if A < t < B]}), dtype=W1.dtype)
    y = (torch.relu(points[:, None] @ W1 + b1) @ W2)[:, 0]
    slopes = torch.diff(y) / torch.diff(points)
    return 1 + (torch.diff(slopes).abs() > 1e-9).sum()


@count_pieces.right("kinks rounded, with a tolerance")
def rounded(W1, b1, W2, A, B):
    changes = []
    for w, b, v in zip(W1.flatten().tolist(), b1.tolist(), W2.flatten().tolist(), strict=True):
        if w != 0.0:
            changes.append((round(-b / w, 9), abs(w) * v))
    places = sorted(set(place for place, _ in changes))
    count = 1
    for place in places:
        total = sum(c for other, c in changes if other == place)
        if A < place < B and abs(total) > 1e-9:
            count += 1
    return count


@count_pieces.mistake(
    "The answer is always m + 1. That is the most there can be: kinks may lie outside, share a place, or not bend at all."
)
def always_m_plus_one(W1, b1, W2, A, B):
    return b1.numel() + 1


@count_pieces.mistake("Kinks outside of [A, B] are counted. Only those strictly between A and B cut the interval.")
def outside_counted(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


count_pieces.slip(
    "ends_counted",
    "Kinks at A or at B are counted. They cut nothing off: strictly between the two.",
    of=outside_counted,
    replace={"w != 0": "w != 0 and A <= -b / w <= B"},
)


@count_pieces.mistake(
    "Two kinks in the same place are counted twice. They are one place where the slope changes. (Equal tensors are two different keys of a dict, and "
    "two members of a set: put in numbers, with `.item()`.)"
)
def coincident_twice(W1, b1, W2, A, B):
    count = 1
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and v != 0 and A < -b / w < B:
            count += 1
    return count


@count_pieces.mistake(
    "Units that write nothing are counted, those with W2 = 0 among them: W2 is never looked at. The slope changes by |W1|·W2."
)
def way_out_ignored(W1, b1, W2, A, B):
    kinks = set()
    for w, b in zip(W1[0].tolist(), b1.tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            kinks.add(-b / w)
    return len(kinks) + 1


@count_pieces.mistake(
    "Kinks in the same place that cancel are counted. Add up the changes of slope at each place, and count those that are not zero."
)
def cancelling_counted(W1, b1, W2, A, B):
    kinks = set()
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and v != 0 and A < -b / w < B:
            kinks.add(-b / w)
    return len(kinks) + 1


@count_pieces.mistake(
    "The change of slope has the wrong sign for units that look to the left, those with W1 < 0: going right they switch off, so the change is |W1|·W2."
)
def signed_change(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + w * v
    return 1 + sum(c != 0 for c in change.values())


count_pieces.slip(
    "way_in_ignored",
    "The change of slope at a kink is |W1|·W2; here W1 is left out, so changes cancel that should not, or the other way round.",
    of=signed_change,
    replace={"w * v": "v"},
)


@count_pieces.mistake("These are the kinks. One kink makes two pieces: there is one piece more than kinks.")
def kinks_for_pieces(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return sum(c != 0 for c in change.values())


@count_pieces.mistake("The kinks are mirrored: x·W1 + b1 is zero at x = −b1/W1, with the minus sign.")
def kinks_mirrored(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < b / w < B:
            change[b / w] = change.get(b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


@count_pieces.mistake("The kinks are taken to be at −b1. W1 is not always 1: x·W1 + b1 is zero at x = −b1/W1.")
def kinks_at_the_bias(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b < B:
            change[-b] = change.get(-b, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


count_pieces.slip(
    "division_by_zero",
    "A unit with W1 = 0 has no kink, and dividing by it fails. Leave such units out first.",
    of=outside_counted,
    replace={"w != 0": "A < -b / w < B"},
)
count_pieces.slip(
    "right_lookers_only",
    "Only units with W1 > 0 are counted. One with W1 < 0 looks to the left, and has its kink all the same.",
    of=outside_counted,
    replace={"w != 0": "w > 0 and A < -b / w < B"},
)
count_pieces.slip(
    "float_for_int",
    "The number of pieces came back as a float. It is a whole number: `int`.",
    of=kinks_for_pieces,
    replace={"sum": "1.0 + sum"},
)
count_pieces.slip(
    "list_of_kinks",
    "The kinks themselves came back. How many pieces they make is the question: one number.",
    of="float_for_int",
    replace={"return …": "return [place for place, c in change.items() if c != 0]"},
)


@count_pieces.mistake(NO_RETURN)
def pieces_without_return(W1, b1, W2, A, B):
    1 + len({float(-b / w) for w, b in zip(W1[0], b1, strict=True) if w != 0 and A < -b / w < B})


@count_pieces.mistake("This counts the kinks inside. Kinks may share a place, cancel, or belong to a unit with W2 = 0.")
def kinks_inside_counted(W1, b1, W2, A, B):
    kinks = -b1 / W1[0]
    return len(kinks[(kinks > A) & (kinks < B)]) + 1


count_pieces.slip("left_end_counted", of="ends_counted", replace={" <= B": " < B"}, form_of="ends_counted")
count_pieces.slip("right_end_counted", of="ends_counted", replace={" <= -b": " < -b"}, form_of="ends_counted")


@count_pieces.mistake("The answer is always m, the number of units. How many pieces they make depends on their kinks.")
def always_m(W1, b1, W2, A, B):
    return b1.numel()


@count_pieces.mistake("Only the first unit is looked at: W1 is [1, m], so `len(W1)` is 1. `b1` has length m.")
def first_unit_only(W1, b1, W2, A, B):
    change = {}
    for j in range(len(W1)):
        w, b, v = W1[0, j].item(), b1[j].item(), W2[j, 0].item()
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


@count_pieces.mistake("Rows and columns are mixed up: unit j has W1[0, j] on its way in, and W2[j, 0] on its way out.")
def indices_swapped(W1, b1, W2, A, B):
    change = {}
    for j in range(len(b1)):
        w, b, v = W1[j].item(), b1[j].item(), W2[0, j].item()
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


@count_pieces.mistake(
    "Only kinks upwards are counted, those with a positive change of slope. A kink downwards cuts as well."
)
def upwards_only(W1, b1, W2, A, B):
    change = {}
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c > 0 for c in change.values())


@count_pieces.mistake(
    "The slope is measured between points of a grid. A kink between two points shows up twice, in both differences beside it. Where the kinks are "
    "can be computed: no grid is needed."
)
def on_a_grid(W1, b1, W2, A, B):
    x = torch.linspace(A, B, 1001, dtype=W1.dtype)[:, None]
    slope = torch.diff((torch.relu(x @ W1 + b1) @ W2)[:, 0])
    return 1 + int((torch.diff(slope).abs() > 1e-9).sum())


@count_pieces.form(on_a_grid)
def on_a_grid_of_1000(W1, b1, W2, A, B):
    x = torch.linspace(A, B, 1000, dtype=W1.dtype)[:, None]
    slope = torch.diff((torch.relu(x @ W1 + b1) @ W2)[:, 0])
    return 1 + int((torch.diff(slope).abs() > 1e-9).sum())


@count_pieces.form(on_a_grid)
def on_a_grid_of_10000(W1, b1, W2, A, B):
    x = torch.linspace(A, B, 10_000, dtype=W1.dtype)[:, None]
    slope = torch.diff((torch.relu(x @ W1 + b1) @ W2)[:, 0])
    return 1 + int((torch.diff(slope).abs() > 1e-9).sum())


count_pieces.slip(
    "close_is_same",
    "Kinks that are close together are taken for one (by `round`, by `isclose`, by a tolerance). Nothing gets rounded here: "
    "only kinks that are exactly equal share a place.",
    of="way_in_ignored",
    replace={
        "change[-b / w] = change.get(-b / w, 0) + v": (
            "place = round(-b / w, 3)\nchange[place] = change.get(place, 0) + abs(w) * v"
        )
    },
)
count_pieces.slip(
    "small_change_is_none",
    "A small change of slope is taken for none: the sum at a place is compared with a threshold. What cancels here is exactly 0, and whatever is "
    "left otherwise bends the line.",
    of=upwards_only,
    replace={"c > 0": "abs(c) > 1e-3"},
)
count_pieces.slip(
    "margin_at_the_ends",
    "Kinks close to A and B are left out: there is a margin at the ends. Strictly between the two counts, however close.",
    of="left_end_counted",
    replace={"A <= -b / w < B": "A + 1e-3 < -b / w < B - 1e-3"},
)


# steepest_counterexample

steepest_counterexample = Key(exercises.steepest_counterexample)
steepest_counterexample.value("truth", "one_steep_unit_undone", "", ([1.0, 1.0], [0.0, 0.0], [1.0, -1.0]))
steepest_counterexample.value("right", "whole_numbers", "whole numbers, in tuples", ((2, 1), (4, 2), (-3, 5)))
steepest_counterexample.value(
    "right", "facing_each_other", "one unit on each side", ([1.0, -1.0], [-0.5, 0.5], [-3.0, 2.0])
)
steepest_counterexample.value("right", "both_to_the_left", "both units slope on the left", ([-1, -3], [1, 3], [5, -1]))
steepest_counterexample.value(
    "right", "tensors", "three tensors", (torch.ones(2), torch.zeros(2), torch.tensor([7.0, -6.0]))
)
steepest_counterexample.value(
    "mistake",
    "places_of_their_own",
    "Every unit of your network has its kink in a place of its own, and there the code is right: each slope that it adds up "
    "is that of a piece. When is one of them not?",
    ([1.0, 2.0, -1.0], [0.0, -3.0, 1.0], [1.0, -2.0, 0.5]),
)
steepest_counterexample.value(
    "mistake",
    "harmless",
    "Two of your units share a kink, which is the place to look at. But another piece of your wire is as steep as what the "
    "code adds up there, so the largest is right.",
    ([1.0, 1.0], [0.0, 0.0], [1.0, 1.0]),
)
steepest_counterexample.value(
    "mistake",
    "three_units",
    "Your classmate's code is wrong on it, well found. A smaller network shows it as well: two units are enough.",
    ([1.0, 1.0, 1.0], [0.0, 0.0, -5.0], [4.0, -4.0, 1.0]),
)
steepest_counterexample.value(
    "mistake",
    "w_of_zero",
    "A w is 0. Such a unit has no kink, and the code is not meant for it: choose other weights.",
    ([0.0, 1.0], [1.0, 0.0], [1.0, 1.0]),
)
steepest_counterexample.value(
    "mistake",
    "two_lists",
    "One list is missing: w, b and v are three lists, in brackets and with commas between them.",
    ([1.0, 1.0], [0.0, 0.0]),
)
steepest_counterexample.value(
    "mistake",
    "unequal",
    "The three lists differ in length. Each unit has one number in each of them.",
    ([1.0, 1.0], [0.0], [1.0, -1.0]),
)


# relu_interpolant

relu_interpolant = Key(exercises.relu_interpolant)


@relu_interpolant.truth
def from_the_values(n, A, B):
    """Two units, relu(x) and relu(−x), make the straight line of the first piece; every inner node turns it towards the next value."""
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


@relu_interpolant.right("scaled units: W1 is not one")
def scaled_units(n, A, B):
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


@relu_interpolant.right("a constant unit and parameters")
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


relu_interpolant.slip(
    "slopes_for_changes",
    "W2 holds the slopes themselves. Each unit goes on rising behind its piece, so the next one has to supply only the change: new slope minus old.",
    replace={"change = …": "", "change[:, None]": "slope[:, None]"},
)
relu_interpolant.slip(
    "no_unit_at_the_left_end",
    "The first piece is flat: only the inner nodes change the slope. A unit with its kink at A has to supply the whole slope of the first piece.",
    replace={
        "change = …": "",
        ".ones(1, n), -nodes[:-1], change": ".ones(1, n - 1), -nodes[1:-1], (slope[1:] - slope[:-1])",
    },
)
relu_interpolant.slip(
    "interval_fixed",
    "The interval is [−1, 1] whatever is asked for. A and B are arguments.",
    replace={".linspace(A, B, n + 1)": ".linspace(-1, 1, n + 1)"},
)
relu_interpolant.slip(
    "left_end_fixed",
    "The left end is −1 whatever A is. Nodes start at A, and so does the first kink.",
    replace={".linspace(A, B, n + 1)": ".linspace(-1, B, n + 1)"},
)
relu_interpolant.slip(
    "unit_interval",
    "The interval is [0, 1] whatever is asked for. A and B are arguments.",
    replace={".linspace(A, B, n + 1)": ".linspace(0, 1, n + 1)"},
)
relu_interpolant.slip(
    "constant_missing",
    "The constant is missing: b2 is 0. At A all units are zero, and the output should be A².",
    replace={"nodes[:1] ** 2": "torch.zeros(1)"},
)
relu_interpolant.slip(
    "constant_not_squared", "b2 is A. At A all units are zero, and the output should be A².", replace={" ** 2": ""}
)
relu_interpolant.slip(
    "one_piece_more",
    "There is one piece too many: n pieces have n + 1 nodes, both ends included. `linspace` counts nodes.",
    replace={"n + 1": "n + 2", ".ones(1, n)": ".ones(1, n + 1)"},
)
relu_interpolant.slip(
    "one_piece_less",
    "There is one piece too few: n pieces have n + 1 nodes, both ends included. `linspace` counts nodes.",
    replace={"n + 1": "n", ".ones(1, n)": ".ones(1, n - 1)"},
)
relu_interpolant.slip(
    "sign_of_the_bias",
    "The kinks are mirrored: relu(x + t) bends at −t. For a kink at t, b1 is −t.",
    replace={"-nodes[:-1]": "nodes[:-1]"},
)
relu_interpolant.slip(
    "tangents",
    "The slopes are those of the tangents, 2x at the nodes. A piece joins two points of the curve: its slope is rise over run between them.",
    replace={"nodes[:-1] + nodes[1:]": "2 * nodes[:-1]"},
)


@relu_interpolant.mistake("W2 holds the values x² at the nodes. It has to hold changes of slope.")
def values_for_changes(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    return torch.ones(1, n), -nodes[:-1], (nodes[:-1] ** 2)[:, None], nodes[:1] ** 2


relu_interpolant.slip(
    "rise_without_run",
    "The rise of each piece is not divided by its width: slopes are rise over run, and the pieces are (B − A)/n wide.",
    replace={
        "slope = nodes[:-1] + nodes[1:]\nchange = …": (
            "rise = nodes[1:] ** 2 - nodes[:-1] ** 2\nchange = torch.cat([rise[:1], rise[1:] - rise[:-1]])"
        )
    },
)
relu_interpolant.slip("first_slope_zero", replace={"slope[:1]": "torch.zeros(1)"}, form_of="no_unit_at_the_left_end")
relu_interpolant.slip(
    "old_minus_new",
    "The changes of slope have the wrong sign: new slope minus old.",
    replace={"slope[1:] - slope[:-1]": "slope[:-1] - slope[1:]"},
)
relu_interpolant.slip(
    "kinks_in_the_middle",
    "The kinks are in the middle of the pieces. They belong where two pieces meet: at the nodes.",
    replace={"-nodes[:-1]": "-slope / 2"},
)
relu_interpolant.slip(
    "laid_out_as_linear",
    "The weights are laid out as nn.Linear keeps them, [out, in]. The course writes x @ W1: W1 is [1, m] and W2 is [m, 1].",
    replace={".ones(1, n), -nodes[:-1], change[:, None]": ".ones(n, 1), -nodes[:-1], change[None, :]"},
)
relu_interpolant.slip(
    "flat_weights",
    "W1 and W2 have one dimension each. They are matrices: W1 is [1, m], W2 is [m, 1].",
    replace={".ones(1, n), -nodes[:-1], change[:, None]": ".ones(n), -nodes[:-1], change"},
)
relu_interpolant.slip(
    "b2_without_dimension",
    "b2 has no dimension, or two: shape [] or [1, 1]. It is a bias for one output: shape [1].",
    replace={"nodes[:1]": "nodes[0]"},
)
relu_interpolant.slip(
    "b2_a_number",
    "b2 is a Python number. It is a bias for one output: a tensor of shape [1].",
    replace={"nodes[:1] ** 2": "A**2"},
)
relu_interpolant.slip(
    "three_tensors",
    "b2 is missing: three tensors came back, four are asked for, W1, b1, W2, b2 in this order.",
    replace={", nodes[:1] ** 2": ""},
)
relu_interpolant.slip(
    "whole_numbers",
    "W1 and W2 hold whole numbers (an integer dtype), which cuts off what comes after the point. Make them floating-point.",
    replace={
        ".ones(1, n), -nodes[:-1], change[:, None]": ".ones(1, n, dtype=torch.long), -nodes[:-1], change[:, None].long()"
    },
)


@relu_interpolant.mistake(NO_RETURN)
def net_without_return(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    nodes[:-1] + nodes[1:]


@relu_interpolant.mistake(
    "Every unit changes the slope by the same amount, the first one too. It finds slope 0 and has to supply the whole slope of the first piece."
)
def first_like_the_others(n, A, B):
    h = (B - A) / n
    nodes = torch.linspace(A, B, n + 1)
    return torch.ones(1, n), -nodes[:-1], torch.full((n, 1), 2 * h), nodes[:1] ** 2


relu_interpolant.slip(
    "kinks_at_the_right_ends",
    "The kinks are one node too far to the right. A unit changes the line right of its kink, so each piece needs its kink at its left end.",
    replace={"-nodes[:-1]": "-nodes[1:]"},
)
relu_interpolant.slip(
    "constant_of_the_right_end",
    "b2 is B². All the units are zero at A, the left end: there b2 alone has to give the value.",
    replace={"nodes[:1]": "nodes[-1:]"},
)
relu_interpolant.slip(
    "mean_of_the_ends",
    "The slopes are half of what they should be: (t² − s²)/(t − s) is s + t, not their mean.",
    replace={"nodes[:-1] + nodes[1:]": "(nodes[:-1] + nodes[1:]) / 2"},
)
relu_interpolant.slip(
    "widths_for_slopes",
    "The widths of the pieces are where their slopes should be. A slope is rise over run: the difference of the values x², by the width.",
    replace={
        "slope = nodes[:-1] + nodes[1:]\nchange = …": (
            "width = nodes[1:] - nodes[:-1]\nchange = torch.cat([width[:1], width[1:] - width[:-1]])"
        )
    },
)


@relu_interpolant.mistake(
    "From each slope the weight before is subtracted. The old slope is what all units so far add up to, not the last weight alone."
)
def minus_the_last_weight(n, A, B):
    nodes = torch.linspace(A, B, n + 1)
    slope = nodes[:-1] + nodes[1:]
    W2 = slope.clone()
    for i in range(1, n):
        W2[i] = slope[i] - W2[i - 1]
    return torch.ones(1, n), -nodes[:-1], W2[:, None], nodes[:1] ** 2


@relu_interpolant.form("one_piece_less")
def one_node_less(n, A, B):
    nodes = torch.linspace(A, B, n)
    slope = 2 * nodes + (B - A) / n
    change = torch.cat([slope[:1], slope[1:] - slope[:-1]])
    return torch.ones(1, n), -nodes, change[:, None], nodes[:1] ** 2


relu_interpolant.slip(
    "changes_in_W1",
    "The changes of slope are in W1, inside ReLU. There a negative number makes a unit look to the left; they belong in W2.",
    replace={"return …": "return change[None, :], -nodes[:-1] * change, torch.ones(n, 1), nodes[:1] ** 2"},
)
relu_interpolant.slip(
    "changes_in_W1_kinks_not_scaled", of="changes_in_W1", replace={" * change": ""}, form_of="changes_in_W1"
)
relu_interpolant.slip(
    "moved_down",
    "This is the net moved down by half of its error. It is nearer to x², but it does not meet it at the nodes, and that is asked for.",
    replace={" ** 2": " ** 2 - ((B - A) / n) ** 2 / 8"},
)
relu_interpolant.slip(
    "flat_way_out",
    "W2 has one dimension. It is a matrix with one column: shape [m, 1].",
    replace={"change[:, None]": "change"},
)
relu_interpolant.slip(
    "row_for_b1", "b1 is a matrix with one row. It is a bias: shape [m].", replace={"-nodes[:-1]": "-nodes[None, :-1]"}
)
relu_interpolant.slip("matrix_for_b2", replace={"nodes[:1]": "nodes[None, :1]"}, form_of="b2_without_dimension")
relu_interpolant.slip(
    "weights_before_biases",
    "The order is wrong. Return W1, b1, W2, b2, in the order in which x meets them.",
    replace={".ones(1, n), -nodes[:-1], change[:, None]": ".ones(1, n), change[:, None], -nodes[:-1]"},
)


@relu_interpolant.mistake("Lists came back. Four tensors are asked for: `torch.tensor(…)` makes them from lists.")
def lists_for_tensors(n, A, B):
    h = (B - A) / n
    biases = [-(A + i * h) for i in range(n)]
    weights = [[2 * A + h]] + [[2 * h]] * (n - 1)
    return [[1.0] * n], biases, weights, [A**2]


# fewest_units: many networks are right. The facts say what each computes, and with how many units.

fewest_units = Key(exercises.fewest_units)


@fewest_units.truth
def every_way_to_turn_them(n, A, B):
    """Tries for every inner corner both sides on which its unit may slope; where none of these networks is right, one unit more brings the first slope."""
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


@fewest_units.base
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


@fewest_units.right("how many slope to the left, by a formula; the height at A, minus what they bring there")
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


@fewest_units.right(
    "every number of units that slope to the left is tried, and the network measured; which of them do is left to chance"
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


@fewest_units.right("from the middle of the flat piece outwards, with weights that are not 1")
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


fewest_units.slip(
    "one_unit_for_each_piece",
    "It has n units for n pieces, on every interval. On some of them n − 1 are enough: a unit for each corner inside, some of them turned round.",
    replace={"if not flat:": "if True:"},
)
fewest_units.slip(
    "saved_only_around_zero",
    "A unit is saved only where 0 is in the middle of the interval. Other intervals have a flat piece, too.",
    replace={"if not flat:": "if not flat or A != -B:"},
)
fewest_units.slip(
    "saved_only_where_it_begins_flat",
    "A unit is saved only where the first piece is flat. With some of the units turned round, the first piece has another slope.",
    replace={"if not flat:": "if not flat or flat[0] > 0:"},
)
fewest_units.slip(
    "all_to_the_right",
    "All n − 1 units slope to the right, so the wire is flat on the first piece, on every interval. Which units could give that piece its slope?",
    replace={"-1.0 if j < k else 1.0": "1.0"},
)
fewest_units.slip(
    "turned_the_wrong_way",
    "The units left of the flat piece slope to the right, and those right of it to the left, so all of them are at work on it. They should be silent there.",
    replace={"-1.0 if j < k else 1.0": "1.0 if j < k else -1.0"},
)
fewest_units.slip(
    "turned_strengths",
    "W2 is negative for the units that slope to the left. Their kinks then bend the wire down. The slope changes by |W1|·W2, and x² bends upwards everywhere.",
    replace={"torch.full((n - 1, 1), 2 * h)": "2 * h * side[:, None]"},
)
fewest_units.slip(
    "bias_not_turned",
    "A unit that slopes to the left has its kink in the wrong place. relu(−x + b) has it at x = b, so b1 is plus the kink there.",
    replace={"-side * nodes[1:-1]": "-nodes[1:-1]"},
)
fewest_units.slip(
    "height_at_the_left_end",
    "b2 is A². The units that slope to the left are not silent at A. Where are all units silent, and how high is the wire there?",
    replace={"nodes[k : k + 1]": "nodes[:1]"},
)
fewest_units.slip(
    "height_of_the_vertex",
    "b2 is 0, the height of x² at x = 0. The wire is above the curve there: on the flat piece it has the height of the two corners.",
    replace={"nodes[k : k + 1] ** 2": "torch.zeros(1)"},
)
fewest_units.slip(
    "a_unit_of_strength_zero",
    "The network has one unit too many, one that does nothing. Each column of W1 is a unit, whatever its strength.",
    replace={
        "return side[None, :], -side * nodes[1:-1], torch.full((n - 1, 1), 2 * h), nodes[k : k + 1] ** 2": (
            "side, out = torch.cat([torch.ones(1), side]), torch.full((n, 1), 2 * h)\n"
            "out[0] = 0\n"
            "return side[None, :], -side * nodes[:-1], out, nodes[k : k + 1] ** 2"
        )
    },
)
fewest_units.slip(
    "zero_inside_is_enough",
    "A unit is saved wherever 0 is inside of the interval, and the network then misses x². That piece has to be flat, so 0 has to be in its middle.",
    replace={
        "nodes[k] + nodes[k + 1] == 0": "nodes[k] <= 0 < nodes[k + 1]",
    },
)
fewest_units.slip(
    "always_one_fewer",
    "It has n − 1 units on every interval. Some intervals have no flat piece, and there the first slope takes a unit of its own.",
    replace={
        "flat = …": "flat = [min(range(n), key=lambda k: abs(nodes[k] + nodes[k + 1]))]",
    },
)
fewest_units.slip(
    "whole_but_outside",
    "The number of units that would slope to the left is whole here, but it is below 0, or above n − 1. So the flat piece is outside of the interval.",
    of=by_a_count,
    replace={"left != int(left) or not 0 <= left < n": "left != int(left)"},
)
fewest_units.slip(
    "only_odd_numbers",
    "A unit is saved only for odd n. What counts is where 0 is in the interval: two pieces may do with one unit as well.",
    replace={"if not flat:": "if not flat or n % 2 == 0:"},
)
fewest_units.slip(
    "none_where_it_takes_n",
    "None comes back where n − 1 units are not enough. Return the network of n units there.",
    replace={
        "slope = nodes[:-1] + nodes[1:]\nchange = torch.cat([slope[:1], slope[1:] - slope[:-1]])\n"
        "return torch.ones(1, n), -nodes[:-1], change[:, None], nodes[:1] ** 2": "return None"
    },
)
fewest_units.slip(
    "one_piece_by_one_unit",
    "One flat piece is made with a unit. It needs none: b2 alone is the whole network, and W1 has the shape [1, 0].",
    replace={"if not flat:": "if not flat or n == 1:"},
)
fewest_units.slip(
    "fewest_not_returned",
    NO_RETURN,
    replace={"return side[None, :],": "side[None, :],", "return torch.ones": "torch.ones"},
)


# curve_interpolant

curve_interpolant = Key(exercises.curve_interpolant)


@curve_interpolant.truth
def from_the_heights(y, A, B):
    """Two units, relu(x) and relu(−x), make the straight line of the first piece; every inner node turns it towards the next height."""
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


@curve_interpolant.right("second differences, scaled units")
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


curve_interpolant.slip(
    "still_x_squared",
    "This is still the network for x²: the heights in y are never looked at.",
    replace={
        "slope = (y[1:] - y[:-1]) / (nodes[1:] - nodes[:-1])": "slope = nodes[:-1] + nodes[1:]",
        "y[:1]": "nodes[:1] ** 2",
    },
)
curve_interpolant.slip(
    "slopes_of_x_squared",
    "The slopes are still those of x², s + t. Here a slope is the rise from one height of y to the next, divided by the width of the piece.",
    replace={"slope = (y[1:] - y[:-1]) / (nodes[1:] - nodes[:-1])": "slope = nodes[:-1] + nodes[1:]"},
)
curve_interpolant.slip(
    "constant_of_x_squared",
    "b2 is still A². At A all units are zero, so b2 alone gives the height there: the first of y.",
    replace={"change[:, None], y[:1]": "change[:, None], nodes[:1] ** 2"},
)
curve_interpolant.slip(
    "curve_slopes_for_changes",
    "W2 holds the slopes themselves. Each unit goes on rising behind its piece, so the next one has to supply only the change: new slope minus old.",
    replace={"change = …": "", "change[:, None]": "slope[:, None]"},
)
curve_interpolant.slip(
    "curve_first_slope_zero",
    "The first piece is flat: only the inner nodes change the slope. A unit with its kink at A has to supply the whole slope of the first piece.",
    replace={"slope[:1]": "torch.zeros(1, dtype=y.dtype)"},
)
curve_interpolant.slip(
    "curve_rise_without_run",
    "The rise of each piece is not divided by its width: slopes are rise over run, and the pieces are (B − A)/n wide.",
    replace={" / (nodes[1:] - nodes[:-1])": ""},
)
curve_interpolant.slip(
    "heights_for_changes",
    "W2 holds the heights. It has to hold changes of slope.",
    replace={"change[:, None]": "y[:-1, None]"},
)
curve_interpolant.slip(
    "curve_constant_missing",
    "The constant is missing: b2 is 0. At A all units are zero, and the output should be the first height.",
    replace={"change[:, None], y[:1]": "change[:, None], torch.zeros(1, dtype=y.dtype)"},
)
curve_interpolant.slip(
    "constant_of_the_last_height",
    "b2 is the last height. All the units are zero at A, the left end: there b2 alone has to give the height.",
    replace={"change[:, None], y[:1]": "change[:, None], y[-1:]"},
)
curve_interpolant.slip(
    "curve_sign_of_the_bias",
    "The kinks are mirrored: relu(x + t) bends at −t. For a kink at t, b1 is −t.",
    replace={"-nodes[:-1], change": "nodes[:-1], change"},
)
curve_interpolant.slip(
    "curve_old_minus_new",
    "The changes of slope have the wrong sign: new slope minus old.",
    replace={"slope[1:] - slope[:-1]": "slope[:-1] - slope[1:]"},
)
curve_interpolant.slip(
    "curve_interval_fixed",
    "The interval is [−1, 1] whatever is asked for. A and B are arguments.",
    replace={".linspace(A, B": ".linspace(-1, 1"},
)
curve_interpolant.slip(
    "curve_unit_steps",
    "The nodes are 0, 1, 2, … whatever A and B are. They are equally spaced from A to B.",
    replace={"torch.linspace(A, B, n + 1, dtype=y.dtype)": "torch.arange(n + 1, dtype=y.dtype)"},
)
curve_interpolant.slip(
    "as_many_pieces_as_heights",
    "There are as many pieces as heights here. n + 1 heights make n pieces.",
    replace={"n = len(y) - 1": "n = len(y)"},
)
curve_interpolant.slip(
    "curve_kinks_at_the_right_ends",
    "The kinks are one node too far to the right. A unit changes the line right of its kink, so each piece needs its kink at its left end.",
    replace={"-nodes[:-1], change": "-nodes[1:], change"},
)
curve_interpolant.slip(
    "curve_laid_out_as_linear",
    "The weights are laid out as nn.Linear keeps them, [out, in]. The course writes x @ W1: W1 is [1, m] and W2 is [m, 1].",
    replace={"torch.ones(1, n": "torch.ones(n, 1", "change[:, None]": "change[None, :]"},
)
curve_interpolant.slip(
    "curve_flat_weights",
    "W2 has one dimension. It is a matrix with one column: shape [m, 1].",
    replace={"change[:, None]": "change"},
)
curve_interpolant.slip(
    "curve_b2_without_dimension",
    "b2 has no dimension: shape []. It is a bias for one output: shape [1].",
    replace={"change[:, None], y[:1]": "change[:, None], y[0]"},
)
curve_interpolant.slip(
    "heights_changed",
    "The network is right, but y itself is changed: `-=`, an assignment to `y[…]`, or a method with a trailing underscore works in place. The caller may "
    "still need the heights.",
    replace={
        "return …": "first = y[:1].clone()\ny -= first\nreturn torch.ones(1, n, dtype=y.dtype), -nodes[:-1], change[:, None], first",
    },
)
curve_interpolant.slip(
    "curve_three_tensors",
    "b2 is missing: three tensors came back, four are asked for, W1, b1, W2, b2 in this order.",
    replace={", y[:1]": ""},
)


@curve_interpolant.mistake(NO_RETURN)
def curve_without_return(y, A, B):
    torch.diff(y)


@curve_interpolant.mistake("Lists came back. Four tensors are asked for: `torch.tensor(…)` makes them from lists.")
def curve_as_lists(y, A, B):
    h = (B - A) / (len(y) - 1)
    slopes = [0.0, *((b - a) / h for a, b in itertools.pairwise(y.tolist()))]
    changes = [[new - old] for old, new in itertools.pairwise(slopes)]
    return [[1.0] * (len(y) - 1)], [-(A + i * h) for i in range(len(y) - 1)], changes, [y[0].item()]


# activation

activation = Key(exercises.activation)


@activation.truth
def entry_by_entry(name, x, beta=1.0):
    """One entry at a time, from the definitions (Hendrycks and Gimpel 2016). The slope is measured by five points: no rule of differentiation is used."""

    def act(at):
        if name == "relu":
            return at if at > 0 else 0.0
        if name == "gelu":
            return at * 0.5 * math.erfc(-at / math.sqrt(2))
        if name == "gelu_tanh":
            return 0.5 * at * (1 + math.tanh(math.sqrt(2 / math.pi) * (at + 0.044715 * at * at * at)))
        small = math.exp(-abs(beta * at))  # at most 1
        return at * (1 if beta * at >= 0 else small) / (1 + small)

    def measured(at):
        h = 1e-3
        return (act(at - 2 * h) - 8 * act(at - h) + 8 * act(at + h) - act(at + 2 * h)) / (12 * h)

    values, slopes = [], []
    for z in x.reshape(-1):
        at = float(z.detach())
        slope = measured(at)
        values.append(act(at) + slope * (z - z.detach()))
        slopes.append(torch.tensor(slope, dtype=x.dtype))
    return torch.stack(values).reshape(x.shape), torch.stack(slopes).reshape(x.shape)


@activation.right("torch's own values, and each slope by its share")
def with_torchs_values(name, x, beta=1.0):
    if name == "relu":
        return F.relu(x), torch.heaviside(x, torch.zeros_like(x))
    if name == "gelu":
        bell = torch.exp(-x * x / 2) / (2 * math.pi) ** 0.5
        return F.gelu(x), torch.special.ndtr(x) + x * bell
    if name == "gelu_tanh":
        u2 = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        s = torch.sigmoid(u2)
        return F.gelu(x, approximate="tanh"), s + x * s * (1 - s) * 2 * math.sqrt(2 / math.pi) * (
            1 + 3 * 0.044715 * x * x
        )
    s = torch.sigmoid(beta * x)
    return x * s, s * (1 + beta * x * (1 - s))


@activation.right("a table of shares and of their slopes, as a list")
def table_of_shares(name, x, beta=1.0):
    k = (2 / math.pi) ** 0.5
    t = torch.tanh(k * (x + 0.044715 * x.pow(3)))
    s = torch.sigmoid(beta * x)
    share, growth = {
        "relu": ((x > 0) * torch.ones_like(x), torch.zeros_like(x)),
        "gelu": (
            torch.distributions.Normal(0.0, 1.0).cdf(x),
            torch.exp(torch.distributions.Normal(0.0, 1.0).log_prob(x)),
        ),
        "gelu_tanh": ((1 + t) / 2, (1 - t.square()) / 2 * k * (1 + 0.134145 * x.square())),
        "silu": (s, beta * s * (1 - s)),
    }[name]
    return [x * share, share + x * growth]


@activation.right("modules, erfc, sech² and tanh")
def with_modules(name, x, beta=1.0):
    if name == "relu":
        value = nn.ReLU()(x)
        return value, torch.sign(value)
    if name == "gelu":
        return nn.GELU()(x), 0.5 * torch.erfc(-x / 2**0.5) + 0.3989422804014327 * x * torch.exp(-0.5 * x.square())
    if name == "gelu_tanh":
        u = 0.7978845608028654 * (x + 0.044715 * x**3)
        slope = 0.5 + 0.5 * u.tanh() + 0.5 * x * 0.7978845608028654 * (1 + 0.134145 * x**2) / torch.cosh(u) ** 2
        return nn.GELU("tanh")(x), slope
    half = torch.tanh(0.5 * beta * x)
    return 0.5 * x * (1 + half), 0.5 * (1 + half) + 0.25 * beta * x * (1 - half**2)


@activation.right("the values by other ways, in place on fresh tensors")
def by_other_ways(name, x, beta=1.0):
    if name == "relu":
        out = x.clone()
        out[out < 0] = 0
        return out, (x >= 0) * torch.ones_like(x)
    if name == "silu":
        beta = torch.as_tensor(beta, dtype=x.dtype)
        s = x.mul(beta).sigmoid()
        slope = (1 - s).mul_(beta).mul_(x).add_(1).mul_(s)
        return x.mul(s), slope
    if name == "gelu":
        root = torch.sqrt(torch.tensor(2.0, dtype=x.dtype))
        phi = 0.5 * (1.0 + torch.special.erf(x / root))
        return phi * x, phi + x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3))
    t = torch.tanh(inner)
    return 0.5 * x * (1.0 + t), 0.5 * (
        1 + t + x * (1 - t) * (1 + t) * math.sqrt(2.0 / math.pi) * (1 + 3 * 0.044715 * x * x)
    )


@activation.base
def plain_activation(name, x, beta=1.0):
    if name == "relu":
        value = x.clamp(min=0)
        slope = (x > 0).to(x.dtype)
    if name == "gelu":
        phi = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        value = x * phi
        slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    if name == "gelu_tanh":
        k = math.sqrt(2 / math.pi)
        t = torch.tanh(k * (x + 0.044715 * x**3))
        value = 0.5 * x * (1 + t)
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
    if name == "silu":
        s = torch.sigmoid(beta * x)
        value = x * s
        slope = s + beta * x * s * (1 - s)
    return value, slope


# relu

activation.slip(
    "python_max",
    "`relu`: Python's `max` compares x as a whole with 0 and has to choose one of them; a tensor has no single answer to “is "
    "it larger?”. torch has functions that compare entry by entry.",
    replace={"x.clamp(min=0)": "max(0, x)"},
)
activation.slip("python_max_of_zero", replace={"x.clamp(min=0)": "max(x, torch.tensor(0.0))"}, form_of="python_max")
activation.slip("python_if", replace={"x.clamp(min=0)": "x if x > 0 else torch.zeros_like(x)"}, form_of="python_max")
activation.slip(
    "in_place",
    "`relu`: x itself is changed: a trailing underscore (`relu_`, `clamp_`), `inplace=True`, or an assignment such as `x[x < "
    "0] = 0` works in place. Make a new tensor.",
    replace={"x.clamp(min=0)": "x.relu_()"},
)
activation.slip("inplace_argument", replace={"x.clamp(min=0)": "F.relu(x, inplace=True)"}, form_of="in_place")
activation.slip("assigned_in_place", replace={"value = x.clamp(min=0)": "x[x < 0] = 0\nvalue = x"}, form_of="in_place")
activation.slip(
    "leaky",
    "`relu`: This is leaky ReLU: it lets a small part of the negative numbers through. ReLU lets none through.",
    replace={"x.clamp(min=0)": "torch.where(x > 0, x, 0.01 * x)"},
)
activation.slip(
    "mask_returned",
    "`relu`: The mask comes back, which says where x is positive, instead of the numbers themselves. What is x there?",
    replace={"x.clamp(min=0)": "x > 0"},
)
activation.slip(
    "mask_as_numbers",
    replace={"x.clamp(min=0)": "torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x))"},
    form_of="mask_returned",
)
activation.slip("mask_cast", replace={"x.clamp(min=0)": "(x > 0).to(x.dtype)"}, form_of="mask_returned")
activation.slip(
    "absolute",
    "`relu`: This is the absolute value: negative numbers lose their sign. They should become 0.",
    replace={"x.clamp(min=0)": "x.abs()"},
)
activation.slip(
    "negative_half",
    "`relu`: The wrong half is kept: negative numbers pass, positive ones become 0.",
    replace={"x.clamp(min=0)": "x.clamp(max=0)"},
)
activation.slip(
    "of_minus_x",
    "`relu`: The sign of the negative half is turned: this is relu(−x). The positive numbers are those that should pass.",
    replace={"x.clamp(min=0)": "torch.relu(-x)"},
)
activation.slip(
    "twice", "`relu`: This is twice too large: x + |x| is 2x for positive x.", replace={"x.clamp(min=0)": "x + x.abs()"}
)
activation.slip(
    "capped",
    "`relu`: Large numbers are capped at 6: this is ReLU6. ReLU has no upper end.",
    replace={"x.clamp(min=0)": "x.clamp(0, 6)"},
)
activation.slip(
    "capped_at_one",
    "`relu`: Large numbers are capped at 1: `clamp` was given an upper end as well. ReLU has none.",
    replace={"x.clamp(min=0)": "x.clamp(0, 1)"},
)
activation.slip(
    "softplus",
    "`relu`: This is softplus, log(1 + eˣ), a smooth relative of ReLU: it has no kink, and is ln 2 at x = 0 instead of 0.",
    replace={"x.clamp(min=0)": "F.softplus(x)"},
)
activation.slip(
    "largest_entry",
    "`relu`: One number comes back for all of x: `x.max()` and `torch.max(x)` look for the largest entry. ReLU keeps the shape of x.",
    replace={"x.clamp(min=0)": "x.max()"},
)
activation.slip(
    "positives_only",
    "`relu`: Only the positive entries come back, in a row: `x[x > 0]` throws the others away. They should stay in their places, as zeros.",
    replace={"x.clamp(min=0)": "x[x > 0]"},
)
activation.slip(
    "python_max_row_by_row",
    replace={"x.clamp(min=0)": "torch.tensor([max(0, row) for row in x])"},
    form_of="python_max",
)
activation.slip(
    "largest_along_a_dimension",
    "`relu`: The second argument of `torch.max` is a dimension when it is a number: the largest entries along dimension 0 "
    "are looked for, and their places. `clamp(min=0)` compares each entry with 0.",
    replace={"x.clamp(min=0)": "torch.max(x, 0)"},
)
activation.slip(
    "largest_along_a_dimension_values",
    replace={"x.clamp(min=0)": "torch.max(x, 0).values"},
    form_of="largest_along_a_dimension",
)
activation.slip(
    "maximum_with_a_number",
    "`relu`: `torch.maximum` compares two tensors, and 0 is a number. Hand it `torch.zeros_like(x)`, or use `clamp(min=0)`.",
    replace={"x.clamp(min=0)": "torch.maximum(x, 0)"},
)
activation.slip(
    "relu_module_from_x",
    "`relu`: `nn.ReLU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.ReLU()(x)`.",
    replace={"x.clamp(min=0)": "nn.ReLU(x)"},
)
activation.slip(
    "elu_for_relu",
    "`relu`: This is ELU: for negative x it gives eˣ − 1. ReLU gives 0 there.",
    replace={"x.clamp(min=0)": "F.elu(x)"},
)
activation.slip(
    "slope_is_a_mask",
    "`relu`: The slope is a tensor of truth values. It should be numbers, 0 and 1, with the dtype of x.",
    replace={"(x > 0).to(x.dtype)": "x > 0"},
)
activation.slip(
    "slope_of_one",
    "`relu`: The slope is 1 everywhere. Left of 0 ReLU is flat.",
    replace={"(x > 0).to(x.dtype)": "torch.ones_like(x)"},
)
activation.slip(
    "sign_for_slope",
    "`relu`: The slope is the sign of x, which is −1 on the left. There ReLU is flat, and its slope is 0.",
    replace={"(x > 0).to(x.dtype)": "torch.sign(x)"},
)
activation.slip(
    "value_for_slope",
    "`relu`: The slope is the value once more. Right of 0 ReLU rises with slope 1, however large x is.",
    replace={"(x > 0).to(x.dtype)": "value"},
)

# gelu

activation.slip(
    "without_root_two",
    "`gelu`: The argument of erf is x: it should be x/√2. erf belongs to a bell curve with another width.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x))"},
)
activation.slip(
    "times_root_two",
    "`gelu`: The argument of erf is x·√2: x is divided by √2, not multiplied.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x * math.sqrt(2)))"},
)
activation.slip(
    "half_the_argument",
    "`gelu`: The argument of erf is x/2: it should be x/√2. Is a `math.sqrt` missing?",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x / 2))"},
)
activation.slip(
    "without_half",
    "`gelu`: The factor ½ is missing: 1 + erf runs from 0 to 2, and Φ from 0 to 1.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "1 + torch.erf(x / math.sqrt(2))"},
)
activation.slip(
    "without_one",
    "`gelu`: The 1 is missing in 1 + erf(…): Φ(0) should be ½, not 0.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * torch.erf(x / math.sqrt(2))"},
)
activation.slip(
    "falling_phi",
    "`gelu`: This is 1 − erf(…): the sign is turned, and Φ falls instead of rising.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 - torch.erf(x / math.sqrt(2)))"},
)
activation.slip(
    "phi_alone", "`gelu`: This is Φ(x) alone: GELU multiplies it by x.", replace={"value = x * phi": "value = phi"}
)
activation.slip(
    "density_instead_of_area",
    "`gelu`: x is multiplied by φ, the bell curve itself. Φ is the area under it, from the far left up to x: a number from 0 to 1.",
    replace={"value = x * phi": "value = x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)"},
)
activation.slip(
    "tanh_form",
    "`gelu`: This is the tanh approximation. The exact form uses erf; the two differ most, by 4.7e-4, near |x| = 2.7.",
    replace={"value = x * phi": 'value = F.gelu(x, approximate="tanh")'},
)
activation.slip(
    "exact_by_sigmoid",
    "`gelu`: This is x·sigmoid(1.702·x), a coarser approximation, off by up to 0.02. The exact form uses erf.",
    replace={"value = x * phi": "value = x * torch.sigmoid(1.702 * x)"},
)
activation.slip(
    "exact_by_sigmoid_rounded",
    replace={"value = x * phi": "value = x * torch.sigmoid(1.7 * x)"},
    form_of="exact_by_sigmoid",
)
activation.slip(
    "silu_for_gelu",
    "`gelu`: This is SiLU, x·sigmoid(x). GELU multiplies x by Φ(x), which rises more steeply.",
    replace={"value = x * phi": "value = F.silu(x)"},
)
activation.slip(
    "math_erf",
    "`gelu`: `math.erf` takes one number, not a tensor. `torch.erf` does the same for every entry of a tensor.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + math.erf(x / math.sqrt(2)))"},
)
activation.slip(
    "torch_sqrt_of_a_number",
    "`gelu`: `torch.sqrt` takes a tensor, and 2 is a Python number. `math.sqrt(2)` or `2**0.5` gives its root.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x / torch.sqrt(2)))"},
)
activation.slip(
    "divided_outside",
    "`gelu`: A bracket closes too early: erf(x)/√2 instead of erf(x/√2). The division belongs inside.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(x) / math.sqrt(2))"},
)
activation.slip(
    "brackets_missing",
    "`gelu`: The bracket round 1 + erf(…) is missing: ½·x multiplies the whole sum, not the 1 alone.",
    replace={"value = x * phi": "value = 0.5 * x * 1 + torch.erf(x / math.sqrt(2))"},
)
activation.slip(
    "x_on_erf_only",
    "`gelu`: x multiplies erf(…) alone: GELU(0) comes out as ½ instead of 0. It multiplies the whole Φ(x).",
    replace={"value = x * phi": "value = 0.5 * (1 + x * torch.erf(x / 2**0.5))"},
)
activation.slip(
    "half_on_one_only",
    "`gelu`: The ½ multiplies the 1 alone: ½ + erf(…) runs from −½ to 1½. It belongs in front of the whole sum.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 + torch.erf(x / math.sqrt(2))"},
)
activation.slip(
    "root_of_x_too",
    "`gelu`: The root is taken of x as well: √(x/2), which is NaN for negative x. Only the 2 is under the root.",
    replace={"0.5 * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * (1 + torch.erf(torch.sqrt(x / 2)))"},
)
activation.slip(
    "gelu_module_from_x",
    "`gelu`: `nn.GELU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.GELU()(x)`.",
    replace={"value = x * phi": "value = nn.GELU(x)"},
)
activation.slip(
    "share_for_slope",
    "`gelu`: The slope is Φ(x) alone, as if the share stood still. It grows with x: the rule for products has a second term, x times the bell curve.",
    replace={"slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi"},
)
activation.slip(
    "share_for_slope_as_a_quotient",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = torch.where(x == 0, 0.5, value / x)"
    },
    form_of="share_for_slope",
)
activation.slip(
    "shares_for_slopes",
    "The slope of all three smooth functions is the share alone here, as if the share stood still. It grows with x: the rule for products has a second term, "
    "x times the slope of the share.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi",
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = 0.5 * (1 + t)",
        "slope = s + beta * x * s * (1 - s)": "slope = s",
    },
)
activation.slip(
    "bell_term_only",
    "`gelu`: The slope has the term in which the share changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is ½.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)"
    },
)
activation.slip(
    "bell_without_its_root",
    "`gelu`: The bell curve is not divided by √(2π), so its area is not 1.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi + x * torch.exp(-0.5 * x**2)"
    },
)
activation.slip(
    "bell_without_half",
    "`gelu`: The exponent of the bell curve is −x². It is −x²/2.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi + x * torch.exp(-(x**2)) / math.sqrt(2 * math.pi)"
    },
)
activation.slip(
    "bell_without_x",
    "`gelu`: The bell curve is added without its factor x. The second term is x times the slope of Φ.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi + torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)"
    },
)
activation.slip(
    "bell_with_a_plus",
    "`gelu`: The exponent of the bell curve has a plus, so it grows without end. It is −x²/2.",
    replace={
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": "slope = phi + x * torch.exp(0.5 * x**2) / math.sqrt(2 * math.pi)"
    },
)

# gelu_tanh: its value

activation.slip(
    "exact_form",
    "`gelu_tanh`: This is the exact GELU, x·Φ(x) with erf, which `F.gelu` computes unless told otherwise. The tanh form "
    "differs from it most, by 4.7e-4, near |x| = 2.7.",
    replace={"value = 0.5 * x * (1 + t)": "value = F.gelu(x)"},
)
activation.slip(
    "square_for_cube",
    "`gelu_tanh`: The cube is a square: 0.044715·x². Try a negative x: that term should change its sign with x.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.044715 * x**2))"},
)
activation.slip(
    "tanh_without_half",
    "`gelu_tanh`: The factor ½ is missing: 1 + tanh runs from 0 to 2, and what multiplies x from 0 to 1.",
    replace={"value = 0.5 * x * (1 + t)": "value = x * (1 + t)"},
)
activation.slip(
    "root_of_two_pi",
    "`gelu_tanh`: The root is √(2π). The formula has 2/π under the root, which gives 0.798.",
    replace={"k = math.sqrt(2 / math.pi)": "k = math.sqrt(2 * math.pi)"},
)
activation.slip(
    "root_of_half_pi",
    "`gelu_tanh`: The root is √(π/2). The formula has 2/π under the root, which gives 0.798.",
    replace={"k = math.sqrt(2 / math.pi)": "k = math.sqrt(math.pi / 2)"},
)
activation.slip(
    "no_root",
    "`gelu_tanh`: The square root is missing: 2/π is 0.637, its root is 0.798.",
    replace={"k = math.sqrt(2 / math.pi)": "k = 2 / math.pi"},
)
activation.slip(
    "root_of_two_only",
    "`gelu_tanh`: Only the 2 is under the root: √2/π. The formula has √(2/π).",
    replace={"k = math.sqrt(2 / math.pi)": "k = math.sqrt(2) / math.pi"},
)
activation.slip(
    "no_factor",
    "`gelu_tanh`: The factor √(2/π) is missing inside tanh.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(x + 0.044715 * x**3)"},
)
activation.slip(
    "no_cubic_term",
    "`gelu_tanh`: The cubic term is missing: tanh(√(2/π)·x) alone bends too slowly.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * x)"},
)
activation.slip(
    "factor_on_both",
    "`gelu_tanh`: The factor 0.044715 belongs to x³ alone. Here it multiplies x as well.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * 0.044715 * (x + x**3))"},
)
activation.slip(
    "factor_cubed",
    "`gelu_tanh`: This is the cube of 0.044715·x. Only x is cubed, so check the brackets.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + (0.044715 * x) ** 3))"},
)
activation.slip(
    "root_on_x_only",
    "`gelu_tanh`: A bracket is missing: √(2/π) multiplies x only. It multiplies the whole sum x + 0.044715·x³.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * x + 0.044715 * x**3)"},
)
activation.slip(
    "typo_in_the_constant",
    "`gelu_tanh`: The number in front of x³ is 0.44715: a zero is missing after the point.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.44715 * x**3))"},
)
activation.slip(
    "tanh_without_one",
    "`gelu_tanh`: The 1 is missing in 1 + tanh(…), so negative x come back positive.",
    replace={"value = 0.5 * x * (1 + t)": "value = 0.5 * x * t"},
)
activation.slip(
    "tanh_without_x",
    "`gelu_tanh`: The factor x in front is missing: this is only the stand-in for Φ(x).",
    replace={"value = 0.5 * x * (1 + t)": "value = 0.5 * (1 + t)"},
)
activation.slip(
    "tanh_by_quick_sigmoid",
    "`gelu_tanh`: This is x·sigmoid(1.702·x), a coarser approximation of GELU, off by up to 0.02. The formula asked for has tanh and a cube.",
    replace={"value = 0.5 * x * (1 + t)": "value = x * torch.sigmoid(1.702 * x)"},
)
activation.slip(
    "math_tanh",
    "`gelu_tanh`: `math.tanh` takes one number, not a tensor. `torch.tanh` does the same for every entry of a tensor.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "math.tanh(k * (x + 0.044715 * x**3))"},
)
activation.slip(
    "tanh_torch_sqrt",
    "`gelu_tanh`: `torch.sqrt` takes a tensor, and 2/π is a Python number. `math.sqrt(2 / math.pi)` gives its root.",
    replace={"k = math.sqrt(2 / math.pi)": "k = torch.sqrt(2 / math.pi)"},
)
activation.slip(
    "cube_alone",
    "`gelu_tanh`: The term x is missing in the inner bracket: it is x + 0.044715·x³, not the cube alone.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (0.044715 * x**3))"},
)
activation.slip(
    "inner_product",
    "`gelu_tanh`: The inner bracket multiplies where it should add: x + 0.044715·x³.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x * 0.044715 * x**3))"},
)
activation.slip(
    "cube_subtracted",
    "`gelu_tanh`: The cubic term is subtracted. It is added: x + 0.044715·x³.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x - 0.044715 * x**3))"},
)
activation.slip(
    "one_minus_tanh",
    "`gelu_tanh`: This is 1 − tanh(…): the sign is turned, so negative x pass and positive ones do not.",
    replace={"value = 0.5 * x * (1 + t)": "value = 0.5 * x * (1 - t)"},
)
activation.slip(
    "tanh_brackets_missing",
    "`gelu_tanh`: The bracket round 1 + tanh(…) is missing: ½·x multiplies the whole sum, not the 1 alone.",
    replace={"value = 0.5 * x * (1 + t)": "value = 0.5 * x * 1 + t"},
)
activation.slip(
    "root_rounded",
    "`gelu_tanh`: The factor √(2/π) is rounded, or π is: the check sees six digits. Let `math.sqrt(2 / math.pi)` compute it.",
    replace={"k = math.sqrt(2 / math.pi)": "k = 0.8"},
)
activation.slip("root_rounded_to_three", replace={"k = math.sqrt(2 / math.pi)": "k = 0.798"}, form_of="root_rounded")
activation.slip("root_rounded_to_four", replace={"k = math.sqrt(2 / math.pi)": "k = 0.7979"}, form_of="root_rounded")
activation.slip("pi_rounded", replace={"k = math.sqrt(2 / math.pi)": "k = math.sqrt(2 / 3.14)"}, form_of="root_rounded")
activation.slip(
    "constant_not_quite",
    "`gelu_tanh`: The number in front of x³ is not quite right: it is 0.044715, with all its digits.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.04715 * x**3))"},
)
activation.slip(
    "constant_rounded",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.0447 * x**3))"},
    form_of="constant_not_quite",
)
activation.slip(
    "constant_cut",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.04471 * x**3))"},
    form_of="constant_not_quite",
)
activation.slip(
    "constant_with_a_zero_too_many",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.0044715 * x**3))"},
    form_of="constant_not_quite",
)
activation.slip(
    "caret_for_power",
    "`gelu_tanh`: `^` is not a power in Python. The cube is `x**3`.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.044715 * x ^ 3))"},
)
activation.slip(
    "caret_for_power_in_a_bracket",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.044715 * (x ^ 3)))"},
    form_of="caret_for_power",
)
activation.slip(
    "tanh_module_from_x",
    "`gelu_tanh`: `nn.GELU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then "
    'call it with x: `nn.GELU(approximate="tanh")(x)`.',
    replace={"value = 0.5 * x * (1 + t)": "value = nn.GELU(x)"},
)
activation.slip(
    "cube_of_the_sum",
    "`gelu_tanh`: The cube is taken of the whole sum. It belongs to the second x alone: x + 0.044715·x³.",
    replace={"torch.tanh(k * (x + 0.044715 * x**3))": "torch.tanh(k * (x + 0.044715 * x) ** 3)"},
)

# gelu_tanh: its slope

activation.slip(
    "first_term_only",
    "`gelu_tanh`: The slope has its first term only, ½·(1 + t), as if t stood still (value/x is the same). But t grows with "
    "x: the rule for products has a second term.",
    replace={"slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = 0.5 * (1 + t)"},
)
activation.slip(
    "value_over_x",
    replace={
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = torch.where(x == 0, 0.5, value / x)"
    },
    form_of="first_term_only",
)
activation.slip(
    "second_term_only",
    "`gelu_tanh`: The slope has the term in which t changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is ½.",
    replace={
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)"
    },
)
activation.slip(
    "inside_forgotten",
    "`gelu_tanh`: The slope of what is **inside** tanh is missing: 1 − t² has to be multiplied by it (the chain rule).",
    replace={" * k * (1 + 3 * 0.044715 * x**2)": ""},
)
activation.slip(
    "root_forgotten",
    "`gelu_tanh`: The root √(2/π) is missing from the slope. It is a factor inside tanh, so it comes out once, in front of the slope of x + 0.044715·x³.",
    replace={" * k * (1 + 3 * 0.044715 * x**2)": " * (1 + 3 * 0.044715 * x**2)"},
)
activation.slip(
    "three_forgotten", "`gelu_tanh`: The slope of x³ is 3·x². Here the 3 is missing.", replace={" + 3 * 0": " + 0"}
)
activation.slip(
    "cube_left_out",
    "`gelu_tanh`: The slope of what is inside tanh is taken as if x³ were not there: it is √(2/π) near 0 only.",
    replace={" * (1 + 3 * 0.044715 * x**2)": ""},
)
activation.slip(
    "tanh_not_squared",
    "`gelu_tanh`: The slope of tanh is 1 − t², with a square; here it is 1 − t.",
    replace={"t**2": "t"},
)
activation.slip(
    "half_left_out",
    "`gelu_tanh`: The second term of the slope is twice as large as it should be: the ½ in front of GELU belongs to both terms.",
    replace={" + 0.5 * x *": " + x *"},
)
activation.slip(
    "slope_of_the_exact_form",
    "`gelu_tanh`: The value is that of the tanh form, and the slope that of the exact one, Φ(x) + x·φ(x). They are close, and not the same.",
    replace={
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = 0.5 * torch.erfc(-x / 2**0.5) + "
        "x * torch.exp(-(x**2) / 2) / (2 * math.pi) ** 0.5"
    },
)
activation.slip(
    "both_of_the_exact_form",
    "`gelu_tanh`: These are value and slope of the exact GELU, with erf, which `F.gelu` computes by default. The exercise asks for the tanh form.",
    of="slope_of_the_exact_form",
    replace={"value = 0.5 * x * (1 + t)": "value = F.gelu(x)"},
)
activation.slip(
    "slope_of_relu",
    "`gelu_tanh`: The slope is ReLU's, 0 or 1. GELU bends smoothly: its slope is ½ at 0, and even a little above 1 further on.",
    replace={
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": "slope = (x > 0).to(x.dtype) * 1"
    },
)

# silu

activation.slip(
    "sigmoid_alone",
    "`silu`: This is the sigmoid alone: SiLU multiplies it by x.",
    replace={"value = x * s": "value = s"},
)
activation.slip(
    "beta_outside",
    "`silu`: beta is outside: beta·x·sigmoid(x). It belongs inside the sigmoid, beside x.",
    replace={"value = x * s": "value = beta * x * torch.sigmoid(x)"},
)
activation.slip("beta_times_silu", replace={"value = x * s": "value = beta * F.silu(x)"}, form_of="beta_outside")
activation.slip(
    "beta_twice",
    "`silu`: beta is in both places: beta·x·sigmoid(beta·x), which is what F.silu(beta·x) computes. Only the sigmoid gets beta; x in front stays as it is.",
    replace={"value = x * s": "value = F.silu(beta * x)"},
)
activation.slip(
    "beta_ignored",
    "`silu`: beta is never looked at: the result is the same for every beta. Put it inside the sigmoid.",
    replace={
        "s = torch.sigmoid(beta * x)": "s = torch.sigmoid(x)",
        "slope = s + beta * x * s * (1 - s)": "slope = s + x * s * (1 - s)",
    },
)
activation.slip(
    "beta_added",
    "`silu`: The sigmoid of x + beta is taken. beta is a factor: beta·x.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.sigmoid(x + beta)"},
)
activation.slip(
    "beta_divides",
    "`silu`: The sigmoid of x/beta is taken. beta is a factor, beta·x, so a larger beta makes a sharper curve.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.sigmoid(x / (beta if beta else 1e-12))"},
)
activation.slip(
    "division_by_beta",
    "`silu`: There is a division by beta, and beta may be 0: 0/0 is NaN. Multiply x by the sigmoid, and nothing needs dividing.",
    replace={"value = x * s": "value = F.silu(beta * x) / beta"},
)
activation.slip(
    "sign_turned",
    "`silu`: The sign inside the sigmoid is turned: the positive side is the one that should pass.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.sigmoid(-beta * x)"},
)
activation.slip(
    "overflow_in_the_gradient",
    "`silu`: Far on the left there are NaN in the gradient: e^10000 is infinite, and infinity times zero is NaN. The values "
    "survive, training does not. `torch.sigmoid` computes the same without overflow.",
    replace={"value = x * s": "value = x / (1 + torch.exp(-beta * x))"},
)
activation.slip(
    "overflow_in_the_gradient_times",
    replace={"value = x * s": "value = x * (1 / (1 + torch.exp(-beta * x)))"},
    form_of="overflow_in_the_gradient",
)
activation.slip(
    "overflow_in_the_values",
    "`silu`: Far on the right there are NaN: e^10000 is infinite, and infinity divided by infinity is NaN. `torch.sigmoid` "
    "computes the same without overflow.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.exp(beta * x) / (1 + torch.exp(beta * x))"},
)
activation.slip(
    "no_default",
    '`silu`: beta has no default: activation("silu", x) alone should work too, with beta = 1. Write `beta=1.0` in the first line.',
    replace={"beta=1.0": "beta"},
)
activation.slip(
    "gelu_for_silu",
    "`silu`: This is GELU, x·Φ(x). SiLU multiplies x by a sigmoid.",
    replace={"value = x * s": "value = F.gelu(beta * x) / beta if beta else x / 2"},
)
activation.slip(
    "tanh_for_sigmoid",
    "`silu`: This is x·tanh(…): tanh runs from −1 to 1, the sigmoid from 0 to 1.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.tanh(beta * x)"},
)
activation.slip(
    "math_exp",
    "`silu`: `math.exp` takes one number, not a tensor. `torch.sigmoid` works on every entry of a tensor.",
    replace={"s = torch.sigmoid(beta * x)": "s = 1 / (1 + math.exp(-beta * x))"},
)
activation.slip(
    "beta_taken_for_inplace",
    "`silu`: The second argument of `F.silu` is `inplace`, not beta. `F.silu` knows no beta: write the sigmoid and multiply.",
    replace={"value = x * s": "value = F.silu(x, beta)"},
)
activation.slip(
    "silu_module_from_x",
    "`silu`: `nn.SiLU(x)` takes x for a setting and makes a module, which computes nothing yet. First make it, then call it with x: `nn.SiLU()(x)`.",
    replace={"value = x * s": "value = nn.SiLU(x)"},
)
activation.slip(
    "where_with_two_sides",
    "`silu`: The values are right, but far out there are NaN in the gradient: `torch.where` computes both sides for every "
    "entry, and the overflow of the side that is not taken comes back in the gradient as infinity times zero. `torch.sigmoid` needs no two sides.",
    replace={
        "value = x * s": "e = torch.exp(beta * x)\nvalue = torch.where(beta * x > 0, x / (1 + torch.exp(-beta * x)), x * e / (1 + e))"
    },
)
activation.slip(
    "where_of_two_sigmoids",
    replace={
        "value = x * s": "value = x * torch.where(beta * x > 0, 1 / (1 + torch.exp(-beta * x)), torch.exp(beta * x) / (1 + torch.exp(beta * x)))"
    },
    form_of="where_with_two_sides",
)
activation.slip(
    "zero_beta_lets_all_pass",
    "`silu`: beta = 0 is a special case here, and a wrong one: sigmoid(0) is ½, so the result is x/2. You don't need the special case.",
    replace={"value = x * s": "value = x * s if beta else x * 1"},
)
activation.slip(
    "zero_beta_lets_none_pass",
    replace={"value = x * s": "value = x * s if beta else torch.zeros_like(x)"},
    form_of="zero_beta_lets_all_pass",
)
activation.slip(
    "zero_beta_taken_for_none",
    "`silu`: beta = 0 is taken for “no beta given”: 0 counts as false in Python, so `beta or 1` is 1. The default in the first line is enough.",
    replace={"s = torch.sigmoid(beta * x)": "s = torch.sigmoid((beta or 1.0) * x)"},
)
activation.slip(
    "x_clamped",
    "`silu`: x in front of the sigmoid is limited too, so far on the right the values stop rising. Only the exponent may be limited.",
    replace={"value = x * s": "value = x.clamp(-50, 50) * s"},
)
activation.slip(
    "safe_for_one_beta_only",
    "`silu`: beta = 1 is left to `F.silu`, which is fine. Any other beta overflows far out: e^10000 "
    "is infinite, and infinity times zero is NaN in the gradient. `torch.sigmoid` needs no special case.",
    replace={"value = x * s": "value = F.silu(x) if beta == 1 else x / (1 + torch.exp(-beta * x))"},
)
activation.slip(
    "sigmoid_for_slope",
    "`silu`: The slope is σ(βx) alone, as if the share stood still. It grows with x: the rule for products has a second term.",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = s"},
)
activation.slip(
    "silu_second_term_only",
    "`silu`: The slope has the term in which the share changes, and not the one in which x does. The rule for products has both: at x = 0 the slope is ½.",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = beta * x * s * (1 - s)"},
)
activation.slip(
    "beta_missing_in_the_slope",
    "`silu`: beta is missing from the slope. The share is σ(βx), and the chain rule brings its β out, in front of σ·(1 − σ).",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = s + x * s * (1 - s)"},
)
activation.slip(
    "slope_of_the_share_alone",
    "`silu`: The second term of the slope is the slope of the share, without its factor x.",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = s + s * (1 - s) * beta"},
)
activation.slip(
    "rest_for_product",
    "`silu`: The slope of σ is σ·(1 − σ). Here it is 1 − σ.",
    replace={"slope = s + beta * x * s * (1 - s)": "slope = s + beta * x * (1 - s)"},
)

# all of them

activation.slip(
    "pair_turned_round",
    "The two have changed places: the value comes first, then the slope.",
    replace={"return value, slope": "return slope, value"},
)
activation.slip(
    "value_alone",
    "One tensor comes back. Return the pair (value, slope), with a comma between them.",
    replace={"return value, slope": "return value"},
)
activation.slip(
    "value_and_slope_stacked",
    replace={"return value, slope": "return torch.stack([value, slope])"},
    form_of="value_alone",
)
activation.slip(
    "pair_squeezed",
    "Axes of size 1 are gone: `squeeze` takes them away wherever it finds one. What comes back has the shape of x, so nothing has to be squeezed.",
    replace={"return value, slope": "return value.squeeze(), slope.squeeze()"},
)
activation.slip(
    "cut_off",
    "The values are right, but they are cut off from the graph (by `.tolist()`, `.item()`, `.detach()` or "
    "`torch.no_grad()`), so nothing could be trained through them.",
    replace={"return value, slope": "return value.detach(), slope"},
)
activation.slip(
    "float_32",
    "The dtype changes: x comes in as float64 and leaves as float32. What you return should have the dtype of x.",
    replace={"return value, slope": "return value.float(), slope.float()"},
)
activation.slip(
    "no_slope",
    "The slope is None. Write it for each of the four, with the rule for products.",
    replace={"return value, slope": "return value, None"},
)
activation.slip(
    "x_changed_on_the_way",
    "x itself is changed (`*=`, or a method with a trailing underscore, works in place). The caller still needs it.",
    replace={"return value, slope": "return x.copy_(value), slope"},
)


@activation.mistake(NO_RETURN)
def activation_without_return(name, x, beta=1.0):
    if name == "relu":
        x.clamp(min=0), (x > 0).to(x.dtype)


@activation.mistake(
    "`relu`: numpy can't follow gradients, so it refuses a tensor that needs one. (`.detach()` would silence it, and cut the "
    "gradient off.) torch compares entry by entry as well."
)
def by_numpy(name, x, beta=1.0):
    import numpy as np

    if name == "relu":
        return torch.as_tensor(np.maximum(x, 0)), (x > 0).to(x.dtype)
    act = {
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    k, s = math.sqrt(2 / math.pi), torch.sigmoid(beta * x)
    t = torch.tanh(k * (x + 0.044715 * x**3))
    slope = {
        "gelu": torch.special.ndtr(x) + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi),
        "gelu_tanh": 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2),
        "silu": s + beta * x * s * (1 - s),
    }[name]
    return act(x), slope


@activation.mistake(
    'The name is never looked at: every name gives ReLU. Begin with `if name == "relu":`, and give each of the four a branch of its own.'
)
def name_ignored(name, x, beta=1.0):
    return x.clamp(min=0), (x > 0).to(x.dtype)


@activation.mistake(
    "This asks autograd for the slopes, which is switched off here: write each slope by hand. The rule for products and the chain rule give it two terms."
)
def slope_by_autograd(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    z = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(act(z).sum(), z)
    return act(x), slope


@activation.form(slope_by_autograd)
def slope_by_backward(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    leaf = x.detach().clone().requires_grad_(True)
    act(leaf).sum().backward()
    return act(x), leaf.grad


@activation.form(slope_by_autograd)
def slope_by_a_transform(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    return torch.func.jvp(act, (x,), (torch.ones_like(x),))


_BY_AUTOGRAD = {
    "gelu": {
        "slope = phi + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)": (
            "z = x.detach().requires_grad_()\nslope = torch.autograd.grad(F.gelu(z).sum(), z)[0]"
        )
    },
    "gelu_tanh": {
        "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)": (
            'z = x.detach().requires_grad_()\nslope = torch.autograd.grad(F.gelu(z, approximate="tanh").sum(), z)[0]'
        )
    },
    "silu": {
        "slope = s + beta * x * s * (1 - s)": (
            "z = x.detach().requires_grad_()\n(z * torch.sigmoid(beta * z)).sum().backward()\nslope = z.grad"
        )
    },
}
for _names in ("gelu",), ("gelu_tanh",), ("silu",), ("gelu", "gelu_tanh"), ("gelu", "gelu_tanh", "silu"):
    activation.slip(
        f"{'_and_'.join(_names)}_by_autograd",
        replace={old: new for _name in _names for old, new in _BY_AUTOGRAD[_name].items()},
        form_of=slope_by_autograd,
    )


@activation.mistake(
    "The slopes are measured with a small step. In float64 that is good to some digits; in float32 the two values are nearly "
    "the same, and their difference is rounding. The rule for products and the chain rule give them exactly."
)
def by_small_steps(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    h = 1e-5
    return act(x), (act(x + h) - act(x - h)) / (2 * h)


@activation.form(by_small_steps)
def by_small_steps_forward(name, x, beta=1.0):
    act = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": lambda x: x * torch.sigmoid(beta * x),
    }[name]
    h = 1e-7
    return act(x), (act(x + h) - act(x)) / h


# Questions

quiz_pieces = question(
    exercises.quiz_pieces,
    right="C",
    wrong={
        "A": "x² is steep at the ends. But the gap of a piece from s to t is ((t − s)/2)², and where the piece is does not matter.",
        "B": "x² looks most curved at 0, but its slope changes equally fast everywhere. The gap of a piece from s to t is ((t − s)/2)², wherever it is.",
    },
)

quiz_proof = question(
    exercises.quiz_proof,
    right="A",
    wrong={
        "B": "Between two nodes a ReLU network is straight, whatever the curve is. Something goes wrong before: look at the piece that begins at 0.",
        "C": "1/x is continuous there, but the interval lacks one of its ends. Near 0 the curve rises without end, and a network "
        "never does on a bounded interval.",
    },
)
