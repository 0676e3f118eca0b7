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
# # 03 · Bends: activations and approximation
#
# `●●●○○○○○○○` step 3 of 10
#
# Can you draw a parabola with nothing but straight lines? A feed-forward network with ReLU has to.
#
# One hidden unit (notebook 02 said neuron) with ReLU computes relu(x·w + b) · v: it reads x with the weight w, and writes with the weight v. For a single
# input x that is a
# line with one **kink**: flat on one side, sloped on the other. Add up a few of them, and you get a line with a few kinks. Run the next three cells,
# guess, and press play. Then drag the kinks along the curve.

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, predict, progress, quiz
from ffnlab.course.figures import activations as figures
from ffnlab.course.figures import anatomy
from ffnlab.course.progress_bar import bar
from ffnlab.drawing import controls, style

style.use()
torch.set_num_threads(1)  # for arrays as small as ours, one thread is fastest

# %% figure="predict-new-unit"
predict("new_unit")

# %% figure="kinks"
controls.show(
    figures.kinks,
    units=controls.play("units", 0, 4, 1, 1, interval=1500),
    second=controls.free("where unit 2 begins", figures.STARTS[0], -0.5),
    third=controls.free("where unit 3 begins", figures.STARTS[1], 0.0),
    fourth=controls.free("where unit 4 begins", figures.STARTS[2], 0.5),
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | 50 minutes on the core path; 50 more for what is marked *deeper* and for question M3, which can wait for another day |
# | **You need** | `02_feed_forward`; derivatives; the normal distribution seen once |
# | **Points** | 25 for code, 4 for the quiz, 3 for an answer in your own words |
#
# Without its non-linearity (its *bend*) an FFN is one matrix: notebook 02 showed it. This notebook is about the bend itself. You will build a
# parabola out of kinks, then any curve you like; find units that are dead, meet two smooth activations, and see what training does to the neurons of the
# little world.
#
# <details><summary>At the end, you will be able to … (open to see what, and what tests it; some of it is <em>deeper</em>)</summary>
#
# | | tested by |
# |---|---|
# | write ReLU, GELU (in both forms) and SiLU, and say what their slopes do | `relu`, `gelu_exact`, `gelu_tanh`, `silu` |
# | find the slope of a smooth activation by hand | `bend_and_slope` |
# | say when a unit is dead, and find the dead ones | `dead_units`, question `quiz_dead` |
# | measure sparsity, and predict it for random weights | `activation_sparsity` |
# | build a ReLU network for x² with n pieces and error 1/n² | `relu_interpolant`, question `quiz_pieces` |
# | count the pieces of a network, and predict what it does outside | `count_pieces`, question `quiz_extrapolation` |
# | state what the approximation theorems promise, and what not | question `quiz_leshno`, M3 |
#
# </details>

# %% figure="anatomy"
anatomy.block("03")

# %% [markdown] text="kinks-text"
# ## 1 · Kink by kink
#
# A unit has three numbers, w, b and v. They decide **where** the kink is, namely where x·w + b = 0, at **x = −b/w**; and **by how much** the slope changes
# there from left to right, namely by **|w|·v**. And the sign of w decides which side is flat. (The change is |w|·v for w < 0 as
# well: such a unit has slope w·v left of its kink and 0 right of it. From w·v to 0 is a change of −w·v, and that is |w|·v.)

# %% [markdown] text="relu-text"
# ### Exercise `relu`
#
# *2 points · difficulty ●○○ · 1 minute*
#
# The bend itself: what is positive passes, the rest becomes 0. It is one line, by a function of torch or by your own formula.
#
# - **Takes** a tensor `x` of any shape, also a single number of shape []; **returns** a new tensor of the same shape and dtype. `x` stays as it was.
# - The gradient is 1 where x > 0 and 0 where x < 0; at exactly 0 nothing is asked.
# - Values and slopes are compared to six digits, in this and the next activations.
#
# Stuck? Run `hint("relu")` in a cell of your own.


# %% exercise="relu"
def relu(x):
    """max(x, 0) for every entry of x [...]: a new tensor [...]."""
    ### BEGIN SOLUTION
    return x.clamp(min=0)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="count-text"
# ## 2 · Pieces and polygons
#
# *deeper: the core path goes on with section 3*
#
# How many pieces? A blog counts them: N neurons give N kinks, and so N + 1 “distinct linear pieces”. Here are six random networks of eight units, on the
# interval from −3 to 3.

# %% code="count-random" output="fixed"
for seed in range(6):
    torch.manual_seed(seed)
    w, b = torch.randn(8), torch.randn(8)
    kinks = -b / w
    inside = kinks[(kinks > -3) & (kinks < 3)]
    print(f"seed {seed}: {len(inside)} of 8 kinks inside, {len(inside) + 1} pieces")

# %% [markdown] text="count-after"
# N + 1 is the **most** there can be. Kinks outside of the interval do not count; nor do those of units whose output weight is 0. Two in the same
# place are one, or even cancel.

# %% [markdown] text="count_pieces-text"
# ### Exercise `count_pieces`
#
# *3 points · difficulty ●●● · 8 minutes · deeper: you can come back to it later*
#
# Count the straight pieces of x ↦ relu(x·W1 + b1)·W2 on the interval from A to B.
#
# - **Takes** `W1` [1, m], `b1` [m], `W2` [m, 1], and two numbers `A` < `B`. The weights may be 0.
# - **Returns** an integer: 1 plus the number of places **strictly between** A and B where the slope really changes.
# - Kinks in the same place are one place. If their changes of slope add up to 0, it is none.
# - All numbers given are such that nothing gets rounded: kinks in the same place are exactly equal, and what cancels is exactly 0. Kinks that differ
#   by 1/100,000 are two, and a slope that changes by 1/100,000 changes.
#
# Stuck? Run `hint("count_pieces")` in a cell of your own.


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

# %% [markdown] text="polygons-text"
# **Polygons.** With two inputs a kink becomes a straight line, the unit's **hinge**: on one side of it the unit fires, on the other it is silent. All
# hinges together cut the plane into polygons. Inside one polygon the same units fire everywhere, so there the network is **one linear map**.
#
# The networks in the figure have two inputs and one output. They learn to say a number above 0 in a disc (plus signs) and below 0 in a ring around it
# (minus signs). Drag the point from polygon to polygon, then train.

# %% figure="predict-polygons"
predict("polygons_after_training")

# %% figure="polygons"
controls.show(
    figures.polygons,
    units=controls.choice("units", figures.stored_polygons.UNITS, 8),
    step=controls.steps("training step", figures.stored_polygons.STEPS, 0),
    x1=controls.free("x₁ of the point", figures.SPOTS, 0.5),
    x2=controls.free("x₂ of the point", figures.SPOTS, 0.25),
)

# %% [markdown] text="polygons-after"
# The line along which the network says 0 is straight in each polygon and turns at hinges only.
#
# How many polygons can there be? N lines cut the plane into at most **1 + N + N(N − 1)/2**, and into exactly as many if no two are parallel and no
# three meet in one point; some of them may lie out of sight. In d dimensions hyperplanes make at most 1 + N + … + C(N, d) regions (Zaslavsky 1975), where
# C(N, d) is the number of ways to choose d out of N. It is one reason for a **wide** hidden layer: more units, more places to bend.

# %% code="regions" output="fixed"
for d in (1, 2, 8):
    print(
        f"{d} input{'s' * (d > 1)}: at most",
        ", ".join(f"{sum(math.comb(N, i) for i in range(d + 1)):,} regions (N = {N})" for N in (8, 32)),
    )

# %% [markdown] text="square-text"
# ## 3 · x² from kinks
#
# How well can a line with kinks follow a curve? We take f(x) = x². Cut the interval into n equal parts, and join the points of the curve above the
# cuts, the **nodes**, by straight pieces: that is **interpolation**. The lower panel shows the error, net minus x².
# Drag the first node for more pieces, or fewer.

# %% figure="predict-twice-the-pieces"
predict("twice_the_pieces")

# %% figure="square"
controls.show(
    figures.square,
    n=controls.slider("pieces n", 1, 64, 1, 4),
    interval=controls.choice("interval", figures.INTERVALS, (-1.0, 1.0)),
)

# %% [markdown] text="square-after"
# So the error on [−1, 1] is 1/n², and on any interval h²/4, where h is the distance between nodes. Moved down by half of that, the net would be off by 1/(2n²)
# at most, up and down alike. No line of n pieces can do
# better.

# %% [markdown] text="relu_interpolant-text"
# ### Exercise `relu_interpolant`
#
# *6 points · difficulty ●●● · 12 minutes*
#
# Build this network: no training, you write its weights down.
#
# - **Takes** the number of pieces `n` ≥ 1 and the ends of the interval, `A` < `B`, of any sign.
# - **Returns** four floating-point tensors `W1` [1, m], `b1` [m], `W2` [m, 1], `b2` [1].
# - On [A, B], relu(x·W1 + b1)·W2 + b2 equals x² at the n + 1 equally spaced nodes (A and B are the first and the last), and is straight between
#   neighbours.
# - The number m of units is up to you; n are enough. Nothing is asked outside of [A, B]. What counts is what the network computes, to four digits.
#
# Stuck? Run `hint("relu_interpolant")` in a cell of your own.


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

# %% [markdown] text="learned-text"
# **What does training find?** The next cell trains networks of 2, 8 and 32 units on 129 points of x², five times each.

# %% figure="predict-trained-square"
predict("trained_square")


# %% code="learned"
def learn_square(units, seeds=5, steps=1500):
    """The largest error on [-1, 1] of trained nets, one for each seed: they are trained side by side."""
    g = torch.Generator().manual_seed(0)
    x = torch.linspace(-1, 1, 129)[:, None]
    W1, b1 = torch.randn(seeds, 1, units, generator=g), torch.randn(seeds, 1, units, generator=g)
    W2, b2 = torch.randn(seeds, units, 1, generator=g) / units**0.5, torch.zeros(seeds, 1, 1)
    parameters = [p.requires_grad_() for p in (W1, b1, W2, b2)]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in bar(steps, f"x² with {units} units"):
        error = torch.relu(x @ W1 + b1) @ W2 + b2 - x**2  # [seeds, 129, 1]
        optimizer.zero_grad()
        error.square().mean((1, 2)).sum().backward()
        optimizer.step()
    return error.detach().abs().amax((1, 2)).tolist()


trained = {units: learn_square(units) for units in (2, 8, 32)}
for units, errors in trained.items():
    print(f"{units:2} units: largest error {min(errors):.3f} to {max(errors):.3f}; built by hand {1 / units**2:.3f}")

# %% [markdown] text="plot-law-text"
# **The law, in one picture.** What falls like 1/n² is a straight line of slope −2 on two logarithmic axes. The cell measures **your** networks and puts
# the trained ones beside them. Then build for [−2, 2]: change both ends in the call and in `x`. Does your line turn, or does it move?

# %% code="plot-law"
sizes = [1, 2, 4, 8, 16, 32, 64]
x = torch.linspace(-1, 1, 2049, dtype=torch.float64)[:, None]
for units, errors in trained.items():
    plt.loglog([units] * len(errors), errors, "x", label=f"trained, {units} units")
try:
    nets = [[part.double() for part in relu_interpolant(n, -1.0, 1.0)] for n in sizes]
    found = [(torch.relu(x @ W1 + b1) @ W2 + b2 - x**2).abs().max().item() for W1, b1, W2, b2 in nets]
    plt.loglog(sizes, found, "o-", label="mine, n units")
except NotImplementedError:
    print("Your line appears when relu_interpolant is written.")
plt.xticks(sizes, sizes)
plt.minorticks_off()
plt.title("How far from x²?")
plt.xlabel("units")
plt.ylabel("largest error")
plt.legend()
plt.show()

# %% [markdown] text="curve-text"
# <details><summary>What it shows</summary>
#
# It moves. Pieces twice as long miss a parabola by four times as much, whatever n is: the whole line stands a factor of 4 higher, with the slope it had. Twice the
# units bring the old error back.
#
# </details>
#
# ## 4 · Any curve
#
# Was x² special? Of your two layers only the second one knows x². The first one puts kinks at the nodes, and these serve any line that bends there. So
# keep W1 and b1, and choose W2 and b2 anew. With n units that is easy, from left to right: b2 sets the first value, and each unit turns the line
# towards the next one.
#
# The figure takes the first layer of **your** `relu_interpolant(6, 0, 6)` and solves for the second. Drag the points.

# %% figure="curve"
controls.show(
    figures.through,
    net=relu_interpolant,
    **{f"y{x}": controls.free(f"the height above {x}", figures.LEVELS, y) for x, y in enumerate(figures.WAVE)},
)

# %% [markdown] text="curve-after"
# This is half of a proof. The other half: let f be continuous on [A, B], and ε as small as you like. Make the pieces so short that f changes by less than
# ε on each (on a closed interval that is possible), and put the values of f at the nodes. On a piece the network lies between its values at the two
# ends, and f is less than ε away from both. So the network is less than ε away from f, everywhere on [A, B].
#
# **One hidden layer of ReLUs can come as near as you like to any continuous function of one number**, and you have built it. For more inputs see
# section 10.

# %% [markdown] text="outside-text"
# ## 5 · Leave the interval
#
# The network was built for [−1, 1]. Nothing stops you from asking it about other numbers.

# %% figure="predict-at-three"
predict("at_three")

# %% figure="outside"
controls.show(
    figures.square,
    n=controls.slider("pieces n", 1, 64, 1, 8),
    reach=controls.slider("beyond", 0.0, 9.0, 0.5, 2.0),
)

# %% [markdown] text="outside-after"
# The theorems of section 10 say nothing about the outside.
#
# Does that hurt in a Transformer? The input of an FFN usually comes out of a norm. After a LayerNorm (without its gain and bias) a vector of d numbers
# has length √d at most, whatever came before. So for every number there is an interval, and it is known beforehand. What is **not** bounded is the
# sum that the norm reads (notebook 04).

# %% [markdown] text="dead-text"
# ## 6 · Silent, and dead
#
# ReLU is flat on the left. A unit whose sum is negative for an input is **silent** there. It passes 0 on, and no gradient back. What if it is
# silent for **all** inputs?
#
# The cell lowers the biases of a random FFN step by step. It counts the units that are silent for all 256 inputs, and those that get no gradient at all.

# %% figure="predict-silent-and-stuck"
predict("silent_and_stuck")

# %% code="dead-shift" output="fixed"
torch.manual_seed(0)
X, target = torch.randn(256, 16), torch.randn(256, 16)
first, last = nn.Linear(16, 64), nn.Linear(64, 16)
first_bias = first.bias.detach().clone()
for shift in (0.0, -1.0, -1.5, -2.0, -3.0):
    with torch.no_grad():
        first.bias.copy_(first_bias + shift)
    for name, act in (("ReLU", torch.relu), ("GELU", F.gelu)):
        first.zero_grad()
        pre = first(X)
        (last(act(pre)) - target).square().mean().backward()
        never = int((pre <= 0).all(dim=0).sum())
        stuck = int(((first.weight.grad == 0).all(dim=1) & (first.bias.grad == 0)).sum())
        print(f"biases {shift:+.1f}, {name}: {never:2} of 64 units never above zero, {stuck:2} without any gradient")

# %% [markdown] text="dead-after"
# A ReLU unit that is silent for all inputs gets no gradient: it is **dead** on this data set. (It can come back if what comes **in** changes: other
# data, or other weights below it. And weight decay moves weights without any gradient.)
#
# Units die of large steps, which throw their weights beyond the reach of all inputs.


# %% code="dead-steps"
def dead_after(lr, seed, steps=20):
    """How many of 64 units are dead after a few steps of gradient descent on random targets."""
    torch.manual_seed(seed)
    X, target = torch.randn(256, 16), torch.randn(256, 16)
    first, last = nn.Linear(16, 64), nn.Linear(64, 16)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        (last(torch.relu(first(X))) - target).square().mean().backward()
        optimizer.step()
    return int((first(X) <= 0).all(dim=0).sum())


for lr in (0.1, 1.0, 8.0):
    print(f"learning rate {lr:3}: dead units for 5 seeds:", [dead_after(lr, seed) for seed in range(5)])

# %% [markdown] text="dead_units-text"
# ### Exercise `dead_units`
#
# *3 points · difficulty ●●○ · 4 minutes*
#
# Find the dead units of an FFN on a data set.
#
# - **Takes** `ffn`, a module with `linear1`, `linear2` and ReLU between them (`ffn.activation`), and `X` [N, d_model], one input per row.
# - **Returns** a tensor [d_ff] of dtype bool: True where the unit is dead, that is, where relu(linear1(x)) is zero for **every** row x of `X`. A
#   sum of exactly 0 counts as zero; a unit that fires has fired, however weakly.
# - What `linear2` does with a unit plays no role. `ffn` and `X` stay as they were.
#
# Stuck? Run `hint("dead_units")` in a cell of your own.


# %% exercise="dead_units"
def dead_units(ffn, X):
    """Which units of the hidden layer are zero for every row of X [N, d_model]: bool [d_ff]."""
    ### BEGIN SOLUTION
    hidden = torch.relu(ffn.linear1(X))  # [N, d_ff]
    return (hidden == 0).all(dim=0)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="smooth-text"
# ## 7 · Smooth bends
#
# ReLU decides: pass or stop, with a single comparison. Two younger activations let x through by degrees. Both multiply x by a number between 0 and 1 that rises with x:
#
# | | formula | what multiplies x |
# |---|---|---|
# | **GELU** | x·Φ(x) | the share of standard normal numbers below x |
# | **SiLU**, or Swish | x·σ(x) | the sigmoid, σ(x) = 1/(1 + e⁻ˣ) |
#
# Move x, and tick the boxes. Two of the three fall somewhere while x rises: which, and where? And where is GELU steeper than 1? (Tick “slopes”.)

# %% figure="bends"
controls.show(
    figures.bends,
    x=controls.slider("x", -6.0, 3.0, 0.25, -1.0),
    slope=controls.toggle("slopes instead of values"),
    zoom=controls.toggle("zoom in on zero"),
)

# %% [markdown] text="bends-after"
# “No dead neurons”, says a tutorial in its list of GELU's properties. On paper its slope is indeed never zero on a whole stretch.

# %% figure="predict-gelu-at-minus-ten"
predict("gelu_at_minus_ten")

# %% code="tails"
print("   x       GELU(x)   its slope      SiLU(x)   its slope      (float32)")
for number in (-1.0, -3.0, -5.0, -6.0, -10.0):
    row = [f"{number:5.0f}"]
    for act in (F.gelu, F.silu):
        x = torch.tensor(number, requires_grad=True)
        y = act(x)
        y.backward()
        row.append(f"{y.item():12.4g} {x.grad.item():11.1e}")
    print("  ".join(row))

# %% [markdown] text="tails-after"
# With plain gradient descent a unit that sits at −10 is as good as dead: a gradient so small does not move its weights. (Adam divides by the size of
# the gradients it has seen, and may still move them.) So do not say “never dead”: **say when**, and on which data.
#
# You write both, and GELU in a second form. Each time, as in `relu`, `x` has any shape, a new tensor of its shape and dtype comes back, gradients flow to
# `x`, and `x` stays as it was.

# %% [markdown] text="gelu_exact-text"
# ### Exercise `gelu_exact`
#
# *2 points · difficulty ●○○ · 1 minute*
#
# The exact form, x·Φ(x) with $\Phi(x) = \frac12\left(1 + \mathrm{erf}(x/\sqrt2)\right)$. `torch.erf` exists, and so does `F.gelu`.
#
# Stuck? Run `hint("gelu_exact")` in a cell of your own.


# %% exercise="gelu_exact"
def gelu_exact(x):
    """x times the share of standard normal numbers below x, for every entry of x [...]."""
    ### BEGIN SOLUTION
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="gelu_tanh-text"
# ### Exercise `gelu_tanh`
#
# *2 points · difficulty ●○○ · 2 minutes · deeper: you can come back to it later*
#
# GELU's authors also give an approximation without erf, the **tanh form**: $\frac12\,x\left(1 + \tanh\left(\sqrt{2/\pi}\,(x + 0.044715\,x^3)\right)\right)$.
# It differs by less than 0.0005, most near |x| = 2.7: too little to matter in training, and enough to fail a comparison of two libraries. The check tells
# the two forms apart, too. GPT-2 uses the tanh form; BERT's code began with erf and changed to tanh; torch's `F.gelu` is exact unless told otherwise.
#
# Stuck? Run `hint("gelu_tanh")` in a cell of your own.


# %% exercise="gelu_tanh"
def gelu_tanh(x):
    """GELU in its tanh form, for every entry of x [...]."""
    ### BEGIN SOLUTION
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="bend_and_slope-text"
# ### Exercise `bend_and_slope`
#
# *3 points · difficulty ●●○ · 8 minutes · deeper: you can come back to it later*
#
# The value is what a layer hands on. The **slope** is what training needs: on the way back, every gradient is multiplied by it (for ReLU by 0 or 1). Write both
# for the tanh form of GELU.
#
# - **Takes** a tensor `x` of any shape.
# - **Returns** a pair of tensors `(value, slope)`, both of the shape and dtype of `x`: GELU(x) in its tanh form, and its derivative with respect to x.
# - GELU's tanh form is a product of two factors that both depend on x, and one of them is a tanh of something. The derivative of tanh(u) with respect to u is
#   1 − tanh²(u).
# - By hand: autograd is switched off while your function is checked. For the value you may call `F.gelu`; torch has no function for the slope.
# - `x` stays as it was, and there is no NaN for x = ±10,000.
#
# Stuck? Run `hint("bend_and_slope")` in a cell of your own.


# %% exercise="bend_and_slope"
def bend_and_slope(x):
    """GELU in its tanh form, and its slope, for every entry of x [...]: (value [...], slope [...])."""
    ### BEGIN SOLUTION
    root = math.sqrt(2 / math.pi)
    t = torch.tanh(root * (x + 0.044715 * x**3))
    slope_of_t = (1 - t**2) * root * (1 + 3 * 0.044715 * x**2)
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * slope_of_t
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="silu-text"
# ### Exercise `silu`
#
# *2 points · difficulty ●●○ · 2 minutes*
#
# SiLU with a dial: x·σ(βx), where `beta` is a Python number, 1 by default, and may be 0 or negative. No NaN for x = ±10,000, neither in the values nor in
# the gradient.
#
# β = 0 gives the straight line x/2. The larger β is, the nearer the curve comes to ReLU: it is never further away than 0.279/β. With β = 1.702 it is nowhere
# further than 0.0204 from GELU, and has a name of its own, “quick GELU”.
#
# Stuck? Run `hint("silu")` in a cell of your own.


# %% exercise="silu"
def silu(x, beta=1.0):
    """x · sigmoid(beta · x) for every entry of x [...]."""
    ### BEGIN SOLUTION
    return x * torch.sigmoid(beta * x)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="plot-bends-text"
# **Your activations, and their slopes.** Autograd finds the slopes. Add a fifth to the list: ReLU², `lambda x: relu(x) ** 2`, which nanochat uses (So et al.
# 2021,
# arXiv 2109.08668, found it by search). Which of the slopes jump, and which grow without end?

# %% code="plot-bends"
x = torch.linspace(-5, 3, 801, requires_grad=True)
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 6))
for name, act in (("ReLU", relu), ("GELU, exact", gelu_exact), ("GELU, tanh", gelu_tanh), ("SiLU", silu)):
    try:
        y = act(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        above.plot(x.detach(), y.detach(), label=name)
        below.plot(x.detach(), slope, label=name)
    except NotImplementedError:
        print(f"{name} appears when it is written.")
above.set(title="My activations", ylabel="act(x)")
below.set(title="Their slopes", xlabel="x", ylabel="slope")
if above.lines:
    above.legend()
    plt.show()
else:
    plt.close()

# %% [markdown] text="firing-text"
# <details><summary>What it shows</summary>
#
# Only ReLU's slope jumps, from 0 to 1. Only that of ReLU² grows without end: it is 2x to the right of 0. Those of GELU and SiLU do neither; they rise a little above
# 1, to 1.13 and 1.10, and come back.
#
# </details>
#
# ## 8 · How many fire?
#
# *deeper: the core path goes on with section 10*
#
# Before training, weights are random, and the sum that goes into a unit is roughly normally distributed over the inputs. If the inputs have mean 0, the mean
# of the sum is the bias b; its spread, the standard deviation, is a number σ (not the sigmoid σ of section 7). The unit fires where the sum is above zero.

# %% figure="firing"
controls.show(
    figures.firing,
    bias=controls.slider("bias b", -3.0, 3.0, 0.25, 0.0),
    spread=controls.slider("spread σ", 0.5, 2.0, 0.25, 1.0),
)

# %% [markdown] text="firing-after"
# So a neuron fires with probability **Φ(b/σ)**, with the Φ of GELU: 50 % at b = 0, whatever σ is, and 2.3 % at b = −2σ.
#
# The share of zeros in a hidden layer is called its **sparsity**. What is zero costs nothing to multiply, if the hardware can skip it.

# %% [markdown] text="activation_sparsity-text"
# ### Exercise `activation_sparsity`
#
# *2 points · difficulty ●○○ · 2 minutes*
#
# What share of a hidden layer is zero, or nearly so?
#
# - **Takes** hidden activations `h`, a tensor of any shape, and `tol` ≥ 0, by default 0.
# - **Returns** a float from 0 to 1: the share of entries with |h| ≤ tol. So with tol = 0 the exact zeros count.
#
# Stuck? Run `hint("activation_sparsity")` in a cell of your own.


# %% exercise="activation_sparsity"
def activation_sparsity(h, tol=0.0):
    """The share of entries of h [...] within tol of zero, a float."""
    ### BEGIN SOLUTION
    return (h.abs() <= tol).double().mean().item()
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="world-text"
# **And after training?** The model of the little world (notebook 00) has 64 ReLU neurons. Here is what they add up before ReLU, over all words of the
# 4,096 sentences in which a creature wants something, its wishes: with the random weights of the start, and with the trained ones.

# %% figure="predict-world-fires"
predict("world_fires")

# %% figure="world-sums"
controls.show(figures.sums, neuron=controls.choice("neuron", figures.NEURONS, -1))

# %% [markdown] text="world-after"
# What made the neurons so quiet? In training an **L1 penalty** was added to the loss: the mean size of the hidden numbers, times a factor. Five models
# trained with it fire for 0.2 to 0.4 % of the sums, and 22 to 46 of their 64 neurons are dead; five trained without it fire for 26 to 56 %, and none
# is dead. All ten choose the right way and the right feeling in every scene that was held out.

# %% [markdown] text="sparse-text"
# ## 9 · Facts by heart, and a race
#
# *deeper: the core path goes on with section 10*
#
# And without a penalty? In a typical FFN, says a lesson, “roughly 50-90% of neurons output zero after ReLU”. In some trained ReLU Transformers
# it is even more: on average 97 % in T5-Base (Li et al. 2023, arXiv 2210.06313). Let us look at small networks that learn facts: 512 random vectors, each
# with one of 64 random answers to know by heart. A ReLU, GELU or SiLU network of 24 hidden units learns them in 400 steps, with five seeds, side by side.
# The cell counts exact zeros, before and after. (It takes 10 to 20 seconds.)

# %% figure="predict-zeros-after-training"
predict("zeros_after_training")


# %% code="facts"
def learn_facts(act, n_facts=512, d_ff=24, seeds=5, steps=400, d=32, answers=64, label=""):
    """Trains `seeds` FFNs side by side. Returns losses and accuracies every 20 steps, and the share of zeros before and after."""
    g = torch.Generator().manual_seed(0)
    x, U = torch.randn(seeds, n_facts, d, generator=g), torch.randn(seeds, answers, d, generator=g) / d**0.5
    y = torch.randint(answers, (seeds, n_facts), generator=g)
    W1, b1 = torch.randn(seeds, d, d_ff, generator=g) / d**0.5, torch.zeros(seeds, 1, d_ff)
    W2, b2 = torch.randn(seeds, d_ff, d, generator=g) / d_ff**0.5, torch.zeros(seeds, 1, d)
    parameters = [p.requires_grad_() for p in (W1, b1, W2, b2)]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    losses, accuracies, zeros = [], [], []
    for step in bar(steps + 1, label):
        h = act(x @ W1 + b1)  # [seeds, n_facts, d_ff]
        scores = (x + h @ W2 + b2) @ U.mT  # [seeds, n_facts, answers]
        loss = F.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="none").view(seeds, -1).mean(1)
        if step % 20 == 0:
            losses.append(loss.tolist())
            accuracies.append((scores.argmax(-1) == y).double().mean(1).tolist())
            zeros.append((h == 0).double().mean((1, 2)).tolist())
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
    return losses, accuracies, zeros[0], zeros[-1]


