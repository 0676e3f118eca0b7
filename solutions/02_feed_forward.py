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
# # 02 · The FFN, from formula to module
#
# `●●○○○○○○○○` step 2 of 10
#
# *The creek was cold and the spunky dog wanted to jump over **it**.*
#
# `it` is the creek. Suppose attention has already told `it` two things: how **cold** the thing is, and how much it is **water**. The network below turns
# these two numbers into two others: is the thing **unpleasant**, is it **inviting**? It has three boxes in the middle, and you can read every number in it.
# Run the next three cells (Shift + Enter), make a guess, and play.

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz
from ffnlab.course.boards import creek
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import feed_forward as figures
from ffnlab.drawing import controls, style

style.use()

# %% figure="predict-nothing-in"
predict("nothing_in")

# %% figure="by-hand"
controls.show(
    figures.by_hand,
    x1=controls.slider("cold", 0.0, 2.0, 0.5, 1.0),
    x2=controls.slider("water", 0.0, 2.0, 0.5, 1.0),
    flipped=controls.free("a weight turned around", figures.TURNED, figures.UNCHANGED),
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M2, which can wait for another day |
# | **You need** | matrix products, `nn.Module` seen once, and `00_start_here` |
# | **Points** | {points} |
#
# After attention has mixed the tokens of a sentence, a small network works on each token alone: the **feed-forward network**, FFN. It is two matrices
# with a non-linearity between them, a *bend*.

# %% figure="anatomy"
anatomy.block("02")

# %% [markdown] text="by-hand-text"
# ## 1 · One token by hand
#
# Each box in the middle of the figure is a **hidden neuron**. It adds up the inputs, each times a weight, and a number of its own, its **bias**. Then
# comes the bend, the **activation**. Here it is **ReLU**: keep what is positive, turn the rest into 0. A neuron that gets 0 stays silent. Each neuron
# that fires adds its own numbers to the outputs, more when it fires more strongly. The output bias is added either way: it belongs to no neuron.
#
# The top neuron fires when cold and water together exceed 1. As long as each is 0 or 1, that means: cold **and** water. (Can you make it fire without
# any water?) The cell asks the network about four things that `it` could be.

# %% code="four-things" output="fixed"
things = {"cold creek": (1, 1), "warm spring": (0, 1), "cold stone": (1, 0), "warm stone": (0, 0)}
for thing, (cold, water) in things.items():
    print(f"{thing:12} cold {cold}, water {water}   {figures.by_hand(cold, water).title}")

# %% [markdown] text="fold-text"
# **Everything at once.** Those were four points of a plane. What does the network say in between? Each neuron has a **hinge**: the line on which it begins
# to fire. Along it, the network's answer is folded.

# %% figure="predict-flat-pieces"
predict("flat_pieces")

# %% figure="fold"
controls.show(
    figures.folded,
    x1=controls.free("cold", figures.QUARTERS, 1.0),
    x2=controls.free("water", figures.QUARTERS, 1.0),
    output=controls.choice("sheet", [(name, k) for k, name in enumerate(figures.OUTPUTS)], 0),
    bent=controls.toggle("ReLU", True),
)

# %% [markdown] text="by-hand-formula"
# Drag the point over a hinge: which numbers begin to move there, and which stop? Then switch ReLU off.
#
# **Could one matrix and one bias do that?** No: they make one flat piece. On it, whatever the weights, f(1, 1) + f(0, 0) equals f(1, 0) + f(0, 1). For
# “unpleasant” the first sum is 1 − 1 = 0, and the second is −2 − 2 = −4. The bend does it.
#
# In one line, for all neurons at once:
#
# $$\mathrm{FFN}(x) = \mathrm{act}(x\,W_1 + b_1)\,W_2 + b_2$$
#
# | array | shape | above | it says |
# |---|---|---|---|
# | `W1` | [d_model, d_ff] | [2, 3] | column j: what neuron j looks for |
# | `b1` | [d_ff] | [3] | how easily neuron j fires |
# | `W2` | [d_ff, d_model] | [3, 2] | row j: what neuron j writes when it fires |
# | `b2` | [d_model] | [2] | what is added for every token |
#
# `d_model` is the length of a token's vector, `d_ff` the number of hidden neurons. The whole course writes `x @ W`, the vector on the left.

# %% [markdown] text="ffn_forward-text"
# ### Exercise `ffn_forward`
#
# *{points} · difficulty ●○○ · 3 minutes*
#
# Write the formula as a function.
#
# - **Takes** `x` [..., d_model], `W1` [d_model, d_ff], `b1` [d_ff], `W2` [d_ff, d_model], `b2` [d_model], and `act`, a function that is applied to each
#   number, such as `torch.relu`. Use the one you are given.
# - **Returns** a tensor [..., d_model], in the dtype of `x`.
# - `x` may be one token [d_model], a sentence [T, d_model], or have any number of dimensions before the last.
# - Gradients reach `x` and all four arrays. Do not change any of them in place.
# - In this notebook values are compared in float64, to nine digits. Wherever you need a constant, write it as a Python float, not as a float32 tensor.
# - Shapes that do not fit: nothing to do, torch raises its own error.
#
# Stuck? Run `hint("ffn_forward")` in a cell of your own.


# %% exercise="ffn_forward"
def ffn_forward(x, W1, b1, W2, b2, act):
    """The FFN of x [..., d_model]: a tensor [..., d_model]."""
    ### BEGIN SOLUTION
    return act(x @ W1 + b1) @ W2 + b2
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="trace-text"
# ### Trace one token
#
# On its way a token passes three stages. Each is a vector with a name of its own:
#
# | name | what it is | shape |
# |---|---|---|
# | `pre` | what the neurons add up, before the activation | [d_ff] |
# | `act` | what is left of it after the activation | [d_ff] |
# | `out` | what the neurons write, one row of `W2` each, on top of `b2` | [d_model] |
#
# Here is our sentence, sent through an FFN with random weights. A bar to the right is positive, to the left negative, and a ring is exactly 0. Behind `act`
# you see `pre`, in grey. Tick “permute tokens”: the words change places, and your token's three stages stay as they are. An FFN treats each token alone.
#
# **GELU** is a smooth cousin of ReLU; notebook 03 has more on it. It shrinks what is negative, and leaves no exact zeros here.

# %% figure="trace"
controls.show(
    figures.trace,
    position=controls.steps("token", [(f"{i} {word}", i) for i, word in enumerate(figures.TOKENS)], 12),
    ratio=controls.steps("d_ff / d_model", figures.RATIOS, 4.0),
    activation=controls.choice("activation", figures.ACTIVATIONS, "ReLU"),
    permute=controls.toggle("permute tokens"),
)

# %% [markdown] text="ffn_trace-text"
# ### Exercise `ffn_trace`
#
# *{points} · difficulty ●○○ · 4 minutes*
#
# Return all three stages, as the figure needs them.
#
# - **Takes** `x` [..., d_model] and the arrays `W1`, `b1`, `W2`, `b2`, with the shapes as before.
# - **Returns** a dict with exactly the keys `"pre"` [..., d_ff], `"act"` [..., d_ff], `"out"` [..., d_model].
# - The activation is GELU in its **tanh form**, the one GPT-2 uses: `F.gelu(…, approximate="tanh")`. Without that argument torch computes another,
#   slightly different GELU (notebook 03 compares the two).
# - `pre` is what came **before** the activation. Do not change it in place, nor `x`, nor the arrays. Gradients flow through all three stages.
#
# Stuck? Run `hint("ffn_trace")` in a cell of your own.


# %% exercise="ffn_trace"
def ffn_trace(x, W1, b1, W2, b2):
    """The three stages of the FFN: {"pre": [..., d_ff], "act": [..., d_ff], "out": [..., d_model]}."""
    ### BEGIN SOLUTION
    pre = x @ W1 + b1
    act = F.gelu(pre, approximate="tanh")
    out = act @ W2 + b2
    return {"pre": pre, "act": act, "out": out}
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="backward-text"
# ### And back again
#
# *deeper: the core path goes on with section 2*
#
# Training walks through the same three stages in
# the other order. It starts at the end with `dy`: how fast the loss grows with each number
# of the output. Three rules bring it back to everything that the output was made of.
#
# - **A weight** `W[i, k]` carries the number `h[i]` into `y[k]`. Its gradient is h[i] · dy[k] for one token. One weight serves all tokens, so what they say
#   **adds up**. A bias is the weight of an input that is always 1.
# - **A number** `h[i]` goes out along all of its weights, and hears back along all of them: Σₖ W[i, k] · dy[k].
# - **The bend** multiplies by its slope. For ReLU that is 1 where the neuron fired, and 0 where it was silent: whoever was silent hears nothing.
#
# PyTorch does this for you whenever you call `loss.backward()`. Do it by hand once, and you will know what it does.

# %% [markdown] text="ffn_backward-text"
# ### Exercise `ffn_backward`
#
# *{points} · difficulty ●●● · 12 minutes · deeper: you can come back to it later*
#
# Write the way back through an FFN with **ReLU**, y = relu(x·W1 + b1)·W2 + b2.
#
# - **Takes** `x` [..., d_model], the four arrays as before, and `dy` [..., d_model], the gradient of the loss with respect to y.
# - **Returns** a dict with the gradients of the loss with respect to everything on the way, each in the shape of what it belongs to: `"dW2"`, `"db2"`;
#   `"dpre"` [..., d_ff], for what the neurons added up, **before** the bend; `"dW1"`, `"db1"`; `"dx"`.
# - The gradients of the four arrays are **sums** over all tokens, in whatever dimensions these come; nothing is averaged.
# - Where a neuron adds up to exactly 0, the slope of ReLU counts as 0, as in torch.
# - By hand: `backward()` and the rest of autograd are switched off while your function is checked. Don't change in place anything you were handed.
# - Each pair of keys earns points of its own, so you can begin at the output and check as you go.
#
# Stuck? Run `hint("ffn_backward")` in a cell of your own.


# %% exercise="ffn_backward"
def ffn_backward(x, W1, b1, W2, b2, dy):
    """The gradients {"dW2", "db2", "dpre", "dW1", "db1", "dx"} of an FFN with ReLU, from dy [..., d_model]."""
    ### BEGIN SOLUTION
    pre = x @ W1 + b1  # [..., d_ff]
    dpre = (dy @ W2.T) * (pre > 0)  # [..., d_ff]
    X, hidden, back, out = (each.reshape(-1, each.shape[-1]) for each in (x, torch.relu(pre), dpre, dy))
    return {
        "dW2": hidden.T @ out,
        "db2": out.sum(0),
        "dpre": dpre,
        "dW1": X.T @ back,
        "db1": back.sum(0),
        "dx": dpre @ W1.T,
    }
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="backward-after"
# **Train with it.** The next cell has no `backward()`, no optimiser and no module: four arrays, your function, and a step downhill; `dy` is the gradient of
# the mean squared error, summed over both outputs, which are asked for the same. It learns the answer to
# “exactly one of the two?”, which no single matrix can give (notebook 01).

# %% code="backward-train"
g = torch.Generator().manual_seed(0)
x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
target = torch.tensor([[0.0], [1.0], [1.0], [0.0]]).expand(4, 2)
W1, b1 = torch.randn(2, 16, generator=g), torch.zeros(16)
W2, b2 = torch.randn(16, 2, generator=g) / 4, torch.zeros(2)
print("x            ", *(f"{a:.0f}, {b:.0f} " for a, b in x.tolist()))
try:
    for step in range(121):
        y = torch.relu(x @ W1 + b1) @ W2 + b2
        if step % 30 == 0:
            print(f"y, step {step:3} ", *(f"{number:z5.2f}" for number in y[:, 0].tolist()))
        found = ffn_backward(x, W1, b1, W2, b2, 2 * (y - target) / len(x))
        for array, gradient in ((W1, "dW1"), (b1, "db1"), (W2, "dW2"), (b2, "db2")):
            array -= 0.1 * found[gradient]
except (NotImplementedError, KeyError):
    print("lights up when ffn_backward gives the gradients of all four arrays")

# %% [markdown] text="wider-text"
# ## 2 · Wider, then narrow again
#
# Real FFNs have more hidden neurons than inputs, often four times as many. Below, four tokens with 8 numbers each pass through 32 hidden neurons. The
# weights are random; nothing is learned yet. Press a row to frame another token.

# %% figure="predict-relu-zeros"
predict("relu_zeros")

# %% figure="wider"
controls.show(
    figures.expand_contract,
    token=controls.choice("token", [(word, i) for i, word in enumerate(figures.TOKENS[:4])], 1),
    activation=controls.choice("activation", ["ReLU", "GELU"], "ReLU"),
    activated=controls.toggle("show numbers after activation", True),
)

# %% [markdown] text="wider-after"
# The figure shows three steps, for each row alone.
#
# 1. **Expand**, 8 → 32. To sort a messy desk, you first spread everything on a larger table. Every hidden neuron gets to look for something of its own.
# 2. **Activate.** ReLU turns what is below zero into 0.
# 3. **Compress**, 32 → 8. What the neurons found is written back into 8 numbers, as a summary. The length has to be that of `x`, because a Transformer adds the two:
#    `x + FFN(x)`, the **residual connection**.
#
# The same in real sizes, for 4 sentences of 10 tokens:

# %% code="shape-trace" output="fixed"
torch.manual_seed(0)
h = torch.randn(4, 10, 512)
print(f"{'x':14}", list(h.shape))
for layer in (nn.Linear(512, 2048), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2048, 512)):
    h = layer(h)
    print(f"{type(layer).__name__:14}", list(h.shape))

