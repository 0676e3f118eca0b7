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
# # 03 · A wire and a ribbon
#
# Drag the rings. Each one tilts a straight line, and the thick wire is the sum of the three. The coloured feet below move a line sideways, and the knob at the left edge
# lifts the whole wire. Bring the wire into the ribbon. If you are sure that nobody can, say so with ⚑, and say why. Some levels of this notebook can be won, and some can't.
#
# The creek model's FFN adds up what 64 neurons say. Think of each line as a neuron with only one number in and one number out.
#
# <span class="ffn-notebook-only">To wake the board up, press <b>Shift + Enter</b> three times. Keys work, too: Tab goes to a knob, and the arrows move it.</span>

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course.boards import wire
from ffnlab.course.experiments import square
from ffnlab.course.figures import anatomy
from ffnlab.drawing import style

style.use()
torch.set_num_threads(1)  # for arrays as small as ours, one thread is fastest

# %% figure="straight"
play(wire.straight())

# %% figure="straight-after"
veil("What if you had a thousand lines?", "when you have settled the level", of="wire_straight.straight", text="""
A thousand lines add up to a line. A second layer of lines does not help either, because a line of a line is a line. So a feed-forward network without its
activation never leaves this level, however large it is.
""")
anatomy.block("03")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M3, which can wait for another day |
# | **You need** | `02_feed_forward`; derivatives |
# | **Points** | {points} |
#
# ## Where a kink is
#
# So each line has to be bent before it is added. That is what an FFN's **activation** does. The simplest one is **ReLU**. It keeps what is positive and turns the rest into 0:
#
# $$\mathrm{relu}(z) = \max(z, 0)$$
#
# A neuron then computes `v·relu(w·x + b)`. It has a flat side, a sloped side, and a **kink** between them. On these boards w is 1 or −1. To turn a neuron round, press its
# term in the formula.
#
# There are three levels. Walk along each ribbon from left to right, and watch the slope.

# %% figure="kinks"
play(wire.kinks())

# %% figure="kinks-after"
veil("How sharp is a kink?", "when the tent is done", of="wire_kinks.tent", text="""
- **Where is it?** Where w·x + b is 0, so at x = −b/w.
- **How sharp is it?** From left to right the slope changes by |w|·v.
- **Which side is flat?** The left one if w is positive, the right one if w is negative.

Why |w|, and not w? Take w = −1 and v = 1. Left of the kink the slope is −1, and right of it 0. That is a change of +1.

The valley's corner changes the slope by 2. Two neurons at 0, turned opposite ways, make 1 each, and leave no side flat.
""")

# %% [markdown] text="steepest_counterexample-text"
# ## A classmate's code
#
# How steep does a network get, up or down? The function below starts left of all kinks, goes over them one after the other, and keeps the steepest slope that it meets.
# We tried it on 10,000 random networks, and it was right each time. It is wrong all the same.
#
# ### Exercise `steepest_counterexample`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# Find a network for which it returns a wrong number, as three lists w, b and v of equal length. No w is 0. No number is larger than 1,000, and none is closer to 0 than 0.001,
# except 0 itself. Any such network earns 1.5 of the 2 points, and the smallest possible one earns both.
#
# *Stuck? Run `hint("steepest_counterexample")` in a cell of your own. Every exercise has hints.*


# %% code="steepest"
def steepest(w, b, v):
    """The steepest slope, up or down, of the sum of all v·relu(w·x + b)."""
    order = sorted(range(len(w)), key=lambda k: -b[k] / w[k])
    slope = sum(w[k] * v[k] for k in order if w[k] < 0)
    largest = abs(slope)
    for k in order:
        slope += abs(w[k]) * v[k]
        largest = max(largest, abs(slope))
    return largest


print(steepest([2.0], [1.0], [-3.0]), "for one neuron with w = 2 and v = −3")

# %% exercise="steepest_counterexample"
steepest_counterexample = ...  # ([w, …], [b, …], [v, …])
### BEGIN SOLUTION
steepest_counterexample = ([1.0, 1.0], [0.0, 0.0], [3.0, -2.0])  # one place, so the slope of 3 has no piece
### END SOLUTION

