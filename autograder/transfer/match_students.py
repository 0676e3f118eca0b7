"""Whose a submission is: by what a person has decided, by a token of the export that the roster has too, and never by a name alone. Called by collect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autograder.class_folder.decisions import FILE, Decisions
from autograder.class_folder.roster import Doubtful, Roster, Student, keys, names_with_ids
from autograder.class_folder.student_lookup import StudentLookup
from autograder.lms import SYSTEMS
from autograder.lms.base import IdScope
from autograder.lms.records import ExportedFile, Person, PersonName
from autograder.transfer.group_files import CollectedSubmission, UnresolvedFile
from ffnlab.untrusted_text import in_a_line


def choose_reading(exported_file: ExportedFile, roster: Roster) -> ExportedFile:
    """The reading of a file's name that the roster bears out; with a doubt where several could be meant."""
    first, readings = replace(exported_file, readings=()), exported_file.readings
    if not readings:
        return first
    owners = {one.submitter: roster.find(one.people[0].ids) for one in (first, *readings)}
    if roster.is_listed:
        candidates = [one for one in (first, *readings) if owners[one.submitter]]
        system = SYSTEMS[first.system]
        name_matches = [one for one in candidates if (who := owners[one.submitter]) and system.is_named(one, who)]
    else:
        candidates = [first, *(one for one in readings if one.is_likely)]
        name_matches = []
    choices = name_matches or candidates or [first]
    if len({one.submitter for one in choices}) == 1 and (name_matches or choices[0] is first or not candidates):
        return choices[0]
    owner_names = " or ".join(
        in_a_line(f"{who.name} ({who.id})" if (who := owners[one.submitter]) else one.submitter, 100) for one in choices
    )
    doubt = f"its name could mean {owner_names}: write whose it is"
    return replace(first, submitter=" or ".join(one.submitter for one in choices), people=(), doubt=doubt)


