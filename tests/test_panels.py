"""Wrong answers as students type them: what their panel says, and what it must not say, because the answer does something else.

Each is checked as `check` does it, with the shipped reference outputs, on the public inputs. The first group once had a false cause, the second one none.
"""

from __future__ import annotations

import linecache
import math
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab.checking import panel, reference_files
from ffnlab.checking.checks import examine
from ffnlab.checking.verdict import Outcome, Verdict
from ffnlab.observation.exercise import public_seed
from ffnlab.registry import active_course


@dataclass(frozen=True)
class Attempt:
    """A wrong answer."""

    exercise: str
    what: str
    code: str
    says: tuple[str, ...]  # each of these is in its panel
    never: tuple[str, ...] = field(default=())  # none of these is in its panel


def typed(exercise: str, what: str, code: str) -> Any:
    """The answer that a cell with this code defines, with its source where a traceback looks for it, as in a notebook."""
    name = f"<answer: {exercise}, {what}>"
    code = code.strip() + "\n"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"math": math, "torch": torch, "F": F, "nn": nn, "__name__": "__main__"}
    exec(compile(code, name, "exec"), namespace)
    return namespace[exercise]


def checked(attempt: Attempt) -> Verdict:
    """The verdict that `check` shows."""
    exercise = active_course().exercise(attempt.exercise)
    answer = typed(attempt.exercise, attempt.what, attempt.code)
    seeds = [public_seed(attempt.exercise, case) for case in range(exercise.cases)]
    return examine(exercise, reference_files.load_public(attempt.exercise), answer, seeds)[0]


PART = "This explains only part of what is wrong."

