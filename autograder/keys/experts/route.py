"""What is right, and what goes wrong, in `route` of notebook 08."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import NO_RETURN, Key
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
