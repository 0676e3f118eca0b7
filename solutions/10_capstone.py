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
# # 10 · Capstone: one block, four kinds of feed-forward
#
# `●●●●●●●●●●` step 10 of 10
#
# Ten notebooks were about one part of the Transformer. Now take it out, and see what is missing.
#
# You will put a whole Transformer block together with your own hands, and swap its feed-forward network for nothing, for SwiGLU, for a mixture
# of experts. Then the four compete (that part is *deeper*), and your block goes back to the creek. Run the next two cells, and say first what you expect.

# %% setup="imports"
import math
import random
from collections import Counter, defaultdict
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, predict, progress, quiz
from ffnlab.course.experiments import capstone as experiment
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import capstone as figures
from ffnlab.course.tasks import Reader, learn, pairs
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

# %% figure="predict-without-ffn"
predict("without_ffn")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | advanced |
# | **Time** | 55 minutes on the core path; 50 more for what is marked *deeper* and for questions M9 and M10, which can wait for another day |
# | **You need** | `01_attention`, `02_feed_forward`, `04_every_position`, `05_parameters`; for the kinds `07_gated`, `08_experts` and `09_balance` |
# | **Points** | 14 for code, 3 for the quiz, 6 for two answers in your own words |
#
# Comparing four kinds of block sounds easy. The comparison is the harder half: equal in what? over how many seeds? and what does it not tell you?
#
# <details><summary>At the end, you will be able to … (open to see what, and what tests it; some of it is <em>deeper</em>)</summary>
#
# | | tested by |
# |---|---|
# | assemble a pre-norm block around any kind of feed-forward | `Block` |
# | let a model write, at a temperature of your choice | `generate` |
# | write the few neurons that make over and into right | `wire_by_hand` |
# | say what a block loses, and keeps, without its FFN | question M9 |
# | compare kinds honestly: equal what, how many seeds, which error bar, and what it cannot show | question M10 |
#
# </details>

# %% figure="anatomy"
anatomy.block("10")

# %% [markdown] text="block-text"
# ## 1 · One block
#
# What is really inside a Transformer block? A published tutorial draws three arrows: from the input to attention, on to the FFN, and out. Notebook 04 showed
# in its section 8 what becomes of a stack built from that drawing: its tokens become equal. Here is the block with the two residual connections and the two
# norms that the drawing leaves out.
# Press one of the four kinds to see where it goes.

# %% figure="block"
controls.show(figures.block, kind=controls.choice("feed-forward", figures.KINDS, "relu"))

# %% [markdown] text="block-after"
# In formulas, with $\mathrm{norm}_1$ and $\mathrm{norm}_2$ two norms with gains of their own:
#
# $$z = x + \mathrm{attention}(\mathrm{norm}_1(x)), \qquad \mathrm{out} = z + \mathrm{ffn}(\mathrm{norm}_2(z))$$
#
# - **Attention gathers, the FFN transforms.** Attention is the only part in which tokens meet; the FFN works on each alone.
# - **The straight path is never normed.** Both parts read a normed copy, and add what they have to say.
# - **'none'** ends after the first formula: out = z.
# - **'moe'** has a balance loss besides (notebook 09), one number for the whole call. Blocks are stacked, so the output stays a tensor alone;
#   the number is kept beside it, as `aux_loss`, with its gradient, where a training loop can find it.
#
# The parts come ready made, as you know them from notebooks 02, 07 and 08. The experts of `MoE` are SwiGLUs. The cell shows what each returns; [] is the shape
# of a single number.

# %% code="parts" output="fixed"
torch.manual_seed(0)
x = torch.randn(2, 5, 16)  # 2 sentences, 5 tokens, d_model 16
for part in (FFN(16, 61), SwiGLU(16, 42), MoE(16, 10, n_experts=4, top_k=2)):
    result, numbers = part(x), sum(p.numel() for p in part.parameters())
    said = list(result.shape) if torch.is_tensor(result) else f"({list(result[0].shape)}, balance loss [])"
    print(f"{type(part).__name__:>6}: {numbers:,} parameters, x [2, 5, 16] -> {said}")

