"""What is right, and what goes wrong, in `ffn_backward` of notebook 02."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import feed_forward as exercises

ffn_backward = Key(exercises.ffn_backward)


@ffn_backward.truth
def path_by_path(x, W1, b1, W2, b2, dy):
    """Each token, each neuron, each path through it, one number at a time; no matrix product. Where pre is 0, nothing comes back."""
    (d_model, d_ff), tokens, pulls = W1.shape, x.reshape(-1, x.shape[-1]).tolist(), dy.reshape(-1, x.shape[-1]).tolist()
    w1, v1, w2 = W1.tolist(), b1.tolist(), W2.tolist()
    dW1, dW2 = [[0.0] * d_ff for _ in range(d_model)], [[0.0] * d_model for _ in range(d_ff)]
    there = {"pre": [], "act": [], "out": []}
    db1, db2, dpre, dx = [0.0] * d_ff, [0.0] * d_model, [], []
    for token, pull in zip(tokens, pulls, strict=True):
        heard, reached = [0.0] * d_ff, [0.0] * d_model
        sums, fired, said = [0.0] * d_ff, [0.0] * d_ff, b2.tolist()
        for k in range(d_model):
            db2[k] += pull[k]
        for j in range(d_ff):
            pre = v1[j] + sum(token[i] * w1[i][j] for i in range(d_model))
            sums[j] = pre
            if pre > 0:
                fired[j] = pre
                for k in range(d_model):
                    said[k] += pre * w2[j][k]
                    dW2[j][k] += pre * pull[k]
                    heard[j] += w2[j][k] * pull[k]
                for i in range(d_model):
                    dW1[i][j] += token[i] * heard[j]
                    reached[i] += w1[i][j] * heard[j]
                db1[j] += heard[j]
        dpre.append(heard)
        dx.append(reached)
        for name, stage in (("pre", sums), ("act", fired), ("out", said)):
            there[name].append(stage)
    found = {name: torch.tensor(rows, dtype=x.dtype).reshape(*x.shape[:-1], -1) for name, rows in there.items()}
    return found | {
        "dW2": torch.tensor(dW2, dtype=x.dtype),
        "db2": torch.tensor(db2, dtype=x.dtype),
        "dpre": torch.tensor(dpre, dtype=x.dtype).reshape(*x.shape[:-1], d_ff),
        "dW1": torch.tensor(dW1, dtype=x.dtype),
        "db1": torch.tensor(db1, dtype=x.dtype),
        "dx": torch.tensor(dx, dtype=x.dtype).reshape(x.shape),
    }


@ffn_backward.right("einsum, which sums over the dots by itself")
def back_with_einsum(x, W1, b1, W2, b2, dy):
    pre = torch.einsum("...d,df->...f", x, W1) + b1
    dpre = torch.where(pre > 0, torch.einsum("...d,fd->...f", dy, W2), 0.0)
    dims = tuple(range(x.ndim - 1))
    return {
        "pre": pre,
        "act": F.relu(pre),
        "out": torch.einsum("...f,fd->...d", F.relu(pre), W2) + b2,
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
    pres, dpres, dxs = [], [], []
    for t, g in zip(x.reshape(-1, d_model), dy.reshape(-1, d_model), strict=True):
        pre = t @ W1 + b1
        dpre = W2 @ g
        dpre[pre <= 0] = 0
        grads["dW2"] += torch.outer(torch.relu(pre), g)
        grads["db2"] += g
        grads["dW1"] += torch.outer(t, dpre)
        grads["db1"] += dpre
        pres.append(pre)
        dpres.append(dpre)
        dxs.append(W1 @ dpre)
    grads["dpre"] = torch.stack(dpres).reshape(*x.shape[:-1], d_ff)
    grads["dx"] = torch.stack(dxs).view(x.shape)
    grads["pre"] = torch.stack(pres).reshape(*x.shape[:-1], d_ff)
    grads["act"] = grads["pre"].relu()
    grads["out"] = grads["act"] @ W2 + b2
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
        pre=pre.reshape(*x.shape[:-1], len(b1)),
        act=hidden.reshape(*x.shape[:-1], len(b1)),
        out=F.linear(hidden, W2.T, b2).reshape(x.shape),
    )


@ffn_backward.right("tensordot over all dimensions but the last")
def with_tensordot(x, W1, b1, W2, b2, dy):
    x2, dy2 = torch.atleast_2d(x), torch.atleast_2d(dy)
    dims = list(range(x2.ndim - 1))
    pre = x2 @ W1 + b1
    h = torch.relu(pre)
    dpre = dy2 @ W2.transpose(0, 1) * torch.heaviside(h, torch.zeros((), dtype=x.dtype))
    out = {"dpre": dpre.reshape(x.shape[:-1] + b1.shape), "dx": (dpre @ W1.transpose(0, 1)).reshape(x.shape)}
    out["pre"], out["act"] = pre.reshape(out["dpre"].shape), h.reshape(out["dpre"].shape)
    out["out"] = out["act"] @ W2 + b2
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
        "pre": pre,
        "act": h,
        "out": h @ W2 + b2,
        "dW2": rows(h).T @ rows(dy),
        "db2": rows(dy).sum(0),
        "dpre": dpre,
        "dW1": rows(x).T @ rows(dpre),
        "db1": rows(dpre).sum(0),
        "dx": dpre @ W1.T,
    }


ffn_backward.slips("""
biases_averaged
  - rows(dy).sum
  + rows(dy).mean
  - rows(dpre).sum
  + rows(dpre).mean
    The gradients of the biases are averages over the tokens, while those of the matrices are sums. A bias serves every token as well: what they say
    adds up.
