"""Smallest counterexamples of notebooks 02, 06, 07, 08, 09 and 10: the classmate's code is shown as it is judged, no random input shows it to be wrong, and
what is right is computed a second time. (That of notebook 03 is in test_activations.py.)"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Callable, Iterator
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from autograder import keys
from autograder.reference import compute, draws
from ffnlab.course.counterexample import agree
from ffnlab.course.exercises import balance, capstone, experts, feed_forward, gated, memory
from ffnlab.observation.exercise import Exercise

SOLUTIONS = Path(__file__).parent.parent / "solutions"
MANY = 10_000  # random inputs of each kind, as the notebooks say
Numbers = list[float]


def numbers(rng: random.Random, count: int) -> Numbers:
    return [rng.gauss(0, 1) for _ in range(count)]


# Notebook 02


def random_neurons(rng: random.Random) -> tuple[Any, ...]:
    return ([numbers(rng, 4) for _ in range(rng.randint(1, 8))],)


def neurons_that_share_a_hinge(rng: random.Random) -> tuple[Any, ...]:
    """Random neurons, and some of them once more: as strong or not, on the same side."""
    (neurons,) = random_neurons(rng)
    for *key, _ in list(neurons[:3]):
        times = rng.choice([1.0, 2.0, rng.uniform(0.1, 3)])
        neurons.append([*(times * number for number in key), rng.gauss(0, 1)])
    return (neurons,)


def by_torch(neurons: list[Numbers]) -> Numbers:
    w = torch.tensor(neurons, dtype=torch.float64)
    outputs: Numbers = (
        torch.relu(torch.tensor(feed_forward.THINGS, dtype=torch.float64) @ w[:, :2].T + w[:, 2]) @ w[:, 3]
    ).tolist()
    return outputs


# Notebook 06


def random_rows(rng: random.Random) -> tuple[Any, ...]:
    return ([numbers(rng, 3) for _ in range(rng.randint(1, 7))],)


def rows_with_silent_neurons_and_pairs(rng: random.Random) -> tuple[Any, ...]:
    """Random rows, some of them zeros, and for some the row that undoes it."""
    (rows,) = random_rows(rng)
    rows[0] = [0.0] * len(rows[0])
    rows += [[-number for number in row] for row in rows[: rng.randint(1, 2)]]
    rng.shuffle(rows)
    return (rows,)


def group_by_group(rows: list[Numbers]) -> int:
    """From the largest group of neurons downwards, by the output without it."""
    writes = torch.tensor(rows, dtype=torch.float64)
    for size in range(len(rows), 0, -1):
        for group in combinations(range(len(rows)), size):
            left = [j for j in range(len(rows)) if j not in group]
            if torch.allclose(writes[left].sum(0), writes.sum(0), rtol=0, atol=1e-9):
                return size
    return 0


# Notebook 07


def random_units(rng: random.Random) -> tuple[Any, ...]:
    return tuple(numbers(rng, width) for width in [rng.randint(1, 6)] * 4)


def units_with_a_factor_moved(rng: random.Random) -> tuple[Any, ...]:
    gate, up, *_ = random_units(rng)
    factor = rng.choice([-1, 1]) * rng.uniform(0.2, 5)
    return gate, up, [factor * number for number in gate], [number / factor for number in up]


def by_inputs(gate: Numbers, up: Numbers, other_gate: Numbers, other_up: Numbers) -> bool:
    """Two polynomials of degree 2 that agree for 200 random x are the same."""
    x = torch.randn(200, len(gate), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    first, second = (
        (x @ torch.tensor(g, dtype=torch.float64)) * (x @ torch.tensor(u, dtype=torch.float64))
        for g, u in ((gate, up), (other_gate, other_up))
    )
    return torch.allclose(first, second, atol=1e-9)


# Notebook 08


def random_token(rng: random.Random) -> tuple[Any, ...]:
    d = rng.randint(1, 6)
    return numbers(rng, 2), [numbers(rng, d), numbers(rng, d)], numbers(rng, d)


def token_without_choice_or_error(rng: random.Random) -> tuple[Any, ...]:
    """Both experts say the same, or the target is what they say together."""
    logits, (first, second), target = random_token(rng)
    if rng.random() < 0.5:
        return logits, [first, list(first)], target
    gate = 1 / (1 + math.exp(logits[1] - logits[0]))
    return logits, [first, second], [gate * a + (1 - gate) * b for a, b in zip(first, second, strict=True)]


def by_autograd(logits: Numbers, outputs: list[Numbers], target: Numbers) -> bool:
    z = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    y = z.softmax(0) @ torch.tensor(outputs, dtype=torch.float64)
    (slope,) = torch.autograd.grad(((y - torch.tensor(target, dtype=torch.float64)) ** 2).sum(), z)
    return bool(slope.abs().max() > 1e-6)


# Notebook 09


def random_table(rng: random.Random) -> tuple[Any, ...]:
    E = rng.randint(2, 8)
    rows = [[rng.expovariate(1) for _ in range(E)] for _ in range(E)]
    return ([[share / sum(row) for share in row] for row in rows],)


def table_of_one_each(rng: random.Random) -> tuple[Any, ...]:
    E = rng.randint(1, 8)
    order = rng.sample(range(E), E)
    return ([[float(order[c] == e) for e in range(E)] for c in range(E)],)


def by_matching(table: list[Numbers]) -> bool:
    """Whether every entry is 0 or 1, and the experts of the clusters are all different."""
    entries = torch.tensor(table, dtype=torch.float64)
    whole = bool(((entries - entries.round()).abs() < 1e-9).all())
    return whole and sorted(entries.argmax(1).tolist()) == list(range(len(table)))


# Notebook 10


def random_runs(rng: random.Random) -> tuple[Any, ...]:
    orders = rng.randint(2, 6)
    return ([[rng.random() for _ in range(orders)] for _ in range(rng.randint(2, 6))],)


def runs_with_good_weights_or_orders(rng: random.Random) -> tuple[Any, ...]:
    """All runs are the same, or good weights, or good orders, add something to each of theirs."""
    weights, orders = ([rng.choice([0.0, 0.1, 0.3]) for _ in range(rng.randint(1, 6))] for _ in range(2))
    of_weights, of_orders = rng.choice([(0, 0), (1, 0), (0, 1), (1, 1)])
    return ([[0.4 + of_weights * a + of_orders * b for b in orders] for a in weights],)


def by_smallest_and_largest(table: list[Numbers]) -> bool:
    entries = torch.tensor(table, dtype=torch.float64)
    return bool(entries.max() - entries.min() < 1e-9)


class Case(NamedTuple):
    """A counterexample exercise: the classmate's code, what is right, that computed in another way, and two kinds of random inputs."""

    exercise: Exercise
    solution: str
    function_name: str
    module: Any
    code: Callable[..., Any]
    right: Callable[..., Any]
    again: Callable[..., Any]
    kinds: tuple[Callable[[random.Random], tuple[Any, ...]], ...]
    first: list[Any]  # inputs that one would try first, all of which the code gets right