# %% [markdown] text="count_pieces-text"
# ## How many pieces?
#
# ### Exercise `count_pieces`
#
# *{points} · difficulty ●●● · 8 minutes · deeper: you can come back to it later*
#
# Each kink ends a piece and begins the next. So m neurons in one layer make m + 1 pieces at most, and often there are fewer. Write the referee who counts them.
#
# You get `W1` [1, m], `b1` [m] and `W2` [m, 1] of the network `relu(x @ W1 + b1) @ W2`, and two numbers `A` < `B`. Return how many straight pieces it has from A to B, as an
# integer. That is 1 plus the number of places strictly between A and B where the slope changes.
#
# Weights may be 0. All numbers are chosen so that nothing is rounded: compare exactly.
#
# For example, `W1 = [[1., 1., 1.]]`, `b1 = [0., -1., -5.]` and `W2 = [[2.], [-1.], [4.]]` put kinks at 0, 1 and 5. From −2 to 2 there are three pieces.


# %% exercise="count_pieces"
def count_pieces(W1, b1, W2, A, B):
    """How many straight pieces relu(x @ W1 + b1) @ W2 has on [A, B], an integer."""
    ### BEGIN SOLUTION
    change = {}  # place of a kink -> change of slope there
    for w, b, v in zip(W1[0].tolist(), b1.tolist(), W2[:, 0].tolist(), strict=True):
        if w != 0 and A < -b / w < B:
            change[-b / w] = change.get(-b / w, 0.0) + abs(w) * v
    return 1 + sum(c != 0 for c in change.values())
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="arch-text"
# ## The bowl
#
# This ribbon follows x². It bends everywhere, and each of your neurons bends at one point only.

# %% figure="arch"
play(wire.arch())

# %% [markdown] text="relu_interpolant-text"
# ### Exercise `relu_interpolant`
#
# *{points} · difficulty ●●● · 12 minutes*
#
# Four neurons by hand are fun. Forty are not. Write the function that plays for you. It needs no training, because you can write the weights down.
#
# You get the number of pieces `n` and the ends `A` < `B` of an interval. Cut it into n equal pieces. At their n + 1 ends the network should meet x², and between them it
# should be straight. Return four tensors of floats, `W1` [1, m], `b1` [m], `W2` [m, 1] and `b2` [1], of the network `relu(x @ W1 + b1) @ W2 + b2`.
#
# - Use as many neurons m as you like. n of them are enough.
# - Outside the interval it may do anything.
#
# For example, `relu_interpolant(2, 0.0, 2.0)` gives 0 at 0, 1 at 1 and 4 at 2. Halfway between the last two it gives 2.5.


# %% exercise="relu_interpolant"
def relu_interpolant(n, A, B):
    """W1 [1, m], b1 [m], W2 [m, 1], b2 [1] of a ReLU network that interpolates x² with n pieces on [A, B]."""
    ### BEGIN SOLUTION
    nodes = torch.linspace(A, B, n + 1, dtype=torch.float64)
    slopes = nodes[:-1] + nodes[1:]  # (t² - s²) / (t - s), one for each piece
    changes = torch.diff(slopes, prepend=torch.zeros(1, dtype=torch.float64))
    return torch.ones(1, n, dtype=torch.float64), -nodes[:-1], changes[:, None], nodes[:1] ** 2
    ### END SOLUTION
    raise NotImplementedError

# %% figure="predict-twice-the-pieces"
predict("twice_the_pieces")

# %% figure="thousandth"
play(lambda: wire.thousandth(relu_interpolant))

# %% figure="thousandth-after"
veil("Why just this factor?", "when you are within a thousandth", of="wire_thousandth.thousandth", text="""
Look at one piece, from s to t. Halfway the wire is at the mean of the squares, and the curve is at the square of the mean. The gap between the two is

`(s² + t²)/2 − ((s + t)/2)² = ((t − s)/2)²`

With n pieces on [−1, 1] a piece has length 2/n, so the gap is 1/n². Half as long, a quarter of the gap.

The place of the piece does not matter, only its length. So equal pieces are best: no other cut has a shorter longest piece.

Can n pieces do better? Yes, by a factor of two. The wire is never below the curve. Lower it by half the gap, and it is off by 1/(2n²), in both directions. No chain of n
straight pieces beats that, so the record is 23 pieces. Leave `relu_interpolant` as it is: there the corners are on the curve.
""")

