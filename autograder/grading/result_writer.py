"""Graded submissions to where they belong: pages and notebooks, the log, the gradebook; many together, each of them whole. Called by grade_class.

Files come first and are on the disk, then the gradebook's transaction. What the gradebook says is there, whenever the power goes. Then comes the log, and
where that was broken off, the next command appends what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from autograder import outline
from autograder.class_folder import log
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.log import LogLine
from autograder.class_folder.submitted_files import Submission
from autograder.engine.graded_submission import GradedSubmission
from autograder.files import Batch
from autograder.gradebook import gradebook
from autograder.gradebook.gradebook import Book, Grading
from autograder.gradebook.nbgrader_tables import GradingEntry, SubmissionTime
from autograder.gradebook.policy import Policy
from autograder.grading import feedback
from ffnlab.checking.verdict import Verdict

BATCH_SIZE = 50  # submissions in a transaction


@dataclass
class Result:
    """A graded submission on its way to the gradebook."""

    submission: Submission
    digest: str  # the SHA-256 of what was read of it
    graded_submission: GradedSubmission
    before: Grading | None = None  # its student's grading until now


def complete(results: Sequence[Result], book: Book, assignment: str) -> None:
    """Add to results what the gradebook knows: the grading until now, and its verdicts on what was not judged this time."""
    students = [result.submission.student for result in results]
    before = {grading.student: grading for grading in book.latest(assignment, students)}
    for result in results:
        graded_submission = result.graded_submission
        result.before = before.get(result.submission.student)
        missing = [e.name for e in outline.of_notebook(assignment) if e.name not in graded_submission.verdicts]
        if missing and result.before:
            graded_submission.verdicts |= {name: result.before.verdict(name) for name in missing}
        if result.submission.path is not None and result.submission.remark:
            graded_submission.remarks.insert(0, result.submission.remark)


class ResultWriter:
    """The one writer of a class for an assignment. write_lines: appends to the class's log."""

    def __init__(
        self,
        class_folder: ClassFolder,
        assignment: str,
        book: Book,
        write_lines: Callable[[Iterable[LogLine]], None],
        policy: Policy,
    ) -> None:
        self._class_folder = class_folder
        self._assignment = assignment
        self._book = book
        self._log = write_lines
        self._policy = policy

    def save(self, results: Sequence[Result]) -> None:
        """Save completed results; what can't be saved of one's texts is left out of it."""
        for start in range(0, len(results), BATCH_SIZE):
            self._write(results[start : start + BATCH_SIZE])

    def _write(self, results: Sequence[Result]) -> None:
        try:
            self._write_together(results)
        except Exception as error:
            if not gradebook.is_of_one_submission(error):
                raise
            if len(results) > 1:
                for result in results:
                    self._write([result])
            else:
                results[0].graded_submission = _without_words(results[0].graded_submission, error)
                self._write_together(results)

    def _write_together(self, results: Sequence[Result]) -> None:
        latest = [result for result in results if not result.submission.is_earlier_attempt]
        scores_by_student = self._book.scores(self._assignment, [result.submission.student for result in latest])
        with Batch() as files:
            for result in latest:
                student, utc_time = result.submission.student, result.submission.utc_time
                scores = scores_by_student.get(student, {})
                submitted_at = utc_time.replace(tzinfo=UTC) if utc_time else None
                grade = self._policy.grade(
                    self._assignment,
                    feedback.combine_scores(result.graded_submission, scores),
                    submitted_at,
                    student,
                    unread_time=result.submission.unread_time,
                )
                feedback.write(
                    files, self._class_folder, student, result.graded_submission, utc_time, scores, grade, result.digest
                )
        entries = [
            GradingEntry(
                result.submission.student,
                result.graded_submission,
                result.digest,
                result.submission.utc_time,
                result.submission.is_earlier_attempt,
            )
            for result in results
        ]
        self._book.save_gradings(entries)
        self._log(LogLine(entry.graded_at, entry.student, entry.graded_submission) for entry in entries)

    def complete_log(self) -> None:
        """Append the lines that the log lacks, as the command that graded those submissions was ended before it could write them."""
        last, lines = log.last_entries(self._class_folder, self._assignment)
        missing = []
        for grading in self._book.graded_since(self._assignment, last):
            if (grading.graded_at, grading.student) not in lines:
                verdicts = {name: grading.verdict(name) for name in grading.verdicts}
                graded_submission = GradedSubmission(
                    self._assignment, verdicts, remarks=list(grading.remarks), seconds=grading.seconds
                )
                missing.append(LogLine(grading.graded_at, grading.student, graded_submission))
        self._log(missing)

    def set_times(self, times: Mapping[Submission, SubmissionTime]) -> None:
        """Write when submissions were handed in that were graded before; their pages follow with `feedback.rewrite`."""
        if not times:
            return
        with Batch() as files:
            for submission, time in times.items():
                if not submission.is_earlier_attempt:
                    student, submitted_at = submission.student, time.submitted_at
                    feedback.write_time(files, self._class_folder, student, self._assignment, submitted_at)
        self._book.set_times(self._assignment, list(times.values()))


def _without_words(graded_submission: GradedSubmission, error: Exception) -> GradedSubmission:
    """The points of a submission of which something can't be saved, without anything that came from it: it costs nobody else anything, and itself no point."""
    text = f"What the checks saw could not be saved ({type(error).__name__})."

    def wordless(verdict: Verdict) -> Verdict:
        aspects = tuple(
            replace(aspect, symptom=text if aspect.symptom else "", raw_symptom="") for aspect in verdict.aspects
        )
        return replace(verdict, aspects=aspects)

    verdicts = {name: wordless(verdict) for name, verdict in graded_submission.verdicts.items()}
    remark = f"its texts could not be saved ({type(error).__name__}), so look at the file"
    return GradedSubmission(graded_submission.assignment, verdicts, remarks=[remark], seconds=graded_submission.seconds)
