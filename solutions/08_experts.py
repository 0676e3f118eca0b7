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
# # 08 · You are the router
#
# A token is a dot in the plane, and six experts wait for work. Each has an arrow, and a dot goes to the expert whose arrow reaches furthest in the dot's direction. Drag the arrows. Each dot
# has a task, two numbers that should come out. Every expert fits one linear map to the dots that it gets, at once and as well as it can. The error that is left is yours.
#
# The creek model has one FFN, and it serves every word. Here there are several FFNs, the **experts**, and a **router** sends each token to one or two of them. Near the end, four experts
# learn the creek's world.
#
# <span class="ffn-notebook-only">To wake the board up, press <b>Shift + Enter</b> three times. Keys work, too: Tab goes to an arrow, arrow keys move it.</span>

# %% setup="imports"
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, play, predict, progress, quiz, veil
from ffnlab.course import progress_bar
from ffnlab.course.boards import router
from ffnlab.course.experiments import top1, world_experts
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import experts as figures
from ffnlab.drawing import controls, style

style.use()
torch.set_num_threads(1)  # for arrays as small as ours, one thread is fastest


class Expert(nn.Module):
    """One expert: the FFN of notebook 02, [..., d_model] -> [..., d_model]."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


def make_experts(E, d_model, d_ff, seed=0):
    """E experts with weights of their own."""
    torch.manual_seed(seed)
    return nn.ModuleList(Expert(d_model, d_ff) for e in range(E))


# %% figure="plane"
play(router.plane())

# %% figure="plane-after"
veil(
    "How did the runs learn?",
    "when a run has done as well as you did by hand",
    of="router_plane.learn",
    text="""
Router and experts learned together, 512 new tokens a step. Two aids took part. A small loss rewards an even load; that is the subject of notebook 09. And some noise on its numbers
sends a token to another expert now and then. We tried seven weights for that loss, and took the one with which the five runs here did best. In the end each expert was fitted anew to its
dots, as yours are. So only the arrows are compared.