not_summed_at_all
  - rows(dy).sum(0)
  + dy
  - rows(dpre).sum(0)
  + dpre
    The gradient of a bias still has a row for every token. It has the shape of the bias: sum over all dimensions but the last.
matrices_transposed
  - rows(h).T @ rows(dy)
  + rows(dy).T @ rows(h)
  - rows(x).T @ rows(dpre)
  + rows(dpre).T @ rows(x)
    dW1 and dW2 are transposed. A gradient has the shape of what it belongs to: W1 [d_model, d_ff], W2 [d_ff, d_model]. nn.Linear stores its weights
    the other way.
""")


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
    stages = {"pre": pre.detach(), "act": torch.relu(pre).detach(), "out": y.detach()}
    return stages | {"dW2": dW2, "db2": db2, "dpre": pre.grad, "dW1": dW1, "db1": db1, "dx": dx}


@ffn_backward.form(asks_autograd)
def asks_autograd_grad(x, W1, b1, W2, b2, dy):
    with torch.enable_grad():
        leaves = [t.clone().requires_grad_() for t in (x, W1, b1, W2, b2)]
        pre = leaves[0] @ leaves[1] + leaves[2]
        y = torch.relu(pre) @ leaves[3] + leaves[4]
        found = torch.autograd.grad(y, [*leaves, pre], dy)
    stages = {"pre": pre.detach(), "act": torch.relu(pre).detach(), "out": y.detach()}
    return stages | dict(zip(("dx", "dW1", "db1", "dW2", "db2", "dpre"), found, strict=True))


@ffn_backward.mistake(
    "The gradients come back as a tuple. A dict is asked for, so that each has its name: pre, act, out, dW2, db2, dpre, dW1, db1, dx."
)
def as_a_tuple(x, W1, b1, W2, b2, dy):
    pre = x @ W1 + b1
    dpre = dy @ W2.T * (pre > 0)
    X, h, P, Y = (t.reshape(-1, t.shape[-1]) for t in (x, torch.relu(pre), dpre, dy))
    return pre, torch.relu(pre), h @ W2 + b2, h.T @ Y, Y.sum(0), dpre, X.T @ P, P.sum(0), dpre @ W1.T


@ffn_backward.mistake(
    "x is taken apart as if it were one sentence [T, d_model]. It may be one token, or have more dimensions: lay all tokens under each other, and give "
    "dpre and dx the shape of x again."
)
def one_sentence_taken_for_granted(x, W1, b1, W2, b2, dy):
    T, d = x.shape
    pre = x.reshape(T, d) @ W1 + b1
    dpre = dy @ W2.T * (pre > 0)
    return {
        "pre": pre,
        "act": torch.relu(pre),
        "out": torch.relu(pre) @ W2 + b2,
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
    act = torch.relu(pre)
    found = {"pre": pre, "act": act, "out": act @ W2 + b2}
    found |= {"dW2": h.T @ Y, "db2": Y.sum(0), "dpre": dpre, "dW1": X.T @ P, "db1": P.sum(0), "dx": dpre @ W1.T}
    dy *= 0
    return found


ffn_backward.slips("""
in h = torch.relu(pre)
pre_overwritten_in_place: h = pre.clamp_(min=0)
    pre and act are the same: pre is taken after the activation, or was overwritten by it. A method with a trailing underscore (`clamp_`, `relu_`) and
    `h[h < 0] = 0` change the tensor itself, and `h = pre` makes no copy. Make the activation a new tensor.