CASES = [
    Case(
        feed_forward.merged_counterexample,
        "02_feed_forward",
        "merged",
        feed_forward,
        lambda neurons: feed_forward.evaluate_on_things(feed_forward.merged(neurons)),
        feed_forward.evaluate_on_things,
        by_torch,
        (random_neurons, neurons_that_share_a_hinge),
        [
            [(1, 1, -1, 1)],
            [(1, 1, -1, 1), (1, 1, -1, 1)],
            [(1, 1, -1, 1), (1, 1, -1, -1)],
            [(1, 0, 0, 1), (0, 1, 0, 1)],
            [(1, 1, -1, 1), (1, -1, 0, -2)],  # two of the notebook's three boxes
        ],
    ),
    Case(
        memory.spare_counterexample,
        "06_memory",
        "spare",
        memory,
        memory.spare,
        memory.largest_spare_group,
        group_by_group,
        (random_rows, rows_with_silent_neurons_and_pairs),
        [
            [[1, 2, 3]],
            [[0, 0, 0]],
            [[1, 2, 3], [-1, -2, -3]],
            [[1, 1, 1], [1, 1, 1]],
            [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        ],
    ),
    Case(
        gated.same_unit_counterexample,
        "07_gated",
        "same_unit",
        gated,
        gated.same_unit,
        gated.same_products,
        by_inputs,
        (random_units, units_with_a_factor_moved),
        [
            ([1, 2], [3, 4], [1, 2], [3, 4]),
            ([1, 2], [3, 4], [-1, -2], [-3, -4]),
            ([1, 2], [3, 4], [2, 4], [1.5, 2]),
            ([2], [3], [3], [2]),
            ([1, 1], [1, 1], [1, 1], [1, 1]),
        ],
    ),
    Case(
        experts.router_learns_counterexample,
        "08_experts",
        "router_learns",
        experts,
        experts.router_learns,
        lambda *token: abs(experts.router_slope(*token)) > 1e-6,
        by_autograd,
        (random_token, token_without_choice_or_error),
        [
            ([1, 2], [[1], [2]], [3]),
            ([0, 1], [[1, 0], [0, 1]], [1, 2]),
            ([0, 0], [[1, 0], [0, 1]], [0.5, 0.5]),
            ([1, 0], [[1, 1], [1, 1]], [0, 0]),
            ([0, 0], [[1, 2], [3, 4]], [5, 6]),
        ],
    ),
    Case(
        balance.own_expert_counterexample,
        "09_balance",
        "own_expert",
        balance,
        balance.own_expert,
        balance.one_each,
        by_matching,
        (random_table, table_of_one_each),
        [
            [[1, 0], [0, 1]],
            [[0.5, 0.5], [0.5, 0.5]],
            [[1, 0], [1, 0]],
            [[0.5, 0.5], [1, 0]],
            [[1 / 3, 1 / 3, 1 / 3]] * 3,
        ],
    ),
    Case(
        capstone.no_difference_counterexample,
        "10_capstone",
        "no_difference",
        capstone,
        capstone.no_difference,
        capstone.all_the_same,
        by_smallest_and_largest,
        (random_runs, runs_with_good_weights_or_orders),
        [
            [[0.5, 0.5], [0.5, 0.5]],
            [[1, 1], [0.5, 0.5]],
            [[1, 0.5], [1, 0.5]],
            [[1, 0.5], [0.5, 0.5]],
            [[1, 0.5]],
        ],
    ),
]
every_case = pytest.mark.parametrize("case", CASES, ids=[case.exercise.name for case in CASES])


def read_right_inputs(case: Case) -> Iterator[tuple[Any, ...]]:
    """The arguments that the right answers of the key are."""
    for answer in keys.find(case.exercise.name).rights:
        literal = answer.answer.tolist() if isinstance(answer.answer, torch.Tensor) else answer.answer
        parts = [part.tolist() if isinstance(part, torch.Tensor) else part for part in literal]
        one_argument = case.exercise.name.split("_")[0] in ("merged", "spare", "own", "no")
        yield ([list(row) for row in parts],) if one_argument else tuple(parts)


@every_case
def test_no_random_input_shows_the_code_to_be_wrong(case: Case) -> None:
    rng = random.Random(0)
    for kind in case.kinds:
        for _ in range(MANY):
            inputs = kind(rng)
            assert agree(case.code(*inputs), case.right(*inputs)), inputs


@every_case
def test_what_is_right_is_computed_in_another_way(case: Case) -> None:
    rng = random.Random(1)
    for inputs in chain(read_right_inputs(case), (kind(rng) for kind in case.kinds for _ in range(200))):
        assert agree(case.right(*inputs), case.again(*inputs)), inputs


@every_case
def test_the_code_fails_on_what_the_key_calls_right(case: Case) -> None:
    right_inputs = list(read_right_inputs(case))
    assert len(right_inputs) >= 3
    assert not any(agree(case.code(*inputs), case.again(*inputs)) for inputs in right_inputs)


@every_case
def test_the_notebook_shows_the_code_that_is_judged(case: Case) -> None:
    def body(source: str) -> list[str]:
        """The lines of the function without its docstring, and without types."""
        tree = ast.parse(source)
        function = next(
            node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == case.function_name
        )
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef):
                node.returns = None
                for argument in node.args.args:
                    argument.annotation = None
        lines = [
            ast.Assign([node.target], node.value, lineno=0) if isinstance(node, ast.AnnAssign) and node.value else node
            for node in function.body[1:]
        ]
        return [ast.unparse(line) for line in lines]

    notebook = (SOLUTIONS / f"{case.solution}.py").read_text(encoding="utf-8")
    cell = notebook.split(f'# %% code="{case.function_name}"')[1].split("# %%")[0]
    assert body(cell) == body(Path(case.module.__file__).read_text(encoding="utf-8"))