The lower line of small dots is an experiment: these runs began with arrows like yours. Most of them keep the good division, so it can be held. But none of the sixteen that began at random found
it. So the run that you found is a lucky one. Look at the end of run 1: one expert has no dots, and its neighbours have too many.
""",
)

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | advanced |
# | **Time** | {minutes} minutes on the core path; {more} more for question M8 and the part *Deeper* |
# | **You need** | `02_feed_forward`, `05_parameters`; `07_gated` helps |
# | **Points** | {points} |

# %% [markdown] text="matrix-text"
# ## A router is one matrix
#
# The arrows are the columns of a matrix. For a token x the router computes
#
# $$z = x \, W_r \qquad x \; [T, d_{model}], \quad W_r \; [d_{model}, E], \quad z \; [T, E]$$
#
# So each expert gets one number from each token, its **logit**, and the token goes to the expert with the largest. Most models do without a bias, as the board does.
#
# Two experts are equally wanted where their logits are equal, and that is a straight line. In more dimensions it is a flat sheet. So an expert's region has no dents: **if two tokens go to
# one expert, so does every token between them.** With two experts for a token, the same holds for pairs: between two tokens with the same pair, every token has that pair. No choice of weights changes that, and neither does a bias. What lies between can go elsewhere only if the layers below
# the router move the tokens first.
#
# ## Two experts for a token
#
# In most models a token visits several experts, those with the k largest logits. Take k = 2. Below, a token is a direction, and the two colours of the ring are its two experts. Which pairs can be
# chosen?

# %% figure="pairs"
play(router.pairs())

# %% [markdown] text="every_pair-text"
# ### Exercise `every_pair`
#
# *{points} · difficulty ●●● · 15 minutes*
#
# Five experts are too many for a plane. With as many numbers as experts it is easy, because each expert can read a number of its own. Is there something in between?
#
# Begin with one choice. Let expert t have the arrow (t, t²), for t = 0, 1, 2, …. A token (a, b) then has the logits a·t + b·t². These are the values of a **polynomial**, and the token chooses its
# coefficients. The token (6, −1) has 6t − t² = 9 − (t − 3)². That is largest at t = 3, so expert 3 is its first choice. In this way two numbers are enough to make each expert the first choice of some token,
# however many there are. But a curve with a single top has its two largest values side by side.
#
# Find a router with which **every** pair of E experts is chosen by some token. Any number of dimensions d earns something. All points need d = 4 or less, however many experts there are.
#
# - **Takes** `E`, the number of experts, 7 or more.
# - **Returns** the pair `(router, tokens)`: `router` [d, E], and `tokens` [n, d] with at least one token for each pair, in any order. The first 500 are looked at.
# - The two largest logits of `tokens @ router` are the choice. The second has to be ahead of the third by more than a millionth of the token's largest logit.
#
# *Stuck? Run `hint("every_pair")` in a cell of your own. Every exercise has hints.*


# %% exercise="every_pair"
def every_pair(E):
    """A router [d, E], and tokens [n, d] whose two largest logits are each pair of experts at least once."""
    ### BEGIN SOLUTION
    t = torch.arange(E, dtype=torch.float64) / E  # a number for each expert
    router = torch.stack([t, t**2, t**3, t**4])  # so a token's logits are the values of a polynomial
    tokens = []
    for i in range(E):
        for j in range(i):
            s, p = t[i] + t[j], t[i] * t[j]
            tokens.append([2 * s * p, -(s * s + 2 * p), 2 * s, -1])  # −((t − t_i)(t − t_j))² without its constant
    return router, torch.tensor(tokens, dtype=torch.float64)
    ### END SOLUTION
    raise NotImplementedError


# %% [markdown] text="router-text"
# ## From logits to gates
#
# What an expert says is multiplied by a number, its **gate**, and the outputs are added. In notebook 07 a gate was a whole branch of the FFN. Here it is one number for each token and expert, and most
# gates are 0. How do logits become gates? Four rules are in use.
#
# | `norm` | gate of a chosen expert e | a row sums to | used by |
# |---|---|---|---|
# | `softmax_topk` | exp(z_e) / sum of exp(z) over all E | less than 1 if k < E | Switch, OLMoE |
# | `softmax_topk_renorm` | the same, divided by its sum over the k | 1 | Mixtral in transformers, Qwen3-MoE |
# | `topk_softmax` | exp(z_e) / sum of exp(z) over the k | 1 | Mixtral's own code, gpt-oss |
# | `sigmoid_norm` | σ(z_e) / sum of σ(z) over the k | 1 | DeepSeek-V3, and then × 2.5 |
#
# In the figure you hold the eight logits of one token.

# %% figure="predict-unsure-token"
predict("unsure_token")

# %% figure="router"
controls.show(
    figures.router,
    **{f"z{e}": controls.free(f"logit of expert {e}", figures.PUSHED, z) for e, z in enumerate(figures.LOGITS)},
    temperature=controls.slider("temperature", 0.25, 4.0, 0.25, 1.0),
    k=controls.slider("k", 1, 8, 1, 2),
    norm=controls.choice("normalisation", figures.NORMS, "softmax_topk"),
)

# %% [markdown] text="loop-text"
# A choice is a jump: where two logits are close, rounding decides. So models that compute in bfloat16 often let the router alone work in float32.
#
# ## Each expert sees its own tokens
#
# With gates g in hand, the layer is one sum:
#
# $$y_t = \sum_{e=1}^{E} g_{t,e} \cdot \mathrm{expert}_e(x_t)$$
#
# Most of its terms are zero, and the work is saved only if nobody computes them. The loop below does that. Each token has k **slots**, one for each of its choices. `idx` [T, k] holds the experts in
# them, and `w` [T, k] their gates.


# %% code="published"
def published_loop(x, idx, w, experts):
    y = torch.zeros_like(x)
    for slot in range(idx.shape[1]):
        for e in range(len(experts)):
            mask = idx[:, slot] == e
            if mask.any():
                y[mask] += w[mask, slot : slot + 1] * experts[e](x[mask])
    return y


# %% [markdown] text="gradient-text"
# The loop is right, and slow in two ways. It calls each expert up to k times. And on a GPU the program waits for the answer to each `mask.any()`, k · E times in a layer. One pass over the experts is
# enough: collect *all* tokens of an expert, whatever the slot, and call it once. You write that in the part *Deeper*.
#
# ## Who gets a gradient?
#
# A choice has no gradient: a small change of the logits changes nothing, or makes a jump. So the router learns through the **value** of the gates. If more of a chosen expert would have made the loss smaller,
# its gate should be larger, and its logit rises. The experts that were not chosen learn nothing from this token.

# %% figure="predict-gate-of-one"
predict("gate_of_one")

# %% [markdown] text="router_learns_counterexample-text"
# ### A classmate's code
#
# When does a token teach the router anything? The code below looks at one token and its two experts. Their gates add up to 1, and the loss is the squared distance from y to the
# target. If y misses the target, says the code, the logits get a gradient, unless both experts say the same. We tried it on 10,000 random tokens, and on 10,000 with two equal experts or a
# target that is hit. It was right each time, and it is wrong all the same.
#
# ### Exercise `router_learns_counterexample`
#
# *{points} · difficulty ●●○ · 6 minutes*
#
# Find two logits, from −10 to 10, what the two experts say, and a target, for which it is wrong. A slope that is small because a gate is nearly shut does not count as 0. Any such token earns most of the points. How few numbers
# does each expert have to say?

# %% code="router_learns"
import math


def router_learns(logits, outputs, target):
    """Whether the loss, the squared distance from y to target, sends any gradient to the two logits."""
    gate = 1 / (1 + math.exp(logits[1] - logits[0]))
    y = [gate * first + (1 - gate) * second for first, second in zip(*outputs, strict=True)]
    return math.dist(y, target) > 1e-6 and math.dist(*outputs) > 1e-6


print("target missed:", router_learns([1, 0], [[1, 0, 2], [0, 3, 1]], [2, 2, 2]))
print("target hit:   ", router_learns([0, 0], [[1, 3], [3, 1]], [2, 2]))
print("equal experts:", router_learns([1, 0], [[2, 1], [2, 1]], [5, 5]))

# %% exercise="router_learns_counterexample"
router_learns_counterexample = ...  # ([logit, logit], [[…], […]], [target …])
### BEGIN SOLUTION
router_learns_counterexample = (
    [0, 0],
    [[1, 0], [-1, 0]],
    [0, 5],
)  # y is 0, 0: to the left or to the right it is no nearer
### END SOLUTION

# %% [markdown] text="trap-text"
# ### What it costs
#
# Back to one expert for each token, with its gate renormalised, so that it is always 1. Does it matter that the router learns nothing? Here each of eight clusters has a linear map of its own, and eight experts have to learn them.
# A stroke is one of fifteen stored runs, and a dot is a run of yours, from the same start for both gates.


# %% code="trap"
def train_top1(seed, renormalise, steps=300, clusters=8, d=8):
    """Error of a trained top-1 mixture of 8 experts, and how far its router's weights have moved."""
    g = torch.Generator().manual_seed(seed)
    centres, maps = 2 * torch.randn(clusters, d, generator=g), torch.randn(clusters, d, d, generator=g) / d**0.5

    def batch(n):
        c, noise = torch.randint(clusters, (n,), generator=g), torch.randn(n, d, generator=g)
        return centres[c] + 0.5 * noise, torch.einsum("nd,nde->ne", noise, maps[c]) + maps[c][:, 0]

    experts = make_experts(8, d, 16, seed)
    router = nn.Linear(d, 8, bias=False)
    start = router.weight.detach().clone()
    optimiser = torch.optim.Adam([*router.parameters(), *experts.parameters()], lr=0.01)

    def layer(x):
        w, idx = torch.softmax(router(x), dim=-1).topk(1, dim=-1)
        return published_loop(x, idx, w / w.sum(-1, keepdim=True) if renormalise else w, experts)

    for _ in progress_bar.bar(steps, f"seed {seed}, {'renormalised' if renormalise else 'as it is'}"):
        x, target = batch(256)
        optimiser.zero_grad()
        F.mse_loss(layer(x), target).backward()
        optimiser.step()
    with torch.no_grad():
        x, target = batch(4096)
        return F.mse_loss(layer(x), target).item(), (router.weight - start).abs().max().item()


