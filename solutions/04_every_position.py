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
# # 04 · Which of these eight are real?
#
# Eight closed boxes read the same sentence. Each takes one vector per word and gives one vector back. A box is *real* if it keeps two rules, as a feed-forward network does. It answers each
# word alone: it never looks *sideways*. And it answers a word alike at every place: it has no *favourites*. The other boxes pretend.
#
# You can't open a box, but you can change the words. Press *creek*. It becomes *ditch*, and a lamp lights wherever an output has moved. The sign ≠ means: one word, two answers.
#
# <span class="ffn-notebook-only">To wake the boxes up, press <b>Shift + Enter</b> three times.</span>

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course.boards import boxes, clouds
from ffnlab.course.experiments import collapse
from ffnlab.course.figures import anatomy
from ffnlab.drawing import style

style.use()


class FFN(nn.Module):
    """The FFN of notebook 02: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.activation = torch.relu

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


# %% figure="boxes"
play(boxes.line_up)

# %% figure="predict-eight-boxes"
predict("eight_boxes")

# %% figure="boxes-evidence"
veil("What does ≠ prove?", "when you have caught your first box", of="boxes.charge", text="""
A lamp under an untouched word is proof that the box looks sideways. The sign ≠ says less: the same word was answered in two ways. That can have two reasons. Either
the box treats places differently, or it has looked at the other words. So change the other words too, one by one. If no lamp ever lights under an untouched word,
the place is the likely reason: a favourite.

Nothing proves that a box is real. It has only not been caught yet.
""")

# %% figure="boxes-after"
veil("What was in the boxes?", "when all eight are settled", of="boxes.all", text="""
| box | inside | verdict |
|---|---|---|
| 1 | an FFN with ReLU and 24 neurons | real |
| 2 | a norm over the whole sequence, then an FFN | sideways: every word moves the mean and the spread |
| 3 | attention that looks back, then an FFN | sideways: from the new word to the end |
| 4 | an FFN, and something more at the last place | sideways: the last place looks at the place of *spunky* |
| 5 | an FFN with GELU and only 10 neurons | real |
| 6 | an FFN; at the tenth word it has another W2 | a favourite |
| 7 | a convolution over three words | sideways: the word and its two neighbours |
| 8 | x + FFN(norm(x)), where the norm sees one word alone | real |
""")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for question M4 and the part *Deeper* |
# | **You need** | `02_feed_forward`, and `self_attention` of `01_attention` |
# | **Points** | {points} |

# %% figure="anatomy"
anatomy.block("04")

# %% [markdown] text="rules-text"
# ## Two rules
#
# Attention is where words exchange something. The FFN works on each word alone:
#
# $$y_t = \mathrm{FFN}(x_t)$$
#
# Only x_t stands on the right: the first rule. FFN has no index t: the second. Both speak of vectors, not of words. In the boxes a word is always the same vector; after attention it
# may not be.
#
# **No looking sideways.** Output t depends on input t and on nothing else.
#
# **No favourites.** The same vector gives the same output at every position.
#
# A layer that keeps both rules is called *position-wise*. The paper of 2017 ([Vaswani et al.](https://arxiv.org/abs/1706.03762), section 3.3) says that its FFN is
# “applied to each position separately and identically”. What follows from it?
#
# - **Parameters.** An FFN that takes 512 numbers to 2,048 and back has 2.1 million. With an FFN for each of 1,024 positions, one layer would have 2.15 billion.
# - **Any length.** A fifteenth word needs nothing new, and disturbs no other.
# - **Learning.** What the weights learn at one position holds at every position.
# - **Any order.** If you move tokens, their outputs move along, unchanged. This is called *equivariance*. Attention that sees all tokens
#   has it too, so it is no proof.
#
# Positions share an FFN, blocks usually don't: `[FFN(512, 2048) for _ in range(6)]` makes six.
#
# ## Write the inspector
#
# The book *Dive into Deep Learning* feeds [its FFN](https://d2l.ai/chapter_attention-mechanisms-and-transformers/transformer.html)
# the same vector everywhere, and all outputs are equal. Would that do as a test?

# %% figure="predict-equal-vectors"
predict("equal_vectors")

# %% code="equal-vectors" output="fixed"
ones = torch.ones(5, 6)
torch.manual_seed(0)


def attention(x):
    """Bare attention: queries, keys and values are x itself."""
    return torch.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1) @ x


for name, layer in (("FFN", FFN(6, 24)), ("attention", attention)):
    rows = layer(ones)
    print(f"{name:9} equal vectors in, equal vectors out: {torch.allclose(rows, rows[:1].expand(5, 6), atol=1e-6)}")

# %% [markdown] text="is_position_wise-text"
# ### Exercise `is_position_wise`
#
# *{points} · difficulty ●●● · 12 minutes*
#
# You get a closed box `f`. Feed it sentences [..., T, d], and find out whether it keeps both rules.
#
# - **Takes** `f`, a function that maps [..., T, d] to [..., T, d], the numbers `T` and `d`, and a `seed` for your random inputs. T is at least 4.
# - **Returns** `True` if `f` is position-wise, otherwise `False`.
# - Outputs may be tiny or huge, so divide differences by the largest output, in absolute value. Below 1/10,000 is rounding. A cheat makes two answers that should be equal differ by over
#   1/50, for typical random inputs. Some cheat at one position only.
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

# %% [markdown] text="inspection-text"
# Now send it into the eight boxes that you know, and into 34 others. Each box counts the sentences it is fed, a batch of three as three. **How few can you manage with?** Can a single one
# be enough, without derivatives? Change your function, run its cell, then the next cell here.

# %% figure="inspection"
play(lambda: boxes.inspection(is_position_wise))

# %% figure="inspection-after"
veil("How few are enough?", "when the second goal is settled", of="boxes_inspection.one", text="""
Two, for boxes like these, if you take no derivatives. The next exercise shows why one is not enough. Send a sentence of random words. Then move every word one place
on, the last one to the front, and replace one word by a new one.

