"""What is right, and what goes wrong, in `Block` of notebook 10."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from autograder.keys.parts import FFN, MoE, SwiGLU
from ffnlab.course.exercises import capstone as exercises

Block = Key(exercises.Block, namespace={"FFN": FFN, "MoE": MoE, "SwiGLU": SwiGLU})


@Block.truth
class BlockByHand(nn.Module):
    """Head by head and expert by expert, with matrices and norms of its own; nothing of torch.nn but Module and Parameter."""

    def __init__(self, kind, d_model, n_heads, d_ff):
        super().__init__()
        if kind not in ("none", "relu", "swiglu", "moe") or d_model % n_heads != 0:
            raise ValueError((kind, d_model, n_heads))
        self.kind, self.n_heads, self.n_experts = kind, n_heads, 3

        def matrix(n_in, n_out):
            return nn.Parameter(torch.randn(n_in, n_out) / math.sqrt(n_in))

        self.gain1, self.bias1 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.queries, self.keys, self.values, self.back = (matrix(d_model, d_model) for _ in range(4))
        if kind == "none":
            return
        self.gain2, self.bias2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        copies = self.n_experts if kind == "moe" else 1
        self.ins = nn.ParameterList(matrix(d_model, d_ff) for _ in range(copies))
        self.outs = nn.ParameterList(matrix(d_ff, d_model) for _ in range(copies))
        if kind == "relu":
            self.shift = nn.Parameter(torch.randn(d_ff))
        if kind == "swiglu":
            self.gates = nn.ParameterList([matrix(d_model, d_ff)])
        if kind == "moe":
            self.router = matrix(d_model, self.n_experts)

    @staticmethod
    def normed(x, gain, bias):
        off = x - x.sum(-1, keepdim=True) / x.shape[-1]
        variance = (off * off).sum(-1, keepdim=True) / x.shape[-1]
        return off / torch.sqrt(variance + 1e-5) * gain + bias

    def attended(self, x):
        """Head after head; a later token's weight is multiplied by zero before the weights are made to add up to one."""
        T, width = x.shape[1], x.shape[2] // self.n_heads
        seen = torch.tensor([[float(s <= t) for s in range(T)] for t in range(T)])
        parts = []
        for head in range(self.n_heads):
            mine = slice(head * width, (head + 1) * width)
            scores = (x @ self.queries[:, mine]) @ (x @ self.keys[:, mine]).mT / math.sqrt(width)
            weights = torch.exp(scores - scores.detach().amax(-1, keepdim=True)) * seen
            parts.append(weights / weights.sum(-1, keepdim=True) @ (x @ self.values[:, mine]))
        return torch.cat(parts, -1) @ self.back

    def fed(self, x):
        if self.kind == "relu":
            return (x @ self.ins[0] + self.shift).clamp(min=0) @ self.outs[0]
        if self.kind == "swiglu":
            gate = x @ self.gates[0]
            return (gate / (1 + torch.exp(-gate)) * (x @ self.ins[0])) @ self.outs[0]
        likely = torch.softmax(x @ self.router, -1)
        last = likely.amin(-1, keepdim=True)
        chosen = (likely > last).to(x.dtype)  # two of three: all but the least likely
        both = (likely * chosen).sum(-1, keepdim=True)
        loads = chosen.sum((0, 1)) / chosen.sum()
        self.aux_loss = self.n_experts * sum(loads[e] * likely[..., e].mean() for e in range(self.n_experts))
        total = torch.zeros_like(x)
        for e in range(self.n_experts):
            rows = chosen[..., e].bool()  # only these tokens go through expert e
            written = torch.relu(x[rows] @ self.ins[e]) @ self.outs[e]
            total[rows] = total[rows] + (likely[..., e] / both[..., 0])[rows][:, None] * written
        return total

    def forward(self, x):
        z = x + self.attended(self.normed(x, self.gain1, self.bias1))
        if self.kind == "none":
            return z
        return z + self.fed(self.normed(z, self.gain2, self.bias2))


