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
# # 02 · Light a lamp
#
# In notebook 00 you switched the FFN of the creek model off. Here you open it. Each lamp is one of its 64 **neurons**, and shows how active that neuron is when the model has just read *jump*. At the cold
# creek two lamps are lit. Put lamps out, light others, and see where the dog goes.
#
# <span class="ffn-notebook-only">To wake the lamps up, press <b>Shift + Enter</b> three times.</span>

# %% setup="imports"
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course import test_suites, toy_transformer, world
from ffnlab.course.boards import catch, creek
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import feed_forward as figures
from ffnlab.drawing import controls, style

style.use()

# %% figure="words"
play(creek.lamps())

# %% figure="words-steer"
veil("What did you do?", "when the dog has jumped into the cold creek", of="creek_lamps.steer", text="""
You lit a neuron that looks for something else. At *jump*, nothing that it waits for has happened, but the rest of the model can't know that. It gets what the neuron writes, so it says *into*, and
goes on from there: at the end the dog is glad about the snow.

Setting a neuron by hand to see what follows is an **intervention**. With large models one often adds a whole vector in this way, and calls it *activation steering*. An intervention tells you what a neuron *can* do. Watching it does not.
But does an intervention tell you what the neuron is *for*?
""")

# %% figure="words-names"
veil("What are the five?", "when four lamps have their names", of="creek_lamps.names", text="""
Neuron 1 looks for *warm water*, 10 and 11 for *cold water*, 23 for *warm land*, and 42 for *cold land*. Each of them looks for a **combination** of two words, and when it finds it, it pushes *over* or *into*.
These are the rules of your table from notebook 00, one or two lamps for each corner, and nobody wrote them down. The model learned them from sentences.

The board asks for nine of ten: that the neuron is lit in nine of ten scenes that the name describes, and that nine of ten scenes in which it is lit have the name. But these five names fit in every
scene, without an exception. *Lit* means: at a fifth of its largest activation, or more. Most of the 64 have no name at this word, because they are always dark.
""")

# %% figure="predict-who-can-steer"
predict("who_can_steer")

# %% code="steer-all" output="fixed"
model = toy_transformer.load()
_, usual = toy_transformer.brightness(model)  # [64]: how bright each neuron is where it is lit
scenes = [scene for scene in world.scenes(held_out=True) if scene.water and scene.cold]
x = model.gather(toy_transformer.tensor([world.wish(scene)[: world.WAY] for scene in scenes]))  # [448, 11, 32], up to “jump”
hidden = model.hidden(x)  # [448, 11, 64]


def into_wins(neuron, times):
    """The share of scenes in which “into” has 75 % or more while one neuron is so many times as bright as usual."""
    lit = hidden.clone()
    lit[:, -1, neuron] = times * usual[neuron]
    chances = model.say(x, lit)[:, -1].softmax(-1)  # [448, 56]
    return (chances[:, world.NUMBER["into"]] >= 0.75).double().mean().item()


strengths = (1, 1.25, 1.5, 2, 4)
print("brightness ", *(f"{times:6}" for times in strengths))
for neuron in range(64):
    shares = [into_wins(neuron, times) for times in strengths]
    if max(shares) > 0:
        print(f"neuron {neuron:2}  ", *(f"{share:6.0%}" for share in shares))

# %% figure="steer-all-after"
veil("Can or is for?", "when you have guessed", of="who_can_steer", text="""
Lighting a neuron shows what it *can* do to the model. What it is *for*, you learn only if you also watch when it is lit by itself.
""")

