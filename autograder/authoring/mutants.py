"""First-order mutants: every solution cell with one small change, graded like an answer. What still earns full marks shows a hole in a check, or is no mistake.

Allowed survivors stand in keys/survivors.json, each with its reason: nothing that was asked for changes. `make mutants` runs all, and is red for a
survivor without a reason and for a reason without a survivor; `make test` runs a fixed sample.
"""

from __future__ import annotations

import ast
import copy
import json
import linecache
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from autograder import keys
from autograder.authoring.build import SOLUTION, cells_of
from autograder.engine import forkserver
from autograder.reference import compute, draws, stored
from ffnlab.checking.comparison import compare
from ffnlab.checking.verdict import Outcome, Verdict
from ffnlab.observation.containment import TimeUp, contain, limit_time
from ffnlab.observation.exercise import Exercise
from ffnlab.registry import active_course

SURVIVORS = "survivors.json"  # in the folder of the keys
SECONDS = 20.0  # for one mutant: one that never ends is no survivor
BATCH_SIZE = 20  # mutants that a process grades at a time

Node = ast.AST


@dataclass(frozen=True)
class Mutant:
    """A solution cell with one change. `change` tells it: the smallest expression or statement that changed, before and after."""

    exercise: str
    change: str
    source: str


@dataclass(frozen=True)
class GradedMutant:
    """What became of a mutant. `is_endless`: it was stopped, or asked for more memory than there is."""

    mutant: Mutant
    verdict: Verdict | None
    is_endless: bool = False

    @property
    def is_survivor(self) -> bool:
        return self.verdict is not None and self.verdict.outcome is Outcome.EARNED


# What is changed

OPERATORS: dict[type[Node], tuple[type[Node], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Div,), ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,), ast.MatMult: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
PAIRS = [
    ("any", "all"), ("min", "max"), ("amin", "amax"), ("minimum", "maximum"), ("sum", "mean"), ("argmin", "argmax"), ("zeros", "ones"),
    ("zeros_like", "ones_like"), ("floor", "ceil"), ("sin", "cos"), ("sigmoid", "tanh"), ("relu", "gelu"), ("silu", "gelu"), ("exp", "log"), ("sqrt", "abs"),
    ("argsort", "sort"), ("rand", "randn"), ("triu", "tril"), ("add_", "sub_"), ("index_add_", "index_add"), ("std", "var"),
]  # fmt: skip
OTHER_NAME = {name: other for pair in PAIRS for name, other in (pair, pair[::-1])}
MODULES = ("torch", "F", "math", "nn", "super()")
NOT_COMMUTATIVE = (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)
IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


def mutants(exercise: str) -> list[Mutant]:
    """All mutants of the solution's answer to an exercise, in the order of its lines. A change that two places share is numbered."""
    source = SOLUTION.sub(r"\1", cells_of(active_course().notebook_of(exercise))[exercise])
    tree = ast.parse(source)
    all_mutants: list[Mutant] = []
    counts: Counter[str] = Counter()
    sources = {ast.unparse(tree)}
    for mutant_tree, change in _mutate(tree):
        text = ast.unparse(mutant_tree)
        if text in sources:
            continue
        sources.add(text)
        counts[change] += 1
        label = change if counts[change] == 1 else f"{change} ({counts[change]})"
        all_mutants.append(Mutant(exercise, label, text))
    return all_mutants


def _mutate(tree: ast.Module) -> Iterator[tuple[ast.Module, str]]:
    """The tree with each of its nodes replaced in turn by what it could have been. It is the same tree each time, as it was again after the last."""
    places = {child: place for parent in ast.walk(tree) for child, place in _children(parent)}
    for node in list(ast.walk(tree)):
        for instead in _instead(node, tree):
            _put(places[node], instead)
            yield tree, f"{_short(node)} → {_short(instead)}"
            _put(places[node], node)


# A node's parent, the field in which it stands there, and where the field is a list, its index.
Place = tuple[Node, str, int | None]


def _children(parent: Node) -> Iterator[tuple[Node, Place]]:
    """What can be changed among a node's children, each with its place."""
    for field, value in ast.iter_fields(parent):
        for index, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(item, (ast.stmt, ast.expr)):
                yield item, (parent, field, index)


def _put(place: Place, node: Node) -> None:
    parent, field, index = place
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _short(node: Node) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 120 else f"{text[:117]}…"


