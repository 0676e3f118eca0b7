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
# # 10 · Draw until you dare
#
# The creek model of notebook 00 has one block: attention, and an FFN behind it. Other small Transformers have learned the same sentences, some with an FFN and some without. There are twenty runs of
# each kind. Afterwards each run met 1,792 new scenes, and had to say whether the creature jumps over the water or into it.
#
# Which kind is better? Pull a lever, and one of its twenty runs is drawn and drops a dot. Stop when you dare to say it. Then see what a
# thousand others saw when they stopped at the same place.
#
# <span class="ffn-notebook-only">To wake the board up, press <b>Shift + Enter</b> three times.</span>

# %% setup="imports"
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, veil
from ffnlab.course.boards import levers, orders
from ffnlab.course.experiments import capstone as experiment
from ffnlab.course.experiments import creek, english
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import capstone as figures
from ffnlab.drawing import controls, style

style.use()


class FFN(nn.Sequential):
    """The FFN of notebook 02: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


class SwiGLU(nn.Module):
    """The gated FFN of notebook 07, without biases: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate, self.up = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class MoE(nn.Module):
    """The mixture of notebook 08: [..., d_model] -> the output [..., d_model] and the balance loss of this call, a 0-d tensor."""

    def __init__(self, d_model, d_ff, n_experts=4, top_k=2):
        super().__init__()
        self.scorer = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(SwiGLU(d_model, d_ff) for _ in range(n_experts))
        self.top_k = top_k

    def forward(self, x):
        tokens = x.flatten(0, -2)  # [N, d_model]
        scores = self.scorer(tokens).softmax(-1)  # [N, n_experts]
        best = scores.topk(self.top_k)
        share = best.values / best.values.sum(-1, keepdim=True)
        table = torch.zeros_like(scores).scatter(-1, best.indices, share)  # [N, n_experts], zero where not chosen
        total = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            mine = table[:, number].nonzero().squeeze(-1)  # the tokens that this expert sees
            total = total.index_add(0, mine, expert(tokens[mine]) * table[mine, number, None])
        loads = (table > 0).to(scores.dtype).mean(0) / self.top_k  # sums to 1, no gradient
        return total.view_as(x), len(self.experts) * loads @ scores.mean(0)

torch.set_num_threads(1)  # small matrices run fastest on one thread

# %% figure="levers"
play(levers.kinds())

# %% figure="levers-after"
veil("Who found the better of A and B?", "when the third level is settled", of="levers.same", text=f"""
Both levers draw from the same twenty runs. Even so, after five pulls of each, {levers.ahead(5)} of a thousand people see one kind ahead, and after twenty pulls {levers.ahead(20)}.

Somebody might be more careful, and stop only when one kind is ahead by three. That does not help. A lead wanders up and down, and sooner or later it reaches three, for
everybody. Until it does, one simply pulls on. Then it looks like a finding.

So a lead by itself says nothing. One has to know how large a lead two *equal* kinds reach, at any of the moments at which one would have stopped.
""")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | advanced |
# | **Time** | {minutes} minutes on the core path, which shows our runs; {more} more for all that is *deeper*: `Block` and `generate`, with runs of your own, and question M11 |
# | **You need** | `01_attention`, `02_feed_forward`, `04_every_position`; for the kinds `07_gated`, `08_experts` and `09_balance` |
# | **Points** | {points} |

# %% [markdown] text="dare-text"
# ## Write the strategy
#
# You have dared by feeling. Now write a strategy that dares for you. It pulls the levers itself, and says at the end which kind is better, or that it can't say.
#
# ### Exercise `dare`
#
# *{points} · difficulty ●●● · 15 minutes*
#
# - **Takes** `pull`, a function. `pull("A")` draws one more run of kind A and returns whether it has found the rule, `True` or `False`. There are at most 20 runs of each kind.
# - **Returns** `"A"`, `"B"`, or `None` for “I can't say”.
# - **Equal kinds**, of which 2, 5 or 8 of 10 runs find the rule: over all three together, it may name one of them in at most 8 of 100 games.
# - **Kinds that are far apart**, 2 of 10 against 8 of 10: it names the better one in at least 9 of 10 games.
# - The last point is for stopping early: where the kinds are far apart, 30 pulls are enough on average, both levers counted.
#
# *Stuck? Run `hint("dare")` in a cell of your own. Every exercise has hints.*


