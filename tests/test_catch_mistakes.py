"""`catch_mistakes`: a suite is judged by lines that do what the key's code does, sixteen numbers are enough, and fewer are not."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch

from autograder import keys
from autograder.authoring import find_boxes
from ffnlab.course import closed_boxes, test_suites
from ffnlab.course.exercises import feed_forward
from ffnlab.observation.exercise import NotAsAsked

BOXES = closed_boxes.load("ffn_forward")
BATCH: dict[str, Any] = {
    "x": [[[2], [3]], [[-3], [-2]]],
    "W1": [[1, -2]],
    "b1": [-2, 3],
    "W2": [[-2], [3]],
    "b2": [1],
    "act": "tanh",
    "dtype": "float64",
    "turned": True,
    "look": ["gradient", "x"],
}
TOKEN: dict[str, Any] = {"x": [-3], "W1": [[-3]], "b1": [-1], "W2": [[1]], "b2": [2]}


def missed(*tests: dict[str, Any]) -> set[str]:
    """The names of the boxes that slip through a suite."""
    return {box.name for box in BOXES.wrong} - test_suites.caught(test_suites.read_suite(list(tests)), BOXES)


def test_every_line_does_what_its_mistakes_code_does() -> None:
    """On trials by which no line was found: shapes, activations, dtypes, memory out of order, gradients, x afterwards."""
    key = keys.find("ffn_forward")
    code = {mistake.name: mistake.answer for mistake in key.mistakes} | {"": key.the_truth.answer}
    for trial in find_boxes.trials(600, seed=3):
        for box in BOXES.boxes:
            assert trial.observe(find_boxes.as_answer(box.line)) == trial.observe(code[box.name]), (box.name, trial)


def test_sixteen_numbers_catch_all_and_each_part_is_needed() -> None:
    suite = test_suites.read_suite([BATCH, TOKEN])
    assert test_suites.cost(suite) == feed_forward.FEWEST_NUMBERS == 16 and missed(BATCH, TOKEN) == set()
    changes = {
        "act": ("relu", {"relu_hard_coded"}),
        "dtype": ("float32", {"turned_into_float32"}),
        "turned": (False, {"view_instead_of_reshape"}),
        "look": ("x", {"cut_off_from_the_graph", "numpy_array"}),
    }
    for key, (value, names) in changes.items():
        assert missed(BATCH | {key: value}, TOKEN) == names
    assert missed(BATCH | {"look": "gradient"}, TOKEN) == {"x_overwritten"}


def random_test(rng: random.Random) -> dict[str, Any]:
    rank, d, f = rng.choice((1, 2, 3)), rng.choice((1, 2)), rng.choice((1, 2))
    shape = [rng.choice((1, 2)) for _ in range(rank - 1)] + [d]

    def numbers(*sizes: int) -> Any:
        if not sizes:
            return rng.randint(-3, 3)
        return [numbers(*sizes[1:]) for _ in range(sizes[0])]

    return {
        "x": numbers(*shape),
        "W1": numbers(d, f),
        "b1": numbers(f),
        "W2": numbers(f, d),
        "b2": numbers(d),
        "act": rng.choice(list(closed_boxes.ACTIVATIONS)),
        "dtype": rng.choice(list(test_suites.DTYPES)),
        "turned": rank > 1 and rng.random() < 0.5,
        "look": rng.sample(test_suites.LOOKS, rng.randint(0, 2)),
    }


def test_three_boxes_prove_that_fewer_numbers_do_not_do_it() -> None:
    """.view stops at a turned batch of 2 by 2 alone, “wants a list” at one token alone, and W.T differs from W where there are two of something."""
    rng = random.Random(1)
    for _ in range(300):
        test = random_test(rng)
        (read,) = test_suites.read_suite([test])
        left = missed(test)
        x = read.tensors["x"]
        if "view_instead_of_reshape" not in left:
            assert read.turned and x.dim() == 3 and min(x.shape[:2]) == 2
        if "two_dimensions_asked" not in left:
            assert x.dim() == 1
        if "weights_transposed" not in left:
            assert read.tensors["W1"].numel() > 1

    def cost(tokens: int, d: int, f: int) -> int:
        return tokens * d + 2 * d * f + f + d

    wide = [(d, f) for d, f in itertools.product((1, 2, 3), repeat=2) if d * f > 1]
    batch, token = cost(4, 1, 1), cost(1, 1, 1)
    fewest = min(
        min(cost(4, d, f) for d, f in wide) + token,
        batch + min(cost(1, d, f) for d, f in wide),
        batch + token + min(cost(1, d, f) for d, f in wide),
    )
    assert fewest == feed_forward.FEWEST_NUMBERS


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "None came back"),
        ([], "the list has no test"),
        ([BATCH, 3], "test 2 is no dict"),
        ([BATCH | {"activation": "abs"}], "test 1 has “activation”; what a test can have is x, W1"),
        ([{"x": [1]}], "test 1 has no W1"),
        ([TOKEN | {"act": "gelu"}], "act of test 1 is one of “relu”, “abs”, “square”, “tanh”"),
        ([TOKEN | {"dtype": "int64"}], "the dtype of test 1 is one of “float32”, “float64”"),
        ([TOKEN | {"look": ["y"]}], "what test 1 looks at is one of “gradient”, “x”"),
        ([TOKEN | {"look": 3}], "what test 1 looks at is one of gradient, x, or a list of both"),
        ([TOKEN | {"turned": True}], "x of test 1 has one dimension, and `turned` exchanges two"),
        ([BATCH | {"turned": 1}], "`turned` of test 1 is True or False"),
        ([TOKEN | {"x": [[1], [2, 3]]}], "x of test 1 is no array"),
        ([TOKEN | {"x": []}], "x of test 1 is empty"),
        ([TOKEN | {"x": [1e9]}], "x of test 1 has a number beyond 1,000"),
        ([TOKEN | {"x": [float("nan")]}], "x of test 1 has a number beyond 1,000"),
        ([TOKEN | {"x": 1}], "x of test 1 is a list, at most 4 deep"),
        ([TOKEN | {"W2": [[1, 2]]}], "W2 of test 1 has the shape [1, 2], and [1, 1] fits"),
        ([TOKEN] * 9, "your tests have 45 numbers, and 40 are allowed"),
    ],
)
def test_what_is_no_suite_is_told(answer: Any, words: str) -> None:
    with pytest.raises(NotAsAsked) as error:
        test_suites.read_suite(answer)
    assert words in str(error.value)


def test_a_report_says_how_far_one_is() -> None:
    assert test_suites.report(...) == "There is no suite yet."
    assert test_suites.report([BATCH, TOKEN]) == "2 tests with 16 numbers: 31 of 31 boxes are caught."
    place = next(n for n, box in enumerate(BOXES.boxes, 1) if box.name == "relu_hard_coded")
    report = test_suites.report([BATCH | {"act": "relu"}, TOKEN])
    assert report.endswith(f"30 of 31 boxes are caught.\nStill closed: {place}.")
    assert test_suites.report([{"x": [1]}]) == "This is no suite yet: test 1 has no W1."


def test_every_reason_is_given_for_a_suite_that_has_it() -> None:
    """By the kept mistakes: none of the reasons is never told."""
    told = set()
    for mistake in keys.find("catch_mistakes").mistakes:
        try:
            suite = test_suites.read_suite(mistake.answer)
        except NotAsAsked:
            continue
        left = {box.name for box in BOXES.wrong} - test_suites.caught(suite, BOXES)
        told.add(test_suites.why(suite, left))
    assert {reason for reason, _, _ in test_suites.REASONS} <= told


def test_tests_leave_their_numbers_alone() -> None:
    (suite,) = test_suites.read_suite([BATCH])
    before = {name: tensor.clone() for name, tensor in suite.tensors.items()}
    for box in BOXES.boxes:
        suite.ask(box.line)
    assert all(torch.equal(before[name], tensor) for name, tensor in suite.tensors.items())
