"""What is right, and what goes wrong, in `write_fact` of notebook 06."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from autograder.keys.key import Key
from ffnlab.course.exercises import memory as exercises

write_fact = Key(exercises.write_fact)


@write_fact.truth
def twice_as_strong_until_it_leads(ffn, E, U, n, c):
    """The threshold half way between two sorted matches; the push along U[c] doubled until the answer, asked again, is the new one by far."""
    matches = sorted(float(sum(a * b for a, b in zip(row.tolist(), E[n].tolist(), strict=True))) for row in E)
    bias = -(matches[-1] + matches[-2]) / 2
    h, strength = matches[-1] + bias, 1.0
    while True:
        out = E[n] + ffn(E[n]).detach() + h * strength * U[c]
        scores = [float(out @ answer) for answer in U]
        if all(scores[c] - score >= 2 for k, score in enumerate(scores) if k != c):
            return E[n].clone(), bias, strength * U[c]
        strength *= 2


@write_fact.right("a key of length 1, and a push that is large enough for anything")
def unit_key_and_a_great_push(ffn, E, U, n, c):
    key = F.normalize(E[n], dim=0)
    best, second = torch.topk(E @ key, 2).values
    return key, -(0.5 * best + 0.5 * second), 1e5 * U[c]


@write_fact.right("only as strong as it has to be")
def as_strong_as_needed(ffn, E, U, n, c):
    key = E[n].clone()
    with torch.no_grad():
        match = E @ key
        match[n] = -torch.inf
        bias = -0.9 * match.max() - 0.1 * (key @ key)
        h = key @ key + bias
        scores = U @ (E[n] + ffn(E[n]))
        behind = scores - scores[c] + 1.5  # how much each other one has to be overtaken by
        per_unit = U[c] @ U[c] - U @ U[c]  # what one unit of U[c] gains on it
        others = [k for k in range(len(U)) if k != c]
        strength = max(float(behind[k] / per_unit[k]) for k in others)
    return key, bias, max(strength, 1.0) * U[c] / h


@write_fact.right("the threshold at the second best, which is then exactly silent; numbers as Python floats")
def threshold_at_the_second_best(ffn, E, U, n, c):
    matches = [float(E[m] @ E[n]) for m in range(len(E)) if m != n]
    bias = -max(matches) - 1e-4
    h = float(E[n] @ E[n]) + bias
    goal = 4 * U[c]
    return E[n], bias, ((goal - E[n] - ffn(E[n])) / h).detach()


@write_fact.base
def plain_write_fact(ffn, E, U, n, c):
    with torch.no_grad():
        key = E[n]
        match = E @ key
        others = torch.cat([match[:n], match[n + 1 :]])
        bias = -(match[n] + others.max()) / 2
        h = match[n] + bias
        now = E[n] + ffn(E[n])
        value = (U[c] - now) / h
    return key, bias, value


write_fact.slip(
    "threshold_at_the_match",
    "The threshold is the person's own match, so that the neuron adds up to exactly 0 for them as well and writes nothing. It must be a little lower, "
    "and above the second best.",
    replace={"-(match[n] + others.max()) / 2": "-match[n]", "(U[c] - now) / h": "1e5 * U[c]"},
)


@write_fact.mistake(
    "The old answer is favoured still more: the sign of the push is turned. Add `U[c]`, do not subtract it."
)
def push_turned_round(ffn, E, U, n, c):
    key = E[n]
    match = E @ key
    bias = -match.topk(2).values.mean()
    return key, bias, -1e5 * U[c]


@write_fact.mistake(
    "`ffn` itself is changed. Here only a description of the new neuron is asked for; whoever uses it adds it to the output, and can take it away again."
)
def written_into_ffn(ffn, E, U, n, c):
    key = E[n]
    match = E @ key
    bias = -match.topk(2).values.mean()
    h = match[n] + bias
    with torch.no_grad():
        value = (U[c] - E[n] - ffn(E[n])) / h
        ffn.linear1.weight[0] = key
        ffn.linear1.bias[0] = bias
        ffn.linear2.weight[:, 0] = value
    return key, bias, value


@write_fact.mistake(
    "`E` is changed. (`key = E[n]` is a view: `/=`, `-=` or a method with a trailing underscore changes the question as well.) Use `.clone()`, or "
    "make a new tensor."
)
def question_overwritten(ffn, E, U, n, c):
    now = E[n] + ffn(E[n]).detach()
    key = E[n]
    match = E @ key
    bias = -match.topk(2).values.mean() / key.norm()
    h = (match[n] / key.norm() + bias).clone()
    key /= key.norm()
    return key.clone(), bias, (U[c] - now) / h


@write_fact.mistake("No neuron comes back. Return the triple (key, bias, value); it needs no new module.")
def module_of_one_more(ffn, E, U, n, c):
    more = nn.Linear(E.shape[1], 1)
    return more


write_fact.slips("""
in bias = -(match[n] + others.max()) / 2
no_threshold: bias = torch.zeros(())
    There is no threshold: with a bias of 0 (or above) the neuron fires for every question that points roughly the same way. Its bias must be so far
    below zero that only the best match gets through.
