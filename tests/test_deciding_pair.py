"""Notebook 00's puzzle: an opponent that settles on no world, what counts as a question, and the bound that its fold proves."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import pytest

from autograder import keys
from autograder.authoring.build import solution_answer
from ffnlab.checking.comparison import compare, reference_outputs_of
from ffnlab.course.exercises import start_here
from ffnlab.course.exercises.start_here import FEELINGS, SIZES, Questions, UnsettledWorld, feeling_in
from ffnlab.observation.exercise import NotAsAsked

ANSWERS = {"solution": solution_answer("deciding_pair").answer} | {
    answer.name: answer.answer for answer in keys.find("deciding_pair").answers if answer.kind == "right"
}


def facts_of(answer: Any, aspect_name: str, seed: int) -> Any:
    exercise = start_here.deciding_pair
    inputs = exercise.inputs(seed, 0)
    (aspect,) = [aspect for aspect in exercise.aspects if aspect.name == aspect_name]
    assert aspect.facts
    return aspect.facts(aspect.probe(answer, **inputs), inputs)


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
        opponent = UnsettledWorld(n, "glad", None)
        assert len(opponent.possible) == n * (n - 1)
        for scene in (0, 1, 3, 5, 0b101010, -2, -4):
            before = len(opponent.possible)
            opponent(scene & (1 << n) - 1)
            assert 2 * len(opponent.possible) >= before
    least = [math.ceil(math.log2(n * (n - 1))) for n in SIZES]
    assert least == [1, 4, 6, 8, 10, 12], "as the fold says, it can't be fewer for n above 2"


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_is_asked_any_world_is_as_likely_as_any_other(name: str) -> None:
    """So a world that is drawn with the answers is no easier than one that is drawn before."""
    n, seeds = 4, 1200
    found = Counter(ANSWERS[name](Questions(n, UnsettledWorld(n, "glad", seed), 99), n) for seed in range(seeds))
    expected = seeds / (n * (n - 1))
    assert len(found) == n * (n - 1)
    chi_square = sum((count - expected) ** 2 / expected for count in found.values())
    assert chi_square < 31.3, "one in a thousand is larger, with eleven degrees of freedom"


@pytest.mark.parametrize("name", ANSWERS)
def test_two_worlds_of_one_seed_differ_in_the_feeling_alone(name: str) -> None:
    for seed in range(50):
        glad, sorry = (ANSWERS[name](Questions(16, UnsettledWorld(16, feeling, seed), 99), 16) for feeling in FEELINGS)
        assert glad[:2] == sorry[:2] and FEELINGS[glad[2]] == sorry[2]


def test_of_one_property_changed_the_answer_says_next_to_nothing() -> None:
    worlds = UnsettledWorld(64, "glad", None).possible
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

    facts = facts_of(lopsided, "few questions", seed=3)
    assert (
        facts["n = 64: what the questions leave open"] == ""
        and facts["n = 64: the most questions, where 12 are enough"] > 52
    )


def test_questions_without_end_end() -> None:
    ask = Questions(4, lambda scene: "glad", most=9)
    with pytest.raises(NotAsAsked, match="more than 9 questions"):
        for _ in range(99):
            ask([False] * 4)


def reads_the_reply(ask: Any, n: int) -> Any:
    return getattr(ask.reply, "args", [None])[0]


def reads_what_is_left(ask: Any, n: int) -> Any:
    return ask.reply.possible[0]


def forgets_its_questions(ask: Any, n: int) -> Any:
    result = ANSWERS["solution"](ask, n)
    ask.scenes.clear()
    ask.reply.telling.clear()
    return result


def asks_from_a_list(ask: Any, n: int) -> Any:
    """As many questions as are enough: those by which the solution finds its first world, whatever this world says to them."""
    ask_elsewhere = Questions(n, UnsettledWorld(n, "glad", None), 99)
    ANSWERS["solution"](ask_elsewhere, n)
    for scene in ask_elsewhere.scenes:
        ask([scene >> k & 1 for k in range(n)])
    return ask.reply.possible[0]


@pytest.mark.parametrize(
    "cheat",
    [reads_the_reply, reads_what_is_left, forgets_its_questions, asks_from_a_list],
    ids=lambda cheat: cheat.__name__,
)
def test_what_is_found_without_asking_is_not_right(cheat: Any) -> None:
    """What a submission reports of its questions is replayed: few questions and a guess leave other worlds."""
    for seed in range(5):
        for aspect in start_here.deciding_pair.aspects:
            right, facts = (facts_of(answer, aspect.name, seed) for answer in (ANSWERS["solution"], cheat))
            assert facts != right, aspect.name


def test_reading_what_is_left_spares_no_question() -> None:
    """As the table of docs/grading.md has it: with questions that are chosen well, what is left may as well be read."""

    def chooses_and_reads(ask: Any, n: int) -> Any:
        for scene in ([False] * n, *([k >> digit & 1 for k in range(n)] for digit in range(n.bit_length() - 1))):
            ask(scene)
        while len(ask.reply.possible) > 1:
            half = [first for first, _, _ in ask.reply.possible[: len(ask.reply.possible) // 2]]
            ask([k in half for k in range(n)])
        return ask.reply.possible[0]

    for aspect in start_here.deciding_pair.aspects:
        right, facts = (facts_of(answer, aspect.name, 3) for answer in (ANSWERS["solution"], chooses_and_reads))
        assert facts == right


def test_no_answer_is_taken_on_trust() -> None:
    exercise = start_here.deciding_pair
    inputs = exercise.inputs(1, 0)
    forged = [[(start_here._packed([]), (0, 1, "glad"))] * len(kinds) for kinds in inputs["many"]]
    facts = exercise.aspects[1].facts(forged, inputs)  # type: ignore[misc]
    assert facts["n = 64: the most questions, where 12 are enough"] == 12
    assert facts["n = 64: what the questions leave open"] == "your questions leave 4,031 other worlds open"


def test_a_long_way_is_right_as_well() -> None:
    """Two questions for each property are within what an aspect looks at."""

    def twice(ask: Any, n: int) -> Any:
        equal = ask([False] * n)
        answers = [(ask([m == k for m in range(n)]), ask([m == k for m in range(n)])) for k in range(n)]
        first, second = (k for k in range(n) if answers[k][0] != equal)
        return first, second, equal

    exercise = start_here.deciding_pair
    inputs = exercise.inputs(5, 0)
    right, long = (exercise.observe(answer, inputs) for answer in (ANSWERS["solution"], twice))
    verdict = compare(exercise, reference_outputs_of(exercise, [right], [], [inputs]), [long], [inputs])
    assert verdict.points == 2
    assert "129 is not right" in verdict.aspects[1].symptom
