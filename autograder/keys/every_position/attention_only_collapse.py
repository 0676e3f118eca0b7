"""What is right, and what goes wrong, in `attention_only_collapse` of notebook 04."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import every_position as exercises

attention_only_collapse = Key(exercises.attention_only_collapse)


@attention_only_collapse.truth
def one_query_at_a_time(X0, weights, skip):
    """Every query on its own, softmax by its definition, the residual from sums of squares; float64 throughout (Dong et al. 2021)."""

    def residual(tokens):
        off = total = 0.0
        for feature in zip(*[token.tolist() for token in tokens], strict=True):
            mean = math.fsum(feature) / len(feature)
            off += math.fsum((value - mean) ** 2 for value in feature)
            total += math.fsum(value**2 for value in feature)
        return math.sqrt(off / total)

    tokens = [token.double() for token in X0]
    found = [residual(tokens)]
    for layer in weights:
        Wq, Wk, Wv, Wo = (matrix.double() for matrix in layer)
        keys, values = [token @ Wk for token in tokens], [token @ Wv for token in tokens]
        outputs = []
        for token in tokens:
            scores = [float((token @ Wq) @ key) / math.sqrt(len(Wq[0])) for key in keys]
            shares = [math.exp(score) / math.fsum(map(math.exp, scores)) for score in scores]
            mixed = sum(share * value for share, value in zip(shares, values, strict=True))
            outputs.append(mixed @ Wo + (token if skip else 0))
        tokens = outputs
        found.append(residual(tokens))
    return found


@attention_only_collapse.right("a helper for attention, and one for the residual")
def with_helpers(X0, weights, skip):
    def attend(X, Wq, Wk, Wv, Wo):
        scores = torch.einsum("th,sh->ts", X @ Wq, X @ Wk) / Wq.shape[1] ** 0.5
        return scores.softmax(-1) @ (X @ Wv) @ Wo

    def residual(X):
        return float(torch.linalg.norm(X - X.mean(0, keepdim=True)) / torch.linalg.norm(X))

    X = X0.to(torch.float64)
    stages = [X]
    for matrices in weights:
        out = attend(X, *(m.to(torch.float64) for m in matrices))
        X = X + out if skip else out
        stages.append(X)
    return [residual(X) for X in stages]


@attention_only_collapse.right("torch's own attention")
def with_torch_attention(X0, weights, skip):
    x = X0.double()
    residuals = torch.zeros(len(weights) + 1, dtype=torch.float64)
    residuals[0] = (x - x.mean(dim=0)).norm() / x.norm()
    for i, (Wq, Wk, Wv, Wo) in enumerate(weights):
        q, k, v = (x @ W.double() for W in (Wq, Wk, Wv))
        out = F.scaled_dot_product_attention(q[None], k[None], v[None])[0] @ Wo.double()
        x = int(skip) * x + out
        residuals[i + 1] = (x - x.mean(dim=0)).norm() / x.norm()
    return residuals.tolist()


@attention_only_collapse.right("a list of 0-d tensors; the skip in place, on a fresh tensor")
def zero_dimensional(X0, weights, skip):
    X = X0.type(torch.double).clone()
    found = []
    for layer in [None, *weights]:
        if layer is not None:
            Wq, Wk, Wv, Wo = [W.double() for W in layer]
            out = torch.softmax(X @ (Wq @ Wk.T) @ X.T / math.sqrt(Wk.shape[1]), dim=1) @ X @ (Wv @ Wo)
            if skip:
                X += out
            else:
                X = out
        found.append(torch.sqrt(((X - X.mean(0)) ** 2).sum() / (X**2).sum()))
    return found


@attention_only_collapse.right("the mean as a product with a constant matrix, the layers by recursion")
def by_recursion(X0, weights, skip):
    X = X0.double()
    T = len(X)
    centre = torch.eye(T, dtype=X.dtype) - torch.ones(T, T, dtype=X.dtype) / T
    here = ((centre @ X).norm() / X.norm()).item()
    if not weights:
        return [here]
    Wq, Wk, Wv, Wo = (W.double() for W in weights[0])
    out = F.softmax((X @ Wq) @ (X @ Wk).mT / Wq.shape[-1] ** 0.5, dim=-1) @ (X @ Wv) @ Wo
    return [here, *by_recursion(skip * X + out, weights[1:], skip)]


@attention_only_collapse.right("the population variance: the numbers of entries cancel")
def with_variance(X0, weights, skip):
    def r(X):
        return math.sqrt(X.var(dim=0, unbiased=False).sum() / X.square().mean(dim=0).sum())

    stream = [X0.double()]
    for Wq, Wk, Wv, Wo in weights:
        X = stream[-1]
        A = torch.softmax((X @ Wq.double()) @ (X @ Wk.double()).T / math.sqrt(Wk.shape[1]), dim=1)
        stream.append(A @ X @ Wv.double() @ Wo.double() + (X if skip else 0))
    return list(map(r, stream))


@attention_only_collapse.base
def plain_attention_only_collapse(X0, weights, skip):
    def residual(X):
        return ((X - X.mean(dim=0)).norm() / X.norm()).item()

    X = X0.double()
    found = [residual(X)]
    for layer in weights:
        Wq, Wk, Wv, Wo = (W.double() for W in layer)
        scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])
        A = torch.softmax(scores, dim=-1)
        out = A @ (X @ Wv) @ Wo
        X = X + out if skip else out
        found.append(residual(X))
    return found


attention_only_collapse.slips("""
in_float32
  - X0.double
  + X0.float
  - W.double
  + W.float
    This was computed in float32: it keeps about seven digits, so the numbers stop falling near 1e-7. Turn X0 and the weights into float64 first.