def _instead(node: Node, tree: ast.Module) -> Iterator[Node]:
    if isinstance(node, ast.stmt):
        yield from _other_statement(node)
    elif isinstance(node, ast.expr) and not _is_store(node):
        yield from _other_expression(node, tree)


def _other_statement(node: ast.stmt) -> Iterator[Node]:
    documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    # The stub's own, which nothing reaches.
    is_stub_raise = isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name)
    if (
        not documents
        and not is_stub_raise
        and not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Return, ast.Import, ast.ImportFrom, ast.Pass))
    ):
        yield ast.Pass()  # a dropped raise, a missing super().__init__(), a line forgotten
    if isinstance(node, ast.Assign) and isinstance(node.value, (ast.BinOp, ast.Call)):
        yield _with(node, value=_call(ast.Attribute(node.value, "detach", ast.Load())))
    if isinstance(node, ast.If):
        yield _with(node, test=ast.Constant(True))
        yield _with(node, test=ast.Constant(False))


def _other_expression(node: ast.expr, tree: ast.Module) -> Iterator[Node]:
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        for other in OPERATORS.get(type(node.op), ()):
            yield _with(node, op=other())
    if isinstance(node, ast.BinOp):
        yield node.left  # a term is dropped
        yield node.right
        if isinstance(node.op, NOT_COMMUTATIVE):
            yield _with(node, left=node.right, right=node.left)
        if isinstance(node.left, ast.Name) and type(node.op) in IN_PLACE:
            yield _call(ast.Attribute(node.left, IN_PLACE[type(node.op)], ast.Load()), node.right)
    elif isinstance(node, ast.BoolOp):
        for omission in range(len(node.values)):
            values = [value for index, value in enumerate(node.values) if index != omission]
            yield values[0] if len(values) == 1 else _with(node, values=values)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in OPERATORS.get(type(node.ops[0]), ()):
            yield _with(node, ops=[other()])
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Constant):
        yield from (ast.Constant(value) for value in _other_values(node.value))
    elif isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 1:
        yield _with(node, elts=[node.elts[1], node.elts[0], *node.elts[2:]])
    elif isinstance(node, ast.Call):
        yield from _other_call(node)
    elif isinstance(node, ast.Name):
        yield from _other_parameter(node, tree)
    elif isinstance(node, ast.Attribute) and node.attr in OTHER_NAME:
        yield _with(node, attr=OTHER_NAME[node.attr])
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)) and any(part.ifs for part in node.generators):
        yield _with(node, generators=[_with(part, ifs=[]) for part in node.generators])


def _other_values(value: object) -> Iterator[bool | int | float]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from {value + 1, value - 1, -value} - {value}
    elif isinstance(value, float):
        yield from (other for other in (value * 1.1, value / 2, 0.0) if other != value)


def _other_call(node: ast.Call) -> Iterator[Node]:
    function = node.func
    if isinstance(function, ast.Name) and function.id == "super":
        return
    if isinstance(function, ast.Attribute) and ast.unparse(function.value) not in MODULES:
        yield function.value  # x.f() is forgotten
    if len(node.args) == 1:
        yield node.args[0]  # so is f(x)
    for first in range(len(node.args) - 1):
        args = list(node.args)
        args[first : first + 2] = reversed(args[first : first + 2])
        yield _with(node, args=args)
    for omission in range(len(node.keywords)):
        yield _with(node, keywords=[word for index, word in enumerate(node.keywords) if index != omission])
    if isinstance(function, ast.Name) and function.id == "range":
        *before, end = node.args[:2]
        yield _with(node, args=[*before, ast.BinOp(end, ast.Sub(), ast.Constant(1)), *node.args[2:]])
        if not before:
            yield _with(node, args=[ast.Constant(1), end])


def _other_parameter(node: ast.Name, tree: ast.Module) -> Iterator[Node]:
    """The parameter that stands next to it in its function."""
    if node.id in OTHER_NAME:
        yield ast.Name(OTHER_NAME[node.id], ast.Load())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and any(part is node for part in ast.walk(function)):
            names = [parameter.arg for parameter in function.args.args if parameter.arg != "self"]
            if node.id in names and len(names) > 1:
                yield ast.Name(names[(names.index(node.id) + 1) % len(names)], ast.Load())


