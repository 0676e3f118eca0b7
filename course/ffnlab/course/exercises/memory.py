"""Notebook 06, Make it forget one thing: how each exercise is called, and on what inputs. No answers.

The FFNs that students are handed are built here from the drawn numbers. Sizes differ pairwise, except where a square FFN is the point.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ffnlab.course.counterexample import counterexample, rows_of_numbers
from ffnlab.course.ffn_probes import TwoLayerFFN, Weights, check_unchanged, copy_parameters, draw_weights, make_ffn
from ffnlab.observation.exercise import Draw, Exercise, NotAsAsked, describe_result, observe_call, quiz
from ffnlab.observation.plain_data import Failure, describe
from ffnlab.phrases import plural

NOTEBOOK = "06_memory"

MIN_KNOWN_SHARE = 0.99  # the share of the facts that a trained FFN has to know


def _draw(rng: Draw, case: int) -> dict[str, Any]:
    """X [N, d_model], and the weights of three FFNs: wide, narrow, and square."""
    d_model, narrow, N = rng.integer(5, 7), rng.integer(3, 4), rng.integer(8, 9)
    wide, square = rng.distinct(2, 10, 14)
    return {
        "X": rng.normal(N, d_model),
        "weights": draw_weights(rng, d_model, wide),
        "narrow": draw_weights(rng, d_model, narrow),
        "square": {"X": rng.normal(N, square), "weights": draw_weights(rng, square, square)},
    }


def _fix_totals(weights: Weights, x: torch.Tensor, neurons: dict[int, float]) -> Weights:
    """The same weights, but for the token x each of the given neurons adds up to the given number: a firing neuron may fire weakly."""
    new_weights = {name: value.clone() for name, value in weights.items()}
    for j, total in neurons.items():
        new_weights["b1"][j] = total - x @ weights["W1"][:, j]
    return new_weights


# decompose_output

decompose_output = Exercise(
    "decompose_output",
    draw=_draw,
    where="the section “What does the fact rest on?”.",
    understood="The output is a sum: every neuron adds its value, times its coefficient, and b2 is added besides.",
    hints=(
        "You need two things: the d_ff coefficients of this token, and the d_ff values.",
        "The coefficient of a neuron is its number in the hidden layer, after the activation.",
        "Row j is a number times a vector. `h[:, None]` is [d_ff, 1], which multiplies the rows of a matrix [d_ff, d_model].",
        "Check it yourself: the rows must add up to `ffn(x) - ffn.linear2.bias`.",
    ),
)


@decompose_output.aspect("rows", points=2)
def decompose_output_rows(answer: Any, X: Any, weights: Any, **_: Any) -> Any:
    # for the last token two neurons fire weakly
    stores = [weights, weights, _fix_totals(weights, X[2], {0: 1e-4, 1: 0.005})]
    return {
        f"token {n}": observe_call(partial(answer, make_ffn(store), X[n].clone())) for n, store in enumerate(stores)
    }


@decompose_output.aspect("other widths, and float32", points=1)
def decompose_output_other_widths_and_float32(answer: Any, X: Any, weights: Any, narrow: Any, square: Any) -> Any:
    weak = _fix_totals(narrow, X[0], {0: 0.005})
    return {
        "d_ff smaller than d_model": observe_call(lambda: answer(make_ffn(weak), X[0].clone())),
        "d_ff = d_model": observe_call(lambda: answer(make_ffn(square["weights"]), square["X"][0].clone())),
        "everything in float32": observe_call(lambda: answer(make_ffn(weights, torch.float32), X[0].float())),
    }


@decompose_output.aspect("silent and weak neurons", points=0.5)
def decompose_output_silent_and_weak_neurons(answer: Any, X: Any, weights: Any, **_: Any) -> Any:
    silent = weights | {"b1": torch.full_like(weights["b1"], -100.0)}
    last = len(weights["b1"]) - 1
    variants = {
        "no neuron fires": silent,
        "only the last neuron fires": _fix_totals(silent, X[0], {last: 1.5}),
        "two neurons fire weakly, one gets exactly 0": _fix_totals(weights, X[0], {0: 1e-4, 1: 0.005, 2: 0.0}),
    }
    return {
        label: observe_call(partial(answer, make_ffn(variant), X[0].clone())) for label, variant in variants.items()
    }


@decompose_output.aspect("ffn and x stay as they were", points=0.5, needs="rows")
def decompose_output_ffn_and_x_stay_as_they_were(answer: Any, X: Any, weights: Any, **_: Any) -> Any:
    ffn = make_ffn(weights)
    x = X[1].clone()
    before = copy_parameters(ffn)
    answer(ffn, x)
    return check_unchanged(ffn, before, x=(x, X[1]))


# silence_strongest


def _draw_directions(rng: Draw, case: int) -> dict[str, Any]:
    """Six tokens, a direction for each, and how many neurons are silenced.

    Of the fifth and sixth token one neuron is brought to the cut, one just above it and one just below. It fires weakly and has a long
    value, so that whatever counts firing or length otherwise takes another one. `against`: weights with which all neurons fire, and
    all push the other way along the first direction.
    """
    d_model, d_ff = rng.integer(5, 8), rng.integer(36, 44)
    weights = draw_weights(rng, d_model, d_ff)
    weights["b1"] = weights["b1"] + 0.5
    k = [rng.integer(2, 4) for _ in range(6)]
    while True:  # with fewer neurons that help than are silenced, silent ones would be equal at the cut
        X, directions = rng.normal(6, d_model), rng.normal(6, d_model, scale=1.5)
        helps = (torch.relu(X @ weights["W1"] + weights["b1"]) * (directions @ weights["W2"].T) > 0).sum(1)
        hinders = (torch.relu(X @ weights["W1"] + weights["b1"]) * (directions @ weights["W2"].T) < 0).sum(1)
        if min(helps.min(), hinders.min()) > max(k):
            break
    close = [_move_to_cut(weights, X[n], directions[n], k[n], factor) for n, factor in ((4, 1.003), (5, 0.997))]
    push = weights["W2"] @ directions[0]
    against = weights | {"b1": weights["b1"] + 20, "W2": weights["W2"] * -push.sign()[:, None]}
    return {"weights": weights, "X": X, "directions": directions, "k": k, "close": close, "against": against}


def _move_to_cut(weights: Weights, x: torch.Tensor, direction: torch.Tensor, k: int, factor: float) -> Weights:
    """The same weights, but a neuron that fires weakly contributes `factor` times what the k-th largest does."""
    contributions = torch.relu(x @ weights["W1"] + weights["b1"]) * (weights["W2"] @ direction)
    order = contributions.argsort(descending=True)
    weak = int(order[k])  # the first that is left out
    new_weights = _fix_totals(weights, x, {weak: 0.2})
    along = new_weights["W2"][weak] @ direction
    new_weights["W2"][weak] *= factor * contributions[order[k - 1]] / (0.2 * along)
    return new_weights


silence_strongest = Exercise(
    "silence_strongest",
    draw=_draw_directions,
    where="the section “What does the fact rest on?”.",
    understood="A neuron matters for an answer if it fires and its value points that way. To silence it, take away what it writes, and nothing else.",
    hints=(
        "Each neuron adds h_j · value_j to the output. How much of that goes along `direction`? One number for each neuron, with its sign.",
        "The part of a vector along a direction is their dot product. With `decompose_output` it is one matrix product.",
        "`torch.topk(contributions, k).indices` has the numbers of the k largest.",
        "Whether a neuron's coefficient is zero or its value is zero, it writes nothing. Its value is column j of `linear2.weight`: `weight[:, idx]`.",
        "`copy.deepcopy(ffn)` is a module of its own: what you change there leaves the original alone. Change weights under `torch.no_grad()`.",
    ),
)


def _silenced(answer: Any, ffn: TwoLayerFFN, x: torch.Tensor, direction: torch.Tensor, k: int) -> nn.Module:
    module = answer(ffn, x, direction, k)
    if not isinstance(module, nn.Module):
        raise NotAsAsked(f"{describe_result(module)}; a module was expected")
    return module


@silence_strongest.aspect("the output without them", points=2)
def silence_strongest_the_output_without_them(
    answer: Any, weights: Any, X: Any, directions: Any, k: Any, close: Any, **_: Any
) -> Any:
    def run(n: int, store: Weights) -> Any:
        return _silenced(answer, make_ffn(store), X[n].clone(), directions[n].clone(), k[n])(X)

    stores = [weights] * (len(X) - len(close)) + close
    return {f"token {n}, k = {k[n]}": observe_call(partial(run, n, store)) for n, store in enumerate(stores)}


@silence_strongest.aspect("k = 1, float32, one token, the opposite direction", points=0.5, atol=1e-5, rtol=1e-5)
def silence_strongest_k_1_float32_one_token_the_opposite_direction(
    answer: Any, weights: Any, X: Any, directions: Any, k: Any, close: Any, against: Any
) -> Any:
    single = make_ffn(weights, torch.float32)

    def run(ffn: TwoLayerFFN, n: int, direction: torch.Tensor, count: int, inputs: torch.Tensor) -> Any:
        return observe_call(
            lambda: _silenced(answer, ffn, X[n].to(inputs.dtype), direction.to(inputs.dtype), count)(inputs)
        )

    return {
        "a close call": run(make_ffn(close[0]), 4, directions[4], k[4], X),
        "all neurons push the other way": run(make_ffn(against), 0, directions[0], k[0], X),
        "k = 1": run(make_ffn(weights), 0, directions[0], 1, X),
        "the module gets one token": run(make_ffn(weights), 1, directions[1], k[1], X[1]),
        "everything in float32": run(single, 1, directions[1], k[1], X.float()),
        "the opposite direction": run(make_ffn(weights), 2, -directions[2], k[2], X),
    }


@silence_strongest.aspect("afterwards", points=1.5, needs="the output without them")
def silence_strongest_afterwards(answer: Any, weights: Any, X: Any, directions: Any, k: Any, **_: Any) -> Any:
    ffn = make_ffn(weights)
    x, direction = X[0].clone(), directions[0].clone()
    before = copy_parameters(ffn)
    output = ffn(X).detach()
    _silenced(answer, ffn, x, direction, k[0])(X)
    state_facts = check_unchanged(ffn, before, x=(x, X[0]), direction=(direction, directions[0]))
    second = _silenced(answer, ffn, X[1].clone(), directions[1].clone(), k[1])(X)
    alone = _silenced(answer, make_ffn(weights), X[1].clone(), directions[1].clone(), k[1])(X)
    return state_facts | {
        "ffn computes what it did": torch.allclose(ffn(X), output),
        "a second module knows nothing of the first": torch.allclose(second, alone),
    }


# forget_one

MOST_OUT = 4  # neurons that may be taken out
CHOICE = 10  # of a person's strongest neurons: among them a draw has a choice that takes nobody else along
STORE_SIZES = (96, 16, 24, 64)  # facts, d_model, answers and neurons of the stores that are drawn
STORE_STEPS, STORE_RATE = 150, 0.02


def _train_store(rng: Draw) -> dict[str, torch.Tensor]:
    """A store that knows all its facts: E, U, y and weights, trained with Adam and rounded, so that every machine has the same."""
    N, d, C, f = STORE_SIZES
    E = rng.normal(N, d)
    U = rng.normal(C, d)
    y = torch.tensor([rng.integer(0, C - 1) for _ in range(N)])
    start = {
        "W1": rng.normal(d, f, scale=d**-0.5),
        "b1": rng.normal(f, scale=0.1),
        "W2": rng.normal(f, d, scale=f**-0.5),
        "b2": torch.zeros(d, dtype=torch.float64),
    }
    parameters = [part.requires_grad_() for part in start.values()]
    W1, b1, W2, b2 = parameters
    adam = torch.optim.Adam(parameters, lr=STORE_RATE)
    for _ in range(STORE_STEPS):
        adam.zero_grad()
        F.cross_entropy((E + torch.relu(E @ W1 + b1) @ W2 + b2) @ U.T, y).backward()  # type: ignore[no-untyped-call]
        adam.step()
    weights = {name: part.detach().mul(1000).round().div(1000) for name, part in start.items()}
    return {"E": E, "U": U, "y": y} | weights


class _StoreOfFacts:
    """What the neurons of a store do to the scores of all answers."""

    def __init__(self, store: dict[str, torch.Tensor]) -> None:
        E, U, self.y = store["E"], store["U"], store["y"]
        self.h = torch.relu(E @ store["W1"] + store["b1"])  # [N, f]
        self.pushes = store["W2"] @ U.T  # [f, C]
        self.scores = (E + self.h @ store["W2"] + store["b2"]) @ U.T  # [N, C]

    def lost(self, out: list[int]) -> torch.Tensor:
        """Which facts are not known without these neurons: [N]."""
        lost: torch.Tensor = (self.scores - self.h[:, out] @ self.pushes[out]).argmax(1) != self.y
        return lost

    def strongest(self, n: int) -> list[int]:
        """The neurons that add most to the right answer of question n, the strongest first."""
        return (self.h[n] * self.pushes[:, self.y[n]]).argsort(descending=True).tolist()

    def easy_guesses(self, n: int) -> list[list[int]]:
        """The four neurons that fire most for question n, and the four whose values point most towards its answer."""
        pushes = self.pushes[:, self.y[n]]
        return [self.h[n].topk(MOST_OUT).indices.tolist(), pushes.topk(MOST_OUT).indices.tolist()]

    def is_puzzle(self, n: int) -> bool:
        """Whether fact n can be deleted alone by some choice of its strongest neurons, but not strongest first.

        No single neuron deletes it at all, and the strongest three do.
        """
        order = self.strongest(n)[:CHOICE]

        def alone(out: list[int]) -> bool:
            lost = self.lost(out)
            return bool(lost[n]) and int(lost.sum()) == 1

        if any(self.lost([j])[n] for j in order) or any(alone(order[:m]) for m in range(1, MOST_OUT + 1)):
            return False
        if not self.lost(order[: MOST_OUT - 1])[n]:
            return False
        # A guess that is told as a mistake has to be one, and not the strongest.
        for guess in self.easy_guesses(n):
            if alone(guess) or set(guess) == set(order[:MOST_OUT]):
                return False
        return any(alone(list(out)) for m in range(2, MOST_OUT + 1) for out in combinations(order, m))


def _draw_puzzle(rng: Draw) -> dict[str, Any]:
    """A store and the number of a person whose fact can be deleted alone, by a choice."""
    while True:
        store = _train_store(rng)
        opened = _StoreOfFacts(store)
        first = rng.integer(0, STORE_SIZES[0] - 1)
        people = [(first + step) % STORE_SIZES[0] for step in range(STORE_SIZES[0])]
        n = next((n for n in people if opened.is_puzzle(n)), None) if not opened.lost([]).any() else None
        if n is not None:
            return {"store": store, "n": n}


def _draw_puzzles(rng: Draw, case: int) -> dict[str, Any]:
    return {"first": _draw_puzzle(rng), "others": [_draw_puzzle(rng), _draw_puzzle(rng)]}


forget_one = Exercise(
    "forget_one",
    draw=_draw_puzzles,
    cases=1,
    seconds=120,
    where="the section “And nobody else”.",
    understood="What goes with a fact is not written in the store. It depends on which of the fact's neurons are taken out, so they can be chosen.",
    hints=(
        "First write what the board does: given some neurons, who has forgotten? `h[:, out] @ (values[out] @ U.T)` is what they add to all scores.",
        "Which neurons are worth trying? One that adds nothing to the right answer's score of person n will hardly help.",
        "Take the ten or twelve that add most to the right answer. There are only a few hundred groups of at most four of them: "
        "`itertools.combinations` has them all.",
        "For each group: has n forgotten, and is n the only one? The first such group is an answer.",
    ),
)


def _ask_to_forget(answer: Any, puzzle: dict[str, Any]) -> Any:
    store = puzzle["store"]
    return answer(make_ffn(store), store["E"].clone(), store["U"].clone(), store["y"].clone(), puzzle["n"])


def _numbers_of_neurons(value: Any, f: int) -> list[int]:
    """An answer as numbers of neurons.

    Raises:
        NotAsAsked: it is something else.
    """
    if isinstance(value, Failure):
        raise NotAsAsked(value.message)
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bool or value.dtype.is_floating_point:
            raise NotAsAsked(f"{describe(value)} came back; the numbers of the neurons were expected, as whole numbers")
        value = value.reshape(-1).tolist()
    if not isinstance(value, (list, tuple)):
        raise NotAsAsked(f"{describe_result(value)}; a list with the numbers of the neurons was expected")
    numbers = [int(part) if isinstance(part, torch.Tensor) and part.numel() == 1 else part for part in value]
    if not all(type(number) is int and 0 <= number < f for number in numbers):
        raise NotAsAsked(f"a list with the numbers of neurons was expected, whole numbers from 0 to {f - 1}")
    return sorted(set(numbers))


def _forgetting(value: Any, puzzle: dict[str, Any]) -> dict[str, Any]:
    """What becomes of everybody without the neurons of an answer."""
    out, n = _numbers_of_neurons(value, STORE_SIZES[3]), puzzle["n"]
    store = _StoreOfFacts(puzzle["store"])
    lost = store.lost(out)
    others = int(lost.sum()) - int(lost[n])
    return {
        "at most four neurons are out": len(out) <= MOST_OUT,
        "person n has forgotten": bool(lost[n]),
        "nobody else has forgotten": others == 0,
        "which neurons": "" if lost[n] and not others and len(out) <= MOST_OUT else _describe_choice(store, out, n),
    }


def _describe_choice(store: _StoreOfFacts, out: list[int], n: int) -> str:
    """What the neurons of a wrong answer are to person n."""
    order = store.strongest(n)
    fire_most, point_there = store.easy_guesses(n)
    enough = next(m for m in range(1, len(order) + 1) if store.lost(order[:m])[n])
    descriptions = {
        "none": [],
        "the strongest": order[:1],
        "the strongest, until n forgets": order[:enough],
        "the four strongest": order[:4],
        "those that fire most": fire_most,
        "those whose values point there": point_there,
        "all that fire": store.h[n].nonzero()[:, 0].tolist(),
    }
    return next((words for words, neurons in descriptions.items() if sorted(neurons) == out), "others")


def _first_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return _forgetting(observation, inputs["first"])


def _other_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    def holds(value: Any, puzzle: dict[str, Any]) -> Any:
        if isinstance(value, Failure):
            return value
        return _forgetting(value, puzzle) == {
            "at most four neurons are out": True,
            "person n has forgotten": True,
            "nobody else has forgotten": True,
            "which neurons": "",
        }

    return {
        f"store {number}: n forgets, and nobody else": holds(observation[f"store {number}"], puzzle)
        for number, puzzle in enumerate(inputs["others"], 2)
    }


@forget_one.aspect("n forgets, and nobody else", points=3, facts=_first_facts)
def forget_one_n_forgets_and_nobody_else(answer: Any, first: Any, **_: Any) -> Any:
    return _ask_to_forget(answer, first)


@forget_one.aspect("two other stores", points=1.5, facts=_other_facts, needs="n forgets, and nobody else")
def forget_one_two_other_stores(answer: Any, others: Any, **_: Any) -> Any:
    return {
        f"store {number}": observe_call(partial(_ask_to_forget, answer, puzzle))
        for number, puzzle in enumerate(others, 2)
    }


@forget_one.aspect("ffn, E, U and y stay as they were", points=0.5, needs="n forgets, and nobody else")
def forget_one_ffn_e_u_and_y_stay_as_they_were(answer: Any, first: Any, **_: Any) -> Any:
    store = first["store"]
    ffn = make_ffn(store)
    E, U, y = (store[name].clone() for name in ("E", "U", "y"))
    before = copy_parameters(ffn)
    answer(ffn, E, U, y, first["n"])
    return check_unchanged(ffn, before, E=(E, store["E"]), U=(U, store["U"]), y=(y, store["y"]))


# spare_counterexample

MAX_NEURONS = 12  # of a counterexample: all groups of them are tried


def spare(writes: list[list[float]]) -> int:
    """A classmate's: how many neurons can be cut at once so that the output stays the same. writes: what each neuron writes."""
    cut: set[int] = set()
    for size in (1, 2):
        for group in combinations(range(len(writes)), size):
            together = [sum(numbers) for numbers in zip(*(writes[j] for j in group), strict=True)]
            if all(abs(number) < 1e-9 for number in together) and not cut & set(group):
                cut |= set(group)
    return len(cut)


