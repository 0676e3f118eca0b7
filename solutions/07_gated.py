# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown] text="title"
# # 07 · Gated FFNs
#
# `●●●●●●●○○○` step 7 of 10
#
# The FFN of LLaMA, PaLM, Gemma, Qwen and nearly every large language model of today is not the one of 2017. It has a third matrix, a **gate**: one
# half of the network decides how much of the other half gets through. The two numbers of one unit, **gate** and **up**, are multiplied.
#
# What does that look like? Start at some input and walk straight on; t says how far you are. Along such a walk both numbers are straight lines in t. The
# figure draws them, and what
# the unit makes of them. There is **no activation** in it. Run the next three cells, guess, and bend something without bending it.

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, predict, progress, quiz
from ffnlab.course import atlas
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import gated as figures
from ffnlab.course.progress_bar import bar
from ffnlab.drawing import controls, style

style.use()
torch.set_num_threads(1)  # for arrays as small as ours, one thread is fastest

# %% figure="predict-product-of-lines"
predict("product_of_lines")

# %% figure="gate"
controls.show(
    figures.gate,
    t=controls.slider("t", -3.0, 3.0, 0.5, 2.0),
    gate_slope=controls.slider("gate: slope", -2.0, 2.0, 0.5, 1.0),
    gate_height=controls.slider("gate at t = 0", -2.0, 2.0, 0.5, 1.0),
    up_slope=controls.slider("up: slope", -2.0, 2.0, 0.5, 1.0),
    up_height=controls.slider("up at t = 0", -2.0, 2.0, 0.5, -1.0),
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M7, which can wait for another day |
# | **You need** | `02_feed_forward`; GELU and SiLU from `03_activations`; how an FFN's parameters are counted (`05_parameters` helps) |
# | **Points** | {points} |
#
# You will see what a gate can do that an activation (a “bend” in this course) can't, write the five published ones as one function, find the gate that was in
# ReLU all along, let them compete, and read the table that started it all.

# %% figure="anatomy"
anatomy.block("07")

# %% [markdown] text="gate-text"
# ## 1 · Two lines and their product
#
# A hidden unit of a plain FFN reads the token x once: it computes x · w, and bends the result. A hidden unit of a **gated** FFN reads x twice. That is the second key
# that notebook 06 promised: unit j writes (key₁ · x) · (key₂ · x) · value. One key decides what gets through, the other when, and the two numbers, **up** and
# **gate**, are multiplied.
#
# On the walk of the figure, from an input p in a direction v, x = p + t·v, nothing is bent, and yet the result is not linear in t. The bend comes from
# multiplying two things that both depend on x.

# %% [markdown] text="square-text"
# ## 2 · x², exactly
#
# In notebook 03 you built x² out of kinks: n straight pieces leave an error of 1/n² on [−1, 1], and outside of the interval the network goes straight on
# while x² does not. How many gated units does it take?
#
# Without an activation a gated FFN is called **bilinear**. For all units at once:
#
# $$\mathrm{FFN}(x) = \big((x\,W_g) \odot (x\,W_u)\big)\,W_d$$
#
# | array | shape | it says |
# |---|---|---|
# | `Wg`, gate | [d_model, d_ff] | column j, a key: when unit j opens |
# | `Wu`, up | [d_model, d_ff] | column j, a key: what unit j lets through |
# | `Wd`, down | [d_ff, d_model] | row j, its value: where unit j writes it |
#
# ⊙ multiplies entry by entry: unit j's gate with unit j's up. There are no biases.
#
# One unit is enough, and all three of its weights are 1: it gives x · x, on the whole line. **Is a bilinear FFN then better at everything?** No. Whatever its weights, it computes a
# polynomial of degree 2. It can't even do |x|, for which two ReLU units are enough. Each tool is exact on its own kind of function.
#
# In more dimensions a gated unit multiplies two **different** readings: (x · w_g)(x · w_u). Let one answer “cold?” and the other “water?”. What does their
# product say, and does it matter whether “no” is written as 0 or as −1?

# %% figure="predict-cold-times-water"
predict("cold_times_water")

# %% code="readings" output="fixed"
for no in (0, -1):
    rows = [f"a·b = {a * b:2}, −a·b = {-a * b:2}" for a in (no, 1) for b in (no, 1)]
    print(f"“no” is {no:2}:   " + ";   ".join(rows))

# %% [markdown] text="readings-after"
# With readings of ±1, −a · b is 1 exactly where the two differ. That is the XOR of notebook 01, which no single ReLU unit can do, in one unit.

# %% [markdown] text="same_unit_counterexample-text"
# ### A classmate's code
#
# Do two bilinear units compute the same? The code below looks at their gates and ups. It knows that a factor can move: twice the gate and half of up is the same unit. We
# tried it on 10,000 random pairs, and on 10,000 in which the second unit was made of the first in this way. It was right each time, and it is wrong all the same.
#
# ### Exercise `same_unit_counterexample`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# Find two units about which it is wrong: four lists, the gate and the up of the one, and the gate and the up of the other. None of them holds zeros alone. Any such pair earns most of the
# points. How few numbers can x have?
#
# *Stuck? Run `hint("same_unit_counterexample")` in a cell of your own.*

# %% code="same_unit"
def same_unit(gate, up, other_gate, other_up):
    """Whether (x·gate)(x·up) is (x·other_gate)(x·other_up) for every x."""

    def times(weights, other):
        """The number that makes `other` of `weights`; 0 if none does."""
        factor = sum(a * b for a, b in zip(weights, other, strict=True)) / sum(a * a for a in weights)
        return factor if all(abs(b - factor * a) < 1e-9 for a, b in zip(weights, other, strict=True)) else 0.0

    return abs(times(gate, other_gate) * times(up, other_up) - 1) < 1e-9


print("a factor has moved:", same_unit([1, 2], [3, -1], [2, 4], [1.5, -0.5]))
print("another up:        ", same_unit([1, 2], [3, -1], [1, 2], [3, 1]))

# %% exercise="same_unit_counterexample"
same_unit_counterexample = ...  # ([gate], [up], [other gate], [other up])
### BEGIN SOLUTION
same_unit_counterexample = ([1, 2], [3, -1], [3, -1], [1, 2])  # a product does not care which factor comes first
### END SOLUTION

# %% [markdown] text="family-text"
# ## 3 · The family
#
# Products of two readings are old: the LSTM of 1997 has gates, and Mnih and Hinton (2007) multiplied without any activation. In language models the product became
# known with a sigmoid: Dauphin et al. (2016, arXiv 1612.08083) called it a **gated linear unit**, GLU. Think of a valve: sigmoid(gate) is
# a number from 0 to 1, and up flows through it. Shazeer (2020, arXiv 2002.05202) put it into the Transformer's FFN, and tried other functions in place of
# the sigmoid:
#
# $$\mathrm{FFN}(x) = \big(\mathrm{act}(x\,W_g) \odot (x\,W_u)\big)\,W_d$$
#
# | kind | act | the unit gives, for a large positive gate | for a large negative gate |
# |---|---|---|---|
# | `glu` | sigmoid | up, as it is | nearly nothing |
# | `bilinear` | none | gate · up | gate · up |
# | `reglu` | ReLU | gate · up | 0, exactly |
# | `geglu` | GELU, the erf form | nearly gate · up | nearly nothing |
# | `swiglu` | SiLU, also called Swish | nearly gate · up | nearly nothing |

# %% figure="bent-gate"
controls.show(
    figures.gate,
    activation=controls.choice("activation", figures.GATES, "ReLU"),
    t=controls.slider("t", -3.0, 3.0, 0.5, -1.5),
    gate_slope=controls.slider("gate: slope", -2.0, 2.0, 0.5, 1.0),
    gate_height=controls.slider("gate at t = 0", -2.0, 2.0, 0.5, 0.5),
    up_slope=controls.slider("up: slope", -2.0, 2.0, 0.5, 1.0),
    up_height=controls.slider("up at t = 0", -2.0, 2.0, 0.5, -1.0),
)

# %% [markdown] text="bent-gate-after"
# **Only the gate is bent.** Up stays straight, so through an open gate a gradient reaches x undamped by a bend. Does it matter which of
# the two is bent? The cell bends up in place of the gate.

# %% code="swap" output="fixed"
torch.manual_seed(0)
g, u = torch.randn(2, 1000, dtype=torch.float64)  # 1000 gates, 1000 ups
for name, act in (
    ("sigmoid", torch.sigmoid),
    ("ReLU", torch.relu),
    ("GELU", F.gelu),
    ("SiLU", F.silu),
    ("none", lambda h: h),
):
    difference = (act(g) * u - g * act(u)).abs()
    print(f"{name:8} bending up instead changes the product by {difference.mean():.2f} on average")

# %% [markdown] text="glu_variant-text"
# Only the bilinear unit does not care. For all others, always say **which branch gets the activation**. Names do not tell: what is called gate here is `w1`
# in LLaMA's code, `gate_proj` in Hugging Face's, and some libraries call the straight branch the gate.
#
# ### Exercise `glu_variant`
#
# *{points} · difficulty ●●○ · 8 minutes*
#
# Write the whole family as one function.
#
# - **Takes** `x` [..., d_model], `Wg` and `Wu` [d_model, d_ff], `Wd` [d_ff, d_model], and `kind`: `"glu"`, `"bilinear"`, `"reglu"`, `"geglu"` or `"swiglu"`.
# - **Returns** a tensor [..., d_model] in the dtype of `x`: the formula above, with the activation of the table.
# - GELU is the exact form with erf, which `F.gelu` computes by default.
# - Any other `kind`: raise `ValueError`.
# - `x` may be one token [d_model] or have any number of dimensions before the last. Gradients reach `x` and all three matrices. Change none of them in
#   place.
# - Values are compared in float64, to nine digits.
#
# Stuck? Run `hint("glu_variant")` in a cell of your own.


# %% exercise="glu_variant"
def glu_variant(x, Wg, Wu, Wd, kind):
    """A gated FFN of x [..., d_model], without biases: a tensor [..., d_model]."""
    ### BEGIN SOLUTION
    bends = {"glu": torch.sigmoid, "bilinear": nn.Identity(), "reglu": F.relu, "geglu": F.gelu, "swiglu": F.silu}
    if kind not in bends:
        raise ValueError(f"kind must be one of {', '.join(bends)}, not {kind!r}")
    hidden = bends[kind](x @ Wg) * (x @ Wu)  # [..., d_ff]
    return hidden @ Wd
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="family-figure-text"
# Now all five in one picture, drawn by **your** function: one unit, x a single number.

# %% code="plot-gates"
x = torch.linspace(-3, 3, 301)[:, None]  # 301 tokens of one number each
Wg, Wu, Wd = torch.tensor([[1.0]]), torch.tensor([[1.0]]), torch.tensor([[1.0]])
try:
    for kind in ("glu", "bilinear", "reglu", "geglu", "swiglu"):
        plt.plot(x, glu_variant(x, Wg, Wu, Wd, kind), label=kind)
    plt.title("One gated unit, five kinds of gate")
    plt.xlabel("x")
    plt.ylabel("act(gate) · up")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This cell lights up when glu_variant is written.")

# %% [markdown] text="itself-text"
# Change the sign of `Wg`, then of both `Wg` and `Wu`. Then make the gate 5 times as steep: which old acquaintance does `glu` look like now?
#
# <details><summary>What it shows</summary>
#
# With the gate turned, each curve makes half a turn about 0: x² becomes −x². With both turned, left and right change places, and *bilinear* stays as it was. Which
# acquaintance, the next lines say.
#
# </details>
#
# ### A gate on itself
#
# Does a plain FFN have no gate at all? relu(h) is h where h is positive, and 0 elsewhere. Write that as a product:
#
# $$\mathrm{relu}(h) = 1[h > 0] \cdot h$$
#
# 1[h > 0] is a switch: 1 where h is positive, else 0. (The steep sigmoid of a moment ago nearly is one: that `glu` looks like ReLU.) So **a plain ReLU unit is
# gated by itself**: the switch and what it lets through read x with the same key. Likewise
# SiLU is sigmoid(h) · h. The gated FFN only gives the gate a key of its own. What becomes of your five kinds if you take that away again?

# %% code="tied" output="fixed"
torch.manual_seed(0)
x, W, Wd = torch.randn(100, 6), torch.randn(6, 8), torch.randn(8, 6)
h = x @ W
print("relu(h) is a switch times h:", torch.equal(F.relu(h), (h > 0) * h))
for kind, name, plain in (("glu", "SiLU", F.silu(h)), ("reglu", "ReLU squared", F.relu(h) ** 2), ("bilinear", "a square", h**2)):
    try:
        same = torch.allclose(glu_variant(x, W, W, Wd, kind), plain @ Wd, atol=1e-4)
        print(f"{kind} with one key for gate and up is a plain FFN with {name}:", same)
    except NotImplementedError:
        print("for this line solve glu_variant first")

# %% [markdown] text="lights-text"
# Now hold the gates still for a moment. What is left is linear. So **for each x an FFN is one matrix, and the gates pick it** (in a plain FFN W₁ is in the
# place of W_u, and the gates are the switches 1[h > 0]):
#
# $$y = x \; W_u \; \mathrm{diag}(g(x)) \; W_d$$
#
# diag(g) has the gates on its diagonal, like a row of lights. Below, x and y have two entries and four units lie between them. Drag x. Then change the kind.

# %% figure="predict-same-matrix"
predict("same_matrix")

# %% figure="lights"
controls.show(
    figures.lights,
    kind=controls.choice("kind", figures.LIGHTS, "plain ReLU"),
    x1=controls.free("x, first entry", figures.PLACES, 1.0),
    x2=controls.free("x, second entry", figures.PLACES, 1.0),
)

# %% [markdown] text="llama-text"
# ## 4 · As LLaMA does it
#
# *deeper: the core path goes on with section 5*
#
# “Gated Feed-Forward Network (used in PaLM, LLaMA)”, says a tutorial. Which gate, and in which models? The atlas, `ffnlab`'s list of published models, knows. Look for those
# that have GELU in the gate, and for those that have no gate.

# %% code="models" output="fixed"
rows = {}
for m in atlas.MODELS + atlas.ENCODER_DECODERS:
    kind = f"gated, {m.activation}" if m.gated else f"plain, {m.activation}"
    rows.setdefault(kind, []).append(m.name[: max(m.name.rfind(" "), m.name.rfind("-"))])  # the name without its last part, mostly the size
for kind, names in sorted(rows.items()):
    families = list(dict.fromkeys(names))
    print(f"{kind}, {len(names)} models")
    for first in range(0, len(families), 8):
        print("   ", ", ".join(families[first : first + 8]))

# %% [markdown] text="models-after"
# SiLU in the gate, that is SwiGLU, has become the default: PaLM, LLaMA, Mistral, Qwen, DeepSeek. T5 v1.1 and Gemma have GELU, in its tanh form. gpt-oss has a
# SwiGLU of its own: SiLU with a factor of 1.702 inside, both branches cut off at 7, **up + 1** in place of up, and biases everywhere. In this
# list no plain one is younger than GPT-NeoX of 2022. That is no law: Nemotron-4 of 2024 (arXiv 2402.16819) is plain, with ReLU squared: a `reglu` with one key, as above.
#
# Hugging Face's code for LLaMA, Mistral, Qwen and Gemma calls the three matrices `gate_proj`, `up_proj` and `down_proj`. None of the three has a bias.

# %% [markdown] text="GatedFFN-text"
# ### Exercise `GatedFFN`
#
# *{points} · difficulty ●●○ · 8 minutes*
#
# Write the FFN of LLaMA as a module. It maps [..., d_model] to [..., d_model].
#
# - **Layers** `gate_proj` and `up_proj`, `nn.Linear` from d_model to d_ff, and `down_proj`, `nn.Linear` from d_ff to d_model; all three **without bias**,
#   under these names.
# - **Activation** on what `gate_proj` gives, and only there: `"silu"`, the default, or `"gelu"` (the erf form).
# - **Any other name** as `activation`: raise `ValueError` in `__init__`.
# - **Dropout** with probability `dropout`, 0 by default, on the product of the two branches, before `down_proj`. Off in `eval()`.
# - `d_ff` is the width as it is: do not cut it.
# - No residual connection and no norm. Values are compared in float64, to nine digits.
#
# Stuck? Run `hint("GatedFFN")` in a cell of your own.


# %% exercise="GatedFFN"
class GatedFFN(nn.Module):
    """A gated FFN without biases: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff, activation="silu", dropout=0.0):
        ### BEGIN SOLUTION
        super().__init__()
        known = {"silu": F.silu, "gelu": F.gelu}
        if activation not in known:
            raise ValueError(f"activation must be {' or '.join(known)}, not {activation!r}")
        self.bend = known[activation]
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        return
        ### END SOLUTION
        raise NotImplementedError

    def forward(self, x):
        ### BEGIN SOLUTION
        hidden = self.bend(self.gate_proj(x)) * self.up_proj(x)  # [..., d_ff]
        return self.down_proj(self.dropout(hidden))
        ### END SOLUTION
        raise NotImplementedError

# %% [markdown] text="matched-text"
# ## 5 · Two thirds of four
#
# A third matrix is not free. If a gated FFN beats a plain one, it may be because it is larger. A fair comparison needs equally many weights. Find the width: drag the edge.

# %% figure="matched"
controls.show(
    figures.matched,
    ratio=controls.steps("gated d_ff / d_model", figures.RATIOS, 4.0),
    d_model=controls.steps("d_model", figures.WIDTHS, 4096),
    multiple=controls.steps("round up to multiple of", figures.MULTIPLES, 1),
)

# %% [markdown] text="matched-after"
# LLaMA-1 and T5 v1.1 stay near 8/3. Others go further: LLaMA-3 8B has 1.3 times as much, PaLM 1.5, Gemma-1 three times. “Gated” and “equal parameters” are two decisions.
#
# 8/3 of a power of two is never a whole number. LLaMA, for instance, drops the fraction and rounds up to a multiple of 256. Processors multiply matrices in
# blocks, and several chips share a matrix in equal parts. In full:
#
# 1. 8/3 of d_model, cut to a whole number;
# 2. times a factor `mult`, cut again (1 in LLaMA-1; later models make the FFN wider);
# 3. rounded up to a multiple of `multiple_of`; a number that is one already stays.

# %% [markdown] text="swiglu_width-text"
# ### Exercise `swiglu_width`
#
# *{points} · difficulty ●●○ · 5 minutes · deeper: you can come back to it later*
#
# Compute LLaMA's width.
#
# - **Takes** `d` (d_model), an int; `multiple_of`, an int, 256 unless said otherwise; `mult`, a number, 1.0 unless said otherwise.
# - **Returns** d_ff as a Python int, by the three steps above, in this order. “Cut” is what `int(...)` does to a positive number.
#
# Some widths of published models, to try: d = 4096 gives 11008 (LLaMA 7B). With `multiple_of=1024, mult=1.3` it gives 14336 (LLaMA-3 8B).
#
# Stuck? Run `hint("swiglu_width")` in a cell of your own.


# %% exercise="swiglu_width"
def swiglu_width(d, multiple_of=256, mult=1.0):
    """LLaMA's width of a gated FFN for d_model = d, an int."""
    ### BEGIN SOLUTION
    hidden = int(mult * int(8 * d / 3))
    boxes = (hidden + multiple_of - 1) // multiple_of
    return boxes * multiple_of
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="fused-text"
# ## 6 · One product instead of two
#
# *deeper: the core path goes on with section 8*
#
# Gate and up read the same x. Two products with [d_model, d_ff] cost the same arithmetic as one with [d_model, 2·d_ff], but one large product usually keeps a
# processor busier than two small ones. So most fast implementations store a single matrix `gate_up_proj` and cut the **result** in two. In LLaMA-like code the gate is usually the first half. In which half does PyTorch's own `F.glu` want it?

# %% code="f-glu" output="fixed"
halves = torch.tensor([2.0, 0.0])
print("F.glu([2, 0]) =", F.glu(halves).item())
print("sigmoid(2) · 0 =", torch.sigmoid(halves[0]).item() * 0)
print("2 · sigmoid(0) =", 2 * torch.sigmoid(halves[1]).item())

# %% [markdown] text="fuse_gate_up-text"
# A fused matrix with its halves the wrong way round loads without complaint and computes a different function. The order is part of a model's file
# format. (gpt-oss even stores gate and up alternately, row by row.)
#
# ### Exercise `fuse_gate_up`
#
# *{points} · difficulty ●○○ · 4 minutes · deeper: you can come back to it later*
#
# Make one weight of two.
#
# - **Takes** `gate_weight` and `up_weight`, both [d_ff, d_model], as `nn.Linear` stores them: one row for each number that the layer puts out.
# - **Returns** the weight of one layer that does both, [2·d_ff, d_model], so that `F.linear(x, fused).chunk(2, dim=-1)` gives first what the gate gives,
#   then what up gives.
# - The dtype stays. Gradients reach both weights: the result is not cut off from them. Do not change them in place.
#
# Stuck? Run `hint("fuse_gate_up")` in a cell of your own.


# %% exercise="fuse_gate_up"
def fuse_gate_up(gate_weight, up_weight):
    """One weight [2·d_ff, d_model] that does what both do."""
    ### BEGIN SOLUTION
    return torch.cat([gate_weight, up_weight], dim=0)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="find_the_gate-text"
# **And the other way.** A checkpoint holds one fused matrix and `down`, and nothing says which rows are the gate. Its page has three inputs and what the layer
# made of
# them. That is enough.
#
# ### Exercise `find_the_gate`
#
# *{points} · difficulty ●●○ · 8 minutes · deeper: you can come back to it later*
#
# - **Takes** `fused` [2·d_ff, d_model] and `down` [d_model, d_ff], as `nn.Linear` stores them; `x` [3, d_model]; and `y` [3, d_model], what a SwiGLU layer without
#   biases gave for `x`, written down to about three digits.
# - There are four ways in which gate and up may lie in `fused`: gate above up, up above gate, or row by row in turn, beginning with the gate or with up.
# - **Returns** the pair `(gate, up)`, both [d_ff, d_model]: the two weights of the layer that comes nearest to `y`.
# - The three inputs do not all tell you equally much. Nothing that you are handed is changed.
#
# Stuck? Run `hint("find_the_gate")` in a cell of your own.


# %% exercise="find_the_gate"
def find_the_gate(fused, down, x, y):
    """The two weights (gate [d_ff, d_model], up [d_ff, d_model]) in `fused`, by what the layer gives for x."""
    ### BEGIN SOLUTION
    halves, in_turn = fused.chunk(2), (fused[0::2], fused[1::2])
    layouts = [halves, halves[::-1], in_turn, in_turn[::-1]]

    def error(layout):
        gate, up = layout
        return (F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down) - y).norm().item()

    return min(layouts, key=error)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="find_the_gate-after"
