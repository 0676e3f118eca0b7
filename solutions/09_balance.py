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
# # 09 · Mixture of Experts II: balance and capacity
#
# `●●●●●●●●●○` step 9 of 10
#
# A router that learns may learn to send everything to one expert. Then seven of eight experts cost memory and do nothing. Does more training fix that?
#
# The toy has eight clusters of tokens, equally frequent, and eight experts; the ideal is one expert for each cluster. Nothing in the task prefers an
# expert. **We plant a preference**: a head start, added to the logit of expert 0 before training. It is an ordinary bias, and training may undo it.
# Run the next three cells, guess, press play, and try other head starts.

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, play, predict, progress, quiz
from ffnlab.course.boards import river
from ffnlab.course.experiments import balance as toy
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import balance as figures
from ffnlab.course.progress_bar import bar
from ffnlab.drawing import controls, style

style.use()


class FFN(nn.Module):
    """The FFN of notebook 02: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


# %% figure="predict-head-start"
predict("head_start")

# %% figure="collapse"
controls.show(
    figures.load,
    step=controls.play("training step", 0, figures.STEPS, toy.EVERY, 60, interval=250),
    head_start=controls.free("head start", toy.HEAD_STARTS, 1),
    cure="none",
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | advanced |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M11, which can wait for another day |
# | **You need** | `08_experts` |
# | **Points** | {points} |
#
# You will measure this collapse, cure it in two ways, limit the places of an expert, and add one for everyone.

# %% figure="anatomy"
anatomy.block("09")

# %% [markdown] text="collapse-text"
# ## 1 · A planted collapse
#
# From notebook 08 you need two lines. A router gives each of T tokens a **logit** for each of E experts; softmax makes **probabilities** p of them. The k most probable experts
# are chosen, `idx` [T, k], and their outputs are added, each weighted with its probability. One entry of `idx` is a **slot**: T tokens have k·T slots.
#
# The toy has k = 1, and each of its eight clusters has a linear map of its own to learn.
#
# Why does training not repair the planted collapse at once? Only chosen experts get a gradient. Expert 0 has the tokens, so it learns, and the others stay as they
# were at the start. Given much more time it may come undone by itself, slowly. Section 6 has a run of 3,000 steps.
#
# <details><summary>How bad is an error of 0.012, and where do the curves come from?</summary>
#
# The error needs a scale. A layer that always says 0 has an error of about 0.27, the tick at the right. One expert alone comes to about 0.012, a good cure to about 0.005.
# So the collapse costs a factor of two or three here, not everything.
#
# Curves of this kind were computed before, over five seeds each: the area shows the first seed, the dots all five. The texts tell of fifteen others.
#
# </details>

# %% [markdown] text="diagnose_load-text"
# ### Exercise `diagnose_load`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# A training log can't show an area for each layer. Three numbers will do. With `counts` [E], the number of tokens each expert got:
#
# - **`max_over_mean`**: the largest count over the mean of all E counts, a float. 1 for an even load, E if one expert has everything.
# - **`dead`**: how many experts got no token, an int.
# - **`effective`**: e to the power of the entropy, $\exp(-\sum_i p_i \ln p_i)$ with $p_i$ the share of expert i and $0 \ln 0 = 0$, a float. It is E for an even load and 1 if one expert has everything.
# - **Takes** `counts`, a tensor of whole numbers or floats (averages over steps, say, which may be below 1), none negative and at least one positive. It stays as it was.
# - **Returns** a dict with these three names. Compared to five digits.
#
# Stuck? Run `hint("diagnose_load")` in a cell of your own.


# %% exercise="diagnose_load"
def diagnose_load(counts):
    """How a load counts [E] is spread: a dict with max_over_mean, dead and effective."""
    ### BEGIN SOLUTION
    share = counts.double() / counts.sum()
    return {
        "max_over_mean": (share.max() * len(counts)).item(),
        "dead": int((counts == 0).sum()),
        "effective": torch.special.entr(share).sum().exp().item(),  # entr(p) is -p ln p, and 0 at 0
    }
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="collapse-run-text"
# Now train it yourself, and plot the load under your own diagnosis: `toy.train(seed, head_start)` makes one run of 300 steps. The dotted line is an even share. Change the first head start to 1, then to 2, and see from where on the
# thin lines have lost.


# %% code="collapse-run"
def watch(runs):
    """The load of each expert over the training steps, one plot for each run."""
    diagnoses = [diagnose_load(run.counts) for run in runs.values()]
    _, axes = plt.subplots(1, len(runs), figsize=(9.6, 3.2), sharey=True, squeeze=False)
    for axis, found, (label, run) in zip(axes[0], diagnoses, runs.items(), strict=True):
        steps = toy.EVERY * torch.arange(len(run.load))
        axis.plot(steps, run.load[:, 0], linewidth=4, label="expert 0")
        axis.plot(steps, run.load[:, 1:], linewidth=1)
        axis.axhline(1 / toy.N_EXPERTS, linestyle=":")
        axis.set_title(f"{label}\n{found['effective']:.1f} effective, {found['dead']} dead", fontsize=11)
        axis.set_xlabel("training step")
    axes[0, 0].set_ylabel("share of the tokens")
    axes[0, 0].legend()
    plt.show()


try:
    watch({f"head start {h}": toy.train(seed=0, head_start=h) for h in (0, 3)})
except NotImplementedError:
    print("This plot appears when diagnose_load is written.")

# %% [markdown] text="loss-text"
# ## 2 · A loss for balance
#
# How can a gradient tell a router to spread the tokens? The load itself is counted, and counting has no gradient. The trick of the Switch Transformer (Fedus et al. 2021) is to multiply the load with something that has one:
#
# $$L = E \sum_{i=1}^{E} f_i \, P_i \qquad f_i = \frac{\text{slots of expert } i}{k\,T}, \qquad P_i = \text{mean over tokens of } p_i$$
#
# f is what **happened**, P what the router **wanted**. The gradient goes through P alone: it pushes down the probability of crowded experts, and so up that of empty ones. This loss is added to that of the task with a small weight α,
# 0.01 in the Switch Transformer and in OLMoE.
#
# With the factor E, an even load gives 1 for any number of experts. It is not the smallest value: section 8 goes below it.

# %% [markdown] text="load_balance_loss-text"
# ### Exercise `load_balance_loss`
#
# *{points} · difficulty ●●○ · 8 minutes*
#
# Write L.
#
# - **Takes** `logits` [T, E] of the router, which may be as large as 10,000, and `idx` [T, k], the experts that were chosen: whole numbers from 0 to E − 1, all different within a row.
# - **Counts** what is in `idx`, which need not be the k largest logits. Some experts may have no slot at all.
# - **Returns** a tensor without dimensions, in the dtype of `logits`, with a gradient to `logits` through P. No factor α, and nothing is cut off at 1.
# - `logits` and `idx` stay as they were.
#
# Stuck? Run `hint("load_balance_loss")` in a cell of your own.


# %% exercise="load_balance_loss"
def load_balance_loss(logits, idx):
    """E · Σ f·P for logits [T, E] and chosen experts idx [T, k]: a number with a gradient."""
    ### BEGIN SOLUTION
    E = logits.shape[-1]
    f = torch.bincount(idx.flatten(), minlength=E).to(logits.dtype) / idx.numel()  # [E], no gradient
    P = torch.softmax(logits, dim=-1).mean(dim=0)  # [E]
    return E * (f * P).sum()
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="loss-run-text"
# The same head start of 3, now with your loss. First the load of each expert, one run for each α. Then five runs of each, a mark for each run: how many experts do the work, and how large the error is. The last two
# kinds of marks have no head start. Where would you want a mark to be? Add α = 0.1.

# %% figure="predict-which-alpha"
predict("which_alpha")


# %% code="loss-run"
def five(label, **options):
    """Five runs of the toy."""
    return [toy.train(seed, **options) for seed in bar(5, label)]


def compare(runs):
    """A mark for each run: effective experts and error."""
    for marker, (label, ones) in zip("os^DvPX", runs.items(), strict=False):
        effective = [diagnose_load(one.counts)["effective"] for one in ones]
        plt.plot(effective, [one.error for one in ones], marker, label=label)
    plt.title("Five runs of each")
    plt.xlabel("effective experts")
    plt.ylabel("error on new tokens")
    plt.ylim(bottom=0)
    plt.legend(fontsize=10)
    plt.show()


runs = {}
try:
    for alpha, head_start in ((0.001, 3), (0.01, 3), (1, 3), (1, 0), (0, 0)):
        label = f"α {alpha:g}" if head_start else f"α {alpha:g}, no head start"
        runs[label] = five(
            label, head_start=head_start, balance=lambda logits, idx, alpha=alpha: alpha * load_balance_loss(logits, idx)
        )
    watch({label: runs[label][0] for label in ("α 0.001", "α 0.01", "α 1")})
    compare(runs)
except NotImplementedError:
    print("This plot appears when diagnose_load and load_balance_loss are written.")

# %% [markdown] text="own_expert_counterexample-text"
# ### A classmate's test
#
# The ideal is an expert for each cluster. How can one tell from a table of who goes where? The code below asks for two things: no two clusters have the same favourite expert, and the
# load is even. We tried it on 10,000 random tables, and on 10,000 in which each cluster had an expert to itself. It was right each time, and it is wrong all the same.
#
# ### Exercise `own_expert_counterexample`
#
# *{points} · difficulty ●●○ · 4 minutes*
#
# Find a table about which it is wrong: a row for each cluster, with the shares of its tokens that go to each expert, which add up to 1. There are as many experts as clusters, and clusters are equally
# large. Any such table earns most of the points. How few clusters can you do it with?
#
# *Stuck? Run `hint("own_expert_counterexample")` in a cell of your own.*

# %% code="own_expert"
def own_expert(table):
    """Whether each cluster has an expert to itself. table[c][e]: the share of the tokens of cluster c that goes to expert e."""
    favourites = {max(range(len(row)), key=lambda e: row[e]) for row in table}
    loads = [sum(column) for column in zip(*table, strict=True)]
    return len(favourites) == len(table) and all(abs(load - 1) < 1e-9 for load in loads)


print("one each:", own_expert([[0, 1], [1, 0]]))
print("uneven:  ", own_expert([[1, 0], [0.4, 0.6]]))

# %% exercise="own_expert_counterexample"
own_expert_counterexample = ...  # [[share of cluster 0 that goes to expert 0, …], …]
### BEGIN SOLUTION
own_expert_counterexample = [[0.6, 0.4], [0.4, 0.6]]  # even, and each expert has tokens of both clusters
### END SOLUTION

# %% [markdown] text="loss-run-after"
# ## 3 · Logits that grow
#
# *deeper: the core path goes on with section 5*
#
# Add 100 to all logits of a token: softmax does not notice, and no gradient of the task's loss pushes such a shift or opposes it. Multiply them by 16, and the
# probabilities change completely: size is what softmax sees best.
# A router that is sure of its choice has large logits, and nothing in the task's loss keeps them from growing further. What is wrong with large logits?
#
# The logits are stored in bfloat16. Logits of size 1, 4, 16 and 64 are rounded to it: how many tokens change their expert, and what happens to the
# probabilities?

# %% figure="predict-rounded-choice"
predict("rounded_choice")

# %% code="drift" output="fixed"
for size in (1, 4, 16, 64):
    changed, off = [], []
    for seed in range(5):
        logits = size * torch.randn(1000, 8, generator=torch.Generator().manual_seed(seed))
        rounded = logits.bfloat16().float()
        changed.append((rounded.argmax(-1) != logits.argmax(-1)).sum().item())
        off.append((rounded.softmax(-1) - logits.softmax(-1)).abs().max().item())
    print(
        f"size {size:2}: {min(changed)} to {max(changed)} of 1000 tokens choose another expert; "
        f"a probability is off by up to {min(off):.3f} to {max(off):.3f} (five seeds)"
    )

# %% [markdown] text="z-text"
# Two things help against rounded probabilities: the router computes in float32, as most code bases do, whatever the model's dtype is; and a second
# small loss holds the size. The **z-loss** of ST-MoE (Zoph et al. 2022) takes, for each token, the logarithm of what softmax divides by:
#
# $$L_z = \frac1T \sum_{t=1}^{T} \Bigl(\ln \sum_{e=1}^{E} e^{z_{te}}\Bigr)^2$$
#
# The inner logarithm lies between the largest logit and that plus ln E: so it is the largest logit of each token that is pulled towards zero. In ST-MoE its weight is 0.001. The loss is 0, its smallest value, where the inner logarithm is 0. In torch it is `torch.logsumexp(logits, dim=-1).square().mean()`.

# %% [markdown] text="capacity-text"
# ## 4 · Capacity
#
# *deeper: the core path goes on with section 5*
#
# On real hardware each expert gets a buffer of fixed size: its **capacity**, usually a factor times the even share,
#
# $$C = \lceil \text{factor} \cdot k\,T / E \rceil$$
#
# The Switch Transformer uses factors of 1 to 1.25. What if more tokens want an expert than it has places? They are **dropped** there: for them this expert
# adds nothing, their other choices still may. The order of service decides who: first choices of all tokens in
# the order of the tokens, then second choices of all tokens. Drag the thick line in the figure.

# %% figure="capacity"
controls.show(
    figures.capacity,
    factor=controls.steps("capacity factor", list(figures.FACTORS), 1.0),
    k=controls.choice("k", [1, 2], 2),
    even=controls.toggle("an even router"),
)

# %% [markdown] text="drop_mask-text"
# ### Exercise `drop_mask`
#
# *{points} · difficulty ●●● · 10 minutes · deeper: you can come back to it later*
#
# Say for every slot whether it is kept.
#
# - **Takes** `idx` [T, k], the chosen experts (all different within a row); `E`, their number; and `capacity`, a whole number, 0 or more, of slots that each expert takes.
# - **Order of service:** slot 0 of all tokens, in the order of the tokens; then slot 1 of all tokens; and so on. Each expert keeps the first `capacity` slots that ask for it, all others are dropped.
# - **Returns** truth values [T, k], dtype bool: True for kept.
# - No chance is involved, and `idx` stays as it was. Loops are fine.
#
# Stuck? Run `hint("drop_mask")` in a cell of your own.


# %% exercise="drop_mask"
def drop_mask(idx, E, capacity):
    """Which slots of idx [T, k] find a place at their expert: bool [T, k], True for kept."""
    ### BEGIN SOLUTION
    T, k = idx.shape
    order = idx.T.flatten()  # slot 0 of all tokens, then slot 1, ...
    asked = F.one_hot(order, E).cumsum(dim=0)  # [k·T, E], how many asked each expert up to here
    place = asked[torch.arange(k * T), order]  # 1 for the first at its expert
    return (place <= capacity).reshape(k, T).T
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="residual-text"
# What becomes of a token without any expert? Six tokens, two experts with three places each, k = 1.

# %% code="residual" output="fixed"
torch.manual_seed(0)
x, experts = torch.randn(6, 4), [FFN(4, 8), FFN(4, 8)]
idx = torch.tensor([[0], [0], [1], [0], [0], [0]])
try:
    kept = drop_mask(idx, 2, 3)
    for t in range(6):
        written = experts[idx[t, 0]](x[t]) * kept[t, 0]
        same = torch.equal(x[t] + written, x[t])
        print(f"token {t}: expert {idx[t, 0]}, kept {bool(kept[t, 0])!s:5}; x + output is x: {same}")
except NotImplementedError:
    print("This cell lights up when drop_mask is written.")

# %% [markdown] text="dropped-text"
# How much does a factor buy? The plot takes 512 tokens, eight experts and k = 1: a router that chooses at random, all experts alike, and one that likes expert 0. The bands are five seeds. How large must the factor be until the second router
# drops nothing? Let `factors` go further.

# %% code="dropped"
def dropped(factor, liking, seed, T=512, E=8, k=1):
    """The share of slots that your drop_mask drops, in percent."""
    logits = torch.randn(T, E, generator=torch.Generator().manual_seed(seed))
    logits[:, 0] += liking
    kept = drop_mask(logits.topk(k).indices, E, math.ceil(factor * k * T / E))
    return 100 * (~kept).double().mean().item()


try:
    factors = [1, 1.25, 1.5, 1.75, 2]
    for name, liking in (("all alike", 0.0), ("likes expert 0", 1.5)):
        shares = torch.tensor([[dropped(factor, liking, seed) for factor in factors] for seed in range(5)])  # [seeds, factors]
        plt.plot(factors, shares.mean(0), label=name)
        plt.fill_between(factors, shares.min(0).values, shares.max(0).values, alpha=0.3)
    plt.title("What a capacity factor buys")
    plt.xlabel("capacity factor")
    plt.ylabel("dropped slots in %")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This plot appears when drop_mask is written.")

# %% [markdown] text="dropped-after"
# Even a fair router drops some tokens at factor 1, by chance; with 1.25, none here. Against a router with a favourite, a factor of 2 is not enough,
# and takes twice the places. Balance comes first, capacity second.
#
# Newer systems do without: MegaBlocks (Gale et al. 2022) and the grouped products of notebook 08 take any number of tokens for each expert. They are called **dropless**. Balance still matters there: the fullest expert
# is the one all others wait for.
#
# ## 5 · Balance without a loss
#
# The balance loss pulls at the router with the same gradient that should teach it the task. Wang et al. 2024 do without. Each expert gets a **bias** b for the
# **choice** alone. In their paper the **scores** are sigmoids of the logits, one for each expert by itself: the k largest of score + b are chosen, but
# the weights come from the scores without b. No gradient reaches b. After each step it is moved by hand: down for experts with too many tokens, up for those with too few.
#
# Tick the box to see what goes wrong if the bias enters the weights, too.

# %% figure="predict-partner-changes"
predict("partner_changes")

# %% figure="selection"
controls.show(
    figures.selection,
    bias=controls.slider("bias of expert 4", -0.3, 0.3, 0.05, 0.0),
    weighted=controls.toggle("bias in the weights (wrong)"),
)

# %% [markdown] text="bias_update-text"
# ### Exercise `bias_update`
#
# *{points} · difficulty ●●○ · 4 minutes*
#
# The update after one step:
#
# $$b_i \leftarrow b_i + u \cdot \mathrm{sign}(\overline{c} - c_i)$$
#
# - **Takes** `b` [E]; `counts` [E], the tokens each expert got in this step, whole numbers or floats; and `u`, a number, usually 0.001.
# - $\overline{c}$ is the mean of all counts, which need not be whole. An expert exactly at the mean stays: sign(0) = 0.
# - **Returns** a new tensor in the dtype of `b`. `b` and `counts` stay as they were. 4,001 tokens and 4,002 are different counts.
# - `b` may be an `nn.Parameter`. The result is detached (`requires_grad` is False): the bias is not trained by gradient.
#
# Stuck? Run `hint("bias_update")` in a cell of your own.


# %% exercise="bias_update"
def bias_update(b, counts, u):
    """The selection bias b [E] after a step in which the experts got counts [E] tokens: a new tensor [E]."""
    ### BEGIN SOLUTION
    load = counts.double()
    return b.detach() + u * torch.sign(load.mean() - load).to(b.dtype)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="bias-run-text"
# Head start 3 again, no loss, only your update. The last marks take softmax scores instead of sigmoids.

# %% code="bias-run"
runs = {}
try:
    for u, scores in ((0.001, "sigmoid"), (0.01, "sigmoid"), (0.1, "sigmoid"), (0.01, "softmax")):
        label = f"u {u:g}, {scores}"
        runs[label] = five(label, update=lambda b, counts, u=u: bias_update(b, counts, u), scores=scores)
    compare(runs)
except NotImplementedError:
    print("This plot appears when diagnose_load and bias_update are written.")

# %% [markdown] text="cures-text"
# The marks of the softmax are as far to the right as those of u = 0.01 with sigmoids, and higher, as in 14 of 15 other runs. Softmax scores share a sum of 1, so experts that are chosen only thanks to their bias
# keep small weights: 0.25 on average, against 0.72 with sigmoids.
#
# ## 6 · All cures at once
#
# First by hand. Below, tokens are points in a plane, so you can see where the router draws its borders. Expert 1 begins with all of them. Let it run, and switch a cure
# on in the middle. Here the selection bias is added to the logits, so that borders stay straight; its u can't be compared with the u of the table.

# %% figure="river"
play(river.experts())

# %% [markdown] text="cures-stored"
# Now the toy of the other sections. Here are all stored runs: the head start, and one cure or none. The guess is about head start 0, the figure opens with 3.

# %% figure="predict-perfect-and-bad"
predict("perfect_and_bad")

# %% figure="cures"
controls.show(
    figures.load,
    cure=controls.choice("cure", list(toy.CURES), "loss, α = 0.01"),
    head_start=controls.slider("head start", 0, 3, 1, 3),
)

# %% code="table" output="fixed"
SHOWN = ("none", "loss, α = 0.01", "loss, α = 1", "bias, u = 0.01", toy.SOFTMAX)
COLUMNS = {"effective": 1, "error": 4, "gate": 2, "information": 2}  # with their digits
for head_start in (3, 0):
    print(f"head start {head_start}, {len(toy.FRESH)} other seeds".ljust(36) + "".join(f"{what:<19}" for what in COLUMNS))
    for cure in SHOWN:
        run = toy.fresh(cure, head_start)
        spans = (f"{min(run[what]):.{digits}f} to {max(run[what]):.{digits}f}" for what, digits in COLUMNS.items())
        print(f"{cure:<36}" + "".join(f"{span:<19}" for span in spans))

# %% [markdown] text="tables-text"
# <details><summary>What <code>gate</code> and <code>information</code> are</summary>
#
# `gate` is the mean weight of the chosen expert. `information` is the mutual information between a token's cluster and its expert, as a share of the largest possible:
# 1 if the expert tells the cluster for certain, 0 if it tells nothing.
#
# </details>
#
# ### What `information` looks like
#
# *deeper: the core path goes on with “What the cures do”*
#
# What does much or little of it look like? The figure shows which share of each cluster's tokens goes to which expert, before training and on the way:
# without a loss, with α = 0.01,
# and with α = 1.

# %% figure="clusters"
controls.show(
    figures.clusters,
    step=controls.steps("training step", figures.LOOKS, figures.LOOKS[0]),
    planted=controls.toggle("a head start of 3"),
)

# %% [markdown] text="shared-text"
# ### What the cures do
#
# All four cures of the table repair the planted collapse, in all fifteen runs. The loss at α = 0.01 ends with a smaller error than the bias at u = 0.01 in 13 of them. Of the others
# in the figure's menu, α = 0.001 and u = 0.001 are too weak, and u = 0.1 is too coarse. And:
#
# - Where nothing was planted, an uneven load costs little: the mean error is 0.0057 without a cure and 0.0049 with α = 0.01, and in 6 of 15 runs the cure made it larger.
# - An untrained router tells 0.59 of the cluster on average, by chance. With α = 0.01 and nothing planted that becomes 0.91, and in the figure a permutation. With α = 1 it falls to 0.44.
# - With α = 1 and nothing planted the gates fall to 0.17; a router that knows nothing would give 1/8.
# - *With* the planted preference the error of α = 1 is smaller, in 14 of 15. Tick the box: the expert tells less at the end than at step 120. So it was in 13. Why, we have not measured.
#
# ## 7 · An expert for everyone
#
# *deeper: the core path goes on with the quiz*
#
# If every expert must take tokens of all kinds, each has to learn what all tokens need. DeepSeekMoE (Dai et al. 2024) sets a **shared** expert beside the routed ones: every token passes through it, with weight 1, outside the routing.
# The routed experts can add what is special:
#
# $$y = \mathrm{shared}(x) + \sum_{e \in \text{top-}k} g_e \, \mathrm{expert}_e(x)$$

# %% [markdown] text="SharedExpertMoE-text"
# ### Exercise `SharedExpertMoE`
#
# *{points} · difficulty ●●○ · 9 minutes · deeper: you can come back to it later*
#
# Write the layer. It maps [..., d_model] to [..., d_model].
#
# - **`router`** = `nn.Linear(d_model, n_experts, bias=False)`; **`experts`**, an `nn.ModuleList` of n_experts different `FFN(d_model, d_ff)`; **`shared`**, one more `FFN(d_model, d_ff)`. Nothing else has parameters.
# - **Weights:** softmax over all experts, the top_k largest, divided by their sum. Not divided is accepted as well. (With top_k = 1, divided weights are always 1, and the router learns nothing: notebook 08.)
# - **Returns** y alone. No residual, no dropout; x stays as it was.
# - How you dispatch is free: you may even call every expert on all tokens, and give most of them a weight of zero.
#
# Stuck? Run `hint("SharedExpertMoE")` in a cell of your own.


# %% exercise="SharedExpertMoE"
class SharedExpertMoE(nn.Module):
    """One expert for every token, and top_k of n_experts for each: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff, n_experts, top_k):
        ### BEGIN SOLUTION
        super().__init__()
        self.top_k = top_k
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList([FFN(d_model, d_ff) for _ in range(n_experts)])
        self.shared = FFN(d_model, d_ff)
        return
        ### END SOLUTION
        raise NotImplementedError

    def forward(self, x):
        ### BEGIN SOLUTION
        tokens = x.reshape(-1, x.shape[-1])  # [T, d_model]
        value, idx = self.router(tokens).softmax(dim=-1).topk(self.top_k, dim=-1)  # [T, k] each
        value = value / value.sum(dim=-1, keepdim=True)
        y = self.shared(tokens)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(idx == e)
            y = y.index_add(0, token, value[token, slot].unsqueeze(-1) * expert(tokens[token]))
        return y.reshape(x.shape)
        ### END SOLUTION
        raise NotImplementedError

