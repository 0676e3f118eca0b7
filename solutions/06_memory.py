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
# # 06 · What the FFN stores
#
# `●●●●●●○○○○` step 6 of 10
#
# *What does Debaba like?* The FFN of this notebook knows the answer, for 512 invented people. A question is a vector of 32
# random numbers, an answer is one of 64 other random vectors, and nothing connects the two but the FFN's 128 hidden neurons.
#
# The figure shows one neuron: on the left are the weights that lead into it, in the middle the eight people for whom it **fires** most, on the right
# the eight answers that it pushes most. Is it the memory of one fact? Run the next three cells, guess, and look.

# %% setup="imports"
import contextlib
import copy

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, predict, progress, quiz
from ffnlab.course.experiments import fact_stores
from ffnlab.course.figures import anatomy, little_world
from ffnlab.course.figures import memory as figures
from ffnlab.course.progress_bar import bar
from ffnlab.drawing import controls, style

style.use()
torch.set_num_threads(1)  # for arrays as small as ours, one thread is fastest


class FFN(nn.Module):
    """The FFN of notebook 02: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.activation = torch.relu

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


# %% figure="predict-neuron-fires"
predict("neuron_fires")

# %% figure="neuron"
controls.show(figures.neuron, j=controls.slider("neuron", 0, figures.NEURONS - 1, 1, 0))

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M6, which can wait for another day |
# | **You need** | `02_feed_forward`; a training loop seen once |
# | **Points** | {points} |
#
# Two thirds of a Transformer block's weights can be in its FFN. What do they hold? You will read an FFN as a list of small memories, train one that
# knows hundreds of facts, switch off the neurons that one of them depends on, and write a rule by hand.

# %% figure="anatomy"
anatomy.block("06")

# %% [markdown] text="neuron-text"
# ## 1 · Key, coefficient, value
#
# A neuron **fires** for a question when its weighted sum is above zero, so that ReLU, the non-linearity (the “bend”) of this FFN, lets it through. It pushes the
# answers along which its weights in the second layer point. Its three parts have names (Geva et al. 2021):
#
# | | | for neuron j | with `nn.Linear` |
# |---|---|---|---|
# | **key** | what it compares the token with | a vector of d_model weights | `linear1.weight[j, :]` |
# | **coefficient** | how strongly it responds to this token | one number, h_j = relu(x · key_j + b1_j) | not a weight: an activation |
# | **value** | what it writes, times the coefficient | a vector of d_model weights | `linear2.weight[:, j]` |
#
# This looks like attention, with keys and values that are learned and not computed from tokens. But there is no softmax: many coefficients can be large at once.
#
# One neuron is an anecdote. The next cell looks at all 128.

# %% code="neuron-all"
(E, U, y), store = fact_stores.store()
h = torch.relu(E @ store.keys.T + store.b1)  # [512, 128]
print(f"each neuron fires for {(h > 0).sum(0).min()} to {(h > 0).sum(0).max()} of the 512 questions")
people = y[h.topk(8, dim=0).indices]  # [8, 128], the answers of the eight people of each neuron
pushed = (store.values @ U.T).topk(8).indices  # [128, 8], the eight answers that each neuron pushes most
right = (people.T[:, :, None] == pushed[:, None, :]).any(2).sum(1).float().mean()
print(f"of 8 people, {right:.1f} on average have an answer that is among the 8; chance would give {8 * 8 / 64:.0f}")

# %% [markdown] text="neuron-all-after"
# Key and value belong together: the people a neuron responds to have one of its favourite answers 2.4 times as often as chance predicts.

# %% [markdown] text="growing-text"
# ## 2 · A sum of what the neurons write
#
# Neuron j *writes* its coefficient times its value. The output is what all neurons write together, and the bias b2:
#
# $$\mathrm{FFN}(x) = b_2 + \sum_j h_j \cdot \mathrm{value}_j, \qquad h_j = \mathrm{act}(x \cdot \mathrm{key}_j + b_{1,j})$$
#
# Below, the neurons write one after the other; the one that pushes the right answer most comes first. The score of an answer is
# (x + output) · answer, where x is the question: a residual connection, as in a Transformer. The answer with the highest score is what the FFN says,
# and the curve is the lead of the right answer over the best other one. The last ones push the other way: they fire for this fact and write for others.

# %% figure="growing"
controls.show(
    figures.growing,
    fact=controls.steps("fact", figures.PEOPLE, 40),
    count=controls.slider("neurons", 0, figures.NEURONS, 1, 4),
)

# %% [markdown] text="decompose_output-text"
# Does the right answer stay ahead, once it is? The cell asks about all 512 people.

# %% code="growing-all"
contributions = h * (U[y] @ store.values.T)  # [512, 128], along the right answer
order = contributions.argsort(descending=True)
needed, stays = [], 0
for n in range(512):
    written = (h[n, order[n], None] * store.values[order[n]]).cumsum(0)  # [128, 32], after 1, 2, ... neurons
    outputs = E[n] + store.b2 + torch.cat([torch.zeros(1, 32), written])
    ahead = (outputs @ U.T).argmax(1) == y[n]
    needed.append(int(ahead.int().argmax()))
    stays += bool(ahead[needed[-1] :].all())
rising = sorted(needed)
print(f"neurons needed: {rising[0]} to {rising[-2]}, {rising[256]} in the middle, and one fact needs {rising[-1]}")
print(f"{needed.count(0)} facts need none; {stays} of 512 stay ahead from then on")

# %% [markdown] text="growing-all-after"
# Seven facts need no neuron at all: the question and b2 happen to point the right way. About one fact in ten falls behind once more, while later neurons write for
# other facts, and comes back before the end.
#
# ### Exercise `decompose_output`
#
# *{points} · difficulty ●●○ · 4 minutes*
#
# Take the output apart.
#
# - **Takes** `ffn` as before, with ReLU as its `activation`, and one token `x` [d_model].
# - **Returns** a tensor [d_ff, d_model], in the dtype of `x`. Row j is what neuron j writes: its coefficient times its value.
# - A neuron that does not fire has a row of zeros. All rows together add up to `ffn(x)` without `b2`.
# - Whether gradients flow is up to you. `ffn` and `x` stay as they were.
#
#
# Stuck? Run `hint("decompose_output")` in a cell of your own.


# %% exercise="decompose_output"
def decompose_output(ffn, x):
    """What each neuron writes for the token x [d_model]: [d_ff, d_model]."""
    ### BEGIN SOLUTION
    coefficients = ffn.activation(ffn.linear1(x))  # [d_ff]
    return coefficients[:, None] * ffn.linear2.weight.T
    ### END SOLUTION
    raise NotImplementedError

# %% code="decompose-sum"
torch.manual_seed(0)
ffn, x = FFN(6, 10), torch.randn(6)
try:
    written = decompose_output(ffn, x)
    print("rows that are not zero:", int(written.any(dim=1).sum()), "of", len(written))
    print("b2 and all rows give the output:", torch.allclose(ffn.linear2.bias + written.sum(0), ffn(x), atol=1e-6))
except NotImplementedError:
    print("This cell lights up when decompose_output is written.")

# %% [markdown] text="store-text"
# ## 3 · Store facts
#
# How do facts get into the weights? Nobody puts them there one at a time. The N questions `E` [N, d_model] and the C possible answers `U` [C, d_model] are
# random and stay fixed; `y` [N] says which answer is right for each question. The scores of all answers are `(E + ffn(E)) @ U.T`, [N, C], and
# cross-entropy with gradient steps does the rest.

# %% [markdown] text="train_fact_ffn-text"
# ### Exercise `train_fact_ffn`
#
# *{points} · difficulty ●●○ · 7 minutes*
#
# Train an FFN that knows facts.
#
# - **Takes** `E` [N, d_model], `U` [C, d_model], both float32, `y` [N] of whole numbers below C, the width `d_ff`, and a number of steps.
# - **Returns** the trained `nn.Module`: two linear layers, hidden width `d_ff`, and exactly one non-linearity, between them. It maps [N, d_model] to [N, d_model];
#   a residual connection inside is allowed.
# - A fact n is known if the largest score is that of `y[n]`. The check accepts the scores `(E + module(E)) @ U.T` and `module(E) @ U.T`. At least 99 %
#   of 256 facts have to be known, with d_model = 32, 64 answers, d_ff = 40 and 300 steps.
# - Use a PyTorch optimiser and call `step()` at most `steps` times. Each step may see all facts or a batch. Adam with a learning rate of 0.01 is enough.
# - The steps must do the work: after one step most facts are still unknown, and the output changes from any input to the next, as an FFN's does.
# - Only the module is trained: `E`, `U` and `y` stay as they were. The check takes a second or two.
#
#
# Stuck? Run `hint("train_fact_ffn")` in a cell of your own.


# %% exercise="train_fact_ffn"
def train_fact_ffn(E, U, y, d_ff, steps):
    """A trained module of width d_ff that maps the questions E [N, d_model] near to their answers U[y]."""
    ### BEGIN SOLUTION
    store = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))
    optimiser = torch.optim.Adam(store.parameters(), lr=0.01)
    for _ in range(steps):
        optimiser.zero_grad()
        scores = (E + store(E)) @ U.T  # [N, C]
        F.cross_entropy(scores, y).backward()
        optimiser.step()
    return store
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="capacity-text"
# ## 4 · More neurons, more facts
#
# *deeper: the core path goes on with section 6*
#
# How many facts fit? The table holds 245 training runs, made ahead: seven numbers of facts, seven widths, five seeds
# each. Move the sliders. What do you need for 512 facts? For 1024?

# %% figure="predict-overloaded"
predict("overloaded")

# %% figure="capacity"
controls.show(
    figures.capacity,
    count=controls.steps("facts", figures.FACTS, 256),
    width=controls.steps("d_ff", figures.WIDTHS, 16),
)

# %% [markdown] text="capacity-after"
# Twice the facts need about twice the neurons: in fifteen other runs 16 facts per neuron were known with all widths from 16 to 128. With 8 neurons, six runs missed one
# or two facts. The 16 depends on d_model, on the number of answers and on the steps; the proportion is the point. With d_model = 32 the columns 64, 128 and
# 256
# are the ratios d_ff/d_model of 2, 4 and 8: the row of 2048 facts shows what the step from 2 to 4 buys. But what counts is the number of weights, and a larger d_model or
# more layers bring them as well.
#
# **How many bits is that for each weight?** One of 64 answers is log₂ 64 = 6 bits. A neuron has 32 weights in its key and 32 in its value. So 16 facts per neuron are
# 16 · 6 bits in 64 weights. The cell counts 6 bits for each fact that a stored run knows, up to where the store breaks down, and asks whether more steps would
# help there.

# %% code="bits" output="fixed"
for facts in (512, *fact_stores.LIMIT_FACTS):
    shares = fact_stores.fresh(facts, 32)
    bits = [fact_stores.bits_per_weight(facts, 32, share) for share in shares]
    print(
        f"32 neurons, {facts / 32:2.0f} facts each: {min(shares):4.0%} to {max(shares):4.0%} known, {min(bits):.2f} to {max(bits):.2f} bits per weight"
    )
print()
usual, long = ([round(512 * share) for share in shares] for shares in (fact_stores.fresh(512, 16), fact_stores.longer()))
print(f"16 neurons, 512 facts: {min(usual)} to {max(usual)} known after 400 steps, {min(long)} to {max(long)} after 8000")

# %% [markdown] text="bits-after"
# The store holds **1.5 bits per weight** at 16 facts per neuron, and up to 1.9 at its limit, about 20 facts per neuron. Allen-Zhu and Li (2024, arXiv
# 2404.05405) find about **2 bits per
# parameter** in whole language models that have seen each fact a thousand times. A few neurons and 400 steps come close to that.
#
# Beyond the limit, twenty times as many steps help with 512 facts, nearly up to the 256 that fit.
#
# Do you believe the table? The next cell trains one row again, with *your* `train_fact_ffn`, on other facts.


# %% code="sweep"
def known(module, E, U, y):
    with torch.no_grad():
        scores = ((E + module(E)) @ U.T, module(E) @ U.T)
        return max((s.argmax(1) == y).float().mean().item() for s in scores)


count, widths, shares = 256, (4, 8, 16, 32), {}
try:
    for run in bar(20, f"{count} facts, 5 seeds"):
        width, seed = widths[run // 5], run % 5
        facts = fact_stores.facts(count, 100 + seed)
        torch.manual_seed(seed)
        shares.setdefault(width, []).append(known(train_fact_ffn(*facts, width, 400), *facts))
    for width, found in shares.items():
        print(f"d_ff = {width:2}: {min(found):4.0%} to {max(found):4.0%} known")
except NotImplementedError:
    print("This cell lights up when train_fact_ffn is written.")

# %% [markdown] text="which-text"
# ## 5 · Which neurons know it?
#
# *deeper: the core path goes on with section 6*
#
# A fact is known because the output points towards its answer. Each neuron adds h_j · value_j to the output. So it helps if it fires (h_j is large)
# *and* its value points the right way. What it adds along a direction, here the vector of the right answer, is its **contribution**,
# h_j · (value_j · direction): a number with a sign.

# %% [markdown] text="top_neurons-text"
# ### Exercise `top_neurons`
#
# *{points} · difficulty ●●○ · 4 minutes*
#
# Find the neurons that contribute most.
#
# - **Takes** `ffn` (ReLU), a token `x` [d_model], a `direction` [d_model], and `k`.
# - **Returns** the numbers of the k neurons with the largest contribution h_j · (value_j · direction): an integer tensor [k], in any order.
# - Largest with its sign: a neuron that pushes the other way is not among them. No two contributions are equal at the cut.
# - `direction` need not have length 1. Nothing is changed in place.
#
#
# Stuck? Run `hint("top_neurons")` in a cell of your own.


# %% exercise="top_neurons"
def top_neurons(ffn, x, direction, k):
    """The k neurons that add most to the output of x along the direction: an integer tensor [k]."""
    ### BEGIN SOLUTION
    written = ffn.activation(ffn.linear1(x))[:, None] * ffn.linear2.weight.T  # [d_ff, d_model]
    return (written @ direction).topk(k).indices
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="knock-text"
# ## 6 · Knock them out
#
# Now the experiment. Take the m strongest neurons of one fact, those whose h_j · value_j adds most along its answer, set their coefficients to zero, and
# ask the store all 512 questions again. In grey you see the scores as they were.
#
# Tick the box to choose the m neurons at random among those that fire.

# %% figure="predict-strongest-out"
predict("strongest_out")

# %% figure="knock"
controls.show(
    figures.knocked,
    fact=controls.steps("fact", figures.PEOPLE, 40),
    m=controls.play("m", 0, 16, 1, 4, interval=900),
    at_random=controls.toggle("random firing neurons"),
    seen=controls.free("a neuron", figures.PLACES, figures.UNSEEN),
)

# %% [markdown] text="knockout-text"
# ### Exercise `knockout`
#
# *{points} · difficulty ●●● · 8 minutes · deeper: you can come back to it later*
#
# Silence neurons, and leave no trace.
#
# - **Takes** `ffn` (a module like `FFN`, with ReLU) and `idx`, the numbers of the neurons, as a list or an integer tensor; it may be empty.
# - **Returns** either a new `nn.Module`, or a context manager to be used as `with knockout(ffn, idx): ffn(x)`. The choice is yours.
# - While it lasts, h_j = 0 for every j in `idx`, and nothing else is different: `b2` stays, and so do the other neurons.
# - The module, or the FFN inside the context, takes any x [..., d_model].
# - Afterwards `ffn` has its old weights and gives its old outputs, even after several knock-outs.
#
#
# Stuck? Run `hint("knockout")` in a cell of your own.


# %% exercise="knockout"
def knockout(ffn, idx):
    """A module like ffn [..., d_model] -> [..., d_model] in which the neurons idx are silent."""
    ### BEGIN SOLUTION
    silenced = copy.deepcopy(ffn)
    with torch.no_grad():
        silenced.linear2.weight[:, idx] = 0  # what they would write
    return silenced
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="lost-text"
# One fact is an anecdote. The next cell loads five stores of 512 facts, trained ahead, and asks *your* functions about every fourth fact: is it lost without its m
# strongest neurons, and what share of the other 511 goes with it? Then it knocks out the m neurons that **fire** most for the fact, and m random ones among those
# that fire. It takes a few seconds. (It needs `top_neurons` and `knockout`, both *deeper*. Without them run it all the same, since later cells use its
# stores: it then prints nothing, and its main numbers are in the explanation of your last guess.)


# %% code="lost"
def answers(ffn, E, U, idx):
    silenced = knockout(ffn, idx)
    with silenced if not isinstance(silenced, nn.Module) else contextlib.nullcontext():
        return ((E + (silenced if isinstance(silenced, nn.Module) else ffn)(E)) @ U.T).argmax(1)


stores = []
for seed, (facts, weights) in enumerate(fact_stores.stores()):
    ffn = FFN(32, 128)
    ffn.load_state_dict(weights)
    stores.append((facts, ffn.eval(), seed))


def percent(shares):
    low, high = (f"{100 * share:.1f}" for share in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low} to {high} %"


with torch.no_grad(), contextlib.suppress(NotImplementedError):
    for m in (1, 2, 4, 8):
        lines = []
        for (E, U, y), ffn, seed in stores:
            g = torch.Generator().manual_seed(seed)
            lost = torch.zeros(4)
            for n in range(0, 512, 4):
                sums = ffn.linear1(E[n])
                firing = (sums > 0).nonzero()[:, 0]
                chosen = firing[torch.randperm(len(firing), generator=g)[:m]]
                top = answers(ffn, E, U, top_neurons(ffn, E[n], U[y[n]], m)) != y
                most, chance = (answers(ffn, E, U, idx)[n] != y[n] for idx in (sums.topk(m).indices, chosen))
                lost += torch.tensor([top[n], (top.sum() - top[n].int()) / 511, most, chance]) / 128
            lines.append(lost.tolist())
        fact, others, most, chance = (percent(column) for column in zip(*lines, strict=True))
        print(f"top {m} out: the fact is lost in {fact}; of the other 511 facts, {others} are lost too")
        print(f"    the {m} that fire most: the fact is lost in {most}; {m} random ones: {chance}")

# %% [markdown] text="lost-after"
# (No lines above? They appear when `top_neurons` and `knockout` are written.)
#
# Why is every fact spread, and every neuron shared? An obvious guess: 128 neurons are too few for 512 facts. It was tried the other way round, with fifteen stores each; the cell shows what came out.

# %% figure="predict-room-to-spare"
predict("room_to_spare")

# %% code="room"
for count, width in ((64, 512), (128, 256)):
    room = fact_stores.room(count, width)
    print(f"{count:3} facts, {width} neurons: a neuron fires for {percent(room['fires'])} of the facts;")
    print("    a fact is lost:", "; ".join(f"top {m} out, in {percent(shares)}" for m, shares in room["lost"].items()))

# %% [markdown] text="room-after"
# A neuron that serves several facts is called **polysemantic**, and facts stored this way **distributed**.
#
# You may meet the word *superposition* here. Elhage et al. (2022, arXiv 2209.10652) mean features that outnumber the dimensions, few of them active at once.
# Here half of all neurons fire for each question, so this store is a cousin at best. (In notebook 01 the word means additivity.)

# %% [markdown] text="spare_counterexample-text"
# ### A classmate's code
#
# How many neurons can be cut at once, so that the output stays as it is? The code below gets what each neuron writes for a token, as in `decompose_output`. It tries
# every neuron alone, and then every two, since two neurons can undo each other. We tried it on 10,000 random FFNs with silent neurons and such pairs, and it was right each
# time. It is wrong all the same.
#
# ### Exercise `spare_counterexample`
#
# *{points} · difficulty ●●● · 5 minutes*
#
# Find neurons for which it returns a wrong number: three numbers for each neuron, what it writes to an output of length 3. Any such list earns most of the points. How few neurons can you do it with?
#
# *Stuck? Run `hint("spare_counterexample")` in a cell of your own.*

# %% code="spare"
from itertools import combinations


def spare(writes):
    """How many neurons can be cut at once so that the output stays the same. writes: what each neuron writes."""
    cut = set()
    for size in (1, 2):
        for group in combinations(range(len(writes)), size):
            together = [sum(numbers) for numbers in zip(*(writes[j] for j in group), strict=True)]
            if all(abs(number) < 1e-9 for number in together) and not cut & set(group):
                cut |= set(group)
    return len(cut)


print(spare([[0, 0, 0], [1, 2, 1], [3, 1, 0], [-1, -2, -1]]), "of these four can be cut")

# %% exercise="spare_counterexample"
spare_counterexample = ...  # [[what neuron 0 writes, three numbers], …]
### BEGIN SOLUTION
spare_counterexample = [[1, 0, 2], [0, 1, 1], [-1, -1, -3]]  # all three together, and no two of them
### END SOLUTION

# %% [markdown] text="write_fact-text"
# **Write one by hand.** Deleting a fact took others with it. Can you write one that disturbs nobody? You know a neuron's parts: its key says to whom it
# listens, its bias how well a question must match, its value what it writes.
#
# ### Exercise `write_fact`
#
# *{points} · difficulty ●●● · 10 minutes · deeper: you can come back to it later*
#
# Make **one** new neuron that changes the answer of one person and of no other.
#
# - **Takes** `ffn` as before, the questions `E` [N, d_model], the answers `U` [C, d_model], the number `n` of a person, and the number `c` of the new answer.
# - **Returns** a triple `(key, bias, value)`: `key` [d_model], `bias` one number, `value` [d_model]. Nobody changes `ffn`; whoever uses your neuron adds relu(x · key +
#   bias) · value to the output.
# - For every row of `E` but row n the neuron is silent.
# - For row n the answer is then c: its score (x + output) · `U[c]` leads all others by at least 1.
# - All questions are equally long vectors, and so are all answers. But some questions are much like person n's, so the threshold must be found, not guessed.
# - `ffn`, `E` and `U` stay as they were.
#
# Stuck? Run `hint("write_fact")` in a cell of your own.


# %% exercise="write_fact"
def write_fact(ffn, E, U, n, c):
    """A neuron (key [d_model], bias, value [d_model]) that makes c the answer to question E[n], and is silent for all others."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        key = E[n]
        match = E @ key  # [N]; of vectors that are equally long, none matches E[n] better than itself
        bias = -(match[n] + match[torch.arange(len(E)) != n].max()) / 2
        value = (U[c] - E[n] - ffn(E[n])) / (match[n] + bias)  # so that E[n] + output becomes U[c]
    return key, bias, value
    ### END SOLUTION
    raise NotImplementedError

