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
# # 01 · What attention can and cannot do
#
# `●○○○○○○○○○` step 1 of 10
#
# *The cat sat down.* For the last word, attention makes a new vector out of three **values**, one each for `cat`, `sat` and `down`. How much of each?
# Every word gets a **score**, and **softmax** turns the scores into **weights**: 40 % cat, 30 % sat, 30 % down. The figure draws the three values as
# points of a plane, and the blend as a fourth point. Run the next three cells, guess, and move the scores, or drag the blend. Can you get the blend to the circle?

# %% setup="imports"
import math

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, play, predict, progress, quiz
from ffnlab.course.boards import fold
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import attention as figures
from ffnlab.drawing import controls, style

style.use()

# %% figure="predict-blend-reach"
predict("blend_reach")

# %% figure="blend"
controls.show(
    figures.blend,
    cat=controls.slider("score of cat", -6.0, 6.0, 0.1, 0.3),
    sat=controls.slider("score of sat", -6.0, 6.0, 0.1, 0.0),
    down=controls.slider("score of down", -6.0, 6.0, 0.1, 0.0),
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | 45 minutes on the core path; 15 more for what is marked *deeper* and for question M1, which can wait for another day |
# | **You need** | softmax, matrix products, multi-head attention, ReLU and LayerNorm seen once, and `00_start_here` |
# | **Points** | 14 for code, 3 for the quiz, 3 for an answer in your own words |
#
# A Transformer block has two parts: attention, which lets tokens look at each other, and the feed-forward network, FFN, which works on each token
# alone. Why are there two? Attention is linear, many pages say, so something must bend. You will measure how much of that is true, make attention
# fail, and see it succeed where it should not.
#
# <details><summary>At the end, you will be able to … (open to see what, and what tests it; some of it is <em>deeper</em>)</summary>
#
# | | tested by |
# |---|---|
# | compute attention, and say where its outputs can lie | `attention_output`, `self_attention`, `quiz_hull` |
# | say for each of the five steps of attention whether it is linear, and in what | `quiz_linear`, question M1 |
# | measure superposition, with the attention weights frozen and free | `superposition_error` |
# | solve XOR by hand with ReLU, and name what else could do it | `xor_weights`, `quiz_xor` |
#
# </details>

# %% figure="anatomy"
anatomy.block("01")

# %% [markdown] text="blend-text"
# ## 1 · A blend
#
# Attention averages. In the figure at the top it averages three points, and so it stays in their triangle. With more words, or longer vectors, the
# triangle becomes the **convex hull** of the values: all averages of them. That is what “attention only mixes” means.
#
# In a formula, for T outputs and S values: $\mathrm{out}_t = \sum_s A_{ts}\, V_s$. Row t of the **attention matrix** A holds the weights of output t.

# %% [markdown] text="attention_output-text"
# ### Exercise `attention_output`
#
# *2 points · difficulty ●○○ · 2 minutes*
#
# Mix the values.
#
# - **Takes** `A` [T, S], whose rows are weights already: positive, and each row sums to 1; and `V` [S, d], one value per row.
# - **Returns** a tensor [T, d]: row t is the sum over s of `A[t, s] * V[s]`, in the dtype of `V`.
# - Both have exactly two dimensions. T and S may differ.
# - Gradients reach `A` and `V`, and these stay as they were. Values are compared in float64, to nine digits.
#
# Stuck? Run `hint("attention_output")` in a cell of your own.


# %% exercise="attention_output"
def attention_output(A, V):
    """The blends of V [S, d] with the weights A [T, S]: a tensor [T, d]."""
    ### BEGIN SOLUTION
    return A @ V
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="hull-text"
# **Does no blend ever leave the hull?** The cell blends the 14 tokens of the sentence below, 13 words and the full stop, with random weights, a thousand
# times. Their hull has flat faces, each through six tokens, with all the others on one side. A blend is outside if it is beyond one of them. So the cell finds
# all faces and tries them all. (Read its output; its code can wait.) Then it does the same with weights that may be negative.
#
# *The creek was cold and the spunky dog wanted to jump over it.*

# %% code="hull" output="fixed"
torch.manual_seed(0)
V = figures.embeddings(dtype=torch.float64)  # [14, 6]: the sentence, 6 numbers per token
scores = 4 * torch.randn(1000, 14, dtype=torch.float64)
middle = V.mean(dim=0)
points = (V - middle).unique(dim=0)  # [13, 6]: seen from their middle; `The` and `the` are one point
six = points[torch.combinations(torch.arange(len(points)), 6)]  # [1716, 6, 6]: six tokens at a time
planes = torch.linalg.solve(six, torch.ones(len(six), 6, dtype=torch.float64))  # plane · point = 1 for these six
faces = planes[(planes @ points.T < 1 + 1e-9).all(dim=1)]  # those that no token is beyond
print(f"the hull has {len(faces)} faces")
for name, A in (
    ("softmax", torch.softmax(scores, dim=-1)),
    ("scores / sum", scores / scores.sum(dim=-1, keepdim=True)),
):
    beyond = ((A @ V - middle) @ faces.T > 1 + 1e-9).any(dim=1)
    print(f"{name:13} {beyond.double().mean():4.0%} of 1000 outputs are outside of the hull")

# %% [markdown] text="five-steps"
# ## 2 · Where the weights come from
#
# In **self-attention** the tokens themselves say who looks at whom. One **head**, in five steps, for T tokens X [T, d]:
#
# | | step | formula | shape |
# |---|---|---|---|
# | 1 | three projections | $Q = X W_Q,\quad K = X W_K,\quad V = X W_V$ | [T, h] each |
# | 2 | scores | $Q K^\top / \sqrt{h}$ | [T, T] |
# | 3 | weights | $A = \mathrm{softmax}(\text{scores})$, each row by itself | [T, T] |
# | 4 | mix | $A V$ | [T, h] |
# | 5 | output | $(A V)\, W_O$ | [T, d] |
#
# A blend is a mix, step 4: the hull is that of the values V. Step 5 sends all blends, and with them their hull, through one matrix. With several heads the
# outputs of all
# of them are added up. (Usually it is written as one step: the mixes are side by side, and a larger $W_O$ holds the matrices of the heads one below the
# other.) Here is one head for our sentence.

# %% code="shapes" output="fixed"
X = figures.embeddings(dtype=torch.float64)
stages = figures.stages(X)  # what comes out of each step
for name, part in stages.items():
    print(f"{name:8} {list(part.shape)}")
rows = stages["A"].sum(dim=1)
print(f"the rows of A sum to {rows.min():.6f} … {rows.max():.6f}; its smallest entry is {stages['A'].min():.1e}")

# %% [markdown] text="self_attention-text"
# ### Exercise `self_attention`
#
# *4 points · difficulty ●●○ · 5 minutes*
#
# Write the five steps.
#
# - **Takes** `X` [T, d], `Wq`, `Wk`, `Wv` [d, h], `Wo` [h, d], and optionally `A` [T, T].
# - **Returns** the pair `(out, A)`: the output [T, d] and the attention weights [T, T].
# - Without `A`, the weights are computed from `X`: scores divided by √h, where h is the number of columns of `Wq`; no mask.
# - **With `A`**, steps 2 and 3 are skipped: this `A` is used as it is, whatever its numbers, and returned. We will need that to *freeze* the weights.
# - One head, no batch dimension, no residual connection. Gradients reach X and all four matrices, through `out`; through `A` they
#   reach X, `Wq` and `Wk`, for A is made of these alone.
# - Everything comes back in the dtype of `X`; nothing that was handed in is changed.
#
# Stuck? Run `hint("self_attention")` in a cell of your own.


# %% exercise="self_attention"
def self_attention(X, Wq, Wk, Wv, Wo, A=None):
    """One head over X [T, d]: (out [T, d], A [T, T]). A given: used instead of the computed weights."""
    ### BEGIN SOLUTION
    if A is None:
        scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])  # [T, T]
        A = torch.softmax(scores, dim=-1)
    return A @ (X @ Wv) @ Wo, A
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="scale-text"
# ## 3 · Linear in what?
#
# A map f is **linear** if f(sX) = s·f(X) for every number s, and f(X + Y) = f(X) + f(Y) for all X and Y. The second is called **superposition**: what it makes
# of a sum is the sum of what it makes of the parts.
#
# The figure multiplies all vectors of the sentence by s, and compares f(sX) with s·f(X), which a linear map would give: below for the whole sentence, and on the right for
# one token (press a row of A to choose it). The tick “freeze A” keeps the weights of s = 1.

