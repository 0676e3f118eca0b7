"""The marking guide of notebook 02, The FFN, from formula to module.

Each answer is typed as a student would type it in the exercise's cell, with the notebook's imports: math, torch, F and nn.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key, question
from ffnlab.course.exercises import feed_forward as exercises

# ffn_forward

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


@ffn_forward.mistake(
    "The activation comes too late: it is applied to the output, after W2. It belongs between the two products, on the d_ff hidden numbers."
)
def activation_after_second_product(x, W1, b1, W2, b2, act):
    return act((x @ W1 + b1) @ W2 + b2)


@ffn_forward.mistake(
    "The activation is applied to x, before W1. A neuron applies it to what it has read: the weighted sum, with its bias."
)
def activation_on_the_input(x, W1, b1, W2, b2, act):
    return (act(x) @ W1 + b1) @ W2 + b2


@ffn_forward.mistake(
    "The activation is missing, so the two products collapse into one linear map. Where in the formula is `act`?"
)
def no_activation(x, W1, b1, W2, b2, act):
    return (x @ W1 + b1) @ W2 + b2


@ffn_forward.mistake("b1 is missing: each neuron needs its own threshold, added before the activation.")
def b1_missing(x, W1, b1, W2, b2, act):
    return act(x @ W1) @ W2 + b2


@ffn_forward.mistake("b2 is missing: it is added once, at the very end, to every token.")
def b2_missing(x, W1, b1, W2, b2, act):
    return act(x @ W1 + b1) @ W2


@ffn_forward.mistake("Both biases are missing: b1 goes in before the activation, b2 after the second product.")
def no_biases(x, W1, b1, W2, b2, act):
    return act(x @ W1) @ W2


@ffn_forward.mistake(
    "b1 is added after the activation. It is the neuron's threshold, so it must be added before `act`."
)
def b1_after_the_activation(x, W1, b1, W2, b2, act):
    return (act(x @ W1) + b1) @ W2 + b2


@ffn_forward.mistake(
    "The sizes in a product do not fit: a weight is transposed, the two are swapped, or something else than the hidden layer meets W2. "
    "Here W1 is [d_model, d_ff] and W2 is [d_ff, d_model], used as `x @ W1`; nn.Linear and F.linear work with the transposes."
)
def weights_transposed(x, W1, b1, W2, b2, act):
    return act(x @ W1.T + b1) @ W2.T + b2


@ffn_forward.mistake(
    "There is an activation too many: the output, with b2 in it, is bent a second time. The last step of the FFN is linear."
)
def b2_inside_the_activation(x, W1, b1, W2, b2, act):
    return act(act(x @ W1 + b1) @ W2 + b2)


@ffn_forward.mistake("ReLU is built in: `act` is an argument and may be any function. Call what you were handed.")
def relu_hard_coded(x, W1, b1, W2, b2, act):
    return torch.relu(x @ W1 + b1) @ W2 + b2


@ffn_forward.mistake("GELU is built in: `act` is an argument and may be any function. Call what you were handed.")
def gelu_hard_coded(x, W1, b1, W2, b2, act):
    return F.gelu(x @ W1 + b1) @ W2 + b2


@ffn_forward.mistake(
    "x is added to the output. The residual connection is the block's business, around the FFN; here only FFN(x) is asked for."
)
def residual_added(x, W1, b1, W2, b2, act):
    return x + act(x @ W1 + b1) @ W2 + b2


@ffn_forward.mistake(
    "The tokens are averaged. An FFN never mixes positions: every token keeps a row of its own, and the output has the shape of x."
)
def tokens_averaged(x, W1, b1, W2, b2, act):
    return (act(x @ W1 + b1) @ W2 + b2).mean(dim=-2)


@ffn_forward.mistake(NO_RETURN)
def no_return(x, W1, b1, W2, b2, act):
    hidden = act(x @ W1 + b1)
    hidden @ W2 + b2


@ffn_forward.mistake(
    "The values are right, but what comes back is cut off from the graph (by `torch.no_grad()`, `.detach()` or `.data`), so nothing could learn through it."
)
def cut_off_from_the_graph(x, W1, b1, W2, b2, act):
    with torch.no_grad():
        return act(x @ W1 + b1) @ W2 + b2


@ffn_forward.mistake(
    "`torch.mm` takes two matrices and nothing else. `@` (torch.matmul) works on the last dimension and leaves any others alone."
)
def matrices_only(x, W1, b1, W2, b2, act):
    return torch.mm(act(torch.mm(x, W1) + b1), W2) + b2


@ffn_forward.mistake(
    "`.view` refuses an x whose memory is not in order, such as a transposed one. `.reshape` copies where it must; and `x @ W1` needs neither."
)
def view_instead_of_reshape(x, W1, b1, W2, b2, act):
    tokens = x.view(-1, x.shape[-1])
    return (act(tokens @ W1 + b1) @ W2 + b2).view(x.shape)


@ffn_forward.mistake(
    "x itself is changed (an operator such as `+=` or a method with a trailing underscore works in place). The caller still needs x, for the residual."
)
def x_overwritten(x, W1, b1, W2, b2, act):
    out = act(x @ W1 + b1) @ W2 + b2
    x.data.copy_(out)
    return out


@ffn_forward.mistake(
    "This is written for column vectors, W @ x. Here a token is a row: x is on the left, `x @ W1`, and so any number of tokens can be its rows."
)
def column_vectors(x, W1, b1, W2, b2, act):
    return W2 @ act(W1 @ x + b1) + b2


@ffn_forward.mistake(
    "`max(0, ...)` is Python's own and compares whole objects; a tensor has many truth values. And ReLU is not what is asked: call `act`."
)
def pythons_max(x, W1, b1, W2, b2, act):
    return max(0, x @ W1 + b1) @ W2 + b2


@ffn_forward.mistake("`*` multiplies entry by entry. The weighted sums over all inputs are a matrix product, `@`.")
def star_instead_of_at(x, W1, b1, W2, b2, act):
    return act(x * W1 + b1) * W2 + b2


@ffn_forward.mistake(
    "A bias meets a vector of another length: b1 [d_ff] goes with the hidden layer, b2 [d_model] with the output. Have the two changed places, "
    "is the second product missing, or is a bracket elsewhere?"
)
def biases_swapped(x, W1, b1, W2, b2, act):
    return act(x @ W1 + b2) @ W2 + b1


@ffn_forward.mistake(
    "A NumPy array comes back. This course computes with PyTorch's tensors, which know their gradients: leave out `.numpy()`."
)
def numpy_array(x, W1, b1, W2, b2, act):
    return (act(x @ W1 + b1) @ W2 + b2).detach().numpy()


@ffn_forward.mistake(
    "x is taken apart as if it had a fixed number of dimensions. It may have any; `@` works on the last two and leaves the others alone."
)
def three_dimensions_taken_for_granted(x, W1, b1, W2, b2, act):
    B, T, d = x.shape
    return (act(x.reshape(B * T, d) @ W1 + b1) @ W2 + b2).reshape(B, T, d)


@ffn_forward.form(three_dimensions_taken_for_granted)
def two_dimensions_taken_for_granted(x, W1, b1, W2, b2, act):
    T, d = x.shape
    return torch.stack([act(x[t] @ W1 + b1) @ W2 + b2 for t in range(T)]).reshape(T, d)


@ffn_forward.mistake(
    "The hidden layer comes back together with the output. Only the output is asked for, as one tensor."
)
def hidden_layer_and_output(x, W1, b1, W2, b2, act):
    h = act(x @ W1 + b1)
    return h, h @ W2 + b2


@ffn_forward.form(hidden_layer_and_output)
def output_and_hidden_layer(x, W1, b1, W2, b2, act):
    h = act(x @ W1 + b1)
    return h @ W2 + b2, h


@ffn_forward.mistake("The hidden layer comes back. What is asked is the output: the hidden layer, through W2, plus b2.")
def hidden_layer_returned(x, W1, b1, W2, b2, act):
    return act(x @ W1 + b1)


@ffn_forward.mistake(
    "The tokens come back in one long list, [number of tokens, d_model]. The output has the shape of x: `x @ W1` keeps it by itself."
)
def flattened(x, W1, b1, W2, b2, act):
    tokens = x.reshape(-1, x.shape[-1])
    return act(tokens @ W1 + b1) @ W2 + b2


@ffn_forward.mistake(
    "The result is float32, whatever came in. `.float()`, or a fresh torch.zeros(...) that is filled, loses the dtype of x."
)
def turned_into_float32(x, W1, b1, W2, b2, act):
    return (act(x @ W1 + b1) @ W2 + b2).float()


@ffn_forward.mistake(
    "One token [d_model] is not handled: the code asks for more dimensions than one. `x @ W1` works for any number of them, none besides the last included."
)
def two_dimensions_asked(x, W1, b1, W2, b2, act):
    rows = [act(token @ W1 + b1) @ W2 + b2 for token in x]
    return torch.stack(rows)


@ffn_forward.mistake(
    "Large numbers are cut off at 6, as ReLU6 or `clamp(max=6)` do. Hidden numbers may be of any size: hand on what `act` returns, as it is."
)
def capped_at_six(x, W1, b1, W2, b2, act):
    return act(x @ W1 + b1).clamp(max=6) @ W2 + b2


@ffn_forward.form(capped_at_six)
def read_sum_capped_at_six(x, W1, b1, W2, b2, act):
    return act((x @ W1 + b1).clamp(max=6)) @ W2 + b2


@ffn_forward.mistake(
    "`squeeze` takes out every dimension of size 1, also one that was in x: one sentence, one token, or one neuron. Leave it away: `@` needs no help."
)
def squeezed(x, W1, b1, W2, b2, act):
    return (act(x @ W1 + b1) @ W2 + b2).squeeze()


# ffn_trace

ffn_trace = Key(exercises.ffn_trace)


@ffn_trace.truth
def neuron_by_neuron(x, W1, b1, W2, b2):
    """Each neuron's three numbers on their own; GELU from its tanh formula (Hendrycks & Gimpel 2016), no matrix product."""
    pre, act = [], []
    out = b2.expand(x.shape)
    for j in range(W1.shape[1]):
        read = b1[j]
        for i in range(W1.shape[0]):
            read = read + x[..., i] * W1[i, j]
        bent = read / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (read + 0.044715 * read * read * read)))
        out = out + bent.unsqueeze(-1) * W2[j]
        pre.append(read)
        act.append(bent)
    return {"pre": torch.stack(pre, -1), "act": torch.stack(act, -1), "out": out}