def span(shares):
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return low if low == high else f"{low} to {high}"


runs = {name: learn_facts(act, label=name) for name, act in (("ReLU", F.relu), ("GELU", F.gelu), ("SiLU", F.silu))}
for name, (_, accuracies, before, after) in runs.items():
    print(f"{name}: zeros {span(before)} before, {span(after)} after; facts known {span(accuracies[-1])}")

# %% [markdown] text="sparse-after"
# The sparsity of T5-Base does **not** appear in a network as small as this one; do not expect it to. And GELU's zeros? Spot B in section 11 looks for the place
# where they begin.
#
# **Which activation learns faster?** You have the runs already. Move the slider to the early steps, too.

# %% figure="predict-first-after-400"
predict("first_after_400")

# %% figure="race"
steps = list(range(0, 401, 20))
results = figures.Race(
    steps, {name: run[0] for name, run in runs.items()}, {name: run[1] for name, run in runs.items()}
)
controls.show(figures.race, results=results, step=controls.steps("step", steps, 400))

# %% code="race-seeds"
for better, worse in (("GELU", "ReLU"), ("SiLU", "GELU")):
    wins = sum(a < b for a, b in zip(runs[better][0][-1], runs[worse][0][-1], strict=True))
    print(f"at the end, {better} has a lower loss than {worse} in {wins} of 5 seeds")

