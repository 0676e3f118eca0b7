"""The marking guide of notebook 09, Mixture of Experts II, balance and capacity.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F, nn and the class FFN.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import balance as exercises
from ffnlab.course.ffn_probes import TwoLayerFFN as FFN  # the one of the notebook's first cell

# diagnose_load

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
    diagnose_load.typed("mistake", name, message, DIAGNOSE.format(**(DIAGNOSE_DEFAULTS | changes)), form_of)


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
diagnose_load.typed(
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


# load_balance_loss

load_balance_loss = Key(exercises.load_balance_loss)


@load_balance_loss.truth
def expert_by_expert(logits, idx):
    """Counts with Python loops; probabilities by exp, shifted by the row's largest logit."""
    T, E = logits.shape
    k = idx.shape[1]
    total = torch.zeros((), dtype=logits.dtype)
    for e in range(E):
        count = 0
        for row in idx.tolist():
            for chosen in row:
                if chosen == e:
                    count = count + 1
        P = 0
        for t in range(T):
            shifted = logits[t] - logits[t].detach().max()
            P = P + torch.exp(shifted[e]) / torch.exp(shifted).sum()
        total = total + (count / (k * T)) * (P / T)
    return E * total


@load_balance_loss.right("one-hot vectors, averaged over tokens and slots")
def by_one_hot(logits, idx):
    E = logits.size(1)
    f = F.one_hot(idx, E).to(logits.dtype).mean(dim=(0, 1))
    P = F.softmax(logits, dim=1).mean(dim=0)
    return E * torch.dot(f, P)


@load_balance_loss.right("scatter_add, and the mean of the product times E squared")
def by_scatter(logits, idx):
    E = logits.shape[-1]
    flat = idx.reshape(-1)
    f = torch.zeros(E, dtype=logits.dtype).scatter_add_(0, flat, torch.ones(len(flat), dtype=logits.dtype))
    f /= flat.numel()
    P = torch.softmax(logits, -1).mean(0)
    return (f * P).mean() * E**2


@load_balance_loss.right("the probabilities of all tokens times the counts, in one product")
def by_matmul(logits, idx):
    T, E = logits.shape
    counts = torch.stack([(idx == e).sum() for e in range(E)])
    return (logits.softmax(-1) @ counts.to(logits)).sum() * E / (idx.numel() * T)


@load_balance_loss.right("one expert after the other; a count over a count is float32, whatever the logits are")
def by_expert_loop(logits, idx):
    P = torch.softmax(logits, dim=-1).mean(dim=0)
    loss = 0
    for e in range(logits.shape[1]):
        f = (idx == e).sum() / idx.numel()
        loss = loss + f * P[e]
    return logits.shape[1] * loss


@load_balance_loss.right("histc, and log_softmax")
def by_histc(logits, idx):
    E = logits.shape[1]
    f = torch.histc(idx.to(logits.dtype), bins=E, min=-0.5, max=E - 0.5) / idx.numel()
    P = logits.log_softmax(dim=-1).exp().mean(0)
    return E * (f.detach() * P).sum()


@load_balance_loss.base
def plain_load_balance_loss(logits, idx):
    T, E = logits.shape
    k = idx.shape[1]
    p = torch.softmax(logits, dim=-1)
    counts = torch.bincount(idx.flatten(), minlength=E)
    f = counts.to(logits.dtype) / (k * T)
    P = p.mean(dim=0)
    return E * (f * P).sum()


