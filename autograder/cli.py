"""The command line: `autograder grade`, `answer`, `answers`, `build`, `matrix`, `sample`, `handout`, `doctor`, `bench`."""

from __future__ import annotations

import errno
import gc
import json
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from autograder.house import Class, UserError, alone, assignments, importing, known, root
from autograder.jail.limits import Limits

if TYPE_CHECKING:
    from autograder.desk import classroom
    from autograder.engine import pool
    from autograder.jail.sandbox import Mode

app = typer.Typer(
    help="Names mistakes and grades the course's notebooks. Plain nbgrader works on the same folders.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
OF_THE_FILE_SYSTEM = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EIO,
}  # fmt: skip
LIMITS = [limit.name for limit in fields(Limits)]
Grading = Annotated[Path | None, typer.Option(help="The class's folder, with submitted/ in it. [default: grading/]")]


@app.command()
def grade(
    assignment: Annotated[
        list[str] | None, typer.Argument(help="Assignments. [default: all that were submitted]")
    ] = None,
    grading: Grading = None,
    student: Annotated[str | None, typer.Option(help="Only this student.")] = None,
    exercise: Annotated[
        str | None, typer.Option(help="Judge only this exercise again; keep the other verdicts.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Grade again what has not changed.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Submissions side by side. [default: the cores]")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Grade on a Dask cluster: its scheduler's address.")] = None,
    db_url: Annotated[
        str | None,
        typer.Option(envvar="AUTOGRADER_DB_URL", help="The gradebook. [default: gradebook.db in the class's folder]"),
    ] = None,
    jail: Annotated[
        str, typer.Option(help="bubblewrap, or, where that can't be had: container (yours, around this) or none.")
    ] = "bubblewrap",
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help=f"A limit as NAME=NUMBER, in seconds, bytes or processes: {', '.join(LIMITS)}. May be given again."
        ),
    ] = None,
    students: Annotated[int, typer.Option(min=1, help="How many students a new sample class has.")] = 16,
    start_anew: Annotated[
        bool,
        typer.Option(
            "--start-anew", help="Make a new gradebook, or draw new hidden inputs, where the class's are gone."
        ),
    ] = False,
    forget_manual: Annotated[
        bool,
        typer.Option(
            "--forget-manual", help="Take back scores, extra credit and comments given by hand; they stay otherwise."
        ),
    ] = False,
) -> None:
    """Grade a class: gradebook, feedback pages, a table, grading.log. While grading/submitted/ is empty: a sample class in grading/sample/."""
    from autograder.engine import forkserver

    if not scheduler:
        forkserver.start()
    with importing():
        from autograder.desk import classroom
        from autograder.engine import pool
        from autograder.jail.sandbox import Mode

    console = _console()
    for name in assignment or []:
        known(name)
    limits = _limits(limit or [])
    mode = _mode(jail)
    if mode is not Mode.BUBBLEWRAP:
        console.print(
            f"--jail={jail}: student code is not kept in by this program; every grade says so.", style="bold red"
        )
    school = _class(grading, db_url)
    if school.is_empty() and grading is None:
        school = Class(root() / "grading" / "sample", db_url)
        if school.is_empty():
            from autograder.authoring import sample

            with alone(school):
                sample.make(school, students)
            console.print(
                "grading/submitted/ is empty: made a sample class in grading/sample/ and grade that.",
                style="dim",
            )
        else:
            console.print(
                "grading/submitted/ is empty: grading the sample class in grading/sample/ "
                "(`autograder sample NUMBER` makes a new one).",
                style="dim",
            )
    names = assignment or classroom.submitted_assignments(school)
    if exercise:
        names = [_notebook_of(exercise)]
        if assignment and assignment != names:
            raise UserError(f"{exercise} is an exercise of {names[0]}, not of {', '.join(assignment)}")
    elif student and not assignment:
        names = [name for name in names if (school.submitted / student / name).is_dir()]
        if not names:
            raise UserError(f"no submission by {student} in {school.submitted}")
    if not names:
        raise UserError(f"nothing to grade: {school.submitted} holds no STUDENT/ASSIGNMENT/ folder of this course")
    with alone(school):
        if scheduler:
            opened = pool.on_cluster(scheduler, limits, mode)
        else:
            most = 1 if student else max(1, classroom.students(school))
            opened = pool.on_this_machine(min(workers or os.cpu_count() or 1, most), limits, mode, (school.folder,))
        with opened as team:
            for name in names:
                _grade(console, school, name, team, student, exercise, force, start_anew, forget_manual)


def _notebook_of(exercise: str) -> str:
    from autograder.marking import outline

    try:
        return outline.notebook_of(exercise)
    except LookupError as error:
        raise UserError(str(error.args[0])) from None


