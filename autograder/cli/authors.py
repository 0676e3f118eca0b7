"""Commands for authors: building, the matrix, the twenty secrets, the sample class, the handout, the bench."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.outputs import check_outputs
from autograder.cli.shared import (
    ClassFolderOption,
    app,
    bar,
    class_of,
    console_of,
    lock_class,
    notebook_of,
    shorten_path,
)
from autograder.errors import UserError
from autograder.paths import assignments, require_assignment, root
from autograder.startup import pause_gc
from ffnlab.phrases import plural

MAX_TRIALS = 6  # exercises that `build` tries on twenty secrets by itself: a minute or two


@app.command()
def build(
    assignment: Annotated[list[str] | None, typer.Argument(help="Assignments. [default: all]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Build what has not changed, too.")] = False,
) -> None:
    """Build solution notebooks, student notebooks and shipped reference outputs where something has changed. New exercises are tried on twenty secrets."""
    from autograder.authoring import build as builder
    from autograder.authoring import stability as trials

    names = assignment or assignments()
    for name in names:
        if name not in assignments():
            raise UserError(f"there is no solutions/{name}.py")
        _find_boxes(name)
        _draw_stills(name)
        if not builder.build(name, force, typer.echo):
            typer.echo(f"{name}: nothing has changed")
    for excess in _describe_excess(names):
        typer.echo(excess)
    exercises = list(trials.find_outdated(names))
    if len(exercises) > MAX_TRIALS:
        typer.echo(
            f"{len(exercises)} exercises have changed, or code that they use. Before you commit, grade their kept answers on twenty secrets "
            "with `make stability`, which takes half an hour on two cores"
        )
    elif exercises:
        _try_on_twenty_secrets(exercises)


def _describe_excess(names: list[str]) -> Iterator[str]:
    """A line on each notebook that is larger than the budget allows, and on a core path that takes longer than it may."""
    from autograder.authoring import minutes, size

    for name in names:
        if excess := size.beyond(size.measure(name)):
            yield f"{name} is beyond the budget: {', '.join(excess)}"
    core_minutes = {name: minutes.round_minutes(size.estimate(name))[0] for name in assignments()}
    for line in size.beyond_the_day(core_minutes):
        yield f"the core path is beyond the budget: {line}"


def _find_boxes(assignment: str) -> None:
    """Find the closed boxes of a notebook's exercises again where their keys have changed, for they are in its boards."""
    from autograder.authoring import find_boxes
    from ffnlab.registry import DEFAULT, active_course

    if active_course().package != DEFAULT:  # the board is the first course's
        return
    if {exercise.name for exercise in active_course().exercises_of(assignment)} & find_boxes.RIGHT_LINES.keys():
        find_boxes.write(typer.echo)


def _draw_stills(assignment: str) -> None:
    """Draw the stills of a notebook's boards where those have changed, for they are in the notebook; without Chromium, say so."""
    from autograder import source_hash
    from autograder.paths import source

    scripts = {file for file in source_hash.files(source(assignment)) if file.suffix == ".js"}
    if not scripts:
        return
    from autograder.authoring import stills as drawing

    if not (names := drawing.find_outdated(scripts)):
        return
    try:
        for name in drawing.write(names):
            typer.echo(f"{assignment}: the still picture of the board {name} is drawn anew")
    except UserError as error:
        typer.echo(f"{assignment}: still pictures are older than their boards, {', '.join(names)}: {error}")


