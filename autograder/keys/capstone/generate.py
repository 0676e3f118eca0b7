"""What is right, and what goes wrong, in `generate` of notebook 10."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from autograder.keys.key import Key
from ffnlab.course.exercises import capstone as exercises

generate = Key(exercises.generate)


@generate.truth
def one_share_after_the_other(model, prompt, numbers, window, temperature):
    """Plain Python numbers: shares are added up one by one until they are above u."""
    new = []
    for u in numbers:
        seen = [*prompt, *new]
        scores = model(torch.tensor([seen[max(0, len(seen) - window) :]])).tolist()[0][-1]
        best = max(scores)
        if temperature == 0:
            new.append(scores.index(best))
            continue
        weights = [math.exp((score - best) / temperature) for score in scores]
        total, reached = sum(weights), 0.0
        for number, weight in enumerate(weights):
            reached += weight / total
            if reached > u:
                new.append(number)
                break
    return new


@generate.right("searchsorted, ids kept in a tensor")
def ids_in_a_tensor(model, prompt, numbers, window, temperature):
    ids = torch.tensor(prompt).unsqueeze(0)
    for u in numbers:
        logits = model(ids[:, -window:])[:, -1, :].detach()
        if temperature > 0:
            shares = F.softmax(logits / temperature, dim=-1).cumsum(-1)
            new = torch.searchsorted(shares[0], torch.tensor([u], dtype=shares.dtype), right=True).unsqueeze(0)
        else:
            new = logits.topk(1).indices
        ids = torch.cat([ids, new], dim=1)
    return ids[0, len(prompt) :].tolist()


@generate.right("a loop that stops above u")
def stops_above_u(model, prompt, numbers, window, temperature):
    text, new = prompt[:], []
    for u in numbers:
        logits = model(torch.as_tensor(text[-window:])[None, :])[0][-1]
        if not temperature:
            pick = int(torch.argmax(logits))
        else:
            p = torch.exp(torch.log_softmax(logits / temperature, 0))
            pick, left = 0, u - p[0]
            while left >= 0:
                pick += 1
                left = left - p[pick]
        text.append(pick)
        new.append(pick)
    return new


@generate.right("the first True of a comparison")
def first_true(model, prompt, numbers, window, temperature):
    ids = [*prompt]
    for u in numbers:
        context = torch.tensor(ids[max(0, len(ids) - window) :]).reshape(1, -1)
        last = model(context)[0, -1]
        if temperature == 0:
            ids += [last.argmax().item()]
        else:
            p = torch.softmax((last - last.max()) / temperature, -1)
            ids += [(p.cumsum(0) > u).int().argmax().item()]
    return tuple(ids[len(prompt) :])


@generate.base
def plain_generate(model, prompt, numbers, window, temperature):
    ids = list(prompt)
    for u in numbers:
        scores = model(torch.tensor([ids[-window:]]))[0, -1]
        if temperature == 0:
            chosen = scores.argmax()
        else:
            p = torch.softmax(scores / temperature, dim=-1)
            up_to = p.cumsum(-1)
            chosen = (up_to <= u).sum()
        ids.append(int(chosen))
    return ids[len(prompt) :]


generate.slips("""
never_appended
  - for u in numbers:
  + new = []
  + for u in numbers:
  - ids.append
  + new.append
  - ids[len(prompt) :]
  + new
    What was written is not read: the model sees the prompt alone, every time. Append each new id before the next step.
prompt_changed
  - list(prompt)
  + prompt
  - ids[len(prompt) :]
  + ids[-len(numbers) :] if numbers else []
    `prompt` itself grows: `ids = prompt` makes no copy, and whoever called you finds a longer list. Begin with `list(prompt)`.