# %% [markdown] text="fewest_neurons-text"
# ### Exercise `fewest_neurons`
#
# *{points} · difficulty ●●● · 12 minutes · deeper: you can come back to it later*
#
# In the bowl two neurons made three pieces, one neuron for each corner. In `relu_interpolant` you used n neurons for n pieces. For some n, A and B, n − 1 neurons are enough,
# and for others nobody can do it. Find out which, and always return the network with the fewest neurons. The function takes what `relu_interpolant` takes, and its
# network has to meet the same heights. A function that always uses n neurons earns nothing here, since you have written that already.
#
# - Each column of W1 counts as a neuron, even if it does nothing.
# - n may be 1. In the check all numbers are chosen so that nothing is rounded.
#
# For example, two pieces take one neuron on [−0.5, 1.5], and two on [0, 2]. How many do 33 pieces on [−1, 1] take?


# %% exercise="fewest_neurons"
def fewest_neurons(n, A, B):
    """W1 [1, m], b1 [m], W2 [m, 1], b2 [1] of the ReLU network with the fewest neurons that interpolates x² with n pieces on [A, B]."""
    ### BEGIN SOLUTION
    nodes = torch.linspace(A, B, n + 1, dtype=torch.float64)
    slopes = nodes[:-1] + nodes[1:]
    flat = torch.nonzero(slopes == 0)
    if not len(flat):  # no piece on which all neurons can be silent
        changes = torch.diff(slopes, prepend=torch.zeros(1, dtype=torch.float64))
        return torch.ones(1, n, dtype=torch.float64), -nodes[:-1], changes[:, None], nodes[:1] ** 2
    corners = nodes[1:-1]
    side = torch.where(corners <= nodes[flat[0]], -1.0, 1.0).double()  # away from the flat piece
    return side[None, :], -side * corners, torch.diff(slopes)[:, None], nodes[flat[0]] ** 2
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="curve_interpolant-text"
# ## Beat the machine
#
# Was x² special? Look at your answer. W1 and b1 say where the kinks are, and they know nothing about x². Only W2 and b2 do. So you can keep your first layer and choose a
# new second one for each curve.
#
# Then you change sides. On the board below the exercise you draw the curve with the pointer, and you choose how wide the ribbon is. Your function follows, with as many pieces
# as it needs. Draw something that it can't follow.
#
# ### Exercise `curve_interpolant`
#
# *{points} · difficulty ●●○ · 4 minutes*
#
# You get the heights `y` [n + 1] of a curve at n + 1 equally spaced places, the first at `A` and the last at `B`. Return the four tensors of a network that meets every height
# and is straight in between.
#
# For example, `curve_interpolant(torch.tensor([0., 1.5, 0.]), -1.0, 1.0)` is a tent. It gives 0.75 at −0.5.


# %% exercise="curve_interpolant"
def curve_interpolant(y, A, B):
    """W1 [1, m], b1 [m], W2 [m, 1], b2 [1] of a ReLU network that joins the heights y [n + 1] on [A, B]."""
    ### BEGIN SOLUTION
    n = len(y) - 1
    nodes = torch.linspace(A, B, n + 1, dtype=y.dtype)
    slopes = torch.diff(y) / torch.diff(nodes)
    changes = torch.diff(slopes, prepend=torch.zeros(1, dtype=y.dtype))
    return torch.ones(1, n, dtype=y.dtype), -nodes[:-1], changes[:, None], y[:1]
    ### END SOLUTION
    raise NotImplementedError

# %% figure="beat"
play(lambda: wire.beat(curve_interpolant))

