"""Students by whatever a person types for them: the folder, an id, a login, an e-mail address, or a name that one student alone has.

Called by policy for course.toml, and by the commands that take a student.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autograder.class_folder.folder import FOLDER_NAME, ClassFolder
from autograder.class_folder.roster import Roster, keys
from autograder.errors import UserError, find_nearest
from autograder.lms.records import PersonName
from ffnlab.untrusted_text import in_a_line

MAX_SUGGESTIONS = 4  # who may be meant, in a line


@dataclass(frozen=True)
class StudentLookup:
    """The students of a class."""

    roster: Roster
    # By folder, of everybody who is in submitted/ or in the gradebook; empty where no name is known.
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, class_folder: ClassFolder, names: Mapping[str, str] | None = None) -> StudentLookup:
        """Everybody on the class's roster and in submitted/. names: of those in the gradebook. Raises UserError: the roster can't be used."""
        homes = class_folder.submitted.iterdir() if class_folder.submitted.is_dir() else ()
        there = {home.name: "" for home in homes if FOLDER_NAME.fullmatch(home.name)}
        return cls(Roster.load(class_folder), there | dict(names or {}))

    def folders(self) -> set[str]:
        return {*self.roster.students, *self.names}

    def matches(self, text: str) -> list[str]:
        """The folders of those who may be meant, an exact match before all others: one if it is clear who is, none if it is nobody."""
        found = self._by_id(text)
        # A login or an address that somebody chose may be another's name; a text of one word is rather meant as an id.
        if not found or " " in text.strip():
            found += self._by_name(text)
        return list(dict.fromkeys(found))

    def _by_id(self, text: str) -> list[str]:
        if text in self.names or text in self.roster.students:
            return [text]
        if student := self.roster.with_id(text.strip()):
            return [student.id]
        return [owner.id for key in keys() if (owner := self.roster.owner(key, text))]

    def _by_name(self, text: str) -> list[str]:
        name = PersonName(text)
        if not name:
            return []
        namesakes = [student.id for student in self.roster.find_by_name(text)]
        return [*namesakes, *(folder for folder, called in self.names.items() if PersonName(called).is_like(name))]

    def find(self, text: str) -> str:
        """The folder of the student who is meant.

        Raises:
            UserError: it is nobody, or several could be meant; the line says who.
        """
        folders = self.matches(text)
        if len(folders) == 1:
            return folders[0]
        what = f"{len(folders)} students are" if folders else "there is no student"
        raise UserError(f"{what} called {in_a_line(text, 60)!r}{self.near(text)}")

    def near(self, text: str) -> str:
        """A hint at those who may be meant; empty where nobody is near."""
        close = self.matches(text) or self._with_words(text) or self._spelled_like(text)
        return f"; did you mean {' or '.join(map(self._label, sorted(close)))}?" if close else ""

    def _with_words(self, text: str) -> list[str]:
        """The folders of those whose names have all words of a text; a few of many."""
        words = PersonName(text).words
        if not words:
            return []
        folders = [folder for folder in self.folders() if words <= PersonName(self._name(folder)).words]
        return folders[:MAX_SUGGESTIONS]

    def _spelled_like(self, text: str) -> list[str]:
        """The folders of those who have a folder, a name or an id with nearly the same letters."""
        folders_by_term: dict[str, str] = {}
        for folder in sorted(self.folders()):
            terms = [folder, self._name(folder)]
            if student := self.roster.students.get(folder):
                terms += [*student.ids("username"), *student.ids("email"), *student.ids("sis_id")]
            folders_by_term |= {term.casefold(): folder for term in terms if term}
        near_terms = find_nearest(text.casefold(), folders_by_term)
        return list(dict.fromkeys(folders_by_term[term] for term in near_terms))

    def _name(self, folder: str) -> str:
        student = self.roster.students.get(folder)
        return (student.name if student else "") or self.names.get(folder, "")

    def _label(self, folder: str) -> str:
        name = self._name(folder)
        return in_a_line(f"{name} ({folder})" if name else folder, 120)