seed = 0  # of your own runs
mine = {kind: train_top1(seed, kind == "renormalised") for kind in top1.KINDS}
for row, kind in enumerate(top1.KINDS):
    error, moved = mine[kind]
    plt.plot(top1.errors(kind), [row] * len(top1.errors(kind)), "|", markersize=13, color=style.CHOSEN)
    plt.plot(error, row, "o", color="black")
    print(f"{kind}: error {error:.3f}, the router has moved by {moved:.2f}")
plt.yticks(range(2), top1.KINDS)
plt.ylim(-0.6, 1.6)
plt.title("Top-1 routing, with the gate divided by itself and as it is")
plt.xlabel("error on new tokens")
plt.show()

# %% [markdown] text="counts-text"
# The renormalised router moves by a few hundredths, in no useful direction: Adam divides by the size of the gradient, so it blows up even rounding errors. The experts have to live with a
# random division. The Switch Transformer, with one expert for each token, multiplies by the probability as it is. With k ≥ 2 the router learns either way.
#
# ## Total and active
#
# Now what does all this buy?

# %% figure="predict-experts-in-use"
predict("experts_in_use")

# %% figure="totals"
controls.show(
    figures.totals,
    model=controls.choice("model", figures.MODELS, "Mixtral-8x7B"),
    factor=controls.steps("experts per token", figures.FACTORS, 1.0),
)

