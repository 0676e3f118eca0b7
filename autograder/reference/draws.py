"""The seeds from which an exercise's inputs are drawn: public ones, those of development, and a class's hidden ones.

Hidden ones follow from one stored secret per assignment, and the matrix must hold on them before they are used.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from autograder import outline, source_hash
from autograder.errors import UserError
from autograder.files import write_private
from ffnlab.registry import active_course

if TYPE_CHECKING:
    from ffnlab.observation.exercise import Exercise

Seeds = tuple[int, ...]  # of one exercise, a seed for each case
SeedsByExercise = dict[str, Seeds]  # of an assignment
FILE = "hidden_draws.json"
MAX_DRAWS = 20  # that are tried for an exercise
HIDDEN_CASES = 3
DEVELOPMENT = b"draws for building and validating, where no class is graded"


@cache
def key_version(assignment: str) -> str:
    """A short hash of all that a verdict on this assignment depends on: its key, its exercises, and how they are compared."""
    course = active_course()
    made_of = (*course.key_files(assignment), course.exercises_file(assignment), source_hash.COMPARISON)
    return source_hash.version(*made_of)[:12]


class HasCases(Protocol):
    """An exercise, as far as its seeds go."""

    @property
    def name(self) -> str: ...

    @property
    def cases(self) -> int: ...


def public_seeds(exercise: Exercise) -> Seeds:
    """The seeds that the shipped reference outputs and `check` use."""
    from ffnlab.observation.exercise import public_seed

    return tuple(public_seed(exercise.name, case) for case in range(exercise.cases))


def hidden_seeds(exercise: HasCases, secret: bytes, draw_number: int = 0) -> Seeds:
    """The seeds of the draws that decide the grade: HMAC(secret, exercise, case), the same for every student and every regrade."""
    cases = max(exercise.cases, HIDDEN_CASES) if exercise.cases > 1 else 1

    def seed(case: int) -> int:
        text = f"{exercise.name}/{case}/{draw_number}".encode()
        return int.from_bytes(hmac.digest(secret, text, hashlib.sha256)[:8], "big")

    return tuple(seed(case) for case in range(cases))


class BrokenSecrets(UserError):
    """The file with the secrets can't be read, or is not what grading wrote there."""


def entries(file: Path) -> dict[str, dict[str, Any]]:
    """What the file holds, by assignment: the secret, and for which draws the matrix holds; nothing where there is no file.

    Raises:
        BrokenSecrets: it can't be read.
    """
    if not file.exists():
        return {}
    without = (
        "without its secret earlier grades can't be repeated. `autograder grade` restores it if the gradebook has it"
    )
    try:
        records = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BrokenSecrets(f"{file} can't be read; {without}") from None
    if not isinstance(records, dict) or not all(_is_entry(entry) for entry in records.values()):
        raise BrokenSecrets(f"{file} is not what grading wrote there; {without}")
    return records


def write(file: Path, records: dict[str, dict[str, Any]]) -> None:
    """Write the file with these entries."""
    write_private(file, json.dumps(records, indent=1))


def find_valid_draw(exercise: str, secret: bytes, first: int) -> int:
    """The number of the first draws, from `first` on, on which the key of an exercise holds.

    Raises:
        UserError: it holds on none of them.
    """
    from autograder import keys
    from autograder.reference import matrix

    key = keys.find(exercise)
    for draw_number in range(first, first + MAX_DRAWS):
        if matrix.holds(key, hidden_seeds(key.exercise, secret, draw_number)):
            return draw_number
    raise UserError(f"the key of {exercise} fails on hidden inputs: `autograder matrix` shows where")


def find_valid_draws(secret: bytes, first: Mapping[str, int]) -> dict[str, int]:
    """As `find_valid_draw`, for several exercises, one after the other. first: by exercise."""
    return {exercise: find_valid_draw(exercise, secret, number) for exercise, number in first.items()}


def ensure_hidden_seeds(
    assignment: str, file: Path, find: Callable[[bytes, Mapping[str, int]], Mapping[str, int]] = find_valid_draws
) -> SeedsByExercise:
    """The seeds of the hidden draws of each exercise; the secret is made where there is none yet. find: how draws are tried, as `find_valid_draws`.

    Raises:
        UserError: the file is broken, or the matrix holds on no draws.
    """
    records = entries(file)
    entry = records.get(assignment, {})
    secret = bytes.fromhex(entry["secret"]) if "secret" in entry else secrets.token_bytes(32)
    draw_numbers: dict[str, int] = dict(entry.get("attempts", {}))
    version = key_version(assignment)
    if entry.get("holds_for") != version:
        names = [exercise.name for exercise in outline.of_notebook(assignment)]
        draw_numbers |= find(secret, {name: draw_numbers.get(name, 0) for name in names})
        write(file, records | {assignment: {"secret": secret.hex(), "attempts": draw_numbers, "holds_for": version}})
    return {
        exercise.name: hidden_seeds(exercise, secret, draw_numbers[exercise.name])
        for exercise in outline.of_notebook(assignment)
    }


def development(name: str) -> Seeds:
    """Hidden draws where no class is graded: when the solution notebooks are built and validated."""
    return hidden_seeds(active_course().exercise(name), DEVELOPMENT)


def trial(exercise: HasCases, secret: str | None = None) -> Seeds:
    """The draws on which single answers are tried out: those of a class with this secret, any text, or of development."""
    return hidden_seeds(exercise, DEVELOPMENT if secret is None else secret.encode())


def for_recheck(name: str) -> Seeds:
    """The hidden draws of the class in whose folder this process works; else those of development."""
    folder = class_here()
    return ensure_hidden_seeds(active_course().notebook_of(name), folder / FILE)[name] if folder else development(name)


def class_here() -> Path | None:
    """The folder of the class in which this process works, as under `nbgrader autograde`, if it has hidden draws."""
    cwd = Path.cwd()
    return next((folder for folder in (cwd, *cwd.parents) if (folder / FILE).is_file()), None)


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and bool(re.fullmatch(r"[0-9a-f]{64}", str(entry.get("secret"))))
        and isinstance(entry.get("attempts"), dict)
        and all(isinstance(number, int) for number in entry["attempts"].values())
    )
