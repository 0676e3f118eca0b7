"""No verdict may depend on the draw: every kept answer is graded on twenty classes' secrets, and must get the same points and the same name on each.

That takes minutes, so what they got is recorded beside the keys, exercise by exercise, with a version of all that decides it. `make build` tries a new
exercise, `make stability` all whose version has changed, and `make test` compares the two.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch

from autograder import keys, source_hash
from autograder.engine import forkserver
from autograder.files import replace
from autograder.keys.key import Key, quiz_key
from autograder.reference import compute, draws, matrix
from ffnlab.observation.exercise import Exercise, quiz
from ffnlab.registry import active_course

SECRETS = 20
RECORD = "twenty_secrets.json"  # in the folder of the keys

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


def unstable(name: str, scores_by_secret: dict[int, Scores]) -> list[Unstable]:
    """What differs between the secrets (by number), and what a kept answer must not get on any."""
    key = keys.find(name)
    most = key.exercise.points
    problems = []
    for answer in compute.all_answers(key):
        results = {number: scores_by_secret[number][answer.name] for number in sorted(scores_by_secret)}
        kinds = sorted(set(results.values()), key=list(results.values()).index)
        if len(kinds) > 1:
            what = "; ".join(
                f"{_describe(kind)} on {sum(1 for g in results.values() if g == kind)} of {len(results)}"
                for kind in kinds
            )
            problems.append(Unstable(name, answer.name, what))
        elif answer.kind == "right" and kinds[0][0] != most:
            problems.append(Unstable(name, answer.name, f"a right answer gets {_describe(kinds[0])}"))
        elif answer.kind == "mistake" and (0 < most <= kinds[0][0] or kinds[0][1] != answer.mistake):
            problems.append(Unstable(name, answer.name, f"a mistake gets {_describe(kinds[0])}"))
    return problems


def _describe(kind: tuple[float, str]) -> str:
    points, mistake = kind
    return f"{points:g} points" + (f" as {mistake}" if mistake else "")


def grade_on_all(
    names: list[str], tell: Callable[[], None] = lambda: None, workers: int | None = None
) -> dict[str, dict[int, Scores]]:
    """By exercise and secret, what the kept answers of the chosen exercises get. `tell` is called for each exercise and secret that is done."""
    context = forkserver.start()
    results: dict[str, dict[int, Scores]] = {name: {} for name in names}
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=context) as pool:
        futures = {pool.submit(scores, name, number): (name, number) for name in names for number in range(SECRETS)}
        for future in as_completed(futures):
            name, number = futures[future]
            results[name][number] = future.result()
            tell()
    return results


def read_record() -> dict[str, dict[str, Any]]:
    """By exercise, the version that was tried and what its kept answers got; empty where nothing was."""
    try:
        return dict(json.loads(active_course().beside_keys(RECORD).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def find_outdated(notebooks: Iterable[str] | None = None) -> Iterator[str]:
    """The exercises of these notebooks (of all, if none are given) that are not as they were when they were tried, and those that never were."""
    record = read_record()
    for exercise in chain.from_iterable(map(active_course().exercises_of, notebooks or active_course().notebooks)):
        if record.get(exercise.name, {}).get("version") != version(exercise.name):
            yield exercise.name


def save(results: Mapping[str, Mapping[int, Scores]]) -> None:
    """Record what the kept answers of exercises get, the same on every secret."""
    record = read_record()
    for name, by_secret in results.items():
        answers = {answer: list(score) for answer, score in by_secret[0].items()}
        record[name] = {"version": version(name), "secrets": SECRETS, "answers": answers}
    entries = {name: record[name] for name in active_course().exercises if name in record}
    replace(active_course().beside_keys(RECORD), json.dumps(entries, indent=1, ensure_ascii=False) + "\n", mode=0o644)


MAKERS = (Exercise.__name__, Key.__name__, quiz.__name__, quiz_key.__name__)  # what an exercise and its key begin with


def version(name: str) -> str:
    """A hash of all that decides what the kept answers of one exercise get: of its key's file and its exercises' without what is another exercise's alone."""
    notebook = active_course().notebook_of(name)
    key_files = [file for file in active_course().key_files(notebook) if _is_about(file, name)]
    own = [active_course().exercises_file(notebook), *key_files]
    files = source_hash.files(*own, source_hash.COMPARISON).difference(own)
    shared = [source_hash.hash_file(file) for file in files]
    return source_hash.combine(shared + [_hash_of(path, name) for path in own])[:12]