# What was false, or partly false.
FALSE = [
    Attempt(
        "write_fact",
        "a threshold from another key",
        """
def write_fact(ffn, E, U, n, c):
    with torch.no_grad():
        key = E[n] / E[n].norm()
        match = E @ E[n]
        bias = -match.topk(2).values.mean()
        h = key @ E[n] + bias
        value = (U[c] - E[n] - ffn(E[n])) / h
    return key, bias, value
""",
        ("less than 0", "key"),
        ("exactly 0",),
    ),
    Attempt(
        "cost_of_a_step",
        "the cache once for all, and even upside down",
        """
def cost_of_a_step(n, batch, size, flops, bandwidth, cache=0):
    load = n * size + cache
    return {
        "flops": 2 * n * batch,
        "bytes": load,
        "seconds": max(2 * n * batch / flops, load / bandwidth),
        "even": (2 * n / flops) / (n * size / bandwidth),
    }
""",
        (PART,),
    ),
    Attempt(
        "bottleneck_rank",
        "how many neurons fire",
        """
def bottleneck_rank(ffn, X):
    return int((ffn.linear1(X) > 0).any(dim=0).sum())
""",
        ("neurons that fire",),
    ),
    Attempt(
        "moe_sorted",
        "x repeated as a whole",
        """
def moe_sorted(x, idx, w, experts):
    T, k = idx.shape
    flat = idx.reshape(-1)
    order = flat.argsort(stable=True)
    sizes = torch.bincount(flat, minlength=len(experts)).tolist()
    parts = x.repeat(k, 1)[order].split(sizes)
    outputs = torch.cat([expert(part) for expert, part in zip(experts, parts)])
    back = torch.empty_like(order)
    back[order] = torch.arange(T * k)
    return (outputs[back].reshape(T, k, -1) * w.unsqueeze(-1)).sum(1)
""",
        ("`x.repeat`",),
        ("`order % T` would be right",),
    ),
    Attempt(
        "ffn_chunked",
        "a size of its own in place of c",
        """
def ffn_chunked(x, ffn, c):
    tokens = x.reshape(-1, x.shape[-1])
    return torch.cat([ffn(part) for part in tokens.split(128)]).reshape(x.shape)
""",
        ("`c`",),
        ("All tokens go through in one call",),
    ),
    Attempt(
        "GatedFFN",
        "the last line is still to be written",
        """
class GatedFFN(nn.Module):
    def __init__(self, d_model, d_ff, activation="silu", dropout=0.0):
        super().__init__()
        if activation not in ("silu", "gelu"):
            raise ValueError(activation)
        self.bend = F.silu if activation == "silu" else F.gelu
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        hidden = self.bend(self.gate_proj(x)) * self.up_proj(x)
        ...
""",
        ("Your code is not finished", "`...`"),
        ("does not hand it back",),
    ),
    Attempt(
        "DeepFFN",
        "the loop is still to be written",
        """
class DeepFFN(nn.Module):
    def __init__(self, d_model, d_ff, n_hidden, activation):
        super().__init__()
        if n_hidden < 1:
            raise ValueError(n_hidden)
        named = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.act = named[activation] if isinstance(activation, str) else activation
        widths = [d_model] + [d_ff] * n_hidden + [d_model]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            ...
        return x
""",
        ("Your code is not finished", "`...`"),
        ("x.add",),
    ),
    Attempt(
        "relu_interpolant",
        "W1 without its first dimension",
        """
def relu_interpolant(n, A, B):
    nodes = torch.linspace(A, B, n + 1, dtype=torch.float64)
    slopes = nodes[:-1] + nodes[1:]
    changes = torch.diff(slopes, prepend=torch.zeros(1, dtype=torch.float64))
    W1 = torch.ones(n, dtype=torch.float64) if n == 1 else torch.ones(1, n, dtype=torch.float64)
    return W1, -nodes[:-1], changes[:, None], nodes[:1] ** 2
""",
        ("should be [1, m]",),
        ("[m, m]",),
    ),
    Attempt(
        "train_fact_ffn",
        "nothing but a learning rate of one thousandth",
        """
def train_fact_ffn(E, U, y, d_ff, steps):
    ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))
    opt = torch.optim.Adam(ffn.parameters())
    for _ in range(steps):
        opt.zero_grad()
        F.cross_entropy((E + ffn(E)) @ U.T, y).backward()
        opt.step()
    return ffn
""",
        ("of the facts", "not far enough", "0.01"),
        ("its o…", "squared error"),
    ),
    Attempt(
        "is_position_wise",
        "the last row alone is compared",
        """
def is_position_wise(f, T, d, seed=0):
    torch.manual_seed(seed)
    X = torch.randn(T, d)
    last = f(X)[-1]
    for t in range(T - 1):
        Z = X.clone()
        Z[t] = torch.randn(d)
        if (f(Z)[-1] - last).abs().max() > 1e-3 * last.abs().max():
            return False
    rows = f(X[:1].expand(T, d))
    return bool((rows - rows[:1]).abs().max() <= 1e-3 * rows.abs().max())
""",
        ("Attention to later tokens alone passes your test", "nothing but the last row"),
        ("Only token 0 is changed",),
    ),
    Attempt(
        "fool_the_inspectors",
        "what was written is read again",
        """
def fool_the_inspectors(X):
    Y = X.clone()
    a, b = Y[1], Y[-2]
    Y[1] += a * b * (a - b)
    Y[-2] += a * b * (b - a)
    return Y
""",
        ("Only `mirror` is still in your way", "`a = Y[1]` is no copy"),
        ("Count one of them from the end",),
    ),
    Attempt(
        "fool_the_inspectors",
        "the same in the sentence itself",
        """
def fool_the_inspectors(X):
    a, b = X[1], X[-2]
    X[1] += a * b * (a - b)
    X[-2] += a * b * (b - a)
    return X
""",
        ("writes into the sentence that it was given", "`Y = X.clone()`"),
        ("from the end", PART.strip()),
    ),
]

BACKWARD = """
def ffn_backward(x, W1, b1, W2, b2, dy):
    pre = x @ W1 + b1
    dpre = (dy @ W2.T) * (pre > 0)
    return {
        "pre": pre,
        "act": torch.relu(pre),
        "out": torch.relu(pre) @ W2 + b2,
        "dW2": DW2,
        "db2": dy.sum(0),
        "dpre": dpre,
        "dW1": DW1,
        "db1": dpre.sum(0),
        "dx": dpre @ W1.T,
    }
"""


def backward(dW2: str, dW1: str) -> str:
    return BACKWARD.replace("DW2", dW2).replace("DW1", dW1)


SENTENCE = ("as if it were one sentence",)

