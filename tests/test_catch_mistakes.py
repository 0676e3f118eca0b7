"""`catch_mistakes`: a suite is judged by lines that do what the key's code does, sixteen numbers are enough, and fewer are not."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch

from autograder import keys
from autograder.authoring import find_boxes
from ffnlab.checking import reference_files
from ffnlab.checking.checks import examine
from ffnlab.checking.verdict import Verdict
from ffnlab.course import closed_boxes, test_suites
from ffnlab.course.exercises import feed_forward
from ffnlab.observation.exercise import NotAsAsked, public_seed
from ffnlab.phrases import without_delimiters

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
    """How many boxes in all, what each test is worth, and which boxes are left."""
    assert test_suites.report(...) == "There is no suite yet."
    assert test_suites.report([BATCH, TOKEN]).splitlines() == [
        "2 tests with 16 numbers: 31 of 31 boxes are caught.",
        "  test 1: 11 numbers, 28 boxes, 15 of them caught by no other test",
        "  test 2: 5 numbers, 16 boxes, 3 of them caught by no other test",
    ]
    place = next(n for n, box in enumerate(BOXES.boxes, 1) if box.name == "relu_hard_coded")
    report = test_suites.report([BATCH | {"act": "relu"}, TOKEN]).splitlines()
    assert report[0].endswith("30 of 31 boxes are caught.") and report[-1] == f"Still closed: {place}."
    assert test_suites.report([TOKEN, TOKEN]).splitlines()[2].endswith("none of them caught by no other test")
    assert len(test_suites.report([TOKEN]).splitlines()) == 2, "one test alone is told in the first line"
    assert test_suites.report([{"x": [1]}]) == "This is no suite yet: test 1 has no W1."


def verdict_on(answer: Any) -> Verdict:
    exercise = feed_forward.catch_mistakes
    seeds = [public_seed(exercise.name, case) for case in range(exercise.cases)]
    return examine(exercise, reference_files.load_public(exercise.name), answer, seeds)[0]


def symptoms(answer: Any) -> dict[str, str]:
    """What the check says of each part of the exercise."""
    return {aspect.name: aspect.symptom for aspect in verdict_on(answer).aspects}


def test_the_panel_says_how_many_boxes_are_caught_and_which_are_not() -> None:
    relu = symptoms([BATCH | {"act": "relu", "look": []}, TOKEN])
    assert "“27 of 31 are caught, not 3, 20, 22, 25”" in without_delimiters(relu["all boxes"])
    assert not relu["26 boxes"] and "counts once" in relu["no fewer numbers"]
    few = symptoms([TOKEN | {"x": [[-3]]}])
    assert "of 31 are caught" in few["20 boxes"] or "of 31 are caught" in few["26 boxes"]
    assert "“21 numbers”" in without_delimiters(symptoms([BATCH, TOKEN, TOKEN])["no fewer numbers"])


def test_a_suite_that_lets_boxes_through_is_not_told_that_it_is_too_large() -> None:
    assert "counts once" in symptoms([BATCH | {"act": "relu"}, TOKEN, TOKEN])["no fewer numbers"]


def a_learners_suite(rng: random.Random) -> list[dict[str, Any]]:
    """Up to three tests in which some of the keys are left alone, as one does who has not thought of them."""
    used = {key for key in ("act", "dtype", "turned", "look") if rng.random() < 0.5}
    tests = [random_test(rng) for _ in range(rng.randint(1, 3))]
    return [{key: value for key, value in test.items() if key in test_suites.ARRAYS or key in used} for test in tests]


def test_a_learners_suite_is_told_what_its_tests_have_in_common() -> None:
    """Also a small one: the reason is named with however many points it comes."""
    rng = random.Random(2)
    seen, told = 0, 0
    for _ in range(150):
        answer = a_learners_suite(rng)
        try:
            suite = test_suites.read_suite(answer)
        except NotAsAsked:
            continue
        if len(test_suites.caught(suite, BOXES)) < len(BOXES.wrong):
            seen += 1
            told += bool(verdict_on(answer).cause)
    assert seen > 100 and told >= 0.97 * seen, f"{told} of {seen}"


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
