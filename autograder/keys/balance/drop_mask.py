"""What is right, and what goes wrong, in `drop_mask` of notebook 09."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import balance as exercises

drop_mask = Key(exercises.drop_mask)


@drop_mask.truth
def served_one_by_one(idx, E, capacity):
    """Slot by slot, token by token; each expert keeps a list of whom it has taken."""
    T, k = idx.shape
    taken = {e: [] for e in range(E)}
    for s in range(k):
        for t in range(T):
            e = int(idx[t, s])
            if len(taken[e]) < capacity:
                taken[e].append((t, s))
    return torch.tensor([[(t, s) in taken[int(idx[t, s])] for s in range(k)] for t in range(T)])


@drop_mask.base
def plain_drop_mask(idx, E, capacity):
    T, k = idx.shape
    order = idx.T.reshape(-1)
    hot = F.one_hot(order, E)
    place = (hot.cumsum(0) * hot).sum(1)
    keep = place <= capacity
    return keep.reshape(k, T).T


drop_mask.slip(
    "by_running_sum",
    "one-hot and a running sum",
    replace={"keep = place <= capacity": "", "keep.reshape": "(place <= capacity).reshape"},
    kind="right",
)


@drop_mask.right("expert by expert, with the places of its slots")
def by_expert(idx, E, capacity):
    slots = idx.t().contiguous().view(-1)
    keep = torch.zeros(slots.shape, dtype=torch.bool)
    for e in range(E):
        where = torch.nonzero(slots == e).flatten()
        keep[where[:capacity]] = True
    return keep.view(idx.shape[1], idx.shape[0]).t()


@drop_mask.right("slot by slot, with what earlier slots have taken as an offset")
def by_slot(idx, E, capacity):
    taken = torch.zeros(E, dtype=torch.long)
    columns = []
    for column in idx.unbind(1):
        hot = F.one_hot(column, E)
        place = (hot.cumsum(0) - 1 + taken).gather(1, column[:, None])[:, 0]
        columns.append(place < capacity)
        taken = taken + hot.sum(0)
    return torch.stack(columns, dim=1)


@drop_mask.right("a stable sort by expert")
def by_sorting(idx, E, capacity):
    T, k = idx.shape
    flat = idx.T.flatten()
    order = flat.argsort(stable=True)
    counts = torch.bincount(flat, minlength=E)
    start = counts.cumsum(0) - counts
    place = torch.empty_like(flat)
    place[order] = torch.arange(len(flat)) - start[flat[order]]
    return (place < capacity).view(k, T).T


@drop_mask.right("two loops and a list of numbers")
def by_loops(idx, E, capacity):
    used = [0] * E
    keep = torch.zeros_like(idx, dtype=torch.bool)
    for slot in range(idx.shape[1]):
        for token, expert in enumerate(idx[:, slot].tolist()):
            keep[token, slot] = used[expert] < capacity
            used[expert] += 1
    return keep


drop_mask.slips("""
token_after_token
  - idx.T.reshape
  + idx.reshape
  - .reshape(k, T).T
  + .reshape(T, k)
    The tokens are served one after the other, with all their slots. Slot 0 of all tokens comes first, then slot 1 of all tokens.
last_slot_first
  - idx.T
  + idx.flip(1).T
  - .reshape(k, T).T
  + .reshape(k, T).T.flip(1)
    The slots are served from the last to the first. First choices come first.
keeps_the_last
  - .reshape(-1)
  + .reshape(-1).flip(0)
  - keep.reshape
  + keep.flip(0).reshape
    Each expert keeps its last slots and drops the first. Who comes first is served first.
later_tokens_first
  - idx.T
  + idx.flip(0).T
  - .reshape(k, T).T
  + .reshape(k, T).T.flip(0)
    Within a slot the tokens are served from the last to the first. The order is that of the tokens.
""")


@drop_mask.mistake(
    "Each slot is counted for itself, so an expert takes `capacity` first choices and as many second ones. It has one capacity for all slots together."
)
def a_capacity_for_each_slot(idx, E, capacity):
    keep = torch.zeros_like(idx, dtype=torch.bool)
    for s in range(idx.shape[1]):
        used = [0] * E
        for t in range(idx.shape[0]):
            e = int(idx[t, s])
            keep[t, s] = used[e] < capacity
            used[e] += 1
    return keep


@drop_mask.mistake(
    "Only slot 0 is looked at; what later slots ask for is kept in any case. Their slots take room as well."
)
def later_slots_all_kept(idx, E, capacity):
    used = [0] * E
    keep = torch.ones_like(idx, dtype=torch.bool)
    for t, e in enumerate(idx[:, 0].tolist()):
        keep[t, 0] = used[e] < capacity
        used[e] += 1
    return keep


drop_mask.slips("""
of later_slots_all_kept
later_slots_all_dropped: torch.ones_like -> torch.zeros_like
    Only slot 0 is served; what later slots ask for is dropped in any case, even where there is room.
