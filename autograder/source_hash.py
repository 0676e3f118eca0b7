"""What a file of this project is made of: itself, every module of ours that it imports, directly or through others, and what lies beside a module and
belongs to it. One hash is said of them all.

Of Python, the hash is that of the syntax tree: formatting and comments change no result, so they make nothing out of date.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ffnlab
from ffnlab import boards, palette
from ffnlab.registry import active_course

PACKAGES = {  # ours, with their folders
    "ffnlab": Path(ffnlab.__file__).resolve().parent,
    "autograder": Path(__file__).resolve().parent,
}
COMPARISON = PACKAGES["ffnlab"] / "checking" / "comparison.py"  # how an answer is compared: every verdict depends on it


def packages() -> dict[str, Path]:
    """By name, the folders of the packages that are ours, and of those that the course consists of."""
    course = active_course()
    its = {course.package: course.import_folder}
    if course.keys_folder:
        its[course.keys] = course.keys_import_folder
    tops = {name.partition(".")[0]: folder for name, folder in its.items()}
    return {top: folder / top for top, folder in tops.items()} | PACKAGES


def version(*starts: Path) -> str:
    """A hash of all that these files are made of, in 64 hexadecimal digits: the same wherever the packages lie."""
    return combine(hash_file(file) for file in files(*starts))


def combine(hashes: Iterable[str]) -> str:
    """One hash of several, whatever their order."""
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()


def hash_file(file: Path) -> str:
    """A hash of a file: of Python its syntax tree, of anything else its bytes."""
    return _read(file).hash if file.suffix == ".py" else hashlib.sha256(file.read_bytes()).hexdigest()


def hash_tree(node: ast.AST) -> str:
    """A hash of a syntax tree, without places, comments and formatting. It is the same on every version of Python that has these nodes."""
    parts: list[str] = []
    _describe(node, parts)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


FIELDS_LEFT_OUT = {"ctx", "kind", "type_comment", "type_ignores"}  # said by the rest, or by a comment


def _describe(value: Any, parts: list[str]) -> None:
    """Append a node's kind and its fields. Empty fields are left out, as newer versions of Python have more of them."""
    if isinstance(value, ast.AST):
        parts.append(f"{type(value).__name__}(")
        for field in value._fields:
            child = getattr(value, field, None)
            if child is not None and child != [] and field not in FIELDS_LEFT_OUT:
                parts.append(field)
                _describe(child, parts)
        parts.append(")")
    elif isinstance(value, list):
        parts.append("[")
        for item in value:
            _describe(item, parts)
        parts.append("]")
    else:
        parts.append(repr(value))


def files(*starts: Path) -> set[Path]:
    """These files, the modules that they import, the stored results (.json) beside an experiment among them, and all of a board but its Python.

    A package's own `__init__.py` is left out: it gathers what is in the package, and most of that is not used.

    Raises:
        OSError: one of `starts` can't be read. SyntaxError: one is not Python.
    """
    paths: set[Path] = set()
    new = {start.resolve() for start in starts}
    while new:
        paths |= new
        new = {module for file in new for module in imports_of(file)} - paths
    results = {result for file in paths if (result := file.with_suffix(".json")).is_file()}
    return paths.union(results, *(_of_boards(file) for file in paths))


def _of_boards(file: Path) -> set[Path]:
    """Of the boards that a module makes: scripts, sheets, still pictures, and what turns them into HTML."""
    if "ffnlab.boards" not in imported_names_of(file):
        return set()
    scripts = [script for name in _read(file).script_names if (script := file.with_name(name)).is_file()]
    if not scripts:
        return set()
    stills = file.parent / "stills"
    return {Path(str(module.__file__)).resolve() for module in (boards, palette)}.union(
        *(boards.scripts(script) for script in scripts),
        *(boards.sheets(script) for script in scripts),
        stills.glob(f"{file.stem}.svg"),
        stills.glob(f"{file.stem}_*.svg"),
    )


class _Module(NamedTuple):
    """What is read of a file of Python, in one go."""

    imported_names: frozenset[str]  # dotted
    script_names: frozenset[str]  # of files of JavaScript, in its texts
    hash: str


@cache
def _read(file: Path) -> _Module:
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    names = (name for node in ast.walk(tree) for name in _names(node))
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    scripts = (text for text in texts if isinstance(text, str) and text.endswith(".js"))
    return _Module(frozenset(names), frozenset(scripts), hash_tree(tree))


@cache
def imports_of(file: Path) -> frozenset[Path]:
    """The modules of ours that a file imports itself, wherever in it."""
    return frozenset(path for name in imported_names_of(file) if (path := _module(name)))


def imported_names_of(file: Path) -> frozenset[str]:
    """The dotted names that a file imports, or may import, wherever in it."""
    return _read(file).imported_names


def _names(node: ast.AST) -> Iterator[str]:
    """The dotted names that an import may mean: `from a import b` has the module a or a.b."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module(name: str) -> Path | None:
    top, *rest = name.split(".")
    if top not in packages() or not rest:
        return None
    if top == "ffnlab" and len(rest) == 1:  # what notebooks import of the package itself is defined in a module of it
        rest = ffnlab.MODULES.get(rest[0], rest[0]).split(".")
    path = packages()[top].joinpath(*rest).with_suffix(".py")
    return path if path.is_file() else None