# %% exercise="dare"
def dare(pull):
    """The better of two kinds, "A" or "B", or None where it can't be said."""
    ### BEGIN SOLUTION
    lead = 0  # how many more runs of A than of B have found the rule
    for _ in range(20):
        lead += pull("A") - pull("B")
        if abs(lead) == 7:  # equal kinds get so far apart in about 3 of 100 games
            return "A" if lead > 0 else "B"
    return None
    ### END SOLUTION
    raise NotImplementedError


# %% [markdown] text="verdicts-text"
# What does your strategy say of our own runs? The board used three of the four kinds below. Now no run comes twice: there are only the twenty that were made.

# %% code="verdicts"
runs = {name: [share >= creek.RULE_THRESHOLD for share in right["way"]] for name, right in creek.stored()["right"].items()}
try:
    for a, b in combinations(runs, 2):
        rest = {"A": iter(runs[a]), "B": iter(runs[b])}
        said = {"A": creek.NAMES[a], "B": creek.NAMES[b], None: "can't say"}[dare(lambda kind, rest=rest: next(rest[kind]))]
        print(f"{creek.NAMES[a]} ({sum(runs[a])} of 20), or {creek.NAMES[b]} ({sum(runs[b])} of 20)?  {said}")
except NotImplementedError:
    print("This cell lights up when dare is written.")

# %% [markdown] text="verdicts-after"
# With an FFN, a single block finds the rule more often: in 14 of 20 runs against 5. But the FFN also makes the block three times as large. Three blocks of attention are of equal size, and
# they found the rule in 18 runs. Does that show that they are *better* than one block with an FFN? A cautious strategy can't say. On the board their twenty runs were the truth. Here they are only twenty
# pulls.
#
# One thing needs no counting. Runs without any FFN found the rule, five of the single blocks among them. So at this task an FFN is not **needed**. Adding one helps a single block, and so does adding two blocks of attention. These runs can't say which helps more. The model of notebook 00
# does need it. Its attention averages with weights that don't depend on the words, so without the FFN everything before the scores is linear.
#
# ## One thing at a time
#
# The twenty runs of one kind have the same code, the same sentences and the same number of steps. Why does one find the rule and another not? A seed has drawn two things: the weights at the start,
# and the order in which the sentences are read. The twenty runs differ in both at once, so they can't tell you which of the two decides.
#
# We made 64 more runs of the block with an FFN: eight drawings of the weights, each in eight orders.

# %% figure="predict-rows-alike"
predict("rows_alike")

# %% figure="orders"
play(orders.grid())

# %% figure="orders-after"
veil("What else decides?", "when you have found the four", of="orders.both", text=f"""
One drawing of the weights finds the rule in all eight orders, and one in none. For the six others it depends on the order. Eight drawings are eight draws and not 64, so the square's share need not be that of the twenty runs above.

A very small thing can decide, too. In {orders.count_nudged()} of the 64 runs we moved a single weight by a millionth, and changed nothing else. Of these, {orders.count_turned()} ended on the other side of 95 %.
Computers do not all round their sums alike, so with our weights and our order you may get another result.

So one run shows only what *can* happen. And whoever reports runs has to say what differed between them.
""")

# %% [markdown] text="no_difference_counterexample-text"
# ### A classmate averages
#
# A classmate wants to know whether weights and order matter at all. The code below averages: over the orders to judge the weights, and over the weights to judge the order. If all
# weights have the same mean, and all orders, it says that neither makes a difference. We tried it on 10,000 random tables, and on 10,000 in which good weights or good orders add something. It
# was right each time. It is wrong all the same.
#
# ### Exercise `no_difference_counterexample`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# Find a table about which it is wrong: a row for each drawing of the weights, a column for each order, and shares from 0 to 1. Any such table earns most of the points. How few runs
# does it need?

# %% code="no_difference"
def no_difference(table):
    """Whether it makes no difference which weights and which order one takes. table[w][o]: what a run gave, a share from 0 to 1."""
    by_weights = [sum(row) / len(row) for row in table]
    by_order = [sum(column) / len(column) for column in zip(*table, strict=True)]
    return max(by_weights) - min(by_weights) < 1e-9 and max(by_order) - min(by_order) < 1e-9