# Why doesn't every input help? For x = 0 every layout gives 0. For a very small x SiLU is nearly a straight line, silu(z) ≈ z/2, and of two straight factors nobody can
# say which is the gate. The bend tells them apart.

# %% [markdown] text="contest-text"
# ## 7 · A contest
#
# *deeper: the core path goes on with section 8*
#
# Nine FFNs, all with exactly **1,152 weights** and no biases: d_model = 32, d_ff = 18 for the plain ones and 12 for the gated. The task is that of
# notebook 06: 512 random vectors, each with one of 64 random answers, to be learned by heart. That is more than the plain ones learn in these 400 steps, so
# the contest is held **at
# the limit**, where differences show. Five seeds; in each seed all nine get the same facts.
#
# The `identity` is there to show what a linear map can do. (It takes 10 to 30 seconds.)

# %% figure="predict-gated-or-plain"
predict("gated_or_plain")

# %% code="train-contest"
BENDS = {"identity": lambda h: h, "ReLU": F.relu, "GELU": F.gelu, "SiLU": F.silu}
GATES = {"GLU": torch.sigmoid, "Bilinear": lambda h: h, "ReGLU": F.relu, "GEGLU": F.gelu, "SwiGLU": F.silu}


def learn(name, d_ff, seeds=5, steps=400, facts=512, d=32, answers=64):
    """Trains `seeds` FFNs side by side; d_ff is the plain width, a gated FFN gets two thirds. Returns what each knows, every 40 steps."""
    gated = name in GATES
    width, act = (2 * d_ff // 3, GATES[name]) if gated else (d_ff, BENDS[name])
    drawn = torch.Generator().manual_seed(0)
    x, U = torch.randn(seeds, facts, d, generator=drawn), torch.randn(seeds, d, answers, generator=drawn) / d**0.5
    y = torch.randint(answers, (seeds, facts), generator=drawn)
    shapes = [(d, width)] * (2 if gated else 1) + [(width, d)]
    weights = [(torch.randn(seeds, *s, generator=drawn) / s[0] ** 0.5).requires_grad_() for s in shapes]
    optimizer = torch.optim.Adam(weights, lr=0.01)
    known = []
    for step in bar(steps + 1, name):
        hidden = act(x @ weights[0])  # [seeds, facts, width]
        if gated:
            hidden = hidden * (x @ weights[1])
        scores = (x + hidden @ weights[-1]) @ U  # [seeds, facts, answers]
        if step % 40 == 0:
            known.append((scores.argmax(-1) == y).double().mean(1).tolist())
        loss = F.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="sum") / facts
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return known, sum(w[0].numel() for w in weights)


