"""A learner's own code: a check keeps the source of an earned answer in one file that runs alone, a section for each exercise that the course names.

The file is the learner's. Once they have changed it, no check writes it again. What an answer refers to (functions, classes, constants and imports of its
notebook) comes into its section. Where something can't be had, no section is written, and the panel says what is missing.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import hashlib
import inspect
import linecache
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, cast

from IPython.core.getipython import get_ipython

from ffnlab.checking import record
from ffnlab.environment import is_unattended
from ffnlab.observation.containment import MAX_CHARACTERS, Stop, contain
from ffnlab.registry import KeptCode, active_course

HEADING = re.compile(r"^# === (\w+), (\S+), (\d{4}-\d\d-\d\d) ===$", re.MULTILINE)
HEAD = """\
# {file}: the code with which you earned exercises. It runs on its own.
# Read it, run it, change it. Once you have changed it, no check touches it. Delete it, and the next check begins a new one.
"""
DIGEST = "# As a check wrote it: "
MAX_CONSTANT_LENGTH = 500  # characters of a constant

WRITTEN = "Your code is in `{file}` now."
EDITED = "You have changed `{file}`, so it stays as it is, without this answer."
NOT_WRITTEN = "`{file}` could not be written: {reason}."
NOT_KEPT = "This code is not in `{file}`: {reason}."
FOREIGN = "it needs `{name}` from {package}, which the file must not import"
NO_SOURCE = "it needs `{name}`, whose source can't be found"
NO_ANSWER = "its source can't be found"
CLASH = "`{name}` means something else in the section of `{section}`"
NOT_ALONE = "outside this notebook it does something else"


class UnfitCode(Exception):
    """An answer's code can't be kept; the message says why, in a clause."""


class ChangedFile(Exception):
    """The learner has changed the file."""


class Section(NamedTuple):
    """A section of the file: the exercise's notebook, the day on which its answer was kept, and its code."""

    notebook: str
    day: str
    code: str


def keep(name: str, answer: object, earns: Callable[[object], bool]) -> str:
    """Keep the code of an answer that has earned the exercise called `name`, if the course keeps its code. Raises nothing.

    earns: whether another answer earns the exercise. What the file defines is asked before the file is written.

    Returns what is to be said of it in a sentence; nothing where nothing has changed.
    """
    settings = active_course().kept_code
    folder = record.folder()
    if settings is None or name not in settings.exercises or folder is None or is_unattended():
        return ""
    file = folder / settings.file
    is_written = False

    @cache
    def revise(text: str) -> str | None:
        return _revise(text, settings, name, answer, earns)

    def make_text() -> str | None:
        nonlocal is_written
        text = revise(_read(file))
        is_written = text is not None
        return text

    try:
        record.rewrite(file, make_text)
    except ChangedFile:
        return EDITED.format(file=settings.file)
    except UnfitCode as why:
        return NOT_KEPT.format(file=settings.file, reason=why)
    except OSError as error:
        return NOT_WRITTEN.format(file=settings.file, reason=error.strerror or type(error).__name__)
    except Exception as error:  # the answer's code can be anything, and can have changed anything
        return NOT_KEPT.format(file=settings.file, reason=f"reading it ended in {type(error).__name__}")
    return WRITTEN.format(file=settings.file) if is_written else ""


def load() -> tuple[dict[str, Any], dict[str, str]]:
    """What the file defines under the names of its course's exercises; and by section, why its code does not run."""
    settings = active_course().kept_code
    folder = record.folder()
    if settings is None or folder is None:
        return {}, {}
    file = folder / settings.file
    try:
        text = _read(file)
    except OSError:
        return {}, {}
    definitions, errors = _run(text, str(file))
    return {name: definitions[name] for name in settings.exercises if name in definitions}, errors


# The file


def _read(file: Path) -> str:
    """The file's text; "" where it is missing, or empty as a power cut can leave it.

    Raises:
        OSError: it can't be read.
    """
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return text if text.strip("\0\ufeff \t\r\n") else ""


