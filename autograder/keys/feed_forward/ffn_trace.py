"""What is right, and what goes wrong, in `ffn_trace` of notebook 02."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import feed_forward as exercises

ffn_trace = Key(exercises.ffn_trace)


@ffn_trace.truth
def neuron_by_neuron(x, W1, b1, W2, b2):
    """Each neuron's three numbers on their own; GELU from its tanh formula (Hendrycks & Gimpel 2016), no matrix product."""
    pre, act = [], []
    out = b2.expand(x.shape)
    for j in range(W1.shape[1]):
        read = b1[j]
        for i in range(W1.shape[0]):
            read = read + x[..., i] * W1[i, j]
        bent = read / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (read + 0.044715 * read * read * read)))
        out = out + bent.unsqueeze(-1) * W2[j]
        pre.append(read)
        act.append(bent)
    return {"pre": torch.stack(pre, -1), "act": torch.stack(act, -1), "out": out}


@ffn_trace.right("the formula written out")
def formula_written_out(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = 0.5 * pre * (1 + torch.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.right("a dict filled stage by stage")
def stage_by_stage(x, W1, b1, W2, b2):
    trace = {}
    trace["out"] = None
    trace["pre"] = torch.einsum("...d,df->...f", x, W1) + b1
    trace["act"] = nn.GELU(approximate="tanh")(trace["pre"])
    trace["out"] = torch.matmul(trace["act"], W2) + b2
    return trace


@ffn_trace.right("F.linear and dict()")
def with_dict(x, W1, b1, W2, b2):
    pre = F.linear(x, W1.T, b1)
    act = F.gelu(pre, approximate="tanh")
    return dict(pre=pre, act=act, out=F.linear(act, W2.T, b2))


@ffn_trace.right("a clone kept as the trace")
def clones(x, W1, b1, W2, b2):
    h = torch.matmul(x, W1).add_(b1)
    saved = h.clone()
    h = F.gelu(h, approximate="tanh")
    return {"out": h @ W2 + b2, "act": h.clone(), "pre": saved}


@ffn_trace.mistake(
    "pre and act are the same: pre is taken after the activation, or was overwritten by it. The first stage is what the neurons have read, before "
    "the activation."
)
def pre_taken_after_the_activation(x, W1, b1, W2, b2):
    pre = F.gelu(x @ W1 + b1, approximate="tanh")
    return {"pre": pre, "act": pre, "out": pre @ W2 + b2}


ffn_trace.slip(
    "pre_overwritten_in_place",
    "The activation overwrote pre: `act = pre` makes no copy, so changing one in place (`*=`, a trailing underscore) changes both. "
    "Compute act as a new tensor.",
    of=formula_written_out,
    replace={"act = …": "act = pre\nact *= 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))"},
)


@ffn_trace.mistake(
    "This is the exact GELU, with erf, which `F.gelu` computes unless told otherwise. GPT-2 uses the tanh approximation: `F.gelu` has an argument for it."
)
def exact_gelu(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("This is ReLU; the trace asks for GELU in its tanh form, which lets small negative values through.")
def relu_instead_of_gelu(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = torch.relu(pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake(
    "This is the sigmoid approximation of GELU, x·sigmoid(1.702·x). It differs from the tanh form by up to 0.02."
)
def sigmoid_gelu(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = pre * torch.sigmoid(1.702 * pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("The key “pre” is missing. The trace has three stages: pre, act and out.")
def pre_missing(x, W1, b1, W2, b2):
    act = F.gelu(x @ W1 + b1, approximate="tanh")
    return {"act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("The key “act” is missing. The trace has three stages: pre, act and out.")
def act_missing(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    return {"pre": pre, "out": F.gelu(pre, approximate="tanh") @ W2 + b2}


@ffn_trace.mistake("The key “out” is missing. The trace has three stages: pre, act and out.")
def out_missing(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    return {"pre": pre, "act": F.gelu(pre, approximate="tanh")}


@ffn_trace.mistake(
    "There is a fourth key, x. Exactly pre, act and out are asked for: whoever reads the trace loops over its keys."
)
def extra_key(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"x": x, "pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake(
    "The three tensors come back as a tuple. A dict is asked for, so that nobody has to remember their order."
)
def tuple_instead_of_dict(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return pre, act, act @ W2 + b2


@ffn_trace.mistake(
    "x is added to out. The trace ends with what the FFN writes; the residual connection is outside of it."
)
def out_with_residual(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre, "act": act, "out": x + act @ W2 + b2}


ffn_trace.slip(
    "detached",
    "The stages are detached from the graph, so no gradient can flow through what you recorded. Keep the tensors as they are.",
    of=extra_key,
    replace={"return …": 'out = act @ W2 + b2\nreturn {"pre": pre.detach(), "act": act.detach(), "out": out.detach()}'},
)


@ffn_trace.mistake(
    "pre and act are detached, though out is not: a copy made with `.detach()` or `.data` can be looked at, but nothing learns through it."
)
def stages_detached(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre.detach(), "act": act.detach(), "out": act @ W2 + b2}


@ffn_trace.mistake("out is made from pre, so the activation is recorded but never used. Which stage does W2 read?")
def out_from_pre(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre, "act": act, "out": pre @ W2 + b2}


@ffn_trace.mistake("b1 is missing from pre: a neuron reads x @ W1 and adds its own threshold.")
def pre_without_b1(x, W1, b1, W2, b2):
    pre = x @ W1
    act = F.gelu(pre + b1, approximate="tanh")
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("b2 is missing from out.")
def out_without_b2(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre, "act": act, "out": act @ W2}


@ffn_trace.mistake(NO_RETURN)
def trace_not_returned(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    trace = {"pre": pre, "act": act, "out": act @ W2 + b2}  # noqa: F841


@ffn_trace.mistake(
    "The activation is tanh itself. “GELU in its tanh form” is GELU, in which tanh stands in for the Gaussian's Φ."
)
def plain_tanh(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = torch.tanh(pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("This is SiLU, x·sigmoid(x). The trace asks for GELU in its tanh form.")
def silu_instead_of_gelu(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.silu(pre)
    return {"pre": pre, "act": act, "out": act @ W2 + b2}


@ffn_trace.mistake("pre and act have changed places: pre comes before the activation, act after it.")
def pre_and_act_swapped(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": act, "act": pre, "out": act @ W2 + b2}


@ffn_trace.mistake("Only the output comes back. A dict with all three stages is asked for: pre, act and out.")
def only_out(x, W1, b1, W2, b2):
    return F.gelu(x @ W1 + b1, approximate="tanh") @ W2 + b2


@ffn_trace.mistake("The output goes through an activation, too. The last stage is linear: act @ W2 + b2.")
def out_bent(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    return {"pre": pre, "act": act, "out": F.gelu(act @ W2 + b2, approximate="tanh")}


@ffn_trace.mistake(
    "A constant is float32: √(2/π) as a tensor of its own dtype costs seven digits. `math.sqrt(2 / math.pi)` is exact enough."
)
def float32_constant(x, W1, b1, W2, b2):
    pre = x @ W1 + b1
    act = 0.5 * pre * (1 + torch.tanh(torch.sqrt(torch.tensor(2 / math.pi)) * (pre + 0.044715 * pre**3)))
    return {"pre": pre, "act": act, "out": act @ W2 + b2}