# %% figure="anatomy"
anatomy.block("02")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M2, which can wait for another day |
# | **You need** | matrix products, and `00_start_here` |
# | **Points** | {points} |
#
# After attention has mixed the tokens of a sentence, a small network works on each token alone: the **feed-forward network**, FFN. It is two matrices
# with an *activation* between them. How can two matrices look for *cold water*?
#
# <details><summary>It goes by many names</summary>
#
# All of these are the same two matrices; only Llama has a third one:
#
# | where | the layer | first matrix, up | second matrix, down |
# |---|---|---|---|
# | Vaswani et al. (2017), this course | FFN | $W_1$ | $W_2$ |
# | PyTorch, `nn.TransformerEncoderLayer` | | `linear1` | `linear2` |
# | GPT-2 | MLP, `mlp` | `c_fc` | `c_proj` |
# | BART, OPT | | `fc1` | `fc2` |
# | T5 | `DenseReluDense` | `wi` | `wo` |
# | BERT | | `intermediate` | `output` |
# | Llama, with a gate (notebook 07) | MLP, `mlp` | `gate_proj`, `up_proj` | `down_proj` |
#
# </details>
#
# ## 1 · One token by hand
#
# The FFN of the creek model has too many numbers to be read. So here is a smaller one that follows the same rule. Attention has already told it two things about the place: how **cold** it is, and how much
# it is **water**. The FFN has three neurons, and it says *over* or *into*.
#
# Each neuron adds up the inputs, each times a weight, and a number of its own, its **bias**. Then comes the **activation**. Here it is **ReLU**: keep what is positive, and turn the rest into 0. A neuron that
# is left with 0 stays dark. Each neuron that is lit adds its own numbers to the outputs, and the brighter it is, the more it adds.

# %% figure="predict-nothing-in"
predict("nothing_in")

# %% figure="by-hand"
controls.show(
    figures.by_hand,
    x1=controls.slider("cold", 0.0, 2.0, 0.5, 1.0),
    x2=controls.slider("water", 0.0, 2.0, 0.5, 1.0),
    flipped=controls.free("a weight turned around", figures.TURNED, figures.UNCHANGED),
)

# %% [markdown] text="by-hand-after"
# The top neuron is lit when cold and water together exceed 1. As long as each of them is 0 or 1, that means cold **and** water. Can you light it without any water? Then press a weight to turn its sign around.
#
# Cold creek, warm creek, cold lawn and warm lawn are four points of a plane. What does the network say in between? Each neuron has a **kink**: the line on which it lights up. Along this line the network's answer
# has a crease. The figure below begins without ReLU, where each neuron passes on whatever it adds up.

# %% figure="predict-flat-pieces"
predict("flat_pieces")

# %% figure="fold"
controls.show(
    figures.folded,
    x1=controls.free("cold", figures.QUARTERS, 1.0),
    x2=controls.free("water", figures.QUARTERS, 1.0),
    output=controls.choice("sheet", [(name, k) for k, name in enumerate(figures.OUTPUTS)], 0),
    bent=controls.toggle("ReLU"),
)

# %% [markdown] text="by-hand-formula"
# Switch ReLU on and count. Then drag the point over a kink: which numbers begin to move there, and which stop?
#
# **Could one matrix and one bias do that?** Call the height of the sheet f(cold, water). One matrix and one bias make one flat piece, as without ReLU. On a flat piece f(1, 1) + f(0, 0) always equals
# f(1, 0) + f(0, 1), whatever the weights are. These are the votes of notebook 00. But this network's sheet for *over* has 2 + 1 = 3 for the first sum, and 0 + 0 = 0 for the second. So one matrix can't make it.
# The difference is ReLU.
#
# In one line, for all neurons at once:
#
# $$\mathrm{FFN}(x) = \mathrm{act}(x\,W_1 + b_1)\,W_2 + b_2$$
#
# | array | shape | above | it says |
# |---|---|---|---|
# | `W1` | [d_model, d_ff] | [2, 3] | column j: what neuron j looks for |
# | `b1` | [d_ff] | [3] | how easily neuron j fires |
# | `W2` | [d_ff, d_model] | [3, 2] | row j: what neuron j writes when it fires |
# | `b2` | [d_model] | [2] | what is added for every token |
#
# `d_model` is the length of a token's vector, `d_ff` the number of neurons. The whole course writes `x @ W`, the vector on the left. Then x may also be a sentence [T, d_model], or a batch of B sentences: each row
# goes through W by itself, and the bias is added to each row. PyTorch calls that *broadcasting*.

