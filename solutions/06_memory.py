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
# # 06 · Make it forget one thing
#
# A feed-forward network has learned what 512 invented people like. Bamaba likes oats. Sixteen of the network's 128 neurons are on the table, each with what it adds to *oats* when the network is asked about him.
# Press one, and it is out. Each small square is a person: when one turns dark, somebody has forgotten.
#
# <span class="ffn-notebook-only">To wake the board up, press <b>Shift + Enter</b> three times. Keys work, too: Tab goes to a neuron, the arrows go on, and Enter presses.</span>

# %% setup="imports"
import copy
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course import toy_transformer, world
from ffnlab.course.boards import forget
from ffnlab.course.experiments import fact_stores
from ffnlab.course.figures import anatomy, little_world
from ffnlab.course.figures import memory as figures
from ffnlab.course.progress_bar import bar
from ffnlab.drawing import controls, style

style.use()
torch.set_num_threads(1)  # for arrays as small as ours, one thread is fastest


class FFN(nn.Module):
    """The FFN of notebook 02: [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.activation = torch.relu

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


# %% figure="forget"
play(forget.one())

# %% figure="forget-after"
veil(
    "What have you pressed out?",
    "when both of Bamaba's goals are settled",
    of="forget_one.one",
    text="""
No neuron is *the* memory of oats. Thirty-four push oats for Bamaba, and the board shows the strongest sixteen. Each of them pushes something for others too. Each question lights another half of
the 128 neurons, and any two halves share about 33. So the store has neither a drawer for each fact nor an even blur: a fact is a sum of many small pushes, a few of them larger than the rest.

Oats lead by 8.1. A neuron counts by what it does to this *lead*: what it adds to oats, less what it adds to the rival. Neuron 80 counts for most, and without it oats still
lead by 0.4. Two neurons are enough, and not always the strongest: try 41 and 74. They take only 4.9 from oats, but they also held *flutes* down.

