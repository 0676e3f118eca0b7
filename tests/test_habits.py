"""Habits of this code that a reader pays for, each with the rule that keeps it away. What a rule finds is told with its file and line."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from conftest import ROOT

MAX_LINES = 60  # of a function: what one sees at once
VAGUE = {"one", "at", "who"}  # say nothing that the type of the variable does not say better
TYPED_BY_STUDENTS = ("autograder/keys/", "solutions/", "tests/tiny_course/solutions/")  # typed as students type it

Finding = tuple[ast.AST, str]
Rule = Callable[[ast.Module], Iterator[Finding]]


def _is_truth(node: ast.expr) -> bool:
    """Whether an expression is a comparison, a negation, `bool(…)` and the like, or a name that says that it is a truth value."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in {"bool", "any", "all"}
    if isinstance(node, ast.Name):
        return node.id.startswith(("is_", "has_", "in_"))
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _is_text_or_list(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def texts_times_truth(tree: ast.Module) -> Iterator[Finding]:
    """`"late " * is_late` and `text[: count != 1]` hide an if."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for text, truth in ((node.left, node.right), (node.right, node.left)):
                if _is_text_or_list(text) and _is_truth(truth):
                    yield node, "a text or a list is multiplied by a truth value; write an if, or `plural`"
        if isinstance(node, ast.Slice) and any(edge and _is_truth(edge) for edge in (node.lower, node.upper)):
            yield node, "a slice ends at a truth value; write an if, or `plural`"


def vague_names(tree: ast.Module) -> Iterator[Finding]:
    """A variable or an argument that is called as if its type had no name."""
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        if name in VAGUE:
            yield node, f"`{name}` says nothing; call it after what it is"


def long_functions(tree: ast.Module) -> Iterator[Finding]:
    """A function that does not fit on a screen."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_LINES:
                yield node, f"{node.name} has {lines} lines; at most {MAX_LINES}"


def parallel_calls(tree: ast.Module) -> Iterator[Finding]:
    """`due, rules = self._due(name), load(file)`: two things happen in one line. What belongs together may stand side by side: plain values, such as the
    two ends of a range, and results of one function.
    """
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            functions = [frozenset(_called(value)) for value in node.value.elts]
            if len({called for called in functions if called}) > 1:
                yield node, "a parallel assignment calls several functions; three lines are three lines"


def _called(value: ast.expr) -> Iterator[str]:
    """The functions that an expression calls, by their last name."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)


def fields_in_a_paragraph(tree: ast.Module) -> Iterator[Finding]:
    """A class whose docstring explains its fields, which are told at the field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            fields = [
                part.target.id
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            ]
            told = [
                name
                for name in fields
                if re.search(rf"(?:^|[.,;:]\s|\n\s*){name}(?:, \w+)*: ", ast.get_docstring(node) or "")
            ]
            if told:
                yield node, f"the docstring of {node.name} explains {', '.join(told)}; say it at the field"


RULES: tuple[Rule, ...] = (
    texts_times_truth, vague_names, long_functions, parallel_calls, fields_in_a_paragraph,
)  # fmt: skip
LONG_CONTENT = ("course/ffnlab/course/exercises/",)  # an exercise's inputs, listed


@cache
def sources() -> dict[str, ast.Module]:
    """By its path from the project's folder, every file of Python that is ours to write as we like."""
    files = [file for top in ("autograder", "course", "tests") for file in sorted((ROOT / top).rglob("*.py"))]
    names = [file.relative_to(ROOT).as_posix() for file in files]
    return {
        name: ast.parse(file.read_text(encoding="utf-8"))
        for name, file in zip(names, files, strict=True)
        if not name.startswith(TYPED_BY_STUDENTS) and "/." not in name
    }


@pytest.mark.reads_sources
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_nothing_in_the_project_has_a_habit_that_its_readers_pay_for(rule: Rule) -> None:
    findings = [
        f"{name}:{getattr(node, 'lineno', 0)}: {finding}"
        for name, tree in sources().items()
        if not (rule is long_functions and name.startswith(LONG_CONTENT))
        for node, finding in rule(tree)
    ]
    assert not findings, "\n" + "\n".join(findings)


def comments_behind_brackets(text: str) -> Iterator[int]:
    """The lines where a comment stands behind the bracket that closes what began lines above: it belongs above the first of them."""
    opened: list[int] = []
    closes = 0  # the line that a bracket of an earlier line was closed on
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.OP and token.string in "([{":
            opened.append(line)
        elif token.type == tokenize.OP and token.string in ")]}":
            began = opened.pop()
            is_first = not token.line[: token.start[1]].strip(" )]}")
            if began < line and is_first:
                closes = line
        elif token.type == tokenize.COMMENT and line == closes and not token.string.startswith(FOR_TOOLS):
            yield line


FOR_TOOLS = ("# fmt:", "# type:", "# noqa")


@pytest.mark.reads_sources
def test_no_comment_stands_behind_a_closing_bracket() -> None:
    """There it is read last, and pushes what would fit into one line over several."""
    findings = [
        f"{name}:{line}"
        for name in sources()
        for line in comments_behind_brackets((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert not findings, "\n".join(findings)


def test_comments_behind_brackets_are_found_where_they_end_what_began_above() -> None:
    found = "seeds = (\n    0,\n    1,\n)  # of runs\n"
    fine = "# Of runs.\nseeds = (\n    0,  # the first\n    1,\n)  # fmt: skip\nf(1)  # once\n"
    assert list(comments_behind_brackets(found)) == [4] and not list(comments_behind_brackets(fine))


EXAMPLES: dict[Rule, tuple[str, ...]] = {
    texts_times_truth: (
        'text = "late " * (count > 1)',
        'text = "late " * is_late',
        'text = "late " * any(flags)',
        "sentences = [text] * bool(late)",
        "s = 's'[: few != 1]",
    ),
    vague_names: ("for one in rows: pass", "def f(at): pass", "{who: 1 for who in names}"),
    long_functions: ("def f():\n" + "    pass\n" * MAX_LINES,),
    parallel_calls: ("due, late = find(a), late_of(a)",),
    fields_in_a_paragraph: (
        'class Grade:\n    """What counts.\n\n    points: that count.\n    """\n    points: float',
    ),
}
FINE: dict[Rule, tuple[str, ...]] = {
    texts_times_truth: ('line = "─" * width', "zeros = [0] * count", "head = text[:most]"),
    vague_names: ("for row in rows: pass", "count, total = 1, 2"),
    long_functions: ("def f():\n" + "    pass\n" * (MAX_LINES - 1),),
    parallel_calls: ("low, high = 0, len(rows)", "a, b = b, a", "low, high = round(a), round(b)"),
    fields_in_a_paragraph: ('class Grade:\n    """What counts."""\n    points: float  # that count',),
}


@pytest.mark.parametrize(("rule", "code"), [(rule, code) for rule in RULES for code in EXAMPLES[rule]])
def test_each_rule_finds_its_habit(rule: Rule, code: str) -> None:
    assert list(rule(ast.parse(code)))


@pytest.mark.parametrize(("rule", "code"), [(rule, code) for rule in RULES for code in FINE[rule]])
def test_no_rule_minds_what_reads_well(rule: Rule, code: str) -> None:
    assert not list(rule(ast.parse(code)))
