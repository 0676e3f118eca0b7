"""Commands that grade: a class, one answer, many answers; and what grading rests on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from autograder.class_folder.folder import ClassFolder
from autograder.cli.shared import (
    FINISHING,
    ClassFolderOption,
    GradebookUrl,
    app,
    bar,
    class_of,
    class_or_sample,
    console_of,
    lock_class,
    notebook_of,
    say_doubts,
    shorten_path,
    source_of,
    stop_after_interrupt,
    student_of,
)
from autograder.errors import UserError
from autograder.jail.limits import Limits
from autograder.paths import require_assignment, root
from autograder.startup import pause_gc
from ffnlab.registry import active_course

if TYPE_CHECKING:
    from autograder.grading import grade_class
    from autograder.grading.shards import ShardReader
    from autograder.jail.sandbox import Mode

MAX_TABLES = 3  # notebooks of which every student's points are shown; of more, a line each
LIMITS = [limit.name for limit in fields(Limits)]


@app.command()
def grade(
    assignment: Annotated[
        list[str] | None, typer.Argument(help="Assignments. [default: all that were submitted]")
    ] = None,
    grading: ClassFolderOption = None,
    student: Annotated[str | None, typer.Option(help="Only this student.")] = None,
    exercise: Annotated[
        str | None, typer.Option(help="Grade only this exercise again, and keep the other verdicts.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Grade again what has not changed.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many submissions are graded at once. [default: one per core]")
    ] = None,
    scheduler: Annotated[str | None, typer.Option(help="Grade on a Dask cluster: its scheduler's address.")] = None,
    db_url: GradebookUrl = None,
    jail: Annotated[
        str,
        typer.Option(
            help="What confines student code: bubblewrap; container, if all of this runs in one of yours; or none."
        ),
    ] = "bubblewrap",
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help=f"A limit as NAME=NUMBER, in seconds, bytes or processes: {', '.join(LIMITS)}. May be repeated."
        ),
    ] = None,
    students: Annotated[
        int | None, typer.Option(min=1, help="How many students a new sample class has. [default: 16]")
    ] = None,
    start_anew: Annotated[
        bool,
        typer.Option("--start-anew", help="Make a new gradebook, or draw new hidden inputs, if the class's are gone."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Grade everything, write nothing, and show whose points would change.")
    ] = False,
    forget_manual: Annotated[
        bool,
        typer.Option(
            "--forget-manual", help="Remove scores, extra credit and comments given by hand; otherwise they stay."
        ),
    ] = False,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Only draw the hidden inputs; do this once, before you grade shards.")
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Grade part K of N into files, on any machine, without a gradebook; the first part is 0/N.",
        ),
    ] = None,
    to: Annotated[Path | None, typer.Option(help="The folder for a shard's files.")] = None,
    from_: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Enter the results that shards wrote into this folder. May be repeated."),
    ] = None,
) -> None:
    """Grade a class: gradebook, feedback pages, a table, grading.log.

    While grading/submitted/ is empty, this grades a sample class in grading/sample/.
    """
    from autograder.engine import forkserver

    if shard and not to:
        raise UserError("--shard needs --to FOLDER, for its files")
    if sum(map(bool, (shard, from_, scheduler, prepare))) > 1:
        raise UserError("give only one of --shard, --from, --prepare and --scheduler")
    if not (scheduler or from_ or prepare):
        forkserver.start()
    with pause_gc():
        from autograder.class_folder import submitted_files
        from autograder.cli import sharding
        from autograder.engine import pool
        from autograder.grading import grade_class
        from autograder.jail import resources
        from autograder.jail.sandbox import Mode

    console = console_of()
    for name in assignment or []:
        require_assignment(name)
    limits = _limits(limit or [])
    mode = _mode(jail)
    if mode is not Mode.BUBBLEWRAP:
        console.print(
            f"--jail={jail}: this program does not confine student code, and every grade says so.", style="bold red"
        )
    class_folder = class_of(grading, db_url)
    if class_folder.is_empty() and grading is None:
        class_folder = ClassFolder(root() / "grading" / "sample", db_url)
        if class_folder.is_empty():
            from autograder.authoring import sample

            with lock_class(class_folder):
                sample.make(class_folder, students or 16)
            console.print(
                "grading/submitted/ is empty, so this makes and grades a sample class in grading/sample/.",
                style="dim",
            )
        else:
            there = submitted_files.students(class_folder)
            another = f"`autograder sample {students or 'NUMBER'}` makes a new one"
            console.print(
                f"grading/submitted/ is empty, so this grades the sample class in grading/sample/, {there:,} students"
                + (f", not {students}; {another}." if students else f" ({another})."),
                style="dim",
            )
    if student:
        student = student_of(class_folder, student)
    names = assignment or submitted_files.find_assignments(class_folder)
    if exercise:
        names = [notebook_of(exercise)]
        if assignment and assignment != names:
            raise UserError(f"{exercise} is an exercise of {names[0]}, not of {', '.join(assignment)}")
    elif student and not assignment:
        names = [name for name in names if (class_folder.submitted / student / name).is_dir()]
        if not names:
            raise UserError(f"no submission by {student} in {class_folder.submitted}")
    if not names:
        raise UserError(f"nothing to grade: {class_folder.submitted} has no STUDENT/ASSIGNMENT/ folder of this course")
    if prepare:
        sharding.prepare(console, class_folder, names)
        return
    whole = True
    with nullcontext() if shard else lock_class(class_folder):
        reader: ShardReader | None = None
        grader_context: AbstractContextManager[grade_class.Grader]
        late = [module for name in names for module in active_course().late_imports.get(name, ())]
        if scheduler:
            from autograder.engine import cluster

            say = partial(console.print, style="dim", soft_wrap=True, markup=False)
            grader_context = cluster.on_cluster(scheduler, limits, mode, (class_folder.path,), late, say, dry_run)
        elif from_:
            from autograder.grading.shards import ShardReader

            reader = ShardReader(from_, limits)
            grader_context = nullcontext(reader)
        else:
            most = 1 if student else max(1, submitted_files.students(class_folder))
            side_by_side = min(workers or os.cpu_count() or 1, most)
            if advice := resources.advice(limits, side_by_side):
                console.print(Text(advice), style="dim", soft_wrap=True)
            grader_context = pool.on_this_machine(side_by_side, limits, mode, (class_folder.path,), late)
        with grader_context as grader:
            if shard and to:
                sharding.grade_shard(console, class_folder, names, shard, to, grader)
                return
            for name in names:
                options = grade_class.GradeOptions(student, exercise, force or dry_run, start_anew, dry_run)
                brief = len(names) > MAX_TABLES and not student
                whole = _grade(console, class_folder, name, grader, options, forget_manual, brief) and whole
                if reader and sharding.say_what_is_missing(console, name, reader):
                    whole = False
    from autograder.gradebook.gradebook import Book
    from autograder.gradebook.policy import Policy

    with Book(class_folder) as book:
        whole = not say_doubts(console, Policy.of(class_folder), book) and whole
    if not dry_run:
        _say_what_comes_next(console, class_folder, names, grading)
    for stray in () if student or exercise else submitted_files.strays(class_folder):
        console.print(
            Text(f"Ignored in {shorten_path(class_folder.submitted)}: {stray}", style="bold red"), soft_wrap=True
        )
    if not whole or (not (student or exercise) and submitted_files.has_stray_work(class_folder)):
        raise typer.Exit(2)


def _mode(name: str) -> Mode:
    from autograder.jail.sandbox import Mode

    try:
        return Mode(name)
    except ValueError:
        raise UserError(f"--jail={name} is unknown: choose one of {', '.join(Mode)}") from None


def _limits(settings: list[str]) -> Limits:
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


def _grade(
    console: Console,
    class_folder: ClassFolder,
    assignment: str,
    grader: grade_class.Grader,
    options: grade_class.GradeOptions,
    forget_manual: bool,
    brief: bool = False,
) -> bool:
    """Grade an assignment and say what came of it, in a table or in a line. Returns whether all of it could be graded."""
    from autograder.grading import grade_class

    changes: list[grade_class.PointsChange] = []
    with bar(console) as progress:
        task = progress.add_task(f"{assignment}", total=None, rate="drawing hidden inputs, starting the jail")

        def tell(outcome: grade_class.SubmissionOutcome, total: int) -> None:
            speed = progress.tasks[task].speed or 0
            progress.update(task, total=total, advance=1, rate=f"{60 * speed:.0f} a minute" if speed else "")
            if options.dry and (change := outcome.change()):
                changes.append(change)

        try:
            summary = grade_class.grade(
                class_folder, assignment, grader, options, tell, on_interrupt=partial(console.print, FINISHING)
            )
        except KeyboardInterrupt:
            progress.stop()
            again = "begins anew" if options.force else "grades the rest"
            stop_after_interrupt("nothing was written" if options.dry else "what was graded is saved", again)
    from autograder.class_folder import log
    from autograder.gradebook import gradebook, policy_words, unsettled
    from autograder.gradebook.policy import Policy
    from autograder.grading import feedback
    from autograder.reports import terminal

    policy = Policy.of(class_folder)
    if summary.note:
        console.print(Text(summary.note, style="bold"), soft_wrap=True)
    if options.dry:
        terminal.print_changes(console, assignment, changes, partial(policy.counts, assignment))
        console.print(f"{summary.graded_count} graded to see what would change; nothing was written.\n")
        _say_what_is_missing(console, assignment, summary)
        return not summary.needs_somebody
    with gradebook.Book(class_folder, writing=True) as book:
        if forget_manual:
            count = book.forget_manual(assignment, options.student)
            console.print(f"Removed what was given by hand for {count} cell{'s' * (count != 1)}.")
        policy.enter_dates(book, assignment)
        effective_attempts = policy.read_book(book, assignment, options.student)
        outdated = None
        if not options.student:
            outdated = unsettled.find_outdated(class_folder, book, assignment, policy.clock)
        if forget_manual:
            feedback.rewrite(
                class_folder,
                assignment,
                book,
                options.student and [options.student],
                effective_attempts=effective_attempts,
            )
        effective_attempts = {
            who: one for who, one in sorted(effective_attempts.items()) if options.student in (None, who)
        }
        gradings = (replace(one.grading, student=who) for who, one in effective_attempts.items())
        scores = {who: one.scores for who, one in effective_attempts.items()}
        grades = {who: one.grade for who, one in effective_attempts.items()}
        if brief:
            terminal.print_in_a_line(console, assignment, summary.graded_count, scores, grades)
        else:
            terminal.print_class(console, assignment, gradings, scores, grades=grades)
    text = f"{summary.graded_count} graded"
    if summary.unchanged_count:
        text += f", {summary.unchanged_count} unchanged since last time (--force grades them again)"
    if summary.new_time_count:
        text += f", {summary.new_time_count} of them with another time of submission"
    text += (
        f".\nFeedback pages: {shorten_path(class_folder.feedback)}/STUDENT/{assignment}/{assignment}.html"
        f"\nLog: {shorten_path(class_folder.path / log.FILE)}\n"
    )
    if not brief:
        console.print(Text(text), soft_wrap=True)
    _say_what_is_missing(console, assignment, summary)
    if outdated is None:
        doubts = [policy_words.describe_lateness_not_counted(policy, assignment, grades)]
    else:
        doubts = unsettled.lines(class_folder, policy, assignment, effective_attempts, outdated)
    for doubt in filter(None, doubts):
        console.print(Text(doubt), style="bold red", soft_wrap=True)
    return not (summary.needs_somebody or any(doubts))


def _say_what_comes_next(
    console: Console, class_folder: ClassFolder, names: Sequence[str], grading: Path | None
) -> None:
    where = f" --grading {shorten_path(grading)}" if grading else ""
    lines = [f"the class as a whole:      autograder report{where}"]
    if len(names) > MAX_TABLES:
        lines.insert(0, f"each student's points:     autograder grade {names[-1]}{where}")
        lines.append(
            f"a student's page:          {shorten_path(class_folder.feedback)}/STUDENT/{names[-1]}/{names[-1]}.html"
        )
    console.print(Text("\n".join(lines)), style="dim", soft_wrap=True)


def _say_what_is_missing(console: Console, assignment: str, summary: grade_class.GradingSummary) -> None:
    for line in summary.problems():
        console.print(Text(f"{assignment}: {line}", style="bold red"), soft_wrap=True)


@app.command()
def feedback(
    assignment: Annotated[list[str] | None, typer.Argument(help="Assignments. [default: all that were graded]")] = None,
    grading: ClassFolderOption = None,
    student: Annotated[str | None, typer.Option(help="Only this student.")] = None,
    db_url: GradebookUrl = None,
) -> None:
    """Make the feedback pages again, with the latest scores and comments from formgrader."""
    with pause_gc():
        from autograder.gradebook import gradebook
        from autograder.gradebook.policy import Policy
        from autograder.grading import feedback as pages
        from autograder.grading.grade_class import describe_ungraded_attempts

    class_folder, console = class_or_sample(grading, db_url), console_of()
    policy = Policy.of(class_folder)
    with lock_class(class_folder), gradebook.Book(class_folder) as book:
        unclear = say_doubts(console, policy, book)
        student = student and student_of(class_folder, student, book.students())
        names = [require_assignment(name) for name in assignment or []] or book.assignments()
        if not names:
            raise UserError(f"nothing has been graded in {class_folder.path}")
        for name in names:
            if missing := describe_ungraded_attempts(class_folder, name, policy, book):
                console.print(Text(missing), style="bold red", soft_wrap=True)
            with bar(console) as progress:
                task = progress.add_task(name, total=None, rate="")
                effective_attempts = policy.read_book(book, name, student)
                students = student and [student]
                summary = pages.rewrite(
                    class_folder, name, book, students, partial(progress.advance, task), effective_attempts
                )
            console.print(Text(f"{name}: {summary.page_count} page{'s' * (summary.page_count != 1)}"), soft_wrap=True)
            if summary.missing:
                console.print(
                    Text(
                        f"not made again, because an earlier version graded them: {', '.join(summary.missing)}; `autograder grade --force` makes them"
                    ),
                    soft_wrap=True,
                )
    if unclear:
        raise typer.Exit(2)


Secret = Annotated[
    str | None,
    typer.Option(
        help="Use the hidden inputs of the class with this secret, which may be any text. [default: those on which the solutions are validated]"
    ),
]


@app.command()
def answer(
    exercise: Annotated[str, typer.Argument(help="The exercise's name in the notebook.")],
    file: Annotated[Path, typer.Argument(help="A file with what a student would type in the cell.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    secret: Secret = None,
) -> None:
    """Grade one answer to one exercise, in the jail."""
    from autograder.engine.grade_submission import grade_answer

    result = grade_answer(exercise, source_of(file), secret=secret)
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else _line(result))


@app.command()
def answers(
    folder: Annotated[Path, typer.Argument(help="The folder that contains <exercise>/*.py.")],
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print a line of JSON for each file: its name, the verdict, and what each aspect saw."
        ),
    ] = False,
    secret: Secret = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many answers are graded at once. [default: one per core]")
    ] = None,
) -> None:
    """Grade every FOLDER/<exercise>/*.py, in the jail."""
    from autograder.engine.grade_submission import grade_answer
    from autograder.jail.sandbox import Jail
    from ffnlab.registry import active_course

    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder")
    files = sorted(folder.glob("*/*.py"))
    if not files:
        raise UserError(f"{folder} has no <exercise>/*.py")
    unknown = sorted({file.parent.name for file in files} - set(active_course().exercises))
    if unknown:
        raise UserError(f"{folder}: there is no exercise called {', '.join(unknown)}")
    sources = [source_of(file) for file in files]
    with Jail() as jail, ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        results = pool.map(
            lambda pair: grade_answer(pair[0].parent.name, pair[1], jail, secret), zip(files, sources, strict=True)
        )
        for file, result in zip(files, results, strict=True):
            name = str(file.relative_to(folder))
            typer.echo(
                json.dumps({"file": name, **result}, ensure_ascii=False) if as_json else f"{name}: {_line(result)}"
            )


def _line(result: dict[str, object]) -> str:
    from ffnlab.untrusted_text import in_a_line

    score = f"{result['points']:g} of {result['max_points']:g}"
    mistake = f" [{result['mistake']}]" if result["mistake"] else ""
    return f"{result['outcome']}, {score}{mistake}. {in_a_line(str(result['message']), 600)}"


@app.command()
def doctor() -> None:
    """Check everything that grading needs. The exit status is 1 if something is missing."""
    from autograder.engine import doctor as doctors

    if not doctors.examine(typer.echo):
        raise typer.Exit(1)