@app.command()
def minutes() -> None:
    """Measure each notebook: minutes on the core path, in the deeper part and for questions that a person reads; cells, words, figures and exercises."""
    from autograder.authoring import minutes as counting
    from autograder.authoring import size

    table = Table("notebook", *counting.Minutes._fields, "its header says", box=box.SIMPLE_HEAD, pad_edge=False)
    sizes = Table(
        "notebook",
        *(field.replace("_", " ") for field in size.NotebookSize._fields),
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    estimates = {name: size.estimate(name) for name in assignments()}
    for name, estimate in estimates.items():
        core, more = counting.round_minutes(estimate)
        table.add_row(
            name, *(f"{number:.0f}" for number in estimate), f"{core} minutes" + (f"; {more} more" if more else "")
        )
        sizes.add_row(
            name,
            *(
                f"[bold red]{value:.0f}[/]" if value > most else f"{value:.0f}"
                for value, most in zip(size.measure(name), size.BUDGET, strict=True)
            ),
        )
    table.add_section()
    table.add_row("all", *(f"{sum(column):.0f}" for column in zip(*estimates.values(), strict=True)), "")
    sizes.add_section()
    sizes.add_row("at most", *(f"{most:.0f}" for most in size.BUDGET))
    console = console_of()
    console.print(table, sizes)


@app.command()
def boxes() -> None:
    """Find what each known mistake does, for the board “Catch them all”, where its key has changed."""
    from autograder.authoring import find_boxes

    typer.echo("written" if find_boxes.write(typer.echo) else "nothing has changed")


@app.command()
def stills(
    board: Annotated[list[str] | None, typer.Argument(help="Boards. [default: all]")] = None,
) -> None:
    """Draw each board as a still picture, for pages that run no scripts."""
    from autograder.authoring import stills as drawing

    names = drawing.write(board or [])
    typer.echo("\n".join(f"{name}: drawn" for name in names) or "nothing has changed")


@app.command()
def matrix(
    exercise: Annotated[list[str] | None, typer.Argument(help="Exercises. [default: all]")] = None,
    problems: Annotated[bool, typer.Option("--problems", help="Show only rows that are wrong.")] = False,
) -> None:
    """Print the points and the message of each kept answer, on public and on hidden inputs, and what an exercise or its key lacks.

    The exit status is 1 if anything is wrong.
    """
    import torch

    from autograder import keys
    from autograder.authoring import build as builder
    from autograder.authoring import key_rules, matrix_table
    from autograder.reference import draws
    from autograder.reference import matrix as matrices
    from ffnlab.registry import active_course

    torch.set_num_threads(1)  # the tensors are small
    console = console_of()
    names = exercise or list(active_course().exercises)
    rows: list[matrices.MatrixRow] = []
    broken: list[str] = []
    for name in names:
        try:
            key = keys.find(name)
        except LookupError as error:
            raise UserError(str(error.args[0])) from None
        seeds = {"public": draws.public_seeds(key.exercise), "hidden": draws.development(name)}
        rows += matrices.rows(key, seeds, builder.solution_answer(name))
        broken += [f"{name}: {rule}" for rule in key_rules.broken(key)]
    wrong = [row for row in rows if row.problem]
    visible_rows = wrong if problems else rows
    if visible_rows:
        matrix_table.print_matrix(console, visible_rows)
    answer_kinds = {(row.answer.exercise, row.answer.name): row.answer.kind for row in rows}
    kinds = list(answer_kinds.values())
    console.print(
        f"{plural(len(names), 'exercise')}, {kinds.count('right')} right answers, {kinds.count('mistake')} mistakes, {len(rows)} verdicts: "
        + (f"{len(wrong)} are wrong" if wrong else "all right answers earn full marks, all mistakes are named")
    )
    for rule in broken:
        console.print(Text(rule, style="bold red"), soft_wrap=True)
    if wrong or broken:
        raise typer.Exit(1)


@app.command()
def stability(
    exercise: Annotated[
        list[str] | None, typer.Argument(help="Exercises, or assignments. [default: all that have changed]")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many processes run at once. [default: one per core]")
    ] = None,
) -> None:
    """Grade every kept answer on twenty secrets, and record what it gets. If that depends on the secret, it is not recorded and the exit status is 1."""
    from autograder.authoring import stability as trials
    from ffnlab.registry import active_course

    names = list(trials.find_outdated())
    if exercise:
        names = []
        for word in exercise:
            if word in assignments():
                names += [member.name for member in active_course().exercises_of(word)]
            else:
                names.append(word)
    for name in names:
        notebook_of(name)
    _try_on_twenty_secrets(names, workers)


def _try_on_twenty_secrets(names: list[str], workers: int | None = None) -> None:
    with pause_gc():
        from autograder.authoring import stability as trials
        from ffnlab.registry import active_course

    console = console_of()
    unstable: list[trials.Unstable] = []
    for notebook in dict.fromkeys(map(active_course().notebook_of, names)):
        here = [name for name in names if active_course().notebook_of(name) == notebook]
        with bar(console) as progress:
            task = progress.add_task(
                f"{notebook} on {trials.SECRETS} secrets", total=len(here) * trials.SECRETS, rate=""
            )
            scores = trials.grade_on_all(here, partial(progress.advance, task), workers)
        wrong = {name: rows for name in here if (rows := trials.unstable(name, scores[name]))}
        trials.save({name: scores[name] for name in here if name not in wrong})
        unstable += [row for rows in wrong.values() for row in rows]
    for row in unstable:
        console.print(Text(str(row)), soft_wrap=True)
    if unstable:
        raise typer.Exit(1)
    if names:
        console.print(f"Every kept answer gets the same points and the same name on each of {trials.SECRETS} secrets.")
    else:
        console.print("No exercise has changed since its kept answers were tried.")


@app.command()
def mutants(
    exercise: Annotated[list[str] | None, typer.Argument(help="Exercises. [default: all]")] = None,
    every: Annotated[int, typer.Option(min=1, help="Take only every Nth mutant.")] = 1,
    unnamed: Annotated[
        bool, typer.Option("--unnamed", help="List the messages for mutants whose mistake has no name.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many processes run at once. [default: one per core]")
    ] = None,
) -> None:
    """Grade every solution with one small change in it. The exit status is 1 if one earns full marks and keys/survivors.json gives no reason."""
    with pause_gc():
        from autograder.authoring import mutants as mutations
        from ffnlab.registry import active_course

    for name in exercise or []:
        notebook_of(name)
    selection = mutations.all_of(exercise or active_course().exercises)[::every]
    console = console_of()
    with bar(console) as progress:
        task = progress.add_task("mutants", total=len(selection), rate="")
        results = mutations.run(selection, lambda count: progress.advance(task, count), workers)
    losing = [(result.mutant, result.verdict) for result in results if result.verdict and not result.is_survivor]
    nameless = [(mutant, verdict) for mutant, verdict in losing if not verdict.mistake]
    if unnamed:
        for mutant, verdict in nameless:
            console.print(Text(f"{mutant.exercise}: {mutant.change}\n    {verdict.message}"), soft_wrap=True)
    problems = mutations.problems(results)
    for problem in problems:
        console.print(Text(problem), soft_wrap=True)
    console.print(
        f"{len(results)} mutants: {len(losing)} lose marks, {len(losing) - len(nameless)} of these are named; "
        f"{sum(result.is_endless for result in results)} never end; "
        f"{sum(result.is_survivor for result in results)} earn full marks; problems: {len(problems)}"
    )
    if problems:
        raise typer.Exit(1)


@app.command()
def sample(
    students: Annotated[int, typer.Argument(min=1, help="How many students it has.")] = 16,
    grading: Annotated[Path | None, typer.Option(help="The class folder to make. [default: grading/sample/]")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same class.")] = 1,
) -> None:
    """Make a sample class from the kept answers."""
    from autograder.authoring import sample as samples

    usual = root() / "grading" / "sample"
    class_folder = ClassFolder(grading or usual)
    with lock_class(class_folder):
        if class_folder.path.resolve() == usual.resolve():
            samples.forget(class_folder)
        elif not class_folder.is_empty():
            raise UserError(f"{class_folder.submitted} is not empty, and a sample class would replace its content")
        names = samples.make(class_folder, students, seed)
    typer.echo(
        f"{plural(len(names), 'student')} in {shorten_path(class_folder.submitted)}; to grade them, run {class_folder.command('grade')}"
    )


@app.command()
def handout(
    target: Annotated[Path, typer.Argument(help="The zip file.")] = Path("dist/course.zip"),
    grading: ClassFolderOption = None,
) -> None:
    """Zip course/ for students, with the notebooks that course.toml names, or with all."""
    from autograder.authoring import handout as handouts
    from autograder.gradebook.policy import Policy

    class_folder = class_of(grading, None)
    check_outputs({"the zip file": target}, class_folder)
    policy = Policy.of(class_folder)
    handouts.handout(target, policy.notebooks, language_models=policy.language_models)
    typer.echo(f"{shorten_path(target)}, {target.stat().st_size / 2**20:.1f} MiB:")
    for name in policy.notebooks:
        typer.echo(f"  {name:<18}{policy.maximum(name):>4g} points in this class")


@app.command()
def site(
    assignment: Annotated[list[str] | None, typer.Argument(help="Assignments. [default: all]")] = None,
    to: Annotated[Path | None, typer.Option(help="The folder to write. [default: dist/site/]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Make what has not changed, too.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many processes run at once. [default: one per core]")
    ] = None,
    url: Annotated[str, typer.Option(help="The site's address, such as https://example.org/course/.")] = "",
) -> None:
    """Make web pages of the course and its documentation. Their figures work without a kernel. Only what has changed is made again."""
    if importlib.util.find_spec("myst_nb") is None:
        raise UserError("the site needs Sphinx: pip install -e '.[site]'")
    from autograder.site import make

    names = [require_assignment(name) for name in dict.fromkeys(assignment)] if assignment else assignments()
    target, work = make.usual()
    console = console_of()
    with bar(console) as progress:
        task = progress.add_task("notebooks", total=len(names), rate="")
        site_summary = make.build(
            to or target, work if to is None else to.with_name(f"{to.name}.work"), names, force,
            lambda name: progress.update(task, advance=1, rate=name), workers, url,
        )  # fmt: skip
    figures = [figure for notebook in site_summary.notebooks for figure in notebook.figures]
    console.print(
        f"{shorten_path(to or target)}: {site_summary.pages} pages, {make.weight(site_summary.size)}; {len(figures)} figures with "
        f"{sum(figure.states for figure in figures):,} settings; drawn anew: {', '.join(site_summary.new_pages) or 'nothing has changed'}"
    )
    heaviest = max(site_summary.wires, key=lambda name: site_summary.wires[name])
    console.print(
        f"The heaviest page, {heaviest}, sends {make.weight(site_summary.wires[heaviest])} with all its figures."
    )
    console.print(f"Look at it: python3 -m http.server --bind 127.0.0.1 --directory {shorten_path(to or target)}")


@app.command()
def bench(
    assignment: Annotated[str, typer.Argument(help="The assignment.")],
    students: Annotated[int, typer.Option(min=1, help="How many submissions this engine grades.")] = 100,
    plain: Annotated[int, typer.Option(min=1, help="How many submissions nbgrader and otter-grader grade.")] = 10,
    growth: Annotated[
        list[int] | None, typer.Option(min=1, help="Measure a class of this size, too. May be repeated.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw how time and memory grow into this PNG file.")] = None,
    otter: Annotated[
        Path | None,
        typer.Option(
            help="The command `otter` of an environment with otter-grader and the course. `make bench` makes one."
        ),
    ] = None,
) -> None:
    """Measure how fast this engine, plain nbgrader and otter-grader are on the same class, in one run."""
    from autograder.authoring import bench as benches

    require_assignment(assignment)
    if otter is not None and not otter.is_file():
        raise UserError(f"there is no {otter}")
    check_outputs({"--picture": picture}, inputs={"--otter": otter})
    benches.run(console_of(), assignment, students, plain, growth or [], picture, otter)
