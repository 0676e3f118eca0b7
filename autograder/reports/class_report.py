"""What there is to say about a class, for one assignment, for several, or for the course: counted here, shown by report_page and tables.

Called by `autograder report`.

Scores are read through the class's policy. How hard an exercise is, and which mistakes the class makes, is counted over notebooks that could be read.
All that came from a submission is cleaned; with hidden names, nothing that is to be shown says who somebody is.
"""

from __future__ import annotations

import io
import math
import re
import secrets
import statistics
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from autograder import outline
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.roster import Roster
from autograder.engine.program import NEWER_PYTHON, answer_source
from autograder.engine.released import Kind, template
from autograder.errors import UserError
from autograder.gradebook import missing, unsettled
from autograder.gradebook.missing import Missing
from autograder.gradebook.policy import (
    CourseGrade,
    EffectiveAttempt,
    Grade,
    Policy,
    select_last_gradings,
)
from autograder.gradebook.policy_words import describe_rules, name_list
from autograder.gradebook.scores import Score
from autograder.paths import release, solution
from autograder.reports import similarity
from ffnlab.checking.verdict import Outcome
from ffnlab.phrases import plural
from ffnlab.untrusted_text import clean, in_a_line

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.gradebook.gradebook import Book, Grading, WrittenCell

MAX_PAIRS = 50  # of an assignment
MAX_EXAMPLE_SIZE = (16, 100)  # lines, and characters in a line
MIN_STUDENTS = 5  # students: fewer say nothing about an exercise


@dataclass(frozen=True)
class ExerciseReport:
    """How a class did in an exercise or a question. All numbers are of students, but for max_points."""

    name: str
    max_points: float
    counts: bool
    by_hand: bool
    answers: int
    # Both are None for a question of which answers are still to be read.
    share: float | None  # of its points that were earned, from 0 to 1
    # The correlation of its points with those of all other exercises, from −1 to 1; None where one of them is the same for all, or there are too few.
    discrimination: float | None
    outcomes: Mapping[str, int]
    unknown_mistakes: int  # wrong answers that no known mistake explains
    waiting: int


@dataclass(frozen=True)
class CodeLine:
    """A line of an example."""

    text: str
    own: bool  # not one of the handout's


@dataclass(frozen=True)
class MistakeReport:
    """A known mistake, and who makes it."""

    exercise: str
    name: str
    message: str
    now: int  # how many students make it in their latest attempt,
    past: int  # and how many made it before and no more
    by: str = ""  # whose the example is
    example: Sequence[CodeLine] = ()
    is_cut: bool = False

    @property
    def students(self) -> int:
        return self.now + self.past


@dataclass(frozen=True)
class PairReport:
    """Two nearly identical answers, as they were typed."""

    pair: similarity.Pair
    first: str
    second: str
    sources: tuple[str, str]

    @property
    def agreement(self) -> str:
        """In what they agree, in words."""
        more = _other_agreements(self.pair)
        also = f", and in {' and in '.join(more)}" if more else ""
        return f"agree in {100 * self.pair.share:.0f}\N{NO-BREAK SPACE}% of their own code{also}"


@dataclass(frozen=True)
class GroupReport:
    """The same answer of three students or more, as the first of them typed it."""

    group: similarity.SimilarGroup
    labels: Sequence[str]
    source: str

    @property
    def agreement(self) -> str:
        """In what they agree, in words."""
        more = _other_agreements(self.group)
        also = f", also {' and '.join(more)}" if more else ""
        return f"the same from beginning to end{also}"


def _other_agreements(same: similarity.Pair | similarity.SimilarGroup) -> list[str]:
    """In what answers agree besides their code, in words."""
    more = []
    if same.names:
        more.append("the names they chose")
    if same.comments:
        more.append(f"{plural(same.comments, 'comment')}, word for word")
    return more


@dataclass(frozen=True)
class StudentReport:
    """A line of the table: what one student has."""

    label: str
    grade: Grade
    scores: Mapping[str, Score]  # by the exercise's or question's name
    outcomes: Mapping[str, str]  # how an exercise ended, likewise
    attempt_count: int
    by: str = ""  # who handed it in, where that was another of the group


@dataclass(frozen=True)
class ReportRow:
    """A line of the CSV: one exercise or question in one attempt of a student."""

    assignment: str
    student: str
    attempt: int
    latest: bool
    counts: bool
    submitted_at: str
    graded_at: str
    exercise: str
    outcome: str
    points: float
    max_points: float
    mistake: str
    message: str
    by_hand: bool
    waits: bool
    readable: bool


