"""What a class has agreed on, in `course.toml` of its folder: due dates, lateness, attempts, what counts and how much. Called by whoever shows a score.

A policy is applied when scores are read. The gradebook keeps what was earned, so changing course.toml regrades nothing. Without the file: all notebooks,
no due dates, the latest attempt, and quizzes that do not count. docs/course.toml explains every line.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from autograder.desk.handed_in import YEARS
from autograder.desk.marks import Mark, Marks
from autograder.engine.rebuild import Kind, template
from autograder.house import Class, UserError, assignments, release
from autograder.marking import outline
from ffnlab.cleaning import in_a_line
from ffnlab.verdict import Outcome

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.desk.gradebook import Attempt, Book

FILE = "course.toml"
NOT_COUNTED = ("quiz_*",)  # quizzes can be tried until they are right: they are for learning
DURATION = re.compile(r"(\d{1,4}) ?(minute|hour|day|week)s?")
LONGEST = timedelta(days=366)


# What stands in the file. A field's description is what an error message says was expected.


def _duration(value: object) -> timedelta:
    found = DURATION.fullmatch(value) if isinstance(value, str) else None
    length = timedelta(**{f"{found[2]}s": int(found[1])}) if found else None
    if length is None or length > LONGEST:
        raise ValueError
    return length


def _moment(value: object) -> datetime:
    """A date is the last moment of that day. Without an offset it is in the class's time zone, filled in later."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time.max)
    if not isinstance(value, datetime) or value.year not in YEARS:
        raise ValueError
    return value


def _until(value: object) -> datetime | timedelta:
    return _duration(value) if isinstance(value, str) else _moment(value)


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError from None