# %% [markdown] text="cost-text"
# Two numbers count. The **total** has to be in memory, because the next token may want any expert. The **active** parameters are those that one token computes with.
#
# | model | experts | for a token | stored | active | source |
# |---|---|---|---|---|---|
# | Mixtral-8x7B | 8 | 2 | 46.7 billion | 12.9 billion | [Jiang et al. 2024](https://arxiv.org/abs/2401.04088) |
# | OLMoE-1B-7B | 64 | 8 | 6.9 billion | 1.3 billion | [Muennighoff et al. 2024](https://arxiv.org/abs/2409.02060) |
# | Qwen3-30B-A3B | 128 | 8 | 30.5 billion | 3.4 billion | [Yang et al. 2025](https://arxiv.org/abs/2505.09388) |
# | gpt-oss-120b | 128 | 4 | 116.8 billion | 5.7 billion | [OpenAI 2025](https://arxiv.org/abs/2508.10925) |
# | DeepSeek-V3 | 256 and 1 shared | 8 and the shared | 671.0 billion | 37.6 billion | [DeepSeek-AI 2024](https://arxiv.org/abs/2412.19437) |
#
# The sizes are from the sources. The parameters are counted by this course's atlas, which counts the table of all tokens' input vectors whole. A token reads one row of that table, so makers who leave it out say less: 5.1 billion for gpt-oss-120b.
# 8x7B is not 56 billion, because only the FFN is there eight times.
#
# So a mixture does not save memory. Against a dense model of the same total it saves **work**. With the same computational resources, the Switch Transformer was trained to the quality of its dense
# rival [up to seven times as fast](https://arxiv.org/abs/2101.03961). When a model writes for one person, a layer reads the weights of k experts for each token. When it writes for many,
# nearly every expert is wanted by somebody.
#
# ## What does an expert know?
#
# On the plane an expert's region stands for a cluster. What do experts of a language become? Below, four experts have learned the creek's world in place of its FFN, with a small loss for balance. If experts had subjects, they would be
# water or land here, cold or warm, spunky or timid. Press the dashed words, and see which words go to another expert.

