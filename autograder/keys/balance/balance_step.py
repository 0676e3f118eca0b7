"""What is right, and what goes wrong, in `balance_step` of notebook 09."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import balance as exercises

balance_step = Key(exercises.balance_step)


@balance_step.truth
def expert_by_expert(logits, idx, b, u):
    """Counts with Python loops; probabilities by exp, shifted by the row's largest logit; compares E times a count with the total."""
    T, E = logits.shape
    slots = [chosen for row in idx.tolist() for chosen in row]
    counts = [slots.count(e) for e in range(E)]
    entropy, loss, bias = 0.0, torch.zeros((), dtype=logits.dtype), []
    for e in range(E):
        share = counts[e] / len(slots)
        if counts[e] > 0:
            entropy = entropy - share * math.log(share)
        P = 0
        for t in range(T):
            shifted = logits[t] - logits[t].detach().max()
            P = P + torch.exp(shifted[e]) / torch.exp(shifted).sum()
        loss = loss + share * P / T
        move = u if counts[e] * E < len(slots) else -u if counts[e] * E > len(slots) else 0.0
        bias.append(b[e].item() + move)
    return {
        "load": torch.tensor(counts, dtype=logits.dtype) / len(slots),
        "effective": math.exp(entropy),
        "loss": E * loss,
        "bias": torch.tensor(bias, dtype=b.dtype),
    }


@balance_step.right("one-hot vectors, averaged over tokens and slots, and comparisons")
def by_one_hot(logits, idx, b, u):
    E = logits.size(1)
    f = F.one_hot(idx, E).to(logits.dtype).mean(dim=(0, 1))
    P = F.softmax(logits, dim=1).mean(dim=0)
    counts = F.one_hot(idx, E).sum(dim=(0, 1))
    mean = idx.numel() / E
    new = b.detach().clone()
    new[counts < mean] += u
    new[counts > mean] -= u
    H = -(f * torch.log(f + 1e-12)).sum()
    return dict(load=f, effective=math.exp(H), loss=E * torch.dot(f, P), bias=new)


@balance_step.right("shares instead of counts, where torch knows xlogy")
def by_shares(logits, idx, b, u):
    E = logits.shape[-1]
    flat = idx.reshape(-1)
    f = torch.zeros(E, dtype=torch.float64).scatter_add_(0, flat, torch.ones(len(flat), dtype=torch.float64))
    f /= flat.numel()
    loss = (f.to(logits.dtype) * torch.softmax(logits, -1).mean(0)).mean() * E**2
    with torch.no_grad():
        bias = b - u * torch.sign(f - f.mean()).to(b.dtype)
    return {"load": f, "effective": torch.exp(-torch.xlogy(f, f).sum()).item(), "loss": loss, "bias": bias}


@balance_step.right("a list of counts, and the probabilities of all tokens in one product")
def by_matmul(logits, idx, b, u):
    T, E = logits.shape
    counts = torch.stack([(idx == e).sum() for e in range(E)])
    load = counts / counts.sum()
    some = load[load > 0]
    violation = counts.sum() - E * counts
    return {
        "load": load,
        "effective": torch.exp(-(some * some.log()).sum()),
        "loss": (logits.softmax(-1) @ counts.to(logits)).sum() * E / (idx.numel() * T),
        "bias": (b + u * violation.sign()).detach().to(b.dtype),
    }


@balance_step.base
def plain_step(logits, idx, b, u):
    E = logits.shape[-1]
    counts = torch.bincount(idx.flatten(), minlength=E).to(logits.dtype)
    f = counts / idx.numel()
    entropy = torch.special.entr(f).sum()
    p = torch.softmax(logits, dim=-1)
    P = p.mean(dim=0)
    loss = E * (f * P).sum()
    b = b.detach()
    bias = b + u * torch.sign(counts.mean() - counts).to(b.dtype)
    return {"load": f, "effective": entropy.exp().item(), "loss": loss, "bias": bias}


