"""What is right, and what goes wrong, in `load_balance_loss` of notebook 09."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import balance as exercises

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
    "argmax_for_idx",
    "f is counted from the largest logits, not from `idx`. What counts is where the tokens went, and a selection bias or a second slot changes that.",
    replace={"idx.flatten()": "logits.argmax(-1)", "(k * T)": "T"},
)
load_balance_loss.slip(
    "first_slot_only",
    "Only the first slot of each token is counted (`idx[:, 0]`). All k slots are load.",
    replace={"idx.flatten()": "idx[:, 0]", "(k * T)": "T"},
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
    "softmax_of_the_mean",
    "The mean over tokens is taken before the softmax. P is the mean of each token's probabilities: softmax first.",
    replace={"torch.softmax(logits, dim=-1)": "logits", "p.mean(dim=0)": "logits.mean(dim=0).softmax(-1)"},
)
load_balance_loss.slip("no_balance_return", NO_RETURN, replace={"E * (f * P).sum()": "None"})


load_balance_loss.slips("""
factor_E_missing: return E * (f * P).sum -> return (f * P).sum
    It is too small by a factor of E: either E is missing, or a mean over the experts is taken where their sum is asked for. An even load gives 1 for
    every number of experts.
| mean_for_sum: .sum -> .mean
in return E * (f * P).sum
entropy_of_P: return (P * P.log()).sum
    This is an entropy of the probabilities. It is another way to ask for balance; here the loss is E·Σ f·P.
entropy_of_f: return -torch.special.entr(f).sum
    This is an entropy of the load. Counting has no gradient, so nothing could be trained by it. Multiply f by P.
not_divided_by_k: (k * T) -> T
    f adds up to k, so an even load gives k instead of 1: it is averaged over tokens, but added up over slots. There are k·T slots.
| one_hot_summed_over_slots: = counts.to(logits.dtype) / (k * T) -> = F.one_hot(idx, E).to(logits.dtype).sum(dim=1).mean(dim=0)
not_divided_by_T: (k * T) -> k
    The result is T times too large: f or P is a sum over tokens. Both are means, so that each adds up to 1.
| P_summed: p.mean -> p.sum
in f = counts.to(logits.dtype) / (k * T)
raw_counts: f = counts.to(logits.dtype)
    f is the number of slots, not their share: divide the counts by k·T.
f_from_probabilities: f = p.mean(dim=0)
    f is made from probabilities, not from `idx`, so the loss is E·ΣP² and says nothing about where the tokens went. Count what is in idx.
P_detached: P = p.mean(dim=0) -> P = p.mean(dim=0).detach()
    The value is right, but no gradient reaches the logits: P is detached (or computed under no_grad). f has no gradient anyway, so P must have one.
in p = torch.softmax(logits, dim=-1)
softmax_over_tokens: p = torch.softmax(logits, dim=0)
    The softmax runs over the tokens (dim=0). Each token's probabilities over the experts add up to 1: dim=-1.
softmax_overflows: p = torch.exp(logits) / torch.exp(logits).sum(dim=-1, keepdim=True)
    `exp` of a large logit is infinite, and infinite over infinite is NaN. `softmax` takes the largest logit out first.
no_softmax: p = logits
    P is a mean of raw logits. Turn them into probabilities first, by a softmax over the experts.
log_probabilities: p = torch.log_softmax(logits, dim=-1)
    P is a mean of logarithms of probabilities. Use softmax, without the logarithm.
in (f * P).sum()
f_squared: (f * f).sum()
    The loss is E·Σf²: it contains the load twice and the probabilities not at all, so it has no gradient. One factor is f, the other P.
per_expert: f * P
    One number for each expert comes back. Add them up: the loss is a single number.
in counts = torch.bincount(idx.flatten(), minlength=E)
no_minlength: counts = torch.bincount(idx.flatten())
    `bincount` is as long as the largest expert number it met. Where the last experts got no token, f is too short: say how many there are with
    `minlength`.
|| no_minlength_and_a_plain_number: E * (f * P).sum -> (E * (f * P).sum()).item
topk_for_idx: counts = torch.bincount(logits.topk(k).indices.flatten(), minlength=E)
    f is counted from the top k of the logits, computed anew. Use `idx` as it is given: the tokens may have gone elsewhere.
in p.mean
probabilities_of_chosen_only: torch.zeros_like(p).scatter(1, idx, p.gather(1, idx)).mean
    P contains the probabilities of the chosen experts only. It is the mean of the whole softmax, also of experts that were not chosen.
softmax_of_the_chosen: torch.zeros_like(p).scatter(1, idx, logits.gather(1, idx).softmax(-1)).mean
    The softmax runs over the chosen experts only, so that their probabilities add up to 1. P is the mean of the whole softmax, over all E experts.
in return E *
k_for_E: return k *
    The factor in front is k. It is the number of experts, E.
alpha_inside: return 0.01 * E *
    A factor 0.01 is in the result. The weight α belongs to the training loop; here the loss itself is asked for.
in .sum()
one_subtracted: .sum() - 1
    1 is subtracted, so that an even load gives 0. It is a harmless shift, but not the loss that is asked for.
a_vector_of_one: .sum(dim=0, keepdim=True)
    The result has shape [1]. A loss is a tensor without dimensions: `sum()` without keepdim.
in return E * (f * P).sum()
clamped_at_one: return torch.clamp(E * (f * P).sum(), min=1.0)
    The loss is cut off at 1 from below. 1 is its value for an even load, but no lower bound: there are smaller values, and they have a gradient.
a_python_float: return (E * (f * P).sum()).item()
    A Python float comes back (`.item()`, `float(...)`): it has no gradient. Return the tensor.
""")
