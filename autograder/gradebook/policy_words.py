"""What a class has agreed on, and what a submission is worth by it, in words: for pages, reports and the command line. The rules are in `policy`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from autograder.class_folder.policy_file import LatePenalty, exercise_and_question_points
from ffnlab.phrases import in_quotes, plural
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:
    from autograder.gradebook.policy import Grade, Policy

MAX_NAMES = 12  # in a line


# What has been agreed on.


def describe_rules(policy: Policy, assignment: str) -> list[str]:
    """The rules of an assignment, a sentence each, as a report says them."""
    due = policy.due(assignment)
    late = policy.late_penalty(assignment)
    grace = policy.grace(assignment)
    if due and grace:
        sentences = [f"Due {format_time(due)}, with {_length(grace)} of grace."]
    elif due:
        sentences = [f"Due {format_time(due)}."]
    else:
        sentences = ["No due date."]
    if due and late:
        sentences.append(_lateness(late))
    if policy.attempts(assignment) == "best":
        sentences.append("The best attempt counts.")
    else:
        sentences.append("The latest attempt counts.")
    names = [name for name, points in exercise_and_question_points(assignment).items() if points]
    left_out = [name for name in names if not policy.counts(assignment, name)]
    extra = [name for name in names if policy.counts(assignment, name) and policy.is_extra(assignment, name)]
    if left_out:
        sentences.append(f"For practice, not for points: {', '.join(left_out)}.")
    if extra:
        sentences.append(f"Extra credit: {', '.join(extra)}.")
    return sentences


def _lateness(late: LatePenalty) -> str:
    """The penalty for lateness as a rule."""
    floor = f", but at least {late.floor:g}\N{NO-BREAK SPACE}% of what was earned remains" if late.floor else ""
    if late.points_a_day is not None:
        sentence = f"Each day late takes {plural(f'{late.points_a_day:g}', 'point')} off{floor}"
    elif late.percent_a_day:
        sentence = f"Each day late takes {late.percent_a_day:g}\N{NO-BREAK SPACE}% of what was earned off{floor}"
    else:
        sentence = "Lateness costs nothing"
    if late.last_day is None:
        return sentence + "."
    if not late.last_day:
        return "Late submissions do not count."
    return f"{sentence}; after {plural(late.last_day, 'day')} nothing counts."


def _length(length: timedelta) -> str:
    """A length of time in the largest unit that it is a whole number of: "36 hours"."""
    minutes = int(length.total_seconds() // 60)
    for unit, size in (("day", 1440), ("hour", 60), ("minute", 1)):
        if minutes % size == 0:
            return plural(minutes // size, unit)
    raise AssertionError("a number of minutes is one of minutes")


# What a submission is worth.


def describe_penalty(grade: Grade) -> str:
    """The penalty in words, "late by 2 days: −20 %, −3.4 points"; empty where it was handed in on time, as far as is known."""
    if not grade.days_late:
        return "flagged as late by the LMS, but without a time, so nothing was taken off" if grade.late_flag else ""
    days = f"late by {plural(grade.days_late, 'day')}"
    if grade.beyond:
        amount = "too late to count, "
    elif grade.penalty:
        amount = "" if grade.percent is None else f"−{grade.percent:g}\N{NO-BREAK SPACE}%, "
    else:
        return f"{days}: no penalty"
    return f"{days}: {amount}−{plural(f'{grade.penalty:g}', 'point')}"


def describe_timeliness(grade: Grade) -> str:
    """Whether it was handed in on time, in words; empty where there is no due date. “None” and “can't be read” are not “on time”."""
    if grade.late or not grade.due:
        return grade.late
    if grade.submitted_at:
        return "on time"
    if grade.late_flag is False:
        return "on time, as far as the LMS says"
    why = "there is no time of submission"
    if grade.unread_time:
        why = f"its time can't be read ({in_quotes(in_a_line(grade.unread_time, 80))})"
    return f"not known to be on time, because {why}, so nothing was taken off"


def format_grade(grade: Grade) -> str:
    """In a table: "13.6/20 (−3.4 late) + 3 to read"."""
    text = f"{grade.points:g}/{grade.max_points:g}"
    if grade.penalty:
        text += f" (−{grade.penalty:g} late)"
    if grade.waiting:
        text += f" + {grade.waiting:g} to read"
    return text


