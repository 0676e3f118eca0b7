"""Who is in a class, `roster.csv` in its folder: each student's folder, name, and the ids by which the systems know them. Called by collect and give_back.

It is made and extended from what the LMS itself exports (participants, gradebook, worksheet), and may be edited by hand. A name never decides who somebody is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograder.class_folder.folder import FOLDER_NAME, RESERVED_NAMES, ClassFolder
from autograder.errors import UserError
from autograder.files import write_private
from autograder.lms import SYSTEMS, has_several, systems_with_numbers
from autograder.lms.base import IdScope, Lms
from autograder.lms.records import Person, PersonName, fold_name
from autograder.lms.sheets import Sheet, is_rounded, make_table, unguard
from ffnlab.untrusted_text import in_a_line

FILE = "roster.csv"
NAMES = ("first_name", "last_name", "email")
WITHOUT_CASE = {"username", "email"}
MAX_ID_LENGTH = 128  # characters, of nbgrader's column
WITHOUT_ID = "without-id-"  # how the folder begins of somebody whom a list names without an id
PLACEHOLDERS = {
    "-",
    "--",
    "–",
    "—",
    ".",
    "?",
    "n/a",
    "#n/a",
    "none",
    "null",
    "nan",
    "nil",
    "tbd",
    "tba",
    "unknown",
    "k.a.",
    "keine",
    "#ref!",
    "#value!",
    "#name?",
}


def keys() -> list[str]:
    """The columns of ids: each of these is one student's alone."""
    return ["sis_id", "username", "email", *(system.name for system in systems_with_numbers())]


def columns() -> list[str]:
    return [
        "student",
        *NAMES,
        "sis_id",
        "username",
        *(system.name for system in systems_with_numbers()),
        "groups",
        "listed",
    ]


@dataclass
class Student:
    """One student."""

    id: str  # the folder
    cells: dict[str, str] = field(default_factory=dict)  # by column, what the roster says besides

    @property
    def name(self) -> str:
        return " ".join(part for part in (self.cells.get("first_name"), self.cells.get("last_name")) if part)

    @property
    def sortable(self) -> str:
        """The name as lists are sorted: "Doe, Jane"."""
        return ", ".join(part for part in (self.cells.get("last_name"), self.cells.get("first_name")) if part)

    def ids(self, key: str) -> list[str]:
        """The ids of one kind, as they stand there."""
        text = self.cells.get(key, "")
        return text.split() if has_several(key) else [text] if text else []

    @property
    def groups(self) -> list[str]:
        return [part.strip() for part in self.cells.get("groups", "").split(";") if part.strip()]


class Doubtful(Exception):
    """Ids that belong to different students; one line says to whom."""

    def __init__(self, line: str, students: Iterable[str] = ()) -> None:
        super().__init__(line)
        self.students = set(students)