|| no_threshold_great_push: (U[c] - now) / h -> 1e4 * U[c]
threshold_guessed: bias = -match[n] / 2
    The threshold is a guess, such as half of the best match: a person whose question is much like this one gets through as well. Look at how well all
    the others match, and put it between the best and the second best.
|| threshold_guessed_high: match[n] / 2 -> 0.9 * match[n]
| threshold_at_the_mean: others.max -> others.mean
bias_with_the_wrong_sign: bias = (match[n] + others.max()) / 2
    The bias has the wrong sign: the neuron computes relu(x · key + bias), so a threshold of t is a bias of −t. Now everybody who does not point the
    other way gets through.
in value = (U[c] - now) / h
too_weak: value = U[c]
    The neuron listens to the right person, and its value points the right way, but the push is too weak. It writes h · value, and h is small here, because
    another person matches nearly as well. Work out how much is needed to lead by 1, with the question and the output of `ffn` already in the sum.
|| too_weak_for_its_h: U[c] -> U[c] - now
| a_third_answer_leads: value = 10 * U[c]
ahead_of_the_old_answer_alone
  - value = (U[c] - now) / h
  + old = U[(U @ now).argmax()]
  + value = (now @ (old - U[c]) + 1.01) / (U[c] @ (U[c] - old)) / h * U[c]
    Your value is large enough to pass the old answer, and no larger. It raises other answers as well, and one of them may lead:
    ask for the lead over all of them.
residual_forgotten: value = (U[c] - ffn(E[n])) / h
    Your push would be enough if the scores were made of `ffn(E[n])` and what the neuron writes. But the residual connection adds the question as well: what
    is there before your neuron is E[n] + ffn(E[n]).
ffn_forgotten: value = (U[c] - E[n]) / h
    Your push would be enough if `ffn` wrote nothing for person n. But its neurons are still there: what is there before yours is E[n] + ffn(E[n]).
old_answer_pushed_down_only: value = -20 * U[(U @ now).argmax()] / h
    The old answer is pushed away, and nothing says which one shall lead instead. The value must point to the new answer, `U[c]`.
row_of_E_for_the_answer: value = (E[c] * 20 - now) / h
    The value is made from `E[c]`. `c` is the number of an **answer**: its vector is `U[c]`.
in return key, bias, value
key_and_value_swapped: return value, bias, key
    Key and value have changed places: the neuron listens to the answer and writes the question. First comes what it compares x with.
pair_without_bias: return key, value
    Two things come back. A neuron has three parts: key, bias and value. Without its bias nobody can tell when it fires.
key_of_the_answer: key = E[n] -> key = U[c]
    The key is the new answer's vector. It should be what the neuron listens to: the question of person n.
threshold_of_another_key
  - key = E[n]
  + key = E[n] / E[n].norm()
  - (match[n] + others.max()) / 2
  + (E @ E[n]).topk(2).values.mean()
    For its own person the neuron adds up to less than 0, so it never fires. The threshold must lie below their match with the key that you return.
    With a key of another length all matches are others.
key_of_another_person
  - key = E[n]
  + key = E[c]
  - (match[n] + others.max()) / 2
  + match.topk(2).values.mean()
  - / h
  + / (match[c] + bias)
    The key is `E[c]`, the question of another person: `c` is the number of an answer. Person n asks `E[n]`.
""")