# %% [markdown] text="Block-text"
# ### Exercise `Block`
#
# *5 points · difficulty ●●● · 20 minutes*
#
# Put the block together.
#
# - **Takes** `kind`, one of `'none'`, `'relu'`, `'swiglu'`, `'moe'`; `d_model`, `n_heads`; `d_ff`, the hidden width of the FFN, with `'moe'` that of each expert,
#   ignored for `'none'` (the cells below pass 0).
# - **`forward`** takes `x` [B, T, d_model], any B and T, and returns a tensor of the same shape, by the two formulas above.
# - **Attention** is causal (a token sees itself and what comes before it) and has `n_heads` heads. Write it, or use `nn.MultiheadAttention` or
#   `F.scaled_dot_product_attention`; biases as you like. Apart from the mask, it knows nothing of positions.
# - **Norms** are `nn.LayerNorm(d_model)` (or RMSNorm, or your own), each with a learned gain of its own: a parameter of d_model numbers that starts at one.
#   Queries, keys and values all read norm1(x), which is normed once. Gradients pass through both norms.
# - **The FFN** is `FFN`, `SwiGLU` or `MoE` from the first cell, or your own: the check does not insist on a width or on a number of experts, as long as a token visits fewer than all.
#   A block holds only what its kind needs, and an optimiser finds all of it in `block.parameters()`.
# - **With 'moe'**, `block.aux_loss` is the balance loss of the last call: a tensor with one number, with gradient, without coefficient.
# - **ValueError**, when the block is made, for any other kind and for `n_heads` that does not divide `d_model`.
# - There is no dropout; `x` stays as it was. Names inside are free: the check looks at what the block does, in float32.
#
# Stuck? Run `hint("Block")` in a cell of your own.


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

# %% [markdown] text="train-text"
# ## 2 · Learn by heart
#
# *deeper: the core path goes on with section 9*
#
# What should four blocks compete in? Something in which an FFN could matter, small enough for your machine: **pairs**. There are 24 words, so 24² = 576 pairs
# of them, and for each pair a third word drawn at random. The block reads two words and must name the third. Nothing but memory helps. Attention has to bring
# the first word to the second; something has to look the pair up.
#
# A small model is put around your block: embeddings in front, a norm and scores behind, d_model = 16.
#
# The cell takes about 10 seconds.

# %% figure="predict-first-of-three"
predict("first_of_three")

# %% code="train"
losses = {}
for kind, d_ff in (("none", 0), ("relu", 61), ("swiglu", 42), ("moe", 10)):
    torch.manual_seed(0)
    try:
        model = Reader(words=24, d_model=16, blocks=[Block(kind, 16, 4, d_ff)])
        found = learn(model, *pairs(24, seed=0), steps=300, label=kind)
    except NotImplementedError:
        print("This cell lights up when Block is written.")
        break
    losses[kind] = found["losses"]
    size = sum(p.numel() for p in model.blocks.parameters())
    print(f"{kind}: {size:,} parameters in the block, {found['accuracy']:.0%} of 576 pairs known")

# %% [markdown] text="plot-losses-text"
# Your four blocks, while they learned. By accuracy three of them can't be told apart. Can they by loss? Add `plt.yscale("log")` and look.

# %% code="plot-losses"
if losses:
    for kind, values in losses.items():
        plt.plot(values, label=kind)
    plt.title("My blocks learn 576 pairs")
    plt.xlabel("step")
    plt.ylabel("loss, nats per pair")
    plt.legend()
    plt.show()
else:
    print("This cell lights up when Block is written.")

# %% [markdown] text="train-after"
# ## 3 · Equal what?
#
# *deeper: the core path goes on with section 9*
#
# A comparison needs more pairs, several seeds, and a decision about what must be equal.
#
# - **Equal total parameters**: what has to be stored. About 2,030 in each FFN here.
# - **Equal active parameters**: what one token meets, and so about the work. A mixture of 4 experts in which a token visits 2 may then have about twice the total.
# - For the block without FFN there is a fair rival of equal size: **three blocks** of attention alone, 3 · 4·d² = 12·d², as much as attention with an FFN of 8·d².
#
# The runs behind the figure took about four CPU minutes, so they were made ahead: five seeds for each model and size, 300 steps of Adam over all pairs.
#
# Move the slider to 40² = 1,600 pairs. What changes when the switch is at equal active?

# %% figure="predict-best-at-1600"
predict("best_at_1600")

# %% figure="dashboard"
controls.show(
    figures.dashboard,
    measure=controls.choice("measure", figures.MEASURES, "accuracy"),
    equal=controls.choice("equal", figures.EQUAL, figures.EQUAL[0]),
    words=controls.steps("pairs", figures.PAIRS, 24),
)