# %% [markdown] text="catch-text"
# ## 2 · The line in code
#
# The formula becomes one line of Python. There are so many ways to get this line wrong that we have collected 31.
#
# ### Catch them all
#
# Here are 32 boxes. Each claims to compute this formula. One box does. In the others are the mistakes that people make when they write it. To begin with, there is one token of one number, and one neuron, so `x`
# and the four arrays have one number each. These are the five dials.
#
# Turn a dial. A box is marked ≠ if it gives a wrong answer to your numbers. The five numbers are a **test** that catches it. To keep the test, work out its right answer: `z`, what the neuron adds up,
# and `y`, what comes out. Then the marked boxes open and tell you what is wrong in them.

# %% figure="catch"
play(catch.catch_them_all("ffn_forward"))

# %% [markdown] text="catch_mistakes-text"
# ### Exercise `catch_mistakes`
#
# *{points} · difficulty ●●○ · 12 minutes*
#
# Twelve of the wrong boxes return the right number at every setting of the dials. Your own tests can do more than dials. Write a
# list of tests that together catch all 31. Each test is a dict:
#
# | key | what it is | default |
# |---|---|---|
# | `x`, `W1`, `b1`, `W2`, `b2` | the numbers, in lists. `x` is one token [d_model], a sentence [T, d_model] or a batch [B, T, d_model] | |
# | `act` | the activation: "relu", "abs", "square" or "tanh" | "relu" |
# | `dtype` | of all five: "float32" or "float64" | "float32" |
# | `turned` | `True`: `x` has the same numbers, but in memory they are in another order, as `.transpose(0, 1)` leaves them | `False` |
# | `look` | what to look at besides the answer: "gradient" (does it reach the arrays?), "x" (has it been changed?), or a list of both | nothing |
#
# One setting of the dials is `{"x": [[2]], "W1": [[2]], "b1": [-1], "W2": [[2]], "b2": [1]}`, a test with 5 numbers.
#
# A test catches a box that raises an error, or whose answer differs from the right one in shape, dtype or numbers. With `look`, it also catches a gradient that is cut off, or a changed `x`. The right answers are
# worked out for you. All tests together may have up to 40 numbers.
#
# You get one point for 20 boxes, one for 26, and one for all 31. The fourth point is for catching all 31 with as few numbers as possible: 16 are enough. The cell below the check shows
# which boxes are still closed.
#
# *Stuck? Run `hint("catch_mistakes")` in a cell of your own.*

# %% exercise="catch_mistakes"
catch_mistakes = ...  # [{"x": …, "W1": …, "b1": …, "W2": …, "b2": …}, …]
### BEGIN SOLUTION
catch_mistakes = [
    # a batch of 2 by 2 that is turned, two neurons, and a look at everything
    {"x": [[[2], [3]], [[-3], [-2]]], "W1": [[1, -2]], "b1": [-2, 3], "W2": [[-2], [3]], "b2": [1],
     "act": "tanh", "dtype": "float64", "turned": True, "look": ["gradient", "x"]},
    # one token, whose neuron goes beyond 6
    {"x": [-3], "W1": [[-3]], "b1": [-1], "W2": [[1]], "b2": [2]},
]
### END SOLUTION

# %% code="catch_mistakes-report"
# How far are you? The boxes have the same numbers as on the board.
print(test_suites.report(catch_mistakes))

# %% [markdown] text="ffn_forward-text"
# ### Exercise `ffn_forward`
#
# *{points} · difficulty ●○○ · 3 minutes*
#
# Write the formula as a function that none of your tests would catch.
#
# - **Takes** `x` [..., d_model], the four arrays with the shapes above, and `act`, a function that is applied to each number, such as `torch.relu`. Use the one you are given.
# - **Returns** a tensor [..., d_model], in the dtype of `x`. Gradients reach `x` and all four arrays, and none of these is changed in place.
#
# *Stuck? Run `hint("ffn_forward")` in a cell of your own.*

