"""What is right, and what goes wrong, in `bias_update` of notebook 09."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import balance as exercises

bias_update = Key(exercises.bias_update)


@bias_update.truth
def expert_after_expert(b, counts, u):
    """Compares E times the count with the total, so that nothing is rounded."""
    numbers = counts.tolist()
    moved = []
    for old, number in zip(b.tolist(), numbers, strict=True):
        if number * len(numbers) < sum(numbers):
            moved.append(old + u)
        elif number * len(numbers) > sum(numbers):
            moved.append(old - u)
        else:
            moved.append(old)
    return torch.tensor(moved, dtype=b.dtype)


@bias_update.right("under no_grad, with the sign of the violation subtracted")
def under_no_grad(b, counts, u):
    with torch.no_grad():
        load = counts.to(b.dtype)
        return b - u * torch.sign(load - load.mean())


@bias_update.right("two comparisons")
def by_comparing(b, counts, u):
    mean = counts.double().mean()
    new = b.detach().clone()
    new[counts < mean] += u
    new[counts > mean] -= u
    return new


@bias_update.right("where, twice")
def by_where(b, counts, u):
    b = b.data
    even = counts.sum() / len(counts)
    step = torch.where(counts > even, -u, torch.where(counts < even, u, 0.0))
    return b + step.to(b.dtype)


@bias_update.right("the sign of shares instead of counts, with whole numbers")
def by_whole_numbers(b, counts, u):
    violation = counts.sum() - len(counts) * counts
    return (b + u * violation.sign()).detach().to(b.dtype)


@bias_update.base
def plain_bias_update(b, counts, u):
    b = b.detach()
    load = counts.to(b.dtype)
    return b + u * torch.sign(load.mean() - load)


bias_update.slip("u_fixed", "The step is 0.001, whatever u is: multiply the sign by u.", replace={" + u": " + 0.001"})


@bias_update.mistake(
    "b itself is changed (`+=`, `add_`, `copy_`), and the caller may still need it. Make a new tensor."
)
def in_place(b, counts, u):
    with torch.no_grad():
        b += u * torch.sign(counts.to(b.dtype).mean() - counts.to(b.dtype))
    return b.detach()


bias_update.slips("""
in return b + u * torch.sign(load.mean() - load)
sign_flipped: return b + u * torch.sign(load - load.mean())
    The sign is flipped: full experts get easier to choose, and soon have everything. An expert above the mean must go down.
up_at_the_mean: return torch.where(load > load.mean(), b - u, b + u)
    An expert exactly at the mean goes up. It should stay: the sign of 0 is 0.
down_at_the_mean: return torch.where(load < load.mean(), b + u, b - u)
    An expert exactly at the mean goes down. It should stay: the sign of 0 is 0.
change_alone: return u * torch.sign(load.mean() - load)
    Only the change comes back. The result is the old bias plus the change.
u_forgotten: return b + torch.sign(load.mean() - load)
    The step is 1, whatever u is: multiply the sign by u.
bias_recentred: return (b + u * torch.sign(load.mean() - load)) - (b + u * torch.sign(load.mean() - load)).mean()
    The mean is taken off the new bias. That changes no choice, but it is not the update that is asked for.
in_float32: return (b + u * torch.sign(load.mean() - load)).float()
    The result is float32 whatever b is. It has the dtype of b.
in torch.sign
proportional:
    The step grows with the difference. Only its sign counts: every expert moves by u, or not at all.
tanh_for_sign: torch.tanh
    A smooth step (tanh) is taken instead of the sign.
in * torch.sign(load.mean() - load)
relative_difference: * (load.mean() - load) / load.mean()
    The step is the difference as a part of the mean. Only its sign counts: every expert moves by u, or not at all.
difference_of_shares: * (1 / len(load) - load / load.sum())
    The step is the difference of shares. Only its sign counts: every expert moves by u, or not at all.
only_up: * (load < load.mean()).to(b.dtype)
    Experts below the mean go up, but those above do not go down.
recentred: * (torch.sign(load.mean() - load) - torch.sign(load.mean() - load).mean())
    The steps are shifted so that they add up to 0. Some code bases do that; here each expert moves by exactly u or stays.
largest_and_smallest: * ((load == load.min()).to(b.dtype) - (load == load.max()).to(b.dtype))
    Only the fullest and the emptiest expert move. All of them do.
in load.mean
compared_with_the_maximum: load.max
    Each load is compared with the largest one, so nearly all experts go up. Compare with the mean.
compared_with_the_median: load.median
    Each load is compared with the median. Half the experts would go up even if one had nearly all tokens: compare with the mean.
mean_of_the_living: load[load > 0].mean
    The mean is taken over the experts that got tokens. It is over all E: experts without tokens count, with 0.
whole_number_mean: torch.sign(load.mean() - load) -> torch.sign(counts.sum() // len(counts) - counts).to(b.dtype)
    The mean is rounded down (`//`, or a mean of whole numbers): an expert at the rounded value does not move, though it has less than the mean.
| rounded_down_by_int: + u * torch.sign(load.mean() - load) -> + u * torch.sign(int(load.mean()) - load)
dead_experts_stay: torch.sign(load.mean() - load) -> torch.sign(load.mean() - load) * (load > 0)
    An expert without tokens keeps its bias. It needs help more than any other: sign(mean − 0) is 1.
in b + u * torch.sign(load.mean() - load)
only_down: b - u * (load > load.mean()).to(b.dtype)
    Experts above the mean go down, but those below do not go up.
b_scaled: b * (1 + u * torch.sign(load.mean() - load))
    The bias is multiplied by 1 ± u. It is shifted: the step does not depend on b.
graph_attached: b.detach() -> b
    The values are right, but with `b` an nn.Parameter the result is attached to its graph. No gradient trains the bias: use `b.detach()` or no_grad.
in
  - load = counts.to(b.dtype)
  - return b + u * torch.sign(load.mean() - load)
in_float64
  + load = counts.double()
  + return (b + u * torch.sign(load.mean() - load)).double()
    The result is float64 whatever b is. It has the dtype of b.
half_precision
  + load = counts.bfloat16()
  + return b + u * torch.sign(load.mean() - load).to(b.dtype)
    The counts are rounded to half precision, which can't tell 4,001 tokens from 4,002: the sign is lost where the load is nearly even. float32 can.
| half_precision_of_the_other_kind
  + load = counts.half()
  + return b + u * torch.sign(load.double().mean() - load).to(b.dtype)
dtype_of_counts: counts.to -> counts if counts.is_floating_point() else counts.to
    With counts in float64 the result is float64, though b is float32. Bring the counts to the dtype of b.
|| in_place | in_place_and_b_returned: b.detach() -> b
of under_no_grad
in
  - with torch.no_grad():
  -     load = counts.to(b.dtype)
  -     return b - u * torch.sign(load - load.mean())
| in_place_with_the_graph
  + b += u * torch.sign(counts.to(b.dtype).mean() - counts.to(b.dtype))
  + return b
mean_of_integers: return b.detach() + u * torch.sign(counts.mean() - counts)
    `mean` is asked of whole numbers, which PyTorch refuses. Make the counts floats first, in the dtype of b.
bias_not_returned: b.detach() + u * torch.sign(counts.double().mean() - counts)
    NO_RETURN
""")
