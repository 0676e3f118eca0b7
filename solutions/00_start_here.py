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
# A very small Transformer knows 56 words. You begin a sentence, and it goes on. Switch off its **feed-forward network**, the FFN, and read how the sentence ends now. Then switch the FFN on
# again, and change the words in the boxes.
#
# <span class="ffn-notebook-only">To wake the model up, press <b>Shift + Enter</b> three times. Each cell below wakes in the same way.</span>

# %% setup="imports"
import torch

from ffnlab import check, hint, play, predict, progress, quiz, veil
from ffnlab.course import toy_transformer
from ffnlab.course.boards import creek
from ffnlab.course.experiments import twin
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import start_here as figures
from ffnlab.course.language_models import language_models
from ffnlab.doctor import doctor
from ffnlab.drawing import controls, style

style.use()

# %% figure="creek"
play(creek.switch())

# %% figure="creek-after"
veil("What does it lose?", "when you have switched the FFN off", of="creek_switch.off", text="""
It still speaks, and it still finds its way to the full stop. But two words are coin tosses now. Whatever the scene, the model gives *over* and *into* between 46 and 54 % each,
and it is no surer of *glad* or *sorry*. It writes the word that is a little ahead, so it is right about as often as a coin: in 51 % of 1,792 new scenes about *over or into*, and in 46 % about *glad or sorry*.
""")

# %% figure="creek-rule-after"
veil("What rule is this?", "when your table is full", of="creek_switch.table", text="""
One goes *over* cold water and warm land, and *into* warm water and cold land. So neither *creek* nor *cold* alone tells you which. You have to know both.

Many other things can be decided by adding up. Suppose that each word gives each sight a number of points, its **vote**. The points are added up, and the sight with most of them wins. If *over* votes for
ice and flowers, and *cold* votes for ice and snow, then ice wins. That is the end of the cold creek's sentence.

But no votes give *over or into*. The word *cold* would have to vote for *over* at a creek and against it on a lawn. In this model all parts but one only add up votes: even its
attention averages. The one that can do more is the FFN, which you switched off a moment ago.
""")

# %% [markdown] text="scenes-text"
# ## One sentence may be luck
#
# So let us count. A scene is a place, a weather, a mood and a creature, and there are 4,096 of them. In training the model read 2,304. In each of the 1,792 others, two words meet
# that never met in training, such as *cold* and *creek*.
#
# The model writes a sentence about each of these 1,792. Most of its words are the same in all sentences, or follow from one word alone, as *creep* follows from *timid*. Three words do not: *over* or *into*, *glad* or
# *sorry*, and the sight at the end. A sentence is **right** if all of its words are right. It is **proper** if all of them are right except, perhaps, these three.

# %% figure="predict-right-without-ffn"
predict("right_without_ffn")

# %% code="next-word-all" output="fixed"
model = toy_transformer.load()
for label, ffn in (("with its FFN", True), ("FFN off", False)):
    scores = twin.score_sentences(model, ffn)
    print(f"{label:12}   proper: {scores['proper']:4.0%}")  # after your guess, print scores["right"] as well

# %% [markdown] text="confession-text"
# ## A confession
#
# You have seen a trick. This model was also trained to speak with its FFN off, and its FFN was taught to be as quiet as it can. So you can see what is left without the FFN, and which words need it. We trained five like it and took the one
# that is easiest to look inside.
#
# It has a twin of the same size. The twin read the same sentences, but it was trained for the next word and for nothing else. With their FFNs on, the two write the same.
#
# Inside a model each word is a row of numbers, and all that the FFN does is to add something to that row. *Off* means: add zeros. The board starts like that. Let this model speak, and
# then its twin.

# %% figure="creek-twin"
play(creek.twins())

