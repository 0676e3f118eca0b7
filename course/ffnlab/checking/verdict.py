"""A verdict: how an exercise ended, with what points, and what its student is told. Nothing here needs torch: who reads verdicts need not compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from ffnlab.phrases import OPEN, capitalise, in_quotes, in_sentences, sentence, with_minus, without_delimiters


class Outcome(StrEnum):
    """How an exercise ended. `not graded` is the grader's fault, never the student's."""

    EARNED = "earned"
    NOT_EARNED = "not earned"
    NOT_ATTEMPTED = "not attempted"
    NOT_GRADED = "not graded"


class AspectSummary(Protocol):
    """An aspect of an exercise, as far as its points go."""

    @property
    def name(self) -> str: ...

    @property
    def points(self) -> float: ...


class ExerciseSummary(Protocol):
    """An exercise, as far as a verdict without an answer needs it."""

    @property
    def name(self) -> str: ...

    @property
    def where(self) -> str: ...

    @property
    def aspects(self) -> Sequence[AspectSummary]: ...


@dataclass(frozen=True)
class AspectVerdict:
    name: str
    points: float
    max_points: float
    symptom: str = ""  # what was wrong; empty where the aspect is right
    raw_symptom: str = ""  # the same with the student's words between delimiters, until somebody has looked them up for a page; empty where there are none

    def as_dict(self) -> dict[str, Any]:
        """The verdict as JSON data, in which the symptom is called "seen", and "told" as a student's page has it."""
        raw = {"told": self.raw_symptom} if self.raw_symptom else {}
        return {"name": self.name, "points": self.points, "max_points": self.max_points, "seen": self.symptom} | raw


def aspect_verdict(name: str, points: float, max_points: float, symptom: str = "") -> AspectVerdict:
    """The verdict on one aspect. symptom: may hold delimiters around the student's own words."""
    return AspectVerdict(name, points, max_points, without_delimiters(symptom), symptom if OPEN in symptom else "")


NEARLY = "Nearly. "  # how the message of an answer begins that does what matters most: nothing in it is wrong, so it has no cause


@dataclass(frozen=True)
class Verdict:
    exercise: str
    outcome: Outcome
    aspects: tuple[AspectVerdict, ...]
    mistake: str | None = None  # the name of the known mistake, or of a general one
    cause: str = ""  # its message
    where: str = ""  # what to read again
    likely: bool = False  # whether another mistake may look the same

    @property
    def points(self) -> float:
        return round(math.fsum(aspect.points for aspect in self.aspects), 6)

    @property
    def max_points(self) -> float:
        return round(math.fsum(aspect.max_points for aspect in self.aspects), 6)

    @property
    def symptom(self) -> str:
        """What was wrong first, in one sentence."""
        return next((aspect.symptom for aspect in self.aspects if aspect.symptom), "")

    @property
    def message(self) -> str:
        """All that a student is told, in one line: the cause, in what the answer is wrong first, what was seen, where to look."""
        if self.outcome is Outcome.EARNED:
            return f"Earned {self.points:g} of {self.max_points:g}."
        if self.outcome is Outcome.NOT_ATTEMPTED:
            return " ".join(["Not attempted yet.", *([sentence(self.cause)] if self.cause else [])])
        if self.outcome is Outcome.NOT_GRADED:
            return self.symptom
        parts = [
            self.cause,
            "This is the likely cause" if self.likely and not self.cause.startswith(NEARLY) else "",
            capitalise(self._place + in_sentences(with_minus(self.symptom))) if self.symptom else "",
            self.where and f"Look at {self.where}",
        ]
        return " ".join(sentence(part) for part in parts if part)

    @property
    def _place(self) -> str:
        """In which aspect the first symptom is; empty where it is the same in all, as where a cell did not run."""
        wrong = [aspect for aspect in self.aspects if aspect.symptom]
        everywhere = all(aspect.symptom == self.symptom for aspect in self.aspects)
        return "" if everywhere else f"In {in_quotes(wrong[0].name)}: "

    def as_dict(self) -> dict[str, Any]:
        """The verdict as JSON data."""
        return vars(self) | {
            "aspects": [aspect.as_dict() for aspect in self.aspects],
            "outcome": self.outcome.value,
            "points": self.points,
            "max_points": self.max_points,
            "message": self.message,
        }


def from_dict(data: dict[str, Any]) -> Verdict:
    """The verdict that `as_dict` made into JSON data."""
    aspects = tuple(
        AspectVerdict(
            aspect["name"], aspect["points"], aspect["max_points"], aspect.get("seen", ""), aspect.get("told", "")
        )
        for aspect in data["aspects"]
    )
    return Verdict(
        data["exercise"],
        Outcome(data["outcome"]),
        aspects,
        data["mistake"],
        data["cause"],
        data["where"],
        data.get("likely", False),
    )


def not_attempted(exercise: ExerciseSummary, reason: str = "") -> Verdict:
    """No points, as there is no answer. reason: how that is known, in a sentence."""
    return _without_points(exercise, Outcome.NOT_ATTEMPTED, "", reason)


def not_earned(exercise: ExerciseSummary, symptom: str, cause: str = "") -> Verdict:
    """No points, for a reason outside the answer's outputs: its cell did not run, or it took too long. symptom: see `aspect_verdict`."""
    return _without_points(exercise, Outcome.NOT_EARNED, symptom, cause)


def not_graded(exercise: ExerciseSummary, reason: str) -> Verdict:
    """Our fault: costs no point until a person has looked."""
    return _without_points(exercise, Outcome.NOT_GRADED, reason)


def _without_points(exercise: ExerciseSummary, outcome: Outcome, symptom: str, cause: str = "") -> Verdict:
    aspects = tuple(aspect_verdict(aspect.name, 0.0, aspect.points, symptom) for aspect in exercise.aspects)
    where = exercise.where if outcome is Outcome.NOT_EARNED else ""
    return Verdict(exercise.name, outcome, aspects, cause=cause, where=where)