# %% [markdown] text="race-after"
# Before you conclude that SiLU is better, three cautions.
#
# 1. This network is **full**: 512 facts are about as many as 24 units can hold. Write `d_ff=64` in the first line of
#    `learn_facts`, run that cell and those of this section below it again, and all three learn everything.
# 2. It is about learning by heart, with one learning rate.
# 3. In a Transformer of T5-base's size the order is another. Shazeer (2020, arXiv 2002.05202, table 1) trained the same model with each of the three.
#    Log-perplexity, lower is better:
#
# | after | ReLU | GELU | Swish (= SiLU) |
# |---|---|---|---|
# | 65,536 steps (± standard deviation) | 1.997 (0.005) | 1.983 (0.005) | 1.994 (0.003) |
# | 524,288 steps | **1.677** | 1.679 | 1.683 |
#
# At the end ReLU is ahead, by 0.002 and 0.006: hardly more than the standard deviations of the upper row. (For the lower row none is published.)
# Among plain activations the choice matters little there; what matters more, notebook 07 shows.

# %% [markdown] text="theorems-text"
# ## 10 · What the theorems say
#
# Section 4 was for one input. Three theorems on networks with one hidden layer hold for any number of inputs, and for all continuous functions on a
# bounded, closed set. Each says: with **enough** units, as near as you like.
#
# | | what the activation has to be | ReLU? |
# |---|---|---|
# | Cybenko 1989 | continuous and sigmoidal: towards 0 on the left, towards 1 on the right | one alone is not, two together are: see below |
# | Hornik 1991 | continuous, bounded and not constant | the same two |
# | Leshno, Lin, Pinkus, Schocken 1993 | **not a polynomial** (and locally bounded, with few jumps) | covered as it is |
#
# ReLU grows without end, so it is neither sigmoidal nor bounded. But take one ReLU from another: relu(x) − relu(x − 1) is 0 on the left, rises from 0
# to 1, and is 1 on the right. That is continuous, sigmoidal and bounded, and every unit with that activation can be built from two ReLUs. So Cybenko's and
# Hornik's theorems hold for ReLU networks as well, with twice the units.

