"""What is right, and what goes wrong, in `moe_loop` of notebook 08."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import experts as exercises

moe_loop = Key(exercises.moe_loop)


@moe_loop.truth
def one_token_at_a_time(x, gates, experts):
    """Token by token: each chosen expert is called with a batch of one."""
    d, E = x.shape[-1], gates.shape[-1]
    tokens, weights = x.reshape(-1, d), gates.reshape(-1, E)
    rows = []
    for t in range(len(tokens)):
        row = torch.zeros(1, d, dtype=x.dtype)
        for e in range(E):
            if float(weights[t, e]) != 0:
                row = row + weights[t, e] * experts[e](tokens[t : t + 1])
        rows.append(row)
    return torch.cat(rows).reshape(x.shape)


@moe_loop.right("nonzero and index_put with accumulate")
def by_index_put(x, gates, experts):
    flat, g = x.flatten(0, -2), gates.flatten(0, -2)
    y = torch.zeros_like(flat)
    for e, expert in enumerate(experts):
        rows = g[:, e].nonzero().squeeze(-1)
        if len(rows) == 0:
            continue
        y = y.index_put((rows,), g[rows, e].unsqueeze(-1) * expert(flat[rows]), accumulate=True)
    return y.view_as(x)


@moe_loop.right("a boolean mask, on any leading dimensions, in place on fresh zeros")
def by_mask(x, gates, experts):
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        mask = gates[..., e] > 0
        y[mask] += gates[..., e][mask][:, None] * expert(x[mask])
    return y


@moe_loop.right("the calls of each expert put together, then scatter_add")
def by_scatter_add(x, gates, experts):
    tokens = x.reshape(-1, x.shape[-1])
    weights = gates.reshape(-1, gates.shape[-1])
    who, parts = [], []
    for e in range(weights.shape[1]):
        (rows,) = torch.nonzero(weights[:, e], as_tuple=True)
        who.append(rows)
        parts.append(experts[e](tokens[rows]) * weights[rows, e : e + 1])
    index = torch.cat(who)[:, None].expand(-1, tokens.shape[1])
    return torch.zeros_like(tokens).scatter_add(0, index, torch.cat(parts)).reshape(x.shape)


@moe_loop.right("a matrix of zeros and ones for each expert: dispatch and combine as products")
def by_products(x, gates, experts):
    tokens, weights = x.reshape(-1, x.shape[-1]), gates.reshape(-1, gates.shape[-1])
    y = 0 * tokens
    for e, expert in enumerate(experts):
        pick = torch.eye(len(tokens), dtype=x.dtype)[weights[:, e] != 0]
        y = y + pick.T @ (pick @ weights[:, e : e + 1] * expert(pick @ tokens))
    return y.reshape(x.shape)


@moe_loop.right("the published way: slots outside, experts inside")
def slots_and_experts(x, gates, experts):
    tokens, weights = x.reshape(-1, x.shape[-1]), gates.reshape(-1, gates.shape[-1])
    w, idx = weights.topk(int((weights != 0).sum(-1).max()), dim=-1)
    y = torch.zeros_like(tokens)
    for s in range(w.shape[1]):
        for e, expert in enumerate(experts):
            mask = (idx[:, s] == e) & (w[:, s] != 0)
            if mask.any():
                y[mask] = y[mask] + w[mask, s].unsqueeze(1) * expert(tokens[mask])
    return y.reshape(x.shape)


@moe_loop.base
def plain_moe_loop(x, gates, experts):
    flat = x.reshape(-1, x.shape[-1])
    g = gates.reshape(-1, gates.shape[-1])
    y = torch.zeros_like(flat)
    for e, expert in enumerate(experts):
        rows = torch.where(g[:, e] != 0)[0]
        y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
    return y.reshape(x.shape)


moe_loop.slips("""
not_flattened
  - flat = x.reshape(-1, x.shape[-1])
  - g = gates.reshape(-1, gates.shape[-1])
  + flat = x
  + g = gates
  - y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
  + y[rows] += g[rows, e].unsqueeze(-1) * expert(flat[rows])
  - y.reshape(x.shape)
  + y
    This works for one dimension before the last only: with [B, T, d_model] a column `gates[:, e]` is no longer an expert's. Flatten x and gates
    first.