def _sections(text: str) -> dict[str, Section]:
    """The sections of a file, by exercise."""
    headings = list(HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)][: len(headings)]
    return {
        heading[1]: Section(heading[2], heading[3], text[heading.end() : end].strip("\n"))
        for heading, end in zip(headings, ends, strict=True)
    }


def _text(settings: KeptCode, sections: Mapping[str, Section]) -> str:
    """The whole file."""
    order = [*settings.exercises, *sections]  # what the course no longer has comes last
    parts = [
        f"# === {name}, {section.notebook}, {section.day} ===\n\n{section.code}\n"
        for name, section in sorted(sections.items(), key=lambda entry: order.index(entry[0]))
    ]
    body = "\n\n".join(["", *parts])
    head = HEAD.format(file=settings.file)
    return f"{head}{DIGEST}{_digest(head + body)}\n{body}"


def _is_as_written(text: str) -> bool:
    """Whether a file is as a check wrote it."""
    match = re.search(rf"^{DIGEST}(\w+)\n", text, re.MULTILINE)
    return match is not None and match[1] == _digest(text[: match.start()] + text[match.end() :])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _revise(text: str, settings: KeptCode, name: str, answer: object, earns: Callable[[object], bool]) -> str | None:
    """The file's text with an answer's code in it; None where it is in it already.

    Raises:
        ChangedFile: the file is not as a check wrote it. UnfitCode: the code can't be kept.
    """
    sections = _sections(text)
    others = {other: section for other, section in sections.items() if other != name}
    code = _code(name, answer, settings, others)
    if name in sections and sections[name].code == code:
        return None
    if text and not _is_as_written(text):
        raise ChangedFile
    own = _bindings(code)
    for other, section in others.items():
        for bound_name, dump in _bindings(section.code).items():
            if bound_name == name:  # a copy from before it was earned
                section = section._replace(code=_without(section.code, name))
                others[other] = section
            elif own.get(bound_name, dump) != dump:
                raise UnfitCode(CLASH.format(name=bound_name, section=other))
    today = Section(active_course().notebook_of(name), date.today().isoformat(), code)
    whole = _text(settings, others | {name: today})
    definitions, errors = _run(whole, f"<answer {name}>")
    if errors or not earns(definitions.get(name)):
        raise UnfitCode(NOT_ALONE)
    return whole


def _run(text: str, file: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What the sections of a file define, one after the other; and by section, why its code does not run."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": Path(file).stem}
    errors = {}
    headings = list(HEADING.finditer(text))
    starts = [0, *(heading.start() for heading in headings)]
    names = ["", *(heading[1] for heading in headings)]
    with contextlib.suppress(Stop), contain(MAX_CHARACTERS):
        for name, start, end in zip(names, starts, [*starts[1:], len(text)], strict=True):
            try:
                lines = "\n" * text.count("\n", 0, start)
                exec(compile(lines + text[start:end], file, "exec", dont_inherit=True), namespace)
            except (Exception, SystemExit) as error:
                errors[name] = f"{type(error).__name__}: {error}"
    return namespace, errors


# An answer's code


def _code(name: str, answer: object, settings: KeptCode, others: Iterable[str]) -> str:
    """The code of an answer with all that it refers to.

    others: exercises that the file has sections of; they are not copied.

    Raises:
        UnfitCode: something of it can't be had.
    """
    return _collect(name, answer, {*sys.stdlib_module_names, *settings.packages}, frozenset(others))


def source_of(name: str, answer: object) -> str:
    """The code of an answer with all of its notebook that it refers to, whatever it imports.

    Raises:
        UnfitCode: something of it can't be had; the message says what, in a clause.
    """
    return _collect(name, answer, {module.partition(".")[0] for module in sys.modules} - {"__main__"}, frozenset())