# %% code="write-one"
((E, U, y), ffn, _), n = stores[0], 40
c = (int(y[n]) + 1) % len(U)
with torch.no_grad():
    before = ((E + ffn(E)) @ U.T).argmax(1)
    try:
        key, bias, value = write_fact(ffn, E, U, n, c)
        fires = torch.relu(E @ key + bias)  # [512]
        after = ((E + ffn(E) + fires[:, None] * value) @ U.T).argmax(1)
        print(f"person {n}: answer {before[n]} before, {after[n]} now; it should be {c}")
        print(
            f"the neuron fires for {int((fires > 0).sum())} of {len(E)}; {int((before != after).sum()) - 1} others changed their answer"
        )
    except (NotImplementedError, TypeError, ValueError):
        print("This cell lights up when write_fact is written.")

# %% [markdown] text="write-one-after"
# One neuron, one fact; here it works for each of the 512 people. Gradient descent does not store facts like this, but large models are mended this way. *Transformer-Patcher* (Huang et al. 2023, arXiv 2301.09785) trains one such neuron for each mistake; *ROME* (Meng et al. 2022, arXiv 2202.05262) changes the second
# matrix of an FFN so that one key gets a new value. The hard part is left out here: the same question, asked in other words, is another vector.

# %% [markdown] text="rules-text"
# ### Neurons of a model that reads words
#
# *deeper: the core path goes on with the quiz in section 10*
#
# The questions of this store are random vectors with nothing in common. Words are different. The little Transformer of
# notebooks 00 and 02 has an FFN as well, trained with a small price on every activation. Can its keys and values be read?
#
# Its attention only averages, so what a word sends on is the same in every sentence, and one can say how strongly each word speaks to a key (`toy_transformer.key_scores`). A
# value can be compared with the read-outs of all words (`toy_transformer.value_scores`). The cell does both for two neurons. The numbers of a key say how far a word is
# above or below the mean of its line, since every sentence has one word of each line. Those of a value say what one firing of strength 1 adds to a word's
# score.