# %% [markdown] text="sharp-text"
# The last theorem is sharp: with a polynomial it is impossible. Here are networks with x² and with ReLU.

# %% figure="predict-polynomial"
predict("polynomial")

# %% code="theorems" output="fixed"
x = torch.linspace(-2, 2, 201, dtype=torch.float64)[:, None]
curve = torch.sin(3 * x)
for name, act in (("x²", torch.square), ("ReLU", torch.relu)):
    for units in (4, 64, 256):
        errors = []
        for seed in range(5):
            g = torch.Generator().manual_seed(seed)
            w, b = torch.randn(2, units, generator=g, dtype=torch.float64)
            h = torch.cat([act(x * w + b), torch.ones_like(x)], dim=1)  # the column of ones is b2
            best = torch.linalg.lstsq(h, curve, driver="gelsd").solution
            errors.append((h @ best - curve).abs().max().item())
        print(f"{name:4} {units:3} units: largest error {min(errors):.2f} to {max(errors):.2f}")

# %% [markdown] text="theorems-after"
# What none of the three says: how many units it takes, whether training finds them, what happens outside of the set. Sections 3 and 5 showed why
# that matters. (For whole Transformers there is a theorem too: Yun et al. 2020, arXiv 1912.10077.)

# %% [markdown] text="spot-gelu"
# ## 11 · Spot the error
#
# *deeper: the core path goes on with section 12*
#
# Four statements from published pages. For each: find what is wrong, or what it leaves open, then run the cell.
#
# **A.** A tutorial's GELU begins with a comment that calls what follows exact: x times Φ(x). Then comes the line that the cell below calls `published`,
# and then one more comment: `# or torch.nn.functional.gelu(x)`.

