"""What only a person can settle, `collected/settle.csv` in a class's folder: who somebody is, which notebook counts, what may be left. Called by collect.

A line a matter. Somebody fills in one of the last three columns, and the next collecting reads it. Lines that were filled in stay; those that are
settled otherwise go.
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
from autograder.lms.sheets import Sheet, bare, table

FILE = "settle.csv"
COLUMNS = (
    "archive", "system", "who", "name", "file", "trouble", "suggestion", "student", "assignment", "leave",
)  # fmt: skip
ANSWERS = ("student", "assignment", "leave")
NO = {"no", "n", "nein", "non", "false", "0", "-"}  # in the column leave, where anything else means yes


@dataclass(frozen=True)
class OpenQuestion:
    """One thing to settle. student: whose it is, or the members of a group; assignment: that this file is the notebook of; leave: that it may stay as it is."""

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

    @property
    def place(self) -> tuple[str, str, str]:
        return self.system, self.who, normalize_name(self.file)


@dataclass
class OpenQuestions:
    """What people have settled so far. blanks: matters of earlier runs that nobody has."""

    answers: list[OpenQuestion] = field(default_factory=list)
    blanks: list[OpenQuestion] = field(default_factory=list)

    @classmethod
    def load(cls, class_folder: ClassFolder) -> OpenQuestions:
        """What stands in the file; nothing where there is none. Raises UserError: it can't be used."""
        path, questions = _path(class_folder), cls()
        if not path.exists():
            return questions
        sheet = Sheet.read(path)
        titles = [title.strip().lower() for title in sheet.header]
        if missing := [title for title in COLUMNS if title not in titles]:
            raise UserError(f"{path} has no column {missing[0]}: its columns are {sheet.titles}")
        for row in sheet.rows:
            cells = {title: bare(row[titles.index(title)]) for title in COLUMNS}
            cells |= {title: cells[title].strip() for title in ANSWERS}
            if cells["leave"].casefold() in NO:
                cells["leave"] = ""
            matter = OpenQuestion(**cells, line=row.line)
            (questions.answers if matter.is_filled else questions.blanks).append(matter)
        return questions

    def save(self, class_folder: ClassFolder, archive: str, open_matters: Sequence[OpenQuestion]) -> Path:
        """Write it anew: what is filled in, what is open in other archives, and what is open in this one. Returns where."""
        others = [matter for matter in self.blanks if matter.archive != archive]
        rows = [
            [getattr(matter, title) for title in COLUMNS]
            for matter in dict.fromkeys((*self.answers, *others, *open_matters))
        ]
        path, data = _path(class_folder), table(COLUMNS, rows)
        if (rows or path.exists()) and not (path.is_file() and path.read_bytes() == data):
            write_private(path, data)
        return path

    @property
    def files(self) -> set[str]:
        """The files that somebody called a notebook of an assignment."""
        return {normalize_name(matter.file) for matter in self.answers if matter.assignment}

    def student(self, system: str, who: str) -> OpenQuestion | None:
        """The line in which somebody wrote whose all files of this token are."""
        matches = [m for m in self.answers if (m.system, m.who) == (system, who) and m.student]
        return matches[-1] if matches else None

    def assignment(self, system: str, who: str, file: str) -> OpenQuestion | None:
        """The line in which somebody wrote of which assignment this file is the notebook."""
        matches = [m for m in self.answers if m.place == (system, who, normalize_name(file)) and m.assignment]
        return matches[-1] if matches else None

    def is_left(self, system: str, who: str, file: str) -> bool:
        """Whether somebody said that this may stay as it is."""
        return any(m.place == (system, who, normalize_name(file)) and m.leave for m in self.answers)


def _path(class_folder: ClassFolder) -> Path:
    return class_folder.path / manifest.FOLDER / FILE