def largest_spare_group(writes: list[list[float]]) -> int:
    """The same, by trying every group."""
    return max(size for size in range(len(writes) + 1) if any(_groups_that_write_nothing(writes, size)))


def _groups_that_write_nothing(writes: list[list[float]], size: int) -> Iterator[bool]:
    for group in combinations(writes, size):
        yield _largest_sum(group) < 1e-9


def _largest_sum(group: tuple[list[float], ...]) -> float:
    """The largest number that a group writes."""
    return max((abs(sum(numbers)) for numbers in zip(*group, strict=True)), default=0.0)


def _spare_by_rounding(writes: list[list[float]]) -> str:
    """Where a group writes next to nothing, it depends on the limit whether it can be cut. A true 0 is rounded to less than 1e-11."""
    groups = (group for size in range(1, len(writes) + 1) for group in combinations(writes, size))
    is_close = any(1e-11 < _largest_sum(group) < 1e-6 for group in groups)
    return "a group of your neurons writes less than a millionth, but not nothing" if is_close else ""


def _parse_writes(observation: Any) -> tuple[list[list[float]]]:
    writes = rows_of_numbers(observation, "neuron", columns=3)
    if len(writes) > MAX_NEURONS:
        raise NotAsAsked(f"there are {len(writes)} neurons; {MAX_NEURONS} are the most")
    return (writes,)