# %% figure="predict-scaled-zero"
predict("scaled_zero")

# %% figure="scale"
controls.show(
    figures.scaled,
    s=controls.slider("s", -2.0, 4.0, 0.5, 2.0),
    frozen=controls.toggle("freeze A", False),
    token=controls.free("token", [(word, t) for t, word in enumerate(figures.TOKENS)], 7),
)

# %% [markdown] text="scale-after"
# Now freeze A. **With A frozen the distance is 0 for all s**: what remains are products with matrices that do not depend on X.
#
# So “attention is linear” is true of one map, with A frozen, and false of another, with A free. Don't argue: measure.

# %% [markdown] text="superposition_error-text"
# ### Exercise `superposition_error`
#
# *3 points · difficulty ●●○ · 4 minutes*
#
# Measure how far a map is from superposition:
#
# $$\frac{\lVert f(X+Y) - f(X) - f(Y) \rVert}{\lVert f(X+Y) \rVert}$$
#
# - **Takes** a function `f` from a tensor to a tensor, and two tensors `X` and `Y` of one shape. That shape, and the shape of what f returns, may be any.
# - **Returns** the quotient as a Python float. Both norms are **Frobenius norms**: the root of the sum of the squares of all entries.
# - f may have weights that are being trained. Return a plain float, say with `.item()`, cut off from their graph.
# - f(X + Y) is never all zero. `X` and `Y` stay as they were. Numbers are compared to six digits.
#
# Stuck? Run `hint("superposition_error")` in a cell of your own.


