"""Who has not handed in an assignment, by the lists of the class that the LMS exported. Called by collect, class_report and the desk."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from autograder import untrusted_files
from autograder.class_folder.decisions import FILE as DECISIONS_FILE
from autograder.class_folder.decisions import Decisions
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import FILE, FOLDER, Manifest
from autograder.class_folder.roster import Roster, Student
from autograder.gradebook.policy import Policy
from autograder.gradebook.policy_words import format_time
from autograder.lms import SYSTEMS
from ffnlab.phrases import plural
from ffnlab.untrusted_text import in_a_line

SPECIAL = re.compile(r'[()<>@,:;."\[\]\\]')  # what a name beside an address has to be quoted for, RFC 5322


@dataclass(frozen=True)
class Missing:
    """Who has not handed in an assignment."""

    assignment: str
    expected: int  # so many students are on the class's lists
    students: tuple[Student, ...]
    due: str = ""  # when it will be due, empty where it is already or never
    # How many submissions wait for a person to say whose they are; so some of these students may have handed in.
    undecided: int = 0

    def line(self, most: int) -> str:
        """How many have handed in, and the addresses of so many of those who have not, as a mail program takes them."""
        if not self.students:
            return f"{self.assignment}: all {self.expected:,} students have handed in."
        sentence = (
            f"{self.assignment}: {self.expected - len(self.students):,} of {self.expected:,} students have handed in."
        )
        if self.due:
            return f"{sentence} It is due on {self.due}."
        more = f" and {len(self.students) - most:,} more" if len(self.students) > most else ""
        line = f"{sentence} Not yet: {', '.join(map(address, self.students[:most]))}{more}." if most else sentence
        if not self.undecided:
            return line
        waits = plural(f"{self.undecided:,}", "submission waits", "submissions wait")
        return f"{line} But {waits} in {FOLDER}/{DECISIONS_FILE} for somebody to say whose."


def find(
    roster: Roster, policy: Policy, assignment: str, students: Collection[str], undecided: int = 0
) -> Missing | None:
    """Who of the class has not handed in; None where no list of the class was given.

    students: who has. What one of a group hands in is all the group's. undecided: as of Missing.
    """
    if not roster.is_listed:
        return None
    members = {member for student in students for member in policy.group(assignment, student)}
    class_list = list_students(roster)
    due = policy.due(assignment)
    later = format_time(due) if due and due.astimezone(UTC) > datetime.now(UTC) else ""
    absent = tuple(student for student in class_list if student.id not in members)
    return Missing(assignment, len(class_list), absent, later, undecided)


def list_students(roster: Roster) -> list[Student]:
    """Everybody on the lists of the class that the LMS exported."""
    students = roster.students.values()
    return [student for student in students if student.cells.get("listed") and not _is_test_student(student)]


def count_undecided(class_folder: ClassFolder, assignment: str) -> int:
    """How many submissions, of an export of this assignment, wait for a person to say whose they are."""
    pending = {
        (decision.system, decision.submitter) for decision in Decisions.load(class_folder).find_pending(assignment)
    }
    if not pending:  # nearly always, and a large manifest takes a second
        return 0
    records = Manifest.load(class_folder, assignment).records.values()
    return len(pending - {(record.system, record.submitter) for those in records for record in those})


def submitters(class_folder: ClassFolder, assignment: str) -> set[str]:
    """Everybody of whom there is anything for an assignment, in submitted/ or in collected/."""
    homes = class_folder.submitted.iterdir() if class_folder.submitted.is_dir() else ()
    names = {home.name for home in homes if untrusted_files.is_folder(home / assignment)}
    manifest = class_folder.path / FOLDER / assignment / FILE
    return (
        names | _students_in_manifest(class_folder, assignment, manifest.stat().st_mtime_ns)
        if manifest.is_file()
        else names
    )


def find_ungraded(
    class_folder: ClassFolder, policy: Policy, assignment: str, graded_students: Collection[str]
) -> list[str]:
    """Who has handed in something for an assignment, and has no grade. graded_students: who has one."""
    members = {member for student in graded_students for member in policy.group(assignment, student)}
    return sorted(submitters(class_folder, assignment) - members)


@lru_cache(maxsize=32)
def _students_in_manifest(class_folder: ClassFolder, assignment: str, mtime: int) -> frozenset[str]:
    """Of whom a manifest has anything; a large one takes a second to read, and a page of the desk asks for each. mtime: when it was last changed."""
    return frozenset(Manifest.load(class_folder, assignment).records)


def address(student: Student) -> str:
    """A student as a mail program takes them, `Ana Ruiz <ana@uni.example>`; the name and the folder where no address is known."""
    name = in_a_line(student.name, 80)
    email = in_a_line(student.cells.get("email", ""), 120)
    if not email:
        return f"{name} ({student.id})" if name else student.id
    label = '"' + name.replace("\\", "").replace('"', "'") + '"' if SPECIAL.search(name) else name
    return f"{label} <{email}>" if name else email


def _is_test_student(student: Student) -> bool:
    """Whether a system lists this one as its own, as Canvas does in each course."""
    names = student.cells.get("first_name"), student.cells.get("last_name")
    return any(names == system.test_student and student.cells.get(system.name) for system in SYSTEMS.values())