# What had no name.
UNNAMED = [
    Attempt("ffn_backward", "one sentence, .T", backward("torch.relu(pre).T @ dy", "x.T @ dpre"), SENTENCE),
    Attempt(
        "ffn_backward",
        "one sentence, outer products summed up over the first dimension",
        backward("(torch.relu(pre)[:, :, None] * dy[:, None]).sum(0)", "(x[:, :, None] * dpre[:, None]).sum(0)"),
        SENTENCE,
    ),
    Attempt(
        "ffn_backward",
        "one sentence, einsum",
        backward('torch.einsum("tf,td->fd", torch.relu(pre), dy)', 'torch.einsum("td,tf->df", x, dpre)'),
        SENTENCE,
    ),
    Attempt(
        "ffn_chunked",
        "sentences cut instead of tokens",
        """
def ffn_chunked(x, ffn, c):
    return torch.cat([ffn(part) for part in x.split(c, dim=0)], dim=0)
""",
        ("sentences", "tokens"),
    ),
    Attempt(
        "reach_star",
        "the most usual least squares",
        """
def reach_star(V, star):
    A = torch.cat([V.T, torch.ones(1, len(V), dtype=V.dtype)])
    b = torch.cat([star, torch.ones(1, dtype=V.dtype)])
    w = torch.linalg.lstsq(A, b).solution
    if torch.allclose(w @ V, star, atol=0.05):
        return w, None
    return None, star - w @ V
""",
        ("pushes the dot away from its word",),
    ),
    Attempt(
        "break_head",
        "every sentence, one after the other",
        """
def break_head(says, rule, weathers, places):
    for weather in weathers:
        for place in places:
            if says(weather, place) != rule(weather, place):
                return weather, place
""",
        ("asks the head more than three times",),
    ),
    Attempt(
        "generate",
        "e to the power of a large number",
        """
def generate(model, prompt, numbers, window, temperature):
    ids = list(prompt)
    for u in numbers:
        with torch.no_grad():
            scores = model(torch.tensor([ids[-window:]]))[0, -1]
        if temperature == 0:
            ids.append(int(scores.argmax()))
            continue
        p = torch.exp(scores / temperature)
        p = p / p.sum()
        ids.append(int((p.cumsum(0) > u).int().argmax()))
    return ids[len(prompt):]
""",
        ("NaN",),
    ),
    Attempt(
        "activation",
        "the cube of both terms",
        """
def activation(name, x, beta=1.0):
    if name == "relu":
        return x.clamp(min=0), (x > 0).to(x.dtype)
    if name == "gelu":
        share, growth = torch.special.ndtr(x), torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    if name == "gelu_tanh":
        k = math.sqrt(2 / math.pi)
        t = torch.tanh(k * (x + 0.044715 * x) ** 3)
        share, growth = 0.5 * (1 + t), 0.5 * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
    if name == "silu":
        share = torch.sigmoid(beta * x)
        growth = beta * share * (1 - share)
    return x * share, share + x * growth
""",
        ("cube",),
    ),
    Attempt(
        "attention_only_collapse",
        "the quotient of variances",
        """
def attention_only_collapse(X0, weights, skip):
    X, found = X0.double(), []
    for layer in [None, *weights]:
        if layer is not None:
            q, k, v, o = (W.double() for W in layer)
            out = torch.softmax((X @ q) @ (X @ k).T / q.shape[1] ** 0.5, -1) @ (X @ v) @ o
            X = X + out if skip else out
        found.append(((X - X.mean(0)).var() / X.var()).item())
    return found
""",
        ("variances", "norm"),
    ),
    Attempt(
        "write_fact",
        "too small a push",
        """
def write_fact(ffn, E, U, n, c):
    with torch.no_grad():
        match = E @ E[n]
        second = match[torch.arange(len(E)) != n].max()
    return E[n], -second, 10 * U[c]
""",
        ("too weak", "made larger, would let the new answer lead"),
    ),
    Attempt(
        "write_fact",
        "the key of a person who has the number of an answer",
        """
def write_fact(ffn, E, U, n, c):
    with torch.no_grad():
        key = E[c]
        match = E @ key
        bias = -match.topk(2).values.mean()
        h = match[c] + bias
        value = (U[c] - E[n] - ffn(E[n])) / h
    return key, bias, value
""",
        ("`E[c]`", "number of an answer"),
    ),
    Attempt(
        "count_block",
        "biases of another length in the FFN",
        """
def count_block(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    kv, size = n_kv or n_heads, head_dim or d // n_heads
    ffn = (3 if gated else 2) * d * f + ((2 if gated else 1) * d + f) * bias
    attention = attentions * ((n_heads + 2 * kv) * size * (d + bias) + d * (n_heads * size + bias))
    return {"ffn": ffn, "attention": attention, "share": ffn / (ffn + attention)}
""",
        ("changed places",),
    ),
    Attempt(
        "audit_file",
        "one attention for each FFN, everywhere",
        """
from collections import Counter

def audit_file(shapes):
    count = Counter(shapes)
    matrices = [shape for shape in count if len(shape) == 2]
    (d,) = set.intersection(*map(set, matrices))
    d_ff = max(b for a, b in matrices if a == d)
    ffns, into = count[d, d_ff], count[d_ff, d]
    narrow = [a for a, b in matrices if a < d and count[a, b] >= 2 * ffns]
    ffn = (into + ffns) * d * d_ff
    total = sum(math.prod(shape) for shape in shapes)
    return {"d_model": d, "d_ff": d_ff, "ffns": ffns, "gated": into == 2 * ffns, "attentions": ffns, "shared": bool(narrow), "ffn_share": ffn / total}
""",
        ("one attention for each FFN",),
    ),
    Attempt(
        "route",
        "names that are not those of the table",
        """
def route(logits, k, norm):
    top, chosen = logits.topk(k, dim=-1)
    if norm == "topk-softmax":
        weights = top.softmax(-1)
    elif norm == "sigmoid":
        weights = torch.sigmoid(top)
        weights = weights / weights.sum(-1, keepdim=True)
    elif norm == "softmax-topk":
        weights = logits.softmax(-1).gather(-1, chosen)
    return torch.zeros_like(logits).scatter(-1, chosen, weights)
""",
        ("no branch of an `if`",),
    ),
    Attempt(
        "balance_step",
        "no minlength, and a plain number",
        """
def balance_step(logits, idx, b, u):
    E = logits.shape[-1]
    counts = torch.bincount(idx.flatten()).double()
    f = counts / counts.sum()
    return {
        "load": f,
        "effective": torch.exp(-torch.xlogy(f, f).sum()),
        "loss": (E * (f * logits.softmax(-1).mean(0)).sum()).item(),
        "bias": b.detach() + u * torch.sign(counts.mean() - counts).to(b.dtype),
    }
""",
        ("minlength",),
    ),
    Attempt(
        "decompose_output",
        "the token in place of the values",
        """
def decompose_output(ffn, x):
    h = ffn.activation(ffn.linear1(x))
    return torch.outer(h, x)
""",
        ("the token itself",),
    ),
    Attempt(
        "decompose_output",
        "no activation and no b1",
        """
def decompose_output(ffn, x):
    pre = ffn.linear1.weight @ x
    return pre[:, None] * ffn.linear2.weight.T
""",
        ("b1", "activation"),
    ),
    Attempt(
        "collapse_linear",
        "the bias read off at ones",
        """
def collapse_linear(W1, b1, W2, b2):
    x = torch.ones(W1.shape[0], dtype=W1.dtype)
    return W1 @ W2, (x @ W1 + b1) @ W2 + b2
""",
        ("x = 0",),
    ),
    Attempt(
        "self_attention",
        "the mix divided by the root of h",
        """
def self_attention(X, Wq, Wk, Wv, Wo, A=None):
    if A is None:
        A = torch.softmax(X @ Wq @ Wk.T @ X.T / Wq.shape[1] ** 0.5, dim=1)
    V = X @ Wv
    return A @ V / math.sqrt(V.shape[-1]) @ Wo, A
""",
        ("√h",),
    ),
    Attempt(
        "self_attention",
        "entry by entry",
        """
def self_attention(X, Wq, Wk, Wv, Wo, A=None):
    if A is None:
        A = torch.softmax(X @ Wq @ Wk.T @ X.T / Wq.shape[1] ** 0.5, dim=1)
    V = X @ Wv
    return (A[:, : V.shape[1]] * V) @ Wo, A
""",
        ("entry by entry",),
    ),
    Attempt(
        "count_block",
        "one number for each bias",
        """
def count_block(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    kv, size = n_kv or n_heads, head_dim or d // n_heads
    ffn = (3 if gated else 2) * (d * f + bias)
    attention = attentions * ((n_heads + 2 * kv) * size * (d + bias) + d * (n_heads * size + bias))
    return {"ffn": ffn, "attention": attention, "share": ffn / (ffn + attention)}
""",
        ("a bias is a vector",),
    ),
    Attempt(
        "xor_weights",
        "for inputs of -1 and 1",
        """
def xor_weights(over, into):
    W1 = torch.ones(2, 2)
    b1 = torch.tensor([2.0, 0.0])
    W2 = torch.tensor([[1.0], [-2.0]]) * (into - over) / 2
    return W1, b1, W2, torch.tensor([float(over)])
""",
        ("−1 and 1",),
    ),
    Attempt(
        "silence_strongest",
        "an output in place of a module",
        """
def silence_strongest(ffn, x, direction, k):
    h = ffn.activation(ffn.linear1(x)).clone()
    h[(h * (direction @ ffn.linear2.weight)).topk(k).indices] = 0
    return ffn.linear2(h)
""",
        ("A module in which the neurons are silent is asked for",),
    ),
    Attempt(
        "drop_mask",
        "the first token is left out",
        """
def drop_mask(idx, E, capacity):
    T, k = idx.shape
    taken = [0] * E
    kept = torch.zeros(T, k, dtype=torch.bool)
    for s in range(k):
        for t in range(1, T):
            e = int(idx[t, s])
            if taken[e] < capacity:
                kept[t, s] = True
                taken[e] += 1
    return kept
""",
        ("first token",),
    ),
    Attempt(
        "ffn_forward",
        "an argument forgotten",
        """
def ffn_forward(x, W1, b1, W2, b2):
    return torch.relu(x @ W1 + b1) @ W2 + b2
""",
        ("`def`", "arguments"),
    ),
    Attempt(
        "activation",
        "no return",
        "def activation(name, x, beta=1.0):\n    y = x.clamp(min=0)",
        ("What is wrong. Nothing comes back", "Is it finished?"),
        ("is computed", "Likely"),
    ),
    Attempt("activation", "called already", "activation = torch.relu(torch.ones(2))", ("without calling it",)),
    Attempt(
        "curve_interpolant",
        "a loop over the heights",
        """
def curve_interpolant(y, A, B):
    n = len(y)
    h = (B - A) / n
    biases, weights, old = [], [], 0.0
    for i in range(n):
        slope = (y[i + 1] - y[i]) / h
        biases.append(-(A + i * h))
        weights.append(slope - old)
        old = slope
    return torch.ones(1, n), torch.tensor(biases), torch.tensor(weights)[:, None], y[:1]
""",
        ("As many pieces as heights are counted here",),
    ),
    Attempt(
        "curve_interpolant",
        "a neuron for each height in W1 alone",
        """
def curve_interpolant(y, A, B):
    n = len(y)
    nodes = torch.linspace(A, B, n, dtype=y.dtype)
    slopes = torch.diff(y) / torch.diff(nodes)
    changes = torch.diff(slopes, prepend=torch.zeros(1, dtype=y.dtype))
    return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], changes[:, None], y[:1]
""",
        ("As many pieces as heights are counted here",),
    ),
    Attempt(
        "curve_interpolant",
        "the width and all places by the number of heights",
        """
def curve_interpolant(y, A, B):
    n = len(y)
    h = (B - A) / n
    places = A + h * torch.arange(n - 1, dtype=y.dtype)
    slopes = torch.diff(y) / h
    changes = torch.diff(slopes, prepend=torch.zeros(1, dtype=y.dtype))
    return torch.ones(1, n - 1, dtype=y.dtype), -places, changes[:, None], y[:1]
""",
        ("You divide by the number of heights",),
    ),
    Attempt(
        "steepest_counterexample",
        "fewer neurons than the mistake that is kept",
        "steepest_counterexample = ([2.0, 1.0], [0.0, -1.0], [-3.0, 5.0])",
        ("in a place of its own", "your classmate's code returns 6, and that is right"),
    ),
    Attempt(
        "hello_shape",
        "three tensors in a tuple",
        "def hello_shape(x):\n    return tuple(torch.tensor(size) for size in x.shape)",
        ("The three sizes are tensors",),
    ),
]


@pytest.mark.parametrize("attempt", FALSE + UNNAMED, ids=lambda attempt: f"{attempt.exercise}: {attempt.what}")
def test_a_panel_says_what_the_answer_does(attempt: Attempt) -> None:
    verdict = checked(attempt)
    text = panel.of_verdict(verdict).text
    assert verdict.outcome is Outcome.NOT_EARNED
    assert [words for words in attempt.says if words not in text] == [], text
    assert [words for words in attempt.never if words in text] == [], text