@dataclass
class Roster:
    """The students of a class, by id; in the order in which they came."""

    students: dict[str, Student] = field(default_factory=dict)
    titles: list[str] = field(default_factory=columns)
    _index: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    _members: dict[str, list[str]] | None = field(default=None, repr=False)  # by a group's name, once it was asked for

    @classmethod
    def load(cls, class_folder: ClassFolder) -> Roster:
        """The class's roster; an empty one where there is none yet.

        Raises:
            UserError: somebody has edited it into one that can't be used; one line says where.
        """
        path = class_folder.path / FILE
        roster = cls()
        if not path.exists():
            return roster
        sheet = Sheet.read(path)
        titles = [title.strip().lower() for title in sheet.header]
        if titles[:1] != ["student"]:
            raise UserError(f"{path} must begin with the column student: its columns are {sheet.titles}")
        roster.titles = list(dict.fromkeys((*columns(), *(title for title in titles if title))))
        for row in sheet.rows:
            cells = {title: unguard(row[place].strip()) for place, title in enumerate(titles) if row[place].strip()}
            student = cells.pop("student", "")
            if not student and not cells:
                continue
            if trouble := roster.not_free(student):
                raise UserError(f"{path}, line {row.line}: {trouble}")
            try:
                roster._add(Student(student, cells))
            except Doubtful as doubt:
                raise UserError(f"{path}, line {row.line}: {doubt}") from None
        return roster

    def save(self, class_folder: ClassFolder) -> None:
        """Write it, for its owner alone, where it has changed."""
        rows = [
            [student.id if title == "student" else student.cells.get(title, "") for title in self.titles]
            for student in self.students.values()
        ]
        path = class_folder.path / FILE
        data = make_table(self.titles, rows)
        if not path.is_file() or path.read_bytes() != data:
            write_private(path, data)

    def not_free(self, student: str) -> str:
        """Why nobody new can have this id; "" where somebody can."""
        if student.casefold() in RESERVED_NAMES:
            return f"{student!r} can't be a student's folder: a file or folder of the autograder has that name"
        if not FOLDER_NAME.fullmatch(student) or len(student) > MAX_ID_LENGTH:
            return f"{in_a_line(student, 60)!r} can't be a folder: use at most {MAX_ID_LENGTH} letters a to z, digits and _ . @ + -"
        return f"there are two students {student}" if self.with_id(student) else ""

    def _add(self, student: Student) -> None:
        self._enter(student)
        self.students[student.id] = student

    def _enter(self, student: Student) -> None:
        """Enter a student's ids. Raises Doubtful, and enters none, where one is somebody else's."""
        entries = {("student", student.id.casefold()): student.id}
        entries |= {(key, _plain(key, text)): student.id for key in keys() for text in student.ids(key)}
        for (key, text), owner in entries.items():
            if self._index.get((key, text), owner) != owner:
                raise Doubtful(f"{key} {in_a_line(text, 80)} is already {self._index[key, text]}'s, not {owner}'s")
        self._index |= entries

    def find(self, ids: Mapping[str, str]) -> Student | None:
        """The student with these ids; None where nobody has any of them. Raises Doubtful: they are several students'."""
        owners_by_key = {key: self._index.get((key, _plain(key, text))) for key, text in ids.items() if text}
        owners = {owner: key for key, owner in owners_by_key.items() if owner}
        if len(owners) > 1:
            raise Doubtful(
                " but ".join(f"{key} {in_a_line(ids[key], 80)} is {owner}'s" for owner, key in owners.items()), owners
            )
        return self.students[next(iter(owners))] if owners else None

    def with_id(self, student: str) -> Student | None:
        """The student with this folder, whatever the case of its letters."""
        student_id = self._index.get(("student", student.casefold()))
        return self.students[student_id] if student_id else None

    def owner(self, key: str, text: str) -> Student | None:
        """The student with this id of one kind."""
        student_id = self._index.get((key, _plain(key, text)))
        return self.students[student_id] if student_id else None

    def find_by_name(self, name: str) -> list[Student]:
        """The students who are called exactly so, whatever comes first; accents, case and signs apart."""
        return [student for student in self.students.values() if is_called(student, name)]

    def members(self, group: str) -> list[Student]:
        """Those of whom a list said that they are in this group."""
        if self._members is None:
            self._members = {}
            for student in self.students.values():
                for name in dict.fromkeys(map(_fold_group, student.groups)):
                    self._members.setdefault(name, []).append(student.id)
        return [self.students[student_id] for student_id in self._members.get(_fold_group(group), [])]

    def spellings(self, group: str) -> list[str]:
        """The groups whose names read like this one: where a file's name can't have a character, an LMS writes another, so that they can't be told apart."""
        folded = _fold_group(group)
        return sorted({name for member in self.members(group) for name in member.groups if _fold_group(name) == folded})

    def is_surely_in(self, student: Student, group: str) -> bool:
        """Whether a student's groups are more than the parts of a name: of several, each is somebody's only one, or none but this."""
        others = [name for name in student.groups if _fold_group(name) != _fold_group(group)]
        return all(any(len(member.groups) == 1 for member in self.members(other)) for other in others)

    def knows(self, key: str) -> bool:
        """Whether anybody has an id of this kind."""
        return any(kind == key for kind, _ in self._index)

    @property
    def is_listed(self) -> bool:
        """Whether it comes from a list, and not only from what was handed in."""
        return any(student.cells.get("listed") for student in self.students.values())

    def take(self, person: Person, is_from_list: bool, student: Student | None = None) -> tuple[Student | None, str]:
        """Who this is, entered if new, with all that is new about them; or None and the reason why that is in doubt.

        is_from_list: whether a list says it; then names and addresses are taken over too. student: who somebody has said it is.
        """
        try:
            student = student or self.find(person.ids) or Student(self._id_for(person))
        except Doubtful as doubt:
            return None, f"{_describe_person(person)}: {doubt}"
        if not student.id:
            return None, f"{_describe_person(person)}: no id in it can be the name of a folder"
        new_student = Student(student.id, dict(student.cells))
        for key, text in person.ids.items():
            there = new_student.ids(key)
            if has_several(key):
                new_student.cells[key] = " ".join(dict.fromkeys((*there, *text.split())))
            elif (key == "sis_id" or key in SYSTEMS) and there and there != [text]:
                return None, (
                    f"{_describe_person(person)}: in {FILE}, {student.id} has the {key} {in_a_line(there[0], 80)}, so nothing was changed. "
                    f"If it is another number now, correct it there; if a spreadsheet program has changed the list, download the list again"
                )
            elif text and (is_from_list or not there):
                new_student.cells[key] = text
        if is_from_list:
            new_student.cells["listed"] = "yes"
            _take_names(new_student, person)
        elif not new_student.name and person.name:
            new_student.cells["last_name"] = person.name
        try:
            self._enter(new_student)
        except Doubtful as doubt:
            return None, f"{_describe_person(person)}: {doubt}"
        if new_student.groups != student.groups:
            self._members = None
        self.students[new_student.id] = new_student
        return new_student, ""

    def _id_for(self, person: Person) -> str:
        """A folder for somebody new: what stays the same from one assignment to the next, if there is any such thing."""
        ids = person.ids
        own = {
            system.number: f"{system.name}-{ids[system.name]}"
            for system in systems_with_numbers()
            if system.name in ids
        }
        assignment_id = own.pop(IdScope.ASSIGNMENT, "")
        candidates = [ids.get("sis_id"), ids.get("username"), *own.values(), ids.get("email"), assignment_id]
        return next((candidate for candidate in candidates if candidate and not self.not_free(candidate)), "")

    def extend(self, sheet: Sheet) -> tuple[Lms, int, list[str]]:
        """Take over a list that an LMS exported: whose it is, how many people are on it, and a line for each who is in doubt.

        Raises:
            UserError: it is no list that is known here.
        """
        system, listed = parse_list(sheet)
        people, doubts = _with_true_ids(listed)
        rows = dict[str, Person]()
        for person in people:
            if student := self._of_two_rows(person, rows):
                doubt = (
                    f"{_describe_person(person)} has an id of {_describe_person(rows[student])}, so only the latter is on the roster. "
                    "Has a spreadsheet program changed the list?"
                )
            else:
                entered, doubt = self.take(person, is_from_list=True, student=self._without_id(person))
                if entered:
                    rows[entered.id] = person
            if doubt:
                doubts.append(doubt)
        return system, len(listed), [f"{sheet.name}: {doubt}" for doubt in doubts]

    def _without_id(self, person: Person) -> Student | None:
        """Somebody on a list of whom there is no id that can be used, so that they are counted all the same; None for anybody else."""
        try:
            if self.find(person.ids) or self._id_for(person) or not PersonName(person.full_name):
                return None
        except Doubtful:
            return None
        same = [student for student in self.find_by_name(person.full_name) if student.id.startswith(WITHOUT_ID)]
        plain = re.sub(r"[^a-z0-9]", "", fold_name(person.full_name))[:40]
        return same[0] if same else Student(f"{WITHOUT_ID}{plain or len(self.students) + 1}")

    def _of_two_rows(self, person: Person, rows: Mapping[str, Person]) -> str:
        """The student of an earlier row of a list with whom this one shares an id and not all; "" where there is none.

        An id may be "N/A" in all rows, or 1.2E+11.
        """
        for key, text in person.ids.items():
            owner = self._index.get((key, _plain(key, text)))
            if owner and owner in rows and _differ(rows[owner].ids, person.ids):
                return owner
        return ""


