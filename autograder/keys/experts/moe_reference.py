"""What is right, and what goes wrong, in `moe_reference` of notebook 08."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import experts as exercises

moe_reference = Key(exercises.moe_reference)


@moe_reference.truth
def token_and_expert(x, gates, experts):
    """Token by token and expert by expert, each as a batch of one."""
    rows = []
    for t in range(x.shape[0]):
        row = torch.zeros(1, x.shape[1], dtype=x.dtype)
        for e in range(gates.shape[1]):
            row = row + gates[t, e] * experts[e](x[t : t + 1])
        rows.append(row)
    return torch.cat(rows)


@moe_reference.right("a loop over the experts")
def over_experts(x, gates, experts):
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        y = y + gates[:, e].unsqueeze(-1) * expert(x)
    return y


@moe_reference.right("stacked, and einsum")
def by_einsum(x, gates, experts):
    every = torch.stack([expert(x) for expert in experts])
    return torch.einsum("te,etd->td", gates, every)


@moe_reference.right("stacked in the middle, and a batched matrix product")
def by_bmm(x, gates, experts):
    every = torch.stack([expert(x) for expert in experts], dim=1)
    return (gates.unsqueeze(1) @ every).squeeze(1)


@moe_reference.right("sum of a generator, gates transposed")
def by_sum(x, gates, experts):
    return sum(g[:, None] * expert(x) for g, expert in zip(gates.T, experts, strict=True))


@moe_reference.base
@moe_reference.right("in place on fresh zeros")
def in_place(x, gates, experts):
    y = torch.zeros(x.shape, dtype=x.dtype)
    for e in range(gates.size(1)):
        y += gates[:, e : e + 1] * experts[e](x)
    return y


moe_reference.slips("""
of by_sum
in return sum(g[:, None] * expert(x) for g, expert in zip(gates.T, experts, strict=True))
averaged: return torch.stack([gates[:, e, None] * expert(x) for e, expert in enumerate(experts)]).mean(0)
    The outputs are averaged over the experts. The gates are the weights already: add up, and do not divide by E.
squared: return sum(gates[:, e, None] ** 2 * expert(x) for e, expert in enumerate(experts))
    The gates enter twice, as a square. One factor of gates[t, e] for each expert's output.
on_the_input: return sum(expert(gates[:, e, None] * x) for e, expert in enumerate(experts))
    The gate is multiplied onto the expert's input. An expert is not linear: weight what comes out of it.
on_both_sides: return sum(gates[:, e, None] * expert(gates[:, e, None] * x) for e, expert in enumerate(experts))
    The gate is multiplied onto the input and onto the output. Only the output is weighted.
column_not_unsqueezed: return sum(gates[:, e] * expert(x) for e, expert in enumerate(experts))
    A column of gates, [T], meets a tensor [T, d_model]: the shapes do not fit. `gates[:, e, None]` or `unsqueeze(-1)` makes it [T, 1].
only_the_largest
  + best = gates.argmax(1)
  + rows = [gates[t, best[t]] * experts[best[t]](x[t : t + 1]) for t in range(len(x))]
  + return torch.cat(rows)
    Only the expert with the largest gate counts. All of them do, each with its own gate.
normalised
  + gates = gates / gates.sum(1, keepdim=True)
  + return sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))
    The gates are divided by their sum. Use them as given; a row need not sum to one.
softmaxed
  + gates = torch.softmax(gates, dim=-1)
  + return sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))
    A softmax is applied to the gates. They are weights already, not logits: use them as given.
first_expert_only
  + y = torch.zeros_like(x)
  + for e, expert in enumerate(experts):
  +     y = y + gates[:, e, None] * expert(x)
  +     return y
    Only the first expert is there: a `return` inside the loop ends it after one round.
always_expert_0: return sum(gates[:, e, None] * experts[0](x) for e in range(gates.shape[1]))
    Every gate weights the same expert, the first one: the loop's index is not used for the experts.
without_gates: return sum(expert(x) for expert in experts)
    The outputs are added without their gates. Each is multiplied by gates[t, e] first.
with_residual: return x + sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))
    x is added to the result. The residual connection belongs to the block around this layer.
