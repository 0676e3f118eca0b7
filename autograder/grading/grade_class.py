"""A whole class: finds the submissions, grades them side by side, and writes gradebook, notebooks and feedback pages. Called by `autograder grade`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Protocol

from autograder import outline, untrusted_files
from autograder.class_folder import log, submitted_files
from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.manifest import Manifest
from autograder.class_folder.submitted_files import Submission
from autograder.engine import preparation
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import Job
from autograder.errors import UserError
from autograder.files import write_private
from autograder.gradebook import draw_secrets, preflight
from autograder.gradebook.policy import Policy
from autograder.grading import feedback, scratch
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Mode
from autograder.reference import draws
from autograder.startup import pause_gc
from ffnlab.checking.verdict import Outcome, not_earned
from ffnlab.phrases import plural

if TYPE_CHECKING:  # nbgrader takes seconds to import
    from autograder.gradebook.draw_secrets import ClassSecrets
    from autograder.gradebook.gradebook import Book, Grading
    from autograder.gradebook.nbgrader_tables import SubmissionTime
    from autograder.grading.result_writer import ResultWriter

MAX_LINES = 40  # about single students


@dataclass(frozen=True)
class PointsChange:
    """How a submission's points differ from those before."""

    student: str
    # By name, then and now; None where it was, or is, not there.
    exercises: dict[str, tuple[float | None, float | None]]
    new: bool  # never graded before

    @property
    def points(self) -> tuple[float, float]:
        """Of these exercises together, then and now."""
        then, now = ([points or 0.0 for points in side] for side in zip(*self.exercises.values(), strict=True))
        return sum(then), sum(now)


@dataclass
class SubmissionOutcome:
    """What became of one submission."""

    submission: Submission
    graded_submission: GradedSubmission | None = None  # None where it was graded before and nothing has changed
    before: Grading | None = None  # its student's grading until now
    unreadable: str = ""  # why the machine could not read it; then nothing of its student's was changed

    def change(self) -> PointsChange | None:
        """How its points differ from those before, if they do."""
        if self.graded_submission is None:
            return None
        now = {name: verdict.points for name, verdict in self.graded_submission.verdicts.items()}
        then = {name: float(verdict["points"]) for name, verdict in self.before.verdicts.items()} if self.before else {}
        differ = {name: (then.get(name), now.get(name)) for name in {**now, **then} if then.get(name) != now.get(name)}
        return PointsChange(self.submission.student, differ, self.before is None) if differ or not self.before else None


@dataclass
class GradingSummary:
    """What became of all submissions."""

    graded_count: int = 0
    unchanged_count: int = 0  # since last time
    new_time_count: int = 0  # of the unchanged, those that have another time now
    ungraded_count: int = 0  # a person has to look at these
    ignored_folders: tuple[str, ...] = ()  # folders in submitted/ that can be nobody's, with the reason
    unreadable: list[str] = field(default_factory=list)  # submissions that the machine can't read, with the reason
    note: str = ""  # what was mended before

    @property
    def needs_somebody(self) -> bool:
        """Whether something that decides a grade could not be done."""
        return bool(self.ungraded_count or self.unreadable)

    def problems(self) -> list[str]:
        """What decides a grade and could not be done, a line each."""
        lines = [f"ignored in submitted/, {folders}" for folders in self.ignored_folders]
        if self.ungraded_count:
            lines.append(
                f"{_submissions(self.ungraded_count)} could not be graded in full, and the students are not at fault; the same command tries again"
            )
        if self.unreadable:
            lines.append(
                f"{_submissions(len(self.unreadable))} can't be read, so their grades are unchanged; the same command tries again"
            )
            lines += self.unreadable[:MAX_LINES]
            if len(self.unreadable) > MAX_LINES:
                lines.append(f"and {len(self.unreadable) - MAX_LINES:,} more")
        return lines

    def count(self, outcome: SubmissionOutcome) -> None:
        if outcome.unreadable:
            self.unreadable.append(f"{outcome.submission.student}: {outcome.unreadable}")
        elif outcome.graded_submission is None:
            self.unchanged_count += 1
        else:
            self.graded_count += 1
            self.ungraded_count += any(
                v.outcome is Outcome.NOT_GRADED for v in outcome.graded_submission.verdicts.values()
            )


@dataclass(frozen=True)
class GradeOptions:
    """What is to be graded. The default: what is new or has changed."""

    student: str | None = None  # only this one
    # Judge only this one again and keep the verdicts on the others. Of a submission that has none yet, everything is graded.
    exercise: str | None = None
    force: bool = False  # also what has not changed
    anew: bool = False  # a gradebook, or a secret of the hidden draws, that is gone beside results may be made again
    dry: bool = False  # no file of the class is written or made; what would change is only told


EVERYTHING = GradeOptions()