# %% figure="sentence"
controls.show(
    figures.sentence,
    place=controls.free("place", figures.PLACES, figures.PLACES[0]),
    weather=controls.free("weather", figures.WEATHERS, figures.WEATHERS[0]),
    mood=controls.free("mood", figures.MOODS, figures.MOODS[0]),
    run=controls.free("run", figures.WORLD_RUNS, 0),
)

# %% code="subjects"
parts = {"place": "the position", "attributes": "the scene", "words": "the rest"}
for row, part in enumerate(parts):
    shares = [run[part] for run in world_experts.stored()["fresh"].values()]
    plt.plot(shares, [row] * len(shares), "|", markersize=13, color=style.CHOSEN)
told = [run["told"] for run in world_experts.stored()["fresh"].values()]
plt.plot(told, [3.5] * len(told), "|", markersize=13, color=style.LOST)
plt.yticks([0, 1, 2, 3.5], [f"{name} → expert" for name in parts.values()] + ["expert → the scene"])
plt.gca().invert_yaxis()
plt.title("What tells the expert, and what the expert tells, in fifteen other runs")
plt.xlabel("how much the first tells about the second: 1 is everything")
plt.show()

# %% [markdown] text="subject-after"
# The first three rows add up to 1 in each run: most of the choice is settled by the position in the sentence, and less of it by the scene. The reverse is weaker still. Whoever knows a word's
# expert, and nothing else, knows next to nothing of the scene. That holds on average over all words. In run 2, all eight words from *warm* to *jump* go to expert 0 when it
# is warm; but in the cold expert 0 gets other words. In this world a position always holds the same kind of word, so nobody can tell whether the router looks at the position or at the word.
#
# The makers of Mixtral looked at theirs. They [saw no clear division by topic](https://arxiv.org/abs/2401.04088), of papers on biology or philosophy, say. What patterns there were had to do with syntax, such as the indentation of code.
# The makers of OLMoE, with 64 smaller experts, [report high specialization](https://arxiv.org/abs/2409.02060). So an expert is first of all a part of the parameters. Whether it becomes more
# has to be measured.
#
# ## Quiz
#
# One point each. Put the letter in quotes.
#
# ### Question `quiz_middle`
#
# With k = 2 the token x goes to experts 2 and 5, and the token y to experts 2 and 7. Their mean (x + y)/2 is a token, too. Is expert 2 surely one of its two?
#
# - **A.** Yes, because an expert's region has no dents.
# - **B.** No: 5 and 7 can both be ahead of 2 there.
# - **C.** Only if x and y are equally long.

# %% quiz="quiz_middle"
quiz_middle = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_middle = "B"
### END SOLUTION

# %% [markdown] text="quiz_same-text"
# ### Question `quiz_same`
#
# Which of the others gives, for k ≥ 2, the same gates as `topk_softmax`, whatever the logits?
#
# - **A.** `softmax_topk`
# - **B.** `softmax_topk_renorm`
# - **C.** `sigmoid_norm`

# %% quiz="quiz_same"
quiz_same = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_same = "B"
### END SOLUTION

# %% [markdown] text="quiz_active-text"
# ### Question `quiz_active`
#
# You double E and leave k and the width of the experts as they are. What doubles, nearly?
#
# - **A.** The memory for the weights; the work for a token stays almost the same.
# - **B.** The work for a token; the memory stays almost the same, as only k experts have to be loaded.
# - **C.** Both.

# %% quiz="quiz_active"
quiz_active = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_active = "A"
### END SOLUTION

# %% [markdown] text="M8-text"
# ### In your own words
#
# *question M8 · {points}, graded by your instructor · 8 minutes*
#
# The choice of the k largest logits has no gradient. Still, routers are trained by gradient descent.
#
# 1. Along which path does a gradient get from the loss to the router's weight? What makes the logit of a chosen expert rise or fall?
# 2. In which case does nothing arrive, and why? Name a way out.
# 3. What does an expert that was *not* chosen for a token learn from this token? And its logit? Distinguish `softmax_topk` and `topk_softmax`.
#
# Four to eight sentences are enough. Write into the cell below.

