"""What is right, and what goes wrong, in `SharedExpertMoE` of notebook 09."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import balance as exercises
from ffnlab.course.ffn_probes import TwoLayerFFN as FFN

SharedExpertMoE = Key(exercises.SharedExpertMoE, namespace={"FFN": FFN})


@SharedExpertMoE.truth
class TokenByToken(nn.Module):
    """One token after the other: its chosen experts by sorting, weights by their exponentials."""

    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts)])
        self.shared = FFN(d_model, d_ff)
        self.top_k = top_k

    def forward(self, x):
        rows = []
        for token in x.reshape(-1, x.shape[-1]):
            logits = self.router(token)
            best = sorted(range(len(self.experts)), key=lambda e: -logits[e].item())[: self.top_k]
            total = sum(torch.exp(logits[e]) for e in best)
            row = self.shared(token)
            for e in best:
                row = row + torch.exp(logits[e]) / total * self.experts[e](token)
            rows.append(row)
        return torch.stack(rows).reshape(x.shape)


@SharedExpertMoE.right("a loop over experts, each with its own tokens only")
class OnlyItsTokens(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.k = top_k
        self.shared = FFN(d_model, d_ff)
        self.experts = nn.ModuleList()
        for _ in range(n_experts):
            self.experts.append(FFN(d_model, d_ff))
        self.router = nn.Linear(d_model, n_experts, bias=False)

    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))
        values, idx = F.softmax(self.router(flat), dim=-1).topk(self.k, dim=-1)
        values = values / values.sum(dim=-1, keepdim=True)
        y = self.shared(flat)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(idx == e)
            if len(token):
                y = y.index_add(0, token, values[token, slot].unsqueeze(-1) * expert(flat[token]))
        return y.view(x.shape)


@SharedExpertMoE.right("probabilities that are not divided by their sum")
class NotDivided(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(FFN(d_model, d_ff) for _ in range(n_experts))
        self.shared = FFN(d_model, d_ff)
        self.top_k = top_k

    def forward(self, x):
        p = self.router(x).softmax(-1)
        value, idx = p.topk(self.top_k)
        gates = torch.zeros_like(p).scatter(-1, idx, value)
        out = self.shared(x)
        for e in range(len(self.experts)):
            out = out + gates[..., e : e + 1] * self.experts[e](x)
        return out


@SharedExpertMoE.right("softmax over the chosen logits, all experts stacked and contracted")
class Stacked(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts)])
        self.shared = FFN(d_model, d_ff)
        self.top_k = top_k
        self.aux_loss = 0.0

    def forward(self, x):
        logits = self.router(x)
        top = logits.topk(self.top_k, dim=-1)
        gates = torch.full_like(logits, -torch.inf).scatter(-1, top.indices, top.values).softmax(-1)
        self.aux_loss = logits.logsumexp(-1).square().mean()
        outputs = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return torch.einsum("...de,...e->...d", outputs, gates) + self.shared(x)


MOE = """class SharedExpertMoE(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, top_k):
        super().__init__()
        self.router = {router}
        self.experts = {experts}
        self.shared = {shared}
        self.top_k = top_k

    def forward(self, x):
        flat = {flat}
        logits = self.router(flat)
        p = {p}
        value, idx = {top}
        value = {value}
        gates = torch.zeros_like(p).scatter(-1, idx, value)
        out = {out}
        for e in range(len(self.experts)):
            out = {add}
        return {result}