# %% [markdown] text="words-text"
# ### Real words, real neurons
#
# What do trained neurons look for? Here are the 64 hidden neurons of the small Transformer of notebook 00, as lamps at the word *jump*. Press
# one to silence it. Its bars show how much each word of the sentence raises it, and ReLU gets their sum. It also learned to
# speak with its FFN switched off, so the FFN is left with what nothing else can do. And each activation cost a little, so a neuron stays silent unless it is needed.
#
# Names come from counting. A neuron is called “cold water” if at least 90 % of the scenes for which it fires have cold water, and if it fires for at least 90 % of those
# that do, when the model is about to say *over or into*, or *glad or sorry*.

# %% figure="predict-creek-gets-warm"
predict("creek_gets_warm")

# %% figure="words"
play(creek.lamps())

# %% [markdown] text="words-after"
# You saw a small set of rules, learned from sentences alone. Each lamp is one neuron. It looks for a **combination**, with its column of `W1` and a threshold in
# `b1`. When it finds it, it pushes one word, with its row of `W2`. Nobody wrote these rules down.
#
# They stay silent until the moment the word is due.

# %% [markdown] text="words-seeds"
# How much of this is luck? Four models were trained from five seeds each on the same 2,304 scenes:
# with attention that may only average, as in the one above, or with attention that learns; with an FFN, or without. The shares are those of
# right words in the 1,792 scenes that were held out. The last column, *wet or dry*, needs a combination of **three** attributes.