# %% code="numbers" output="fixed"
stored = experiment.stored()
for name, count in stored["counts"].items():
    shares = torch.tensor(stored["runs"][name]["40"]["accuracy"], dtype=torch.float64)
    spread = f"{100 * shares.mean():5.1f} % ± {100 * shares.std():.1f}"
    print(f"{name:17} total {count['total']:>5,}  active {count['active']:>5,}  FLOPs {count['flops']:>6,}  {spread}")

# %% [markdown] text="numbers-after"
# How sure is the ranking at 1,600 pairs? Neighbours in it are more than two standard deviations of a difference of single runs apart, the cautious
# reading of notebook 07. (The standard error of a difference of two means of five is smaller by a factor of √5, about 2.2.) At 24² pairs all but the single
# block without
# FFN know 99 % or more. The same reading calls them level, and names no winner.
#
# Both switches are honest, if one says which it was. “The mixture wins” without it is not.

# %% [markdown] text="limits-text"
# ## 4 · What the experiment can't show
#
# *deeper: the core path goes on with section 9*
#
# A number with an error bar is still a number about *this* experiment.
#
# - **Memory, not language.** The pairs are random: there is nothing to generalise to, and no test set could exist. A model that is best here need not be best
#   at predicting text.
# - **One size, one recipe.** d_model = 16, one learning rate for all, 300 steps. With another learning rate or more steps the gaps change, and near 100 % they
#   vanish (move the slider of section 3 to 24²).
# - **Five seeds** give a rough idea of the spread. They don't settle a gap of the size of the bars.
# - **Time** (the last item of the figure's first menu) **is that of small matrices on one CPU thread.** Here the overhead costs more than the arithmetic,
#   above all for the mixture. FLOPs don't show that, and
#   neither says what happens on a GPU.
# - **The ranking of SwiGLU and mixture** belongs to these widths and this task. Shazeer's table (notebook 07) measured language, and has no mixture in it.
#
# ## 5 · What if we removed the FFN?
#
# *deeper: the core path goes on with section 9*
#
# Two things are often said: that without an FFN the tokens become equal, and that without it the model is linear and can't store facts. The two cells
# ask your own block of kind 'none': up to 96 of them in a row, with random weights, beside blocks with a ReLU FFN; and one of them learning 144
# pairs. The first cell measures, as in notebook 01, how different the tokens are: ‖x − mean over tokens‖ / ‖x‖, which is 0 when all are equal.

# %% figure="predict-ninety-six-blocks"
predict("ninety_six_blocks")


# %% code="removed-rank"
def different(x):
    return ((x - x.mean(1, keepdim=True)).norm() / x.norm()).item()


def stack(kind, d_ff, residual, depths=(3, 24, 48, 96), seeds=range(5)):
    """How different the tokens are behind so many random blocks: the smallest and the largest of five seeds."""
    found = {depth: [] for depth in depths}
    for seed in seeds:
        torch.manual_seed(seed)
        x = torch.randn(1, 10, 16)
        for depth in range(1, max(depths) + 1):
            x = Block(kind, 16, 4, d_ff)(x) - (
                0 if residual else x
            )  # without: what the residual added is taken away again
            if depth in depths:
                found[depth].append(different(x))
    return ", ".join(f"{depth} blocks {min(r):.2g} to {max(r):.2g}" for depth, r in found.items())


with torch.no_grad():
    try:
        print("no FFN:              ", stack("none", 0, residual=True))
        print("ReLU FFN:            ", stack("relu", 61, residual=True))
        print("no FFN, no residual: ", stack("none", 0, residual=False, depths=(3, 24)))
    except NotImplementedError:
        print("This cell lights up when Block is written.")

# %% code="removed-facts"
for seed in range(5):
    torch.manual_seed(seed)
    try:
        model = Reader(words=12, d_model=16, blocks=[Block("none", 16, 4, 0)])
        found = learn(model, *pairs(12, seed), steps=300, label=f"no FFN, seed {seed}")
    except NotImplementedError:
        print("This cell lights up when Block is written.")
        break
    print(f"{found['accuracy']:.0%} of 144 pairs known without an FFN")