runs = {name: learn(name, 18) for name in (*BENDS, *GATES)}

# %% figure="contest"
results = figures.Contest(list(range(0, 401, 40)), {name: known for name, (known, _) in runs.items()}, tuple(GATES))
controls.show(
    figures.contest,
    results=results,
    step=controls.steps("step", results.steps, 400),
    light=controls.choice("show", runs, "SwiGLU"),
)


# %% code="contest-numbers"
def spread(shares):
    mean = sum(shares) / len(shares)
    deviation = math.sqrt(sum((share - mean) ** 2 for share in shares) / (len(shares) - 1))
    return f"{mean:4.0%} ± {deviation:.0%}"


for name, (known, weights) in runs.items():
    print(f"{name:9} {weights:,} weights: knows {spread(known[-1])}")
ends = {name: known[-1] for name, (known, _) in runs.items()}
plain = [name for name in BENDS if name != "identity"]  # which is only there for comparison
wins = sum(ends[g][s] > ends[p][s] for g in GATES for p in plain for s in range(5))
print(f"gated ahead of plain in {wins} of {len(GATES) * len(plain) * 5} comparisons")

# %% [markdown] text="contest-after"
# Move the slider back to the first steps, where the answer is not so clear.
#
# **Which of ReLU, GELU and SiLU learns faster?** Compare them after 40, 120 and 400 steps. In fifteen other sets of facts SiLU was ahead of GELU in 8 after 120 steps, and in 13 after 400. So “faster” has no answer without
# a number of steps, and all this is for one learning rate, and for learning by heart.
#
# Do not conclude too much yet. Does the order stay in a smaller network, after more steps, in a larger network?

