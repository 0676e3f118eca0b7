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
# # 01 · Can a mix of words say over or into?
#
# This is a mixing desk. Each word has a fader, and the dot is the mix of the words. Pull the faders until the dot is on the star. There are four levels. Win each of
# them, or raise its flag and say why it can't be won.
#
# <span class="ffn-notebook-only">To wake the desk up, press <b>Shift + Enter</b> three times.</span>

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course import toy_transformer, world
from ffnlab.course.boards import desk, fold
from ffnlab.course.experiments import twin, without_ffn
from ffnlab.course.figures import anatomy
from ffnlab.course.figures.shared import embeddings
from ffnlab.drawing import style

style.use()

# %% figure="desk"
play(desk.stars())

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M1 |
# | **You need** | softmax, matrix products and multi-head attention seen once, and `00_start_here` |
# | **Points** | {points} |
#
# In notebook 00 you switched the FFN of the creek model off. Its attention was left, and tossed a coin between *over* and *into*. Attention only
# mixes words. **Can a mix of words say over or into?**

# %% figure="anatomy"
anatomy.block("01")

# %% [markdown] text="five-steps"
# ## 1 · The desk that pulls its own faders
#
# Attention is a mixing desk. It takes perhaps 40 % of *creek*, 30 % of *cold* and 30 % of *dog*, and makes one new vector of the three. For the token at position t
# the mix is
#
# $$\mathrm{mix}_t = \sum_s A_{ts}\, V_s$$
#
# Row t of the **attention matrix** A holds the weights of this mix. None of them is below 0, and they sum to 1. The $V_s$ are the words as they enter the mix, their
# **values**. What you met at level 2 is a law of attention: a mix never leaves the **convex hull** of its values, which is the set of all their mixes.
#
# In attention the words pull the faders themselves, in five steps. This is one **head** for T tokens X of shape [T, d]:
#
# | | step | formula | shape |
# |---|---|---|---|
# | 1 | three projections | $Q = X W_Q,\quad K = X W_K,\quad V = X W_V$ | [T, h] each |
# | 2 | scores | $Q K^\top / \sqrt{h}$ | [T, T] |
# | 3 | weights | $A = \mathrm{softmax}(\text{scores})$, each row by itself | [T, T] |
# | 4 | mix | $A V$ | [T, h] |
# | 5 | output | $(A V)\, W_O$ | [T, d] |
#
# $W_V$ and $W_O$ move all words at once, as the matrix of level 4 does, and the hull moves with them. Without the √h, dot products of long vectors would often be so large that
# softmax gives nearly all the weight to one word. The outputs of several heads are added up, which is the same as concatenating them before one $W_O$.

# %% [markdown] text="self_attention-text"
# ### Exercise `self_attention`
#
# *{points} · difficulty ●●○ · 6 minutes*
#
# Write the five steps.
#
# - **Takes** `X` [T, d], `Wq`, `Wk`, `Wv` [d, h], `Wo` [h, d], and perhaps a matrix `A`.
# - **Returns** the pair `(out, A)`: the output [R, d] and the weights [R, T]. R is T, unless a given `A` has another number of rows.
# - Without `A`, compute the weights from `X`. There is no mask.
# - **With `A`**, skip steps 2 and 3. Use this `A` as it is, whatever its numbers, and return it.
# - One head, no batch, no residual connection. Everything stays in the dtype of `X`, and gradients flow.
#
# An example: with `A = torch.full((1, T), 1 / T, dtype=X.dtype)` there is one output, made of the plain mean of all values.


# %% exercise="self_attention"
def self_attention(X, Wq, Wk, Wv, Wo, A=None):
    """One head over X [T, d]: (out, A), each with a row for every output. A given: used in place of computed weights."""
    ### BEGIN SOLUTION
    if A is None:
        scores = (X @ Wq) @ (X @ Wk).T / math.sqrt(Wq.shape[1])  # [T, T]
        A = torch.softmax(scores, dim=-1)
    return A @ (X @ Wv) @ Wo, A
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="quiz_hull-text"
# ### Question `quiz_hull`
#
# *one point; put the letter in quotes*
#
# In one head, the third number of every value is between 0.2 and 0.5. Where can the third number of a mix lie, before $W_O$? Choose the tightest answer.
#
# - **A.** Anywhere: the scores can be any numbers.
# - **B.** At any multiple of a value's number there.
# - **C.** Between 0.2 and 0.5.
# - **D.** Between −1 and 1, because softmax normalises.

