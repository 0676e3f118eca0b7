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
# # 05 · The scales
#
# The matrices of one block lie on two pans, attention's on the left, the FFN's on the right. All are drawn at one scale, and every number in them weighs the same. Drag the ring at W1 until
# the FFN is exactly twice as heavy as attention. Then try the other levels.
#
# You will often read that two thirds of a Transformer is FFN. The scales show when that is so. Biases aside, even the creek model of notebook 00 hangs at 2 : 1. Its attention only averages
# and needs two squares, and its FFN is only twice as wide as the model.
# (A *gate*, at level 2, is a second W1.)
#
# <span class="ffn-notebook-only">To wake the board up, press <b>Shift + Enter</b> three times. Keys work, too: Tab goes to a control, and the arrows move it.</span>

# %% setup="imports"
import math
from collections import Counter

import matplotlib.pyplot as plt
import torch
from torch.utils.flop_counter import FlopCounterMode

from ffnlab import check, hint, play, predict, progress, quiz, veil
from ffnlab.course import atlas
from ffnlab.course.boards import scales
from ffnlab.course.experiments import minilm_shapes, timing
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import parameters as figures
from ffnlab.drawing import controls, style

style.use()

# %% figure="scales"
play(scales.balance())

# %% figure="scales-after"
veil(
    "What tips the scales?",
    "when you have settled the last level",
    of="scales.heads",
    text="""
| what you change | what it does |
|---|---|
| d_ff | each matrix of the FFN has d_ff / d_model squares |
| the gate | three such matrices instead of two |
| the number of heads alone | nothing, since they divide the same columns among them |
| heads that share keys and values | K and V become narrower, from two squares down to nearly none |
| the width of a head | all four matrices of attention grow or shrink |
| a second attention | all of attention is there twice |

Two thirds is 8 squares of 12. So the sentence needs an FFN of 4 · d_model without a gate, heads that together are as wide as the model, nothing shared, and one attention in the block.
If one of these is missing, another may make up for it, as in level 3.
""",
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M5, which can wait for another day |
# | **You need** | `02_feed_forward`; what the four matrices of attention do (`01_attention` helps) |
# | **Points** | {points} |

# %% [markdown] text="beam-text"
# ## What hangs on the beam
#
# Here is a block that you can count by hand, with d_model = 8 and d_ff = 32:
#
# | | array | numbers |
# |---|---|---|
# | attention | queries, keys and values, each [8, 8] | 192 |
# | | output, [8, 8] | 64 |
# | FFN | `W1` [8, 32] and `W2` [32, 8] | 512 |
# | | `b1` [32] and `b2` [8] | 40 |
#
# So the FFN has 552 numbers and attention 256. That is a little more than 2 : 1, because of the biases. They are long and thin, and they matter less the wider a model is.

# %% code="twice" output="fixed"
for name, d in (("by hand", 8), ("Transformer, 2017", 512), ("GPT-3", 12288)):
    f = 4 * d
    attention, ffn = 4 * d * d, d * f + f + f * d + d
    print(f"{name:18} d_model {d:6,}   attention {attention:12,}   FFN {ffn:14,}   {ffn / attention:.4f} times")

# %% [markdown] text="forms-text"
# So the four is a ratio of widths, and the ratio of weights is two. For four times as many numbers as attention has, a plain FFN would have to be 8 · d_model wide.
#
# Why 4 · d_model? Nothing forces it. The paper of 2017 chose 2048 = 4 · 512, but no other part of a block has to match d_ff. The left pan varies, too:
#
# - **Shared keys and values.** A model that writes keeps the keys and values of all tokens so far. To keep fewer numbers, several query heads share one head of keys and values. This is
#   *grouped-query attention* (Ainslie et al. 2023, arXiv 2305.13245). If all share one, it is *multi-query attention* (Shazeer 2019, arXiv 1911.02150).
# - **Heads of a width of their own.** The numbers of one head, `head_dim`, need not be d_model / n_heads. Then the queries of all heads together may be wider than the model, or narrower,
#   and the output matrix leads back from there.
# - **A second attention.** The Transformer of 2017 translates. Its encoder reads one sentence, its decoder writes another. So a block of the decoder has two attentions, one for its own
#   words and one for what the encoder made. GPT has no encoder, and no second attention either.

# %% [markdown] text="count_block-text"
# ### Exercise `count_block`
#
# *{points} · difficulty ●●○ · 12 minutes · deeper: you can come back to it later*
#
# Count a block, whatever its form.
#
# - **Takes** `d` (d_model), `f` (d_ff) and `n_heads`.
# - **May take** `n_kv`, the number of heads of keys and values (`n_heads` if None); `head_dim` (`d // n_heads` if None); `gated`, `bias` and `attentions`.
# - **Attention** has four matrices: queries [d, n_heads · head_dim], keys and values [d, n_kv · head_dim] each, and output [n_heads · head_dim, d]. With `attentions=2` all of it is there
#   twice.
# - **The FFN** has `W1` [d, f] and `W2` [f, d]. With a gate there are two matrices [d, f].
# - **With `bias=True`** every matrix has a bias, as long as what the matrix puts out.
# - **Returns** a dict with two ints, `"attention"`, of all attentions together, and `"ffn"`; and a float, `"share"`, the FFN's part of both together, not rounded. Norms don't count.
#
# *Stuck? Run `hint("count_block")` in a cell of your own.*


# %% exercise="count_block"
def count_block(d, f, n_heads, n_kv=None, head_dim=None, gated=False, bias=False, attentions=1):
    """The parameters of one block: {"attention": int, "ffn": int, "share": float}."""
    ### BEGIN SOLUTION
    if n_kv is None:
        n_kv = n_heads
    if head_dim is None:
        head_dim = d // n_heads
    queries, keys = n_heads * head_dim, n_kv * head_dim  # what the matrices put out
    into = 2 if gated else 1  # matrices that lead into the hidden layer
    attention = d * queries + 2 * d * keys + queries * d
    ffn = into * d * f + f * d
    if bias:
        attention += queries + 2 * keys + d
        ffn += into * f + d
    attention *= attentions
    return {"attention": attention, "ffn": ffn, "share": ffn / (attention + ffn)}
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="bars-text"
# ## Fifteen bars
#
# Fifteen published models, each drawn as a bar of the same length. Besides attention and FFN there is a third part, the **embeddings**: a table with one vector of d_model numbers for each token
# that the model knows. Some models have a second such table for the output.
#
# The card describes one of the models. Which bar is it? Nobody knows these numbers by heart, but you can weigh them. *Is the vocabulary large for so few blocks? Are keys shared? Is there a
# second attention?*

# %% figure="bars"
play(scales.bars())

# %% figure="bars-after"
veil(
    "What do the fifteen have in common?",
    "when six bars have their names",
    of="scales_bars.few",
    text="""
Very little. The FFN has from a third to nearly all of a model.

In small models **the embeddings** weigh most, because a table grows with d_model and a block with its square. In today's larger ones **shared keys and a gate** settle it: 70 to 90 %. In those that translate **a second attention**
does: less than 60 %. And in a *mixture of experts* each block has many FFNs, of which a token uses a few. Notebooks 08 and 09 are about these.

Of the fifteen, “two thirds” is true of GPT-3, with 66 %, and nearly true of LLaMA 7B, with 64 %.
""",
)

# %% [markdown] text="four_times-text"
# ### Exercise `four_times`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# “d_ff is four times d_model, so the FFN has about two thirds.” Show how little follows from that. Find two blocks that both have d_ff = 4 · d_model: in the first the FFN has **less than a
# third** of attention and FFN, in the second **more than 90 %**.
#
# A block is a dict with `"d_model"` and `"n_heads"`. It may have `"n_kv"`, the heads of keys and values, which divides `"n_heads"`; `"head_dim"`; `"gated"`, True or False; and `"attentions"`, 1 or 2.
# What is left out is as usual: nothing shared, heads of d_model / n_heads, no gate, one attention. There are no biases.
#
# *Stuck? Run `hint("four_times")` in a cell of your own.*

# %% exercise="four_times"
four_times = ...  # (below, above): two dicts such as {"d_model": 1024, "n_heads": 16, "gated": True}
### BEGIN SOLUTION
four_times = (
    {"d_model": 1024, "n_heads": 16, "head_dim": 256, "attentions": 2},  # attention 32 d², FFN 8 d²
    {"d_model": 1024, "n_heads": 16, "n_kv": 1, "head_dim": 32, "gated": True},  # attention 1.06 d², FFN 12 d²
)
### END SOLUTION

# %% [markdown] text="file-text"
# ## A file without labels
#
# Now a model that is in use everywhere: all-MiniLM-L6-v2, among the most downloaded of all. It turns a sentence into 384 numbers, so that sentences which mean the same are near each
# other. It is a BERT with 6 blocks, d_model = 384 and d_ff = 1536, and it knows 30,522 tokens. It has no gate, shares no keys, and each block has one attention. So its blocks are two thirds FFN. And the whole file?

# %% figure="predict-minilm-largest"
predict("minilm_largest")

# %% [markdown] text="shapes-text"
# In this file the two matrices of an FFN are called `intermediate` and `output`, in others `c_fc` and `c_proj`, `wi` and `wo`, or `gate_proj`, `up_proj` and `down_proj`. Names can be wrong, or missing. **How much can
# you tell from shapes alone?** Here they are, each with the number of arrays that have it. We keep nothing else of this file here. Notebook 11 runs it.

# %% code="shapes" output="fixed"
file = minilm_shapes.tensors()  # the shape of each array, by its name
print(f"{len(file)} arrays, {sum(map(math.prod, file.values())):,} numbers")
for shape, number in Counter(file.values()).most_common():
    print(f"{number:3} times {list(shape)}")

# %% [markdown] text="audit_file-text"
# Explain every line of this list before you go on. Which of them is the FFN? Why are there 25 squares, and not 24?
#
# ### Exercise `audit_file`
#
# *{points} · difficulty ●●● · 20 minutes*
#
# Write the audit for files that you have not seen. You get nothing but `shapes`, a list of tuples in no order. Return a dict with
#
# - `"d_model"` and `"d_ff"`;
# - `"ffns"`, how many FFNs there are, and `"gated"`, whether they are;
# - `"attentions"`, how many there are, and `"shared"`, whether keys and values have fewer heads than the queries;
# - `"ffn_share"`, the part of all numbers in the file that the matrices of the FFNs have, from 0 to 1. Leave the FFNs' biases out.
#
# What you can rely on:
#
# - A matrix is stored as `nn.Linear` does it: [what it puts out, what it reads]. Each has the stream, d_model, on one side.
# - All query heads of an attention are together d_model wide, and d_ff is larger than d_model.
# - There are at least three blocks, each with one FFN. A block may have two attentions, and blocks may differ in that. FFNs are alike, and so are attentions.
# - What is left over is biases, norms, tables [rows, d_model] of words, positions and the like, each there once or twice, and perhaps one layer [d_model, d_model] at the end. No table has
#   as many rows as a matrix in a block.
#
# A vocabulary may be very small, even smaller than shared keys are wide.
#
# *Stuck after fifteen minutes? `hint("audit_file")`.*


# %% exercise="audit_file"
def audit_file(shapes):
    """What a file of weights holds, from its shapes alone: {"d_model", "d_ff", "ffns", "gated", "attentions", "shared", "ffn_share"}."""
    ### BEGIN SOLUTION
    count = Counter(shapes)
    matrices = [shape for shape in count if len(shape) == 2]
    d = next(size for size in matrices[0] if all(size in shape for shape in matrices))
    d_ff = max(reads for gives, reads in matrices if gives == d)  # a table never leads back to the stream
    ffns, into = count[d, d_ff], count[d_ff, d]
    keys = [gives for gives, reads in matrices if gives < d and count[gives, reads] >= 2 * ffns]
    return {
        "d_model": d,
        "d_ff": d_ff,
        "ffns": ffns,
        "gated": into == 2 * ffns,
        "attentions": count[d, d] // (2 if keys else 4),
        "shared": bool(keys),
        "ffn_share": (into + ffns) * d * d_ff / sum(math.prod(shape) for shape in shapes),
    }
    ### END SOLUTION
    raise NotImplementedError

# %% code="audit-minilm" output="fixed"
try:
    for what, value in audit_file(list(file.values())).items():
        print(f"{what:10} {value}")
except NotImplementedError:
    print("This cell lights up when audit_file is written.")

# %% [markdown] text="read-text"
# <details><summary>What is the 25th square?</summary>
#
# BERT has one more layer behind its last block, called the *pooler*. This model carries it along and does not use it.
#
# </details>
#
# ## What a step reads
#
# Parameters say what a model holds. When it writes, they have to be **fetched** from memory. It makes one new token in a step, and each step reads every matrix once. (Of an input table it reads one row, of a mixture the FFNs in use.) It also
# reads the keys and values of all tokens so far, its **KV cache**. Weights serve everybody who is being answered. A cache belongs to one text.

# %% figure="predict-cache-or-weights"
predict("cache_or_weights")

# %% figure="step"
controls.show(
    figures.step,
    model=controls.choice("model", figures.DENSE, "LLaMA-1/2 7B"),
    T=controls.steps("tokens so far", [(f"{T:,}", T) for T in figures.LENGTHS], 128),
    people=controls.steps("people", figures.PEOPLE, 1),
)

# %% [markdown] text="step-after"
# Set the sliders to the guess, 4,096 tokens and 64 people. Then choose LLaMA-3 8B, and Gemma-1 2B. Of what LLaMA 7B keeps, LLaMA-3 8B keeps a quarter, all of it
# by sharing. Gemma-1 2B keeps a twenty-eighth: an eighth by sharing, and the rest because it is smaller.
#
# So a share of the parameters tells what a model holds, and not what its steps read. What a step reads is, in a large model and for short texts, mostly the FFN's weights.
# With many people and long texts it can read mostly keys and values, as in LLaMA 7B. Sharing keys puts that off.

# %% [markdown] text="quiz_count-text"
# ## Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_count`
#
# According to the log of a training run, a plain FFN with d_model = 256 and d_ff = 1024 has 525,568 parameters. Which biases does it have?
#
# - **A.** None.
# - **B.** Both, b1 and b2.
# - **C.** b1 alone.

# %% quiz="quiz_count"
quiz_count = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_count = "B"
### END SOLUTION

# %% [markdown] text="quiz_printed-text"
# ### Question `quiz_printed`
#
# A tutorial builds a plain FFN with biases, says that d_model = 512 and d_ff = 2048, and prints “Parameter count: 4,197,376”. That is not the count of this FFN. Which of these has so many?
#
# - **A.** One with d_model = 512 and d_ff = 4096.
# - **B.** Two FFNs such as the tutorial means, one after the other.
# - **C.** One with d_model = 1024 and d_ff = 2048.

# %% quiz="quiz_printed"
quiz_printed = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_printed = "C"
### END SOLUTION

# %% [markdown] text="quiz_decoder-text"
# ### Question `quiz_decoder`
#
# A decoder block of an encoder-decoder has d_ff = 4 · d_model with a gate, and full attention. Norms and biases aside, what is the FFN's share of the block?
#
# - **A.** 3/5
# - **B.** 3/4
# - **C.** 1/2

# %% quiz="quiz_decoder"
quiz_decoder = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_decoder = "A"
### END SOLUTION

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | Four squares against two rectangles of four squares each: this one design gives the FFN two thirds of a block. | the first two levels, `count_block` |
# | The number of heads alone changes nothing. Sharing, the width of the heads, a gate, d_ff and a second attention tip the scales. | the flag, `four_times` |
# | Two thirds of a block is not two thirds of a model: in all-MiniLM-L6-v2 the FFN has 31 %, and the embeddings have more than half. | the guess about the file, the fifteen bars |
# | The shapes in a file tell what it is made of: how many FFNs, how wide, gated or not, and how attention is built. | `audit_file` |
# | A weight is read once for everybody, a cache once for each text. So with enough people and tokens, keys and values outweigh the weights. | the guess about 64 people |
#
# Next: `06_memory`, on what these parameters hold.

# %% figure="progress"
progress()
anatomy.block("05")

# %% [markdown] text="cost-text"
# ## What a step does
#
# *deeper: the core path ends above*
#
# What a model **does** is counted in floating-point operations, FLOPs. A weight is multiplied by a number, and the product is added to a sum: two operations. Attention
# also does something that needs no parameters. Its *mixing* compares a query with T keys, and adds up T values. PyTorch can count all of that:

# %% code="measure" output="fixed"
d, f = 64, 256
W1, W2 = torch.zeros(d, f), torch.zeros(f, d)
four = [torch.zeros(d, d) for _ in range(4)]  # queries, keys, values, output
work = {
    "FFN": lambda x, A: torch.relu(x @ W1) @ W2,
    "attention's matrices": lambda x, A: [x @ W for W in four],
    "mixing": lambda x, A: [x @ x.T, A @ x],  # the scores, then the weighted sum of the values
}
for T in (64, 128, 256):
    cost = {}
    for part, run in work.items():
        with FlopCounterMode(display=False) as counter:
            run(torch.zeros(T, d), torch.zeros(T, T))
        cost[part] = counter.get_total_flops() // T
    print(f"T {T:3}, FLOPs per token:   " + "   ".join(f"{part} {flops:,}" for part, flops in cost.items()))

# %% [markdown] text="measure-after"
# The matrices cost the same for every token. Mixing costs more per token in a longer text. So there is a length at which attention does as much work as the FFN.

# %% figure="predict-gpt3-crossing"
predict("gpt3_crossing")

# %% figure="flops"
controls.show(
    figures.flops,
    model=controls.choice("model", figures.DENSE, "LLaMA-3 8B"),
    T=controls.steps("T", [(f"{T:,}", T) for T in figures.LENGTHS], 2048),
)

# %% figure="flops-after"
veil(
    "Where do the two cross?",
    "when you have guessed",
    of="gpt3_crossing",
    text="""
With a plain FFN of 4 · d_model and nothing shared they cross at T = 2 · d_model. On the left of it the FFN is the larger part of the work, on the right attention is. A gate makes
the FFN heavier at the same d_ff, and shared keys make attention's matrices lighter. So both move the crossing to the right. Neither changes mixing.

The figure counts T positions for each token. A causal model looks back at half of them on average.
""",
)

# %% [markdown] text="cost_of_a_step-text"
# ## In seconds
#
# *deeper: the core path ends above*
#
# ### Exercise `cost_of_a_step`
#
# *{points} · difficulty ●●○ · 10 minutes · deeper*
#
# A model writes for several people at once: in one step each of them gets one new token. What does the step cost?
#
# - **Takes** `n`, the number of parameters, each of them used for every token; `batch`, the number of people; `size`, the bytes of one parameter (2 for 16 bits, 0.5 for 4 bits); and of
#   the machine `flops`, the operations per second, and `bandwidth`, the bytes per second that it can read. `cache` is the bytes of one person's keys and values.
# - **Returns** a dict: `"flops"`, the operations of the step; `"bytes"` to be read; `"seconds"` for the step; and `"even"`, the number of people for which reading and computing take equally long, or
#   `None` if there is no such number.
# - The weights are read once per step, and each person's cache once. Reading and computing go on at the same time, so the slower of the two decides.
# - `"even"` need not be whole. Mixing is not counted, nor is anything else that has to be read or written.
#
# *Stuck? Run `hint("cost_of_a_step")` in a cell of your own.*


# %% exercise="cost_of_a_step"
def cost_of_a_step(n, batch, size, flops, bandwidth, cache=0):
    """What one step of n parameters costs for `batch` people: {"flops", "bytes", "seconds", "even"}."""
    ### BEGIN SOLUTION
    work, load = 2 * n * batch, n * size + batch * cache
    # One more person takes so much longer to compute than to read. At `even` this has made up for the weights.
    gain = 2 * n / flops - cache / bandwidth
    return {
        "flops": work,
        "bytes": load,
        "seconds": max(work / flops, load / bandwidth),
        "even": n * size / bandwidth / gain if gain > 0 else None,
    }
    ### END SOLUTION
    raise NotImplementedError

# %% figure="predict-laptop-speed"
predict("laptop_speed")

# %% code="steps"
machines = {"a laptop": (1e12, 1e11), "an A100": (312e12, 2.0e12)}  # FLOPs and bytes per second: a usual size, and a data sheet
cache = 2 * 32 * 8 * 128 * 2 * 8192  # keys and values of LLaMA-3 8B, in bytes, after 8,192 tokens
try:
    for name, machine in machines.items():
        for size, batch, kept in ((2, 1, 0), (0.5, 1, 0), (2, 64, 0), (2, 64, cache)):
            cost = cost_of_a_step(8e9, batch, size, *machine, kept)
            even = "never" if cost["even"] is None else f"at {cost['even']:.0f}"
            speed = f"{batch / cost['seconds']:8,.0f} tokens per second"
            print(f"{name}, {size} bytes each, {batch:2} at once, cache {kept / 1e9:.1f} GB: {speed}   (even {even})")
except NotImplementedError:
    print("This cell lights up when cost_of_a_step is written.")

# %% [markdown] text="steps-after"
# Compare the last two lines. With a cache of 1 GB for each of 64 people the A100 writes less than a fifth as many tokens. (Weights and caches together are 85 GB, and an A100 has 80. So they would not even fit, which is another reason to share keys.) And its two times never meet: however many people ask, it waits
# for its memory. The laptop computes so slowly that they do meet, at 30 people.

# %% [markdown] text="reading-text"
# ## Your own machine
#
# *deeper: the core path ends above*
#
# How long does it take to read a matrix, and how long to multiply by it? A matrix of 4096 · 4096 numbers meets one token, then more and more at once.

# %% figure="predict-sixteen-tokens"
predict("sixteen_tokens")

# %% code="reading"
torch.set_num_threads(1)
W = torch.randn(4096, 4096)  # 67 MB, more than most processors keep close to them
seconds = {}  # by number of tokens
for tokens in (1, 2, 4, 8, 16, 32, 64, 128, 256):
    x = torch.randn(tokens, W.shape[0])
    seconds[tokens] = timing.best_seconds(f"{tokens} tokens times W", torch.matmul, x, W)  # the shortest of five
    print(f"{tokens:3} tokens: {1000 * seconds[tokens]:7.1f} ms, {1000 * seconds[tokens] / tokens:6.2f} ms per token")

# %% [markdown] text="reading-after"
# These are your machine's numbers. On the course's web page they are those of ours, which had nothing else to do. A step is **memory-bound** while reading takes longer than computing, and
# **compute-bound** after that. Your function is told two numbers: how fast the machine reads, from the time for 1 token, and how fast it computes, from the time for 256.

# %% code="plot-roofline"
n, batches = W.numel(), list(seconds)
bandwidth, flops = 4 * n / seconds[1], 2 * n * 256 / seconds[256]  # a weight has 4 bytes
try:
    told = [cost_of_a_step(n, batch, 4, flops, bandwidth)["seconds"] / batch for batch in batches]
    plt.loglog(batches, [1000 * seconds[batch] / batch for batch in batches], "o", label="measured")
    plt.loglog(batches, [1000 * time for time in told], label="cost_of_a_step")
    plt.title(f"{bandwidth / 1e9:.0f} GB and {flops / 1e9:.0f} billion operations per second")
    plt.xlabel("tokens at once")
    plt.ylabel("milliseconds per token")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This cell lights up when cost_of_a_step is written.")

# %% [markdown] text="steps-text"
# On the slope a token waits for reading, on the flat part for arithmetic. The dots between the two ends most likely lie above the line, because a machine does not do both at its best at the
# same time. Measure again with `W = torch.randn(512, 512)`, which is 1 MB. Where is the corner then?
#
# <details><summary>What it shows</summary>
#
# On the machine that ran this notebook it moves from 8 tokens to between 2 and 3. The matrix now fits into the processor's own memory, which is read at 90 GB a second instead of 25. How
# fast it computes has hardly changed (three runs each).
#
# </details>

# %% [markdown] text="M5-text"
# ## In your own words
#
# *deeper: the core path ends above*
#
# *question M5 · {points}, graded by your instructor · 8 minutes*
#
# all-MiniLM-L6-v2 is to run on a phone. A colleague says: “Two thirds of a Transformer is FFN. So we remove half of the FFN's neurons in every block. Then the file is a third smaller, and the model is a
# third faster.”
#
# 1. By how much does the file get smaller? Count, and say which step of the argument is wrong.
# 2. By how much does the work of the matrices in the blocks get smaller, for a short sentence? Why is this answer different, although it is the same model?
# 3. What would you make smaller if only the size of the file mattered? Name a model of the fifteen for which the colleague's sentence about the file would be nearly right, and say why.
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M5" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) The FFNs have 7,089,408 of 22,713,216 numbers, 31.2 %. Half of their neurons are half of W1, b1 and W2, 3,543,552 numbers, so the file gets **15.6 %** smaller. “Two thirds” is true of a
# block (66.6 %), and the colleague takes it for the whole file, in which the embeddings have 52.5 %. (2) The work of the matrices gets smaller by **a third**: each weight of a block costs two operations for each token, and
# the FFN has two thirds of these weights, of which half go. The embeddings are most of the file and nearly none of the work, because a token reads one row of the table and multiplies nothing. (In long sentences the gain is
# smaller, since mixing stays as it is.) (3) The table of embeddings: fewer tokens, narrower vectors, or fewer bits for each number. The sentence would be nearly right for GPT-3, whose embeddings have 0.4 %, and its
# FFNs 66.4 %; or for LLaMA 7B with 64.2 %.
#
# **Rubric.** One point each:
#
# - (1) 15.6 % (about 16 %, counted from 31 %), and that the two thirds are those of a block, not of the file. Half a point for one of the two.
# - (2) a third, and that embeddings are looked up and not multiplied. Half a point for one of the two.
# - (3) the embeddings, and a model whose embeddings are few and whose FFN has about two thirds of all. Half a point for one of the two.
# <!-- ### END SOLUTION -->