load_balance_loss.slip(
    "factor_E_missing",
    "It is too small by a factor of E: either E is missing, or a mean over the experts is taken where their sum is asked for. "
    "An even load gives 1 for every number of experts.",
    replace={"E * (f * P).sum()": "(f * P).sum()"},
)
load_balance_loss.slip("mean_for_sum", replace={".sum()": ".mean()"}, form_of="factor_E_missing")
load_balance_loss.slip(
    "not_divided_by_k",
    "f adds up to k, so an even load gives k instead of 1: it is averaged over tokens, but added up over slots. There are k·T slots.",
    replace={"(k * T)": "T"},
)
load_balance_loss.slip(
    "not_divided_by_T",
    "The result is T times too large: f or P is a sum over tokens. Both are means, so that each adds up to 1.",
    replace={"(k * T)": "k"},
)
load_balance_loss.slip(
    "raw_counts", "f is the number of slots, not their share: divide the counts by k·T.", replace={" / (k * T)": ""}
)
load_balance_loss.slip(
    "P_detached",
    "The value is right, but no gradient reaches the logits: P is detached (or computed under no_grad). f has no gradient anyway, so P must have one.",
    replace={"p.mean(dim=0)": "p.mean(dim=0).detach()"},
)
load_balance_loss.slip("P_summed", replace={"p.mean": "p.sum"}, form_of="not_divided_by_T")
load_balance_loss.slip(
    "softmax_over_tokens",
    "The softmax runs over the tokens (dim=0). Each token's probabilities over the experts add up to 1: dim=-1.",
    replace={"dim=-1": "dim=0"},
)
load_balance_loss.slip(
    "f_from_probabilities",
    "f is made from probabilities, not from `idx`, so the loss is E·ΣP² and says nothing about where the tokens went. Count what is in idx.",
    replace={"counts.to(logits.dtype) / (k * T)": "p.mean(dim=0)"},
)
load_balance_loss.slip(
    "f_squared",
    "The loss is E·Σf²: it contains the load twice and the probabilities not at all, so it has no gradient. One factor is f, the other P.",
    replace={"f * P": "f * f"},
)
load_balance_loss.slip(
    "entropy_of_P",
    "This is an entropy of the probabilities. It is another way to ask for balance; here the loss is E·Σ f·P.",
    replace={"E * (f * P).sum()": "(P * P.log()).sum()"},
)
load_balance_loss.slip(
    "entropy_of_f",
    "This is an entropy of the load. Counting has no gradient, so nothing could be trained by it. Multiply f by P.",
    replace={"E * (f * P).sum()": "-torch.special.entr(f).sum()"},
)
load_balance_loss.slip(
    "no_minlength",
    "`bincount` is as long as the largest expert number it met. Where the last experts got no token, f is too short: say how many there are with `minlength`.",
    replace={", minlength=E": ""},
)
load_balance_loss.slip(
    "argmax_for_idx",
    "f is counted from the largest logits, not from `idx`. What counts is where the tokens went, and a selection bias or a second slot changes that.",
    replace={"idx.flatten()": "logits.argmax(-1)", "(k * T)": "T"},
)
load_balance_loss.slip(
    "topk_for_idx",
    "f is counted from the top k of the logits, computed anew. Use `idx` as it is given: the tokens may have gone elsewhere.",
    replace={"idx.flatten": "logits.topk(k).indices.flatten"},
)
load_balance_loss.slip(
    "first_slot_only",
    "Only the first slot of each token is counted (`idx[:, 0]`). All k slots are load.",
    replace={"idx.flatten()": "idx[:, 0]", "(k * T)": "T"},
)
load_balance_loss.slip(
    "probabilities_of_chosen_only",
    "P contains the probabilities of the chosen experts only. It is the mean of the whole softmax, also of experts that were not chosen.",
    replace={"p.mean": "torch.zeros_like(p).scatter(1, idx, p.gather(1, idx)).mean"},
)
load_balance_loss.slip(
    "softmax_overflows",
    "`exp` of a large logit is infinite, and infinite over infinite is NaN. `softmax` takes the largest logit out first.",
    replace={".softmax(logits, dim=-1)": ".exp(logits) / torch.exp(logits).sum(dim=-1, keepdim=True)"},
)
load_balance_loss.slip(
    "softmax_of_the_chosen",
    "The softmax runs over the chosen experts only, so that their probabilities add up to 1. P is the mean of the whole softmax, over all E experts.",
    replace={"p.mean": "torch.zeros_like(p).scatter(1, idx, logits.gather(1, idx).softmax(-1)).mean"},
)
load_balance_loss.slip(
    "E_from_idx",
    "E is taken from the largest number in `idx`. The last experts may have got no token: E is the number of columns of the logits.",
    replace={", minlength=E": "", "E * (f * P).sum()": "len(f) * (f * P[: len(f)]).sum()"},
)
load_balance_loss.slip(
    "float_times_double",
    "f is float32 whatever the logits are, and a product with `@` or `dot` wants both in one dtype: bring f to that of the logits.",
    replace={".to(logits.dtype)": ".float()", "(f * P).sum()": "(f @ P)"},
)
load_balance_loss.slip(
    "no_softmax",
    "P is a mean of raw logits. Turn them into probabilities first, by a softmax over the experts.",
    replace={"torch.softmax(logits, dim=-1)": "logits"},
)
load_balance_loss.slip(
    "softmax_of_the_mean",
    "The mean over tokens is taken before the softmax. P is the mean of each token's probabilities: softmax first.",
    replace={"torch.softmax(logits, dim=-1)": "logits", "p.mean(dim=0)": "logits.mean(dim=0).softmax(-1)"},
)
load_balance_loss.slip(
    "log_probabilities",
    "P is a mean of logarithms of probabilities. Use softmax, without the logarithm.",
    replace={"torch.softmax": "torch.log_softmax"},
)
load_balance_loss.slip(
    "k_for_E",
    "The factor in front is k. It is the number of experts, E.",
    replace={"E * (f * P).sum()": "k * (f * P).sum()"},
)
load_balance_loss.slip(
    "alpha_inside",
    "A factor 0.01 is in the result. The weight α belongs to the training loop; here the loss itself is asked for.",
    replace={"E * (f * P).sum()": "0.01 * E * (f * P).sum()"},
)
load_balance_loss.slip(
    "one_subtracted",
    "1 is subtracted, so that an even load gives 0. It is a harmless shift, but not the loss that is asked for.",
    replace={".sum()": ".sum() - 1"},
)
load_balance_loss.slip(
    "clamped_at_one",
    "The loss is cut off at 1 from below. 1 is its value for an even load, but no lower bound: there are smaller values, and they have a gradient.",
    replace={"E * (f * P).sum()": "torch.clamp(E * (f * P).sum(), min=1.0)"},
)
load_balance_loss.slip(
    "per_expert",
    "One number for each expert comes back. Add them up: the loss is a single number.",
    replace={"(f * P).sum()": "f * P"},
)
load_balance_loss.slip(
    "a_python_float",
    "A Python float comes back (`.item()`, `float(...)`): it has no gradient. Return the tensor.",
    replace={"E * (f * P).sum()": "(E * (f * P).sum()).item()"},
)
load_balance_loss.slip(
    "a_vector_of_one",
    "The result has shape [1]. A loss is a tensor without dimensions: `sum()` without keepdim.",
    replace={".sum()": ".sum(dim=0, keepdim=True)"},
)
load_balance_loss.slip(
    "one_hot_summed_over_slots",
    replace={"counts.to(logits.dtype) / (k * T)": "F.one_hot(idx, E).to(logits.dtype).sum(dim=1).mean(dim=0)"},
    form_of="not_divided_by_k",
)
load_balance_loss.slip("no_balance_return", NO_RETURN, replace={"E * (f * P).sum()": "None"})
load_balance_loss.slip(
    "no_minlength_and_a_plain_number",
    replace={", minlength=E": "", "E * (f * P).sum()": "(E * (f * P).sum()).item()"},
    form_of="no_minlength",
)


# own_expert_counterexample

own_expert_counterexample = Key(exercises.own_expert_counterexample)
own_expert_counterexample.value(
    "truth",
    "some_exchanged",
    "",
    [[0.75, 0.25], [0.25, 0.75]],
)
own_expert_counterexample.value(
    "right",
    "crosswise",
    "the favourites are crosswise",
    ((0.4, 0.6), (0.6, 0.4)),
)
own_expert_counterexample.value(
    "right",
    "nearly_mixed",
    "nearly all mixed",
    [[0.51, 0.49], [0.49, 0.51]],
)
own_expert_counterexample.value(
    "right",
    "a_tensor",
    "a tensor [2, 2]",
    torch.tensor([[0.875, 0.125], [0.125, 0.875]]),
)
own_expert_counterexample.value(
    "mistake",
    "one_expert_each",
    "In your table each cluster has an expert to itself, and the code says so. It fails where it says yes too early: which tables "
    "besides these does it accept?",
    [[0.0, 1.0], [1.0, 0.0]],
)
own_expert_counterexample.value(
    "mistake",
    "uneven",
    "The load of your table is not even: a column does not add up to 1. The code notices that.",
    [[0.75, 0.25], [0.5, 0.5]],
)
own_expert_counterexample.value(
    "mistake",
    "all_alike",
    "The load of your table is even, which is the place to look at. But two clusters have the same favourite, and the code notices "
    "that. (Of two equal shares the first one is the favourite.)",
    [[0.5, 0.5], [0.5, 0.5]],
)
own_expert_counterexample.value(
    "mistake",
    "three_clusters",
    "Your classmate's code is wrong on it, well found. A smaller table shows it as well: two clusters are enough.",
    [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 1.0]],
)
own_expert_counterexample.value(
    "mistake",
    "percent",
    "A row does not add up to 1, or has a negative share. Each row holds the shares of one cluster.",
    [[75.0, 25.0], [25.0, 75.0]],
)
own_expert_counterexample.value(
    "mistake",
    "not_square",
    "Your table has not as many experts as clusters. Every cluster is to have one, and every expert a cluster.",
    [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]],
)