# %% code="spot-gelu-cell"
x = torch.linspace(-6, 6, 1201, dtype=torch.float64)
published = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
for words in ("none", "tanh"):
    gap = (published - F.gelu(x, approximate=words)).abs()
    print(f"from F.gelu(x, approximate={words!r}): {gap.max():.6f} at most, at |x| = {x[gap.argmax()].abs():.2f}")

# %% [markdown] text="spot-dead"
# The first comment names one form, the code computes the other. `F.gelu(x)` is the exact one by default, so what the last comment offers instead is not
# the same.
#
# **B.** “No dead neurons”: you have met this line of the same tutorial in section 7. When is it wrong? Where does GELU become exactly zero in
# float32?

# %% code="spot-dead-cell"
x = torch.arange(-20, 0, 0.125, requires_grad=True)
F.gelu(x).sum().backward()
flat, silent = x[x.grad == 0], x[F.gelu(x) == 0]
print(f"float32: value exactly 0 up to x = {silent.max().item()}, slope exactly 0 up to x = {flat.max().item()}")

# %% [markdown] text="spot-share"
# So a GELU unit can be dead as well. (Where the zeros begin depends on how erf is computed. For one number alone, as in the table of section 7, torch goes
# another way, and the slope at −10 is still −10⁻²¹; for many at once it is exactly 0.) ReLU is flat from 0 on.
#
# **C.** “In a typical FFN, roughly 50-90% of neurons output zero after ReLU.” Is there anything that keeps the share in that range?