@ffn_trace.right("the formula written out")
def formula_written_out(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = 0.5 * pre * (1 + torch.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.right("a dict filled stage by stage")
def stage_by_stage(x, W1, b1, W2, b2):
    trace = {}
    trace["out"] = None
    trace["pre"] = torch.einsum("...d,df->...f", x, W1) + b1
    trace["act"] = nn.GELU(approximate="tanh")(trace["pre"])
    trace["out"] = torch.matmul(trace["act"], W2) + b2
    return trace


@ffn_trace.right("F.linear and dict()")
def with_dict(x, W1, b1, W2, b2):
    pre = F.linear(x, W1.T, b1)
    act = F.gelu(pre, approximate="tanh")
    return dict(pre=pre, act=act, out=F.linear(act, W2.T, b2))


@ffn_trace.right("a clone kept as the trace")
def clones(x, W1, b1, W2, b2):
    h = torch.matmul(x, W1).add_(b1)
    saved = h.clone()
    h = F.gelu(h, approximate="tanh")
    return {"out": h @ W2 + b2, "act": h.clone(), "pre": saved}


@ffn_trace.mistake(
    "pre and act are the same: pre is taken after the activation, or was overwritten by it. The first stage is what the neurons have read, before "
    "the activation."
)
def pre_taken_after_the_activation(x, W1, b1, W2, b2):
    pre = F.gelu(x @ W1 + b1, approximate="tanh")
    return {"pre": pre, "act": pre, "out": pre @ W2 + b2}


ffn_trace.slip(
    "pre_overwritten_in_place",
    "The activation overwrote pre: `act = pre` makes no copy, so changing one in place (`*=`, a trailing underscore) changes both. "
    "Compute act as a new tensor.",
    of=formula_written_out,
    replace={"act = …": "act = pre\nact *= 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))"},
)


@ffn_trace.mistake(
    "This is the exact GELU, with erf, which `F.gelu` computes unless told otherwise. GPT-2 uses the tanh approximation: `F.gelu` has an argument for it."
)
def exact_gelu(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("This is ReLU; the trace asks for GELU in its tanh form, which lets small negative values through.")
def relu_instead_of_gelu(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = torch.relu(pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake(
    "This is the sigmoid approximation of GELU, x·sigmoid(1.702·x). It differs from the tanh form by up to 0.02."
)
def sigmoid_gelu(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = pre * torch.sigmoid(1.702 * pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("The key “pre” is missing. The trace has three stages: pre, act and out.")
def pre_missing(x, W1, b1, W2, b2):
    act = F.gelu(x @ W1 + b1, approximate="tanh")
    return {"act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("The key “act” is missing. The trace has three stages: pre, act and out.")
def act_missing(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    return {"pre": pre, "out": F.gelu(pre, approximate="tanh") @ W2 + b2}


@ffn_trace.mistake("The key “out” is missing. The trace has three stages: pre, act and out.")
def out_missing(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    return {"pre": pre, "act": F.gelu(pre, approximate="tanh")}


@ffn_trace.mistake(
    "There is a fourth key, x. Exactly pre, act and out are asked for: whoever reads the trace loops over its keys."
)
def extra_key(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"x": x, "pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake(
    "The three tensors come back as a tuple. A dict is asked for, so that nobody has to remember their order."
)
def tuple_instead_of_dict(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return pre, act, act @ W2 + b2


@ffn_trace.mistake(
    "x is added to out. The trace ends with what the FFN writes; the residual connection is outside of it."
)
def out_with_residual(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre, "act": act, "out": x + act @ W2 + b2}


ffn_trace.slip(
    "detached",
    "The stages are detached from the graph, so no gradient can flow through what you recorded. Keep the tensors as they are.",
    of=extra_key,
    replace={"return …": 'out = act @ W2 + b2\nreturn {"pre": pre.detach(), "act": act.detach(), "out": out.detach()}'},
)


@ffn_trace.mistake(
    "pre and act are detached, though out is not: a copy made with `.detach()` or `.data` can be looked at, but nothing learns through it."
)
def stages_detached(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre.detach(), "act": act.detach(), "out": act @ W2 + b2}


@ffn_trace.mistake("out is made from pre, so the activation is recorded but never used. Which stage does W2 read?")
def out_from_pre(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre, "act": act, "out": pre @ W2 + b2}


@ffn_trace.mistake("b1 is missing from pre: a neuron reads x @ W1 and adds its own threshold.")
def pre_without_b1(x, W1, b1, W2, b2):
    pre = x @ W1
    act = F.gelu(pre + b1, approximate="tanh")
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("b2 is missing from out.")
def out_without_b2(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre, "act": act, "out": act @ W2}


@ffn_trace.mistake(NO_RETURN)
def trace_not_returned(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    trace = {"pre": pre, "act": act, "out": act @ W2 + b2}  # noqa: F841


@ffn_trace.mistake(
    "The activation is tanh itself. “GELU in its tanh form” is GELU, in which tanh stands in for the Gaussian's Φ."
)
def plain_tanh(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = torch.tanh(pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("This is SiLU, x·sigmoid(x). The trace asks for GELU in its tanh form.")
def silu_instead_of_gelu(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.silu(pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("pre and act have changed places: pre comes before the activation, act after it.")
def pre_and_act_swapped(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": act, "act": pre, "out": act @ W2 + b2}


@ffn_trace.mistake("Only the output comes back. A dict with all three stages is asked for: pre, act and out.")
def only_out(x, W1, b1, W2, b2):
    return F.gelu(x @ W1 + b1, approximate="tanh") @ W2 + b2


@ffn_trace.mistake("The output goes through an activation, too. The last stage is linear: act @ W2 + b2.")
def out_bent(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre, "act": act, "out": F.gelu(act @ W2 + b2, approximate="tanh")}


@ffn_trace.mistake(
    "A constant is float32: √(2/π) as a tensor of its own dtype costs seven digits. `math.sqrt(2 / math.pi)` is exact enough."
)
def float32_constant(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = 0.5 * pre * (1 + torch.tanh(torch.sqrt(torch.tensor(2 / math.pi)) * (pre + 0.044715 * pre**3)))
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


# ffn_backward

ffn_backward = Key(exercises.ffn_backward)


@ffn_backward.truth
def path_by_path(x, W1, b1, W2, b2, dy):
    """Each token, each neuron, each path through it, one number at a time; no matrix product. Where pre is 0, nothing comes back."""
    (d_model, d_ff), tokens, pulls = W1.shape, x.reshape(-1, x.shape[-1]).tolist(), dy.reshape(-1, x.shape[-1]).tolist()
    w1, v1, w2 = W1.tolist(), b1.tolist(), W2.tolist()
    dW1, dW2 = [[0.0] * d_ff for _ in range(d_model)], [[0.0] * d_model for _ in range(d_ff)]
    db1, db2, dpre, dx = [0.0] * d_ff, [0.0] * d_model, [], []
    for token, pull in zip(tokens, pulls, strict=True):
        heard, reached = [0.0] * d_ff, [0.0] * d_model
        for k in range(d_model):
            db2[k] += pull[k]
        for j in range(d_ff):
            pre = v1[j] + sum(token[i] * w1[i][j] for i in range(d_model))
            if pre > 0:
                for k in range(d_model):
                    dW2[j][k] += pre * pull[k]
                    heard[j] += w2[j][k] * pull[k]
                for i in range(d_model):
                    dW1[i][j] += token[i] * heard[j]
                    reached[i] += w1[i][j] * heard[j]
                db1[j] += heard[j]
        dpre.append(heard)
        dx.append(reached)
    found = {
        "dW2": torch.tensor(dW2, dtype=x.dtype),
        "db2": torch.tensor(db2, dtype=x.dtype),
        "dpre": torch.tensor(dpre, dtype=x.dtype).reshape(*x.shape[:-1], d_ff),
        "dW1": torch.tensor(dW1, dtype=x.dtype),
        "db1": torch.tensor(db1, dtype=x.dtype),
        "dx": torch.tensor(dx, dtype=x.dtype).reshape(x.shape),
    }
    return found


@ffn_backward.right("einsum, which sums over the dots by itself")
def back_with_einsum(x, W1, b1, W2, b2, dy):
    pre = torch.einsum("...d,df->...f", x, W1) + b1
    dpre = torch.where(pre > 0, torch.einsum("...d,fd->...f", dy, W2), 0.0)
    dims = tuple(range(x.ndim - 1))
    return {
        "dW2": torch.einsum("...f,...d->fd", F.relu(pre), dy),
        "db2": dy.sum(dims) if dims else dy.clone(),
        "dpre": dpre,
        "dW1": torch.einsum("...d,...f->df", x, dpre),
        "db1": dpre.sum(dims) if dims else dpre.clone(),
        "dx": torch.einsum("...f,df->...d", dpre, W1),
    }


@ffn_backward.right("token by token, sums that grow")
def back_token_by_token(x, W1, b1, W2, b2, dy):
    d_model, d_ff = W1.shape
    grads = {
        "dW1": torch.zeros_like(W1),
        "db1": torch.zeros_like(b1),
        "dW2": torch.zeros_like(W2),
        "db2": torch.zeros_like(b2),
    }
    dpres, dxs = [], []
    for t, g in zip(x.reshape(-1, d_model), dy.reshape(-1, d_model), strict=True):
        pre = t @ W1 + b1
        dpre = W2 @ g
        dpre[pre <= 0] = 0
        grads["dW2"] += torch.outer(torch.relu(pre), g)
        grads["db2"] += g
        grads["dW1"] += torch.outer(t, dpre)
        grads["db1"] += dpre
        dpres.append(dpre)
        dxs.append(W1 @ dpre)
    grads["dpre"] = torch.stack(dpres).reshape(*x.shape[:-1], d_ff)
    grads["dx"] = torch.stack(dxs).view(x.shape)
    return grads


@ffn_backward.right("F.linear, and a bias as one more input that is 1")
def bias_as_an_input(x, W1, b1, W2, b2, dy):
    rows, pull = x.flatten(0, -2) if x.ndim > 1 else x[None], dy.reshape(-1, dy.shape[-1])
    pre = F.linear(rows, W1.t(), b1)
    hidden = pre.clamp(min=0)
    one = torch.ones(len(rows), 1, dtype=x.dtype)
    second = torch.cat([hidden, one], 1).mT @ pull
    dpre = F.linear(pull, W2) * torch.sign(hidden)
    first = torch.cat([rows, one], 1).mT @ dpre
    return dict(
        dW1=first[:-1],
        db1=first[-1],
        dW2=second[:-1],
        db2=second[-1],
        dx=F.linear(dpre, W1).reshape(x.shape),
        dpre=dpre.reshape(*x.shape[:-1], len(b1)),
    )


@ffn_backward.right("tensordot over all dimensions but the last")
def with_tensordot(x, W1, b1, W2, b2, dy):
    x2, dy2 = torch.atleast_2d(x), torch.atleast_2d(dy)
    dims = list(range(x2.ndim - 1))
    h = torch.relu(x2 @ W1 + b1)
    dpre = dy2 @ W2.transpose(0, 1) * torch.heaviside(h, torch.zeros((), dtype=x.dtype))
    out = {"dpre": dpre.reshape(x.shape[:-1] + b1.shape), "dx": (dpre @ W1.transpose(0, 1)).reshape(x.shape)}
    out["dW1"], out["db1"] = torch.tensordot(x2, dpre, dims=(dims, dims)), dpre.sum(dims)
    out["dW2"], out["db2"] = torch.tensordot(h, dy2, dims=(dims, dims)), dy2.sum(dims)
    return out


@ffn_backward.base
def plain_ffn_backward(x, W1, b1, W2, b2, dy):
    pre = x @ W1 + b1
    h = torch.relu(pre)
    dpre = dy @ W2.T * (pre > 0)
    rows = lambda t: t.reshape(-1, t.shape[-1])
    return {
        "dW2": rows(h).T @ rows(dy),
        "db2": rows(dy).sum(0),
        "dpre": dpre,
        "dW1": rows(x).T @ rows(dpre),
        "db1": rows(dpre).sum(0),
        "dx": dpre @ W1.T,
    }


ffn_backward.slip(
    "no_bend_on_the_way_back",
    "The activation is missing on the way back: even silent neurons pass something on. ReLU's slope is 0 for these, and 1 for those that fired.",
    replace={" * (pre > 0)": ""},
)
ffn_backward.slip(
    "hears_back_at_exactly_zero",
    "A neuron that adds up to exactly 0 passes something on (`>=`?). Its slope counts as 0 here: only pre > 0 fired.",
    replace={" > 0": " >= 0"},
)
ffn_backward.slip(
    "relu_of_what_comes_back",
    "ReLU is applied to what comes back. Its slope depends on what the neuron added up on the way **there**, `pre`; what comes back may have any sign.",
    replace={"dy @ W2.T * (pre > 0)": "torch.relu(dy @ W2.T)"},
)
ffn_backward.slip(
    "relu_of_what_comes_back_as_well", replace={"dy @ W2.T": "torch.relu(dy @ W2.T)"}, form_of="relu_of_what_comes_back"
)
ffn_backward.slip(
    "times_the_hidden_number",
    "What comes back is multiplied by what the neuron gave out, relu(pre). The activation multiplies by its **slope**: 1 where the neuron fired, 0 "
    "where not.",
    replace={"(pre > 0)": "h"},
)
ffn_backward.slip(
    "mask_without_b1",
    "Which neurons fired is asked without b1. Each fires where its whole sum, x @ W1 + b1, is above 0; so compute that once, and use it both ways.",
    replace={" + b1": ""},
)
ffn_backward.slip(
    "pre_in_dW2",
    "dW2 is made with what the neurons added up, before the activation. W2 carries what they gave out: relu(pre).",
    replace={"rows(h)": "rows(pre)"},
)
ffn_backward.slip(
    "dpre_before_the_bend",
    "`dpre` is what comes back **to** the activation, not yet what comes through it. Multiply it by the slope as well.",
    replace={
        " * (pre > 0)": "",
        " @ rows(dpre)": " @ (rows(dpre) * (rows(pre) > 0))",
        "rows(dpre).sum": "(rows(dpre) * (rows(pre) > 0)).sum",
        "dpre @ W1.T": "(dpre * (pre > 0)) @ W1.T",
    },
)
ffn_backward.slip(
    "averaged_over_the_tokens",
    "The gradients of the arrays are averages over the tokens. Each token pulls at the same weights, and what they say adds up; "
    "if the loss is a mean, its 1/N is in `dy` already.",
    replace={
        " @ rows(dy)": " @ rows(dy) / len(rows(x))",
        "rows(dy).sum": "rows(dy).mean",
        " @ rows(dpre)": " @ rows(dpre) / len(rows(x))",
        "rows(dpre).sum": "rows(dpre).mean",
    },
)
ffn_backward.slip(
    "biases_averaged",
    "The gradients of the biases are averages over the tokens, while those of the matrices are sums. A bias serves every token as well: what they say adds up.",
    replace={"rows(dy).sum": "rows(dy).mean", "rows(dpre).sum": "rows(dpre).mean"},
)
ffn_backward.slip(
    "not_summed_over_sentences",
    "Only the tokens of one sentence are added up. x may have more dimensions before the last, and every token in all of them pulls at the same arrays: "
    "lay them all under each other first.",
    replace={
        "rows(h).T @ rows(dy)": "h.mT @ dy",
        "rows(dy).sum(0)": "dy.sum(-2)",
        "rows(x).T @ rows(dpre)": "x.mT @ dpre",
        "rows(dpre).sum(0)": "dpre.sum(-2)",
    },
)
ffn_backward.slip(
    "biases_not_summed_over_sentences",
    replace={"rows(dy).sum": "dy.sum", "rows(dpre).sum": "dpre.sum"},
    form_of="not_summed_over_sentences",
)
ffn_backward.slip(
    "not_summed_at_all",
    "The gradient of a bias still has a row for every token. It has the shape of the bias: sum over all dimensions but the last.",
    replace={"rows(dy).sum(0)": "dy", "rows(dpre).sum(0)": "dpre"},
)
ffn_backward.slip(
    "matrices_transposed",
    "dW1 and dW2 are transposed. A gradient has the shape of what it belongs to: W1 [d_model, d_ff], W2 [d_ff, d_model]. "
    "nn.Linear stores its weights the other way.",
    replace={"rows(h).T @ rows(dy)": "rows(dy).T @ rows(h)", "rows(x).T @ rows(dpre)": "rows(dpre).T @ rows(x)"},
)
ffn_backward.slip(
    "residual_in_dx",
    "dx holds dy as well, as it would with a residual connection around the FFN. Here only the FFN is asked for.",
    replace={"W1.T": "W1.T + dy"},
)
ffn_backward.slip(
    "dx_without_the_bend",
    "dx skips the activation, and all other gradients go through it. x acts only through `pre`, so dx comes from `dpre`.",
    replace={"dpre @ W1.T": "dy @ W2.T @ W1.T"},
)
ffn_backward.slip(
    "weights_not_turned",
    "The sizes in a product do not fit. W2 leads from d_ff to d_model; to go back from dy to the hidden layer it has to be turned: a transpose.",
    replace={"W2.T": "W2"},
)


@ffn_backward.mistake(
    "This asks autograd, which is switched off here: the exercise is to do by hand what `backward()` does. The three rules above it are enough."
)
def asks_autograd(x, W1, b1, W2, b2, dy):
    leaves = [t.clone().requires_grad_() for t in (x, W1, b1, W2, b2)]
    pre = leaves[0] @ leaves[1] + leaves[2]
    pre.retain_grad()
    y = torch.relu(pre) @ leaves[3] + leaves[4]
    y.backward(dy)
    dx, dW1, db1, dW2, db2 = (t.grad for t in leaves)
    return {"dW2": dW2, "db2": db2, "dpre": pre.grad, "dW1": dW1, "db1": db1, "dx": dx}


@ffn_backward.form(asks_autograd)
def asks_autograd_grad(x, W1, b1, W2, b2, dy):
    with torch.enable_grad():
        leaves = [t.clone().requires_grad_() for t in (x, W1, b1, W2, b2)]
        pre = leaves[0] @ leaves[1] + leaves[2]
        y = torch.relu(pre) @ leaves[3] + leaves[4]
        found = torch.autograd.grad(y, [*leaves, pre], dy)
    return dict(zip(("dx", "dW1", "db1", "dW2", "db2", "dpre"), found, strict=True))


@ffn_backward.mistake(
    "The gradients come back as a tuple. A dict is asked for, so that each has its name: dW2, db2, dpre, dW1, db1, dx."
)
def as_a_tuple(x, W1, b1, W2, b2, dy):
    pre = x @ W1 + b1
    dpre = dy @ W2.T * (pre > 0)
    X, h, P, Y = (t.reshape(-1, t.shape[-1]) for t in (x, torch.relu(pre), dpre, dy))
    return dpre @ W1.T, X.T @ P, P.sum(0), h.T @ Y, Y.sum(0)


@ffn_backward.mistake(
    "x is taken apart as if it were one sentence [T, d_model]. It may be one token, or have more dimensions: lay all tokens under each other, and give "
    "dpre and dx the shape of x again."
)
def one_sentence_taken_for_granted(x, W1, b1, W2, b2, dy):
    T, d = x.shape
    pre = x.reshape(T, d) @ W1 + b1
    dpre = dy @ W2.T * (pre > 0)
    return {
        "dW2": torch.relu(pre).T @ dy,
        "db2": dy.sum(0),
        "dpre": dpre,
        "dW1": x.T @ dpre,
        "db1": dpre.sum(0),
        "dx": dpre @ W1.T,
    }


@ffn_backward.mistake(
    "A tensor that you were handed is changed (an operator such as `*=`, or a method with a trailing underscore, works in place). The caller still needs it."
)
def dy_overwritten(x, W1, b1, W2, b2, dy):
    pre = x @ W1 + b1
    dpre = dy @ W2.T * (pre > 0)
    X, h, P, Y = (t.reshape(-1, t.shape[-1]) for t in (x, torch.relu(pre), dpre, dy))
    found = {"dW2": h.T @ Y, "db2": Y.sum(0), "dpre": dpre, "dW1": X.T @ P, "db1": P.sum(0), "dx": dpre @ W1.T}
    dy *= 0
    return found


ffn_backward.slip(
    "one_sentence_transposed",
    replace={
        "rows(h).T @ rows(dy)": "h.T @ dy",
        "rows(dy).sum": "dy.sum",
        "rows(x).T @ rows(dpre)": "x.T @ dpre",
        "rows(dpre).sum": "dpre.sum",
    },
    form_of=one_sentence_taken_for_granted,
)
ffn_backward.slip(
    "one_sentence_in_einsum",
    of="one_sentence_transposed",
    replace={"h.T @ dy": 'torch.einsum("tf,td->fd", h, dy)', "x.T @ dpre": 'torch.einsum("td,tf->df", x, dpre)'},
    form_of=one_sentence_taken_for_granted,
)
ffn_backward.slip(
    "one_sentence_in_outer_products",
    of="one_sentence_transposed",
    replace={
        "h.T @ dy": "(h[:, :, None] * dy[:, None]).sum(0)",
        "x.T @ dpre": "(x[:, :, None] * dpre[:, None]).sum(0)",
    },
    form_of=one_sentence_taken_for_granted,
)


# PositionwiseFeedForward

PositionwiseFeedForward = Key(exercises.PositionwiseFeedForward)


@PositionwiseFeedForward.truth
class Written(nn.Module):
    """Neuron by neuron from the weights, with dropout drawn by hand; the activations by their definitions."""

    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        named = {
            "relu": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
            "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
            "silu": lambda x: x / (1 + torch.exp(-x)),
        }
        if not callable(activation) and activation not in named:
            raise ValueError(f"unknown activation {activation!r}")
        self.act = activation if callable(activation) else named[activation]
        self.d_model, self.d_ff, self.p = d_model, d_ff, dropout
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        output = self.linear2.bias.expand(x.shape)
        for j in range(self.d_ff):
            read = (x * self.linear1.weight[j]).sum(-1) + self.linear1.bias[j]
            hidden = self.act(read)
            if self.training:
                kept = torch.rand(hidden.shape, dtype=x.dtype) >= self.p
                hidden = hidden * kept / (1 - self.p)
            output = output + hidden.unsqueeze(-1) * self.linear2.weight[:, j]
        return output

    def extra_repr(self):
        return f"{self.d_model} -> {self.d_ff}"


@PositionwiseFeedForward.right("nn.Dropout and modules for the activations")
class WithModules(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.d_model = d_model
        self.d_ff = d_ff
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(p=dropout)
        if activation == "relu":
            self.activation = nn.ReLU()
        elif activation == "gelu":
            self.activation = nn.GELU()
        elif activation == "silu":
            self.activation = nn.SiLU()
        elif callable(activation):
            self.activation = activation
        else:
            raise ValueError("unknown activation: " + str(activation))

    def forward(self, x):
        x = self.linear1(x)
        x = self.activation(x)
        x = self.dropout(x)
        return self.linear2(x)

    def extra_repr(self):
        return f"d_model={self.d_model}, d_ff={self.d_ff}"


@PositionwiseFeedForward.right("F.dropout that asks for the mode")
class WithFDropout(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        if isinstance(activation, str):
            try:
                activation = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}[activation]
            except KeyError:
                raise ValueError(f"unknown activation {activation!r}") from None
        elif not callable(activation):
            raise ValueError("activation must be a name or a callable")
        self.act, self.p = activation, dropout
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        hidden = self.act(self.linear1(x))
        hidden = F.dropout(hidden, self.p, training=self.training)
        return self.linear2(hidden)

    def extra_repr(self):
        d_ff, d_model = self.linear1.weight.shape
        return f"d_model={d_model}, d_ff={d_ff}, p={self.p}"


@PositionwiseFeedForward.right("a Sequential around the two named layers")
class WithSequential(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        named = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}

        class Apply(nn.Module):
            def __init__(self, function):
                super().__init__()
                self.function = function

            def forward(self, x):
                return self.function(x)

        if callable(activation):
            middle = Apply(activation)
        elif activation in named:
            middle = named[activation]()
        else:
            raise ValueError(activation)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.net = nn.Sequential(self.linear1, middle, nn.Dropout(dropout), self.linear2)

    def forward(self, x):
        return self.net(x)

    def extra_repr(self):
        return f"{self.linear1.in_features}→{self.linear1.out_features}→{self.linear2.out_features}"


@PositionwiseFeedForward.right("matrix products with the layers' parameters, getattr for the activation")
class WithGetattr(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff, bias=True)
        self.linear2 = nn.Linear(d_ff, d_model, bias=True)
        self.drop = nn.Dropout(dropout)
        self.sizes = (d_model, d_ff)
        if callable(activation):
            self.f = activation
        else:
            if activation not in ("relu", "gelu", "silu"):
                raise ValueError("bad activation")
            self.f = getattr(F, activation)

    def forward(self, x):
        pre = torch.matmul(x, self.linear1.weight.transpose(0, 1)) + self.linear1.bias
        hidden = self.drop(self.f(pre))
        return torch.matmul(hidden, self.linear2.weight.transpose(0, 1)) + self.linear2.bias

    def extra_repr(self):
        return "d_model=" + str(self.sizes[0]) + ", d_ff=" + str(self.sizes[1])


@PositionwiseFeedForward.base
class PlainPositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        super().__init__()
        self.d_model, self.d_ff = d_model, d_ff
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        if not callable(activation) and activation not in functions:
            raise ValueError(f"unknown activation: {activation}")
        self.activation = activation if callable(activation) else functions[activation]

    def forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def extra_repr(self):
        return f"d_model={self.d_model}, d_ff={self.d_ff}"


PositionwiseFeedForward.slip(
    "linear2_copied_from_linear1",
    "linear2 has the widths of linear1: copied, and not turned round. The second layer contracts: from d_ff back to d_model.",
    replace={".Linear(d_ff, d_model)": ".Linear(d_model, d_ff)"},
)
PositionwiseFeedForward.slip(
    "widths_swapped",
    "Both layers are the wrong way round. nn.Linear takes (in, out): the first goes from d_model to d_ff, the second back.",
    replace={".Linear(d_model, d_ff), nn.Linear(d_ff, d_model)": ".Linear(d_ff, d_model), nn.Linear(d_model, d_ff)"},
)
PositionwiseFeedForward.slip(
    "other_names",
    "The layers have other names than the exercise asks. It needs `linear1` and `linear2`, so that weights can be copied in from elsewhere.",
    replace={
        "self.linear1, self.linear2": "self.w_1, self.w_2",
        ".linear2(self.dropout(self.activation(self.linear1(x))))": ".w_2(self.dropout(self.activation(self.w_1(x))))",
    },
)
PositionwiseFeedForward.slip(
    "layers_without_bias",
    "The layers have no biases: `bias=False` belongs to other models. The FFN of the 2017 paper has b1 and b2.",
    replace={
        ".Linear(d_model, d_ff), nn.Linear(d_ff, d_model)": ".Linear(d_model, d_ff, bias=False), nn.Linear(d_ff, d_model, bias=False)"
    },
)
PositionwiseFeedForward.slip(
    "weights_as_plain_tensors",
    "`parameters()` is empty, so an optimiser would have nothing to train. A module knows the layers that are stored in it, `self.linear1 = nn.Linear(…)`; "
    "plain tensors it does not know, and without `self.` a layer is gone when `__init__` ends.",
    replace={
        "self.linear1, self.linear2 = …": (
            "self.W1, self.b1 = torch.randn(d_model, d_ff), torch.zeros(d_ff)\n"
            "self.W2, self.b2 = torch.randn(d_ff, d_model), torch.zeros(d_model)"
        ),
        ".linear2(self.dropout(self.activation(self.linear1(x))))": ".dropout(self.activation(x @ self.W1 + self.b1)) @ self.W2 + self.b2",
    },
)
PositionwiseFeedForward.slip(
    "no_super_init",
    "`super().__init__()` is missing. An nn.Module must be set up before layers can be assigned to it: it is the first line of `__init__`.",
    replace={"super().__init__()": "pass"},
)
PositionwiseFeedForward.slip(
    "not_a_module",
    "The class does not inherit from nn.Module, so PyTorch knows nothing of its layers: `class PositionwiseFeedForward(nn.Module):`.",
    replace={"nn.Module": "object"},
)
PositionwiseFeedForward.slip(
    "activation_missing",
    "The activation is never called in `forward`: without it the two layers collapse into one linear map.",
    replace={".activation(self.linear1(x))": ".linear1(x)"},
)
PositionwiseFeedForward.slip(
    "activation_on_the_output",
    "The activation is applied to the output, after linear2. It belongs between the two layers.",
    replace={
        ".linear2(self.dropout(self.activation(self.linear1(x))))": ".activation(self.linear2(self.dropout(self.linear1(x))))"
    },
)
PositionwiseFeedForward.slip(
    "activation_name_ignored",
    "The argument `activation` is never looked at: it is ReLU whatever one asks for. Choose the function in `__init__`, from the argument.",
    replace={
        "if not callable(activation) and activation not in functions:\n    raise …": "",
        "activation if callable(activation) else functions[activation]": "F.relu",
    },
)
PositionwiseFeedForward.slip(
    "callable_not_accepted",
    "A callable is refused: only names are looked up. A function such as torch.tanh is a legal `activation` too; `callable(activation)` tells.",
    replace={
        "not callable(activation) and activation not in functions": "activation not in functions",
        "activation if callable(activation) else functions[activation]": "functions[activation]",
    },
)
PositionwiseFeedForward.slip(
    "names_not_accepted",
    "Names are not looked up: the text itself is called like a function. 'relu', 'gelu' and 'silu' stand for F.relu, F.gelu and F.silu.",
    of="activation_name_ignored",
    replace={"self.activation = F.relu": "self.activation = activation"},
)
PositionwiseFeedForward.slip(
    "tanh_gelu",
    "'gelu' here gives the tanh approximation. Without “tanh”, the name means the exact form with erf, which is what `F.gelu` computes by default.",
    replace={
        'functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}': (
            'functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}\n'
            'functions["gelu"] = lambda h: F.gelu(h, approximate="tanh")'
        )
    },
)
PositionwiseFeedForward.slip(
    "silu_without_the_factor",
    "'silu' here gives sigmoid(x). SiLU is x·sigmoid(x): a gate that lets x itself through.",
    of="tanh_gelu",
    replace={'functions["gelu"] = …': 'functions["silu"] = torch.sigmoid'},
)
PositionwiseFeedForward.slip(
    "default_activation_gelu",
    "Without the argument the activation must be ReLU; yours is GELU. Look at the default in the signature.",
    replace={'activation="relu"': 'activation="gelu"'},
)
PositionwiseFeedForward.slip(
    "key_error",
    "An unknown name ends in the dict's KeyError. Say it in the caller's terms: raise a ValueError that names the unknown activation.",
    replace={"if not callable(activation) and activation not in functions:\n    raise …": ""},
)
PositionwiseFeedForward.slip(
    "error_too_late",
    "The unknown name is noticed only when the module is called. Look it up in `__init__`, where the mistake is made.",
    of="key_error",
    replace={
        "self.activation = …": "self.name, self.functions = activation, functions",
        "return self.linear2(self.dropout(self.activation(self.linear1(x))))": (
            "if not callable(self.name) and self.name not in self.functions:\n"
            '    raise ValueError(f"unknown activation: {self.name}")\n'
            "activation = self.name if callable(self.name) else self.functions[self.name]\n"
            "return self.linear2(self.dropout(activation(self.linear1(x))))"
        ),
    },
)
PositionwiseFeedForward.slip(
    "unknown_name_becomes_gelu",
    "An unknown name is silently taken for some default: with a typo such as 'sulu' a whole training run would use the wrong function. Raise ValueError.",
    of="key_error",
    replace={"functions[activation]": "functions.get(activation, F.gelu)"},
)
PositionwiseFeedForward.slip(
    "anything_taken_as_it_is",
    "Whatever is not a known name is taken as it is, a typo such as 'sulu' included: it only fails when it is called. Ask `callable(activation)` "
    "in `__init__`, and raise ValueError otherwise.",
    of="key_error",
    replace={
        "self.activation = …": (
            "if activation in functions:\n"
            "    self.activation = functions[activation]\n"
            "else:\n"
            "    self.activation = activation"
        )
    },
)
PositionwiseFeedForward.slip(
    "only_texts_are_refused",
    "A bad name is refused, but something that is neither text nor function, such as 3, gets through. Anything that can't be called is a ValueError.",
    replace={
        "not callable(activation)": "isinstance(activation, str)",
        "activation if callable(activation) else functions[activation]": "functions[activation] if isinstance(activation, str) else activation",
    },
)
PositionwiseFeedForward.slip(
    "any_name_of_torch",
    "Every name that torch.nn.functional knows is accepted, 'dropout' too. Only 'relu', 'gelu' and 'silu' are names here; others are a ValueError.",
    replace={
        "activation not in functions": "not hasattr(F, str(activation))",
        "functions[activation]": "getattr(F, activation)",
    },
)
PositionwiseFeedForward.slip(
    "assertion_for_a_bad_name",
    "A bad activation ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.",
    replace={
        "if not callable(activation) and activation not in functions:\n    raise …": "assert callable(activation) or activation in functions"
    },
)
PositionwiseFeedForward.slip(
    "probability_called",
    "self.dropout holds the number p, and `forward` calls it like a function. Make a layer of it: nn.Dropout(dropout).",
    replace={"nn.Dropout(dropout)": "dropout"},
)
PositionwiseFeedForward.slip(
    "dropout_fixed_at_a_tenth",
    "The argument `dropout` is not looked at: p is 0.1 whatever one asks for. Hand the argument on to nn.Dropout.",
    replace={".Dropout(dropout)": ".Dropout(0.1)"},
)
PositionwiseFeedForward.slip(
    "activation_twice",
    "The activation is applied twice: on the hidden layer, where it belongs, and on the output as well. The last layer is linear.",
    of="activation_on_the_output",
    replace={".linear1(x)": ".activation(self.linear1(x))"},
)
PositionwiseFeedForward.slip(
    "dropout_on_the_output",
    "Dropout is applied to the output, where it also drops b2. Here it belongs on the hidden layer: after the activation, before linear2.",
    replace={
        ".linear2(self.dropout(self.activation(self.linear1(x))))": ".dropout(self.linear2(self.activation(self.linear1(x))))"
    },
)
PositionwiseFeedForward.slip(
    "dropout_before_the_activation",
    "Dropout comes before the activation, so the activation gets values that are scaled up already. Put it behind the activation.",
    replace={".dropout(self.activation(self.linear1(x)))": ".activation(self.dropout(self.linear1(x)))"},
)
PositionwiseFeedForward.slip(
    "dropout_on_the_input",
    "Dropout is applied to x. Here it belongs on the hidden layer: after the activation, before linear2.",
    replace={".dropout(self.activation(self.linear1(x)))": ".activation(self.linear1(self.dropout(x)))"},
)
PositionwiseFeedForward.slip(
    "dropout_twice",
    "There are two dropouts, on the hidden layer and on the output. Here only the hidden layer has one.",
    of="dropout_on_the_output",
    replace={".activation(self.linear1(x))": ".dropout(self.activation(self.linear1(x)))"},
)
PositionwiseFeedForward.slip(
    "dropout_never_used",
    "Dropout has no effect: two calls in training mode give the same. It is made, or its probability is taken, but `forward` never applies it.",
    replace={".dropout(self.activation(self.linear1(x)))": ".activation(self.linear1(x))"},
)
PositionwiseFeedForward.slip(
    "dropout_always_on",
    "Dropout stays on in eval mode: `F.dropout` without `training=self.training` can't know the mode. nn.Dropout follows it by itself.",
    replace={
        "self.dropout = nn.Dropout(dropout)": "self.p = dropout",
        "self.dropout(self.activation(self.linear1(x)))": "F.dropout(self.activation(self.linear1(x)), self.p)",
    },
)
PositionwiseFeedForward.slip(
    "dropout_not_scaled",
    "The hidden values that remain are not scaled up by 1/(1 − p), so in training mode everything is smaller on average than in eval mode.",
    replace={
        "self.dropout = nn.Dropout(dropout)": "self.p = dropout",
        "return self.linear2(self.dropout(self.activation(self.linear1(x))))": (
            "hidden = self.activation(self.linear1(x))\n"
            "if self.training:\n"
            "    hidden = hidden * (torch.rand_like(hidden) >= self.p)\n"
            "return self.linear2(hidden)"
        ),
    },
)
PositionwiseFeedForward.slip(
    "dropout_of_2014",
    "Eval mode multiplies the hidden values by 1 − p, and training leaves the survivors as they are: dropout as it was first published in 2014. "
    "Here it is the other way round: survivors grow while training, and eval mode changes nothing.",
    of="dropout_not_scaled",
    replace={"return self.linear2(hidden)": ("else:\n    hidden = hidden * (1 - self.p)\nreturn self.linear2(hidden)")},
)
PositionwiseFeedForward.slip(
    "dropout_mask_shared",
    "All tokens lose the same neurons: one mask is drawn for all of them. Each hidden value is dropped by a chance of its own; `nn.Dropout` draws "
    "a mask of the hidden layer's whole shape.",
    of="dropout_not_scaled",
    replace={"(torch.rand_like(hidden) >= self.p)": "(torch.rand(hidden.shape[-1:]) >= self.p) / (1 - self.p)"},
)
PositionwiseFeedForward.slip(
    "relu6",
    "'relu' here gives ReLU6, which is flat from 6 on. ReLU lets every positive number through as it is.",
    of="tanh_gelu",
    replace={'functions["gelu"] = …': 'functions["relu"] = F.relu6'},
)
PositionwiseFeedForward.slip(
    "dropout_keeps_p",
    "p is taken for the share that stays. It is the share that is dropped: p = 0.1 sets one hidden value in ten to zero.",
    replace={".Dropout(dropout)": ".Dropout(1 - dropout if 0 < dropout < 1 else dropout)"},
)
PositionwiseFeedForward.slip(
    "default_dropout_half",
    "Without the argument p must be 0.1. Look at the default in the signature: nn.Dropout's own is 0.5.",
    replace={"0.1": "0.5"},
)
PositionwiseFeedForward.slip(
    "dropout_probability_ignored",
    "Another share is dropped than `dropout` says. Is the argument handed on (nn.Dropout() alone drops half), and as the probability to drop, not to keep?",
    replace={".Dropout(dropout)": ".Dropout()"},
)
PositionwiseFeedForward.slip(
    "residual_inside",
    "x is added to the output. The residual connection is the block's business, around this module.",
    replace={"return self.linear2": "return x + self.linear2"},
)
PositionwiseFeedForward.slip(
    "extra_repr_missing",
    "`extra_repr` is missing, so printing the module shows its layers but not its two sizes. It returns a text with d_model and d_ff.",
    replace={"def extra_repr(self):\n    return …": ""},
)
PositionwiseFeedForward.slip(
    "extra_repr_without_values",
    '`extra_repr` returns the words d_model and d_ff but not their values. An f-string puts values into a text: f"d_model={...}".',
    replace={'f"d_model={self.d_model}, d_ff={self.d_ff}"': '"d_model, d_ff"'},
)
PositionwiseFeedForward.slip(
    "extra_repr_swapped",
    "The text of `extra_repr` has the two sizes the wrong way round: d_model is what goes in and comes out, d_ff the width of the hidden layer.",
    replace={'f"d_model={self.d_model}, d_ff={self.d_ff}"': 'f"d_model={self.d_ff}, d_ff={self.d_model}"'},
)
PositionwiseFeedForward.slip(
    "extra_repr_prints",
    "`extra_repr` prints instead of returning: PyTorch wants the text handed back.",
    replace={
        'return f"d_model={self.d_model}, d_ff={self.d_ff}"': 'print(f"d_model={self.d_model}, d_ff={self.d_ff}")'
    },
)
PositionwiseFeedForward.slip("forward_returns_nothing", NO_RETURN, replace={"return self.linear2": "self.linear2"})
PositionwiseFeedForward.slip(
    "batches_flattened",
    "`.view(-1, d_model)` in `forward` loses the shape, or refuses an x whose memory is not in order. nn.Linear takes any leading dimensions as they are.",
    replace={".linear1(x)": ".linear1(x.reshape(-1, self.d_model))"},
)

# collapse_linear

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


@collapse_linear.right("F.linear and a transposed product, not contiguous")
def by_transposes(W1, b1, W2, b2):
    return (W2.T @ W1.T).T, F.linear(b1, W2.T, b2)


@collapse_linear.mistake(
    "The two matrices are multiplied in the wrong order: x meets W1 first, so W1 is on the left. The shape [d_ff, d_ff] gives it away."
)
def order_reversed(W1, b1, W2, b2):
    return W2 @ W1, b1 @ W2 + b2


@collapse_linear.mistake(
    "b1 and b2 are added as they are, but they live in different spaces: b1 has d_ff numbers, b2 d_model. What does W2 make of b1?"
)
def biases_added(W1, b1, W2, b2):
    return W1 @ W2, b1 + b2


@collapse_linear.mistake("This is written for column vectors, W @ x. Here rows are multiplied from the left: b1 @ W2.")
def bias_as_a_column(W1, b1, W2, b2):
    return W1 @ W2, W2 @ b1 + b2


@collapse_linear.mistake("`*` multiplies entry by entry. Two maps one after the other are a matrix product, `@`.")
def entry_by_entry(W1, b1, W2, b2):
    return W1 * W2, b1 @ W2 + b2


@collapse_linear.mistake(
    "b1 is added to W1. It is no part of what multiplies x: set x to zero in (x @ W1 + b1) @ W2 + b2 and see where b1 ends up."
)
def bias_inside_the_matrix(W1, b1, W2, b2):
    return (W1 + b1) @ W2, b2


@collapse_linear.mistake(
    "b has the shape [1, d_model]. A bias has one dimension, [d_model]: b1 @ W2 works without an extra one."
)
def bias_with_two_dimensions(W1, b1, W2, b2):
    return W1 @ W2, b1.unsqueeze(0) @ W2 + b2


@collapse_linear.mistake("b2 is missing from b: it survives unchanged, beside what W2 makes of b1.")
def b2_forgotten(W1, b1, W2, b2):
    return W1 @ W2, b1 @ W2


@collapse_linear.mistake(
    "b is b2 alone: b1 is forgotten. It is added before W2, so what arrives at the output is b1 @ W2."
)
def b1_forgotten(W1, b1, W2, b2):
    return W1 @ W2, b2


@collapse_linear.mistake(
    "A ReLU is left in. The question is what remains when the activation is the identity; with an activation in it there is no single W."
)
def activation_kept(W1, b1, W2, b2):
    return torch.relu(W1) @ W2, torch.relu(b1) @ W2 + b2


@collapse_linear.mistake(
    "W is transposed. The convention here is x @ W, as for W1 and W2; nn.Linear's is the other one."
)
def result_transposed(W1, b1, W2, b2):
    return (W1 @ W2).T, b1 @ W2 + b2


@collapse_linear.mistake("Only W comes back. A pair (W, b) is asked for: the bias collapses too.")
def only_the_matrix(W1, b1, W2, b2):
    return W1 @ W2


@collapse_linear.mistake("The pair is the wrong way round: first W, then b.")
def pair_reversed(W1, b1, W2, b2):
    return b1 @ W2 + b2, W1 @ W2


@collapse_linear.mistake(
    "The result is float32 whatever came in: a fresh tensor such as torch.zeros(...) has its own dtype. Keep that of W1."
)
def dtype_lost(W1, b1, W2, b2):
    W, b = torch.zeros(W1.shape[0], W1.shape[0]), torch.zeros(W1.shape[0])
    W += W1 @ W2
    b += b1 @ W2 + b2
    return W, b


@collapse_linear.mistake(
    "W and b are right, but what comes back is cut off from the graph: no gradient reaches W1, b1, W2 and b2."
)
def graph_cut(W1, b1, W2, b2):
    return (W1 @ W2).detach(), (b1 @ W2 + b2).detach()


@collapse_linear.mistake(NO_RETURN)
def pair_not_returned(W1, b1, W2, b2):
    W = W1 @ W2  # noqa: F841
    b = b1 @ W2 + b2  # noqa: F841


@collapse_linear.mistake(
    "b is what comes out for an x of ones. Put in x = 0: what is left of (x @ W1 + b1) @ W2 + b2 is b, and W brings the rest."
)
def bias_read_off_at_ones(W1, b1, W2, b2):
    return W1 @ W2, (torch.ones(W1.shape[0], dtype=W1.dtype) @ W1 + b1) @ W2 + b2


# merged_counterexample

merged_counterexample = Key(exercises.merged_counterexample)
merged_counterexample.value(
    "truth",
    "cold_and_water_and_its_opposite",
    "",
    [(1.0, 1.0, -1.0, 1.0), (-1.0, -1.0, 1.0, 1.0)],
)
merged_counterexample.value(
    "right",
    "on_each_side",
    "a hinge between cold and water, lists",
    [[1, -1, 0, 2], [-1, 1, 0, 5]],
)
merged_counterexample.value(
    "right",
    "three_times_minus",
    "the second key is minus three times the first",
    ([0, 2, -1, -1], [0, -6, 3, 4]),
)
merged_counterexample.value(
    "right",
    "biases_alone",
    "neurons that look at no input",
    [(0, 0, 1, 1), (0, 0, -2, 3)],
)
merged_counterexample.value(
    "right",
    "a_tensor",
    "a tensor [2, 4]",
    torch.tensor([[1.0, 0.5, -0.5, 1.0], [-1.0, -0.5, 0.5, -1.0]]),
)
merged_counterexample.value(
    "mistake",
    "hinges_of_their_own",
    "Every neuron of your network has a hinge of its own, so the code merges nothing and changes nothing. Give two neurons one hinge.",
    [(1.0, 1.0, -1.0, 1.0), (1.0, -1.0, 0.0, -2.0)],
)
merged_counterexample.value(
    "mistake",
    "twice_as_strong",
    "The neurons that share a hinge fire on the same side of it. There relu(2h) is 2·relu(h), and merging them is right. On which side "
    "could the second one fire?",
    [(1.0, 1.0, -1.0, 1.0), (2.0, 2.0, -2.0, 3.0)],
)
merged_counterexample.value(
    "mistake",
    "writes_nothing",
    "Your neurons fire on different sides of one hinge, which is the place to look at. But one of them writes 0, or others make up for "
    "it, so that nothing of it reaches the output.",
    [(1.0, 1.0, -1.0, 1.0), (-1.0, -1.0, 1.0, 0.0)],
)
merged_counterexample.value(
    "mistake",
    "a_third_neuron",
    "Your classmate's code is wrong on it, well found. A smaller network shows it as well: two neurons are enough.",
    [(1.0, 1.0, -1.0, 1.0), (-1.0, -1.0, 1.0, 1.0), (1.0, 0.0, 0.0, 2.0)],
)
merged_counterexample.value(
    "mistake",
    "never_fires",
    "A neuron has the weights 0 and 0 and the bias 0. It never fires, and the code is not meant for it.",
    [(0.0, 0.0, 0.0, 1.0), (1.0, 1.0, -1.0, 1.0)],
)
merged_counterexample.value(
    "mistake",
    "without_what_it_writes",
    "A neuron has three numbers. It needs four: the weights of cold and water, the bias, and what it writes.",
    [(1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)],
)


# DeepFFN

DeepFFN = Key(exercises.DeepFFN)


@DeepFFN.truth
class Listed(nn.Module):
    """Every weight on its own, every product written as a sum over what a neuron reads."""

    def __init__(self, d_model, d_ff, n_hidden, activation):
        super().__init__()
        if n_hidden < 1:
            raise ValueError("n_hidden must be at least 1")
        named = {
            "relu": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
            "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
            "silu": lambda x: x / (1 + torch.exp(-x)),
        }
        self.act = activation if callable(activation) else named[activation]
        widths = [d_model] + [d_ff] * n_hidden + [d_model]
        pairs = [(widths[i], widths[i + 1]) for i in range(n_hidden + 1)]
        self.weights = nn.ParameterList([torch.zeros(out, into) for into, out in pairs])
        self.biases = nn.ParameterList([torch.zeros(out) for _, out in pairs])

    def forward(self, x):
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.stack([(x * weight[j]).sum(-1) + bias[j] for j in range(len(bias))], dim=-1)
            if place < len(self.weights) - 1:
                x = self.act(x)
        return x


@DeepFFN.right("one ModuleList of all layers")
class OneList(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation):
        super().__init__()
        if n_hidden < 1:
            raise ValueError("at least one hidden layer")
        names = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = activation if callable(activation) else names[activation]
        sizes = [d_model] + n_hidden * [d_ff] + [d_model]
        self.layers = nn.ModuleList(nn.Linear(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


@DeepFFN.right("an nn.Sequential with activation modules")
class AsSequential(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation):
        super().__init__()
        if n_hidden <= 0:
            raise ValueError(n_hidden)

        class Act(nn.Module):
            def forward(self, x):
                return activation(x)

        made = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}.get(activation, Act)
        steps = [nn.Linear(d_model, d_ff), made()]
        for _ in range(n_hidden - 1):
            steps += [nn.Linear(d_ff, d_ff), made()]
        steps.append(nn.Linear(d_ff, d_model))
        self.steps = nn.Sequential(*steps)

    def forward(self, x):
        return self.steps(x)


@DeepFFN.right("layers as attributes made with setattr")
class WithSetattr(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation):
        super().__init__()
        assert_ok = isinstance(n_hidden, int) and n_hidden >= 1
        if not assert_ok:
            raise ValueError("n_hidden")
        self.n = n_hidden
        self.act = getattr(F, activation) if isinstance(activation, str) else activation
        self.last = nn.Linear(d_ff, d_model)
        self.first = nn.Linear(d_model, d_ff)
        for i in range(1, n_hidden):
            setattr(self, f"middle{i}", nn.Linear(d_ff, d_ff))

    def forward(self, x):
        hidden = self.act(self.first(x))
        for i in range(1, self.n):
            hidden = self.act(getattr(self, f"middle{i}")(hidden))
        return self.last(hidden)


@DeepFFN.base
class PlainDeepFFN(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation):
        super().__init__()
        if n_hidden < 1:
            raise ValueError("n_hidden must be at least 1")
        functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = activation if callable(activation) else functions[activation]
        widths = [d_model] + [d_ff] * (n_hidden - 1)
        self.hidden = nn.ModuleList([nn.Linear(width, d_ff) for width in widths])
        self.last = nn.Linear(d_ff, d_model)

    def forward(self, x):
        for layer in self.hidden:
            x = self.activation(layer(x))
        return self.last(x)


DeepFFN.slip(
    "plain_list",
    "Layers are in a plain Python list, which hides them from `parameters()`: they would never be trained, moved or saved. Use nn.ModuleList.",
    replace={"self.hidden = …": "self.hidden = [nn.Linear(width, d_ff) for width in widths]"},
)
DeepFFN.typed(
    "mistake",
    "all_layers_in_a_plain_list",
    "",
    """class DeepFFN(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation):
        super().__init__()
        if n_hidden < 1:
            raise ValueError("n_hidden")
        widths = [d_model] + [d_ff] * n_hidden + [d_model]
        self.layers = [nn.Linear(widths[i], widths[i + 1]) for i in range(n_hidden + 1)]
        self.act = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}.get(activation, activation)

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.act(layer(x))
        return self.layers[-1](x)
""",
    form_of="plain_list",
)
DeepFFN.slip(
    "one_layer_too_many",
    "There is one hidden layer too many. n_hidden counts all layers of width d_ff: the first comes from d_model, and n_hidden − 1 more follow.",
    replace={"(n_hidden - 1)": "n_hidden"},
)
DeepFFN.slip(
    "one_layer_too_few",
    "There is one hidden layer too few. For n_hidden = 2 there are two layers of width d_ff: one from d_model, one from d_ff.",
    replace={" - 1": " - 2"},
)
DeepFFN.slip(
    "activation_after_the_last_layer",
    "The last layer is followed by an activation. The output of an FFN is linear in its last hidden layer, so it needs no activation at the end.",
    replace={".last(x)": ".activation(self.last(x))"},
)
DeepFFN.slip(
    "one_shared_layer",
    "All middle layers are one and the same: `[layer] * k`, or one layer called in a loop, shares its weights. Make a new nn.Linear for each.",
    replace={
        "widths = [d_model] + [d_ff] * (n_hidden - 1)": "middle = nn.Linear(d_ff, d_ff)",
        "[nn.Linear(width, d_ff) for width in widths]": "[nn.Linear(d_model, d_ff)] + [middle] * (n_hidden - 1)",
    },
)
DeepFFN.slip(
    "middle_layers_of_d_model",
    "The hidden layers have the wrong width: between the first and the last layer everything is d_ff wide.",
    replace={
        "widths = [d_model] + [d_ff] * (n_hidden - 1)\nself.hidden = …": (
            "self.hidden = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(n_hidden - 1)])\n"
            "self.hidden.append(nn.Linear(d_model, d_ff))"
        )
    },
)
DeepFFN.slip(
    "zero_hidden_layers_accepted",
    "n_hidden = 0 is accepted without a word. Fewer than one hidden layer is no FFN: raise ValueError when the object is made.",
    replace={"if n_hidden < 1:\n    raise …": "pass"},
)
DeepFFN.slip(
    "guard_only_for_zero",
    "Zero is refused but a negative n_hidden is not. Ask whether it is below 1.",
    replace={" < 1": " == 0", '"n_hidden must be at least 1"': '"n_hidden must not be 0"'},
)
DeepFFN.slip(
    "assert_instead_of_value_error",
    "A bad n_hidden ends in an AssertionError. `assert` is for what can't happen; for a caller's mistake raise ValueError.",
    replace={"if n_hidden < 1:\n    raise …": "assert n_hidden >= 1"},
)
DeepFFN.slip(
    "activation_only_once",
    "Only one of the hidden layers is followed by the activation. Without an activation between them, neighbouring layers collapse into one.",
    replace={"self.activation(layer(x))": "layer(x)", ".last(x)": ".last(self.activation(x))"},
)
DeepFFN.slip(
    "no_activation_at_all",
    "The activation is never called, so the whole stack is one linear map however deep it is.",
    replace={"self.activation(layer(x))": "layer(x)"},
)
DeepFFN.slip(
    "relu_whatever_is_asked",
    "The argument `activation` is never looked at: it is ReLU whatever one asks for.",
    replace={"self.activation = …": "", "functions = …": "self.activation = F.relu"},
)
DeepFFN.slip(
    "only_callables",
    "Names are not looked up: the text itself is called like a function. 'relu', 'gelu' and 'silu' stand for F.relu, F.gelu and F.silu.",
    replace={"self.activation = …": "", "functions = …": "self.activation = activation"},
)
DeepFFN.slip(
    "only_names",
    "A callable is refused: only names are looked up. A function such as torch.tanh is a legal `activation` too.",
    replace={"activation if callable(activation) else functions[activation]": "functions[activation]"},
)
DeepFFN.slip(
    "skip_connections",
    "The hidden layers are bridged by skip connections. None is asked for here: every layer's output replaces its input.",
    replace={
        "for layer in self.hidden:\n    x = …": (
            "x = self.activation(self.hidden[0](x))\n"
            "for layer in self.hidden[1:]:\n"
            "    x = x + self.activation(layer(x))"
        )
    },
)
DeepFFN.slip(
    "dropout_added",
    "There is dropout in it: in training mode the output is random. None is asked for here.",
    replace={
        "self.last = nn.Linear(d_ff, d_model)": (
            "self.dropout = nn.Dropout(0.1)\nself.last = nn.Linear(d_ff, d_model)"
        ),
        ".activation(layer(x))": ".dropout(self.activation(layer(x)))",
    },
)
DeepFFN.slip(
    "return_inside_the_loop",
    "The `return` is inside the loop, so only the first hidden layer is ever used. Move it out by one level.",
    replace={
        "for layer in self.hidden:\n    x = self.activation(layer(x))\nreturn self.last(x)": (
            "for layer in self.hidden:\n    x = self.activation(layer(x))\n    return self.last(x)"
        )
    },
)
DeepFFN.slip(
    "x_not_passed_on",
    "Every turn of the loop starts from x again: what the layer before computed is thrown away. Hand it on: `x = ...`.",
    replace={"x = self.activation(layer(x))": "hidden = self.activation(layer(x))", ".last(x)": ".last(hidden)"},
)
DeepFFN.slip(
    "residual_around_it",
    "x is added to the output. The residual connection is the block's business, around this module.",
    replace={
        "def forward(self, x):": "def forward(self, x):\n    hidden = x",
        "x = self.activation(layer(x))": "hidden = self.activation(layer(hidden))",
        "self.last(x)": "x + self.last(hidden)",
    },
)
DeepFFN.slip(
    "no_output_layer",
    "The last layer is missing: what comes back is the hidden layer, d_ff wide. One more Linear leads back to d_model.",
    replace={"self.last(x)": "x"},
)
DeepFFN.slip(
    "activation_after_the_first_only",
    "Only the first hidden layer is followed by the activation. Without an activation between them, neighbouring layers collapse into one.",
    of="skip_connections",
    replace={"x + self.activation(layer(x))": "layer(x)"},
)
DeepFFN.slip(
    "one_refused_too",
    "n_hidden = 1 is refused, but one hidden layer is the ordinary FFN. Only fewer than one is a ValueError.",
    replace={" < 1": " <= 1"},
)
DeepFFN.slip("deep_forward_returns_nothing", NO_RETURN, replace={"return self.last": "self.last"})

# NormFFN

NormFFN = Key(exercises.NormFFN)


@NormFFN.truth
class ByDefinition(nn.Module):
    """Mean and variance written as sums over the d_ff hidden numbers of one token (Ba, Kiros & Hinton 2016)."""

    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        named = {
            "relu": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
            "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
            "silu": lambda x: x / (1 + torch.exp(-x)),
        }
        self.act = activation if callable(activation) else named[activation]
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.gain, self.shift = nn.Parameter(torch.ones(d_ff)), nn.Parameter(torch.zeros(d_ff))

    def forward(self, x):
        weight, n = self.linear1.weight, len(self.gain)
        hidden = [self.act((x * weight[j]).sum(-1) + self.linear1.bias[j]) for j in range(n)]
        mean = sum(hidden) / n
        variance = sum((h - mean) ** 2 for h in hidden) / n
        output = self.linear2.bias.expand(x.shape)
        for j in range(n):
            normed = (hidden[j] - mean) / torch.sqrt(variance + 1e-5) * self.gain[j] + self.shift[j]
            output = output + normed.unsqueeze(-1) * self.linear2.weight[:, j]
        return output


@NormFFN.right("a Sequential around the named layers")
class NormSequential(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.middle_norm = nn.LayerNorm([d_ff])
        self.act = {"relu": torch.relu, "gelu": F.gelu, "silu": F.silu}.get(activation, activation)

    def forward(self, x):
        hidden = self.linear1(x)
        hidden = self.act(hidden)
        hidden = self.middle_norm(hidden)
        return self.linear2(hidden)


@NormFFN.right("the norm written out, with parameters of its own")
class NormByHand(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.g = nn.Parameter(torch.ones(d_ff))
        self.b = nn.Parameter(torch.zeros(d_ff))
        self.f = getattr(F, activation) if isinstance(activation, str) else activation

    def forward(self, x):
        h = self.f(self.linear1(x))
        h = h - h.mean(-1, keepdim=True)
        h = h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.linear2(self.g * h + self.b)


@NormFFN.right("F.layer_norm")
class NormFunctional(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.bias = nn.Parameter(torch.zeros(d_ff))
        self.weight = nn.Parameter(torch.ones(d_ff))
        if activation == "relu":
            self.activation = F.relu
        elif activation == "gelu":
            self.activation = F.gelu
        elif activation == "silu":
            self.activation = F.silu
        else:
            self.activation = activation

    def forward(self, x):
        hidden = self.activation(self.linear1(x))
        return self.linear2(F.layer_norm(hidden, hidden.shape[-1:], self.weight, self.bias))


@NormFFN.base
class PlainNormFFN(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm = nn.LayerNorm(d_ff)
        functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = activation if callable(activation) else functions[activation]

    def forward(self, x):
        return self.linear2(self.norm(self.activation(self.linear1(x))))


NormFFN.slip(
    "norm_of_d_model_in_the_middle",
    "The norm is as wide as the model: nn.LayerNorm(d_model) can't take the hidden layer, which has d_ff numbers per token.",
    replace={".LayerNorm(d_ff)": ".LayerNorm(d_model)"},
)
NormFFN.slip(
    "norm_on_the_output",
    "The norm comes after linear2, on the output. Here it is inside: on the d_ff hidden numbers, between the activation and linear2.",
    replace={
        ".LayerNorm(d_ff)": ".LayerNorm(d_model)",
        "return …": "return self.norm(self.linear2(self.activation(self.linear1(x))))",
    },
)
NormFFN.slip(
    "norm_on_the_input",
    "The norm comes before linear1, on x: that is a pre-norm block. Here it is inside, on the d_ff hidden numbers.",
    replace={
        ".LayerNorm(d_ff)": ".LayerNorm(d_model)",
        ".norm(self.activation(self.linear1(x)))": ".activation(self.linear1(self.norm(x)))",
    },
)
NormFFN.slip(
    "norm_before_the_activation",
    "The norm comes before the activation. Here it comes after: what linear2 reads has mean 0 before gain and bias.",
    replace={".norm(self.activation(self.linear1(x)))": ".activation(self.norm(self.linear1(x)))"},
)
NormFFN.slip(
    "over_the_tokens",
    "The mean and the variance are taken over the tokens (dim −2). Then tokens influence each other; LayerNorm works on each token's own d_ff numbers.",
    replace={
        "self.norm = nn.LayerNorm(d_ff)": (
            "self.gain = nn.Parameter(torch.ones(d_ff))\nself.shift = nn.Parameter(torch.zeros(d_ff))"
        ),
        "return …": (
            "h = self.activation(self.linear1(x))\n"
            "h = (h - h.mean(-2, keepdim=True)) / torch.sqrt(h.var(-2, unbiased=False, keepdim=True) + 1e-5)\n"
            "return self.linear2(self.gain * h + self.shift)"
        ),
    },
)
NormFFN.slip(
    "unbiased_variance",
    "The variance is divided by d_ff − 1: `.var()` and `.std()` do so unless told otherwise. LayerNorm divides by d_ff.",
    of="over_the_tokens",
    replace={
        "(h - h.mean(-2, keepdim=True)) / torch.sqrt(h.var(-2, unbiased=False, keepdim=True) + 1e-5)": (
            "(h - h.mean(-1, keepdim=True)) / torch.sqrt(h.var(-1, keepdim=True) + 1e-5)"
        ),
    },
)
NormFFN.slip(
    "eps_outside_the_root",
    "eps is added to the standard deviation instead of the variance: it belongs under the root. The difference is small, and it shows.",
    of="unbiased_variance",
    replace={"torch.sqrt(h.var(-1, keepdim=True) + 1e-5)": "(h.std(-1, unbiased=False, keepdim=True) + 1e-5)"},
)
NormFFN.slip(
    "std_as_in_a_tutorial",
    "`.std()` divides by d_ff − 1, and eps is added to it outside of the root, as in a well-known tutorial. LayerNorm: √(variance + eps), variance over d_ff.",
    of="eps_outside_the_root",
    replace={"unbiased=False, keepdim=True": "keepdim=True"},
)
NormFFN.slip(
    "rms_norm",
    "This is RMSNorm: it neither subtracts the mean nor has a bias. LayerNorm does both.",
    replace={".LayerNorm(d_ff)": ".RMSNorm(d_ff, eps=1e-5)"},
)
NormFFN.slip(
    "divided_by_the_variance",
    "It is divided by the variance instead of its square root, the standard deviation.",
    of="eps_outside_the_root",
    replace={"h.std": "h.var"},
)
NormFFN.slip(
    "mean_over_everything",
    "Mean and variance are taken over all tokens and neurons at once. LayerNorm takes each token's own d_ff numbers: dim=-1, keepdim=True.",
    of="std_as_in_a_tutorial",
    replace={
        "(h - h.mean(-1, keepdim=True)) / (h.std(-1, keepdim=True) + 1e-5)": "(h - h.mean()) / torch.sqrt(h.var(unbiased=False) + 1e-5)"
    },
)
NormFFN.slip(
    "norm_without_its_bias",
    "The norm has no bias of its own: `bias=False` leaves only the gain. Both are asked for.",
    replace={".LayerNorm(d_ff)": ".LayerNorm(d_ff, bias=False)"},
)
NormFFN.slip(
    "norm_and_residual",
    "x is added to the output. The residual connection is the block's business, around this module.",
    replace={"return self.linear2": "return x + self.linear2"},
)
NormFFN.slip(
    "norm_and_dropout",
    "There is dropout in it: in training mode the output is random. None is asked for here.",
    replace={
        "self.norm = nn.LayerNorm(d_ff)": "self.norm, self.dropout = nn.LayerNorm(d_ff), nn.Dropout(0.1)",
        ".norm(self.activation(self.linear1(x)))": ".dropout(self.norm(self.activation(self.linear1(x))))",
    },
)
NormFFN.slip(
    "default_gelu",
    "Without the argument the activation must be ReLU; yours is GELU. Look at the default in the signature.",
    replace={'activation="relu"': 'activation="gelu"'},
)
NormFFN.slip(
    "mean_not_subtracted",
    "The mean is not subtracted: this is RMSNorm. LayerNorm centres the hidden numbers before it scales them.",
    of="mean_over_everything",
    replace={
        "(h - h.mean()) / torch.sqrt(h.var(unbiased=False) + 1e-5)": "h / torch.sqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)"
    },
)
NormFFN.slip(
    "batch_norm",
    "This is BatchNorm1d: it normalises each neuron over the batch, so tokens depend on each other, and it takes dimension 1 for the features.",
    replace={"nn.LayerNorm": "nn.BatchNorm1d"},
)
NO_PARAMETERS = (
    "Gain and bias are missing from `parameters()`: the norm learns nothing. `elementwise_affine=False` switches them off, F.layer_norm needs them "
    "handed in, and a plain tensor is seen by no optimiser (nn.Parameter registers it)."
)
NormFFN.slip(
    "without_gain_and_bias", NO_PARAMETERS, replace={".LayerNorm(d_ff)": ".LayerNorm(d_ff, elementwise_affine=False)"}
)
NormFFN.slip(
    "gain_as_plain_tensors",
    replace={
        "self.norm = nn.LayerNorm(d_ff)": "self.gain, self.shift = torch.ones(d_ff, dtype=torch.float64), torch.zeros(d_ff, dtype=torch.float64)",
        "return …": (
            "h = self.activation(self.linear1(x))\n"
            "return self.linear2(F.layer_norm(h, h.shape[-1:], self.gain, self.shift))"
        ),
    },
    form_of="without_gain_and_bias",
)
NormFFN.slip(
    "no_norm",
    "There is no norm in `forward`: it is made, but never called.",
    replace={".norm(self.activation(self.linear1(x)))": ".activation(self.linear1(x))"},
)
NormFFN.slip(
    "norm_without_activation",
    "The activation is missing. A norm is not linear either, but it does not replace the activation: first act, then normalise.",
    replace={".activation(self.linear1(x))": ".linear1(x)"},
)
NormFFN.slip(
    "norm_ffn_without_silu",
    "'silu' is not known. Three names are asked for: 'relu', 'gelu' and 'silu'.",
    replace={'{"relu": F.relu, "gelu": F.gelu, "silu": F.silu}': '{"relu": F.relu, "gelu": F.gelu}'},
)
NormFFN.slip(
    "norm_ffn_relu_only",
    "The argument `activation` is never looked at: it is ReLU whatever one asks for.",
    replace={"self.activation = …": "", "functions = …": "self.activation = F.relu"},
)
NormFFN.slip("norm_ffn_returns_nothing", NO_RETURN, replace={"return self.linear2": "self.linear2"})

# Questions

quiz_rank = question(
    exercises.quiz_rank,
    right="C",
    wrong={
        "A": "The thinner FFN lets 100 directions through, but the other adds directions of its own to the sum.",
        "B": "The wider FFN lets 200 directions through, but the other adds directions of its own to the sum.",
    },
)

quiz_bias = question(
    exercises.quiz_bias,
    right="B",
    wrong={
        "A": "Neuron j writes h_j · W2[j], and that goes with its row. b2 is added even when all neurons are silent, so no part of it is a neuron's.",
        "C": "Those are the entries of b1: one threshold per hidden neuron. b2 has d_model entries, one for each number of the output.",
    },
)

quiz_dropout = question(
    exercises.quiz_dropout,
    right="A",
    wrong={
        "B": "`eval()` sets a flag, self.training, on the module and its sub-modules, and nn.Dropout looks at its own: it drops nothing then.",
        "C": "`eval()` sets self.training to False, and this line hands it on: nothing is dropped.",
    },
)
