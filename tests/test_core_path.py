"""A reader of the core path is not sent into a section that they were told to skip."""

from __future__ import annotations

import re

import pytest

from autograder import keys
from autograder.authoring import build, minutes
from autograder.paths import assignments
from ffnlab.diagnosis.recognition import is_quiz
from ffnlab.registry import active_course

QUOTED = re.compile(r"“([^”]+)”(?P<deeper> \(deeper\))?")


def headings(parts: list[minutes.Part]) -> dict[str, str]:
    """By the title of a section, without its number: the path that it is on."""
    paths: dict[str, str] = {}
    for part in parts:
        match = re.match(r"#+ (?:\d+ · )?(.+)", part.source) if part.is_text else None
        if match:
            paths.setdefault(match[1].strip(), part.path)
    return paths


def paths_of_exercises(parts: list[minutes.Part]) -> dict[str, str]:
    """By exercise, the path that it is on: what its own line says, or its section's."""
    paths: dict[str, str] = {}
    for part in parts:
        for name in re.findall(r"^### (?:Exercise|Question) `(\w+)`", part.source, re.M) if part.is_text else ():
            paths[name] = part.path
    return paths


@pytest.mark.parametrize("notebook", assignments())
def test_a_core_exercise_sends_nobody_into_a_section_that_was_skipped(notebook: str) -> None:
    """By where it says to look, by its hints, and by the messages of its mistakes, unless these say that the section is (deeper)."""
    parts = list(minutes.parts(build.notebook_of(notebook).cells))
    sections = headings(parts)
    exercise_paths = paths_of_exercises(parts)
    wrong = []
    for exercise in active_course().exercises_of(notebook):
        if exercise_paths.get(exercise.name, "core") != "core":
            continue
        messages = [answer.message for answer in keys.find(exercise.name).mistakes]
        for text in (exercise.where, *exercise.hints, *messages):
            for match in QUOTED.finditer(text):
                if sections.get(match[1]) == "deeper" and not match["deeper"]:
                    wrong.append((exercise.name, match[1]))
    assert wrong == []
    assert exercise_paths.keys() <= {exercise.name for exercise in active_course().exercises_of(notebook)}
    assert all(name in exercise_paths or is_quiz(active_course().exercise(name)) for name in exercise_paths)
