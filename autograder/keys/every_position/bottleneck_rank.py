"""What is right, and what goes wrong, in `bottleneck_rank` of notebook 04."""

from __future__ import annotations

import math

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import every_position as exercises

bottleneck_rank = Key(exercises.bottleneck_rank)


@bottleneck_rank.truth
def by_turning_columns(ffn, X):
    """Hestenes 1958, in float64, on what the neurons write: pairs of columns are turned until all are orthogonal. Their lengths are the singular values."""
    hidden = X.double() @ ffn.linear1.weight.double().T + ffn.linear1.bias.double()
    written = (torch.relu(hidden) @ ffn.linear2.weight.double().T).detach()
    columns = list(written.T)
    for _ in range(30):
        turned = False
        for i in range(len(columns)):
            for j in range(i):
                one, other = columns[i], columns[j]
                a, b, c = float(one @ one), float(other @ other), float(one @ other)
                if abs(c) <= 1e-15 * (a * b) ** 0.5:
                    continue
                angle = 0.5 * math.atan2(2 * c, a - b)
                columns[i] = math.cos(angle) * one + math.sin(angle) * other
                columns[j] = math.cos(angle) * other - math.sin(angle) * one
                turned = True
        if not turned:
            break
    lengths = [float(column.norm()) for column in columns]
    return sum(length > 1e-6 * max(lengths) for length in lengths)


@bottleneck_rank.right("singular values, with a relative tolerance")
def by_svd(ffn, X):
    with torch.no_grad():
        s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    return int((s > 1e-6 * s[0]).sum())


@bottleneck_rank.right("what the neurons write, without ever adding b2")
def without_adding_b2(ffn, X):
    written = ffn.activation(ffn.linear1(X)) @ ffn.linear2.weight.T
    return torch.linalg.matrix_rank(written, rtol=1e-6).item()


@bottleneck_rank.right("a 0-d tensor as the answer")
def a_tensor(ffn, X):
    out = ffn(X).detach() - ffn.linear2.bias.detach()
    return torch.linalg.matrix_rank(out, rtol=1e-6)


@bottleneck_rank.base
@bottleneck_rank.right("numpy's singular values")
def with_numpy(ffn, X):
    import numpy as np

    out = (ffn(X) - ffn.linear2.bias).detach().numpy()
    s = np.linalg.svd(out, compute_uv=False)
    return int((s > s.max() * 1e-6).sum())


@bottleneck_rank.right("the eigenvalues of the d × d product, in float64")
def by_eigenvalues(ffn, X):
    out = (ffn(X) - ffn.linear2.bias).detach().double()
    size = out.abs().max()
    if size == 0:
        return 0
    values = torch.linalg.eigvalsh(out.T @ out / size**2)
    return int((values > 1e-12 * values.max()).sum())