loop_not_returned: y.reshape(x.shape) -> None
    NO_RETURN
in y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
overwritten: y[rows] = g[rows, e, None] * expert(flat[rows])
    A token's second expert overwrites the first: the rows are assigned with `=`. A token has several experts; add to its row.
weight_of_expert_0: y = y.index_add(0, rows, g[rows, 0, None] * expert(flat[rows]))
    All experts are weighted with the same column of the gates, the first. Expert e has the column e.
weight_summed: y = y.index_add(0, rows, g[rows].sum(-1, keepdim=True) * expert(flat[rows]))
    Each output is weighted with the sum of the token's gates. Take the one entry that belongs to expert e.
weights_of_the_first_rows: y = y.index_add(0, rows, g[: len(rows), e, None] * expert(flat[rows]))
    The weights are those of the first tokens, not of the ones that were picked: `gates[:n, e]` where `gates[rows, e]` is meant.
loop_without_gates: y = y.index_add(0, rows, expert(flat[rows]))
    The outputs are added without their gates: every chosen expert counts fully. Multiply by gates[…, e].
empty_expert: y = y.index_add(0, rows, torch.stack([g[t, e] * expert(flat[t]) for t in rows.tolist()]))
    It breaks when an expert has no token: there is nothing to stack. Skip such an expert, or call it with zero rows.
all_tokens_everywhere: y = y + g[:, e, None] * expert(flat)
    The values are right, but every expert is called on all tokens: that is the dense reference, and nothing is saved. Pick the rows first.
in y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
| all_tokens_then_picked: y.index_add(0, rows, g[rows, e, None] * expert(flat)[rows])
    The values are right, but the rows are picked after the call: every expert still computes all tokens. Pick the rows of x first.
in y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
rows_not_picked: y[rows] += g[rows, e, None] * expert(flat)
    The expert is given all tokens, and then the sizes do not fit: n weights and n rows to add to, but T outputs. It is given `x[rows]`.
loop_not_unsqueezed: y = y.index_add(0, rows, g[rows, e] * expert(flat[rows]))
    The weights, [n], meet outputs [n, d_model]: the shapes do not fit. `[:, None]` or `unsqueeze(-1)` makes them [n, 1].
ends_after_one
  + y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
  + return y.reshape(x.shape)
    Only the first expert is there: a `return` inside the loop ends it after one round.
in y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
loop_input_scaled: y.index_add(0, rows, expert(g[rows, e, None] * flat[rows]))
    The gate is multiplied onto the expert's input. An expert is not linear: weight what comes out of it.
loop_gates_detached: y.index_add(0, rows, g[rows, e, None].detach() * expert(flat[rows]))
    The gates are cut off from the graph (`.detach()`, `.item()`, `.tolist()`): the router could not learn from this output.
loop_input_detached: y.index_add(0, rows, g[rows, e, None] * expert(flat[rows].detach()))
    The tokens are cut off from the graph on their way into the experts: the layers before this one would get no gradient.
always_the_first_expert: y.index_add(0, rows, g[rows, e, None] * experts[0](flat[rows]))
    All tokens go to expert 0: the loop chooses the rows of expert e, but calls the first one.
in return y.reshape(x.shape)
shape_lost: return y
    The tokens of all sentences are in one long list, [N, d_model]. The result has the shape of x: fold it back.
loop_detached: return y.detach().reshape(x.shape)
    The values are right, but what comes back is cut off from the graph (by `.detach()`, `.data` or `torch.no_grad()`): nothing could be trained.
in
  - flat = x.reshape(-1, x.shape[-1])
  - g = gates.reshape(-1, gates.shape[-1])