And the dark squares? They are people who needed the same neurons.
""",
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | intermediate |
# | **Time** | {minutes} minutes on the core path; {more} more for question M6 and the part *Deeper* |
# | **You need** | `02_feed_forward`; a training loop seen once |
# | **Points** | {points} |
#
# Notebook 02 found neurons of the creek model that know when to say *over*. This store is far less tidy. At the end we return to the creek, and write a rule of our own into its model.

# %% [markdown] text="rests-text"
# ## What does the fact rest on?
#
# Each of the 512 people is a question: a vector x of 32 random numbers. Each of the 64 answers is such a vector, too. The FFN reads x, and a residual connection adds x to what the FFN
# writes. An answer's score is the dot product of x + FFN(x) and the answer's vector. The network says the answer with the highest score.
#
# Only the 128 neurons connect Bamaba's question with oats. A neuron has three parts, which Geva et al. ([2021](https://arxiv.org/abs/2012.14913)) gave these names:
#
# | | | neuron j, with `nn.Linear` |
# |---|---|---|
# | **key** | what it compares x with | `linear1.weight[j, :]` |
# | **coefficient** | how strongly it fires for this x: h_j = relu(x · key_j + b1_j) | a single number, no weight |
# | **value** | what it writes, times the coefficient | `linear2.weight[:, j]` |
#
# Be careful with drawings that label the hidden layer “values”: what they mean is the firing. A value is stored, and it is the same for every x. How strongly a neuron fires changes with x. So the output is a sum of what the neurons write:
#
# $$\mathrm{FFN}(x) = b_2 + \sum_j h_j \cdot \mathrm{value}_j$$
#
# This looks like attention whose keys and values are learned. But there is no softmax: many neurons can fire strongly at once.
#
# Here is one neuron: on the left the eight people for whom it fires most, on the right the eight answers that its value pushes most. Look at a few neurons.

# %% figure="neuron"
controls.show(figures.neuron, j=controls.slider("neuron", 0, figures.NEURONS - 1, 1, 80))

# %% [markdown] text="decompose_output-text"
# The people on the left often like something on the right, 2.4 times as often as chance would bring. So key and value belong together. Still, no neuron belongs to one person.
#
# ### Exercise `decompose_output`
#
# *{points} · difficulty ●●○ · 4 minutes*
#
# Take the output apart.
#
# - **Takes** `ffn`, a module like the `FFN` of the first cell, and one question `x` [d_model].
# - **Returns** a tensor [d_ff, d_model], in the dtype of `x`. Row j is what neuron j writes: its coefficient times its value.
# - A neuron that does not fire has a row of zeros. To test your code: all rows, added up, and `ffn.linear2.bias` give `ffn(x)`.
#
# Stuck? Run `hint("decompose_output")` in a cell of your own.


# %% exercise="decompose_output"
def decompose_output(ffn, x):
    """What each neuron writes for the question x [d_model]: [d_ff, d_model]."""
    ### BEGIN SOLUTION
    coefficients = ffn.activation(ffn.linear1(x))  # [d_ff]
    return coefficients[:, None] * ffn.linear2.weight.T
    ### END SOLUTION
    raise NotImplementedError


# %% [markdown] text="silence_strongest-text"
# A row of yours is a vector. Its dot product with an answer is what the neuron adds to that answer's score. We call this its **contribution**, a number with a sign. The bars on the board are contributions to oats.
#
# ### Exercise `silence_strongest`
#
# *{points} · difficulty ●●○ · 8 minutes · deeper*
#
# Do what your finger did first: find the k neurons that contribute most, and press them out. Leave no trace.
#
# - **Takes** `ffn` as before, a question `x` [d_model], a `direction` [d_model], such as an answer, and the number `k`.
# - **Returns** a new module in which the k neurons with the largest contribution along `direction`, for this `x`, are silent for every question. A neuron that pushes the other way has a negative contribution.
# - `b2` and all other neurons stay as they are, and so do `ffn`, `x` and `direction`.
#
# One person proves little. So below the check your function is tried in five stores of 512 facts, on every fourth person.


# %% exercise="silence_strongest"
def silence_strongest(ffn, x, direction, k):
    """A module like ffn without the k neurons that add most to the output of x [d_model] along the direction [d_model]."""
    ### BEGIN SOLUTION
    written = ffn.activation(ffn.linear1(x))[:, None] * ffn.linear2.weight.T  # [d_ff, d_model]
    strongest = (written @ direction).topk(k).indices
    silenced = copy.deepcopy(ffn)
    with torch.no_grad():
        silenced.linear2.weight[:, strongest] = 0  # what they would write
    return silenced
    ### END SOLUTION
    raise NotImplementedError


# %% figure="predict-strongest-out"
predict("strongest_out")

# %% code="lost"
stores = []
for facts, weights in fact_stores.stores():
    ffn = FFN(32, 128)
    ffn.load_state_dict(weights)
    stores.append((*facts, ffn.eval()))


def forgotten(ffn, E, U, y):
    """Who gives another answer than the right one: [N] of True and False."""
    with torch.no_grad():
        return ((E + ffn(E)) @ U.T).argmax(1) != y


try:
    for k in (1, 2, 4, 8):
        forgot, others = torch.zeros(5), torch.zeros(5)
        for s, (E, U, y, ffn) in enumerate(stores):
            for n in range(0, 512, 4):
                wrong = forgotten(silence_strongest(ffn, E[n], U[y[n]], k), E, U, y)
                forgot[s] += wrong[n] / 128
                others[s] += (wrong.sum() - wrong[n].int()) / 128
        shares = "  ".join(f"{share:4.0%}" for share in forgot)
        print(f"strongest {k} out: the person forgets in {shares}; with {others.mean():.0f} others, on average")
except NotImplementedError:
    print("Your silence_strongest, which is deeper, would ask five stores here. These are fifteen others:")
    for k, shares in fact_stores.read_knockouts()["lost"].items():
        print(f"strongest {k} out: the person forgets in", "  ".join(f"{share:4.0%}" for share in shares))

# %% [markdown] text="forget_one-text"
# ## And nobody else
#
# Strongest first is a blunt way to delete a fact, since it takes others along. Is that the store's nature, or the method's? Go back to the board at the top and make Gofine forget, and nobody else. You may take weaker neurons. And two together may cost nobody else an answer, though one of them alone does.
#
# ### Exercise `forget_one`
#
# *{points} · difficulty ●●● · 15 minutes · deeper*
#
# Now try Godelu on the board. She takes patience, so do it by code, and in stores that you have not seen. Once they are right, ask your function for Godelu, who is person 204 of the store on the board: run `E, U, y, ffn = stores[0]` and `forget_one(ffn, E, U, y, 204)` in a cell of your own. Then press what it says.
#
# - **Takes** `ffn` as before, the questions `E` [N, d_model], the answers `U` [C, d_model], the right answers `y` [N], whole numbers below C, and the number `n` of a person. Scores are `(E + ffn(E)) @ U.T`.
# - **Returns** a list of at most four neurons. Without them person n gives a wrong answer, and everybody else the right one.
# - For each n that you get it can be done, but not strongest first. Change nothing that you are given.
#
# *Stuck after ten minutes? `hint("forget_one")`.*


# %% exercise="forget_one"
def forget_one(ffn, E, U, y, n):
    """At most four neurons without which person n gives a wrong answer, and nobody else does: a list of numbers."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        h = ffn.activation(ffn.linear1(E))  # [N, d_ff]
        pushes = ffn.linear2.weight.T @ U.T  # [d_ff, C], how far each value points along each answer
        scores = (E + ffn(E)) @ U.T
        strongest = (h[n] * pushes[:, y[n]]).topk(min(12, len(pushes))).indices.tolist()
        for size in (1, 2, 3, 4):
            for group in combinations(strongest, size):
                out = list(group)
                wrong = (scores - h[:, out] @ pushes[out]).argmax(1) != y
                if wrong[n] and wrong.sum() == 1:
                    return out
    return []
    ### END SOLUTION
    raise NotImplementedError


