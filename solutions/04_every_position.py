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
# # 04 · One network, every position
#
# `●●●●○○○○○○` step 4 of 10
#
# The little world of notebook 00: 15 words pass through attention, and then through the FFN. Now one word is replaced by another, and the model runs
# again. At which positions does the FFN get other numbers? And at which does it give other numbers?
#
# Run the next three cells, and guess. Then press a word, and choose another.

# %% setup="imports"
import time

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, predict, progress, quiz
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import every_position as figures
from ffnlab.drawing import controls, style

style.use()


class FFN(nn.Module):
    """The FFN of notebook 02: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.activation = torch.relu

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


# %% figure="predict-edited-word"
predict("edited_word")

# %% figure="edit"
controls.show(
    figures.edit,
    place=controls.free("the word to edit", figures.WORDS, 1),
    word=controls.free("what it becomes", range(4), 0),
    only=controls.free("the only position that is told", figures.PLACES, figures.EVERYWHERE),
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | 45 minutes on the core path; 45 more for what is marked *deeper* and for question M4, which can wait for another day |
# | **You need** | `02_feed_forward`; `01_attention` helps |
# | **Points** | 21 for code, 3 for the quiz, 3 for an answer in your own words |
#
# Attention lets tokens exchange what they know. After it, the FFN works on every token **alone**, and on every token **in the same way**: it is
# *position-wise*. You will edit one word and watch who notices, write the FFN in three ways that look different and are the same, test whether any layer
# is position-wise, and put a residual connection and a norm around it.
#
# <details><summary>At the end, you will be able to … (open to see what, and what tests it; some of it is <em>deeper</em>)</summary>
#
# | | tested by |
# |---|---|
# | apply an FFN token by token, and say why one call does the same | `ffn_loop` |
# | run an FFN in chunks of tokens, and say why it needs no cache | `ffn_chunked` |
# | test whether a layer is position-wise, without looking inside | `is_position_wise` |
# | write an FFN as two convolutions with kernel size 1 | `ffn_as_conv1d` |
# | place residual and norm, before and after | `residual_sublayer` |
# | bound and measure the rank of a bottleneck | `bottleneck_rank` |
# | say why the FFN is position-wise, and what would be lost otherwise | question M4 |
#
# </details>

# %% figure="anatomy"
anatomy.block("04")

# %% [markdown] text="edit-text"
# ## 1 · Edit one word
#
# Attention passes the new word on, to its own position and to each one after it (this one looks back only), and fainter and fainter: it is one word among more
# and more. Then every
# position asks the FFN, and asks it alone. To see that, press a row: only this position gets its new numbers, the others keep their old ones. One input
# changes, and no output but its own: press “jump”. Press another row, and often no output changes at all: no neuron fires there, before or after.
#
# Instead of an edited sentence, let us now pass on only a piece of one.

# %% figure="predict-piece-of-sentence"
predict("piece_of_sentence")

# %% [markdown] text="local-text"
# People say that attention is where tokens *communicate* and the FFN where each *thinks*. A fine picture, if it means this: attention is the only
# part of a Transformer's block that moves anything from one position to another. What the FFN does is **local**. The cell gives an FFN and an attention a
# piece of the sentence. This attention is bare (queries, keys and values are x itself), and it mixes all the same.

# %% code="local" output="fixed"
x = torch.randn(14, 8, generator=torch.Generator().manual_seed(0))
torch.manual_seed(0)
ffn = FFN(8, 32)


def attention(x):
    return torch.softmax(x @ x.transpose(-1, -2) / x.shape[-1] ** 0.5, dim=-1) @ x


for name, layer in (("FFN", ffn), ("attention", attention)):
    same = torch.allclose(layer(x[3:6]), layer(x)[3:6], atol=1e-6)
    print(f"{name}: tokens 3 to 5 alone give what they give in the whole sentence: {same}")

# %% [markdown] text="jacobian-text"
# ## 2 · Every pair at once
#
# *deeper: the core path goes on with section 3*
#
# Editing words one after the other takes many runs. The **Jacobian** asks about all of them in one picture. It holds the derivative of every output number
# by every input number. With 4 tokens of 4 numbers each there are 16 × 16 derivatives, in 4 × 4 blocks. The block in row t and column s says how token t's
# output reacts to token s. Press a block to read it.
#
# The figure knows four layers, with random weights: an FFN; attention; causal attention, which looks back only; and a convolution with kernel size 3,
# which looks at a token and its two neighbours.

# %% figure="predict-jacobian-blocks"
predict("jacobian_blocks")

# %% figure="jacobian"
controls.show(
    figures.jacobian,
    layer=controls.choice("layer", figures.LAYERS, "FFN"),
    length=controls.slider("tokens", 2, figures.LONGEST, 1, 4),
    block=controls.free("a block", figures.BLOCKS, figures.NO_BLOCK),
)

# %% [markdown] text="jacobian-after"
# A matrix with blocks on its diagonal alone, as the FFN has, is called **block-diagonal**. No token waits for another, so all can be computed at the
# same time.
#
# The blocks on the diagonal differ, although every token meets the same weights: a token's own numbers decide which neurons fire, and so the derivative.
# Equal tokens have equal blocks, and equal outputs. Given nothing but the words' own vectors, the FFN could as well be a table with one row for each
# word. (In a real model attention has mixed something in before, and often each vector also holds its position.) The cell counts how many different rows
# come out for the 14 tokens of a sentence.

# %% figure="predict-different-rows"
predict("different_rows")

# %% code="lookup" output="fixed"
words = [word.lower() for word in figures.TOKENS]
vectors = {word: torch.randn(8, generator=torch.Generator().manual_seed(i)) for i, word in enumerate(words)}
sentence = torch.stack([vectors[word] for word in words])  # [14, 8]
print("different words:", len(set(words)))
print("different rows out of the FFN:", len(ffn(sentence).round(decimals=4).unique(dim=0)))
print("rows 0 and 5 are equal:", torch.allclose(ffn(sentence)[0], ffn(sentence)[5], atol=1e-6))

# %% [markdown] text="shared-text"
# ## 3 · One network for all positions
#
# $$y_t = \mathrm{FFN}(x_t), \qquad \text{with the same } W_1, b_1, W_2, b_2 \text{ for every } t$$
#
# Why the same? One could give every position an FFN of its own. Tick the box, and the figure does, for 8 positions. Then press play.

# %% figure="predict-shared-for-14"
predict("shared_for_14")

# %% figure="shared"
controls.show(
    figures.boxes,
    length=controls.play("tokens", 1, len(figures.TOKENS), 1, 4),
    own=controls.toggle("an FFN for each position"),
)

# %% [markdown] text="shared-after"
# There are three reasons for one set of weights:
#
# 1. **Parameters.** They don't grow with the length. The cell below says what an FFN for each position would cost in a real size.
# 2. **Any length.** A ninth token finds all it needs. (Attention and position embeddings are another story.)
# 3. **What is learned at one position holds at every other.** Move a token, and its output moves along. This is called **equivariance**.
#
# A token is one sample, as in any other network: for the FFN, 4 sentences of 14 tokens are 56 samples.


# %% code="costs" output="fixed"
def count(module):
    return sum(p.numel() for p in module.parameters())


one = count(FFN(512, 2048))
print(f"one FFN, 512 -> 2048 -> 512: {one:>13,} parameters")
print(f"one for each of 1024 places: {1024 * one:>13,}")

x = torch.randn(4, 14, 8, generator=torch.Generator().manual_seed(1))  # 4 sentences, 14 tokens, d_model 8
as_samples = ffn(x.reshape(56, 8)).reshape(4, 14, 8)
print("56 samples give the same as 4 sentences of 14 tokens:", torch.allclose(as_samples, ffn(x), atol=1e-6))

print(f"[FFN(…) for layer in range(6)]: {count(nn.ModuleList([FFN(512, 2048) for layer in range(6)])):>10,} parameters")
print(f"[FFN(…)] * 6:                   {count(nn.ModuleList([FFN(512, 2048)] * 6)):>10,} parameters")

# %% [markdown] text="trap-text"
# The last two lines show a trap: all positions of a layer share one FFN, but the layers do **not**. A list with `* 6` shares by accident.

# %% [markdown] text="ffn_loop-text"
# ### Exercise `ffn_loop`
#
# *2 points · difficulty ●○○ · 3 minutes*
#
# Take the definition at its word: apply the FFN to one token after the other.
#
# - **Takes** `x` [B, T, d_model], B sentences of T tokens, and `ffn`, a module or function that maps [..., d_model] to [..., d_model].
# - **Returns** a tensor [B, T, d_model], whose row (b, t) is `ffn(x[b, t])`, in the dtype of `x`.
# - Write a loop. Whether it runs over single tokens or over positions is up to you; only values and gradients are checked.
# - Gradients reach `x` and the weights of `ffn`; `x` stays as it was.
#
# Stuck? Run `hint("ffn_loop")` in a cell of your own.


# %% exercise="ffn_loop"
def ffn_loop(x, ffn):
    """The FFN of each token in x [B, T, d_model], one after the other: [B, T, d_model]."""
    ### BEGIN SOLUTION
    sentences = [torch.stack([ffn(token) for token in sentence]) for sentence in x]
    return torch.stack(sentences)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="timing-text"
# No loop is needed: you have just shown that one call gives the same. Is it only more convenient, or also faster?

# %% figure="predict-loop-or-call"
predict("loop_or_call")


# %% code="timing"
def milliseconds(call, times=10):
    took = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        took.append(time.perf_counter() - started)
    return 1000 * min(took)  # what else the machine does only makes it longer


torch.set_num_threads(1)  # for matrices as small as these, threads would wait for each other
torch.manual_seed(0)
ffn = FFN(64, 256)
x = torch.randn(8, 128, 64)
with torch.no_grad():
    try:
        print("the loop gives what one call gives:", torch.allclose(ffn_loop(x, ffn), ffn(x), atol=1e-5))
        print(f"loop:     {milliseconds(lambda: ffn_loop(x, ffn)):7.2f} ms")
    except NotImplementedError:
        print("The first lines appear when ffn_loop is written.")
    print(f"one call: {milliseconds(lambda: ffn(x)):7.2f} ms")

# %% [markdown] text="longer-text"
# ### Long sequences, chunks, and no cache
#
# *deeper: the core path goes on with section 4*
#
# Does an FFN that was trained on short sequences work on long ones? Here it learns a function of single tokens, from sequences of 8 only.

# %% figure="predict-longer-sequences"
predict("longer_sequences")


# %% code="longer"
def target(x):
    return torch.sin(2 * x) * x.roll(1, -1)  # what each token must become; it never looks at another one


for seed in range(5):
    torch.manual_seed(seed)
    student = FFN(8, 64)
    optimiser = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(400):
        x = torch.randn(32, 8, 8)  # sequences of 8 tokens
        optimiser.zero_grad()
        F.mse_loss(student(x), target(x)).backward()
        optimiser.step()
    errors = {}
    for T in (8, 64, 512):
        x = torch.randn(16384 // T, T, 8)  # as many tokens for every length
        errors[T] = F.mse_loss(student(x), target(x)).item()
    print(f"seed {seed}:", ", ".join(f"error {error:.2f} at T = {T}" for T, error in errors.items()))

# %% [markdown] text="longer-after"
# A linear layer **along** the positions has a weight for each pair of them, and exists for one length only. The token-mixing layer of MLP-Mixer is such
# a design (question M4 comes back to it).

# %% code="mixer" output="fixed"
along_tokens = nn.Linear(8, 8)  # 8 positions to 8 positions, the same for each of the d_model numbers
for T in (8, 9):
    x = torch.randn(2, T, 5)
    try:
        print(f"T = {T}:", list(along_tokens(x.transpose(1, 2)).transpose(1, 2).shape))
    except RuntimeError as error:
        print(f"T = {T}: {error}")

# %% [markdown] text="chunks-text"
# Between its two matrices an FFN is wide. For a long prompt that is a lot of numbers, and they all have to be kept somewhere.

# %% figure="predict-hidden-memory"
predict("hidden_memory")

# %% code="chunk-memory" output="fixed"
T, d_model, d_ff = 100_000, 4096, 11_008  # LLaMA 7B (its gated FFN has two such hidden rows per token; one is counted here)
print(f"what goes in, [T, d_model]:        {2 * T * d_model / 1e6:8,.2f} MB")
for c in (T, 10_000, 1_000, 1):
    print(f"hidden, {c:7,} tokens at a time:    {2 * c * d_ff / 1e6:8,.2f} MB")

# %% [markdown] text="chunks-after"
# No token waits for another one, so an FFN may work on a few, forget their hidden rows, and go on.
#
# The same holds while a model **writes**. For each new word attention looks back at all earlier ones, so it keeps their keys and values: the *KV cache*, which grows with
# every word. The FFN looks at the new word alone, and needs no cache: what it said about earlier words has been used.

# %% [markdown] text="ffn_chunked-text"
# ### Exercise `ffn_chunked`
#
# *3 points · difficulty ●●○ · 5 minutes · deeper: you can come back to it later*
#
# Return what `ffn(x)` returns, with at most `c` tokens in the hidden layer at a time.
#
# - **Takes** `x` [..., d_model], a module `ffn` like `FFN` above, and a whole number `c` ≥ 1. `x` may be one token [d_model], or have any dimensions before the last.
# - **Returns** `ffn(x)`, in the shape and dtype of `x`. Gradients flow as through one call.
# - No call of `ffn` gets more than `c` tokens, counted over **all** dimensions before the last. Every token goes in once.
# - `c` need not divide the number of tokens, and may be larger than it.
# - Call `ffn` as a whole, or its `linear1`, `activation` and `linear2` one after the other. Then let the hidden rows go before you begin the next chunk.
#
# Stuck? Run `hint("ffn_chunked")` in a cell of your own.


# %% exercise="ffn_chunked"
def ffn_chunked(x, ffn, c):
    """ffn(x) for x [..., d_model], of which at most c tokens are in the hidden layer at a time."""
    ### BEGIN SOLUTION
    tokens = x.reshape(-1, x.shape[-1])  # [N, d_model]
    return torch.cat([ffn(chunk) for chunk in tokens.split(c)]).reshape(x.shape)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="chunk-timing-text"
# Chunks save memory. What do they cost in time?

# %% figure="predict-in-chunks"
predict("in_chunks")

# %% code="chunk-timing"
torch.manual_seed(0)
ffn, x = FFN(64, 256), torch.randn(8192, 64)
with torch.no_grad():
    whole = milliseconds(lambda: ffn(x))
    print(f"one call:      {whole:7.2f} ms")
    try:
        for c in (4096, 1024, 256, 64, 16):
            print(f"chunks of {c:4}: {milliseconds(lambda c=c: ffn_chunked(x, ffn, c), 3):7.2f} ms")
    except NotImplementedError:
        print("The other lines appear when ffn_chunked is written.")

# %% [markdown] text="chunk-timing-after"
# Where does it begin to cost something on your machine? A chunk only has to be large enough to keep the processor busy.

# %% [markdown] text="test-text"
# ## 4 · A test for “position-wise”
#
# You are handed a function f from [T, d] to [T, d]. You can call it, but not look inside. Is it position-wise? That is: is there **one** map g with
#
# $$f(X)_t = g(X_t) \quad \text{for all } X \text{ and all } t\;?$$
#
# The formula says two things. No token sees another: row t depends on $X_t$ alone. And all positions use the same g. There are many tests that look right
# and check half of it. The cell runs three of them.

# %% figure="predict-attention-fails"
predict("attention_fails")

# %% code="half-tests" output="fixed"
T, d = 5, 4
generator = torch.Generator().manual_seed(0)
matrices = torch.randn(T, d, d, generator=generator, dtype=torch.float64)
torch.manual_seed(0)
small = FFN(d, 16).double()
functions = {
    "FFN": small,
    "attention": attention,
    "mean of all tokens, everywhere": lambda X: small(X.mean(-2, keepdim=True)).expand(X.shape),
    "own weights at every position": lambda X: torch.einsum("...td,tde->...te", X, matrices),
}
X, changed = torch.randn(2, T, d, generator=generator, dtype=torch.float64)
changed[0] = X[0]
order = torch.tensor([4, 2, 0, 1, 3])
print(" " * 32 + "equal rows  permuted    others changed")
for name, f in functions.items():
    rows = f(torch.ones(T, d, dtype=torch.float64))
    tests = (
        torch.allclose(rows, rows[0].expand(T, d), atol=1e-6),  # equal rows in, equal rows out
        torch.allclose(f(X[order]), f(X)[order], atol=1e-6),  # permuted rows in, permuted rows out
        torch.allclose(f(changed)[0], f(X)[0], atol=1e-6),  # the other tokens change, token 0 does not
    )
    print(f"{name:32}" + "".join(f"{'passes' if passed else '-':12}" for passed in tests))

# %% [markdown] text="test-after"
# No test alone is enough. The second says “equivariant”, which attention is. The third says “independent”, and looks at one position. You need the last
# two **together**, or one test that does the work of both. And mind which positions a test reaches: a permutation says nothing about a token that it
# leaves in its place.

# %% [markdown] text="is_position_wise-text"
# ### Exercise `is_position_wise`
#
# *5 points · difficulty ●●● · 12 minutes*
#
# Write the test.
#
# - **Takes** `f`, a function that maps [..., T, d] to [..., T, d], the numbers `T` and `d`, and a `seed` for your random inputs.
# - **Returns** `True` if f(X)[t] = g(X[t]) with one map g for all t, otherwise `False`.
# - `f` takes sequences of exactly T tokens, with or without dimensions before them, in float32 or float64. It is deterministic. T is at least 4.
# - g may be any map, even a constant one.
# - The output's **size** is its largest number, without the sign. It may be 10,000 or 1/10,000: compare with it.
# - A difference of less than 1/10,000 of that size is rounding, and means nothing. If other tokens, or another position, change an output by more than
#   1/50 of it, the answer is `False`, whichever positions are concerned. Nothing in between will be asked.
# - If `f` is a module, leave it in the mode in which you got it.
#
# Stuck? Run `hint("is_position_wise")` in a cell of your own.


# %% exercise="is_position_wise"
def is_position_wise(f, T, d, seed=0):
    """Whether f [..., T, d] -> [..., T, d] applies one map to each token alone: True or False."""
    ### BEGIN SOLUTION
    generator = torch.Generator().manual_seed(seed)
    for _ in range(5):
        vector = torch.randn(d, generator=generator, dtype=torch.float64)
        outputs = []
        for t in range(T):
            X = torch.randn(T, d, generator=generator, dtype=torch.float64)
            X[t] = vector
            outputs.append(f(X)[t])
        outputs = torch.stack(outputs)  # [T, d], the same vector seen at each position
        if (outputs - outputs[0]).abs().max() > 1e-3 * outputs.abs().max():
            return False
    return True
    ### END SOLUTION
    raise NotImplementedError

# %% code="test-layers"
layers = functions | {
    "layer norm": lambda X: F.layer_norm(X, (d,)),
    "x + FFN(x)": lambda X: X + small(X),
    "sum of the tokens so far": lambda X: X.cumsum(-2),
}
for name, f in layers.items():
    try:
        print(f"{name:32}", is_position_wise(lambda X, f=f: f(X.double()), T, d))
    except NotImplementedError:
        print(f"{name:32} lights up when is_position_wise is written")

# %% [markdown] text="conv-text"
# ## 5 · The same as a convolution
#
# A **convolution** slides a small window along a sequence and computes the same thing at every place. Its **kernel size** is the length of the window: with 3
# it sees a token and its two neighbours.
#
# The paper of 2017 describes the FFN in one more way: “two convolutions with kernel size 1”. A window of one token, at every position, with the same
# weights.
#
# In PyTorch, `nn.Conv1d` differs from `nn.Linear` in two ways.

# %% figure="predict-conv-shape"
predict("conv_shape")

# %% code="conv-shapes" output="fixed"
linear, conv = nn.Linear(6, 24), nn.Conv1d(6, 24, kernel_size=1)
print("weight of nn.Linear(6, 24):   ", list(linear.weight.shape))
print("weight of nn.Conv1d(6, 24, 1):", list(conv.weight.shape))
x = torch.randn(2, 5, 6)  # [B, T, d_model]
print("nn.Linear: ", list(x.shape), "->", list(linear(x).shape))
x = x.transpose(1, 2)  # [B, d_model, T]
print("nn.Conv1d: ", list(x.shape), "->", list(conv(x).shape))

# %% [markdown] text="ffn_as_conv1d-text"
# ### Exercise `ffn_as_conv1d`
#
# *4 points · difficulty ●●○ · 8 minutes · deeper: you can come back to it later*
#
# Turn an FFN into two convolutions.
#
# - **Takes** `ffn`, a module like `FFN` above: attributes `linear1`, `linear2` (`nn.Linear`, in float32), and `activation`, a function, here ReLU.
# - **Returns** an `nn.Module` that maps x [B, T, d_model] to [B, T, d_model], for any T, and computes what `ffn` computes, with two calls of a convolution
#   (`nn.Conv1d` or `F.conv1d`).
# - It owns as many trainable parameters as `ffn`, no more and no less. They may be copies, or share memory with those of `ffn`.
# - `ffn` stays as it was. Values are compared to four digits.
#
# `reshape` can't exchange two dimensions. Stuck? Run `hint("ffn_as_conv1d")` in a cell of your own.


# %% exercise="ffn_as_conv1d"
def ffn_as_conv1d(ffn):
    """A module that computes the same as ffn, [B, T, d_model] -> [B, T, d_model], with two convolutions."""

    ### BEGIN SOLUTION
    class ConvFFN(nn.Module):
        def __init__(self):
            super().__init__()
            d_ff, d_model = ffn.linear1.weight.shape
            self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)
            self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)
            self.activation = ffn.activation
            with torch.no_grad():
                self.conv1.weight.copy_(ffn.linear1.weight.unsqueeze(-1))  # [d_ff, d_model, 1]
                self.conv1.bias.copy_(ffn.linear1.bias)
                self.conv2.weight.copy_(ffn.linear2.weight.unsqueeze(-1))  # [d_model, d_ff, 1]
                self.conv2.bias.copy_(ffn.linear2.bias)

        def forward(self, x):
            hidden = self.activation(self.conv1(x.transpose(1, 2)))  # [B, d_ff, T]
            return self.conv2(hidden).transpose(1, 2)

    return ConvFFN()
    ### END SOLUTION
    raise NotImplementedError

# %% code="conv-timing"
torch.manual_seed(0)
ffn = FFN(64, 256)
x = torch.randn(8, 128, 64)
try:
    converted = ffn_as_conv1d(ffn)
except NotImplementedError:
    converted = None
ways = {"loop": lambda: ffn_loop(x, ffn), "one call": lambda: ffn(x), "convolutions": lambda: converted(x)}
with torch.no_grad():
    for name, way in ways.items():
        try:
            off = (way() - ffn(x)).abs().max()
            print(f"{name:13} {milliseconds(way):7.2f} ms, the same as one call: {bool(off < 1e-5)}")
        except (NotImplementedError, TypeError):
            print(f"{name:13} lights up when its exercise is written")

# %% [markdown] text="residual-text"
# Three ways to write it, one function.
#
# ## 6 · Around the FFN: residual and norm
#
# An FFN never comes alone. Its output is **added** to its input: that is the **residual connection**. And somewhere there is a **norm**, which brings the
# numbers of each token to one size. The layer norm, for one, shifts and scales them so that they have mean 0 and variance 1. Two wirings are common: in
# **pre-norm** the norm comes before the FFN, in
# **post-norm** after the sum.

# %% figure="predict-straight-path"
predict("straight_path")

# %% figure="sublayers"
controls.show(figures.sublayers, mode=controls.choice("wiring", [("pre-norm", "pre"), ("post-norm", "post")], "pre"))

# %% [markdown] text="residual-after"
# In the figure, z is what attention's half hands on. Other models put a second norm on the branch, or let both halves read the same x:
#
# | wiring | formula | used by |
# |---|---|---|
# | post-norm | norm(x + FFN(x)) | the Transformer of 2017, BERT |
# | pre-norm | x + FFN(norm(x)) | GPT-2, LLaMA, and most later ones |
# | a norm before and after the FFN, both on the branch | x + norm(FFN(norm(x))) | Gemma 2 |
# | parallel | x + attention(norm(x)) + FFN(norm(x)) | PaLM, GPT-NeoX |
#
# Even a well-known annotated version of the paper of 2017 prints the post-norm formula and implements pre-norm, “for code simplicity”.
#
# **Why d_model comes out again.** The sum `x + FFN(x)` is only defined if the FFN returns as many numbers as it got. And the next block expects the
# same. The cell tries other widths.

# %% figure="predict-width-of-one"
predict("width_of_one")

# %% code="widths" output="fixed"
x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
for width in (8, 6, 1):
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, width))
    try:
        print(f"8 -> 32 -> {width}: x + net(x) has shape {list((x + net(x)).shape)}")
    except RuntimeError as error:
        print(f"8 -> 32 -> {width}: {error}")

# %% [markdown] text="residual_sublayer-text"
# ### Exercise `residual_sublayer`
#
# *4 points · difficulty ●○○ · 4 minutes*
#
# Write the FFN's half of a block, in both wirings.
#
# - **Takes** `x` [..., d_model], `ffn` and `norm`, two callables that map [..., d_model] to [..., d_model], and `mode`.
# - **Returns**, in the shape and dtype of `x`: for `mode="pre"` x + ffn(norm(x)), for `mode="post"` norm(x + ffn(x)).
# - Use the `norm` you are handed: its gain and bias are learned. `x` stays as it was; gradients reach everything.
# - Another mode: `ValueError` would be good style. It is not graded.
#
# Stuck? Run `hint("residual_sublayer")` in a cell of your own.


# %% exercise="residual_sublayer"
def residual_sublayer(x, ffn, norm, mode):
    """The FFN with its residual and norm, mode 'pre' or 'post': [..., d_model] -> [..., d_model]."""
    ### BEGIN SOLUTION
    if mode == "pre":
        return x + ffn(norm(x))
    if mode == "post":
        return norm(x + ffn(x))
    raise ValueError(f"mode must be 'pre' or 'post', not {mode!r}")
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="block-text"
# With your function, a whole block is two lines. What happens to the numbers when 24 blocks are stacked, all with random weights, those of attention as well?

# %% figure="predict-pre-norm-size"
predict("pre_norm_size")


# %% code="block"
def attention_with_weights(d, dtype=torch.float32):
    """An attention layer with random weights: [T, d] -> [T, d]."""
    Wq, Wk, Wv, Wo = torch.randn(4, d, d, dtype=dtype) / d**0.5

    def layer(x):
        weights = torch.softmax((x @ Wq) @ (x @ Wk).mT / d**0.5, dim=-1)  # [T, T]
        return weights @ (x @ Wv) @ Wo

    return layer


def stack(mode, seed, depth=24, shrink=1.0, T=14, d=32):
    """The root mean square of all numbers after 0, 1, … `depth` blocks, whose layers' outputs are multiplied by `shrink`."""
    torch.manual_seed(seed)
    x = torch.randn(T, d)
    sizes = [x.square().mean().sqrt().item()]
    for _ in range(depth):
        mix, ffn, norm = attention_with_weights(d), FFN(d, 4 * d), nn.LayerNorm(d)
        for layer in (mix, ffn):  # tokens exchange; then each token alone
            x = residual_sublayer(x, lambda h, layer=layer: shrink * layer(h), norm, mode)
        sizes.append(x.square().mean().sqrt().item())
    return sizes