# %% figure="predict-heard-by-cold-water"
predict("heard_by_cold_water")

# %% code="rules-read"
from ffnlab.course import toy_transformer, world

model = toy_transformer.load()
named = {name.neuron: name for name in toy_transformer.names(model) if name.good}
for neuron in (10, 33):
    print(f"neuron {neuron}, “{named[neuron].words}”. Its key listens to")
    heard, value = toy_transformer.key_scores(model, neuron), toy_transformer.value_scores(model, neuron)
    for group in (world.PLACES, world.WEATHERS, world.MOODS):
        told = heard[world.numbers(group)]
        pairs = zip(group, (told - told.mean()).tolist(), strict=True)
        print("   ", "  ".join(f"{word} {number:+.0f}" for word, number in pairs))
    print(
        "  its value pushes",
        ", ".join(f"{word} {value[world.NUMBER[word]]:+.1f}" for word in (*world.WAYS, *world.FEELINGS)),
    )

# %% [markdown] text="knock-rule-text"
# That is the memory of section 1, in words: a key that asks “cold? water?”, and a value that says “over”. Now take such neurons out.

# %% figure="predict-rule-out"
predict("rule_out")

# %% code="knock-rule" output="fixed"
scenes = world.scenes(held_out=True)
sentences = toy_transformer.tensor([world.wish(scene) for scene in scenes])  # [1792, T]
x = model.gather(sentences[:, :-1])
kinds = {"cold water": (1, 1), "warm water": (1, 0), "cold land": (0, 1), "warm land": (0, 0)}
for rule in kinds:
    hidden = model.hidden(x)  # [1792, T, d_ff]
    hidden[..., [neuron for neuron, name in named.items() if name.words == rule]] = 0
    chances = model.say(x, hidden).softmax(-1)[:, world.WAY - 1]  # [1792, V]
    sure = chances.gather(1, sentences[:, world.WAY, None])[:, 0]
    shares = {kind: sure[[(s.water, s.cold) == at for s in scenes]].mean() for kind, at in kinds.items()}
    print(f"without “{rule}”:", ",  ".join(f"{kind} {share:4.0%}" for kind, share in shares.items()))

