"""The command that serves the desk in a browser."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from autograder.cli.shared import ClassFolderOption, GradebookUrl, app, class_or_sample
from autograder.startup import pause_gc


@app.command()
def desk(
    grading: ClassFolderOption = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port, for this machine only; 0 means any free one.")
    ] = 8765,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in a browser.")] = True,
    db_url: GradebookUrl = None,
) -> None:
    """Serve the class in a browser: collect, grade, read, give back. Only this machine can reach it. Ctrl-C ends it."""
    from autograder.engine import forkserver

    forkserver.start()  # while there is one thread
    with pause_gc():
        from autograder.web import app as pages

    def tell(address: str) -> None:
        sys.stdout.write(f"Your desk, until Ctrl-C: {address}\n")
        sys.stdout.flush()
        if browser:
            typer.launch(address)

    pages.serve(pages.make(class_or_sample(grading, db_url)), port, tell)