# %% code="plot-stream"
depth, shrink = 24, 1.0
try:
    for mode in ("pre", "post"):
        with torch.no_grad():
            runs = torch.tensor([stack(mode, seed, depth, shrink) for seed in range(5)])  # [5, depth + 1]
        plt.plot(runs.mean(0), label=f"{mode}-norm")
        plt.fill_between(range(depth + 1), runs.amin(0), runs.amax(0), alpha=0.2)
    plt.plot([n**0.5 for n in range(depth + 1)], label="√depth")
    plt.title("Your sublayers, stacked: five seeds")
    plt.xlabel("blocks")
    plt.ylabel("root mean square of x")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This cell lights up when residual_sublayer is written.")

# %% [markdown] text="bottleneck-text"
# Why the root? A sum of n numbers of size 1 that know nothing of each other is about √n large. In the first blocks a layer adds less than 1, so the curve
# begins below the root. Set `depth` to 96: does it come nearer? Then let every layer
# whisper, with `shrink = (2 * depth)**-0.5`, one over the root of the number of layers, two in each block. Now the size stays near 1 at any depth. GPT-2
# starts its training like that.
#
# Models with pre-norm have one more norm at their end, because the numbers on the path of x have grown.
#
# ## 7 · A bottleneck
#
# *deeper: the core path goes on with the quiz*
#
# Usually d_ff is larger than d_model. What if it is smaller? Each token has to pass through d_ff numbers.
#
# Neuron j writes row j of `W2` (in PyTorch a column of `linear2.weight`), stronger, weaker, or not at all. So whatever comes in, what the neurons write is a
# weighted sum of d_ff arrows; `b2` is added at the end, and left out here. With d_model = 3, what they write for a token is a point in a room.

