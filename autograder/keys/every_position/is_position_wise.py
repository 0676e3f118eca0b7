"""What is right, and what goes wrong, in `is_position_wise` of notebook 04."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import every_position as exercises

is_position_wise = Key(exercises.is_position_wise)


@is_position_wise.truth
def every_pair_of_positions(f, T, d, seed=0):
    """In float64: changes each token and looks at all the others; then looks at what each position does to the same few vectors."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64, generator=generator)
    before = f(X)
    limit = 1e-3 * before.abs().max()  # between 1/10,000, which is rounding, and 1/50, which is mixing
    for changed in range(T):
        Y = X.clone()
        Y[changed] = torch.randn(d, dtype=torch.float64, generator=generator)
        after = f(Y)
        for row in range(T):
            if row != changed and (after[row] - before[row]).abs().max() > limit:
                return False
    for _ in range(3):
        vector = torch.randn(d, dtype=torch.float64, generator=generator)
        seen = []
        for t in range(T):
            Y = X.clone()
            Y[t] = vector
            seen.append(f(Y)[t])
        for one in seen:
            for other in seen:
                if (one - other).abs().max() > limit:
                    return False
    return True


@is_position_wise.right("independence, then permutations")
def independent_and_equivariant(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d)
    Y = f(X)
    limit = 0.001 * Y.abs().max()
    for t in range(T):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        others = torch.arange(T) != t
        if ((f(X2) - Y)[others].abs() > limit).any():
            return False
    for _ in range(5):
        order = torch.randperm(T)
        if ((f(X[order]) - Y[order]).abs() > limit).any():
            return False
    return True


@is_position_wise.right("the Jacobian's blocks, then one vector at all positions")
def by_jacobian(f, T, d, seed=0):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(T, d, generator=g, dtype=torch.float64)
    J = torch.autograd.functional.jacobian(f, X).abs().amax(dim=(1, 3))  # [T, T]
    rows = f(torch.randn(d, generator=g, dtype=torch.float64).expand(T, d))
    mixing = (J - J.diag().diag()).max()
    return mixing <= 1e-3 * J.max() and (rows - rows[:1]).abs().max() <= 1e-3 * rows.abs().max()


@is_position_wise.right("a batch of sequences, one vector moving through all of them")
def moving_vector(f, T, d, seed=0):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(20, T, T, d, generator=g, dtype=torch.float64)
    v = torch.randn(20, 1, d, generator=g, dtype=torch.float64)
    place = torch.arange(T)
    X[:, place, place] = v
    out = f(X)[:, place, place]
    spread = (out - out[:, :1]).abs().max()
    return bool(spread <= 1e-4 * out.abs().max())


@is_position_wise.right("swaps of two tokens among strangers")
def swaps(f, T, d, seed=0):
    rng = torch.Generator().manual_seed(seed)
    for i in range(T):
        for j in range(T):
            A = torch.randn(T, d, generator=rng).double()
            B = torch.randn(T, d, generator=rng).double()
            B[j] = A[i]
            here, there = f(A), f(B)
            if (here[i] - there[j]).abs().max() > 5e-4 * torch.max(here.abs().max(), there.abs().max()):
                return False
    return True


@is_position_wise.mistake(
    "Your test finds nothing wrong with anything, attention included: it looks at the shape, or changes what can't "
    "matter. Change one token, and look at the rows of the others."
)
def only_the_shape(f, T, d, seed=0):
    X = torch.randn(2, T, d)
    return f(X).shape == X.shape


@is_position_wise.form(only_the_shape)
def runs_twice(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d)
    return (f(X) - f(X)).abs().max() <= 1e-3 * f(X).abs().max()


@is_position_wise.mistake(
    "Only the rows after the changed token are compared. A layer in which tokens see later ones passes that: compare the rows before it as well. "
    "And test that all positions use the same map."
)
def later_rows_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    for t in range(T - 1):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        if (f(X)[t + 1 :] - f(X2)[t + 1 :]).abs().max() > 1e-3 * f(X2)[t + 1 :].abs().max():
            return False
    return True