bottleneck_rank.slips("""
of a_tensor
in
  - out = ffn(X).detach() - ffn.linear2.bias.detach()
  - return torch.linalg.matrix_rank(out, rtol=1e-6)
b2_not_subtracted: return int(torch.linalg.matrix_rank(ffn(X), rtol=1e-6))
    b2 is still in the output. It shifts all rows by the same vector, which counts as a direction of its own. Subtract it first.
mean_subtracted
  + out = ffn(X)
  + return int(torch.linalg.matrix_rank(out - out.mean(0), rtol=1e-6))
    The mean row is subtracted instead of b2. Part of what the neurons write goes with it, and of a few inputs one is lost. b2 is what does not come
    from neurons.
rank_of_the_weights: return int(torch.linalg.matrix_rank(ffn.linear2.weight @ ffn.linear1.weight))
    This is the rank of the weights, the most that is possible. Few inputs, or neurons that never fire, leave less: look at the output for the given
    X.
| smaller_width
  + d_ff, d_model = ffn.linear1.weight.shape
  + return min(d_ff, d_model)
number_of_neurons: return ffn.linear1.out_features
    This is d_ff, the number of hidden neurons. It is only a bound: the output can't have more than d_model directions, nor more than there are
    inputs, or neurons that fire.
smallest_size: return min(*X.shape, ffn.linear1.out_features)
    This is min(N, d_model, d_ff), the most that is possible. Neurons that never fire write nothing: count the directions in the output.
rank_of_X: return int(torch.linalg.matrix_rank(X, rtol=1e-6))
    This is the rank of X. The bottleneck can lower it, and the activation can raise it: look at the output.
rank_of_the_hidden_layer: return int(torch.linalg.matrix_rank(ffn.activation(ffn.linear1(X)), rtol=1e-6))
    This is the rank of the hidden layer, or the number of its neurons that fire. With d_ff above d_model it exceeds what the d_model outputs can
    hold: go on through linear2.
without_activation
  + hidden = ffn.linear1(X) - ffn.linear1.bias
  + return int(torch.linalg.matrix_rank(hidden @ ffn.linear2.weight.T, rtol=1e-6))
    The activation is missing, so this is the rank of a straight network: neurons that never fire are counted as if they did.
all_above_zero: return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 0).sum())
    Every singular value above zero is counted. Rounding leaves tiny ones where there should be none: compare with a millionth of the largest.
absolute_tolerance: return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 1e-3).sum())
    The tolerance is an absolute number. With smaller or larger weights it cuts too much or too little: compare with the largest singular value.
| absolute_millionth: return int((torch.linalg.svdvals(ffn(X) - ffn.linear2.bias) > 1e-6).sum())
| atol_of_matrix_rank: return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, atol=1e-6))
float64_too_late: return int(torch.linalg.matrix_rank((ffn(X) - ffn.linear2.bias).double()))
    The output was computed in float32 and made float64 afterwards. That keeps the rounding, and the default tolerance of float64 counts it as
    directions. What counts as zero here is a millionth of the largest: `rtol=1e-6`.
default_tolerance: return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias))
    What is less than a millionth of the largest singular value is counted. The default tolerance of `matrix_rank` is made for rounding alone: in
    float64 it lies at a hundred-millionth of a millionth. Say yours with `rtol`.
tolerance_too_large
  + s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
  + return int((s > 1e-4 * s[0]).sum())
    Directions that are weak, and real, are taken for zero: the tolerance is larger than a millionth of the largest singular value.
|| percents_alone: 4 * s[0] -> 3 * s.sum()
not_less_than_nothing
  + s = torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
  + return int((s >= 1e-6 * s[0]).sum())
    Where no neuron fires, all singular values are 0, and so is a millionth of the largest: `>=` counts them all. What is written has to be larger.
number_of_singular_values: return len(torch.linalg.svdvals(ffn(X) - ffn.linear2.bias))
    This is min(N, d_model), as much as an output can have. Are singular values counted that are zero up to rounding? Is X added? The residual, whose
    rank is that of X, goes around the FFN.
| with_the_residual: return int(torch.linalg.matrix_rank(X + ffn(X) - ffn.linear2.bias, rtol=1e-6))
a_float: return float(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, rtol=1e-6))
    The rank is a float here. It counts something: make it an int.
b2_set_to_zero
  + ffn.linear2.bias.data.zero_()
  + return int(torch.linalg.matrix_rank(ffn(X), rtol=1e-6))
    The FFN you were given is changed: b2 is gone, for whoever uses the FFN next. Subtract it from the output instead.
|| b2_removed: ffn.linear2.bias.data.zero_() -> ffn.linear2.bias = None
b1_subtracted: return int(torch.linalg.matrix_rank(ffn(X) - ffn.linear1.bias, rtol=1e-6))
    b1 is subtracted, or the wrong bias: the one that every output row contains is `ffn.linear2.bias`, with d_model numbers.
the_singular_values: return torch.linalg.svdvals(ffn(X) - ffn.linear2.bias)
    The singular values themselves come back. The rank is how many of them are not zero, up to rounding.
rank_not_returned: int(torch.linalg.matrix_rank(ffn(X) - ffn.linear2.bias, rtol=1e-6))
    NO_RETURN
of base
numpy_with_a_graph
  - out = (ffn(X) - ffn.linear2.bias).detach().numpy()
  - s = np.linalg.svd(out, compute_uv=False)
  - return int((s > s.max() * 1e-6).sum())
  + return int(np.linalg.matrix_rank(ffn(X) - ffn.linear2.bias))
    numpy takes no tensor that carries a graph: `.detach()` cuts it off, or compute under `torch.no_grad()`.
""")