ReadSubmission = tuple[Submission, str]  # with the SHA-256 of what was read of it


class Grader(Protocol):
    """Who grades: a pool of worker processes, or files in which grades are already."""

    limits: Limits  # of what is read
    mode: Mode  # of the jail

    def start(self) -> None: ...

    @property
    def run(self) -> preparation.Run: ...

    def grade_together(
        self, jobs: Iterable[tuple[ReadSubmission, Job]], stop: threading.Event | None = None
    ) -> Iterator[list[tuple[ReadSubmission, GradedSubmission]]]: ...


def grade(
    class_folder: ClassFolder,
    assignment: str,
    grader: Grader,
    options: GradeOptions = EVERYTHING,
    tell: Callable[[SubmissionOutcome, int], None] = lambda outcome, total: None,
    stop: threading.Event | None = None,
    on_interrupt: Callable[[], None] = lambda: None,
) -> GradingSummary:
    """Grade an assignment; `tell` is called after each submission with it and the number of all.

    grader: who grades; it starts at once, and prepares the hidden inputs even where nothing is new. stop: once set, by Ctrl-C or somebody else, nothing new
    is begun. on_interrupt: called at Ctrl-C, as what is under way may take a while.

    Raises:
        UserError: nothing to grade. JailWontStart: there is no jail to be had. KeyboardInterrupt: asked to stop; all that was graded is saved.
    """
    stop = stop or threading.Event()
    policy = Policy.of(class_folder)
    latest_submissions = submitted_files.find(class_folder, assignment, options.student)
    secrets = _check_class(class_folder, assignment, options)
    summary = _begin_summary(class_folder, assignment, options, secrets)
    grader.start()  # becomes warm while this process draws and imports
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch.folder_with(secrets, assignment)) if options.dry else class_folder.path
        seeds, reference_file = preparation.prepare(assignment, folder / draws.FILE, folder, grader.run)
        manifest = Manifest.load(class_folder, assignment)
        earlier_attempts = list(_find_earlier_attempts(class_folder, policy, manifest, options.student))
        stack.enter_context(ctrl_c_sets(stop, on_interrupt))
        book = stack.enter_context(_open_book(class_folder, options))
        writer = None if options.dry else _start_writing(class_folder, assignment, book, policy, stack)
        plan = _GradingPlan(
            class_folder, assignment, manifest, options, book, grader.limits.file, policy.clock, earlier_attempts
        )
        key = draws.key_version(assignment)
        template = Job(assignment, b"", seeds, grader.limits, key, reference_file, mode=grader.mode)
        run = _GradingRun(
            plan, book, writer, options, template, summary, tell, len(latest_submissions) + len(earlier_attempts)
        )
        for submissions in (earlier_attempts, latest_submissions):
            for batch in grader.grade_together(run.make_jobs(submissions), stop):
                run.save(batch)
        summary.new_time_count = len(plan.times)
        if writer is not None:
            writer.set_times(plan.times)
        if stop.is_set():
            raise KeyboardInterrupt
        if writer is not None:
            plan.rewrite_pages(book, policy)
    return summary


def _check_class(class_folder: ClassFolder, assignment: str, options: GradeOptions) -> ClassSecrets:
    """Look whether grading can begin, before anything starts. Returns the secrets of the class's hidden inputs.

    Raises:
        UserError: the assignment has no such exercise, or a file of the class is gone or can't be written.
    """
    if options.exercise is not None and options.exercise not in {e.name for e in outline.of_notebook(assignment)}:
        raise UserError(f"{assignment} has no exercise called {options.exercise!r}")
    preflight.check_gradebook(class_folder, options.anew)
    preflight.check_writable(class_folder)
    return draw_secrets.find_secrets(class_folder, assignment, options.anew)


def _begin_summary(
    class_folder: ClassFolder, assignment: str, options: GradeOptions, secrets: ClassSecrets
) -> GradingSummary:
    """A summary in which nothing is graded yet. The file with the secrets is restored first, unless nothing may be written."""
    summary = GradingSummary(note=secrets.describe_damage() if options.dry else secrets.restore())
    if not options.student:
        summary.ignored_folders = submitted_files.list_unusable_folders(class_folder, assignment)
    return summary


def _open_book(class_folder: ClassFolder, options: GradeOptions) -> Book:
    with pause_gc():
        from autograder.gradebook import gradebook  # nbgrader takes seconds; the workers start meanwhile
    return gradebook.Book(class_folder, options.anew, writing=not options.dry)


def _start_writing(
    class_folder: ClassFolder, assignment: str, book: Book, policy: Policy, stack: contextlib.ExitStack
) -> ResultWriter:
    """The writer of an assignment's results, once gradebook and log are up to date. The stack closes the log."""
    from autograder.grading.result_writer import ResultWriter

    write_lines = stack.enter_context(log.open_log(class_folder))
    writer = ResultWriter(class_folder, assignment, book, write_lines, policy)
    book.keep_secret(assignment, draws.entries(class_folder.draws)[assignment])
    book.sync_assignment(assignment)
    writer.complete_log()
    return writer


