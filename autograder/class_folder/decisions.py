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
FIELD_NAMES = {"who": "submitter"}  # of a decision, where a column is called in another way
ANSWERS = ("student", "assignment", "leave")
# In the column leave. What is neither is no answer: a note in the wrong column must leave nobody's work out.
YES = {"yes", "y", "ja", "j", "oui", "o", "si", "sí", "s", "true", "wahr", "vrai", "x", "1", "ok"}
NO = {"no", "n", "nein", "non", "false", "falsch", "faux", "0", "-"}


@dataclass(frozen=True)
class Decision:
    """One thing that a person decides."""

    archive: str
    system: str
    submitter: str  # the export's own token for whoever handed it in; the column who
    name: str
    file: str
    trouble: str
    suggestion: str = ""
    student: str = ""  # decided: whose it is, or the members of a group
    assignment: str = ""  # decided: that this file is the notebook of this one
    leave: str = ""  # decided: that it may stay as it is
    line: int = field(default=0, compare=False)  # in the file

    @property
    def is_filled(self) -> bool:
        return bool(self.student or self.assignment or self.leave)

    def is_about(self, system: str, submitter: str, file: str) -> bool:
        """Whether it is about what this token handed in. Where a spreadsheet program has rounded the token, the file says it."""
        is_file = is_rounded(self.submitter) and normalize_name(self.file) == normalize_name(file)
        return self.system == system and (self.submitter == submitter or is_file)


@dataclass
class Decisions:
    """What people have decided."""

    final: list[Decision] = field(default_factory=list)
    # What earlier runs have left to them, and nobody has decided.
    pending: list[Decision] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)  # a line on each cell that is no answer

    @classmethod
    def load(cls, class_folder: ClassFolder) -> Decisions:
        """What stands in the file; nothing where there is none. Raises UserError: it can't be used."""
        path = _path(class_folder)
        decisions = cls()
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
            texts = {FIELD_NAMES.get(title, title): text for title, text in cells.items()}
            decision = Decision(**texts, line=row.line)
            if decision.is_filled:
                decisions.final.append(decision)
            else:
                decisions.pending.append(decision)
        return decisions

    def save(self, class_folder: ClassFolder, archive: str, pending: Sequence[Decision]) -> Path:
        """Write it anew: what is filled in, what is pending in other archives, and what is `pending` in this one. Returns where."""
        others = [decision for decision in self.pending if decision.archive != archive]
        field_names = [FIELD_NAMES.get(title, title) for title in COLUMNS]
        rows = [
            [getattr(decision, name) for name in field_names]
            for decision in dict.fromkeys((*self.final, *others, *pending))
        ]
        path = _path(class_folder)
        data = make_table(COLUMNS, rows)
        if not rows and not path.exists():
            return path
        if not path.is_file() or path.read_bytes() != data:
            write_private(path, data)
        return path

    def find_pending(self, assignment: str) -> list[Decision]:
        """What nobody has decided of an assignment: by the export's, where one was of an assignment, and by the file's name, where each is of its own."""
        others = [name for name in assignments() if name != assignment]
        ends_of_others = tuple(f"({name})" for name in others)
        pending = []
        for decision in self.pending:
            if decision.archive.endswith(ends_of_others):
                continue
            is_in_its_export = decision.archive.endswith(f"({assignment})")
            is_anothers_file = any(f"+{name}+" in decision.file for name in others)
            if is_in_its_export or not is_anothers_file:
                pending.append(decision)
        return pending

    @property
    def notebook_files(self) -> set[str]:
        """The files that somebody called a notebook of an assignment."""
        return {normalize_name(decision.file) for decision in self.final if decision.assignment}

    def find_owner(self, system: str, submitter: str, file: str = "") -> Decision | None:
        """The line in which somebody wrote whose all files of this token are. file: one of them."""
        matches = [
            decision for decision in self.final if decision.student and decision.is_about(system, submitter, file)
        ]
        return matches[-1] if matches else None

    def find_assignment(self, system: str, submitter: str, file: str) -> Decision | None:
        """The line in which somebody wrote of which assignment this file is the notebook."""
        matches = [decision for decision in self._about_file(system, submitter, file) if decision.assignment]
        return matches[-1] if matches else None

    def is_left(self, system: str, submitter: str, file: str) -> bool:
        """Whether somebody said that this may stay as it is."""
        return any(decision.leave for decision in self._about_file(system, submitter, file))

    def _about_file(self, system: str, submitter: str, file: str) -> list[Decision]:
        """The filled lines about this token in which this very file stands."""
        name = normalize_name(file)
        return [
            decision
            for decision in self.final
            if decision.is_about(system, submitter, file) and normalize_name(decision.file) == name
        ]


def _path(class_folder: ClassFolder) -> Path:
    return class_folder.path / manifest.FOLDER / FILE