# %% quiz="quiz_hull"
quiz_hull = ...  # "A", "B", "C" or "D"
### BEGIN SOLUTION
quiz_hull = "C"
### END SOLUTION

# %% [markdown] text="linear-text"
# ## 2 · Linear in what?
#
# Attention only mixes, so is it linear? A map f is **linear** if f(sX) = s·f(X) for every number s, and f(X + Y) = f(X) + f(Y). Test the first of the two: multiply all
# vectors of a sentence by s, and see how far f(sX) is from s·f(X).

# %% figure="predict-scaled-zero"
predict("scaled_zero")

# %% code="scaled"
torch.manual_seed(0)
X = embeddings(dtype=torch.float64)  # [14, 6]: “The creek was cold and the spunky dog wanted to jump over it.”
W = [torch.randn(6, 4).double() / 2 for _ in range(3)] + [torch.randn(4, 6).double() / 2]
steps = [n / 8 for n in range(1, 33)]  # after your guess, let it begin at −16
try:
    out, A = self_attention(X, *W)
    for label, frozen in (("A free", None), ("A frozen at s = 1", A)):
        off = [(self_attention(s * X, *W, frozen)[0] - s * out).norm() / (s * out).norm() for s in steps]
        plt.plot(steps, off, label=label)
    plt.xlabel("s")
    plt.title("How far f(sX) is from s·f(X), in lengths of s·f(X)")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This curve appears when self_attention is written.")

# %% figure="scaled-after"
veil("Is attention linear?", "when you have guessed", of="scaled_zero", text="""
**With A frozen the distance is 0 for every s**, because only products with fixed matrices are left. With A free it is 0 at s = 1 and at s = −1, and nowhere else on
the curve. (At s = 0 both sides are 0, so the curve has a gap.)
""")

# %% [markdown] text="superposition-text"
# The second property, f(X + Y) = f(X) + f(Y), is called **superposition**. With it you can take the head apart. The next cell measures how far each step is from it:
#
# $$\frac{\lVert f(X+Y) - f(X) - f(Y) \rVert}{\lVert f(X+Y) \rVert}$$
#
# A linear map gives 0. Above 1 the error is larger than the output.

# %% figure="predict-one-token"
predict("one_token")

# %% code="linear-in-what-cell"
def superposition_error(f, X, Y):
    """How far f is from f(X + Y) = f(X) + f(Y), relative to f(X + Y)."""
    whole = f(X + Y)
    return ((whole - f(X) - f(Y)).norm() / whole.norm()).item()


one_part, another = embeddings(dtype=torch.float64)[:4], embeddings(dtype=torch.float64)[6:10]
try:
    _, A = self_attention(one_part, *W)
    maps = {
        "2    the scores, in X": lambda X: (X @ W[0]) @ (X @ W[1]).T,
        "3    softmax, in its input": lambda X: torch.softmax(X, dim=1),
        "4    the mix, in V, with A frozen": lambda X: A @ X,
        "1-5  the head, in X, with A frozen": lambda X: self_attention(X, *W, A)[0],
        "1-5  the head, in X": lambda X: self_attention(X, *W)[0],
        # After your guess, take the # away from the next line:
        # "1-5  the head, in X, for one token": lambda X: self_attention(X[:1], *W)[0],
    }
    for name, f in maps.items():
        print(f"{name:36} {superposition_error(f, one_part, another):.2f}")
except NotImplementedError:
    print("This table fills when self_attention is written.")

# %% figure="linear-in-what-after"
veil("Linear in what?", "when you have guessed", of="one_token", text="""
Attention is linear in the **values**, as long as the weights stay as they are. In X it is not, except where nothing can move the weights: for a token on its own, or for weights that are equal whatever the words are.
""")

