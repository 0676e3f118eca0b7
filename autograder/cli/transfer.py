"""Commands between an LMS and a class: collecting what was handed in, and giving back grades and pages."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer
from rich import box
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from autograder import lms
from autograder.cli.shared import (
    ClassFolderOption,
    GradebookUrl,
    app,
    bar,
    book_of,
    class_of,
    console_of,
    lock_class,
    say_doubts,
    shorten_path,
)
from autograder.errors import UserError
from autograder.paths import require_assignment
from ffnlab.phrases import plural
from ffnlab.untrusted_text import in_a_line

if TYPE_CHECKING:
    from autograder.transfer.collection_report import CollectionReport
    from autograder.transfer.give_back import GiveBackReport

MAX_LINES = 200  # lines of a table
MAX_MESSAGES = 40
SYSTEMS = lms.by_rank()


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


@app.command(
    help=f"Collect submissions from an export of {_either([system.title for system in SYSTEMS])}. "
    "The latest go to submitted/, and every attempt is kept in collected/.\n\n"
    "The exit status is 2 if something needs you. It is listed, and you can settle it in collected/settle.csv, which the next run reads."
)
def collect(
    source: Annotated[
        Path, typer.Argument(help="The LMS's export, a zip or a folder. For nbgrader's exchange, its inbound/.")
    ],
    roster: Annotated[
        list[Path] | None,
        typer.Option(
            help="The list of students that the LMS exports: participants, worksheet or gradebook. May be repeated."
        ),
    ] = None,
    assignment: Annotated[
        str | None,
        typer.Option(
            help="The assignment that was exported. [default: the one to which nine in ten of its notebooks belong]"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would happen, and write nothing.")] = False,
    timezone: Annotated[
        str | None,
        typer.Option(
            help="The time zone of times that have none, such as Europe/Berlin. [default: time_zone in course.toml, or this computer's]"
        ),
    ] = None,
    match_names: Annotated[
        bool,
        typer.Option(
            "--match-names",
            help="Match students by name, where only one has that name. For exports without the roster's ids, such as "
            f"{', '.join(system.title for system in SYSTEMS if not system.has_ids_on_lists)}'s.",
        ),
    ] = False,
    grading: ClassFolderOption = None,
    db_url: GradebookUrl = None,
) -> None:
    from autograder.gradebook.policy import Policy
    from autograder.transfer import collect as collecting

    class_folder = class_of(grading, db_url)
    console = console_of()
    zone = _zone(timezone) or Policy.of(class_folder).clock
    collect_export = partial(
        collecting.collect, class_folder, source, roster or (), assignment, zone=zone, match_names=match_names
    )
    if dry_run:
        report = collect_export(dry_run=True)
    else:
        with lock_class(class_folder), bar(console) as progress:
            task = progress.add_task(source.name, total=None, rate="")
            try:
                report = collect_export(tell=partial(_show_progress, progress, task))
            except KeyboardInterrupt:
                progress.stop()
                sys.stderr.write("autograder: interrupted; nothing is lost. The same command continues from here.\n")
                raise typer.Exit(130) from None
    _show_report(console, report, dry_run)
    if report.needs_somebody:
        raise typer.Exit(2)


def _show_progress(progress: Progress, task: TaskID, count: int, total: int) -> None:
    progress.update(task, completed=count, total=total)


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):
        raise UserError(
            f"--timezone {in_a_line(str(name), 60)}: no such time zone; write a name such as Europe/Berlin or UTC"
        ) from None


def _show_report(console: Console, report: CollectionReport, dry_run: bool) -> None:
    console.print(Text(f"{report.archive}: {report.title}", style="bold"), soft_wrap=True)
    _lines(console, report.notes, "dim")
    rows = sorted(report.rows, key=lambda row: not row.is_pending)[:MAX_LINES]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("student", "name", "file", "notebook", "attempt", "handed in"):
        table.add_column(title, overflow="fold", justify="right" if title == "attempt" else "left")
    table.add_column("would happen" if dry_run else "what happened", overflow="fold")
    for row in rows:
        what = Text(row.what, style="bold red" if row.is_pending else "")
        table.add_row(*map(Text, (row.student, row.name, row.short, row.notebook, row.attempt, row.handed_in_at)), what)
    if rows:
        console.print(table)
    if len(report.rows) > MAX_LINES:
        console.print(f"… and {len(report.rows) - MAX_LINES:,} more files", style="dim")
    _lines(console, [missing.line(MAX_MESSAGES) for missing in report.missing], "bold")
    _lines(console, report.doubts, "bold red", MAX_MESSAGES)
    here = f", {report.known_count:,} already here" if report.known_count else ""
    placement = "" if dry_run else f", {report.placed_count:,} put into submitted/"
    console.print(Text(f"{plural(f'{report.new:,}', 'new attempt')}{placement}{here}."), soft_wrap=True)
    if report.pending_decisions:
        matters = plural(f"{len(report.pending_decisions):,}", "matter")
        _lines(console, [f"{count:,} × {why}" for why, count in _often(report)], "bold red")
        where = (
            f"would be listed in {shorten_path(report.decisions_file)}"
            if dry_run
            else f"listed in {shorten_path(report.decisions_file)}"
        )
        console.print(
            Text(
                f"{matters} for you to settle, {where}: "
                "fill in the column student, assignment or leave, and collect again."
            ),
            style="bold",
            soft_wrap=True,
        )
    if dry_run:
        console.print("This was a dry run, so nothing was written.", style="dim")


def _often(report: CollectionReport) -> list[tuple[str, int]]:
    """What is asked of many alike, without the numbers in it."""
    troubles = Counter(
        "".join("…" if part.isdigit() else part for part in _parts(decision.trouble))
        for decision in report.pending_decisions
    )
    return [(why, count) for why, count in troubles.most_common(3) if count > 3]


def _parts(text: str) -> list[str]:
    return [piece for word in text.split(" ") for piece in (word, " ")][:-1]


def _lines(console: Console, lines: Sequence[str], style: str, most: int = MAX_LINES) -> None:
    for line in lines[:most]:
        console.print(Text(in_a_line(line, 1_000)), style=style, soft_wrap=True)
    if len(lines) > most:
        console.print(f"… and {len(lines) - most:,} more", style=style)


@app.command(
    name="give-back",
    help="Make the file that an LMS takes: its own sheet with the grades filled in, or a zip of the feedback pages. "
    "The exit status is 2 if a student was left out.\n\n"
    + " ".join(f"For {system.name}, this {system.instead}." for system in SYSTEMS if system.instead),
)
def give_back(
    system: Annotated[str, typer.Argument(help=f"{_either([entry.name for entry in SYSTEMS])}.")],
    assignment: Annotated[str, typer.Argument(help="The assignment.")],
    sheet: Annotated[
        Path | None,
        typer.Option(help="The worksheet or the gradebook's CSV, as downloaded from the LMS. It is not changed."),
    ] = None,
    pages: Annotated[bool, typer.Option("--pages", help="Zip the feedback pages instead of writing grades.")] = False,
    to: Annotated[Path | None, typer.Option(help="The file to write, or a folder for it.")] = None,
    column: Annotated[str, typer.Option(help="The sheet's column for the grades, if there are several.")] = "",
    with_unread: Annotated[
        bool,
        typer.Option("--with-unread", help="Include students with unread answers."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show whose grade would change, and write nothing.")
    ] = False,
    grading: ClassFolderOption = None,
    db_url: GradebookUrl = None,
) -> None:
    from autograder.gradebook import unsettled
    from autograder.gradebook.policy import Policy
    from autograder.grading.grade_class import describe_ungraded_attempts
    from autograder.transfer import give_back as giving

    lms.find(system)
    require_assignment(assignment)
    class_folder = class_of(grading, db_url)
    console = console_of()
    with lock_class(class_folder, dry_run):
        with book_of(class_folder) as book:
            policy = Policy.of(class_folder)
            unclear = say_doubts(console, policy, book)
            if waits := describe_ungraded_attempts(class_folder, assignment, policy, book):
                raise UserError(waits)
            effective_attempts = policy.read_book(book, assignment)
            outdated = unsettled.find_outdated(class_folder, book, assignment, policy.clock)
        worth = {student: attempt.grade.points for student, attempt in effective_attempts.items()}
        delivery = giving.give_back(
            class_folder,
            system,
            assignment,
            to=to,
            sheet=sheet,
            pages=pages,
            column=column,
            with_unread=with_unread,
            dry_run=dry_run,
            points_of=worth.get,
            effective_attempts=effective_attempts,
            outdated=outdated.concerns(policy, assignment),
        )
        delivery.doubts += unsettled.lines(class_folder, policy, assignment, effective_attempts, outdated)
    _show_delivery(console, delivery, dry_run)
    if delivery.written_count < len(delivery.changes) or delivery.doubts or unclear:
        raise typer.Exit(2)


def _show_delivery(console: Console, delivery: GiveBackReport, dry_run: bool) -> None:
    """Whose grade changes, what is not certain, and how many were written."""
    table = Table(
        title=f"{delivery.title}: {delivery.assignment}", box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False
    )
    for title in ("student", "name", "from", "to", ""):
        table.add_column(title, overflow="fold")
    for change in sorted(delivery.changes, key=lambda change: change.is_written)[:MAX_LINES]:
        note = Text(in_a_line(change.note, 300), style="" if change.is_written else "bold red")
        cells = (change.student, change.name, change.old, change.new)
        table.add_row(*(Text(in_a_line(cell, 120)) for cell in cells), note)
    if delivery.changes:
        console.print(table)
    if len(delivery.changes) > MAX_LINES:
        console.print(f"… and {len(delivery.changes) - MAX_LINES:,} more", style="dim")
    _lines(console, delivery.doubts, "bold red", MAX_MESSAGES)
    _lines(console, delivery.notes, "dim")
    left_out = len(delivery.changes) - delivery.written_count
    text = f"{delivery.written_count:,} {'would be given back' if dry_run else 'given back'}"
    if delivery.unchanged_count:
        text += f", {delivery.unchanged_count:,} unchanged"
    if left_out:
        text += f", {left_out:,} left out"
    text += f": {shorten_path(delivery.file)}" if delivery.file else "."
    console.print(Text(text), soft_wrap=True)
