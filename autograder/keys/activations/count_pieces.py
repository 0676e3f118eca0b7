"""What is right, and what goes wrong, in `count_pieces` of notebook 03."""

from __future__ import annotations

import itertools

import torch

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import activations as exercises

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
