"""What is right, and what goes wrong, in `superposition_error` of notebook 01."""

from __future__ import annotations

import math

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import attention as exercises

superposition_error = Key(exercises.superposition_error)


@superposition_error.truth
def number_by_number(f, X, Y):
    """The sums of squares of the two norms, one entry at a time, in Python floats."""
    total, one, other = (part.detach().flatten().tolist() for part in (f(X + Y), f(X), f(Y)))
    off = sum((t - a - b) ** 2 for t, a, b in zip(total, one, other, strict=True))
    return math.sqrt(off) / math.sqrt(sum(t**2 for t in total))


@superposition_error.right("torch.linalg.norm of flattened tensors")
def flattened(f, X, Y):
    whole = f(X + Y).flatten()
    parts = f(X).flatten() + f(Y).flatten()
    return float(torch.linalg.norm(whole - parts) / torch.linalg.norm(whole))


@superposition_error.base
@superposition_error.right("squares, a sum and a root")
def squares_and_root(f, X, Y):
    whole = f(X + Y)
    off = whole - f(X) - f(Y)
    return ((off**2).sum().sqrt() / (whole**2).sum().sqrt()).item()


@superposition_error.right("root mean squares: the number of entries cancels")
def root_mean_squares(f, X, Y):
    with torch.no_grad():
        whole = f(X + Y)
        off = whole - (f(X) + f(Y))
        return math.sqrt(off.square().mean()) / math.sqrt(whole.square().mean())


@superposition_error.right("a 0-d tensor off the graph, with a small number against division by zero")
def detached_tensor(f, X, Y):
    whole = f(X + Y).detach()
    return torch.norm(f(X).detach() + f(Y).detach() - whole) / (torch.norm(whole) + 1e-12)