@dataclass
class AssignmentReport:
    """All that a report says about one assignment."""

    name: str
    rules: Sequence[str]
    students: list[StudentReport] = field(default_factory=list)
    exercises: list[ExerciseReport] = field(default_factory=list)
    mistakes: list[MistakeReport] = field(default_factory=list)
    similar_pairs: list[PairReport] = field(default_factory=list)
    pairs: int = 0
    similar_groups: list[GroupReport] = field(default_factory=list)
    to_look_at: list[tuple[str, str]] = field(default_factory=list)
    not_graded: int = 0
    unreadable_count: int = 0
    waiting: dict[str, list[str]] = field(default_factory=dict)
    late: list[tuple[str, str]] = field(default_factory=list)
    attempt_count: int = 0
    again: int = 0
    better: int = 0
    worse: int = 0
    days: dict[date, tuple[int, int]] = field(default_factory=dict)
    has_times: bool = True
    due: datetime | None = None
    without: list[str] = field(default_factory=list)
    missing: Missing | None = None  # who has not handed in, where a list of the class is known
    unsettled: list[str] = field(default_factory=list)  # what the grades do not hold yet, a line each

    @property
    def points(self) -> list[float]:
        return [student.grade.points for student in self.students]

    @property
    def lateness(self) -> str:
        """How many are late, as far as is known."""
        untimed_grades = [student.grade for student in self.students if student.grade.submitted_at is None]
        if self.students and len(untimed_grades) == len(self.students):
            return "not known"
        late = sum(student.grade.days_late > 0 for student in self.students)
        unknown = sum(grade.late_flag is not False for grade in untimed_grades)
        return f"{late:,}, unknown for {unknown:,}" if unknown else f"{late:,}"

    @property
    def whole(self) -> float:
        return max((student.grade.whole for student in self.students), default=0.0)


@dataclass(frozen=True)
class StudentCourseGrade:
    """A student's grade over several notebooks, and for each of them; that is None where nothing was handed in."""

    label: str
    grades: Mapping[str, Grade | None]
    course_grade: CourseGrade


@dataclass(frozen=True)
class ClassMember:
    """A student as a mail merge takes them."""

    student: str
    name: str
    email: str
    grades: Mapping[str, Grade | None]  # for each assignment: None where nothing of theirs was graded
    not_handed_in: Sequence[str]  # assignments


@dataclass
class ClassReport:
    """A report."""

    title: str
    made_at: datetime
    hidden: bool
    assignments: list[AssignmentReport]
    labels: Mapping[str, str]  # how each student is called in it, which is for us alone
    doubts: list[str] = field(default_factory=list)  # what in course.toml should be looked at
    course_grades: list[StudentCourseGrade] = field(default_factory=list)
    rows: list[ReportRow] = field(default_factory=list)
    people: list[ClassMember] = field(default_factory=list)  # a line a student, for mail; none with hidden names


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
        builder = _ReportBuilder(name, book, policy, labels, hide_names)
        builder.read(rows if with_rows else None)
        if not builder.student_attempts:
            command = class_folder.command(f"grade {name}")
            raise UserError(f"{name} has not been graded in {class_folder.path}: run {command}")
        tell(f"{name}: comparing answers")
        reports.append(builder.build())
        effective_attempts[name] = builder.effective_attempts
        there = missing.submitters(class_folder, name) | builder.effective_attempts.keys()
        reports[-1].missing = missing.find(roster, policy, name, there, missing.count_undecided(class_folder, name))
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
    everybody = {listed.id for listed in missing.list_students(roster)}
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


# One assignment: from the gradebook to numbers.


@dataclass
class _StudentAttempts:
    """What is kept of a student while a class is read: not the whole history, which may be large."""

    effective_attempt: EffectiveAttempt
    attempt_count: int
    readable: bool
    outcomes: Mapping[str, tuple[str, str]]  # each exercise of the attempt that counts: how it ended, the known mistake


@dataclass
class _MistakeCount:
    """Who makes a mistake, who made it, and the shortest answer that shows it."""

    message: str
    now: set[str] = field(default_factory=set)
    before: set[str] = field(default_factory=set)
    example: tuple[int, str, str] | None = None  # its length, whose it is, the source