def _explain_spare(writes: list[list[float]]) -> str:
    if any(_groups_that_write_nothing(writes, 1)):
        return "a neuron that writes nothing can be cut alone, and the code tries every neuron"
    if any(_groups_that_write_nothing(writes, 2)):
        return "two of the neurons undo each other, and the code tries every two"
    return "no group of its neurons writes nothing"


spare_counterexample = counterexample(
    "spare_counterexample",
    code=spare,
    right=largest_spare_group,
    form=_parse_writes,
    size=len,
    par=3,
    why_right=_explain_spare,
    by_rounding=_spare_by_rounding,
    where="the section “A classmate's code”.",
    understood="The output is a sum. What can be cut shows in what a whole group writes, not in cutting one neuron, or two, at a time.",
    hints=(
        "When can a group of neurons be cut without a trace? Say it with the sum of what they write.",
        "The code finds neurons that write nothing, and any two that undo each other. Which groups does it never try?",
        "Let the third neuron undo what the first two write together, so that no two of them do.",
    ),
)


# write_fact

LEAD = 1.0  # by which the new answer's score must be ahead
ROOM = 0.05  # how far a lead that was meant to be LEAD may be above it
LENGTH = 3.0  # the length of every question and of every answer
MAX_COSINE = 0.8  # the cosine of two answers, at most