# %% [markdown] text="quiz_linear-text"
# ### Question `quiz_linear`
#
# You compute A from a sentence, and keep it. At *jump* it gives *creek* 40 %. Then you multiply the vector of *creek* by 3, leave all other words alone, and use the
# old A. The output at *jump* is …
#
# - **A.** three times the old output.
# - **B.** the old output, plus 0.8 times the output that *creek* alone would give.
# - **C.** something else, because the softmax is not linear.

# %% quiz="quiz_linear"
quiz_linear = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_linear = "B"
### END SOLUTION

# %% [markdown] text="votes-text"
# ## 3 · A sum of votes
#
# Back to the creek, with the simplest attention there is: no queries, no keys, and every word has the same weight. The attention of the creek model is of this kind.
# From the mix the model reads off *into* or *over* with one weighted sum. So each word brings one number, its **vote**, and the average of the votes decides.
#
# Above 0 says *into*, below 0 *over*. Choose the votes.

# %% figure="votes"
play(desk.votes())

# %% figure="votes-after"
veil("What rule is this?", "when you have settled all four", of="desk_votes.four", text="""
It is called **XOR**, exclusive or: *into* is right where exactly one of two things holds, water or cold. No adding up of votes can follow this rule. Other rules
are no problem. For *into* where there is water **and** cold, give *creek* 2, *cold* 2, and the other two −3.
""")

# %% [markdown] text="creek-text"
# Those were your votes. A *trained* model has learned its own. Can they win where yours could not? The cell asks the twin from notebook 00 how far *into* leads *over*
# in each of the four sentences. It adds up this lead for the two sentences where *into* is right, and for the two where *over* is right. To be right, a model needs the first total above 0 and the other one below it.

# %% code="creek" output="fixed"
model = twin.load()


def lead(weather, place, ffn):
    """How far the score of into is ahead of that of over."""
    words = f"the {place} was {weather} and the spunky dog wanted to jump".split()
    scores = model(toy_transformer.tensor([words]), ffn)[0, -1]
    return (scores[world.NUMBER["into"]] - scores[world.NUMBER["over"]]).item()


for ffn in (False, True):
    into = [lead("warm", "creek", ffn), lead("cold", "lawn", ffn)]
    over = [lead("cold", "creek", ffn), lead("warm", "lawn", ffn)]
    print(f"FFN {'on' if ffn else 'off':3}  warm creek {into[0]:6.2f}   cold lawn  {into[1]:6.2f}   together {sum(into):8.4f}")
    print(f"         cold creek {over[0]:6.2f}   warm lawn  {over[1]:6.2f}   together {sum(over):8.4f}")

# %% [markdown] text="break_head-text"
# Without its FFN, the twin has the same total twice, to the last digit shown. No training could separate the two, because both pairs are made of the same four words.
#
# **So one weighted sum of a mix with fixed weights can't say *over* or *into*.**
#
# ## 4 · One head, two heads
#
# Then let the weights move. Put a head with queries and keys at *jump*. Its query belongs to *jump*, so it is the same in all four sentences. Each word w has
# one score $s_w$ and one value $v_w$, which is a single number. In *cold creek* the head makes the mix
#
# $$\frac{e^{s_\mathrm{cold}}\, v_\mathrm{cold} + e^{s_\mathrm{creek}}\, v_\mathrm{creek}}{e^{s_\mathrm{cold}} + e^{s_\mathrm{creek}}}$$
#
# and it says *into* if this is above 0. The other words are the same in all four sentences. They add one number to the numerator and a positive one to the denominator. In a model *jump* also adds a constant. None of this changes the argument, so we leave it out. Now the weight of *creek* depends on the weather. Is that enough?
#
# ### Exercise `break_head`
#
# *{points} · difficulty ●●○ · 10 minutes*
#
# Somebody has such a head in a closed box, and claims that it follows a rule in every sentence. They may have more weathers and places than we do, and another rule, but never one
# that a head can follow. Find a sentence that the head gets wrong.
#
# - **Takes** `says`, `rule`, `weathers` and `places`. The last two are lists of words. `says("cold", "creek")` is what the head says there, and `rule("cold", "creek")` what is right: `"over"` or `"into"`.
# - **Returns** a weather and a place, such as `("cold", "creek")`, with which `says` and `rule` differ.
# - Half of the points are for any number of questions to `says`. The other half is for never asking it more than three. `rule` is free.
# - Some boxes are stubborn: they have not settled which head they are, and stay right for as long as any head could.


