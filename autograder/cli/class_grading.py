"""What `grade` and the commands of `shard` share: their options, who grades, grading an assignment, and what is said of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from autograder.class_folder.folder import ClassFolder
from autograder.cli.shared import FINISHING, bar, say_doubts, shorten_path, stop_after_interrupt
from autograder.errors import UserError
from autograder.jail.limits import Limits
from autograder.paths import require_assignment
from ffnlab.phrases import plural
from ffnlab.registry import active_course

if TYPE_CHECKING:
    from autograder.engine.pool import GradingPool
    from autograder.gradebook.gradebook import Book
    from autograder.gradebook.policy import EffectiveAttempt, Policy
    from autograder.gradebook.unsettled import Outdated
    from autograder.grading import grade_class
    from autograder.jail.sandbox import Mode

MAX_TABLES = 3  # notebooks of which every student's points are shown; of more, a line each
LIMITS = [limit.name for limit in fields(Limits)]

AssignmentsArgument = Annotated[
    list[str] | None, typer.Argument(help="Assignments. [default: all that were submitted]")
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="How many submissions are graded at once. [default: one per core]")
]
JailOption = Annotated[
    str,
    typer.Option(
        help="What confines student code: bubblewrap; container, if all of this runs in one of yours; or none."
    ),
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=NUMBER",
        help=f"A limit, in seconds, bytes or processes: {', '.join(LIMITS)}. May be repeated.",
    ),
]
StartAnewOption = Annotated[
    bool,
    typer.Option("--start-anew", help="Make a new gradebook, or draw new hidden inputs, if the class's are gone."),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Grade everything, show whose points would change, and write nothing."),
]


def parse_mode(console: Console, name: str) -> Mode:
    """The jail of that name. One that is not ours is told in red."""
    from autograder.jail.sandbox import Mode

    try:
        mode = Mode(name)
    except ValueError:
        raise UserError(f"--jail={name} is unknown: choose one of {', '.join(Mode)}") from None
    if mode is not Mode.BUBBLEWRAP:
        warning = f"--jail={name}: this program does not confine student code, and every grade says so."
        console.print(warning, style="bold red")
    return mode


def parse_limits(settings: Sequence[str]) -> Limits:
    """The limits with what was given as NAME=NUMBER."""
    overrides: dict[str, Any] = {}
    for text in settings:
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = 0
        seconds = name.endswith("seconds")
        if name not in LIMITS or not 0 < value < float("inf") or not (seconds or value.is_integer()):
            raise UserError(
                f"--limit {text} is not NAME=NUMBER: NAME is one of {', '.join(LIMITS)}, and NUMBER is positive "
                "and, unless it counts seconds, whole"
            )
        overrides[name] = value if seconds else int(value)
    return replace(Limits(), **overrides)


def select_assignments(class_folder: ClassFolder, selection: Sequence[str] | None) -> list[str]:
    """The assignments that were selected; without a selection, all that were submitted.

    Raises:
        UserError: there is no such assignment, or nobody has submitted anything.
    """
    from autograder.class_folder import submitted_files

    names = [require_assignment(name) for name in selection or ()] or submitted_files.find_assignments(class_folder)
    if not names:
        raise UserError(f"nothing to grade: {class_folder.submitted} has no STUDENT/ASSIGNMENT/ folder of this course")
    return names


def late_modules(names: Sequence[str]) -> list[str]:
    """The modules that the jails import for these notebooks, besides the usual ones."""
    return [module for name in names for module in active_course().late_imports.get(name, ())]


def pool_here(
    console: Console,
    class_folder: ClassFolder,
    names: Sequence[str],
    workers: int | None,
    limits: Limits,
    mode: Mode,
    max_workers: int | None = None,
) -> AbstractContextManager[GradingPool]:
    """Worker processes on this machine: as many as were asked for, but no more than there are students, or `max_workers`."""
    from autograder.class_folder import submitted_files
    from autograder.engine import pool
    from autograder.jail import resources

    most = max_workers or max(1, submitted_files.students(class_folder))
    worker_count = min(workers or os.cpu_count() or 1, most)
    if advice := resources.advice(limits, worker_count):
        console.print(Text(advice), style="dim", soft_wrap=True)
    return pool.on_this_machine(worker_count, limits, mode, (class_folder.path,), late_modules(names))


@dataclass(frozen=True)
class ClassGrading:
    """The grading of a class's assignments, one after the other, and what the command says of each."""

    console: Console
    class_folder: ClassFolder
    names: Sequence[str]
    options: grade_class.GradeOptions
    forget_manual: bool = False  # whether what was given by hand is removed
    hint: str = "--force grades them again"  # about submissions that have not changed

    @property
    def is_brief(self) -> bool:
        """Whether an assignment gets a line instead of a table."""
        return len(self.names) > MAX_TABLES and not self.options.student

    def grade(self, assignment: str, grader: grade_class.Grader) -> bool:
        """Grade one assignment, and say what came of it. Returns whether all of it could be graded."""
        from autograder.gradebook.policy import Policy

        summary, changes = self._grade_with_bar(assignment, grader)
        policy = Policy.of(self.class_folder)
        if summary.note:
            self._say(summary.note, "bold")
        if self.options.dry:
            self._show_changes(assignment, changes, policy)
            self._say(f"{summary.graded_count} graded to see what would change; nothing was written.\n")
            doubts: list[str] = []
        else:
            effective_attempts, outdated = self._update_book(assignment, policy)
            self._show_points(assignment, summary, effective_attempts)
            doubts = self._find_doubts(assignment, policy, effective_attempts, outdated)
        for problem in summary.problems():
            self._say(f"{assignment}: {problem}", "bold red")
        for doubt in doubts:
            self._say(doubt, "bold red")
        return not (summary.needs_somebody or doubts)

    def conclude(self, whole: bool, grading: Path | None) -> None:
        """Say what is true of the whole class, and which command comes next.

        whole: whether all of it could be graded. grading: the class folder, if it was given.

        Raises:
            typer.Exit: with status 2, if something needs a person.
        """
        from autograder.class_folder import submitted_files
        from autograder.gradebook.gradebook import Book
        from autograder.gradebook.policy import Policy

        with Book(self.class_folder) as book:
            has_doubts = say_doubts(self.console, Policy.of(self.class_folder), book)
        if not self.options.dry:
            self._say_what_comes_next(grading)
        is_whole_class = not (self.options.student or self.options.exercise)
        if is_whole_class:
            for stray in submitted_files.strays(self.class_folder):
                self._say(f"Ignored in {shorten_path(self.class_folder.submitted)}: {stray}", "bold red")
        has_stray_work = is_whole_class and submitted_files.has_stray_work(self.class_folder)
        if not whole or has_doubts or has_stray_work:
            raise typer.Exit(2)

    def _say(self, line: str, style: str = "") -> None:
        self.console.print(Text(line), style=style, soft_wrap=True)

    def _grade_with_bar(
        self, assignment: str, grader: grade_class.Grader
    ) -> tuple[grade_class.GradingSummary, list[grade_class.PointsChange]]:
        """Grade under a progress bar. Returns the summary and, for a dry run, whose points would change."""
        from autograder.grading import grade_class

        changes: list[grade_class.PointsChange] = []
        with bar(self.console) as progress:
            task = progress.add_task(assignment, total=None, rate="drawing hidden inputs, starting the jail")

            def tell(outcome: grade_class.SubmissionOutcome, total: int) -> None:
                speed = progress.tasks[task].speed or 0
                progress.update(task, total=total, advance=1, rate=f"{60 * speed:.0f} a minute" if speed else "")
                if self.options.dry and (change := outcome.change()):
                    changes.append(change)

            on_interrupt: Callable[[], None] = partial(self.console.print, FINISHING)
            try:
                summary = grade_class.grade(
                    self.class_folder, assignment, grader, self.options, tell, on_interrupt=on_interrupt
                )
            except KeyboardInterrupt:
                progress.stop()
                again = "begins anew" if self.options.force else "grades the rest"
                stop_after_interrupt("nothing was written" if self.options.dry else "what was graded is saved", again)
        return summary, changes

    def _show_changes(self, assignment: str, changes: Sequence[grade_class.PointsChange], policy: Policy) -> None:
        from autograder.reports import class_table

        class_table.print_changes(self.console, assignment, changes, partial(policy.counts, assignment))

    def _update_book(self, assignment: str, policy: Policy) -> tuple[dict[str, EffectiveAttempt], Outdated | None]:
        """Bring the gradebook up to date after an assignment was graded.

        Returns, by student, the attempt that counts, and what is outdated, which is looked for in whole classes only.
        """
        from autograder.gradebook import unsettled
        from autograder.gradebook.gradebook import Book

        student = self.options.student
        with Book(self.class_folder, writing=True) as book:
            if self.forget_manual:
                count = book.forget_manual(assignment, student)
                self.console.print(f"Removed what was given by hand for {plural(count, 'cell')}.")
            policy.enter_dates(book, assignment)
            effective_attempts = policy.read_book(book, assignment, student)
            outdated = None
            if not student:
                outdated = unsettled.find_outdated(self.class_folder, book, assignment, policy.clock)
            if self.forget_manual:
                self._rewrite_pages(assignment, book, effective_attempts)
        if student:  # the attempts of the student's group were read, too
            effective_attempts = {name: effective_attempts[name] for name in effective_attempts if name == student}
        return dict(sorted(effective_attempts.items())), outdated

    def _rewrite_pages(self, assignment: str, book: Book, effective_attempts: Mapping[str, EffectiveAttempt]) -> None:
        from autograder.grading import feedback

        students = [self.options.student] if self.options.student else None
        feedback.rewrite(self.class_folder, assignment, book, students, effective_attempts=effective_attempts)

    def _show_points(
        self,
        assignment: str,
        summary: grade_class.GradingSummary,
        effective_attempts: Mapping[str, EffectiveAttempt],
    ) -> None:
        """The points of all students, in a table or in a line."""
        from autograder.class_folder import log
        from autograder.reports import class_table

        scores = {student: attempt.scores for student, attempt in effective_attempts.items()}
        grades = {student: attempt.grade for student, attempt in effective_attempts.items()}
        if self.is_brief:
            class_table.print_in_a_line(self.console, assignment, summary.graded_count, scores, grades)
            return
        gradings = (replace(attempt.grading, student=student) for student, attempt in effective_attempts.items())
        class_table.print_class(self.console, assignment, gradings, scores, grades=grades)
        text = f"{summary.graded_count} graded"
        if summary.unchanged_count:
            text += f", {summary.unchanged_count} unchanged since last time ({self.hint})"
        if summary.new_time_count:
            text += f", {summary.new_time_count} of them with another time of submission"
        self._say(
            f"{text}.\n"
            f"Feedback pages: {shorten_path(self.class_folder.feedback)}/STUDENT/{assignment}/{assignment}.html\n"
            f"Log: {shorten_path(self.class_folder.path / log.FILE)}\n"
        )

    def _find_doubts(
        self,
        assignment: str,
        policy: Policy,
        effective_attempts: Mapping[str, EffectiveAttempt],
        outdated: Outdated | None,
    ) -> list[str]:
        """What the grades do not take into account yet, in lines."""
        from autograder.gradebook import policy_words, unsettled

        if outdated is not None:
            return unsettled.lines(self.class_folder, policy, assignment, effective_attempts, outdated)
        grades = {student: attempt.grade for student, attempt in effective_attempts.items()}
        doubt = policy_words.describe_lateness_not_counted(policy, assignment, grades)
        return [doubt] if doubt else []

    def _say_what_comes_next(self, grading: Path | None) -> None:
        where = f" --grading {shorten_path(grading)}" if grading else ""
        lines = [f"the class as a whole:      autograder report{where}"]
        if len(self.names) > MAX_TABLES:
            example = self.names[-1]
            lines.insert(0, f"each student's points:     autograder grade {example}{where}")
            page = f"{shorten_path(self.class_folder.feedback)}/STUDENT/{example}/{example}.html"
            lines.append(f"a student's page:          {page}")
        self._say("\n".join(lines), "dim")