# %% [markdown] text="removed-after"
# The residual hands every token its own vector on; with the norm inside, the stream grows and each layer's push gets smaller beside it. As notebook
# 01 put it: the skip turns the crash into a slide; skip and norm together turn the slide into a crawl. Nothing here stops it.
#
# So the honest answer: **nothing collapses at once; what you lose is capacity.** An FFN is parameters that each token uses by itself, in two or three matrix products, with no look at
# other tokens. At 1,600 pairs one block of attention knows about a third of what is asked. Three of them, as many parameters as attention with an FFN, win back much of it, but
# each step costs more than twice the time (choose `time` in the figure of section 3), and they stay behind. In a large model the capacity you would lose is
# half to nine tenths of each layer's
# parameters (notebook 05).

# %% [markdown] text="generate-text"
# ### Let it write
#
# (Section 10 lets your block write, with this function if you have written it.) A model does not write: it gives a score to every token that could come next.
# Somebody has to choose one, append it, and ask again.
# That somebody is you.
#
# The **temperature** says how daring the choice is. Scores are divided by it before softmax: below 1 the favourites gain, above 1 everybody gets a chance. At 0 nothing
# is left to chance: the highest score wins (*greedy*).
#
# ### Exercise `generate`
#
# *4 points · difficulty ●●○ · 10 minutes*
#
# - **Takes** `model`, which maps ids [1, t] to scores [1, t, vocabulary]: row i scores what comes after token i. Then `prompt`, a list of at least one id; `numbers`, a
#   list of numbers u with 0 ≤ u < 1, one for each token to be written; `window`; and `temperature` ≥ 0.
# - **Returns** a list of the new ids, as ints, one for each number. The prompt is not repeated.
# - The model sees the last `window` tokens, no more: it refuses longer inputs. What was written becomes part of what is read.
# - **Temperature 0**: the id with the highest score. **Otherwise**: with the probabilities p of softmax(scores / temperature), the first id for which p₀ + p₁ + … + p_id
#   is **larger** than u. So each id is chosen with its probability, and the same numbers give the same text.
# - A temperature may be as small as 0.01; it must not lead to NaN. `prompt` and `numbers` stay as they were.
#
# Stuck? Run `hint("generate")` in a cell of your own.

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
            chosen = (up_to <= u).sum()  # how many ids come before the first that is above u
        ids.append(int(chosen))
    return ids[len(prompt) :]
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="writing-text"
# The smallest model that writes is a table: which characters came after the last four, and how often? The text is Python's own help, which comes with every Python.

# %% figure="predict-greedy-table"
predict("greedy_table")

# %% code="writing"
temperature, order = 0.8, 4
text = "\n".join(topics.values())
letters = sorted(set(text))
table = defaultdict(Counter)
for i in range(len(text) - order):
    table[text[i : i + order]][letters.index(text[i + order])] += 1


def counting(ids):
    scores = torch.full((1, ids.shape[1], len(letters)), -30.0)
    for letter, count in table["".join(letters[i] for i in ids[0, -order:].tolist())].items():
        scores[0, -1, letter] = math.log(count)
    return scores


random.seed(0)
start = "The statement "[-order:]
try:
    for heat in (0, temperature):
        written = generate(counting, [letters.index(c) for c in start], [random.random() for _ in range(300)], order, heat)
        print(f"temperature {heat}: {start}{''.join(letters[i] for i in written)}\n")
except NotImplementedError:
    print("This cell lights up when generate is written.")

# %% [markdown] text="writing-after"
# Change `temperature`, then `order`, and run the cell again. With a short memory the words are broken, with a long one it recites. A Transformer in place of the table
# reads further back, and need not have seen exactly these characters before.

# %% [markdown] text="spot-text"
# ## 6 · Spot the error
#
# *deeper: the core path goes on with section 9*
#
# Two things from a published tutorial. For each: find the error, then run the cell.
#
# **A.** Its mixture of experts (“simplified”, it says) finds its
# tokens with two loops, over the k choices and over the E experts, and knows no
# loss but the task's. What is missing? The cell below trains nothing; it asks your block for the gradient that such a training throws away.

# %% code="spot-balance" output="fixed"
try:
    torch.manual_seed(0)
    block = Block("moe", 16, 4, 10)
    block(torch.randn(2, 5, 16))
    block.aux_loss.backward()
    print("a second loss with a gradient of its own:", any(p.grad is not None for p in block.parameters()))
except NotImplementedError:
    print("This cell lights up when Block is written.")

