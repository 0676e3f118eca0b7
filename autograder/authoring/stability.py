"""No verdict may depend on luck: every kept answer is graded on twenty classes' secrets, and must get the same points and the same name on each.

That takes minutes, so what they got is recorded beside the keys, with the version of the key for which it holds; `make test` compares the two, and
`make luck` makes the record again where a key has changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from autograder import keys
from autograder.engine import forkserver
from autograder.files import replace
from autograder.marking import draws, matrix, reference
from ffnlab import exercises

SECRETS = 20
RECORD = Path(__file__).parents[1] / "keys" / "twenty_secrets.json"

Scores = dict[str, tuple[float, str]]  # by kept answer: its points, and the mistake that it is named as


@dataclass(frozen=True)
class Unsteady:
    """A kept answer whose points or whose name differ between two secrets, or are not what they must be on one."""

    exercise: str
    answer: str
    what: str

    def __str__(self) -> str:
        return f"{self.exercise}, {self.answer}: {self.what}"


def secret(number: int) -> bytes:
    """The secret of the class of that number."""
    return f"class {number}".encode()


def scores(name: str, number: int) -> Scores:
    """What every kept answer of the exercise `name` gets on the draws of one secret. Each runs once.

    Raises:
        KeyProblem: the truth itself raises there.
    """
    torch.set_num_threads(1)
    key = keys.find(name)
    verdicts = matrix.verdicts(key, draws.hidden_seeds(key.exercise, secret(number)))
    return {answer.name: (verdict.points, verdict.mistake or "") for answer, verdict in verdicts}


def unstable(name: str, found: dict[int, Scores]) -> list[Unsteady]:
    """What differs between the secrets (by number), and what a kept answer must not get on any."""
    key = keys.find(name)
    most = key.exercise.points
    listed = []
    for kept in reference.all_answers(key):
        got = {number: found[number][kept.name] for number in sorted(found)}
        kinds = sorted(set(got.values()), key=list(got.values()).index)
        if len(kinds) > 1:
            _what = "; ".join(
                f"{_said(kind)} on {sum(1 for g in got.values() if g == kind)} of {len(got)}" for kind in kinds
            )
            listed.append(Unsteady(name, kept.name, _what))
        elif kept.kind == "right" and kinds[0][0] != most:
            listed.append(Unsteady(name, kept.name, f"a right answer gets {_said(kinds[0])}"))
        elif kept.kind == "mistake" and (0 < most <= kinds[0][0] or kinds[0][1] != kept.mistake):
            listed.append(Unsteady(name, kept.name, f"a mistake gets {_said(kinds[0])}"))
    return listed


def _said(kind: tuple[float, str]) -> str:
    points, mistake = kind
    return f"{points:g} points" + (f" as {mistake}" if mistake else "")


def names(notebook: str) -> list[str]:
    """The exercises of a notebook."""
    return [exercise.name for exercise in exercises.of_notebook(notebook)]


def tried(
    chosen: list[str], tell: Callable[[], None] = lambda: None, workers: int | None = None
) -> dict[str, dict[int, Scores]]:
    """By exercise and secret, what the kept answers of the chosen exercises get. `tell` is called for each exercise and secret that is done."""
    context = forkserver.start()
    found: dict[str, dict[int, Scores]] = {name: {} for name in chosen}
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=context) as pool:
        asked = {pool.submit(scores, name, number): (name, number) for name in chosen for number in range(SECRETS)}
        for future in as_completed(asked):
            name, number = asked[future]
            found[name][number] = future.result()
            tell()
    return found


def recorded() -> dict[str, dict[str, Any]]:
    """By notebook, the version of the key that was tried and what its kept answers got; empty where nothing was."""
    try:
        return dict(json.loads(RECORD.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def outdated() -> Iterator[str]:
    """The notebooks whose key is not the one that was tried."""
    record = recorded()
    for notebook in exercises.NOTEBOOKS:
        if record.get(notebook, {}).get("version") != draws.key_version(notebook):
            yield notebook


def keep(notebook: str, found: dict[str, dict[int, Scores]]) -> None:
    """Record what the kept answers of a notebook get, the same on every secret."""
    answers = {name: {answer: list(got) for answer, got in by_secret[0].items()} for name, by_secret in found.items()}
    record = recorded() | {notebook: {"version": draws.key_version(notebook), "secrets": SECRETS, "answers": answers}}
    ordered = {name: record[name] for name in exercises.NOTEBOOKS if name in record}
    replace(RECORD, json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", mode=0o644)