@Block.right("one matrix for q, k and v, and torch's scaled_dot_product_attention")
class Fused(nn.Module):
    def __init__(self, kind, d_model, n_heads, d_ff):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        if kind == "none":
            self.ff = None
        elif kind == "relu":
            self.ff = FFN(d_model, d_ff)
        elif kind == "swiglu":
            self.ff = SwiGLU(d_model, int(2 * d_ff / 3))
        elif kind == "moe":
            self.ff = MoE(d_model, d_ff // 2, n_experts=6)
        else:
            raise ValueError(f"kind must be none, relu, swiglu or moe, not {kind!r}")
        self.h = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.o = nn.Linear(d_model, d_model)
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.aux_loss = 0.0

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = (part.view(B, T, self.h, d // self.h).transpose(1, 2) for part in self.qkv(self.ln_1(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(B, T, d))
        if self.ff is None:
            return x
        wrote = self.ff(self.ln_2(x))
        if isinstance(wrote, tuple):
            wrote, self.aux_loss = wrote
        return x + wrote


@Block.right("a list of heads, RMSNorm, −inf by hand, and an FFN typed in place")
class Heads(nn.Module):
    class Head(nn.Module):
        def __init__(self, d_model, width):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(d_model, width, bias=False) for _ in range(3))

        def forward(self, x):
            scores = self.q(x) @ self.k(x).transpose(-2, -1) / self.q.out_features**0.5
            seen = torch.tril(torch.ones_like(scores[0]))
            return scores.masked_fill(seen == 0, float("-inf")).softmax(-1) @ self.v(x)

    def __init__(self, kind, d_model, n_heads, d_ff):
        super().__init__()
        allowed = {"none", "relu", "swiglu", "moe"}
        if kind not in allowed:
            raise ValueError(f"{kind} is not one of {allowed}")
        if d_model / n_heads != d_model // n_heads:
            raise ValueError("heads")
        self.kind = kind
        self.heads = nn.ModuleList([self.Head(d_model, d_model // n_heads) for _ in range(n_heads)])
        self.proj = nn.Linear(d_model, d_model, bias=False)
        self.norms = nn.ModuleList([nn.RMSNorm(d_model), nn.RMSNorm(d_model)])
        if kind == "relu":
            self.ff = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.ReLU(), nn.Linear(4 * d_model, d_model))
        if kind == "swiglu":
            self.ff = SwiGLU(d_model, d_ff)
        if kind == "moe":
            self.ff = MoE(d_model, d_ff, 8, 1)

    def forward(self, x):
        normed = self.norms[0](x)
        out = x + self.proj(torch.cat([head(normed) for head in self.heads], dim=-1))
        if self.kind == "moe":
            wrote, self.aux_loss = self.ff(self.norms[1](out))
            out = out + wrote
        elif self.kind != "none":
            out = out + self.ff(self.norms[1](out))
        return out


@Block.right("einsum, gain and bias by hand, stacked experts that all run, and one branch for all kinds")
class Einsums(nn.Module):
    def __init__(self, kind, d_model, n_heads, d_ff):
        super().__init__()
        if kind not in ("none", "relu", "swiglu", "moe"):
            raise ValueError(kind)
        if n_heads < 1 or d_model % n_heads > 0:
            raise ValueError(n_heads)
        self.kind, width = kind, d_model // n_heads
        self.g1, self.b1 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.wqkv = nn.Parameter(0.3 * torch.randn(3, n_heads, d_model, width))
        self.wo = nn.Parameter(0.3 * torch.randn(n_heads, width, d_model))
        if kind != "none":
            self.g2, self.b2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        if kind == "relu":
            self.w1, self.w2 = nn.Parameter(torch.randn(d_model, d_ff)), nn.Parameter(torch.randn(d_ff, d_model))
        if kind == "swiglu":
            self.w1, self.w2 = nn.Parameter(torch.randn(d_model, 2 * d_ff)), nn.Parameter(torch.randn(d_ff, d_model))
        if kind == "moe":
            self.router = nn.Parameter(torch.randn(d_model, 5))
            self.w1, self.w2 = nn.Parameter(torch.randn(5, d_model, d_ff)), nn.Parameter(torch.randn(5, d_ff, d_model))

    def ln(self, x, g, b):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * g + b

    def forward(self, x):
        T = x.shape[1]
        q, k, v = torch.einsum("btd,chde->cbhte", self.ln(x, self.g1, self.b1), self.wqkv)
        scores = torch.einsum("bhte,bhse->bhts", q, k) * q.shape[-1] ** -0.5
        scores = scores + torch.full((T, T), -torch.inf).triu(1)
        x = x + torch.einsum("bhts,bhse,hed->btd", scores.softmax(-1), v, self.wo)
        if self.kind == "none":
            return x
        n = self.ln(x, self.g2, self.b2)
        if self.kind == "relu":
            return x + torch.relu(n @ self.w1) @ self.w2
        if self.kind == "swiglu":
            gate, up = (n @ self.w1).chunk(2, dim=-1)
            return x + (gate * torch.sigmoid(gate) * up) @ self.w2
        p = torch.softmax(n @ self.router, -1)
        kept = p * (p >= p.topk(2, -1).values[..., -1:])
        self.aux_loss = 5 * ((kept > 0).float().mean((0, 1)) / 2 * p.mean((0, 1))).sum()
        every = torch.einsum("btef,efd->bted", F.relu(torch.einsum("btd,edf->btef", n, self.w1)), self.w2)
        return x + torch.einsum("bte,bted->btd", kept / kept.sum(-1, keepdim=True), every)


@Block.right("a function that makes a module; the mask of torch's own Transformer, in float")
def makes_a_module(kind, d_model, n_heads, d_ff):
    makers = {"none": None, "relu": FFN, "swiglu": SwiGLU, "moe": MoE}
    if not isinstance(kind, str) or kind not in makers or d_model % n_heads:
        raise ValueError("no such block")

    class Made(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.LayerNorm(d_model)
            self.attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True, bias=False)
            if makers[kind]:
                self.b, self.ffn = nn.LayerNorm(d_model), makers[kind](d_model, d_ff)

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            normed = self.a(x)
            z = x + self.attn(normed, normed, normed, attn_mask=mask, is_causal=True)[0]
            if makers[kind] is None:
                return z
            if kind == "moe":
                y, aux = self.ffn(self.b(z))
                self.aux_loss = aux
                return z + y
            return z + self.ffn(self.b(z))

    return Made()


@Block.right("experts side by side in two matrices, and norms whose gains have the shape [1, 1, d_model]")
class OneMatrix(nn.Module):
    class Norm(nn.Module):
        def __init__(self, d_model):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(1, 1, d_model))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain

    class Mixture(nn.Module):
        def __init__(self, d_model, d_ff, n_experts=4, top_k=2):
            super().__init__()
            self.n_experts, self.top_k = n_experts, top_k
            self.router = nn.Linear(d_model, n_experts, bias=False)
            self.up = nn.Linear(d_model, n_experts * d_ff, bias=False)
            self.down = nn.Linear(n_experts * d_ff, d_model, bias=False)

        def forward(self, x):
            p = self.router(x).softmax(-1)
            top = p.topk(self.top_k, -1)
            gates = torch.zeros_like(p).scatter(-1, top.indices, top.values / top.values.sum(-1, keepdim=True))
            hidden = F.silu(self.up(x)).unflatten(-1, (self.n_experts, -1)) * gates[..., None]
            loads = (gates > 0).float().flatten(0, -2).mean(0) / self.top_k
            return self.down(hidden.flatten(-2)), self.n_experts * (loads * p.flatten(0, -2).mean(0)).sum()

    def __init__(self, kind, d_model, n_heads, d_ff):
        super().__init__()
        if kind not in ("none", "relu", "swiglu", "moe") or d_model % n_heads:
            raise ValueError("no such block")
        self.norm1, self.attention = self.Norm(d_model), nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.ffn, self.aux_loss = None, None
        if kind != "none":
            self.norm2 = self.Norm(d_model)
            self.ffn = {"relu": FFN, "swiglu": SwiGLU, "moe": self.Mixture}[kind](d_model, d_ff)

    def forward(self, x):
        read, later = self.norm1(x), torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        x = x + self.attention(read, read, read, attn_mask=later)[0]
        if self.ffn is None:
            return x
        wrote = self.ffn(self.norm2(x))
        if isinstance(wrote, tuple):
            wrote, self.aux_loss = wrote
        return x + wrote


def _variant(name, message="", form_of="", **changes):
    """A wrong class that differs from a right one in a few lines, typed out in full."""
    if form_of:
        message = next(kept.message for kept in Block.mistakes if kept.name == form_of)
    Block.add_source("mistake", name, message, CLASS.format(**(DEFAULTS | changes)), form_of)


CLASS = """class Block({base}):
    def __init__(self, kind, d_model, n_heads, d_ff):
        {start}
        {refuse}
        self.kind, self.n_heads = kind, n_heads
        {norms}
        {attention}
        {ffn}

    def mixed(self, x):
        {mixed}

    def forward(self, x):
        {first}
        {none}
        {second}
        {aux}
        {last}
"""
DEFAULTS = {
    "base": "nn.Module",
    "start": "super().__init__()",
    "refuse": """if kind not in ("none", "relu", "swiglu", "moe") or d_model % n_heads:
            raise ValueError("no such block")""",
    "norms": """self.norm1 = nn.LayerNorm(d_model)
        if kind != "none":
            self.norm2 = nn.LayerNorm(d_model)""",
    "attention": "self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)",
    "ffn": """if kind != "none":
            self.ffn = {"relu": FFN, "swiglu": SwiGLU, "moe": MoE}[kind](d_model, d_ff)""",
    "mixed": """later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return self.attention(x, x, x, attn_mask=later, need_weights=False)[0]""",
    "first": "z = x + self.mixed(self.norm1(x))",
    "none": """if self.kind == "none":
            return z""",
    "second": "y = self.ffn(self.norm2(z))",
    "aux": """if self.kind == "moe":
            y, self.aux_loss = y""",
    "last": "return z + y",
}
OWN = {
    "attention": """self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)""",
    "mixed": """B, T, d = x.shape
        q, k, v = (p.{split} for p in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        {masked}
        return self.out((weights @ v).transpose(1, 2).reshape(B, T, d))""",
}


def _own(split="reshape(B, T, self.n_heads, -1).transpose(1, 2)", masked=""):
    """Attention written by hand, in which the way to split the heads or the masked softmax is wrong."""
    return OWN | {"mixed": OWN["mixed"].format(split=split, masked=masked)}


# Residual paths.

_variant(
    "none_without_the_residual",
    "For 'none' the residual around attention has gone together with the FFN. Only the second line is left out: x is still added in the first.",
    none="""if self.kind == "none":
            return self.mixed(self.norm1(x))""",
)
_variant(
    "none_is_nothing",
    "For 'none' the block hands x back as it came: attention has been removed with the FFN. The first half stays.",
    none="""if self.kind == "none":
            return x""",
)
_variant(
    "attention_residual_dropped",
    "The residual around attention is missing: x must be added to what attention writes, for all four kinds.",
    first="z = self.mixed(self.norm1(x))",
)
_variant(
    "ffn_residual_dropped",
    "The residual around the FFN is missing: what comes out is the FFN's part alone. z must be added to it.",
    last="return y",
)
_variant(
    "no_residuals",
    "Neither half has a residual connection: attention's part takes the place of x, and the FFN's part takes the place of z. A half adds to what was there.",
    first="z = self.mixed(self.norm1(x))",
    last="return y",
)
_variant(
    "no_residuals_and_no_norms",
    form_of="no_residuals",
    first="z = self.mixed(x)",
    second="y = self.ffn(z)",
    last="return y",
)
_variant(
    "no_residuals_and_norms_behind",
    form_of="no_residuals",
    first="z = self.norm1(self.mixed(x))",
    second="y = self.ffn(z)",
    last="return self.norm2(y)",
)
_variant(
    "one_residual_around_both",
    "One residual connection goes around both halves at once, from x to the end. Each half has one of its own, and the FFN reads the sum after the first.",
    first="z = self.mixed(self.norm1(x))",
    last="return x + y",
)
_variant(
    "one_residual_around_whatever_there_is",
    form_of="one_residual_around_both",
    first="z = self.mixed(self.norm1(x))",
    none="""if self.kind == "none":
            return x + z""",
    last="return x + y",
)
_variant(
    "residual_from_norm1",
    "The normed x is added to attention's part, not x itself. The path that carries x must not pass through a norm.",
    first="""x = self.norm1(x)
        z = x + self.mixed(x)""",
)
_variant(
    "residual_from_norm2",
    "The normed z is added to the FFN's part, not z itself. The path must not pass through a norm.",
    second="""z = self.norm2(z)
        y = self.ffn(z)""",
)
_variant(
    "residual_from_both_norms",
    "Both residuals start from a normed vector: `x = norm(x)` has overwritten what was to be added. Keep x, and give the norm's result another name.",
    first="""x = self.norm1(x)
        z = x + self.mixed(x)""",
    second="""z = self.norm2(z)
        y = self.ffn(z)""",
)
_variant(
    "ffn_never_added",
    "What comes out is z, whatever the kind: the FFN's part does not reach the sum. It is added to z in the second line.",
    last="return z",
)
_variant(
    "ffn_before_attention",
    "The FFN comes before attention. In this block attention is first, and the FFN reads a norm of the sum after it.",
    first="z = x",
    none="""if self.kind == "none":
            return x + self.mixed(self.norm1(x))""",
    last="""z = z + y
        return z + self.mixed(self.norm1(z))""",
)
_variant(
    "ffn_added_to_x",
    "The FFN's part is added to x, not to z, so what attention wrote is lost on the path: only the FFN has seen it.",
    last="return x + y",
)
_variant(
    "x_added_twice",
    "x arrives twice: z holds it already when the FFN's part is added.",
    last="return x + z + y",
)
_variant(
    "parallel",
    "The FFN reads norm2(x) where it should read norm2(z), so it never sees what attention brought. (Some models do so; here the FFN comes second.)",
    second="y = self.ffn(self.norm2(x))",
)
_variant(
    "residual_detached",
    "The values are right, but x is detached: where it is added, so that the gradient loses the direct path, or on its way into a norm.",
    first="z = x.detach() + self.mixed(self.norm1(x))",
)
_variant(
    "x_changed",
    "x itself is changed: `x += …` writes into the caller's tensor. `x = x + …` makes a new one.",
    first="""x += self.mixed(self.norm1(x))
        z = x""",
)

# Norms.

_variant(
    "post_norm",
    "The norms come after the sums: norm(x + …), the form of 2017. Pre-norm is asked for: x + attention(norm1(x)), and nothing after the addition.",
    first="z = self.norm1(x + self.mixed(x))",
    second="y = self.ffn(z)",
    aux="""if self.kind == "moe":
            y, self.aux_loss = y""",
    last="return self.norm2(z + y)",
)
_variant(
    "norm_on_what_is_written",
    "The norms are applied to what attention and the FFN write, before it is added. They belong in front: attention and FFN read a normed vector.",
    first="z = x + self.norm1(self.mixed(x))",
    second="y = self.ffn(z)",
    last="return z + self.norm2(y)",
)
_variant(
    "norm_at_the_end",
    "One more norm follows the second sum. In a pre-norm model it comes once, after the last block, and is not part of a block.",
    norms="self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))",
    none="""if self.kind == "none":
            return self.norm3(z)""",
    last="return self.norm3(z + y)",
)
_variant(
    "one_norm_for_both",
    "One and the same norm comes before attention and before the FFN. They read different things, so each needs a gain of its own: two norms, each used once.",
    norms="self.norm1 = self.norm2 = nn.LayerNorm(d_model)",
)
_variant("norm1_used_twice", form_of="one_norm_for_both", second="y = self.ffn(self.norm1(z))")
_variant(
    "no_norm_before_attention",
    "Attention reads x without a norm, at least for its values. Make x a thousand times larger, and what attention writes grows with it.",
    first="z = x + self.mixed(x)",
)
_variant(
    "values_not_normed",
    form_of="no_norm_before_attention",
    first="""n, later = self.norm1(x), torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        z = x + self.attention(n, n, x, attn_mask=later)[0]""",
)
_variant(
    "no_norm_before_the_ffn",
    "The FFN reads z without a norm. Make x a thousand times larger, and what the FFN writes grows with it.",
    second="y = self.ffn(z)",
)
_variant(
    "no_norms",
    "There is no norm at all in what the block computes: neither attention nor the FFN reads a normed vector.",
    first="z = x + self.mixed(x)",
    second="y = self.ffn(z)",
)
_variant(
    "norms_without_gain",
    "The norms have no gain to learn, or none that starts at one. `nn.LayerNorm(d_model)` brings it along; `elementwise_affine=False`, a norm by hand "
    "or norms in a plain list leave it out.",
    norms="self.norm1, self.norm2 = (nn.LayerNorm(d_model, elementwise_affine=False) for _ in range(2))",
)
_variant(
    "norms_in_a_list",
    form_of="norms_without_gain",
    norms="self.norms = [nn.LayerNorm(d_model), nn.LayerNorm(d_model)]",
    first="z = x + self.mixed(self.norms[0](x))",
    second="y = self.ffn(self.norms[1](z))",
)
_variant(
    "batch_norm",
    "This is batch norm: it scales by averages over other tokens and sentences, not by the token's own size. nn.LayerNorm(d_model) does that.",
    norms="self.norm1, self.norm2 = nn.BatchNorm1d(d_model), nn.BatchNorm1d(d_model)",
    first="z = x + self.mixed(self.norm1(x.transpose(1, 2)).transpose(1, 2))",
    second="y = self.ffn(self.norm2(z.transpose(1, 2)).transpose(1, 2))",
)

_TWO_READ = """n, later = self.norm1(x), torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        z = x + self.attention({reads}, attn_mask=later)[0]"""
_variant(
    "keys_not_normed",
    "The scores grow with x: queries or keys are made from x itself. All three, queries, keys and values, read the normed x.",
    first=_TWO_READ.format(reads="n, x, n"),
)
_variant("queries_not_normed", form_of="keys_not_normed", first=_TWO_READ.format(reads="x, n, n"))
_variant("only_values_normed", form_of="keys_not_normed", first=_TWO_READ.format(reads="x, x, n"))
_variant(
    "norm1_twice",
    "What a half reads has been normed twice: `norm(norm(x))`. Once is enough, and the second time undoes what the first one's gain does.",
    first="z = x + self.mixed(self.norm1(self.norm1(x)))",
)
_variant("norm2_twice", form_of="norm1_twice", second="y = self.ffn(self.norm2(self.norm2(z)))")
_variant(
    "normed_before_the_norm",
    form_of="norm1_twice",
    second="y = self.ffn(self.norm2(F.layer_norm(z, z.shape[-1:])) if 0 else F.layer_norm(self.norm2(z), z.shape[-1:]))",
)
_variant(
    "norm1_detached",
    "The values are right, but no gradient passes through a norm: `detach` or `no_grad` cuts it off, and its gain, or what lies before, would never learn.",
    first="z = x + self.mixed(self.norm1(x).detach())",
)
_variant("norm2_detached", form_of="norm1_detached", second="y = self.ffn(self.norm2(z).detach())")
_variant("norm1_of_a_detached_x", form_of="residual_detached", first="z = x + self.mixed(self.norm1(x.detach()))")
_variant("norm2_of_a_detached_z", form_of="norm1_detached", second="y = self.ffn(self.norm2(z.detach()))")
_variant(
    "norms_without_a_graph",
    form_of="norm1_detached",
    first="""with torch.no_grad():
            n = self.norm1(x)
        z = x + self.mixed(n)""",
    second="""with torch.no_grad():
            n = self.norm2(z)
        y = self.ffn(n)""",
)

_NORM = """self.gain1, self.gain2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.ones(d_model))
        self.norm1 = lambda v: v / (v.pow(2).mean({over}) + 1e-6).sqrt() * self.gain1
        self.norm2 = lambda v: v / (v.pow(2).mean({over}) + 1e-6).sqrt() * self.gain2"""
_variant(
    "norm_over_tokens",
    "The norm's averages run over several tokens, so one token changes the norm of another. A norm looks at one token alone: `mean(-1, keepdim=True)`.",
    norms=_NORM.format(over="1, keepdim=True"),
)
_variant("norm_over_everything", form_of="norm_over_tokens", norms=_NORM.format(over=""))

# Attention.

_variant(
    "mask_missing",
    "A token sees later ones. The causal mask is missing, or comes too late: the scores of later tokens have to be −inf before the softmax.",
    mixed="return self.attention(x, x, x, need_weights=False)[0]",
)
_variant("mask_of_ones", form_of="mask_missing", **_own(masked="weights = (scores + later).softmax(-1)"))
_variant("mask_of_zeros", form_of="mask_missing", **_own(masked="weights = scores.masked_fill(later, 0).softmax(-1)"))
_variant(
    "mask_after_softmax", form_of="mask_missing", **_own(masked="weights = scores.softmax(-1).masked_fill(later, 0)")
)
_variant(
    "mask_reversed",
    "The mask is the wrong way round: a token sees itself and what comes later. True means hidden in a bool mask of nn.MultiheadAttention, "
    "but visible in one of F.scaled_dot_product_attention.",
    mixed="""later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril(-1)
        return self.attention(x, x, x, attn_mask=later, need_weights=False)[0]""",
)
_variant(
    "mask_of_later_ones_alone",
    "The mask is the wrong way round: a token sees only what comes later, and the last one sees nobody. True means hidden in a bool mask of "
    "nn.MultiheadAttention, but visible in one of F.scaled_dot_product_attention.",
    mixed="""earlier = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return self.attention(x, x, x, attn_mask=earlier, need_weights=False)[0]""",
)
_SDPA = OWN | {
    "mixed": """B, T, d = x.shape
        q, k, v = (p.reshape(B, T, self.n_heads, -1){swap} for p in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, {how})
        return self.out(y{swap}.reshape(B, T, d))"""
}


def _sdpa(swap=".transpose(1, 2)", how="is_causal=True"):
    """Attention with torch's function, in which the way to split the heads or the mask is wrong."""
    return _SDPA | {"mixed": _SDPA["mixed"].format(swap=swap, how=how)}


_variant(
    "mask_of_later_ones_alone_visible",
    form_of="mask_of_later_ones_alone",
    **_sdpa(how="attn_mask=torch.ones(T, T, dtype=torch.bool).triu(1)"),
)
_variant(
    "mask_of_sentences",
    "The mask is as large as there are sentences. It has one row and one column for each token: T = x.shape[1].",
    mixed="""later = torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).triu(1)
        return self.attention(x, x, x, attn_mask=later, need_weights=False)[0]""",
)
_variant(
    "is_causal_without_a_mask",
    "nn.MultiheadAttention takes `is_causal=True` as a promise about a mask that it is given, not in its place: give it `attn_mask` as well.",
    mixed="return self.attention(x, x, x, is_causal=True, need_weights=False)[0]",
)
_variant(
    "attention_pair_added",
    "nn.MultiheadAttention returns a pair, the output and the weights (or None), and the pair is added to x. Take its first half.",
    mixed="""later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return self.attention(x, x, x, attn_mask=later)""",
)
_variant(
    "mask_hides_the_token_itself",
    "The mask hides the token itself as well, so the first token sees nobody. The mask starts one place later: triu(1).",
    mixed="""later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu()
        return self.attention(x, x, x, attn_mask=later, need_weights=False)[0]""",
)
_variant(
    "mask_of_one_size",
    "The mask is made once, for one number of tokens. Make it in `forward`, where T is known.",
    attention="""self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.register_buffer("later", torch.ones(64, 64, dtype=torch.bool).triu(1))""",
    mixed="""T = x.shape[1]
        return self.attention(x, x, x, attn_mask=self.later[:T, :T], need_weights=False)[0]""",
)
_variant(
    "batch_first_forgotten",
    "Sentences see each other, tokens do not: nn.MultiheadAttention takes the first dimension for the tokens unless told batch_first=True.",
    attention="self.attention = nn.MultiheadAttention(d_model, n_heads)",
    mixed="""later = torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).triu(1)
        return self.attention(x, x, x, attn_mask=later, need_weights=False)[0]""",
)
_variant(
    "batch_first_forgotten_mask_of_tokens",
    "The mask has T × T entries, but nn.MultiheadAttention takes the first dimension, the sentences, for the tokens: it needs batch_first=True.",
    attention="self.attention = nn.MultiheadAttention(d_model, n_heads)",
)
_variant(
    "one_head_whatever_is_asked",
    "n_heads is not used: there is one head, whose weights mix all d_model numbers alike. Split them into n_heads parts, each with a softmax of its own.",
    attention="self.attention = nn.MultiheadAttention(d_model, 1, batch_first=True)",
)
_variant(
    "heads_split_but_joined",
    form_of="one_head_whatever_is_asked",
    **_own("unsqueeze(1)", "weights = scores.masked_fill(later, -torch.inf).softmax(-1)"),
)
_variant(
    "n_heads_as_width",
    "n_heads is taken for the width of a head. It is their number: with n_heads = 1 there should be one head, d_model wide.",
    attention="self.attention = nn.MultiheadAttention(d_model, d_model // n_heads, batch_first=True)",
)
_variant(
    "heads_reshaped_without_transpose",
    "The heads are split by a reshape to [B, n_heads, T, …] at once, which tears tokens apart. First [B, T, n_heads, …], then swap the two in the middle.",
    **_own("reshape(B, self.n_heads, T, -1)", "weights = scores.masked_fill(later, -torch.inf).softmax(-1)"),
)
_variant(
    "heads_not_swapped",
    "Attention runs over the heads of one token, so tokens never meet. It works on the last dimensions but one: swap tokens and heads before, and back after.",
    **_sdpa(swap=""),
)
_variant(
    "out_never_called",
    "The matrix [d_model, d_model] behind the heads is made, but never used. What the heads bring, side by side, goes through it before it is added.",
    **_own(masked="weights = scores.masked_fill(later, -torch.inf).softmax(-1)")
    | {
        "mixed": _own(masked="weights = scores.masked_fill(later, -torch.inf).softmax(-1)")["mixed"].replace(
            "self.out(", "("
        )
    },
)
_variant(
    "heads_in_a_list",
    "The parts of attention are in a plain list or dict, where an optimiser does not find them: they would never be trained. nn.ModuleList registers them.",
    attention="self.attention = [nn.MultiheadAttention(d_model, n_heads, batch_first=True)]",
    mixed="""later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return self.attention[0](x, x, x, attn_mask=later, need_weights=False)[0]""",
)
_variant(
    "softmax_over_heads",
    "The softmax runs over the heads, dimension 1. The weights that one token gives in one head should add up to 1, over the tokens that it sees (dim=-1).",
    **_own(masked="weights = scores.masked_fill(later, -torch.inf).softmax(1)"),
)
_variant(
    "softmax_over_queries",
    "The softmax runs over the wrong dimension: the weights that one token gives should add up to 1, over the tokens that it sees (dim=-1).",
    **_own(masked="weights = scores.masked_fill(later, -torch.inf).softmax(-2)"),
)
_variant(
    "dropout_left_in",
    "In training mode the output is random: there is dropout somewhere. This block has none, so that the four kinds can be compared.",
    attention="self.attention = nn.MultiheadAttention(d_model, n_heads, dropout=0.1, batch_first=True)",
)

# The four kinds.

_variant(
    "kind_ignored",
    "The argument `kind` is not looked at: there is a ReLU FFN whatever one asks for.",
    ffn="""self.ffn = FFN(d_model, d_ff)
        self.norm2 = nn.LayerNorm(d_model)""",
    none="",
    aux="",
)
_variant(
    "none_has_an_ffn",
    "'none' has an FFN: the kind falls through to one of the others. With 'none' the block ends after attention.",
    ffn="""self.norm2 = nn.LayerNorm(d_model)
        self.ffn = {"swiglu": SwiGLU, "moe": MoE}.get(kind, FFN)(d_model, d_ff)""",
    none="",
)
_variant(
    "relu_and_swiglu_swapped",
    "'relu' and 'swiglu' have changed places. Only the gated one multiplies two branches, so that what it writes grows like the square.",
    ffn="""if kind != "none":
            self.ffn = {"relu": SwiGLU, "swiglu": FFN, "moe": MoE}[kind](d_model, d_ff)""",
)
_variant(
    "swiglu_is_relu",
    "'swiglu' is the ReLU FFN once more: made of straight pieces, without a gate. SwiGLU multiplies SiLU of one branch with another.",
    ffn="""if kind != "none":
            self.ffn = {"relu": FFN, "swiglu": FFN, "moe": MoE}[kind](d_model, d_ff)""",
)
_PLAIN = """if kind in ("swiglu", "moe"):
            self.ffn = SwiGLU(d_model, d_ff) if kind == "swiglu" else MoE(d_model, d_ff)
        elif kind == "relu":
            self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), {act}nn.Linear(d_ff, d_model))"""
_variant(
    "relu_missing",
    "In 'relu' there is no activation: two linear layers in a row are one. The ReLU goes between them.",
    ffn=_PLAIN.format(act=""),
)
_variant(
    "relu_at_the_end",
    "In 'relu' a second ReLU follows linear2, so the FFN can only add what is positive. The ReLU goes between the two layers, and nowhere else.",
    ffn=_PLAIN.format(act="nn.ReLU(), ").replace("nn.Linear(d_ff, d_model))", "nn.Linear(d_ff, d_model), nn.ReLU())"),
)
_variant(
    "ffn_in_a_dict",
    "The FFN is in a plain dict or list, where an optimiser does not find its weights: it would never be trained. Assign it to self by itself.",
    ffn="""if kind != "none":
            self.ffns = {"relu": FFN(d_model, d_ff), "swiglu": SwiGLU(d_model, d_ff), "moe": MoE(d_model, d_ff)}""",
    second="y = self.ffns[self.kind](self.norm2(z))",
)
_variant(
    "gelu_for_relu",
    "'relu' is smooth: its activation is GELU, SiLU or the like. The exercise asks for ReLU, made of straight pieces.",
    ffn=_PLAIN.format(act="nn.GELU(), "),
)
_GATED = """if kind in ("relu", "moe"):
            self.ffn = FFN(d_model, d_ff) if kind == "relu" else MoE(d_model, d_ff)
        elif kind == "swiglu":
            self.gate, self.up = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
            self.down = nn.Linear(d_ff, d_model, bias=False)
            self.ffn = lambda h: self.down({product})"""
for _name, _message, _product in (
    (
        "swiglu_without_gate",
        "'swiglu' is smooth, but does not grow like the square: nothing multiplies, or the gate is a sigmoid. SwiGLU is silu(gate(x)) * up(x).",
        "F.silu(self.up(h)) + 0 * self.gate(h)",
    ),
    (
        "bilinear",
        "'swiglu' multiplies two branches, but neither has an activation: this is the bilinear form. SiLU is applied to the gate.",
        "self.gate(h) * self.up(h)",
    ),
    (
        "reglu",
        "The gate of 'swiglu' has a kink: its activation is ReLU. SwiGLU has SiLU there, which is smooth.",
        "torch.relu(self.gate(h)) * self.up(h)",
    ),
    (
        "silu_of_the_product",
        "In 'swiglu' SiLU is applied to the product of the two branches. It belongs on the gate alone; then the other branch is multiplied.",
        "F.silu(self.gate(h) * self.up(h))",
    ),
    (
        "geglu",
        "The gate of 'swiglu' is a GELU, which makes it GEGLU. SwiGLU has SiLU there.",
        "F.gelu(self.gate(h)) * self.up(h)",
    ),
):
    _variant(_name, _message, ffn=_GATED.format(product=_product))
_variant(
    "glu_of_2016",
    form_of="swiglu_without_gate",
    ffn=_GATED.format(product="torch.sigmoid(self.gate(h)) * self.up(h)"),
)
_variant(
    "every_expert_for_every_token",
    "Every expert works on every token. A mixture of experts leaves most of them out: top_k has to be smaller than their number.",
    ffn="""if kind == "moe":
            self.ffn = MoE(d_model, d_ff, n_experts=4, top_k=4)
        elif kind != "none":
            self.ffn = {"relu": FFN, "swiglu": SwiGLU}[kind](d_model, d_ff)""",
)
_variant(
    "moe_is_one_ffn",
    "'moe' holds one FFN for all tokens: there is no router and nothing to choose from. `MoE` brings both along.",
    ffn="""if kind != "none":
            self.ffn = {"relu": FFN, "swiglu": SwiGLU, "moe": SwiGLU}[kind](d_model, d_ff)""",
    aux="",
)
_variant(
    "moe_is_one_ffn_with_zero_loss",
    form_of="moe_is_one_ffn",
    ffn="""if kind != "none":
            self.ffn = {"relu": FFN, "swiglu": SwiGLU, "moe": FFN}[kind](d_model, d_ff)""",
    aux="""if self.kind == "moe":
            self.aux_loss = torch.tensor(0.0)""",
)
_variant(
    "all_ffns_in_every_block",
    "Every block holds the FFNs of all kinds and uses one: its parameters can't be compared with another's. Make only what `kind` asks for.",
    ffn="""self.all = nn.ModuleDict({"relu": FFN(d_model, d_ff), "swiglu": SwiGLU(d_model, d_ff), "moe": MoE(d_model, d_ff)})""",
    second="y = self.all[self.kind](self.norm2(z))",
)
_variant(
    "none_holds_an_ffn",
    "The block of kind 'none' holds an FFN that it never calls. It would count as having its parameters: don't make one.",
    norms="self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)",
    ffn="""self.ffn = {"none": FFN, "relu": FFN, "swiglu": SwiGLU, "moe": MoE}[kind](d_model, d_ff)""",
)

# The balance loss.

_variant(
    "aux_lost",
    "The balance loss is thrown away: `MoE` returns it as its second value. Keep it as `self.aux_loss`, or no training loop can find it.",
    aux="""if self.kind == "moe":
            y = y[0]""",
)
_variant(
    "tuple_returned",
    "The mixture's block returns a pair, so a second block could not be put on top. Return the output alone; the balance loss goes to `self.aux_loss`.",
    aux="""if self.kind == "moe":
            y, self.aux_loss = y
            return z + y, self.aux_loss""",
)
_variant(
    "tuple_not_unpacked",
    "What `MoE` returns is a pair, output and balance loss, and the pair is added to z. Unpack it first.",
    aux="",
)
_variant(
    "pair_swapped",
    "The two values of `MoE` have changed places: the output comes first, the balance loss second.",
    aux="""if self.kind == "moe":
            self.aux_loss, y = y""",
)
_variant(
    "aux_without_gradient",
    "The balance loss has lost its gradient (detach, item, no_grad): the training loop would add a constant, and the router would learn nothing from it.",
    aux="""if self.kind == "moe":
            y, aux = y
            self.aux_loss = aux.detach()""",
)
_variant(
    "aux_as_a_float",
    "aux_loss is a Python number: `.item()` or `float()` cut its gradient. Keep the tensor as it is.",
    aux="""if self.kind == "moe":
            y, aux = y
            self.aux_loss = aux.item()""",
)
_variant(
    "aux_never_filled",
    "aux_loss is always the same number, whatever comes in: it is set once, and what `MoE` returns never gets there.",
    norms="""self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.aux_loss = torch.ones(())""",
    aux="""if self.kind == "moe":
            y, _ = y""",
)
_variant(
    "aux_adds_up",
    "aux_loss grows with every call: the losses of earlier batches are still in it, and `backward` would meet them a second time. Set it anew in each call.",
    norms="""self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.aux_loss = 0.0""",
    aux="""if self.kind == "moe":
            y, aux = y
            self.aux_loss = self.aux_loss + aux""",
)
_variant(
    "aux_of_the_first_call",
    "aux_loss is that of the first call for ever. It belongs to the last one: set it in every `forward`.",
    aux="""if self.kind == "moe":
            y, aux = y
            if not hasattr(self, "aux_loss"):
                self.aux_loss = aux""",
)
_variant(
    "aux_scaled",
    "A coefficient such as 0.01 is in aux_loss already. The training loop multiplies by it; keep the loss as `MoE` returns it.",
    aux="""if self.kind == "moe":
            y, aux = y
            self.aux_loss = 0.01 * aux""",
)
_variant(
    "aux_in_the_output",
    "The balance loss is added to the output, so every token's vector is shifted by it. It is a second loss, kept beside the output.",
    aux="""if self.kind == "moe":
            y, self.aux_loss = y
            y = y + self.aux_loss""",
)

# Arguments, and what a module needs.

_variant(
    "nothing_refused",
    "An unknown kind is accepted without a word, and gives a block without FFN. Say it when the block is made: raise a ValueError.",
    refuse="",
    ffn="""if kind in ("relu", "swiglu", "moe"):
            self.ffn = {"relu": FFN, "swiglu": SwiGLU, "moe": MoE}[kind](d_model, d_ff)
        else:
            self.kind = "none\"""",
)
_variant(
    "none_refused",
    "'none' is refused, but it is one of the four kinds: a block that ends after attention.",
    refuse="""if kind not in ("relu", "swiglu", "moe") or d_model % n_heads:
            raise ValueError("no such block")""",
)
_variant(
    "key_error",
    "An unknown kind ends in the dict's KeyError, a wrong number of heads in an AssertionError of torch's. Check both yourself: raise ValueError.",
    refuse="",
)
_variant(
    "heads_not_refused",
    "A number of heads that does not divide d_model ends in an AssertionError of torch's. Check it yourself, and raise ValueError.",
    refuse="""if kind not in ("none", "relu", "swiglu", "moe"):
            raise ValueError(kind)""",
)
_variant(
    "assert_for_value_error",
    "`assert` raises AssertionError, and vanishes when Python runs with -O. For a bad argument raise ValueError.",
    refuse="""assert kind in ("none", "relu", "swiglu", "moe")
        assert d_model % n_heads == 0""",
)
_variant(
    "kind_in_any_case",
    "'ReLU' is accepted for 'relu'. The four kinds are asked for in exactly these letters; everything else raises ValueError.",
    refuse="""kind = str(kind).lower()
        if kind not in ("none", "relu", "swiglu", "moe") or d_model % n_heads:
            raise ValueError("no such block")
        # None has become 'none', too""",
)
_variant(
    "refused_too_late",
    "The wrong kind is noticed only when the block is called. Look at it in `__init__`: whoever makes the mistake should hear of it there.",
    refuse="""if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")""",
    ffn="""if kind in ("relu", "swiglu", "moe"):
            self.ffn = {"relu": FFN, "swiglu": SwiGLU, "moe": MoE}[kind](d_model, d_ff)""",
    first="""if self.kind not in ("none", "relu", "swiglu", "moe"):
            raise ValueError(self.kind)
        z = x + self.mixed(self.norm1(x))""",
)
_variant(
    "no_super_init",
    "`super().__init__()` is missing. An nn.Module must be set up before parts can be assigned to it: it is the first line of `__init__`.",
    start="pass",
)
_variant(
    "not_a_module",
    "The class does not inherit from nn.Module, so PyTorch knows nothing of its parts: `class Block(nn.Module):`.",
    base="object",
    start="pass",
)
_variant(
    "nothing_returned",
    NO_RETURN,
    none="""if self.kind == "none":
            return""",
    last="z + y",
)