# %% figure="predict-order-again"
predict("order_again")

# %% code="contest-again"
entrants = ("SiLU", "Bilinear", "SwiGLU")
for d_ff, steps in ((15, 400), (18, 1200), (24, 400)):
    again = {name: learn(name, d_ff, steps=steps)[0][-1] for name in entrants}
    print(
        f"d_ff {d_ff} / {2 * d_ff // 3}, {steps} steps:  "
        + ",  ".join(f"{name} {spread(shares)}" for name, shares in again.items())
    )

# %% [markdown] text="contest-again-after"
# All of this is about learning by heart. Allen-Zhu and Li (2024, arXiv 2404.05405), who measure how many facts a model can hold, report the opposite
# for short training: with 100 exposures of each fact, models with a gated FFN stored about 1.3 times **less** than those with a plain one. So: more
# per weight, on this task, at the limit. What about language?

# %% [markdown] text="table-text"
# ## 8 · Shazeer's table
#
# In 2020 Noam Shazeer trained the same Transformer (T5 base, d_model = 768) with eight FFNs of equal size: d_ff = 3072 plain, 2048 gated. The
# number is the **log-perplexity** on held-out text: the cross-entropy in nats, lower is better. He ran each once for 524,288 steps and, to see how
# much is luck, four times for 65,536; in brackets is the standard deviation of those four.
#
# | FFN | 65,536 steps | 524,288 steps |
# |---|---|---|
# | ReLU | 1.997 (0.005) | 1.677 |
# | GELU | 1.983 (0.005) | 1.679 |
# | Swish | 1.994 (0.003) | 1.683 |
# | GLU | 1.982 (0.006) | 1.663 |
# | Bilinear | 1.960 (0.005) | 1.648 |
# | GEGLU | **1.942** (0.004) | **1.633** |
# | SwiGLU | 1.944 (0.010) | 1.636 |
# | ReGLU | 1.953 (0.003) | 1.645 |
#
# **How far apart is far?** That depends on what one compares.
#
# - *One run with one run.* Both have luck. The **standard deviation** of their difference is √(s₁² + s₂²).
# - *A mean of four with a mean of four.* In a mean, luck partly cancels. A mean of n runs has the standard deviation s/√n, called its **standard error**; a
#   difference of two means of four has √(s₁²/4 + s₂²/4), half of the above.
#
# As a rule of thumb, a difference of more than two of these is beyond luck. The paper does not say whether 1.997 is the mean of the four. We read it so, as such tables are
# usually meant; the first menu offers the cautious reading too, as if each number were one run. Is Bilinear better than GELU? After 524,288 steps as well?