# %% code="words-runs" output="fixed"
from ffnlab.course.experiments import world as world_experiment

runs = world_experiment.stored()["runs"]
print(f"{'':20} {'over or into':27} {'glad or sorry':27} wet or dry")
for model_name in ("average, FFN", "average, no FFN", "attention, FFN", "attention, no FFN"):
    two, three = runs[model_name], runs[f"{model_name}, three"]
    columns = [[run["on"][word] for run in found] for found, word in ((two, "way"), (two, "feeling"), (three, "homecoming"))]
    print(f"{model_name:20}", *(f"{' '.join(f'{share:4.0%}' for share in column):27}" for column in columns))

# %% [markdown] text="words-runs-after"
# Where attention **only averages**, the FFN decides. With it all five learn every combination, and fourteen of fifteen others learn the first two. Without it these models stay near 50 %, a coin toss: their scores are one
# matrix and one bias away from the words, and for these f(1, 1) + f(0, 0) equals f(1, 0) + f(0, 1), as section 1 showed. **Learned** attention finds some combinations by
# itself, since its scores multiply: of sixteen others without an FFN, 8 learned *over or into* and 13 *glad or sorry*.
#
# The figure shows the tidiest of the five, with 11 named neurons; the others have 4 to 8. Its neurons are silent because silence was rewarded, as notebook 03 shows.

