"""What is right, and what goes wrong, in `activation_patterns` of notebook 06."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import memory as exercises

activation_patterns = Key(exercises.activation_patterns)


@activation_patterns.truth
def entry_by_entry(ffn, X):
    """One sum after the other, with Python floats."""
    rows = []
    for x in X.tolist():
        sums = [
            sum(a * b for a, b in zip(x, key, strict=True)) + bias
            for key, bias in zip(ffn.linear1.weight.tolist(), ffn.linear1.bias.tolist(), strict=True)
        ]
        rows.append([1 if total > 0 else 0 for total in sums])
    return torch.tensor(rows)


@activation_patterns.right("what is positive after the activation")
def after_the_activation(ffn, X):
    return (ffn.activation(ffn.linear1(X)) > 0).float()


@activation_patterns.right("torch.where")
def by_where(ffn, X):
    pre = X @ ffn.linear1.weight.T + ffn.linear1.bias
    return torch.where(pre > 0, 1, 0)


@activation_patterns.right("sign of ReLU")
def sign_of_relu(ffn, X):
    return torch.relu(ffn.linear1(X)).sign().to(torch.int64)


@activation_patterns.right("heaviside, row by row")
def heaviside(ffn, X):
    zero = torch.zeros((), dtype=X.dtype)
    return torch.stack([torch.heaviside(ffn.linear1(x).detach(), zero) for x in X])


@activation_patterns.right("a comparison as it is, True and False")
def true_and_false(ffn, X):
    return ffn.linear1(X) > 0


@activation_patterns.mistake(
    "These are signs of the output, [N, d_model]. The pattern belongs to the d_ff hidden neurons."
)
def of_the_output(ffn, X):
    return (ffn(X) > 0).int()


@activation_patterns.mistake(
    "A neuron that gets exactly 0 counts as firing here: `>=` lets it in. It writes nothing, so its entry is 0."
)
def zero_counts(ffn, X):
    return (ffn.linear1(X) >= 0).int()


@activation_patterns.mistake(
    "The result is [d_ff, N]. A row for each token is asked for, so that row n is the pattern of token n."
)
def transposed(ffn, X):
    return (ffn.linear1(X) > 0).int().T


@activation_patterns.mistake("These are the coefficients themselves. Only whether a neuron fires is asked: 1 or 0.")
def coefficients(ffn, X):
    return torch.relu(ffn.linear1(X))


@activation_patterns.mistake(
    "`sign` makes −1 of what is negative. A silent neuron is 0: apply the activation first, or compare with `>`."
)
def with_minus_one(ffn, X):
    return ffn.linear1(X).sign()


@activation_patterns.mistake(
    "Whatever is not zero counts here, also what is negative before ReLU. Compare after the activation, or with `> 0`."
)
def not_zero(ffn, X):
    return (ffn.linear1(X) != 0).int()


@activation_patterns.form(not_zero)
def by_absolute_value(ffn, X):
    return (ffn.linear1(X).abs() > 0).int()


@activation_patterns.mistake("`b1` is missing: it shifts what a neuron adds up, and so decides whether it fires.")
def without_b1_in_patterns(ffn, X):
    return (X @ ffn.linear1.weight.T > 0).int()


@activation_patterns.mistake("The shares over all tokens came back, [d_ff]. A row for each token is asked for.")
def shares(ffn, X):
    return (ffn.linear1(X) > 0).double().mean(dim=0)


@activation_patterns.mistake("How many neurons fire for each token came back, [N]. Which ones fire is the question.")
def how_many(ffn, X):
    return (ffn.linear1(X) > 0).sum(dim=1)


@activation_patterns.mistake("It is the other way round: you have a 1 where a neuron is silent.")
def silent_ones(ffn, X):
    return (ffn.linear1(X) <= 0).int()


@activation_patterns.mistake(
    "The indices of the firing neurons came back. A 0 or 1 for every neuron of every token is asked for."
)
def indices(ffn, X):
    return (ffn.linear1(X) > 0).nonzero()


@activation_patterns.mistake(
    "A threshold above zero was used. A neuron fires as soon as its coefficient is larger than 0."
)
def with_a_threshold(ffn, X):
    return (ffn.linear1(X) > 0.5).int()


@activation_patterns.form(with_a_threshold)
def with_a_low_threshold(ffn, X):
    return (torch.relu(ffn.linear1(X)) > 0.01).int()


@activation_patterns.form(with_a_threshold)
def with_a_tolerance(ffn, X):
    return (~torch.isclose(torch.relu(ffn.linear1(X)), torch.zeros((), dtype=X.dtype), atol=1e-3)).int()


@activation_patterns.mistake("X was cut at zero before the first layer. ReLU comes after it.")
def bend_on_the_input(ffn, X):
    return (ffn.linear1(torch.relu(X)) > 0).int()


@activation_patterns.mistake(
    "The pattern is right, but X or the weights were changed in place on the way. Make new tensors."
)
def x_changed(ffn, X):
    pattern = (ffn.linear1(X) > 0).int()
    X.clamp_(min=0)
    return pattern


@activation_patterns.mistake(
    "Only neurons above the mean count as firing here. Each neuron is compared with 0, on its own."
)
def above_the_mean(ffn, X):
    h = torch.relu(ffn.linear1(X))
    return (h > h.mean()).int()


@activation_patterns.mistake(
    "A neuron that gets exactly 0 has the entry ½ here. It does not fire, so its entry is 0: compare with `>`."
)
def half_at_zero(ffn, X):
    return (1 + ffn.linear1(X).sign()) / 2


@activation_patterns.mistake(
    "The coefficients were cut off at 1, or rounded. However strongly a neuron fires, its entry is 1."
)
def cut_at_one(ffn, X):
    return ffn.linear1(X).clamp(0, 1)


@activation_patterns.mistake("Each row has a single 1, at the strongest neuron. Every neuron that fires has one.")
def one_hot(ffn, X):
    return F.one_hot(ffn.linear1(X).argmax(dim=1), len(ffn.linear1.bias))
