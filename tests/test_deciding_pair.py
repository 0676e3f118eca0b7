"""Notebook 00's puzzle: an opponent that settles on no world, what counts as a question, and the bound that its fold proves."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from autograder import keys
from autograder.authoring.build import solution_answer
from ffnlab.course.exercises import start_here
from ffnlab.course.exercises.start_here import FEELINGS, SIZES, Opponent, Questions, feeling_in
from ffnlab.observation.exercise import NotAsAsked

ANSWERS = {"solution": solution_answer("deciding_pair").answer} | {
    answer.name: answer.answer for answer in keys.find("deciding_pair").answers if answer.kind == "right"
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_world_is_found_and_never_with_more_than_two_logarithms_of_questions(name: str) -> None:
    for n in SIZES[:4]:
        for first, second in itertools.combinations(range(n), 2):
            for equal in FEELINGS:
                world = (first, second, equal)
                ask = Questions(n, lambda scene, world=world: feeling_in(world, scene), most=100)  # type: ignore[misc]
                assert ANSWERS[name](ask, n) == world and len(ask.scenes) <= 2 * math.log2(n)


def test_the_opponent_leaves_at_least_half_of_the_worlds() -> None:
    """So whoever knows the world after k answers was asked about no more than 2 to the k worlds; for n = 64 that is after 12 of them."""
    for n in SIZES:
        opponent = Opponent(n)
        assert len(opponent.possible) == n * (n - 1)
        for scene in (0, 1, 3, 5, 0b101010, -2, -4):
            before = len(opponent.possible)
            opponent(scene & (1 << n) - 1)
            assert 2 * len(opponent.possible) >= before
    least = [math.ceil(math.log2(n * (n - 1))) for n in SIZES]
    assert least == [1, 4, 6, 8, 10, 12], "as the fold says, it can't be fewer for n above 2"


def test_of_one_property_changed_the_answer_says_next_to_nothing() -> None:
    worlds = Opponent(64).possible
    assert {sum(feeling_in(world, 1 << k) == world[2] for k in range(64)) for world in worlds} == {62}


@pytest.mark.parametrize(
    ("scene", "words"),
    [([True] * 3, "one with 3"), (True, "got a bool"), ([False] * 5, "one with 5")],
)
def test_what_is_no_scene_is_said(scene: Any, words: str) -> None:
    with pytest.raises(NotAsAsked, match=words):
        Questions(4, lambda scene: "glad", most=9)(scene)


def test_a_way_that_is_short_against_the_opponent_alone_is_not_enough() -> None:
    """Where the two agree in the last digit it tries one property after the other; the opponent always says that they differ there."""

    def lopsided(ask: Any, n: int) -> Any:
        answers: dict[tuple[bool, ...], str] = {}

        def ask_once(scene: Any) -> str:
            key = tuple(map(bool, scene))
            if key not in answers:
                answers[key] = ask(scene)
            return answers[key]

        equal = ask_once([False] * n)
        if ask_once([k & 1 for k in range(n)]) != equal:
            return ANSWERS["solution"](ask_once, n)
        first, second = (k for k in range(n) if ask_once([m == k for m in range(n)]) != equal)
        return first, second, equal

    exercise = start_here.deciding_pair
    inputs = exercise.inputs(3, 0)
    (few,) = [aspect for aspect in exercise.aspects if aspect.name == "few questions"]
    assert few.facts
    facts = few.facts(few.probe(lopsided, **inputs), inputs)
    assert (
        facts["n = 64: other worlds that fit all answers"] == 0
        and facts["n = 64: the most questions, where 12 are enough"] > 52
    )


def test_questions_without_end_end() -> None:
    ask = Questions(4, lambda scene: "glad", most=9)
    with pytest.raises(NotAsAsked, match="more than 9 questions"):
        for _ in range(99):
            ask([False] * 4)


def test_no_answer_is_taken_on_trust() -> None:
    """What a submission reports of its questions is replayed: few questions and a guess leave other worlds."""
    exercise = start_here.deciding_pair
    (few,) = [aspect for aspect in exercise.aspects if aspect.name == "few questions"]
    assert few.facts
    facts = few.facts([([], (0, 1, "glad"), 0)] * len(SIZES), exercise.inputs(1, 0))
    assert (
        facts["n = 64: the most questions, where 12 are enough"] == 12
        and facts["n = 64: other worlds that fit all answers"] == 4031
    )
