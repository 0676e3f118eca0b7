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
# # 11 · A real one
#
# *deeper: the core path ends with `10_capstone`*
#
# In the creek model, 64 neurons decided whether a dog jumps over a creek or into it. Here are eight neurons out of 9,216. They are from one of the most downloaded models of all: it turns a sentence into 384
# numbers, so that sentences that say the same are near each other.
#
# Change the sentence and watch the lamps. What does each of them hear?
#
# <span class="ffn-notebook-only">To light the lamps, press <b>Shift + Enter</b> three times.</span>

# %% setup="imports"
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, play, predict, progress, veil
from ffnlab.course import real_check, real_file, real_model, real_parts
from ffnlab.course.boards import ears
from ffnlab.course.experiments import real
from ffnlab.course.figures import real as figures

# %% figure="eight"
play(ears.eight)

# %% figure="eight-after"
veil(
    "Who are they?",
    "when both that hear “not” have a name",
    of="ears_eight.hear",
    text="""
B is neuron 1265 of layer 2, and F is neuron 829 of layer 0. You will meet both again.

The model reads *tokens*, which are words or pieces of words, and puts two of its own around them: `[CLS]` and `[SEP]`. They have no meaning. And yet D, neuron 856 of layer 0, reaches 24 at
`[CLS]`, whatever the sentence says. No other neuron is as loud, and it writes as loudly as it fires. Such a giant in a token's vector is called a *massive activation*. Remember it: it will spoil an experiment.

We named the lamps by pairs of sentences, one with the thing and one without, and tried the names on other pairs. “Music” held in 12 of 12, “animal” in 6 of 6, “vehicle” in 10 of
12. Is a horse a vehicle?
""",
)

# %% [markdown] text="file-text"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more: all of it is *deeper* |
# | **You need** | `02_feed_forward` and `04_every_position` |
# | **Points** | {points} |
#
# ## A file of numbers
#
# [all-MiniLM-L6-v2](https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2) is a BERT: six blocks, d_model 384, d_ff 1,536, twelve heads. The file has no diagram in it,
# only numbers with names.
#
# **It is not part of the course.** The next cell says whether you have it, and what fetching it costs. Without it every cell shows stored results. The exercises need no file, and are graded
# without it.

# %% figure="offer"
real_file.offer()

# %% figure="predict-share"
predict("real_share")

# %% figure="share-after"
veil(
    "What is the rest?",
    "when you have guessed",
    of="real_share",
    text=f"""
{figures.file_to_scale().still()}

Over half of the file is a table with a vector for each of 30,522 tokens. So the FFNs have 31 % of the file, though they have two thirds of the blocks.
""",
)

# %% code="names" output="fixed"
for name, shape in real.stored()["shapes"].items():  # with the file: real_file.numbers() has the numbers, too
    if name.startswith("encoder.layer.0.") and ".self." not in name:
        print(f"{name:52} {shape}")

# %% [markdown] text="real_half-text"
# Five more layers have the same names with another number.
#
# ### Exercise `real_half`
#
# *{points} · difficulty ●●○ · 12 minutes*
#
# Write the half of a block that has the FFN: FFN, residual connection, norm. If you like, paste your `ffn_forward` and your `residual_sublayer` into the cell and use them.
#
# - **Takes** `x` [..., d_model], the number of a `layer`, the tensors `W` by name, and an activation `act`.
# - **Returns** a tensor like `x`. `x` and `W` stay as they are.
# - BERT is post-norm. Its settings say `"hidden_act": "gelu"` and `"layer_norm_eps": 1e-12`.
#
# Nothing in the file says which way a matrix lies. Two of the weights above fit `x @ weight` as they are. **Do they belong there?**
#
# The check tries your function on a little model with the same names. The cell below the check runs your function inside the real one, if you have it.

# %% exercise="real_half"
def real_half(x, layer, W, act=F.gelu):
    """The half of block `layer` that has the FFN: x [..., d_model] -> [..., d_model]."""
    ### BEGIN SOLUTION
    prefix = f"encoder.layer.{layer}."
    hidden = act(F.linear(x, W[prefix + "intermediate.dense.weight"], W[prefix + "intermediate.dense.bias"]))
    total = x + F.linear(hidden, W[prefix + "output.dense.weight"], W[prefix + "output.dense.bias"])
    gain, bias = W[prefix + "output.LayerNorm.weight"], W[prefix + "output.LayerNorm.bias"]
    return F.layer_norm(total, (x.shape[-1],), gain, bias, eps=1e-12)
    ### END SOLUTION
    raise NotImplementedError

# %% figure="agreement"
real_check.show(real_half)

# %% [markdown] text="find-text"
# <details><summary>Does a small mistake matter?</summary>
#
# With the GELU that has tanh, a number is off by 0.002, and the cosine with the right sentence vector is still 1.0000: you would never notice. Without b2 it is 0.97. With the norm before the FFN, or
# with the matrices exchanged, it is below 0.1: noise of the right shape, without an error message.
#
# </details>
#
# ## Which neuron hears it?
#
# You were given eight neurons. How would you find B among 9,216? Write pairs of sentences, with a *not* and without it, and see which neurons are louder. But first a guess.