# %% [markdown] text="spot-summary"
# The balance loss is missing: nothing keeps the router from sending all tokens to a few experts (notebook 09). The two loops give the right sums, but call every
# expert up to k times (notebook 08).
#
# **B.** The same tutorial ends with a table of key points: d_ff is typically 4 · d_model; the activation is GELU in modern models and ReLU in the original one; the
# FFN has about two thirds of a layer's parameters; every position is processed with the same weights. Which of the four lines hold for a recent model? The cell looks up the first three in the atlas of notebook 05.

# %% code="spot-table" output="fixed"
from ffnlab.course import atlas

for name in ("GPT-2 small", "LLaMA-3 8B"):
    model = atlas.find(name)
    ratio, share = model.d_ff / model.d_model, atlas.ffn_share_of_layer(model)
    print(f"{name}: d_ff / d_model = {ratio:g}, {model.activation}, gated: {model.gated}, {share:.0%} of a layer")

# %% [markdown] text="quiz_removed-head"
# For the first the table holds. For the second d_ff is 3.5 · d_model, the activation is a SiLU that gates, and, with fewer key and value heads, the FFN has 81 % of a
# layer (notebook 05). Only the last line holds for every model of this course. (The table says “Typical” of d_ff, and “modern” of GELU, so it is not wrong:
# habits have changed.)
#
# ## 7 · Quiz
#
# *deeper: the core path goes on with section 9*
#
# One point each. Put the letter in quotes.

# %% [markdown] text="quiz_removed-text"
# ### Question `quiz_removed`
#
# You take the FFN out of every block of a model, and train it again from the start. What does this notebook's evidence say is lost?
#
# - **A.** The differences between tokens: without FFN they are equal after a few blocks.
# - **B.** Every non-linearity: the model becomes linear, and can't learn random pairs at all.
# - **C.** Parameters that each token uses by itself: at equal depth fewer pairs were stored.

# %% quiz="quiz_removed"
quiz_removed = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_removed = "C"
### END SOLUTION

# %% [markdown] text="quiz_equal-text"
# ### Question `quiz_equal`
#
# In the figure of section 3 you move the switch from equal total to equal active parameters. What happens?
#
# - **A.** The mixture gets fewer parameters in total, since only half of its experts count.
# - **B.** The mixture gets more parameters in total; what a token meets is then as much as in the plain FFN.
# - **C.** All models change their size, since active parameters are counted in another way.

# %% quiz="quiz_equal"
quiz_equal = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_equal = "B"
### END SOLUTION

# %% [markdown] text="quiz_seeds-text"
# ### Question `quiz_seeds`
#
# In an experiment like that of section 3 one model knows 92 % of the pairs and another 75 %, with a spread of 2 % over seeds. What may you write?
#
# - **A.** “At these sizes and after these steps, the first stores more random pairs; the gap is far outside the spread over seeds.”
# - **B.** “The first kind of FFN generalises better.”
# - **C.** “One run of each would have been enough to know it.”

# %% quiz="quiz_seeds"
quiz_seeds = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_seeds = "A"
### END SOLUTION

# %% [markdown] text="M9-text"
# ## 8 · In your own words
#
# *deeper: the core path goes on with section 9*
#
# *question M9 · 3 points, graded by your instructor · 8 minutes*
#
# What would happen if we removed the FFN entirely? Write down what you would have predicted before this notebook, then answer with numbers from it:
#
# 1. Do the tokens become equal? How fast, and which part of the block decides that?
# 2. Can the model still memorise? Up to what?
# 3. What exactly is lost, and could attention make up for it? At which price?
#
# Four to eight sentences. Double-click the cell below to write.

# %% [markdown] question="M9" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) Only slowly: after 24 blocks without FFN, with random weights, the tokens still differ by 0.57 to 0.96, after 96 by 0.22 to 0.68, and with a ReLU FFN by
# 0.46 to 0.83 and 0.31 to 0.54. The **residual** hands each token's own vector past attention, and with the norm in each branch the stream grows, so that every layer's push gets smaller
# beside it. Without the residuals the tokens are equal up to rounding after 24 blocks. So it is residual and norm that slow the collapse, not the FFN; nothing stops it.
# (2) It **still memorises small sets**: 144 random pairs, all or nearly all of them, with one block; embeddings, attention and scores are trained, too, and attention is not linear in its input.
# At 576 pairs it knows a part, at 1,600 about a third. (3) What is lost is **cheap capacity that each token uses by itself**: an FFN of 2,030 parameters brings the 1,600 pairs far
# above what one block of attention knows. Attention can make up for much of it: three blocks without FFN, as many parameters, know many more pairs than one, but a training step takes
# more than twice as long as with an FFN, and at 1,600 pairs they stay behind.
#
# **Rubric.** One point each:
#
# - (1) the residual (with the norm) makes it slow, so no sudden collapse follows from removing the FFN. Half a point for a residual that stops it for good. “The FFN prevents collapse” gets nothing.
# - (2) it still memorises small sets, with a number from the notebook. Half a point without a number. “It is linear” gets nothing.
# - (3) what goes is capacity per token that is cheap in parameters or time, and stacked attention replaces a part of it. Half a point for one of the two.
# <!-- ### END SOLUTION -->