# %% code="spot-share-cell" output="fixed"
torch.manual_seed(0)
sums = torch.randn(100_000)
for bias in (1.0, 0.0, -1.28, -2.0):
    print(f"bias {bias:+.2f}: {(torch.relu(sums + bias) == 0).double().mean():.0%} zeros")

# %% [markdown] text="spot-universal"
# For sums that are normally distributed the share depends on b/σ alone, and it can be anything. 50 % is what random weights without bias give; two trained
# ReLU Transformers, T5-Base and
# ViT-B/16, have been measured at 97 and 94 % (Li et al. 2023); the small ReLU networks of section 9 stay near 50 %; the little world with its
# penalty is at 99.7 %.
#
# **D.** A blog explains what ReLU can do by “the universal approximation theorem (Cybenko 1989, Hornik 1991), which states that a feed-forward neural
# network with a single hidden layer can approximate any continuous function within a closed and bounded domain”. The statement is right. As Cybenko and Hornik
# stated them, do the two theorems cover ReLU? And a tutorial says of SiLU: “Used by: LLaMA, GPT-NeoX”. One of these two models does not belong there.

# %% code="spot-universal-cell" output="fixed"
x = torch.tensor([-1000.0, 1000.0])
step = ("ReLU - ReLU one further on", lambda x: torch.relu(x) - torch.relu(x - 1))
for name, act in (("sigmoid", torch.sigmoid), ("tanh", torch.tanh), ("ReLU", torch.relu), step):
    low, high = act(x).tolist()
    print(f"{name:26} far left {low:4.0f}, far right {high:5.0f}")

