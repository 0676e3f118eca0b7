"""What is right, and what goes wrong, in `moe_sorted` of notebook 08."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import experts as exercises

moe_sorted = Key(exercises.moe_sorted)


@moe_sorted.truth
def rows_of_each_expert(x, idx, w, experts):
    """A list of (token, slot) for each expert, made by two loops; one call for each list; the parts added token by token."""
    T, k = idx.shape
    sums = [torch.zeros(x.shape[1], dtype=x.dtype) for _ in range(T)]
    for e in range(len(experts)):
        mine = [(t, s) for t in range(T) for s in range(k) if int(idx[t, s]) == e]
        if not mine:
            continue
        outputs = experts[e](torch.stack([x[t] for t, _ in mine]))
        for n, (t, s) in enumerate(mine):
            sums[t] = sums[t] + w[t, s] * outputs[n]
    return torch.stack(sums)


@moe_sorted.right("sort, and index_add instead of the way back")
def with_index_add(x, idx, w, experts):
    k = idx.size(1)
    sorted_experts, order = idx.flatten().sort(stable=True)
    token = torch.div(order, k, rounding_mode="floor")
    counts = torch.bincount(sorted_experts, minlength=len(experts)).tolist()
    y = torch.zeros_like(x)
    start = 0
    for e, n in enumerate(counts):
        if n == 0:
            continue
        part = slice(start, start + n)
        y = y.index_add(0, token[part], w.flatten()[order[part]].unsqueeze(1) * experts[e](x[token[part]]))
        start += n
    return y


@moe_sorted.right("argsort of argsort as the way back, einsum at the end")
def argsort_twice(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = torch.argsort(flat, stable=True)
    expanded = x.repeat_interleave(k, dim=0)[order]
    sizes = [int((flat == e).sum()) for e in range(len(experts))]
    pieces = [expert(piece) for expert, piece in zip(experts, torch.split(expanded, sizes), strict=True)]
    outputs = torch.cat(pieces)[torch.argsort(order)]
    return torch.einsum("tkd,tk->td", outputs.reshape(T, k, -1), w)


@moe_sorted.right("slot after slot instead of token after token")
def slot_major(x, idx, w, experts):
    T, k = idx.shape
    flat, weight = idx.T.reshape(-1), w.T.reshape(-1)
    order = flat.argsort(stable=True)
    ends = torch.bincount(flat, minlength=len(experts)).cumsum(0).tolist()
    y = torch.zeros(T * k, x.shape[1], dtype=x.dtype)
    start = 0
    for expert, end in zip(experts, ends, strict=True):
        slots = order[start:end]
        y = y.index_put((slots,), expert(x[slots % T]))
        start = end
    return (y * weight[:, None]).reshape(k, T, -1).sum(0)


@moe_sorted.right("without sorting: one mask for each expert")
def without_sorting(x, idx, w, experts):
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = torch.where(idx == e)
        y.index_add_(0, token, w[token, slot, None] * expert(x[token]))
    return y


@moe_sorted.right("bincount without minlength, zip stops by itself")
def zip_stops(x, idx, w, experts):
    k = idx.shape[1]
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    xs = x[order // k].split(torch.bincount(flat).tolist())
    ys = torch.cat([expert(part) for expert, part in zip(experts, xs, strict=False)]) * w.reshape(-1)[order, None]
    return torch.zeros_like(x).scatter_add(0, (order // k)[:, None].expand_as(ys), ys)


@moe_sorted.base
def plain_moe_sorted(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    counts = torch.bincount(flat, minlength=len(experts)).tolist()
    xs = x[order // k]
    ys = torch.cat([expert(part) for expert, part in zip(experts, xs.split(counts))])
    back = torch.argsort(order)
    slots = ys[back].reshape(T, k, -1)
    return (slots * w[:, :, None]).sum(1)


moe_sorted.slips("""
sorted_input_scaled
  - x[order // k]
  + x[order // k] * w.reshape(-1)[order, None]
  - (slots * w[:, :, None])
  + slots
    The weights are multiplied onto the experts' inputs. An expert is not linear: weight what comes out of it.
sorted_not_returned: (slots * w[:, :, None]).sum(1) -> None
    NO_RETURN
""")


@moe_sorted.mistake(
    "The values are right, but an expert is called once for every slot, k times in all. Put its tokens of all slots together, and call it once."
)
def once_a_slot(x, idx, w, experts):
    y = torch.zeros_like(x)
    for s in range(idx.shape[1]):
        for e, expert in enumerate(experts):
            mask = idx[:, s] == e
            if mask.any():
                y[mask] += w[mask, s, None] * expert(x[mask])
    return y


@moe_sorted.mistake(
    "The values are right, but experts are called once for every token. Put all tokens of an expert together, and call it once."
)
def once_a_token(x, idx, w, experts):
    rows = []
    for t in range(len(x)):
        rows.append(sum(w[t, s] * experts[idx[t, s]](x[t : t + 1]) for s in range(idx.shape[1])))
    return torch.cat(rows)


@moe_sorted.mistake(
    "A token's outputs overwrite each other: `y[token] = …` and `y[token] += …` write a row once, though a token occurs k times. `index_add` adds all."
)
def written_once(x, idx, w, experts):
    k = idx.shape[1]
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    token = order // k
    counts = torch.bincount(flat, minlength=len(experts)).tolist()
    ys = torch.cat([expert(part) for expert, part in zip(experts, x[token].split(counts), strict=True)])
    y = torch.zeros_like(x)
    y[token] += w.reshape(-1)[order, None] * ys
    return y


@moe_sorted.form(written_once)
def assigned_in_a_loop(x, idx, w, experts):
    k = idx.shape[1]
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    counts = torch.bincount(flat, minlength=len(experts)).tolist()
    y = torch.zeros_like(x)
    start = 0
    for e, n in enumerate(counts):
        slots = order[start : start + n]
        y[slots // k] = w.reshape(-1)[slots, None] * experts[e](x[slots // k])
        start += n
    return y


@moe_sorted.mistake(
    "`bincount` stops at the largest expert that occurs, so the counts are too few when the last experts have no token. Its argument `minlength` helps."
)
def without_minlength(x, idx, w, experts):
    k = idx.shape[1]
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    counts = torch.bincount(flat)
    y, start = torch.zeros_like(x), 0
    for e in range(len(experts)):
        slots = order[start : start + counts[e]]
        y = y.index_add(0, slots // k, w.reshape(-1)[slots, None] * experts[e](x[slots // k]))
        start += counts[e]
    return y


@moe_sorted.mistake("x itself is changed: the result is added into the caller's tensor. Start with zeros of its shape.")
def sorted_x_changed(x, idx, w, experts):
    out = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = torch.where(idx == e)
        out = out.index_add(0, token, w[token, slot, None] * expert(x[token]))
    x.copy_(out)
    return x


@moe_sorted.mistake(
    "`bincount` ends at the largest number it met, and `strict=True` notices. Tell it how many experts there are: `minlength`."
)
def without_minlength_but_strict(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    parts = x[order // k].split(torch.bincount(flat).tolist())
    ys = torch.cat([expert(part) for expert, part in zip(experts, parts, strict=True)])
    return (ys[order.argsort()].reshape(T, k, -1) * w[:, :, None]).sum(1)


moe_sorted.slips("""
in xs = x[order // k]
order_as_token: xs = x[order]
    `order` holds numbers of slots, from 0 to T·k − 1, but it is used as if they were tokens. Slot n belongs to token n // k.
order_modulo_k: xs = x[order % k]
    `order % k` is the slot within its token. Which token a slot belongs to is `order // k`.
rows_in_the_old_order: xs = x.repeat_interleave(k, 0)
    The list of rows is cut before it was sorted: the rows are token after token, the counts belong to the experts. Take the rows in the order of
    `order`.
in // k
order_modulo_T: % T
    The rows of x are taken as if the list ran slot after slot, as `order % T` or `x.repeat` do. `idx.reshape(-1)` runs token after token: slot n
    belongs to token n // k.
true_division: / k
    `order / k` gives fractions, which are no row numbers. Whole division is `//`.
in idx.reshape
flattened_slot_after_slot: idx.T.reshape
    The list of slots runs slot after slot (`idx.T`), but the rest reads it token after token. Use `idx.reshape(-1)`, or go with % T all the way.
viewed_slots: idx.view
    `view` can't flatten idx or w when their rows do not lie one after the other in memory. `reshape` copies where it has to.
not_undone: back = torch.argsort(order) -> back = torch.arange(T * k)
    The outputs are still sorted by expert when they are handed to the tokens. Bring them back into the order of the slots first.
# What shows in the order of the slots is kept in two forms: a sort that is not stable leaves them in another order.
|| not_undone_unstable: stable=True ->
undone_with_order: back = torch.argsort(order) -> back = order
    The way back uses `order` again. It needs the inverse: `back` with back[order[i]] = i, which is also `order.argsort()`.
|| undone_with_order_unstable: stable=True ->
weights_not_sorted
  - torch.cat([expert(part) for expert, part in zip(experts, xs.split(counts))])
  + torch.cat([expert(part) for expert, part in zip(experts, xs.split(counts))]) * w.reshape(-1, 1)
  - (slots * w[:, :, None]).sum
  + slots.sum
    The weights are multiplied onto the sorted outputs, but are themselves in the order of the slots. Sort them too, or weight after the way back.
|| weights_not_sorted_unstable: stable=True ->
in return (slots * w[:, :, None]).sum(1)
weights_sorted_too_much: return (slots * w.reshape(-1)[order].reshape(T, k, 1)).sum(1)
    The weights are sorted, but the outputs they meet are back in the order of the slots. Either both are sorted or neither.
sorted_without_weights: return slots.sum(1)
    The outputs are summed without their weights: w[t, s] belongs in front of each.
in (slots * w[:, :, None]).sum(1)
only_the_first_slot: slots[:, 0] * w[:, :1]
    Only the first of the k slots reaches the result. Sum over all k.
sorted_not_summed: slots * w[:, :, None]
    The k outputs of a token are still apart, [T, k, d_model]. Weight them and sum over k.
viewed_the_other_way: (ys[back].reshape(k, T, -1) * w.T[:, :, None]).sum(0)
    The slots are viewed as [k, T, …], but the list runs token after token: the k slots of a token lie side by side, [T, k, …].
in .sum
last_slot_dropped: [:, : max(k - 1, 1)].sum
    The last of the k slots is missing in the sum. Sum over all k.
sorted_mean: .mean
    The mean over the k slots is taken. The weights say how much each counts: take the sum.
in return (slots * w[:, :, None]).sum
weights_normalised: return (slots * (w / w.sum(1, keepdim=True))[:, :, None]).sum
    The weights are divided by their sum. Use them as given; a row need not sum to one.
sorted_weights_detached: return (slots * w.detach()[:, :, None]).sum
    The weights are cut off from the graph (`.detach()`, `.item()`, `.tolist()`): the router could not learn from this output.
sorted_with_residual: return x + (slots * w[:, :, None]).sum
    x is added to the result. The residual connection belongs to the block around this layer.
in = flat.argsort(stable=True)
not_sorted_at_all: = torch.arange(T * k)
    The slots are split without having been sorted, so each expert gets whatever comes first. Sort them by expert before `split`.
sorted_by_weight: = w.reshape(-1).argsort()
    The slots are sorted by weight. Slots of the same expert must be side by side: sort by the expert's number.
sorted_downwards: order = flat.argsort(stable=True) -> order = flat.argsort(stable=True, descending=True)
    The slots are sorted from the last expert to the first, but split from the first to the last.
in counts = torch.bincount(flat, minlength=len(experts)).tolist()
counts_of_the_used_only: counts = torch.unique(flat, return_counts=True)[1].tolist()
    The counts have no entry for an expert without tokens (`unique`), so all experts behind it get the wrong part. `bincount` counts zeros too.
lengths_as_a_tensor: counts = torch.bincount(flat, minlength=len(experts))
    `split` takes a list of lengths, not a tensor: `counts.tolist()` makes one.
in torch.cat([expert(part) for expert, part in zip(experts, xs.split(counts))])
cat_of_used_experts: torch.cat([expert(part) for expert, part in zip(experts, xs.tensor_split(len(experts)))])
    With a fixed size of the parts (`chunk`, T·k / E each) experts get tokens of others. The parts have as many rows as each expert has slots.
called_with_all: torch.stack([expert(x) for expert in experts])[flat[order], order // k]
    The values are right, but every expert is called on all tokens. Pick the rows first: that is what the sorting is for.
lengths_for_places: torch.cat([expert(part) for expert, part in zip(experts, xs.tensor_split(counts[:-1]))])
    `tensor_split` wants the places of the cuts, not the lengths of the parts. `split` takes lengths.
in .sum(1)
sorted_detached: .sum(1).detach()
    The values are right, but what comes back is cut off from the graph (by `.detach()`, `.data` or `torch.no_grad()`): nothing could be trained.
summed_over_the_tokens: .sum(0)
    The sum runs over the tokens. Of [T, k, d_model] it is the k slots of a token that are added, `dim=1`.
of without_sorting
sorted_wrong_dtype
  - = torch.zeros_like(x)
  + = torch.zeros(x.shape)
  - y.index_add_
  + y = y.index_add
    The zeros are float32, whatever x is, and then the dtypes do not fit, or the result is float32. `torch.zeros_like(x)` takes the dtype of x.
""")


@moe_sorted.form("sorted_wrong_dtype")
def sorted_back_in_float32(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    parts = x[order // k].split(torch.bincount(flat, minlength=len(experts)).tolist())
    slots = torch.zeros(T * k, x.shape[1])
    slots[order] = torch.cat([expert(part) for expert, part in zip(experts, parts, strict=True)])
    return (slots.reshape(T, k, -1) * w[:, :, None]).sum(1)
