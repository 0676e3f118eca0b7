"""What of a student's code and of a remark a report may show: cleaned, and with hidden names without all that says who somebody is."""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from autograder.reports import similarity
from autograder.reports.report_parts import CodeLine
from ffnlab.untrusted_text import clean

MAX_EXAMPLE_SIZE = (16, 100)  # lines, and characters in a line


class ShownText:
    """Makes what came from students showable.

    students: all of the class, what they are called by their folder. folders: by which students are called as well; it may grow until the first text
    is shown. hide: whether names are hidden.
    """

    def __init__(self, students: Mapping[str, str], folders: Iterable[str], hide: bool) -> None:
        self._students = students
        self._folders = folders
        self._hide = hide

    def source(self, source: str) -> str:
        """A source as it may be shown."""
        return self._without_names(without_comments(source) if self._hide else clean(source, 4_000))

    def remark(self, text: str) -> str:
        """A remark on a file as it may be shown: with hidden names without the names of files, which often hold one."""
        return self._without_names(re.sub(r"(called) .*", r"\1 otherwise", text) if self._hide else text)

    def example(self, source: str, stub: str) -> tuple[list[CodeLine], bool]:
        """The first lines of a source, and whether there are more. stub: what the handout has in its place."""
        stub_lines = {line.strip() for line in stub.splitlines()}
        lines = [line.rstrip() for line in self.source(source).splitlines() if line.strip()]
        most, width = MAX_EXAMPLE_SIZE
        code_lines = []
        for line in lines[:most]:
            shown = line if len(line) <= width else line[: width - 1] + "…"
            code_lines.append(CodeLine(shown, own=line.strip() not in stub_lines))
        return code_lines, len(lines) > most

    def _without_names(self, text: str) -> str:
        """With hidden names: the text without the names of the class's students."""
        if not self._hide:
            return text
        words = {_fold_case(word) for word in re.findall(r"\w+", text)}
        names = _any_of([name for word in words for name in self._names.get(word, ())])
        return names.sub("…", text) if names else text

    @cached_property
    def _names(self) -> Mapping[str, Sequence[str]]:
        """What students are called, by the first word of it: a large class has too many names to look for each."""
        names = {word for student, name in self._students.items() for word in (student, *name.split())}
        not_theirs = {*similarity.STANDARD_NAMES, *(word.title() for word in similarity.STANDARD_NAMES)}
        names_by_word = defaultdict(list)
        for name in (names | set(self._folders)) - not_theirs:
            if first := re.search(r"\w+", name):
                names_by_word[_fold_case(first[0])].append(name)
        return names_by_word


def _any_of(names: Collection[str]) -> re.Pattern[str] | None:
    """Any of these names as a word, in whatever case, the longest first."""
    alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE) if names else None


def _fold_case(word: str) -> str:
    """What words have in common that a pattern takes for the same in whatever case: it knows one i, with a dot or without."""
    return word.casefold().replace("\N{COMBINING DOT ABOVE}", "").replace("ı", "i")


def without_comments(source: str) -> str:
    """A source without comments and texts, in which people write their names. What can't be read as Python is left out from there on."""
    lines = clean(source, 20_000).splitlines(keepends=True)
    cuts: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    end = (len(lines) + 1, 0)
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            if token.type == tokenize.COMMENT:
                cuts.append((token.start, token.end, ""))
            elif token.type == tokenize.STRING and len(token.string) > 14:
                cuts.append((token.start, token.end, '"…"'))
            elif token.type == tokenize.ERRORTOKEN and token.string.strip():
                end = token.start
                break
    except (tokenize.TokenError, SyntaxError):
        end = max((cut[1] for cut in cuts), default=(1, 0))
    text = "".join(lines[: end[0] - 1]) + (lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else "")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    for (row, column), (last_row, last_column), instead in reversed(cuts):
        text = text[: offsets[row - 1] + column] + instead + text[offsets[last_row - 1] + last_column :]
    return text