# %% [markdown] text="module-text"
# ## 3 · From formula to module
#
# A function needs its arrays handed in each time. A module owns them. It has two linear layers, an activation between them, dropout on the hidden layer, and an output of the shape of its input.
# Users will thank you if it also takes an activation by name **or** as a function, like `F.relu`, if it refuses a bad argument when it is
# made, not an hour later, and if it says its sizes when it is printed.
#
# **The transpose, once and for all.** `nn.Linear(d_model, d_ff)` holds its weight as [d_ff, d_model]: the transpose of our `W1`. The result is the same.

# %% code="linear-transpose"
torch.manual_seed(0)
linear1 = nn.Linear(6, 10)
x = torch.randn(5, 6)
W1, b1 = linear1.weight.T, linear1.bias
print("linear1.weight", list(linear1.weight.shape), "   W1", list(W1.shape))
print(f"largest difference between linear1(x) and x @ W1 + b1: {(linear1(x) - (x @ W1 + b1)).abs().max():.6f}")

# %% [markdown] text="dropout-text"
# **Dropout** sets each number to 0 with probability p, so that the network can't rely on any single neuron. It does so
# only during training. What survives is multiplied by 1 / (1 − p), so that the mean stays the same.
#
# `nn.Dropout` is a module, so `eval()` reaches it. `F.dropout` is a function, and goes on dropping unless you pass it `training=self.training`.

# %% [markdown] text="PositionwiseFeedForward-text"
# ### Exercise `PositionwiseFeedForward`
#
# *{points} · difficulty ●●○ · 12 minutes*
#
# Write the FFN as a module. It maps [..., d_model] to [..., d_model].
#
# - **Layers** `linear1 = nn.Linear(d_model, d_ff)` and `linear2 = nn.Linear(d_ff, d_model)`, both with bias, under these names.
# - **Activation** between them: `"relu"`, `"gelu"` (the default form of `F.gelu`), `"silu"` (`F.silu`), or any function of a tensor.
# - **Anything else** as `activation`, such as `"sulu"`, `3` or `None`: raise `ValueError` in `__init__`.
# - **Dropout** with probability `dropout` on the hidden layer, **after** the activation and before `linear2`, each number by a chance of its
#   own, with the survivors scaled up as above. Off in `eval()`, where nothing is scaled either.
# - **`extra_repr()`** returns a text with both sizes, as in `d_model=6, d_ff=10`, of at most 120 characters. `print` shows it.
# - No residual connection and no norm: these belong to the block around the FFN (notebook 04).
#
# Stuck? Run `hint("PositionwiseFeedForward")` in a cell of your own.


