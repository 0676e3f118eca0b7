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
# # 01 · Can a mix of words say over or into?
#
# This is a mixing desk. Each word has a fader, and the dot is the mix of the words. Pull the faders until the dot is on the star. There are four levels. Win each of
# them, or raise its flag and say why it can't be won.
#
# <span class="ffn-notebook-only">To wake the desk up, press <b>Shift + Enter</b> three times.</span>

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course import toy_transformer, world
from ffnlab.course.boards import desk, fold
from ffnlab.course.experiments import twin, without_ffn
from ffnlab.course.figures import anatomy
from ffnlab.course.figures.shared import embeddings
from ffnlab.drawing import style

style.use()

# %% figure="desk"
play(desk.stars())

# %% figure="desk-after"
veil("How few?", "when you have won level 3", of="desk_stars.few", text="""
The star of level 3 is on the straight line from *cold* to *jump*. In the plane no star needs more than three words, and in d dimensions none needs more
than d + 1. That is Carathéodory's theorem.
""")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M1 |
# | **You need** | softmax, matrix products and multi-head attention seen once, and `00_start_here` |
# | **Points** | {points} |
#
# In notebook 00 you switched an FFN off. Attention was left, and it tossed a coin between *over* and *into*.
# Attention mixes words. **Can a mix of words say over or into?**

# %% figure="anatomy"
anatomy.block("01")

# %% [markdown] text="five-steps"
# ## 1 · The desk that pulls its own faders
#
# Attention is such a desk. It takes 40 % of *creek*, 30 % of *cold* and 30 % of *dog*, say, and makes one new vector out of the three. Mix t is
#
# $$\mathrm{mix}_t = \sum_s A_{ts}\, V_s$$
#
# Row t of the **attention matrix** A holds the weights of mix t. The $V_s$ are the words as they enter the mix, their **values**. No weight is below 0, and each row
# sums to 1. So level 2, the star outside, is a law of attention: a mix never leaves the **convex hull**, the set of all mixes of its values.
#
# In attention the words pull the faders themselves, in five steps. This is one **head** for T tokens X of shape [T, d]:
#
# | | step | formula | shape |
# |---|---|---|---|
# | 1 | three projections | $Q = X W_Q,\quad K = X W_K,\quad V = X W_V$ | [T, h] each |
# | 2 | scores | $Q K^\top / \sqrt{h}$ | [T, T] |
# | 3 | weights | $A = \mathrm{softmax}(\text{scores})$, each row by itself | [T, T] |
# | 4 | mix | $A V$ | [T, h] |
# | 5 | output | $(A V)\, W_O$ | [T, d] |
#
# $W_V$ and $W_O$ move all words at once, as in level 4, and the hull goes along. Step 2 divides by √h because dot products of many numbers are large, and softmax
# would give nearly all to one word. The outputs of several heads are added up, which is the same as concatenating them before one $W_O$.

# %% [markdown] text="self_attention-text"
# ### Exercise `self_attention`
#
# *{points} · difficulty ●●○ · 6 minutes*
#
# Write the five steps.
#
# - **Takes** `X` [T, d], `Wq`, `Wk`, `Wv` [d, h], `Wo` [h, d], and perhaps a matrix `A`.
# - **Returns** the pair `(out, A)`: the output [R, d] and the weights [R, T]. R is T, unless a given `A` has another number of rows.
# - Without `A`, compute the weights from `X`. There is no mask.
# - **With `A`**, skip steps 2 and 3. Use this `A` as it is, whatever its numbers, and return it.
# - One head, no batch, no residual connection. Everything stays in the dtype of `X`, and gradients flow.
#
# An example: with `A = torch.full((1, T), 1 / T, dtype=X.dtype)` there is one output, made of the plain mean of all values.


