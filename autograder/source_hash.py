"""What a file of this project is made of: itself, every module of ours that it imports, directly or through others, and what lies beside a module and
belongs to it. One hash is said of them all."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
    return hashlib.sha256(b"\0".join(sorted(file.read_bytes() for file in files(*starts)))).hexdigest()


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
    scripts = [script for name in _script_names(file) if (script := file.with_name(name)).is_file()]
    if not scripts:
        return set()
    stills = file.parent / "stills"
    return {Path(str(module.__file__)).resolve() for module in (boards, palette)}.union(
        *(boards.scripts(script) for script in scripts),
        *(boards.sheets(script) for script in scripts),
        stills.glob(f"{file.stem}.svg"),
        stills.glob(f"{file.stem}_*.svg"),
    )


@cache
def _script_names(file: Path) -> frozenset[str]:
    """The names of JavaScript files in a module's code."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return frozenset(text for text in texts if isinstance(text, str) and text.endswith(".js"))


@cache
def imports_of(file: Path) -> frozenset[Path]:
    """The modules of ours that a file imports itself, wherever in it."""
    return frozenset(path for name in imported_names_of(file) if (path := _module(name)))


@cache
def imported_names_of(file: Path) -> frozenset[str]:
    """The dotted names that a file imports, or may import, wherever in it."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    return frozenset(name for node in ast.walk(tree) for name in _names(node))


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
