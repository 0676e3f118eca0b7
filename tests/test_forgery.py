"""Points for nothing: observations seen on other draws earn nothing, in any exercise but the quizzes."""

from __future__ import annotations

import forgery
import pytest

from ffnlab.registry import active_course

LEFT_OUT = forgery.quizzes() | forgery.inputs_of_ones_own()
DRAWN = [name for name in active_course().exercises if name not in LEFT_OUT]


def test_one_answer_alone_is_right_for_every_class() -> None:
    """A counterexample, a network or a suite of tests can be copied, as `docs/grading.md` says. Whoever adds another such exercise says it there."""
    names = {name for name in active_course().exercises if name.endswith("_counterexample")} | {
        "deep_square",
        "catch_mistakes",
        "gate_or_flag",
        "four_times",
    }
    assert {name for name in forgery.inputs_of_ones_own() if active_course().exercise(name).points} == names
    assert len(names) == 11


@pytest.mark.parametrize("name", DRAWN)
def test_what_was_seen_on_other_draws_earns_nothing(name: str) -> None:
    assert [f"{forged.aspect}: {forged.points:g} from {forged.replayed}" for forged in forgery.earned(name)] == []


def test_what_was_seen_on_the_same_draws_earns_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The measure itself can show something: a forger who knew the class's secret would earn all."""
    monkeypatch.setattr(forgery, "ELSEWHERE", forgery.CLASS)
    assert (
        sum(forged.points for forged in forgery.earned("ffn_forward")) == active_course().exercise("ffn_forward").points
    )