# %% figure="creek-twin-after"
veil("Which of them still speaks?", "when you have asked the twin", of="creek_twin.twin_off", text="""
The twin stammers. Of its 1,792 sentences without the FFN not one is proper. We trained sixteen more twins from other random starts. Fourteen write fewer than
one proper sentence in a hundred.

Does a model need its FFN to speak, then? Not so fast. *Off* means zeros, and the twin's FFN may never have added anything near zero in training. So give it a fairer *off*: choose
*its mean*. Then at each position the FFN adds the mean of what it added there in training, whatever the sentence is.
""")

# %% figure="creek-twin-mean"
veil("What does the mean show?", "when the twin has spoken with the mean", of="creek_twin.twin_mean", text="""
Now the twin speaks: all of its 1,792 sentences are proper. Of the sixteen other twins, eleven write over 90 % proper ones. So a twin needs something from its
FFN to write at all. But at most positions one row, the same for every sentence, is enough.

*Over or into* and *glad or sorry* go wrong again, each in half of the scenes, and the sight in two thirds. Only 5 sentences are right to the last word. And this is no coin. Choose *lawn*: the twin
says *over* with 78 %, and it is wrong.

The first test is called **zero ablation**, the second **mean ablation**. When you hear that a model breaks without one of its parts, ask what was put in its place.

One more confession: in all these models attention just averages the words. Notebook 01 asks what happens when attention learns its weights.
""")

# %% [markdown] text="added-text"
# ## What the switch turns off
#
# Look inside. A model does not see letters. The text is cut into **tokens**, here words and the full stop, and each token has a row of numbers, its vector. Blue is positive,
# orange is negative. On the left is what the FFN gets at each position. After your guess, tick the box: what it adds comes on the right.

# %% figure="predict-ffn-positions"
predict("ffn_positions")

# %% figure="added"
controls.show(
    figures.added,
    is_shown=controls.toggle("show what the FFN adds", False),
    position=controls.slider("position", 0, 18, 1, 3),
    model=controls.choice("model", figures.MODELS, "this model"),
)

# %% [markdown] text="added-after"
# Tick the box, and move the slider or press a row. Then choose the twin, and look at *it*. What happens to that row if the FFN adds zeros?
#
# <details><summary>What do the lengths say?</summary>
#
# In this sentence, this model's FFN adds the same short row at 17 of the 19 positions: its biases, which are added whatever comes in. At the other two, the next word is a coin toss without it.
#
# In the twin the FFN adds a long row after every word but the first. At *it* it is nearly three times as long as the one that came in. With zeros at this one position, not a single sentence is proper.
#
# But long is not the same as new. Leave the twin's FFN on at three positions, *jump*, the second *was* and the last *the*, and add the mean at all others. Then all 1,792 are right. So three positions are
# enough, and all are needed: with the mean at any one, half of the sentences go wrong. In this model, *jump* and *was* are enough.
#
# </details>

# %% [markdown] text="about-text"
# ## And in a large model?
#
# This course is about what that switch turns off. Of the two halves of a language model, one is famous: **attention**. The other one is the FFN.

# %% figure="predict-gpt3-ffn-share"
predict("gpt3_ffn_share")

# %% [markdown] text="header"
# ## The course on one page
#
# A Transformer is a stack of blocks, and each block has two halves. Attention lets each word look at the words before it, and in some models at those after it, and brings what it finds into each
# word's own vector. The FFN then works on each vector alone. So it can combine *creek* and *cold* only after attention has brought both into one vector. You will
# build an FFN, open it, and finally split it into experts. Every notebook has this drawing, with the part that it is about in green.

# %% figure="anatomy"
anatomy.block("")

# %% [markdown] text="doctor-text"
# | | |
# |---|---|
# | **Difficulty** | none, except for one puzzle |
# | **Time** | {minutes} minutes on the core path; {more} more for the puzzle |
# | **You need** | Python, and to have met a tensor and attention once |
# | **Points** | {points} |
#
# Go through a notebook with **Shift + Enter** in each cell. Short of time? Stay on the **core path** and skip what is marked *deeper*. If things get confused: menu **Kernel → Restart Kernel and Run All
# Cells…**
#
# Now ask your machine whether it is ready. If something is missing, a line begins with `[FAIL]`, and the next one says what to do.