| pre_masked_in_place
  - h = torch.relu(pre)
  + h = pre
  + h[h < 0] = 0
in "pre": pre,
| pre_overwritten_in_place | pre_taken_after_the_activation: "pre": h,
pre_without_b1: "pre": x @ W1,
    b1 is missing from pre: a neuron adds its bias to what it adds up.
pre_left_out:
    The key “pre” is missing. Nine keys are asked for: the three stages there, and six gradients on the way back.
in "act": h,
act_left_out:
    The key “act” is missing. Nine keys are asked for: the three stages there, and six gradients on the way back.
in "out": h @ W2 + b2,
out_left_out:
    The key “out” is missing. Nine keys are asked for: the three stages there, and six gradients on the way back.
out_without_b2: "out": h @ W2,
    b2 is missing from out.
out_from_pre: "out": pre @ W2 + b2,
    out is made from pre, so the activation is recorded but never used. Which stage does W2 read?
out_with_residual: "out": x + h @ W2 + b2,
    x is added to out. It ends with what the FFN says; the residual connection is outside of it.
gelu_there
  - "act": h,
  - "out": h @ W2 + b2,
  + "act": F.gelu(pre),
  + "out": F.gelu(pre) @ W2 + b2,
    This is GELU. The exercise asks for ReLU, there and back.
in dpre = dy @ W2.T * (pre > 0)
no_bend_on_the_way_back: dpre = dy @ W2.T
    The activation is missing on the way back: even silent neurons pass something on. ReLU's slope is 0 for these, and 1 for those that fired.
hears_back_at_exactly_zero: dpre = dy @ W2.T * (pre >= 0)
    A neuron that adds up to exactly 0 passes something on (`>=`?). Its slope counts as 0 here: only pre > 0 fired.
relu_of_what_comes_back: dpre = torch.relu(dy @ W2.T)
    ReLU is applied to what comes back. Its slope depends on what the neuron added up on the way **there**, `pre`; what comes back may have any sign.
| relu_of_what_comes_back_as_well: dy @ W2.T -> torch.relu(dy @ W2.T)
times_the_hidden_number: dpre = dy @ W2.T * h
    What comes back is multiplied by what the neuron gave out, relu(pre). The activation multiplies by its **slope**: 1 where the neuron fired, 0
    where not.
weights_not_turned: dpre = dy @ W2 * (pre > 0)
    The sizes in a product do not fit. W2 leads from d_ff to d_model; to go back from dy to the hidden layer it has to be turned: a transpose.
mask_without_b1: W1 + b1 -> W1
    Which neurons fired is asked without b1. Each fires where its whole sum, x @ W1 + b1, is above 0; so compute that once, and use it both ways.
pre_in_dW2: rows(h).T -> rows(pre).T
    dW2 is made with what the neurons added up, before the activation. W2 carries what they gave out: relu(pre).