# %% exercise="PositionwiseFeedForward"
class PositionwiseFeedForward(nn.Module):
    """The FFN as a module: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        ### BEGIN SOLUTION
        super().__init__()
        named = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        act = named.get(activation) if isinstance(activation, str) else activation
        if not callable(act):
            raise ValueError(f"activation must be {', '.join(named)} or a function, not {activation!r}")
        self.d_model, self.d_ff = d_model, d_ff
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = act
        return
        ### END SOLUTION
        raise NotImplementedError

    def forward(self, x):
        ### BEGIN SOLUTION
        hidden = self.dropout(self.activation(self.linear1(x)))  # [..., d_ff]
        return self.linear2(hidden)
        ### END SOLUTION
        raise NotImplementedError

    def extra_repr(self):
        ### BEGIN SOLUTION
        return f"d_model={self.d_model}, d_ff={self.d_ff}"
        ### END SOLUTION
        raise NotImplementedError

# %% [markdown] text="PositionwiseFeedForward-after"
# Try it in a cell of your own. With `ffn = PositionwiseFeedForward(512, 2048, activation="gelu")`, `ffn(torch.randn(2, 10, 512))` has shape [2, 10, 512], and
# `sum(p.numel() for p in ffn.parameters())` is 2,099,712. A published page prints 4,197,376 for it, and notebook 05 finds out why. Then try `activation="gleu"`.

# %% [markdown] text="flatten-text"
# ## 4 · Take the bend away
#
# The figure walks in a straight line through the space of inputs, from the vector of `creek` to that of `cold` and beyond, and draws one number of the
# output. The slider mixes the activation: at 1 it is ReLU, at 0 it is the identity, which does nothing.

# %% figure="predict-tenth-of-relu"
predict("tenth_of_relu")

# %% figure="flatten"
controls.show(figures.bend, alpha=controls.slider("share of ReLU", 0.0, 1.0, 0.1, 1.0))

# %% [markdown] text="flatten-after"
# Without a bend, the two matrices do what one matrix could do. Which one? Multiply out the brackets of $(x\,W_1 + b_1)\,W_2 + b_2$.

# %% [markdown] text="collapse_linear-text"
# ### Exercise `collapse_linear`
#
# *{points} · difficulty ●●○ · 4 minutes*
#
# Find the one matrix and the one bias that do the same as an FFN without activation.
#
# - **Takes** `W1` [d_model, d_ff], `b1` [d_ff], `W2` [d_ff, d_model], `b2` [d_model], as in `ffn_forward`.
# - **Returns** the pair `(W, b)`, `W` [d_model, d_model] and `b` [d_model], so that `x @ W + b` equals `(x @ W1 + b1) @ W2 + b2` for every `x`.
# - The dtype stays. Gradients reach all four arrays. Do not change these in place.
#
# Stuck? Run `hint("collapse_linear")` in a cell of your own.


# %% exercise="collapse_linear"
def collapse_linear(W1, b1, W2, b2):
    """One affine map for two: (W [d_model, d_model], b [d_model])."""
    ### BEGIN SOLUTION
    return W1 @ W2, b1 @ W2 + b2
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="rank-text"
# Without a bend, width does not help. How many directions of the output can it reach at all? That is the **rank** of its matrix. The cell feeds
# it 1000 random inputs and counts the independent directions in what comes out. The rank is the smaller of d_model and d_ff.

# %% code="rank" output="fixed"
for d_ff in (2, 4, 6, 24):
    torch.manual_seed(0)
    straight = nn.Sequential(nn.Linear(6, d_ff), nn.Linear(d_ff, 6)).double()
    x = torch.randn(1000, 6, dtype=torch.float64)
    changes = straight(x) - straight(x[:1])  # the bias cancels
    print(f"d_ff {d_ff:2}: {torch.linalg.matrix_rank(changes).item()} independent directions in the output")

# %% [markdown] text="merged_counterexample-text"
# ### A classmate's code
#
# Two neurons with one hinge look like one too many. The code below makes one of them: where the second has the same weights and bias as the first, `times` as
# large, it lets the first one write more. We tried it on 10,000 random networks, and on 10,000 in which neurons shared a hinge on purpose. The smaller network
# said the same each time. The code is wrong all the same.
#
# ### Exercise `merged_counterexample`
#
# *{points} · difficulty ●●● · 5 minutes*
#
# Find neurons for which the smaller network says something else about one of the four things of section 1. A neuron is four numbers: its weights for cold and
# for water, its bias, and what it writes. Any such network earns most of the points. How few neurons can you do it with?
#
# *Stuck? Run `hint("merged_counterexample")` in a cell of your own.*

# %% code="merged"
def merged(neurons):
    """As few neurons (cold, water, bias, writes) as say the same: those with one hinge become one."""
    groups = []
    for cold, water, bias, writes in neurons:
        for group in groups:
            times = (cold * group[0] + water * group[1] + bias * group[2]) / (group[0] ** 2 + group[1] ** 2 + group[2] ** 2)
            if max(abs(cold - times * group[0]), abs(water - times * group[1]), abs(bias - times * group[2])) < 1e-9:
                group[3] += times * writes  # the same neuron, `times` as strong
                break
        else:
            groups.append([cold, water, bias, writes])
    return groups


def say(neurons):
    """What neurons say about the four things: what those that fire write, times their strength."""
    return [sum(v * max(0, w * cold + u * water + b) for w, u, b, v in neurons) for cold, water in things.values()]


network = [(1, 1, -1, 3), (2, 2, -2, 1), (1, -1, 0, -2)]
print(len(network), "neurons say", say(network))
print(len(merged(network)), "neurons say", say(merged(network)))

# %% exercise="merged_counterexample"
merged_counterexample = ...  # [(cold, water, bias, writes), …]
### BEGIN SOLUTION
merged_counterexample = [(1, 1, -1, 2), (-1, -1, 1, 2)]  # relu(−h) is not −relu(h)
### END SOLUTION

# %% [markdown] text="where-text"
# ## 5 · Where dropout goes
#
# *deeper: the core path goes on with section 8*
#
# You put dropout on the hidden layer. Others put it on the output. Does it matter? The cell sets `W2` to zeros and `b2` to ones, and puts dropout with p = 0.5
# at each place, at both, and nowhere.

# %% code="where"
torch.manual_seed(0)
linear1, linear2, dropout = nn.Linear(6, 24), nn.Linear(24, 6), nn.Dropout(0.5)
nn.init.zeros_(linear2.weight)
nn.init.ones_(linear2.bias)
hidden = torch.relu(linear1(torch.randn(6)))
print("nowhere:            ", linear2(hidden).tolist())
print("on the hidden layer:", linear2(dropout(hidden)).tolist())
print("on the output:      ", dropout(linear2(hidden)).tolist())
print("on both:            ", dropout(linear2(dropout(hidden))).tolist())

# %% [markdown] text="where-after"
# Dropout on the hidden layer silences neurons, and `b2` belongs to no neuron: it always arrives. Dropout on the output drops `b2` and all.
#
# **What this experiment cannot tell:** with `W2` at zero the neurons write nothing, so silencing some of them changes nothing. “Nowhere” and “on the hidden
# layer” can't be told apart, nor can “on the output” and “on both”. What would you set, or watch, to tell these apart? (Question M2 asks you.)
#
# In `eval()` every `nn.Dropout` is off and all four are the same function, so a trained model does not tell you which it was. You have to look it up. The paper
# and its own code disagree, depending on the version:
#
# | dropout | on the hidden layer | on the output, before it is added to x |
# |---|---|---|
# | *Attention Is All You Need*, section 5.4 | – | 0.1 |
# | its code, tensor2tensor: `transformer_base_v1` | `relu_dropout` 0.0 | yes |
# | the same, from `transformer_base_v2` on | `relu_dropout` 0.1 | yes |
#
# Of later models, T5 has both, BERT and nanoGPT the second, LLaMA neither.

# %% [markdown] text="deeper-text"
# ## 6 · Deeper, and normalised
#
# *deeper: the core path goes on with section 8*
#
# Why only one hidden layer? Nothing forbids more of them. Two traps wait for those who build them in a loop.

# %% figure="predict-plain-list"
predict("plain_list")


# %% code="traps" output="fixed"
def count(module):
    return sum(p.numel() for p in module.parameters())


class Holder(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers


print("three layers in a ModuleList:", count(Holder(nn.ModuleList([nn.Linear(10, 10) for _ in range(3)]))))
print("[one layer] * 3:             ", count(Holder(nn.ModuleList([nn.Linear(10, 10)] * 3))))
print("three layers in a plain list:", count(Holder([nn.Linear(10, 10) for _ in range(3)])))

# %% [markdown] text="traps-after"
# `[layer] * 3` is three times the **same** layer, with one set of weights: 110 parameters. This trap catches whole models: `[ffn] * 6` shares one FFN among six
# Transformer layers. All positions of a layer share one FFN; different layers don't (Vaswani et al. 2017, section 3.3).

# %% [markdown] text="DeepFFN-text"
# ### Exercise `DeepFFN`
#
# *{points} · difficulty ●●○ · 8 minutes*
#
# Write an FFN with any number of hidden layers. It maps [..., d_model] to [..., d_model].
#
# - **Layers**, all `nn.Linear` with bias and weights of their own: d_model → d_ff, then `n_hidden` − 1 times d_ff → d_ff, then d_ff → d_model. With
#   `n_hidden=1` this is the FFN you know. How you name them is up to you.
# - **Activation** after every hidden layer, not after the last one. `activation` is `"relu"`, `"gelu"`, `"silu"` or a function. (What else you accept is up to you.)
# - **`n_hidden` below 1**: raise `ValueError` in `__init__`.
# - No dropout, no norm, no residual connection.
#
# Stuck? Run `hint("DeepFFN")` in a cell of your own.


# %% exercise="DeepFFN"
class DeepFFN(nn.Module):
    """An FFN with n_hidden hidden layers of width d_ff: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff, n_hidden, activation):
        ### BEGIN SOLUTION
        super().__init__()
        if n_hidden < 1:
            raise ValueError(f"n_hidden must be at least 1, not {n_hidden}")
        named = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = named.get(activation) if isinstance(activation, str) else activation
        if not callable(self.activation):
            raise ValueError(f"activation must be {', '.join(named)} or a function, not {activation!r}")
        widths = [d_model] + [d_ff] * n_hidden + [d_model]
        self.layers = nn.ModuleList(nn.Linear(widths[i], widths[i + 1]) for i in range(n_hidden + 1))
        return
        ### END SOLUTION
        raise NotImplementedError

    def forward(self, x):
        ### BEGIN SOLUTION
        *hidden_layers, last = self.layers
        for layer in hidden_layers:
            x = self.activation(layer(x))  # [..., d_ff]
        return last(x)
        ### END SOLUTION
        raise NotImplementedError