# %% exercise="superposition_error"
def superposition_error(f, X, Y):
    """How far f is from f(X + Y) = f(X) + f(Y), relative to f(X + Y): a float."""
    ### BEGIN SOLUTION
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).norm() / whole.norm()).item()
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="linear-in-what"
# Now the five steps, one after the other. The cell measures each with your function: 0 means linear.

# %% figure="predict-one-token"
predict("one_token")

# %% code="linear-in-what-cell" output="fixed"
X, Y = figures.embeddings(dtype=torch.float64)[:4], figures.embeddings(dtype=torch.float64)[6:10]
Wq, Wk, Wv, Wo = figures.head(torch.float64)
frozen, K = figures.stages(X)["A"], figures.stages(X)["K"]
maps = {
    "1    projection, in X": lambda X: X @ Wq,
    "2    scores, in X": lambda X: figures.stages(X)["scores"],
    "2    scores, in Q, with K frozen": lambda X: X @ Wq @ K.T,
    "3    weights, in the scores": lambda X: torch.softmax(X, dim=1),
    "4    mix, in V, with A frozen": lambda X: frozen @ X,
    "5    output, in the mix": lambda X: X[:, :4] @ Wo,
    "1-5  all, in X, with A frozen": lambda X: figures.stages(X, A=frozen)["out"],
    "1-5  all, in X": lambda X: figures.stages(X)["out"],
    "1-5  all, in X, for one token": lambda X: figures.stages(X[:1])["out"],
}
try:
    for name, f in maps.items():
        print(f"{name:34} {superposition_error(f, X, Y):.2f}")
except NotImplementedError:
    print("This table fills when superposition_error is written.")

# %% [markdown] text="linear-in-what-after"
# Steps 2 and 4 multiply two things that both come from X: queries with keys, and weights with values. So:
#
# | the head, as a map of … | is |
# |---|---|
# | the values V, with A held fixed | linear: this is the true core of “attention only mixes” |
# | X, with A held fixed | linear |
# | X, for a single token | linear: one score, and the softmax of one number is always 1 |
# | X | **not** linear |
#
# Four things in a block are not linear (this course says that they *bend*): attention's products of X with X, softmax, normalisation, and the activation of the
# FFN. Norm and activation work on each token alone; only the activation comes in any number: once for each hidden neuron of the FFN, and there may be as many
# as you like.

# %% [markdown] text="spot-linear"
# **Spot the error.** A blog walks through multi-head attention, step by step, and closes: “It is a strictly linear operation.” What is wrong with
# that? Decide, then run the cell; f is our head on the whole sentence.

