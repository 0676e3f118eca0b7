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
from ffnlab.course.figures import activations as figures
from ffnlab.course.figures import anatomy
from ffnlab.drawing import controls, style

style.use()
torch.set_num_threads(1)  # for arrays as small as ours, one thread is fastest

# %% figure="straight"
play(wire.straight())

# %% figure="straight-after"
veil("What if you had a thousand lines?", "when you have settled the level", of="wire_straight.straight", text="""
A thousand lines add up to a line. A second layer of lines does not help either, because a line of a line is a line. So a feed-forward network without its
activation never leaves this level, however large it is.
""")

# %% figure="anatomy"
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
# So bend each line before you add it. The simplest way is **ReLU**. It keeps what is positive and turns the rest into 0:
#
# $$\mathrm{relu}(z) = \max(z, 0)$$
#
# A unit then computes `v·relu(w·x + b)`. It has a flat side, a sloped side, and a **kink** between them. On these boards w is 1 or −1. Press a term of the formula to
# turn its unit round.
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

The valley's corner changes the slope by 2. Two units at 0, turned opposite ways, make 1 each, and leave no side flat.
""")

# %% [markdown] text="steepest_counterexample-text"
# ## A classmate's code
#
# How steep does a network get, up or down? The function below starts left of all kinks, goes over them one after the other, and keeps the steepest slope that it meets.
# We tried it on 10,000 random networks, and it was right each time. It is wrong all the same.
#
# ### Exercise `steepest_counterexample`
#
# *{points} · difficulty ●●● · 5 minutes*
#
# Find a network for which it returns a wrong number: three lists, one number for each unit. No w is 0, and no number is larger than 1,000 or closer to 0 than 0.001, apart
# from 0 itself. Any such network earns most of the points. How few units can you do it with?
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


print(steepest([2.0], [1.0], [-3.0]), "for one unit with w = 2 and v = −3")

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
# Each kink ends a piece and begins the next, so m units make m + 1 pieces at most. Often there are fewer. Write the referee who counts them.
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
# ## The arch
#
# This ribbon follows x². Nothing in your box is round.

# %% figure="arch"
play(wire.arch())

# %% [markdown] text="relu_interpolant-text"
# ### Exercise `relu_interpolant`
#
# *{points} · difficulty ●●● · 12 minutes*
#
# Four units by hand are fun. Forty are not. Write the function that plays for you. It needs no training, because you can write the weights down.
#
# You get the number of pieces `n` and the ends `A` < `B` of an interval. Cut it into n equal pieces. At their n + 1 ends the network should meet x², and between them it
# should be straight. Return four tensors of floats, `W1` [1, m], `b1` [m], `W2` [m, 1] and `b2` [1], of the network `relu(x @ W1 + b1) @ W2 + b2`.
#
# - Use as many units m as you like. n of them are enough.
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
veil("Why a quarter?", "when you are within a thousandth", of="wire_thousandth.thousandth", text="""
Look at one piece, from s to t. Halfway the wire is at the mean of the squares, and the curve is at the square of the mean. The gap between the two is

`(s² + t²)/2 − ((s + t)/2)² = ((t − s)/2)²`

With n pieces on [−1, 1] a piece has length 2/n, so the gap is 1/n². Half as long, a quarter of the gap.