# %% exercise="self_attention"
def self_attention(X, Wq, Wk, Wv, Wo, A=None):
    """One head over X [T, d]: (out, A), each with a row for every output. A given: used in place of computed weights."""
    ### BEGIN SOLUTION
    if A is None:
        scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])  # [T, T]
        A = torch.softmax(scores, dim=-1)
    return A @ (X @ Wv) @ Wo, A
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="reach_star-text"
# ## 2 · The desk by code
#
# *deeper: the core path goes on with section 3*
#
# On the board you see whether a star is inside. With a hundred words of ten numbers each you don't. So let code look for the mix nearest to the star.
#
# How can it show that a star can't be reached? It finds a direction in which the star is **ahead of every word**. A mix is an average, so it is never
# ahead of all its words. One such direction is the whole proof.
#
# ### Exercise `reach_star`
#
# *{points} · difficulty ●●● · 15 minutes · deeper*
#
# - **Takes** `V` [S, d], one word in each row, and `star` [d], both in float64.
# - **Returns** a pair. If some weights reach the star, it is `(weights, None)`. If none do, it is `(None, direction)`.
# - `weights` [S]: none below 0, with sum 1. The mix may miss the star by up to 1/20.
# - `direction` [d], of any length: `star @ direction` is larger than `V[s] @ direction` for every word s.
# - S is 1 to 9 and d is 2 to 5. Words may be on one line or at the same place. Coordinates are a few units large. A star that can't be reached
#   is at least 1/4 away from every mix.
#
# An example: for the words (0, 0) and (2, 0), the star (1, 0) gives `([0.5, 0.5], None)`, and the star (1, 1) gives `(None, [0.0, 1.0])`, as tensors.


# %% exercise="reach_star"
def reach_star(V, star):
    """Words V [S, d] and a star [d]: (weights [S], None) if a mix reaches it, else (None, direction [d]) in which it is ahead of every word."""
    ### BEGIN SOLUTION
    weights = torch.full((len(V),), 1 / len(V), dtype=V.dtype)
    for _ in range(1000):
        arrow = star - weights @ V  # from the mix to the star
        along = V @ arrow  # how far ahead each word is
        best, worst = along.argmax(), along.masked_fill(weights <= 0, math.inf).argmin()
        way = V[best] - V[worst]
        if arrow.norm() < 1e-3 or arrow @ way < 1e-9:  # we are there, or no word is ahead of the others
            break
        share = torch.minimum(arrow @ way / (way @ way), weights[worst])  # as near to the star as that way leads
        weights[best] += share
        weights[worst] -= share
    return (weights, None) if arrow.norm() < 0.05 else (None, arrow)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="walls-text"
# Your function plays forty stars. A star that it reaches is green. For each of the others you see a red line that no mix gets past.

# %% code="walls"
torch.manual_seed(27)
V = 0.8 * torch.randn(9, 2).double()
around = torch.arange(16) * math.pi / 8
stars = torch.cat([0.5 * torch.randn(24, 2).double(), 2.7 * torch.stack([around.cos(), around.sin()], dim=1).double()])
try:
    for star in stars:
        weights, direction = reach_star(V, star)
        plt.plot(*star, "*" if direction is None else "x", color="tab:green" if direction is None else "tab:red", ms=10)
        if direction is not None:
            ahead = star @ direction - (V @ direction).max()
            foot = star - ahead * direction / (direction @ direction)
            plt.axline(foot, foot + direction.flip(0) * torch.tensor([-1, 1]), color="tab:red", lw=1)
    plt.plot(*V.T, "o", color="tab:blue")
    plt.axis("square")
    plt.xlim(-3, 3)
    plt.ylim(-3, 3)
    plt.show()
except NotImplementedError:
    print("This picture appears when reach_star is written.")

# %% [markdown] text="walls-after"
# <details><summary>Why is there no third case? Open this when you have tried.</summary>
#
# Take the nearest mix to the star. If it is on the star, you have the weights. If not, draw the arrow from it to the star. No word can be ahead of that mix along
# the arrow, because a little more of such a word would bring the mix nearer. So the star is ahead of every word. This is the theorem of the **separating
# hyperplane**.
#
# </details>
#
# ## 3 · Linear in what?
#
# Attention only mixes, so is it linear? A map f is **linear** if f(sX) = s·f(X) for every number s, and f(X + Y) = f(X) + f(Y). The second
# is **superposition** here. Test the first: multiply all vectors of a sentence by s, and see how far f(sX) is from s·f(X).

# %% figure="predict-scaled-zero"
predict("scaled_zero")

# %% code="scaled"
torch.manual_seed(0)
X = embeddings(dtype=torch.float64)  # [14, 6]: “The creek was cold and the spunky dog wanted to jump over it.”
W = [torch.randn(6, 4).double() / 2 for _ in range(3)] + [torch.randn(4, 6).double() / 2]
steps = [n / 8 for n in range(-16, 33)]
try:
    out, A = self_attention(X, *W)
    for label, frozen in (("A free", None), ("A frozen at s = 1", A)):
        off = [(self_attention(s * X, *W, frozen)[0] - s * out).norm() / (s * out).norm() for s in steps]
        plt.plot(steps, off, label=label)
    plt.xlabel("s")
    plt.title("How far f(sX) is from s·f(X), in lengths of s·f(X)")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This curve appears when self_attention is written.")

