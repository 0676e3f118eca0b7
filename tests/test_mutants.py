"""Mutants of the solutions: what is changed, that the checks notice it, and that a hole in a check would be seen."""

from __future__ import annotations

import ast

import pytest
from conftest import often

from autograder.authoring import mutants
from autograder.authoring.build import cells_of
from autograder.authoring.mutants import Mutant
from ffnlab.registry import active_course

EXERCISES = 5  # each fifth exercise that asks for code, and each so many-th mutant of it; `make mutants` runs all


@pytest.fixture(scope="module")
def every() -> list[Mutant]:
    return mutants.all_of(active_course().exercises)


@pytest.mark.parametrize("step", often([9, 36], [36]))
def test_a_fixed_sample_of_mutants_loses_marks(step: int, every: list[Mutant]) -> None:
    names = list(dict.fromkeys(mutant.exercise for mutant in every))[::EXERCISES]
    sample = [mutant for mutant in every if mutant.exercise in names][::step]
    assert len(sample) * step > 40 * 9 and len(names) > 8
    outcomes = [outcome for mutant in sample for outcome in mutants.grade_mutants(mutant.exercise, [mutant])]
    assert mutants.problems(outcomes) == []


def test_every_change_has_a_name_of_its_own_and_is_python(every: list[Mutant]) -> None:
    assert len({(mutant.exercise, mutant.change) for mutant in every}) == len(every)
    for mutant in every[::11]:
        ast.parse(mutant.source)


def test_every_reason_belongs_to_a_mutant(every: list[Mutant]) -> None:
    there = {(mutant.exercise, mutant.change) for mutant in every}
    assert set(mutants.read_reasons()) <= there, set(mutants.read_reasons()) - there


@pytest.mark.parametrize(
    ("exercise", "change"),
    [
        ("ffn_forward", "x @ W1 + b1 → x @ W1"),  # a term is dropped
        ("ffn_forward", "x @ W1 + b1 → x @ W1 - b1"),  # another operator
        ("ffn_forward", "act(x @ W1 + b1) → x @ W1 + b1"),  # a call is forgotten
        ("ffn_forward", "x → W1"),  # another name
        ("PositionwiseFeedForward", "super().__init__() → pass"),
        ("balance_step", "1 → 0"),  # another dim: -1 becomes -0
        ("is_position_wise", "outputs.abs().max → outputs.abs().min"),
        ("balance_step", "(f * P).sum → (f * P).mean"),
    ],
)
def test_what_students_slip_on_is_among_the_changes(exercise: str, change: str) -> None:
    assert change in {mutant.change for mutant in mutants.mutants(exercise)}


def test_an_unchanged_solution_would_survive_and_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutants can turn red: a check that notices nothing, and a reason that is none."""
    (mutant,) = [mutant for mutant in mutants.mutants("ffn_forward") if mutant.change == "x @ W1 + b1 → x @ W1"]
    (killed,) = mutants.grade_mutants("ffn_forward", [mutant])
    assert not killed.is_survivor and killed.verdict and killed.verdict.mistake
    monkeypatch.setattr(mutants, "read_reasons", lambda: {("ffn_forward", mutant.change): "for no reason"})
    assert "is listed among the survivors" in mutants.problems([killed])[0]

    whole = cells_of("02_feed_forward")["ffn_forward"]
    (survivor,) = mutants.grade_mutants("ffn_forward", [Mutant("ffn_forward", "nothing → nothing", whole)])
    assert "earns full marks with nothing" in mutants.problems([survivor])[0]


def test_a_mutant_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "SECONDS", 0.2)
    endless = "def ffn_forward(x, W1, b1, W2, b2, act):\n    while True:\n        try:\n            pass\n        except Exception:\n            pass"
    (stopped,) = mutants.grade_mutants("ffn_forward", [Mutant("ffn_forward", "for ever", endless)])
    assert stopped.is_endless and not stopped.is_survivor


def test_the_message_about_an_exception_quotes_the_mutants_line() -> None:
    source = "def ffn_forward(x, W1, b1, W2, b2, act):\n    return misspelt\n"
    (graded,) = mutants.grade_mutants("ffn_forward", [mutants.Mutant("ffn_forward", "x → misspelt", source)])
    assert graded.verdict and "line 2: return misspelt" in graded.verdict.message, graded.verdict