def describe_grade(grade: Grade) -> list[str]:
    """What a feedback page says besides the points, a sentence each: lateness, what does not count, what is extra credit."""
    sentences = [grade.note] if grade.note else []
    if grade.late and grade.due and grade.submitted_at:
        sentences.append(
            f"{grade.late[0].upper()}{grade.late[1:]}. It was due {format_time(grade.due)} and was handed in {format_time(grade.submitted_at)}."
        )
    elif grade.due:
        sentence = "The due date was extended to" if grade.extended else "It was due"
        sentence += f" {format_time(grade.due)}"
        if grade.submitted_at:
            sentence += f" and was handed in {format_time(grade.submitted_at)}"
        sentences.append(f"{sentence}. Your submission is {grade.timeliness}.")
    if grade.not_counted:
        sentences.append(f"For practice, not for points: {', '.join(grade.not_counted)}.")
    if grade.on_top:
        sentences.append(f"Extra credit, on top of the maximum: {', '.join(grade.on_top)}.")
    return sentences


# What could not be taken off, as a time is missing.


def describe_lateness_not_counted(policy: Policy, assignment: str, grades: Mapping[str, Grade]) -> str:
    """A line on those whom the LMS flags as late without a time, and those of whom nothing is known, where being late costs something; else empty.

    It says what was not done, and what to do.
    """
    if not policy.deducts(assignment):
        return ""
    without_times = {student: grade for student, grade in grades.items() if grade.submitted_at is None}
    late = [student for student, grade in without_times.items() if grade.late_flag]
    unread = {student: grade.unread_time for student, grade in without_times.items() if grade.unread_time}
    unknown = [student for student, grade in without_times.items() if grade.late_flag is None and student not in unread]
    sentences = []
    if late:
        sentences.append(describe_late_flags(assignment, late))
    if unread:
        sentences.append(describe_unread_times(assignment, unread))
    if unknown:
        sentences.append(describe_missing_times(assignment, unknown))
    if not sentences:
        return ""
    write = "Write"
    if late:
        write = f"Let the LMS take points off and set no penalty for {assignment} in course.toml, or write"
    sentences.append(
        f"{write} the time into submitted/STUDENT/{assignment}/timestamp.txt, such as 2026-11-21 18:30:00 UTC, "
        f"and run {policy.class_folder.command(f'grade {assignment}')}"
    )
    return " ".join(sentences)


def describe_late_flags(assignment: str, students: Sequence[str]) -> str:
    """What is to be said of those whom the LMS flags as late without saying when they handed in."""
    students_are = plural(f"{len(students):,}", "student is", "students are")
    return f"{assignment}: {students_are} flagged as late ({name_list(students)}), and the LMS exports no times, so nothing is taken off."


def describe_missing_times(assignment: str, students: Sequence[str]) -> str:
    """What is to be said of those of whom nobody knows when they handed in."""
    students_have = plural(f"{len(students):,}", "student has", "students have")
    return f"{assignment}: {students_have} no time of submission ({name_list(students)}), so nothing is taken off even if it was late."


def describe_unread_times(assignment: str, times: Mapping[str, str]) -> str:
    """What is to be said of times that can't be read, by student."""
    subject = "The time of 1 student" if len(times) == 1 else f"The times of {len(times):,} students"
    names = name_list([f"{student}: {in_quotes(in_a_line(text, 60))}" for student, text in times.items()])
    return f"{assignment}: {subject} can't be read ({names}), so nothing is taken off even if it was late."


def name_list(students: Sequence[str]) -> str:
    """The first of these students, and how many more there are."""
    text = ", ".join(in_a_line(student, 80) for student in students[:MAX_NAMES])
    if len(students) > MAX_NAMES:
        text += f" and {len(students) - MAX_NAMES:,} more"
    return text


def format_time(time: datetime) -> str:
    """A moment for people: "2 Nov 2026, 23:59 CET"."""
    return f"{time.day} {time:%b %Y, %H:%M} {time.tzname() or ''}".strip()
