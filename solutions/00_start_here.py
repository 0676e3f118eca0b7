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
# # 00 · Start here
#
# `○○○○○○○○○○` before step 1 of 10
#
# *The creek was cold and the spunky dog wanted to jump …* over it, or into it?
#
# A very small Transformer has learned a very small world of 56 words. In all that it has read, no creek was ever called cold. Ask it anyway: click into the
# next cell and press **Shift + Enter**, then once more for the cell below it.
#
# Choose other words. Then untick **FFN**: that switches off two fifths of the model's parameters. Which words does it still know?

# %% setup="imports"
import torch

from ffnlab import check, hint, predict, progress, quiz
from ffnlab.course import toy_transformer
from ffnlab.course.experiments import world as experiment
from ffnlab.course.figures import anatomy, little_world
from ffnlab.course.figures import start_here as figures
from ffnlab.doctor import doctor
from ffnlab.drawing import controls, style

style.use()

# %% figure="next-word"
controls.show(
    little_world.next_word,
    place=controls.choice("place", little_world.PLACES, "creek"),
    weather=controls.choice("weather", little_world.WEATHERS, "cold"),
    creature=controls.choice("creature", little_world.CREATURES, "spunky dog"),
    question=controls.choice("question", little_world.QUESTIONS, "over or into?"),
    ffn=controls.toggle("FFN", True),
)

# %% [markdown] text="next-word-after"
# **What you saw.** Without its FFN the model still speaks properly, and it still knows what a cold creek looks like: ask it *about the …?*, and it says “ice”. What it has
# forgotten is what a cold creek *means* for somebody who wants to jump. Over or into, glad or sorry: it tosses a coin.
#
# What is so hard about *over*? In this world one goes **over** cold water and **into** warm water. On land it is the other way round: where it is cold there
# is soft snow. So *creek* alone says nothing about over or into, and neither does *cold*: only the **combination** does, and finding such combinations is the
# FFN's work here. (*Ice* is easier: *creek* speaks for ice or waves, *cold* for ice or snow, and the two votes only have to be added.) (In this
# model attention may only average, and sums and averages can't do what *over* asks for. Attention that learns can find some combinations itself; notebooks 01
# and 02
# are exact about it.)
#
# The next cell asks about all 1,792 scenes that the model has never read about: how sure is it of the right word, on average?

# %% code="next-word-all" output="fixed"
model, task = toy_transformer.load(), experiment.TASKS["two attributes"]
sizes = {name: p.numel() for name, p in model.named_parameters()}
ffn, total = sum(size for name, size in sizes.items() if name.startswith("linear")), sum(sizes.values())
print(f"{total:,} parameters, {ffn:,} of them in the FFN: {ffn / total:.0%}")
for label, on in (("with its FFN", True), ("FFN off", False)):
    found = experiment.judged(model, task, ffn=on)
    way, feeling, rest = found["way, probability"], found["feeling, probability"], found["the rest"]
    print(f"{label:12}   over or into: {way:.0%} sure   glad or sorry: {feeling:.0%} sure   all other words: {rest:.0%} right")

# %% [markdown] text="about-text"
# You don't have to understand all this yet. The course is about that switch. One half of the machine inside a language model is famous: **attention**. The
# other half is less talked about. It is the **feed-forward network**, FFN for short, and here is your first guess about it. Guesses earn no points, but they
# make
# you look more closely.

# %% figure="predict-gpt3-ffn-share"
predict("gpt3_ffn_share")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | none |
# | **Time** | 20 minutes |
# | **You need** | Python, and to have met a PyTorch tensor once |
# | **Points** | 2 |

# %% [markdown] text="goals"
# ## What this notebook is for
#
# This notebook shows you how all the others work.
#
# <details><summary>At the end, you will be able to … (open to see what, and what tests it)</summary>
#
# | | tried out in |
# |---|---|
# | open a notebook, run it, and tell whether your machine is ready | `doctor()` |
# | move a slider and say what changed | “Move a slider” |
# | read a tensor's shape aloud | `hello_shape` |
# | read what a check says about a wrong answer | the wrong answer on purpose |
# | say what decides your grade, and hand in your work | `quiz_hidden` |
#
# </details>