print("all the same:   ", no_difference([[0.5, 0.5], [0.5, 0.5]]))
print("weights matter: ", no_difference([[1, 1], [0.5, 0.5]]))

# %% exercise="no_difference_counterexample"
no_difference_counterexample = ...  # [[share with weights 0 and order 0, …], …]
### BEGIN SOLUTION
no_difference_counterexample = [[1, 0.5], [0.5, 1]]  # every row and every column has the mean 0.75
### END SOLUTION

# %% [markdown] text="block-text"
# ## One block
#
# Now you make a run of your own, with a block that you put together yourself. A block is often drawn with three arrows: to attention, on to the FFN, and out. Here are the two residual
# connections and the two norms that such a drawing leaves out. Press one of the four kinds.

# %% figure="block"
controls.show(figures.block, kind=controls.choice("feed-forward", figures.KINDS, "relu"))

# %% [markdown] text="Block-text"
# $$z = x + \mathrm{attention}(\mathrm{norm}_1(x)), \qquad \mathrm{out} = z + \mathrm{ffn}(\mathrm{norm}_2(z))$$
#
# Attention gathers, and the FFN transforms. Attention is the only part in which tokens meet. Both halves read a normed copy, and add what they have to say to a path that is never normed.
#
# ### Exercise `Block`
#
# *{points} · difficulty ●●● · 20 minutes · deeper, but your own run needs it*
#
# Put the block together. `FFN`, `SwiGLU` and `MoE` are ready made in the first cell.
#
# - **Takes** `kind`: `'none'`, `'relu'`, `'swiglu'` or `'moe'`; then `d_model`, `n_heads` and `d_ff`, the width of the FFN or of each expert. 'none' ignores `d_ff`, and ends after the first formula: out = z.
# - **`forward`** takes `x` [B, T, d_model], any B and T, and returns a tensor of the same shape.
# - **Attention** is causal and has `n_heads` heads. Write it, or use `nn.MultiheadAttention` or `F.scaled_dot_product_attention`. Apart from the mask, it knows nothing of positions.
# - **Norms** are `nn.LayerNorm(d_model)`, or your own with a learned gain that starts at one. Queries, keys and values all read norm1(x), which is normed once.
# - **With 'moe'** the part returns the output *and* the balance loss of notebook 09. Blocks are stacked, so `forward` returns the output alone. Keep the loss of the last call as `block.aux_loss`,
#   with its gradient.
# - **ValueError**, when the block is made, for any other kind, and for an `n_heads` that does not divide `d_model`.
# - A block holds only what its kind needs, and there is no dropout. Names inside are free, since the check looks at what the block does.


# %% exercise="Block"
class Block(nn.Module):
    """Causal attention, then the FFN of the given kind, both pre-norm: x [B, T, d_model] -> [B, T, d_model]."""

    def __init__(self, kind, d_model, n_heads, d_ff):
        ### BEGIN SOLUTION
        super().__init__()
        parts = {"none": None, "relu": FFN, "swiglu": SwiGLU, "moe": MoE}
        if kind not in parts:
            raise ValueError(f"kind must be one of {', '.join(parts)}, not {kind!r}")
        if d_model % n_heads:
            raise ValueError(f"{n_heads} heads do not divide d_model = {d_model}")
        self.kind = kind
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = nn.MultiheadAttention(d_model, n_heads, bias=False, batch_first=True)
        if kind != "none":
            self.norm2 = nn.LayerNorm(d_model)
            self.ffn = parts[kind](d_model, d_ff)
        return
        ### END SOLUTION
        raise NotImplementedError

    def forward(self, x):
        ### BEGIN SOLUTION
        T = x.shape[1]
        later = torch.ones(T, T, dtype=torch.bool).triu(1)  # True: hidden
        normed = self.norm1(x)
        z = x + self.attention(normed, normed, normed, attn_mask=later, need_weights=False)[0]
        if self.kind == "none":
            return z
        written = self.ffn(self.norm2(z))
        if self.kind == "moe":
            written, self.aux_loss = written
        return z + written
        ### END SOLUTION
        raise NotImplementedError