# %% figure="doctor"
ready = doctor(brief=True)

# %% [markdown] text="shapes-text"
# ## Be wrong on purpose
#
# The numbers of a sentence are a **tensor**, and its sizes are its **shape**. This one holds the left half of the picture above, for two sentences. Read each shape aloud.

# %% code="shapes" output="fixed"
x = figures.batch()
print("x       ", list(x.shape), "  two sentences of 19 tokens, 32 numbers per token")
print("x[0]    ", list(x[0].shape), "     one sentence")
print("x[0, 3] ", list(x[0, 3].shape), "         one token")

# %% [markdown] text="checks-text"
# The course writes `[B, T, d]` for such a shape: B sequences of T tokens, d numbers each.
#
# Below each exercise is a check. It runs your code on a few inputs, and it knows many common mistakes. Here is one such mistake. This function should return the three
# sizes of `x`, in the order of the shape, and for the `x` above it does. Run the cell. Then put other mistakes behind `return`, and see which of them the check knows.


# %% code="wrong-on-purpose"
def wrong_on_purpose(x):
    return 2, 19, 32


check("hello_shape", wrong_on_purpose, on_purpose=True)

# %% [markdown] text="hello_shape-text"
# ### Exercise `hello_shape`
#
# *{points} · difficulty ●○○ · 2 minutes*
#
# Your turn: write the function so that it is right for every `x`. These two points are a gift, so that you and your instructor can try out how work is handed in and graded.
#
# - **Takes** `x`, a tensor of shape [B, T, d].
# - **Returns** a tuple of three Python integers, `(B, T, d)`, in this order.
#
# Stuck? Run `hint("hello_shape")` in a cell of your own. The second time, the hint is a stronger one.


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
# *deeper: the core path goes on with “House rules”*
#
# *Over or into* needs the place and the weather. *Glad or sorry* needs two words as well. Here is the model with its FFN on. It knows which two, and it knows the rule.
# You don't, but you can ask it. Change one word at a time. Whether it is a dog or a cat does not matter.

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
# Find the rule of `feeling` first, because this puzzle builds on it.
#
# Three properties are quickly tried out by hand. Now think of a world with n properties, numbered from 0 to n − 1. Again two of them decide, by the rule that you have found. But in some worlds
# *glad* and *sorry* are swapped. You don't know which two decide, and you don't know whether the words are swapped. Write a function that finds out.
#
# - **Takes** `ask` and `n`. You call `ask(scene)` with a list of n booleans, and it returns `"glad"` or `"sorry"`. `n` is 2, 4, 8, 16, 32 or 64.
# - **Returns** a tuple of three: the numbers of the two properties, the smaller one first, and what the creature feels where both are False.
# - **Example** with n = 4: if properties 1 and 3 decide, and the creature is sorry where both are False, the answer is `(1, 3, "sorry")`.
#
# A right answer earns 2 points, however many questions you ask. You earn 2 more if your function never asks more than 2·log2(n) questions, which is 12 for n = 64. Every call counts.
#
# The check plays two hundred worlds. None of them is chosen in advance. The check only keeps its answers consistent, so your questions settle which world it is. For each n, one world plays against you and
# always gives the answer that leaves more worlds possible. Find a way for n = 8 on paper first. Six questions are enough.