# %% [markdown] text="M10-text"
# *question M10, your report · 3 points, graded by your instructor · 12 minutes*
#
# Write a report of half a page on the comparison in section 3: a reader who has not seen it should be able to judge your claim.
#
# 1. What was compared, on what, with how many **seeds**, and **equal in what**? Why did you choose that?
# 2. **One claim**, with mean and error bar of both sides, and whether the gap is outside the spread (notebook 07; say whether you use the standard deviation of
#    single runs or the standard error of the means).
# 3. One thing that this experiment **can't show**, and an experiment that could.
#
# Double-click the cell below to write.

# %% [markdown] question="M10" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** *One pre-norm block of width 16 learned 1,600 random pairs by heart, 300 steps of Adam with one learning rate, five seeds each. SwiGLU and the ReLU FFN
# have equally many parameters (2,016 and 2,029 in the FFN), total and active, which is why they can be compared without a choice; for the mixture we took equal total, since memory was our limit.
# SwiGLU knows 92.4 ± 2.6 % of the pairs, the ReLU FFN 74.7 ± 1.3 % (mean ± standard deviation of single runs). The gap of 17.7 points is about six standard deviations of a difference of single runs (2.9),
# and between 13 and 14 standard errors of the difference of the two means (1.3). The experiment measures memory at one size and one recipe.
# It can't show which one predicts text better: for that, both would have to be trained on text at several sizes, with a tuned learning rate each, and be compared on held-out text.*
#
# **Rubric.** One point each:
#
# - seeds are named, and **equal what**, with a reason. Half a point for one of the two.
# - **one claim with error bars** on both sides, and a statement about gap against spread that says which of the two it uses. Either is fine: SwiGLU is about 6 deviations of single runs ahead of the ReLU FFN, or between 13 and 14 standard errors of means. Half a point if it is not said, or if the two are mixed up. Any claim that the figure supports is fine, also “no difference can be seen at 576 pairs”. A ranking without spread gets nothing.
# - a limit that really holds (memory not generalisation, one size, one recipe, few seeds, CPU time), and an experiment that would address it. Half a point for one of the two.
# <!-- ### END SOLUTION -->

# %% [markdown] text="creek-text"
# ## 9 · Back to the creek
#
# *The creek was cold and the spunky dog wanted to jump …* over it, or into it? So this course began. Somebody else's model knew the answer, and all you could
# do was to switch its FFN off.
#
# Now the block is yours. It gets embeddings in front and scores behind, and reads the 2,304 sentences of the little world. In none of them is a creek cold. The
# cell takes about 15 seconds.

# %% figure="predict-own-creek"
predict("own_creek")

# %% code="creek"
from ffnlab.course.experiments import creek

curves = {}
try:
    for kind, d_ff in (("none", 0), ("relu", 128)):
        torch.manual_seed(0)
        reader = creek.SentenceReader([Block(kind, 32, 4, d_ff)])
        curves[kind] = creek.learn(reader, label=f"your block, {kind}")
        known = creek.judged(reader)  # in the 1,792 scenes that it has not seen
        print(f"over or into: right in {known['way']:.0%}; glad or sorry: right in {known['feeling']:.0%}")
        print(creek.tell(reader, "the creek was cold and the spunky dog wanted to jump"), "\n")
except NotImplementedError:
    print("This cell lights up when Block is written.")

# %% [markdown] text="plot-creek-text"
# Here is how it learned, over what five seeds of a block of ours did. Where do the two kinds part? Then train yours from another seed: is there a step
# where a rule is found?

# %% code="plot-creek"
stored_creek = creek.stored()
for kind in ("none", "relu"):
    runs = torch.tensor(stored_creek["losses"][kind])  # [seeds, 50]
    plt.fill_between(stored_creek["steps"], runs.amin(0), runs.amax(0), alpha=0.25, label=f"{kind}, five seeds")
