"""What is right, and what goes wrong, in `find_the_gate` of notebook 07."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import gated as exercises

find_the_gate = Key(exercises.find_the_gate)


@find_the_gate.truth
def unit_by_unit(fused, down, x, y):
    """Each layout as a list of row numbers; each output as a sum over neurons, one number at a time; the one with the least error wins."""
    rows, d_ff = fused.tolist(), down.shape[1]

    def output(token, gates, ups):
        total = [0.0] * len(token)
        for unit, (g, u) in enumerate(zip(gates, ups, strict=True)):
            read = sum(a * b for a, b in zip(rows[g], token, strict=True))
            passed = read / (1 + math.exp(-read)) * sum(a * b for a, b in zip(rows[u], token, strict=True))
            total = [t + passed * float(w) for t, w in zip(total, down[:, unit], strict=True)]
        return total

    first, second = list(range(d_ff)), list(range(d_ff, 2 * d_ff))
    even, odd = list(range(0, 2 * d_ff, 2)), list(range(1, 2 * d_ff, 2))
    errors = []
    for gates, ups in ((first, second), (second, first), (even, odd), (odd, even)):
        wrong = 0.0
        for token, expected in zip(x.tolist(), y.tolist(), strict=True):
            wrong += sum((a - b) ** 2 for a, b in zip(output(token, gates, ups), expected, strict=True))
        errors.append((wrong, gates, ups))
    _, gates, ups = min(errors)
    return fused[gates], fused[ups]


@find_the_gate.right("a loop that remembers the best")
def remembers_the_best(fused, down, x, y):
    d_ff = fused.shape[0] // 2
    best = None
    for a, b in ((fused[:d_ff], fused[d_ff:]), (fused[::2], fused[1::2])):
        for gate, up in ((a, b), (b, a)):
            z = x @ gate.T
            out = (z * torch.sigmoid(z) * (x @ up.T)) @ down.T
            wrong = (out - y).abs().sum()
            if best is None or wrong < best[0]:
                best = (wrong, gate, up)
    return best[1], best[2]


@find_the_gate.right("all four at once, as one tensor")
def all_four_at_once(fused, down, x, y):
    a, b = (
        torch.stack([fused.view(2, -1, fused.shape[1])[0], fused[0::2]]),
        torch.stack([fused.chunk(2)[1], fused[1::2]]),
    )
    gates, ups = torch.cat([a, b]), torch.cat([b, a])  # [4, d_ff, d_model]
    hidden = F.silu(torch.einsum("nd,lfd->lnf", x, gates)) * torch.einsum("nd,lfd->lnf", x, ups)
    errors = (hidden @ down.T - y).square().mean(dim=(1, 2))
    best = errors.argmin()
    return gates[best], ups[best]


@find_the_gate.right("modules with copied weights, the largest deviation, clones")
def with_modules(fused, down, x, y):
    def layer(gate, up):
        with torch.no_grad():
            return F.linear(nn.SiLU()(F.linear(x, gate)).mul(F.linear(x, up)), down)

    top, bottom = fused.split(len(fused) // 2)
    even, odd = fused.reshape(len(fused) // 2, 2, -1).unbind(1)
    wrong = {}
    for pair in ((top, bottom), (bottom, top), (even, odd), (odd, even)):
        wrong[(layer(*pair) - y).abs().max().item()] = pair
    gate, up = wrong[min(wrong)]
    return [gate.clone(), up.clone()]


@find_the_gate.base
def plain_find_the_gate(fused, down, x, y):
    top, bottom = fused.chunk(2)
    even, odd = fused[0::2], fused[1::2]
    layouts = [(top, bottom), (bottom, top), (even, odd), (odd, even)]

    def error(layout):
        gate, up = layout
        out = (F.silu(x @ gate.T) * (x @ up.T)) @ down.T
        return float((out - y).norm())

    return min(layouts, key=error)


find_the_gate.slips("""
always_the_first_half: return min(layouts, key=error) -> return (top, bottom)
    The first half is taken for the gate, whatever y says: nothing else was tried, or every candidate looked equally good and the first one won. (For
    the first input, all zeros, every layout gives 0; and an error of 0/0 is NaN, and nothing compares as smaller.)
| nan_in_the_error: return float((out - y).norm()) -> return float(((out - y) / y).abs().mean())
| only_the_first_input: out - y -> out[0] - y[0]
in return min(layouts, key=error)
always_the_second_half: return (bottom, top)
    The second half is taken for the gate, whatever y says. Let y decide.
the_worst_fit: return max(layouts, key=error)
    The candidate with the **largest** error is taken. The nearest one has the smallest.
number_of_the_layout: return min(range(4), key=lambda i: error(layouts[i]))
    The number, or the name, of the layout comes back. Return the two weights themselves, as the pair (gate, up).
| name_of_the_half: min(layouts, key=error) -> "first" if error(layouts[0]) < error(layouts[1]) else "second"
in layouts = [(top, bottom), (bottom, top), (even, odd), (odd, even)]
halves_alone: layouts = [(top, bottom), (bottom, top)]
    Only the two halves are tried, and where the rows lie in turn neither fits. Add the two candidates made of every second row.
rows_in_turn_alone: layouts = [(even, odd), (odd, even)]
    Only rows in turn are tried. Add the two candidates made of an upper and a lower half.
up_and_gate: out = (F.silu(x @ gate.T) * (x @ up.T)) @ down.T -> out = (F.silu(x @ up.T) * (x @ gate.T)) @ down.T
    The two have changed places: the gate is the one that goes through SiLU, and it comes back first.
| returned_the_other_way_round: min(layouts, key=error) -> min(layouts, key=error)[::-1]
in out = (F.silu(x @ gate.T) * (x @ up.T)) @ down.T
without_silu: out = ((x @ gate.T) * (x @ up.T)) @ down.T
    The activation is missing when the candidates are tried. Without SiLU the two factors can change places and the product stays: so whichever order
    comes first wins.
sizes_do_not_fit: out = (F.silu(x @ gate.T) * (x @ up.T)) @ down
    The sizes in a product do not fit. Gate and up have **rows** of their own in `fused`, d_model long, and `down` is [d_model, d_ff], all as
    `nn.Linear` stores them: use `F.linear`, or `@` with a transpose.
""")


@find_the_gate.mistake(
    "The candidates are asked to fit exactly, and none does: y has about three digits. Take the one with the smallest error."
)
def exact_fit(fused, down, x, y):
    top, bottom = fused.chunk(2)
    for gate, up in ((top, bottom), (bottom, top), (fused[0::2], fused[1::2]), (fused[1::2], fused[0::2])):
        if torch.allclose((F.silu(x @ gate.T) * (x @ up.T)) @ down.T, y):
            return gate, up


@find_the_gate.mistake(
    "The **columns** are cut in half, not the rows. `nn.Linear` stores one row for each number that it puts out, so gate and up have rows of their "
    "own, d_model long."
)
def columns_returned(fused, down, x, y):
    return fused.chunk(2, dim=-1)


@find_the_gate.form("sizes_do_not_fit")
def columns_cut(fused, down, x, y):
    left, right = fused.chunk(2, dim=1)

    def error(pair):
        return float(((F.silu(x @ pair[0].T) * (x @ pair[1].T)) @ down.T - y).norm())

    return min([(left, right), (right, left)], key=error)