# drop_mask

drop_mask = Key(exercises.drop_mask)


@drop_mask.truth
def served_one_by_one(idx, E, capacity):
    """Slot by slot, token by token; each expert keeps a list of whom it has taken."""
    T, k = idx.shape
    taken = {e: [] for e in range(E)}
    for s in range(k):
        for t in range(T):
            e = int(idx[t, s])
            if len(taken[e]) < capacity:
                taken[e].append((t, s))
    return torch.tensor([[(t, s) in taken[int(idx[t, s])] for s in range(k)] for t in range(T)])


@drop_mask.base
def plain_drop_mask(idx, E, capacity):
    T, k = idx.shape
    order = idx.T.reshape(-1)
    hot = F.one_hot(order, E)
    place = (hot.cumsum(0) * hot).sum(1)
    keep = place <= capacity
    return keep.reshape(k, T).T


drop_mask.slip(
    "by_running_sum",
    "one-hot and a running sum",
    replace={"keep = place <= capacity": "", "keep.reshape": "(place <= capacity).reshape"},
    kind="right",
)


@drop_mask.right("expert by expert, with the places of its slots")
def by_expert(idx, E, capacity):
    slots = idx.t().contiguous().view(-1)
    keep = torch.zeros(slots.shape, dtype=torch.bool)
    for e in range(E):
        where = torch.nonzero(slots == e).flatten()
        keep[where[:capacity]] = True
    return keep.view(idx.shape[1], idx.shape[0]).t()


@drop_mask.right("slot by slot, with what earlier slots have taken as an offset")
def by_slot(idx, E, capacity):
    taken = torch.zeros(E, dtype=torch.long)
    columns = []
    for column in idx.unbind(1):
        hot = F.one_hot(column, E)
        place = (hot.cumsum(0) - 1 + taken).gather(1, column[:, None])[:, 0]
        columns.append(place < capacity)
        taken = taken + hot.sum(0)
    return torch.stack(columns, dim=1)


@drop_mask.right("a stable sort by expert")
def by_sorting(idx, E, capacity):
    T, k = idx.shape
    flat = idx.T.flatten()
    order = flat.argsort(stable=True)
    counts = torch.bincount(flat, minlength=E)
    start = counts.cumsum(0) - counts
    place = torch.empty_like(flat)
    place[order] = torch.arange(len(flat)) - start[flat[order]]
    return (place < capacity).view(k, T).T


@drop_mask.right("two loops and a list of numbers")
def by_loops(idx, E, capacity):
    used = [0] * E
    keep = torch.zeros_like(idx, dtype=torch.bool)
    for slot in range(idx.shape[1]):
        for token, expert in enumerate(idx[:, slot].tolist()):
            keep[token, slot] = used[expert] < capacity
            used[expert] += 1
    return keep


drop_mask.slip(
    "one_too_many",
    "Each expert keeps one slot more than its capacity. Does your count start at 0 or at 1?",
    replace={" <= capacity": " <= capacity + 1"},
)
drop_mask.slip(
    "one_too_few",
    "Each expert keeps one slot fewer than its capacity. Does your count start at 0 or at 1?",
    replace={" <= capacity": " < capacity"},
)
drop_mask.slip(
    "token_after_token",
    "The tokens are served one after the other, with all their slots. Slot 0 of all tokens comes first, then slot 1 of all tokens.",
    replace={"idx.T.reshape": "idx.reshape", ".reshape(k, T).T": ".reshape(T, k)"},
)
drop_mask.slip(
    "last_slot_first",
    "The slots are served from the last to the first. First choices come first.",
    replace={"idx.T": "idx.flip(1).T", ".reshape(k, T).T": ".reshape(k, T).T.flip(1)"},
)
drop_mask.slip(
    "keeps_the_last",
    "Each expert keeps its last slots and drops the first. Who comes first is served first.",
    replace={".reshape(-1)": ".reshape(-1).flip(0)", "keep.reshape": "keep.flip(0).reshape"},
)
drop_mask.slip(
    "later_tokens_first",
    "Within a slot the tokens are served from the last to the first. The order is that of the tokens.",
    replace={"idx.T": "idx.flip(0).T", ".reshape(k, T).T": ".reshape(k, T).T.flip(0)"},
)
drop_mask.slip(
    "dropped_for_kept",
    "The mask is inverted: True means kept, False means dropped.",
    replace={" <= capacity": " > capacity"},
)
drop_mask.slip(
    "reshaped_without_transposing",
    "The order of service is slot by slot, [k, T]; `reshape(T, k)` reads it token by token. Reshape to [k, T] and transpose.",
    replace={".reshape(k, T).T": ".reshape(T, k)"},
)
drop_mask.slip(
    "transposed_result",
    "The mask is [k, T]. It has the shape of idx: a row for each token.",
    replace={".reshape(k, T).T": ".reshape(k, T)"},
)
drop_mask.slip(
    "flat_result", "The mask is one long row. Fold it back to the shape of idx.", replace={".reshape(k, T).T": ""}
)
drop_mask.slip(
    "running_sum_over_experts",
    "The running sum goes over the experts, along the wrong dimension: it should run down the list of slots.",
    replace={".cumsum(0)": ".cumsum(1)"},
)
drop_mask.slip(
    "all_experts_together",
    "The capacity is shared by all experts. Each expert has its own: count the slots of each one separately.",
    replace={"(hot.cumsum(0) * hot).sum(1)": "torch.arange(1, len(order) + 1)"},
)
drop_mask.slip(
    "too_full_drops_all",
    "An expert with too many slots drops all of them. It keeps its first `capacity`.",
    replace={"(hot.cumsum(0) * hot).sum(1)": "hot.sum(0)[order]"},
)
drop_mask.slip(
    "a_token_in_one_piece",
    "A token with one dropped slot loses all its slots. Each slot is kept or dropped for itself.",
    replace={".reshape(k, T).T": ".reshape(k, T).T.all(1, keepdim=True).expand(T, k)"},
)
drop_mask.slip(
    "a_token_with_any_slot",
    "A token with one kept slot keeps all its slots. Each slot is kept or dropped for itself.",
    of="a_token_in_one_piece",
    replace={".all": ".any"},
)
drop_mask.slip(
    "ones_and_zeros",
    "The mask is made of numbers. Return truth values, dtype bool.",
    replace={".reshape(k, T).T": ".reshape(k, T).T.long()"},
)
drop_mask.slip(
    "floats",
    "The mask is made of floats, ready to multiply with. Return truth values, dtype bool.",
    replace={".reshape(k, T).T": ".reshape(k, T).T.float()"},
)
drop_mask.slip(
    "experts_for_kept",
    "Expert numbers come back, with −1 for dropped. Return truth values: True for kept.",
    replace={"keep.reshape(k, T).T": "idx.masked_fill(~keep.reshape(k, T).T, -1)"},
)
drop_mask.slip(
    "everything_kept",
    "Everything is kept: the capacity is never compared with a count.",
    replace={" <= capacity": " <= len(order)"},
)
drop_mask.slip(
    "capacity_times_k",
    "Each expert keeps k times its capacity. The capacity counts slots, whichever of a token's they are.",
    replace={" <= capacity": " <= k * capacity"},
)