DATE = "a date such as 2026-11-02, or with a time 2026-11-02T18:00:00"
Names = tuple[str, ...]
Duration = Annotated[timedelta, PlainValidator(_duration)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Late(_Table):
    percent_a_day: float | None = Field(default=None, ge=0, le=100, strict=True, description="a number from 0 to 100")
    points_a_day: float | None = Field(
        default=None, ge=0, strict=True, allow_inf_nan=False, description="a number that is not negative"
    )
    floor: float = Field(
        default=0.0, ge=0, le=100, strict=True, description="a number from 0 to 100 (percent of what was earned)"
    )
    last_day: int | None = Field(default=None, ge=0, strict=True, description="a whole number of days")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.percent_a_day is not None and self.points_a_day is not None:
            raise ValueError("percent_a_day or points_a_day was expected, not both")
        if self.percent_a_day is None and self.points_a_day is None and self.last_day is None:
            raise ValueError("percent_a_day, points_a_day or last_day was expected")
        return self


class _Assignment(_Table):
    due: Annotated[datetime, PlainValidator(_moment)] | None = Field(default=None, description=DATE)
    grace: Duration | None = Field(default=None, description='a text such as "15 minutes", "2 hours" or "1 day"')
    late: _Late | None = Field(default=None, description="a table")
    attempts: Literal["latest", "best"] | None = Field(default=None, description='"latest" or "best"')
    weight: float | None = Field(
        default=None, ge=0, strict=True, allow_inf_nan=False, description="a number that is not negative"
    )


class _Group(_Table):
    students: Names = Field(min_length=1, description="a list of students' names")
    notebooks: Names = Field(default=(), description="a list of notebooks' names")


class _File(_Table):
    time_zone: Annotated[ZoneInfo, PlainValidator(_zone)] | None = Field(
        default=None, description='a time zone such as "Europe/Berlin"'
    )
    notebooks: Names | None = Field(default=None, min_length=1, description="a list of notebooks' names")
    does_not_count: Names = Field(default=NOT_COUNTED, description='a list of exercises or patterns such as "quiz_*"')
    extra_credit: Names = Field(default=(), description="a list of exercises or questions")
    grace: Duration = Field(default=timedelta(0), description='a text such as "15 minutes", "2 hours" or "1 day"')
    late: _Late | None = Field(default=None, description="a table")
    attempts: Literal["latest", "best"] = Field(default="latest", description='"latest" or "best"')
    weight: float | None = Field(
        default=None, ge=0, strict=True, allow_inf_nan=False, description="a number that is not negative"
    )
    assignments: dict[str, _Assignment] = Field(default={}, description="a table for each notebook")
    extensions: dict[str, dict[str, Annotated[datetime | timedelta, PlainValidator(_until)]]] = Field(
        default={}, description=f'{DATE}, or a text such as "3 days"'
    )
    groups: tuple[_Group, ...] = Field(default=(), description='[[groups]] with students = ["…"]')


# What comes out.


@dataclass(frozen=True)
class Grade:
    """What a submission is worth by the class's rules.

    points: that count, after `penalty` has been taken off `earned`, which has `extra` in it, the points of extra credit. max_points: of what has been
    looked at. waiting: points of answers that a person still has to read. whole: the maximum when all has been read. All in points.
    days_late: days that have begun since the due date. percent: of what was earned that is taken off, None where points are. beyond: it is too late to
    count. not_counted, on_top: the exercises and questions that do not count, or are extra credit. note: where it is worth so much by another attempt than the
    latest, or by another's of the group.
    """

    assignment: str
    points: float
    max_points: float
    waiting: float
    whole: float
    earned: float
    extra: float = 0.0
    penalty: float = 0.0
    percent: float | None = None
    days_late: int = 0
    beyond: bool = False
    due: datetime | None = None  # in the class's time zone, with the extension
    extended: bool = False
    submitted_at: datetime | None = None
    not_counted: Names = ()
    on_top: Names = ()
    note: str = ""

    @property
    def late(self) -> str:
        """The penalty in words, "late by 2 days: −20 %, −3.4 points"; empty where it was handed in on time."""
        if not self.days_late:
            return ""
        days = f"late by {self.days_late} day{'s' * (self.days_late > 1)}"
        if self.beyond:
            return f"{days}: too late to count, −{self.penalty:g} points"
        if not self.penalty:
            return f"{days}: no penalty"
        percent = "" if self.percent is None else f"−{self.percent:g}\N{NO-BREAK SPACE}%, "
        return f"{days}: {percent}−{self.penalty:g} point{'s' * (self.penalty != 1)}"

    def __str__(self) -> str:
        """In a table: "13.6/20 (−3.4 late) + 3 to read"."""
        off = f" (−{self.penalty:g} late)" if self.penalty else ""
        return f"{self.points:g}/{self.max_points:g}{off}" + (f" + {self.waiting:g} to read" if self.waiting else "")

    def lines(self) -> list[str]:
        """What a feedback page says besides the points, a sentence each: lateness, what does not count, what is extra credit."""
        found = [self.note] if self.note else []
        if self.late and self.due and self.submitted_at:
            found.append(
                f"{self.late[0].upper()}{self.late[1:]}. It was due {moment(self.due)} and came in {moment(self.submitted_at)}."
            )
        elif self.extended and self.due:
            found.append(f"The due date was extended to {moment(self.due)}.")
        if self.not_counted:
            found.append(f"For practice, not for points: {', '.join(self.not_counted)}.")
        if self.on_top:
            found.append(f"Extra credit, on top of the maximum: {', '.join(self.on_top)}.")
        return found


@dataclass(frozen=True)
class Counted:
    """The attempt that counts for a student, with its marks and its grade. `by`: who handed it in, of a group."""

    attempt: Attempt
    marks: Marks
    grade: Grade
    by: str


@dataclass(frozen=True)
class Term:
    """A student's result over several notebooks. share: from 0 to 1, or a little more with extra credit; None where nothing counts yet."""

    points: float
    max_points: float
    share: float | None


def moment(at: datetime) -> str:
    """A moment for people: "2 Nov 2026, 23:59 CET"."""
    return f"{at.day} {at:%b %Y, %H:%M} {at.tzname() or ''}".strip()


@dataclass(frozen=True)
class Policy:
    """The rules of one class. `where`: the file they come from, empty where there is none."""

    _file: _File = field(default_factory=lambda: _File())
    where: str = ""

    @classmethod
    def of(cls, school: Class) -> Policy:
        """The rules in course.toml of the class's folder; where there is none, the usual ones.

        Raises:
            UserError: the file can't be read, or says something that can't be: which key, what stands there, what was expected.
        """
        path = school.folder / FILE
        if not path.is_file():
            if path.exists():
                raise UserError(f"{path} is not a regular file")
            return cls()
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise UserError(f"{path} is not UTF-8 text") from None
        except OSError as error:
            raise UserError(f"{path} can't be read: {error.strerror}") from None
        return cls.read(text, str(path))

    @classmethod
    def read(cls, text: str, where: str = FILE) -> Policy:
        """The rules in a text. `where` names it in error messages. Raises as `of` does."""
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{where} is not TOML: {in_a_line(str(error))}") from None
        try:
            found = cls(_File.model_validate(table), where)
        except ValidationError as error:
            raise UserError(f"{where}: {_told(error.errors()[0])}") from None
        found._check()
        return found

    # What stands there, looked at more closely.

    def _check(self) -> None:
        file, every = self._file, assignments()
        for name in file.notebooks or ():
            self._known("notebooks", name, every, "notebook")
        for name, rules in file.assignments.items():
            self._known("assignments", name, every, "notebook")
            if rules.due is not None and rules.due.tzinfo is None and file.time_zone is None:
                self._refuse(
                    f"assignments.{name}.due is {_as_written(rules.due)}, without a time zone: "
                    'write time_zone = "Europe/Berlin" (or yours) above everything, or the offset behind the time, as in 2026-11-02T18:00:00+01:00'
                )
        for student, granted in file.extensions.items():
            for name, until in granted.items():
                key = f"extensions.{_quoted(student)}"
                if "*" not in name:
                    self._known(key, name, every, "notebook")
                    if self._due(name) is None:
                        self._refuse(f"{key} extends {name}, which has no due date: set assignments.{name}.due")
                elif isinstance(until, datetime):
                    self._refuse(
                        f'{key} gives "{name}" one date; for several notebooks, a text such as "3 days" was expected'
                    )
                if isinstance(until, datetime) and until.tzinfo is None and file.time_zone is None:
                    self._refuse(
                        f"{key}.{name} is {_as_written(until)}, without a time zone: set time_zone, or write the offset"
                    )
        self._check_patterns()
        self._check_groups(every)
        weighted = [name for name in self.notebooks if self._weight(name) is not None]
        if weighted and len(weighted) < len(self.notebooks):
            missing = next(name for name in self.notebooks if name not in weighted)
            self._refuse(
                f"{weighted[0]} has a weight and {missing} has none: give each notebook one, or set `weight` above everything for the rest"
            )
        if len(weighted) == len(self.notebooks) and not any(self._weight(name) for name in weighted):
            self._refuse("every notebook has the weight 0: give one that counts a larger one")

    def _check_patterns(self) -> None:
        given = [
            ("does_not_count", text)
            for text in self._file.does_not_count
            if "does_not_count" in self._file.model_fields_set
        ]
        given += [("extra_credit", text) for text in self._file.extra_credit]
        if not given:
            return
        parts = {name: _parts(name) for name in assignments()}
        names = [part for listed in parts.values() for part in listed]
        full = [f"{notebook}/{part}" for notebook, listed in parts.items() for part in listed]
        for key, pattern in given:
            if not any(fnmatchcase(one, pattern) for one in (*names, *full)):
                self._refuse(
                    f"{key} holds {_as_written(pattern)}, and no exercise or question is called so{_near(pattern, full if '/' in pattern else names)}"
                )

    def _check_groups(self, every: Sequence[str]) -> None:
        seen: dict[tuple[str, str], int] = {}
        for number, group in enumerate(self._file.groups, 1):
            for name in group.notebooks:
                self._known(f"groups, number {number}, notebooks", name, every, "notebook")
            for student in group.students:
                for notebook in group.notebooks or every:
                    if seen.setdefault((student, notebook), number) != number:
                        self._refuse(
                            f"{student} is in groups number {seen[student, notebook]} and {number} for {notebook}: one was expected"
                        )

    def _known(self, key: str, name: str, known: Iterable[str], kind: str) -> None:
        known = list(known)
        if name not in known:
            near = _near(name, known) or f"; there are {', '.join(known)}"
            self._refuse(f"{key} names {_as_written(name)}, and there is no {kind} called so{near}")

    def _refuse(self, said: str) -> NoReturn:
        raise UserError(f"{self.where}: {said}")

    def doubts(self, students: Iterable[str]) -> list[str]:
        """What should be looked at, a line each: names in extensions and groups that none of these `students` has, extensions that end before the due date.

        They are no errors: somebody may have an extension who has handed in nothing yet.
        """
        known, found = set(students), []
        named = [(f"extensions.{_quoted(student)}", student) for student in self._file.extensions]
        named += [
            (f"groups, number {n}", one) for n, group in enumerate(self._file.groups, 1) for one in group.students
        ]
        for key, student in named:
            if student not in known:
                near = _near(student, known)
                found.append(
                    f"{self.where}: {key} names {_as_written(student)}, and nobody of that name has handed in anything yet{near}"
                )
        for student, granted in self._file.extensions.items():
            for name, until in granted.items():
                due = self._due(name)
                if isinstance(until, datetime) and due and self._here(until) < due:
                    found.append(
                        f"{self.where}: extensions.{_quoted(student)}.{name} is {_as_written(until)}, before the due date, which stands"
                    )
        return found

    # What the rules are.

    @cached_property
    def notebooks(self) -> Names:
        """The notebooks that this class works on, in the course's order."""
        chosen = self._file.notebooks
        return tuple(name for name in assignments() if chosen is None or name in chosen)

    @property
    def zone(self) -> tzinfo:
        """The class's time zone; UTC where it says none."""
        return self._file.time_zone or UTC

    def here(self, at: datetime) -> datetime:
        """A moment in the class's time zone; one without an offset is taken for UTC, as nbgrader keeps them."""
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(self.zone)

    def due(self, assignment: str, student: str | None = None) -> datetime | None:
        """Until when an assignment is to be handed in, by a student with their extension or their group's; None: no due date."""
        due = self._due(assignment)
        if due is None or student is None:
            return due
        ends = [due]
        for one in self.group(assignment, student):
            for name, until in self._file.extensions.get(one, {}).items():
                if fnmatchcase(assignment, name):
                    ends.append(due + until if isinstance(until, timedelta) else self._here(until))
        return max(ends, key=lambda end: end.astimezone(UTC))

    def group(self, assignment: str, student: str) -> Names:
        """Who hands in together with a student, themselves among them."""
        for group in self._file.groups:
            if student in group.students and (not group.notebooks or assignment in group.notebooks):
                return group.students
        return (student,)

    def in_groups(self) -> list[str]:
        """All who are named in a group."""
        return [student for group in self._file.groups for student in group.students]

    def attempts(self, assignment: str) -> str:
        """Which attempt counts: "latest" or "best"."""
        return self._rules(assignment).attempts or self._file.attempts

    def counts(self, assignment: str, name: str) -> bool:
        """Whether the points of an exercise or question count at all."""
        return not self._matches(self._file.does_not_count, assignment, name)

    def is_extra(self, assignment: str, name: str) -> bool:
        """Whether the points of an exercise or question are on top of the maximum."""
        return self._matches(self._file.extra_credit, assignment, name)

    @staticmethod
    def _matches(patterns: Names, assignment: str, name: str) -> bool:
        return any(fnmatchcase(one, pattern) for pattern in patterns for one in (name, f"{assignment}/{name}"))

    def _rules(self, assignment: str) -> _Assignment:
        return self._file.assignments.get(assignment) or _Assignment()

    def _here(self, at: datetime) -> datetime:
        """A moment of the file: without an offset it is a time of the class's zone."""
        return at.replace(tzinfo=self.zone) if at.tzinfo is None else at.astimezone(self._file.time_zone or at.tzinfo)

    def _due(self, assignment: str) -> datetime | None:
        due = self._rules(assignment).due
        return None if due is None else self._here(due)

    def _weight(self, assignment: str) -> float | None:
        weight = self._rules(assignment).weight
        return self._file.weight if weight is None else weight

    def in_words(self, assignment: str) -> list[str]:
        """The rules of an assignment, a sentence each, as a report says them."""
        due, late, rules = self._due(assignment), self._late(assignment), self._rules(assignment)
        grace = self._file.grace if rules.grace is None else rules.grace
        said = (
            [f"Due {moment(due)}" + (f", with {_length(grace)} of grace." if grace else ".")]
            if due
            else ["No due date."]
        )
        if due and late:
            said.append(_lateness(late))
        said.append(
            "Of several attempts the best counts."
            if self.attempts(assignment) == "best"
            else "Of several attempts the latest counts."
        )
        names = [name for name, points in _parts(assignment).items() if points]
        left_out = [name for name in names if not self.counts(assignment, name)]
        extra = [name for name in names if self.counts(assignment, name) and self.is_extra(assignment, name)]
        if left_out:
            said.append(f"For practice, not for points: {', '.join(left_out)}.")
        if extra:
            said.append(f"Extra credit: {', '.join(extra)}.")
        return said

    def _late(self, assignment: str) -> _Late | None:
        return self._rules(assignment).late or self._file.late

    # What a submission is worth.

    def grade(self, assignment: str, marks: Marks, submitted_at: datetime | None, student: str) -> Grade:
        """What a submission is worth.

        marks: what stands in the gradebook, by name. submitted_at: when it was handed in, without an offset in UTC; None, not known: never late.
        """
        counted = {name: mark for name, mark in marks.items() if self.counts(assignment, name)}
        on_top = {name for name in counted if self.is_extra(assignment, name)}
        settled = [mark for mark in counted.values() if not mark.waits]
        earned = math.fsum(mark.score for mark in settled)
        extra = math.fsum(mark.score if mark.name in on_top else mark.extra for mark in settled)
        due = self.due(assignment, student)
        at = self.here(submitted_at) if submitted_at else None
        days = self._days_late(assignment, at, due) if due and at else 0
        penalty, percent, beyond = self._penalty(assignment, earned, days)
        return Grade(
            assignment,
            points=round(earned - penalty, 6),
            max_points=round(math.fsum(mark.max_score for mark in settled if mark.name not in on_top), 6),
            waiting=round(math.fsum(mark.max_score for mark in counted.values() if mark.waits), 6),
            whole=round(math.fsum(mark.max_score for name, mark in counted.items() if name not in on_top), 6),
            earned=round(earned, 6),
            extra=round(extra, 6),
            penalty=round(penalty, 6),
            percent=percent,
            days_late=days,
            beyond=beyond,
            due=due,
            extended=due != self._due(assignment),
            submitted_at=at,
            not_counted=tuple(name for name in marks if name not in counted),
            on_top=tuple(name for name in counted if name in on_top),
        )

    def _days_late(self, assignment: str, submitted: datetime, due: datetime) -> int:
        """How many days have begun since it was due, by the clock on the wall: a day that is an hour longer is one day. Within the grace period: 0."""
        grace = self._rules(assignment).grace
        end = due.astimezone(UTC) + (self._file.grace if grace is None else grace)
        at = submitted.astimezone(UTC)
        if at <= end:
            return 0
        days = max(1, (at - due.astimezone(UTC)).days)
        while (due + timedelta(days=days)).astimezone(UTC) < at:
            days += 1
        while days > 1 and (due + timedelta(days=days - 1)).astimezone(UTC) >= at:
            days -= 1
        return days

    def _penalty(self, assignment: str, earned: float, days: int) -> tuple[float, float | None, bool]:
        """The points that so many days cost, the percentage where it is one, and whether it is too late to count at all."""
        rules = self._late(assignment)
        base = max(earned, 0.0)
        if not days or rules is None:
            return 0.0, None, False
        if rules.last_day is not None and days > rules.last_day:
            return base, None, True
        most = 100.0 - rules.floor
        if rules.points_a_day is not None:
            return min(days * rules.points_a_day, base * most / 100), None, False
        percent = min(days * (rules.percent_a_day or 0.0), most)
        return base * percent / 100, percent, False

    def counting(
        self,
        assignment: str,
        attempts: Sequence[Attempt],
        marks: Marks,
        student: str,
        submitted_at: datetime | None = None,
    ) -> Counted:
        """Which of a student's attempts counts, and what it is worth.

        attempts: oldest first, at least one. marks: what stands in the gradebook, which holds the latest; what a person gave counts with every attempt.
        submitted_at: when the latest was handed in, where the attempt itself does not know.
        """

        attempts = hand_ins(attempts)

        def counted(attempt: Attempt) -> Counted:
            newest = attempt is attempts[-1]
            its = marks if newest and marks else of_attempt(attempt, marks)
            at = attempt.submitted_at or (submitted_at if newest else None)
            return Counted(attempt, its, self.grade(assignment, its, at, student), student)

        if self.attempts(assignment) == "latest":
            return counted(attempts[-1])
        best = max(map(counted, attempts), key=lambda one: (one.grade.points, one.attempt.number))
        if best.attempt is attempts[-1]:
            return best
        at = best.grade.submitted_at
        note = f"Of {len(attempts)} attempts the best counts" + (
            f", handed in {moment(at)}." if at else ", an earlier one."
        )
        return replace(best, grade=replace(best.grade, note=note))

    def shared(self, assignment: str, found: Mapping[str, Counted]) -> dict[str, Counted]:
        """What counts for each student, by student: in a group, what one of them handed in counts for all, by the same rule as among attempts."""
        best = self.attempts(assignment) == "best"
        everybody = dict(found)
        for group in self._file.groups:
            handed_in = [found[one] for one in group.students if one in found]
            if handed_in and (not group.notebooks or assignment in group.notebooks):
                chosen = max(handed_in, key=lambda one: _preferred(one, best))
                note = f"Handed in together: what {chosen.by} handed in counts."
                theirs = replace(chosen, grade=replace(chosen.grade, note=note))
                everybody |= {one: chosen if one == chosen.by else theirs for one in group.students}
        return everybody

    def read_book(self, book: Book, assignment: str) -> dict[str, Counted]:
        """What counts for each student who has handed in an assignment, or whose group has, by student."""
        marks, times = book.marks(assignment), book.submitted(assignment)
        found = {}
        for student, attempts in groupby(
            (attempt for attempt, _ in book.attempts(assignment)), key=lambda one: one.student
        ):
            own = marks.get(student, {})
            found[student] = self.counting(assignment, list(attempts), own, student, times.get(student))
        return self.shared(assignment, found)

    def grades(self, book: Book, assignment: str) -> dict[str, Grade]:
        """What the work of each student is worth, by student."""
        return {student: counted.grade for student, counted in self.read_book(book, assignment).items()}

    def term(self, grades: Mapping[str, Grade | None], student: str, now: datetime | None = None) -> Term:
        """A student's result over the notebooks of `grades`; None stands for what was not handed in, which counts as 0 once it is due.

        Points are added up; where notebooks have weights, the shares of their points are averaged by weight.
        now: for tests.
        """
        now = now or datetime.now(UTC)
        counted: list[tuple[float, Grade]] = []
        for assignment, grade in grades.items():
            if assignment not in self.notebooks:
                continue
            due = self.due(assignment, student)
            if grade is None and due and due > now:
                continue
            one = grade or Grade(assignment, 0.0, self._maximum(assignment), 0.0, 0.0, 0.0)
            weight = self._weight(assignment)
            counted.append((1.0 if weight is None else weight, one))
        points = round(math.fsum(grade.points for _, grade in counted), 6)
        most = round(math.fsum(grade.max_points for _, grade in counted), 6)
        if not any(self._weight(name) is not None for name in self.notebooks):
            return Term(points, most, points / most if most else None)
        shares = [(weight, grade.points / grade.max_points) for weight, grade in counted if grade.max_points]
        whole = math.fsum(weight for weight, _ in shares)
        return Term(points, most, math.fsum(weight * share for weight, share in shares) / whole if whole else None)

    def _maximum(self, assignment: str) -> float:
        return math.fsum(
            points
            for name, points in _parts(assignment).items()
            if self.counts(assignment, name) and not self.is_extra(assignment, name)
        )

    def enter_dates(self, book: Book, assignment: str) -> None:
        """Write an assignment's due date and extensions, where it has one here, into nbgrader's gradebook, which formgrader shows. It changes no score."""
        due = self.due(assignment)
        if due is None:
            return
        lengths = {}
        for student in {*self._file.extensions, *self.in_groups()}:
            end = self.due(assignment, student)
            if end and end > due:
                lengths[student] = end - due
        book.set_dates(assignment, due, lengths)


def _preferred(one: Counted, best: bool) -> tuple[float, datetime, int]:
    """What to prefer of a group's: the most points, or what came in last."""
    at = one.grade.submitted_at or datetime.min.replace(tzinfo=UTC)
    return (one.grade.points if best else 0.0, at, one.attempt.number)


def hand_ins(attempts: Sequence[Attempt]) -> list[Attempt]:
    """One attempt for each time that something was handed in: what was graded again, unchanged, is there once, as it was graded last."""
    return [
        attempt
        for attempt, after in zip(attempts, [*attempts[1:], None], strict=True)
        if after is None or after.submission != attempt.submission
    ]


def of_attempt(attempt: Attempt, marks: Marks) -> dict[str, Mark]:
    """The marks that a submission had with an attempt's verdicts; what a person gave stands."""
    found = dict(marks)
    for name, verdict in attempt.verdicts.items():
        given = marks.get(name, Mark(name, 0.0, float(verdict["max_points"])))
        if not given.by_hand:
            waits = verdict["outcome"] == Outcome.NOT_GRADED.value
            found[name] = replace(given, score=round(float(verdict["points"]) + given.extra, 6), waits=waits)
    return found


def _parts(assignment: str) -> dict[str, float]:
    """The exercises and questions of a notebook, with their points."""
    parts = {exercise.name: exercise.points for exercise in outline.of_notebook(assignment)}
    for cell in template(release(assignment)):
        if cell.kind is Kind.MANUAL:
            parts[cell.name] = float(cell.metadata["nbgrader"]["points"])
    return parts


def _lateness(late: _Late) -> str:
    """The penalty for lateness as a rule."""
    floor = f", but at least {late.floor:g}\N{NO-BREAK SPACE}% of what was earned stays" if late.floor else ""
    if late.points_a_day is not None:
        taken = f"Each day late takes {late.points_a_day:g} point{'s' * (late.points_a_day != 1)} off{floor}"
    elif late.percent_a_day:
        taken = f"Each day late takes {late.percent_a_day:g}\N{NO-BREAK SPACE}% of what was earned off{floor}"
    else:
        taken = "Being late costs nothing"
    if late.last_day is None:
        return taken + "."
    if not late.last_day:
        return "What is late does not count."
    return f"{taken}; after {late.last_day} day{'s' * (late.last_day > 1)} nothing counts."


def _length(length: timedelta) -> str:
    minutes = int(length.total_seconds() // 60)
    for unit, size in (("day", 1440), ("hour", 60), ("minute", 1)):
        if minutes % size == 0:
            count = minutes // size
            return f"{count} {unit}{'s' * (count != 1)}"
    raise AssertionError("a number of minutes is one of minutes")


# Errors in words.


def _told(error: Any) -> str:
    """One line on what pydantic found: the key, what stands there, what was expected."""
    place: tuple[str | int, ...] = tuple(part for part in error["loc"])
    if error["type"] == "extra_forbidden":
        *above, name = place
        known = list(_at(above)[0].model_fields)
        where = f"{_key(above)} has " if above else "there is "
        return f"{where}no key {_as_written(str(name))}{_near(str(name), known) or '; there are ' + ', '.join(known)}"
    if error["type"] == "value_error" and str(error["ctx"]["error"]):
        return f"{_key(place)}: {error['ctx']['error']}"
    if error["type"] == "missing":
        return f"{_key(place)} is missing; {_at(place)[1]} was expected"
    near = _near_zone(error["input"]) if place == ("time_zone",) else ""
    return f"{_key(place)} is {_as_written(error['input'])}; {_at(place)[1]} was expected{near}"


_TABLES: dict[str | int, type[_Table]] = {"late": _Late, "assignments": _Assignment, "groups": _Group}


def _at(place: Sequence[str | int]) -> tuple[type[_Table], str]:
    """The table that a place in the file is in, or is, and what was expected there."""
    table: type[_Table] = _File
    expected = ""
    for part in place:
        if part in table.model_fields:
            expected = table.model_fields[str(part)].description or ""
            if part == "extensions":
                return table, expected if len(place) > 2 else 'a table such as { 02_feed_forward = "3 days" }'
            table = _TABLES.get(part, table)
    return table, expected


def _key(place: Sequence[str | int]) -> str:
    said = ""
    for part in place:
        if isinstance(part, int):
            said += f", number {part + 1}"
        else:
            said += f"{'.' if said and not said[-1].isspace() else ''}{_quoted(part)}"
    return said


def _quoted(name: str) -> str:
    """A key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _as_written(name)


def _as_written(value: object) -> str:
    """A value as it stands in the file, not longer than a line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(in_a_line(value, 60), ensure_ascii=False)
    if isinstance(value, datetime) and value.time() == time.max:
        return value.date().isoformat()
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return in_a_line(f"[{', '.join(map(_as_written, value))}]", 80)
    return "a table" if isinstance(value, dict) else in_a_line(str(value), 60)


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {_as_written(close[0])}?" if close else ""


def _near_zone(value: object) -> str:
    """A time zone by its city or something near."""
    cities = {zone.rpartition("/")[2].lower(): zone for zone in sorted(available_timezones()) if "/" in zone}
    wanted = str(value).rpartition("/")[2].strip().lower().replace(" ", "_")
    close = difflib.get_close_matches(wanted, cities, n=1, cutoff=0.6)
    return f"; did you mean {_as_written(cities[close[0]])}?" if close else ""