# %% figure="predict-two-neurons"
predict("two_neurons")

# %% figure="bottleneck"
controls.show(
    figures.bottleneck,
    d_ff=controls.slider("d_ff", 1, 3, 1, 1),
    plus_x=controls.toggle("+ x"),
    azimuth=controls.play("turn", 0, 345, 15, 300, interval=200),
)

# %% [markdown] text="adapter-text"
# What the neurons write for 14 tokens is 14 rows of numbers. How many independent directions there are in them is their **rank**, at most d_ff and at most
# d_model. The bars say how far the points reach in each
# direction: the **singular values**. One that is 0 is a direction nobody writes in.
#
# Is a bottleneck of any use, if it throws so much away? In a block, x is added to what it writes. Guess first, then tick “+ x”.

# %% figure="predict-adapter-rank"
predict("adapter_rank")

# %% [markdown] text="bottleneck_rank-text"
# ### Exercise `bottleneck_rank`
#
# *3 points · difficulty ●●○ · 5 minutes*
#
# Measure it.
#
# - **Takes** `ffn`, a module like `FFN` above, in eval mode, and inputs `X` [N, d_model], in float32 or float64.
# - **Returns** the rank of `ffn(X)` without `b2`, that is of the [N, d_model] numbers that the neurons write: an int.
# - Rounding is not rank: a singular value that is a millionth of the largest, or less, counts as zero, in float64 as well. How large the weights are does
#   not matter. (`torch.linalg.matrix_rank` has an argument for that, `rtol`.)
# - `b2` is about as large as what the neurons write, so that subtracting it leaves no more than rounding behind.
# - If nothing is written at all, the rank is 0. `ffn` and `X` stay as they were.
#
# Stuck? Run `hint("bottleneck_rank")` in a cell of your own.