""")


@generate.mistake(
    "The model takes ids of shape [1, t], a batch of one text, and was handed [t]. Two brackets, or `[None]`, add the dimension."
)
def without_a_batch(model, prompt, numbers, window, temperature):
    ids = list(prompt)
    for u in numbers:
        scores = model(torch.tensor(ids[-window:]))[-1]
        p = torch.softmax(scores / (temperature or 1e-3), dim=-1)
        ids.append(int((p.cumsum(-1) <= u).sum()))
    return ids[len(prompt) :]


@generate.mistake("Only one token is written. There is one for each of `numbers`: the `return` belongs after the loop.")
def returns_in_the_loop(model, prompt, numbers, window, temperature):
    ids = list(prompt)
    for u in numbers:
        scores = model(torch.tensor([ids[-window:]]))[0, -1]
        if temperature == 0:
            ids.append(int(scores.argmax()))
        else:
            ids.append(int((torch.softmax(scores / temperature, dim=-1).cumsum(-1) <= u).sum()))
        return ids[len(prompt) :]
    return []


generate.slips("""
in temperature == 0
always_greedy: True
    The highest score always wins, whatever the temperature. Above 0 the numbers u decide: each id is chosen with its probability.
divided_by_zero: False
    At temperature 0 the scores are divided by 0, and softmax makes NaN of it. Look for the highest score before anything is divided.
in p = torch.softmax(scores / temperature, dim=-1)
temperature_ignored: p = torch.softmax(scores, dim=-1)
    The temperature is never used, except for 0. Scores are divided by it before softmax.
temperature_multiplies: p = torch.softmax(scores * temperature, dim=-1)
    Scores are multiplied by the temperature. They are divided by it: the higher it is, the closer they come to each other.
exp_overflows: p = torch.exp(scores / temperature) / torch.exp(scores / temperature).sum()
    With a small temperature `exp` gets numbers that are too large for it, and infinity over infinity is NaN. `torch.softmax` subtracts the largest
    score first.
|| exp_overflows_and_the_first_id: (up_to <= u).sum() -> (up_to > u).int().argmax()
place_among_the_sorted: p = torch.softmax(scores / temperature, dim=-1).sort(descending=True).values
    The probabilities were sorted, and the place in the sorted list is taken for the id. Leave them in the order of the ids.
temperature_after_softmax
  - torch.softmax(scores / temperature, dim=-1)
  + torch.softmax(scores, dim=-1) / temperature
  - = (up_to <= u).sum()
  + = min((up_to <= u).sum(), len(p) - 1)
    The probabilities are divided by the temperature, so they no longer add up to 1. Divide the scores, before softmax.
in scores = model(torch.tensor([ids[-window:]]))[0, -1]
first_row: scores = model(torch.tensor([ids[-window:]]))[0, 0]
    The first row of the scores is used: it says what comes after the **first** token. What comes after all of them is in the last row.
window_ignored: scores = model(torch.tensor([ids]))[0, -1]
    All tokens are handed to the model, also when they are more than its window. Hand it the last `window` of them.
window_too_narrow: scores = model(torch.tensor([ids[max(0, len(ids) - window + 1) :]]))[0, -1]
    The model sees one token less than its window holds. `ids[-window:]` has the last `window` tokens.
in -window:
first_tokens_of_the_window: :window
    The model sees the **first** `window` tokens, so that after a while nothing new reaches it. It should see the last ones.
last_token_only: -1:
    The model sees the last token alone. Its scores depend on what came before, too: hand it the last `window` tokens.
prompt_repeated: ids[len(prompt) :] -> ids
    The prompt comes back together with the new ids. Only the new ones are asked for.
in (up_to <= u).sum()
one_too_far: ((up_to <= u).sum() + 1).clamp(max=len(p) - 1)
    The id after the right one is chosen. Counting starts at 0: as many ids come before the chosen one as there are sums that are not above u.
first_number_for_all: (up_to <= numbers[0]).sum()
    The same number u decides about every token. Each has a number of its own.
not_smaller_for_larger: chosen = (up_to <= u).sum() -> chosen = (up_to < u).sum()
    With u = 0 an id is chosen that has probability 0: the first sum that is **not smaller** than u is taken. It has to be larger.
in = (up_to <= u).sum()
nearest_probability: = (p - u).abs().argmin()
    The id whose own probability is compared with u is taken. u is compared with the probabilities **added up**, p₀ + p₁ + …
chance_of_its_own: = torch.multinomial(p, 1)
    The choice is left to torch's own chance, and the numbers u are not used: so nobody can write the same text again. Choose by u.
prompt_changed_and_lost: list(prompt) -> prompt
    `prompt` itself grows, because `ids = prompt` makes no copy; so at the end `len(prompt)` counts the new ids as well, and nothing is left. Begin
    with `list(prompt)`.
""")