for kind, values in curves.items():
    plt.plot(stored_creek["steps"], torch.tensor(values).reshape(-1, creek.EVERY).mean(1), label=f"{kind}, my block")
plt.ylim(0.4, 0.6)
plt.title("My block reads the little world")
plt.xlabel("step")
plt.ylabel("loss, nats per word")
plt.legend()
plt.show()

# %% [markdown] text="english-text"
# ## 10 · It writes
#
# That was a world of 56 words. And English? Every Python carries some: its help texts, about 465,000 characters. Without code, tables, quotation marks and
# repetitions about 206,000 are left, which is prose of a sort. It is cut into about 2,100 kinds of token: the 2,000 most useful words, and single characters to spell the
# others.
#
# Two of your blocks with SwiGLU read it for 400 steps, 1,024 tokens each, and then write, with your own `generate`. Every tenth paragraph is held out.

# %% figure="predict-fifteen-seconds"
predict("fifteen_seconds")

# %% code="english"
from ffnlab.course.experiments import english

torch.manual_seed(0)
try:
    writer = english.Writer([Block("swiglu", 64, 4, 171) for _ in range(2)])
    cost = english.learn(writer, label="two of your blocks")
    print(f"{cost:.2f} bits for each character that it has not seen\n")
    for temperature in (0.0, 0.5, 1.0):
        print(f"temperature {temperature}: {english.write(writer, 'When a class', generate, temperature)}\n")
except NotImplementedError:
    print("This cell lights up when Block is written.")

# %% [markdown] text="english-after"
# Try prompts and temperatures of your own in a cell below.
#
# **Your own part.** Your `generate` can also finish the sentence of the creek, with the model of notebook 00. It now has your parts wherever you have earned
# them.

# %% figure="machine"
machine()

# %% [markdown] text="best-text"
# ## 11 · Which reads best?
#
# *deeper: the core path goes on with section 12*
#
# Which kind of feed-forward reads best? The stored runs put this question to the same text, from five seeds each.

# %% figure="predict-gaps-on-text"
predict("gaps_on_text")

# %% code="english-runs" output="fixed"
stored_english = english.stored()
for name, costs in stored_english["bits per character"].items():
    count, found = stored_english["counts"][name], torch.tensor(costs, dtype=torch.float64)
    print(f"{name:17} total {count['total']:>7,}  active {count['active']:>7,}  {found.mean():.3f} ± {found.std():.3f} bits")

# %% [markdown] text="english-runs-after"
# **What you saw.** With any feed-forward part a character costs about 0.03 bits less than without, which is more than three standard deviations of a difference of single
# runs. Four more blocks of attention do not buy that, and one of their seeds went badly at this learning rate. Which FFN is best? There is no answer until
# somebody says: best at what?

# %% [markdown] text="wire_by_hand-text"
# ## 12 · Wire it by hand
#
# Your block *learned* to say over and into. What did its neurons have to find? Find it yourself, without training. Take the model of notebook 00 and pull its FFN
# out. All that is left before the scores is linear, so over or into is a coin toss. Now write an FFN of a few neurons, number by number.
#
# Where is the word decided? At *jump*. Attention has brought the creek and the cold to that position, as two directions in one vector. In notebook 01 you have
# written two neurons that make an XOR of such a sum.
#
# ### Exercise `wire_by_hand`
#
# *5 points · difficulty ●●● · 20 minutes*
#
# - **Takes** `x` [N, T, d_model], what attention leaves at each of the T positions of N sentences, in float64. `first` and `second` [N] say for each sentence
#   whether its place is water, and whether it is cold: True or False. `at` is the position of *jump*. `same` and `different` [d_model] are rows of the matrix
#   of scores: the score of a word is the product of the final vector with its row.
# - **Returns** `(W1, b1, W2)`, of the shapes [d_model, n], [n] and [n, d_model], with at most 16 neurons. The model goes on with
#   x + relu(x @ W1 + b1) @ W2.
# - **At `at`** the word of `same` is to be said where `first` and `second` are equal, and that of `different` where they differ. This is tested on the 1,792
#   sentences that are held out, of which `x` has none: at least 95 % of each of the four kinds have to be right.
# - **Elsewhere** the model speaks rightly already. Let your neurons be silent there: 99 % of the other words have to stay right.
# - The test asks for a second habit as well, glad or sorry. There `first` is cold, `second` is spunky, and `at` is the position of *was*. Its axes are in
#   another order than the model's.
#
# Par is three neurons. Stuck? Run `hint("wire_by_hand")` in a cell of your own.


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

