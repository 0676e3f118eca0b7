"""Points for nothing: observations seen on other draws earn nothing, in any exercise but the quizzes."""

from __future__ import annotations

import re
from collections.abc import Iterable

import forgery
import pytest
from conftest import ROOT

from ffnlab.phrases import join_words
from ffnlab.registry import active_course

EXERCISES = active_course().exercises
QUIZZES = forgery.quizzes()
UNDRAWN = forgery.inputs_of_ones_own()
DRAWN = [name for name in EXERCISES if name not in QUIZZES | UNDRAWN]
FOR_ALL = [name for name in EXERCISES if name in UNDRAWN and EXERCISES[name].points]
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def points(names: Iterable[str]) -> str:
    return f"{sum(EXERCISES[name].points for name in names):g}"


def answers_for_all() -> str:
    """The answers that are right for every class, as the page names them."""
    count = sum(name.endswith("_counterexample") for name in FOR_ALL)
    others = join_words([f"`{name}`" for name in FOR_ALL if not name.endswith("_counterexample")])
    return f"the {NUMBERS[count]} smallest counterexamples, such as `steepest_counterexample`, and to {others}"


def rows() -> list[str]:
    """The lines of the table in docs/grading.md on what can be had without solving."""
    page = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
    table = page.partition("## What can be had without solving")[2].partition("\n## ")[0]
    return [line for line in table.splitlines() if line.startswith("| ")][1:]


def test_the_page_counts_what_can_be_had_without_solving() -> None:
    """An exercise has come or gone, or is worth something else: then the failure says what the page has to say."""
    quizzes, copied = rows()[1:3]
    stale = [
        f"docs/grading.md says “{said}”, and it is “{right}”"
        for said, right in (
            (" | ".join(quizzes.split(" | ")[:2]), f"| the letters of the quizzes | up to {points(QUIZZES)} points"),
            (" | ".join(copied.split(" | ")[:2]), f"| copied answers to {answers_for_all()} | up to {points(FOR_ALL)} points"),
        )
        if said != right
    ]  # fmt: skip
    assert not stale, "\n".join(stale)


@pytest.mark.parametrize("row", rows()[3:])
def test_the_page_names_exercises_that_are_worth_what_it_says(row: str) -> None:
    case, most, _ = row.strip("| ").split(" | ")
    named = [name for name in re.findall(r"`(\w+)`", case) if name in EXERCISES]
    said = re.fullmatch(r"up to (\d+) points(?P<together> in all)?(?: each)?", most)
    assert named and said
    combine = sum if said["together"] else min
    assert float(said[1]) <= combine(EXERCISES[name].points for name in named)


@pytest.mark.parametrize("name", DRAWN)
def test_what_was_seen_on_other_draws_earns_nothing(name: str) -> None:
    assert [f"{forged.aspect}: {forged.points:g} from {forged.replayed}" for forged in forgery.earned(name)] == []


def test_what_was_seen_on_the_same_draws_earns_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The measure itself can show something: a forger who knew the class's secret would earn all."""
    monkeypatch.setattr(forgery, "ELSEWHERE", forgery.CLASS)
    assert (
        sum(forged.points for forged in forgery.earned("ffn_forward")) == active_course().exercise("ffn_forward").points
    )