# %% figure="predict-luck"
predict("real_luck")

# %% figure="luck-after"
veil(
    "Do more pairs help?",
    "when you have guessed",
    of="real_luck",
    text=f"""
{figures.sieve().still()}

The 61 other pairs are sentences of Python's manual, each with its *not* and with the *not* taken out. 1265 fits 61 of them, and 829 fits 59. Four
others of the 9,216 come near, with 50 to 53.

So the sentences that find a neuron can't prove it. Those that prove it had better be somebody else's: whoever wrote the first list has habits, and a neuron may have found the habits.
""",
)

# %% [markdown] text="find_neuron-text"
# ### Exercise `find_neuron`
#
# *{points} · difficulty ●●○ · 8 minutes*
#
# Let the first half of the pairs search, and the second half prove.
#
# - **Takes** two tensors [pairs, neurons], with an even number of pairs: `loud_with[i, n]` is the loudest that neuron n gets in the sentence of pair i with the thing, `loud_without[i, n]` in the one without it.
# - **Returns** a pair of whole numbers. The first is the number of the neuron that you trust, chosen by the first half. The second is the number of pairs in the second half in which it is louder by
#   more than 1.
# - A good neuron may miss a pair, and a bad one may shout in one. Choose so that neither fools you. Halves of one list are the cheap version of a proof. The manual's pairs are the better one.

# %% exercise="find_neuron"
def find_neuron(loud_with, loud_without):
    """The neuron that the first half of the pairs [pairs, neurons] finds, and in how many pairs of the second half it holds."""
    ### BEGIN SOLUTION
    half = len(loud_with) // 2
    difference = loud_with - loud_without
    neuron = difference[:half].median(dim=0).values.argmax()
    return int(neuron), int((difference[half:, neuron] > 1).sum())
    ### END SOLUTION
    raise NotImplementedError

# %% code="hunt"
mine = [  # with the file: your own pairs, at least eight; the second half had better be written by somebody else
    # ("The wall is red.", "The wall is thick."),
]
try:
    loud = real.loudness()
    neuron, hits = find_neuron(loud["with"], loud["without"])
    print(f"Our 16 pairs with and without a negation: {real.place(neuron)}, {hits} of 8.")
    print(f"Pairs of Python's manual that it tells apart: {int(loud['hits'][neuron])} of {real.stored()['pairs']}.")
    if 0 < len(mine) < 8:
        print("Write at least eight pairs.")
    elif mine and real_file.find():
        neuron, hits = find_neuron(*(real_model.loudest(list(texts)) for texts in zip(*mine, strict=True)))
        print(f"Yours: {real.place(neuron)}, {hits} of {len(mine) - len(mine) // 2}.")
except NotImplementedError:
    print("This cell lights up when find_neuron is written.")

# %% [markdown] text="name-text"
# ## Is *not* its name?
#
# 1265 has passed everything so far. Now try to break its name, in both directions. Write your own sentences, or, without the file, find them among ours.

# %% figure="two"
play(ears.two)

# %% figure="sound-after"
veil(
    "What else does it hear?",
    "when it has burned without a negation",
    of="ears_two.sound",
    text="""
Of the manual's 134 sentences with a negation, all light it above 2. But so do 122 of the 737 without one. What burns there is *only* (27), *non-* (10), *empty* (9), *than* (8), *error*, *instead*,
*fails*, *different* … 829 has false alarms, too, in 43 of the 737, nearly all at *only* (30) or *non-* (12).

Something is excluded, missing, or otherwise: that would be a better name. It is ours. The model has none, and your next sentence may break it.
""",
)

# %% figure="deaf-after"
veil(
    "Why is it deaf?",
    "when it has missed a “not”",
    of="ears_two.deaf",
    text="""
| the mean of thirty sentences like | 829 | 1265 |
|---|--:|--:|
| The baker is not tired today. | 4.6 | 5.1 |
| Tired or not, the baker has to go home. | 4.3 | 1.0 |
| If not tired, the baker is at least friendly. | 4.3 | 1.0 |
| Isn't the baker tired? | 4.3 | 1.9 |
| The baker is not only tired but also rich. | 4.5 | 2.9 |
| The baker spelled the word “not”. | 4.5 | 3.9 |

1265 was never below 3.9 in the first row, and never above 1.7 in the second and third. Longer sentences may differ.

829 lights at negating words, such as *not*, *no* and *cannot*, and at *only*, wherever they stand. 1265 also looks at what is around. No FFN can know that from one word: by layer 2, attention has brought the others.

Does 1265 hear whether something is negated, then? In the last row nothing is, and it burns. So this name breaks as well.
""",
)

# %% [markdown] text="held-text"
# ## Does it do anything?
#
# A lamp may burn where nobody looks. So switch it off, and see whether a sentence and its negation become harder to tell apart. Your `real_half` takes any activation, so you need not touch it.
#
# ### Exercise `held`
#
# *{points} · difficulty ●●○ · 6 minutes*
#
# Write an activation like `act` in which one neuron has the same value, whatever it reads.
#
# - **Takes** `act`, the number of a `neuron`, and a `value`.
# - **Returns** a function of z [..., d_ff] that gives a tensor like z. It has to serve a batch and a single token, and z stays as it was.

