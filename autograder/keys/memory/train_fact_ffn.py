"""What is right, and what goes wrong, in `train_fact_ffn` of notebook 06."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import memory as exercises

train_fact_ffn = Key(exercises.train_fact_ffn)


@train_fact_ffn.truth
def by_hand_written_adam(E, U, y, d_ff, steps):
    """Adam with its formulas written out for each parameter; an optimiser of torch only counts the steps."""
    module = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))
    parameters = list(module.parameters())
    first, second = [torch.zeros_like(p) for p in parameters], [torch.zeros_like(p) for p in parameters]
    counter = torch.optim.SGD(parameters, lr=0.0)
    for step in range(1, steps + 1):
        logits = (E + module(E)) @ U.T
        loss = (logits.logsumexp(1) - logits[torch.arange(len(y)), y]).mean()
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g, m, v in zip(parameters, gradients, first, second, strict=True):
                m.mul_(0.9).add_(0.1 * g)
                v.mul_(0.999).add_(0.001 * g * g)
                p -= 0.01 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
        counter.step()
    return module


@train_fact_ffn.right("a class, without the residual")
def without_residual(E, U, y, d_ff, steps):
    class FactFFN(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.linear1 = nn.Linear(d, d_ff)
            self.linear2 = nn.Linear(d_ff, d)

        def forward(self, x):
            return self.linear2(F.relu(self.linear1(x)))

    store = FactFFN(E.size(1))
    opt = torch.optim.Adam(store.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = F.cross_entropy(store(E) @ U.T, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return store


@train_fact_ffn.right("AdamW, the residual inside the module, fewer steps than allowed")
def residual_inside(E, U, y, d_ff, steps):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(E.shape[1], d_ff), nn.Linear(d_ff, E.shape[1])

        def forward(self, x):
            return x + self.down(torch.relu(self.up(x)))

    block = Block()
    optimiser = torch.optim.AdamW(block.parameters(), lr=0.02)
    criterion = nn.CrossEntropyLoss()
    for _ in range(min(steps, 200)):
        optimiser.zero_grad()
        criterion(block(E).matmul(U.t()), y).backward()
        optimiser.step()
    return block


@train_fact_ffn.right("SGD with momentum and a large step, GELU")
def by_momentum(E, U, y, d_ff, steps):
    ffn = nn.Sequential(nn.Linear(E.shape[-1], d_ff), nn.GELU(), nn.Linear(d_ff, E.shape[-1]))
    opt = torch.optim.SGD(ffn.parameters(), lr=0.3, momentum=0.9)
    for _ in range(steps):
        opt.zero_grad(set_to_none=True)
        F.nll_loss(F.log_softmax((E + ffn(E)) @ U.T, dim=1), y).backward()
        opt.step()
    return ffn


def _store(name: str, message: str, loop: str, layers: str = "", ending: str = "return ffn", form_of: str = "") -> None:
    """A wrong answer that differs from a right one in a few lines of its loop."""
    layers = layers or "ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))"
    lines = [*layers.split("\n"), *loop.split("\n"), *ending.split("\n")]
    source = "def train_fact_ffn(E, U, y, d_ff, steps):\n" + "".join(f"    {line}\n" for line in lines)
    train_fact_ffn.add_source("mistake", name, message, source, form_of)


ADAM = "opt = torch.optim.Adam(ffn.parameters(), lr=0.01)\n"
STEP = "    loss.backward()\n    opt.step()"
LOOP = "for _ in range(steps):\n    opt.zero_grad()\n    loss = F.cross_entropy((E + ffn(E)) @ U.T, y)\n" + STEP

FFN_LAYERS = "ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))\n"

TOO_SLOW = (
    "It learns, but too slowly: after all steps most facts are still unknown. The steps are too small, or each looks at one fact only. "
    "Adam with 0.01, on all facts at once, is fast enough."
)

_store(
    "learning_rate_1",
    "The steps are far too large: the weights run away and the outputs become large. For Adam 0.01 is a good learning rate here.",
    LOOP,
    layers=FFN_LAYERS + "opt = torch.optim.Adam(ffn.parameters(), lr=1.0)",
)
_store(
    "steps_too_small",
    TOO_SLOW,
    LOOP,
    layers=FFN_LAYERS + "opt = torch.optim.SGD(ffn.parameters(), lr=0.01)",
)


train_fact_ffn.slips("""
|| steps_too_small | one_fact_at_a_time
  - opt = torch.optim.SGD(ffn.parameters(), lr=0.01)
  - for _ in range(steps):
  + opt = torch.optim.Adam(ffn.parameters(), lr=0.01)
  + for step in range(steps):
  +     n = step % len(E)
  - F.cross_entropy((E + ffn(E)) @ U.T, y)
  + F.cross_entropy((E[n : n + 1] + ffn(E[n : n + 1])) @ U.T, y[n : n + 1])