# %% [markdown] question="M8" points=3
# <!-- ### BEGIN SOLUTION -->
# **A full answer.** (1) Through the **value of the gate**: y = Σ g_e · expert_e(x), so ∂loss/∂g_e is the product of ∂loss/∂y with the expert's output,
# and g_e is a smooth function of the logits (softmax or sigmoid). If more of an expert's output would make the loss smaller, its gate and so its logit
# rise, compared with the other chosen ones; otherwise they fall. The choice changes only when, in time, another logit overtakes. (2) With **k = 1 and
# renormalised gates** the gate is w / w = 1, a constant: its derivative is zero, so the router learns nothing from the task's loss. Way out: do not
# renormalise (Switch multiplies by the probability itself), or take k ≥ 2. (3) The expert itself learns nothing: it was not computed, and its gate is
# zero. Its logit gets no gradient with `topk_softmax`, where only the k chosen logits occur. With `softmax_topk` it does get one, since it is in
# the denominator of the chosen gates.
#
# **Rubric.** One point each:
#
# - (1) the gradient flows through the gate's value (the weight of the chosen experts' outputs). Half a point for “through the softmax” without saying
#   that it multiplies the output.
# - (2) k = 1 with renormalisation, because the gate is constantly 1, *and* a way out. Half a point for the case without reason or way out.
# - (3) no gradient for the expert that was not chosen; its logit: none with `topk_softmax`, some with `softmax_topk`. Half a point for one of the two.
# <!-- ### END SOLUTION -->

# %% [markdown] text="ideas"
# ## What you can say now
#
# | idea | tested by |
# |---|---|
# | A router is linear. If two tokens choose the same experts, so does every token between them. | the board's third level, `quiz_middle` |
# | Which experts can be chosen together depends on how many numbers a token has. In a plane five experts can’t have every pair, and four numbers are enough for any number of experts. | the second board, `every_pair` |
# | A mixture adds up what a few experts say, weighted with their gates, and calls each expert with its own tokens only. | the guess about an unsure token, `quiz_same`, and `moe_loop`, which is deeper |
# | The choice has no gradient. A router learns through the gates, and only what they can change. And from a bad start it may never reach a division that it could hold. | `router_learns_counterexample`, the guess about a single expert, the board's last level |
# | All experts have to be stored, and only the chosen ones work. | the guess about 16 tokens, `quiz_active` |
#
# Next: `09_balance`. Nothing so far keeps a router from sending every token to the same expert.

# %% figure="progress"
progress()
anatomy.block("08")

# %% [markdown] text="route-text"
# ## Deeper
#
# *deeper: the core path goes on with `09_balance`*
#
# You have seen the parts. Now write them.
#
# ### Exercise `route`
#
# *{points} · difficulty ●●○ · 10 minutes · deeper*
#
# - **Takes** `logits` [T, E]; `k`, from 1 to E; and `norm`, one of the four names of the section “From logits to gates”.
# - **Returns** gates [T, E]: what the table there says at the k largest logits of each row, and zero elsewhere. No factor of 2.5.
# - No two logits of a row are equal. Gradients reach the logits, which stay as they were, and the gates have their dtype.


# %% exercise="route"
def route(logits, k, norm):
    """Logits [T, E] to gates [T, E], with k of them above zero in each row."""
    ### BEGIN SOLUTION
    top, chosen = logits.topk(k, dim=-1)  # [T, k]
    if norm == "topk_softmax":
        weights = torch.softmax(top, dim=-1)
    elif norm == "sigmoid_norm":
        scores = torch.sigmoid(top)
        weights = scores / scores.sum(-1, keepdim=True)
    else:
        weights = torch.softmax(logits, dim=-1).gather(-1, chosen)
        if norm == "softmax_topk_renorm":
            weights = weights / weights.sum(-1, keepdim=True)
    return torch.zeros_like(logits).scatter(-1, chosen, weights)
    ### END SOLUTION
    raise NotImplementedError