# %% code="spot-linear-cell" output="fixed"
X = figures.embeddings(dtype=torch.float64)


def head(X):
    return figures.stages(X)["out"]


for s in (2, -1):
    print(f"s = {s:2}: f(sX) and s·f(X) differ by {(head(s * X) - s * head(X)).norm() / (s * head(X)).norm():.0%}")

# %% [markdown] text="spot-linear-after"
# The blending is linear in the values, for weights that do not move. But the weights move with X. (And whoever tests with s = −1 alone will never know.)

# %% [markdown] text="xor-text"
# ## 4 · What one token can't do
#
# Suppose a token's vector holds two features: a = 1 if it is the **subject** of the sentence, b = 1 if it is **plural**. A network may want to know $2a + 3b$ or
# $a - b$. A matrix can do that. It may also want to know “subject **and** plural”, or “exactly one of the two”, which is **XOR**.
#
# For a token that looks only at itself, attention is one matrix after the other, as you have just measured. Add biases, and it is an **affine** map. Its output
# crosses a threshold along a straight line through the plane of (a, b). In the figure the black knob turns the line, and the green one moves it.

# %% figure="predict-xor-line"
predict("xor_line")

# %% figure="line"
controls.show(
    figures.line,
    angle=controls.slider("direction in degrees", 0, 345, 15, 45),
    offset=controls.slider("distance", -1.0, 1.0, 0.05, 0.35),
    target=controls.choice("filled", ["XOR", "AND"], "XOR"),
)

# %% [markdown] text="line-after"
# The cell lets gradient descent try: it looks for the affine map with the smallest logistic loss (the cross-entropy of a yes-or-no answer), from three random
# starts.

# %% code="affine" output="fixed"
corners = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float64)
inputs = torch.cat([corners, torch.ones(4, 1, dtype=torch.float64)], dim=1)  # a, b, and 1 for the bias
targets = {"XOR": torch.tensor([0, 1, 1, 0]).double(), "AND": torch.tensor([0, 0, 0, 1]).double()}
for name, target in targets.items():
    w = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)  # one start per column
    for _ in range(1000):
        w -= inputs.T @ (torch.sigmoid(inputs @ w) - target[:, None])
    losses = [F.binary_cross_entropy_with_logits(inputs @ start, target).item() for start in w.T]
    print(f"{name}: smallest loss found {', '.join(f'{loss:.4f}' for loss in losses)}")
print(f"always saying “one half” costs ln 2 = {math.log(2):.4f}")

# %% [markdown] text="affine-after"
# For XOR no affine map has a smaller loss than a shrug. (A line gets three of four right, but the loss makes it pay more for the fourth than it gains with the
# three.) For AND the loss falls towards 0: the threshold a + b > 1.5 parts the points, though the **value** of AND is no
# affine function either.
#
# So something must bend.
#
# ## Fold the plane
#
# Where a neuron does not fire, its ReLU presses everything flat. So it folds the plane along its **hinge**, the line where it begins to fire, as you would fold a
# sheet of paper. Two neurons fold the sheet below. Press *Play*: it is folded, cut once, straight, and unfolded again. Two of the four balls come out right. Drag the
# hinges and the knife until all four do.

# %% figure="fold-by-hand"
play(fold.xor())

# %% [markdown] text="fold-by-hand-after"
# You have found six numbers by hand. Now write them down.

# %% [markdown] text="xor_weights-text"
# ### Exercise `xor_weights`
#
# *5 points · difficulty ●●○ · 8 minutes*
#
# Write down a small network with ReLU that computes XOR (each column of `W1` with its entry of `b1` is one hidden neuron): `out = relu(x @ W1 + b1) @ W2 + b2`.
#
# - **Takes** two different numbers, `low` and `high`. Either may be the larger one, and either may be negative.
# - **Returns** four tensors of floating-point numbers: `W1` [2, H], `b1` [H], `W2` [H, 1], `b2` [1]. You choose H, from 1 to 8.
# - The four inputs are x = (0, 0), (0, 1), (1, 0) and (1, 1). The output must be `high` for (0, 1) and (1, 0), and `low` for (0, 0) and (1, 1). It may be off
#   by a hundredth of the distance between the two. There is more than one right answer.
# - No training is needed. Paper helps: first find weights for `low` = 0 and `high` = 1.
#
# Stuck? Run `hint("xor_weights")` in a cell of your own.