# %% [markdown] text="knock-rule-after"
# The numbers say how sure the model is of the right word, *over* or *into*, in scenes that it has never read about. Why is it so much tidier than
# the store? Its questions have something in common (words with attributes), its rules are few, and activations cost something in training. Without these three you get
# the store. How it is in large models is disputed: section 8.
#
# Pages call such neurons *detectors* and give them names: “Is this a verb?”, “is past tense”, “is a capital city”. A name is a claim, and it can be counted. When the neuron
# fires, how often is the name true? When the name is true, how often does the neuron fire?

# %% [markdown] text="rule-text"
# **And write a rule.** With `write_fact` you write one answer for one question; a question in other words would be missed. Here the key can ask for what many sentences
# have in common. The neuron below is made by hand (`toy_transformer.neuron_for_rule`), and nothing is trained:
#
# - its **key** adds up readings of x, the vector that attention hands to the FFN: water or land? cold or warm? spunky or timid? and is this the place for
#   *over* or *into*? (Each direction is found by comparing the mean of x over the sentences with it and without.)
# - its **bias** is a threshold: all must be true at once;
# - its **value** points along the read-out of one word.

# %% figure="predict-rule-written"
predict("rule_written")

# %% [markdown] text="rule-figure-text"
# Press the words of a rule, choose what it makes the model say, and drag the strength. The figure asks all 1792 held-out sentences. Can you teach the model that everybody
# goes *into* cold water? How strong must the neuron be? And what happens if one condition is enough?

