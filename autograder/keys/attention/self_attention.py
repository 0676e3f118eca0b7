"""What is right, and what goes wrong, in `self_attention` of notebook 01."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
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


self_attention.slips("""
given_A_not_returned
  - if A is None:
  + given = A
  + if True:
  - A @ V
  + (A if given is None else given) @ V
    out is made with the A that was handed in, but another one is returned.
softmax_of_the_given_A
  - if A is None:
  + if A is not None:
  +     A = torch.softmax(A, dim=-1)
  + else:
    The A that was handed in goes through a softmax. It holds weights, not scores: use it as it is.
scores_returned
  - out = A @ V @ Wo
  + given = A if 'scores' not in locals() else scores
  + out = A @ V @ Wo
  - out, A
  + out, given
    Scores came back where the weights were asked for: A is what softmax makes of them, positive, with rows that sum to 1.
None_returned
  - if A is None:
  + given = A
  + if A is None:
  - out, A
  + out, given
    out is right, but the second of the pair is the argument A, which is None when no A is handed in. Return the weights that were used.
in A = torch.softmax(scores, dim=-1)
softmax_over_the_wrong_dimension: A = torch.softmax(scores, dim=0)
    The columns of A sum to 1, not its rows. Each token shares out a weight of 1 among the tokens it looks at: softmax over the last
    dimension.
causal_mask: A = torch.softmax(scores.masked_fill(torch.ones_like(scores).triu(1) > 0, float('-inf')), dim=-1)
    A causal mask hides the later tokens. Here there is no mask: every token looks at all of them.
| zeros_above_the_diagonal: A = torch.softmax(scores.tril(), dim=-1)
in scores = Q @ K.T / math.sqrt(Wq.shape[1])
not_scaled: scores = Q @ K.T
    The scores are not divided by √h. With wide heads they grow large, and softmax gives nearly everything to one token.
scaled_by_d_model: scores = Q @ K.T / math.sqrt(X.shape[1])
    The scores are divided by the root of d, the width of X. A score is a sum of h products: it is the head's width, Wq.shape[1], that counts.
scaled_by_the_number_of_tokens: scores = Q @ K.T / math.sqrt(X.shape[0])
    The scores are divided by the root of T, the number of tokens. A score is a sum of h products: the head's width, Wq.shape[1], counts.
divided_by_h: scores = Q @ K.T / Wq.shape[1]
    The scores are divided by h itself, without the root.
multiplied_by_the_root: scores = Q @ K.T * math.sqrt(Wq.shape[1])
    The scores are multiplied by √h where they should be divided by it.
queries_and_keys_swapped: scores = K @ Q.T / math.sqrt(Wq.shape[1])
    Queries and keys have changed places: row t of the scores must hold the query of token t with the keys of all tokens, Q @ K.T.
keys_not_transposed: scores = Q @ K / math.sqrt(Wq.shape[1])
    Q @ K does not fit: both are [T, h]. For all pairs of tokens, one of the two is transposed.
width_built_in: scores = Q @ K.T / math.sqrt(64)
    The width of the head is built in as a number. It is a size of the matrices that you are handed: Wq.shape[1].
scaled_after_the_softmax
  - scores = Q @ K.T / math.sqrt(Wq.shape[1])
  - A = torch.softmax(scores, dim=-1)
  + scores = Q @ K.T
  + A = torch.softmax(scores, dim=-1) / math.sqrt(Wq.shape[1])
    The division by √h comes after the softmax, so the weights no longer sum to 1. Scale the scores first.
in A is None
given_A_ignored: True
    The A that was handed in is ignored: it is computed anew each time. Steps 2 and 3 are only for `A is None`.
truth_value_of_a_tensor: not A
    `if A`, `not A` and `A or …` ask a tensor whether it is true, and a tensor of many numbers has no answer. Ask `A is None`.
no_default_for_A: A=None -> A
    A must be optional: `A=None` in the signature. Without it the function can't be called with five arguments.
in V @ Wo
Wo_forgotten: V
    The last step is missing: the mixed values have width h, and Wo [h, d] brings them back to width d.
X_mixed_alone: X
    A mixes X itself, and neither Wv nor Wo is used. It is the values, X @ Wv, that are mixed, and Wo brings the mix back to width d.
in torch.softmax(scores, dim=-1)
softmax_forgotten: scores
    The softmax is missing: the scores themselves are used as weights. They can be negative and do not sum to 1.
weights_cut_off: torch.softmax(scores, dim=-1).detach()
    A is detached, so no gradient reaches Wq and Wk: the head could never learn where to look.
