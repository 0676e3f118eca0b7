"""The marking guide of notebook 04, Which of these eight are real?

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: torch, F and nn.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import every_position as exercises

# is_position_wise

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
def permutes_the_batch(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(4, T, d, dtype=torch.float64)
    order = torch.randperm(4)
    return (f(X[order]) - f(X)[order]).abs().max() <= 1e-3 * f(X)[order].abs().max()


@is_position_wise.form(only_the_shape)
def runs_twice(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d)
    return (f(X) - f(X)).abs().max() <= 1e-3 * f(X).abs().max()


@is_position_wise.mistake(
    "Only token 0 is changed. A layer in which tokens see later ones alone, or in which a middle token leaks, goes unnoticed: change every token in turn. "
    "And test that all positions use the same map."
)
def changes_token_0_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[0] = torch.randn(d)
    return (f(X)[1:] - f(X2)[1:]).abs().max() <= 1e-3 * f(X2)[1:].abs().max()


@is_position_wise.mistake(
    "Only the last token is changed. In causal attention no earlier row reacts to it, and your test calls that position-wise: change every token in turn. "
    "And test that all positions use the same map."
)
def changes_the_last_token_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[-1] = torch.randn(d)
    return (f(X)[:-1] - f(X2)[:-1]).abs().max() <= 1e-3 * f(X2)[:-1].abs().max()


@is_position_wise.mistake(
    "Only one token in the middle is changed. What another token leaks goes unnoticed: change every token in turn. "
    "And test that all positions use the same map."
)
def changes_a_middle_token_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    X2 = X.clone()
    X2[T // 2] = torch.randn(d)
    others = torch.arange(T) != T // 2
    return (f(X)[others] - f(X2)[others]).abs().max() <= 1e-3 * f(X2)[others].abs().max()


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
    "Only token 0 is changed before the maps are compared, so what other tokens leak goes unnoticed. Change every token in turn."
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


@is_position_wise.mistake(
    "This tests permutation equivariance. Attention passes as well: it treats all tokens alike, and still mixes them. "
    "Test also that no token's output depends on another token."
)
def equivariance_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    return all(
        (f(X[p]) - f(X)[p]).abs().max() <= 1e-3 * f(X)[p].abs().max() for p in [torch.randperm(T) for _ in range(8)]
    )


@is_position_wise.form(equivariance_only)
def reversed_and_rolled(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    rolled = (f(X.roll(1, 0)) - f(X).roll(1, 0)).abs().max() <= 1e-3 * f(X).roll(1, 0).abs().max()
    return rolled and (f(X.flip(0)) - f(X).flip(0)).abs().max() <= 1e-3 * f(X).flip(0).abs().max()


@is_position_wise.mistake(
    "You shift the sequence around and look whether the outputs shift along. Attention passes, and so does a layer in which every token hears the one "
    "three places before it. Test also that no token's output depends on another token."
)
def rolled_alone(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    shifted = f(X.roll(1, 0))
    return (shifted - f(X).roll(1, 0)).abs().max() <= 1e-3 * shifted.abs().max()


@is_position_wise.form(rolled_alone)
def rolled_by_each_step(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    limit = 1e-3 * Y.abs().max()
    return all((f(torch.roll(X, n, 0)) - torch.roll(Y, n, 0)).abs().max() <= limit for n in range(1, T))


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


is_position_wise.slip(
    "zeros_elsewhere",
    "The vector moves through a sequence of zeros, so its company is the same wherever it is, and attention passes. Put "
    "it among random tokens, and take new ones for every position.",
    replace={".randn(T, d, dtype=torch.float64)": ".zeros(T, d, dtype=torch.float64)"},
)


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


@is_position_wise.form(own_row_compared)
def changes_pile_up(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    Y = f(X)
    for t in range(T):
        X2 = X
        X2[t] = torch.randn(d)
        others = [i for i in range(T) if i != t]
        if (f(X2)[others] - Y[others]).abs().max() > 1e-3 * Y[others].abs().max():
            return False
    return True


is_position_wise.slip(
    "independence_only",
    "This tests that no token sees another. An FFN with weights of its own at every position passes that, too. "
    "Test also that the same vector, put at another position, is treated in the same way.",
    of=changes_pile_up,
    replace={"X2 = X\nX2[t] = torch.randn(d)": "X2 = X.clone()\nX2[t] += 1"},
)


@is_position_wise.form("independence_only")
def jacobian_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    J = torch.autograd.functional.jacobian(f, torch.randn(T, d, dtype=torch.float64))
    return all(J[i, :, j].abs().max() < 1e-3 for i in range(T) for j in range(T) if i != j)


@is_position_wise.mistake(
    "Equal rows in, equal rows out: attention passes that, since a mean of equal things is the same thing. Let the other tokens differ, and change them."
)
def equal_rows_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    rows = f(torch.randn(d, dtype=torch.float64).expand(T, d))
    return (rows - rows[:1]).abs().max() <= 1e-3 * rows[:1].abs().max()


@is_position_wise.mistake(
    "The outputs are compared exactly. Rounding in the last digit is enough to be called mixing; compare with a tolerance, such as `torch.allclose`."
)
def exact_equality(f, T, d, seed=0):
    torch.manual_seed(seed)
    v = torch.randn(d)
    outs = []
    for t in range(T):
        X = torch.randn(T, d)
        X[t] = v
        outs.append(f(X)[t])
    return all(torch.equal(outs[0], out) for out in outs)


is_position_wise.slip(
    "exact_in_float64",
    replace={"return …": "return bool((torch.stack(outs) == outs[0]).all())"},
    form_of=exact_equality,
)


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


@is_position_wise.form(nudge_too_small)
def one_exchange(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    order = torch.arange(T)
    order[:2] = torch.tensor([1, 0])
    return (f(X[order]) - f(X)[order]).abs().max() <= 1e-3 * f(X)[order].abs().max()


is_position_wise.slip(
    "in_training_mode",
    "f is switched to training mode, and its dropout makes every call differ. A test looks at a module in the mode it was given.",
    replace={"torch.manual_seed(seed)": ("if isinstance(f, nn.Module):\n    f.train()\ntorch.manual_seed(seed)")},
)
is_position_wise.slip(
    "switched_to_eval",
    "`f.eval()` is called, but most functions here are not modules. Don't switch anything: a test looks at f as it was given.",
    replace={"torch.manual_seed(seed)": "f.eval()\ntorch.manual_seed(seed)"},
)
is_position_wise.slip(
    "tolerance_with_a_graph",
    "A module's output carries a graph, and such a tensor is not taken as a tolerance. Make it a number with `.item()`, or "
    "compute under `torch.no_grad()`.",
    replace={
        "return …": (
            "rows = torch.stack(outs)\n"
            "return torch.allclose(rows, rows[0].expand(T, d), rtol=1e-4, atol=1e-4 * rows.abs().max())"
        )
    },
)


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
    "f is called with a single token. It takes sequences of exactly T tokens: put the token into a sequence, at every position in turn, among random others."
)
def calls_single_tokens(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    return all((f(X)[t] - f(X[t : t + 1])[0]).abs().max() <= 1e-3 * f(X[t : t + 1])[0].abs().max() for t in range(T))


@is_position_wise.form(calls_single_tokens)
def calls_bare_vectors(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d, dtype=torch.float64)
    return (f(X) - torch.stack([f(x) for x in X])).abs().max() <= 1e-3 * torch.stack([f(x) for x in X]).abs().max()


is_position_wise.slip(
    "the_wrong_way_round",
    "The answer is the wrong way round: your test finds the difference, and returns True for it. True means position-wise.",
    replace={" <= 1e-3": " > 1e-3"},
)


@is_position_wise.mistake(
    "Only positions 0 and 1 are compared. The others may be treated differently, or see each other: let t run over all of them."
)
def two_positions_only(f, T, d, seed=0):
    torch.manual_seed(seed)
    X, X2 = torch.randn(2, T, d, dtype=torch.float64)
    X2[1] = X[0]
    return (f(X)[0] - f(X2)[1]).abs().max() <= 1e-3 * f(X2)[1].abs().max()


is_position_wise.slip(
    "one_answer_per_position",
    "A tensor with one truth value per position comes back. Return one: `.all()` tells you whether all of them hold.",
    replace={".max() <= 1e-3 * outs[0].abs().max()": ".amax(dim=1) < 1e-6"},
)
is_position_wise.slip(
    "first_position_left_out",
    "The first position, or the last, is never tested. It may be the one that is treated differently, or that sees another: "
    "let t run over all T of them.",
    replace={"range(T)": "range(1, T)"},
)
is_position_wise.slip("last_position_left_out", replace={"range(T)": "range(T - 1)"}, form_of="first_position_left_out")
is_position_wise.slip("both_ends_left_out", replace={"range(T)": "range(1, T - 1)"}, form_of="first_position_left_out")
is_position_wise.slip(
    "signs_ignored",
    "The difference is compared with its sign: one that is negative everywhere counts as none. `.abs()` comes before the `max`.",
    replace={".abs().max() <= 1e-3": ".max() <= 1e-3"},
)
is_position_wise.slip(
    "negative_signs_alone",
    replace={"(torch.stack(outs) - outs[0]).abs()": "(outs[0] - torch.stack(outs))"},
    form_of="signs_ignored",
)
is_position_wise.slip(
    "absolute_limit",
    "The tolerance is not a part of the output's size: it is a number of its own, or a part of the input's size. Where all outputs are very small, "
    "their differences are as well. Compare with the output's largest number.",
    replace={"1e-3 * outs[0].abs().max()": "2e-3"},
)
is_position_wise.slip("limit_from_the_input", replace={"outs[0].abs": "v.abs"}, form_of="absolute_limit")
is_position_wise.slip(
    "a_number_beside_a_part",
    replace={"return …": "return torch.allclose(torch.stack(outs), outs[0].expand(T, d), rtol=1e-2, atol=1e-4)"},
    form_of="absolute_limit",
)


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


is_position_wise.slip(
    "limit_too_narrow",
    "Your tolerance is too narrow: differences below 1/10,000 of the output's size are rounding here, and your test calls them mixing. "
    "(`torch.allclose` alone allows 1/100,000 of each number, and next to nothing where a number is near 0.)",
    replace={"return …": "return torch.allclose(torch.stack(outs), outs[0].expand(T, d))"},
)
is_position_wise.slip(
    "limit_of_a_millionth",
    replace={"return …": ("rows = torch.stack(outs)\nreturn (rows - rows[0]).abs().max() <= 1e-6 * rows.abs().max()")},
    form_of="limit_too_narrow",
)


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


is_position_wise.slip(
    "features_added_up",
    "The numbers of a token are added up, or averaged, before they are compared. What one of them gains and another loses goes unnoticed: "
    "take `.abs()` of each difference first.",
    replace={"f(X)[t]": "f(X)[t].sum()"},
)
is_position_wise.slip(
    "means_compared",
    replace={
        "return …": (
            "rows = torch.stack(outs)\nreturn (rows - rows[0]).mean(dim=1).abs().max() <= 1e-3 * rows.abs().max()"
        )
    },
    form_of="features_added_up",
)
is_position_wise.slip(
    "mode_not_restored",
    "A module comes back in another mode than it came: `f.eval()` is called and never undone. It is the caller's module, so look at it as it was given.",
    of="in_training_mode",
    replace={"f.train": "f.eval"},
)


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


# position_wise_twin

position_wise_twin = Key(exercises.position_wise_twin)


@position_wise_twin.truth
def one_row_after_the_other(f, X):
    """The first row of X that equals a word tells its answer; other words get zeros."""
    answers = f(X)

    def g(Z):
        rows = []
        for word in Z:
            row = torch.zeros_like(word)
            for t in range(len(X) - 1, -1, -1):
                if bool((X[t] == word).all()):
                    row = answers[t]
            rows.append(row)
        return torch.stack(rows)

    return g


@position_wise_twin.right("a dictionary, and zeros for the rest")
def with_dictionary(f, X):
    answers = {tuple(x.tolist()): y for x, y in zip(X, f(X), strict=True)}

    def g(Z):
        return torch.stack([answers.get(tuple(z.tolist()), torch.zeros_like(z)) for z in Z])

    return g


@position_wise_twin.right("a comparison of all pairs, and x itself for the rest")
def all_pairs(f, X):
    Y = f(X)

    def g(Z):
        same = (Z[:, None] == X).all(dim=-1)
        return torch.where(same.any(1, keepdim=True), Y[same.long().argmax(1)], Z)

    return g


@position_wise_twin.right("each word in its own company: it is written into X where it is nearest")
def in_its_own_company(f, X):
    def alone(z):
        t = (X - z).norm(dim=1).argmin()
        return f(torch.cat([X[:t], z[None], X[t + 1 :]]))[t]

    return lambda Z: torch.stack([alone(z) for z in Z])


@position_wise_twin.right("attention to the words of X, so sharp that it sees one only")
def sharp_attention(f, X):
    Y = f(X)
    return lambda Z: torch.softmax(-1e9 * torch.cdist(Z, X), dim=-1) @ Y


@position_wise_twin.base
def plain_position_wise_twin(f, X):
    Y = f(X)

    def g(Z):
        nearest = (Z[:, None] - X).abs().sum(dim=-1).argmin(dim=1)
        return Y[nearest]

    return g


@position_wise_twin.mistake(
    "This is the box itself. It answers X as f does, of course, but it still looks sideways: g may look at one word at a time."
)
def the_box_itself(f, X):
    return f


position_wise_twin.slip(
    "the_box_is_asked_again",
    replace={
        "Y = f(X)": "",
        "nearest = (Z[:, None] - X).abs().sum(dim=-1).argmin(dim=1)\n": "",
        "return Y[nearest]": "return f(Z)",
    },
    form_of=the_box_itself,
)


@position_wise_twin.mistake(
    "g gives its answers by place: the first word gets the first answer, whatever it is. "
    "That is a favourite at every place. Look the word up, not its position."
)
def by_place(f, X):
    Y = f(X)
    return lambda Z: Y[: len(Z)]


@position_wise_twin.form(by_place)
def always_the_same(f, X):
    Y = f(X)

    def g(Z):
        return Y

    return g


@position_wise_twin.mistake(
    "g recognises the whole sentence. Give it the same words in another order, and it has forgotten all of them. It should recognise each word."
)
def whole_sentence(f, X):
    Y = f(X)

    def g(Z):
        if Z.shape == X.shape and torch.equal(Z, X):
            return Y
        return torch.zeros_like(Z)

    return g


@position_wise_twin.mistake(
    "f is asked about each word alone. That is position-wise, but a word alone has no company, "
    "and f answers it differently than in X. Ask f about X, and keep what it says."
)
def without_company(f, X):
    return lambda Z: torch.cat([f(z[None]) for z in Z])


@position_wise_twin.mistake(
    "Every word is asked at the same place of X, so the word that was there is missing from its company. Each word has to keep the company that it has in X."
)
def always_at_place_0(f, X):
    return lambda Z: torch.stack([f(torch.cat([z[None], X[1:]]))[0] for z in Z])


@position_wise_twin.mistake(
    "Only the first number of a word is compared. Two words of X begin alike, and one of them gets the other's answer. Compare all d numbers."
)
def first_number(f, X):
    Y = f(X)
    return lambda Z: Y[(Z[:, None, 0] - X[:, 0]).abs().argmin(dim=1)]


@position_wise_twin.mistake(
    "g is one matrix, fitted to the answers. X has more words than a matrix can answer, so they are met only roughly. "
    "Nothing has to be fitted: keep the answers."
)
def one_matrix(f, X):
    W = torch.linalg.lstsq(X, f(X)).solution
    return lambda Z: Z @ W


@position_wise_twin.mistake(
    "A word that is not in X gets an answer that depends on the words around it: f is asked about the whole "
    "sentence again. Give it anything that is made of this one word."
)
def strangers_in_company(f, X):
    Y = f(X)

    def g(Z):
        same = (Z[:, None] == X).all(dim=-1)
        return torch.where(same.any(1, keepdim=True), Y[same.long().argmax(1)], f(Z))

    return g


@position_wise_twin.mistake(
    "g fails for a word that is not in X. It may answer what it likes, but it has to answer: with zeros, for example."
)
def strangers_refused(f, X):
    answers = {tuple(x.tolist()): y for x, y in zip(X, f(X), strict=True)}
    return lambda Z: torch.stack([answers[tuple(z.tolist())] for z in Z])


position_wise_twin.slip(
    "wrong_direction",
    "The minimum is taken over the words that g gets, so each word of X finds its nearest one. It is the other way round: one answer for each word of Z.",
    replace={"argmin(dim=1)": "argmin(dim=0)"},
)
position_wise_twin.slip(
    "answers_instead_of_a_function",
    "The answers to X come back. A function is asked for, one that can be given other sentences: define `g` inside, and return `g`.",
    replace={"return g": "return Y"},
)
position_wise_twin.slip(
    "places_instead_of_answers",
    "g says where each word is in X. Return what f has answered there.",
    replace={"return Y[nearest]": "return nearest"},
)
position_wise_twin.slip(
    "words_instead_of_answers",
    "g gives back the word of X that it has found. Return what f has answered there.",
    replace={"return Y[nearest]": "return X[nearest]"},
)
position_wise_twin.slip(
    "g_returns_nothing",
    "g ends without a `return`. It is g that answers the words, so it needs one of its own.",
    replace={"return Y[nearest]": "Y[nearest]"},
)
position_wise_twin.slip("twin_not_returned", NO_RETURN, replace={"return g": ""})


# residual_sublayer

residual_sublayer = Key(exercises.residual_sublayer)


@residual_sublayer.truth
def token_by_token(x, ffn, norm, mode):
    """One token at a time, with the norm's formula written out from its parameters."""

    def normed(v):
        mean = sum(v) / len(v)
        variance = sum((n - mean) ** 2 for n in v) / len(v)
        return (v - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias

    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        if mode == "pre":
            rows.append(token + ffn(normed(token)))
        elif mode == "post":
            rows.append(normed(token + ffn(token)))
        else:
            raise ValueError(mode)
    return torch.stack(rows).reshape(x.shape)


@residual_sublayer.right("if and else, with names for the parts")
def with_names(x, ffn, norm, mode):
    if mode == "pre":
        update = ffn(norm(x))
        return x + update
    if mode == "post":
        total = x + ffn(x)
        return norm(total)
    raise ValueError(f"unknown mode {mode}")


@residual_sublayer.right("one line each in a dict of functions")
def by_dict(x, ffn, norm, mode):
    return {"pre": lambda: ffn(norm(x)) + x, "post": lambda: norm(ffn(x) + x)}[mode]()


@residual_sublayer.right("in place on the fresh output of the FFN")
def in_place_on_fresh(x, ffn, norm, mode):
    out = ffn(norm(x)) if mode == "pre" else ffn(x)
    out += x
    if mode == "post":
        out = norm(out)
    return out


@residual_sublayer.right("match, and torch.add")
def with_match(x, ffn, norm, mode):
    match mode:
        case "pre":
            return torch.add(x, ffn(norm(x)))
        case "post":
            return norm(torch.add(x, ffn(x)))
        case _:
            raise ValueError("mode must be pre or post")


@residual_sublayer.mistake(
    "The two modes are exchanged. 'pre' says where the norm is: before the FFN. 'post': after the addition."
)
def exchanged(x, ffn, norm, mode):
    return norm(x + ffn(x)) if mode == "pre" else x + ffn(norm(x))


@residual_sublayer.mistake(
    "Both modes normalise the sum, so 'pre' is a second 'post'. In 'pre' the norm comes before the FFN, and the sum is left as it is."
)
def both_post(x, ffn, norm, mode):
    return norm(x + ffn(x))


@residual_sublayer.mistake(
    "Both modes normalise before the FFN, so 'post' is a second 'pre'. In 'post' the norm comes last, after the addition."
)
def both_pre(x, ffn, norm, mode):
    return x + ffn(norm(x))


@residual_sublayer.mistake(
    "In 'pre' the normalised x is added, not x itself: x + …, with the x that came in. That path without a norm is what pre-norm is for."
)
def residual_from_the_norm(x, ffn, norm, mode):
    if mode == "pre":
        x = norm(x)
        return x + ffn(x)
    return norm(x + ffn(x))


@residual_sublayer.mistake(
    "In 'post' the norm comes before the addition, on the FFN's output alone. The paper of 2017 normalises the sum: norm(x + …)."
)
def post_before_the_addition(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else x + norm(ffn(x))


@residual_sublayer.mistake(
    "In 'pre' the norm comes after the FFN, on its output. It belongs before: the FFN reads the normalised x."
)
def pre_behind_the_ffn(x, ffn, norm, mode):
    return x + norm(ffn(x)) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake(
    "In 'post' x is normalised alone, and the FFN's output comes on top as it is. The paper of 2017 normalises the sum of the two."
)
def post_on_x_alone(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else norm(x) + ffn(x)


@residual_sublayer.mistake(
    "In 'post' x is added once more after the norm, so it is there twice. Add, then normalise, and that is all."
)
def post_with_x_twice(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else x + norm(x + ffn(x))


@residual_sublayer.mistake(
    "In 'pre' x is added before the FFN, to what it reads. The residual goes around the FFN: x is added to what the FFN says."
)
def added_before_the_ffn(x, ffn, norm, mode):
    return ffn(x + norm(x)) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake("The residual connection is missing in both modes: x must be added to what the FFN says.")
def no_residual(x, ffn, norm, mode):
    return ffn(norm(x)) if mode == "pre" else norm(ffn(x))


@residual_sublayer.mistake("In 'pre' the residual connection is missing: x must be added to what the FFN says.")
def no_residual_in_pre(x, ffn, norm, mode):
    return ffn(norm(x)) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake("In 'post' the residual connection is missing: x must be added before the norm.")
def no_residual_in_post(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else norm(ffn(x))


@residual_sublayer.mistake("The norm is missing in both modes: x + FFN(x) alone is the residual connection.")
def no_norm(x, ffn, norm, mode):
    return x + ffn(x)


@residual_sublayer.mistake("In 'pre' the norm is missing: the FFN reads x as it is. It should read the normalised x.")
def no_norm_in_pre(x, ffn, norm, mode):
    return x + ffn(x) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake("In 'post' the norm is missing: it comes last, after the sum.")
def no_norm_in_post(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else x + ffn(x)


@residual_sublayer.mistake(
    "In 'pre' the sum is normalised as well. One norm a sub-layer: in 'pre' it comes before the FFN, and nothing follows the addition."
)
def normed_twice(x, ffn, norm, mode):
    return norm(x + ffn(norm(x))) if mode == "pre" else norm(x + ffn(x))


@residual_sublayer.mistake(
    "In 'post' the FFN gets a normalised x as well. In the form of 2017 it reads x as it is; one norm a sub-layer, after the addition."
)
def post_with_two_norms(x, ffn, norm, mode):
    return x + ffn(norm(x)) if mode == "pre" else norm(x + ffn(norm(x)))


@residual_sublayer.mistake(
    "x is normalised over the tokens, by hand. Use the `norm` you were handed: it works on each token's own numbers."
)
def over_the_tokens(x, ffn, norm, mode):
    def normed(v):
        return (v - v.mean(-2, keepdim=True)) / (v.std(-2, keepdim=True) + 1e-5)

    return x + ffn(normed(x)) if mode == "pre" else normed(x + ffn(x))


@residual_sublayer.mistake(
    "A new norm is made, with gain 1 and bias 0. Use the `norm` you were handed: its gain and bias have been learned."
)
def own_norm(x, ffn, norm, mode):
    fresh = nn.LayerNorm(x.shape[-1]).to(x.dtype)
    return x + ffn(fresh(x)) if mode == "pre" else fresh(x + ffn(x))


residual_sublayer.slip(
    "functional_norm",
    of=over_the_tokens,
    replace={"(v - v.mean(-2, keepdim=True)) / (v.std(-2, keepdim=True) + 1e-5)": "F.layer_norm(v, v.shape[-1:])"},
    form_of=own_norm,
)


@residual_sublayer.mistake(
    "x itself is changed: `x += …` writes into the caller's tensor. `x = x + …` makes a new one."
)
def x_changed(x, ffn, norm, mode):
    if mode == "pre":
        x += ffn(norm(x))
        return x
    x += ffn(x)
    return norm(x)


@residual_sublayer.mistake(
    "The x that is added is detached. The values are right, but the gradient loses its direct path, which is what the residual is for."
)
def residual_detached(x, ffn, norm, mode):
    return x.detach() + ffn(norm(x)) if mode == "pre" else norm(x.detach() + ffn(x))


@residual_sublayer.mistake(
    "Nothing comes back, in either mode. Is the last line a `return`? Is the mode compared with 'pre' and 'post', in these letters?"
)
def other_words(x, ffn, norm, mode):
    if mode == "pre-norm":
        return x + ffn(norm(x))
    elif mode == "post-norm":
        return norm(x + ffn(x))


@residual_sublayer.mistake("For 'post' nothing comes back: only 'pre' reaches a `return`.")
def nothing_for_post(x, ffn, norm, mode):
    if mode == "pre":
        return x + ffn(norm(x))


@residual_sublayer.mistake("For 'pre' nothing comes back: only 'post' reaches a `return`.")
def nothing_for_pre(x, ffn, norm, mode):
    if mode == "post":
        return norm(x + ffn(x))


@residual_sublayer.mistake(
    "Both modes are refused, by an exception of your own. They are 'pre' and 'post', in these letters."
)
def refuses_both(x, ffn, norm, mode):
    if mode == "pre-norm":
        return x + ffn(norm(x))
    if mode == "post-norm":
        return norm(x + ffn(x))
    raise ValueError(mode)


@residual_sublayer.mistake("Both outputs come back, as a pair. The argument `mode` says which one is asked for.")
def both_at_once(x, ffn, norm, mode):
    return x + ffn(norm(x)), norm(x + ffn(x))


@residual_sublayer.mistake("The FFN's output is multiplied by x. A residual is a sum.")
def multiplied(x, ffn, norm, mode):
    return x * ffn(norm(x)) if mode == "pre" else norm(x * ffn(x))


# attention_only_collapse

attention_only_collapse = Key(exercises.attention_only_collapse)


@attention_only_collapse.truth
def one_query_at_a_time(X0, weights, skip):
    """Every query on its own, softmax by its definition, the residual from sums of squares; float64 throughout (Dong et al. 2021)."""

    def residual(tokens):
        off = total = 0.0
        for feature in zip(*[token.tolist() for token in tokens], strict=True):
            mean = math.fsum(feature) / len(feature)
            off += math.fsum((value - mean) ** 2 for value in feature)
            total += math.fsum(value**2 for value in feature)
        return math.sqrt(off / total)

    tokens = [token.double() for token in X0]
    found = [residual(tokens)]
    for layer in weights:
        Wq, Wk, Wv, Wo = (matrix.double() for matrix in layer)
        keys, values = [token @ Wk for token in tokens], [token @ Wv for token in tokens]
        outputs = []
        for token in tokens:
            scores = [float((token @ Wq) @ key) / math.sqrt(len(Wq[0])) for key in keys]
            shares = [math.exp(score) / math.fsum(map(math.exp, scores)) for score in scores]
            mixed = sum(share * value for share, value in zip(shares, values, strict=True))
            outputs.append(mixed @ Wo + (token if skip else 0))
        tokens = outputs
        found.append(residual(tokens))
    return found


@attention_only_collapse.right("a helper for attention, and one for the residual")
def with_helpers(X0, weights, skip):
    def attend(X, Wq, Wk, Wv, Wo):
        scores = torch.einsum("th,sh->ts", X @ Wq, X @ Wk) / Wq.shape[1] ** 0.5
        return scores.softmax(-1) @ (X @ Wv) @ Wo

    def residual(X):
        return float(torch.linalg.norm(X - X.mean(0, keepdim=True)) / torch.linalg.norm(X))

    X = X0.to(torch.float64)
    stages = [X]
    for matrices in weights:
        out = attend(X, *(m.to(torch.float64) for m in matrices))
        X = X + out if skip else out
        stages.append(X)
    return [residual(X) for X in stages]


@attention_only_collapse.right("torch's own attention")
def with_torch_attention(X0, weights, skip):
    x = X0.double()
    residuals = torch.zeros(len(weights) + 1, dtype=torch.float64)
    residuals[0] = (x - x.mean(dim=0)).norm() / x.norm()
    for i, (Wq, Wk, Wv, Wo) in enumerate(weights):
        q, k, v = (x @ W.double() for W in (Wq, Wk, Wv))
        out = F.scaled_dot_product_attention(q[None], k[None], v[None])[0] @ Wo.double()
        x = int(skip) * x + out
        residuals[i + 1] = (x - x.mean(dim=0)).norm() / x.norm()
    return residuals.tolist()


@attention_only_collapse.right("a list of 0-d tensors; the skip in place, on a fresh tensor")
def zero_dimensional(X0, weights, skip):
    X = X0.type(torch.double).clone()
    found = []
    for layer in [None, *weights]:
        if layer is not None:
            Wq, Wk, Wv, Wo = [W.double() for W in layer]
            out = torch.softmax(X @ (Wq @ Wk.T) @ X.T / math.sqrt(Wk.shape[1]), dim=1) @ X @ (Wv @ Wo)
            if skip:
                X += out
            else:
                X = out
        found.append(torch.sqrt(((X - X.mean(0)) ** 2).sum() / (X**2).sum()))
    return found


@attention_only_collapse.right("the mean as a product with a constant matrix, the layers by recursion")
def by_recursion(X0, weights, skip):
    X = X0.double()
    T = len(X)
    centre = torch.eye(T, dtype=X.dtype) - torch.ones(T, T, dtype=X.dtype) / T
    here = ((centre @ X).norm() / X.norm()).item()
    if not weights:
        return [here]
    Wq, Wk, Wv, Wo = (W.double() for W in weights[0])
    out = F.softmax((X @ Wq) @ (X @ Wk).mT / Wq.shape[-1] ** 0.5, dim=-1) @ (X @ Wv) @ Wo
    return [here, *by_recursion(skip * X + out, weights[1:], skip)]


@attention_only_collapse.right("the population variance: the numbers of entries cancel")
def with_variance(X0, weights, skip):
    def r(X):
        return math.sqrt(X.var(dim=0, unbiased=False).sum() / X.square().mean(dim=0).sum())

    stream = [X0.double()]
    for Wq, Wk, Wv, Wo in weights:
        X = stream[-1]
        A = torch.softmax((X @ Wq.double()) @ (X @ Wk.double()).T / math.sqrt(Wk.shape[1]), dim=1)
        stream.append(A @ X @ Wv.double() @ Wo.double() + (X if skip else 0))
    return list(map(r, stream))


@attention_only_collapse.base
def plain_attention_only_collapse(X0, weights, skip):
    def residual(X):
        return ((X - X.mean(dim=0)).norm() / X.norm()).item()

    X = X0.double()
    found = [residual(X)]
    for layer in weights:
        Wq, Wk, Wv, Wo = (W.double() for W in layer)
        scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])
        A = torch.softmax(scores, dim=-1)
        out = A @ (X @ Wv) @ Wo
        X = X + out if skip else out
        found.append(residual(X))
    return found


attention_only_collapse.slip(
    "in_float32",
    "This was computed in float32: it keeps about seven digits, so the numbers stop falling near 1e-7. Turn X0 and the weights into float64 first.",
    replace={"X0.double": "X0.float", "W.double": "W.float"},
)
attention_only_collapse.slip(
    "dtype_of_the_input",
    "The dtype of X0 is kept. Where it is float32, the numbers stop falling near 1e-7: turn X0 and the weights into float64 yourself.",
    replace={"X0.double()": "X0", "(W.double() for W in layer)": "layer"},
)
attention_only_collapse.slip(
    "residual_in_float32",
    "The layers are computed in float64, but the residual in float32: take its norms before rounding anything.",
    replace={"def residual(X):": "def residual(X):\n    X = X.float()"},
)
attention_only_collapse.slip(
    "weights_left_in_float32",
    "X is float64 and the weights are not, and torch does not multiply two dtypes. Turn the weights into float64 as well.",
    replace={"(W.double() for W in layer)": "layer"},
)
attention_only_collapse.slip(
    "X0_left_in_float32",
    "The weights are float64 and X0 is not, and torch does not multiply two dtypes. Turn X0 into float64 as well.",
    replace={"X0.double()": "X0"},
)
_LATE_FLOAT64 = "Only the residual is taken in float64; the layers before it are not. What float32 has rounded away does not come back: begin with float64."
attention_only_collapse.slip(
    "only_the_residual_in_float64",
    _LATE_FLOAT64,
    replace={
        "def residual(X):": "def residual(X):\n    X = X.double()",
        "X0.double()": "X0",
        "(W.double() for W in layer)": "layer",
    },
)
attention_only_collapse.slip(
    "float32_and_the_residual_in_float64",
    replace={
        "def residual(X):": "def residual(X):\n    X = X.double()",
        "X0.double": "X0.float",
        "W.double": "W.float",
    },
    form_of="only_the_residual_in_float64",
)
attention_only_collapse.slip(
    "X0_changed_in_place",
    "The numbers are right, but X0 was changed: `.double()` of a tensor that is float64 already makes no copy, and `+=` works in place. "
    "Write `X = X + …`.",
    replace={"X = X + out if skip else out": "if skip:\n    X += out\nelse:\n    X = out"},
)
attention_only_collapse.slip(
    "weights_replaced",
    "The numbers are right, but the list `weights` was changed on the way. Keep what you turn into float64 under a name of its own.",
    replace={
        "X = X0.double()": (
            "X = X0.double()\nfor i, layer in enumerate(weights):\n    weights[i] = tuple(W.double() for W in layer)"
        )
    },
)
attention_only_collapse.slip(
    "weights_used_up",
    "The list `weights` is emptied by `pop`: whoever calls the function a second time has no layers left. Walk through it with a `for`.",
    replace={"for layer in weights:": "while weights:", " in layer": " in weights.pop(0)"},
)
attention_only_collapse.slip(
    "the_first_layers_weights_again",
    "Every layer uses the matrices of the first. Each has its own four: take them anew in every turn of the loop.",
    replace={" in layer": " in weights[0]"},
)
attention_only_collapse.slip(
    "only_the_last_value",
    "Only the last number came back. The whole list is asked for, from X0 to the last layer.",
    replace={"return found": "return found[-1]"},
)
attention_only_collapse.slip(
    "only_the_last_value_in_a_list",
    "The list holds only the last number. One per layer is asked for, and that of X0 first.",
    replace={"return found": "return found[-1:]"},
)
attention_only_collapse.slip(
    "returned_inside_the_loop",
    "The `return` is inside the loop, so only one layer is run. Move it to the left, below the loop.",
    replace={"return found": "    return found"},
)
_NOT_A_LIST = "The residuals came back as one tensor, or array. A list is asked for: `.tolist()` makes one."
attention_only_collapse.slip(
    "a_tensor_of_residuals", _NOT_A_LIST, replace={"return found": "return torch.tensor(found, dtype=torch.float64)"}
)
attention_only_collapse.slip(
    "an_array_of_residuals",
    replace={"return found": "return torch.tensor(found, dtype=torch.float64).numpy()"},
    form_of="a_tensor_of_residuals",
)
attention_only_collapse.slip(
    "the_last_tokens",
    "The tokens after the last layer came back. The residuals on the way are asked for, a list of L + 1 numbers.",
    replace={"return found": "return X"},
)
attention_only_collapse.slip(
    "layer_0_missing",
    "The first number is missing: the residual of X0 itself, before any layer. L layers give L + 1 numbers.",
    replace={"[residual(X)]": "[]"},
)
attention_only_collapse.slip(
    "last_layer_missing",
    "The last number is missing: the residual is taken before each layer, and once more after the last.",
    replace={
        "[residual(X)]": "[]",
        "for layer in weights:": "for layer in weights:\n    found.append(residual(X))",
        "found.append(residual(X))": "",
    },
)
attention_only_collapse.slip(
    "skip_from_X0",
    "The skip adds X0 in every layer. It adds the input of the same layer, which is the output of the one before.",
    replace={"X + out": "X0.double() + out"},
)
attention_only_collapse.slip(
    "skip_doubles_the_output",
    "The skip adds the layer's output to itself. It is the layer's input, as it was before attention, that is added.",
    replace={"X = X + out if skip else out": "X = out\nX = X + out if skip else X"},
)
attention_only_collapse.slip(
    "skip_around_a_second_pass",
    "With `skip` each layer runs twice: X is replaced by the output first, and the output of a second pass is added. "
    "Keep the layer's input until the sum is made.",
    replace={
        "X = X + out if skip else out": (
            "X = out\n"
            "if skip:\n"
            "    X = X + torch.softmax((X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1]), dim=-1) @ (X @ Wv) @ Wo"
        )
    },
)
attention_only_collapse.slip(
    "skip_added_twice",
    "With `skip` the input is added twice. Is it in your attention already?",
    replace={" if skip else out": " + X if skip else out"},
)
attention_only_collapse.slip(
    "skip_at_the_end",
    "The skip is added once, after the last layer. Each layer has its own: its input is added to its output.",
    replace={
        "X + out if skip else out": "out",
        "return found": "if skip:\n    X = X + X0.double()\n    found[-1] = residual(X)\nreturn found",
    },
)
attention_only_collapse.slip(
    "skip_averaged", "Input and output are averaged. The skip adds them.", replace={"X + out": "(X + out) / 2"}
)
attention_only_collapse.slip(
    "skip_ignored",
    "`skip` has no effect: the layer's input is never added.",
    replace={"X + out if skip else out": "out"},
)
attention_only_collapse.slip(
    "skip_always",
    "The layer's input is always added. Only with `skip` it should be; without, X becomes the layer's output alone.",
    replace={" if skip else out": ""},
)
attention_only_collapse.slip(
    "skip_the_wrong_way_round",
    "`skip` works the wrong way round: the input is added when it is False.",
    replace={"X + out if skip else out": "out if skip else X + out"},
)
attention_only_collapse.slip(
    "X_never_replaced",
    "Every layer starts from X0 again. The output of one layer is the input of the next: X must be replaced in each turn.",
    replace={
        "X = X + out if skip else out": "new = X + out if skip else out",
        ".append(residual(X))": ".append(residual(new))",
    },
)
attention_only_collapse.slip(
    "attention_of_X0_only",
    "Attention is computed from X0 in every layer; only the skip hands anything on. The output of one layer is the input of the next.",
    replace={
        "scores = …": "start = X0.double()\nscores = (start @ Wq) @ (start @ Wk).T / math.sqrt(Wq.shape[1])",
        "X @ Wv": "start @ Wv",
    },
)
attention_only_collapse.slip(
    "residual_of_the_output",
    "With `skip` the residual is that of the layer's output alone. Measure the sum, which is what the next layer gets.",
    replace={".append(residual(X))": ".append(residual(out))"},
)
attention_only_collapse.slip(
    "softmax_over_the_wrong_dimension",
    "The softmax runs over the queries. Each token shares out its attention among the tokens it looks at: the last dimension.",
    replace={"dim=-1": "dim=0"},
)
attention_only_collapse.slip(
    "softmax_forgotten",
    "The softmax is missing: without weights that sum to 1, nothing is averaged.",
    replace={"torch.softmax(scores, dim=-1)": "scores"},
)
attention_only_collapse.slip(
    "causal_mask",
    "A causal mask hides the later tokens. Here there is no mask: every token looks at all of them.",
    replace={
        ".softmax(scores, dim=-1)": ".softmax(scores.masked_fill(torch.ones_like(scores).triu(1) > 0, float('-inf')), dim=-1)"
    },
)
attention_only_collapse.slip(
    "norm_added",
    "There is a LayerNorm before each attention. Here none is asked for: X goes in as it is.",
    replace={
        "scores = …": "Z = F.layer_norm(X, X.shape[-1:])\nscores = (Z @ Wq) @ (Z @ Wk).T / math.sqrt(Wq.shape[1])",
        "X @ Wv": "Z @ Wv",
    },
)
attention_only_collapse.slip(
    "A_of_the_first_layer",
    "The attention weights of the first layer are used in all of them (`self_attention`, given an A, freezes it). "
    "Each layer computes its own, from its own input.",
    replace={
        "X = X0.double()": "X = X0.double()\nA = None",
        ".softmax(scores, dim=-1)": ".softmax(scores, dim=-1) if A is None else A",
    },
)
attention_only_collapse.slip(
    "not_scaled", "The scores are not divided by √h.", replace={" / math.sqrt(Wq.shape[1])": ""}
)
attention_only_collapse.slip(
    "scaled_by_d_model",
    "The scores are divided by the root of d, the width of X. It is the head's width, Wq.shape[1], that counts.",
    replace={"Wq.shape": "X.shape"},
)
attention_only_collapse.slip(
    "A_from_X0",
    "The attention weights are computed from X0 in every layer. Each layer computes them from its own input.",
    replace={"(X @ Wq) @ (X @ Wk)": "(X0.double() @ Wq) @ (X0.double() @ Wk)"},
)
attention_only_collapse.slip(
    "Wo_left_out",
    "Wo is left out: the output has width h, and the next layer can't take it. Wo [h, d] brings it back to width d.",
    replace={" @ Wo": ""},
)
attention_only_collapse.slip(
    "mean_over_the_features",
    "The residual subtracts the mean over the features. Tokens are compared with each other: the mean of the rows, `dim=0`.",
    replace={"dim=0": "dim=1, keepdim=True"},
)
attention_only_collapse.slip(
    "mean_over_the_features_and_scaled_by_d_model",
    "Two things at once. The residual subtracts the mean over the features: the mean token is the mean of the rows, `dim=0`. And the scores are divided "
    "by √d: h is the width of the head.",
    replace={"dim=0": "dim=1, keepdim=True", "math.sqrt(Wq.shape[1])": "math.sqrt(X.shape[1])"},
)
attention_only_collapse.slip(
    "residual_not_divided",
    "The residual is not divided by the norm of X, so it also follows how large X has become.",
    replace={"((X - X.mean(dim=0)).norm() / X.norm())": "(X - X.mean(dim=0)).norm()"},
)
attention_only_collapse.slip(
    "residual_without_the_root",
    "The residuals are squared: a norm ends with a root.",
    replace={"(X - X.mean(dim=0)).norm() / X.norm()": "((X - X.mean(dim=0)) ** 2).sum() / (X**2).sum()"},
)
attention_only_collapse.slip(
    "divided_by_the_norm_of_X0",
    "Each residual is divided by the norm of X0. What belongs below the line is the norm of the same X, after that layer.",
    replace={" / X": " / X0.double()"},
)
attention_only_collapse.slip(
    "mean_of_X0_subtracted",
    "The mean of X0 is subtracted in every layer. Each X is compared with its own mean token.",
    replace={" - X": " - X0.double()"},
)
_R = "((X - X.mean(dim=0)).norm() / X.norm()).item()"  # r(X), as the answer above has it
attention_only_collapse.slip(
    "mean_over_features_without_keepdim",
    "`X.mean(dim=1)` has one number per token and can't be subtracted from the rows. The mean over the tokens has one number per feature: `dim=0`.",
    replace={_R: "((X - X.mean(dim=1)).norm() / X.norm()).item()"},
)
attention_only_collapse.slip(
    "mean_over_everything",
    "One mean of all numbers is subtracted. The mean token has d numbers, one for each feature.",
    replace={_R: "((X - X.mean()).norm() / X.norm()).item()"},
)
attention_only_collapse.slip(
    "spectral",
    "This is the spectral norm (`ord=2`), the largest singular value. The Frobenius norm is the root of the sum of all squares: `.norm()`.",
    replace={_R: "(torch.linalg.matrix_norm(X - X.mean(dim=0), 2) / torch.linalg.matrix_norm(X, 2)).item()"},
)
attention_only_collapse.slip(
    "divided_by_the_mean",
    "The division is by the size of the mean token. Divide by the norm of X, all tokens together.",
    replace={_R: "((X - X.mean(dim=0)).norm() / X.mean(dim=0).norm()).item()"},
)
attention_only_collapse.slip(
    "divided_by_the_repeated_mean",
    replace={_R: "((X - X.mean(dim=0)).norm() / X.mean(dim=0).expand_as(X).norm()).item()"},
    form_of="divided_by_the_mean",
)
attention_only_collapse.slip(
    "norms_subtracted",
    "The norms are subtracted, not the tensors. Subtract the mean token from each token first, and take the norm of what is left.",
    replace={_R: "((X.norm() - X.mean(dim=0).expand_as(X).norm()) / X.norm()).item()"},
)
attention_only_collapse.slip(
    "norms_subtracted_of_one_mean",
    replace={_R: "((X.norm() - X.mean(dim=0).norm()) / X.norm()).item()"},
    form_of="norms_subtracted",
)
attention_only_collapse.slip(
    "size_of_the_mean",
    "This is how large the mean token is beside X. The question is how large the rest is once the mean token is subtracted.",
    replace={_R: "(X.mean(dim=0).expand_as(X).norm() / X.norm()).item()"},
)
attention_only_collapse.slip(
    "size_of_one_mean", replace={_R: "(X.mean(dim=0).norm() / X.norm()).item()"}, form_of="size_of_the_mean"
)
attention_only_collapse.slip(
    "one_minus",
    "This is 1 minus the residual: it is 1 where all tokens agree, and should be 0 there.",
    replace={_R: "1 - ((X - X.mean(dim=0)).norm() / X.norm()).item()"},
)
attention_only_collapse.slip(
    "sum_subtracted",
    "The sum of the tokens is subtracted, T times as large as their mean.",
    replace={_R: "((X - X.sum(dim=0)).norm() / X.norm()).item()"},
)
attention_only_collapse.slip(
    "first_token_subtracted",
    "The first token is subtracted from each. The tokens are compared with their mean.",
    replace={_R: "((X - X[0]).norm() / X.norm()).item()"},
)
attention_only_collapse.slip(
    "bracket_missing",
    "A bracket is missing: `/` comes before `-`, so that only the mean is divided by the norm of X. First subtract, then take both norms.",
    replace={_R: "(X - X.mean(dim=0) / X.norm()).norm().item()"},
)
attention_only_collapse.slip(
    "residual_of_entries",
    "The quotient is taken entry by entry, and only then a norm: small entries of X rule. Two norms are asked for, and one quotient.",
    replace={_R: "((X - X.mean(dim=0)) / X).norm().item()"},
)
attention_only_collapse.slip(
    "largest_entries_only",
    "The largest entry is taken. The Frobenius norm counts all of them.",
    replace={_R: "((X - X.mean(dim=0)).abs().max() / X.abs().max()).item()"},
)
attention_only_collapse.slip(
    "residual_rounded",
    "The number is rounded. Return it as it is, and round where it is printed.",
    replace={_R: "round(((X - X.mean(dim=0)).norm() / X.norm()).item(), 2)"},
)
attention_only_collapse.slip(
    "residual_rounded_to_three",
    replace={_R: "round(((X - X.mean(dim=0)).norm() / X.norm()).item(), 3)"},
    form_of="residual_rounded",
)
attention_only_collapse.slip(
    "residual_rounded_to_four",
    replace={_R: "round(((X - X.mean(dim=0)).norm() / X.norm()).item(), 4)"},
    form_of="residual_rounded",
)
attention_only_collapse.slip(
    "mean_not_subtracted",
    "The mean is not subtracted, so the quotient is always 1. The question is how far X is from its mean token.",
    replace={_R: "(X.norm() / X.norm()).item()"},
)
attention_only_collapse.slip(
    "nearest_rank_one",
    "These are singular values: they tell how far the nearest matrix of rank one is. Here the comparison is with the mean token, repeated: "
    "tokens that are multiples of each other are of rank one, too, but they do not agree.",
    replace={_R: "(torch.linalg.svdvals(X)[1:].norm() / X.norm()).item()"},
)
attention_only_collapse.slip(
    "second_singular_value",
    replace={_R: "(torch.linalg.svdvals(X)[1] / torch.linalg.svdvals(X)[0]).item()"},
    form_of="nearest_rank_one",
)
attention_only_collapse.slip(
    "sample_variance",
    "The sample variance divides by T − 1, so the numbers of entries no longer cancel. Use norms, or `unbiased=False`.",
    replace={_R: "math.sqrt(X.var(dim=0).sum() / X.square().mean(dim=0).sum())"},
)
attention_only_collapse.slip(
    "token_by_token_mean",
    "The norms are taken token by token or feature by feature, so there are several numbers, or their mean. "
    "Both norms run over all entries of the matrix: one number.",
    replace={_R: "((X - X.mean(dim=0)).norm(dim=-1) / X.norm(dim=-1)).mean().item()"},
)
attention_only_collapse.slip(
    "one_per_token", replace={_R: "(X - X.mean(dim=0)).norm(dim=-1) / X.norm(dim=-1)"}, form_of="token_by_token_mean"
)
attention_only_collapse.slip(
    "feature_by_feature_mean",
    replace={_R: "((X - X.mean(dim=0)).norm(dim=0) / X.norm(dim=0)).mean().item()"},
    form_of="token_by_token_mean",
)
attention_only_collapse.slip(
    "sum_of_absolute_values",
    "Absolute values are added up instead of squares. The Frobenius norm is the root of the sum of squares.",
    replace={_R: "((X - X.mean(dim=0)).abs().sum() / X.abs().sum()).item()"},
)
attention_only_collapse.slip(
    "upside_down",
    "The quotient is upside down: the norm of X belongs below the line.",
    replace={_R: "(X.norm() / (X - X.mean(dim=0)).norm()).item()"},
)
attention_only_collapse.slip(
    "quotient_of_variances",
    "This is a quotient of variances. A norm is the root of a sum of squares; a variance has no root, and subtracts a mean of its own.",
    replace={_R: "((X - X.mean(dim=0)).var() / X.var()).item()"},
)
attention_only_collapse.slip(
    "X_centred_in_place",
    "X itself was changed where r(X) is measured: `-=` works in place. Write `X - X.mean(...)`, a new tensor.",
    replace={
        "def residual(X):": "def residual(X):\n    size = X.norm()\n    X -= X.mean(dim=0)",
        _R: "(X.norm() / size).item()",
    },
)
attention_only_collapse.slip(
    "residual_not_returned",
    "The list holds None instead of numbers. Does the function that measures r(X) end with a `return`?",
    replace={f"return {_R}": _R},
)
attention_only_collapse.slip(
    "tensors_instead_of_residuals",
    "The list holds the tokens of each layer. Its residuals are asked for, one number a layer.",
    replace={"[residual(X)]": "[X]", ".append(residual(X))": ".append(X)"},
)
attention_only_collapse.slip("list_not_returned", NO_RETURN, replace={"return found": ""})


attention_only_collapse.typed(
    "mistake",
    "pair_not_taken_apart",
    "`self_attention` returns a pair, (out, A), and here the pair is used as if it were out. Write `out, A = …`.",
    """def self_attention(X, Wq, Wk, Wv, Wo, A=None):
    if A is None:
        A = torch.softmax((X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1]), dim=-1)
    return A @ (X @ Wv) @ Wo, A


def attention_only_collapse(X0, weights, skip):
    def residual(X):
        return ((X - X.mean(dim=0)).norm() / X.norm()).item()

    X = X0.double()
    found = [residual(X)]
    for layer in weights:
        layer = [W.double() for W in layer]
        out = self_attention(X, *layer)
        X = X + out if skip else out
        found.append(residual(X))
    return found
""",
)
attention_only_collapse.slip(
    "pair_taken_apart_the_wrong_way_round",
    "`self_attention` returns (out, A), in this order. Here X becomes A, the weights [T, T], and no longer fits the next layer.",
    of="pair_not_taken_apart",
    replace={"out = self_attention(X, *layer)": "A, out = self_attention(X, *layer)"},
)
attention_only_collapse.slip(
    "layer_not_taken_apart",
    "A layer is one tuple of four matrices, and `self_attention` wants four arguments. A star takes the tuple apart: `self_attention(X, *layer)`.",
    of="pair_not_taken_apart",
    replace={"out = self_attention(X, *layer)": "out, A = self_attention(X, layer)"},
)


# ffn_chunked

ffn_chunked = Key(exercises.ffn_chunked)


@ffn_chunked.truth
def a_token_at_a_time(x, ffn, c):
    """The smallest chunks there are: each token alone, whatever c is."""
    if x.ndim == 1:
        return ffn(x)
    return torch.stack([a_token_at_a_time(part, ffn, c) for part in x])


@ffn_chunked.right("a buffer that is filled")
def filled_in_chunks(x, ffn, c):
    tokens = x.flatten(0, -2) if x.ndim > 1 else x.unsqueeze(0)
    out = torch.empty_like(tokens)
    for start in range(0, len(tokens), c):
        out[start : start + c] = ffn(tokens[start : start + c])
    return out.view(x.shape) if x.ndim > 1 else out.squeeze(0)


@ffn_chunked.right("the three parts of ffn, one after the other")
def part_by_part(x, ffn, c):
    tokens, rows = x.reshape(-1, x.shape[-1]), []
    for i in range(math.ceil(len(tokens) / c)):
        hidden = ffn.activation(ffn.linear1(tokens[i * c : (i + 1) * c]))
        rows += ffn.linear2(hidden)
    return torch.stack(rows).reshape(*x.shape)


@ffn_chunked.right("halved until it fits")
def halved(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    if len(tokens) <= c:
        return ffn(x)
    half = len(tokens) // 2
    return torch.cat([halved(tokens[:half], ffn, c), halved(tokens[half:], ffn, c)]).reshape(x.shape)


@ffn_chunked.right("filled up to a multiple of c, and cut again")
def padded(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    filled = F.pad(tokens, (0, 0, 0, -len(tokens) % c))
    out = torch.cat([ffn(filled[i : i + c]) for i in range(0, len(filled), c)])
    return out[: len(tokens)].reshape(x.shape)


@ffn_chunked.mistake(
    "Too many tokens go through at a time: all in one call, or in parts whose size is not `c`. No more than c of them may be in the hidden layer at a time."
)
def one_call_for_all(x, ffn, c):
    return ffn(x)


@ffn_chunked.mistake(
    "Each chunk has c **positions**, of all sentences at once: with B sentences these are B·c tokens. Make one long list of tokens first, and cut that."
)
def c_positions_of_all_sentences(x, ffn, c):
    if x.ndim == 1:
        return ffn(x)
    return torch.cat([ffn(chunk) for chunk in x.split(c, dim=-2)], dim=-2)


@ffn_chunked.form(c_positions_of_all_sentences)
def c_positions_sliced(x, ffn, c):
    return torch.cat([ffn(x[..., i : i + c, :]) for i in range(0, x.shape[-2], c)], dim=-2)


@ffn_chunked.mistake(
    "There are c chunks, and each is larger than c. `chunk(c)` says how **many** pieces are made; `split(c)` says how **large** they are."
)
def c_chunks(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.cat([ffn(chunk) for chunk in tokens.chunk(c)]).reshape(x.shape)


@ffn_chunked.mistake(
    "For each chunk the FFN works on all of x, and all but c tokens are thrown away. So the hidden layer is as large as ever, again and again: "
    "cut first, then call."
)
def cut_after_the_call(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.cat([ffn(tokens)[i : i + c] for i in range(0, len(tokens), c)]).reshape(x.shape)


@ffn_chunked.mistake(
    "The **neurons** are cut into chunks, and each chunk of them sees all tokens. That saves memory, too, but the exercise asks for chunks of "
    "tokens, with all d_ff neurons at work."
)
def chunks_of_neurons(x, ffn, c):
    out = ffn.linear2.bias
    for j in range(0, ffn.linear1.out_features, c):
        hidden = ffn.activation(F.linear(x, ffn.linear1.weight[j : j + c], ffn.linear1.bias[j : j + c]))
        out = out + F.linear(hidden, ffn.linear2.weight[:, j : j + c])
    return out


@ffn_chunked.mistake(
    "The hidden rows of all chunks are collected first, and `linear2` comes afterwards: so in the end all of them are there at once. "
    "Finish each chunk before the next one begins."
)
def hidden_rows_collected(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    hidden = [ffn.activation(ffn.linear1(chunk)) for chunk in tokens.split(c)]
    return torch.cat([ffn.linear2(h) for h in hidden]).reshape(x.shape)


@ffn_chunked.form(hidden_rows_collected)
def hidden_rows_put_together(x, ffn, c):
    hidden = []
    for chunk in x.reshape(-1, x.shape[-1]).split(c):
        hidden.append(ffn.activation(ffn.linear1(chunk)))
    return ffn.linear2(torch.cat(hidden)).reshape(x.shape)


@ffn_chunked.mistake(
    "The last chunk is missing: c does not divide the number of tokens, and what is left over has to go in as well, as a shorter chunk."
)
def last_chunk_missing(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    out = [ffn(tokens[i * c : (i + 1) * c]) for i in range(len(tokens) // c)]
    return torch.cat(out).reshape(x.shape)


@ffn_chunked.form(last_chunk_missing)
def last_chunk_left_at_zero(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    out = torch.zeros_like(tokens)
    for i in range(len(tokens) // c):
        out[i * c : (i + 1) * c] = ffn(tokens[i * c : (i + 1) * c])
    return out.reshape(x.shape)


@ffn_chunked.mistake(
    "The last token of each chunk is lost. A slice `[i : i + c]` ends before i + c, so it has c entries as it is: nothing is to be subtracted."
)
def a_token_short(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    out = [ffn(tokens[i : i + c - 1]) for i in range(0, len(tokens), c)]
    return torch.cat(out).reshape(x.shape)


@ffn_chunked.mistake(
    "`torch.stack` wants pieces of one size, and the last chunk is shorter. `torch.cat` puts pieces of any length under each other."
)
def stacked(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.stack([ffn(chunk) for chunk in tokens.split(c)]).reshape(x.shape)


@ffn_chunked.mistake(
    "The result is one long list of tokens, [N, d_model]. It should have the shape of x: `.reshape(x.shape)` folds it back."
)
def list_of_tokens(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.cat([ffn(chunk) for chunk in tokens.split(c)])


@ffn_chunked.mistake(
    "A list of chunks comes back. Put them together, with `torch.cat`, and give the result the shape of x."
)
def list_of_chunks(x, ffn, c):
    return [ffn(chunk) for chunk in x.reshape(-1, x.shape[-1]).split(c)]


@ffn_chunked.mistake(
    "The values are right, but what comes back is cut off from the graph, by `torch.no_grad()` or `.detach()`. Chunks save memory while a model "
    "is used; here one must be able to train through them as well."
)
def chunks_cut_off(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    with torch.no_grad():
        return torch.cat([ffn(chunk) for chunk in tokens.split(c)]).reshape(x.shape)


@ffn_chunked.mistake(
    "The result is float32, whatever came in, because a fresh `torch.zeros(...)` is. `torch.empty_like(x)` has the dtype of x."
)
def chunks_in_float32(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    out = torch.zeros(tokens.shape)
    for i in range(0, len(tokens), c):
        out[i : i + c] = ffn(tokens[i : i + c])
    return out.reshape(x.shape)


@ffn_chunked.mistake(
    "`.view` refuses an x whose memory is not in order, such as a transposed one. `.reshape` copies where it must."
)
def chunks_viewed(x, ffn, c):
    tokens = x.view(-1, x.shape[-1])
    return torch.cat([ffn(chunk) for chunk in tokens.split(c)]).view(x.shape)


@ffn_chunked.mistake(
    "x is cut along its first dimension. Of x [B, T, d_model] these are sentences, not tokens: it has B·T tokens. Lay them under each other first."
)
def sentences_cut(x, ffn, c):
    return torch.cat([ffn(part) for part in x.split(c, dim=0)])


# bottleneck_rank

bottleneck_rank = Key(exercises.bottleneck_rank)


@bottleneck_rank.truth
def by_turning_columns(ffn, X):
    """Hestenes 1958, in float64, on what the neurons write: pairs of columns are turned until all are orthogonal. Their lengths are the singular values."""
    hidden = X.double() @ ffn.linear1.weight.double().T + ffn.linear1.bias.double()
    written = (torch.relu(hidden) @ ffn.linear2.weight.double().T).detach()
    columns = list(written.T)
    for _ in range(30):
        turned = False
        for i in range(len(columns)):
            for j in range(i):
                one, other = columns[i], columns[j]
                a, b, c = float(one @ one), float(other @ other), float(one @ other)
                if abs(c) <= 1e-15 * (a * b) ** 0.5:
                    continue
                angle = 0.5 * math.atan2(2 * c, a - b)
                columns[i] = math.cos(angle) * one + math.sin(angle) * other
                columns[j] = math.cos(angle) * other - math.sin(angle) * one
                turned = True
        if not turned:
            break
    lengths = [float(column.norm()) for column in columns]
    return sum(length > 1e-6 * max(lengths) for length in lengths)


@bottleneck_rank.right("singular values, with a relative tolerance")
def by_svd(ffn, X):
    with torch.no_grad():
        s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s > 1e-6 * s[0]).sum())


@bottleneck_rank.right("what the neurons write, without ever adding b2")
def without_adding_b2(ffn, X):
    written = ffn.activation(ffn.linear1(X)) @ ffn.linear2.weight.T
    return torch.linalg.matrix_rank(written, rtol=1e-6).item()


@bottleneck_rank.right("a 0-d tensor as the answer")
def a_tensor(ffn, X):
    out = ffn(X).detach() - ffn.linear2.bias.detach()
    return torch.linalg.matrix_rank(out, rtol=1e-6)


@bottleneck_rank.right("numpy's singular values")
def with_numpy(ffn, X):
    import numpy as np

    out = (ffn(X) - ffn.linear2.bias).detach().numpy()
    s = np.linalg.svd(out, compute_uv=False)
    return int((s > s.max() * 1e-6).sum())


@bottleneck_rank.right("the eigenvalues of the d × d product, in float64")
def by_eigenvalues(ffn, X):
    out = (ffn(X) - ffn.linear2.bias).detach().double()
    size = out.abs().max()
    if size == 0:
        return 0
    values = torch.linalg.eigvalsh(out.T @ out / size**2)
    return int((values > 1e-12 * values.max()).sum())


@bottleneck_rank.mistake(
    "b2 is still in the output. It shifts all rows by the same vector, which counts as a direction of its own. Subtract it first."
)
def b2_not_subtracted(ffn, X):
    return int(torch.linalg.matrix_rank(ffn(X), rtol=1e-6))


@bottleneck_rank.mistake(
    "The mean row is subtracted instead of b2. Part of what the neurons write goes with it, and of a few inputs "
    "one is lost. b2 is what does not come from neurons."
)
def mean_subtracted(ffn, X):
    out = ffn(X)
    return int(torch.linalg.matrix_rank(out - out.mean(0), rtol=1e-6))


@bottleneck_rank.mistake(
    "This is the rank of the weights, the most that is possible. Few inputs, or neurons that never fire, leave less: look at the output for the given X."
)
def rank_of_the_weights(ffn, X):
    return int(torch.linalg.matrix_rank(ffn.linear2.weight @ ffn.linear1.weight))


@bottleneck_rank.form(rank_of_the_weights)
def smaller_width(ffn, X):
    d_ff, d_model = ffn.linear1.weight.shape
    return min(d_ff, d_model)


@bottleneck_rank.mistake(
    "This is d_ff, the number of hidden neurons. It is only a bound: the output can't have more than d_model "
    "directions, nor more than there are inputs, or neurons that fire."
)
def number_of_neurons(ffn, X):
    return ffn.linear1.out_features


@bottleneck_rank.mistake(
    "This is min(N, d_model, d_ff), the most that is possible. Neurons that never fire write nothing: count the directions in the output."
)
def smallest_size(ffn, X):
    return min(*X.shape, ffn.linear1.out_features)


@bottleneck_rank.mistake(
    "This is the rank of X. The bottleneck can lower it, and the activation can raise it: look at the output."
)
def rank_of_X(ffn, X):
    return int(torch.linalg.matrix_rank(X, rtol=1e-6))


@bottleneck_rank.mistake(
    "This is the rank of the hidden layer, or the number of its neurons that fire. With d_ff above d_model it exceeds what the d_model outputs can "
    "hold: go on through linear2."
)
def rank_of_the_hidden_layer(ffn, X):
    return int(torch.linalg.matrix_rank(ffn.activation(ffn.linear1(X)), rtol=1e-6))


@bottleneck_rank.mistake(
    "The activation is missing, so this is the rank of a straight network: neurons that never fire are counted as if they did."
)
def without_activation(ffn, X):
    hidden = ffn.linear1(X) - ffn.linear1.bias
    return int(torch.linalg.matrix_rank(hidden @ ffn.linear2.weight.T, rtol=1e-6))


@bottleneck_rank.mistake(
    "Every singular value above zero is counted. Rounding leaves tiny ones where there should be none: compare with a millionth of the largest."
)
def all_above_zero(ffn, X):
    return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 0).sum())


@bottleneck_rank.mistake(
    "The tolerance is an absolute number. With smaller or larger weights it cuts too much or too little: compare with the largest singular value."
)
def absolute_tolerance(ffn, X):
    return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 1e-3).sum())


@bottleneck_rank.form(absolute_tolerance)
def absolute_millionth(ffn, X):
    return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 1e-6).sum())


@bottleneck_rank.form(absolute_tolerance)
def atol_of_matrix_rank(ffn, X):
    return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, atol=1e-6))


@bottleneck_rank.mistake(
    "The output was computed in float32 and made float64 afterwards. That keeps the rounding, and the default tolerance of float64 "
    "counts it as directions. What counts as zero here is a millionth of the largest: `rtol=1e-6`."
)
def float64_too_late(ffn, X):
    return int(torch.linalg.matrix_rank((ffn(X) - ffn.linear2.bias).double()))


@bottleneck_rank.mistake(
    "What is less than a millionth of the largest singular value is counted. The default tolerance of `matrix_rank` is made for rounding alone: in "
    "float64 it lies at a hundred-millionth of a millionth. Say yours with `rtol`."
)
def default_tolerance(ffn, X):
    return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias))


@bottleneck_rank.mistake(
    "Directions that are weak, and real, are taken for zero: the tolerance is larger than a millionth of the largest singular value."
)
def tolerance_too_large(ffn, X):
    s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s > 1e-4 * s[0]).sum())


@bottleneck_rank.form(tolerance_too_large)
def percents_alone(ffn, X):
    s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s > 1e-3 * s.sum()).sum())


@bottleneck_rank.mistake(
    "Where no neuron fires, all singular values are 0, and so is a millionth of the largest: `>=` counts them all. What is written has to be larger."
)
def not_less_than_nothing(ffn, X):
    s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s >= 1e-6 * s[0]).sum())


@bottleneck_rank.mistake(
    "This is min(N, d_model), as much as an output can have. Are singular values counted that are zero up to rounding? Is X added? "
    "The residual, whose rank is that of X, goes around the FFN."
)
def number_of_singular_values(ffn, X):
    return len(torch.linalg.svdvals(ffn(X) - ffn.linear2.bias))


@bottleneck_rank.form(number_of_singular_values)
def with_the_residual(ffn, X):
    return int(torch.linalg.matrix_rank(X + ffn(X) - ffn.linear2.bias, rtol=1e-6))


@bottleneck_rank.mistake(
    "numpy takes no tensor that carries a graph: `.detach()` cuts it off, or compute under `torch.no_grad()`."
)
def numpy_with_a_graph(ffn, X):
    import numpy as np

    return int(np.linalg.matrix_rank(ffn(X) - ffn.linear2.bias))


@bottleneck_rank.mistake("The rank is a float here. It counts something: make it an int.")
def a_float(ffn, X):
    return float(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, rtol=1e-6))