# %% [markdown] text="map-text"
# ## The course on one page
#
# A Transformer layer, or block, has two halves. Attention lets the words of a sentence look at each other. The FFN then works on each word alone, and often holds most of
# the layer's parameters. You will build it, bend it, open it, and finally split it into experts. What comes before: attention, seen once. What comes after: norms, positions and training,
# the rest of a Transformer. The same drawing is at the head of every notebook, with the
# part that it opens in green.
#
# Short of time? Stay on the **core path**: skip the sections and exercises that are marked *deeper*. Nothing on the core path needs them, and you can come back.

# %% figure="anatomy"
anatomy.block("")

# %% [markdown] text="how-text"
# ## Run a cell
#
# Go through every notebook from top to bottom, with **Shift + Enter** in each cell.
#
# - Cells with `# YOUR CODE HERE` are yours. Replace the line `raise NotImplementedError`, or the `...`, with your answer.
# - Cells without that line show something. You can change many of them: try other numbers, break them, run them again.
# - Text, figures and checks are locked, so you can't break them by accident.
# - You can add cells of your own anywhere, with the **+** above.
#
# If things get confused: menu **Kernel → Restart Kernel and Run All Cells…**

# %% [markdown] text="doctor-text"
# ## Is your machine ready?
#
# Each line below should begin with `[OK]`. A line with `[FAIL]` says what to do about it.

# %% figure="doctor"
ready = doctor()

# %% [markdown] text="slider-text"
# ## Move a slider
#
# One sentence goes with you through the course:
#
# > The creek was cold and the spunky dog wanted to jump over it.
#
# A model does not see words. It cuts the text into **tokens** (here words, and the full stop) and gives each token a row of numbers, a vector. In the
# figure one token's numbers are drawn as bars: blue and upwards is positive, orange and downwards is negative.
#
# Move the slider, or press a row. The slider listens to the arrow keys, too.

# %% figure="predict-same-word"
predict("same_word")

# %% figure="slider"
controls.show(figures.bars, position=controls.slider("position", 0, 13, 1, 3))

# %% [markdown] text="slider-after"
# Under each figure one sentence says in words what is drawn, so that you can also read or hear it.
#
# The numbers come from a random seed; they are not learned. They are the same on every machine, and the figures of the other notebooks use the same ones.
#
# When you open a saved notebook again, its figures are asleep: you see the picture, but it does not follow the slider. Run the cell to wake it.
#
# The sheet that peeks out behind is the second sentence: a model works on several sentences at once.

# %% [markdown] text="shapes-text"
# ## Shapes, read aloud
#
# All the numbers of the figure are in one tensor. Run the cell, and read each shape aloud.

# %% code="shapes" output="fixed"
x = figures.batch()
print("x       ", list(x.shape), "  two sentences of 14 tokens, 6 numbers per token")
print("x[0]    ", list(x[0].shape), "     one sentence")
print("x[0, 3] ", list(x[0, 3].shape), "         one token")

# %% [markdown] text="shapes-convention"
# The course always uses the same letters, in the same order:
#
# | letter | read it as | in the figure |
# |---|---|---|
# | `B` | how many sequences in the batch | 2 |
# | `T` | how many tokens in each | 14 |
# | `d`, or `d_model` | how many numbers per token | 6 |
#
# So `[B, T, d]` reads “B sequences of T tokens, d numbers each”. In code a shape is given in a comment at the end of the line:
#
# ```python
# x = figures.batch()     # [B, T, d]
# token = x[0, 3]         # [d]
# ```
#
# Three dots, as in `[..., d]`, mean “whatever comes before, and d at the end”.