# %% [markdown] text="creek-text"
# ## Your run
#
# The cell puts embeddings in front of your block and scores behind it, and lets it read 2,304 sentences. In none of them do the words *creek* and *cold* meet. Choose two numbers of your own for `weights` and `order`. Then
# change one of the two, and run it again.

# %% code="creek"
weights, order, mine = 0, 0, None  # take two numbers of your own
try:
    torch.manual_seed(weights)
    reader = creek.stack(Block, "relu", 128)
    creek.learn(reader, seed=order, label="your block")
    known = creek.judged(reader)  # in the 1,792 scenes that it has not seen
    mine = known["way"]
    print(f"over or into: right in {known['way']:.0%}; glad or sorry: right in {known['feeling']:.0%}")
    print(creek.tell(reader, "the creek was cold and the spunky dog wanted to jump"))
except NotImplementedError:
    ours = creek.stored()["right"]["relu"]
    print("Your own run comes when Block is written. The first of our twenty runs:")
    print(f"over or into: right in {ours['way'][0]:.0%}; glad or sorry: right in {ours['feeling'][0]:.0%}")

# %% [markdown] text="cloud-text"
# Here is your run among ours. Each dot is a run of 1,500 steps.

# %% code="cloud"
figures.cloud(mine)

# %% [markdown] text="generate-text"
# ## Let it write
#
# A model does not write. It gives a score to every token that could come next. Somebody has to choose one, append it, and ask again. That is you.
#
# The **temperature** says how daring the choice is. Scores are divided by it before softmax: below 1 the favourites gain, above 1 everybody gets a chance. At 0 the highest score wins, which is called *greedy*.
#
# ### Exercise `generate`
#
# *{points} · difficulty ●●○ · 10 minutes · deeper, but the last cell needs it*
#
# - **Takes** `model`, which maps ids [1, t] to scores [1, t, vocabulary]: row i scores what comes after token i. Then `prompt`, a list of at least one id; `numbers`, a
#   list of numbers u with 0 ≤ u < 1, one for each token to be written; `window`; and `temperature` ≥ 0.
# - **Returns** a list of the new ids, as ints, one for each number. The prompt is not repeated.
# - The model sees the last `window` tokens and refuses more. What was written becomes part of what is read.
# - **Temperature 0**: the id with the highest score. **Otherwise**: with the probabilities p of softmax(scores / temperature), the first id for which p₀ + p₁ + … + p_id
#   is **larger** than u. So each id is chosen with its probability, and the same numbers give the same text.
# - A temperature of 0.01 must not lead to NaN. `prompt` and `numbers` stay as they were.

# %% exercise="generate"
def generate(model, prompt, numbers, window, temperature):
    """The ids that follow `prompt`, one for each of `numbers`: a list of ints."""
    ### BEGIN SOLUTION
    ids = list(prompt)
    for u in numbers:
        with torch.no_grad():
            scores = model(torch.tensor([ids[-window:]]))[0, -1]  # [vocabulary]
        if temperature == 0:
            chosen = scores.argmax()
        else:
            up_to = torch.softmax(scores / temperature, dim=-1).cumsum(-1)
            chosen = (up_to[:-1] <= u).sum()  # how many ids come before the first that is above u; what rounding leaves is the last one's
        ids.append(int(chosen))
    return ids[len(prompt) :]
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="english-text"
# The creek is a world of 56 words. And English? Every Python carries some: its help texts. Their prose is cut into about 2,100 kinds of token, which are the 2,000 most useful words, and
# single characters to spell the others. Every tenth paragraph is held out. Two of your blocks with SwiGLU read the rest for 400 steps, 1,024 tokens each.

# %% figure="predict-fifteen-seconds"
predict("fifteen_seconds")

# %% code="english"
steps = 400
torch.manual_seed(0)
try:
    writer = english.Writer([Block("swiglu", 64, 4, 171) for _ in range(2)])
    cost = english.learn(writer, steps=steps, label="two of your blocks")
    tokens = len(english.text().train)
    print(f"a text of {tokens:,} tokens, read {steps * 1024 / tokens:.1f} times")
    print(f"{cost:.2f} bits for each character that it has not seen")
    written = [f"**temperature {heat}:** {english.write(writer, 'When a class', generate, heat)}" for heat in (0.0, 0.5, 1.0)]
    veil("What does it write?", "when you have guessed", of="fifteen_seconds", text="\n\n".join(written).replace("_", "\\_"))
