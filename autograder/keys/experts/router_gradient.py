"""What is right, and what goes wrong, in `router_gradient` of notebook 08."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import experts as exercises

router_gradient = Key(exercises.router_gradient)


@router_gradient.truth
def by_the_chain_rule(x, router, experts, target, k, norm):
    """Token by token and expert by expert, with every derivative written out; no backward pass."""
    T, d = x.shape
    E = router.shape[1]
    slope = torch.zeros_like(router)
    with torch.no_grad():
        for t in range(T):
            z = [sum(x[t, i] * router[i, e] for i in range(d)) for e in range(E)]
            p = [torch.exp(z[e]) / sum(torch.exp(other) for other in z) for e in range(E)]
            kept = sorted(range(E), key=lambda e: -float(z[e]))[:k]
            total = sum(p[e] for e in kept) if norm == "softmax_topk_renorm" else 1.0
            said = {e: experts[e](x[t : t + 1])[0] for e in kept}
            y = sum(p[e] / total * said[e] for e in kept)
            by_y = 2 * (y - target[t]) / (T * d)
            for j in range(E):
                by_z = 0.0
                for e in kept:
                    if norm == "softmax_topk_renorm":
                        gate_by_z = p[e] / total * (float(e == j) - (p[j] / total if j in kept else 0.0))
                    else:
                        gate_by_z = p[e] * (float(e == j) - p[j])
                    by_z = by_z + (by_y * said[e]).sum() * gate_by_z
                slope[:, j] += by_z * x[t]
    return slope


@router_gradient.right("backward, and gates [T, E] with zeros as in `route`")
def with_dense_gates(x, router, experts, target, k, norm):
    W = router.detach().clone().requires_grad_(True)
    p = (x @ W).softmax(-1)
    top = p.topk(k, dim=-1)
    gates = torch.zeros_like(p).scatter(-1, top.indices, top.values)
    if norm == "softmax_topk_renorm":
        gates = gates / gates.sum(-1, keepdim=True)
    y = sum(gates[:, e : e + 1] * expert(x) for e, expert in enumerate(experts))
    ((y - target) ** 2).mean().backward()
    return W.grad


@router_gradient.right("torch.func.grad, and a softmax of the kept logits")
def by_func_grad(x, router, experts, target, k, norm):
    outputs = torch.stack([expert(x).detach() for expert in experts])

    def loss(W):
        z = x @ W
        kept = z >= z.topk(k, dim=-1).values[:, -1:]
        gates = z.softmax(-1) * kept if norm == "softmax_topk" else z.masked_fill(~kept, -torch.inf).softmax(-1)
        return F.mse_loss(torch.einsum("te,etd->td", gates, outputs), target)

    return torch.func.grad(loss)(router)


@router_gradient.right("an nn.Linear as the router, whose weight is the other way round")
def with_a_linear(x, router, experts, target, k, norm):
    layer = nn.Linear(*router.shape, bias=False, dtype=router.dtype)
    with torch.no_grad():
        layer.weight.copy_(router.T)
    w, idx = F.softmax(layer(x), dim=1).topk(k, dim=1)
    if norm.endswith("renorm"):
        w = w / w.sum(dim=1, keepdim=True)
    y = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = torch.where(idx == e)
        if len(token):
            y = y.index_add(0, token, w[token, slot, None] * expert(x[token]))
    F.mse_loss(y, target).backward()
    return layer.weight.grad.T


@router_gradient.right("the caller's router itself, with its gradient cleared before and its flag put back")
def on_the_router_itself(x, router, experts, target, k, norm):
    router.grad = None
    router.requires_grad_()
    w, idx = torch.softmax(x @ router, -1).topk(k, -1)
    if norm == "softmax_topk_renorm":
        w = w / w.sum(-1, keepdim=True)
    outputs = torch.stack([expert(x) for expert in experts], 1)
    y = (w[..., None] * torch.stack([outputs[t, idx[t]] for t in range(len(x))])).sum(1)
    (slope,) = torch.autograd.grad((y - target).square().mean(), router)
    router.requires_grad_(False)
    return slope


@router_gradient.base
def plain_router_gradient(x, router, experts, target, k, norm):
    W = router.clone().requires_grad_()
    z = x @ W
    p = torch.softmax(z, dim=-1)
    w, idx = p.topk(k, dim=-1)
    if norm == "softmax_topk_renorm":
        w = w / w.sum(-1, keepdim=True)
    pass
    outputs = torch.stack([expert(x) for expert in experts], dim=1)
    chosen = torch.stack([outputs[t, idx[t]] for t in range(len(x))])
    y = (w[:, :, None] * chosen).sum(1)
    F.mse_loss(y, target).backward()
    return W.grad


router_gradient.slips("""
accumulated
  - .clone().requires_grad_
  + .requires_grad_
  - W.grad
  + W.grad.clone()
    A second call with the same router gives twice as much: `backward` adds to what is in `.grad`. Work with a fresh copy, or clear it first.
in norm == "softmax_topk_renorm"
renorm_never: False
    'softmax_topk_renorm' is not renormalised: with k = 1 a gradient is left where none should be. Divide the kept weights by their sum.
|| name_misspelt: False -> norm == "renorm"
renorm_always: True
    Both values of `norm` divide by the sum. With 'softmax_topk' the kept probabilities stay as they are: then k = 1 has a gradient.
norms_exchanged: if norm == "softmax_topk_renorm": -> if norm == "softmax_topk":
    The two values of `norm` have changed places: the gradient vanishes for 'softmax_topk' at k = 1, where nothing is divided.
in w = w / w.sum(-1, keepdim=True)
renorm_over_the_tokens: w = w / w.sum(0, keepdim=True)
    The weights are divided by their sum over the tokens. Each token's own k weights add up to 1: `sum(-1, keepdim=True)`.