|| adam_with_small_steps: = torch.optim.SGD(ffn.parameters(), lr=0.01) -> = torch.optim.Adam(ffn.parameters(), lr=0.0005)
""")
_store(
    "towards_the_vectors",
    "Most facts are known, but not all: this is what comes of a squared error between the outputs and the vectors `U[y]`. The right score need only be the "
    "largest, and that is what the cross-entropy of the scores asks for.",
    ADAM + LOOP.replace("F.cross_entropy((E + ffn(E)) @ U.T, y)", "F.mse_loss(ffn(E), U[y])"),
)
_store(
    "softmax_twice",
    "The scores went through a softmax before the cross-entropy, which applies one itself: the gradients nearly vanish. Hand it the scores as they are.",
    ADAM + LOOP.replace("(E + ffn(E)) @ U.T", "((E + ffn(E)) @ U.T).softmax(dim=1)"),
)
_store(
    "runs_away",
    "The outputs run away without end. That happens if the loss has no lower bound: a minus before it, or the cross-entropy of the outputs with the vectors "
    "`U[y]`, where scores and the numbers `y` belong; or if gradients are never cleared.",
    ADAM + LOOP.replace("F.cross_entropy((E + ffn(E)) @ U.T, y)", "F.cross_entropy(E + ffn(E), U[y])"),
)
_store(
    "one_step",
    "The loop ends after one step, or takes its step after the loop: look at how far `optimiser.step()` and `return` are indented.",
    ADAM + LOOP + "\n    return ffn",
)
_store(
    "another_module",
    "The module that came back is not the one that the optimiser trains: one of the two is made inside the loop, or made again at the end. "
    "Make both once, before the loop.",
    "for _ in range(steps):\n    " + FFN_LAYERS + "    opt = torch.optim.Adam(ffn.parameters(), lr=0.01)\n"
    "    F.cross_entropy((E + ffn(E)) @ U.T, y).backward()\n    opt.step()\n"
    "ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))",
)
_store(
    "one_layer_trained",
    "The optimiser has only some of the module's parameters; the others stay random. Give it `ffn.parameters()`, all of them.",
    "opt = torch.optim.Adam(ffn[2].parameters(), lr=0.01)\n" + LOOP,
)
_store(
    "relu_after_the_second",
    "There is an activation after the second layer as well: no output can be negative. The FFN has one, between its layers.",
    ADAM + LOOP,
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]), nn.ReLU())",
)
_store(
    "three_layers",
    "There are more weights than two layers of width `d_ff` have: a third layer, perhaps. One hidden layer is asked for.",
    ADAM + LOOP,
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))",
)
_store(
    "trains_u",
    "U was trained along with the FFN, in place. It is the read-out that everybody shares: only `ffn.parameters()` go into the optimiser.",
    "U.requires_grad_()\nopt = torch.optim.Adam([*ffn.parameters(), U], lr=0.01)\n" + LOOP,
)
_store(
    "trains_e",
    "E was trained along with the FFN, in place. The facts belong in the FFN: only `ffn.parameters()` go into the optimiser.",
    "E.requires_grad_()\nopt = torch.optim.Adam([*ffn.parameters(), E], lr=0.01)\n" + LOOP,
)
_store(
    "steps_ignored",
    "The number of steps is fixed in the code. Take as many as `steps` says, and no more.",
    ADAM + LOOP.replace("range(steps)", "range(300)"),
)
_store(
    "twice_as_many_steps",
    "More steps than `steps` says: one too many (`range(steps + 1)`), or a second loop inside, in which each batch is a step of its own.",
    ADAM
    + "for _ in range(steps):\n    for half in (slice(None, None, 2), slice(1, None, 2)):\n        opt.zero_grad()\n"
    + "        loss = F.cross_entropy((E[half] + ffn(E[half])) @ U.T, y[half])\n        loss.backward()\n        opt.step()",
)
_store(
    "width_ignored",
    "The width of the hidden layer is fixed in the code, or 4·d_model, whatever `d_ff` says.",
    ADAM + LOOP,
    layers="d = E.shape[1]\nffn = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))",
)
_store(
    "untrained",
    "Nothing was learned: no optimiser took a step. The loop needs `optimiser.step()` after `loss.backward()`.",
    ADAM + LOOP.replace("\n    opt.step()", ""),
)
_store(
    "without_backward",
    "An optimiser takes its steps, but there are no gradients to follow: `loss.backward()` is missing, or `zero_grad()` comes between it and the step.",
    ADAM + LOOP.replace("    loss.backward()\n", ""),
)
_store(
    "mean_squared_error",
    "The loss compares numbers of answers as if they were sizes: answer 7 is not nearer to 8 than to 50. Use the cross-entropy of the logits.",
    ADAM
    + "for _ in range(steps):\n    opt.zero_grad()\n"
    + "    loss = F.mse_loss(((E + ffn(E)) @ U.T).softmax(1) @ torch.arange(len(U)).float(), y.float())\n"
    + STEP,
)
_store(
    "no_zero_grad",
    "The gradients are never cleared, so that each step follows the sum of all gradients so far. `optimiser.zero_grad()` comes first in the loop.",
    ADAM + LOOP.replace("    opt.zero_grad()\n", ""),
)
_store(
    "only_the_first_half",
    "Only a part of the facts was learned, perhaps one batch. Show the FFN all of them in every step.",
    ADAM + LOOP.replace("(E + ffn(E))", "(E[:128] + ffn(E[:128]))").replace(", y)", ", y[:128])"),
)
_store(
    "no_activation",
    "There is no activation between the two layers: together they are one matrix, however many neurons there are.",
    ADAM + LOOP,
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.Linear(d_ff, E.shape[1]))",
)
_store(
    "returns_the_loss",
    "The loss came back. The trained module is asked for.",
    ADAM + LOOP,
    ending="return loss.item()",
)
_store(
    "returns_nothing",
    NO_RETURN,
    ADAM + LOOP,
    ending="return",
)
_store(
    "returns_the_output",
    "What the module gives for E came back. The module itself is asked for.",
    ADAM + LOOP,
    ending="return ffn(E)",
)
_store(
    "logits_as_output",
    "The module returns logits, [N, C]. It maps a vector of d_model numbers to one of d_model numbers; `@ U.T` comes after it.",
    ADAM + LOOP.replace("(E + ffn(E)) @ U.T", "ffn(E)"),
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, len(U)))",
)
_store(
    "dropout_left_on",
    "Calling the module twice gives two outputs: something random, such as `F.dropout` without `self.training`, is still at work in eval mode.",
    ADAM + LOOP,
    layers="class Noisy(nn.Sequential):\n    def forward(self, x):\n        return F.dropout(super().forward(x), 0.3)\n"
    "ffn = Noisy(nn.Linear(E.shape[1], d_ff), nn.ReLU(), nn.Linear(d_ff, E.shape[1]))",
)


TABLE = "class Table(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.up, self.down = nn.Linear(E.shape[1], 1), nn.Linear(1, 1)\n"
_store(
    "a_table",
    "The module looks its answer up: it returns the answer of the nearest question, and nothing between the questions. Facts belong in the weights of two "
    "layers, put there by gradient steps.",
    "opt = torch.optim.Adam(ffn.parameters(), lr=0.01)\nfor _ in range(steps):\n    opt.zero_grad()\n"
    "    ffn.up(E).sum().backward()\n    opt.step()",
    layers=TABLE + "    def forward(self, x):\n        return 100 * U[y[torch.cdist(x, E).argmin(1)]]\nffn = Table()",
)
_store(
    "weights_computed",
    "The facts are known after a single step already, so no gradient steps put them there: weights were computed, or there are more steps than `steps` says.",
    "h = torch.relu(ffn[0](E))\nwith torch.no_grad():\n    ffn[2].weight.copy_(torch.linalg.lstsq(h, 100 * U[y]).solution.T)\n"
    + ADAM,
    layers="ffn = nn.Sequential(nn.Linear(E.shape[1], 40 * d_ff), nn.ReLU(), nn.Linear(40 * d_ff, E.shape[1]))",
)


_store(
    "adam_with_its_own_rate",
    "It learns, but not far enough in these steps. Adam's own learning rate is 0.001; with 0.01 it knows all facts.",
    LOOP,
    layers=FFN_LAYERS + "opt = torch.optim.Adam(ffn.parameters())",
)