except NotImplementedError:
    ours = english.stored()["bits per character"]["swiglu"]
    print("Your own blocks write when Block is written. The guess above says what ours wrote.")
    print(f"{sum(ours) / len(ours):.2f} bits for each character that they had not seen: the mean of {len(ours)} runs of ours")

# %% [markdown] text="english-after"
# The text is so short that your blocks have read it nearly nine times. What should happen to the bits of new text if they read it thirty-five times? Set `steps` to 1,600, and wait a minute.
#
# <details><summary>What happened here</summary>
#
# In our three runs the bits rose, from 1.69 to 1.96, 1.97 and 1.99. More of the same text made them worse at new text.
#
# </details>
#
# ## Your machine
#
# One block often misses the rule. Two of them, one behind the other, found it in 19 of our 20 runs. The cell trains two of yours, in about 20 seconds. If they have not found it, take another seed. `machine(reader)` keeps what they
# have learned in `my_transformer.pt`, beside your code in `my_transformer.py`.

# %% code="two-blocks"
try:
    torch.manual_seed(0)
    reader = creek.stack(Block, "relu", 128, blocks=2)
    creek.learn(reader, label="two of your blocks")
    machine(reader)
except NotImplementedError:
    print("Here is what you have earned so far. The cell trains two blocks of yours when Block is written.")
    machine()

# %% [markdown] text="alone-text"
# In the picture, the first ending is by the model of notebook 00 with your parts in it. Once two blocks are kept, a second ending is by your `Block`, with weights that it has learned itself.
#
# Does it run without this course? The last cell starts a fresh Python. It has torch and your two files. Until `generate` is earned, a loop of three lines takes the word with the highest score.

# %% code="alone"
ALONE = """
import runpy
import torch

mine, kept = runpy.run_path("../my_transformer.py"), torch.load("../my_transformer.pt")
blocks = [mine["Block"](*kept["made"]).eval() for _ in kept["blocks"]]
for block, learned in zip(blocks, kept["blocks"]):
    block.load_state_dict(learned)

def model(ids):  # [1, t] -> scores [1, t, 56]
    x = kept["tokens"][ids] + kept["places"][: ids.shape[1]]
    for block in blocks:
        x = block(x)
    return torch.nn.functional.layer_norm(x, [32], *kept["norm"]) @ kept["scores"].T

def likeliest(model, ids, numbers, *_):
    for _ in numbers:
        ids = [*ids, int(model(torch.tensor([ids]))[0, -1].argmax())]
    return ids[-len(numbers):]

begun = "the creek was cold and the spunky dog wanted to jump".split()
write = mine.get("generate", likeliest)
ids = write(model, [kept["words"].index(word) for word in begun], [0.5] * 9, 20, 0)
print(*begun, *(kept["words"][n] for n in ids))
"""
done = subprocess.run([sys.executable, "-I", "-c", ALONE], capture_output=True, text=True)
if done.returncode == 0:
    print(done.stdout)
elif Path("../my_transformer.pt").exists():
    print("Your two files don't run together. The last line that Python says:", done.stderr.strip().splitlines()[-1])
else:
    print("This cell needs two blocks that the cell above has kept. With those of the solution it printed:")
    print("the creek was cold and the spunky dog wanted to jump over it and was glad about the ice .")

# %% [markdown] text="M10-text"
# No line of this course runs in that fresh Python. Once your two files are there, it is your `Block` that turns the creek and the cold into *over*, with torch's layers inside.
#
# ### In your own words
#
# *question M10 · {points}, graded by your instructor · 8 minutes*
#
# Somebody reports: “We trained a Transformer once with its FFN and once without. With it, over or into was right in 100 % of new scenes, and without it in 50 %. So without its FFN a Transformer can't tell over from into.” Answer
# with numbers from this notebook.
#
# 1. Of which model of this course is the conclusion true, and why?
# 2. What can the two runs show, and what not? What may have differed between them besides the FFN?
# 3. Which runs would you make instead? Name the rival, what is equal, and how you will decide.
#
# Four to eight sentences. Double-click the cell below to write.

