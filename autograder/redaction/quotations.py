"""Which of a student's own words a page may show: those that stand in what was handed in, and the sentences of our own probes, which come back from the jail.

A worker is the student's process: it sends what it likes as an exception's message, type or line, and could spell out hidden inputs there.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from autograder import source_hash
from ffnlab.checking import comparison
from ffnlab.checking.verdict import AspectVerdict, Verdict
from ffnlab.observation import exercise as observation_exercise
from ffnlab.observation import plain_data
from ffnlab.observation.exercise import COMMON_NAMES
from ffnlab.phrases import LINE, QUOTATION, TYPE
from ffnlab.registry import active_course

MAX_CODE = 64 * 1024  # characters of a submission's code: who hands in more words can choose among more
MAX_TEXT = 200  # characters of a text that is compared with our own sentences
MAX_DEPTH = 3  # a hole may hold a sentence with holes
MAX_HOLES = 4  # a sentence with more takes too long to compare
WITHHELD = "…"
KNOWN_NAMES = {
    *dir(builtins),
    *dir(torch),
    *dir(torch.nn),
    "ndarray",
    "LinAlgError",
    "NotAsAsked",
    "NoneType",
    "torch",
    "function",
    "method",
    "module",
} | {*COMMON_NAMES.values()}
EMPTY_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
SIZES = re.compile(r"\[?(?:\d{1,2}|[a-z])?(?:, (?:\d{1,2}|[a-z]))?\]?(?: values?)?|[(), 01]{1,40}")
LINE_WITH_NUMBER = re.compile(r"line (\d{1,6}): (.+)", re.DOTALL)


def strip_unquoted(verdict: Verdict, sources: Sequence[str]) -> Verdict:
    """The verdict in which `told` holds those words alone that a page may show.

    sources: the student's code, cell by cell, that of the exercise first.
    """
    cells, room = list[str](), MAX_CODE
    for source in sources:
        cells.append(EMPTY_LINES.sub("", source)[:room])  # IPython counts lines behind them
        room -= len(cells[-1])

    def strip_aspect(aspect: AspectVerdict) -> AspectVerdict:
        return replace(
            aspect,
            raw_symptom=QUOTATION.sub(lambda match: _filter_quotation(match[2], match[1], cells), aspect.raw_symptom),
        )

    return replace(verdict, aspects=tuple(map(strip_aspect, verdict.aspects)))


def _filter_quotation(text: str, kind: str, cells: Sequence[str]) -> str:
    if kind == TYPE:
        return text if _is_type(text, cells) else WITHHELD
    if kind == LINE:
        match = LINE_WITH_NUMBER.fullmatch(text)
        return text if match and any(_stands_in_line(int(match[1]), match[2], cell) for cell in cells) else WITHHELD
    return text if _is_literal(text, cells) else _filter_probe_text(text, cells)


def _is_type(text: str, cells: Sequence[str]) -> bool:
    names = text.split(".")
    return len(names) <= 2 and all(
        name in KNOWN_NAMES or any(re.search(rf"^\s*class {re.escape(name)}\b", cell, re.MULTILINE) for cell in cells)
        for name in names
    )


def _stands_in_line(number: int, text: str, cell: str) -> bool:
    return text in [line.strip() for line in cell.split("\n")[number - 1 : number]]


def _is_literal(text: str, cells: Sequence[str]) -> bool:
    """Whether the text stands between quotes in the code, by itself."""
    return any(quote not in text and f"{quote}{text}{quote}" in cell for quote in "\"'" for cell in cells)


def _filter_probe_text(text: str, cells: Sequence[str], depth: int = 0) -> str:
    """What may be shown of a text where a probe of ours says it: in its holes what may be shown itself."""
    kind = re.fullmatch(r"an? ([\w.]+|NumPy array)", text)
    if text in _sentences() or SIZES.fullmatch(text) or _is_type(kind[1] if kind else text, cells):
        return text
    if depth == MAX_DEPTH or len(text) > MAX_TEXT:
        return WITHHELD
    matches = [form.fullmatch(text.rstrip("…")) for form, parts in _forms() if all(part in text for part in parts)]
    candidates = [
        _fill_form(match, [_filter_hole(hole, cells, depth) for hole in match.groups()]) for match in matches if match
    ]
    return max(candidates, key=lambda filled: (-filled.count(WITHHELD), len(filled)), default=WITHHELD)


def _filter_hole(text: str, cells: Sequence[str], depth: int) -> str:
    return text if not text or _is_literal(text.strip("'"), cells) else _filter_probe_text(text, cells, depth + 1)


def _fill_form(match: re.Match[str], fillings: Sequence[str]) -> str:
    """What a form has matched, with other things in its holes."""
    text, end = "", 0
    for index, filling in enumerate(fillings, start=1):
        text += match.string[end : match.start(index)] + filling
        end = match.end(index)
    return text + match.string[end:]


@cache
def _forms() -> list[tuple[re.Pattern[str], list[str]]]:
    """The sentences with holes in our probes; of those with several clauses also the first."""
    forms = []
    for node in _nodes():
        if isinstance(node, ast.JoinedStr):
            parts = [str(value.value) if isinstance(value, ast.Constant) else None for value in node.values]
            for some in (parts, _first_clause(parts)):
                words = [part for part in some if part]
                if some.count(None) <= MAX_HOLES and sum(map(str.isalpha, "".join(words))) >= 8:
                    forms.append(
                        (re.compile("".join("(.*?)" if part is None else re.escape(part) for part in some)), words)
                    )
    return forms


def _first_clause(parts: list[str | None]) -> list[str | None]:
    for index, part in enumerate(parts):
        if part and "; " in part:
            return [*parts[:index], part.partition("; ")[0]]
    return parts


@cache
def _sentences() -> frozenset[str]:
    """The texts without holes in our probes."""
    texts = (node.value for node in _nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return frozenset(texts)


@cache
def _nodes() -> list[ast.AST]:
    course = active_course()
    probes = source_hash.files(*map(course.exercises_file, course.notebooks))
    files = {
        *(file for file in probes if course.folder in file.parents and file.suffix == ".py"),
        *(Path(str(module.__file__)) for module in (observation_exercise, plain_data, comparison)),
    }
    return [node for file in sorted(files) for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