# %% [markdown] text="superposition_error-text"
# **With A frozen the distance is 0 for every s**, because only products with fixed matrices are left. With A free it is 0 at s = 1 and −1 alone. At s = 0 both sides are 0, so
# neither curve has a point there. So “attention is linear” is true with A frozen and false with A free, and a test at s = −1 alone can't tell the two apart.
#
# ### Exercise `superposition_error`
#
# *{points} · difficulty ●●○ · 3 minutes*
#
# Measure how far a map is from superposition:
#
# $$\frac{\lVert f(X+Y) - f(X) - f(Y) \rVert}{\lVert f(X+Y) \rVert}$$
#
# - **Takes** a function `f` from a tensor to a tensor, and two tensors `X` and `Y` of the same shape, which may be any.
# - **Returns** the quotient as a Python float. Both norms are **Frobenius norms**: the root of the sum of the squares of all entries.
# - If f(X + Y) is 0, the quotient may be `nan`.
#
# An example: for f(x) = x² and X = Y = 1 it is (4 − 1 − 1) / 4 = 0.5.


# %% exercise="superposition_error"
def superposition_error(f, X, Y):
    """How far f is from f(X + Y) = f(X) + f(Y), relative to f(X + Y): a float."""
    ### BEGIN SOLUTION
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).norm() / whole.norm()).item()
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="linear-in-what"
# Now take the head apart. The cell measures its steps with your two functions. A linear map gives 0. Above 1 the error is longer than the output.

# %% figure="predict-one-token"
predict("one_token")

# %% code="linear-in-what-cell"
one, two = embeddings(dtype=torch.float64)[:4], embeddings(dtype=torch.float64)[6:10]
try:
    _, A = self_attention(one, *W)
    maps = {
        "2    the scores, in X": lambda X: (X @ W[0]) @ (X @ W[1]).T,
        "3    softmax, in its input": lambda X: torch.softmax(X, dim=1),
        "4    the mix, in V, with A frozen": lambda X: A @ X,
        "1-5  the head, in X, with A frozen": lambda X: self_attention(X, *W, A)[0],
        "1-5  the head, in X": lambda X: self_attention(X, *W)[0],
        "1-5  the head, in X, for one token": lambda X: self_attention(X[:1], *W)[0],
    }
    for name, f in maps.items():
        print(f"{name:36} {superposition_error(f, one, two):.2f}")
except NotImplementedError:
    print("This table fills when self_attention and superposition_error are written.")

# %% [markdown] text="linear-in-what-after"
# Attention is linear in the **values**, as long as the weights stay as they are.
#
# ## 4 · Over or into?
#
# Back to the creek, with the simplest attention there is: no queries, no keys, and every word has the same weight. The model reads *over* against *into* off the mix
# with one weighted sum. So each word brings one number, its **vote**, and the average of the votes decides. Above 0 is *over*, below 0 is *into*. Choose the votes.

# %% figure="votes"
play(desk.votes())

# %% figure="votes-after"
veil("What rule is this?", "when you have settled all four", of="desk_votes.four", text="""
It is called **XOR**, exclusive or: exactly one of two things holds, water or cold. No adding up of votes can follow it. A rule such as “water **and** cold” is no problem: give *creek* 2,
*cold* 2, and the two others −3.
""")

# %% [markdown] text="creek-text"
# Can the votes of a *trained* model win where yours could not? The cell asks the twin from notebook 00 by how much *over* leads *into*. It adds up this lead for the two
# sentences where *over* is right, and for the two others. With its FFN off, has the *over* pair the same total as the *into* pair?

# %% code="creek" output="fixed"
model = twin.load()


def lead(weather, place, ffn):
    """How far the score of over is ahead of that of into."""
    words = f"the {place} was {weather} and the spunky dog wanted to jump".split()
    scores = model(toy_transformer.tensor([words]), ffn)[0, -1]
    return (scores[world.NUMBER["over"]] - scores[world.NUMBER["into"]]).item()