# %% [markdown] question="M10" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) It is true of the model of notebook 00: its attention averages with a fixed pattern and it has no norm, so without the FFN everything before the scores is linear, and over or
# into is an exclusive or. It is not true of blocks whose attention learns: one block of attention found the rule in 5 of 20 runs, three blocks in 18. (2) Two runs show what can happen and not how often. Of the block
# with an FFN, 14 of 20 runs found the rule, so with one run each the opposite report would have been honest, too. Unless it is said otherwise, the two runs differ in their weights, in the order of the sentences and perhaps in the rounding
# of the machine, and the square of 64 runs shows that the same weights find the rule in one order and not in another. They also differ in size: the block with an FFN has three times as many parameters. (3) I would compare one block with an FFN to three blocks of attention,
# which have as many parameters, with at least twenty runs each, all of new weights and orders. I say beforehand which lead counts: seven runs within twenty, which equal kinds seldom reach. By that measure 18 and 14 can't be told apart, and 14 and 5 can.
#
# **Rubric.** One point each:
#
# - (1) the averaging model of notebook 00, because what is left is linear. Half a point without the reason.
# - (2) one run each shows no frequency, with a number, and at least one thing besides the FFN that may have differed: weights, order, rounding or size. Half a point for one of the two.
# - (3) a fair rival of equal size, several runs, and a strategy that is fixed before one looks. Half a point if one of the three is missing.
# <!-- ### END SOLUTION -->

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | One run shows what can happen. Only repeated runs show how often. | the levers, M10 |
# | Of two equal kinds one is ahead most of the time, so a lead counts only if equal kinds seldom reach it. | `dare`, *covered names* |
# | Weights and order decide together. So change one and hold the other still. Then hold the other still at another value: the verdict may turn round. | the square, `no_difference_counterexample` |
# | A block is two halves that read a normed copy and add to a path that is never normed. The FFN is one of them, and it can be exchanged. | `Block` |
# | A model only gives scores. A loop that chooses a token, appends it and asks again makes a writer of it. | `generate` |
#
# *The creek was cold and the spunky dog wanted to jump over it.*

# %% figure="progress"
progress()
anatomy.block("10")

# %% [markdown] text="wire_by_hand-text"
# ## Deeper
#
# *deeper: the core path ends here*
#
# ### Wire it by hand
#
# Training finds the rule in some runs. Can you write it yourself, without any training? Take the model of notebook 00 and pull its FFN out. Over or into is a coin toss then. Now write an FFN of a few
# neurons, number by number.
#
# The word is decided at *jump*. Attention has brought the creek and the cold to that position, as two directions in one vector. In notebook 01 you have written two neurons that make an
# XOR of such a sum.
#
# ### Exercise `wire_by_hand`
#
# *{points} · difficulty ●●● · 20 minutes · deeper*
#
# - **Takes** `x` [N, T, d_model], what attention leaves at the T positions of N sentences, in float64. `first` and `second` [N] say whether its place is water, and whether it is cold. `at` is the position
#   of *jump*. `same` and `different` [d_model] are rows of the matrix of scores: the score of a word is the product of the final vector with its row.
# - **Returns** `(W1, b1, W2)`, of the shapes [d_model, n], [n] and [n, d_model], with at most 16 neurons. The model goes on with x + relu(x @ W1 + b1) @ W2.
# - **At `at`** the word of `same` is said where `first` and `second` are equal, and that of `different` where they differ, in at least 95 % of new sentences of each of the four kinds.
# - **Elsewhere** the model already gets its words right, so your neurons should be silent there: 99 % of the other words stay right.
# - The check asks for a second habit as well, glad or sorry, where `first` is cold and `second` is spunky. In the check the axes are shuffled, and some are flipped. So find the directions from `x`, and copy no numbers.
#
# Par is three neurons.