# %% exercise="bottleneck_rank"
def bottleneck_rank(ffn, X):
    """How many independent directions the neurons write for X [N, d_model]: an int."""
    ### BEGIN SOLUTION
    written = ffn(X) - ffn.linear2.bias  # [N, d_model]
    return int(torch.linalg.matrix_rank(written, rtol=1e-6))
    ### END SOLUTION
    raise NotImplementedError

# %% code="adapter"
torch.manual_seed(0)
X, narrow = torch.randn(100, 8), FFN(8, 3)
with torch.no_grad():
    try:
        print("rank of what the FFN writes:", bottleneck_rank(narrow, X))
    except NotImplementedError:
        print("rank of what the FFN writes: write bottleneck_rank first")
    print("rank of X + FFN(X):         ", torch.linalg.matrix_rank(X + narrow(X)).item())

# %% [markdown] text="adapter-after"
# *Adapters* (Houlsby et al. 2019, arXiv 1902.00751) are such narrow FFNs, put into a trained model whose own weights stay frozen: a few parameters learn a
# small change.
#
# ## 8 · Spot the error
#
# *deeper: the core path goes on with the quiz*
#
# Three claims from published pages. For each: find what is wrong, missing, or not shown, then run the cell.
#
# **A.** A tutorial lists, among the reasons for shared weights: “Translation invariance: Same transformation regardless of position”. Let the tokens move by
# two places.

