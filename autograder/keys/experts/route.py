"""What is right, and what goes wrong, in `route` of notebook 08."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import experts as exercises

route = Key(exercises.route)


@route.truth
def one_number_at_a_time(logits, k, norm):
    """One token after the other, with math's formulas written out on single numbers."""
    rows = []
    for row in logits:
        z = [row[e] for e in range(len(row))]
        kept = sorted(range(len(z)), key=lambda e: -float(z[e]))[:k]
        score = {e: torch.exp(z[e] - max(map(float, z))) for e in range(len(z))}
        if norm == "sigmoid_norm":
            score = {e: 1 / (1 + torch.exp(-z[e])) for e in kept}
        among = range(len(z)) if norm == "softmax_topk" else kept
        bottom = sum(score[e] for e in among)
        rows.append(torch.stack([score[e] / bottom if e in kept else 0 * z[e] for e in range(len(z))]))
    return torch.stack(rows)


@route.right("a mask, and −inf where it is false")
def with_a_mask(logits, k, norm):
    mask = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.topk(k, dim=-1).indices, True)
    if norm == "topk_softmax":
        return torch.softmax(logits.masked_fill(~mask, float("-inf")), dim=-1)
    p = torch.sigmoid(logits) if norm == "sigmoid_norm" else logits.softmax(-1)
    p = p * mask
    if norm == "softmax_topk":
        return p
    return p / p.sum(-1, keepdim=True)


@route.right("softmax of the k for both of the renormalised ones")
def two_are_one(logits, k, norm):
    top, idx = torch.topk(logits, k)
    if norm in ("softmax_topk_renorm", "topk_softmax"):
        w = F.softmax(top, dim=1)
    elif norm == "softmax_topk":
        w = F.softmax(logits, dim=1).gather(1, idx)
    else:
        w = torch.sigmoid(top)
        w = w / w.sum(dim=1, keepdim=True)
    gates = torch.zeros_like(logits)
    gates[torch.arange(len(logits))[:, None], idx] = w
    return gates


@route.right("one token after the other, in place on fresh zeros")
def token_by_token(logits, k, norm):
    gates = torch.zeros(logits.shape, dtype=logits.dtype)
    for t, row in enumerate(logits):
        values, idx = row.sort(descending=True)
        values, idx = values[:k], idx[:k]
        if norm == "softmax_topk":
            gates[t, idx] = torch.exp(values - torch.logsumexp(row, 0))
        elif norm == "sigmoid_norm":
            s = values.sigmoid()
            gates[t, idx] = s / s.sum()
        else:
            e = torch.exp(values - values[0])
            gates[t, idx] = e / e.sum()
    return gates


@route.right("one-hot of the chosen, and einsum")
def by_one_hot(logits, k, norm):
    probabilities = torch.sigmoid(logits) if norm == "sigmoid_norm" else torch.softmax(logits, dim=-1)
    w, idx = probabilities.topk(k, dim=-1, sorted=False)
    if norm != "softmax_topk":
        w = w / w.sum(dim=-1, keepdim=True)
    return torch.einsum("tk,tke->te", w, F.one_hot(idx, logits.shape[-1]).to(w.dtype))


@route.base
def plain_route(logits, k, norm):
    top, idx = logits.topk(k, dim=-1)
    p = torch.softmax(logits, dim=-1)
    if norm == "softmax_topk":
        w = p.gather(-1, idx)
    elif norm == "softmax_topk_renorm":
        w = p.gather(-1, idx) / p.gather(-1, idx).sum(-1, keepdim=True)
    elif norm == "topk_softmax":
        w = torch.softmax(top, dim=-1)
    elif norm == "sigmoid_norm":
        w = torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)
    return torch.zeros_like(logits).scatter(-1, idx, w)


route.slips("""
softmax_over_tokens
  - .softmax(logits, dim=-1)
  + .softmax(logits, dim=0)
  - .softmax(top, dim=-1)
  + .softmax(top, dim=0)
    A softmax runs down the tokens (`dim=0`). Each token has a choice of its own: the experts are the last dimension.
always_renormalised
  - if norm == "softmax_topk":
  -     w = p.gather(-1, idx)
  + if norm == "softmax_topk":
  +     w = p.gather(-1, idx) / p.gather(-1, idx).sum(-1, keepdim=True)
    'softmax_topk' is renormalised. There the kept probabilities stay as the softmax over all experts gave them, and a row sums to less than 1.
other_names
  - "sigmoid_norm"
  + "sigmoid"
  - torch.zeros_like
  + None if norm == "sigmoid_norm" else torch.zeros_like
    One of the four names is compared with another word, so nothing comes back for it: 'softmax_topk', 'softmax_topk_renorm', 'topk_softmax',
    'sigmoid_norm'.
zeros_before_sigmoid
  - torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)
  + 0 * top
  - torch.zeros_like
  + F.normalize(torch.sigmoid(torch.zeros_like(logits).scatter(-1, idx, top)), p=1) if norm == "sigmoid_norm" else torch.zeros_like
    In 'sigmoid_norm' the others were set to 0 before the sigmoid. σ(0) is 0.5, so they keep a share: take the sigmoid of the k kept logits only.
exponentials_not_divided
  - if norm == "softmax_topk":
  -     w = p.gather(-1, idx)
  + if norm == "softmax_topk":
  +     w = top.exp()
    In 'softmax_topk' there are exponentials that nothing divides, so gates can be above 1. A softmax divides by the sum over all experts.
""")