def _collect(name: str, answer: object, packages: set[str], others: frozenset[str]) -> str:
    """The code of an answer.

    packages: what may be imported. others: names that are not copied.
    """
    namespace = _namespace(answer)
    if namespace.get(name) is not answer:
        elsewhere = next((key for key, value in namespace.items() if value is answer and not key.startswith("_")), "")
        if not elsewhere:
            raise UnfitCode(NO_ANSWER)
        namespace = {**namespace, name: answer}
    else:
        elsewhere = ""
    collector = _CodeCollector(namespace, packages, others)
    collector.add(elsewhere or name, is_answer=True)
    if elsewhere:
        collector.definitions.append(f"{name} = {elsewhere}")
    return collector.text()


def _namespace(answer: object) -> dict[str, Any]:
    """The names of the notebook in which an answer was defined."""
    shell = get_ipython()
    if shell is not None:
        return dict(shell.user_ns)
    return next((function.__globals__ for function in _functions(answer)), {})


def _functions(value: object) -> Iterator[FunctionType]:
    """A function, or the functions of a class, each without its decorators where they say what they decorate."""
    for member in vars(value).values() if isinstance(value, type) else [value]:
        with contextlib.suppress(ValueError):  # one that decorates itself
            function: Any = inspect.unwrap(cast("Any", getattr(member, "__func__", member)))
            if isinstance(function, FunctionType):
                yield function


class _CodeCollector:
    """What is copied from a notebook: imports, and definitions in an order in which each finds what it needs."""

    def __init__(self, namespace: Mapping[str, Any], packages: set[str], others: frozenset[str]) -> None:
        self.imports: set[str] = set()
        self.definitions: list[str] = []
        self._namespace, self._packages, self._others = namespace, packages, others
        self._names: set[str] = set()

    def text(self) -> str:
        imports = "\n".join(sorted(self.imports, key=lambda line: (line.startswith("from"), line)))
        text, gap = imports, 2  # newlines between this and a short one
        for definition in self.definitions:
            is_short = "\n" not in definition
            text += "\n" * ((gap if is_short else 3) if text else 0) + definition
            gap = 1 if is_short else 3
        return text

    def add(self, name: str, is_answer: bool = False) -> None:
        """Add what a name stands for, and before it all that this refers to.

        Raises:
            UnfitCode: its source can't be found, or is that of a package which the file has to do without.
        """
        if name in self._names or (name in self._others and not is_answer):
            return
        self._names.add(name)
        value = self._namespace[name]
        if isinstance(value, ModuleType):
            self._add_import(name, value.__name__, _module_import(name, value.__name__))
        elif _is_plain(value) and not is_answer:
            self.definitions.append(f"{name} = {value!r}")
        elif statement := _statement(name, value):
            self._add_statement(name, *statement)
        elif import_line := _import_of(value, self._packages):
            self.imports.add(import_line + (f" as {name}" if import_line.rpartition(" ")[2] != name else ""))
        else:
            package = str(getattr(value, "__module__", "") or "").partition(".")[0]
            if package in sys.modules and package not in {"__main__", "builtins", *self._packages}:
                raise UnfitCode(FOREIGN.format(name=name, package=package))
            raise UnfitCode(NO_ANSWER if is_answer else NO_SOURCE.format(name=name))

    def _add_statement(self, name: str, statement: ast.stmt, source: str) -> None:
        if isinstance(statement, ast.ImportFrom):
            alias = next(alias for alias in statement.names if (alias.asname or alias.name) == name)
            alias_clause = f" as {alias.asname}" if alias.asname else ""
            module = "." * statement.level + (statement.module or "")
            self._add_import(name, module, f"from {module} import {alias.name}{alias_clause}")
            return
        for dependency in sorted(_globals(source)):
            if dependency in self._namespace and not dependency.startswith("__"):
                self.add(dependency)
        if source not in self.definitions:
            self.definitions.append(source)

    def _add_import(self, name: str, module: str, line: str) -> None:
        package = module.partition(".")[0]
        if package not in self._packages:
            raise UnfitCode(FOREIGN.format(name=name, package=package or "a folder"))
        self.imports.add(line)