Can n pieces do better? Yes, by a factor of two. The wire is never below the curve. Lower it by half the gap, and it is off by 1/(2n²), in both directions. No chain of n
straight pieces beats that, so the record is 23.
""")

# %% [markdown] text="fewest_units-text"
# ### Exercise `fewest_units`
#
# *{points} · difficulty ●●● · 12 minutes · deeper: you can come back to it later*
#
# On the arch two units made three pieces, one unit for each corner. You used n units for n pieces. For some n, A and B, n − 1 units are enough, and for
# others nobody can do it. Find out which. Arguments and heights are those of `relu_interpolant`. Always return the network with the fewest units.
#
# - Each column of W1 counts as a unit, even if it does nothing.
# - n may be 1. In the check all numbers are chosen so that nothing is rounded.
#
# For example, two pieces take one unit on [−0.5, 1.5], and two on [0, 2]. How many do 33 pieces on [−1, 1] take?


# %% exercise="fewest_units"
def fewest_units(n, A, B):
    """W1 [1, m], b1 [m], W2 [m, 1], b2 [1] of the ReLU network with the fewest units that interpolates x² with n pieces on [A, B]."""
    ### BEGIN SOLUTION
    nodes = torch.linspace(A, B, n + 1, dtype=torch.float64)
    slopes = nodes[:-1] + nodes[1:]
    flat = torch.nonzero(slopes == 0)
    if not len(flat):  # no piece on which all units can be silent
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
# Was x² special? Look at your answer. W1 and b1 say where the kinks are, and they know nothing about x². Only W2 and b2 do. So keep your first layer, and choose a new
# second one for each curve.
#
# Then change sides. On the board below the exercise you draw the curve, with the pointer, and choose how wide the ribbon is. Your function follows, with as many pieces as it
# needs. Draw something that it can't follow.
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
3. Between two cuts the wire is straight. So it stays between its heights at the two cuts.
4. Take any place on a piece. The curve there is less than ε away from the left height, and less than ε away from the right one. The wire is between these heights. So the
   wire is less than ε away from the curve. ∎

**One hidden layer of ReLUs comes as close as you like to any continuous curve on an interval with both its ends.** You have built the network that proves it.

The theorem does not say that few units are enough. It does not say that training finds them. And it says nothing about what is outside.
""")

# %% figure="predict-trained-square"
predict("trained_square")

# %% code="learned"
sizes = [1, 2, 4, 8, 16, 32, 64]
x = torch.linspace(-1, 1, 2049, dtype=torch.float64)[:, None]
try:
    nets = [[part.double() for part in relu_interpolant(n, -1.0, 1.0)] for n in sizes]
    found = [(torch.relu(x @ W1 + b1) @ W2 + b2 - x**2).abs().max().item() for W1, b1, W2, b2 in nets]
    plt.loglog(sizes, found, "o-", label="built by you")
    for units in (2, 8, 32):  # five networks each, 3,000 steps of Adam
        errors = square.train(units, label=f"x² with {units} units")
        plt.loglog([units] * len(errors), errors, "x", label=f"trained, {units} units")
    plt.xticks(sizes, sizes)
    plt.minorticks_off()
    plt.title("How far from x²?")
    plt.xlabel("units")
    plt.ylabel("largest error")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("The picture appears when relu_interpolant is written.")

# %% figure="predict-at-three"
predict("at_three")

# %% [markdown] text="ever-text"
# ## For ever
#
# The ribbon is x² ± 1, and it has no end. Take as many units as you like, and put the last kink as far out as you like. Then widen the view.

# %% figure="ever"
play(wire.ever())

# %% [markdown] text="learn-text"
# ## Let it learn
#
# Until now you set the weights. Now gradient descent does, for one unit `relu(w·x + b)`. The dots are its targets.

# %% figure="learn"
play(wire.learn())

# %% figure="learn-after"
veil("What is a dead unit?", "when you have tried to wake it", of="wire_learn.wake", text="""
A unit is **silent** for an input if its sum there is not above zero. It passes 0 on, and on the way back its gradient is multiplied by ReLU's slope there, which is 0. A
unit that is silent for every input of a data set is **dead** on it. Plain gradient descent then leaves its weights where they are.

Three things can still wake it: other inputs, layers below that change what it reads, and momentum, with which the weights go on along earlier gradients. Weight decay moves
them without any gradient. But if w and b shrink alike, the kink stays, and if w shrinks alone, every sum moves towards b, which is below 0 here.
""")

