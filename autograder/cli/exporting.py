"""Commands that make something which another system runs: an autograder for Gradescope."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.class_folder.outputs import check_outputs
from autograder.cli.shared import ClassFolderOption, app, class_of, console_of, shorten_path
from autograder.paths import require_assignment


@app.command()
def gradescope(
    assignment: Annotated[str, typer.Argument(help="The assignment.")],
    to: Annotated[Path | None, typer.Option(help="The zip file. [default: dist/gradescope-ASSIGNMENT.zip]")] = None,
    visibility: Annotated[
        str, typer.Option(help="When students see results: visible, after_due_date, after_published or hidden.")
    ] = "visible",
    output_format: Annotated[str, typer.Option("--format", help="The format of the panels: text or html.")] = "text",
    grading: ClassFolderOption = None,
) -> None:
    """Make the autograder zip of a programming assignment on Gradescope. It contains answers, so upload it to Gradescope only. course.toml says what counts."""
    from autograder.gradebook.policy import Policy
    from autograder.gradescope import build_zip as zips

    require_assignment(assignment)
    class_folder = class_of(grading, None)
    target = to or Path("dist") / f"gradescope-{assignment}.zip"
    check_outputs({"--to": target}, class_folder)
    with console_of().status("") as status:
        zip_summary = zips.make(assignment, target, class_folder, visibility, output_format, status.update)
    size = target.stat().st_size / 2**20
    typer.echo(f"{shorten_path(target)}, {size:.1f} MiB. It contains answers, so upload it to Gradescope only")
    typer.echo(f"Autograder points, for Gradescope's form: {zip_summary.max_points:g}")
    if zip_summary.by_hand:
        parts = ", ".join(f"{name} ({points:g} points)" for name, points in zip_summary.by_hand.items())
        typer.echo(f"To grade by hand on Gradescope: {parts}")
    if Policy.of(class_folder).due(assignment):
        typer.echo("Set due dates and late penalties on Gradescope; the zip has neither")
    typer.echo("Next: docs/gradescope.md")