# %% exercise="break_head"
def break_head(says, rule, weathers, places):
    """A sentence (weather, place) that a single head at jump gets wrong. says(weather, place) is what it says there, rule(weather, place) what is right."""
    ### BEGIN SOLUTION
    for w in weathers:
        for v in weathers:
            for p in places:
                for q in places:
                    if rule(w, p) == rule(v, q) != rule(w, q) == rule(v, p):  # the votes of both pairs have the same sum
                        for sentence in ((w, p), (v, q), (w, q)):
                            if says(*sentence) != rule(*sentence):
                                return sentence
                        return v, p  # nobody asked, but no head is right about all four
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="two_heads-text"
# <details><summary>Why is there always such a sentence? Open this when you have tried.</summary>
#
# In each sentence the mix is
#
# $$\frac{\sum_w e^{s_w} v_w}{\sum_w e^{s_w}}$$
#
# Above the line each word brings a fixed number, e^score · value. Below the line is a positive number, and dividing by it changes no sign. So whether the mix is above 0
# is decided by a sum with one number for each word. These are votes again. A cold creek and a warm lawn have the same four votes as a warm creek and a cold lawn, so votes lose against every rule
# that says one word in the first two and the other word in the last two.
#
# </details>
#
# ### Exercise `two_heads`
#
# *{points} · difficulty ●●● · 15 minutes · deeper: the core path goes on at the query that knows a word*
#
# A single head is always caught. Two heads need not be. Find two whose mixes add up to more than 0 where *into* is right, and to less than 0 where *over* is right.
#
# - **Takes** a positive number, `largest`.
# - **Returns** a pair `(scores, values)`, each [2, 4]: a row for each head, and the columns are creek, lawn, cold, warm.
# - A score is from 0 to `largest`. A value is any number. The softmax is over the two words of a sentence.
# - In each sentence the sum of the two mixes is at least 1/100 away from 0.
# - Half of the points are for a `largest` above 20, with which a head can look at one word alone. The other half is for small ones, down to 0.1. Then a head can only lean towards a word.
#
# The cell after the check shows your heads at work, and hands them to your own `break_head`.


# %% exercise="two_heads"
def two_heads(largest):
    """(scores, values) of two heads at jump, each [2, 4]; the columns are creek, lawn, cold, warm. Their sum is above 0 for into."""
    ### BEGIN SOLUTION
    v = math.exp(min(largest, 2) / 2)  # more than 1, and less than e^largest
    scores = torch.tensor([[largest, 0, largest, 0], [0, largest, 0, largest]])  # one looks for creek and cold, one for lawn and warm
    values = torch.tensor([[1, -v, 1, -v], [-v, 1, -v, 1]])  # what it looks for, and what it finds instead
    return scores, values
    ### END SOLUTION
    raise NotImplementedError

# %% code="heads"
column = {"creek": 0, "lawn": 1, "cold": 2, "warm": 3}


def mixes(weather, place, largest):
    """What each of the two heads makes of a sentence, [2]."""
    scores, values = (torch.as_tensor(part).double()[:, [column[weather], column[place]]] for part in two_heads(largest))
    return (torch.softmax(scores, dim=1) * values).sum(dim=1)


try:
    for largest in (50, 0.1):
        for weather, place in (("warm", "creek"), ("cold", "lawn"), ("cold", "creek"), ("warm", "lawn")):
            first, second = mixes(weather, place, largest).tolist()
            said = "into" if first + second > 0 else "over"
            print(f"largest = {largest:4}   {weather} {place}: {first:z7.3f} + {second:z7.3f} = {first + second:z7.3f}, which says {said}")
    accused = break_head(
        says=lambda weather, place: "into" if mixes(weather, place, 50).sum() > 0 else "over",
        rule=lambda weather, place: "over" if (weather == "cold") == (place == "creek") else "into",
        weathers=["cold", "warm"],
        places=["creek", "lawn"],
    )
    print("break_head says that this box is wrong about a", *accused)
except NotImplementedError:
    print("This prints something once break_head and two_heads are written.")