In a position-wise layer each old word takes its answer along. A favourite is caught, because each place is compared with the next. A box that looks at fixed places is caught, because
other words stand there now. One that looks at neighbours, or averages over all words, is caught because one word is new.
""")

# %% [markdown] text="position_wise_twin-text"
# ### Exercise `position_wise_twin`
#
# *{points} · difficulty ●●○ · 8 minutes*
#
# Now change sides. An inspector has fed one sentence to a cheat. Build an innocent, position-wise function that answers this sentence exactly as the cheat does. If
# you can, the sentence proves nothing.
#
# - **Takes** `f`, which maps [T, d] to [T, d], and the sentence `X` [T, d]. f looks sideways, but it answers equal words, that is equal rows, equally, as attention that sees all tokens does.
# - **Returns** a position-wise function `g` that maps [n, d] to [n, d], for any n, and g(X) = f(X).
# - A word that is not in X may get any answer, but the same one everywhere.


# %% exercise="position_wise_twin"
def position_wise_twin(f, X):
    """A position-wise function g that answers the sentence X [T, d] as f does: g takes [n, d] and returns [n, d]."""
    ### BEGIN SOLUTION
    Y = f(X)  # [T, d]

    def g(Z):
        nearest = torch.cdist(Z, X).argmin(dim=1)  # [n], for each word the place of X where it is, or where one like it is
        return Y[nearest]

    return g
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="residual-text"
# ## Around the FFN
#
# One of the real boxes held more than an FFN. In a Transformer an FFN never comes alone. Its output is *added* to the x that came into the half block: the **residual connection**.
# The sum that runs through all blocks is the *residual stream*. And somewhere a **norm** brings each token's numbers to one scale. LayerNorm shifts and scales them to
# mean 0 and variance 1, then applies a learned gain and bias.
#
# Why does an FFN return as many numbers as it gets? Because of the sum. You can try to break it.

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
# *{points} · difficulty ●○○ · 3 minutes*
#
# Two wirings are common. The Transformer of 2017 and BERT use **post-norm**: the FFN reads x, its output is added to x, and the sum goes through the norm. GPT-2,
# LLaMA and most later models use **pre-norm**: the FFN reads norm(x), and its output is added to x itself. So gradients run along the stream without meeting a norm,
# and deep stacks are easier to train. Write both.
#
# - **Takes** `x` [..., d_model], two callables `ffn` and `norm` that map [..., d_model] to [..., d_model], and `mode`, which is `"pre"` or `"post"`.
# - **Returns** the half block's output, in the shape and dtype of `x`.
# - Use the `norm` you are given, because its gain and bias are learned. Leave `x` as it was.


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
# There are more wirings. Gemma 2 has a norm on either side of the FFN. PaLM and GPT-J run attention and FFN in *parallel*.
#
# The next cell stacks your half blocks, attention and FFN in turn, to 24 blocks with random weights.

# %% figure="predict-pre-norm-size"
predict("pre_norm_size")


# %% code="stream"
def attention_with_weights(d):
    """An attention layer with random weights: [T, d] -> [T, d]."""
    Wq, Wk, Wv, Wo = torch.randn(4, d, d) / d**0.5
    return lambda x: F.scaled_dot_product_attention(*((x @ W)[None] for W in (Wq, Wk, Wv)))[0] @ Wo


def stack(mode, seed, depth=24, shrink=1.0, T=14, d=32):
    """The root mean square of all numbers after 0, 1, … `depth` blocks. What each layer adds is multiplied by `shrink`."""
    torch.manual_seed(seed)
    x = torch.randn(T, d)
    sizes = [x.square().mean().sqrt().item()]
    for _ in range(depth):
        for layer in (attention_with_weights(d), FFN(d, 4 * d)):  # tokens exchange; then each token alone
            x = residual_sublayer(x, lambda h, layer=layer: shrink * layer(h), nn.LayerNorm(d), mode)
        sizes.append(x.square().mean().sqrt().item())
    return sizes


depth, shrink = 24, 1.0
try:
    for mode in ("pre", "post"):
        with torch.no_grad():
            runs = torch.tensor([stack(mode, seed, depth, shrink) for seed in range(5)])  # [5, depth + 1]
        plt.plot(runs.mean(0), label=f"{mode}-norm")
        plt.fill_between(range(depth + 1), runs.amin(0), runs.amax(0), alpha=0.2)
    plt.title("Your half blocks, stacked: five seeds")
    plt.xlabel("blocks")
    plt.ylabel("root mean square of x")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This cell lights up when residual_sublayer is written.")

# %% figure="stream-after"
veil("How does it grow?", "when you have guessed", of="pre_norm_size", text="""
What is added is unrelated to what is there, so mean squares add up: n equal additions make x grow like √n. An FFN does add 0.25 in every block, with the weights that
`nn.Linear` begins with. But attention adds 0.4 in the first block and over 0.9 in the 24th, so x grows faster than that.

