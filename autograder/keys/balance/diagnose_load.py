"""What is right, and what goes wrong, in `diagnose_load` of notebook 09."""

from __future__ import annotations

import math

import torch

from autograder.keys.key import NO_RETURN, Key
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
    "log2_with_exp",
    "The entropy is in bits (log2), but `exp` undoes the natural logarithm. An even load of E experts should give E: use `log`, or 2 ** H.",
    entropy="-(p[p > 0] * p[p > 0].log2()).sum()",
)
_diagnose(
    "nan_for_zero",
    "`effective` is NaN as soon as an expert has no tokens: 0 · ln 0 is 0 times minus infinity. Such experts add nothing to the entropy: leave them out.",
    entropy="-(p * p.log()).sum()",
)
_diagnose(
    "dead_below_the_mean",
    "`dead` counts the experts below the mean. Dead are those that got no token at all.",
    dead="int((counts < counts.mean()).sum())",
)
_diagnose(
    "nearly_dead",
    "`dead` counts experts with few tokens as well. Only a count of exactly 0 is dead.",
    dead="int((p < 0.06).sum())",
)
_diagnose("dead_below_a_hundredth", "", form_of="nearly_dead", dead="int((p < 0.01).sum())")
_diagnose(
    "alive_counted",
    "`dead` is the number of experts that got tokens: compare with == 0, not > 0.",
    dead="int((counts > 0).sum())",
)
_diagnose(
    "dead_as_a_share",
    "`dead` is a share of the experts here. It is a number of experts, an int.",
    dead="(counts == 0).double().mean().item()",
)
_diagnose(
    "divided_by_E",
    "`effective` is divided by the number of experts. It is meant as a number of experts: E for an even load, 1 for a single one.",
    effective="entropy.exp().item() / len(counts)",
)
_diagnose(
    "max_over_min",
    "`max_over_mean` is the maximum over the minimum, which is infinite as soon as an expert has nothing. Divide by the mean.",
    fullest="(counts.max() / counts.min()).item()",
)
_diagnose(
    "largest_share",
    "`max_over_mean` is the largest share of all tokens. Divide by the mean over experts instead of the sum: an even load should give 1.",
    fullest="p.max().item()",
)
_diagnose(
    "max_violation",
    "`max_over_mean` is 1 too small: max/mean − 1 is another measure (MaxVio). Here an even load should give 1.",
    fullest="(counts.max() / counts.mean() - 1).item()",
)
_diagnose(
    "mean_of_the_living",
    "The mean is taken over the experts that got tokens. It is over all E: dead experts make the others fuller.",
    fullest="(counts.max() / counts[counts > 0].mean()).item()",
)
_diagnose(
    "the_entropy_itself",
    "`effective` is the entropy itself, 0 for a single expert. Take e to the power of it: then it is a number of experts.",
    effective="entropy.item()",
)
_diagnose(
    "minus_missing",
    "The minus sign of the entropy is missing, so `effective` falls from 1 towards 1/E as the load gets even.",
    entropy="-torch.special.entr(p).sum()",
)
_diagnose(
    "inverse_of_squares",
    "`effective` is 1/Σp². That is a number of effective experts, too, but another one. Here it is e to the power of the entropy.",
    effective="1 / p.square().sum().item()",
)
_diagnose(
    "number_of_the_living",
    "`effective` counts the experts with tokens. An expert with a hundredth of the load then counts as much as the fullest: use the entropy.",
    effective="float((counts > 0).sum())",
)
_diagnose(
    "softmax_of_counts",
    "The shares are a softmax of the counts, in which the largest count takes all. Divide the counts by their sum.",
    entropy="torch.special.entr(counts.softmax(0)).sum()",
)
_diagnose(
    "not_normalised",
    "The entropy is taken of the counts, not of shares that add up to 1. Divide by the sum first.",
    entropy="-(counts[counts > 0] * counts[counts > 0].log()).sum()",
)
_diagnose(
    "entropy_averaged",
    "The entropy is a sum over experts, not a mean.",
    entropy="torch.special.entr(p).mean()",
)
_diagnose(
    "dead_below_one",
    "`dead` counts whatever is below 1. Counts may be averages, such as 0.3 tokens a step: only exactly 0 is dead.",
    dead="int((counts < 1).sum())",
)
_diagnose("dead_when_rounded_down", "", form_of="dead_below_one", dead="int((counts.long() == 0).sum())")
_diagnose(
    "dead_below_a_thousandth",
    "",
    form_of="nearly_dead",
    dead="int((counts < 1e-3).sum())",
)
diagnose_load.add_source(
    "mistake",
    "counts_changed",
    "The caller's counts are changed: `/=` writes into them. `counts / counts.sum()` makes a new tensor.",
    """def diagnose_load(counts):
    fullest = (counts.max() / counts.double().mean()).item()
    dead = int((counts == 0).sum())
    if counts.is_floating_point():
        counts /= counts.sum()
        p = counts
    else:
        p = counts / counts.sum()
    return {"max_over_mean": fullest, "dead": dead, "effective": torch.special.entr(p).sum().exp().item()}
""",
)


_diagnose(
    "rounded",
    "The numbers are rounded to two digits after the point. Return them as they are; rounding belongs to the print.",
    fullest="round((counts.max() / counts.mean()).item(), 2)",
    effective="round(entropy.exp().item(), 2)",
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


@diagnose_load.mistake(
    "The three numbers come back without their names. Return a dict: max_over_mean, dead, effective."
)
def a_tuple(counts):
    p = counts / counts.sum()
    return (counts.max() / counts.double().mean(), int((counts == 0).sum()), torch.special.entr(p).sum().exp())


@diagnose_load.mistake(NO_RETURN)
def diagnosis_not_returned(counts):
    dict(max_over_mean=(counts.max() / counts.double().mean()).item(), dead=int((counts == 0).sum()), effective=1.0)