gates_not_flattened
  + flat = x
  + g = gates
    With more than one sentence it breaks: it works for x [T, d_model] only. Flatten all leading dimensions of x and of gates, and fold the result
    back.
viewed
  + flat = x.view(-1, x.shape[-1])
  + g = gates.view(-1, gates.shape[-1])
    `view` can't flatten a tensor whose rows do not lie one after the other in memory. `reshape` copies where it has to.
loop_shape_lost_in_the_middle
  + flat = x.transpose(0, -2).reshape(-1, x.shape[-1])
  + g = gates.transpose(0, -2).reshape(-1, gates.shape[-1])
    The shape is right, but the tokens are in the wrong order: x was turned (`transpose`, `.T`) or flattened along another dimension than it was
    folded back.
in rows = torch.where(g[:, e] != 0)[0]
stops_at_an_empty_expert
  + rows = torch.where(g[:, e] != 0)[0]
  + if len(rows) == 0:
  +     break
    When an expert has no token, the loop ends, and the experts after it are left out: `continue` goes on with the next, `break` does not.
twice_called
  + rows = torch.where(g[:, e] != 0)[0]
  + expert(flat[rows])
    Each expert gets its tokens twice. Call it once, and keep what comes out.
row_of_the_gates: rows = torch.where(g[e] != 0)[0]
    Token and expert are exchanged: `gates[e]` is the row of token e. The tokens of expert e are in the column `gates[:, e]`.
only_the_largest_gate: rows = torch.where(g.argmax(-1) == e)[0]
    Each token has one expert only, the one with the largest gate. All experts with a gate above zero take part.
last_expert_left_out: rows = torch.where(g[:, e] != 0)[0] if e < len(experts) - 1 else torch.arange(0)
    The last expert is never called: the loop ends one too early.
threshold: rows = torch.where(g[:, e] > 0.5)[0]
    Small gates are treated like zeros. Every expert whose gate is not zero is chosen, however small the gate is.
|| low_threshold: 0.5 -> 0.1
loop_x_changed
  - torch.zeros_like(flat)
  + flat
  - y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
  + out = g[rows, e, None] * expert(flat[rows])
  + y[rows] = y[rows] + out
    x itself is changed: the result is written into the caller's tensor. Start with zeros of its shape.
in = torch.zeros_like(flat)
loop_with_residual: = flat.clone()
    The result starts as x, so x is added. Start with zeros; the residual connection belongs to the block around this layer.
wrong_dtype: = torch.zeros(flat.shape)
    The zeros are float32, whatever x is, and then the dtypes do not fit, or the result is float32. `torch.zeros_like(…)` takes the dtype of x.
|| wrong_dtype_in_place
  - y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
  + y[rows] += g[rows, e, None] * expert(flat[rows])
passed_on_unchanged: = flat * (g.sum(-1, keepdim=True) == 0)
    A token without an expert keeps its x. The sum over no experts is zero: start every row with zeros.
in gates.reshape(-1, gates.shape[-1])
two_assumed: gates.reshape(-1, gates.shape[-1]) * (gates >= gates.topk(2, -1).values[..., -1:]).reshape(-1, gates.shape[-1])
    Only the two largest gates of a token count. A token has as many experts as its row has gates above zero: two here, three there, or none.
gates_normalised: gates.reshape(-1, gates.shape[-1]) / gates.reshape(-1, gates.shape[-1]).sum(-1, keepdim=True)
    The gates are divided by their sum. Use them as given; a row need not sum to one.
zeros_instead_of_rows
  - rows = torch.where(g[:, e] != 0)[0]
  - y = y.index_add(0, rows, g[rows, e, None] * expert(flat[rows]))
  + rows = (g[:, e] != 0).unsqueeze(-1)
  + y = y + g[:, e, None] * expert(flat * rows) * rows
    The values are right, but the others' rows are multiplied by zero, not left out: every expert is still called on all T rows. Pick the rows:
    `x[rows]`.
""")
