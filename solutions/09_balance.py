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
# # 09 · The river
#
# Eight experts share the tokens of a plane. A router gives each token a score for every expert and sends it to the best one, and whoever is chosen learns. Expert 0 has a head start: a number that is added to its score
# begins at 3, and is trained like everything else. Press **Play**, and the river shows how large a share of the tokens each expert gets. Then get the others working. There are two cures: the *balance loss* is a second loss, with weight α, that asks for an even load, and the *selection bias* helps idle experts when the choice is made. Choose one, drag α, and let it play again.
#
# <span class="ffn-notebook-only">To wake the board up, press <b>Shift + Enter</b> three times.</span>

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, play, predict, progress, quiz, veil
from ffnlab.course.boards import river
from ffnlab.course.experiments import balance as toy
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import balance as figures
from ffnlab.course.progress_bar import bar
from ffnlab.drawing import controls, style

style.use()

# %% figure="river"
play(river.experts())

# %% figure="river-alone"
veil("Why does nobody help the idle?", "when the level without a cure is settled", of="river.alone", text="""
Only a chosen expert has an output, so only a chosen expert gets a gradient. An expert without tokens stays as it is. Nothing in the task's loss asks the router to try it, although there is a
cluster for each expert.

Yet an idle expert can come back. The router moves, and may bring it a few tokens by accident. Follow expert 2 from the head start: at step 12 it has 3 % of the tokens. It learns, and ends with half of them. A cure does on
purpose what happens here by accident: switch the cure to the balance loss with α = 0.1, change nothing else, and all eight get tokens.

Without a cure it does not happen to all. The sixteen small strokes are other runs with the same settings, and none of them ends with eight at work, with the head start or without.
""")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | advanced |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M9 |
# | **You need** | `08_experts` |
# | **Points** | {points} |

# %% figure="anatomy"
anatomy.block("09")

# %% [markdown] text="own_expert_counterexample-text"
# ## Fair is not yet useful
#
# When one expert has all the tokens, the mixture has **collapsed**. In the creek model one FFN serves every word, so nobody can be idle. Notebook 08 put four experts in its place, and a small loss took part in
# their training. This notebook is about that loss, and about what else can be done.
#
# You need two lines of notebook 08. The router gives each of T tokens a **logit** for each of E experts, and softmax makes **probabilities** p of them. The k most probable experts are
# chosen, `idx` [T, k], and their outputs are added, each weighted with its probability, which is its **gate**. One entry of `idx` is a **slot**, so T tokens have k·T slots.
#
# On the river you have seen that a load can be fair while the error is larger than without a cure. What would be useful? An expert for each cluster. How can one tell that from a
# table of who goes where? A classmate asks for two things: no two clusters have the same favourite expert, and the load is even. We tried the code below on 10,000 random tables,
# and on 10,000 in which each cluster had an expert to itself. It was right each time. It is wrong all the same.
#
# ### Exercise `own_expert_counterexample`
#
# *{points} · difficulty ●○○ · 3 minutes*
#
# Find a table about which it is wrong. Each row is a cluster and has the shares of its tokens that go to each expert, so it adds up to 1. There are as many experts as clusters, and
# clusters are equally large. Any such table earns most of the points. How few clusters can you do it with?
#
# *Stuck? Run `hint("own_expert_counterexample")` in a cell of your own. Every exercise has hints.*

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

# %% [markdown] text="loss-text"
# ## A loss for balance
#
# How can a gradient tell a router to spread the tokens? The load is counted, and counting has no gradient. The Switch Transformer ([Fedus et al. 2021](https://arxiv.org/abs/2101.03961))
# multiplies the load by something that has one:
#
# $$L = E \sum_{i=1}^{E} f_i \, P_i \qquad f_i = \frac{\text{slots of expert } i}{k\,T}, \qquad P_i = \text{mean over tokens of } p_i$$
#
# f is what **happened**, and P is what the router **wanted**. The gradient goes through P alone. It pushes down the probability of crowded experts, and so up that of idle ones. The loss is
# added to that of the task with a weight α, the one that you have dragged on the river.
#
# The factor E makes an even load give 1, for any number of experts. Code that divides by T and forgets the k slots gives k for an even load.
# [A widely used library](https://github.com/huggingface/transformers/issues/43688) has done so. The same α then weighs k times as much.