dpre_before_the_bend
  - W2.T * (pre > 0)
  + W2.T
  - "dW1": rows(x).T @ rows(dpre),
  - "db1": rows(dpre).sum(0),
  - "dx": dpre @ W1.T,
  + "dW1": rows(x).T @ (rows(dpre) * (rows(pre) > 0)),
  + "db1": (rows(dpre) * (rows(pre) > 0)).sum(0),
  + "dx": (dpre * (pre > 0)) @ W1.T,
    `dpre` is what comes back **to** the activation, not yet what comes through it. Multiply it by the slope as well.
averaged_over_the_tokens
  - "dW2": rows(h).T @ rows(dy),
  - "db2": rows(dy).sum(0),
  + "dW2": rows(h).T @ rows(dy) / len(rows(x)),
  + "db2": rows(dy).mean(0),
  - "dW1": rows(x).T @ rows(dpre),
  - "db1": rows(dpre).sum(0),
  + "dW1": rows(x).T @ rows(dpre) / len(rows(x)),
  + "db1": rows(dpre).mean(0),
    The gradients of the arrays are averages over the tokens. Each token pulls at the same weights, and what they say adds up; if the loss is a mean,
    its 1/N is in `dy` already.
matrices_averaged
  - "dW2": rows(h).T @ rows(dy),
  + "dW2": rows(h).T @ rows(dy) / len(rows(x)),
  - "dW1": rows(x).T @ rows(dpre),
  + "dW1": rows(x).T @ rows(dpre) / len(rows(x)),
    The gradients of the matrices are averages over the tokens. Nothing is averaged here: each token pulls at the same weights, and what they say adds up.
everything_averaged
  - dpre = dy @ W2.T * (pre > 0)
  + dy = dy / len(rows(dy))
  + dpre = dy @ W2.T * (pre > 0)
    Everything is divided by the number of tokens. Nothing is averaged here: what the tokens say adds up, and if the loss is a mean, its 1/N is in `dy`
    already.
not_summed_over_sentences
  - "dW2": rows(h).T @ rows(dy),
  - "db2": rows(dy).sum(0),
  + "dW2": h.mT @ dy,
  + "db2": dy.sum(-2),
  - "dW1": rows(x).T @ rows(dpre),
  - "db1": rows(dpre).sum(0),
  + "dW1": x.mT @ dpre,
  + "db1": dpre.sum(-2),
    Only the tokens of one sentence are added up. x may have more dimensions before the last, and every token in all of them pulls at the same arrays:
    lay them all under each other first.
| biases_not_summed_over_sentences
  - rows(dy).sum
  + dy.sum
  - rows(dpre).sum
  + dpre.sum
in "dx": dpre @ W1.T,
residual_in_dx: "dx": dpre @ W1.T + dy,
    dx holds dy as well, as it would with a residual connection around the FFN. Here only the FFN is asked for.
dx_without_the_bend: "dx": dy @ W2.T @ W1.T,
    dx skips the activation, and all other gradients go through it. x acts only through `pre`, so dx comes from `dpre`.
| one_sentence_taken_for_granted | one_sentence_transposed
  - "dW2": rows(h).T @ rows(dy),
  - "db2": rows(dy).sum(0),
  + "dW2": h.T @ dy,
  + "db2": dy.sum(0),
  - "dW1": rows(x).T @ rows(dpre),
  - "db1": rows(dpre).sum(0),
  + "dW1": x.T @ dpre,
  + "db1": dpre.sum(0),
| one_sentence_in_outer_products
  - "dW2": rows(h).T @ rows(dy),
  - "db2": rows(dy).sum(0),
  + "dW2": (h[:, :, None] * dy[:, None]).sum(0),
  + "db2": dy.sum(0),
  - "dW1": rows(x).T @ rows(dpre),
  - "db1": rows(dpre).sum(0),
  + "dW1": (x[:, :, None] * dpre[:, None]).sum(0),
  + "db1": dpre.sum(0),
of one_sentence_transposed
| one_sentence_taken_for_granted | one_sentence_in_einsum
  - h.T @ dy
  + torch.einsum("tf,td->fd", h, dy)
  - x.T @ dpre
  + torch.einsum("td,tf->df", x, dpre)
""")
