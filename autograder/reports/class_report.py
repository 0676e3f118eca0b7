"""What there is to say about a class, for one assignment, for several, or for the course; report_page and data_files show it.

Called by `autograder report` and the desk.

All that came from a submission is cleaned; with hidden names, nothing that is to be shown says who somebody is.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.roster import Roster
from autograder.errors import UserError
from autograder.gradebook import not_handed_in, unsettled
from autograder.gradebook.policy import EffectiveAttempt, Grade, Policy
from autograder.reports.assignment_report import AssignmentReportBuilder
from autograder.reports.report_parts import AssignmentReport, ClassMember, ClassReport, StudentCourseGrade
from autograder.reports.report_rows import ReportRow
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.gradebook.gradebook import Book


def build_report(
    class_folder: ClassFolder,
    book: Book,
    policy: Policy,
    assignments: Sequence[str],
    hide_names: bool = False,
    with_rows: bool = False,
    tell: Callable[[str], None] = lambda message: None,
    now: datetime | None = None,
) -> ClassReport:
    """All that there is to say about these assignments of a class.

    hide_names: students are numbered, in an order that is drawn anew each time. with_rows: keep the rows of the CSV. tell: is told what is being done.

    Raises:
        UserError: one of them was not graded.
    """
    now = policy.in_class_zone(now or datetime.now(UTC))
    names = book.students()
    labels = _labels({**dict.fromkeys(policy.in_groups(), ""), **names}, hide_names)
    reports = []
    effective_attempts = {}
    rows: list[ReportRow] = []
    roster = Roster.load(class_folder)
    for name in assignments:
        tell(name)
        builder = AssignmentReportBuilder(name, book, policy, labels, hide_names)
        if not builder.read(rows if with_rows else None):
            command = class_folder.command(f"grade {name}")
            raise UserError(f"{name} has not been graded in {class_folder.path}: run {command}")
        tell(f"{name}: comparing answers")
        reports.append(builder.build())
        effective_attempts[name] = builder.effective_attempts
        there = not_handed_in.submitters(class_folder, name) | builder.effective_attempts.keys()
        reports[-1].missing = not_handed_in.find(
            roster, policy, name, there, not_handed_in.count_undecided(class_folder, name)
        )
        outdated = unsettled.find_outdated(class_folder, book, name, policy.clock)
        reports[-1].unsettled = unsettled.lines(
            class_folder, policy, name, builder.effective_attempts, outdated, labels if hide_names else None
        )
    report = ClassReport(_title(reports), now, hide_names, reports, labels, rows=rows)
    report.doubts = [] if hide_names else policy.doubts(names)
    if len(reports) > 1:
        report.course_grades = _course_grades(policy, effective_attempts, labels, now)
    if not hide_names:
        report.people = _people(roster, names, reports, effective_attempts)
    return report


def _people(
    roster: Roster,
    names: Mapping[str, str],
    assignments: Sequence[AssignmentReport],
    effective_attempts: Mapping[str, Mapping[str, EffectiveAttempt]],
) -> list[ClassMember]:
    """Everybody of whom something was graded, or who is on a list of the class."""
    missing_in: dict[str, list[str]] = defaultdict(list)
    for report in assignments:
        for absentee in report.missing.students if report.missing else ():
            missing_in[absentee.id].append(report.name)
    everybody = {listed.id for listed in not_handed_in.list_students(roster)}
    for by_student in effective_attempts.values():
        everybody |= by_student.keys()
    members = []
    for student in sorted(everybody):
        grades = _grades_of(student, effective_attempts)
        roster_entry = roster.students.get(student)
        email = roster_entry.cells.get("email", "") if roster_entry else ""
        name = (roster_entry.name if roster_entry else "") or names.get(student, "")
        members.append(ClassMember(student, name, email, grades, missing_in.get(student, [])))
    return members


def _grades_of(
    student: str, effective_attempts: Mapping[str, Mapping[str, EffectiveAttempt]]
) -> dict[str, Grade | None]:
    """A student's grade for each assignment; None where nothing of theirs was graded."""
    grades: dict[str, Grade | None] = {}
    for name, by_student in effective_attempts.items():
        grades[name] = by_student[student].grade if student in by_student else None
    return grades


def _title(reports: Sequence[AssignmentReport]) -> str:
    return reports[0].name if len(reports) == 1 else f"{len(reports)} notebooks"


def _labels(students: Mapping[str, str], hide: bool) -> dict[str, str]:
    """How each student is called. Numbers follow no order that somebody could know."""
    if not hide:
        return {
            student: in_a_line(f"{name} ({student})" if name else student, 80) for student, name in students.items()
        }
    order = list(students)
    secrets.SystemRandom().shuffle(order)
    width = len(str(len(order)))
    return {student: f"Student {number:0{width}}" for number, student in enumerate(order, 1)}


def _course_grades(
    policy: Policy,
    effective_attempts: Mapping[str, Mapping[str, EffectiveAttempt]],
    labels: Mapping[str, str],
    now: datetime,
) -> list[StudentCourseGrade]:
    students = sorted(
        {student for by_student in effective_attempts.values() for student in by_student},
        key=lambda student: labels[student],
    )
    course_grades = []
    for student in students:
        grades = _grades_of(student, effective_attempts)
        course_grades.append(StudentCourseGrade(labels[student], grades, policy.course_grade(grades, student, now)))
    return course_grades