of base
| starts_at_x
  - y = torch.zeros(x.shape, dtype=x.dtype)
  - for e in range(gates.size(1)):
  -     y += gates[:, e : e + 1] * experts[e](x)
  + y = x.clone()
  + for e, expert in enumerate(experts):
  +     y += gates[:, e, None] * expert(x)
of by_sum
in return sum(g[:, None] * expert(x) for g, expert in zip(gates.T, experts, strict=True))
tokens_summed: return torch.einsum("te,etd->d", gates, torch.stack([expert(x) for expert in experts]))
    The result is summed over the tokens too. Each token keeps a row of its own: [T, d_model].
not_summed: return torch.stack([gates[:, e, None] * expert(x) for e, expert in enumerate(experts)])
    The experts' outputs are not added up: the last step is a sum over the experts.
gates_detached: return sum(gates[:, e, None].detach() * expert(x) for e, expert in enumerate(experts))
    The gates are cut off from the graph (`.detach()`, `.item()` or `float(…)`): the router could not learn from this output.
reference_detached
  + with torch.no_grad():
  +     return sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))
    The values are right, but what comes back is cut off from the graph (by `.detach()`, `.data` or `torch.no_grad()`): nothing could be trained.
x_changed
  + outputs = [gates[:, e, None] * expert(x) for e, expert in enumerate(experts)]
  + x.zero_()
  + for output in outputs:
  +     x += output
  + return x
    x itself is changed: `+=` on x, or on a name for x, writes into the caller's tensor. Start with zeros.
one_after_the_other
  + for e, expert in enumerate(experts):
  +     x = gates[:, e, None] * expert(x)
  + return x
    Each expert is given what the one before it made. They work side by side: all of them take x itself.
the_two_largest
  + w, idx = gates.topk(min(2, len(experts)), dim=-1)
  + return sum(torch.where(idx == e, w, 0).sum(1, keepdim=True) * expert(x) for e, expert in enumerate(experts))
    Only the two largest gates of a token count. All of them do, each with its own expert.
the_best_unweighted
  + outputs = torch.stack([expert(x) for expert in experts], dim=1)
  + return outputs[torch.arange(len(x)), gates.argmax(-1)]
    The output of the expert with the largest gate comes back, without a weight. All experts take part, each with its own gate.
side_by_side: return torch.stack([gates[:, e, None] * expert(x) for e, expert in enumerate(experts)], dim=1)
    The experts' outputs are side by side, [T, E, d_model]: the last step, a sum over the experts (`dim=1`), is missing.
summed_over_the_features: return (gates[:, :, None] * torch.stack([expert(x) for expert in experts], dim=1)).sum(-1)
    The sum runs over d_model, and [T, E] comes back. Sum over the experts: one row of d_model numbers for each token.
looked_inside: return sum(gates[:, e, None] * f.linear2(torch.relu(f.linear1(x))) for e, f in enumerate(experts))
    The values are right, but the expert's inside is used (`linear1`, `linear2`). An expert may be any function: call it, `expert(x)`.
reference_not_returned: sum(gates[:, e, None] * expert(x) for e, expert in enumerate(experts))
    NO_RETURN
of over_experts
row_for_column: :, e -> e
    Token and expert are exchanged: `gates[e]` is the row of token e. The weights of expert e are the column `gates[:, e]`.
zeros_skipped
  - y = y + gates[:, e].unsqueeze(-1) * expert(x)
  + rows = gates[:, e] != 0
  + y = y.index_put((torch.where(rows)[0],), gates[rows, e, None] * expert(x[rows]), accumulate=True)
    Where a gate is zero, the expert is left out. The values are the same, but this gate gets no gradient: in the reference every expert counts.
of base
in
  - y = torch.zeros(x.shape, dtype=x.dtype)
  - for e in range(gates.size(1)):
  -     y += gates[:, e : e + 1] * experts[e](x)
last_expert_only
  + for e, expert in enumerate(experts):
  +     y = gates[:, e, None] * expert(x)
    Only the last expert is left: `=` in the loop overwrites what the earlier ones gave. Add.
reference_wrong_dtype
  + y = torch.zeros(x.shape)
  + for e, expert in enumerate(experts):
  +     y += gates[:, e, None] * expert(x)
    The result is float32, whatever x is: `torch.zeros(…)` has a dtype of its own, and `+=` keeps it. `torch.zeros_like(x)` takes the dtype of x.
""")
