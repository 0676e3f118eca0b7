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
# # 04 · Which of these nine are real?
#
# Nine closed boxes read the same sentence. Each takes a vector for every word and gives one back. A box is *real* if it keeps two rules, as a feed-forward network does.
# It answers each word without looking at the others: it never looks *sideways*. And the same word gets the same answer wherever it is in the sentence: the box has no *favourites*. All
# other boxes are fakes.
#
# You can't open a box, but you can change the words. Press the word *it*. It becomes *ditch*, and a lamp lights wherever an output has moved. The sign ≠ means: one word, two answers.
#
# One of the nine you have met before.
#
# <span class="ffn-notebook-only">To wake the boxes up, press <b>Shift + Enter</b> three times.</span>

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course import toy_transformer
from ffnlab.course.boards import boxes, clouds, fooling
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

# %% figure="boxes-evidence"
veil(
    "What does ≠ prove?",
    "when you have caught your first box",
    of="boxes.charge",
    text="""
A lamp under an untouched word is proof that the box looks sideways. It may be gone after your next press, so it leaves a small dot.

The sign ≠ says less: the same word got two answers. That can have two reasons. Either the box treats positions differently, or it has looked at the other words.

One test decides. Write one word everywhere. Then there is nothing different to look at, so a ≠ that is left comes from the position: the box has a favourite.

Nothing proves that a box is real. It has only not been caught yet.
""",
)

# %% figure="boxes-after"
veil(
    "What was in the boxes?",
    "when all nine are settled",
    of="boxes.all",
    text="""
| box | inside | verdict |
|---|---|---|
| 1 | an FFN with ReLU and 24 neurons | real |
| 2 | a norm over the whole sequence, then an FFN | sideways: every word moves the mean and the spread |
| 3 | attention that looks back, then an FFN | sideways: from the new word to the end |
| 4 | an FFN, and something more at the last position | both: the full stop looks at *spunky*, and no word does |
| 5 | an FFN with GELU and only 10 neurons | real |
| 6 | an FFN; at the tenth position it has another W2 | a favourite |
| 7 | a convolution over three words | both: a word looks at its two neighbours, and at either end it has only one |
| 8 | x + FFN(norm(x)), where the norm sees one word alone | real |
| 9 | positions, attention and FFN of the creek model | both: *jump* hears every word before it, and each position adds a vector of its own |
""",
)

# %% [markdown] text="rules-text"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for question M4 and the part *Deeper* |
# | **You need** | `02_feed_forward`, and `self_attention` of `01_attention` |
# | **Points** | {points} |
#
# ## Two rules
#
# Attention is where words exchange something. The FFN works on each word alone:
#
# $$y_t = \mathrm{FFN}(x_t)$$
#
# On the right there is only $x_t$: that is the first rule. And FFN carries no index t: that is the second.
#
# **No looking sideways.** Output t depends on input t and on no other input.
#
# **No favourites.** The same vector gives the same output at every position.
#
# Note that the rules are about vectors. Our boxes always get the same vector for a word. Inside a Transformer, after attention, the same word can have two.
#
# A layer that keeps both rules is called *position-wise*. The paper of 2017 ([Vaswani et al.](https://arxiv.org/abs/1706.03762), section 3.3) says that its FFN is
# “applied to each position separately and identically”. What follows from it?
#
# - **Parameters.** An FFN that takes 512 numbers to 2,048 and back has 2.1 million. With an FFN for each of 1,024 positions, one layer would have 2.15 billion.
# - **Any length.** A fifteenth word needs nothing new, and disturbs no other.
# - **Learning.** What the weights learn at one position holds at every position.
# - **Any order.** If you move words, their outputs move along, unchanged. This is called *equivariance*.
#
# Positions share an FFN, but blocks usually don't: `[FFN(512, 2048) for _ in range(6)]` makes six.

# %% figure="anatomy"
anatomy.block("04")

