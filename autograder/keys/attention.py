"""The marking guide of notebook 01, Can a mix of words say over or into?

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F and nn.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import attention as exercises

# self_attention

self_attention = Key(exercises.self_attention)


@self_attention.truth
def pair_by_pair(X, Wq, Wk, Wv, Wo, A=None):
    """Queries, keys and values one number at a time; softmax by its definition; no matrix product (Vaswani et al. 2017, section 3.2.1)."""

    def times(vector, W):
        return torch.stack([sum(vector[i] * W[i, j] for i in range(W.shape[0])) for j in range(W.shape[1])])

    T, h = X.shape[0], Wq.shape[1]
    if A is None:
        rows = []
        for t in range(T):
            query = times(X[t], Wq)
            scores = [(query * times(X[s], Wk)).sum() / h**0.5 for s in range(T)]
            total = sum(torch.exp(score) for score in scores)
            rows.append(torch.stack([torch.exp(score) / total for score in scores]))
        A = torch.stack(rows)
    values = [times(X[s], Wv) for s in range(T)]
    outputs = [times(sum(A[t, s] * values[s] for s in range(T)), Wo) for t in range(len(A))]
    return torch.stack(outputs), A


@self_attention.right("einsum")
def in_einsum(X, Wq, Wk, Wv, Wo, A=None):
    if A is None:
        Q, K = torch.einsum("td,dh->th", X, Wq), torch.einsum("td,dh->th", X, Wk)
        A = (torch.einsum("th,sh->ts", Q, K) * Wq.size(1) ** -0.5).softmax(dim=1)
    return torch.einsum("ts,sd,dh,hk->tk", A, X, Wv, Wo), A


@self_attention.right("value and output matrices multiplied first")
def folded(X, Wq, Wk, Wv, Wo, A=None):
    if A is None:
        scores = X @ (Wq @ Wk.T) @ X.T
        A = F.softmax(scores / math.sqrt(Wk.shape[-1]), dim=-1)
    return A @ (X @ (Wv @ Wo)), A


@self_attention.right("softmax written out, with the largest score subtracted")
def softmax_by_hand(X, Wq, Wk, Wv, Wo, A=None):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    if A is None:
        scores = Q @ K.transpose(0, 1) / Q.shape[1] ** 0.5
        e = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
        A = e / e.sum(dim=1, keepdim=True)
    heads = A @ V
    return heads @ Wo, A


@self_attention.right("token by token, as a list")
def token_by_token(X, Wq, Wk, Wv, Wo, A=None):
    Q, K, V = F.linear(X, Wq.T), F.linear(X, Wk.T), F.linear(X, Wv.T)
    weights, outputs = [], []
    for t in range(len(X if A is None else A)):
        a = torch.softmax(K @ Q[t] / math.sqrt(K.shape[1]), dim=0) if A is None else A[t]
        weights.append(a)
        outputs.append((a @ V) @ Wo)
    return [torch.stack(outputs), torch.stack(weights)]


@self_attention.right("a loop that fills a fresh tensor, entry by entry")
def loop_that_fills(X, Wq, Wk, Wv, Wo, A=None):
    if A is None:
        A = ((X @ Wq) @ (X @ Wk).T).div(math.sqrt(Wq.shape[1])).softmax(-1)
    V = X @ Wv
    mix = torch.zeros(len(A), V.shape[1], dtype=V.dtype)
    for t in range(A.shape[0]):
        for s in range(A.shape[1]):
            mix[t] += A[t, s] * V[s]
    return mix @ Wo, A


@self_attention.base
def plain_self_attention(X, Wq, Wk, Wv, Wo, A=None):
    Q, K, V = X @ Wq, X @ Wk, X @ Wv
    if A is None:
        scores = Q @ K.T / math.sqrt(Wq.shape[1])
        A = torch.softmax(scores, dim=-1)
    out = A @ V @ Wo
    return out, A


self_attention.slip(
    "softmax_over_the_wrong_dimension",
    "The columns of A sum to 1, not its rows. Each token shares out one unit of attention among the tokens it looks at: softmax over the last dimension.",
    replace={"dim=-1": "dim=0"},
)
self_attention.slip(
    "not_scaled",
    "The scores are not divided by √h. With wide heads they grow large, and softmax gives nearly everything to one token.",
    replace={" / math.sqrt(Wq.shape[1])": ""},
)
self_attention.slip(
    "scaled_by_d_model",
    "The scores are divided by the root of d, the width of X. A score is a sum of h products: it is the head's width, Wq.shape[1], that counts.",
    replace={"Wq.shape": "X.shape"},
)
self_attention.slip(
    "scaled_by_the_number_of_tokens",
    "The scores are divided by the root of T, the number of tokens. A score is a sum of h products: the head's width, Wq.shape[1], counts.",
    replace={"Wq.shape[1]": "X.shape[0]"},
)
self_attention.slip(
    "divided_by_h",
    "The scores are divided by h itself, without the root.",
    replace={"math.sqrt(Wq.shape[1])": "Wq.shape[1]"},
)
self_attention.slip(
    "multiplied_by_the_root",
    "The scores are multiplied by √h where they should be divided by it.",
    replace={" / math": " * math"},
)
self_attention.slip(
    "scaled_after_the_softmax",
    "The division by √h comes after the softmax, so the weights no longer sum to 1. Scale the scores first.",
    replace={
        " / math.sqrt(Wq.shape[1])": "",
        ".softmax(scores, dim=-1)": ".softmax(scores, dim=-1) / math.sqrt(Wq.shape[1])",
    },
)
self_attention.slip(
    "given_A_ignored",
    "The A that was handed in is ignored: it is computed anew each time. Steps 2 and 3 are only for `A is None`.",
    replace={"A is None": "True"},
)
self_attention.slip(
    "given_A_not_returned",
    "out is made with the A that was handed in, but another one is returned.",
    replace={"if A is None:": "given = A\nif True:", "A @ V": "(A if given is None else given) @ V"},
)
self_attention.slip(
    "softmax_of_the_given_A",
    "The A that was handed in goes through a softmax. It holds weights, not scores: use it as it is.",
    replace={"if A is None:": "if A is not None:\n    A = torch.softmax(A, dim=-1)\nelse:"},
)
self_attention.slip(
    "truth_value_of_a_tensor",
    "`if A`, `not A` and `A or …` ask a tensor whether it is true, and a tensor of many numbers has no answer. Ask `A is None`.",
    replace={"A is None": "not A"},
)
self_attention.slip(
    "no_default_for_A",
    "A must be optional: `A=None` in the signature. Without it the function can't be called with five arguments.",
    replace={"def self_attention(X, Wq, Wk, Wv, Wo, A=None):": "def self_attention(X, Wq, Wk, Wv, Wo, A):"},
)
self_attention.slip(
    "Wo_forgotten",
    "The last step is missing: the mixed values have width h, and Wo [h, d] brings them back to width d.",
    replace={" @ Wo": ""},
)
self_attention.slip(
    "scores_returned",
    "Scores came back where the weights were asked for: A is what softmax makes of them, positive, with rows that sum to 1.",
    replace={
        "out = A @ V @ Wo": "given = A if 'scores' not in locals() else scores\nout = A @ V @ Wo",
        "out, A": "out, given",
    },
)
self_attention.slip(
    "softmax_forgotten",
    "The softmax is missing: the scores themselves are used as weights. They can be negative and do not sum to 1.",
    replace={"torch.softmax(scores, dim=-1)": "scores"},
)
self_attention.slip(
    "out_alone",
    "Only `out` came back. The pair (out, A) is asked for: the weights are what one looks at.",
    replace={"out, A": "out"},
)
self_attention.slip(
    "pair_turned_round", "The pair is the wrong way round: first out, then A.", replace={"out, A": "A, out"}
)
self_attention.slip(
    "queries_and_keys_swapped",
    "Queries and keys have changed places: row t of the scores must hold the query of token t with the keys of all tokens, Q @ K.T.",
    replace={"Q @ K.T": "K @ Q.T"},
)
self_attention.slip(
    "keys_not_transposed",
    "Q @ K does not fit: both are [T, h]. For all pairs of tokens, one of the two is transposed.",
    replace={"K.T": "K"},
)
self_attention.slip(
    "keys_made_with_Wq",
    "The keys are made with Wq, so Wk is never used. Queries and keys have a matrix each.",
    replace={"X @ Wk": "X @ Wq"},
)
self_attention.slip(
    "values_made_with_Wk",
    "The values are made with Wk, so Wv is never used. What a token is found by (its key) and what it hands over (its value) are two things.",
    replace={"X @ Wv": "X @ Wk"},
)
self_attention.slip(
    "X_mixed_instead_of_V",
    "A mixes X itself, of width d, and the shapes no longer fit. It is the values, X @ Wv, that are mixed.",
    replace={"A @ V": "A @ X"},
)
self_attention.slip(
    "weights_in_the_other_layout",
    "The matrices are transposed. Here they are [d, h] and on the right, `X @ Wq`; nn.Linear stores the transposes.",
    replace={"X @ Wq, X @ Wk, X @ Wv": "X @ Wq.T, X @ Wk.T, X @ Wv.T"},
)
self_attention.slip(
    "causal_mask",
    "A causal mask hides the later tokens. Here there is no mask: every token looks at all of them.",
    replace={
        ".softmax(scores, dim=-1)": ".softmax(scores.masked_fill(torch.ones_like(scores).triu(1) > 0, float('-inf')), dim=-1)"
    },
)
self_attention.slip(
    "residual_added",
    "X is added to the output. The residual connection is the block's business, around attention; here only attention is asked for.",
    replace={"out = A @ V @ Wo": "out = X + A @ V @ Wo"},
)
self_attention.slip("residual_added_to_the_mix", replace={"A @ V": "X + A @ V"}, form_of="residual_added")
self_attention.slip(
    "A_transposed_in_the_mix",
    "The mix uses A.T: output t collects what the others gave to token t. Row t of A holds the weights of output t.",
    replace={"A @ V": "A.T @ V"},
)
self_attention.slip(
    "X_mixed_alone",
    "A mixes X itself, and neither Wv nor Wo is used. It is the values, X @ Wv, that are mixed, and Wo brings the mix back to width d.",
    replace={"A @ V @ Wo": "A @ X"},
)
self_attention.slip(
    "given_A_as_a_mask",
    "The A that was handed in is added to the scores, as a mask would be. It holds weights: use it in place of steps 2 and 3.",
    replace={
        "if A is None:": "for _ in range(1):",
        ".sqrt(Wq.shape[1])": ".sqrt(Wq.shape[1]) + (0 if A is None else A)",
    },
)
self_attention.slip(
    "None_returned",
    "out is right, but the second of the pair is the argument A, which is None when no A is handed in. Return the weights that were used.",
    replace={"if A is None:": "given = A\nif A is None:", "out, A": "out, given"},
)
self_attention.slip(
    "returned_A_cut_off",
    "The A that comes back is detached, so gradients reach the matrices through out alone. Return A as it was computed.",
    replace={"out, A": "out, A.detach()"},
)
self_attention.slip(
    "width_built_in",
    "The width of the head is built in as a number. It is a size of the matrices that you are handed: Wq.shape[1].",
    replace={"Wq.shape[1]": "64"},
)
self_attention.slip(
    "cut_off_from_the_graph",
    "The values are right, but what comes back is cut off from the graph (by `torch.no_grad()`, `.detach()` or `.data`), so nothing could learn through it.",
    replace={"out, A": "out.detach(), A.detach()"},
)
self_attention.slip(
    "weights_cut_off",
    "A is detached, so no gradient reaches Wq and Wk: the head could never learn where to look.",
    replace={".softmax(scores, dim=-1)": ".softmax(scores, dim=-1).detach()"},
)
self_attention.slip(
    "softmax_again",
    "A has been through a softmax already: its rows are weights and sum to 1. Another softmax makes a flatter set of weights.",
    replace={"A @ V": "torch.softmax(A, dim=-1) @ V"},
)
self_attention.slip(
    "entry_by_entry",
    "`*` multiplies entry by entry. A weighted sum over s is asked for, which is what the product `@` computes.",
    replace={"A @ V": "A * V"},
)
self_attention.slip("cut_and_entry_by_entry", replace={"A @ V": "A[:, : V.shape[1]] * V"}, form_of="entry_by_entry")
self_attention.slip(
    "wrong_order",
    "The two are in the wrong order, or V is transposed, so the shapes do not fit: A [T, T] times V [T, h] gives the mix [T, h].",
    replace={"A @ V": "V @ A"},
)
self_attention.slip("V_transposed", replace={"A @ V": "A @ V.T"}, form_of="wrong_order")
self_attention.slip(
    "plain_mean",
    "The weights are not used in the mix: every token counts the same. Output t weighs value s with A[t, s].",
    replace={"A @ V": "V.mean(dim=0).expand(A.shape[0], -1)"},
)
self_attention.slip(
    "values_normalised",
    "The values are normalised first. They go into the average as they are; only the weights sum to 1.",
    replace={"A @ V": "A @ F.normalize(V, dim=-1)"},
)
self_attention.slip(
    "softmax_of_the_values",
    "The values went through a softmax. It belongs to the scores, and A has had it already.",
    replace={"A @ V": "A @ torch.softmax(V, dim=-1)"},
)
self_attention.slip(
    "columns_normalised",
    "The columns of A are made to sum to 1. It is the rows that are weights, and they sum to 1 already.",
    replace={"A @ V": "(A / A.sum(dim=0, keepdim=True)) @ V"},
)
self_attention.slip(
    "the_largest_only",
    "Only the value with the largest weight is taken. Attention blends: all values count, each with its weight.",
    replace={"A @ V": "V[A.argmax(dim=-1)]"},
)
self_attention.slip(
    "not_summed",
    "The sum over s is missing: one vector per pair of tokens came back, [T, T, d]. Which dimension should disappear?",
    replace={"A @ V": "(A.unsqueeze(-1) * V)"},
)
self_attention.slip(
    "averaged_over_the_values",
    "The products are averaged over s, which divides by T once more. The weights sum to 1 already: add the products up.",
    replace={"A @ V": "(A.unsqueeze(-1) * V).mean(dim=1)"},
)
self_attention.slip(
    "divided_by_the_root_of_the_width",
    "The mix is divided by √h. That belongs to the scores before the softmax, and the rows of A are weights already.",
    replace={"A @ V": "A @ V / math.sqrt(V.shape[-1])"},
)
self_attention.slip(
    "averaged_over_tokens",
    "The outputs are averaged over the tokens. Each of the T outputs keeps a row of its own: [T, d].",
    replace={"A @ V @ Wo": "(A @ V @ Wo).mean(dim=0)"},
)
self_attention.slip(
    "filled_in_float32",
    "The result is float32: `torch.zeros(...)` makes float32 unless told otherwise. Give it the dtype of X, or use a product.",
    replace={
        "out = A @ V @ Wo": "out = torch.zeros(A.shape[0], Wo.shape[1])\n"
        "for t in range(A.shape[0]):\n    for s in range(A.shape[1]):\n        out[t] += A[t, s] * (V[s] @ Wo)"
    },
)
self_attention.slip("not_returned", NO_RETURN, replace={"return out, A": ""})


# reach_star: many weights and many directions are right, so the truth is one of them and the facts say what all have in common.

reach_star = Key(exercises.reach_star)


@reach_star.truth
def nearest_mix_of_any_few_words(V, star):
    """The nearest mix to the star among those of each subset of words (Carathéodory: few words are enough), then the arrow from it to the star."""
    S, d = V.shape
    best, weights = math.inf, None
    for chosen in range(1, 2**S):
        few = [s for s in range(S) if chosen >> s & 1]
        if len(few) > d + 1:
            continue
        # the affine combination of these words that is nearest: the last weight is 1 minus the others
        base, ways = V[few[-1]], (V[few[:-1]] - V[few[-1]]).T
        part = (
            torch.linalg.lstsq(ways, (star - base)[:, None], driver="gelsd").solution[:, 0]
            if len(few) > 1
            else V.new_zeros(0)
        )
        mixed = torch.cat([part, 1 - part.sum().reshape(1)])
        far = (mixed @ V[few] - star).norm().item()
        if mixed.min() >= -1e-9 and far < best:
            best = far
            weights = V.new_zeros(S)
            weights[few] = mixed.clamp(min=0)
    if best < 1e-3:
        return weights / weights.sum(), None
    return None, star - weights @ V


@reach_star.base
def from_the_last_to_the_first(V, star):
    weights = torch.full((len(V),), 1 / len(V), dtype=V.dtype)
    for _ in range(300):
        arrow = star - weights @ V
        along = V @ arrow
        best = along.argmax()
        worst = along.masked_fill(weights <= 0, math.inf).argmin()
        way = V[best] - V[worst]
        if arrow.norm() < 1e-3 or arrow @ way < 1e-9:
            break
        share = torch.minimum(arrow @ way / (way @ way), weights[worst])
        weights[best] += share
        weights[worst] -= share
    arrow = star - weights @ V
    if arrow.norm() < 0.05:
        return weights, None
    return None, arrow


@reach_star.right("the scores of a softmax, moved along the gradient: words that are ahead get more")
def more_for_those_ahead(V, star):
    w = torch.full((len(V),), 1 / len(V), dtype=V.dtype)
    for _ in range(1500):
        w = w * torch.exp(0.2 * V @ (star - w @ V))
        w = w / w.sum()
    left = star - w @ V
    return (w, None) if left.norm() < 0.05 else (None, left)


@reach_star.right("gradient descent on weights that are put back to sum 1 and not below 0")
def projected_descent(V, star):
    def allowed(w):
        ordered = torch.sort(w, descending=True).values
        over = (torch.cumsum(ordered, 0) - 1) / torch.arange(1, len(w) + 1)
        k = int((ordered > over).sum())
        return torch.clamp(w - over[k - 1], min=0)

    w = torch.full((len(V),), 1 / len(V), dtype=V.dtype)
    step = 1 / (torch.linalg.matrix_norm(V, 2) ** 2 + 1e-9)
    for _ in range(500):
        w = allowed(w + step * (V @ (star - w @ V)))
    left = star - w @ V
    if left.norm() < 0.05:
        return w.tolist(), None
    return None, left.tolist()


@reach_star.right("a perceptron: it looks for a direction, and the words on which it stumbles are the weights")
def wall_by_perceptron(V, star):
    """A perceptron looks for a direction; the words on which it stumbles, counted, are the weights."""
    ways = star - V
    counts = torch.zeros(len(V), dtype=V.dtype)
    counts[0] = 1
    for _ in range(5000):
        u = counts @ ways / counts.sum()
        if u.norm() < 0.04:
            return counts / counts.sum(), None
        if (ways @ u).min() > 0:
            return None, u
        counts[(ways @ u).argmin()] += 1
    return counts / counts.sum(), None


reach_star.slip(
    "arrow_from_the_mean",
    "The direction is the arrow from the mean of the words to the star. Where the words lie in a long row, a word can be as far along that arrow as the "
    "star. From which mix must the arrow start, so that no word is ahead?",
    replace={"return None, arrow": "return None, star - V.mean(dim=0)"},
)
reach_star.slip(
    "arrow_from_the_nearest_word",
    "The direction is the arrow from the nearest word to the star. A mix of several words can be nearer than any of them: the arrow has to start there.",
    replace={"return None, arrow": "return None, star - V[(V - star).norm(dim=1).argmin()]"},
)
reach_star.slip(
    "arrow_turned_round",
    "The direction points from the star to the words, so the star is behind all of them. Turn it round.",
    replace={"return None, arrow": "return None, -arrow"},
)
reach_star.slip(
    "pair_the_wrong_way_round",
    "The pair is the wrong way round: first the weights, then the direction.",
    replace={"return weights, None": "return None, weights", "return None, arrow": "return arrow, None"},
)
reach_star.slip(
    "only_one_comes_back",
    "Only one of the two came back. Return a pair: `(weights, None)` for a star that can be reached, `(None, direction)` for another.",
    replace={"return weights, None": "return weights", "return None, arrow": "return arrow"},
)
reach_star.slip(
    "None_without_a_reason",
    "A star that can't be reached asks for its reason: a direction in which it is ahead of every word. `None` alone proves nothing.",
    replace={"return None, arrow": "return None, None"},
)
reach_star.slip(
    "always_both",
    "Weights and a direction came back together. For each star one of them is true: return `None` for the other.",
    replace={"return weights, None": "return weights, arrow", "return None, arrow": "return weights, arrow"},
)
reach_star.slip(
    "the_nearest_weights_for_every_star",
    "Weights come back for every star, the nearest there are. Where they miss the star, say so: `None` in their place, and a direction.",
    replace={"if arrow.norm() < 0.05:": "if True:"},
)


@reach_star.mistake(
    "You solved it without the rule that no weight may be negative, so a star outside of the words gets a negative weight. Nothing in attention can "
    "subtract a word."
)
def negative_weights_allowed(V, star):
    table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
    weights = torch.linalg.lstsq(table, goal[:, None], driver="gelsd").solution[:, 0]
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - weights @ V


@reach_star.mistake(
    "The weights are solved for once, and what is below 0 is cut off, or taken as a star out of reach. But other weights may reach the star with none "
    "below 0. And the arrow from the mean of the words to the star proves nothing."
)
def cut_off_and_stretched(V, star):
    table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
    weights = torch.linalg.lstsq(table, goal[:, None], driver="gelsd").solution[:, 0].clamp(min=0)
    weights = weights / weights.sum()
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - V.mean(dim=0)


@reach_star.mistake(
    "The weights are solved for once, what is below 0 is cut off, and the rest is made to sum to 1. That is a mix, but not the nearest one. "
    "Another mix may be on the star, and the arrow from this one proves nothing."
)
def cut_off_and_normalised(V, star):
    table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    goal = torch.cat([star, torch.ones(1, dtype=V.dtype)])
    weights = (torch.linalg.pinv(table) @ goal).clamp(min=0)
    weights = weights / weights.sum()
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - weights @ V


@reach_star.form(cut_off_and_normalised)
def cut_off_without_the_sum(V, star):
    weights = (torch.linalg.pinv(V.T) @ star).clamp(min=0)
    weights = weights / weights.sum()
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - weights @ V


@reach_star.mistake(
    "Three words in general position are taken for granted. `torch.linalg.solve` needs exactly three words of two numbers each that do not lie on one line; "
    "there may be one word or six, and two may be at the same place."
)
def exactly_three_words(V, star):
    table = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    weights = torch.linalg.solve(table, torch.cat([star, torch.ones(1, dtype=V.dtype)]))
    if weights.min() >= -1e-9:
        return weights.clamp(min=0), None
    clipped = weights.clamp(min=0) / weights.clamp(min=0).sum()
    return None, star - clipped @ V


_EVEN = "weights = torch.full((len(V),), 1 / len(V), dtype=V.dtype)"
_REACHED = "if arrow.norm() < 0.05:"

reach_star.slip(
    "triples_in_general_position",
    "All triples of words are tried, and triples on one line are skipped. Words that all lie on one line, or fewer than three of them, have mixes as well.",
    replace={
        _EVEN: """for i in range(len(V)):
    for j in range(i):
        for k in range(j):
            three = [i, j, k]
            table = torch.cat([V[three].T, torch.ones(1, 3, dtype=V.dtype)])
            if len(table) == 3 and torch.linalg.det(table).abs() > 1e-9:
                part = torch.linalg.solve(table, torch.cat([star, torch.ones(1, dtype=V.dtype)]))
                if part.min() > -1e-9:
                    weights = torch.zeros(len(V), dtype=V.dtype)
                    weights[three] = part.clamp(min=0)
                    return weights, None
