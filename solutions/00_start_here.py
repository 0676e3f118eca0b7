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
# # 00 · Over or into?
#
# A very small Transformer knows 56 words. Below, you begin a sentence and it goes on. Switch off its **feed-forward network**, the FFN, and see how the sentence ends now. Then switch it on
# again and change the words in the boxes.
#
# <span class="ffn-notebook-only">To wake it up, press <b>Shift + Enter</b> four times.</span>

# %% setup="imports"
import torch

from ffnlab import check, hint, play, predict, progress, quiz, veil
from ffnlab.course import toy_transformer
from ffnlab.course.boards import creek
from ffnlab.course.experiments import twin
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import start_here as figures
from ffnlab.doctor import doctor
from ffnlab.drawing import controls, style

style.use()

# %% figure="creek"
play(creek.switch())

# %% figure="creek-after"
veil("What does it lose?", "when you have switched the FFN off", of="creek_switch.off", text="""
It still speaks, and writes a proper sentence to the end. Yet two words it can only guess. In every scene of this world it gives *over* and *into* between 46 and 54 %
each, and *glad* and *sorry* likewise. It writes the one that is ahead, and is right about as often as a coin.

| in this world one goes | cold | warm |
|---|---|---|
| on water | **over** | **into** |
| on land | **into** | **over** |

So *creek* alone tells you nothing about over or into, and neither does *cold*. *Glad or sorry* is a second coin. Which two words decide it is yours to find, further down.

| and sees | cold | warm |
|---|---|---|
| over it | ice | flowers |
| into it | snow | waves |

The sight follows from the weather and from the way that it has just written. Here votes are enough: *over* votes for ice and flowers, *cold* for ice and snow, so
ice wins. After a wrong *into*, *cold* gives snow, which is wrong as well, but fits what it has written.

*Over or into* can't be voted on: *cold* speaks for *over* at a creek and against it on a lawn. In this model all parts but the FFN only cast votes: even its attention averages. So what
votes can't decide is left to the FFN, which you have just switched off.
""")

# %% [markdown] text="scenes-text"
# One sentence may be luck, so count. A scene is a place, a weather, a mood and a creature. In training the model read of 2,304 scenes. Each of the 1,792 others has a
# pair of words that it never met together, such as *cold* with *creek* or *cold* with *spunky*. A sentence about one of these others is *right* if no word is wrong.
# Three words count most: the way (*over* or *into*), the feeling (*glad* or *sorry*), and the sight at the end. A sentence is *proper* if all its other words are
# right.

# %% figure="predict-right-without-ffn"
predict("right_without_ffn")

# %% code="next-word-all" output="fixed"
model = toy_transformer.load()
for label, ffn in (("with its FFN", True), ("FFN off", False)):
    scores = twin.score_sentences(model, ffn)
    print(f"{label:12}   proper: {scores['proper']:4.0%}   right: {scores['right']:4.0%}")

# %% [markdown] text="confession-text"
# ## A confession
#
# You have seen a trick. This model was also trained to speak with its FFN off, so that you can see what is left. Of five such models we took
# the one that is easiest to look inside. It has a twin: the same size, the same sentences, trained for the next word and nothing else. With their FFNs on they write the same
# sentences. To a model a word is a row of numbers, and the FFN adds something to it. *Off* adds zeros, and this board begins with it. Ask this model, then its twin.

# %% figure="creek-twin"
play(creek.twins())

# %% figure="creek-twin-after"
veil("Which of them still speaks?", "when you have asked the twin", of="creek_twin.twin_off", text="""
The twin stammers. Of its 1,792 sentences without the FFN not one is proper. We trained sixteen more such twins from other random starts. Fourteen write fewer than
one proper sentence in a hundred.

Does a model need its FFN to speak, then? Perhaps not. *Off* means adding zeros, and in training the FFN may never have added anything near zero. So choose *its mean*, a fairer *off*.
Then at each position the FFN adds the mean of what it added there in training.
""")

# %% figure="creek-twin-mean"
veil("What does the mean show?", "when the twin has spoken with the mean", of="creek_twin.twin_mean", text="""
Now the twin speaks: all of its 1,792 sentences are proper. Of the sixteen others, eleven write over 90 % proper ones. So for a proper sentence a fixed push at each
position nearly suffices, in these eleven. But *over or into* is right in half of the scenes only, and so is *glad or sorry*. The sight is right in 31 %: in the twin
the FFN helps there, too.

The first test is called **zero ablation**, the second **mean ablation**. When you hear that a model breaks without one of its parts, ask what was put in its place.

One more confession: in all these models attention only averages the words, so that you can see what the FFN does. Notebook 01 asks what attention does with *over or into* when it learns.
""")

# %% [markdown] text="about-text"
# The course is about what that switch turns off. One half of the machine inside a language model is famous: **attention**. The other half is the **feed-forward network**, FFN
# for short. Guess once more.