# %% figure="alone-after"
veil(
    "Can everyone be made to forget alone?",
    "when Gofine alone has forgotten",
    of="forget_one.gofine",
    text=f"""
Not by four of the ten strongest neurons. With more neurons to choose from, more people can be. We tried 64 people in each of fifteen other stores:

| which neurons may go | alone, out of 64 |
|---|---|
| strongest first | {fact_stores.told_alone("clean")} |
| at most four of the ten strongest | {fact_stores.told_alone("alone")} |
| at most four of the {fact_stores.WIDE_CHOICE} strongest | {fact_stores.told_alone("wide")} |

So what else is lost depends on the choice and on how long one looks. The rest resisted us, which does not prove that it can't be done. *Where* a fact rests and *how* to take it out are two questions.
""",
)

# %% [markdown] text="spare_counterexample-text"
# ### A classmate's code
#
# Which neurons can go so that *nothing* changes? The code below gets what each neuron writes for a token, and says how many can be cut at once. It tries
# every neuron alone, and then every two, since two neurons can undo each other. On 10,000 random networks with silent neurons and such pairs it was right each
# time. It is wrong all the same.
#
# ### Exercise `spare_counterexample`
#
# *{points} · difficulty ●●○ · 5 minutes · deeper: you can come back to it later*
#
# Find neurons for which it returns a wrong number: three numbers for each neuron, what it writes to an output of length 3. Each is 0, or between 0.001 and 1,000 in size. Any such list earns most of the points. How few neurons can you do it with?


# %% code="spare"
def spare(writes):
    """How many neurons can be cut at once so that the output stays the same. writes: what each neuron writes."""
    cut = set()
    for size in (1, 2):
        for group in combinations(range(len(writes)), size):
            together = [sum(numbers) for numbers in zip(*(writes[j] for j in group), strict=True)]
            if all(abs(number) < 1e-9 for number in together) and not cut & set(group):
                cut |= set(group)
    return len(cut)


print(spare([[0, 0, 0], [1, 2, 1], [3, 1, 0], [-1, -2, -1]]), "of these four can be cut")

# %% exercise="spare_counterexample"
spare_counterexample = ...  # [[what neuron 0 writes, three numbers], …]
### BEGIN SOLUTION
spare_counterexample = [[1, 0, 2], [0, 1, 1], [-1, -1, -3]]  # all three together, and no two of them
### END SOLUTION

# %% [markdown] text="full-text"
# ## A fuller store
#
# So far 128 neurons held 512 facts. The next board has six stores, each with 128 neurons. The emptiest holds 64 facts, the fullest 2,048, and each knows all its facts. Guess first. Then move the slider: how full must a store be before one press
# is enough? Bamaba likes something else in each store.

# %% figure="predict-full-store"
predict("full_store")