class _ReportBuilder:
    def __init__(self, name: str, book: Book, policy: Policy, labels: dict[str, str], hide: bool) -> None:
        self.name = name
        self.student_attempts: dict[str, _StudentAttempts] = {}
        self.effective_attempts: dict[str, EffectiveAttempt] = {}
        self._book = book
        self._policy = policy
        self._labels = labels
        self._hide = hide
        self._max_points = {exercise.name: exercise.points for exercise in outline.of_notebook(name) if exercise.points}
        self._stubs = {cell.name: cell.source for cell in template(release(name)) if cell.kind is Kind.SOLUTION}
        self._mistakes: dict[tuple[str, str], _MistakeCount] = {}
        self._sources: dict[str, dict[str, str]] = defaultdict(dict)
        self._days: dict[date, tuple[int, int]] = {}
        self._report = AssignmentReport(name, describe_rules(policy, name), due=policy.due(name))
        self._untimed = policy.untimed(book.class_folder, name)
        self._newer_python: dict[str, list[str]] = {}  # by what is said of them: who has written with a newer Python

    def read(self, rows: list[ReportRow] | None) -> None:
        """Read every attempt, student by student."""
        scores = self._book.scores(self.name)
        times = self._book.submission_times(self.name)
        everything = self._book.history_with_cells(self.name)
        for student, group in groupby(everything, key=lambda pair: pair[0].student):
            history = list(group)
            cells_by_row = {grading.row_id: cells for grading, cells in history}
            last_gradings = select_last_gradings([grading for grading, _ in history])
            attempts = [(grading, cells_by_row[grading.row_id]) for grading in last_gradings]
            if student not in self._labels:  # taken out of the gradebook since
                self._labels[student] = f"Student {len(self._labels) + 1}" if self._hide else in_a_line(student, 80)
            self._read_student(student, attempts, scores.get(student, {}), times.get(student), rows)
        own_attempts = {student: kept.effective_attempt for student, kept in self.student_attempts.items()}
        self.effective_attempts = self._policy.share_in_groups(self.name, own_attempts)

    def _read_student(
        self,
        student: str,
        attempts: Sequence[tuple[Grading, tuple[WrittenCell, ...] | None]],
        scores: Mapping[str, Score],
        submission_time: datetime | None,
        rows: list[ReportRow] | None,
    ) -> None:
        gradings = [grading for grading, _ in attempts]
        effective_attempt = self._policy.choose_attempt(
            self.name, gradings, scores, student, submission_time, self._untimed
        )
        newest, newest_cells = attempts[-1]
        readable = newest_cells is None or bool(newest_cells)
        outcomes = {
            name: (str(verdict["outcome"]), str(verdict["mistake"] or ""))
            for name, verdict in effective_attempt.grading.verdicts.items()
        }
        self.student_attempts[student] = _StudentAttempts(effective_attempt, len(attempts), readable, outcomes)
        report = self._report
        report.attempt_count += len(attempts)
        report.unreadable_count += not readable
        if len(attempts) > 1:
            report.again += 1
            report.better += newest.points > gradings[0].points
            report.worse += newest.points < gradings[0].points
        for number, (grading, cells) in enumerate(attempts):
            last = grading is newest
            handed_in_at = grading.submitted_at or (submission_time if last else None)
            self._count_day(handed_in_at, grading.graded_at, first=not number)
            if cells != ():
                self._note_mistakes(student, grading, cells, last)
        for cell in newest_cells or ():
            if cell.kind is Kind.SOLUTION and (source := answer_source(newest_cells or (), cell.name)):
                self._sources[cell.name][student] = source[: similarity.MAX_CHARACTERS]
        self._note_remarks(student, newest, readable, newest_cells or ())
        if rows is not None:
            rows += self._rows(student, attempts, effective_attempt, submission_time, scores)

    def _count_day(self, handed_in_at: datetime | None, graded_at: str, first: bool) -> None:
        self._report.has_times &= handed_in_at is not None
        day = self._policy.in_class_zone(handed_in_at or datetime.fromisoformat(graded_at)).date()
        new, more = self._days.get(day, (0, 0))
        self._days[day] = (new + first, more + (not first))

    def _note_mistakes(self, student: str, grading: Grading, cells: tuple[WrittenCell, ...] | None, last: bool) -> None:
        """Take note of the mistakes in an attempt."""
        sources = {name: answer_source(cells or (), name) for name in grading.verdicts}
        for name, verdict in grading.verdicts.items():
            if not verdict.get("mistake"):
                continue
            count = self._mistakes.setdefault((name, verdict["mistake"]), _MistakeCount(str(verdict["cause"])))
            count.message = min(count.message, str(verdict["cause"]), key=len)  # some are told with a second mistake
            if last:
                count.now.add(student)
            else:
                count.before.add(student)
            source = sources.get(name, "")
            if source and (count.example is None or (len(source), student) < count.example[:2]):
                count.example = (len(source), student, source[: similarity.MAX_CHARACTERS])

    def _note_remarks(self, student: str, newest: Grading, readable: bool, cells: Sequence[WrittenCell]) -> None:
        label = self._labels[student]
        failures = [name for name, verdict in newest.verdicts.items() if verdict["outcome"] == Outcome.NOT_GRADED.value]
        texts = [in_a_line(remark) for remark in newest.remarks]
        for text in [text for text in texts if text.startswith(NEWER_PYTHON)]:  # of a whole class, perhaps
            self._newer_python.setdefault(text, []).append(label)
        remarks = [self._hide_students(text, remark=True) for text in texts if not text.startswith(NEWER_PYTHON)]
        if failures:
            self._report.not_graded += 1
            names = f"not graded: {', '.join(failures)}"
            if len(failures) == len(newest.verdicts):
                names = "nothing in it was graded"
            remarks.insert(0, f"{names}, and the student is not at fault; grade it again, or by hand")
        elif not readable:
            remarks.insert(0, "could not be read")
        remarks += [
            f"{cell.name} is unusually long, {len(cell.source) / 1e6:.1f} million characters, so only its beginning is compared with others'"
            for cell in cells
            if len(cell.source) > similarity.MAX_CHARACTERS
        ]
        if remarks:
            self._report.to_look_at.append((label, "; ".join(remarks)))

    def build(self) -> AssignmentReport:
        """What there is to say."""
        report = self._report
        report.days = dict(sorted(self._days.items()))
        report.students = [
            self._report_student(student, attempt) for student, attempt in self.effective_attempts.items()
        ]
        report.students.sort(key=lambda student: student.label)
        report.without = sorted(
            self._labels[student] for student in self._book.students() if student not in self.effective_attempts
        )
        report.exercises = [self._report_exercise(name, points) for name, points in self._exercise_points().items()]
        report.late = [(student.label, student.grade.late) for student in report.students if student.grade.late]
        for student in report.students:
            for score in student.scores.values() if not student.by else ():
                if score.waits and score.max_score and (score.by_hand or score.name not in self._max_points):
                    report.waiting.setdefault(score.name, []).append(student.label)
        report.mistakes = [self._report_mistake(*which, count) for which, count in self._mistakes.items()]
        report.mistakes.sort(key=lambda mistake: (-mistake.students, -mistake.now, mistake.exercise, mistake.name))
        groups, pairs = self._compare_answers()
        report.similar_groups = [self._report_group(group) for group in groups[:MAX_PAIRS]]
        report.pairs = len(pairs)
        report.similar_pairs = [self._report_pair(pair) for pair in pairs[:MAX_PAIRS]]
        report.to_look_at += [(name_list(labels), text) for text, labels in self._newer_python.items()]
        report.to_look_at.sort()
        return report

    def _exercise_points(self) -> dict[str, float]:
        """The exercises, and the questions that the gradebook has besides, with their points."""
        scores = [
            score
            for attempts in self.student_attempts.values()
            for score in attempts.effective_attempt.scores.values()
            if score.max_score
        ]
        return self._max_points | {
            score.name: score.max_score for score in scores if score.name not in self._max_points
        }

    def _report_student(self, student: str, attempt: EffectiveAttempt) -> StudentReport:
        """A student's line of the table; with the outcomes of the attempt that counts."""
        outcomes = {name: str(verdict["outcome"]) for name, verdict in attempt.grading.verdicts.items()}
        by = "" if attempt.by == student else self._labels[attempt.by]
        attempts = self.student_attempts.get(attempt.by)
        attempt_count = attempts.attempt_count if attempts else 0
        return StudentReport(self._labels[student], attempt.grade, attempt.scores, outcomes, attempt_count, by)

    def _report_exercise(self, name: str, max_points: float) -> ExerciseReport:
        readable = [
            attempts
            for attempts in self.student_attempts.values()
            if attempts.readable and name in attempts.effective_attempt.scores
        ]
        final = [attempts for attempts in readable if not attempts.effective_attempt.scores[name].waits]
        outcomes = [attempts.outcomes.get(name, ("", "")) for attempts in readable]
        by_hand = name not in self._max_points
        points = [attempts.effective_attempt.scores[name].score for attempts in final]
        rest = [_sum_rest(attempts.effective_attempt.scores, name, self._max_points) for attempts in final]
        # Of a question that is still being read, those who wrote nothing are settled first: they would stand for all.
        is_telling = bool(points) and not (by_hand and len(final) < len(readable))
        return ExerciseReport(
            name,
            max_points,
            self._policy.counts(self.name, name),
            by_hand,
            answers=len(final),
            share=math.fsum(points) / (max_points * len(points)) if is_telling else None,
            discrimination=correlation(points, rest) if is_telling else None,
            outcomes=Counter(outcome for outcome, _ in outcomes),
            unknown_mistakes=outcomes.count((Outcome.NOT_EARNED.value, "")),
            waiting=len(readable) - len(final),
        )

    def _report_mistake(self, exercise: str, name: str, count: _MistakeCount) -> MistakeReport:
        past = count.before - count.now
        mistake = MistakeReport(exercise, name, in_a_line(count.message, 600), len(count.now), len(past))
        if count.example is None:
            return mistake
        _, student, source = count.example
        lines, is_cut = self._cut_example(source, self._stubs.get(exercise, ""))
        return replace(mistake, by=self._labels[student], example=lines, is_cut=is_cut)

    def _cut_example(self, source: str, stub: str) -> tuple[list[CodeLine], bool]:
        stub_lines = {line.strip() for line in stub.splitlines()}
        lines = [line.rstrip() for line in self._redact_source(source).splitlines() if line.strip()]
        most, width = MAX_EXAMPLE_SIZE
        code_lines = []
        for line in lines[:most]:
            shown = line if len(line) <= width else line[: width - 1] + "…"
            code_lines.append(CodeLine(shown, own=line.strip() not in stub_lines))
        return code_lines, len(lines) > most

    def _redact_source(self, source: str) -> str:
        """A source as it may be shown."""
        return self._hide_students(without_comments(source) if self._hide else clean(source, 4_000))

    def _hide_students(self, text: str, remark: bool = False) -> str:
        """With hidden names: the text without the names of the class's students, and a remark without the names of files, which often hold one."""
        if not self._hide:
            return text
        if remark:
            text = re.sub(r"(called) .*", r"\1 otherwise", text)
        words = {_fold_case(word) for word in re.findall(r"\w+", text)}
        names = _any_of([name for word in words for name in self._names.get(word, ())])
        return names.sub("…", text) if names else text

    @cached_property
    def _names(self) -> Mapping[str, Sequence[str]]:
        """What students are called, by the first word of it: a large class has too many names to look for each."""
        names = {word for student, name in self._book.students().items() for word in (student, *name.split())}
        not_theirs = {*similarity.STANDARD_NAMES, *(word.title() for word in similarity.STANDARD_NAMES)}
        names_by_word = defaultdict(list)
        for name in (names | self._labels.keys()) - not_theirs:
            if first := re.search(r"\w+", name):
                names_by_word[_fold_case(first[0])].append(name)
        return names_by_word

    def _compare_answers(self) -> tuple[list[similarity.SimilarGroup], list[similarity.Pair]]:
        """Groups and pairs of students who did not hand in together, those that agree in most first. What a group says is no pair as well."""
        known_answers = _known_answers(self.name)
        groups: list[similarity.SimilarGroup] = []
        pairs: list[similarity.Pair] = []
        for name, sources in self._sources.items():
            if name.startswith("quiz_"):
                continue
            same, near = similarity.find_similar(
                name, sources, [self._stubs.get(name, ""), *known_answers.get(name, ())]
            )
            same = [group for group in same if not set(group.students) <= self._partners(group.students[0])]
            group_of = {student: group for group in same for student in group.students}
            groups += same
            for pair in near:
                is_in_a_group = pair.first in group_of and group_of[pair.first] is group_of.get(pair.second)
                if pair.second not in self._partners(pair.first) and not is_in_a_group:
                    pairs.append(pair)
        return sorted(groups, key=similarity.SimilarGroup.rank), sorted(pairs, key=similarity.Pair.rank)

    def _partners(self, student: str) -> set[str]:
        """Who hands in together with a student, themselves among them."""
        return set(self._policy.group(self.name, student))

    def _report_group(self, group: similarity.SimilarGroup) -> GroupReport:
        labels = [self._labels[student] for student in group.students]
        return GroupReport(group, labels, self._redact_source(self._sources[group.exercise][group.students[0]]))

    def _report_pair(self, pair: similarity.Pair) -> PairReport:
        sources = self._sources[pair.exercise]
        shown = self._redact_source(sources[pair.first]), self._redact_source(sources[pair.second])
        return PairReport(pair, self._labels[pair.first], self._labels[pair.second], shown)

    def _rows(
        self,
        student: str,
        attempts: Sequence[tuple[Grading, tuple[WrittenCell, ...] | None]],
        effective_attempt: EffectiveAttempt,
        submission_time: datetime | None,
        scores: Mapping[str, Score],
    ) -> Iterator[ReportRow]:
        for number, (grading, cells) in enumerate(attempts, 1):
            latest = number == len(attempts)
            counts = grading is effective_attempt.grading
            handed_in_at = grading.submitted_at or (submission_time if latest else None)
            names = list(grading.verdicts)
            own_scores: Mapping[str, Score] = {}  # what stands in the gradebook for this attempt
            if latest:
                names += [name for name in scores if name not in grading.verdicts]
                own_scores = scores
            if counts:
                own_scores = effective_attempt.scores
            for name in names:
                verdict = grading.verdicts.get(name, {})
                score = own_scores.get(name)
                yield ReportRow(
                    self.name,
                    self._labels[student],
                    number,
                    latest,
                    counts and self._policy.counts(self.name, name),
                    handed_in_at.isoformat(timespec="seconds") if handed_in_at else "",
                    grading.graded_at,
                    name,
                    str(verdict.get("outcome", "")),
                    score.score if score else float(verdict["points"]),
                    score.max_score if score else float(verdict["max_points"]),
                    str(verdict.get("mistake") or ""),
                    in_a_line(str(verdict.get("cause", "")), 600),
                    score.by_hand if score else False,
                    score.waits if score else verdict["outcome"] == Outcome.NOT_GRADED.value,
                    cells != (),
                )