in out, A
out_alone: out
    Only `out` came back. The pair (out, A) is asked for: the weights are what one looks at.
pair_turned_round: A, out
    The pair is the wrong way round: first out, then A.
returned_A_cut_off: out, A.detach()
    The A that comes back is detached, so gradients reach the matrices through out alone. Return A as it was computed.
cut_off_from_the_graph: out.detach(), A.detach()
    The values are right, but what comes back is cut off from the graph (by `torch.no_grad()`, `.detach()` or `.data`), so nothing could learn through
    it.
in Q, K, V = X @ Wq, X @ Wk, X @ Wv
keys_made_with_Wq: Q, K, V = X @ Wq, X @ Wq, X @ Wv
    The keys are made with Wq, so Wk is never used. Queries and keys have a matrix each.
values_made_with_Wk: Q, K, V = X @ Wq, X @ Wk, X @ Wk
    The values are made with Wk, so Wv is never used. What a token is found by (its key) and what it hands over (its value) are two things.
weights_in_the_other_layout: Q, K, V = X @ Wq.T, X @ Wk.T, X @ Wv.T
    The matrices are transposed. Here they are [d, h] and on the right, `X @ Wq`; nn.Linear stores the transposes.
in @ V @
X_mixed_instead_of_V: @ X @
    A mixes X itself, of width d, and the shapes no longer fit. It is the values, X @ Wv, that are mixed.
values_normalised: @ F.normalize(V, dim=-1) @
    The values are normalised first. They go into the average as they are; only the weights sum to 1.
softmax_of_the_values: @ torch.softmax(V, dim=-1) @
    The values went through a softmax. It belongs to the scores, and A has had it already.
in = A @
residual_added: = X + A @
    X is added to the output. The residual connection is the block's business, around attention; here only attention is asked for.
| residual_added_to_the_mix: = X + A @
A_transposed_in_the_mix: = A.T @
    The mix uses A.T: output t collects what the others gave to token t. Row t of A holds the weights of output t.
softmax_again: = torch.softmax(A, dim=-1) @
    A has been through a softmax already: its rows are weights and sum to 1. Another softmax makes a flatter set of weights.
columns_normalised: = (A / A.sum(dim=0, keepdim=True)) @
    The columns of A are made to sum to 1. It is the rows that are weights, and they sum to 1 already.
given_A_as_a_mask
  - if A is None:
  -     scores = Q @ K.T / math.sqrt(Wq.shape[1])
  + for _ in range(1):
  +     scores = Q @ K.T / math.sqrt(Wq.shape[1]) + (0 if A is None else A)
    The A that was handed in is added to the scores, as a mask would be. It holds weights: use it in place of steps 2 and 3.
entry_by_entry: A @ V -> A * V
    `*` multiplies entry by entry. A weighted sum over s is asked for, which is what the product `@` computes.
| cut_and_entry_by_entry: A @ -> A[:, : V.shape[1]] *
wrong_order: A @ V -> V @ A
    The two are in the wrong order, or V is transposed, so the shapes do not fit: A [T, T] times V [T, h] gives the mix [T, h].
| V_transposed: @ V @ -> @ V.T @
in A @ V
plain_mean: V.mean(dim=0).expand(A.shape[0], -1)
    The weights are not used in the mix: every token counts the same. Output t weighs value s with A[t, s].
the_largest_only: V[A.argmax(dim=-1)]
    Only the value with the largest weight is taken. Attention blends: all values count, each with its weight.
not_summed: (A.unsqueeze(-1) * V)
    The sum over s is missing: one vector per pair of tokens came back, [T, T, d]. Which dimension should disappear?
averaged_over_the_values: (A.unsqueeze(-1) * V).mean(dim=1)
    The products are averaged over s, which divides by T once more. The weights sum to 1 already: add the products up.
in out = A @ V @ Wo
divided_by_the_root_of_the_width: out = A @ V / math.sqrt(V.shape[-1]) @ Wo
    The mix is divided by √h. That belongs to the scores before the softmax, and the rows of A are weights already.
averaged_over_tokens: out = (A @ V @ Wo).mean(dim=0)
    The outputs are averaged over the tokens. Each of the T outputs keeps a row of its own: [T, d].
filled_in_float32
  + out = torch.zeros(A.shape[0], Wo.shape[1])
  + for t in range(A.shape[0]):
  +     for s in range(A.shape[1]):
  +         out[t] += A[t, s] * (V[s] @ Wo)
    The result is float32: `torch.zeros(...)` makes float32 unless told otherwise. Give it the dtype of X, or use a product.
not_returned: return out, A ->
    NO_RETURN
""")