# %% [markdown] text="inspectors-text"
# ## Six inspectors
#
# How can a function find out whether a box is real? The book *Dive into Deep Learning* feeds [its FFN](https://d2l.ai/chapter_attention-mechanisms-and-transformers/transformer.html)
# the same vector at every position, and all outputs are equal.
#
# Make your guess. Below it are that test, `ones`, and five others that people write. Each is an *inspector*: it feeds sentences to a closed box f, and returns `True` if it takes the box for
# real.
#
# | inspector | what it feeds | what it asks |
# |---|---|---|
# | `ones` | the same vector at every position | are all outputs equal? |
# | `zeros` | one word among zeros, at every position in turn | does it always get the same output? |
# | `first` | two sentences that differ in their first word | do all other outputs stay the same? |
# | `neighbours` | a new word at every inner position in turn | do the outputs beside it stay the same? |
# | `mirror` | the sentence turned round | do the outputs turn round with it? |
# | `shuffle` | the words in another order | do the outputs move along? |

# %% figure="predict-attention-fools"
predict("attention_fools")


# %% code="inspectors" output="fixed"
def same(a, b):
    """Whether two tensors are equal but for rounding."""
    return bool((a - b).abs().max() <= 1e-3 * torch.maximum(a.abs().max(), b.abs().max()))


def ones(f, T, d):
    """Equal words everywhere: are all outputs equal?"""
    Y = f(torch.ones(T, d))
    return same(Y, Y[:1].expand(T, d))


def zeros(f, T, d):
    """One word among zeros, at every position in turn: is its output always the same?"""
    word = torch.randn(d)
    outputs = []
    for t in range(T):
        X = torch.zeros(T, d)
        X[t] = word
        outputs.append(f(X)[t])
    return same(torch.stack(outputs), outputs[0].expand(T, d))


def first(f, T, d):
    """A new first word: do all the other outputs stay the same?"""
    X = torch.randn(T, d)
    Z = X.clone()
    Z[0] = torch.randn(d)
    return same(f(X)[1:], f(Z)[1:])


def neighbours(f, T, d):
    """A new word at every inner position in turn: do the outputs of its two neighbours stay the same?"""
    X = torch.randn(T, d)
    Y = f(X)
    for t in range(1, T - 1):
        Z = X.clone()
        Z[t] = torch.randn(d)
        if not same(f(Z)[[t - 1, t + 1]], Y[[t - 1, t + 1]]):
            return False
    return True


def mirror(f, T, d):
    """The sentence turned round: do the outputs turn round with it?"""
    X = torch.randn(T, d)
    return same(f(X.flip(0)), f(X).flip(0))


def shuffle(f, T, d):
    """The words in another order: do the outputs move along with them?"""
    X = torch.randn(T, d)
    order = torch.randperm(T)
    return same(f(X[order]), f(X)[order])


def attention(x):
    """Bare attention: queries, keys and values are x itself."""
    return torch.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1) @ x


torch.manual_seed(0)
layers = {"an FFN": FFN(6, 24)}  # after your guess, add "attention": attention
print(" " * 12 + "".join(f"{name:10}" for name in layers))
for inspector in (ones, zeros, first, neighbours, mirror, shuffle):
    verdicts = ["real" if inspector(layer, T=8, d=6) else "a cheat" for layer in layers.values()]
    print(f"{inspector.__name__:12}" + "".join(f"{verdict:10}" for verdict in verdicts))

# %% [markdown] text="fool_the_inspectors-text"
# ### Exercise `fool_the_inspectors`
#
# *{points} · difficulty ●●● · 15 minutes*
#
# Each of the six leaves a gap. **Write one box that fools five.**
#
# - **Takes** a sentence `X` [T, d] and **returns** a tensor of the same shape. T is at least 6. The inspectors come several times, with other words and lengths.
# - It has to cheat. We take a sentence of random words, and others in which some of these words come again, moved or among new ones. In most cases a word gets two answers that differ by
#   more than 1/50 of the largest output.
# - It is a function: the same sentence always gets the same outputs, and `X` stays as it was.
#
# A box that fools four earns one point. Below your check you can send the inspectors to your box, as often as you like. **Is there a box that fools all six?**
#
# Stuck? Run `hint("fool_the_inspectors")` in a cell of your own.


# %% exercise="fool_the_inspectors"
def fool_the_inspectors(X):
    """A layer [T, d] -> [T, d] that breaks a rule, although five of the six inspectors call it real."""
    ### BEGIN SOLUTION
    Y = X.clone()
    a, b = X[1], X[-2]  # neither at an end nor, with six words or more, neighbours
    told = a * b * (a - b)  # nothing, if they are equal or one of them is 0
    Y[1] += told
    Y[-2] -= told
    return Y
    ### END SOLUTION
    raise NotImplementedError