# %% exercise="ffn_forward"
def ffn_forward(x, W1, b1, W2, b2, act):
    """The FFN of x [..., d_model]: a tensor [..., d_model]."""
    ### BEGIN SOLUTION
    return act(x @ W1 + b1) @ W2 + b2
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="merged_counterexample-text"
# ## 3 · Two neurons with one kink
#
# ### A classmate's code
#
# Two neurons with the same kink seem to be one too many, so this code merges them. If the second's weights and bias are `times` those of the first, it deletes the second and adds `times` its output weight to the
# first. We tried the code on 10,000 random networks, and on 10,000 in which one neuron was a stronger or weaker copy of another one. Each time, the smaller network said the same as the old one. But the code
# is wrong.
#
# ### Exercise `merged_counterexample`
#
# *{points} · difficulty ●●○ · 5 minutes*
#
# Find a network that is no longer the same when it is merged: about the cold creek, the warm creek, the cold lawn or the warm lawn, the merged network says another number. Write the network as a list of neurons,
# as in the next cell. A neuron is four numbers: its weights for cold and for water, its bias, and what it writes. The first three are not all 0. Any such network earns most of the points. The rest is for as few neurons as possible.
#
# *Stuck? Run `hint("merged_counterexample")` in a cell of your own.*

# %% code="merged"
things = {"cold creek": (1, 1), "warm creek": (0, 1), "cold lawn": (1, 0), "warm lawn": (0, 0)}  # cold, water


def merged(neurons):
    """As few neurons (cold, water, bias, writes) as say the same: those with one kink become one."""
    groups = []
    for cold, water, bias, writes in neurons:
        for group in groups:
            times = (cold * group[0] + water * group[1] + bias * group[2]) / (group[0] ** 2 + group[1] ** 2 + group[2] ** 2)
            if max(abs(cold - times * group[0]), abs(water - times * group[1]), abs(bias - times * group[2])) < 1e-9:
                group[3] += times * writes  # the same neuron, `times` as strong
                break
        else:
            groups.append([cold, water, bias, writes])
    return groups


def say(neurons):
    """What neurons say about the four things: what those that fire write, times their strength."""
    return [sum(v * max(0, w * cold + u * water + b) for w, u, b, v in neurons) for cold, water in things.values()]


network = [(1, 1, -1, 3), (2, 2, -2, 1), (1, -1, 0, -2)]
print(len(network), "neurons say", say(network))
print(len(merged(network)), "neurons say", say(merged(network)))

# %% exercise="merged_counterexample"
merged_counterexample = ...  # [(cold, water, bias, writes), …]
### BEGIN SOLUTION
merged_counterexample = [(1, 1, -1, 2), (-1, -1, 1, 2)]  # relu(−h) is not −relu(h)
### END SOLUTION

# %% [markdown] text="collapse_linear-text"
# ## 4 · Take the activation away
#
# Without ReLU the sheet was flat. So without an activation the two matrices do what one matrix could do, however many neurons there are. Which one? Multiply out the brackets of
# $(x\,W_1 + b_1)\,W_2 + b_2$.
#
# ### Exercise `collapse_linear`
#
# *{points} · difficulty ●●○ · 4 minutes · deeper: you can come back to it later*
#
# Find the one matrix and the one bias that do the same as an FFN without activation.
#
# - **Takes** `W1`, `b1`, `W2` and `b2`, as in `ffn_forward`.
# - **Returns** the pair `(W, b)`, `W` [d_model, d_model] and `b` [d_model], so that `x @ W + b` equals `(x @ W1 + b1) @ W2 + b2` for every `x`.
# - The dtype stays. Gradients reach all four arrays, and none of these is changed in place.
#
# *Stuck? Run `hint("collapse_linear")` in a cell of your own.*

# %% exercise="collapse_linear"
def collapse_linear(W1, b1, W2, b2):
    """One affine map for two: (W [d_model, d_model], b [d_model])."""
    ### BEGIN SOLUTION
    return W1 @ W2, b1 @ W2 + b2
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="words-seeds"
# ## 5 · How much of this is luck?
#
# Your lamps belong to one model from one seed. So we trained five such models from five seeds, and five without an FFN. Their attention only averages. The shares are those of right words in the 1,792 scenes that
# were held out. In the last column the creature comes home *wet or dry*. That depends on **three** things: the place, the weather and the mood.

# %% code="words-runs" output="fixed"
from ffnlab.course.experiments import world as world_experiment

runs = world_experiment.stored()["runs"]
print(f"{'':20} {'over or into':27} {'glad or sorry':27} wet or dry")
for model_name in ("average, FFN", "average, no FFN"):
    two, three = runs[model_name], runs[f"{model_name}, three"]
    columns = [[run["on"][word] for run in found] for found, word in ((two, "way"), (two, "feeling"), (three, "homecoming"))]
    print(f"{model_name:20}", *(f"{' '.join(f'{share:4.0%}' for share in column):27}" for column in columns))