def _module_import(name: str, module: str) -> str:
    parent, _, last = module.rpartition(".")
    if last != name:
        return f"import {module} as {name}"
    return f"from {parent} import {last}" if parent else f"import {module}"


def _is_plain(value: object) -> bool:
    """Whether a value is a number, a text, or a few of them: what it is now can be written down."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return all(map(_is_plain, value)) and len(repr(value)) <= MAX_CONSTANT_LENGTH
    if type(value) is dict:
        return _is_plain([*value.keys(), *value.values()])
    return value is None or (type(value) in (int, bool, str) and len(repr(value)) <= MAX_CONSTANT_LENGTH)


def _import_of(value: object, packages: set[str]) -> str:
    """How Python or one of the packages is asked for a value, such as a function that was imported; nothing where it can't be."""
    name, module = getattr(value, "__name__", ""), getattr(value, "__module__", None)
    for place in (module, *packages):
        if isinstance(place, str) and place.partition(".")[0] in packages and place in sys.modules:
            with contextlib.suppress(Exception):
                if getattr(sys.modules[place], name) is value:
                    return f"from {place} import {name}"
    return ""


def _statement(name: str, value: object) -> tuple[ast.stmt, str] | None:
    """The statement that has bound a name to a value, and its source: in the value's own cell, or else in the latest cell that binds the name."""
    files = {function.__code__.co_filename: None for function in _functions(value)}
    own = ["".join(linecache.getlines(file)) for file in files if file.startswith("<") or "ipykernel" in file]
    shell = get_ipython()
    history = shell.history_manager.input_hist_parsed if shell is not None and shell.history_manager else []
    for cell in (*own, *reversed(history)):
        for statement in reversed(_statements(cell)):
            if name in _names(statement):
                return statement, _source(cell, statement)
    return None


def _statements(cell: str) -> list[ast.stmt]:
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        return ast.parse(cell).body
    return []


def _source(cell: str, statement: ast.stmt) -> str:
    """A statement's lines, with its decorators."""
    first = min([statement.lineno, *(decorator.lineno for decorator in getattr(statement, "decorator_list", []))])
    lines = cell.splitlines()[first - 1 : statement.end_lineno]
    return "\n".join(line.rstrip() for line in lines)


def _names(statement: ast.stmt) -> set[str]:
    """The names that a statement binds. Of loops nobody knows what they do besides: they bind none here."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.Import):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        nodes = [node for target in targets for node in ast.walk(target)]
        return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if isinstance(statement, (ast.If, ast.Try, ast.With)):
        inside = [node for node in ast.iter_child_nodes(statement) if isinstance(node, (ast.stmt, ast.ExceptHandler))]
        return {
            name
            for node in inside
            for part in (node.body if isinstance(node, ast.ExceptHandler) else [node])
            for name in _names(part)
        }
    return set()


def _globals(source: str) -> set[str]:
    """The names that a source looks for outside of itself."""
    names: set[str] = set()
    codes: list[CodeType] = [compile(source, "<kept>", "exec", dont_inherit=True)]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        lookups = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
        names |= {step.argval for step in dis.get_instructions(code) if step.opname in lookups}
    return names


def _bindings(code: str) -> dict[str, str]:
    """What a section binds: by name, the statement in a form that does not depend on its layout."""
    return {name: ast.dump(statement) for statement in _statements(code) for name in _names(statement)}


def _without(code: str, name: str) -> str:
    """A section without its definition of a name."""
    for statement in _statements(code):
        if _names(statement) == {name}:
            code = code.replace(_source(code, statement), "", 1)
    return re.sub(r"\n{4,}", "\n\n\n", code).strip("\n")