# %% exercise="held"
def held(act, neuron, value):
    """A function of z [..., d_ff] like act, in which one neuron always has this value."""
    ### BEGIN SOLUTION
    def change(z):
        h = act(z).clone()
        h[..., neuron] = value
        return h

    return change
    ### END SOLUTION
    raise NotImplementedError

# %% code="silence"
def alike(first, second, layer=None, act=F.gelu):
    """How alike two sentences are by your real_half, from about 0 to 1. In one layer the activation can be another."""
    def half(x, n):
        return real_half(x, n, real_file.numbers(), act if n == layer else F.gelu)

    a, b = real_model.vectors([first, second], half)
    return float(a @ b)


pair = "The dog is not afraid of the water.", "The dog is afraid of the water."  # write your own
try:
    print(f"as it is      {alike(*pair):.3f}")
    print(f"without 1265  {alike(*pair, layer=2, act=held(F.gelu, 1265, 0.0)):.3f}")
    # 795 is another neuron of layer 2, to compare
    print(f"without 795   {alike(*pair, layer=2, act=held(F.gelu, 795, 0.0)):.3f}")
except NotImplementedError:
    print("These lines light up when real_half and held are written.")
except real_file.ModelAbsent:
    likenesses = ", ".join(f"{name} {value:.3f}" for name, value in real.stored()["example"].items())
    print(f"Stored, because the model is not on this machine: {likenesses}.")

# %% figure="predict-off"
predict("real_off")

# %% figure="off-after"
veil(
    "Then what is a proof?",
    "when you have guessed",
    of="real_off",
    text=f"""
{figures.silenced().still()}

“20 of 20” tells the direction of an effect, not its size. Without 1265, 56 of all 61 pairs come nearer, on average by 0.014. Without 970, one of the six others, also 56, by 0.0003.

For 1265: it was not chosen by the manual's pairs, and the next neuron does a third as much. Of 24 pairs that say the same in other words, 20 move by
less than 0.006. In three it hears both sentences (*broken*, *out of order*), and they move apart. One has a single *not*, and comes nearer, by 0.028.

Against it: neuron 308 tells 51 of the 61 pairs apart, and moves all 20 the *other* way, by 0.015. Without 1265 the 20 pairs are 0.963 alike instead of 0.937, not 1. And 829, of layer 0, moves
them by 0.011. So “the model understands *not* by it” would be too much.
""",
)

# %% [markdown] text="place-text"
# ## Off is not nothing
#
# A neuron that is off has the value 0. That is a choice as well. What if you silence whole FFNs? We measure it with 24 pairs of *twins*, sentences that say the same in other words, and with *strangers*, any two others. Write the pairs as two columns. Each sentence looks for its twin in the other column, and has found it if none is more alike: 24 searches from the left, and 24 from the right.

# %% figure="predict-place"
predict("real_place")

# %% figure="place-after"
veil(
    "The mean of what?",
    "when you have guessed",
    of="real_place",
    text=f"""
{figures.replacements().still()}

Remember the giant. At `[CLS]` the first FFN writes a vector of length 193; at a word, of length 5. The mean of all tokens is full of giants, and every word gets a share. With a mean for `[CLS]`, one for
`[SEP]` and one for words, strangers fall to 0.48.

*Centred*: the mean of all these vectors is subtracted first.

| in their place | find their twin | twins, strangers | centred |
|---|--:|--:|--:|
| themselves | 24, 24 | 0.70, 0.10 | 0.66, −0.04 |
| zeros | 24, 24 | 0.72, 0.32 | 0.57, −0.04 |
| the mean of all | 21, 23 | 0.98, 0.96 | 0.49, −0.03 |
| means by kind | 23, 23 | 0.77, 0.48 | 0.54, −0.04 |

Centred, strangers are strangers in all rows, and twins are still alike. So most of what the mean did was to shift all vectors in the same way.
Which is gentler, zero or a mean? It depends on the ruler.
""",
)

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | A real model is a file of numbers with names. FFNs have two thirds of a block, and of this file less than a third. | the guess about the file |
# | Your functions run it. What the numbers mean is in no number: which way a matrix lies, which GELU, where the norm is. | `real_half` |
# | Some sentences find a neuron, and others, by somebody else, prove it. | the guess about two pairs, `find_neuron` |
# | A neuron's name is ours, and one sentence can break it. | the sentences that fooled 1265 |
# | What a neuron hears is one claim, what it does is another. To test it, switch it off, and all others beside it, and say what takes its place. | `held`, the guesses about 20 of 20 and about the mean |
#
# **The whole model, on your code.** The next cell takes `self_attention`, `ffn_forward`, `activation` and `residual_sublayer` out of your `my_transformer.py`, and runs all six blocks on them.
#
# There are 9,216 neurons in it. You met two that hear *not*. You have seen a *not* that one of them misses.

# %% figure="progress"
real_parts.run()
progress()
