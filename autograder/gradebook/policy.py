"""What a submission is worth by the rules of its class: due dates, lateness, which attempt counts, what counts and how much.

`policy_file` reads the rules from course.toml, and `policy_words` says them. Called by whoever shows a score.
A policy is applied when scores are read. The gradebook keeps what was earned, so changing course.toml regrades nothing. Without the file: all notebooks,
no due dates, the latest attempt, and quizzes that do not count. docs/course.toml explains every line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from autograder import untrusted_files
from autograder.class_folder import manifest, policy_file
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.policy_file import (
    Extension,
    LatePenalty,
    Names,
    PolicyFile,
    exercise_and_question_points,
    format_value,
    quote_key,
)
from autograder.class_folder.roster import Roster
from autograder.class_folder.student_lookup import StudentLookup
from autograder.errors import UserError
from autograder.gradebook import policy_words
from autograder.gradebook.scores import Score, Scores
from autograder.paths import assignments, root
from ffnlab.checking.verdict import Outcome

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.gradebook.gradebook import Book, Grading

FILE = "course.toml"


@dataclass(frozen=True)
class Grade:
    """What a submission is worth by the class's rules."""

    assignment: str
    # In points.
    points: float  # that count: `earned` without `penalty`
    max_points: float  # of what has been looked at
    waiting: float  # of answers that a person still has to read
    whole: float  # the maximum when all has been read
    earned: float  # before anything is taken off, with `extra` in it
    extra: float = 0.0  # of extra credit
    penalty: float = 0.0  # what is taken off
    # Lateness.
    percent: float | None = None  # of what was earned that is taken off; None where points are
    days_late: int = 0  # days that have begun since the due date
    beyond: bool = False  # it is too late to count
    # Whether the LMS, which gives no time, flags it as late, so that nothing was taken off; None: it does not say.
    late_flag: bool | None = None
    unread_time: str = ""  # what is given as the time of submission, and can't be read
    due: datetime | None = None  # in the class's time zone, with the extension
    extended: bool = False
    submitted_at: datetime | None = None
    not_counted: Names = ()  # the exercises and questions that do not count
    on_top: Names = ()  # those that are extra credit
    note: str = ""  # where it is worth so much by another attempt than the latest, or by another's of the group

    @classmethod
    def nothing(cls, assignment: str, max_points: float) -> Grade:
        """Of a student who handed in nothing: no points of those that count."""
        return cls(assignment, points=0.0, max_points=max_points, waiting=0.0, whole=max_points, earned=0.0)

    @property
    def late(self) -> str:
        """The penalty in words; empty where it was handed in on time, as far as is known."""
        return policy_words.describe_penalty(self)

    @property
    def timeliness(self) -> str:
        """Whether it was handed in on time, in words; empty where there is no due date."""
        return policy_words.describe_timeliness(self)

    def __str__(self) -> str:
        """In a table: "13.6/20 (−3.4 late) + 3 to read"."""
        return policy_words.format_grade(self)

    def lines(self) -> list[str]:
        """What a feedback page says besides the points, a sentence each."""
        return policy_words.describe_grade(self)


@dataclass(frozen=True)
class EffectiveAttempt:
    """The attempt that counts for a student, with its last grading, its scores and its grade."""

    grading: Grading
    scores: Scores
    grade: Grade
    by: str  # who handed it in, of a group


@dataclass(frozen=True)
class CourseGrade:
    """A student's grade over several notebooks."""

    points: float
    max_points: float
    share: float | None  # from 0 to 1, or a little more with extra credit; None where nothing counts yet


def mean_share(grades: Iterable[Grade]) -> float | None:
    """The mean share of the points that count, from 0 to 1; None where nothing counts yet."""
    shares = [grade.points / grade.max_points for grade in grades if grade.max_points]
    return sum(shares) / len(shares) if shares else None


@dataclass(frozen=True)
class UntimedAttempts:
    """What is known of attempts without a time."""

    class_folder: ClassFolder | None = None
    assignment: str = ""
    clock: tzinfo | None = None
    flags: Mapping[tuple[str, str], bool] = field(default_factory=dict)  # as manifest.lateness
    unread_times: Mapping[tuple[str, str], str] = field(default_factory=dict)  # as manifest.unread_times

    def is_late(self, grading: Grading) -> bool | None:
        """Whether the LMS flags it as late; None: it does not say."""
        return self.flags.get((grading.student, grading.digest))

    def unread_time(self, grading: Grading, newest: bool) -> str:
        """What is given as its time, and can't be read; empty where nothing is. newest: whether it is the one in submitted/."""
        text = self.unread_times.get((grading.student, grading.digest), "")
        if not self.class_folder or not newest:
            return text
        folder = self.class_folder.submitted / grading.student / self.assignment
        try:
            return untrusted_files.read_timestamp(folder, self.clock).unreadable or text
        except OSError as error:
            return untrusted_files.describe_error(error)