# %% [markdown] text="quiz_leshno-before"
# ReLU is neither sigmoidal nor bounded, so neither theorem, as stated, speaks of it; Leshno et al. 1993 do. It is a shortcut, not an error: two ReLUs
# make a sigmoidal unit, as in section 10, and the statement follows. As for the other page: GPT-NeoX-20B uses GELU (its code **offers** SiLU); LLaMA
# uses SiLU, but as a gate, which is the subject of notebook 07.
#
# ## 12 · Quiz
#
# One point each. Put the letter in quotes.

# %% [markdown] text="quiz_leshno-text"
# ### Question `quiz_leshno`
#
# Three networks with one hidden layer, each as wide as you like, differ in their activation. One of them can't come near |x| on [−1, 1], however wide it
# is. Which activation does it have?
#
# - **A.** relu(x) − relu(x − 1)
# - **B.** x³ − x
# - **C.** sin x

# %% quiz="quiz_leshno"
quiz_leshno = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_leshno = "B"
### END SOLUTION

# %% [markdown] text="quiz_pieces-text"
# ### Question `quiz_pieces`
#
# x² is interpolated on [0, 4] with 8 equal pieces. How large is the largest error?
#
# - **A.** 1/64
# - **B.** 1/32
# - **C.** 1/16

# %% quiz="quiz_pieces"
quiz_pieces = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_pieces = "C"
### END SOLUTION