# %% exercise="deciding_pair"
def deciding_pair(ask, n):
    """The two properties of n that decide, the smaller one first, and the feeling where both are False."""
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
# <details><summary>How is it done? Open this when you have tried.</summary>
#
# Write the properties' numbers in binary. Ask first with nothing but False, to learn what the creature feels then. Now ask once for each digit,
# and make True what has a 1 there. The answer differs from the first exactly if the two numbers differ at that digit. Take such a digit, D. One of the two numbers, a,
# has a 1 there. For each other digit E, make True what has a 1 at E and at D. The second number, b, has a 0 at D and stays False, so the answer differs from the first
# exactly if a has a 1 at E. And b differs from a at the digits that you found.
#
# </details>
#
# <details><summary>Can it be done with fewer?</summary>
#
# That was one question for the feeling, log2(n) for the digits and log2(n) − 1 for a. Fewer are not enough for n above 2. There are n(n − 1)/2 pairs, and each can decide in two ways. So there are n(n − 1) worlds, and for n = 64 these are 4,032. An answer is one of two words.
# Whatever you ask, one of the two leaves at least half of the worlds possible. So after eleven answers at least 4,032 / 2¹¹ worlds can be left. That is more than one.
#
# </details>

# %% [markdown] text="hidden-text"
# ## House rules
#
# The check uses **public inputs**. They are the same for everybody, and you can run the check as often as you like. When an instructor grades your
# work, your functions are called on **hidden inputs**. These are drawn in the same way, where possible with other numbers and sizes. They are the same for all students, and no student sees
# them. What your code earns on them is your grade, so code that is right for any input earns the same in both.
#
# <details><summary>Which cells are yours?</summary>
#
# - Cells with `# YOUR CODE HERE` are yours. Replace the line `raise NotImplementedError`, or the `...`, with your answer.
# - Questions in your own words have a cell of their own below them.
# - Other cells show something. A cell that shows a figure or a board is closed. Press its grey bar to see the code.
# - Text, figures and checks are locked. You can add cells of your own, with the **+** above.
# - Guesses earn no points. Before you choose, you may say how sure you are. After eight such guesses `progress()` shows how often you were right when you were certain.
#
# </details>
#
# <details><summary>How do you read a shape?</summary>
#
# | letter | read it as | above |
# |---|---|--:|
# | `B` | how many sequences there are in the batch | 2 |
# | `T` | how many tokens each of them has | 19 |
# | `d`, or `d_model` | how many numbers there are per token | 32 |
#
# In code a shape is a comment at the end of the line, as in `token = x[0, 3]  # [d]`. Three dots, as in `[..., d]`, mean “whatever comes before, and d at the end”.
#
# </details>
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

# %% figure="language-models"
language_models()

# %% [markdown] text="handin-text"
# ### Hand in your work
#
# 1. Menu **Kernel → Restart Kernel and Run All Cells…** If an answer works only in a certain order of cells, you find out now.
# 2. Look at the table below. It shows what you are about to hand in.
# 3. Save with **Ctrl + S** (**Cmd + S** on a Mac).
# 4. Hand in this one file, `00_start_here.ipynb`, with its name unchanged, where your instructor tells you to. If you learn on your own, there is nothing to hand
#    in: the checks and this table are for you.
#
# <details><summary>What if your code or your words are in another cell?</summary>
#
# Nothing is lost. Code counts wherever it is in the notebook, and a person reads your words wherever you wrote them. But grading has this one file alone. If your code needs a file of yours,
# such as a module or data, put what is in it into a cell.
#
# </details>

# %% figure="progress"
progress()

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | Without its FFN this model still writes proper sentences, but it tosses a coin for *over or into* and for *glad or sorry*. | the guess of 100 sentences |
# | Two words decide *over or into* together, and no adding up of votes can say it. *Glad or sorry* is such a rule as well. | your table, `feeling` |
# | A part that is switched off is replaced by something, by zeros or by a mean, and the answer depends on which. | the twin |
# | At most positions the FFN may add the same row whatever the sentence. In these two models it is enough that it reads the sentence at two or three. | the guess of positions |
# | In a large model about two thirds of the numbers are in the FFNs. | the guess about GPT-3 |
#
# Can attention find such a rule by itself? Notebook `01_attention` is about what attention can and cannot do. In a hurry to meet the FFN? Go to `02_feed_forward`.