@drop_mask.mistake(
    "Each slot is counted for itself, so an expert takes `capacity` first choices and as many second ones. It has one capacity for all slots together."
)
def a_capacity_for_each_slot(idx, E, capacity):
    keep = torch.zeros_like(idx, dtype=torch.bool)
    for s in range(idx.shape[1]):
        used = [0] * E
        for t in range(idx.shape[0]):
            e = int(idx[t, s])
            keep[t, s] = used[e] < capacity
            used[e] += 1
    return keep


@drop_mask.mistake(
    "Only slot 0 is looked at; what later slots ask for is kept in any case. Their slots take room as well."
)
def later_slots_all_kept(idx, E, capacity):
    used = [0] * E
    keep = torch.ones_like(idx, dtype=torch.bool)
    for t, e in enumerate(idx[:, 0].tolist()):
        keep[t, 0] = used[e] < capacity
        used[e] += 1
    return keep


drop_mask.slip(
    "later_slots_all_dropped",
    "Only slot 0 is served; what later slots ask for is dropped in any case, even where there is room.",
    of=later_slots_all_kept,
    replace={"torch.ones_like": "torch.zeros_like"},
)


@drop_mask.mistake(
    "Where several tokens choose the same expert at once, `used[idx] += 1` counts only one of them. Count one after the other, or with a running sum."
)
def lost_increments(idx, E, capacity):
    used = torch.zeros(E, dtype=torch.long)
    columns = []
    for s in range(idx.shape[1]):
        columns.append(used[idx[:, s]] < capacity)
        used[idx[:, s]] += 1
    return torch.stack(columns, dim=1)


@drop_mask.mistake(
    "Chance decides who is dropped. Here the order decides: slot by slot, and within a slot token by token."
)
def at_random(idx, E, capacity):
    T, k = idx.shape
    flat = idx.T.flatten()
    keep = torch.zeros(len(flat), dtype=torch.bool)
    for e in range(E):
        where = torch.nonzero(flat == e).flatten()
        keep[where[torch.randperm(len(where))[:capacity]]] = True
    return keep.reshape(k, T).T


@drop_mask.mistake("The caller's idx is changed: dropped slots are overwritten in it. Make a new tensor for the mask.")
def idx_overwritten(idx, E, capacity):
    used = [0] * E
    for s in range(idx.shape[1]):
        for t in range(idx.shape[0]):
            e = int(idx[t, s])
            if used[e] >= capacity:
                idx[t, s] = -1
            used[e] += 1
    return idx >= 0


@drop_mask.mistake(
    "A slot whose expert is full is sent on to another expert that has room. Here it is dropped: there is no second round."
)
def sent_on(idx, E, capacity):
    used = [0] * E
    keep = torch.zeros_like(idx, dtype=torch.bool)
    for s in range(idx.shape[1]):
        for t, e in enumerate(idx[:, s].tolist()):
            if used[e] >= capacity:
                with_room = [other for other in range(E) if used[other] < capacity]
                if not with_room:
                    continue
                e = with_room[0]
            used[e] += 1
            keep[t, s] = True
    return keep


@drop_mask.mistake(
    "The loop ends (`break`) at the first slot that finds its expert full. Later slots may want another expert, which has room: go on with them."
)
def stops_at_the_first_drop(idx, E, capacity):
    used = [0] * E
    keep = torch.zeros_like(idx, dtype=torch.bool)
    for s in range(idx.shape[1]):
        for t, e in enumerate(idx[:, s].tolist()):
            if used[e] >= capacity:
                break
            used[e] += 1
            keep[t, s] = True
    return keep


@drop_mask.mistake("The place of each slot in its expert's queue comes back. Compare it with the capacity.")
def places_for_kept(idx, E, capacity):
    T, k = idx.shape
    hot = F.one_hot(idx.T.reshape(-1), E)
    return ((hot.cumsum(0) * hot).sum(1) - 1).reshape(k, T).T


@drop_mask.form(places_for_kept)
def places_from_one(idx, E, capacity):
    T, k = idx.shape
    hot = F.one_hot(idx.T.reshape(-1), E)
    return (hot.cumsum(0) * hot).sum(1).reshape(k, T).T