# %% figure="fooling"
play(lambda: fooling.inspect(fool_the_inspectors))

# %% figure="fooling-after"
veil(
    "How do others fool five?",
    "when you have fooled five",
    of="fooling.five",
    text="""
They give up `shuffle`. Let the second word and the last but one hear each other: neither is at an end, they are no neighbours, and in the mirror they change places. So only `ones` and
`zeros` are left, and there are two ways past them.

A subtle box lets the two tell each other something that is 0 if they are equal, or if one of them is 0. So there is nothing to hear among ones and zeros.

A rude box recognises the sentence. If all words are equal, or some are 0, it behaves, and otherwise it cheats. Cars have been built like that: in 2015 it came out that
[Volkswagen's software](https://en.wikipedia.org/wiki/Volkswagen_emissions_scandal) noticed when a car was being tested.

So an inspector should come in plain clothes: in random words, new ones each time.
""",
)

# %% [markdown] text="is_position_wise-text"
# ## Write the inspector
#
# ### Exercise `is_position_wise`
#
# *{points} · difficulty ●●● · 12 minutes*
#
# None of the six will do. Write one that your own cheat does not fool. It gets a closed box `f`, and feeds sentences [..., T, d] to it, to find out whether it keeps both rules.
#
# - **Takes** `f`, a function that maps [..., T, d] to [..., T, d], the numbers `T` and `d`, and a `seed` for your random inputs. T is at least 4.
# - **Returns** `True` if `f` is position-wise, otherwise `False`.
# - Outputs may be tiny or huge, so measure differences relative to the largest output. Under 1/10,000 it is rounding. A cheat shows as more than 1/50 on typical random inputs. Some cheat
#   at one position only.
#
# Below your check, send it into the nine boxes that you know, and into 35 others. Each box counts the sentences that it is fed: three in one call count as three. **How few can you manage with?** Can
# a single one be enough? Take no derivatives, because a derivative is a second look: it tells what the box would say to other words. Change your function, run its cell, then the board's.


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


# %% figure="inspection"
play(lambda: boxes.inspection(is_position_wise))

# %% figure="inspection-after"
veil(
    "How few are enough?",
    "when the second goal is settled",
    of="boxes_inspection.one",
    text="""
Two, for boxes like these. It is `shuffle` and `first` in one. Send a sentence of random words. Then move every word one position on, the last one to the front, and replace one
word by a new one.

In a position-wise layer each old word takes its answer along. A favourite is caught because each position is compared with the next. A box that looks at fixed positions is caught because
other words are there now. One that looks at neighbours, or averages over all words, is caught because one word is new.

The next exercise shows why a single sentence is not enough against attention.
""",
)

# %% [markdown] text="position_wise_twin-text"
# ### Exercise `position_wise_twin`
#
# *{points} · difficulty ●●○ · 8 minutes · deeper*
#
# Now change sides. An inspector has fed one sentence to a cheat. Build an innocent, position-wise function that answers this sentence exactly as the cheat does. If
# you can, the sentence proves nothing.
#
# - **Takes** `f`, which maps [T, d] to [T, d], and the sentence `X` [T, d]. f looks sideways, but it gives equal words, that is equal rows of X, equal answers. Attention that sees all
#   words does so.
# - **Returns** a position-wise function `g` that maps [n, d] to [n, d], for any n, with g(X) = f(X).
# - A word that is not in X may get any answer, but the same one everywhere.


# %% exercise="position_wise_twin"
def position_wise_twin(f, X):
    """A position-wise function g that answers the sentence X [T, d] as f does: g takes [n, d] and returns [n, d]."""
    ### BEGIN SOLUTION
    Y = f(X)  # [T, d]

    def g(Z):
        nearest = torch.cdist(Z, X).argmin(dim=1)  # [n], for each word the row of X that is most like it
        return Y[nearest]

    return g
    ### END SOLUTION
    raise NotImplementedError


# %% [markdown] text="creek-text"
# ## Around the FFN
#
# In notebook 00 the FFN of the creek model brought *creek* and *cold* together. How could it, if an FFN never looks sideways? Send your inspector to three parts of box 9. Which of them
# is real? Say it before you run the cell.