# %% [markdown] text="head-text"
# There are such heads, whether you have written them or not. They are innocent, and `break_head` accuses them all the same, because it relies on a single head. A proof is worth no more than its premise.
#
# Why can two do what one can't? Each head divides by a positive sum of its own, which depends on the sentence. Two fractions with different sums below the line do not add up to votes.
#
# ### A query that knows a word
#
# Could a single head do it elsewhere? Its query at *jump* was the same in all four sentences. At *cold* or *warm* the query knows one of the two words that decide, and the place, which comes before it, has a key.
#
# Let *cold* ask with the query 50 and *warm* with −50. Let *creek* answer with the key 1, *lawn* with −1, and the weather itself with 0. The value of a place is 0, and the value of a weather is 1.

# %% figure="predict-one-head"
predict("one_head")

# %% code="one-head"
words = {  # query, key and value of each word
    "cold": [50.0, 0.0, 1.0],
    "warm": [-50.0, 0.0, 1.0],
    "creek": [0.0, 1.0, 0.0],
    "lawn": [0.0, -1.0, 0.0],
}
asks, answers, brings = torch.eye(3, dtype=torch.float64)[:, :, None]  # Wq, Wk and Wv, [3, 1] each
try:
    for weather, place in (("cold", "creek"), ("warm", "creek"), ("cold", "lawn"), ("warm", "lawn")):
        X = torch.tensor([words[place], words[weather]], dtype=torch.float64)  # in the order of the sentence
        out, A = self_attention(X, asks, answers, brings, torch.ones(1, 1, dtype=torch.float64))
        print(f"{weather} {place}: at {weather}, {A[1, 0]:4.0%} of the weight is on {place}. The output there is {out[1, 0]:.2f}.")
except NotImplementedError:
    print("This prints something once self_attention is written.")

# %% [markdown] text="learned-attention-text"
# The score *multiplies* what the weather says by what the place says. No adding up can do that. The answer is now at *cold*, and a second block has to carry it to *jump*.
#
# Do models learn *over or into* without an FFN? We trained sixteen more models of the little world with one block. Their four heads have queries and keys, and they have **no FFN**. A **norm** before
# and after the heads rescales each vector. With one block, the query at *jump* knows neither word, so only several heads together or the norms can help.

# %% code="learned-attention"
shares = sorted(100 * run["way"] for run in without_ffn.stored()["runs"].values())
plt.figure(figsize=(5, 2.4))
plt.plot(range(1, 17), shares, "o")
plt.title("over or into, without an FFN")
plt.xticks([1, 4, 8, 12, 16])
plt.xlabel("sixteen models, sorted")
plt.ylabel("% right")
plt.show()

# %% [markdown] text="fold-by-hand-text"
# Of the sixteen, 8 learn it. The others toss a coin.
#
# | | can it say over or into? |
# |---|---|
# | a mix with fixed weights | no: its words vote |
# | one head at *jump* | no: votes, divided by a positive number (but see section 6) |
# | two heads at *jump* | yes: each divides by a sum of its own |
# | one head at the weather | yes: its score is a product; a second block must bring it to *jump* |
# | any heads, if the token is on its own | no: they are linear there |
#
# So an FFN is not the only way. But attention needs other tokens to look at. An FFN needs only one token, and it can bend as often as it has neurons.
#
# ## 5 · Press the plane
#
# Suppose that attention has only averaged. Then the mix at *jump* is a point (a, b): a is 1 for water and 0 for land, b is 1 for cold and 0 for warm. The four sentences are
# four balls at the corners of a square: teal for *into*, orange for *over*. A weighted sum of a, b and 1 makes one straight cut. These are votes again, so at least one
# ball is on the wrong side.
#
# Now give the token two neurons. Each computes a weighted sum, and where the sum is below 0, ReLU makes it 0. The line on which the sum is exactly 0 is the neuron's
# **kink**. ReLU **presses** all that is beyond the kink flat onto it, and forgets how far away it was.
#
# Press *Play*. First the two neurons press the sheet, then one straight knife cuts it. The last stop goes back and shows where
# the cut was on the sheet as it had been. So far two of the four balls are right. Move the kinks and the knife.

# %% figure="fold-by-hand"
play(fold.xor())

