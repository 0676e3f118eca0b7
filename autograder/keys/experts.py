"""The marking guide of notebook 08, Mixture of Experts I: route and dispatch.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: torch, F and nn.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import experts as exercises

# route

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


route.slip(
    "softmax_over_tokens",
    "A softmax runs down the tokens (`dim=0`). Each token has a choice of its own: the experts are the last dimension.",
    replace={".softmax(logits, dim=-1)": ".softmax(logits, dim=0)", ".softmax(top, dim=-1)": ".softmax(top, dim=0)"},
)
route.slip(
    "softmax_of_all_over_tokens",
    replace={".softmax(logits, dim=-1)": ".softmax(logits, dim=0)"},
    form_of="softmax_over_tokens",
)
route.slip(
    "tokens_of_each_expert",
    "The k largest are taken of each expert (`dim=0`), not of each token. A token then has as many experts as happened to choose it: "
    "the experts are the last dimension.",
    of=with_a_mask,
    replace={
        "mask = …": (
            "idx = logits.topk(min(k, logits.shape[0]), dim=0).indices\n"
            "mask = torch.zeros_like(logits).scatter(0, idx, 1.0)\n"
            'if norm == "softmax_topk":\n'
            "    return torch.softmax(logits, -1) * mask\n"
            'if norm == "softmax_topk_renorm":\n'
            "    gates = torch.softmax(logits, -1) * mask\n"
            "    return gates / gates.sum(-1, keepdim=True)"
        ),
        'if norm == "softmax_topk":\n    return p\nreturn …': "",
        '.softmax(logits.masked_fill(~mask, float("-inf")), dim=-1)': '.softmax(logits.masked_fill(mask == 0, float("-inf")), -1)',
        'p = torch.sigmoid(logits) if norm == "sigmoid_norm" else logits.softmax(-1)': "gates = torch.sigmoid(logits) * mask",
        "p = p * mask": "return gates / gates.sum(-1, keepdim=True)",
    },
)
route.slip(
    "zeros_before_softmax",
    "In 'topk_softmax' the others were set to 0 before the softmax. exp(0) is 1, so they keep a share: they need −inf, or the softmax runs over the k only.",
    replace={
        ".softmax(top, dim=-1)": ".softmax(torch.zeros_like(logits).scatter(-1, idx, top), dim=-1).gather(-1, idx)"
    },
)
route.slip(
    "zeros_before_softmax_and_kept",
    "In 'topk_softmax' experts that were not chosen have a gate: they were set to 0 before the softmax, and exp(0) is 1. Use −inf, or a softmax of the k only.",
    replace={
        "torch.softmax(top, dim=-1)": "0 * top",
        "torch.zeros_like": (
            'torch.softmax(torch.zeros_like(logits).scatter(-1, idx, top), -1) if norm == "topk_softmax" else '
            "torch.zeros_like"
        ),
    },
)
route.slip(
    "not_renormalised",
    "In 'softmax_topk_renorm' the kept probabilities are left as they are. Divide them by their sum over the k, so that each row sums to 1.",
    replace={" / p.gather(-1, idx).sum(-1, keepdim=True)": ""},
)
route.slip(
    "renormalised_over_tokens",
    "In 'softmax_topk_renorm' the sum runs over the tokens. Divide by the sum over the k kept ones of the same token (the last dimension, `keepdim=True`).",
    replace={"p.gather(-1, idx).sum(-1, keepdim=True)": "p.gather(-1, idx).sum(0, keepdim=True)"},
)
route.slip(
    "always_renormalised",
    "'softmax_topk' is renormalised. There the kept probabilities stay as the softmax over all experts gave them, and a row sums to less than 1.",
    replace={
        'if norm == "softmax_topk":\n    w = …': (
            'if norm == "softmax_topk":\n    w = p.gather(-1, idx) / p.gather(-1, idx).sum(-1, keepdim=True)'
        )
    },
)
route.slip(
    "renorm_exchanged",
    "'softmax_topk' and 'softmax_topk_renorm' are exchanged: the one with “renorm” in its name is the one that is divided by its sum.",
    of="always_renormalised",
    replace={
        'elif norm == "softmax_topk_renorm":\n    w = …': (
            'elif norm == "softmax_topk_renorm":\n    w = p.gather(-1, idx)'
        )
    },
)
route.slip(
    "detached",
    "The values are right, but what comes back is cut off from the graph (by `.detach()`, `.item()`, `.data` or `torch.no_grad()`): the router can't learn.",
    replace={".scatter(-1, idx, w)": ".scatter(-1, idx, w).detach()"},
)
route.slip(
    "only_the_best",
    "Only one expert has a gate: the choice ignores k. Use `topk(k)`, not `max` or `argmax`.",
    replace={".topk(k, dim=-1)": ".topk(1, dim=-1)"},
)
route.slip(
    "weights_not_spread",
    "The k weights come back as [T, k]. The exercise asks for [T, E]: zeros, with the weights written into the places of their experts.",
    replace={"return …": "return w"},
)
route.slip(
    "weights_added_up",
    "Each chosen expert has the sum of the k weights, instead of its own. Weight and place belong together, slot by slot.",
    replace={"return …": "return F.one_hot(idx, logits.shape[-1]).sum(1).to(w.dtype) * w.sum(-1, keepdim=True)"},
)
route.slip(
    "smallest",
    "The k smallest logits were kept. `topk` takes the largest unless it is told otherwise; with `sort` or `argsort`, mind the direction.",
    replace={".topk(k, dim=-1)": ".topk(k, dim=-1, largest=False)"},
)
route.slip(
    "sigmoid_not_divided",
    "In 'sigmoid_norm' the sigmoids are left as they are. Divide them by their sum over the k.",
    replace={" / torch.sigmoid(top).sum(-1, keepdim=True)": ""},
)
route.slip(
    "sigmoid_divided_by_all",
    "In 'sigmoid_norm' the sum runs over all experts. Divide by the sum over the k kept ones.",
    replace={".sigmoid(top).sum": ".sigmoid(logits).sum"},
)
route.slip(
    "softmax_of_sigmoid",
    "In 'sigmoid_norm' a softmax follows the sigmoid. The kept sigmoids are divided by their sum, without another exponential.",
    replace={".sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)": ".softmax(torch.sigmoid(top), dim=-1)"},
)
route.slip(
    "sigmoid_of_softmax",
    "In 'sigmoid_norm' the sigmoid is applied to probabilities. It takes the logits themselves.",
    replace={".sigmoid(top) / torch.sigmoid(top)": ".sigmoid(p.gather(-1, idx)) / torch.sigmoid(p.gather(-1, idx))"},
)
route.slip(
    "sigmoid_scaled",
    "In 'sigmoid_norm' there is a factor of 2.5. DeepSeek-V3 has one, but the exercise asks for the normalised form, with rows that sum to 1.",
    replace={
        "torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)": "2.5 * torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)"
    },
)
route.slip(
    "topk_softmax_over_all",
    "In 'topk_softmax' the softmax runs over all experts. The order of the words is the order of the steps: first choose k, then softmax over those.",
    replace={"torch.softmax(top, dim=-1)": "p.gather(-1, idx)"},
)
route.slip(
    "softmax_twice",
    "In 'topk_softmax' the softmax is applied to probabilities, so there are two of them. It takes the k kept logits.",
    replace={".softmax(top, dim=-1)": ".softmax(p.gather(-1, idx), dim=-1)"},
)
route.slip(
    "experts_choose",
    "The choice runs down the tokens: each expert takes k tokens. Here each token takes k experts, so `topk` works along the last dimension.",
    replace={
        ".topk(k, dim=-1)": ".topk(k, dim=0)",
        'if norm == "softmax_topk":\n    w = …': 'if norm == "softmax_topk":\n    w = p.gather(0, idx)',
        "p.gather(-1, idx) / p.gather(-1, idx).sum(-1, keepdim=True)": "p.gather(0, idx) / p.gather(0, idx).sum(0, keepdim=True)",
        ".softmax(top, dim=-1)": ".softmax(top, dim=0)",
        ".sigmoid(top).sum(-1, keepdim=True)": ".sigmoid(top).sum(0, keepdim=True)",
        ".scatter(-1, idx, w)": ".scatter(0, idx, w)",
    },
)
route.slip(
    "equal_weights",
    "Every chosen expert weighs 1/k. The weights come from the logits: that is how the router says which of the k matters more.",
    replace={".scatter(-1, idx, w)": ".scatter(-1, idx, torch.full_like(w, 1 / k) + 0 * w)"},
)
route.slip(
    "ones",
    "Every chosen expert has the gate 1: this is the choice alone. Its weights are still to be written into these places.",
    replace={".scatter(-1, idx, w)": ".scatter(-1, idx, torch.ones_like(w) + 0 * w)"},
)
route.slip(
    "a_pair",
    "A pair comes back. The exercise asks for one tensor, gates [T, E].",
    replace={"return …": "return (w, idx)"},
)
route.slip(
    "rounded_to_float32",
    "The gates come back in float32, whatever came in: keep the dtype of the logits (`torch.zeros_like(logits)`, not `torch.zeros(…)`).",
    replace={".zeros_like(logits).scatter(-1, idx, w)": ".zeros(logits.shape).scatter(-1, idx, w.float())"},
)
route.slip(
    "in_bfloat16",
    "Somewhere the numbers pass through half precision or float32, and lose digits. Stay in the dtype of the logits.",
    replace={
        ".softmax(logits, dim=-1)": ".softmax(logits.float(), dim=-1).to(logits.dtype)",
        ".softmax(top, dim=-1)": ".softmax(top.float(), dim=-1).to(logits.dtype)",
        "torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)": (
            "(torch.sigmoid(top.float()) / torch.sigmoid(top.float()).sum(-1, keepdim=True)).to(logits.dtype)"
        ),
    },
)
route.slip(
    "other_names",
    "One of the four names is compared with another word, so nothing comes back for it: 'softmax_topk', 'softmax_topk_renorm', 'topk_softmax', 'sigmoid_norm'.",
    replace={'"sigmoid_norm"': '"sigmoid"', "torch.zeros_like": 'None if norm == "sigmoid_norm" else torch.zeros_like'},
)
route.slip(
    "small_number_added",
    "A small number is added to the sum, so that rows sum to a little less than 1. A sum of k positive numbers is never zero: nothing is needed.",
    replace={
        "p.gather(-1, idx).sum(-1, keepdim=True)": "(p.gather(-1, idx).sum(-1, keepdim=True) + 1e-6)",
        "torch.sigmoid(top).sum(-1, keepdim=True)": "(torch.sigmoid(top).sum(-1, keepdim=True) + 1e-6)",
    },
)
route.slip(
    "sigmoid_with_small_number",
    "In 'sigmoid_norm' a small number is added to the sum, so that rows sum to a little less than 1. Sigmoids are positive: nothing is needed.",
    replace={"torch.sigmoid(top).sum(-1, keepdim=True)": "(torch.sigmoid(top).sum(-1, keepdim=True) + 1e-6)"},
)
route.slip(
    "zeros_before_sigmoid",
    "In 'sigmoid_norm' the others were set to 0 before the sigmoid. σ(0) is 0.5, so they keep a share: take the sigmoid of the k kept logits only.",
    replace={
        "torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)": "0 * top",
        "torch.zeros_like": (
            "F.normalize(torch.sigmoid(torch.zeros_like(logits).scatter(-1, idx, top)), p=1) if norm == "
            '"sigmoid_norm" else torch.zeros_like'
        ),
    },
)
route.slip(
    "divided_by_the_largest",
    "In 'softmax_topk_renorm' the kept probabilities are divided by the largest of them. Divide by their sum.",
    replace={"p.gather(-1, idx).sum(-1, keepdim=True)": "p.gather(-1, idx).max(-1, keepdim=True).values"},
)
route.slip(
    "divided_by_k",
    "In 'softmax_topk_renorm' the kept probabilities are divided by k. Divide by their sum, which differs from token to token.",
    replace={"p.gather(-1, idx).sum(-1, keepdim=True)": "k"},
)
route.slip(
    "sigmoid_divided_by_k",
    "In 'sigmoid_norm' the sigmoids are divided by k. Divide by their sum, which differs from token to token.",
    replace={"torch.sigmoid(top).sum(-1, keepdim=True)": "k"},
)
route.slip(
    "softmax_again",
    "In 'softmax_topk_renorm' the kept probabilities go through another softmax. Divide them by their sum, without another exponential.",
    replace={"p.gather(-1, idx) / p.gather(-1, idx).sum(-1, keepdim=True)": "torch.softmax(p.gather(-1, idx), dim=-1)"},
)
route.slip(
    "exponentials_not_divided",
    "In 'softmax_topk' there are exponentials that nothing divides, so gates can be above 1. A softmax divides by the sum over all experts.",
    replace={'if norm == "softmax_topk":\n    w = …': 'if norm == "softmax_topk":\n    w = top.exp()'},
)
route.slip(
    "logits_divided",
    "In 'sigmoid_norm' the logits are divided by their sum. First the sigmoid of each, then the division.",
    replace={"torch.sigmoid(top) / torch.sigmoid(top).sum(-1, keepdim=True)": "top / top.sum(-1, keepdim=True)"},
)
route.slip(
    "logits_kept",
    "The kept logits themselves are the gates. What the table says comes in between: a softmax or sigmoid turns logits into weights.",
    replace={".scatter(-1, idx, w)": ".scatter(-1, idx, top)"},
)
route.slip(
    "written_to_the_front",
    "The weights are in the first k columns, whoever was chosen. Each belongs in the column of its expert: `idx` says which.",
    replace={"return …": "return F.pad(w, (0, logits.shape[-1] - k))"},
)
route.slip(
    "all_rows_at_once",
    "`gates[:, idx] = w` writes every token's choice into all rows. Each row has its own k places: `scatter` along the last dimension does that.",
    replace={".scatter(-1, idx, w)": ".index_put((torch.arange(len(logits))[:, None, None], idx[None]), w[None])"},
)
route.slip(
    "logits_scaled",
    "The logits are divided by a temperature, or by √E, before the softmax. None is asked for here: take them as they come.",
    replace={
        "logits.topk": "(logits / logits.shape[-1] ** 0.5).topk",
        ".softmax(logits, dim=-1)": ".softmax(logits / logits.shape[-1] ** 0.5, dim=-1)",
    },
)


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


@route.mistake(
    "k − 1 experts were kept: `>` leaves out the one that is exactly at the threshold. The k-th largest belongs to the kept ones."
)
def strict_threshold(logits, k, norm):
    keep = logits > logits.topk(k, dim=-1).values[:, -1:]
    p = torch.sigmoid(logits) if norm == "sigmoid_norm" else torch.softmax(logits, dim=-1)
    p = torch.where(keep, p, torch.zeros_like(p))
    return p if norm == "softmax_topk" else p / p.sum(-1, keepdim=True)


@route.mistake("No expert is left out: every gate is above zero. Keep the k largest of each row, and zeros elsewhere.")
def everyone_kept(logits, k, norm):
    p = torch.sigmoid(logits) if norm == "sigmoid_norm" else torch.softmax(logits, dim=-1)
    return p if norm == "softmax_topk" else p / p.sum(-1, keepdim=True)


@route.mistake(
    "All four names give a softmax of the k logits. 'softmax_topk' is not renormalised, and 'sigmoid_norm' uses another function of the logit."
)
def norm_ignored(logits, k, norm):
    top, idx = logits.topk(k, dim=-1)
    return torch.zeros_like(logits).scatter(-1, idx, torch.softmax(top, dim=-1))


@route.mistake(NO_RETURN)
def nothing_returned(logits, k, norm):
    top, idx = logits.topk(k, dim=-1)
    torch.zeros_like(logits).scatter(-1, idx, torch.softmax(top, dim=-1))


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


# moe_reference

moe_reference = Key(exercises.moe_reference)


@moe_reference.truth
def token_and_expert(x, gates, experts):
    """Token by token and expert by expert, each as a batch of one."""
    rows = []
    for t in range(x.shape[0]):
        row = torch.zeros(1, x.shape[1], dtype=x.dtype)
        for e in range(gates.shape[1]):
            row = row + gates[t, e] * experts[e](x[t : t + 1])
        rows.append(row)
    return torch.cat(rows)


@moe_reference.right("a loop over the experts")
def over_experts(x, gates, experts):
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        y = y + gates[:, e].unsqueeze(-1) * expert(x)
    return y


@moe_reference.right("stacked, and einsum")
def by_einsum(x, gates, experts):
    every = torch.stack([expert(x) for expert in experts])
    return torch.einsum("te,etd->td", gates, every)


@moe_reference.right("stacked in the middle, and a batched matrix product")
def by_bmm(x, gates, experts):
    every = torch.stack([expert(x) for expert in experts], dim=1)
    return (gates.unsqueeze(1) @ every).squeeze(1)


@moe_reference.right("sum of a generator, gates transposed")
def by_sum(x, gates, experts):
    return sum(g[:, None] * expert(x) for g, expert in zip(gates.T, experts, strict=True))


@moe_reference.right("in place on fresh zeros")
def in_place(x, gates, experts):
    y = torch.zeros(x.shape, dtype=x.dtype)
    for e in range(gates.size(1)):
        y += gates[:, e : e + 1] * experts[e](x)
    return y


@moe_reference.mistake(
    "The outputs are averaged over the experts. The gates are the weights already: add up, and do not divide by E."
)
def averaged(x, gates, experts):
    return torch.stack([gates[:, e, None] * expert(x) for e, expert in enumerate(experts)]).mean(0)


@moe_reference.mistake("The gates enter twice, as a square. One factor of gates[t, e] for each expert's output.")
def squared(x, gates, experts):
    return sum(gates[:, e, None] ** 2 * expert(x) for e, expert in enumerate(experts))


@moe_reference.mistake(
    "The gate is multiplied onto the expert's input. An expert is not linear: weight what comes out of it."
)
def on_the_input(x, gates, experts):
    return sum(expert(gates[:, e, None] * x) for e, expert in enumerate(experts))


@moe_reference.mistake("The gate is multiplied onto the input and onto the output. Only the output is weighted.")
def on_both_sides(x, gates, experts):
    return sum(gates[:, e, None] * expert(gates[:, e, None] * x) for e, expert in enumerate(experts))


moe_reference.slip(
    "row_for_column",
    "Token and expert are exchanged: `gates[e]` is the row of token e. The weights of expert e are the column `gates[:, e]`.",
    of=over_experts,
    replace={":, e": "e"},
)


@moe_reference.mistake(
    "A column of gates, [T], meets a tensor [T, d_model]: the shapes do not fit. `gates[:, e, None]` or `unsqueeze(-1)` makes it [T, 1]."
)
def column_not_unsqueezed(x, gates, experts):
    return sum(gates[:, e] * expert(x) for e, expert in enumerate(experts))


@moe_reference.mistake(
    "Where a gate is zero, the expert is left out. The values are the same, but this gate gets no gradient: in the reference every expert counts."
)
def zeros_skipped(x, gates, experts):
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        rows = gates[:, e] != 0
        y = y.index_put((torch.where(rows)[0],), gates[rows, e, None] * expert(x[rows]), accumulate=True)
    return y


@moe_reference.mistake("Only the expert with the largest gate counts. All of them do, each with its own gate.")
def only_the_largest(x, gates, experts):
    best = gates.argmax(1)
    rows = [gates[t, best[t]] * experts[best[t]](x[t : t + 1]) for t in range(len(x))]
    return torch.cat(rows)


@moe_reference.mistake("The gates are divided by their sum. Use them as given; a row need not sum to one.")
def normalised(x, gates, experts):
    gates = gates / gates.sum(1, keepdim=True)
    return sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))


@moe_reference.mistake("A softmax is applied to the gates. They are weights already, not logits: use them as given.")
def softmaxed(x, gates, experts):
    gates = torch.softmax(gates, dim=-1)
    return sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))


@moe_reference.mistake("Only the last expert is left: `=` in the loop overwrites what the earlier ones gave. Add.")
def last_expert_only(x, gates, experts):
    for e, expert in enumerate(experts):
        y = gates[:, e, None] * expert(x)
    return y


@moe_reference.mistake("Only the first expert is there: a `return` inside the loop ends it after one round.")
def first_expert_only(x, gates, experts):
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        y = y + gates[:, e, None] * expert(x)
        return y


@moe_reference.mistake(
    "Every gate weights the same expert, the first one: the loop's index is not used for the experts."
)
def always_expert_0(x, gates, experts):
    return sum(gates[:, e, None] * experts[0](x) for e in range(gates.shape[1]))


@moe_reference.mistake("The outputs are added without their gates. Each is multiplied by gates[t, e] first.")
def without_gates(x, gates, experts):
    return sum(expert(x) for expert in experts)


@moe_reference.mistake("x is added to the result. The residual connection belongs to the block around this layer.")
def with_residual(x, gates, experts):
    return x + sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))


@moe_reference.form(with_residual)
def starts_at_x(x, gates, experts):
    y = x.clone()
    for e, expert in enumerate(experts):
        y += gates[:, e, None] * expert(x)
    return y


@moe_reference.mistake("The result is summed over the tokens too. Each token keeps a row of its own: [T, d_model].")
def tokens_summed(x, gates, experts):
    return torch.einsum("te,etd->d", gates, torch.stack([expert(x) for expert in experts]))


@moe_reference.mistake("The experts' outputs are not added up: the last step is a sum over the experts.")
def not_summed(x, gates, experts):
    return torch.stack([gates[:, e, None] * expert(x) for e, expert in enumerate(experts)])


@moe_reference.mistake(
    "The gates are cut off from the graph (`.detach()`, `.item()` or `float(…)`): the router could not learn from this output."
)
def gates_detached(x, gates, experts):
    return sum(gates[:, e, None].detach() * expert(x) for e, expert in enumerate(experts))


@moe_reference.mistake(
    "The values are right, but what comes back is cut off from the graph (by `.detach()`, `.data` or `torch.no_grad()`): nothing could be trained."
)
def reference_detached(x, gates, experts):
    with torch.no_grad():
        return sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))


@moe_reference.mistake(
    "x itself is changed: `+=` on x, or on a name for x, writes into the caller's tensor. Start with zeros."
)
def x_changed(x, gates, experts):
    outputs = [gates[:, e, None] * expert(x) for e, expert in enumerate(experts)]
    x.zero_()
    for output in outputs:
        x += output
    return x


@moe_reference.mistake(
    "Each expert is given what the one before it made. They work side by side: all of them take x itself."
)
def one_after_the_other(x, gates, experts):
    for e, expert in enumerate(experts):
        x = gates[:, e, None] * expert(x)
    return x


moe_reference.slip(
    "reference_wrong_dtype",
    "The result is float32, whatever x is: `torch.zeros(…)` has a dtype of its own, and `+=` keeps it. `torch.zeros_like(x)` takes the dtype of x.",
    of=starts_at_x,
    replace={"x.clone()": "torch.zeros(x.shape)"},
)


@moe_reference.mistake("Only the two largest gates of a token count. All of them do, each with its own expert.")
def the_two_largest(x, gates, experts):
    w, idx = gates.topk(min(2, len(experts)), dim=-1)
    return sum(torch.where(idx == e, w, 0).sum(1, keepdim=True) * expert(x) for e, expert in enumerate(experts))


@moe_reference.mistake(
    "The output of the expert with the largest gate comes back, without a weight. All experts take part, each with its own gate."
)
def the_best_unweighted(x, gates, experts):
    outputs = torch.stack([expert(x) for expert in experts], dim=1)
    return outputs[torch.arange(len(x)), gates.argmax(-1)]


@moe_reference.mistake(
    "The experts' outputs are side by side, [T, E, d_model]: the last step, a sum over the experts (`dim=1`), is missing."
)
def side_by_side(x, gates, experts):
    return torch.stack([gates[:, e, None] * expert(x) for e, expert in enumerate(experts)], dim=1)


@moe_reference.mistake(
    "The sum runs over d_model, and [T, E] comes back. Sum over the experts: one row of d_model numbers for each token."
)
def summed_over_the_features(x, gates, experts):
    return (gates[:, :, None] * torch.stack([expert(x) for expert in experts], dim=1)).sum(-1)


@moe_reference.mistake(
    "The values are right, but the expert's inside is used (`linear1`, `linear2`). An expert may be any function: call it, `expert(x)`."
)
def looked_inside(x, gates, experts):
    return sum(gates[:, e, None] * f.linear2(torch.relu(f.linear1(x))) for e, f in enumerate(experts))


@moe_reference.mistake(NO_RETURN)
def reference_not_returned(x, gates, experts):
    sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))


# moe_loop

moe_loop = Key(exercises.moe_loop)


@moe_loop.truth
def one_token_at_a_time(x, gates, experts):
    """Token by token: each chosen expert is called with a batch of one."""
    d, E = x.shape[-1], gates.shape[-1]
    tokens, weights = x.reshape(-1, d), gates.reshape(-1, E)
    rows = []
    for t in range(len(tokens)):
        row = torch.zeros(1, d, dtype=x.dtype)
        for e in range(E):
            if float(weights[t, e]) != 0:
                row = row + weights[t, e] * experts[e](tokens[t : t + 1])
        rows.append(row)
    return torch.cat(rows).reshape(x.shape)


@moe_loop.right("nonzero and index_put with accumulate")
def by_index_put(x, gates, experts):
    flat, g = x.flatten(0, -2), gates.flatten(0, -2)
    y = torch.zeros_like(flat)
    for e, expert in enumerate(experts):
        rows = g[:, e].nonzero().squeeze(-1)
        if len(rows) == 0:
            continue
        y = y.index_put((rows,), g[rows, e].unsqueeze(-1) * expert(flat[rows]), accumulate=True)
    return y.view_as(x)


@moe_loop.right("a boolean mask, on any leading dimensions, in place on fresh zeros")
def by_mask(x, gates, experts):
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        mask = gates[..., e] > 0
        y[mask] += gates[..., e][mask][:, None] * expert(x[mask])
    return y


@moe_loop.right("the calls of each expert put together, then scatter_add")
def by_scatter_add(x, gates, experts):
    tokens = x.reshape(-1, x.shape[-1])
    weights = gates.reshape(-1, gates.shape[-1])
    who, parts = [], []
    for e in range(weights.shape[1]):
        (rows,) = torch.nonzero(weights[:, e], as_tuple=True)
        who.append(rows)
        parts.append(experts[e](tokens[rows]) * weights[rows, e : e + 1])
    index = torch.cat(who)[:, None].expand(-1, tokens.shape[1])
    return torch.zeros_like(tokens).scatter_add(0, index, torch.cat(parts)).reshape(x.shape)


@moe_loop.right("a matrix of zeros and ones for each expert: dispatch and combine as products")
def by_products(x, gates, experts):
    tokens, weights = x.reshape(-1, x.shape[-1]), gates.reshape(-1, gates.shape[-1])
    y = 0 * tokens
    for e, expert in enumerate(experts):
        pick = torch.eye(len(tokens), dtype=x.dtype)[weights[:, e] != 0]
        y = y + pick.T @ (pick @ weights[:, e : e + 1] * expert(pick @ tokens))
    return y.reshape(x.shape)


@moe_loop.right("the published way: slots outside, experts inside")
def slots_and_experts(x, gates, experts):
    tokens, weights = x.reshape(-1, x.shape[-1]), gates.reshape(-1, gates.shape[-1])
    w, idx = weights.topk(int((weights != 0).sum(-1).max()), dim=-1)
    y = torch.zeros_like(tokens)
    for s in range(w.shape[1]):
        for e, expert in enumerate(experts):
            mask = (idx[:, s] == e) & (w[:, s] != 0)
            if mask.any():
                y[mask] = y[mask] + w[mask, s].unsqueeze(1) * expert(tokens[mask])
    return y.reshape(x.shape)


@moe_loop.base
def plain_moe_loop(x, gates, experts):
    flat = x.reshape(-1, x.shape[-1])
    g = gates.reshape(-1, gates.shape[-1])
    y = torch.zeros_like(flat)
    for e, expert in enumerate(experts):
        rows = torch.where(g[:, e] != 0)[0]
        y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
    return y.reshape(x.shape)


moe_loop.slip(
    "overwritten",
    "A token's second expert overwrites the first: the rows are assigned with `=`. A token has several experts; add to its row.",
    replace={
        "y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))": "y[rows] = g[rows, e, None] * expert(flat[rows])"
    },
)
moe_loop.slip(
    "weight_of_expert_0",
    "All experts are weighted with the same column of the gates, the first. Expert e has the column e.",
    replace={"rows, e, None": "rows, 0, None"},
)
moe_loop.slip(
    "weight_summed",
    "Each output is weighted with the sum of the token's gates. Take the one entry that belongs to expert e.",
    replace={"g[rows, e, None]": "g[rows].sum(-1, keepdim=True)"},
)
moe_loop.slip(
    "weights_of_the_first_rows",
    "The weights are those of the first tokens, not of the ones that were picked: `gates[:n, e]` where `gates[rows, e]` is meant.",
    replace={"g[rows, e, None]": "g[: len(rows), e, None]"},
)
moe_loop.slip(
    "loop_input_scaled",
    "The gate is multiplied onto the expert's input. An expert is not linear: weight what comes out of it.",
    replace={"g[rows, e, None] * expert(flat[rows])": "expert(g[rows, e, None] * flat[rows])"},
)
moe_loop.slip(
    "loop_without_gates",
    "The outputs are added without their gates: every chosen expert counts fully. Multiply by gates[…, e].",
    replace={"g[rows, e, None] * expert(flat[rows])": "expert(flat[rows])"},
)
moe_loop.slip(
    "shape_lost",
    "The tokens of all sentences are in one long list, [N, d_model]. The result has the shape of x: fold it back.",
    replace={"y.reshape(x.shape)": "y"},
)
moe_loop.slip(
    "gates_not_flattened",
    "With more than one sentence it breaks: it works for x [T, d_model] only. Flatten all leading dimensions of x and of gates, and fold the result back.",
    replace={"flat = x.reshape(-1, x.shape[-1])\ng = …": "flat = x\ng = gates"},
)
moe_loop.slip(
    "viewed",
    "`view` can't flatten a tensor whose rows do not lie one after the other in memory. `reshape` copies where it has to.",
    replace={"x.reshape": "x.view", "gates.reshape": "gates.view"},
)
moe_loop.slip(
    "empty_expert",
    "It breaks when an expert has no token: there is nothing to stack. Skip such an expert, or call it with zero rows.",
    replace={
        "g[rows, e, None] * expert(flat[rows])": "torch.stack([g[t, e] * expert(flat[t]) for t in rows.tolist()])"
    },
)
moe_loop.slip(
    "stops_at_an_empty_expert",
    "When an expert has no token, the loop ends, and the experts after it are left out: `continue` goes on with the next, `break` does not.",
    replace={
        "rows = torch.where(g[:, e] != 0)[0]": "rows = torch.where(g[:, e] != 0)[0]\nif len(rows) == 0:\n    break"
    },
)
moe_loop.slip(
    "all_tokens_everywhere",
    "The values are right, but every expert is called on all tokens: that is the dense reference, and nothing is saved. Pick the rows first.",
    replace={"y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))": "y + g[:, e, None] * expert(flat)"},
)
moe_loop.slip(
    "all_tokens_then_picked",
    "The values are right, but the rows are picked after the call: every expert still computes all tokens. Pick the rows of x first.",
    replace={"expert(flat[rows])": "expert(flat)[rows]"},
    form_of="all_tokens_everywhere",
)
moe_loop.slip(
    "twice_called",
    "Each expert gets its tokens twice. Call it once, and keep what comes out.",
    replace={"rows = torch.where(g[:, e] != 0)[0]": "rows = torch.where(g[:, e] != 0)[0]\nexpert(flat[rows])"},
)
moe_loop.slip(
    "loop_x_changed",
    "x itself is changed: the result is written into the caller's tensor. Start with zeros of its shape.",
    replace={
        "torch.zeros_like(flat)": "flat",
        "y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))": (
            "out = g[rows, e, None] * expert(flat[rows])\ny[rows] = y[rows] + out"
        ),
    },
)
moe_loop.slip(
    "loop_with_residual",
    "The result starts as x, so x is added. Start with zeros; the residual connection belongs to the block around this layer.",
    replace={"torch.zeros_like(flat)": "flat.clone()"},
)
moe_loop.slip(
    "wrong_dtype",
    "The zeros are float32, whatever x is, and then the dtypes do not fit, or the result is float32. `torch.zeros_like(…)` takes the dtype of x.",
    replace={".zeros_like(flat)": ".zeros(flat.shape)"},
)
moe_loop.slip(
    "wrong_dtype_in_place",
    replace={
        ".zeros_like(flat)": ".zeros(flat.shape)",
        "y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))": "y[rows] += g[rows, e, None] * expert(flat[rows])",
    },
    form_of="wrong_dtype",
)
moe_loop.slip(
    "two_assumed",
    "Only the two largest gates of a token count. A token has as many experts as its row has gates above zero: two here, three there, or none.",
    replace={
        ".reshape(-1, gates.shape[-1])": (
            ".reshape(-1, gates.shape[-1]) * (gates >= gates.topk(2, -1).values[..., -1:]).reshape(-1, gates.shape[-1])"
        )
    },
)
moe_loop.slip(
    "row_of_the_gates",
    "Token and expert are exchanged: `gates[e]` is the row of token e. The tokens of expert e are in the column `gates[:, e]`.",
    replace={":, e": "e"},
)
moe_loop.slip(
    "rows_not_picked",
    "The expert is given all tokens, and then the sizes do not fit: n weights and n rows to add to, but T outputs. It is given `x[rows]`.",
    replace={
        "y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))": "y[rows] += g[rows, e, None] * expert(flat)"
    },
)
moe_loop.slip(
    "zeros_instead_of_rows",
    "The values are right, but the others' rows are multiplied by zero, not left out: every expert is still called on all T rows. Pick the rows: `x[rows]`.",
    replace={
        "rows = torch.where(g[:, e] != 0)[0]\ny = …": (
            "rows = (g[:, e] != 0).unsqueeze(-1)\ny = y + g[:, e, None] * expert(flat * rows) * rows"
        )
    },
)
moe_loop.slip(
    "passed_on_unchanged",
    "A token without an expert keeps its x. The sum over no experts is zero: start every row with zeros.",
    replace={"torch.zeros_like(flat)": "flat * (g.sum(-1, keepdim=True) == 0)"},
)
moe_loop.slip(
    "not_flattened",
    "This works for one dimension before the last only: with [B, T, d_model] a column `gates[:, e]` is no longer an expert's. Flatten x and gates first.",
    replace={
        "flat = x.reshape(-1, x.shape[-1])\ng = …": "flat = x\ng = gates",
        "y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))": "y[rows] += g[rows, e].unsqueeze(-1) * expert(flat[rows])",
        "y.reshape(x.shape)": "y",
    },
)
moe_loop.slip(
    "loop_not_unsqueezed",
    "The weights, [n], meet outputs [n, d_model]: the shapes do not fit. `[:, None]` or `unsqueeze(-1)` makes them [n, 1].",
    replace={", None": ""},
)
moe_loop.slip(
    "only_the_largest_gate",
    "Each token has one expert only, the one with the largest gate. All experts with a gate above zero take part.",
    replace={"g[:, e] != 0": "g.argmax(-1) == e"},
)
moe_loop.slip(
    "loop_gates_detached",
    "The gates are cut off from the graph (`.detach()`, `.item()`, `.tolist()`): the router could not learn from this output.",
    replace={"g[rows, e, None]": "g[rows, e, None].detach()"},
)
moe_loop.slip(
    "loop_detached",
    "The values are right, but what comes back is cut off from the graph (by `.detach()`, `.data` or `torch.no_grad()`): nothing could be trained.",
    replace={"y.reshape": "y.detach().reshape"},
)
moe_loop.slip(
    "loop_input_detached",
    "The tokens are cut off from the graph on their way into the experts: the layers before this one would get no gradient.",
    replace={"flat[rows]": "flat[rows].detach()"},
)
moe_loop.slip(
    "ends_after_one",
    "Only the first expert is there: a `return` inside the loop ends it after one round.",
    replace={
        "y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))": (
            "y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))\nreturn y.reshape(x.shape)"
        )
    },
)
moe_loop.slip(
    "always_the_first_expert",
    "All tokens go to expert 0: the loop chooses the rows of expert e, but calls the first one.",
    replace={" * expert": " * experts[0]"},
)
moe_loop.slip(
    "last_expert_left_out",
    "The last expert is never called: the loop ends one too early.",
    replace={".where(g[:, e] != 0)[0]": ".where(g[:, e] != 0)[0] if e < len(experts) - 1 else torch.arange(0)"},
)
moe_loop.slip(
    "gates_normalised",
    "The gates are divided by their sum. Use them as given; a row need not sum to one.",
    replace={
        ".reshape(-1, gates.shape[-1])": ".reshape(-1, gates.shape[-1]) / gates.reshape(-1, gates.shape[-1]).sum(-1, keepdim=True)"
    },
)
moe_loop.slip(
    "threshold",
    "Small gates are treated like zeros. Every expert whose gate is not zero is chosen, however small the gate is.",
    replace={" != 0": " > 0.5"},
)
moe_loop.slip("low_threshold", replace={" != 0": " > 0.1"}, form_of="threshold")
moe_loop.slip("loop_not_returned", NO_RETURN, replace={"y.reshape(x.shape)": "None"})
moe_loop.slip(
    "loop_shape_lost_in_the_middle",
    "The shape is right, but the tokens are in the wrong order: x was turned (`transpose`, `.T`) or flattened along another dimension than it was folded back.",
    replace={"x.reshape": "x.transpose(0, -2).reshape", "gates.reshape": "gates.transpose(0, -2).reshape"},
)


# moe_sorted

moe_sorted = Key(exercises.moe_sorted)


@moe_sorted.truth
def rows_of_each_expert(x, idx, w, experts):
    """A list of (token, slot) for each expert, made by two loops; one call for each list; the parts added token by token."""
    T, k = idx.shape
    sums = [torch.zeros(x.shape[1], dtype=x.dtype) for _ in range(T)]
    for e in range(len(experts)):
        mine = [(t, s) for t in range(T) for s in range(k) if int(idx[t, s]) == e]
        if not mine:
            continue
        outputs = experts[e](torch.stack([x[t] for t, _ in mine]))
        for n, (t, s) in enumerate(mine):
            sums[t] = sums[t] + w[t, s] * outputs[n]
    return torch.stack(sums)


@moe_sorted.right("sort, and index_add instead of the way back")
def with_index_add(x, idx, w, experts):
    k = idx.size(1)
    sorted_experts, order = idx.flatten().sort(stable=True)
    token = torch.div(order, k, rounding_mode="floor")
    counts = torch.bincount(sorted_experts, minlength=len(experts)).tolist()
    y = torch.zeros_like(x)
    start = 0
    for e, n in enumerate(counts):
        if n == 0:
            continue
        part = slice(start, start + n)
        y = y.index_add(0, token[part], w.flatten()[order[part]].unsqueeze(1) * experts[e](x[token[part]]))
        start += n
    return y


@moe_sorted.right("argsort of argsort as the way back, einsum at the end")
def argsort_twice(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = torch.argsort(flat, stable=True)
    expanded = x.repeat_interleave(k, dim=0)[order]
    sizes = [int((flat == e).sum()) for e in range(len(experts))]
    pieces = [expert(piece) for expert, piece in zip(experts, torch.split(expanded, sizes), strict=True)]
    outputs = torch.cat(pieces)[torch.argsort(order)]
    return torch.einsum("tkd,tk->td", outputs.reshape(T, k, -1), w)


@moe_sorted.right("slot after slot instead of token after token")
def slot_major(x, idx, w, experts):
    T, k = idx.shape
    flat, weight = idx.T.reshape(-1), w.T.reshape(-1)
    order = flat.argsort(stable=True)
    ends = torch.bincount(flat, minlength=len(experts)).cumsum(0).tolist()
    y = torch.zeros(T * k, x.shape[1], dtype=x.dtype)
    start = 0
    for expert, end in zip(experts, ends, strict=True):
        slots = order[start:end]
        y = y.index_put((slots,), expert(x[slots % T]))
        start = end
    return (y * weight[:, None]).reshape(k, T, -1).sum(0)


@moe_sorted.right("without sorting: one mask for each expert")
def without_sorting(x, idx, w, experts):
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = torch.where(idx == e)
        y.index_add_(0, token, w[token, slot, None] * expert(x[token]))
    return y


@moe_sorted.right("bincount without minlength, zip stops by itself")
def zip_stops(x, idx, w, experts):
    k = idx.shape[1]
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    xs = x[order // k].split(torch.bincount(flat).tolist())
    ys = torch.cat([expert(part) for expert, part in zip(experts, xs, strict=False)]) * w.reshape(-1)[order, None]
    return torch.zeros_like(x).scatter_add(0, (order // k)[:, None].expand_as(ys), ys)


@moe_sorted.base
def plain_moe_sorted(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    counts = torch.bincount(flat, minlength=len(experts)).tolist()
    xs = x[order // k]
    ys = torch.cat([expert(part) for expert, part in zip(experts, xs.split(counts))])
    back = torch.argsort(order)
    slots = ys[back].reshape(T, k, -1)
    return (slots * w[:, :, None]).sum(1)


moe_sorted.slip(
    "order_as_token",
    "`order` holds numbers of slots, from 0 to T·k − 1, but it is used as if they were tokens. Slot n belongs to token n // k.",
    replace={" // k": ""},
)
moe_sorted.slip(
    "order_modulo_k",
    "`order % k` is the slot within its token. Which token a slot belongs to is `order // k`.",
    replace={" // k": " % k"},
)
moe_sorted.slip(
    "order_modulo_T",
    "The rows of x are taken as if the list ran slot after slot, as `order % T` or `x.repeat` do. `idx.reshape(-1)` runs token after token: "
    "slot n belongs to token n // k.",
    replace={" // k": " % T"},
)
moe_sorted.slip(
    "flattened_slot_after_slot",
    "The list of slots runs slot after slot (`idx.T`), but the rest reads it token after token. Use `idx.reshape(-1)`, or go with % T all the way.",
    replace={"idx.reshape": "idx.T.reshape"},
)
moe_sorted.slip(
    "not_undone",
    "The outputs are still sorted by expert when they are handed to the tokens. Bring them back into the order of the slots first.",
    replace={".argsort(order)": ".arange(T * k)"},
)
# What shows in the order of the slots is kept in two forms: a sort that is not stable leaves them in another order.
moe_sorted.slip(
    "not_undone_unstable",
    replace={".argsort(stable=True)": ".argsort()", ".argsort(order)": ".arange(T * k)"},
    form_of="not_undone",
)
moe_sorted.slip(
    "undone_with_order",
    "The way back uses `order` again. It needs the inverse: `back` with back[order[i]] = i, which is also `order.argsort()`.",
    replace={"torch.argsort(order)": "order"},
)
moe_sorted.slip(
    "undone_with_order_unstable",
    replace={".argsort(stable=True)": ".argsort()", "torch.argsort(order)": "order"},
    form_of="undone_with_order",
)
moe_sorted.slip(
    "weights_not_sorted",
    "The weights are multiplied onto the sorted outputs, but are themselves in the order of the slots. Sort them too, or weight after the way back.",
    replace={
        "ys = …": "ys = torch.cat([expert(part) for expert, part in zip(experts, xs.split(counts))]) * w.reshape(-1, 1)",
        "(slots * w[:, :, None])": "slots",
    },
)
moe_sorted.slip(
    "weights_not_sorted_unstable",
    of="weights_not_sorted",
    replace={".argsort(stable=True)": ".argsort()"},
    form_of="weights_not_sorted",
)
moe_sorted.slip(
    "weights_sorted_too_much",
    "The weights are sorted, but the outputs they meet are back in the order of the slots. Either both are sorted or neither.",
    replace={"w[:, :, None]": "w.reshape(-1)[order].reshape(T, k, 1)"},
)
moe_sorted.slip(
    "only_the_first_slot",
    "Only the first of the k slots reaches the result. Sum over all k.",
    replace={"(slots * w[:, :, None]).sum(1)": "slots[:, 0] * w[:, :1]"},
)
moe_sorted.slip(
    "last_slot_dropped",
    "The last of the k slots is missing in the sum. Sum over all k.",
    replace={"(slots * w[:, :, None])": "(slots * w[:, :, None])[:, : max(k - 1, 1)]"},
)
moe_sorted.slip(
    "sorted_without_weights",
    "The outputs are summed without their weights: w[t, s] belongs in front of each.",
    replace={"(slots * w[:, :, None])": "slots"},
)
moe_sorted.slip(
    "sorted_mean",
    "The mean over the k slots is taken. The weights say how much each counts: take the sum.",
    replace={".sum(1)": ".mean(1)"},
)
moe_sorted.slip(
    "sorted_not_summed",
    "The k outputs of a token are still apart, [T, k, d_model]. Weight them and sum over k.",
    replace={"(slots * w[:, :, None]).sum(1)": "slots * w[:, :, None]"},
)
moe_sorted.slip(
    "sorted_input_scaled",
    "The weights are multiplied onto the experts' inputs. An expert is not linear: weight what comes out of it.",
    replace={"x[order // k]": "x[order // k] * w.reshape(-1)[order, None]", "(slots * w[:, :, None])": "slots"},
)
moe_sorted.slip(
    "weights_normalised",
    "The weights are divided by their sum. Use them as given; a row need not sum to one.",
    replace={" * w": " * (w / w.sum(1, keepdim=True))"},
)
moe_sorted.slip(
    "not_sorted_at_all",
    "The slots are split without having been sorted, so each expert gets whatever comes first. Sort them by expert before `split`.",
    replace={"flat.argsort(stable=True)": "torch.arange(T * k)"},
)
moe_sorted.slip(
    "sorted_downwards",
    "The slots are sorted from the last expert to the first, but split from the first to the last.",
    replace={"True": "True, descending=True"},
)
moe_sorted.slip(
    "sorted_by_weight",
    "The slots are sorted by weight. Slots of the same expert must be side by side: sort by the expert's number.",
    replace={"flat.argsort(stable=True)": "w.reshape(-1).argsort()"},
)
moe_sorted.slip(
    "counts_of_the_used_only",
    "The counts have no entry for an expert without tokens (`unique`), so all experts behind it get the wrong part. `bincount` counts zeros too.",
    replace={".bincount(flat, minlength=len(experts))": ".unique(flat, return_counts=True)[1]"},
)
moe_sorted.slip(
    "viewed_slots",
    "`view` can't flatten idx or w when their rows do not lie one after the other in memory. `reshape` copies where it has to.",
    replace={"idx.reshape": "idx.view"},
)
moe_sorted.slip(
    "cat_of_used_experts",
    "With a fixed size of the parts (`chunk`, T·k / E each) experts get tokens of others. The parts have as many rows as each expert has slots.",
    replace={".split(counts)": ".tensor_split(len(experts))"},
)
moe_sorted.slip(
    "sorted_weights_detached",
    "The weights are cut off from the graph (`.detach()`, `.item()`, `.tolist()`): the router could not learn from this output.",
    replace={" * w": " * w.detach()"},
)
moe_sorted.slip(
    "sorted_detached",
    "The values are right, but what comes back is cut off from the graph (by `.detach()`, `.data` or `torch.no_grad()`): nothing could be trained.",
    replace={".sum(1)": ".sum(1).detach()"},
)
moe_sorted.slip(
    "sorted_with_residual",
    "x is added to the result. The residual connection belongs to the block around this layer.",
    replace={"(slots * w[:, :, None])": "x + (slots * w[:, :, None])"},
)
moe_sorted.slip("sorted_not_returned", NO_RETURN, replace={"(slots * w[:, :, None]).sum(1)": "None"})
moe_sorted.slip(
    "called_with_all",
    "The values are right, but every expert is called on all tokens. Pick the rows first: that is what the sorting is for.",
    replace={"ys = …": "ys = torch.stack([expert(x) for expert in experts])[flat[order], order // k]"},
)


@moe_sorted.mistake(
    "The values are right, but an expert is called once for every slot, k times in all. Put its tokens of all slots together, and call it once."
)
def once_a_slot(x, idx, w, experts):
    y = torch.zeros_like(x)
    for s in range(idx.shape[1]):
        for e, expert in enumerate(experts):
            mask = idx[:, s] == e
            if mask.any():
                y[mask] += w[mask, s, None] * expert(x[mask])
    return y


@moe_sorted.mistake(
    "The values are right, but experts are called once for every token. Put all tokens of an expert together, and call it once."
)
def once_a_token(x, idx, w, experts):
    rows = []
    for t in range(len(x)):
        rows.append(sum(w[t, s] * experts[idx[t, s]](x[t : t + 1]) for s in range(idx.shape[1])))
    return torch.cat(rows)


@moe_sorted.mistake(
    "A token's outputs overwrite each other: `y[token] = …` and `y[token] += …` write a row once, though a token occurs k times. `index_add` adds all."
)
def written_once(x, idx, w, experts):
    k = idx.shape[1]
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    token = order // k
    counts = torch.bincount(flat, minlength=len(experts)).tolist()
    ys = torch.cat([expert(part) for expert, part in zip(experts, x[token].split(counts), strict=True)])
    y = torch.zeros_like(x)
    y[token] += w.reshape(-1)[order, None] * ys
    return y


@moe_sorted.form(written_once)
def assigned_in_a_loop(x, idx, w, experts):
    k = idx.shape[1]
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    counts = torch.bincount(flat, minlength=len(experts)).tolist()
    y = torch.zeros_like(x)
    start = 0
    for e, n in enumerate(counts):
        slots = order[start : start + n]
        y[slots // k] = w.reshape(-1)[slots, None] * experts[e](x[slots // k])
        start += n
    return y


@moe_sorted.mistake(
    "`bincount` stops at the largest expert that occurs, so the counts are too few when the last experts have no token. Its argument `minlength` helps."
)
def without_minlength(x, idx, w, experts):
    k = idx.shape[1]
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    counts = torch.bincount(flat)
    y, start = torch.zeros_like(x), 0
    for e in range(len(experts)):
        slots = order[start : start + counts[e]]
        y = y.index_add(0, slots // k, w.reshape(-1)[slots, None] * experts[e](x[slots // k]))
        start += counts[e]
    return y


@moe_sorted.mistake("x itself is changed: the result is added into the caller's tensor. Start with zeros of its shape.")
def sorted_x_changed(x, idx, w, experts):
    out = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = torch.where(idx == e)
        out = out.index_add(0, token, w[token, slot, None] * expert(x[token]))
    x.copy_(out)
    return x


moe_sorted.slip(
    "viewed_the_other_way",
    "The slots are viewed as [k, T, …], but the list runs token after token: the k slots of a token lie side by side, [T, k, …].",
    replace={"(slots * w[:, :, None]).sum(1)": "(ys[back].reshape(k, T, -1) * w.T[:, :, None]).sum(0)"},
)
moe_sorted.slip(
    "summed_over_the_tokens",
    "The sum runs over the tokens. Of [T, k, d_model] it is the k slots of a token that are added, `dim=1`.",
    replace={".sum(1)": ".sum(0)"},
)
moe_sorted.slip(
    "rows_in_the_old_order",
    "The list of rows is cut before it was sorted: the rows are token after token, the counts belong to the experts. Take the rows in the order of `order`.",
    replace={"x[order // k]": "x.repeat_interleave(k, 0)"},
)
moe_sorted.slip(
    "true_division",
    "`order / k` gives fractions, which are no row numbers. Whole division is `//`.",
    replace={" // k": " / k"},
)
moe_sorted.slip(
    "lengths_as_a_tensor",
    "`split` takes a list of lengths, not a tensor: `counts.tolist()` makes one.",
    replace={".tolist()": ""},
)
moe_sorted.slip(
    "lengths_for_places",
    "`tensor_split` wants the places of the cuts, not the lengths of the parts. `split` takes lengths.",
    replace={".split(counts)": ".tensor_split(counts[:-1])"},
)


@moe_sorted.mistake(
    "`bincount` ends at the largest number it met, and `strict=True` notices. Tell it how many experts there are: `minlength`."
)
def without_minlength_but_strict(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    parts = x[order // k].split(torch.bincount(flat).tolist())
    ys = torch.cat([expert(part) for expert, part in zip(experts, parts, strict=True)])
    return (ys[order.argsort()].reshape(T, k, -1) * w[:, :, None]).sum(1)


moe_sorted.slip(
    "sorted_wrong_dtype",
    "The zeros are float32, whatever x is, and then the dtypes do not fit, or the result is float32. `torch.zeros_like(x)` takes the dtype of x.",
    of=without_sorting,
    replace={".zeros_like(x)": ".zeros(x.shape)", "y.index_add_": "y = y.index_add"},
)


@moe_sorted.form("sorted_wrong_dtype")
def sorted_back_in_float32(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    parts = x[order // k].split(torch.bincount(flat, minlength=len(experts)).tolist())
    slots = torch.zeros(T * k, x.shape[1])
    slots[order] = torch.cat([expert(part) for expert, part in zip(experts, parts, strict=True)])
    return (slots.reshape(T, k, -1) * w[:, :, None]).sum(1)


# router_learns_counterexample

router_learns_counterexample = Key(exercises.router_learns_counterexample)
router_learns_counterexample.value(
    "truth",
    "beside_the_middle",
    "",
    ([0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0]], [0.0, 5.0]),
)
router_learns_counterexample.value(
    "right",
    "whole_numbers",
    "whole numbers, in tuples",
    ((0, 0), ((2, 1), (2, 3)), (7, 2)),
)
router_learns_counterexample.value(
    "right",
    "a_diagonal",
    "experts on a diagonal",
    [[1, 1], [[1, 1], [-1, -1]], [3, -3]],
)
router_learns_counterexample.value(
    "right",
    "unequal_logits",
    "a target that was computed",
    ([1.0, 0.0], [[1.0, 1.0], [1.0, -1.0]], [4.0, 0.4621171572600098]),
)
router_learns_counterexample.value(
    "right",
    "tensors",
    "tensors",
    (torch.zeros(2), torch.tensor([[2.0, 0.0], [0.0, 0.0]]), torch.tensor([1.0, -3.0])),
)
router_learns_counterexample.value(
    "mistake",
    "nearer",
    "More of one of your experts brings y nearer to the target, and the router learns that. The gates move y along "
    "a line. Where beside it must a target be, so that moving is no use?",
    ([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [3.0, 0.0]),
)
router_learns_counterexample.value(
    "mistake",
    "both_the_same",
    "Both of your experts say the same, so that no gate matters. The code sees that.",
    ([1.0, 0.0], [[2.0, 1.0], [2.0, 1.0]], [5.0, 5.0]),
)
router_learns_counterexample.value(
    "mistake",
    "target_hit",
    "Your experts hit the target together. There is no error, and the code sees that.",
    ([0.0, 0.0], [[1.0, 3.0], [3.0, 1.0]], [2.0, 2.0]),
)
router_learns_counterexample.value(
    "mistake",
    "single_numbers",
    "Each of your experts says a single number. Then moving y always helps or harms, as long as they differ. Let them say more.",
    ([1.0, 0.0], [[1.0], [2.0]], [5.0]),
)
router_learns_counterexample.value(
    "mistake",
    "three_numbers",
    "Your classmate's code is wrong on it, well found. A smaller one shows it as well: two numbers for each expert are enough.",
    ([0.0, 0.0], [[1.0, 0.0, 2.0], [-1.0, 0.0, 2.0]], [0.0, 5.0, 2.0]),
)
router_learns_counterexample.value(
    "mistake",
    "three_experts",
    "There are not two logits and two outputs. The token has two experts here.",
    ([0.0, 0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0.0, 5.0]),
)
router_learns_counterexample.value(
    "mistake",
    "no_target",
    "One of the three is missing: two logits, what the two experts say, and a target.",
    ([0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0]]),
)
router_learns_counterexample.value(
    "mistake",
    "unequal_lengths",
    "The two experts and the target have different numbers of numbers.",
    ([0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0]], [5.0]),
)
router_learns_counterexample.value(
    "mistake",
    "huge_logits",
    "A logit is beyond 10. There a softmax rounds a gate to 0 or 1, which is another matter.",
    ([500.0, 0.0], [[1.0, 0.0], [2.0, 0.0]], [5.0, 0.0]),
)


# router_gradient

router_gradient = Key(exercises.router_gradient)


@router_gradient.truth
def by_the_chain_rule(x, router, experts, target, k, norm):
    """Token by token and expert by expert, with every derivative written out; no backward pass."""
    T, d = x.shape
    E = router.shape[1]
    slope = torch.zeros_like(router)
    with torch.no_grad():
        for t in range(T):
            z = [sum(x[t, i] * router[i, e] for i in range(d)) for e in range(E)]
            p = [torch.exp(z[e]) / sum(torch.exp(other) for other in z) for e in range(E)]
            kept = sorted(range(E), key=lambda e: -float(z[e]))[:k]
            total = sum(p[e] for e in kept) if norm == "softmax_topk_renorm" else 1.0
            said = {e: experts[e](x[t : t + 1])[0] for e in kept}
            y = sum(p[e] / total * said[e] for e in kept)
            by_y = 2 * (y - target[t]) / (T * d)
            for j in range(E):
                by_z = 0.0
                for e in kept:
                    if norm == "softmax_topk_renorm":
                        gate_by_z = p[e] / total * (float(e == j) - (p[j] / total if j in kept else 0.0))
                    else:
                        gate_by_z = p[e] * (float(e == j) - p[j])
                    by_z = by_z + (by_y * said[e]).sum() * gate_by_z
                slope[:, j] += by_z * x[t]
    return slope


@router_gradient.right("backward, and gates [T, E] with zeros as in `route` and `moe_reference`")
def with_dense_gates(x, router, experts, target, k, norm):
    W = router.detach().clone().requires_grad_(True)
    p = (x @ W).softmax(-1)
    top = p.topk(k, dim=-1)
    gates = torch.zeros_like(p).scatter(-1, top.indices, top.values)
    if norm == "softmax_topk_renorm":
        gates = gates / gates.sum(-1, keepdim=True)
    y = sum(gates[:, e : e + 1] * expert(x) for e, expert in enumerate(experts))
    ((y - target) ** 2).mean().backward()
    return W.grad


@router_gradient.right("torch.func.grad, and a softmax of the kept logits")
def by_func_grad(x, router, experts, target, k, norm):
    outputs = torch.stack([expert(x).detach() for expert in experts])

    def loss(W):
        z = x @ W
        kept = z >= z.topk(k, dim=-1).values[:, -1:]
        gates = z.softmax(-1) * kept if norm == "softmax_topk" else z.masked_fill(~kept, -torch.inf).softmax(-1)
        return F.mse_loss(torch.einsum("te,etd->td", gates, outputs), target)

    return torch.func.grad(loss)(router)


@router_gradient.right("an nn.Linear as the router, whose weight is the other way round")
def with_a_linear(x, router, experts, target, k, norm):
    layer = nn.Linear(*router.shape, bias=False, dtype=router.dtype)
    with torch.no_grad():
        layer.weight.copy_(router.T)
    w, idx = F.softmax(layer(x), dim=1).topk(k, dim=1)
    if norm.endswith("renorm"):
        w = w / w.sum(dim=1, keepdim=True)
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = torch.where(idx == e)
        if len(token):
            y = y.index_add(0, token, w[token, slot, None] * expert(x[token]))
    F.mse_loss(y, target).backward()
    return layer.weight.grad.T


@router_gradient.right("the caller's router itself, with its gradient cleared before and its flag put back")
def on_the_router_itself(x, router, experts, target, k, norm):
    router.grad = None
    router.requires_grad_()
    w, idx = torch.softmax(x @ router, -1).topk(k, -1)
    if norm == "softmax_topk_renorm":
        w = w / w.sum(-1, keepdim=True)
    outputs = torch.stack([expert(x) for expert in experts], 1)
    y = (w[..., None] * torch.stack([outputs[t, idx[t]] for t in range(len(x))])).sum(1)
    (slope,) = torch.autograd.grad((y - target).square().mean(), router)
    router.requires_grad_(False)
    return slope


@router_gradient.base
def plain_router_gradient(x, router, experts, target, k, norm):
    W = router.clone().requires_grad_()
    z = x @ W
    p = torch.softmax(z, dim=-1)
    w, idx = p.topk(k, dim=-1)
    if norm == "softmax_topk_renorm":
        w = w / w.sum(-1, keepdim=True)
    pass
    outputs = torch.stack([expert(x) for expert in experts], dim=1)
    chosen = torch.stack([outputs[t, idx[t]] for t in range(len(x))])
    y = (w[:, :, None] * chosen).sum(1)
    F.mse_loss(y, target).backward()
    return W.grad


router_gradient.slip(
    "renorm_never",
    "'softmax_topk_renorm' is not renormalised: with k = 1 a gradient is left where none should be. Divide the kept weights by their sum.",
    replace={'norm == "softmax_topk_renorm"': "False"},
)
router_gradient.slip(
    "renorm_always",
    "Both values of `norm` divide by the sum. With 'softmax_topk' the kept probabilities stay as they are: then k = 1 has a gradient.",
    replace={'norm == "softmax_topk_renorm"': "True"},
)
router_gradient.slip(
    "norms_exchanged",
    "The two values of `norm` have changed places: the gradient vanishes for 'softmax_topk' at k = 1, where nothing is divided.",
    replace={'"softmax_topk_renorm"': '"softmax_topk"'},
)
router_gradient.slip("name_misspelt", replace={'"softmax_topk_renorm"': '"renorm"'}, form_of="renorm_never")
router_gradient.slip(
    "renorm_over_the_tokens",
    "The weights are divided by their sum over the tokens. Each token's own k weights add up to 1: `sum(-1, keepdim=True)`.",
    replace={"w.sum(-1, keepdim=True)": "w.sum(0, keepdim=True)"},
)
router_gradient.slip(
    "renorm_over_everything", replace={"w.sum(-1, keepdim=True)": "w.sum()"}, form_of="renorm_over_the_tokens"
)
router_gradient.slip(
    "renorm_without_gradient",
    "The sum that the weights are divided by is cut off from the graph, as if it did not depend on the router. It does: no `detach` there.",
    replace={"w.sum(-1, keepdim=True)": "w.sum(-1, keepdim=True).detach()"},
)
router_gradient.slip(
    "k_ignored",
    "Two experts are taken for each token, whatever k is.",
    replace={"p.topk(k, dim=-1)": "p.topk(2, dim=-1)"},
)
router_gradient.slip(
    "always_one_expert",
    "One expert is taken for each token, whatever k is.",
    replace={"p.topk(k, dim=-1)": "p.topk(1, dim=-1)"},
)
router_gradient.slip(
    "all_experts",
    "All experts are taken for each token. Only the k with the largest logits take part.",
    replace={"p.topk(k, dim=-1)": "p.topk(len(experts), dim=-1)"},
)
router_gradient.slip(
    "the_least_likely",
    "The experts with the smallest probabilities are taken: `largest=False`, or sorted the other way round.",
    replace={"p.topk(k, dim=-1)": "p.topk(k, dim=-1, largest=False)"},
)
router_gradient.slip(
    "no_softmax",
    "There is no softmax: the logits themselves are the weights.",
    replace={"torch.softmax(z, dim=-1)": "z"},
)
router_gradient.slip(
    "softmax_over_the_tokens",
    "The softmax runs over the tokens. Each token's probabilities over the experts add up to 1: the last dimension.",
    replace={".softmax(z, dim=-1)": ".softmax(z, dim=0)"},
)
router_gradient.slip(
    "sigmoid_for_softmax",
    "The weights are sigmoids. Both ways that are asked for here start with a softmax over all experts.",
    replace={".softmax(z, dim=-1)": ".sigmoid(z)"},
)
router_gradient.slip(
    "softmax_twice",
    "The softmax is taken twice, the second time of probabilities.",
    replace={".softmax(z, dim=-1)": ".softmax(torch.softmax(z, dim=-1), dim=-1)"},
)
router_gradient.slip(
    "summed_squares",
    "The squared differences are added up. The exercise asks for their mean, over tokens and features.",
    replace={"F.mse_loss(y, target)": 'F.mse_loss(y, target, reduction="sum")'},
)
router_gradient.slip(
    "mean_over_tokens_alone",
    "The squared differences are added up over the features and averaged over the tokens alone. `F.mse_loss` averages over all T · d_model numbers.",
    replace={"F.mse_loss(y, target)": "(y - target).square().sum(-1).mean()"},
)
router_gradient.slip(
    "half_the_loss",
    "The loss has a factor ½. The exercise asks for the mean of the squares as it is.",
    replace={"F.mse_loss(y, target)": "(0.5 * (y - target).square().mean())"},
)
router_gradient.slip(
    "root_of_the_loss",
    "The loss is the root of the mean square. The exercise asks for the mean of the squares itself.",
    replace={".backward()": ".sqrt().backward()"},
)
router_gradient.slip(
    "absolute_differences",
    "The loss takes absolute differences. The exercise asks for squares: `F.mse_loss`.",
    replace={"F.mse_loss": "F.l1_loss"},
)
router_gradient.slip(
    "target_not_used",
    "The target is not in the loss: it compares the output with nothing.",
    replace={"F.mse_loss(y, target)": "y.square().mean()"},
)
router_gradient.slip("mean_of_the_output", replace={"F.mse_loss(y, target)": "y.mean()"}, form_of="target_not_used")
router_gradient.slip(
    "weights_on_the_input",
    "The weight is multiplied with the input of an expert. It belongs to the expert's output.",
    replace={
        "y = (w[:, :, None] * chosen).sum(1)": (
            "y = sum(experts[int(idx[t, s])](w[t, s] * x[t : t + 1]) * F.one_hot(torch.tensor(t), len(x))[:, None]\n"
            "        for t in range(len(x)) for s in range(idx.shape[1]))"
        )
    },
)
router_gradient.slip(
    "slot_for_expert",
    "The number of the slot is used as the number of the expert, so only the first k experts ever work. `topk` says which expert a slot means.",
    replace={" * chosen": " * outputs[:, : w.shape[1]]"},
)
router_gradient.slip(
    "with_residual",
    "x is added to the layer's output. The residual connection belongs to the block around it.",
    replace={"(w[:, :, None] * chosen)": "x + (w[:, :, None] * chosen)"},
)
router_gradient.slip(
    "averaged_over_k",
    "The outputs of the chosen experts are averaged. They are added, each with its weight.",
    replace={".sum(1)": ".mean(1)"},
)
router_gradient.slip(
    "nothing_arrives",
    "None comes back instead of a gradient: the weights are cut off from the router that you look at (`.detach()`, `.item()`, a copy made too late), "
    "they are not multiplied with the outputs, `backward()` was not called, or a `return` is missing.",
    replace={"pass": "w = w.detach()"},
)
router_gradient.slip("no_backward", replace={"F.mse_loss(y, target).backward()": "pass"}, form_of="nothing_arrives")
router_gradient.slip("outputs_not_weighted", replace={"(w[:, :, None] * chosen)": "chosen"}, form_of="nothing_arrives")
router_gradient.slip("no_leaf", replace={".requires_grad_()": ""}, form_of="nothing_arrives")
router_gradient.slip(
    "of_another_copy", replace={"x @ W": "x @ router.clone().requires_grad_()"}, form_of="nothing_arrives"
)
router_gradient.slip("gradient_not_returned", replace={"W.grad": "None"}, form_of="nothing_arrives")
router_gradient.slip(
    "accumulated",
    "A second call with the same router gives twice as much: `backward` adds to what is in `.grad`. Work with a fresh copy, or clear it first.",
    replace={".clone().requires_grad_": ".requires_grad_", "W.grad": "W.grad.clone()"},
)
router_gradient.slip(
    "accumulated_as_it_is", replace={".clone().requires_grad_": ".requires_grad_"}, form_of="accumulated"
)
router_gradient.slip(
    "the_other_way_round",
    "The gradient comes back as [E, d_model], as the weight of an nn.Linear has it. The exercise asks for the shape of `router`, [d_model, E].",
    replace={"W.grad": "W.grad.T"},
)
router_gradient.slip(
    "downhill",
    "The sign is wrong: this is the direction of a training step. The exercise asks for the gradient itself.",
    replace={"W.grad": "-W.grad"},
)
router_gradient.slip(
    "the_largest_entry",
    "A single number comes back. The exercise asks for the whole gradient, [d_model, E]; the cell below looks for its largest entry.",
    replace={"W.grad": "W.grad.abs().max().item()"},
)
router_gradient.slip(
    "the_largest_entry_in_a_tensor", replace={"W.grad": "W.grad.abs().max()"}, form_of="the_largest_entry"
)
router_gradient.slip(
    "sizes",
    "The entries have lost their signs. The exercise asks for the gradient itself, without `abs()`.",
    replace={"W.grad": "W.grad.abs()"},
)
router_gradient.slip(
    "a_yes_or_no",
    "True or False comes back. The exercise asks for the gradient itself, [d_model, E].",
    replace={"W.grad": "bool(W.grad.abs().max() > 1e-6)"},
)
router_gradient.slip(
    "gradient_of_the_logits",
    "This is the gradient of the logits, [T, E]. It goes one step further, through `x @ router`, to the router itself.",
    replace={"pass": "z.retain_grad()", "W.grad": "z.grad"},
)
router_gradient.slip(
    "gradient_of_the_gates",
    "This is the gradient of the kept weights, [T, k]. It goes further, through softmax and logits, to the router itself.",
    replace={"pass": "w.retain_grad()", "W.grad": "w.grad"},
)
router_gradient.slip(
    "the_loss",
    "The loss comes back, not its gradient.",
    replace={"F.mse_loss(y, target).backward()": "loss = F.mse_loss(y, target)", "W.grad": "loss.detach()"},
)


@router_gradient.mistake(
    "The gradient is zero everywhere, in all cases. Only one of them has none: run the backward pass and look."
)
def always_zero(x, router, experts, target, k, norm):
    return torch.zeros_like(router)


# Questions

quiz_same = question(
    exercises.quiz_same,
    right="B",
    wrong={
        "A": "'softmax_topk' is not divided by anything after the choice: its rows sum to less than 1, those of 'topk_softmax' to 1.",
        "C": "Both have rows that sum to 1, but sigmoid(z) is not proportional to exp(z): the ratio of two gates differs.",
    },
)

quiz_zeros = question(
    exercises.quiz_zeros,
    right="C",
    wrong={
        "A": "A softmax gives every finite logit a share. exp(0) = 1 is a share like any other, sometimes the largest.",
        "B": "A row of a softmax sums to 1 in any case. The question is who gets how much of it.",
    },
)

quiz_active = question(
    exercises.quiz_active,
    right="A",
    wrong={
        "B": "Which experts are needed is known only when the token is there, and the next token needs others: all of them have to be in memory.",
        "C": "An expert that is not chosen is not computed at all: that is the point of the choice. Only the chosen ones, the router and attention do work.",
    },
)
