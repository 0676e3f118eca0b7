"""Commands that make something which another system runs: an autograder for Gradescope."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.shared import Grading, app, class_of, console_of, shown
from autograder.house import known


@app.command()
def gradescope(
    assignment: Annotated[str, typer.Argument(help="The assignment.")],
    to: Annotated[Path | None, typer.Option(help="The zip file. [default: dist/gradescope-ASSIGNMENT.zip]")] = None,
    visibility: Annotated[
        str, typer.Option(help="When students see results: visible, after_due_date, after_published or hidden.")
    ] = "visible",
    output_format: Annotated[str, typer.Option("--format", help="Of what an exercise's panel says: text or html.")] = (
        "text"
    ),
    grading: Grading = None,
) -> None:
    """Make an autograder for Gradescope: the zip that a programming assignment there asks for. It holds answers; what counts is what course.toml says."""
    from autograder.authoring import gradescope as zips

    known(assignment)
    target = to or Path("dist") / f"gradescope-{assignment}.zip"
    with console_of().status("") as status:
        zips.make(assignment, target, class_of(grading, None), visibility, output_format, status.update)
    typer.echo(
        f"{shown(target)}, {target.stat().st_size / 2**20:.1f} MiB: it holds answers, so it is for Gradescope alone"
    )