# %% figure="rule"
controls.show(
    little_world.rule,
    strength=controls.steps("strength", little_world.STRENGTHS, 20),
    one_is_enough=controls.toggle("one condition is enough"),
    place=controls.free("place", little_world.PLACE_RULES, little_world.ANY),
    weather=controls.free("weather", little_world.WEATHER_RULES, "cold"),
    mood=controls.free("mood", little_world.MOOD_RULES, "timid"),
    word=controls.free("word", little_world.NEW_WORDS, "about"),
)

# %% [markdown] text="patterns-text"
# ## 7 · Patterns
#
# *deeper: the core path goes on with the quiz in section 10*
#
# Which neurons fire for which question? Row n of the pattern has a 1 for each neuron that fires for token n.

# %% [markdown] text="activation_patterns-text"
# ### Exercise `activation_patterns`
#
# *{points} · difficulty ●○○ · 2 minutes*
#
# - **Takes** `ffn` (ReLU) and tokens `X` [N, d_model].
# - **Returns** a tensor [N, d_ff] of zeros and ones, of any integer or float dtype (True and False will do): entry (n, j) is 1 if neuron j fires for
#   token n, that is, if what it adds up, with its bias, is larger than 0. Exactly 0 is not firing.
# - `ffn` and `X` stay as they were.
#
#
# Stuck? Run `hint("activation_patterns")` in a cell of your own.


