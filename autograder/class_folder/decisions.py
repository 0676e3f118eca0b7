"""What only a person can decide, `collected/settle.csv` in a class's folder: who somebody is, which notebook counts, what may be left. Called by collect.

A line a decision. Somebody fills in one of the last three columns, and the next collecting reads it. Lines that were filled in stay; those that
nobody has to decide any more go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.class_folder import manifest
from autograder.class_folder.folder import ClassFolder
from autograder.errors import UserError
from autograder.files import write_private
from autograder.lms.archive import normalize_name
from autograder.lms.sheets import Sheet, is_rounded, make_table, unguard
from autograder.paths import assignments
from ffnlab.untrusted_text import in_a_line

FILE = "settle.csv"
COLUMNS = (
    "archive", "system", "who", "name", "file", "trouble", "suggestion", "student", "assignment", "leave",
)  # fmt: skip
ANSWERS = ("student", "assignment", "leave")
# In the column leave. What is neither is no answer: a note in the wrong column must leave nobody's work out.
YES = {"yes", "y", "ja", "j", "oui", "o", "si", "sí", "s", "true", "wahr", "vrai", "x", "1", "ok"}
NO = {"no", "n", "nein", "non", "false", "falsch", "faux", "0", "-"}


@dataclass(frozen=True)
class Decision:
    """One thing that a person decides. student: whose it is, or the members of a group; assignment: that this file is the notebook of.

    leave: that it may stay as it is.
    """

    archive: str
    system: str
    who: str
    name: str
    file: str
    trouble: str
    suggestion: str = ""
    student: str = ""
    assignment: str = ""
    leave: str = ""
    line: int = field(default=0, compare=False)  # in the file

    @property
    def is_filled(self) -> bool:
        return bool(self.student or self.assignment or self.leave)

    def is_about(self, system: str, who: str, file: str) -> bool:
        """Whether it is about what this token handed in. Where a spreadsheet program has rounded the token, the file says it."""
        is_file = is_rounded(self.who) and normalize_name(self.file) == normalize_name(file)
        return self.system == system and (self.who == who or is_file)


@dataclass
class Decisions:
    """What people have decided. pending: what earlier runs have left to them, and nobody has decided. troubles: a line on each cell that is no answer."""

    final: list[Decision] = field(default_factory=list)
    pending: list[Decision] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, class_folder: ClassFolder) -> Decisions:
        """What stands in the file; nothing where there is none. Raises UserError: it can't be used."""
        path, decisions = _path(class_folder), cls()
        if not path.exists():
            return decisions
        sheet = Sheet.read(path)
        titles = [title.strip().lower() for title in sheet.header]
        if missing := [title for title in COLUMNS if title not in titles]:
            raise UserError(f"{path} has no column {missing[0]}: its columns are {sheet.titles}")
        for row in sheet.rows:
            cells = {title: unguard(row[titles.index(title)]) for title in COLUMNS}
            cells |= {title: cells[title].strip() for title in ANSWERS}
            if cells["leave"] and cells["leave"].casefold() not in YES:
                if cells["leave"].casefold() not in NO:
                    note = f"line {row.line}: the column leave takes yes or nothing, and {in_a_line(cells['leave'], 40)!r} is neither"
                    decisions.troubles.append(note)
                cells["leave"] = ""
            decision = Decision(**cells, line=row.line)
            (decisions.final if decision.is_filled else decisions.pending).append(decision)
        return decisions

    def save(self, class_folder: ClassFolder, archive: str, pending: Sequence[Decision]) -> Path:
        """Write it anew: what is filled in, what is pending in other archives, and what is `pending` in this one. Returns where."""
        others = [decision for decision in self.pending if decision.archive != archive]
        rows = [
            [getattr(decision, title) for title in COLUMNS]
            for decision in dict.fromkeys((*self.final, *others, *pending))
        ]
        path, data = _path(class_folder), make_table(COLUMNS, rows)
        if (rows or path.exists()) and not (path.is_file() and path.read_bytes() == data):
            write_private(path, data)
        return path

    def find_pending(self, assignment: str) -> list[Decision]:
        """What nobody has decided of an assignment: by the export's, where one was of an assignment, and by the file's name, where each is of its own."""
        others = [one for one in assignments() if one != assignment]
        return [
            one
            for one in self.pending
            if not one.archive.endswith(tuple(f"({name})" for name in others))
            and (one.archive.endswith(f"({assignment})") or not any(f"+{name}+" in one.file for name in others))
        ]

    @property
    def notebook_files(self) -> set[str]:
        """The files that somebody called a notebook of an assignment."""
        return {normalize_name(one.file) for one in self.final if one.assignment}

    def find_owner(self, system: str, who: str, file: str = "") -> Decision | None:
        """The line in which somebody wrote whose all files of this token are. file: one of them."""
        matches = [m for m in self.final if m.student and m.is_about(system, who, file)]
        return matches[-1] if matches else None

    def find_assignment(self, system: str, who: str, file: str) -> Decision | None:
        """The line in which somebody wrote of which assignment this file is the notebook."""
        name = normalize_name(file)
        matches = [
            m for m in self.final if m.assignment and m.is_about(system, who, file) and normalize_name(m.file) == name
        ]
        return matches[-1] if matches else None

    def is_left(self, system: str, who: str, file: str) -> bool:
        """Whether somebody said that this may stay as it is."""
        name = normalize_name(file)
        return any(m.leave and m.is_about(system, who, file) and normalize_name(m.file) == name for m in self.final)


def _path(class_folder: ClassFolder) -> Path:
    return class_folder.path / manifest.FOLDER / FILE