# %% [markdown] text="checks-text"
# ## What a check tells you
#
# Below each exercise is a check. It runs your code on a few inputs and says one of three things: **not attempted**, **not yet**, or **earned**. It
# knows many of the mistakes that people make. Here is one, on purpose: this function should return the three sizes of `x`, in the order of the shape. Run the
# cell. Then change the last line of the function, and see what else the check has to say.


# %% code="wrong-on-purpose"
def wrong_on_purpose(x):
    B, T, d = x.shape
    return B, d, T


check("hello_shape", wrong_on_purpose, on_purpose=True)

# %% [markdown] text="checks-after"
# The first line says how many points you would get, here 0 of 2. Below it a panel for a wrong answer has three parts: **what was seen**, the **likely
# cause** if it is a mistake that we know, and **where to look**. If your code raises an exception, the panel says which one and in which line. If your
# code prints, the panel keeps that, too.
#
# `hint` gives a nudge, and a stronger one each time you run it. It never gives the code.

# %% code="hint"
hint("hello_shape")

# %% [markdown] text="hello_shape-text"
# ### Exercise `hello_shape`
#
# *2 points · difficulty ●○○ · 2 minutes*
#
# Write a function that reads a shape.
#
# - **Takes** `x`, a tensor of shape [B, T, d].
# - **Returns** a tuple of three Python integers, `(B, T, d)`, in this order.
# - It has to work for every B, T and d, not only for those in the figure.
#
# Run the check below once before you begin: it says “not attempted”. Then write, run your cell, and run the check again.


# %% exercise="hello_shape"
def hello_shape(x):
    """The sizes (B, T, d) of x [B, T, d], as three integers."""
    ### BEGIN SOLUTION
    B, T, d = x.shape
    return B, T, d
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="hidden-text"
# ## What grades you
#
# The check in the notebook uses **public inputs**. They are the same for everybody and come with the course, so you can run the check as often as you
# like.
#
# When an instructor grades your work, the notebook is put together again: your cells between fresh copies of ours. It runs from the top. Then your
# functions are called on **hidden inputs**: drawn in the same way, but with different numbers and sizes. They are the same for all students, and nobody sees
# them.
# The points you earn there are your grade.
#
# So fitting the inputs you see wins nothing. Write what the exercise asks for, for any input, and the check will agree with the grade.
#
# ### Question `quiz_hidden`
#
# *not graded: this one is here to show how a question works*
#
# What decides the grade of an exercise?
#
# - **A.** What the function returns for the inputs shown in the notebook.
# - **B.** What the function returns for inputs that are drawn in the same way, but not shown.
# - **C.** What the panel said when you ran the check last, as saved in the notebook.
#
# Put the letter in quotes. Choose a wrong one first: every wrong option has an explanation of its own.

# %% quiz="quiz_hidden"
quiz_hidden = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_hidden = "B"
### END SOLUTION

# %% [markdown] text="handin-text"
# ## Hand in your work
#
# 1. Menu **Kernel → Restart Kernel and Run All Cells…** If an answer works only in a certain order of cells, you find out now.
# 2. Look at the panels, and at the table below. Step 1 ran every check again, so the table shows what you are about to hand in. (On some course servers there is a
#    **Validate** button above the notebook. It runs everything afresh, too, and lists the checks that are not earned yet.)
# 3. Save with **Ctrl + S** (**Cmd + S** on a Mac).
# 4. Hand in this one file, `00_start_here.ipynb`, with its name unchanged, where your instructor tells you to. If you learn on your own, there is
#    nothing to hand in: the checks and this table are for you.

# %% figure="progress"
progress()

# %% [markdown] text="end-text"
# ## You can now …
#
# - run a notebook from top to bottom, and start it afresh;
# - read a figure and move its slider;
# - read `[B, T, d]` aloud;
# - learn from a wrong answer: what your code did, the likely cause, where to look;
# - say why your grade comes from inputs you have not seen, and hand in your work.
#
# Next: `01_attention`. In a hurry to meet the FFN? Go to `02_feed_forward`.
