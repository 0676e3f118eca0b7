"""What is right, and what goes wrong, in `activation_patterns` of notebook 06."""

from __future__ import annotations

import torch

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


@activation_patterns.base
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
def by_heaviside(ffn, X):
    zero = torch.zeros((), dtype=X.dtype)
    return torch.stack([torch.heaviside(ffn.linear1(x).detach(), zero) for x in X])


@activation_patterns.right("a comparison as it is, True and False")
def true_and_false(ffn, X):
    return ffn.linear1(X) > 0


activation_patterns.slips("""
of true_and_false
in ffn.linear1(X) > 0
of_the_output: (ffn(X) > 0).int()
    These are signs of the output, [N, d_model]. The pattern belongs to the d_ff hidden neurons.
zero_counts: (ffn.linear1(X) >= 0).int()
    A neuron that gets exactly 0 counts as firing here: `>=` lets it in. It writes nothing, so its entry is 0.
transposed: (ffn.linear1(X) > 0).int().T
    The result is [d_ff, N]. A row for each token is asked for, so that row n is the pattern of token n.
coefficients: torch.relu(ffn.linear1(X))
    These are the coefficients themselves. Only whether a neuron fires is asked: 1 or 0.
with_minus_one: ffn.linear1(X).sign()
    `sign` makes −1 of what is negative. A silent neuron is 0: apply the activation first, or compare with `>`.
not_zero: (ffn.linear1(X) != 0).int()
    Whatever is not zero counts here, also what is negative before ReLU. Compare after the activation, or with `> 0`.
| by_absolute_value: (ffn.linear1(X).abs() > 0).int()
without_b1_in_patterns: (X @ ffn.linear1.weight.T > 0).int()
    `b1` is missing: it shifts what a neuron adds up, and so decides whether it fires.
shares: (ffn.linear1(X) > 0).double().mean(dim=0)
    The shares over all tokens came back, [d_ff]. A row for each token is asked for.
how_many: (ffn.linear1(X) > 0).sum(dim=1)
    How many neurons fire for each token came back, [N]. Which ones fire is the question.
silent_ones: (ffn.linear1(X) <= 0).int()
    It is the other way round: you have a 1 where a neuron is silent.
indices: (ffn.linear1(X) > 0).nonzero()
    The indices of the firing neurons came back. A 0 or 1 for every neuron of every token is asked for.
with_a_threshold: (ffn.linear1(X) > 0.5).int()
    A threshold above zero was used. A neuron fires as soon as its coefficient is larger than 0.
| with_a_low_threshold: (torch.relu(ffn.linear1(X)) > 0.01).int()
| with_a_tolerance: (~torch.isclose(torch.relu(ffn.linear1(X)), torch.zeros((), dtype=X.dtype), atol=1e-3)).int()
bend_on_the_input: (ffn.linear1(torch.relu(X)) > 0).int()
    X was cut at zero before the first layer. ReLU comes after it.
half_at_zero: (1 + ffn.linear1(X).sign()) / 2
    A neuron that gets exactly 0 has the entry ½ here. It does not fire, so its entry is 0: compare with `>`.
cut_at_one: ffn.linear1(X).clamp(0, 1)
    The coefficients were cut off at 1, or rounded. However strongly a neuron fires, its entry is 1.
one_hot: F.one_hot(ffn.linear1(X).argmax(dim=1), len(ffn.linear1.bias))
    Each row has a single 1, at the strongest neuron. Every neuron that fires has one.
of base
in return (ffn.activation(ffn.linear1(X)) > 0).float()
x_changed
  + pattern = (ffn.linear1(X) > 0).int()
  + X.clamp_(min=0)
  + return pattern
    The pattern is right, but X or the weights were changed in place on the way. Make new tensors.
above_the_mean
  + h = torch.relu(ffn.linear1(X))
  + return (h > h.mean()).int()
    Only neurons above the mean count as firing here. Each neuron is compared with 0, on its own.
""")