class _GradingRun:
    """Submissions on their way through the grader: a job is made of each that has to be graded, and what comes back is saved, counted and told."""

    def __init__(
        self,
        plan: _GradingPlan,
        book: Book,
        writer: ResultWriter | None,
        options: GradeOptions,
        template: Job,
        summary: GradingSummary,
        tell: Callable[[SubmissionOutcome, int], None],
        total: int,
    ) -> None:
        """writer: None in a dry run. template: the job of a submission but for its data. total: how many submissions `tell` is told that there are."""
        self._plan = plan
        self._book = book
        self._writer = writer
        self._options = options
        self._template = template
        self._summary = summary
        self._tell = tell
        self._total = total

    def make_jobs(self, submissions: Sequence[Submission]) -> Iterator[tuple[ReadSubmission, Job]]:
        """The jobs of those that have to be graded, each as the grader asks for it. The others are settled here: unreadable, unchanged, or no notebook."""
        for found in submissions:
            try:
                submission, data, trouble = self._plan.read(found)
            except OSError as error:
                self._finish(SubmissionOutcome(found, unreadable=untrusted_files.describe_error(error)))
                continue
            digest = submitted_files.digest(data)
            is_unchanged = self._plan.is_unchanged(submission, digest)
            if is_unchanged and not self._options.force and not self._options.exercise:
                self._plan.note_new_time(submission, digest)
                self._finish(SubmissionOutcome(submission))
            elif trouble:
                self.save([((submission, digest), _nothing_there(submission, trouble))])
            else:
                only = (self._options.exercise,) if self._options.exercise and is_unchanged else ()
                yield (submission, digest), replace(self._template, data=data, only=only)

    def save(self, batch: Sequence[tuple[ReadSubmission, GradedSubmission]]) -> None:
        """Save what was graded together; in a dry run, only count and tell it."""
        from autograder.grading.result_writer import Result, complete

        results = [Result(submission, digest, graded_submission) for (submission, digest), graded_submission in batch]
        complete(results, self._book, self._template.assignment)
        if self._writer is not None:
            self._writer.save(results)
        for result in results:
            self._finish(SubmissionOutcome(result.submission, result.graded_submission, result.before))

    def _finish(self, outcome: SubmissionOutcome) -> None:
        self._summary.count(outcome)
        self._tell(outcome, self._total)