dtype_of_the_input
  - X0.double()
  + X0
  - (W.double() for W in layer)
  + layer
    The dtype of X0 is kept. Where it is float32, the numbers stop falling near 1e-7: turn X0 and the weights into float64 yourself.
""")
_LATE_FLOAT64 = "Only the residual is taken in float64; the layers before it are not. What float32 has rounded away does not come back: begin with float64."
attention_only_collapse.slips("""
X0_changed_in_place
  - X = X + out if skip else out
  + if skip:
  +     X += out
  + else:
  +     X = out
    The numbers are right, but X0 was changed: `.double()` of a tensor that is float64 already makes no copy, and `+=` works in place. Write `X = X +
    …`.
weights_used_up
  - for layer in weights:
  + while weights:
  -  in layer
  +  in weights.pop(0)
    The list `weights` is emptied by `pop`: whoever calls the function a second time has no layers left. Walk through it with a `for`.
returned_inside_the_loop: return found ->     return found
    The `return` is inside the loop, so only one layer is run. Move it to the left, below the loop.
""")
_NOT_A_LIST = "The residuals came back as one tensor, or array. A list is asked for: `.tolist()` makes one."
attention_only_collapse.slips("""
skip_at_the_end
  - X + out if skip else out
  + out
  - return found
  + if skip:
  +     X = X + X0.double()
  +     found[-1] = residual(X)
  + return found
    The skip is added once, after the last layer. Each layer has its own: its input is added to its output.
mean_over_the_features_and_scaled_by_d_model
  - dim=0
  + dim=1, keepdim=True
  - math.sqrt(Wq.shape[1])
  + math.sqrt(X.shape[1])
    Two things at once. The residual subtracts the mean over the features: the mean token is the mean of the rows, `dim=0`. And the scores are divided
    by √d: h is the width of the head.
""")
_R = "((X - X.mean(dim=0)).norm() / X.norm()).item()"  # r(X), as the answer above has it
attention_only_collapse.slips("""
tensors_instead_of_residuals
  - [residual(X)]
  + [X]
  - .append(residual(X))
  + .append(X)
    The list holds the tokens of each layer. Its residuals are asked for, one number a layer.
list_not_returned: return found ->
    NO_RETURN
""")


attention_only_collapse.add_source(
    "mistake",
    "pair_not_taken_apart",
    "`self_attention` returns a pair, (out, A), and here the pair is used as if it were out. Write `out, A = …`.",
    """def self_attention(X, Wq, Wk, Wv, Wo, A=None):
    if A is None:
        A = torch.softmax((X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1]), dim=-1)
    return A @ (X @ Wv) @ Wo, A


def attention_only_collapse(X0, weights, skip):
    def residual(X):
        return ((X - X.mean(dim=0)).norm() / X.norm()).item()

    X = X0.double()
    found = [residual(X)]
    for layer in weights:
        layer = [W.double() for W in layer]
        out = self_attention(X, *layer)
        X = X + out if skip else out
        found.append(residual(X))
    return found
