"""What is right, and what goes wrong, in `count_pieces` of notebook 03."""

from __future__ import annotations

import itertools

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import activations as exercises

count_pieces = Key(exercises.count_pieces)


@count_pieces.truth
def slope_by_slope(W1, b1, W2, A, B):
    """Cuts [A, B] at every possible kink and computes the slope of each part from the neurons that are on in its middle."""
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


@count_pieces.base
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


@count_pieces.mistake("Only the first neuron is looked at: W1 is [1, m], so `len(W1)` is 1. `b1` has length m.")
def first_neuron_only(W1, b1, W2, A, B):
    change = {}
    for j in range(len(W1)):
        w, b, v = W1[0, j].item(), b1[j].item(), W2[j, 0].item()
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())


count_pieces.slips("""
of with_unique
in
  - w, v = W1[0], W2[:, 0]
  - w, b, v = w[w != 0], b1[w != 0], v[w != 0]
  - places, which = torch.unique(-b / w, return_inverse=True)
  - change = torch.zeros_like(places).index_add(0, which, w.abs() * v)
  - return (((places > A) & (places < B) & (change != 0)).sum() + 1).item()
always_m_plus_one: return b1.numel() + 1
    The answer is always m + 1. That is the most there can be: kinks may lie outside, share a place, or not bend at all.
coincident_twice
  + count = 1
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and v != 0 and A < -b / w < B:
  +         count += 1
  + return count
    Two kinks in the same place are counted twice. They are one place where the slope changes. (Equal tensors are two different keys of a dict, and
    two members of a set: put in numbers, with `.item()`.)
way_out_ignored
  + kinks = set()
  + for w, b in zip(W1[0].tolist(), b1.tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         kinks.add(-b / w)
  + return len(kinks) + 1
    Neurons that write nothing are counted, those with W2 = 0 among them: W2 is never looked at. The slope changes by |W1|·W2.
cancelling_counted
  + kinks = set()
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and v != 0 and A < -b / w < B:
  +         kinks.add(-b / w)
  + return len(kinks) + 1
    Kinks in the same place that cancel are counted. Add up the changes of slope at each place, and count those that are not zero.
pieces_without_return: 1 + len({float(-b / w) for w, b in zip(W1[0], b1, strict=True) if w != 0 and A < -b / w < B})
    NO_RETURN
kinks_inside_counted
  + kinks = -b1 / W1[0]
  + return len(kinks[(kinks > A) & (kinks < B)]) + 1
    This counts the kinks inside. Kinks may share a place, cancel, or belong to a neuron with W2 = 0.
always_m: return b1.numel()
    The answer is always m, the number of neurons. How many pieces they make depends on their kinks.
on_a_grid
  + x = torch.linspace(A, B, 1001, dtype=W1.dtype)[:, None]
  + slope = torch.diff((torch.relu(x @ W1 + b1) @ W2)[:, 0])
  + return 1 + int((torch.diff(slope).abs() > 1e-9).sum())
    The slope is measured between points of a grid. A kink between two points shows up twice, in both differences beside it. Where the kinks are can
    be computed: no grid is needed.
|| on_a_grid_of_1000: 1001 -> 1000
|| on_a_grid_of_10000: 1001 -> 10_000
of base
in
  - for j in range(b1.numel()):
  -     w, b, v = W1[0, j].item(), b1[j].item(), W2[j, 0].item()
  -     if w == 0:
  -         continue
  -     kink = -b / w
  -     if A < kink < B:
  -         change[kink] = change.get(kink, 0.0) + abs(w) * v
  - return 1 + sum(1 for c in change.values() if abs(c) > 1e-12)
outside_counted
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    Kinks outside of [A, B] are counted. Only those strictly between A and B cut the interval.
ends_counted
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A <= -b / w <= B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    Kinks at A or at B are counted. They cut nothing off: strictly between the two.
|| left_end_counted: <= B -> < B
|| right_end_counted: A <= -b -> A < -b
signed_change
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + w * v
  + return 1 + sum(c != 0 for c in change.values())
    The change of slope has the wrong sign for neurons that look to the left, those with W1 < 0: going right they switch off, so the change is |W1|·W2.
way_in_ignored
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + v
  + return 1 + sum(c != 0 for c in change.values())
    The change of slope at a kink is |W1|·W2; here W1 is left out, so changes cancel that should not, or the other way round.
kinks_for_pieces
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return sum(c != 0 for c in change.values())
    These are the kinks. One kink makes two pieces: there is one piece more than kinks.
kinks_mirrored
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < b / w < B:
  +         change[b / w] = change.get(b / w, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    The kinks are mirrored: x·W1 + b1 is zero at x = −b1/W1, with the minus sign.
kinks_at_the_bias
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b < B:
  +         change[-b] = change.get(-b, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    The kinks are taken to be at −b1. W1 is not always 1: x·W1 + b1 is zero at x = −b1/W1.
division_by_zero
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    A neuron with W1 = 0 has no kink, and dividing by it fails. Leave such neurons out first.
right_lookers_only
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w > 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    Only neurons with W1 > 0 are counted. One with W1 < 0 looks to the left, and has its kink all the same.
float_for_int
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1.0 + sum(c != 0 for c in change.values())
    The number of pieces came back as a float. It is a whole number: `int`.
list_of_kinks
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return [place for place, c in change.items() if c != 0]
    The kinks themselves came back. How many pieces they make is the question: one number.
indices_swapped
  + for j in range(len(b1)):
  +     w, b, v = W1[j].item(), b1[j].item(), W2[0, j].item()
  +     if w != 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    Rows and columns are mixed up: neuron j has W1[0, j] on its way in, and W2[j, 0] on its way out.
upwards_only
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1 + sum(c > 0 for c in change.values())
    Only kinks upwards are counted, those with a positive change of slope. A kink downwards cuts as well.
close_is_same
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         place = round(-b / w, 3)
  +         change[place] = change.get(place, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    Kinks that are close together are taken for one (by `round`, by `isclose`, by a tolerance). Nothing gets rounded here: only kinks that are exactly
    equal share a place.
small_change_is_none
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A < -b / w < B:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1 + sum(abs(c) > 1e-3 for c in change.values())
    A small change of slope is taken for none: the sum at a place is compared with a threshold. What cancels here is exactly 0, and whatever is left
    otherwise bends the line.
margin_at_the_ends
  + for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
  +     if w != 0 and A + 1e-3 < -b / w < B - 1e-3:
  +         change[-b / w] = change.get(-b / w, 0) + abs(w) * v
  + return 1 + sum(c != 0 for c in change.values())
    Kinks close to A and B are left out: there is a margin at the ends. Strictly between the two counts, however close.
""")