def _set_length(vectors: torch.Tensor) -> torch.Tensor:
    scaled_vectors: torch.Tensor = LENGTH * vectors / vectors.norm(dim=-1, keepdim=True)
    return scaled_vectors


def _draw_person(rng: Draw, N: int, d: int, C: int, d_ff: int, n: int) -> dict[str, Any]:
    """An FFN, questions and answers; question n has a near twin (cosine 0.98) and an opposite. The new answer is the one that now comes last."""
    E, U = _set_length(rng.normal(N, d)), _set_length(rng.normal(C, d))
    weights = draw_weights(rng, d, d_ff)
    while float((U @ U.T / LENGTH**2).fill_diagonal_(-1).max()) > MAX_COSINE:
        U = _set_length(rng.normal(C, d))
    aside = rng.normal(d)
    aside = _set_length(aside - (aside @ E[n]) * E[n] / LENGTH**2)
    twin, opposite = (n + 1) % N, (n + 2) % N
    E[twin], E[opposite] = 0.98 * E[n] + (1 - 0.98**2) ** 0.5 * aside, -E[n]
    output = torch.relu(E[n] @ weights["W1"] + weights["b1"]) @ weights["W2"] + weights["b2"]
    return {"E": E, "U": U, "weights": weights, "n": n, "c": int(((E[n] + output) @ U.T).argmin())}


