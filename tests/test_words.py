"""One name for each thing: words that the course does not use, wherever a reader meets them, and what it says instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder import paths
from autograder.authoring import build

ROOT = Path(__file__).resolve().parent.parent
COURSE = ROOT / "course" / "ffnlab" / "course"
FOLDERS = (COURSE, ROOT / "course" / "ffnlab" / "diagnosis", ROOT / "autograder" / "keys")
JS_TEXT = re.compile(r"\"([^\"\n]*)\"|`([^`]*)`")
JS_HOLE = re.compile(r"\$\{[^}]*\}")
CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)\s]*\)|<[^>]+>", re.S)  # no prose: code, addresses, tags

ALLOWED = re.compile(
    r"(gated )?linear units?\b|\bunit (vector|length|step|square|interval|circle|cube)s?\b"
    r"|\bunits? of (its |the )?activation\b|\bin units of\b|\bper unit\b|\banother unit, such as percent\b",
    re.IGNORECASE,
)
INSTEAD = {  # by a pattern, what the course says
    r"units?": "neuron",
    r"hidden (units?|numbers?)": "neuron, or activation",
    r"hinges?": "kink",
    r"(a|an|the|one|each|every|its|no|this|that|two) bends?": "activation, or kink",
    r"skip[ -]connections?": "residual connection",
    r"non-?linearit(y|ies)": "activation",
    r"half[ -]blocks?": "half of a block",
    r"answers? alike": "give the same answer",
    r"in these (eleven|fourteen|fifteen|sixteen)": "in these models",
    r"so count": "so let us count",
    r"(has|have) the \w+ the same": "do the … have the same",
    r"somebody who": "a reader who, a student who",
    r"with (its|the|an|no) FFN (on|off) has": "while its FFN is off",
    r"a tutorial says": "its name and a link",
}
PATTERNS = {
    re.compile(rf"(?<![\w.-]){pattern}(?![\w-])", re.IGNORECASE): instead for pattern, instead in INSTEAD.items()
}


def texts_of_python(file: Path) -> Iterator[tuple[int, str]]:
    """Line and text of what a module says: its strings that have a space in them."""
    yield from texts_of_code(file.read_text(encoding="utf-8"))


def texts_of_code(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of the strings of a code that have a space in them, docstrings not included."""
    tree = ast.parse(source)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if node in docstrings or not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if " " in node.value:
            yield node.lineno, node.value


def texts_of_script(file: Path) -> Iterator[tuple[int, str]]:
    """Line and text of what a board's script says."""
    source = file.read_text(encoding="utf-8")
    for found in JS_TEXT.finditer(source):
        text = JS_HOLE.sub("…", found[1] or found[2] or "")
        if " " in text:
            yield source.count("\n", 0, found.start()) + 1, text


def texts_of_notebook(name: str) -> Iterator[tuple[int, str]]:
    """Number of the cell and text: of those that are read, and what those that are run say."""
    for number, cell in enumerate(build.notebook_of(name).cells):
        if cell.cell_type == "markdown":
            yield number, cell.source
        else:
            yield from ((number, text) for _, text in texts_of_code(cell.source))


def unwanted(text: str) -> list[str]:
    """The words of a text that the course does not use, each with what it says instead."""
    prose = ALLOWED.sub(" ", CODE.sub(" ", text))
    return [
        f"{found[0]!r}, not {instead!r}" for pattern, instead in PATTERNS.items() for found in pattern.finditer(prose)
    ]


@pytest.mark.parametrize("name", paths.assignments())
def test_a_notebook_has_one_name_for_each_thing(name: str) -> None:
    assert [f"cell {number}: {word}" for number, text in texts_of_notebook(name) for word in unwanted(text)] == []


@pytest.mark.reads_sources
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_boards_figures_and_panels_say_has_the_same_names(folder: Path) -> None:
    modules = [(file, texts_of_python(file)) for file in sorted(folder.rglob("*.py"))]
    scripts = [(file, texts_of_script(file)) for file in sorted(folder.rglob("*.js"))]
    found = [
        f"{file.relative_to(ROOT)}, line {line}: {word}"
        for file, texts in [*modules, *scripts]
        for line, text in texts
        for word in unwanted(text)
    ]
    assert found == []


def test_an_unwanted_word_is_found_in_prose_and_not_in_code() -> None:
    assert unwanted("Each hidden unit has a hinge.") == [
        "'unit', not 'neuron'",
        "'hidden unit', not 'neuron, or activation'",
        "'hinge', not 'kink'",
    ]
    assert unwanted("A `unit` of a gated linear unit, in units of d_model, is no fd-hinge.") == []
    assert [text for _, text in texts_of_code('"""A unit."""\nsay("two units", "unit")')] == ["two units"]
