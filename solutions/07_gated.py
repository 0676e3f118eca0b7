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
# # 07 · Two wires, one product
#
# Drag the rings. The blue ones hold a straight wire called **gate**; the orange ones hold a second, called **up**. The thick curve is their product: at each x, its height is gate times up.
# Bring it into the ribbon, and keep it there however far you look. Then try the second level.
#
# A neuron of the creek model reads its token once, and an activation follows. The neuron of this board reads the same token twice, with two keys, and multiplies the two readings. So do the neurons of LLaMA,
# PaLM, Gemma, Qwen, and of most large language models since.
#
# <span class="ffn-notebook-only">To wake the board up, press <b>Shift + Enter</b> three times. Keys work, too: Tab goes to a ring, and the arrows move it.</span>

# %% setup="imports"
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course import gated_curves
from ffnlab.course.boards import product
from ffnlab.course.experiments import contest
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import gated as figures
from ffnlab.drawing import controls, style

style.use()
torch.set_num_threads(1)  # for arrays as small as ours, one thread is fastest

# %% figure="straight"
play(product.straight())

# %% figure="straight-after"
veil(
    "What can a thousand products do?",
    "when you have settled the valley",
    of="product_straight.valley",
    text="""
A product of two lines is a number times x², plus a number times x, plus a number. A sum of a thousand such products has the same form, so it is one parabola, whatever the weights.

That is why one neuron can follow x² for ever, and why no number of them can make the valley. With ReLU it is the other way round: two neurons make the valley, but after their last kink
they are straight for ever.

And in a network, where a token has many entries? Start at any token vector and move in a straight line. Along the walk each reading is a straight line, so the output is again one parabola.
""",
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M7 |
# | **You need** | `02_feed_forward`; GELU and SiLU from `03_activations`; counting parameters, as in `05_parameters` |
# | **Points** | {points} |

# %% [markdown] text="square-text"
# ## x², exactly
#
# On the board a token was one number x. Now let it be a vector, as in a Transformer. A **gated** neuron has two keys, and reads the token with both: one reading is its gate, the other its up. It multiplies them, and writes the product along its value. Without an activation, as on the board, such an FFN is called **bilinear**:
#
# $$\mathrm{FFN}(x) = \big((x\,W_g) \odot (x\,W_u)\big)\,W_d$$
#
# | array | shape | it says |
# |---|---|---|
# | `Wg`, gate | [d_model, d_ff] | column j, a key: when neuron j opens |
# | `Wu`, up | [d_model, d_ff] | column j, a key: what neuron j lets through |
# | `Wd`, down | [d_ff, d_model] | row j, its value: where neuron j writes it |
#
# ⊙ multiplies entry by entry: neuron j's gate with neuron j's up. If the token is one number and all three weights are 1, a single neuron gives x · x. These FFNs have no biases, yet the board's lines need not pass through 0. For that, give each token one more entry, which is always 1; its weight is then the offset.
#
# If a token has several entries, the two keys can ask two different questions. Let the gate answer “cold?” and up answer “water?”. What does their product say?

# %% figure="predict-cold-times-water"
predict("cold_times_water")

# %% [markdown] text="same_unit_counterexample-text"
# ### Exercise `same_unit_counterexample`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# Do two bilinear neurons compute the same thing, for every x? A classmate has written code that decides it from their keys. It knows that a factor can move: if one neuron's gate is twice the other's, and its up half of the other's, the
# products are equal. So the code looks for the factor between the gates and for the one between the ups. If both exist, and their product is 1, it says `True`.
#
# It passed 20,000 tests, half of them with a factor moved. It is wrong all the same. Which pairs did those tests never contain?
#
# - **Find** two neurons about which it gives the wrong answer.
# - **Write** them as four lists of numbers: gate and up of the first neuron, gate and up of the second. All four are equally long, because each has one number for each entry of x. None is all zeros.
# - Any such pair earns 1.5 points. The rest is for the shortest lists that do it: how few entries can x have?
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
# ## The family
#
# A bilinear neuron never falls silent: its parabola goes on for ever. A plain neuron does fall silent, by its activation. So let us have both, an activation on the gate and then the product:
#
# $$\mathrm{FFN}(x) = \big(\mathrm{act}(x\,W_g) \odot (x\,W_u)\big)\,W_d$$
#
# **Only the gate goes through the activation.** Up stays straight.
#
# ### Exercise `glu_variant`
#
# *{points} · difficulty ●○○ · 3 minutes*
#
# Write the whole family as one function. Dauphin et al. (2016, arXiv 1612.08083) took the sigmoid, a number from 0 to 1, so their gate is a valve for up. They called it a **gated linear unit**, GLU. Shazeer (2020, arXiv 2002.05202) put it into the Transformer's FFN, and tried other activations.
#
# | kind | act | the neuron gives, for a large positive gate | for a large negative gate |
# |---|---|---|---|
# | `glu` | sigmoid | nearly up | nearly nothing |
# | `bilinear` | none | gate · up | gate · up |
# | `reglu` | ReLU | gate · up | 0, exactly |
# | `geglu` | GELU, the erf form | nearly gate · up | nearly nothing |
# | `swiglu` | SiLU, also called Swish | nearly gate · up | nearly nothing |
#
# - **Takes** `x` [..., d_model], `Wg` and `Wu` [d_model, d_ff], `Wd` [d_ff, d_model], and `kind`, a name in the table. For any other name raise `ValueError`.
# - **Returns** a tensor [..., d_model] in the dtype of `x`. Change none of the arguments in place.
#
# In other code the gate has other names, `w1` in LLaMA's and `gate_proj` in Hugging Face's. You know it by its activation.


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


# %% [markdown] text="bent-text"
# On this board there are two neurons, and both gates go through an activation. The dotted line is the gate before it. Can you win the valley now, and x² for ever?

# %% figure="bent"
play(product.bent())

# %% figure="bent-after"
veil(
    "What has the activation changed?",
    "when you have settled the sigmoid",
    of="product_bent.shut",
    text="""
A gate that shuts lets each side of 0 have a neuron of its own. A sigmoid gate shuts as well, but it never opens beyond 1.

| the neuron | x² ± 1 for ever | the valley |
|---|---|---|
| plain, ReLU | never | two neurons |
| bilinear | one neuron | never |
| GLU, a sigmoid gate | never | two neurons |
| ReGLU, GEGLU, SwiGLU | two neurons | two neurons |

`silu(x)·x + silu(−x)·(−x)` is x², exactly, because σ(x) + σ(−x) = 1. A sigmoid gate alone lets through, far out, a straight line or nothing. And if up is held at 1, a ReGLU neuron is a plain ReLU neuron.
""",
)

# %% [markdown] text="gate_or_flag-text"
# ### A network, or a flag
#
# With two gated neurons you have drawn the valley and x². Which other curves can two of them draw, not nearly but exactly?
#
# ### Exercise `gate_or_flag`
#
# *{points} · difficulty ●●● · 14 minutes*
#
# The exercise's cell has six functions of x. Answer each in one of two ways.
#
# **A network** that equals the function at every x there is. Write it as `(kind, neuron)` or `(kind, neuron, neuron)`, with one of the five kinds of the table. A neuron is a list of five numbers, none beyond 1,000:
#
# `[a, b, c, d, e]` gives act(a·x + b) · (c·x + d) · e
#
# So a and b are slope and offset of its gate, c and d those of its up, and e is its down. The cell below draws two networks. Change the numbers, and look.
#
# **A flag**, if no network of one or two neurons can do it: the letter of the reason, in quotes.
#
# - **A.** Two neurons are too few. With more of them it could be done.
# - **B.** Far out on each side, such a network comes near a parabola, a straight line or a constant, however many neurons it has. The function does not.
# - **C.** Such a network never jumps, however many neurons it has. The function does.
#
# Begin with x·|x|, which shows that you can write a network. Until it is right, the other five earn nothing, since five letters can be guessed. sign(x) is −1 left of 0, 1 right of 0, and 0 at 0. The check looks at x as large as 1,000,000 and as small as 0.0001, on both sides of 0.


# %% code="network"
x = torch.linspace(-3, 3, 200, dtype=torch.float64)
plt.plot(x, gated_curves.outputs(("reglu", [1, 0, 1, 0, 1]), x), label="one neuron: max(x, 0)²")
plt.plot(x, gated_curves.outputs(("swiglu", [1, 0, 1, 0, 1], [-1, 0, -1, 0, 1]), x), label="two neurons: x²")
plt.legend()
plt.title("Which curves can one or two neurons draw?")
plt.show()

# %% exercise="gate_or_flag"
gate_or_flag = {  # for each function "A", "B", "C", or (kind, neuron), or (kind, neuron, neuron)
    "x * abs(x)": ...,
    "tanh(x)": ...,
    "sign(x)": ...,
    "max(1 - x**2, 0)": ...,
    "min(abs(x), 1)": ...,
    "x**3": ...,
}
### BEGIN SOLUTION
gate_or_flag = {
    "x * abs(x)": ("reglu", [1, 0, 1, 0, 1], [-1, 0, 1, 0, 1]),
    "tanh(x)": ("glu", [2, 0, 0, 1, 1], [-2, 0, 0, -1, 1]),
    "sign(x)": "C",
    # 1 − x² is (1 − x)(1 + x). Left of −1 the second neuron takes it away again
    "max(1 - x**2, 0)": ("reglu", [-1, 1, 1, 1, 1], [-1, -1, -1, 1, 1]),
    "min(abs(x), 1)": "A",  # three corners, and each gate makes one
    "x**3": "B",
}
### END SOLUTION

# %% [markdown] text="lights-text"
# ### A gate on itself
#
# Has a plain FFN no gate at all? relu(h) is h where h is positive, and 0 elsewhere. That is a product, too:
#
# $$\mathrm{relu}(h) = 1[h > 0] \cdot h$$
#
# 1[h > 0] is a switch: 1 where h is positive, else 0. So **a plain ReLU neuron is gated by itself**: the switch reads x with the same key as what it lets through. A gated neuron has a key for each.
#
# This gives a new view of an FFN. Take one x, and note the gates that it opens, g(x). With these numbers held fixed, all that is left are matrices. So **for each x an FFN without biases is one matrix, and the gates pick it**:
#
# $$y = x \; W_u \; \mathrm{diag}(g(x)) \; W_d$$
#
# diag(g) is a matrix with the gates on its diagonal, like a row of lights. In a plain FFN W₁ takes the place of W_u, and the gates are the switches. Below, x and y have two entries, and four neurons are between them. Guess first. Then drag x, and change the kind.

# %% figure="predict-same-matrix"
predict("same_matrix")

# %% figure="lights"
controls.show(
    figures.lights,
    kind=controls.choice("kind", figures.LIGHTS, "plain ReLU"),
    x1=controls.free("x, first entry", figures.PLACES, 1.0),
    x2=controls.free("x, second entry", figures.PLACES, 1.0),
)

# %% [markdown] text="matched-text"
# ## A fair width
#
# Is the gate worth its price? A gated FFN has three matrices, a plain one has two. At equal width the gated one has 1.5 times as many weights, and if it wins, that may be only because it is larger. So in a fair contest the gated FFN is two thirds as wide: three matrices of width 8/3·d_model
# have as many weights as two of width 4·d_model. LLaMA-1 follows this rule.
#
# ## A contest
#
# Nine FFNs compete, all with exactly **1,152 weights** and no biases. With d_model = 32 that makes 18 neurons for a plain one and 12 for a gated one. The task is that of notebook 06: learn 512 facts by heart, in 400 steps. A fact is a random vector with one of 64 random
# answers. `identity` is a plain FFN without its activation, so it shows what a linear map can do.

# %% figure="predict-gated-or-plain"
predict("gated_or_plain")

# %% code="contest"
mine = ["ReLU", "SwiGLU"]  # trained now, with facts of their own
kinds = contest.SETTINGS[contest.FAIR].kinds
for row, kind in enumerate(kinds):
    shares = contest.fresh(contest.FAIR, kind)
    plt.plot(
        shares, [row] * len(shares), "|", markersize=13, color=style.CHOSEN if kind in contest.GATED else style.LOST
    )
for kind in mine:
    plt.plot(contest.learn(kind), kinds.index(kind), "o", color="black")
plt.yticks(range(len(kinds)), kinds)
plt.gca().invert_yaxis()
plt.title("Each stroke is one of fifteen stored runs, each dot a run of yours")
plt.xlabel("share of the facts that are known (the upper four kinds are plain, the lower five gated)")
plt.show()

# %% [markdown] text="order-text"
# ### Does the order hold?
#
# *deeper: you can come back to it later*
#
# In a smaller network, after more steps, in a larger network, or at another learning rate?

# %% figure="predict-order-again"
predict("order_again")

# %% code="contest-again"
figure, axes = plt.subplots(2, 3, figsize=(10, 4.5), sharex=True, sharey=True, layout="constrained")
for axis, setting in zip(axes.flat, contest.SETTINGS, strict=True):
    for row, kind in enumerate(contest.FEW):
        shares = contest.fresh(setting, kind)
        axis.plot(
            shares, [row] * len(shares), "|", markersize=13, color=style.CHOSEN if kind in contest.GATED else style.LOST
        )
    axis.set(title="as above" if setting == contest.FAIR else setting, xlim=(0.3, 1.02), ylim=(2.5, -0.5))
axes[0, 0].set_yticks(range(len(contest.FEW)), contest.FEW)
figure.supxlabel("share of the facts that are known, fifteen runs each (SiLU is plain, the two others are gated)")
plt.show()

# %% [markdown] text="table-text"
# [Allen-Zhu and Li 2024](https://arxiv.org/abs/2404.05405), who measure how many facts a model can hold, report the opposite of our contest, for short training: with 100 exposures of each fact, models
# with a gated FFN stored **less** than those with a plain one, by a factor of about 1.3.
#
# ## Shazeer's table
#
# Our contest was about learning by heart. What about language? In 2020 Noam Shazeer trained the same Transformer (T5 base, d_model = 768) with eight FFNs of equal size: d_ff is 3072 for the plain ones and 2048 for the gated. The
# numbers are the **log-perplexity** on held-out text: the cross-entropy in nats, so lower is better. He ran each once for 524,288 steps. To see how
# much is luck, he also ran each four times for 65,536 steps; in brackets is the standard deviation of those four.
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
# **How far apart is far?** If single runs scatter with a standard deviation s, the mean of n runs scatters by s/√n, its **standard error**. The difference of two means of four has the standard error √(s₁²/4 + s₂²/4); that of two single runs is twice as large.
# Now let two kinds be *equally good*. How often are they further apart than so many standard errors, by luck alone?
#
# | standard errors apart | one pair, chosen before the runs | the largest lead among all 28 pairs of eight |
# |---|---|---|
# | more than 2 | 9 in 100 | 71 in 100 |
# | more than 4 | fewer than 1 | 13 in 100 |
# | more than 6.5 | fewer than 1 | 2 in 100 |
#
# In large samples the 9 would be a 5. Four runs tell the scatter itself only roughly. The paper does not say that the first column is the mean of those four runs; we read it so.

# %% figure="predict-beyond-luck"
predict("beyond_luck")

# %% figure="table"
controls.show(
    figures.table,
    reading=controls.choice("read as", figures.READINGS, next(iter(figures.READINGS))),
    first=controls.choice("first", figures.TABLE, "ReGLU"),
    second=controls.choice("second", figures.TABLE, "Swish"),
)

# %% [markdown] text="quiz_lights-text"
# **What the table shows, and what it does not.** Which plain activation is best *in the end*? GELU led early, and after 524,288 steps ReLU has the lowest number.
# But **no deviation is published for the last column**: each number is one run. If long runs scatter like short ones, the 0.014 to 0.050 between gated and plain
# mean something for most pairs; the 0.002 to 0.006 among the plain ones mean nothing.
#
# And why do gates help? Shazeer's own explanation: “We offer no explanation as to why these architectures seem to work; we attribute their success, as all else, to
# divine benevolence.”
#
# ## Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_lights`
#
# A plain ReLU FFN without biases gives (1, 2) for a token a, and (3, −1) for a token b. Both have the same lights on. What does it give for a + b?
#
# - **A.** (4, 1)
# - **B.** That can't be told, because a + b may have other lights on.
# - **C.** (2, 0.5), because a and b share one matrix.

# %% quiz="quiz_lights"
quiz_lights = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_lights = "A"
### END SOLUTION

# %% [markdown] text="quiz_rival-text"
# ### Question `quiz_rival`
#
# A new model has gated FFNs of width 3·d_model, without biases. How wide is a fair plain rival?
#
# - **A.** 2·d_model
# - **B.** 3·d_model
# - **C.** 4.5·d_model

# %% quiz="quiz_rival"
quiz_rival = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_rival = "C"
### END SOLUTION

# %% [markdown] text="quiz_best_pair-text"
# ### Question `quiz_best_pair`
#
# You train eight new kinds of FFN, each four times. Among the 28 pairs, the largest lead is 3.5 standard errors. What do you write?
#
# - **A.** Luck makes such a lead in fewer than 1 of 20 cases, so the one kind is better.
# - **B.** The lead is luck, and the two kinds are equally good.
# - **C.** With eight equal kinds, luck makes such a largest lead in more than 1 of 10 contests. This pair has to run again.

# %% quiz="quiz_best_pair"
quiz_best_pair = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_best_pair = "C"
### END SOLUTION

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | A gated neuron reads its token twice and multiplies. Even without an activation that is a parabola along every straight walk: x² for ever, and never the valley. | the first board, `same_unit_counterexample` |
# | With an activation on the gate, and only there, a neuron can shut. So two of them can make a different parabola on each side. They never jump, and never grow like x³. | the second board, `glu_variant`, `gate_or_flag` |
# | For each x a ReLU FFN, or a gated one, is one matrix, and its gates pick it. | the guess about 2x, `quiz_lights` |
# | A gate costs a third matrix, so a fair rival is two thirds as wide. | the contest, `quiz_rival` |
# | A lead means something only against the scatter of repeated runs, and against the number of pairs that you looked at. | the guess about the table, `quiz_best_pair` |
#
# **Your own part.** The creek model has no gate, but your `glu_variant` can run it. Every token gets a 1 at its end, and `Wu` hands it to all neurons, so `"reglu"` multiplies each by 1.
#
# Next: `08_experts`, where one FFN becomes many, and a router chooses.

# %% figure="progress"
machine()
progress()
anatomy.block("07")

# %% [markdown] text="tied-text"
# ## One key for both
#
# *deeper: the core path ends above*
#
# What does a gated neuron become if its gate and its up have the same key? Each kind becomes a plain activation. Guess which, then run the cell.

# %% code="tied" output="fixed"
# What becomes of the kinds if gate and up have one key?
torch.manual_seed(0)
x, W, Wd = torch.randn(100, 6), torch.randn(6, 8), torch.randn(8, 6)
h = x @ W
print("relu(h) is a switch times h:", torch.equal(F.relu(h), (h > 0) * h))
for kind, name, plain in (
    ("glu", "SiLU", F.silu(h)),
    ("reglu", "ReLU squared", F.relu(h) ** 2),
    ("bilinear", "a square", h**2),
):
    try:
        same = torch.allclose(glu_variant(x, W, W, Wd, kind), plain @ Wd, atol=1e-4)
        print(f"{kind} with one key for gate and up is a plain FFN with {name}:", same)
    except NotImplementedError:
        print("for this line solve glu_variant first")

# %% [markdown] text="GatedFFN-text"
# ## As LLaMA does it
#
# *deeper: the core path ends above*
#
# SiLU in the gate, that is SwiGLU, has become the default: PaLM, LLaMA, Mistral, Qwen, DeepSeek. T5 v1.1 and Gemma have GELU, in its tanh form. GPT-NeoX-20B is plain, with GELU, and so is Nemotron-4 of 2024,
# with ReLU squared. Code that takes GELU for whatever is not `"silu"` trains with GELU for days after a typo such as `"sulu"`, and nobody is told.
#
# ### Exercise `GatedFFN`
#
# *{points} · difficulty ●●○ · 8 minutes · deeper*
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


# %% [markdown] text="swiglu_width-text"
# ### Exercise `swiglu_width`
#
# *{points} · difficulty ●●○ · 5 minutes · deeper: you can come back to it later*
#
# LLaMA-1 is 8/3·d_model wide, made a round number. Others are wider: LLaMA-3 8B by a factor of 1.3, PaLM 1.5, Gemma-1 three. Compute LLaMA's width, in three steps:
#
# 1. 8/3 of d_model, cut to a whole number;
# 2. times a factor `mult`, cut again;
# 3. rounded up to a multiple of `multiple_of`; a number that is one already stays.
#
# - **Takes** `d` (d_model), an int; `multiple_of`, an int, 256 unless said otherwise; `mult`, a number, 1.0 unless said otherwise.
# - **Returns** d_ff as a Python int, by the three steps, in this order. “Cut” is what `int(...)` does to a positive number.
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


# %% [markdown] text="fuse_gate_up-text"
# ## One product instead of two
#
# *deeper: the core path ends above*
#
# Gate and up read the same x. Two products with [d_model, d_ff] cost the same arithmetic as one with [d_model, 2·d_ff], but one large product usually keeps a
# processor busier than two small ones. So most fast implementations store a single matrix `gate_up_proj` and cut the **result** in two. In LLaMA-like code the gate is usually the first half. PyTorch's own `F.glu` wants it in the second: it gives first half · sigmoid(second half).
#
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


# %% [markdown] text="M7-text"
# Why doesn't every input help? For x = 0 every layout gives 0. For a very small x SiLU is nearly a straight line, silu(z) ≈ z/2, and of two straight factors nobody can
# say which is the gate. The activation tells them apart.
#
# ## In your own words
#
# *deeper: the core path ends above*
#
# *question M7 · {points}, graded by your instructor · 8 minutes*
#
# A colleague has read Shazeer's table and proposes two changes to your model: “Replace ReLU by GELU, it is better. And take GEGLU instead of SwiGLU, it is
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
# runs, the standard error of their difference is √((0.005² + 0.005²) / 4) = 0.0035: four of these, which luck makes in fewer than one of a hundred pairs. (Between single runs it would be 0.0071,
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