# %% figure="predict-below-one"
predict("below_one")

# %% [markdown] text="products-text"
# In the figure, ten tokens choose among three experts. Some are undecided and lean towards expert 0. The others choose expert 1 and give expert 0 nothing. Drag the dashed
# line to change how many are undecided. The second slider is the probability with which the undecided choose expert 0.

# %% figure="products"
controls.show(
    figures.products,
    undecided=controls.slider("undecided", 0, 10, 1, 10),
    confidence=controls.steps("confidence", list(figures.CONFIDENCES), 0.9),
)

# %% [markdown] text="lowest_loss-text"
# ## How low can it go?
#
# A dashboard shows the balance loss of a training run, with k = 1. It turns green when the loss falls, and nobody looks at the load itself. Build the router that makes it as green
# as possible.
#
# ### Exercise `lowest_loss`
#
# *{points} · difficulty ●●● · 12 minutes*
#
# Return logits whose loss is as small as you can make it.
#
# - **Takes** `E`, the number of experts, 3 or more.
# - **Returns** `logits` [T, E] as finite floats, with any number of tokens T from 1 to 10·E. Each token goes to the expert with its largest logit, or to the first of equally large ones.
# - For eight experts the record is 0.400. A loss that is at most 2 % above the record of its E earns all points, any loss below 1 earns one.


# %% exercise="lowest_loss"
def lowest_loss(E):
    """Logits [T, E] with the smallest balance loss that you can find, for k = 1."""
    ### BEGIN SOLUTION
    busy = (E + 1) // 2  # the others stay idle
    logits = torch.zeros(busy, E, dtype=torch.float64)  # a token for each busy expert
    logits[:, :busy] = -40.0  # no probability where the others' load is
    logits[range(busy), range(busy)] = 0.01  # its own expert is ahead of the idle ones, but only just
    return logits
    ### END SOLUTION
    raise NotImplementedError


# %% code="lowest" output="fixed"
try:
    for E in (3, 8, 64):
        logits = lowest_loss(E)
        p = torch.softmax(logits, dim=-1)
        f = torch.bincount(logits.argmax(dim=-1), minlength=E) / len(logits)
        print(f"E = {E:2}: loss {E * (f * p.mean(0)).sum().item():.3f}, {(f == 0).sum().item():2} idle experts")
except NotImplementedError:
    print("This cell lights up when lowest_loss is written.")

# %% [markdown] text="bias-text"
# How green is the dashboard now, and how many experts work? An even load gives 1, so any other value proves that the load is uneven. But a smaller one is not fairer. And still the loss works in training, because what trains is not its
# value but its gradient. It lowers the probability of a crowded expert, and so raises that of the idle ones.
#
# ## A bias for the choice
#
# The balance loss pulls at the same numbers of the router as the task does. [Wang et al. 2024](https://arxiv.org/abs/2408.15664) do without that loss. Each expert gets a
# **selection bias** b. The **scores** s are sigmoids of the logits, one for each expert by itself. The k largest of s + b are chosen, but the weights come from s alone. In the figure and the quiz the weights are the scores of the chosen, divided by their sum, as in DeepSeek-V3. Wang et al. take s as it is. No gradient
# reaches b. After each step it is moved by hand, by a small step u:
#
# $$b_i \leftarrow b_i + u \cdot \mathrm{sign}(\overline{c} - c_i)$$
#
# Here $c_i$ is the number of slots of expert i, and $\overline{c}$ the mean of all E numbers. An expert with too many slots goes down, one with too few goes up, and one that is exactly at
# the mean stays.

# %% figure="predict-partner-changes"
predict("partner_changes")

# %% [markdown] text="selection-text"
# Move the bias. Then tick the box to see what goes wrong if it enters the weights, too.

# %% figure="selection"
controls.show(
    figures.selection,
    bias=controls.slider("bias of expert 4", -0.3, 0.3, 0.05, 0.0),
    weighted=controls.toggle("bias in the weights (wrong)"),
)