@bottleneck_rank.mistake(
    "The FFN you were given is changed: b2 is gone, for whoever uses the FFN next. Subtract it from the output instead."
)
def b2_set_to_zero(ffn, X):
    ffn.linear2.bias.data.zero_()
    return int(torch.linalg.matrix_rank(ffn(X), rtol=1e-6))


@bottleneck_rank.form(b2_set_to_zero)
def b2_removed(ffn, X):
    ffn.linear2.bias = None
    return int(torch.linalg.matrix_rank(ffn(X), rtol=1e-6))


@bottleneck_rank.mistake(
    "b1 is subtracted, or the wrong bias: the one that every output row contains is `ffn.linear2.bias`, with d_model numbers."
)
def b1_subtracted(ffn, X):
    return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear1.bias, rtol=1e-6))


@bottleneck_rank.mistake(
    "The singular values themselves come back. The rank is how many of them are not zero, up to rounding."
)
def the_singular_values(ffn, X):
    return torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)


@bottleneck_rank.mistake(NO_RETURN)
def rank_not_returned(ffn, X):
    int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, rtol=1e-6))


# Questions

quiz_equivariant = question(
    exercises.quiz_equivariant,
    right="C",
    wrong={
        "A": "An FFN answers each token alone, so its answers move along with the tokens. "
        "What does a token see in the other layers, before and after a permutation?",
        "B": "Every token sees the same tokens before and after, only in another order, and a weighted sum has no order. So the outputs move along.",
    },
)

quiz_kernel = question(
    exercises.quiz_kernel,
    right="A",
    wrong={
        "B": "With zeros for both neighbours it keeps the rules. With any other weights an output depends on three tokens.",
        "C": "With zeros everywhere but in one place it keeps the rules. With any other weights an output depends on several tokens. And the kernel would "
        "have to grow with the sequence.",
    },
)

quiz_shared = question(
    exercises.quiz_shared,
    right="B",
    wrong={
        "A": "All positions share the weights of one layer's FFN, but each layer of a Transformer has weights of its own. Here one set does for all six.",
        "C": "A list is not a copy: `[ffn] * 6` holds the same object six times. There is one W1, with one `.grad`, so nothing can part.",
    },
)