# %% code="creek"
creek = toy_transformer.load()


def creek_ffn(x):
    return creek.linear2(torch.relu(creek.linear1(x.float())))


def behind_positions(x):
    return creek_ffn(x + creek.places.weight[:14])


def behind_attention(x):
    sentences = x.float().reshape(-1, 14, 32)
    return creek_ffn(sentences + creek.attention(sentences)).reshape(x.shape)


try:
    for part in (creek_ffn, behind_positions, behind_attention):
        print(f"{part.__name__:18}", "position-wise" if is_position_wise(part, T=14, d=32) else "not position-wise")
except NotImplementedError:
    print("This cell lights up when is_position_wise is written.")

# %% [markdown] text="residual-text"
# <details><summary>When you have run the cell</summary>
#
# The FFN is innocent. Attention looked sideways before it, and put *creek* and *cold* into the vector at *jump*. The FFN reads that one vector, and nothing else.
#
# `behind_positions` looks at no other word, either. But it adds another vector at each position, so it has favourites.
#
# </details>
#
# ## The sum around it
#
# A block of a Transformer has two halves, attention and FFN. What each half computes is *added* to the x that came into it: the **residual connection**, or skip. The sum that runs through
# all blocks is the *residual stream*. And somewhere a **norm** brings each token's numbers to one scale. LayerNorm shifts and scales them to mean 0 and variance 1, and then applies a learned
# gain and bias.
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
# and deep stacks are easier to train. There are more wirings: Gemma 2 has a norm on either side of the FFN, and PaLM and GPT-J run attention and FFN in *parallel*. Write the first two.
#
# - **Takes** `x` [..., d_model], two callables `ffn` and `norm` that map [..., d_model] to [..., d_model], and `mode`, which is `"pre"` or `"post"`.
# - **Returns** the output of this half of a block, in the shape and dtype of `x`.
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
    plt.title("24 blocks, wired by you: five seeds")
    plt.xlabel("blocks")
    plt.ylabel("root mean square of x")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This cell lights up when residual_sublayer is written.")

# %% figure="stream-after"
veil(
    "How does it grow?",
    "when you have guessed",
    of="pre_norm_size",
    text="""
What is added is unrelated to what is there, so mean squares add up. With the weights that `nn.Linear` begins with, an FFN adds 0.25 in every block. In the first block, attention adds
about 0.4. If it went on like this, 24 blocks would end at

`√(1 + 24 · (0.25² + 0.4²)) = 2.5`

But x has grown to more than 4 on average. So something must add more and more, and it is attention: in the 24th block it adds nearly 1 on average. In an average unlike tokens cancel, and alike ones don't.
Deep in the stack they are alike.

Set `shrink = (2 * depth) ** -0.5`, and the size stays near 1 at any depth. GPT-2 starts with that factor on the weights that write into the stream. And pre-norm
models have a final norm.
""",
)

# %% [markdown] text="quiz_kernel-text"
# ## Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_kernel`
#
# The kernel size of a convolution is the length of the window that it slides along the sequence. Here the window is centred at t. With kernel size 1, two convolutions with the
# activation between them compute what an FFN computes. Give them other sizes. Which pair can catch a token **two** positions away, at t − 2 or t + 2?
#
# - **A.** Sizes 1 and 3, in either order.
# - **B.** Sizes 3 and 3.
# - **C.** Neither: only a single size of 5 reaches so far.

# %% quiz="quiz_kernel"
quiz_kernel = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_kernel = "B"
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
# **equivariant**: the two outputs change places as well, and nothing else happens. The long one has different weights for different positions, so all
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

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | A layer is position-wise if each output depends on its own token alone, and equal tokens get equal outputs at every position. An FFN is. What it knows of other tokens, attention has put into its vector before. | the nine boxes, the three parts of box 9 |
# | Attention that sees all tokens passes a test in which they are equal, or only change their order. A layer with a favourite passes a test that only replaces tokens. | `fool_the_inspectors` |
# | To catch both, move the tokens and replace one: each token that stays has to take its output along. | `is_position_wise` |
# | A test can show that a layer cheats, never that it does not. If a layer gives equal words of one sentence equal answers, some position-wise function answers that sentence the same. | the inspection's second goal, `position_wise_twin` |
# | The FFN's output is added to its input, so both have to be equally wide. With pre-norm and random weights the sum grows from block to block. | `residual_sublayer`, the guess about 24 blocks |
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
# Attention averages, and the next layer averages the averages. So deep in a stack of random layers all tokens become alike. What slows that down, and what speeds it up? Here are four such
# stacks. The number r is the tokens' distance from their mean, relative to their length: at 0 they are one.