@drop_mask.mistake("A list of lists comes back. Make a tensor of it.")
def a_list_of_lists(idx, E, capacity):
    used = [0] * E
    keep = [[False] * idx.shape[1] for _ in range(idx.shape[0])]
    for s in range(idx.shape[1]):
        for t in range(idx.shape[0]):
            e = int(idx[t, s])
            keep[t][s] = used[e] < capacity
            used[e] += 1
    return keep


@drop_mask.mistake(NO_RETURN)
def mask_not_returned(idx, E, capacity):
    torch.ones_like(idx, dtype=torch.bool)


@drop_mask.mistake(
    "The first token is never served: its slots are dropped, or stay as they were. Counting begins at 0, so the loop over tokens is `range(T)`."
)
def without_the_first_token(idx, E, capacity):
    T, k = idx.shape
    taken, kept = [0] * E, torch.zeros(T, k, dtype=torch.bool)
    for s in range(k):
        for t in range(1, T):
            e = int(idx[t, s])
            kept[t, s] = taken[e] < capacity
            taken[e] += 1
    return kept


# bias_update

bias_update = Key(exercises.bias_update)


@bias_update.truth
def expert_after_expert(b, counts, u):
    """Compares E times the count with the total, so that nothing is rounded."""
    numbers = counts.tolist()
    moved = []
    for old, number in zip(b.tolist(), numbers, strict=True):
        if number * len(numbers) < sum(numbers):
            moved.append(old + u)
        elif number * len(numbers) > sum(numbers):
            moved.append(old - u)
        else:
            moved.append(old)
    return torch.tensor(moved, dtype=b.dtype)


@bias_update.right("under no_grad, with the sign of the violation subtracted")
def under_no_grad(b, counts, u):
    with torch.no_grad():
        load = counts.to(b.dtype)
        return b - u * torch.sign(load - load.mean())


@bias_update.right("two comparisons")
def by_comparing(b, counts, u):
    mean = counts.double().mean()
    new = b.detach().clone()
    new[counts < mean] += u
    new[counts > mean] -= u
    return new


@bias_update.right("where, twice")
def by_where(b, counts, u):
    b = b.data
    even = counts.sum() / len(counts)
    step = torch.where(counts > even, -u, torch.where(counts < even, u, 0.0))
    return b + step.to(b.dtype)


@bias_update.right("the sign of shares instead of counts, with whole numbers")
def by_whole_numbers(b, counts, u):
    violation = counts.sum() - len(counts) * counts
    return (b + u * violation.sign()).detach().to(b.dtype)


@bias_update.base
def plain_bias_update(b, counts, u):
    b = b.detach()
    load = counts.to(b.dtype)
    return b + u * torch.sign(load.mean() - load)


bias_update.slip(
    "sign_flipped",
    "The sign is flipped: full experts get easier to choose, and soon have everything. An expert above the mean must go down.",
    replace={"load.mean() - load": "load - load.mean()"},
)
bias_update.slip(
    "proportional",
    "The step grows with the difference. Only its sign counts: every expert moves by u, or not at all.",
    replace={"torch.sign(load.mean() - load)": "(load.mean() - load)"},
)
bias_update.slip(
    "relative_difference",
    "The step is the difference as a part of the mean. Only its sign counts: every expert moves by u, or not at all.",
    replace={"torch.sign(load.mean() - load)": "(load.mean() - load) / load.mean()"},
)
bias_update.slip(
    "difference_of_shares",
    "The step is the difference of shares. Only its sign counts: every expert moves by u, or not at all.",
    replace={"torch.sign(load.mean() - load)": "(1 / len(load) - load / load.sum())"},
)
bias_update.slip(
    "tanh_for_sign", "A smooth step (tanh) is taken instead of the sign.", replace={"torch.sign": "torch.tanh"}
)
bias_update.slip(
    "compared_with_the_maximum",
    "Each load is compared with the largest one, so nearly all experts go up. Compare with the mean.",
    replace={".mean()": ".max()"},
)
bias_update.slip(
    "compared_with_the_median",
    "Each load is compared with the median. Half the experts would go up even if one had nearly all tokens: compare with the mean.",
    replace={".mean()": ".median()"},
)
bias_update.slip(
    "whole_number_mean",
    "The mean is rounded down (`//`, or a mean of whole numbers): an expert at the rounded value does not move, though it has less than the mean.",
    replace={".sign(load.mean() - load)": ".sign(counts.sum() // len(counts) - counts).to(b.dtype)"},
)
bias_update.slip("rounded_down_by_int", replace={"load.mean()": "int(load.mean())"}, form_of="whole_number_mean")
bias_update.slip(
    "up_at_the_mean",
    "An expert exactly at the mean goes up. It should stay: the sign of 0 is 0.",
    replace={"b + u * torch.sign(load.mean() - load)": "torch.where(load > load.mean(), b - u, b + u)"},
)
bias_update.slip(
    "down_at_the_mean",
    "An expert exactly at the mean goes down. It should stay: the sign of 0 is 0.",
    replace={"b + u * torch.sign(load.mean() - load)": "torch.where(load < load.mean(), b + u, b - u)"},
)
bias_update.slip(
    "only_up",
    "Experts below the mean go up, but those above do not go down.",
    replace={"torch.sign(load.mean() - load)": "(load < load.mean()).to(b.dtype)"},
)
bias_update.slip(
    "only_down",
    "Experts above the mean go down, but those below do not go up.",
    replace={"b + u * torch.sign(load.mean() - load)": "b - u * (load > load.mean()).to(b.dtype)"},
)
bias_update.slip(
    "change_alone",
    "Only the change comes back. The result is the old bias plus the change.",
    replace={"b + u * torch.sign(load.mean() - load)": "u * torch.sign(load.mean() - load)"},
)
bias_update.slip(
    "u_forgotten", "The step is 1, whatever u is: multiply the sign by u.", replace={" + u * torch": " + torch"}
)
bias_update.slip(
    "b_scaled",
    "The bias is multiplied by 1 ± u. It is shifted: the step does not depend on b.",
    replace={"b + u * torch.sign(load.mean() - load)": "b * (1 + u * torch.sign(load.mean() - load))"},
)
bias_update.slip(
    "recentred",
    "The steps are shifted so that they add up to 0. Some code bases do that; here each expert moves by exactly u or stays.",
    replace={
        "torch.sign(load.mean() - load)": "(torch.sign(load.mean() - load) - torch.sign(load.mean() - load).mean())"
    },
)
bias_update.slip(
    "bias_recentred",
    "The mean is taken off the new bias. That changes no choice, but it is not the update that is asked for.",
    replace={
        "b + u * torch.sign(load.mean() - load)": "(b + u * torch.sign(load.mean() - load)) - (b + u * torch.sign(load.mean() - load)).mean()"
    },
)
bias_update.slip(
    "largest_and_smallest",
    "Only the fullest and the emptiest expert move. All of them do.",
    replace={"torch.sign(load.mean() - load)": "((load == load.min()).to(b.dtype) - (load == load.max()).to(b.dtype))"},
)
bias_update.slip(
    "graph_attached",
    "The values are right, but with `b` an nn.Parameter the result is attached to its graph. No gradient trains the bias: use `b.detach()` or no_grad.",
    replace={"b.detach()": "b"},
)
bias_update.slip(
    "in_float32",
    "The result is float32 whatever b is. It has the dtype of b.",
    replace={"b + u * torch.sign(load.mean() - load)": "(b + u * torch.sign(load.mean() - load)).float()"},
)
bias_update.slip(
    "in_float64",
    "The result is float64 whatever b is. It has the dtype of b.",
    of="in_float32",
    replace={".to(b.dtype)": ".double()", ".float()": ".double()"},
)
bias_update.slip("u_fixed", "The step is 0.001, whatever u is: multiply the sign by u.", replace={" + u": " + 0.001"})
bias_update.slip(
    "dtype_of_counts",
    "With counts in float64 the result is float64, though b is float32. Bring the counts to the dtype of b.",
    replace={"counts.to": "counts if counts.is_floating_point() else counts.to"},
)