def _draw_person_of_two_parts(rng: Draw, *sizes: int) -> dict[str, Any]:
    """A person for whom both the question and what the FFN writes stand against the new answer: an answer that forgets one of them fails."""
    while True:
        person = _draw_person(rng, *sizes)
        E, U, weights, n, c = (person[name] for name in ("E", "U", "weights", "n", "c"))
        output = torch.relu(E[n] @ weights["W1"] + weights["b1"]) @ weights["W2"] + weights["b2"]
        if max(_lead(U @ (U[c] + part), c) for part in (E[n], output)) < LEAD - ROOM:
            return person


def _lead(scores: torch.Tensor, c: int) -> float:
    """How far answer c is ahead of the best other one."""
    return float(scores[c] - scores[torch.arange(len(scores)) != c].max())


def _draw_people(rng: Draw, case: int) -> dict[str, Any]:
    """A person in the middle; the first and the last one; more answers than d_model, and few."""
    N, d, C, d_ff = rng.integer(17, 20), rng.integer(7, 8), rng.integer(9, 10), rng.integer(11, 14)
    return {
        "middle": _draw_person_of_two_parts(rng, N, d, C, d_ff, rng.integer(3, N - 4)),
        "others": {
            "the first person": _draw_person(rng, N, d, C, d_ff, 0),
            "the last person": _draw_person(rng, N, d, C, d_ff, N - 1),
            "two answers": _draw_person(rng, 5, d + 1, 2, d_ff, 1),
        },
    }


write_fact = Exercise(
    "write_fact",
    draw=_draw_people,
    where="the section “Write one in”, and the table of key, coefficient and value in “What does the fact rest on?”.",
    understood="A key that listens to one question, a threshold between its match and the next, a value that outweighs the old answer: that is a fact in "
    "one neuron.",
    hints=(
        "Whom should the neuron listen to? Among vectors of equal length, the one that matches `key` best is the one that points the same way.",
        "`E @ key` says how well each question matches. The bias must let the best one through and stop the second best: which numbers lie between the two?",
        "The neuron writes h · value, and h is small when the second best is close. How large must value be, so that the new answer leads in spite of "
        "a small h?",
        "One way: choose what E[n] + ffn(E[n]) + h · value shall be, such as `U[c]` itself, and solve for value.",
    ),
)


def _ask_for_neuron(answer: Any, person: dict[str, Any], dtype: torch.dtype = torch.float64) -> dict[str, Any]:
    """Key, bias and value that a student's function returns for one person."""
    E, U = person["E"].to(dtype), person["U"].to(dtype)
    result = answer(make_ffn(person["weights"], dtype), E, U, person["n"], person["c"])
    if not isinstance(result, (tuple, list)):
        raise NotAsAsked(f"{describe_result(result)}; a triple (key, bias, value) was expected")
    if len(result) != 3:
        raise NotAsAsked(f"a triple (key, bias, value) was expected, not {plural(len(result), 'value')}")
    key, bias, value = (part if isinstance(part, torch.Tensor) else torch.tensor(part, dtype=dtype) for part in result)
    return {"key": key, "bias": bias, "value": value}


