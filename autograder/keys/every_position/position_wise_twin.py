"""What is right, and what goes wrong, in `position_wise_twin` of notebook 04."""

from __future__ import annotations

import torch

from autograder.keys.key import Key
from ffnlab.course.exercises import every_position as exercises

position_wise_twin = Key(exercises.position_wise_twin)


@position_wise_twin.truth
def one_row_after_the_other(f, X):
    """The first row of X that equals a word tells its answer; other words get zeros."""
    answers = f(X)

    def g(Z):
        rows = []
        for word in Z:
            row = torch.zeros_like(word)
            for t in range(len(X) - 1, -1, -1):
                if bool((X[t] == word).all()):
                    row = answers[t]
            rows.append(row)
        return torch.stack(rows)

    return g


@position_wise_twin.right("a dictionary, and zeros for the rest")
def with_dictionary(f, X):
    answers = {tuple(x.tolist()): y for x, y in zip(X, f(X), strict=True)}

    def g(Z):
        return torch.stack([answers.get(tuple(z.tolist()), torch.zeros_like(z)) for z in Z])

    return g


@position_wise_twin.right("a comparison of all pairs, and x itself for the rest")
def all_pairs(f, X):
    Y = f(X)

    def g(Z):
        same = (Z[:, None] == X).all(dim=-1)
        return torch.where(same.any(1, keepdim=True), Y[same.long().argmax(1)], Z)

    return g


@position_wise_twin.right("each word in its own company: it is written into X where it is nearest")
def in_its_own_company(f, X):
    def alone(z):
        t = (X - z).norm(dim=1).argmin()
        return f(torch.cat([X[:t], z[None], X[t + 1 :]]))[t]

    return lambda Z: torch.stack([alone(z) for z in Z])


@position_wise_twin.right("attention to the words of X, so sharp that it sees one only")
def sharp_attention(f, X):
    Y = f(X)
    return lambda Z: torch.softmax(-1e9 * torch.cdist(Z, X), dim=-1) @ Y


@position_wise_twin.base
def plain_position_wise_twin(f, X):
    Y = f(X)

    def g(Z):
        nearest = (Z[:, None] - X).abs().sum(dim=-1).argmin(dim=1)
        return Y[nearest]

    return g


position_wise_twin.slips("""
of sharp_attention
the_box_itself
  - Y = f(X)
  - return lambda Z: torch.softmax(-1e9 * torch.cdist(Z, X), dim=-1) @ Y
  + return f
    This is the box itself. It answers X as f does, of course, but it still looks sideways: g may look at one word at a time.
of with_dictionary
| the_box_is_asked_again
  - answers = {tuple(x.tolist()): y for x, y in zip(X, f(X), strict=True)}
  +
  - return torch.stack([answers.get(tuple(z.tolist()), torch.zeros_like(z)) for z in Z])
  + return f(Z)
of sharp_attention
in
  - Y = f(X)
  - return lambda Z: torch.softmax(-1e9 * torch.cdist(Z, X), dim=-1) @ Y
without_company: return lambda Z: torch.cat([f(z[None]) for z in Z])
    f is asked about each word alone. That is position-wise, but a word alone has no company, and f answers it differently than in X. Ask f about X,
    and keep what it says.
always_at_position_0: return lambda Z: torch.stack([f(torch.cat([z[None], X[1:]]))[0] for z in Z])
    Every word is asked at the same position of X, so the word that was there is missing from its company. Each word has to keep the company that it has
    in X.
one_matrix
  + W = torch.linalg.lstsq(X, f(X)).solution
  + return lambda Z: Z @ W
    g is one matrix, fitted to the answers. X has more words than a matrix can answer, so they are met only roughly. Nothing has to be fitted: keep
    the answers.
strangers_refused
  + answers = {tuple(x.tolist()): y for x, y in zip(X, f(X), strict=True)}
  + return lambda Z: torch.stack([answers[tuple(z.tolist())] for z in Z])
    g fails for a word that is not in X. It may answer what it likes, but it has to answer: with zeros, for example.
by_position: torch.softmax(-1e9 * torch.cdist(Z, X), dim=-1) @ Y -> Y[: len(Z)]
    g gives its answers by position: the first word gets the first answer, whatever it is. That is a favourite at every position. Look up the word, not
    its position.
of base
| always_the_same
  - nearest = (Z[:, None] - X).abs().sum(dim=-1).argmin(dim=1)
  - return Y[nearest]
  + return Y
of sharp_attention
first_number: torch.softmax(-1e9 * torch.cdist(Z, X), dim=-1) @ Y -> Y[(Z[:, None, 0] - X[:, 0]).abs().argmin(dim=1)]
    Only the first number of a word is compared. Two words of X begin alike, and one of them gets the other's answer. Compare all d numbers.
of base
whole_sentence
  - nearest = (Z[:, None] - X).abs().sum(dim=-1).argmin(dim=1)
  - return Y[nearest]
  + if Z.shape == X.shape and torch.equal(Z, X):
  +     return Y
  + return torch.zeros_like(Z)
    g recognises the whole sentence. Give it the same words in another order, and it has forgotten all of them. It should recognise each word.
wrong_direction: .argmin(dim=1) -> .argmin(dim=0)
    The minimum is taken over the words that g gets, so each word of X finds its nearest one. It is the other way round: one answer for each word of
    Z.
answers_instead_of_a_function: return g -> return Y
    The answers to X come back. A function is asked for, one that can be given other sentences: define `g` inside, and return `g`.
in return Y[nearest]
positions_instead_of_answers: return nearest
    g says where each word is in X. Return what f has answered there.
words_instead_of_answers: return X[nearest]
    g gives back the word of X that it has found. Return what f has answered there.
g_returns_nothing: Y[nearest]
    g ends without a `return`. It is g that answers the words, so it needs one of its own.
of all_pairs
in torch.where(same.any(1, keepdim=True), Y[same.long().argmax(1)], Z)
strangers_in_company: torch.where(same.any(1, keepdim=True), Y[same.long().argmax(1)], f(Z))
    A word that is not in X gets an answer that depends on the words around it: f is asked about the whole sentence again. Give it anything that is
    made of this one word.
of base
twin_not_returned: return g ->
    NO_RETURN
""")