def _is_store(node: ast.expr) -> bool:
    return not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _call(function: ast.expr, *args: ast.expr) -> ast.Call:
    return ast.Call(function, list(args), [])


def _with(node: Any, **fields: Any) -> Any:
    clone = copy.copy(node)
    for name, value in fields.items():
        setattr(clone, name, value)
    return clone


# How they are graded


def grade_mutants(exercise: str, batch: list[Mutant]) -> list[GradedMutant]:
    """Each of the mutants of one exercise with its verdict, on hidden draws of development."""
    torch.set_num_threads(1)
    seeds = draws.development(exercise)
    stored.load_for_development(exercise)
    return [_grade(mutant, seeds) for mutant in batch]


def _grade(mutant: Mutant, seeds: tuple[int, ...]) -> GradedMutant:
    key = keys.find(mutant.exercise)
    reference_outputs = compute.reference_outputs(mutant.exercise, seeds)
    inputs = compute.inputs(key.exercise, seeds)
    try:
        with contain(), limit_time(SECONDS):
            observations = [key.exercise.observe(_answer(mutant, key.exercise), case_inputs) for case_inputs in inputs]
    except (TimeUp, MemoryError):
        return GradedMutant(mutant, None, is_endless=True)
    return GradedMutant(mutant, compare(key.exercise, reference_outputs, observations, inputs))


def _answer(mutant: Mutant, exercise: Exercise) -> object:
    namespace = dict(_run_imports(active_course().notebook_of(exercise.name)))
    file = f"<answer: {exercise.name}>"
    # For the message about an exception, which quotes the line that raised it.
    linecache.cache[file] = (len(mutant.source), None, mutant.source.splitlines(keepends=True), file)
    try:
        exec(compile(mutant.source, file, "exec"), namespace)
    except Exception as error:
        return _raises(error)
    return namespace.get(exercise.name, ...)


def _raises(error: Exception) -> Callable[..., object]:
    """What stands for a cell that did not run."""

    def answer(*arguments: object, **options: object) -> object:
        raise error

    return answer


@cache
def _run_imports(notebook: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "mutant"}
    exec(compile(cells_of(notebook)["imports"], f"<{notebook}: imports>", "exec"), namespace)
    return namespace


def run(
    selection: list[Mutant], tell: Callable[[int], None] = lambda count: None, workers: int | None = None
) -> list[GradedMutant]:
    """What becomes of each mutant, in the order given. `tell` is called with how many were graded just now."""
    parts: list[list[Mutant]] = []
    for mutant in selection:
        if not parts or parts[-1][0].exercise != mutant.exercise or len(parts[-1]) == BATCH_SIZE:
            parts.append([])
        parts[-1].append(mutant)
    results: dict[Mutant, GradedMutant] = {}
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=forkserver.start()) as pool:
        futures = [pool.submit(grade_mutants, part[0].exercise, part) for part in parts]
        for future in as_completed(futures):
            results |= {graded.mutant: graded for graded in future.result()}
            tell(len(future.result()))
    return [results[mutant] for mutant in selection]


# Survivors


def read_reasons() -> dict[tuple[str, str], str]:
    """By exercise and change, why a mutant may survive. The file lists them below their reasons."""
    by_reason: dict[str, dict[str, list[str]]] = json.loads(
        active_course().beside_keys(SURVIVORS).read_text(encoding="utf-8")
    )
    return {
        (exercise, change): reason
        for reason, changes_by_exercise in by_reason.items()
        for exercise, changes in changes_by_exercise.items()
        for change in changes
    }


def problems(results: list[GradedMutant]) -> list[str]:
    """Survivors without a reason, and reasons whose mutant was graded and did not survive."""
    reasons = read_reasons()
    messages = []
    for graded in results:
        exercise, change = graded.mutant.exercise, graded.mutant.change
        reason = reasons.get((exercise, change))
        if graded.is_survivor and not reason:
            messages.append(f"{exercise}: earns full marks with {change}")
        elif reason and not graded.is_survivor:
            messages.append(f"{exercise}: is listed among the survivors but does not survive: {change}")
    return messages


def all_of(names: Iterable[str]) -> list[Mutant]:
    """The mutants of the exercises that ask for code: of a letter or a number there is nothing to change."""
    return [mutant for name in names if callable(keys.find(name).the_truth.answer) for mutant in mutants(name)]