# %% figure="beat-after"
veil("How does it always win?", "when you have settled the level", of="wire_beat.beat", text="""
A strategy that always wins is a proof. You have chosen a curve f without a jump, from A to B with both ends included, and a ribbon of ±ε around it.

1. Cut the interval into pieces so short that f changes by less than ε on each. Such a curve on such an interval allows it.
2. Put the wire on the curve at every cut.
3. Between two cuts the wire is straight. So it stays between its heights at the cuts.
4. At any place between them, the curve is less than ε away from both heights. So it is less than ε away from the wire. ∎

**One hidden layer of ReLUs comes as close as you like to any continuous curve on an interval with both its ends.**

The theorem does not say what the network does outside, or how many neurons it takes.
""")

# %% figure="predict-trained-square"
predict("trained_square")

# %% code="learned"
sizes = [1, 2, 4, 8, 16, 32, 64]
x = square.points().double()
try:
    nets = [[part.double() for part in relu_interpolant(n, -1.0, 1.0)] for n in sizes]
    found = [(torch.relu(x @ W1 + b1) @ W2 + b2 - x**2).square().mean().sqrt() for W1, b1, W2, b2 in nets]
    plt.loglog(sizes, found, "o-", label="built by you")
    for neurons in (2, 8, 32):  # five networks each, 3,000 steps of Adam
        errors = square.train(neurons, label=f"x² with {neurons} neurons")
        plt.loglog([neurons] * 5, [error.root_mean_square for error in errors], "x", label=f"trained, {neurons} neurons")
        fifteen = [run["root_mean_square"] for run in square.stored()["runs"][str(neurons)]]
        plt.loglog([neurons * 1.15] * 15, fifteen, "_", color="gray", label="fifteen more runs of each, drawn beside" if neurons == 32 else None)
    plt.xticks(sizes, sizes)
    plt.minorticks_off()
    plt.title("How far from x²?")
    plt.xlabel("neurons")
    plt.ylabel("root mean square error")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("The picture appears when relu_interpolant is written.")

# %% figure="predict-at-three"
predict("at_three")

# %% [markdown] text="ever-text"
# ## For ever
#
# The ribbon is x² ± 1, and it has no end. Take as many neurons as you like, and put the last kink as far out as you like. Then widen the view.

# %% figure="ever"
play(wire.ever())

# %% [markdown] text="deep_square-text"
# ## Fold it
#
# *deeper: the core path goes on with “Let it learn”*
#
# To stay within a thousandth of x², a wire needs 23 pieces, and so one layer needs 22 neurons. But a Transformer has an FFN in every block, and the blocks are stacked. What can
# a second layer do with fewer neurons than a wider first one?
#
# Begin with |x|. It is too high by |x| − x²: press *|x|, and its gap* on the board. Which shape does the gap come near to, and how tall is it? Take that shape off, and draw
# what is left.
#
# |x| folds the line at 0: x and −x land on the same number. Whatever the next layer does with that number, it does on both sides. The **tent** folds the numbers from 0 to 1: it
# rises to 1 at ½ and comes back to 0 at 1, so the two halves land on each other, and a third layer works in all four parts. Walk through the layers of the board. Count the
# neurons, and count the kinks.
#
# ### Exercise `deep_square`
#
# *{points} · difficulty ●●● · 20 minutes · deeper*
#
# Bring a network with two hidden layers or more within 0.001 of x² on [−1, 1]. With fewer than 22 neurons in all it earns 3 of the 4 points, with 14 or fewer it earns all. Then
# press *your network* on the board. How few can you do it with?
#
# - Write it as a list of pairs (W, b), one for each layer. W has a row for each number that comes in and a column for each that goes out. ReLU follows each layer except the last.
# - Lists and tensors will do, and code may compute them. No number is beyond 1,000.
#
# For example, `[([[1., -1.]], [0., 0.]), ([[1.], [1.]], [0.])]` is |x|, which is off by 0.25. A first goal on the way is a network that is off by less than 0.07.

# %% figure="folds"
play(wire.folds(lambda: deep_square))

# %% exercise="deep_square"
deep_square = ...  # [(W, b), (W, b), …]
### BEGIN SOLUTION
deep_square = [([[1.0, -1.0]], [0.0, 0.0])]
tent, total = [1.0, 1.0], [1.0, 1.0]  # how the tent so far, and the sum so far, are read off the neurons of the layer before
for fold in range(1, 5):
    deep_square.append(([[t, t, s] for t, s in zip(tent, total, strict=True)], [0.0, -0.5, 0.0]))
    tent = [2.0, -4.0, 0.0]
    total = [-2 / 4**fold, 4 / 4**fold, 1.0]  # the sum, minus a 4ⁿ-th of the new tent