# %% exercise="wire_by_hand"
def wire_by_hand(x, first, second, at, same, different):
    """Neurons (W1 [d_model, n], b1 [n], W2 [n, d_model]) that say one word where `first` and `second` are equal, another where they differ."""
    ### BEGIN SOLUTION
    N, T, d = x.shape
    wanted = torch.full((N, T), -3.0, dtype=x.dtype)  # far below every kink at the other positions
    wanted[:, at] = first.to(x.dtype) + second.to(x.dtype)  # 0, 1 or 2
    weight = torch.ones(T, dtype=x.dtype)
    weight[at] = 30
    rows = torch.cat([x, torch.ones(N, T, 1, dtype=x.dtype)], dim=-1) * weight[:, None]
    found = torch.linalg.lstsq(rows.reshape(-1, d + 1), (wanted * weight).reshape(-1, 1)).solution[:, 0]
    key, offset = found[:-1], found[-1]
    push = 10 * (different - same) / (different - same).square().sum()
    W1 = torch.stack([key, key, key], dim=1)
    b1 = torch.stack([offset + 1, offset, offset - 1])  # at 0, 1 and 2 they give 1, 2, 3; 0, 1, 2; and 0, 0, 1
    W2 = torch.stack([-push, 3 * push, -4 * push])  # so -1, 1 and -1 times push
    return W1, b1, W2
    ### END SOLUTION
    raise NotImplementedError

# %% code="wired"
# Your neurons in the model of notebook 00: does it jump over the cold creek?
from ffnlab.course import toy_transformer, world

scenes, at = world.scenes(held_out=False), world.WAY - 1
shipped = toy_transformer.load()
stream = shipped.gather(toy_transformer.tensor([world.wish(scene) for scene in scenes])[:, :-1]).double()
water, cold = (torch.tensor([getattr(scene, name) for scene in scenes]) for name in ("water", "cold"))
over, into = (shipped.scores.weight[world.NUMBER[word]].double() for word in world.WAYS)
try:
    W1, b1, W2 = (part.float() for part in wire_by_hand(stream, water, cold, at, over, into))
    words = ["the", "creek", "was", "cold", "and", "the", "spunky", "dog", "wanted", "to", "jump"]
    x = shipped.gather(toy_transformer.tensor([words]))
    for name, hidden in (("without an FFN", 0 * torch.relu(x @ W1 + b1)), ("with yours", torch.relu(x @ W1 + b1))):
        said = shipped.scores(x + hidden @ W2)[0, at].softmax(-1)
        print(f"{name}: over {said[world.NUMBER['over']]:.0%}, into {said[world.NUMBER['into']]:.0%}")
    print(f"{len(b1)} neurons; par is 3")
except NotImplementedError:
    print("This cell lights up when wire_by_hand is written.")

# %% [markdown] text="deeper-text"
# ### Equal what?
#
# 40 words make 40² = 1,600 **pairs**, and for each pair a third word is drawn at random. A block reads two words and must name the third. Nothing but memory helps. Which kind is fairly compared with which?
#
# - **Equal total parameters**: what has to be stored. About 2,030 in each FFN here.
# - **Equal active parameters**: what one token meets. A mixture of 4 experts in which a token visits 2 may then have about twice the total.
# - For the block without FFN the fair rival is **three blocks** of attention alone, 3 · 4·d² = 12·d², as much as attention with an FFN of 8·d².
#
# The figure shows stored runs of 300 steps, fifteen seeds for each model.

# %% figure="predict-best-at-1600"
predict("best_at_1600")

# %% figure="dashboard"
controls.show(
    figures.dashboard,
    measure=controls.choice("measure", figures.MEASURES, "accuracy"),
    equal=controls.choice("equal", figures.EQUAL, figures.EQUAL[0]),
    words=controls.steps("pairs", figures.PAIRS, 24),
)

# %% figure="numbers"
veil("Which one, and how sure is that?", "when you have guessed", of="best_at_1600", text=f"""
1,600 pairs: the mean of fifteen runs, and the standard deviation of single ones.

{experiment.table()}

Neighbours keep their order in at least 14 of the fifteen runs. If one
compares single runs, ReLU and the mixture of equal total are 1.6 standard deviations apart, so a single pair of runs may mislead. The means of fifteen are more than six standard errors apart.

Three blocks of attention know twice as much as one, and each step costs more than twice the time of a block with an FFN.

At 24² pairs all but the single block without FFN know 99 % in all runs, and are level.
""")