# %% code="spot-invariant" output="fixed"
x = torch.randn(14, 8, generator=torch.Generator().manual_seed(0))
torch.manual_seed(0)
ffn = FFN(8, 32)
moved = x.roll(2, dims=0)
print("outputs stay where they were:", torch.allclose(ffn(moved), ffn(x), atol=1e-6))
print("outputs move by two places:  ", torch.allclose(ffn(moved), ffn(x).roll(2, dims=0), atol=1e-6))

# %% [markdown] text="spot-diagram"
# The outputs move with the tokens: that is **equi**variant. Invariant would be a single result that does not notice the order, such as the mean of all
# tokens. What comes after the colon is right.
#
# **B.** A tutorial draws four boxes, one below the other: the input, attention (“Global mixing”), the FFN (“Local transformation”), the output. Two things
# that nearly every Transformer has are not in the picture. What happens to 8 blocks built like this? The cell measures how different the tokens still are:
# ‖X − mean over tokens‖ / ‖X‖, which is 0 when all tokens are equal. It does so for FFNs alone as well, without any attention.


# %% code="spot-diagram-cell"
def different(x):
    return ((x - x.mean(0)).norm() / x.norm()).item()


def after_8_blocks(seed, residual=0, normed=False, mixed=True):
    torch.manual_seed(seed)
    x = torch.randn(14, 16, dtype=torch.float64)
    norm = nn.LayerNorm(16).double() if normed else nn.Identity()
    for _ in range(8):
        mix, ffn = attention_with_weights(16, torch.float64), FFN(16, 64).double()
        for layer in (mix, ffn) if mixed else (ffn,):
            x = x * residual + layer(norm(x))
    return different(x)