# %% [markdown] text="norm-text"
# **A norm inside.** A **layer norm** shifts and scales the numbers of one token, so that they have mean 0 and variance 1. Some models put one inside the FFN, between
# activation and second matrix: NormFormer (Shleifer et al. 2021, arXiv 2110.09456) reports better perplexity for it, together with two further
# changes, at 0.4 % more parameters. Each token is treated alone, so the FFN stays position-wise.

# %% code="norm" output="fixed"
torch.manual_seed(0)
hidden = torch.relu(torch.randn(2, 5, 10) + torch.linspace(-1, 1, 10))  # [B, T, d_ff]
normed = F.layer_norm(hidden, (10,))
for name, numbers in (("one token, all neurons", normed[0, 0]), ("one neuron, all tokens", normed[..., 0])):
    print(f"{name}:  mean {numbers.mean():z.2f}, variance {numbers.var(unbiased=False):.2f}")
print(f"divided by n - 1 instead of n, the token's variance would be {normed[0, 0].var():.2f}")

# %% [markdown] text="norm-after"
# A **batch norm** would set the second line to mean 0 and variance 1: one neuron, over all tokens of the batch. So in training it looks at the other tokens, and what it
# gives to one of them depends on all. Transformers use layer norm, or RMSNorm, which leaves the mean out.

