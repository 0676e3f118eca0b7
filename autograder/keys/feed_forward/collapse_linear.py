"""What is right, and what goes wrong, in `collapse_linear` of notebook 02."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import feed_forward as exercises

collapse_linear = Key(exercises.collapse_linear)


@collapse_linear.truth
def sums_over_neurons(W1, b1, W2, b2):
    """Each neuron's share: what it reads times what it writes, summed over all neurons."""
    W, b = torch.zeros_like(W1[:, :1] * W2[:1]), b2
    for j in range(W1.shape[1]):
        W = W + W1[:, j].unsqueeze(1) * W2[j].unsqueeze(0)
        b = b + b1[j] * W2[j]
    return W, b


@collapse_linear.right("einsum")
def by_einsum(W1, b1, W2, b2):
    return torch.einsum("df,fe->de", W1, W2), torch.einsum("f,fe->e", b1, W2) + b2


@collapse_linear.right("asks the linear map what it does with zero and with each unit vector")
def by_asking(W1, b1, W2, b2):
    def linear_ffn(x):
        return (x @ W1 + b1) @ W2 + b2

    d = W1.shape[0]
    b = linear_ffn(torch.zeros(d, dtype=W1.dtype))
    W = linear_ffn(torch.eye(d, dtype=W1.dtype)) - b
    return W, b


@collapse_linear.right("torch.mm, and a list instead of a tuple")
def by_mm(W1, b1, W2, b2):
    W = torch.mm(W1, W2)
    b = torch.mm(b1.unsqueeze(0), W2).squeeze(0) + b2
    return [W, b]


@collapse_linear.base
@collapse_linear.right("F.linear and a transposed product, not contiguous")
def by_transposes(W1, b1, W2, b2):
    return (W2.T @ W1.T).T, F.linear(b1, W2.T, b2)


@collapse_linear.mistake(NO_RETURN)
def pair_not_returned(W1, b1, W2, b2):
    W = W1 @ W2
    b = b1 @ W2 + b2


collapse_linear.slips("""
of by_einsum
in torch.einsum("df,fe->de", W1, W2), torch.einsum("f,fe->e", b1, W2)
order_reversed: W2 @ W1, b1 @ W2
    The two matrices are multiplied in the wrong order: x meets W1 first, so W1 is on the left. The shape [d_ff, d_ff] gives it away.
biases_added: W1 @ W2, b1
    b1 and b2 are added as they are, but they live in different spaces: b1 has d_ff numbers, b2 d_model. What does W2 make of b1?
bias_as_a_column: W1 @ W2, W2 @ b1
    This is written for column vectors, W @ x. Here rows are multiplied from the left: b1 @ W2.
entry_by_entry: W1 * W2, b1 @ W2
    `*` multiplies entry by entry. Two maps one after the other are a matrix product, `@`.
bias_with_two_dimensions: W1 @ W2, b1.unsqueeze(0) @ W2
    b has the shape [1, d_model]. A bias has one dimension, [d_model]: b1 @ W2 works without an extra one.
activation_kept: torch.relu(W1) @ W2, torch.relu(b1) @ W2
    A ReLU is left in. The question is what remains when the activation is the identity; with an activation in it there is no single W.
result_transposed: (W1 @ W2).T, b1 @ W2
    W is transposed. The convention here is x @ W, as for W1 and W2; nn.Linear's is the other one.
bias_read_off_at_ones: W1 @ W2, (torch.ones(W1.shape[0], dtype=W1.dtype) @ W1 + b1) @ W2
    b is what comes out for an x of ones. Put in x = 0: what is left of (x @ W1 + b1) @ W2 + b2 is b, and W brings the rest.
in torch.einsum("df,fe->de", W1, W2), torch.einsum("f,fe->e", b1, W2) + b2
b2_forgotten: W1 @ W2, b1 @ W2
    b2 is missing from b: it survives unchanged, beside what W2 makes of b1.
only_the_matrix: W1 @ W2
    Only W comes back. A pair (W, b) is asked for: the bias collapses too.
pair_reversed: b1 @ W2 + b2, W1 @ W2
    The pair is the wrong way round: first W, then b.
graph_cut: (W1 @ W2).detach(), (b1 @ W2 + b2).detach()
    W and b are right, but what comes back is cut off from the graph: no gradient reaches W1, b1, W2 and b2.
of base
in (W2.T @ W1.T).T, F.linear(b1, W2.T, b2)
bias_inside_the_matrix: (W1 + b1) @ W2, b2
    b1 is added to W1. It is no part of what multiplies x: set x to zero in (x @ W1 + b1) @ W2 + b2 and see where b1 ends up.
b1_forgotten: W1 @ W2, b2
    b is b2 alone: b1 is forgotten. It is added before W2, so what arrives at the output is b1 @ W2.
dtype_lost
  - return (W2.T @ W1.T).T, F.linear(b1, W2.T, b2)
  + W, b = torch.zeros(W1.shape[0], W1.shape[0]), torch.zeros(W1.shape[0])
  + W += W1 @ W2
  + b += b1 @ W2 + b2
  + return W, b
    The result is float32 whatever came in: a fresh tensor such as torch.zeros(...) has its own dtype. Keep that of W1.
""")