# %% [markdown] text="moe_loop-text"
# Now the loop that calls each expert once. `published_loop` is above.
#
# ### Exercise `moe_loop`
#
# *{points} · difficulty ●●○ · 10 minutes · deeper*
#
# - **Takes** `x` [..., d_model], with any number of leading dimensions; `gates` [..., E], with the same ones; and `experts`, a list of E modules or functions from [N, d_model] to [N,
#   d_model]. A gate of zero means: not chosen. All others are positive, and rows need not sum to one.
# - **Returns** the sum above, in the shape and dtype of `x`.
# - Expert e is called with exactly the tokens whose gate for it is not zero. A token without experts gets zeros.
# - Gradients reach `x`, the experts, and the gates that are not zero. `x` and `gates` stay as they were.


# %% exercise="moe_loop"
def moe_loop(x, gates, experts):
    """The mixture's output for x [..., d_model] and gates [..., E]; each expert sees its own tokens only."""
    ### BEGIN SOLUTION
    tokens = x.reshape(-1, x.shape[-1])  # [N, d_model]
    weights = gates.reshape(-1, gates.shape[-1])  # [N, E]
    y = torch.zeros_like(tokens)
    for e, expert in enumerate(experts):
        mine = weights[:, e].nonzero(as_tuple=True)[0]
        y = y.index_add(0, mine, weights[mine, e].unsqueeze(-1) * expert(tokens[mine]))
    return y.reshape(x.shape)
    ### END SOLUTION
    raise NotImplementedError


# %% code="calls" output="fixed"
experts = make_experts(E=8, d_model=16, d_ff=32)
x, p = torch.randn(256, 16), torch.softmax(torch.randn(256, 8), dim=-1)
w, idx = p.topk(2, dim=-1)
gates = torch.where(p >= w[:, -1:], p, 0)  # [T, E]: the same gates, spread out
calls = []
for expert in experts:
    expert.register_forward_pre_hook(lambda module, given: calls.append(len(given[0])))
with torch.no_grad():
    y = published_loop(x, idx, w, experts)
    print(f"slot by slot: {len(calls)} calls with {sum(calls)} tokens")
    try:
        calls.clear()
        same = torch.allclose(y, moe_loop(x, gates, experts), atol=1e-5)
        print(f"yours:        {len(calls)} calls with {sum(calls)} tokens, and the same output: {same}")
    except NotImplementedError:
        print("yours:        write moe_loop first")

# %% [markdown] text="machine-text"
# ### Your own part
#
# Your `route` and your `moe_loop` make a mixture of the FFNs that you have written so far. All of them compute the same, and the gates of a token add up to 1, so the mixture says what one FFN says.
# *Sparse Upcycling* ([Komatsuzaki et al. 2023](https://arxiv.org/abs/2212.05055)) begins like this, with copies of a trained FFN that then learn to differ. While the copies are equal, gates that add up to 1 teach the
# router nothing: more of the one is less of the other. With `softmax_topk` they need not add up to 1. Then the router has a gradient from the first step, because larger gates make the whole output larger.

# %% figure="machine"
machine()

# %% [markdown] text="dispatch-text"
# ### Sort and split
#
# With 128 experts, `moe_loop` asks 128 times “who is mine?”, and looks through all tokens each time. Is there a way to find the tokens of *all* experts at
# once? Write the T · k choices as one list of slots, and **sort it by expert**. Now the slots of one expert lie side by side, and one `split` divides the
# list. Press play, and press a token to follow it.

# %% figure="dispatch"
controls.show(
    figures.dispatch,
    frame=controls.play("frame", 0, figures.LAST_FRAME, 1, 0, interval=700),
    k=controls.slider("k", 1, 3, 1, 2),
    token=controls.free("a token", figures.FOLLOWED, figures.ALL),
)

