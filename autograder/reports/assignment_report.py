"""What there is to say about one assignment of a class: reads every attempt once, student by student, and puts the parts of the report together.

Called by class_report. Scores are read through the class's policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from autograder import outline
from autograder.engine.program import NEWER_PYTHON
from autograder.engine.released_notebook import Kind, template
from autograder.gradebook.policy import EffectiveAttempt, Policy, select_last_gradings
from autograder.gradebook.policy_words import describe_rules, name_list
from autograder.gradebook.scores import Score
from autograder.paths import release
from autograder.reports import similarity
from autograder.reports.alike_answers import AlikeAnswers
from autograder.reports.exercise_statistics import ExerciseStatistics
from autograder.reports.mistake_counts import MistakeCounts
from autograder.reports.report_parts import AssignmentReport, StudentReport
from autograder.reports.report_rows import ReportRow, rows_of
from autograder.reports.shown_text import ShownText
from autograder.reports.student_history import ReadAttempt, StudentHistory
from ffnlab.checking.verdict import Outcome
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.gradebook.gradebook import Book, Grading, WrittenCell


class AssignmentReportBuilder:
    """Reads one assignment from the gradebook with `read`; `build` says what was found.

    labels: how each student is called; a student who was taken out of the gradebook since is added.
    """

    def __init__(self, name: str, book: Book, policy: Policy, labels: dict[str, str], hide: bool) -> None:
        self.name = name
        self.effective_attempts: dict[str, EffectiveAttempt] = {}  # by student, groups among them
        self._own_attempts: dict[str, EffectiveAttempt] = {}  # by student, of what they handed in themselves
        self._attempt_counts: dict[str, int] = {}  # by student
        self._book = book
        self._policy = policy
        self._labels = labels
        self._hide = hide
        self._max_points = {exercise.name: exercise.points for exercise in outline.of_notebook(name) if exercise.points}
        self._stubs = {cell.name: cell.source for cell in template(release(name)) if cell.kind is Kind.SOLUTION}
        self._shown = ShownText(book.students() if hide else {}, labels, hide)
        self._statistics = ExerciseStatistics(name, self._max_points, policy)
        self._mistakes = MistakeCounts()
        self._alike = AlikeAnswers(name, policy, self._stubs)
        self._days: dict[date, tuple[int, int]] = {}  # how many students handed in first, and attempts after it
        self._report = AssignmentReport(name, describe_rules(policy, name), due=policy.due(name))
        self._untimed = policy.untimed(book.class_folder, name)
        # Of whom something is to be looked at: what grading found, remarks on the file, and answers that are too long. Names in the remarks are hidden
        # when all students are known.
        self._to_look_at: list[tuple[str, list[str], list[str], list[str]]] = []
        self._newer_python: dict[str, list[str]] = {}  # by what is said of them: who has written with a newer Python

    def read(self, rows: list[ReportRow] | None) -> bool:
        """Read every attempt, student by student; whether there is any. rows: takes the rows of the CSV."""
        scores = self._book.scores(self.name)
        times = self._book.submission_times(self.name)
        everything = self._book.history_with_cells(self.name)
        for student, pairs in groupby(everything, key=lambda pair: pair[0].student):
            if student not in self._labels:  # taken out of the gradebook since
                self._labels[student] = f"Student {len(self._labels) + 1}" if self._hide else in_a_line(student, 80)
            history = self._history(student, list(pairs), scores.get(student, {}), times.get(student))
            self._note(history)
            if rows is not None:
                rows += rows_of(history, self.name, self._labels[student], self._policy)
        self.effective_attempts = self._policy.share_in_groups(self.name, self._own_attempts)
        return bool(self._own_attempts)

    def _history(
        self,
        student: str,
        pairs: Sequence[tuple[Grading, tuple[WrittenCell, ...] | None]],
        scores: Mapping[str, Score],
        submission_time: datetime | None,
    ) -> StudentHistory:
        """pairs: every grading with the cells, oldest first. submission_time: of the latest, where the grading does not know."""
        cells_by_row = {grading.row_id: cells for grading, cells in pairs}
        gradings = select_last_gradings([grading for grading, _ in pairs])
        attempts = []
        for grading in gradings:
            handed_in_at = grading.submitted_at or (submission_time if grading is gradings[-1] else None)
            attempts.append(ReadAttempt(grading, cells_by_row[grading.row_id], handed_in_at))
        effective_attempt = self._policy.choose_attempt(
            self.name, gradings, scores, student, submission_time, self._untimed
        )
        return StudentHistory(student, attempts, effective_attempt, scores)

    def _note(self, history: StudentHistory) -> None:
        """Count a student in every part of the report."""
        self._own_attempts[history.student] = history.effective_attempt
        self._attempt_counts[history.student] = len(history.attempts)
        self._report.attempts.count += len(history.attempts)
        self._report.unreadable_count += not history.counting.readable
        self._count_again(history)
        for number, attempt in enumerate(history.attempts):
            self._count_day(attempt, first=not number)
        self._statistics.note(history)
        self._mistakes.note(history)
        self._alike.note(history)
        self._note_remarks(history)

    def _count_again(self, history: StudentHistory) -> None:
        """Whether a student who handed in again has more points that count than the first attempt alone would be worth, or fewer."""
        if len(history.attempts) == 1:
            return
        first = self._policy.evaluate_earlier(
            self.name, history.attempts[0].grading, history.scores, history.student, self._untimed
        )
        self._report.attempts.again += 1
        self._report.attempts.better += history.effective_attempt.grade.points > first.grade.points
        self._report.attempts.worse += history.effective_attempt.grade.points < first.grade.points

    def _count_day(self, attempt: ReadAttempt, first: bool) -> None:
        self._report.attempts.has_times &= attempt.handed_in_at is not None
        time = attempt.handed_in_at or datetime.fromisoformat(attempt.grading.graded_at)
        day = self._policy.in_class_zone(time).date()
        new, more = self._days.get(day, (0, 0))
        self._days[day] = (new + first, more + (not first))

    def _note_remarks(self, history: StudentHistory) -> None:
        """What a person should look at in a student's latest attempt."""
        label = self._labels[history.student]
        grading = history.newest.grading
        failures = [name for name in grading.verdicts if grading.outcome(name) is Outcome.NOT_GRADED]
        texts = [in_a_line(remark) for remark in history.newest.grading.remarks]
        for text in [text for text in texts if text.startswith(NEWER_PYTHON)]:  # of a whole class, perhaps
            self._newer_python.setdefault(text, []).append(label)
        found: list[str] = []
        if failures:
            self._report.not_graded += 1
            names = f"not graded: {', '.join(failures)}"
            if len(failures) == len(grading.verdicts):
                names = "nothing in it was graded"
            found.append(f"{names}, and the student is not at fault; grade it again, or by hand")
        elif not history.newest.readable:
            found.append("could not be read")
        long_answers = [
            f"{cell.name} is unusually long, {len(cell.source) / 1e6:.1f} million characters, so only its beginning is compared with others'"
            for cell in history.newest.cells or ()
            if len(cell.source) > similarity.MAX_CHARACTERS
        ]
        remarks = [text for text in texts if not text.startswith(NEWER_PYTHON)]
        if found or remarks or long_answers:
            self._to_look_at.append((label, found, remarks, long_answers))

    def build(self) -> AssignmentReport:
        """What there is to say."""
        report = self._report
        report.attempts.days = dict(sorted(self._days.items()))
        report.students = [
            self._report_student(student, attempt) for student, attempt in self.effective_attempts.items()
        ]
        report.students.sort(key=lambda student: student.label)
        report.without = sorted(
            self._labels[student] for student in self._book.students() if student not in self.effective_attempts
        )
        report.exercises = self._statistics.reports()
        report.late = [(student.label, student.grade.late) for student in report.students if student.grade.late]
        for student in report.students:
            for score in student.scores.values() if not student.by else ():
                if score.waits and score.max_score and (score.by_hand or score.name not in self._max_points):
                    report.waiting.setdefault(score.name, []).append(student.label)
        report.mistakes = self._mistakes.reports(self._labels, self._shown, self._stubs)
        self._alike.compare()
        report.alike.groups = self._alike.groups(self._labels, self._shown)
        report.alike.pair_count = self._alike.pair_count
        report.alike.pairs = self._alike.pairs(self._labels, self._shown)
        for label, found, remarks, long_answers in self._to_look_at:
            shown_remarks = [self._shown.remark(text) for text in remarks]
            report.to_look_at.append((label, "; ".join((*found, *shown_remarks, *long_answers))))
        report.to_look_at += [(name_list(labels), text) for text, labels in self._newer_python.items()]
        report.to_look_at.sort()
        return report

    def _report_student(self, student: str, attempt: EffectiveAttempt) -> StudentReport:
        """A student's line of the table; with the outcomes of the attempt that counts."""
        outcomes = {name: attempt.grading.outcome(name) for name in attempt.grading.verdicts}
        by = "" if attempt.by == student else self._labels[attempt.by]
        attempt_count = self._attempt_counts.get(attempt.by, 0)
        return StudentReport(self._labels[student], attempt.grade, attempt.scores, outcomes, attempt_count, by)
