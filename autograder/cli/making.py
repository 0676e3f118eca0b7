"""Commands that make a folder: a class's, a course's, a release's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.shared import app, shorten_path
from ffnlab.phrases import plural


@app.command()
def new_class(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    update: Annotated[
        bool,
        typer.Option("--update", help="Bring the folder of an earlier version to this one. grading/ stays as it is."),
    ] = False,
) -> None:
    """Make a folder for a class: notebooks, solutions and settings. All commands work in it, without a clone. It contains answers."""
    from autograder.class_folder import new_class as classes

    written = classes.make(folder, update)
    if update:
        typer.echo(f"{shorten_path(folder)}: {plural(written, 'file')} of the course replaced")
        return
    typer.echo(f"{shorten_path(folder)} is the folder of a class. It contains answers, so no student may get it")
    typer.echo(f"Next: cd {shorten_path(folder)}, then `autograder doctor`, and docs/first_week.md in it")


@app.command()
def new_course(
    name: Annotated[str, typer.Argument(help="What its package is called, such as word_counts.")],
    to: Annotated[Path | None, typer.Option(help="The folder to make. [default: NAME]")] = None,
) -> None:
    """Make a course of one notebook and one exercise, which works at once. All commands work in its folder."""
    from autograder.authoring import new_course as courses

    folder = to or Path(name)
    courses.make(name, folder)
    typer.echo(f"{shorten_path(folder)} is a course of one notebook and one exercise")
    typer.echo(f"Next: cd {shorten_path(folder)}, then `autograder matrix`, and README.md in it")


@app.command()
def release(
    version: Annotated[str, typer.Argument(help="The version, which the sources name already, such as 1.0.0.")],
) -> None:
    """Make what a version consists of, in release/, and tag the commit: course.zip, two wheels, the tested versions, checksums."""
    from autograder.authoring import release as releases

    folder = releases.make(version, typer.echo)
    for file in sorted(folder.iterdir()):
        typer.echo(f"  {shorten_path(file):<48}{file.stat().st_size / 2**20:>6.1f} MiB")
    typer.echo(
        f"The commit has the tag v{version} here. To publish it, run `{releases.how_to_publish(version)}`, and put these files where people get them"
    )