@is_position_wise.mistake(
    "Attention to later tokens alone passes your test. Either token 0 is the only one that you change, or you compare nothing but the last row, or the rows "
    "after the changed one. Change every token in turn, and compare all the other rows."
)
def token_0_and_same_rows(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[0] = torch.randn(d)
    rows = f(torch.randn(d, dtype=torch.float64).expand(T, d))
    return (f(X)[1:] - f(X2)[1:]).abs().max() <= 1e-3 * f(X2)[1:].abs().max() and (
        rows - rows[:1]
    ).abs().max() <= 1e-3 * rows[:1].abs().max()


@is_position_wise.form(token_0_and_same_rows)
def last_row_and_same_rows(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    last = f(X)[-1]
    for t in range(T - 1):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        if (f(X2)[-1] - last).abs().max() > 1e-3 * last.abs().max():
            return False
    rows = f(X[:1].expand(T, d))
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows.abs().max()


@is_position_wise.mistake(
    "Causal attention passes your test. Either the last token is the only one that you change, or you compare nothing but the first row, or the rows "
    "before the changed one. Change every token in turn, and compare all the other rows."
)
def last_token_and_same_rows(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[-1] = torch.randn(d)
    rows = f(torch.randn(d, dtype=torch.float64).expand(T, d))
    if (f(X)[:-1] - f(X2)[:-1]).abs().max() > 1e-3 * f(X2)[:-1].abs().max():
        return False
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows.abs().max()


@is_position_wise.form(last_token_and_same_rows)
def first_row_and_same_rows(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    first = f(X)[0]
    for t in range(1, T):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        if (f(X2)[0] - first).abs().max() > 1e-3 * first.abs().max():
            return False
    rows = f(X[:1].expand(T, d))
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows.abs().max()


@is_position_wise.base
def plain_is_position_wise(f, T, d, seed=0):
    torch.manual_seed(seed)
    v = torch.randn(d, dtype=torch.float64)
    outs = []
    for t in range(T):
        X = torch.randn(T, d, dtype=torch.float64)
        X[t] = v
        outs.append(f(X)[t])
    return (torch.stack(outs) - outs[0]).abs().max() <= 1e-3 * outs[0].abs().max()


@is_position_wise.mistake(
    "A token that you changed is compared as well, and of course its own row changes. Leave that row out. Do earlier changes stay in? "
    "`X2 = X` is a second name for the same tensor, `X.clone()` a copy."
)
def own_row_compared(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        if (f(X2) - Y).abs().max() > 1e-3 * Y.abs().max():
            return False
    return True


@is_position_wise.mistake(
    "Your tolerance is too wide: tokens that see a little of each other pass. One token has only a small part in the mean of all, say. Let the others "
    "change, by much, and call nothing rounding that is 1/50 of the output's size or more."
)
def tolerance_too_wide(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X.clone()
        X2[t] = torch.randn(d, dtype=torch.float64)
        others = [i for i in range(T) if i != t]
        if (f(X2)[others] - Y[others]).abs().max() > Y.abs().max():
            return False
    v = torch.randn(d, dtype=torch.float64)
    rows = f(v.expand(T, d))
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows[:1].abs().max()


@is_position_wise.mistake(
    "Attention passes your test. Either a token is changed by so little that the others' reaction stays below your tolerance, or two "
    "tokens only change places, and attention follows. Replace a token by another random vector, and let every position have its turn."
)
def nudge_too_small(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X.clone()
        X2[t] += 1e-8
        others = [i for i in range(T) if i != t]
        if (f(X2)[others] - Y[others]).abs().max() > 1e-3 * Y[others].abs().max():
            return False
    order = torch.arange(T).flip(0)
    return (f(X[order])[0] - f(X)[-1]).abs().max() <= 1e-3 * f(X)[-1].abs().max()


@is_position_wise.mistake(
    "You demand that a token's output changes when the token does. A map may give the same output for all inputs and still be one map for all positions."
)
def own_row_must_change(f, T, d, seed=0):
    torch.manual_seed(seed)
    v, w = torch.randn(2, d, dtype=torch.float64)
    outs = []
    for t in range(T):
        X = torch.randn(T, d, dtype=torch.float64)
        X[t] = v
        X2 = X.clone()
        X2[t] = w
        if (f(X)[t] - f(X2)[t]).abs().max() <= 1e-3 * f(X2)[t].abs().max():
            return False
        outs.append(f(X)[t])
    return (torch.stack(outs) - outs[0]).abs().max() <= 1e-3 * outs[0].abs().max()


@is_position_wise.mistake(
    "You turn the sequence around and look whether the outputs turn along. A layer may treat both ends alike and the middle differently: "
    "it passes. Put the same vector at every position in turn."
)
def turned_around_alone(f, T, d, seed=0):
    torch.manual_seed(seed)
    X, Y = torch.randn(T, d, dtype=torch.float64), torch.randn(T, d, dtype=torch.float64)
    out = f(X)
    limit = 1e-3 * out.abs().max()
    for t in range(T):
        Z = Y.clone()
        Z[t] = X[t]
        if (f(Z)[t] - out[t]).abs().max() > limit:
            return False
    return bool((f(X.flip(0)).flip(0) - out).abs().max() <= limit)


@is_position_wise.mistake(
    "Only a token's neighbours are looked at when it changes. One token may tell another that is further away: compare all the other rows."
)
def neighbours_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X.clone()
        X2[t] = torch.randn(d)
        for row in (t - 1, t + 1):
            if 0 <= row < T and (f(X2)[row] - Y[row]).abs().max() > 1e-3 * Y.abs().max():
                return False
    rows = f(torch.randn(d, dtype=torch.float64).expand(T, d))
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows.abs().max()


is_position_wise.slips("""
of independent_and_equivariant
in
  - X = torch.randn(T, d)
  - Y = f(X)
  - limit = 0.001 * Y.abs().max()
  - for t in range(T):
  -     X2 = X.clone()
  -     X2[t] = torch.randn(d)
  -     others = torch.arange(T) != t
  -     if ((f(X2) - Y)[others].abs() > limit).any():
  -         return False
  - for _ in range(5):
  -     order = torch.randperm(T)
  -     if ((f(X[order]) - Y[order]).abs() > limit).any():
  -         return False
  - return True
| only_the_shape | permutes_the_batch
  + X = torch.randn(4, T, d, dtype=torch.float64)
  + order = torch.randperm(4)
  + return (f(X[order]) - f(X)[order]).abs().max() <= 1e-3 * f(X)[order].abs().max()
changes_token_0_only
  + X = torch.randn(T, d, dtype=torch.float64)
  + X2 = X.clone()
  + X2[0] = torch.randn(d)
  + return (f(X)[1:] - f(X2)[1:]).abs().max() <= 1e-3 * f(X2)[1:].abs().max()
    Attention to later tokens alone passes your test. Either token 0 is the only one that you change, or the last row is the only one that you compare.
    Change every token in turn, and compare all the other rows. And test that all positions use the same map.
| last_row_alone
  + X = torch.randn(T, d, dtype=torch.float64)
  + last = f(X)[-1]
  + for t in range(T - 1):
  +     X2 = X.clone()
  +     X2[t] = torch.randn(d)
  +     if (f(X2)[-1] - last).abs().max() > 1e-3 * last.abs().max():
  +         return False
  + return True
changes_the_last_token_only
  + X = torch.randn(T, d, dtype=torch.float64)
  + X2 = X.clone()
  + X2[-1] = torch.randn(d)
  + return (f(X)[:-1] - f(X2)[:-1]).abs().max() <= 1e-3 * f(X2)[:-1].abs().max()
    Causal attention passes your test. Either the last token is the only one that you change, or the first row is the only one that you compare. Change
    every token in turn, and compare all the other rows. And test that all positions use the same map.
| first_row_alone
  + X = torch.randn(T, d, dtype=torch.float64)
  + first = f(X)[0]
  + for t in range(1, T):
  +     X2 = X.clone()
  +     X2[t] = torch.randn(d)
  +     if (f(X2)[0] - first).abs().max() > 1e-3 * first.abs().max():
  +         return False
  + return True
changes_a_middle_token_only
  + X = torch.randn(T, d, dtype=torch.float64)
  + X2 = X.clone()
  + X2[T // 2] = torch.randn(d)
  + others = torch.arange(T) != T // 2
  + return (f(X)[others] - f(X2)[others]).abs().max() <= 1e-3 * f(X2)[others].abs().max()
    Either one token in the middle is the only one that you change, or its row is the only one that you compare. What passes between two others goes
    unnoticed: change every token in turn, and compare all the other rows. And test that all positions use the same map.
| middle_row_alone
  + X = torch.randn(T, d, dtype=torch.float64)
  + Y = f(X)
  + for t in range(T):
  +     X2 = X.clone()
  +     X2[t] = torch.randn(d)
  +     if t != T // 2 and (f(X2) - Y)[T // 2].abs().max() > 1e-3 * Y.abs().max():
  +         return False
  + return True
equivariance_only
  + X = torch.randn(T, d, dtype=torch.float64)
  + return all(
  +     (f(X[p]) - f(X)[p]).abs().max() <= 1e-3 * f(X)[p].abs().max() for p in [torch.randperm(T) for _ in range(8)]
  + )
    This tests permutation equivariance. Attention passes as well: it treats all tokens alike, and still mixes them. Test also that no token's output
    depends on another token.
| reversed_and_rolled
  + X = torch.randn(T, d, dtype=torch.float64)
  + rolled = (f(X.roll(1, 0)) - f(X).roll(1, 0)).abs().max() <= 1e-3 * f(X).roll(1, 0).abs().max()
  + return rolled and (f(X.flip(0)) - f(X).flip(0)).abs().max() <= 1e-3 * f(X).flip(0).abs().max()
reversed_alone
  + X = torch.randn(T, d, dtype=torch.float64)
  + return (f(X.flip(0)) - f(X).flip(0)).abs().max() <= 1e-3 * f(X).flip(0).abs().max()
    You try a single other order, the reversed one. Attention passes, and so does a layer that treats both ends alike and the middle differently.
    Test also that no token's output depends on another token, and put the same vector at every position in turn.
rolled_alone
  + X = torch.randn(T, d, dtype=torch.float64)
  + shifted = f(X.roll(1, 0))
  + return (shifted - f(X).roll(1, 0)).abs().max() <= 1e-3 * shifted.abs().max()
    You shift the sequence around and look whether the outputs shift along. Attention passes, and so does a layer in which every token hears the one
    three places before it. Test also that no token's output depends on another token.
|| rolled_by_each_step
  - shifted = f(X.roll(1, 0))
  - return (shifted - f(X).roll(1, 0)).abs().max() <= 1e-3 * shifted.abs().max()
  + Y = f(X)
  + limit = 1e-3 * Y.abs().max()
  + return all((f(torch.roll(X, n, 0)) - torch.roll(Y, n, 0)).abs().max() <= limit for n in range(1, T))
equal_rows_only
  + rows = f(torch.randn(d, dtype=torch.float64).expand(T, d))
  + return (rows - rows[:1]).abs().max() <= 1e-3 * rows[:1].abs().max()
    Equal rows in, equal rows out: attention passes that, since a mean of equal things is the same thing. Let the other tokens differ, and change
    them.
| ones_alone
  + rows = f(torch.ones(T, d, dtype=torch.float64))
  + return (rows - rows[:1]).abs().max() <= 1e-3 * rows[:1].abs().max()
ones_strictly_below
  + rows = f(torch.ones(T, d, dtype=torch.float64))
  + return (rows - rows[:1]).abs().max() < 1e-3 * rows[:1].abs().max()
    Equal rows in, equal rows out: attention passes that. And a layer norm of ones gives zeros, where 0 < 0 is false: compare with `<=`. Feed random rows
    that differ, and change them.
| nudge_too_small | one_exchange
  + X = torch.randn(T, d, dtype=torch.float64)
  + order = torch.arange(T)
  + order[:2] = torch.tensor([1, 0])
  + return (f(X[order]) - f(X)[order]).abs().max() <= 1e-3 * f(X)[order].abs().max()
calls_single_tokens
  + X = torch.randn(T, d, dtype=torch.float64)
  + return all((f(X)[t] - f(X[t : t + 1])[0]).abs().max() <= 1e-3 * f(X[t : t + 1])[0].abs().max() for t in range(T))
    f is called with a single token. It takes sequences of exactly T tokens: put the token into a sequence, at every position in turn, among random
    others.
| calls_bare_vectors
  + X = torch.randn(T, d, dtype=torch.float64)
  + return (f(X) - torch.stack([f(x) for x in X])).abs().max() <= 1e-3 * torch.stack([f(x) for x in X]).abs().max()
two_positions_only
  + X, X2 = torch.randn(2, T, d, dtype=torch.float64)
  + X2[1] = X[0]
  + return (f(X)[0] - f(X2)[1]).abs().max() <= 1e-3 * f(X2)[1].abs().max()
    Only positions 0 and 1 are compared. The others may be treated differently, or see each other: let t run over all of them.
of base
zeros_elsewhere: X = torch.randn(T, d, dtype=torch.float64) -> X = torch.zeros(T, d, dtype=torch.float64)
    The vector moves through a sequence of zeros, so its company is the same wherever it is, and attention passes. Put it among random tokens, and
    take new ones for every position.
exact_equality
  - torch.randn(d, dtype=torch.float64)
  + torch.randn(d)
  - torch.randn(T, d, dtype=torch.float64)
  + torch.randn(T, d)
  - return (torch.stack(outs) - outs[0]).abs().max() <= 1e-3 * outs[0].abs().max()
  + return all(torch.equal(outs[0], out) for out in outs)
    The outputs are compared exactly. Rounding in the last digit is enough to be called mixing; compare with a tolerance, such as `torch.allclose`.
in return (torch.stack(outs) - outs[0]).abs().max() <= 1e-3 * outs[0].abs().max()
| exact_in_float64: return bool((torch.stack(outs) == outs[0]).all())
in def is_position_wise(f, T, d, seed=0):
in_training_mode
  + def is_position_wise(f, T, d, seed=0):
  +     if isinstance(f, nn.Module):
  +         f.train()
    f is switched to training mode, and its dropout makes every call differ. A test looks at a module in the mode it was given.
switched_to_eval
  + def is_position_wise(f, T, d, seed=0):
  +     f.eval()
    `f.eval()` is called, but most functions here are not modules. Don't switch anything: a test looks at f as it was given.
mode_not_restored
  + def is_position_wise(f, T, d, seed=0):
  +     if isinstance(f, nn.Module):
  +         f.eval()
    A module comes back in another mode than it came: `f.eval()` is called and never undone. It is the caller's module, so look at it as it was given.
in return (torch.stack(outs) - outs[0]).abs().max() <= 1e-3 * outs[0].abs().max()
tolerance_with_a_graph
  + rows = torch.stack(outs)
  + return torch.allclose(rows, rows[0].expand(T, d), rtol=1e-4, atol=1e-4 * rows.abs().max())
    A module's output carries a graph, and such a tensor is not taken as a tolerance. Make it a number with `.item()`, or compute under
    `torch.no_grad()`.
the_wrong_way_round: return (torch.stack(outs) - outs[0]).abs().max() > 1e-3 * outs[0].abs().max()
    The answer is the wrong way round: your test finds the difference, and returns True for it. True means position-wise.
one_answer_per_position: return (torch.stack(outs) - outs[0]).abs().amax(dim=1) < 1e-6
    A tensor with one truth value per position comes back. Return one: `.all()` tells you whether all of them hold.
signs_ignored: return (torch.stack(outs) - outs[0]).max() <= 1e-3 * outs[0].abs().max()
    The difference is compared with its sign: one that is negative everywhere counts as none. `.abs()` comes before the `max`.
|| negative_signs_alone: torch.stack(outs) - outs[0] -> outs[0] - torch.stack(outs)
absolute_limit: return (torch.stack(outs) - outs[0]).abs().max() <= 2e-3
    The tolerance is not a part of the output's size: it is a number of its own, or a part of the input's size. Where all outputs are very small,
    their differences are as well. Compare with the output's largest number.
| a_number_beside_a_part: return torch.allclose(torch.stack(outs), outs[0].expand(T, d), rtol=1e-2, atol=1e-4)
| limit_from_the_input: outs[0].abs -> v.abs
limit_too_narrow: return torch.allclose(torch.stack(outs), outs[0].expand(T, d))
    Your tolerance is too narrow: differences below 1/10,000 of the output's size are rounding here, and your test calls them mixing.
    (`torch.allclose` alone allows 1/100,000 of each number, and next to nothing where a number is near 0.)
| limit_of_a_millionth
  + rows = torch.stack(outs)
  + return (rows - rows[0]).abs().max() <= 1e-6 * rows.abs().max()
in range(T)
first_position_left_out: range(1, T)
    The first position, or the last, is never tested. It may be the one that is treated differently, or that sees another: let t run over all T of
    them.
| both_ends_left_out: range(1, T - 1)
|| last_position_left_out: 1, T -> T - 1
features_added_up: outs.append(f(X)[t]) -> outs.append(f(X)[t].sum())
    The numbers of a token are added up, or averaged, before they are compared. What one of them gains and another loses goes unnoticed: take `.abs()`
    of each difference first.
| means_compared
  - return (torch.stack(outs) - outs[0]).abs().max() <= 1e-3 * outs[0].abs().max()
  + rows = torch.stack(outs)
  + return (rows - rows[0]).mean(dim=1).abs().max() <= 1e-3 * rows.abs().max()
|| own_row_compared | changes_pile_up
  - X.clone()
  + X
  - if (f(X2) - Y).abs().max() > 1e-3 * Y.abs().max():
  + others = [i for i in range(T) if i != t]
  + if (f(X2)[others] - Y[others]).abs().max() > 1e-3 * Y[others].abs().max():
""")


is_position_wise.slip(
    "independence_only",
    "This tests that no token sees another. An FFN with weights of its own at every position passes that, too. "
    "Test also that the same vector, put at another position, is treated in the same way.",
    of="changes_pile_up",
    replace={"X2 = X\nX2[t] = torch.randn(d)": "X2 = X.clone()\nX2[t] += 1"},
)


@is_position_wise.form("independence_only")
def jacobian_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    J = torch.autograd.functional.jacobian(f, torch.randn(T, d, dtype=torch.float64))
    return all(J[i, :, j].abs().max() < 1e-3 for i in range(T) for j in range(T) if i != j)


@is_position_wise.mistake(
    "The function ends without a `return` where nothing was found. Finding no difference is an answer: True."
)
def nothing_when_right(f, T, d, seed=0):
    torch.manual_seed(seed)
    v = torch.randn(d, dtype=torch.float64)
    first = None
    for t in range(T):
        X = torch.randn(T, d, dtype=torch.float64)
        X[t] = v
        out = f(X)[t]
        first = out if first is None else first
        if (out - first).abs().max() > 1e-3 * first.abs().max():
            return False