# %% [markdown] text="moe_sorted-text"
# There are five steps, each a single operation on whole tensors:
#
# 1. **List.** `idx` [T, k] as one list of T · k slots, token after token. Slot number n belongs to token n // k.
# 2. **Sort** by expert. What is needed later is not only the sorted list, but the *order*: which slot is where.
# 3. **Split** into one segment for each expert. Segments have different lengths, some are empty.
# 4. **Compute.** Each expert is called once, with one contiguous block of rows.
# 5. **Back.** Undo the sorting. Now the k outputs of a token lie side by side. Weight them and add.
#
# Fast implementations do it like this, with a kernel in step 4 that takes all segments at once. PyTorch's is called `F.grouped_mm`.
#
# If the experts have dropout, compare two implementations in eval mode. In training mode such a layer does not even agree with itself.
#
# ### Exercise `moe_sorted`
#
# *{points} · difficulty ●●● · 18 minutes · deeper*
#
# - **Takes** `x` [T, d_model]; `idx` [T, k], the experts of each token, all different in a row; `w` [T, k], their gates; and `experts` as above.
# - **Returns** y [T, d_model] with y[t] = Σ_s w[t, s] · expert(x[t]), where the expert of slot s is number idx[t, s].
# - Each expert is called **at most once**, with exactly its tokens, in any order. An expert without tokens is skipped or called with zero rows.
# - Gradients reach `x`, `w` and the experts. The inputs stay as they were.


# %% exercise="moe_sorted"
def moe_sorted(x, idx, w, experts):
    """The mixture's output for x [T, d_model], experts idx [T, k] and weights w [T, k]: [T, d_model]."""
    ### BEGIN SOLUTION
    T, k = idx.shape
    expert_of = idx.reshape(-1)  # [T·k], slot after slot
    order = expert_of.argsort(stable=True)  # slots, expert by expert
    sizes = torch.bincount(expert_of, minlength=len(experts)).tolist()
    parts = x[order // k].split(sizes)
    outputs = torch.cat([expert(part) for expert, part in zip(experts, parts, strict=True)])
    back = torch.empty_like(order)
    back[order] = torch.arange(T * k)
    return (outputs[back].reshape(T, k, -1) * w.unsqueeze(-1)).sum(1)
    ### END SOLUTION
    raise NotImplementedError


# %% [markdown] text="router_gradient-text"
# ### Exercise `router_gradient`
#
# *{points} · difficulty ●●○ · 10 minutes · deeper*
#
# A gate that is divided by itself sends the router no gradient. Don't believe it: measure it. Send x through a small mixture of experts, compare with a target, and look at what arrives at the router.
#
# - **Takes** `x` [T, d_model]; `router` [d_model, E], a plain tensor: the logits are `x @ router`; `experts` as above; `target` [T, d_model]; `k`, from 1
#   to E; and `norm`, `"softmax_topk"` or `"softmax_topk_renorm"` from the table above.
# - **Loss:** the mean of the squared differences between the layer's output and `target`, over all T · d_model numbers: `F.mse_loss`.
# - **Returns** the gradient of this loss by the router, ∂loss/∂router: a tensor [d_model, E]. In one of the cases it is zero, up to rounding.
# - `x`, `router` and `target` stay as they were. A second call with the same router gives the same gradient, not twice as much.


# %% exercise="router_gradient"
def router_gradient(x, router, experts, target, k, norm):
    """The gradient of the mean squared error by the router [d_model, E], a tensor of its shape."""
    ### BEGIN SOLUTION
    leaf = router.clone().requires_grad_()
    weights, chosen = torch.softmax(x @ leaf, dim=-1).topk(k, dim=-1)  # [T, k]
    if norm == "softmax_topk_renorm":
        weights = weights / weights.sum(-1, keepdim=True)
    outputs = torch.stack([expert(x) for expert in experts], dim=1)  # [T, E, d_model]
    picked = outputs.gather(1, chosen.unsqueeze(-1).expand(-1, -1, x.shape[1]))  # [T, k, d_model]
    loss = F.mse_loss((weights.unsqueeze(-1) * picked).sum(1), target)
    return torch.autograd.grad(loss, leaf)[0]
    ### END SOLUTION
    raise NotImplementedError