with torch.no_grad():
    for seed in range(5):
        print(
            f"seed {seed}: as drawn {after_8_blocks(seed):.0e}, FFNs alone {after_8_blocks(seed, mixed=False):.0e},",
            f"with norms {after_8_blocks(seed, normed=True):.0e}, with residuals {after_8_blocks(seed, residual=1):.2f},",
            f"with both {after_8_blocks(seed, residual=1, normed=True):.2f}",
        )

# %% [markdown] text="spot-equal"
# As drawn, the tokens become equal within a few blocks, up to rounding, and no later layer can tell them apart again. Norms alone do not save them. And
# the FFN does its part: it sees one token at a time, and still 8 FFNs in a row leave about a ten-thousandth of the difference, or less: with its first random
# weights an FFN shrinks what differs from token to token, and then adds the same biases to all. The residual
# connections turn the crash into a slide; residual and norm together turn the slide into a crawl (notebook 01 follows it through 96 layers).
#
# **C.** A textbook shows that its FFN is position-wise: it feeds it ones, `torch.ones(2, 3, 4)`, and points out that all three rows of the output are equal.

# %% code="spot-equal-cell" output="fixed"
ones = torch.ones(2, 3, 4)
torch.manual_seed(0)
for name, layer in (("FFN", FFN(4, 8)), ("attention", attention)):
    rows = layer(ones)[0]
    print(f"{name}: rows 0, 1 and 2 are equal: {torch.allclose(rows, rows[0].expand(3, 4), atol=1e-6)}")