NO_PUSH = "the neuron writes nothing for person n"
TOO_WEAK = "too weak: the same value, made larger, would let the new answer lead"
JUST_PAST_THE_OLD = "just enough to pass the old answer, and another one leads"
WITHOUT_THE_QUESTION = "enough if E[n] were not added to the output, but it is"
WITHOUT_THE_FFN = "enough if ffn(E[n]) were zero, but it is not"
ASKEW = "the value points elsewhere: no strength of it lets the new answer lead"


def _what_is_wrong_with_the_push(
    question: torch.Tensor, output: torch.Tensor, push: torch.Tensor, U: torch.Tensor, c: int
) -> str:
    """Why the new answer c does not lead by LEAD, in a few words; empty where it does. The push is what the neuron adds to question and output of the FFN."""
    now = question + output
    after = U @ (now + push)
    if _lead(after, c) >= LEAD - 1e-6:
        return ""
    if not bool(push.any()):
        return NO_PUSH
    if _is_meant(output + push, U, c):
        return WITHOUT_THE_QUESTION
    if _is_meant(question + push, U, c):
        return WITHOUT_THE_FFN
    if LEAD - 1e-6 <= float(after[c] - after[(U @ now).argmax()]) <= LEAD + ROOM:
        return JUST_PAST_THE_OLD
    return TOO_WEAK if _lead(U @ push, c) > 0 else ASKEW


def _is_meant(state: torch.Tensor, U: torch.Tensor, c: int) -> bool:
    """Whether this is what one solves for: the vector of the new answer, at any length, or a lead that is just large enough."""
    along = float(F.cosine_similarity(state, U[c], dim=0))
    return along > 1 - 1e-6 or LEAD - 1e-6 <= _lead(U @ state, c) <= LEAD + ROOM


def _who_else_hears(bias: float, others: int) -> str:
    """Why the neuron fires for others, in a few words; empty where it does not."""
    if not others:
        return ""
    return f"others get through: its bias is {'above 0' if bias > 0 else 'below 0, but not far enough' if bias < 0 else '0'}"


def _effect_facts(observation: Any, person: dict[str, Any]) -> dict[str, Any]:
    """What one more neuron does to everybody's answers: whom it reaches, and what person n is told now."""
    E, U, n, c = person["E"], person["U"], person["n"], person["c"]
    key, bias, value = (observation[name].double() for name in ("key", "bias", "value"))
    if key.shape != E[0].shape or value.shape != E[0].shape or bias.numel() != 1:
        raise NotAsAsked("key and value should have the shape [d_model], and bias should be one number")
    if not all(bool(part.isfinite().all()) for part in (key, bias, value)):
        raise NotAsAsked("there are NaN or infinite numbers in the neuron")
    weights, readings = person["weights"], E @ key + bias.reshape(())
    fires = torch.relu(readings)
    at_n = "more than 0" if fires[n] > 0 else "exactly 0" if abs(readings[n]) < 1e-9 else "less than 0"
    output = torch.relu(E[n] @ weights["W1"] + weights["b1"]) @ weights["W2"] + weights["b2"]
    push = fires[n] * value
    old = int((U @ (E[n] + output)).argmax())
    reach = (fires > 1e-5 * fires[n].clamp(min=1e-9)) & (torch.arange(len(E)) != n)
    return {
        "what the neuron adds up to for person n": at_n,
        "its push": _what_is_wrong_with_the_push(E[n], output, push, U, c),
        "its value favours the new answer over the old one": bool(value @ (U[c] - U[old]) > 0),
        "its threshold": _who_else_hears(float(bias), int(reach.sum())),
        "for how many others it fires": int(reach.sum()),
    }


REACH = ("its threshold", "for how many others it fires")


def _answer_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in _effect_facts(observation, inputs["middle"]).items() if name not in REACH}


def _reach_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    facts = _effect_facts(observation, inputs["middle"])
    return {name: facts[name] for name in REACH}


@write_fact.aspect("the new answer", points=1.5, facts=_answer_facts)
def write_fact_the_new_answer(answer: Any, middle: Any, **_: Any) -> Any:
    return _ask_for_neuron(answer, middle)


@write_fact.aspect("nobody else hears it", points=1.5, facts=_reach_facts, needs="the new answer")
def write_fact_nobody_else_hears_it(answer: Any, middle: Any, **_: Any) -> Any:
    return _ask_for_neuron(answer, middle)


def _person_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    def holds(neuron: Any, person: dict[str, Any]) -> Any:
        if isinstance(neuron, Failure):
            return neuron
        facts = _effect_facts(neuron, person)
        return facts["its push"] or facts["its threshold"]

    people = {**inputs["others"], "everything in float32": inputs["middle"]}
    return {words: holds(observation[words], person) for words, person in people.items()}


@write_fact.aspect("anybody, and float32", points=0.5, facts=_person_facts, needs="nobody else hears it")
def write_fact_anybody_and_float32(answer: Any, middle: Any, others: Any) -> Any:
    neurons = {words: observe_call(partial(_ask_for_neuron, answer, person)) for words, person in others.items()}
    return neurons | {"everything in float32": observe_call(partial(_ask_for_neuron, answer, middle, torch.float32))}


@write_fact.aspect("ffn, E and U stay as they were", points=0.5, needs="the new answer")
def write_fact_ffn_e_and_u_stay_as_they_were(answer: Any, middle: Any, **_: Any) -> Any:
    ffn = make_ffn(middle["weights"])
    E, U = middle["E"].clone(), middle["U"].clone()
    before = copy_parameters(ffn)
    answer(ffn, E, U, middle["n"], middle["c"])
    return check_unchanged(ffn, before, E=(E, middle["E"]), U=(U, middle["U"]))


