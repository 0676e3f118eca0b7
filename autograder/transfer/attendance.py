"""Who has not handed in, as far as an export and the lists say, and whom the system flags as late without saying when. Called by collect."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from autograder import untrusted_files
from autograder.class_folder.decisions import Decisions
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.roster import Doubtful, Roster, names_with_ids
from autograder.gradebook import not_handed_in
from autograder.gradebook.not_handed_in import Missing
from autograder.gradebook.policy import Policy
from autograder.gradebook.policy_words import describe_late_flags, name_list
from autograder.transfer.class_lists import TakenLists
from autograder.transfer.collection_report import Remarks
from autograder.transfer.group_files import CollectedSubmission
from ffnlab.phrases import plural


@dataclass
class Attendance:
    """Who is missing, by assignment, and what is to be said of it."""

    missing: list[Missing] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)


@dataclass(frozen=True)
class AttendanceCheck:
    """Looks at one assignment after the other."""

    class_folder: ClassFolder
    roster: Roster
    decisions: Decisions
    policy: Policy
    lists: TakenLists
    zone: tzinfo | None  # of the clock behind a time in submitted/ that names none

    def check(self, submissions: Sequence[CollectedSubmission], assignments: Sequence[str]) -> Attendance:
        """Look at each assignment of which there is a submission. What the lists warn of in the times is said with the first one."""
        attendance = Attendance()
        time_warnings = self.lists.time_warnings
        for name in assignments:
            here = [submission for submission in submissions if name in (submission.assignment, submission.target)]
            if not here:
                continue
            undecided = sum(not submission.students and not self._is_left(submission) for submission in here)
            submitters = not_handed_in.submitters(self.class_folder, name)
            submitters |= {student.id for submission in here for student in submission.students}
            if not undecided:
                lost = self._find_lost(
                    {member for student in submitters for member in self.policy.group(name, student)}
                )
                attendance.remarks.doubts += self._describe_lost(lost)
                submitters |= set(lost)
            if absentees := not_handed_in.find(self.roster, self.policy, name, submitters, undecided):
                attendance.missing.append(absentees)
            remarks = attendance.remarks.doubts if self.policy.deducts(name) else attendance.remarks.notes
            remarks += [*time_warnings, *self._describe_late(name, here)]
            time_warnings = ()
        return attendance

    def _is_left(self, submission: CollectedSubmission) -> bool:
        """Whether somebody has said that it may stay as it is."""
        first = submission.first
        return self.decisions.is_left(first.system, first.submitter, first.entry)

    def _find_lost(self, covered: Collection[str]) -> list[str]:
        """The students who have handed in, as a list says, and of whom nothing is there."""
        lost = []
        for person in self.lists.submitters:
            with contextlib.suppress(Doubtful):  # that is told already
                student = self.roster.find(person.ids)
                if student and student.id not in covered:
                    lost.append(student.id)
        return list(dict.fromkeys(lost))

    def _describe_lost(self, lost: Sequence[str]) -> list[str]:
        if not lost:
            return []
        return [
            f"{plural(f'{len(lost):,}', 'student')} handed in, as the {self.lists.export.lms.sheet} says, and nothing of theirs is in this export "
            f"({name_list(lost)}): download it again, with everybody's submissions"
        ]

    def _describe_late(self, name: str, here: Sequence[CollectedSubmission]) -> list[str]:
        late = dict.fromkeys(  # in their order
            student.id
            for submission in here
            for student in submission.students
            if self._has_late_flag(submission, student.id)
        )
        if not late:
            return []
        sentence = describe_late_flags(name, list(names_with_ids(self.roster.students[student] for student in late)))
        if self.policy.deducts(name):
            sentence += f" When it is graded, {self.class_folder.command('report')} says what to do"
        return [sentence]

    def _has_late_flag(self, submission: CollectedSubmission, student: str) -> bool:
        """Whether the system says that it was late, and neither it nor anybody else says when it was handed in."""
        file = submission.choice
        if file is None or not file.exported_file.late or file.exported_file.handed_in_at:
            return False
        folder = self.class_folder.submitted / student / submission.assignment
        return untrusted_files.find_timestamp(folder, self.zone) is None
