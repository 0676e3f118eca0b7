"""Commands that make something which another system runs: an autograder for Gradescope."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.shared import Grading, app, class_of, console_of, shown
from autograder.paths import require_assignment


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
    from autograder.gradebook.policy import Policy
    from autograder.gradescope import build_zip as zips

    require_assignment(assignment)
    class_folder = class_of(grading, None)
    target = to or Path("dist") / f"gradescope-{assignment}.zip"
    with console_of().status("") as status:
        made = zips.make(assignment, target, class_folder, visibility, output_format, status.update)
    size = target.stat().st_size / 2**20
    typer.echo(f"{shown(target)}, {size:.1f} MiB: it holds answers, so it is for Gradescope alone")
    typer.echo(f"Autograder points, for the form there: {made.max_points:g}")
    if made.by_hand:
        parts = ", ".join(f"{name} ({points:g} points)" for name, points in made.by_hand.items())
        typer.echo(f"To be graded by hand there: {parts}")
    if Policy.of(class_folder).due(assignment):
        typer.echo("Due dates, and what being late costs, are not in it: they are set there")
    typer.echo("docs/gradescope.md says how to go on")