# %% [markdown] text="numbers-after"
# The pairs are random, so there is nothing to generalise to. The experiment measures memory, with one size and one recipe, and a model that is best here need not be best at predicting text.
#
# ### What if we removed the FFN?
#
# Notebook 04 asked whether all tokens then become equal. It found that residual connections and norms turn the crash into a slow slide, with an FFN or without. Is the model then linear? One block of attention knows
# 78 % of 576 pairs: softmax and norm are not linear, and embeddings, attention and scores store things, too.
#
# What these runs lose is **memory**: at 1,600 pairs one block of attention knows about a third of them, and with an FFN about three quarters or more. In a large model you would lose half to nine tenths
# of each layer's parameters (notebook 05).
#
# ### Which reads best?
#
# The four kinds read the English of *Let it write*, from fifteen seeds each.

# %% figure="predict-gaps-on-text"
predict("gaps_on_text")

# %% figure="english-runs"
veil("How far apart on text?", "when you have guessed", of="gaps_on_text", text=f"""
Bits for each character of the text that is held out: the mean of fifteen runs, and the standard deviation of single ones.

{english.table()}

In all fifteen runs, with this text and this recipe, every kind of feed-forward saves bits against none, 0.015 to 0.046 a character. Four more blocks of attention cost bits in fourteen.
""")

# %% [markdown] text="M11-text"
# ### A report
#
# *question M11 · {points}, graded by your instructor · 12 minutes*
#
# Write a report of half a page on the comparison in “Equal what?”: a reader who has not seen it should be able to judge your claim.
#
# 1. What was compared, on what, with how many **seeds**, and **equal in what**? Why did you choose that?
# 2. **One claim**, with mean and error bar of both sides, and whether the gap is outside the spread (notebook 07; say whether you use the standard deviation of
#    single runs or the standard error of the means).
# 3. One thing that this experiment **can't show**, and an experiment that could.

# %% [markdown] question="M11" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** *One pre-norm block of width 16 learned 1,600 random pairs by heart, 300 steps of Adam with one learning rate, fifteen seeds each. SwiGLU and the ReLU FFN
# have equally many parameters (2,016 and 2,029 in the FFN), total and active, which is why they can be compared without a choice; for the mixture we took equal total, since memory was our limit.
# SwiGLU knows 91.4 ± 3.0 % of the pairs, the ReLU FFN 73.9 ± 2.7 % (mean ± standard deviation of single runs). The gap of 17.5 points is about four standard deviations of a difference of single runs (4.1),
# and between 16 and 17 standard errors of the difference of the two means (1.0). The experiment measures memory at one size and one recipe.
# It can't show which one predicts text better: for that, both would have to be trained on text at several sizes, with a tuned learning rate each, and be compared on held-out text.*
#
# **Rubric.** One point each:
#
# - seeds are named, and **equal what**, with a reason. Half a point for one of the two.
# - **one claim with error bars** on both sides, and a statement about gap against spread that says which of the two it uses. Either is fine: SwiGLU is about 4 deviations of single runs ahead of the ReLU FFN, or between 16 and 17 standard errors of means. Half a point if it is not said, or if the two are mixed up. Any claim that the figure supports is fine, also “no difference can be seen at 576 pairs”. A ranking without spread gets nothing.
# - a limit that really holds (memory not generalisation, one size, one recipe, few seeds, CPU time), and an experiment that would address it. Half a point for one of the two.
# <!-- ### END SOLUTION -->

# %% [markdown] text="further-text"
# <details><summary>The course's ideas, and where they live</summary>
#
# | | notebook |
# |---|---|
# | position-wise: one network, applied to every token alone | 02, 04 |
# | expansion and compression: d_model → d_ff → d_model; d_ff is 4 · d_model in GPT-2, 3.5 · d_model in LLaMA-3 8B | 02, 05 |
# | activation: ReLU, GELU, SiLU, and the kink that makes the difference | 03 |
# | how many neurons fire for a token | 03, 06 |
# | where the parameters are: two thirds of a layer of GPT-2, 81 % in LLaMA-3 8B | 05 |
# | keys and values: what a neuron looks for, and what it writes | 06 |
# | gate: a second key that scales the first | 07 |
# | mixture of experts: many FFNs, of which a token visits a few | 08, 09 |
#
# </details>