# %% exercise="activation_patterns"
def activation_patterns(ffn, X):
    """Which neurons fire for the tokens X [N, d_model]: zeros and ones, [N, d_ff]."""
    ### BEGIN SOLUTION
    return (ffn.linear1(X) > 0).float()
    ### END SOLUTION
    raise NotImplementedError

# %% code="patterns"
with torch.no_grad(), contextlib.suppress(NotImplementedError):
    for (E, _, y), ffn, seed in stores:
        torch.manual_seed(seed)
        before, after = (activation_patterns(net, E).float() for net in (FFN(32, 128), ffn))
        same = (y[:, None] == y[None, :]) & ~torch.eye(512, dtype=torch.bool)
        agree = 1 - torch.cdist(after, after, p=1) / 128  # the share of neurons on which two facts agree
        print(f"seed {seed}: {before.mean():.0%} fire before training, {after.mean():.0%} after;", end=" ")
        print(
            f"facts with the same answer agree on {agree[same].mean():.1%} of the neurons, others on {agree[y[:, None] != y].mean():.1%}"
        )

# %% [markdown] text="patterns-after"
# (No lines? Write `activation_patterns`.) Half of the neurons fire, before training and after. The pattern does not give the answer away: two facts with the same answer agree on hardly more neurons than any two. **The sparsity of trained Transformers does not show at this
# size**; section 9 has their numbers.

