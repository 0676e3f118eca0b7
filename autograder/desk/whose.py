"""Whose a submission is: by what a person has settled, by a token of the export that the roster has too, and never by a name alone. Called by collect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.desk.lms import canvas, exchange, moodle
from autograder.desk.lms.handin import HandIn, Person, letters, words
from autograder.desk.roster import KEYS, Doubtful, Roster, Student, is_called
from autograder.desk.settle import FILE, Settled
from autograder.desk.submissions import Asked, Submission
from ffnlab.cleaning import in_a_line


@dataclass
class Finder:
    """Finds students for submissions.

    match_names: whether, where the export has no id that the roster has, a name that one student alone has, there and here, may do: somebody has said so.
    """

    roster: Roster
    settled: Settled
    submissions: Sequence[Submission]
    match_names: bool = False
    names: Counter[str] = field(init=False)
    is_blind: bool = field(init=False)  # all have the same name: "Participant", in whatever language
    may_add: bool = field(init=False)  # nobody has given a list: who hands in is in the class
    keys: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = Counter(name for name, _ in {(one.first.name, one.first.who) for one in self.submissions})
        self.is_blind = len(self.names) == 1 and self.names.total() > 1
        self.may_add = not self.roster.is_listed
        self.keys = {key for key in KEYS if self.roster.knows(key)}

    def find(self, submission: Submission) -> list[Asked]:
        """Enter a submission's students, or say why they are not known."""
        first = submission.first
        ids = self.settled.students(first.system, first.who)
        if ids:
            trouble = self._as_settled(submission, ids)
        elif first.system == moodle.NAME:
            trouble = self._of_moodle(submission)
        else:
            trouble = next((trouble for person in first.people if (trouble := self._person(submission, person))), "")
        if trouble and not ids and self.match_names and self.names[first.name] == 1 and len(first.people) == 1:
            trouble = self._by_name(submission, trouble)
        if trouble:
            suggestion = " ".join(student.id for student in self.roster.called(first.name)[:3])
            submission.students = []
            return [Asked(first, trouble, suggestion)]
        submission.students = list({student.id: student for student in submission.students}.values())
        return [] if ids else self._is_it_a_group(submission)

    def _as_settled(self, submission: Submission, ids: Sequence[str]) -> str:
        first = submission.first
        for one in ids:
            student = self.roster.with_id(one)
            if student is None and (trouble := self.roster.not_free(one)):
                return f"in {FILE}: {trouble}"
            alone = (
                len(ids) == 1 and len(first.people) == 1 and first.system != moodle.NAME
            )  # its number may be a team's
            person = first.people[0] if alone else Person({})
            student, doubt = self.roster.take(person, listed=False, student=student or Student(one))
            if student is None:
                return doubt
            submission.students.append(student)
        return ""

    def _person(self, submission: Submission, person: Person) -> str:
        """Find one person, or enter them. Returns why neither can be."""
        first, ids = submission.first, dict(person.ids)
        try:
            student = self.roster.find(ids | ({"student": first.who} if first.system == exchange.NAME else {}))
        except Doubtful as reason:
            return str(reason)
        anonymous = first.system == canvas.NAME and first.who.startswith("anon_")
        may_add = anonymous or (self.may_add and (not self.keys or not self.keys.isdisjoint(ids)))
        if student is None and not may_add:
            tokens = " or ".join(f"{key} {in_a_line(text, 80)}" for key, text in ids.items())
            return f"nobody on the roster has {tokens}: give a list that does with --roster, or write who it is"
        student, doubt = self.roster.take(person, listed=False, student=student)
        if student is None:
            return doubt
        submission.students.append(student)
        return ""

    def _of_moodle(self, submission: Submission) -> str:
        """A participant, by this assignment's number and, as a group's number looks the same, the name; or a team, by the name of a group that a list has."""
        first = submission.first
        members = self.roster.members(first.name)
        student = self.roster.find(first.people[0].ids) if first.people else None
        shown = in_a_line(repr(first.name), 100)
        if student and (self.is_blind or words(student.name) <= words(first.name)):
            submission.students = [student]
        elif members and not student:
            submission.students = members
        elif student:
            return f"number {first.who} is {student.name}'s, but Moodle calls this {shown}: if it is a team's, write its members' ids"
        elif not first.people:
            return f"a team without a number, {shown}: write its members' ids"
        else:
            return f"number {first.who} is on no worksheet: give this assignment's with --roster, or write whose it is"
        return ""

    def _by_name(self, submission: Submission, trouble: str) -> str:
        first = submission.first
        called = self.roster.called(first.name)
        if len(called) != 1:
            return trouble
        student, doubt = self.roster.take(first.people[0], listed=False, student=called[0])
        submission.students = [student] if student else []
        return doubt

    def _is_it_a_group(self, submission: Submission) -> list[Asked]:
        """Canvas exports a group's work under one member's number and the group's name."""
        first = submission.first
        if first.system != canvas.NAME or len(submission.students) != 1:
            return []
        (student,) = submission.students
        if not student.name or first.who.startswith("anon_") or _may_be(student, first):
            return []
        shown = in_a_line(repr(first.name), 100)
        trouble = f"Canvas calls this {shown}, not {student.name}: if that is a group, write all its members' ids"
        return [Asked(first, trouble, student.id)]


def _may_be(student: Student, first: HandIn) -> bool:
    return is_called(student, first.name) or sorted(letters(student.name)) == sorted(letters(first.name))