# %% [markdown] text="words-runs-after"
# That they learn the rules is no luck. With an FFN all five learn all three combinations. Without it they stay near 50 %, a coin toss. A mean and one matrix only add up votes,
# and votes can't follow these rules.
#
# But the lamps are those of the tidiest of the five. They are dark most of the time because in training each activation cost a little, as notebook 03 shows.
#
# ## 6 · From formula to module
#
# A function needs its arrays handed in each time. A **module** owns them, so an optimiser can find them, and they are saved with it. PyTorch's `nn.Linear(d_model, d_ff)` is such a module, with one weight and one bias.
# It holds its weight as [d_ff, d_model], [out, in]: the transpose of our `W1`. An FFN is two of them:

# %% code="linear-transpose"
torch.manual_seed(0)
linear1, linear2 = nn.Linear(6, 10), nn.Linear(10, 6)
x = torch.randn(5, 6)
by_modules = linear2(torch.relu(linear1(x)))
by_formula = torch.relu(x @ linear1.weight.T + linear1.bias) @ linear2.weight.T + linear2.bias
print("linear1.weight", list(linear1.weight.shape), "  linear2.weight", list(linear2.weight.shape))
print(f"largest difference between modules and formula: {(by_modules - by_formula).abs().max():.6f}")

# %% [markdown] text="quiz_rank-text"
# ## 7 · Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_rank`
#
# The rank of a matrix is the number of independent directions in what it gives. So x ↦ (x·W1)·W2 has at most d_ff of them, because W1 leaves d_ff numbers.
#
# Two FFNs without activation work side by side, with d_model = 512, and their outputs are added. One has d_ff = 100, the other d_ff = 200. Together they compute
# x ↦ xW + b. What can you say about the rank of W, whatever the weights?
#
# - **A.** It is at most 100.
# - **B.** It is at most 200.
# - **C.** It is at most 300.

# %% quiz="quiz_rank"
quiz_rank = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_rank = "C"
### END SOLUTION

# %% [markdown] text="quiz_bias-text"
# ### Question `quiz_bias`
#
# You take one neuron out of a trained FFN: its column of `W1`, its entry of `b1`, its row of `W2`. What has to be done to `b2`?
#
# - **A.** Its part that belongs to the neuron has to be subtracted.
# - **B.** Nothing.
# - **C.** The entry of that neuron has to be removed.

# %% quiz="quiz_bias"
quiz_bias = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_bias = "B"
### END SOLUTION

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | A neuron looks for a combination with its column of W1 and its bias, and writes something with its row of W2. | naming the lamps, `quiz_bias` |
# | Setting a neuron by hand shows what it can do to the model, but not what it is for. | the dog in the cold creek |
# | A test catches only what its numbers make visible. | *Catch them all*, `catch_mistakes`, `ffn_forward` |
# | ReLU gives the answer a crease at each kink, and it lets a positive factor through, but no minus sign. | `merged_counterexample` |
# | Without an activation, two matrices are one. | the flat sheet, `quiz_rank`, and `collapse_linear`, which is deeper |
#
# Each earned answer that is a part of a Transformer is kept in `my_transformer.py`, in the course's folder. The cell below runs the creek model of notebook 00 on it. Does the dog still jump over the cold creek, by
# your `ffn_forward`?
#
# Next: `03_activations`, where you bend a wire. What is below is *deeper*.

# %% figure="machine"
machine()

# %% figure="progress"
progress()

# %% [markdown] text="trace-text"
# ## 8 · There and back again
#
# *deeper: the core path goes on with notebook 03*
#
# On its way a token passes three stages. Each is a vector with a name of its own: `pre` [d_ff] is what the neurons add up, `act` [d_ff] what the activation leaves of it, and `out` [d_model] what the neurons write, on top
# of `b2`.
#
# Here is our sentence, sent through an FFN with random weights. A bar to the right is positive, to the left negative, and a ring is exactly 0. Behind `act`
# you see `pre`, in grey. Tick “permute tokens”: the words change places, and your token's three stages stay as they are.
#
# **GELU** is a smooth cousin of ReLU; notebook 03 has more on it. It shrinks what is negative, and leaves no exact zeros here.