""",
)


attention_only_collapse.slips(
    """
residual_in_float32
  - def residual(X):
  + def residual(X):
  +     X = X.float()
    The layers are computed in float64, but the residual in float32: take its norms before rounding anything.
in (W.double() for W in layer)
weights_left_in_float32: layer
    X is float64 and the weights are not, and torch does not multiply two dtypes. Turn the weights into float64 as well.
the_first_layers_weights_again: (W.double() for W in weights[0])
    Every layer uses the matrices of the first. Each has its own four: take them anew in every turn of the loop.
X0_left_in_float32: X0.double() -> X0
    The weights are float64 and X0 is not, and torch does not multiply two dtypes. Turn X0 into float64 as well.
only_the_residual_in_float64
  - def residual(X):
  + def residual(X):
  +     X = X.double()
  - X0.double()
  + X0
  - (W.double() for W in layer)
  + layer
    LATE_FLOAT64
|| float32_and_the_residual_in_float64
  - = X0
  + = X0.float()
  - = layer
  + = (W.float() for W in layer)
weights_replaced
  - X = X0.double()
  + X = X0.double()
  + for i, layer in enumerate(weights):
  +     weights[i] = tuple(W.double() for W in layer)
    The numbers are right, but the list `weights` was changed on the way. Keep what you turn into float64 under a name of its own.
in return found
only_the_last_value: return found[-1]
    Only the last number came back. The whole list is asked for, from X0 to the last layer.
only_the_last_value_in_a_list: return found[-1:]
    The list holds only the last number. One per layer is asked for, and that of X0 first.
a_tensor_of_residuals: return torch.tensor(found, dtype=torch.float64)
    NOT_A_LIST
| an_array_of_residuals: return torch.tensor(found, dtype=torch.float64).numpy()
the_last_tokens: return X
    The tokens after the last layer came back. The residuals on the way are asked for, a list of L + 1 numbers.
layer_0_missing: [residual(X)] -> []
    The first number is missing: the residual of X0 itself, before any layer. L layers give L + 1 numbers.
last_layer_missing
  - [residual(X)]
  + []
  - for layer in weights:
  + for layer in weights:
  +     found.append(residual(X))
  - found.append(residual(X))
  +
    The last number is missing: the residual is taken before each layer, and once more after the last.
in X = X + out if skip else out
skip_from_X0: X = X0.double() + out if skip else out
    The skip adds X0 in every layer. It adds the input of the same layer, which is the output of the one before.
skip_doubles_the_output
  + X = out
  + X = X + out if skip else X
    The skip adds the layer's output to itself. It is the layer's input, as it was before attention, that is added.
skip_around_a_second_pass
  + X = out
  + if skip:
  +     X = X + torch.softmax((X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1]), dim=-1) @ (X @ Wv) @ Wo
    With `skip` each layer runs twice: X is replaced by the output first, and the output of a second pass is added. Keep the layer's input until the
    sum is made.
skip_added_twice: X = X + out + X if skip else out
    With `skip` the input is added twice. Is it in your attention already?
skip_averaged: X = (X + out) / 2 if skip else out
    Input and output are averaged. The skip adds them.
skip_ignored: X = out
    `skip` has no effect: the layer's input is never added.
skip_always: X = X + out
    The layer's input is always added. Only with `skip` it should be; without, X becomes the layer's output alone.
skip_the_wrong_way_round: X = out if skip else X + out
    `skip` works the wrong way round: the input is added when it is False.
X_never_replaced
  - X = X + out if skip else out
  - found.append(residual(X))
  + new = X + out if skip else out
  + found.append(residual(new))
    Every layer starts from X0 again. The output of one layer is the input of the next: X must be replaced in each turn.
attention_of_X0_only
  - scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])
  + start = X0.double()
  + scores = (start @ Wq) @ (start @ Wk).T / math.sqrt(Wq.shape[1])
  - A @ (X @ Wv)
  + A @ (start @ Wv)
    Attention is computed from X0 in every layer; only the skip hands anything on. The output of one layer is the input of the next.
residual_of_the_output: found.append(residual(X)) -> found.append(residual(out))
    With `skip` the residual is that of the layer's output alone. Measure the sum, which is what the next layer gets.