# A quiz. Its text is in the notebook.

quiz_value = quiz(
    "quiz_value",
    where="the table of key, coefficient and value in “What does the fact rest on?”.",
    understood="`linear2.weight` is [d_model, d_ff]: column j is what neuron j writes, row j what output j collects.",
)


# train_fact_ffn


def _draw_facts(rng: Draw, case: int) -> dict[str, Any]:
    """256 facts to be learned, a few more for a look at `steps` and `d_ff`, and inputs beside the questions, to see how the module behaves there."""

    def facts(N: int, d: int, C: int) -> dict[str, torch.Tensor]:
        return {
            "E": rng.normal(N, d, dtype=torch.float32),
            "U": rng.normal(C, d, dtype=torch.float32),
            "y": torch.tensor([rng.integer(0, C - 1) for _ in range(N)]),
        }

    return {
        "facts": facts(256, 32, 64),
        "few": facts(200, 9, 12),
        "aside": rng.normal(256, 32, scale=0.01, dtype=torch.float32),
        "others": rng.normal(80, 9, dtype=torch.float32),
        "narrow": rng.integer(4, 6),
    }


train_fact_ffn = Exercise(
    "train_fact_ffn",
    draw=_draw_facts,
    cases=1,
    seconds=60,
    where="the section “How facts get in”.",
    understood="A few hundred facts fit into two small matrices, put there by nothing but gradient steps on a cross-entropy.",
    hints=(
        "The training loop has four lines: clear the gradients, compute the loss, go backwards, take a step.",
        "The logits are `(E + ffn(E)) @ U.T`, [N, C]. `F.cross_entropy` takes them as they are, and `y`, and applies the softmax itself.",
        "Only the FFN's own parameters go into the optimiser. Adam with learning rate 0.01 learns all facts in 300 steps.",
        "Make the module first: `nn.Sequential(nn.Linear(d, d_ff), nn.ReLU(), nn.Linear(d_ff, d))`, with d the length of a row of E. Return it after the loop.",
    ),
    makes=lambda answer, few, narrow, **_: answer(few["E"], few["U"], few["y"], narrow, 1),
)

STEPS = 300


class _OptimiserWatch:
    """What optimisers do while an answer trains: how many steps they take, which parameters they have, whether there are gradients."""

    def __init__(self) -> None:
        self.steps, self.gradients = 0, False
        self.parameter_ids: set[int] = set()

    def __call__(self, optimiser: torch.optim.Optimizer, *_: Any) -> None:
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        self.steps += 1
        self.gradients = self.gradients or any(p.grad is not None and bool(p.grad.any()) for p in parameters)
        self.parameter_ids = {id(p) for p in parameters}

    def describe_problem(self, module: nn.Module, steps: int) -> str:
        """What was wrong with the training of `module` in `steps` steps, in words; empty if all of it was trained."""
        if self.steps == 0:
            return "no optimiser took a step"
        if not self.gradients:
            return "no step of the optimiser had a gradient to follow"
        if self.steps < steps // 2:
            return f"of {steps} steps it took {self.steps}"
        count = sum(id(p) in self.parameter_ids for p in module.parameters())
        if count == 0:
            return "the optimiser had other parameters than those of this module"
        if count < len(list(module.parameters())):
            return "the optimiser had only some of its parameters"
        return ""


@contextlib.contextmanager
def _watch_optimisers() -> Iterator[_OptimiserWatch]:
    """Watches the optimisers that work inside, whoever made them."""
    watch = _OptimiserWatch()
    hook = register_optimizer_step_pre_hook(watch)
    try:
        yield watch
    finally:
        hook.remove()


def _train_module(answer: Any, facts: dict[str, torch.Tensor], d_ff: int, steps: int) -> nn.Module:
    torch.manual_seed(steps)
    module = answer(facts["E"], facts["U"], facts["y"], d_ff, steps)
    if not isinstance(module, nn.Module):
        raise NotAsAsked(f"{describe_result(module)}; the trained module was expected")
    return module.eval()