def _sum_rest(scores: Mapping[str, Score], name: str, exercises: Iterable[str]) -> float:
    """The points of all exercises but one."""
    return math.fsum(scores[exercise].score for exercise in exercises if exercise != name and exercise in scores)


def correlation(ones: Sequence[float], others: Sequence[float]) -> float | None:
    """Pearson's correlation; for points that are all or nothing it is the point-biserial one. None for fewer students, or where one side never changes."""
    if len(ones) < MIN_STUDENTS or len(set(ones)) < 2 or len(set(others)) < 2:
        return None
    try:
        return statistics.correlation(ones, others)
    except statistics.StatisticsError:
        return None


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Below which a quarter, a half and three quarters of the values lie, between the two nearest where it falls between; of one value, that."""
    if len(values) < 2:
        return (values[0],) * 3
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def _any_of(names: Collection[str]) -> re.Pattern[str] | None:
    """Any of these names as a word, in whatever case, the longest first."""
    alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE) if names else None


def _fold_case(word: str) -> str:
    """What words have in common that a pattern takes for the same in whatever case: it knows one i, with a dot or without."""
    return word.casefold().replace("\N{COMBINING DOT ABOVE}", "").replace("ı", "i")


def without_comments(source: str) -> str:
    """A source without comments and texts, in which people write their names. What can't be read as Python is left out from there on."""
    lines = clean(source, 20_000).splitlines(keepends=True)
    cuts: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    end = (len(lines) + 1, 0)
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            if token.type == tokenize.COMMENT:
                cuts.append((token.start, token.end, ""))
            elif token.type == tokenize.STRING and len(token.string) > 14:
                cuts.append((token.start, token.end, '"…"'))
            elif token.type == tokenize.ERRORTOKEN and token.string.strip():
                end = token.start
                break
    except (tokenize.TokenError, SyntaxError):
        end = max((cut[1] for cut in cuts), default=(1, 0))
    text = "".join(lines[: end[0] - 1]) + (lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else "")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    for (row, column), (last_row, last_column), instead in reversed(cuts):
        text = text[: offsets[row - 1] + column] + instead + text[offsets[last_row - 1] + last_column :]
    return text


def _known_answers(assignment: str) -> dict[str, list[str]]:
    """By exercise, what the answer key and the solution notebook hold: answers that several people give."""
    from autograder import keys  # brings torch

    sources = {key.exercise.name: [answer.source for answer in key.answers] for key in keys.of_notebook(assignment)}
    if solution(assignment).is_file():
        for cell in template(solution(assignment)):
            if cell.kind is Kind.SOLUTION and cell.name in sources:
                sources[cell.name].append(cell.source)
    return sources


# Several assignments.


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