balance_step.slips("""
# the count
in counts = torch.bincount(idx.flatten(), minlength=E).to(logits.dtype)
no_minlength: counts = torch.bincount(idx.flatten()).to(logits.dtype)
    `bincount` is as long as the largest expert number it met. Where the last experts got no slot, the load is too short: say how many there are with
    `minlength`.
|| no_minlength_and_a_plain_number: loss = E * (f * P).sum() -> loss = (E * (f * P).sum()).item()
topk_for_idx: counts = torch.bincount(logits.topk(idx.shape[1]).indices.flatten(), minlength=E).to(logits.dtype)
    The load is counted from the top k of the logits, computed anew. Use `idx` as it is given: the tokens may have gone elsewhere.
argmax_for_idx: counts = torch.bincount(logits.argmax(-1), minlength=E).to(logits.dtype) * idx.shape[1]
    The load is counted from the largest logits, not from `idx`. What counts is where the tokens went, and a selection bias or a second slot changes that.
first_slot_only: counts = torch.bincount(idx[:, 0], minlength=E).to(logits.dtype) * idx.shape[1]
    Only the first slot of each token is counted. All k slots are load.
# the load
in f = counts / idx.numel()
raw_counts: f = counts
    The load is the number of slots, not their share: divide the counts by k·T.
not_divided_by_k: f = counts / len(idx)
    The load adds up to k, so an even one gives a loss of k instead of 1. There are k·T slots: divide by `idx.numel()`.
one_hot_over_tokens_alone: f = F.one_hot(idx, E).to(logits.dtype).mean(dim=0)
    The one-hot vectors of idx have the shape [T, k, E], and only the tokens are averaged. The load is an average over tokens and slots: [E].
| one_hot_in_float32: f = F.one_hot(idx, E).float().mean(0)
f_from_probabilities: f = torch.softmax(logits, dim=-1).mean(dim=0)
    The load is made from probabilities, not from `idx`. It is what happened: count what is in idx.
# effective
in torch.special.entr(f).sum()
nan_for_zero: -(f * f.log()).sum()
    `effective` is NaN as soon as an expert has no slot: 0 · ln 0 is 0 times minus infinity. Such experts add nothing to the entropy: leave them out.
log2_with_exp: -(f[f > 0] * f[f > 0].log2()).sum()
    The entropy is in bits (log2), but `exp` undoes the natural logarithm. An even load of E experts should give E: use `log`, or 2 ** H.
minus_missing: -torch.special.entr(f).sum()
    The minus sign of the entropy is missing, so `effective` falls from 1 towards 1/E as the load gets even.
entropy_of_P: torch.special.entr(torch.softmax(logits, dim=-1).mean(dim=0)).sum()
    `effective` is made from P, what the router wanted. It describes the load: take f.
in entropy.exp().item()
the_entropy_itself: entropy.item()
    `effective` is the entropy itself, 0 for a single expert. Take e to the power of it: then it is a number of experts.
divided_by_E: entropy.exp().item() / E
    `effective` is divided by the number of experts. It is meant as a number of experts: E for an even load, 1 for a single one.
number_of_the_living: float((counts > 0).sum())
    `effective` counts the experts with slots. One with a hundredth of the load then counts as much as the fullest: use the entropy.
inverse_of_squares: (1 / f.square().sum()).item()
    `effective` is 1/Σf². That is a number of effective experts, too, but another one. Here it is e to the power of the entropy.
# the loss
in loss = E * (f * P).sum()
factor_E_missing: loss = (f * P).sum()
    The loss is too small by a factor of E: either E is missing, or a mean over the experts is taken where their sum is asked for.
| mean_for_sum: loss = E * (f * P).mean()
loss_over_tokens_alone: loss = E * (counts / len(idx) * P).sum()
    The loss is k times too large: there are k·T slots, and it divides the counts by T alone. The load that you return is right, so use that.
k_for_E: loss = idx.shape[1] * (f * P).sum()
    The factor in front of the loss is k. It is the number of experts, E.
f_squared: loss = E * (f * f).sum()
    The loss is E·Σf²: it contains the load twice and the probabilities not at all, so it has no gradient. One factor is f, the other P.
P_squared: loss = E * (P * P).sum()
    The loss is E·ΣP²: it contains the probabilities twice and says nothing of where the tokens went. One factor is P, the other f.
per_expert: loss = E * f * P
    The loss has one number for each expert. Add them up: it is a single number.
clamped_at_one: loss = torch.clamp(E * (f * P).sum(), min=1.0)
    The loss is cut off at 1 from below. 1 is its value for an even load, but no lower bound: there are smaller values, and they have a gradient.
one_subtracted: loss = E * (f * P).sum() - 1
    1 is subtracted from the loss, so that an even load gives 0. It is a harmless shift, but not the loss that is asked for.
alpha_inside: loss = 0.01 * E * (f * P).sum()
    A factor 0.01 is in the loss. The weight α belongs to the training loop.
float_times_double: loss = E * torch.dot((counts / idx.numel()).float(), torch.softmax(logits, dim=-1).mean(dim=0))
    f is float32 whatever the logits are, and a product with `@` or `dot` wants both in one dtype: bring f to that of the logits.
a_python_float: loss = (E * (f * P).sum()).item()
    The loss is a Python float (`.item()`, `float(...)`), which has no gradient. Return the tensor.
in p.mean(dim=0)
P_detached: p.mean(dim=0).detach()
    The loss has the right value, but no gradient reaches the logits: P is detached (or computed under no_grad). f has no gradient anyway, so P must have one.
P_summed: p.sum(dim=0)
    The loss is T times too large: P is a sum over tokens. It is a mean, so that it adds up to 1.
probabilities_of_chosen_only: torch.zeros_like(p).scatter(1, idx, p.gather(1, idx)).mean(dim=0)
    P contains the probabilities of the chosen experts only. It is the mean of the whole softmax, also of experts that were not chosen.
in torch.softmax(logits, dim=-1)
softmax_over_the_chosen: torch.softmax(torch.full_like(logits, -torch.inf).scatter(1, idx, logits.gather(1, idx)), dim=-1)
    The softmax runs over the k chosen experts of a token, as their weights often do. P is the mean of the softmax over all E, also over those that were not
    chosen.
softmax_over_tokens: torch.softmax(logits, dim=0)
    The softmax runs over the tokens (dim=0). Each token's probabilities over the experts add up to 1: dim=-1.
softmax_overflows: torch.exp(logits) / torch.exp(logits).sum(dim=-1, keepdim=True)
    `exp` of a large logit is infinite, and infinite over infinite is NaN. `softmax` takes the largest logit out first.
sigmoids: torch.sigmoid(logits)
    P is made of sigmoids, each expert by itself. Those are the scores that a selection bias is added to. For the loss, take the softmax over the experts.
no_softmax: logits
    P is a mean of raw logits. Turn them into probabilities first, by a softmax over the experts.
softmax_of_the_mean
  - torch.softmax(logits, dim=-1)
  + logits
  - p.mean(dim=0)
  + logits.mean(dim=0).softmax(-1)
    The mean over tokens is taken before the softmax. P is the mean of each token's probabilities: softmax first.
# the bias
in bias = b + u * torch.sign(counts.mean() - counts).to(b.dtype)
sign_flipped: bias = b + u * torch.sign(counts - counts.mean()).to(b.dtype)
    The sign of the bias's step is flipped: full experts get easier to choose, and soon have everything. An expert above the mean must go down.
up_at_the_mean: bias = torch.where(counts > counts.mean(), b - u, b + u)
    The bias of an expert exactly at the mean goes up. It should stay: the sign of 0 is 0.
down_at_the_mean: bias = torch.where(counts < counts.mean(), b + u, b - u)
    The bias of an expert exactly at the mean goes down. It should stay: the sign of 0 is 0.
change_alone: bias = u * torch.sign(counts.mean() - counts).to(b.dtype)
    Only the change of the bias comes back. The new bias is the old one plus the change.
u_forgotten: bias = b + torch.sign(counts.mean() - counts).to(b.dtype)
    The step of the bias is 1, whatever u is: multiply the sign by u.
u_fixed: bias = b + 0.001 * torch.sign(counts.mean() - counts).to(b.dtype)
    The step of the bias is 0.001, whatever u is: multiply the sign by u.
proportional: bias = b + u * (counts.mean() - counts).to(b.dtype)
    The step of the bias grows with the difference. Only its sign counts: every expert moves by u, or not at all.
difference_of_shares: bias = b + u * (f.mean() - f).to(b.dtype)
    The step of the bias is the difference of shares. Only its sign counts: every expert moves by u, or not at all.
compared_with_the_median: bias = b + u * torch.sign(counts.median() - counts).to(b.dtype)
    Each load is compared with the median. Half the experts would go up even if one had nearly all slots: compare with the mean.
compared_with_one: bias = b + u * torch.sign(1 - f).to(b.dtype)
    Each share is compared with 1, so that nearly every bias goes up. An even share is 1/E.
compared_with_P: bias = b + u * torch.sign(P.detach() - f).to(b.dtype)
    The load is compared with P, what the router wanted. The bias compares it with the mean load, 1/E.
mean_of_the_living: bias = b + u * torch.sign(counts[counts > 0].mean() - counts).to(b.dtype)
    The mean is taken over the experts that got slots. It is over all E: experts without slots count, with 0.
dead_experts_stay: bias = b + u * (torch.sign(counts.mean() - counts) * (counts > 0)).to(b.dtype)
    An expert without slots keeps its bias. It needs help more than any other: sign(mean − 0) is 1.
only_down: bias = b - u * (counts > counts.mean()).to(b.dtype)
    Experts above the mean go down, but those below do not go up.
only_up: bias = b + u * (counts < counts.mean()).to(b.dtype)
    Experts below the mean go up, but those above do not go down.
in_place: bias = b.add_(u * torch.sign(counts.mean() - counts).to(b.dtype))
    b itself is changed (`+=`, `add_`), and the caller may still need it. Make a new tensor.
bias_in_the_dtype_of_the_logits: bias = b.to(logits.dtype) + u * torch.sign(counts.mean() - counts)
    The new bias has the dtype of the logits. It has that of b, even if the logits have another one.
in b = b.detach()
graph_attached:
    The new bias is right, but with `b` an nn.Parameter it is attached to b's graph. No gradient trains the bias: use `b.detach()` or no_grad.
# what comes back
in return {"load": f, "effective": entropy.exp().item(), "loss": loss, "bias": bias}
a_tuple: return f, entropy.exp().item(), loss, bias
    The four come back without their names. Return a dict: load, effective, loss, bias.
step_not_returned: return None
    NO_RETURN
""")
