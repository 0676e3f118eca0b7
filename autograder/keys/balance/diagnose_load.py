"""What is right, and what goes wrong, in `diagnose_load` of notebook 09."""

from __future__ import annotations

import math

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import balance as exercises

diagnose_load = Key(exercises.diagnose_load)


@diagnose_load.truth
def counted_by_hand(counts):
    """One expert at a time, with math.log."""
    numbers = [float(count) for count in counts]
    total = sum(numbers)
    entropy = 0.0
    for number in numbers:
        if number > 0:
            entropy = entropy - number / total * math.log(number / total)
    dead = 0
    for number in numbers:
        if number == 0:
            dead = dead + 1
    return {
        "max_over_mean": max(numbers) / (total / len(numbers)),
        "dead": dead,
        "effective": math.exp(entropy),
    }


@diagnose_load.right("the entropy of a distribution object, and 0-d tensors in the dict")
def by_distribution(counts):
    share = counts.double() / counts.sum()
    return {
        "max_over_mean": share.max() * len(counts),
        "dead": (counts == 0).sum(),
        "effective": torch.distributions.Categorical(probs=share).entropy().exp(),
    }


@diagnose_load.right("xlogy knows what 0 · ln 0 is")
def with_xlogy(counts):
    p = counts / counts.sum()
    effective = torch.exp(-torch.xlogy(p, p).sum()).item()
    return dict(
        max_over_mean=(counts.max() / counts.float().mean()).item(),
        dead=len(counts) - int(torch.count_nonzero(counts)),
        effective=effective,
    )


@diagnose_load.right("a small number inside the logarithm")
def with_epsilon(counts):
    c = counts.to(torch.float64)
    p = c / c.sum()
    H = -(p * torch.log(p + 1e-12)).sum()
    return {"max_over_mean": float(c.max() / c.mean()), "dead": int((c == 0).sum()), "effective": math.exp(H)}


@diagnose_load.right("numpy")
def with_numpy(counts):
    import numpy as np

    c = counts.numpy().astype(float)
    p = c[c > 0] / c.sum()
    return {
        "max_over_mean": c.max() / c.mean(),
        "dead": int((c == 0).sum()),
        "effective": np.exp(-(p * np.log(p)).sum()),
    }


DIAGNOSE = """def diagnose_load(counts):
    counts = counts.double()
    p = counts / counts.sum()
    entropy = {entropy}
    return {{"max_over_mean": {fullest}, "dead": {dead}, "effective": {effective}}}
"""
DIAGNOSE_DEFAULTS = {
    "entropy": "torch.special.entr(p).sum()",
    "fullest": "(counts.max() / counts.mean()).item()",
    "dead": "int((counts == 0).sum())",
    "effective": "entropy.exp().item()",
}


def _diagnose(name, message, form_of="", **changes):
    diagnose_load.add_source("mistake", name, message, DIAGNOSE.format(**(DIAGNOSE_DEFAULTS | changes)), form_of)


_diagnose(
    "nan_for_zero",
    "`effective` is NaN as soon as an expert has no tokens: 0 · ln 0 is 0 times minus infinity. Such experts add nothing to the entropy: leave them out.",
    entropy="-(p * p.log()).sum()",
)


@diagnose_load.mistake("`mean` is asked of whole numbers, which PyTorch refuses. Make the counts floats first.")
def mean_of_whole_numbers(counts):
    p = counts / counts.sum()
    return {
        "max_over_mean": float(counts.max() / counts.mean()),
        "dead": int((counts == 0).sum()),
        "effective": float(torch.special.entr(p).sum().exp()),
    }


@diagnose_load.form(mean_of_whole_numbers)
def mean_of_whole_numbers_in_tensors(counts):
    p = counts / counts.sum()
    p = p[p > 0]
    return {
        "max_over_mean": counts.max() / counts.mean(),
        "dead": (counts == 0).sum(),
        "effective": torch.exp(-(p * p.log()).sum()),
    }