@bias_update.mistake(
    "b itself is changed (`+=`, `add_`, `copy_`), and the caller may still need it. Make a new tensor."
)
def in_place(b, counts, u):
    with torch.no_grad():
        b += u * torch.sign(counts.to(b.dtype).mean() - counts.to(b.dtype))
    return b.detach()


@bias_update.form(in_place)
def in_place_and_b_returned(b, counts, u):
    with torch.no_grad():
        b += u * torch.sign(counts.to(b.dtype).mean() - counts.to(b.dtype))
    return b


@bias_update.form(in_place)
def in_place_with_the_graph(b, counts, u):
    b += u * torch.sign(counts.to(b.dtype).mean() - counts.to(b.dtype))
    return b


@bias_update.mistake(
    "`mean` is asked of whole numbers, which PyTorch refuses. Make the counts floats first, in the dtype of b."
)
def mean_of_integers(b, counts, u):
    return b.detach() + u * torch.sign(counts.mean() - counts)


bias_update.slip(
    "half_precision",
    "The counts are rounded to half precision, which can't tell 4,001 tokens from 4,002: the sign is lost where the load is nearly even. float32 can.",
    replace={".to(b.dtype)": ".bfloat16()", ".sign(load.mean() - load)": ".sign(load.mean() - load).to(b.dtype)"},
)
bias_update.slip(
    "half_precision_of_the_other_kind",
    replace={".to(b.dtype)": ".half()", ".sign(load.mean() - load)": ".sign(load.double().mean() - load).to(b.dtype)"},
    form_of="half_precision",
)
bias_update.slip(
    "mean_of_the_living",
    "The mean is taken over the experts that got tokens. It is over all E: experts without tokens count, with 0.",
    replace={"load.mean": "load[load > 0].mean"},
)
bias_update.slip(
    "dead_experts_stay",
    "An expert without tokens keeps its bias. It needs help more than any other: sign(mean − 0) is 1.",
    replace={".sign(load.mean() - load)": ".sign(load.mean() - load) * (load > 0)"},
)


@bias_update.mistake(NO_RETURN)
def bias_not_returned(b, counts, u):
    b.detach() + u * torch.sign(counts.double().mean() - counts)


# SharedExpertMoE

SharedExpertMoE = Key(exercises.SharedExpertMoE, given={"FFN": FFN})


@SharedExpertMoE.truth
class TokenByToken(nn.Module):
    """One token after the other: its chosen experts by sorting, weights by their exponentials."""

    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts)])
        self.shared = FFN(d_model, d_ff)
        self.top_k = top_k

    def forward(self, x):
        rows = []
        for token in x.reshape(-1, x.shape[-1]):
            logits = self.router(token)
            best = sorted(range(len(self.experts)), key=lambda e: -logits[e].item())[: self.top_k]
            total = sum(torch.exp(logits[e]) for e in best)
            row = self.shared(token)
            for e in best:
                row = row + torch.exp(logits[e]) / total * self.experts[e](token)
            rows.append(row)
        return torch.stack(rows).reshape(x.shape)


@SharedExpertMoE.right("a loop over experts, each with its own tokens only")
class OnlyItsTokens(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.k = top_k
        self.shared = FFN(d_model, d_ff)
        self.experts = nn.ModuleList()
        for _ in range(n_experts):
            self.experts.append(FFN(d_model, d_ff))
        self.router = nn.Linear(d_model, n_experts, bias=False)

    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))
        values, idx = F.softmax(self.router(flat), dim=-1).topk(self.k, dim=-1)
        values = values / values.sum(dim=-1, keepdim=True)
        y = self.shared(flat)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(idx == e)
            if len(token):
                y = y.index_add(0, token, values[token, slot].unsqueeze(-1) * expert(flat[token]))
        return y.view(x.shape)


@SharedExpertMoE.right("probabilities that are not divided by their sum")
class NotDivided(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(FFN(d_model, d_ff) for _ in range(n_experts))
        self.shared = FFN(d_model, d_ff)
        self.top_k = top_k

    def forward(self, x):
        p = self.router(x).softmax(-1)
        value, idx = p.topk(self.top_k)
        gates = torch.zeros_like(p).scatter(-1, idx, value)
        out = self.shared(x)
        for e in range(len(self.experts)):
            out = out + gates[..., e : e + 1] * self.experts[e](x)
        return out


@SharedExpertMoE.right("softmax over the chosen logits, all experts stacked and contracted")
class Stacked(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts)])
        self.shared = FFN(d_model, d_ff)
        self.top_k = top_k
        self.aux_loss = 0.0

    def forward(self, x):
        logits = self.router(x)
        top = logits.topk(self.top_k, dim=-1)
        gates = torch.full_like(logits, -torch.inf).scatter(-1, top.indices, top.values).softmax(-1)
        self.aux_loss = logits.logsumexp(-1).square().mean()
        outputs = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return torch.einsum("...de,...e->...d", outputs, gates) + self.shared(x)