def _mode(name: str) -> Mode:
    from autograder.jail.sandbox import Mode

    try:
        return Mode(name)
    except ValueError:
        raise UserError(f"--jail={name}: there are {', '.join(Mode)}") from None


def _limits(given: list[str]) -> Limits:
    """The limits with what was given as NAME=NUMBER."""
    changed: dict[str, Any] = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = 0
        seconds = name.endswith("seconds")
        if name not in LIMITS or not 0 < value < float("inf") or not (seconds or value.is_integer()):
            raise UserError(
                f"--limit {text}: NAME=NUMBER was expected, with one of {', '.join(LIMITS)} and a positive number, "
                "a whole one if it does not count seconds"
            )
        changed[name] = value if seconds else int(value)
    return replace(Limits(), **changed)


def _grade(
    console: Console,
    school: Class,
    assignment: str,
    team: pool.Team,
    student: str | None,
    exercise: str | None,
    force: bool,
    anew: bool,
    forget_manual: bool,
) -> None:
    from autograder.desk import classroom

    with _bar(console) as progress:
        task = progress.add_task(f"{assignment}", total=None, rate="drawing hidden inputs, starting the jail")

        def tell(done: classroom.Done, total: int) -> None:
            speed = progress.tasks[task].speed or 0
            progress.update(task, total=total, advance=1, rate=f"{60 * speed:.0f} a minute" if speed else "")

        try:
            summary = classroom.grade(school, assignment, team, student, exercise, force, anew, tell)
        except KeyboardInterrupt:
            progress.stop()
            sys.stderr.write("autograder: interrupted; what was graded is saved. The same command grades the rest.\n")
            raise typer.Exit(130) from None
    from autograder.desk import feedback, gradebook, log, report

    with gradebook.Book(school) as book:
        if forget_manual:
            count = book.forget_manual(assignment, student)
            console.print(f"Taken back: what was given by hand for {count} cell{'s' * (count != 1)}.")
            feedback.write_again(school, assignment, book, student)
        report.of_class(console, assignment, book.latest(assignment, student), book.marks(assignment, student))
    said = f"{summary.graded} graded"
    if summary.unchanged:
        said += f", {summary.unchanged} unchanged since last time (--force grades them again)"
    if summary.not_graded:
        said += f", {summary.not_graded} of them not in full: look for “not graded” in the log"
    said += (
        f".\nFeedback pages: {_shown(school.feedback)}/STUDENT/{assignment}/{assignment}.html"
        f"\nLog: {_shown(school.folder / log.FILE)}\n"
    )
    console.print(Text(said), soft_wrap=True)
    for folders in summary.passed_over:
        console.print(
            Text(f"Not looked at in {_shown(school.submitted)}: {folders}\n", style="bold red"), soft_wrap=True
        )


@app.command()
def feedback(
    assignment: Annotated[list[str] | None, typer.Argument(help="Assignments. [default: all that were graded]")] = None,
    grading: Grading = None,
    student: Annotated[str | None, typer.Option(help="Only this student.")] = None,
    db_url: Annotated[str | None, typer.Option(envvar="AUTOGRADER_DB_URL", help="The gradebook.")] = None,
) -> None:
    """Make the feedback pages again, with what was scored and written by hand in formgrader since."""
    with importing():
        from autograder.desk import feedback as pages
        from autograder.desk import gradebook

    school, console = _class_or_sample(grading, db_url), _console()
    with alone(school), gradebook.Book(school) as book:
        names = [known(name) for name in assignment or []] or book.assignments()
        if not names:
            raise UserError(f"nothing has been graded in {school.folder}")
        for name in names:
            with _bar(console) as progress:
                task = progress.add_task(name, total=None, rate="")
                done = pages.write_again(school, name, book, student, partial(progress.advance, task))
            console.print(Text(f"{name}: {done.written} page{'s' * (done.written != 1)}"), soft_wrap=True)
            if done.left:
                console.print(
                    Text(
                        f"left as they are, graded by an earlier version (`autograder grade --force` makes them): {', '.join(done.left)}"
                    ),
                    soft_wrap=True,
                )