# %% [markdown] text="wake-text"
# ## Four activations
#
# ReLU multiplies x by a share that is 0 or 1. In most newer Transformers the share grows smoothly from 0 to 1.
#
# | name | value | the share | used in |
# |---|---|---|---|
# | `"relu"` | $\max(x, 0)$ | 0 or 1 | the first Transformer |
# | `"gelu"` | $x\,\Phi(x)$ | $\Phi(x) = \frac12(1 + \mathrm{erf}(x/\sqrt2))$, the share of standard normal numbers below x | BERT at first |
# | `"gelu_tanh"` | $\frac12 x\,(1 + \tanh u)$ | nearly $\Phi(x)$, with $u = \sqrt{2/\pi}\,(x + 0.044715\,x^3)$ | GPT-2 |
# | `"silu"` | $x\,\sigma(\beta x)$ | the sigmoid $\sigma(z) = 1/(1 + e^{-z})$ at $z = \beta x$ | LLaMA with β = 1, as the gate of notebook 07. Swish is the same with any β |
#
# The two forms of GELU differ by less than 0.0005. That is too little to matter in training, and enough to fail a comparison of two libraries. `F.gelu(x)` is the first form.
#
# Look at the curves below, left of 0. ReLU is flat there. From left to right, GELU and SiLU first fall and then rise. Can that wake a unit that is silent at every
# dot? Try it, then start at b = −9 and take a thousand steps.

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
veil("Do smooth units never die?", "when you have taken a thousand steps from b = −9", of="wire_wake.deep", text="""
Why does GELU come back from b = −1.2? It falls until −0.75, and from there it rises. At the two dots furthest right the sum is already right of that place, so these two pull w
up. Without them the unit is not woken: in 1,000 steps at any of the board's learning rates its sum stays below zero at every dot.

From b = −9 the sum is below −8 at every dot, so every dot pushes its own sum down. GELU's gradient there is about 10⁻¹⁵, and no step moves anything. In float32 even its value is exactly 0.
SiLU rises from −1.28 on. Its gradients are 0.0015 and 0.0009, but they push w and b further down. In 1,000 steps neither of the two comes back, at any of the board's
learning rates.

So say *when* a unit dies, and on which data.
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

# %% [markdown] text="quiz_pieces-text"
# ## Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_pieces`
#
# The wire meets x² at both ends of its 8 pieces on [−1, 1], and you choose how long each piece is. Where should they be short, so that the largest gap is as small as possible?
#
# - **A.** Near −1 and 1, because x² is steep there.
# - **B.** Near 0, because x² turns there.
# - **C.** Nowhere. They should be equally long.

# %% quiz="quiz_pieces"
quiz_pieces = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_pieces = "C"
### END SOLUTION

# %% [markdown] text="quiz_proof-text"
# ### Question `quiz_proof`
#
# Use the proof of “Beat the machine” for the curve 1/x, from 0 to 1, where 0 itself is left out. At which line does it break down first?
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
# This level has no board. The activation is z² in place of ReLU, so a unit computes `v·(w·x + b)²`. The ribbon is the valley, |x| ± 0.2 from −2 to 2. You may take a million
# units.
#
# 1. What shape does the wire have, however many units there are? Why?
# 2. Can you win? Prove it.
# 3. At which of the proof's four lines does the strategy of “Beat the machine” break down first?
# 4. With z⁴ in place of z² this level can be won. So does z⁴ win every level?
#
# Half a page is enough. Double-click the cell below to write.

# %% [markdown] question="M3" points=4
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) v·(w·x + b)² is a polynomial of degree 2 in x, and a sum of such polynomials is one, too. So the wire is p(x) = a·x² + b·x + c, whatever the
# number of units. (2) No. Suppose that p wins. The valley is symmetric, so its mirror image p(−x) wins as well, and so does their mean q(x) = a·x² + c. At x = 0 the ribbon
# asks for c ≤ 0.2, and at x = 2 for 4a + c ≤ 2.2. So q(1) = a + c = ((4a + c) + 3c)/4 ≤ (2.2 + 0.6)/4 = 0.7. But at x = 1 the ribbon begins at 0.8. (3) At line 2: a parabola
# can't be put on the curve at every cut, since three of its points decide the others. (4) No. However many units there are, the wire is a polynomial of degree 4, and that
# turns back three times at most. The zigzag of this notebook asks for four. (Here 0.14 + 0.94·x² − 0.125·x⁴ wins.)
#
# **Rubric.** One point each:
#
# - (1) sums of squares of affine functions are polynomials of degree 2, so the number of units does not matter. Half a point for the shape without the reason.
# - (2) a contradiction from a few values, by a mirror or otherwise. For example p(−2) − 4·p(−1) + 6·p(0) − 4·p(1) + p(2) is 0 for every parabola, and in the ribbon
#   it is at most 2.2 − 3.2 + 1.2 − 3.2 + 2.2 = −0.8. Half a point for “no” with a picture.
# - (3) line 2, with a reason. Half a point for line 3, because the wire is not straight between two cuts: that is true, but line 2 has failed before.
# - (4) no, with a level that is lost and a reason: the zigzag, or a ribbon around |x| so narrow that degree 4 can't follow. Half a point for “no” because z⁴ is a polynomial.
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## What you know now
#
# - Without an activation, a network is one straight line, however large it is.
# - m ReLU units have m kinks at most, and the wire turns nowhere else. After the last kink it is straight.
# - With enough kinks it follows any continuous curve on a closed interval.
# - A ReLU unit that is silent for every input is dead on that data. GELU and SiLU keep a slope on the left, which fades.
#
# **Your own part.** The creek model of notebook 00 has 64 units with a kink each. Once `activation` is earned, these kinks are yours.
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
# **How many fire?** ReLU has one more gift, exact zeros. Where a unit is silent, nothing has to be multiplied. The share of zeros is called **sparsity**. The model of notebook
# 00 has an FFN of 64 ReLU units, and they look at every word of its 4,096 sentences.

# %% figure="predict-world-fires"
predict("world_fires")

# %% [markdown] text="polygons-text"
# **How many, by a formula.** Before training, a unit's sum is roughly normal over the inputs. With mean m and standard deviation s the unit fires with probability
# $\Phi(m/s)$, for example on 2 % of them at m = −2s. Large models become sparse without a penalty, too: in T5-Base 97 % of the hidden numbers are zero on average, as
# [Li et al. 2023](https://arxiv.org/abs/2210.06313) found. [Mirzadeh et al. 2023](https://arxiv.org/abs/2310.04564) put such zeros to use.
#
# **Which activation learns faster?** [Shazeer 2020](https://arxiv.org/abs/2002.05202) trained the same Transformer with each. After 65,536 steps the log-perplexity was 1.997 with
# ReLU, 1.983 with GELU and 1.994 with SiLU. After 524,288 steps the early lead was gone: 1.677, 1.679 and 1.683. GELU and SiLU are from
# [Hendrycks and Gimpel 2016](https://arxiv.org/abs/1606.08415).
#
# **Many inputs.** One hidden layer comes as close as you like to any continuous function on a closed and bounded set, for any number of inputs, as long as its activation is
# **not a polynomial**. [Leshno and others 1993](https://doi.org/10.1016/S0893-6080(05)80131-5) proved it for all that are locally bounded and have few jumps. The older proofs
# of Cybenko and Hornik need bounded ones, which two ReLUs make: `relu(x) - relu(x - 1)`. For whole Transformers see [Yun et al. 2020](https://arxiv.org/abs/1912.10077).
#
# With two inputs a kink becomes a straight line, the unit's **hinge**. The hinges cut the plane into polygons, and inside a polygon the network is one affine map.
# N lines make at most $1 + N + N(N - 1)/2$ polygons. In d dimensions the bound is $\binom N0 + \dots + \binom Nd$, where $\binom Nk$ counts the ways to choose k of N. So
# 32 units make at most 33 pieces with one input, and at most 15,033,173 with eight.
#
# The networks below learn to tell a disc from the ring around it. Drag the point from polygon to polygon, then train.

# %% figure="polygons"
controls.show(
    figures.polygons,
    units=controls.choice("units", figures.stored_polygons.UNITS, 8),
    step=controls.steps("training step", figures.stored_polygons.STEPS, 0),
    x1=controls.free("x₁ of the point", figures.SPOTS, 0.5),
    x2=controls.free("x₂ of the point", figures.SPOTS, 0.25),
)