# %% figure="trace"
controls.show(
    figures.trace,
    position=controls.steps("token", [(f"{i} {word}", i) for i, word in enumerate(figures.TOKENS)], 12),
    ratio=controls.steps("d_ff / d_model", figures.RATIOS, 4.0),
    activation=controls.choice("activation", figures.ACTIVATIONS, "ReLU"),
    permute=controls.toggle("permute tokens"),
)

# %% [markdown] text="ffn_backward-text"
# Training walks through the same stages in the other order. It starts with `dy`: how fast the loss grows with each number of the output. Three rules bring it back to all that the output was made of.
#
# - **A weight** `W[i, k]` carries the number `h[i]` into `y[k]`. Its gradient is h[i] · dy[k] for one token. One weight serves all tokens, so what they say
#   **adds up**. A bias is the weight of an input that is always 1.
# - **A number** `h[i]` goes out along all of its weights, and hears back along all of them: Σₖ W[i, k] · dy[k].
# - **The activation** multiplies by its slope. For ReLU that is 1 where the neuron fired, and 0 where it was silent: whoever was silent hears nothing.
#
# ### Exercise `ffn_backward`
#
# *{points} · difficulty ●●● · 15 minutes · deeper*
#
# Walk through an FFN with **ReLU**, there and back, by hand.
#
# - **Takes** `x` [..., d_model], the four arrays as before, and `dy` [..., d_model], the gradient of the loss with respect to the output.
# - **Returns** a dict: the stages `"pre"`, `"act"`, `"out"`, and the gradients `"dW2"`, `"db2"`, `"dpre"`, `"dW1"`, `"db1"`, `"dx"`, each in the shape of what it belongs to. `"dpre"` belongs to what the neurons added up,
#   **before** the activation.
# - The gradients of the four arrays are **sums** over all tokens, in whatever dimensions these come; nothing is averaged.
# - Where a neuron adds up to exactly 0, the slope of ReLU counts as 0, as in torch.
# - `backward()` and the rest of autograd are switched off while your function is checked. Don't change in place anything you were handed.
# - Each group of keys earns points of its own, so you can check as you go.
#
# *Stuck? Run `hint("ffn_backward")` in a cell of your own.*

# %% exercise="ffn_backward"
def ffn_backward(x, W1, b1, W2, b2, dy):
    """The stages {"pre", "act", "out"} of an FFN with ReLU, and its gradients {"dW2", "db2", "dpre", "dW1", "db1", "dx"}."""
    ### BEGIN SOLUTION
    pre = x @ W1 + b1  # [..., d_ff]
    act = torch.relu(pre)  # [..., d_ff]
    dpre = (dy @ W2.T) * (pre > 0)  # [..., d_ff]
    X, hidden, back, pull = (each.reshape(-1, each.shape[-1]) for each in (x, act, dpre, dy))
    return {
        "pre": pre,
        "act": act,
        "out": act @ W2 + b2,
        "dW2": hidden.T @ pull,
        "db2": pull.sum(0),
        "dpre": dpre,
        "dW1": X.T @ back,
        "db1": back.sum(0),
        "dx": dpre @ W1.T,
    }
    ### END SOLUTION
    raise NotImplementedError

# %% code="backward-train"
# Train with your own gradients: four arrays, no backward(), no optimiser, a step downhill.
# The question is that of notebook 01, “exactly one of the two?”. Both outputs are asked for the same.
# The loss is the mean squared error, summed over both.
g = torch.Generator().manual_seed(0)
x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
target = torch.tensor([[0.0], [1.0], [1.0], [0.0]]).expand(4, 2)
W1, b1 = torch.randn(2, 16, generator=g), torch.zeros(16)
W2, b2 = torch.randn(16, 2, generator=g) / 4, torch.zeros(2)
print("x            ", *(f"{a:.0f}, {b:.0f} " for a, b in x.tolist()))
try:
    for step in range(121):
        y = torch.relu(x @ W1 + b1) @ W2 + b2
        if step % 30 == 0:
            print(f"y, step {step:3} ", *(f"{number:z5.2f}" for number in y[:, 0].tolist()))
        found = ffn_backward(x, W1, b1, W2, b2, 2 * (y - target) / len(x))
        for array, gradient in ((W1, "dW1"), (b1, "db1"), (W2, "dW2"), (b2, "db2")):
            array -= 0.1 * found[gradient]