# %% figure="fill"
play(forget.fill())

# %% figure="fill-after"
veil(
    "What has changed?",
    "when one press was enough",
    of="forget_fill.full",
    text="""
Not how many neurons carry a fact. The curves on the right hardly fall: they go from about 17½ to about 15½. So neurons do not share because room is scarce.

What has shrunk is the **lead**, compared with a single push. In the board's store of 64 facts the right answer is typically 12 ahead of the next one, and its strongest neuron adds 5. In the store of 2,048 it is only 3 ahead,
and its strongest neuron adds 11. So few facts survive the loss of that neuron.

Even a neuron that pushes the other way can be needed. In the fullest store neuron 77, which is not on the board, takes 0.4 from *lakes*. But it takes 4.3 from *skiing*, which is only 3.7 behind. Without it, skiing leads.

A neuron that serves many facts is called *polysemantic*, and facts stored like this *distributed*.
""",
)

# %% [markdown] text="write-text"
# ## Write one in
#
# Now the other way round: we add one neuron to the store of 512 facts. Its key is Bamaba's question, and its value points along *tea*. You set two numbers. The neuron fires for those whose match with the key is above the **threshold**; in a network, that is a negative bias. The **strength**
# says how long the value is.

# %% figure="write"
play(forget.write())

# %% [markdown] text="write_fact-text"
# ### Exercise `write_fact`
#
# *{points} · difficulty ●●● · 10 minutes*
#
# Make one new neuron that changes the answer of one person and of no other.
#
# - **Takes** `ffn` as before, the questions `E` [N, d_model], the answers `U` [C, d_model], the number `n` of a person, and the number `c` of the new answer.
# - **Returns** a triple `(key, bias, value)`: `key` [d_model], `bias` one number, `value` [d_model]. For a question x your neuron writes relu(x · key + bias) · value.
# - For every row of `E` but row n the neuron is silent.
# - For row n, c leads. The scores are now (x + `ffn(x)` + what your neuron writes) · `U[k]`, and that of c is at least 1 above each other.
# - In the check all questions are equally long, and so are all answers. But some questions are much like person n's, so the threshold must be found, not guessed. Change nothing that you are given.
#
# Below the check, you can write a fact of your own into the store. Then your function changes the answer of each of the 512 people, one at a time.