# %% exercise="xor_weights"
def xor_weights(low, high):
    """W1 [2, H], b1 [H], W2 [H, 1], b2 [1] of a ReLU network that gives `high` where one of two features is on, else `low`."""
    ### BEGIN SOLUTION
    W1 = torch.tensor([[1.0, 1.0], [1.0, 1.0]])  # both neurons read a + b
    b1 = torch.tensor([0.0, -1.0])  # the first starts to rise at 0, the second at 1
    W2 = torch.tensor([[1.0], [-2.0]]) * (high - low)  # up with the first, and twice as steeply down
    b2 = torch.tensor([low])  # where all of it begins
    return W1, b1, W2, b2
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="fold-text"
# **Your network, folded.** Here your own four tensors fold the sheet. Press *Play*, then drag a hinge: how far can it go before the cut loses a ball? If both of your
# neurons read a + b, the sheet becomes a line, because such a network never looks at anything else. Another answer to `xor_weights` folds another way: run its cell, then
# this one again.

# %% figure="fold"
play(lambda: fold.network_board(*xor_weights(0.0, 1.0)))

# %% [markdown] text="search-text"
# Two neurons are enough **by hand**. Does training find them, too? The cell trains 200 networks of each width from random starts, all at once, with the same
# recipe (Adam, learning rate 0.05, 500 steps). It needs up to ten seconds.

# %% figure="predict-xor-two-neurons"
predict("xor_two_neurons")

# %% code="search"
torch.set_num_threads(1)  # in networks as small as these, threads only wait for each other


def trained(parameters, network, steps=500):
    """Trains many networks at once on XOR; says for each whether it has learned all four."""
    x, y = corners.float(), targets["XOR"].float()[:, None]
    optimiser = torch.optim.Adam([p.requires_grad_() for p in parameters], lr=0.05)
    for _ in range(steps):
        out = network(x, *parameters)  # [networks, 4, 1]
        loss = F.binary_cross_entropy_with_logits(out, y.expand_as(out), reduction="sum")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return ((out > 0) == (y > 0.5)).all(dim=1).flatten()


def uniform(*shape, fan_in):
    return (2 * torch.rand(*shape) - 1) / math.sqrt(fan_in)


def relu_network(x, W1, b1, W2, b2):
    return torch.relu(x @ W1 + b1) @ W2 + b2


torch.manual_seed(0)
widths = (1, 2, 4, 8, 16)
for n, H in enumerate(widths):
    start = [uniform(200, 2, H, fan_in=2), uniform(200, 1, H, fan_in=2)]
    start += [uniform(200, H, 1, fan_in=H), uniform(200, 1, 1, fan_in=H)]
    learned = trained(start, relu_network)
    groups = learned.view(4, 50).float().mean(dim=1)
    done = "█" * (n + 1) + "░" * (len(widths) - n - 1)
    print(
        f"{done}  H = {H:2}: {learned.float().mean():4.0%} learn XOR   (in four groups of 50: {groups.min():.0%} to {groups.max():.0%})"
    )

# %% [markdown] text="surprise-text"
# ## 5 · Two surprises
#
# *deeper: the core path goes on with section 6*
#
# A published lesson lists XOR-like patterns among the things that attention cannot learn, and also a rule such as: one word is a noun *and* another is in the
# past tense. With one token that is so: its output is affine in the features, and no
# threshold makes XOR of it. Give it a second token, a fixed marker at the start of the sentence (BOS), and look again at step 2: a score is
# a **product** of features.
#
# Below, one head as in section 2, no FFN, no norm. The features a and b are −1 or +1. The token's score with itself is 50·a·b, with BOS it is 0. The
# values are 0 for the token and 1 for BOS.

# %% figure="predict-one-head"
predict("one_head")

# %% code="scores-multiply" output="fixed"
Wq, Wk, Wv = (torch.tensor(column, dtype=torch.float64)[:, None] for column in ([50, 0, 0], [0, 1, 0], [0, 0, 1]))