""")


@drop_mask.mistake(
    "Where several tokens choose the same expert at once, `used[idx] += 1` counts only one of them. Count one after the other, or with a running sum."
)
def lost_increments(idx, E, capacity):
    used = torch.zeros(E, dtype=torch.long)
    columns = []
    for s in range(idx.shape[1]):
        columns.append(used[idx[:, s]] < capacity)
        used[idx[:, s]] += 1
    return torch.stack(columns, dim=1)


@drop_mask.mistake(
    "Chance decides who is dropped. Here the order decides: slot by slot, and within a slot token by token."
)
def at_random(idx, E, capacity):
    T, k = idx.shape
    flat = idx.T.flatten()
    keep = torch.zeros(len(flat), dtype=torch.bool)
    for e in range(E):
        where = torch.nonzero(flat == e).flatten()
        keep[where[torch.randperm(len(where))[:capacity]]] = True
    return keep.reshape(k, T).T


@drop_mask.mistake("The caller's idx is changed: dropped slots are overwritten in it. Make a new tensor for the mask.")
def idx_overwritten(idx, E, capacity):
    used = [0] * E
    for s in range(idx.shape[1]):
        for t in range(idx.shape[0]):
            e = int(idx[t, s])
            if used[e] >= capacity:
                idx[t, s] = -1
            used[e] += 1
    return idx >= 0


@drop_mask.mistake(
    "A slot whose expert is full is sent on to another expert that has room. Here it is dropped: there is no second round."
)
def sent_on(idx, E, capacity):
    used = [0] * E
    keep = torch.zeros_like(idx, dtype=torch.bool)
    for s in range(idx.shape[1]):
        for t, e in enumerate(idx[:, s].tolist()):
            if used[e] >= capacity:
                with_room = [other for other in range(E) if used[other] < capacity]
                if not with_room:
                    continue
                e = with_room[0]
            used[e] += 1
            keep[t, s] = True
    return keep


@drop_mask.mistake(
    "The loop ends (`break`) at the first slot that finds its expert full. Later slots may want another expert, which has room: go on with them."
)
def stops_at_the_first_drop(idx, E, capacity):
    used = [0] * E
    keep = torch.zeros_like(idx, dtype=torch.bool)
    for s in range(idx.shape[1]):
        for t, e in enumerate(idx[:, s].tolist()):
            if used[e] >= capacity:
                break
            used[e] += 1
            keep[t, s] = True
    return keep


@drop_mask.mistake("The place of each slot in its expert's queue comes back. Compare it with the capacity.")
def places_for_kept(idx, E, capacity):
    T, k = idx.shape
    hot = F.one_hot(idx.T.reshape(-1), E)
    return ((hot.cumsum(0) * hot).sum(1) - 1).reshape(k, T).T


drop_mask.slips("""
in = capacity
one_too_many: = capacity + 1
    Each expert keeps one slot more than its capacity. Does your count start at 0 or at 1?
everything_kept: = len(order)
    Everything is kept: the capacity is never compared with a count.
capacity_times_k: = k * capacity
    Each expert keeps k times its capacity. The capacity counts slots, whichever of a token's they are.
in keep = place <= capacity
one_too_few: keep = place < capacity
    Each expert keeps one slot fewer than its capacity. Does your count start at 0 or at 1?
dropped_for_kept: keep = place > capacity
    The mask is inverted: True means kept, False means dropped.
in keep.reshape(k, T).T
reshaped_without_transposing: keep.reshape(T, k)
    The order of service is slot by slot, [k, T]; `reshape(T, k)` reads it token by token. Reshape to [k, T] and transpose.
transposed_result: keep.reshape(k, T)
    The mask is [k, T]. It has the shape of idx: a row for each token.
flat_result: keep
    The mask is one long row. Fold it back to the shape of idx.
a_token_in_one_piece: keep.reshape(k, T).T.all(1, keepdim=True).expand(T, k)
    A token with one dropped slot loses all its slots. Each slot is kept or dropped for itself.
a_token_with_any_slot: keep.reshape(k, T).T.any(1, keepdim=True).expand(T, k)
    A token with one kept slot keeps all its slots. Each slot is kept or dropped for itself.
ones_and_zeros: keep.reshape(k, T).T.long()
    The mask is made of numbers. Return truth values, dtype bool.
floats: keep.reshape(k, T).T.float()
    The mask is made of floats, ready to multiply with. Return truth values, dtype bool.
experts_for_kept: idx.masked_fill(~keep.reshape(k, T).T, -1)
    Expert numbers come back, with −1 for dropped. Return truth values: True for kept.
in place = (hot.cumsum(0) * hot).sum(1)
running_sum_over_experts: place = (hot.cumsum(1) * hot).sum(1)
    The running sum goes over the experts, along the wrong dimension: it should run down the list of slots.
all_experts_together: place = torch.arange(1, len(order) + 1)
    The capacity is shared by all experts. Each expert has its own: count the slots of each one separately.
too_full_drops_all: place = hot.sum(0)[order]
    An expert with too many slots drops all of them. It keeps its first `capacity`.
|| places_for_kept | places_from_one: ((hot.cumsum(0) * hot).sum(1) - 1).reshape -> (hot.cumsum(0) * hot).sum(1).reshape
""")


@drop_mask.mistake("A list of lists comes back. Make a tensor of it.")
def a_list_of_lists(idx, E, capacity):
    used = [0] * E
    keep = [[False] * idx.shape[1] for _ in range(idx.shape[0])]
    for s in range(idx.shape[1]):
        for t in range(idx.shape[0]):
            e = int(idx[t, s])
            keep[t][s] = used[e] < capacity
            used[e] += 1
    return keep


@drop_mask.mistake(NO_RETURN)
def mask_not_returned(idx, E, capacity):
    torch.ones_like(idx, dtype=torch.bool)


@drop_mask.mistake(
    "The first token is never served: its slots are dropped, or stay as they were. Counting begins at 0, so the loop over tokens is `range(T)`."
)
def without_the_first_token(idx, E, capacity):
    T, k = idx.shape
    taken, kept = [0] * E, torch.zeros(T, k, dtype=torch.bool)
    for s in range(k):
        for t in range(1, T):
            e = int(idx[t, s])
            kept[t, s] = taken[e] < capacity
            taken[e] += 1
    return kept