# %% [markdown] text="balance_step-text"
# ## One step of training
#
# ### Exercise `balance_step`
#
# *{points} · difficulty ●●○ · 12 minutes · deeper: you can come back to it later*
#
# Write what a training step needs: two numbers for its log, the loss, and the new bias. All of them begin with one count. The river's *like 3.0 equal experts* is e to the power of an
# entropy, $\exp(-\sum_i f_i \ln f_i)$, with $0 \ln 0 = 0$. It is E for an even load, and 1 if one expert has everything.
#
# - **Takes** `logits` [T, E], which may be as large as 10,000; `idx` [T, k], the chosen experts, which need not be the k largest logits; the bias `b` [E], perhaps an `nn.Parameter`; and
#   its step `u`.
# - **Returns** a dict: `"load"`, which is f [E]; `"effective"`, the number of equal experts; `"loss"`, which is L, without α; `"bias"`, the new b [E].
# - Some experts may have no slot. The loss has a gradient to `logits`, the new bias has none. Each keeps its dtype, and what you are given stays as it was.


# %% exercise="balance_step"
def balance_step(logits, idx, b, u):
    """What a step needs, from logits [T, E], choices idx [T, k], bias b [E] and its step u: load, effective, loss and bias."""
    ### BEGIN SOLUTION
    E = logits.shape[-1]
    counts = torch.bincount(idx.flatten(), minlength=E).to(logits.dtype)  # [E], no gradient
    f = counts / idx.numel()
    P = torch.softmax(logits, dim=-1).mean(dim=0)
    return {
        "load": f,
        "effective": torch.special.entr(f).sum().exp().item(),  # entr(f) is -f ln f, and 0 at 0
        "loss": E * (f * P).sum(),
        "bias": b.detach() + u * torch.sign(counts.mean() - counts).to(b.dtype),
    }
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="cures-text"
# ## Cures side by side
#
# Now the cures train a larger mixture than the river's. A token has 16 numbers and goes to one expert, whose output is weighted with its gate as it is. Each of eight clusters has a linear map to be learned, in 300 steps. Errors are
# about a fifteenth of those on the river.

# %% figure="predict-which-alpha"
predict("which_alpha")

# %% [markdown] text="cures-run-text"
# Two rows are without a cure, because scores can be softmax or sigmoids. The losses and the bias with softmax have to beat “none”, and the other biases “none, sigmoid”. A stroke is one of fifteen stored runs: on the left with a head start of 3 for expert 0, on the
# right without. Rows with a cure stay empty until you bet. Write the names of those that you believe in into `mine`, and run the cell. A dot is a run with your own `balance_step`.


# %% code="cures"
mine = []  # for example "loss, α = 0.1"
names = list(toy.CURES)
figure, axes = plt.subplots(1, 2, figsize=(10, 5), sharex=True, sharey=True)
for axis, head_start in zip(axes, toy.HEAD_STARTS, strict=True):
    for name in ["none", "none, sigmoid", *mine]:
        errors = toy.fresh(name, head_start)["error"]
        axis.plot(errors, [names.index(name)] * len(errors), "|", markersize=13, color=style.CHOSEN)
    axis.set(title=f"Head start {head_start}", xlabel="error on new tokens", xlim=(0, 0.024))
axes[0].set_yticks(range(len(names)), names)
axes[0].set_ylim(len(names) - 0.5, -0.5)
try:
    for n in bar(len(mine), "training") if mine else ():
        cure = toy.CURES[mine[n]]
        for axis, head_start in zip(axes, toy.HEAD_STARTS, strict=True):
            run = toy.train(0, head_start, balance_step, cure)
            axis.plot(run.error, names.index(mine[n]), "o", color=style.LOST)
except NotImplementedError:
    print("Your own runs appear when balance_step is written.")
plt.show()