for ffn in (False, True):
    over = [lead("cold", "creek", ffn), lead("warm", "lawn", ffn)]
    into = [lead("warm", "creek", ffn), lead("cold", "lawn", ffn)]
    print(f"FFN {'on' if ffn else 'off':3}  cold creek {over[0]:6.2f}   warm lawn  {over[1]:6.2f}   together {sum(over):8.4f}")
    print(f"         warm creek {into[0]:6.2f}   cold lawn  {into[1]:6.2f}   together {sum(into):8.4f}")

# %% [markdown] text="creek-after"
# It has, whatever the votes are. To win, one total must be above 0 and the other below.
# **One weighted sum of a mix with fixed weights can't say over or into.**
#
# ### Let the faders move
#
# Write a for water and b for cold. *Into* is right when exactly one of them holds. From here on the high output says *into*, no longer *over*. Can a head do it, with
# queries and keys? First the easy case: one token has both features, each −1 or +1. It can look at itself or at a marker at the start of the sentence, BOS. We set the
# weights so that its query is 50·a and its key is b; the key of BOS is 0. So its score with itself is 50·a·b, and with BOS it is 0. The values are 0 for the token and
# 1 for BOS.

# %% figure="predict-one-head"
predict("one_head")

# %% code="scores-multiply" output="fixed"
Wq, Wk, Wv = (torch.tensor(column, dtype=torch.float64)[:, None] for column in ([50, 0, 0], [0, 1, 0], [0, 0, 1]))
print(" a   b   weight on itself   output")
for a, b in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
    X = torch.tensor([[0, 0, 1], [a, b, 0]], dtype=torch.float64)  # BOS, and the token: features a, b, “I am BOS”
    query = X[1] @ Wq  # asks for a ...
    weights = torch.softmax((X @ Wk) @ query, dim=0)  # ... and the key holds b; h = 1
    print(f"{a:2}  {b:2}   {weights[1]:16.2f}   {(weights @ (X @ Wv)).item():6.2f}")

# %% [markdown] text="head-after"
# This is XOR, because here the weights move with a·b. So attention can do it. It can't where it is affine in the features, that is linear plus a constant: **if a token is
# alone in its sequence, or if the weights ignore the features.**
#
# And with the features in two words? We trained sixteen more models of the little world. They have one block of four heads with queries and keys, and **no FFN**. Before and after the heads
# there is a norm, which rescales each token by the spread of its own numbers and adds a bias. We compare them with sixteen that also have an FFN.

# %% figure="predict-learned-attention"
predict("learned_attention")

# %% code="learned-attention" output="fixed"
kinds = {
    "no FFN": without_ffn.stored()["runs"].values(),
    "with an FFN": [run["on"] for run in twin.stored()["learned attention"].values()],
}
for rule, words in (("way", "over or into"), ("feeling", "glad or sorry")):
    for kind, runs in kinds.items():
        print(f"{words:13} {kind:11} right:", *(f"{share:.0%}" for share in sorted(run[rule] for run in runs)))

# %% [markdown] text="learned-attention-after"
# So heads and norms can say it without an FFN, but here fewer models learned to. Those with an FFN have more weights, so it is no fair race.
#
# How can it be done without an FFN? Two heads can. One reports 1 for *creek*, *cold* or both, the other for *lawn*, *warm* or both. So *warm creek* gets 1 + 1,
# and *cold creek* 1 + 0. A single head at *jump* can't, but with a norm after it, it can. Which way these models go, and why *glad or sorry* is easier for them, we have not found out.
#
# <details><summary>Why can't a single head, and what does the norm change?</summary>
#
# The query at *jump* is the same in all scenes. So each word brings a fixed e^score · value. Softmax divides their sum by a positive number, which changes no sign:
# votes again. After a norm with a bias the lead is votes / spread + bias. Its sign is that of votes + bias · spread, and the spread is no sum of votes.
#
# </details>
#
# So an FFN is not the only way. But it works inside one token, and with as many kinks as you like.
#
# ## 5 · Fold the plane
#
# Let the mix at *jump* be (a, b), now with 0 for no. The four scenes are four balls at the corners of a square: blue for *into*, orange for *over*.
# One straight cut leaves at least one ball on the wrong side. On which side a ball lies is the sign of a weighted sum of a, b and 1: votes again.
#
# Now give the token two neurons. Where a neuron's sum is below 0, ReLU makes it 0. The line where the sum is 0 is the neuron's **hinge**. ReLU flattens the side
# below. We call that a fold. Press *Play*: two hinges fold the sheet, so its axes are the two neurons' outputs. One straight knife cuts it, and it unfolds again. So
# far two of the four balls are right. Move the hinges and the knife.