Why does attention add more and more? In an average unlike tokens cancel, and alike ones don't. Deep in the stack they are alike.

Set `shrink = (2 * depth) ** -0.5`, and the size stays near 1 at any depth. GPT-2 starts with that factor on the weights that write into the stream. And pre-norm
models have one more norm at their end.
""")

# %% [markdown] text="quiz_equivariant-text"
# ## Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_equivariant`
#
# Nothing has been added to the tokens to say where they are. Which of these layers is **not** equivariant?
#
# - **A.** An FFN.
# - **B.** Attention, in which every token sees all tokens.
# - **C.** Attention that looks back, as in box 3.

# %% quiz="quiz_equivariant"
quiz_equivariant = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_equivariant = "C"
### END SOLUTION

# %% [markdown] text="quiz_kernel-text"
# ### Question `quiz_kernel`
#
# The kernel size of a convolution is the length of the window that it slides along the sequence. Two convolutions, with the activation between
# them, can compute what an FFN computes. Which of these keep both rules, whatever their weights?
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
# You build the FFNs of a Transformer with six layers by `nn.ModuleList([ffn] * 6)`, and train. What happens?
#
# - **A.** What the paper describes: all positions and all layers share one FFN.
# - **B.** All layers share one FFN, and its gradient is the sum of six.
# - **C.** All layers share their weights at the start. Six different gradients soon part them.

# %% quiz="quiz_shared"
quiz_shared = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_shared = "B"
### END SOLUTION

# %% [markdown] text="M4-text"
# ### In your own words
#
# *question M4 · {points}, graded by your instructor · 10 minutes*
#
# Why is the FFN of a Transformer applied to each position alone, and not to all positions at once? Imagine the alternative: an FFN that takes the whole
# sequence as one long vector of T · d_model numbers.
#
# 1. What would it cost, and what could it no longer do? How many weights has it for d_model = 512, d_ff = 4 · T · d_model and T = 100? Say what happens at T = 101.
# 2. What happens to the outputs when two tokens change places, in each design?
# 3. The tokens have to exchange information somewhere. Where does it happen in a Transformer? And how could it happen in a model that has no attention, such as
#    MLP-Mixer ([Tolstikhin et al. 2021](https://arxiv.org/abs/2105.01601))?
#
# Write into the cell below.

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
# - catch a layer that isn't position-wise, without looking inside: `is_position_wise`;
# - say why one sentence can't convict attention that sees all tokens: `position_wise_twin`;
# - place residual and norm, before and after: `residual_sublayer`.
#
# **Your own part.** Your `residual_sublayer` carries the stream past the FFN in the model of notebook 00. `machine()` runs it.
#
# Next: `05_parameters`, where the weights of all these layers are counted.

# %% figure="progress"
machine()
progress()

# %% [markdown] text="deeper-text"
# ## Deeper
#
# *deeper: the core path goes on with `05_parameters`*
#
# ### Fourteen tokens become one
#
# Deep in a stack of random layers tokens become alike. Attention averages, and the next layer averages the averages. Here are four such stacks, one of them with
# pre-norm. The number r is the tokens' distance from their mean, relative to their length: at 0 they are one.

# %% figure="predict-first-to-fall"
predict("first_to_fall")

# %% figure="clouds"
play(clouds.stacks)

# %% figure="collapse-after"
veil("Who is to blame, and who helps?", "when you have made the FFN slow the fall", of="clouds.slower", text=f"""
{collapse.table(collapse.WITHOUT_SKIP, (3, 6))}