@dataclass
class StudentFinder:
    """Finds students for submissions.

    match_names: whether, where the export has no id that the roster has, a name that one student alone has, there and here, may do: somebody has said so.
    """

    roster: Roster
    decisions: Decisions
    submissions: Sequence[CollectedSubmission]
    match_names: bool = False
    names: Counter[str] = field(init=False)
    is_blind: bool = field(init=False)  # all have the same name: "Participant", in whatever language
    may_add: bool = field(init=False)  # nobody has given a list: who hands in is in the class
    keys: set[str] = field(init=False)
    is_sure: bool = field(init=False)  # whether numbers alone decide

    def __post_init__(self) -> None:
        names = {(one.first.name, one.first.submitter) for one in self.submissions}
        self.names = Counter(PersonName(name).key for name, _ in names)
        self.is_blind = len({name for name, _ in names}) == 1 and len(names) > 1
        self.may_add = not self.roster.is_listed
        self.keys = {key for key in keys() if self.roster.knows(key)}
        files = [one.first for one in self.submissions]
        self.is_sure = self.is_blind or bool(files and SYSTEMS[files[0].system].ids_agree(files, self.roster))

    def find(self, submission: CollectedSubmission) -> list[UnresolvedFile]:
        """Enter a submission's students, or say why they are not known."""
        first = submission.first
        system, decision = SYSTEMS[first.system], self.decisions.find_owner(first.system, first.submitter, first.entry)
        if decision:
            trouble = self._enter_named_students(submission, decision.student)
            if trouble:
                trouble = f"in {FILE}, line {decision.line}: {trouble}"
        elif first.doubt:
            return [UnresolvedFile(first, first.doubt)]
        elif by_more := system.students(first, self.roster, self.is_sure):
            submission.students, trouble = by_more
        else:
            trouble = next(
                (trouble for person in first.people if (trouble := self._enter_person(submission, person))), ""
            )
        if (
            trouble
            and not decision
            and self.match_names
            and self.names[PersonName(first.name).key] == 1
            and len(first.people) == 1
        ):
            trouble = self._enter_namesake(submission, trouble)
        if trouble:
            namesakes = self.roster.find_by_name(first.name)
            if not decision and len(namesakes) > 1 and not system.has_ids_on_lists:
                trouble = f"{len(namesakes)} on the roster have this name: write whether it is {' or '.join(names_with_ids(namesakes[:4]))}"
            suggestion = " ".join(student.id for student in namesakes[:3])
            submission.students = []
            return [UnresolvedFile(first, trouble, suggestion)]
        submission.students = list({student.id: student for student in submission.students}.values())
        return [] if decision else self._check_for_group(submission)

    def _enter_named_students(self, submission: CollectedSubmission, text: str) -> str:
        """Enter those whom somebody has named, by whatever names one student; somebody new where there is no list of the class. Returns why that can't be."""
        first, lookup = submission.first, StudentLookup(self.roster)
        names = _split_names(text, lookup)
        students = []
        for name in names:
            ids = lookup.matches(name)
            student = self.roster.students[ids[0]] if len(ids) == 1 else None
            if len(ids) > 1:
                return f"{len(ids)} students are called {in_a_line(name, 60)!r}{lookup.near(name)}"
            if student is None and self.roster.is_listed:
                more = lookup.near(name) or ": give a list that has them with --roster, or add them to roster.csv"
                return f"nobody on the roster is called {in_a_line(name, 60)!r}{more}"
            if student is None and (trouble := self.roster.not_free(name)):
                return trouble
            students.append(student or Student(name))
        may_be_teams = SYSTEMS[first.system].number is IdScope.ASSIGNMENT
        alone = len(names) == 1 and len(first.people) == 1 and not may_be_teams
        for one in students:
            person = first.people[0] if alone else Person({})
            student, doubt = self.roster.take(person, is_from_list=False, student=one)
            if student is None:
                return doubt
            submission.students.append(student)
        return ""

    def _enter_person(self, submission: CollectedSubmission, person: Person) -> str:
        """Find one person, or enter them. Returns why neither can be."""
        first, ids = submission.first, dict(person.ids)
        system = SYSTEMS[first.system]
        try:
            student = self.roster.find(ids | ({"student": first.submitter} if system.has_folder_names else {}))
        except Doubtful as reason:
            return str(reason)
        may_add = system.is_anonymous(first.submitter) or (
            self.may_add and (not self.keys or not self.keys.isdisjoint(ids))
        )
        if student is None and not may_add:
            tokens = " or ".join(f"{key} {in_a_line(text, 80)}" for key, text in ids.items())
            return f"nobody on the roster has {tokens}: give a list that has it with --roster, or write who it is"
        student, doubt = self.roster.take(person, is_from_list=False, student=student)
        if student is None:
            return doubt
        submission.students.append(student)
        return ""

    def _enter_namesake(self, submission: CollectedSubmission, trouble: str) -> str:
        first = submission.first
        namesakes = self.roster.find_by_name(first.name)
        if len(namesakes) != 1:
            return trouble
        account, ids = SYSTEMS[first.system].name, first.people[0].ids
        if namesakes[0].ids(account) and ids.get(account) not in namesakes[0].ids(account):  # a name adds no account
            known = in_a_line(namesakes[0].cells[account], 80)
            return f"called like {namesakes[0].name} ({namesakes[0].id}), whom {SYSTEMS[first.system].title} knows as {known}: write whose it is"
        student, doubt = self.roster.take(first.people[0], is_from_list=False, student=namesakes[0])
        submission.students = [student] if student else []
        return doubt

    def _check_for_group(self, submission: CollectedSubmission) -> list[UnresolvedFile]:
        """A system may export a group's work under one member's number and the group's name."""
        first, system = submission.first, SYSTEMS[submission.first.system]
        if not system.has_groups_by_member or len(submission.students) != 1:
            return []
        (student,) = submission.students
        if not student.name or system.is_anonymous(first.submitter) or _may_be(student, first):
            return []
        name_text = in_a_line(repr(first.name), 100)
        trouble = f"{system.title} calls this {name_text}, not {student.name}: if that is a group, write the ids of all members"
        return [UnresolvedFile(first, trouble, student.id)]


def _split_names(text: str, lookup: StudentLookup) -> list[str]:
    """The students that a cell names: one as a whole, or several between semicolons, commas or, where they are no names, spaces."""
    for between in (r"$^", r";", r"[;,]"):
        parts = [part.strip() for part in re.split(between, text) if part.strip()]
        if all(lookup.matches(part) for part in parts):
            return parts
    return re.split(r"[\s;,]+", text.strip(" ;,"))


def _may_be(student: Student, first: ExportedFile) -> bool:
    return PersonName(student.name).key == PersonName(first.name).key