# %% [markdown] text="dispute-text"
# ## 8 · Where does knowledge live? What the papers dispute
#
# *deeper: the core path goes on with the quiz in section 10*
#
# In this notebook the facts are in the FFN, because nothing else was trained. In a Transformer they could be elsewhere too.
#
# | for | against, or limits |
# |---|---|
# | Geva et al. 2021: in a trained language model, keys respond to patterns in text that people can name, and values push the words that tend to come next | Niu et al. 2024 changed how such models use grammar with the same editing methods, and call the thesis that FFN weights store facts “at best, an oversimplification” |
# | Dai et al. 2022 found *knowledge neurons* in BERT: the more active they are, the more a fact is expressed | Hase et al. 2023: where a fact is *localised* does not predict where it is best *edited* |
# | Meng et al. 2022 (ROME) traced facts to the FFNs of middle layers in GPT models, and changed facts by changing one FFN's weights | Allen-Zhu and Li 2024: with a thousand exposures of each fact, the 2 bits per parameter hold for models *with all FFNs removed* too |
#
# Can attention store facts, without any FFN? One attention layer tries.

# %% figure="predict-attention-stores"
predict("attention_stores")


# %% code="attention-only"
def attention_only(seed, softmax=True, d=32, heads=4):
    """The share of 512 two-token facts that one attention layer without an FFN knows after 300 steps; or its mean over the two tokens."""
    torch.manual_seed(seed)
    subject, relation = torch.cartesian_prod(torch.arange(64), torch.arange(8)).T
    y = torch.randint(64, (512,))
    subjects, relations, read_out = nn.Embedding(64, d), nn.Embedding(8, d), nn.Linear(d, 64, bias=False)
    attention = nn.MultiheadAttention(d, heads, bias=False, batch_first=True)
    average = nn.Sequential(
        nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
    )  # values and output, without scores
    parts = nn.ModuleList([subjects, relations, read_out, attention, average])
    adam = torch.optim.Adam(parts.parameters(), lr=0.02)
    for _ in range(300):
        x = torch.stack([subjects(subject), relations(relation)], dim=1)  # [512, 2, d]
        mixed = attention(x, x, x, need_weights=False)[0] if softmax else average(x.mean(1, keepdim=True))
        scores = read_out((x + mixed)[:, -1])
        loss = F.cross_entropy(scores, y)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return (scores.argmax(1) == y).float().mean().item()


for label, softmax in (("attention alone", True), ("a plain average", False)):
    print(label, "knows", ", ".join(f"{attention_only(seed, softmax):.0%}" for seed in bar(5, label)))

# %% [markdown] text="spot-labels"
# What remains true: in large models most parameters sit in FFNs, and that is where recall mechanisms have been found.
#
# ## 9 · Spot the error
#
# *deeper: the core path goes on with the quiz*
#
# Three statements that published pages make. For each: find the error, then run the cell.
#
# **A.** A tutorial explains the FFN as a memory with three parts: “Linear1 (keys)”, “Hidden (values)” and “Linear2 (output)”.

# %% code="spot-labels-cell" output="fixed"
torch.manual_seed(0)
ffn = FFN(6, 10)
weights = copy.deepcopy(ffn.state_dict())
for n in range(2):
    h = ffn.activation(ffn.linear1(torch.randn(6)))
    print(f"token {n}: hidden has {len(h)} numbers, the first three are", [round(v, 2) for v in h[:3].tolist()])
print("linear2 is the same for both tokens:", torch.equal(weights["linear2.weight"], ffn.linear2.weight))
print(
    "linear2 has one vector of length",
    ffn.linear2.weight.shape[0],
    "for each of",
    ffn.linear2.weight.shape[1],
    "neurons",
)

# %% [markdown] text="spot-sparse"
# What is stored cannot change from token to token. The hidden numbers do: they are **coefficients**, one number for each memory. The **values** are
# vectors, in `linear2`. The tutorial is right about the keys: they are in Linear1.
#
# **B.** ReLU makes the hidden layer sparse, says a lesson. In a typical FFN, “roughly 50-90% of neurons output zero after ReLU”.

# %% code="spot-sparse-cell" output="fixed"
torch.manual_seed(0)
for d_ff in (32, 128, 512):
    h = torch.relu(FFN(32, d_ff).linear1(torch.randn(4000, 32)))
    print(f"d_ff = {d_ff:3}, random weights: {(h == 0).float().mean():.0%} zeros")
h = F.gelu(FFN(32, 128).linear1(torch.randn(4000, 32)))
print(f"GELU instead: {(h == 0).float().mean():.0%} zeros")

# %% [markdown] text="spot-vast"
# For random weights it is 50 %, and in this notebook's stores it stays there. Trained ReLU Transformers are **far sparser** than the range says:
# on average 3.0 % of the entries are not zero in T5-Base and 6.3 % in ViT-B/16 (Li et al. 2023, arXiv 2210.06313). And models with GELU or SiLU have
# hardly any exact zeros. No single range covers these cases.
#
# **C.** FFNs are called the memory of the Transformer, says a lesson, since “they store the vast majority of the model's learned knowledge”. Another thing one
# hears: each neuron holds one fact. You have both experiments: which cell speaks against the first half, which against the second? The cell below adds a third
# number: how often neurons are shared.