def xor_head(a, b):
    """The weight of the token on itself, and its output."""
    X = torch.tensor([[0, 0, 1], [a, b, 0]], dtype=torch.float64)  # BOS, and the token: features a, b, “I am BOS”
    query = X[1] @ Wq  # asks for a ...
    weights = torch.softmax((X @ Wk) @ query, dim=0)  # ... and the key holds b; h = 1
    return weights[1].item(), (weights @ (X @ Wv)).item()


print(" a   b   weight on itself   output")
for a, b in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
    on_itself, output = xor_head(a, b)
    print(f"{a:2}  {b:2}   {on_itself:16.2f}   {output:6.2f}")

# %% [markdown] text="surprise-after"
# So what can be claimed of attention and XOR? **With one token, or with attention weights that do not depend on the features, attention is affine and
# can't do XOR.** In general it can multiply, and it is used that way.

# %% [markdown] text="spot-local"
# **Spot the error.** The lesson from the head of this section has it in a table: because of “No non-linearity”, attention “Cannot learn XOR-like patterns”.
# Find the error, then ask
# the head from above, where the only thing that changes between the four lines is the token's features.

# %% code="spot-local-cell" output="fixed"
outputs = {(a, b): xor_head(a, b)[1] for a in (-1, 1) for b in (-1, 1)}
print("outputs:", {corner: round(out, 2) for corner, out in outputs.items()})
print("f(-1,-1) + f(1,1) =", round(outputs[-1, -1] + outputs[1, 1], 2))
print("f(-1,1) + f(1,-1) =", round(outputs[-1, 1] + outputs[1, -1], 2))

# %% [markdown] text="spot-local-after"
# An output of attention is a linear combination of values, but its coefficients are made from the features. An affine map would give the same sum on both
# diagonals. For a single token the table is right.

# %% [markdown] text="layernorm-text"
# **The second surprise.** Take two linear layers, and put nothing between them but a **LayerNorm**: no activation, no attention. Is that linear? The cell trains
# 3 × 20 such networks on XOR, with three hidden numbers.


# %% code="layernorm-bends"
def norm_network(x, W1, b1, gain, shift, W2, b2):
    return (F.layer_norm(x @ W1 + b1, (3,)) * gain + shift) @ W2 + b2


torch.manual_seed(0)
start = [uniform(60, 2, 3, fan_in=2), uniform(60, 1, 3, fan_in=2), torch.ones(60, 1, 3), torch.zeros(60, 1, 3)]
start += [uniform(60, 3, 1, fan_in=3), uniform(60, 1, 1, fan_in=3)]
learned = trained(start, norm_network).view(3, 20).sum(dim=1)
print(f"Linear → LayerNorm → Linear: {', '.join(map(str, learned.tolist()))} of 20 learn XOR")

# %% [markdown] text="layernorm-after"
# Most of them do, whichever twenty you take. LayerNorm divides by the spread of the token's own numbers, and a division by something that depends on x is
# not linear. So never put a LayerNorm into a demonstration that linear models fail. What the FFN has, and these two do not, is width: as many bends as you
# give it neurons, wherever learning needs them.

# %% [markdown] text="table-text"
# ## 6 · Attention and FFN, side by side
#
# | | attention | FFN |
# |---|---|---|
# | looks at | all tokens | one token, and never another |
# | does | averages values; who counts how much is decided by products of features | bends each token's vector, with as many bends as it has neurons |
# | linear? | in the values, yes; in X, no | no |
# | its parameters | four matrices, $W_Q, W_K, W_V, W_O$: 4·d² numbers | two matrices and two biases, $W_1, b_1, W_2, b_2$: often 8·d² |
# | in one picture | reading: who talks to whom | reasoning: what each position makes of it |
# | in another picture | feature engineering | a simple model on top of the features |
#
# The last two lines are pictures, not mechanisms: attention computes too, and an FFN can simply copy. The block holds the two together with skips, as notebook 04 shows:
#
# > z = x + attention(norm(x))
# >
# > out = z + FFN(norm(z))