The numbers are typical values of twenty other stacks, with weights of standard deviation 1/√fan-in and no biases. The ReLU takes half of the squares away, so the FFN
returns vectors 0.7 times as long as its input.

The FFN speeds the fall for two reasons, its shorter vectors and its ReLU.

**Length** does most of it: *vectors cut to the FFN's length* fall nearly as fast. Short vectors have small scores, small scores make even averages, and even
averages bring tokens together. Make vectors four times as long, and they crash later, with an FFN or without one.

**The ReLU** does the rest. Behind it no number is negative, so even unrelated vectors point partly the same way. After three layers, with *output as long as its input*, r is a quarter of
that with attention alone. Without its ReLU it is nearly the same.

{collapse.table(collapse.WITH_SKIP, (3, 24, 96))}

**Skips** turn the crash into a slide, and **pre-norm** turns the slide into a crawl: the stream outgrows what is added, so each layer changes it less. Post-norm,
which brings the stream back to size after each sum, doesn't help.

**The FFN** hurts at first: after three layers r is smaller with it in all twenty stacks, with skip and pre-norm and without. With them it helps later: from 24
layers on r is larger in all twenty. A plain matrix in its place helps more.

Dong, Cordonnier and Loukas ([2021](https://arxiv.org/abs/2103.03404)) proved the crash for attention alone, if its weights are not too large. Noci et al.
([2022](https://arxiv.org/abs/2206.03126)) find that skips don't stop the fall, unless what every layer adds is scaled down by the root of the number of layers, as with `shrink` above.
All this is about random weights.
""")

# %% [markdown] text="attention_only_collapse-text"
# ### Exercise `attention_only_collapse`
#
# *{points} · difficulty ●●○ · 10 minutes · deeper*
#
# Measure the fall yourself, with attention alone and with a skip. Subtract the mean token from each token, and compare what is left with what was there:
#
# $$r(X) = \frac{\lVert X - \bar X \rVert_F}{\lVert X \rVert_F}$$
#
# Every row of $\bar X$ is the mean of all tokens. The norms are roots of the sum of all squares.
#
# Then send the tokens through the layers. In a layer, X becomes attention(X), or X + attention(X) with a skip. It is one head as in notebook 01, without a mask, a norm or an FFN:
# softmax(Q Kᵀ / √h) V W_O, where h is the width of the head.
#
# - **Takes** `X0` [T, d], one token per row; `weights`, a list with a tuple `(Wq, Wk, Wv, Wo)` for each layer, of shapes [d, h], [d, h], [d, h] and [h, d]; and `skip`, True or False.
# - **Returns** a list of L + 1 numbers: r of `X0`, and r after each of the L layers. The list of layers may be empty.
# - Compute in **float64**, even if you get float32. Below 10⁻⁷, float32 shows its own rounding; float64 does so below 10⁻¹⁵. Change nothing that you are given.


# %% exercise="attention_only_collapse"
def attention_only_collapse(X0, weights, skip):
    """How far the tokens X0 [T, d] are from being one, before and after each layer of attention: a list of L + 1 floats."""

    ### BEGIN SOLUTION
    def residual(X):
        return ((X - X.mean(dim=0)).norm() / X.norm()).item()

    X = X0.double()
    residuals = [residual(X)]
    for layer in weights:
        Wq, Wk, Wv, Wo = (W.double() for W in layer)
        scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])
        out = torch.softmax(scores, dim=-1) @ (X @ Wv) @ Wo
        X = X + out if skip else out
        residuals.append(residual(X))
    return residuals
    ### END SOLUTION
    raise NotImplementedError

# %% code="plot-collapse"
generator = torch.Generator().manual_seed(0)  # another number: other tokens, other weights
X0 = torch.randn(14, 64, generator=generator)
layers = [tuple(torch.randn(64, 64, generator=generator) / 8 for _ in range(4)) for _ in range(96)]
try:
    plt.semilogy(attention_only_collapse(X0, layers, skip=False), label="attention alone")
    plt.semilogy(attention_only_collapse(X0, layers, skip=True), label="with skip")
    plt.title("14 tokens become one")
    plt.xlabel("layers")
    plt.ylabel("r(X)")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This plot appears when attention_only_collapse is written.")

# %% [markdown] text="witnesses-text"
# What a Transformer loses without its FFNs is something else, and notebook 10 looks for it.
#
# ### Three more views of the two rules
#
# A **loop** asks the FFN about one token after the other. Two **convolutions** with kernel size 1 slide the same small network over
# the tokens. And the **Jacobian**, the derivative of every output number by every input number, shows who depends on whom near this input. Each output
# token and input token have one square of it. Where nothing depends, the square is empty.

# %% code="witnesses"
torch.manual_seed(0)
ffn, x = FFN(6, 24), torch.randn(5, 6)
conv1, conv2 = nn.Conv1d(6, 24, 1), nn.Conv1d(24, 6, 1)
for conv, linear in ((conv1, ffn.linear1), (conv2, ffn.linear2)):
    conv.weight.data, conv.bias.data = linear.weight.data[:, :, None], linear.bias.data  # [out, in, kernel]
with torch.no_grad():
    whole = ffn(x)
    print("loop:       ", torch.allclose(torch.stack([ffn(token) for token in x]), whole, atol=1e-6))
    print("convolution:", torch.allclose(conv2(torch.relu(conv1(x.T))).T, whole, atol=1e-6))  # channels come first
for name, layer in (("FFN", ffn), ("attention", attention)):
    blocks = torch.autograd.functional.jacobian(layer, x).abs().amax((1, 3))  # [5, 5]: output token, input token
    print(f"\nJacobian of the {name}")
    for row in blocks:
        print("   ", " ".join("■" if value > 1e-9 else "·" for value in row))

# %% [markdown] text="ffn_chunked-text"
# ### In portions
#
# Between its two matrices an FFN is wide. For 100,000 tokens and 11,008 neurons, at two bytes a number, the hidden layer alone needs 2.2 GB. But no token waits for
# another one. So an FFN can take a few tokens, forget their hidden rows and go on, unless a backward pass needs those rows. While a model writes, it even takes one
# word at a time: attention keeps the keys and values of all earlier words in its *KV cache*, and the FFN needs no cache at all.
#
# ### Exercise `ffn_chunked`
#
# *{points} · difficulty ●●○ · 5 minutes · deeper*
#
# Return what `ffn(x)` returns, with at most `c` tokens in the hidden layer at a time.
#
# - **Takes** `x` [..., d_model], which may also be a single token [d_model]; a module `ffn` like the `FFN` of the first cell; and a whole number `c` ≥ 1.
# - **Returns** `ffn(x)`, in the shape and dtype of `x`. Gradients still flow.
# - No call gets more than `c` tokens, counted over **all** dimensions before the last. Every token goes in once. `c` need not divide their number.


# %% exercise="ffn_chunked"
def ffn_chunked(x, ffn, c):
    """ffn(x) for x [..., d_model], of which at most c tokens are in the hidden layer at a time."""
    ### BEGIN SOLUTION
    tokens = x.reshape(-1, x.shape[-1])  # [N, d_model]
    return torch.cat([ffn(chunk) for chunk in tokens.split(c)]).reshape(x.shape)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="bottleneck_rank-text"
# ### A bottleneck
#
# Usually d_ff is larger than d_model. What if it is smaller? Neuron j writes a multiple of one vector, column j of `linear2.weight`. So for every token the neurons
# write a sum of the same d_ff vectors, and all these sums have at most d_ff independent directions. How many they really have is their *rank*. Is so narrow a layer of
# any use? In a block its output is added to x, so x passes by, and only the *change* is narrow. *Adapters* (Houlsby et al. [2019](https://arxiv.org/abs/1902.00751))
# are such narrow FFNs inside a trained model.
#
# ### Exercise `bottleneck_rank`
#
# *{points} · difficulty ●●○ · 5 minutes · deeper*
#
# - **Takes** `ffn`, a module like the `FFN` of the first cell, in eval mode, and inputs `X` [N, d_model], in float32 or float64.
# - **Returns** an int, the rank of what the neurons write for X: of `ffn(X)` without `b2`.
# - Rounding is not rank. A singular value that is at most a millionth of the largest counts as zero, in either dtype.
# - If nothing is written at all, the rank is 0. Leave `ffn` and `X` as they were.


# %% exercise="bottleneck_rank"
def bottleneck_rank(ffn, X):
    """How many independent directions the neurons write for X [N, d_model]: an int."""
    ### BEGIN SOLUTION
    written = ffn(X) - ffn.linear2.bias  # [N, d_model]
    return int(torch.linalg.matrix_rank(written, rtol=1e-6))
    ### END SOLUTION
    raise NotImplementedError