except (NotImplementedError, KeyError):
    print("lights up when ffn_backward gives the gradients of all four arrays")

# %% [markdown] text="PositionwiseFeedForward-text"
# ## 9 · A module that others can use
#
# *deeper: the core path goes on with notebook 03*
#
# Users will thank you if your FFN takes an activation by name **or** as a function, if it refuses a bad argument when it is made, not an hour later, and if it says its sizes when it is printed.
#
# **Dropout** sets each number to 0 with probability p, during training only, so that the network can't rely on any single neuron. What survives is multiplied by 1 / (1 − p), so that the mean stays the same.
# `nn.Dropout` is a module, so `eval()` reaches it. `F.dropout` is a function, and goes on dropping unless you pass it `training=self.training`.
#
# ### Exercise `PositionwiseFeedForward`
#
# *{points} · difficulty ●●○ · 12 minutes · deeper*
#
# Write the FFN as a module. It maps [..., d_model] to [..., d_model].
#
# - **Layers** `linear1` and `linear2`, each an `nn.Linear` with bias.
# - **Activation** between them: `"relu"`, `"gelu"` (the default form of `F.gelu`), `"silu"` (`F.silu`), or any function of a tensor. For anything else, such as `"sulu"`, `3` or `None`, raise `ValueError` in `__init__`.
# - **Dropout** with probability `dropout` on the hidden layer, after the activation.
# - **`extra_repr()`** returns a text with both sizes, as in `d_model=6, d_ff=10`, of at most 120 characters.
# - No residual connection and no norm: these belong to the block around the FFN (notebook 04).
#
# *Stuck? Run `hint("PositionwiseFeedForward")` in a cell of your own.*

# %% exercise="PositionwiseFeedForward"
class PositionwiseFeedForward(nn.Module):
    """The FFN as a module: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff, dropout=0.1, activation="relu"):
        ### BEGIN SOLUTION
        super().__init__()
        named = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        act = named.get(activation) if isinstance(activation, str) else activation
        if not callable(act):
            raise ValueError(f"activation must be {', '.join(named)} or a function, not {activation!r}")
        self.d_model, self.d_ff = d_model, d_ff
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = act
        return
        ### END SOLUTION
        raise NotImplementedError

    def forward(self, x):
        ### BEGIN SOLUTION
        hidden = self.dropout(self.activation(self.linear1(x)))  # [..., d_ff]
        return self.linear2(hidden)
        ### END SOLUTION
        raise NotImplementedError

    def extra_repr(self):
        ### BEGIN SOLUTION
        return f"d_model={self.d_model}, d_ff={self.d_ff}"
        ### END SOLUTION
        raise NotImplementedError

# %% figure="predict-plain-list"
predict("plain_list")

# %% [markdown] text="DeepFFN-text"
# ### As deep as you like
#
# Why only one hidden layer? Nothing forbids more of them. Two traps wait for those who build them in a loop. One was in your guess. The other one is `[layer] * 3`, which is three
# times the **same** layer.
#
# A **layer norm** shifts and scales the numbers of one token, so that they have mean 0 and variance 1. NormFormer (Shleifer et al. [2021](https://arxiv.org/abs/2110.09456)) has one inside the FFN, after the activation.
# A *batch norm* would do it to one neuron, over all tokens of the batch, and so each token would depend on the others.
#
# ### Exercise `DeepFFN`
#
# *{points} · difficulty ●●○ · 12 minutes · deeper*
#
# Write an FFN with any number of hidden layers. It maps [..., d_model] to [..., d_model].
#
# - **Layers**, all `nn.Linear` with bias and weights of their own: d_model → d_ff, then `n_hidden` − 1 times d_ff → d_ff, then d_ff → d_model. How you name them is up to you. For `n_hidden` below 1 raise `ValueError` in `__init__`.
# - **Activation** after every hidden layer, not after the last one. `activation` is `"relu"`, `"gelu"`, `"silu"` or a function; what else you accept is up to you.
# - **`norm=True`** adds a layer norm of its own after each activation: over the d_ff numbers of one token, with a gain that starts at 1 and a bias that starts at 0. `nn.LayerNorm` does all this.
# - No dropout, no residual connection.
#
# *Stuck? Run `hint("DeepFFN")` in a cell of your own.*

# %% exercise="DeepFFN"
class DeepFFN(nn.Module):
    """An FFN with n_hidden hidden layers of width d_ff: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff, n_hidden, activation, norm=False):
        ### BEGIN SOLUTION
        super().__init__()
        if n_hidden < 1:
            raise ValueError(f"n_hidden must be at least 1, not {n_hidden}")
        named = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
        self.activation = named.get(activation) if isinstance(activation, str) else activation
        if not callable(self.activation):
            raise ValueError(f"activation must be {', '.join(named)} or a function, not {activation!r}")
        widths = [d_model] + [d_ff] * n_hidden + [d_model]
        self.layers = nn.ModuleList(nn.Linear(widths[i], widths[i + 1]) for i in range(n_hidden + 1))
        self.norms = nn.ModuleList(nn.LayerNorm(d_ff) if norm else nn.Identity() for _ in range(n_hidden))
        return
        ### END SOLUTION
        raise NotImplementedError

    def forward(self, x):
        ### BEGIN SOLUTION
        *hidden_layers, last = self.layers
        for layer, norm in zip(hidden_layers, self.norms, strict=True):
            x = norm(self.activation(layer(x)))  # [..., d_ff]
        return last(x)
        ### END SOLUTION
        raise NotImplementedError