diagnose_load.slips("""
of with_epsilon
in
  - c = counts.to(torch.float64)
  - p = c / c.sum()
  - H = -(p * torch.log(p + 1e-12)).sum()
  - return {"max_over_mean": float(c.max() / c.mean()), "dead": int((c == 0).sum()), "effective": math.exp(H)}
log2_with_exp
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = -(p[p > 0] * p[p > 0].log2()).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    The entropy is in bits (log2), but `exp` undoes the natural logarithm. An even load of E experts should give E: use `log`, or 2 ** H.
dead_below_the_mean
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts < counts.mean()).sum()), "effective": entropy.exp().item()}
    `dead` counts the experts below the mean. Dead are those that got no token at all.
nearly_dead
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((p < 0.06).sum()), "effective": entropy.exp().item()}
    `dead` counts experts with few tokens as well. Only a count of exactly 0 is dead.
|| dead_below_a_hundredth: 0.06 -> 0.01
|| dead_below_a_thousandth: p < 0.06 -> counts < 1e-3
alive_counted
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts > 0).sum()), "effective": entropy.exp().item()}
    `dead` is the number of experts that got tokens: compare with == 0, not > 0.
dead_as_a_share
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": (counts == 0).double().mean().item(), "effective": entropy.exp().item()}
    `dead` is a share of the experts here. It is a number of experts, an int.
divided_by_E
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item() / len(counts)}
    `effective` is divided by the number of experts. It is meant as a number of experts: E for an even load, 1 for a single one.
max_over_min
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.min()).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    `max_over_mean` is the maximum over the minimum, which is infinite as soon as an expert has nothing. Divide by the mean.
largest_share
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": p.max().item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    `max_over_mean` is the largest share of all tokens. Divide by the mean over experts instead of the sum: an even load should give 1.
max_violation
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean() - 1).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    `max_over_mean` is 1 too small: max/mean − 1 is another measure (MaxVio). Here an even load should give 1.
mean_of_the_living
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts[counts > 0].mean()).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    The mean is taken over the experts that got tokens. It is over all E: dead experts make the others fuller.
the_entropy_itself
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": entropy.item()}
    `effective` is the entropy itself, 0 for a single expert. Take e to the power of it: then it is a number of experts.
minus_missing
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = -torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    The minus sign of the entropy is missing, so `effective` falls from 1 towards 1/E as the load gets even.
inverse_of_squares
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": 1 / p.square().sum().item()}
    `effective` is 1/Σp². That is a number of effective experts, too, but another one. Here it is e to the power of the entropy.
number_of_the_living
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": float((counts > 0).sum())}
    `effective` counts the experts with tokens. An expert with a hundredth of the load then counts as much as the fullest: use the entropy.
softmax_of_counts
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(counts.softmax(0)).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    The shares are a softmax of the counts, in which the largest count takes all. Divide the counts by their sum.
not_normalised
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = -(counts[counts > 0] * counts[counts > 0].log()).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    The entropy is taken of the counts, not of shares that add up to 1. Divide by the sum first.
entropy_averaged
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).mean()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts == 0).sum()), "effective": entropy.exp().item()}
    The entropy is a sum over experts, not a mean.
dead_below_one
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": (counts.max() / counts.mean()).item(), "dead": int((counts < 1).sum()), "effective": entropy.exp().item()}
    `dead` counts whatever is below 1. Counts may be averages, such as 0.3 tokens a step: only exactly 0 is dead.
|| dead_when_rounded_down: counts < 1 -> counts.long() == 0
counts_changed
  + fullest = (counts.max() / counts.double().mean()).item()
  + dead = int((counts == 0).sum())
  + if counts.is_floating_point():
  +     counts /= counts.sum()
  +     p = counts
  + else:
  +     p = counts / counts.sum()
  + return {"max_over_mean": fullest, "dead": dead, "effective": torch.special.entr(p).sum().exp().item()}
    The caller's counts are changed: `/=` writes into them. `counts / counts.sum()` makes a new tensor.
rounded
  + counts = counts.double()
  + p = counts / counts.sum()
  + entropy = torch.special.entr(p).sum()
  + return {"max_over_mean": round((counts.max() / counts.mean()).item(), 2), "dead": int((counts == 0).sum()), "effective": round(entropy.exp().item(), 2)}
    The numbers are rounded to two digits after the point. Return them as they are; rounding belongs to the print.
a_tuple
  + p = counts / counts.sum()
  + return (counts.max() / counts.double().mean(), int((counts == 0).sum()), torch.special.entr(p).sum().exp())
    The three numbers come back without their names. Return a dict: max_over_mean, dead, effective.
diagnosis_not_returned: dict(max_over_mean=(counts.max() / counts.double().mean()).item(), dead=int((counts == 0).sum()), effective=1.0)
    NO_RETURN
""")