# %% figure="predict-beyond-luck"
predict("beyond_luck")

# %% figure="table"
controls.show(
    figures.table,
    reading=controls.choice("read as", figures.READINGS, next(iter(figures.READINGS))),
    first=controls.choice("first", figures.TABLE, "GELU"),
    second=controls.choice("second", figures.TABLE, "ReLU"),
)

# %% [markdown] text="table-after"
# **What the table shows, and what not.** After the short runs the gated are ahead of the plain; only GLU and GELU are level. But which plain activation is best *in the end*? GELU led early, and after 524,288 steps ReLU has the lowest number, by as little as runs differ by luck.
# And **no deviation is published for the last column**: each number is one run. If long runs scatter like short ones, the 0.014 to 0.050 between gated and plain
# mean something for most pairs, and the 0.002 to 0.006 among the plain nothing. Nobody has measured it.
#
# And why do gates help? Shazeer's own explanation: “We offer no explanation as to why these architectures seem to work; we attribute their success, as all else, to
# divine benevolence.”

# %% [markdown] text="spot-sulu"
# ## 9 · Spot the error
#
# *deeper: the core path goes on with the quiz*
#
# Three statements from published pages. For each: find the error, then run the cell.
#
# **A.** A tutorial's gated FFN uses SiLU if `activation == "silu"`, and GELU otherwise. What does `activation="sulu"` do?