"""
        + _EVEN,
        _REACHED: "if False:",
    },
)
reach_star.slip(
    "inside_the_box",
    "This tests the box around the words, coordinate by coordinate. A star can be in the box and still outside of the triangle.",
    replace={
        _EVEN: """low, high = V.min(dim=0).values, V.max(dim=0).values
if (star < low - 1e-9).any() or (star > high + 1e-9).any():
    return None, (star > high).to(V.dtype) - (star < low).to(V.dtype)
"""
        + _EVEN,
        _REACHED: "if True:",
    },
)


@reach_star.mistake(
    "Words that are near the star get more weight. That is a mix, but nothing makes it land on the star: the weights have to be solved for, or learned."
)
def softmax_of_nearness(V, star):
    weights = torch.softmax(-(V - star).norm(dim=1), dim=0)
    left = star - weights @ V
    return (weights, None) if left.norm() < 0.05 else (None, left)


reach_star.slip(
    "softmax_of_nearness_for_every_star",
    of=softmax_of_nearness,
    replace={"return (weights, None) if left.norm() < 0.05 else (None, left)": "return weights, None"},
    form_of=softmax_of_nearness,
)


@reach_star.mistake(
    "This is least squares, which only brings the mix near the star. Weights in attention have two rules more: none is below 0, and they sum to 1."
)
def plain_least_squares(V, star):
    weights = torch.linalg.lstsq(V.T, star[:, None], driver="gelsd").solution[:, 0]
    if (weights @ V - star).norm() < 0.05:
        return weights, None
    return None, star - weights @ V


reach_star.slip(
    "plain_least_squares_for_every_star",
    of=plain_least_squares,
    replace={"if (weights @ V - star).norm() < 0.05:": "if True:"},
    form_of=plain_least_squares,
)

reach_star.slip(
    "star_not_returned",
    NO_RETURN,
    replace={"return weights, None": "weights, None", "return None, arrow": "None, arrow"},
)


# superposition_error

superposition_error = Key(exercises.superposition_error)


@superposition_error.truth
def number_by_number(f, X, Y):
    """The sums of squares of the two norms, one entry at a time, in Python floats."""
    total, one, other = (part.detach().flatten().tolist() for part in (f(X + Y), f(X), f(Y)))
    off = sum((t - a - b) ** 2 for t, a, b in zip(total, one, other, strict=True))
    return math.sqrt(off) / math.sqrt(sum(t**2 for t in total))


@superposition_error.right("torch.linalg.norm of flattened tensors")
def flattened(f, X, Y):
    whole = f(X + Y).flatten()
    parts = f(X).flatten() + f(Y).flatten()
    return float(torch.linalg.norm(whole - parts) / torch.linalg.norm(whole))


@superposition_error.right("squares, a sum and a root")
def squares_and_root(f, X, Y):
    whole = f(X + Y)
    off = whole - f(X) - f(Y)
    return ((off**2).sum().sqrt() / (whole**2).sum().sqrt()).item()


@superposition_error.right("root mean squares: the number of entries cancels")
def root_mean_squares(f, X, Y):
    with torch.no_grad():
        whole = f(X + Y)
        off = whole - (f(X) + f(Y))
        return math.sqrt(off.square().mean()) / math.sqrt(whole.square().mean())


@superposition_error.right("a 0-d tensor off the graph, with a small number against division by zero")
def detached_tensor(f, X, Y):
    whole = f(X + Y).detach()
    return torch.norm(f(X).detach() + f(Y).detach() - whole) / (torch.norm(whole) + 1e-12)


@superposition_error.mistake(
    "The error is absolute: it is not divided by the norm of f(X + Y), so it grows with the size of the numbers."
)
def absolute(f, X, Y):
    return (f(X + Y) - f(X) - f(Y)).norm().item()


@superposition_error.mistake(
    "The entries of the difference are added up with their signs, so that they cancel. A norm squares each entry first."
)
def sums_cancel(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).sum().abs() / whole.sum().abs()).item()


@superposition_error.form(sums_cancel)
def sums_cancel_with_sign(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).sum() / whole.sum()).item()


@superposition_error.mistake(
    "The quotient is taken entry by entry, and only then a norm: small entries of f(X + Y) rule. Two norms are asked for, and one quotient."
)
def quotient_of_entries(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)) / whole).norm().item()


@superposition_error.mistake(
    "This is the mean of signed quotients: positive and negative entries cancel, and small denominators rule. Two norms are asked for, and one quotient."
)
def signed_mean(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)) / whole).mean().item()


@superposition_error.mistake(
    "The sum of the entries is divided by the norm: above the line the signs cancel. The Frobenius norm is asked for on both sides."
)
def sum_over_norm(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).sum() / whole.norm()).item()


@superposition_error.mistake(
    "The division is by the size of X + Y. What f makes of it is the yardstick: the norm of f(X + Y)."
)
def divided_by_the_input(f, X, Y):
    return ((f(X + Y) - f(X) - f(Y)).norm() / (X + Y).norm()).item()


@superposition_error.mistake(
    "The division is by the norm of f(X) + f(Y). The formula has the norm of f(X + Y) below the line."
)
def divided_by_the_parts(f, X, Y):
    parts = f(X) + f(Y)
    return ((f(X + Y) - parts).norm() / parts.norm()).item()


@superposition_error.mistake("The division is by ‖f(X)‖ + ‖f(Y)‖. The formula has the norm of f(X + Y) below the line.")
def divided_by_two_norms(f, X, Y):
    return ((f(X + Y) - f(X) - f(Y)).norm() / (f(X).norm() + f(Y).norm())).item()


@superposition_error.mistake(
    "The norms are subtracted, not the tensors. Two tensors can be equally long and still differ: take the norm of the difference."
)
def difference_of_norms(f, X, Y):
    whole = f(X + Y)
    return ((whole.norm() - f(X).norm() - f(Y).norm()).abs() / whole.norm()).item()


@superposition_error.form(difference_of_norms)
def difference_of_norms_with_sign(f, X, Y):
    whole = f(X + Y)
    return ((whole.norm() - f(X).norm() - f(Y).norm()) / whole.norm()).item()


@superposition_error.mistake(
    "One sign is turned: f(X + Y) − f(X) + f(Y), which is also f(X + Y) − (f(X) − f(Y)), adds f(Y). Both parts are subtracted."
)
def one_sign_wrong(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) + f(Y)).norm() / whole.norm()).item()


@superposition_error.mistake("The squares are not undone: this is the square of the quotient. A norm ends with a root.")
def squared(f, X, Y):
    whole = f(X + Y)
    return (((whole - f(X) - f(Y)) ** 2).sum() / (whole**2).sum()).item()


@superposition_error.mistake("The root is missing above the line: a sum of squares is divided by a norm.")
def one_root_missing(f, X, Y):
    whole = f(X + Y)
    return (((whole - f(X) - f(Y)) ** 2).sum() / whole.norm()).item()


@superposition_error.mistake("The quotient is upside down: the norm of f(X + Y) belongs below the line.")
def quotient_upside_down(f, X, Y):
    whole = f(X + Y)
    return (whole.norm() / (whole - f(X) - f(Y)).norm()).item()


@superposition_error.mistake(
    "f(0) is taken out first, so that a bias does not count. By the definition it does: a map with a bias is affine, not linear."
)
def bias_forgiven(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y) + f(torch.zeros_like(X))).norm() / whole.norm()).item()


@superposition_error.mistake("The number is rounded. Return it as it is, and round where it is printed.")
def rounded(f, X, Y):
    whole = f(X + Y)
    return round(((whole - f(X) - f(Y)).norm() / whole.norm()).item(), 2)


@superposition_error.form(rounded)
def rounded_to_three(f, X, Y):
    whole = f(X + Y)
    return round(((whole - f(X) - f(Y)).norm() / whole.norm()).item(), 3)


@superposition_error.form(rounded)
def rounded_to_four(f, X, Y):
    whole = f(X + Y)
    return round(((whole - f(X) - f(Y)).norm() / whole.norm()).item(), 4)


@superposition_error.mistake(
    "Absolute values are added up instead of squares. The Frobenius norm is the root of the sum of squares."
)
def absolute_values(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).abs().sum() / whole.abs().sum()).item()


@superposition_error.mistake("The largest entry is taken. The Frobenius norm counts all of them.")
def largest_entry(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).abs().max() / whole.abs().max()).item()


@superposition_error.mistake(
    "Only doubling is tested, f(2X) against 2·f(X), and Y is never used. Superposition asks about the sum of two different inputs."
)
def doubling_only(f, X, Y):
    doubled = f(2 * X)
    return ((doubled - 2 * f(X)).norm() / doubled.norm()).item()


@superposition_error.mistake(
    "The norms are taken along one dimension, row by row or column by column, so there are several numbers, or their mean. "
    "The Frobenius norm runs over all entries at once: one number."
)
def row_by_row(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).norm(dim=-1) / whole.norm(dim=-1)).mean().item()


@superposition_error.form(row_by_row)
def a_number_per_row(f, X, Y):
    whole = f(X + Y)
    return (whole - f(X) - f(Y)).norm(dim=-1) / whole.norm(dim=-1)


@superposition_error.form(row_by_row)
def an_item_per_row(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).norm(dim=-1) / whole.norm(dim=-1)).item()


@superposition_error.form(row_by_row)
def column_by_column(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).norm(dim=0) / whole.norm(dim=0)).mean().item()


@superposition_error.mistake(
    "This is the spectral norm (`ord=2`), the largest singular value of a matrix. The Frobenius norm is `.norm()`, and works for any shape."
)
def spectral_norm(f, X, Y):
    whole = f(X + Y)
    return (torch.linalg.matrix_norm(whole - f(X) - f(Y), 2) / torch.linalg.matrix_norm(whole, 2)).item()


@superposition_error.mistake(
    "This norm wants a matrix, but f may return a tensor of any shape. `.norm()`, or `torch.linalg.norm` without `ord`, takes any."
)
def matrices_only(f, X, Y):
    whole = f(X + Y)
    return (torch.linalg.norm(whole - f(X) - f(Y), "fro") / torch.linalg.norm(whole, "fro")).item()


@superposition_error.form(matrices_only)
def matrix_norm(f, X, Y):
    whole = f(X + Y)
    return (torch.linalg.matrix_norm(whole - f(X) - f(Y)) / torch.linalg.matrix_norm(whole)).item()


@superposition_error.form(matrices_only)
def norm_of_the_last_two(f, X, Y):
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).norm(dim=(-2, -1)) / whole.norm(dim=(-2, -1))).item()


@superposition_error.mistake(
    "The tensor that came back still hangs on the graph of f: it would drag along all that f computed. `.item()` makes a number of it."
)
def still_on_the_graph(f, X, Y):
    whole = f(X + Y)
    return (whole - f(X) - f(Y)).norm() / whole.norm()


@superposition_error.mistake(
    "numpy refuses a tensor that hangs on the graph, as soon as f has weights to be trained. Take the norms in torch; `.item()` works for all."
)
def through_numpy(f, X, Y):
    whole = f(X + Y)
    off = whole - f(X) - f(Y)
    return float((off.norm() / whole.norm()).numpy())


@superposition_error.mistake("Return how large the error is, as a number, and not yes or no.")
def yes_or_no(f, X, Y):
    return torch.allclose(f(X + Y), f(X) + f(Y))


@superposition_error.mistake(
    "X itself was changed: `+=` works in place, so f(X) afterwards is f(X + Y). Write `X + Y`, a new tensor."
)
def X_overwritten(f, X, Y):
    total = X
    total += Y
    whole = f(total)
    return ((whole - f(X) - f(Y)).norm() / whole.norm()).item()


@superposition_error.mistake(
    "The number is right, but X was changed on the way: `+=` and `add_` work in place. Write `X + Y`, a new tensor."
)
def X_overwritten_at_the_end(f, X, Y):
    parts = f(X) + f(Y)
    X += Y
    whole = f(X)
    return ((whole - parts).norm() / whole.norm()).item()


@superposition_error.mistake(NO_RETURN)
def nothing_returned(f, X, Y):
    whole = f(X + Y)
    ((whole - f(X) - f(Y)).norm() / whole.norm()).item()


@superposition_error.form(spectral_norm)
def spectral_norm_by_order(f, X, Y):
    whole = f(X + Y)
    return (torch.linalg.norm(whole - f(X) - f(Y), ord=2) / torch.linalg.norm(whole, ord=2)).item()


# xor_weights: many answers are right, so the truth is one of them and the facts say what all have in common.

xor_weights = Key(exercises.xor_weights)


@xor_weights.truth
def rise_then_fall(low, high):
    """With s = a + b: relu(s) − 2·relu(s − 1) is 0, 1, 1, 0, which is stretched and moved."""
    return (
        torch.ones(2, 2, dtype=torch.float64),
        torch.tensor([0.0, -1.0], dtype=torch.float64),
        torch.tensor([[1.0], [-2.0]], dtype=torch.float64) * (high - low),
        torch.tensor([low], dtype=torch.float64),
    )


@xor_weights.right("one neuron for “a, not b” and one for “b, not a”; b1 is not needed")
def one_but_not_the_other(low, high):
    W1 = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    return W1, torch.zeros(2), torch.full((2, 1), high - low), torch.full((1,), low)


@xor_weights.right("one neuron a corner, in float16, as parameters")
def one_neuron_per_corner(low, high):
    W1 = nn.Parameter(torch.tensor([[-1, -1, 1, 1], [-1, 1, -1, 1]], dtype=torch.float16))
    b1 = nn.Parameter(torch.tensor([1, 0, 0, -1], dtype=torch.float16))
    W2 = nn.Parameter(torch.tensor([[low], [high], [high], [low]], dtype=torch.float16))
    return W1, b1, W2, nn.Parameter(torch.tensor([0.0], dtype=torch.float16))


@xor_weights.right("off by a little less than a hundredth, three neurons, as a list")
def nearly_exact(low, high):
    W1 = torch.tensor([[3.0, 3.0, -1.0], [3.0, 3.0, 0.5]])
    b1 = torch.tensor([0.0, -3.0, -2.0])
    W2 = torch.tensor([[1.0], [-2.0], [1.0]]) * (high - low) / 3 * 1.009
    return [W1, b1, W2, torch.tensor([low])]


@xor_weights.right("found by training, from a seed, then stretched and moved")
def trained(low, high):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    optimiser = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimiser.step()
    W2, b2 = net[2].weight.T * (high - low), net[2].bias * (high - low) + low
    return net[0].weight.T, net[0].bias, W2, b2


@xor_weights.base
def plain_xor_weights(low, high):
    W1 = torch.ones(2, 2)
    b1 = torch.tensor([0.0, -1.0])
    W2 = torch.tensor([[1.0], [-2.0]]) * (high - low)
    b2 = torch.tensor([low])
    return W1, b1, W2, b2


xor_weights.slip(
    "computes_and",
    "This is AND: only (1, 1) stands out. One neuron with one threshold does that; XOR has to come back again for (1, 1).",
    replace={".ones(2, 2)": ".ones(2, 1)", "[0.0, -1.0]": "[-1.0]", ".tensor([[1.0], [-2.0]])": ".ones(1, 1)"},
)
xor_weights.slip(
    "computes_or",
    "This is OR: (1, 1) stands out, as (0, 1) and (1, 0) do. Something must pull it back, and pull harder than the first neuron lifts.",
    replace={"2.0": "1.0"},
)
xor_weights.slip(
    "zero_biases",
    "The four outputs lie on a plane: out(0, 1) + out(1, 0) equals out(0, 0) + out(1, 1), as for an affine map. Either no neuron bends between "
    "these inputs (with a + b and a bias of 0 or more it is never silent: give one of them a threshold), or the bends cancel. Inputs are 0 and 1 "
    "here, not −1 and 1.",
    replace={".tensor([0.0, -1.0])": ".zeros(2)"},
)
xor_weights.slip(
    "zero_biases_and_rising",
    replace={".tensor([0.0, -1.0])": ".zeros(2)", ".tensor([[1.0], [-2.0]])": ".ones(2, 1)"},
    form_of="zero_biases",
)
xor_weights.slip("bends_that_cancel", replace={"[0.0, -1.0]": "[-0.5, -1.5]", "2.0": "1.0"}, form_of="zero_biases")
xor_weights.slip(
    "everything_equal",
    "All four inputs get the same output. Either no neuron wakes up for any of them, because the biases are too far below zero, "
    "or W2 lets nothing through. Inputs are 0 and 1 here, not −1 and 1.",
    replace={"W2 = …": "W2 = torch.zeros(2, 1)"},
)
xor_weights.slip(
    "laid_out_the_other_way",
    "The weights are laid out [out, in], as nn.Linear stores them. Here x is on the left, `x @ W1`: W1 is [2, H] and W2 [H, 1].",
    replace={"[[1.0], [-2.0]]": "[[1.0, -2.0]]"},
)
xor_weights.slip(
    "three_neurons_laid_out_the_other_way",
    replace={
        ".ones(2, 2)": ".tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])",
        " -1.0": " -1.0, 0.0",
        "[[1.0], [-2.0]]": "[[1.0, -2.0, 0.0]]",
    },
    form_of="laid_out_the_other_way",
)
xor_weights.slip(
    "only_one_zero",
    "Of the two inputs that should stand out only (1, 0) does. The other needs a neuron, too.",
    replace={
        ".ones(2, 2)": ".tensor([[1.0], [-1.0]])",
        ".tensor([0.0, -1.0])": ".zeros(1)",
        ".tensor([[1.0], [-2.0]])": ".ones(1, 1)",
    },
)
xor_weights.slip(
    "only_zero_one",
    "Of the two inputs that should stand out only (0, 1) does. The other needs a neuron, too.",
    of="only_one_zero",
    replace={"[[1.0], [-1.0]]": "[[-1.0], [1.0]]"},
)
xor_weights.slip(
    "sign_of_W2",
    "It is the wrong way round: (0, 0) and (1, 1) come out on the side of `high`. Are low and high swapped, or the signs of W2? (Weights made for "
    "neurons that say 0 or 1, as in an old perceptron, do this, too: a ReLU does not stop at 1.)",
    replace={"[[1.0], [-2.0]]": "[[-1.0], [2.0]]", "[low]": "[high]"},
)
xor_weights.slip("sign_of_W2_alone", replace={"[[1.0], [-2.0]]": "[[-1.0], [2.0]]"}, form_of="sign_of_W2")
xor_weights.slip(
    "computes_nor",
    "This is NOR: (0, 0) alone stands out, and every feature that is on only leads away from `high`. XOR has to go there before it comes back.",
    replace={"torch.ones": "-torch.ones", "[0.0, -1.0]": "[2.0, 1.0]", "-2.0": "2.0"},
)
xor_weights.slip(
    "follows_a",
    "The outputs follow one of the two features, whatever the other says. XOR needs both: look for a neuron whose column of W1 is zero "
    "for one of them, or for a neuron that is missing.",
    replace={".ones(2, 2)": ".tensor([[1.0, 1.0], [0.0, 1.0]])", "-2.0": "0.25"},
)
xor_weights.slip(
    "follows_b", replace={".ones(2, 2)": ".tensor([[0.0, 1.0], [1.0, 1.0]])", "-2.0": "0.25"}, form_of="follows_a"
)
xor_weights.slip("follows_not_a", of="follows_a", replace={"[1.0]": "[-1.0]"}, form_of="follows_a")
xor_weights.slip("follows_not_b", of="follows_b", replace={"[1.0]": "[-1.0]"}, form_of="follows_a")
xor_weights.slip(
    "one_pulled_back",
    "One of (0, 1) and (1, 0) is left behind, and the three other inputs are nearer to `high`: an input that should go there is pulled back. "
    "Follow it through your neurons: which one wakes up, and with which sign in W2?",
    of="only_zero_one",
    replace={"torch.ones": "-torch.ones"},
)
xor_weights.slip(
    "the_other_pulled_back",
    of="one_pulled_back",
    replace={"[[-1.0], [1.0]]": "[[1.0], [-1.0]]"},
    form_of="one_pulled_back",
)
xor_weights.slip(
    "made_for_gelu",
    "(1, 1) alone stands out, on the far side: this is NAND. If the weights were made for GELU: that function dips below zero before it rises, "
    "and one neuron of it can do XOR. ReLU is flat there.",
    replace={
        ".ones(2, 2)": ".full((2, 1), 4.25)",
        "[0.0, -1.0]": "[-5.0]",
        "torch.tensor([[1.0], [-2.0]])": "-torch.ones(1, 1)",
    },
)
xor_weights.slip(
    "low_forgotten",
    "It is XOR, and the distance of the outputs is right, but they begin in the wrong place: for (0, 0) the output must be `low`. "
    "Which of the four is added whatever the input is?",
    replace={".tensor([low])": ".zeros(1)"},
)
xor_weights.slip(
    "a_little_off",
    "It is XOR, but the outputs for (0, 1) and (1, 0) are off by more than a hundredth of the distance from low to high. "
    "Weights found by training, or rounded, need a last touch by hand.",
    replace={"(high - low)": "(high - low) * 1.012"},
)
xor_weights.slip(
    "high_for_the_distance",
    "The outputs rise by `high` where they should rise from `low` to `high`. How far is it from one to the other?",
    replace={"(high - low)": "high"},
)
xor_weights.slip(
    "without_the_sign",
    "Only the size of the distance is used, so the outputs always rise. `high` may be the smaller of the two: then they have to fall.",
    replace={"(high - low)": "abs(high - low)"},
)
xor_weights.slip(
    "low_and_high_ignored",
    "Weights for one pair of heights come back whatever `low` and `high` are. Where `high` is below `low`, they are the wrong way round.",
    replace={" * (high - low)": "", ".tensor([low])": ".zeros(1)"},
)
xor_weights.slip(
    "takes_nothing",
    "The function takes nothing, and it is called with two numbers: `def xor_weights(low, high)`.",
    replace={"def xor_weights(low, high):": "def xor_weights():", " * (high - low)": "", ".tensor([low])": ".zeros(1)"},
)
xor_weights.slip(
    "whole_numbers",
    "A tensor of whole numbers came back: `torch.tensor([[1, 1], [1, 1]])` has dtype int64. Write 1.0, or add `dtype=torch.float64`.",
    replace={".ones(2, 2)": ".tensor([[1, 1], [1, 1]])", "[0.0, -1.0]": "[0, -1]"},
)
xor_weights.slip(
    "W2_flat",
    "W2 has one dimension. It is a matrix [H, 1]: one row per hidden neuron, one output.",
    replace={"[[1.0], [-2.0]]": "[1.0, -2.0]"},
)
xor_weights.slip(
    "b1_as_a_row",
    "b1 has two dimensions. A bias is one number per neuron, [H], not a row of a matrix.",
    replace={"[0.0, -1.0]": "[[0.0, -1.0]]"},
)
xor_weights.slip(
    "b2_without_dimension",
    "b2 has no dimension. It is a tensor with one entry, shape [1]: `torch.tensor([…])`, with brackets.",
    replace={"[low]": "low"},
)
xor_weights.slip(
    "lists",
    "Nested lists came back. Four tensors are asked for: put `torch.tensor(...)` around each.",
    replace={"W1, b1, W2, b2": "W1.tolist(), b1.tolist(), W2.tolist(), b2.tolist()"},
)
xor_weights.slip(
    "matrices_first",
    "The four are in another order. Return W1, b1, W2, b2: each matrix is followed by its bias.",
    replace={"W1, b1, W2, b2": "W1, W2, b1, b2"},
)
xor_weights.slip(
    "one_missing",
    "One of the four is missing. W1, b1, W2 and b2 are asked for, in this order; a bias that is not needed is `torch.zeros(...)`.",
    replace={", b2": ""},
)
xor_weights.slip("both_biases_missing", replace={"W1, b1, W2, b2": "W1, W2"}, form_of="one_missing")
xor_weights.slip(
    "b2_a_plain_number",
    "b2 is a plain number. Make it a tensor like the others, with one entry: shape [1].",
    replace={"torch.tensor([low])": "low"},
)
xor_weights.slip(
    "numpy_arrays",
    "Arrays of numpy came back. Tensors are asked for: `torch.from_numpy(...)` turns one into the other.",
    replace={"W1, b1, W2, b2": "W1.numpy(), b1.numpy(), W2.numpy(), b2.numpy()"},
)
xor_weights.slip(
    "takes_x",
    "The function takes other arguments: it is called with the two numbers `low` and `high`, and returns the weights. "
    "The check computes the outputs from them.",
    replace={
        "def xor_weights(low, high):": "def xor_weights(x):",
        " * (high - low)": "",
        ".tensor([low])": ".zeros(1)",
        "W1, b1, W2, b2": "torch.relu(x @ W1 + b1) @ W2 + b2",
    },
)
xor_weights.slip(
    "too_wide",
    "The hidden layer is wider than 8. Two neurons can do it.",
    replace={
        ".ones(2, 2)": ".cat([torch.ones(2, 2), torch.zeros(2, 7)], dim=1)",
        ".tensor([0.0, -1.0])": ".cat([torch.tensor([0.0, -1.0]), torch.zeros(7)])",
        ".tensor([[1.0], [-2.0]])": ".cat([torch.tensor([[1.0], [-2.0]]), torch.zeros(7, 1)])",
    },
)
xor_weights.slip(
    "the_outputs",
    "The answers came back, not the weights. Return W1, b1, W2 and b2: the check computes the outputs from them.",
    replace={"W1, b1, W2, b2": "torch.tensor([[low], [high], [high], [low]])"},
)
xor_weights.slip("weights_not_returned", NO_RETURN, replace={"return W1, b1, W2, b2": ""})


# Questions

quiz_hull = question(
    exercises.quiz_hull,
    right="C",
    wrong={
        "A": "The scores are free, the weights are not: softmax makes them positive, and each row sums to 1. So each number of a mix is an average.",
        "B": "A multiple needs a weight above 1 or below 0. Softmax gives positive weights that sum to 1, so the mix stays between the values.",
        "D": "No vector is normalised: only the weights sum to 1. With values near 100 the mix would be near 100, too.",
    },
)

quiz_linear = question(
    exercises.quiz_linear,
    right="A",
    wrong={
        "B": "With A frozen there is no query left: X reaches the output through the values alone, and each step on that way is a matrix product.",
        "C": "The softmax was used to make A, before it was frozen. Now A is a constant: f(X) = A X Wv Wo, and f(3X) is 3·f(X).",
    },
)

quiz_xor = question(
    exercises.quiz_xor,
    right="B",
    wrong={
        "A": "Fewer numbers are no help here. Work out what LayerNorm makes of two numbers p and q: what are they without their mean, and what is left when "
        "that is divided by their spread?",
        "C": "That is true of ReLU, which looks at each number by itself. LayerNorm compares the two. How many lines can the sign of p − q draw?",
    },
)
