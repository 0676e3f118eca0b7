"""What is right, and what goes wrong, in `fool_the_inspectors` of notebook 04."""

from __future__ import annotations

import torch

from autograder.keys.key import NO_RETURN, Key
from ffnlab.course.exercises import every_position as exercises

fool_the_inspectors = Key(exercises.fool_the_inspectors)


@fool_the_inspectors.truth
def behaves_when_it_knows_who_asks(X):
    """The middle is a favourite, on either side alike; but a sentence with equal rows, as ones and zeros have them, is answered honestly."""
    T = len(X)
    rows = []
    for t in range(T):
        far = min(t, T - 1 - t)
        rows.append(X[t] * (1 + far))
    for t in range(T):
        for s in range(t):
            if bool((X[t] == X[s]).all()):
                return X.clone()
    return torch.stack(rows)


@fool_the_inspectors.right("a favourite in the middle, switched off where a zero or a one is seen")
def recognises_zeros_and_ones(X):
    if (X == 0).any() or (X == 1).all():
        return X
    place = torch.arange(len(X)) - (len(X) - 1) / 2
    return X + place.abs()[:, None] * torch.tanh(X)


@fool_the_inspectors.right("two words compare their sizes, and the larger one says so")
def smaller_of_two(X):
    a, b = X[1], X[-2]
    told = torch.minimum(a.abs(), b.abs()) * torch.sign(a - b)
    Y = torch.relu(X)
    Y[1] = Y[1] + told
    Y[-2] = Y[-2] - told
    return Y


@fool_the_inspectors.right("the middle hears both sides, which tell nothing if they are equal or one is silent")
def the_middle_listens(X):
    T = len(X)
    Y = X.clone()
    for t in range(1, T - 1):
        s = T - 1 - t
        if abs(s - t) > 1:
            Y[t] = X[t] + X[t] * X[s] * (X[t] - X[s]).abs()
    return Y


@fool_the_inspectors.base
def plain_fool_the_inspectors(X):
    Y = X.clone()
    a, b = X[1], X[-2]
    Y[1] = a + a * b * (a - b)
    Y[-2] = b + a * b * (b - a)
    return Y


