"""What is right, and what goes wrong, in `lowest_loss` of notebook 09."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import balance as exercises

lowest_loss = Key(exercises.lowest_loss)


@lowest_loss.truth
def by_trying(E):
    """Tries every number of idle experts: the logarithms of the probabilities, one token for each busy expert."""
    best, best_loss = None, 2.0
    for idle in range(E):
        busy = E - idle
        rows = []
        for t in range(busy):
            own = [1e-9] * E
            for e in range(busy, E):
                own[e] = 0.999 / (idle + 1)
            own[t] = 1.001 / (idle + 1)
            rows.append(own)
        loss = E / (busy * (idle + 1))
        if loss < best_loss:
            best, best_loss = rows, loss
    return torch.tensor(best, dtype=torch.float64).log()


@lowest_loss.base
@lowest_loss.right("half of the experts are idle, and a token's own is just ahead")
def half_idle(E):
    busy = (E + 1) // 2
    logits = torch.zeros(busy, E)
    logits[:, :busy] = -40.0
    for t in range(busy):
        logits[t, t] = 0.01
    return logits


@lowest_loss.right("the idle experts come first, and ten tokens go to each of the others")
def idle_first(E):
    idle = E // 2
    rows = []
    for e in range(idle, E):
        row = [0.0] * idle + [-100.0] * (E - idle)
        row[e] = 0.005
        rows += [row] * 10
    return torch.tensor(rows)


@lowest_loss.right("equal logits, where the first expert is chosen")
def with_ties(E):
    busy = E - E // 2
    own = torch.eye(busy, dtype=torch.bool)
    return torch.cat([torch.where(own, 0.0, -1000.0), torch.zeros(busy, E - busy)], dim=1)


@lowest_loss.right("the logarithm of probabilities, as many tokens as experts are busy")
def by_probabilities(E):
    m = E // 2
    p = torch.full((E - m, E), 1e-12, dtype=torch.float64)
    p[:, E - m :] = 1 / (m + 1)
    p[range(E - m), range(E - m)] = 1.0001 / (m + 1)
    return p.log()


lowest_loss.slips("""
in busy = (E + 1) // 2
one_idle: busy = E - 1
    Your tokens put their probability where no load is, which is the idea. But too few experts are idle: what would more of them bring?
two_busy: busy = 2
    Your tokens put their probability where no load is, which is the idea. But too many experts are idle: with so few busy ones, each has a large load.
all_busy: busy = E
    Every expert has tokens, so no probability can escape the load. Leave some experts without any.
in logits[:, :busy] = -40.0
spread_over_all: logits[:, :busy] = 0.0
    Your tokens give probability to experts that other tokens choose, and there it meets load. Keep it away from them. If you have returned
    probabilities, take their logarithm, because as logits they are nearly equal.
| too_soft: logits[:, :busy] = -0.5
| probabilities_returned: return logits -> return logits.softmax(-1)
in logits[t, t] = 0.01
far_ahead: logits[t, t] = 0.5
    Your tokens are too sure of their own expert: its probability meets all of its load. It has to be ahead, but only just.
| very_far_ahead: logits[t, t] = 5.0
own_not_ahead: logits[t, t] = -0.01
    All your tokens are at one expert. Its whole load meets whatever they give it, which is 1/E at the least, and that makes 1 again. Each token's own expert
    needs its largest logit, by a little.
in return logits
transposed: return logits.T
    A row of logits is one token and a column one expert: [T, E], with E columns.
choice_returned: return logits.argmax(-1)
    The chosen experts come back. What is asked for are logits [T, E], from which they follow.
loss_returned: return torch.tensor(E / (busy * (E - busy + 1)))
    A loss comes back. What is asked for are logits [T, E] whose loss is as small as that.
logits_not_returned: return None
    NO_RETURN
in
  - busy = (E + 1) // 2
  - logits = torch.zeros(busy, E)
  - logits[:, :busy] = -40.0
  - for t in range(busy):
  -     logits[t, t] = 0.01
  - return logits
| own_not_ahead | everyone_at_one_expert
  + logits = torch.full((E, E), -0.01)
  + logits[:, 0] = 0.0
  + return logits
for_eight_alone
  + logits = torch.full((4, E), -40.0)
  + logits[:, 4:8] = 0.0
  + logits[range(4), range(4)] = 0.01
  + return logits
    It works for eight experts. For another E, the number of idle experts has to follow from E.
""")