# %% code="spot-sulu-cell" output="fixed"
def chosen(activation):
    return F.silu if activation == "silu" else F.gelu


for name in ("silu", "gelu", "sulu", "relu"):
    print(f"{name!r} gives {chosen(name).__name__}")

# %% [markdown] text="spot-expansion"
# It trains with GELU, for days, and nobody is told. `else` is not a name for GELU: list what you know, and raise for the rest.
#
# **B.** The same tutorial tests its gated FFN with d_model = 512 and d_ff = 2048, the width of its plain one, and comments: “effective expansion is different due to gating”.
# The page does not show which count its code prints. Would a comparison of the two be fair?

# %% code="spot-expansion-cell" output="fixed"
d = 512
plain = 2 * d * 2048
print(f"plain, d_ff 2048: {plain:,} weights")
for f in (2048, 1365, 1366, 1536):
    print(f"gated, d_ff {f}: {3 * d * f:,} weights, {3 * d * f / plain:.4f} of the plain FFN")

# %% [markdown] text="spot-neox"
# With 2048 the gated one is half as large again, 3,145,728 against 2,097,152. Nothing “expands differently”: there is a third matrix. The match would be
# 1365⅓, between two whole numbers; LLaMA's rule gives 1536, an eighth too many, because 512 is small beside its multiple of 256.
#
# **C.** “Used by: LLaMA, GPT-NeoX”, a list of activations says of SiLU.