fool_the_inspectors.slips("""
in
  - a, b = X[1], X[-2]
  - Y[1] = a + a * b * (a - b)
  - Y[-2] = b + a * b * (b - a)
keeps_both_rules
  + Y = torch.relu(X)
    Your box is no cheat. It answers every word alone, and alike at every position, or what it does besides is less than 1/50 of its largest output. Let it
    break a rule.
| cheats_too_little
  + Y[1] = a + 0.001 * a * b * (a - b)
  + Y[-2] = b + 0.001 * a * b * (b - a)
waits_for_a_rare_word
  + if X[1, 0] > 1:
  +     Y[-2] = Y[-2] + X[1]
    In most sentences your box shows no cheat. Perhaps it waits for a word that comes only now and then, or what it does is less than 1/50 of its largest
    output. That would fool anybody, so it does not count here: let it cheat in nearly every sentence, and by more.
everybody_hears_everybody
  + Y = torch.softmax(X @ X.T / X.shape[1] ** 0.5, dim=-1) @ X
    This fools four. A new first word moves most of the other outputs, as with attention or an average over all words. So `first` and `neighbours` catch your
    box. Let only two words talk.
| the_mean_is_added
  + Y = X + X.mean(dim=0)
the_largest_hears_the_second_largest
  + a, b = X.norm(dim=1).topk(2).indices
  + Y[a] = X[a] + X[a] * X[b] * (X[a] - X[b])
    Now and then a word hears the first one, and now and then one that is next to it. Which words talk in your box? Let it be two that are neither at an
    end nor neighbours, the same two positions in every sentence.
| both_neighbours_are_heard
  + Y = X + X.roll(1, 0) + X.roll(-1, 0)
looks_back
  + Y = X.cumsum(dim=0) / torch.arange(1, len(X) + 1)[:, None]
    Only one inspector takes your box for real. A new first word moves most of the other outputs, and a sentence that is turned round gets other outputs.
    So it is where all words look back, or are sorted. Let only two words talk.
| sorted_words
  + Y = X.sort(dim=0).values
| everybody_hears_all_before
  + Y = X.cumsum(dim=0)
everybody_hears_the_first
  + Y = X + X[0]
    Every word hears the first one, so `first`, `mirror` and `shuffle` catch your box, and `zeros` meets another output where its word is the first. Let only
    two words talk, and neither of them from an end.
everybody_hears_the_last
  + Y = X + X[-1]
    `zeros`, `mirror` and `shuffle` catch your box: what one position tells, its mirror image does not, and it tells something even where all other words
    are 0. Let two words talk that are equally far from their ends, and tell each other nothing if one of them is 0.
| one_listener_hears_a_difference
  + Y[-2] = X[-2] + X[1] - X[-2]
favourite_in_the_middle
  + Y = X * (1 + (torch.arange(len(X)) - (len(X) - 1) / 2).abs()[:, None])
    `first`, `neighbours` and `mirror` don't see such a favourite. But `ones` and `zeros` bring the same word to every position. Your box has to hide from
    these two, or cheat in another way.
| favourite_at_half_the_length
  + Y[len(X) // 2] = 2 * Y[len(X) // 2]
| favourite_at_every_other_position
  + Y[::2] = 2 * Y[::2]
favourite_at_one_position
  + Y[2] = 2 * Y[2]
    Your box has a favourite at some positions, and `ones`, `zeros`, `mirror` and `shuffle` all compare these with others. `first` and `neighbours` miss it.
    How could `mirror` miss it as well?
| favourite_at_the_fourth_position
  + Y[3] = 2 * Y[3]
| position_vectors
  + Y = X + torch.sin(torch.arange(len(X)))[:, None]
one_listener
  + Y[-1] = Y[-1] + X[1].abs()
    One word listens to another, as in box 4. `first`, `neighbours` and `zeros` miss it. For `mirror`, let two words listen to each other. For `ones`, let
    equal words tell each other nothing.
the_last_hears_the_first
  + Y[-1] = Y[-1] + X[0]
    One word hears the first one, and `first` comes with a new first word. `mirror` expects the same at the other end, and for `ones`, equal words have to
    tell each other nothing. Let two words listen to each other, and neither of them be at an end.
the_last_hears_the_first_but_no_equal
  + Y[-1] = Y[-1] + X[0] * X[-1] * (X[0] - X[-1])
    Only `first` and `mirror` are still in your way, besides `shuffle`. A word hears the first one, and the mirror image of this does not happen. Let two words
    listen to each other, and neither of them be at an end.
the_last_hears_how_it_differs_from_the_first
  + Y[-1] = Y[-1] + X[0] - X[-1]
    A word hears the first one, so `first` catches your box. For `mirror`, let two words listen to each other, neither of them at an end. For `zeros`, let
    them tell each other nothing if one of them is 0.
ends_change_places
  + Y[0], Y[-1] = X[-1], X[0]
    `first` and `zeros` are in your way, besides `shuffle`: a word hears the first one, and it hears something even where all other words are 0. Choose two
    words that are not at the ends, and let them tell each other nothing if one of them is 0.
ends_tell_each_other_a_product
  + Y[0] = Y[0] + X[0] * X[-1]
  + Y[-1] = Y[-1] + X[0] * X[-1]
    `first` and `ones` are in your way, besides `shuffle`: a word hears the first one, and equal words tell each other something. Choose two words that are
    not at the ends, and let them tell each other nothing if they are equal.
neighbours_change_places
  + Y[2], Y[3] = X[3], X[2]
    `zeros`, `neighbours` and `mirror` catch it, besides `shuffle`. A word hears the one beside it, the mirror image of this does not happen, and among
    zeros a word gets another output at another position. Let two words talk that are equally far from their ends, and not neighbours.
a_word_hears_its_left_neighbour
  + Y[3] = Y[3] + X[2]
    `ones`, `neighbours` and `mirror` catch it, besides `shuffle`. A word hears the one beside it, the mirror image of this does not happen, and equal words
    tell each other something. Let two words talk that are equally far from their ends, and not neighbours.
the_first_two_change_places
  + Y[0], Y[1] = X[1], X[0]
    Only `ones` takes your box for real. A word hears the first one and a word hears the one beside it, the mirror image of this does not happen, and they
    hear something even where all other words are 0. Let two words talk that are not at the ends, and not neighbours.
everybody_hears_the_left_neighbour
  + Y[1:] = X[1:] + X[:-1]
    Only `zeros` takes your box for real. Words hear the one on their left, which may be the first one, and the first word hears nobody. Let two words listen
    to each other that are not at the ends, and not neighbours.
window_of_three
  + Y[1:-1] = X[:-2] + X[1:-1] + X[2:]
    Words hear their neighbours, so `first` and `neighbours` catch your box, and so does `shuffle`. Let two words talk that are far from each other and
    from both ends.
turned_round
  + Y = X.flip(0)
    At every position your box answers another word, so `first`, `neighbours` and `shuffle` catch it. Leave most words alone, and let two of them talk.
round_a_circle
  + Y = X + X.roll(1, 0)
    Every word hears the one before it, so `first`, `neighbours`, `mirror` and `shuffle` catch your box. Leave most words alone, and let two of them talk.
throws_dice
  + Y = X + torch.randn(X.shape)
    Your box gives one sentence different outputs each time it is asked. A layer is a function: no dice, and no memory of what was asked before.
in
  - Y[1] = a + a * b * (a - b)
  - Y[-2] = b + a * b * (b - a)
zeros_hear_something
  + Y[1] = a + (a - b)
  + Y[-2] = b + (b - a)
    Only `zeros` is still in your way. It puts one word among zeros, at every position in turn, and there your box must give the same output everywhere. Let
    words tell each other nothing if one of them is 0.
| they_change_places
  + Y[1] = b
  + Y[-2] = a
| favourite_that_ones_miss
  + Y = X + (X - X.mean(dim=-1, keepdim=True)) * (torch.arange(len(X)) - (len(X) - 1) / 2).abs()[:, None]
equal_words_hear_something
  + Y[1] = a + a * b
  + Y[-2] = b + a * b
    Only `ones` is still in your way. It brings the same word to every position, and some of them get another output. Let words tell each other nothing if
    they are equal.
one_word_listens
  + Y[1] = a + a * b * (a - b)
    Only `mirror` is still in your way. It turns the sentence round, so two words that talk change places, and each has to get what the other one got before.
    Do both listen, by the same formula with a and b exchanged? Is one of them counted from the end? And are both taken from X? `a = Y[1]` is no copy: it
    changes when you write to `Y[1]`.
| positions_counted_from_the_left
  - X[-2]
  + X[4]
  - Y[-2]
  + Y[4]
| the_same_sign_for_both
  + Y[1] = a + a * b * (a - b)
  + Y[-2] = b + a * b * (a - b)
| reads_what_it_has_written
  + a, b = Y[1], Y[-2]
  + Y[1] = a + a * b * (a - b)
  + Y[-2] = b + a * b * (b - a)
end_words_talk
  - a, b = X[1], X[-2]
  + a, b = X[0], X[-1]
  - Y[1] = a
  + Y[0] = a
  - Y[-2] = b
  + Y[-1] = b
    Only `first` is still in your way: your box lets another word hear the first one. Choose two words that are not at the ends.
neighbours_talk
  - Y[-2] = b + a * b * (b - a)
  + Y[-2] = b + b * X[-3] * (b - X[-3])
  - a + a * b * (a - b)
  + a + a * X[2] * (a - X[2])
    Only `neighbours` is still in your way: words listen to those next to them. Let two words talk that are further apart.
one_word_and_its_neighbour
  - X[1], X[-2]
  + X[2], X[3]
  - Y[1] = a
  + Y[2] = a
  - Y[-2] = b
  + Y[3] = b
    `neighbours` and `mirror` catch it, besides `shuffle`: two neighbours talk, and no two do so at the other end of the sentence.
writes_into_the_sentence
  - Y = X.clone()
  + Y = X
  - X[1], X[-2]
  + X[1].clone(), X[-2].clone()
    What it returns is right, but your box writes into the sentence that it was given. Begin with a copy: `X.clone()`.
writes_into_the_sentence_and_reads_it_again
  - Y = X.clone()
  + Y = X
    Your box writes into the sentence that it was given, and then reads there what it has written: `a = X[1]` is no copy, so it changes when that word does,
    and `mirror` notices. Begin with `Y = X.clone()`, and write to Y alone.
in return Y
a_batch_comes_back: return Y[None]
    Another shape comes back, such as a batch. The box gets one sentence [T, d], and returns one tensor of the same shape.
""")
fool_the_inspectors.slip("nothing_comes_back", NO_RETURN, replace={"return Y": ""})
