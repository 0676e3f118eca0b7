"""What the grades of an assignment do not hold yet: newer work, other times, and what waits for a person. A line each, with the command that helps.

Called by grade, report, give-back, why and the desk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING

from autograder.class_folder import submitted_files
from autograder.class_folder.decisions import FILE as DECISIONS_FILE
from autograder.class_folder.decisions import Decisions
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import FOLDER
from autograder.errors import UserError
from autograder.gradebook import not_handed_in
from autograder.gradebook.policy import Policy
from autograder.gradebook.policy_words import describe_lateness_not_counted, name_list
from autograder.jail.limits import Limits
from ffnlab.phrases import in_quotes, plural
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:
    from autograder.gradebook.gradebook import Book
    from autograder.gradebook.policy import EffectiveAttempt


@dataclass(frozen=True)
class Outdated:
    """Whose grade is not of what is in submitted/ now."""

    newer: Sequence[str] = ()  # students of whom another notebook is there
    times: Sequence[str] = ()  # students of whom another time is there
    # By student, what is there in place of a time, which goes on counting.
    lost_times: Mapping[str, str] = field(default_factory=dict)

    def concerns(self, policy: Policy, assignment: str) -> set[str]:
        """The students whose points another grading may change, with their groups."""
        return {member for student in (*self.newer, *self.times) for member in policy.group(assignment, student)}


def find_outdated(
    class_folder: ClassFolder, book: Book, assignment: str, clock: tzinfo | None, student: str | None = None
) -> Outdated:
    """Compare what was graded with what lies in submitted/. clock: the class's time zone. student: only theirs."""
    digests = book.latest_digests(assignment)
    known_times = book.submission_times(assignment)
    newer, times, lost_times = [], [], {}
    for submission in _find_submissions(class_folder, assignment, student):
        name = submission.student
        if name not in digests:
            continue
        try:
            submission = submitted_files.with_time(submission, clock)
            data, _ = submitted_files.read(submission, Limits().file)
        except OSError:  # what the machine can't read now, grading says
            continue
        if submitted_files.digest(data) != digests[name][0]:
            newer.append(name)
        elif submission.handed_in_at and submission.handed_in_at != known_times.get(name):
            times.append(name)
        elif not submission.handed_in_at and name in known_times:
            lost_times[name] = submission.unread_time or "nothing"
    return Outdated(newer, times, lost_times)


def lines(
    class_folder: ClassFolder,
    policy: Policy,
    assignment: str,
    effective_attempts: Mapping[str, EffectiveAttempt],
    outdated: Outdated,
    labels: Mapping[str, str] | None = None,
) -> list[str]:
    """What is to be said of an assignment. labels: what students are called, where they are not to be named."""

    def subject(students: Sequence[str], singular: str, several: str) -> str:
        names = [labels[student] if labels else student for student in students if not labels or student in labels]
        words = plural(f"{len(students):,}", f"student {singular}", f"students {several}")
        return f"{assignment}: {words}" + (f" ({name_list(names)})" if names else "")

    def name(student: str) -> str:
        return labels[student] if labels else student

    grade = class_folder.command(f"grade {assignment}")
    settle = f"{class_folder.path.name}/{FOLDER}/{DECISIONS_FILE}"
    grades = {name(student): attempt.grade for student, attempt in effective_attempts.items()}
    found = [describe_lateness_not_counted(policy, assignment, grades)]
    ungraded = not_handed_in.find_ungraded(class_folder, policy, assignment, effective_attempts)
    if ungraded:
        submissions = _find_submissions(class_folder, assignment)
        usable = {submission.student for submission in submissions if submission.path or submission.unreadable}
        to_grade = [student for student in ungraded if student in usable]
        to_settle = [student for student in ungraded if student not in usable]
        if to_grade:
            found.append(f"{subject(to_grade, 'was not graded yet', 'were not graded yet')}: run {grade}")
        if to_settle:
            phrase = subject(to_settle, "handed in something and has no grade", "handed in something and have no grade")
            found.append(f"{phrase}. Settle what could not be used in {settle}, then collect and grade again")
    if outdated.newer:
        what = "something newer than what was graded"
        found.append(f"{subject(outdated.newer, f'has {what}', f'have {what}')}: run {grade}")
    if outdated.times:
        what = "another time of submission since the grading"
        found.append(f"{subject(outdated.times, f'has {what}', f'have {what}')}: run {grade}")
    if outdated.lost_times:
        texts = [f"{name(student)}: {in_quotes(in_a_line(text, 60))}" for student, text in outdated.lost_times.items()]
        found.append(
            f"{assignment}: instead of a time that is known, there is {name_list(texts)}. The known time goes on counting. "
            f"To correct it, write it into submitted/STUDENT/{assignment}/timestamp.txt, such as 2026-11-21 18:30:00 UTC, and run {grade}"
        )
    if pending := Decisions.load(class_folder).find_pending(assignment):
        waits = plural(f"{len(pending):,}", "matter waits", "matters wait")
        found.append(
            f"{assignment}: {waits} in {settle}: fill in the column student, assignment or leave, and collect again"
        )
    return [line for line in found if line]


def _find_submissions(
    class_folder: ClassFolder, assignment: str, student: str | None = None
) -> list[submitted_files.Submission]:
    """As `submitted_files.find`; none where nothing lies there."""
    try:
        return submitted_files.find(class_folder, assignment, student)
    except UserError:
        return []