# %% code="spot-neox-cell" output="fixed"
for name in ("GPT-NeoX-20B", "LLaMA-1/2 7B"):
    m = atlas.find(name)
    matrices = atlas.ffn_per_layer(m) / (m.d_model * m.d_ff)
    print(f"{name}: {m.activation}, {matrices:.2f} matrices of d_model · d_ff")

# %% [markdown] text="quiz_branch-text"
# GPT-NeoX-20B is a plain FFN with GELU: two matrices, and their biases. Its **library** offers SiLU; the model does not use it. LLaMA does use SiLU, but as
# a gate: a plain FFN with SiLU would be something else.
#
# ## 10 · Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_branch`
#
# In SwiGLU, what does the activation act on?
#
# - **A.** On up, before the two branches are multiplied.
# - **B.** On the gate, before the two branches are multiplied.
# - **C.** On the product of the two branches.

# %% quiz="quiz_branch"
quiz_branch = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_branch = "B"
### END SOLUTION

# %% [markdown] text="quiz_matched-text"
# ### Question `quiz_matched`
#
# Without biases, which width gives a gated FFN as many weights as a plain one of width 4·d_model?
#
# - **A.** 8/3·d_model
# - **B.** 4·d_model
# - **C.** 6·d_model

# %% quiz="quiz_matched"
quiz_matched = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_matched = "A"
### END SOLUTION

