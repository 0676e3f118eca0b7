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
# # 08 · Mixture of Experts I: route and dispatch
#
# `●●●●●●●●○○` step 8 of 10
#
# Can a model have eight times the parameters without eight times the work?
#
# A **mixture of experts** (MoE) tries. It has many FFNs, the *experts*, and a small *router*, one linear map from d_model to a number for each
# expert, which picks a few of them for each token. Here are eight experts, and every token uses two. Run the next two cells, and guess what that
# costs.

# %% setup="imports"
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from ffnlab import check, hint, machine, predict, progress, quiz
from ffnlab.course import atlas, progress_bar
from ffnlab.course.experiments import timing
from ffnlab.course.figures import anatomy
from ffnlab.course.figures import experts as figures
from ffnlab.drawing import controls, style

style.use()


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


# %% figure="predict-work-of-eight"
predict("work_of_eight")


# %% code="eight" output="fixed"
def count(module):
    return sum(p.numel() for p in module.parameters())


d_model, d_ff, E, k = 512, 2048, 8, 2
one = 2 * d_model * d_ff  # multiplications of one FFN, for one token
print(f"parameters of one FFN:     {count(Expert(d_model, d_ff)):>11,}")
print(f"parameters of 8 experts:   {count(make_experts(E, d_model, d_ff)):>11,}")
print(f"multiplications, one FFN:  {one:>11,}")
print(f"multiplications, 2 of 8:   {k * one + d_model * E:>11,}  ({(k * one + d_model * E) / one:.3f} times)")

# %% [markdown] text="header"
# | | |
# |---|---|
# | **Difficulty** | advanced |
# | **Time** | {minutes} minutes on the core path; {more} more for what is marked *deeper* and for question M8, which can wait for another day |
# | **You need** | `02_feed_forward`, `05_parameters`; `07_gated` helps |
# | **Points** | {points} |
#
# A larger FFN can know more, and costs more for every token; a mixture of experts breaks this link. You will push a router's logits by hand, write the sum
# that defines
# the layer, and then compute the same sum in less and less time.

# %% figure="anatomy"
anatomy.block("08")

# %% [markdown] text="eight-text"
# ## 1 · One FFN becomes eight
#
# In a model, every MoE layer has a router of its own, and every token a choice of its own. Two words to keep apart: the router makes **logits**, one
# number for each expert and token. What an expert's output is finally multiplied by is its **gate**. Most gates are zero.
# (In notebook 07 “gate” was a whole branch of the FFN, d_ff numbers. Here it is one number for each expert and token.)
#
# ### Experts become experts
#
# Here tokens are points of a plane, in six clusters, and each cluster has a task of its own. There are six small experts, and each token goes to the
# one whose logit is the largest. A router is linear, so it can only cut the plane along straight lines: each expert gets a region without dents. Router and experts start at random and are trained together. Nobody tells them that there are clusters.

# %% figure="predict-six-clusters"
predict("six_clusters")

# %% figure="becoming"
controls.show(
    figures.becoming,
    step=controls.steps("training step", figures.KEPT, 0),
    run=controls.free("run", figures.RUNS, 2),
)

# %% [markdown] text="becoming-after"
# Press the runs: they differ in where the clusters are and how everything starts. The axis below the table shows the **mutual information** between cluster and
# expert, as a share of the largest possible: 0 if the expert tells nothing about the cluster, 1 if it tells the cluster for certain, so that the table is a permutation.
#
# Two aids take part in training: a small loss for balance, the subject of notebook 09 (without it, in the same six runs, only 2 to 4 experts have work in the
# end), and noise on the logits, so that a token sometimes tries another expert
# (without it, no run gets further than five clusters with an expert of their own). How a router can learn at all is the question of section 7; what the experts of a *language* model become, that of section 9.

# %% [markdown] text="router-text"
# ## 2 · The router
#
# How do logits become gates? In the figure you are the router. Drag the knobs, the eight logits of one token (or Tab to one, and use the arrow keys).