# %% [markdown] text="NormFFN-text"
# ### Exercise `NormFFN`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# Write an FFN with a layer norm on its hidden layer. It maps [..., d_model] to [..., d_model].
#
# - **Order** `linear1`, activation, layer norm, `linear2`. The two linear layers have these names, biases, and the shapes you know.
# - **Layer norm** over the d_ff numbers of one token: subtract their mean, divide by √(variance + 1e-5), where the variance divides by d_ff, not by
#   d_ff − 1. Then times a learned gain [d_ff] that starts at 1, plus a learned bias [d_ff] that starts at 0. `nn.LayerNorm` does all this.
# - **`activation`** is `"relu"` (the default), `"gelu"`, `"silu"` or a function. (What else you accept is up to you.)
# - No dropout, no residual connection.
#
# Stuck? Run `hint("NormFFN")` in a cell of your own.


# %% exercise="NormFFN"
class NormFFN(nn.Module):
    """An FFN with a layer norm after the activation: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff, activation="relu"):
        ### BEGIN SOLUTION
        super().__init__()
        named = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = named.get(activation) if isinstance(activation, str) else activation
        if not callable(self.activation):
            raise ValueError(f"activation must be {', '.join(named)} or a function, not {activation!r}")
        self.linear1 = nn.Linear(d_model, d_ff)
        self.norm = nn.LayerNorm(d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        return
        ### END SOLUTION
        raise NotImplementedError

    def forward(self, x):
        ### BEGIN SOLUTION
        hidden = self.norm(self.activation(self.linear1(x)))  # [..., d_ff]
        return self.linear2(hidden)
        ### END SOLUTION
        raise NotImplementedError

# %% [markdown] text="spot-relu"
# ## 7 · Spot the error
#
# *deeper: the core path goes on with section 8*
#
# Two statements from published pages. For each: find the error, then run the cell.
#
# **A.** A tutorial defines ReLU by `return max(0, x)`, with Python's own `max`.

# %% code="spot-relu-cell"
try:
    print(max(0, torch.tensor([-1.0, 2.0])))
except RuntimeError as error:
    print("RuntimeError:", error)
for number in (2.0, -1.0):
    print(f"for the single number {number}:", max(0, torch.tensor(number, requires_grad=True)))

# %% [markdown] text="spot-collapse"
# Python's `max` has to decide once which of the two is larger. A tensor of two numbers has no answer to that. For a single number that is not positive it
# hands back the integer 0, through which no gradient flows. `torch.relu(x)` or `x.clamp(min=0)` compare number by number.
#
# **B.** “Without it the whole model would collapse to a single linear layer.” So says a published page, about GELU. A linear map doubles its output
# when you double its input. The cell tries that, with an FFN without GELU and with attention. It leaves out the FFN's biases: they add a constant, which
# does not double, so even a straight FFN would fail the test. (Strictly, it is *affine*: linear plus a constant.)

# %% code="spot-collapse-cell" output="fixed"
W1, _, W2, _ = figures.weights(4)
x = figures.embeddings()


def attention(X):
    return torch.softmax(X @ X.T / math.sqrt(X.shape[1]), dim=-1) @ X


def straight_ffn(X):
    return (X @ W1) @ W2


for part in (straight_ffn, attention):
    doubled, expected = part(2 * x), 2 * part(x)
    print(f"{part.__name__:13} off by {(doubled - expected).norm() / expected.norm():.0%} when the input is doubled")

# %% [markdown] text="quiz_rank-text"
# Only each **FFN** collapses, as in section 4. Attention stays: its softmax bends, and so does every layer norm. What is left is an attention-only
# Transformer. It can do less, but it is not linear.
#
# And code suffers when a page is copied as text. A blog's class arrived here as `class feed-forwardNetwork(nn.Module):`, without its indentation. Python stops at the
# hyphen with a SyntaxError, because a name can't contain one.
#
# ## 8 · Quiz
#
# One point each. Put the letter in quotes. If you are tired, stop here and do the quiz and section 9 another day.
#
# ### Question `quiz_rank`
#
# Two FFNs without activation work side by side, with d_model = 512, and their outputs are added. One has d_ff = 100, the other d_ff = 200. Together they compute
# x ↦ xW + b. What can you say about the rank of W, whatever the weights?
#
# - **A.** It is at most 100.
# - **B.** It is at most 200.
# - **C.** It is at most 300.

# %% quiz="quiz_rank"
quiz_rank = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_rank = "C"
### END SOLUTION

# %% [markdown] text="quiz_bias-text"
# ### Question `quiz_bias`
#
# You take one hidden neuron out of a trained FFN: its column of `W1`, its entry of `b1`, its row of `W2`. What has to be done to `b2`?
#
# - **A.** Its part that belongs to the neuron has to be subtracted.
# - **B.** Nothing.
# - **C.** The entry of that neuron has to be removed.

# %% quiz="quiz_bias"
quiz_bias = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_bias = "B"
### END SOLUTION

# %% [markdown] text="quiz_dropout-text"
# ### Question `quiz_dropout`
#
# A colleague calls `model.eval()`. Still the model gives two different outputs for the same input. Which line can be the cause?
#
# - **A.** `hidden = F.dropout(hidden, 0.1)` in `forward`.
# - **B.** `hidden = self.dropout(hidden)` in `forward`, with `self.dropout = nn.Dropout(0.1)` in `__init__`.
# - **C.** `hidden = F.dropout(hidden, 0.1, training=self.training)` in `forward`.

# %% quiz="quiz_dropout"
quiz_dropout = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_dropout = "A"
### END SOLUTION

# %% [markdown] text="machine-text"
# ## Your own part
#
# Each earned answer that is a part of a Transformer is kept in `my_transformer.py`, in the course's folder. Open it: it is your own code. The cell below runs the
# creek model of notebook 00 on it. Does the dog still jump over the cold creek, by your `ffn_forward` and your module?

# %% figure="machine"
machine()

# %% [markdown] text="M2-text"
# ## 9 · In your own words
#
# *deeper: the core path goes on with notebook 03*
#
# *question M2 · {points}, graded by your instructor · 8 minutes*
#
# You find a trained Transformer. Its documentation says: “dropout 0.1, as in the original paper”.
#
# 1. Where does the paper put dropout in the FFN's part of a block?
# 2. What does the code that was published with the paper do with the hidden layer, and from which version on?
# 3. You have the model, but not its source. You can run the FFN's part of a block alone, up to where its output is added to x, on inputs of your own, as
#    often as you like. You may also set its weights for the experiment, such as `W2` and `b2`. Which experiment, or which two, tell you whether dropout is
#    on the hidden layer, on the output, on both, or nowhere? In which mode do they run, and why does the other mode tell you nothing?
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M2" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) The paper (section 5.4) puts dropout on the **output of each sub-layer**, here of the whole FFN, before it is added to the
# sub-layer's input; it says nothing of the hidden layer. (2) The published code, tensor2tensor, does have a dropout on the hidden layer, after the
# ReLU, called `relu_dropout`, besides the one on the output: its rate is **0.0 in `transformer_base_v1` and 0.1 from `transformer_base_v2` on**. So
# code and paper agree for the first version only. (3) In **training mode**, run one input many times, twice over. First with `W2` set to zeros and `b2` to
# ones: if about a tenth of the numbers are exactly 0 and the others 1/0.9, there is dropout on the output; if all are 1, there is none. Then with `W2` set
# to ones (or left as trained): look at the numbers that are not 0. If each place has the same number in every run, there is no dropout on the hidden layer;
# if it varies from run to run, there is. The two answers together tell all four cases apart. (The second experiment alone will do, if one looks at both:
# zeros for the output, variation of the others for the hidden layer.) In **eval mode** dropout is the identity: all four are the same function of the same
# weights.
#
# **Rubric.** One point each:
#
# - (1) the sub-layer's output, before the residual addition. Half a point for “the output” without the addition.
# - (2) on the hidden layer, 0.0 in v1, 0.1 from v2 on. Half a point for “the code also drops the hidden layer” without the change between versions.
# - (3) training mode, with observations that separate all four cases: exact zeros (or a missing `b2`) for the output, and, with `W2` not zero, numbers that
#   vary between runs for the hidden layer. Half a point if some cases stay together, as with `W2` at zero alone, or for “compare in training mode” without an
#   observation. No point if the experiment runs in eval mode.
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## You can now …
#
# - write an FFN and follow one token through it, expand, activate, compress: `ffn_forward`, `ffn_trace`;
# - build it as a module: `PositionwiseFeedForward`;
# - say what is left of it without its activation: `collapse_linear`.
#
# ## Going further
#
# - Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762). Section 3.3 is the FFN, section 5.4 is dropout.
# - Shleifer, Weston and Ott 2021, *NormFormer* (arXiv 2110.09456): what a norm inside the FFN does for training.
# - Li et al. 2023, *The Lazy Neuron Phenomenon* (arXiv 2210.06313): how few neurons fire in trained Transformers.
#
# Next: `03_activations`, where you bend a wire.

# %% figure="progress"
progress()