@every_case
def test_what_one_would_try_first_earns_nothing(case: Case) -> None:
    key = keys.find(case.exercise.name)
    seeds = draws.public_seeds(case.exercise)
    assert [compute.verdict_of(key, answer, seeds).points for answer in case.first] == [0] * len(case.first)


@every_case
def test_a_random_input_that_is_typed_in_is_no_counterexample(case: Case) -> None:
    key = keys.find(case.exercise.name)
    rng = random.Random(2)
    seeds = draws.public_seeds(case.exercise)
    for kind in case.kinds:
        inputs = kind(rng)
        assert compute.verdict_of(key, inputs[0] if len(inputs) == 1 else inputs, seeds).points == 0


SIZES: dict[str, Callable[[random.Random], Iterator[Any]]] = {
    "merged_counterexample": lambda rng: ([numbers(rng, 4)] for _ in range(MANY)),
    "spare_counterexample": lambda rng: ([[a, b], [c, d]] for a, b, c, d in product(range(-4, 5), repeat=4)),
    "own_expert_counterexample": lambda rng: iter([[[1.0]]]),
    "no_difference_counterexample": lambda rng: (
        table
        for a, b, c in product((0, 0.25, 0.5, 1), repeat=3)
        for table in ([[a, b, c]], [[a], [b], [c]], [[a, b]], [[a], [b]])
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_nothing_smaller_will_do(name: str) -> None:
    """All smaller inputs, or many of them, are no counterexamples. (One expert shares nothing, and with one number every gate is a multiple of every other.)"""
    case = next(case for case in CASES if case.exercise.name == name)
    assert all(agree(case.code(inputs), case.right(inputs)) for inputs in SIZES[name](random.Random(3)))


def test_single_numbers_are_no_counterexample_to_same_unit() -> None:
    rng = random.Random(4)
    for _ in range(MANY):
        gate, up, other_gate = ([rng.choice([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])] for _ in range(3))
        inputs = gate, up, other_gate, [gate[0] * up[0] / other_gate[0]]
        assert gated.same_unit(*inputs) and gated.same_products(*inputs)


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("merged_counterexample", 3, "an int came back"),
        ("merged_counterexample", [], "it is empty"),
        ("merged_counterexample", [(1, 1, 1)], "each neuron has 3 numbers; 4 were expected"),
        ("merged_counterexample", [(1, 1, 1, 1), (1, 1)], "neuron 1 has 2 numbers; 4 were expected"),
        ("merged_counterexample", [(0, 0, 0, 1)], "it never fires"),
        ("merged_counterexample", [(1, math.nan, 1, 1)], "not finite"),
        ("merged_counterexample", [(1, 1, 1e9, 1)], "beyond 1,000"),
        ("spare_counterexample", [["a", "b", "c"]], "neuron 0 is no list of numbers"),
        ("spare_counterexample", [[1, 2, 3]] * 13, "12 are the most"),
        ("spare_counterexample", [[1, 1, 1], [1, 1, 1e-9]], "rounding is not what is asked about"),
        ("same_unit_counterexample", ([1], [2]), "2 parts came back"),
        ("same_unit_counterexample", ([1], [2], [1, 2], [3]), "one number for each number of x"),
        ("same_unit_counterexample", ([0], [2], [1], [0]), "zeros alone"),
        ("router_learns_counterexample", ([1], [[2]], [3]), "two experts here"),
        ("router_learns_counterexample", ([1, 2], [[2], [3]]), "two lists of numbers"),
        ("router_learns_counterexample", ([1, 2], [[2], [3]], [4, 5]), "each expert has 1 number; 2 were expected"),
        ("router_learns_counterexample", ([99, 2], [[2], [3]], [1]), "beyond 10"),
        ("own_expert_counterexample", [[1, 0]], "as many experts as clusters"),
        ("own_expert_counterexample", [[1, 1], [0, 1]], "they add up to 1"),
        ("no_difference_counterexample", [[1, 2], [2, 1]], "a number from 0 to 1"),
        ("no_difference_counterexample", [[1, 0], [1]], "1 has 1; all need the same number"),
    ],
)
def test_what_is_no_input_is_said_so(name: str, answer: Any, says: str) -> None:
    key = keys.find(name)
    verdict = compute.verdict_of(key, answer, draws.public_seeds(key.exercise))
    assert verdict.points == 0 and says in verdict.symptom