# %% figure="predict-raised-but-not-chosen"
predict("raised_but_not_chosen")

# %% figure="router"
controls.show(
    figures.router,
    **{f"z{e}": controls.free(f"logit of expert {e}", figures.PUSHED, z) for e, z in enumerate(figures.LOGITS)},
    temperature=controls.slider("temperature", 0.25, 4.0, 0.25, 1.0),
    k=controls.slider("k", 1, 8, 1, 2),
    norm=controls.choice("normalisation", figures.NORMS, "softmax_topk"),
)

# %% [markdown] text="router-after"
# What each of the four does:
#
# | `norm` | gate of a kept expert e | rows sum to | used by |
# |---|---|---|---|
# | `softmax_topk` | exp(z_e) / sum of exp(z) over **all** E | less than 1 | Switch, OLMoE |
# | `softmax_topk_renorm` | the same, divided by its sum over the k | 1 | Mixtral in transformers, Qwen3-MoE |
# | `topk_softmax` | exp(z_e) / sum of exp(z) over **the k** | 1 | Mixtral's own code, gpt-oss |
# | `sigmoid_norm` | σ(z_e) / sum of σ(z) over the k | 1 | DeepSeek-V3 (and then × 2.5) |
#
# A temperature divides all logits and never changes *who* is chosen. In a softmax it makes the choice sharper below 1, softer above. Not so with
# `sigmoid_norm`: set k = 2 and the temperature to 0.25, and both sigmoids are near 1, so that the two gates become almost equal.
#
# ### Why −∞
#
# To leave an expert out of a softmax, one sets its logit to a number that gives it no weight. Which number?

# %% figure="predict-filled-with-zero"
predict("filled_with_zero")

# %% code="minus-infinity" output="fixed"
for fill in (0.0, float("-inf")):
    kept = torch.tensor([-1.0, fill, -2.0])  # the middle expert was not chosen
    print(f"filled with {fill:>4}: ", [round(p, 3) for p in torch.softmax(kept, -1).tolist()])

# %% [markdown] text="route-text"
# ### Exercise `route`
#
# *{points} · difficulty ●●○ · 10 minutes*
#
# From logits to gates.
#
# - **Takes** `logits` [T, E]; `k`, from 1 to E; and `norm`, one of the four names in the table above.
# - **Returns** gates [T, E]: what the table says at the k largest logits of each row, and zero elsewhere. No factor of 2.5.
# - The k largest are those of one token, never of one expert. No two logits of a row are equal.
# - Gradients reach the logits, which stay as they were. The gates have the dtype of the logits.
#
#
# Stuck? Run `hint("route")` in a cell of your own.


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

# %% [markdown] text="same-text"
# Two of the four are the same function. The cell prints the largest difference between the gates of each pair, for a thousand random tokens.

