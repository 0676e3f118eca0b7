"""What is right, and what goes wrong, in `ffn_forward` of notebook 02."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import feed_forward as exercises

ffn_forward = Key(exercises.ffn_forward)


@ffn_forward.truth
def one_neuron_at_a_time(x, W1, b1, W2, b2, act):
    """No matrix product: each neuron reads its weighted sum, bends it, and writes its row of W2 into the output."""
    output = b2.expand(x.shape)
    for j in range(W1.shape[1]):
        read = b1[j]
        for i in range(W1.shape[0]):
            read = read + x[..., i] * W1[i, j]
        output = output + act(read).unsqueeze(-1) * W2[j]
    return output


@ffn_forward.right("einsum")
def with_einsum(x, W1, b1, W2, b2, act):
    hidden = act(torch.einsum("...d,df->...f", x, W1) + b1)
    return torch.einsum("...f,fd->...d", hidden, W2) + b2


@ffn_forward.right("F.linear, which wants the transposes")
def with_f_linear(x, W1, b1, W2, b2, act):
    return F.linear(act(F.linear(x, W1.T, b1)), W2.t(), b2)


@ffn_forward.right("a loop over tokens")
def token_by_token(x, W1, b1, W2, b2, act):
    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        hidden = act(W1.T @ token + b1)
        rows.append(W2.T @ hidden + b2)
    return torch.stack(rows).reshape(x.shape)


@ffn_forward.right("in place, on fresh tensors only")
def in_place(x, W1, b1, W2, b2, act):
    hidden = torch.matmul(x, W1)
    hidden += b1
    out = torch.matmul(act(hidden), W2)
    out += b2
    return out


@ffn_forward.right("a non-contiguous result")
def transposed_twice(x, W1, b1, W2, b2, act):
    hidden = act((W1.mT @ x.unsqueeze(-1)).squeeze(-1) + b1)
    return (hidden.unsqueeze(-2) @ W2).transpose(-1, -2).squeeze(-1) + b2


ffn_forward.slips("""
of with_f_linear
in return F.linear(act(F.linear(x, W1.T, b1)), W2.t(), b2)
activation_after_second_product: return act((x @ W1 + b1) @ W2 + b2)
    The activation comes too late: it is applied to the output, after W2. It belongs between the two products, on the d_ff neurons.
b2_inside_the_activation: return act(act(x @ W1 + b1) @ W2 + b2)
    There is an activation too many: the output, with b2 in it, is bent a second time. The last step of the FFN is linear.
tokens_averaged: return (act(x @ W1 + b1) @ W2 + b2).mean(dim=-2)
    The tokens are averaged. An FFN never mixes positions: every token keeps a row of its own, and the output has the shape of x.
no_return
  + hidden = act(x @ W1 + b1)
  + hidden @ W2 + b2
    NO_RETURN
cut_off_from_the_graph
  + with torch.no_grad():
  +     return act(x @ W1 + b1) @ W2 + b2
    The values are right, but what comes back is cut off from the graph (by `torch.no_grad()`, `.detach()` or `.data`), so nothing could learn through
    it.
view_instead_of_reshape
  + tokens = x.view(-1, x.shape[-1])
  + return (act(tokens @ W1 + b1) @ W2 + b2).view(x.shape)
    `.view` refuses an x whose memory is not in order, such as a transposed one. `.reshape` copies where it must; and `x @ W1` needs neither.
x_overwritten
  + out = act(x @ W1 + b1) @ W2 + b2
  + x.data.copy_(out)
  + return out
    x itself is changed (an operator such as `+=` or a method with a trailing underscore works in place). The caller still needs x, for the residual.
numpy_array: return (act(x @ W1 + b1) @ W2 + b2).detach().numpy()
    A NumPy array comes back. This course computes with PyTorch's tensors, which know their gradients: leave out `.numpy()`.
three_dimensions_taken_for_granted
  + B, T, d = x.shape
  + return (act(x.reshape(B * T, d) @ W1 + b1) @ W2 + b2).reshape(B, T, d)
    x is taken apart as if it had a fixed number of dimensions. It may have any; `@` works on the last two and leaves the others alone.
| two_dimensions_taken_for_granted
  + T, d = x.shape
  + return torch.stack([act(x[t] @ W1 + b1) @ W2 + b2 for t in range(T)]).reshape(T, d)
hidden_layer_and_output
  + h = act(x @ W1 + b1)
  + return h, h @ W2 + b2
    The hidden layer comes back together with the output. Only the output is asked for, as one tensor.