# %% figure="predict-gpt3-ffn-share"
predict("gpt3_ffn_share")

# %% [markdown] text="header"
# ## How this works
#
# | | |
# |---|---|
# | **Difficulty** | none, but for two puzzles |
# | **Time** | {minutes} minutes on the core path; {more} more for the puzzles |
# | **You need** | Python, and to have met a tensor and attention once |
# | **Points** | {points} |
#
# Go through every notebook with **Shift + Enter** in each cell.
#
# - Cells with `# YOUR CODE HERE` are yours. Replace the line `raise NotImplementedError`, or the `...`, with your answer.
# - Other cells show something. A cell that shows a figure is closed; press the bar with the three dots to see its code.
# - Text, figures and checks are locked. You can add cells of your own, with the **+** above.
# - Guesses earn no points. Before you choose, you may say how sure you are. After eight such guesses `progress()` shows how often you were right when you were certain.
# - If things get confused: menu **Kernel → Restart Kernel and Run All Cells…**
#
# ## The course on one page
#
# A Transformer is a stack of blocks, and each block has two halves. Attention lets the words of a sentence look at each other, and brings what it finds into each
# word's own vector. The FFN then works on each vector alone. So it can combine *creek* and *cold* only after attention has brought both into one vector. You will
# build it, open it, and finally split it into experts. Every notebook has this drawing near its beginning, with the part that it is about in green.
#
# Short of time? Stay on the **core path** and skip what is marked *deeper*.

# %% figure="anatomy"
anatomy.block("")

# %% [markdown] text="doctor-text"
# ## Is your machine ready?
#
# Each line should begin with `[OK]`. A `[FAIL]` says what to do.

# %% figure="doctor"
ready = doctor()

# %% [markdown] text="slider-text"
# ## Move a slider
#
# A model does not see letters. The text is cut into **tokens**, here words and the full stop, and each token gets a row of numbers, a vector. The figure shows
# one token's numbers as bars. Blue and upwards is positive, orange and downwards is negative.

# %% figure="predict-same-word"
predict("same_word")

# %% figure="slider"
controls.show(figures.bars, position=controls.slider("position", 0, 13, 1, 3))

# %% [markdown] text="slider-after"
# Move the slider, or press a row. The line below says in words what is drawn. Each word's numbers are random.
#
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
# So `[B, T, d]` reads “B sequences of T tokens, d numbers each”. In code a shape is a comment at the end of the line, as in `token = x[0, 3]  # [d]`. Three dots, as in
# `[..., d]`, mean “whatever comes before, and d at the end”.

# %% [markdown] text="checks-text"
# ## Be wrong on purpose
#
# Below each exercise is a check. It runs your code on a few inputs and knows many common mistakes. Here is one: this function should return the three
# sizes of `x`, in the order of the shape, and for the `x` above it does. Run the cell. Then put other mistakes behind `return`, and see which of them it knows.


# %% code="wrong-on-purpose"
def wrong_on_purpose(x):
    return 2, 14, 6


check("hello_shape", wrong_on_purpose, on_purpose=True)

# %% [markdown] text="hello_shape-text"
# Now it is your turn. If you are stuck, run `hint("hello_shape")` in a cell of your own. It gives a nudge, and the second time a stronger one.
#
# ### Exercise `hello_shape`
#
# *{points} · difficulty ●○○ · 2 minutes*
#
# Write a function that reads a shape. These two points are a gift, so that you and your instructor can try out how work is handed in and graded.
#
# - **Takes** `x`, a tensor of shape [B, T, d].
# - **Returns** a tuple of three Python integers, `(B, T, d)`, in this order.
# - It has to work for every B, T and d, not only for those in the figure.


# %% exercise="hello_shape"
def hello_shape(x):
    """The sizes (B, T, d) of x [B, T, d], as three integers."""
    ### BEGIN SOLUTION
    B, T, d = x.shape
    return B, T, d
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="feeling-text"
# ## A rule to find
#
# *deeper: the core path goes on with “What grades you”*
#
# *Over or into* needs the place and the weather. *Glad or sorry* needs two words as well. Here is the model with its FFN. It knows which two, and it knows the rule.
# You don't, but you can ask it. Change one word at a time. How few scenes do you need? Dog or cat does not matter.

# %% figure="creek-rule"
play(creek.rule())

# %% [markdown] text="feeling-exercise-text"
# ### Exercise `feeling`
#
# *no points: this one is for the detective in you · difficulty ●●○ · 5 minutes*
#
# Write down the rule of *glad or sorry*.
#
# - **Takes** three booleans. `water` is True for *creek, river, lake* and *pond*; `cold` for *cold, icy, frosty* and *chilly*; `spunky` for *spunky, brave, bold* and *lively*.
# - **Returns** `"glad"` or `"sorry"`.
#
# You can't look this rule up, because it holds in this world only.


