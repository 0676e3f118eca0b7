"""What is right, and what goes wrong, in `self_attention` of notebook 01."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import attention as exercises

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