# %% [markdown] text="quiz_equivariant-text"
# The statement is true, the demonstration shows too little: attention gives equal rows as well. With equal rows one can't see whether they were mixed. Your
# `is_position_wise` can.
#
# ## 9 · Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_equivariant`
#
# You permute the tokens of a sequence and send them through an FFN. What happens to the outputs?
#
# - **A.** They stay as they were: the FFN does not notice the order.
# - **B.** They are permuted in the same way.
# - **C.** They take on new values, since the tokens are now at other positions.

# %% quiz="quiz_equivariant"
quiz_equivariant = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_equivariant = "B"
### END SOLUTION

# %% [markdown] text="quiz_kernel-text"
# ### Question `quiz_kernel`
#
# Two convolutions over the sequence, with the activation between them, must compute what an FFN computes, whatever its weights. Choose the smallest
# kernel that does.
#
# - **A.** Two convolutions with kernel size 1.
# - **B.** Two convolutions with kernel size 3.
# - **C.** Two convolutions with kernel size T, the length of the sequence.

# %% quiz="quiz_kernel"
quiz_kernel = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_kernel = "A"
### END SOLUTION

# %% [markdown] text="quiz_shared-text"
# ### Question `quiz_shared`
#
# You build the FFNs of a Transformer with six layers by `nn.ModuleList([ffn] * 6)`. What do you get?
#
# - **A.** What the paper describes: one FFN, shared by all positions and all layers.
# - **B.** Six FFNs with weights of their own, equal at the start.
# - **C.** Six times the same FFN: a sixth of the FFN parameters that the paper describes.