# %% [markdown] text="M2-text"
# ## 10 · In your own words
#
# *deeper: the core path goes on with notebook 03*
#
# *question M2 · {points}, graded by your instructor · 8 minutes*
#
# You put dropout on the hidden layer. *Attention Is All You Need* (section 5.4) has it on the output of the FFN, before that is added to x. Its own code, tensor2tensor, has it in both places, but on the hidden layer with
# a rate of 0.0 in `transformer_base_v1` and of 0.1 from `transformer_base_v2` on. Of later models, T5 has both, BERT and nanoGPT the output's, LLaMA neither.
#
# You find a trained Transformer. Its documentation says: “dropout 0.1, as in the original paper”.
#
# 1. Why does that not tell you where its dropout is?
# 2. You have the model, but not its source. You can run the FFN's part of a block alone, up to where its output is added to x, on inputs of your own, as
#    often as you like. You may also set its weights for the experiment, such as `W2` and `b2`. Which experiment, or which two, tell you whether dropout is
#    on the hidden layer, on the output, on both, or nowhere?
# 3. In which mode do they run, and why does the other mode tell you nothing?
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M2" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) Paper and code disagree, and the code with itself: only `transformer_base_v1` has, as the paper does, no dropout on the hidden layer. So the
# documentation may mean either. (2) Run one input many times, twice over. First with `W2` set to zeros and `b2` to
# ones: if about a tenth of the numbers are exactly 0 and the others 1/0.9, there is dropout on the output; if all are 1, there is none. Then with `W2` set
# to ones (or left as trained): look at the numbers that are not 0. If each place has the same number in every run, there is no dropout on the hidden layer;
# if it varies from run to run, there is. The two answers together tell all four cases apart. (The second experiment alone will do, if one looks at both:
# zeros for the output, variation of the others for the hidden layer.) (3) In **training mode**. In eval mode dropout is the identity: all four are the same
# function of the same weights.
#
# **Rubric.** One point each:
#
# - (1) paper and code differ, or versions of the code do. Half a point for a general doubt of documentation.
# - (2) observations that separate all four cases: exact zeros (or a missing `b2`) for the output, and, with `W2` not zero, numbers that
#   vary between runs for the hidden layer. Half a point if some cases stay together, as with `W2` at zero alone.
# - (3) training mode, because in eval mode nothing is dropped. Half a point for the mode without a reason.
# <!-- ### END SOLUTION -->