# %% [markdown] text="fine-text"
# The same paper cuts experts finer: m times as many, each 1/m as wide, m times as many chosen.

# %% code="fine" output="fixed"
d_model, width, E, k = 2048, 5632, 16, 2
for m in (1, 2, 4):
    one = 3 * d_model * (width // m)  # a gated expert of notebook 07
    ways = math.comb(m * E, m * k)
    print(
        f"m = {m}: {m * E} experts, {m * k} chosen; all {m * E * one:,}, used {m * k * one:,}; {ways:,} ways to choose"
    )

# %% [markdown] text="fine-after"
# DeepSeekMoE-16B has 64 routed experts of width 1408 for d_model = 2048, chooses 6, and has 2 shared ones. DeepSeek-V3 has 256 routed experts,
# chooses 8, and has 1 shared. Others do without a shared expert: OLMoE (64 experts, 8 chosen) and Qwen3-MoE (128, 8 chosen). Whether it helps can't
# be seen at the size of a notebook, so we promise nothing.
#
# ## 8 · Spot the error
#
# *deeper: the core path goes on with the quiz*
#
# Three things that one can read on the web or in code, in our words. For each: find the error, then run the cell.
#
# **A.** The load-balancing loss has its minimum, 1, exactly where the load is even. Below, ten tokens are shared out: some are undecided and lean towards expert 0, the others choose expert 1 and give expert 0 nothing. Move the first slider,
# or drag the dashed line. The second slider is the probability with which the undecided choose expert 0.

# %% figure="predict-below-one"
predict("below_one")

# %% figure="products"
controls.show(
    figures.products,
    undecided=controls.slider("undecided", 0, 10, 1, 10),
    confidence=controls.steps("confidence", list(figures.CONFIDENCES), 0.34),
)

# %% [markdown] text="spot-minimum-after"
# What holds is weaker: the loss is 1 for even f, or even P. A selection bias that corrects too far can bring it below 1 as well, because it sends the load where there is less probability.
#
# **B.** A library computes f as a mean over tokens of the one-hot slots, adds up the k slots, and leaves the rest as it is. What does an even load give?

# %% code="spot-k" output="fixed"
E, T = 8, 64
for k in (1, 2, 4):
    idx = (torch.arange(T)[:, None] + torch.arange(k)) % E  # every expert equally often
    P = torch.full((E,), 1 / E)
    f = F.one_hot(idx, E).float().mean(0)  # [k, E]
    print(
        f"k = {k}: summed over the slots {E * (f.sum(0) * P).sum().item():.0f}, averaged {E * (f.mean(0) * P).sum().item():.0f}"
    )

# %% [markdown] text="spot-k-after"
# k, not 1: the same α then weighs k times as much. A widely used library did so for a long time (transformers; issue 43688 of February 2026 is about it). Read
# the code before you copy an α from a paper.
#
# **C.** An implementation of the Switch Transformer lets a dropped token pass by having the layer **return x** for it, as a residual connection does. The block then computes x + layer(norm(x)).

# %% code="spot-dropped" output="fixed"
x = torch.tensor([1.0, 2.0, -3.0])
normed = F.layer_norm(x, (3,))
print("the paper:       x + 0       =", [round(v, 2) for v in (x + 0).tolist()])
print("implementation:  x + norm(x) =", [round(v, 2) for v in (x + normed).tolist()])

# %% [markdown] text="spot-dropped-after"
# The residual connection is there already. A dropped token should get 0 from the layer; here it gets its own normalised copy added, once for each layer that drops it.
#
# And a fourth is no error but an omission: a published tutorial builds its mixture of experts with no balance loss, no z-loss, no capacity, and a router in the model's own dtype. It calls itself “simplified”, and what it leaves out is this notebook.
#
# ## 9 · Quiz
#
# One point each. Put the letter in quotes.

# %% [markdown] text="quiz_below_one-text"
# ### Question `quiz_below_one`
#
# *deeper: it needs section 8*
#
# You train with top-1 routing and a selection bias, and log the balance loss E·Σ f·P. It says 0.93. What do you conclude?
#
# - **A.** The code is wrong: 1 is the smallest possible value.
# - **B.** The factor E has been forgotten.
# - **C.** Nothing is wrong by itself: the load sits on experts with less probability than the mean.

# %% quiz="quiz_below_one"
quiz_below_one = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_below_one = "C"
### END SOLUTION

# %% [markdown] text="quiz_dropped-text"
# ### Question `quiz_dropped`
#
# *deeper: it needs section 4*
#
# All k experts of a token are full. What happens to the token?
#
# - **A.** The layer adds 0 for it; it leaves the block by the residual connection as it came.
# - **B.** It is sent to the next best expert that has a place.
# - **C.** The layer returns the token itself, so that nothing is lost.

# %% quiz="quiz_dropped"
quiz_dropped = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_dropped = "A"
### END SOLUTION

# %% [markdown] text="quiz_selection-text"
# ### Question `quiz_selection`
#
# Scores s, selection bias b. The two experts with the largest s + b are chosen. Where do their weights come from?
#
# - **A.** From s + b.
# - **B.** From s alone, and b gets no gradient.
# - **C.** From s alone, and b is trained by the gradient of the task's loss.

# %% quiz="quiz_selection"
quiz_selection = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_selection = "B"
### END SOLUTION

# %% [markdown] text="M11-text"
# ## 10 · In your own words
#
# *deeper: the core path ends here*
#
# *question M11 · {points}, graded by your instructor · 5 minutes*
#
# What does a balance loss trade away?
#
# 1. Say what the loss asks of the router, what the task asks, and where the two disagree. Think of clusters that are not equally frequent.
# 2. What becomes of routing and experts if α is far too large? Use the tables of section 6.
# 3. What does the bias of section 5 do differently, and what does it give up itself?
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M11" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) The task wants each token at the expert that treats it best; the loss wants every expert to be wanted equally often, whatever the tokens are. They disagree where tokens are not evenly
# distributed: if half of all tokens belong to one cluster, an even load must split that cluster over several experts, or mix others in. The gradient of the loss **pulls the routing away from what the task wants**. It buys use of all
# experts and even work on all devices. (2) With α far too large the router follows the loss: the load is even, but **where a token goes says much less about what it is**. In the tables, α = 1 without a head start
# has eight effective experts, and the expert tells 0.34 to 0.53 of the cluster, against 0.78 to 1.00 with α = 0.01: clusters are spread over several experts, and each expert has to do for several clusters what it could do for one, so the experts
# do more alike work. The error is 0.0110 to 0.0143, about that of the collapse (0.0105 to 0.0134) and, seed by seed, 1.4 to 3.2 times that without a loss (0.0037 to 0.0081). (3) The bias **moves only the choice**: it has no gradient, does not enter
# the weights, and so does not pull at what the router has learned about the task. It still sends some tokens to an expert that is not their best, it needs a step u that is neither too small nor too large, and it corrects one step late.
#
# **Rubric.** One point each:
#
# - (1) the routing is pulled away from what the task wants, with a reason or an example where the two disagree. Half a point for “it costs quality” without saying why.
# - (2) too large an α makes the routing tell less about the token, so that experts can't specialise (“they become more alike” counts), with a number from the tables. Half a point without the number.
# - (3) the bias changes only the choice, not weights or gradients. Half a point if no price of its own is named (forced choices, the size of u, a late reaction).
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## Going further
#
# - Fedus, Zoph, Shazeer 2021, *Switch Transformers* (arXiv 2101.03961): top-1 routing, the balance loss, capacity.
# - Zoph et al. 2022, *ST-MoE* (arXiv 2202.08906): the z-loss, and what makes training unstable.
# - Wang et al. 2024, *Auxiliary-Loss-Free Load Balancing* (arXiv 2408.15664): the bias.
# - Dai et al. 2024, *DeepSeekMoE* (arXiv 2401.06066): shared and fine-grained experts. Muennighoff et al. 2024, *OLMoE* (arXiv 2409.02060) does without the shared one.
#
# Next: `10_capstone`, where one block gets four kinds of feed-forward.

# %% figure="progress"
progress()