# %% quiz="quiz_shared"
quiz_shared = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_shared = "C"
### END SOLUTION

# %% [markdown] text="M4-text"
# ## 10 · In your own words
#
# *deeper: the core path goes on with `05_parameters`*
#
# *question M4 · 3 points, graded by your instructor · 10 minutes*
#
# Why is the FFN of a Transformer applied to each position alone, and not to all positions at once? Imagine the alternative: an FFN that takes the whole
# sequence as one long vector of T · d_model numbers.
#
# 1. What would it cost, and what could it no longer do? Give a number for d_model = 512, d_ff = 4 · T · d_model and T = 100, and say what happens at T = 101.
# 2. What happens to the outputs when two tokens change places, in either design?
# 3. The tokens have to exchange information somewhere. Where does it happen in a Transformer, and how does MLP-Mixer do it, which has no attention?
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M4" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) Position-wise, all positions **share** one set of weights: 2 · 512 · 2048 = 2.1 million, whatever T is. The long vector has
# 51,200 numbers and a hidden layer of 204,800, so 2 · 51,200 · 204,800 = 21 billion weights, 10,000 (T²) times as many, and they fit **one length only**:
# at T = 101 the matrices have the wrong shape. What it learns at one position it does not know at the next. (2) The position-wise FFN is permutation
# **equivariant**: the two outputs change places as well, and nothing else happens. The long one has different weights for different places, so all
# outputs may change. (3) **Mixing is attention's job**: it moves information between tokens with weights computed from the tokens, for any T. MLP-Mixer is
# the counter-design: it alternates a position-wise MLP with a token-mixing MLP along the positions, whose weights are learned, shared by the channels, and
# made for a fixed number of positions.
#
# **Rubric.** One point each:
#
# - (1) shared weights or their number, *and* the fixed length (any T against one T). Half a point for one of the two. The number may be rounded.
# - (2) equivariant, in words or by name, for the position-wise FFN, and that the other design is not. Half a point for one. “Invariant” is wrong.
# - (3) mixing is done by attention; Mixer mixes tokens by an MLP across positions. Half a point for one of the two.
# <!-- ### END SOLUTION -->

# %% [markdown] text="end-text"
# ## You can now …
#
# - apply an FFN token by token, and say why one call does the same, faster: `ffn_loop`;
# - run an FFN in chunks of tokens, and say why it needs no cache: `ffn_chunked`;
# - test whether a layer is position-wise, without looking inside: `is_position_wise`;
# - write an FFN as two convolutions with kernel size 1: `ffn_as_conv1d`;
# - place residual and norm, before and after: `residual_sublayer`;
# - bound and measure the rank of a bottleneck: `bottleneck_rank`;
# - say why the FFN is position-wise: M4.
#
# ## Going further
#
# - Vaswani et al. 2017, *Attention Is All You Need* (arXiv 1706.03762). Section 3.3: “applied to each position separately and identically”.
# - Tolstikhin et al. 2021, *MLP-Mixer* (arXiv 2105.01601): what becomes of a model in which an MLP mixes the positions.
# - Houlsby et al. 2019, *Parameter-Efficient Transfer Learning for NLP* (arXiv 1902.00751): bottlenecks put to use.
#
# Next: `05_parameters`, where the weights of all these layers are counted.

# %% figure="progress"
progress()