in A = torch.softmax(scores, dim=-1)
softmax_over_the_wrong_dimension: A = torch.softmax(scores, dim=0)
    The softmax runs over the queries. Each token shares out its attention among the tokens it looks at: the last dimension.
softmax_forgotten: A = scores
    The softmax is missing: without weights that sum to 1, nothing is averaged.
causal_mask: A = torch.softmax(scores.masked_fill(torch.ones_like(scores).triu(1) > 0, float('-inf')), dim=-1)
    A causal mask hides the later tokens. Here there is no mask: every token looks at all of them.
norm_added
  - scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])
  + Z = F.layer_norm(X, X.shape[-1:])
  + scores = (Z @ Wq) @ (Z @ Wk).T / math.sqrt(Wq.shape[1])
  - A @ (X @ Wv)
  + A @ (Z @ Wv)
    There is a LayerNorm before each attention. Here none is asked for: X goes in as it is.
A_of_the_first_layer
  - X = X0.double()
  + X = X0.double()
  + A = None
  - torch.softmax(scores, dim=-1)
  + torch.softmax(scores, dim=-1) if A is None else A
    The attention weights of the first layer are used in all of them (`self_attention`, given an A, freezes it). Each layer computes its own, from its
    own input.
in scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])
not_scaled: scores = (X @ Wq) @ (X @ Wk).T
    The scores are not divided by √h.
scaled_by_d_model: scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(X.shape[1])
    The scores are divided by the root of d, the width of X. It is the head's width, Wq.shape[1], that counts.
A_from_X0: scores = (X0.double() @ Wq) @ (X0.double() @ Wk).T / math.sqrt(Wq.shape[1])
    The attention weights are computed from X0 in every layer. Each layer computes them from its own input.
Wo_left_out: (X @ Wv) @ Wo -> (X @ Wv)
    Wo is left out: the output has width h, and the next layer can't take it. Wo [h, d] brings it back to width d.
in (X - X.mean(dim=0)).norm() /
mean_over_the_features: (X - X.mean(dim=1, keepdim=True)).norm() /
    The residual subtracts the mean over the features. Tokens are compared with each other: the mean of the rows, `dim=0`.
mean_over_features_without_keepdim: (X - X.mean(dim=1)).norm() /
    `X.mean(dim=1)` has one number per token and can't be subtracted from the rows. The mean over the tokens has one number per feature: `dim=0`.
in ((X - X.mean(dim=0)).norm() / X.norm()).item
residual_not_divided: (X - X.mean(dim=0)).norm().item
    The residual is not divided by the norm of X, so it also follows how large X has become.
bracket_missing: (X - X.mean(dim=0) / X.norm()).norm().item
    A bracket is missing: `/` comes before `-`, so that only the mean is divided by the norm of X. First subtract, then take both norms.
in return ((X - X.mean(dim=0)).norm() / X.norm()).item
residual_without_the_root: return (((X - X.mean(dim=0)) ** 2).sum() / (X**2).sum()).item
    The residuals are squared: a norm ends with a root.
spectral: return (torch.linalg.matrix_norm(X - X.mean(dim=0), 2) / torch.linalg.matrix_norm(X, 2)).item
    This is the spectral norm (`ord=2`), the largest singular value. The Frobenius norm is the root of the sum of all squares: `.norm()`.
size_of_the_mean: return (X.mean(dim=0).expand_as(X).norm() / X.norm()).item
    This is how large the mean token is beside X. The question is how large the rest is once the mean token is subtracted.
|| size_of_one_mean: .expand_as(X).norm -> .norm
one_minus: return 1 - ((X - X.mean(dim=0)).norm() / X.norm()).item
    This is 1 minus the residual: it is 1 where all tokens agree, and should be 0 there.
residual_not_returned: ((X - X.mean(dim=0)).norm() / X.norm()).item
    The list holds None instead of numbers. Does the function that measures r(X) end with a `return`?
in X.norm
divided_by_the_norm_of_X0: X0.double().norm
    Each residual is divided by the norm of X0. What belongs below the line is the norm of the same X, after that layer.
divided_by_the_mean: X.mean(dim=0).norm
    The division is by the size of the mean token. Divide by the norm of X, all tokens together.