# %% figure="cures-after"
veil("Which cure is best?", "when you have guessed", of="which_alpha", text=f"""
α = 1 makes the load perfect. But after a head start its error is still three quarters of
the collapsed run's. Without a head start it doubles the error. The router has learned to be fair and forgotten to be useful.

The smallest error below is that of the bias with softmax. Is it best? Without a head start it beats α = 0.01 in nine runs of fifteen, and the bias with sigmoids in seven. So they can't be told apart. After
a head start both beat it in fourteen. Which is best depends on where a run begins.

The paper's u = 0.001 needs more time. After a head start it ends worse than no cure in fourteen runs. With 600 steps it ends better in thirteen.

Means of fifteen runs. *Tells*: how much an expert tells about its token's cluster, from 0 to 1. *Weight*: the chosen expert's.

{toy.table()}
""")

# %% [markdown] text="capacity-text"
# <details><summary>Why does a strong loss spoil the routing? Open this when you have guessed.</summary>
#
# Take a router that has an expert for each cluster, and gives it a probability of 1. Then P is f, and with k = 1 the balance loss is $E\sum f_i^2$. The tokens of a step are drawn at
# random, so some clusters have a few more of them. That makes the loss $1 + (E - 1)/T$ on average: 1.027 in the toy, where T is 256.
#
# A router that gives all experts the same probability pays exactly 1. The difference, 0.027, is more than five times the error that the runs with α = 0.01 end with. So with α = 1 it pays to be unsure, and the table shows it: the chosen expert's weight is only half as large.
#
# </details>
#
# ## A full expert
#
# A fair load on average is not yet a fair load in every step. On real hardware each expert often has a buffer of fixed size, its **capacity**. It is usually a factor times the even share:
#
# $$C = \lceil \text{factor} \cdot k\,T / E \rceil$$
#
# If more tokens want an expert than it has room for, the rest are **dropped** there: for them this expert adds nothing, while their other choices still may. Who comes first? The first
# choices of all tokens, in the order of the tokens, and then all second choices. Drag the thick line.

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
# *{points} · difficulty ●●● · 10 minutes · deeper*
#
# Say for every slot whether it is kept.
#
# - **Takes** `idx` [T, k], the chosen experts; `E`, their number; and `capacity`, a whole number, 0 or more: how many slots each expert takes.
# - **Order of service:** slot 0 of all tokens, in the order of the tokens; then slot 1 of all tokens; and so on. Each expert keeps the first `capacity` slots that ask for it.
# - **Returns** truth values [T, k], `True` for kept. Leave `idx` as it was. Loops are fine.


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

# %% [markdown] text="quiz_dropped-text"
# How large must the factor be? The Switch Transformer takes 1 to 1.25. A factor of 1.25 leaves room for chance, but not for a favourite. On the river without a cure the fullest expert takes half of
# all tokens, so it would need a factor of about 4. Balance comes first, and capacity second. Newer systems such as MegaBlocks ([Gale et al. 2022](https://arxiv.org/abs/2211.15841)) drop
# nothing. But where the experts live on several devices, all still wait for the fullest one.
#
# ## Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_dropped`
#
# With k = 2 a token has chosen expert 3 with the weight 0.7 and expert 5 with the weight 0.3. Expert 3 is full, and expert 5 has room. What does the layer add to this token?
#
# - **A.** 0.3 times the output of expert 5.
# - **B.** The whole output of expert 5, because it is the only one left.
# - **C.** 0.7 times the output of the next best expert that has room, and 0.3 times that of expert 5.

# %% quiz="quiz_dropped"
quiz_dropped = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_dropped = "A"
### END SOLUTION

# %% [markdown] text="quiz_selection-text"
# ### Question `quiz_selection`
#
# Three experts have the scores 0.6, 0.3 and 0.2 for a token, and the selection biases 0, 0 and 0.2. Two experts are chosen, and weighted as in DeepSeek-V3. What is the weight of the first one?
#
# - **A.** 0.60
# - **B.** 0.75
# - **C.** 0.67

# %% quiz="quiz_selection"
quiz_selection = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_selection = "B"
### END SOLUTION

