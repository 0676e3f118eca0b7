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
    first = replace(exported_file, readings=())
    readings = exported_file.readings
    if not readings:
        return first
    owners = {reading.submitter: roster.find(reading.people[0].ids) for reading in (first, *readings)}
    candidates: list[ExportedFile] = []
    name_matches: list[ExportedFile] = []
    if roster.is_listed:
        for reading in (first, *readings):
            owner = owners[reading.submitter]
            if owner:
                candidates.append(reading)
            if owner and SYSTEMS[first.system].is_named(reading, owner):
                name_matches.append(reading)
    else:
        candidates = [first, *(reading for reading in readings if reading.is_likely)]
    choices = name_matches or candidates or [first]
    submitters = [reading.submitter for reading in choices]
    if len(set(submitters)) == 1 and (name_matches or choices[0] is first or not candidates):
        return choices[0]
    labels = []
    for submitter in submitters:
        owner = owners[submitter]
        labels.append(in_a_line(f"{owner.name} ({owner.id})" if owner else submitter, 100))
    doubt = f"its name could mean {' or '.join(labels)}: write whose it is"
    return replace(first, submitter=" or ".join(submitters), people=(), doubt=doubt)


@dataclass
class StudentFinder:
    """Finds students for submissions."""

    roster: Roster
    decisions: Decisions
    submissions: Sequence[CollectedSubmission]
    # Whether, where the export has no id that the roster has, a name that one student alone has, there and here, may do: somebody has said so.
    match_names: bool = False
    names: Counter[str] = field(init=False)
    is_blind: bool = field(init=False)  # all have the same name: "Participant", in whatever language
    may_add: bool = field(init=False)  # nobody has given a list: who hands in is in the class
    keys: set[str] = field(init=False)
    is_sure: bool = field(init=False)  # whether numbers alone decide

    def __post_init__(self) -> None:
        names = {(submission.first.name, submission.first.submitter) for submission in self.submissions}
        self.names = Counter(PersonName(name).key for name, _ in names)
        self.is_blind = len({name for name, _ in names}) == 1 and len(names) > 1
        self.may_add = not self.roster.is_listed
        self.keys = {key for key in keys() if self.roster.knows(key)}
        files = [submission.first for submission in self.submissions]
        self.is_sure = self.is_blind or bool(files and SYSTEMS[files[0].system].ids_agree(files, self.roster))

    def find(self, submission: CollectedSubmission) -> list[UnresolvedFile]:
        """Enter a submission's students, or say why they are not known."""
        first = submission.first
        system = SYSTEMS[first.system]
        decision = self.decisions.find_owner(first.system, first.submitter, first.entry)
        if decision:
            trouble = self._enter_named_students(submission, decision.student)
            if trouble:
                trouble = f"in {FILE}, line {decision.line}: {trouble}"
        elif first.doubt:
            return [UnresolvedFile(first, first.doubt)]
        elif by_more := system.students(first, self.roster, self.is_sure):
            submission.students, trouble = by_more
        else:
            trouble = self._enter_people(submission)
        if trouble and not decision and self._may_match_name(first):
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

    def _may_match_name(self, first: ExportedFile) -> bool:
        """Whether a name may say who one person is."""
        is_only_one = self.names[PersonName(first.name).key] == 1
        return self.match_names and is_only_one and len(first.people) == 1

    def _enter_named_students(self, submission: CollectedSubmission, text: str) -> str:
        """Enter those whom somebody has named, by whatever names one student; somebody new where there is no list of the class. Returns why that can't be."""
        first = submission.first
        lookup = StudentLookup(self.roster)
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
        for named in students:
            person = first.people[0] if alone else Person({})
            student, doubt = self.roster.take(person, is_from_list=False, student=named)
            if student is None:
                return doubt
            submission.students.append(student)
        return ""

    def _enter_people(self, submission: CollectedSubmission) -> str:
        """Find a submission's people, or enter them, one after the other. Returns why one of them can't be."""
        for person in submission.first.people:
            if trouble := self._enter_person(submission, person):
                return trouble
        return ""

    def _enter_person(self, submission: CollectedSubmission, person: Person) -> str:
        """Find one person, or enter them. Returns why neither can be."""
        first = submission.first
        ids = dict(person.ids)
        system = SYSTEMS[first.system]
        folder = {"student": first.submitter} if system.has_folder_names else {}
        try:
            student = self.roster.find(ids | folder)
        except Doubtful as reason:
            return str(reason)
        has_known_key = not self.keys or not self.keys.isdisjoint(ids)
        may_add = system.is_anonymous(first.submitter) or (self.may_add and has_known_key)
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
        account = SYSTEMS[first.system].name
        ids = first.people[0].ids
        if namesakes[0].ids(account) and ids.get(account) not in namesakes[0].ids(account):  # a name adds no account
            known = in_a_line(namesakes[0].cells[account], 80)
            return f"called like {namesakes[0].name} ({namesakes[0].id}), whom {SYSTEMS[first.system].title} knows as {known}: write whose it is"
        student, doubt = self.roster.take(first.people[0], is_from_list=False, student=namesakes[0])
        submission.students = [student] if student else []
        return doubt

    def _check_for_group(self, submission: CollectedSubmission) -> list[UnresolvedFile]:
        """A system may export a group's work under one member's number and the group's name."""
        first = submission.first
        system = SYSTEMS[first.system]
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