# %% code="spot-vast-cell"
with torch.no_grad():
    for (E, U, y), ffn, seed in stores:
        h = torch.relu(ffn.linear1(E))
        strongest = (h * (U[y] @ ffn.linear2.weight)).argmax(1)  # of each fact
        print(f"seed {seed}: 512 facts have {len(strongest.unique())} different strongest neurons,", end=" ")
        print(f"and a neuron fires for {(h > 0).sum(0).float().mean():.0f} facts on average")

# %% [markdown] text="quiz_value-text"
# Against the first half: attention alone knew the facts of section 8, so facts can be stored without an FFN. Against
# the second: the knock-outs of section 6. A neuron fires for about half of the facts, and with neurons to spare that is no different.
#
# ## 10 · Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_value`
#
# Someone sets row j of `linear2.weight` to zero, to silence neuron j of an FFN made of `nn.Linear` layers. What has really been silenced?
#
# - **A.** Neuron j: row j is its value.
# - **B.** Output j: row j collects what all neurons write there. The value of neuron j is column j.
# - **C.** The key of neuron j.

# %% quiz="quiz_value"
quiz_value = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_value = "B"
### END SOLUTION

# %% [markdown] text="quiz_coefficient-text"
# ### Question `quiz_coefficient`
#
# What is the memory coefficient of neuron j for a token x?
#
# - **A.** The hidden activation h_j = act(x · key_j + b1_j).
# - **B.** The bias b1_j.
# - **C.** The softmax of x · key_j over all neurons.

# %% quiz="quiz_coefficient"
quiz_coefficient = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_coefficient = "A"
### END SOLUTION

# %% [markdown] text="quiz_knockout-text"
# ### Question `quiz_knockout`
#
# 512 facts in 128 neurons, as in section 6. What does it take to delete a fact, as a rule?
#
# - **A.** Its strongest neuron: without it the fact is gone.
# - **B.** Nearly all neurons that fire for it: facts are spread evenly.
# - **C.** Its few strongest neurons, about two to four; some other facts go with them.

# %% quiz="quiz_knockout"
quiz_knockout = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_knockout = "C"
### END SOLUTION

# %% [markdown] text="quiz_width-text"
# ### Question `quiz_width`
#
# *deeper: it needs section 4*
#
# A store with d_model = 32 and d_ff = 64 knows all of 1024 facts, each one of 64 answers. You need room for 2048. About which d_ff do you try?
#
# - **A.** 65: one more neuron doubles the number of possible patterns.
# - **B.** 128: the room grows as the number of weights does.
# - **C.** None will do: d_model is the limit.

# %% quiz="quiz_width"
quiz_width = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_width = "B"
### END SOLUTION

# %% [markdown] text="machine-text"
# ## Your own part
#
# The rows of your `decompose_output`, added up, and b2: that is the FFN again. The creek model takes it, one token at a time.

# %% figure="machine"
machine()

# %% [markdown] text="M6-text"
# ## 11 · In your own words
#
# *deeper: the core path ends with the quiz*
#
# *question M6 · {points}, graded by your instructor · 6 minutes*
#
# “Facts live in the FFN.”
#
# 1. Give one published result that speaks for it, and say what was measured or changed.
# 2. Give one that speaks against it, or limits it, and say how.
# 3. Which of this notebook's experiments bears on the statement, what did it show, and why can it not settle the question for a large language model?
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M6" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) For: Geva et al. 2021 read the FFN as keys and values, and found keys that respond to patterns in text and values that push certain words; or Dai et al. 2022
# found neurons whose activation goes with the expression of a fact; or Meng et al. 2022 edited facts by changing the MLP of a middle layer. (2) Against: Hase et al. 2023 showed that where
# a fact is localised does not predict where editing works best; or Niu et al. 2024 call the knowledge-neuron thesis at best an oversimplification; or Allen-Zhu and Li 2024 find as many bits per parameter without any FFN. (3) The
# knock-outs show that a fact of a small store depends on a few neurons, which serve other facts as well; attention alone stored 512 facts when its embeddings were trained. Neither settles
# it: in the store nothing but the FFN was trained, so the facts had nowhere else to go; the facts are random pairs, the models have one layer; a large model has
# text, many layers, and several paths for one fact.
#
# **Rubric.** One point each:
#
# - (1) one result *for*, with what was measured or changed. Half a point for a name alone.
# - (2) one result *against* or a limit, with how. Half a point for a name alone. “Allen-Zhu and Li: 2 bits per parameter” counts only with what it says here: the 2 bits remain when all FFNs are removed, so they need not be in the FFNs.
# - (3) one experiment of the notebook with its outcome, *and* a reason why it does not carry over. Half a point for one of the two.
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## You can now …
#
# - say what a neuron looks for and what it writes, and take an output apart: `decompose_output`;
# - store facts, and say what more neurons buy: `train_fact_ffn`;
# - delete a fact, write one, and say what else changes: `knockout`, `write_fact`.
#
# ## Going further
#
# - Geva et al. 2021, *Transformer Feed-Forward Layers Are Key-Value Memories*: keys and values.
# - Allen-Zhu and Li 2024 (arXiv 2404.05405): bits per parameter.
# - Li et al. 2023, *The Lazy Neuron Phenomenon* (arXiv 2210.06313): the sparsity that our stores lack.
#
# Next: `07_gated`, where each neuron gets a second key, a gate.

# %% figure="progress"
progress()