class _GradingPlan:
    """What of a class is to be graded, and which times have come or changed since it was."""

    def __init__(
        self,
        class_folder: ClassFolder,
        assignment: str,
        manifest: Manifest,
        options: GradeOptions,
        book: Book,
        max_bytes: int,
        clock: tzinfo | None,
        earlier_attempts: Sequence[Submission],
    ) -> None:
        """max_bytes: of a file, as many are read. clock: the class's time zone. earlier_attempts: what is graded before the submissions in submitted/."""
        from autograder.gradebook import gradebook

        self._class_folder, self._assignment, self._manifest = class_folder, assignment, manifest
        self._options, self._max_bytes, self._clock = options, max_bytes, clock
        version = gradebook.version(assignment)
        self._latest_digests = {
            student: digest
            for student, (digest, graded_by) in book.latest_digests(assignment).items()
            if graded_by == version
        }
        self._digests = book.digests(assignment, version)
        self._attempt_times = book.times(assignment)
        self._latest_times = book.submission_times(assignment)
        self._earlier_attempts = earlier_attempts
        self._students_with_ungraded_attempts = {
            attempt.student for attempt in earlier_attempts if not self._is_graded(attempt)
        }
        self.times: dict[Submission, SubmissionTime] = {}  # what the gradebook is to be told

    def read(self, submission: Submission) -> tuple[Submission, bytes, str]:
        """As `submitted_files.with_time` and `read`; what a power cut has emptied is restored from what was collected, if that is whole."""
        submission = submitted_files.with_time(submission, self._clock)
        if (
            not submission.handed_in_at
            and not submission.unread_time
            and (record := self._manifest.latest(submission.student))
        ):
            submission = replace(submission, unread_time=record.unread_time)
        try:
            return submission, *submitted_files.read(submission, self._max_bytes)
        except submitted_files.Empty:
            data = self._manifest.copy(self._class_folder, submission.student)
            if not data or submission.is_earlier_attempt or submission.path is None:
                raise
            if not self._options.dry:
                write_private(submission.path, data)
            return submission, data[: self._max_bytes + 1], ""

    def _is_graded(self, submission: Submission) -> bool:
        try:
            return (submission.student, submitted_files.digest(self.read(submission)[1])) in self._digests
        except OSError:
            return True  # there is nothing to wait for

    def is_unchanged(self, submission: Submission, digest: str) -> bool:
        """Whether it was graded, by this version, and what was made of it is there.

        A submission that follows an attempt which is still to be graded is graded again after it, so that the latest stays the last.
        """
        if submission.is_earlier_attempt:
            return (submission.student, digest) in self._digests
        if submission.student in self._students_with_ungraded_attempts:
            return False
        whole = feedback.are_whole(self._class_folder, submission.student, self._assignment)
        return whole and self._latest_digests.get(submission.student) == digest

    def note_new_time(self, submission: Submission, digest: str) -> None:
        """Note the time of a submission that was graded with none, or with another."""
        from autograder.gradebook.nbgrader_tables import SubmissionTime

        utc_time, student = submission.utc_time, submission.student
        if utc_time is None:
            return
        known_times = self._attempt_times.get((student, digest), set())
        latest = self._latest_times.get(student)
        is_latest = latest is not None and latest.replace(tzinfo=None) == utc_time
        if utc_time in known_times and (submission.is_earlier_attempt or is_latest):
            return
        records = self._manifest.records.get(student, ())
        here = None if submission.is_earlier_attempt else self._manifest.latest(student)  # whose time this corrects
        others = {
            record.when.replace(tzinfo=None)
            for record in records
            if record.attempt and record is not here and record.sha256 == digest and record.when
        }
        self.times[submission] = SubmissionTime(
            student, digest, utc_time, frozenset(others - {utc_time}), submission.is_earlier_attempt
        )

    def rewrite_pages(self, book: Book, policy: Policy) -> None:
        """Write the pages again that may say something else after grading: which attempt counts, and how late it is, is known only now."""
        student = self._options.student
        students: Collection[str] | None
        if self._earlier_attempts:
            students = [student] if student else None  # another attempt may count, whosever it is
        elif self.times:
            students = {
                member
                for submission in self.times
                # Who hands in together is late together.
                for member in policy.group(self._assignment, submission.student)
            }
        else:
            return
        effective_attempts = policy.read_book(book, self._assignment, student)
        feedback.rewrite(self._class_folder, self._assignment, book, students, effective_attempts=effective_attempts)


def _submissions(count: int) -> str:
    return plural(f"{count:,}", "submission")


def describe_ungraded_attempts(class_folder: ClassFolder, assignment: str, policy: Policy, book: Book) -> str:
    """What there is to say where the best attempt counts, and some that were collected have never been graded; else nothing."""
    if policy.attempts(assignment) != "best":
        return ""
    digests = book.digests(assignment)
    most = Limits().file  # of what is larger, the hash of its beginning is kept
    missing = sum(
        (record.student, record.sha256) not in digests
        for records in Manifest.load(class_folder, assignment).records.values()
        for record in records
        if record.attempt and record.bytes <= most
    )
    if not missing:
        return ""
    subject = f"{missing} earlier attempts have" if missing > 1 else "one earlier attempt has"
    command = class_folder.command(f"grade {assignment}")
    return f"{assignment}: the best attempt counts, and {subject} not been graded: run {command} first"


def find_submissions(class_folder: ClassFolder, assignment: str) -> list[Submission]:
    """All submissions of an assignment that may count: where the best attempt does, also earlier ones. Raises as `submitted_files.find`."""
    earlier_attempts = _find_earlier_attempts(
        class_folder, Policy.of(class_folder), Manifest.load(class_folder, assignment), None
    )
    return [*earlier_attempts, *submitted_files.find(class_folder, assignment)]


def _find_earlier_attempts(
    class_folder: ClassFolder, policy: Policy, manifest: Manifest, student: str | None
) -> Iterator[Submission]:
    """Where the best attempt counts, those that were collected before the one in submitted/, oldest first."""
    if policy.attempts(manifest.assignment) != "best":
        return
    for owner, records in sorted(manifest.records.items()):
        latest = manifest.latest(owner)
        for record in records:
            if record.attempt and record is not latest and student in (None, owner):
                path = manifest.path(class_folder, record)
                yield Submission(
                    owner, manifest.assignment, path.parent, path, is_earlier_attempt=True, handed_in_at=record.when
                )


def _nothing_there(submission: Submission, trouble: str) -> GradedSubmission:
    exercises = outline.of_notebook(submission.assignment)
    verdicts = {e.name: not_earned(e, f"There is {trouble} in the submission.") for e in exercises}
    return GradedSubmission(submission.assignment, verdicts, remarks=[trouble])


@contextlib.contextmanager
def ctrl_c_sets(stop: threading.Event, tell: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C sets the event instead of breaking off whatever is being written; a second Ctrl-C breaks off."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)
        tell()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