# %% [markdown] text="quiz_hull-text"
# ## 7 · Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_hull`
#
# In one head, the third number of every value is between 0.2 and 0.5. Where can the third number of a mix lie, before $W_O$, whatever the queries and keys? Choose
# the tightest answer.
#
# - **A.** Anywhere: the scores can be any numbers.
# - **B.** At any multiple of the numbers that the values have there.
# - **C.** Between 0.2 and 0.5.
# - **D.** Between −1 and 1, because softmax normalises.

# %% quiz="quiz_hull"
quiz_hull = ...  # "A", "B", "C" or "D"
### BEGIN SOLUTION
quiz_hull = "C"
### END SOLUTION

# %% [markdown] text="quiz_linear-text"
# ### Question `quiz_linear`
#
# You compute A once, from one sentence X, and keep it. Then you feed the sentence 3X through the head, with this A. The output is …
#
# - **A.** exactly three times the output for X.
# - **B.** three times the output for X only if the queries are kept as well.
# - **C.** another one, because the softmax is not linear.

# %% quiz="quiz_linear"
quiz_linear = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_linear = "A"
### END SOLUTION

# %% [markdown] text="quiz_xor-text"
# ### Question `quiz_xor`
#
# *deeper: it needs section 5*
#
# A token with two features goes through Linear → RMSNorm → Linear, with biases. RMSNorm divides the numbers of a token by the root of their mean square, and
# subtracts nothing. There is no attention, no FFN and no activation. Can this compute XOR of the two features, for a threshold on the output?
#
# - **A.** No: without an activation everything is linear.
# - **B.** Yes: what it divides by depends on the token.
# - **C.** Only if there is a second token.

# %% quiz="quiz_xor"
quiz_xor = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_xor = "B"
### END SOLUTION

# %% [markdown] text="M1-text"
# ## 8 · In your own words
#
# *deeper: the core path ends with the quiz*
#
# *question M1 · 3 points, graded by your instructor · 6 minutes*
#
# A colleague says: “Attention is linear. That is why a Transformer needs an FFN.”
#
# 1. In which sense is the first sentence true? Say what is held fixed, and in what the map is then linear.
# 2. In which sense is it false? Give one input and one experiment that shows it.
# 3. What becomes of it for a sequence of one token, and what does that say about the second sentence?
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M1" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) With the attention matrix A **held fixed**, the head is X ↦ A X W_V W_O: a product of constant matrices, linear in X, and always linear in
# the values V for given weights. Before W_O each output is then a weighted average of the values and stays in their convex hull. (2) As a map of **X** it is not linear, since
# A = softmax(X W_Q W_Kᵀ Xᵀ / √h) is made from X: scores are products of features, and softmax bends. Double all vectors of a sentence: f(2X) is not 2·f(X); or
# compute the superposition error for two sentences, which is 0 with A frozen and clearly not with A free. One head with two tokens even computes XOR. (3) For
# **T = 1** the softmax of a single score is 1, whatever it is: A is constant, and attention is exactly linear (affine with biases), so it can't do XOR of the
# token's features. The FFN is needed where a token must be changed by itself, on the basis of its own features, with many bends. That attention is “linear” is not
# the reason in general: it can multiply, and LayerNorm bends, too.
#
# **Rubric.** One point each:
#
# - (1) A (or the weights) held fixed, and then linear in X or in V. Half a point for “linear in V” without saying that the weights are held fixed.
# - (2) not linear in X because A depends on X, **and** an experiment: doubling, superposition, or XOR with two tokens. Half a point without the experiment. No
#   point for “because of the softmax” alone, if A is not said to depend on X.
# - (3) with T = 1 the weight is always 1, so the map is linear, and the FFN is what works on a token by itself. Half a point without the consequence.
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## You can now …
#
# - compute attention, with the weights given and with the weights made from X, and say where its outputs lie: `attention_output`, `self_attention`;
# - say which of its five steps are linear, and in what: `quiz_linear`, M1;
# - measure superposition: `superposition_error`;
# - solve XOR with two ReLUs, and name two other things that can do it: `xor_weights`.
#
# ## Going further
#
# - Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762), section 3.2.
# - Yun et al. 2020, *Are Transformers universal approximators of sequence-to-sequence functions?* (arXiv 1912.10077). What attention and FFN contribute, with proofs.
#
# Next: `02_feed_forward`, where the FFN itself is built.

# %% figure="progress"
progress()