superposition_error.slips("""
of detached_tensor
in
  - whole = f(X + Y).detach()
  - return torch.norm(f(X).detach() + f(Y).detach() - whole) / (torch.norm(whole) + 1e-12)
absolute: return (f(X + Y) - f(X) - f(Y)).norm().item()
    The error is absolute: it is not divided by the norm of f(X + Y), so it grows with the size of the numbers.
divided_by_the_input: return ((f(X + Y) - f(X) - f(Y)).norm() / (X + Y).norm()).item()
    The division is by the size of X + Y. What f makes of it is the yardstick: the norm of f(X + Y).
divided_by_the_parts
  + parts = f(X) + f(Y)
  + return ((f(X + Y) - parts).norm() / parts.norm()).item()
    The division is by the norm of f(X) + f(Y). The formula has the norm of f(X + Y) below the line.
divided_by_two_norms: return ((f(X + Y) - f(X) - f(Y)).norm() / (f(X).norm() + f(Y).norm())).item()
    The division is by ‖f(X)‖ + ‖f(Y)‖. The formula has the norm of f(X + Y) below the line.
doubling_only
  + doubled = f(2 * X)
  + return ((doubled - 2 * f(X)).norm() / doubled.norm()).item()
    Only doubling is tested, f(2X) against 2·f(X), and Y is never used. Superposition asks about the sum of two different inputs.
yes_or_no: return torch.allclose(f(X + Y), f(X) + f(Y))
    Return how large the error is, as a number, and not yes or no.
X_overwritten
  + total = X
  + total += Y
  + whole = f(total)
  + return ((whole - f(X) - f(Y)).norm() / whole.norm()).item()
    X itself was changed: `+=` works in place, so f(X) afterwards is f(X + Y). Write `X + Y`, a new tensor.
X_overwritten_at_the_end
  + parts = f(X) + f(Y)
  + X += Y
  + whole = f(X)
  + return ((whole - parts).norm() / whole.norm()).item()
    The number is right, but X was changed on the way: `+=` and `add_` work in place. Write `X + Y`, a new tensor.
of base
in
  - off = whole - f(X) - f(Y)
  - return ((off**2).sum().sqrt() / (whole**2).sum().sqrt()).item()
sums_cancel: return ((whole - f(X) - f(Y)).sum().abs() / whole.sum().abs()).item()
    The entries of the difference are added up with their signs, so that they cancel. A norm squares each entry first.
|| sums_cancel_with_sign: .sum().abs() / whole.sum().abs() -> .sum() / whole.sum()
quotient_of_entries: return ((whole - f(X) - f(Y)) / whole).norm().item()
    The quotient is taken entry by entry, and only then a norm: small entries of f(X + Y) rule. Two norms are asked for, and one quotient.
signed_mean: return ((whole - f(X) - f(Y)) / whole).mean().item()
    This is the mean of signed quotients: positive and negative entries cancel, and small denominators rule. Two norms are asked for, and one
    quotient.
sum_over_norm: return ((whole - f(X) - f(Y)).sum() / whole.norm()).item()
    The sum of the entries is divided by the norm: above the line the signs cancel. The Frobenius norm is asked for on both sides.
difference_of_norms: return ((whole.norm() - f(X).norm() - f(Y).norm()).abs() / whole.norm()).item()
    The norms are subtracted, not the tensors. Two tensors can be equally long and still differ: take the norm of the difference.
|| difference_of_norms_with_sign: .abs() ->
one_sign_wrong: return ((whole - f(X) + f(Y)).norm() / whole.norm()).item()
    One sign is turned: f(X + Y) − f(X) + f(Y), which is also f(X + Y) − (f(X) − f(Y)), adds f(Y). Both parts are subtracted.
squared: return (((whole - f(X) - f(Y)) ** 2).sum() / (whole**2).sum()).item()
    The squares are not undone: this is the square of the quotient. A norm ends with a root.
one_root_missing: return (((whole - f(X) - f(Y)) ** 2).sum() / whole.norm()).item()
    The root is missing above the line: a sum of squares is divided by a norm.
quotient_upside_down: return (whole.norm() / (whole - f(X) - f(Y)).norm()).item()
    The quotient is upside down: the norm of f(X + Y) belongs below the line.
bias_forgiven: return ((whole - f(X) - f(Y) + f(torch.zeros_like(X))).norm() / whole.norm()).item()
    f(0) is taken out first, so that a bias does not count. By the definition it does: a map with a bias is affine, not linear.
rounded: return round(((whole - f(X) - f(Y)).norm() / whole.norm()).item(), 2)
    The number is rounded. Return it as it is, and round where it is printed.
|| rounded_to_three: 2 -> 3
|| rounded_to_four: 2 -> 4
absolute_values: return ((whole - f(X) - f(Y)).abs().sum() / whole.abs().sum()).item()
    Absolute values are added up instead of squares. The Frobenius norm is the root of the sum of squares.
largest_entry: return ((whole - f(X) - f(Y)).abs().max() / whole.abs().max()).item()
    The largest entry is taken. The Frobenius norm counts all of them.
row_by_row: return ((whole - f(X) - f(Y)).norm(dim=-1) / whole.norm(dim=-1)).mean().item()
    The norms are taken along one dimension, row by row or column by column, so there are several numbers, or their mean. The Frobenius norm runs over
    all entries at once: one number.
| a_number_per_row: return (whole - f(X) - f(Y)).norm(dim=-1) / whole.norm(dim=-1)
| column_by_column: return ((whole - f(X) - f(Y)).norm(dim=0) / whole.norm(dim=0)).mean().item()
|| an_item_per_row: .mean().item -> .item
spectral_norm: return (torch.linalg.matrix_norm(whole - f(X) - f(Y), 2) / torch.linalg.matrix_norm(whole, 2)).item()
    This is the spectral norm (`ord=2`), the largest singular value of a matrix. The Frobenius norm is `.norm()`, and works for any shape.
| spectral_norm_by_order: return (torch.linalg.norm(whole - f(X) - f(Y), ord=2) / torch.linalg.norm(whole, ord=2)).item()
matrices_only: return (torch.linalg.norm(whole - f(X) - f(Y), "fro") / torch.linalg.norm(whole, "fro")).item()
    This norm wants a matrix, but f may return a tensor of any shape. `.norm()`, or `torch.linalg.norm` without `ord`, takes any.
| matrix_norm: return (torch.linalg.matrix_norm(whole - f(X) - f(Y)) / torch.linalg.matrix_norm(whole)).item()
| norm_of_the_last_two: return ((whole - f(X) - f(Y)).norm(dim=(-2, -1)) / whole.norm(dim=(-2, -1))).item()
still_on_the_graph: return (whole - f(X) - f(Y)).norm() / whole.norm()
    The tensor that came back still hangs on the graph of f: it would drag along all that f computed. `.item()` makes a number of it.
nothing_returned: ((whole - f(X) - f(Y)).norm() / whole.norm()).item()
    NO_RETURN
in return ((off**2).sum().sqrt() / (whole**2).sum().sqrt()).item()
through_numpy: return float((off.norm() / whole.norm()).numpy())
    numpy refuses a tensor that hangs on the graph, as soon as f has weights to be trained. Take the norms in torch; `.item()` works for all.
""")
