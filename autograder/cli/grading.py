"""The commands `grade`, `feedback`, `answer`, `answers` and `doctor`. What `grade` has in common with `shard` is in class_grading."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from autograder.class_folder.folder import ClassFolder
from autograder.cli import old_forms
from autograder.cli.class_grading import (
    AssignmentsArgument,
    ClassGrading,
    DryRunOption,
    JailOption,
    LimitOption,
    StartAnewOption,
    WorkersOption,
    late_modules,
    parse_limits,
    parse_mode,
    pool_here,
    select_assignments,
)
from autograder.cli.shared import (
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
    source_of,
    student_of,
)
from autograder.errors import UserError
from autograder.jail.limits import Limits
from autograder.paths import require_assignment, root
from autograder.startup import pause_gc
from ffnlab.phrases import join_words, plural

if TYPE_CHECKING:
    from autograder.engine.pool import GradingPool
    from autograder.jail.sandbox import Mode

SAMPLE_STUDENTS = 16  # of the class that is graded while nobody has submitted anything

ExerciseOption = Annotated[
    str | None, typer.Option(help="Grade only this exercise again, and keep the other verdicts.")
]
ForgetManualOption = Annotated[
    bool,
    typer.Option(
        "--forget-manual", help="Remove scores, extra credit and comments given by hand; otherwise they stay."
    ),
]


@app.command()
def grade(
    context: typer.Context,
    assignment: AssignmentsArgument = None,
    grading: ClassFolderOption = None,
    student: Annotated[str | None, typer.Option(help="Only this student.")] = None,
    exercise: ExerciseOption = None,
    force: Annotated[bool, typer.Option("--force", help="Grade again what has not changed.")] = False,
    workers: WorkersOption = None,
    scheduler: Annotated[str | None, typer.Option(help="Grade on a Dask cluster: its scheduler's address.")] = None,
    db_url: GradebookUrl = None,
    jail: JailOption = "bubblewrap",
    limit: LimitOption = None,
    start_anew: StartAnewOption = False,
    dry_run: DryRunOption = False,
    forget_manual: ForgetManualOption = False,
    students: old_forms.OldStudents = None,
    prepare: old_forms.OldPrepare = False,
    shard: old_forms.OldShard = None,
    to: old_forms.OldTo = None,
    from_: old_forms.OldFrom = None,
) -> None:
    """Grade a class: gradebook, feedback pages, a table, grading.log.

    While grading/submitted/ is empty, this grades a sample class in grading/sample/. To grade on several machines, use `autograder shard`.
    """
    if to and not shard:
        raise UserError("--to does not go with `autograder grade`, only with `autograder shard grade`")
    if prepare:
        return old_forms.prepare(context, assignment or [], grading, start_anew, db_url)
    if shard:
        return old_forms.grade_shard(context, shard, to, assignment or [], grading, workers, jail, limit)
    if from_:
        return old_forms.enter(context, from_, assignment or [], grading, force, limit, start_anew, dry_run, db_url)
    from autograder.engine import forkserver

    if scheduler and workers:
        raise UserError("--workers does not go with --scheduler: the cluster's own workers grade")
    if not scheduler:
        forkserver.start()
    with pause_gc():
        from autograder.grading import grade_class

    console = console_of()
    for name in assignment or []:
        require_assignment(name)
    limits = parse_limits(limit or [])
    mode = parse_mode(console, jail)
    class_folder = _class_or_new_sample(console, grading, db_url, students, dry_run)
    if student:
        student = student_of(class_folder, student)
    names = _assignments_to_grade(class_folder, assignment, student, exercise)
    options = grade_class.GradeOptions(student, exercise, force=force or dry_run, anew=start_anew, dry=dry_run)
    class_grading = ClassGrading(console, class_folder, names, options, forget_manual)
    with lock_class(class_folder, dry_run), _grader(class_grading, limits, mode, scheduler, workers) as grader:
        # A list: each is graded, whatever became of the others.
        whole = all([class_grading.grade(name, grader) for name in names])
    class_grading.conclude(whole, grading)


def _class_or_new_sample(
    console: Console, grading: Path | None, db_url: str | None, student_count: int | None, dry_run: bool
) -> ClassFolder:
    """The class of that folder; without one the usual class, or a sample class while nobody has submitted anything.

    Raises:
        UserError: a sample class would have to be made, and a dry run makes nothing.
    """
    from autograder.class_folder import submitted_files

    if student_count:
        old_forms.say_new_form("--students", f"`autograder sample {student_count}`, then `autograder grade`")
    class_folder = class_of(grading, db_url)
    if grading or not class_folder.is_empty():
        return class_folder
    class_folder = ClassFolder(root() / "grading" / "sample", db_url)
    if class_folder.is_empty():
        if dry_run:
            raise UserError(
                "grading/submitted/ is empty, and a dry run makes no sample class: "
                f"`autograder sample {SAMPLE_STUDENTS}` makes one in grading/sample/"
            )
        from autograder.authoring import sample

        with lock_class(class_folder):
            sample.make(class_folder, student_count or SAMPLE_STUDENTS)
        hint = "grading/submitted/ is empty, so this makes and grades a sample class in grading/sample/."
    else:
        count = plural(f"{submitted_files.students(class_folder):,}", "student")
        hint = (
            f"grading/submitted/ is empty, so this grades the sample class in grading/sample/, {count} "
            "(`autograder sample NUMBER` makes a new one)."
        )
    console.print(hint, style="dim", soft_wrap=True)
    return class_folder


def _assignments_to_grade(
    class_folder: ClassFolder, selection: list[str] | None, student: str | None, exercise: str | None
) -> list[str]:
    """The assignments to grade: that of the exercise, those that were selected, or all that the class or the student submitted."""
    if exercise:
        name = notebook_of(exercise)
        if selection and selection != [name]:
            raise UserError(f"{exercise} is an exercise of {name}, not of {join_words(selection)}")
        return [name]
    names = select_assignments(class_folder, selection)
    if student and not selection:
        names = [name for name in names if (class_folder.submitted / student / name).is_dir()]
        if not names:
            raise UserError(f"no submission by {student} in {class_folder.submitted}")
    return names


def _grader(
    class_grading: ClassGrading, limits: Limits, mode: Mode, scheduler: str | None, workers: int | None
) -> AbstractContextManager[GradingPool]:
    """The workers of a Dask cluster, or those of this machine. A single student needs one worker."""
    console = class_grading.console
    class_folder = class_grading.class_folder
    if not scheduler:
        max_workers = 1 if class_grading.options.student else None
        return pool_here(console, class_folder, class_grading.names, workers, limits, mode, max_workers)
    from autograder.engine import cluster

    say = partial(console.print, style="dim", soft_wrap=True, markup=False)
    modules = late_modules(class_grading.names)
    return cluster.on_cluster(scheduler, limits, mode, (class_folder.path,), modules, say, class_grading.options.dry)


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

    class_folder = class_or_sample(grading, db_url)
    console = console_of()
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
            console.print(Text(f"{name}: {plural(summary.page_count, 'page')}"), soft_wrap=True)
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
        raise UserError(f"{folder}: there is no exercise called {join_words(unknown)}")
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