deep_square.append(([[s] for s in total], [0.0]))
### END SOLUTION

# %% [markdown] text="learn-text"
# ## Let it learn
#
# Until now you set the weights. Now gradient descent does it, for one neuron `relu(w·x + b)`. The dots are its targets, and the ribbon is drawn around them.
# Descent makes the mean squared error at the dots small. A positive gradient pushes its number down, and a negative one pushes it up.

# %% figure="learn"
play(wire.learn())

# %% figure="learn-after"
veil("What is a dead neuron?", "when you have tried to wake it", of="wire_learn.wake", text="""
A neuron is **silent** for an input if its sum there is not above zero. It passes 0 on, and on the way back its gradient is multiplied by ReLU's slope there, which is 0. A
neuron that is silent for every input of a data set is **dead** on it. Plain gradient descent then leaves its weights where they are.

Three things can still wake it: other inputs, layers below that change what it reads, and sometimes momentum, with which the weights go on along earlier gradients. Weight decay won't do
it here. If it shrinks w and b alike, the kink stays where it is. If it shrinks w alone, every sum moves towards b, which is below 0.
""")

# %% [markdown] text="wake-text"
# ## Four activations
#
# ReLU is x times 0 or 1: all of x passes, or none of it. In most newer Transformers this factor, the share of x that passes, grows smoothly from 0 to 1 (in SiLU, for positive β).
#
# | name | value | the share | used in |
# |---|---|---|---|
# | `"relu"` | $\max(x, 0)$ | 0 or 1 | the first Transformer |
# | `"gelu"` | $x\,\Phi(x)$ | $\Phi(x) = \frac12(1 + \mathrm{erf}(x/\sqrt2))$, the share of standard normal numbers below x | the first release of BERT |
# | `"gelu_tanh"` | $\frac12 x\,(1 + \tanh u)$ | nearly $\Phi(x)$, with $u = \sqrt{2/\pi}\,(x + 0.044715\,x^3)$ | GPT-2 |
# | `"silu"` | $x\,\sigma(\beta x)$ | the sigmoid $\sigma(z) = 1/(1 + e^{-z})$ at $z = \beta x$ | LLaMA with β = 1, as the gate of notebook 07. Swish is the same with any β |
#
# The two forms of GELU differ by less than 0.0005. That is too little to matter in training, and enough to fail a comparison of two libraries. `F.gelu(x)` is the first form.
#
# Look at the curves below, left of 0. ReLU is flat there. From left to right, GELU and SiLU first fall and then rise. Can that wake a neuron whose sum is below 0 at every
# dot? Try it. Then try to lose it again.

# %% code="plot-activations"
x = torch.linspace(-5, 3, 401, dtype=torch.float64)
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 6))
for name, value in (("ReLU", F.relu(x)), ("GELU", F.gelu(x)), ("SiLU", F.silu(x))):
    above.plot(x, value, label=name)
    below.plot(x[1:], value.diff() / x.diff(), label=name)
above.set(title="Activation functions", ylabel="value")
below.set(title="Their slopes", xlabel="x", ylabel="slope")
above.legend()
plt.show()

# %% figure="wake"
play(wire.wake())

# %% figure="wake-after"
veil("Do smooth neurons never die?", "when you have taken a thousand steps from b = −9", of="wire_wake.buried", text="""
**Why does GELU come back from b = −1.2?** GELU falls until its input reaches −0.75 and rises from there. At the two rightmost dots the sum, −0.675 and −0.6, is clearly on the
rising side, so these two pull w up. Leave them out, and the neuron wakes at no learning rate of the board.

**A large step kills GELU as well.** Up to a rate of 0.8 it comes back. With 1 it oscillates. At 1.5 and 3 it is lost for good
within five steps, below zero at every dot. At 2, oddly, it takes 365 steps.

**From b = −9** the sum is below −8 at every dot. GELU's gradient there is about 10⁻¹⁵, so no step moves anything. SiLU's gradients are 0.0015 and 0.0009, but SiLU falls until
−1.28, so they push w and b further down.

So say *when* a neuron dies, and on which data.
""")

