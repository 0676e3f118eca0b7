"""What is right, and what goes wrong, in `fuse_gate_up` of notebook 07."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import gated as exercises

fuse_gate_up = Key(exercises.fuse_gate_up)


@fuse_gate_up.truth
def row_by_row(gate_weight, up_weight):
    rows = [gate_weight[j] for j in range(gate_weight.shape[0])]
    rows += [up_weight[j] for j in range(up_weight.shape[0])]
    return torch.stack(rows)


@fuse_gate_up.right("torch.vstack")
def with_vstack(gate_weight, up_weight):
    return torch.vstack((gate_weight, up_weight))


@fuse_gate_up.right("a stack, flattened")
def stack_and_flatten(gate_weight, up_weight):
    return torch.stack([gate_weight, up_weight]).flatten(0, 1)


@fuse_gate_up.right("written into a fresh tensor")
def into_a_fresh_tensor(gate_weight, up_weight):
    f, d = gate_weight.shape
    fused = torch.zeros(2 * f, d, dtype=gate_weight.dtype)
    fused[:f] = gate_weight
    fused[f:] = up_weight
    return fused


@fuse_gate_up.right("by way of the transposes, non-contiguous")
def by_the_transposes(gate_weight, up_weight):
    return torch.cat([gate_weight.T, up_weight.T], dim=1).T


@fuse_gate_up.right("padding and addition")
def padded(gate_weight, up_weight):
    f = len(gate_weight)
    return F.pad(gate_weight, (0, 0, 0, f)) + F.pad(up_weight, (0, 0, f, 0))


fuse_gate_up.slips("""
of by_the_transposes
in torch.cat([gate_weight.T, up_weight.T], dim=1).T
side_by_side: torch.cat([gate_weight, up_weight], dim=1)
    The weights lie side by side, [d_ff, 2·d_model]: that layer would read two copies of x. The outputs are the rows, so the rows double.
| last_dimension: torch.hstack([gate_weight, up_weight])
up_first: torch.cat([up_weight, gate_weight], dim=0)
    Up comes first and gate second, so `chunk` hands them over the wrong way round, and the activation would bend the wrong half.
interleaved: torch.stack([gate_weight, up_weight], dim=1).reshape(-1, gate_weight.shape[1])
    The rows alternate: gate, up, gate, up. Some models store them so and take every second number; `chunk(2)` cuts in the middle.
input_split: torch.block_diag(gate_weight, up_weight)
    This block matrix reads the first half of its input for the gate and the second for up: the input is split. Both branches read all of x; it is the
    output that is split.
stacked: torch.stack([gate_weight, up_weight])
    The weights are stacked along a new dimension, [2, d_ff, d_model]. The weight of one layer has two dimensions: lay them one below the other.
transposed: torch.cat([gate_weight.T, up_weight.T], dim=1)
    The result is transposed, [d_model, 2·d_ff]. That fits `x @ W`; F.linear and nn.Linear want a row for each output.
transposes_stacked: torch.cat([gate_weight.T, up_weight.T], dim=0)
    The transposes lie one below the other, [2·d_model, d_ff]. Both weights are [d_ff, d_model] already: leave them as they are.
added: gate_weight + up_weight
    The weights are added. One sum can't be taken apart again: lay the rows one below the other.
multiplied: gate_weight * up_weight
    The weights are multiplied with each other. It is the branches' outputs that are multiplied, later; the weights stay side by side in one layer.
matrix_product: gate_weight @ up_weight.T
    The weights are multiplied as matrices. Both branches read the same x; neither reads the other's output.
gate_twice: torch.cat([gate_weight, gate_weight], dim=0)
    The gate's rows are there twice, and up is missing.
detached: torch.cat([gate_weight.detach(), up_weight.detach()], dim=0)
    The fused weight is cut off from the two it was made of: no gradient reaches them. `detach()`, `.data` and a new tensor or Parameter all do this.
| new_parameter: nn.Parameter(torch.cat([gate_weight, up_weight], dim=0))
| without_gradient
  - return torch.cat([gate_weight.T, up_weight.T], dim=1).T
  + with torch.no_grad():
  +     return torch.cat([gate_weight, up_weight], dim=0)
always_float32: torch.cat([gate_weight, up_weight], dim=0).float()
    The dtype is always float32. The fused weight has the dtype of the two it is made of.
| fresh_float32
  - return torch.cat([gate_weight.T, up_weight.T], dim=1).T
  + fused = torch.zeros(2 * len(gate_weight), gate_weight.shape[1])
  + fused[: len(gate_weight)] = gate_weight
  + fused[len(gate_weight) :] = up_weight
  + return fused
always_float64: torch.cat([gate_weight, up_weight], dim=0).double()
    The dtype is always float64. The fused weight has the dtype of the two it is made of.
a_pair: gate_weight, up_weight
    The two weights come back as a pair. One matrix was asked for, with the rows of both.
up_twice: torch.cat([up_weight, up_weight], dim=0)
    Up's rows are there twice, and the gate is missing.
without_brackets: torch.cat(gate_weight, up_weight)
    torch.cat wants its tensors in one list or tuple: `torch.cat([first, second], dim=...)`.
averaged: (gate_weight + up_weight) / 2
    The weights are averaged. A mean can't be taken apart again: lay the rows one below the other.
stacked_at_the_end: torch.stack([gate_weight, up_weight], dim=-1)
    The weights are stacked along a new last dimension, [d_ff, d_model, 2]. The weight of one layer has two dimensions: lay them one below the other.
a_list_of_rows: [*gate_weight, *up_weight]
    The rows come back in a Python list. One tensor was asked for; torch.stack makes one of them.
activated: torch.cat([F.silu(gate_weight), up_weight], dim=0)
    The activation is applied to the gate's weight. It bends what the gate gives for an x, later; the weights stay as they are.
in return torch.cat([gate_weight.T, up_weight.T], dim=1).T
a_layer
  + layer = nn.Linear(gate_weight.shape[1], 2 * len(gate_weight), bias=False)
  + layer.weight.data = torch.cat([gate_weight, up_weight])
  + return layer
    A whole nn.Linear came back. The weight alone was asked for, a tensor [2·d_ff, d_model].
changed_in_place
  + fused = torch.cat([gate_weight, up_weight], dim=0)
  + with torch.no_grad():
  +     up_weight.zero_()
  + return fused
    One of the two weights is changed in place: its layer would compute something else from now on. Build the result from fresh tensors.
nothing_returned: fused = torch.cat([gate_weight, up_weight], dim=0)
    NO_RETURN
half_of_each
  + half = len(gate_weight) // 2
  + return torch.cat([gate_weight[:half], up_weight[:half]], dim=0)
    Half of each weight's rows is missing: together they should have 2·d_ff rows. It is the result that is cut in two, not the weights.
by_way_of_numpy
  + rows = [*gate_weight.numpy(), *up_weight.numpy()]
  + return torch.stack([torch.from_numpy(row) for row in rows])
    `.numpy()` leaves PyTorch: a weight that is learned refuses it, and no gradient would come back. torch.cat does the same with tensors.
""")