MOE = """class SharedExpertMoE(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.router = {router}
        self.experts = {experts}
        self.shared = {shared}
        self.top_k = top_k

    def forward(self, x):
        flat = {flat}
        logits = self.router(flat)
        p = {p}
        value, idx = {top}
        value = {value}
        gates = torch.zeros_like(p).scatter(-1, idx, value)
        out = {out}
        for e in range(len(self.experts)):
            out = {add}
        return {result}


class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))
"""
MOE_DEFAULTS = {
    "router": "nn.Linear(d_model, n_experts, bias=False)",
    "experts": "nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts)])",
    "shared": "FFN(d_model, d_ff)",
    "flat": "x.reshape(-1, x.shape[-1])",
    "p": "logits.softmax(-1)",
    "top": "p.topk(self.top_k, dim=-1)",
    "value": "value / value.sum(-1, keepdim=True)",
    "out": "self.shared(flat)",
    "add": "out + gates[:, e : e + 1] * self.experts[e](flat)",
    "result": "out.reshape(x.shape)",
}


def _shared(name, message="", form_of="", **changes):
    SharedExpertMoE.typed("mistake", name, message, MOE.format(**(MOE_DEFAULTS | changes)), form_of)


_shared(
    "no_shared_part",
    "The shared expert is made but its output is not in the sum: every token should get it.",
    out="torch.zeros_like(flat)",
)
_shared(
    "shared_gated",
    "The shared expert's part is weighted with a probability of the router. It is outside the routing: add it with weight 1.",
    out="p.max(-1, keepdim=True).values * self.shared(flat)",
)
_shared(
    "shared_by_sigmoid",
    "The shared expert's part goes through a sigmoid gate. Some models do that; here it is added with weight 1.",
    out="torch.sigmoid(logits.mean(-1, keepdim=True)) * self.shared(flat)",
)
_shared(
    "shared_for_each_slot",
    "The shared expert is added top_k times: it is inside the loop over slots or experts. Once is enough.",
    out="self.top_k * self.shared(flat)",
)
_shared(
    "shared_for_each_expert",
    "The shared expert is added once for every expert: it is inside the loop. Once is enough.",
    out="len(self.experts) * self.shared(flat)",
)
_shared(
    "shared_among_the_routed",
    "The shared expert is one of the routed ones: the router has a row for it. Make it beside the list, and give the router n_experts rows.",
    router="nn.Linear(d_model, n_experts + 1, bias=False)",
    experts="nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts + 1)])",
)
_shared(
    "shared_is_expert_0",
    "The shared expert is the first of the routed experts, the same module. It needs weights of its own.",
    shared="self.experts[0]",
)
_shared(
    "averaged",
    "The shared and the routed part are averaged. They are added.",
    result="(out + self.shared(flat)).reshape(x.shape) / 2",
    out="torch.zeros_like(flat)",
)
_shared(
    "residual_inside",
    "x is added to the output. The residual connection belongs to the block around this layer.",
    result="out.reshape(x.shape) + x",
)
_shared(
    "routed_get_the_shared_output",
    "The routed experts read what the shared expert wrote. Both read x.",
    add="out + gates[:, e : e + 1] * self.experts[e](self.shared(flat))",
)
_shared(
    "shared_reads_the_routed_output",
    "The shared expert reads what the routed experts wrote. Both read x, and their outputs are added.",
    out="torch.zeros_like(flat)",
    result="self.shared(out).reshape(x.shape)",
)
_shared(
    "shared_detached",
    "The shared expert's output is cut off from the graph (detach or no_grad): it would never learn.",
    out="self.shared(flat).detach()",
)
_shared(
    "gates_detached",
    "The weights are cut off from the graph, so the router would never learn. They carry its only gradient.",
    value="(value / value.sum(-1, keepdim=True)).detach()",
)
_shared(
    "no_weights",
    "The chosen experts are added with weight 1. Each one counts as much as the router says.",
    value="torch.ones_like(value)",
)
_shared(
    "equal_weights",
    "The chosen experts are averaged. Each one counts as much as the router says.",
    value="torch.ones_like(value) / self.top_k",
)
_shared(
    "logits_as_weights",
    "Raw logits are used as weights. Take the softmax first.",
    p="logits",
    value="value",
)
_shared(
    "softmax_over_the_tokens",
    "The softmax runs over the tokens. Each token's probabilities over the experts add up to 1: the last dimension.",
    p="logits.softmax(0)",
)
_shared(
    "softmax_over_the_first_dimension",
    "",
    form_of="softmax_over_the_tokens",
    flat="x",
    p="logits.softmax(0)",
    add="out + gates[..., e : e + 1] * self.experts[e](flat)",
)
_shared(
    "divided_by_the_sum_of_all",
    "The weights are divided by their sum over all tokens. Each token's own top_k weights add up to 1: sum(-1, keepdim=True).",
    value="value / value.sum()",
)
_shared(
    "the_rest_for_the_shared",
    "The shared expert gets what the chosen probabilities leave of 1. It is outside the routing: add it with weight 1.",
    value="value",
    out="(1 - value.sum(-1, keepdim=True)) * self.shared(flat)",
)
_shared(
    "slot_for_expert",
    "The number of the slot is used as the number of the expert, so only the first top_k experts ever work. topk says which expert a slot means.",
    value="value / value.sum(-1, keepdim=True)",
    add="out + (value[:, e : e + 1] * self.experts[e](flat) if e < self.top_k else 0)",
)
_shared(
    "overwritten_by_the_next",
    "Where a token has two experts, the second overwrites what the first wrote (`y[token] = …`). Add to it.",
    out="torch.zeros_like(flat)",
    add="torch.where(gates[:, e : e + 1] > 0, gates[:, e : e + 1] * self.experts[e](flat), out)",
    result="(out + self.shared(flat)).reshape(x.shape)",
)
_shared(
    "smallest_chosen",
    "The experts with the smallest probabilities are chosen.",
    top="p.topk(self.top_k, dim=-1, largest=False)",
)
_shared(
    "every_expert",
    "All experts are used for every token: choose the top_k of the router.",
    top="p.topk(len(self.experts), dim=-1)",
)
_shared(
    "one_chosen",
    "One expert a token is used, whatever top_k is.",
    top="p.topk(1, dim=-1)",
)
_shared(
    "only_the_last_expert",
    "The loop replaces the sum instead of adding to it: only the last expert is left beside the shared one.",
    add="self.shared(flat) + gates[:, e : e + 1] * self.experts[e](flat)",
)
_shared(
    "weights_on_the_input",
    "The weight is multiplied with the input of an expert. An expert with biases and a ReLU then gives something else: weigh its output.",
    add="out + self.experts[e](gates[:, e : e + 1] * flat)",
)
_shared(
    "without_activation",
    "The experts have no activation between their two linear layers: each is a single linear map. `FFN(d_model, d_ff)` brings its ReLU along.",
    experts="nn.ModuleList(nn.Sequential(nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)) for _ in range(n_experts))",
    shared="nn.Sequential(nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model))",
)
_shared(
    "gelu_experts",
    "The experts have another activation than `FFN`, whose is ReLU.",
    experts="nn.ModuleList(nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model)) for _ in range(n_experts))",
    shared="nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))",
)
_shared(
    "one_expert_many_times",
    "`[FFN(...)] * n` is one expert in n places. Each needs a call of FFN of its own.",
    experts="nn.ModuleList([FFN(d_model, d_ff)] * n_experts)",
)
_shared(
    "experts_in_a_plain_list",
    "The experts are in a plain Python list, so `parameters()` does not find them, and no optimiser would. Use nn.ModuleList.",
    experts="[FFN(d_model, d_ff) for _ in range(n_experts)]",
)
_shared(
    "plain_list_on_unflattened_x",
    "",
    form_of="experts_in_a_plain_list",
    experts="[FFN(d_model, d_ff) for _ in range(n_experts)]",
    flat="x",
    add="out + gates[..., e : e + 1] * self.experts[e](flat)",
)
_shared(
    "one_expert_fewer",
    "There are n_experts − 1 routed experts. The shared one is not counted: it comes on top of n_experts.",
    router="nn.Linear(d_model, n_experts - 1, bias=False)",
    experts="nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts - 1)])",
)
_shared(
    "one_expert_fewer_than_rows",
    "",
    form_of="one_expert_fewer",
    experts="nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts - 1)])",
)
_shared(
    "router_with_bias",
    "The router has a bias. None is asked for: `bias=False`.",
    router="nn.Linear(d_model, n_experts)",
)
_shared(
    "router_too_small",
    "The router has a row for each slot (top_k) instead of one for each expert.",
    router="nn.Linear(d_model, top_k, bias=False)",
)
_shared(
    "leading_shape_lost",
    "The output is [tokens, d_model]: restore the shape of x at the end.",
    result="out",
)
_shared(
    "only_three_dimensions",
    "The code expects x to be [B, T, d_model]. Any number of leading dimensions is allowed: x.shape[-1] is d_model, and reshape(-1, …) takes the rest.",
    flat="x.reshape(x.shape[0] * x.shape[1], x.shape[2])",
    result="out.reshape(x.shape[0], x.shape[1], x.shape[2])",
)
_shared(
    "viewed",
    "`view` needs numbers that lie one after the other in memory. `reshape` works for a transposed x, too.",
    flat="x.view(-1, x.shape[-1])",
)
_shared(
    "x_overwritten",
    "x itself is changed by an operation in place. The block around this layer still needs it for its residual.",
    out="self.shared(flat) + 0 * flat.add_(1.0)",
)
_shared(
    "a_pair",
    "A pair comes back. Return y alone, and keep other things as attributes.",
    result="out.reshape(x.shape), logits",
)
_shared(
    "y_not_returned",
    NO_RETURN,
    result="None",
)
SharedExpertMoE.typed(
    "mistake",
    "no_super_init",
    "`super().__init__()` is missing: it has to come first in `__init__`, before any layer is assigned.",
    MOE.format(**MOE_DEFAULTS).replace("        super().__init__()\n", "", 1),
)


