"""The command that serves the desk in a browser."""

from __future__ import annotations

import html
import sys
import webbrowser
from typing import Annotated

import typer

from autograder.cli.shared import ClassFolderOption, GradebookUrl, app, class_or_sample
from autograder.files import write_private
from autograder.startup import pause_gc

# What a browser is asked to open: every account of a machine can read a command line, and so the token in an address on one.
OPENER = "desk.html"
REDIRECTION = """<!DOCTYPE html><meta charset="utf-8"><title>Your desk</title>
<meta http-equiv="refresh" content="0; url={address}"><p><a href="{address}">Your desk</a></p>
"""


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

    class_folder = class_or_sample(grading, db_url)
    opener = class_folder.path / OPENER

    def tell(address: str) -> None:
        sys.stdout.write(f"Your desk, until Ctrl-C: {address}\n")
        sys.stdout.flush()
        if browser:
            write_private(opener, REDIRECTION.format(address=html.escape(address)))
            webbrowser.open(opener.resolve().as_uri())

    try:
        pages.serve(pages.make(class_folder), port, tell)
    finally:
        opener.unlink(missing_ok=True)