@app.command()
def answer(
    exercise: Annotated[str, typer.Argument(help="The exercise's name, e.g. ffn_forward.")],
    file: Annotated[Path, typer.Argument(help="What a student would type in the exercise's cell.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Grade one answer to one exercise, in the jail."""
    from autograder.engine.grade import grade_answer

    result = grade_answer(exercise, _source(file))
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else _line(result))


@app.command()
def answers(
    folder: Annotated[Path, typer.Argument(help="A folder of FOLDER/<exercise>/*.py.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line each, with the file's name.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Answers side by side. [default: the cores]")] = None,
) -> None:
    """Grade every FOLDER/<exercise>/*.py, in the jail."""
    from autograder.engine.grade import grade_answer
    from autograder.jail.sandbox import Jail
    from ffnlab import exercises

    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder")
    files = sorted(folder.glob("*/*.py"))
    if not files:
        raise UserError(f"{folder} holds no <exercise>/*.py")
    unknown = sorted({file.parent.name for file in files} - set(exercises.every()))
    if unknown:
        raise UserError(f"{folder}: there is no exercise called {', '.join(unknown)}")
    sources = [_source(file) for file in files]
    with Jail() as jail, ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        results = pool.map(
            lambda pair: grade_answer(pair[0].parent.name, pair[1], jail), zip(files, sources, strict=True)
        )
        for file, result in zip(files, results, strict=True):
            name = str(file.relative_to(folder))
            typer.echo(
                json.dumps({"file": name, **result}, ensure_ascii=False) if as_json else f"{name}: {_line(result)}"
            )


def _line(result: dict[str, object]) -> str:
    from ffnlab.cleaning import in_a_line

    score = f"{result['points']:g} of {result['max_points']:g}"
    named = f" [{result['mistake']}]" if result["mistake"] else ""
    return f"{result['outcome']}, {score}{named}. {in_a_line(str(result['message']), 600)}"


@app.command()
def build(
    assignment: Annotated[list[str] | None, typer.Argument(help="Assignments. [default: all]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Also what has not changed.")] = False,
) -> None:
    """Make solution notebooks, student notebooks and shipped answers again: only what changed."""
    from autograder.authoring import build as builder

    for name in assignment or assignments():
        if name not in assignments():
            raise UserError(f"there is no solutions/{name}.py")
        if not builder.build(name, force, typer.echo):
            typer.echo(f"{name}: nothing has changed")


@app.command()
def matrix(
    exercise: Annotated[list[str] | None, typer.Argument(help="Exercises. [default: all]")] = None,
    problems: Annotated[bool, typer.Option("--problems", help="Only rows that are not as they must be.")] = False,
) -> None:
    """Print exercise × kept answer → points and message, on public and on hidden draws. Exit status 1 where one is not as it must be."""
    import torch

    from autograder import keys
    from autograder.authoring import build as builder
    from autograder.desk import report
    from autograder.marking import draws
    from autograder.marking import matrix as matrices
    from ffnlab import exercises

    torch.set_num_threads(1)  # the tensors are small
    console = _console()
    names = exercise or list(exercises.every())
    found: list[matrices.Row] = []
    for name in names:
        try:
            key = keys.find(name)
        except LookupError as error:
            raise UserError(str(error.args[0])) from None
        seeds = {"public": draws.public_seeds(key.exercise), "hidden": draws.development(name)}
        found += matrices.rows(key, seeds, builder.solution_answer(name))
    wrong = [row for row in found if row.problem]
    shown = wrong if problems else found
    if shown:
        report.matrix_table(console, shown)
    kept = {(row.answer.exercise, row.answer.name): row.answer.kind for row in found}
    kinds = list(kept.values())
    console.print(
        f"{len(names)} exercises, {kinds.count('right')} right answers, {kinds.count('mistake')} mistakes, {len(found)} verdicts: "
        + (
            f"{len(wrong)} not as they must be"
            if wrong
            else "all right answers earn full marks, all mistakes are named"
        )
    )
    if wrong:
        raise typer.Exit(1)


@app.command()
def luck(
    assignment: Annotated[
        list[str] | None, typer.Argument(help="Assignments. [default: all whose key has changed]")
    ] = None,
    exercise: Annotated[
        list[str] | None, typer.Option(help="Only this exercise; nothing is recorded. May be given again.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes side by side. [default: the cores]")] = None,
) -> None:
    """Grade every kept answer on twenty secrets, and record what it gets. Exit status 1 where that depends on the secret; then nothing is recorded."""
    with importing():
        from autograder.authoring import luck as lucks

    def try_out(title: str, names: list[str]) -> list[lucks.Unsteady]:
        with _bar(console) as progress:
            task = progress.add_task(title, total=len(names) * lucks.SECRETS, rate="")
            found = lucks.tried(names, lambda: progress.advance(task), workers)
        wrong = [row for name in names for row in lucks.unsteady(name, found[name])]
        if not wrong and not exercise:
            lucks.keep(title, found)
        return wrong

    console = _console()
    if exercise:
        for name in exercise:
            _notebook_of(name)
        unsteady = try_out("exercises", exercise)
    else:
        chosen = [known(name) for name in assignment] if assignment else list(lucks.outdated())
        unsteady = [row for name in chosen for row in try_out(name, lucks.names(name))]
    for row in unsteady:
        console.print(Text(str(row)), soft_wrap=True)
    if unsteady:
        raise typer.Exit(1)
    console.print(f"Every kept answer gets the same points and the same name on each of {lucks.SECRETS} secrets.")


@app.command()
def sample(
    students: Annotated[int, typer.Argument(min=1, help="How many.")] = 16,
    grading: Annotated[Path | None, typer.Option(help="Where. [default: grading/sample/]")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same class.")] = 1,
) -> None:
    """Make a sample class from the marking guide."""
    from autograder.authoring import sample as samples

    usual = root() / "grading" / "sample"
    school = Class(grading or usual)
    with alone(school):
        if school.folder.resolve() == usual.resolve():
            samples.forget(school)
        elif not school.is_empty():
            raise UserError(
                f"{school.submitted} is not empty, and a sample class would take the place of what is there"
            )
        names = samples.make(school, students, seed)
    typer.echo(f"{len(names)} students in {_shown(school.submitted)}")


@app.command()
def handout(
    target: Annotated[Path, typer.Argument(help="The zip file.")] = Path("dist/course.zip"),
) -> None:
    """Zip course/ for students."""
    from autograder.authoring import build as builder

    typer.echo(f"{_shown(builder.handout(target))}")


@app.command()
def doctor() -> None:
    """Try every layer that grading rests on. Exit status 1 where one is missing."""
    from autograder.engine import doctor as doctors

    if not doctors.examine(typer.echo):
        raise typer.Exit(1)


@app.command()
def bench(
    assignment: Annotated[str, typer.Argument(help="The assignment.")] = "02_feed_forward",
    students: Annotated[int, typer.Option(min=1, help="How many our engine grades.")] = 100,
    plain: Annotated[int, typer.Option(min=1, help="How many nbgrader and otter-grader grade.")] = 10,
    growth: Annotated[list[int] | None, typer.Option(min=1, help="Also a class of this size; may be repeated.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw how time and memory grow into this PNG file.")] = None,
    otter: Annotated[
        Path | None,
        typer.Option(
            help="The command `otter` of an environment with otter-grader and the course. `make bench` makes one."
        ),
    ] = None,
) -> None:
    """Measure: plain nbgrader, and otter-grader, against this engine; same class, same machine, one run."""
    from autograder.authoring import bench as benches

    known(assignment)
    if otter is not None and not otter.is_file():
        raise UserError(f"there is no {otter}")
    benches.run(_console(), assignment, students, plain, growth or [], picture, otter)


def _bar(console: Console) -> Progress:
    """A progress bar that goes when the work is done; a task has a field `rate`."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True,
    )  # fmt: skip


def _console() -> Console:
    """A console as wide as the terminal; wide, where the output goes to a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else 160)


def _class(folder: Path | None, db_url: str | None) -> Class:
    if folder is not None and not folder.is_dir():
        raise UserError(f"{folder} is not a folder")
    return Class(folder or Path(os.environ.get("AUTOGRADER_GRADING") or root() / "grading"), db_url)


def _class_or_sample(folder: Path | None, db_url: str | None) -> Class:
    """The class of that folder; without one the usual class, or the sample class while nobody has submitted anything."""
    school = _class(folder, db_url)
    sample = Class(root() / "grading" / "sample", db_url)
    return sample if folder is None and school.is_empty() and not sample.is_empty() else school


def _source(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} can't be read: {error}") from None


def _shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def main() -> None:
    """Run the command line: what a user can mend is one line on stderr and exit status 2."""
    try:
        app()
    except Exception as error:
        line = _mendable(error)
        if not line:
            raise
        sys.stderr.write(f"autograder: {line}\n")
        sys.exit(2)
    finally:
        gc.freeze()  # a million objects are left, and nobody needs their memory back: the interpreter ends sooner


def _mendable(error: Exception) -> str:
    """One line for an error that its reader can mend; empty where it is a fault of ours, whose traceback should be seen."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, SyntaxError) and _is_authors(error.filename or ""):
        return f"{_shown(Path(str(error.filename)))}, line {error.lineno}: {error.msg}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_authors(frame.filename):
            return f"{_shown(Path(frame.filename))}, line {frame.lineno}: {type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.errno in OF_THE_FILE_SYSTEM and error.filename:
        return f"{error.filename}: {error.strerror}"
    if type(error).__name__ == "OperationalError":  # SQLAlchemy's, whom not every command has imported
        return "the gradebook can't be written: " + str(getattr(error, "orig", error)).splitlines()[0]
    from autograder.jail.sandbox import JailBroken
    from autograder.keys.problem import KeyProblem

    return str(error) if isinstance(error, (JailBroken, KeyProblem)) else ""


def _is_authors(filename: str) -> bool:
    """Whether a file is one that authors write: a key or an exercise."""
    return Path(filename).parent.name in ("keys", "exercises") and Path(filename).name != "__init__.py"