# %% [markdown] text="wired-text"
# Does it jump over the cold creek? The cell puts your neurons into the model of notebook 00.

# %% code="wired"
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

# %% [markdown] text="map-text"
# A few neurons put two things together that attention had only brought to one place. You know how, because you have built them.
#
# ## 13 · The map
#
# | notebook | what you can do | your proof |
# |---|---|---|
# | 00 | open, check, hand in | `hello_shape` |
# | 01 | say what attention can and can't do: hulls and walls, linear in what, XOR | `self_attention`, `reach_star`, `superposition_error`, `xor_weights` |
# | 02 | write the FFN as function and module, take its non-linearity away, go deeper | `ffn_forward`, `ffn_trace`, `ffn_backward`, `PositionwiseFeedForward`, `collapse_linear`, `merged_counterexample`, `DeepFFN` |
# | 03 | count kinks, build any curve, write four activations with their slopes | `count_pieces`, `steepest_counterexample`, `relu_interpolant`, `curve_interpolant`, `activation` |
# | 04 | tell an FFN from the outside; residual, norm, and how tokens become one | `is_position_wise`, `residual_sublayer`, `attention_only_collapse`, `ffn_chunked`, `bottleneck_rank` |
# | 05 | count parameters and FLOPs, audit a published number | `count_ffn`, `count_attention`, `layer_share`, `audit_published`, `flops_per_token`, `cost_of_a_step` |
# | 06 | read keys and values, train and knock out facts | `decompose_output`, `top_neurons`, `knockout`, `spare_counterexample`, `train_fact_ffn`, `write_fact`, `activation_patterns` |
# | 07 | gate, match widths, fuse | `glu_variant`, `GatedFFN`, `fuse_gate_up`, `find_the_gate`, `swiglu_width`, `same_unit_counterexample` |
# | 08 | route and dispatch | `route`, `moe_reference`, `moe_loop`, `moe_sorted`, `router_learns_counterexample`, `router_gradient` |
# | 09 | balance, capacity, shared experts | `load_balance_loss`, `own_expert_counterexample`, `drop_mask`, `bias_update`, `diagnose_load`, `SharedExpertMoE` |
# | 10 | put it all together, and compare honestly | `Block`, `generate`, `wire_by_hand` |
#
# `progress()` below says which of them you have earned.
#
# ## You can now …
#
# - assemble a pre-norm block around any kind of feed-forward: `Block`;
# - let a model write, at a temperature of your choice: `generate`;
# - write the few neurons that make over and into right: `wire_by_hand`;
# - say what a block loses, and keeps, without its FFN: M9;
# - compare kinds honestly, and say what the comparison can't show: M10.
#
# ## Going further
#
# - Dong, Cordonnier and Loukas 2021, *Attention is not all you need* (arXiv 2103.03404): how fast tokens collapse without skip connections and MLPs. Noci et al. 2022
#   (arXiv 2206.03126): with skip connections they still align with depth, unless the branches are scaled down with it.
# - Allen-Zhu and Li 2024, *Physics of Language Models: Part 3.3* (arXiv 2404.05405): how many bits a parameter stores, and what gating changes.
# - Shazeer 2020, *GLU Variants Improve Transformer* (arXiv 2002.05202): the comparison at a size that matters, with its error bars.
#
# The next thing in a Transformer to take apart would be its norm, and why it is a layer norm and not a batch norm. But this is the last notebook.
#
# <details><summary>Key concepts, and where they live</summary>
#
# | | notebook |
# |---|---|
# | position-wise: one network, applied to every token alone | 02, 04 |
# | expansion and compression: d_model → d_ff → d_model | 02 |
# | activation: ReLU, GELU, SiLU, and the kink that makes the difference | 03 |
# | sparse activation: few neurons fire for a token | 03, 06 |
# | where the parameters are | 05 |
# | keys and values: what a neuron looks for, and what it writes | 06 |
# | gate: a second key that scales the first | 07 |
# | mixture of experts: many FFNs, of which a token visits a few | 08, 09 |
#
# </details>
#
# *The creek was cold and the spunky dog wanted to jump over it.* Somewhere between *cold* and *over*, a few neurons put two things together that attention had
# only brought to one place. You know how they do it, because you have built them.

# %% figure="progress"
progress()