# %% [markdown] text="activation-text"
# ### Exercise `activation`
#
# *{points} · difficulty ●●○ · 12 minutes · deeper: you can come back to it later*
#
# The value is what a layer passes on. The **slope** is what training needs: on the way back every gradient is multiplied by it. Return both, as a pair of tensors like `x`,
# for the activation called `name`.
#
# - For the values you may call torch. Autograd is off here: write the slopes by hand.
# - The slope of Φ is the bell curve $e^{-x^2/2}/\sqrt{2\pi}$. That of σ is $\sigma\,(1 - \sigma)$, and that of tanh is $1 - \tanh^2$.
# - Only SiLU uses `beta`, which may be 0 or negative.
# - `x` goes up to ±10,000, where an `exp` of your own may overflow. `x` stays as it is.
#
# For example, at x = 0 the three smooth ones have the value 0 and the slope ½. ReLU's slope at exactly 0 is not asked for.


# %% exercise="activation"
def activation(name, x, beta=1.0):
    """The value and the slope of "relu", "gelu", "gelu_tanh" or "silu", for every entry of x [...]: a pair of tensors [...]."""
    ### BEGIN SOLUTION
    if name == "relu":
        return x.clamp(min=0), (x > 0).to(x.dtype)
    if name == "gelu":
        share, growth = 0.5 * (1 + torch.erf(x / math.sqrt(2))), torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    if name == "gelu_tanh":
        k = math.sqrt(2 / math.pi)
        t = torch.tanh(k * (x + 0.044715 * x**3))
        share, growth = 0.5 * (1 + t), 0.5 * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
    if name == "silu":
        share = torch.sigmoid(beta * x)
        growth = beta * share * (1 - share)
    return x * share, share + x * growth
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="quiz_proof-text"
# ## Quiz
#
# ### Question `quiz_proof`
#
# Put the letter in quotes. Use the proof of “Beat the machine” for the curve 1/x, from 0 to 1, where 0 itself is left out. At which line does it break down first?
#
# - **A.** At line 1: the interval can't be cut so finely.
# - **B.** At line 3: between two cuts the wire is not straight.
# - **C.** At none: 1/x has no jump there.

# %% quiz="quiz_proof"
quiz_proof = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_proof = "A"
### END SOLUTION

# %% [markdown] text="M3-text"
# ## The last level, on paper
#
# *question M3 · {points}, graded by your instructor · 15 minutes*
#
# This level has no board. The activation is z² in place of ReLU, so a neuron computes `v·(w·x + b)²`. The ribbon is the valley, |x| ± 0.2 from −2 to 2. You may take a million
# neurons.
#
# 1. What shape does the wire have, however many neurons there are? Why?
# 2. Can you win? Prove it.
# 3. At which of the proof's four lines does the strategy of “Beat the machine” break down first?
# 4. With z⁴ in place of z² this level can be won. So does z⁴ win every level?
#
# Half a page is enough. Double-click the cell below to write.