# %% [markdown] text="xor_weights-text"
# The cut is straight on the pressed sheet. On the sheet as it had been, it turns wherever it crosses a kink.
#
# ### Exercise `xor_weights`
#
# *{points} · difficulty ●●○ · 8 minutes*
#
# Write down a small network that says *over* or *into*: `out = relu(x @ W1 + b1) @ W2 + b2`. Each column of `W1` with its entry of `b1` is one neuron.
#
# - **Takes** two different numbers, `over` and `into`. Either may be the larger one, and either may be negative.
# - **Returns** four tensors of floating-point numbers: `W1` [2, H], `b1` [H], `W2` [H, 1], `b2` [1]. You choose H, from 1 to 8.
# - For the inputs (0, 1) and (1, 0) the output is `into`. For (0, 0) and (1, 1) it is `over`. It may be off by a hundredth of the distance between them.
#
# **Your own network.** If it has two neurons, it then presses the sheet below the check, and the board counts how many of your numbers are not 0. Can you do with
# fewer?


# %% exercise="xor_weights"
def xor_weights(over, into):
    """W1 [2, H], b1 [H], W2 [H, 1], b2 [1] of a ReLU network that gives `into` where exactly one of two features is on, else `over`."""
    ### BEGIN SOLUTION
    W1 = torch.tensor([[1.0, 1.0], [1.0, 1.0]])  # both neurons read a + b
    b1 = torch.tensor([0.0, -1.0])  # the first starts to rise at 0, the second at 1
    W2 = torch.tensor([[1.0], [-2.0]]) * (into - over)  # up with the first, and twice as steeply down
    b2 = torch.tensor([over])  # where all of it begins
    return W1, b1, W2, b2
    ### END SOLUTION
    raise NotImplementedError

# %% figure="fold"
play(lambda: fold.network_board(*xor_weights(0.0, 1.0)))

# %% [markdown] text="reach_star-text"
# <details><summary>How few, and why not fewer? Open this when you have tried.</summary>
#
# As b goes from 0 to 1, one ReLU can only rise, or only fall, and which of the two does not depend on a. XOR has to go up if a = 0, and down if a = 1. So two neurons have to read b,
# and for the same reason two have to read a. If there are only two neurons, both read both: that makes four numbers in W1 and two in W2. Three or more neurons
# need at least two numbers each, which makes six again.
#
# With `over` = 0 six are enough.
#
# </details>
#
# Attention can bring two words into one vector, and two neurons can then read both. That is a Transformer block in miniature.
#
# | | attention | FFN |
# |---|---|---|
# | looks at | all tokens that it may see | one token |
# | does | averages values | bends; with ReLU, one kink for each neuron |
# | linear? | in the values, with A fixed; in X not, in general | no |
# | parameters | $W_Q, W_K, W_V, W_O$: 4·d², all heads together | $W_1, b_1, W_2, b_2$: often about 8·d² |
#
# ## 6 · Deeper
#
# *deeper: the core path ends here*
#
# ### The desk by code
#
# On the board you see whether a star is inside. With a hundred words of ten numbers each you can't, so let code look for the mix that is nearest to
# the star.
#
# How can it show that a star can't be reached? It finds a direction in which the star is **ahead of every word**. A mix is an average, so it is never
# ahead of all its words. One such direction is the whole proof. In the plane a star that can be reached never needs more than three words, and in d dimensions never
# more than d + 1 (Carathéodory's theorem).
#
# Solving equations for the weights is not enough, because then a weight may come out below 0.
#
# ### Exercise `reach_star`
#
# *{points} · difficulty ●●● · 35 minutes · deeper*
#
# - **Takes** `V` [S, d], one word in each row, and `star` [d], both in float64.
# - **Returns** a pair. If some weights reach the star, it is `(weights, None)`. If none do, it is `(None, direction)`.
# - `weights` [S]: none below 0, with sum 1. The mix may miss the star by up to 1/20.
# - `direction` [d], of any length: `star @ direction` is larger than `V[s] @ direction` for every word s.
# - S is 1 to 9 and d is 2 to 5. Words may be on one line or at the same place. Coordinates are of the order of 1. A star that can't be reached
#   is at least 1/4 away from every mix.
#
# An example: for the words (0, 0) and (2, 0), the star (1, 0) gives `([0.5, 0.5], None)`, and the star (1, 1) gives `(None, [0.0, 1.0])`, as tensors.
#
# Below the check your function plays forty stars. A star that it reaches is green. For each of the others you see a red line that no mix gets past.