def _score_facts(out: torch.Tensor, facts: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Which facts an output answers rightly, [N], and the scores [N, C], with or without a residual, whichever is better."""
    E, U, y = facts["E"], facts["U"], facts["y"]
    if out.shape != E.shape:
        raise NotAsAsked("module(E) should have the shape of E")
    return max(
        (((output @ U.T).argmax(1) == y, output @ U.T) for output in (out, E + out)),
        key=lambda pair: int(pair[0].sum()),
    )


def _describe_training(observation: Any, inputs: dict[str, Any]) -> Any:
    """Whether the facts are known; where they are not, how the training went and what the outputs look like."""
    facts, out, neighbour_output = inputs["facts"], observation["at E"], observation["beside E"]
    y, U = facts["y"], facts["U"]
    right, scores = _score_facts(out, facts)
    midpoint_output = observation["halfway"]  # of a straight map: half of one and half of the other
    if torch.allclose(midpoint_output, (out[::2] + out[1::2]) / 2, rtol=1e-3, atol=1e-3):
        return {"the trained module": "it has no activation: a straight line in, a straight line out"}
    if any(bool((output >= 0).all()) for output in (out, out - facts["E"])):  # a residual inside may have been added
        return {"the trained module": "no output is below zero"}
    known_share = float(right.float().mean())
    if known_share >= MIN_KNOWN_SHARE:
        moving_share = ((neighbour_output - out).abs().amax(1) > 0).float().mean()
        if moving_share < MOVES:
            return {
                "the trained module": "a small step away from a question the output is the very same, as in a table"
            }
        early = float(_score_facts(observation["after one step"], facts)[0].float().mean())
        if early > EARLY:
            return {"the trained module": "the facts are known after a single step: no gradient step put them there"}
        return {"the trained module": ""}  # as asked: all others are reasons
    if observation["training"]:
        return {"the trained module": f"too few facts are known: {observation['training']}"}
    if observation["largest weight"] > RUNAWAY:
        return {"the trained module": "too few facts are known: its weights have run away"}
    share = next(words for limit, words in SHARES if known_share < limit)
    if float(right[: len(y) // 2].float().mean()) >= MIN_KNOWN_SHARE:
        share = "the first half"
    others = scores.masked_fill(F.one_hot(y, len(U)).bool(), -torch.inf).amax(1)
    gap = float((scores[torch.arange(len(y)), y] - others).abs().median())  # of the right answer and the best other one
    apart = next(words for limit, words in GAPS if not gap >= limit)
    size = next(words for limit, words in SIZES if not float(out.square().mean().sqrt()) >= limit)
    return {"the trained module": f"it knows {share} of the facts; its outputs are {size}, the best scores lie {apart}"}


MOVES = 0.9  # the share of the questions beside which the output must be another one
EARLY = 0.5  # more of the facts than this can't be known after one step
RUNAWAY = (
    10.0  # of one weight: four times what a training needs that knows the facts, and what steps of size 1 soon exceed
)
SHARES = ((0.1, "less than 10 %"), (0.4, "10 to 40 %"), (0.75, "40 to 75 %"), (1.0, "75 to 99 %"))
SIZES = ((10.0, "of usual size"), (1000.0, "large"), (float("inf"), "huge"))
GAPS = (
    (0.3, "less than 0.3 apart"),
    (2.4, "1 or 2 apart"),
    (5.6, "2 to 6 apart"),
    (12.0, "6 to 12 apart"),
    (28.0, "12 to 28 apart"),
    (1000.0, "28 to 1000 apart"),
    (float("inf"), "more than 1000 apart"),
)


@train_fact_ffn.aspect("knows the facts", points=2, facts=_describe_training)
def train_fact_ffn_knows_the_facts(answer: Any, facts: Any, aside: Any, **_: Any) -> Any:
    early = _train_module(answer, _copy(facts), 40, 1)  # whether a module comes back, cheaply
    with _watch_optimisers() as watch:
        module = _train_module(answer, _copy(facts), 40, STEPS)
    E = facts["E"]
    with torch.no_grad():
        return {
            "at E": module(E),
            "beside E": module(E + aside),
            "halfway": module((E[::2] + E[1::2]) / 2),
            "after one step": early(E),
            "training": watch.describe_problem(module, STEPS),
            "largest weight": max((float(p.abs().max()) for p in module.parameters() if p.numel()), default=0.0),
        }


def _copy(facts: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in facts.items()}


def _width_facts(observation: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """What the outputs on inputs of all kinds say of the layers: with fewer neurons than d_model they lie on a plane of that many dimensions."""
    x, width, d = inputs["others"], inputs["narrow"], inputs["others"].shape[1]
    out = observation["outputs"]
    if out.shape != x.shape:
        return {"module(E) has the shape of E": False}
    ranks = []
    for output in (out, out - x):  # a residual inside is added to what the neurons write
        sizes = torch.linalg.svdvals((output - output.mean(0)).double())
        ranks.append(int((sizes > 1e-5 * sizes[0]).sum()))
    fits = observation["parameters"] <= 2 * d * width + width + d
    return {
        "module(E) has the shape of E": True,
        "no more parameters than two layers of width d_ff have": fits,
        "a hidden layer of width d_ff": width in ranks
        if fits
        else min(ranks) <= width,  # more layers may lose dimensions
        "the outputs have both signs": bool((out < 0).any()) and bool((out > 0).any()),
        "the same input gives the same output": torch.equal(out, observation["again"]),
    }


@train_fact_ffn.aspect("two layers of width d_ff", points=0.5, facts=_width_facts, needs="knows the facts")
def train_fact_ffn_two_layers_of_width_d_ff(answer: Any, few: Any, others: Any, narrow: int, **_: Any) -> Any:
    module = _train_module(answer, few, narrow, 3)
    count = sum(p.numel() for p in module.parameters())
    with torch.no_grad():
        return {"outputs": module(others), "again": module(others), "parameters": count}


@train_fact_ffn.aspect("at most `steps` steps", points=0.5, needs="knows the facts")
def train_fact_ffn_at_most_steps_steps(answer: Any, few: Any, narrow: int, **_: Any) -> Any:
    with _watch_optimisers() as seven:
        _train_module(answer, few, narrow, 7)
    with _watch_optimisers() as three:
        _train_module(answer, few, narrow, 3)
    return {
        "an optimiser takes at least one step": seven.steps > 0,
        "it takes at most `steps` steps": seven.steps <= 7 and three.steps <= 3,
        "how many it takes depends on `steps`": seven.steps <= 7 or seven.steps != three.steps,
    }


@train_fact_ffn.aspect("E, U and y stay as they were", points=1, needs="knows the facts")
def train_fact_ffn_e_u_and_y_stay_as_they_were(answer: Any, few: Any, narrow: int, **_: Any) -> Any:
    copies = _copy(few)
    _train_module(answer, copies, narrow, 7)
    return {f"{name} stays as it was": torch.equal(copies[name], few[name]) for name in few}