class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))
"""
MOE_DEFAULTS = {
    "router": "nn.Linear(d_model, n_experts, bias=False)",
    "experts": "nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts)])",
    "shared": "FFN(d_model, d_ff)",
    "flat": "x.reshape(-1, x.shape[-1])",
    "p": "logits.softmax(-1)",
    "top": "p.topk(self.top_k, dim=-1)",
    "value": "value / value.sum(-1, keepdim=True)",
    "out": "self.shared(flat)",
    "add": "out + gates[:, e : e + 1] * self.experts[e](flat)",
    "result": "out.reshape(x.shape)",
}


def _shared(name, message="", form_of="", **changes):
    SharedExpertMoE.add_source("mistake", name, message, MOE.format(**(MOE_DEFAULTS | changes)), form_of)


_shared(
    "no_shared_part",
    "The shared expert is made but its output is not in the sum: every token should get it.",
    out="torch.zeros_like(flat)",
)
_shared(
    "shared_among_the_routed",
    "The shared expert is one of the routed ones: the router has a row for it. Make it beside the list, and give the router n_experts rows.",
    router="nn.Linear(d_model, n_experts + 1, bias=False)",
    experts="nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts + 1)])",
)
_shared(
    "shared_is_expert_0",
    "The shared expert is the first of the routed experts, the same module. It needs weights of its own.",
    shared="self.experts[0]",
)
_shared(
    "residual_inside",
    "x is added to the output. The residual connection belongs to the block around this layer.",
    result="out.reshape(x.shape) + x",
)
_shared(
    "routed_get_the_shared_output",
    "The routed experts read what the shared expert wrote. Both read x.",
    add="out + gates[:, e : e + 1] * self.experts[e](self.shared(flat))",
)
_shared(
    "gates_detached",
    "The weights are cut off from the graph, so the router would never learn. They carry its only gradient.",
    value="(value / value.sum(-1, keepdim=True)).detach()",
)
_shared(
    "softmax_over_the_tokens",
    "The softmax runs over the tokens. Each token's probabilities over the experts add up to 1: the last dimension.",
    p="logits.softmax(0)",
)
_shared(
    "overwritten_by_the_next",
    "Where a token has two experts, the second overwrites what the first wrote (`y[token] = …`). Add to it.",
    out="torch.zeros_like(flat)",
    add="torch.where(gates[:, e : e + 1] > 0, gates[:, e : e + 1] * self.experts[e](flat), out)",
    result="(out + self.shared(flat)).reshape(x.shape)",
)
_shared(
    "smallest_chosen",
    "The experts with the smallest probabilities are chosen.",
    top="p.topk(self.top_k, dim=-1, largest=False)",
)
_shared(
    "router_with_bias",
    "The router has a bias. None is asked for: `bias=False`.",
    router="nn.Linear(d_model, n_experts)",
)
_shared(
    "viewed",
    "`view` needs numbers that lie one after the other in memory. `reshape` works for a transposed x, too.",
    flat="x.view(-1, x.shape[-1])",
)


_shared(
    "two_dimensions_taken_for_granted",
    "This works for x [T, d_model] alone. x is [..., d_model]: flatten all dimensions before the last one first, and give y the shape of x at the end.",
    flat="x",
    out="self.shared(x)",
    add="out.index_add(0, torch.where(idx == e)[0], value[torch.where(idx == e)].unsqueeze(-1) * self.experts[e](x[torch.where(idx == e)[0]]))",
)


SharedExpertMoE.slips("""
of no_shared_part
in = torch.zeros_like(flat)
shared_gated: = p.max(-1, keepdim=True).values * self.shared(flat)
    The shared expert's part is weighted with a probability of the router. It is outside the routing: add it with weight 1.
shared_by_sigmoid: = torch.sigmoid(logits.mean(-1, keepdim=True)) * self.shared(flat)
    The shared expert's part goes through a sigmoid gate. Some models do that; here it is added with weight 1.
shared_for_each_slot: = self.top_k * self.shared(flat)
    The shared expert is added top_k times: it is inside the loop over slots or experts. Once is enough.
shared_for_each_expert: = len(self.experts) * self.shared(flat)
    The shared expert is added once for every expert: it is inside the loop. Once is enough.
shared_detached: = self.shared(flat).detach()
    The shared expert's output is cut off from the graph (detach or no_grad): it would never learn.
x_overwritten: = self.shared(flat) + 0 * flat.add_(1.0)
    x itself is changed by an operation in place. The block around this layer still needs it for its residual.
in return out.reshape(x.shape)
averaged: return (out + self.shared(flat)).reshape(x.shape) / 2
    The shared and the routed part are averaged. They are added.
shared_reads_the_routed_output: return self.shared(out).reshape(x.shape)
    The shared expert reads what the routed experts wrote. Both read x, and their outputs are added.
of gates_detached
no_weights: = (value / value.sum(-1, keepdim=True)).detach() -> = torch.ones_like(value)
    The chosen experts are added with weight 1. Each one counts as much as the router says.
of no_weights
in value = torch.ones_like(value)
equal_weights: value = torch.ones_like(value) / self.top_k
    The chosen experts are averaged. Each one counts as much as the router says.
divided_by_the_sum_of_all: value = value / value.sum()
    The weights are divided by their sum over all tokens. Each token's own top_k weights add up to 1: sum(-1, keepdim=True).
logits_as_weights
  - logits.softmax(-1)
  + logits
  - torch.ones_like(value)
  + value
    Raw logits are used as weights. Take the softmax first.
|| softmax_over_the_tokens | softmax_over_the_first_dimension
  - x.reshape(-1, x.shape[-1])
  + x
  - out = out + gates[:, e : e + 1]
  + out = out + gates[..., e : e + 1]