@dataclass(frozen=True)
class Policy:
    """The rules of one class."""

    _file: PolicyFile = field(default_factory=PolicyFile)
    where: str = ""  # the file that they come from, empty where there is none
    _student_lookup: StudentLookup | None = None
    _class_folder: ClassFolder | None = None

    @classmethod
    def of(cls, class_folder: ClassFolder) -> Policy:
        """The rules in course.toml of the class's folder; where there is none, the usual ones.

        Raises:
            UserError: the file can't be read, or says something that can't be: which key, what stands there, what was expected.
        """
        path = class_folder.path / FILE
        if not path.is_file():
            if path.exists():
                raise UserError(f"{path} is not a regular file")
            return cls()
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UserError(f"{path} is not UTF-8 text") from None
        except OSError as error:
            raise UserError(f"{path} can't be read: {error.strerror}") from None
        policy = replace(cls.read(text, str(path)), _class_folder=class_folder)
        if not (policy._file.extensions or policy._file.groups):
            return policy
        lookup = StudentLookup.of(class_folder)
        return replace(
            policy, _file=policy_file.by_folder(policy._file, lookup.matches, str(path)), _student_lookup=lookup
        )

    @classmethod
    def read(cls, text: str, where: str = FILE) -> Policy:
        """The rules in a text. `where` names it in error messages. Raises as `of` does."""
        return cls(policy_file.read(text, where), where)

    def doubts(self, students: Iterable[str]) -> list[str]:
        """What should be looked at, a line each: names in extensions and groups that none of these `students` has, extensions that end before the due date.

        They are no errors: somebody may have an extension who has handed in nothing yet.
        """
        names = set(students)
        doubts = []
        lookup = self._student_lookup or StudentLookup(Roster(), dict.fromkeys(names, ""))
        names |= lookup.folders()
        nobody_has = "no student of the class has" if lookup.roster.is_listed else "no student who has handed in has"
        mentions = [(f"extensions.{quote_key(student)}", student) for student in self._file.extensions]
        mentions += [
            (f"groups, number {n}", student)
            for n, group in enumerate(self._file.groups, 1)
            for student in group.students
        ]
        for key, student in mentions:
            if student not in names:
                doubts.append(
                    f"{self.where}: {key} names {format_value(student)}, but {nobody_has} this name, so it has no effect"
                    f"{lookup.near(student)}"
                )
        for student, extensions in self._file.extensions.items():
            for name, until in extensions.items():
                due = self._due(name)
                if isinstance(until, datetime) and due and self._moment_of_file(until) < due:
                    doubts.append(
                        f"{self.where}: extensions.{quote_key(student)}.{name} is {format_value(until)}, before the due date, so it has no effect"
                    )
        return doubts

    # What the rules are.

    @property
    def class_folder(self) -> ClassFolder:
        """The folder that they are of; the usual one where they were read from a text."""
        return self._class_folder or ClassFolder(root() / "grading")

    @property
    def language_models(self) -> str:
        """What the class says on language models; "" where the course's own words stand."""
        return self._file.language_models or ""

    @cached_property
    def notebooks(self) -> Names:
        """The notebooks that this class works on, in the course's order."""
        selection = self._file.notebooks
        return tuple(name for name in assignments() if selection is None or name in selection)

    @property
    def clock(self) -> tzinfo | None:
        """The class's time zone; None where it says none."""
        return self._file.time_zone

    @property
    def zone(self) -> tzinfo:
        """The class's time zone; UTC where it says none."""
        return self.clock or UTC

    def in_class_zone(self, time: datetime) -> datetime:
        """A moment in the class's time zone; one without an offset is taken for UTC, as nbgrader keeps them."""
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(self.zone)

    def due(self, assignment: str, student: str | None = None) -> datetime | None:
        """Until when an assignment is to be handed in, by a student with their extension or their group's; None: no due date."""
        due = self._due(assignment)
        if due is None or student is None:
            return due
        ends = [due]
        for member in self.group(assignment, student):
            for name, until in self._file.extensions.get(member, {}).items():
                if fnmatchcase(assignment, name):
                    ends.append(self._moment_of_file(until) if isinstance(until, datetime) else _extend(due, until))
        return max(ends, key=lambda end: end.astimezone(UTC))

    def group(self, assignment: str, student: str) -> Names:
        """Who hands in together with a student, themselves among them."""
        for group in self._file.groups:
            if student in group.students and group.is_for(assignment):
                return group.students
        return (student,)

    def in_groups(self) -> list[str]:
        """All who are named in a group."""
        return [student for group in self._file.groups for student in group.students]

    def attempts(self, assignment: str) -> str:
        """Which attempt counts: "latest" or "best"."""
        return self._file.rules(assignment).attempts or self._file.attempts

    def counts(self, assignment: str, name: str) -> bool:
        """Whether the points of an exercise or question count at all."""
        return not self._matches(self._file.does_not_count, assignment, name)

    def is_extra(self, assignment: str, name: str) -> bool:
        """Whether the points of an exercise or question are on top of the maximum."""
        return self._matches(self._file.extra_credit, assignment, name)

    @staticmethod
    def _matches(patterns: Names, assignment: str, name: str) -> bool:
        full_name = f"{assignment}/{name}"
        return any(fnmatchcase(name, pattern) or fnmatchcase(full_name, pattern) for pattern in patterns)

    def _moment_of_file(self, time: datetime) -> datetime:
        """A moment of the file: without an offset it is a time of the class's zone."""
        if time.tzinfo is None:
            return _later(time.replace(tzinfo=self.zone))
        return time.astimezone(self._file.time_zone or time.tzinfo)

    def _due(self, assignment: str) -> datetime | None:
        due = self._file.rules(assignment).due
        return None if due is None else self._moment_of_file(due)

    def late_penalty(self, assignment: str) -> LatePenalty | None:
        """What being late costs; None where nothing is said of it."""
        return self._file.rules(assignment).late or self._file.late

    def grace(self, assignment: str) -> timedelta:
        """How long after the due date a submission is still on time."""
        grace = self._file.rules(assignment).grace
        return self._file.grace if grace is None else grace

    def deducts(self, assignment: str) -> bool:
        """Whether being late costs anything."""
        rules = self.late_penalty(assignment)
        costs = rules and (rules.percent_a_day or rules.points_a_day or rules.last_day is not None)
        return self._due(assignment) is not None and bool(costs)

    def untimed(self, class_folder: ClassFolder, assignment: str) -> UntimedAttempts:
        """What is known of attempts without a time; nothing where there is no due date, as nobody is late then, and a large manifest takes a second."""
        if not self._due(assignment):
            return UntimedAttempts()
        flags = manifest.lateness(class_folder, assignment)
        return UntimedAttempts(
            class_folder, assignment, self.clock, flags, manifest.unread_times(class_folder, assignment)
        )

    # What a submission is worth.

    def grade(
        self,
        assignment: str,
        scores: Scores,
        submitted_at: datetime | None,
        student: str,
        late_flag: bool | None = None,
        unread_time: str = "",
    ) -> Grade:
        """What a submission is worth.

        scores: what stands in the gradebook, by name. submitted_at: when it was handed in, without an offset in UTC; None, not known: never late.
        late_flag: whether the LMS flags it as late; None: it does not say. unread_time: what is given as the time, and can't be read.
        """
        relevant_scores = {name: score for name, score in scores.items() if self.counts(assignment, name)}
        on_top = {name for name in relevant_scores if self.is_extra(assignment, name)}
        final_scores = [score for score in relevant_scores.values() if not score.waits]
        earned_points = math.fsum(score.score for score in final_scores)
        extra = math.fsum(score.score if score.name in on_top else score.extra for score in final_scores)
        required = [score for name, score in relevant_scores.items() if name not in on_top]
        due = self.due(assignment, student)
        time = self.in_class_zone(submitted_at) if submitted_at else None
        days = self._days_late(assignment, time, due) if due and time else 0
        penalty, percent, beyond = self._penalty(assignment, earned_points, days)
        return Grade(
            assignment,
            points=round(earned_points - penalty, 6),
            max_points=round(math.fsum(score.max_score for score in final_scores if score.name not in on_top), 6),
            waiting=round(math.fsum(score.max_score for score in relevant_scores.values() if score.waits), 6),
            whole=round(math.fsum(score.max_score for score in required), 6),
            earned=round(earned_points, 6),
            extra=round(extra, 6),
            penalty=round(penalty, 6),
            percent=percent,
            days_late=days,
            beyond=beyond,
            late_flag=late_flag if due is not None and time is None else None,
            unread_time="" if time else unread_time,
            due=due,
            extended=due != self._due(assignment),
            submitted_at=time,
            not_counted=tuple(name for name in scores if name not in relevant_scores),
            on_top=tuple(name for name in relevant_scores if name in on_top),
        )

    def _days_late(self, assignment: str, submitted_at: datetime, due: datetime) -> int:
        """How many days have begun since it was due, by the clock on the wall: a day that is an hour longer is one day. Within the grace period: 0."""
        end = due.astimezone(UTC) + self.grace(assignment)
        time = submitted_at.astimezone(UTC)
        if time <= end:
            return 0
        days = max(1, (time - due.astimezone(UTC)).days)
        while _later(due + timedelta(days=days)).astimezone(UTC) < time:
            days += 1
        while days > 1 and _later(due + timedelta(days=days - 1)).astimezone(UTC) >= time:
            days -= 1
        return days

    def _penalty(self, assignment: str, earned_points: float, days: int) -> tuple[float, float | None, bool]:
        """The points that so many days cost, the percentage where it is one, and whether it is too late to count at all."""
        rules = self.late_penalty(assignment)
        base = max(earned_points, 0.0)
        if not days or rules is None:
            return 0.0, None, False
        if rules.last_day is not None and days > rules.last_day:
            return base, None, True
        most = 100.0 - rules.floor
        if rules.points_a_day is not None:
            return min(days * rules.points_a_day, base * most / 100), None, False
        percent = min(days * (rules.percent_a_day or 0.0), most)
        return base * percent / 100, percent, False

    def choose_attempt(
        self,
        assignment: str,
        gradings: Sequence[Grading],
        scores: Scores,
        student: str,
        submitted_at: datetime | None = None,
        untimed: UntimedAttempts | None = None,
    ) -> EffectiveAttempt:
        """Which of a student's attempts counts, and what it is worth.

        gradings: oldest first, at least one. scores: what stands in the gradebook, which holds the latest; what a person gave counts with every attempt.
        submitted_at: when the latest was handed in, where the grading itself does not know. untimed: what is known of attempts
        without a time.
        """
        *earlier, latest = select_last_gradings(gradings)
        newest = self._evaluate(assignment, latest, scores, student, submitted_at, untimed, is_newest=True)
        if self.attempts(assignment) == "latest":
            return newest
        attempts = [self.evaluate_earlier(assignment, grading, scores, student, untimed) for grading in earlier]
        best = max([*attempts, newest], key=lambda attempt: (attempt.grade.points, attempt.grading.row_id))
        if best is newest:
            return best
        time = best.grade.submitted_at
        which = f"handed in {policy_words.format_time(time)}" if time else "an earlier one"
        note = f"The best of {1 + len(earlier)} attempts counts, {which}."
        return replace(best, grade=replace(best.grade, note=note))

    def evaluate_earlier(
        self, assignment: str, grading: Grading, scores: Scores, student: str, untimed: UntimedAttempts | None = None
    ) -> EffectiveAttempt:
        """What an attempt before the latest is worth, if it counts. The arguments are those of `choose_attempt`."""
        return self._evaluate(assignment, grading, scores, student, None, untimed, is_newest=False)

    def _evaluate(
        self,
        assignment: str,
        grading: Grading,
        scores: Scores,
        student: str,
        submitted_at: datetime | None,
        untimed: UntimedAttempts | None,
        is_newest: bool,
    ) -> EffectiveAttempt:
        own_scores = scores if is_newest and scores else scores_for_grading(grading, scores)
        time = grading.submitted_at or submitted_at
        known = untimed if untimed and not time else UntimedAttempts()
        late_flag = known.is_late(grading)
        unread_time = known.unread_time(grading, is_newest)
        grade = self.grade(assignment, own_scores, time, student, late_flag, unread_time)
        return EffectiveAttempt(grading, own_scores, grade, student)

    def share_in_groups(self, assignment: str, results: Mapping[str, EffectiveAttempt]) -> dict[str, EffectiveAttempt]:
        """What counts for each student, by student: in a group, what one of them handed in counts for all, by the same rule as among attempts."""
        best = self.attempts(assignment) == "best"
        everybody = dict(results)
        for group in self._file.groups:
            candidates = [results[student] for student in group.students if student in results]
            if candidates and group.is_for(assignment):
                choice = max(candidates, key=lambda attempt: _preference(attempt, best))
                note = f"Of this group, {choice.by}'s submission counts."
                group_result = replace(choice, grade=replace(choice.grade, note=note))
                for student in group.students:
                    everybody[student] = choice if student == choice.by else group_result
        return everybody

    def read_book(self, book: Book, assignment: str, student: str | None = None) -> dict[str, EffectiveAttempt]:
        """What counts for each student who has handed in an assignment, or whose group has, by student. student: only they, and their group."""
        times = book.submission_times(assignment)
        untimed = self.untimed(book.class_folder, assignment)
        results = {}
        for member in (None,) if student is None else self.group(assignment, student):  # None: everybody
            scores = book.scores(assignment, member and [member])
            for name, gradings in groupby(book.history(assignment, member), key=lambda grading: grading.student):
                results[name] = self.choose_attempt(
                    assignment, list(gradings), scores.get(name, {}), name, times.get(name), untimed
                )
        return self.share_in_groups(assignment, results)

    def grades(self, book: Book, assignment: str) -> dict[str, Grade]:
        """What the work of each student is worth, by student."""
        return {student: result.grade for student, result in self.read_book(book, assignment).items()}

    def course_grade(
        self, grades: Mapping[str, Grade | None], student: str, now: datetime | None = None
    ) -> CourseGrade:
        """A student's grade over the notebooks of `grades`; None stands for what was not handed in, which counts as 0 once it is due.

        Points are added up; where notebooks have weights, the shares of their points are averaged by weight.
        now: for tests.
        """
        now = now or datetime.now(UTC)
        weighted_grades: list[tuple[float, Grade]] = []
        for assignment, grade in grades.items():
            if assignment not in self.notebooks:
                continue
            due = self.due(assignment, student)
            if grade is None and due and due > now:
                continue
            if grade is None:
                grade = Grade.nothing(assignment, self.maximum(assignment))
            weight = self._file.weight_of(assignment)
            weighted_grades.append((1.0 if weight is None else weight, grade))
        points = round(math.fsum(grade.points for _, grade in weighted_grades), 6)
        most = round(math.fsum(grade.max_points for _, grade in weighted_grades), 6)
        if not any(self._file.weight_of(name) is not None for name in self.notebooks):
            return CourseGrade(points, most, points / most if most else None)
        shares = [(weight, grade.points / grade.max_points) for weight, grade in weighted_grades if grade.max_points]
        total = math.fsum(weight for weight, _ in shares)
        return CourseGrade(
            points, most, math.fsum(weight * share for weight, share in shares) / total if total else None
        )

    def maximum(self, assignment: str) -> float:
        """The points of all that counts and is not extra credit."""
        return math.fsum(
            points
            for name, points in exercise_and_question_points(assignment).items()
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
            length = end.astimezone(UTC) - due.astimezone(UTC) if end else timedelta(0)
            if length:
                lengths[student] = length
        book.set_dates(assignment, due, lengths)


def _later(time: datetime) -> datetime:
    """A time of day as the later of the moments that it can mean: one that is there twice, or not at all, when clocks change."""
    return max(time.replace(fold=0), time.replace(fold=1), key=lambda moment: moment.astimezone(UTC))


def _extend(due: datetime, extension: Extension) -> datetime:
    """The end of an extension."""
    if extension.in_days:
        return _later(due + extension.length)
    return (due.astimezone(UTC) + extension.length).astimezone(due.tzinfo)


def _preference(attempt: EffectiveAttempt, best: bool) -> tuple[float, datetime, int]:
    """What to prefer of a group's: the most points, or what came in last."""
    points = attempt.grade.points if best else 0.0
    time = attempt.grade.submitted_at or datetime.min.replace(tzinfo=UTC)
    return points, time, attempt.grading.row_id


def group_by_attempt(gradings: Sequence[Grading]) -> list[list[Grading]]:
    """The gradings of each attempt. What was graded again, unchanged, is the same attempt.

    In the order in which they were graded last: what was handed in last is always graded after those before it.
    """
    gradings_by_attempt: dict[tuple[str, datetime | None], list[Grading]] = {}
    for grading in gradings:
        own = (grading.digest, grading.submitted_at)
        same = [key for key in gradings_by_attempt if key[0] == own[0] and (key == own or None in (key[1], own[1]))]
        before = gradings_by_attempt.pop(same[-1]) if same else []
        gradings_by_attempt[same[-1] if same and own[1] is None else own] = [*before, grading]
    return list(gradings_by_attempt.values())


def select_last_gradings(gradings: Sequence[Grading]) -> list[Grading]:
    """One grading for each attempt, the last; oldest first."""
    return [group[-1] for group in group_by_attempt(gradings)]


def scores_for_grading(grading: Grading, scores: Scores) -> dict[str, Score]:
    """The scores that a submission had with a grading's verdicts; what a person gave stands."""
    new_scores = dict(scores)
    for name, verdict in grading.verdicts.items():
        score = scores.get(name, Score(name, 0.0, float(verdict["max_points"])))
        if not score.by_hand:
            waits = grading.outcome(name) is Outcome.NOT_GRADED
            new_scores[name] = replace(score, score=round(float(verdict["points"]) + score.extra, 6), waits=waits)
    return new_scores