|| output_and_hidden_layer: h, h @ W2 + b2 -> h @ W2 + b2, h
hidden_layer_returned: return act(x @ W1 + b1)
    The hidden layer comes back. What is asked is the output: the hidden layer, through W2, plus b2.
flattened
  + tokens = x.reshape(-1, x.shape[-1])
  + return act(tokens @ W1 + b1) @ W2 + b2
    The tokens come back in one long list, [number of tokens, d_model]. The output has the shape of x: `x @ W1` keeps it by itself.
turned_into_float32: return (act(x @ W1 + b1) @ W2 + b2).float()
    The result is float32, whatever came in. `.float()`, or a fresh torch.zeros(...) that is filled, loses the dtype of x.
two_dimensions_asked
  + rows = [act(token @ W1 + b1) @ W2 + b2 for token in x]
  + return torch.stack(rows)
    One token [d_model] is not handled: the code asks for more dimensions than one. `x @ W1` works for any number of them, none besides the last
    included.
squeezed: return (act(x @ W1 + b1) @ W2 + b2).squeeze()
    `squeeze` takes out every dimension of size 1, also one that was in x: one sentence, one token, or one neuron. Leave it away: `@` needs no help.
in F.linear(act(F.linear(x, W1.T, b1)), W2.t(), b2)
activation_on_the_input: (act(x) @ W1 + b1) @ W2 + b2
    The activation is applied to x, before W1. A neuron applies it to what it has read: the weighted sum, with its bias.
no_activation: (x @ W1 + b1) @ W2 + b2
    The activation is missing, so the two products collapse into one linear map. Where in the formula is `act`?
b1_missing: act(x @ W1) @ W2 + b2
    b1 is missing: each neuron needs its own threshold, added before the activation.
b2_missing: act(x @ W1 + b1) @ W2
    b2 is missing: it is added once, at the very end, to every token.
no_biases: act(x @ W1) @ W2
    Both biases are missing: b1 goes in before the activation, b2 after the second product.
b1_after_the_activation: (act(x @ W1) + b1) @ W2 + b2
    b1 is added after the activation. It is the neuron's threshold, so it must be added before `act`.
weights_transposed: act(x @ W1.T + b1) @ W2.T + b2
    The sizes in a product do not fit: a weight is transposed, the two are swapped, or something else than the hidden layer meets W2. Here W1 is
    [d_model, d_ff] and W2 is [d_ff, d_model], used as `x @ W1`; nn.Linear and F.linear work with the transposes.
| f_linear_without_transposes: F.linear(act(F.linear(x, W1, b1)), W2, b2)
relu_hard_coded: torch.relu(x @ W1 + b1) @ W2 + b2
    ReLU is built in: `act` is an argument and may be any function. Call what you were handed.
gelu_hard_coded: F.gelu(x @ W1 + b1) @ W2 + b2
    GELU is built in: `act` is an argument and may be any function. Call what you were handed.
residual_added: x + act(x @ W1 + b1) @ W2 + b2
    x is added to the output. The residual connection is the block's business, around the FFN; here only FFN(x) is asked for.
matrices_only: torch.mm(act(torch.mm(x, W1) + b1), W2) + b2
    `torch.mm` takes two matrices and nothing else. `@` (torch.matmul) works on the last dimension and leaves any others alone.
column_vectors: W2 @ act(W1 @ x + b1) + b2
    This is written for column vectors, W @ x. Here a token is a row: x is on the left, `x @ W1`, and so any number of tokens can be its rows.
pythons_max: max(0, x @ W1 + b1) @ W2 + b2
    `max(0, ...)` is Python's own and compares whole objects; a tensor has many truth values. And ReLU is not what is asked: call `act`.
star_instead_of_at: act(x * W1 + b1) * W2 + b2
    `*` multiplies entry by entry. The weighted sums over all inputs are a matrix product, `@`.
biases_swapped: act(x @ W1 + b2) @ W2 + b1
    A bias meets a vector of another length: b1 [d_ff] goes with the hidden layer, b2 [d_model] with the output. Have the two changed places, is the
    second product missing, or is a bracket elsewhere?
capped_at_six: act(x @ W1 + b1).clamp(max=6) @ W2 + b2
    Large numbers are cut off at 6, as ReLU6 or `clamp(max=6)` do. Activations may be of any size: hand on what `act` returns, as it is.
| read_sum_capped_at_six: act((x @ W1 + b1).clamp(max=6)) @ W2 + b2
""")