HAIR = 5e-10  # too little for a classmate's code to notice
BY_ROUNDING_ALONE: dict[str, list[Any]] = {
    "merged_counterexample": [[(1, 1, -2, 1), (1 + 9e-10, 1 + 9e-10, -2 + 9e-10, 1000)]],
    "steepest_counterexample": [([1, 1], [-1, -1 - HAIR], [4, -3]), ([1, 1, 1], [-1, -1 - HAIR, 5], [4, -4, 1])],
    "spare_counterexample": [
        [[1, 0, 0], [-1 - 9e-10, 0, 0], [0, 1, 0], [9e-10, -1, 0]],
        [[1, 2, 0], [1, 2, 0], [-2, -4 + 9e-10, 0]],
    ],
    "same_unit_counterexample": [
        ([1, 1], [1, 1], [1, 1 + HAIR], [1, 1]),
        ([1, 2], [1, 1], [2, 4 + HAIR], [0.5, 0.5]),
        ([1, 1], [0.001, 0.001], [1, 1 + 2e-9], [0.001, 0.001]),
        ([0.001, 0.001], [0.001, 0.001], [0.001, 0.0010000005], [0.001, 0.001]),
        ([1, 1], [1, 1], [1, 1], [1 + 9e-10, 1 + 1.8e-9]),
    ],
    "router_learns_counterexample": [  # a gradient that is small, not absent
        ([0, 0], [[1], [1.001]], [1.0004]),
        ([10, -10], [[1], [2]], [3]),
        ([10, -10], [[1, 0], [2, 0]], [3, 5]),
    ],
    "own_expert_counterexample": [[[1 - HAIR, 0], [0, 1]], [[1 - HAIR, HAIR], [0, 1]]],
}