# %% exercise="write_fact"
def write_fact(ffn, E, U, n, c):
    """A neuron (key [d_model], bias, value [d_model]) that makes c the answer to question E[n], and is silent for all others."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        key = E[n]
        match = E @ key  # [N]; of vectors that are equally long, none matches E[n] better than itself
        bias = -(match[n] + match[torch.arange(len(E)) != n].max()) / 2
        value = (U[c] - E[n] - ffn(E[n])) / (match[n] + bias)  # so that E[n] + output becomes U[c]
    return key, bias, value
    ### END SOLUTION
    raise NotImplementedError


# %% code="write-all"
person, likes = "Bamaba", "tea"  # change them: write a fact of your own
E, U, y, ffn = stores[0]
who, what = [figures.name(n) for n in range(len(E))].index(person), figures.LIKES.index(likes)


def answers_with(n, c):
    """What the store says to all questions with your neuron in it: [512]."""
    key, bias, value = write_fact(ffn, E, U, n, c)
    fires = torch.relu(E @ key + bias)  # [512]
    return ((E + ffn(E)) @ U.T + fires[:, None] * (value @ U.T)).argmax(1)


try:
    with torch.no_grad():
        answers, written = answers_with(who, what), 0
        others = int((answers != y).sum()) - int(answers[who] != y[who])
        print(f"{person} liked {figures.LIKES[y[who]]}. Now the store says {figures.LIKES[answers[who]]}.")
        print(f"Other answers that have changed: {others}")
        for n in range(len(E)):
            c = (int(y[n]) + 1) % len(U)
            answers = answers_with(n, c)
            written += int(answers[n] == c and ((answers != y).sum() == 1))
    print(f"{written} of {len(E)} facts can be changed like this, each without changing another one")
except (NotImplementedError, TypeError, ValueError):
    print("This cell lights up when write_fact is written.")

# %% [markdown] text="write-after"
# So a store *can* have one neuron for one fact. Gradient descent does not make such a store, as you saw above. But methods that mend large models work like this. *Transformer-Patcher* (Huang et al. [2023](https://arxiv.org/abs/2301.09785)) trains one
# such neuron for each mistake. *ROME* (Meng et al. [2022](https://arxiv.org/abs/2202.05262)) changes the second matrix of an FFN so that one key gets a new value. We left out the hard part: the same question in other words
# is another vector, and your neuron may be silent for it.
#
# ## One neuron, one rule
#
# Random questions have nothing in common. Sentences do, so in the creek model a neuron can listen for what many of them share. Its attention only averages the words, so we can say how strongly each word speaks to a key. Here is
# neuron 10. Each line compares words of one kind: a number with + lifts the neuron more than the line's mean does. In the last line are the pushes on the words that the model may say, for a firing of strength 1.

# %% code="rules-read" output="fixed"
model = toy_transformer.load()
named = {name.neuron: name for name in toy_transformer.names(model) if name.good}
heard, value = toy_transformer.key_scores(model, 10), toy_transformer.value_scores(model, 10)
print("The key of neuron 10 listens to")
for group in (world.PLACES, world.WEATHERS, world.MOODS):
    told = heard[world.numbers(group)]
    pairs = zip(group, (told - told.mean()).tolist(), strict=True)
    print("   ", "  ".join(f"{word} {number:+.0f}" for word, number in pairs))
print("Its value pushes", ", ".join(f"{word} {value[world.NUMBER[word]]:+.1f}" for word in (*world.WAYS, *world.FEELINGS)))

# %% [markdown] text="knock-rule-text"
# The key of neuron 10 hears cold, and it hears water. It also hears the mood, and not weakly: *spunky* lifts the neuron nearly as much as *creek* does. Now it is taken out, and with it a second neuron, to which notebook 02 gave the same name.

# %% figure="predict-rule-out"
predict("rule_out")

# %% code="knock-rule" output="fixed"
scenes = world.scenes(held_out=True)
sentences = toy_transformer.tensor([world.wish(scene) for scene in scenes])  # [1792, T]
x = model.gather(sentences[:, :-1])
kinds = {"cold water": (1, 1), "warm water": (1, 0), "cold land": (0, 1), "warm land": (0, 0)}
fires = model.hidden(x)[:, world.WAY - 1, 10]  # [1792], before over or into is said
for kind, at in kinds.items():
    spunky, timid = (
        fires[[(s.water, s.cold) == at and s.spunky == mood for s in scenes]].mean() for mood in (True, False)
    )
    print(f"neuron 10 fires at {kind}: {spunky:.2f} for the spunky, {timid:.2f} for the timid")
for rule in kinds:
    hidden = model.hidden(x)  # [1792, T, d_ff]
    hidden[..., [neuron for neuron, name in named.items() if name.words == rule]] = 0
    chances = model.say(x, hidden).softmax(-1)[:, world.WAY - 1]  # [1792, V]
    sure = chances.gather(1, sentences[:, world.WAY, None])[:, 0]
    shares = {kind: sure[[(s.water, s.cold) == at for s in scenes]].mean() for kind, at in kinds.items()}
    print(f"without “{rule}”:", ",  ".join(f"{kind} {share:4.0%}" for kind, share in shares.items()))
    if rule == "cold water":
        by_mood = {mood: sure[[s.water and s.cold and s.mood == mood for s in scenes]].mean() for mood in world.MOODS}
        print("    at cold water:", ",  ".join(f"{mood} {share:4.0%}" for mood, share in by_mood.items()))

# %% [markdown] text="rule-text"
# The percentages say how sure the model is of the right word, *over* or *into*, in scenes that it has never read about.
#
# So neuron 10 fires for cold water, and pushes *over*. And the mood? At cold water the neuron fires 1.42 for the spunky and 1.41 for the timid. The key hears the mood, but the firing does not show it, because the key hears the verb as well. The spunky always *jump*, the timid always *creep*. Attention takes the mean of eleven words, so of the distance between *spunky* and *timid* an eleventh arrives, which is 1.2 against the timid. But the neuron reads the verb as well, and there the timid are 1.2 ahead. So do not judge a neuron by a part of what it reads. Look at when it fires.
#
# **Write a rule.** In the next figure a neuron is made by hand, and nothing is trained:
#
# - its **key** adds up four directions, which are read off from the sentences of training. One tells water from land, one cold from warm, one spunky from timid, and one this position from all others;
# - its **bias** is a threshold;
# - its **value** points along one word.

# %% figure="predict-rule-written"
predict("rule_written")

# %% figure="rule"
controls.show(
    little_world.rule,
    strength=controls.steps("strength", little_world.STRENGTHS, 0),
    one_is_enough=controls.toggle("one condition is enough"),
    place=controls.free("place", little_world.PLACE_RULES, little_world.ANY),
    weather=controls.free("weather", little_world.WEATHER_RULES, "cold"),
    mood=controls.free("mood", little_world.MOOD_RULES, "timid"),
    word=controls.free("word", little_world.NEW_WORDS, "about"),
)

# %% [markdown] text="quiz_value-text"
# The figure asks the model all 1,792 sentences that training never showed. Make the neuron stronger, until all of them say *about* where the rule holds. Then teach the model that everybody goes *into* cold water. How strong must that neuron be? And what happens if one condition is enough?
#
# <details><summary>Open this when you have tried it.</summary>
#
# The model's own neurons push the other way. *Into* is a word that the model often says at this position, and a strength of 12 is enough for every rule. *About* is a word that it never says there, and that takes 20 to 28.
#
# If one condition is enough, the key is the same, but the lower threshold makes an **or** of the **and**: the neuron fires where it is cold *or* the creature is timid. At strength 28 all 448 sentences say *about* either way, but now 896 others change, too.
#
# </details>
#
# ## A last question
#
# ### Question `quiz_value`
#
# Someone sets row j of `linear2.weight` to zero, to silence neuron j of an FFN made of `nn.Linear` layers. What has really been silenced? Put the letter in quotes.
#
# - **A.** Neuron j: it writes nothing any more.
# - **B.** Output j: it is b2_j, whatever the neurons do.
# - **C.** The key of neuron j: it listens to nothing any more.

# %% quiz="quiz_value"
quiz_value = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_value = "B"
### END SOLUTION

# %% [markdown] text="M6-text"
# ### In your own words
#
# *question M6 · {points}, graded by your instructor · 10 minutes*
#
# “Facts live in the FFN.” You will read that it holds nearly all that a model has learned, in neurons for “is a capital city” or “is past tense”. The last section of this notebook, *Where does knowledge live?*, has what papers found.
#
# 1. Give one published result that speaks for it, and say what was measured or changed.
# 2. Give one that speaks against it, or limits it, and say how.
# 3. Which of this notebook's experiments bears on the statement, what did it show, and why can it not settle the question for a large language model?
#
# Four to eight sentences are enough. Double-click the cell below to write.

# %% [markdown] question="M6" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) For: Geva et al. 2021 read the FFN as keys and values, and found keys that respond to patterns in text and values that push certain words; or Dai et al. 2022
# found neurons whose activation goes with the expression of a fact; or Meng et al. 2022 edited facts by changing the MLP of a middle layer. (2) Against: Hase et al. 2023 showed that where
# a fact is localised does not predict where editing works best; or Niu et al. 2024 call the knowledge-neuron thesis at best an oversimplification; or Allen-Zhu and Li 2024 find as many bits per parameter without any FFN. (3) The
# knock-outs show that a fact of a small store depends on a few neurons, which serve other facts as well; attention alone stored 512 facts when its embeddings were trained. Neither settles
# it: in the store nothing but the FFN was trained, so the facts had nowhere else to go; the facts are random pairs, the models have one layer; a large model has
# text, many layers, and several paths for one fact.
#
# **Rubric.** One point each:
#
# - (1) one result *for*, with what was measured or changed. Half a point for a name alone.
# - (2) one result *against* or a limit, with how. Half a point for a name alone. “Allen-Zhu and Li: 2 bits per parameter” counts only with what it says here: the 2 bits remain when all FFNs are removed, so they need not be in the FFNs.
# - (3) one experiment of the notebook with its outcome, *and* a reason why it does not carry over. Half a point for one of the two.
# <!-- ### END SOLUTION -->

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | An FFN's output is a sum: each neuron that fires writes its value, times how strongly it fires. | `decompose_output`, `spare_counterexample`, `quiz_value` |
# | A fact rests on several neurons, and each of them serves many facts: no neuron is one fact. | Bamaba's two levels, `silence_strongest`, the guess about the strongest |
# | Who else forgets depends on which neurons you choose, and for many people there is no clean choice to be found. | Gofine, `forget_one` |
# | In a fuller store a fact is carried by nearly as many neurons, but one push outweighs its lead, so one loss is enough. | the guess about 2,048 facts, the fuller store |
# | A key, a threshold and a value write one fact, or one rule where questions have something in common. | `write_fact`, the two guesses about rules |
#
# **Your own part.** The rows of your `decompose_output`, added up, and b2: that is the FFN again. The creek model takes it, one token at a time.
#
# Next: `07_gated`, where each neuron gets a second key, a gate.

# %% figure="progress"
machine()
progress()
anatomy.block("06")

# %% [markdown] text="deeper-text"
# ## How facts get in
#
# *deeper: the core path goes on with `07_gated`*
#
# Nobody puts facts into the weights one at a time. The questions `E` [N, d_model] and the possible answers `U` [C, d_model] are random and stay fixed, and `y` [N] says which answer is right. The
# scores are `(E + ffn(E)) @ U.T`, [N, C]. Cross-entropy and gradient steps do the rest.
#
# ### Exercise `train_fact_ffn`
#
# *{points} · difficulty ●●○ · 7 minutes · deeper*
#
# Train an FFN that knows facts.
#
# - **Takes** `E`, `U`, both float32, `y`, the width `d_ff`, and a number of steps.
# - **Returns** the trained `nn.Module`: two linear layers, hidden width `d_ff`, one activation between them. It maps [N, d_model] to [N, d_model]; a residual connection inside is allowed.
# - A fact n is known if the largest score is that of `y[n]`, with `E` added to the output or without. At least 99 % of 256 facts have to be known, with d_model = 32, 64 answers, d_ff = 40 and 300 steps.
# - Use a PyTorch optimiser and call `step()` at most `steps` times. Only the module is trained, and the steps must do the work: after one of them most facts are still unknown. Adam with a learning rate of 0.01 is enough.


# %% exercise="train_fact_ffn"
def train_fact_ffn(E, U, y, d_ff, steps):
    """A trained module of width d_ff that maps the questions E [N, d_model] near to their answers U[y]."""
    ### BEGIN SOLUTION
    store = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))
    optimiser = torch.optim.Adam(store.parameters(), lr=0.01)
    for _ in range(steps):
        optimiser.zero_grad()
        scores = (E + store(E)) @ U.T  # [N, C]
        F.cross_entropy(scores, y).backward()
        optimiser.step()
    return store
    ### END SOLUTION
    raise NotImplementedError


# %% [markdown] text="crowd-text"
# ### 384 facts, 16 neurons
#
# *deeper: the core path goes on with `07_gated`*
#
# The next cell has *your* function teach 16 neurons 384 facts, five times. With the loop above some facts stay unknown. Is the store full?

# %% figure="predict-crowded"
predict("crowded")

# %% code="crowd"
try:
    for seed in bar(5, "384 facts, 16 neurons"):
        facts = fact_stores.facts(384, 100 + seed)
        torch.manual_seed(seed)
        module = train_fact_ffn(*facts, 16, 400)
        known = max(
            (~forgotten(module, *facts)).sum().item(),
            (((module(facts.E)) @ facts.U.T).argmax(1) == facts.y).sum().item(),
        )
        print(f"seed {seed}: {known} of 384 known")
except NotImplementedError:
    print("This cell lights up when train_fact_ffn is written.")

# %% [markdown] text="capacity-text"
# Scores are sums of 32 products, so they begin about √32 times as large as cross-entropy would like them. Divide the scores by √32 in your loss, take 0.03 as the learning rate, and run the cell again. The order of the scores does not change, and
# so what counts as known does not either.
#
# The table was made with that recipe, 400 steps and five seeds each. With it, twice the facts need about twice the neurons. The table shows what *this recipe* stores, not what an
# FFN can hold.
#
# **Bits per weight.** One of 64 answers is log₂ 64 = 6 bits, and a neuron has 32 weights in its key and 32 in its value. So 16 facts per neuron are 1.5 bits per weight. Is that a law? Below the table are three recipes, with fifteen stored runs each.

# %% figure="capacity"
controls.show(
    figures.capacity,
    count=controls.steps("facts", figures.FACTS, 256),
    width=controls.steps("d_ff", figures.WIDTHS, 16),
)

# %% code="bits" output="fixed"
recipes = {
    "plain": (384, 16, "as in the exercise, 400 steps"),
    "scaled": (384, 16, "scores divided by √32, rate 0.03, 400 steps"),
    "long": (768, 32, "the same, 2000 steps, the rate falling to 0"),
}
for name, (count, width, words) in recipes.items():
    shares = fact_stores.crowded(name)
    print(f"{count} facts in {width} neurons, {words}:")
    print("   ", " ".join(f"{share:4.0%}" for share in shares))
    bits = [fact_stores.bits_per_weight(count, width, share) for share in shares]
    print(f"    {min(bits):.2f} to {max(bits):.2f} bits per weight")

# %% [markdown] text="dispute-text"
# The last recipe stores 24 facts per neuron, so 16 is no limit. Whether 24 is, we have not tried. Allen-Zhu and Li ([2024](https://arxiv.org/abs/2404.05405)) find about 2 bits per parameter in whole language models. That our numbers
# are near theirs proves nothing: a longer training would change ours.
#
# ## Where does knowledge live?
#
# *deeper: the core path goes on with `07_gated`*
#
# In our store the facts are in the FFN, because nothing else was trained. In a Transformer they could be elsewhere too, and papers disagree.
#
# | for | against, or limits |
# |---|---|
# | Geva et al. 2021: keys respond to patterns in text that people can name, and values push the words that tend to come next | Niu et al. ([2024](https://arxiv.org/abs/2405.02421)) edit grammar with the same methods, and call the thesis that FFN weights store facts “at best, an oversimplification” |
# | Dai et al. ([2022](https://arxiv.org/abs/2104.08696)) found *knowledge neurons* in BERT: the more active they are, the more a fact is expressed | Hase et al. ([2023](https://arxiv.org/abs/2301.04213)): where a fact is *localised* does not predict where it is best *edited* |
# | Meng et al. 2022 traced facts to the FFNs of middle layers, and changed them by changing one FFN | Allen-Zhu and Li 2024: with a thousand exposures of each fact, the 2 bits hold for models *with all FFNs removed* too |
#
# Can attention store facts, without any FFN? In the next cell one attention layer learns 512, of two tokens each. Softmax is not linear, and embeddings are weights too. Beside it is a plain average, which is linear. What do you expect? Whatever
# comes out, this much is true: in large models most parameters are in FFNs, and mechanisms of recall have been found there.


# %% code="attention-only"
def attention_only(seed, softmax=True, d=32, heads=4):
    """The share of 512 two-token facts that one attention layer without an FFN knows after 300 steps; or its mean over the two tokens."""
    torch.manual_seed(seed)
    subject, relation = torch.cartesian_prod(torch.arange(64), torch.arange(8)).T
    y = torch.randint(64, (512,))
    subjects, relations, read_out = nn.Embedding(64, d), nn.Embedding(8, d), nn.Linear(d, 64, bias=False)
    attention = nn.MultiheadAttention(d, heads, bias=False, batch_first=True)
    average = nn.Sequential(
        nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
    )  # values and output, without scores
    parts = nn.ModuleList([subjects, relations, read_out, attention, average])
    adam = torch.optim.Adam(parts.parameters(), lr=0.02)
    for _ in range(300):
        x = torch.stack([subjects(subject), relations(relation)], dim=1)  # [512, 2, d]
        mixed = attention(x, x, x, need_weights=False)[0] if softmax else average(x.mean(1, keepdim=True))
        scores = read_out((x + mixed)[:, -1])
        loss = F.cross_entropy(scores, y)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return (scores.argmax(1) == y).float().mean().item()


for label, softmax in (("attention alone", True), ("a plain average", False)):
    print(label, "knows", ", ".join(f"{attention_only(seed, softmax):.0%}" for seed in bar(5, label)))

# %% [markdown] text="attention-after"
# Attention alone knows all 512. How much it takes of each token depends on both, and that is not linear. The plain average adds what the subject says for an answer to what the relation says for it. Such a sum was enough for
# about two facts in five.