# %% [markdown] text="quiz_extrapolation-text"
# ### Question `quiz_extrapolation`
#
# A ReLU network with one hidden layer of 200 units was trained to follow sin(3x) for x from −2 to 2, and fits it well there. Its rightmost kink is at
# x = 1.9. What does its output do from there to x = 1000?
#
# - **A.** It goes on swinging between −1 and 1: 200 units are enough to learn the wave.
# - **B.** It runs along one straight line.
# - **C.** It bends over soon after x = 2 and stays level: there was nothing to learn.

# %% quiz="quiz_extrapolation"
quiz_extrapolation = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_extrapolation = "B"
### END SOLUTION

# %% [markdown] text="quiz_dead-text"
# ### Question `quiz_dead`
#
# A ReLU unit in the first layer of a network is dead on the whole training set. Training goes on with plain gradient descent, without weight decay,
# on the same set. What becomes of the unit?
#
# - **A.** It stays dead: its own weights get no gradient.
# - **B.** It recovers after enough steps, since every step moves every weight a little.
# - **C.** It recovers if the loss is large enough: then its gradient is large as well.

# %% quiz="quiz_dead"
quiz_dead = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_dead = "A"
### END SOLUTION

# %% [markdown] text="M3-text"
# ## 13 · In your own words
#
# *deeper: the core path ends with the quiz*
#
# *question M3 · 3 points, graded by your instructor · 8 minutes*
#
# Somebody proposes an FFN with x² as its activation: “It is not linear, so with enough hidden units it can approximate everything.”
#
# 1. Show that this FFN is indeed not linear: one pair of inputs, or one line of algebra, is enough.
# 2. For a single input x: which functions can it compute, with one hidden layer of whatever width? Why does more width not help?
# 3. Which condition of which theorem does x² violate? ReLU satisfies it: name one thing that the theorem still does **not** promise for ReLU.
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M3" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) With one unit, f(x) = x²: f(1) + f(1) = 2 but f(1 + 1) = 4. (2) Every unit computes (x·w + b)² = w²x² + 2wb·x + b². Any
# weighted sum of those, plus b2, is again a·x² + b·x + c: **polynomials of degree 2 are closed under sums**, so width adds nothing beyond these
# three numbers. In d inputs it is again a polynomial of degree 2: beyond (d + 1)(d + 2)/2 units, width adds nothing. (More layers raise the degree, to 4, 8, …, but a fixed depth always means a
# fixed degree.) A function such as |x| or sin 3x on an interval stays at a fixed distance from all of them. (3) **Leshno et al. 1993**: one hidden
# layer is universal if and only if the activation is **not a polynomial** (for all activations in use, that is the only condition that matters). x² is one. For ReLU the theorem promises that good networks exist, for
# continuous functions on a bounded and closed set; it does not say how many units are needed, that training finds the weights, or anything outside
# of the set.
#
# **Rubric.** One point each:
#
# - (1) a pair of inputs or a line of algebra that contradicts linearity (additivity or scaling). Half a point for “because x² is curved” alone.
# - (2) sums of squares of affine functions are again polynomials of degree 2, so the width does not matter. Half a point for “it can only make
#   parabolas” without the reason.
# - (3) Leshno et al., not a polynomial, **and** one correct limit. Half a point if one of the two is missing. “x² is not bounded”, or “not sigmoidal”,
#   is true and no answer: neither is ReLU. (Who adds that two ReLUs make a sigmoidal unit, so that Cybenko's theorem helps as well, is right.)
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## You can now …
#
# - write ReLU, GELU in both forms, and SiLU, and say what their slopes do on the left: `relu`, `gelu_exact`, `gelu_tanh`, `silu`;
# - find the slope of a smooth activation by hand: `bend_and_slope`;
# - count a network's pieces, from its kinks: `count_pieces`;
# - build x² from n pieces with error 1/n², and any other curve: `relu_interpolant`, `quiz_pieces`;
# - say what a ReLU network does beyond its last kink: `quiz_extrapolation`;
# - find dead units, and say on which data they are dead: `dead_units`, `quiz_dead`;
# - measure sparsity, and predict Φ(b/σ) for random weights: `activation_sparsity`;
# - say what Cybenko, Hornik and Leshno promise, for ReLU and for polynomials, and what nobody promises: `quiz_leshno`, M3.
#
# ## Going further
#
# - Leshno, Lin, Pinkus and Schocken 1993, *Multilayer feedforward networks with a nonpolynomial activation function can approximate any function*.
#   Neural Networks 6.
# - Hendrycks and Gimpel 2016, *Gaussian Error Linear Units* (arXiv 1606.08415): GELU, both forms, and SiLU.
# - Mirzadeh et al. 2023, *ReLU Strikes Back* (arXiv 2310.04564): what the zeros of ReLU are good for in large language models.
#
# Next: `04_every_position`, where one network meets a whole sentence.

# %% figure="progress"
progress()