# %% figure="fold-by-hand"
play(fold.xor())

# %% [markdown] text="xor_weights-text"
# The cut is straight on the folded sheet. On the whole sheet it has a kink at each hinge that it crosses.
#
# ### Exercise `xor_weights`
#
# *{points} · difficulty ●●○ · 8 minutes*
#
# Write down a small network that computes XOR: `out = relu(x @ W1 + b1) @ W2 + b2`. Each column of `W1` with its entry of `b1` is one neuron.
#
# - **Takes** two different numbers, `low` and `high`. Either may be the larger one, and either may be negative.
# - **Returns** four tensors of floating-point numbers: `W1` [2, H], `b1` [H], `W2` [H, 1], `b2` [1]. You choose H, from 1 to 8.
# - For the inputs (0, 1) and (1, 0) the output is `high`, for (0, 0) and (1, 1) it is `low`. It may be off by a hundredth of the distance between the two.


# %% exercise="xor_weights"
def xor_weights(low, high):
    """W1 [2, H], b1 [H], W2 [H, 1], b2 [1] of a ReLU network that gives `high` where exactly one of two features is on, else `low`."""
    ### BEGIN SOLUTION
    W1 = torch.tensor([[1.0, 1.0], [1.0, 1.0]])  # both neurons read a + b
    b1 = torch.tensor([0.0, -1.0])  # the first starts to rise at 0, the second at 1
    W2 = torch.tensor([[1.0], [-2.0]]) * (high - low)  # up with the first, and twice as steeply down
    b2 = torch.tensor([low])  # where all of it begins
    return W1, b1, W2, b2
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="fold-text"
# **Your own network.** If it has two neurons, it folds this sheet, and the board counts how many of your numbers are not 0. Can you do with fewer? Run the cell of
# `xor_weights` again, then this one.

# %% figure="fold"
play(lambda: fold.network_board(*xor_weights(0.0, 1.0)))

# %% [markdown] text="fold-after"
# <details><summary>How few, and why not fewer? Open this when you have tried.</summary>
#
# As b goes from 0 to 1, one ReLU moves its output in one direction only, whatever a is. XOR has to go up for a = 0 and down for a = 1. So two neurons have to read b, and
# likewise two have to read a. With two neurons only, both read both. That makes four numbers in W1 and two in W2. Three or more neurons that do anything need
# at least two numbers each, which is six again.
#
# With `low` = 0 six are enough: one neuron for *a, but not b*, one for *b, but not a*.
#
# </details>
#
# Now put the two halves together. Attention mixes half of each word, and your neurons read the mix.

# %% code="block"
vectors = {"creek": [2.0, 0.0], "lawn": [0.0, 0.0], "cold": [0.0, 2.0], "warm": [0.0, 0.0]}  # how much water, how much cold
try:
    W1, b1, W2, b2 = (part.double() for part in xor_weights(-1.0, 1.0))
    for weather, place in (("cold", "creek"), ("warm", "creek"), ("cold", "lawn"), ("warm", "lawn")):
        mix = 0.5 * torch.tensor(vectors[weather]).double() + 0.5 * torch.tensor(vectors[place]).double()
        said = (torch.relu(mix @ W1 + b1) @ W2 + b2).item()
        print(f"{weather} {place}: the mix is {mix.tolist()}, the network says {'into' if said > 0 else 'over'}")
except NotImplementedError:
    print("This speaks when xor_weights is written.")

# %% [markdown] text="quiz_hull-text"
# Attention and two neurons: that is a Transformer block in miniature.
#
# | | attention | FFN |
# |---|---|---|
# | looks at | all tokens that it may see | one token |
# | does | averages values | bends; with ReLU, one kink for each neuron |
# | linear? | in the values, with A fixed; not in X | no |
# | parameters | $W_Q, W_K, W_V, W_O$: 4·d², all heads together | $W_1, b_1, W_2, b_2$: often about 8·d² |
#
# ## 6 · Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_hull`
#
# In one head, the third number of every value is between 0.2 and 0.5. Where can the third number of a mix lie, before $W_O$? Choose the tightest answer.
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

# %% [markdown] text="surprise-text"
# ## 7 · Deeper
#
# *deeper: the core path ends here*
#
# ### And a norm?
#
# Does training find two such neurons? The cell trains a thousand networks of each width on XOR. Then it puts a **LayerNorm** in the place of the ReLU, between the two linear layers. Is
# the network linear then?

