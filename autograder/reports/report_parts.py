"""What a report says, as data: class_report and assignment_report make it, report_page and data_files show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from autograder.gradebook.not_handed_in import Missing
from autograder.gradebook.policy import CourseGrade, Grade
from autograder.gradebook.scores import Score
from autograder.reports import similarity
from autograder.reports.report_rows import ReportRow
from ffnlab.checking.verdict import Outcome
from ffnlab.phrases import plural


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
    outcomes: Mapping[Outcome | None, int]  # None: of a question
    earned_after_mistake: int  # of those who earned it: whose mistake was named in an attempt before
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
    outcomes: Mapping[str, Outcome | None]  # how an exercise ended, likewise
    attempt_count: int
    by: str = ""  # who handed it in, where that was another of the group


@dataclass
class AlikeReport:
    """Answers that are nearly the same."""

    groups: list[GroupReport] = field(default_factory=list)
    pairs: list[PairReport] = field(default_factory=list)  # those that are shown
    pair_count: int = 0  # of all


@dataclass
class AttemptsReport:
    """How often students handed in, and when."""

    count: int = 0
    again: int = 0  # students with several attempts
    # Of these: whose points that count are more, or fewer, than the first attempt alone would be worth.
    better: int = 0
    worse: int = 0
    # How many students handed in first on a day, and how many later attempts there were.
    days: dict[date, tuple[int, int]] = field(default_factory=dict)
    has_times: bool = True  # whether all of them say when


@dataclass
class AssignmentReport:
    """All that a report says about one assignment."""

    name: str
    rules: Sequence[str]
    students: list[StudentReport] = field(default_factory=list)
    exercises: list[ExerciseReport] = field(default_factory=list)
    mistakes: list[MistakeReport] = field(default_factory=list)
    alike: AlikeReport = field(default_factory=AlikeReport)
    to_look_at: list[tuple[str, str]] = field(default_factory=list)
    not_graded: int = 0
    unreadable_count: int = 0
    waiting: dict[str, list[str]] = field(default_factory=dict)
    late: list[tuple[str, str]] = field(default_factory=list)
    attempts: AttemptsReport = field(default_factory=AttemptsReport)
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