class _Statement(NamedTuple):
    """A statement of a module."""

    node: ast.stmt
    owner: str  # the exercise that it is about; "" where it may be about several
    bindings: frozenset[str]  # the names that it binds
    uses: frozenset[str]  # and those that it uses


def _hash_of(path: Path, name: str) -> str:
    """A hash of the statements of a file that decide about one exercise: its own, those that these use, and those that are about none and bind no name."""
    statements = _statements(path)
    selection = {
        statement
        for statement in statements
        if statement.owner == name or not (statement.owner or statement.bindings or _is_text(statement.node))
    }
    while True:
        uses = frozenset().union(*(statement.uses for statement in selection))
        more = {statement for statement in statements if not statement.owner and uses & statement.bindings} - selection
        if not more:
            body = [_without_the_unused(statement, uses) for statement in statements if statement in selection]
            return source_hash.hash_tree(ast.Module(body, []))
        selection |= more


def _is_about(path: Path, name: str) -> bool:
    """Whether a file says something of the exercise."""
    return any(statement.owner == name for statement in _statements(path))


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _without_the_unused(statement: _Statement, uses: frozenset[str]) -> ast.stmt:
    """A statement; of an import, what is used of it."""
    node = statement.node
    if isinstance(node, ast.Import | ast.ImportFrom):
        node = copy(node)
        node.names = [alias for alias in node.names if _name_of(alias) in uses]
    return node


def _name_of(alias: ast.alias) -> str:
    return (alias.asname or alias.name).partition(".")[0]


@cache
def _statements(path: Path) -> list[_Statement]:
    return _parse(path.read_text(encoding="utf-8"))


def _parse(source: str) -> list[_Statement]:
    owners: dict[str, str] = {}
    return [_statement(node, owners) for node in ast.parse(source).body]


def _statement(node: ast.stmt, owners: dict[str, str]) -> _Statement:
    """owners: by variable, the exercise that it stands for, so far; this statement may add one."""
    names = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
    uses = frozenset(name.id for name in names)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        about = {owners.get(_root_of(call), "") for call in node.decorator_list}
        return _Statement(node, about.pop() if len(about) == 1 else "", frozenset({node.name}), uses)
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _Statement(node, "", frozenset(map(_name_of, node.names)), uses)
    bindings = frozenset(name.id for name in names if isinstance(name.ctx, ast.Store))
    owner = owners.get(_root_of(node.value), "") if isinstance(node, ast.Expr) else ""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args:
        maker = node.value.func
        if isinstance(maker, ast.Name) and maker.id in MAKERS:
            owner = _name_in(node.value.args[0])
            owners |= dict.fromkeys(bindings, owner)
    return _Statement(node, owner, bindings, uses)


def _name_in(first: ast.expr) -> str:
    """The exercise that `Exercise("name", …)` and `Key(exercises.name)` are about, and the same of a quiz."""
    if isinstance(first, ast.Constant):
        return str(first.value)
    return first.attr if isinstance(first, ast.Attribute) else ""


def _root_of(call: ast.expr) -> str:
    """The variable whose method a call or a decorator is: "relu" of `relu.mistake("…")`."""
    while isinstance(call, ast.Call | ast.Attribute):
        call = call.func if isinstance(call, ast.Call) else call.value
    return call.id if isinstance(call, ast.Name) else ""
