"""No verdict may depend on the draw: every kept answer is graded on twenty classes' secrets, and must get the same points and the same name on each.

That takes minutes, so what they got is recorded beside the keys, exercise by exercise, with a version of all that decides it. `make build` tries a new
exercise, `make stability` all whose version has changed, and `make test` compares the two.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

import ffnlab
from autograder import keys
from autograder.engine import forkserver
from autograder.files import replace
from autograder.keys.key import Key
from autograder.marking import draws, matrix, reference, source_hash
from ffnlab import exercises
from ffnlab.exercise import Exercise

SECRETS = 20
RECORD = Path(__file__).parents[1] / "keys" / "twenty_secrets.json"

Scores = dict[str, tuple[float, str]]  # by kept answer: its points, and the mistake that it is named as


@dataclass(frozen=True)
class Unstable:
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


def unstable(name: str, found: dict[int, Scores]) -> list[Unstable]:
    """What differs between the secrets (by number), and what a kept answer must not get on any."""
    key = keys.find(name)
    most = key.exercise.points
    listed = []
    for kept in reference.all_answers(key):
        got = {number: found[number][kept.name] for number in sorted(found)}
        kinds = sorted(set(got.values()), key=list(got.values()).index)
        if len(kinds) > 1:
            what = "; ".join(
                f"{_describe(kind)} on {sum(1 for g in got.values() if g == kind)} of {len(got)}" for kind in kinds
            )
            listed.append(Unstable(name, kept.name, what))
        elif kept.kind == "right" and kinds[0][0] != most:
            listed.append(Unstable(name, kept.name, f"a right answer gets {_describe(kinds[0])}"))
        elif kept.kind == "mistake" and (0 < most <= kinds[0][0] or kinds[0][1] != kept.mistake):
            listed.append(Unstable(name, kept.name, f"a mistake gets {_describe(kinds[0])}"))
    return listed


def _describe(kind: tuple[float, str]) -> str:
    points, mistake = kind
    return f"{points:g} points" + (f" as {mistake}" if mistake else "")


def grade_on_all(
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
    """By exercise, the version that was tried and what its kept answers got; empty where nothing was."""
    try:
        return dict(json.loads(RECORD.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def outdated() -> Iterator[str]:
    """The exercises that are not as they were when they were tried, and those that never were."""
    record = recorded()
    for name in exercises.every():
        if record.get(name, {}).get("version") != version(name):
            yield name


def save(found: Mapping[str, Mapping[int, Scores]]) -> None:
    """Record what the kept answers of exercises get, the same on every secret."""
    record = recorded()
    for name, by_secret in found.items():
        answers = {answer: list(got) for answer, got in by_secret[0].items()}
        record[name] = {"version": version(name), "secrets": SECRETS, "answers": answers}
    ordered = {name: record[name] for name in exercises.every() if name in record}
    replace(RECORD, json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", mode=0o644)


MAKERS = (Exercise.__name__, Key.__name__, "question")  # what an exercise and its key begin with


def version(name: str) -> str:
    """A hash of all that decides what the kept answers of one exercise get: of its key's file and its exercises' without what is another exercise's alone."""
    notebook = exercises.notebook_of(name)
    module, key_file = exercises.source(notebook), Path(str(keys.module(notebook).__file__))
    files = source_hash.files(key_file, module, Path(ffnlab.__file__).with_name("comparing.py")) - {module, key_file}
    parts = [hashlib.sha256(file.read_bytes()).digest() for file in files]
    parts += [hashlib.sha256(_text_of(path, name).encode()).digest() for path in (module, key_file)]
    return hashlib.sha256(b"".join(sorted(parts))).hexdigest()[:12]


def _text_of(path: Path, name: str) -> str:
    """The statements of a file that decide about one exercise: its own, those that these use, and those that are about none and bind no name."""
    statements = _statements(path)
    chosen = {
        n for n, (owner, one) in enumerate(statements) if owner == name or not (owner or _bound(one) or _is_text(one))
    }
    while True:
        used = {node.id for n in chosen for node in ast.walk(statements[n][1]) if isinstance(node, ast.Name)}
        more = {n for n, (owner, one) in enumerate(statements) if not owner and used & _bound(one)} - chosen
        if not more:
            return "\n".join(_unparsed(statements[n][1], used) for n in sorted(chosen))
        chosen |= more


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _unparsed(statement: ast.stmt, used: Collection[str]) -> str:
    """A statement as text; of an import, what is used of it."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        names = [alias for alias in statement.names if (alias.asname or alias.name).partition(".")[0] in used]
        is_plain = isinstance(statement, ast.Import)
        return ast.unparse(ast.Import(names) if is_plain else ast.ImportFrom(statement.module, names, statement.level))  # type: ignore[union-attr]
    return ast.unparse(statement)


@cache
def _statements(path: Path) -> list[tuple[str, ast.stmt]]:
    return _parse(path.read_text(encoding="utf-8"))


def _parse(source: str) -> list[tuple[str, ast.stmt]]:
    """Each statement of a file, with the exercise that it is about; "" where it may be about several."""
    tree, owners = ast.parse(source), dict[str, str]()
    found: list[tuple[str, ast.stmt]] = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            made = statement.value
            if isinstance(made.func, ast.Name) and made.func.id in MAKERS and made.args:
                owners |= {
                    target.id: _name_in(made.args[0]) for target in statement.targets if isinstance(target, ast.Name)
                }
                found.append((_name_in(made.args[0]), statement))
                continue
        calls = statement.decorator_list if isinstance(statement, ast.FunctionDef | ast.ClassDef) else []
        if isinstance(statement, ast.Expr):
            calls = [statement.value]
        about = {owners.get(_root_of(call), "") for call in calls}
        found.append((about.pop() if len(about) == 1 else "", statement))
    return found


def _name_in(first: ast.expr) -> str:
    """The exercise that `Exercise("name", …)` and `Key(exercises.name)` are about, and the same of a question."""
    if isinstance(first, ast.Constant):
        return str(first.value)
    return first.attr if isinstance(first, ast.Attribute) else ""


def _root_of(call: ast.expr) -> str:
    """The variable whose method a call or a decorator is: "relu" of `relu.mistake("…")`."""
    while isinstance(call, ast.Call | ast.Attribute):
        call = call.func if isinstance(call, ast.Call) else call.value
    return call.id if isinstance(call, ast.Name) else ""
