"""What is right, and what goes wrong, in `ffn_trace` of notebook 02."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
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


@ffn_trace.base
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


ffn_trace.slips("""
of with_dict
in
  - pre = F.linear(x, W1.T, b1)
  - act = F.gelu(pre, approximate="tanh")
  - return dict(pre=pre, act=act, out=F.linear(act, W2.T, b2))
pre_taken_after_the_activation
  + pre = F.gelu(x @ W1 + b1, approximate="tanh")
  + return {"pre": pre, "act": pre, "out": pre @ W2 + b2}
    pre and act are the same: pre is taken after the activation, or was overwritten by it. The first stage is what the neurons have read, before the
    activation.
pre_missing
  + act = F.gelu(x @ W1 + b1, approximate="tanh")
  + return {"act": act, "out": act @ W2 + b2}
    The key “pre” is missing. The trace has three stages: pre, act and out.
pre_without_b1
  + pre = x @ W1
  + act = F.gelu(pre + b1, approximate="tanh")
  + return {"pre": pre, "act": act, "out": act @ W2 + b2}
    b1 is missing from pre: a neuron reads x @ W1 and adds its own threshold.
only_out: return F.gelu(x @ W1 + b1, approximate="tanh") @ W2 + b2
    Only the output comes back. A dict with all three stages is asked for: pre, act and out.
of base
in act = 0.5 * pre * (1 + torch.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))
pre_overwritten_in_place
  + act = pre
  + act *= 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))
    The activation overwrote pre: `act = pre` makes no copy, so changing one in place (`*=`, a trailing underscore) changes both. Compute act as a new
    tensor.
float32_constant: act = 0.5 * pre * (1 + torch.tanh(torch.sqrt(torch.tensor(2 / math.pi)) * (pre + 0.044715 * pre**3)))
    A constant is float32: √(2/π) as a tensor of its own dtype costs seven digits. `math.sqrt(2 / math.pi)` is exact enough.
in = 0.5 * pre * (1 + torch.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))
exact_gelu: = F.gelu(pre)
    This is the exact GELU, with erf, which `F.gelu` computes unless told otherwise. GPT-2 uses the tanh approximation: `F.gelu` has an argument for
    it.
relu_instead_of_gelu: = torch.relu(pre)
    This is ReLU; the trace asks for GELU in its tanh form, which lets small negative values through.
sigmoid_gelu: = pre * torch.sigmoid(1.702 * pre)
    This is the sigmoid approximation of GELU, x·sigmoid(1.702·x). It differs from the tanh form by up to 0.02.
plain_tanh: = torch.tanh(pre)
    The activation is tanh itself. “GELU in its tanh form” is GELU, in which tanh stands in for the Gaussian's Φ.
silu_instead_of_gelu: = F.silu(pre)
    This is SiLU, x·sigmoid(x). The trace asks for GELU in its tanh form.
in
  - act = 0.5 * pre * (1 + torch.tanh(math.sqrt(2 / math.pi) * (pre + 0.044715 * pre**3)))
  - return {"pre": pre, "act": act, "out": act @ W2 + b2}
act_missing: return {"pre": pre, "out": F.gelu(pre, approximate="tanh") @ W2 + b2}
    The key “act” is missing. The trace has three stages: pre, act and out.
out_missing: return {"pre": pre, "act": F.gelu(pre, approximate="tanh")}
    The key “out” is missing. The trace has three stages: pre, act and out.
extra_key
  + act = F.gelu(pre, approximate="tanh")
  + return {"x": x, "pre": pre, "act": act, "out": act @ W2 + b2}
    There is a fourth key, x. Exactly pre, act and out are asked for: whoever reads the trace loops over its keys.
tuple_instead_of_dict
  + act = F.gelu(pre, approximate="tanh")
  + return pre, act, act @ W2 + b2
    The three tensors come back as a tuple. A dict is asked for, so that nobody has to remember their order.
out_with_residual
  + act = F.gelu(pre, approximate="tanh")
  + return {"pre": pre, "act": act, "out": x + act @ W2 + b2}
    x is added to out. The trace ends with what the FFN writes; the residual connection is outside of it.
detached
  + act = F.gelu(pre, approximate="tanh")
  + out = act @ W2 + b2
  + return {"pre": pre.detach(), "act": act.detach(), "out": out.detach()}
    The stages are detached from the graph, so no gradient can flow through what you recorded. Keep the tensors as they are.
stages_detached
  + act = F.gelu(pre, approximate="tanh")
  + return {"pre": pre.detach(), "act": act.detach(), "out": act @ W2 + b2}
    pre and act are detached, though out is not: a copy made with `.detach()` or `.data` can be looked at, but nothing learns through it.
out_from_pre
  + act = F.gelu(pre, approximate="tanh")
  + return {"pre": pre, "act": act, "out": pre @ W2 + b2}
    out is made from pre, so the activation is recorded but never used. Which stage does W2 read?
out_without_b2
  + act = F.gelu(pre, approximate="tanh")
  + return {"pre": pre, "act": act, "out": act @ W2}
    b2 is missing from out.
trace_not_returned
  + act = F.gelu(pre, approximate="tanh")
  + trace = {"pre": pre, "act": act, "out": act @ W2 + b2}
    NO_RETURN
pre_and_act_swapped
  + act = F.gelu(pre, approximate="tanh")
  + return {"pre": act, "act": pre, "out": act @ W2 + b2}
    pre and act have changed places: pre comes before the activation, act after it.
out_bent
  + act = F.gelu(pre, approximate="tanh")
  + return {"pre": pre, "act": act, "out": F.gelu(act @ W2 + b2, approximate="tanh")}
    The output goes through an activation, too. The last stage is linear: act @ W2 + b2.
""")