|| renorm_over_everything: 0, keepdim=True ->
renorm_without_gradient: w = w / w.sum(-1, keepdim=True).detach()
    The sum that the weights are divided by is cut off from the graph, as if it did not depend on the router. It does: no `detach` there.
in w, idx = p.topk(k, dim=-1)
k_ignored: w, idx = p.topk(2, dim=-1)
    Two experts are taken for each token, whatever k is.
always_one_expert: w, idx = p.topk(1, dim=-1)
    One expert is taken for each token, whatever k is.
all_experts: w, idx = p.topk(len(experts), dim=-1)
    All experts are taken for each token. Only the k with the largest logits take part.
the_least_likely: w, idx = p.topk(k, dim=-1, largest=False)
    The experts with the smallest probabilities are taken: `largest=False`, or sorted the other way round.
in torch.softmax(z, dim=-1)
no_softmax: z
    There is no softmax: the logits themselves are the weights.
softmax_over_the_tokens: torch.softmax(z, dim=0)
    The softmax runs over the tokens. Each token's probabilities over the experts add up to 1: the last dimension.
in p = torch.softmax(z, dim=-1)
sigmoid_for_softmax: p = torch.sigmoid(z)
    The weights are sigmoids. Both ways that are asked for here start with a softmax over all experts.
softmax_twice: p = torch.softmax(torch.softmax(z, dim=-1), dim=-1)
    The softmax is taken twice, the second time of probabilities.
in F.mse_loss(y, target).backward()
summed_squares: F.mse_loss(y, target, reduction="sum").backward()
    The squared differences are added up. The exercise asks for their mean, over tokens and features.
root_of_the_loss: F.mse_loss(y, target).sqrt().backward()
    The loss is the root of the mean square. The exercise asks for the mean of the squares itself.
absolute_differences: F.l1_loss(y, target).backward()
    The loss takes absolute differences. The exercise asks for squares: `F.mse_loss`.
in F.mse_loss(y, target).backward
mean_over_tokens_alone: (y - target).square().sum(-1).mean().backward
    The squared differences are added up over the features and averaged over the tokens alone. `F.mse_loss` averages over all T · d_model numbers.
half_the_loss: (0.5 * (y - target).square().mean()).backward
    The loss has a factor ½. The exercise asks for the mean of the squares as it is.
target_not_used: y.square().mean().backward
    The target is not in the loss: it compares the output with nothing.
|| mean_of_the_output: y.square().mean -> y.mean
in y = (w[:, :, None] * chosen).sum(1)
weights_on_the_input
  + y = sum(experts[int(idx[t, s])](w[t, s] * x[t : t + 1]) * F.one_hot(torch.tensor(t), len(x))[:, None]
  +         for t in range(len(x)) for s in range(idx.shape[1]))
    The weight is multiplied with the input of an expert. It belongs to the expert's output.
with_residual: y = x + (w[:, :, None] * chosen).sum(1)
    x is added to the layer's output. The residual connection belongs to the block around it.
in (w[:, :, None] * chosen).sum(1)
slot_for_expert: (w[:, :, None] * outputs[:, : w.shape[1]]).sum(1)
    The number of the slot is used as the number of the expert, so only the first k experts ever work. `topk` says which expert a slot means.
averaged_over_k: (w[:, :, None] * chosen).mean(1)
    The outputs of the chosen experts are averaged. They are added, each with its weight.
nothing_arrives: pass -> w = w.detach()
    None comes back instead of a gradient: the weights are cut off from the router that you look at (`.detach()`, `.item()`, a copy made too late),
    they are not multiplied with the outputs, `backward()` was not called, or a `return` is missing.
| no_backward: F.mse_loss(y, target).backward() -> pass
| outputs_not_weighted: (w[:, :, None] * chosen).sum -> chosen.sum
| no_leaf: .requires_grad_() ->
| of_another_copy: @ W -> @ router.clone().requires_grad_()
in W.grad
| gradient_not_returned: None
the_other_way_round: W.grad.T
    The gradient comes back as [E, d_model], as the weight of an nn.Linear has it. The exercise asks for the shape of `router`, [d_model, E].
downhill: -W.grad
    The sign is wrong: this is the direction of a training step. The exercise asks for the gradient itself.
the_largest_entry: W.grad.abs().max().item()
    A single number comes back. The exercise asks for the whole gradient, [d_model, E]; the cell below looks for its largest entry.
|| the_largest_entry_in_a_tensor: .item() ->
sizes: W.grad.abs()
    The entries have lost their signs. The exercise asks for the gradient itself, without `abs()`.
a_yes_or_no: bool(W.grad.abs().max() > 1e-6)
    True or False comes back. The exercise asks for the gradient itself, [d_model, E].
|| accumulated | accumulated_as_it_is: W.grad.clone() -> W.grad
gradient_of_the_logits
  - pass
  + z.retain_grad()
  - W.grad
  + z.grad
    This is the gradient of the logits, [T, E]. It goes one step further, through `x @ router`, to the router itself.
gradient_of_the_gates
  - pass
  + w.retain_grad()
  - W.grad
  + w.grad
    This is the gradient of the kept weights, [T, k]. It goes further, through softmax and logits, to the router itself.
the_loss
  - F.mse_loss(y, target).backward()
  + loss = F.mse_loss(y, target)
  - W.grad
  + loss.detach()
    The loss comes back, not its gradient.
""")


@router_gradient.mistake(
    "The gradient is zero everywhere, in all cases. Only one of them has none: run the backward pass and look."
)
def always_zero(x, router, experts, target, k, norm):
    return torch.zeros_like(router)