def _differ(ids: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Whether two rows have different ids of one kind."""
    return any(_plain(key, ids[key]) != _plain(key, others[key]) for key in {*ids} & {*others})


def _fold_group(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _with_true_ids(people: Sequence[Person]) -> tuple[list[Person], list[str]]:
    """These people without what is no id: a placeholder, a number that a spreadsheet program has rounded, an id of several. With a line for the last two."""
    owners: dict[tuple[str, str], list[Person]] = {}
    for person in people:
        for key, text in person.ids.items():
            owners.setdefault((key, _plain(key, text)), []).append(person)
    doubts = {}
    for (key, text), claimants in owners.items():
        if text.casefold() in PLACEHOLDERS and not (key in WITHOUT_CASE and text.isalpha() and len(claimants) == 1):
            # A login may be "null" or "nan"; it is one person's then.
            doubts[key, text] = ""  # it says itself that it is none
        elif is_rounded(text):
            doubts[key, text] = (
                f"the {key} {in_a_line(text, 40)} of {min(map(_describe_person, claimants))} is a number that a spreadsheet program has rounded, "
                "so it is nobody's: download the list again, and don't save it in that program"
            )
        elif len({_without(person, key) for person in claimants}) > 1:
            names = sorted(in_a_line(person.full_name or _describe_person(person), 60) for person in claimants)
            doubts[key, text] = (
                f"{len(claimants):,} rows have the {key} {in_a_line(text, 60)}, so it is nobody's: {', '.join(names[:6])}"
            )
    kept = [
        replace(person, ids={key: text for key, text in person.ids.items() if (key, _plain(key, text)) not in doubts})
        for person in people
    ]
    return kept, [line for line in doubts.values() if line]


def _without(person: Person, key: str) -> tuple[object, ...]:
    """A person's other ids and name, by which two rows are told apart."""
    others = sorted((other, _plain(other, text)) for other, text in person.ids.items() if other != key)
    return fold_name(person.full_name), tuple(others)


def parse_list(sheet: Sheet) -> tuple[Lms, list[Person]]:
    """Whose list it is, by its header, and who is on it.

    Raises:
        UserError: it is no list that is known here.
    """
    for system in sorted(SYSTEMS.values(), key=lambda system: not system.has_own_headers):
        people = system.people(sheet)
        if people is not None:
            return system, people
    raise UserError(
        f"{sheet.name} is not a list of participants, a worksheet or a gradebook of a supported LMS: its columns are {sheet.titles}. "
        "If the LMS made it in another language, set the LMS to English and download it again"
    )


def is_called(student: Student, name: str) -> bool:
    """Whether a student's name is this one."""
    return PersonName(student.name).is_like(PersonName(name))


def _take_names(student: Student, person: Person) -> None:
    if person.first or person.last:
        student.cells["first_name"], student.cells["last_name"] = person.first, person.last
    elif person.name and not student.name:
        student.cells["last_name"] = person.name
    if person.groups:
        student.cells["groups"] = "; ".join(dict.fromkeys((*student.groups, *person.groups)))


# Other letters fold into each other, or into these: a Kelvin sign is no k in a login.
LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def _plain(key: str, text: str) -> str:
    return text.strip().translate(LOWER) if key in WITHOUT_CASE else text.strip()


def _describe_person(person: Person) -> str:
    ids = ", ".join(f"{key} {text}" for key, text in person.ids.items())
    return in_a_line(f"{person.full_name} ({ids})" if person.full_name else ids, 200)


def names_with_ids(students: Iterable[Student]) -> Iterator[str]:
    """Each student, for a message."""
    for student in students:
        yield in_a_line(f"{student.name} ({student.id})" if student.name else student.id, 120)