# %% [markdown] question="M3" points=4
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) v·(w·x + b)² is a polynomial of degree 2 in x, and a sum of such polynomials is one, too. So the wire is p(x) = a·x² + b·x + c, whatever the
# number of neurons. (2) No. Suppose that p wins. The valley is symmetric, so its mirror image p(−x) wins as well, and so does their mean q(x) = a·x² + c. At x = 0 the ribbon
# asks for c ≤ 0.2, and at x = 2 for 4a + c ≤ 2.2. So q(1) = a + c = ((4a + c) + 3c)/4 ≤ (2.2 + 0.6)/4 = 0.7. But at x = 1 the ribbon begins at 0.8. (3) At line 2: a parabola
# can't be put on the curve at every cut, since three of its points decide the others. (4) No. However many neurons there are, the wire is a polynomial of degree 4, and that
# turns back three times at most. The zigzag of this notebook asks for four. (Here 0.14 + 0.94·x² − 0.125·x⁴ wins.)
#
# **Rubric.** One point each:
#
# - (1) sums of squares of affine functions are polynomials of degree 2, so the number of neurons does not matter. Half a point for the shape without the reason.
# - (2) a contradiction from a few values, by a mirror or otherwise. For example p(−2) − 4·p(−1) + 6·p(0) − 4·p(1) + p(2) is 0 for every parabola, and in the ribbon
#   it is at most 2.2 − 3.2 + 1.2 − 3.2 + 2.2 = −0.8. Half a point for “no” with a picture.
# - (3) line 2, with a reason. Half a point for line 3, because the wire is not straight between two cuts: that is true, but line 2 has failed before.
# - (4) no, with a level that is lost and a reason: the zigzag, or a ribbon around |x| so narrow that degree 4 can't follow. Half a point for “no” because z⁴ is a polynomial.
# <!-- ### END SOLUTION -->

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | Without an activation a network is one straight line, however large it is. | the first board |
# | A ReLU neuron turns the wire at its kink and nowhere else, so after the last kink the wire is straight for ever. | `steepest_counterexample`, *For ever* |
# | With enough kinks, one hidden layer follows any continuous curve on a closed interval; nothing says that training finds them. | `curve_interpolant`, *Beat the machine* |
# | Twice the pieces, a quarter of the gap: n pieces follow x² on [−1, 1] within 1/n². | `relu_interpolant`, the guess about twice the pieces |
# | A ReLU neuron that is silent for every input is dead on that data. A smooth one is never quite silent, and can be lost all the same. | *Let it learn*, *Four activations* |
#
# **Your own part.** The creek model of notebook 00 has 64 neurons with a kink each. Once you have earned `activation`, which is deeper, these kinks are yours.
#
# Next: `04_every_position`, where one network meets a whole sentence.

# %% figure="progress"
machine()
progress()

# %% [markdown] text="lamps-text"
# ## Deeper
#
# *deeper: the core path ends above*
#
# **How many fire?** ReLU has one more gift, exact zeros. Where a neuron is silent, nothing has to be multiplied. The share of zeros is called **sparsity**. Take a new model
# of the same size as that of notebook 00, with an FFN of 64 ReLU neurons, and feed it every word of its 4,096 sentences. Before training, about half of all the sums w·x + b are above
# zero, so that the neuron fires. Then it learns to say the next word, and nothing else is asked of it. More was asked of the model of notebook 00.

# %% figure="predict-world-fires"
predict("world_fires")

# %% figure="predict-world-fires-penalty"
predict("world_fires_penalty")

# %% [markdown] text="theorems-text"
# **Many inputs.** One hidden layer comes as close as you like to any continuous function of any number of inputs, on a closed and bounded set, as long as its activation is
# **not a polynomial**. [Leshno and others 1993](https://doi.org/10.1016/S0893-6080(05)80131-5) proved it for all that are locally bounded and continuous except on a negligible set. The older proofs
# of Cybenko and Hornik ask for a bounded activation. Two ReLUs make one: `relu(x) - relu(x - 1)`. For whole Transformers see [Yun et al. 2020](https://arxiv.org/abs/1912.10077).
#
# With d inputs a kink becomes a flat cut through space. N cuts make $\binom N0 + \dots + \binom Nd$ pieces at most, where $\binom Nk$ counts the ways to choose k of N. So 32
# neurons in one layer make at most 33 pieces with one input, and at most 15,033,173 with eight. [Montúfar and others 2014](https://arxiv.org/abs/1402.1869) count the pieces of deep
# networks, by folds.
#
# **In large models.** Before training, a neuron's sum is roughly normal over the inputs. With mean m and standard deviation s the neuron fires with probability $\Phi(m/s)$, for
# example on 2 % of them at m = −2s. Some large models become sparse even without a penalty: in T5-Base 97 % of the neurons are silent on average, as
# [Li et al. 2023](https://arxiv.org/abs/2210.06313) found. [Mirzadeh et al. 2023](https://arxiv.org/abs/2310.04564) put such zeros to use. GELU and SiLU are from
# [Hendrycks and Gimpel 2016](https://arxiv.org/abs/1606.08415). Notebook 07 says which activation learns best.