# %% exercise="reach_star"
def reach_star(V, star):
    """Words V [S, d] and a star [d]: (weights [S], None) if a mix reaches it, else (None, direction [d]) in which it is ahead of every word."""
    ### BEGIN SOLUTION
    weights = torch.full((len(V),), 1 / len(V), dtype=V.dtype)
    for _ in range(1000):
        arrow = star - weights @ V  # from the mix to the star
        along = V @ arrow  # how far ahead each word is
        best, worst = along.argmax(), along.masked_fill(weights <= 0, math.inf).argmin()
        way = V[best] - V[worst]
        if arrow.norm() < 1e-3 or arrow @ way < 1e-9:  # we are there, or no word is ahead of the others
            break
        share = torch.minimum(arrow @ way / (way @ way), weights[worst])  # as near to the star as that way leads
        weights[best] += share
        weights[worst] -= share
    return (weights, None) if arrow.norm() < 0.05 else (None, arrow)
    ### END SOLUTION
    raise NotImplementedError

# %% code="walls"
torch.manual_seed(27)
V = 0.8 * torch.randn(9, 2).double()
around = torch.arange(16) * math.pi / 8
stars = torch.cat([0.5 * torch.randn(24, 2).double(), 2.7 * torch.stack([around.cos(), around.sin()], dim=1).double()])
try:
    for star in stars:
        weights, direction = reach_star(V, star)
        plt.plot(*star, "*" if direction is None else "x", color="tab:green" if direction is None else "tab:red", ms=10)
        if direction is not None:
            ahead = star @ direction - (V @ direction).max()
            foot = star - ahead * direction / (direction @ direction)
            plt.axline(foot, foot + direction.flip(0) * torch.tensor([-1, 1]), color="tab:red", lw=1)
    plt.plot(*V.T, "o", color="tab:blue")
    plt.axis("square")
    plt.xlim(-3, 3)
    plt.ylim(-3, 3)
    plt.show()
except NotImplementedError:
    print("This picture appears when reach_star is written.")

# %% [markdown] text="walls-after"
# <details><summary>Why is there no third case? Open this when you have tried.</summary>
#
# Take the nearest mix to the star. If it is on the star, you have the weights. If not, draw the arrow from it to the star. No word can be ahead of that mix along
# the arrow, because a little more of such a word would bring the mix nearer. So the star is ahead of every word. This is the theorem of the **separating
# hyperplane**.
#
# </details>
#
# ### Does training find them?
#
# Two ReLU neurons can say *over or into*. The cell trains a thousand networks of each width on XOR. Then it puts a **LayerNorm** in the place of the ReLU, between the two linear layers. Is
# the network linear then?

# %% figure="predict-xor-two-neurons"
predict("xor_two_neurons")

# %% code="search"
torch.set_num_threads(1)  # in networks as small as these, threads only wait for each other
corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
wanted = torch.tensor([[0.0], [1.0], [1.0], [0.0]])


def learned(count, H, middle):
    """The share of so many networks with H neurons that learn XOR from random starts, with Adam."""
    shapes = [(2, H, 2), (1, H, 2), (H, 1, H), (1, 1, H)]  # of W1, b1, W2, b2; and the fan-in
    parameters = [((2 * torch.rand(count, a, b) - 1) / fan_in**0.5).requires_grad_() for a, b, fan_in in shapes]
    optimiser = torch.optim.Adam(parameters, lr=0.05)
    for _ in range(500):
        W1, b1, W2, b2 = parameters
        out = middle(corners @ W1 + b1) @ W2 + b2  # [count, 4, 1]
        optimiser.zero_grad()
        F.binary_cross_entropy_with_logits(out, wanted.expand_as(out), reduction="sum").backward()
        optimiser.step()
    return ((out > 0) == (wanted > 0.5)).all(dim=1).double().mean().item()


torch.manual_seed(0)
for H in (1, 2, 4, 8):
    print(f"Linear → ReLU → Linear, width {H}: {learned(1000, H, torch.relu):4.0%} of 1,000 learn XOR")