of shared_for_each_slot
the_rest_for_the_shared
  - value / value.sum(-1, keepdim=True)
  + value
  - = self.top_k *
  + = (1 - value.sum(-1, keepdim=True)) *
    The shared expert gets what the chosen probabilities leave of 1. It is outside the routing: add it with weight 1.
of routed_get_the_shared_output
in + gates[:, e : e + 1] * self.experts[e](self.shared(flat))
slot_for_expert: + (value[:, e : e + 1] * self.experts[e](flat) if e < self.top_k else 0)
    The number of the slot is used as the number of the expert, so only the first top_k experts ever work. topk says which expert a slot means.
weights_on_the_input: + self.experts[e](gates[:, e : e + 1] * flat)
    The weight is multiplied with the input of an expert. An expert with biases and a ReLU then gives something else: weigh its output.
in out = out + gates[:, e : e + 1] * self.experts[e](self.shared(flat))
only_the_last_expert: out = self.shared(flat) + gates[:, e : e + 1] * self.experts[e](flat)
    The loop replaces the sum instead of adding to it: only the last expert is left beside the shared one.
of smallest_chosen
in self.top_k, dim=-1, largest=False
every_expert: len(self.experts), dim=-1
    All experts are used for every token: choose the top_k of the router.
one_chosen: 1, dim=-1
    One expert a token is used, whatever top_k is.
of shared_is_expert_0
in
  - self.experts = nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts)])
  - self.shared = self.experts[0]
without_activation
  + self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)) for _ in range(n_experts))
  + self.shared = nn.Sequential(nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model))
    The experts have no activation between their two linear layers: each is a single linear map. `FFN(d_model, d_ff)` brings its ReLU along.
gelu_experts
  + self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model)) for _ in range(n_experts))
  + self.shared = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))
    The experts have another activation than `FFN`, whose is ReLU.
one_expert_many_times
  + self.experts = nn.ModuleList([FFN(d_model, d_ff)] * n_experts)
  + self.shared = FFN(d_model, d_ff)
    `[FFN(...)] * n` is one expert in n places. Each needs a call of FFN of its own.
of one_expert_many_times
experts_in_a_plain_list: nn.ModuleList([FFN(d_model, d_ff)] * n_experts) -> [FFN(d_model, d_ff) for _ in range(n_experts)]
    The experts are in a plain Python list, so `parameters()` does not find them, and no optimiser would. Use nn.ModuleList.
|| plain_list_on_unflattened_x
  - x.reshape(-1, x.shape[-1])
  + x
  - out = out + gates[:, e : e + 1]
  + out = out + gates[..., e : e + 1]
of experts_in_a_plain_list
one_expert_fewer
  - self.router = nn.Linear(d_model, n_experts, bias=False)
  - self.experts = [FFN(d_model, d_ff) for _ in range(n_experts)]
  + self.router = nn.Linear(d_model, n_experts - 1, bias=False)
  + self.experts = nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts - 1)])
    There are n_experts − 1 routed experts. The shared one is not counted: it comes on top of n_experts.
|| one_expert_fewer_than_rows: d_model, n_experts - 1, bias -> d_model, n_experts, bias
of router_with_bias
router_too_small: nn.Linear(d_model, n_experts) -> nn.Linear(d_model, top_k, bias=False)
    The router has a row for each slot (top_k) instead of one for each expert.
no_super_init
  - super().__init__()
  - self.router = nn.Linear(d_model, n_experts)
  + self.router = nn.Linear(d_model, n_experts, bias=False)
    `super().__init__()` is missing: it has to come first in `__init__`, before any layer is assigned.
of residual_inside
leading_shape_lost: out.reshape(x.shape) + x -> out
    The output is [tokens, d_model]: restore the shape of x at the end.
of leading_shape_lost
only_three_dimensions
  - = x.reshape(-1, x.shape[-1])
  + = x.reshape(x.shape[0] * x.shape[1], x.shape[2])
  - return out
  + return out.reshape(x.shape[0], x.shape[1], x.shape[2])
    The code expects x to be [B, T, d_model]. Any number of leading dimensions is allowed: x.shape[-1] is d_model, and reshape(-1, …) takes the rest.
in return out
a_pair: return out.reshape(x.shape), logits
    A pair comes back. Return y alone, and keep other things as attributes.
y_not_returned: return None
    NO_RETURN
|| two_dimensions_taken_for_granted | two_dimensions_unpacked
  - out = out.index_add(0, torch.where(idx == e)[0], value[torch.where(idx == e)].unsqueeze(-1) * self.experts[e](x[torch.where(idx == e)[0]]))
  + rows, slot = torch.where(idx == e)
  + out = out + torch.zeros_like(out).index_add(0, rows, value[rows, slot, None] * self.experts[e](x[rows]))
""")