@pytest.mark.parametrize("name", BY_ROUNDING_ALONE)
def test_what_fails_by_rounding_alone_earns_nothing(name: str) -> None:
    """Two numbers that differ by less than the code looks at are not what is asked about."""
    key = keys.find(name)
    seeds = draws.public_seeds(key.exercise)
    assert [compute.verdict_of(key, answer, seeds).points for answer in BY_ROUNDING_ALONE[name]] == [0] * len(
        BY_ROUNDING_ALONE[name]
    )


BY_WHAT_IS_ASKED: dict[str, list[Any]] = {
    "merged_counterexample": [[(1 / 3, 1 / 3, -0.1, 0.1), (-1 / 3, -1 / 3, 0.1, 0.2)]],
    "steepest_counterexample": [([1, 3], [-0.3, -0.9], [4, -1]), ([0.1, 0.7], [-0.03, -0.21], [10, -1])],
    "spare_counterexample": [[[0.1, 1 / 3, 0], [0.2, 1 / 3, 0], [-0.3, -2 / 3, 0]]],
    "same_unit_counterexample": [([1, 2], [3, -1], [3 / 7, -1 / 7], [7, 14]), ([1, 1], [1, 1.01], [1, 1.01], [1, 1])],
    "router_learns_counterexample": [
        ([9, -9], [[1, 0], [-1, 0]], [math.tanh(9), 1]),
        ([0, 0], [[0.1, 0], [0.2, 0]], [0.15, 0.3]),
    ],
    "own_expert_counterexample": [[[0.7, 0.3], [0.3, 0.7]], [[2 / 3, 1 / 3], [1 / 3, 2 / 3]]],
}


@pytest.mark.parametrize("name", BY_WHAT_IS_ASKED)
def test_what_is_right_stays_so_though_its_numbers_are_rounded(name: str) -> None:
    key = keys.find(name)
    seeds = draws.public_seeds(key.exercise)
    assert [compute.verdict_of(key, answer, seeds).points for answer in BY_WHAT_IS_ASKED[name]] == [2, 2][
        : len(BY_WHAT_IS_ASKED[name])
    ]


SMALL_AND_NO_ANSWER: dict[str, Any] = {
    "merged_counterexample": [[1.0, 2.0, 0.0, 1.0]],
    "spare_counterexample": [[1.0, 2.0, 3.0]],
    "catch_mistakes": [{"x": [1], "W1": [[1]], "b1": [-2], "W2": [[3]], "b2": [2]}],
    "deep_square": [(torch.tensor([[1.0, -1.0]]), torch.zeros(2)), (torch.tensor([[1.0], [1.0]]), torch.zeros(1))],
}


@pytest.mark.parametrize("name", SMALL_AND_NO_ANSWER)
def test_what_is_small_enough_and_wrong_is_not_told_that_it_is_too_large(name: str) -> None:
    key = keys.find(name)
    verdict = compute.verdict_of(key, SMALL_AND_NO_ANSWER[name], draws.public_seeds(key.exercise))
    *first, last = verdict.aspects
    assert last.points == 0 and any(aspect.symptom for aspect in first)
    assert last.symptom == f"This counts once “{key.exercise.aspects[-1].needs}” is right."