# %% figure="predict-xor-two-neurons"
predict("xor_two_neurons")

# %% code="search"
torch.set_num_threads(1)  # in networks as small as these, threads only wait for each other
corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
wanted = torch.tensor([[0.0], [1.0], [1.0], [0.0]])


def learned(count, H, middle):
    """The share of so many networks with H hidden numbers that learn XOR from random starts, with Adam."""
    shapes = [(2, H, 2), (1, H, 2), (H, 1, H), (1, 1, H)]  # of W1, b1, W2, b2; and the fan-in
    parameters = [((2 * torch.rand(count, a, b) - 1) / fan_in**0.5).requires_grad_() for a, b, fan_in in shapes]
    optimiser = torch.optim.Adam(parameters, lr=0.05)
    for _ in range(500):
        W1, b1, W2, b2 = parameters
        out = middle(corners @ W1 + b1) @ W2 + b2  # [count, 4, 1]
        optimiser.zero_grad()
        F.binary_cross_entropy_with_logits(out, wanted.expand_as(out), reduction="sum").backward()
        optimiser.step()
    return ((out > 0) == (wanted > 0.5)).all(dim=1).double().mean().item()


torch.manual_seed(0)
for H in (1, 2, 4, 8):
    print(f"Linear → ReLU → Linear, {H} hidden: {learned(1000, H, torch.relu):4.0%} of 1,000 learn XOR")
share = learned(1000, 3, lambda x: F.layer_norm(x, x.shape[-1:]))
print(f"Linear → LayerNorm → Linear, 3 hidden: {share:4.0%}")

# %% [markdown] text="quiz_xor-text"
# LayerNorm divides by the spread of the token's own numbers, and such a division is not linear. So four things in a block are not linear: attention's products of X
# with X, the softmax, the norm, and the activation of the FFN.
#
# ### Question `quiz_xor`
#
# *deeper*
#
# Train a thousand networks Linear → LayerNorm → Linear with only **2** hidden numbers. How many of them learn XOR, and why?
#
# - **A.** More than with 3, because fewer numbers are easier to train.
# - **B.** None, because LayerNorm leaves nothing of two numbers but which one is larger.
# - **C.** About a quarter, as with two ReLU neurons, because each hidden number draws a line.

# %% quiz="quiz_xor"
quiz_xor = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_xor = "B"
### END SOLUTION

# %% [markdown] text="M1-text"
# ### In your own words
#
# *question M1 · {points}, graded by your instructor · 6 minutes*
#
# A colleague says: “Attention is linear. That is why a Transformer needs an FFN.”
#
# 1. In which sense is the first sentence true? Say what is held fixed, and in what the map is linear.
# 2. In which sense is it false? Give one input and one experiment that shows it.
# 3. What is attention for a sequence of one token? Does either of these show that a Transformer needs an FFN: that case, or “attention is linear”?
#
# Write into the cell below.

# %% [markdown] question="M1" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) With the attention matrix A **held fixed**, the head is X ↦ A X W_V W_O: a product of constant matrices, linear in X, and always linear in
# the values V for given weights. Before W_O each output is then a weighted average of the values and stays in their convex hull. (2) As a map of **X** it is not linear, since
# A = softmax(X W_Q W_Kᵀ Xᵀ / √h) is made from X: scores are products of features, and softmax is not linear. Double all vectors of a sentence: f(2X) is not 2·f(X); or
# compute the superposition error for two sentences, which is 0 with A frozen and clearly not with A free. One head with two tokens even computes XOR. (3) For
# **T = 1** the softmax of a single score is 1, whatever it is: A is constant, and attention is exactly linear (affine with biases), so it can't do XOR of the
# token's features. The FFN is needed where a token must be changed by itself, on the basis of its own features, with many kinks. That attention is “linear” is not
# the reason in general: it can multiply, and LayerNorm is not linear, either.
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
# - compute attention, with its own weights or with yours, and say where a mix can lie: `self_attention`, `reach_star`;
# - say in what attention is linear and in what it is not, and measure it: `superposition_error`;
# - say why no adding up of votes decides *over or into*, and write down two neurons that do: `xor_weights`.
#
# **Your own part.** Your `self_attention` is kept in `my_transformer.py`. The model of notebook 00 now calls it, with a fixed A that averages.
#
# Next: `02_feed_forward`, where you wire neurons by hand, and find the same ones in a trained model.

# %% figure="progress"
machine()
progress()
