"""Mistakes as rows: what `Key.slips` reads.

    in OLD                    the place that the rows below change, until the next `in` or `of`; of several lines, it is `in` alone, and
      - OLD                   its lines below it
    of ANSWER                 the rows below change another answer than the key's base, until the next `of`; `of base` goes back to it,
                              which mostly is the notebook's solution
    NAME: NEW                 a mistake: NEW in place of OLD; nothing behind the colon takes OLD away
        message               what the student is told, indented by four; it goes on over as many lines as it needs
    NAME: OLD -> NEW          a mistake in a place of its own
    NAME                      a mistake in several places, or of several lines, each place as a diff; without `-` it changes the place of `in`
      - OLD
      + NEW
    | NAME: NEW               another form of the mistake above it, with the same message
    || NAME: OLD -> NEW       another form, and what it changes is the mistake above it
    | MISTAKE | NAME: NEW     another form of a mistake that is kept further up; with `||`, it changes that one
    # remark                  a heading for those who read the table

A message that is one word in capitals is the text that `slips` was given under this name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

NAME = r"[A-Za-z_]\w*"
HEAD = re.compile(
    rf"(?P<form>(?P<bars>\|\|?)(?: (?P<mistake>{NAME}) \|)? )?(?P<name>{NAME})(?P<colon>:(?: (?P<new>.*))?)?"
)
MESSAGE_INDENT, DIFF_INDENT = " " * 4, " " * 2
ARROW = " -> "


class TableProblem(ValueError):
    """A row that can't be read. line: of the table, from 0. column: in that line, from 1."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.column = line, column


@dataclass
class SlipRow:
    """One mistake. line: where its row begins. of: the answer that it changes, or nothing for the base. form_of: the mistake of which it is another form."""

    line: int
    name: str
    of: str = ""
    form_of: str = ""
    replace: dict[str, str] = field(default_factory=dict)
    message: str = ""


def read(table: str, messages: Mapping[str, str]) -> Iterator[SlipRow]:
    """The rows, from top to bottom.

    Raises:
        TableProblem: a line is no row, or has no place to change, or its message has no row.
    """
    reader = _TableReader(messages)
    for number, line in enumerate(table.splitlines()):
        yield from reader.take(number, line.rstrip())
    yield from reader.finished(number + 1 if table else 0)


class _TableReader:
    """Takes line by line, and gives a row when the next one begins."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        self._messages = messages
        self._row: SlipRow | None = None
        self._mistake = ""  # of which `|` is another form
        self._of = ""
        self._place: str | None = None
        self._old: list[str] = []  # lines of a diff that is being read
        self._new: list[str] = []
        self._text: list[str] = []  # of a message

    def take(self, number: int, line: str) -> Iterator[SlipRow]:
        if not line or line.startswith("#"):
            return
        if line.startswith(MESSAGE_INDENT):
            self._take_message(number, line)
        elif line.startswith(DIFF_INDENT):
            self._take_diff(number, line)
        else:
            yield from self.finished(number)
            self._take_head(number, line)

    def _take_head(self, number: int, line: str) -> None:
        keyword, _, rest = line.partition(" ")
        if keyword == "in":
            self._place = rest
            return
        if keyword == "of" and re.fullmatch(NAME, rest):
            self._of, self._place = "" if rest == "base" else rest, None
            return
        head = HEAD.fullmatch(line)
        if head is None:
            known = HEAD.match(line)
            column = known.end() + 1 if known else 1
            raise TableProblem(number, column, f"no row begins like this: {line[column - 1 :]!r}")
        form_of = (head["mistake"] or self._mistake) if head["form"] else ""
        if head["form"] and not form_of:
            raise TableProblem(number, 1, "no mistake stands above it of which it could be another form")
        self._row = SlipRow(number, head["name"], form_of if head["bars"] == "||" else self._of, form_of)
        self._mistake = form_of or head["name"]
        if head["colon"]:
            self._change(number, head["new"] or "", head.start("colon") + 1)

    def _change(self, number: int, new: str, column: int) -> None:
        assert self._row
        old, arrow, other = f"{new} ".partition(ARROW)  # with nothing behind the arrow, it ends the line
        if arrow:
            self._row.replace[old] = other.rstrip()
        else:
            self._row.replace[self._place_above(number, column)] = new

    def _place_above(self, number: int, column: int) -> str:
        assert self._row
        if not self._place or self._row.of != self._of:
            raise TableProblem(number, column, "no `in` above it says what is replaced, and the row does not either")
        return self._place

    def _take_diff(self, number: int, line: str) -> None:
        sign, text = line[2:3], line[4:]
        if self._row is None and self._place is not None and sign == "-":
            self._place = f"{self._place}\n{text}" if self._place else text
            return
        if self._row is None or self._text or sign not in ("-", "+") or line[3:4].strip():
            raise TableProblem(number, 3, "a line of a diff is `- ` or `+ ` and a text, below a name")
        if sign == "-":
            if self._new:
                self._end_of_place(number)
            self._old.append(text)
        else:
            self._new.append(text)

    def _end_of_place(self, number: int) -> None:
        """The lines of a diff so far are one place, and what stands there instead."""
        assert self._row
        old = "\n".join(self._old) if self._old else self._place_above(number, 3)
        self._row.replace[old] = "\n".join(self._new)
        self._old, self._new = [], []

    def _take_message(self, number: int, line: str) -> None:
        if self._row is None:
            raise TableProblem(number, 5, "a message, and no row above it")
        self._text.append(line.strip())

    def finished(self, number: int) -> Iterator[SlipRow]:
        """The row that has been read, if there is one."""
        if self._row is None:
            return
        row = self._row
        if self._old or self._new:
            self._end_of_place(number)
        if not row.replace:
            raise TableProblem(row.line, len(row.name) + 1, f"{row.name} changes nothing")
        row.message = " ".join(self._text)
        if re.fullmatch(r"[A-Z][A-Z0-9_]+", row.message):
            if row.message not in self._messages:
                raise TableProblem(row.line + 1, 5, f"no message is called {row.message}")
            row.message = self._messages[row.message]
        self._row, self._text = None, []
        yield row
