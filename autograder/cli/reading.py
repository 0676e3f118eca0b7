"""Commands for reading what was graded: a report on a class, and why an answer got its points."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from autograder.class_folder.folder import ClassFolder
from autograder.class_folder.outputs import check_outputs
from autograder.cli.shared import (
    ClassFolderOption,
    GradebookUrl,
    app,
    book_of,
    class_or_sample,
    console_of,
    no_grades_error,
    say_doubts,
    shorten_path,
    student_of,
)
from autograder.errors import UserError
from autograder.files import Batch, is_device, write_private
from autograder.paths import require_assignment
from autograder.startup import pause_gc
from ffnlab.phrases import plural
from ffnlab.untrusted_text import clean, in_a_line

if TYPE_CHECKING:
    from autograder.gradebook.gradebook import Book
    from autograder.gradebook.policy import Policy
    from autograder.reports.explain import Explanation, GradedAttempt
    from autograder.reports.report_parts import ClassReport

MAX_MISSING_NAMES = 12  # in a line


@app.command()
def report(
    assignment: Annotated[list[str] | None, typer.Argument(help="Assignments. [default: all that were graded]")] = None,
    grading: ClassFolderOption = None,
    hide_names: Annotated[
        bool, typer.Option("--hide-names", help="Replace names with numbers, in random order.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option(help="The file to write. [default: report.html in the class folder]")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            help="Write the report's data as CSV, too, and FILE-students.csv for mail merge: one line per student, with name and e-mail."
        ),
    ] = None,
    notebook: Annotated[
        Path | None, typer.Option(help="Write a notebook for your own analysis, too, and the CSV that it reads.")
    ] = None,
    db_url: GradebookUrl = None,
) -> None:
    """Write a report on a class: one HTML file.

    The exit status is 2 if something needs you, such as a submission that could not be graded, or a name in course.toml that no student has.
    """
    with pause_gc():
        from autograder.gradebook.policy import Policy
        from autograder.grading.grade_class import describe_ungraded_attempts
        from autograder.reports import class_report, report_page

    class_folder = class_or_sample(grading, db_url)
    console = console_of()
    policy = Policy.of(class_folder)
    files = ReportFiles.of(class_folder, to, csv, notebook)
    files.check(class_folder)
    with book_of(class_folder) as book:
        names = _assignments(book, policy, assignment or [], class_folder)
        for missing in filter(None, (describe_ungraded_attempts(class_folder, name, policy, book) for name in names)):
            console.print(Text(missing), style="bold red", soft_wrap=True)
        with console.status("") as status:
            report_data = class_report.build_report(
                class_folder, book, policy, names, hide_names, with_rows=files.data is not None, tell=status.update
            )
            status.update("drawing the page")
            page = report_page.page(report_data)
    written = _write_files(files, page, report_data, hide_names)
    size = f"{len(page.encode()) / 1000:,.0f} kB"
    console.print(Text(f"{shorten_path(files.page)} ({size}): {_in_short(report_data)}"), soft_wrap=True)
    for part in report_data.assignments:
        if part.missing:
            console.print(Text(part.missing.line(0 if hide_names else MAX_MISSING_NAMES)), soft_wrap=True)
    for line in written:
        console.print(Text(line), soft_wrap=True)
    if _say_what_waits(console, report_data):
        raise typer.Exit(2)


@dataclass(frozen=True)
class ReportFiles:
    """Where a report is written."""

    page: Path
    data: Path | None  # the CSV
    is_data_named: bool  # by --csv, and not derived from --notebook
    students: Path | None  # beside the CSV, for mail merge; none beside a device
    notebook: Path | None

    @classmethod
    def of(cls, class_folder: ClassFolder, to: Path | None, csv: Path | None, notebook: Path | None) -> ReportFiles:
        """What the options name, and what is derived from them."""
        data = notebook.with_suffix(".csv") if notebook and notebook.name and not csv else csv
        students = None
        if data and data.name and not is_device(data):
            students = data.with_name(f"{data.stem}-students.csv")
        return cls(to or class_folder.path / "report.html", data, csv is not None, students, notebook)

    def check(self, class_folder: ClassFolder) -> None:
        """See that each file can be written without losing another one; what nobody has named may only replace what an earlier report wrote.

        Raises:
            UserError: where that is not so.
        """
        from autograder.reports import data_files

        csv = "--csv" if self.is_data_named else "the CSV of --notebook"
        outputs = {"--to": self.page, csv: self.data, "--notebook": self.notebook, "FILE-students.csv": self.students}
        check_outputs(outputs, class_folder)
        if self.notebook and not self.is_data_named and is_device(self.notebook):
            raise UserError(f"--notebook: {self.notebook} is no file in a folder, so name the CSV with --csv FILE")
        if self.data and not self.is_data_named and _is_foreign(self.data, data_files.is_data):
            raise UserError(f"--notebook: {self.data} is there already and is not a report's: name the CSV with --csv")
        if self.students and _is_foreign(self.students, data_files.is_student_list):
            raise UserError(
                f"{csv}: {self.students} is there already and is not a report's: move it, or name another CSV"
            )


def _is_foreign(file: Path, is_ours: Callable[[Path], bool]) -> bool:
    return (file.exists() or file.is_symlink()) and not is_ours(file)


def _write_files(files: ReportFiles, page: str, report_data: ClassReport, hide_names: bool) -> list[str]:
    """Write the page, and the tables and the notebook where they are asked for; all or none. Returns a line on each file but the page.

    With hidden names there is no list of students, and an earlier one is removed: beside the new files it would say who is who.
    """
    from autograder.reports import data_files

    lines = []
    with Batch() as batch:
        batch.write(files.page, page)
        if files.data:
            batch.write(files.data, data_files.as_csv(report_data.rows))
            lines.append(f"{shorten_path(files.data)}: {plural(f'{len(report_data.rows):,}', 'row')}")
        if files.students and not hide_names:
            batch.write(files.students, data_files.for_mail(report_data.people))
            lines.append(f"{shorten_path(files.students)}: one line per student, with name and e-mail, for mail merge")
        elif files.students and files.students.exists():
            batch.remove(files.students)
            lines.append(
                f"{shorten_path(files.students)}: removed, since it had names and e-mails of an earlier report"
            )
        if files.data and files.notebook:
            batch.write(files.notebook, data_files.as_notebook(os.path.relpath(files.data, files.notebook.parent)))
            lines.append(f"{shorten_path(files.notebook)}: a notebook that reads it")
    return lines


def _say_what_waits(console: Console, report_data: ClassReport) -> bool:
    """Say what needs a person. Returns whether anything does."""
    lines = list(report_data.doubts)
    for part in report_data.assignments:
        lines += part.unsettled
        if part.not_graded:
            count = plural(f"{part.not_graded:,}", "submission")
            lines.append(
                f"{part.name}: {count} could not be graded in full, and the student is not at fault; the report lists them"
            )
    for line in lines:
        console.print(Text(line), style="bold", soft_wrap=True)
    return bool(lines)


def _assignments(book: Book, policy: Policy, selection: list[str], class_folder: ClassFolder) -> list[str]:
    if selection:
        return list(dict.fromkeys(require_assignment(name) for name in selection))
    there = set(book.assignments())
    names = [name for name in policy.notebooks if name in there]
    if not names:
        raise no_grades_error(class_folder)
    return names


def _in_short(report_data: ClassReport) -> str:
    from autograder.reports.report_page import of

    students = {student.label for part in report_data.assignments for student in part.students}
    mistake_count = sum(len(part.mistakes) for part in report_data.assignments)
    answer_count = sum(len(waiting) for part in report_data.assignments for waiting in part.waiting.values())
    submission_count = sum(len(part.to_look_at) for part in report_data.assignments)
    parts = [of(len(students), "student"), of(mistake_count, "known mistake")]
    if answer_count:
        parts.append(f"{of(answer_count, 'answer')} to read")
    if submission_count:
        parts.append(f"{of(submission_count, 'submission')} to look at")
    return ", ".join(parts)


@app.command()
def why(
    student: Annotated[
        str, typer.Argument(help="The student: the folder in submitted/, a name, an e-mail address or an id.")
    ],
    exercise: Annotated[str, typer.Argument(help="The exercise or question, by its name in the notebook.")],
    attempt: Annotated[
        int | None, typer.Option(min=1, help="Only this attempt; the first is 1. [default: all]")
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(
            help="Write a Python file that repeats this verdict on its own. It contains hidden inputs, so share it with nobody."
        ),
    ] = None,
    grading: ClassFolderOption = None,
    db_url: GradebookUrl = None,
) -> None:
    """Explain why an answer has its points: every attempt, its code, and what each aspect saw. The exit status is 2 if a person still has to read it."""
    with pause_gc():
        from autograder.gradebook import unsettled
        from autograder.gradebook.policy import Policy
        from autograder.reports import explain as whys

    class_folder = class_or_sample(grading, db_url)
    check_outputs({"--script": script}, class_folder)
    console = console_of()
    policy = Policy.of(class_folder)
    with book_of(class_folder) as book:
        unclear = say_doubts(console, policy, book)
        names = dict.fromkeys(policy.in_groups(), "") | book.students()
        explanation = whys.find(book, policy, student_of(class_folder, student, names), exercise)
        outdated = unsettled.find_outdated(
            class_folder, book, explanation.assignment, policy.clock, explanation.student
        )
    graded_attempts = [explanation.find_attempt(attempt)] if attempt else explanation.graded_attempts
    if script:
        write_private(script, whys.make_script(class_folder, explanation, attempt))
    console.print(
        Text(f"{explanation.student}, {explanation.exercise} of {explanation.assignment}", style="bold"), soft_wrap=True
    )
    for graded_attempt in graded_attempts:
        _show_attempt(console, explanation, graded_attempt, policy)
    _show_result(console, explanation)
    if outdated.newer or outdated.times:
        what = "something newer has been handed in" if outdated.newer else "its time of submission is another one"
        command = class_folder.command(f"grade {explanation.assignment}")
        console.print(Text(f"\nSince this was graded, {what}: run {command}", style="bold red"), soft_wrap=True)
    if script:
        hint = f"{shorten_path(script)}: run it with Python to repeat this verdict. It contains hidden inputs, so share it with nobody."
        console.print(Text(f"\n{hint}"), soft_wrap=True)
    if unclear or outdated.newer or outdated.times or (explanation.score and explanation.score.waits):
        raise typer.Exit(2)


def _show_attempt(console: Console, explanation: Explanation, attempt: GradedAttempt, policy: Policy) -> None:
    from autograder.gradebook.policy_words import format_time
    from autograder.reports.explain import verdict_lines

    counts = attempt.grading.row_id == explanation.effective_attempt.grading.row_id
    phrases = [f"Attempt {attempt.number} of {explanation.attempt_count}" + (", graded again" if attempt.again else "")]
    grade = explanation.effective_attempt.grade
    unread = (
        counts and grade.unread_time and f"handed in at a time that can't be read, “{in_a_line(grade.unread_time, 80)}”"
    )
    known = attempt.submitted_at and f"handed in {format_time(policy.in_class_zone(attempt.submitted_at))}"
    phrases.append(known or unread or "without a time of submission")
    phrases += [
        f"graded {format_time(policy.in_class_zone(datetime.fromisoformat(attempt.grading.graded_at)))} by version {attempt.grading.version}",
        *(["this one counts"] if counts else []),
    ]
    console.print(Text("\n" + ", ".join(phrases), style="bold" if counts else ""), soft_wrap=True)
    if attempt.grading.host:
        where = f"  on {attempt.grading.host}: {attempt.grading.build}"
        console.print(Text(where, style="dim"), soft_wrap=True)
    if attempt.grading.remarks:
        console.print(Text("  about the file: " + in_a_line("; ".join(attempt.grading.remarks), 600)), soft_wrap=True)
    if attempt.state:
        console.print(Text(f"  {attempt.state}", style="dim"), soft_wrap=True)
    for number, line in enumerate(clean(attempt.code or "").splitlines(), 1):
        # An answer in words has no lines that an error could name.
        place = "" if explanation.question else f"{number:3} "
        console.print(Text.assemble(("  " + place, "dim"), line), soft_wrap=True)
    if attempt.verdict:
        for line in verdict_lines(attempt.verdict):
            console.print(Text(f"  {line}"), soft_wrap=True)
    elif explanation.question:
        console.print(Text("  a question that a person reads"), soft_wrap=True)


def _show_result(console: Console, explanation: Explanation) -> None:
    score, grade = explanation.score, explanation.effective_attempt.grade
    newest = max(attempt.grading.row_id for attempt in explanation.graded_attempts)
    earlier = (
        explanation.effective_attempt.by == explanation.student
        and explanation.effective_attempt.grading.row_id != newest
    )
    where = "In the attempt that counts" if earlier else "In the gradebook"
    if score is None:
        sentence = "Not in the gradebook."
    elif score.waits and score.by_hand:
        sentence = f"{where}: {score.score:g} of {score.max_score:g}, given by hand for an earlier answer. A person has to look again."
    elif score.waits:
        sentence = f"{where}: not read yet; it is worth {plural(f'{score.max_score:g}', 'point')}."
    else:
        sentence = f"{where}: {score.score:g} of {score.max_score:g}" + (", given by hand" if score.by_hand else "")
        sentence += f", of which {score.extra:+g} is extra credit." if score.extra else "."
    if score and score.comment:
        sentence += f" Comment: “{in_a_line(score.comment, 1_000)}”"
    console.print(Text("\n" + sentence), soft_wrap=True)
    if grade.note:
        console.print(Text(grade.note), soft_wrap=True)
    if not explanation.counts:
        console.print(Text("By the class's rules this is practice and does not count."), soft_wrap=True)
    if grade.timeliness:
        console.print(Text(f"The whole submission is {grade.timeliness}."), soft_wrap=True)