# %% figure="predict-first-to-fall"
predict("first_to_fall")

# %% figure="clouds"
play(clouds.stacks)

# %% figure="collapse-after"
veil(
    "What sets the pace?",
    "when the second goal is settled",
    of="clouds.slower",
    text=f"""
{collapse.table(collapse.IN_TEXT, (3, 24, 96))}

The FFN speeds the fall mostly because its outputs are short: short vectors have small scores, small scores make even averages, and even averages bring tokens together.

A residual connection turns the crash into a slide, and pre-norm turns the slide into a crawl, because the stream outgrows what each layer adds. There the FFN speeds the fall at first, and
slows it later.

Nothing here stops it.

These are typical values of twenty other stacks, all with random weights. Dong, Cordonnier and Loukas ([2021](https://arxiv.org/abs/2103.03404)) proved the crash for attention alone, if its weights are not too large. Noci et al.
([2022](https://arxiv.org/abs/2206.03126)) find that residual connections stop it only if what every layer adds is scaled down, as with `shrink` above.
""",
)

# %% [markdown] text="attention_only_collapse-text"
# ### Exercise `attention_only_collapse`
#
# *{points} · difficulty ●●○ · 10 minutes · deeper*
#
# Measure the fall yourself, with attention alone and with a residual connection. Subtract the mean token from each token, and compare what is left with what was there:
#
# $$r(X) = \frac{\lVert X - \bar X \rVert_F}{\lVert X \rVert_F}$$
#
# Every row of $\bar X$ is the mean of all tokens. The norms are roots of the sum of all squares.
#
# Then send the tokens through the layers. In a layer, X becomes attention(X), or with `skip` X + attention(X). It is one head as in notebook 01, without a mask, a norm or an FFN:
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
    plt.semilogy(attention_only_collapse(X0, layers, skip=True), label="with a residual connection")
    plt.title("14 tokens become one")
    plt.xlabel("layers")
    plt.ylabel("r(X)")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This plot appears when attention_only_collapse is written.")

# %% [markdown] text="witnesses-text"
# What a Transformer loses without its FFNs is another question, and notebook 10 looks into it.
#
# ### Who depends on whom?
#
# The *Jacobian* holds the derivative of every output number by every input number. Group it by tokens: a square is empty where an output token does not depend on an input token. **Draw
# the squares for five tokens, once for an FFN and once for attention. Then run the cell.** It also asks the FFN about one token after the
# other, in a loop. And it slides the FFN over the tokens, as two convolutions with kernel size 1.

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
# Between its two matrices an FFN is wide. For 100,000 tokens and 11,008 neurons, at two bytes a number, the hidden layer alone needs 2.2 GB. **Does a computer with 1 GB have to give up?**
#
# <details><summary>When you have thought about it</summary>
#
# No token waits for another one. So an FFN can take a few tokens, forget their hidden rows and go on, unless a backward pass needs those rows. While a model writes, it even takes one token at
# a time: attention keeps the keys and values of all earlier tokens in its *KV cache*, and the FFN needs no cache at all.
#
# </details>
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
# Usually d_ff is larger than d_model. If it is smaller, all that the neurons write is narrow: neuron j writes a multiple of one vector, column j of `linear2.weight`. So for every token they
# write a sum of the same d_ff vectors, and all these sums have at most d_ff independent directions. How many they really have is their *rank*. **Can so narrow an FFN be of any use in a block?**
#
# <details><summary>When you have thought about it</summary>
#
# In a block its output is added to x. So x passes by in full, and only the *change* is narrow. *Adapters* (Houlsby et al. [2019](https://arxiv.org/abs/1902.00751)) are such narrow FFNs
# inside a trained model.
#
# </details>
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