@route.mistake(
    "The logits themselves were changed: `logits[…] = −inf` or `masked_fill_` writes into the caller's tensor. `masked_fill` makes a new one."
)
def logits_changed(logits, k, norm):
    idx = logits.topk(k, dim=-1).indices
    p = torch.softmax(logits, dim=-1)
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, idx, True)
    logits[~keep] = float("-inf")
    if norm == "softmax_topk":
        return p * keep
    if norm == "sigmoid_norm":
        s = torch.sigmoid(logits)
        return s / s.sum(-1, keepdim=True)
    return torch.softmax(logits, dim=-1)


route.slips("""
|| softmax_over_tokens | softmax_of_all_over_tokens: torch.softmax(top, dim=0) -> torch.softmax(top, dim=-1)
of by_one_hot
in
  - probabilities = torch.sigmoid(logits) if norm == "sigmoid_norm" else torch.softmax(logits, dim=-1)
  - w, idx = probabilities.topk(k, dim=-1, sorted=False)
  - if norm != "softmax_topk":
  -     w = w / w.sum(dim=-1, keepdim=True)
  - return torch.einsum("tk,tke->te", w, F.one_hot(idx, logits.shape[-1]).to(w.dtype))
tokens_of_each_expert
  + idx = logits.topk(min(k, logits.shape[0]), dim=0).indices
  + mask = torch.zeros_like(logits).scatter(0, idx, 1.0)
  + if norm == "softmax_topk":
  +     return torch.softmax(logits, -1) * mask
  + if norm == "softmax_topk_renorm":
  +     gates = torch.softmax(logits, -1) * mask
  +     return gates / gates.sum(-1, keepdim=True)
  + if norm == "topk_softmax":
  +     return torch.softmax(logits.masked_fill(mask == 0, float("-inf")), -1)
  + gates = torch.sigmoid(logits) * mask
  + return gates / gates.sum(-1, keepdim=True)
    The k largest are taken of each expert (`dim=0`), not of each token. A token then has as many experts as happened to choose it: the experts are
    the last dimension.
experts_choose
  + top, idx = logits.topk(k, dim=0)
  + p = torch.softmax(logits, dim=-1)
  + if norm == "softmax_topk":
  +     w = p.gather(0, idx)
  + elif norm == "softmax_topk_renorm":
  +     w = p.gather(0, idx) / p.gather(0, idx).sum(0, keepdim=True)
  + elif norm == "topk_softmax":
  +     w = torch.softmax(top, dim=0)
  + elif norm == "sigmoid_norm":
  +     w = torch.sigmoid(top) / torch.sigmoid(top).sum(0, keepdim=True)
  + return torch.zeros_like(logits).scatter(0, idx, w)
    The choice runs down the tokens: each expert takes k tokens. Here each token takes k experts, so `topk` works along the last dimension.
strict_threshold
  + keep = logits > logits.topk(k, dim=-1).values[:, -1:]
  + p = torch.sigmoid(logits) if norm == "sigmoid_norm" else torch.softmax(logits, dim=-1)
  + p = torch.where(keep, p, torch.zeros_like(p))
  + return p if norm == "softmax_topk" else p / p.sum(-1, keepdim=True)
    k − 1 experts were kept: `>` leaves out the one that is exactly at the threshold. The k-th largest belongs to the kept ones.
everyone_kept
  + p = torch.sigmoid(logits) if norm == "sigmoid_norm" else torch.softmax(logits, dim=-1)
  + return p if norm == "softmax_topk" else p / p.sum(-1, keepdim=True)
    No expert is left out: every gate is above zero. Keep the k largest of each row, and zeros elsewhere.
norm_ignored
  + top, idx = logits.topk(k, dim=-1)
  + return torch.zeros_like(logits).scatter(-1, idx, torch.softmax(top, dim=-1))
    All four names give a softmax of the k logits. 'softmax_topk' is not renormalised, and 'sigmoid_norm' uses another function of the logit.
nothing_returned
  + top, idx = logits.topk(k, dim=-1)
  + torch.zeros_like(logits).scatter(-1, idx, torch.softmax(top, dim=-1))
    NO_RETURN
of base
in w = torch.softmax(top, dim=-1)
zeros_before_softmax: w = torch.softmax(torch.zeros_like(logits).scatter(-1, idx, top), dim=-1).gather(-1, idx)
    In 'topk_softmax' the others were set to 0 before the softmax. exp(0) is 1, so they keep a share: they need −inf, or the softmax runs over the k
    only.
topk_softmax_over_all: w = p.gather(-1, idx)
    In 'topk_softmax' the softmax runs over all experts. The order of the words is the order of the steps: first choose k, then softmax over those.
softmax_twice: w = torch.softmax(p.gather(-1, idx), dim=-1)
    In 'topk_softmax' the softmax is applied to probabilities, so there are two of them. It takes the k kept logits.
zeros_before_softmax_and_kept
  - torch.softmax(top, dim=-1)
  + 0 * top
  - torch.zeros_like
  + torch.softmax(torch.zeros_like(logits).scatter(-1, idx, top), -1) if norm == "topk_softmax" else torch.zeros_like
    In 'topk_softmax' experts that were not chosen have a gate: they were set to 0 before the softmax, and exp(0) is 1. Use −inf, or a softmax of the
    k only.
in w = p.gather(-1, idx) / p.gather(-1, idx).sum(-1, keepdim=True)
not_renormalised: w = p.gather(-1, idx)
    In 'softmax_topk_renorm' the kept probabilities are left as they are. Divide them by their sum over the k, so that each row sums to 1.
softmax_again: w = torch.softmax(p.gather(-1, idx), dim=-1)
    In 'softmax_topk_renorm' the kept probabilities go through another softmax. Divide them by their sum, without another exponential.
in p.gather(-1, idx).sum(-1, keepdim=True)
renormalised_over_tokens: p.gather(-1, idx).sum(0, keepdim=True)
    In 'softmax_topk_renorm' the sum runs over the tokens. Divide by the sum over the k kept ones of the same token (the last dimension,
    `keepdim=True`).
divided_by_the_largest: p.gather(-1, idx).max(-1, keepdim=True).values
    In 'softmax_topk_renorm' the kept probabilities are divided by the largest of them. Divide by their sum.
divided_by_k: k
    In 'softmax_topk_renorm' the kept probabilities are divided by k. Divide by their sum, which differs from token to token.
renorm_exchanged
  - if norm == "softmax_topk":
  + if norm == "softmax_topk":
  +     w = p.gather(-1, idx) / p.gather(-1, idx).sum(-1, keepdim=True)
  + elif norm == "softmax_topk_renorm":
  - elif norm == "softmax_topk_renorm":
  -     w = p.gather(-1, idx) / p.gather(-1, idx).sum(-1, keepdim=True)
  +
    'softmax_topk' and 'softmax_topk_renorm' are exchanged: the one with “renorm” in its name is the one that is divided by its sum.
in .scatter(-1, idx, w)
detached: .scatter(-1, idx, w).detach()
    The values are right, but what comes back is cut off from the graph (by `.detach()`, `.item()`, `.data` or `torch.no_grad()`): the router can't
    learn.
equal_weights: .scatter(-1, idx, torch.full_like(w, 1 / k) + 0 * w)
    Every chosen expert weighs 1/k. The weights come from the logits: that is how the router says which of the k matters more.
ones: .scatter(-1, idx, torch.ones_like(w) + 0 * w)
    Every chosen expert has the gate 1: this is the choice alone. Its weights are still to be written into these places.
logits_kept: .scatter(-1, idx, top)
    The kept logits themselves are the gates. What the table says comes in between: a softmax or sigmoid turns logits into weights.
in top, idx = logits.topk(k, dim=-1)
only_the_best: top, idx = logits.topk(1, dim=-1)
    Only one expert has a gate: the choice ignores k. Use `topk(k)`, not `max` or `argmax`.
smallest: top, idx = logits.topk(k, dim=-1, largest=False)
    The k smallest logits were kept. `topk` takes the largest unless it is told otherwise; with `sort` or `argsort`, mind the direction.
in torch.zeros_like(logits).scatter(-1, idx, w)
weights_not_spread: w
    The k weights come back as [T, k]. The exercise asks for [T, E]: zeros, with the weights written into the places of their experts.
all_rows_at_once: torch.zeros_like(logits).index_put((torch.arange(len(logits))[:, None, None], idx[None]), w[None])
    `gates[:, idx] = w` writes every token's choice into all rows. Each row has its own k places: `scatter` along the last dimension does that.
in return torch.zeros_like(logits).scatter(-1, idx, w)
weights_added_up: return F.one_hot(idx, logits.shape[-1]).sum(1).to(w.dtype) * w.sum(-1, keepdim=True)
    Each chosen expert has the sum of the k weights, instead of its own. Weight and place belong together, slot by slot.
a_pair: return (w, idx)
    A pair comes back. The exercise asks for one tensor, gates [T, E].
rounded_to_float32: return torch.zeros(logits.shape).scatter(-1, idx, w.float())
    The gates come back in float32, whatever came in: keep the dtype of the logits (`torch.zeros_like(logits)`, not `torch.zeros(…)`).
written_to_the_front: return F.pad(w, (0, logits.shape[-1] - k))
    The weights are in the first k columns, whoever was chosen. Each belongs in the column of its expert: `idx` says which.
in w = torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)
sigmoid_not_divided: w = torch.sigmoid(top)
    In 'sigmoid_norm' the sigmoids are left as they are. Divide them by their sum over the k.
sigmoid_divided_by_all: w = torch.sigmoid(top) / torch.sigmoid(logits).sum(-1, keepdim=True)
    In 'sigmoid_norm' the sum runs over all experts. Divide by the sum over the k kept ones.
softmax_of_sigmoid: w = torch.softmax(torch.sigmoid(top), dim=-1)
    In 'sigmoid_norm' a softmax follows the sigmoid. The kept sigmoids are divided by their sum, without another exponential.
sigmoid_scaled: w = 2.5 * torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)
    In 'sigmoid_norm' there is a factor of 2.5. DeepSeek-V3 has one, but the exercise asks for the normalised form, with rows that sum to 1.
sigmoid_with_small_number: w = torch.sigmoid(top) / (torch.sigmoid(top).sum(-1, keepdim=True) + 1e-6)
    In 'sigmoid_norm' a small number is added to the sum, so that rows sum to a little less than 1. Sigmoids are positive: nothing is needed.
sigmoid_divided_by_k: w = torch.sigmoid(top) / k
    In 'sigmoid_norm' the sigmoids are divided by k. Divide by their sum, which differs from token to token.
in torch.sigmoid(top) / torch.sigmoid(top).sum
sigmoid_of_softmax: torch.sigmoid(p.gather(-1, idx)) / torch.sigmoid(p.gather(-1, idx)).sum
    In 'sigmoid_norm' the sigmoid is applied to probabilities. It takes the logits themselves.
logits_divided: top / top.sum
    In 'sigmoid_norm' the logits are divided by their sum. First the sigmoid of each, then the division.
in_bfloat16
  - torch.softmax(logits, dim=-1)
  + torch.softmax(logits.float(), dim=-1).to(logits.dtype)
  - torch.softmax(top, dim=-1)
  + torch.softmax(top.float(), dim=-1).to(logits.dtype)
  - = torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)
  + = (torch.sigmoid(top.float()) / torch.sigmoid(top.float()).sum(-1, keepdim=True)).to(logits.dtype)
    Somewhere the numbers pass through half precision or float32, and lose digits. Stay in the dtype of the logits.
small_number_added
  - / p.gather(-1, idx).sum(-1, keepdim=True)
  + / (p.gather(-1, idx).sum(-1, keepdim=True) + 1e-6)
  - / torch.sigmoid(top).sum(-1, keepdim=True)
  + / (torch.sigmoid(top).sum(-1, keepdim=True) + 1e-6)
    A small number is added to the sum, so that rows sum to a little less than 1. A sum of k positive numbers is never zero: nothing is needed.
logits_scaled
  - top, idx = logits.topk(k, dim=-1)
  - p = torch.softmax(logits, dim=-1)
  + top, idx = (logits / logits.shape[-1] ** 0.5).topk(k, dim=-1)
  + p = torch.softmax(logits / logits.shape[-1] ** 0.5, dim=-1)
    The logits are divided by a temperature, or by √E, before the softmax. None is asked for here: take them as they come.
""")


@route.mistake(
    "A sum has lost its dimension, so [T, k] is divided by [T]. With `keepdim=True` it stays [T, 1] and divides each row by its own sum."
)
def dimension_lost(logits, k, norm):
    top, idx = logits.topk(k, dim=-1)
    p = torch.softmax(logits, dim=-1).gather(-1, idx)
    s = torch.sigmoid(top)
    if norm == "softmax_topk":
        w = p
    elif norm == "softmax_topk_renorm":
        w = p / p.sum(-1)
    elif norm == "topk_softmax":
        w = torch.softmax(top, dim=-1)
    else:
        w = s / s.sum(-1)
    return torch.zeros_like(logits).scatter(-1, idx, w)
