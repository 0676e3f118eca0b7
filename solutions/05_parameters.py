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
# # 05 · Where the parameters live
#
# `●●●●●○○○○○` step 5 of 10
#
# Two thirds of a Transformer's parameters are in its FFNs: you will read this often. Is it true? Count for yourself.
#
# A small block: `d_model = 8`, `d_ff = 32`. Attention has four matrices, for queries, keys, values and the output, each [8, 8], without biases. The
# FFN is that of notebook 02: `W1` [8, 32], `b1` [32], `W2` [32, 8], `b2` [8]. Run the next three cells, guess, and then make the block larger.

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ffnlab import check, hint, predict, progress, quiz
from ffnlab.course import atlas
from ffnlab.course.experiments import timing
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import parameters as figures
from ffnlab.drawing import controls, style

style.use()

# %% figure="predict-ffn-or-attention"
predict("ffn_or_attention")

# %% figure="by-hand"
controls.show(
    figures.areas,
    d_model=controls.steps("d_model", figures.WIDTHS, 8),
    ratio=controls.steps("d_ff / d_model", figures.RATIOS, 4.0),
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M5, which can wait for another day |
# | **You need** | `02_feed_forward`; what the four matrices of attention do (`01_attention` helps) |
# | **Points** | {points} |
#
# You will count parameters, find out when “two thirds” is true, and break it in four ways. On the way you audit a published number that is wrong,
# and at the end you count what a model does rather than what it holds.
#
# <details><summary>At the end, you will be able to … (open to see what, and what tests it; some of it is <em>deeper</em>)</summary>
#
# | | tested by |
# |---|---|
# | count the parameters of any FFN, gated or not | `count_ffn` |
# | audit a published number | `audit_published` |
# | count attention with shared keys and heads of any width | `count_attention` |
# | derive “two thirds”, and name four ways in which it fails | `layer_share` |
# | count operations, and say when attention overtakes | `flops_per_token` |
# | say what a step costs, in operations, bytes and seconds | `cost_of_a_step` |
# | explain a model that breaks every rule of thumb | question M5 |
#
# </details>

# %% figure="anatomy"
anatomy.block("05")

# %% [markdown] text="by-hand-text"
# ## 1 · Count one block by hand
#
# In the figure above, areas are parameters, at one scale within each picture. (Biases that would be too thin to see are drawn 0.6 pixels thick.)
#
# | | array | parameters |
# |---|---|---|
# | attention | three times [8, 8], for queries, keys and values | 192 |
# | | [8, 8], for the output | 64 |
# | FFN | `W1` [8, 32] | 256 |
# | | `b1` [32] | 32 |
# | | `W2` [32, 8] | 256 |
# | | `b2` [8] | 8 |
#
# The biases are long thin lines, and they matter less the wider the model is: four squares of d² against two rectangles of 4·d², that is 4·d² against
# 8·d².

# %% code="twice" output="fixed"
for name, d in (("by hand", 8), ("Transformer, 2017", 512), ("GPT-3", 12288)):
    f = 4 * d
    attention, ffn = 4 * d * d, d * f + f + f * d + d
    print(f"{name:18} d_model {d:6,}   attention {attention:12,}   FFN {ffn:14,}   {ffn / attention:.4f} times")

# %% [markdown] text="twice-after"
# A lesson says of GPT-3, “Attention per layer: ~604M parameters” and “FFN per layer: ~1.21B parameters”: that is the last line.
#
# Why 4·d_model? Nothing forces it. The paper of 2017 chose 2048 = 4 · 512, but no other part of the block has to match d_ff. Move the second slider of the
# first figure, and only the blue grows. Other models take 2, 3.5, 8 and even 64 times (section 6 lists them all).

# %% [markdown] text="count_ffn-text"
# ### Exercise `count_ffn`
#
# *{points} · difficulty ●○○ · 4 minutes*
#
# Count the parameters of any FFN.
#
# - **Takes** `d` (d_model) and `f` (d_ff), two integers; `bias`, True unless said otherwise; `gated`, False unless said otherwise.
# - **Plain:** `W1` [d, f] and `W2` [f, d].
# - **Gated:** a third matrix. Two of them, gate and up, are [d, f]; the third, down, is [f, d]. Notebook 07 shows what they do.
# - **With biases**, each matrix has one, as long as what the matrix puts out.
# - **Returns** a Python int.
#
# Stuck? Run `hint("count_ffn")` in a cell of your own.


# %% exercise="count_ffn"
def count_ffn(d, f, bias=True, gated=False):
    """How many parameters an FFN has, an int."""
    ### BEGIN SOLUTION
    into = 2 if gated else 1  # matrices that lead into the hidden layer
    weights = (into + 1) * d * f
    biases = into * f + d
    return weights + biases if bias else weights
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="audit-text"
# ## 2 · Audit a published number
#
# *deeper: the core path goes on with section 3*
#
# A published tutorial tests its FFN, with biases, d_model = 512 and d_ff = 2048, and shows what its code printed. Later it adds attention and prints
# the shares of both. Here is all of it in one table:
#
# | what | printed |
# |---|---|
# | FFN, “Parameter count” | 4,197,376 |
# | attention, four matrices without biases | 1,048,576 (20.0 %) |
# | FFN again, its share | 80.0 % |
# | both together | 5,245,952 |
#
# Just above the code for the shares the same page says: attention about one third, FFN about two thirds. Both can't be right.

# %% figure="predict-sentence-or-numbers"
predict("sentence_or_numbers")

# %% [markdown] text="audit_published-text"
# ### Exercise `audit_published`
#
# *{points} · difficulty ●○○ · 4 minutes · deeper: you can come back to it later*
#
# Write the audit as a function, so that it works for any page of this kind: an FFN with biases, and attention without.
#
# - **Takes** three integers: `d` (d_model), `f` (d_ff), and `printed`, what the page printed for the FFN.
# - **Returns** a dict: `"correct"`, the FFN's right count, an int; `"off_by"`, how much too much was printed, an int: `printed` minus what is right, so 0
#   for a page that is right; `"attention_share"` and `"ffn_share"`, floats from 0 to 1.
# - The shares are of attention, four matrices [d, d] without biases, and the **correct** FFN together. Nothing is rounded; they are compared to nine
#   digits.
# - More keys do no harm.
#
# Stuck? Run `hint("audit_published")` in a cell of your own.


# %% exercise="audit_published"
def audit_published(d, f, printed):
    """What is right, and how far a page is off: {"correct": int, "off_by": int, "attention_share": float, "ffn_share": float}."""
    ### BEGIN SOLUTION
    attention = 4 * d * d
    correct = 2 * d * f + f + d
    return {
        "correct": correct,
        "off_by": printed - correct,
        "attention_share": attention / (attention + correct),
        "ffn_share": correct / (attention + correct),
    }
    ### END SOLUTION
    raise NotImplementedError

# %% code="audit-page" output="fixed"
try:
    for what, value in audit_published(512, 2048, 4_197_376).items():
        print(f"{what:16} {value:,}" if isinstance(value, int) else f"{what:16} {value:.1%}")
except NotImplementedError:
    print("This cell lights up when audit_published is written.")

# %% [markdown] text="heads-text"
# The sentence was right, the numbers wrong: run the page's own code, and it prints what you have found. Every number that followed from the first one, the
# shares and the total, was wrong with it.
#
# ## 3 · Attention in all its forms
#
# Attention shares its d_model numbers out among heads. Does it matter among how many?

# %% figure="predict-more-heads"
predict("more_heads")

# %% code="heads" output="fixed"
for n_heads in (1, 2, 4, 8, 16):
    attention = nn.MultiheadAttention(512, n_heads, bias=False)
    print(f"{n_heads:2} heads: {sum(p.numel() for p in attention.parameters()):,}")

# %% [markdown] text="attention-text"
# Two inventions made the number of heads matter after all.
#
# - **Shared keys and values.** While a model writes, it keeps the keys and values of all tokens so far. To keep fewer, several query heads share one
#   head of keys and values: **grouped-query attention**; if all share one, **multi-query attention**. `n_kv` counts the heads of keys and values.
# - **Heads of a width of their own.** `head_dim` need not be d_model / n_heads. Then queries are n_heads · head_dim wide, more or less than d_model,
#   and the output matrix leads from there back to d_model.

# %% figure="predict-llama-70b"
predict("llama_70b")

# %% code="forms" output="fixed"
for name in ("GPT-3 175B", "LLaMA-1/2 7B", "LLaMA-2 70B", "LLaMA-3 8B", "Gemma-1 2B", "Qwen3-0.6B"):
    m = atlas.find(name)
    attention, usual = atlas.attention_per_layer(m), 4 * m.d_model**2
    width, shared = m.head_dim or m.d_model // m.n_heads, m.n_kv or m.n_heads
    print(
        f"{name:13} d_model {m.d_model:6,}, {m.n_heads:2} heads of {width:3}, {shared:2} for k and v: "
        f"{attention:11,} = {attention / usual:.4f} · 4 d²"
    )

# %% [markdown] text="forms-after"
# (GPT-3 has 49,152 more here than in section 1. Its paper says that it is built like GPT-2, so the atlas of section 6 gives its attention
# biases: four times 12,288.)

# %% [markdown] text="count_attention-text"
# ### Exercise `count_attention`
#
# *{points} · difficulty ●●○ · 6 minutes*
#
# Count the parameters of one attention, whatever its form.
#
# - **Takes** `d` (d_model) and `n_heads`; `n_kv`, the heads of keys and values: as many as `n_heads` if it is None; `head_dim`: `d // n_heads` if it is
#   None; `bias`, False unless said otherwise.
# - **Four matrices:** queries [d, n_heads · head_dim], keys and values [d, n_kv · head_dim] each, output [n_heads · head_dim, d].
# - **With `bias=True`** all four have one, as long as what the matrix puts out.
# - **Returns** a Python int. No norms are counted.
#
# Stuck? Run `hint("count_attention")` in a cell of your own.


# %% exercise="count_attention"
def count_attention(d, n_heads, n_kv=None, head_dim=None, bias=False):
    """How many parameters one attention has, an int."""
    ### BEGIN SOLUTION
    if n_kv is None:
        n_kv = n_heads
    if head_dim is None:
        head_dim = d // n_heads
    queries, keys = n_heads * head_dim, n_kv * head_dim  # what the matrices put out
    weights = d * queries + 2 * d * keys + queries * d
    biases = queries + 2 * keys + d
    return weights + biases if bias else weights
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="decoder-text"
# ## 4 · Two thirds of what?
#
# The FFN comes after the attention (but for the parallel wiring of notebook 04), and after the **last** attention, if there are two. The Transformer of 2017
# translates: its encoder
# reads one sentence, its decoder writes another. A decoder block looks at its own words first, and then, with a second attention, at what the encoder made.
# (GPT is called “decoder-only” because it has no encoder. It has no second attention either, so its blocks count like encoder blocks.)

# %% figure="predict-decoder-share"
predict("decoder_share")


# %% code="decoder" output="fixed"
def count(module):
    return sum(p.numel() for p in module.parameters())


for layer in (nn.TransformerEncoderLayer(512, 8, 2048), nn.TransformerDecoderLayer(512, 8, 2048)):
    parts = {name: count(part) for name, part in layer.named_children() if count(part)}
    ffn = parts["linear1"] + parts["linear2"]
    attention = parts["self_attn"] + parts.get("multihead_attn", 0)
    share = ffn / (ffn + attention)
    print(f"{type(layer).__name__}: attention {attention:,}, FFN {ffn:,}, share of the FFN {share:.1%}")

# %% [markdown] text="layer_share-text"
# ### Exercise `layer_share`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# Compute the FFN's share of one block.
#
# - **Takes** `cfg`, a dict with the keys `"d_model"`, `"d_ff"` and `"n_heads"`. It may also have `"n_kv"`, `"head_dim"`, `"bias"` and `"gated"`. A
#   missing `n_kv` or `head_dim`, or one that is None, takes the default of `count_attention`; a missing `bias` or `gated` means False. `bias` is for
#   attention and FFN alike.
# - **Takes** `block`, `"encoder"` (one attention) or `"decoder"` (two attentions of the same size).
# - **Returns** FFN / (FFN + attention), a Python float from 0 to 1. Norms don't count. `cfg` stays as it is.
# - You may call your `count_ffn` and `count_attention`. Mind that `count_ffn` has biases by default.
#
# Stuck? Run `hint("layer_share")` in a cell of your own.


# %% exercise="layer_share"
def layer_share(cfg, block="encoder"):
    """The FFN's share of the parameters of one block, a float from 0 to 1."""
    ### BEGIN SOLUTION
    d, f, n_heads = cfg["d_model"], cfg["d_ff"], cfg["n_heads"]
    n_kv, head_dim = cfg.get("n_kv") or n_heads, cfg.get("head_dim") or d // n_heads
    bias, gated = int(cfg.get("bias", False)), cfg.get("gated", False)
    into = 2 if gated else 1
    ffn = into * f * (d + bias) + d * (f + bias)
    queries, keys = n_heads * head_dim, n_kv * head_dim
    attention = (queries + 2 * keys) * (d + bias) + d * (queries + bias)
    if block == "decoder":
        attention *= 2
    return ffn / (ffn + attention)
    ### END SOLUTION
    raise NotImplementedError

# %% code="plot-shares"
designs = {"plain": {}, "gated": {"gated": True}}
ratios = [n / 4 for n in range(2, 41)]  # d_ff / d_model
try:
    for name, more in designs.items():
        for block in ("encoder", "decoder"):
            shares = [layer_share({"d_model": 1024, "d_ff": int(1024 * r), "n_heads": 16, **more}, block) for r in ratios]
            plt.plot(ratios, shares, label=f"{name}, {block}")
    plt.plot(ratios, [2 / 3 for r in ratios], label="two thirds")
    plt.title("Your layer_share: how much of a block is FFN")
    plt.xlabel("d_ff / d_model")
    plt.ylabel("share of the FFN")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This cell lights up when layer_share is written.")

# %% [markdown] text="explore-text"
# Where does each curve cross two thirds? Add a design to the first line, `"shared": {"n_kv": 2}`, and another with a `head_dim` of 128. Say first on which
# side of “plain” it will lie. “Two thirds” is 8·d² of 12·d², and you have met three ways in which it fails: another d_ff or a gate, another attention, a
# second attention. The fourth is in section 5: the embeddings.
#
# ## 5 · A whole model
#
# *deeper: the core path goes on with section 7*
#
# Around the blocks are the **embeddings**, one vector of d_model numbers for every token of the vocabulary. Now build models yourself. The figure
# leaves out biases and norms, and counts the embeddings once, for input and output together.
#
# Then try:
#
# 1. You halve the query heads. What changes? And when keys and values have fewer heads than the queries?
# 2. You tick “gated”. At which d_ff / d_model is the FFN as large as a plain one at 4?
# 3. What raises the FFN's share of all parameters most: more layers, a smaller vocabulary, a larger d_model? (GPT-2 small has 12 heads where the figure has 8,
#    which changes no count here.)
# 4. Find a model in which the FFN has less than a third of a layer, and one in which it has more than 90 %.

# %% figure="predict-gpt2-share"
predict("gpt2_share")

# %% figure="explore"
controls.show(
    figures.explore,
    d_model=controls.steps("d_model", figures.MODEL_WIDTHS, 768),
    ratio=controls.steps("d_ff / d_model", figures.RATIOS, 4.0),
    heads=controls.steps("query heads", figures.HEADS, 8),
    kv=controls.steps("heads for k, v", figures.HEADS, 8),
    layers=controls.steps("layers", figures.LAYERS, 12),
    vocab=controls.steps("vocabulary", figures.VOCABULARIES, 50257),
    gated=controls.toggle("gated"),
    decoder=controls.toggle("two attentions (decoder block)"),
)

# %% [markdown] text="explore-after"
# **What there is to find.** (1) Nothing changes: the number of heads alone does not count, sharing does. (That is why **more** query heads change the
# figure: keys and values stay at 8, and so are shared.) (2) At 8/3, because 3 · 8/3 = 2 · 4. (3) A smaller vocabulary, as far as the sliders go. (4)
# Less than a third: two attentions and d_ff = d_model. More than 90 %: a gate, d_ff = 8·d_model, and many query heads that share one head of keys and values.
#
# “Two thirds” is 8·d² of 12·d². It needs d_ff = 4·d_model without a gate (or 8/3 with one), as many key heads as query heads, heads that are d_model /
# n_heads wide, one attention per block, and a reader who forgets the embeddings. So it fails in **four ways**:
#
# | what is different | which way the FFN's share goes | for example |
# |---|---|---|
# | d_ff is not 4·d_model, or a gate adds a third matrix | up or down | PaLM: gated at 4, 12·d² |
# | attention is not 4·d²: shared keys, or heads of another width | up, or down | LLaMA-2 70B up, Qwen3-0.6B down |
# | a second attention in the block | down, to a half | the decoder of 2017 |
# | the embeddings are counted | down, most in small models | GPT-2 small |
#
# A fifth is the subject of notebooks 08 and 09: the FFN exists many times over, as **experts**, of which a token uses a few.

# %% [markdown] text="atlas-text"
# ## 6 · The atlas
#
# *deeper: the core path goes on with section 7*
#
# `ffnlab.course.atlas` holds the configurations of 49 published models, and what formulas like yours count in them. No total was copied from anywhere: all
# were computed. For thirteen models whose checkpoints have been counted, from BERT to Mixtral, they agree to the last parameter.
#
# The figure shows fifteen of the 49; the last three are mixtures of experts. Press a model for its counts.

# %% figure="predict-smallest-share"
predict("smallest_share")

# %% figure="atlas"
controls.show(figures.models, model=controls.steps("model", figures.SHOWN, "GPT-2 small"))

# %% [markdown] text="atlas-after"
# How many of DeepSeek-V3's parameters a token uses is itself a matter of counting. Its paper says 37 billion; we count 38, or 36.6 without the table
# of input embeddings, of which a token reads one row. Its attention squeezes keys and values through 512 numbers; your formula does not cover that, the
# atlas does.
#
# Do **your** functions count like the atlas? The next cell asks them about every model without experts (but for two, with biases that your
# `count_attention` does not know).

# %% code="atlas-yours" output="fixed"
simple = [m for m in atlas.MODELS + atlas.ENCODER_DECODERS if m.experts is None and m.attention_bias != "qkv"]
try:
    ffns = [count_ffn(m.d_model, m.d_ff, bias=m.ffn_bias, gated=m.gated) for m in simple]
    attentions = [
        count_attention(m.d_model, m.n_heads, m.n_kv, m.head_dim, bias=m.attention_bias == "all") for m in simple
    ]
    same = sum(ffn == atlas.ffn_per_layer(m) for ffn, m in zip(ffns, simple, strict=True))
    same_attention = sum(count == atlas.attention_per_layer(m) for count, m in zip(attentions, simple, strict=True))
    print(
        f"of {len(simple)} models, your functions agree on the FFN of {same} and on the attention of {same_attention}"
    )
except NotImplementedError:
    print("This cell lights up when count_ffn and count_attention are written.")

# %% [markdown] text="mixtral-text"
# “8x7B” suggests 8 · 7 = 56 billion. The cell takes Mixtral apart.

# %% code="mixtral" output="fixed"
m = atlas.find("Mixtral-8x7B")
all_of_it, used = atlas.parts(m), atlas.parts(m, active=True)
for part in ("attention", "ffn", "norms", "embeddings"):
    print(f"{part:10} {getattr(all_of_it, part):14,}   one token uses {getattr(used, part):14,}")
print(f"{'all':10} {atlas.total(m):14,}   one token uses {atlas.active(m):14,}")

# %% [markdown] text="mixtral-after"
# Only the FFN is there eight times: 46.7 billion in all, not 56.
#
# One more rule of thumb falls with the whole atlas: how wide, in units of d_model, is the FFN that **one token passes through**? (In a mixture of experts:
# all experts at work together.)

# %% code="ratios" output="fixed"
rows = {}
for m in atlas.MODELS + atlas.ENCODER_DECODERS:
    width = m.d_ff * (m.experts.k + m.experts.shared) if m.experts else m.d_ff
    rows.setdefault(round(width / m.d_model, 2), []).append(m.name)
for ratio, names in sorted(rows.items()):
    print(f"{ratio:5.2f} · d_model: {', '.join(names)}")

# %% [markdown] text="ratios-after"
# Four is a habit, not a law. Look for the models at 16 and 64: question M5 is about one of them.

# %% [markdown] text="flops-text"
# ## 7 · What it costs to run
#
# Parameters say what a model holds. What it **does** is counted in floating-point operations, **FLOPs**. A weight is multiplied by a number, and the
# product added to a sum: two operations. PyTorch can count them while it works. Below, three parts of a block work on T tokens, and their FLOPs are
# divided by T:
#
# - the **FFN**;
# - attention's **projections**: its four matrices, which hold its parameters;
# - attention's **mixing**, which has no parameters: queries meet keys, which gives the scores, and values are added up with the attention weights (in the code
#   `A`, [T, T]).

# %% figure="predict-grows-with-length"
predict("grows_with_length")

# %% code="measure" output="fixed"
d, f = 64, 256
W1, W2 = torch.zeros(d, f), torch.zeros(f, d)
four = [torch.zeros(d, d) for _ in range(4)]  # queries, keys, values, output
work = {
    "FFN": lambda x, A: torch.relu(x @ W1) @ W2,
    "projections": lambda x, A: [x @ W for W in four],
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
# So there is a length at which attention overtakes the FFN.

# %% figure="predict-gpt3-crossing"
predict("gpt3_crossing")

# %% figure="flops"
controls.show(
    figures.flops,
    model=controls.choice("model", figures.DENSE, "GPT-3 175B"),
    T=controls.steps("T", [(f"{T:,}", T) for T in figures.LENGTHS], 2048),
)

# %% [markdown] text="flops-after"
# With d_ff = 4·d_model, with a plain FFN and no shared keys, three things happen at round numbers:
#
# - at T = 2·d_model, mixing costs as much as attention's four projections;
# - at T = 2·d_model, attention as a whole costs as much as the FFN;
# - at T = 4·d_model, mixing alone costs as much as the FFN.
#
# Shared keys move the crossing to the right, by less than d_model: they make the projections smaller, while every query still meets T keys. A wider
# FFN moves it further: look at Gemma-1 2B. (All this counts every position. A causal model looks back only, on average over a text at half of them,
# and in GPT-3 every second layer looks at a part of these.)

# %% [markdown] text="flops_per_token-text"
# ### Exercise `flops_per_token`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# Count the operations of one token in one layer, forward.
#
# - **Takes** `d` (d_model), `f` (d_ff), `T`, the number of positions that the token looks at, itself included; `gated`, False unless said otherwise.
# - **Returns** a dict of three ints: `"ffn"`, its matrices, two or three; `"proj"`, attention's four matrices [d, d]; `"mix"`, the scores against T
#   keys of d numbers and the weighted sum of T values of d numbers.
# - A multiplication and the addition that follows count as **two**. A sum of n products counts n additions.
# - Biases, softmax and activation are not counted.
#
# Stuck? Run `hint("flops_per_token")` in a cell of your own.


# %% exercise="flops_per_token"
def flops_per_token(d, f, T, gated=False):
    """Forward FLOPs of one token in one layer: {"ffn": int, "proj": int, "mix": int}."""
    ### BEGIN SOLUTION
    matrices = 3 if gated else 2
    return {"ffn": 2 * matrices * d * f, "proj": 2 * 4 * d * d, "mix": 2 * T * d + 2 * T * d}
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="bytes-text"
# **The rule everybody uses.** With two operations per weight and token, a model of N parameters needs about 2·N FLOPs to look at one token. Training costs three
# times as much: on the way back each weight is used twice more, once for its own gradient and once for the gradient of what came in (`ffn_backward` in notebook 02 has
# both products). That is **6·N FLOPs per token**, or 6·N·D for D tokens. For GPT-3, 6 · 174.6 billion · 300 billion is 3.14·10²³; its paper (arXiv 2005.14165, table D.1)
# gives the same number.
#
# ### Operations are half of the story
#
# *deeper: the core path goes on with the quiz*
#
# A weight also has to be **brought** to the place where it is multiplied. While a model writes, each step makes one new token, and all its weights must be read for
# it.

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
# These are your machine's numbers. On the course's web page they are those of ours, which had nothing else to do.
#
# A step is **memory-bound** while reading takes longer than computing, and **compute-bound** after that: from there on twice the tokens take twice the time.
# (From one token to two the time may double as well. That is another matter: a matrix times one vector most likely has a routine of its own, which reads
# faster.)

# %% [markdown] text="cost_of_a_step-text"
# ### Exercise `cost_of_a_step`
#
# *{points} · difficulty ●●○ · 8 minutes · deeper: you can come back to it later*
#
# A model writes for several people at once: in one step each of them gets one new token. What does the step cost?
#
# - **Takes** `n`, the number of parameters, each of them used for every token; `batch`, the number of people; `size`, the bytes of one parameter (2 for 16 bits, 0.5 for
#   4 bits); and of the machine `flops`, the operations per second, and `bandwidth`, the bytes per second that it can read.
# - **Returns** a dict of five numbers: `"flops"`, the operations of the step; `"training"`, the operations if the model were also trained on these tokens, forward and
#   back; `"bytes"` to be read; `"seconds"` for the step (not for training); `"even"`, the `batch` for which reading and computing take equally long.
# - All parameters are read once per step, whatever the batch. Reading and computing go on at the same time, so the slower of the two decides.
# - Numbers may be ints or floats; `"even"` need not be whole. Attention's mixing, its cache, and whatever else has to be read or written are not counted.
#
# Stuck? Run `hint("cost_of_a_step")` in a cell of your own.

# %% exercise="cost_of_a_step"
def cost_of_a_step(n, batch, size, flops, bandwidth):
    """What one step of n parameters costs for `batch` tokens: {"flops", "training", "bytes", "seconds", "even"}."""
    ### BEGIN SOLUTION
    computing, reading = 2 * n * batch / flops, n * size / bandwidth  # seconds
    return {
        "flops": 2 * n * batch,
        "training": 6 * n * batch,
        "bytes": n * size,
        "seconds": max(computing, reading),
        "even": batch * reading / computing,
    }
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="roofline-text"
# Your machine, measured above, and your function beside it. It is told two numbers: how fast the machine reads (all of the time for 1 token) and how fast it
# computes (all of the time for 256).

# %% code="plot-roofline"
n, batches = W.numel(), list(seconds)
bandwidth, flops = 4 * n / seconds[1], 2 * n * 256 / seconds[256]  # a weight has 4 bytes
try:
    told = [cost_of_a_step(n, batch, 4, flops, bandwidth)["seconds"] / batch for batch in batches]
    plt.loglog(batches, [1000 * seconds[batch] / batch for batch in batches], "o", label="measured")
    plt.loglog(batches, [1000 * one for one in told], label="cost_of_a_step")
    plt.title(f"{bandwidth / 1e9:.0f} GB and {flops / 1e9:.0f} billion operations per second")
    plt.xlabel("tokens at once")
    plt.ylabel("milliseconds per token")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This cell lights up when cost_of_a_step is written.")

# %% [markdown] text="steps-text"
# On the slope a token waits for reading, on the flat part for arithmetic. The dots between the two ends most likely lie above the line, and two to three times
# as high near the bend: a machine does not do both at its best at the same time. Measure again with `W = torch.randn(512, 512)`, 1 MB: where is the bend then?
#
# <details><summary>What it shows</summary>
#
# On the machine that ran this notebook it moves from 8 tokens to between 2 and 3. The matrix now fits into the processor's own memory, which is read at 90 GB a second
# instead of 25; how fast it computes has hardly changed (three runs each).
#
# </details>
#
# Now run a present-day model on two machines. What limits it there?

# %% figure="predict-laptop-speed"
predict("laptop_speed")

# %% code="steps"
machines = {"a laptop": (1e12, 1e11), "an A100": (312e12, 2.0e12)}  # FLOPs and bytes per second: a usual size, and a data sheet
try:
    for name, machine in machines.items():
        for size, batch in ((2, 1), (0.5, 1), (2, 64), (2, 1024)):
            cost = cost_of_a_step(8e9, batch, size, *machine)
            speed = f"{batch / cost['seconds']:9,.0f} tokens per second"
            print(f"{name}, {size} bytes each, {batch:4} at once: {speed}   (even at {cost['even']:.0f})")
except NotImplementedError:
    print("This cell lights up when cost_of_a_step is written.")

# %% [markdown] text="steps-after"
# That is why models are stored in 4 bits, and why a model that reads only some of its weights for each token (notebook 08) writes faster.

# %% [markdown] text="spot-four"
# ## 8 · Spot the error
#
# *deeper: the core path goes on with the quiz*
#
# Three statements, two from published pages and one of our own making. For each: find the error, then run the cell.
#
# **A.** Most of a Transformer's parameters are in the FFNs, “typically four times as many as in attention”, says an explainer. Its own example has
# d_ff = 2·d_model.

# %% code="spot-four-cell" output="fixed"
for ratio in (2, 4, 8):
    print(f"d_ff = {ratio} · d_model: FFN / attention = {2 * ratio} d² / 4 d² = {2 * ratio / 4:g}")

# %% [markdown] text="spot-holds"
# Twice as many, at d_ff = 4·d_model. The four is the ratio of the widths, not of the parameters. In the explainer's own example FFN and attention are
# equally large. For four times as many it would take d_ff = 8·d_model.
#
# **B.** A lesson counts as in section 1, 552 to 256, which is more than twice, and goes on: “This ratio holds at scale”, with GPT-3 as its example. There it
# does. And in other models?

# %% code="spot-holds-cell" output="fixed"
for name in ("GPT-3 175B", "Qwen3-0.6B", "LLaMA-3 8B", "Gemma-1 2B", "T5 v1.0 base"):
    m = atlas.find(name)
    ffn, attention = atlas.ffn_in_all_layers(m), atlas.attention_in_all_layers(m)
    print(f"{name:12} FFN / attention = {ffn / attention:5.2f}")

# %% [markdown] text="spot-rule"
# The 2.16 of the small block is 2.00 in GPT-3, where biases no longer matter. And the 2 is a property of one design, not of scale: it is 1.5 in one model and
# above 10 in another. T5,
# an encoder-decoder, has 1.33 over both halves.
#
# **C.** Our own: LLaMA-1/2 7B has d_ff = 2.69 · d_model. So its FFN is a third smaller than a plain one with d_ff = 4 · d_model.

# %% code="spot-rule-cell" output="fixed"
d = 4096
plain = 2 * d * (4 * d)
for name, f in (("4 d", 4 * d), ("8/3 d", round(8 * d / 3)), ("LLaMA-1/2 7B", 11008), ("LLaMA-3 8B", 14336)):
    print(f"gated, d_ff = {name:12} = {f:6,}: {3 * d * f / plain:.3f} of the parameters of a plain FFN at 4 d")

# %% [markdown] text="quiz_count-text"
# LLaMA's FFN has a third matrix, and three at 8/3 are as large as two at 4; LLaMA 7B rounds its width up to a multiple of 256, and so is a little larger.
# Gated at 4·d, the third matrix makes it 1.5 times as large. LLaMA-3 8B goes beyond 8/3. A ratio of widths says little unless one says how many matrices there are.
#
# ## 9 · Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_count`
#
# The log of a training run says of a plain FFN with d_model = 256 and d_ff = 1024 that it has 525,568 parameters. Which biases does it have?
#
# - **A.** None.
# - **B.** Both, b1 and b2.
# - **C.** b1 alone.

# %% quiz="quiz_count"
quiz_count = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_count = "B"
### END SOLUTION

# %% [markdown] text="quiz_decoder-text"
# ### Question `quiz_decoder`
#
# A decoder block of an encoder-decoder has d_ff = 4·d_model with a gate, and full attention. Norms and biases aside, what is the FFN's share of the block?
#
# - **A.** 3/5
# - **B.** 3/4
# - **C.** 1/2

# %% quiz="quiz_decoder"
quiz_decoder = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_decoder = "A"
### END SOLUTION

# %% [markdown] text="quiz_mixtral-text"
# ### Question `quiz_mixtral`
#
# *deeper: section 6 has such a model*
#
# A dense model has 10 billion parameters, 6 billion of them in its FFNs. You put 4 experts in place of each FFN, each as large as the FFN was; 2 of them
# work for each token. How many parameters does the model have then in all? (The *router*, which chooses the two, is small. Leave it out.)
#
# - **A.** 40 billion
# - **B.** 16 billion
# - **C.** 28 billion

# %% quiz="quiz_mixtral"
quiz_mixtral = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_mixtral = "C"
### END SOLUTION

# %% [markdown] text="M5-text"
# ## 10 · In your own words
#
# *deeper: the core path goes on with `06_memory`*
#
# *question M5 · {points}, graded by your instructor · 7 minutes*
#
# T5-11B has d_model = 1024 and d_ff = 65,536: its FFN is 64 times as wide as the model, sixteen times what the rule of thumb says. Its FFN is plain,
# and none of its matrices has a bias. And yet, in an encoder layer, FFN and attention are at 2 : 1, as in GPT-3.
#
# 1. How is that possible? Say what must be unusual about its attention, and give the number. (Run `atlas.find("T5 v1.0 11B")` in a cell of your own.)
# 2. Check your explanation with one line of arithmetic, for the encoder layer, and say what the ratio is in a decoder layer.
# 3. So d_ff = 4·d_model and 2 : 1 are two things. Name one more model of the atlas that has one of them without the other, in another way than T5, and
#    say why.
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M5" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) Its attention is as oversized as its FFN: 128 heads of 128 numbers make an inner width of 128 · 128 = **16,384 = 16 · d_model**,
# where usually n_heads · head_dim = d_model. All four matrices are sixteen times as large as usual, and so are the FFN's two. (2) Attention: 4 · d · 16 d
# = 64 d² = 67,108,864. FFN: 2 · d · 64 d = 128 d² = 134,217,728. That is **2 : 1**. A decoder layer has two attentions: 128 d² to 128 d², **1 : 1**. (3)
# For example: PaLM-540B has d_ff = 4·d_model, but it is gated (12 d²) and all heads share one of keys and values, so the FFN has 90 % of both. Or Gemma-2
# 2B, gated at 4. Or a decoder block of the 2017 Transformer: 4·d_model, but 1 : 1. Or LLaMA-1/2 7B: 2 : 1 at 2.69·d_model, because three matrices at 8/3
# are as large as two at 4. The ratio of two counts hides both widths; neither number is a law.
#
# **Rubric.** One point each:
#
# - (1) the heads together are 16 · d_model wide (16,384). Half a point for “attention is wider too” without the number, or for head_dim alone.
# - (2) the arithmetic for the encoder layer and 1 : 1 for the decoder layer. Half a point for one of the two.
# - (3) a model that fits, with the right reason (gate, shared keys, second attention). Half a point for the model without the reason.
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## You can now …
#
# - count the parameters of any FFN, gated or not, with and without biases: `count_ffn`;
# - audit a published number, and what was derived from it: `audit_published`;
# - count attention with shared keys and heads of any width: `count_attention`;
# - derive “two thirds”, and name four ways in which it fails: `layer_share`;
# - count operations, and say at which length attention overtakes: `flops_per_token`;
# - say what a step costs, in operations, bytes and seconds, and which of these one waits for: `cost_of_a_step`;
# - explain a model that breaks every rule of thumb: M5.
#
# ## Going further
#
# - Shazeer 2019, *Fast Transformer Decoding: One Write-Head is All You Need* (arXiv 1911.02150), and Ainslie et al. 2023, *GQA* (arXiv 2305.13245): why
#   keys and values are shared.
# - Raffel et al. 2020, *Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer* (arXiv 1910.10683): T5, up to the 11B of M5.
# - Kaplan et al. 2020, *Scaling Laws for Neural Language Models* (arXiv 2001.08361): Table 1 counts parameters and operations. Compare its mixing, 2 · T ·
#   d_model per layer, with yours.
#
# Next: `06_memory`, on what these parameters hold.

# %% figure="progress"
progress()