_shared(
    "two_dimensions_taken_for_granted",
    "This works for x [T, d_model] alone. x is [..., d_model]: flatten all dimensions before the last one first, and give y the shape of x at the end.",
    flat="x",
    out="self.shared(x)",
    add="out.index_add(0, torch.where(idx == e)[0], value[torch.where(idx == e)].unsqueeze(-1) * self.experts[e](x[torch.where(idx == e)[0]]))",
)
SharedExpertMoE.typed(
    "mistake",
    "two_dimensions_unpacked",
    "",
    MOE.format(**(MOE_DEFAULTS | {"flat": "x", "out": "self.shared(x)"}))
    .replace(
        "            out = out + gates", "            rows, slot = torch.where(idx == e)\n            out = out + gates"
    )
    .replace(
        "gates[:, e : e + 1] * self.experts[e](flat)",
        "torch.zeros_like(out).index_add(0, rows, value[rows, slot, None] * self.experts[e](x[rows]))",
    ),
    form_of="two_dimensions_taken_for_granted",
)


# Questions

quiz_below_one = question(
    exercises.quiz_below_one,
    right="C",
    wrong={
        "A": "The value 1 belongs to an even load, or to even probabilities, but it is no lower bound. The figure with 6 and 4 tokens went to 0.85.",
        "B": "Without the factor E an even load would give 1/E. With it an even load gives 1, and the value can still be smaller.",
    },
)

quiz_dropped = question(
    exercises.quiz_dropped,
    right="A",
    wrong={
        "B": "There is no second round: dropped is dropped. Sending a token on to its next expert is another design.",
        "C": "Then the block would add the token to itself. One published implementation does that; in the papers the layer's output is 0 there.",
    },
)

quiz_selection = question(
    exercises.quiz_selection,
    right="B",
    wrong={
        "A": "Then the bias would change the output, and a loss of the task would feel it. That is what the method avoids.",
        "C": "The bias gets no gradient from anywhere: after each step it is moved by ±u, as the counts ask.",
    },
)