share = learned(1000, 3, lambda x: F.layer_norm(x, x.shape[-1:]))
print(f"Linear → LayerNorm → Linear, width 3: {share:4.0%}")

# %% [markdown] text="quiz_xor-text"
# LayerNorm divides by the spread of the token's own numbers, and such a division is not linear. So four things in a block are not linear: the products of X with X in
# attention, the softmax, the norm, and the activation of the FFN.
#
# That is also how a single head at *jump* can say *over* or *into* if a norm follows it. After the norm the lead of *into* is votes / spread + bias. It has the sign of
# votes + bias · spread, and the spread is no sum of votes.
#
# ### Question `quiz_xor`
#
# *deeper*
#
# Train a thousand networks Linear → LayerNorm → Linear of width **2**. How many of them learn XOR, and why?
#
# - **A.** More than with width 3, because fewer numbers are easier to train.
# - **B.** None, because both outputs of the norm depend on u − v alone, the difference of its two inputs, and only rise or fall with it.
# - **C.** About a quarter, as with two ReLU neurons, because each of the two numbers draws a line.

# %% quiz="quiz_xor"
quiz_xor = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_xor = "B"
### END SOLUTION

# %% [markdown] text="M1-text"
# ### In your own words
#
# *question M1 · {points}, graded by your instructor · 6 minutes*
#
# A colleague says: “Attention is linear. That is why a Transformer needs an FFN.”
#
# 1. In which sense is the first sentence true? Say what is held fixed, and in what the map is linear.
# 2. In which sense is it false? Give one input and one experiment that shows it.
# 3. What is attention for a sequence of one token? Does that case show that a Transformer needs an FFN? Does “attention is linear” show it?
#
# Write into the cell below.

# %% [markdown] question="M1" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) With the attention matrix A **held fixed**, the head is X ↦ A X W_V W_O: a product of constant matrices, linear in X, and always linear in
# the values V for given weights. Before W_O each output is then a weighted average of the values and stays in their convex hull. (2) As a map of **X** it is not linear, since
# A = softmax(X W_Q W_Kᵀ Xᵀ / √h) is made from X: scores are products of features, and softmax is not linear. Double all vectors of a sentence: f(2X) is not 2·f(X); or
# compute the superposition error for two sentences, which is 0 with A frozen and clearly not with A free. One head with two tokens even computes XOR. (3) For
# **T = 1** the softmax of a single score is 1, whatever it is: A is constant, and attention is exactly linear (affine with biases), so it can't do XOR of the
# token's features. The FFN is needed where a token must be changed by itself, on the basis of its own features, with many kinks. That attention is “linear” is not
# the reason in general: it can multiply, and LayerNorm is not linear, either.
#
# **Rubric.** One point each:
#
# - (1) A (or the weights) held fixed, and then linear in X or in V. Half a point for “linear in V” without saying that the weights are held fixed.
# - (2) not linear in X because A depends on X, **and** an experiment: doubling, superposition, or XOR with two tokens. Half a point without the experiment. No
#   point for “because of the softmax” alone, if A is not said to depend on X.
# - (3) with T = 1 the weight is always 1, so the map is linear, and the FFN is what works on a token by itself. Half a point without the consequence.
# <!-- ### END SOLUTION -->

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | A mix is an average, so it never leaves the convex hull of its values. | level 2 of the desk, `quiz_hull`, `reach_star` |
# | Attention is linear in the values, as long as the weights stay as they are. | `self_attention`, `quiz_linear`, question M1 |
# | A sum of votes can't say over or into, and one head at *jump* is such a sum. | the votes, `break_head` |
# | Attention can say it with two heads, because each divides by a sum of its own, or with a query that knows one of the words. | `two_heads`, your guess about one head |
# | Two ReLU neurons say it inside one token: each presses the plane, and then one straight cut is enough. | the sheet, `xor_weights` |
#
# **Your own part.** Your `self_attention` is kept in `my_transformer.py`. The model of notebook 00 now calls it, with a fixed A that averages.
#
# Next: `02_feed_forward`, where you wire neurons by hand, and find the same ones in a trained model.

# %% figure="progress"
machine()
progress()