# %% exercise="feeling"
def feeling(water, cold, spunky):
    """Whether the creature is "glad" or "sorry", from three booleans."""
    ### BEGIN SOLUTION
    return "glad" if cold is spunky else "sorry"
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="deciding_pair-text"
# ### Exercise `deciding_pair`
#
# *{points} · difficulty ●●● · 20 minutes · deeper*
#
# Three properties are quickly tried out by hand. Now think of worlds with n properties, numbered from 0 to n − 1. As before, two of them decide. In some worlds the
# creature is glad if the two are equal, and sorry if they differ. In the others it is the other way round. You don't know which two decide, nor which way round. Write
# a function that finds out, with few questions.
#
# - **Takes** `ask` and `n`. You call `ask(scene)` with a list of n booleans, and it returns `"glad"` or `"sorry"`. `n` is 2, 4, 8, 16, 32 or 64.
# - **Returns** a tuple of three: the numbers of the two properties, the smaller one first, and what the creature feels where they are equal.
# - **Example** with n = 4: if the creature is sorry whenever properties 1 and 3 are equal, the answer is `(1, 3, "sorry")`.
#
# With any number of questions you earn 2 points. You earn 2 more if your function never needs more than 2·log2(n), which is 12 for n = 64. Every call counts. The
# check tries two hundred worlds. None of them is picked beforehand: each one is settled by your questions, as they come. For each n, one of them plays against you, and
# always gives the answer that leaves more worlds possible. Find a way on paper for n = 8 first: six questions are enough.


# %% exercise="deciding_pair"
def deciding_pair(ask, n):
    """The two properties of n that decide, the smaller one first, and the feeling where they are equal."""
    ### BEGIN SOLUTION
    digits = range(n.bit_length() - 1)
    equal = ask([False] * n)  # all properties are equal here, so the two are as well
    differ = [ask([k >> b & 1 for k in range(n)]) != equal for b in digits]  # at which binary digits the two numbers differ
    top = differ.index(True)  # exactly one of the two has a 1 here
    one = 1 << top
    for b in digits:
        if b != top and ask([k >> top & 1 and k >> b & 1 for k in range(n)]) != equal:
            one += 1 << b
    other = one ^ sum(1 << b for b in digits if differ[b])
    return min(one, other), max(one, other), equal
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="deciding_pair-after"
# <details><summary>How is it done, and can it be done with fewer? Open this when you have tried.</summary>
#
# Write the properties' numbers in binary. Ask first with nothing but False: the two are equal, so you learn what the creature feels then. Now ask once for each digit,
# and make True what has a 1 there. The answer differs from the first exactly if the two numbers differ at that digit. Take such a digit, D. One of the two numbers, a,
# has a 1 there. For each other digit E, make True what has a 1 at E and at D. The second number, b, has a 0 at D and stays False, so the answer differs from the first
# exactly if a has a 1 at E. And b differs from a at the digits that you found. That is 1 + log2(n) + log2(n) − 1 questions.
#
# For n above 2 it can't be fewer. There are n(n − 1)/2 pairs, and each can decide in two ways. So there are n(n − 1) worlds, and for n = 64 these are 4,032. An answer is one of two words.
# Whatever you ask, one of the two leaves at least half of the worlds possible. So eleven answers can leave at least 4,032 / 2¹¹ worlds, and that is more than one.
#
# </details>

# %% [markdown] text="hidden-text"
# ## What grades you
#
# The check in the notebook uses **public inputs**. They are the same for everybody, and you can run the check as often as you like. When an instructor grades your
# work, your functions are called on **hidden inputs**: drawn in the same way, where possible with other numbers and sizes. They are the same for all students, and no student sees
# them. The points you earn there are your grade. Code that is right for any input earns the same in both.
#
# ### Question `quiz_hidden`
#
# *not graded: this one shows how a question works*
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
# 2. Look at the table below. It shows what you are about to hand in.
# 3. Save with **Ctrl + S** (**Cmd + S** on a Mac).
# 4. Hand in this one file, `00_start_here.ipynb`, with its name unchanged, where your instructor tells you to. If you learn on your own, there is nothing to hand
#    in: the checks and this table are for you.
#
# Your code belongs in the cells that say `# YOUR CODE HERE`, and your words in the cell below their question. Nothing is lost elsewhere: code counts where it
# stands, and a person reads your words wherever you wrote them. But grading has this one file alone. If your code needs a file of yours, such as a module or data,
# put what is in it into a cell.

# %% figure="progress"
progress()

# %% [markdown] text="end-text"
# ## And now?
#
# You have seen a model lose the words whose two clues can't be added up. Can attention find them by itself? Notebook `01_attention` is about what attention can and
# cannot do. In a hurry to meet the FFN? Go to `02_feed_forward`.