| divided_by_the_repeated_mean: X.mean(dim=0).expand_as(X).norm
in X.mean
mean_of_X0_subtracted: X0.double().mean
    The mean of X0 is subtracted in every layer. Each X is compared with its own mean token.
sum_subtracted: X.sum
    The sum of the tokens is subtracted, T times as large as their mean.
in return ((X - X.mean(dim=0)).norm() / X.norm()).item()
mean_over_everything: return ((X - X.mean()).norm() / X.norm()).item()
    One mean of all numbers is subtracted. The mean token has d numbers, one for each feature.
norms_subtracted: return ((X.norm() - X.mean(dim=0).expand_as(X).norm()) / X.norm()).item()
    The norms are subtracted, not the tensors. Subtract the mean token from each token first, and take the norm of what is left.
|| norms_subtracted_of_one_mean: .expand_as(X).norm -> .norm
first_token_subtracted: return ((X - X[0]).norm() / X.norm()).item()
    The first token is subtracted from each. The tokens are compared with their mean.
residual_rounded: return round(((X - X.mean(dim=0)).norm() / X.norm()).item(), 2)
    The number is rounded. Return it as it is, and round where it is printed.
|| residual_rounded_to_three: 2 -> 3
|| residual_rounded_to_four: 2 -> 4
sample_variance: return math.sqrt(X.var(dim=0).sum() / X.square().mean(dim=0).sum())
    The sample variance divides by T − 1, so the numbers of entries no longer cancel. Use norms, or `unbiased=False`.
upside_down: return (X.norm() / (X - X.mean(dim=0)).norm()).item()
    The quotient is upside down: the norm of X belongs below the line.
X_centred_in_place
  + size = X.norm()
  + X -= X.mean(dim=0)
  + return (X.norm() / size).item()
    X itself was changed where r(X) is measured: `-=` works in place. Write `X - X.mean(...)`, a new tensor.
in ((X - X.mean(dim=0)).norm() / X.norm()).item()
residual_of_entries: ((X - X.mean(dim=0)) / X).norm().item()
    The quotient is taken entry by entry, and only then a norm: small entries of X rule. Two norms are asked for, and one quotient.
token_by_token_mean: ((X - X.mean(dim=0)).norm(dim=-1) / X.norm(dim=-1)).mean().item()
    The norms are taken token by token or feature by feature, so there are several numbers, or their mean. Both norms run over all entries of the
    matrix: one number.
| one_per_token: (X - X.mean(dim=0)).norm(dim=-1) / X.norm(dim=-1)
| feature_by_feature_mean: ((X - X.mean(dim=0)).norm(dim=0) / X.norm(dim=0)).mean().item()
in .norm() / X.norm
largest_entries_only: .abs().max() / X.abs().max
    The largest entry is taken. The Frobenius norm counts all of them.
sum_of_absolute_values: .abs().sum() / X.abs().sum
    Absolute values are added up instead of squares. The Frobenius norm is the root of the sum of squares.
quotient_of_variances: .var() / X.var
    This is a quotient of variances. A norm is the root of a sum of squares; a variance has no root, and subtracts a mean of its own.
in (X - X.mean(dim=0)).norm
mean_not_subtracted: X.norm
    The mean is not subtracted, so the quotient is always 1. The question is how far X is from its mean token.
nearest_rank_one: torch.linalg.svdvals(X)[1:].norm
    These are singular values: they tell how far the nearest matrix of rank one is. Here the comparison is with the mean token, repeated: tokens that
    are multiples of each other are of rank one, too, but they do not agree.
| second_singular_value: (X - X.mean(dim=0)).norm() / X.norm() -> torch.linalg.svdvals(X)[1] / torch.linalg.svdvals(X)[0]
of pair_not_taken_apart
in out = self_attention(X, *layer)
pair_taken_apart_the_wrong_way_round: A, out = self_attention(X, *layer)
    `self_attention` returns (out, A), in this order. Here X becomes A, the weights [T, T], and no longer fits the next layer.
layer_not_taken_apart: out, A = self_attention(X, layer)
    A layer is one tuple of four matrices, and `self_attention` wants four arguments. A star takes the tuple apart: `self_attention(X, *layer)`.
""",
    LATE_FLOAT64=_LATE_FLOAT64,
    NOT_A_LIST=_NOT_A_LIST,
)