# %% code="same" output="fixed"
logits = torch.randn(1000, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
try:
    gates = {norm: route(logits, 2, norm) for norm in figures.NORMS}
    for i, one in enumerate(figures.NORMS):
        for other in figures.NORMS[i + 1 :]:
            print(f"{one:>19} and {other:<19} differ by {(gates[one] - gates[other]).abs().max():.2f}")
except NotImplementedError:
    print("This cell lights up when route is written.")

# %% [markdown] text="plot-gates-text"
# Now plot it: the gate of expert 6 while its logit rises, from your own `route`. Then change the 6 that is plotted (`[:, 6]`) to 1, an expert that is chosen all along, and look at which
# lines move *before* the jump.

# %% code="plot-gates"
try:
    rising = torch.linspace(-3, 3, 241, dtype=torch.float64)  # logits of expert 6
    tokens = torch.tensor(figures.LOGITS, dtype=torch.float64).repeat(len(rising), 1)  # the same token again and again, [241, 8]
    tokens[:, 6] = rising + 0.001  # so that no two logits are equal
    for norm in figures.NORMS:
        plt.plot(rising, route(tokens, 2, norm)[:, 6], label=norm)
    plt.title("The gate of expert 6 as its logit rises, k = 2")
    plt.xlabel("logit of expert 6")
    plt.ylabel("gate")
    plt.legend()
    plt.show()
except NotImplementedError:
    print("This plot appears when route is written.")

# %% [markdown] text="reference-text"
# **In which dtype?** A choice is a jump: where two logits are close, rounding decides who is chosen. bfloat16 keeps 8 significant bits, between two and
# three decimal digits, and rounds a lot. So models that compute in bfloat16 often let the router alone work in float32. Notebook 09 measures in its section 3
# what rounding does to the router's probabilities.
#
# ## 3 · All experts, all tokens
#
# Gates in hand, what does the layer compute? For each token the sum of the experts' outputs, weighted with its gates:
#
# $$y_t = \sum_{e=1}^{E} g_{t,e} \cdot \mathrm{expert}_e(x_t)$$
#
# The straightforward way runs every expert on every token and multiplies most of it by zero. It is wasteful and easy to get right, so it will judge
# everything that follows.

# %% [markdown] text="moe_reference-text"
# ### Exercise `moe_reference`
#
# *{points} · difficulty ●○○ · 5 minutes*
#
# - **Takes** `x` [T, d_model], `gates` [T, E], and `experts`, a list (or `nn.ModuleList`) of E functions or modules that map [N, d_model] to [N,
#   d_model].
# - **Returns** y [T, d_model], by the formula above.
# - Use the gates as they are: rows need not sum to one.
# - Every expert takes part for every token, also where the gate is zero: such a gate still has a gradient; keep it. `x` and `gates` stay as they were.
#
#
# Stuck? Run `hint("moe_reference")` in a cell of your own.


# %% exercise="moe_reference"
def moe_reference(x, gates, experts):
    """The weighted sum of all experts' outputs for x [T, d_model]: [T, d_model]."""
    ### BEGIN SOLUTION
    outputs = torch.stack([expert(x) for expert in experts])  # [E, T, d_model]
    return (gates.T.unsqueeze(-1) * outputs).sum(0)
    ### END SOLUTION
    raise NotImplementedError

# %% [markdown] text="published-text"
# ## 4 · The published loop
#
# A published tutorial computes the same sum like this. Each token has k **slots**, one for each of its choices. For each slot and each of the E experts,
# the loop checks which tokens have this expert in this slot. (The tutorial's class makes its gates itself, with `softmax_topk_renorm`; here they come
# as `idx` and `w`, both [T, k]: the chosen experts of each token, and their gates.)

# %% code="published"
def published_loop(x, idx, w, experts):
    y = torch.zeros_like(x)
    for slot in range(idx.shape[1]):
        for e in range(len(experts)):
            mask = idx[:, slot] == e
            if mask.any():
                y[mask] += w[mask, slot : slot + 1] * experts[e](x[mask])
    return y


def example(T, d_model, d_ff, E, k, seed=0):
    """Tokens, a random choice of k of E experts for each, gates in two forms, and the experts."""
    experts = make_experts(E, d_model, d_ff, seed)
    x = torch.randn(T, d_model)
    p = torch.softmax(torch.randn(T, E), dim=-1)
    w, idx = p.topk(k, dim=-1)
    dense = torch.where(p >= w[:, -1:], p, 0)  # [T, E]: the same gates, spread out
    return x, idx, w, dense, experts


x, idx, w, dense, experts = example(T=256, d_model=64, d_ff=256, E=8, k=2)
rows = []
listeners = [e.register_forward_pre_hook(lambda module, given: rows.append(len(given[0]))) for e in experts]
with torch.no_grad():
    y = published_loop(x, idx, w, experts)
    for listener in listeners:
        listener.remove()
    print(f"{len(rows)} calls, of {min(rows)} to {max(rows)} rows, {sum(rows)} in all")
    try:
        print("equal to the reference:", torch.allclose(y, moe_reference(x, dense, experts), atol=1e-5))
    except NotImplementedError:
        print("equal to the reference: write moe_reference first")

# %% [markdown] text="loop-text"
# The loop is right. But it is slow in two ways: it calls each expert k times, and each round asks `mask.any()`. On a GPU the program waits for each answer, k
# · E times in a layer.
#
# ## 5 · One loop over the experts
#
# One pass over the experts is enough: collect *all* tokens of expert e, whatever the slot, call it once, and add the weighted outputs to the rows they
# came from. Mistral's own reference code is such a loop.

# %% [markdown] text="moe_loop-text"
# ### Exercise `moe_loop`
#
# *{points} · difficulty ●●○ · 10 minutes*
#
# - **Takes** `x` [..., d_model], with any number of leading dimensions; `gates` [..., E], with the same ones; and `experts` as above. A gate of zero
#   means: not chosen. All others are positive.
# - **Returns** what the dense sum would give, in the shape and dtype of `x`.
# - Expert e is called with exactly the tokens whose gate for it is not zero, and with no others. (A call with zero rows is allowed. So are several
#   calls.) An expert without tokens, and a token without experts, are no problem: such a token gets zeros.
# - Gradients reach `x`, the experts, and the gates that are not zero. `x` and `gates` stay as they were.
#
#
# Stuck? Run `hint("moe_loop")` in a cell of your own.


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

# %% [markdown] text="dispatch-text"
# ## 6 · Sort and split
#
# *deeper: the core path goes on with section 7*
#
# With 128 experts, you would ask 128 times “who is mine?”, and look through all tokens each time. Is there a way to find the tokens of *all* experts at
# once?
#
# Write the T · k choices as one list of slots, and **sort it by expert**. Now the slots of one expert lie side by side, and one `split` divides the
# list. Press play, and press a token to follow it.

# %% figure="dispatch"
controls.show(
    figures.dispatch,
    frame=controls.play("frame", 0, figures.LAST_FRAME, 1, 0, interval=700),
    k=controls.slider("k", 1, 3, 1, 2),
    token=controls.free("a token", figures.FOLLOWED, figures.ALL),
)

# %% [markdown] text="dispatch-after"
# It takes five steps, each a single operation on whole tensors:
#
# 1. **List.** `idx` [T, k] as one list of T · k slots, token after token. Slot number n belongs to token n // k.
# 2. **Sort** by expert. What is needed later is not only the sorted list, but the *order*: which slot is where.
# 3. **Split** into one segment for each expert. Segments have different lengths, some are empty.
# 4. **Compute.** Each expert is called once, with one contiguous block of rows.
# 5. **Back.** Undo the sorting; now the k outputs of a token lie side by side. Weight them and add.
#
# This is how fast implementations do it (transformers, torchtitan, MegaBlocks), with a kernel in step 4 that takes all segments at once. PyTorch's is called `F.grouped_mm`.

# %% [markdown] text="moe_sorted-text"
# ### Exercise `moe_sorted`
#
# *{points} · difficulty ●●● · 18 minutes · deeper: you can come back to it later*
#
# - **Takes** `x` [T, d_model], `idx` [T, k] (whole numbers, the experts of each token, all different in a row), `w` [T, k], their weights, and
#   `experts` as above.
# - **Returns** y [T, d_model] with y[t] = Σ_s w[t, s] · expert(x[t]), where the expert of slot s is number idx[t, s].
# - Each expert is called **at most once**, with exactly its tokens, in any order. An expert without tokens is skipped or called with zero rows.
# - Gradients reach `x`, `w` and the experts. The inputs stay as they were. Sorting is the idea, but it is not checked. What is checked is which expert gets
#   which tokens, and the result.
#
#
# Stuck? Run `hint("moe_sorted")` in a cell of your own.


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

# %% [markdown] text="timing-text"
# ### Which one is fastest?
#
# All four give the same. Which one is fastest for few large experts, and which for many small ones? The cell uses one thread and prints times
# relative to the published loop of the same line. The dense sum does E / k times the work of the others.

# %% code="timing"
def compare(T, d_model, d_ff, E, k):
    x, idx, w, dense, experts = example(T, d_model, d_ff, E, k)
    ways = {
        "dense": lambda: moe_reference(x, dense, experts),
        "one loop": lambda: moe_loop(x, dense, experts),
        "sorted": lambda: moe_sorted(x, idx, w, experts),
    }
    setting = f"E = {E:>2}, k = {k}, d_ff = {d_ff:>3}"
    loop = timing.best_seconds(f"{setting}: published loop", published_loop, x, idx, w, experts)
    words = [f"{setting}: published loop 1"]
    for name, way in ways.items():
        try:
            assert torch.allclose(way(), published_loop(x, idx, w, experts), atol=1e-4)
            words.append(f"{name} {timing.best_seconds(f'{setting}: {name}', way) / loop:.2f}")
        except NotImplementedError:
            words.append(f"{name} (not written yet)")
    print(", ".join(words))


threads = torch.get_num_threads()
torch.set_num_threads(1)
with torch.no_grad():
    compare(T=256, d_model=64, d_ff=256, E=8, k=2)
    compare(T=1024, d_model=128, d_ff=512, E=16, k=2)
    compare(T=1024, d_model=128, d_ff=64, E=64, k=8)
torch.set_num_threads(threads)

# %% [markdown] text="gradient-text"
# ## 7 · Who gets a gradient?
#
# `topk` returns expert numbers, whole numbers such as 3 or 5. A small change of the logits changes nothing, or makes a jump. So the choice has no gradient. How does a
# router learn?
#
# The figure shows how each gate reacts to each logit: the derivative ∂gate/∂logit. Blue is positive, orange negative, an empty cell exactly zero. It opens
# with `softmax_topk`; the guess is about `topk_softmax`.

# %% figure="predict-logits-that-count"
predict("logits_that_count")

# %% figure="slopes"
controls.show(
    figures.slopes,
    k=controls.slider("k", 1, 8, 1, 2),
    norm=controls.choice("normalisation", figures.NORMS, "softmax_topk"),
    cell=controls.free("a derivative", figures.CELLS, figures.NO_CELL),
)

# %% [markdown] text="slopes-after"
# Rows of experts that were not chosen are empty: their gates are zero and stay zero. The router learns through the **gates of the chosen ones**: if
# more of an expert would have made the loss smaller, its logit rises. (Gates that sum to 1 compete. Then an expert's logit rises if more of this expert would
# help more than more of the others.)

# %% [markdown] text="router_learns_counterexample-text"
# ### A classmate's code
#
# When does a token teach the router anything? The code below looks at one token and its two experts. Their gates add up to 1, and the loss is the squared distance from y to the
# target. If y misses the target, says the code, the logits get a gradient, unless both experts say the same. We tried it on 10,000 random tokens, and on 10,000 with two equal experts or a
# target that is hit. It was right each time, and it is wrong all the same.
#
# ### Exercise `router_learns_counterexample`
#
# *{points} · difficulty ●●● · 5 minutes*
#
# Find two logits, from −10 to 10, what the two experts say, and a target, for which it is wrong. A slope below a millionth counts as 0. Any such token earns most of the points. How few numbers
# does each expert have to say?
#
# *Stuck? Run `hint("router_learns_counterexample")` in a cell of your own.*

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
router_learns_counterexample = ([0, 0], [[1, 0], [-1, 0]], [0, 5])  # y is 0, 0: to the left or to the right it is no nearer
### END SOLUTION

# %% [markdown] text="router_gradient-text"
# ### Exercise `router_gradient`
#
# *{points} · difficulty ●●○ · 10 minutes · deeper: you can come back to it later*
#
# Don't believe it: measure it. Send x through a small mixture of experts, compare with a target, and look at what arrives at the router.
#
# - **Takes** `x` [T, d_model]; `router` [d_model, E], a plain tensor: the logits are `x @ router`; `experts` as above; `target` [T, d_model]; `k`, from 1
#   to E; and `norm`, `"softmax_topk"` or `"softmax_topk_renorm"` from the table of section 2.
# - **Loss:** the mean of the squared differences between the layer's output and `target`, over all T · d_model numbers: `F.mse_loss`.
# - **Returns** the gradient of this loss by the router, ∂loss/∂router: a tensor [d_model, E]. In one of the cases it is zero, up to rounding.
# - `x`, `router` and `target` stay as they were. A second call with the same router gives the same gradient, not twice as much.
#
# You may call your own functions from above.
#
#
# Stuck? Run `hint("router_gradient")` in a cell of your own.


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

# %% [markdown] text="measured-text"
# Now measure. The cell asks your `router_gradient` and prints the largest entry of the router's gradient, for two ways to normalise and three k. Which of the six is zero?

# %% code="measured" output="fixed"
experts = make_experts(E=4, d_model=8, d_ff=16)
torch.manual_seed(1)
x, router, target = torch.randn(32, 8), torch.randn(8, 4) / 8**0.5, torch.randn(32, 8)
try:
    for norm in ("softmax_topk", "softmax_topk_renorm"):
        sizes = [router_gradient(x, router, experts, target, k, norm).abs().max().item() for k in (1, 2, 3)]
        print(f"{norm:>19}: " + ", ".join(f"k = {k}: {size:.3f}" for k, size in enumerate(sizes, 1)))
except NotImplementedError:
    print("This cell lights up when router_gradient is written.")

# %% [markdown] text="trap-text"
# ### What it costs
#
# With a single expert, renormalising divides the gate by itself. It is 1 whatever the router does, so the router learns nothing. Does it matter? The task has eight clusters of inputs, and each has a linear map of its own to learn. A router that learns could give each cluster to an
# expert of its own. One that gets no gradient stays where it started, and the experts have to live with a random division. Both train in the same way,
# k = 1, from the same start, with five seeds.

# %% figure="predict-price-of-renorm"
predict("price_of_renorm")


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


threads = torch.get_num_threads()
torch.set_num_threads(1)
ratios = []
for seed in range(5):
    (renormed, moved), (plain, moved_plain) = (train_top1(seed, renormalise) for renormalise in (True, False))
    ratios.append(renormed / plain)
    print(
        f"seed {seed}: error {renormed:.2f} renormalised, {plain:.2f} as it is; the router moved {moved:.2f}, {moved_plain:.2f}"
    )
print(f"the error is {min(ratios):.1f} to {max(ratios):.1f} times as large when the gate is renormalised")
torch.set_num_threads(threads)

# %% [markdown] text="counts-text"
# Switch Transformers route to one expert, and multiply by the probability as it is: `softmax_topk`. In other words: with k = 1, leave the gate alone.
# With k ≥ 2 both ways learn.
#
# ## 8 · Total and active
#
# *deeper: the core path goes on with the quiz*
#
# “8x7B”: is that a model of 56 billion parameters? And what does it cost to run it?
#
# Each layer of Mixtral-8x7B has attention, a router and eight gated experts. Two numbers count. The **total** has to be in memory, since the next
# token may want any expert. The **active** parameters are those that one token passes through; they decide the work.

# %% figure="totals"
controls.show(
    figures.totals,
    model=controls.choice("model", figures.MODELS, "Mixtral-8x7B"),
    factor=controls.steps("experts per token", figures.FACTORS, 1.0),
)

# %% [markdown] text="spot-8x7"
# In the figure the embeddings count as a whole. A token reads one row of the input table: without that table gpt-oss-120b uses 4.4 %, 5.1 billion,
# the number that its makers give.
#
# In letters: L layers of E gated experts of width f, and a router of d · E, hold L · (3·E·d·f + d·E) parameters. One token uses L · (3·k·d·f + d·E) of them.
#
# **Why is it worth it?** Idle parameters have to be stored, not multiplied. Fedus et al. 2021 built Switch Transformers from T5-Base and T5-Large: with the same computational resources, pre-training was
# up to seven times as fast.
#
# **And when the model speaks?** One token at a time, a layer reads the weights of k experts and leaves the others where they are. A large batch wants nearly all of them: if 16 tokens each chose 2 of 8 at
# random, an expert would stay idle in one case of a hundred. Then every weight is read, each for few tokens.
#
# **Where do experts live?** In large models on different devices. Each token's vector travels to the devices of its experts, and the outputs travel back: an *all-to-all* exchange, in every MoE layer. DeepSeek's models limit to
# how many machines a token may be sent.
#
# ## 9 · Spot the error
#
# *deeper: the core path goes on with the quiz*
#
# Four things that one can read or hear, in our words. For each: find the error, then run the cell.
#
# **A.** 8x7B means eight models of 7 billion parameters, so 56 billion.

# %% code="spot-8x7-cell" output="fixed"
mixtral, mistral = atlas.find("Mixtral-8x7B"), atlas.find("Mistral-7B")
print(f"Mistral-7B times 8: {8 * atlas.total(mistral) / 1e9:.1f} billion")
print(f"Mixtral-8x7B:       {atlas.total(mixtral) / 1e9:.1f} billion")
once = atlas.total(mistral) - atlas.parts(mistral).ffn
print(f"attention, norms and embeddings, counted 7 times too often: {7 * once / 1e9:.1f} billion")

# %% [markdown] text="spot-dropout"
# Only the FFN is there eight times. Attention, norms and embeddings are shared; the routers add one million parameters.
#
# **B.** A tutorial's MoE class creates each expert with `PositionwiseFeedForward(d_model, d_ff)`, with the class you know from notebook 02 and its
# defaults: dropout 0.1, ReLU. The MoE class itself takes neither a dropout nor an activation. Then a reader compares two implementations in training
# mode. What happens?


# %% code="spot-dropout-cell" output="fixed"
class TutorialExpert(Expert):
    def forward(self, x):
        return self.linear2(F.dropout(torch.relu(self.linear1(x)), 0.1, self.training))


torch.manual_seed(0)
expert, x = TutorialExpert(16, 64), torch.randn(5, 16)
for mode in ("train", "eval"):
    getattr(expert, mode)()
    print(f"{mode}: two calls agree: {torch.allclose(expert(x), expert(x))}")

# %% [markdown] text="spot-memory"
# In training mode not even one implementation agrees with itself. Dropout inside experts is a legitimate choice, but it has to be one: most models of
# this kind use none. Compare implementations in eval mode. (The same class has a bias in its router, which most models leave out, and nothing that
# keeps the experts equally busy: notebook 09.)
#
# **C.** Mixtures of experts save memory, one hears. A page that measures it finds a peak of 11.47 GB without experts and 11.48 GB with them, at equal total
# parameters, and says why: both load equally many weights. What then does a mixture save?

# %% code="spot-memory-cell" output="fixed"
for name in ("Mistral-7B", "Mixtral-8x7B"):
    m = atlas.find(name)
    stored, used = atlas.total(m), atlas.active(m)
    print(
        f"{name:13} in 16 bits: {2 * stored / 1e9:5.1f} GB in memory; one token computes with {used / 1e9:4.1f} billion parameters"
    )

# %% [markdown] text="quiz-text"
# It saves **work** against a dense model of the same total: multiplications, and not always time. It also saves some room for activations; that page measures
# 0.04 MB for a call with experts against 0.19 MB without, which does not show beside 11 GB. All weights have to be in memory, those of the idle experts too:
# compared with a dense model that does the same work, a mixture needs *more*.
#
# **D.** Each expert masters a subject: one knows physics, one poetry, one the law. In our little world the subjects would be water and land, cold and warm, spunky and timid. The model below has learned that world with four experts in place of its FFN.
# Press the dashed words, and see which words go to another expert.

# %% figure="predict-experts-of-words"
predict("experts_of_words")

# %% figure="sentence"
controls.show(
    figures.sentence,
    place=controls.free("place", figures.PLACES, figures.PLACES[0]),
    weather=controls.free("weather", figures.WEATHERS, figures.WEATHERS[0]),
    mood=controls.free("mood", figures.MOODS, figures.MOODS[0]),
    run=controls.free("run", figures.WORLD_RUNS, 0),
)

# %% [markdown] text="spot-subject-after"
# None of these five models has an expert for water, or for the cold, and none of fifteen others from fresh seeds has: there a word's expert alone tells 0 to 6 % of the scene. (That is not the figure's 3 to 20 %.
# There the place in the sentence is known too, and the question is the other way round: how much of the choice of expert the scene settles.) (In this world
# each place in a sentence always holds the same kind of word, so the model can't say whether its router looks at the place or at the kind.)
# The makers of Mixtral looked at theirs (Jiang et al. 2024): they saw no clear division by topic, of papers on biology or of philosophy, say; what patterns there were had to do with syntax, such as the indentation of
# code, and neighbouring tokens often went to the same expert. An expert of the plane has a name because its task has one. In a language model “expert” is a word for a part of the parameters.
#
# ## 10 · Quiz
#
# One point each. Put the letter in quotes.

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

# %% [markdown] text="quiz_zeros-text"
# ### Question `quiz_zeros`
#
# Someone sets the logits of the experts that were not chosen to 0, and then takes the softmax over all E. What comes out?
#
# - **A.** The right gates: a logit of 0 gets no weight.
# - **B.** Gates whose rows do not sum to 1.
# - **C.** Gates in which experts that were not chosen have a share.

# %% quiz="quiz_zeros"
quiz_zeros = ...  # "A", "B" or "C"
### BEGIN SOLUTION
quiz_zeros = "C"
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

# %% [markdown] text="machine-text"
# ## Your own part
#
# Your `route` and your `moe_loop` make a mixture of the FFNs that you have written so far. They all compute the same, and the gates of a token add up to 1. So
# the mixture has to say what one FFN says. Komatsuzaki et al. 2023 (*Sparse Upcycling*, arXiv 2212.05055) begin like this: with copies of a trained FFN, which
# then learn to differ. At the very start its router gets no gradient from the task, since the
# experts of a token say the same.

# %% figure="machine"
machine()

# %% [markdown] text="M8-text"
# ## 11 · In your own words
#
# *deeper: the core path ends here*
#
# *question M8 · {points}, graded by your instructor · 8 minutes*
#
# The choice of the k largest logits has no gradient. Still, routers are trained by gradient descent.
#
# 1. Along which path does a gradient get from the loss to the router's weight? What makes the logit of a chosen expert rise or fall?
# 2. In which case does nothing arrive, and why? Name a way out.
# 3. What does an expert that was *not* chosen for a token learn from this token? And its logit? Distinguish `softmax_topk` and `topk_softmax`.
#
# Four to eight sentences are enough. Double-click the cell below to write.

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

# %% [markdown] text="end-text"
# ## Going further
#
# - Fedus et al. 2021, *Switch Transformers* (arXiv 2101.03961): one expert for each token, at large scale.
# - Jiang et al. 2024, *Mixtral of Experts* (arXiv 2401.04088): eight experts, two for each token.
# - Gale et al. 2022, *MegaBlocks* (arXiv 2211.15841): the dispatch as a product of sparse blocks, without dropping a token.
# - Muennighoff et al. 2024, *OLMoE* (arXiv 2409.02060): 64 small experts, everything published.
#
# Next: `09_balance`. Nothing so far keeps a router from sending every token to the same expert.

# %% figure="progress"
progress()
