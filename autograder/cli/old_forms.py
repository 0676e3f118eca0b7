"""Options of `autograder grade` that have become commands of their own. They still work, and say which command to use;
together with an option that the command does not have, they are refused."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli import sharding
from autograder.cli.shared import class_of
from autograder.errors import UserError
from ffnlab.phrases import join_words

OldPrepare = Annotated[bool, typer.Option("--prepare", hidden=True)]
OldShard = Annotated[str | None, typer.Option("--shard", hidden=True)]
OldTo = Annotated[Path | None, typer.Option("--to", hidden=True)]
OldFrom = Annotated[list[Path] | None, typer.Option("--from", exists=True, file_okay=False, hidden=True)]
OldStudents = Annotated[int | None, typer.Option("--students", min=1, hidden=True)]

# What goes with each of them. Options that changed nothing there, such as --workers with --prepare, go with all.
PASSED_OVER = {"assignment", "grading", "workers", "jail", "limit", "db_url"}
GOES_WITH = {
    "--prepare": PASSED_OVER | {"prepare", "start_anew"},
    "--shard": PASSED_OVER | {"shard", "to"},
    "--from": PASSED_OVER | {"from_", "force", "start_anew", "dry_run"},
}


def prepare(
    context: typer.Context, assignment: list[str], grading: Path | None, start_anew: bool, db_url: str | None
) -> None:
    """`grade --prepare`. Raises UserError: something was given that does not go with it."""
    _refuse_others(context, "--prepare")
    new_form = class_of(grading, db_url).command(shlex.join(["shard", "prepare", *assignment]))
    say_new_form("--prepare", new_form)
    sharding.prepare(assignment, grading, start_anew, db_url)


def grade_shard(
    context: typer.Context,
    shard: str,
    to: Path | None,
    assignment: list[str],
    grading: Path | None,
    workers: int | None,
    jail: str,
    limit: list[str] | None,
) -> None:
    """`grade --shard K/N --to FOLDER`. Raises UserError: something was given that does not go with it, or --to was not."""
    _refuse_others(context, "--shard")
    if to is None:
        raise UserError("--shard needs --to FOLDER, for its files")
    words = ["shard", "grade", shard, *assignment, "--to", str(to)]
    say_new_form("--shard", class_of(grading, None).command(shlex.join(words)))
    sharding.grade_shard(shard, to, assignment, grading, workers, jail, limit)


def enter(
    context: typer.Context,
    folders: list[Path],
    assignment: list[str],
    grading: Path | None,
    force: bool,
    limit: list[str] | None,
    start_anew: bool,
    dry_run: bool,
    db_url: str | None,
) -> None:
    """`grade --from FOLDER`. Raises UserError: something was given that does not go with it."""
    _refuse_others(context, "--from")
    say_new_form("--from", class_of(grading, db_url).command(sharding.enter_words(folders, assignment)))
    sharding.enter(folders, assignment, grading, force, limit, start_anew, dry_run, db_url)


def say_new_form(option: str, new_form: str) -> None:
    """Say on stderr what to type from now on."""
    sys.stderr.write(f"autograder: instead of `autograder grade {option}`, use {new_form}\n")


def _refuse_others(context: typer.Context, option: str) -> None:
    given = {
        parameter.name: parameter.opts[0]
        for parameter in context.command.params
        if parameter.name and (source := context.get_parameter_source(parameter.name)) and source.name == "COMMANDLINE"
    }
    others = [name for parameter, name in given.items() if parameter not in GOES_WITH[option]]
    if others:
        verb = "does" if len(others) == 1 else "do"
        raise UserError(f"{join_words(others)} {verb} not go with {option}")