# %% [markdown] text="quiz_f_glu-text"
# ### Question `quiz_f_glu`
#
# *deeper: it needs section 6*
#
# `both` holds two halves of d_ff numbers for each token. What does `F.glu(both, dim=-1)` do?
#
# - **A.** sigmoid on the first half, times the second half.
# - **B.** sigmoid on both halves, then their product.
# - **C.** The first half, times the sigmoid of the second half.

# %% quiz="quiz_f_glu"
quiz_f_glu = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_f_glu = "C"
### END SOLUTION

# %% [markdown] text="quiz_table-text"
# ### Question `quiz_table`
#
# Which of these differences after 65,536 steps in Shazeer's table can't well be explained by chance?
#
# - **A.** GEGLU (1.942) is better than SwiGLU (1.944).
# - **B.** Bilinear (1.960) is better than GELU (1.983).
# - **C.** Swish (1.994) is better than ReLU (1.997).

# %% quiz="quiz_table"
quiz_table = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_table = "B"
### END SOLUTION

# %% [markdown] text="machine-text"
# ## Your own part
#
# The creek model was trained with ReLU, and has no gate. Your `glu_variant` can run it all the same. Give every token a 1 at its end. `Wu` hands this 1 to
# all neurons, so `"reglu"` multiplies each of them by 1. `Wg` holds the old W1, with b1 in its last row.

# %% figure="machine"
machine()

# %% [markdown] text="M7-text"
# ## 11 · In your own words
#
# *deeper: the core path ends with the quiz*
#
# *question M7 · {points}, graded by your instructor · 8 minutes*
#
# A colleague has read the table of section 8 and proposes two changes to your model: “Replace ReLU by GELU, it is better. And take GEGLU instead of SwiGLU, it is
# the best of all.”
#
# 1. What does the table say about ReLU, GELU and Swish after 524,288 steps, and what about the same three after 65,536? What follows for the first proposal?
# 2. Give one pair, gated against plain, that **is** outside the noise, with its numbers: the difference, and the error that you compare it with. Say whether
#    that is the deviation of a difference of single runs or the standard error of a difference of means, and what the other one would be.
# 3. What is missing from the last column, and what would you have to do to make a claim about GEGLU against SwiGLU? Your model has d_ff = 4·d_model, plain:
#    which width would you give the gated one, and why?
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M7" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) After 524,288 steps ReLU has 1.677, GELU 1.679, Swish 1.683: ReLU is the best of the three, and all lie within 0.006, about as much
# as single runs of 65,536 steps scatter (0.003 to 0.010). After 65,536 steps GELU led ReLU with 1.983 to 1.997, a difference of 0.014. If these are means of four
# runs, the standard error of their difference is √((0.005² + 0.005²) / 4) = 0.0035: four of these, more than luck. (Between single runs it would be 0.0071,
# just short of two.) So GELU was ahead early, and the lead did not last: the table gives no reason for the first change. (2)
# **Gated against plain.** For example ReLU 1.997 against GEGLU 1.942: 0.055 apart, with a standard error of √((0.005² + 0.004²) / 4) = 0.0032: 17 of these; between single
# runs the deviation is 0.0064, and they are 8.6 apart. Or GELU against Bilinear: 0.023 with 0.0035 (6.5), or with 0.0071 (3.3). (3) The last column has **no standard
# deviation**: each number is one run. GEGLU and SwiGLU are 0.003 apart there and 0.002 after the short runs, where SwiGLU alone scatters by 0.010. To claim
# anything one would have to train both several times to the end, with different seeds, and compare the difference of the means with its standard error. The
# gated one gets **8/3·d_model**, two thirds of the plain width, since it has three matrices instead of two; otherwise one compares a larger model with a smaller one.
#
# **Rubric.** One point each:
#
# - (1) at the end plain GELU and Swish are not better than ReLU, those differences are of the size of the noise, and so the proposal does not follow, although GELU led
#   after the short runs. Whether that early lead is called clear (means of four) or borderline (single runs) does not matter, as long as the answer says what
#   is compared. Half a
#   point for the numbers without the conclusion.
# - (2) gated against plain (not GLU against GELU), with a difference and an error from the first column, √(s₁² + s₂²) for single runs or half of it for means of four,
#   called by its name. Half a point for the right comparison without an error, or if the two kinds are mixed up.
# - (3) no deviation (one run each) at 524,288 steps, repeated runs with seeds, and 8/3·d_model with equal parameters as the reason. Half a point if one of the
#   three is missing; none if two are.
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## Going further
#
# - Shazeer 2020, *GLU Variants Improve Transformer* (arXiv 2002.05202): five pages, and the table.
# - Dauphin et al. 2016 (arXiv 1612.08083): the GLU gets its name.
# - Allen-Zhu and Li 2024 (arXiv 2404.05405): how much a model can know, and where gates do not help.
#
# Next: `08_experts`, where one FFN becomes many, and a router chooses.

# %% figure="progress"
progress()