# %% [markdown] text="quiz_two_logs-text"
# ### Question `quiz_two_logs`
#
# Two runs of the toy, without a head start, ended like this. One was trained with α = 0.01, the other with α = 1. Which one had α = 1?
#
# | run | like so many equal experts | where the tokens of cluster 0 go, expert by expert |
# |---|---|---|
# | 1 | 8.0 | 6 %, 44 %, 0 %, 0 %, 21 %, 4 %, 23 %, 2 % |
# | 2 | 8.0 | 0 %, 100 %, 0 %, 0 %, 0 %, 0 %, 0 %, 0 % |
#
# - **A.** Run 1.
# - **B.** Run 2.
# - **C.** One can't tell: both loads are even.

# %% quiz="quiz_two_logs"
quiz_two_logs = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_two_logs = "A"
### END SOLUTION

# %% [markdown] text="M9-text"
# ### In your own words
#
# *question M9 · {points}, graded by your instructor · 10 minutes*
#
# What does a balance loss trade away?
#
# 1. Say what the loss asks of the router, what the task asks, and where the two disagree. Think of clusters that are not equally frequent.
# 2. What becomes of routing and experts if α is far too large? Use the table of section *Cures side by side*.
# 3. What does the selection bias do differently, and what does it give up itself?
#
# Four to eight sentences are enough. Write into the cell below.

# %% [markdown] question="M9" points=3
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

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | Only a chosen expert learns, and the task asks for no other: without a cure some stay idle, in each of 34 runs. | the river's level without a cure |
# | An even load says how much each expert gets, and not what: a router can be fair and useless. | `own_expert_counterexample`, the river, `quiz_two_logs` |
# | The balance loss multiplies what happened by what the router wanted. Its gradient spreads the tokens, but a low value is no sign of balance. | `lowest_loss`, `balance_step` |
# | The selection bias decides who works, and not how much their word counts. | `quiz_selection`, `balance_step` |
# | A full expert drops whoever comes late, and adds nothing for them. | `drop_mask`, `quiz_dropped` |
#
# Next: `10_capstone`, where one block gets four kinds of feed-forward.

# %% figure="progress"
progress()

# %% [markdown] text="deeper-text"
# ## Deeper
#
# *deeper: the core path goes on with `10_capstone`*
#
# Many pages show a mixture of experts in thirty lines. They leave out balance, the subject of this notebook, and two more things.
#
# **Logits that grow.** Multiply all logits of a token by 16: it chooses the same expert, and is much surer. Nothing in the task's loss keeps logits small. In bfloat16, with 8
# significant bits, a logit above 64 is rounded to steps of ½ at the least. So it can be wrong by ¼, and $e^z$ by a factor of $e^{1/4}$, which is 1.28. Thus the weights get worse as the logits grow. Two things help. Most code computes the router in float32, whatever
# the model's dtype is. And the **z-loss** of [Zoph et al. 2022](https://arxiv.org/abs/2202.08906) pulls $\ln \sum e^z$, which is roughly the token's largest logit, towards zero:
#
# $$L_z = \frac1T \sum_{t=1}^{T} \Bigl(\ln \sum_{e=1}^{E} e^{z_{te}}\Bigr)^2$$
#
# In torch it is `torch.logsumexp(logits, dim=-1).square().mean()`. Its weight there is 0.001.
#
# **An expert for everyone.** If tokens of all kinds need the same thing, every expert has to learn it. DeepSeekMoE ([Dai et al. 2024](https://arxiv.org/abs/2401.06066)) sets a **shared** expert beside the routed ones.
# Every token passes through it, with weight 1, and nobody routes it:
#
# $$y = \mathrm{shared}(x) + \sum_{e \in \text{top-}k} g_e \, \mathrm{expert}_e(x)$$
#
# The same paper cuts experts finer: m times as many, each 1/m as wide, and m times as many chosen. Parameters and work stay as they were, but there are far more ways to choose: 2 of 16 can be
# chosen in 120 ways, 8 of 64 in 4,426,165,368. DeepSeek-V3 has 256 routed experts, chooses 8, and has 1 shared. OLMoE ([Muennighoff et al. 2024](https://arxiv.org/abs/2409.02060)) does without the
# shared one, and chooses 8 of 64. What would you have to measure to decide between the two?
